//===- ColumnSums.cpp - element values that are computed with their column sums ----===//
//
// The gradient of a bias is a sum over rows of a gradient that contractions read too:
//
//   %r = mean of f(%dy) in each row                a row kernel
//   %m = g(%dy, %r)                                the same kernel
//   %b = tsr.reduce sum %m over [seq]              a column kernel
//   %s = tsr.reduce sum %dy over [seq]             the same, or another one
//
// A column kernel that computes %m itself does not read it, and reads %dy for both sums once; for that the row kernel,
// which %m depends on, reads its operands alone. `separateColumnOps` compares the bytes of both ways:
//
//   1. Find a sum of an elementwise value that is stored. Its *cone* are the elementwise ops over the same axes from
//      which it follows, up to tensors in memory and row values.
//   2. Find the cones of the row reductions that the row values follow from, and of the other sums over the same axes.
//      Sums that read a common tensor share a kernel (Groups.cpp).
//   3. If the bytes are fewer, clone the cone: the row reductions may need some of its ops too.
//
//===----------------------------------------------------------------------===//

#include "passes/fusion/ColumnSums.h"
#include "ir/program/Target.h"
#include "mlir/IR/IRMapping.h"
#include "passes/fusion/Groups.h"
#include "llvm/ADT/SetVector.h"

using namespace mlir;
using namespace tessera;

using ValueList = llvm::SetVector<Value>;

/// More ops would leave no registers for the sums.
static constexpr size_t mostOps = 48;

static bool hasAxesOf(Value value, NamedTensorType space) {
  NamedTensorType type = tensorType(value);
  return type.getRank() == space.getRank() &&
         llvm::all_of(type.getAxes(), [&](AxisAttr axis) { return llvm::is_contained(space.getAxes(), axis); });
}

static bool isElementwise(Operation *op) {
  return isa<ElementwiseOpInterface>(op) && !isa<ReorderOp>(op) && op->hasTrait<traits::MayBeInKernel>();
}

/// Whether a value is in memory, whatever kernel computes it.
static bool isStored(Value value) {
  return llvm::any_of(value.getUses(), [](OpOperand &use) {
    Operation *user = use.getOwner();
    return readsFromMemory(use) || (isRecomputed(user) && isStored(user->getResult(0)));
  });
}

static int64_t bytesOf(const ValueList &values) {
  int64_t bytes = 0;
  for (Value value : values) bytes += tensorType(value).getNumBytes();
  return bytes;
}

namespace {

/// The elementwise ops over one space from which a value follows.
struct Cone {
  llvm::SetVector<Operation *> ops; ///< with recomputed ones
  ValueList read;                   ///< tensors of the space in memory
  ValueList others;                 ///< values with fewer axes
  bool isComplete = true;           ///< false if another kind of op computes an element value, or if it is stored

  Cone(NamedTensorType space, Block &block) : space(space), block(block) {}
  void add(Value value, bool isRoot);

private:
  NamedTensorType space;
  Block &block;
};

/// A sum over the rows of `space`.
class ColumnSum {
public:
  ColumnSum(ReduceOp sum, Operation *root)
      : sum(sum), root(root), space(sum.getX().getType()), cone(space, *sum->getBlock()) {
    cone.add(root->getResult(0), /*isRoot=*/true);
  }

  bool savesBytes();
  /// Clones the cone for the kernel of the sum.
  void separate(ColumnOps &columnOps);

private:
  bool isReadElsewhereInKernels();
  bool collectRows();
  std::vector<ValueList> otherSums();

  ReduceOp sum;
  Operation *root; ///< its value, before it is widened
  NamedTensorType space;
  Cone cone;
  ValueList readForRows; ///< by the row reductions that the cone depends on
};

} // namespace

void Cone::add(Value value, bool isRoot) {
  Operation *op = value.getDefiningOp();
  bool isHere = op && op->getBlock() == &block;
  if (isHere && isRecomputed(op)) {
    if (!ops.insert(op)) return;
    for (OpOperand &use : op->getOpOperands()) {
      isComplete &= !readsFromMemory(use);
      add(use.get(), false);
    }
  } else if (!hasAxesOf(value, space)) {
    others.insert(value);
  } else if (!isHere || !op->hasTrait<traits::MayBeInKernel>()) {
    read.insert(value);
  } else if (!isElementwise(op) || (!isRoot && isStored(value))) {
    isComplete = false;
  } else if (ops.insert(op)) {
    for (Value operand : op->getOperands()) add(operand, false);
  }
}

//===----------------------------------------------------------------------===//
// Bytes
//===----------------------------------------------------------------------===//

/// Whether a kernel that might compute the value reads it. Ops that follow from a contraction or a repeat that reads
/// the value are in other kernels anyway.
bool ColumnSum::isReadElsewhereInKernels() {
  llvm::DenseSet<Operation *> later; // in program order, so that one walk finds all
  for (Operation *op = root->getNextNode(); op; op = op->getNextNode())
    for (OpOperand &use : op->getOpOperands()) {
      Operation *producer = use.get().getDefiningOp();
      bool follows = producer && later.contains(producer);
      if (follows || (use.get() == root->getResult(0) && readsFromMemory(use))) later.insert(op);
    }
  SmallVector<Operation *> users(root->getUsers());
  for (size_t i = 0; i < users.size(); ++i) {
    Operation *user = users[i];
    if (later.contains(user) || user->hasTrait<OpTrait::IsTerminator>()) continue;
    if (isRecomputed(user))
      llvm::append_range(users, user->getUsers());
    else if (auto reduce = dyn_cast<ReduceOp>(user); !reduce || reduce.getOver() != sum.getOver())
      return true;
  }
  return false;
}

