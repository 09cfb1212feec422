//===- EntryFunctions.cpp - step, evaluate, predict, generate, init ---------===//

#include "frontend/training/EntryFunctions.h"
#include "ir/autodiff/ReverseMode.h"
#include "ir/program/Program.h"
#include "llvm/ADT/SetVector.h"

using namespace tessera;
using llvm::StringRef;
using llvm::Twine;

void EntryFunctions::begin(StringRef name) {
  elaboration.beginEntry(name);
  training.beginEntry();
}

void EntryFunctions::finish() {
  data.setInputBounds();
  elaboration.entry.finish(elaboration.parameters.paths());
}

/// The frame of the training description.
Frame EntryFunctions::trainingFrame() {
  Frame frame = Frame::ofFile(declared.main());
  frame.isTraining = true;
  frame.isFloat32 = elaboration.float32.contains("loss");
  return frame;
}

//===----------------------------------------------------------------------===//
// step
//===----------------------------------------------------------------------===//

mlir::Value EntryFunctions::totalLoss(llvm::ArrayRef<LoggedScalar> entries) {
  mlir::Value total;
  for (const LoggedScalar &log : entries)
    if (log.isLoss) total = total ? builder.add(total, log.value) : log.value;
  return total;
}

/// Whether there is a loss and something to train.
bool EntryFunctions::checkTrainable(llvm::ArrayRef<LoggedScalar> logs) {
  if (diagnostics.hasErrors()) return false;
  Span span = declared.train->model.span;
  if (llvm::none_of(logs, [](const LoggedScalar &log) { return log.isLoss; }))
    error(DiagnosticCode::E0403, span, "training without a loss").help("add `loss name = mean[batch](…)`");
  else if (elaboration.parameters.trainablePaths().empty())
    error(DiagnosticCode::E0405, span, "the model has no parameters to train, or no loss depends on it");
  return !diagnostics.hasErrors();
}

/// Parameters that are trained although no loss depends on them: their gradient is zero. If there are no others, the
/// losses are not of the model.
void EntryFunctions::reportUnusedParameters(GradientOp gradient) {
  llvm::SmallVector<mlir::Operation *> ops;
  for (mlir::Operation &op : llvm::make_range(gradient->getBlock()->begin(), gradient->getIterator()))
    ops.push_back(&op);
  ValueSet useful;
  useful.insert(gradient.getLoss());
  addUseful(ops, useful);
  if (llvm::none_of(gradient.getWrt(), [&](mlir::Value value) { return useful.contains(value); })) {
    error(DiagnosticCode::E0415, declared.train->model.span,
          "no loss depends on any trained parameter: nothing would change")
        .help("compute a loss from what the model returns; integers, comparisons, `round`, `floor`, `sign` and `stop` "
              "pass no gradient on, and `accuracy` is a `metric`");
    return;
  }
  for (auto [trained, value] : llvm::zip(rules.trained(), gradient.getWrt())) {
    if (useful.contains(value)) continue;
    const Parameter &parameter = *trained.parameter;
    auto message =
        diagnostics.warning(DiagnosticCode::E0415, parameter.place,
                            "no loss depends on the " + ast::spelling(parameter.kind) + " `" + parameter.path +
                                "`, which `" + trained.choice->rule->name + "` would train");
    noteDeclaration(message, parameter);
    message.help("use it in what the losses are computed from, remove it, or freeze it: `optimize none on " +
                 parameter.path + "`");
  }
}

/// Parameters in a repeat along an axis of the data, as of time: each step has its own, where a recurrent layer has the
/// same in all.
void EntryFunctions::warnOfParametersOfSteps() const {
  for (auto &[path, parameter] : elaboration.parameters.all())
    for (StringRef axis : llvm::ArrayRef(parameter->order).take_front(parameter->repeats)) {
      if (parameter->isState() || !data.hasAxis(axis)) continue;
      auto message =
          diagnostics.warning(DiagnosticCode::E0304, parameter->place,
                              "each position along `" + axis + "` has its own " + ast::spelling(parameter->kind) +
                                  " `" + path + "`: it is declared inside of `repeat[" + axis + "]`");
      noteDeclaration(message, *parameter);
      message.help("to share it between the positions, declare it outside of the repeat");
    }
}

