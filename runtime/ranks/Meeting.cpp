//===- Meeting.cpp - how ranks meet that nothing connects yet -------------===//
//
//   a rank → rank 0    Greeting
//   rank 0 → a rank    Answer::Welcome at once, so that a rank knows whom it reached
//   rank 0 → all       Answer::Directory with the cards of all, when all have come; or Answer::Refusal with the reason
//
//===----------------------------------------------------------------------===//

#include "runtime/ranks/Meeting.h"

#include "runtime/base/Hash.h"

#include <algorithm>
#include <cerrno>
#include <cstddef>
#include <cstring>
#include <poll.h>
#include <thread>

namespace tessera::runtime {

namespace {
using Clock = std::chrono::steady_clock;

constexpr int32_t protocolVersion = 1;
constexpr char greetingMagic[8] = {'t', 's', 'r', '-', 'r', 'a', 'n', 'k'};
constexpr char answerMagic[8] = {'t', 's', 'r', '-', 'm', 'e', 'e', 't'};

/// What a rank says first. Every version begins with magic, version and job.
struct Greeting {
  char magic[8];
  int32_t version;
  int32_t rank;
  uint64_t job; ///< hash of RankMeeting::job
  int32_t size; ///< of the world
  int32_t reserved;
  PeerCard card;
};
/// Up to and including `job`.
constexpr size_t prefixBytes = offsetof(Greeting, size);

struct Answer {
  enum Kind : int32_t { Welcome, Directory, Refusal };
  char magic[8];
  int32_t kind;
  int32_t bytes; ///< of cards or text that follow
  PeerSecret secret;
};

/// Of the text of a refusal, which names a few ranks.
constexpr int32_t longestText = 4096;

/// For what rank 0 says after its own limit.
constexpr std::chrono::seconds answerTime{5};

uint64_t jobOf(const RankLaunch &launch) { return hashXxh64(launch.meeting.job.data(), launch.meeting.job.size()); }

bool sendAnswer(const OwnedSocket &socket, Answer::Kind kind, const PeerSecret &secret = {}, const void *data = nullptr,
                size_t bytes = 0) {
  Answer answer = {{}, kind, static_cast<int32_t>(bytes), secret};
  memcpy(answer.magic, answerMagic, sizeof(answerMagic));
  auto until = Clock::now() + patience;
  return sendAll(socket.get(), &answer, sizeof(answer), until) && sendAll(socket.get(), data, bytes, until);
}

std::string placeOf(const PeerCard &card) {
  return fmt::format("process {} on {}", card.process, printable(card.host));
}

//===----------------------------------------------------------------------===//
// Rank 0
//===----------------------------------------------------------------------===//

class MeetingHost {
public:
  MeetingHost(const RankLaunch &launch, const PeerCard &own);
  /// Returns when all ranks have come and know of each other.
  RankDirectory gather();

private:
  /// A connection: of a rank, or of a stranger that has not said enough.
  struct Guest {
    OwnedSocket socket;
    SocketTime since = Clock::now();
    Greeting greeting = {};
    size_t have = 0; ///< bytes of the greeting
    bool isOver = false;
  };
  void accept();
  void read(Guest &guest);
  /// A whole greeting of this job.
  void seat(Guest &guest);
  void refuse(Guest &guest);
  [[noreturn]] void refuseAll(const std::string &text);
  [[noreturn]] void failForMissing();
  bool isComplete() const;
  int64_t untilNext(SocketTime until) const;

