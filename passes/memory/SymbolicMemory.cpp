//===- SymbolicMemory.cpp - which write each byte of the arena comes from -===//

#include "passes/memory/SymbolicMemory.h"
#include "llvm/ADT/STLExtras.h"

using namespace tessera;

//===----------------------------------------------------------------------===//
// Sources
//===----------------------------------------------------------------------===//

void SymbolicMemory::append(Content &content, const Source &source, int64_t from, int64_t to) {
  if (from >= to) return;
  const Rows *rows = source.rows.get();
  if (!rows) return tessera::append(content, {to - from, source.tag, source.tag == unknown ? 0 : from});
  for (int64_t row = from - from % rows->pitch; row < to; row += rows->pitch) {
    int64_t at = std::max(from, row), end = std::min(to, row + rows->pitch);
    for (const Column &column : rows->columns) {
      int64_t low = std::max(at, row + column.begin), high = std::min(end, row + column.begin + column.bytes);
      if (low >= high) continue;
      append(content, rows->below, at + rows->shift, low + rows->shift);
      tessera::append(content, {high - low, column.tag, column.from + low - row - column.begin});
      at = high;
    }
    append(content, rows->below, at + rows->shift, end + rows->shift);
  }
}

bool SymbolicMemory::isInColumns(const Rows &rows, int64_t from, int64_t to) {
  int64_t covered = 0, row = from - from % rows.pitch;
  for (int64_t begin : {row, row + rows.pitch})
    for (const Column &column : rows.columns)
      covered += std::max<int64_t>(0, std::min(to, begin + column.begin + column.bytes) -
                                          std::max(from, begin + column.begin));
  return covered == to - from;
}

void SymbolicMemory::overwrite(Rows &rows, Column column) {
  std::vector<Column> columns;
  int64_t end = column.begin + column.bytes;
  for (const Column &old : rows.columns) { // what is left of it before and behind
    int64_t oldEnd = old.begin + old.bytes, before = std::min(oldEnd, column.begin), behind = std::max(old.begin, end);
    if (old.begin < before) columns.push_back({old.begin, before - old.begin, old.tag, old.from});
    if (behind < oldEnd) columns.push_back({behind, oldEnd - behind, old.tag, old.from + behind - old.begin});
  }
  columns.push_back(column);
  llvm::sort(columns, [](const Column &a, const Column &b) { return a.begin < b.begin; });
  rows.columns = std::move(columns);
}

//===----------------------------------------------------------------------===//
// Stretches
//===----------------------------------------------------------------------===//

SymbolicMemory::Stretches::const_iterator SymbolicMemory::find(int64_t address) const {
  auto next = stretches.upper_bound(address);
  if (next == stretches.begin()) return next;
  auto last = std::prev(next);
  return last->first + last->second.bytes > address ? last : next;
}

void SymbolicMemory::cut(int64_t address) {
  auto it = stretches.lower_bound(address);
  if (it == stretches.begin()) return;
  --it;
  int64_t head = address - it->first;
  Stretch &stretch = it->second;
  if (head >= stretch.bytes) return;
  Stretch rest{stretch.bytes - head, stretch.from + head, stretch.source};
  stretch.bytes = head;
  stretches.emplace(address, std::move(rest));
}

std::pair<SymbolicMemory::Stretches::iterator, SymbolicMemory::Stretches::iterator>
SymbolicMemory::stretchesOf(int64_t begin, int64_t end) {
  cut(begin), cut(end);
  int64_t at = begin;
  auto fillUpTo = [&](int64_t address) {
    if (at < address) stretches.emplace(at, Stretch{address - at, 0, {}});
  };
  for (auto it = stretches.lower_bound(begin); it != stretches.end() && it->first < end; ++it) {
    fillUpTo(it->first);
    at = it->first + it->second.bytes;
  }
  fillUpTo(end);
  return {stretches.lower_bound(begin), stretches.lower_bound(end)};
}

//===----------------------------------------------------------------------===//
// Ranges
//===----------------------------------------------------------------------===//

void SymbolicMemory::write(int64_t address, int64_t bytes, int64_t tag) {
  cut(address), cut(address + bytes);
  stretches.erase(stretches.lower_bound(address), stretches.lower_bound(address + bytes));
  stretches[address] = {bytes, 0, {tag}};
}

Content SymbolicMemory::read(int64_t address, int64_t bytes) const {
  Content content;
  int64_t at = address, end = address + bytes;
  for (auto it = find(address); it != stretches.end() && it->first < end; ++it) {
    const auto &[begin, stretch] = *it;
    append(content, {}, at, begin); // never written
    at = std::max(begin, at);
    int64_t to = std::min(end, begin + stretch.bytes), shift = stretch.from - begin;
    append(content, stretch.source, at + shift, to + shift);
    at = to;
  }
  return content;
}

