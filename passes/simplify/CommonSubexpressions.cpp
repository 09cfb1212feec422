//===- CommonSubexpressions.cpp - common subexpression elimination --------===//
//
// Within a block. Unlike MLIR's pass this one ignores notes (user names, passes of a step): nothing that the compiler
// does may depend on them. The first of equal ops stays, with its pass.
// Draws of different sites have different attributes, so they are never equal.
//
//===----------------------------------------------------------------------===//

#include "ir/program/Program.h"
#include "mlir/IR/OperationSupport.h"
#include "passes/simplify/Patterns.h"

using namespace mlir;
using namespace tessera;

/// Discardable attributes but notes.
static SmallVector<NamedAttribute> meaningfulAttrs(Operation *op) {
  return llvm::filter_to_vector(op->getDiscardableAttrs(), [](NamedAttribute attr) { return !isNote(attr); });
}

namespace {
constexpr auto ignored =
    OperationEquivalence::Flags(OperationEquivalence::IgnoreLocations | OperationEquivalence::IgnoreDiscardableAttrs);

struct EqualOps : llvm::DenseMapInfo<Operation *> {
  static unsigned getHashValue(const Operation *op) {
    return OperationEquivalence::computeHash(const_cast<Operation *>(op), OperationEquivalence::directHashValue,
                                             OperationEquivalence::ignoreHashValue, ignored);
  }
  static bool isEqual(const Operation *a, const Operation *b) {
    if (a == b) return true;
    if (a == getTombstoneKey() || a == getEmptyKey() || b == getTombstoneKey() || b == getEmptyKey()) return false;
    auto *left = const_cast<Operation *>(a), *right = const_cast<Operation *>(b);
    return OperationEquivalence::isEquivalentTo(left, right, ignored) &&
           meaningfulAttrs(left) == meaningfulAttrs(right);
  }
};
} // namespace

static bool mergeInBlock(Block &block) {
  llvm::DenseMap<Operation *, Operation *, EqualOps> known;
  bool isChanged = false;
  for (Operation &op : llvm::make_early_inc_range(block)) {
    for (Region &region : op.getRegions())
      for (Block &inner : region) isChanged |= mergeInBlock(inner);
    if (!isPure(&op) || op.getNumRegions() != 0 || op.hasTrait<OpTrait::IsTerminator>()) continue;
    auto [it, isNew] = known.try_emplace(&op, &op);
    if (isNew) continue;
    Operation *first = it->second;
    copyUserName(&op, first);
    op.replaceAllUsesWith(first);
    op.erase();
    isChanged = true;
  }
  return isChanged;
}

bool tessera::eliminateCommonSubexpressions(ModuleOp module) { return mergeInBlock(*module.getBody()); }
