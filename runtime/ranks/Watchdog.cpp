//===- Watchdog.cpp - no rank waits for ever ------------------------------===//

#include "runtime/ranks/Watchdog.h"

#include <algorithm>
#include <csignal>
#include <cstring>
#include <limits>
#include <unistd.h>

namespace tessera::runtime {

using std::chrono::milliseconds;

/// How often the thread looks, if no message comes.
static constexpr milliseconds tick{100};
/// If more than this passed between two looks, the process was stopped.
static constexpr milliseconds longestTick{1'000};
/// From a closed connection to the verdict, and from a verdict to the end of the process: other ranks may close theirs
/// because of a verdict that is on its way.
static constexpr milliseconds settling{200};
/// Between questions to ranks that said that they are busy.
static constexpr milliseconds askAgain{1'000};

static std::string seconds(milliseconds time) { return fmt::format("{:.1f} s", time.count() / 1e3); }

/// "collective 17, 'gradients',".
static std::string nameOf(int64_t collective, const std::string &name) {
  return fmt::format("collective {}, '{}',", collective, name);
}

std::string RankPosition::describe() const {
  if (collective == 0) return "before its first collective";
  if (isInside) return fmt::format("in {} for {}", nameOf(collective, name), seconds(time));
  return fmt::format("after {} for {}", nameOf(collective, name), seconds(time));
}

/// Grows from the beginning of a collective to its end, and to the next one.
static int64_t progressOf(const RankPosition &position) { return 2 * position.collective + !position.isInside; }

//===----------------------------------------------------------------------===//
// The rank's own thread
//===----------------------------------------------------------------------===//

Watchdog::Watchdog(HostCommunicator &world, WatchdogOptions options)
    : world(world), options(std::move(options)), peers(world, this->options.connect), others(world.size()) {
  world.setObserver(this);
  if (world.size() == 1) return;
  sigset_t all, before; // signals are for the thread that trains
  sigfillset(&all);
  pthread_sigmask(SIG_SETMASK, &all, &before);
  thread = std::thread([this] { run(); });
  pthread_sigmask(SIG_SETMASK, &before, nullptr);
}

Watchdog::~Watchdog() {
  stopThread();
  world.setObserver(nullptr);
}

void Watchdog::stopThread() {
  isStopping = true;
  if (thread.joinable()) thread.join();
}

void Watchdog::begin(std::string_view name, milliseconds work) noexcept {
  std::lock_guard lock(mutex);
  ++announced.collective;
  announced.isInside = true;
  announced.work = work;
  announced.since = announced.allowedUntil = Clock::now();
  size_t length = std::min(name.size(), announced.name.size() - 1);
  memcpy(announced.name.data(), name.data(), length);
  announced.name[length] = 0;
}

void Watchdog::end() noexcept {
  std::lock_guard lock(mutex);
  announced.isInside = false;
  announced.since = Clock::now();
  announced.allowedUntil = announced.since + announced.allowance;
}

void Watchdog::allow(milliseconds time) {
  std::lock_guard lock(mutex);
  announced.allowedUntil = Clock::now() + time;
}

void Watchdog::allowAlways(milliseconds time) {
  std::lock_guard lock(mutex);
  announced.allowance = time;
  announced.allowedUntil = Clock::now() + time;
}

void Watchdog::endOthers(ExitStatus status) {
  stopThread();
  tellOthers({status, ""});
}

void Watchdog::finish() {
  stopThread();
  PeerMessage farewell;
  farewell.kind = PeerMessage::Farewell;
  peers.sendToAll(farewell);
  // A connection that is closed before its last message was read may lose the farewell that was sent on it.
  auto isMissing = [&] {
    for (int rank = 0; rank < peers.size(); ++rank)
      if (peers.isOpen(rank) && !others[rank].hasFarewell) return true;
    return false;
  };
  for (auto until = Clock::now() + options.grace; !verdict && isMissing() && Clock::now() < until;)
    peers.receive(tick, [this](int rank, const PeerMessage &message) { take(rank, message); });
  if (verdict) endProcess();
}

//===----------------------------------------------------------------------===//
// Messages
//===----------------------------------------------------------------------===//

RankPosition Watchdog::ownPosition() const {
  std::lock_guard lock(mutex);
  auto now = Clock::now();
  auto rounded = [](Clock::duration time) { return std::chrono::duration_cast<milliseconds>(time); };
  return {announced.collective, announced.isInside, announced.name.data(), rounded(now - announced.since),
          std::max(rounded(announced.allowedUntil - now), milliseconds(0))};
}

milliseconds Watchdog::allowedWork() const {
  std::lock_guard lock(mutex);
  return announced.work;
}

PeerMessage Watchdog::answer() const {
  RankPosition position = ownPosition();
  auto fitting = [](milliseconds time) {
    return static_cast<int32_t>(std::min<int64_t>(time.count(), std::numeric_limits<int32_t>::max()));
  };
  PeerMessage message;
  message.kind = PeerMessage::Answer;
  message.collective = position.collective;
  message.isInside = position.isInside;
  message.milliseconds = fitting(position.time);
  message.allowance = fitting(position.allowance);
  message.setText(position.name);
  return message;
}

void Watchdog::take(int rank, const PeerMessage &message) {
  switch (message.kind) {
  case PeerMessage::Question:
    return peers.send(rank, answer());
  case PeerMessage::Answer:
    others[rank].answer = {message.collective, message.isInside != 0, message.text, milliseconds(message.milliseconds),
                           milliseconds(message.allowance)};
    return;
  case PeerMessage::Farewell:
    others[rank].hasFarewell = true;
    return;
  case PeerMessage::Verdict:
    if (!verdict) verdict = {static_cast<ExitStatus>(message.status), message.text};
    return;
  }
}

void Watchdog::tellOthers(const Verdict &verdict) {
  PeerMessage message;
  message.kind = PeerMessage::Verdict;
  message.status = static_cast<int32_t>(verdict.status);
  message.setText(verdict.reason);
  peers.sendToAll(message);
  for (auto until = Clock::now() + settling; Clock::now() < until;)
    peers.receive(tick, [](int, const PeerMessage &) {});
}

/// In a line of standard error, without waiting for a reader that is stopped too.
static void print(const std::string &text) {
  std::string line = printableLines(text) + "\n";
  pollfd out = {STDERR_FILENO, POLLOUT, 0};
  if (poll(&out, 1, static_cast<int>(longestTick.count())) <= 0) return;
  [[maybe_unused]] ssize_t written = write(STDERR_FILENO, line.data(), line.size()); // or nobody is left to be told
}

void Watchdog::endProcess() {
  std::string line;
  if (!verdict->reason.empty())
    line = fmt::format("rank {}: {}; this rank is {}", peers.ownRank(), verdict->reason, ownPosition().describe());
  // First: mpirun may end this process within a second.
  if (!options.end && !line.empty()) print(line);
  // Also if it came from another rank: a rank that misses it would take this one for dead.
  tellOthers(*verdict);
  if (options.end) return options.end(verdict->status, line);
  _exit(static_cast<int>(verdict->status)); // other threads wait in a library, and destructors would wait for them
}

//===----------------------------------------------------------------------===//
// Watching
//===----------------------------------------------------------------------===//

void Watchdog::run() {
  auto last = Clock::now();
  while (!isStopping) {
    peers.receive(tick, [this](int rank, const PeerMessage &message) { take(rank, message); });
    milliseconds passed = std::chrono::floor<milliseconds>(Clock::now() - last);
    last += passed; // the rest of a millisecond counts the next time
    if (passed > longestTick) {
      waited = passed = milliseconds(0);
      sinceAsked = milliseconds(-1);
    }
    if (!verdict) verdict = checkConnections(passed);
    if (!verdict && options.timeout.count() > 0) verdict = checkTime(passed);
    if (verdict) return endProcess();
  }
}

/// "rank 1 of 4 (…) does not answer", "rank 1 of 4 (…), rank 2 of 4 (…) do not answer".
std::string Watchdog::describeAll(const std::vector<int> &ranks, const char *one, const char *many) const {
  constexpr size_t most = 4; // named; the text of a message is limited
  std::vector<std::string> names;
  for (int rank : ranks)
    if (names.size() < most) names.push_back(peers.describe(rank));
  std::string text = fmt::format("{}", fmt::join(names, ", "));
  if (ranks.size() > most) text += fmt::format(" and {} others", ranks.size() - most);
  return fmt::format("{} {}", text, ranks.size() == 1 ? one : many);
}

std::optional<Watchdog::Verdict> Watchdog::checkConnections(milliseconds passed) {
  std::vector<int> dead;
  for (int rank = 0; rank < peers.size(); ++rank)
    if (rank != peers.ownRank() && !peers.isOpen(rank) && !others[rank].hasFarewell) dead.push_back(rank);
  if (dead.empty()) return std::nullopt;
  sinceClosed = sinceClosed.count() < 0 ? milliseconds(0) : sinceClosed + passed;
  if (sinceClosed < settling) return std::nullopt;
  return Verdict{ExitStatus::RankLost, describeAll(dead, "has died", "have died")};
}

void Watchdog::ask() {
  for (Other &other : others) other.answer.reset();
  peers.sendToAll({});
  sinceAsked = milliseconds(0);
}

std::optional<Watchdog::Verdict> Watchdog::checkTime(milliseconds passed) {
  RankPosition own = ownPosition();
  if (own.collective != watched || !own.isInside) {
    watched = own.collective;
    waited = milliseconds(0);
    sinceAsked = milliseconds(-1);
    return std::nullopt;
  }
  waited += passed;
  milliseconds limit = options.timeout + allowedWork();
  if (waited < limit) return std::nullopt;
  if (sinceAsked.count() < 0) {
    ask();
    return std::nullopt;
  }
  sinceAsked += passed;
  bool isComplete = true;
  for (int rank = 0; rank < peers.size(); ++rank)
    isComplete &= rank == peers.ownRank() || others[rank].answer || others[rank].hasFarewell;
  if (!isComplete && sinceAsked < options.grace) return std::nullopt;
  std::optional<Verdict> result = judge(own, limit);
  if (!result && sinceAsked >= askAgain) ask();
  return result;
}

std::optional<Watchdog::Verdict> Watchdog::judge(const RankPosition &own, milliseconds limit) const {
  auto lost = [](std::string reason) { return Verdict{ExitStatus::RankLost, std::move(reason)}; };
  std::vector<int> silent, ended, last, other;
  int64_t least = progressOf(own);
  for (int rank = 0; rank < peers.size(); ++rank) {
    const auto &[hasFarewell, answer] = others[rank];
    if (rank == peers.ownRank()) continue;
    if (hasFarewell) {
      ended.push_back(rank);
    } else if (!answer) {
      silent.push_back(rank);
    } else {
      if (progressOf(*answer) < least) last.clear();
      least = std::min(least, progressOf(*answer));
      if (progressOf(*answer) == least && least < progressOf(own)) last.push_back(rank);
      if (progressOf(*answer) == progressOf(own) && answer->name != own.name) other.push_back(rank);
    }
  }
  std::string here = nameOf(own.collective, own.name);
  if (!silent.empty()) return lost(describeAll(silent, "does not answer", "do not answer"));
  if (!ended.empty())
    return lost(describeAll(ended, "has ended", "have ended") + fmt::format(", although {} is not over", here));
  if (!last.empty()) {
    const RankPosition &position = *others[last.front()].answer;
    if (position.allowance.count() > 0) return std::nullopt;
    return lost(describeAll(last, "has", "have") + fmt::format(" not come to {} within {} (--rank-timeout): it is {}",
                                                               here, seconds(limit), position.describe()));
  }
  if (!other.empty())
    return lost(describeAll(other, "is", "are") +
                fmt::format(" in another collective: expected '{}', got '{}'; all ranks must run the same program",
                            own.name, others[other.front()].answer->name));
  return lost(
      fmt::format("all ranks answer, but {} is not over within {} (--rank-timeout): the network is stuck or slow", here,
                  seconds(limit)));
}

} // namespace tessera::runtime
