//===- Nvrtc.cpp - CUDA C++ to machine code ---------------------------------===//

#include "codegen/cuda/nvrtc/Nvrtc.h"
#include "codegen/cuda/device/DeviceHeaders.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/Regex.h"
#include <dlfcn.h>
#include <vector>

using namespace llvm;
using namespace tessera;
using namespace tessera::cuda;

/// The functions of NVRTC that are used. They are the same in all versions since 11.2.
struct Nvrtc::Functions {
  using Program = void *;
  int (*version)(int *major, int *minor);
  int (*countArchitectures)(int *count);
  int (*listArchitectures)(int *numbers);
  int (*createProgram)(Program *, const char *source, const char *name, int headers, const char *const *texts,
                       const char *const *names);
  int (*destroyProgram)(Program *);
  int (*compileProgram)(Program, int options, const char *const *list);
  int (*getCubinSize)(Program, size_t *);
  int (*getCubin)(Program, char *);
  int (*getPtxSize)(Program, size_t *);
  int (*getPtx)(Program, char *);
  int (*getLogSize)(Program, size_t *);
  int (*getLog)(Program, char *);
};

Nvrtc::Nvrtc(std::unique_ptr<Functions> functions) : functions(std::move(functions)) {}
Nvrtc::~Nvrtc() = default;

/// Opens the library: in $CUDA_HOME if that is set, else on the path of the loader or in the usual folder of the CUDA
/// Toolkit.
static void *openLibrary() {
  std::vector<std::string> candidates;
  for (const char *version : {"13", "12"}) {
    std::string file = std::string("libnvrtc.so.") + version;
    if (const char *home = std::getenv("CUDA_HOME")) {
      candidates.push_back(std::string(home) + "/lib64/" + file);
      continue;
    }
    candidates.push_back(file);
    candidates.push_back("/usr/local/cuda/lib64/" + file);
  }
  for (const std::string &candidate : candidates)
    if (void *library = dlopen(candidate.c_str(), RTLD_NOW | RTLD_LOCAL)) return library;
  return nullptr;
}

/// Identifies the file that a function comes from; empty if it is unknown.
static std::string fileOf(int (*function)(int *, int *)) {
  Dl_info found;
  SmallString<256> path;
  sys::fs::file_status status;
  if (!dladdr(reinterpret_cast<void *>(function), &found) || sys::fs::real_path(found.dli_fname, path) ||
      sys::fs::status(path, status))
    return "";
  return (" " + path + " " + Twine(status.getSize()) + " " +
          Twine(status.getLastModificationTime().time_since_epoch().count()))
      .str();
}

const Nvrtc *Nvrtc::get(std::string &error) {
  static std::string problem;
  static const Nvrtc *only = []() -> const Nvrtc * {
    void *library = openLibrary();
    if (!library) {
      const char *home = std::getenv("CUDA_HOME");
      problem = "cannot open libnvrtc.so.13 or libnvrtc.so.12";
      if (home)
        problem += std::string(" in ") + home + "/lib64: correct or unset CUDA_HOME";
      else
        problem += ": install NVRTC, a part of the CUDA Toolkit, or set CUDA_HOME to the toolkit's folder";
      return nullptr;
    }
    auto functions = std::make_unique<Functions>();
    auto find = [&](auto &function, const char *name) {
      function = reinterpret_cast<std::remove_reference_t<decltype(function)>>(dlsym(library, name));
      if (!function && problem.empty()) problem = std::string("libnvrtc.so has no ") + name;
    };
    find(functions->version, "nvrtcVersion");
    find(functions->countArchitectures, "nvrtcGetNumSupportedArchs");
    find(functions->listArchitectures, "nvrtcGetSupportedArchs");
    find(functions->createProgram, "nvrtcCreateProgram");
    find(functions->destroyProgram, "nvrtcDestroyProgram");
    find(functions->compileProgram, "nvrtcCompileProgram");
    find(functions->getCubinSize, "nvrtcGetCUBINSize");
    find(functions->getCubin, "nvrtcGetCUBIN");
    find(functions->getPtxSize, "nvrtcGetPTXSize");
    find(functions->getPtx, "nvrtcGetPTX");
    find(functions->getLogSize, "nvrtcGetProgramLogSize");
    find(functions->getLog, "nvrtcGetProgramLog");
    if (!problem.empty()) return nullptr;
    auto *result = new Nvrtc(std::move(functions));
    int major = 0, minor = 0;
    result->functions->version(&major, &minor);
    result->identity = std::to_string(major) + "." + std::to_string(minor) + fileOf(result->functions->version);
    int count = 0;
    if (result->functions->countArchitectures(&count) == 0 && count > 0) {
      result->architectures.resize(static_cast<size_t>(count));
      result->functions->listArchitectures(result->architectures.data());
    }
    return result;
  }();
  error = problem;
  return only;
}

