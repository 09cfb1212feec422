//===- TensorBytes.h - tensors of the interpreter as bytes in memory ------===//

#ifndef TESSERA_TESTS_SUPPORT_TENSORBYTES_H
#define TESSERA_TESTS_SUPPORT_TENSORBYTES_H

#include "ir/interpreter/Interpreter.h"

namespace tessera::test {

/// Writes the numbers of `value` to `address` as `memory` lays them out: the same axes in its own order, with its
/// strides. Positions without elements are left as they are. A boolean takes one byte. `address` needs no alignment.
void storeTensor(const TensorValue &value, NamedTensorType memory, void *address);

/// Reads a tensor that lies at `address` in the axis order of `memory`.
TensorValue fetchTensor(NamedTensorType memory, const void *address);

} // namespace tessera::test

#endif // TESSERA_TESTS_SUPPORT_TENSORBYTES_H
