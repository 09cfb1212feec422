//===- Tile.cpp - the driver of `tsr-tile` --------------------------------===//
//
// 1. From a contraction that computes a matrix, follow all readers (`findTileGroup`): kernels over the same axes, and
//    contractions that sum over its columns or its rows. Other contractions whose matrices these kernels read join too.
//    If another op reads a matrix, it must be stored, and nothing changes.
// 2. Find the band of elements that can affect a result (`findBand`): with causal masking half of them.
// 3. Move the ops into the region of a `tsr.tiled`, at the place of the last of them.
//
//===----------------------------------------------------------------------===//

#include "ir/program/Program.h"
#include "ir/program/Target.h"
#include "mlir/IR/IRMapping.h"
#include "passes/Passes.h"
#include "passes/tile/RegisterTiles.h"
#include "llvm/ADT/SetVector.h"

namespace tessera {
#define GEN_PASS_DEF_TILEPASS
#include "passes/Passes.h.inc"
} // namespace tessera

using namespace mlir;
using namespace tessera;

/// The user's name of a group: that of the first contraction with one.
static StringRef nameOf(const TileGroup &group) {
  for (Operation *member : group.ops)
    if (StringRef name = userName(member); !name.empty()) return name;
  return "tiled";
}

/// Moves the ops before `op` that need one of its results after it, in their order.
static void moveUsersBehind(Operation *op) {
  llvm::SmallSetVector<Operation *, 8> moved;
  for (Operation &other : llvm::make_range(op->getBlock()->begin(), op->getIterator())) {
    bool follows = llvm::any_of(other.getOperands(), [&](Value operand) {
      Operation *producer = operand.getDefiningOp();
      return producer && (producer == op || moved.contains(producer));
    });
    if (follows) moved.insert(&other);
  }
  Operation *last = op;
  for (Operation *other : moved) other->moveAfter(last), last = other;
}

static void moveIntoTiledOp(const TileGroup &group) {
  auto isMember = [&](Operation *op) { return op && llvm::is_contained(group.ops, op); };
  llvm::SmallSetVector<Value, 8> inputs;
  SmallVector<Value> results;
  for (Operation *member : group.ops) {
    for (Value operand : member->getOperands())
      if (!isMember(operand.getDefiningOp())) inputs.insert(operand);
    for (Value result : member->getResults())
      if (llvm::any_of(result.getUsers(), [&](Operation *user) { return !isMember(user); })) results.push_back(result);
  }
  OpBuilder builder(group.ops.back());
  Location loc = group.ops.front()->getLoc();
  auto limit = [&](std::optional<int64_t> value) {
    return value ? builder.getIntegerAttr(builder.getIntegerType(64, /*isSigned=*/true), *value) : IntegerAttr();
  };
  auto tiled = TiledOp::create(builder, loc, TypeRange(ValueRange(results)), nameOf(group), inputs.getArrayRef(),
                               builder.getStrArrayAttr(group.parallelAxes), builder.getStrArrayAttr(group.serialAxes),
                               group.axes.rows.getName(), group.axes.columns.getName(), limit(group.band.lower),
                               limit(group.band.upper));
  for (Operation *member : group.ops) copyNotes(member, tiled);
  Block &body = tiled.getBody().emplaceBlock();
  for (auto [from, to] : llvm::zip(results, tiled.getResults()))
    from.replaceUsesWithIf(to, [&](OpOperand &use) { return !isMember(use.getOwner()); });
  for (Value input : inputs) {
    Value argument = body.addArgument(input.getType(), input.getLoc());
    input.replaceUsesWithIf(argument, [&](OpOperand &use) { return isMember(use.getOwner()); });
  }
  for (Operation *member : group.ops) member->moveBefore(&body, body.end());
  builder.setInsertionPointToEnd(&body);
  YieldOp::create(builder, loc, results);
  moveUsersBehind(tiled);
}

namespace {
struct TilePass : tessera::impl::TilePassBase<TilePass> {
  using Base::Base;
  void runOnOperation() override {
    Target target = Target::of(getOperation());
    SmallVector<Block *> blocks;
    getOperation().walk([&](Operation *op) {
      if (isa<RepeatOp, func::FuncOp>(op)) blocks.push_back(&op->getRegion(0).front());
    });
    TileLimits limits{leastRows, leastProducts > 0 ? leastProducts : target.leastTiledMatrices,
                      mostBytes > 0 ? mostBytes : target.mostTiledBytes};
    for (Block *block : blocks) {
      // Those that are moved are no longer in the block.
      auto makers = llvm::to_vector(block->getOps<ContractOp>());
      for (ContractOp maker : makers) {
        if (maker->getBlock() != block) continue;
        std::optional<TileGroup> group = findTileGroup(maker, limits);
        if (!group || (target.tilesInRegisters && !fitsRegisters(*group))) continue;
        moveIntoTiledOp(*group);
        ++groupsTiled;
      }
    }
  }
};
} // namespace
