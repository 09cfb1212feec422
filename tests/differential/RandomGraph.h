//===- RandomGraph.h - random training programs ---------------------------===//
//
// A program from a seed: parameters, data, a forward pass of 5 to 60 random
// ops, a scalar loss, its gradient, clipping and an optimizer, in the four entry
// functions, as the frontend would build it. Values stay near 1, so that an error is an error.
//
//===----------------------------------------------------------------------===//

#ifndef TESSERA_TESTS_DIFFERENTIAL_RANDOMGRAPH_H
#define TESSERA_TESTS_DIFFERENTIAL_RANDOMGRAPH_H

#include "mlir/IR/OwningOpRef.h"
#include "tests/differential/Runner.h"
#include <random>

namespace tessera::test {

/// Source of all choices; the same on every machine.
class Choices {
public:
  explicit Choices(unsigned seed) : engine(seed) {}
  int integer(int low, int high) { return low + static_cast<int>(engine() % static_cast<unsigned>(high - low + 1)); }
  double real(double low, double high) { return low + (high - low) * (engine() * 0x1p-32); }
  bool oneIn(int n) { return integer(1, n) == 1; }

private:
  std::mt19937 engine;
};

/// What a program has more of: pairs of products with GELU between them; functions of limited domain under selects that
/// keep their operands inside; states that the model assigns, and stops; stacks of layers, with more layers; gradients
/// that are accumulated over micro-batches, a power of two of them as leaves.
enum class Extra { None, Mlps, Guards, States, Stacks, MicroBatches, Leaves };

/// The program of a seed, as after `parse`. `element` is the type of all floats.
mlir::OwningOpRef<mlir::ModuleOp> makeRandomProgram(mlir::MLIRContext &context, unsigned seed, mlir::Type element,
                                                    Extra extra = Extra::None);

/// Has the program compute as `compute(type)` says; not changed if empty.
void setCompute(mlir::ModuleOp module, llvm::StringRef type);

/// Numbers for the inputs of an entry function that are not state; `draw` tells batches apart.
Values makeInputs(mlir::func::FuncOp entry, unsigned draw);

} // namespace tessera::test

#endif // TESSERA_TESTS_DIFFERENTIAL_RANDOMGRAPH_H
