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
  OpLabeller(const CallStack &calls, const Float32Names &float32) : Calls(calls), Float32(float32) {}
  void notifyOperationInserted(mlir::Operation *op, mlir::OpBuilder::InsertPoint) override {
    if (!llvm::isa<TsrDialect>(op->getDialect()) || llvm::isa<ConstantOp, IndexOp, YieldOp, StateOp>(op)) return;
    if (!Calls.opName().empty()) op->setAttr(attrs::name, mlir::StringAttr::get(op->getContext(), Calls.opName()));
    if (Float32.isReduced() && Calls.isFloat32())
      op->setAttr(attrs::precision, mlir::TypeAttr::get(mlir::Float32Type::get(op->getContext())));
  }
  const CallStack &Calls;
  const Float32Names &Float32;
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
    : Declared(program), Options(options), Engine(diagnostics), Module(emptyModule(context, program)),
      B(*Module, mlir::UnknownLoc::get(&context)), Inputs{program, diagnostics, *Module, B}, State(Inputs, Training),
      Overrides(diagnostics), Settings(State, Overrides), Data(State, Settings, Overrides), Training(State, Data),
      Entries(State, Training, Data, Settings) {}

//===----------------------------------------------------------------------===//
// Checks
//===----------------------------------------------------------------------===//

/// Whether there is something to compile, and the training is of the model.
bool Elaborator::checkDescription() {
  // A file with neither model nor training has been refused, except by `check`.
  if (!Declared.train || (Declared.model && Declared.train->model.text == Declared.model->name.text))
    return !Engine.hasErrors();
  auto message = Engine.error(DiagnosticCode::E0401, Declared.train->model.span,
                              "no model is called `" + Declared.train->model.text + "`");
  if (Declared.model) message.help("did you mean `" + Declared.model->name.text + "`?");
  return false;
}

/// Without a training description the model is checked by itself.
void Elaborator::checkModelAlone(NameCheck &nameCheck) {
  Entries.buildPredict();
  if (!Engine.hasErrors()) nameCheck.run();
  if (!Engine.hasErrors() && !Options.checkOnly)
    Engine.error(DiagnosticCode::E0401, Declared.model->name.span, "the model has no training")
        .help("add `train " + Declared.model->name.text + " { … }`");
}

void Elaborator::reportUnusedOverrides() {
  std::vector<StringRef> known;
  for (auto &entry : Declared.hypers) known.push_back(entry.first);
  unsigned hypers = known.size();
  std::vector<std::string> addresses = TrainingSettings::addresses();
  llvm::append_range(addresses, Data.addresses());
  llvm::append_range(known, addresses);
  for (const SettingOverrides::Override &override : Overrides.all()) {
    if (Overrides.isUsed(override)) continue;
    auto message = Engine.error(DiagnosticCode::E0501, "nothing is called `" + override.key + "`");
    if (StringRef nearest = nearestName(override.key, known); !nearest.empty())
      message.help("did you mean `" + nearest + "`?");
    else
      message.help(!hypers ? "the file declares no hypers"
                           : "the hypers are " + llvm::join(llvm::ArrayRef(known).take_front(hypers), ", "));
  }
}

bool Elaborator::verify() {
  std::string reasons;
  mlir::ScopedDiagnosticHandler handler(B.getContext(),
                                        [&](mlir::Diagnostic &reason) { reasons += reason.str() + "; "; });
  if (mlir::succeeded(mlir::verify(*Module))) return true;
  Engine.error(DiagnosticCode::E0901, "internal error: the module that was built is not valid: " + reasons);
  return false;
}

//===----------------------------------------------------------------------===//
// The module
//===----------------------------------------------------------------------===//

void Elaborator::buildEntries() {
  using Build = void (EntryFunctions::*)();
  for (Build build : {&EntryFunctions::buildStep, &EntryFunctions::buildEvaluate, &EntryFunctions::buildPredict,
                      &EntryFunctions::buildInit}) {
    if (Engine.hasErrors()) return;
    (Entries.*build)();
  }
}

/// The state before all functions, and what the description says of the run.
void Elaborator::addStateTable() {
  B.setInsertionPointToStart(Module->getBody());
  for (auto &[path, parameter] : State.parameters.all())
    StateOp::create(B, B.getLoc(), path, ast::spelling(parameter->kind), parameter->type, PlaceAttr(),
                    B.strings(parameter->order));
  StateOp::create(B, B.getLoc(), "step", "counter", B.scalarType(B.getI32Type()), PlaceAttr());
  StateOp::create(B, B.getLoc(), "seed", "counter", B.scalarType(B.getI64Type()), PlaceAttr());
  (*Module)->setAttr(attrs::model, B.getStringAttr(Declared.model->name.text));
  (*Module)->setAttr(attrs::phase, B.getStringAttr("parse"));
  (*Module)->setAttr(attrs::data, Data.attribute());
  (*Module)->setAttr(attrs::settings, Settings.attribute());
}

mlir::OwningOpRef<mlir::ModuleOp> Elaborator::run() {
  OpLabeller labeller(State.calls, State.float32);
  B.setListener(&labeller);
  NameCheck nameCheck(State.calls, State.names, State.entry, State.dims, State.lets, State.exprs.expressions);
  State.hypers.resolve(Options, Overrides);
  if (!Declared.model && !Declared.train) { // functions for other files
    if (!Engine.hasErrors()) nameCheck.run();
    return {};
  }
  if (!checkDescription()) return {};
  if (!Declared.train) return checkModelAlone(nameCheck), nullptr;
  Settings.read();
  Data.describe();
  reportUnusedOverrides();
  if (Engine.hasErrors()) return {};
  Training.declare();
  buildEntries();
  if (!Engine.hasErrors()) nameCheck.run(), Settings.checkFloat32Names();
  if (Engine.hasErrors()) return {};
  // init first, then as built.
  Module->lookupSymbol<mlir::func::FuncOp>("init")->moveBefore(&Module->getBody()->front());
  addStateTable();
  B.setListener(nullptr);
  return verify() ? std::move(Module) : nullptr;
}
