//===- VerifyRepeats.cpp - repeats in the proof of places ------------------===//

#include "passes/memory/PlanChecker.h"
#include "llvm/ADT/ScopeExit.h"

using namespace mlir;
using namespace tessera;

//===----------------------------------------------------------------------===//
// Iterations that are not executed
//===----------------------------------------------------------------------===//

/// Writes the places of `value` in all iterations of the repeats `around`, the innermost ones, in as few ranges as
/// cover them.
void PlanChecker::writeSkipped(Value value, ArrayRef<Dimension> around) {
  PlaceAttr place = places.lookup(value);
  int64_t from = address(value), end = from + bytes(value);
  SmallVector<std::pair<int64_t, int64_t>> apart; // strides and counts where there are gaps
  SmallVector<std::pair<int64_t, int64_t>> steps;
  for (auto [depth, dimension] : llvm::enumerate(around)) {
    size_t at = inductions.size() + depth;
    int64_t stride = at < place.getStrides().size() ? place.getStrides()[at] : 0;
    int64_t lowest = stride < 0 ? dimension.first + dimension.count - 1 : dimension.first;
    from += stride * lowest, end += stride * lowest;
    steps.push_back({std::abs(stride), dimension.count});
  }
  llvm::sort(steps);
  for (auto [stride, count] : steps) {
    if (stride <= end - from && apart.empty())
      end += stride * (count - 1);
    else
      apart.push_back({stride, count});
  }
  int64_t tag = nextTag++;
  if (apart.empty()) return memory.write(from, end - from, tag);
  // The most ranges at equal distances are written at once.
  auto longest = llvm::max_element(apart, [](auto &a, auto &b) { return a.second < b.second; });
  auto [pitch, slots] = *longest;
  apart.erase(longest);
  SmallVector<int64_t> starts{from};
  for (auto [stride, count] : apart) {
    size_t known = starts.size();
    for (int64_t i = 1; i < count; ++i)
      for (size_t k = 0; k < known; ++k) starts.push_back(starts[k] + i * stride);
  }
  for (int64_t start : starts) memory.writeSlots({start, end - from, pitch, slots}, tag);
}

void PlanChecker::writeSkipped(Block &block, ArrayRef<Dimension> around) {
  for (Operation &op : block) {
    if (isStorageView(&op) || isa<YieldOp>(op)) continue;
    if (auto repeat = dyn_cast<RepeatOp>(op)) {
      SmallVector<Dimension> inside(around);
      inside.push_back({0, repeat.getAxis().getSize()});
      writeSkipped(repeat.getInduction(), inside);
      writeSkipped(repeat.getBlock(), inside);
      continue;
    }
    for (Value result : op.getResults()) writeSkipped(result, around);
  }
}

/// The contents of carried and stacked values are whatever is in their places.
void PlanChecker::skipIterations(RepeatOp op, Dimension skipped, MutableArrayRef<Content> carried,
                                 MutableArrayRef<Content> stacks) {
  writeSkipped(op.getInduction(), skipped);
  writeSkipped(op.getBlock(), skipped);
  inductions.push_back(op.getReverse() ? skipped.first - 1 : skipped.first + skipped.count);
  for (auto [content, argument] : llvm::zip(carried, op.getCarriedArgs()))
    content = memory.read(address(argument), bytes(argument));
  inductions.pop_back();
  for (auto [content, result] : llvm::zip(stacks, op.getResults().drop_front(carried.size()))) {
    int64_t each = tensorType(result).getSlotBytes(), slot = places.lookup(result).getSlot();
    int64_t stride = slot == 0 ? each : slot, first = address(result) + skipped.first * stride;
    Content found = stride == each ? memory.read(first, each * skipped.count)
                                   : memory.readSlots({first, each, stride, skipped.count});
    for (const Piece &piece : found) append(content, piece);
  }
}

//===----------------------------------------------------------------------===//
// Early exchanges
//===----------------------------------------------------------------------===//

LogicalResult PlanChecker::runEarly(StartOp start, int64_t i) {
  auto repeat = cast<RepeatOp>(start->getParentOp());
  BlockArgument argument = sentArgument(start);
  if (!argument) return start.emitError("starts early, but does not send a slice or an invariant of its repeat");
  SmallVector<Operation *> views = viewsOfSent(start);
  SmallVector<std::pair<Value, Content>> before{{argument, contents.lookup(argument)}};
  for (Operation *view : views) before.push_back({view->getResult(0), contents.lookup(view->getResult(0))});
  unsigned operand = argument.getArgNumber() - 1;
  bool isSliced = operand < repeat.getCarried().size() + repeat.getSliced().size();
  const Content whole = contents.lookup(repeat->getOperand(operand));
  contents[argument] = isSliced ? part(whole, i * bytes(argument), bytes(argument)) : whole;
  inductions.push_back(i);
  llvm::scope_exit leave([&] {
    inductions.pop_back();
    for (auto &[value, content] : before) contents[value] = content;
  });
  for (Operation *view : views)
    if (failed(runView(view))) return failure();
  return runWriters({start});
}

