//===- RowPadding.cpp - rows of matrices that begin at aligned addresses -----===//
//
// For each GEMM, and each of its matrices with a stride that is not aligned:
//
// 1. Choose the axis that is outermost within a row of that stride, and its allocated size.
// 2. Find the values whose types follow from that one: views, stacks and slices, carried values, operands of ops with
//    one type. If one of them must be dense, or has no such strides, or another GEMM needs it without gaps, leave all
//    as they are.
// 3. Give elementwise ops that read or compute a padded value the same allocated sizes, where these can be padded too:
//    then a kernel moves along aligned rows of all of them.
//
// In the end each GEMM that has unaligned rows records why.
//
//===----------------------------------------------------------------------===//

#include "passes/layout/RowPadding.h"
#include "ir/program/Program.h"
#include "passes/analysis/Views.h"
#include "passes/gemm/Gemm.h"
#include "llvm/ADT/MapVector.h"
#include <numeric>

using namespace mlir;
using namespace tessera;

/// Padding may take one part in so many of the memory of a value.
static constexpr int64_t mostPadding = 8;

namespace {
using TypeMap = llvm::MapVector<Value, NamedTensorType>;

class RowPadding {
public:
  RowPadding(ModuleOp module, int64_t alignment) : module(module), alignment(alignment) {}
  int64_t run();

private:
  /// Pads what can be padded of the contraction's matrices. Returns why one is left; empty if none is.
  StringRef pad(ContractOp contract);
  /// Pads rows of `value` that are `stride` elements long to a multiple of `multiple`.
  StringRef padRows(Value value, int64_t stride, int64_t multiple);
  /// Adds to `types` the values whose types follow from those in it. Returns why there are none; empty if there are.
  StringRef follow(TypeMap &types) const;
  StringRef followDefinition(TypeMap &types, Value value) const;
  StringRef followUse(TypeMap &types, OpOperand &use) const;
  StringRef followArgument(TypeMap &types, RepeatOp repeat, unsigned argument, NamedTensorType type) const;
  StringRef followResult(TypeMap &types, RepeatOp repeat, unsigned result, NamedTensorType type) const;
  /// Gives `value` a type; "shape" if it has another one.
  static StringRef assign(TypeMap &types, Value value, std::optional<NamedTensorType> type);
  /// Whether contractions that read or compute the values are the GEMMs that they were.
  bool remainGemms(const TypeMap &types) const;
  void spread(const TypeMap &from);

  NamedTensorType typeOf(Value value, const TypeMap *types = nullptr) const;
  ContractTypes typesOf(ContractOp contract, const TypeMap *types = nullptr) const;

  ModuleOp module;
  int64_t alignment;
  TypeMap padded; ///< the types of all padded values
};
} // namespace

NamedTensorType RowPadding::typeOf(Value value, const TypeMap *types) const {
  if (types)
    if (auto it = types->find(value); it != types->end()) return it->second;
  auto it = padded.find(value);
  return it == padded.end() ? tensorType(value) : it->second;
}

ContractTypes RowPadding::typesOf(ContractOp contract, const TypeMap *types) const {
  ContractTypes result = contractTypes(contract);
  result.lhs = typeOf(contract.getLhs(), types), result.rhs = typeOf(contract.getRhs(), types);
  result.result = typeOf(contract.getResult(), types);
  if (contract.getBias()) result.bias = typeOf(contract.getBias(), types);
  return result;
}

//===----------------------------------------------------------------------===//
// Values whose types follow from each other
//===----------------------------------------------------------------------===//

static NamedTensorType stackOf(NamedTensorType slot, NamedTensorType stack) {
  SmallVector<int64_t> sizes{stack.getAxes().front().getSize()};
  sizes.append(slot.getAllocatedSizes());
  return stack.withAllocated(sizes);
}

/// Whether the type of the result is that of the only operand.
static bool keepsType(Operation *op) { return op->hasTrait<traits::IsUnaryFunction>() || isa<NotOp>(op); }

StringRef RowPadding::assign(TypeMap &types, Value value, std::optional<NamedTensorType> type) {
  // A part of a joined value has the strides of the whole already.
  if (!type || (!tensorType(value).isDense() && tensorType(value) != *type)) return "view";
  return types.insert({value, *type}).first->second == *type ? "" : "shape";
}

StringRef RowPadding::followResult(TypeMap &types, RepeatOp repeat, unsigned result, NamedTensorType type) const {
  bool isCarried = result < repeat.getCarried().size();
  if (StringRef reason = assign(types, repeat.getResult(result), type); !reason.empty()) return reason;
  Value yielded = repeat.getYield().getValues()[result];
  NamedTensorType slot = isCarried ? type : type.withoutAxis(repeat.getAxis().getName());
  if (StringRef reason = assign(types, yielded, slot); !reason.empty() || !isCarried) return reason;
  if (StringRef reason = assign(types, repeat.getCarriedArgs()[result], type); !reason.empty()) return reason;
  return assign(types, repeat.getCarried()[result], type);
}