/// The gradients of the losses of the current level for all trained parameters, in their order.
std::vector<mlir::Value> EntryFunctions::lossGradients() {
  mlir::Value total = totalLoss(elaboration.regions.loggedScalars());
  llvm::SmallVector<mlir::Value> parameters;
  for (const ParameterRules::Trained &trained : rules.trained())
    parameters.push_back(elaboration.parameters.value(*trained.parameter, elaboration.regions.level()).tensor.value);
  llvm::SmallVector<mlir::Type> types(mlir::ValueRange(parameters).getTypes());
  auto gradient = GradientOp::create(builder, builder.getLoc(), types, total, parameters);
  reportUnusedParameters(gradient);
  return {gradient.getResults().begin(), gradient.getResults().end()};
}

std::vector<mlir::Value> EntryFunctions::buildGradients() {
  training.evalLossesAndMetrics(/*isTraining=*/true);
  if (!checkTrainable(elaboration.regions.loggedScalars())) return {};
  rules.read();
  if (!diagnostics.hasErrors()) rules.assign();
  return diagnostics.hasErrors() ? std::vector<mlir::Value>() : lossGradients();
}

/// The loop over micro-batches: gradients and losses are carried sums. What it carries is known only when the body has
/// found the parameters, so the sums' initial values are built last, before all that the body uses.
std::vector<mlir::Value> EntryFunctions::buildMicroBatches() {
  rules.read(); // outside the loop: learning rates do not depend on the micro-batch
  mlir::Block *entry = elaboration.entry.block();
  mlir::Operation *lastRate = entry->empty() ? nullptr : &entry->back();
  elaboration.regions.push({microAxis(declared), elaboration.batches.microBatchCount()}, /*isMicro=*/true);
  training.evalLossesAndMetrics(/*isTraining=*/true);
  if (checkTrainable(elaboration.regions.loggedScalars())) rules.assign();
  if (diagnostics.hasErrors()) return elaboration.regions.pop({});
  size_t states = elaboration.regions.innermost().carried.size(); // all that is carried so far
  {
    mlir::OpBuilder::InsertionGuard guard(builder);
    if (lastRate)
      builder.setInsertionPointAfter(lastRate);
    else
      builder.setInsertionPointToStart(entry);
    for (const ParameterRules::Trained &trained : rules.trained())
      elaboration.regions.innermost().addCarried(builder.constant(0, trained.parameter->type), builder.getLoc());
  }
  for (LoggedScalar &log : elaboration.regions.loggedScalars()) // a mean over the batch is the sum of scaled means
    if (log.reduction == BatchReduction::Mean)
      log.value = builder.mul(log.value, 1.0 / elaboration.batches.microBatchCount());
  std::vector<mlir::Value> next = nextStatesOfMicroBatch();
  elaboration.batches.warnOfRepetition(elaboration.regions.innermost());
  auto sums = elaboration.regions.innermost().carriedArguments().drop_front(states);
  for (auto [gradient, sum] : llvm::zip(lossGradients(), sums)) next.push_back(builder.add(sum, gradient));
  std::vector<std::string> carried = elaboration.regions.innermost().carriedStates;
  std::vector<AssignedState> assigned = elaboration.regions.innermost().assignedStates;
  std::vector<mlir::Value> results = elaboration.regions.pop(next);
  for (const AssignedState &state : assigned) {
    size_t index = llvm::find(carried, state.path) - carried.begin();
    elaboration.regions.assignedStates().push_back({state.path, results[index], state.span});
  }
  return {results.begin() + states, results.end()};
}

