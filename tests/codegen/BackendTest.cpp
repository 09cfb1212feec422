//===- BackendTest.cpp - the driver and its back ends ---------------------===//

#include "codegen/Backend.h"
#include "codegen/program/Program.h"
#include "frontend/Frontend.h"
#include "ir/program/Program.h"
#include "ir/program/Target.h"
#include "mlir/Parser/Parser.h"
#include "passes/Pipeline.h"
#include "passes/launch/Launches.h"
#include "llvm/Support/JSON.h"
#include <gtest/gtest.h>
#include <map>

using namespace mlir;
using namespace tessera;

namespace {

/// Lists the requests of the driver, and emits no code.
class ListingBackend : public Backend {
public:
  bool hasDeviceMemory() const override { return true; }
  int64_t workspaceAlignment() const override { return 64; }
  ContractionLibrary getLibrary(ModuleOp) const override { return {true, false}; }
  void begin(ModuleOp) override { list("begin"); }
  FailureOr<SmallVector<EmittedKernel>> emitKernels(ArrayRef<Operation *> ops,
                                                    ArrayRef<SmallVector<int64_t>> alignments) override {
    EXPECT_EQ(ops.size(), alignments.size());
    return SmallVector<EmittedKernel>{list(isa<TiledOp>(ops.front()) ? "tiled" : "kernels")};
  }
  std::optional<EmittedKernel> emitContraction(ArrayRef<ContractOp>, const ContractionGemm &,
                                               const FusedGemms &) override {
    return list("contraction");
  }
  LogicalResult finish(StageLog &) override {
    list("finish");
    return success();
  }
  void describe(TargetDescription &target) const override { target.architectures = {"listing"}; }

