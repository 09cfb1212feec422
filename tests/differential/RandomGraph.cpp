//===- RandomGraph.cpp - the entry functions of a random program ----------===//

#include "tests/differential/RandomGraph.h"
#include "ir/program/Program.h"
#include "tests/differential/Grower.h"
#include <limits>

using namespace mlir;
using namespace tessera;
using namespace tessera::test;

namespace {
/// Builds one program.
class ProgramMaker {
public:
  ProgramMaker(MLIRContext &context, unsigned seed, Type element, Extra extra) : seed(seed), extra(extra) {
    context.loadDialect<TsrDialect, func::FuncDialect>();
    shapes.module = ModuleOp::create(UnknownLoc::get(&context));
    shapes.element = element;
  }

  ModuleOp make() {
    chooseSizes();
    makeStep();
    for (StringRef entry : {"evaluate", "predict"}) makeForward(entry);
    makeInit();
    addStateTable();
    return shapes.module;
  }

private:
  void chooseSizes();
  void makeStep();
  void makeForward(StringRef entry);
  void makeInit();
  void addStateTable();

  /// The forward pass; equal choices give equal passes in every entry function.
  Value forward(Level &level, bool wantsLoss) {
    Choices choices(seed);
    Numbering numbering;
    numbering.budget = choices.integer(5, 60);
    numbering.extra = extra;
    Grower grower(level, choices, numbering, 0);
    grower.addData();
    grower.grow(numbering.budget);
    return wantsLoss ? grower.loss() : grower.last().value;
  }

  /// The loss and, where wanted, the gradients of all parameters, which `names` receives.
  SmallVector<Value> lossAndGradients(Level &level, bool wantsGradients, std::vector<std::string> &names);
  Value update(Level &level, Choices &choices, StringRef name, Value gradient, Value norm);
  /// The next values of states after a micro-batch.
  SmallVector<Value> nextStates(Level &micro, ArrayRef<std::string> names, bool isStep);
  void addStates(Level &level, Value norm, SmallVectorImpl<Level::Result> &results);

  unsigned seed;
  Extra extra;
  Shapes shapes;
};
} // namespace

void ProgramMaker::chooseSizes() {
  Choices choices(seed ^ 0x5eed);
  auto &sizes = shapes.sizes;
  sizes["head"] = choices.integer(1, 3);
  sizes["hd"] = choices.integer(1, 4);
  sizes["feat"] = sizes["head"] * sizes["hd"];
  sizes["seq"] = sizes["key"] = choices.integer(1, 5);
  for (StringRef name : {"batch", "hid", "cls", "out"}) sizes[name] = choices.integer(2, 5);
  sizes["vocab"] = choices.integer(3, 7);
  sizes["layer"] = choices.integer(1, 3);
  if (extra == Extra::Stacks) sizes["layer"] = choices.integer(1, 7);
  sizes["inner"] = 2;
  shapes.microBatches = choices.oneIn(6) ? 2 : 1;
  if (extra == Extra::MicroBatches) shapes.microBatches = choices.integer(2, 4);
  if (extra == Extra::Leaves) shapes.microBatches = 1 << choices.integer(1, 3);
  sizes["micro"] = shapes.microBatches;
  OpBuilder b(shapes.module.getContext());
  shapes.module->setAttr(attrs::axes, b.getStrArrayAttr({"layer", "inner", "micro", "batch", "head", "seq", "key",
                                                         "part", "feat", "hd", "hid", "out", "vocab", "cls"}));
  shapes.module->setAttr(attrs::model, b.getStringAttr("random" + std::to_string(seed)));
  shapes.module->setAttr(attrs::phase, b.getStringAttr("parse"));
}