  const RankLaunch &launch;
  OwnedSocket listener;
  std::vector<Guest> seats; ///< by rank; those of this rank and of ranks that have not come are not open
  std::vector<Guest> waiting;
  int refused = 0; ///< that are of another run
};

MeetingHost::MeetingHost(const RankLaunch &launch, const PeerCard &own) : launch(launch), seats(launch.size) {
  const RankMeeting &meeting = launch.meeting;
  listener = listenOn(meeting.port, launch.size);
  if (!listener.isOpen())
    failUsage("rank 0 cannot wait for the other ranks at port {} ({}): {}; set TESSERA_PORT to a free port, the same "
              "for all ranks",
              meeting.port, meeting.portName, strerror(errno));
  seats[0].greeting.card = own;
}

bool MeetingHost::isComplete() const {
  return std::all_of(seats.begin() + 1, seats.end(), [](const Guest &guest) { return guest.socket.isOpen(); });
}

/// Milliseconds until the limit, or until a guest has said nothing for too long.
int64_t MeetingHost::untilNext(SocketTime until) const {
  for (const Guest &guest : waiting) until = std::min(until, guest.since + patience);
  return std::max<int64_t>(std::chrono::ceil<std::chrono::milliseconds>(until - Clock::now()).count(), 0);
}

RankDirectory MeetingHost::gather() {
  auto until = Clock::now() + std::chrono::seconds(launch.meeting.seconds);
  std::vector<pollfd> entries;
  while (!isComplete()) {
    if (Clock::now() >= until) failForMissing();
    entries = {{listener.get(), POLLIN, 0}};
    for (const std::vector<Guest> *guests : {&seats, &waiting})
      for (const Guest &guest : *guests)
        entries.push_back({guest.socket.get(), POLLIN, 0}); // poll ignores negative ones
    if (poll(entries.data(), entries.size(), static_cast<int>(untilNext(until))) < 0 && errno != EINTR)
      fail("rank 0 cannot wait for the other ranks: {}", strerror(errno));
    const pollfd *entry = &entries[1];
    // A rank that has come says nothing more until it is answered: it has died, and may be started again.
    for (Guest &guest : seats)
      if ((entry++)->revents != 0) guest.socket.close();
    for (Guest &guest : waiting) {
      if ((entry++)->revents != 0) read(guest);
      if (Clock::now() >= guest.since + patience) guest.isOver = true;
    }
    std::erase_if(waiting, [](const Guest &guest) { return guest.isOver; });
    if (entries[0].revents != 0) accept();
  }
  RankDirectory directory = {PeerSecret::make(), {}};
  for (const Guest &guest : seats) directory.cards.push_back(guest.greeting.card);
  for (Guest &guest : seats)
    if (guest.socket.isOpen())
      sendAnswer(guest.socket, Answer::Directory, directory.secret, directory.cards.data(),
                 directory.cards.size() * sizeof(PeerCard));
  return directory; // whoever died since then is missed by `connectToAll`
}

void MeetingHost::accept() {
  constexpr size_t mostStrangers = 256; // beyond so many connections at once, the oldest one goes
  OwnedSocket socket(accept4(listener.get(), nullptr, nullptr, SOCK_CLOEXEC | SOCK_NONBLOCK));
  if (!socket.isOpen()) return;
  if (waiting.size() >= seats.size() + mostStrangers) waiting.erase(waiting.begin());
  waiting.emplace_back().socket = std::move(socket);
}

void MeetingHost::read(Guest &guest) {
  char *bytes = reinterpret_cast<char *>(&guest.greeting);
  ssize_t count = recv(guest.socket.get(), bytes + guest.have, sizeof(Greeting) - guest.have, 0);
  if (count < 0 && (errno == EAGAIN || errno == EINTR)) return;
  guest.have += std::max<ssize_t>(count, 0);
  bool isStranger = memcmp(bytes, greetingMagic, std::min(guest.have, sizeof(greetingMagic))) != 0;
  if (count <= 0 || isStranger) {
    guest.isOver = true;
    return;
  }
  if (guest.have < prefixBytes) return;
  if (guest.greeting.job != jobOf(launch)) return refuse(guest);
  if (guest.greeting.version != protocolVersion)
    refuseAll(fmt::format("rank {} runs another version of the program; start all ranks with the same one",
                          guest.greeting.rank));
  if (guest.have == sizeof(Greeting)) seat(guest);
}

void MeetingHost::refuse(Guest &guest) {
  const std::string text = "rank 0 at this address belongs to another run, which has another TORCHELASTIC_RUN_ID, "
                           "SLURM_JOB_ID, SLURM_STEP_ID or TESSERA_SECRET; give each run its own MASTER_PORT";
  sendAnswer(guest.socket, Answer::Refusal, {}, text.data(), text.size());
  guest.isOver = true;
  ++refused;
}

void MeetingHost::seat(Guest &guest) {
  PeerCard &card = guest.greeting.card;
  int rank = guest.greeting.rank, size = guest.greeting.size;
  card.host[sizeof(card.host) - 1] = 0;
  for (auto &address : card.addresses) address[sizeof(address) - 1] = 0;
  auto refuseBoth = [&](const std::string &text) {
    sendAnswer(guest.socket, Answer::Refusal, {}, text.data(), text.size());
    refuseAll(text);
  };
  if (size != launch.size)
    refuseBoth(fmt::format("rank {} ({}) was started as one of {} ranks, rank 0 ({}) as one of {}; start all ranks "
                           "with the same WORLD_SIZE",
                           rank, placeOf(card), size, placeOf(seats[0].greeting.card), launch.size));
  guest.isOver = true;
  if (rank < 0 || rank >= size) return; // no rank says that
  if (rank == 0 || seats[rank].socket.isOpen())
    refuseBoth(fmt::format("two processes were started as rank {} of {}: {} and {}; each needs its own RANK", rank,
                           size, placeOf(seats[rank].greeting.card), placeOf(card)));
  preferAddress(card, otherEndOf(guest.socket.get()));
  if (sendAnswer(guest.socket, Answer::Welcome)) seats[rank] = std::move(guest);
}

void MeetingHost::refuseAll(const std::string &text) {
  for (Guest &guest : seats)
    if (guest.socket.isOpen()) sendAnswer(guest.socket, Answer::Refusal, {}, text.data(), text.size());
  throw Error(text, ExitStatus::Usage);
}

void MeetingHost::failForMissing() {
  constexpr size_t most = 8; // named
  std::vector<int> missing;
  for (int rank = 1; rank < launch.size; ++rank)
    if (!seats[rank].socket.isOpen()) missing.push_back(rank);
  size_t named = std::min(most, missing.size());
  std::string text = fmt::format("{}", fmt::join(missing.begin(), missing.begin() + named, ", "));
  if (named < missing.size()) text += fmt::format(" and {} others", missing.size() - named);
  const RankMeeting &meeting = launch.meeting;
  text =
      fmt::format("{} {} of {} did not come to rank 0 within {} s (TESSERA_START_TIMEOUT); start all ranks, and allow "
                  "TCP connections to port {} ({}) of {}",
                  missing.size() == 1 ? "rank" : "ranks", text, launch.size, meeting.seconds, meeting.port,
                  meeting.portName, printable(meeting.address));
  if (refused > 0) text += fmt::format("; {} connections came from ranks of another run", refused);
  refuseAll(text);
}

//===----------------------------------------------------------------------===//
// The others
//===----------------------------------------------------------------------===//

class MeetingGuest {
public:
  MeetingGuest(const RankLaunch &launch, const PeerCard &own);
  /// Tries until rank 0 is there.
  RankDirectory join();

private:
  /// Once; empty if rank 0 is not there, for `reason`.
  RankDirectory tryToJoin();
  bool receive(const OwnedSocket &socket, Answer &answer, SocketTime end);
  RankDirectory readDirectory(const OwnedSocket &socket, const Answer &answer);
  [[noreturn]] static void failAsTold(const OwnedSocket &socket, const Answer &answer);

