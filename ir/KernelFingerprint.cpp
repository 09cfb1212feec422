//===- KernelFingerprint.cpp - which kernels are the same code ------------===//

#include "ir/KernelFingerprint.h"
#include "ir/Program.h"

using namespace mlir;
using namespace tessera;

static void append(KernelFingerprint &print, uintptr_t number) {
  print.push_back(reinterpret_cast<const void *>(number));
}

KernelFingerprint tessera::fingerprint(KernelOp kernel) {
  KernelFingerprint print{kernel.getParallel().getAsOpaquePointer(), kernel.getSerial().getAsOpaquePointer(),
                          kernel.getVectorAttr().getAsOpaquePointer()};
  DenseMap<Value, uintptr_t> numbers;
  auto number = [&](Value value) {
    numbers.try_emplace(value, numbers.size());
    print.push_back(value.getType().getAsOpaquePointer());
  };
  for (BlockArgument argument : kernel.getBlock().getArguments()) number(argument);
  for (Operation &op : kernel.getBlock()) {
    print.push_back(op.getName().getAsOpaquePointer());
    append(print, op.getNumOperands());
    for (Value operand : op.getOperands()) append(print, numbers.lookup(operand));
    SmallVector<NamedAttribute> attributes =
        llvm::filter_to_vector(op.getAttrDictionary().getValue(), [](NamedAttribute a) {
          return a.getName() != attrs::name && a.getName() != attrs::places;
        });
    append(print, attributes.size());
    for (NamedAttribute attribute : attributes) {
      print.push_back(attribute.getName().getAsOpaquePointer());
      print.push_back(attribute.getValue().getAsOpaquePointer());
    }
    llvm::for_each(op.getResults(), number);
  }
  return print;
}
