//===- ModuleDiffTest.cpp - what `tessera diff` says of two modules -------===//

#include "tools/diff/ModuleDiff.h"
#include "ir/dialect/Tsr.h"
#include "mlir/Parser/Parser.h"
#include <gtest/gtest.h>

using namespace mlir;
using namespace tessera;

namespace {

/// The text of the difference, and whether there is one.
struct Difference {
  bool differs = false;
  std::string text;
};

Difference diffModules(const std::string &before, const std::string &after) {
  MLIRContext context(MLIRContext::Threading::DISABLED);
  context.loadDialect<TsrDialect, func::FuncDialect>();
  auto old = parseSourceString<ModuleOp>(before, &context), now = parseSourceString<ModuleOp>(after, &context);
  EXPECT_TRUE(old) << before;
  EXPECT_TRUE(now) << after;
  Difference result;
  if (!old || !now) return result;
  llvm::raw_string_ostream out(result.text);
  result.differs = printModuleDiff(*old, *now, out);
  EXPECT_EQ(result.differs, !result.text.empty());
  return result;
}

/// A module with one entry function of one argument, `x`.
std::string moduleOf(const std::string &body, const std::string &attributes = "") {
  return "module attributes {tsr.phase = \"simplify\"" + attributes + "} {\n" +
         "func.func @step(%x: !tsr.tensor<[n: 4], f32> {tsr.input = {name = \"x\"}}) -> !tsr.tensor<[n: 4], f32> {\n" +
         body + "\n}\n}";
}

std::string diffBodies(const std::string &before, const std::string &after) {
  return diffModules(moduleOf(before), moduleOf(after)).text;
}

TEST(ModuleDiff, SeesNoDifferenceInNamesOfValuesLocationsAndPhase) {
  std::string plain = moduleOf(R"(
    %e = tsr.exp %x as "e" : <[n: 4], f32>
    return %e : !tsr.tensor<[n: 4], f32>)");
  std::string other = R"(module attributes {tsr.phase = "layout"} {
    func.func @step(%input: !tsr.tensor<[n: 4], f32> {tsr.input = {name = "x"}}) -> !tsr.tensor<[n: 4], f32> {
      %result = tsr.exp %input as "e" : <[n: 4], f32> loc("model.tsr":3:5)
      return %result : !tsr.tensor<[n: 4], f32>
    }
  })";
  EXPECT_FALSE(diffModules(plain, plain).differs);
  EXPECT_EQ(diffModules(plain, other).text, "");
}

TEST(ModuleDiff, CountsAndNamesWhatIsAddedAndRemoved) {
  std::string text = diffBodies(R"(
    %e = tsr.exp %x as "e" : <[n: 4], f32>
    return %e : !tsr.tensor<[n: 4], f32>)",
                                R"(
    %s = tsr.sin %x as "s" : <[n: 4], f32>
    %t = tsr.neg %s as "s" : <[n: 4], f32>
    return %t : !tsr.tensor<[n: 4], f32>)");
  EXPECT_EQ(text, "step: 2 added, 1 removed, 1 changed\n"
                  "  - e: tsr.exp\n"
                  "  + s: tsr.sin, tsr.neg\n"
                  "  ~ (no name): func.return: operands `e` tsr.exp => `s` tsr.neg\n");
}

TEST(ModuleDiff, TakesAnOpUnderAnotherNameForMoved) {
  std::string text = diffBodies(R"(
    %e = tsr.exp %x as "old" : <[n: 4], f32>
    return %e : !tsr.tensor<[n: 4], f32>)",
                                R"(
    %e = tsr.exp %x as "new" : <[n: 4], f32>
    return %e : !tsr.tensor<[n: 4], f32>)");
  EXPECT_EQ(text, "step: 1 moved, 1 changed\n"
                  "  > into the function: tsr.exp\n"
                  "  ~ (no name): func.return: operands `old` tsr.exp => `new` tsr.exp\n");
}

TEST(ModuleDiff, TakesAnOpInAKernelForMoved) {
  std::string text = diffBodies(R"(
    %e = tsr.exp %x as "e" : <[n: 4], f32>
    return %e : !tsr.tensor<[n: 4], f32>)",
                                R"(
    %k = tsr.kernel "k" (%a = %x : !tsr.tensor<[n: 4], f32>) parallel [n] {
      %e = tsr.exp %a as "e" : <[n: 4], f32>
      tsr.yield %e : !tsr.tensor<[n: 4], f32>
    }
    return %k : !tsr.tensor<[n: 4], f32>)");
  EXPECT_EQ(text, "step: 2 added, 1 moved, 1 changed\n"
                  "  + (no name): tsr.kernel, tsr.yield\n"
                  "  > into kernel k: tsr.exp\n"
                  "  ~ (no name): func.return: operands `e` tsr.exp => tsr.kernel\n");
}

