//===- FitLinks.h - figures of links from measured exchanges --------------===//

#ifndef TESSERA_PASSES_COST_FITLINKS_H
#define TESSERA_PASSES_COST_FITLINKS_H

#include "passes/cost/RankLinks.h"

namespace tessera {

/// An exchange over links of one class, and how long it took.
struct TimedExchange {
  LinkLoad load;
  double seconds = 0; ///< above 0
};

/// Latency and bandwidth of a link.
struct LinkFigures {
  double latency = 0;   ///< seconds
  double bandwidth = 0; ///< bytes a second
};

/// Figures of a link with which rounds · latency + bytes / bandwidth is near to measured times. The first exchange,
/// which should have few bytes, gives the latency; the bandwidth is the geometric mean of those that the others give,
/// which should have many. So both ends are right, and what is between them need not follow the formula: messages of
/// some kilobytes go another way in most libraries, and queues of a network may take them at once. None without such
/// times.
std::optional<LinkFigures> fitLink(llvm::ArrayRef<TimedExchange> exchanges);

/// How many devices share a link, of at most `most`: `alone` is the time of an exchange of one device, or one pair of
/// them, `together` that of the same exchange while all are at it.
int64_t devicesOnLink(double alone, double together, int64_t most);

} // namespace tessera

#endif // TESSERA_PASSES_COST_FITLINKS_H
