//===- TileGroups.cpp - which ops become a tiled op -----------------------===//

#include "passes/tile/TileGroups.h"
#include "passes/tile/VerifyTiles.h"
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
  using Ops = llvm::SmallSetVector<Operation *, 16>;

  bool join(Operation *op, Ops &ops);
  bool joinUsers(Value matrix, Ops &ops);
  void joinOtherMakers(Ops &ops);
  bool isClosed(const Ops &ops) const;
  bool passesOnOnlyRows(const Ops &ops) const;
  bool isSmallEnough(ContractOp contract, const TiledContraction &part) const;
  bool variesAlongBatch(ContractOp contract, const TiledContraction &part) const;

  Block *block;
  const TileLimits &limits;
  MatrixAxes axes;
};

} // namespace

/// The operand that one matrix reads whole must stay in the cache.
bool GroupFinder::isSmallEnough(ContractOp contract, const TiledContraction &part) const {
  NamedTensorType y = tensorType(contract->getOperand(part.y));
  AxisAttr line = part.role == TiledRole::SumsRows ? axes.rows : axes.columns;
  return line.getSize() * part.extent * y.getElementBytes() <= limits.mostBytes;
}

/// Whether y varies along the batch. If not, one large GEMM is better.
bool GroupFinder::variesAlongBatch(ContractOp contract, const TiledContraction &part) const {
  NamedTensorType y = tensorType(contract->getOperand(part.y));
  bool hasBatch = llvm::any_of(axes.batch, [](AxisAttr axis) { return axis.getSize() > 1; });
  return !hasBatch ||
         llvm::any_of(axes.batch, [&](AxisAttr axis) { return axis.getSize() > 1 && y.hasAxis(axis.getName()); });
}

bool GroupFinder::join(Operation *op, Ops &ops) {
  if (ops.contains(op)) return true;
  if (op->getBlock() != block) return false;
  if (auto kernel = dyn_cast<KernelOp>(op)) {
    if (!runsByRows(kernel, axes)) return false;
  } else if (auto contract = dyn_cast<ContractOp>(op)) {
    std::optional<TiledContraction> part = tiledRole(contract, axes);
    if (!part || !isSmallEnough(contract, *part) || !variesAlongBatch(contract, *part)) return false;
  } else {
    return false;
  }
  ops.insert(op);
  return llvm::all_of(op->getResults(),
                      [&](Value result) { return !axes.isMatrix(tensorType(result)) || joinUsers(result, ops); });
}

bool GroupFinder::joinUsers(Value matrix, Ops &ops) {
  return llvm::all_of(matrix.getUsers(), [&](Operation *user) { return join(user, ops); });
}

/// Adds other contractions that compute a matrix which the group reads (the gradient of the probabilities), with all
/// its readers.
void GroupFinder::joinOtherMakers(Ops &ops) {
  for (unsigned i = 0; i < ops.size(); ++i)
    for (Value operand : ops[i]->getOperands()) {
      auto maker = operand.getDefiningOp<ContractOp>();
      if (!maker || !axes.isMatrix(tensorType(operand)) || ops.contains(maker)) continue;
      Ops more = ops;
      if (join(maker, more)) ops = more;
    }
}

/// Whether no op outside depends on the group and is needed by it.
bool GroupFinder::isClosed(const Ops &ops) const {
  llvm::SmallPtrSet<Operation *, 16> following; // ops outside that need a result of the group
  unsigned met = 0;
  for (Operation &op : *block) {
    bool isMember = ops.contains(&op);
    auto comesFrom = [&](auto &set) {
      return llvm::any_of(op.getOperands(), [&](Value operand) {
        return operand.getDefiningOp() && set.contains(operand.getDefiningOp());
      });
    };
    bool followsOutside = comesFrom(following), follows = followsOutside || comesFrom(ops);
    if (isMember && followsOutside) return false;
    if (!isMember && follows) following.insert(&op);
    met += isMember;
    if (met == ops.size()) return true;
  }
  return true;
}

bool GroupFinder::passesOnOnlyRows(const Ops &ops) const {
  return llvm::all_of(ops, [&](Operation *member) {
    return llvm::all_of(member->getOpOperands(), [&](OpOperand &use) {
      Operation *producer = use.get().getDefiningOp();
      return !producer || !ops.contains(producer) || mayPass(producer, use, axes);
    });
  });
}

std::optional<TileGroup> GroupFinder::find(ContractOp maker) {
  if (axes.rows.getSize() < std::max<int64_t>(limits.leastRows, 2) || axes.columns.getSize() < 2) return std::nullopt;
  Ops ops;
  if (!join(maker, ops)) return std::nullopt;
  joinOtherMakers(ops);
  if (ops.size() < 2 || !isClosed(ops) || !passesOnOnlyRows(ops)) return std::nullopt;

  TileGroup group{axes, {}, {}, {}, {}};
  for (Operation &op : *block)
    if (ops.contains(&op)) group.ops.push_back(&op);
  int64_t products = 1;
  bool sumsRows = llvm::any_of(ops, [&](Operation *member) {
    auto contract = dyn_cast<ContractOp>(member);
    return contract && tiledRole(contract, axes)->role == TiledRole::SumsRows;
  });
  for (AxisAttr axis : axes.batch) {
    bool isSummed = llvm::any_of(ops, [&](Operation *member) {
      auto contract = dyn_cast<ContractOp>(member);
      return contract && sumsOver(contract, axis);
    });
    (isSummed ? group.serialAxes : group.parallelAxes).push_back(axis.getName());
    if (!isSummed) products *= axis.getSize();
  }
  // Without sums over rows, threads can share the row blocks of one position too.
  if (sumsRows && products < limits.leastProducts) return std::nullopt;
  group.band = findBand(group.ops, axes);
  return group;
}

std::optional<TileGroup> tessera::findTileGroup(ContractOp maker, const TileLimits &limits) {
  if (maker.getType().getRank() < 2) return std::nullopt;
  GroupFinder finder(maker, limits);
  // Only a contraction that computes a matrix: one that sums rows may have the same axes.
  std::optional<TiledContraction> part = tiledRole(maker, MatrixAxes::of(maker.getType()));
  if (!part || part->role != TiledRole::MakesMatrix) return std::nullopt;
  return finder.find(maker);
}
