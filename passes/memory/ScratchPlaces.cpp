//===- ScratchPlaces.cpp - where kernels have their scratch memory --------===//

#include "passes/memory/ScratchPlaces.h"
#include "passes/memory/MemoryTimeline.h"
#include "passes/memory/PlanStorage.h"
#include "llvm/ADT/STLExtras.h"

using namespace mlir;
using namespace tessera;

ScratchPlaces::ScratchPlaces(func::FuncOp function, int64_t plannedBytes, int threads)
    : function(function), end(alignedBytes(plannedBytes)), threads(threads) {}

void ScratchPlaces::findLiveRanges() {
  line.emplace(function);
  int moments = line->endOf(function.getBody().front().getTerminator()) + 1;
  live.emplace(moments);
  live->add({0, stateBytes(function->getParentOfType<ModuleOp>())}, 0, moments - 1);
  for (const PlacedRange &range : placedRanges(function))
    live->add({range.offset, range.offset + alignedBytes(range.bytes)}, range.first, range.last);
}

int64_t ScratchPlaces::place(Operation *first, int64_t bytes) {
  if (!live) findLiveRanges();
  bytes = threads * alignedBytes(bytes);
  int moment = line->at(first);
  ByteRanges free{everything};
  live->leaveFree(moment, moment, bytes, free);
  auto isFree = [&](int64_t offset) {
    return offset + bytes <= end && llvm::any_of(free, [&](const ByteRange &range) {
             return range.begin <= offset && offset + bytes <= range.end;
           });
  };
  int64_t *used = llvm::find_if(offsets, isFree);
  int64_t offset = 0;
  if (used != offsets.end()) {
    offset = *used;
    offsets.erase(used);
  } else {
    // The last range is on top of what is live; it has no end.
    bool extendsArena = free.back().begin + bytes > end;
    if (extendsArena && free.size() > 1)
      free.pop_back();
    else
      free.back().end = std::max(free.back().begin + bytes, end);
    offset = tightestOf(free).begin;
  }
  offsets.insert(offsets.begin(), offset);
  end = std::max(end, offset + bytes);
  places[first] = {offset, offset + bytes};
  return offset;
}

std::optional<ByteRange> ScratchPlaces::of(Operation *first) const {
  auto it = places.find(first);
  return it == places.end() ? std::nullopt : std::optional(it->second);
}

SmallVector<Lifetime> ScratchPlaces::lifetimes() const {
  SmallVector<Lifetime> list;
  for (auto [first, range] : places) list.push_back({range.end - range.begin, line->at(first), line->at(first)});
  llvm::sort(list, [](const Lifetime &a, const Lifetime &b) { return a.start < b.start; });
  return list;
}

int64_t ScratchPlaces::leastBytes() const {
  MemoryTimeline timeline = memoryTimeline(function);
  int64_t most = 0;
  for (auto [first, range] : places) most = std::max(most, timeline.bytesAt(line->at(first)) + range.end - range.begin);
  return most;
}
