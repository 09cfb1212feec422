//===- BlockUnits.cpp - values outside of stacks of layers ----------------===//

#include "passes/rematerialize/BlockUnits.h"
#include "ir/dialect/Attributes.h"
#include "ir/program/Program.h"
#include "mlir/IR/IRMapping.h"
#include "passes/analysis/Joins.h"
#include "passes/analysis/LaunchGroups.h"
#include "passes/analysis/Views.h"
#include "passes/memory/InPlace.h"
#include "passes/rematerialize/Edits.h"
#include "passes/rematerialize/Policies.h"
#include <optional>
#include <set>

using namespace mlir;
using namespace tessera;

/// Units of which all sets are tried.
static constexpr size_t fewUnits = 12;
/// Of more units: partial policies at a time, and sets that are tried beside.
static constexpr size_t mostLabels = 512, mostTries = 4000;

/// Whether an op, with all in its region, belongs to the forward pass.
static bool isForward(Operation *op) {
  if (stepPass(op) != StepPass::Forward) return false;
  WalkResult result = op->walk([](Operation *inner) {
    return stepPass(inner) == StepPass::Forward ? WalkResult::advance() : WalkResult::interrupt();
  });
  return !result.wasInterrupted();
}

/// Whether a result is a part of a joined value, whose buffer its op writes.
static bool joinsAny(Operation *op) {
  return llvm::any_of(op->getResults(), [](Value result) { return static_cast<bool>(joinOf(result)); });
}

BlockUnits::BlockUnits(Block &block) : block(block) {
  findUnits();
  findOps();
}

/// Ops of the forward pass with a reader in the backward pass; then, backwards, those that only such units read there.
void BlockUnits::findUnits() {
  std::vector<RecomputeUnit> candidates;
  llvm::DenseMap<Operation *, size_t> unitOfOp;
  llvm::DenseSet<Operation *> ofPairs;
  for (auto [forward, backward] : findLayerPairs(block)) ofPairs.insert(forward);
  for (Operation &op : block.without_terminator()) {
    bool isNoUnit = isStorageView(&op) || isa<JoinOp, StartOp, WaitOp>(op) || ofPairs.contains(&op);
    if (isNoUnit || !isForward(&op) || joinsAny(&op)) continue;
    if (candidates.empty() || !isSameLaunch(candidates.back().ops.back(), &op)) candidates.emplace_back();
    candidates.back().ops.push_back(&op);
    unitOfOp[&op] = candidates.size() - 1;
  }
  llvm::BitVector isRead(candidates.size());
  for (Operation &op : llvm::reverse(block)) {
    auto own = unitOfOp.find(&op);
    bool isLate = own == unitOfOp.end() ? stepPass(&op) != StepPass::Forward : isRead[own->second];
    if (!isLate || isStorageView(&op)) continue;
    for (Value operand : op.getOperands()) {
      auto maker = unitOfOp.find(viewRoot(operand).getDefiningOp());
      if (maker != unitOfOp.end()) isRead.set(maker->second);
    }
  }
  for (auto [i, unit] : llvm::enumerate(candidates))
    if (isRead[i]) units.push_back(std::move(unit));
}

