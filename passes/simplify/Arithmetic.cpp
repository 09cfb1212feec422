//===- Arithmetic.cpp - constants and identities, point by point ----------===//
//
// Only what holds for every float, NaN and infinity included: x - x and 0 * x stay. The sign of a zero may change: x +
// 0 is x, 0 - x is -x. Products of constants may round differently, and are left alone where they over- or underflow;
// sums of float constants are not regrouped.
//
//===----------------------------------------------------------------------===//

#include "ir/interpreter/Interpreter.h"
#include "ir/program/IndexRange.h"
#include "passes/simplify/Match.h"

using namespace mlir;
using namespace tessera;

namespace {

/// An elementwise op on constants is a constant.
struct FoldConstants : OpInterfaceRewritePattern<ElementwiseOpInterface> {
  using OpInterfaceRewritePattern::OpInterfaceRewritePattern;
  LogicalResult matchAndRewrite(ElementwiseOpInterface op, PatternRewriter &rewriter) const override {
    NamedTensorType type = tensorType(op->getResult(0));
    SmallVector<double> numbers;
    for (Value operand : op->getOperands()) {
      std::optional<double> number = constantNumber(operand);
      // Doubles do not hold every i64.
      if (!number || tensorType(operand).getElementType().isInteger(64)) return failure();
      numbers.push_back(*number);
    }
    if (numbers.empty() || type.getElementType().isInteger(64)) return failure();
    PatternBuilder b(rewriter, op);
    rewriter.replaceOp(op, b.constant(roundTo(op.applyScalar(numbers), type.getElementType()), type));
    return success();
  }
};

/// -(-x) = x; -(a - b) = b - a; -(x c) = x (-c)
struct SimplifyNeg : OpRewritePattern<NegOp> {
  using OpRewritePattern::OpRewritePattern;
  LogicalResult matchAndRewrite(NegOp op, PatternRewriter &rewriter) const override {
    PatternBuilder b(rewriter, op);
    if (auto inner = op.getX().getDefiningOp<NegOp>()) return rewriter.replaceOp(op, inner.getX()), success();
    if (auto inner = op.getX().getDefiningOp<SubOp>())
      return rewriter.replaceOp(op, b.sub(inner.getRhs(), inner.getLhs())), success();
    if (auto inner = op.getX().getDefiningOp<MulOp>(); inner && constantNumber(inner.getRhs()))
      return rewriter.replaceOp(op, b.mul(inner.getLhs(), b.neg(inner.getRhs()))), success();
    return failure();
  }
};

/// c + c tanh(u) = 2 c sigmoid(2 u), c - c tanh(u) = 2 c sigmoid(-2 u): fewer operations, and no cancellation where the
/// terms are nearly equal. GELU is spelled like that.
template <typename OpT> struct RaiseSigmoid : OpRewritePattern<OpT> {
  using OpRewritePattern<OpT>::OpRewritePattern;
  LogicalResult matchAndRewrite(OpT op, PatternRewriter &rewriter) const override {
    bool isSum = std::is_same_v<OpT, AddOp>;
    if (!isFloat(op)) return failure();
    for (auto [term, number] : bothOrders(op)) {
      std::optional<double> c = constantNumber(number);
      auto scaled = term.template getDefiningOp<MulOp>();
      bool isScaled = scaled && constantNumber(scaled.getRhs());
      auto tanh = (isScaled ? scaled.getLhs() : term).template getDefiningOp<TanhOp>();
      if (!c || !tanh || !tanh->hasOneUse() || *c != (isScaled ? *constantNumber(scaled.getRhs()) : 1.0)) continue;
      if (!isSum && number != op.getLhs()) continue;
      PatternBuilder b(rewriter, op);
      Value sigmoid = b.template unary<SigmoidOp>(b.mul(tanh.getX(), isSum ? 2.0 : -2.0));
      return rewriter.replaceOp(op, b.mul(sigmoid, 2 * *c)), success();
    }
    return failure();
  }
};

/// a + (-b) = a - b, unless b is a constant that folds. For integers (x + c) + d = x + (c + d), unless x is one too.
struct SimplifyAdd : OpRewritePattern<AddOp> {
  using OpRewritePattern::OpRewritePattern;
  LogicalResult matchAndRewrite(AddOp op, PatternRewriter &rewriter) const override {
    PatternBuilder b(rewriter, op);
    Value lhs = op.getLhs(), rhs = op.getRhs();
    if (auto inner = rhs.getDefiningOp<NegOp>(); inner && !constantNumber(inner.getX()))
      return rewriter.replaceOp(op, b.sub(lhs, inner.getX())), success();
    if (auto inner = lhs.getDefiningOp<NegOp>(); inner && !constantNumber(inner.getX()))
      return rewriter.replaceOp(op, b.sub(rhs, inner.getX())), success();
    auto inner = lhs.getDefiningOp<AddOp>();
    if (inner && !isFloat(op) && constantNumber(rhs) && constantNumber(inner.getRhs()) &&
        !constantNumber(inner.getLhs()))
      return rewriter.replaceOp(op, b.add(inner.getLhs(), b.add(inner.getRhs(), rhs))), success();
    return failure();
  }
};

/// a - (-b) = a + b; 0 - x = -x where x has all axes. For integers x - c = x + (-c).
struct SimplifySub : OpRewritePattern<SubOp> {
  using OpRewritePattern::OpRewritePattern;
  LogicalResult matchAndRewrite(SubOp op, PatternRewriter &rewriter) const override {
    PatternBuilder b(rewriter, op);
    if (auto inner = op.getRhs().getDefiningOp<NegOp>())
      return rewriter.replaceOp(op, b.add(op.getLhs(), inner.getX())), success();
    if (isConstant(op.getLhs(), 0) && op.getRhs().getType() == op.getType())
      return rewriter.replaceOp(op, b.neg(op.getRhs())), success();
    if (!isFloat(op) && constantNumber(op.getRhs()))
      return rewriter.replaceOp(op,
                                b.add(op.getLhs(), b.constant(-*constantNumber(op.getRhs()), op.getRhs().getType()))),
             success();
    return failure();
  }
};

/// Whether the number keeps its precision in the type: it is neither zero nor subnormal nor infinite there.
static bool isNormal(double number, Type type) {
  return !isa<FloatType>(type) || FloatAttr::get(type, number).getValue().isNormal();
}

/// (x c) d = x (c d); (x c) (y d) = (x y) (c d); x (-1) = -x
struct SimplifyMul : OpRewritePattern<MulOp> {
  using OpRewritePattern::OpRewritePattern;

