//===- Input.cpp - a model file or a dumped module as input ---------------===//

#include "tools/Input.h"
#include "frontend/Frontend.h"
#include "ir/Program.h"
#include "mlir/IR/AsmState.h"
#include "mlir/IR/Diagnostics.h"
#include "mlir/Parser/Parser.h"
#include "mlir/Pass/PassManager.h"
#include "passes/Passes.h"
#include "llvm/Support/MemoryBuffer.h"
#include "llvm/Support/SourceMgr.h"

using namespace mlir;
using namespace tessera;

/// MLIR's parser recurses on brackets without a bound; no dump nests anywhere near this deep.
static constexpr int maxNesting = 200;

/// Whether brackets of a text nest deeper than the bound.
static bool nestsTooDeep(StringRef text) {
  int depth = 0;
  for (char c : text) {
    if (c == '(' || c == '[' || c == '{' || c == '<') ++depth;
    if (c == ')' || c == ']' || c == '}' || c == '>') depth = std::max(0, depth - 1);
    if (depth > maxNesting) return true;
  }
  return false;
}

void tessera::loadDialects(MLIRContext &context) { context.loadDialect<TsrDialect, func::FuncDialect>(); }

/// What a dump holds at its phase must hold for one that was edited by hand too, before any pass relies on it.
static LogicalResult verifyModule(ModuleOp module) {
  llvm::StringMap<StateOp> states;
  for (StateOp state : module.getOps<StateOp>()) {
    auto [other, isNew] = states.try_emplace(state.getPath(), state);
    if (isNew) continue;
    state.emitError("the state `") << state.getPath() << "` is declared twice";
    other->second.emitRemark("the first one");
    return failure();
  }
  PassManager pm(module.getContext());
  pm.addPass(createVerifyPhasePass({module->getAttrOfType<StringAttr>(attrs::phase).getValue().str()}));
  return pm.run(module);
}

static OwningOpRef<ModuleOp> readModule(MLIRContext &context, const InputOptions &options) {
  auto fail = [&](const llvm::Twine &message) {
    llvm::errs() << "error: " << options.path << ": " << message << "\n";
    return OwningOpRef<ModuleOp>();
  };
  auto buffer = llvm::MemoryBuffer::getFile(options.path, /*IsText=*/true);
  if (!buffer) return fail(buffer.getError().message());
  if (nestsTooDeep((*buffer)->getBuffer())) return fail("brackets nest deeper than " + llvm::Twine(maxNesting));
  if (!options.sets.empty() || !options.preset.empty() || !options.precision.empty())
    return fail("--set, --preset and --precision shape a model file; a dumped module is what it is");
  llvm::SourceMgr sources;
  sources.AddNewSourceBuffer(std::move(*buffer), llvm::SMLoc());
  SourceMgrDiagnosticHandler handler(sources, &context, llvm::errs());
  auto module = parseSourceFile<ModuleOp>(sources, ParserConfig(&context));
  if (!module) return {};
  if (!(*module)->getAttrOfType<StringAttr>(attrs::phase))
    return fail(
        "the module lacks the attribute `tsr.phase`; expected a file that `--dump-dir` or `--compile-to` wrote");
  if (failed(verifyModule(*module))) return {};
  return module;
}

static bool isModule(const InputOptions &options) { return StringRef(options.path).ends_with(".mlir"); }

/// Gives a model file to `read`, and prints what it found.
template <typename Fn> static auto readModel(const InputOptions &options, Fn read) {
  FrontendOptions frontend;
  frontend.sets = options.sets;
  if (!options.precision.empty()) frontend.sets.push_back("compute=" + options.precision);
  if (!options.preset.empty()) frontend.presets = {options.preset};
  tessera::DiagnosticEngine diagnostics;
  auto result = read(frontend, diagnostics);
  options.jsonDiagnostics ? diagnostics.printJson(llvm::errs()) : diagnostics.printText(llvm::errs());
  return result;
}

OwningOpRef<ModuleOp> tessera::readInput(MLIRContext &context, const InputOptions &options) {
  OwningOpRef<ModuleOp> module =
      isModule(options)
          ? readModule(context, options)
          : readModel(options, [&](const FrontendOptions &frontend, tessera::DiagnosticEngine &diagnostics) {
              return compileModel(context, options.path, frontend, diagnostics);
            });
  if (module && options.audits) (*module)->setAttr(attrs::audit, UnitAttr::get(&context));
  return module;
}

bool tessera::checkInput(MLIRContext &context, const InputOptions &options) {
  if (isModule(options)) return static_cast<bool>(readModule(context, options));
  return readModel(options, [&](const FrontendOptions &frontend, tessera::DiagnosticEngine &diagnostics) {
    return checkModel(context, options.path, frontend, diagnostics);
  });
}
