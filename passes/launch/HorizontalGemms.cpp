//===- HorizontalGemms.cpp - horizontal fusion of GEMMs -------------------===//
//
//   before   %q = tsr.contract %x, %wq …              after   %q = tsr.contract %x, %wq … {tsr.group = 0}
//            %past = tsr.rename %x …                          %past = tsr.rename %x …
//            %k = tsr.contract %past, %wk …                   %k = tsr.contract %past, %wk … {tsr.group = 0}
//            …                                                …
//
//===----------------------------------------------------------------------===//

#include "passes/launch/HorizontalGemms.h"
#include "ir/program/Program.h"
#include "passes/analysis/Views.h"
#include "passes/gemm/ContractionSpeeds.h"
#include "passes/launch/Launches.h"
#include "passes/memory/PlanStorage.h"
#include "llvm/ADT/MapVector.h"
#include "llvm/ADT/SmallPtrSet.h"
#include <tuple>

using namespace mlir;
using namespace tessera;

/// Rows or columns of a GEMM that is fused: larger ones reuse the shared operand enough by themselves.
static constexpr int64_t mostOwn = 512;
/// GEMMs that are fused at most: the packed panels of their other operands should stay in the L2 cache.
static constexpr size_t mostFused = 8;

using Group = SmallVector<Operation *>;

/// Whether an op can be moved directly after `first`, with the views that it reads through.
static bool mayFollow(Operation *op, Operation *first) {
  return llvm::all_of(op->getOperands(), [&](Value operand) {
    Operation *maker = operand.getDefiningOp();
    if (!maker || maker->getBlock() != first->getBlock() || maker->isBeforeInBlock(first)) return true;
    return maker != first && isStorageView(maker) && mayFollow(maker, first);
  });
}

/// Moves the views that an op reads through before `first`, if `mayFollow` holds.
static void advanceViews(Operation *op, Operation *first) {
  for (Value operand : op->getOperands()) {
    Operation *maker = operand.getDefiningOp();
    if (!maker || maker->getBlock() != first->getBlock() || maker->isBeforeInBlock(first)) continue;
    advanceViews(maker, first);
    maker->moveBefore(first);
  }
}

/// Groups of contractions of a block that can be fused, in program order.
static SmallVector<Group> findGroups(Block &block) {
  llvm::MapVector<std::tuple<Value, int64_t, unsigned>, SmallVector<Group>> byOperand; // root, offset, which one it is
  llvm::SmallPtrSet<Operation *, 16> taken;
  for (Operation &op : block) {
    auto contract = dyn_cast<ContractOp>(op);
    std::optional<ContractionGemm> gemm = contract ? describeGemm(contract) : std::nullopt;
    if (!gemm) continue;
    auto [a, b] = gemmOperands(contract, *gemm);
    for (auto shared : {FusedGemms::A, FusedGemms::B}) {
      if (!canFuseHorizontally(*gemm, shared) || (shared == FusedGemms::A ? gemm->n() : gemm->m()) > mostOwn) continue;
      Value operand = shared == FusedGemms::A ? a : b;
      SmallVector<Group> &groups = byOperand[{viewRoot(operand), offsetInRoot(operand), shared}];
      auto takes = [&](const Group &group) {
        return group.size() < mostFused && describeGemm(cast<ContractOp>(group.front())) == gemm &&
               mayFollow(&op, group.front());
      };
      auto group = llvm::find_if(groups, takes);
      if (group == groups.end())
        groups.push_back({&op});
      else
        group->push_back(&op);
    }
  }
  SmallVector<Group> found;
  for (auto &[key, groups] : byOperand)
    for (Group &group : groups) {
      llvm::erase_if(group, [&](Operation *op) { return taken.contains(op); });
      if (group.size() < 2) continue;
      taken.insert(group.begin(), group.end());
      found.push_back(std::move(group));
    }
  return found;
}

static void fuse(const Group &group, int64_t number) {
  Builder builder(group.front()->getContext());
  for (size_t i = 0; i < group.size(); ++i) {
    if (i > 0) {
      advanceViews(group[i], group.front());
      group[i]->moveAfter(group[i - 1]);
    }
    group[i]->setAttr(attrs::fusionGroup, builder.getI64IntegerAttr(number));
  }
}

