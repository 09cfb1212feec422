//===- Products.cpp - contractions with a common operand as one -----------===//
//
// 1. Group the contractions of a block by a common operand (seen through renames), the axes that they sum over, and
//    what follows: a bias, a rounding.
// 2. Within a group those whose results a repeat stacks come last, and are joined apart from the others: the joined
//    value is stacked as a whole.
// 3. Join the other operands, and the biases, along their free axes; contract once; take the result apart.
//
//===----------------------------------------------------------------------===//

#include "ir/dialect/Attributes.h"
#include "mlir/Analysis/TopologicalSortUtils.h"
#include "passes/join/Join.h"

using namespace mlir;
using namespace tessera;

using Names = SmallVector<StringRef>;

namespace {

/// A contraction, with what follows it up to the value that is stored.
struct Product {
  ContractOp contract;
  unsigned other = 1; ///< the operand that is not common
  JoinMember weights; ///< that operand
  /// Renames of the common value's axes to those of this contraction's operand.
  Names from, to;
  AddOp bias;
  CastOp rounding;
  Value result;
  bool isStacked = false;

  Value getShared() { return contract->getOperand(1 - other); }
  Value getBias();
};

/// What the contractions of a group agree in.
struct Key {
  Value shared;
  Names over; ///< names of the common value
  Type element, rounded;
  bool hasBias;

  bool operator==(const Key &) const = default;
};

class ProductJoiner {
public:
  ProductJoiner(Block &block, JoinedValues &joined) : block(block), joined(joined) {}
  int64_t run();

private:
  void collect();
  std::optional<std::pair<Key, Product>> describe(ContractOp contract, unsigned other) const;
  int64_t join(const Key &key, std::vector<Product> products);
  void readPart(Product &product);
  bool isStale(const Key &key, Product &product) const;
  bool joinAdjacent(const Key &key, MutableArrayRef<Product> products);
  bool areIndependent(ArrayRef<Product> products) const;
  Value joinBiases(MutableArrayRef<Product> products, Type rounded);

  Block &block;
  JoinedValues &joined;
  std::vector<std::pair<Key, std::vector<Product>>> groups;
  llvm::SmallPtrSet<Operation *, 16> done;
};

} // namespace

Value Product::getBias() { return bias->getOperand(bias->getOperand(0) == contract.getResult() ? 1 : 0); }

/// The value of which `value` is a renamed one, with the names of its axes there and here.
static Value throughRenames(Value value, Names &from, Names &to) {
  for (AxisAttr axis : tensorType(value).getAxes()) from.push_back(axis.getName()), to.push_back(axis.getName());
  while (auto rename = value.getDefiningOp<RenameOp>()) {
    for (StringRef &name : from) {
      SmallVector<StringRef> outer = names(rename.getTo());
      auto it = llvm::find(outer, name);
      if (it != outer.end()) name = names(rename.getFrom())[it - outer.begin()];
    }
    value = rename.getX();
  }
  return value;
}

/// The only user of a value; null if there are several.
template <typename OpT> static OpT onlyUser(Value value) {
  return value.hasOneUse() ? dyn_cast<OpT>(*value.getUsers().begin()) : OpT();
}

static bool isNarrowing(CastOp cast) {
  return cast.getType().getElementBytes() < cast.getX().getType().getElementBytes();
}

/// How the value is yielded, seen through changes of its shape.
static void findYields(Value value, bool &isStacked, bool &isOther) {
  for (OpOperand &use : value.getUses()) {
    if (isa<RenameOp, SplitOp, MergeOp>(use.getOwner())) findYields(use.getOwner()->getResult(0), isStacked, isOther);
    if (!use.getOwner()->hasTrait<OpTrait::IsTerminator>()) continue;
    auto repeat = dyn_cast<RepeatOp>(use.getOwner()->getParentOp());
    bool stacks = repeat && use.getOperandNumber() >= repeat.getCarried().size();
    (stacks ? isStacked : isOther) = true;
  }
}

