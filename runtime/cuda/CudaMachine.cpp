//===- CudaMachine.cpp - programs on a GPU ------------------------------------===//
//
// The arena is one allocation. An entry function is called once, while its stream records: what it launches, copies and multiplies
// becomes a graph, which every call then launches as a whole. Where somebody looks at single calls (`observe`, `startProfile`,
// TESSERA_CUDA_EAGER=1), entry functions run without a graph. With TESSERA_CUDA_IN_ORDER=1 nothing runs side by side.
//
// The host sees the arena through a mirror: address space of the arena's size, of which only the pages of inputs, outputs and state
// that is pulled are ever touched. Pages of inputs and outputs are pinned.
//
//===----------------------------------------------------------------------===//

#include "runtime/base/Error.h"
#include "runtime/cuda/Driver.h"
#include "runtime/cuda/GemmSearch.h"
#include "runtime/cuda/Recording.h"
#include "runtime/cuda/Transfers.h"
#include "runtime/machine/Machine.h"

#include <algorithm>
#include <cstdlib>
#include <dlfcn.h>
#include <optional>
#include <sys/mman.h>

namespace tessera::runtime {

using namespace cuda;

namespace {

/// Something that a program runs, with the expression of the model that it comes from.
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

  std::string describe() const override { return deviceName; }
  char *at(int64_t offset) const override { return mirror + offset; }
  void push(int64_t offset, int64_t bytes) override;
  void pull(int64_t offset, int64_t bytes) override;
  void load(void *library) override;
  void call(const EntryFunction &entry, TsrEntry code) override;
  bool runsAhead() const override { return !isEager(); }
  void startCall(const EntryFunction &entry, TsrEntry code) override;
  void finishCall() override;
  void observe(std::function<void()> callback) override { afterCall = std::move(callback); }
  void startProfile(Profile &to) override { profile = &to; }
  int threads() const override { return 1; }

private:
  /// What entry functions see.
  struct Table : TsrRuntime {
    CudaMachine *machine = nullptr;
    /// Compiled code has no unwind tables: nothing may be thrown through it.
    std::optional<std::string> failure;
  };
  /// A timed call of an entry function, until the device has come so far.
  struct Timed {
    Profile::Kind kind;
    int64_t which;
    Event start, end;
  };

  void openDevice();
  void takeArena();
  /// Refuses a program for which the device has too little memory.
  void requireFree(size_t needed) const;
  /// Has the fastest algorithm found for each contraction that entry functions ask for.
  void chooseAlgorithms(void *library);
  DevicePointer workspace() const { return arena + static_cast<DevicePointer>(manifest.workspaceOffset); }
  void takeMirror();
  void pinValues();
  bool isEager() const { return afterCall || profile || alwaysEager; }
  /// Does what an entry function asks for, and notes a failure. `accesses` tells what it touches.
  template <typename Accesses, typename Work>
  void perform(Profile::Kind kind, int64_t which, const std::string &name, Accesses accesses, Work work);
  /// Begins the message of an error of a whole call.
  std::string failureOf(const EntryFunction &entry) const;
  /// For calls of `entry`, made anew where they need more room.
  Transfers &transfersFor(const EntryFunction &entry);
  /// The outputs of all calls must have been waited for.
  void requireQuiet() const;
  /// Tells whoever looks that a call is over; a failure is noted.
  void tellObserver();
  void launch(uint32_t kernel, void *const *args);
  void runCode(const EntryFunction &entry, TsrEntry code);
  /// Its graph, recorded at its first call.
  GraphExec graphOf(const EntryFunction &entry, TsrEntry code);
  GraphExec record(const EntryFunction &entry, TsrEntry code);
  void finishProfile();
  void synchronize(const std::string &what) { driver.check(driver.streamSynchronize(stream), what); }

