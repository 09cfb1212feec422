//===- Program.cpp - the compiled part of a training program ------------------===//

#include "runtime/Program.h"

#include "runtime/AvailableCores.h"
#include "runtime/CpuFeatures.h"
#include "runtime/Error.h"
#include "runtime/SmallBlocks.h"
#include "runtime/checkpoint/Hash.h"

#include <dlfcn.h>
#include <sys/mman.h>
#include <unistd.h>

namespace tessera::runtime {

/// What compiled code sees, and what the callbacks need.
struct Program::Table : TsrRuntime {
  Threads *pool = nullptr;
  std::vector<Gemm> *gemms = nullptr;
  void *workspace = nullptr;
  Profile *profile = nullptr;                 ///< null: off
  std::function<void()> afterCall;            ///< of a kernel or contraction; empty: off
  std::map<TsrKernel, int64_t> kernelNumbers; ///< while profiling
  /// The first failure inside an entry function. Compiled code has no unwind
  /// tables: nothing may be thrown through it.
  const char *failure = nullptr;
  char failureText[256] = {};

  static Table &of(TsrRuntime *self) { return *static_cast<Table *>(self); }

  /// Runs `work`, and notes its time if there is a profile.
  template <typename Work, typename Which> void timed(Profile::Kind kind, Which which, Work work) {
    if (!profile) return work();
    auto start = Profile::Clock::now();
    work();
    profile->add(kind, which(), Profile::Clock::now() - start);
  }

  static void runParallel(TsrRuntime *self, TsrKernel kernel, void *const *args, int64_t iterations, int64_t grain,
                          int64_t piece) {
    Table &table = of(self);
    table.timed(
        Profile::Kind::Kernel, [&] { return table.kernelNumbers[kernel]; },
        [&] { table.pool->parallelFor(kernel, args, iterations, grain, piece); });
    if (table.afterCall) table.afterCall();
  }

  static void runGemm(TsrRuntime *self, uint32_t index, const void *a, const void *b, const void *bias, void *c) {
    Table &table = of(self);
    try {
      table.timed(
          Profile::Kind::Contraction, [&] { return index; },
          [&] { table.gemms->at(index).run(a, b, bias, c, table.workspace); });
      if (table.afterCall) table.afterCall();
    } catch (const std::exception &e) {
      if (table.failure) return;
      snprintf(table.failureText, sizeof(failureText), "contraction %u: %s", index, e.what());
      table.failure = table.failureText;
    }
  }

