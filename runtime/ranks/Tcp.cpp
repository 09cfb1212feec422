//===- Tcp.cpp - ranks over TCP -------------------------------------------===//
//
// A message is a header and its bytes. All groups share the connection of two ranks: both call their collectives in the
// same order, so messages need no other mark. Whatever a collective sends and receives is on its way at once, and a
// rank sleeps in poll when none of it moves: exchanges of any size cannot block each other.
//
//===----------------------------------------------------------------------===//

#include "runtime/ranks/Tcp.h"

#include "runtime/ranks/Exchanges.h"
#include "runtime/ranks/Meeting.h"
#include "runtime/ranks/SmallExchanges.h"

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <numeric>
#include <optional>
#include <poll.h>
#include <sys/uio.h>
#include <thread>
#include <utility>

namespace tessera::runtime {

namespace {
/// Of a connection on this host: what is on its way stays in the processor's cache, which moves large messages about
/// 15 % faster. Over a network the system finds the size.
constexpr int localBufferBytes = 256 << 10;

/// In which the watchdog of this rank names a rank that is lost, and ends the process.
constexpr std::chrono::seconds verdictTime{5};

/// Before each message.
struct Header {
  int64_t bytes = 0; ///< of the message; `abandoned`: the sender has ended the job, there is no message
  int64_t status = 0;
};
constexpr int64_t abandoned = -1;

/// A message on its way.
struct Transfer {
  int rank = noRank;    ///< of the world
  short event = POLLIN; ///< POLLIN: is received; POLLOUT: is sent
  bool mayMove = true;  ///< false: not before poll says so
  char *data = nullptr;
  size_t bytes = 0;
  size_t done = 0; ///< of the header and the data
  Header header;

  bool isOver() const { return done == sizeof(Header) + bytes; }
};

/// Why a message did not come, or could not be sent.
struct TransferFailure {
  const Transfer *transfer;
  int error; ///< errno; 0: the header tells
};

/// The connections of this rank to all others, which its groups share. Closed when the last group is gone.
class TcpLinks {
public:
  TcpLinks(const RankLaunch &launch, std::vector<PeerSocket> peers);

  /// Adds a message to those that `move` moves. There is room for one from and one to each rank.
  void send(int rank, const char *data, size_t bytes);
  void receive(int rank, char *data, size_t bytes);
  /// Moves all of them. After a failure the connections are of no use.
  std::optional<TransferFailure> move();
  /// Bytes of messages, without their headers, that sockets took since the last call.
  size_t takeSent() { return std::exchange(sent, 0); }

  /// "rank 2 of 4 (process 4711 on node7)": of the world.
  std::string describe(int rank) const;
  void close();
  /// Tells all ranks that read from this one.
  void abandon(ExitStatus status);

private:
  /// As far as it goes without waiting.
  std::optional<TransferFailure> advance(Transfer &transfer);
  void waitForAny();

