//===- PruneRepeats.cpp - unused values of repeats --===//
//
//   1. Constants that come in as invariants become constants of the body.
//   2. A carried value that each round passes on as it came is an invariant.
//   3. Liveness, to a fixed point: results that are used, and carried values that live values need.
//   4. Dead results, carried values, slices and invariants go; an operand that comes in twice comes in once, a value
//      that is stacked twice is stacked once.
//
//===----------------------------------------------------------------------===//

#include "passes/simplify/Patterns.h"
#include "llvm/ADT/SetVector.h"

using namespace mlir;
using namespace tessera;

namespace {
class Pruner {
public:
  explicit Pruner(RepeatOp repeat)
      : repeat(repeat), numCarried(repeat.getCarried().size()), numSliced(repeat.getSliced().size()) {}
  bool run();
  RepeatOp getRepeat() const { return repeat; }

private:
  bool importConstants();
  bool replacePassedOn();
  bool mergeOperands();
  bool mergeStacked();
  void findLive();
  bool rebuild();
  BlockArgument argument(unsigned operand) { return repeat.getBlock().getArgument(1 + operand); }

  RepeatOp repeat;
  unsigned numCarried, numSliced;
  llvm::BitVector liveOperands, liveResults;
};
} // namespace

/// 1.
bool Pruner::importConstants() {
  bool isChanged = false;
  OpBuilder b = OpBuilder::atBlockBegin(&repeat.getBlock());
  for (unsigned i = numCarried + numSliced, e = repeat->getNumOperands(); i < e; ++i) {
    auto constant = repeat->getOperand(i).getDefiningOp<ConstantOp>();
    if (!constant || argument(i).use_empty()) continue;
    argument(i).replaceAllUsesWith(b.clone(*constant)->getResult(0));
    isChanged = true;
  }
  return isChanged;
}

/// 2. The result is the operand; inside, the argument stands for it as an invariant would. A new invariant is only
/// needed if the body reads it.
bool Pruner::replacePassedOn() {
  bool isChanged = false;
  for (unsigned i = 0; i < numCarried; ++i) {
    if (repeat.getYield().getValues()[i] != argument(i)) continue;
    if (!repeat->getResult(i).use_empty()) {
      repeat->getResult(i).replaceAllUsesWith(repeat->getOperand(i));
      isChanged = true;
    }
    // One use is the yield itself.
    if (argument(i).hasOneUse()) continue;
    repeat.getInvariantsMutable().append(repeat->getOperand(i));
    BlockArgument invariant = repeat.getBlock().addArgument(argument(i).getType(), argument(i).getLoc());
    argument(i).replaceAllUsesExcept(invariant, repeat.getYield());
    isChanged = true;
  }
  return isChanged;
}

/// 4., second half: arguments that stand for the same slices or invariant.
bool Pruner::mergeOperands() {
  bool isChanged = false;
  auto merge = [&](unsigned begin, unsigned end) {
    for (unsigned i = begin; i < end; ++i)
      for (unsigned j = begin; j < i; ++j)
        if (repeat->getOperand(i) == repeat->getOperand(j) && !argument(i).use_empty()) {
          argument(i).replaceAllUsesWith(argument(j));
          isChanged = true;
        }
  };
  merge(numCarried, numCarried + numSliced);
  merge(numCarried + numSliced, repeat->getNumOperands());
  return isChanged;
}

bool Pruner::mergeStacked() {
  bool isChanged = false;
  ValueRange yielded = repeat.getYield().getValues();
  for (unsigned i = numCarried; i < yielded.size(); ++i)
    for (unsigned j = numCarried; j < i; ++j)
      if (yielded[i] == yielded[j] && !repeat->getResult(i).use_empty()) {
        repeat->getResult(i).replaceAllUsesWith(repeat->getResult(j));
        isChanged = true;
      }
  return isChanged;
}

/// 3.
void Pruner::findLive() {
  ValueRange yielded = repeat.getYield().getValues();
  liveResults.resize(repeat->getNumResults());
  liveOperands.resize(repeat->getNumOperands());
  llvm::SetVector<Value> work;
  auto keep = [&](unsigned result) {
    liveResults.set(result);
    work.insert(yielded[result]);
  };
  for (unsigned i = 0; i < liveResults.size(); ++i)
    if (!repeat->getResult(i).use_empty()) keep(i);
  for (unsigned next = 0; next < work.size(); ++next) {
    Value value = work[next];
    if (Operation *op = value.getDefiningOp()) {
      work.insert(op->operand_begin(), op->operand_end());
      continue;
    }
    unsigned number = cast<BlockArgument>(value).getArgNumber();
    if (number == 0) continue;
    liveOperands.set(number - 1);
    if (number - 1 < numCarried) keep(number - 1);
  }
  // A carried value comes in where its result is used, even if the body does not read it.
  for (unsigned i = 0; i < numCarried; ++i)
    if (liveResults[i]) liveOperands.set(i);
}

/// 4., first half.
bool Pruner::rebuild() {
  if (liveOperands.all() && liveResults.all()) return false;
  OpBuilder b(repeat);
  SmallVector<Value> segments[3], yielded;
  SmallVector<Type> types;
  for (unsigned i = 0; i < liveOperands.size(); ++i)
    if (liveOperands[i])
      segments[i < numCarried ? 0 : i < numCarried + numSliced ? 1 : 2].push_back(repeat->getOperand(i));
  for (unsigned i = 0; i < liveResults.size(); ++i) {
    if (!liveResults[i]) continue;
    types.push_back(repeat->getResult(i).getType());
    yielded.push_back(repeat.getYield().getValues()[i]);
  }
  auto pruned = RepeatOp::create(b, repeat.getLoc(), types, repeat.getAxis(), repeat.getReverse(), segments[0],
                                 segments[1], segments[2], repeat.getArgPlacesAttr());
  pruned->setDiscardableAttrs(repeat->getDiscardableAttrDictionary());
  pruned.getBody().takeBody(repeat.getBody());
  Block &block = pruned.getBlock();
  pruned.getYield().getValuesMutable().assign(yielded);
  // What only dead values needed, last first.
  for (Operation &op : llvm::make_early_inc_range(llvm::reverse(block)))
    if (op.use_empty() && isPure(&op) && !op.hasTrait<OpTrait::IsTerminator>()) op.erase();
  for (unsigned i = liveOperands.size(); i-- > 0;)
    if (!liveOperands[i]) block.eraseArgument(1 + i);
  unsigned next = 0;
  for (unsigned i = 0; i < liveResults.size(); ++i)
    if (liveResults[i]) repeat->getResult(i).replaceAllUsesWith(pruned->getResult(next++));
  repeat.erase();
  repeat = pruned;
  return true;
}

bool Pruner::run() {
  bool isChanged = importConstants();
  isChanged |= replacePassedOn();
  isChanged |= mergeOperands();
  isChanged |= mergeStacked();
  findLive();
  return rebuild() || isChanged;
}

RepeatOp tessera::pruneRepeat(RepeatOp repeat) {
  Pruner pruner(repeat);
  pruner.run();
  return pruner.getRepeat();
}

bool tessera::pruneRepeats(ModuleOp module) {
  // Outer repeats last: an inner one may read what only it needs.
  SmallVector<RepeatOp> repeats;
  module.walk([&](RepeatOp op) { repeats.push_back(op); });
  bool isChanged = false;
  for (RepeatOp repeat : repeats) isChanged |= Pruner(repeat).run();
  return isChanged;
}
