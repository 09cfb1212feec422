//===- RaiseAttention.cpp - contract, elementwise chain, softmax, contract ===//
//
//   %s = tsr.contract %q, %k over ["hd"]
//   … elementwise ops on %s: scaling, masks, biases …                  becomes the score region
//   %p = tsr.softmax %S over "key"
//   … multiples of %p: dropout …                                       becomes the weight region
//   %o = tsr.contract %p, %v over ["key"]
//
// becomes `%o, %shift, %inverse = tsr.attention %q, %k, %v hidden ["hd"] key "key" { … }`.
//
//   1. Start from a contraction over one axis with a softmax over that axis.
//   2. Walk up to the softmax through ops that scale the probabilities, and from the softmax through elementwise ops to
//      the contraction that makes the scores.
//   3. Ops that depend on the scores, or on the probabilities, move into a region. Of the rest, positions, constants,
//      draws and what follows from them are cloned into it; everything else is captured.
//
// If the ops nearly match, a remark says what prevents it.
//
//===----------------------------------------------------------------------===//

#include "ir/program/Program.h"
#include "mlir/IR/IRMapping.h"
#include "passes/simplify/Match.h"
#include "llvm/ADT/SetVector.h"

using namespace mlir;
using namespace tessera;

namespace {
/// One contraction of probabilities with values.
class AttentionCandidate {
public:
  AttentionCandidate(ContractOp output, Value weights, Value v)
      : output(output), weights(weights), v(v), key(names(output.getOver())[0]) {}

  /// Replaces the ops if they form attention; else says why not where they nearly do.
  void raise();

private:
  bool findSoftmax();
  bool findScores();
  bool isPrivate();
  void fillRegions(AttentionOp attention);
  void remark(StringRef reason) { output.emitRemark("not raised to attention: ") << reason; }

  ContractOp output;
  Value weights, v;
  StringRef key;
  SoftmaxOp softmax;
  ContractOp scores;
  /// Elementwise ops from the scores to the softmax, and from the softmax to the weights, in program order.
  llvm::SetVector<Operation *> chain, scaling;
};
} // namespace

/// Ops between the softmax and the contraction with the values.
static constexpr int deepestChain = 8;

static bool isElementwise(Operation *op) { return isa_and_nonnull<ElementwiseOpInterface, BroadcastOp>(op); }

/// Whether the value comes from a softmax over the axis through elementwise ops.
static bool comesFromSoftmax(Value value, StringRef axis, int depth) {
  Operation *op = value.getDefiningOp();
  if (auto softmax = dyn_cast_or_null<SoftmaxOp>(op)) return softmax.getAxis() == axis;
  if (!isElementwise(op) || depth == 0) return false;
  return llvm::any_of(op->getOperands(), [&](Value operand) { return comesFromSoftmax(operand, axis, depth - 1); });
}

/// Whether the op is the contraction that makes scores of this type: one side has the keys, the other has not.
static bool makesScores(Operation *op, Type type, StringRef key) {
  auto contract = dyn_cast_or_null<ContractOp>(op);
  return contract && contract.getType() == type &&
         contract.getLhs().getType().hasAxis(key) != contract.getRhs().getType().hasAxis(key);
}

/// The operand of which the result is an elementwise multiple, with factors from the other operands; null if there is
/// none.
static OpOperand *scaledOperand(Operation *op, StringRef key) {
  OpOperand *scaled = nullptr;
  for (OpOperand &operand : op->getOpOperands()) {
    if (!comesFromSoftmax(operand.get(), key, deepestChain)) continue;
    if (scaled) return nullptr;
    scaled = &operand;
  }
  if (!scaled || isa<MulOp, NegOp>(op)) return scaled;
  if (isa<DivOp>(op)) return scaled->getOperandNumber() == 0 ? scaled : nullptr;
  if (!isa<SelectOp>(op) || scaled->getOperandNumber() == 0) return nullptr;
  auto other = op->getOperand(3 - scaled->getOperandNumber()).getDefiningOp<ConstantOp>();
  return other && other.getNumber() == 0 ? scaled : nullptr;
}

/// 2. Fills `softmax` and `scaling`.
bool AttentionCandidate::findSoftmax() {
  SmallVector<Operation *> upwards;
  Value value = weights;
  while (Operation *op = value.getDefiningOp()) {
    if ((softmax = dyn_cast<SoftmaxOp>(op))) break;
    OpOperand *scaled = scaledOperand(op, key);
    if (!scaled || scaled->get().getType() != value.getType()) return false;
    upwards.push_back(op);
    value = scaled->get();
  }
  scaling.insert(upwards.rbegin(), upwards.rend());
  return softmax && softmax.getAxis() == key;
}

/// 2. Fills `scores` and `chain`. Several contractions may feed the scores: the one found first makes them, the others
/// are captured.
bool AttentionCandidate::findScores() {
  Type type = softmax.getX().getType();
  llvm::SetVector<Operation *> seen;
  SmallVector<Value> work{softmax.getX()};
  while (!work.empty() && seen.size() < 256) {
    Operation *op = work.pop_back_val().getDefiningOp();
    if (!scores && makesScores(op, type, key)) scores = cast<ContractOp>(op);
    if (isElementwise(op) && seen.insert(op)) llvm::append_range(work, llvm::reverse(op->getOperands()));
  }
  if (!scores) return false;
  // The visited ops that depend on the scores.
  SmallVector<Operation *> ordered(seen.begin(), seen.end());
  llvm::sort(ordered, [](Operation *a, Operation *b) { return a->isBeforeInBlock(b); });
  for (Operation *op : ordered)
    if (llvm::any_of(op->getOperands(), [&](Value operand) {
          return operand == scores.getResult() || chain.contains(operand.getDefiningOp());
        }))
      chain.insert(op);
  return true;
}

