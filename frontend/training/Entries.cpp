//===- Entries.cpp - the entry functions: step, evaluate, predict, init ----===//

#include "frontend/elaborate/Elaborator.h"
#include "ir/program/Program.h"
#include "mlir/IR/Verifier.h"

using namespace tessera;
using llvm::StringRef;
using llvm::Twine;

namespace {
/// Gives each op the user's name for what is being computed, and says whether it stays in f32.
struct OpLabeller : mlir::OpBuilder::Listener {
  OpLabeller(const std::string &name, llvm::function_ref<bool()> isKept) : Name(name), IsKept(isKept) {}
  void notifyOperationInserted(mlir::Operation *op, mlir::OpBuilder::InsertPoint) override {
    if (!llvm::isa<TsrDialect>(op->getDialect()) || llvm::isa<ConstantOp, IndexOp, YieldOp, StateOp>(op)) return;
    if (!Name.empty()) op->setAttr(attrs::name, mlir::StringAttr::get(op->getContext(), Name));
    if (IsKept()) op->setAttr(attrs::keep, mlir::TypeAttr::get(mlir::Float32Type::get(op->getContext())));
  }
  const std::string &Name;
  llvm::function_ref<bool()> IsKept;
};
} // namespace

//===----------------------------------------------------------------------===//
// Beginning and ending an entry
//===----------------------------------------------------------------------===//

void Elaborator::beginEntry(StringRef name, bool training) {
  auto type = mlir::FunctionType::get(&Context, {}, {});
  Entry = mlir::func::FuncOp::create(mlir::UnknownLoc::get(&Context), name, type);
  Module->push_back(Entry);
  EntryBlock = Entry.addEntryBlock();
  Training = training;
  IsPredict = name == "predict";
  IsEvaluate = name == "evaluate";
  Levels.clear();
  EntryLogs.clear();
  StateArguments.clear();
  InputArguments.clear();
  ArgumentAttrs.clear();
  Results.clear();
  ResultAttrs.clear();
  DrawsAt.clear();
  TrainLetValues.clear();
  DimSizes.clear();
  SizeOverrides.clear();
  Lets.clear();
  LocalSizes.clear();
  RowWeights = nullptr;
  BatchReductions.clear();
  WeightedMeans.clear();
  RowAxes.clear();
  continueAtLevel();
}

mlir::ArrayAttr Elaborator::axisNameList(llvm::ArrayRef<AxisRef> axes) {
  return B.strings(llvm::map_to_vector(axes, [](const AxisRef &axis) { return StringRef(axis.name); }));
}

void Elaborator::addOutput(mlir::Value value, StringRef name, StringRef role,
                           const std::optional<std::vector<AxisRef>> &order) {
  Results.push_back(value);
  mlir::NamedAttrList tag, list;
  tag.set("name", B.getStringAttr(name));
  tag.set("role", B.getStringAttr(role));
  if (order) tag.set("order", axisNameList(*order));
  list.set(attrs::output, tag.getDictionary(&Context));
  ResultAttrs.push_back(list);
}

void Elaborator::addStateResult(mlir::Value value, StringRef path) {
  Results.push_back(value);
  mlir::NamedAttrList list;
  list.set(attrs::state, mlir::FlatSymbolRefAttr::get(&Context, path));
  ResultAttrs.push_back(list);
}

