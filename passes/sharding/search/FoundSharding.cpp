//===- FoundSharding.cpp - what labels of a graph say of its function -----===//

#include "passes/sharding/search/FoundSharding.h"
#include "ir/program/Program.h"

using namespace mlir;
using namespace tessera;

FoundSharding::FoundSharding(const ShardingGraph &graph, ArrayRef<Form> forms, ArrayRef<StringRef> mesh)
    : graph(graph), forms(forms), mesh(mesh) {
  for (auto [node, form] : llvm::zip(graph.getNodes(), forms)) {
    Sharding sharding = shardingOf(form);
    for (Operation *op : node.ops) {
      if (auto state = dyn_cast<StateOp>(op)) {
        ofStates[state.getPath()] = sharding;
        continue;
      }
      Sharding own;
      for (AxisAttr axis : spaceOf(op))
        if (StringRef along = sharding.meshAxis(axis.getName()); !along.empty()) own.divide(axis.getName(), along);
      table.ofOps[op] = own;
    }
  }
  func::FuncOp function = graph.getFunction();
  for (BlockArgument argument : function.getArguments())
    table.ofValues[argument] = ofSource(graph.originOf(argument), argument);
  addBlock(function.getBody().front());
  for (auto [i, value] : llvm::enumerate(function.getBody().front().getTerminator()->getOperands())) {
    StringRef state = resultState(function, i);
    table.ofResults.push_back(state.empty() ? Sharding() : ofStates.lookup(state));
  }
}

/// What is pending is complete wherever the IR can say something of it, and whole then.
Sharding FoundSharding::shardingOf(const Form &form) const {
  Sharding sharding;
  for (auto [i, axis] : llvm::enumerate(form.along))
    if (axis != wholeForm && axis != pendingForm) sharding.divide(graph.axisName(axis), mesh[i]);
  return sharding;
}

Sharding FoundSharding::ofSource(const ValueSource *source, Value value) const {
  if (!source) return {};
  return shardingOf(source->form(forms[source->node])).within(tensorType(value));
}

void FoundSharding::addBlock(Block &block) {
  for (Operation &op : block.without_terminator()) {
    if (auto repeat = dyn_cast<RepeatOp>(op))
      addRepeat(repeat);
    else if (isa<RenameOp>(op))
      table.ofOps[&op] = ofSource(graph.sourceOf(op.getResult(0)), op.getResult(0));
  }
}

/// What is computed has its own form, and what is read that in which it is read.
void FoundSharding::addRepeat(RepeatOp repeat) {
  SmallVector<Sharding> &list = table.ofRepeats[repeat];
  for (Value result : repeat.getCarriedResults()) list.push_back(ofSource(graph.originOf(result), result));
  for (Value operand : repeat.getOperands().drop_front(repeat.getCarried().size()))
    list.push_back(ofSource(graph.sourceOf(operand), operand));
  for (Value result : repeat.getStackedResults()) list.push_back(ofSource(graph.originOf(result), result));
  addBlock(repeat.getBlock());
}
