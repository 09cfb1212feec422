//===- CodeParts.cpp - a module of code, divided for several threads ------===//

#include "codegen/cpu/object/CodeParts.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/IR/Builders.h"
#include "mlir/IR/SymbolTable.h"
#include "llvm/ADT/SetVector.h"
#include <numeric>

using namespace mlir;
using namespace tessera;

/// More parts would balance better on many cores, but each needs its own target machine and context.
static constexpr size_t maxParts = 16;

/// The smallest part, in operations: some milliseconds of code generation.
static constexpr size_t leastOps = 512;

/// The cost of compiling a function or global, in operations.
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

  // The longest first, each to the part with the smallest load, so that no part gets much more than the others.
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

/// Makes a symbol visible to the linker, for the other objects of the program, but does not export it.
template <typename Op> static void makeVisibleToLinker(Op op) {
  if (op.getLinkage() != LLVM::Linkage::Internal && op.getLinkage() != LLVM::Linkage::Private) return;
  op.setLinkage(LLVM::Linkage::External);
  op.setVisibility_(LLVM::Visibility::Hidden);
}

static void makeVisibleToLinker(Operation *op) {
  if (auto function = dyn_cast<LLVM::LLVMFuncOp>(op)) makeVisibleToLinker(function);
  if (auto global = dyn_cast<LLVM::GlobalOp>(op)) makeVisibleToLinker(global);
}

OwningOpRef<ModuleOp> tessera::makePartModule(ModuleOp code, const CodePart &part) {
  OwningOpRef<ModuleOp> module = ModuleOp::create(code.getLoc());
  (*module)->setAttrs(code->getAttrs());
  OpBuilder builder(module->getBodyRegion());
  builder.setInsertionPointToEnd(module->getBody());
  SymbolTable symbols(code);
  llvm::SetVector<Operation *> used;
  for (Operation *member : part) {
    makeVisibleToLinker(builder.clone(*member));
    if (auto uses = SymbolTable::getSymbolUses(member))
      for (SymbolTable::SymbolUse use : *uses)
        if (Operation *symbol = symbols.lookup(use.getSymbolRef().getRootReference())) used.insert(symbol);
  }
  for (Operation *symbol : used) {
    if (llvm::is_contained(part, symbol)) continue;
    Operation *declaration = builder.insert(symbol->cloneWithoutRegions());
    if (auto global = dyn_cast<LLVM::GlobalOp>(declaration)) global.removeValueAttr();
    makeVisibleToLinker(declaration);
  }
  return module;
}