SmallVector<Value> ProgramMaker::lossAndGradients(Level &level, bool wantsGradients, std::vector<std::string> &names) {
  auto build = [&](Level &at) {
    SmallVector<Value> values{forward(at, true)};
    if (!wantsGradients) return values;
    SmallVector<Value> wrt;
    for (auto &[name, parameter] : shapes.parameters) {
      names.push_back(name);
      wrt.push_back(at.parameter(name, parameter.type.getAxes(), parameter.scale));
    }
    auto gradient = GradientOp::create(at.b, at.b.getLoc(), ValueRange(wrt).getTypes(), values[0], wrt);
    llvm::append_range(values, gradient.getGradients());
    return values;
  };
  if (shapes.microBatches == 1) return build(level);

  // Carried sums over micro-batches, from zero. The types are those of a pass built aside and thrown away.
  std::vector<std::string> unused;
  SmallVector<Value> start{level.b.scalar(0, shapes.element)};
  if (wantsGradients) {
    ModuleOp aside = shapes.module.clone();
    Shapes copy{aside, shapes.element, shapes.sizes, {}, {}, 1};
    Level probe(copy, "probe");
    forward(probe, true);
    shapes.parameters = copy.parameters, shapes.states = copy.states;
    aside->erase();
    for (auto &[name, parameter] : shapes.parameters) start.push_back(level.b.constant(0, parameter.type));
  }
  std::vector<std::string> states;
  unsigned sums = start.size();
  for (auto &[name, type] : shapes.states) states.push_back(name), start.push_back(level.state(name, type));
  Level micro(level, shapes.axis("micro"), start, /*isMicro=*/true);
  micro.carryStates(states, sums);
  SmallVector<Value> next;
  for (auto [i, value] : llvm::enumerate(build(micro))) next.push_back(micro.b.add(micro.getCarried(i), value));
  llvm::append_range(next, nextStates(micro, states, wantsGradients));
  ValueRange results = micro.finishRepeat(next, false);
  for (auto [name, value] : llvm::zip(states, results.drop_front(sums)))
    if (micro.assigned(name)) level.assign(name, value);
  SmallVector<Value> means;
  for (Value sum : results.take_front(sums)) means.push_back(level.b.mul(sum, 1.0 / shapes.microBatches));
  return means;
}

/// In an evaluation, whose differences are compared with the gradients of the step, they are constants as in the step.
SmallVector<Value> ProgramMaker::nextStates(Level &micro, ArrayRef<std::string> names, bool isStep) {
  return llvm::map_to_vector(names, [&](const std::string &name) -> Value {
    Value next = micro.assigned(name);
    if (!next) return micro.modelState(name, shapes.states[name].getAxes());
    return isStep ? next : micro.b.unary<StopOp>(next);
  });
}

void ProgramMaker::addStates(Level &level, Value norm, SmallVectorImpl<Level::Result> &results) {
  Value infinity = level.b.scalar(std::numeric_limits<double>::infinity(), shapes.element);
  for (auto &[name, type] : shapes.states)
    if (Value next = level.assigned(name)) {
      Value isFinite = level.b.compare(Predicate::LT, norm, infinity);
      results.push_back({level.b.select(isFinite, next, level.state(name, type)), name, "", ""});
    }
}

Value ProgramMaker::update(Level &level, Choices &choices, StringRef name, Value gradient, Value norm) {
  GraphBuilder &b = level.b;
  auto number = [&](double value) { return b.scalar(value, shapes.element); };
  static constexpr StringRef rules[] = {"sgd", "adam", "adamw"};
  StringRef rule = rules[choices.integer(0, 2)];
  Value rate = number(0.03);
  if (choices.oneIn(3)) rate = b.div(rate, b.add(b.cast(level.step(), shapes.element), 1)); // A schedule.
  Value decay = number(choices.oneIn(2) ? 0.1 : 0);
  Parameter parameter = shapes.parameters[name.str()];
  Value old = level.parameter(name.str(), parameter.type.getAxes(), parameter.scale);
  SmallVector<Value> arguments;
  SmallVector<StringRef> names;
  if (rule == "sgd") {
    arguments = {rate, number(choices.oneIn(2) ? 0.9 : 0), decay};
    names = {"rate", "momentum", "decay"};
  } else {
    arguments = {rate, number(0.9), number(0.95), number(1e-3), decay};
    names = {"rate", "beta1", "beta2", "epsilon", "decay"};
  }
  bool nesterov = rule == "sgd" && choices.oneIn(3);
  return UpdateOp::create(
      b, b.getLoc(), old.getType(), b.getStringAttr(rule), FlatSymbolRefAttr::get(b.getContext(), name),
      nesterov ? b.strings({"nesterov"}) : ArrayAttr(), old, gradient, level.step(), norm, arguments, b.strings(names));
}