/// Whether nothing outside needs the scores, the probabilities or the weights; the values are outside.
bool AttentionCandidate::isPrivate() {
  if (v == softmax.getResult() || scaling.contains(v.getDefiningOp())) return false;
  auto isInside = [&](Operation *user) { return chain.contains(user) || user == softmax; };
  auto isScaling = [&](Operation *user) { return scaling.contains(user) || user == output; };
  return llvm::all_of(scores->getUsers(), isInside) &&
         llvm::all_of(chain, [&](Operation *op) { return llvm::all_of(op->getUsers(), isInside); }) &&
         llvm::all_of(softmax->getUsers(), isScaling) &&
         llvm::all_of(scaling, [&](Operation *op) { return op->hasOneUse() && isScaling(*op->user_begin()); });
}

namespace {
/// Moves ops into the regions of an attention. What is captured is an argument of both.
class RegionFiller {
public:
  explicit RegionFiller(AttentionOp attention) : attention(attention) {}

  void fill(Region &region, Value from, const llvm::SetVector<Operation *> &ops, Value result) {
    OpBuilder b(attention.getContext());
    Block *block = b.createBlock(&region);
    IRMapping map;
    map.map(from, block->addArgument(from.getType(), from.getLoc()));
    for (Value capture : attention.getCaptures()) map.map(capture, addArgument(*block, capture));
    for (Operation *op : ops) {
      for (Value operand : op->getOperands()) import(b, map, *block, operand);
      b.clone(*op, map);
    }
    YieldOp::create(b, attention.getLoc(), map.lookup(result));
  }

private:
  /// Whether the value depends on sources alone.
  bool isSource(Value value) {
    Operation *op = value.getDefiningOp();
    if (op && op->hasTrait<traits::IsSource>()) return true;
    if (!isElementwise(op)) return false;
    if (auto known = sources.find(op); known != sources.end()) return known->second;
    bool result = llvm::all_of(op->getOperands(), [&](Value operand) { return isSource(operand); });
    return sources[op] = result;
  }

  static Value addArgument(Block &block, Value value) { return block.addArgument(value.getType(), value.getLoc()); }

  void import(OpBuilder &b, IRMapping &map, Block &block, Value value) {
    if (map.contains(value)) return;
    if (isSource(value)) {
      for (Value operand : value.getDefiningOp()->getOperands()) import(b, map, block, operand);
      b.clone(*value.getDefiningOp(), map);
      return;
    }
    attention.getCapturesMutable().append(value);
    for (Region *region : {&attention.getScore(), &attention.getWeight()})
      if (!region->empty()) {
        Value argument = addArgument(region->front(), value);
        if (&region->front() == &block) map.map(value, argument);
      }
  }

  AttentionOp attention;
  DenseMap<Operation *, bool> sources; ///< what isSource has found
};
} // namespace

/// 3.
void AttentionCandidate::fillRegions(AttentionOp attention) {
  RegionFiller filler(attention);
  filler.fill(attention.getScore(), scores.getResult(), chain, softmax.getX());
  if (!scaling.empty()) filler.fill(attention.getWeight(), softmax.getResult(), scaling, weights);
}

void AttentionCandidate::raise() {
  if (!findSoftmax())
    return remark("an op other than a scaling is between the softmax and the contraction with the values");
  if (!findScores())
    return remark("expected scores from a contraction through elementwise ops that preserve their axes");
  if (staysInF32(scores) != staysInF32(output))
    return remark("only one of the contractions for scores and values is exempt from reduced precision");
  if (!isPrivate()) return remark("scores or probabilities are used elsewhere");
  bool isLeftKey = scores.getLhs().getType().hasAxis(key);
  Value k = isLeftKey ? scores.getLhs() : scores.getRhs(), q = isLeftKey ? scores.getRhs() : scores.getLhs();

  GraphBuilder b(output);
  NamedTensorType rows = scores.getType().withAxes(b.without(scores.getType(), key));
  auto attention = AttentionOp::create(b, output.getLoc(), output.getType(), rows, rows, q, k, v, ValueRange(),
                                       scores.getOver(), key);
  attention->setDiscardableAttrs(output->getDiscardableAttrDictionary());
  fillRegions(attention);
  output.getResult().replaceAllUsesWith(attention.getResult());
  output.erase();
  for (Operation *op : llvm::reverse(scaling)) op->erase();
  softmax.erase();
  for (Operation *op : llvm::reverse(chain)) op->erase();
  scores.erase();
}

void tessera::raiseAttention(ModuleOp module) {
  // 1. A contraction that another candidate erases is never one itself: it makes scores, which have the keys.
  SmallVector<ContractOp> outputs;
  module.walk([&](ContractOp op) {
    StringRef key = names(op.getOver()).size() == 1 ? names(op.getOver())[0] : StringRef();
    if (!key.empty() &&
        (comesFromSoftmax(op.getLhs(), key, deepestChain) || comesFromSoftmax(op.getRhs(), key, deepestChain)))
      outputs.push_back(op);
  });
  for (ContractOp output : outputs) {
    StringRef key = names(output.getOver())[0];
    bool isLeft = comesFromSoftmax(output.getLhs(), key, deepestChain);
    AttentionCandidate(output, isLeft ? output.getLhs() : output.getRhs(), isLeft ? output.getRhs() : output.getLhs())
        .raise();
  }
}
