//===- KernelFingerprint.cpp - which kernels are the same code ------------===//

#include "ir/program/KernelFingerprint.h"
#include "ir/program/Program.h"

using namespace mlir;
using namespace tessera;

static void append(KernelFingerprint &print, uintptr_t number) {
  print.push_back(reinterpret_cast<const void *>(number));
}

/// Notes say nothing about what an op computes; neither do places.
static bool countsForCode(Operation *op, NamedAttribute attribute) {
  StringRef name = attribute.getName();
  if (isNote(attribute) || name == attrs::places) return false;
  return !(isa<KernelOp, TiledOp>(op) && name == "name");
}

static void appendAttributes(KernelFingerprint &print, Operation *op) {
  SmallVector<NamedAttribute> attributes = llvm::filter_to_vector(
      op->getAttrDictionary().getValue(), [&](NamedAttribute a) { return countsForCode(op, a); });
  append(print, attributes.size());
  for (NamedAttribute attribute : attributes) {
    print.push_back(attribute.getName().getAsOpaquePointer());
    print.push_back(attribute.getValue().getAsOpaquePointer());
  }
}

/// Attributes and region of an op whose region is isolated. Values are numbered within their region.
static void appendIsolated(KernelFingerprint &print, Operation *isolated) {
  appendAttributes(print, isolated);
  DenseMap<Value, uintptr_t> numbers;
  auto number = [&](Value value) {
    numbers.try_emplace(value, numbers.size());
    print.push_back(value.getType().getAsOpaquePointer());
  };
  Block &block = isolated->getRegion(0).front();
  for (BlockArgument argument : block.getArguments()) number(argument);
  for (Operation &op : block) {
    print.push_back(op.getName().getAsOpaquePointer());
    append(print, op.getNumOperands());
    for (Value operand : op.getOperands()) append(print, numbers.lookup(operand));
    if (op.getNumRegions() > 0)
      appendIsolated(print, &op);
    else
      appendAttributes(print, &op);
    llvm::for_each(op.getResults(), number);
  }
}

KernelFingerprint tessera::fingerprint(KernelOp kernel) {
  KernelFingerprint print;
  appendIsolated(print, kernel);
  return print;
}

KernelFingerprint tessera::fingerprint(TiledOp tiled) {
  KernelFingerprint print;
  appendIsolated(print, tiled);
  return print;
}
