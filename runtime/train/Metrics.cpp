//===- Metrics.cpp - writes the metrics of a run as JSON lines ------------===//

#include "runtime/train/Metrics.h"

#include "runtime/base/Error.h"
#include "runtime/base/OutputPath.h"
#include "runtime/base/ReplacementFile.h"

#include <cerrno>
#include <cmath>
#include <cstring>
#include <fstream>
#include <unistd.h>

namespace tessera::runtime {

Json jsonNumber(double value) { return std::isfinite(value) ? Json(value) : Json(nullptr); }

/// Whether a checkpoint at `step` includes the step of this record.
static bool isBefore(const std::string &line, int64_t step, bool evaluated) {
  Json record = Json::parse(line, nullptr, /*allow_exceptions=*/false);
  if (!record.is_object() || !record.contains("step") || !record["step"].is_number_integer()) return false;
  int64_t at = record["step"];
  bool isTraining = !record.contains("split") || record["split"] == "train";
  // At step 0 there is nothing but an evaluation: a run that begins there has none, one that resumes may have it.
  return at < step || (at == step && (evaluated || (isTraining && step > 0)));
}

/// Truncates the file after the records of the checkpoint's part; removes an incomplete last line too.
static void cutBack(const std::string &path, int64_t step, bool evaluated) {
  std::ifstream old(path);
  if (!old) fail("cannot read the metrics file {}: {}", path, strerror(errno));
  replaceFile(path, [&](DurableFile &kept) {
    for (std::string line; std::getline(old, line);)
      if (isBefore(line, step, evaluated)) kept.append((line += '\n').data(), line.size());
    kept.commit();
  });
}

/// Refuses a file that does not begin with a record: truncating would destroy it.
static void refuseOtherContent(const std::string &path) {
  std::ifstream file(path);
  std::string line;
  if (!file || !std::getline(file, line)) return;
  bool isCutShort = file.eof() && line.starts_with("{\"step\":"); // by a crash during the first write
  Json record = Json::parse(line, nullptr, /*allow_exceptions=*/false);
  if (isCutShort || (record.is_object() && record.contains("step"))) return;
  fail("{} is not a metrics file: its first line is not a JSON object with \"step\", and --metrics would erase it; "
       "name another file, or delete this one",
       path);
}

static int openMetrics(const std::string &path) {
  int fd = openToAppend(path);
  if (fd < 0) fail("cannot open the metrics file {}: {}", path, whyNotOpened(path));
  return fd;
}

void MetricsWriter::open(const std::string &wanted, int64_t atStep, bool isEvaluated) {
  path = wanted, step = atStep, evaluated = isEvaluated;
  if (path.empty()) return;
  if (path == "-") return file.take(STDOUT_FILENO, "the metrics to standard output");
  OutputPath output = findOutput(path);
  cuts = output.kind == OutputPath::File;
  if (cuts) refuseOtherContent(output.path);
  file.take(openMetrics(output.path), "the metrics file " + path);
}

/// Called with the first record: from now on the file belongs to this run.
void MetricsWriter::begin() {
  begun = true;
  if (cuts) try {
      std::string target = findOutput(path).path;
      cutBack(target, step, evaluated);
      file.take(openMetrics(target), "the metrics file " + path);
    } catch (const std::exception &e) {
      warn("warning: {}; {} still contains the lines after step {}", e.what(), path, step);
    }
  for (const Json &record : announced) put(record);
}

void MetricsWriter::put(const Json &record) { file.append(dumpJson(record) + "\n"); }

void MetricsWriter::write(const Json &record) {
  if (!file) return;
  if (!begun) begin();
  put(record);
}

void MetricsWriter::sync() { file.sync(); }

} // namespace tessera::runtime