/// Puts the arguments in order (parameters as declared, counters, inputs) and gives the function its type.
void Elaborator::finishEntry() {
  mlir::func::ReturnOp::create(B, B.getLoc(), Results);
  unsigned count = EntryBlock->getNumArguments();
  std::vector<unsigned> order;
  auto append = [&](mlir::Value argument) {
    if (argument) order.push_back(llvm::cast<mlir::BlockArgument>(argument).getArgNumber());
  };
  for (auto &entry : Parameters) append(StateArguments.lookup(entry.first));
  append(StateArguments.lookup("step"));
  append(StateArguments.lookup("seed"));
  for (unsigned i = 0; i < count; ++i)
    if (!llvm::is_contained(order, i)) order.push_back(i);
  llvm::SmallVector<mlir::Type> types, resultTypes(mlir::ValueRange(Results).getTypes());
  llvm::SmallVector<mlir::Attribute> argAttrs, resultAttrs;
  for (unsigned i : order) {
    mlir::BlockArgument old = EntryBlock->getArgument(i);
    mlir::Value fresh = EntryBlock->addArgument(old.getType(), old.getLoc());
    old.replaceAllUsesWith(fresh);
    types.push_back(old.getType());
    mlir::NamedAttrList &list = ArgumentAttrs[i];
    // Bounds may have been found after the input was first read.
    if (auto info = llvm::dyn_cast_or_null<mlir::DictionaryAttr>(list.get(attrs::input)); info && info.get("data"))
      for (DataSource &source : Data)
        for (DataField &field : source.fields)
          if (info.getAs<mlir::StringAttr>("name").getValue() == source.name + "." + field.name && field.below) {
            mlir::NamedAttrList extended(info);
            extended.set("of", B.getI64IntegerAttr(*field.below));
            list.set(attrs::input, extended.getDictionary(&Context));
          }
    argAttrs.push_back(list.getDictionary(&Context));
  }
  EntryBlock->eraseArguments(0, count);
  for (mlir::NamedAttrList &list : ResultAttrs) resultAttrs.push_back(list.getDictionary(&Context));
  Entry.setType(mlir::FunctionType::get(&Context, types, resultTypes));
  Entry.setArgAttrsAttr(mlir::ArrayAttr::get(&Context, argAttrs));
  Entry.setResAttrsAttr(mlir::ArrayAttr::get(&Context, resultAttrs));
  EntryBlock = nullptr;
}

//===----------------------------------------------------------------------===//
// step
//===----------------------------------------------------------------------===//

mlir::Value Elaborator::totalLoss(llvm::ArrayRef<LogEntry> entries) {
  mlir::Value total;
  for (const LogEntry &log : entries)
    if (log.isLoss) total = total ? B.add(total, log.value) : log.value;
  return total;
}

/// The gradients of the losses of this level for all trained parameters, in their order.
std::vector<mlir::Value> Elaborator::lossGradients() {
  mlir::Value total = totalLoss(logs());
  llvm::SmallVector<mlir::Value> wrt;
  llvm::SmallVector<mlir::Type> types;
  unsigned index = 0;
  for (auto &[path, parameter] : Parameters) {
    if (!RuleOf[index++]) continue;
    wrt.push_back(parameterValue(*parameter, level()).tensor.value);
    types.push_back(wrt.back().getType());
  }
  auto gradient = GradientOp::create(B, B.getLoc(), types, total, wrt);
  return {gradient.getResults().begin(), gradient.getResults().end()};
}

/// The loop over micro-batches: gradients and losses are carried sums.
void Elaborator::buildMicroBatches(std::vector<mlir::Value> &gradients) {
  std::vector<mlir::Value> zeros;
  unsigned index = 0;
  for (auto &[path, parameter] : Parameters)
    if (RuleOf[index++]) zeros.push_back(B.constant(0, parameter->type));
  pushLevel({microAxis(Program), MicroBatches}, /*isMicro=*/true);
  for (mlir::Value zero : zeros) {
    Levels.back().carried.push_back(zero);
    Levels.back().block->addArgument(zero.getType(), B.getLoc());
  }
  evalTrainItems(/*isTraining=*/true);
  scaleLogs(Levels.back().logs);
  std::vector<mlir::Value> next;
  if (!Engine.hasErrors())
    for (auto [gradient, argument] : llvm::zip(lossGradients(), Levels.back().block->getArguments().drop_front()))
      next.push_back(B.add(argument, gradient));
  if (next.size() != zeros.size())
    next.assign(Levels.back().block->getArguments().begin() + 1,
                Levels.back().block->getArguments().begin() + 1 + zeros.size());
  gradients = popLevel(next);
}