/// For each state that the body carries: what is assigned to it, or what came in.
std::vector<mlir::Value> EntryFunctions::nextStatesOfMicroBatch() {
  RepeatRegion &micro = elaboration.regions.innermost();
  std::vector<mlir::Value> next;
  for (auto [path, argument] : llvm::zip(micro.carriedStates, micro.carriedArguments())) {
    auto assigned = llvm::find_if(micro.assignedStates, [&](const AssignedState &state) { return state.path == path; });
    next.push_back(assigned == micro.assignedStates.end() ? mlir::Value(argument) : assigned->value);
  }
  return next;
}

/// A step whose gradients are not all finite changes no state, as it changes no parameter.
void EntryFunctions::addNextStates(mlir::Value norm) {
  if (elaboration.regions.assignedStates().empty()) return;
  mlir::Value isFinite = builder.compare(Predicate::LT, norm, builder.scalar(INFINITY, f32)); // false for NaN too
  for (const AssignedState &assigned : elaboration.regions.assignedStates()) {
    NameScope named(calls, assigned.path);
    const Parameter &state = *elaboration.parameters.find(assigned.path);
    mlir::Value before = elaboration.parameters.value(state, 0).tensor.value;
    elaboration.entry.addStateResult(builder.select(isFinite, assigned.value, before), assigned.path);
  }
}

ClipOp EntryFunctions::buildClip(llvm::ArrayRef<mlir::Value> gradients) {
  mlir::Value limit;
  if (const Setting *clip = settings.find("clip", "norm")) limit = builder.scalar(clip->value.number.asDouble(), f32);
  llvm::SmallVector<mlir::Type> types(mlir::ValueRange(gradients).getTypes());
  types.push_back(builder.scalarType(f32));
  NameScope named(calls, "clip");
  auto clip = ClipOp::create(builder, builder.getLoc(), types, gradients, limit, /*unscale=*/mlir::Value());
  if (elaboration.float32.contains("gradients") && elaboration.float32.isReduced())
    clip->setAttr(attrs::precision, mlir::TypeAttr::get(mlir::Float32Type::get(&context)));
  return clip;
}

void EntryFunctions::buildUpdates(llvm::ArrayRef<mlir::Value> gradients) {
  mlir::Value step = elaboration.entry.counter("step");
  ClipOp clip = buildClip(gradients);
  mlir::Value rate;
  for (auto [trained, gradient] : llvm::zip(rules.trained(), clip.getClipped())) {
    auto &[parameter, choice] = trained;
    NameScope named(calls, parameter->path);
    llvm::SmallVector<mlir::Value> arguments;
    llvm::SmallVector<StringRef> names;
    for (auto &[name, value] : choice->arguments) {
      names.push_back(name);
      arguments.push_back(elaboration.exprs.operators.materialize(value, f32));
    }
    rate = rate ? rate : arguments.front();
    auto state = mlir::FlatSymbolRefAttr::get(&context, parameter->path);
    mlir::ArrayAttr flags = choice->flags.empty() ? mlir::ArrayAttr() : builder.strings(choice->flags);
    auto update =
        UpdateOp::create(builder, builder.getLoc(), parameter->type, builder.getStringAttr(choice->rule->name), state,
                         flags, elaboration.parameters.value(*parameter, 0).tensor.value, gradient, step,
                         clip.getNorm(), arguments, builder.strings(names));
    elaboration.entry.addStateResult(update.getResult(), parameter->path);
  }
  addNextStates(clip.getNorm());
  elaboration.entry.addStateResult(builder.add(step, builder.scalar(1, i32)), "step");
  addStepOutputs(rate, clip.getNorm());
}

