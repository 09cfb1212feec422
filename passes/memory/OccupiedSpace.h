//===- OccupiedSpace.h - which bytes are taken at which moments -----------===//
//
// A set of ranges of bytes, each for a span of moments. Independent of IR.
//
//===----------------------------------------------------------------------===//

#ifndef TESSERA_PASSES_MEMORY_OCCUPIEDSPACE_H
#define TESSERA_PASSES_MEMORY_OCCUPIEDSPACE_H

#include "llvm/ADT/SmallVector.h"
#include <cstdint>
#include <limits>
#include <vector>

namespace tessera {

/// Bytes from `begin` to before `end`.
struct ByteRange {
  int64_t begin, end;
};
inline constexpr ByteRange everything{0, std::numeric_limits<int64_t>::max()};

using ByteRanges = llvm::SmallVector<ByteRange, 0>;

/// Adds a range that does not begin before the last one does. Adjacent and overlapping ones become one.
inline void appendRange(ByteRanges &ranges, ByteRange range) {
  if (ranges.empty() || range.begin > ranges.back().end)
    ranges.push_back(range);
  else
    ranges.back().end = std::max(ranges.back().end, range.end);
}

/// Takes the ranges `taken`, which are in order and apart, from those of `free`, likewise, and leaves the pieces that
/// have at least `least` bytes. What `pieces` held is lost. Returns how many ranges of `taken` it compared, about.
int64_t leaveGaps(llvm::ArrayRef<ByteRange> taken, int64_t least, ByteRanges &free, ByteRanges &pieces);

/// The first of those with the fewest bytes.
ByteRange tightestOf(llvm::ArrayRef<ByteRange> ranges);

/// Few ranges are in a list. More are in a tree over the moments: a node has the ranges that are taken at all of its
/// moments, as far as no node above it has them, and those that are taken at any. Adjacent ranges are one, so these
/// lists are short where buffers are packed densely. A leaf has some moments, and a list of what is taken at a part of
/// them. A query looks for large enough gaps only, of which there are few.
class OccupiedSpace {
public:
  /// For moments from 0 to before `momentCount`.
  explicit OccupiedSpace(int momentCount);

  /// Takes bytes from the moment `start` to `end`, both inclusive.
  void add(ByteRange range, int start, int end);
  /// Of the ranges `free`, which are in order, leaves what is free at all moments from `start` to `end`, as far as it
  /// has `least` bytes in one piece.
  void leaveFree(int start, int end, int64_t least, ByteRanges &free) const;
  /// Where the tightest range of at least so many free bytes begins: between two that are taken, or else on top. Of
  /// equal ones it is the lowest.
  int64_t tightest(int start, int end, int64_t bytes) const;
  /// How many ranges the queries have compared, about; those of a list are not counted.
  int64_t getCompared() const { return compared; }

private:
  struct Entry {
    ByteRange range;
    int start, end;
  };
  using Entries = std::vector<Entry>; ///< in the order of ranges
  struct Node {
    ByteRanges always, sometimes; ///< in order and not adjacent
    Entries others;               ///< of a leaf
  };

  void growTree();
  static void insert(ByteRanges &ranges, ByteRange range);
  static void insert(Entries &entries, const Entry &entry);
  void add(ByteRange range, int start, int end, size_t node, int first, int last);
  void leaveFree(int start, int end, int64_t least, ByteRanges &free, size_t node, int first, int last) const;
  void leaveFree(const Entries &entries, int start, int end, int64_t least, ByteRanges &free) const;
  int64_t tightestInList(int start, int end, int64_t bytes) const;

  int lastMoment;
  mutable ByteRanges taken, pieces; ///< while `leaveFree` runs
  mutable int64_t compared = 0;
  Entries list;            ///< empty once there is a tree
  std::vector<Node> nodes; ///< the children of node i are 2 i + 1 and 2 i + 2
};

} // namespace tessera

#endif // TESSERA_PASSES_MEMORY_OCCUPIEDSPACE_H
