//===- Exchanges.cpp - collectives that are made of exchanges -------------===//

#include "runtime/ranks/Exchanges.h"

#include <cstring>

namespace tessera::runtime {

void ExchangeCommunicator::moveAllToAll(std::string_view what, const void *from, void *to, size_t bytes) {
  const char *source = static_cast<const char *>(from);
  char *target = static_cast<char *>(to);
  memcpy(target + rank() * bytes, source + rank() * bytes, bytes);
  for (int distance = 1; distance < size(); ++distance) {
    int toRank = (rank() + distance) % size(), fromRank = (rank() + size() - distance) % size();
    exchange("allToAll", what, source + toRank * bytes, bytes, toRank, target + fromRank * bytes, bytes, fromRank);
  }
}

void ExchangeCommunicator::moveAllGather(std::string_view what, const void *from, void *to, size_t bytes) {
  char *target = static_cast<char *>(to), *own = target + rank() * bytes;
  if (from != own) memcpy(own, from, bytes);
  int next = (rank() + 1) % size(), before = (rank() + size() - 1) % size();
  for (int round = 0; round + 1 < size(); ++round) {
    int passedOn = (rank() + size() - round) % size(), taken = (before + size() - round) % size();
    exchange("allGather", what, target + passedOn * bytes, bytes, next, target + taken * bytes, bytes, before);
  }
}

/// Ranks are counted from the root. The lowest bit of a rank leads to the one that it receives from; it passes the data
/// on along all lower bits, the most distant rank first.
void ExchangeCommunicator::moveBroadcast(std::string_view what, void *data, size_t bytes, int root) {
  char *all = static_cast<char *>(data);
  int place = (rank() + size() - root) % size(), bit = 1;
  auto rankAt = [&](int other) { return (other + root) % size(); };
  while (bit < size() && !(place & bit)) bit <<= 1;
  if (place != 0) exchange("broadcast", what, nullptr, 0, noRank, all, bytes, rankAt(place - bit));
  for (bit >>= 1; bit > 0; bit >>= 1)
    if (place + bit < size()) exchange("broadcast", what, all, bytes, rankAt(place + bit), nullptr, 0, noRank);
}

void ExchangeCommunicator::moveSendReceive(std::string_view what, const void *from, size_t fromBytes, int toRank,
                                           void *to, size_t toBytes, int fromRank) {
  exchange("sendReceive", what, static_cast<const char *>(from), fromBytes, toRank, static_cast<char *>(to), toBytes,
           fromRank);
}

void ExchangeCommunicator::waitForAll(std::string_view what) {
  for (int distance = 1; distance < size(); distance *= 2) {
    char sent = 0, received = 0;
    exchange("barrier", what, &sent, 1, (rank() + distance) % size(), &received, 1,
             (rank() + size() - distance) % size());
  }
}

} // namespace tessera::runtime
