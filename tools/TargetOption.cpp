//===- TargetOption.cpp - the value of `--target` ---------------------------===//

#include "tools/TargetOption.h"
#include "codegen/cpu/object/CpuTarget.h"
#include "codegen/cuda/nvrtc/Nvrtc.h"
#include "ir/program/Program.h"
#include "ir/program/Target.h"
#include "passes/Pipeline.h"
#include "passes/precision/Policy.h"
#include "runtime/base/CacheFolder.h"
#include "tools/ContentCache.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/Regex.h"

using namespace mlir;
using namespace tessera;

/// Enough for the machine code of some ten thousand kernels.
static constexpr uint64_t maxCacheBytes = uint64_t(1) << 28;

/// Ampere, Hopper, Blackwell; and PTX, which the driver compiles for later GPUs: compute_90 with fp8, else compute_80.
static constexpr llvm::StringLiteral defaultArchitectures[] = {"sm_80", "sm_90a", "sm_100a", "compute_80",
                                                               "compute_90"};

/// Ampere introduced tensor cores for bf16, Ada those for fp8.
static constexpr int leastArchitecture = 80, leastForFp8 = 89;

/// 90 of sm_90a.
static int numberOf(StringRef architecture) {
  int number = 0;
  architecture.drop_until(llvm::isDigit).take_while(llvm::isDigit).getAsInteger(10, number);
  return number;
}

std::optional<TargetOption> TargetOption::parse(StringRef text, std::string &problem) {
  TargetOption result;
  if (text == "cpu") return result;
  auto [kind, list] = text.split(':');
  if (kind != "cuda") {
    problem = ("expected --target=cpu, --target=cuda or --target=cuda:sm_90a,..., got --target=" + text).str();
    return std::nullopt;
  }
  result.isGpu = true;
  if (text == "cuda") return result;
  llvm::Regex known("^(sm|compute)_[0-9]+[af]?$");
  SmallVector<StringRef> parts;
  list.split(parts, ',');
  for (StringRef part : parts) {
    if (!known.match(part)) {
      problem = ("--target: expected a GPU architecture, such as sm_90a for machine code or compute_80 for PTX, got `" +
                 part + "`")
                    .str();
      return std::nullopt;
    }
    if (numberOf(part) < leastArchitecture) {
      problem = ("--target: kernels need the tensor cores of sm_80 or later, got " + part).str();
      return std::nullopt;
    }
    if (!llvm::is_contained(result.architectures, part)) result.architectures.push_back(part.str());
  }
  return result;
}

/// Whether a GPU of architecture `device` runs code for `architecture`. Machine code runs within a major number, code
/// for sm_90a on sm_90 only, and the driver compiles PTX for later GPUs.
static bool runsOn(StringRef architecture, StringRef device) {
  int code = numberOf(architecture), own = numberOf(device);
  if (architecture.ends_with("a")) return code == own;
  bool isPtx = architecture.starts_with("compute") && !architecture.ends_with("f");
  return code <= own && (isPtx || code / 10 == own / 10);
}

std::optional<TargetOption> TargetOption::forDevice(const Target &device, StringRef text, std::string &problem) {
  const std::string &own = device.figures.gpu.architecture;
  std::string usual = device.isGpu() ? "cuda:" + own : "cpu";
  std::optional<TargetOption> target = parse(text.empty() ? StringRef(usual) : text, problem);
  if (StringRef said = problem; !target) {
    if (text.empty() && said.consume_front("--target: ")) problem = "its description: " + said.str();
    return std::nullopt;
  }
  if (target->isGpu != device.isGpu())
    problem = "this device is " + std::string(device.isGpu() ? "a GPU" : "a CPU") + ", and --target=" + text.str() +
              " asks for " + (device.isGpu() ? "a CPU" : "a GPU") + "; leave out --target";
  else if (!target->architectures.empty() &&
           llvm::none_of(target->architectures, [&](StringRef code) { return runsOn(code, own); }))
    problem = "code for --target=" + text.str() + " does not run on this device, which is " + own + "; add " + own +
              ", or leave out --target";
  return problem.empty() ? target : std::nullopt;
}

std::string TargetOption::text() const {
  if (!isGpu) return "cpu";
  return architectures.empty() ? "cuda" : "cuda:" + llvm::join(architectures, ",");
}

