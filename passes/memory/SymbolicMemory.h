//===- SymbolicMemory.h - which write each byte of the arena comes from ---===//

#ifndef TESSERA_PASSES_MEMORY_SYMBOLICMEMORY_H
#define TESSERA_PASSES_MEMORY_SYMBOLICMEMORY_H

#include "passes/memory/Content.h"
#include <map>
#include <memory>
#include <vector>

namespace tessera {

/// The arena.
///
/// A range may consist of rows whose columns come from different writes; it has one tag for all of them. Of a range
/// that was written at equal distances, as the slots of a long stack are, only one row is stored. So its length takes
/// no time.
class SymbolicMemory {
public:
  /// Bytes of each row.
  struct Columns {
    int64_t begin, bytes;
  };
  /// Ranges of `bytes` bytes, the first one at `address` and each `stride` bytes, no less, after the one before.
  struct Slots {
    int64_t address, bytes, stride, count;
  };

  void write(int64_t address, int64_t bytes, int64_t tag);
  Content read(int64_t address, int64_t bytes) const;

  /// The same write fills all slots: each has all of its bytes.
  void writeSlots(Slots slots, int64_t tag);
  /// The contents of the slots, one after the other.
  Content readSlots(Slots slots) const;

  /// The tag of a range of rows of `pitch` bytes, given the tags of its columns by their first byte.
  int64_t tagOf(int64_t pitch, const std::map<int64_t, int64_t> &columns);
  /// Writes columns of the rows of a range, and none of the others.
  void writeColumns(int64_t address, int64_t bytes, int64_t pitch, Columns columns, int64_t tag);
  /// The write that columns of the rows of a range come from; -1 if there are several, or none.
  int64_t readColumns(int64_t address, int64_t bytes, int64_t pitch, Columns columns) const;

private:
  static constexpr int64_t unknown = -1;

  struct Rows;
  /// What a range has: one write, or rows.
  struct Source {
    int64_t tag = unknown;
    std::shared_ptr<const Rows> rows = nullptr;
  };
  /// A range of the arena: bytes of a source, from its byte `from` on.
  struct Stretch {
    int64_t bytes, from;
    Source source;
  };
  /// Bytes from `begin` on, which are those of a write from its byte `from` on.
  struct Column {
    int64_t begin, bytes, tag, from;
  };
  /// Any number of equal rows, and what is between their columns: byte `shift` + i of `below`, where it is byte i here.
  struct Rows {
    int64_t pitch;
    std::vector<Column> columns; ///< in their order
    Source below;
    int64_t shift;
  };
  using Stretches = std::map<int64_t, Stretch>;

  /// Appends bytes [from, to) of a source.
  static void append(Content &content, const Source &source, int64_t from, int64_t to);
  /// Whether bytes [from, to) of rows, less than a row, are in columns.
  static bool isInColumns(const Rows &rows, int64_t from, int64_t to);
  static void overwrite(Rows &rows, Column column);
  /// How many of the slots, from the first one on, are known to be equal.
  int64_t countEqual(Slots slots) const;

  /// The stretch that covers an address, or else the first one after it.
  Stretches::const_iterator find(int64_t address) const;
  /// Makes `address` the start of a stretch, if a stretch covers it.
  void cut(int64_t address);
  /// Makes a range consist of stretches without gaps, from `begin` to the iterator that follows them.
  std::pair<Stretches::iterator, Stretches::iterator> stretchesOf(int64_t begin, int64_t end);
  /// The columns of a range, if it consists of whole rows of that pitch.
  std::map<int64_t, int64_t> columnsAt(int64_t address, int64_t bytes, int64_t pitch) const;

  Stretches stretches; ///< by their addresses
  std::map<std::pair<int64_t, std::map<int64_t, int64_t>>, int64_t> rowTags;
  std::map<int64_t, std::pair<int64_t, std::map<int64_t, int64_t>>> rowsOfTag;
};

} // namespace tessera

#endif // TESSERA_PASSES_MEMORY_SYMBOLICMEMORY_H
