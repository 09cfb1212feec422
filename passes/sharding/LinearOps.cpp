//===- LinearOps.cpp - ops that commute with a sum ------------------------===//

#include "passes/sharding/LinearOps.h"
#include "ir/dialect/Attributes.h"
#include "llvm/ADT/TypeSwitch.h"

using namespace mlir;
using namespace tessera;

bool tessera::isKnownZero(Value value) {
  if (auto argument = dyn_cast<BlockArgument>(value)) {
    auto repeat = dyn_cast<RepeatOp>(argument.getOwner()->getParentOp());
    unsigned number = argument.getArgNumber();
    return repeat && number > repeat.getCarried().size() && isKnownZero(repeat->getOperand(number - 1));
  }
  Operation *op = value.getDefiningOp();
  if (auto constant = dyn_cast<ConstantOp>(op)) return constant.getNumber() == 0;
  if (auto select = dyn_cast<SelectOp>(op)) return isKnownZero(select.getYes()) && isKnownZero(select.getNo());
  return (isa<PadOp, SliceOp, CastOp>(op) || op->hasTrait<traits::IsReshape>()) && isKnownZero(op->getOperand(0));
}

SmallVector<Value, 2> tessera::summedOperands(Operation *op) {
  using Operands = SmallVector<Value, 2>;
  auto isFloat = [](Value value) { return isa<FloatType>(tensorType(value).getElementType()); };
  return llvm::TypeSwitch<Operation *, Operands>(op)
      .Case([&](ReduceOp reduce) {
        bool isSum = reduce.getKind() == ReduceKind::Sum && isFloat(reduce.getX()) && !reduce->hasAttr(attrs::tree);
        return isSum ? Operands{reduce.getX()} : Operands();
      })
      .Case([](AddOp add) {
        bool isEqual = add.getLhs().getType() == add.getRhs().getType();
        return isEqual ? Operands{add.getLhs(), add.getRhs()} : Operands();
      })
      .Case([](MulOp mul) {
        bool isScaled = mul.getRhs().getDefiningOp<ConstantOp>() && mul.getLhs().getType() == mul.getType();
        return isScaled ? Operands{mul.getLhs()} : Operands();
      })
      .Case([&](CastOp cast) {
        bool keeps = isFloat(cast.getX()) && isFloat(cast.getResult()) &&
                     tensorType(cast.getResult()).getElementType().getIntOrFloatBitWidth() >= 16;
        return keeps ? Operands{cast.getX()} : Operands();
      })
      .Case([](SelectOp select) { // zeros behind the end of an axis
        bool keeps = select.getYes().getType() == select.getType() && isKnownZero(select.getNo());
        return keeps ? Operands{select.getYes()} : Operands();
      })
      .Case<RenameOp, SplitOp, MergeOp, PadOp, SliceOp>([](auto reshape) { return Operands{reshape.getX()}; })
      .Default([](Operation *) { return Operands(); });
}
