//===- Elaborator.cpp - from a parsed program to its module -----------------===//

#include "frontend/Elaborator.h"
#include "frontend/elaborate/NameCheck.h"
#include "ir/program/Program.h"
#include "mlir/IR/Verifier.h"

using namespace tessera;
using llvm::StringRef;

namespace {
/// Gives each op the user's name for what is being computed, and marks those that stay in f32.
struct OpLabeller : mlir::OpBuilder::Listener {
  OpLabeller(const CallStack &calls, const Float32Names &float32) : calls(calls), float32(float32) {}
  void notifyOperationInserted(mlir::Operation *op, mlir::OpBuilder::InsertPoint) override {
    if (!llvm::isa<TsrDialect>(op->getDialect()) || llvm::isa<ConstantOp, IndexOp, YieldOp, StateOp>(op)) return;
    if (!calls.opName().empty()) op->setAttr(attrs::name, mlir::StringAttr::get(op->getContext(), calls.opName()));
    if (float32.isReduced() && calls.isFloat32())
      op->setAttr(attrs::precision, mlir::TypeAttr::get(mlir::Float32Type::get(op->getContext())));
  }
  const CallStack &calls;
  const Float32Names &float32;
};
} // namespace

static mlir::ModuleOp emptyModule(mlir::MLIRContext &context, const Declarations &program) {
  auto module = mlir::ModuleOp::create(mlir::UnknownLoc::get(&context));
  llvm::SmallVector<mlir::Attribute> order;
  for (const std::string &name : canonicalAxisOrder(program)) order.push_back(mlir::StringAttr::get(&context, name));
  module->setAttr(attrs::axes, mlir::ArrayAttr::get(&context, order));
  return module;
}

Elaborator::Elaborator(mlir::MLIRContext &context, const Declarations &program, const FrontendOptions &options,
                       DiagnosticEngine &diagnostics)
    : declared(program), options(options), diagnostics(diagnostics), module(emptyModule(context, program)),
      builder(*module, mlir::UnknownLoc::get(&context)), inputs{program, diagnostics, *module, builder},
      state(inputs, training), overrides(diagnostics), settings(state, overrides), data(state, settings, overrides),
      training(state, data), entries(state, training, data, settings, options) {}

//===----------------------------------------------------------------------===//
// Checks
//===----------------------------------------------------------------------===//

/// Whether there is something to compile, and the training is of the model.
bool Elaborator::checkDescription() {
  // A file with neither model nor training has been refused, except by `check`.
  if (!declared.train || (declared.model && declared.train->model.text == declared.model->name.text))
    return !diagnostics.hasErrors();
  auto message = diagnostics.error(DiagnosticCode::E0401, declared.train->model.span,
                                   "no model is called `" + declared.train->model.text + "`");
  if (declared.model) message.help("did you mean `" + declared.model->name.text + "`?");
  return false;
}

/// Without a training description the model is checked by itself.
void Elaborator::checkModelAlone(NameCheck &nameCheck) {
  entries.buildGenerate();
  if (!diagnostics.hasErrors()) nameCheck.run();
  if (!diagnostics.hasErrors() && !options.checkOnly)
    diagnostics.error(DiagnosticCode::E0401, declared.model->name.span, "the model has no training")
        .help("add `train " + declared.model->name.text + " { … }`");
}

void Elaborator::reportUnusedOverrides() {
  std::vector<StringRef> known;
  for (auto &entry : declared.hypers) known.push_back(entry.first);
  unsigned hypers = known.size();
  std::vector<std::string> addresses = TrainingSettings::addresses();
  llvm::append_range(addresses, data.addresses());
  llvm::append_range(known, addresses);
  for (const SettingOverrides::Override &override : overrides.all()) {
    if (overrides.isUsed(override)) continue;
    auto message = diagnostics.error(DiagnosticCode::E0501, "nothing is called `" + override.key + "`");
    if (StringRef nearest = nearestName(override.key, known); !nearest.empty())
      message.help("did you mean `" + nearest + "`?");
    else
      message.help(!hypers ? "the file declares no hypers"
                           : "the hypers are " + llvm::join(llvm::ArrayRef(known).take_front(hypers), ", "));
  }
}

bool Elaborator::verify() {
  std::string reasons;
  mlir::ScopedDiagnosticHandler handler(builder.getContext(),
                                        [&](mlir::Diagnostic &reason) { reasons += reason.str() + "; "; });
  if (mlir::succeeded(mlir::verify(*module))) return true;
  diagnostics.error(DiagnosticCode::E0901, "internal error: the module that was built is not valid: " + reasons);
  return false;
}

//===----------------------------------------------------------------------===//
// The module
//===----------------------------------------------------------------------===//

void Elaborator::buildEntries() {
  using Build = void (EntryFunctions::*)();
  for (Build build : {&EntryFunctions::buildStep, &EntryFunctions::buildEvaluate, &EntryFunctions::buildPredict,
                      &EntryFunctions::buildGenerate, &EntryFunctions::buildInit}) {
    if (diagnostics.hasErrors()) return;
    (entries.*build)();
  }
  if (!diagnostics.hasErrors()) state.exprs.states.reportUnassigned();
}

/// The state before all functions, and what the description says of the run.
void Elaborator::addStateTable() {
  builder.setInsertionPointToStart(module->getBody());
  for (auto &[path, parameter] : state.parameters.all())
    StateOp::create(builder, state.calls.locate(parameter->place), path, ast::spelling(parameter->kind),
                    parameter->type, PlaceAttr(), builder.strings(parameter->order));
  StateOp::create(builder, builder.getLoc(), "step", "counter", builder.scalarType(builder.getI32Type()), PlaceAttr());
  StateOp::create(builder, builder.getLoc(), "seed", "counter", builder.scalarType(builder.getI64Type()), PlaceAttr());
  (*module)->setAttr(attrs::model, builder.getStringAttr(declared.model->name.text));
  (*module)->setAttr(attrs::phase, builder.getStringAttr("parse"));
  (*module)->setAttr(attrs::data, data.attribute());
  (*module)->setAttr(attrs::settings, settings.attribute());
}

mlir::OwningOpRef<mlir::ModuleOp> Elaborator::run() {
  OpLabeller labeller(state.calls, state.float32);
  builder.setListener(&labeller);
  NameCheck nameCheck(state.calls, state.names, state.entry, state.dims, state.lets, state.exprs.expressions);
  state.hypers.resolve(options, overrides);
  if (!declared.model && !declared.train) { // functions for other files
    if (!diagnostics.hasErrors()) nameCheck.run();
    return {};
  }
  if (!checkDescription()) return {};
  if (!declared.train) return checkModelAlone(nameCheck), nullptr;
  settings.read();
  data.describe();
  reportUnusedOverrides();
  if (diagnostics.hasErrors()) return {};
  training.declare();
  buildEntries();
  if (!diagnostics.hasErrors()) nameCheck.run(), settings.checkFloat32Names();
  if (diagnostics.hasErrors()) return {};
  // init first, then as built.
  module->lookupSymbol<mlir::func::FuncOp>("init")->moveBefore(&module->getBody()->front());
  addStateTable();
  builder.setListener(nullptr);
  return verify() ? std::move(module) : nullptr;
}
