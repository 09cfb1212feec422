//===- Reductions.cpp - reductions, and sums of products -------------------===//
//
// The factors directly under a `sum`, as in `sum[a](x * w * b)`, may have
// different axes. Such a sum becomes binary contractions; the pair with the
// smallest product is contracted first.
//
//===----------------------------------------------------------------------===//

#include "frontend/elaborate/Reductions.h"

using namespace tessera;
using llvm::StringRef;
using llvm::Twine;

/// The factors of a product, in order: `a * b * c`.
static void collectFactors(const ast::Expr &expr, llvm::SmallVectorImpl<const ast::Expr *> &factors) {
  if (auto *binary = llvm::dyn_cast<ast::BinaryExpr>(&expr); binary && binary->op == ast::BinaryOp::Mul) {
    collectFactors(*binary->lhs, factors);
    collectFactors(*binary->rhs, factors);
    return;
  }
  factors.push_back(&expr);
}

namespace {
/// Chooses and builds the binary contractions of a product.
class ProductContraction {
public:
  ProductContraction(GraphBuilder &builder, llvm::SmallVector<mlir::Value> factors, llvm::ArrayRef<StringRef> over)
      : B(builder), Factors(std::move(factors)), Over(over) {}

  mlir::Value build() {
    while (Factors.size() > 1) {
      auto [i, j] = cheapestPair();
      mlir::Value b = Factors[j], a = Factors[i];
      Factors.erase(Factors.begin() + j);
      llvm::SmallVector<StringRef> here = summedNow(a, b, i);
      Factors[i] = B.contract(a, b, here);
    }
    llvm::SmallVector<StringRef> left;
    llvm::copy_if(Over, std::back_inserter(left), [&](StringRef name) { return tensorType(Factors[0]).hasAxis(name); });
    return B.sum(Factors[0], left);
  }

private:
  /// The axes of the sum that of all factors only `a` and `b` have. Their contraction replaces the factor at
  /// `keptIndex`. (Factors are compared by index: one value may occur twice.)
  llvm::SmallVector<StringRef> summedNow(mlir::Value a, mlir::Value b, unsigned keptIndex) {
    llvm::SmallVector<StringRef> names;
    for (StringRef name : Over) {
      bool elsewhere = false;
      for (unsigned k = 0; k < Factors.size(); ++k) elsewhere |= k != keptIndex && tensorType(Factors[k]).hasAxis(name);
      if (!elsewhere && (tensorType(a).hasAxis(name) || tensorType(b).hasAxis(name))) names.push_back(name);
    }
    return names;
  }

  std::pair<unsigned, unsigned> cheapestPair() {
    std::pair<unsigned, unsigned> best{0, 1};
    double least = -1;
    for (unsigned i = 0; i < Factors.size(); ++i)
      for (unsigned j = i + 1; j < Factors.size(); ++j) {
        double cost = 1;
        for (AxisAttr axis : B.unite({tensorType(Factors[i]), tensorType(Factors[j])})) cost *= axis.getSize();
        if (least < 0 || cost < least) {
          least = cost;
          best = {i, j};
        }
      }
    return best;
  }

  GraphBuilder &B;
  llvm::SmallVector<mlir::Value> Factors;
  llvm::ArrayRef<StringRef> Over;
};
} // namespace

//===----------------------------------------------------------------------===//
// Sums of products
//===----------------------------------------------------------------------===//

/// Evaluates factors: the product of the numbers; tensors are appended. Nothing after an error.
std::optional<Number> Reductions::evalFactors(llvm::ArrayRef<const ast::Expr *> factors, std::vector<Factor> &tensors) {
  Number scale = Number::ofInt(1);
  bool ok = true;
  for (const ast::Expr *factor : factors) {
    LanguageValue value = Eval.eval(*factor);
    ok &= !value.isError();
    if (value.isNumber()) {
      StringRef why;
      scale = foldBinary(ast::BinaryOp::Mul, scale, value.number, why)
                  .value_or(Number::ofFloat(scale.asDouble() * value.number.asDouble()));
      continue;
    }
    if (!value.isError() && !value.isTensor()) {
      error(DiagnosticCode::E0205, factor->span, "`*` needs numbers or tensors, got " + describe(value));
      ok = false;
    }
    tensors.push_back({std::move(value), factor->span});
  }
  return ok ? std::optional(scale) : std::nullopt;
}

