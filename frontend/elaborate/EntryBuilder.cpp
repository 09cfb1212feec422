//===- EntryBuilder.cpp - arguments and results of an entry function --------===//

#include "frontend/elaborate/EntryBuilder.h"
#include "ir/program/Program.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"

using namespace tessera;
using llvm::StringRef;

int32_t tessera::stableHash(StringRef text) {
  uint32_t hash = 2166136261u;
  for (unsigned char c : text) hash = (hash ^ c) * 16777619u;
  return static_cast<int32_t>(hash & 0x7FFFFFFF);
}

mlir::ArrayAttr tessera::axisNameList(GraphBuilder &builder, llvm::ArrayRef<AxisRef> axes) {
  return builder.strings(llvm::map_to_vector(axes, [](const AxisRef &axis) { return StringRef(axis.name); }));
}

void EntryBuilder::begin(StringRef name) {
  auto type = mlir::FunctionType::get(&context, {}, {});
  function = mlir::func::FuncOp::create(mlir::UnknownLoc::get(&context), name, type);
  mlir::ModuleOp module = calls.inputs().module;
  module.push_back(function);
  body = function.addEntryBlock();
  entryName = name.str();
  stateArguments.clear();
  inputArguments.clear();
  argumentAttrs.clear();
  results.clear();
  resultAttrs.clear();
  drawsAt.clear();
}

//===----------------------------------------------------------------------===//
// Arguments
//===----------------------------------------------------------------------===//

mlir::Value EntryBuilder::stateArgument(StringRef path, NamedTensorType type) {
  mlir::Value &argument = stateArguments[path];
  if (!argument) {
    argument = body->addArgument(type, mlir::UnknownLoc::get(&context));
    mlir::NamedAttrList list;
    list.set(attrs::state, mlir::FlatSymbolRefAttr::get(&context, path));
    argumentAttrs.push_back(list);
  }
  return argument;
}

mlir::Value EntryBuilder::inputArgument(StringRef name, NamedTensorType type, mlir::DictionaryAttr attr) {
  mlir::Value &argument = inputArguments[name];
  if (!argument) {
    argument = body->addArgument(type, mlir::UnknownLoc::get(&context));
    mlir::NamedAttrList list;
    list.set(attrs::input, attr);
    argumentAttrs.push_back(list);
  }
  return argument;
}

mlir::Value EntryBuilder::plainInput(StringRef name, NamedTensorType type) {
  auto attr = builder.getDictionaryAttr({builder.getNamedAttr("name", builder.getStringAttr(name)),
                                         builder.getNamedAttr("role", builder.getStringAttr(name))});
  return inputArgument(name, type, attr);
}

mlir::Value EntryBuilder::counter(StringRef name) {
  return stateArgument(name, builder.scalarType(name == "step" ? i32 : i64));
}

StringRef EntryBuilder::dataName(mlir::BlockArgument argument) const {
  auto info = llvm::dyn_cast_or_null<mlir::DictionaryAttr>(argumentAttrs[argument.getArgNumber()].get(attrs::input));
  return info && info.get("data") ? info.getAs<mlir::StringAttr>("name").getValue() : StringRef();
}

void EntryBuilder::setInputBound(StringRef name, int64_t below) {
  mlir::Value argument = inputArguments.lookup(name);
  if (!argument) return;
  mlir::NamedAttrList &list = argumentAttrs[llvm::cast<mlir::BlockArgument>(argument).getArgNumber()];
  auto info = llvm::cast<mlir::DictionaryAttr>(list.get(attrs::input));
  if (!info.get("data")) return;
  mlir::NamedAttrList extended(info);
  extended.set("of", builder.getI64IntegerAttr(below));
  list.set(attrs::input, extended.getDictionary(&context));
}

//===----------------------------------------------------------------------===//
// Results
//===----------------------------------------------------------------------===//

void EntryBuilder::addOutput(mlir::Value value, StringRef name, StringRef role,
                             const std::optional<std::vector<AxisRef>> &order, llvm::ArrayRef<StringRef> reads) {
  results.push_back(value);
  mlir::NamedAttrList tag, list;
  tag.set("name", builder.getStringAttr(name));
  tag.set("role", builder.getStringAttr(role));
  if (order) tag.set("order", axisNameList(builder, *order));
  if (!reads.empty()) tag.set("reads", builder.getStrArrayAttr(reads));
  list.set(attrs::output, tag.getDictionary(&context));
  resultAttrs.push_back(list);
}

void EntryBuilder::addStateResult(mlir::Value value, StringRef path) {
  results.push_back(value);
  mlir::NamedAttrList list;
  list.set(attrs::state, mlir::FlatSymbolRefAttr::get(&context, path));
  resultAttrs.push_back(list);
}

int32_t EntryBuilder::nextSite(StringRef path) { return stableHash((path + "#" + llvm::Twine(drawsAt[path]++)).str()); }

void EntryBuilder::discard() {
  end();
  function.erase();
}

/// The description computes losses too, from fields that predictions do not need.
static void eraseDeadOps(mlir::Block &block) {
  for (mlir::Operation &op : llvm::make_early_inc_range(llvm::reverse(block)))
    if (mlir::isOpTriviallyDead(&op)) op.erase();
}

void EntryBuilder::finish(llvm::ArrayRef<StringRef> parameters) {
  mlir::func::ReturnOp::create(builder, builder.getLoc(), results);
  if (isPredict()) eraseDeadOps(*body);
  unsigned count = body->getNumArguments();
  std::vector<unsigned> order;
  auto append = [&](StringRef path) {
    if (mlir::Value argument = stateArguments.lookup(path))
      order.push_back(llvm::cast<mlir::BlockArgument>(argument).getArgNumber());
  };
  llvm::for_each(parameters, append);
  append("step");
  append("seed");
  for (unsigned i = 0; i < count; ++i)
    if (!llvm::is_contained(order, i)) order.push_back(i);
  if (isPredict()) llvm::erase_if(order, [&](unsigned i) { return body->getArgument(i).use_empty(); });
  llvm::SmallVector<mlir::Type> types, resultTypes(mlir::ValueRange(results).getTypes());
  llvm::SmallVector<mlir::Attribute> argAttrs, resAttrs;
  for (unsigned i : order) {
    mlir::BlockArgument old = body->getArgument(i);
    mlir::Value fresh = body->addArgument(old.getType(), old.getLoc());
    old.replaceAllUsesWith(fresh);
    types.push_back(old.getType());
    argAttrs.push_back(argumentAttrs[i].getDictionary(&context));
  }
  body->eraseArguments(0, count);
  for (mlir::NamedAttrList &list : resultAttrs) resAttrs.push_back(list.getDictionary(&context));
  function.setType(mlir::FunctionType::get(&context, types, resultTypes));
  function.setArgAttrsAttr(mlir::ArrayAttr::get(&context, argAttrs));
  function.setResAttrsAttr(mlir::ArrayAttr::get(&context, resAttrs));
  end();
}
