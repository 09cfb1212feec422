//===- Verify.cpp - verifiers of tsr ops ----------------------------------===//
//
// C1, C2, … are the constraints in the description of the op (TsrOps.td, TsrElementwise.td).
//
//===----------------------------------------------------------------------===//

#include "ir/dialect/Attributes.h"
#include "ir/dialect/GraphBuilder.h"
#include "ir/dialect/Tsr.h"
#include "llvm/ADT/StringSet.h"
#include "llvm/Support/MathExtras.h"

using namespace mlir;
using namespace tessera;

/// Adds the axes of `type` to `sizes`; says where a size disagrees.
static LogicalResult unite(Operation *op, llvm::StringMap<int64_t> &sizes, NamedTensorType type) {
  for (AxisAttr axis : type.getAxes()) {
    auto [it, isNew] = sizes.try_emplace(axis.getName(), axis.getSize());
    if (!isNew && it->second != axis.getSize())
      return op->emitOpError("axis `") << axis.getName() << "` has size " << it->second << " and size "
                                       << axis.getSize();
  }
  return success();
}

/// Checks that `type` has exactly the axes in `sizes`.
static LogicalResult expectAxes(Operation *op, const llvm::StringMap<int64_t> &sizes, NamedTensorType type) {
  for (AxisAttr axis : type.getAxes()) {
    auto it = sizes.find(axis.getName());
    if (it == sizes.end())
      return op->emitOpError("result has axis `") << axis.getName() << "` that no operand gives it";
    if (it->second != axis.getSize())
      return op->emitOpError("expected size ")
             << it->second << " for axis `" << axis.getName() << "` of the result, got " << axis.getSize();
  }
  if (sizes.size() != static_cast<size_t>(type.getRank()))
    return op->emitOpError("expected ") << sizes.size() << " axes in the result, got " << type;
  return success();
}

static LogicalResult expectNoFp8(Operation *op, NamedTensorType type) {
  if (!isFp8(type.getElementType())) return success();
  return op->emitOpError("computes in ") << type.getElementType() << ": cast to f32 first";
}

static LogicalResult expectElementType(Operation *op, Type expected, Type got) {
  if (expected == got) return success();
  return op->emitOpError("expected element type ") << expected << ", got " << got;
}

//===----------------------------------------------------------------------===//
// Elementwise
//===----------------------------------------------------------------------===//

/// C1 and C2.
static LogicalResult verifyElementwiseAxes(Operation *op) {
  llvm::StringMap<int64_t> sizes;
  for (Value operand : op->getOperands())
    if (failed(unite(op, sizes, tensorType(operand)))) return failure();
  return expectAxes(op, sizes, tensorType(op->getResult(0)));
}

static LogicalResult expectOneElementType(Operation *op, ValueRange values) {
  Type element = tensorType(values.front()).getElementType();
  for (Value value : values)
    if (failed(expectElementType(op, element, tensorType(value).getElementType()))) return failure();
  return success();
}

static LogicalResult expectNoFp8(Operation *op, ValueRange values) {
  for (Value value : values)
    if (failed(expectNoFp8(op, tensorType(value)))) return failure();
  return success();
}

LogicalResult tessera::verifyArithmeticOp(Operation *op) {
  SmallVector<Value> values(op->getOperands());
  values.push_back(op->getResult(0));
  return failure(failed(verifyElementwiseAxes(op)) || failed(expectNoFp8(op, op->getOperands())) ||
                 failed(expectOneElementType(op, values)));
}

LogicalResult CompareOp::verify() {
  return failure(failed(verifyElementwiseAxes(*this)) || failed(expectNoFp8(*this, getOperands())) ||
                 failed(expectOneElementType(*this, getOperands())));
}

LogicalResult SelectOp::verify() {
  return failure(failed(verifyElementwiseAxes(*this)) ||
                 failed(expectOneElementType(*this, {getYes(), getNo(), getResult()})));
}

LogicalResult CastOp::verify() { return verifyElementwiseAxes(*this); }

