//===- Metrics.h - writes the metrics of a run as JSON lines --------------===//

#ifndef TESSERA_RUNTIME_TRAIN_METRICS_H
#define TESSERA_RUNTIME_TRAIN_METRICS_H

#include "runtime/base/Json.h"
#include "runtime/train/RecordFile.h"

namespace tessera::runtime {

/// Writes records as `docs/metrics.md` describes. Without a path it writes nothing.
class MetricsWriter {
public:
  /// Opens `path` ("-" is standard output) for a run that starts at `step`. The first record truncates the file after
  /// what an earlier run recorded up to `step` (devices and pipes are only written). `evaluated`: the evaluation at
  /// `step` itself stays. Throws an Error if the file exists and does not hold records.
  void open(const std::string &path, int64_t step, bool evaluated);

  /// A record that precedes the first one of write().
  void announce(Json record) { announced.push_back(std::move(record)); }

  /// Flushed at least once a second.
  void write(const Json &record);
  /// Makes all records durable. Called before a checkpoint is committed.
  void sync();
  /// To be called at the end. Returns whether all records are written; if not, says so.
  bool finish() { return file.finish(); }

private:
  void begin();
  void put(const Json &record);

  std::string path;
  std::vector<Json> announced;
  int64_t step = 0;       ///< records of later steps are removed
  bool evaluated = false; ///< the evaluation at `step` stays
  bool begun = false, cuts = false;
  RecordFile file;
};

/// A number, or null if it is not finite, which JSON cannot express.
Json jsonNumber(double value);

} // namespace tessera::runtime

#endif // TESSERA_RUNTIME_TRAIN_METRICS_H
