//===- LargestSize.h - the largest size with which a model fits -----------===//

#ifndef TESSERA_TOOLS_LARGESTSIZE_H
#define TESSERA_TOOLS_LARGESTSIZE_H

#include <cstdint>
#include <functional>
#include <map>
#include <optional>

namespace tessera {

/// What is searched for: a multiple of `unit`, from `start` on, which is one.
struct SizeRange {
  int64_t start = 1, unit = 1;
};

/// A search for the largest size with which no more than `limit` bytes are needed. Memory need not grow with the size:
/// how large results are divided into chunks, padding and merging depend on it.
class LargestSize {
public:
  /// `bytesWith` plans a size; none if the model cannot have it. No size is planned twice.
  LargestSize(SizeRange range, int64_t limit, std::function<std::optional<int64_t>(int64_t size)> bytesWith)
      : range(range), limit(limit), bytesWith(std::move(bytesWith)) {}

  /// A size that fits while the next larger one does not, nor its doubles and the next multiples of powers of two. 0 if
  /// none was found.
  int64_t find();

private:
  // All count units.
  std::optional<int64_t> bytesOf(int64_t count);
  bool fits(int64_t count);
  int64_t between(int64_t fitting, int64_t tooLarge);
  int64_t anyUpTo(int64_t count);
  int64_t guessFrom(int64_t count);
  int64_t tooLargeAbove(int64_t &fitting);
  std::optional<int64_t> fittingDouble(int64_t count);
  std::optional<int64_t> fittingRounder(int64_t count);

  SizeRange range;
  int64_t limit;
  std::function<std::optional<int64_t>(int64_t size)> bytesWith;
  std::map<int64_t, std::optional<int64_t>> planned; ///< by the number of units
};

} // namespace tessera

#endif // TESSERA_TOOLS_LARGESTSIZE_H
