//===- ObjectCode.cpp - from LLVM-dialect functions to objects ------------===//
//
// Kernels are already vectorised and their loops ordered. So the optimiser only folds addresses, eliminates common
// subexpressions and hoists loop-invariant code. Passes that vectorise, unroll or recognise library calls are left out;
// the last would be wrong, since the object links against no library. No fast-math flag is set and no operations are
// contracted: only those that were emitted as fused are.
//
// All passes work on one function at a time, so the parts of a module (CodeParts.h) give the same code as the whole.
// Parts are translated one by one, since an MLIR context serves one thread here. A pool of threads compiles them while
// the next are translated.
//
//===----------------------------------------------------------------------===//

#include "codegen/cpu/object/ObjectCode.h"
#include "codegen/cpu/object/CodeParts.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Target/LLVMIR/Dialect/Builtin/BuiltinToLLVMIRTranslation.h"
#include "mlir/Target/LLVMIR/Dialect/LLVMIR/LLVMToLLVMIRTranslation.h"
#include "mlir/Target/LLVMIR/Export.h"
#include "llvm/IR/LegacyPassManager.h"
#include "llvm/IR/Module.h"
#include "llvm/MC/TargetRegistry.h"
#include "llvm/Passes/PassBuilder.h"
#include "llvm/Support/ThreadPool.h"
#include "llvm/Support/raw_ostream.h"
#include "llvm/Target/TargetMachine.h"
#include "llvm/Transforms/InstCombine/InstCombine.h"
#include "llvm/Transforms/Scalar/DCE.h"
#include "llvm/Transforms/Scalar/EarlyCSE.h"
#include "llvm/Transforms/Scalar/LICM.h"
#include "llvm/Transforms/Scalar/LoopPassManager.h"
#include "llvm/Transforms/Scalar/SimplifyCFG.h"
#include <chrono>
#include <deque>

using namespace tessera;

namespace {
/// Adds the time until it goes out of scope to `seconds`.
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

/// The attributes that clang's driver would set on each function.
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

namespace {
/// The compilation of a part. Threads share no state of it.
struct PartCompilation {
  llvm::LLVMContext context;
  std::unique_ptr<llvm::Module> module;
  std::unique_ptr<llvm::TargetMachine> machine;
  std::string object; ///< empty until it is compiled
  ObjectCodeTimes times;

  bool translate(mlir::ModuleOp source, const CpuTarget &target);
  void optimize();
  void compile();
};
} // namespace

bool PartCompilation::translate(mlir::ModuleOp source, const CpuTarget &target) {
  Stopwatch watch(&times.translate);
  module = mlir::translateModuleToLLVMIR(source, context, "tessera");
  machine = makeMachine(target);
  if (!module || !machine) return false;
  module->setTargetTriple(llvm::Triple(target.triple));
  module->setDataLayout(machine->createDataLayout());
  addAttributes(*module, target);
  return true;
}

void PartCompilation::optimize() {
  Stopwatch watch(&times.optimize);
  ::optimize(*module, *machine);
}

void PartCompilation::compile() {
  optimize();
  Stopwatch watch(&times.generate);
  generate(*module, *machine, object);
  module.reset(); // large, and no longer needed
}

/// The optimised LLVM IR of the whole module, for a dump.
static bool printOptimized(mlir::ModuleOp module, const CpuTarget &target, std::string &text) {
  PartCompilation whole;
  if (!whole.translate(module, target)) return false;
  whole.optimize();
  llvm::raw_string_ostream out(text);
  whole.module->print(out, nullptr);
  return true;
}

llvm::FailureOr<std::vector<std::string>> tessera::compileToObjects(mlir::ModuleOp module, const CpuTarget &target,
                                                                    int threads, std::string *text,
                                                                    ObjectCodeTimes *times) {
  mlir::DialectRegistry registry;
  mlir::registerBuiltinDialectTranslation(registry);
  mlir::registerLLVMDialectTranslation(registry);
  module.getContext()->appendDialectRegistry(registry);
  auto cannotTranslate = [&] {
    return module.emitError("cannot translate to LLVM IR for ") << target.triple << ", " << target.cpu;
  };
  if (text && !printOptimized(module, target, *text)) return cannotTranslate();

  std::deque<PartCompilation> parts;
  {
    llvm::DefaultThreadPool pool(llvm::hardware_concurrency(threads));
    for (const CodePart &members : divideCode(module)) {
      PartCompilation &part = parts.emplace_back();
      if (!part.translate(*makePartModule(module, members), target)) return cannotTranslate();
      pool.async([&part] { part.compile(); });
    }
    pool.wait();
  }
  std::vector<std::string> objects;
  for (PartCompilation &part : parts) {
    if (part.object.empty()) return module.emitError("cannot emit an object for ") << target.triple;
    objects.push_back(std::move(part.object));
    if (!times) continue;
    times->translate += part.times.translate;
    times->optimize += part.times.optimize;
    times->generate += part.times.generate;
  }
  return objects;
}
