//===- Transfers.h - copies of inputs and outputs that overlap with computation -===//
//
// The inputs of a call are copied to the device while the previous call runs: on a stream of their own, to a staging
// buffer outside the arena, from which the call copies them when it begins. Its outputs are copied to one of two
// pinned buffers, so that the host can read those of one call while the next one runs.
//
//===----------------------------------------------------------------------===//

#ifndef TESSERA_RUNTIME_CUDA_TRANSFERS_H
#define TESSERA_RUNTIME_CUDA_TRANSFERS_H

#include "runtime/cuda/Mirror.h"
#include "runtime/program/Manifest.h"

#include <deque>

namespace tessera::runtime::cuda {

/// Calls that may be in flight at a time.
inline constexpr size_t maxCallsInFlight = 2;

class Transfers {
public:
  /// Bytes of the staging buffer that calls of an entry function need.
  static int64_t bytesFor(const EntryFunction &entry);

  /// `bytes`: capacity of the staging buffer. `arena` is the device's, `mirror` the host's copy of it, which must
  /// outlive this; `stream` is the one that computes.
  Transfers(int64_t bytes, DevicePointer arena, const Mirror &mirror, Stream stream);
  ~Transfers();
  Transfers(const Transfers &) = delete;
  Transfers &operator=(const Transfers &) = delete;

  /// Work that is enqueued after this finds the inputs in the arena. On return the host may write the next ones.
  void sendInputs(const EntryFunction &entry);

  /// Copies the outputs to the host when all work on the stream so far is done.
  void fetchOutputs(const EntryFunction &entry);

  /// Bytes of inputs that the staging buffer holds.
  int64_t capacity() const { return bytes; }

  /// Calls in flight: fetchOutputs() without waitForOutputs().
  size_t inFlight() const { return calls.size(); }

  /// The entry function of the oldest call in flight.
  const EntryFunction &oldest() const { return *calls.front(); }

  /// Waits for the outputs of the oldest call; then the host sees them. `describe(entry)` begins an error's message.
  template <typename Describe> void waitForOutputs(Describe describe) {
    driver.check(driver.eventSynchronize(slots[nextWaited].done), describe(*calls.front()));
    showOutputs();
  }

private:
  /// Outputs of a call.
  struct Slot {
    char *memory = nullptr; ///< pinned
    int64_t bytes = 0;
    Event done = nullptr;
  };
  void showOutputs();

  const Driver &driver = Driver::get();
  int64_t bytes; ///< of the staging buffer
  DevicePointer arena;
  const Mirror &mirror;
  Stream stream, upload = nullptr;
  DevicePointer staging = 0;
  Event sent = nullptr, taken = nullptr; ///< the inputs are in the staging buffer; in the arena
  Slot slots[maxCallsInFlight];
  size_t nextFilled = 0, nextWaited = 0; ///< slots
  std::deque<const EntryFunction *> calls;
};

} // namespace tessera::runtime::cuda

#endif // TESSERA_RUNTIME_CUDA_TRANSFERS_H
