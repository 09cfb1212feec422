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
      : builder(builder), factors(std::move(factors)), over(over) {}

  mlir::Value build() {
    while (factors.size() > 1) {
      auto [i, j] = cheapestPair();
      mlir::Value b = factors[j], a = factors[i];
      factors.erase(factors.begin() + j);
      llvm::SmallVector<StringRef> here = summedNow(a, b, i);
      factors[i] = builder.contract(a, b, here);
    }
    llvm::SmallVector<StringRef> left;
    llvm::copy_if(over, std::back_inserter(left), [&](StringRef name) { return tensorType(factors[0]).hasAxis(name); });
    return builder.sum(factors[0], left);
  }

private:
  /// The axes of the sum that of all factors only `a` and `b` have. Their contraction replaces the factor at
  /// `keptIndex`. (Factors are compared by index: one value may occur twice.)
  llvm::SmallVector<StringRef> summedNow(mlir::Value a, mlir::Value b, unsigned keptIndex) {
    llvm::SmallVector<StringRef> names;
    for (StringRef name : over) {
      bool elsewhere = false;
      for (unsigned k = 0; k < factors.size(); ++k) elsewhere |= k != keptIndex && tensorType(factors[k]).hasAxis(name);
      if (!elsewhere && (tensorType(a).hasAxis(name) || tensorType(b).hasAxis(name))) names.push_back(name);
    }
    return names;
  }

  std::pair<unsigned, unsigned> cheapestPair() {
    std::pair<unsigned, unsigned> best{0, 1};
    double least = -1;
    for (unsigned i = 0; i < factors.size(); ++i)
      for (unsigned j = i + 1; j < factors.size(); ++j) {
        double cost = 1;
        for (AxisAttr axis : builder.unite({tensorType(factors[i]), tensorType(factors[j])})) cost *= axis.getSize();
        if (least < 0 || cost < least) {
          least = cost;
          best = {i, j};
        }
      }
    return best;
  }

  GraphBuilder &builder;
  llvm::SmallVector<mlir::Value> factors;
  llvm::ArrayRef<StringRef> over;
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
    LanguageValue value = evaluator.eval(*factor);
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
  llvm::SmallVector<AxisAttr> united = builder.unite(types);
  if (call.axes->list.size() == 1 && call.axes->list[0].isRest && call.axes->list[0].name.text.empty()) {
    for (AxisAttr axis : united) over.push_back({axis.getName().str(), axis.getSize()});
    return over;
  }
  auto axes = resolver.resolveAxes(*call.axes);
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

