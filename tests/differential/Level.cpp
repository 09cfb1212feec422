//===- Level.cpp - a function or a repeat body under construction ---------===//

#include "tests/differential/Level.h"
#include "ir/program/Program.h"

using namespace mlir;
using namespace tessera;
using namespace tessera::test;

Level::Level(Shapes &shapes, StringRef entry)
    : b(shapes.module, UnknownLoc::get(shapes.module.getContext())), shapes(shapes) {
  b.setInsertionPointToEnd(shapes.module.getBody());
  function = func::FuncOp::create(b, b.getLoc(), entry, b.getFunctionType({}, {}));
  block = function.addEntryBlock();
  b.setInsertionPointToEnd(block);
}

Level::Level(Level &outer, AxisAttr axis, ValueRange carried, bool isMicro)
    : b(outer.shapes.module, outer.b.getLoc()), shapes(outer.shapes), outer(&outer), axis(axis), isMicro(isMicro),
      region(std::make_unique<Region>()), block(new Block), carried(carried) {
  region->push_back(block);
  block->addArgument(b.scalarType(b.getI32Type()), b.getLoc());
  for (Value value : carried) block->addArgument(value.getType(), b.getLoc());
  b.setInsertionPointToEnd(block);
}

Value Level::addArgument(NamedTensorType type, NamedAttribute tag) {
  unsigned i = function.getNumArguments();
  (void)function.insertArgument(i, type, b.getDictionaryAttr(tag), b.getLoc());
  return function.getArgument(i);
}

Value Level::keep(Value value) {
  Value &argument = kept[value];
  if (argument) return argument;
  invariants.push_back(value);
  return argument = block->addArgument(value.getType(), b.getLoc());
}

Value Level::slice(Value value) {
  Value &argument = cut[value];
  if (argument) return argument;
  NamedTensorType type = tensorType(value).withAxes(b.without(tensorType(value), {axis.getName()}));
  argument = block->insertArgument(1 + carried.size() + sliced.size(), type, b.getLoc());
  sliced.push_back(value);
  return argument;
}

Value Level::state(StringRef path, NamedTensorType type) {
  if (outer) return keep(outer->state(path, type));
  Value &argument = named[("state " + path).str()];
  if (!argument)
    argument = addArgument(type, b.getNamedAttr(attrs::state, FlatSymbolRefAttr::get(b.getContext(), path)));
  return argument;
}

Value Level::input(StringRef name, StringRef role, NamedTensorType type) {
  Value &argument = named[("input " + name).str()];
  auto tag = b.getDictionaryAttr(
      {b.getNamedAttr("name", b.getStringAttr(name)), b.getNamedAttr("role", b.getStringAttr(role)),
       b.getNamedAttr("data", b.getStringAttr("d")), b.getNamedAttr("field", b.getStringAttr(name))});
  if (!argument) argument = addArgument(type, b.getNamedAttr(attrs::input, tag));
  return argument;
}

Value Level::parameter(const std::string &name, ArrayRef<AxisAttr> axes, double scale) {
  if (outer && isMicro) return keep(outer->parameter(name, axes, scale));
  if (outer) {
    SmallVector<AxisAttr> stacked(axes);
    stacked.push_back(axis);
    return slice(outer->parameter(name, stacked, scale));
  }
  NamedTensorType type = b.type(axes, shapes.element);
  shapes.parameters[name] = {type, scale};
  return state(name, type);
}

Value Level::modelState(const std::string &name, ArrayRef<AxisAttr> axes) {
  if (auto it = carriedStates.find(name); it != carriedStates.end()) return getCarried(it->second);
  if (outer && isMicro) return keep(outer->modelState(name, axes));
  if (outer) {
    SmallVector<AxisAttr> stacked(axes);
    stacked.push_back(axis);
    return slice(outer->modelState(name, stacked));
  }
  NamedTensorType type = b.type(axes, shapes.element);
  shapes.states[name] = type;
  return state(name, type);
}

void Level::assign(const std::string &name, Value value) { nextStates[name] = value; }

void Level::carryStates(ArrayRef<std::string> names, unsigned count) {
  for (auto [i, name] : llvm::enumerate(names)) carriedStates[name] = count + i;
}

Value Level::assigned(const std::string &name) const {
  auto it = nextStates.find(name);
  return it == nextStates.end() ? Value() : it->second;
}

Value Level::data(const std::string &name, ArrayRef<AxisAttr> axes, Type element) {
  if (outer && isMicro) {
    // The field of the whole batch, split into micro-batches.
    Value &parts = named["parts " + name];
    if (!parts) {
      auto whole = llvm::map_to_vector(axes, [&](AxisAttr a) {
        return a.getName() == "batch" ? tessera::axis(b.getContext(), "batch", a.getSize() * shapes.microBatches) : a;
      });
      parts = outer->b.split(outer->data(name, whole, element), "batch", {axis, shapes.axis("batch")});
    }
    return slice(parts);
  }
  if (outer) return keep(outer->data(name, axes, element));
  return input(name, "data", b.type(axes, element));
}

SmallVector<Value> Level::salts() {
  if (!outer) return {};
  SmallVector<Value> all = llvm::map_to_vector(outer->salts(), [&](Value v) { return keep(v); });
  all.push_back(getInduction());
  return all;
}

ValueRange Level::finishRepeat(ValueRange yielded, bool reverse) {
  SmallVector<Value> all(yielded);
  if (!isMicro)
    for (auto &[name, value] : nextStates) all.push_back(value);
  YieldOp::create(b, b.getLoc(), all);
  SmallVector<Type> types;
  for (auto [i, value] : llvm::enumerate(all))
    types.push_back(i < carried.size() ? tensorType(value) : b.withAxis(tensorType(value), axis));
  auto op = RepeatOp::create(outer->b, b.getLoc(), types, axis, reverse ? b.getUnitAttr() : UnitAttr(), carried, sliced,
                             invariants, ArrayAttr());
  op.getBody().takeBody(*region);
  unsigned next = yielded.size();
  if (!isMicro)
    for (auto &[name, value] : nextStates) outer->assign(name, op->getResult(next++));
  return op.getResults().take_front(yielded.size());
}

void Level::finishEntry(ArrayRef<Result> results) {
  SmallVector<Value> values = llvm::map_to_vector(results, [](const Result &r) { return r.value; });
  func::ReturnOp::create(b, b.getLoc(), values);
  function.setType(b.getFunctionType(function.getArgumentTypes(), ValueRange(values).getTypes()));
  for (auto [i, result] : llvm::enumerate(results)) {
    if (!result.state.empty()) {
      function.setResultAttr(i, attrs::state, FlatSymbolRefAttr::get(b.getContext(), result.state));
      continue;
    }
    function.setResultAttr(i, attrs::output,
                           b.getDictionaryAttr({b.getNamedAttr("name", b.getStringAttr(result.output)),
                                                b.getNamedAttr("role", b.getStringAttr(result.role))}));
  }
}