void Elaborator::buildUpdates(llvm::ArrayRef<mlir::Value> gradients) {
  mlir::Value step = counter("step"), limit;
  if (const Setting *clip = findSetting("clip", "norm")) limit = B.scalar(clip->value.number.asDouble(), F32);
  llvm::SmallVector<mlir::Type> types(mlir::ValueRange(gradients).getTypes());
  types.push_back(B.scalarType(F32));
  CurrentName = "clip";
  auto clip = ClipOp::create(B, B.getLoc(), types, gradients, limit, /*unscale=*/mlir::Value());
  if (isKeptName("gradients") && hasLowType()) // the name is one that is known, whatever the type
    clip->setAttr(attrs::keep, mlir::TypeAttr::get(mlir::Float32Type::get(&Context)));
  mlir::Value norm = clip.getNorm(), rate;
  unsigned index = 0, trained = 0;
  for (auto &[path, parameter] : Parameters) {
    OptimizeRule *rule = RuleOf[index++];
    if (!rule) continue;
    CurrentName = path.str();
    llvm::SmallVector<mlir::Value> hypers;
    llvm::SmallVector<StringRef> names;
    for (auto &[name, value] : rule->hypers) {
      names.push_back(name);
      hypers.push_back(materialize(value, F32));
    }
    rate = rate ? rate : hypers.front();
    auto state = mlir::FlatSymbolRefAttr::get(&Context, path);
    auto update = UpdateOp::create(B, B.getLoc(), parameter->type, B.getStringAttr(rule->rule), state,
                                   rule->nesterov ? B.getUnitAttr() : mlir::UnitAttr(),
                                   parameterValue(*parameter, 0).tensor.value, clip.getClipped()[trained++], step, norm,
                                   hypers, B.strings(names));
    addStateResult(update.getResult(), path);
  }
  CurrentName = "";
  addStateResult(B.add(step, B.scalar(1, I32)), "step");
  for (const LogEntry &log : EntryLogs) addOutput(log.value, log.name, log.isLoss ? "loss" : "metric");
  addOutput(totalLoss(EntryLogs), "total", "total");
  addOutput(rate ? rate : B.scalar(0, F32), "rate", "rate");
  addOutput(norm, "grad_norm", "grad_norm");
  // Only a finite number minus itself is zero.
  mlir::Value zero = B.scalar(0, F32);
  addOutput(B.cast(B.compare(Predicate::EQ, B.sub(norm, norm), zero), I32), "finite", "finite");
}

void Elaborator::buildStep() {
  beginEntry("step", /*training=*/true);
  Frame frame;
  frame.file = &Program.main();
  frame.isTraining = true;
  frame.isKept = isKeptName("loss");
  frame.scopes.emplace_back();
  FrameScope scope(*this, frame);
  evalTrainItems(/*isTraining=*/true);
  if (Engine.hasErrors()) return;
  bool hasLoss = llvm::any_of(EntryLogs, [](const LogEntry &log) { return log.isLoss; });
  if (MicroBatches > 1) {
    // The loop carries one gradient for each parameter, and now they are known.
    Entry.erase();
    beginEntry("step", /*training=*/true);
  }
  if (!hasLoss) {
    error(DiagnosticCode::E0403, Program.train->model.span, "training without a loss")
        .help("add `loss name = mean[batch](…)`");
    return;
  }
  if (Parameters.empty()) {
    error(DiagnosticCode::E0405, Program.train->model.span,
          "the model has no parameters to train, or no loss depends on it");
    return;
  }
  Rules.clear();
  for (const ast::TrainItem &item : Program.train->items)
    if (auto *optimize = std::get_if<ast::OptimizeItem>(&item.node)) readRule(*optimize, Rules.emplace_back());
  if (Engine.hasErrors()) return;
  RuleOf = assignRules(Rules);
  if (Engine.hasErrors()) return;
  for (OptimizeRule *&rule : RuleOf)
    if (rule->rule == "none") rule = nullptr;
  if (llvm::all_of(RuleOf, [](OptimizeRule *rule) { return !rule; })) {
    error(DiagnosticCode::E0405, Program.train->model.span, "every parameter is frozen: nothing would be trained")
        .help("leave some to `sgd`, `adam` or `adamw`");
    return;
  }
  checkMomentNames();
  if (Engine.hasErrors()) return;
  std::vector<mlir::Value> gradients;
  if (MicroBatches > 1)
    buildMicroBatches(gradients);
  else
    gradients = lossGradients();
  if (Engine.hasErrors()) return;
  buildUpdates(gradients);
  finishEntry();
}

//===----------------------------------------------------------------------===//
// evaluate, predict, init
//===----------------------------------------------------------------------===//

