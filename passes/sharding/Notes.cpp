//===- Notes.cpp - notes of ops that are built in place of one ------------===//

#include "passes/sharding/Notes.h"
#include "ir/dialect/Attributes.h"

using namespace mlir;

void tessera::copyNotesToOpsAfter(Operation *previous, Block &block, Operation *from) {
  for (Operation &op : llvm::make_range(previous ? std::next(previous->getIterator()) : block.begin(), block.end()))
    copyNotes(from, &op), copyPrecision(from, &op);
}
