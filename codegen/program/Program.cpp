//===- Program.cpp - from a scheduled module to a program -----------------===//
//
//  1. Emit the entry functions, which run on the host. The back end emits each kernel that they call, equal ones once.
//     Contractions that it leaves to a library are entered into the GEMM table, and their epilogues become kernels that
//     are called if the library lacks them. Only then is it known what scratch memory kernels need. If some lies on top
//     of all values, values get other places that leave room for it, and entry functions are emitted once more.
//  2. Let the back end add tables of kernels and machine code for a device.
//  3. Compile object code in parts, on all cores, and link a shared object that depends on no library.
//  4. Write the manifest. The library's workspace follows the values and the threads' scratch memory.
//
//===----------------------------------------------------------------------===//

#include "codegen/program/Program.h"
#include "codegen/cpu/object/Link.h"
#include "codegen/cpu/object/ObjectCode.h"
#include "codegen/program/BackendChoice.h"
#include "codegen/program/EntryCode.h"
#include "codegen/program/EpilogueKernels.h"
#include "ir/program/Program.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "passes/cost/MachineShare.h"
#include "passes/memory/EntryPlaces.h"
#include "passes/memory/VerifyPlaces.h"

using namespace mlir;
using namespace tessera;

/// A shared object of the host's code.
static FailureOr<std::string> makeObject(ModuleOp code, const CpuTarget &host, StageLog &log, std::string *lack) {
  std::string text;
  FailureOr<std::vector<std::string>> objects =
      compileToObjects(code, host, runtime::availableCores(), log.isDumping() ? &text : nullptr);
  if (failed(objects) || failed(log.dump("code.ll", text))) return failure();
  log.finishStage("object code");
  std::string said;
  llvm::raw_string_ostream errors(said);
  FailureOr<std::string> shared = linkSharedObject(*objects, errors, lack);
  log.finishStage("link");
  if (failed(shared) && !said.empty()) return code.emitError("cannot link the program: ") << StringRef(said).rtrim();
  return shared;
}

namespace {
/// The stages that make a program of a scheduled module.
class ProgramGenerator {
public:
  ProgramGenerator(ModuleOp module, Backend &backend, const CpuTarget &host, const CodegenOptions &options)
      : module(module), backend(backend), host(host), options(options), log(options.dumps, options.timing),
        tables(emptyTables()) {}

  /// Emits the entry functions and the kernels that they call, as IR or as text.
  LogicalResult emit();
  /// The same with the places that values have.
  LogicalResult emitEntries();
  /// Counts the scratch memory of an entry function that was emitted.
  LogicalResult addScratch(const ScratchPlaces &scratch);
  /// Gives values other places, with room for scratch memory that is on top of all of them now. Returns whether the
  /// program takes less then.
  bool makeRoom();
  /// The manifest, of what was emitted.
  std::string manifest() const;
  /// All stages.
  FailureOr<CompiledProgram> generate();

private:
  ProgramTables emptyTables() const { return {{}, GemmTable(backend.getLibrary(module), options.threads), {}}; }

  ModuleOp module;
  Backend &backend;
  const CpuTarget &host;
  const CodegenOptions &options;
  StageLog log;
  OwningOpRef<ModuleOp> code;
  ProgramTables tables;
  std::vector<CallSequence> sequences; ///< of the entry functions
  std::vector<ScratchPlaces> scratch;  ///< of them
  int64_t usedBytes = 0;               ///< of the arena, by values and scratch memory
  std::optional<int64_t> leastBytes;   ///< that they need; none: a dump of an earlier version does not say it
};
} // namespace

LogicalResult ProgramGenerator::emitEntries() {
  MLIRContext *context = module.getContext();
  usedBytes = module->getAttrOfType<IntegerAttr>(attrs::arena).getInt();
  leastBytes = std::nullopt;
  if (auto bound = module->getAttrOfType<IntegerAttr>(attrs::arenaBound)) leastBytes = bound.getInt();
  tables = emptyTables();
  sequences.clear(), scratch.clear();
  code = ModuleOp::create(UnknownLoc::get(context));
  emitAbiVersion(*code);
  backend.begin(*code);
  int64_t planned = usedBytes;
  for (func::FuncOp function : entryFunctions(module)) {
    scratch.emplace_back(function, planned, options.threads);
    FailureOr<CallSequence> sequence = emitEntry(function, *code, backend, tables, scratch.back());
    if (failed(sequence) || failed(addScratch(scratch.back()))) return failure();
    sequences.push_back(std::move(*sequence));
  }
  return success();
}

