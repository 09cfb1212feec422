//===- FakeNcclCalls.cpp - calls of the fake NCCL, and how ranks match them -===//

#include "tests/codegen/cuda/FakeNcclCalls.h"

#include "tests/codegen/cuda/FakeDevice.h"

#include <algorithm>
#include <cstdio>
#include <cstring>

namespace tessera::test::nccl {

namespace {
/// Until others see that a rank has died. With the real library that takes long: a watchdog is faster.
constexpr std::chrono::seconds untilDeathIsSeen(2);

std::mutex errorMutex;
char errorText[1024]; ///< trivial, because threads may still run when the process ends
} // namespace

int failed(int status, const std::string &message) {
  std::lock_guard lock(errorMutex);
  snprintf(errorText, sizeof errorText, "%s", message.c_str());
  return status;
}

std::string lastError() {
  std::lock_guard lock(errorMutex);
  return errorText;
}

//===----------------------------------------------------------------------===//
// Elements
//===----------------------------------------------------------------------===//

size_t bytesOf(int type) { return type == f32 || type == i32 ? 4 : type == bf16 || type == f16 ? 2 : type == u8; }

namespace {
const char *nameOf(int type) {
  return type == f32 ? "f32" : type == bf16 ? "bf16" : type == f16 ? "f16" : type == i32 ? "i32" : "u8";
}

double read(const char *from, int type, size_t i) {
  switch (type) {
  case f32:
    return reinterpret_cast<const float *>(from)[i];
  case bf16:
    return fromBf16(reinterpret_cast<const unsigned short *>(from)[i]);
  case f16:
    return static_cast<double>(reinterpret_cast<const _Float16 *>(from)[i]);
  case i32:
    return reinterpret_cast<const int32_t *>(from)[i];
  default:
    return reinterpret_cast<const unsigned char *>(from)[i];
  }
}

void write(char *to, int type, size_t i, double value) {
  switch (type) {
  case f32:
    reinterpret_cast<float *>(to)[i] = static_cast<float>(value);
    return;
  case bf16:
    reinterpret_cast<unsigned short *>(to)[i] = toBf16(static_cast<float>(value));
    return;
  case f16:
    reinterpret_cast<_Float16 *>(to)[i] = static_cast<_Float16>(value);
    return;
  case i32:
    reinterpret_cast<int32_t *>(to)[i] = static_cast<int32_t>(static_cast<int64_t>(value));
    return;
  default:
    reinterpret_cast<unsigned char *>(to)[i] = static_cast<unsigned char>(static_cast<int64_t>(value));
  }
}

/// Element i of the reduction over all ranks.
double reduced(const Call &call, const std::vector<const char *> &operands, size_t i) {
  double result = read(operands[0], call.type, i);
  for (size_t rank = 1; rank < operands.size(); ++rank) {
    double value = read(operands[rank], call.type, i);
    result = call.operation == maximum ? std::max(result, value) : result + value;
  }
  return call.operation == average ? result / static_cast<double>(operands.size()) : result;
}
} // namespace

//===----------------------------------------------------------------------===//
// Calls
//===----------------------------------------------------------------------===//

const char *nameOf(Function function) {
  constexpr const char *names[] = {"ncclAllReduce", "ncclReduceScatter", "ncclAllGather",
                                   "ncclBroadcast", "ncclSend",          "ncclRecv"};
  return names[function];
}

bool Call::agreesWith(const Call &other) const {
  if (count != other.count || type != other.type || operation != other.operation) return false;
  return isMessage() ? other.isMessage() : function == other.function && peer == other.peer;
}

std::string Call::text() const {
  std::string text = std::string(nameOf(function)) + " of " + std::to_string(count) + " " + nameOf(type);
  if (operation >= 0) text += operation == sum ? ", sum" : operation == maximum ? ", max" : ", average";
  if (peer >= 0) text += (function == sending ? " to rank " : " from rank ") + std::to_string(peer);
  return text;
}

namespace {
using Kind = Communicator::Kind;
Kind kindOf(const Call &call) {
  return call.function == sending ? Kind::Send : call.function == receiving ? Kind::Receive : Kind::Collective;
}
/// Of the calls that a call waits for.
Kind otherKind(Kind kind) {
  return kind == Kind::Send ? Kind::Receive : kind == Kind::Receive ? Kind::Send : Kind::Collective;
}

/// The beginning of a message. The operand of the call follows, or the text of the failure.
struct Header {
  int64_t failure = success;
  Call call;
};
RankLinks::SharedMessage makeMessage(const Header &header, const char *data, size_t bytes) {
  auto message = std::make_shared<RankLinks::Message>(sizeof header + bytes);
  memcpy(message->data(), &header, sizeof header);
  std::copy_n(data, bytes, message->data() + sizeof header);
  return message;
}
const Header &headerOf(const RankLinks::Message &message) { return *reinterpret_cast<const Header *>(message.data()); }
const char *dataOf(const RankLinks::Message &message) { return message.data() + sizeof(Header); }
} // namespace

//===----------------------------------------------------------------------===//
// Communicators
//===----------------------------------------------------------------------===//

size_t Communicator::bytesRead(const Call &call) const {
  if (call.function == receiving || (call.function == broadcast && call.peer != links.rank())) return 0;
  return call.bytes() * (call.function == reduceScatter ? links.ranks() : 1);
}

size_t Communicator::bytesWritten(const Call &call) const {
  return call.function == sending ? 0 : call.bytes() * (call.function == allGather ? links.ranks() : 1);
}

void Communicator::sort() {
  for (int rank = 0; rank < links.ranks(); ++rank)
    while (std::optional<Message> message = links.take(rank)) receive(rank, std::move(*message));
}

void Communicator::receive(int rank, Message message) {
  const Header &header = headerOf(message);
  if (header.failure) {
    std::string text(dataOf(message), message.size() - sizeof header);
    if (!failure) failure = failed(static_cast<int>(header.failure), text);
    return;
  }
  Inbox &inbox = inboxes[{rank, kindOf(header.call)}];
  inbox.calls.emplace(inbox.arrived++, std::move(message));
}

void Communicator::deliver(int rank, const RankLinks::SharedMessage &message) {
  if (rank == links.rank())
    receive(rank, *message);
  else
    links.send(rank, message);
}

uint64_t Communicator::post(const Call &call, const RankLinks::SharedMessage &message) {
  if (call.isMessage()) deliver(call.peer, message);
  for (int rank = 0; rank < links.ranks() && !call.isMessage(); ++rank) deliver(rank, message);
  return made[{call.isMessage() ? call.peer : -1, kindOf(call)}]++;
}

const RankLinks::Message *Communicator::arrivedCall(int rank, Kind kind, uint64_t number) const {
  auto inbox = inboxes.find({rank, kind});
  if (inbox == inboxes.end()) return nullptr;
  auto call = inbox->second.calls.find(number);
  return call == inbox->second.calls.end() ? nullptr : &call->second;
}

void Communicator::fail(int status, const std::string &text) {
  if (failure) return;
  failure = failed(status, text);
  for (int rank = 0; rank < links.ranks(); ++rank)
    if (rank != links.rank()) links.send(rank, makeMessage({status, {}}, text.data(), text.size()));
}

//===----------------------------------------------------------------------===//
// Calls in streams
//===----------------------------------------------------------------------===//

int Pending::post() {
  std::lock_guard lock(communicator->links.mutex);
  communicator->sort();
  if (communicator->failure || communicator->links.isClosed()) return launchFailed;
  own = makeMessage({success, call}, from, communicator->bytesRead(call));
  number = communicator->post(call, own);
  return 0;
}

int Pending::wait() {
  RankLinks &links = communicator->links;
  std::unique_lock lock(links.mutex);
  Patience patience, patienceWithTheDead(untilDeathIsSeen);
  for (;;) {
    communicator->sort();
    if (communicator->failure || links.isClosed()) return launchFailed;
    std::vector<Seat> all = seats();
    if (isOver(all)) return finish(all);
    auto isMissing = [&](RankLinks::Presence presence) {
      return std::any_of(all.begin(), all.end(),
                         [&](const Seat &seat) { return !seat.call && links.presence(seat.rank) == presence; });
    };
    bool hasDied = isMissing(RankLinks::Presence::Died);
    if (isMissing(RankLinks::Presence::Left) || patienceWithTheDead.isOver() || patience.isOver()) {
      communicator->fail(remoteError, waitingText(all));
      return launchFailed;
    }
    if (links.changed.wait_for(lock, Patience::slice) == std::cv_status::no_timeout) continue;
    patience.spend(Patience::slice);
    if (hasDied) patienceWithTheDead.spend(Patience::slice);
  }
}

/// All ranks in their order, or a sender and a receiver, which may be the same rank.
std::vector<Pending::Seat> Pending::seats() const {
  int rank = communicator->links.rank();
  Kind kind = otherKind(kindOf(call));
  std::vector<Seat> seats;
  auto add = [&](int other) { seats.push_back({other, false, communicator->arrivedCall(other, kind, number)}); };
  if (call.function == receiving) add(call.peer);
  if (call.isMessage()) seats.push_back({rank, true, own.get()});
  if (call.function == sending) add(call.peer);
  for (int other = 0; other < communicator->links.ranks() && !call.isMessage(); ++other) add(other);
  return seats;
}

/// All calls have arrived, and the own one is sent: this rank may end.
bool Pending::isOver(const std::vector<Seat> &seats) const {
  return std::all_of(seats.begin(), seats.end(),
                     [&](const Seat &seat) { return seat.call && communicator->links.isSent(seat.rank); });
}

/// Of a call that never ends: "rank 1 has left; rank 0 waits without end in …".
std::string Pending::waitingText(const std::vector<Seat> &seats) const {
  const RankLinks &links = communicator->links;
  std::string lost, missing;
  for (const Seat &seat : seats) {
    if (seat.call) continue;
    std::string name = "rank " + std::to_string(seat.rank);
    if (links.presence(seat.rank) != RankLinks::Presence::Here)
      lost += name + (links.presence(seat.rank) == RankLinks::Presence::Left ? " has left; " : " has died; ");
    missing += (missing.empty() ? " for " : ", ") + name;
  }
  return lost + "rank " + std::to_string(links.rank()) + " waits without end in " + call.text() + missing;
}

/// Compares the calls and writes the result. All ranks come to the same verdict.
int Pending::finish(const std::vector<Seat> &seats) {
  const Call &first = headerOf(*seats[0].call).call;
  std::vector<const char *> operands;
  for (const Seat &seat : seats) {
    const Call &other = headerOf(*seat.call).call;
    if (!other.agreesWith(first)) {
      communicator->fail(invalidUsage, "rank " + std::to_string(seats[0].rank) + " calls " + first.text() + ", rank " +
                                           std::to_string(seat.rank) + " " + other.text());
      return launchFailed;
    }
    operands.push_back(dataOf(*seat.call));
  }
  writeResult(operands);
  for (const Seat &seat : seats)
    if (!seat.isOwn) communicator->forget(seat.rank, otherKind(kindOf(call)), number);
  own.reset();
  return 0;
}

void Pending::writeResult(const std::vector<const char *> &operands) const {
  if (call.function == sending) return;
  if (call.function == allGather) {
    for (size_t rank = 0; rank < operands.size(); ++rank)
      std::copy_n(operands[rank], call.bytes(), to + rank * call.bytes());
  } else if (call.function == broadcast || call.function == receiving) {
    std::copy_n(operands[call.function == broadcast ? call.peer : 0], call.bytes(), to);
  } else {
    size_t first = call.function == reduceScatter ? communicator->links.rank() * call.count : 0;
    for (size_t i = 0; i < call.count; ++i) write(to, call.type, i, reduced(call, operands, first + i));
  }
}

} // namespace tessera::test::nccl
