//===- ProgramPlan.cpp - what a program will need, before it is made -------===//

#include "tools/ProgramPlan.h"
#include "runtime/base/Error.h"
#include "runtime/data/HeldData.h"
#include "runtime/machine/MachineMemory.h"
#include "runtime/train/MemoryNeeds.h"

using namespace tessera::runtime;

/// Of the list of buffers, unless all are listed.
static constexpr size_t largestBuffers = 15;

static std::string mebibytes(int64_t bytes) {
  return fmt::format("{:.1f} MiB", static_cast<double>(bytes) / (1 << 20));
}

static std::string describeSizes(const Manifest &manifest, int64_t liveBytes) {
  int64_t state = 0, parameters = 0;
  for (const StateEntry &entry : manifest.state) {
    state += entry.bytes;
    if (entry.isParameter()) parameters += entry.bytes / bytesOf(entry.type);
  }
  return fmt::format("parameters  {}\nstate       {}\narena       {}, {} bytes\nlive        {} at most\n", parameters,
                     mebibytes(state), mebibytes(manifest.arena.bytes), manifest.arena.bytes, mebibytes(liveBytes));
}

static std::string describeLine(const std::string &name, int64_t bytes, const std::string &note) {
  return fmt::format("  {:<28} {:>12}{}{}\n", name, formatBytes(bytes), note.empty() ? "" : "  ", note);
}

static std::string describeNeeds(const char *title, const MemoryNeeds &needs) {
  std::string text = fmt::format("{}\n", title);
  for (const MemoryNeed &need : needs.lines) text += describeLine(need.name, need.bytes, need.note);
  return text + describeLine("total", needs.total(), fmt::format("{} bytes", needs.total()));
}

static std::string describeMemory(const Manifest &manifest) {
  std::string problem, text;
  std::optional<int64_t> held;
  try {
    held = heldDataBytes(manifest, DataFiles(manifest.data, {}), problem);
  } catch (const Error &error) {
    problem = error.what();
  }
  if (manifest.isForGpu()) text += describeNeeds("memory of the GPU", deviceMemory(manifest, usualContextBytes));
  text += describeNeeds(manifest.isForGpu() ? "memory of the host" : "memory", hostMemory(manifest, held.value_or(0)));
  if (!held) text += "  what the program holds of its data is not known: " + problem + "\n";
  return text;
}

static std::string describeDisk(const Manifest &manifest) {
  DiskNeeds disk = checkpointNeeds(manifest);
  std::string text = "disk\n" + describeLine("a checkpoint", disk.checkpointBytes, "");
  if (disk.mostCheckpoints > 0)
    text += describeLine("checkpoints at most", disk.mostCheckpoints * disk.checkpointBytes,
                         fmt::format("{} of them, one of which is being written", disk.mostCheckpoints));
  return text;
}

static std::string describeBuffers(const Manifest &manifest, bool listsAll) {
  std::string text = "largest buffers\n";
  size_t count = listsAll ? manifest.buffers.size() : std::min(largestBuffers, manifest.buffers.size());
  for (size_t i = 0; i < count; ++i) {
    const BufferSpec &buffer = manifest.buffers[i];
    text += fmt::format("  {:>14}  {:<11} {:<9} {} {}{}{}\n", mebibytes(buffer.bytes), buffer.kind, buffer.entry,
                        buffer.name, buffer.type, buffer.line.empty() ? "" : ", ", buffer.line);
  }
  return text;
}

std::string tessera::describePlan(const std::string &manifestText, const PlanDetails &details) {
  Manifest manifest = parseManifest(manifestText);
  return describeSizes(manifest, details.liveBytes) + describeMemory(manifest) + describeDisk(manifest) +
         details.memoryByKind + describeBuffers(manifest, details.listsAllBuffers);
}
