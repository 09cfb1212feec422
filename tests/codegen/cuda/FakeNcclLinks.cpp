//===- FakeNcclLinks.cpp - connections between ranks of the fake NCCL -------===//

#include "tests/codegen/cuda/FakeNcclLinks.h"

#include <algorithm>
#include <cerrno>
#include <cstddef>
#include <cstdlib>
#include <cstring>
#include <poll.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

namespace tessera::test {

namespace {
using std::chrono::milliseconds;

// ncclResult_t
constexpr int systemError = 2, invalidUsage = 5, remoteError = 6;

/// The name on which a rank listens. That it begins with a zero makes it abstract.
struct Address {
  Address(const std::string &id, int rank) {
    std::string name = id + ", rank " + std::to_string(rank);
    name.resize(std::min(name.size(), sizeof address.sun_path - 1));
    memcpy(address.sun_path + 1, name.data(), name.size());
    size = static_cast<socklen_t>(offsetof(sockaddr_un, sun_path) + 1 + name.size());
  }
  const sockaddr *get() const { return reinterpret_cast<const sockaddr *>(&address); }

  sockaddr_un address = {.sun_family = AF_UNIX, .sun_path = {}};
  socklen_t size;
};

OwnedFile makeSocket() { return OwnedFile(socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0)); }

/// Whether there is something to read before the patience is over.
bool waitFor(int socket, Patience &patience) {
  while (!patience.isOver()) {
    pollfd entry = {socket, POLLIN, 0};
    int ready = poll(&entry, 1, static_cast<int>(Patience::slice.count()));
    if (ready > 0) return true;
    if (ready == 0) patience.spend(Patience::slice);
  }
  return false;
}

/// Sends the card of this rank and receives that of the other one; nothing if the other one closes the connection.
std::optional<RankCard> exchangeCards(int socket, const RankCard &own, Patience &patience) {
  RankCard other;
  if (send(socket, &own, sizeof own, MSG_NOSIGNAL) != sizeof own || !waitFor(socket, patience)) return std::nullopt;
  if (recv(socket, &other, sizeof other, MSG_WAITALL) != sizeof other) return std::nullopt;
  if (other.ranks != own.ranks)
    throw LinkError{invalidUsage, "the id is for " + std::to_string(std::min(own.ranks, other.ranks)) +
                                      " ranks or for " + std::to_string(std::max(own.ranks, other.ranks))};
  return other;
}
} // namespace

Patience::Patience() : left(std::chrono::seconds(60)) {
  if (const char *text = getenv("FAKE_NCCL_PATIENCE")) left = std::chrono::seconds(atoi(text));
}

OwnedFile::~OwnedFile() {
  if (number >= 0) ::close(number);
}

//===----------------------------------------------------------------------===//
// Connecting
//===----------------------------------------------------------------------===//

RankLinks::RankLinks(const std::string &id, const RankCard &own) : ownRank(own.rank), links(own.ranks) {
  OwnedFile listener = listen(id);
  links[ownRank].card = own;
  connectToEarlier(id, own);
  acceptLater(listener, own);
  wakeUp = OwnedFile(eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK));
  if (wakeUp.get() < 0) throw LinkError{systemError, std::string("no eventfd: ") + strerror(errno)};
  thread = std::thread([this] { run(); });
}

OwnedFile RankLinks::listen(const std::string &id) const {
  OwnedFile listener = makeSocket();
  Address address(id, ownRank);
  if (bind(listener.get(), address.get(), address.size) == 0 && ::listen(listener.get(), ranks()) == 0) return listener;
  if (errno == EADDRINUSE) throw LinkError{invalidUsage, "there is a rank " + std::to_string(ownRank) + " already"};
  throw LinkError{systemError, std::string("no socket: ") + strerror(errno)};
}

void RankLinks::giveUp() const {
  auto arrived = 1 + std::count_if(links.begin(), links.end(), [](const Link &link) { return link.socket.get() >= 0; });
  throw LinkError{remoteError, "only " + std::to_string(arrived) + " of " + std::to_string(ranks()) +
                                   " ranks have arrived at rank " + std::to_string(ownRank)};
}

void RankLinks::connectToEarlier(const std::string &id, const RankCard &own) {
  constexpr milliseconds pause(2);
  for (int rank = 0; rank < ownRank; ++rank) {
    Address address(id, rank);
    Patience patience;
    OwnedFile socket = makeSocket();
    for (; connect(socket.get(), address.get(), address.size) != 0; patience.spend(pause)) {
      if (patience.isOver()) giveUp();
      std::this_thread::sleep_for(pause); // it does not listen yet
    }
    std::optional<RankCard> card = exchangeCards(socket.get(), own, patience);
    if (!card) giveUp();
    links[rank].card = *card;
    links[rank].socket = std::move(socket);
  }
}

