//===- Cost.cpp - arithmetic work of ops ----------------------------------===//

#include "ir/dialect/Tsr.h"

using namespace tessera;

int64_t ContractOp::getFlops() {
  int64_t flops = 2 * getType().getNumElements();
  for (llvm::StringRef name : names(getOver())) flops *= getLhs().getType().getSize(name);
  return flops;
}
