//===- Grower.h - grows a forward pass op by op ---------------------------===//

#ifndef TESSERA_TESTS_DIFFERENTIAL_GROWER_H
#define TESSERA_TESTS_DIFFERENTIAL_GROWER_H

#include "tests/differential/Level.h"

namespace tessera::test {

/// Names that must differ within a program.
struct Numbering {
  int parameters = 0, states = 0, sites = 0, budget = 0; ///< `budget`: ops that may still be made
  Extra extra = Extra::None;
};

/// Grows values in one level from a pool of values that are there. Every value has a bound on its magnitude, and what
/// would grow is scaled down, so that values stay near 1.
class Grower {
public:
  Grower(Level &level, Choices &choices, Numbering &numbering, int depth)
      : level(level), b(level.b), choose(choices), numbering(numbering), depth(depth) {}

  struct Item {
    mlir::Value value;
    double bound;
  };

  void add(mlir::Value value, double bound);
  /// Inputs and a first feature tensor.
  void addData();
  /// Makes about `count` ops.
  void grow(int count);
  /// A scalar from the last values and some others.
  mlir::Value loss();
  Item last() { return pool.back(); }

private:
  using Axes = llvm::SmallVector<llvm::StringRef>;

  // Choices among what there is.
  Item any();
  /// A value whose axes have the same sizes as those of `with`.
  Item matching(mlir::Value with);
  bool fits(mlir::Value a, mlir::Value b);
  Axes axesOf(mlir::Value value);
  Axes someAxesOf(mlir::Value value);
  llvm::StringRef freshAxis(mlir::Value value);

  // Helpers.
  mlir::Value tame(Item item);
  mlir::Value weight(llvm::ArrayRef<AxisAttr> axes, double scale);
  mlir::Value number(double value) { return b.scalar(value, level.shapes.element); }
  mlir::Value tokens();
  mlir::Value draw(mlir::Value like);
  mlir::Value positions(llvm::StringRef axis, int64_t size);

  /// A value x, and f(x) - f(c), where f has a limited domain. The latter may be NaN, and belongs under a select only.
  struct Guarded {
    Item x;
    mlir::Value function;
    double reach; ///< the largest magnitude of `function` where x > c
  };
  Guarded makePartial(Item x);
  /// Of a value without axes that the type lacks; in some programs with guards, else nothing.
  std::optional<Guarded> makePartialFor(NamedTensorType type);
  /// Where a function may be read.
  mlir::Value isInside(mlir::Value x);
  /// Adds `where(x > c, f(x) - f(c), 0)`.
  void guard(const Guarded &made);

  // One kind of op each.
  void growUnary();
  void growSmoothFunction();
  void growBinary();
  void growDense();
  void growMlp();
  void growProduct();
  void growReduce();
  void growBroadcast();
  void growRename();
  void growSplitOrMerge();
  void growSliceAndPad();
  void growEmbedding();
  void growShift();
  void growScatter();
  void growMask();
  void growDropout();
  void growGuarded();
  void growSoftmax();
  void growNorm();
  void growAttention();
  void growRepeat();
  void growPosition();
  void growState();
  void growStop();

  Level &level;
  GraphBuilder &b;
  Choices &choose;
  Numbering &numbering;
  int depth;
  std::vector<Item> pool;
};

} // namespace tessera::test

#endif // TESSERA_TESTS_DIFFERENTIAL_GROWER_H
