//===- Assignment.cpp - what is divided along which mesh axis -------------===//

#include "passes/sharding/Assignment.h"
#include "ir/program/Program.h"
#include "passes/sharding/LeafRepeat.h"

using namespace mlir;
using namespace tessera;

Sharding Assignment::byRules(NamedTensorType type, const Sharding &by) const {
  Sharding result;
  for (AxisAttr axis : type.getAxes()) {
    StringRef along = by.meshAxis(axis.getName());
    if (!along.empty() && isLongEnough(axis, along) && !result.uses(along)) result.divide(axis.getName(), along);
  }
  return result;
}

bool tessera::isGivenInParts(func::FuncOp function, unsigned argument) {
  auto tag = function.getArgAttrOfType<DictionaryAttr>(argument, attrs::input);
  auto role = tag ? tag.getAs<StringAttr>("role") : StringAttr();
  return !role || llvm::is_contained({"data", "weight"}, role.getValue());
}

/// Where ranks divide leaves, they do not divide the rows of one.
void Assignment::findLeaves(func::FuncOp function) {
  opRules = rules, leaves = {}, alongLeaves = {}, ofLeaf.clear();
  std::optional<LeafRepeat> found = findLeafRepeat(function);
  auto along = found ? found->repeat->getAttrOfType<StringAttr>(attrs::along) : StringAttr();
  if (!along) return;
  leaves = found->repeat, alongLeaves = along.getValue(), ofLeaf = opsOfLeaf(leaves);
  opRules.makeWhole(found->batch);
  opRules.divide(leaves.getAxis().getName(), alongLeaves);
}

void Assignment::assign(func::FuncOp function, const llvm::StringMap<Sharding> &ofState) {
  findLeaves(function);
  for (BlockArgument argument : function.getArguments()) {
    unsigned number = argument.getArgNumber();
    if (StringRef state = argumentState(function, number); !state.empty())
      table.ofValues[argument] = ofState.lookup(state);
    else if (isGivenInParts(function, number))
      table.ofValues[argument] = byRules(tensorType(argument));
  }
  Block &body = function.getBody().front();
  assignForward(body);
  table.ofResults.clear();
  for (auto [i, value] : llvm::enumerate(body.getTerminator()->getOperands())) {
    StringRef state = resultState(function, i);
    // Outputs are whole: every rank has them.
    table.ofResults.push_back(state.empty() ? Sharding() : ofState.lookup(state));
    demand(value, table.ofResults.back());
  }
  assignBackward(body);
  followOperands(body);
}

//===----------------------------------------------------------------------===//
// Forward
//===----------------------------------------------------------------------===//

/// Whether a split makes an axis of one that it has another divided axis of.
static bool isPartOfDivided(Operation *op, StringRef axis, const Sharding &sharding) {
  auto split = dyn_cast<SplitOp>(op);
  if (!split || !llvm::is_contained(names(split.getInto()), axis)) return false;
  return llvm::any_of(names(split.getInto()), [&](StringRef part) { return !sharding.meshAxis(part).empty(); });
}

Sharding Assignment::forwardSharding(Operation *op) const {
  Sharding result;
  SmallVector<AxisAttr> space = spaceOf(op);
  auto divide = [&](AxisAttr axis, StringRef along) {
    bool isPossible = !along.empty() && !result.uses(along) && mayUse(along, op) &&
                      result.meshAxis(axis.getName()).empty() && isLongEnough(axis, along) &&
                      canDivide(op, axis.getName(), mesh.size(along)) && !isPartOfDivided(op, axis.getName(), result);
    if (isPossible) result.divide(axis.getName(), along);
  };
  for (AxisAttr axis : space) divide(axis, opRules.meshAxis(axis.getName()));
  // Ops of elements of their own follow their operands.
  if (!isa<ElementwiseOpInterface>(op)) return result;
  for (Value operand : op->getOperands()) {
    Sharding ofOperand = table.ofValues.lookup(operand);
    for (const Sharding::Part &part : ofOperand.getParts()) {
      auto axis = llvm::find_if(space, [&](AxisAttr axis) { return axis.getName() == part.axis; });
      if (axis != space.end()) divide(*axis, part.mesh);
    }
  }
  return result;
}

void Assignment::assignForward(RepeatOp repeat) {
  SmallVector<Sharding> &ofOperands = table.ofRepeats[repeat];
  StringRef axis = repeat.getAxis().getName();
  for (auto [i, operand] : llvm::enumerate(repeat.getOperands())) {
    bool isCarried = i < repeat.getCarried().size();
    ofOperands.push_back(isCarried ? byRules(tensorType(operand), opRules) : table.ofValues.lookup(operand));
    ofOperands.back().makeWhole(axis);
  }
  for (auto [argument, sharding] : llvm::zip(repeat.getBlock().getArguments().drop_front(), ofOperands))
    table.ofValues[argument] = sharding;
  assignForward(repeat.getBlock());
  size_t carried = repeat.getCarried().size();
  for (auto [i, value] : llvm::enumerate(repeat.getYield().getValues()))
    table.ofValues[repeat.getResult(i)] = i < carried ? table.ofRepeats[repeat][i] : table.ofValues.lookup(value);
}

void Assignment::assignForward(Block &block) {
  for (Operation &op : block.without_terminator()) {
    if (auto repeat = dyn_cast<RepeatOp>(op)) {
      assignForward(repeat);
      continue;
    }
    Sharding sharding = forwardSharding(&op);
    for (Value result : op.getResults()) table.ofValues[result] = sharding.within(tensorType(result));
    table.ofOps[&op] = std::move(sharding);
  }
}

//===----------------------------------------------------------------------===//
// Backward
//===----------------------------------------------------------------------===//