std::optional<std::pair<Key, Product>> ProductJoiner::describe(ContractOp contract, unsigned other) const {
  if (contract.getInit() || contract.getBias() || contract.getEpilogue() || staysInF32(contract)) return std::nullopt;
  Product product;
  product.contract = contract, product.other = other;
  product.weights.value = contract->getOperand(other);
  NamedTensorType sharedType = tensorType(product.getShared()), otherType = tensorType(product.weights.value);
  Names over = names(contract.getOver());
  for (AxisAttr axis : otherType.getAxes()) {
    if (llvm::is_contained(over, axis.getName())) continue;
    if (sharedType.hasAxis(axis.getName())) return std::nullopt; // a batch
    product.weights.merged.push_back(axis.getName());
  }
  if (product.weights.merged.empty() || sharedType.getRank() == static_cast<int64_t>(over.size())) return std::nullopt;
  Key key{throughRenames(product.getShared(), product.from, product.to),
          {},
          contract.getType().getElementType(),
          {},
          false};
  for (auto [there, here] : llvm::zip(product.from, product.to)) {
    if (!llvm::is_contained(over, here)) continue;
    key.over.push_back(there);
    if (there != here) product.weights.from.push_back(here), product.weights.to.push_back(there);
  }
  product.result = contract.getResult();
  if (auto add = onlyUser<AddOp>(product.result); add && add->getBlock() == &block) {
    product.bias = add;
    Names biasAxes =
        llvm::map_to_vector(tensorType(product.getBias()).getAxes(), [](AxisAttr a) { return a.getName(); });
    if (product.getBias() != product.result && biasAxes == product.weights.merged)
      product.result = add.getResult();
    else
      product.bias = {};
  }
  if (auto cast = onlyUser<CastOp>(product.result); cast && isNarrowing(cast))
    product.rounding = cast, product.result = cast.getResult();
  key.hasBias = static_cast<bool>(product.bias);
  if (product.rounding) key.rounded = product.rounding.getType().getElementType();
  bool isOther = false;
  findYields(product.result, product.isStacked, isOther);
  if (isOther) return std::nullopt;
  return std::make_pair(key, product);
}

void ProductJoiner::collect() {
  for (auto contract : block.getOps<ContractOp>())
    for (unsigned other : {1u, 0u}) {
      auto found = describe(contract, other);
      if (!found) continue;
      auto group = llvm::find_if(groups, [&](auto &entry) { return entry.first == found->first; });
      if (group == groups.end()) group = groups.insert(groups.end(), std::pair(found->first, std::vector<Product>()));
      group->second.push_back(found->second);
    }
}

/// Whether no operand of a product depends on the result of another one.
bool ProductJoiner::areIndependent(ArrayRef<Product> products) const {
  llvm::SmallPtrSet<Operation *, 32> reached;
  SmallVector<Operation *> work;
  auto visit = [&](Operation *op) {
    op = block.findAncestorOpInBlock(*op);
    if (op && reached.insert(op).second) work.push_back(op);
  };
  for (Product product : products)
    for (Operation *user : product.contract->getUsers()) visit(user);
  for (size_t next = 0; next < work.size(); ++next)
    for (Operation *user : work[next]->getUsers()) visit(user);
  auto isReached = [&](Value value) { return value.getDefiningOp() && reached.contains(value.getDefiningOp()); };
  return llvm::none_of(products, [&](Product product) {
    ContractOp contract = product.contract;
    Operation *bias = product.bias;
    return isReached(contract.getLhs()) || isReached(contract.getRhs()) ||
           (bias && llvm::any_of(bias->getOperands(),
                                 [&](Value value) { return value != contract.getResult() && isReached(value); }));
  });
}

/// The biases in the type of the rounded result, since the library adds them in it: kernels that round them write them
/// into the joined one. Null if they cannot be joined.
Value ProductJoiner::joinBiases(MutableArrayRef<Product> products, Type rounded) {
  SmallVector<JoinMember> members;
  for (Product &product : products) {
    Value bias = product.getBias();
    GraphBuilder b(product.bias);
    SmallVector<RepeatOp> around; // innermost first
    while (auto argument = dyn_cast<BlockArgument>(bias)) {
      auto repeat = dyn_cast<RepeatOp>(argument.getOwner()->getParentOp());
      if (!repeat || argument.getArgNumber() <= repeat.getCarried().size()) break;
      bias = repeat->getOperand(argument.getArgNumber() - 1);
    }
    b.setInsertionPointAfterValue(bias);
    members.push_back({b.cast(bias, rounded), product.weights.merged, {}, {}});
  }
  if (joined.canJoin(members)) return joined.join(members, &block);
  for (JoinMember &member : members) member.value.getDefiningOp()->erase();
  return {};
}

/// `part` with the axes that a member had before it was joined.
static Value splitJoined(GraphBuilder &b, Value part, const JoinMember &member, StringRef joinedAxis) {
  NamedTensorType type = tensorType(member.value);
  SmallVector<AxisAttr> axes;
  for (StringRef name : member.merged) axes.push_back(type.getAxes()[type.findAxis(name)]);
  return axes.size() == 1 ? b.rename(part, {joinedAxis}, member.merged) : b.split(part, joinedAxis, axes);
}

