//===- Broadcasts.cpp - compute before repeating --------------------------===//
//
//   exp(broadcast x) = broadcast(exp x)           a + broadcast(b) = a + b where a has the axes
//   sum(broadcast x) = x * size                   contract(broadcast x, y) = contract(x, sum y)
//
//===----------------------------------------------------------------------===//

#include "mlir/IR/IRMapping.h"
#include "passes/simplify/Patterns.h"

using namespace mlir;
using namespace tessera;

/// The value with fewest axes that `value` repeats: the operand of a broadcast, a scalar for a constant.
static Value withoutRepetition(PatternBuilder &b, Value value) {
  if (auto broadcast = value.getDefiningOp<BroadcastOp>()) return broadcast.getX();
  auto constant = value.getDefiningOp<ConstantOp>();
  if (!constant || constant.getType().isScalar()) return value;
  return b.scalar(constant.getNumber(), constant.getType().getElementType());
}

static bool isRepetition(Value value) {
  auto constant = value.getDefiningOp<ConstantOp>();
  return value.getDefiningOp<BroadcastOp>() || (constant && !constant.getType().isScalar());
}

namespace {

/// Operands broadcast by name: an elementwise op needs no broadcast before it, at most one after it.
struct SinkBroadcast : OpInterfaceRewritePattern<ElementwiseOpInterface> {
  using OpInterfaceRewritePattern::OpInterfaceRewritePattern;
  LogicalResult matchAndRewrite(ElementwiseOpInterface op, PatternRewriter &rewriter) const override {
    if (isa<ReorderOp>(op) || llvm::none_of(op->getOperands(), isRepetition)) return failure();
    PatternBuilder b(rewriter, op);
    IRMapping map;
    SmallVector<NamedTensorType> types;
    for (Value operand : op->getOperands()) {
      Value small = withoutRepetition(b, operand);
      map.map(operand, small);
      types.push_back(tensorType(small));
    }
    NamedTensorType type = tensorType(op->getResult(0));
    Operation *moved = b.clone(*op, map);
    moved->getResult(0).setType(b.type(b.unite(types), type.getElementType()));
    rewriter.replaceOp(op, b.broadcast(moved->getResult(0), type));
    return success();
  }
};

/// A broadcast of a broadcast, or of a constant, is one.
struct MergeBroadcasts : OpRewritePattern<BroadcastOp> {
  using OpRewritePattern::OpRewritePattern;
  LogicalResult matchAndRewrite(BroadcastOp op, PatternRewriter &rewriter) const override {
    auto inner = op.getX().getDefiningOp<BroadcastOp>();
    if (!inner) return failure();
    PatternBuilder b(rewriter, op);
    rewriter.replaceOp(op, b.broadcast(inner.getX(), op.getType()));
    return success();
  }
};

/// A reduction over repeated axes: a sum counts, a maximum ignores.
struct ReduceBroadcast : OpRewritePattern<ReduceOp> {
  using OpRewritePattern::OpRewritePattern;
  LogicalResult matchAndRewrite(ReduceOp op, PatternRewriter &rewriter) const override {
    if (!isRepetition(op.getX())) return failure();
    PatternBuilder b(rewriter, op);
    Value x = withoutRepetition(b, op.getX());
    double count = 1;
    SmallVector<StringRef> over;
    for (StringRef name : names(op.getOver())) {
      if (tensorType(x).hasAxis(name))
        over.push_back(name);
      else
        count *= op.getX().getType().getSize(name);
    }
    Value result = b.reduce(op.getKind(), x, over);
    if (op.getKind() == ReduceKind::Sum && count != 1) result = b.mul(result, count);
    rewriter.replaceOp(op, b.broadcast(result, op.getType()));
    return success();
  }
};

/// A contraction with repeated values: the other side is summed first, or the result is repeated.
struct ContractBroadcast : OpRewritePattern<ContractOp> {
  using OpRewritePattern::OpRewritePattern;
  LogicalResult matchAndRewrite(ContractOp op, PatternRewriter &rewriter) const override {
    if (op.getInit() || op.getBias() || (!isRepetition(op.getLhs()) && !isRepetition(op.getRhs()))) return failure();
    PatternBuilder b(rewriter, op);
    Value lhs = withoutRepetition(b, op.getLhs()), rhs = withoutRepetition(b, op.getRhs());
    // An axis that both sides repeat is counted: leave that to one side.
    for (StringRef name : names(op.getOver()))
      if (!tensorType(lhs).hasAxis(name) && !tensorType(rhs).hasAxis(name)) rhs = op.getRhs();
    rewriter.replaceOp(op, b.broadcast(b.contract(lhs, rhs, names(op.getOver())), op.getType()));
    return success();
  }
};

} // namespace

void tessera::addBroadcastPatterns(RewritePatternSet &patterns) {
  patterns.add<SinkBroadcast, MergeBroadcasts, ReduceBroadcast, ContractBroadcast>(patterns.getContext());
}
