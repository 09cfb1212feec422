//===- CudaMachine.cpp - programs on a GPU --------------------------------===//
//
// The arena is one allocation. The code of an entry function runs once, while its stream captures: its launches,
// copies and contractions become a graph, which every call launches as a whole. If single calls are observed
// (`observe`, `startProfile`, TESSERA_CUDA_EAGER=1), entry functions run without a graph. With
// TESSERA_CUDA_IN_ORDER=1 nothing runs concurrently.
//
// The host sees the arena through a mirror (Mirror.h). Only the pages of inputs, outputs and pulled state are ever
// touched.
//
//===----------------------------------------------------------------------===//

#include "runtime/base/Error.h"
#include "runtime/cuda/Contractions.h"
#include "runtime/cuda/Device.h"
#include "runtime/cuda/DeviceExchanges.h"
#include "runtime/cuda/Images.h"
#include "runtime/cuda/Mirror.h"
#include "runtime/cuda/Recording.h"
#include "runtime/cuda/Transfers.h"
#include "runtime/machine/Machine.h"

#include <algorithm>
#include <cstdlib>
#include <dlfcn.h>
#include <optional>

namespace tessera::runtime {

using namespace cuda;

namespace {

/// The name of a kernel or contraction, with its line in the model file.
std::string withLine(const std::string &what, const std::string &line) {
  return line.empty() ? what : what + ", from " + line;
}

bool isSet(const char *variable) {
  const char *value = getenv(variable);
  return value && std::string(value) != "0";
}

class CudaMachine : public Machine {
public:
  CudaMachine(const Manifest &manifest, const MachineOptions &options);
  ~CudaMachine() override;

  /// Connects the ranks and allocates the arena. A collective of several ranks.
  void begin();
  std::string describe() const override { return device.name(); }
  char *at(int64_t offset) const override { return mirror.at(offset); }
  void push(int64_t offset, int64_t bytes) override;
  void pull(int64_t offset, int64_t bytes) override;
  void load(void *library) override;
  void call(const EntryFunction &entry, TsrEntry code) override;
  bool runsAhead() const override { return !isEager(); }
  void startCall(const EntryFunction &entry, TsrEntry code) override;
  void finishCall() override;
  void observe(std::function<void()> callback) override { afterCall = std::move(callback); }
  void startProfile(Profile &to) override {
    profiling.profile = &to;
    contractions->describe(to);
  }
  int threads() const override { return 1; }
  int64_t arenaBytes() const override { return arena ? manifest.arena.bytes : 0; }

private:
  /// The functions that compiled code calls.
  struct Table : TsrRuntime {
    CudaMachine *machine = nullptr;
    /// Compiled code has no unwind tables: no exception may cross it.
    std::optional<std::string> failure;
  };
  /// A call that is timed by two events on the device.
  struct TimedCall {
    Profile::Kind kind;
    int64_t which;
    Event start, end;
  };
  struct Profiling {
    Profile *profile = nullptr; ///< null: off
    std::vector<TimedCall> calls;
  };
  struct Code {
    std::vector<Module> modules;
    std::vector<Function> functions; ///< by number of the kernel
  };
  struct Connection {
    RankGroups ranks;
    std::optional<DeviceExchanges> exchanges; ///< of a program for several ranks
  };
  struct Graphs {
    std::map<std::string, GraphExec> recorded; ///< by entry function
    Recording *current = nullptr;              ///< null: work runs when it is issued
  };
  /// Of the environment: TESSERA_CUDA_EAGER, TESSERA_CUDA_IN_ORDER.
  struct Switches {
    bool eager = false, inOrder = false;
  };

