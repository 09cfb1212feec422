//===- OptimizerRulesTest.cpp - the table of optimizer rules --------------===//
//
// The formulas are compared, over a few steps, with the same rules in plain C++.
//
//===----------------------------------------------------------------------===//

#include "ir/optimizer/OptimizerRules.h"
#include "mlir/Pass/PassManager.h"
#include "passes/Passes.h"
#include "tests/ir/TextProgram.h"
#include "llvm/ADT/StringSet.h"
#include <cmath>
#include <fstream>
#include <iterator>
#include <regex>

using namespace tessera;
using tessera::test::TextProgram;
using Numbers = std::vector<double>;

namespace {
using Hypers = std::vector<std::pair<std::string, double>>;

/// A program whose `step` is one update of a vector `w` of three elements, after `optimize`.
std::unique_ptr<TextProgram> makeProgram(const std::string &rule, const Hypers &hypers) {
  std::string vector = "!tsr.tensor<[a: 3], f64>", scalar = "!tsr.tensor<[], f64>", constants, names, values, types;
  for (auto &[name, value] : hypers) {
    constants += "%" + name + " = tsr.constant " + std::to_string(value) + " : f64 -> " + scalar + "\n";
    names += (names.empty() ? "\"" : ", \"") + name + "\"";
    values += (values.empty() ? "%" : ", %") + name;
    types += ", " + scalar;
  }
  auto program = std::make_unique<TextProgram>(
      "module attributes {tsr.axes = [\"a\"]} {\n"
      "tsr.state @w \"weight\" " +
      vector +
      "\n"
      "func.func @step(%w: " +
      vector + " {tsr.state = @w}, %g: " + vector +
      " {tsr.input = {name = \"g\", role = \"data\"}}, %t: !tsr.tensor<[], i32>, %norm: " + scalar + ") -> (" + vector +
      " {tsr.state = @w}) {\n" + constants + "%n = tsr.update \"" + rule +
      "\" @w %w gradient %g step %t norm %norm "
      "arguments [" +
      names + "](" + values + ") : (" + vector + ", " + vector + ", !tsr.tensor<[], i32>, " + scalar + types + ") -> " +
      vector + "\nreturn %n : " + vector + "\n}\n}");
  mlir::PassManager passes(program->getModule()->getContext());
  passes.addPass(createOptimizePass());
  EXPECT_TRUE(mlir::succeeded(passes.run(program->getModule())));
  return program;
}

/// The parameter and `count` tensors of state after each of three steps on fixed gradients.
std::vector<std::vector<Numbers>> train(const std::string &rule, const Hypers &hypers, unsigned count) {
  auto program = makeProgram(rule, hypers);
  std::vector<Numbers> state(1 + count, Numbers(3, 0));
  state[0] = {1, -2, 0.5};
  std::vector<std::vector<Numbers>> history;
  for (int t = 0; t < 3; ++t) {
    std::vector<Numbers> arguments{state[0]};
    arguments.insert(arguments.end(), state.begin() + 1, state.end());
    arguments.push_back({0.5 - t, 0.25 * t, -1});
    arguments.push_back({double(t)});
    arguments.push_back({1});
    state = program->run("step", arguments);
    history.push_back(state);
  }
  return history;
}

/// The same by `formula(w, state, gradient, t)`, which steps one element.
template <typename Formula>
void expectSteps(const std::vector<std::vector<Numbers>> &history, unsigned count, Formula formula) {
  Numbers w{1, -2, 0.5};
  std::vector<Numbers> state(3, Numbers(count, 0)); // by element
  ASSERT_EQ(history.size(), 3u);
  for (int t = 0; t < 3; ++t) {
    ASSERT_EQ(history[t].size(), 1 + count);
    Numbers gradients{0.5 - t, 0.25 * t, -1};
    for (int i = 0; i < 3; ++i) {
      formula(w[i], state[i], gradients[i], t + 1);
      EXPECT_NEAR(history[t][0][i], w[i], 1e-12) << "parameter, step " << t << ", element " << i;
      for (unsigned s = 0; s < count; ++s)
        EXPECT_NEAR(history[t][1 + s][i], state[i][s], 1e-12) << "state " << s << ", step " << t << ", element " << i;
    }
  }
}
} // namespace

