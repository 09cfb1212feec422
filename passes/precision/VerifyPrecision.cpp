//===- VerifyPrecision.cpp - what holds after the phase `precision` ----------===//

#include "passes/precision/VerifyPrecision.h"
#include "ir/program/Program.h"
#include "passes/precision/Fp8Plan.h"
#include "passes/precision/Policy.h"

using namespace mlir;
using namespace tessera;

static Type elementOf(Value value) { return tensorType(value).getElementType(); }

namespace {
/// The contractions of the step that have fp8 operands.
struct Fp8Products {
  llvm::DenseSet<Operation *> contracts;
  bool isComplete = true; ///< without updates it is unknown which contractions compute gradients of matrices

  explicit Fp8Products(func::FuncOp step) {
    for (const Fp8Product &product : planFp8(step)) contracts.insert(product.contract);
    isComplete = !step.getOps<UpdateOp>().empty();
  }
  Fp8Products() = default;
};
} // namespace

static LogicalResult checkProduct(Operation *op, Type reduced, const Fp8Products &fp8) {
  bool isPlanned = fp8.contracts.contains(op);
  for (unsigned i = 0; i < numFactors(op); ++i) {
    Type element = elementOf(op->getOperand(i));
    if (isFp8(element) && !isPlanned && fp8.isComplete)
      return op->emitOpError("expected ") << reduced << " operands, got " << element;
    if (isFp8(element)) continue;
    if (isPlanned) return op->emitOpError("expected fp8 operands, got ") << element;
    bool isReduced = element == reduced;
    if (reduced && !staysInF32(op) && !isReduced)
      return op->emitOpError("expected ") << reduced << " operands, got " << element;
    if (isReduced && staysInF32(op)) return op->emitOpError("expected f32 operands by tsr.precision, got ") << reduced;
  }
  return success();
}

LogicalResult tessera::verifyPrecision(ModuleOp module) {
  ComputeSettings settings = ComputeSettings::of(module);
  Type reduced = settings.reducedType;
  auto step = module.lookupSymbol<func::FuncOp>("step");
  Fp8Products fp8 = step && settings.fp8 ? Fp8Products(step) : Fp8Products();
  auto isNarrow = [](Type element) { return isa<FloatType>(element) && element.getIntOrFloatBitWidth() < 32; };
  WalkResult result = module.walk([&](Operation *op) {
    if (isa<StochasticRoundOp>(op)) return WalkResult::advance(); // rounds f32 to bf16, by definition
    auto state = dyn_cast<StateOp>(op);
    bool mayBeReduced = state && settings.reducesWeights && state.getKind() == "weight";
    if (state && !mayBeReduced && isNarrow(state.getTensorType().getElementType()))
      return op->emitOpError("expected state in f32, got ") << state.getTensorType().getElementType(),
             WalkResult::interrupt();
    if (!isa<TsrDialect>(op->getDialect()) || isa<YieldOp>(op)) return WalkResult::advance();
    switch (arithmeticOf(op)) {
    case Arithmetic::Reduced:
      return failed(checkProduct(op, reduced, fp8)) ? WalkResult::interrupt() : WalkResult::advance();
    case Arithmetic::None:
      for (Value value : op->getResults())
        if (Type element = elementOf(value);
            isNarrow(element) && element != reduced && !(isFp8(element) && settings.fp8))
          return op->emitOpError("unexpected element type ") << element, WalkResult::interrupt();
      return WalkResult::advance();
    case Arithmetic::Full:
      for (ValueRange values : {ValueRange(op->getOperands()), ValueRange(op->getResults())})
        for (Value value : values)
          if (isNarrow(elementOf(value)))
            return op->emitOpError("expected f32 arithmetic, got ") << elementOf(value), WalkResult::interrupt();
      return WalkResult::advance();
    }
    llvm_unreachable("all kinds are handled");
  });
  return failure(result.wasInterrupted());
}
