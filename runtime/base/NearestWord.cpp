//===- NearestWord.cpp - "did you mean …?" --------------------------------===//

#include "runtime/base/NearestWord.h"

#include <algorithm>
#include <numeric>

namespace tessera::runtime {

static size_t editDistance(const std::string &a, const std::string &b) {
  std::vector<size_t> row(b.size() + 1);
  std::iota(row.begin(), row.end(), 0);
  for (size_t i = 1; i <= a.size(); ++i) {
    size_t diagonal = row[0];
    row[0] = i;
    for (size_t j = 1; j <= b.size(); ++j) {
      size_t above = row[j];
      row[j] = std::min({above + 1, row[j - 1] + 1, diagonal + (a[i - 1] != b[j - 1])});
      diagonal = above;
    }
  }
  return row[b.size()];
}

std::string nearestWord(const std::string &word, const std::vector<std::string> &candidates) {
  std::string best;
  size_t distance = word.size() / 2 + 1;
  for (const std::string &candidate : candidates)
    if (size_t d = editDistance(word, candidate); d < distance) distance = d, best = candidate;
  return best;
}

} // namespace tessera::runtime
