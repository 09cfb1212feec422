//===- CpuMachine.cpp - programs on the cores of a processor --------------===//

#include "runtime/machine/Machine.h"

#include "runtime/base/Error.h"
#include "runtime/machine/Arena.h"
#include "runtime/machine/OnednnGemm.h"
#include "runtime/machine/StepAllocator.h"
#include "runtime/machine/ThreadPool.h"
#include "runtime/ranks/Communicator.h"

#include <algorithm>
#include <dlfcn.h>
#include <map>

namespace tessera::runtime {

namespace {
/// The functions that compiled code calls, and their state.
struct Table : TsrRuntime {
  Threads *pool = nullptr;
  std::vector<OnednnGemm> *gemms = nullptr;
  const std::vector<ExchangeSpec> *exchanges = nullptr;
  std::vector<HostCommunicator *> groups; ///< of each exchange
  void *workspace = nullptr;
  char *scratch = nullptr;                    ///< of all kernels; null: where `parallelFor` says
  Profile *profile = nullptr;                 ///< null: off
  std::function<void()> afterCall;            ///< of a kernel or contraction; empty: off
  std::map<TsrKernel, int64_t> kernelNumbers; ///< while profiling
  /// The first failure inside an entry function. Compiled code has no unwind tables: no exception may cross it.
  const char *failure = nullptr;
  char failureText[256] = {};

  static Table &of(TsrRuntime *self) { return *static_cast<Table *>(self); }

  /// Runs `work`, and times it if there is a profile.
  template <typename Work, typename Which> void timed(Profile::Kind kind, Which which, Work work) {
    if (!profile) return work();
    auto start = Profile::Clock::now();
    work();
    profile->add(kind, which(), Profile::Clock::now() - start);
  }

  static void runParallel(TsrRuntime *self, TsrKernel kernel, void *const *args, int64_t iterations, int64_t grain,
                          int64_t piece, void *scratch, int64_t scratchBytes) {
    Table &table = of(self);
    ThreadScratch own{table.scratch ? table.scratch : static_cast<char *>(scratch), scratchBytes};
    table.timed(
        Profile::Kind::Kernel, [&] { return table.kernelNumbers[kernel]; },
        [&] { table.pool->parallelFor(kernel, args, iterations, grain, piece, own); });
    if (table.afterCall) table.afterCall();
  }

  static void runGemm(TsrRuntime *self, uint32_t index, const void *a, const void *b, void *bias, void *, void *c) {
    Table &table = of(self);
    try {
      table.timed(
          Profile::Kind::Contraction, [&] { return index; },
          [&] { table.gemms->at(index).run(a, b, bias, c, table.workspace); });
      if (table.afterCall) table.afterCall();
    } catch (const std::exception &e) {
      table.note("contraction", index, e);
    }
  }

  void note(const char *what, uint32_t index, const std::exception &error) {
    if (failure) return;
    snprintf(failureText, sizeof(failureText), "%s %u: %s", what, index, error.what());
    failure = failureText;
  }

  void exchange(uint32_t index, const void *sent, void *received) {
    const ExchangeSpec &exchange = exchanges->at(index);
    HostCommunicator &group = *groups.at(index);
    int64_t before = group.traffic().sent;
    switch (exchange.kind) {
    case ExchangeSpec::Kind::AllGather:
      group.allGather(exchange.name, sent, received, exchange.bytes);
      break;
    case ExchangeSpec::Kind::AllToAll:
      group.allToAll(exchange.name, sent, received, exchange.bytes);
      break;
    case ExchangeSpec::Kind::ReduceScatter:
      fail("{}: ranks on CPUs exchange bytes, and add nothing", exchange.name);
    }
    if (profile) profile->addSent(index, group.traffic().sent - before);
  }

  /// The communicator waits for the other ranks: afterwards the exchange is complete.
  static void runStart(TsrRuntime *self, uint32_t index, const void *sent, void *received) {
    Table &table = of(self);
    if (table.failure) return; // the ranks no longer agree
    try {
      table.timed(Profile::Kind::Exchange, [&] { return index; }, [&] { table.exchange(index, sent, received); });
    } catch (const std::exception &e) {
      table.note("exchange", index, e);
    }
  }
  static void runWait(TsrRuntime *, uint32_t) {}

  static void runCopy(TsrRuntime *self, void *dst, const void *src, int64_t bytes) {
    Table &table = of(self);
    table.timed(Profile::Kind::Copy, [&] { return bytes; }, [&] { table.pool->copy(dst, src, bytes); });
  }
  static void runZero(TsrRuntime *self, void *dst, int64_t bytes) {
    Table &table = of(self);
    table.timed(Profile::Kind::Zero, [&] { return bytes; }, [&] { table.pool->zero(dst, bytes); });
  }
};

class CpuMachine : public Machine {
public:
  CpuMachine(const Manifest &manifest, const MachineOptions &options);

