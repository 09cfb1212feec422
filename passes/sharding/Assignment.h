//===- Assignment.h - what is divided along which mesh axis ---------------===//
//
// The user lays axes along mesh axes by name, and may do so for single states. An assignment says the same of every op:
//
// 1. States, and inputs, are divided as the user says.
// 2. From the first op to the last, each is divided along the axes that have a mesh axis, and along those that its
//    operands are divided along: updates of a divided state are divided like it. A mesh axis divides one axis of an op.
// 3. From the last to the first, an op that computes elements of their own is divided as all that reads it wants it:
//    what a divided update or a divided state is made of is divided too, and so is what a repeat stacks.
// 4. Sums that could be computed from parts do not ask for whole operands: they are divided as their operands are.
//
//===----------------------------------------------------------------------===//

#ifndef TESSERA_PASSES_SHARDING_ASSIGNMENT_H
#define TESSERA_PASSES_SHARDING_ASSIGNMENT_H

#include "passes/sharding/ShardingTable.h"

namespace tessera {

/// Whether ranks are given parts of an input: of rows of data, and of their weights. What the user passes, such as the
/// beginning of a text, all ranks have whole.
bool isGivenInParts(mlir::func::FuncOp function, unsigned argument);

class Assignment {
public:
  /// `rules`: the axes of the whole program that are divided.
  /// `dividesSums`: what a repeat adds up from zero on, as gradients of micro-batches, is divided as its readers want.
  Assignment(const ProgramMesh &mesh, Sharding rules, bool dividesSums = false)
      : mesh(mesh), rules(std::move(rules)), dividesSums(dividesSums) {}

  /// Of a function; `ofState` has what each state is divided along. In one with leaves whose repeat a mesh axis divides
  /// (`tsr.along`), that axis divides the leaves, and no rows of one.
  void assign(mlir::func::FuncOp function, const llvm::StringMap<Sharding> &ofState);
  /// By the rules alone, of a tensor.
  Sharding byRules(NamedTensorType type) const { return byRules(type, rules); }
  /// Writes what was assigned to a function into it.
  void record(mlir::func::FuncOp function) const { table.record(function); }

private:
  Sharding byRules(NamedTensorType type, const Sharding &by) const;
  void assignForward(mlir::Block &block);
  void assignForward(RepeatOp repeat);
  Sharding forwardSharding(mlir::Operation *op) const;
  void assignBackward(mlir::Block &block);
  void divideSums(RepeatOp repeat);
  void adopt(mlir::Operation *op);
  void demand(mlir::Value value, const Sharding &sharding);
  void demandOperands(mlir::Operation *op);
  bool isFlexible(mlir::Operation *op) const;
  void followOperands(mlir::Block &block);
  bool isLongEnough(AxisAttr axis, llvm::StringRef along) const { return axis.getSize() >= mesh.size(along); }
  void findLeaves(mlir::func::FuncOp function);
  /// Whether a mesh axis may divide an op: not that of the leaves, if it depends on the leaf.
  bool mayUse(llvm::StringRef along, mlir::Operation *op) const { return along != alongLeaves || !ofLeaf.contains(op); }

  const ProgramMesh &mesh;
  Sharding rules;
  bool dividesSums;
  Sharding opRules;            ///< those of the ops of the function
  RepeatOp leaves;             ///< the repeat over leaves that ranks divide; null: there is none
  llvm::StringRef alongLeaves; ///< the mesh axis that divides them
  llvm::DenseSet<mlir::Operation *> ofLeaf;
  ShardingTable table;
  llvm::DenseMap<mlir::Value, std::optional<Sharding>> demands; ///< nullopt: what reads it does not agree
};

} // namespace tessera

#endif // TESSERA_PASSES_SHARDING_ASSIGNMENT_H
