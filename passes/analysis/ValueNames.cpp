//===- ValueNames.cpp - what a value holds, for a person ------------------===//

#include "passes/analysis/ValueNames.h"
#include "ir/program/Program.h"
#include "passes/analysis/Views.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/raw_ostream.h"

using namespace mlir;
using namespace tessera;

/// Of the names of values in an adjoint: "h.mlp.grad".
static constexpr StringLiteral gradientSuffix = ".grad";

std::string tessera::describeType(NamedTensorType type) {
  std::string text;
  llvm::raw_string_ostream out(text);
  printAxes(out, type);
  out << " " << type.getElementType();
  return text;
}

/// Whether both have the same axes, in any order.
static bool haveSameAxes(NamedTensorType a, NamedTensorType b) {
  return a.getAxes().size() == b.getAxes().size() &&
         llvm::all_of(a.getAxes(), [&](AxisAttr axis) { return llvm::is_contained(b.getAxes(), axis); });
}

/// What an op outside of kernels gives on as it is: the value before views, copies and casts.
static Value beforeCopies(Value value) {
  while (Operation *op = value.getDefiningOp()) {
    if (!isStorageView(op) && !isa<ReorderOp, CastOp>(op)) break;
    value = op->getOperand(0);
  }
  return value;
}

/// The value inside of the op that makes it: of a kernel, a tiled op or a repeat the one that it yields.
static Value innermost(Value value) {
  while (true) {
    value = beforeCopies(value);
    auto result = dyn_cast<OpResult>(value);
    if (!result || !isa<KernelOp, TiledOp, RepeatOp>(result.getOwner())) return value;
    value = result.getOwner()->getRegion(0).front().getTerminator()->getOperand(result.getResultNumber());
  }
}

/// The operand that a region argument stands for; null for an induction value and an argument of the function.
static Value operandOf(BlockArgument argument) {
  Operation *parent = argument.getOwner()->getParentOp();
  int number = static_cast<int>(argument.getArgNumber()) - (isa<RepeatOp>(parent) ? 1 : 0);
  if (isa<func::FuncOp>(parent) || number < 0) return {};
  return parent->getOperand(number);
}

//===----------------------------------------------------------------------===//
// Gradients of parameters
//===----------------------------------------------------------------------===//

ValueNames::ValueNames(func::FuncOp function)
    : function(function), states(statesByPath(function->getParentOfType<ModuleOp>())) {
  findGradients();
}

/// Follows a gradient to where it is computed: out of repeats, which carry or stack it.
void ValueNames::noteGradient(Value value, StringRef parameter) {
  while (true) {
    value = beforeCopies(value);
    if (!found.try_emplace(value, "gradient of " + parameter.str()).second) return;
    auto repeat = value.getDefiningOp<RepeatOp>();
    if (!repeat) return;
    value = repeat.getYield().getValues()[cast<OpResult>(value).getResultNumber()];
  }
}

/// A step whose gradients are not finite changes no state: a select picks the old value. If another kernel computes the
/// new value, that kernel's result; else the value as it is.
static Value beforeSelect(Value value) {
  auto kernel = value.getDefiningOp<KernelOp>();
  if (!kernel) return value;
  unsigned result = cast<OpResult>(value).getResultNumber();
  auto select = kernel.getBody().front().getTerminator()->getOperand(result).getDefiningOp<SelectOp>();
  auto argument = select ? dyn_cast<BlockArgument>(select.getYes()) : BlockArgument();
  return argument ? beforeCopies(kernel->getOperand(argument.getArgNumber())) : value;
}

/// A kernel that updates a parameter reads its gradient: the one operand with the parameter's axes that is no state.
void ValueNames::findGradients() {
  if (function.getName() != "step") return;
  Operation *terminator = function.getBody().front().getTerminator();
  for (unsigned i = 0; i < function.getNumResults(); ++i) {
    StringRef state = resultState(function, i);
    Value returned = beforeCopies(terminator->getOperand(i)), computed = beforeSelect(returned);
    if (computed != returned && !state.empty()) found.try_emplace(computed, "new " + state.str());
    auto kernel = computed.getDefiningOp<KernelOp>();
    auto type = cast<NamedTensorType>(function.getResultTypes()[i]);
    if (!isParameter(state) || !kernel || type.getAxes().empty()) continue; // of scalars there are many
    SmallVector<Value> candidates;
    for (Value operand : kernel->getOperands())
      if (!isa<BlockArgument>(beforeCopies(operand)) && isa<FloatType>(tensorType(operand).getElementType()) &&
          haveSameAxes(tensorType(operand), type))
        candidates.push_back(operand);
    if (candidates.size() == 1) noteGradient(candidates.front(), state);
  }
}

//===----------------------------------------------------------------------===//
// Names
//===----------------------------------------------------------------------===//

