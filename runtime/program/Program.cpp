//===- Program.cpp - the compiled part of a training program ------------------===//

#include "runtime/program/Program.h"

#include "runtime/base/AvailableCores.h"
#include "runtime/base/Error.h"
#include "runtime/base/Hash.h"
#include "runtime/base/SmallBlocks.h"
#include "runtime/machine/CpuFeatures.h"

#include <dlfcn.h>
#include <filesystem>
#include <sys/mman.h>
#include <unistd.h>

namespace tessera::runtime {

Program::Program(Payload payload, std::string file)
    : file(std::move(file)), description(parseManifest(payload.manifest)),
      payloadHash(fmt::format("{:016x}{:016x}", hashXxh64(payload.object.data(), payload.object.size()),
                              hashXxh64(payload.manifest.data(), payload.manifest.size()))),
      object(std::move(payload.object)) {
  std::vector<std::string> missing = missingCpuFeatures(description.features);
  if (!missing.empty())
    fail("this machine lacks {}, which the program was compiled for (the processor, or its system does not let "
         "programs use "
         "it); compile it here, or with --march=x86-64-v3",
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
  mapCode();
  MachineOptions options{threadCount(threads), bind, ""};
  std::error_code error;
  if (std::filesystem::path own = std::filesystem::canonical(file, error); !file.empty() && !error)
    options.gemmChoices = own.string() + ".gemms.json";
  machine = description.isForGpu() ? makeCudaMachine(description, options) : makeCpuMachine(description, options);
  machine->load(library);
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

TsrEntry Program::codeOf(const std::string &entry) const {
  auto found = entries.find(entry);
  if (found == entries.end()) fail("this program was compiled without the entry function '{}'", entry);
  return found->second;
}

void Program::call(const std::string &entry) { machine->call(description.entry(entry), codeOf(entry)); }

void Program::startCall(const std::string &entry) { machine->startCall(description.entry(entry), codeOf(entry)); }

void Program::callObserved(const std::string &entry, const TraceObserver &observer) {
  TraceCursor cursor(description.entry(entry).trace);
  struct Observation { // ends with this call, even where it throws
    Machine &machine;
    ~Observation() { machine.observe(nullptr); }
  } observation{*machine};
  machine->observe([&] {
    const TraceStep *step = cursor.advance();
    if (!step) return;
    std::vector<int64_t> turns = cursor.turns();
    for (const TraceStep::Result &result : step->results)
      machine->pull(result.offsetAt(turns), result.count() * bytesOf(result.type));
    observer(*step, turns);
  });
  call(entry);
}

std::optional<NotFinite> Program::callWatched(const std::string &entry) {
  std::optional<NotFinite> first;
  callObserved(entry, [&](const TraceStep &step, const std::vector<int64_t> &turns) {
    if (!first) first = findNotFinite(step, turns, at(0));
  });
  return first;
}

void Program::pullState() {
  for (const StateEntry &entry : description.state) pullState(entry);
}

void Program::pushState() {
  for (const StateEntry &entry : description.state) machine->push(entry.offset, entry.bytes);
}

Profile &Program::startProfile() {
  profile = std::make_unique<Profile>();
  machine->startProfile(*profile);
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
  pullState(*entry);
  if (entry->type == ElementType::I32) return *reinterpret_cast<const int32_t *>(at(entry->offset));
  return *reinterpret_cast<const int64_t *>(at(entry->offset));
}

} // namespace tessera::runtime
