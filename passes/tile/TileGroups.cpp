//===- TileGroups.cpp - which ops run a block of rows at a time -------------===//

#include "passes/tile/TileGroups.h"
#include "passes/tile/CheckTiles.h"
#include "llvm/ADT/SetVector.h"

using namespace mlir;
using namespace tessera;

namespace {

class GroupFinder {
public:
  GroupFinder(ContractOp maker, const TileLimits &limits)
      : block(maker->getBlock()), limits(limits), axes(MatrixAxes::of(maker.getType())) {}
  std::optional<TileGroup> find(ContractOp maker);

private:
  using Steps = llvm::SmallSetVector<Operation *, 16>;

  bool join(Operation *op, Steps &steps);
  bool joinUsers(Value matrix, Steps &steps);
  void joinOtherMakers(Steps &steps);
  bool isClosed(const Steps &steps) const;
  bool passesOnOnlyRows(const Steps &steps) const;
  bool isSmallEnough(ContractOp contract, const TiledContraction &part) const;
  bool sharesBatch(ContractOp contract, const TiledContraction &part) const;

  Block *block;
  const TileLimits &limits;
  MatrixAxes axes;
};

} // namespace

/// What one product reads whole must stay in the caches.
bool GroupFinder::isSmallEnough(ContractOp contract, const TiledContraction &part) const {
  NamedTensorType y = tensorType(contract->getOperand(part.y));
  AxisAttr line = part.role == TiledRole::SumsRows ? axes.rows : axes.columns;
  return line.getSize() * part.extent * y.getElementBytes() <= limits.mostBytes;
}

/// Where y is the same for the whole batch, the products are better one large product.
bool GroupFinder::sharesBatch(ContractOp contract, const TiledContraction &part) const {
  NamedTensorType y = tensorType(contract->getOperand(part.y));
  bool hasBatch = llvm::any_of(axes.batch, [](AxisAttr axis) { return axis.getSize() > 1; });
  return !hasBatch ||
         llvm::any_of(axes.batch, [&](AxisAttr axis) { return axis.getSize() > 1 && y.hasAxis(axis.getName()); });
}

bool GroupFinder::join(Operation *op, Steps &steps) {
  if (steps.contains(op)) return true;
  if (op->getBlock() != block) return false;
  if (auto kernel = dyn_cast<KernelOp>(op)) {
    if (!runsByRows(kernel, axes)) return false;
  } else if (auto contract = dyn_cast<ContractOp>(op)) {
    std::optional<TiledContraction> part = tiledRole(contract, axes);
    if (!part || !isSmallEnough(contract, *part) || !sharesBatch(contract, *part)) return false;
  } else {
    return false;
  }
  steps.insert(op);
  return llvm::all_of(op->getResults(),
                      [&](Value result) { return !axes.isMatrix(tensorType(result)) || joinUsers(result, steps); });
}

bool GroupFinder::joinUsers(Value matrix, Steps &steps) {
  return llvm::all_of(matrix.getUsers(), [&](Operation *user) { return join(user, steps); });
}

/// Other contractions that make a matrix which the group reads (the gradient of the probabilities), with all who read it.
void GroupFinder::joinOtherMakers(Steps &steps) {
  for (unsigned i = 0; i < steps.size(); ++i)
    for (Value operand : steps[i]->getOperands()) {
      auto maker = operand.getDefiningOp<ContractOp>();
      if (!maker || !axes.isMatrix(tensorType(operand)) || steps.contains(maker)) continue;
      Steps more = steps;
      if (join(maker, more)) steps = more;
    }
}

/// Whether nothing outside comes between two steps.
bool GroupFinder::isClosed(const Steps &steps) const {
  llvm::SmallPtrSet<Operation *, 16> following; // ops outside that need a result of the group
  unsigned met = 0;
  for (Operation &op : *block) {
    bool isStep = steps.contains(&op);
    auto comesFrom = [&](auto &set) {
      return llvm::any_of(op.getOperands(), [&](Value operand) {
        return operand.getDefiningOp() && set.contains(operand.getDefiningOp());
      });
    };
    bool followsOutside = comesFrom(following), follows = followsOutside || comesFrom(steps);
    if (isStep && followsOutside) return false;
    if (!isStep && follows) following.insert(&op);
    met += isStep;
    if (met == steps.size()) return true;
  }
  return true;
}

bool GroupFinder::passesOnOnlyRows(const Steps &steps) const {
  return llvm::all_of(steps, [&](Operation *step) {
    return llvm::all_of(step->getOpOperands(), [&](OpOperand &use) {
      Operation *producer = use.get().getDefiningOp();
      return !producer || !steps.contains(producer) || mayPass(producer, use, axes);
    });
  });
}

std::optional<TileGroup> GroupFinder::find(ContractOp maker) {
  if (axes.rows.getSize() < std::max<int64_t>(limits.leastRows, 2) || axes.columns.getSize() < 2) return std::nullopt;
  Steps steps;
  if (!join(maker, steps)) return std::nullopt;
  joinOtherMakers(steps);
  if (steps.size() < 2 || !isClosed(steps) || !passesOnOnlyRows(steps)) return std::nullopt;

  TileGroup group{axes, {}, {}, {}, {}};
  for (Operation &op : *block)
    if (steps.contains(&op)) group.steps.push_back(&op);
  int64_t products = 1;
  bool sumsRows = llvm::any_of(steps, [&](Operation *step) {
    auto contract = dyn_cast<ContractOp>(step);
    return contract && tiledRole(contract, axes)->role == TiledRole::SumsRows;
  });
  for (AxisAttr axis : axes.batch) {
    bool isSummed = llvm::any_of(steps, [&](Operation *step) {
      auto contract = dyn_cast<ContractOp>(step);
      return contract && sumsOver(contract, axis);
    });
    (isSummed ? group.serialAxes : group.parallelAxes).push_back(axis.getName());
    if (!isSummed) products *= axis.getSize();
  }
  // Without sums over rows threads can share the blocks of one position too.
  if (sumsRows && products < limits.leastProducts) return std::nullopt;
  group.band = findBand(group.steps, axes);
  return group;
}

std::optional<TileGroup> tessera::findTileGroup(ContractOp maker, const TileLimits &limits) {
  if (maker.getType().getRank() < 2) return std::nullopt;
  GroupFinder finder(maker, limits);
  // As a maker of matrices: what sums rows may have axes that look the same.
  std::optional<TiledContraction> part = tiledRole(maker, MatrixAxes::of(maker.getType()));
  if (!part || part->role != TiledRole::MakesMatrix) return std::nullopt;
  return finder.find(maker);
}
