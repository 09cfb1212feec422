//===- Exchanges.h - collectives that are made of exchanges ---------------===//
//
// An all-to-all is pairwise: in round d each rank sends to the one d after it, and receives from the one d before it.
// An all-gather passes blocks around a ring, a broadcast goes down a binomial tree, and a barrier doubles the ranks
// that each one knows of. None of them allocates memory.
//
//===----------------------------------------------------------------------===//

#ifndef TESSERA_RUNTIME_RANKS_EXCHANGES_H
#define TESSERA_RUNTIME_RANKS_EXCHANGES_H

#include "runtime/ranks/Communicator.h"

namespace tessera::runtime {

/// A group whose collectives are made of `exchange`, unless it has better ones.
class ExchangeCommunicator : public HostCommunicator {
protected:
  using HostCommunicator::HostCommunicator;

  /// Sends from [fromBytes] to rank `toRank` and meanwhile receives to [toBytes] from rank `fromRank`. A side without
  /// bytes has no message. `function` is for errors.
  virtual void exchange(const char *function, std::string_view what, const char *from, size_t fromBytes, int toRank,
                        char *to, size_t toBytes, int fromRank) = 0;

  void moveAllToAll(std::string_view what, const void *from, void *to, size_t bytes) override;
  void moveAllGather(std::string_view what, const void *from, void *to, size_t bytes) override;
  void moveBroadcast(std::string_view what, void *data, size_t bytes, int root) override;
  void moveSendReceive(std::string_view what, const void *from, size_t fromBytes, int toRank, void *to, size_t toBytes,
                       int fromRank) final;
  void waitForAll(std::string_view what) override;
};

} // namespace tessera::runtime

#endif // TESSERA_RUNTIME_RANKS_EXCHANGES_H