void Assignment::demand(Value value, const Sharding &sharding) {
  auto [it, isNew] = demands.try_emplace(value, sharding);
  if (!isNew && it->second != sharding) it->second = std::nullopt;
}

/// Whether an op may be divided as its operands are, whatever that is: a sum, or an op of elements that only sums read,
/// such as the squares of a norm.
bool Assignment::isFlexible(Operation *op) const {
  auto isSum = [](Operation *user) {
    auto reduce = dyn_cast<ReduceOp>(user);
    return reduce && reduce.getKind() == ReduceKind::Sum;
  };
  bool isSummed = isa<ElementwiseOpInterface>(op) && !op->use_empty() && llvm::all_of(op->getUsers(), isSum);
  return isSum(op) || isSummed;
}

void Assignment::demandOperands(Operation *op) {
  if (isFlexible(op)) return;
  for (OpOperand &operand : op->getOpOperands())
    demand(operand.get(), operandSharding(operand, table.ofOps.lookup(op)));
}

/// Whether an op may be divided because its readers are. A composite would be decomposed to be divided along an axis
/// that it mixes, and blocks of an input are divided if the input is.
static bool mayAdopt(Operation *op, StringRef axis) {
  auto split = dyn_cast<SplitOp>(op);
  bool isInBlock = split && axis != names(split.getInto()).front() && llvm::is_contained(names(split.getInto()), axis);
  return !isInBlock && !mustDecompose(op, axis);
}

/// What all readers agree on is added to what the op is divided along already.
void Assignment::adopt(Operation *op) {
  if (op->getNumResults() != 1) return;
  Value result = op->getResult(0);
  std::optional<Sharding> wanted = demands.lookup(result);
  bool ownsElements = isa<DivisibleOpInterface, IndexOp, RandomOp>(op) && !isa<ContractOp, ReduceOp>(op);
  if (!wanted || !ownsElements) return;
  Sharding sharding = table.ofOps.lookup(op);
  for (const Sharding::Part &part : wanted->getParts()) {
    bool isPossible = sharding.meshAxis(part.axis).empty() && !sharding.uses(part.mesh) && mayUse(part.mesh, op) &&
                      canDivide(op, part.axis, mesh.size(part.mesh)) && mayAdopt(op, part.axis) &&
                      !isPartOfDivided(op, part.axis, sharding);
    if (isPossible) sharding.divide(part.axis, part.mesh);
  }
  table.ofValues[result] = sharding.within(tensorType(result));
  table.ofOps[op] = std::move(sharding);
}

void Assignment::divideSums(RepeatOp repeat) {
  for (auto [i, first] : llvm::enumerate(repeat.getCarried())) {
    auto zero = first.getDefiningOp<ConstantOp>();
    std::optional<Sharding> wanted = demands.lookup(repeat.getResult(i));
    if (!zero || zero.getNumber() != 0 || !wanted) continue;
    Sharding &carried = table.ofRepeats[repeat][i];
    carried = carried.unitedWith(*wanted);
    carried.makeWhole(repeat.getAxis().getName());
    table.ofValues[repeat.getBlock().getArgument(1 + i)] = carried;
    table.ofValues[repeat.getResult(i)] = carried;
  }
}

void Assignment::assignBackward(Block &block) {
  for (Operation &op : llvm::reverse(block.without_terminator())) {
    auto repeat = dyn_cast<RepeatOp>(op);
    if (!repeat) {
      adopt(&op);
      demandOperands(&op);
      continue;
    }
    if (dividesSums) divideSums(repeat);
    SmallVector<Sharding> ofOperands = table.ofRepeats[repeat];
    for (auto [i, value] : llvm::enumerate(repeat.getYield().getValues())) {
      bool isCarried = i < repeat.getCarried().size();
      Sharding wanted = demands.lookup(repeat.getResult(i)).value_or(table.ofValues.lookup(value));
      demand(value, isCarried ? ofOperands[i] : wanted.within(tensorType(value)));
    }
    assignBackward(repeat.getBlock());
    for (auto [value, sharding] : llvm::zip(repeat.getOperands(), ofOperands)) demand(value, sharding);
    SmallVector<Sharding> stacked;
    for (unsigned i = repeat.getCarried().size(); i < repeat->getNumResults(); ++i) {
      Value value = repeat.getYield().getValues()[i];
      Sharding wanted = demands.lookup(repeat.getResult(i)).value_or(Sharding()).within(tensorType(value));
      stacked.push_back(table.ofValues.lookup(value).unitedWith(wanted));
      if (repeat == leaves) stacked.back().makeWhole(stacked.back().axisAlong(alongLeaves));
      table.ofValues[repeat.getResult(i)] = stacked.back();
    }
    table.ofRepeats[repeat].append(stacked);
  }
}

/// 4. Of an operand that is whole all other readers may want the same parts.
void Assignment::followOperands(Block &block) {
  for (Operation &op : block.without_terminator()) {
    if (auto repeat = dyn_cast<RepeatOp>(op)) followOperands(repeat.getBlock());
    if (!isFlexible(&op)) continue;
    Sharding sharding = table.ofOps.lookup(&op);
    for (Value operand : op.getOperands()) {
      Sharding ofOperand = table.ofValues.lookup(operand).unitedWith(demands.lookup(operand).value_or(Sharding()));
      ofOperand = sharding.unitedWith(ofOperand);
      for (const Sharding::Part &part : ofOperand.getParts())
        if (sharding.meshAxis(part.axis).empty() && mayUse(part.mesh, &op) &&
            canDivide(&op, part.axis, mesh.size(part.mesh)))
          sharding.divide(part.axis, part.mesh);
    }
    table.ofValues[op.getResult(0)] = sharding.within(tensorType(op.getResult(0)));
    table.ofOps[&op] = std::move(sharding);
  }
}
