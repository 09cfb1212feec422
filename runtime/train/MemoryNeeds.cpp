//===- MemoryNeeds.cpp - the memory that a program takes --------------------------===//

#include "runtime/train/MemoryNeeds.h"

#include "runtime/base/DurableFile.h"
#include "runtime/cuda/Transfers.h"
#include "runtime/machine/MachineMemory.h"
#include "runtime/machine/StepAllocator.h"

#include <algorithm>
#include <cmath>
#include <limits>

namespace tessera::runtime {

// The process itself: data of the launcher and its libraries that are not shared with other processes, and stacks;
// tables and maps for each byte of the manifest; descriptions and code of each contraction in oneDNN. A bound above
// what the examples took without saving (f32 and bf16, Debian 12): 822 KiB with a manifest of 11 KiB, 1,380 with 68,
// 2,003 with 119, 2,223 with 125 and seven contractions.
static constexpr int64_t processBytes = 1 << 20, bytesForManifestByte = 11, bytesForContraction = 32 << 10;

int64_t MemoryNeeds::total() const {
  int64_t bytes = 0;
  for (const MemoryNeed &line : lines) bytes += line.isPart ? 0 : line.bytes;
  return bytes;
}

bool MemoryNeeds::isComplete() const {
  return std::all_of(lines.begin(), lines.end(), [](const MemoryNeed &line) { return line.isKnown; });
}

static int64_t stepBatchBytes(const Manifest &manifest) {
  int64_t bytes = 0;
  if (!manifest.hasEntry("step")) return 0;
  for (const ValueSpec &value : manifest.entry("step").inputs)
    if (value.role == "data") bytes += value.bytes;
  return bytes;
}

/// The host's copies of values of an arena in a GPU's memory: those that it writes and reads, and state while it is
/// saved.
static int64_t mirroredBytes(const Manifest &manifest) {
  int64_t bytes = manifest.stateBytes();
  for (const auto &[name, entry] : manifest.entries)
    for (const std::vector<ValueSpec> *values : {&entry.inputs, &entry.outputs})
      for (const ValueSpec &value : *values) bytes += value.bytes;
  return std::min(bytes, manifest.arena.bytes);
}

std::string describeGap(const ArenaSpec &arena) {
  if (!arena.bound) return "";
  if (*arena.bound == arena.bytes) return "optimal";
  double percent =
      100.0 * static_cast<double>(arena.bytes - *arena.bound) / static_cast<double>(std::max<int64_t>(1, *arena.bound));
  return percent < 0.1 ? "less than 0.1 % above its bound" : fmt::format("{:.1f} % above its bound", percent);
}

std::string describeRecomputation(const ArenaSpec &arena) {
  if (!arena.recomputation) return "";
  const RecomputationSpec &times = *arena.recomputation;
  double percent = 100 / std::max(times.step, 1e-12);
  std::string text = fmt::format("{:.1f} % of a step", percent * times.seconds);
  double gap = percent * std::max(0.0, times.seconds - times.bound);
  if (gap < 0.05) return text + ", the least that this memory allows";
  if (times.bound == 0) return text;
  return text + fmt::format("; with this memory it needs {:.1f} % at least", percent * times.bound);
}

MemoryNeeds hostMemory(const Manifest &manifest, const HeldData &data) {
  MemoryNeeds needs;
  auto add = [&](std::string name, int64_t bytes, std::string note = "", bool isPart = false) {
    needs.lines.push_back({std::move(name), bytes, std::move(note), isPart});
  };
  auto contractions = static_cast<int64_t>(manifest.gemms.size());
  if (manifest.isForGpu()) {
    add("values of the arena", mirroredBytes(manifest), "inputs, outputs, and state while it is saved");
  } else {
    add(arenaNeed, manifest.arena.bytes, describeGap(manifest.arena));
    add("  library workspace", manifest.arena.workspaceBytes, "inside the arena", true);
    add("  scratch of threads", manifest.arena.scratchBytes * manifest.target.threads, "inside the arena", true);
  }
  add("batch buffers", 2 * stepBatchBytes(manifest));
  add("small blocks of libraries", stepallocator::regionBytes);
  add("data held in memory", data.bytes.value_or(0), data.bytes ? "beside mapped data files" : data.problem);
  needs.lines.back().isKnown = data.bytes.has_value();
  add("writing checkpoints", std::min<int64_t>(chunkBytes, manifest.stateBytes()) + (1 << 20));
  add("the process itself", processBytes + bytesForManifestByte * manifest.textBytes +
                                (manifest.isForGpu() ? 0 : bytesForContraction * contractions));
  return needs;
}

/// Bytes of the operands of the largest contraction: the search for its fastest algorithm allocates them.
static int64_t searchBytes(const Manifest &manifest) {
  int64_t most = 0;
  for (const GemmSpec &gemm : manifest.gemms) {
    int64_t bytes = gemm.a.bytes() + gemm.b.bytes() + gemm.c.bytes() * (gemm.hasAux ? 2 : 1);
    most = std::max(most, bytes);
  }
  return most;
}

int64_t contextBytes(const Manifest &manifest) {
  constexpr int64_t usual = int64_t(640) << 20; // an estimate, not measured
  return manifest.target.contextBytes.value_or(usual);
}

MemoryNeeds deviceMemory(const Manifest &manifest) {
  MemoryNeeds needs;
  needs.lines.push_back({arenaNeed, manifest.arena.bytes, describeGap(manifest.arena)});
  needs.lines.push_back({"  library workspace", manifest.arena.workspaceBytes, "inside the arena", true});
  int64_t inputs = manifest.hasEntry("step") ? cuda::Transfers::bytesFor(manifest.entry("step")) : 0;
  needs.lines.push_back({"inputs", inputs, "of the step after the one that runs; training"});
  needs.lines.push_back({"driver and libraries", contextBytes(manifest), "about, differs from GPU to GPU"});
  // Without this memory the program starts nevertheless, and runs what the library suggests first.
  needs.lines.push_back({"  search for algorithms", searchBytes(manifest), "on the first run, if it is free", true});
  return needs;
}

MemoryNeeds programNeeds(const Manifest &manifest) {
  return manifest.isForGpu() ? deviceMemory(manifest) : hostMemory(manifest, {0, ""});
}

int64_t programBytes(const Manifest &manifest) { return programNeeds(manifest).total(); }

static int64_t programBytesWith(const Manifest &manifest, const MemoryPlan &plan) {
  const MemoryPlan *own = manifest.memory.chosen();
  int64_t bytes = programBytes(manifest) - manifest.arena.bytes + plan.arenaBytes;
  // What is computed twice is described twice.
  bool isLonger = own && plan.seconds > own->seconds && !manifest.isForGpu();
  return isLonger ? bytes + bytesForManifestByte * manifest.textBytes / 2 : bytes;
}

std::vector<PlanMemory> plansByMemory(const Manifest &manifest) {
  std::vector<PlanMemory> plans;
  int64_t least = std::numeric_limits<int64_t>::max();
  for (const MemoryPlan &plan : manifest.memory.frontier) {
    int64_t bytes = programBytesWith(manifest, plan);
    if (bytes >= least && !plan.isChosen) continue;
    least = std::min(least, bytes);
    plans.push_back({&plan, bytes});
  }
  return plans;
}

static std::string amountOf(int64_t bytes, double (*round)(double)) {
  static constexpr std::pair<const char *, int> units[] = {{"GiB", 30}, {"MiB", 20}, {"KiB", 10}};
  for (auto [name, shift] : units) {
    double amount = static_cast<double>(bytes) / static_cast<double>(int64_t(1) << shift);
    if (amount < 1 && shift > 10) continue;
    double digits = amount < 10 ? 1000 : amount < 100 ? 100 : amount < 1000 ? 10 : 1; // four in all
    return fmt::format("{:g}{}", round(amount * digits) / digits, name);
  }
  return "";
}

std::string memoryAmount(int64_t bytes) { return amountOf(bytes, std::ceil); }
std::string memoryWithin(int64_t bytes) { return amountOf(bytes, std::floor); }

std::string memoryAdvice(const Manifest &manifest, int64_t available) {
  constexpr const char *smaller = "compile with a smaller batch";
  std::vector<PlanMemory> plans = plansByMemory(manifest);
  int64_t own = programBytes(manifest);
  if (plans.empty() || plans.back().bytes >= own) return smaller;
  if (manifest.isForGpu()) available += contextBytes(manifest); // of the driver, which has it
  for (auto [plan, bytes] : plans) {
    if (bytes > available || bytes >= own) continue;
    const MemoryPlan *chosen = manifest.memory.chosen();
    const PredictedEntry *step = manifest.predicted.entry("step");
    std::string longer;
    if (chosen && step && step->seconds > 0)
      longer =
          fmt::format(" (a step takes about {:.1f} % longer)", 100 * (plan->seconds - chosen->seconds) / step->seconds);
    return fmt::format("compile with --memory={}{}", memoryAmount(bytes), longer);
  }
  return fmt::format("{}; with --memory it takes {} at least", smaller, formatBytes(plans.back().bytes));
}

DiskNeeds checkpointNeeds(const Manifest &manifest) {
  DiskNeeds needs{manifest.wholeStateBytes(), 0};
  const Json save = manifest.settings.is_object() ? manifest.settings.value("save", Json::object()) : Json::object();
  int64_t kept = save.is_object() ? save.value("keep", int64_t(0)) : 0;
  bool savesBest = save.is_object() && !save.value("best", std::string()).empty();
  if (kept > 0) needs.mostCheckpoints = kept + (savesBest ? 1 : 0) + 1;
  return needs;
}

} // namespace tessera::runtime
