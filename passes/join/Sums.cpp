//===- Sums.cpp - a sum of contractions as one contraction ----------------===//
//
// The gradient of a common input is a sum of contractions. With their operands joined along the summed axes it is one
// contraction, whose accumulators are the sum, so that no partial sum is stored.
//
// 1. Find the sums of a block: trees of additions, seen through renames and through the widening of rounded results.
// 2. Join the left and the right operands of the contractions among the addends, and contract over the joined axis.
// 3. If one of them was rounded, so is the one that takes their place. Other addends are added to it.
//
//===----------------------------------------------------------------------===//

#include "ir/dialect/Attributes.h"
#include "passes/join/Join.h"

using namespace mlir;
using namespace tessera;

using Names = SmallVector<StringRef>;

namespace {

/// An addend of a sum.
struct SumTerm {
  Value value;
  Names from, to;      ///< axes of `value`, and their names in the sum
  ContractOp contract; ///< null if another op computes it
  JoinMember left, right;
};

class SumJoiner {
public:
  SumJoiner(AddOp root, JoinedValues &joined) : root(root), joined(joined) {}
  int64_t run();

private:
  void collect(Value value, Names from, Names to, bool isRoot);
  bool describe(SumTerm &addend, const SumTerm *first) const;
  void replace(ArrayRef<SumTerm> products, ArrayRef<SumTerm> others);

  AddOp root;
  JoinedValues &joined;
  std::vector<SumTerm> addends;
};

} // namespace

static bool isWidening(CastOp cast) {
  return cast.getType().getElementBytes() > cast.getX().getType().getElementBytes();
}

static Names axesOf(NamedTensorType type) {
  return llvm::map_to_vector(type.getAxes(), [](AxisAttr axis) { return axis.getName(); });
}

/// Adds the addends of `value`, whose axes `from` are called `to` in the sum.
void SumJoiner::collect(Value value, Names from, Names to, bool isRoot) {
  Operation *op = value.getDefiningOp();
  bool isInside = isRoot || (op && value.hasOneUse() && op->getBlock() == root->getBlock());
  if (auto add = isInside ? dyn_cast<AddOp>(op) : AddOp();
      add && add->getOperand(0).getType() == add->getOperand(1).getType()) {
    for (Value operand : add->getOperands()) collect(operand, from, to, false);
    return;
  }
  if (auto rename = isInside ? dyn_cast<RenameOp>(op) : RenameOp()) {
    Names inner = axesOf(rename.getX().getType()), outer;
    for (StringRef name : inner) {
      Names renamed = names(rename.getFrom());
      auto it = llvm::find(renamed, name);
      StringRef here = it == renamed.end() ? name : names(rename.getTo())[it - renamed.begin()];
      outer.push_back(to[llvm::find(from, here) - from.begin()]);
    }
    return collect(rename.getX(), inner, outer, false);
  }
  SumTerm addend{value, from, to, {}, {}, {}};
  if (isInside) {
    auto cast = dyn_cast<CastOp>(op);
    if (cast && isWidening(cast) && cast.getX().hasOneUse()) op = cast.getX().getDefiningOp();
    addend.contract = dyn_cast_or_null<ContractOp>(op);
  }
  addends.push_back(addend);
}

/// Describes the operands of a contraction; the left one has the free axes of the first addend's left one.
bool SumJoiner::describe(SumTerm &addend, const SumTerm *first) const {
  ContractOp contract = addend.contract;
  if (!contract || contract.getInit() || contract.getBias() || contract.getEpilogue() || staysInF32(contract))
    return false;
  Names over = names(contract.getOver());
  auto member = [&](Value operand, Value other) -> std::optional<JoinMember> {
    JoinMember member;
    member.value = operand;
    for (StringRef name : axesOf(tensorType(operand))) {
      if (llvm::is_contained(over, name)) {
        member.merged.push_back(name);
        continue;
      }
      if (tensorType(other).hasAxis(name)) return std::nullopt; // a batch
      StringRef renamed = addend.to[llvm::find(addend.from, name) - addend.from.begin()];
      if (renamed != name) member.from.push_back(name), member.to.push_back(renamed);
    }
    return member;
  };
  auto lhs = member(contract.getLhs(), contract.getRhs()), rhs = member(contract.getRhs(), contract.getLhs());
  if (!lhs || !rhs || over.empty()) return false;
  /// The free axes of an operand, by their names in the sum.
  auto freeAxes = [&](const JoinMember &member) {
    SmallVector<std::string> result;
    for (StringRef name : axesOf(tensorType(member.value))) {
      auto it = llvm::find(member.from, name);
      if (!llvm::is_contained(member.merged, name))
        result.push_back((it == member.from.end() ? name : member.to[it - member.from.begin()]).str());
    }
    llvm::sort(result);
    return result;
  };
  if (freeAxes(*lhs).empty() || freeAxes(*rhs).empty()) return false;
  addend.left = *lhs, addend.right = *rhs;
  if (!first) return true;
  if (freeAxes(addend.left) != freeAxes(first->left)) std::swap(addend.left, addend.right);
  return freeAxes(addend.left) == freeAxes(first->left) && freeAxes(addend.right) == freeAxes(first->right);
}

