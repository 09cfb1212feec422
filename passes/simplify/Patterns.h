//===- Patterns.h - the parts of `simplify` -------------------------------===//

#ifndef TESSERA_PASSES_SIMPLIFY_PATTERNS_H
#define TESSERA_PASSES_SIMPLIFY_PATTERNS_H

#include "ir/dialect/GraphBuilder.h"
#include "mlir/IR/PatternMatch.h"

namespace tessera {

/// Constants and identities of arithmetic, point by point.
void addArithmeticPatterns(mlir::RewritePatternSet &patterns);
/// Broadcasts moved behind elementwise ops, and out of reductions and contractions.
void addBroadcastPatterns(mlir::RewritePatternSet &patterns);
/// Renames, splits, merges, slices: chains and pairs that undo each other; reads and writes at `position + constant`
/// become slices and pads.
void addAxisPatterns(mlir::RewritePatternSet &patterns);
/// Long-hand softmax, layer norm and cross entropy become composites.
void addCompositePatterns(mlir::RewritePatternSet &patterns);

/// Turns contract, elementwise chain, softmax, contract into `tsr.attention`; says in a remark where little is missing.
void raiseAttention(mlir::ModuleOp module);
/// Merges equal ops of a block; names and locations do not count. Returns whether something changed.
bool eliminateCommonSubexpressions(mlir::ModuleOp module);
/// Drops what no one needs of repeats: results, carried values, operands. Returns whether something changed.
bool pruneRepeats(mlir::ModuleOp module);

/// A builder that creates ops through the rewriter, at the op's place and location.
class PatternBuilder : public GraphBuilder {
public:
  PatternBuilder(mlir::PatternRewriter &rewriter, mlir::Operation *op) : GraphBuilder(op) {
    setListener(rewriter.getListener());
  }
};

/// The number of a constant of any shape.
inline std::optional<double> constantNumber(mlir::Value value) {
  auto constant = value.getDefiningOp<ConstantOp>();
  return constant ? std::optional(constant.getNumber()) : std::nullopt;
}

inline bool isConstant(mlir::Value value, double number) { return constantNumber(value) == number; }

inline bool isFloat(mlir::Value value) { return llvm::isa<mlir::FloatType>(tensorType(value).getElementType()); }

} // namespace tessera

#endif // TESSERA_PASSES_SIMPLIFY_PATTERNS_H
