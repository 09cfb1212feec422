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

#include <arpa/inet.h>
#include <cerrno>
#include <cstring>
#include <fcntl.h>
#include <fstream>
#include <ifaddrs.h>
#include <net/if.h>
#include <netdb.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <sys/random.h>
#include <sys/socket.h>
#include <thread>
#include <unistd.h>
#include <utility>

namespace tessera::runtime {

namespace {
using Clock = std::chrono::steady_clock;
using std::chrono::milliseconds;

/// For one address, before the next one is tried, and for a stranger who says nothing.
constexpr milliseconds patience{3'000};

/// What both ends of a connection say first.
struct Hello {
  char secret[16];
  int32_t rank;
  bool isFrom(const Hello &other, int32_t expected) const {
    return memcmp(secret, other.secret, sizeof(secret)) == 0 && rank == expected;
  }
};

/// Closed at the end of its scope.
class OwnedSocket {
public:
  explicit OwnedSocket(int number) : number(number) {}
  ~OwnedSocket() {
    if (number >= 0) ::close(number);
  }
  OwnedSocket(const OwnedSocket &) = delete;
  int get() const { return number; }
  int release() { return std::exchange(number, -1); }

private:
  int number;
};

bool waitFor(int socket, short events, Clock::time_point until) {
  for (;;) {
    auto left = std::chrono::duration_cast<milliseconds>(until - Clock::now()).count();
    pollfd entry = {socket, events, 0};
    int ready = poll(&entry, 1, static_cast<int>(std::max<int64_t>(left, 0)));
    if (ready >= 0 || errno != EINTR) return ready > 0;
  }
}

/// Sends or receives all of it, or returns false.
template <typename Move> bool moveAll(int socket, short events, size_t bytes, Clock::time_point until, Move move) {
  for (size_t done = 0; done < bytes;) {
    if (!waitFor(socket, events, until)) return false;
    ssize_t count = move(done);
    if (count == 0 || (count < 0 && errno != EAGAIN && errno != EINTR)) return false;
    done += std::max<ssize_t>(count, 0);
  }
  return true;
}
bool sendAll(int socket, const Hello &hello, Clock::time_point until) {
  auto *bytes = reinterpret_cast<const char *>(&hello);
  return moveAll(socket, POLLOUT, sizeof(hello), until,
                 [&](size_t done) { return ::send(socket, bytes + done, sizeof(hello) - done, MSG_NOSIGNAL); });
}
bool receiveAll(int socket, Hello &hello, Clock::time_point until) {
  auto *bytes = reinterpret_cast<char *>(&hello);
  return moveAll(socket, POLLIN, sizeof(hello), until,
                 [&](size_t done) { return ::recv(socket, bytes + done, sizeof(hello) - done, 0); });
}

void copyText(char *to, size_t size, const std::string &text) {
  size_t length = std::min(text.size(), size - 1);
  memcpy(to, text.data(), length);
  to[length] = 0;
}

//===----------------------------------------------------------------------===//
// Addresses
//===----------------------------------------------------------------------===//

/// "10.0.0.1", "fe80::1%eth0"; empty for other families.
std::string textOf(const sockaddr *address) {
  bool isIpv4 = address && address->sa_family == AF_INET, isIpv6 = address && address->sa_family == AF_INET6;
  if (!isIpv4 && !isIpv6) return "";
  char text[NI_MAXHOST];
  socklen_t size = isIpv4 ? sizeof(sockaddr_in) : sizeof(sockaddr_in6);
  return getnameinfo(address, size, text, sizeof(text), nullptr, 0, NI_NUMERICHOST) == 0 ? text : "";
}

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

/// Machine and network namespace.
std::string networkName() {
  std::string id;
  std::ifstream("/proc/sys/kernel/random/boot_id") >> id;
  char space[48] = "";
  ssize_t length = readlink("/proc/self/ns/net", space, sizeof(space) - 1);
  return id + std::string(space, std::max<ssize_t>(length, 0));
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
  if (strncmp(other.network, own.network, sizeof(own.network)) == 0) addresses = {"127.0.0.1", "::1"};
  for (const auto &address : other.addresses)
    if (address[0]) addresses.push_back(address);
  return addresses;
}

//===----------------------------------------------------------------------===//
// Sockets
//===----------------------------------------------------------------------===//

/// Listens on a free port of all addresses. Returns the socket, which does not block, and the port.
std::pair<int, int> listenAnywhere(int backlog) {
  for (int family : {AF_INET6, AF_INET}) {
    OwnedSocket listener(socket(family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
    int off = 0;
    if (listener.get() < 0) continue;
    if (family == AF_INET6) setsockopt(listener.get(), IPPROTO_IPV6, IPV6_V6ONLY, &off, sizeof(off));
    sockaddr_storage address = {};
    address.ss_family = static_cast<sa_family_t>(family);
    socklen_t size = family == AF_INET6 ? sizeof(sockaddr_in6) : sizeof(sockaddr_in);
    if (bind(listener.get(), reinterpret_cast<sockaddr *>(&address), size) != 0) continue;
    if (listen(listener.get(), backlog) != 0) continue;
    if (getsockname(listener.get(), reinterpret_cast<sockaddr *>(&address), &size) != 0) continue;
    int port = ntohs(family == AF_INET6 ? reinterpret_cast<sockaddr_in6 &>(address).sin6_port
                                        : reinterpret_cast<sockaddr_in &>(address).sin_port);
    return {listener.release(), port};
  }
  fail("the watchdog of this rank cannot listen for the other ranks: {}", strerror(errno));
}

/// Connects to rank `rank` at one of its addresses; -1 if it is not there.
int connectTo(const std::string &address, int port, const Hello &own, int rank, Clock::time_point until) {
  addrinfo hints = {}, *found = nullptr;
  hints.ai_flags = AI_NUMERICHOST | AI_NUMERICSERV;
  hints.ai_socktype = SOCK_STREAM;
  if (getaddrinfo(address.c_str(), std::to_string(port).c_str(), &hints, &found) != 0) return -1;
  OwnedSocket connection(socket(found->ai_family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
  int status = connect(connection.get(), found->ai_addr, found->ai_addrlen);
  freeaddrinfo(found);
  if (status != 0 && errno != EINPROGRESS) return -1;
  Hello answer = {};
  if (!waitFor(connection.get(), POLLOUT, until) || !sendAll(connection.get(), own, until)) return -1;
  if (!receiveAll(connection.get(), answer, until) || !answer.isFrom(own, rank)) return -1;
  return connection.release();
}

/// Accepts the ranks after this one, until all are there or the time is over.
void acceptLater(int listener, const Hello &own, std::vector<PeerSocket> &sockets, Clock::time_point until) {
  int missing = static_cast<int>(sockets.size()) - own.rank - 1;
  while (missing > 0 && waitFor(listener, POLLIN, until)) {
    OwnedSocket connection(accept4(listener, nullptr, nullptr, SOCK_CLOEXEC | SOCK_NONBLOCK));
    Hello hello = {};
    auto end = std::min(until, Clock::now() + patience);
    if (connection.get() < 0 || !receiveAll(connection.get(), hello, end)) continue;
    bool isLater = hello.rank > own.rank && hello.rank < static_cast<int>(sockets.size());
    if (!isLater || !hello.isFrom(own, hello.rank) || sockets[hello.rank].socket >= 0) continue;
    if (!sendAll(connection.get(), own, end)) continue;
    sockets[hello.rank].socket = connection.release();
    --missing;
  }
}
} // namespace

std::vector<PeerSocket> connectToAll(HostCommunicator &world, milliseconds limit) {
  if (world.size() == 1) return std::vector<PeerSocket>(1);
  auto [listening, port] = listenAnywhere(world.size());
  OwnedSocket listener(listening);
  Hello own = {};
  if (world.rank() == 0 && getrandom(own.secret, sizeof(own.secret), 0) != sizeof(own.secret))
    fail("cannot make a secret for the connections of this run: {}", strerror(errno));
  world.broadcast("secret of the run", own.secret, sizeof(own.secret), 0);
  own.rank = world.rank();
  std::vector<PeerCard> cards(world.size());
  PeerCard card = ownCard(port);
  world.allGather("addresses of the ranks", &card, cards.data(), sizeof(card));

  std::vector<PeerSocket> sockets(world.size());
  auto until = Clock::now() + limit;
  // Beside this thread: a rank that waited for those before it could not answer those after it.
  std::thread acceptor([&] { acceptLater(listener.get(), own, sockets, until); });
  for (int rank = 0; rank < world.rank(); ++rank)
    for (const std::string &address : addressesOf(cards[rank], card)) {
      auto end = std::min(until, Clock::now() + patience);
      if ((sockets[rank].socket = connectTo(address, cards[rank].port, own, rank, end)) >= 0) break;
    }
  acceptor.join();
  int unreached = noRank;
  for (int rank = 0; rank < world.size(); ++rank) {
    sockets[rank].card = cards[rank];
    int on = 1;
    if (sockets[rank].socket >= 0) setsockopt(sockets[rank].socket, IPPROTO_TCP, TCP_NODELAY, &on, sizeof(on));
    if (sockets[rank].socket < 0 && rank != world.rank()) unreached = rank;
  }
  if (unreached == noRank) return sockets;
  for (PeerSocket &peer : sockets)
    if (peer.socket >= 0) ::close(peer.socket);
  fail(
      "rank {} on {} cannot connect to rank {} on {} (port {} of {}): allow TCP connections between the hosts of a run",
      world.rank(), card.host, unreached, cards[unreached].host, cards[unreached].port,
      fmt::format("{}", fmt::join(addressesOf(cards[unreached], card), ", ")));
}

} // namespace tessera::runtime
