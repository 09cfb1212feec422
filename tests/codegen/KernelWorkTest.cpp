//===- KernelWorkTest.cpp - how many elements a kernel computes -----------===//

#include "passes/cost/KernelWork.h"
#include "KernelCheck.h"
#include "mlir/Parser/Parser.h"
#include <gtest/gtest.h>

using namespace mlir;
using namespace tessera;
using namespace tessera::test;

namespace {

const std::string matrix = "[row: 8, col: 100], f32", rows = "[row: 8], f32", columns = "[col: 100], f32";

/// What the kernel computes, as "exp 800, sub 1600".
std::string opsOf(const KernelText &text) {
  MLIRContext context;
  context.loadDialect<TsrDialect, func::FuncDialect>();
  OwningOpRef<ModuleOp> module = parseSourceString<ModuleOp>("module {\n" + text.str() + "\n}", &context);
  std::string result;
  if (!module) return "no module";
  module->walk([&](KernelOp kernel) {
    for (const OpCount &count : workOf(kernel).ops)
      result += (result.empty() ? "" : ", ") + count.op.str() + " " + std::to_string(count.elements);
  });
  return result;
}

std::string rowwise(const char *name, const char *a, const char *b) {
  return std::string(name) + " " + a + ", " + b + " : (" + T(matrix) + ", " + T(rows) + ") -> " + T(matrix);
}

/// A sweep for the maximum, one for the sum, one for the results: the difference is computed in two, and so is its
/// exponential.
TEST(KernelWork, ValuesCountInEverySweep) {
  KernelText softmax{{{"x", matrix}},
                     "\"row\"",
                     "\"col\"",
                     "col",
                     op("%m", "reduce max %x over [\"col\"] : " + T(matrix) + " -> " + T(rows)) +
                         op("%d", rowwise("sub", "%x", "%m")) + op("%e", "exp %d : " + T(matrix)) +
                         op("%s", "reduce sum %e over [\"col\"] : " + T(matrix) + " -> " + T(rows)) +
                         op("%y", rowwise("div", "%e", "%s")),
                     {{"%y", matrix}}};
  EXPECT_EQ(opsOf(softmax), "div 800, exp 1600, reduce 1600, sub 1600");
}

/// Row values are computed once for a row, and constants not at all.
TEST(KernelWork, RowValuesCountOnceForARow) {
  KernelText scaled{{{"x", matrix}, {"r", rows}},
                    "\"row\", \"col\"",
                    "",
                    "col",
                    op("%c", "constant 2.0 : f32 -> " + T("[], f32")) +
                        op("%q", "mul %r, %c : (" + T(rows) + ", " + T("[], f32") + ") -> " + T(rows)) +
                        op("%y", rowwise("mul", "%x", "%q")),
                    {{"%y", matrix}}};
  EXPECT_EQ(opsOf(scaled), "mul 808");
}

/// A scatter counts the elements that it adds, not the positions that it adds them to.
TEST(KernelWork, ScattersCountUpdates) {
  std::string updates = "[n: 6, embed: 16], f32", table = "[word: 1000, embed: 16], f32", index = "[n: 6], i32";
  KernelText gradient{{{"u", updates}, {"i", index}, {"a", table}},
                      "\"embed\"",
                      "\"n\"",
                      "embed",
                      op("%y", "scatter_add %u [[\"word\"] = %i] init %a : (" + T(updates) + ", " + T(index) + ", " +
                                   T(table) + ") -> " + T(table)),
                      {{"%y", table}}};
  EXPECT_EQ(opsOf(gradient), "scatter_add 96");
}

/// What varies along an outer and an inner loop is computed in every iteration of those between them, as the sines of
/// rotary positions are for every head.
TEST(KernelWork, ValuesOfInnerLoopsCountInEveryIterationAround) {
  std::string heads = "[pos: 8, head: 6, half: 32], f32", angles = "[pos: 8, half: 32], f32";
  auto rotary = [&](const std::string &parallel) {
    return KernelText{{{"x", heads}, {"a", angles}},
                      parallel,
                      "",
                      "half",
                      op("%s", "sin %a : " + T(angles)) +
                          op("%y", "mul %x, %s : (" + T(heads) + ", " + T(angles) + ") -> " + T(heads)),
                      {{"%y", heads}}};
  };
  EXPECT_EQ(opsOf(rotary("\"pos\", \"head\", \"half\"")), "mul 1536, sin 1536");
  // Along an inner loop that the angles lack, they are computed once.
  std::string inner = "[pos: 8, half: 32, head: 6], f32";
  KernelText hoisted{{{"x", inner}, {"a", angles}},
                     "\"pos\", \"half\", \"head\"",
                     "",
                     "head",
                     op("%s", "sin %a : " + T(angles)) +
                         op("%y", "mul %x, %s : (" + T(inner) + ", " + T(angles) + ") -> " + T(inner)),
                     {{"%y", inner}}};
  EXPECT_EQ(opsOf(hoisted), "mul 1536, sin 256");
}

} // namespace
