//===- Chunk.cpp - large intermediate results, some rows at a time --------===//
//
// 1. Find a contraction with a large result, and an axis of its rows (an axis that only one operand has).
// 2. Collect the ops between it and the ends of the group: those with results as wide, those between two such ops, and
//    those that read a wide value. An op that does not treat the axis as independent rows makes the group impossible.
//    So does a contraction that `tile` will take: its matrices need no memory if it is not in chunks, and would have to
//    be stored if it were.
// 3. Choose the number of chunks: the most that leave a contraction the rows that it needs to run at full speed, or, if
//    the target has memory for large ones, no more than make them small enough.
// 4. Build the repeat: inputs with the axis are sliced, results with it are stacked, sums over it are carried. If a sum
//    is only added to an argument (the gradients of earlier micro-batches), also after other terms (the gradient of an
//    embedding) are added to it, the repeat starts there instead of at zero.
//
// The bodies of repeats are treated like function bodies: with micro-batches nearly the whole step is in one.
//
//===----------------------------------------------------------------------===//

#include "ir/dialect/GraphBuilder.h"
#include "ir/program/Program.h"
#include "ir/program/Target.h"
#include "mlir/Analysis/TopologicalSortUtils.h"
#include "mlir/IR/IRMapping.h"
#include "passes/Passes.h"
#include "passes/TiledLater.h"
#include "llvm/ADT/SetVector.h"

namespace tessera {
#define GEN_PASS_DEF_CHUNKPASS
#include "passes/Passes.h.inc"
} // namespace tessera

using namespace mlir;
using namespace tessera;

namespace {

/// The addition of a term to an argument of the block, at which a sum can start.
struct Accumulation {
  AddOp add; ///< null: there is none
  Value start, term;
};

/// The ops around one large result, as rows of one axis.
class Chunk {
public:
  Chunk(ContractOp contract, AxisAttr axis, const TiledContractions &tiledLater)
      : contract(contract), axis(axis), tiledLater(tiledLater) {}

  /// 2. Whether the ops can work on parts of the axis.
  bool collect();
  /// 4. In `parts` parts.
  void rewrite(int64_t parts);

private:
  bool hasAxis(Value value) const { return tensorType(value).hasAxis(axis.getName()); }
  bool isWide(Value value) {
    NamedTensorType type = tensorType(value);
    return llvm::all_of(contract.getType().getAxes(), [&](AxisAttr a) { return type.hasAxis(a.getName()); });
  }
  bool add(Operation *op);
  bool addProducers(Operation *op);
  void markTowardsWide();
  bool addPathsBetween();
  bool canRunInParts(Operation *op) const;
  AxisDivision divisionOf(Operation *op) const;
  bool isSumOverRows(Operation *op) const;
  bool hasValidResults();
  NamedTensorType part(NamedTensorType type) const;
  static NamedTensorType typeOfSum(Value sum);
  static Accumulation accumulationOf(Value sum);
  SmallVector<Accumulation> findAccumulations() const;
  void findBoundary();
  std::string freshAxisName() const;
  void fillBody(RepeatOp repeat);

  ContractOp contract;
  AxisAttr axis;
  const TiledContractions &tiledLater; ///< contractions that are not chunked
  llvm::SetVector<Operation *> ops;
  DenseSet<Operation *> towardsWide;                 ///< ops from which a wide value follows
  SmallVector<Operation *> order;                    ///< `ops` in program order
  SmallVector<Value> sliced, invariants, sums, rows; ///< inputs and results of the repeat
  AxisAttr partAxis, restAxis;
};

} // namespace

//===----------------------------------------------------------------------===//
// 2. The group
//===----------------------------------------------------------------------===//

/// Marks ops of the block from which a wide value follows.
void Chunk::markTowardsWide() {
  for (Operation &op : llvm::reverse(*contract->getBlock()))
    for (Operation *user : op.getUsers()) {
      bool isHere = user->getBlock() == op.getBlock() && user->getNumResults() > 0;
      if (isHere &&
          (towardsWide.contains(user) || llvm::any_of(user->getResults(), [&](Value v) { return isWide(v); })))
        towardsWide.insert(&op);
    }
}

/// How the op works on parts of the axis; not at all if it does not say so.
AxisDivision Chunk::divisionOf(Operation *op) const {
  auto divisible = dyn_cast<DivisibleOpInterface>(op);
  return divisible ? divisible.getDivision(axis.getName()) : AxisDivision::none();
}

bool Chunk::isSumOverRows(Operation *op) const { return divisionOf(op).isCombined(ReduceKind::Sum); }

