//===- Adjoints.cpp - reverse-mode derivatives of ops ---------------------===//

#include "ir/GraphBuilder.h"

using namespace mlir;
using namespace tessera;

void NegOp::buildAdjoint(GraphBuilder &, ValueRange, function_ref<bool(unsigned)>, function_ref<void(unsigned, Value)>) { llvm_unreachable("to be written"); }
void ExpOp::buildAdjoint(GraphBuilder &, ValueRange, function_ref<bool(unsigned)>, function_ref<void(unsigned, Value)>) { llvm_unreachable("to be written"); }
void LogOp::buildAdjoint(GraphBuilder &, ValueRange, function_ref<bool(unsigned)>, function_ref<void(unsigned, Value)>) { llvm_unreachable("to be written"); }
void SqrtOp::buildAdjoint(GraphBuilder &, ValueRange, function_ref<bool(unsigned)>, function_ref<void(unsigned, Value)>) { llvm_unreachable("to be written"); }
void RsqrtOp::buildAdjoint(GraphBuilder &, ValueRange, function_ref<bool(unsigned)>, function_ref<void(unsigned, Value)>) { llvm_unreachable("to be written"); }
void TanhOp::buildAdjoint(GraphBuilder &, ValueRange, function_ref<bool(unsigned)>, function_ref<void(unsigned, Value)>) { llvm_unreachable("to be written"); }
void ErfOp::buildAdjoint(GraphBuilder &, ValueRange, function_ref<bool(unsigned)>, function_ref<void(unsigned, Value)>) { llvm_unreachable("to be written"); }
void SinOp::buildAdjoint(GraphBuilder &, ValueRange, function_ref<bool(unsigned)>, function_ref<void(unsigned, Value)>) { llvm_unreachable("to be written"); }
void CosOp::buildAdjoint(GraphBuilder &, ValueRange, function_ref<bool(unsigned)>, function_ref<void(unsigned, Value)>) { llvm_unreachable("to be written"); }
void AbsOp::buildAdjoint(GraphBuilder &, ValueRange, function_ref<bool(unsigned)>, function_ref<void(unsigned, Value)>) { llvm_unreachable("to be written"); }
void AddOp::buildAdjoint(GraphBuilder &, ValueRange, function_ref<bool(unsigned)>, function_ref<void(unsigned, Value)>) { llvm_unreachable("to be written"); }
void SubOp::buildAdjoint(GraphBuilder &, ValueRange, function_ref<bool(unsigned)>, function_ref<void(unsigned, Value)>) { llvm_unreachable("to be written"); }
void MulOp::buildAdjoint(GraphBuilder &, ValueRange, function_ref<bool(unsigned)>, function_ref<void(unsigned, Value)>) { llvm_unreachable("to be written"); }
void DivOp::buildAdjoint(GraphBuilder &, ValueRange, function_ref<bool(unsigned)>, function_ref<void(unsigned, Value)>) { llvm_unreachable("to be written"); }
void MaxOp::buildAdjoint(GraphBuilder &, ValueRange, function_ref<bool(unsigned)>, function_ref<void(unsigned, Value)>) { llvm_unreachable("to be written"); }
void MinOp::buildAdjoint(GraphBuilder &, ValueRange, function_ref<bool(unsigned)>, function_ref<void(unsigned, Value)>) { llvm_unreachable("to be written"); }
void PowOp::buildAdjoint(GraphBuilder &, ValueRange, function_ref<bool(unsigned)>, function_ref<void(unsigned, Value)>) { llvm_unreachable("to be written"); }
void SelectOp::buildAdjoint(GraphBuilder &, ValueRange, function_ref<bool(unsigned)>, function_ref<void(unsigned, Value)>) { llvm_unreachable("to be written"); }
void CastOp::buildAdjoint(GraphBuilder &, ValueRange, function_ref<bool(unsigned)>, function_ref<void(unsigned, Value)>) { llvm_unreachable("to be written"); }
void ContractOp::buildAdjoint(GraphBuilder &, ValueRange, function_ref<bool(unsigned)>, function_ref<void(unsigned, Value)>) { llvm_unreachable("to be written"); }
void ReduceOp::buildAdjoint(GraphBuilder &, ValueRange, function_ref<bool(unsigned)>, function_ref<void(unsigned, Value)>) { llvm_unreachable("to be written"); }
void BroadcastOp::buildAdjoint(GraphBuilder &, ValueRange, function_ref<bool(unsigned)>, function_ref<void(unsigned, Value)>) { llvm_unreachable("to be written"); }
void RenameOp::buildAdjoint(GraphBuilder &, ValueRange, function_ref<bool(unsigned)>, function_ref<void(unsigned, Value)>) { llvm_unreachable("to be written"); }
void SplitOp::buildAdjoint(GraphBuilder &, ValueRange, function_ref<bool(unsigned)>, function_ref<void(unsigned, Value)>) { llvm_unreachable("to be written"); }
void MergeOp::buildAdjoint(GraphBuilder &, ValueRange, function_ref<bool(unsigned)>, function_ref<void(unsigned, Value)>) { llvm_unreachable("to be written"); }
void SliceOp::buildAdjoint(GraphBuilder &, ValueRange, function_ref<bool(unsigned)>, function_ref<void(unsigned, Value)>) { llvm_unreachable("to be written"); }
void PadOp::buildAdjoint(GraphBuilder &, ValueRange, function_ref<bool(unsigned)>, function_ref<void(unsigned, Value)>) { llvm_unreachable("to be written"); }
void GatherOp::buildAdjoint(GraphBuilder &, ValueRange, function_ref<bool(unsigned)>, function_ref<void(unsigned, Value)>) { llvm_unreachable("to be written"); }
void ScatterAddOp::buildAdjoint(GraphBuilder &, ValueRange, function_ref<bool(unsigned)>, function_ref<void(unsigned, Value)>) { llvm_unreachable("to be written"); }
void SoftmaxOp::buildAdjoint(GraphBuilder &, ValueRange, function_ref<bool(unsigned)>, function_ref<void(unsigned, Value)>) { llvm_unreachable("to be written"); }
void LayerNormOp::buildAdjoint(GraphBuilder &, ValueRange, function_ref<bool(unsigned)>, function_ref<void(unsigned, Value)>) { llvm_unreachable("to be written"); }
void CrossEntropyOp::buildAdjoint(GraphBuilder &, ValueRange, function_ref<bool(unsigned)>, function_ref<void(unsigned, Value)>) { llvm_unreachable("to be written"); }
void AttentionOp::buildAdjoint(GraphBuilder &, ValueRange, function_ref<bool(unsigned)>, function_ref<void(unsigned, Value)>) { llvm_unreachable("to be written"); }
void RepeatOp::buildAdjoint(GraphBuilder &, ValueRange, function_ref<bool(unsigned)>, function_ref<void(unsigned, Value)>) { llvm_unreachable("to be written"); }
void ReorderOp::buildAdjoint(GraphBuilder &, ValueRange, function_ref<bool(unsigned)>, function_ref<void(unsigned, Value)>) { llvm_unreachable("to be written"); }
