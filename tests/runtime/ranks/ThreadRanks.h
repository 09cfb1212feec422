//===- ThreadRanks.h - ranks as threads of one process --------------------===//

#ifndef TESSERA_TESTS_RUNTIME_RANKS_THREADRANKS_H
#define TESSERA_TESTS_RUNTIME_RANKS_THREADRANKS_H

#include "runtime/ranks/Communicator.h"

#include <gtest/gtest.h>

#include <barrier>
#include <cstring>
#include <functional>
#include <thread>
#include <vector>

namespace tessera::tests {

using namespace runtime;

/// What the threads of a group share.
struct ThreadGroup {
  explicit ThreadGroup(int size) : barrier(size), buffers(size) {}
  std::barrier<> barrier;
  std::vector<const char *> buffers; ///< of each rank in the running collective
};

/// Rank `rank` of a group of threads. It has the collectives that agreements and watchdogs use.
class ThreadCommunicator final : public HostCommunicator {
public:
  ThreadCommunicator(ThreadGroup &group, int rank, std::string name = "world")
      : HostCommunicator(std::move(name), rank, static_cast<int>(group.buffers.size())), group(group) {}
  [[noreturn]] void abandon(ExitStatus status) override { std::_Exit(static_cast<int>(status)); }

private:
  /// Runs `copy` while the buffers of all ranks are known.
  void exchange(const void *own, const std::function<void()> &copy) {
    group.buffers[rank()] = static_cast<const char *>(own);
    group.barrier.arrive_and_wait();
    copy();
    group.barrier.arrive_and_wait();
  }
  void moveAllToAll(std::string_view, const void *from, void *to, size_t bytes) override {
    exchange(from, [&] {
      for (int other = 0; other < size(); ++other)
        memcpy(static_cast<char *>(to) + other * bytes, group.buffers[other] + rank() * bytes, bytes);
    });
  }
  void moveAllGather(std::string_view, const void *from, void *to, size_t bytes) override {
    exchange(from, [&] {
      for (int other = 0; other < size(); ++other)
        memcpy(static_cast<char *>(to) + other * bytes, group.buffers[other], bytes);
    });
  }
  void moveBroadcast(std::string_view, void *data, size_t bytes, int root) override {
    exchange(data, [&] {
      if (rank() != root) memcpy(data, group.buffers[root], bytes);
    });
  }
  void moveSendReceive(std::string_view, const void *, size_t, int, void *, size_t, int) override {
    ADD_FAILURE() << "threads do not send";
  }
  void waitForAll(std::string_view) override { group.barrier.arrive_and_wait(); }
  std::unique_ptr<HostCommunicator> makeGroup(std::string, int, int) override {
    ADD_FAILURE() << "groups of threads are not split";
    return nullptr;
  }
  void end() override { group.barrier.arrive_and_wait(); }

  ThreadGroup &group;
};

/// Runs `body` as each of `ranks` ranks, and waits for them.
inline void onRanks(int ranks, const std::function<void(HostCommunicator &world)> &body) {
  ThreadGroup group(ranks);
  std::vector<std::thread> threads;
  for (int rank = 0; rank < ranks; ++rank)
    threads.emplace_back([&group, &body, rank] {
      ThreadCommunicator world(group, rank);
      body(world);
    });
  for (std::thread &thread : threads) thread.join();
}

/// The message of the Error that `body` throws.
template <typename Body> std::string messageOf(Body body) {
  try {
    body();
  } catch (const Error &error) {
    return error.what();
  }
  return "no error";
}

} // namespace tessera::tests

#endif // TESSERA_TESTS_RUNTIME_RANKS_THREADRANKS_H
