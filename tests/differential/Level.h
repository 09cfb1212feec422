//===- Level.h - a function or a repeat body under construction -----------===//

#ifndef TESSERA_TESTS_DIFFERENTIAL_LEVEL_H
#define TESSERA_TESTS_DIFFERENTIAL_LEVEL_H

#include "ir/dialect/GraphBuilder.h"
#include "tests/differential/RandomGraph.h"

namespace tessera::test {

/// A parameter: its type and the scale of its first values.
struct Parameter {
  NamedTensorType type;
  double scale;
};

/// What the entry functions of a program share: sizes of axes, element type, parameters and states by name.
struct Shapes {
  mlir::ModuleOp module;
  mlir::Type element;
  llvm::StringMap<int64_t> sizes;
  std::map<std::string, Parameter> parameters;
  std::map<std::string, NamedTensorType> states;
  int64_t microBatches = 1;

  AxisAttr axis(llvm::StringRef name) { return tessera::axis(module.getContext(), name, sizes.lookup(name)); }
};

/// A block in which ops are built, and how values come into it from the block around it.
class Level {
public:
  /// The body of a new entry function.
  Level(Shapes &shapes, llvm::StringRef entry);
  /// The body of a repeat inside `outer` that carries `carried`. `isMicro`: over micro-batches.
  Level(Level &outer, AxisAttr axis, mlir::ValueRange carried, bool isMicro = false);

  GraphBuilder b;
  Shapes &shapes;

  /// A parameter; inside a repeat, the layer's own.
  mlir::Value parameter(const std::string &name, llvm::ArrayRef<AxisAttr> axes, double scale);
  /// A state of the model; inside a repeat, the layer's own. Over micro-batches those of `carryStates` are carried.
  mlir::Value modelState(const std::string &name, llvm::ArrayRef<AxisAttr> axes);
  /// Gives a state its next value, where this level returns it or a repeat around it does.
  void assign(const std::string &name, mlir::Value value);
  /// In a level over micro-batches: the states that are carried, in order, behind `count` other values.
  void carryStates(llvm::ArrayRef<std::string> names, unsigned count);
  /// What has been assigned to a state; null if nothing has.
  mlir::Value assigned(const std::string &name) const;
  /// A field of the batch.
  mlir::Value data(const std::string &name, llvm::ArrayRef<AxisAttr> axes, mlir::Type element);
  mlir::Value state(llvm::StringRef path, NamedTensorType type);
  mlir::Value input(llvm::StringRef name, llvm::StringRef role, NamedTensorType type);
  mlir::Value seed() { return state("seed", b.scalarType(b.getI64Type())); }
  mlir::Value step() { return state("step", b.scalarType(b.getI32Type())); }
  /// Induction values of this and all enclosing repeats, outermost first.
  llvm::SmallVector<mlir::Value> salts();
  /// A value of the block around, as an invariant.
  mlir::Value keep(mlir::Value value);
  /// A value of the block around that has this repeat's axis, as a slice.
  mlir::Value slice(mlir::Value value);

  mlir::Value getInduction() { return block->getArgument(0); }
  mlir::Value getCarried(unsigned i) { return block->getArgument(1 + i); }

  /// Ends a repeat: the next carried values, then values to stack. Returns its results. States that the body has
  /// assigned are stacked too, and assigned outside.
  mlir::ValueRange finishRepeat(mlir::ValueRange yielded, bool reverse);
  /// Ends an entry function; results are tagged with state paths or output names and roles.
  struct Result {
    mlir::Value value;
    std::string state, output, role;
  };
  void finishEntry(llvm::ArrayRef<Result> results);
  mlir::func::FuncOp getFunction() { return function; }

private:
  mlir::Value addArgument(NamedTensorType type, mlir::NamedAttribute tag);

  mlir::func::FuncOp function; // Of a function level.
  Level *outer = nullptr;      // Of a repeat.
  AxisAttr axis;
  bool isMicro = false;
  std::unique_ptr<mlir::Region> region;
  mlir::Block *block;
  llvm::SmallVector<mlir::Value> carried, sliced, invariants;
  std::map<std::string, mlir::Value> named; // Arguments by name.
  llvm::DenseMap<mlir::Value, mlir::Value> kept, cut;
  llvm::StringMap<unsigned> carriedStates;       ///< positions among what is carried
  std::map<std::string, mlir::Value> nextStates; ///< as assigned
};

} // namespace tessera::test

#endif // TESSERA_TESTS_DIFFERENTIAL_LEVEL_H
