//===- ExpressionNumbers.cpp - values that are computed alike -------------===//

#include "passes/rematerialize/ExpressionNumbers.h"
#include "ir/dialect/Attributes.h"
#include "ir/program/KernelFingerprint.h"

using namespace mlir;
using namespace tessera;

static const void *asKey(uintptr_t number) { return reinterpret_cast<const void *>(number); }

unsigned ExpressionNumbers::numberOf(Value value) {
  auto [it, isNew] = numbers.try_emplace(value, next);
  next += isNew;
  return it->second;
}

void ExpressionNumbers::add(Block &block) {
  for (Operation &op : block.without_terminator()) number(&op);
}

/// The op, its attributes and the numbers of its operands.
ExpressionNumbers::Key ExpressionNumbers::keyOf(Operation *op) {
  Key key{op->getName().getAsOpaquePointer()};
  for (NamedAttribute attribute : op->getAttrDictionary().getValue()) {
    if (isNote(attribute)) continue;
    key.push_back(attribute.getName().getAsOpaquePointer());
    key.push_back(attribute.getValue().getAsOpaquePointer());
  }
  key.push_back(nullptr);
  for (Value operand : op->getOperands()) key.push_back(asKey(numberOf(operand)));
  return key;
}

void ExpressionNumbers::numberResults(Operation *op, Key key) {
  for (OpResult result : op->getResults()) {
    Key own = key;
    own.push_back(result.getType().getAsOpaquePointer());
    own.push_back(asKey(result.getResultNumber()));
    auto [it, isNew] = numberOfKey.try_emplace(own, next);
    next += isNew;
    numbers[result] = it->second;
  }
}

void ExpressionNumbers::number(Operation *op) {
  if (auto kernel = dyn_cast<KernelOp>(op)) return numberKernel(kernel);
  if (auto tiled = dyn_cast<TiledOp>(op)) {
    Key key{op->getName().getAsOpaquePointer()};
    llvm::append_range(key, fingerprint(tiled));
    for (Value operand : op->getOperands()) key.push_back(asKey(numberOf(operand)));
    return numberResults(op, std::move(key));
  }
  // A repeat is equal to none, and neither is a contraction that is computed with others.
  if (op->getNumRegions() > 0 || op->hasAttr(attrs::fusionGroup)) {
    for (Value result : op->getResults()) numbers[result] = next++;
    return;
  }
  numberResults(op, keyOf(op));
}

/// The ops of its region, as if they were outside. The order of a sum depends on the loops of its kernel, so sums are
/// equal in equal kernels only.
void ExpressionNumbers::numberKernel(KernelOp kernel) {
  Block &block = kernel.getBlock();
  KernelFingerprint code = fingerprint(kernel);
  for (auto [argument, operand] : llvm::zip(block.getArguments(), kernel.getInputs())) equate(argument, operand);
  for (Operation &op : block.without_terminator()) {
    Key key = keyOf(&op);
    if (isa<ReduceOp, ScatterAddOp>(op)) llvm::append_range(key, code);
    numberResults(&op, std::move(key));
  }
  for (auto [result, value] : llvm::zip(kernel.getResults(), block.getTerminator()->getOperands()))
    equate(result, value);
}
