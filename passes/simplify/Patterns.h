//===- Patterns.h - the parts of `simplify` -------------------------------===//

#ifndef TESSERA_PASSES_SIMPLIFY_PATTERNS_H
#define TESSERA_PASSES_SIMPLIFY_PATTERNS_H

#include "ir/dialect/GraphBuilder.h"
#include "mlir/IR/PatternMatch.h"

namespace tessera {

/// Constant folding and identities of elementwise arithmetic.
void addArithmeticPatterns(mlir::RewritePatternSet &patterns);
/// Broadcasts are moved after elementwise ops, and out of reductions and contractions.
void addBroadcastPatterns(mlir::RewritePatternSet &patterns);
/// Renames, splits, merges, slices: chains and pairs that undo each other; reads and writes at `position + constant`
/// become slices and pads.
void addAxisPatterns(mlir::RewritePatternSet &patterns);
/// Open-coded softmax, layer norm and cross entropy become composites.
void addCompositePatterns(mlir::RewritePatternSet &patterns);

/// Turns contract, elementwise chain, softmax, contract into `tsr.attention`; a remark says why a near match is not
/// raised.
void raiseAttention(mlir::ModuleOp module);
/// Eliminates common subexpressions of each block, ignoring names and locations. Returns whether something changed.
bool eliminateCommonSubexpressions(mlir::ModuleOp module);
/// Removes unused results, carried values and operands of repeats. Returns whether something changed.
bool pruneRepeats(mlir::ModuleOp module);
/// The same for one repeat. Returns it, or the repeat that replaces it.
RepeatOp pruneRepeat(RepeatOp repeat);

/// A builder that creates ops through the rewriter, at the op's place and location.
class PatternBuilder : public GraphBuilder {
public:
  PatternBuilder(mlir::PatternRewriter &rewriter, mlir::Operation *op) : GraphBuilder(op) {
    setListener(rewriter.getListener());
  }
};

/// The value of a splat constant of any shape.
inline std::optional<double> constantNumber(mlir::Value value) {
  auto constant = value.getDefiningOp<ConstantOp>();
  return constant ? std::optional(constant.getNumber()) : std::nullopt;
}

inline bool isConstant(mlir::Value value, double number) { return constantNumber(value) == number; }

inline bool isFloat(mlir::Value value) { return llvm::isa<mlir::FloatType>(tensorType(value).getElementType()); }

} // namespace tessera

#endif // TESSERA_PASSES_SIMPLIFY_PATTERNS_H