  void fillTable();
  void loadKernels(void *library);
  void allocateArena();
  DevicePointer workspace() const { return arena + static_cast<DevicePointer>(manifest.arena.workspaceOffset); }
  void pinValues();
  bool isEager() const { return afterCall || profiling.profile || switches.eager; }
  /// Runs or records `work`; a failure is recorded. `accesses` returns the bytes that it reads and writes.
  template <typename Accesses, typename Work>
  void perform(Profile::Kind kind, int64_t which, const std::string &name, Accesses accesses, Work work);
  /// The beginning of the message of an error of a whole call.
  std::string failureOf(const EntryFunction &entry) const;
  /// For calls of `entry`; replaced if they need more memory.
  Transfers &transfersFor(const EntryFunction &entry);
  /// Throws unless all calls are finished.
  void requireQuiet() const;
  /// Calls the observer; a failure is recorded.
  void notifyObserver();
  void launch(uint32_t kernel, void *const *args);
  /// Runs a contraction, and the kernel that completes it if cuBLASLt does not compute all of it.
  void contract(const ContractionCall &call);
  void exchange(uint32_t number, DevicePointer sent, DevicePointer received);
  /// Runs a kernel by its number. `name`: for messages.
  void runKernel(uint32_t number, const std::string &name, void *const *args);
  void runCode(const EntryFunction &entry, TsrEntry code);
  /// The graph of `entry`, recorded at its first call.
  GraphExec graphOf(const EntryFunction &entry, TsrEntry code);
  GraphExec record(const EntryFunction &entry, TsrEntry code);
  void finishProfile();
  void synchronize(const std::string &what) { driver.check(driver.streamSynchronize(stream), what); }
  /// Waits by `wait` for a call, which may exchange something with other ranks.
  void await(const EntryFunction &entry, const std::function<void()> &wait);

