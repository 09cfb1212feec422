//===- MachineMemory.cpp - the memory available to this process -----------===//

#include "runtime/machine/MachineMemory.h"

#include <fmt/format.h>

#include <fstream>
#include <limits>
#include <optional>
#include <sstream>
#include <sys/resource.h>
#include <unistd.h>

namespace tessera::runtime {

/// The number in a file that holds one; none for "max" or a missing file.
static std::optional<int64_t> readNumber(const std::string &path) {
  std::ifstream file(path);
  int64_t value;
  if (file >> value) return value;
  return std::nullopt;
}

/// The number that follows `key` in a file of lines "key value".
static int64_t readKey(const std::string &path, const std::string &key) {
  std::ifstream file(path);
  for (std::string line; std::getline(file, line);) {
    std::istringstream words(line);
    std::string name;
    int64_t value;
    if (words >> name >> value && name == key) return value;
  }
  return 0;
}

/// What threads' stacks and the heap of a training run map beside its arena, in bytes: measured with 2 threads, while a
/// checkpoint is written, and rounded up.
static constexpr int64_t mappedLater = int64_t(48) << 20;

/// Considers the limits of the process on its address space and on its data.
static void considerProcess(bool countsUse, AvailableMemory &available) {
  struct Limit {
    int resource;
    const char *used, *name;
  };
  for (auto [resource, used, name] : {Limit{RLIMIT_AS, "VmSize:", "the limit on address space (ulimit -v)"},
                                      Limit{RLIMIT_DATA, "VmData:", "the limit on data (ulimit -d)"}}) {
    rlimit limit;
    if (getrlimit(resource, &limit) != 0 || limit.rlim_cur == RLIM_INFINITY) continue;
    int64_t left = static_cast<int64_t>(std::min<uint64_t>(limit.rlim_cur, std::numeric_limits<int64_t>::max()));
    if (countsUse) left = std::max<int64_t>(0, left - readKey("/proc/self/status", used) * 1024 - mappedLater);
    if (left < available.bytes) available = {left, name};
  }
}

/// Considers a cgroup and all its ancestors: each may have a limit.
static void considerCgroup(const std::string &root, std::string folder, bool unified, bool countsUse,
                           AvailableMemory &available) {
  const char *limitFile = unified ? "/memory.max" : "/memory.limit_in_bytes";
  const char *usedFile = unified ? "/memory.current" : "/memory.usage_in_bytes";
  for (;;) {
    std::string path = root + (folder == "/" ? "" : folder);
    if (auto limit = readNumber(path + limitFile)) {
      int64_t used = readNumber(path + usedFile).value_or(0);
      // Clean page cache is reclaimed before the kernel kills a process.
      int64_t cache = readKey(path + "/memory.stat", unified ? "inactive_file" : "total_inactive_file");
      int64_t left = countsUse ? std::max<int64_t>(0, *limit - std::max<int64_t>(0, used - cache)) : *limit;
      if (left < available.bytes) available = {left, "the cgroup " + path};
    }
    size_t slash = folder.rfind('/');
    if (folder == "/" || slash == std::string::npos) return;
    folder = slash == 0 ? "/" : folder.substr(0, slash);
  }
}

int64_t anonymousMemory() { return readKey("/proc/self/status", "RssAnon:") * 1024; }

static AvailableMemory memoryOf(const char *key, bool countsUse) {
  AvailableMemory available = {std::numeric_limits<int64_t>::max(), "the machine"};
  if (int64_t kib = readKey("/proc/meminfo", key)) available.bytes = kib * 1024;
  std::ifstream groups("/proc/self/cgroup");
  for (std::string line; std::getline(groups, line);) {
    // "0::/path" in the unified hierarchy, "5:memory:/path" in the old one.
    size_t first = line.find(':'), second = line.find(':', first + 1);
    if (second == std::string::npos) continue;
    std::string controllers = line.substr(first + 1, second - first - 1), folder = line.substr(second + 1);
    if (controllers.empty()) considerCgroup("/sys/fs/cgroup", folder, true, countsUse, available);
    if (controllers.find("memory") != std::string::npos)
      considerCgroup("/sys/fs/cgroup/memory", folder, false, countsUse, available);
  }
  considerProcess(countsUse, available);
  return available;
}

AvailableMemory availableMemory() { return memoryOf("MemAvailable:", true); }
AvailableMemory totalMemory() { return memoryOf("MemTotal:", false); }

std::string formatBytes(int64_t bytes) {
  const char *units[] = {"B", "KiB", "MiB", "GiB", "TiB"};
  double value = bytes;
  int unit = 0;
  while (value >= 1024 && unit < 4) value /= 1024, ++unit;
  return unit == 0 ? fmt::format("{} B", bytes) : fmt::format("{:.1f} {}", value, units[unit]);
}

} // namespace tessera::runtime