  struct Peer {
    OwnedSocket socket;
    std::string place; ///< process and host
  };
  std::vector<Peer> peers; ///< by rank of the world
  std::vector<Transfer> transfers;
  std::vector<pollfd> entries; ///< of each transfer
  size_t sent = 0;
};

TcpLinks::TcpLinks(const RankLaunch &launch, std::vector<PeerSocket> sockets) : peers(launch.size) {
  for (int rank = 0; rank < launch.size; ++rank) {
    const PeerCard &card = sockets[rank].card;
    peers[rank] = {OwnedSocket(sockets[rank].socket),
                   fmt::format("process {} on {}", card.process, printable(card.host))};
    if (rank != launch.rank && areOnOneHost(card, sockets[launch.rank].card))
      setsockopt(sockets[rank].socket, SOL_SOCKET, SO_SNDBUF, &localBufferBytes, sizeof(localBufferBytes));
  }
  transfers.reserve(2 * peers.size());
  entries.reserve(2 * peers.size());
}

std::string TcpLinks::describe(int rank) const {
  return fmt::format("rank {} of {} ({})", rank, peers.size(), peers[rank].place);
}

void TcpLinks::close() {
  for (Peer &peer : peers) peer.socket.close();
}

void TcpLinks::abandon(ExitStatus status) {
  Header header = {abandoned, static_cast<int64_t>(status)};
  for (Peer &peer : peers)
    if (peer.socket.isOpen()) ::send(peer.socket.get(), &header, sizeof(header), MSG_NOSIGNAL | MSG_DONTWAIT);
}

void TcpLinks::send(int rank, const char *data, size_t bytes) {
  Transfer transfer;
  transfer.rank = rank;
  transfer.event = POLLOUT;
  transfer.data = const_cast<char *>(data); // is only read
  transfer.bytes = bytes;
  transfer.header.bytes = static_cast<int64_t>(bytes);
  transfers.push_back(transfer);
}

void TcpLinks::receive(int rank, char *data, size_t bytes) {
  Transfer transfer;
  transfer.rank = rank;
  transfer.data = data;
  transfer.bytes = bytes;
  transfers.push_back(transfer);
}

std::optional<TransferFailure> TcpLinks::advance(Transfer &transfer) {
  char *header = reinterpret_cast<char *>(&transfer.header);
  size_t inHeader = std::min(transfer.done, sizeof(Header)), inData = transfer.done - inHeader;
  iovec parts[2] = {{header + inHeader, sizeof(Header) - inHeader}, {transfer.data + inData, transfer.bytes - inData}};
  msghdr message = {};
  message.msg_iov = parts;
  message.msg_iovlen = 2;
  int socket = peers[transfer.rank].socket.get();
  bool isSent = transfer.event == POLLOUT;
  ssize_t count = isSent ? sendmsg(socket, &message, MSG_NOSIGNAL) : recvmsg(socket, &message, 0);
  if (count < 0 && errno == EINTR) return std::nullopt;
  if (count < 0 && errno != EAGAIN) return TransferFailure{&transfer, errno};
  if (count == 0 && !isSent) return TransferFailure{&transfer, ECONNRESET};
  transfer.done += std::max<ssize_t>(count, 0);
  if (isSent && transfer.done > sizeof(Header)) sent += transfer.done - sizeof(Header) - inData;
  transfer.mayMove = false; // all that there was has moved
  bool hasHeader = !isSent && transfer.done >= sizeof(Header);
  if (hasHeader && transfer.header.bytes != static_cast<int64_t>(transfer.bytes)) return TransferFailure{&transfer, 0};
  return std::nullopt;
}

void TcpLinks::waitForAny() {
  entries.clear();
  for (const Transfer &transfer : transfers) // poll ignores negative ones
    entries.push_back({transfer.isOver() ? -1 : peers[transfer.rank].socket.get(), transfer.event, 0});
  if (poll(entries.data(), entries.size(), -1) <= 0) return; // a signal
  for (size_t i = 0; i < entries.size(); ++i) transfers[i].mayMove = entries[i].revents != 0;
}

std::optional<TransferFailure> TcpLinks::move() {
  for (;;) {
    bool isOver = true, mayMove = false;
    for (Transfer &transfer : transfers) {
      if (transfer.isOver()) continue;
      if (transfer.mayMove)
        if (auto failure = advance(transfer)) return failure;
      isOver &= transfer.isOver();
      mayMove |= transfer.mayMove;
    }
    if (isOver) break;
    if (!mayMove) waitForAny();
  }
  transfers.clear();
  return std::nullopt;
}

//===----------------------------------------------------------------------===//
// Groups
//===----------------------------------------------------------------------===//

class TcpCommunicator final : public ExchangeCommunicator {
public:
  /// `members` are ranks of the world; this rank is number `rank` of them.
  TcpCommunicator(std::string name, int rank, std::vector<int> members, std::shared_ptr<TcpLinks> links)
      : ExchangeCommunicator(std::move(name), rank, static_cast<int>(members.size())), members(std::move(members)),
        links(std::move(links)) {}
  [[noreturn]] void abandon(ExitStatus status) override {
    links->abandon(status);
    std::_Exit(static_cast<int>(status));
  }

private:
  void moveAllToAll(std::string_view what, const void *from, void *to, size_t bytes) override;
  void moveAllGather(std::string_view what, const void *from, void *to, size_t bytes) override;
  void exchange(const char *function, std::string_view what, const char *from, size_t fromBytes, int toRank, char *to,
                size_t toBytes, int fromRank) override;
  std::unique_ptr<HostCommunicator> makeGroup(std::string name, int group, int order) override;
  void end() override;

  /// Whether blocks of so many bytes are sent to all ranks at once.
  bool isSmall(size_t bytes) const { return bytes <= smallExchangeBytes / size(); }
  /// Block number `i` of `from` to rank `i`, or the only block if `stride` is 0, and one of each rank to `to`.
  void moveAtOnce(const char *function, std::string_view what, const char *from, size_t stride, char *to, size_t bytes);
  void move(const char *function, std::string_view what);
  [[noreturn]] void failBecause(const char *function, std::string_view what, const TransferFailure &failure) const;

