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

/// The first of those with the fewest bytes.
ByteRange tightestOf(llvm::ArrayRef<ByteRange> ranges);

/// Few ranges are in a list. More are in a tree over the moments: a node has the ranges that are taken at all of its
/// moments, as far as no node above it has them, and those that are taken at any. Adjacent ranges are one, so these
/// lists are short where buffers are packed densely. A query looks for large enough gaps only, of which there are few.
class OccupiedSpace {
public:
  /// For moments from 0 to before `momentCount`.
  explicit OccupiedSpace(int momentCount);

  /// Takes bytes from the moment `start` to `end`, both inclusive.
  void add(ByteRange range, int start, int end);
  /// Of the ranges `free`, which are in order, leaves what is free at all moments from `start` to `end`, as far as it
  /// has `least` bytes in one piece.
  void leaveFree(int start, int end, int64_t least, llvm::SmallVectorImpl<ByteRange> &free) const;
  /// Where the tightest range of at least so many free bytes begins: between two that are taken, or else on top. Of
  /// equal ones it is the lowest.
  int64_t tightest(int start, int end, int64_t bytes) const;

private:
  using Ranges = llvm::SmallVector<ByteRange, 0>; ///< in order and not adjacent
  struct Entry {
    ByteRange range;
    int start, end;
  };
  struct Node {
    Ranges always, sometimes;
  };

  void growTree();
  static void insert(Ranges &ranges, ByteRange range);
  void add(ByteRange range, int start, int end, size_t node, int first, int last);
  void leaveFree(int start, int end, int64_t least, llvm::SmallVectorImpl<ByteRange> &free, size_t node, int first,
                 int last) const;
  void cut(const Ranges &taken, int64_t least, llvm::SmallVectorImpl<ByteRange> &free) const;
  int64_t tightestInList(int start, int end, int64_t bytes) const;

  int lastMoment;
  mutable Ranges taken, pieces; ///< while `leaveFree` runs
  std::vector<Entry> list;      ///< in the order of ranges; empty once there is a tree
  std::vector<Node> nodes;      ///< the children of node i are 2 i + 1 and 2 i + 2
};

} // namespace tessera

#endif // TESSERA_PASSES_MEMORY_OCCUPIEDSPACE_H