LogicalResult PlanChecker::runPrologue(RepeatOp op) {
  counts.push_back(op.getAxis().getSize());
  llvm::scope_exit leave([&] { counts.pop_back(); });
  if (failed(setPlaces(op, op.getBlock().getArguments(), op.getArgPlacesAttr()))) return failure();
  for (StartOp start : early.in(op))
    if (failed(runEarly(start, op.getReverse() ? op.getAxis().getSize() - 1 : 0))) return failure();
  return success();
}

LogicalResult PlanChecker::runEarlyBehind(Operation *op) {
  for (StartOp start : early.behind(op)) {
    auto repeat = cast<RepeatOp>(start->getParentOp());
    int64_t now = inductions.pop_back_val(), next = repeat.getReverse() ? now - 1 : now + 1;
    bool isThere = next >= 0 && next < repeat.getAxis().getSize();
    LogicalResult result = isThere ? runEarly(start, next) : success();
    inductions.push_back(now);
    if (failed(result)) return failure();
  }
  return success();
}

//===----------------------------------------------------------------------===//
// Repeats
//===----------------------------------------------------------------------===//

/// At the innermost of `inductions`. Contents of stacked values are appended to `stacks`.
LogicalResult PlanChecker::runIteration(RepeatOp op, MutableArrayRef<Content> carried,
                                        MutableArrayRef<Content> stacks) {
  int64_t i = inductions.back();
  write(op.getInduction());
  for (auto [content, argument] : llvm::zip(carried, op.getCarriedArgs())) {
    contents[argument] = content;
    if (failed(read(op, argument))) return failure();
  }
  for (auto [operand, argument] : llvm::zip(op.getSliced(), op.getSlicedArgs()))
    contents[argument] = part(contents.lookup(operand), i * bytes(argument), bytes(argument));
  for (auto [operand, argument] : llvm::zip(op.getInvariants(), op.getInvariantArgs()))
    contents[argument] = contents.lookup(operand);
  if (failed(runBlock(op.getBlock()))) return failure();
  for (auto [k, value] : llvm::enumerate(op.getYield().getValues())) {
    if (failed(read(op.getYield(), value))) return failure();
    (k < carried.size() ? carried[k] : stacks[k - carried.size()]) = contents.lookup(value);
  }
  return success();
}

LogicalResult PlanChecker::runRepeat(RepeatOp op) {
  if (failed(setPlaces(op, op.getResults(), op->getAttrOfType<ArrayAttr>(attrs::places)))) return failure();
  counts.push_back(op.getAxis().getSize());
  llvm::scope_exit leave([&] { counts.pop_back(); });
  if (failed(setPlaces(op, op.getBlock().getArguments(), op.getArgPlacesAttr()))) return failure();
  SmallVector<Content> carried = llvm::map_to_vector(op.getCarried(), [&](Value v) { return contents.lookup(v); });
  int64_t count = op.getAxis().getSize(), skipped = count > 4 * iterationsRun ? count - 2 * iterationsRun : 0;
  SmallVector<SmallVector<Content>> parts; // contents of the stacked values, by ranges of iterations
  for (int64_t step = 0; step < count; ++step) {
    parts.emplace_back(op.getNumResults() - carried.size());
    if (skipped > 0 && step == iterationsRun) {
      skipIterations(op, {iterationsRun, skipped}, carried, parts.back());
      step += skipped - 1;
      for (StartOp start : early.in(op))
        if (failed(runEarly(start, op.getReverse() ? count - 2 - step : step + 1))) return failure();
      continue;
    }
    inductions.push_back(op.getReverse() ? count - 1 - step : step);
    if (failed(runIteration(op, carried, parts.back()))) return failure();
    inductions.pop_back();
  }
  if (op.getReverse()) std::reverse(parts.begin(), parts.end());
  for (auto [k, result] : llvm::enumerate(op.getResults())) {
    Content &content = contents[result];
    content.clear();
    if (k < carried.size())
      content = carried[k];
    else
      for (const SmallVector<Content> &stretch : parts)
        for (const Piece &piece : stretch[k - carried.size()]) append(content, piece);
    if (failed(read(op, result))) return failure();
  }
  return success();
}