LogicalResult StochasticRoundOp::verify() {
  return failure(failed(verifyElementwiseAxes(*this)) || failed(expectNoFp8(*this, getOperands())) ||
                 failed(expectElementType(*this, BFloat16Type::get(getContext()), getType().getElementType())));
}

//===----------------------------------------------------------------------===//
// Sources
//===----------------------------------------------------------------------===//

LogicalResult ConstantOp::verify() {
  return expectElementType(*this, getType().getElementType(), cast<TypedAttr>(getValueAttr()).getType());
}

LogicalResult IndexOp::verify() {
  if (getType().getRank() != 1) return emitOpError("expected one axis, got ") << getType();
  return success();
}

LogicalResult RandomOp::verify() {
  ArrayRef<AxisAttr> axes = getType().getAxes();
  for (Value salt : getSalts())
    for (AxisAttr axis : tensorType(salt).getAxes())
      if (!llvm::is_contained(axes, axis)) return emitOpError("a salt has ") << axis << ", which the result lacks";
  if (std::optional<DictionaryAttr> strides = getStrides()) {
    auto has = [&](AxisAttr axis) { return strides->getAs<IntegerAttr>(axis.getName()) != nullptr; };
    if (strides->size() == axes.size() && llvm::all_of(axes, has) && !getCanonical()) return success();
    return emitOpError("expected `strides` to have a number for each axis of the result, ")
           << getType() << ", and no `canonical`";
  }
  if (!getCanonical()) return success();
  SmallVector<StringRef> canonical = names(*getCanonical());
  auto has = [&](AxisAttr axis) { return llvm::is_contained(canonical, axis.getName()); };
  if (canonical.size() == axes.size() && llvm::all_of(axes, has)) return success();
  return emitOpError("expected `canonical` to list the axes of the result, ") << getType();
}

//===----------------------------------------------------------------------===//
// Contraction, reduction, broadcast
//===----------------------------------------------------------------------===//

/// C7 to C10.
static LogicalResult verifyEpilogue(ContractOp op) {
  std::optional<Epilogue> epilogue = op.getEpilogue();
  if (!epilogue && (op.getAux() || op.getExtra()))
    return op.emitOpError("has `aux` or a second result, and no epilogue");
  if (!epilogue) return success();
  if (op.getInit()) return op.emitOpError("has an epilogue and `init`");
  if (*epilogue == Epilogue::Gelu) {
    if (op.getAux()) return op.emitOpError("reads `aux`, which GELU does not need");
    if (op.getExtra() && op.getExtra().getType() != op.getType())
      return op.emitOpError("expected the sum in the type of the result, ") << op.getType();
    return success();
  }
  if (op.getBias()) return op.emitOpError("has a bias, and GELU's gradient as its epilogue");
  if (!op.getAux() || op.getAux().getType() != op.getType())
    return op.emitOpError("expected `aux` of the result's type, ") << op.getType();
  if (!op.getExtra()) return success();
  for (AxisAttr axis : op.getExtra().getType().getAxes())
    if (!llvm::is_contained(op.getType().getAxes(), axis))
      return op.emitOpError("the bias' gradient has axis `") << axis.getName() << "` that the result lacks";
  return expectElementType(op, op.getType().getElementType(), op.getExtra().getType().getElementType());
}

LogicalResult ContractOp::verify() {
  // C1.
  Type lhs = getLhs().getType().getElementType(), rhs = getRhs().getType().getElementType();
  if (!(isFp8(lhs) && isFp8(rhs)) && failed(expectElementType(*this, lhs, rhs))) return failure();
  if (isFp8(lhs) && !getType().getElementType().isF32())
    return emitOpError("expected a result in f32 of fp8 operands, got ") << getType().getElementType();
  // C2, C3.
  llvm::StringMap<int64_t> sizes;
  if (failed(::unite(*this, sizes, getLhs().getType())) || failed(::unite(*this, sizes, getRhs().getType())))
    return failure();
  for (StringRef name : names(getOver())) {
    if (!getLhs().getType().hasAxis(name) || !getRhs().getType().hasAxis(name))
      return emitOpError("expected axis `") << name << "` in both operands";
    sizes.erase(name);
  }
  // C5, C6.
  if (getInit() && getInit().getType() != getType())
    return emitOpError("expected init of type ") << getType() << ", got " << getInit().getType();
  if (getBias())
    for (AxisAttr axis : getBias().getType().getAxes())
      if (!sizes.count(axis.getName()))
        return emitOpError("bias has axis `") << axis.getName() << "` that the result lacks";
  if (failed(verifyEpilogue(*this))) return failure();
  // C4.
  return expectAxes(*this, sizes, getType());
}

