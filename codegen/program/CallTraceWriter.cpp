//===- CallTraceWriter.cpp - the values that calls write, for the manifest ===//

#include "codegen/program/CallTraceWriter.h"
#include "ir/program/Program.h"
#include "passes/launch/Launches.h"
#include "llvm/Support/raw_ostream.h"
#include <cmath>

using namespace mlir;
using namespace tessera;

namespace {
/// Finds values that may be infinite without being wrong: those computed from an infinite constant (a mask) by ops that
/// propagate infinity. Exponentials and comparisons do not.
class InfinityAnalysis {
public:
  bool mayBeInfinite(Value value) {
    auto [it, isNew] =
        known.try_emplace(value, false); // a carried value that depends on itself: like its initial value
    if (!isNew) return it->second;
    bool result = find(value);
    return known[value] = result;
  }

private:
  bool find(Value value) {
    if (!isa<FloatType>(tensorType(value).getElementType())) return false;
    if (auto argument = dyn_cast<BlockArgument>(value)) {
      Operation *parent = argument.getOwner()->getParentOp();
      int number = static_cast<int>(argument.getArgNumber()) - (isa<RepeatOp>(parent) ? 1 : 0);
      return !isa<func::FuncOp>(parent) && number >= 0 && mayBeInfinite(parent->getOperand(number));
    }
    auto result = cast<OpResult>(value);
    Operation *op = result.getOwner();
    if (auto constant = dyn_cast<ConstantOp>(op)) return std::isinf(constant.getNumber());
    if (isa<KernelOp, TiledOp, RepeatOp>(op))
      return mayBeInfinite(op->getRegion(0).front().getTerminator()->getOperand(result.getResultNumber()));
    if (isa<ContractOp>(op) || absorbsInfinity(op)) return false;
    return llvm::any_of(op->getOperands(), [&](Value operand) { return mayBeInfinite(operand); });
  }

  /// Whether a unary function is finite where a mask is -inf, as exp is.
  static bool absorbsInfinity(Operation *op) {
    auto elementwise = dyn_cast<ElementwiseOpInterface>(op);
    return elementwise && op->hasTrait<traits::IsUnaryFunction>() && std::isfinite(elementwise.applyScalar(-INFINITY));
  }

  llvm::DenseMap<Value, bool> known;
};

class CallTraceWriter {
public:
  CallTraceWriter(const ProgramCosts &costs, llvm::json::OStream &json) : costs(costs), json(json) {}

  void writeBlock(Block &block) {
    for (Operation &op : block) {
      if (auto repeat = dyn_cast<RepeatOp>(op)) {
        json.object([&] {
          json.attribute("repeat", repeat.getAxis().getSize());
          json.attribute("reverse", repeat.getReverse());
          json.attributeArray("body", [&] { writeBlock(repeat.getBlock()); });
        });
      } else if (isa<KernelOp, TiledOp, ContractOp>(op)) {
        bool isFirst = !op.getPrevNode() || !isSameLaunch(op.getPrevNode(), &op);
        if (isFirst) writeCall(launchOf(&op));
      }
    }
  }

private:
  /// A call of one op, or of the kernels of a launch. In a launch each result has the name of its kernel.
  void writeCall(ArrayRef<Operation *> ops) {
    json.object([&] {
      json.attribute("name", ops.size() == 1 ? userName(ops.front()) : "");
      StepPass pass = stepPass(ops);
      if (pass != StepPass::Forward) json.attribute("pass", stringifyStepPass(pass));
      if (const CallCost *cost = costs.costOf(ops.front()))
        json.attribute(stringify(cost->work.kind), cost->call->number);
      json.attributeArray("results", [&] {
        for (Operation *op : ops) {
          auto places = op->getAttrOfType<ArrayAttr>(attrs::places);
          for (OpResult result : op->getResults())
            if (!isFp8(tensorType(result).getElementType())) // scaled; infinity saturates
              writeResult(result, cast<PlaceAttr>(places[result.getResultNumber()]),
                          ops.size() == 1 ? "" : userName(op));
        }
      });
    });
  }

  /// Whether an op may compute a non-finite value from finite operands that are not extreme.
  static bool mayMakeNonFinite(Operation *op) {
    if (auto cast = dyn_cast<CastOp>(op)) // a cast without a line is that of a parameter
      return cast.getType().getElementType().isF16() && !userLine(op->getLoc()).empty();
    return op->hasTrait<traits::MayBeNonFinite>();
  }

