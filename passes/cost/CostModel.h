//===- CostModel.h - the time of a call on a device -----------------------===//
//
// One model for plans, for rematerialization and for sharding. What a call computes and what it moves overlap in part:
//
//   seconds = start + sqrt(compute² + memory²)
//
//   start    of a parallel region, or a launch
//   compute  the elements of each op at its time for an element, and the multiply-adds of contractions at the rate of
//            their type
//   memory   the bytes that each cache and the memory deliver, at their bandwidths
//
// A contraction of m × n × k takes as long as 2 (mnk + K·mn + M·nk + N·mk) operations at the full rate: more for each
// element of c (its sum begins and ends), of b and of a (they are packed and loaded). K, M and N are figures. On a GPU
// the tiles of c run in waves, as many at a time as there are multiprocessors.
//
// An exchange with other ranks takes the latencies of its rounds, and as long as the busiest link takes for its bytes.
// Links are those inside of a machine, and the network between machines (RankLinks.h):
//
//   seconds = start + rounds · latency (of both classes) + max(bytes / bandwidth) (of either)
//
// All figures are those of the device's description (docs/devices.md), by their keys there. What it does not say has a
// default, and the answer is less certain.
//
//===----------------------------------------------------------------------===//

#ifndef TESSERA_PASSES_COST_COSTMODEL_H
#define TESSERA_PASSES_COST_COSTMODEL_H

#include "ir/program/Target.h"
#include "passes/cost/CallWork.h"
#include "llvm/ADT/StringMap.h"
#include <set>

namespace tessera {

/// Where the figures of speed come from.
enum class CostSource { Assumed, DataSheet, Calibrated };

/// "assumed", "data sheet" or "calibrated".
llvm::StringRef stringify(CostSource source);

/// What the time of exchanges of one kind depends on.
struct ExchangeFigures {
  struct Link {
    double latency = 0, bandwidth = 1; ///< seconds a message, bytes a second
  };
  double start = 0; ///< seconds
  Link inside, network;

  double secondsOf(const ExchangeWork &work) const;
};

class CostModel {
public:
  /// `threads`: of the program, on a CPU.
  CostModel(const Target &target, int threads);

  /// The caches of the device that the threads use together, in bytes, the smallest first.
  llvm::SmallVector<int64_t, 4> cacheBytes() const;
  /// Whether a line that is written is first read from memory, unless a cache holds it.
  bool readsLinesToWrite() const { return !isGpu; }

  /// Of one call.
  double secondsOf(const CallWork &work) const;
  /// The classes of links that the exchange uses and whose bandwidth the description does not say: its time is known no
  /// better than where all figures are assumed.
  llvm::SmallVector<std::string, 2> assumedLinks(const ExchangeWork &work) const;
  /// What contractions of operands of a type reach at most, with all threads, in operations a second.
  double peakRate(ElementType type, bool tf32 = false) const;

  CostSource getSource() const { return source; }
  /// The true time is expected from the predicted one divided by this to the predicted one times this.
  double uncertainty() const;
  /// What a call of an entry function may take at least: the times of its `calls` are known no better than the clock
  /// resolves them. `assumed`: of the seconds, those of exchanges over links that are not described.
  double leastOf(double seconds, double calls, double assumed = 0) const;
  /// What it may take at most in a run, which also reads rows and reports between two calls.
  double mostOf(double seconds, double assumed = 0) const;

  /// Of exchanges of a kind over links of the classes that are used; the others stay as they are by default.
  ExchangeFigures exchangeFigures(ExchangeKind kind, bool usesInside = true, bool usesNetwork = true) const;

  /// A figure, or its default.
  double get(llvm::StringRef key) const;
  void set(llvm::StringRef key, double value) { figures[key] = value; }
  /// The keys of the figures that the time of a call depends on.
  std::set<std::string> figuresOf(const CallWork &work) const;

private:
  // `sharing`: the threads that share the call.
  double startSeconds(CallKind kind, int sharing) const;
  double computeSeconds(const CallWork &work, int sharing) const;
  double memorySeconds(const CallWork &work, int sharing) const;
  double opSeconds(const OpCount &count, int sharing) const;
  double gemmSeconds(const MultiplyWork &gemm, CallKind kind, int sharing) const;
  double linkFigure(llvm::StringRef figure, llvm::StringRef linkClass, ExchangeKind kind) const;
  /// The key of a figure of a link: for the collective, if the description has that, else for all.
  std::string linkKey(llvm::StringRef figure, llvm::StringRef linkClass, ExchangeKind kind) const;
  double peakRate(ElementType type, bool tf32, int sharing) const;
  double gemmSecondsOnGpu(const MultiplyWork &gemm, double rate) const;
  std::string rateKey(ElementType type, bool tf32) const;
  double defaultOf(llvm::StringRef key) const;
  /// Of what all cores reach together, the part that the threads reach; `one`: the key of what one thread reaches.
  double shareOfCores(llvm::StringRef one, llvm::StringRef all, int sharing) const;

  bool isGpu;
  int threads;
  CostSource source = CostSource::Assumed;
  std::string inside; ///< the class of the links in a machine
  llvm::StringMap<double> figures;
  mutable std::set<std::string> *used = nullptr; ///< takes the keys that are read
};

} // namespace tessera

#endif // TESSERA_PASSES_COST_COSTMODEL_H