void EntryFunctions::addStepOutputs(mlir::Value rate, mlir::Value norm) {
  for (const LoggedScalar &log : elaboration.regions.loggedScalars())
    elaboration.entry.addOutput(log.value, log.name, log.isLoss ? "loss" : "metric");
  elaboration.entry.addOutput(totalLoss(elaboration.regions.loggedScalars()), "total", "total");
  elaboration.entry.addOutput(rate, "rate", "rate");
  elaboration.entry.addOutput(norm, "grad_norm", "grad_norm");
  // Only a finite number minus itself is zero.
  mlir::Value zero = builder.scalar(0, f32);
  elaboration.entry.addOutput(builder.cast(builder.compare(Predicate::EQ, builder.sub(norm, norm), zero), i32),
                              "finite", "finite");
}

void EntryFunctions::buildStep() {
  begin("step");
  Frame frame = trainingFrame();
  FrameScope scope(calls, frame);
  std::vector<mlir::Value> gradients = elaboration.batches.isAccumulating() ? buildMicroBatches() : buildGradients();
  if (diagnostics.hasErrors()) return;
  warnOfParametersOfSteps();
  buildUpdates(gradients);
  finish();
}

//===----------------------------------------------------------------------===//
// evaluate
//===----------------------------------------------------------------------===//

/// The input that tells rows of the data from padding; null if the program has no batches.
mlir::Value EntryFunctions::addSampleWeights() {
  mlir::Value weights;
  if (declared.dims.count(batchAxis))
    if (std::optional<int64_t> rows = elaboration.dims.size(batchAxis, declared.train->span))
      weights = elaboration.entry.plainInput("weight", builder.type({axis(&context, batchAxis, *rows)}, f32));
  elaboration.exprs.reductions.setSampleWeights(weights);
  return weights;
}

void EntryFunctions::buildEvaluate() {
  begin("evaluate");
  Frame frame = trainingFrame();
  FrameScope scope(calls, frame);
  mlir::Value weights = addSampleWeights();
  training.evalLossesAndMetrics(/*isTraining=*/false);
  if (diagnostics.hasErrors()) return;
  settings.checkGoal(elaboration.regions.loggedScalars());
  mlir::Value sampleCount = weights ? builder.sum(weights, {batchAxis}) : builder.scalar(1, f32);
  for (const LoggedScalar &log : elaboration.regions.loggedScalars()) {
    // `evaluate` runs on one micro-batch. A sum over it is scaled by their number, so that the mean over micro-batches
    // is the sum over the batch.
    bool isSum = log.reduction == BatchReduction::Sum && elaboration.batches.isAccumulating();
    mlir::Value value = isSum ? builder.mul(log.value, elaboration.batches.microBatchCount()) : log.value;
    elaboration.entry.addOutput(value, log.name, log.isLoss ? "loss" : "metric");
    elaboration.entry.addOutput(log.count ? log.count : sampleCount, log.name, "count");
  }
  finish();
}

//===----------------------------------------------------------------------===//
// predict
//===----------------------------------------------------------------------===//

/// The fields of the data that the outputs are computed from.
static llvm::SetVector<StringRef> fieldsOf(llvm::ArrayRef<PredictedOutput> outputs, const EntryBuilder &entry) {
  llvm::SetVector<mlir::Value> seen;
  for (const PredictedOutput &output : outputs) seen.insert(output.value);
  llvm::SetVector<StringRef> fields;
  for (size_t next = 0; next < seen.size(); ++next) {
    if (mlir::Operation *op = seen[next].getDefiningOp())
      seen.insert(op->operand_begin(), op->operand_end());
    else if (StringRef field = entry.dataName(llvm::cast<mlir::BlockArgument>(seen[next])); !field.empty())
      fields.insert(field);
  }
  return fields;
}

