//===- EntryBuilder.cpp - arguments and results of an entry function --------===//

#include "frontend/elaborate/EntryBuilder.h"
#include "ir/program/Program.h"

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
  auto type = mlir::FunctionType::get(&Context, {}, {});
  Function = mlir::func::FuncOp::create(mlir::UnknownLoc::get(&Context), name, type);
  mlir::ModuleOp module = Calls.inputs().module;
  module.push_back(Function);
  Block = Function.addEntryBlock();
  Name = name.str();
  StateArguments.clear();
  InputArguments.clear();
  ArgumentAttrs.clear();
  Results.clear();
  ResultAttrs.clear();
  DrawsAt.clear();
}

//===----------------------------------------------------------------------===//
// Arguments
//===----------------------------------------------------------------------===//

mlir::Value EntryBuilder::stateArgument(StringRef path, NamedTensorType type) {
  mlir::Value &argument = StateArguments[path];
  if (!argument) {
    argument = Block->addArgument(type, mlir::UnknownLoc::get(&Context));
    mlir::NamedAttrList list;
    list.set(attrs::state, mlir::FlatSymbolRefAttr::get(&Context, path));
    ArgumentAttrs.push_back(list);
  }
  return argument;
}

mlir::Value EntryBuilder::inputArgument(StringRef name, NamedTensorType type, mlir::DictionaryAttr attr) {
  mlir::Value &argument = InputArguments[name];
  if (!argument) {
    argument = Block->addArgument(type, mlir::UnknownLoc::get(&Context));
    mlir::NamedAttrList list;
    list.set(attrs::input, attr);
    ArgumentAttrs.push_back(list);
  }
  return argument;
}

mlir::Value EntryBuilder::plainInput(StringRef name, NamedTensorType type) {
  auto attr = B.getDictionaryAttr(
      {B.getNamedAttr("name", B.getStringAttr(name)), B.getNamedAttr("role", B.getStringAttr(name))});
  return inputArgument(name, type, attr);
}

mlir::Value EntryBuilder::counter(StringRef name) {
  return stateArgument(name, B.scalarType(name == "step" ? I32 : I64));
}

void EntryBuilder::setInputBound(StringRef name, int64_t below) {
  mlir::Value argument = InputArguments.lookup(name);
  if (!argument) return;
  mlir::NamedAttrList &list = ArgumentAttrs[llvm::cast<mlir::BlockArgument>(argument).getArgNumber()];
  auto info = llvm::cast<mlir::DictionaryAttr>(list.get(attrs::input));
  if (!info.get("data")) return;
  mlir::NamedAttrList extended(info);
  extended.set("of", B.getI64IntegerAttr(below));
  list.set(attrs::input, extended.getDictionary(&Context));
}

//===----------------------------------------------------------------------===//
// Results
//===----------------------------------------------------------------------===//

void EntryBuilder::addOutput(mlir::Value value, StringRef name, StringRef role,
                             const std::optional<std::vector<AxisRef>> &order) {
  Results.push_back(value);
  mlir::NamedAttrList tag, list;
  tag.set("name", B.getStringAttr(name));
  tag.set("role", B.getStringAttr(role));
  if (order) tag.set("order", axisNameList(B, *order));
  list.set(attrs::output, tag.getDictionary(&Context));
  ResultAttrs.push_back(list);
}

void EntryBuilder::addStateResult(mlir::Value value, StringRef path) {
  Results.push_back(value);
  mlir::NamedAttrList list;
  list.set(attrs::state, mlir::FlatSymbolRefAttr::get(&Context, path));
  ResultAttrs.push_back(list);
}

int32_t EntryBuilder::nextSite(StringRef path) { return stableHash((path + "#" + llvm::Twine(DrawsAt[path]++)).str()); }

void EntryBuilder::finish(llvm::ArrayRef<StringRef> parameters) {
  mlir::func::ReturnOp::create(B, B.getLoc(), Results);
  unsigned count = Block->getNumArguments();
  std::vector<unsigned> order;
  auto append = [&](StringRef path) {
    if (mlir::Value argument = StateArguments.lookup(path))
      order.push_back(llvm::cast<mlir::BlockArgument>(argument).getArgNumber());
  };
  llvm::for_each(parameters, append);
  append("step");
  append("seed");
  for (unsigned i = 0; i < count; ++i)
    if (!llvm::is_contained(order, i)) order.push_back(i);
  llvm::SmallVector<mlir::Type> types, resultTypes(mlir::ValueRange(Results).getTypes());
  llvm::SmallVector<mlir::Attribute> argAttrs, resultAttrs;
  for (unsigned i : order) {
    mlir::BlockArgument old = Block->getArgument(i);
    mlir::Value fresh = Block->addArgument(old.getType(), old.getLoc());
    old.replaceAllUsesWith(fresh);
    types.push_back(old.getType());
    argAttrs.push_back(ArgumentAttrs[i].getDictionary(&Context));
  }
  Block->eraseArguments(0, count);
  for (mlir::NamedAttrList &list : ResultAttrs) resultAttrs.push_back(list.getDictionary(&Context));
  Function.setType(mlir::FunctionType::get(&Context, types, resultTypes));
  Function.setArgAttrsAttr(mlir::ArrayAttr::get(&Context, argAttrs));
  Function.setResAttrsAttr(mlir::ArrayAttr::get(&Context, resultAttrs));
  end();
}