  const Driver &driver = Driver::get();
  const Manifest &manifest;
  Connection connection;
  Device device;
  Stream stream = nullptr;
  DevicePointer arena = 0;
  Mirror mirror;
  Code code;
  std::optional<Contractions> contractions;
  Graphs graphs;
  std::function<void()> afterCall;
  Profiling profiling;
  Switches switches;
  std::optional<Transfers> transfers; ///< since the first startCall()
  Table table;
};

//===----------------------------------------------------------------------===//
// Start
//===----------------------------------------------------------------------===//

CudaMachine::CudaMachine(const Manifest &manifest, const MachineOptions &options)
    : manifest(manifest), connection{options.ranks, {}}, device(options.place, options.advice),
      mirror(manifest.arena.bytes) {
  switches = {isSet("TESSERA_CUDA_EAGER"), isSet("TESSERA_CUDA_IN_ORDER")};
  driver.check(driver.streamCreate(&stream, streamNonBlocking), "cannot create a stream");
  pinValues();
  contractions.emplace(manifest, ChoiceRecords{options.gemmChoices, options.sharedGemmChoices}, connection.ranks);
  fillTable();
}

/// NCCL's buffers take memory, so the ranks are connected first.
void CudaMachine::begin() {
  if (!manifest.target.ranks.mesh.empty()) connection.exchanges.emplace(manifest.target.ranks, connection.ranks);
  connection.ranks.together("memory of the GPU", [&] { allocateArena(); });
}

void CudaMachine::fillTable() {
  table.machine = this;
  table.abiVersion = TSR_ABI_VERSION;
  table.threads = 1;
  table.launch = [](TsrRuntime *runtime, uint32_t kernel, void *const *args) {
    static_cast<Table *>(runtime)->machine->launch(kernel, args);
  };
  table.gemm = [](TsrRuntime *runtime, uint32_t gemm, const void *a, const void *b, void *bias, void *aux, void *c) {
    static_cast<Table *>(runtime)->machine->contract(contractionCall(gemm, a, b, bias, aux, c));
  };
  table.copy = [](TsrRuntime *runtime, void *dst, const void *src, int64_t bytes) {
    CudaMachine &machine = *static_cast<Table *>(runtime)->machine;
    auto to = reinterpret_cast<DevicePointer>(dst), from = reinterpret_cast<DevicePointer>(src);
    machine.perform(
        Profile::Kind::Copy, bytes, "a copy",
        [=] { return std::vector<MemoryAccess>{{from, bytes, false}, {to, bytes, true}}; },
        [&] { machine.driver.check(machine.driver.memcpyDtoDAsync(to, from, bytes, machine.stream), "a copy"); });
  };
  table.zero = [](TsrRuntime *runtime, void *dst, int64_t bytes) {
    CudaMachine &machine = *static_cast<Table *>(runtime)->machine;
    auto to = reinterpret_cast<DevicePointer>(dst);
    machine.perform(
        Profile::Kind::Zero, bytes, "zeros", [=] { return std::vector<MemoryAccess>{{to, bytes, true}}; },
        [&] { machine.driver.check(machine.driver.memsetD8Async(to, 0, bytes, machine.stream), "zeros"); });
  };
  table.start = [](TsrRuntime *runtime, uint32_t number, const void *sent, void *received) {
    static_cast<Table *>(runtime)->machine->exchange(number, reinterpret_cast<DevicePointer>(sent),
                                                     reinterpret_cast<DevicePointer>(received));
  };
  table.wait = [](TsrRuntime *, uint32_t) {}; // later work waits for the bytes that it reads
  table.setInt = [](TsrRuntime *runtime, void *dst, int32_t value) {
    CudaMachine &machine = *static_cast<Table *>(runtime)->machine;
    auto to = reinterpret_cast<DevicePointer>(dst);
    machine.perform(
        Profile::Kind::Zero, sizeof value, "a number",
        [=] { return std::vector<MemoryAccess>{{to, static_cast<int64_t>(sizeof value), true}}; },
        [&] {
          machine.driver.check(machine.driver.memsetD32Async(to, static_cast<unsigned>(value), 1, machine.stream),
                               "a number");
        });
  };
}

void CudaMachine::allocateArena() {
  auto bytes = static_cast<size_t>(manifest.arena.bytes);
  device.requireFree(bytes, 0);
  driver.check(driver.memAlloc(&arena, std::max<size_t>(bytes, 1)), fmt::format("cannot allocate {} bytes", bytes));
  driver.check(driver.memsetD8Async(arena, 0, bytes, stream), "cannot clear the arena");
}

/// Pinned pages are copied without a bounce buffer.
void CudaMachine::pinValues() {
  for (const auto &[name, entry] : manifest.entries)
    for (const std::vector<ValueSpec> *values : {&entry.inputs, &entry.outputs})
      for (const ValueSpec &value : *values)
        if (value.role != "result") mirror.add(value.offset, value.bytes);
  mirror.pin();
}

CudaMachine::~CudaMachine() {
  driver.streamSynchronize(stream);
  transfers.reset();
  for (auto &[name, graph] : graphs.recorded) driver.graphExecDestroy(graph);
  contractions.reset();
  connection.exchanges.reset(); // graphs contain them
  for (Module module : code.modules) driver.moduleUnload(module);
  mirror.unpin(); // while there is a context
  if (arena) driver.memFree(arena);
  driver.streamDestroy(stream);
}

//===----------------------------------------------------------------------===//
// Kernels
//===----------------------------------------------------------------------===//

void CudaMachine::load(void *library) {
  connection.ranks.together("kernels", [&] { loadKernels(library); });
  contractions->prepare(listContractionCalls(manifest, library, arena), device.name(), workspace(), stream);
}

void CudaMachine::loadKernels(void *library) {
  std::vector<Function> &functions = code.functions;
  functions.assign(manifest.kernels.size(), nullptr);
  auto *images = static_cast<const TsrImage *>(dlsym(library, TSR_SYMBOL_IMAGES));
  for (auto &[first, choices] : chooseImages(images, functions.size(), device.major(), device.minor())) {
    auto [image, module] =
        loadImage(choices, "cannot load kernel " + manifest.kernels[first].name, manifest.target.toolkit);
    code.modules.push_back(module);
    for (uint32_t i = first; i < first + image->kernels; ++i) {
      const std::string &name = manifest.kernels[i].name;
      driver.check(driver.moduleGetFunction(&functions[i], module, name.c_str()), "cannot find kernel " + name);
      // Else its first launch loads it, while a stream records.
      if (driver.funcLoad) driver.check(driver.funcLoad(functions[i]), "cannot load kernel " + name);
    }
  }
  if (std::find(functions.begin(), functions.end(), nullptr) != functions.end())
    fail("the program has code for {}, and this GPU ({}) is sm_{}{}; compile it with --target=cuda:sm_{}{}",
         fmt::join(manifest.target.architectures, ", "), device.name(), device.major(), device.minor(), device.major(),
         device.minor());
}

template <typename Accesses, typename Work>
void CudaMachine::perform(Profile::Kind kind, int64_t which, const std::string &name, Accesses accesses, Work work) {
  if (table.failure) return;
  try {
    TimedCall timed{kind, which, nullptr, nullptr};
    if (profiling.profile) {
      driver.check(driver.eventCreate(&timed.start, 0), "an event");
      driver.check(driver.eventCreate(&timed.end, 0), "an event");
      driver.check(driver.eventRecord(timed.start, stream), "an event");
    }
    if (graphs.current)
      graphs.current->add(accesses(), work);
    else
      work();
    if (profiling.profile) {
      driver.check(driver.eventRecord(timed.end, stream), "an event");
      profiling.calls.push_back(timed);
    }
    if (isEager() && !profiling.profile) {
      if (kind == Profile::Kind::Exchange)
        connection.exchanges->await(name, [&] { synchronize(name); }, {});
      else
        synchronize(name);
    }
  } catch (const std::exception &error) {
    table.failure = error.what();
  }
}

void CudaMachine::notifyObserver() {
  if (!afterCall || table.failure) return;
  try {
    afterCall();
  } catch (const std::exception &error) {
    table.failure = error.what();
  }
}

void CudaMachine::runKernel(uint32_t number, const std::string &name, void *const *args) {
  const KernelSpec &kernel = manifest.kernels[number];
  auto accesses = [&] {
    std::vector<MemoryAccess> result;
    for (const ArgumentSpec &argument : kernel.arguments)
      result.push_back({reinterpret_cast<DevicePointer>(args[result.size()]), argument.bytes, argument.isWritten});
    return result;
  };
  perform(Profile::Kind::Kernel, number, name, accesses, [&] {
    std::vector<void *> parameters(kernel.arguments.size());
    for (size_t i = 0; i < parameters.size(); ++i) parameters[i] = const_cast<void **>(&args[i]);
    driver.check(driver.launchKernel(code.functions[number], static_cast<unsigned>(kernel.blocks), 1, 1,
                                     static_cast<unsigned>(kernel.threads), 1, 1, 0, stream, parameters.data(),
                                     nullptr),
                 "cannot launch " + name);
  });
}

void CudaMachine::launch(uint32_t number, void *const *args) {
  const KernelSpec &kernel = manifest.kernels[number];
  runKernel(number, withLine("kernel " + kernel.name, kernel.line), args);
  if (!kernel.isPart) notifyObserver();
}

void CudaMachine::contract(const ContractionCall &call) {
  const GemmSpec &description = manifest.gemms[call.gemm];
  const CublasGemm &gemm = contractions->gemm(call.gemm);
  GemmAddresses operands = contractions->operandsOf(call);
  std::string name = withLine("contraction '" + description.name + "'", description.line);
  perform(
      Profile::Kind::Contraction, call.gemm, name, [&] { return gemm.accesses(operands, workspace()); },
      [&] { gemm.run(operands, workspace(), stream); });
  if (std::optional<uint32_t> kernel = contractions->kernelOf(call.gemm))
    runKernel(*kernel, "kernel " + manifest.kernels[*kernel].name + ", which completes " + name,
              contractions->kernelArguments(call).data());
  if (!description.partCalls) notifyObserver();
}

void CudaMachine::exchange(uint32_t number, DevicePointer sent, DevicePointer received) {
  const ExchangeSpec &spec = manifest.target.ranks.exchanges.at(number);
  perform(
      Profile::Kind::Exchange, number, withLine("exchange of '" + spec.name + "'", spec.line),
      [&] { return connection.exchanges->accesses(number, sent, received); },
      [&] {
        int64_t bytes = connection.exchanges->run(number, sent, received, stream);
        if (profiling.profile) profiling.profile->addSent(number, bytes);
      });
}

/// Far longer than a call takes, exchanges aside: a device may be slower than its data sheet says, or unknown.
static std::chrono::milliseconds longestCall(const PredictedTimes &predicted, const std::string &entry) {
  constexpr double unknown = 600, factor = 20; // seconds
  const PredictedEntry *own = predicted.isAssumed() ? nullptr : predicted.entry(entry);
  return std::chrono::milliseconds(static_cast<int64_t>(1000 * (own ? factor * own->most : unknown)));
}

void CudaMachine::await(const EntryFunction &entry, const std::function<void()> &wait) {
  if (!connection.exchanges) return wait();
  connection.exchanges->await(fmt::format("a call of '{}'", entry.name), wait,
                              longestCall(manifest.predicted, entry.name));
}

//===----------------------------------------------------------------------===//
// Entry functions
//===----------------------------------------------------------------------===//

void CudaMachine::runCode(const EntryFunction &entry, TsrEntry code) {
  table.failure.reset();
  code(&table, reinterpret_cast<char *>(arena));
  if (table.failure) fail("entry function '{}' failed ({}): {}", entry.name, device.name(), *table.failure);
}

GraphExec CudaMachine::graphOf(const EntryFunction &entry, TsrEntry code) {
  GraphExec &executable = graphs.recorded[entry.name];
  if (executable) return executable;
  try {
    return executable = record(entry, code);
  } catch (const std::exception &error) {
    if (switches.inOrder) throw;
    switches.inOrder = true;
    executable = record(entry, code); // throws if the order is not the cause
    warn("note: this driver captures no graph with concurrent work ({}); all work runs in order", error.what());
    return executable;
  }
}

GraphExec CudaMachine::record(const EntryFunction &entry, TsrEntry code) {
  Recording graph(stream, entry.name, switches.inOrder);
  struct Current { // ends with this call, even if it throws
    Recording *&recording;
    ~Current() { recording = nullptr; }
  } current{graphs.current = &graph};
  runCode(entry, code);
  return graph.finish();
}

std::string CudaMachine::failureOf(const EntryFunction &entry) const {
  return fmt::format("entry function '{}' failed ({}){}", entry.name, device.name(),
                     isEager() ? "" : "; run again with TESSERA_CUDA_EAGER=1 to learn in which kernel");
}

void CudaMachine::requireQuiet() const {
  if (transfers && transfers->inFlight() > 0) fail("a call is still in flight; finish it first");
}

Transfers &CudaMachine::transfersFor(const EntryFunction &entry) {
  int64_t bytes = Transfers::bytesFor(entry);
  if (transfers && transfers->capacity() >= bytes) return *transfers;
  requireQuiet();
  transfers.reset();
  device.requireFree(static_cast<size_t>(bytes), manifest.arena.bytes);
  return transfers.emplace(bytes, arena, mirror, stream);
}

void CudaMachine::startCall(const EntryFunction &entry, TsrEntry code) {
  if (isEager()) return call(entry, code);
  Transfers &current = transfersFor(entry);
  if (current.inFlight() == maxCallsInFlight) fail("{} calls are in flight; finish one first", maxCallsInFlight);
  GraphExec graph = graphOf(entry, code);
  try {
    current.sendInputs(entry);
    driver.check(driver.graphLaunch(graph, stream), "cannot run entry function " + entry.name);
    current.fetchOutputs(entry);
  } catch (const std::exception &error) {
    if (current.inFlight() == 0) throw;
    fail("{}: {}", failureOf(entry), error.what()); // the previous call is more likely the cause
  }
}

void CudaMachine::finishCall() {
  if (!transfers || transfers->inFlight() == 0) return;
  await(transfers->oldest(),
        [&] { transfers->waitForOutputs([&](const EntryFunction &entry) { return failureOf(entry); }); });
}

void CudaMachine::call(const EntryFunction &entry, TsrEntry code) {
  requireQuiet();
  GraphExec graph = isEager() ? nullptr : graphOf(entry, code);
  for (const ValueSpec &input : entry.inputs)
    mirror.copyToDevice(arena + input.offset, input.offset, input.bytes, stream, "cannot copy input " + input.name);
  if (graph)
    driver.check(driver.graphLaunch(graph, stream), "cannot run entry function " + entry.name);
  else
    runCode(entry, code);
  for (const ValueSpec &output : entry.outputs)
    mirror.copyToHost(output.offset, arena + output.offset, output.bytes, stream, "cannot copy output " + output.name);
  await(entry, [&] { synchronize(failureOf(entry)); });
  finishProfile();
}

void CudaMachine::finishProfile() {
  for (const TimedCall &call : profiling.calls) {
    float milliseconds = 0;
    driver.check(driver.eventElapsedTime(&milliseconds, call.start, call.end), "an event");
    auto time = std::chrono::duration<double, std::milli>(milliseconds);
    profiling.profile->add(call.kind, call.which, std::chrono::duration_cast<Profile::Clock::duration>(time));
    driver.eventDestroy(call.start);
    driver.eventDestroy(call.end);
  }
  profiling.calls.clear();
}

void CudaMachine::push(int64_t offset, int64_t bytes) {
  requireQuiet();
  mirror.copyToDevice(arena + offset, offset, bytes, stream, "cannot copy to the GPU");
  synchronize("cannot copy to the GPU");
}

void CudaMachine::pull(int64_t offset, int64_t bytes) {
  requireQuiet();
  mirror.copyToHost(offset, arena + offset, bytes, stream, "cannot copy from the GPU");
  synchronize("cannot copy from the GPU");
}

} // namespace

std::unique_ptr<Machine> makeCudaMachine(const Manifest &manifest, const MachineOptions &options) {
  std::unique_ptr<CudaMachine> machine;
  options.ranks.together("the GPU", [&] { machine = std::make_unique<CudaMachine>(manifest, options); });
  machine->begin();
  return machine;
}

} // namespace tessera::runtime
