//===- Sums.cpp - reductions, and sums of products -------------------------===//
//
// A union of axes may form among the factors directly under a `sum`; such a
// sum becomes binary contractions. With three and more factors the pair whose
// product is smallest is contracted first.
//
//===----------------------------------------------------------------------===//

#include "frontend/elaborate/Elaborator.h"

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
class ProductSum {
public:
  ProductSum(GraphBuilder &builder, llvm::SmallVector<mlir::Value> factors, llvm::ArrayRef<StringRef> over)
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
  /// The axes of the sum that no factor has but this pair, which is to stand at `keep`. (A value may be several
  /// factors: they are told apart by where they stand.)
  llvm::SmallVector<StringRef> summedNow(mlir::Value a, mlir::Value b, unsigned keep) {
    llvm::SmallVector<StringRef> names;
    for (StringRef name : Over) {
      bool elsewhere = false;
      for (unsigned k = 0; k < Factors.size(); ++k) elsewhere |= k != keep && tensorType(Factors[k]).hasAxis(name);
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

/// `sum[…](a * b * …)`. In `evaluate` rows that only fill up the batch weigh nothing.
Value Elaborator::sumOfProduct(const ast::CallExpr &call, llvm::ArrayRef<const ast::Expr *> factors) {
  std::vector<std::pair<Value, Span>> tensors;
  Number scale = Number::ofInt(1);
  bool ok = true;
  for (const ast::Expr *factor : factors) {
    Value value = eval(*factor);
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
  if (!ok) return Value();
  if (tensors.empty()) return failed(DiagnosticCode::E0211, call.span, "a number has no axes to sum over");
  llvm::SmallVector<const Value *> values;
  for (unsigned i = 0; i < tensors.size(); ++i) {
    values.push_back(&tensors[i].first);
    for (unsigned k = 0; k < i; ++k)
      if (!checkAlike(tensors[k].first.tensor, tensors[i].first.tensor, tensors[i].second)) return Value();
  }
  mlir::Type type = commonType(values, scale.isFloat());
  if (type == I1) type = I32;
  llvm::SmallVector<NamedTensorType> types;
  llvm::SmallVector<mlir::Value> operands;
  for (const Value *value : values) {
    operands.push_back(materialize(*value, type));
    types.push_back(tensorType(operands.back()));
  }
  std::vector<AxisRef> given;
  llvm::SmallVector<AxisAttr> united = B.unite(types);
  if (call.axes->list.size() == 1 && call.axes->list[0].isRest && call.axes->list[0].name.text.empty()) {
    for (AxisAttr axis : united) given.push_back({axis.getName().str(), axis.getSize()});
  } else if (auto axes = resolveAxes(*call.axes)) {
    given = std::move(*axes);
  } else {
    return Value();
  }
  llvm::SmallVector<StringRef> over;
  for (const AxisRef &axis : given) {
    over.push_back(axis.name);
    if (llvm::any_of(united, [&](AxisAttr a) { return a.getName() == axis.name; })) continue;
    auto message = error(DiagnosticCode::E0211, call.axes->span,
                         "nothing to sum over: no factor has the axis `" + axis.name + "`");
    for (auto &[value, span] : tensors) message.label(span, describeAxes(value.tensor.type()));
    return Value();
  }
  if (mlir::Value rows = rowWeightsAlong(over)) {
    if (type != F32)
      for (mlir::Value &operand : operands) operand = B.cast(operand, F32);
    type = F32;
    operands.push_back(rows);
  }
  Tensor result;
  result.level = level();
  result.closed = llvm::all_of(values, [](const Value *v) { return v->tensor.closed; });
  if (type == F32) {
    result.value = ProductSum(B, operands, over).build();
  } else {
    mlir::Value product = operands.front();
    for (mlir::Value operand : llvm::drop_begin(operands)) product = B.mul(product, operand);
    result.value = B.sum(product, over);
  }
  if (scale.asDouble() != 1) result.value = B.mul(result.value, materialize(scale, type));
  noteBatchReduction(result.value, over, OfParts::Sum, call.span);
  return result;
}

/// In `evaluate`: 1 for each row, 0 for one that only fills up the batch, along those of the axes that rows lie along. Null
/// if there are none, and elsewhere.
mlir::Value Elaborator::rowWeightsAlong(llvm::ArrayRef<StringRef> axes) {
  mlir::Value weights;
  if (!RowWeights) return weights;
  for (StringRef axis : axes) {
    if (!isRowAxis(axis)) continue;
    mlir::Value along = import(RowWeights, 0);
    if (axis != "batch") along = B.rename(along, {"batch"}, {axis});
    weights = weights ? B.mul(weights, along) : along;
  }
  return weights;
}

/// Sum over count. In `evaluate` rows that only pad the batch weigh nothing.
Value Elaborator::reduceMean(const Tensor &x, llvm::ArrayRef<StringRef> over, const Value *mask, Span span) {
  mlir::Value value = B.cast(x.value, F32);
  Tensor result;
  result.level = level();
  mlir::Value weight;
  if (mask) {
    if (!mask->isTensor())
      return failed(DiagnosticCode::E0217, span,
                    "the weights after `where =` must be a tensor, got " + describe(*mask));
    for (AxisAttr axis : mask->tensor.type().getAxes())
      if (!x.type().hasAxis(axis.getName()))
        return failed(DiagnosticCode::E0210, span,
                      "the weights have the axis `" + axis.getName() + "`, the value has not");
    weight = materialize(*mask, F32);
    if (MicroBatches > 1 && hasRowAxis(over)) return unsupported(span, "`where =` under accumulation is");
  }
  if (mlir::Value rows = rowWeightsAlong(over)) weight = weight ? B.mul(weight, rows) : rows;
  if (!weight) {
    result.value = B.mean(value, over);
    noteBatchReduction(result.value, over, OfParts::Mean, span);
    return result;
  }
  // The count is the sum of the weights over the axes that the mean runs over.
  llvm::SmallVector<StringRef> shared, others;
  double factor = 1;
  for (StringRef name : over) {
    if (tensorType(weight).hasAxis(name))
      shared.push_back(name);
    else
      factor *= x.type().getSize(name);
  }
  mlir::Value count = B.sum(weight, shared);
  if (factor != 1) count = B.mul(count, factor);
  mlir::Value total = B.sum(B.mul(value, weight), over);
  // Of no weight at all the mean is 0; weights may well add up to less than 1.
  mlir::Value isEmpty = B.compare(Predicate::EQ, count, B.scalar(0, F32));
  result.value = B.div(total, B.select(isEmpty, B.scalar(1, F32), count));
  if (IsEvaluate && tensorType(count).isScalar())
    WeightedMeans.push_back({result.value, count, mask ? mask->tensor.value : mlir::Value()});
  noteBatchReduction(result.value, over, OfParts::Mean, span);
  return result;
}

/// A scalar that no maximum, or minimum, of other numbers is.
mlir::Value Elaborator::leastOf(ReduceKind kind, mlir::Value like) {
  bool isMax = kind == ReduceKind::Max;
  mlir::Type element = tensorType(like).getElementType();
  if (element.isInteger()) return B.scalar(isMax ? INT32_MIN : INT32_MAX, element);
  return B.scalar(isMax ? -INFINITY : INFINITY, element);
}

Value Elaborator::builtinReduce(StringRef name, const ast::CallExpr &call,
                                const std::optional<std::vector<AxisRef>> &given) {
  if (!call.axes && !given) {
    error(DiagnosticCode::E0207, call.callee.span, "`" + name + "` needs the axes to reduce")
        .help("write `" + name + "[a, b](x)`; `..` is all of them");
    return Value();
  }
  bool isMean = name == "mean";
  if (call.args.empty() || call.args.size() > (isMean ? 2 : 1) || !call.args[0].name.text.empty() ||
      (call.args.size() == 2 && call.args[1].name.text != "where"))
    return failed(DiagnosticCode::E0206, call.span,
                  "`" + name + "` takes one value" + (isMean ? " and perhaps `where = weights`" : ""));
  llvm::SmallVector<const ast::Expr *> factors;
  collectFactors(*call.args[0].value, factors);
  if (name == "sum" && factors.size() > 1 && call.axes) return sumOfProduct(call, factors);
  Value x = eval(*call.args[0].value);
  if (x.isError()) return x;
  if (!x.isTensor())
    return failed(DiagnosticCode::E0211, call.args[0].value->span, describe(x) + " has no axes to reduce");
  std::optional<std::vector<AxisRef>> axes = call.axes ? resolveAxes(*call.axes, &x.tensor) : given;
  if (!axes) return Value();
  llvm::SmallVector<StringRef> over;
  for (const AxisRef &axis : *axes) {
    over.push_back(axis.name);
    if (x.tensor.type().hasAxis(axis.name)) continue;
    error(DiagnosticCode::E0211, call.axes ? call.axes->span : call.callee.span,
          "the value has no axis `" + axis.name + "`")
        .label(call.args[0].value->span, "this is " + describe(x));
    return Value();
  }
  if (isMean) {
    Value mask;
    if (call.args.size() == 2 && (mask = eval(*call.args[1].value)).isError()) return Value();
    return reduceMean(x.tensor, over, call.args.size() == 2 ? &mask : nullptr, call.span);
  }
  Tensor result;
  result.level = level();
  result.closed = x.tensor.closed;
  ReduceKind kind = name == "sum" ? ReduceKind::Sum : name == "max" ? ReduceKind::Max : ReduceKind::Min;
  mlir::Value value = x.tensor.element().isInteger(1) ? B.cast(x.tensor.value, I32) : x.tensor.value;
  if (mlir::Value rows = rowWeightsAlong(over)) {
    if (kind == ReduceKind::Sum)
      value = B.mul(B.cast(value, F32), rows);
    else // rows that only fill up the batch are not looked at
      value = B.select(B.compare(Predicate::NE, rows, B.scalar(0, F32)), value, leastOf(kind, value));
  }
  result.value = B.reduce(kind, value, over);
  noteBatchReduction(result.value, over, kind == ReduceKind::Sum ? OfParts::Sum : OfParts::Neither, call.span);
  if (kind != ReduceKind::Sum) result.range = x.tensor.range;
  return result;
}