void RankLinks::acceptLater(const OwnedFile &listener, const RankCard &own) {
  Patience patience;
  for (int missing = ranks() - ownRank - 1; missing > 0;) {
    if (!waitFor(listener.get(), patience)) giveUp();
    OwnedFile socket(accept4(listener.get(), nullptr, nullptr, SOCK_CLOEXEC));
    std::optional<RankCard> card = exchangeCards(socket.get(), own, patience);
    if (!card) continue; // it has died
    links[card->rank].card = *card;
    links[card->rank].socket = std::move(socket);
    --missing;
  }
}

//===----------------------------------------------------------------------===//
// Messages
//===----------------------------------------------------------------------===//

void RankLinks::send(int rank, SharedMessage message) {
  if (links[rank].presence != Presence::Here) return;
  links[rank].outgoing.push_back({message->size(), message});
  wake();
}

std::optional<RankLinks::Message> RankLinks::take(int rank) {
  auto &arrived = links[rank].arrived;
  if (arrived.empty()) return std::nullopt;
  Message message = std::move(arrived.front());
  arrived.pop_front();
  return message;
}

void RankLinks::close() {
  {
    std::unique_lock lock(mutex);
    if (hasFarewell || !thread.joinable()) return;
    for (Link &link : links)
      if (link.socket.get() >= 0 && link.presence == Presence::Here) link.outgoing.emplace_back();
    hasFarewell = true;
    wake();
    changed.notify_all();
    changed.wait_for(lock, std::chrono::seconds(1), [&] {
      return std::all_of(links.begin(), links.end(), [](const Link &link) { return link.outgoing.empty(); });
    });
    isStopping = true;
    wake();
  }
  thread.join();
  for (Link &link : links) link.socket = OwnedFile();
}

//===----------------------------------------------------------------------===//
// The thread
//===----------------------------------------------------------------------===//

void RankLinks::wake() const {
  uint64_t one = 1;
  [[maybe_unused]] ssize_t written = write(wakeUp.get(), &one, sizeof one);
}

void RankLinks::run() {
  std::unique_lock lock(mutex);
  while (!isStopping) {
    std::vector<pollfd> entries;
    for (Link &link : links) {
      short events = link.outgoing.empty() ? POLLIN : POLLIN | POLLOUT;
      entries.push_back({link.presence == Presence::Here ? link.socket.get() : -1, events, 0});
    }
    entries.push_back({wakeUp.get(), POLLIN, 0});
    lock.unlock();
    poll(entries.data(), entries.size(), -1);
    lock.lock();
    uint64_t wakes = 0;
    [[maybe_unused]] ssize_t count = read(wakeUp.get(), &wakes, sizeof wakes);
    for (size_t rank = 0; rank < links.size(); ++rank) {
      if (entries[rank].revents & ~POLLOUT) moveIncoming(links[rank]);
      if (entries[rank].revents & POLLOUT) moveOutgoing(links[rank]);
    }
    changed.notify_all();
  }
}

void RankLinks::lose(Link &link, Presence presence) {
  link.presence = presence;
  link.outgoing.clear();
}

void RankLinks::moveOutgoing(Link &link) {
  while (!link.outgoing.empty()) {
    Outgoing &next = link.outgoing.front();
    bool isSize = next.done < sizeBytes;
    const char *from = isSize ? reinterpret_cast<const char *>(&next.size) + next.done
                              : next.message->data() + (next.done - sizeBytes);
    size_t rest = (isSize ? sizeBytes : sizeBytes + next.size) - next.done;
    ssize_t count = ::send(link.socket.get(), from, rest, MSG_DONTWAIT | MSG_NOSIGNAL);
    if (count < 0 && (errno == EAGAIN || errno == EINTR)) return;
    if (count < 0) return link.outgoing.clear(); // what the rank sent before it was lost may still arrive
    next.done += count;
    if (next.done == sizeBytes + next.size) link.outgoing.pop_front();
  }
}

void RankLinks::moveIncoming(Link &link) {
  for (;;) {
    Incoming &next = link.incoming;
    bool isSize = next.done < sizeBytes;
    char *to =
        isSize ? reinterpret_cast<char *>(&next.size) + next.done : next.message.data() + (next.done - sizeBytes);
    size_t rest = (isSize ? sizeBytes : sizeBytes + next.size) - next.done;
    ssize_t count = recv(link.socket.get(), to, rest, MSG_DONTWAIT);
    if (count < 0 && (errno == EAGAIN || errno == EINTR)) return;
    if (count <= 0) return lose(link, Presence::Died);
    next.done += count;
    if (next.done == sizeBytes) next.message.resize(next.size);
    if (next.done < sizeBytes || next.done < sizeBytes + next.size) continue;
    if (next.size == 0) return lose(link, Presence::Left);
    link.arrived.push_back(std::move(next.message));
    next = {};
  }
}

} // namespace tessera::test
