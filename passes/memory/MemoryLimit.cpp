//===- MemoryLimit.cpp - no more memory than before -----------------------===//

#include "passes/memory/MemoryLimit.h"

using namespace mlir;
using namespace tessera;

/// Moving ops may increase the memory of an entry function by 1 / growthDivisor of what it was.
static constexpr int64_t growthDivisor = 1024;
/// An increase of so many bytes is always allowed.
static constexpr int64_t littleBytes = 64 << 10;

static int64_t packed(const StoragePlan &plan) { return packBuffers(plan.lifetimes()).bytes; }

MemoryLimit::MemoryLimit(func::FuncOp function, const StoragePlan &before, int64_t stateBytes,
                         std::optional<int64_t> arena)
    : function(function), most(liveBytesBound(before.lifetimes())), packedBefore(packed(before)),
      more(std::max((stateBytes + most) / growthDivisor, littleBytes)) {
  if (arena) more = std::clamp<int64_t>(*arena - stateBytes - packedBefore, 0, more);
}

bool MemoryLimit::holds(bool isPacked) const {
  StoragePlan plan(function);
  if (!plan.getCopies().empty() || liveBytesBound(plan.lifetimes()) > most + more) return false;
  return !isPacked || packed(plan) <= packedBefore + more;
}
