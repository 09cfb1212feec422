//===- RowChoice.cpp - which rows are for training, which for validation --===//

#include "runtime/data/RowChoice.h"

#include "runtime/data/Permutation.h"

#include <tuple>

namespace tessera::runtime {

RowChoice::RowChoice(const Portion &portion, int64_t count) : count(count) {
  std::tie(begin, size) = portion.rangeOf(count);
  size -= begin;
  if (portion.kind == Portion::All || !portion.seed) return;
  kind = portion.kind;
  strata = portion.heldOut(count);
  key = mix64(mix64(*portion.seed) ^ mix64(static_cast<uint64_t>(count)));
  begin = 0; // the sizes are those of the ranges
}

/// number · factor / divisor, rounded down, without overflow.
static int64_t scaled(int64_t number, int64_t factor, int64_t divisor) {
  return static_cast<int64_t>(static_cast<__int128>(number) * factor / divisor);
}

/// The first row of a stratum.
int64_t RowChoice::stratum(int64_t number) const { return scaled(number, count, strata); }

int64_t RowChoice::heldOutRow(int64_t number) const {
  int64_t first = stratum(number), rows = stratum(number + 1) - first;
  return first + static_cast<int64_t>(mix64(key ^ static_cast<uint64_t>(number)) % static_cast<uint64_t>(rows));
}

int64_t RowChoice::operator()(int64_t index) const {
  if (kind == Portion::All || strata == 0) return begin + index;
  if (kind == Portion::Validation) return heldOutRow(index);
  // Before stratum j there are j · n / k rows, of which j are held out: j · (n - k) / k for training. The row is in the
  // last stratum j for which that is at most its index.
  int64_t rest = count - strata;
  auto number = static_cast<int64_t>((static_cast<__int128>(index + 1) * strata - 1) / rest);
  int64_t row = stratum(number) + (index - scaled(number, rest, strata));
  return row + (row >= heldOutRow(number));
}

} // namespace tessera::runtime
