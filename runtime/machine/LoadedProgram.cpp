//===- LoadedProgram.cpp - a training program, loaded ---------------------===//

#include "runtime/machine/LoadedProgram.h"

#include "runtime/base/CacheFolder.h"
#include "runtime/base/Error.h"
#include "runtime/base/Hash.h"
#include "runtime/machine/AvailableCores.h"
#include "runtime/machine/CpuFeatures.h"
#include "runtime/machine/StepAllocator.h"
#include "runtime/ranks/Communicator.h"

#include <algorithm>
#include <dlfcn.h>
#include <filesystem>
#include <sys/mman.h>
#include <unistd.h>

namespace tessera::runtime {

/// Errors name the program.
static Manifest readManifest(const std::string &text, const std::string &program) {
  try {
    return parseManifest(text);
  } catch (const Error &e) {
    std::error_code error;
    std::filesystem::path path = std::filesystem::canonical(program, error);
    throw Error(fmt::format("{}: {}", error ? "the program" : path.string(), e.what()), e.exitStatus());
  }
}

LoadedProgram::LoadedProgram(Payload payload, std::string file)
    : file(std::move(file)), description(readManifest(payload.manifest, this->file)),
      payloadHash(fmt::format("{:016x}{:016x}", hashXxh64(payload.object.data(), payload.object.size()),
                              hashXxh64(payload.manifest.data(), payload.manifest.size()))),
      object(std::move(payload.object)) {
  std::vector<std::string> missing = missingCpuFeatures(description.target.features);
  if (!missing.empty())
    fail("this machine lacks {}, which the program was compiled for (the processor, or its system does not let "
         "programs use it); compile it here, or with --march=x86-64-v3",
         fmt::join(missing, ", "));
}

LoadedProgram::~LoadedProgram() {
  if (library) dlclose(library);
  if (codeFile >= 0) close(codeFile);
}

int LoadedProgram::threadCount(int wanted) const {
  int cores = availableCores();
  if (wanted > 0) return wanted;
  return description.target.threads > 0 ? std::min(description.target.threads, cores) : cores;
}

void LoadedProgram::start(int threads, bool bind) {
  ranks.together("the program's code", [&] { mapCode(); });
  MachineOptions options{threadCount(threads), bind, memoryAdvice, memoryShare, ranks, place, "", ""};
  std::error_code error;
  if (std::filesystem::path own = std::filesystem::canonical(file, error); !file.empty() && !error)
    options.gemmChoices = own.string() + ".gemms.json";
  if (std::string folder = cacheFolder(); !folder.empty()) options.sharedGemmChoices = folder + "/gemms.json";
  machine = description.isForGpu() ? makeCudaMachine(description, options) : makeCpuMachine(description, options);
  machine->load(library);
  stepallocator::reserve();
}

void LoadedProgram::mapCode() {
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

TsrEntry LoadedProgram::codeOf(const std::string &entry) const {
  auto found = entries.find(entry);
  if (found == entries.end()) fail("this program was compiled without the entry function '{}'", entry);
  return found->second;
}

RankPositions LoadedProgram::positions() const {
  RankPositions positions;
  for (HostCommunicator *group : ranks.along()) positions[group->name()] = group->rank();
  return positions;
}

/// Inputs with the role `rank`: the position of this rank along the mesh axis that their name says.
void LoadedProgram::writePositions(const EntryFunction &entry) {
  for (const ValueSpec &input : entry.inputs) {
    if (input.role == "rank") write<int32_t>(input, ranks.along(input.name).rank());
  }
}

void LoadedProgram::call(const std::string &entry) {
  writePositions(description.entry(entry));
  machine->call(description.entry(entry), codeOf(entry));
}

void LoadedProgram::startCall(const std::string &entry) {
  writePositions(description.entry(entry));
  machine->startCall(description.entry(entry), codeOf(entry));
}

void LoadedProgram::callObserved(const std::string &entry, const CallObserver &observer) {
  CallCursor cursor(description.entry(entry).trace);
  struct Observation { // ends with this call, even if it throws
    Machine &machine;
    ~Observation() { machine.observe(nullptr); }
  } observation{*machine};
  machine->observe([&] {
    const TracedCall *step = cursor.advance();
    if (!step) return;
    std::vector<int64_t> turns = cursor.turns();
    for (const TracedCall::Result &result : step->results)
      machine->pull(result.offsetAt(turns), result.extent() * bytesOf(result.type));
    observer(*step, turns);
  });
  call(entry);
}

std::optional<NonFinite> LoadedProgram::callWatched(const std::string &entry) {
  std::optional<NonFinite> first;
  callObserved(entry, [&](const TracedCall &step, const std::vector<int64_t> &turns) {
    if (!first) first = findNonFinite(step, turns, at(0));
  });
  return first;
}

void LoadedProgram::pullState() {
  for (const StateEntry &entry : description.state) pullState(entry);
}

void LoadedProgram::pushState() {
  for (const StateEntry &entry : description.state) machine->push(entry.offset, entry.bytes);
}

Profile &LoadedProgram::startProfile() {
  profile = std::make_unique<Profile>();
  machine->startProfile(*profile);
  return *profile;
}

double LoadedProgram::readScalar(const ValueSpec &value) const {
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
  case ElementType::BF16:
  case ElementType::F16:
  case ElementType::E4M3:
  case ElementType::E5M2:
  case ElementType::U8:
    break;
  }
  fail("output '{}': expected f32, f64, i32, i64 or i1, got {}", value.name, elementTypeName(value.type));
}

int64_t LoadedProgram::readCounter(const std::string &path, int64_t missing) const {
  const StateEntry *entry = description.stateAt(path);
  if (!entry || entry->kind != "counter") return missing;
  pullState(*entry);
  if (entry->type == ElementType::I32) return *reinterpret_cast<const int32_t *>(at(entry->offset));
  return *reinterpret_cast<const int64_t *>(at(entry->offset));
}

} // namespace tessera::runtime