Compilation Nvrtc::compile(StringRef source, StringRef name, StringRef architecture) const {
  Compilation result;
  Functions::Program program = nullptr;
  std::string text = source.str(), file = name.str() + ".cu", target = "--gpu-architecture=" + architecture.str();
  std::vector<const char *> headers, headerNames;
  for (const DeviceHeader &header : deviceHeaders()) {
    headers.push_back(header.text.data());
    headerNames.push_back(header.name.data());
  }
  if (functions->createProgram(&program, text.c_str(), file.c_str(), static_cast<int>(headers.size()), headers.data(),
                               headerNames.data()) != 0) {
    result.log = "NVRTC does not accept the source";
    return result;
  }
  // The value of a sum must not depend on which products the compiler fuses into it.
  const char *options[] = {target.c_str(), "--std=c++17", "--fmad=false", "--ptxas-options=-v",
                           "--device-as-default-execution-space"};
  bool isPtx = architecture.starts_with("compute");
  int status = functions->compileProgram(program, isPtx ? 3 : 5, options);
  auto fetch = [&](auto sizeOf, auto get) {
    size_t size = 0;
    std::string bytes;
    if (sizeOf(program, &size) != 0 || size == 0) return bytes;
    bytes.resize(size);
    get(program, bytes.data());
    return bytes;
  };
  result.log = StringRef(fetch(functions->getLogSize, functions->getLog)).rtrim('\0').str();
  if (status == 0)
    result.code =
        isPtx ? fetch(functions->getPtxSize, functions->getPtx) : fetch(functions->getCubinSize, functions->getCubin);
  else if (result.log.empty())
    result.log = "NVRTC error " + std::to_string(status);
  functions->destroyProgram(&program);
  return result;
}

int64_t cuda::spilledBytes(StringRef log) {
  int64_t sum = 0;
  Regex pattern("([0-9]+) bytes spill (stores|loads)");
  SmallVector<StringRef> matches;
  while (pattern.match(log, &matches)) {
    int64_t bytes = 0;
    (void)matches[1].getAsInteger(10, bytes);
    sum += bytes;
    log = log.drop_front(matches[0].data() + matches[0].size() - log.data());
  }
  return sum;
}

std::string cuda::explain(StringRef log, StringRef source) {
  SmallVector<StringRef> lines, messages;
  source.split(lines, '\n');
  log.split(messages, '\n');
  std::string text;
  Regex pattern("\\.cu\\(([0-9]+)\\): error");
  for (StringRef message : messages) {
    text += message.str() + "\n";
    SmallVector<StringRef> matches;
    size_t number = 0;
    if (!pattern.match(message, &matches) || matches[1].getAsInteger(10, number) || number == 0 ||
        number > lines.size())
      continue;
    text += "    in line: " + lines[number - 1].trim().str() + "\n";
    for (size_t i = number; i-- > 0;) {
      size_t comment = lines[i].rfind("; // ");
      if (comment == StringRef::npos) continue;
      text += "    from: " + lines[i].substr(comment + 5).str() + "\n";
      break;
    }
  }
  return text;
}
