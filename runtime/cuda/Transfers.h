//===- Transfers.h - inputs and outputs on their way while the device computes ===//
//
// A call's inputs go to the device while the call before it runs: over a stream of their own, to memory beside the arena, from where
// the call takes them when it begins. Its outputs go to one of two places of pinned memory, so that the host can read those of one
// call while the next one runs.
//
//===----------------------------------------------------------------------===//

#ifndef TESSERA_RUNTIME_CUDA_TRANSFERS_H
#define TESSERA_RUNTIME_CUDA_TRANSFERS_H

#include "runtime/cuda/Driver.h"
#include "runtime/program/Manifest.h"

#include <deque>

namespace tessera::runtime::cuda {

/// Calls that may be under way at a time.
inline constexpr size_t callsAhead = 2;

class Transfers {
public:
  /// Bytes of the device beside the arena that calls of an entry function take.
  static int64_t bytesFor(const EntryFunction &entry);

  /// `arena` of the device, and `mirror`, where the host sees it. `stream`: that which computes. For calls of entry functions that take
  /// `bytes` at most.
  Transfers(int64_t bytes, DevicePointer arena, char *mirror, Stream stream);
  ~Transfers();
  Transfers(const Transfers &) = delete;
  Transfers &operator=(const Transfers &) = delete;

  /// Has what the stream is asked for next find the inputs in the arena. On return the host may write the next ones.
  void sendInputs(const EntryFunction &entry);

  /// Has the outputs fetched when what the stream was asked for is done.
  void fetchOutputs(const EntryFunction &entry);

  /// Bytes of inputs that there is room for.
  int64_t capacity() const { return bytes; }

  /// Calls whose outputs were asked for and not waited for.
  size_t underWay() const { return calls.size(); }

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
  int64_t bytes; ///< of the staging memory
  DevicePointer arena;
  char *mirror;
  Stream stream, upload = nullptr;
  DevicePointer staging = 0;
  Event sent = nullptr, taken = nullptr; ///< the inputs have come to the staging memory; they were taken from there
  Slot slots[callsAhead];
  size_t nextFilled = 0, nextWaited = 0; ///< slots
  std::deque<const EntryFunction *> calls;
};

} // namespace tessera::runtime::cuda

#endif // TESSERA_RUNTIME_CUDA_TRANSFERS_H