/// Whether the op can be computed one range of the axis at a time: positions are independent, or summed over.
bool Chunk::canRunInParts(Operation *op) const {
  if (tiledLater.contains(op)) return false;
  if (isSumOverRows(op)) return true;
  bool touches = llvm::any_of(op->getOperands(), [&](Value v) { return hasAxis(v); }) ||
                 llvm::any_of(op->getResults(), [&](Value v) { return hasAxis(v); });
  if (!touches) return op->getNumRegions() == 0;
  return divisionOf(op).isIndependent();
}

/// Adds an op, and the producers of its wide operands.
bool Chunk::add(Operation *op) {
  if (!ops.insert(op)) return true;
  return canRunInParts(op) && addProducers(op);
}

/// A wide operand should not be stored to be sliced: its producer joins. Sources are cheap to recompute.
bool Chunk::addProducers(Operation *op) {
  for (Value operand : op->getOperands()) {
    Operation *producer = operand.getDefiningOp();
    if (producer && isa<ConstantOp>(producer) && hasAxis(operand) && !add(producer)) return false;
    if (!isWide(operand)) continue;
    if (!producer || producer->getBlock() != contract->getBlock() || !add(producer)) return false;
  }
  return true;
}

bool Chunk::collect() {
  markTowardsWide();
  if (!add(contract)) return false;
  for (unsigned next = 0; next < ops.size(); ++next)
    for (Operation *user : ops[next]->getUsers()) {
      bool readsWide = llvm::any_of(user->getOperands(), [&](Value v) { return isWide(v); });
      if (!readsWide && !towardsWide.contains(user) &&
          llvm::none_of(user->getResults(), [&](Value v) { return isWide(v); }))
        continue;
      if (user->getBlock() != contract->getBlock() || user->hasTrait<OpTrait::IsTerminator>() || !add(user))
        return false;
    }
  return addPathsBetween() && hasValidResults();
}

/// Adds ops that follow from a member and lead to another one: the repeat would need their results before they exist.
bool Chunk::addPathsBetween() {
  while (true) {
    DenseSet<Operation *> after; // in program order, so that one walk finds all
    SmallVector<Operation *> between;
    for (Operation &op : *contract->getBlock()) {
      bool follows = llvm::any_of(op.getOperands(), [&](Value v) {
        Operation *producer = v.getDefiningOp();
        return producer && (ops.contains(producer) || after.contains(producer));
      });
      if (follows && !ops.contains(&op)) after.insert(&op);
      if (!ops.contains(&op)) continue;
      for (Value operand : op.getOperands())
        if (Operation *producer = operand.getDefiningOp(); producer && after.contains(producer))
          between.push_back(producer);
    }
    if (between.empty()) return true;
    for (Operation *op : between)
      if (!add(op)) return false;
  }
}

/// No member may use a sum over all rows, which is complete only after the repeat.
bool Chunk::hasValidResults() {
  for (Operation &op : *contract->getBlock())
    if (ops.contains(&op)) order.push_back(&op);
  findBoundary();
  bool isAnySum = false;
  for (Operation *op : order) {
    if (!isSumOverRows(op)) continue;
    isAnySum = true;
    if (llvm::any_of(op->getUsers(), [&](Operation *user) { return ops.contains(user); })) return false;
  }
  // A result without the axis must be a sum over it.
  for (Value result : sums)
    if (!isSumOverRows(result.getDefiningOp())) return false;
  return isAnySum || !rows.empty();
}

void Chunk::findBoundary() {
  llvm::SetVector<Value> inputs;
  for (Operation *op : order) {
    for (Value operand : op->getOperands())
      if (!operand.getDefiningOp() || !ops.contains(operand.getDefiningOp())) inputs.insert(operand);
    for (Value result : op->getResults())
      if (llvm::any_of(result.getUsers(), [&](Operation *user) { return !ops.contains(user); }))
        (hasAxis(result) ? rows : sums).push_back(result);
  }
  for (Value input : inputs) (hasAxis(input) ? sliced : invariants).push_back(input);
}

//===----------------------------------------------------------------------===//
// 4. The repeat
//===----------------------------------------------------------------------===//

/// `type` with only one part of the axis.
NamedTensorType Chunk::part(NamedTensorType type) const {
  return type.withAxes(
      llvm::map_to_vector(type.getAxes(), [&](AxisAttr a) { return a.getName() == axis.getName() ? restAxis : a; }));
}