/// One contraction for products whose other operands are adjacent.
bool ProductJoiner::joinAdjacent(const Key &key, MutableArrayRef<Product> products) {
  SmallVector<JoinMember> members;
  for (Product &product : products) members.push_back(product.weights);
  Value biases = key.hasBias ? joinBiases(products, key.rounded) : Value();
  if (key.hasBias && !biases) return false;
  Value weights = joined.join(members, &block);
  Operation *last = products.front().contract;
  for (Value operand : {weights, key.shared, biases})
    if (Operation *op = operand ? operand.getDefiningOp() : nullptr; op && last->isBeforeInBlock(op)) last = op;
  GraphBuilder b(last);
  if (last != products.front().contract) b.setInsertionPointAfter(last);
  // The summed axes have the names that they have in the common value.
  Value whole = products.front().other == 1 ? b.contract(key.shared, weights, key.over, key.element)
                                            : b.contract(weights, key.shared, key.over, key.element);
  Operation *contract = whole.getDefiningOp();
  if (biases) whole = b.add(whole, b.cast(biases, key.element));
  if (key.rounded) whole = b.cast(whole, key.rounded);
  for (Operation *op = contract; op; op = op == whole.getDefiningOp() ? nullptr : op->getNextNode())
    copyNotes(products.front().contract, op);
  int64_t start = 0;
  for (Product &product : products) {
    int64_t size = product.weights.size();
    Value part = slicePart(b, whole, joined.getAxis(), start, size);
    start += size;
    SmallVector<StringRef> from, to;
    for (auto [there, here] : llvm::zip(product.from, product.to))
      if (there != here && tensorType(part).hasAxis(there)) from.push_back(there), to.push_back(here);
    if (!from.empty()) part = b.rename(part, from, to);
    part = splitJoined(b, part, product.weights, joined.getAxis());
    for (Operation *op = part.getDefiningOp(); op != whole.getDefiningOp(); op = op->getOperand(0).getDefiningOp())
      copyNotes(product.contract, op);
    product.result.replaceAllUsesWith(part);
    for (Operation *op :
         {product.rounding.getOperation(), product.bias.getOperation(), product.contract.getOperation()})
      if (op) done.insert(op), op->dropAllUses();
  }
  return true;
}

/// Whether an earlier group has replaced the contraction or one of its operands.
bool ProductJoiner::isStale(const Key &key, Product &product) const {
  if (done.contains(product.contract) || product.contract->getOperand(product.other) != product.weights.value)
    return true;
  Names from, to;
  return throughRenames(product.getShared(), from, to) != key.shared;
}

/// Whether the joined result of products can be taken apart by views: the outermost axis of each part spans it.
static bool canBeOne(ArrayRef<Product> run) {
  int64_t total = 0;
  for (const Product &product : run) total += product.weights.size();
  return run.size() > 1 && llvm::all_of(run, [&](const Product &product) {
           NamedTensorType type = tensorType(product.weights.value);
           return total % (product.weights.size() / type.getSize(product.weights.merged.front())) == 0;
         });
}

/// A part of the joined operands in place of the operand itself, which is no tensor of its own any more.
void ProductJoiner::readPart(Product &product) {
  const JoinMember &member = product.weights;
  Value part = joined.join({member}, &block);
  GraphBuilder b(product.contract);
  if (!member.from.empty()) part = b.rename(part, member.to, member.from);
  product.contract->setOperand(product.other, splitJoined(b, part, member, joined.getAxis()));
}

int64_t ProductJoiner::join(const Key &key, std::vector<Product> products) {
  llvm::erase_if(products, [&](Product &product) { return isStale(key, product); });
  // By their places in a join that exists, else those that are stacked last.
  llvm::stable_sort(products, [&](const Product &a, const Product &b) {
    return std::pair(joined.positionOf(a.weights.value), a.isStacked) <
           std::pair(joined.positionOf(b.weights.value), b.isStacked);
  });
  if (products.size() < 2 || (key.hasBias && !key.rounded) || !areIndependent(products)) return 0;
  bool isUniform = llvm::all_of(products, [&](const Product &p) { return p.other == products.front().other; });
  SmallVector<JoinMember> members =
      llvm::map_to_vector(products, [](const Product &product) { return product.weights; });
  if (!isUniform || !joined.canJoin(members)) return 0;
  SmallVector<MutableArrayRef<Product>> runs;
  for (MutableArrayRef<Product> rest = products; !rest.empty(); rest = rest.drop_front(runs.back().size())) {
    auto isOther = [&](const Product &product) { return product.isStacked != rest.front().isStacked; };
    runs.push_back(rest.take_front(llvm::find_if(rest, isOther) - rest.begin()));
  }
  if (llvm::none_of(runs, canBeOne)) return 0;
  // The other operands are one join, of which each contraction reads adjacent parts.
  joined.join(members, &block);
  int64_t saved = 0;
  for (MutableArrayRef<Product> run : runs) {
    if (canBeOne(run) && joinAdjacent(key, run))
      saved += run.size() - 1;
    else
      llvm::for_each(run, [&](Product &product) { readPart(product); });
  }
  return saved;
}

int64_t ProductJoiner::run() {
  collect();
  int64_t saved = 0;
  for (auto &[key, products] : groups) saved += join(key, products);
  for (Operation &op : llvm::make_early_inc_range(llvm::reverse(block)))
    if (done.contains(&op)) op.erase();
  // Contractions that were made late have users that came early.
  if (saved > 0) sortTopologically(&block);
  return saved;
}

int64_t tessera::joinProducts(Block &block, JoinedValues &joined) { return ProductJoiner(block, joined).run(); }