void ProgramMaker::makeStep() {
  Level level(shapes, "step");
  Choices choices(seed ^ 0x0971);
  std::vector<std::string> names;
  SmallVector<Value> values = lossAndGradients(level, true, names);
  Value loss = values[0];
  auto gradients = ArrayRef<Value>(values).drop_front();
  Value limit = choices.oneIn(2) ? level.b.scalar(0.5, shapes.element) : Value();
  SmallVector<Type> types = llvm::map_to_vector(gradients, [](Value v) { return v.getType(); });
  types.push_back(level.b.scalarType(shapes.element));
  auto clip = ClipOp::create(level.b, level.b.getLoc(), types, gradients, limit, /*unscale=*/Value());
  SmallVector<Level::Result> results;
  for (auto [name, gradient] : llvm::zip(names, clip.getClipped()))
    results.push_back({update(level, choices, name, gradient, clip.getNorm()), name, "", ""});
  addStates(level, clip.getNorm(), results);
  results.push_back({level.b.add(level.step(), level.b.scalar(1, level.b.getI32Type())), "step", "", ""});
  results.push_back({loss, "", "loss", "loss"});
  results.push_back({clip.getNorm(), "", "norm", "metric"});
  for (auto [name, gradient] : llvm::zip(names, gradients))
    results.push_back({gradient, "", "gradient " + name, "result"});
  level.finishEntry(results);
}

void ProgramMaker::makeForward(StringRef entry) {
  Level level(shapes, entry);
  std::vector<std::string> unused;
  if (entry == "predict")
    level.finishEntry({{forward(level, false), "", "prediction", "result"}});
  else
    level.finishEntry({{lossAndGradients(level, false, unused)[0], "", "loss", "loss"}});
}

void ProgramMaker::makeInit() {
  Level level(shapes, "init");
  GraphBuilder &b = level.b;
  Value seedInput = level.input("seed", "seed", b.scalarType(b.getI64Type())), zero = b.scalar(0, b.getI32Type());
  SmallVector<Level::Result> results;
  int site = 1000;
  for (auto &[name, parameter] : shapes.parameters) {
    Value draw = b.random(Distribution::Normal, ++site, seedInput, zero, {}, parameter.type);
    results.push_back({b.mul(draw, parameter.scale), name, "", ""});
  }
  for (auto &[name, type] : shapes.states) {
    Value draw = b.random(Distribution::Uniform, ++site, seedInput, zero, {}, type);
    results.push_back({b.add(draw, -0.5), name, "", ""});
  }
  results.push_back({zero, "step", "", ""});
  results.push_back({seedInput, "seed", "", ""});
  level.finishEntry(results);
}

void ProgramMaker::addStateTable() {
  OpBuilder b = OpBuilder::atBlockBegin(shapes.module.getBody());
  auto add = [&](StringRef path, StringRef kind, NamedTensorType type) {
    StateOp::create(b, b.getUnknownLoc(), path, kind, type, PlaceAttr());
  };
  for (auto &[name, parameter] : shapes.parameters)
    add(name, parameter.type.getRank() < 2 ? "bias" : "weight", parameter.type);
  for (auto &[name, type] : shapes.states) add(name, "state", type);
  add("step", "counter", NamedTensorType::get(b.getContext(), {}, b.getI32Type()));
  add("seed", "counter", NamedTensorType::get(b.getContext(), {}, b.getI64Type()));
}

OwningOpRef<ModuleOp> tessera::test::makeRandomProgram(MLIRContext &context, unsigned seed, Type element, Extra extra) {
  return ProgramMaker(context, seed, element, extra).make();
}

void tessera::test::setCompute(ModuleOp module, StringRef type) {
  if (type.empty()) return;
  Builder b(module.getContext());
  auto dictionary = [&](StringRef name, Attribute value) { return b.getDictionaryAttr(b.getNamedAttr(name, value)); };
  module->setAttr(attrs::settings, dictionary("compute", dictionary("type", b.getStringAttr(type))));
}

Values tessera::test::makeInputs(func::FuncOp entry, unsigned draw) {
  Values values;
  for (unsigned i = 0; i < entry.getNumArguments(); ++i) {
    std::string name = argumentName(entry, i);
    if (!StringRef(name).starts_with("input ")) continue;
    Choices choices(draw * 977 + std::hash<std::string>()(name) % 100003);
    // Numbers are drawn in the order of axis names, so that they do not depend on the layout.
    auto type = cast<NamedTensorType>(entry.getArgumentTypes()[i]);
    SmallVector<AxisAttr> axes(type.getAxes());
    llvm::sort(axes, [](AxisAttr a, AxisAttr b) { return a.getName() < b.getName(); });
    TensorValue value(type.withAxes(axes));
    for (double &number : value.data)
      if (name == "input seed")
        number = 1234567 + draw;
      else if (isa<FloatType>(type.getElementType()))
        number = static_cast<float>(choices.real(-1, 1));
      else
        number = choices.integer(choices.oneIn(20) ? -1 : 0, name == "input tokens" ? 3 : 1);
    values[name] = value.reordered(type);
  }
  return values;
}