/// `type`: that of the region argument.
StringRef RowPadding::followArgument(TypeMap &types, RepeatOp repeat, unsigned argument, NamedTensorType type) const {
  if (argument == 0) return "shape"; // the induction value
  unsigned operand = argument - 1, carried = repeat.getCarried().size();
  if (operand < carried) return followResult(types, repeat, operand, type);
  bool isSliced = operand < carried + repeat.getSliced().size();
  if (StringRef reason = assign(types, repeat.getBlock().getArgument(argument), type); !reason.empty()) return reason;
  Value value = repeat->getOperand(operand);
  return assign(types, value, isSliced ? stackOf(type, tensorType(value)) : type);
}

/// The type of what is sent, if that of what is received is known.
static NamedTensorType sentType(StartOp op, NamedTensorType received) {
  switch (op.getKind()) {
  case ExchangeKind::AllGather:
    return received.withoutAxis(op.getAlong());
  case ExchangeKind::AllToAll:
    return received;
  case ExchangeKind::ReduceScatter:
    return stackOf(received, op.getX().getType());
  }
  llvm_unreachable("unknown kind of exchange");
}

/// The type of what is received. The mesh axis is the outermost one.
static NamedTensorType receivedType(StartOp op, NamedTensorType sent) {
  switch (op.getKind()) {
  case ExchangeKind::AllGather:
    return stackOf(sent, op.getType());
  case ExchangeKind::AllToAll:
    return sent;
  case ExchangeKind::ReduceScatter:
    return sent.withoutAxis(op.getAlong());
  }
  llvm_unreachable("unknown kind of exchange");
}

StringRef RowPadding::followDefinition(TypeMap &types, Value value) const {
  NamedTensorType type = types.lookup(value);
  if (auto argument = dyn_cast<BlockArgument>(value)) {
    if (auto repeat = dyn_cast<RepeatOp>(argument.getOwner()->getParentOp()))
      return followArgument(types, repeat, argument.getArgNumber(), type);
    auto function = cast<func::FuncOp>(argument.getOwner()->getParentOp());
    return argumentState(function, argument.getArgNumber()).empty() ? "input" : "state";
  }
  Operation *op = value.getDefiningOp();
  if (auto repeat = dyn_cast<RepeatOp>(op))
    return followResult(types, repeat, cast<OpResult>(value).getResultNumber(), type);
  if (isa<JoinOp>(op)) return "view";
  if (auto start = dyn_cast<StartOp>(op)) return assign(types, start.getX(), sentType(start, type));
  if (auto wait = dyn_cast<WaitOp>(op)) return assign(types, wait.getStarted(), type);
  if (isStorageView(op)) return assign(types, op->getOperand(0), viewedType(op, type));
  if (keepsType(op)) return assign(types, op->getOperand(0), type);
  if (auto contract = dyn_cast<ContractOp>(op); contract && contract.getInit())
    return assign(types, contract.getInit(), type);
  if (auto scatter = dyn_cast<ScatterAddOp>(op); scatter && scatter.getInit())
    return assign(types, scatter.getInit(), type);
  return "";
}

StringRef RowPadding::followUse(TypeMap &types, OpOperand &use) const {
  Operation *op = use.getOwner();
  NamedTensorType type = types.lookup(use.get());
  if (isa<func::ReturnOp>(op)) {
    auto function = op->getParentOfType<func::FuncOp>();
    return resultState(function, use.getOperandNumber()).empty() ? "output" : "state";
  }
  if (isa<YieldOp>(op)) {
    auto repeat = cast<RepeatOp>(op->getParentOp());
    unsigned number = use.getOperandNumber();
    bool isCarried = number < repeat.getCarried().size();
    return followResult(types, repeat, number, isCarried ? type : stackOf(type, tensorType(repeat.getResult(number))));
  }
  if (auto repeat = dyn_cast<RepeatOp>(op)) {
    unsigned number = use.getOperandNumber(), carried = repeat.getCarried().size();
    bool isSliced = number >= carried && number < carried + repeat.getSliced().size();
    return followArgument(types, repeat, number + 1, isSliced ? type.withoutAxis(repeat.getAxis().getName()) : type);
  }
  if (isa<JoinOp>(op)) return "view";
  if (auto start = dyn_cast<StartOp>(op)) return assign(types, start.getResult(), receivedType(start, type));
  if (auto wait = dyn_cast<WaitOp>(op); wait && wait.getStarted() == use.get())
    return assign(types, wait.getResult(), type);
  if (isStorageView(op)) return assign(types, op->getResult(0), viewType(op, type));
  if (keepsType(op)) return assign(types, op->getResult(0), type);
  auto contract = dyn_cast<ContractOp>(op);
  if (contract && contract.getInit() == use.get()) return assign(types, contract.getResult(), type);
  auto scatter = dyn_cast<ScatterAddOp>(op);
  if (scatter && scatter.getInit() == use.get()) return assign(types, scatter.getResult(), type);
  return "";
}