/// 2. and 3.
void SumJoiner::replace(ArrayRef<SumTerm> products, ArrayRef<SumTerm> others) {
  auto members = [&](JoinMember SumTerm::*side) {
    return llvm::map_to_vector(products, [&](const SumTerm &addend) { return addend.*side; });
  };
  Block *block = root->getBlock();
  Value left = joined.join(members(&SumTerm::left), block), right = joined.join(members(&SumTerm::right), block);
  GraphBuilder b(root);
  Type wide = root.getType().getElementType(), element = wide;
  for (const SumTerm &addend : products) {
    ContractOp contract = addend.contract;
    if (contract.getType().getElementType() != wide) element = contract.getType().getElementType();
  }
  Value sum = b.contract(left, right, {joined.getAxis()}, element);
  copyNotes(root, sum.getDefiningOp());
  sum = b.cast(sum, wide);
  for (const SumTerm &addend : others) {
    Names from, to;
    for (auto [inner, outer] : llvm::zip(addend.from, addend.to))
      if (inner != outer) from.push_back(inner), to.push_back(outer);
    Value value = from.empty() ? addend.value : b.rename(addend.value, from, to);
    sum = b.add(sum, value);
    copyNotes(root, sum.getDefiningOp());
  }
  root.getResult().replaceAllUsesWith(sum);
}

int64_t SumJoiner::run() {
  Names axes = axesOf(root.getType());
  collect(root.getResult(), axes, axes, true);
  std::vector<SumTerm> products, others;
  for (SumTerm &addend : addends)
    (describe(addend, products.empty() ? nullptr : &products.front()) ? products : others).push_back(addend);
  if (products.size() < 2) return 0;
  for (JoinMember SumTerm::*known : {&SumTerm::right, &SumTerm::left}) {
    // In the order of a join that exists.
    llvm::stable_sort(products, [&](const SumTerm &a, const SumTerm &b) {
      return joined.positionOf((a.*known).value) < joined.positionOf((b.*known).value);
    });
    if (joined.positionOf((products.front().*known).value) >= 0) break;
  }
  auto canJoin = [&](JoinMember SumTerm::*side) {
    return joined.canJoin(llvm::map_to_vector(products, [&](const SumTerm &addend) { return addend.*side; }));
  };
  if (!canJoin(&SumTerm::left) || !canJoin(&SumTerm::right)) return 0;
  replace(products, others);
  return products.size() - 1;
}

/// Whether a sum is an addend of a larger one.
static bool isPartOfSum(AddOp add) {
  Value value = add.getResult();
  while (value.hasOneUse()) {
    Operation *user = *value.getUsers().begin();
    if (user->getBlock() != add->getBlock()) return false;
    if (isa<AddOp>(user)) return user->getOperand(0).getType() == user->getOperand(1).getType();
    if (!isa<RenameOp>(user)) return false;
    value = user->getResult(0);
  }
  return false;
}

int64_t tessera::joinSums(Block &block, JoinedValues &joined) {
  int64_t saved = 0;
  SmallVector<AddOp> roots = llvm::filter_to_vector(block.getOps<AddOp>(), [](AddOp add) { return !isPartOfSum(add); });
  for (AddOp root : roots) {
    if (int64_t more = SumJoiner(root, joined).run()) saved += more;
  }
  if (saved == 0) return 0;
  // What only the old sums needed, last first.
  for (Operation &op : llvm::make_early_inc_range(llvm::reverse(block)))
    if (op.use_empty() && isPure(&op) && !op.hasTrait<OpTrait::IsTerminator>()) op.erase();
  return saved;
}
