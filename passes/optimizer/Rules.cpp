//===- Rules.cpp - optimizer rules as elementwise chains ------------------===//
//
// The formulas are PyTorch's (torch.optim.SGD, Adam, AdamW; `_single_tensor_*` of
// version 2.x), with dampening 0. w: parameter, g: gradient, t: number of this step, from 1.
//
//   sgd    g = g + decay w;  u = momentum u + g;  d = g + momentum u if nesterov, else u;  w = w - rate d
//   adam   g = g + decay w;  m = m + (g - m)(1 - beta1);  v = beta2 v + (1 - beta2) g g
//          w = w - rate / (1 - beta1^t) * m / (sqrt(v) / sqrt(1 - beta2^t) + epsilon)
//   adamw  w = w (1 - rate decay), then adam without decay
//
// Zero moments make PyTorch's special first step of momentum (u = g) the same formula.
//
//===----------------------------------------------------------------------===//

#include "passes/optimizer/Optimizer.h"
#include <limits>

using namespace mlir;
using namespace tessera;

/// The hyperparameter of that name; null where the update has none.
static Value findHyper(UpdateOp update, StringRef name) {
  for (auto [given, value] : llvm::zip(names(update.getNames()), update.getHypers()))
    if (given == name) return value;
  return {};
}

/// Whether the hyperparameter is given, and not the constant 0.
static bool isUsed(UpdateOp update, StringRef name) {
  Value hyper = findHyper(update, name);
  if (!hyper) return false;
  auto constant = hyper.getDefiningOp<ConstantOp>();
  return !constant || constant.getNumber() != 0;
}

FailureOr<SmallVector<StringRef>> tessera::momentNames(UpdateOp update) {
  auto require = [&](ArrayRef<StringRef> hypers) -> LogicalResult {
    for (StringRef name : hypers)
      if (!findHyper(update, name))
        return update.emitOpError("rule `") << update.getRule() << "` needs `" << name << "`";
    return success();
  };
  if (update.getRule() == "sgd") {
    if (failed(require({"rate"}))) return failure();
    return isUsed(update, "momentum") ? SmallVector<StringRef>{"momentum"} : SmallVector<StringRef>{};
  }
  if (update.getRule() == "adam" || update.getRule() == "adamw") {
    if (failed(require({"rate", "beta1", "beta2", "epsilon"}))) return failure();
    return SmallVector<StringRef>{"m", "v"};
  }
  return update.emitOpError("no rule is called `") << update.getRule() << "`";
}

namespace {
/// A parameter and its moments after a step.
struct Stepped {
  Value parameter;
  SmallVector<Value> moments;
};

/// Builds the ops of one update.
struct Rule {
  GraphBuilder &b;
  UpdateOp update;
  Type element; ///< of the parameter; hyperparameters are cast to it

  Value hyper(StringRef name) { return b.cast(findHyper(update, name), element); }
  /// 1 - x
  Value complement(Value x) { return b.sub(b.scalar(1, element), x); }
  /// The gradient with the decay added to it.
  Value decayedGradient() {
    Value g = update.getGradient();
    return isUsed(update, "decay") ? b.add(g, b.mul(update.getParameter(), hyper("decay"))) : g;
  }

  Stepped sgd(ArrayRef<Value> moments);
  Stepped adam(ArrayRef<Value> moments, bool isDecoupled);
};
} // namespace

Stepped Rule::sgd(ArrayRef<Value> moments) {
  Value direction = decayedGradient();
  SmallVector<Value> kept;
  if (!moments.empty()) {
    Value momentum = hyper("momentum");
    Value buffer = b.add(b.mul(moments[0], momentum), direction);
    direction = update.getNesterov() ? b.add(direction, b.mul(buffer, momentum)) : buffer;
    kept.push_back(buffer);
  }
  return {b.sub(update.getParameter(), b.mul(direction, hyper("rate"))), kept};
}

Stepped Rule::adam(ArrayRef<Value> moments, bool isDecoupled) {
  Value w = update.getParameter(), g = isDecoupled ? Value(update.getGradient()) : decayedGradient();
  Value rate = hyper("rate"), beta1 = hyper("beta1"), beta2 = hyper("beta2");
  if (isDecoupled && isUsed(update, "decay")) w = b.mul(w, complement(b.mul(rate, hyper("decay"))));
  // Scalars of the step; equal for all parameters with these hyperparameters.
  Value t = b.add(b.cast(update.getStep(), element), 1);
  Value stepSize = b.div(rate, complement(b.pow(beta1, t)));
  Value correction = b.sqrt(complement(b.pow(beta2, t)));

  Value m = b.add(moments[0], b.mul(b.sub(g, moments[0]), complement(beta1)));
  Value v = b.add(b.mul(moments[1], beta2), b.mul(b.mul(g, g), complement(beta2)));
  Value scale = b.add(b.div(b.sqrt(v), correction), hyper("epsilon"));
  return {b.sub(w, b.mul(b.div(m, scale), stepSize)), {m, v}};
}

SmallVector<Value> tessera::expandUpdate(UpdateOp update, ArrayRef<Value> moments) {
  GraphBuilder b(update);
  Rule rule{b, update, update.getParameter().getType().getElementType()};
  Stepped next = update.getRule() == "sgd" ? rule.sgd(moments) : rule.adam(moments, update.getRule() == "adamw");
  // A norm is not negative, so this is false for infinity and for NaN.
  Value infinity = b.scalar(std::numeric_limits<double>::infinity(), update.getNorm().getType().getElementType());
  Value isFinite = b.compare(Predicate::LT, update.getNorm(), infinity);
  update.getResult().replaceAllUsesWith(b.select(isFinite, next.parameter, update.getParameter()));
  SmallVector<Value> kept;
  for (auto [after, before] : llvm::zip(next.moments, moments)) kept.push_back(b.select(isFinite, after, before));
  update.erase();
  return kept;
}
