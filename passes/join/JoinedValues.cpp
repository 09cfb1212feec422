//===- JoinedValues.cpp - operands of contractions, one after the other in one value -===//

#include "passes/join/JoinedValues.h"
#include "ir/dialect/Reshape.h"
#include "ir/program/Program.h"
#include "ir/program/Repeats.h"

using namespace mlir;
using namespace tessera;

/// Parts begin at multiples of so many bytes, for vectors and for the library.
static constexpr int64_t partAlignment = 16;

int64_t JoinMember::size() const {
  int64_t product = 1;
  for (StringRef name : merged) product *= tensorType(value).getSize(name);
  return product;
}

JoinedValues::JoinedValues(ModuleOp module) {
  SmallVector<StringRef> taken;
  if (auto list = module->getAttrOfType<ArrayAttr>(attrs::axes)) taken = names(list);
  axis = StringAttr::get(module.getContext(),
                         freshName("joined", "_", [&](StringRef name) { return llvm::is_contained(taken, name); }));
}

/// What a value inside repeats is a slice of, or the same as, outside of them. Null for carried values and induction
/// values.
static Value outsideRepeats(Value value) {
  while (auto argument = dyn_cast<BlockArgument>(value)) {
    auto repeat = dyn_cast<RepeatOp>(argument.getOwner()->getParentOp());
    if (!repeat || argument.getArgNumber() <= repeat.getCarried().size()) return {};
    value = repeat->getOperand(argument.getArgNumber() - 1);
  }
  return value;
}

/// The value of which this one is another shape: the one that an op writes.
static Value rootOf(Value value) {
  while (isa_and_nonnull<RenameOp, SplitOp, MergeOp>(value.getDefiningOp()))
    value = value.getDefiningOp()->getOperand(0);
  return value;
}

JoinedValues::Position JoinedValues::find(Value outer) const { return positions.lookup(outer); }

int64_t JoinedValues::positionOf(Value value) const {
  Value outer = outsideRepeats(value);
  return outer ? find(outer).index : -1;
}

/// The members outside of repeats; none if one of them is not a slice or an invariant there.
static SmallVector<JoinMember> outerMembers(ArrayRef<JoinMember> members) {
  SmallVector<JoinMember> result(members);
  for (JoinMember &member : result) {
    member.value = outsideRepeats(member.value);
    if (!member.value) return {};
  }
  return result;
}

/// Whether the op that makes a value can write it into a part of a larger buffer.
static bool canBeWrittenAsPart(Value root) {
  return isa_and_nonnull<CastOp, ContractOp, AttentionOp>(root.getDefiningOp());
}

bool JoinedValues::mayBecomeJoin(ArrayRef<JoinMember> members) const {
  int64_t total = 0;
  for (const JoinMember &member : members) total += member.size();
  llvm::SmallDenseSet<Value> taken;
  for (const JoinMember &member : members) {
    NamedTensorType type = tensorType(member.value);
    Value root = rootOf(member.value);
    if (!canBeWrittenAsPart(root) || roots.contains(root) || !taken.insert(root).second) return false;
    if (root.getParentBlock() != rootOf(members.front().value).getParentBlock()) return false;
    // Only values of 16 bits: in f32, weights are state, which has places of its own.
    bool isReduced = type.getElementType().isBF16() || type.getElementType().isF16();
    if (!isReduced || member.size() * type.getElementBytes() % partAlignment != 0) return false;
    // The outermost of the merged axes spans the whole join.
    if (total % (member.size() / type.getSize(member.merged.front())) != 0) return false;
  }
  return true;
}

bool JoinedValues::canJoin(ArrayRef<JoinMember> members) const {
  SmallVector<JoinMember> outer = outerMembers(members);
  if (outer.empty()) return false;
  Position first = find(outer.front().value);
  if (first.family < 0)
    return llvm::all_of(outer, [&](const JoinMember &member) { return find(member.value).family < 0; }) &&
           mayBecomeJoin(outer);
  const Family &family = families[first.family];
  if (first.index + outer.size() > family.members.size()) return false;
  return llvm::equal(outer, ArrayRef(family.members).slice(first.index, outer.size()));
}

Value JoinedValues::make(ArrayRef<JoinMember> members) {
  Operation *last = nullptr;
  for (const JoinMember &member : members) {
    Operation *op = member.value.getDefiningOp();
    if (!last || last->isBeforeInBlock(op)) last = op;
  }
  GraphBuilder b(last);
  b.setInsertionPointAfter(last);
  SmallVector<Value> parts;
  for (auto [i, member] : llvm::enumerate(members)) {
    Value part = member.value;
    if (member.merged.size() == 1)
      part = b.rename(part, member.merged, {getAxis()});
    else
      part = b.merge(part, member.merged, getAxis());
    if (!member.from.empty()) part = b.rename(part, member.from, member.to);
    parts.push_back(part);
    positions[member.value] = {static_cast<int>(families.size()), static_cast<int64_t>(i)};
    roots.insert(rootOf(member.value));
  }
  Value joined = b.join(parts, getAxis());
  families.push_back({SmallVector<JoinMember>(members), joined});
  return joined;
}

Value JoinedValues::join(ArrayRef<JoinMember> members, Block *block) {
  SmallVector<JoinMember> outer = outerMembers(members);
  Position first = find(outer.front().value);
  if (first.family < 0) make(outer), first = find(outer.front().value);
  const Family &family = families[first.family];
  Value &value = imported[{family.joined, block}];
  if (!value) value = importInto(block, family.joined);
  if (outer.size() == family.members.size()) return value;
  int64_t start = 0, size = 0;
  for (int64_t i = 0; i < first.index; ++i) start += family.members[i].size();
  for (const JoinMember &member : outer) size += member.size();
  GraphBuilder b(block->getParent()->getParentOfType<ModuleOp>(), value.getLoc());
  b.setInsertionPointAfterValue(value);
  return slicePart(b, value, getAxis(), start, size);
}

Value tessera::slicePart(GraphBuilder &b, Value joined, StringRef axis, int64_t start, int64_t size) {
  Value part = b.slice(joined, axis, start, size);
  part.getDefiningOp()->setAttr(partAttr, b.getUnitAttr());
  return part;
}
