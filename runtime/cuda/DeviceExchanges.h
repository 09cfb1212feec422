//===- DeviceExchanges.h - what ranks exchange between GPUs ---------------===//
//
// NCCL moves the bytes of a program's exchanges between the memories of GPUs. It is asked for no sum: generated kernels
// add what has come. An all-to-all is sends and receives that start together.
//
// Each axis of the mesh has a communicator of its own. All ranks enqueue their exchanges in the order of the program,
// and each one waits for the one before it, along whichever axis: else two of them could wait for each other, on ranks
// that run one exchange at a time.
//
//===----------------------------------------------------------------------===//

#ifndef TESSERA_RUNTIME_CUDA_DEVICEEXCHANGES_H
#define TESSERA_RUNTIME_CUDA_DEVICEEXCHANGES_H

#include "runtime/cuda/Dependencies.h"
#include "runtime/cuda/Nccl.h"
#include "runtime/machine/RankGroups.h"

#include <memory>
#include <vector>

namespace tessera::runtime::cuda {

class DeviceExchanges {
public:
  /// A collective of all ranks: connects the GPUs along each axis of the mesh that has exchanges. The calling thread's
  /// current context becomes the rank's GPU. Throws an Error if the ranks are not those of the mesh, if NCCL cannot be
  /// opened, or if it refuses.
  DeviceExchanges(const RanksSpec &ranks, const RankGroups &groups);

  /// What an exchange accesses. `sent`: [ranks, bytes], or [bytes] of an all-gather; `received`: [ranks, bytes], or
  /// [bytes] of a reduce-scatter.
  std::vector<MemoryAccess> accesses(uint32_t number, DevicePointer sent, DevicePointer received) const;

  /// Enqueues an exchange on a stream. Returns the bytes that NCCL was given for other ranks. Throws an Error that
  /// names the exchange if NCCL refuses.
  int64_t run(uint32_t number, DevicePointer sent, DevicePointer received, Stream stream);

  /// `wait` waits for a stream with exchanges, and for `work` of computation besides: the watchdog takes it for a
  /// collective. Then throws an Error if the connection to another rank is lost.
  void await(const std::string &what, const std::function<void()> &wait, std::chrono::milliseconds work);

private:
  Communicator &along(const ExchangeSpec &exchange);
  static void allToAll(Communicator &communicator, const ExchangeSpec &exchange, DevicePointer sent,
                       DevicePointer received, Stream stream);

  const RanksSpec &ranks;
  HostCommunicator &world;
  std::map<std::string, std::unique_ptr<Communicator>> communicators; ///< by axis of the mesh
};

} // namespace tessera::runtime::cuda

#endif // TESSERA_RUNTIME_CUDA_DEVICEEXCHANGES_H
