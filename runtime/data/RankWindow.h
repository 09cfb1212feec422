//===- RankWindow.h - what a rank reads of a batch ------------------------===//
//
// Inputs of a program for several ranks may be parts of a batch: some of its rows, and a window of each row. Which
// elements these are depends on the manifest and on the position of the rank alone, so that all ranks together read
// what one rank reads.
//
//===----------------------------------------------------------------------===//

#ifndef TESSERA_RUNTIME_DATA_RANKWINDOW_H
#define TESSERA_RUNTIME_DATA_RANKWINDOW_H

#include "runtime/program/Manifest.h"
#include "runtime/ranks/Mesh.h"

#include <algorithm>
#include <memory>

namespace tessera::runtime {

/// The elements of one axis that a rank has. If the axis is cut into blocks, those are its parts of each block.
struct AxisWindow {
  int64_t size = 0;  ///< elements of the rank
  int64_t whole = 0; ///< elements of all ranks, without padding
  int64_t blocks = 1;
  int64_t position = 0; ///< of the rank along the mesh axis

  /// The number, on the whole axis, of the rank's element `place`; at least `whole` if it is padding.
  int64_t operator()(int64_t place) const {
    int64_t part = size / blocks;
    return place / part * (whole / blocks) + position * part + place % part;
  }
  /// The same; padding repeats the last element, so that what is computed from it is finite.
  int64_t padded(int64_t place) const { return std::min((*this)(place), whole - 1); }
  bool isWhole() const { return size == whole; }
};

/// The window of axis number `axis` of an input.
AxisWindow windowOf(const ValueSpec &value, size_t axis, const RankPositions &positions);

/// The axes of an input as all ranks together have it, without padding.
std::vector<AxisSpec> wholeAxes(const ValueSpec &value);

/// The part of each row of an input, whose outermost axis is the batch, that a rank has. Used by one thread.
class RowWindow {
public:
  RowWindow() = default;
  RowWindow(const ValueSpec &value, const RankPositions &positions);

  /// Whether the rank has whole rows; then there is no memory for them here.
  bool isWhole() const { return !memory; }
  /// Elements of a whole row.
  int64_t wholeElements() const { return elements; }

  /// Memory for a whole row, and the copy of the rank's part of what is there to `part`.
  char *row() const { return memory.get(); }
  void copyTo(char *part) const;

private:
  /// Bytes that are contiguous in both.
  struct Run {
    int64_t from = 0, to = 0, bytes = 0;
  };
  int64_t elements = 1;
  std::vector<Run> runs;
  std::unique_ptr<char[]> memory;
};

} // namespace tessera::runtime

#endif // TESSERA_RUNTIME_DATA_RANKWINDOW_H
