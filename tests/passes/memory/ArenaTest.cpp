//===- ArenaTest.cpp - scheduled programs through their arena ------------------===//

#include "ir/program/Program.h"
#include "passes/Pipeline.h"
#include "passes/memory/BufferList.h"
#include "tests/differential/RandomGraph.h"
#include "tests/passes/memory/ArenaTarget.h"
#include "gtest/gtest.h"

using namespace mlir;
using namespace tessera;
using namespace tessera::test;

/// Values in the arena are the interpreter's own, bit for bit: both compute in f64.
static void expectSame(const Trace &expected, const Trace &got, unsigned seed) {
  ASSERT_EQ(expected.size(), got.size()) << "seed " << seed;
  for (auto &[name, value] : expected) {
    auto it = got.find(name);
    ASSERT_NE(it, got.end()) << "seed " << seed << ": " << name << " is missing";
    EXPECT_EQ(maxDifference(value, it->second), 0) << "seed " << seed << ": " << name;
  }
}

TEST(Arena, RandomProgramsReadWhatTheyWrote) {
  for (unsigned seed = 0; seed < 150; ++seed) {
    MLIRContext context;
    OwningOpRef<ModuleOp> module = makeRandomProgram(context, seed, Float64Type::get(&context));
    ASSERT_TRUE(succeeded(runPipeline(*module, {}))) << "seed " << seed;
    InterpreterRunner interpreter(Rounding::Double);
    ArenaTarget arena;
    ASSERT_TRUE(succeeded(interpreter.load(*module)) && succeeded(arena.load(*module)));
    FailureOr<Trace> expected = trace(interpreter, *module, true), got = trace(arena, *module, true);
    ASSERT_TRUE(succeeded(expected) && succeeded(got)) << "seed " << seed;
    expectSame(*expected, *got, seed);
    auto bytes = module->getOperation()->getAttrOfType<IntegerAttr>(attrs::arena).getInt();
    EXPECT_GE(bytes, arenaLowerBound(*module)) << "seed " << seed;
    auto bound = module->getOperation()->getAttrOfType<IntegerAttr>(attrs::arenaBound).getInt();
    EXPECT_LE(arenaLowerBound(*module), bound) << "seed " << seed;
    EXPECT_LE(static_cast<double>(bytes), 1.02 * static_cast<double>(bound)) << "seed " << seed;
    if (HasFatalFailure()) return;
  }
}
