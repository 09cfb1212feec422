//===- Evaluate.cpp - the meaning of each op, for the interpreter ---------===//

#include "ir/Interpreter.h"

using namespace mlir;
using namespace tessera;

double NegOp::applyScalar(ArrayRef<double>) { llvm_unreachable("to be written"); }
double ExpOp::applyScalar(ArrayRef<double>) { llvm_unreachable("to be written"); }
double LogOp::applyScalar(ArrayRef<double>) { llvm_unreachable("to be written"); }
double SqrtOp::applyScalar(ArrayRef<double>) { llvm_unreachable("to be written"); }
double RsqrtOp::applyScalar(ArrayRef<double>) { llvm_unreachable("to be written"); }
double TanhOp::applyScalar(ArrayRef<double>) { llvm_unreachable("to be written"); }
double ErfOp::applyScalar(ArrayRef<double>) { llvm_unreachable("to be written"); }
double SinOp::applyScalar(ArrayRef<double>) { llvm_unreachable("to be written"); }
double CosOp::applyScalar(ArrayRef<double>) { llvm_unreachable("to be written"); }
double AbsOp::applyScalar(ArrayRef<double>) { llvm_unreachable("to be written"); }
double FloorOp::applyScalar(ArrayRef<double>) { llvm_unreachable("to be written"); }
double CeilOp::applyScalar(ArrayRef<double>) { llvm_unreachable("to be written"); }
double SignOp::applyScalar(ArrayRef<double>) { llvm_unreachable("to be written"); }
double NotOp::applyScalar(ArrayRef<double>) { llvm_unreachable("to be written"); }
double AddOp::applyScalar(ArrayRef<double>) { llvm_unreachable("to be written"); }
double SubOp::applyScalar(ArrayRef<double>) { llvm_unreachable("to be written"); }
double MulOp::applyScalar(ArrayRef<double>) { llvm_unreachable("to be written"); }
double DivOp::applyScalar(ArrayRef<double>) { llvm_unreachable("to be written"); }
double MaxOp::applyScalar(ArrayRef<double>) { llvm_unreachable("to be written"); }
double MinOp::applyScalar(ArrayRef<double>) { llvm_unreachable("to be written"); }
double PowOp::applyScalar(ArrayRef<double>) { llvm_unreachable("to be written"); }
double FloorDivOp::applyScalar(ArrayRef<double>) { llvm_unreachable("to be written"); }
double ModOp::applyScalar(ArrayRef<double>) { llvm_unreachable("to be written"); }
double AndOp::applyScalar(ArrayRef<double>) { llvm_unreachable("to be written"); }
double OrOp::applyScalar(ArrayRef<double>) { llvm_unreachable("to be written"); }
double CompareOp::applyScalar(ArrayRef<double>) { llvm_unreachable("to be written"); }
double SelectOp::applyScalar(ArrayRef<double>) { llvm_unreachable("to be written"); }
double CastOp::applyScalar(ArrayRef<double>) { llvm_unreachable("to be written"); }
LogicalResult ConstantOp::evaluate(ArrayRef<TensorValue>, MutableArrayRef<TensorValue>, Interpreter &) { llvm_unreachable("to be written"); }
LogicalResult IndexOp::evaluate(ArrayRef<TensorValue>, MutableArrayRef<TensorValue>, Interpreter &) { llvm_unreachable("to be written"); }
LogicalResult RandomOp::evaluate(ArrayRef<TensorValue>, MutableArrayRef<TensorValue>, Interpreter &) { llvm_unreachable("to be written"); }
LogicalResult ContractOp::evaluate(ArrayRef<TensorValue>, MutableArrayRef<TensorValue>, Interpreter &) { llvm_unreachable("to be written"); }
LogicalResult ReduceOp::evaluate(ArrayRef<TensorValue>, MutableArrayRef<TensorValue>, Interpreter &) { llvm_unreachable("to be written"); }
LogicalResult BroadcastOp::evaluate(ArrayRef<TensorValue>, MutableArrayRef<TensorValue>, Interpreter &) { llvm_unreachable("to be written"); }
LogicalResult RenameOp::evaluate(ArrayRef<TensorValue>, MutableArrayRef<TensorValue>, Interpreter &) { llvm_unreachable("to be written"); }
LogicalResult SplitOp::evaluate(ArrayRef<TensorValue>, MutableArrayRef<TensorValue>, Interpreter &) { llvm_unreachable("to be written"); }
LogicalResult MergeOp::evaluate(ArrayRef<TensorValue>, MutableArrayRef<TensorValue>, Interpreter &) { llvm_unreachable("to be written"); }
LogicalResult SliceOp::evaluate(ArrayRef<TensorValue>, MutableArrayRef<TensorValue>, Interpreter &) { llvm_unreachable("to be written"); }
LogicalResult PadOp::evaluate(ArrayRef<TensorValue>, MutableArrayRef<TensorValue>, Interpreter &) { llvm_unreachable("to be written"); }
LogicalResult GatherOp::evaluate(ArrayRef<TensorValue>, MutableArrayRef<TensorValue>, Interpreter &) { llvm_unreachable("to be written"); }
LogicalResult ScatterAddOp::evaluate(ArrayRef<TensorValue>, MutableArrayRef<TensorValue>, Interpreter &) { llvm_unreachable("to be written"); }
LogicalResult SoftmaxOp::evaluate(ArrayRef<TensorValue>, MutableArrayRef<TensorValue>, Interpreter &) { llvm_unreachable("to be written"); }
LogicalResult LayerNormOp::evaluate(ArrayRef<TensorValue>, MutableArrayRef<TensorValue>, Interpreter &) { llvm_unreachable("to be written"); }
LogicalResult CrossEntropyOp::evaluate(ArrayRef<TensorValue>, MutableArrayRef<TensorValue>, Interpreter &) { llvm_unreachable("to be written"); }
LogicalResult AttentionOp::evaluate(ArrayRef<TensorValue>, MutableArrayRef<TensorValue>, Interpreter &) { llvm_unreachable("to be written"); }
LogicalResult RepeatOp::evaluate(ArrayRef<TensorValue>, MutableArrayRef<TensorValue>, Interpreter &) { llvm_unreachable("to be written"); }
LogicalResult KernelOp::evaluate(ArrayRef<TensorValue>, MutableArrayRef<TensorValue>, Interpreter &) { llvm_unreachable("to be written"); }
LogicalResult SeedOp::evaluate(ArrayRef<TensorValue>, MutableArrayRef<TensorValue>, Interpreter &) { llvm_unreachable("to be written"); }
double ReorderOp::applyScalar(ArrayRef<double>) { llvm_unreachable("to be written"); }
LogicalResult ReorderOp::evaluate(ArrayRef<TensorValue>, MutableArrayRef<TensorValue>, Interpreter &) { llvm_unreachable("to be written"); }
