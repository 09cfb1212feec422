//===- Cache.cpp - programs compiled before -------------------------------===//

#include "tools/Cache.h"
#include "tools/Input.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/Path.h"
#include "llvm/Support/SHA256.h"
#include "llvm/Support/raw_ostream.h"
#include "llvm/TargetParser/Host.h"
#include <chrono>

using namespace llvm;
using namespace tessera;

/// What tells one build of an executable from another.
static std::string identityOf(const std::string &executable) {
  sys::fs::file_status status;
  if (sys::fs::status(executable, status)) return "";
  return (Twine(status.getSize()) + " " + Twine(status.getLastModificationTime().time_since_epoch().count())).str();
}

int tessera::cachedProgram(StringRef module, const CodegenOptions &options, const std::string &launcher, bool rebuild,
                           std::string &program, function_ref<int(const std::string &)> build) {
  std::string self = sys::fs::getMainExecutable(nullptr, reinterpret_cast<void *>(&identityOf));
  std::string key = (Twine(TESSERA_VERSION) + "\n" + identityOf(self) + "\n" + identityOf(launcher) + "\n" +
                     options.march + "\n" + sys::getHostCPUName() + "\n" + Twine(options.threads) + "\n" + module)
                        .str();
  SmallString<128> path;
  if (!sys::path::cache_directory(path)) sys::path::system_temp_directory(true, path);
  sys::path::append(path, "tessera");
  if (std::error_code error = sys::fs::create_directories(path)) {
    errs() << "error: cannot make the cache folder " << path << ": " << error.message() << "\n";
    return ExitInput;
  }
  sys::path::append(path, toHex(SHA256::hash(arrayRefFromStringRef(key)), /*LowerCase=*/true).substr(0, 32));
  program = path.str().str();
  return rebuild || !sys::fs::exists(program) ? build(program) : static_cast<int>(ExitDone);
}
