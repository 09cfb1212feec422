//===- MemoryTimeline.cpp - which values are in the arena at which moment -===//
//
// 1. Note what runs at each moment.
// 2. States have their places at all moments.
// 3. Plan the storage again, and divide each buffer by the offsets that its values really have: `schedule` planned with
//    horizontal fusions that it may have undone since, so that more values may share storage now than do.
// 4. Count the buffers as the lower bound of the arena does (`liveSpans` in passes/memory/Offsets.h).
// 5. Give each span to the values that occupy the buffer, one after the other.
//
//===----------------------------------------------------------------------===//

#include "passes/memory/MemoryTimeline.h"
#include "ir/program/Program.h"
#include "passes/analysis/LaunchGroups.h"
#include "passes/analysis/ValueNames.h"
#include "passes/analysis/Views.h"
#include "passes/memory/Storage.h"
#include <map>

using namespace mlir;
using namespace tessera;

BytesByKind MemoryTimeline::liveAt(int moment) const {
  BytesByKind live = {};
  for (const MemoryValue &value : values)
    if (value.first <= moment && moment <= value.last) live[static_cast<unsigned>(value.kind)] += value.bytes;
  return live;
}

int64_t MemoryTimeline::bytesAt(int moment) const {
  int64_t bytes = 0;
  for (int64_t ofKind : liveAt(moment)) bytes += ofKind;
  return bytes;
}

namespace {
/// The values of one buffer that are at one offset.
struct PlacedBuffer {
  Lifetime lifetime;
  int64_t offset = 0;
  int64_t slot = 0; ///< bytes of a slot, if several stacks share the buffer, with a part of each in a slot
  SmallVector<Occupant> occupants;
};

class TimelineBuilder {
public:
  explicit TimelineBuilder(func::FuncOp function)
      : function(function), line(function), names(function), kinds(function), plan(function) {}
  MemoryTimeline build();
  std::vector<PlacedRange> ranges();

private:
  void noteMoments(Block &block);
  void noteLaunch(Operation *first);
  void addStates();
  std::optional<int64_t> placedOffset(Value value) const;
  void placeBuffers();
  Lifetime lifetimeOf(ArrayRef<Occupant> occupants, int64_t bytes) const;
  void addSpan(const PlacedBuffer &buffer, const LiveSpan &span);
  void addPiece(const Occupant &occupant, int64_t offset, int64_t bytes, int first, int last);
  void findPeak();

  func::FuncOp function;
  Timeline line;
  ValueNames names;
  BufferKinds kinds;
  StoragePlan plan;
  llvm::StringMap<int64_t> stateOffsets;
  std::vector<PlacedBuffer> buffers;
  MemoryTimeline timeline;
  int calls = 0;
};
} // namespace

//===----------------------------------------------------------------------===//
// 1. Moments
//===----------------------------------------------------------------------===//

void TimelineBuilder::noteLaunch(Operation *first) {
  SmallVector<Operation *> ops = launchOf(first);
  MemoryMoment moment;
  moment.number = line.at(first), moment.first = first;
  moment.name = names.nameOf(first);
  if (ops.size() > 1) moment.name += " and " + std::to_string(ops.size() - 1) + " more";
  moment.pass = stepPass(ops);
  if (!isa<ReorderOp>(first)) moment.call = calls++;
  timeline.moments.push_back(moment);
}

void TimelineBuilder::noteMoments(Block &block) {
  for (Operation &op : block) {
    if (auto repeat = dyn_cast<RepeatOp>(op)) {
      MemoryMoment moment;
      moment.number = line.at(repeat), moment.end = line.endOf(repeat);
      moment.pass = stepPass(repeat);
      moment.name = repeat.getAxis().getName().str(), moment.iterations = repeat.getAxis().getSize();
      timeline.moments.push_back(moment);
      noteMoments(repeat.getBlock());
      continue;
    }
    bool isCalled = isa<KernelOp, TiledOp, ContractOp, ReorderOp>(op);
    bool isFirst = !op.getPrevNode() || !isSameLaunch(op.getPrevNode(), &op);
    if (isCalled && isFirst) noteLaunch(&op);
  }
}

//===----------------------------------------------------------------------===//
// 2. States
//===----------------------------------------------------------------------===//

