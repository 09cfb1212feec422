//===- Program.cpp - from a scheduled module to a program -----------------===//
//
//  1. Entry functions, which run on the host. The back end emits each kernel that they call, equal ones once;
//     contractions that it leaves to a library are entered into the GEMM table.
//  2. What the back end adds: tables of kernels, machine code for a device.
//  3. Object code in parts, on all cores, linked into a shared object that depends on nothing.
//  4. The manifest, with the library's workspace and the threads' scratch memory behind the planned arena.
//
//===----------------------------------------------------------------------===//

#include "codegen/program/Program.h"
#include "codegen/cpu/object/Link.h"
#include "codegen/cpu/object/ObjectCode.h"
#include "codegen/program/BackendChoice.h"
#include "codegen/program/EntryCode.h"
#include "ir/program/Program.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"

using namespace mlir;
using namespace tessera;

/// A shared object of the host's code.
static FailureOr<std::string> makeObject(ModuleOp code, const CpuTarget &host, StageLog &log) {
  std::string text;
  FailureOr<std::vector<std::string>> objects =
      compileToObjects(code, host, runtime::availableCores(), log.isDumping() ? &text : nullptr);
  if (failed(objects) || failed(log.dump("code.ll", text))) return failure();
  log.finishStage("object code");
  FailureOr<std::string> shared = linkSharedObject(*objects, llvm::errs());
  log.finishStage("link");
  return shared;
}

/// Lays out the memory behind the planned arena.
static void placeWorkspace(ProgramFacts &facts, int64_t plannedBytes, const Backend &backend) {
  int64_t alignment = backend.workspaceAlignment();
  facts.workspaceOffset = llvm::alignTo(plannedBytes, alignment);
  facts.scratchOffset = facts.workspaceOffset + llvm::alignTo(facts.gemms->workspaceBytes(), alignment);
  facts.scratchBytes = llvm::alignTo(backend.scratchBytes(), alignment);
  facts.arenaBytes = facts.scratchOffset + facts.target.threads * facts.scratchBytes;
}

static FailureOr<CompiledProgram> generate(ModuleOp module, Backend &backend, const CpuTarget &host,
                                           const CodegenOptions &options) {
  MLIRContext *context = module.getContext();
  context->loadDialect<LLVM::LLVMDialect>();
  auto planned = module->getAttrOfType<IntegerAttr>(attrs::arena);
  if (!planned) return module.emitError("expected the arena's size in `tsr.arena`; has `schedule` run?");
  StageLog log(options.dumps, options.timing);

  OwningOpRef<ModuleOp> code = ModuleOp::create(UnknownLoc::get(context));
  KernelTable kernels;
  GemmTable gemms(backend.getLibrary(module), options.threads);
  emitAbiVersion(*code);
  backend.begin(*code);
  for (func::FuncOp function : entryFunctions(module))
    if (failed(emitEntry(function, *code, backend, kernels, gemms))) return failure();
  log.finishStage("kernels and entries");
  if (failed(backend.finish(log))) return failure();
  FailureOr<std::string> object = makeObject(*code, host, log);
  if (failed(object)) return failure();

  ProgramFacts facts;
  facts.target = {{}, host.cpu, host.instructionSets, options.threads};
  backend.describe(facts.target);
  facts.kernels = &kernels, facts.gemms = &gemms;
  placeWorkspace(facts, planned.getInt(), backend);
  CompiledProgram program{std::move(*object), writeManifest(module, facts), gemms.getEntries().vec()};
  if (failed(log.dump("manifest.json", program.manifest))) return failure();
  log.finishStage("manifest");
  return program;
}

FailureOr<CompiledProgram> tessera::generateProgram(ModuleOp module, Backend &backend, const CodegenOptions &options) {
  FailureOr<CpuTarget> host = CpuTarget::get(options.march, llvm::errs());
  if (failed(host)) return failure();
  return generate(module, backend, *host, options);
}

FailureOr<CompiledProgram> tessera::generateProgram(ModuleOp module, const CodegenOptions &options) {
  FailureOr<CpuTarget> host = CpuTarget::get(options.march, llvm::errs());
  if (failed(host)) return failure();
  FailureOr<std::unique_ptr<Backend>> backend = chooseBackend(module, *host, options);
  if (failed(backend)) return failure();
  return generate(module, **backend, *host, options);
}
