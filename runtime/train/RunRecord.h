//===- RunRecord.h - what is written down of a run ----------------------------===//

#ifndef TESSERA_RUNTIME_TRAIN_RUNRECORD_H
#define TESSERA_RUNTIME_TRAIN_RUNRECORD_H

#include "runtime/train/Events.h"
#include "runtime/train/Metrics.h"

namespace tessera::runtime {

/// One record, as a line of the metrics file and as an event for TensorBoard; either, both or none.
class RunRecord {
public:
  void open(const std::string &metricsPath, const std::string &eventsFolder, int64_t step, bool evaluated) {
    isWanted = !metricsPath.empty() || !eventsFolder.empty();
    events.open(eventsFolder, step);
    metrics.open(metricsPath, step, evaluated);
  }
  /// Whether anybody reads what is written: else it need not be made.
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

private:
  bool isWanted = false;
  MetricsWriter metrics;
  EventWriter events;
};

} // namespace tessera::runtime

#endif // TESSERA_RUNTIME_TRAIN_RUNRECORD_H
