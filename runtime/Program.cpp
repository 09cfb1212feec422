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
  /// The first failure inside an entry function. Compiled code has no unwind
  /// tables: nothing may be thrown through it.
  const char *failure = nullptr;
  char failureText[256] = {};

  static Table &of(TsrRuntime *self) { return *static_cast<Table *>(self); }

  static void runParallel(TsrRuntime *self, TsrKernel kernel, void *const *args, int64_t iterations, int64_t grain) {
    of(self).pool->parallelFor(kernel, args, iterations, grain);
  }

  static void runGemm(TsrRuntime *self, uint32_t index, const void *a, const void *b, const void *bias, void *c) {
    Table &table = of(self);
    try {
      table.gemms->at(index).run(a, b, bias, c, table.workspace);
    } catch (const std::exception &e) {
      if (table.failure) return;
      snprintf(table.failureText, sizeof(failureText), "contraction %u: %s", index, e.what());
      table.failure = table.failureText;
    }
  }

  static void runCopy(TsrRuntime *self, void *dst, const void *src, int64_t bytes) {
    of(self).pool->copy(dst, src, bytes);
  }
  static void runZero(TsrRuntime *self, void *dst, int64_t bytes) { of(self).pool->zero(dst, bytes); }
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

void Program::start(int threads) {
  pool = std::make_unique<Threads>(threadCount(threads));
  if (int running = pool->countRunning(); running != pool->count())
    fail("only {} of {} threads run; lower --threads or lift the limit on threads (ulimit -u)", running, pool->count());
  arena = std::make_unique<Arena>(description.arenaBytes, *pool);
  prepareGemms();
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

void Program::call(const std::string &entry) {
  auto found = entries.find(entry);
  if (found == entries.end()) fail("this program was compiled without the entry function '{}'", entry);
  found->second(table.get(), arena->base());
  if (table->failure) fail("entry function '{}' failed: {}", entry, table->failure);
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