  std::vector<int> members;
  std::shared_ptr<TcpLinks> links;
};

void TcpCommunicator::failBecause(const char *function, std::string_view what, const TransferFailure &failure) const {
  const Transfer &transfer = *failure.transfer;
  int64_t sent = transfer.header.bytes;
  auto found = std::find(members.begin(), members.end(), transfer.rank);
  if (failure.error == 0 && sent != abandoned)
    fail("{}: expected {} bytes from rank {}, got {}", place(function, what), transfer.bytes, found - members.begin(),
         sent);
  std::string other = links->describe(transfer.rank);
  if (failure.error == 0)
    throw Error(
        formatMessage("{}: {} has given up, with status {}", place(function, what), other, transfer.header.status),
        static_cast<ExitStatus>(transfer.header.status));
  if (isObserved()) std::this_thread::sleep_for(verdictTime);
  throw Error(formatMessage("{}: lost the connection to {}: {}", place(function, what), other, strerror(failure.error)),
              ExitStatus::RankLost);
}

void TcpCommunicator::move(const char *function, std::string_view what) {
  auto failure = links->move();
  countSent(links->takeSent());
  if (failure) failBecause(function, what, *failure);
}

void TcpCommunicator::exchange(const char *function, std::string_view what, const char *from, size_t fromBytes,
                               int toRank, char *to, size_t toBytes, int fromRank) {
  if (fromBytes > 0) links->send(members[toRank], from, fromBytes);
  if (toBytes > 0) links->receive(members[fromRank], to, toBytes);
  move(function, what);
}

void TcpCommunicator::moveAtOnce(const char *function, std::string_view what, const char *from, size_t stride, char *to,
                                 size_t bytes) {
  for (int distance = 1; distance < size(); ++distance) {
    int toRank = (rank() + distance) % size(), fromRank = (rank() + size() - distance) % size();
    links->send(members[toRank], from + toRank * stride, bytes);
    links->receive(members[fromRank], to + fromRank * bytes, bytes);
  }
  move(function, what);
}

void TcpCommunicator::moveAllToAll(std::string_view what, const void *from, void *to, size_t bytes) {
  if (!isSmall(bytes)) return ExchangeCommunicator::moveAllToAll(what, from, to, bytes);
  const char *source = static_cast<const char *>(from);
  char *target = static_cast<char *>(to);
  memcpy(target + rank() * bytes, source + rank() * bytes, bytes);
  moveAtOnce("allToAll", what, source, bytes, target, bytes);
}

void TcpCommunicator::moveAllGather(std::string_view what, const void *from, void *to, size_t bytes) {
  if (!isSmall(bytes)) return ExchangeCommunicator::moveAllGather(what, from, to, bytes);
  char *target = static_cast<char *>(to), *own = target + rank() * bytes;
  if (from != own) memcpy(own, from, bytes);
  moveAtOnce("allGather", what, own, 0, target, bytes);
}

std::unique_ptr<HostCommunicator> TcpCommunicator::makeGroup(std::string groupName, int group, int order) {
  struct Choice {
    int group, order;
  };
  Choice own = {group, order};
  std::vector<Choice> all(size());
  moveAllGather(groupName, &own, all.data(), sizeof(own));
  std::vector<int> chosen;
  for (int other = 0; other < size(); ++other)
    if (all[other].group == group) chosen.push_back(other);
  std::sort(chosen.begin(), chosen.end(),
            [&](int a, int b) { return std::pair(all[a].order, a) < std::pair(all[b].order, b); });
  auto place = std::find(chosen.begin(), chosen.end(), rank()) - chosen.begin();
  for (int &other : chosen) other = members[other];
  return std::make_unique<TcpCommunicator>(std::move(groupName), static_cast<int>(place), std::move(chosen), links);
}

/// Whoever returns from the barrier has received all that was sent to it, so closing cannot cost others a message.
void TcpCommunicator::end() {
  waitForAll("the end of the run");
  links->close();
}
} // namespace

std::unique_ptr<HostCommunicator> openTcp(const RankLaunch &launch) {
  PeerListener listener(launch.size);
  RankDirectory directory = meetRanks(launch, listener.card());
  std::vector<PeerSocket> sockets = listener.connectToAll(launch.rank, directory.secret, directory.cards,
                                                          std::chrono::seconds(launch.meeting.seconds));
  std::vector<int> members(launch.size);
  std::iota(members.begin(), members.end(), 0);
  return std::make_unique<TcpCommunicator>("world", launch.rank, std::move(members),
                                           std::make_shared<TcpLinks>(launch, std::move(sockets)));
}

} // namespace tessera::runtime