LogicalResult ReduceOp::verify() {
  if (failed(expectNoFp8(*this, getX().getType()))) return failure();
  llvm::StringMap<int64_t> sizes;
  if (failed(::unite(*this, sizes, getX().getType()))) return failure();
  for (StringRef name : names(getOver()))
    if (!sizes.erase(name)) return emitOpError("operand has no axis `") << name << "`";
  bool isPaired = getKind() == ReduceKind::Sum && getOver().size() == 1 &&
                  llvm::isPowerOf2_64(getX().getType().getSize(names(getOver()).front()));
  if ((*this)->hasAttr(attrs::tree) && !isPaired)
    return emitOpError("expected a sum over one axis, of a power of two elements, to be added in a tree");
  if (failed(expectElementType(*this, getX().getType().getElementType(), getType().getElementType()))) return failure();
  return expectAxes(*this, sizes, getType());
}

LogicalResult BroadcastOp::verify() {
  for (AxisAttr axis : getX().getType().getAxes())
    if (getType().findAxis(axis.getName()) < 0 || getType().getSize(axis.getName()) != axis.getSize())
      return emitOpError("result loses axis `") << axis.getName() << ": " << axis.getSize() << "`";
  return expectElementType(*this, getX().getType().getElementType(), getType().getElementType());
}

LogicalResult RenameOp::verify() {
  if (getFrom().size() != getTo().size()) return emitOpError("expected as many new names as old ones");
  llvm::StringMap<StringRef> map;
  for (auto [from, to] : llvm::zip(names(getFrom()), names(getTo()))) map[from] = to;
  llvm::StringMap<int64_t> sizes;
  for (AxisAttr axis : getX().getType().getAxes()) {
    auto it = map.find(axis.getName());
    if (!sizes.try_emplace(it == map.end() ? axis.getName() : it->second, axis.getSize()).second)
      return emitOpError("two axes would be called `") << (it == map.end() ? axis.getName() : it->second) << "`";
    if (it != map.end()) map.erase(it);
  }
  if (!map.empty()) return emitOpError("operand has no axis `") << map.begin()->first() << "`";
  if (failed(expectElementType(*this, getX().getType().getElementType(), getType().getElementType()))) return failure();
  return expectAxes(*this, sizes, getType());
}

LogicalResult ReorderOp::verify() {
  llvm::StringMap<int64_t> sizes;
  if (failed(::unite(*this, sizes, getX().getType())) || failed(expectAxes(*this, sizes, getType()))) return failure();
  return expectElementType(*this, getX().getType().getElementType(), getType().getElementType());
}

/// Replaces axes `many` of `split` by one axis `one` and checks the result against `merged`.
static LogicalResult verifyMerge(Operation *op, NamedTensorType split, ArrayRef<StringRef> many, StringRef one,
                                 NamedTensorType merged) {
  llvm::StringMap<int64_t> sizes;
  if (failed(unite(op, sizes, split))) return failure();
  int64_t product = 1;
  for (StringRef name : many) {
    auto it = sizes.find(name);
    if (it == sizes.end()) return op->emitOpError("no axis `") << name << "`";
    if (llvm::MulOverflow(product, it->second, product)) return op->emitOpError("the product of the sizes overflows");
    sizes.erase(it);
  }
  if (!sizes.try_emplace(one, product).second) return op->emitOpError("two axes would be called `") << one << "`";
  if (failed(expectElementType(op, tensorType(op->getOperand(0)).getElementType(),
                               tensorType(op->getResult(0)).getElementType())))
    return failure();
  return expectAxes(op, sizes, merged);
}