namespace {
/// Fuses the groups that are good.
class GemmFuser {
public:
  GemmFuser(func::FuncOp function, llvm::function_ref<bool()> isGood) : before(function), isGood(isGood) {}

  /// All of `groups`; if that is rejected, each half, recursively. So a few bad groups cost a logarithmic number of
  /// attempts each.
  void take(ArrayRef<Group> groups) {
    if (groups.empty()) return;
    for (const Group &group : groups) fuse(group, number++);
    if (isGood()) return llvm::append_range(taken, groups);
    before.restore();
    number = 0;
    for (const Group &group : taken) fuse(group, number++);
    if (groups.size() == 1) return;
    take(groups.take_front(groups.size() / 2));
    take(groups.drop_front(groups.size() / 2));
  }

  unsigned countFused() const {
    unsigned count = 0;
    for (const Group &group : taken) count += group.size() - 1;
    return count;
  }

private:
  OpOrder before;
  llvm::function_ref<bool()> isGood;
  SmallVector<Group> taken;
  int64_t number = 0;
};
} // namespace

static unsigned fuseGemms(func::FuncOp function, llvm::function_ref<bool()> isGood) {
  SmallVector<Group> groups = findGroups(function.getBody().front());
  function.walk([&](RepeatOp repeat) { llvm::append_range(groups, findGroups(repeat.getBlock())); });
  GemmFuser fuser(function, isGood);
  fuser.take(groups);
  return fuser.countFused();
}

unsigned tessera::fuseGemmsHorizontally(func::FuncOp function, const MemoryLimit &limit) {
  OpOrder order(function);
  unsigned fused = fuseGemms(function, [&] { return limit.holds(false); });
  if (fused == 0 || limit.holds(true)) return fused;
  order.restore();
  return fuseGemms(function, [&] { return limit.holds(true); });
}

//===----------------------------------------------------------------------===//
// Early
//===----------------------------------------------------------------------===//

/// On a function whose GEMMs were fused early.
static constexpr StringLiteral fusedEarly = "tsr.fused_gemms";
/// The number of a contraction, on a function and its copy.
static constexpr StringLiteral numbered = "tsr.number";

bool tessera::hasFusedGemms(func::FuncOp function) { return function->hasAttr(fusedEarly); }

void tessera::setHasFusedGemms(func::FuncOp function, bool value) {
  if (value)
    function->setAttr(fusedEarly, UnitAttr::get(function.getContext()));
  else
    function->removeAttr(fusedEarly);
}

LogicalResult tessera::fuseGemmsEarly(func::FuncOp function, int64_t stateBytes) {
  OpBuilder builder(function);
  SmallVector<Operation *> contractions;
  function.walk([&](ContractOp contract) {
    contract->setAttr(numbered, builder.getI64IntegerAttr(static_cast<int64_t>(contractions.size())));
    contractions.push_back(contract);
  });
  auto trial = cast<func::FuncOp>(builder.clone(*function));
  unsigned copies = 0;
  FailureOr<StoragePlan> plan = planStorage(trial, copies);
  std::map<int64_t, Group> groups;
  if (succeeded(plan) && fuseGemmsHorizontally(trial, MemoryLimit(trial, *plan, stateBytes)) > 0)
    trial.walk([&](ContractOp contract) {
      if (auto group = contract->getAttrOfType<IntegerAttr>(attrs::fusionGroup))
        groups[group.getInt()].push_back(contractions[contract->getAttrOfType<IntegerAttr>(numbered).getInt()]);
    });
  trial.erase();
  for (auto &[number, group] : groups) fuse(group, number);
  for (Operation *contract : contractions) contract->removeAttr(numbered);
  setHasFusedGemms(function, true);
  return failure(failed(plan));
}

unsigned tessera::splitGemms(func::FuncOp function, const Target &target) {
  unsigned split = 0;
  function.walk([&](ContractOp contract) {
    SmallVector<Operation *> ops = launchOf(contract);
    std::optional<FusedGemms> merged = fusedGemms(ops);
    if (ops.front() != contract || !merged || merged->count == 1) return;
    if (isFasterFused(*describeGemm(contract), *merged, target)) return;
    for (Operation *op : ops) op->removeAttr(attrs::fusionGroup);
    split += ops.size() - 1;
  });
  return split;
}