std::string tessera::findUnknownArchitecture(const TargetOption &target, const cuda::Nvrtc &nvrtc) {
  for (const std::string &architecture : target.architectures) {
    bool isPlain = llvm::isDigit(architecture.back()); // which suffixes there are the library does not list
    if (nvrtc.supports(numberOf(architecture)) && (isPlain || !nvrtc.compile("", "empty", architecture).code.empty()))
      continue;
    SmallVector<std::string> known;
    for (int number : nvrtc.known())
      if (number >= leastArchitecture) known.push_back("sm_" + std::to_string(number));
    return "NVRTC " + nvrtc.getVersion() + " makes no code for " + architecture + "; it knows " +
           llvm::join(known, ", ");
  }
  return "";
}

std::optional<CudaOptions> tessera::cudaOptions(const TargetOption &target, ModuleOp module, bool useCache,
                                                std::string &problem) {
  CudaOptions options;
  int least = ComputeSettings::of(module).fp8 ? leastForFp8 : leastArchitecture;
  for (const std::string &architecture : target.architectures)
    if (numberOf(architecture) < least) {
      problem =
          "fp8 needs GPUs of sm_89 or later, got " + architecture + "; compute in bf16, or compile for other GPUs";
      return std::nullopt;
    }
  options.architectures = target.architectures;
  if (options.architectures.empty()) {
    std::string missing; // code generation reports it
    const cuda::Nvrtc *nvrtc = cuda::Nvrtc::get(missing);
    for (StringRef usual : defaultArchitectures)
      if (numberOf(usual) >= least && (usual != "compute_90" || least > leastArchitecture) &&
          (!nvrtc || nvrtc->supports(numberOf(usual))))
        options.architectures.push_back(usual.str());
  }
  if (!useCache || runtime::cacheFolder().empty()) return options;
  ContentCache cache(runtime::cacheFolder() + "/cuda", maxCacheBytes);
  options.findCode = [cache](StringRef description) { return cache.read(ContentCache::keyFor(description)); };
  // A cache that cannot be written is not an error: the next compilation takes longer.
  options.storeCode = [cache](StringRef description, StringRef code) {
    (void)cache.write(ContentCache::keyFor(description), code);
  };
  return options;
}

/// The description of the device that code is made for.
static Target describedTarget(const TargetOption &target, StringRef march, const std::optional<CudaOptions> &cuda) {
  if (!target.isGpu) {
    FailureOr<CpuTarget> processor = CpuTarget::get(march, llvm::nulls());
    return Target::forProcessor(succeeded(processor) ? processor->cpu : "");
  }
  int newest = 0; // of several architectures, the one that has the most threads to feed
  for (const std::string &architecture : cuda->architectures) newest = std::max(newest, numberOf(architecture));
  return Target::forArchitecture(newest);
}

/// What `--prefer` says, or else the module.
static Preference wantedPreference(StringRef prefer, Preference recorded) {
  if (prefer.empty()) return recorded;
  return prefer == "memory" ? Preference::Memory : Preference::Speed;
}

std::string tessera::setTarget(ModuleOp module, const TargetOption &target, StringRef march, StringRef prefer,
                               const std::optional<Target> &device) {
  auto reached = module->getAttrOfType<StringAttr>(attrs::phase);
  auto hasReached = [&](StringRef phase) { return reached && phaseIndex(reached.getValue()) >= phaseIndex(phase); };
  if (hasReached("precision") && Target::of(module).isGpu() != target.isGpu)
    return std::string("the module was taken through its phases for ") + (target.isGpu ? "a CPU" : "a GPU") +
           "; compile the model again, or leave out --target and --on";
  std::string problem;
  std::optional<CudaOptions> cuda;
  if (target.isGpu && !(cuda = cudaOptions(target, module, /*useCache=*/false, problem))) return problem;
  Target recorded = Target::of(module);
  Preference preference = target.isGpu ? wantedPreference(prefer, recorded.preference) : Preference::Speed;
  // `differentiate` is the first phase that it decides.
  if (!prefer.empty() && target.isGpu && hasReached("differentiate") && preference != recorded.preference)
    return std::string("the module was taken through its phases with --prefer=") +
           (recorded.preference == Preference::Memory ? "memory" : "speed") +
           "; compile the model again, or leave out --prefer";
  if (hasReached("schedule")) {
    bool isOther = device && device->recorded(module.getContext()) != recorded.recorded(module.getContext());
    return isOther ? "the module was scheduled for another device, " + recorded.name().str() +
                         "; compile the model again, or leave out --on"
                   : "";
  }
  Target described = device ? *device : describedTarget(target, march, cuda);
  described.preferring(preference).record(module);
  return "";
}

void tessera::setEpilogues(ModuleOp module, StringRef epilogues) {
  module->setAttr(attrs::epilogues, StringAttr::get(module.getContext(), epilogues));
}