/// The axes to sum over, each of which some factor has.
std::optional<llvm::SmallVector<AxisRef>> Reductions::axesOfSum(const ast::CallExpr &call,
                                                                llvm::ArrayRef<Factor> factors) {
  llvm::SmallVector<NamedTensorType> types;
  for (const Factor &factor : factors) types.push_back(factor.value.tensor.type());
  llvm::SmallVector<AxisRef> over;
  llvm::SmallVector<AxisAttr> united = B.unite(types);
  if (call.axes->list.size() == 1 && call.axes->list[0].isRest && call.axes->list[0].name.text.empty()) {
    for (AxisAttr axis : united) over.push_back({axis.getName().str(), axis.getSize()});
    return over;
  }
  auto axes = Resolver.resolveAxes(*call.axes);
  if (!axes) return std::nullopt;
  for (const AxisRef &axis : *axes) {
    over.push_back(axis);
    if (llvm::any_of(united, [&](AxisAttr a) { return a.getName() == axis.name; })) continue;
    auto message = error(DiagnosticCode::E0211, call.axes->span,
                         "nothing to sum over: no factor has the axis `" + axis.name + "`");
    for (const Factor &factor : factors) message.label(factor.span, describeAxes(factor.value.tensor.type()));
    return std::nullopt;
  }
  return over;
}

/// `sum[…](a * b * …)`.
LanguageValue Reductions::sumOfProduct(const ast::CallExpr &call, llvm::ArrayRef<const ast::Expr *> exprs) {
  std::vector<Factor> factors;
  std::optional<Number> scale = evalFactors(exprs, factors);
  if (!scale) return LanguageValue();
  if (factors.empty()) return failed(DiagnosticCode::E0211, call.span, "a number has no axes to sum over");
  llvm::SmallVector<const LanguageValue *> values;
  for (unsigned i = 0; i < factors.size(); ++i) {
    values.push_back(&factors[i].value);
    for (unsigned k = 0; k < i; ++k)
      if (!Ops.checkSameSizes(factors[k].value.tensor, factors[i].value.tensor, factors[i].span))
        return LanguageValue();
  }
  mlir::Type type = Ops.commonType(values, scale->isFloat());
  if (type == I1) type = I32;
  llvm::SmallVector<mlir::Value> operands;
  for (const LanguageValue *value : values) operands.push_back(Ops.materialize(*value, type));
  auto axes = axesOfSum(call, factors);
  if (!axes) return LanguageValue();
  llvm::SmallVector<StringRef> over;
  for (const AxisRef &axis : *axes) over.push_back(axis.name);
  if (mlir::Value rows = sampleWeightsAlong(over)) {
    if (type != F32)
      for (mlir::Value &operand : operands) operand = B.cast(operand, F32);
    type = F32;
    operands.push_back(rows);
  }
  Tensor result;
  result.level = Regions.level();
  result.isPositional = llvm::all_of(values, [](const LanguageValue *v) { return v->tensor.isPositional; });
  if (type == F32) {
    result.value = ProductContraction(B, operands, over).build();
  } else {
    mlir::Value product = operands.front();
    for (mlir::Value operand : llvm::drop_begin(operands)) product = B.mul(product, operand);
    result.value = B.sum(product, over);
  }
  if (scale->asDouble() != 1) result.value = B.mul(result.value, Ops.materialize(*scale, type));
  Batches.noteReduction(result.value, over, BatchReduction::Sum, call.span);
  return result;
}

//===----------------------------------------------------------------------===//
// Means
//===----------------------------------------------------------------------===//

/// The weights of samples along those of the axes that are axes of samples: 1 for each sample, 0 for padding. Null if
/// there are no such axes, and outside `evaluate`.
mlir::Value Reductions::sampleWeightsAlong(llvm::ArrayRef<StringRef> axes) {
  mlir::Value weights;
  if (!SampleWeights) return weights;
  for (StringRef axis : axes) {
    if (!Sizes.isSampleAxis(axis)) continue;
    mlir::Value along = Regions.import(SampleWeights, 0);
    if (axis != batchAxis) along = B.rename(along, {batchAxis}, {axis});
    weights = weights ? B.mul(weights, along) : along;
  }
  return weights;
}

/// The weighted sum divided by the sum of the weights over the axes of the mean. Of no weight at all the mean is 0;
/// weights may add up to less than 1.
LanguageValue Reductions::weightedMean(mlir::Value value, llvm::ArrayRef<StringRef> over, mlir::Value weight,
                                       mlir::Value mask) {
  llvm::SmallVector<StringRef> shared;
  double factor = 1;
  for (StringRef name : over) {
    if (tensorType(weight).hasAxis(name))
      shared.push_back(name);
    else
      factor *= tensorType(value).getSize(name);
  }
  mlir::Value count = B.sum(weight, shared);
  if (factor != 1) count = B.mul(count, factor);
  mlir::Value total = B.sum(B.mul(value, weight), over);
  mlir::Value isEmpty = B.compare(Predicate::EQ, count, B.scalar(0, F32));
  Tensor result;
  result.level = Regions.level();
  result.value = B.div(total, B.select(isEmpty, B.scalar(1, F32), count));
  if (Entry.isEvaluate() && tensorType(count).isScalar()) Batches.noteWeightedMean(result.value, count, mask);
  return result;
}

