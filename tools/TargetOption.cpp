//===- TargetOption.cpp - what `--target` says ------------------------------===//

#include "tools/TargetOption.h"
#include "ir/Program.h"
#include "passes/Pipeline.h"
#include "tools/ContentCache.h"
#include "llvm/Support/Regex.h"

using namespace mlir;
using namespace tessera;

/// Machine code of some ten thousand kernels.
static constexpr uint64_t maxCacheBytes = uint64_t(1) << 28;

/// Ampere, Hopper, Blackwell; and PTX, which the driver compiles for any later one.
static constexpr llvm::StringLiteral usualArchitectures[] = {"sm_80", "sm_90a", "sm_100a", "compute_80"};

std::optional<TargetOption> TargetOption::parse(StringRef text, std::string &problem) {
  TargetOption result;
  if (text == "cpu") return result;
  auto [kind, list] = text.split(':');
  if (kind != "cuda") {
    problem = ("expected --target=cpu, --target=cuda or --target=cuda:sm_90a,..., got --target=" + text).str();
    return std::nullopt;
  }
  result.isGpu = true;
  if (text == "cuda") {
    for (StringRef architecture : usualArchitectures) result.architectures.push_back(architecture.str());
    return result;
  }
  llvm::Regex known("^(sm|compute)_[0-9]+[af]?$");
  SmallVector<StringRef> parts;
  list.split(parts, ',');
  for (StringRef part : parts) {
    if (!known.match(part)) {
      problem = ("--target: `" + part +
                 "` is no architecture of a GPU; write sm_80, sm_90a or sm_100a for machine code, "
                 "compute_80 for PTX")
                    .str();
      return std::nullopt;
    }
    if (!llvm::is_contained(result.architectures, part)) result.architectures.push_back(part.str());
  }
  return result;
}

CudaOptions tessera::cudaOptions(const TargetOption &target, bool useCache) {
  CudaOptions options;
  options.architectures = target.architectures;
  if (!useCache || cacheFolder().empty()) return options;
  ContentCache cache(cacheFolder() + "/cuda", maxCacheBytes);
  options.findCode = [cache](StringRef description) { return cache.read(ContentCache::keyFor(description)); };
  // A cache that is of no use is worth no word: the next compilation takes longer.
  options.keepCode = [cache](StringRef description, StringRef code) {
    (void)cache.write(ContentCache::keyFor(description), code);
  };
  return options;
}

std::string tessera::setTarget(ModuleOp module, const TargetOption &target) {
  auto reached = module->getAttrOfType<StringAttr>(attrs::phase);
  bool isDecided = reached && phaseIndex(reached.getValue()) >= phaseIndex("precision");
  if (isDecided && isForGpu(module) != target.isGpu)
    return std::string("the module was taken through its phases for ") + (target.isGpu ? "a CPU" : "a GPU") +
           "; compile the model again, or leave out --target";
  if (target.isGpu)
    module->setAttr(attrs::target, StringAttr::get(module.getContext(), "cuda"));
  else
    module->removeAttr(attrs::target);
  return "";
}
