//===- Decompose.cpp - composites written out -----------------------------===//

#include "ir/GraphBuilder.h"

using namespace mlir;
using namespace tessera;

SmallVector<Value> SoftmaxOp::decompose(GraphBuilder &) { llvm_unreachable("to be written"); }
SmallVector<Value> LayerNormOp::decompose(GraphBuilder &) { llvm_unreachable("to be written"); }
SmallVector<Value> CrossEntropyOp::decompose(GraphBuilder &) { llvm_unreachable("to be written"); }
SmallVector<Value> AttentionOp::decompose(GraphBuilder &) { llvm_unreachable("to be written"); }
