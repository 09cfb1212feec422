//===- CodeParts.cpp - a module of code, cut for several threads -----------===//

#include "codegen/cpu/object/CodeParts.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/IR/Builders.h"
#include "mlir/IR/SymbolTable.h"
#include "llvm/ADT/SetVector.h"
#include <numeric>

using namespace mlir;
using namespace tessera;

/// More would balance better on many cores, but each brings a target machine and a context of its own.
static constexpr size_t maxParts = 16;

/// Operations that are worth a part: some milliseconds of code generation.
static constexpr size_t leastOps = 512;

/// How long an op of the module takes to compile, in operations.
static size_t costOf(Operation &op) {
  size_t cost = 0;
  op.walk([&](Operation *) { ++cost; });
  return cost;
}

std::vector<CodePart> tessera::divideCode(ModuleOp code) {
  std::vector<Operation *> members;
  std::vector<size_t> costs;
  for (Operation &op : *code.getBody()) {
    members.push_back(&op);
    costs.push_back(costOf(op));
  }
  size_t total = std::accumulate(costs.begin(), costs.end(), size_t(0));
  size_t count = std::clamp<size_t>(total / leastOps, 1, maxParts);

  // The longest first, each to the part that has least: no part is left with much more than the others.
  std::vector<size_t> order(members.size()), loads(count), partOf(members.size());
  std::iota(order.begin(), order.end(), size_t(0));
  llvm::sort(order, [&](size_t a, size_t b) { return std::pair(costs[b], a) < std::pair(costs[a], b); });
  for (size_t member : order) {
    partOf[member] = std::min_element(loads.begin(), loads.end()) - loads.begin();
    loads[partOf[member]] += costs[member];
  }
  std::vector<CodePart> parts(count);
  for (size_t member = 0; member < members.size(); ++member) parts[partOf[member]].push_back(members[member]);
  llvm::erase_if(parts, [](const CodePart &part) { return part.empty(); });
  return parts;
}

/// Makes a symbol of one object one that the other objects see, and nobody else.
template <typename Op> static void showToLinker(Op op) {
  if (op.getLinkage() != LLVM::Linkage::Internal && op.getLinkage() != LLVM::Linkage::Private) return;
  op.setLinkage(LLVM::Linkage::External);
  op.setVisibility_(LLVM::Visibility::Hidden);
}

static void showToLinker(Operation *op) {
  if (auto function = dyn_cast<LLVM::LLVMFuncOp>(op)) showToLinker(function);
  if (auto global = dyn_cast<LLVM::GlobalOp>(op)) showToLinker(global);
}

OwningOpRef<ModuleOp> tessera::makePartModule(ModuleOp code, const CodePart &part) {
  OwningOpRef<ModuleOp> module = ModuleOp::create(code.getLoc());
  (*module)->setAttrs(code->getAttrs());
  OpBuilder builder(module->getBodyRegion());
  builder.setInsertionPointToEnd(module->getBody());
  SymbolTable symbols(code);
  llvm::SetVector<Operation *> used;
  for (Operation *member : part) {
    showToLinker(builder.clone(*member));
    if (auto uses = SymbolTable::getSymbolUses(member))
      for (SymbolTable::SymbolUse use : *uses)
        if (Operation *symbol = symbols.lookup(use.getSymbolRef().getRootReference())) used.insert(symbol);
  }
  for (Operation *symbol : used) {
    if (llvm::is_contained(part, symbol)) continue;
    Operation *declaration = builder.insert(symbol->cloneWithoutRegions());
    if (auto global = dyn_cast<LLVM::GlobalOp>(declaration)) global.removeValueAttr();
    showToLinker(declaration);
  }
  return module;
}
