//===- CallCosts.cpp - the costs of the calls of an entry function --------===//

#include "passes/cost/CallCosts.h"
#include "passes/cost/CacheModel.h"

using namespace tessera;

namespace {

class SequenceWalk {
public:
  SequenceWalk(const CallSequence &calls, const CostModel &model)
      : calls(calls), model(model), caches(model.cacheBytes()), costs(calls.steps.size()) {}

  std::vector<CallCost> run() {
    walk(0, calls.steps.size(), 1);
    std::vector<CallCost> list;
    for (CallCost &cost : costs) {
      if (!cost.call) continue;
      for (double &bytes : cost.work.traffic) bytes /= cost.runs;
      cost.seconds = model.secondsOf(cost.work);
      list.push_back(std::move(cost));
    }
    return list;
  }

private:
  /// Steps [begin, end), which stand for `runs` runs of each.
  void walk(size_t begin, size_t end, double runs) {
    for (size_t i = begin; i < end; ++i) {
      if (const auto *call = std::get_if<ProgramCall>(&calls.steps[i])) {
        visit(*call, costs[i], runs);
      } else if (const auto *loop = std::get_if<LoopBegin>(&calls.steps[i])) {
        size_t last = endOf(i);
        iterate(*loop, i + 1, last, runs);
        i = last;
      }
    }
  }

  size_t endOf(size_t loop) const {
    for (size_t i = loop + 1, depth = 1;; ++i) {
      if (std::holds_alternative<LoopBegin>(calls.steps[i])) ++depth;
      if (std::holds_alternative<LoopEnd>(calls.steps[i]) && --depth == 0) return i;
    }
  }

  void iterate(const LoopBegin &loop, size_t begin, size_t end, double runs) {
    int64_t first = loop.isReverse ? loop.iterations - 1 : 0, last = loop.isReverse ? 0 : loop.iterations - 1;
    iterations.push_back(first);
    walk(begin, end, runs);
    if (loop.iterations > 1) {
      iterations.back() = last;
      walk(begin, end, runs * double(loop.iterations - 1));
    }
    iterations.pop_back();
  }

  int64_t offsetOf(PlaceAttr place) const {
    int64_t offset = place.getOffset();
    for (auto [stride, iteration] : llvm::zip(place.getStrides(), iterations)) offset += stride * iteration;
    return offset;
  }

  static bool isRead(const ProgramCall &call, PlaceAttr place) {
    return llvm::any_of(call.accesses,
                        [&](const CallAccess &access) { return !access.isWritten && access.place == place; });
  }

  void visit(const ProgramCall &call, CallCost &cost, double runs) {
    if (!cost.call) {
      cost.call = &call;
      cost.work = CallWork::of(call);
      cost.work.traffic.assign(model.cacheBytes().size() + 1, 0.0);
    }
    cost.runs += runs;
    for (const CallAccess &access : call.accesses) {
      auto parts = caches.access(offsetOf(access.place), access.span);
      if (access.isWritten && model.readsLinesToWrite() && !isRead(call, access.place)) parts.back() *= 2;
      for (auto [bytes, part] : llvm::zip(cost.work.traffic, parts)) bytes += runs * part * double(access.bytes);
    }
  }

  const CallSequence &calls;
  const CostModel &model;
  CacheModel caches;
  std::vector<CallCost> costs; ///< by step
  llvm::SmallVector<int64_t> iterations;
};

} // namespace

std::vector<CallCost> tessera::costsOf(const CallSequence &calls, const CostModel &model) {
  return SequenceWalk(calls, model).run();
}
