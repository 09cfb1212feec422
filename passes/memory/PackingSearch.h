//===- PackingSearch.h - the exact search for a packing -------------------===//
//
// Whether a few buffers can be packed into a given number of bytes: depth-first, with bounds. Independent of IR.
//
//===----------------------------------------------------------------------===//

#ifndef TESSERA_PASSES_MEMORY_PACKINGSEARCH_H
#define TESSERA_PASSES_MEMORY_PACKINGSEARCH_H

#include "passes/memory/StackPairs.h"
#include <vector>

namespace tessera {

/// Offsets are given from low to high. In a packing in which no buffer can move down, each buffer is at 0, or as close
/// above a lower one as it may be. So once all lower ones have their offsets, its own is known. The search chooses
/// which buffer is next, and gives up a choice as soon as
///
/// - a buffer that still has no offset would fit below the chosen one: it could move down there in any packing that
///   follows;
/// - the buffers without offsets that are live at some moment do not fit above their least offsets.
///
/// Buffers that no longer meet others without offsets at any moment are searched on their own.
class PackingSearch {
public:
  enum class Outcome { Found, Impossible, Unknown };
  /// Which buffers are tried first where several may have the same offset.
  enum class Preference { Area, Duration };

  explicit PackingSearch(llvm::ArrayRef<Lifetime> buffers);

  /// `Unknown`: after `mostNodes` choices nothing has been found.
  Outcome run(int64_t capacity, int64_t mostNodes, Preference preference);
  /// Choices of the last run.
  int64_t getNodes() const { return nodes; }
  /// Of the packing that was found.
  llvm::ArrayRef<int64_t> getOffsets() const { return offsets; }

private:
  struct Neighbour {
    unsigned buffer;
    int64_t distance; ///< of its offset from this buffer's, if it is above
  };
  /// Where a buffer is live, and what it needs there.
  struct Needs {
    int first = 0, last = -1; ///< of the checks that it is in
    llvm::SmallVector<int64_t> bytes;
  };
  struct Change {
    unsigned buffer;
    int64_t lowest;
  };
  using Buffers = llvm::SmallVector<unsigned>;

  void findNeighbours();
  void findChecks();
  void addCheck(int moment, llvm::ArrayRef<SharedPart> shared);
  bool differ(llvm::ArrayRef<SharedPart> some, llvm::ArrayRef<SharedPart> others, int moment) const;
  void findTwins();
  void rank(Preference preference);
  /// At `floor` (after the buffers of at most `lastRank`) or above.
  bool placeAll(Buffers buffers, int64_t floor, unsigned lastRank);
  /// The same of buffers that meet each other, perhaps through others.
  bool placeGroup(llvm::ArrayRef<unsigned> buffers, int64_t floor, unsigned lastRank);
  bool fits(llvm::ArrayRef<unsigned> buffers, int64_t floor);
  void place(unsigned buffer);
  void restore(size_t changesBefore);

  llvm::ArrayRef<Lifetime> lifetimes;
  llvm::SmallVector<int64_t> sizes, offsets;
  llvm::SmallVector<int64_t> lowest; ///< the least offset above all buffers that have one
  llvm::SmallVector<bool> isPlaced;
  llvm::SmallVector<unsigned> ranks;
  llvm::SmallVector<int> twins; ///< an equal buffer that goes first, or -1
  std::vector<llvm::SmallVector<Neighbour>> neighbours;
  std::vector<Needs> needs;
  llvm::SmallVector<int64_t> tops; ///< of each check, while it is made
  std::vector<Change> changes;
  int64_t capacity = 0, nodes = 0, mostNodes = 0;
};

} // namespace tessera

#endif // TESSERA_PASSES_MEMORY_PACKINGSEARCH_H
