//===- EditsTest.cpp - kernels that lose results --------------------------===//

#include "passes/rematerialize/Edits.h"
#include "ir/dialect/Attributes.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Parser/Parser.h"
#include "passes/kernel/ThreadMapping.h"
#include <gtest/gtest.h>

using namespace mlir;
using namespace tessera;

/// A kernel that sums along `serial`. Its second result, which nothing reads, is its operand as `element`.
static std::string moduleText(const std::string &target, const std::string &element, const std::string &serial) {
  std::string parallel = serial == "col" ? "row" : "col", axes = "[row: 512, col: 4096], ";
  std::string wide = "!tsr.tensor<" + axes + "f32>", narrow = "!tsr.tensor<" + axes + element + ">";
  std::string sums = "!tsr.tensor<[" + parallel + ": " + (parallel == "row" ? "512" : "4096") + "], f32>";
  std::string convert = "tsr.cast %a : <" + axes + "f32> to <" + axes + element + ">";
  if (element == "f32") convert = "tsr.neg %a : " + wide;
  return "module attributes {tsr.axes = [\"row\", \"col\"], tsr.phase = \"tile\", tsr.target = \"" + target +
         "\"} {\n" + "func.func @step(%x: " + wide + ") -> " + sums + " {\n" + //
         "%s, %y = tsr.kernel \"k\" (%a = %x : " + wide + ") parallel [\"" + parallel + "\"] serial [\"" + serial +
         "\"] vector \"col\" -> (" + sums + ", " + narrow + ") {\n" +                          //
         "%t = tsr.reduce sum %a over [\"" + serial + "\"] : " + wide + " -> " + sums + "\n" + //
         "%z = " + convert + "\n" +                                                            //
         "tsr.yield %t, %z : " + sums + ", " + narrow + "\n}\nreturn %s : " + sums + "\n}\n}\n";
}

namespace {
/// A step of one kernel, whose second result is not read.
struct Step {
  Step(const std::string &target, const std::string &element, const std::string &serial) {
    context.loadDialect<TsrDialect, func::FuncDialect>();
    module = parseSourceString<ModuleOp>(moduleText(target, element, serial), &context);
    if (module) kernel = *module->lookupSymbol<func::FuncOp>("step").getBody().front().getOps<KernelOp>().begin();
  }
  Target target() { return *Target::read(*module); }

  MLIRContext context;
  OwningOpRef<ModuleOp> module;
  KernelOp kernel;
};
} // namespace

/// The vectors of a row or of columns are as wide as the reduced-precision result suggests, also without it.
TEST(Edits, KernelsKeepTheOrderOfTheirSums) {
  for (const char *serial : {"col", "row"}) {
    Step step("cuda", "bf16", serial), other("cuda", "f32", serial);
    ASSERT_TRUE(step.kernel && other.kernel);
    std::optional<SumOrder> before = orderOfSums(step.kernel, step.target());
    ASSERT_TRUE(before);
    KernelOp less = withoutUnused(step.kernel);
    ASSERT_EQ(less->getNumResults(), 1u);
    EXPECT_EQ(orderOfSums(less, step.target()), before);
    EXPECT_TRUE(succeeded(checkOrderOfSums(less)));
    // Along rows the order would change.
    less->removeAttr(attrs::sums);
    EXPECT_EQ(orderOfSums(less, step.target()) == before, serial == llvm::StringRef("row"));
    // Nothing is recorded where it would not.
    EXPECT_FALSE(withoutUnused(other.kernel)->hasAttr(attrs::sums));
  }
}

/// The order of sums on CPUs depends on the axes alone.
TEST(Edits, RecordNoOrderOfSumsForCpus) {
  Step step("cpu", "bf16", "col");
  ASSERT_TRUE(step.kernel);
  EXPECT_FALSE(withoutUnused(step.kernel)->hasAttr(attrs::sums));
}

/// Whoever edits a dump learns what is wrong with it.
TEST(Edits, RefuseAnOrderThatNoThreadsCanFollow) {
  Step step("cuda", "bf16", "col");
  ASSERT_TRUE(step.kernel);
  std::string message;
  ScopedDiagnosticHandler handler(&step.context, [&](Diagnostic &diagnostic) {
    message = diagnostic.str();
    return success();
  });
  for (auto [vector, group] : {std::pair(3, 32), {8, 0}, {16, 32}, {8, 1024}}) {
    step.kernel->setAttr(attrs::sums, DenseI64ArrayAttr::get(&step.context, {vector, group}));
    EXPECT_TRUE(failed(checkOrderOfSums(step.kernel)));
    EXPECT_NE(message.find("up to 8, and the threads of a group, up to 512"), std::string::npos) << message;
  }
}