  const RankLaunch &launch;
  Greeting greeting = {};
  SocketTime until = Clock::now() + std::chrono::seconds(launch.meeting.seconds);
  std::string reason = "no answer";
};

MeetingGuest::MeetingGuest(const RankLaunch &launch, const PeerCard &own) : launch(launch) {
  memcpy(greeting.magic, greetingMagic, sizeof(greetingMagic));
  greeting.version = protocolVersion;
  greeting.rank = launch.rank;
  greeting.job = jobOf(launch);
  greeting.size = launch.size;
  greeting.card = own;
}

RankDirectory MeetingGuest::join() {
  constexpr std::chrono::milliseconds again{100};
  const RankMeeting &meeting = launch.meeting;
  while (Clock::now() < until) {
    RankDirectory directory = tryToJoin();
    if (!directory.cards.empty()) return directory;
    std::this_thread::sleep_for(again);
  }
  failUsage(
      "rank {} of {} does not find rank 0 at {} (MASTER_ADDR), port {} ({}), within {} s (TESSERA_START_TIMEOUT): "
      "{}; start rank 0 on that host, and allow TCP connections to it",
      launch.rank, launch.size, meeting.address, meeting.port, meeting.portName, meeting.seconds, reason);
}

bool MeetingGuest::receive(const OwnedSocket &socket, Answer &answer, SocketTime end) {
  if (!receiveAll(socket.get(), &answer, sizeof(answer), end))
    reason = fmt::format("what listens there does not answer: {}", strerror(errno));
  else if (memcmp(answer.magic, answerMagic, sizeof(answerMagic)) != 0)
    reason = "another program listens there";
  else
    return true;
  return false;
}

RankDirectory MeetingGuest::tryToJoin() {
  OwnedSocket socket = connectTo(launch.meeting.address, launch.meeting.port, /*isName=*/true, until, reason);
  Answer answer = {};
  auto end = std::min(until, Clock::now() + patience);
  if (!socket.isOpen() || !sendAll(socket.get(), &greeting, sizeof(greeting), end)) return {};
  if (!receive(socket, answer, end)) return {};
  // Rank 0 began before this moment, so its limit is over before this one.
  auto last = Clock::now() + std::chrono::seconds(launch.meeting.seconds) + answerTime;
  if (answer.kind == Answer::Welcome && !receive(socket, answer, last)) return {};
  if (answer.kind == Answer::Refusal) failAsTold(socket, answer);
  return readDirectory(socket, answer);
}

RankDirectory MeetingGuest::readDirectory(const OwnedSocket &socket, const Answer &answer) {
  RankDirectory directory = {answer.secret, std::vector<PeerCard>(launch.size)};
  size_t bytes = directory.cards.size() * sizeof(PeerCard);
  if (answer.kind != Answer::Directory || static_cast<size_t>(answer.bytes) != bytes ||
      !receiveAll(socket.get(), directory.cards.data(), bytes, Clock::now() + answerTime)) {
    reason = "rank 0 does not say where the other ranks are";
    return {};
  }
  preferAddress(directory.cards[0], otherEndOf(socket.get()));
  return directory;
}

void MeetingGuest::failAsTold(const OwnedSocket &socket, const Answer &answer) {
  std::string text(std::clamp(answer.bytes, 0, longestText), ' ');
  if (!receiveAll(socket.get(), text.data(), text.size(), Clock::now() + answerTime)) text = "rank 0 refuses this rank";
  failUsage("{}", text);
}
} // namespace

RankDirectory meetRanks(const RankLaunch &launch, const PeerCard &own) {
  return launch.rank == 0 ? MeetingHost(launch, own).gather() : MeetingGuest(launch, own).join();
}

} // namespace tessera::runtime
