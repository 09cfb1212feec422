//===- TensorBytes.cpp - tensors of the interpreter as bytes in memory ----===//

#include "tests/support/TensorBytes.h"
#include "ir/interpreter/IterationSpace.h"
#include "llvm/ADT/APFloat.h"
#include <cstring>

using namespace mlir;
using namespace tessera;

namespace {
/// A float of few bits that C++ has no type for, in the words of the interpreter.
template <typename Bits, const llvm::fltSemantics &(*semantics)()> struct LowFloat {
  Bits bits = 0;
  LowFloat() = default;
  explicit LowFloat(double number) {
    llvm::APFloat value(number);
    bool losesInfo;
    value.convert(semantics(), llvm::APFloat::rmNearestTiesToEven, &losesInfo);
    bits = static_cast<Bits>(value.bitcastToAPInt().getZExtValue());
  }
  explicit operator double() const {
    return llvm::APFloat(semantics(), llvm::APInt(8 * sizeof bits, bits)).convertToDouble();
  }
};
} // namespace

/// Calls `visit` with a zero of the C type that holds elements of `type`.
template <typename Fn> static void withElement(Type type, Fn visit) {
  if (type.isF32()) return visit(float());
  if (type.isF64()) return visit(double());
  if (type.isBF16()) return visit(LowFloat<uint16_t, llvm::APFloat::BFloat>());
  if (type.isF16()) return visit(LowFloat<uint16_t, llvm::APFloat::IEEEhalf>());
  if (isa<Float8E4M3FNType>(type)) return visit(LowFloat<uint8_t, llvm::APFloat::Float8E4M3FN>());
  if (isa<Float8E5M2Type>(type)) return visit(LowFloat<uint8_t, llvm::APFloat::Float8E5M2>());
  if (type.isInteger(32)) return visit(int32_t());
  if (type.isInteger(64)) return visit(int64_t());
  assert(type.isInteger(1) || type.isInteger(8));
  visit(int8_t());
}

void tessera::test::storeTensor(const TensorValue &value, NamedTensorType memory, void *address) {
  withElement(memory.getElementType(), [&](auto element) {
    char *to = static_cast<char *>(address);
    IterationSpace(memory.getAxes()).add(memory).add(value.type).forEach([&](ArrayRef<int64_t> at) {
      element = static_cast<decltype(element)>(value.data[at[1]]);
      std::memcpy(to + at[0] * sizeof element, &element, sizeof element);
    });
  });
}

TensorValue tessera::test::fetchTensor(NamedTensorType memory, const void *address) {
  TensorValue value(memory);
  withElement(memory.getElementType(), [&](auto element) {
    const char *from = static_cast<const char *>(address);
    IterationSpace(memory.getAxes()).add(memory).add(value.type).forEach([&](ArrayRef<int64_t> at) {
      std::memcpy(&element, from + at[0] * sizeof element, sizeof element);
      value.data[at[1]] = static_cast<double>(element);
    });
  });
  return value;
}
