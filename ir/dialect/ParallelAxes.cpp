//===- ParallelAxes.cpp - axes along which an op may be divided -----------===//

#include "ir/dialect/Tsr.h"

using namespace tessera;
using llvm::StringRef;

bool ContractOp::isParallelAlong(StringRef axis) { return getType().hasAxis(axis); }
bool ReduceOp::isParallelAlong(StringRef axis) { return getResult().getType().hasAxis(axis); }
bool SoftmaxOp::isParallelAlong(StringRef axis) { return getAxis() != axis; }
bool CrossEntropyOp::isParallelAlong(StringRef axis) { return getAxis() != axis; }
bool GatherOp::isParallelAlong(StringRef axis) { return !llvm::is_contained(names(getAxes()), axis); }
