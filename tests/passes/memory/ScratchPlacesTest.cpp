//===- ScratchPlacesTest.cpp - scratch memory beside what is live ---------===//

#include "passes/memory/ScratchPlaces.h"
#include "ir/program/Program.h"
#include "passes/analysis/LaunchGroups.h"
#include "passes/memory/Offsets.h"
#include "passes/memory/VerifyPlaces.h"
#include "tests/passes/memory/PlannedModel.h"
#include "llvm/ADT/SmallSet.h"
#include "gtest/gtest.h"
#include <random>

using namespace mlir;
using namespace tessera;
using namespace tessera::test;

static int64_t arenaOf(ModuleOp module) { return module->getAttrOfType<IntegerAttr>(attrs::arena).getInt(); }

/// The first ops of the launches of kernels and contractions.
static SmallVector<Operation *> launchesOf(func::FuncOp function) {
  SmallVector<Operation *> launches;
  function.getBody().walk<WalkOrder::PreOrder>([&](Operation *op) {
    if (isa<KernelOp, TiledOp, ContractOp>(op) && launchOf(op).front() == op) launches.push_back(op);
  });
  return launches;
}

TEST(ScratchPlaces, OverwriteNothing) {
  MLIRContext context;
  std::minstd_rand chance(7);
  unsigned inside = 0, all = 0;
  auto expectRight = [&](ModuleOp module, const std::string &what) {
    for (func::FuncOp function : entryFunctions(module)) {
      ScratchPlaces scratch(function, arenaOf(module), 2);
      for (Operation *first : launchesOf(function)) {
        int64_t bytes = 1 + chance() % (arenaOf(module) / 32);
        int64_t offset = scratch.place(first, bytes);
        EXPECT_EQ(offset % bufferAlignment, 0) << what;
        EXPECT_LE(offset + 2 * bytes, scratch.getEnd()) << what;
        ++all, inside += offset + 2 * bytes <= arenaOf(module);
      }
      EXPECT_LE(scratch.leastBytes(), scratch.getEnd()) << what;
      EXPECT_TRUE(succeeded(verifyScratch(function, scratch, scratch.getEnd())))
          << what << " " << function.getName().str();
    }
  };
  expectRight(*planText(context, layeredModel, {}), "layers");
  for (const std::string &name : exampleNames()) expectRight(*planExample(context, name, {}), name);
  EXPECT_GT(inside * 2, all) << "most scratch memory lies where values are at other times";
}

TEST(ScratchPlaces, ThoseOfOneKernelAreUsedAgain) {
  MLIRContext context;
  OwningOpRef<ModuleOp> module = planText(context, layeredModel, {});
  auto function = module->lookupSymbol<func::FuncOp>("step");
  ScratchPlaces scratch(function, arenaOf(*module), 1);
  llvm::SmallSet<int64_t, 8> offsets;
  SmallVector<Operation *> launches = launchesOf(function);
  for (Operation *first : launches) offsets.insert(scratch.place(first, 64));
  EXPECT_LT(offsets.size() * 4, launches.size());
}

/// The phases make no wrong program, so values of a right one are moved to where the scratch memory of a kernel is that
/// runs while they are live.
TEST(ScratchPlaces, VerifierFindsWhatTheyOverwrite) {
  MLIRContext context;
  OwningOpRef<ModuleOp> module = planText(context, layeredModel, {});
  auto function = module->lookupSymbol<func::FuncOp>("step");
  // Without holes: all scratch memory is on top of the values.
  int64_t arena = arenaOf(*module);
  ScratchPlaces scratch(function, arena, 1);
  for (Operation *first : launchesOf(function)) scratch.place(first, arena);
  ASSERT_TRUE(succeeded(verifyScratch(function, scratch, scratch.getEnd())));
  Builder builder(&context);
  (*module)->setAttr(attrs::arena, builder.getI64IntegerAttr(scratch.getEnd()));
  auto moved = builder.getArrayAttr(PlaceAttr::get(&context, scratch.getEnd() - arena, {}));
  ScopedDiagnosticHandler silent(&context, [](Diagnostic &) { return success(); });
  unsigned found = 0;
  for (Operation *first : launchesOf(function)) {
    if (first->getNumResults() != 1) continue;
    Attribute places = first->getAttr(attrs::places);
    first->setAttr(attrs::places, moved);
    // Of a value with views, or in a repeat, more than one place had to change.
    if (succeeded(verifyPlaces(*module))) {
      EXPECT_TRUE(failed(verifyScratch(function, scratch, scratch.getEnd())));
      ++found;
    }
    first->setAttr(attrs::places, places);
  }
  EXPECT_GT(found, 5u);
}
