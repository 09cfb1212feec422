//===- CacheModel.h - which bytes are in which cache ----------------------===//
//
// The bytes of the arena in the order of their last access, as in a fully associative cache that evicts what was used
// least recently. How many other bytes had been accessed since when an access begins tells which cache holds a byte: an
// access evicts nothing of what it is about to read.
//
//===----------------------------------------------------------------------===//

#ifndef TESSERA_PASSES_COST_CACHEMODEL_H
#define TESSERA_PASSES_COST_CACHEMODEL_H

#include "llvm/ADT/ArrayRef.h"
#include "llvm/ADT/SmallVector.h"
#include <cstdint>
#include <list>

namespace tessera {

class CacheModel {
public:
  /// Caches by their sizes in bytes, the smallest first.
  explicit CacheModel(llvm::ArrayRef<int64_t> capacities) : capacities(capacities) {}

  /// Accesses `span` bytes from an offset on. Returns the parts of them, from 0 to 1, that each cache holds and a
  /// smaller one does not; the last part is in memory only.
  llvm::SmallVector<double, 4> access(int64_t offset, int64_t span);

private:
  struct Interval {
    int64_t begin, end;
  };
  llvm::SmallVector<int64_t, 4> capacities;
  std::list<Interval> recent; ///< disjoint, the last accessed first; no more bytes than the largest cache has
};

} // namespace tessera

#endif // TESSERA_PASSES_COST_CACHEMODEL_H
