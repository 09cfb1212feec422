//===- RaiseAttention.cpp - contract, elementwise chain, softmax, contract ===//
//
//   %s = tsr.contract %q, %k over ["hd"]
//   … elementwise ops on %s: scaling, masks, biases …                  becomes the score region
//   %p = tsr.softmax %S over "key"
//   %o = tsr.contract %p, %v over ["key"]
//
// becomes `%o, %lse = tsr.attention %q, %k, %v hidden ["hd"] key "key" { … }`.
//
//   1. Start from a contraction over one axis with a softmax over that axis.
//   2. Walk up from the softmax through elementwise ops to the contraction that makes the scores.
//   3. Ops that depend on the scores move into the region. Of the rest, positions, constants and what follows from them
//      are cloned into it; everything else is captured.
//
// Where a user would expect attention but something stands in the way, a remark says what.
//
//===----------------------------------------------------------------------===//

#include "mlir/IR/IRMapping.h"
#include "passes/simplify/Match.h"
#include "llvm/ADT/SetVector.h"

using namespace mlir;
using namespace tessera;

namespace {
/// One contraction of probabilities with values.
class Candidate {
public:
  Candidate(ContractOp output, Value p, Value v) : output(output), p(p), v(v), key(names(output.getOver())[0]) {}

  /// Replaces the ops if they form attention; else says why not where they nearly do.
  void raise();

private:
  bool findScores();
  bool isPrivate();
  void fillRegion(AttentionOp attention);
  bool isSource(Value value);
  void remark(StringRef reason) { output.emitRemark("not raised to attention: ") << reason; }

  ContractOp output;
  Value p, v;
  StringRef key;
  SoftmaxOp softmax;
  ContractOp scores;
  llvm::SetVector<Operation *>
      chain; ///< elementwise ops from the scores to the softmax, in program order after `findScores`
};
} // namespace

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

/// 2. Fills `scores` and `chain`. Several contractions may feed the scores: the one found first makes them, the others
/// are captured.
bool Candidate::findScores() {
  Type type = softmax.getX().getType();
  llvm::SetVector<Operation *> seen;
  SmallVector<Value> work{softmax.getX()};
  while (!work.empty() && seen.size() < 256) {
    Operation *op = work.pop_back_val().getDefiningOp();
    if (!scores && makesScores(op, type, key)) scores = cast<ContractOp>(op);
    if (isElementwise(op) && seen.insert(op)) llvm::append_range(work, llvm::reverse(op->getOperands()));
  }
  if (!scores) return false;
  // Of what was seen, that which depends on the scores.
  SmallVector<Operation *> ordered(seen.begin(), seen.end());
  llvm::sort(ordered, [](Operation *a, Operation *b) { return a->isBeforeInBlock(b); });
  for (Operation *op : ordered)
    if (llvm::any_of(op->getOperands(), [&](Value operand) {
          return operand == scores.getResult() || chain.contains(operand.getDefiningOp());
        }))
      chain.insert(op);
  return true;
}

/// Whether nothing outside needs the scores or the probabilities.
bool Candidate::isPrivate() {
  auto isInside = [&](Operation *user) { return chain.contains(user) || user == softmax; };
  return p.hasOneUse() && llvm::all_of(scores->getUsers(), isInside) &&
         llvm::all_of(chain, [&](Operation *op) { return llvm::all_of(op->getUsers(), isInside); });
}

/// Whether the value follows from positions and constants.
bool Candidate::isSource(Value value) {
  Operation *op = value.getDefiningOp();
  if (isa_and_nonnull<ConstantOp, IndexOp>(op)) return true;
  return isElementwise(op) && llvm::all_of(op->getOperands(), [&](Value operand) { return isSource(operand); });
}

/// 3.
void Candidate::fillRegion(AttentionOp attention) {
  OpBuilder b(attention.getContext());
  Block *block = b.createBlock(&attention.getScore());
  IRMapping map;
  map.map(scores.getResult(), block->addArgument(scores.getType(), scores.getLoc()));
  auto import = [&](auto &self, Value value) -> void {
    if (map.contains(value)) return;
    if (!isSource(value)) {
      attention.getCapturesMutable().append(value);
      map.map(value, block->addArgument(value.getType(), value.getLoc()));
      return;
    }
    for (Value operand : value.getDefiningOp()->getOperands()) self(self, operand);
    b.clone(*value.getDefiningOp(), map);
  };
  for (Operation *op : chain) {
    for (Value operand : op->getOperands()) import(import, operand);
    b.clone(*op, map);
  }
  YieldOp::create(b, attention.getLoc(), map.lookup(softmax.getX()));
}

void Candidate::raise() {
  softmax = p.getDefiningOp<SoftmaxOp>();
  if (!softmax || softmax.getAxis() != key) {
    if (comesFromSoftmax(p, key, 8)) remark("an op stands between softmax and the contraction with the values");
    return;
  }
  if (!findScores())
    return remark("the scores do not come from a contraction through elementwise ops that keep their axes");
  if (!isPrivate()) return remark("scores or probabilities are used elsewhere");
  bool isLeftKey = scores.getLhs().getType().hasAxis(key);
  Value k = isLeftKey ? scores.getLhs() : scores.getRhs(), q = isLeftKey ? scores.getRhs() : scores.getLhs();

  GraphBuilder b(output);
  NamedTensorType rows = scores.getType().withAxes(b.without(scores.getType(), key));
  auto attention =
      AttentionOp::create(b, output.getLoc(), output.getType(), rows, q, k, v, ValueRange(), scores.getOver(), key);
  attention->setDiscardableAttrs(output->getDiscardableAttrDictionary());
  fillRegion(attention);
  output.replaceAllUsesWith(attention.getResult());
  output.erase();
  softmax.erase();
  for (Operation *op : llvm::reverse(chain)) op->erase();
  scores.erase();
}

void tessera::raiseAttention(ModuleOp module) {
  // 1. A contraction that another candidate erases is never one itself: it makes scores, which have the keys.
  SmallVector<ContractOp> outputs;
  module.walk([&](ContractOp op) {
    StringRef key = names(op.getOver()).size() == 1 ? names(op.getOver())[0] : StringRef();
    if (!key.empty() && (comesFromSoftmax(op.getLhs(), key, 8) || comesFromSoftmax(op.getRhs(), key, 8)))
      outputs.push_back(op);
  });
  for (ContractOp output : outputs) {
    StringRef key = names(output.getOver())[0];
    bool isLeft = comesFromSoftmax(output.getLhs(), key, 8);
    Candidate(output, isLeft ? output.getLhs() : output.getRhs(), isLeft ? output.getRhs() : output.getLhs()).raise();
  }
}