LogicalResult ProgramGenerator::emit() {
  MLIRContext *context = module.getContext();
  context->loadDialect<LLVM::LLVMDialect>();
  if (!module->hasAttr(attrs::arena))
    return module.emitError("expected the arena's size in `tsr.arena`; has `schedule` run?");
  if (failed(emitEntries()) || (makeRoom() && failed(emitEntries()))) return failure();
  if (failed(emitEpilogueKernels(context, backend, tables.kernels, tables.gemms))) return failure();
  log.finishStage("kernels and entries");
  return success();
}

LogicalResult ProgramGenerator::addScratch(const ScratchPlaces &scratch) {
  if (scratch.isEmpty()) return success();
  usedBytes = std::max(usedBytes, scratch.getEnd());
  if (leastBytes) leastBytes = std::max(*leastBytes, scratch.leastBytes());
  return verifyScratch(scratch.getFunction(), scratch, usedBytes);
}

bool ProgramGenerator::makeRoom() {
  int64_t planned = module->getAttrOfType<IntegerAttr>(attrs::arena).getInt(), needed = planned;
  std::vector<std::pair<func::FuncOp, StoragePlan>> packed;
  for (const ScratchPlaces &own : scratch) {
    if (own.getEnd() <= planned) continue;
    StoragePlan plan(own.getFunction());
    if (!plan.getCopies().empty()) return false; // a module that was edited
    needed = std::max(needed, packEntry(plan, module, own.lifetimes()).bytes);
    packed.emplace_back(own.getFunction(), std::move(plan));
  }
  if (needed >= usedBytes) return false;
  for (auto &[function, plan] : packed) writePlaces(function, plan);
  module->setAttr(attrs::arena, Builder(module.getContext()).getI64IntegerAttr(needed));
  return true;
}

std::string ProgramGenerator::manifest() const {
  CodegenSummary summary;
  summary.target = {{}, "", host.cpu, host.instructionSets, options.threads};
  backend.describe(summary.target);
  summary.kernels = &tables.kernels, summary.gemms = &tables.gemms, summary.exchanges = &tables.exchanges;
  MachineShare share = MachineShare::of(Target::of(module), options.threads, ranksOfMachine(module));
  ProgramCosts costs(sequences, share.target, share.threads);
  summary.costs = &costs;
  for (const KernelTable::Entry &kernel : tables.kernels.getEntries())
    summary.scratchBytes = std::max(summary.scratchBytes, kernel.kernel.sharing.scratchBytes);
  summary.workspaceOffset = llvm::alignTo(usedBytes, backend.workspaceAlignment());
  summary.arenaBytes =
      summary.workspaceOffset + llvm::alignTo(summary.gemms->workspaceBytes(), backend.workspaceAlignment());
  summary.mostBehind = summary.arenaBytes - usedBytes + summary.target.threads * summary.scratchBytes;
  if (leastBytes) summary.arenaBound = summary.arenaBytes - (usedBytes - *leastBytes);
  return writeManifest(module, summary);
}

FailureOr<CompiledProgram> ProgramGenerator::generate() {
  if (failed(emit()) || failed(backend.finish(log))) return failure();
  FailureOr<std::string> object = makeObject(*code, host, log, options.lack);
  if (failed(object)) return failure();
  CompiledProgram program{std::move(*object), manifest(), tables.gemms.getEntries().vec()};
  if (failed(log.dump("manifest.json", program.manifest))) return failure();
  log.finishStage("manifest");
  return program;
}

FailureOr<CompiledProgram> tessera::generateProgram(ModuleOp module, Backend &backend, const CodegenOptions &options) {
  FailureOr<CpuTarget> host = CpuTarget::get(options.march, llvm::errs());
  if (failed(host)) return failure();
  return ProgramGenerator(module, backend, *host, options).generate();
}

FailureOr<CompiledProgram> tessera::generateProgram(ModuleOp module, const CodegenOptions &options) {
  FailureOr<CpuTarget> host = CpuTarget::get(options.march, llvm::errs());
  if (failed(host)) return failure();
  FailureOr<std::unique_ptr<Backend>> backend = chooseBackend(module, *host, options);
  if (failed(backend)) return failure();
  return ProgramGenerator(module, **backend, *host, options).generate();
}

FailureOr<std::string> tessera::describeProgram(ModuleOp module, const CodegenOptions &options) {
  CodegenOptions describing = options;
  if (describing.cuda) describing.cuda->compiles = false;
  FailureOr<CpuTarget> host = CpuTarget::get(options.march, llvm::errs());
  if (failed(host)) return failure();
  FailureOr<std::unique_ptr<Backend>> backend = chooseBackend(module, *host, describing);
  if (failed(backend)) return failure();
  ProgramGenerator generator(module, **backend, *host, describing);
  if (failed(generator.emit())) return failure();
  return generator.manifest();
}