void BlockUnits::findOps() {
  llvm::DenseMap<Value, unsigned> numberOf;
  llvm::DenseMap<Operation *, int> unitOfOp;
  for (auto [i, unit] : llvm::enumerate(units))
    for (Operation *op : unit.ops) unitOfOp[op] = static_cast<int>(i);
  readsOfUnit.resize(units.size()), opsOfUnit.resize(units.size());
  // Inputs are live from the beginning, state always.
  if (auto function = dyn_cast<func::FuncOp>(block.getParentOp()))
    for (BlockArgument argument : block.getArguments()) {
      if (!argumentState(function, argument.getArgNumber()).empty()) continue;
      numberOf[argument] = values.size();
      values.push_back({tensorType(argument).getNumBytes(), 0});
      readersOf.emplace_back();
    }
  for (Operation &op : block) {
    if (isStorageView(&op)) continue;
    Op described;
    auto unit = unitOfOp.find(&op);
    if (unit != unitOfOp.end()) described.unit = unit->second;
    described.isLate = described.unit < 0 && stepPass(&op) != StepPass::Forward;
    for (OpOperand &operand : op.getOpOperands()) {
      Value root = viewRoot(operand.get());
      auto value = numberOf.find(root);
      if (value == numberOf.end()) continue;
      if (described.unit >= 0) units[described.unit].addInput(root, operand);
      if (llvm::is_contained(described.reads, value->second)) continue;
      described.reads.push_back(value->second);
      readersOf[value->second].push_back(ops.size());
      if (described.unit >= 0) readsOfUnit[described.unit].push_back(value->second);
      if (described.isLate && values[value->second].unit >= 0) needed.insert(root);
    }
    for (Value result : op.getResults()) {
      numberOf[result] = values.size();
      values.push_back(
          {tensorType(result).getNumBytes(), static_cast<int>(ops.size()), described.unit, isa<KernelOp>(op)});
      readersOf.emplace_back();
    }
    if (auto kernel = dyn_cast<KernelOp>(op))
      for (Value result : op.getResults())
        for (Value operand : kernel.getInputs())
          if (auto read = numberOf.find(viewRoot(operand));
              read != numberOf.end() && read->first.getDefiningOp() && mayTakeStorage(&op, read->first, result))
            described.inPlace.push_back({read->second, numberOf.lookup(result)});
    if (described.unit >= 0) opsOfUnit[described.unit].push_back(ops.size());
    ops.push_back(std::move(described));
  }
}

//===----------------------------------------------------------------------===//
// Search
//===----------------------------------------------------------------------===//

static void keepBest(std::vector<BlockPolicy> &policies) {
  llvm::stable_sort(policies, [](const BlockPolicy &a, const BlockPolicy &b) {
    return std::pair(a.seconds, a.peak) < std::pair(b.seconds, b.peak);
  });
  std::vector<BlockPolicy> kept;
  for (BlockPolicy &policy : policies)
    if (kept.empty() || policy.peak < kept.back().peak) kept.push_back(std::move(policy));
  policies = std::move(kept);
}

std::vector<BlockPolicy> tessera::findBlockPolicies(const BlockUnits &block, const OpTimes &times) {
  size_t count = block.units.size();
  std::vector<double> seconds;
  for (const RecomputeUnit &unit : block.units) seconds.push_back(secondsOf(unit, times));
  auto policyOf = [&](llvm::BitVector set) {
    BlockPolicy policy{std::move(set)};
    for (unsigned unit : policy.recomputed.set_bits()) policy.seconds += seconds[unit];
    policy.peak = block.peakWith(policy.recomputed);
    return policy;
  };
  std::vector<BlockPolicy> policies;
  if (count <= fewUnits) {
    for (uint64_t bits = 0; bits < uint64_t(1) << count; ++bits) {
      llvm::BitVector set(count);
      for (size_t i = 0; i < count; ++i)
        if (bits >> i & 1) set.set(i);
      policies.push_back(policyOf(std::move(set)));
    }
    keepBest(policies);
    return policies;
  }
  Pins none{llvm::BitVector(count), llvm::BitVector(count)};
  PolicyProblem problem{block.units, block.needed.getArrayRef(), none};
  problem.allowsUnwanted = true, problem.mostLabels = mostLabels;
  for (Policy &policy : findPolicies(problem, times)) policies.push_back(policyOf(std::move(policy.recomputed)));
  keepBest(policies);
  // Saving or recomputing one or two units more may lower the peak or the time of a set: neighbours that no known set
  // beats, then theirs.
  auto precedes = [](const llvm::BitVector &a, const llvm::BitVector &b) {
    return std::lexicographical_compare(a.getData().begin(), a.getData().end(), b.getData().begin(), b.getData().end());
  };
  std::set<llvm::BitVector, decltype(precedes)> tried(precedes);
  for (size_t i = 0; i < policies.size() && tried.size() < mostTries; ++i)
    for (size_t pair = 0; pair < count * count && tried.size() < mostTries; ++pair) {
      size_t unit = pair / count, other = pair % count;
      if (other > unit) continue;
      llvm::BitVector set = policies[i].recomputed;
      set.flip(unit);
      if (other < unit) set.flip(other);
      if (!tried.insert(set).second) continue;
      BlockPolicy next = policyOf(std::move(set));
      bool isBeaten = llvm::any_of(
          policies, [&](const BlockPolicy &known) { return known.peak <= next.peak && known.seconds <= next.seconds; });
      if (!isBeaten) policies.push_back(std::move(next));
    }
  keepBest(policies);
  return policies;
}