TEST(OptimizerRules, SgdWithoutMomentumKeepsNoState) {
  expectSteps(train("sgd", {{"rate", 0.1}, {"momentum", 0}, {"decay", 0.5}}, 0), 0,
              [](double &w, Numbers &, double g, int) { w -= 0.1 * (g + 0.5 * w); });
}

TEST(OptimizerRules, SgdWithMomentum) {
  expectSteps(train("sgd", {{"rate", 0.1}, {"momentum", 0.9}}, 1), 1, [](double &w, Numbers &state, double g, int) {
    state[0] = 0.9 * state[0] + g;
    w -= 0.1 * state[0];
  });
}

/// One step of Adam on an element, with beta1 = 0.9, beta2 = 0.95, epsilon = 1e-3 and rate 0.1.
static void stepAdam(double &w, Numbers &state, double g, int t) {
  state[0] = 0.9 * state[0] + 0.1 * g;
  state[1] = 0.95 * state[1] + 0.05 * g * g;
  double m = state[0] / (1 - std::pow(0.9, t)), v = state[1] / (1 - std::pow(0.95, t));
  w -= 0.1 * m / (std::sqrt(v) + 1e-3);
}

static const Hypers adamHypers = {{"rate", 0.1}, {"beta1", 0.9}, {"beta2", 0.95}, {"epsilon", 1e-3}, {"decay", 0.5}};

TEST(OptimizerRules, AdamAddsTheDecayToTheGradient) {
  expectSteps(train("adam", adamHypers, 2), 2,
              [](double &w, Numbers &state, double g, int t) { stepAdam(w, state, g + 0.5 * w, t); });
}

TEST(OptimizerRules, AdamwDecouplesTheDecay) {
  expectSteps(train("adamw", adamHypers, 2), 2, [](double &w, Numbers &state, double g, int t) {
    w *= 1 - 0.1 * 0.5;
    stepAdam(w, state, g, t);
  });
}

TEST(OptimizerRules, LionStepsByTheSign) {
  Hypers hypers = {{"rate", 0.1}, {"beta1", 0.5}, {"beta2", 0.75}, {"decay", 0.5}};
  expectSteps(train("lion", hypers, 1), 1, [](double &w, Numbers &state, double g, int) {
    double direction = 0.5 * state[0] + 0.5 * g;
    int sign = (direction > 0) - (direction < 0); // 0 at the first step of the second element, whose gradient is 0
    w = w - 0.1 * (sign + 0.5 * w);
    state[0] = 0.75 * state[0] + 0.25 * g;
  });
}

TEST(OptimizerRules, StateExistsWhereItsArgumentIsUsed) {
  auto all = [](llvm::StringRef) { return true; };
  auto none = [](llvm::StringRef) { return false; };
  EXPECT_EQ(findOptimizerRule("sgd")->stateNames(all), llvm::SmallVector<llvm::StringRef>{"momentum"});
  EXPECT_TRUE(findOptimizerRule("sgd")->stateNames(none).empty());
  EXPECT_EQ(findOptimizerRule("adamw")->stateNames(none), (llvm::SmallVector<llvm::StringRef>{"m", "v"}));
  EXPECT_EQ(findOptimizerRule("lamb"), nullptr);
}

TEST(OptimizerRules, NamesAreUnique) {
  llvm::StringSet<> rules;
  for (const OptimizerRule &rule : optimizerRules()) {
    EXPECT_TRUE(rules.insert(rule.name).second) << rule.name.str();
    llvm::StringSet<> names, irNames;
    for (const OptimizerArgument &argument : rule.arguments) {
      EXPECT_TRUE(names.insert(argument.name).second) << rule.name.str() << " " << argument.name.str();
      EXPECT_TRUE(irNames.insert(argument.irName).second) << rule.name.str() << " " << argument.irName.str();
    }
    for (const OptimizerState &state : rule.state)
      EXPECT_TRUE(state.onlyWith.empty() || irNames.contains(state.onlyWith)) << rule.name.str();
  }
}

/// The language reference shows the signature of every rule.
TEST(OptimizerRules, LanguageReferenceListsThem) {
  std::ifstream file(LANGUAGE_REFERENCE);
  std::string text{std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>()};
  text = std::regex_replace(text, std::regex("\\s+"), " ");
  for (const OptimizerRule &rule : optimizerRules())
    EXPECT_NE(text.find("`" + rule.signature() + "`"), std::string::npos) << rule.signature();
}