/// A factor without any of the summed axes could stand outside of the sum. There it may broadcast, but it must not
/// bring axes of its own: that product is an outer one, most often of a weight that was meant for the next layer.
bool Reductions::checkFactors(llvm::ArrayRef<Factor> factors, llvm::ArrayRef<AxisRef> over) {
  if (over.empty()) {
    llvm::SmallVector<std::pair<const LanguageValue *, Span>> operands;
    for (const Factor &factor : factors) operands.push_back({&factor.value, factor.span});
    return ops.checkAxes(operands, "*");
  }
  if (llvm::all_of(factors, [](const Factor &factor) { return factor.value.tensor.isPositional; })) return true;
  auto isSummed = [&](const Factor &factor) {
    return llvm::any_of(over, [&](const AxisRef &axis) { return factor.value.tensor.type().hasAxis(axis.name); });
  };
  const Factor *summed = llvm::find_if(factors, isSummed);
  for (const Factor &factor : factors) {
    if (isSummed(factor)) continue;
    llvm::SmallVector<AxisAttr> own;
    for (AxisAttr axis : factor.value.tensor.type().getAxes())
      if (llvm::none_of(factors, [&](const Factor &other) {
            return isSummed(other) && other.value.tensor.type().hasAxis(axis.getName());
          }))
        own.push_back(axis);
    if (own.empty()) continue;
    std::string axes = llvm::join(llvm::map_range(own, [](AxisAttr axis) { return axis.getName(); }), ", ");
    const SourceFiles &sources = diagnostics.sources();
    auto message =
        error(DiagnosticCode::E0215, factor.span,
              "`sum` would make an outer product: this factor has none of the summed axes, but brings `" + axes + "`");
    for (const Factor &each : factors) message.label(each.span, describeAxes(each.value.tensor.type()));
    calls.noteDims(message, own);
    StringRef text = sources.text(factor.span), name = over.front().name;
    // As for a product without a sum: the axis that both have is the one to sum over.
    llvm::SmallVector<AxisAttr> shared;
    llvm::copy_if(factor.value.tensor.type().getAxes(), std::back_inserter(shared),
                  [&](AxisAttr axis) { return summed->value.tensor.type().hasAxis(axis.getName()); });
    if (!shared.empty())
      message.help(
          "sum over what both have: `sum[" +
          llvm::join(llvm::map_range(shared, [](AxisAttr axis) { return axis.getName(); }), ", ") + "](" +
          llvm::join(llvm::map_range(factors, [&](const Factor &each) { return sources.text(each.span); }), " * ") +
          ")`");
    else
      message.help("sum over an axis that the factor has: declare it with `" + name + "`, or use it in a later `sum[" +
                   own.front().getName() + "](… * " + text + ")`");
    message.help("if the outer product is meant, say so: `sum[" + name + "](over[" + axes + "](" +
                 sources.text(summed->span) + ") * " + text + ")`");
    return false;
  }
  return true;
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
      if (!ops.checkSameSizes(factors[k].value.tensor, factors[i].value.tensor, factors[i].span))
        return LanguageValue();
  }
  mlir::Type type = ops.commonType(values, scale->isFloat());
  if (type == i1) type = i32;
  llvm::SmallVector<mlir::Value> operands;
  for (const LanguageValue *value : values) operands.push_back(ops.materialize(*value, type));
  auto axes = axesOfSum(call, factors);
  if (!axes || !checkFactors(factors, *axes)) return LanguageValue();
  llvm::SmallVector<StringRef> over;
  for (const AxisRef &axis : *axes) over.push_back(axis.name);
  if (mlir::Value rows = sampleWeightsAlong(over)) {
    if (type != f32)
      for (mlir::Value &operand : operands) operand = builder.cast(operand, f32);
    type = f32;
    operands.push_back(rows);
  }
  Tensor result;
  result.level = regions.level();
  result.isPositional = llvm::all_of(values, [](const LanguageValue *v) { return v->tensor.isPositional; });
  if (type == f32) {
    result.value = ProductContraction(builder, operands, over).build();
  } else {
    mlir::Value product = operands.front();
    for (mlir::Value operand : llvm::drop_begin(operands)) product = builder.mul(product, operand);
    result.value = builder.sum(product, over);
  }
  if (scale->asDouble() != 1) result.value = builder.mul(result.value, ops.materialize(*scale, type));
  batches.noteReduction(result.value, over, BatchReduction::Sum, call.span);
  return result;
}

//===----------------------------------------------------------------------===//
// Means
//===----------------------------------------------------------------------===//

