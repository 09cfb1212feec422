//===- Pins.cpp - what the user wants saved or recomputed -----------------===//

#include "passes/rematerialize/Pins.h"
#include "ir/dialect/Attributes.h"
#include "runtime/base/PathPattern.h"

using namespace mlir;
using namespace tessera;

std::vector<std::string> PinPatterns::namesOf(const RecomputeUnit &unit) const {
  std::vector<std::string> found;
  auto add = [&](StringRef name) {
    if (!name.empty() && !llvm::is_contained(found, name)) found.push_back(name.str());
  };
  for (Operation *op : unit.ops) {
    for (Value result : op->getResults()) add(pathOf(nameOf(result)));
    add(userName(op));
  }
  return found;
}

bool PinPatterns::matches(ArrayRef<std::string> patterns, ArrayRef<std::string> candidates) {
  bool isMatch = false;
  for (const std::string &pattern : patterns)
    for (const std::string &name : candidates)
      if (matchesPath(pattern, name)) isMatch = true, matched.insert(pattern);
  return isMatch;
}

Pins PinPatterns::pinsOf(const LayerPair &pair) {
  Pins pins{llvm::BitVector(pair.units.size()), llvm::BitVector(pair.units.size())};
  for (auto [i, unit] : llvm::enumerate(pair.units)) {
    std::vector<std::string> candidates = namesOf(unit);
    seen.insert(candidates.begin(), candidates.end());
    pins.saved[i] = matches(saved, candidates), pins.recomputed[i] = matches(recomputed, candidates);
    if (pins.saved[i] && pins.recomputed[i]) contradiction = candidates.front();
  }
  return pins;
}

std::vector<std::string> PinPatterns::unmatched() const {
  std::vector<std::string> left;
  for (ArrayRef<std::string> patterns : {saved, recomputed})
    for (const std::string &pattern : patterns)
      if (!matched.contains(pattern)) left.push_back(pattern);
  return left;
}
