//===- FakeNcclLinks.h - connections between ranks of the fake NCCL ---------===//
//
// Ranks are threads or processes of one host; both use the same connections. They find each other by the names of Unix
// sockets, which follow from the id. The names are in Linux's abstract namespace: nothing is left over after a crash.
//
// Each two ranks are connected. A thread of each rank moves messages on all its connections, so a rank that computes
// or waits receives too, and no rank blocks in a send to one that is stopped.
//
//===----------------------------------------------------------------------===//

#ifndef TESSERA_TESTS_CODEGEN_CUDA_FAKENCCLLINKS_H
#define TESSERA_TESTS_CODEGEN_CUDA_FAKENCCLLINKS_H

#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <deque>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <thread>
#include <utility>
#include <vector>

namespace tessera::test {

/// How long a rank waits for another one: $FAKE_NCCL_PATIENCE in seconds, or 60, more than a watchdog's timeout. Time
/// counts in which nothing happens; that in which the process was stopped does not.
class Patience {
public:
  using Milliseconds = std::chrono::milliseconds;
  static constexpr Milliseconds slice{50};

  Patience();
  explicit Patience(Milliseconds time) : left(time) {}
  void spend(Milliseconds time) { left -= time; }
  bool isOver() const { return left.count() <= 0; }

private:
  Milliseconds left;
};

/// What a rank says of itself first. Two ranks of one host and one device share a GPU.
struct RankCard {
  int32_t rank = 0, ranks = 0, device = 0;
  char host[64] = {};
};

/// Why ranks cannot be connected, with a value of ncclResult_t.
struct LinkError {
  int status;
  std::string text;
};

/// Closed at its end.
class OwnedFile {
public:
  explicit OwnedFile(int number = -1) : number(number) {}
  ~OwnedFile();
  OwnedFile(OwnedFile &&other) noexcept : number(std::exchange(other.number, -1)) {}
  OwnedFile &operator=(OwnedFile &&other) noexcept { return std::swap(number, other.number), *this; }
  int get() const { return number; }

private:
  int number;
};

/// The connections of a rank to all others. Functions need the mutex unless they say otherwise.
class RankLinks {
public:
  using Message = std::vector<char>; ///< not empty
  using SharedMessage = std::shared_ptr<const Message>;
  enum class Presence { Here, Left, Died };

  /// Waits for all ranks. Throws a LinkError.
  RankLinks(const std::string &id, const RankCard &own);
  ~RankLinks() { close(); }
  RankLinks(const RankLinks &) = delete;

  // Without the mutex, since these do not change.
  int rank() const { return ownRank; }
  int ranks() const { return static_cast<int>(links.size()); }
  /// Of all ranks, this one included.
  const RankCard &card(int rank) const { return links[rank].card; }

  /// Messages to and from a rank keep their order.
  void send(int rank, SharedMessage message);
  bool isSent(int rank) const { return links[rank].outgoing.empty(); }
  std::optional<Message> take(int rank);
  /// What a rank sent before it left or died can still be taken.
  Presence presence(int rank) const { return links[rank].presence; }

  /// Says farewell to all ranks. Waits a second for those that do not receive. Locks the mutex itself.
  void close();
  bool isClosed() const { return hasFarewell; }

  std::mutex mutex;
  std::condition_variable changed; ///< a message has arrived or was sent, a rank is lost, or `close` was called

private:
  /// On a connection a message follows its size in 8 bytes. A size of 0 is a farewell.
  static constexpr size_t sizeBytes = sizeof(uint64_t);
  struct Outgoing {
    uint64_t size = 0;
    SharedMessage message;
    size_t done = 0; ///< of the size and the message
  };
  struct Incoming {
    uint64_t size = 0;
    Message message;
    size_t done = 0;
  };
  struct Link {
    RankCard card;
    OwnedFile socket;
    Presence presence = Presence::Here;
    std::deque<Outgoing> outgoing;
    Incoming incoming;
    std::deque<Message> arrived;
  };

  OwnedFile listen(const std::string &id) const;
  void connectToEarlier(const std::string &id, const RankCard &own);
  void acceptLater(const OwnedFile &listener, const RankCard &own);
  [[noreturn]] void giveUp() const;
  void run();
  void wake() const;
  void moveOutgoing(Link &link);
  void moveIncoming(Link &link);
  static void lose(Link &link, Presence presence);

  int ownRank;
  std::vector<Link> links; ///< by rank; that of this rank has no socket
  OwnedFile wakeUp;        ///< an eventfd
  bool hasFarewell = false, isStopping = false;
  std::thread thread;
};

} // namespace tessera::test

#endif // TESSERA_TESTS_CODEGEN_CUDA_FAKENCCLLINKS_H