std::string ValueNames::parameterIn(Value value) const {
  while (true) {
    value = innermost(value);
    auto argument = dyn_cast<BlockArgument>(value);
    if (!argument) return "";
    if (Value operand = operandOf(argument)) {
      value = operand;
      continue;
    }
    if (argument.getOwner()->getParentOp() != function.getOperation()) return "";
    StringRef state = argumentState(function, argument.getArgNumber());
    return isParameter(state) ? state.str() : "";
  }
}

std::string ValueNames::nameOfArgument(BlockArgument argument) const {
  if (Value operand = operandOf(argument)) return nameOf(operand);
  if (argument.getOwner()->getParentOp() != function.getOperation()) return "index of the layer";
  if (StringRef state = argumentState(function, argument.getArgNumber()); !state.empty()) return state.str();
  auto input = function.getArgAttrOfType<DictionaryAttr>(argument.getArgNumber(), attrs::input);
  auto name = input ? input.getAs<StringAttr>("name") : StringAttr();
  return name ? name.str() : "";
}

/// The user's name of an op: its own, or that of the kernel around it.
static StringRef nameAround(Operation *op) {
  for (; op && !isa<func::FuncOp>(op); op = op->getParentOp())
    if (StringRef name = userName(op); !name.empty()) {
      name.consume_front(recomputeOf);
      return name;
    }
  return "";
}

/// Whether the backward pass computes the op again, or a repeat around it.
static bool isRecomputed(Operation *op) {
  for (; op && !isa<func::FuncOp>(op); op = op->getParentOp())
    if (userName(op).starts_with(recomputeOf)) return true;
  return false;
}

/// Whether an adjoint made the contraction. One of an op that the user did not name has no name: then it reads the
/// result of another adjoint.
static bool isOfAdjoint(ContractOp op) {
  auto isNamedSo = [](Operation *maker) { return maker && nameAround(maker).ends_with(gradientSuffix); };
  if (!nameAround(op).empty()) return isNamedSo(op);
  return isNamedSo(beforeCopies(op.getLhs()).getDefiningOp()) || isNamedSo(beforeCopies(op.getRhs()).getDefiningOp());
}

std::string ValueNames::nameOfContraction(ContractOp op) const {
  bool isGradient = isOfAdjoint(op);
  for (Value operand : {op.getLhs(), op.getRhs()})
    if (std::string parameter = parameterIn(operand); !parameter.empty())
      return isGradient ? "gradient of " + parameter + " in" : parameter + " out";
  return "";
}

std::string ValueNames::nameOfReader(Value value) const {
  for (Operation *user : value.getUsers())
    for (Value result : user->getResults())
      if (auto name = found.find(result); name != found.end()) return name->second;
  return "";
}

std::string ValueNames::nameOf(Value value) const {
  value = beforeCopies(value);
  std::string name = nameOfMade(value);
  return isRecomputed(value.getDefiningOp()) ? recomputeOf.str() + name : name;
}

std::string ValueNames::nameOfMade(Value value) const {
  if (auto name = found.find(value); name != found.end()) return name->second;
  Value made = innermost(value);
  if (auto name = found.find(made); name != found.end()) return name->second;
  auto argument = dyn_cast<BlockArgument>(made);
  if (argument) return nameOfArgument(argument);
  Operation *op = made.getDefiningOp();
  if (auto contract = dyn_cast<ContractOp>(op))
    if (std::string name = nameOfContraction(contract); !name.empty()) return name;
  StringRef name = nameAround(op), word = op->getName().stripDialect();
  if (name.empty())
    if (std::string purpose = nameOfReader(value); !purpose.empty()) return (word + " for " + purpose).str();
  if (name.empty()) return word.str();
  if (name.consume_back(gradientSuffix)) return ("gradient in " + name).str();
  return (name + " " + word).str();
}

std::string ValueNames::lineOf(Value value) const {
  Value made = innermost(value);
  for (Operation *op = made.getDefiningOp(); op && !isa<func::FuncOp>(op); op = op->getParentOp())
    if (std::string line = userLine(op->getLoc()); !line.empty()) return line;
  // A kernel may end with an op that the compiler added.
  Operation *op = value.getDefiningOp();
  if (isa_and_nonnull<KernelOp, TiledOp>(op))
    for (Operation &inner : op->getRegion(0).front())
      if (std::string line = userLine(inner.getLoc()); !line.empty()) return line;
  return "";
}

std::string ValueNames::nameOf(Operation *op) const {
  constexpr size_t most = 3;
  SmallVector<std::string> each;
  for (Value result : op->getResults())
    if (std::string name = nameOf(result); !llvm::is_contained(each, name)) each.push_back(std::move(name));
  return llvm::join(ArrayRef(each).take_front(most), ", ") + (each.size() > most ? ", …" : "");
}
