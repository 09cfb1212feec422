//===- Events.h - writes a run for TensorBoard ----------------------------===//
//
// A file of events: records framed as TFRecords, each a `tensorflow.Event` in the wire format of protocol buffers. Only
// scalars are written. The fields are those of tensorflow/core/util/event.proto and framework/summary.proto.
//
//===----------------------------------------------------------------------===//

#ifndef TESSERA_RUNTIME_TRAIN_EVENTS_H
#define TESSERA_RUNTIME_TRAIN_EVENTS_H

#include "runtime/base/Json.h"
#include "runtime/train/RecordFile.h"

namespace tessera::runtime {

/// Writes the scalars of records (`docs/metrics.md`) under names `SPLIT/NAME`. Without a folder it writes nothing.
class EventWriter {
public:
  /// For a run that starts at `step`. Creates the folder; the first record creates a file in it, which tells
  /// TensorBoard to discard events of earlier files from the next step on; from step 0 on if the run begins there.
  /// `evaluated`: the evaluation at `step` was recorded, so that one at step 0 stays.
  void open(const std::string &folder, int64_t step, bool evaluated);
  /// Flushed at least once a second.
  void write(const Json &record);
  void sync();
  /// To be called at the end. Returns whether all events are written; if not, it was said.
  bool finish() { return file.finish() && !failed; }

private:
  void begin();
  void put(const std::string &event);

  std::string folder;
  int64_t step = 0;
  bool evaluated = false;
  RecordFile file;
  bool failed = false; ///< the file cannot be written; a warning was printed
};

} // namespace tessera::runtime

#endif // TESSERA_RUNTIME_TRAIN_EVENTS_H