LanguageValue Reductions::mean(const Tensor &x, llvm::ArrayRef<StringRef> over, const LanguageValue *mask, Span span) {
  mlir::Value value = B.cast(x.value, F32), weight;
  if (mask) {
    if (!mask->isTensor())
      return failed(DiagnosticCode::E0217, span,
                    "the weights after `where =` must be a tensor, got " + describe(*mask));
    for (AxisAttr axis : mask->tensor.type().getAxes())
      if (!x.type().hasAxis(axis.getName()))
        return failed(DiagnosticCode::E0210, span,
                      "the weights have the axis `" + axis.getName() + "`, which the value does not have");
    weight = Ops.materialize(*mask, F32);
    if (Batches.isAccumulating() && Sizes.hasSampleAxis(over))
      return unsupported(span, "`where =` under accumulation is");
  }
  if (mlir::Value rows = sampleWeightsAlong(over)) weight = weight ? B.mul(weight, rows) : rows;
  LanguageValue result;
  if (weight) {
    result = weightedMean(value, over, weight, mask ? mask->tensor.value : mlir::Value());
  } else {
    Tensor mean;
    mean.level = Regions.level();
    mean.value = B.mean(value, over);
    result = mean;
  }
  Batches.noteReduction(result.tensor.value, over, BatchReduction::Mean, span);
  return result;
}

//===----------------------------------------------------------------------===//
// Reductions of one value
//===----------------------------------------------------------------------===//

/// The identity of a maximum or minimum.
mlir::Value Reductions::identityOf(ReduceKind kind, mlir::Value like) {
  bool isMax = kind == ReduceKind::Max;
  mlir::Type element = tensorType(like).getElementType();
  if (element.isInteger()) return B.scalar(isMax ? INT32_MIN : INT32_MAX, element);
  return B.scalar(isMax ? -INFINITY : INFINITY, element);
}

LanguageValue Reductions::reduceBy(ReduceKind kind, const Tensor &x, llvm::ArrayRef<StringRef> over, Span span) {
  Tensor result;
  result.level = Regions.level();
  result.isPositional = x.isPositional;
  mlir::Value value = x.element().isInteger(1) ? B.cast(x.value, I32) : x.value;
  if (mlir::Value rows = sampleWeightsAlong(over)) {
    if (kind == ReduceKind::Sum)
      value = B.mul(B.cast(value, F32), rows);
    else
      value = B.select(B.compare(Predicate::NE, rows, B.scalar(0, F32)), value, identityOf(kind, value));
  }
  result.value = B.reduce(kind, value, over);
  Batches.noteReduction(result.value, over, kind == ReduceKind::Sum ? BatchReduction::Sum : BatchReduction::Other,
                        span);
  if (kind != ReduceKind::Sum) result.range = x.range;
  return result;
}

LanguageValue Reductions::reduce(StringRef name, const ast::CallExpr &call,
                                 const std::optional<std::vector<AxisRef>> &given) {
  if (!call.axes && !given) {
    error(DiagnosticCode::E0207, call.callee.span, "`" + name + "` needs the axes to reduce")
        .help("write `" + name + "[a, b](x)`; `..` is all of them");
    return LanguageValue();
  }
  bool isMean = name == "mean";
  if (call.args.empty() || call.args.size() > (isMean ? 2 : 1) || !call.args[0].name.text.empty() ||
      (call.args.size() == 2 && call.args[1].name.text != "where"))
    return failed(DiagnosticCode::E0206, call.span,
                  "`" + name + "` takes one value" + (isMean ? " and optionally `where = weights`" : ""));
  llvm::SmallVector<const ast::Expr *> factors;
  collectFactors(*call.args[0].value, factors);
  if (name == "sum" && factors.size() > 1 && call.axes) return sumOfProduct(call, factors);
  LanguageValue x = Eval.eval(*call.args[0].value);
  if (x.isError()) return x;
  if (!x.isTensor())
    return failed(DiagnosticCode::E0211, call.args[0].value->span, describe(x) + " has no axes to reduce");
  std::optional<std::vector<AxisRef>> axes = call.axes ? Resolver.resolveAxes(*call.axes, &x.tensor) : given;
  if (!axes) return LanguageValue();
  llvm::SmallVector<StringRef> over;
  for (const AxisRef &axis : *axes) {
    over.push_back(axis.name);
    if (x.tensor.type().hasAxis(axis.name)) continue;
    error(DiagnosticCode::E0211, call.axes ? call.axes->span : call.callee.span,
          "the value has no axis `" + axis.name + "`")
        .label(call.args[0].value->span, "this is " + describe(x));
    return LanguageValue();
  }
  if (isMean) {
    LanguageValue mask;
    if (call.args.size() == 2 && (mask = Eval.eval(*call.args[1].value)).isError()) return LanguageValue();
    return mean(x.tensor, over, call.args.size() == 2 ? &mask : nullptr, call.span);
  }
  ReduceKind kind = name == "sum" ? ReduceKind::Sum : name == "max" ? ReduceKind::Max : ReduceKind::Min;
  return reduceBy(kind, x.tensor, over, call.span);
}
