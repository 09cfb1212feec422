//===- MeasuredProfile.cpp - reads the profile of a step ------------------===//

#include "runtime/base/Error.h"
#include "runtime/base/Json.h"
#include "tools/Calibrate.h"
#include "llvm/Support/MemoryBuffer.h"

using namespace tessera;

/// That a program may have (`--threads`).
static constexpr int64_t mostThreads = 4096;

/// A row without `work`, a copy say, is none.
static bool readRow(const llvm::json::Object &row, double step, unsigned number, MeasuredProfile &profile) {
  std::optional<double> seconds = row.getNumber("seconds");
  std::optional<int64_t> calls = row.getInteger("calls");
  if (!seconds || !calls) return false;
  const llvm::json::Value *work = row.get("work");
  if (!work || work->kind() == llvm::json::Value::Null || *seconds <= 0 || *calls < 1) return true;
  std::optional<CallWork> read = CallWork::read(*work);
  if (!read) return false;
  if (read->kind == CallKind::Exchange && read->exchange.received == 0) return true; // takes no time
  profile.calls.push_back({std::move(*read), *seconds / double(*calls), *seconds / step, number});
  return true;
}

/// Makes the rows together take as long as the step. Times are medians, and a median step is longer than the sum of its
/// median calls: in each step some calls are late.
static void scaleToStep(MeasuredProfile &profile, const llvm::json::Array &rows) {
  double sum = 0;
  for (const llvm::json::Value &row : rows) sum += row.getAsObject()->getNumber("seconds").value_or(0);
  if (sum > 0)
    for (TimedCall &call : profile.calls) call.seconds *= profile.seconds / sum;
}

std::optional<MeasuredProfile> tessera::readProfile(const std::string &path, unsigned number, std::string &problem) {
  auto buffer = llvm::MemoryBuffer::getFile(path);
  if (!buffer) {
    problem = "cannot read " + path + ": " + buffer.getError().message();
    return std::nullopt;
  }
  std::string text = (*buffer)->getBuffer().str();
  const std::string expected = "expected what `PROGRAM train --profile FILE` writes";
  if (llvm::StringRef start = llvm::StringRef(text).ltrim(); !start.starts_with("{") && !start.starts_with("[")) {
    problem = path + ": this is no JSON; " + expected;
    return std::nullopt;
  }
  try {
    runtime::parseJson(text, path); // refuses deep nesting, which LLVM's parser does not survive
  } catch (const runtime::Error &error) {
    problem = std::string(error.what()) + "; " + expected;
    return std::nullopt;
  }
  auto json = llvm::json::parse(text);
  if (!json) {
    problem = path + ": " + llvm::toString(json.takeError());
    return std::nullopt;
  }
  problem = path + ": " + expected;
  const llvm::json::Object *object = json->getAsObject();
  const llvm::json::Array *rows = object ? object->getArray("rows") : nullptr;
  std::optional<double> seconds = object ? object->getNumber("seconds") : std::nullopt;
  int64_t threads = object ? object->getInteger("threads").value_or(0) : 0;
  if (!rows || !seconds || *seconds <= 0 || threads < 0 || threads > mostThreads) return std::nullopt;
  MeasuredProfile profile;
  profile.seconds = *seconds;
  profile.threads = static_cast<int>(threads);
  for (const llvm::json::Value &row : *rows)
    if (!row.getAsObject() || !readRow(*row.getAsObject(), *seconds, number, profile)) return std::nullopt;
  scaleToStep(profile, *rows);
  if (profile.calls.empty()) {
    problem = path + ": no row says what its kernel computes; the program was compiled by an older version";
    return std::nullopt;
  }
  problem.clear();
  return profile;
}
