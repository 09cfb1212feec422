//===- ObjectCode.cpp - from LLVM-dialect functions to an object ----------===//
//
// Kernels arrive vectorised and with their loops in order, so the optimiser's task is small: fold addresses, share
// what is equal, move out of loops what does not change in them. The passes that would vectorise, unroll or recognise
// library calls are left out; the last would be wrong, since the object is linked against nothing. No fast-math flag
// is set and nothing is contracted: fused operations are those that were emitted as such.
//
//===----------------------------------------------------------------------===//

#include "codegen/cpu/ObjectCode.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Target/LLVMIR/Dialect/Builtin/BuiltinToLLVMIRTranslation.h"
#include "mlir/Target/LLVMIR/Dialect/LLVMIR/LLVMToLLVMIRTranslation.h"
#include "mlir/Target/LLVMIR/Export.h"
#include "llvm/IR/LegacyPassManager.h"
#include "llvm/IR/Module.h"
#include "llvm/MC/TargetRegistry.h"
#include "llvm/Passes/PassBuilder.h"
#include "llvm/Support/raw_ostream.h"
#include "llvm/Target/TargetMachine.h"
#include "llvm/Transforms/InstCombine/InstCombine.h"
#include "llvm/Transforms/Scalar/DCE.h"
#include "llvm/Transforms/Scalar/EarlyCSE.h"
#include "llvm/Transforms/Scalar/LICM.h"
#include "llvm/Transforms/Scalar/LoopPassManager.h"
#include "llvm/Transforms/Scalar/SimplifyCFG.h"
#include <chrono>

using namespace tessera;

namespace {
/// Adds the time until it goes out of scope to a number.
class Stopwatch {
public:
  explicit Stopwatch(double *seconds) : seconds(seconds), start(std::chrono::steady_clock::now()) {}
  ~Stopwatch() {
    if (seconds) *seconds += std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
  }

private:
  double *seconds;
  std::chrono::steady_clock::time_point start;
};
} // namespace

static std::unique_ptr<llvm::TargetMachine> makeMachine(const CpuTarget &target) {
  llvm::Triple triple(target.triple);
  std::string problem;
  const llvm::Target *found = llvm::TargetRegistry::lookupTarget(triple, problem);
  if (!found) return nullptr;
  llvm::TargetOptions options;
  options.AllowFPOpFusion = llvm::FPOpFusion::Strict;
  return std::unique_ptr<llvm::TargetMachine>(found->createTargetMachine(triple, target.cpu, target.features, options,
                                                                         llvm::Reloc::PIC_, llvm::CodeModel::Small,
                                                                         llvm::CodeGenOptLevel::Default));
}

/// What clang's driver would put on each function.
static void addAttributes(llvm::Module &module, const CpuTarget &target) {
  std::string width = std::to_string(target.floatLanes * 32);
  for (llvm::Function &function : module) {
    if (function.isDeclaration()) continue;
    function.addFnAttr("target-cpu", target.cpu);
    if (!target.features.empty()) function.addFnAttr("target-features", target.features);
    function.addFnAttr("prefer-vector-width", width);
    function.addFnAttr("min-legal-vector-width", width);
    function.addFnAttr("no-builtins");
    function.setDoesNotThrow();
  }
}

static void optimize(llvm::Module &module, llvm::TargetMachine &machine) {
  llvm::LoopAnalysisManager loops;
  llvm::FunctionAnalysisManager functions;
  llvm::CGSCCAnalysisManager graph;
  llvm::ModuleAnalysisManager modules;
  llvm::PassBuilder builder(&machine);
  builder.registerModuleAnalyses(modules);
  builder.registerCGSCCAnalyses(graph);
  builder.registerFunctionAnalyses(functions);
  builder.registerLoopAnalyses(loops);
  builder.crossRegisterProxies(loops, functions, graph, modules);

  llvm::FunctionPassManager passes;
  passes.addPass(llvm::EarlyCSEPass(/*UseMemorySSA=*/false));
  passes.addPass(llvm::InstCombinePass());
  passes.addPass(llvm::createFunctionToLoopPassAdaptor(llvm::LICMPass(llvm::LICMOptions()), /*UseMemorySSA=*/true));
  passes.addPass(llvm::EarlyCSEPass(/*UseMemorySSA=*/false));
  passes.addPass(llvm::SimplifyCFGPass());
  for (llvm::Function &function : module)
    if (!function.isDeclaration()) passes.run(function, functions);
}

static bool generate(llvm::Module &module, llvm::TargetMachine &machine, std::string &object) {
  llvm::SmallVector<char, 0> bytes;
  llvm::raw_svector_ostream out(bytes);
  llvm::legacy::PassManager passes;
  if (machine.addPassesToEmitFile(passes, out, nullptr, llvm::CodeGenFileType::ObjectFile, /*DisableVerify=*/true))
    return false;
  passes.run(module);
  object.assign(bytes.begin(), bytes.end());
  return true;
}

llvm::FailureOr<std::string> tessera::compileToObject(mlir::ModuleOp module, const CpuTarget &target, std::string *text,
                                                      ObjectCodeTimes *times) {
  mlir::DialectRegistry registry;
  mlir::registerBuiltinDialectTranslation(registry);
  mlir::registerLLVMDialectTranslation(registry);
  module.getContext()->appendDialectRegistry(registry);

  llvm::LLVMContext context;
  std::unique_ptr<llvm::Module> llvmModule;
  {
    Stopwatch watch(times ? &times->translate : nullptr);
    llvmModule = mlir::translateModuleToLLVMIR(module, context, "tessera");
  }
  std::unique_ptr<llvm::TargetMachine> machine = makeMachine(target);
  if (!llvmModule || !machine)
    return module.emitError("cannot translate to LLVM IR for ") << target.triple << ", " << target.cpu;
  llvmModule->setTargetTriple(llvm::Triple(target.triple));
  llvmModule->setDataLayout(machine->createDataLayout());
  addAttributes(*llvmModule, target);
  {
    Stopwatch watch(times ? &times->optimize : nullptr);
    optimize(*llvmModule, *machine);
  }
  if (text) {
    llvm::raw_string_ostream out(*text);
    llvmModule->print(out, nullptr);
  }
  Stopwatch watch(times ? &times->generate : nullptr);
  std::string object;
  if (!generate(*llvmModule, *machine, object)) return module.emitError("cannot emit an object for ") << target.triple;
  return object;
}
