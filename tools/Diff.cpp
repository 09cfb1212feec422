//===- Diff.cpp - the command `tessera diff` ------------------------------===//

#include "frontend/diagnostics/Source.h"
#include "ir/program/Program.h"
#include "passes/Pipeline.h"
#include "runtime/program/Payload.h"
#include "tools/Commands.h"
#include "tools/Messages.h"
#include "tools/diff/GrowthLimit.h"
#include "tools/diff/ModuleDiff.h"
#include "tools/diff/ProgramDiff.h"
#include "llvm/BinaryFormat/ELF.h"
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

//===----------------------------------------------------------------------===//
// Dumps
//===----------------------------------------------------------------------===//

using Buffer = std::unique_ptr<llvm::MemoryBuffer>;

static StringRef phaseOf(ModuleOp module) { return module->getAttrOfType<StringAttr>(attrs::phase).getValue(); }

/// The bytes of a file. Null if there are none; that is printed.
static Buffer readFile(const std::string &path) {
  std::string problem;
  Buffer text = readTextFile(path, SIZE_MAX, problem);
  if (text && text->getBufferSize() == 0) text = nullptr, problem = "the file is empty";
  if (!text) trouble(path + ": " + problem);
  return text;
}

/// Compares two dumps whose texts were read. Prints nothing if they are the same.
static DiffStatus diffDumps(const std::string &before, Buffer oldText, const std::string &after, Buffer nowText) {
  MLIRContext context(MLIRContext::Threading::DISABLED);
  loadDialects(context);
  OwningOpRef<ModuleOp> old = parseDump(context, before, std::move(oldText));
  OwningOpRef<ModuleOp> now = old ? parseDump(context, after, std::move(nowText)) : nullptr;
  if (!now) return Trouble;
  std::string text;
  llvm::raw_string_ostream out(text);
  bool differs = printModuleDiff(*old, *now, out);
  if (!differs && phaseOf(*old) == phaseOf(*now)) return Same;
  results() << "--- " << before << ": " << phaseOf(*old) << "\n+++ " << after << ": " << phaseOf(*now) << "\n"
            << (differs ? text : "only the phase differs\n");
  return differs ? Different : Same;
}

static DiffStatus diffDumps(const std::string &before, const std::string &after) {
  Buffer old = readFile(before), now = old ? readFile(after) : nullptr;
  return now ? diffDumps(before, std::move(old), after, std::move(now)) : Trouble;
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

//===----------------------------------------------------------------------===//
// Programs, plans and manifests
//===----------------------------------------------------------------------===//

static bool isProgram(const llvm::MemoryBuffer &text) {
  return text.getBuffer().starts_with(StringRef(llvm::ELF::ElfMagic, 4));
}

static bool isJson(const llvm::MemoryBuffer &text) {
  StringRef start = text.getBuffer().ltrim();
  return start.starts_with("{") || start.starts_with("[");
}

/// What is compared of a program, plan or manifest. None if it is wrong; that is printed.
static std::optional<ProgramFacts> readFacts(const std::string &path, const llvm::MemoryBuffer &text) {
  try {
    if (!isProgram(text)) return factsOfJson(text.getBuffer().str(), path);
    runtime::Payload payload;
    std::string problem = "it contains no program; expected what `tessera compile` wrote, in full";
    if (runtime::readPayload(path, payload, problem) == runtime::PayloadStatus::Found)
      return factsOfProgram(payload.manifest, path);
    trouble(path + ": " + problem);
  } catch (const runtime::Error &error) {
    trouble(error.what());
  }
  return std::nullopt;
}

/// Whether a limit is kept. What breaches it is printed, after the differences.
static DiffStatus checkLimit(const GrowthLimit &limit, const ProgramDiff &diff) {
  llvm::outs().flush();
  for (const std::string &sentence : findUncompared(diff)) messages() << "warning: " << sentence << "\n";
  std::vector<std::string> breaches = limit.findBreaches(diff);
  for (const std::string &breach : breaches) messages() << "error: " << breach << "\n";
  return breaches.empty() ? Same : Different;
}

static DiffStatus diffPrograms(const CommandOptions &options, const llvm::MemoryBuffer &oldText,
                               const llvm::MemoryBuffer &nowText, const std::optional<GrowthLimit> &limit) {
  std::optional<ProgramFacts> before = readFacts(options.input.path, oldText);
  std::optional<ProgramFacts> after = before ? readFacts(options.other, nowText) : std::nullopt;
  if (!after) return Trouble;
  ProgramDiff diff = diffPrograms(*before, *after);
  DiffSide old{options.input.path, before->sort, before->model}, now{options.other, after->sort, after->model};
  if (options.json)
    results() << diffAsJson(diff, old, now);
  else if (!diff.differs())
    results() << "nothing differs\n";
  else
    results() << "--- " << old.path << ": " << old.sort << " of " << old.model << "\n+++ " << now.path << ": "
              << now.sort << " of " << now.model << "\n"
              << describeDiff(diff, options.verbose);
  if (limit) return checkLimit(*limit, diff);
  return diff.differs() ? Different : Same;
}

//===----------------------------------------------------------------------===//
// The command
//===----------------------------------------------------------------------===//

/// Two files, the sort of which their bytes say.
static DiffStatus diffFiles(const CommandOptions &options, const std::optional<GrowthLimit> &limit) {
  const std::string &before = options.input.path, &after = options.other;
  Buffer old = readFile(before), now = old ? readFile(after) : nullptr;
  if (!now) return Trouble;
  auto isDump = [](const Buffer &text) { return !isProgram(*text) && !isJson(*text); };
  if (!isDump(old) && !isDump(now)) return diffPrograms(options, *old, *now, limit);
  if (isDump(old) != isDump(now))
    return trouble((isDump(old) ? after : before) + " is a program, a plan or a manifest, and " +
                   (isDump(old) ? before : after) + " is not; a dump is compared with a dump");
  if (limit || options.json) return trouble("--fail-above and --json are for programs, plans and manifests");
  return diffDumps(before, std::move(old), after, std::move(now));
}

int tessera::runDiff(const CommandOptions &options) {
  std::optional<GrowthLimit> limit = GrowthLimit::parse(options.failAbove);
  if (!options.failAbove.empty() && !limit)
    return trouble("--fail-above=" + options.failAbove + ": expected a percentage of at least 0, such as 2% or 0.5%");
  bool isFolder = llvm::sys::fs::is_directory(options.input.path);
  if (isFolder != llvm::sys::fs::is_directory(options.other))
    return trouble("expected two dumps or two folders of `--dump-dir`, got one of each");
  if (!isFolder) return diffFiles(options, limit);
  if (limit || options.json) return trouble("--fail-above and --json are for programs, plans and manifests");
  return diffFolders(options.input.path, options.other);
}
