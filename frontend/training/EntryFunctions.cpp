//===- EntryFunctions.cpp - step, evaluate, predict, init -------------------===//

#include "frontend/training/EntryFunctions.h"
#include "ir/program/Program.h"

using namespace tessera;
using llvm::StringRef;
using llvm::Twine;

void EntryFunctions::begin(StringRef name) {
  E.beginEntry(name);
  Training.beginEntry();
}

void EntryFunctions::finish() {
  Data.setInputBounds();
  E.entry.finish(E.parameters.paths());
}

/// The frame of the training description.
Frame EntryFunctions::trainingFrame() {
  Frame frame = Frame::ofFile(Declared.main());
  frame.isTraining = true;
  frame.isFloat32 = E.float32.contains("loss");
  return frame;
}

//===----------------------------------------------------------------------===//
// step
//===----------------------------------------------------------------------===//

mlir::Value EntryFunctions::totalLoss(llvm::ArrayRef<LoggedScalar> entries) {
  mlir::Value total;
  for (const LoggedScalar &log : entries)
    if (log.isLoss) total = total ? B.add(total, log.value) : log.value;
  return total;
}

/// Whether there is a loss and something to train.
bool EntryFunctions::checkTrainable(llvm::ArrayRef<LoggedScalar> logs) {
  if (Engine.hasErrors()) return false;
  Span span = Declared.train->model.span;
  if (llvm::none_of(logs, [](const LoggedScalar &log) { return log.isLoss; }))
    error(DiagnosticCode::E0403, span, "training without a loss").help("add `loss name = mean[batch](…)`");
  else if (E.parameters.all().empty())
    error(DiagnosticCode::E0405, span, "the model has no parameters to train, or no loss depends on it");
  return !Engine.hasErrors();
}

/// The gradients of the losses of the current level for all trained parameters, in their order.
std::vector<mlir::Value> EntryFunctions::lossGradients() {
  mlir::Value total = totalLoss(E.regions.loggedScalars());
  llvm::SmallVector<mlir::Value> parameters;
  for (const ParameterRules::Trained &trained : Rules.trained())
    parameters.push_back(E.parameters.value(*trained.parameter, E.regions.level()).tensor.value);
  llvm::SmallVector<mlir::Type> types(mlir::ValueRange(parameters).getTypes());
  auto gradient = GradientOp::create(B, B.getLoc(), types, total, parameters);
  return {gradient.getResults().begin(), gradient.getResults().end()};
}

std::vector<mlir::Value> EntryFunctions::buildGradients() {
  Training.evalLossesAndMetrics(/*isTraining=*/true);
  if (!checkTrainable(E.regions.loggedScalars())) return {};
  Rules.read();
  if (!Engine.hasErrors()) Rules.assign();
  return Engine.hasErrors() ? std::vector<mlir::Value>() : lossGradients();
}

/// The loop over micro-batches: gradients and losses are carried sums. What it carries is known only when the body has
/// found the parameters, so the sums' initial values are built last, before all that the body uses.
std::vector<mlir::Value> EntryFunctions::buildMicroBatches() {
  Rules.read(); // outside the loop: learning rates do not depend on the micro-batch
  mlir::Block *entry = E.entry.block();
  mlir::Operation *lastRate = entry->empty() ? nullptr : &entry->back();
  E.regions.push({microAxis(Declared), E.batches.microBatchCount()}, /*isMicro=*/true);
  Training.evalLossesAndMetrics(/*isTraining=*/true);
  if (checkTrainable(E.regions.loggedScalars())) Rules.assign();
  if (Engine.hasErrors()) return E.regions.pop({});
  {
    mlir::OpBuilder::InsertionGuard guard(B);
    if (lastRate)
      B.setInsertionPointAfter(lastRate);
    else
      B.setInsertionPointToStart(entry);
    for (const ParameterRules::Trained &trained : Rules.trained())
      E.regions.innermost().addCarried(B.constant(0, trained.parameter->type), B.getLoc());
  }
  for (LoggedScalar &log : E.regions.loggedScalars()) // a mean over the batch is the sum of scaled means
    if (log.reduction == BatchReduction::Mean) log.value = B.mul(log.value, 1.0 / E.batches.microBatchCount());
  std::vector<mlir::Value> sums;
  for (auto [gradient, sum] : llvm::zip(lossGradients(), E.regions.innermost().carriedArguments()))
    sums.push_back(B.add(sum, gradient));
  return E.regions.pop(sums);
}

