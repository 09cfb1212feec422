//===- RunRecord.h - metrics and events of a run --------------------------===//

#ifndef TESSERA_RUNTIME_TRAIN_RUNRECORD_H
#define TESSERA_RUNTIME_TRAIN_RUNRECORD_H

#include "runtime/train/Events.h"
#include "runtime/train/Metrics.h"

namespace tessera::runtime {

/// Writes records to the metrics file and to TensorBoard's events; either, both or none.
class RunRecord {
public:
  void open(const std::string &metricsPath, const std::string &eventsFolder, int64_t step, bool evaluated) {
    isWanted = !metricsPath.empty() || !eventsFolder.empty();
    events.open(eventsFolder, step, evaluated);
    metrics.open(metricsPath, step, evaluated);
  }
  /// Whether records are written anywhere.
  explicit operator bool() const { return isWanted; }
  void announce(Json note) { metrics.announce(std::move(note)); }
  void write(const Json &record) {
    metrics.write(record);
    events.write(record);
  }
  void sync() {
    metrics.sync();
    events.sync();
  }
  /// To be called at the end. Returns whether everything is written; if not, says so.
  bool finish() {
    bool isWhole = metrics.finish();
    return events.finish() && isWhole;
  }

private:
  bool isWanted = false;
  MetricsWriter metrics;
  EventWriter events;
};

} // namespace tessera::runtime

#endif // TESSERA_RUNTIME_TRAIN_RUNRECORD_H
