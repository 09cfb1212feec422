//===- Metrics.h - the record of a run, one JSON object a line ----------------===//

#ifndef TESSERA_RUNTIME_TRAIN_METRICS_H
#define TESSERA_RUNTIME_TRAIN_METRICS_H

#include "runtime/base/Json.h"
#include "runtime/train/RecordFile.h"

namespace tessera::runtime {

/// Writes records as `docs/metrics.md` describes. Without a path it writes nothing.
class MetricsWriter {
public:
  /// Opens `path` ("-" is standard output) for a run that starts at `step`. With the first record, not before, what an
  /// earlier run recorded behind it is cut off (devices and pipes are only written). `evaluated`: the evaluation at
  /// `step` itself stays. Throws an Error if a file is there that is none of records.
  void open(const std::string &path, int64_t step, bool evaluated);

  /// A record to be written right before the first of write().
  void announce(Json record) { announced.push_back(std::move(record)); }

  /// Others can read a record within about a second.
  void write(const Json &record);
  /// Makes all records durable; done before a checkpoint is committed.
  void sync();

private:
  void begin();
  void put(const Json &record);

  std::string path;
  std::vector<Json> announced;
  int64_t step = 0;       ///< to cut back to
  bool evaluated = false; ///< the evaluation at `step` stays
  bool begun = false, cuts = false;
  RecordFile file;
};

/// A number, or null if it is not finite: JSON has no word for those.
Json jsonNumber(double value);

} // namespace tessera::runtime

#endif // TESSERA_RUNTIME_TRAIN_METRICS_H