  std::vector<std::string> listing; ///< one word for each request

private:
  EmittedKernel list(const std::string &request) {
    listing.push_back(request);
    return {request + "_" + std::to_string(listing.size()), {}, LaunchShape()};
  }
};

using Counts = std::map<std::string, int>;

/// Launches, tiled ops, contractions and groups of fused GEMMs of a scheduled module.
Counts countRequests(ModuleOp module) {
  Counts counts;
  module.walk<WalkOrder::PreOrder>([&](Operation *op) {
    bool isFirst = isa<KernelOp, ContractOp>(op) && (!op->getPrevNode() || !isSameLaunch(op->getPrevNode(), op));
    if (isFirst) ++counts[isa<KernelOp>(op) ? "kernels" : "contraction"];
    if (isa<TiledOp>(op)) ++counts["tiled"];
    return isa<KernelOp, TiledOp>(op) ? WalkResult::skip() : WalkResult::advance();
  });
  return counts;
}

/// Kernels of the manifest, by the first word of their names.
Counts countKernels(StringRef manifest) {
  Counts counts;
  auto json = llvm::json::parse(manifest);
  EXPECT_TRUE(static_cast<bool>(json));
  for (const llvm::json::Value &kernel : *json->getAsObject()->getArray("kernels"))
    ++counts[kernel.getAsObject()->getString("name")->split('_').first.str()];
  return counts;
}

OwningOpRef<ModuleOp> scheduledByteGpt(MLIRContext &context, const Target &target,
                                       const std::vector<std::string> &sets = {}) {
  context.loadDialect<TsrDialect, func::FuncDialect>();
  FrontendOptions options;
  options.sets = sets;
  tessera::DiagnosticEngine diagnostics;
  auto module =
      compileModel(context, std::string(TESSERA_SOURCE_DIR) + "/examples/03-byte-gpt.tsr", options, diagnostics);
  diagnostics.printText(llvm::errs());
  if (module) target.record(*module);
  if (!module || failed(runPipeline(*module, {}))) return {};
  return module;
}

std::string print(ModuleOp module) {
  std::string text;
  llvm::raw_string_ostream out(text);
  OpPrintingFlags flags;
  flags.enableDebugInfo(true, false);
  module->print(out, flags);
  return text;
}

CodegenOptions codegenOptions() {
  CodegenOptions options;
  options.cuda = CudaOptions{{"sm_90a"}, /*compiles=*/false, {}, {}};
  options.march = "x86-64-v3", options.threads = 2;
  return options;
}

TEST(Backend, AListingBackendCompilesTheByteGpt) {
  for (StringRef device : {"x86", "h100"}) {
    MLIRContext context;
    OwningOpRef<ModuleOp> module = scheduledByteGpt(context, *Target::named(device));
    ASSERT_TRUE(module);
    ListingBackend backend;
    FailureOr<CompiledProgram> program = generateProgram(*module, backend, codegenOptions());
    ASSERT_TRUE(succeeded(program));
    Counts listed;
    for (StringRef word : ArrayRef(backend.listing).drop_front().drop_back()) ++listed[word.str()];
    EXPECT_EQ(backend.listing.front(), "begin");
    EXPECT_EQ(backend.listing.back(), "finish");
    for (const char *kind : {"kernels", "contraction", "tiled"}) EXPECT_GT(listed[kind], 0) << kind;
    EXPECT_EQ(listed, countRequests(*module));
    EXPECT_EQ(listed, countKernels(program->manifest));
  }
}

/// A target on which horizontally fused GEMMs never pay.
Target withoutFusedGemms() {
  Target target = *Target::named("x86");
  target.fusedSpeedPercent = 1000;
  return target;
}

const std::vector<std::string> smallSets{"depth=2"};

bool hasGroups(ModuleOp module) {
  return module.walk([](Operation *op) { return WalkResult(failure(op->hasAttr(attrs::fusionGroup))); })
      .wasInterrupted();
}

TEST(Backend, CodeGenerationChangesNoIRAndADumpCompilesToTheSameBytes) {
  for (const Target &target :
       {*Target::named("x86"), *Target::named("zen"), withoutFusedGemms(), *Target::named("h100")}) {
    MLIRContext context;
    OwningOpRef<ModuleOp> module = scheduledByteGpt(context, target, smallSets);
    ASSERT_TRUE(module);
    // The throughput table of Zen processors has no fused GEMM of this model faster than its parts.
    bool fuses = target.device != "zen" && target.fusedSpeedPercent == 100;
    EXPECT_EQ(hasGroups(*module), fuses) << target.device.str();
    std::string before = print(*module);
    FailureOr<CompiledProgram> direct = generateProgram(*module, codegenOptions());
    ASSERT_TRUE(succeeded(direct));
    EXPECT_EQ(print(*module), before);

    MLIRContext another;
    another.loadDialect<TsrDialect, func::FuncDialect>();
    OwningOpRef<ModuleOp> parsed = parseSourceString<ModuleOp>(before, &another);
    ASSERT_TRUE(parsed);
    FailureOr<CompiledProgram> again = generateProgram(*parsed, codegenOptions());
    ASSERT_TRUE(succeeded(again));
    EXPECT_TRUE(direct->object == again->object) << target.device.str();
    EXPECT_EQ(direct->manifest, again->manifest);
  }
}

TEST(Backend, TheModuleRecordsItsTarget) {
  MLIRContext context;
  OwningOpRef<ModuleOp> module = ModuleOp::create(UnknownLoc::get(&context));
  for (const char *device :
       {"x86", "zen", "h100", "h200", "a100", "a100-80gb", "a100-40gb", "l40s", "b200", "rtx4090", "rtx5090"}) {
    Target::named(device)->record(*module);
    EXPECT_EQ(Target::of(*module).device.str(), device);
  }
  Target small = withoutFusedGemms();
  small.record(*module);
  EXPECT_EQ(Target::of(*module).fusedSpeedPercent, 1000);
  (*module)->setAttr(attrs::device, StringAttr::get(&context, "h100")); // of a GPU, for a CPU
  std::string message;
  ScopedDiagnosticHandler handler(&context, [&](mlir::Diagnostic &diagnostic) {
    message = diagnostic.str();
    return success();
  });
  EXPECT_TRUE(failed(Target::read(*module)));
  EXPECT_EQ(message, "expected `tsr.device` to name a description of the target: x86 zen");
}

TEST(Backend, TheModuleRecordsAPreference) {
  MLIRContext context;
  OwningOpRef<ModuleOp> module = ModuleOp::create(UnknownLoc::get(&context));
  Target speed = *Target::named("h100");
  speed.preferring(Preference::Memory).record(*module);
  EXPECT_EQ(Target::of(*module).preference, Preference::Memory);
  EXPECT_LT(Target::of(*module).leastChunkedBytes, speed.leastChunkedBytes);
  EXPECT_TRUE(speed.savesStoredOperands);
  EXPECT_FALSE(Target::of(*module).savesStoredOperands);
  Target restored = Target::of(*module).preferring(Preference::Speed);
  EXPECT_EQ(restored.leastChunkedBytes, speed.leastChunkedBytes);
  EXPECT_EQ(restored.prefersLargeChunks, speed.prefersLargeChunks);
  EXPECT_TRUE(restored.savesStoredOperands);
  speed.record(*module);
  EXPECT_FALSE((*module)->hasAttr(attrs::prefer));
  EXPECT_EQ(Target::of(*module).preference, Preference::Speed);
  (*module)->setAttr(attrs::prefer, StringAttr::get(&context, "size"));
  std::string message;
  ScopedDiagnosticHandler handler(&context, [&](mlir::Diagnostic &diagnostic) {
    message = diagnostic.str();
    return success();
  });
  EXPECT_TRUE(failed(Target::read(*module)));
  EXPECT_EQ(message, "expected `tsr.prefer` to be \"memory\" or absent, got \"size\"");
}

} // namespace
