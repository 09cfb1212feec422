//===- PeerSockets.cpp - how ranks find and connect to each other ---------===//
//
//   1. Each rank listens on a free port.
//   2. All ranks learn the addresses of all, and a secret of this run.
//   3. A rank connects to those before it, and is connected to by those after it. Both say who they are and the secret:
//      an address may be that of another machine, or a stranger may connect.
//   4. Nothing listens any more.
//
//===----------------------------------------------------------------------===//

#include "runtime/ranks/PeerSockets.h"

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <fstream>
#include <ifaddrs.h>
#include <net/if.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <sys/random.h>
#include <sys/resource.h>
#include <thread>
#include <unistd.h>

namespace tessera::runtime {

std::string networkName() {
  std::string id;
  std::ifstream("/proc/sys/kernel/random/boot_id") >> id;
  char space[48] = "";
  ssize_t length = readlink("/proc/self/ns/net", space, sizeof(space) - 1);
  return id + std::string(space, std::max<ssize_t>(length, 0));
}

bool areOnOneHost(const PeerCard &rank, const PeerCard &other) {
  return strncmp(rank.network, other.network, sizeof(rank.network)) == 0;
}

namespace {
using Clock = std::chrono::steady_clock;
using std::chrono::milliseconds;

/// What both ends of a connection say first.
struct Hello {
  PeerSecret secret;
  int32_t rank;
  bool isFrom(const Hello &other, int32_t expected) const {
    return memcmp(secret.bytes, other.secret.bytes, sizeof(secret.bytes)) == 0 && rank == expected;
  }
};

void copyText(char *to, size_t size, const std::string &text) {
  size_t length = std::min(text.size(), size - 1);
  memcpy(to, text.data(), length);
  to[length] = 0;
}

//===----------------------------------------------------------------------===//
// Addresses
//===----------------------------------------------------------------------===//

/// The addresses of this host that others may know: first those of version 4, not those of links.
std::vector<std::string> ownAddresses() {
  std::vector<std::string> first, later;
  ifaddrs *list = nullptr;
  if (getifaddrs(&list) != 0) return {};
  for (ifaddrs *entry = list; entry; entry = entry->ifa_next) {
    std::string text = textOf(entry->ifa_addr);
    bool isUp = entry->ifa_flags & IFF_UP, isLoopback = entry->ifa_flags & IFF_LOOPBACK;
    if (text.empty() || !isUp || isLoopback || text.find('%') != std::string::npos) continue;
    (entry->ifa_addr->sa_family == AF_INET ? first : later).push_back(text);
  }
  freeifaddrs(list);
  first.insert(first.end(), later.begin(), later.end());
  return first;
}

PeerCard ownCard(int port) {
  PeerCard card = {};
  char host[256] = "";
  gethostname(host, sizeof(host) - 1);
  copyText(card.host, sizeof(card.host), host);
  copyText(card.network, sizeof(card.network), networkName());
  size_t next = 0;
  for (const std::string &address : ownAddresses())
    if (next < std::size(card.addresses) && address.size() < sizeof(card.addresses[0]))
      copyText(card.addresses[next++], sizeof(card.addresses[0]), address);
  card.process = getpid();
  card.port = port;
  return card;
}

/// Where rank `other` may be reached from here, the likeliest first.
std::vector<std::string> addressesOf(const PeerCard &other, const PeerCard &own) {
  std::vector<std::string> addresses;
  if (areOnOneHost(other, own)) addresses = {"127.0.0.1", "::1"};
  for (const auto &address : other.addresses)
    if (address[0]) addresses.push_back(address);
  return addresses;
}

//===----------------------------------------------------------------------===//
// Connections
//===----------------------------------------------------------------------===//

/// Many ranks are many connections: as many open files as this process may have at all.
void raiseFileLimit() {
  rlimit limit = {};
  if (getrlimit(RLIMIT_NOFILE, &limit) != 0 || limit.rlim_cur == limit.rlim_max) return;
  limit.rlim_cur = limit.rlim_max;
  setrlimit(RLIMIT_NOFILE, &limit);
}

/// Connects to rank `rank` at one of its addresses; not open if it is not there.
OwnedSocket greet(const std::string &address, int port, const Hello &own, int rank, SocketTime until) {
  std::string reason;
  OwnedSocket connection = connectTo(address, port, /*isName=*/false, until, reason);
  Hello answer = {};
  if (!connection.isOpen() || !sendAll(connection.get(), &own, sizeof(own), until) ||
      !receiveAll(connection.get(), &answer, sizeof(answer), until) || !answer.isFrom(own, rank))
    connection.close();
  return connection;
}

/// Accepts the ranks after this one, until all are there or the time is over.
void acceptLater(int listener, const Hello &own, std::vector<PeerSocket> &sockets, SocketTime until) {
  int missing = static_cast<int>(sockets.size()) - own.rank - 1;
  while (missing > 0 && waitFor(listener, POLLIN, until)) {
    OwnedSocket connection(accept4(listener, nullptr, nullptr, SOCK_CLOEXEC | SOCK_NONBLOCK));
    Hello hello = {};
    auto end = std::min(until, Clock::now() + patience);
    if (!connection.isOpen() || !receiveAll(connection.get(), &hello, sizeof(hello), end)) continue;
    bool isLater = hello.rank > own.rank && hello.rank < static_cast<int>(sockets.size());
    if (!isLater || !hello.isFrom(own, hello.rank) || sockets[hello.rank].socket >= 0) continue;
    if (!sendAll(connection.get(), &own, sizeof(own), end)) continue;
    sockets[hello.rank].socket = connection.release();
    --missing;
  }
}
} // namespace

PeerSecret PeerSecret::make() {
  PeerSecret secret = {};
  if (getrandom(secret.bytes, sizeof(secret.bytes), 0) != sizeof(secret.bytes))
    fail("cannot make a secret for the connections of this run: {}", strerror(errno));
  return secret;
}

PeerListener::PeerListener(int ranks) : listener(listenOn(0, ranks)), own() {
  if (!listener.isOpen()) fail("this rank cannot listen for the other ranks: {}", strerror(errno));
  own = ownCard(portOf(listener.get()));
}

std::vector<PeerSocket> PeerListener::connectToAll(int rank, const PeerSecret &secret,
                                                   const std::vector<PeerCard> &cards, milliseconds limit) {
  constexpr size_t manyRanks = 128;
  if (cards.size() > manyRanks) raiseFileLimit();
  const Hello hello = {secret, rank};
  std::vector<PeerSocket> sockets(cards.size());
  auto until = Clock::now() + limit;
  // Beside this thread: a rank that waited for those before it could not answer those after it.
  std::thread acceptor([&] { acceptLater(listener.get(), hello, sockets, until); });
  for (int other = 0; other < rank; ++other)
    for (const std::string &address : addressesOf(cards[other], own)) {
      auto end = std::min(until, Clock::now() + patience);
      sockets[other].socket = greet(address, cards[other].port, hello, other, end).release();
      if (sockets[other].socket >= 0) break;
    }
  acceptor.join();
  listener.close();
  int unreached = noRank, count = static_cast<int>(cards.size());
  for (int other = 0; other < count; ++other) {
    sockets[other].card = cards[other];
    int on = 1;
    if (sockets[other].socket >= 0) setsockopt(sockets[other].socket, IPPROTO_TCP, TCP_NODELAY, &on, sizeof(on));
    if (sockets[other].socket < 0 && other != rank) unreached = other;
  }
  if (unreached == noRank) return sockets;
  for (PeerSocket &peer : sockets)
    if (peer.socket >= 0) ::close(peer.socket);
  fail(
      "rank {} on {} cannot connect to rank {} on {} (port {} of {}): allow TCP connections between the hosts of a run",
      rank, own.host, unreached, cards[unreached].host, cards[unreached].port,
      fmt::format("{}", fmt::join(addressesOf(cards[unreached], own), ", ")));
}

std::vector<PeerSocket> connectToAll(HostCommunicator &world, milliseconds limit) {
  if (world.size() == 1) return std::vector<PeerSocket>(1);
  PeerListener listener(world.size());
  PeerSecret secret = {};
  if (world.rank() == 0) secret = PeerSecret::make();
  world.broadcast("secret of the run", &secret, sizeof(secret), 0);
  std::vector<PeerCard> cards(world.size());
  world.allGather("addresses of the ranks", &listener.card(), cards.data(), sizeof(PeerCard));
  return listener.connectToAll(world.rank(), secret, cards, limit);
}

void preferAddress(PeerCard &card, const std::string &address) {
  auto *first = std::begin(card.addresses), *last = std::end(card.addresses) - 1;
  if (address.empty() || address.size() >= sizeof(*first)) return;
  auto *found = std::find_if(first, last, [&](const char *other) { return address == other; });
  for (; found != first; --found) memcpy(found, found - 1, sizeof(*found));
  copyText(*first, sizeof(*first), address);
}

} // namespace tessera::runtime
