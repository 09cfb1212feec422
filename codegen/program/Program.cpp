//===- Program.cpp - from a scheduled module to an executable -------------===//
//
//  1. Kernels: one function each, equal ones once.
//  2. Entry functions, which call them; contractions are entered into the GEMM table.
//  3. Object code in parts, on all cores, linked into a shared object that depends on nothing.
//  4. The manifest, with the library's workspace laid behind the planned arena.
//
//===----------------------------------------------------------------------===//

#include "codegen/program/Program.h"
#include "codegen/cpu/KernelCodegen.h"
#include "codegen/cpu/contraction/Speeds.h"
#include "codegen/cpu/object/Link.h"
#include "codegen/cpu/object/ObjectCode.h"
#include "codegen/program/CudaProgram.h"
#include "codegen/program/EntryCode.h"
#include "codegen/program/Observer.h"
#include "ir/program/Program.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "passes/launch/Launches.h"

using namespace mlir;
using namespace tessera;

/// Alignment of the library's workspace, in bytes.
static constexpr int64_t workspaceAlignment = 64;

/// Contractions that are slower as one are computed one by one.
static void splitSlowProducts(ModuleOp module, const CpuTarget &target) {
  module.walk([&](ContractOp contract) {
    SmallVector<Operation *> ops = launchOf(contract);
    std::optional<MergedProducts> merged = mergedProducts(ops);
    if (ops.front() != contract || !merged || merged->count == 1) return;
    if (isFasterMerged(*describeGemm(contract), *merged, target)) return;
    for (Operation *op : ops) op->removeAttr(attrs::launch);
  });
}

static FailureOr<CompiledProgram> generateForCpu(ModuleOp module, const CodegenOptions &options) {
  MLIRContext *context = module.getContext();
  context->loadDialect<LLVM::LLVMDialect>();
  FailureOr<CpuTarget> target = CpuTarget::get(options.march, llvm::errs());
  auto planned = module->getAttrOfType<IntegerAttr>(attrs::arena);
  if (failed(target)) return failure();
  if (!planned) return module.emitError("expected the arena's size in `tsr.arena`; has `schedule` run?");
  Observer observer(options);
  splitSlowProducts(module, *target);

  OwningOpRef<ModuleOp> code = ModuleOp::create(UnknownLoc::get(context));
  int threads = options.threads;
  GemmTable gemms(threads);
  KernelCodegen kernels(*code, *target);
  ProgramFacts facts;
  llvm::StringMap<size_t> numbers; // of kernels, by symbol
  emitAbiVersion(*code);
  for (func::FuncOp function : entryFunctions(module)) {
    auto note = [&](const KernelInterface &interface, llvm::function_ref<KernelWork()> work, int64_t runs) {
      auto [number, isNew] = numbers.try_emplace(interface.name, facts.kernels.size());
      if (isNew) facts.kernels.push_back({interface.name, work(), {}});
      facts.kernels[number->second].calls[function.getName()] += runs;
    };
    auto emitKernel = [&](ArrayRef<Operation *> ops,
                          ArrayRef<SmallVector<int64_t>>) -> FailureOr<SmallVector<KernelCall>> {
      Operation *op = ops.front(); // of itself
      auto kernel = dyn_cast<KernelOp>(op);
      FailureOr<KernelInterface> interface = kernel ? kernels.emit(kernel) : kernels.emit(cast<TiledOp>(op));
      if (failed(interface)) return failure();
      note(*interface, [&] { return kernel ? workOf(kernel) : workOf(cast<TiledOp>(op)); }, runsPerCall(op));
      return SmallVector<KernelCall>{{interface->name, *interface, {}}};
    };
    auto emitContraction = [&](ArrayRef<ContractOp> ops, const GemmDescription &description,
                               const MergedProducts &merged) -> std::optional<KernelCall> {
      if (merged.count == 1 && !isFasterGenerated(description, *target)) return std::nullopt;
      KernelInterface interface = kernels.emit(description, merged, userName(ops.front()));
      note(interface, [&] { return workOf(ops); }, runsPerCall(ops.front()));
      return KernelCall{interface.name, interface, {}};
    };
    if (failed(emitEntry(function, *code, gemms, emitKernel, emitContraction))) return failure();
  }
  emitKernelTable(*code, kernels.getSymbols());
  observer.step("kernels and entries");

  std::string text;
  FailureOr<std::vector<std::string>> objects =
      compileToObjects(*code, *target, runtime::availableCores(), observer.isDumping() ? &text : nullptr);
  if (failed(objects) || failed(observer.dump("code.ll", text))) return failure();
  observer.step("object code");
  FailureOr<std::string> shared = linkSharedObject(*objects, llvm::errs());
  if (failed(shared)) return failure();
  observer.step("link");

  if (kernels.usesAmx()) llvm::append_range(target->instructionSets, CpuTarget::amxInstructionSets);
  facts.target = {{}, target->cpu, target->instructionSets, threads};
  facts.gemms = &gemms;
  facts.workspaceOffset = llvm::alignTo(planned.getInt(), workspaceAlignment);
  facts.scratchOffset = facts.workspaceOffset + llvm::alignTo(gemms.workspaceBytes(), workspaceAlignment);
  facts.scratchBytes = llvm::alignTo(kernels.scratchBytes(), workspaceAlignment);
  facts.arenaBytes = facts.scratchOffset + threads * facts.scratchBytes;
  CompiledProgram program{std::move(*shared), writeManifest(module, facts), {}, {}};
  if (failed(observer.dump("manifest.json", program.manifest))) return failure();
  observer.step("manifest");
  return program;
}

FailureOr<CompiledProgram> tessera::generateProgram(ModuleOp module, const CodegenOptions &options) {
  return options.cuda ? generateForCuda(module, options) : generateForCpu(module, options);
}
