//===- Info.cpp - the command `info` --------------------------------------===//

#include "runtime/commands/Session.h"
#include "runtime/data/HeldData.h"
#include "runtime/machine/MachineMemory.h"
#include "runtime/machine/OnednnGemm.h"
#include "runtime/train/MemoryNeeds.h"

#include <algorithm>

namespace tessera::runtime {

static void printState(const Manifest &manifest) {
  printText("state\n");
  for (const StateEntry &entry : manifest.state)
    printText("  {:<32} {:<8} {:<5} {:<40} {:>12}\n", entry.path, entry.kind, elementTypeName(entry.type),
              formatAxes(entry.canonicalAxes()), entry.bytes);
  printText("  {} parameters, {} bytes of state\n\n", manifest.parameters(), manifest.stateBytes());
}

static void printNeeds(const char *title, const MemoryNeeds &needs) {
  printText("{} (bytes)\n", title);
  for (const MemoryNeed &line : needs.lines)
    printText("  {:<32} {:>15}{}{}\n", line.name, line.isKnown ? fmt::format("{}", line.bytes) : "?",
              line.note.empty() ? "" : "  ", line.note);
  printText("  {:<32} {:>15}\n", "total", needs.total());
}

static void printDisk(const Manifest &manifest) {
  DiskNeeds needs = checkpointNeeds(manifest);
  printText("checkpoints (bytes)\n  {:<32} {:>15}\n", "each", needs.checkpointBytes);
  if (needs.mostCheckpoints > 0)
    printText("  {:<32} {:>15}  {} of them, one of which is being written\n", "at most",
              needs.mostCheckpoints * needs.checkpointBytes, needs.mostCheckpoints);
  printText("\n");
}

static void printMemory(const Manifest &manifest, const DataFiles &files) {
  if (manifest.isForGpu()) printNeeds("memory of the GPU", deviceMemory(manifest));
  printNeeds(manifest.isForGpu() ? "memory of the host" : "memory", hostMemory(manifest, heldData(manifest, files)));
  AvailableMemory available = availableMemory();
  printText("  {:<32} {:>15}  {}\n\n", "available", available.bytes, available.limit);
  printDisk(manifest);
}

/// Kernels, contractions and stored elements of a list of calls.
static int64_t countLaunches(const std::vector<TracedCall> &trace) {
  int64_t count = 0;
  for (const TracedCall &step : trace) count += step.repeats ? step.repeats * (countLaunches(step.body) + 1) : 1;
  return count;
}

/// "h.mlp.up out [batch: 8, seq: 128, ff: 768] f32, model.tsr:31:7".
static std::string describe(const BufferSpec &buffer) {
  std::string text = buffer.name;
  if (!buffer.type.empty()) text += " " + buffer.type;
  return buffer.line.empty() ? text : text + ", " + buffer.line;
}

static void printPlan(const Manifest &manifest) {
  constexpr size_t shown = 40;
  printText("buffers, largest first\n");
  for (size_t i = 0; i < std::min(shown, manifest.buffers.size()); ++i) {
    const BufferSpec &b = manifest.buffers[i];
    printText("  {:>14} at {:<12} {:<11} {:<9} {}\n", b.bytes, b.offset, b.kind, b.entry, describe(b));
  }
  if (manifest.buffers.size() > shown) printText("  and {} more\n", manifest.buffers.size() - shown);
  printText("\nentry functions\n");
  for (const auto &[name, entry] : manifest.entries)
    printText("  {:<12} {:>3} inputs {:>3} outputs {:>10.3g} GFLOP in contractions\n", name, entry.inputs.size(),
              entry.outputs.size(), entry.flops / 1e9);
  int64_t calls = 0;
  for (const KernelSpec &kernel : manifest.kernels)
    for (const auto &[entry, count] : kernel.calls) calls += count;
  printText("\nkernels: {} generated, {} calls\ncontractions: {}\n", manifest.kernels.size(), calls,
            manifest.gemms.size());
  if (auto step = manifest.entries.find("step"); manifest.isForGpu() && step != manifest.entries.end()) {
    int64_t launches = countLaunches(step->second.trace);
    for (const KernelSpec &kernel : manifest.kernels) // the launches of ops with several
      if (auto calls = kernel.calls.find("step"); kernel.isPart && calls != kernel.calls.end())
        launches += calls->second;
    for (const GemmSpec &gemm : manifest.gemms) launches += gemm.partCalls.value_or(0);
    printText("{} launches in a step, one of a graph\n", launches);
  }
  for (const GemmSpec &gemm : manifest.gemms) {
    GemmPlan plan{"", 0, "cublasLt", false};
    if (!manifest.isForGpu()) plan = planGemm(gemm, manifest.target.threads);
    bool isGelu = gemm.epilogue == GemmEpilogue::Gelu, isGrad = gemm.epilogue == GemmEpilogue::GeluGrad;
    printText("  {:<32} [{}] x [{}]{}{}{}  {}\n", gemm.name, fmt::join(gemm.a.dims, ", "), fmt::join(gemm.b.dims, ", "),
              gemm.bias && !isGrad ? " + bias" : "", gemm.accumulate ? " + c" : "",
              isGelu   ? ", gelu"
              : isGrad ? ", gradient of gelu"
                       : "",
              plan.error.empty() ? plan.implementation : plan.error);
  }
}

static void printPrediction(const Manifest &manifest) {
  if (!manifest.hasEntry("predict")) return;
  std::vector<std::string> read, written;
  int64_t rows = 0;
  for (const ValueSpec &input : manifest.entry("predict").inputs)
    if (input.role == "data") read.push_back(input.name), rows = wholeAxes(input)[0].size;
  for (const ValueSpec &output : manifest.entry("predict").outputs)
    if (output.role == "result")
      written.push_back(output.name + " " +
                        formatAxes(std::vector<AxisSpec>(output.axes.begin() + 1, output.axes.end())));
  printText("predict reads {} and writes {}, {} rows at a time\n", fmt::join(read, ", "), fmt::join(written, ", "),
            rows);
}

static std::string describeValidation(const DataSpec &data) {
  if (data.valFraction <= 0) return "as named";
  if (!data.valSeed) return fmt::format("the last {:g} of it", data.valFraction);
  return fmt::format("{:g} of its rows, chosen with val_seed = {}", data.valFraction, *data.valSeed);
}

/// The mesh, and what a rank receives in a step.
static void printRanks(const Manifest &manifest) {
  constexpr size_t shown = 20;
  const RanksSpec &ranks = manifest.target.ranks;
  if (ranks.leaves > 0) printText("leaves {}: their gradients add in a binary tree\n", ranks.leaves);
  if (ranks.mesh.empty()) return;
  std::vector<std::string> axes;
  for (const MeshAxisSpec &axis : ranks.mesh) axes.push_back(fmt::format("{}={}", axis.name, axis.size));
  printText("mesh {}: {} ranks; state, memory and buffers are those of one rank\nexchanges of a step\n",
            fmt::join(axes, ","), ranks.count());
  std::vector<const ExchangeSpec *> sorted;
  for (const ExchangeSpec &exchange : ranks.exchanges)
    if (exchange.callsIn("step") > 0) sorted.push_back(&exchange);
  auto bytesOfStep = [&](const ExchangeSpec &exchange) { return exchange.callsIn("step") * ranks.received(exchange); };
  std::stable_sort(sorted.begin(), sorted.end(),
                   [&](const ExchangeSpec *a, const ExchangeSpec *b) { return bytesOfStep(*a) > bytesOfStep(*b); });
  for (const MeshAxisSpec &axis : ranks.mesh) {
    int64_t calls = 0, bytes = 0;
    for (const ExchangeSpec *exchange : sorted)
      if (exchange->along == axis.name) calls += exchange->callsIn("step"), bytes += bytesOfStep(*exchange);
    printText("  along {:<26} {:>15} bytes received in {}\n", axis.name, bytes, calls);
  }
  for (size_t i = 0; i < std::min(shown, sorted.size()); ++i)
    printText("  {:<32} {:>15}  {} along {}, {} of {} bytes\n", sorted[i]->name, bytesOfStep(*sorted[i]),
              sorted[i]->kindName(), sorted[i]->along, sorted[i]->callsIn("step"), ranks.received(*sorted[i]));
  if (sorted.size() > shown) printText("  and {} more\n", sorted.size() - shown);
  printText("\n");
}

ExitStatus runInfo(LoadedProgram &program, const Options &options) {
  const Manifest &manifest = program.manifest();
  DataFiles files(manifest.data, options.data); // mistakes in --data are errors; data that cannot be read is a line
  if (manifest.isForGpu())
    printText("model {}\ncompiled by {} for GPUs: {}\n\n", manifest.model, manifest.compiler,
              fmt::join(manifest.target.architectures, ", "));
  else
    printText("model {}\ncompiled by {} for {} with {} threads\nruns here with {} threads\n\n", manifest.model,
              manifest.compiler, manifest.target.march.empty() ? "cpu" : manifest.target.march, manifest.target.threads,
              program.threadCount(0));
  printRanks(manifest);
  printState(manifest);
  printMemory(manifest, files);
  printPlan(manifest);
  for (const DataSpec &data : manifest.data)
    printText("data {}: {}, training {}, validation {}\n", data.name, infoOf(data.format).name,
              data.splits.count("train") ? fmt::format("{}", fmt::join(data.splits.at("train"), " ")) : "by field",
              describeValidation(data));
  printPrediction(manifest);
  printText("settings {}\n", dumpJson(manifest.settings));
  return ExitStatus::Done;
}

} // namespace tessera::runtime