//===----------------------------------------------------------------------===//
// Slots
//===----------------------------------------------------------------------===//

void SymbolicMemory::writeSlots(Slots slots, int64_t tag) {
  auto [address, bytes, stride, count] = slots;
  auto [first, last] = stretchesOf(address, address + (count - 1) * stride + bytes);
  for (auto &[begin, stretch] : llvm::make_range(first, last)) {
    if (stretch.source.rows && stretch.source.rows->pitch == stride) {
      Rows rows = *stretch.source.rows;
      int64_t column = (address - begin + stretch.from) % stride;
      if (column < 0) column += stride;
      int64_t inRow = std::min(bytes, stride - column); // the rest is in the next row
      overwrite(rows, {column, inRow, tag, 0});
      if (inRow < bytes) overwrite(rows, {0, bytes - inRow, tag, inRow});
      stretch.source = {unknown, std::make_shared<const Rows>(std::move(rows))};
      continue;
    }
    int64_t from = begin - address;
    Rows rows{stride, {{0, bytes, tag, 0}}, std::move(stretch.source), stretch.from - from};
    stretch = {stretch.bytes, from, {unknown, std::make_shared<const Rows>(std::move(rows))}};
  }
}

int64_t SymbolicMemory::countEqual(Slots slots) const {
  auto it = find(slots.address);
  if (it == stretches.end() || it->first > slots.address) return 0;
  const auto &[begin, stretch] = *it;
  const Rows *rows = stretch.source.rows.get();
  int64_t room = begin + stretch.bytes - slots.address - slots.bytes, from = stretch.from + slots.address - begin;
  if (!rows || rows->pitch != slots.stride || room < 0 || !isInColumns(*rows, from, from + slots.bytes)) return 0;
  return std::min(slots.count, room / slots.stride + 1);
}

Content SymbolicMemory::readSlots(Slots slots) const {
  Content content;
  auto [address, bytes, stride, count] = slots;
  for (int64_t i = 0; i < count;) {
    int64_t at = address + i * stride, equal = std::max<int64_t>(1, countEqual({at, bytes, stride, count - i}));
    Content each = read(at, bytes);
    // Those that come from several writes are not one piece.
    if (each.size() == 1) each.front().times *= equal;
    for (int64_t copy = 0; copy < (each.size() == 1 ? 1 : equal); ++copy)
      for (const Piece &piece : each) tessera::append(content, piece);
    i += equal;
  }
  return content;
}

//===----------------------------------------------------------------------===//
// Columns
//===----------------------------------------------------------------------===//

int64_t SymbolicMemory::tagOf(int64_t pitch, const std::map<int64_t, int64_t> &columns) {
  auto [it, isNew] = rowTags.try_emplace({pitch, columns}, unknown - 1 - static_cast<int64_t>(rowTags.size()));
  if (isNew) rowsOfTag[it->second] = {pitch, columns};
  return it->second;
}

void SymbolicMemory::writeColumns(int64_t address, int64_t bytes, int64_t pitch, Columns columns, int64_t tag) {
  std::map<int64_t, int64_t> all = columnsAt(address, bytes, pitch);
  // A column ends where the next one begins.
  auto next = all.lower_bound(columns.begin + columns.bytes);
  int64_t end = columns.begin + columns.bytes;
  if (end < pitch && (next == all.end() || next->first != end)) all.try_emplace(end, unknown);
  all.erase(all.lower_bound(columns.begin), all.lower_bound(end));
  all[columns.begin] = tag;
  write(address, bytes, tagOf(pitch, all));
}

int64_t SymbolicMemory::readColumns(int64_t address, int64_t bytes, int64_t pitch, Columns columns) const {
  std::map<int64_t, int64_t> all = columnsAt(address, bytes, pitch);
  auto it = all.find(columns.begin);
  if (it == all.end()) return unknown;
  auto next = std::next(it);
  int64_t end = next == all.end() ? pitch : next->first;
  return end == columns.begin + columns.bytes ? it->second : unknown;
}

std::map<int64_t, int64_t> SymbolicMemory::columnsAt(int64_t address, int64_t bytes, int64_t pitch) const {
  Content content = read(address, bytes);
  if (content.size() != 1 || content.front().from != 0 || content.front().bytes != bytes) return {};
  auto it = rowsOfTag.find(content.front().tag);
  return it != rowsOfTag.end() && it->second.first == pitch ? it->second.second : std::map<int64_t, int64_t>();
}