ClipOp EntryFunctions::buildClip(llvm::ArrayRef<mlir::Value> gradients) {
  mlir::Value limit;
  if (const Setting *clip = Settings.find("clip", "norm")) limit = B.scalar(clip->value.number.asDouble(), F32);
  llvm::SmallVector<mlir::Type> types(mlir::ValueRange(gradients).getTypes());
  types.push_back(B.scalarType(F32));
  NameScope named(Calls, "clip");
  auto clip = ClipOp::create(B, B.getLoc(), types, gradients, limit, /*unscale=*/mlir::Value());
  if (E.float32.contains("gradients") && E.float32.isReduced())
    clip->setAttr(attrs::precision, mlir::TypeAttr::get(mlir::Float32Type::get(&Context)));
  return clip;
}

void EntryFunctions::buildUpdates(llvm::ArrayRef<mlir::Value> gradients) {
  mlir::Value step = E.entry.counter("step");
  ClipOp clip = buildClip(gradients);
  mlir::Value rate;
  for (auto [trained, gradient] : llvm::zip(Rules.trained(), clip.getClipped())) {
    auto &[parameter, choice] = trained;
    NameScope named(Calls, parameter->path);
    llvm::SmallVector<mlir::Value> arguments;
    llvm::SmallVector<StringRef> names;
    for (auto &[name, value] : choice->arguments) {
      names.push_back(name);
      arguments.push_back(E.exprs.operators.materialize(value, F32));
    }
    rate = rate ? rate : arguments.front();
    auto state = mlir::FlatSymbolRefAttr::get(&Context, parameter->path);
    mlir::ArrayAttr flags = choice->flags.empty() ? mlir::ArrayAttr() : B.strings(choice->flags);
    auto update = UpdateOp::create(B, B.getLoc(), parameter->type, B.getStringAttr(choice->rule->name), state, flags,
                                   E.parameters.value(*parameter, 0).tensor.value, gradient, step, clip.getNorm(),
                                   arguments, B.strings(names));
    E.entry.addStateResult(update.getResult(), parameter->path);
  }
  E.entry.addStateResult(B.add(step, B.scalar(1, I32)), "step");
  addStepOutputs(rate, clip.getNorm());
}

void EntryFunctions::addStepOutputs(mlir::Value rate, mlir::Value norm) {
  for (const LoggedScalar &log : E.regions.loggedScalars())
    E.entry.addOutput(log.value, log.name, log.isLoss ? "loss" : "metric");
  E.entry.addOutput(totalLoss(E.regions.loggedScalars()), "total", "total");
  E.entry.addOutput(rate, "rate", "rate");
  E.entry.addOutput(norm, "grad_norm", "grad_norm");
  // Only a finite number minus itself is zero.
  mlir::Value zero = B.scalar(0, F32);
  E.entry.addOutput(B.cast(B.compare(Predicate::EQ, B.sub(norm, norm), zero), I32), "finite", "finite");
}

void EntryFunctions::buildStep() {
  begin("step");
  Frame frame = trainingFrame();
  FrameScope scope(Calls, frame);
  std::vector<mlir::Value> gradients = E.batches.isAccumulating() ? buildMicroBatches() : buildGradients();
  if (Engine.hasErrors()) return;
  buildUpdates(gradients);
  finish();
}

//===----------------------------------------------------------------------===//
// evaluate, predict, init
//===----------------------------------------------------------------------===//

