//===- Cache.cpp - programs compiled before -------------------------------===//

#include "tools/Cache.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/Path.h"
#include "llvm/Support/SHA256.h"
#include "llvm/Support/raw_ostream.h"
#include "llvm/TargetParser/Host.h"
#include <chrono>

using namespace llvm;
using namespace tessera;

/// What tells this compiler from another build of it.
static std::string compilerIdentity() {
  std::string self = sys::fs::getMainExecutable(nullptr, reinterpret_cast<void *>(&compilerIdentity));
  sys::fs::file_status status;
  if (sys::fs::status(self, status)) return TESSERA_VERSION;
  return (Twine(TESSERA_VERSION) + " " + Twine(status.getSize()) + " " +
          Twine(status.getLastModificationTime().time_since_epoch().count()))
      .str();
}

FailureOr<std::string> tessera::cachedProgram(StringRef module, const CodegenOptions &options,
                                              function_ref<int(const std::string &)> build) {
  std::string key = (compilerIdentity() + "\n" + options.march + "\n" + sys::getHostCPUName() + "\n" +
                     Twine(options.threads) + "\n" + module)
                        .str();
  SmallString<128> path;
  if (!sys::path::cache_directory(path)) sys::path::system_temp_directory(true, path);
  sys::path::append(path, "tessera");
  if (std::error_code error = sys::fs::create_directories(path)) {
    errs() << "error: cannot make the cache folder " << path << ": " << error.message() << "\n";
    return failure();
  }
  sys::path::append(path, toHex(SHA256::hash(arrayRefFromStringRef(key)), /*LowerCase=*/true).substr(0, 32));
  std::string program(path);
  if (!sys::fs::exists(program) && build(program) != 0) return failure();
  return program;
}