/// Finds what the row reductions read. False if an op besides the cone needs them for element values: then one kernel
/// would compute both.
bool ColumnSum::collectRows() {
  llvm::SetVector<Operation *> rows;
  for (Value value : cone.others)
    if (Operation *op = value.getDefiningOp()) rows.insert(op);
  Cone read(space, *root->getBlock());
  for (size_t i = 0; i < rows.size(); ++i) {
    Operation *op = rows[i];
    if (op->getBlock() != root->getBlock() || !op->hasTrait<traits::MayBeInKernel>()) continue;
    bool isOnlyForCone = isRecomputed(op) || llvm::all_of(op->getUsers(), [&](Operation *user) {
                           return rows.contains(user) || cone.ops.contains(user);
                         });
    if (!isOnlyForCone) return false;
    auto reduce = dyn_cast<ReduceOp>(op);
    if (reduce && hasAxesOf(reduce.getX(), space)) {
      read.add(reduce.getX(), false);
      continue;
    }
    for (Value operand : op->getOperands())
      if (Operation *producer = operand.getDefiningOp()) rows.insert(producer);
  }
  readForRows = read.read;
  return read.isComplete;
}

/// What the kernels of the other sums over the same axes read: those that share a tensor are one kernel.
std::vector<ValueList> ColumnSum::otherSums() {
  std::vector<ValueList> kernels;
  for (auto other : sum->getBlock()->getOps<ReduceOp>()) {
    if (other.getOver() != sum.getOver() || !hasAxesOf(other.getX(), space)) continue;
    Cone operands(space, *sum->getBlock());
    operands.add(other.getX(), false);
    ValueList read = operands.read;
    if (!operands.isComplete || read.empty()) continue;
    for (size_t i = kernels.size(); i-- > 0;)
      if (llvm::any_of(kernels[i], [&](Value value) { return read.contains(value); })) {
        read.insert_range(kernels[i]);
        kernels.erase(kernels.begin() + static_cast<ptrdiff_t>(i));
      }
    kernels.push_back(read);
  }
  return kernels;
}

bool ColumnSum::savesBytes() {
  if (!cone.isComplete || cone.read.empty() || cone.ops.size() > mostOps) return false;
  if (isReadElsewhereInKernels() || !collectRows()) return false;
  int64_t stored = tensorType(root->getResult(0)).getNumBytes();
  ValueList together = cone.read, byColumns = cone.read;
  together.insert_range(readForRows);
  // In both ways the value is written. Alone, the sum reads it.
  int64_t alone = bytesOf(together) + stored, fused = bytesOf(readForRows);
  for (const ValueList &read : otherSums()) {
    alone += bytesOf(read);
    if (llvm::any_of(read, [&](Value value) { return cone.read.contains(value); }))
      byColumns.insert_range(read);
    else
      fused += bytesOf(read);
  }
  return fused + bytesOf(byColumns) < alone;
}

//===----------------------------------------------------------------------===//
// The rewrite
//===----------------------------------------------------------------------===//

void ColumnSum::separate(ColumnOps &columnOps) {
  SmallVector<Operation *> ops;
  for (Operation &op : *root->getBlock())
    if (cone.ops.contains(&op)) ops.push_back(&op);
  OpBuilder builder(root);
  IRMapping map;
  for (Operation *op : ops) {
    // Kernels recompute these anyway. They stay common values, by which sums that read the same tensor are found.
    bool followsClone = llvm::any_of(op->getOperands(), [&](Value operand) { return map.contains(operand); });
    if (isRecomputed(op) && !followsClone) continue;
    Operation *clone = builder.clone(*op, map);
    if (!isRecomputed(clone)) columnOps[clone] = sum;
  }
  root->getResult(0).replaceAllUsesWith(map.lookup(root->getResult(0)));
  for (Operation *op : llvm::reverse(ops))
    if (op->use_empty()) op->erase();
}

/// The op that computes the operand of a sum, if its value should be stored anyway.
static Operation *storedOperand(ReduceOp sum) {
  Value value = sum.getX();
  if (auto cast = value.getDefiningOp<CastOp>(); cast && isWidening(cast)) value = cast.getX();
  Operation *op = value.getDefiningOp();
  bool isCandidate = op && op->getBlock() == sum->getBlock() && isElementwise(op) && !isRecomputed(op) &&
                     isStored(value) && hasAxesOf(value, sum.getX().getType());
  return isCandidate ? op : nullptr;
}

ColumnOps tessera::separateColumnOps(Block &block) {
  ColumnOps columnOps;
  Target target = Target::of(block.getParentOp());
  if (!target.writesByColumns) return columnOps;
  SmallVector<ReduceOp> sums(block.getOps<ReduceOp>());
  for (ReduceOp sum : sums) {
    NamedTensorType space = sum.getX().getType();
    bool isOverColumns = llvm::is_contained(names(sum.getOver()), space.getAxes().back().getName());
    if (isOverColumns || sum.getType().getNumElements() < target.gpu.pointsForAll()) continue;
    Operation *root = storedOperand(sum);
    if (!root || columnOps.contains(root)) continue;
    if (ColumnSum column(sum, root); column.savesBytes()) column.separate(columnOps);
  }
  return columnOps;
}