LogicalResult SplitOp::verify() { return verifyMerge(*this, getType(), names(getInto()), getAxis(), getX().getType()); }
LogicalResult MergeOp::verify() { return verifyMerge(*this, getX().getType(), names(getAxes()), getInto(), getType()); }

/// `small` is a range of `large` along `name`, from `offset`; their other axes are equal.
static LogicalResult verifyWithin(Operation *op, NamedTensorType small, NamedTensorType large, StringRef name,
                                  int64_t offset) {
  if (!small.hasAxis(name) || !large.hasAxis(name)) return op->emitOpError("no axis `") << name << "`";
  int64_t end;
  if (llvm::AddOverflow(offset, small.getSize(name), end)) end = INT64_MAX;
  if (offset < 0 || end > large.getSize(name))
    return op->emitOpError("positions ") << offset << " to " << end << " leave axis `" << name << "` of size "
                                         << large.getSize(name);
  if (failed(expectElementType(op, tensorType(op->getOperand(0)).getElementType(),
                               tensorType(op->getResult(0)).getElementType())))
    return failure();
  llvm::StringMap<int64_t> sizes;
  if (failed(unite(op, sizes, large))) return failure();
  sizes[name] = small.getSize(name);
  return expectAxes(op, sizes, small);
}

LogicalResult SliceOp::verify() { return verifyWithin(*this, getType(), getX().getType(), getAxis(), getOffset()); }
int64_t JoinOp::getStart(unsigned part) {
  int64_t start = 0;
  for (Value before : getParts().take_front(part)) start += tensorType(before).getSize(getAxis());
  return start;
}

LogicalResult JoinOp::verify() {
  if (getParts().empty()) return emitOpError("expected an operand");
  NamedTensorType whole = getType();
  int64_t size = 0;
  for (Value value : getParts()) {
    NamedTensorType part = tensorType(value);
    if (failed(verifyWithin(*this, part, whole, getAxis(), size))) return failure();
    if (failed(expectElementType(*this, part.getElementType(), whole.getElementType()))) return failure();
    size += part.getSize(getAxis());
  }
  if (size == whole.getSize(getAxis())) return success();
  return emitOpError("expected a result of size ")
         << size << " along `" << getAxis() << "`, got " << whole.getSize(getAxis());
}

LogicalResult PadOp::verify() { return verifyWithin(*this, getX().getType(), getType(), getAxis(), getOffset()); }

LogicalResult GatherOp::verify() {
  if (getAxes().size() != getIndices().size()) return emitOpError("expected one index for each axis read at positions");
  llvm::StringMap<int64_t> sizes;
  if (failed(::unite(*this, sizes, getX().getType()))) return failure();
  for (StringRef name : names(getAxes()))
    if (!sizes.erase(name)) return emitOpError("operand has no axis `") << name << "`";
  for (Value index : getIndices())
    if (failed(::unite(*this, sizes, tensorType(index)))) return failure();
  if (failed(expectElementType(*this, getX().getType().getElementType(), getType().getElementType()))) return failure();
  return expectAxes(*this, sizes, getType());
}

LogicalResult ScatterAddOp::verify() {
  if (failed(expectNoFp8(*this, getType()))) return failure();
  if (getAxes().size() != getIndices().size())
    return emitOpError("expected one index for each axis written at positions");
  llvm::StringMap<int64_t> sizes;
  NamedTensorType updates = getUpdates().getType();
  if (failed(::unite(*this, sizes, getType()))) return failure();
  for (StringRef name : names(getAxes()))
    if (!sizes.erase(name)) return emitOpError("result has no axis `") << name << "`";
  for (Value index : getIndices())
    if (failed(::unite(*this, sizes, tensorType(index)))) return failure();
  if (getInit() && getInit().getType() != getType()) return emitOpError("expected init of the result's type");
  if (failed(expectElementType(*this, updates.getElementType(), getType().getElementType()))) return failure();
  return expectAxes(*this, sizes, updates);
}

