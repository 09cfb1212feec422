//===- OptimizerRules.cpp - the table of optimizer rules ------------------===//
//
// The formulas are PyTorch's (torch.optim.SGD, Adam, AdamW; `_single_tensor_*` of
// version 2.x), with dampening 0. w: parameter, g: gradient, t: number of this step, from 1.
//
//   sgd    g = g + decay w;  u = momentum u + g;  d = g + momentum u if nesterov, else u;  w = w - rate d
//   adam   g = g + decay w;  m = m + (g - m)(1 - beta1);  v = beta2 v + (1 - beta2) g g
//          w = w - rate / (1 - beta1^t) * m / (sqrt(v) / sqrt(1 - beta2^t) + epsilon)
//   adamw  w = w (1 - rate decay), then adam without decay
//   lion   w = w (1 - rate decay) - rate sign(beta1 m + (1 - beta1) g);  m = beta2 m + (1 - beta2) g
//          (Chen et al., "Symbolic Discovery of Optimization Algorithms", 2023)
//
// State starts at zero, which makes PyTorch's special first step of momentum (u = g) the same formula.
//
//===----------------------------------------------------------------------===//

#include "ir/optimizer/OptimizerRules.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/ADT/StringSet.h"
#include "llvm/Support/Format.h"
#include "llvm/Support/FormatVariadic.h"

using namespace mlir;
using namespace tessera;

//===----------------------------------------------------------------------===//
// Formulas
//===----------------------------------------------------------------------===//

/// The gradient with the decay added to it.
static Value decayedGradient(const UpdateInputs &in) {
  return in.isUsed("decay") ? in.b.add(in.gradient, in.b.mul(in.parameter, in.scalar("decay"))) : in.gradient;
}

/// The parameter with the decay, times the rate, taken off.
static Value decayedParameter(const UpdateInputs &in, Value rate) {
  if (!in.isUsed("decay")) return in.parameter;
  return in.b.mul(in.parameter, in.complement(in.b.mul(rate, in.scalar("decay"))));
}

static UpdateResults sgd(const UpdateInputs &in) {
  GraphBuilder &b = in.b;
  Value direction = decayedGradient(in);
  SmallVector<Value> state;
  if (!in.state.empty()) {
    Value momentum = in.scalar("momentum");
    Value buffer = b.add(b.mul(in.state[0], momentum), direction);
    direction = in.hasFlag("nesterov") ? b.add(direction, b.mul(buffer, momentum)) : buffer;
    state.push_back(buffer);
  }
  return {b.sub(in.parameter, b.mul(direction, in.scalar("rate"))), state};
}

template <bool isDecoupled> static UpdateResults adam(const UpdateInputs &in) {
  GraphBuilder &b = in.b;
  Value g = isDecoupled ? in.gradient : decayedGradient(in);
  Value rate = in.scalar("rate"), beta1 = in.scalar("beta1"), beta2 = in.scalar("beta2");
  Value w = isDecoupled ? decayedParameter(in, rate) : in.parameter;
  // Scalars of the step; equal for all parameters with these hyperparameters.
  Value t = in.stepNumber();
  Value stepSize = b.div(rate, in.complement(b.pow(beta1, t)));
  Value correction = b.sqrt(in.complement(b.pow(beta2, t)));

  Value m = b.add(in.state[0], b.mul(b.sub(g, in.state[0]), in.complement(beta1)));
  Value v = b.add(b.mul(in.state[1], beta2), b.mul(b.mul(g, g), in.complement(beta2)));
  Value scale = b.add(b.div(b.sqrt(v), correction), in.scalar("epsilon"));
  return {b.sub(w, b.mul(b.div(m, scale), stepSize)), {m, v}};
}

static UpdateResults lion(const UpdateInputs &in) {
  GraphBuilder &b = in.b;
  Value rate = in.scalar("rate"), beta1 = in.scalar("beta1"), beta2 = in.scalar("beta2"), m = in.state[0];
  auto interpolate = [&](Value beta) { return b.add(b.mul(m, beta), b.mul(in.gradient, in.complement(beta))); };
  Value direction = interpolate(beta1), zero = b.scalar(0, tensorType(direction).getElementType());
  Value negative = b.select(b.compare(Predicate::LT, direction, zero), b.neg(rate), zero);
  Value step = b.select(b.compare(Predicate::GT, direction, zero), rate, negative);
  return {b.sub(decayedParameter(in, rate), step), {interpolate(beta2)}};
}

//===----------------------------------------------------------------------===//
// The table
//===----------------------------------------------------------------------===//

static constexpr double unbounded = OptimizerArgument::infinity;
static constexpr OptimizerArgument lr{"lr", "rate", std::nullopt}, decay{"decay", "decay", 0.0};

static constexpr OptimizerArgument sgdArguments[] = {
    lr,
    {"momentum", "momentum", 0.0, /*below=*/1},
    {"nesterov", "nesterov", 0.0, unbounded, /*tuple=*/"", /*isFlag=*/true},
    decay};
static constexpr OptimizerState sgdState[] = {{"momentum", /*onlyWith=*/"momentum"}};

static constexpr OptimizerArgument adamArguments[] = {lr,
                                                      {"beta1", "beta1", 0.9, /*below=*/1, /*tuple=*/"betas"},
                                                      {"beta2", "beta2", 0.999, /*below=*/1, /*tuple=*/"betas"},
                                                      {"eps", "epsilon", 1e-8},
                                                      decay};
static constexpr OptimizerState adamState[] = {{"m"}, {"v"}};

static constexpr OptimizerArgument lionArguments[] = {lr,
                                                      {"beta1", "beta1", 0.9, /*below=*/1, /*tuple=*/"betas"},
                                                      {"beta2", "beta2", 0.99, /*below=*/1, /*tuple=*/"betas"},
                                                      decay};
