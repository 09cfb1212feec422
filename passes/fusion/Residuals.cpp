//===- Residuals.cpp - contractions that add to the residual stream -------===//
//
//   before   %p = tsr.contract %a, %b bias %c                 in bf16
//            %r = (%x + %p, in f32) rounded to bf16
//   after    %r = tsr.contract %a, %b init %x bias %c
//
// A kernel reads %x and %p and writes %r; the contraction reads %x and writes %r, where it would write %p. So one
// tensor less is written and read if %r is stored, and %x and %r share a buffer. The product is not rounded before it
// is added.
//
//===----------------------------------------------------------------------===//

#include "ir/program/Program.h"
#include "ir/program/Target.h"
#include "passes/analysis/Views.h"
#include "passes/fusion/Groups.h"
#include "passes/fusion/Prepare.h"
#include "passes/gemm/Gemm.h"

using namespace mlir;
using namespace tessera;

/// What a widening cast, or no op, makes the operand of an addition from.
static Value beforeWidening(Value operand) {
  auto cast = operand.getDefiningOp<CastOp>();
  return cast && isWidening(cast) ? cast.getX() : operand;
}

/// The sum as it is stored: rounded to `type`, if that is its only use, or itself.
static Value storedSum(AddOp add, NamedTensorType type) {
  if (add.getType() == type) return add.getResult();
  auto cast = add.getResult().hasOneUse() ? dyn_cast<CastOp>(*add.getResult().getUsers().begin()) : CastOp();
  return cast && cast.getType() == type ? cast.getResult() : Value();
}

/// Whether all ops that read `x`, also by way of ops that each kernel recomputes, precede the addition in its block.
/// `x` has no views: the contraction might read one, as in x + rename(x) · w.
static bool isReadBefore(Value x, AddOp add) {
  return llvm::all_of(x.getUsers(), [&](Operation *user) {
    if (user == add) return true;
    if (user->getBlock() != add->getBlock() || isStorageView(user)) return false;
    return user->isBeforeInBlock(add) && (!isRecomputed(user) || isReadBefore(user->getResult(0), add));
  });
}

/// Whether the sum may take the storage of `x`: a value that the repeat carries, or that an op of the block stores.
static bool mayTakeStorageOf(Value x, AddOp add) {
  if (!isReadBefore(x, add)) return false;
  if (Operation *producer = x.getDefiningOp())
    return producer->getBlock() == add->getBlock() && !isStorageView(producer) && !isRecomputed(producer) &&
           (isa<ContractOp>(producer) || producer->hasTrait<traits::MayBeInKernel>());
  auto repeat = dyn_cast<RepeatOp>(x.getParentBlock()->getParentOp());
  return repeat && llvm::is_contained(repeat.getCarriedArgs(), x);
}

static bool absorb(AddOp add) {
  for (unsigned side : {1u, 0u}) {
    Value product = beforeWidening(add->getOperand(side)), x = beforeWidening(add->getOperand(1 - side));
    auto contract = product.getDefiningOp<ContractOp>();
    if (!contract || !product.hasOneUse() || !add->getOperand(side).hasOneUse()) continue;
    if (contract.getInit() || contract.getEpilogue() || staysInF32(contract) || staysInF32(add)) continue;
    if (x.getType() != contract.getType() || !describeGemm(contract)) continue;
    Value sum = storedSum(add, contract.getType());
    if (!sum || !mayTakeStorageOf(x, add)) continue;
    SmallVector<Value> widened(add->getOperands());
    contract->moveBefore(add); // `x` may be defined after it
    contract.getInitMutable().assign(x);
    sum.replaceAllUsesWith(contract.getResult());
    if (sum != add.getResult()) sum.getDefiningOp()->erase();
    add.erase();
    for (Value operand : widened) // the cast of the product is before the contraction now
      if (auto cast = operand.getDefiningOp<CastOp>(); cast && cast->use_empty()) cast.erase();
    return true;
  }
  return false;
}

void tessera::absorbResiduals(ModuleOp module) {
  // Not in an audit: `shadow` computes op by op, and its calls are paired with those of `step`.
  if (!Target::of(module).addsToResiduals || hasShadow(module)) return;
  SmallVector<AddOp> additions;
  module.walk([&](AddOp add) { additions.push_back(add); });
  for (AddOp add : additions) absorb(add);
}
