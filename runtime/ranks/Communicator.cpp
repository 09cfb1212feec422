//===- Communicator.cpp - a group of ranks that moves bytes ---------------===//

#include "runtime/ranks/Communicator.h"

#include <cstdlib>
#include <cstring>

namespace tessera::runtime {

HostCommunicator::HostCommunicator(std::string name, int rank, int size)
    : groupName(std::move(name)), ownRank(rank), rankCount(size) {}

std::string HostCommunicator::place(const char *function, std::string_view what) const {
  return fmt::format("{} '{}' on rank {} of {} of '{}'", function, what, ownRank, rankCount, groupName);
}

void HostCommunicator::checkRank(const char *function, std::string_view what, int rank) const {
  if (rank < 0 || rank >= rankCount)
    fail("{}: expected a rank from 0 to {}, got {}", place(function, what), rankCount - 1, rank);
}

/// A collective, from its beginning to its end. Also if it fails: then its caller is in no collective any more.
class HostCommunicator::Announced {
public:
  Announced(HostCommunicator &group, std::string_view what, int64_t received, std::chrono::milliseconds work = {})
      : observer(group.observation->observer) {
    if (observer) observer->begin(what, work);
    ++group.moved.collectives;
    group.moved.received += received;
  }
  ~Announced() {
    if (observer) observer->end();
  }
  Announced(const Announced &) = delete;

private:
  CollectiveObserver *observer;
};

void HostCommunicator::allToAll(std::string_view what, const void *from, void *to, size_t bytes) {
  Announced announced(*this, what, (rankCount - 1) * static_cast<int64_t>(bytes));
  if (bytes > 0) moveAllToAll(what, from, to, bytes);
}

void HostCommunicator::allGather(std::string_view what, const void *from, void *to, size_t bytes) {
  Announced announced(*this, what, (rankCount - 1) * static_cast<int64_t>(bytes));
  if (bytes > 0) moveAllGather(what, from, to, bytes);
}

void HostCommunicator::broadcast(std::string_view what, void *data, size_t bytes, int root) {
  checkRank("broadcast", what, root);
  Announced announced(*this, what, root == ownRank ? 0 : static_cast<int64_t>(bytes));
  if (bytes > 0) moveBroadcast(what, data, bytes, root);
}

void HostCommunicator::sendReceive(std::string_view what, const void *from, size_t fromBytes, int toRank, void *to,
                                   size_t toBytes, int fromRank) {
  if (toRank != noRank) checkRank("sendReceive", what, toRank);
  if (fromRank != noRank) checkRank("sendReceive", what, fromRank);
  bool receives = fromRank != noRank && fromRank != ownRank;
  Announced announced(*this, what, receives ? static_cast<int64_t>(toBytes) : 0);
  if (toRank == ownRank || fromRank == ownRank) { // the two must meet: a library would wait for the other for ever
    if (toRank != fromRank || fromBytes != toBytes)
      fail("{}: a rank that sends to itself must receive as many bytes from itself", place("sendReceive", what));
    if (toBytes > 0) memcpy(to, from, toBytes);
    return;
  }
  moveSendReceive(what, from, toRank == noRank ? 0 : fromBytes, toRank, to, fromRank == noRank ? 0 : toBytes, fromRank);
}

void HostCommunicator::announce(std::string_view what, const std::function<void()> &body,
                                std::chrono::milliseconds work) {
  Announced announced(*this, what, 0, work);
  body();
}

void HostCommunicator::barrier(std::string_view what) {
  Announced announced(*this, what, 0);
  waitForAll(what);
}

std::unique_ptr<HostCommunicator> HostCommunicator::split(std::string name, int group, int order) {
  Announced announced(*this, name, 0);
  std::unique_ptr<HostCommunicator> part = makeGroup(std::move(name), group, order);
  part->observation = observation;
  return part;
}

void HostCommunicator::finish() {
  Announced announced(*this, "the end of the run", 0);
  end();
}

//===----------------------------------------------------------------------===//
// One rank
//===----------------------------------------------------------------------===//

void OneRank::abandon(ExitStatus status) { std::_Exit(static_cast<int>(status)); }

void OneRank::moveAllToAll(std::string_view, const void *from, void *to, size_t bytes) { memcpy(to, from, bytes); }

void OneRank::moveAllGather(std::string_view, const void *from, void *to, size_t bytes) {
  if (from != to) memcpy(to, from, bytes);
}

void OneRank::moveSendReceive(std::string_view, const void *, size_t, int, void *, size_t, int) {
  // Both ranks are `noRank`: what goes to this rank itself was copied before.
}

std::unique_ptr<HostCommunicator> OneRank::makeGroup(std::string name, int, int) {
  return std::make_unique<OneRank>(std::move(name));
}

} // namespace tessera::runtime