  /// Whether the product of two constants may replace both.
  static bool canRegroup(Value c, Value d) {
    return isNormal(*constantNumber(c) * *constantNumber(d), tensorType(c).getElementType());
  }

  LogicalResult matchAndRewrite(MulOp op, PatternRewriter &rewriter) const override {
    PatternBuilder b(rewriter, op);
    auto left = op.getLhs().getDefiningOp<MulOp>(), right = op.getRhs().getDefiningOp<MulOp>();
    auto isScaled = [](MulOp mul) { return mul && constantNumber(mul.getRhs()) && !constantNumber(mul.getLhs()); };
    if (isFloat(op) && isScaled(left) && isScaled(right) && canRegroup(left.getRhs(), right.getRhs())) {
      Value product = b.mul(left.getLhs(), right.getLhs());
      return rewriter.replaceOp(op, b.mul(product, b.mul(left.getRhs(), right.getRhs()))), success();
    }
    if (!constantNumber(op.getRhs())) return failure();
    if (isConstant(op.getRhs(), -1) && op.getLhs().getType() == op.getType())
      return rewriter.replaceOp(op, b.neg(op.getLhs())), success();
    auto inner = op.getLhs().getDefiningOp<MulOp>();
    // A product of integers that does not fold (it overflows) would be commuted forever.
    if (!isScaled(inner) || !canRegroup(inner.getRhs(), op.getRhs())) return failure();
    rewriter.replaceOp(op, b.mul(inner.getLhs(), b.mul(inner.getRhs(), op.getRhs())));
    return success();
  }
};

/// x / c = x (1 / c); a / sqrt(x) = a rsqrt(x)
struct SimplifyDiv : OpRewritePattern<DivOp> {
  using OpRewritePattern::OpRewritePattern;
  LogicalResult matchAndRewrite(DivOp op, PatternRewriter &rewriter) const override {
    PatternBuilder b(rewriter, op);
    if (auto number = constantNumber(op.getRhs()); number && isNormal(1 / *number, op.getType().getElementType()))
      return rewriter.replaceOp(op, b.mul(op.getLhs(), b.constant(1 / *number, op.getRhs().getType()))), success();
    auto root = op.getRhs().getDefiningOp<SqrtOp>();
    if (!root || !root->hasOneUse()) return failure();
    rewriter.replaceOp(op, b.mul(op.getLhs(), b.rsqrt(root.getX())));
    return success();
  }
};

/// Small whole powers are products.
struct SimplifyPow : OpRewritePattern<PowOp> {
  using OpRewritePattern::OpRewritePattern;
  LogicalResult matchAndRewrite(PowOp op, PatternRewriter &rewriter) const override {
    std::optional<double> power = constantNumber(op.getRhs());
    Value x = op.getLhs();
    if (!power || x.getType() != op.getType()) return failure();
    PatternBuilder b(rewriter, op);
    if (*power == 0) return rewriter.replaceOp(op, b.constant(1, op.getType())), success();
    if (*power == 1) return rewriter.replaceOp(op, x), success();
    if (*power == 2) return rewriter.replaceOp(op, b.mul(x, x)), success();
    if (*power == 3) return rewriter.replaceOp(op, b.mul(b.mul(x, x), x)), success();
    if (*power == -1) return rewriter.replaceOp(op, b.div(b.scalar(1, op.getType().getElementType()), x)), success();
    return failure();
  }
};

/// A constant or negated condition; equal sides.
struct SimplifySelect : OpRewritePattern<SelectOp> {
  using OpRewritePattern::OpRewritePattern;
  LogicalResult matchAndRewrite(SelectOp op, PatternRewriter &rewriter) const override {
    PatternBuilder b(rewriter, op);
    if (auto condition = constantNumber(op.getCondition()))
      return rewriter.replaceOp(op, b.broadcast(*condition != 0 ? op.getYes() : op.getNo(), op.getType())), success();
    if (op.getYes() == op.getNo()) return rewriter.replaceOp(op, b.broadcast(op.getYes(), op.getType())), success();
    if (auto inverse = op.getCondition().getDefiningOp<NotOp>())
      return rewriter.replaceOp(op, b.select(inverse.getX(), op.getNo(), op.getYes())), success();
    return failure();
  }
};

/// not not x = x; x and true, x or false = x; x and false, x or true.
struct SimplifyNot : OpRewritePattern<NotOp> {
  using OpRewritePattern::OpRewritePattern;
  LogicalResult matchAndRewrite(NotOp op, PatternRewriter &rewriter) const override {
    auto inner = op.getX().getDefiningOp<NotOp>();
    if (!inner) return failure();
    rewriter.replaceOp(op, inner.getX());
    return success();
  }
};

template <typename OpT, bool neutral> struct SimplifyLogical : OpRewritePattern<OpT> {
  using OpRewritePattern<OpT>::OpRewritePattern;
  LogicalResult matchAndRewrite(OpT op, PatternRewriter &rewriter) const override {
    PatternBuilder b(rewriter, op);
    auto type = tensorType(op);
    for (auto [side, other] : {std::pair(op.getLhs(), op.getRhs()), std::pair(op.getRhs(), op.getLhs())})
      if (auto number = constantNumber(side))
        return rewriter.replaceOp(op,
                                  (*number != 0) == neutral ? b.broadcast(other, type) : b.constant(!neutral, type)),
               success();
    if (op.getLhs() == op.getRhs()) return rewriter.replaceOp(op, op.getLhs()), success();
    return failure();
  }
};

/// Whether every value of `from` is a value of `to`, so that the cast loses nothing.
static bool isExactCast(Type from, Type to) {
  if (from.isInteger(1)) return true;
  if (isa<FloatType>(from) && isa<FloatType>(to)) {
    auto mantissa = [](Type t) { return cast<FloatType>(t).getFPMantissaWidth(); };
    // f16 and bf16 have different exponents; all others nest by width.
    return from.getIntOrFloatBitWidth() < to.getIntOrFloatBitWidth() && mantissa(from) <= mantissa(to);
  }
  return from.isInteger(32) && (to.isInteger(64) || to.isF64());
}

/// cast(cast(x)) = cast(x) where the inner cast loses nothing.
struct SimplifyCast : OpRewritePattern<CastOp> {
  using OpRewritePattern::OpRewritePattern;
  LogicalResult matchAndRewrite(CastOp op, PatternRewriter &rewriter) const override {
    auto inner = op.getX().getDefiningOp<CastOp>();
    if (!inner || !isExactCast(inner.getX().getType().getElementType(), inner.getType().getElementType()))
      return failure();
    PatternBuilder b(rewriter, op);
    rewriter.replaceOp(op, b.cast(inner.getX(), op.getType().getElementType()));
    return success();
  }
};

/// A comparison of integers whose ranges decide it.
struct DecideCompare : OpRewritePattern<CompareOp> {
  using OpRewritePattern::OpRewritePattern;
  LogicalResult matchAndRewrite(CompareOp op, PatternRewriter &rewriter) const override {
    if (isFloat(op.getLhs())) return failure();
    auto a = indexRange(op.getLhs()), b = indexRange(op.getRhs());
    if (!a || !b) return failure();
    std::optional<bool> decided;
    auto decide = [&](bool isTrue, bool isFalse) {
      decided = isTrue ? std::optional(true) : isFalse ? std::optional(false) : std::nullopt;
    };
    bool isEqual = a->low == a->high && b->low == b->high && a->low == b->low,
         isApart = a->high < b->low || b->high < a->low;
    switch (op.getPredicate()) {
    case Predicate::EQ:
      decide(isEqual, isApart);
      break;
    case Predicate::NE:
      decide(isApart, isEqual);
      break;
    case Predicate::LT:
      decide(a->high < b->low, a->low >= b->high);
      break;
    case Predicate::LE:
      decide(a->high <= b->low, a->low > b->high);
      break;
    case Predicate::GT:
      decide(a->low > b->high, a->high <= b->low);
      break;
    case Predicate::GE:
      decide(a->low >= b->high, a->high < b->low);
      break;
    }
    if (!decided) return failure();
    PatternBuilder builder(rewriter, op);
    rewriter.replaceOp(op, builder.constant(*decided, op.getType()));
    return success();
  }
};

/// max or min of integers where one side is always picked.
template <typename OpT> struct DecideExtremum : OpRewritePattern<OpT> {
  using OpRewritePattern<OpT>::OpRewritePattern;
  LogicalResult matchAndRewrite(OpT op, PatternRewriter &rewriter) const override {
    PatternBuilder b(rewriter, op);
    if (op.getLhs() == op.getRhs()) return rewriter.replaceOp(op, op.getLhs()), success();
    if (isFloat(op)) return failure();
    auto lhs = indexRange(op.getLhs()), rhs = indexRange(op.getRhs());
    if (!lhs || !rhs) return failure();
    bool picksLarger = std::is_same_v<OpT, MaxOp>;
    Value picked = lhs->low >= rhs->high   ? (picksLarger ? op.getLhs() : op.getRhs())
                   : rhs->low >= lhs->high ? (picksLarger ? op.getRhs() : op.getLhs())
                                           : Value();
    if (!picked) return failure();
    rewriter.replaceOp(op, b.broadcast(picked, tensorType(op)));
    return success();
  }
};

} // namespace

void tessera::addArithmeticPatterns(RewritePatternSet &patterns) {
  patterns.add<FoldConstants, RaiseSigmoid<AddOp>, RaiseSigmoid<SubOp>, SimplifyNeg, SimplifyAdd, SimplifySub,
               SimplifyMul, SimplifyDiv, SimplifyPow, SimplifySelect, SimplifyNot, SimplifyLogical<AndOp, true>,
               SimplifyLogical<OrOp, false>, SimplifyCast, DecideCompare, DecideExtremum<MaxOp>, DecideExtremum<MinOp>>(
      patterns.getContext());
}