void TimelineBuilder::addStates() {
  llvm::StringMap<Value> arguments;
  for (BlockArgument argument : function.getArguments())
    if (StringRef path = argumentState(function, argument.getArgNumber()); !path.empty()) arguments[path] = argument;
  for (StateOp state : stateTable(function->getParentOfType<ModuleOp>())) {
    if (!state.getPlace()) continue;
    int64_t offset = state.getPlace()->getOffset();
    stateOffsets[state.getPath()] = offset;
    timeline.values.push_back({arguments.lookup(state.getPath()), state.getPath().str(), userLine(state.getLoc()),
                               kindOfState(state), true, offset, alignedBytes(state.getTensorType().getNumBytes()), 0,
                               timeline.lastMoment});
  }
}

//===----------------------------------------------------------------------===//
// 3. Buffers
//===----------------------------------------------------------------------===//

/// Where `schedule` put a value; none if it has no place.
std::optional<int64_t> TimelineBuilder::placedOffset(Value value) const {
  PlaceAttr place;
  auto entryOf = [](ArrayAttr places, unsigned i) { return places ? cast<PlaceAttr>(places[i]) : PlaceAttr(); };
  if (auto result = dyn_cast<OpResult>(value)) {
    place = entryOf(result.getOwner()->getAttrOfType<ArrayAttr>(attrs::places), result.getResultNumber());
  } else {
    auto argument = cast<BlockArgument>(value);
    if (auto repeat = dyn_cast<RepeatOp>(argument.getOwner()->getParentOp()))
      place = entryOf(repeat.getArgPlacesAttr(), argument.getArgNumber());
    else
      place = func::FuncOp(function).getArgAttrOfType<PlaceAttr>(argument.getArgNumber(), attrs::place);
  }
  return place ? std::optional(place.getOffset()) : std::nullopt;
}

/// The lifetime of a buffer that is only for these values.
Lifetime TimelineBuilder::lifetimeOf(ArrayRef<Occupant> occupants, int64_t bytes) const {
  Lifetime lifetime{bytes, INT_MAX, 0};
  for (const Occupant &occupant : occupants) {
    lifetime.start = std::min(lifetime.start, line.definition(occupant.value));
    lifetime.end = std::max(lifetime.end, line.lastUse(occupant.value));
    auto argument = dyn_cast<BlockArgument>(occupant.value);
    if (auto repeat = argument ? dyn_cast<RepeatOp>(argument.getOwner()->getParentOp()) : RepeatOp())
      lifetime.end = std::max(lifetime.end, line.endOf(repeat));
  }
  return lifetime;
}

void TimelineBuilder::placeBuffers() {
  std::map<std::pair<int, int64_t>, SmallVector<Occupant>> groups; // by buffer and offset
  llvm::DenseMap<int, unsigned> offsetsOf;
  for (const Occupant &occupant : plan.occupants()) {
    std::optional<int64_t> placed = placedOffset(occupant.value);
    auto &group = groups[{occupant.buffer, placed ? *placed - occupant.offset : 0}];
    if (group.empty()) ++offsetsOf[occupant.buffer];
    group.push_back(occupant);
  }
  for (auto &[key, occupants] : groups) {
    const Buffer &buffer = plan.getBuffers()[key.first];
    bool isState = !buffer.state.empty() && stateOffsets.lookup(buffer.state) == key.second;
    if (isState || buffer.lifetime.bytes == 0) continue;
    bool isWhole = buffer.state.empty() && offsetsOf.lookup(key.first) == 1;
    Lifetime lifetime = isWhole ? buffer.lifetime : lifetimeOf(occupants, buffer.lifetime.bytes);
    buffers.push_back({lifetime, key.second, buffer.slot, occupants});
  }
}

//===----------------------------------------------------------------------===//
// 5. Values
//===----------------------------------------------------------------------===//

/// Where the bytes of a span begin: those of a stack with some of its slots are its first or its last ones.
static int64_t startOf(const PlacedBuffer &buffer, const LiveSpan &span) {
  const Lifetime &lifetime = buffer.lifetime;
  if (span.bytes >= lifetime.bytes) return buffer.offset;
  bool isFilled = lifetime.filled.loop >= 0 && span.start == lifetime.start;
  bool isAtEnd = isFilled ? lifetime.filled.backwards : !lifetime.emptied.backwards;
  return buffer.offset + (isAtEnd ? lifetime.bytes - span.bytes : 0);
}