TEST(ModuleDiff, SaysWhatChangedInAnOp) {
  std::string text = diffBodies(R"(
    %y = tsr.mul %x, %x as "y" : <[n: 4], f32>
    return %y : !tsr.tensor<[n: 4], f32>)",
                                R"(
    %half = tsr.constant 0.5
    %y = tsr.mul %x, %half as "y" {tsr.precision = f32} : <[n: 4], f32>, <[], f32>
    return %y : !tsr.tensor<[n: 4], f32>)");
  EXPECT_EQ(text, "step: 1 added, 1 changed, 1 the same\n"
                  "  + (no name): tsr.constant 0.5\n"
                  "  ~ y: tsr.mul: types ([n: 4] f32, [n: 4] f32) -> ([n: 4] f32) => "
                  "([n: 4] f32, [] f32) -> ([n: 4] f32); tsr.precision none => f32; "
                  "operands argument `x`, argument `x` => argument `x`, tsr.constant 0.5\n");
}

TEST(ModuleDiff, SeesAnotherOrderOfEqualOps) {
  std::string text = diffBodies(R"(
    %a = tsr.exp %x : <[n: 4], f32>
    %b = tsr.sin %x : <[n: 4], f32>
    %c = tsr.sub %a, %b : <[n: 4], f32>
    return %c : !tsr.tensor<[n: 4], f32>)",
                                R"(
    %b = tsr.sin %x : <[n: 4], f32>
    %a = tsr.exp %x : <[n: 4], f32>
    %c = tsr.sub %a, %b : <[n: 4], f32>
    return %c : !tsr.tensor<[n: 4], f32>)");
  EXPECT_EQ(text, "step: the same ops in another order, or on other operands of the same kinds\n");
}

TEST(ModuleDiff, ComparesModuleAttributesStateAndSignatures) {
  auto module = [](const std::string &attributes, const std::string &state, const std::string &arguments) {
    return "module attributes {tsr.phase = \"simplify\", " + attributes + "} {\n" + state + "\nfunc.func @step(" +
           arguments + ") {\n return\n}\n}";
  };
  Difference difference = diffModules(
      module(
          "tsr.model = \"m\", tsr.arena = 64 : i64",
          "tsr.state @w \"weight\" !tsr.tensor<[n: 4], f32>\n"
          "tsr.state @step \"counter\" !tsr.tensor<[], i32>",
          "%w: !tsr.tensor<[n: 4], f32> {tsr.state = @w}, %x: !tsr.tensor<[n: 4], f32> {tsr.input = {name = \"x\"}}"),
      module("tsr.model = \"m\", tsr.audit",
             "tsr.state @w \"weight\" !tsr.tensor<[n: 4], bf16>\n"
             "tsr.state @w.m \"moment\" !tsr.tensor<[n: 4], f32>",
             "%w: !tsr.tensor<[n: 4], bf16> {tsr.state = @w}"));
  EXPECT_EQ(difference.text, "module: 1 added, 1 removed\n"
                             "  - tsr.arena: 64 : i64\n"
                             "  + tsr.audit: unit\n"
                             "state: 1 added, 1 removed, 1 changed\n"
                             "  - step: counter [] i32\n"
                             "  ~ w: weight [n: 4] f32 => weight [n: 4] bf16\n"
                             "  + w.m: moment [n: 4] f32\n"
                             "step arguments: 1 removed, 1 changed\n"
                             "  - x: [n: 4] f32 {tsr.input = {name = \"x\"}}\n"
                             "  ~ w: [n: 4] f32 {tsr.state = @w} => [n: 4] bf16 {tsr.state = @w}\n");
}

TEST(ModuleDiff, NamesFunctionsThatOneSideLacks) {
  std::string before = "module { func.func @init() { return } }";
  std::string after = "module { func.func @step() { return } }";
  EXPECT_EQ(diffModules(before, after).text, "init: removed, 1 ops\nstep: added, 1 ops\n");
}

} // namespace