  std::string describe() const override {
    return fmt::format("{} thread{}", pool.count(), pool.count() == 1 ? "" : "s");
  }
  char *at(int64_t offset) const override { return arena->base() + offset; }
  void load(void *library) override { kernels = static_cast<const TsrKernel *>(dlsym(library, TSR_SYMBOL_KERNELS)); }
  void call(const EntryFunction &entry, TsrEntry code) override;
  void observe(std::function<void()> afterCall) override { table.afterCall = std::move(afterCall); }
  void startProfile(Profile &profile) override;
  std::optional<MachineLimits> limits() override { return measureLimits(pool); }
  int threads() const override { return pool.count(); }
  int64_t arenaBytes() const override;

private:
  void prepareGemms();
  void prepareScratch();
  void prepareExchanges(const RankGroups &groups);

  const Manifest &manifest;
  Threads pool;
  std::unique_ptr<Arena> arena, extraWorkspace, extraScratch;
  std::vector<OnednnGemm> gemms;
  const TsrKernel *kernels = nullptr;
  Table table;
};
} // namespace

CpuMachine::CpuMachine(const Manifest &manifest, const MachineOptions &options)
    : manifest(manifest), pool(options.threads) {
  if (int running = pool.countRunning(); running != pool.count())
    fail("only {} of {} threads run; {}", running, pool.count(), threadsAdvice);
  if (options.bind && !pool.bind())
    fail("--bind: {} threads, but this process may use fewer processors; lower --threads", pool.count());
  arena = std::make_unique<Arena>(manifest.arena.bytes, pool, options.advice, options.memory);
  prepareGemms();
  prepareScratch();
  prepareExchanges(options.ranks);
}

void CpuMachine::prepareExchanges(const RankGroups &groups) {
  table.start = Table::runStart;
  table.wait = Table::runWait;
  const RanksSpec &ranks = manifest.target.ranks;
  groups.require(ranks);
  table.exchanges = &ranks.exchanges;
  for (const ExchangeSpec &exchange : ranks.exchanges) table.groups.push_back(&groups.along(exchange.along));
}

void CpuMachine::prepareGemms() {
  int64_t needed = 0;
  for (const GemmSpec &gemm : manifest.gemms) {
    try {
      gemms.emplace_back(gemm);
    } catch (const std::exception &e) {
      fail("{}; compile the program on this machine", e.what());
    }
    needed = std::max(needed, gemms.back().scratchBytes());
  }
  if (needed > manifest.arena.workspaceBytes) extraWorkspace = std::make_unique<Arena>(needed, pool);
  table.abiVersion = TSR_ABI_VERSION;
  table.threads = pool.count();
  table.parallelFor = Table::runParallel;
  table.gemm = Table::runGemm;
  table.copy = Table::runCopy;
  table.zero = Table::runZero;
  table.pool = &pool;
  table.gemms = &gemms;
  table.workspace = extraWorkspace ? extraWorkspace->base() : at(manifest.arena.workspaceOffset);
}

/// If there are more threads than the program was compiled for, their scratch memory is outside of the arena.
void CpuMachine::prepareScratch() {
  if (pool.count() <= manifest.target.threads) return;
  extraScratch = std::make_unique<Arena>(pool.count() * manifest.arena.scratchBytes, pool);
  table.scratch = extraScratch->base();
}

int64_t CpuMachine::arenaBytes() const {
  int64_t bytes = 0;
  for (const auto *memory : {&arena, &extraWorkspace, &extraScratch})
    if (*memory) bytes += (*memory)->size();
  return bytes;
}

void CpuMachine::call(const EntryFunction &entry, TsrEntry code) {
  code(&table, arena->base());
  if (table.failure) fail("entry function '{}' failed: {}", entry.name, table.failure);
}

void CpuMachine::startProfile(Profile &profile) {
  if (!kernels && !manifest.kernels.empty()) fail("the program's code lacks its table of kernels; compile it again");
  for (size_t i = 0; i < manifest.kernels.size(); ++i) table.kernelNumbers[kernels[i]] = i;
  profile.setThreads(pool.count());
  table.profile = &profile;
}

std::unique_ptr<Machine> makeCpuMachine(const Manifest &manifest, const MachineOptions &options) {
  std::unique_ptr<Machine> machine;
  options.ranks.together("memory and threads", [&] { machine = std::make_unique<CpuMachine>(manifest, options); });
  return machine;
}

} // namespace tessera::runtime