  const Driver &driver = Driver::get();
  const Manifest &manifest;
  DeviceNumber device = 0;
  int major = 0, minor = 0;
  std::string deviceName;
  Stream stream = nullptr;
  DevicePointer arena = 0;
  char *mirror = nullptr;
  std::vector<void *> pinned;
  std::vector<Module> modules;
  std::vector<Function> functions; ///< by number of the kernel
  std::vector<Product> products;
  std::map<std::string, GraphExec> graphs;
  std::function<void()> afterCall;
  Profile *profile = nullptr;
  std::vector<Timed> timed;
  bool alwaysEager = false, inOrder = false;
  Recording *recording = nullptr;     ///< null: what is asked for runs now
  std::optional<Transfers> transfers; ///< from the first call on that is started ahead
  std::string gemmChoices;            ///< the file of algorithms; empty: none
  Table table;
};

//===----------------------------------------------------------------------===//
// Start
//===----------------------------------------------------------------------===//

CudaMachine::CudaMachine(const Manifest &manifest, const MachineOptions &options)
    : manifest(manifest), gemmChoices(options.gemmChoices) {
  alwaysEager = isSet("TESSERA_CUDA_EAGER"), inOrder = isSet("TESSERA_CUDA_IN_ORDER");
  openDevice();
  takeArena();
  takeMirror();
  pinValues();
  for (const GemmDescription &gemm : manifest.gemms) products.emplace_back(gemm, manifest.workspaceBytes);

  table.machine = this;
  table.abiVersion = TSR_ABI_VERSION;
  table.threads = 1;
  table.launch = [](TsrRuntime *runtime, uint32_t kernel, void *const *args) {
    static_cast<Table *>(runtime)->machine->launch(kernel, args);
  };
  table.gemm = [](TsrRuntime *runtime, uint32_t gemm, const void *a, const void *b, void *bias, void *aux, void *c) {
    CudaMachine &machine = *static_cast<Table *>(runtime)->machine;
    auto pointer = [](const void *address) { return reinterpret_cast<DevicePointer>(address); };
    const GemmDescription &description = machine.manifest.gemms[gemm];
    const Product &product = machine.products[gemm];
    ProductOperands operands{pointer(a), pointer(b), pointer(bias), pointer(c), pointer(aux)};
    machine.perform(
        Profile::Kind::Contraction, gemm, withLine("contraction '" + description.name + "'", description.line),
        [&] { return product.accesses(operands, machine.workspace()); },
        [&] { product.run(operands, machine.workspace(), machine.stream); });
    machine.tellObserver();
  };
  table.copy = [](TsrRuntime *runtime, void *dst, const void *src, int64_t bytes) {
    CudaMachine &machine = *static_cast<Table *>(runtime)->machine;
    auto to = reinterpret_cast<DevicePointer>(dst), from = reinterpret_cast<DevicePointer>(src);
    machine.perform(
        Profile::Kind::Copy, bytes, "a copy",
        [=] { return std::vector<Access>{{from, bytes, false}, {to, bytes, true}}; },
        [&] { machine.driver.check(machine.driver.memcpyDtoDAsync(to, from, bytes, machine.stream), "a copy"); });
  };
  table.zero = [](TsrRuntime *runtime, void *dst, int64_t bytes) {
    CudaMachine &machine = *static_cast<Table *>(runtime)->machine;
    auto to = reinterpret_cast<DevicePointer>(dst);
    machine.perform(
        Profile::Kind::Zero, bytes, "zeros", [=] { return std::vector<Access>{{to, bytes, true}}; },
        [&] { machine.driver.check(machine.driver.memsetD8Async(to, 0, bytes, machine.stream), "zeros"); });
  };
  table.setInt = [](TsrRuntime *runtime, void *dst, int32_t value) {
    CudaMachine &machine = *static_cast<Table *>(runtime)->machine;
    auto to = reinterpret_cast<DevicePointer>(dst);
    machine.perform(
        Profile::Kind::Zero, sizeof value, "a number",
        [=] { return std::vector<Access>{{to, static_cast<int64_t>(sizeof value), true}}; },
        [&] {
          machine.driver.check(machine.driver.memsetD32Async(to, static_cast<unsigned>(value), 1, machine.stream),
                               "a number");
        });
  };
}

void CudaMachine::openDevice() {
  int status = driver.init(0), count = 0;
  if (status == 0) status = driver.deviceGetCount(&count);
  if (status == errorNoDevice || (status == 0 && count == 0))
    fail("this program runs on an NVIDIA GPU, and there is none here; for the processor compile it with --target=cpu");
  driver.check(status, "cannot start CUDA");
  driver.check(driver.deviceGet(&device, 0), "cannot open the GPU");
  char name[256] = "";
  driver.check(driver.deviceGetName(name, sizeof name, device), "the GPU's name");
  deviceName = name;
  driver.check(driver.deviceGetAttribute(&major, attributeMajor, device), "the GPU's architecture");
  driver.check(driver.deviceGetAttribute(&minor, attributeMinor, device), "the GPU's architecture");
  Context context = nullptr;
  driver.check(driver.devicePrimaryCtxRetain(&context, device), "cannot use " + deviceName);
  driver.check(driver.ctxSetCurrent(context), "cannot use " + deviceName);
  driver.check(driver.streamCreate(&stream, streamNonBlocking), "cannot make a stream");
}

void CudaMachine::requireFree(size_t needed) const {
  size_t free = 0, total = 0;
  driver.check(driver.memGetInfo(&free, &total), "the GPU's memory");
  if (needed > free)
    fail("the program needs {} bytes of {}'s memory, of which {} of {} are free; compile it with a smaller batch, or "
         "end what uses the GPU",
         needed, deviceName, free, total);
}

void CudaMachine::takeArena() {
  auto bytes = static_cast<size_t>(manifest.arenaBytes);
  requireFree(bytes);
  driver.check(driver.memAlloc(&arena, std::max<size_t>(bytes, 1)), fmt::format("cannot take {} bytes", bytes));
  driver.check(driver.memsetD8Async(arena, 0, bytes, stream), "cannot clear the arena");
}

void CudaMachine::takeMirror() {
  void *memory = mmap(nullptr, std::max<int64_t>(manifest.arenaBytes, 1), PROT_READ | PROT_WRITE,
                      MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (memory == MAP_FAILED) fail("cannot take {} bytes of address space", manifest.arenaBytes);
  mirror = static_cast<char *>(memory);
}

/// Pinned pages are copied without a detour. Where the machine pins no more, the detour it is.
void CudaMachine::pinValues() {
  constexpr int64_t page = 4096;
  std::map<int64_t, int64_t> ranges; // page by page
  for (const auto &[name, entry] : manifest.entries)
    for (const std::vector<runtime::Value> *values : {&entry.inputs, &entry.outputs})
      for (const runtime::Value &value : *values)
        if (value.role != "result")
          for (int64_t at = value.offset / page * page; at < value.offset + value.bytes; at += page) ranges[at] = page;
  for (auto it = ranges.begin(); it != ranges.end();) {
    int64_t start = it->first, end = start;
    while (it != ranges.end() && it->first == end) end += page, ++it;
    if (driver.memHostRegister(mirror + start, end - start, 0) == 0) pinned.push_back(mirror + start);
  }
}

CudaMachine::~CudaMachine() {
  driver.streamSynchronize(stream);
  transfers.reset();
  for (auto &[name, graph] : graphs) driver.graphExecDestroy(graph);
  products.clear();
  for (Module module : modules) driver.moduleUnload(module);
  for (void *memory : pinned) driver.memHostUnregister(memory);
  if (mirror) munmap(mirror, std::max<int64_t>(manifest.arenaBytes, 1));
  if (arena) driver.memFree(arena);
  driver.streamDestroy(stream);
  driver.devicePrimaryCtxRelease(device);
}

//===----------------------------------------------------------------------===//
// Kernels
//===----------------------------------------------------------------------===//

/// How well an image fits a GPU of `major`.`minor`: machine code for it, code of an earlier one of its generation, PTX of an earlier
/// one; 0: not at all.
int fitOf(const std::string &architecture, int major, int minor) {
  size_t digits = architecture.find_first_of("0123456789");
  if (digits == std::string::npos) return 0;
  int number = atoi(architecture.c_str() + digits), own = 10 * major + minor;
  bool isPtx = architecture.rfind("compute_", 0) == 0,
       isSpecific = architecture.find_last_of("af") != std::string::npos && isalpha(architecture.back());
  if (isPtx) return number == own || (number < own && !isSpecific) ? 1 : 0;
  if (number == own) return 4;
  return number / 10 == major && number < own && !isSpecific ? 2 : 0;
}

void CudaMachine::load(void *library) {
  functions.assign(manifest.kernels.size(), nullptr);
  std::map<uint32_t, const TsrImage *> best; // by first kernel
  auto *images = static_cast<const TsrImage *>(dlsym(library, TSR_SYMBOL_IMAGES));
  for (const TsrImage *image = images; image && image->architecture; ++image) {
    if (image->kernels > functions.size() || image->firstKernel > functions.size() - image->kernels)
      fail("the program's code has more kernels than its manifest; compile it again");
    const TsrImage *&chosen = best[image->firstKernel];
    int fit = fitOf(image->architecture, major, minor);
    if (fit > 0 && (!chosen || fit > fitOf(chosen->architecture, major, minor))) chosen = image;
  }
  for (auto &[first, image] : best) {
    if (!image) continue;
    Module module = nullptr;
    driver.check(driver.moduleLoadData(&module, image->code), "cannot load kernel " + manifest.kernels[first].name);
    modules.push_back(module);
    for (uint32_t i = first; i < first + image->kernels; ++i)
      driver.check(driver.moduleGetFunction(&functions[i], module, manifest.kernels[i].name.c_str()),
                   "cannot find kernel " + manifest.kernels[i].name);
  }
  if (std::find(functions.begin(), functions.end(), nullptr) != functions.end())
    fail("the program has code for {}, and this GPU ({}) is sm_{}{}; compile it with --target=cuda:sm_{}{}",
         fmt::join(manifest.architectures, ", "), deviceName, major, minor, major, minor);
  chooseAlgorithms(library);
}

void CudaMachine::chooseAlgorithms(void *library) {
  // Entry functions are asked what they would multiply; nothing else of them runs.
  struct Listing : TsrRuntime {
    const std::vector<Product> *products;
    ProductUses uses;
  } listing{};
  listing.abiVersion = TSR_ABI_VERSION;
  listing.threads = 1;
  listing.products = &products;
  listing.launch = [](TsrRuntime *, uint32_t, void *const *) {};
  listing.copy = [](TsrRuntime *, void *, const void *, int64_t) {};
  listing.zero = [](TsrRuntime *, void *, int64_t) {};
  listing.setInt = [](TsrRuntime *, void *, int32_t) {};
  listing.gemm = [](TsrRuntime *runtime, uint32_t gemm, const void *a, const void *b, void *bias, void *aux, void *c) {
    auto &self = *static_cast<Listing *>(runtime);
    auto pointer = [](const void *address) { return reinterpret_cast<DevicePointer>(address); };
    self.uses.emplace(
        gemm, (*self.products)[gemm].alignmentOf({pointer(a), pointer(b), pointer(bias), pointer(c), pointer(aux)}));
  };
  for (const auto &[name, entry] : manifest.entries)
    if (auto code = reinterpret_cast<TsrEntry>(dlsym(library, (TSR_SYMBOL_ENTRY_PREFIX + name).c_str())))
      code(&listing, reinterpret_cast<char *>(arena));
  if (gemmChoices.empty() || listing.uses.empty()) return;
  GemmSearch(gemmChoices, deviceName).chooseFor(products, listing.uses, workspace(), stream);
}

template <typename Accesses, typename Work>
void CudaMachine::perform(Profile::Kind kind, int64_t which, const std::string &name, Accesses accesses, Work work) {
  if (table.failure) return;
  try {
    Timed now{kind, which, nullptr, nullptr};
    if (profile) {
      driver.check(driver.eventCreate(&now.start, 0), "an event");
      driver.check(driver.eventCreate(&now.end, 0), "an event");
      driver.check(driver.eventRecord(now.start, stream), "an event");
    }
    if (recording)
      recording->add(accesses(), work);
    else
      work();
    if (profile) {
      driver.check(driver.eventRecord(now.end, stream), "an event");
      timed.push_back(now);
    }
    if (isEager() && !profile) synchronize(name);
  } catch (const std::exception &error) {
    table.failure = error.what();
  }
}

void CudaMachine::tellObserver() {
  if (!afterCall || table.failure) return;
  try {
    afterCall();
  } catch (const std::exception &error) {
    table.failure = error.what();
  }
}

void CudaMachine::launch(uint32_t number, void *const *args) {
  const KernelSpec &kernel = manifest.kernels[number];
  auto accesses = [&] {
    std::vector<Access> result;
    for (const KernelArgument &argument : kernel.arguments)
      result.push_back({reinterpret_cast<DevicePointer>(args[result.size()]), argument.bytes, argument.isWritten});
    return result;
  };
  perform(Profile::Kind::Kernel, number, withLine("kernel " + kernel.name, kernel.line), accesses, [&] {
    std::vector<void *> parameters(kernel.arguments.size());
    for (size_t i = 0; i < parameters.size(); ++i) parameters[i] = const_cast<void **>(&args[i]);
    driver.check(driver.launchKernel(functions[number], static_cast<unsigned>(kernel.blocks), 1, 1,
                                     static_cast<unsigned>(kernel.threads), 1, 1, 0, stream, parameters.data(),
                                     nullptr),
                 withLine("cannot launch kernel " + kernel.name, kernel.line));
  });
  if (!kernel.isPart) tellObserver();
}

//===----------------------------------------------------------------------===//
// Entry functions
//===----------------------------------------------------------------------===//

void CudaMachine::runCode(const EntryFunction &entry, TsrEntry code) {
  table.failure.reset();
  code(&table, reinterpret_cast<char *>(arena));
  if (table.failure) fail("entry function '{}' failed on rank 0 ({}): {}", entry.name, deviceName, *table.failure);
}

GraphExec CudaMachine::graphOf(const EntryFunction &entry, TsrEntry code) {
  GraphExec &executable = graphs[entry.name];
  if (executable) return executable;
  try {
    return executable = record(entry, code);
  } catch (const std::exception &error) {
    if (inOrder) throw;
    inOrder = true;
    executable = record(entry, code); // what fails again is no matter of the order
    warn("note: this driver records no graph whose work may run side by side ({}); one piece runs behind the other",
         error.what());
    return executable;
  }
}

GraphExec CudaMachine::record(const EntryFunction &entry, TsrEntry code) {
  Recording graph(stream, entry.name, inOrder);
  struct Current { // ends with this call, even where it throws
    Recording *&recording;
    ~Current() { recording = nullptr; }
  } current{recording = &graph};
  runCode(entry, code);
  return graph.finish();
}

std::string CudaMachine::failureOf(const EntryFunction &entry) const {
  return fmt::format("entry function '{}' failed on rank 0 ({}){}", entry.name, deviceName,
                     isEager() ? "" : "; run again with TESSERA_CUDA_EAGER=1 to learn in which kernel");
}

void CudaMachine::requireQuiet() const {
  if (transfers && transfers->underWay() > 0) fail("a call is still under way; finish it first");
}

Transfers &CudaMachine::transfersFor(const EntryFunction &entry) {
  int64_t bytes = Transfers::bytesFor(entry);
  if (transfers && transfers->capacity() >= bytes) return *transfers;
  requireQuiet();
  transfers.reset();
  requireFree(static_cast<size_t>(bytes));
  return transfers.emplace(bytes, arena, mirror, stream);
}

void CudaMachine::startCall(const EntryFunction &entry, TsrEntry code) {
  if (isEager()) return call(entry, code);
  Transfers &ways = transfersFor(entry);
  if (ways.underWay() == callsAhead) fail("{} calls are under way; finish one first", callsAhead);
  GraphExec graph = graphOf(entry, code);
  try {
    ways.sendInputs(entry);
    driver.check(driver.graphLaunch(graph, stream), "cannot run entry function " + entry.name);
    ways.fetchOutputs(entry);
  } catch (const std::exception &error) {
    if (ways.underWay() == 0) throw;
    fail("{}: {}", failureOf(entry), error.what()); // the call before is more likely what failed
  }
}

void CudaMachine::finishCall() {
  if (transfers && transfers->underWay() > 0)
    transfers->waitForOutputs([&](const EntryFunction &entry) { return failureOf(entry); });
}

void CudaMachine::call(const EntryFunction &entry, TsrEntry code) {
  requireQuiet();
  GraphExec graph = isEager() ? nullptr : graphOf(entry, code);
  for (const runtime::Value &input : entry.inputs)
    driver.check(driver.memcpyHtoDAsync(arena + input.offset, mirror + input.offset, input.bytes, stream),
                 "cannot copy input " + input.name);
  if (graph)
    driver.check(driver.graphLaunch(graph, stream), "cannot run entry function " + entry.name);
  else
    runCode(entry, code);
  for (const runtime::Value &output : entry.outputs)
    driver.check(driver.memcpyDtoHAsync(mirror + output.offset, arena + output.offset, output.bytes, stream),
                 "cannot copy output " + output.name);
  synchronize(failureOf(entry));
  finishProfile();
}

void CudaMachine::finishProfile() {
  for (const Timed &call : timed) {
    float milliseconds = 0;
    driver.check(driver.eventElapsedTime(&milliseconds, call.start, call.end), "an event");
    auto time = std::chrono::duration<double, std::milli>(milliseconds);
    profile->add(call.kind, call.which, std::chrono::duration_cast<Profile::Clock::duration>(time));
    driver.eventDestroy(call.start);
    driver.eventDestroy(call.end);
  }
  timed.clear();
}

void CudaMachine::push(int64_t offset, int64_t bytes) {
  requireQuiet();
  driver.check(driver.memcpyHtoDAsync(arena + offset, mirror + offset, bytes, stream), "cannot copy to the GPU");
  synchronize("cannot copy to the GPU");
}

void CudaMachine::pull(int64_t offset, int64_t bytes) {
  requireQuiet();
  driver.check(driver.memcpyDtoHAsync(mirror + offset, arena + offset, bytes, stream), "cannot copy from the GPU");
  synchronize("cannot copy from the GPU");
}

} // namespace

std::unique_ptr<Machine> makeCudaMachine(const Manifest &manifest, const MachineOptions &options) {
  return std::make_unique<CudaMachine>(manifest, options);
}

} // namespace tessera::runtime