/// The weights of samples along those of the axes that are axes of samples: 1 for each sample, 0 for padding. Null if
/// there are no such axes, and outside `evaluate` and `predict`.
mlir::Value Reductions::sampleWeightsAlong(llvm::ArrayRef<StringRef> axes) {
  mlir::Value weights;
  if (!sampleWeights) return weights;
  for (StringRef axis : axes) {
    if (!sizes.isSampleAxis(axis)) continue;
    mlir::Value along = regions.import(sampleWeights, 0);
    if (axis != batchAxis) along = builder.rename(along, {batchAxis}, {axis});
    weights = weights ? builder.mul(weights, along) : along;
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
  mlir::Value count = builder.sum(weight, shared);
  if (factor != 1) count = builder.mul(count, factor);
  mlir::Value total = builder.sum(builder.mul(value, weight), over);
  mlir::Value isEmpty = builder.compare(Predicate::EQ, count, builder.scalar(0, f32));
  Tensor result;
  result.level = regions.level();
  result.value = builder.div(total, builder.select(isEmpty, builder.scalar(1, f32), count));
  if (entry.isEvaluate() && tensorType(count).isScalar()) batches.noteWeightedMean(result.value, count, mask);
  return result;
}

LanguageValue Reductions::mean(const Tensor &x, llvm::ArrayRef<StringRef> over, const LanguageValue *mask, Span span) {
  mlir::Value value = builder.cast(x.value, f32), weight;
  if (mask) {
    if (!mask->isTensor())
      return failed(DiagnosticCode::E0217, span,
                    "the weights after `where =` must be a tensor, got " + describe(*mask));
    for (AxisAttr axis : mask->tensor.type().getAxes())
      if (!x.type().hasAxis(axis.getName()))
        return failed(DiagnosticCode::E0210, span,
                      "the weights have the axis `" + axis.getName() + "`, which the value does not have");
    weight = ops.materialize(*mask, f32);
    if (batches.isAccumulating() && sizes.hasSampleAxis(over))
      return unsupported(span, "`where =` under accumulation is");
  }
  if (mlir::Value rows = sampleWeightsAlong(over)) weight = weight ? builder.mul(weight, rows) : rows;
  LanguageValue result;
  if (weight) {
    result = weightedMean(value, over, weight, mask ? mask->tensor.value : mlir::Value());
  } else {
    Tensor mean;
    mean.level = regions.level();
    mean.value = builder.mean(value, over);
    result = mean;
  }
  batches.noteReduction(result.tensor.value, over, BatchReduction::Mean, span);
  return result;
}

//===----------------------------------------------------------------------===//
// Reductions of one value
//===----------------------------------------------------------------------===//

/// The identity of a maximum or minimum.
mlir::Value Reductions::identityOf(ReduceKind kind, mlir::Value like) {
  bool isMax = kind == ReduceKind::Max;
  mlir::Type element = tensorType(like).getElementType();
  if (element.isInteger()) return builder.scalar(isMax ? INT32_MIN : INT32_MAX, element);
  return builder.scalar(isMax ? -INFINITY : INFINITY, element);
}

LanguageValue Reductions::reduceBy(ReduceKind kind, const Tensor &x, llvm::ArrayRef<StringRef> over, Span span) {
  Tensor result;
  result.level = regions.level();
  result.isPositional = x.isPositional;
  mlir::Value value = x.element().isInteger(1) ? builder.cast(x.value, i32) : x.value;
  if (mlir::Value rows = sampleWeightsAlong(over)) {
    if (kind == ReduceKind::Sum)
      value = builder.mul(builder.cast(value, f32), rows);
    else
      value =
          builder.select(builder.compare(Predicate::NE, rows, builder.scalar(0, f32)), value, identityOf(kind, value));
  }
  result.value = builder.reduce(kind, value, over);
  batches.noteReduction(result.value, over, kind == ReduceKind::Sum ? BatchReduction::Sum : BatchReduction::Other,
                        span);
  if (kind != ReduceKind::Sum) result.range = x.range, result.floatRange = x.floatRange;
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
  LanguageValue x = evaluator.eval(*call.args[0].value);
  if (x.isError()) return x;
  if (!x.isTensor())
    return failed(DiagnosticCode::E0211, call.args[0].value->span, describe(x) + " has no axes to reduce");
  std::optional<std::vector<AxisRef>> axes = call.axes ? resolver.resolveAxes(*call.axes, &x.tensor) : given;
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
    if (call.args.size() == 2 && (mask = evaluator.eval(*call.args[1].value)).isError()) return LanguageValue();
    return mean(x.tensor, over, call.args.size() == 2 ? &mask : nullptr, call.span);
  }
  ReduceKind kind = name == "sum" ? ReduceKind::Sum : name == "max" ? ReduceKind::Max : ReduceKind::Min;
  return reduceBy(kind, x.tensor, over, call.span);
}