  /// The ops that compute a result of a call, in program order. In a kernel, those that the result depends on.
  static SmallVector<Operation *> contributingOps(OpResult result) {
    Operation *call = result.getOwner();
    if (!isa<KernelOp, TiledOp>(call)) return {call};
    llvm::SmallPtrSet<Operation *, 16> needed;
    SmallVector<Value> work{call->getRegion(0).front().getTerminator()->getOperand(result.getResultNumber())};
    while (!work.empty())
      if (Operation *op = work.pop_back_val().getDefiningOp(); op && needed.insert(op).second)
        llvm::append_range(work, op->getOperands());
    SmallVector<Operation *> order;
    for (Operation &op : call->getRegion(0).front()) {
      if (!needed.contains(&op)) continue;
      if (isa<KernelOp>(op)) // in a tiled op
        for (OpResult inner : op.getResults()) llvm::append_range(order, contributingOps(inner));
      else
        order.push_back(&op);
    }
    return order;
  }

  /// The contributing ops that may have made a value non-finite; else the last that is neither a cast nor a constant.
  static SmallVector<Operation *> sourcesOf(OpResult result) {
    constexpr unsigned most = 4;
    SmallVector<Operation *> ops = contributingOps(result), suspects;
    for (Operation *op : ops) {
      auto isSame = [&](Operation *other) {
        return op->getName() == other->getName() && op->getLoc() == other->getLoc();
      };
      if (mayMakeNonFinite(op) && suspects.size() < most && llvm::none_of(suspects, isSame)) suspects.push_back(op);
    }
    if (!suspects.empty()) return suspects;
    for (Operation *op : llvm::reverse(ops))
      if (!isa<CastOp, ConstantOp>(op)) return {op};
    return {result.getOwner()};
  }

  /// The contraction of fp8 values whose scales an op divides out; null if there is none.
  static Value unscaledContraction(Operation *op) {
    if (!isa_and_nonnull<MulOp>(op)) return {};
    for (Value value : op->getOperands()) {
      auto argument = dyn_cast<BlockArgument>(value);
      if (argument && isa<KernelOp>(argument.getOwner()->getParentOp()))
        value = argument.getOwner()->getParentOp()->getOperand(argument.getArgNumber());
      auto contract = value.getDefiningOp<ContractOp>();
      if (contract && isFp8(contract.getLhs().getType().getElementType())) return value;
    }
    return {};
  }

  /// The extra result of a GELU epilogue is the sum before GELU, so its name has no epilogue.
  static std::string describe(ContractOp contract, bool isExtra) {
    std::string name = "contract";
    if (contract.getInit()) name += " init";
    if (contract.getBias()) name += " bias";
    if (contract.getEpilogue() == Epilogue::GeluGrad) name += isExtra ? " gelu_grad sum" : " gelu_grad";
    if (contract.getEpilogue() == Epilogue::Gelu && !isExtra) name += " gelu";
    return name;
  }

  /// The op that computes a result, inside kernels and before roundings. A contraction is named with its addends.
  static std::string producerOf(OpResult result) {
    Value value = result;
    while (true) {
      Operation *op = value.getDefiningOp();
      if (isa_and_nonnull<KernelOp, TiledOp>(op))
        value = op->getRegion(0).front().getTerminator()->getOperand(cast<OpResult>(value).getResultNumber());
      else if (isa_and_nonnull<CastOp>(op))
        value = op->getOperand(0);
      else if (Value sum = unscaledContraction(op))
        value = sum;
      else if (!op)
        return "argument";
      else if (auto contract = dyn_cast<ContractOp>(op))
        return describe(contract, cast<OpResult>(value).getResultNumber() > 0);
      else
        return op->getName().stripDialect().str();
    }
  }

  void writeResult(OpResult result, PlaceAttr place, StringRef name) {
    NamedTensorType type = tensorType(result);
    json.object([&] {
      if (!name.empty()) json.attribute("name", name);
      json.attribute("op", producerOf(result));
      json.attributeArray("from", [&] {
        for (Operation *op : sourcesOf(result))
          json.object([&] {
            json.attribute("op", isa<CastOp>(op) ? "rounding" : op->getName().stripDialect());
            json.attribute("at", userLine(op->getLoc()));
          });
      });
      std::string element;
      llvm::raw_string_ostream(element) << type.getElementType();
      json.attribute("type", element);
      json.attributeArray("axes", [&] {
        for (AxisAttr axis : type.getAxes())
          json.array([&] {
            json.value(axis.getName());
            json.value(axis.getSize());
          });
      });
      if (!type.isDense())
        json.attributeArray("allocated", [&] {
          for (int64_t size : type.getAllocated()) json.value(size);
        });
      json.attribute("offset", place.getOffset());
      json.attributeArray("strides", [&] {
        for (int64_t stride : place.getStrides()) json.value(stride);
      });
      json.attribute("infinite", infinities.mayBeInfinite(result));
    });
  }

  const ProgramCosts &costs;
  llvm::json::OStream &json;
  InfinityAnalysis infinities;
};
} // namespace

void tessera::writeCallTrace(func::FuncOp function, const ProgramCosts &costs, llvm::json::OStream &json) {
  json.attributeArray("trace", [&] { CallTraceWriter(costs, json).writeBlock(function.getBody().front()); });
}
