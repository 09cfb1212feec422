//===- KernelCodegen.cpp - from tsr.kernel to a function ------------------===//

#include "codegen/cpu/KernelCodegen.h"
#include "codegen/cpu/LoopNestEmitter.h"
#include "ir/Program.h"
#include "llvm/ADT/StringExtras.h"

using namespace mlir;
using namespace tessera;

using Fingerprint = std::vector<const void *>;

static void append(Fingerprint &print, uintptr_t number) { print.push_back(reinterpret_cast<const void *>(number)); }

/// What the code of a kernel depends on, as numbers and as addresses of types and attributes, which exist once in a
/// context. Names and places are not part of it. Compared for equality only.
static Fingerprint fingerprint(KernelOp kernel) {
  Fingerprint print{kernel.getParallel().getAsOpaquePointer(), kernel.getSerial().getAsOpaquePointer(),
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

/// `name` as a C identifier, with a number where it is taken.
std::string KernelCodegen::uniqueSymbol(StringRef name) {
  std::string symbol = "tsr_kernel_";
  for (char c : name) symbol += llvm::isAlnum(c) ? c : '_';
  std::string candidate = symbol;
  for (unsigned i = 2; !symbols.insert(candidate).second; ++i) candidate = symbol + "_" + std::to_string(i);
  return candidate;
}

FailureOr<KernelInterface> KernelCodegen::emit(KernelOp kernel) {
  Fingerprint print = fingerprint(kernel);
  if (auto it = emitted.find(print); it != emitted.end()) return it->second;
  FailureOr<KernelPlan> plan = planKernel(kernel);
  if (failed(plan)) return failure();
  KernelInterface result;
  result.name = uniqueSymbol(kernel.getName());
  FailureOr<KernelExtent> extent =
      LoopNestEmitter(*plan, target, UnknownLoc::get(code.getContext())).emit(code, result.name);
  if (failed(extent)) return failure();
  result.iterations = extent->iterations;
  result.grain = extent->grain;
  emitted.emplace(std::move(print), result);
  return result;
}