/// What a call of the model returned. An output whose rows mix with others (without `batch`, or with a second axis of
/// samples) is of the batch.
std::vector<PredictedOutput> EntryFunctions::outputsOf(const ModelCall &call) {
  bool isTuple = call.result.kind == LanguageValue::Kind::Tuple;
  std::vector<PredictedOutput> outputs;
  for (auto [i, declaration] : llvm::enumerate(declared.model->outputs)) {
    std::optional<std::vector<AxisRef>> axes = elaboration.names.resolveAxes(declaration.axes);
    if (!axes) return {};
    PredictedOutput output;
    output.name = isTuple ? declaration.name.text : declared.model->name.text;
    output.value = (isTuple ? call.result.elements[i].second : call.result).tensor.value;
    llvm::stable_sort(*axes,
                      [](const AxisRef &a, const AxisRef &b) { return a.name == batchAxis && b.name != batchAxis; });
    output.isOfRows = !axes->empty() && axes->front().name == batchAxis &&
                      llvm::none_of(llvm::drop_begin(*axes),
                                    [&](const AxisRef &axis) { return elaboration.dims.isSampleAxis(axis.name); });
    output.order = std::move(*axes);
    outputs.push_back(std::move(output));
  }
  return outputs;
}

/// The outputs of the call that needs the fewest fields, of equal ones the first: of `net(d.image)` and
/// `net(mix(d.image, d.label))` the former. None if every call is inside a repeat, reads no data, or has no output with
/// a value for each row.
std::vector<PredictedOutput> EntryFunctions::choosePrediction() {
  std::vector<PredictedOutput> best;
  unsigned fewest = 0;
  for (const ModelCall &call : elaboration.exprs.functions.modelCalls()) {
    if (call.level > 0) continue;
    std::vector<PredictedOutput> outputs = outputsOf(call);
    if (llvm::none_of(outputs, [](const PredictedOutput &output) { return output.isOfRows; })) continue;
    unsigned fields = fieldsOf(outputs, elaboration.entry).size();
    if (fields > 0 && (best.empty() || fields < fewest)) best = std::move(outputs), fewest = fields;
  }
  return best;
}

/// The model's results for rows of the data, with its arguments as the description computes them in evaluation.
void EntryFunctions::buildPredict() {
  begin("predict");
  if (options.predictRows) elaboration.dims.overrideSize(batchAxis, *options.predictRows);
  Frame frame = trainingFrame();
  FrameScope scope(calls, frame);
  addSampleWeights();
  training.evalLossesAndMetrics(/*isTraining=*/false);
  if (diagnostics.hasErrors()) return;
  std::vector<PredictedOutput> outputs = choosePrediction();
  if (outputs.empty()) return elaboration.entry.discard();
  for (const PredictedOutput &output : outputs)
    elaboration.entry.addOutput(output.value, output.name, output.isOfRows ? "result" : "batch_result", output.order,
                                fieldsOf(output, elaboration.entry).getArrayRef());
  finish();
}

//===----------------------------------------------------------------------===//
// generate
//===----------------------------------------------------------------------===//

/// The input of the entry function for a parameter of the model; an error value means its default.
std::optional<LanguageValue> EntryFunctions::generateArgument(const ast::Param &param) {
  if (!param.axes) return LanguageValue();
  std::optional<std::vector<AxisRef>> axes = elaboration.names.resolveAxes(*param.axes);
  if (!axes) return std::nullopt;
  llvm::SmallVector<AxisAttr> attrs;
  for (const AxisRef &ref : *axes) attrs.push_back(axis(&context, ref.name, ref.size));
  mlir::NamedAttrList info;
  info.set("order", axisNameList(builder, *axes));
  info.set("name", builder.getStringAttr(param.name.text));
  info.set("role", builder.getStringAttr("argument"));
  Tensor tensor;
  bool isInteger = !param.within.text.empty();
  if (isInteger) {
    std::optional<AxisRef> within = elaboration.names.resolveAxis(param.within);
    if (!within) return std::nullopt;
    info.set("of", builder.getI64IntegerAttr(within->size));
    tensor.range = Interval{0, within->size - 1};
  }
  tensor.value = elaboration.entry.inputArgument(param.name.text, builder.type(attrs, isInteger ? i32 : f32),
                                                 info.getDictionary(&context));
  return tensor;
}

