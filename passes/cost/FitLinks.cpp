//===- FitLinks.cpp - figures of links from measured exchanges ------------===//

#include "passes/cost/FitLinks.h"
#include <cmath>

using namespace mlir;
using namespace tessera;

std::optional<LinkFigures> tessera::fitLink(ArrayRef<TimedExchange> exchanges) {
  if (exchanges.size() < 2 || exchanges.front().load.rounds == 0) return std::nullopt;
  const TimedExchange &small = exchanges.front();
  double latency = small.seconds / double(small.load.rounds), logarithms = 0;
  for (const TimedExchange &large : exchanges.drop_front()) {
    double waiting = double(large.load.rounds) * latency;
    // Noise may make a large exchange as fast as a small one.
    double seconds = std::max(large.seconds - waiting, large.seconds / 2);
    if (!(large.load.bytes > 0)) return std::nullopt;
    logarithms += std::log(large.load.bytes / seconds);
  }
  return LinkFigures{latency, std::exp(logarithms / double(exchanges.size() - 1))};
}

int64_t tessera::devicesOnLink(double alone, double together, int64_t most) {
  return std::clamp<int64_t>(std::llround(together / alone), 1, most);
}
