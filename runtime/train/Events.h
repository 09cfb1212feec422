//===- Events.h - the record of a run for TensorBoard ------------------------===//
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

/// Writes the numbers of records (`docs/metrics.md`) as scalars called `SPLIT/NAME`. Without a folder it writes nothing.
class EventWriter {
public:
  /// For a run that starts at `step`. Makes the folder; with the first record a file of its own in it, which tells
  /// TensorBoard that what earlier files hold from the next step on is void.
  void open(const std::string &folder, int64_t step);
  /// Others can read a record within about a second.
  void write(const Json &record);
  void sync();

private:
  void begin();
  void put(const std::string &event);

  std::string folder;
  int64_t step = 0;
  RecordFile file;
  bool failed = false; ///< there is no file, which was said
};

} // namespace tessera::runtime

#endif // TESSERA_RUNTIME_TRAIN_EVENTS_H