void TimelineBuilder::addPiece(const Occupant &occupant, int64_t offset, int64_t bytes, int first, int last) {
  timeline.values.push_back({occupant.value, names.nameOf(occupant.value), names.lineOf(occupant.value),
                             kinds.of(occupant.value), false, offset, bytes, first, last});
}

/// The value that has a buffer at a moment: the largest, so a stack and not its slots; of several the one that is
/// written last. If there is none, the next one: a buffer is in use from its first write on.
static const Occupant &occupantAt(const PlacedBuffer &buffer, int moment) {
  const Occupant *best = nullptr, *next = nullptr, *previous = nullptr;
  for (const Occupant &occupant : buffer.occupants) {
    if (occupant.start > moment) {
      if (!next || occupant.start < next->start) next = &occupant;
    } else if (occupant.end < moment) {
      if (!previous || occupant.end > previous->end) previous = &occupant;
    } else if (!best || std::pair(occupant.bytes, occupant.start) > std::pair(best->bytes, best->start)) {
      best = &occupant;
    }
  }
  if (best) return *best;
  return previous ? *previous : *next;
}

void TimelineBuilder::addSpan(const PlacedBuffer &buffer, const LiveSpan &span) {
  int64_t offset = startOf(buffer, span);
  if (buffer.slot > 0) {
    int64_t slots = span.bytes / buffer.slot;
    for (const Occupant &stack : buffer.occupants)
      if (!stack.isSlot)
        addPiece(stack, offset + slots * stack.offset, stack.bytes / (buffer.lifetime.bytes / span.bytes), span.start,
                 span.end);
    return;
  }
  std::vector<int> cuts{span.start};
  for (const Occupant &occupant : buffer.occupants)
    for (int cut : {occupant.start, occupant.end + 1})
      if (span.start < cut && cut <= span.end) cuts.push_back(cut);
  llvm::sort(cuts);
  const Occupant *now = &occupantAt(buffer, span.start);
  int first = span.start;
  for (int cut : cuts) {
    const Occupant *then = &occupantAt(buffer, cut);
    if (then == now) continue;
    addPiece(*now, offset, span.bytes, first, cut - 1);
    now = then, first = cut;
  }
  addPiece(*now, offset, span.bytes, first, span.end);
}

void TimelineBuilder::findPeak() {
  std::map<int, int64_t> changes;
  for (const MemoryValue &value : timeline.values)
    changes[value.first] += value.bytes, changes[value.last + 1] -= value.bytes;
  int64_t now = 0, most = -1;
  for (auto [moment, change] : changes)
    if (now += change; now > most) most = now, timeline.peak = moment;
}

MemoryTimeline TimelineBuilder::build() {
  Block &block = function.getBody().front();
  noteMoments(block);
  timeline.lastMoment = line.endOf(block.getTerminator());
  addStates();
  size_t states = timeline.values.size();
  placeBuffers();
  SmallVector<Lifetime> lifetimes;
  for (const PlacedBuffer &buffer : buffers) lifetimes.push_back(buffer.lifetime);
  for (const LiveSpan &span : liveSpans(lifetimes)) addSpan(buffers[span.buffer], span); // 4.
  auto key = [](const MemoryValue &value) { return std::tuple(value.first, value.offset, value.last); };
  std::stable_sort(timeline.values.begin() + states, timeline.values.end(),
                   [&](const MemoryValue &a, const MemoryValue &b) { return key(a) < key(b); });
  findPeak();
  return std::move(timeline);
}

std::vector<PlacedRange> TimelineBuilder::ranges() {
  addStates();
  placeBuffers();
  std::vector<PlacedRange> ranges;
  for (const PlacedBuffer &buffer : buffers)
    ranges.push_back({buffer.offset, buffer.lifetime.bytes, buffer.lifetime.start, buffer.lifetime.end});
  return ranges;
}

std::vector<PlacedRange> tessera::placedRanges(func::FuncOp function) { return TimelineBuilder(function).ranges(); }

MemoryTimeline tessera::memoryTimeline(func::FuncOp function) { return TimelineBuilder(function).build(); }
