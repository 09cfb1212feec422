//===- Metrics.cpp - the record of a run, one JSON object a line --------------===//

#include "runtime/train/Metrics.h"

#include "runtime/Error.h"
#include "runtime/OutputPath.h"
#include "runtime/checkpoint/DurableFile.h"

#include <cerrno>
#include <cmath>
#include <cstring>
#include <fcntl.h>
#include <fstream>
#include <unistd.h>
#include <utility>

namespace tessera::runtime {

Json jsonNumber(double value) { return std::isfinite(value) ? Json(value) : Json(nullptr); }

/// Whether an earlier record belongs to the part of the run that a checkpoint at `step` holds.
static bool isBefore(const std::string &line, int64_t step, bool evaluated) {
  Json record = Json::parse(line, nullptr, /*allow_exceptions=*/false);
  if (!record.is_object() || !record.contains("step") || !record["step"].is_number_integer()) return false;
  int64_t at = record["step"];
  bool isTraining = !record.contains("split") || record["split"] == "train";
  return at < step || (at == step && step > 0 && (isTraining || evaluated));
}

/// Rewrites the file without what lies behind the checkpoint; a line cut short by a crash goes too.
static void cutBack(const std::string &path, int64_t step, bool evaluated) {
  std::ifstream old(path);
  if (!old) fail("cannot read the metrics file {}: {}", path, strerror(errno));
  replaceFile(path, [&](DurableFile &kept) {
    for (std::string line; std::getline(old, line);)
      if (isBefore(line, step, evaluated)) kept.append((line += '\n').data(), line.size());
    kept.commit();
  });
}

/// Opens a file to append to. A pipe that nobody reads is an error and not waited for.
static std::FILE *openToAppend(const std::string &path) {
  int fd = ::open(path.c_str(), O_WRONLY | O_APPEND | O_CREAT | O_CLOEXEC | O_NONBLOCK, 0666);
  if (fd < 0 && errno == ENXIO) fail("cannot open the metrics file {}: nobody reads this pipe", path);
  if (fd < 0) fail("cannot open the metrics file {}: {}", path, strerror(errno));
  fcntl(fd, F_SETFL, O_APPEND);
  return fdopen(fd, "a");
}

MetricsWriter::~MetricsWriter() {
  if (file && file != stdout) std::fclose(file);
}

void MetricsWriter::open(const std::string &wanted, int64_t atStep, bool isEvaluated) {
  path = wanted, step = atStep, evaluated = isEvaluated;
  if (path.empty()) return;
  if (path == "-") {
    file = stdout;
    return;
  }
  OutputPath output = findOutput(path);
  cuts = output.kind == OutputPath::File;
  durable = output.kind != OutputPath::Special;
  file = openToAppend(output.path);
}

/// The first record is at hand: from now on the file is of this run.
void MetricsWriter::begin() {
  begun = true;
  if (cuts) try {
      std::string target = findOutput(path).path;
      cutBack(target, step, evaluated);
      std::FILE *cut = openToAppend(target);
      std::fclose(std::exchange(file, cut));
    } catch (const std::exception &e) {
      warn("warning: {}; {} keeps the lines behind step {}", e.what(), path, step);
    }
  for (const Json &record : announced) put(record);
}

void MetricsWriter::put(const Json &record) {
  std::string line = dumpJson(record) + "\n";
  std::fwrite(line.data(), 1, line.size(), file);
}

void MetricsWriter::write(const Json &record) {
  if (!file) return;
  if (!begun) begin();
  put(record);
  auto now = std::chrono::steady_clock::now();
  if (file != stdout && now - flushed < std::chrono::seconds(1)) return;
  std::fflush(file);
  flushed = now;
}

void MetricsWriter::sync() {
  if (!file) return;
  bool good = std::fflush(file) == 0;
  if (durable) good &= fsync(fileno(file)) == 0;
  if (!good) warn("warning: cannot write the metrics file {}: {}", path, strerror(errno));
}

} // namespace tessera::runtime
