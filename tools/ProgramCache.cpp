//===- ProgramCache.cpp - programs compiled before ------------------------===//
//
// A value is the manifest's size in digits and a newline, the manifest, and the shared object. The launcher is no part
// of it: it is copied when the program is written.
//
//===----------------------------------------------------------------------===//

#include "tools/ProgramCache.h"
#include "codegen/cpu/object/CpuTarget.h"
#include "codegen/cuda/nvrtc/Nvrtc.h"
#include "runtime/base/CacheFolder.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/MathExtras.h"
#include "llvm/Support/raw_ostream.h"
#include <link.h>
#include <unistd.h>

using namespace llvm;
using namespace tessera;

/// Some thousands of programs.
static constexpr uint64_t maxCacheBytes = uint64_t(1) << 30;

/// The note that the linker left to tell one build from another; empty if it left none.
static StringRef buildId(const dl_phdr_info &object) {
  for (const ElfW(Phdr) &segment : ArrayRef(object.dlpi_phdr, object.dlpi_phnum)) {
    if (segment.p_type != PT_NOTE) continue;
    const char *at = reinterpret_cast<const char *>(object.dlpi_addr + segment.p_vaddr);
    const char *end = at + segment.p_memsz;
    while (at + sizeof(ElfW(Nhdr)) <= end) {
      auto *note = reinterpret_cast<const ElfW(Nhdr) *>(at);
      const char *name = at + sizeof(*note), *value = name + alignTo(note->n_namesz, 4);
      if (note->n_type == NT_GNU_BUILD_ID && StringRef(name, note->n_namesz) == StringRef("GNU\0", 4))
        return StringRef(value, note->n_descsz);
      at = value + alignTo(note->n_descsz, 4);
    }
  }
  return {};
}

/// Adds to a text what tells the builds of an executable or library apart.
static int describeObject(dl_phdr_info *object, size_t, void *text) {
  raw_string_ostream out(*static_cast<std::string *>(text));
  StringRef id = buildId(*object);
  sys::fs::file_status status;
  if (!id.empty())
    out << toHex(id);
  else if (StringRef name = object->dlpi_name; !sys::fs::status(name.empty() ? "/proc/self/exe" : name, status))
    out << name << " " << status.getSize() << " " << status.getLastModificationTime().time_since_epoch().count();
  out << "\n";
  return 0;
}

/// Everything but the module that decides a program, as a text. The library for contractions looks at this machine's
/// processor and at the environment when it is asked for the workspace.
static std::string describeSurroundings(const CodegenOptions &options) {
  std::string text = "tessera " TESSERA_VERSION "\n";
  dl_iterate_phdr(describeObject, &text);
  raw_string_ostream out(text);
  for (StringRef processor : {StringRef(options.march), StringRef("native")})
    if (FailureOr<CpuTarget> target = CpuTarget::get(processor, nulls()); succeeded(target))
      out << target->triple << " " << target->cpu << " " << target->features << "\n";
  for (char **variable = environ; *variable; ++variable)
    if (StringRef(*variable).starts_with("ONEDNN_") || StringRef(*variable).starts_with("DNNL_"))
      out << *variable << "\n";
  out << options.threads << " threads\n";
  std::string problem;
  if (const cuda::Nvrtc *nvrtc = options.cuda ? cuda::Nvrtc::get(problem) : nullptr)
    out << "nvrtc " << nvrtc->getIdentity() << " " << join(options.cuda->architectures, " ") << "\n";
  return text;
}

ProgramCache::ProgramCache(StringRef module, const CodegenOptions &options)
    : cache(runtime::cacheFolder(), maxCacheBytes),
      key(ContentCache::keyFor(describeSurroundings(options) + module.str())) {}

std::optional<CompiledProgram> ProgramCache::find() const {
  std::optional<std::string> value = cache.getFolder().empty() ? std::nullopt : cache.read(key);
  if (!value) return std::nullopt;
  auto [digits, rest] = StringRef(*value).split('\n');
  size_t manifestSize;
  if (digits.getAsInteger(10, manifestSize) || manifestSize > rest.size()) return std::nullopt;
  return CompiledProgram{rest.drop_front(manifestSize).str(), rest.take_front(manifestSize).str(), {}};
}

std::string ProgramCache::store(const CompiledProgram &program) const {
  if (cache.getFolder().empty()) return "there is no home folder for the cache";
  std::string value = std::to_string(program.manifest.size()) + "\n" + program.manifest + program.object;
  std::error_code error = cache.write(key, value);
  return error ? "cannot write to the cache " + cache.getFolder() + ": " + error.message() : "";
}