//===----------------------------------------------------------------------===//
// Rewriting
//===----------------------------------------------------------------------===//

namespace {
class BlockRecomputation {
public:
  BlockRecomputation(const BlockUnits &block, const llvm::BitVector &chosen) : block(block), chosen(chosen) {}
  void run();

private:
  bool isLateReader(Operation *op) const;
  SmallVector<OpOperand *> lateUses(Value value) const;
  void recompute(const RecomputeUnit &unit);

  const BlockUnits &block;
  const llvm::BitVector &chosen;
  llvm::DenseSet<Operation *> clones;
  int64_t nextGroup = 0;
};
} // namespace

bool BlockRecomputation::isLateReader(Operation *op) const {
  return clones.contains(op) || (stepPass(op) != StepPass::Forward && !isStorageView(op));
}

/// Uses by clones and by ops of later passes, also through views, which are then cloned for them.
SmallVector<OpOperand *> BlockRecomputation::lateUses(Value value) const {
  SmallVector<OpOperand *> uses;
  for (OpOperand &use : value.getUses()) {
    Operation *user = use.getOwner();
    if (isStorageView(user)) {
      if (!lateUses(user->getResult(0)).empty()) uses.push_back(&use);
    } else if (isLateReader(user)) {
      uses.push_back(&use);
    }
  }
  return uses;
}

/// The first op that reads a value late, through views too; null if there is none.
static Operation *firstOf(ArrayRef<OpOperand *> uses, llvm::function_ref<SmallVector<OpOperand *>(Value)> lateUses) {
  Operation *first = nullptr;
  for (OpOperand *use : uses) {
    Operation *reader = use->getOwner();
    reader = isStorageView(reader) ? firstOf(lateUses(reader->getResult(0)), lateUses) : launchOf(reader).front();
    if (reader && (!first || reader->isBeforeInBlock(first))) first = reader;
  }
  return first;
}

void BlockRecomputation::recompute(const RecomputeUnit &unit) {
  auto late = [&](Value value) { return lateUses(value); };
  SmallVector<std::pair<Value, SmallVector<OpOperand *>>> results;
  Operation *first = nullptr;
  for (Operation *op : unit.ops)
    for (Value result : op->getResults()) {
      results.emplace_back(result, lateUses(result));
      Operation *reader = firstOf(results.back().second, late);
      if (reader && (!first || reader->isBeforeInBlock(first))) first = reader;
    }
  if (!first) return;
  OpBuilder builder(first);
  IRMapping map;
  for (Operation *op : unit.ops) {
    Operation *clone = builder.clone(*op, map);
    markRecomputed(clone);
    if (clone->hasAttr(attrs::fusionGroup)) clone->setAttr(attrs::fusionGroup, builder.getI64IntegerAttr(nextGroup));
    clones.insert(clone);
  }
  ++nextGroup;
  // A view with late readers gets a clone after the unit's, for them.
  std::function<void(Value, Value, ArrayRef<OpOperand *>)> redirect = [&](Value from, Value to,
                                                                          ArrayRef<OpOperand *> uses) {
    for (OpOperand *use : uses) {
      Operation *user = use->getOwner();
      if (!isStorageView(user)) {
        use->set(to);
        continue;
      }
      SmallVector<OpOperand *> through = lateUses(user->getResult(0));
      Operation *view = builder.clone(*user);
      view->setOperand(0, to);
      setStepPass(view, StepPass::Backward);
      redirect(user->getResult(0), view->getResult(0), through);
      if (user->use_empty()) user->erase();
    }
  };
  for (auto &[result, uses] : results) redirect(result, map.lookup(result), uses);
}

void BlockRecomputation::run() {
  nextGroup = nextFusionGroup(block.block.getParentOp());
  for (size_t i = block.units.size(); i-- > 0;)
    if (chosen[i]) recompute(block.units[i]);
  trimKernels(block.block);
}

void tessera::recompute(const BlockUnits &block, const llvm::BitVector &units) {
  BlockRecomputation(block, units).run();
}