void Chunk::fillBody(RepeatOp repeat) {
  Block *block = new Block();
  repeat.getBody().push_back(block);
  GraphBuilder b(repeat);
  Location loc = repeat.getLoc();
  block->addArgument(b.scalarType(b.getI32Type()), loc);
  IRMapping map;
  SmallVector<Value> carried;
  for (Value sum : sums) carried.push_back(block->addArgument(typeOfSum(sum), loc));
  for (Value input : sliced) map.map(input, block->addArgument(part(tensorType(input)), loc));
  for (Value input : invariants) map.map(input, block->addArgument(input.getType(), loc));
  b.setInsertionPointToEnd(block);
  for (Operation *op : order) {
    Operation *clone = b.clone(*op, map);
    for (Value result : clone->getResults()) result.setType(part(tensorType(result)));
  }
  for (Value sum : sums) map.lookup(sum).setType(typeOfSum(sum));
  SmallVector<Value> yielded;
  for (auto [sum, before] : llvm::zip(sums, carried)) yielded.push_back(b.add(before, map.lookup(sum)));
  for (Value row : rows) yielded.push_back(map.lookup(row));
  YieldOp::create(b, loc, yielded);
}

/// The type in which the chunks of a sum are accumulated: f32 at least; the complete sum is rounded.
NamedTensorType Chunk::typeOfSum(Value sum) {
  NamedTensorType type = tensorType(sum);
  if (type.getElementType().getIntOrFloatBitWidth() >= 32) return type;
  return type.withElementType(Float32Type::get(type.getContext()));
}

/// If all that a sum is used for is to be added to an argument of the block, perhaps after other terms are added to it:
/// that addition. The repeat can begin with the argument.
Accumulation Chunk::accumulationOf(Value sum) {
  Value term = sum;
  while (true) {
    auto add = term.hasOneUse() ? dyn_cast<AddOp>(*term.user_begin()) : AddOp();
    if (!add || add.getType() != typeOfSum(sum)) return {};
    Value other = add.getLhs() == term ? add.getRhs() : add.getLhs();
    if (other.getType() != add.getType()) return {};
    if (isa<BlockArgument>(other)) return {add, other, term};
    term = add.getResult();
  }
}

/// One for each sum. Two sums that are added to each other begin with an argument only once.
SmallVector<Accumulation> Chunk::findAccumulations() const {
  SmallVector<Accumulation> found;
  for (Value sum : sums) {
    Accumulation next = accumulationOf(sum);
    bool isTaken = llvm::any_of(found, [&](const Accumulation &other) { return next.add && other.add == next.add; });
    found.push_back(isTaken ? Accumulation() : next);
  }
  return found;
}

/// "AXIS_chunk", or longer where a value of the model has an axis of that name or is inside a repeat along one.
std::string Chunk::freshAxisName() const {
  auto hasName = [](ValueRange values, StringRef name) {
    return llvm::any_of(values, [&](Value value) { return tensorType(value).hasAxis(name); });
  };
  return freshName((axis.getName() + "_chunk").str(), "_chunk", [&](StringRef name) {
    for (auto repeat = contract->getParentOfType<RepeatOp>(); repeat; repeat = repeat->getParentOfType<RepeatOp>())
      if (repeat.getAxis().getName() == name) return true;
    return llvm::any_of(
        order, [&](Operation *op) { return hasName(op->getOperands(), name) || hasName(op->getResults(), name); });
  });
}

void Chunk::rewrite(int64_t parts) {
  auto module = contract->getParentOfType<ModuleOp>();
  std::string name = freshAxisName();
  declareAxis(module, name, axis.getName());
  partAxis = tessera::axis(module.getContext(), name, parts);
  restAxis = tessera::axis(module.getContext(), axis.getName(), axis.getSize() / parts);

  Block *block = contract->getBlock();
  GraphBuilder b(block->getTerminator());
  b.setLoc(contract.getLoc());
  SmallVector<Value> carriedIn, slicedIn;
  SmallVector<Type> types;
  SmallVector<Accumulation> accumulations = findAccumulations();
  for (auto [sum, accumulation] : llvm::zip(sums, accumulations)) {
    types.push_back(typeOfSum(sum));
    carriedIn.push_back(accumulation.add ? accumulation.start : b.constant(0, typeOfSum(sum)));
  }
  for (Value input : sliced) slicedIn.push_back(b.split(input, axis.getName(), {partAxis, restAxis}));
  for (Value row : rows) types.push_back(b.withAxis(part(tensorType(row)), partAxis));
  auto repeat = RepeatOp::create(b, contract.getLoc(), types, partAxis, /*reverse=*/nullptr, carriedIn, slicedIn,
                                 invariants, ArrayAttr());
  copyUserName(contract, repeat);
  fillBody(repeat);
  unsigned next = 0;
  for (auto [sum, accumulation] : llvm::zip(sums, accumulations)) {
    if (AddOp add = accumulation.add) add.replaceAllUsesWith(accumulation.term), add.erase();
    sum.replaceAllUsesWith(b.cast(repeat->getResult(next++), tensorType(sum).getElementType()));
  }
  for (Value row : rows)
    row.replaceAllUsesExcept(b.merge(repeat->getResult(next), {partAxis.getName(), axis.getName()}, axis.getName()),
                             repeat),
        ++next;
  for (Operation *op : llvm::reverse(order)) op->erase();
  // The repeat was inserted at the end, but its users must follow it.
  sortTopologically(block);
}