static constexpr OptimizerState lionState[] = {{"m"}};

ArrayRef<OptimizerRule> tessera::optimizerRules() {
  static const OptimizerRule rules[] = {
      {"sgd", sgdArguments, sgdState, sgd},
      {"adam", adamArguments, adamState, adam</*isDecoupled=*/false>},
      {"adamw", adamArguments, adamState, adam</*isDecoupled=*/true>},
      {"lion", lionArguments, lionState, lion},
  };
  return rules;
}

//===----------------------------------------------------------------------===//
// Its use
//===----------------------------------------------------------------------===//

const OptimizerRule *tessera::findOptimizerRule(StringRef name) {
  const OptimizerRule *rule = llvm::find_if(optimizerRules(), [&](auto &rule) { return rule.name == name; });
  return rule == optimizerRules().end() ? nullptr : rule;
}

static const OptimizerArgument *findArgumentBy(StringRef OptimizerArgument::*key, const OptimizerRule &rule,
                                               StringRef name) {
  const OptimizerArgument *found = llvm::find_if(rule.arguments, [&](auto &argument) { return argument.*key == name; });
  return found == rule.arguments.end() ? nullptr : found;
}

const OptimizerArgument *OptimizerRule::findArgument(StringRef argument) const {
  return findArgumentBy(&OptimizerArgument::name, *this, argument);
}

const OptimizerArgument *OptimizerRule::findIrArgument(StringRef irName) const {
  return findArgumentBy(&OptimizerArgument::irName, *this, irName);
}

SmallVector<StringRef> OptimizerRule::stateNames(function_ref<bool(StringRef)> isUsed) const {
  SmallVector<StringRef> names;
  for (const OptimizerState &entry : state)
    if (entry.onlyWith.empty() || isUsed(entry.onlyWith)) names.push_back(entry.name);
  return names;
}

/// `0.9`, `1e-8`, `false`.
static std::string writeDefault(const OptimizerArgument &argument) {
  if (argument.isFlag) return *argument.fallback ? "true" : "false";
  std::string text = llvm::formatv("{0}", llvm::format("%g", *argument.fallback));
  size_t padding = text.find("e-0"); // the exponent has at least two digits
  return padding == std::string::npos ? text : text.erase(padding + 2, 1);
}

std::string OptimizerRule::signature() const {
  std::vector<std::string> parts;
  for (const OptimizerArgument *argument = arguments.begin(); argument != arguments.end(); ++argument) {
    if (argument->tuple.empty()) {
      parts.push_back(argument->name.str() + (argument->fallback ? " = " + writeDefault(*argument) : ""));
      continue;
    }
    std::vector<std::string> elements;
    StringRef tuple = argument->tuple;
    for (; argument != arguments.end() && argument->tuple == tuple; ++argument)
      elements.push_back(writeDefault(*argument));
    --argument;
    parts.push_back((tuple + " = (" + llvm::join(elements, ", ") + ")").str());
  }
  return (name + "(" + llvm::join(parts, ", ") + ")").str();
}

/// The hyperparameter of that name; null where the update has none.
static Value findScalar(UpdateOp update, StringRef irName) {
  for (auto [given, value] : llvm::zip(names(update.getNames()), update.getValues()))
    if (given == irName) return value;
  return {};
}

bool tessera::isArgumentUsed(UpdateOp update, StringRef irName) {
  Value scalar = findScalar(update, irName);
  if (!scalar) return false;
  auto constant = scalar.getDefiningOp<ConstantOp>();
  return !constant || constant.getNumber() != 0;
}

UpdateInputs::UpdateInputs(GraphBuilder &b, UpdateOp update, ArrayRef<Value> state)
    : b(b), parameter(update.getParameter()), gradient(update.getGradient()), state(state), update(update),
      element(update.getParameter().getType().getElementType()) {}

Value UpdateInputs::scalar(StringRef irName) const { return b.cast(findScalar(update, irName), element); }

bool UpdateInputs::isUsed(StringRef irName) const { return isArgumentUsed(update, irName); }

bool UpdateInputs::hasFlag(StringRef irName) const {
  ArrayAttr flags = update.getFlagsAttr();
  return flags && llvm::is_contained(names(flags), irName);
}

Value UpdateInputs::stepNumber() const { return b.add(b.cast(update.getStep(), element), 1); }

LogicalResult UpdateOp::verify() {
  const OptimizerRule *rule = findOptimizerRule(getRule());
  if (!rule) return emitOpError("unknown optimizer rule `") << getRule() << "`";
  SmallVector<StringRef> given = names(getNames());
  if (given.size() != getValues().size()) return emitOpError("expected one name for each hyperparameter");
  llvm::StringSet<> seen;
  for (StringRef name : given) {
    const OptimizerArgument *argument = rule->findIrArgument(name);
    if (!argument || argument->isFlag)
      return emitOpError("rule `") << getRule() << "` has no hyperparameter `" << name << "`";
    if (!seen.insert(name).second) return emitOpError("hyperparameter `") << name << "` is given twice";
  }
  for (const OptimizerArgument &argument : rule->arguments)
    if (argument.isRequired() && !seen.contains(argument.irName))
      return emitOpError("rule `") << getRule() << "` needs `" << argument.irName << "`";
  for (StringRef flag : getFlagsAttr() ? names(getFlagsAttr()) : SmallVector<StringRef>())
    if (const OptimizerArgument *argument = rule->findIrArgument(flag); !argument || !argument->isFlag)
      return emitOpError("rule `") << getRule() << "` has no flag `" << flag << "`";
  return success();
}
