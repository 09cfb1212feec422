//===- Sharding.h - which mesh axis an axis is divided along --------------===//
//
// Of a value: its axes that are divided among ranks. Of an op: the axes that it works along, summed ones included; the
// sharding of its results follows, and so does the one that it wants of its operands.
//
//===----------------------------------------------------------------------===//

#ifndef TESSERA_PASSES_SHARDING_SHARDING_H
#define TESSERA_PASSES_SHARDING_SHARDING_H

#include "ir/program/ProgramMesh.h"
#include "llvm/ADT/SetVector.h"
#include "llvm/ADT/StringSet.h"

namespace tessera {

class Sharding {
public:
  struct Part {
    llvm::StringRef axis, mesh; ///< of attributes or types: they live as long as the context
    bool operator==(const Part &) const = default;
  };

  Sharding() = default;
  /// As an attribute `tsr.sharding` says it; null: nothing is divided.
  explicit Sharding(mlir::DictionaryAttr attribute);
  static Sharding of(mlir::Operation *op);

  /// In the order of the names of axes.
  llvm::ArrayRef<Part> getParts() const & { return parts; }
  llvm::ArrayRef<Part> getParts() const && = delete; // they live in the sharding
  bool isEmpty() const { return parts.empty(); }
  /// The mesh axis that an axis is divided along; empty: none.
  llvm::StringRef meshAxis(llvm::StringRef axis) const;
  /// The axis that is divided along a mesh axis; empty: none.
  llvm::StringRef axisAlong(llvm::StringRef mesh) const;
  bool uses(llvm::StringRef mesh) const { return !axisAlong(mesh).empty(); }
  void divide(llvm::StringRef axis, llvm::StringRef mesh);
  void makeWhole(llvm::StringRef axis);
  /// The parts whose axes a tensor has.
  Sharding within(NamedTensorType type) const;
  /// With the parts of another one for other axes, along mesh axes that are not used here.
  Sharding unitedWith(const Sharding &other) const;

  mlir::DictionaryAttr getAttribute(mlir::MLIRContext *context) const;
  bool operator==(const Sharding &) const = default;

private:
  llvm::SmallVector<Part, 2> parts;
};

/// Elements of each part of an axis, the last of which may be padded.
int64_t partSize(int64_t size, int64_t parts);

/// The type of all parts of a tensor: each divided axis is a mesh axis and the axis of a part.
NamedTensorType wideType(NamedTensorType whole, const Sharding &sharding, const ProgramMesh &mesh,
                         mlir::ModuleOp module);

/// How an input is divided that is read in blocks only, such as a batch in micro-batches: everything that reads it
/// splits an axis into the number of the block and the position in it, under the same name. Ranks have a part of each
/// block then, and the split is free. Only an input whose blocks have parts of equal size is divided so.
struct Blocks {
  llvm::StringRef axis; ///< empty: the input is not divided in blocks
  int64_t count = 1;
};

/// Whether a split makes blocks of an input of a function that is read in these blocks only.
bool makesBlocks(SplitOp split);

/// The first of the splits that read an input of a function in blocks only; null if it is read in another way.
SplitOp splitIntoBlocks(mlir::BlockArgument input);

/// Of an argument of an entry function, after `shard`.
Blocks blocksOf(mlir::BlockArgument argument);

/// What `tsr.divided` says of a tensor.
mlir::DictionaryAttr dividedAxes(NamedTensorType whole, const Sharding &sharding, Blocks blocks = {});

/// The axes that an op may be divided along, in the order of its types. Of an op that renames, splits or merges axes
/// they have the names of the result.
llvm::SmallVector<AxisAttr> spaceOf(mlir::Operation *op);

/// The axes of all repeats in a function or a module. What a repeat takes slices of is not divided along its axis: an
/// iteration would read what another rank has. A state is divided alike in all functions.
llvm::StringSet<> repeatedAxes(mlir::Operation *op);

/// The names of the axes of a function, in the order in which they occur.
llvm::SetVector<llvm::StringRef> axisNamesOf(mlir::func::FuncOp function);
/// The most that an entry function of a module has. If it is more than `mostSearchedNames`, the search for a sharding
/// divides nothing.
size_t mostAxisNames(mlir::ModuleOp module);
inline constexpr size_t mostSearchedNames = 254;

/// Whether `partition` can divide an op along one of them.
bool canDivide(mlir::Operation *op, llvm::StringRef axis, int64_t parts);

/// An error where `tsr.sharding` of an op, a state, an argument or a result is malformed, names an axis that the mesh
/// lacks or uses a mesh axis twice, or divides an op along an axis that it cannot be divided along.
llvm::LogicalResult verifyShardings(mlir::ModuleOp module, const ProgramMesh &mesh);
/// The same of one function, and of states alone.
llvm::LogicalResult verifyShardings(mlir::func::FuncOp function, const ProgramMesh &mesh);
llvm::LogicalResult verifyStateShardings(mlir::ModuleOp module, const ProgramMesh &mesh);

/// An error for a state that is divided along the axis of a repeat. `partition` gathers such a state before the repeat;
/// a search, whose costs know no such gather, divides none so.
llvm::LogicalResult verifyNoSlicedState(mlir::ModuleOp module);

/// An error where an axis has the name of a mesh axis, and another size: after `partition`.
llvm::LogicalResult verifyWideForm(mlir::ModuleOp module, const ProgramMesh &mesh);

/// An error for a state that is divided without saying which parts of the whole ranks have: after `partition`.
llvm::LogicalResult verifyDividedStates(mlir::ModuleOp module, const ProgramMesh &mesh);

/// Whether an op has to be decomposed to be divided along an axis.
bool mustDecompose(mlir::Operation *op, llvm::StringRef axis);

/// How an op that is divided wants an operand.
Sharding operandSharding(mlir::OpOperand &operand, const Sharding &ofOp);

} // namespace tessera

#endif // TESSERA_PASSES_SHARDING_SHARDING_H
