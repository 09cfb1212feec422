//===- ReadMarks.h - which files were read since they were checked ---------===//

#ifndef TESSERA_RUNTIME_DATA_READMARKS_H
#define TESSERA_RUNTIME_DATA_READMARKS_H

#include <atomic>
#include <cstddef>
#include <vector>

namespace tessera::runtime {

/// A mark for each file of a source: rows were read since the last check of the file. Several threads may read a source
/// at once.
class ReadMarks {
public:
  void resize(size_t files) { marks = std::vector<std::atomic<bool>>(files); }
  void set(size_t file) const { marks[file].store(true, std::memory_order_relaxed); }
  /// Whether the mark was set. It is cleared.
  bool take(size_t file) const { return marks[file].exchange(false, std::memory_order_relaxed); }

private:
  mutable std::vector<std::atomic<bool>> marks;
};

} // namespace tessera::runtime

#endif // TESSERA_RUNTIME_DATA_READMARKS_H