  static void runCopy(TsrRuntime *self, void *dst, const void *src, int64_t bytes) {
    Table &table = of(self);
    table.timed(Profile::Kind::Copy, [&] { return bytes; }, [&] { table.pool->copy(dst, src, bytes); });
  }
  static void runZero(TsrRuntime *self, void *dst, int64_t bytes) {
    Table &table = of(self);
    table.timed(Profile::Kind::Zero, [&] { return bytes; }, [&] { table.pool->zero(dst, bytes); });
  }
};

Program::Program(Payload payload)
    : description(parseManifest(payload.manifest)),
      payloadHash(fmt::format("{:016x}{:016x}", hashXxh64(payload.object.data(), payload.object.size()),
                              hashXxh64(payload.manifest.data(), payload.manifest.size()))),
      object(std::move(payload.object)) {
  std::vector<std::string> missing = missingCpuFeatures(description.features);
  if (!missing.empty())
    fail("this processor lacks {}, which the program was compiled for; compile it here, or with --march=x86-64-v3",
         fmt::join(missing, ", "));
}

Program::~Program() {
  if (library) dlclose(library);
  if (codeFile >= 0) close(codeFile);
}

int Program::threadCount(int wanted) const {
  int cores = availableCores();
  if (wanted > 0) return wanted;
  return description.threads > 0 ? std::min(description.threads, cores) : cores;
}

void Program::start(int threads, bool bind) {
  pool = std::make_unique<Threads>(threadCount(threads));
  if (int running = pool->countRunning(); running != pool->count())
    fail("only {} of {} threads run; lower --threads or lift the limit on threads (ulimit -u)", running, pool->count());
  if (bind && !pool->bind())
    fail("--bind: {} threads, but this process may use fewer processors; lower --threads", pool->count());
  arena = std::make_unique<Arena>(description.arenaBytes, *pool);
  prepareGemms();
  prepareScratch();
  mapCode();
  smallblocks::reserve();
}

void Program::mapCode() {
  codeFile = memfd_create("tessera-program", MFD_CLOEXEC);
  if (codeFile < 0) fail("cannot map the program's code: {}", strerror(errno));
  for (size_t done = 0; done < object.size();) {
    ssize_t written = ::write(codeFile, object.data() + done, object.size() - done);
    if (written < 0) fail("cannot map the program's code: {}", strerror(errno));
    done += written;
  }
  object = std::string();
  library = dlopen(fmt::format("/proc/self/fd/{}", codeFile).c_str(), RTLD_NOW | RTLD_LOCAL);
  if (!library) fail("cannot map the program's code: {}", dlerror());
  auto *version = static_cast<const uint32_t *>(dlsym(library, TSR_SYMBOL_ABI_VERSION));
  if (!version || *version != TSR_ABI_VERSION)
    fail("the program's code is of ABI version {}, this launcher has {}; compile it again", version ? *version : 0,
         TSR_ABI_VERSION);
  for (const auto &[name, entry] : description.entries) {
    void *symbol = dlsym(library, (TSR_SYMBOL_ENTRY_PREFIX + name).c_str());
    if (!symbol) fail("the program's code lacks the entry function '{}' of its manifest; compile it again", name);
    entries[name] = reinterpret_cast<TsrEntry>(symbol);
  }
}

void Program::prepareGemms() {
  int64_t needed = 0;
  for (const GemmDescription &gemm : description.gemms) {
    try {
      gemms.emplace_back(gemm);
    } catch (const std::exception &e) {
      fail("{}; compile the program on this machine", e.what());
    }
    needed = std::max(needed, gemms.back().scratchBytes());
  }
  if (needed > description.workspaceBytes) extraWorkspace = std::make_unique<Arena>(needed, *pool);
  table = std::make_unique<Table>();
  table->abiVersion = TSR_ABI_VERSION;
  table->threads = pool->count();
  table->parallelFor = Table::runParallel;
  table->gemm = Table::runGemm;
  table->copy = Table::runCopy;
  table->zero = Table::runZero;
  table->pool = pool.get();
  table->gemms = &gemms;
  table->workspace = extraWorkspace ? extraWorkspace->base() : at(description.workspaceOffset);
}

/// More threads than the program was compiled for have theirs outside of the arena.
void Program::prepareScratch() {
  if (pool->count() <= description.threads)
    return pool->setScratch(at(description.scratchOffset), description.scratchBytes);
  extraScratch = std::make_unique<Arena>(pool->count() * description.scratchBytes, *pool);
  pool->setScratch(extraScratch->base(), description.scratchBytes);
}

void Program::call(const std::string &entry) {
  auto found = entries.find(entry);
  if (found == entries.end()) fail("this program was compiled without the entry function '{}'", entry);
  found->second(table.get(), arena->base());
  if (table->failure) fail("entry function '{}' failed: {}", entry, table->failure);
}

void Program::callObserved(const std::string &entry, const TraceObserver &observer) {
  TraceCursor cursor(description.entry(entry).trace);
  table->afterCall = [&] {
    if (const TraceStep *step = cursor.advance()) observer(*step, cursor.turns());
  };
  call(entry);
  table->afterCall = nullptr;
}

std::optional<NotFinite> Program::callWatched(const std::string &entry) {
  std::optional<NotFinite> first;
  callObserved(entry, [&](const TraceStep &step, const std::vector<int64_t> &turns) {
    if (!first) first = findNotFinite(step, turns, arena->base());
  });
  return first;
}

Profile &Program::startProfile() {
  profile = std::make_unique<Profile>();
  auto *kernels = static_cast<const TsrKernel *>(dlsym(library, TSR_SYMBOL_KERNELS));
  if (!kernels && !description.kernels.empty()) fail("the program's code lacks its table of kernels; compile it again");
  for (size_t i = 0; i < description.kernels.size(); ++i) table->kernelNumbers[kernels[i]] = i;
  table->profile = profile.get();
  return *profile;
}

double Program::readScalar(const Value &value) const {
  switch (value.type) {
  case ElementType::F32:
    return read<float>(value);
  case ElementType::F64:
    return read<double>(value);
  case ElementType::I32:
    return read<int32_t>(value);
  case ElementType::I64:
    return read<int64_t>(value);
  case ElementType::I1:
    return read<uint8_t>(value);
  default:
    fail("output '{}' has the type {}, which is not a scalar type", value.name, elementTypeName(value.type));
  }
}

int64_t Program::readCounter(const std::string &path, int64_t missing) const {
  const StateEntry *entry = description.stateAt(path);
  if (!entry || entry->kind != "counter") return missing;
  if (entry->type == ElementType::I32) return *reinterpret_cast<const int32_t *>(at(entry->offset));
  return *reinterpret_cast<const int64_t *>(at(entry->offset));
}

} // namespace tessera::runtime
