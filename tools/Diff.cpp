//===- Diff.cpp - the command `tessera diff` ------------------------------===//

#include "ir/program/Program.h"
#include "passes/Pipeline.h"
#include "tools/Commands.h"
#include "tools/Messages.h"
#include "tools/ModuleDiff.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/Path.h"

using namespace mlir;
using namespace tessera;

/// Exit codes, as those of diff(1).
enum DiffStatus { Same = 0, Different = 1, Trouble = 2 };

static DiffStatus trouble(const llvm::Twine &message) {
  messages() << "error: " << message << "\n";
  return Trouble;
}

static StringRef phaseOf(ModuleOp module) { return module->getAttrOfType<StringAttr>(attrs::phase).getValue(); }

static DiffStatus diffDumps(const std::string &before, const std::string &after) {
  MLIRContext context(MLIRContext::Threading::DISABLED);
  loadDialects(context);
  OwningOpRef<ModuleOp> old = readDump(context, before);
  OwningOpRef<ModuleOp> now = old ? readDump(context, after) : nullptr;
  if (!now) return Trouble;
  std::string text;
  llvm::raw_string_ostream out(text);
  bool differs = printModuleDiff(*old, *now, out);
  if (!differs && phaseOf(*old) == phaseOf(*now)) return Same;
  results() << "--- " << before << ": " << phaseOf(*old) << "\n+++ " << after << ": " << phaseOf(*now) << "\n"
            << (differs ? text : "only the phase differs\n");
  return differs ? Different : Same;
}

/// Compares the dumps of each phase that two folders of `--dump-dir` hold.
static DiffStatus diffFolders(StringRef before, StringRef after) {
  DiffStatus status = Same;
  bool isEmpty = true;
  for (size_t i = 0; i < phaseNames().size(); ++i) {
    llvm::SmallString<256> old(before), now(after);
    llvm::sys::path::append(old, dumpName(i, /*withLocations=*/false));
    llvm::sys::path::append(now, dumpName(i, /*withLocations=*/false));
    bool isOld = llvm::sys::fs::exists(old), isNow = llvm::sys::fs::exists(now);
    if (!isOld && !isNow) continue;
    isEmpty = false;
    DiffStatus one = Different;
    if (isOld && isNow)
      one = diffDumps(old.str().str(), now.str().str());
    else
      results() << "only in " << (isOld ? before : after) << ": " << dumpName(i, false) << "\n";
    if (one == Trouble) return Trouble;
    status = std::max(status, one);
  }
  return isEmpty ? trouble("neither " + before + " nor " + after + " holds a dump, such as " + dumpName(0, false))
                 : status;
}

int tessera::runDiff(const CommandOptions &options) {
  bool isFolder = llvm::sys::fs::is_directory(options.input.path);
  if (isFolder != llvm::sys::fs::is_directory(options.other))
    return trouble("expected two dumps or two folders of `--dump-dir`, got one of each");
  return isFolder ? diffFolders(options.input.path, options.other) : diffDumps(options.input.path, options.other);
}
