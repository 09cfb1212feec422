//===- StatesTest.cpp - states of models ----------------------------------===//

#include "tests/frontend/Compiled.h"

using namespace tessera;
using namespace tessera::test;

namespace {

/// A model with this body, the weight a = 1 in it, and a training description with these items.
std::string withBody(const std::string &body, const std::string &items = "  loss l = mean[batch](m(d.x))\n") {
  return "use nn: batch_norm\ndim batch, f = 4, layer = 3\n"
         "model m(x[batch, f]) -> [batch] {\n  weight a [] = 1\n" +
         body + "}\ntrain m {\n  data d = csv(train = \"t.csv\", batch = 4, x = float[f](column = 0))\n" + items +
         "  optimize sgd(lr = 0.1) on **\n}\n";
}

// The mean of all elements of `Rows` is 2.5.
TEST(States, AReadGivesTheValueBeforeTheStep) {
  Compiled model(withBody("  state s [] = 5\n  let before = s\n  s := 2 * s + mean[..](x)\n"
                          "  metric early = before\n  metric late = s\n  sum[f](a * x)\n"));
  for (double before : {5.0, 12.5, 27.5}) {
    NamedNumbers results = model.step(Rows);
    EXPECT_DOUBLE_EQ(metric(results, "early"), before);
    EXPECT_DOUBLE_EQ(metric(results, "late"), before);
    EXPECT_DOUBLE_EQ(model.state().at("s")[0], 2 * before + 2.5);
  }
  NamedNumbers evaluated = model.run("evaluate", Rows);
  EXPECT_DOUBLE_EQ(metric(evaluated, "late"), 57.5);
  EXPECT_EQ(evaluated.count("state s"), 0u) << "an evaluation assigns nothing";
  EXPECT_EQ(model.run("predict", Rows).count("state s"), 0u);
}

// y is 10 a. The loss is y s, of which s is a constant, though it has been computed from a.
TEST(States, NoGradientFlowsThroughThem) {
  Compiled model(withBody("  state s [] = 5\n  let y = sum[f](a * x)\n  s := mean[batch](y)\n  y * s\n"));
  model.step(Rows);
  EXPECT_NEAR(model.state().at("a")[0], 1 - 0.1 * 50, 1e-6);
  EXPECT_DOUBLE_EQ(model.state().at("s")[0], 10);
  model.step(Rows);
  EXPECT_NEAR(model.state().at("a")[0], -4 - 0.1 * 100, 1e-6);
  EXPECT_NEAR(model.state().at("s")[0], -40, 1e-6);
}

TEST(States, EachLayerHasItsOwn) {
  Compiled model(withBody("  repeat[layer](h = sum[f](a * x)) {\n    weight g [] = 2\n    state c [] = 1\n"
                          "    c := c + mean[batch](h)\n    g * h * c\n  }\n"));
  EXPECT_DOUBLE_EQ(model.step(Rows)["loss l"][0], 80);
  EXPECT_EQ(model.state().at("c"), (Numbers{11, 21, 41}));
  EXPECT_NEAR(model.state().at("a")[0], 1 - 0.1 * 80, 1e-6);
  for (double g : model.state().at("g")) EXPECT_NEAR(g, 2 - 0.1 * 40, 1e-6);
  EXPECT_NEAR(model.step(Rows)["loss l"][0], 8 * 70 * 11 * 21 * 41, 1);
}

// The means of the two parts are 1.5 and 4.5; the second part reads what the first has assigned.
TEST(States, MicroBatchesAssignThemInOrder) {
  const NamedNumbers parts = {{"d.x", {1, 1, 1, 1, 2, 2, 2, 2, 3, 3, 3, 3, 6, 6, 6, 6}}};
  for (bool isInRepeat : {false, true}) {
    std::string body = "  state s [] = 1\n  s := 2 * s + mean[..](x)\n  metric read = s\n";
    if (isInRepeat) body = "  let n = repeat[layer](n = 0.0) {\n" + body + "  n + s\n  }\n";
    Compiled model(withBody(body + "  sum[f](a * x)\n", "  loss l = mean[batch](m(d.x))\n  accumulate(2)\n"));
    EXPECT_NEAR(metric(model.step(parts), "read"), (1 + 3.5) / 2, 1e-6);
    EXPECT_EQ(model.state().at("s"), Numbers(isInRepeat ? 3 : 1, 2 * 3.5 + 4.5));
    EXPECT_NEAR(model.state().at("a")[0], 1 - 0.1 * 12, 1e-6);
    EXPECT_EQ(model.diagnostics().size(), 1u) << "the mean over a part of the batch";
  }
}

// The unbiased variances of the two parts are 0.5 and 4.5. The loss is a sum, which no size of a part enters.
TEST(States, TheSizeOfThePartIsThatOfTheStatistics) {
  const NamedNumbers parts = {{"d.x", {1, 1, 1, 1, 2, 2, 2, 2, 3, 3, 3, 3, 6, 6, 6, 6}}};
  Compiled model(withBody("  let n = bn: batch_norm[f](x)\n  sum[f](a * n)\n",
                          "  loss l = sum[batch](m(d.x))\n  accumulate(2)\n"));
  EXPECT_NEAR(model.step(parts)["loss l"][0], 0, 1e-5);
  for (double var : model.state().at("bn.var")) EXPECT_NEAR(var, 0.9 * (0.9 * 1 + 0.1 * 0.5) + 0.1 * 4.5, 1e-6);
}

// What parts of a batch add to a state is what the batch adds, if nothing else is done with it.
TEST(States, SumsThatAreAddedDoNotDependOnTheParts) {
  const NamedNumbers rows = {{"d.x", {1, 1, 1, 1, 2, 2, 2, 2, 3, 3, 3, 3, 6, 6, 6, 6}}};
  for (const char *items : {"  loss l = mean[batch](m(d.x))\n", "  loss l = mean[batch](m(d.x))\n  accumulate(2)\n"}) {
    Compiled model(withBody("  state s, n [] = 5\n  s := 0.5 * sum[..](x) + s - sum[batch, f](x * x)\n"
                            "  n := n + sum[..](x > 1.5)\n  sum[f](a * x)\n",
                            items));
    model.step(rows);
    EXPECT_NEAR(model.state().at("s")[0], 5 + 0.5 * 48 - 4 * (1 + 4 + 9 + 36), 1e-4);
    EXPECT_NEAR(model.state().at("n")[0], 5 + 12, 1e-6);
    EXPECT_TRUE(model.diagnostics().empty());
  }
  for (const char *assigned : {"s := 0.5 * s + sum[..](x)", "s := s + sum[..](x)^2", "s := s + mean[..](x)",
                               "s := sum[..](x) - s", "let t = sum[..](x)\n  metric two = sin(t)\n  s := s + t"}) {
    Compiled model(withBody(std::string("  state s [] = 5\n  ") + assigned + "\n  sum[f](a * x)\n",
                            "  loss l = mean[batch](m(d.x))\n  accumulate(2)\n"));
    auto isOfParts = [](const Diagnostic &diagnostic) { return diagnostic.code == DiagnosticCode::E0412; };
    EXPECT_EQ(llvm::count_if(model.diagnostics(), isOfParts), 1) << assigned;
  }
}

TEST(States, OnesThatMoveWithEachPartThoughTheyNeedNotAreWarnedOf) {
  auto said = [](const std::string &assigned) {
    Compiled model(withBody("  state s, t [] = 0\n  t := t + sum[..](x)\n  " + assigned + "\n  sum[f](a * x)\n",
                            "  loss l = mean[batch](m(d.x))\n  accumulate(2)\n"));
    std::string text;
    for (const Diagnostic &diagnostic : model.diagnostics()) text += diagnostic.message + "\n";
    return text;
  };
  auto inLayers = [](const std::string &next) {
    return "let y = repeat[layer](h = x) {\n    state v [] = 0\n    v := " + next +
           "\n    2 * h\n  }\n  s := s + sum[..](y)";
  };
  for (const std::string &repeated : {std::string("s := 0.9 * s + 0.1 * a"), std::string("s := s + 1"),
                                      std::string("s := s + 0.1 * (a - s) * step"), inLayers("0.9 * v + 0.1 * a")})
    EXPECT_NE(said(repeated).find("this is assigned 2 times a step"), std::string::npos) << repeated;
  for (const std::string &other :
       {std::string("s := a"), std::string("s := s + 0.1 * (t - s)"), std::string("s := s + uniform[]()"),
        std::string("s := s + sum[..](x)"), inLayers("v + sum[..](h * a)")})
    EXPECT_EQ(said(other), "") << other;
}

TEST(States, AStepThatIsNotFiniteChangesNone) {
  Compiled model(withBody("  state s [] = 5\n  s := s + 1\n  sum[f](a * x)\n"));
  NamedNumbers wrong = Rows;
  wrong["d.x"][3] = std::nan("");
  model.step(wrong);
  EXPECT_DOUBLE_EQ(model.state().at("s")[0], 5);
  EXPECT_DOUBLE_EQ(model.state().at("a")[0], 1);
  model.step(Rows);
  EXPECT_DOUBLE_EQ(model.state().at("s")[0], 6);
}

// Of each of four features: the mean and the squared distances from it, over four rows.
TEST(States, BatchNormIsThatOfPyTorch) {
  const NamedNumbers rows = {{"d.x", {1, 0, 5, 2, 2, 0, -5, 2, 3, 4, 5, 2, 6, 4, -5, 3}}};
  const Numbers means = {3, 2, 0, 2.25}, squares = {14, 16, 100, 0.75};
  Compiled model(withBody("  let n = bn: batch_norm[f](x, epsilon = 0.5)\n  metric top = max[..](n)\n"
                          "  metric size = mean[..](n^2)\n  sum[f](a * n)\n"));
  double size = 0;
  for (double square : squares) size += square / 4 / (square / 4 + 0.5) / 4;
  NamedNumbers results = model.step(rows);
  EXPECT_NEAR(metric(results, "size"), size, 1e-9) << "normalized with the biased variance";
  EXPECT_NEAR(metric(results, "top"), 3 / std::sqrt(3.5 + 0.5), 1e-9);
  Numbers mu = model.state().at("bn.mu"), var = model.state().at("bn.var");
  for (int i = 0; i < 4; ++i) {
    EXPECT_NEAR(mu[i], 0.1 * means[i], 1e-6);
    EXPECT_NEAR(var[i], 0.9 + 0.1 * squares[i] / 3, 1e-6) << "moved by the unbiased variance";
  }
  double top = (6 - mu[0]) / std::sqrt(var[0] + 0.5) * model.state().at("bn.g")[0] + model.state().at("bn.b")[0];
  EXPECT_NEAR(metric(model.run("evaluate", rows), "top"), top, 1e-6) << "normalized with the running statistics";
  EXPECT_EQ(model.state().at("bn.mu"), mu);
}

} // namespace