void EntryFunctions::buildEvaluate() {
  begin("evaluate");
  Frame frame = trainingFrame();
  FrameScope scope(Calls, frame);
  mlir::Value weights;
  if (Declared.dims.count(batchAxis))
    if (std::optional<int64_t> rows = E.dims.size(batchAxis, Declared.train->span))
      weights = E.entry.plainInput("weight", B.type({axis(&Context, batchAxis, *rows)}, F32));
  E.exprs.reductions.setSampleWeights(weights);
  Training.evalLossesAndMetrics(/*isTraining=*/false);
  if (Engine.hasErrors()) return;
  mlir::Value sampleCount = weights ? B.sum(weights, {batchAxis}) : B.scalar(1, F32);
  for (const LoggedScalar &log : E.regions.loggedScalars()) {
    // `evaluate` runs on one micro-batch. A sum over it is scaled by their number, so that the mean over micro-batches
    // is the sum over the batch.
    bool isSum = log.reduction == BatchReduction::Sum && E.batches.isAccumulating();
    mlir::Value value = isSum ? B.mul(log.value, E.batches.microBatchCount()) : log.value;
    E.entry.addOutput(value, log.name, log.isLoss ? "loss" : "metric");
    E.entry.addOutput(log.count ? log.count : sampleCount, log.name, "count");
  }
  finish();
}

/// The input of the entry function for a parameter of the model; an error value means its default.
std::optional<LanguageValue> EntryFunctions::predictArgument(const ast::Param &param) {
  if (!param.axes) {
    if (param.fallback) return LanguageValue();
    error(DiagnosticCode::E0206, param.span,
          "the model's parameter `" + param.name.text + "` has neither axes nor a default")
        .help("to predict, the model is given tensors only: write `" + param.name.text + "[…]`, or a default")
        .help("`hyper` declares a number that can be set");
    return std::nullopt;
  }
  std::optional<std::vector<AxisRef>> axes = E.names.resolveAxes(*param.axes);
  if (!axes) return std::nullopt;
  llvm::SmallVector<AxisAttr> attrs;
  for (const AxisRef &ref : *axes) attrs.push_back(axis(&Context, ref.name, ref.size));
  mlir::NamedAttrList info;
  info.set("order", axisNameList(B, *axes));
  info.set("name", B.getStringAttr(param.name.text));
  info.set("role", B.getStringAttr("argument"));
  Tensor tensor;
  bool isInteger = !param.within.text.empty();
  if (isInteger) {
    std::optional<AxisRef> within = E.names.resolveAxis(param.within);
    if (!within) return std::nullopt;
    info.set("of", B.getI64IntegerAttr(within->size));
    tensor.range = Interval{0, within->size - 1};
  }
  tensor.value =
      E.entry.inputArgument(param.name.text, B.type(attrs, isInteger ? I32 : F32), info.getDictionary(&Context));
  return tensor;
}

void EntryFunctions::buildPredict() {
  begin("predict");
  E.dims.overrideSize(batchAxis, 1);
  Frame frame = Frame::ofFile(Declared.main());
  FrameScope scope(Calls, frame);
  std::vector<LanguageValue> arguments;
  for (const ast::Param &param : Declared.model->params) {
    std::optional<LanguageValue> argument = predictArgument(param);
    if (!argument) return;
    arguments.push_back(std::move(*argument));
  }
  LanguageValue result = E.exprs.functions.expandModel(std::move(arguments), nullptr);
  if (!result.isTensor()) return;
  E.entry.addOutput(result.tensor.value, "result", "result", E.names.resolveAxes(Declared.model->outputs[0].axes));
  finish();
}

/// Draws are keyed by the parameter's path, so that one more layer changes no other value.
mlir::Value EntryFunctions::initialValue(const Parameter &parameter, mlir::Value seed, mlir::Value zero) {
  if (parameter.distribution.empty()) return B.constant(parameter.low, parameter.type);
  bool isNormal = parameter.distribution == "normal";
  mlir::Value value = B.random(isNormal ? Distribution::Normal : Distribution::Uniform, stableHash(parameter.path),
                               seed, zero, {}, parameter.type);
  value.getDefiningOp<RandomOp>().setCanonicalAttr(B.strings(parameter.order));
  value = B.mul(value, isNormal ? parameter.high : parameter.high - parameter.low);
  return isNormal ? value : B.add(value, parameter.low);
}

void EntryFunctions::buildInit() {
  begin("init");
  mlir::Value seed = E.entry.plainInput("seed", B.scalarType(I64));
  mlir::Value zero = B.scalar(0, I32);
  for (auto &[path, parameter] : E.parameters.all()) {
    NameScope named(Calls, path.str());
    E.entry.addStateResult(initialValue(*parameter, seed, zero), path);
  }
  E.entry.addStateResult(zero, "step");
  E.entry.addStateResult(seed, "seed");
  finish();
}