void Elaborator::buildEvaluate() {
  beginEntry("evaluate", /*training=*/false);
  Frame frame;
  frame.file = &Program.main();
  frame.isTraining = true;
  frame.isKept = isKeptName("loss");
  frame.scopes.emplace_back();
  FrameScope scope(*this, frame);
  std::optional<int64_t> rows = Program.dims.count("batch") ? dimSize("batch", Program.train->span) : std::nullopt;
  if (rows) RowWeights = inputArgument("weight", B.type({axis(&Context, "batch", *rows)}, F32), plainInput("weight"));
  evalTrainItems(/*isTraining=*/false);
  if (Engine.hasErrors()) return;
  mlir::Value rowCount = RowWeights ? B.sum(RowWeights, {"batch"}) : B.scalar(1, F32);
  for (const LogEntry &log : EntryLogs) {
    // The entry works on a part of the batch; of sums the mean over the parts is the part's share of the batch's.
    mlir::Value value = log.parts == OfParts::Sum && MicroBatches > 1 ? B.mul(log.value, MicroBatches) : log.value;
    addOutput(value, log.name, log.isLoss ? "loss" : "metric");
    addOutput(log.count ? log.count : rowCount, log.name, "count");
  }
  finishEntry();
}

void Elaborator::buildPredict() {
  beginEntry("predict", /*training=*/false);
  SizeOverrides["batch"] = 1;
  Frame frame;
  frame.file = &Program.main();
  frame.scopes.emplace_back();
  FrameScope scope(*this, frame);
  std::vector<Value> arguments;
  for (const ast::Param &param : Program.model->params) {
    if (!param.axes) {
      if (!param.fallback) {
        error(DiagnosticCode::E0206, param.span,
              "the model's parameter `" + param.name.text + "` has neither axes nor a default")
            .help("to predict, the model is given tensors only: write `" + param.name.text + "[…]`, or a default")
            .help("`hyper` declares a number that can be set");
        return;
      }
      arguments.push_back(Value());
      continue;
    }
    std::optional<std::vector<AxisRef>> axes = resolveAxes(*param.axes);
    if (!axes) return;
    llvm::SmallVector<AxisAttr> attrs;
    for (const AxisRef &ref : *axes) attrs.push_back(axis(&Context, ref.name, ref.size));
    mlir::NamedAttrList info;
    info.set("order", axisNameList(*axes));
    info.set("name", B.getStringAttr(param.name.text));
    info.set("role", B.getStringAttr("argument"));
    Tensor tensor;
    bool isInteger = !param.within.text.empty();
    if (isInteger) {
      std::optional<AxisRef> within = resolveAxis(param.within);
      if (!within) return;
      info.set("of", B.getI64IntegerAttr(within->size));
      tensor.range = Interval{0, within->size - 1};
    }
    tensor.value = inputArgument(param.name.text, B.type(attrs, isInteger ? I32 : F32), info.getDictionary(&Context));
    arguments.push_back(tensor);
  }
  Value result = expandModel(std::move(arguments), nullptr);
  if (!result.isTensor()) return;
  addOutput(result.tensor.value, "result", "result", resolveAxes(Program.model->outputs[0].axes));
  finishEntry();
}

/// Initial values: draws are keyed by the parameter's path, so that one more layer changes no other number.
void Elaborator::buildInit() {
  beginEntry("init", /*training=*/true);
  mlir::Value seed = inputArgument("seed", B.scalarType(I64), plainInput("seed"));
  mlir::Value zero = B.scalar(0, I32);
  for (auto &[path, parameter] : Parameters) {
    CurrentName = path.str();
    mlir::Value value;
    if (parameter->distribution.empty()) {
      value = B.constant(parameter->low, parameter->type);
    } else {
      bool isNormal = parameter->distribution == "normal";
      value = B.random(isNormal ? Distribution::Normal : Distribution::Uniform, stableHash(path), seed, zero, {},
                       parameter->type);
      value.getDefiningOp<RandomOp>().setCanonicalAttr(B.strings(parameter->order));
      value = B.mul(value, isNormal ? parameter->high : parameter->high - parameter->low);
      if (!isNormal) value = B.add(value, parameter->low);
    }
    addStateResult(value, path);
  }
  CurrentName = "";
  addStateResult(zero, "step");
  addStateResult(seed, "seed");
  finishEntry();
}

//===----------------------------------------------------------------------===//
// The whole
//===----------------------------------------------------------------------===//

