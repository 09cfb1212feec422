//===- Interpreter.cpp - runs tsr functions -------------------------------===//

#include "ir/Interpreter.h"

using namespace mlir;
using namespace tessera;

void tessera::evaluateElementwise(ElementwiseOpInterface, ArrayRef<TensorValue>, TensorValue &) { llvm_unreachable("to be written"); }