//===----------------------------------------------------------------------===//
// The pass
//===----------------------------------------------------------------------===//

namespace {
/// What is chunked, and into how many parts.
struct ChunkLimits {
  int64_t leastBytes; ///< of a result that is chunked
  int64_t leastRows;  ///< of a part
  bool prefersLargeChunks;
};
} // namespace

/// The largest number of parts that leaves enough rows, or the smallest one that makes them small enough; 1 if there is
/// none.
static int64_t chooseParts(AxisAttr axis, int64_t rows, int64_t bytes, const ChunkLimits &limits) {
  int64_t best = 1;
  for (int64_t parts = std::min(axis.getSize(), rows / limits.leastRows); parts > 1; --parts) {
    if (axis.getSize() % parts != 0) continue;
    if (best > 1 && bytes > parts * limits.leastBytes) break;
    best = parts;
    if (!limits.prefersLargeChunks) break;
  }
  return best;
}

static bool isLarge(ContractOp contract, const ChunkLimits &limits) {
  return contract.getType().getNumBytes() >= limits.leastBytes;
}

/// 1. and 3. Returns whether the contraction was chunked.
static bool chunk(ContractOp contract, const TiledContractions &tiledLater, const ChunkLimits &limits) {
  if (!isLarge(contract, limits)) return false;
  int64_t bytes = contract.getType().getNumBytes();
  for (bool left : {true, false}) {
    NamedTensorType rowSide = (left ? contract.getLhs() : contract.getRhs()).getType();
    NamedTensorType otherSide = (left ? contract.getRhs() : contract.getLhs()).getType();
    int64_t rows = 1;
    for (AxisAttr axis : contract.getType().getAxes())
      if (!otherSide.hasAxis(axis.getName())) rows *= axis.getSize();
    for (AxisAttr axis : contract.getType().getAxes()) {
      if (!rowSide.hasAxis(axis.getName()) || otherSide.hasAxis(axis.getName()) || axis.getSize() == 1) continue;
      int64_t parts = chooseParts(axis, rows, bytes, limits);
      Chunk chunk(contract, axis, tiledLater);
      if (parts == 1 || !chunk.collect()) continue;
      chunk.rewrite(parts);
      return true;
    }
  }
  return false;
}

namespace {
struct ChunkPass : tessera::impl::ChunkPassBase<ChunkPass> {
  using ChunkPassBase::ChunkPassBase;

  void runOnOperation() override {
    Target target = Target::of(getOperation());
    ChunkLimits limits{leastBytes > 0 ? leastBytes : target.leastChunkedBytes,
                       leastRows > 0 ? leastRows : target.leastChunkRows, target.prefersLargeChunks};
    SmallVector<Block *> blocks; // without the new repeats
    for (func::FuncOp function : entryFunctions(getOperation())) {
      blocks.push_back(&function.getBody().front());
      function.walk([&](RepeatOp repeat) { blocks.push_back(&repeat.getBlock()); });
    }
    auto hasLarge = [&](Block *block) {
      return llvm::any_of(block->getOps<ContractOp>(), [&](ContractOp op) { return isLarge(op, limits); });
    };
    if (llvm::none_of(blocks, hasLarge)) return;
    TiledContractions tiledLater = contractionsTiledLater(getOperation());
    for (Block *block : blocks)
      while (chunkOne(*block, tiledLater, limits)) ++resultsChunked;
  }

  /// Ops in a new repeat are not considered again, so this terminates.
  bool chunkOne(Block &block, const TiledContractions &tiledLater, const ChunkLimits &limits) {
    for (auto contract : block.getOps<ContractOp>())
      if (chunk(contract, tiledLater, limits)) return true;
    return false;
  }
};
} // namespace