/// The parameter of a model that maps [a, b] to scores [a, b, vocab]; null for another model. It maps tokens if the
/// parameter is bounded.
const ast::Param *EntryFunctions::sequenceParameter() const {
  llvm::SmallVector<const ast::Param *> tensors;
  for (const ast::Param &param : declared.model->params)
    if (param.axes) tensors.push_back(&param);
  const std::vector<ast::ModelOutput> &outputs = declared.model->outputs;
  if (tensors.size() != 1 || outputs.size() != 1) return nullptr;
  auto namesOf = [](const ast::Axes &axes) {
    return llvm::map_to_vector(axes.list, [](const ast::AxisItem &axis) { return axis.name.text; });
  };
  llvm::SmallVector<StringRef> tokens = namesOf(*tensors[0]->axes), scores = namesOf(outputs[0].axes);
  bool fits = outputs[0].name.text.empty() && tokens.size() == 2 && scores.size() == 3 && tokens[0] == scores[0] &&
              tokens[1] == scores[1];
  return fits ? tensors[0] : nullptr;
}

/// Whether each parameter of the model has axes or a default.
bool EntryFunctions::checkModelParameters() {
  for (const ast::Param &param : declared.model->params) {
    if (param.axes || param.fallback) continue;
    error(DiagnosticCode::E0206, param.span,
          "the model's parameter `" + param.name.text + "` has neither axes nor a default")
        .help("a model takes tensors: write `" + param.name.text + "[…]`, or a default")
        .help("`hyper` declares a number that can be set");
    return false;
  }
  return true;
}

/// The model by itself, for one row. Other models cannot generate; they are checked in this way if no training
/// description calls them.
void EntryFunctions::buildGenerate() {
  begin("generate");
  if (!checkModelParameters()) return;
  const ast::Param *sequence = sequenceParameter();
  if (declared.train && !sequence) return elaboration.entry.discard();
  elaboration.dims.overrideSize(batchAxis, 1);
  Frame frame = Frame::ofFile(declared.main());
  FrameScope scope(calls, frame);
  std::vector<LanguageValue> arguments;
  for (const ast::Param &param : declared.model->params) {
    std::optional<LanguageValue> argument = generateArgument(param);
    if (!argument) return;
    arguments.push_back(std::move(*argument));
  }
  LanguageValue result = elaboration.exprs.functions.expandModel(std::move(arguments), nullptr);
  if (result.isError()) return;
  if (!sequence || sequence->within.text.empty()) return elaboration.entry.discard();
  elaboration.entry.addOutput(result.tensor.value, "result", "result",
                              elaboration.names.resolveAxes(declared.model->outputs[0].axes));
  finish();
}

//===----------------------------------------------------------------------===//
// init
//===----------------------------------------------------------------------===//

/// Draws are keyed by the parameter's path, so that one more layer changes no other value.
mlir::Value EntryFunctions::initialValue(const Parameter &parameter, mlir::Value seed, mlir::Value zero) {
  if (parameter.distribution.empty()) return builder.constant(parameter.low, parameter.type);
  bool isNormal = parameter.distribution == "normal";
  mlir::Value value = builder.random(isNormal ? Distribution::Normal : Distribution::Uniform,
                                     stableHash(parameter.path), seed, zero, {}, parameter.type);
  value.getDefiningOp<RandomOp>().setCanonicalAttr(builder.strings(parameter.order));
  value = builder.mul(value, isNormal ? parameter.high : parameter.high - parameter.low);
  return isNormal ? value : builder.add(value, parameter.low);
}

void EntryFunctions::buildInit() {
  begin("init");
  mlir::Value seed = elaboration.entry.plainInput("seed", builder.scalarType(i64));
  mlir::Value zero = builder.scalar(0, i32);
  for (auto &[path, parameter] : elaboration.parameters.all()) {
    NameScope named(calls, path.str());
    elaboration.entry.addStateResult(initialValue(*parameter, seed, zero), path);
  }
  elaboration.entry.addStateResult(zero, "step");
  elaboration.entry.addStateResult(seed, "seed");
  finish();
}
