//===- CpuTarget.cpp - the processor that code is generated for -----------===//

#include "codegen/cpu/object/CpuTarget.h"
#include "ir/program/Target.h"
#include "runtime/machine/CpuFeatures.h"
#include "llvm/ADT/StringMap.h"
#include "llvm/MC/MCSubtargetInfo.h"
#include "llvm/MC/TargetRegistry.h"
#include "llvm/Support/TargetSelect.h"
#include "llvm/TargetParser/Host.h"
#include "llvm/TargetParser/SubtargetFeature.h"
#include "llvm/TargetParser/Triple.h"

using namespace tessera;

/// The features of this machine, without those that a program cannot check when it starts, since
/// `runtime/machine/CpuFeatures.cpp` does not know them.
static std::string hostFeatures() {
  llvm::SubtargetFeatures features;
  std::vector<std::pair<std::string, bool>> sorted;
  for (auto &entry : llvm::sys::getHostCPUFeatures()) sorted.emplace_back(entry.getKey().str(), entry.getValue());
  llvm::sort(sorted);
  for (auto &[name, has] : sorted) features.AddFeature(name, has && runtime::missingCpuFeatures({name}).empty());
  return features.getString();
}

llvm::FailureOr<CpuTarget> CpuTarget::get(llvm::StringRef march, llvm::raw_ostream &errors) {
  static const bool initialized = [] {
    llvm::InitializeNativeTarget();
    llvm::InitializeNativeTargetAsmPrinter();
    return true;
  }();
  (void)initialized;
  CpuTarget result;
  result.triple = llvm::sys::getProcessTriple();
  bool native = march == "native" || march.empty();
  result.cpu = native ? llvm::sys::getHostCPUName().str() : march.str();
  if (native) result.features = hostFeatures();

  llvm::Triple triple(result.triple);
  std::string problem;
  const llvm::Target *target = llvm::TargetRegistry::lookupTarget(triple, problem);
  if (!target) return errors << problem << "\n", llvm::failure();
  // Checked first, since LLVM prints a line whenever an unknown processor is used.
  std::unique_ptr<llvm::MCSubtargetInfo> info(target->createMCSubtargetInfo(triple, "", ""));
  if (!info || !info->isCPUStringValid(result.cpu))
    return errors << "unknown processor `" << march << "`\n", llvm::failure();
  info.reset(target->createMCSubtargetInfo(triple, result.cpu, result.features));
  for (const llvm::SubtargetFeatureKV &feature : info->getEnabledProcessorFeatures())
    if (!llvm::StringRef(feature.Key).starts_with("amx-")) result.instructionSets.push_back(feature.Key);
  result.prefetchesAcrossPages = Target::forProcessor(result.cpu).prefetchesAcrossPages;
  result.floatLanes = 4;
  result.hasVectorScale = result.hasBf16Dot = result.hasAmx = false;
  if (triple.isX86()) {
    if (!info->checkFeatures("+avx2") || !info->checkFeatures("+fma"))
      return errors << "expected a processor with AVX2 and FMA, got `" << result.cpu << "`\n", llvm::failure();
    bool wide = info->checkFeatures("+avx512f") && info->checkFeatures("+avx512vl") &&
                info->checkFeatures("+avx512bw") && info->checkFeatures("+avx512dq");
    result.floatLanes = wide ? 16 : 8;
    result.hasVectorScale = wide;
    result.hasBf16Dot = wide && info->checkFeatures("+avx512bf16");
    result.hasAmx = result.hasBf16Dot && info->checkFeatures("+amx-tile") && info->checkFeatures("+amx-bf16");
  }
  return result;
}