LogicalResult StartOp::verify() {
  NamedTensorType sent = getX().getType(), received = getType();
  auto addsAxis = [&](NamedTensorType with, NamedTensorType without) {
    return !without.hasAxis(getAlong()) && with.hasAxis(getAlong()) && with.withoutAxis(getAlong()) == without;
  };
  auto expect = [&](bool holds, StringRef what) -> LogicalResult {
    if (holds) return success();
    return emitOpError("expected ") << what << " the axis `" << getAlong() << "`, got " << sent << " and " << received;
  };
  switch (getKind()) {
  case ExchangeKind::AllGather:
    return expect(addsAxis(received, sent), "the operand with");
  case ExchangeKind::AllToAll:
    return expect(sent == received && sent.hasAxis(getAlong()), "operand and result with");
  case ExchangeKind::ReduceScatter:
    break;
  }
  if (!received.getElementType().isF32() && !received.getElementType().isF64())
    return emitOpError("the library adds f32 and f64 only, got ") << received;
  return expect(addsAxis(sent, received), "the operand without");
}

LogicalResult WaitOp::verify() {
  auto start = getStarted().getDefiningOp<StartOp>();
  if (start && start->getBlock() == (*this)->getBlock() && start.getX() == getSent()) return success();
  return emitOpError("expected the result and the operand of a tsr.start of the same block");
}

LogicalResult SoftmaxOp::verify() {
  if (failed(expectNoFp8(*this, getX().getType()))) return failure();
  if (!getX().getType().hasAxis(getAxis())) return emitOpError("operand has no axis `") << getAxis() << "`";
  return success();
}

LogicalResult LayerNormOp::verify() {
  if (failed(expectNoFp8(*this, getX().getType()))) return failure();
  llvm::StringMap<int64_t> sizes;
  if (failed(::unite(*this, sizes, getX().getType()))) return failure();
  for (StringRef name : names(getOver()))
    if (!sizes.erase(name)) return emitOpError("operand has no axis `") << name << "`";
  return expectAxes(*this, sizes, getRstd().getType());
}

LogicalResult CrossEntropyOp::verify() {
  llvm::StringMap<int64_t> sizes;
  if (failed(::unite(*this, sizes, getLogits().getType()))) return failure();
  if (!sizes.erase(getAxis())) return emitOpError("logits have no axis `") << getAxis() << "`";
  if (getShift().getType() != getLoss().getType() || getInverseSum().getType() != getLoss().getType())
    return emitOpError("loss, shift and inverse sum differ in type");
  if (failed(::unite(*this, sizes, getLabel().getType()))) return failure();
  return expectAxes(*this, sizes, getLoss().getType());
}

LogicalResult AttentionOp::verify() {
  Block &block = getScore().front();
  if (block.getNumArguments() != 1 + getCaptures().size())
    return emitOpError("expected the score and the captures as region arguments");
  if (TypeRange(ValueRange(block.getArguments().drop_front())) != TypeRange(getCaptures()))
    return emitOpError("expected the types of the captures for the region's arguments");
  auto score = dyn_cast<NamedTensorType>(block.getArgument(0).getType());
  if (!score || !score.hasAxis(getKey())) return emitOpError("expected scores with axis `") << getKey() << "`";
  if (getShift().getType() != getInverseSum().getType()) return emitOpError("shift and inverse sum differ in type");
  return success();
}

LogicalResult AttentionOp::verifyRegions() {
  Block &block = getScore().front();
  Type score = block.getArgument(0).getType();
  auto yieldsScore = [&](Block &block) {
    auto yield = dyn_cast<YieldOp>(block.getTerminator());
    return yield && yield.getValues().size() == 1 && yield.getValues()[0].getType() == score;
  };
  if (!yieldsScore(block)) return emitOpError("expected the region to yield scores of type ") << score;
  if (getWeight().empty()) return success();
  Block &weight = getWeight().front();
  if (weight.getArgumentTypes() != block.getArgumentTypes())
    return emitOpError("expected the probabilities and the captures as arguments of the second region");
  if (!yieldsScore(weight)) return emitOpError("expected the second region to yield weights of type ") << score;
  return success();
}

LogicalResult GradientOp::verify() {
  if (getWrt().getTypes() != getGradients().getTypes())
    return emitOpError("expected a gradient of the type of each value");
  return success();
}
