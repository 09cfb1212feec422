//===- BlockPeak.cpp - live bytes of a block with recomputed units --------===//

#include "passes/rematerialize/BlockUnits.h"
#include "llvm/ADT/STLExtras.h"
#include <array>

using namespace mlir;
using namespace tessera;

/// When values are live if some units are recomputed. Times: of the clone of unit u before op p, p (n + 1) + u; of op p
/// itself, p (n + 1) + n.
class BlockUnits::Lifetimes {
public:
  Lifetimes(const BlockUnits &block, const llvm::BitVector &recomputed)
      : block(block), count(static_cast<int64_t>(block.units.size())), stride(count + 1), cloneTime(count, never),
        cloneReaders(block.values.size()), spans(block.values.size()) {
    placeClones(recomputed);
    for (unsigned number = 0; number < block.values.size(); ++number) findSpans(number);
    writeInPlace();
  }
  int64_t most() const;

private:
  static constexpr int64_t never = std::numeric_limits<int64_t>::max();
  struct Span {
    int64_t start = 0, end = -1; ///< both inclusive
  };
  int64_t opTime(unsigned op) const { return op * stride + count; }
  bool isCloned(unsigned value) const {
    int unit = block.values[value].unit;
    return unit >= 0 && cloneTime[unit] != never;
  }
  void placeClones(const llvm::BitVector &recomputed);
  void findSpans(unsigned number);
  void writeInPlace();
  /// At a time, in the op or in its clone.
  void writeInPlace(const Op &op, int64_t time, bool isClone);

  const BlockUnits &block;
  int64_t count, stride;
  std::vector<int64_t> cloneTime;
  std::vector<SmallVector<unsigned>> cloneReaders; ///< units, for each value
  std::vector<std::array<Span, 2>> spans;          ///< of each value, and of its clone
};

/// A clone is placed before its first reader.
void BlockUnits::Lifetimes::placeClones(const llvm::BitVector &recomputed) {
  for (int64_t u = count - 1; u >= 0; --u) {
    if (!recomputed[u]) continue;
    int64_t first = never; // slot
    for (auto [number, value] : llvm::enumerate(block.values)) {
      if (value.unit != u) continue;
      for (unsigned reader : block.readersOf[number])
        if (block.ops[reader].isLate) first = std::min<int64_t>(first, reader);
      for (unsigned clone : cloneReaders[number]) first = std::min(first, cloneTime[clone] / stride);
    }
    if (first == never) continue;
    cloneTime[u] = first * stride + u;
    for (unsigned number : block.readsOfUnit[u]) cloneReaders[number].push_back(u);
  }
}

void BlockUnits::Lifetimes::findSpans(unsigned number) {
  const StoredValue &value = block.values[number];
  auto &[own, clone] = spans[number];
  own.start = own.end = opTime(value.definition);
  if (isCloned(number)) clone.start = clone.end = cloneTime[value.unit];
  std::array<bool, 2> isRead{};
  auto read = [&](bool inClone, int64_t time) {
    Span &span = spans[number][inClone];
    span.end = std::max(span.end, time), isRead[inClone] = true;
  };
  for (unsigned reader : block.readersOf[number]) read(isCloned(number) && block.ops[reader].isLate, opTime(reader));
  for (unsigned reader : cloneReaders[number]) read(isCloned(number), cloneTime[reader]);
  // Of two kernels that compute a value the one from which nothing reads it loses it.
  if (!isCloned(number) || !value.isOfKernel) return;
  if (!isRead[false]) own.end = -1;
  if (!isRead[true]) clone.end = -1;
}

void BlockUnits::Lifetimes::writeInPlace() {
  for (auto [i, op] : llvm::enumerate(block.ops)) writeInPlace(op, opTime(i), false);
  for (auto [unit, ops] : llvm::enumerate(block.opsOfUnit))
    if (cloneTime[unit] != never)
      for (unsigned op : ops) writeInPlace(block.ops[op], cloneTime[unit], true);
}

void BlockUnits::Lifetimes::writeInPlace(const Op &op, int64_t time, bool isClone) {
  SmallVector<unsigned> taken;
  for (auto [operand, result] : op.inPlace) {
    Span &dying = spans[operand][isCloned(operand) && (isClone || op.isLate)];
    if (dying.end != time || spans[result][isClone].end < 0 || llvm::is_contained(taken, result)) continue;
    dying.end = time - 1;
    taken.push_back(result);
  }
}

int64_t BlockUnits::Lifetimes::most() const {
  std::vector<std::pair<int64_t, int64_t>> changes; // at one time, what ends before what begins
  changes.reserve(4 * spans.size());
  for (auto [value, both] : llvm::zip(block.values, spans))
    for (const Span &span : both) {
      if (span.start > span.end) continue;
      changes.push_back({span.start, value.bytes});
      changes.push_back({span.end + 1, -value.bytes});
    }
  llvm::sort(changes);
  int64_t now = 0, most = 0;
  for (auto [time, change] : changes) most = std::max(most, now += change);
  return most;
}

int64_t BlockUnits::peakWith(const llvm::BitVector &recomputed) const { return Lifetimes(*this, recomputed).most(); }