StringRef RowPadding::follow(TypeMap &types) const {
  for (unsigned next = 0; next < types.size(); ++next) { // the list grows
    Value value = (types.begin() + next)->first;
    if (StringRef reason = followDefinition(types, value); !reason.empty()) return reason;
    for (OpOperand &use : value.getUses())
      if (StringRef reason = followUse(types, use); !reason.empty()) return reason;
  }
  return remainGemms(types) ? "" : "shape";
}

bool RowPadding::remainGemms(const TypeMap &types) const {
  auto remains = [&](Operation *op) {
    auto contract = dyn_cast_or_null<ContractOp>(op);
    std::optional<ContractionGemm> before = contract ? describeGemm(typesOf(contract)) : std::nullopt;
    if (!before) return true;
    std::optional<ContractionGemm> after = describeGemm(typesOf(contract, &types));
    return after && after->c.dims == before->c.dims;
  };
  return llvm::all_of(types, [&](const auto &entry) {
    return remains(entry.first.getDefiningOp()) && llvm::all_of(entry.first.getUsers(), remains);
  });
}

//===----------------------------------------------------------------------===//
// Padding
//===----------------------------------------------------------------------===//

StringRef RowPadding::padRows(Value value, int64_t stride, int64_t multiple) {
  NamedTensorType type = typeOf(value);
  if (!tensorType(value).isDense()) return "view";
  SmallVector<int64_t> sizes = type.getAllocatedSizes(), strides = type.getStrides();
  for (size_t i = sizes.size(); i-- > 1;) {
    if (strides[i - 1] != stride) continue;
    int64_t wanted = multiple / std::gcd(multiple, strides[i]);
    sizes[i] = static_cast<int64_t>(llvm::alignTo(sizes[i], wanted));
    break;
  }
  NamedTensorType result = type.withAllocated(sizes);
  if (result == type) return "shape";
  if ((result.getNumAllocated() - type.getNumElements()) * mostPadding > type.getNumElements()) return "short rows";
  TypeMap types;
  types.insert({value, result});
  if (StringRef reason = follow(types); !reason.empty()) return reason;
  for (auto [other, otherType] : types) padded[other] = otherType;
  spread(types);
  return "";
}

StringRef RowPadding::pad(ContractOp contract) {
  std::optional<ContractionGemm> gemm = describeGemm(typesOf(contract));
  if (!gemm) return "";
  auto [a, b] = gemmOperands(contract, *gemm);
  // The result may be rounded to the type of the operands later.
  int64_t bytes = std::min(tensorType(a).getElementBytes(), tensorType(b).getElementBytes());
  int64_t multiple = std::max<int64_t>(1, alignment / bytes);
  StringRef left;
  for (auto [value, matrix] :
       {std::pair<Value, const GemmMatrix *>(a, &gemm->a), {b, &gemm->b}, {contract.getResult(), &gemm->c}}) {
    int64_t stride = unalignedStride(*matrix, multiple);
    if (stride == 0) continue;
    StringRef reason = padRows(value, stride, multiple);
    if (left.empty()) left = reason;
  }
  return left;
}

/// Along elementwise ops to values with the same axes. Those that cannot be padded stay as they are.
void RowPadding::spread(const TypeMap &from) {
  for (auto [value, type] : from) {
    SmallVector<Operation *> ops(value.getUsers());
    if (Operation *op = value.getDefiningOp()) ops.push_back(op);
    for (Operation *op : ops) {
      if (!isa<ElementwiseOpInterface>(op)) continue;
      SmallVector<Value> others(op->getOperands());
      others.push_back(op->getResult(0));
      for (Value other : others) {
        NamedTensorType otherType = tensorType(other);
        if (otherType.getAxes() != type.getAxes() || !otherType.isDense() || padded.contains(other)) continue;
        TypeMap types;
        types.insert({other, otherType.withAllocated(type.getAllocated())});
        if (!follow(types).empty()) continue;
        for (auto [next, nextType] : types) padded[next] = nextType;
        spread(types);
      }
    }
  }
}

int64_t RowPadding::run() {
  SmallVector<ContractOp> contractions;
  module.walk([&](ContractOp contract) { contractions.push_back(contract); });
  for (ContractOp contract : contractions) pad(contract);
  // A later contraction may have padded what an earlier one could not.
  for (ContractOp contract : contractions)
    if (StringRef reason = pad(contract); !reason.empty())
      contract->setAttr(attrs::unaligned, StringAttr::get(module.getContext(), reason));
  for (auto [value, type] : padded) value.setType(type);
  return static_cast<int64_t>(padded.size());
}

int64_t tessera::padRows(ModuleOp module, int64_t alignment) {
  return alignment > 1 ? RowPadding(module, alignment).run() : 0;
}
