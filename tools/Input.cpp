//===- Input.cpp - a model file or a dumped module as input ---------------===//

#include "tools/Input.h"
#include "frontend/Frontend.h"
#include "ir/program/Program.h"
#include "mlir/IR/AsmState.h"
#include "mlir/IR/Diagnostics.h"
#include "mlir/Parser/Parser.h"
#include "mlir/Pass/PassManager.h"
#include "passes/Passes.h"
#include "tools/Messages.h"
#include "llvm/Support/JSON.h"
#include "llvm/Support/SourceMgr.h"

using namespace mlir;
using namespace tessera;

/// MLIR's parser recurses on brackets without a limit. No dump nests nearly this deep.
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

/// Checks the invariants of the module's phase before any pass relies on them: dumps may be edited by hand.
static LogicalResult verifyModule(ModuleOp module) {
  PassManager pm(module.getContext());
  pm.addPass(createVerifyPhasePass({module->getAttrOfType<StringAttr>(attrs::phase).getValue().str()}));
  return pm.run(module);
}

/// Whether a place is in a dump itself, not in a model file that the dump names.
static bool isIn(StringRef path, Location loc) {
  FileLineColLoc place = loc->findInstanceOf<FileLineColLoc>();
  return place && place.getFilename().getValue() == path;
}

/// Strings and numbers of attributes become part of the manifest, which is JSON.
static LogicalResult checkAttributes(ModuleOp module) {
  AttrTypeWalker walker;
  walker.addWalk([](IntegerAttr number) {
    return number.getValue().getBitWidth() <= 64 ? WalkResult::advance() : WalkResult::interrupt();
  });
  walker.addWalk([](StringAttr text) {
    return llvm::json::isUTF8(text.getValue()) ? WalkResult::advance() : WalkResult::interrupt();
  });
  auto check = [&](Operation *op, Attribute attributes) -> LogicalResult {
    if (!walker.walk(attributes).wasInterrupted()) return success();
    return op->emitError("has a string that is not UTF-8, or an integer of more than 64 bits");
  };
  if (DictionaryAttr source = sourceOf(module); source && failed(check(module, source))) return failure();
  WalkResult result = module.walk([&](Operation *op) {
    return succeeded(check(op, op->getAttrDictionary())) ? WalkResult::advance() : WalkResult::interrupt();
  });
  return failure(result.wasInterrupted());
}

OwningOpRef<ModuleOp> tessera::readDump(MLIRContext &context, const std::string &path) {
  std::string problem;
  if (std::unique_ptr<llvm::MemoryBuffer> buffer = readTextFile(path, SIZE_MAX, problem))
    return parseDump(context, path, std::move(buffer));
  messages() << "error: " << path << ": " << problem << "\n";
  return {};
}

OwningOpRef<ModuleOp> tessera::parseDump(MLIRContext &context, const std::string &path,
                                         std::unique_ptr<llvm::MemoryBuffer> buffer) {
  auto fail = [&](const llvm::Twine &message) {
    printError(path + ": " + message);
    return OwningOpRef<ModuleOp>();
  };
  if (nestsTooDeep(buffer->getBuffer())) return fail("brackets nest deeper than " + llvm::Twine(maxNesting));
  llvm::SourceMgr sources;
  sources.AddNewSourceBuffer(std::move(buffer), llvm::SMLoc());
  SourceMgrDiagnosticHandler handler(sources, &context, messages());
  ScopedDiagnosticHandler ofOtherPlaces(&context, [&](mlir::Diagnostic &diagnostic) {
    if (isIn(path, diagnostic.getLocation())) return failure(); // the handler above shows the line
    printModuleDiagnostic(diagnostic, path);
    return success();
  });
  auto module = parseSourceFile<ModuleOp>(sources, ParserConfig(&context));
  if (!module || failed(checkAttributes(*module))) return {};
  if (!(*module)->getAttrOfType<StringAttr>(attrs::phase))
    return fail(
        "the module lacks the attribute `tsr.phase`; expected a file that `--dump-dir` or `--compile-to` wrote");
  return module;
}

static Input readModule(MLIRContext &context, const InputOptions &options) {
  if (!options.sets.empty() || !options.preset.empty() || !options.precision.empty()) {
    printError(options.path + ": --set, --preset and --precision apply to model files only, not to dumped modules");
    return Input{{}, ExitUsage, {}};
  }
  OwningOpRef<ModuleOp> module = readDump(context, options.path);
  if (!module || failed(verifyModule(*module))) return {{}, ExitInput, {}};
  return {std::move(module), ExitDone, {options.path}};
}

static bool isModule(const InputOptions &options) { return StringRef(options.path).ends_with(".mlir"); }

/// Gives a model file to `read`, prints what it found, and enters the status and the files.
template <typename Fn> static Input readModel(const InputOptions &options, Fn read) {
  FrontendOptions frontend;
  frontend.sets = options.sets;
  if (!options.precision.empty()) frontend.sets.push_back("compute=" + options.precision);
  frontend.leaves = options.leaves;
  if (options.leaves > 0) frontend.sets.push_back("accumulate=" + std::to_string(options.leaves));
  if (!options.preset.empty()) frontend.presets = {options.preset};
  frontend.predictRows = options.predictRows;
  auto kept = std::make_shared<tessera::DiagnosticEngine>();
  tessera::DiagnosticEngine &diagnostics = *kept;
  Input input{read(frontend, diagnostics), ExitDone, {}, kept};
  if (!options.predictRows)
    options.jsonDiagnostics ? diagnostics.printJson(llvm::errs()) : diagnostics.printText(messages());
  if (diagnostics.hasErrors()) input.status = diagnostics.blamesCommandLine() ? ExitUsage : ExitInput;
  for (unsigned i = 0; i < diagnostics.sources().size(); ++i)
    if (const SourceFile &file = diagnostics.sources()[i]; file.isOnDisk()) input.files.push_back(file.name().str());
  return input;
}

Input tessera::readInput(MLIRContext &context, const InputOptions &options) {
  Input input = isModule(options)
                    ? readModule(context, options)
                    : readModel(options, [&](const FrontendOptions &frontend, tessera::DiagnosticEngine &diagnostics) {
                        return compileModel(context, options.path, frontend, diagnostics);
                      });
  if (input.module && options.audits) (*input.module)->setAttr(attrs::audit, UnitAttr::get(&context));
  return input;
}

Input tessera::checkInput(MLIRContext &context, const InputOptions &options) {
  if (isModule(options)) return readModule(context, options);
  return readModel(options, [&](const FrontendOptions &frontend, tessera::DiagnosticEngine &diagnostics) {
    return checkModel(context, options.path, frontend, diagnostics);
  });
}
