//===- Lockstep.cpp - the interpreter on several ranks --------------------===//

#include "ir/interpreter/Lockstep.h"
#include "ir/interpreter/IterationSpace.h"
#include "ir/program/Program.h"
#include <condition_variable>
#include <mutex>
#include <thread>

using namespace mlir;
using namespace tessera;

namespace {
/// The table in which all ranks meet. A rank leaves what it sends; the last one of a group fills in what all receive.
class Meeting {
public:
  explicit Meeting(const ProgramMesh &mesh) : mesh(mesh), places(mesh.ranks()) {}

  FailureOr<TensorValue> exchange(int64_t rank, StartOp op, const TensorValue &sent);
  /// A rank has ended, with its function or with an error.
  void leave(int64_t rank, bool hasFailed);
  std::string getError() const { return error; }

private:
  struct Place {
    StartOp op; ///< null: the rank waits for nobody
    const TensorValue *sent = nullptr;
    TensorValue received;
    bool isDone = false, hasLeft = false;
  };
  SmallVector<int64_t> groupOf(int64_t rank, StringRef along) const;
  void complete(ArrayRef<int64_t> group);
  void failIfStuck();
  void fail(const Twine &text) {
    if (error.empty()) error = text.str();
    changed.notify_all();
  }
  static std::string describe(int64_t rank, const Place &place);

  const ProgramMesh &mesh;
  std::vector<Place> places;
  std::string error;
  std::mutex mutex;
  std::condition_variable changed;
};

class RankEnd : public RankExchange {
public:
  RankEnd(Meeting &meeting, int64_t rank) : meeting(meeting), rank(rank) {}
  FailureOr<TensorValue> exchange(StartOp op, const TensorValue &sent) override {
    return meeting.exchange(rank, op, sent);
  }

private:
  Meeting &meeting;
  int64_t rank;
};
} // namespace

SmallVector<int64_t> Lockstep::coordinates(int64_t rank) const {
  SmallVector<int64_t> at;
  for (AxisAttr axis : llvm::reverse(mesh.getAxes())) at.push_back(rank % axis.getSize()), rank /= axis.getSize();
  std::reverse(at.begin(), at.end());
  return at;
}

/// The ranks that differ from `rank` in their position along one axis only, in the order of that position.
SmallVector<int64_t> Meeting::groupOf(int64_t rank, StringRef along) const {
  int64_t stride = 1;
  for (AxisAttr axis : llvm::reverse(mesh.getAxes())) {
    if (axis.getName() == along) {
      int64_t first = rank - rank / stride % axis.getSize() * stride;
      return llvm::map_to_vector(llvm::seq(axis.getSize()), [&](int64_t i) { return first + i * stride; });
    }
    stride *= axis.getSize();
  }
  return {rank};
}

std::string Meeting::describe(int64_t rank, const Place &place) {
  std::string text = "rank " + std::to_string(rank);
  if (place.hasLeft || !place.op) return text + (place.hasLeft ? " has ended" : " computes");
  StartOp op = place.op;
  return text + " is at " + stringifyExchangeKind(op.getKind()).str() + " along " + op.getAlong().str() +
         (userName(op).empty() ? "" : " of " + userName(op).str());
}

/// Adds the part of `from` at a position of `axis` to the part of `to` at another one; types may lack the axis.
static void addPart(const TensorValue &from, int64_t fromAt, TensorValue &to, int64_t toAt, StringRef axis) {
  auto start = [&](NamedTensorType type, int64_t at) {
    return type.hasAxis(axis) ? at * type.getStrides()[type.findAxis(axis)] : 0;
  };
  SmallVector<AxisAttr> axes;
  for (AxisAttr own : from.type.getAxes())
    if (own.getName() != axis) axes.push_back(own);
  int64_t fromStart = start(from.type, fromAt), toStart = start(to.type, toAt);
  IterationSpace(axes).add(from.type).add(to.type).forEach(
      [&](ArrayRef<int64_t> at) { to.data[toStart + at[1]] += from.data[fromStart + at[0]]; });
}

void Meeting::complete(ArrayRef<int64_t> group) {
  StartOp first = places[group.front()].op;
  for (int64_t rank : group) {
    StartOp op = places[rank].op;
    bool isSame = op.getKind() == first.getKind() && op.getAlong() == first.getAlong() &&
                  op.getType() == first.getType() && userName(op) == userName(first);
    if (!isSame) return fail(describe(group.front(), places[group.front()]) + ", " + describe(rank, places[rank]));
  }
  StringRef along = first.getAlong();
  bool isGather = first.getKind() == ExchangeKind::AllGather;
  for (auto [i, receiver] : llvm::enumerate(group)) {
    TensorValue received(first.getType()); // zeros
    for (auto [j, sender] : llvm::enumerate(group)) addPart(*places[sender].sent, isGather ? 0 : i, received, j, along);
    places[receiver].received = std::move(received);
  }
  for (int64_t rank : group) places[rank].isDone = true;
  changed.notify_all();
}

/// If each rank waits for another one or has ended, nobody will come.
void Meeting::failIfStuck() {
  auto waits = [](const Place &place) { return place.op && !place.isDone; };
  bool isStuck = llvm::any_of(places, [&](const Place &place) { return !place.hasLeft; }) &&
                 llvm::all_of(places, [&](const Place &place) { return place.hasLeft || waits(place); });
  if (!isStuck) return;
  std::string text;
  for (auto [rank, place] : llvm::enumerate(places)) text += (rank ? ", " : "") + describe(rank, place);
  fail(text);
}

FailureOr<TensorValue> Meeting::exchange(int64_t rank, StartOp op, const TensorValue &sent) {
  std::unique_lock lock(mutex);
  if (!error.empty()) return failure();
  SmallVector<int64_t> group = groupOf(rank, op.getAlong());
  Place &own = places[rank];
  own.op = op, own.sent = &sent, own.isDone = false;
  auto isThere = [&](int64_t other) {
    StartOp its = places[other].op;
    return its && !places[other].isDone && its.getAlong() == op.getAlong();
  };
  if (llvm::all_of(group, isThere)) complete(group);
  failIfStuck();
  changed.wait(lock, [&] { return own.isDone || !error.empty(); });
  own.op = StartOp(), own.sent = nullptr;
  if (!own.isDone) return failure();
  return std::move(own.received);
}

void Meeting::leave(int64_t rank, bool hasFailed) {
  std::unique_lock lock(mutex);
  places[rank].hasLeft = true;
  if (hasFailed) fail("rank " + Twine(rank) + " cannot be interpreted");
  failIfStuck();
}

FailureOr<SmallVector<SmallVector<TensorValue>>> Lockstep::run(ArrayRef<func::FuncOp> functions,
                                                               ArrayRef<SmallVector<TensorValue>> arguments) {
  Meeting meeting(mesh);
  SmallVector<SmallVector<TensorValue>> results(mesh.ranks());
  std::vector<std::thread> threads;
  for (int64_t rank = 0; rank < mesh.ranks(); ++rank)
    threads.emplace_back([&, rank] {
      RankEnd end(meeting, rank);
      Interpreter interpreter(Rounding::Double);
      interpreter.setExchange(&end);
      auto result = interpreter.run(functions[functions.size() == 1 ? 0 : rank], arguments[rank]);
      if (succeeded(result)) results[rank] = std::move(*result);
      meeting.leave(rank, failed(result));
    });
  for (std::thread &thread : threads) thread.join();
  error = meeting.getError();
  if (!error.empty()) return failure();
  return results;
}
