//===- ShardingTable.cpp - the shardings of all ops of a function ---------===//

#include "passes/sharding/ShardingTable.h"
#include "ir/dialect/Attributes.h"
#include "ir/program/Program.h"

using namespace mlir;
using namespace tessera;

void ShardingTable::record(func::FuncOp function) const {
  MLIRContext *context = function.getContext();
  function.walk([&](Operation *op) {
    if (auto it = ofRepeats.find(op); it != ofRepeats.end()) {
      SmallVector<Attribute> list;
      for (const Sharding &sharding : it->second) list.push_back(sharding.getAttribute(context));
      op->setAttr(attrs::sharding, ArrayAttr::get(context, list));
    } else if (Sharding sharding = ofOps.lookup(op); !sharding.isEmpty()) {
      op->setAttr(attrs::sharding, sharding.getAttribute(context));
    }
  });
  SmallVector<Attribute> arguments, results;
  for (BlockArgument argument : function.getArguments())
    arguments.push_back(ofValues.lookup(argument).getAttribute(context));
  for (const Sharding &sharding : ofResults) results.push_back(sharding.getAttribute(context));
  setArgumentAttrs(function, attrs::sharding, arguments);
  setResultAttrs(function, attrs::sharding, results);
}