mlir::OwningOpRef<mlir::ModuleOp> Elaborator::run() {
  auto isKept = [&] { return hasLowType() && (KeptDepth > 0 || (Current && Current->isKept)); };
  OpLabeller labeller(CurrentName, isKept);
  B.setListener(&labeller);
  resolveHypers();
  bool onlyFunctions = !Program.model && !Program.train;
  if (onlyFunctions && Options.checkOnly) {
    if (!Engine.hasErrors()) checkUnused();
    return {};
  }
  // A file with neither has been refused.
  if (Program.train && (!Program.model || Program.train->model.text != Program.model->name.text)) {
    auto message = Engine.error(DiagnosticCode::E0401, Program.train->model.span,
                                "no model is called `" + Program.train->model.text + "`");
    if (Program.model) message.help("did you mean `" + Program.model->name.text + "`?");
  }
  if (Engine.hasErrors()) return {};
  if (!Program.train) { // a model alone is checked by itself
    buildPredict();
    if (!Engine.hasErrors()) checkUnused();
    if (!Engine.hasErrors() && !Options.checkOnly)
      Engine.error(DiagnosticCode::E0401, Program.model->name.span, "the model has no training")
          .help("add `train " + Program.model->name.text + " { … }`");
    return {};
  }
  readSettings();
  describeData();
  for (auto &[key, text] : SettingOverrides)
    if (!UsedOverrides.contains(key)) {
      auto message = Engine.error(DiagnosticCode::E0501, "nothing is called `" + key + "`");
      std::vector<StringRef> known;
      std::vector<std::string> addresses = settingAddresses();
      for (auto &entry : Program.hypers) known.push_back(entry.first);
      unsigned hypers = known.size();
      llvm::append_range(known, addresses);
      if (StringRef nearest = nearestName(key, known); !nearest.empty())
        message.help("did you mean `" + nearest + "`?");
      else
        message.help(!hypers ? "the file declares no hypers"
                             : "the hypers are " + llvm::join(llvm::ArrayRef(known).take_front(hypers), ", "));
    }
  if (Engine.hasErrors()) return {};
  for (const ast::TrainItem &item : Program.train->items)
    if (auto *let = std::get_if<ast::LetStmt>(&item.node))
      for (const ast::Definition &definition : let->definitions)
        for (unsigned i = 0; i < definition.names.size(); ++i) {
          const ast::Name &name = definition.names[i];
          if (Program.dims.count(name.text))
            Engine.error(DiagnosticCode::E0203, name.span,
                         "`" + name.text + "` is a dim, and nothing may hide a dim's name");
          else if (llvm::any_of(Data, [&](const DataSource &source) { return source.name == name.text; }))
            Engine.error(DiagnosticCode::E0202, name.span,
                         "`" + name.text + "` is declared twice: a data source has this name");
          else if (!TrainLets.try_emplace(name.text, &definition, i).second)
            Engine.error(DiagnosticCode::E0202, name.span, "`" + name.text + "` is declared twice");
        }
  using Build = void (Elaborator::*)();
  for (Build build :
       {&Elaborator::buildStep, &Elaborator::buildEvaluate, &Elaborator::buildPredict, &Elaborator::buildInit}) {
    if (Engine.hasErrors()) return {};
    (this->*build)();
  }
  if (!Engine.hasErrors()) checkUnused(), checkKeptNames();
  if (Engine.hasErrors()) return {};
  // init first, then as built; the state table before all.
  Module->lookupSymbol<mlir::func::FuncOp>("init")->moveBefore(&Module->getBody()->front());
  B.setInsertionPointToStart(Module->getBody());
  for (auto &[path, parameter] : Parameters)
    StateOp::create(B, B.getLoc(), path, ast::spelling(parameter->kind), parameter->type, PlaceAttr(),
                    B.strings(parameter->order));
  StateOp::create(B, B.getLoc(), "step", "counter", B.scalarType(I32), PlaceAttr());
  StateOp::create(B, B.getLoc(), "seed", "counter", B.scalarType(I64), PlaceAttr());
  (*Module)->setAttr(attrs::model, B.getStringAttr(Program.model->name.text));
  (*Module)->setAttr(attrs::phase, B.getStringAttr("parse"));
  (*Module)->setAttr(attrs::data, dataAttribute());
  (*Module)->setAttr(attrs::settings, settingsAttribute());
  B.setListener(nullptr);
  std::string reasons;
  mlir::ScopedDiagnosticHandler handler(&Context, [&](mlir::Diagnostic &reason) { reasons += reason.str() + "; "; });
  if (mlir::failed(mlir::verify(*Module))) {
    Engine.error(DiagnosticCode::E0901, "internal error: the module that was built is not valid: " + reasons);
    return {};
  }
  return std::move(Module);
}
