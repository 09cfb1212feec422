//===- NumbersTest.cpp - models mean the numbers that they should ----------===//
//
// Compiles a model, runs its entries in the reference interpreter on given
// rows, and compares losses and metrics with what they are by hand.
//
//===----------------------------------------------------------------------===//

#include "ir/dialect/UnaryFunction.h"
#include "tests/frontend/Compiled.h"

using namespace tessera;
using namespace tessera::test;

namespace {

/// A model with the weight a = 1, and a training description with these items.
std::string withItems(const std::string &items, int batch = 4) {
  return "dim batch, f = 4, layer = 3\n"
         "model m(x[batch, f]) -> [batch] {\n  weight a [] = 1\n  sum[f](a * x)\n}\n"
         "train m {\n  data d = csv(train = \"t.csv\", batch = " +
         std::to_string(batch) + ", x = float[f](column = 0), y = float(column = 4))\n" + items +
         "\n  optimize sgd(lr = 0.1) on **\n}\n";
}

TEST(Numbers, AFactorMayStandInAProductMoreThanOnce) {
  Compiled model(withItems("  let x = d.x\n"
                           "  let w = over[f](2.0)\n"
                           "  loss l = mean[batch](m(x))\n"
                           "  metric cube = mean[batch](sum[f](x * x * x))\n"
                           "  metric scaled = mean[batch](sum[f](w * x * x))\n"
                           "  metric fourth = mean[batch](sum[f](x * x * x * x))\n"
                           "  metric placed = mean[batch](sum[f]((pos[f] + 1) * x * x))\n"));
  NamedNumbers results = model.run("evaluate", Rows);
  EXPECT_DOUBLE_EQ(metric(results, "cube"), 1 + 8 + 27 + 64);
  EXPECT_DOUBLE_EQ(metric(results, "scaled"), 2 * (1 + 4 + 9 + 16));
  EXPECT_DOUBLE_EQ(metric(results, "fourth"), 1 + 16 + 81 + 256);
  EXPECT_DOUBLE_EQ(metric(results, "placed"), 1 + 8 + 27 + 64);
}

TEST(Numbers, FunctionsOfConstantsAreThoseOfTensors) {
  std::string items = "  loss l = mean[batch](m(d.x))\n  let x = d.y * 0 + 0.75\n";
  for (const UnaryFunction &function : unaryFunctions())
    if (std::string name = function.languageName.str(); !name.empty())
      items += "  metric tensor_" + name + " = mean[batch](" + name + "(x))\n  metric constant_" + name + " = " + name +
               "(0.75)\n";
  Compiled model(withItems(items));
  NamedNumbers results = model.run("evaluate", Rows);
  for (const UnaryFunction &function : unaryFunctions())
    if (std::string name = function.languageName.str(); !name.empty()) {
      EXPECT_NEAR(metric(results, "tensor_" + name), function.evaluate(0.75), 1e-12) << name;
      EXPECT_NEAR(metric(results, "constant_" + name), function.evaluate(0.75), 1e-6) << name;
    }
}

TEST(Numbers, OfEqualScoresTheFirstIsTheLargest) {
  // The labels are 0, 1, 2, 3.
  Compiled model("use nn: accuracy\n" + withItems("  let x = d.x, label = int(clamp(d.y - 1, 0, f - 1))\n"
                                                  "  loss l = mean[batch](m(x))\n"
                                                  "  metric plain = sum[batch](accuracy[f](x, label) * 2^label)\n"
                                                  "  metric tie = sum[batch](accuracy[f](min(x, 3), label) * 2^label)\n"
                                                  "  metric all = sum[batch](accuracy[f](0 * x, label) * 2^label)\n"
                                                  "  metric low = sum[batch](accuracy[f](-inf + x, label) * 2^label)\n"
                                                  "  metric none = sum[batch](accuracy[f](sqrt(-x), label))\n"));
  NamedNumbers results = model.run("evaluate", Rows);
  EXPECT_DOUBLE_EQ(metric(results, "plain"), 8);
  EXPECT_DOUBLE_EQ(metric(results, "tie"), 4);
  EXPECT_DOUBLE_EQ(metric(results, "all"), 1);
  EXPECT_DOUBLE_EQ(metric(results, "low"), 1);
  EXPECT_DOUBLE_EQ(metric(results, "none"), 0);
}

TEST(Numbers, RoundTakesHalvesToTheEvenInteger) {
  Compiled model(
      withItems("  let y = d.y / 2\n"
                "  loss l = mean[batch](m(d.x))\n"
                "  metric tensors = sum[batch](round(y) * 10^(pos[batch]))\n"
                "  metric negative = sum[batch](round(-y) * 10^(pos[batch]))\n"
                "  metric integers = sum[batch](float(d.x[f = round(pos[batch])]))\n"
                "  metric constants = round(0.5) + 10 * round(1.5) + 100 * round(2.5) + 1000 * round(-3.5)\n"));
  NamedNumbers results = model.run("evaluate", Rows);
  EXPECT_DOUBLE_EQ(metric(results, "tensors"), 3210); // of 0.5, 1, 1.5, 3
  EXPECT_DOUBLE_EQ(metric(results, "negative"), -3210);
  EXPECT_DOUBLE_EQ(metric(results, "integers"), 10);
  EXPECT_DOUBLE_EQ(metric(results, "constants"), -3780);
}

TEST(Numbers, ClampKeepsItsOperandInBounds) {
  Compiled model(withItems("  let y = d.y\n"
                           "  loss l = mean[batch](m(d.x))\n"
                           "  metric floats = sum[batch](clamp(y, 1.5, 3) * 10^pos[batch])\n"
                           "  metric integers = sum[batch](clamp(int(y), 2, 3) // 2)\n"
                           "  metric tensors = sum[batch](clamp(y, pos[batch] - 1, pos[batch]))\n"
                           "  metric constant = clamp(7, 1, 5)\n"
                           "  metric missing = mean[batch](clamp(sqrt(-y), 0, 1))\n"));
  NamedNumbers results = model.run("evaluate", Rows);
  EXPECT_DOUBLE_EQ(metric(results, "floats"), 1.5 + 20 + 300 + 3000);
  EXPECT_DOUBLE_EQ(metric(results, "integers"), 4);
  EXPECT_DOUBLE_EQ(metric(results, "tensors"), 0 + 1 + 2 + 3);
  EXPECT_DOUBLE_EQ(metric(results, "constant"), 5);
  EXPECT_TRUE(std::isnan(metric(results, "missing")));
}

// Compiling proves the bounds; the values are those read.
TEST(Numbers, IndicesAreProvenThroughFunctions) {
  Compiled model(withItems("  let x = d.x, y = d.y\n"
                           "  loss l = mean[batch](m(x))\n"
                           "  metric clamped = sum[batch](x[f = int(clamp(y, 0, f - 1))])\n"
                           "  metric missing = sum[batch](x[f = int(clamp(sqrt(-y), 0, f - 1))])\n"
                           "  metric chosen = sum[batch](x[f = where(y > 2, 1, 3)])\n"
                           "  let i = int(y) - 2, far = i < 0 or not 4 > i\n"
                           "  metric outside = sum[batch](x[f = where(i < 0 or i >= f, 3, i)])\n"
                           "  metric real = sum[batch](x[f = int(where(y >= 0 and y < f, y, 0))])\n"
                           "  metric swapped = sum[batch](x[f = where(far, 1, i)])\n"
                           "  metric drawn = max[batch](x[f = int(uniform[batch]() * f)])\n"
                           "  metric rounded = min[batch](x[f = int(round(uniform[batch]() * (f - 1)))])\n"
                           "  metric shifted = max[batch](x[f = int(3.5 - 2 * uniform[batch]())])\n"
                           "  metric stopped = max[batch](x[f = int(stop(uniform[batch]() * f))])\n"
                           "  metric apart = sum[batch](x[f = abs(clamp(int(y) - 4, 1 - f, 2))])\n"
                           "  metric far_apart = sum[batch](x[f = int(abs(clamp(y - 4.5, 1 - f, 2)))])\n"
                           "  metric highest = sum[batch](x[f = int(max[batch](clamp(y, 0, f - 1)))])\n"
                           "  metric lowest = sum[batch](x[f = int(min[batch](clamp(y, 0, f - 1)))])\n"));
  NamedNumbers results = model.run("evaluate", Rows);
  EXPECT_DOUBLE_EQ(metric(results, "clamped"), 2 + 3 + 4 + 4);
  EXPECT_DOUBLE_EQ(metric(results, "missing"), 4);
  EXPECT_DOUBLE_EQ(metric(results, "chosen"), 4 + 4 + 2 + 2);
  EXPECT_DOUBLE_EQ(metric(results, "outside"), 4 + 1 + 2 + 4);
  EXPECT_DOUBLE_EQ(metric(results, "real"), 2 + 3 + 4 + 1);
  EXPECT_DOUBLE_EQ(metric(results, "swapped"), 2 + 1 + 2 + 2);
  EXPECT_GE(metric(results, "drawn"), 1);
  EXPECT_LE(metric(results, "drawn"), 4);
  EXPECT_GE(metric(results, "rounded"), 1);
  EXPECT_LE(metric(results, "rounded"), 4);
  EXPECT_GE(metric(results, "shifted"), 2);
  EXPECT_LE(metric(results, "shifted"), 4);
  EXPECT_GE(metric(results, "stopped"), 1);
  EXPECT_LE(metric(results, "stopped"), 4);
  EXPECT_DOUBLE_EQ(metric(results, "apart"), 4 + 3 + 2 + 3);
  EXPECT_DOUBLE_EQ(metric(results, "far_apart"), 4 + 3 + 2 + 2);
  EXPECT_DOUBLE_EQ(metric(results, "highest"), 4 * 4);
  EXPECT_DOUBLE_EQ(metric(results, "lowest"), 4 * 2);
}

// What messages and docs/language.md give for names of other frameworks.
TEST(Numbers, AdviceOnForeignNamesIsRight) {
  Compiled model("dim g = 2, fg = f + g\n" +
                 withItems("  let x = d.x, label = int(clamp(d.y - 1, 0, f - 1)), y = pos[g] + 10.0\n"
                           "  loss l = mean[batch](m(x))\n"
                           "  let joined = x[f = pos[fg] else 0] + y[g = pos[fg] - f else 0]\n"
                           "  metric concat = mean[batch](sum[fg](joined * (pos[fg] + 1)))\n"
                           "  metric flip = mean[batch](sum[f](x[f = f - 1 - pos[f]] * (pos[f] + 1)))\n"
                           "  metric roll = mean[batch](sum[f](x[f = (pos[f] + 1) % f] * (pos[f] + 1)))\n"
                           "  metric split = mean[batch](sum[g](x[f = pos[g] + g] - x[f = pos[g]]))\n"
                           "  metric argmax = mean[batch](x[f = min[f](where(x == max[f](x), pos[f], f - 1))])\n"
                           "  metric argmin = mean[batch](x[f = min[f](where(x == min[f](x), pos[f], f - 1))])\n"
                           "  metric one_hot = mean[batch](sum[f](x * float(pos[f] == over[f](label))))\n"
                           "  metric variance = mean[batch](mean[f]((x - mean[f](x)) ^ 2))\n"));
  NamedNumbers results = model.run("evaluate", Rows);
  EXPECT_DOUBLE_EQ(metric(results, "concat"), 1 + 4 + 9 + 16 + 50 + 66);
  EXPECT_DOUBLE_EQ(metric(results, "flip"), 4 + 6 + 6 + 4);
  EXPECT_DOUBLE_EQ(metric(results, "roll"), 2 + 6 + 12 + 4);
  EXPECT_DOUBLE_EQ(metric(results, "split"), 4);
  EXPECT_DOUBLE_EQ(metric(results, "argmax"), 4);
  EXPECT_DOUBLE_EQ(metric(results, "argmin"), 1);
  EXPECT_DOUBLE_EQ(metric(results, "one_hot"), 2.5);
  EXPECT_DOUBLE_EQ(metric(results, "variance"), 1.25);
}

TEST(Numbers, ElseIfChoosesAmongSeveral) {
  Compiled model(withItems("  loss l = mean[batch](m(d.x))\n"
                           "  metric first = if f == 4 { 1 } else if f == 4 { 2 } else { 3 }\n"
                           "  metric second = if f == 3 { 1 } else if f == 4 { 2 } else { 3 }\n"
                           "  metric third = if f == 3 { 1 } else if f == 5 { 2 } else { 3 }\n"));
  NamedNumbers results = model.run("evaluate", Rows);
  EXPECT_DOUBLE_EQ(metric(results, "first"), 1);
  EXPECT_DOUBLE_EQ(metric(results, "second"), 2);
  EXPECT_DOUBLE_EQ(metric(results, "third"), 3);
}

TEST(Numbers, AMeanTakesItsCountAlong) {
  Compiled model(withItems("  let p = mean[batch](d.y, where = d.y > 1)\n"
                           "  loss l = mean[batch](m(d.x))\n"
                           "  metric a = p\n"
                           "  metric b = p\n"
                           "  metric other = 2 * p - 1\n"));
  NamedNumbers results = model.run("evaluate", Rows);
  EXPECT_DOUBLE_EQ(metric(results, "a"), 11.0 / 3);
  EXPECT_DOUBLE_EQ(metric(results, "b"), 11.0 / 3);
  EXPECT_DOUBLE_EQ(results["count a"][0], 3);
  EXPECT_DOUBLE_EQ(results["count b"][0], 3);
  EXPECT_DOUBLE_EQ(results["count other"][0], 3);
}

TEST(Numbers, WeightsOfAMeanMayAddUpToLessThanOne) {
  Compiled model(withItems("  loss l = mean[batch](m(d.x))\n"
                           "  metric small = mean[batch](d.y, where = over[batch](0.01))\n"
                           "  metric none = mean[batch](d.y, where = d.y > 100)\n"));
  NamedNumbers results = model.run("evaluate", Rows);
  EXPECT_NEAR(metric(results, "small"), 3, 1e-12);
  EXPECT_NEAR(results["count small"][0], 0.04, 1e-8);
  EXPECT_DOUBLE_EQ(metric(results, "none"), 0);
}

// A mean inside a repeat has its weights there; what leaves the repeat is counted by rows.
TEST(Numbers, AMeanInsideARepeatKeepsItsCountThere) {
  Compiled model(withItems("  let y = m(d.x)\n"
                           "  loss l = repeat[layer](s = 0.0) { s + mean[batch](y, where = d.y > 1) }\n"));
  NamedNumbers results = model.run("evaluate", Rows);
  EXPECT_DOUBLE_EQ(results["loss l"][0], 30);
  EXPECT_DOUBLE_EQ(results["count l"][0], 4);
}

TEST(Numbers, LossesInsideARepeatAddUpAndMetricsAreAveraged) {
  Compiled model("dim batch, layer = 4\n"
                 "model m(x[batch]) -> [batch] {\n  weight a [] = 1\n"
                 "  repeat[layer](h = a * x) {\n"
                 "    loss place = pos[layer]\n    metric where_ = pos[layer]\n    h * 1.0\n  }\n}\n"
                 "train m {\n  data d = csv(train = \"t.csv\", batch = 4, y = float(column = 4))\n"
                 "  loss l = mean[batch](m(d.y))\n  optimize sgd(lr = 0.1) on **\n}\n");
  NamedNumbers results = model.run("evaluate", Rows);
  EXPECT_DOUBLE_EQ(results["loss place"][0], 6);
  EXPECT_DOUBLE_EQ(metric(results, "where_"), 1.5);
}

TEST(Numbers, ALetOfTheTrainingSeesOnlyWhatStandsAroundIt) {
  Compiled model("hyper s = 2\n" + withItems("  let k = s * 10.0\n"
                                             "  loss l = mean[batch](m(d.x))\n"
                                             "  metric inside = repeat[layer](s = 0.0) { s + k }\n"
                                             "  let again = repeat[layer](later = 0.0) { later + 1 }\n"
                                             "  let later = again + k\n"
                                             "  metric after = later\n"
                                             "  metric first = repeat[layer](s = 0.0) { s + k }\n"));
  NamedNumbers results = model.run("evaluate", Rows);
  EXPECT_DOUBLE_EQ(metric(results, "inside"), 60);
  EXPECT_DOUBLE_EQ(metric(results, "after"), 23);
  EXPECT_DOUBLE_EQ(metric(results, "first"), 60);
}

// What a repeat reads is computed before it, once, and can be read after it too.
TEST(Numbers, ALetOfTheTrainingIsComputedOnce) {
  Compiled model(withItems("  let e = mean[batch](m(d.x))\n"
                           "  loss l = repeat[layer](s = 0.0) { s + e }\n"
                           "  metric k = repeat[layer](s = 0.0) { s + e }\n"
                           "  metric same = e\n"));
  NamedNumbers results = model.run("evaluate", Rows);
  EXPECT_DOUBLE_EQ(results["loss l"][0], 30);
  EXPECT_DOUBLE_EQ(metric(results, "k"), 30);
  EXPECT_DOUBLE_EQ(metric(results, "same"), 10);
}

/// The gradient of `a` and the total loss of one step, whatever the number of parts, and the warnings about parts.
void expectStep(const std::string &items, double total, double gradient, unsigned warnings = 0) {
  for (const char *accumulate : {"", "  accumulate(2)\n", "  accumulate(4)\n"}) {
    Compiled model(withItems(items + accumulate));
    NamedNumbers results = model.step(Rows);
    EXPECT_NEAR(results["total total"][0], total, 1e-9) << accumulate;
    EXPECT_NEAR(model.state().at("a")[0], 1 - 0.1 * gradient, 1e-6) << accumulate;
    auto isOfParts = [](const Diagnostic &diagnostic) { return diagnostic.code == DiagnosticCode::E0412; };
    EXPECT_EQ(llvm::count_if(model.diagnostics(), isOfParts), *accumulate ? warnings : 0) << accumulate;
  }
}

// Of the two pieces max(x, 0) and log(1 + exp(-|x|)) neither has a gradient at 0.
TEST(Numbers, TheGradientOfSoftplusIsTheSigmoidAlsoAtZero) {
  Compiled model("use nn: softplus\n" + withItems("  loss l = mean[batch](softplus(m(d.x) - 10))\n"));
  EXPECT_NEAR(model.step(Rows)["total total"][0], std::log(2), 1e-9);
  EXPECT_NEAR(model.state().at("a")[0], 1 - 0.1 * 10 * 0.5, 1e-6);
}

// m(d.x) is 10 a in each of the four rows.
TEST(Numbers, SumsAndMeansOverTheBatchAreThoseOfAllParts) {
  expectStep("  loss l = mean[batch](m(d.x) * d.y)\n", 30, 30);
  expectStep("  loss l = sum[batch](m(d.x))\n", 40, 40);
  expectStep("  loss l = sum[batch](m(d.x) * d.y)\n", 120, 120);
  expectStep("  let y = m(d.x)\n  loss l = 0.5 * sum[batch](y)\n  loss k = mean[batch](y) / 2\n", 25, 25);
}

// m(d.x) is 10 in each row: the bounds themselves pass the gradient on.
TEST(Numbers, TheGradientOfClampIsOneInBoundsAndZeroOutside) {
  for (const char *bounds : {"0, 20", "10, 20", "0, 10", "10, 10"})
    expectStep("  loss l = mean[batch](clamp(m(d.x), " + std::string(bounds) + "))\n", 10, 10);
  expectStep("  loss l = mean[batch](m(d.x) + clamp(m(d.x), 0, 9))\n", 19, 10);
  expectStep("  loss l = mean[batch](m(d.x) + clamp(m(d.x), 11, 12))\n", 21, 10);
  expectStep("  loss l = mean[batch](m(d.x) + round(0.26 * m(d.x)))\n", 13, 10);
}

TEST(Numbers, EvaluationOfASumIsThatOfABatchOfTheStep) {
  Compiled model(withItems("  loss l = sum[batch](m(d.x))\n  accumulate(2); evaluate(every = 1, batches = 3)\n"));
  NamedNumbers part = {{"d.x", {1, 2, 3, 4, 1, 2, 3, 4}}};
  EXPECT_DOUBLE_EQ(model.run("evaluate", part)["loss l"][0], 40);
  auto settings = model.module()->getAttrOfType<mlir::DictionaryAttr>(attrs::settings);
  auto evaluate = settings.getAs<mlir::DictionaryAttr>("evaluate");
  EXPECT_EQ(evaluate.getAs<mlir::IntegerAttr>("batches").getInt(), 6) << "three batches are six parts";
}

// Centring by the batch's mean: each part has its own.
TEST(Numbers, OtherReductionsOverTheBatchAreWarnedOf) {
  expectStep("  let y = m(d.x)\n  loss l = mean[batch](y - 0.0 * mean[batch](d.y))\n", 10, 10, 1);
  expectStep("  let y = m(d.x)\n  loss l = mean[batch](y)\n  metric top = max[batch](d.y)\n", 10, 10, 1);
}

// In `evaluate` a mean over the batch has weights; the loss outside knows none of those inside a repeat.
TEST(Numbers, AMeanInsideARepeatOfTheModelIsNoCount) {
  Compiled model("dim batch, layer = 2\n"
                 "fn centred(x[batch]) { x - mean[batch](x) }\n"
                 "model m(x[batch]) -> [batch] {\n  weight a [] = 1\n"
                 "  repeat[layer](h = a * x) {\n    weight s [] = 1\n    s * centred(h)\n  }\n}\n"
                 "train m {\n  data d = csv(train = \"t.csv\", batch = 4, y = float(column = 4))\n"
                 "  loss l = sum[batch](m(d.y)^2) / batch\n  optimize sgd(lr = 0.1) on **\n}\n");
  EXPECT_DOUBLE_EQ(model.run("evaluate", Rows)["loss l"][0], (4 + 1 + 0 + 9) / 4.0);
}

// The derivative of a^2 stop(a) at 1 is 2, that of stop(a)^3 none; a sum that is stopped is still a sum of all parts.
TEST(Numbers, AStopIsItsOperandWithoutAGradient) {
  expectStep("  let y = m(d.x)\n  loss l = mean[batch](y)\n  loss k = mean[batch](stop(y)^2)\n", 110, 10);
  expectStep("  let y = m(d.x)\n  loss l = mean[batch](y * y * stop(y)) / 1024\n", 1000.0 / 1024, 2000.0 / 1024);
  expectStep("  let y = m(d.x)\n  loss l = sum[batch](y) + stop(sum[batch](y))\n", 80, 40);
  expectStep("  loss l = mean[batch](m(d.x)) + stop(2) + stop(float(pos[layer])[layer = 1])\n", 13, 10);
}

TEST(Numbers, ARemainderIsInBounds) {
  Compiled model(withItems("  let x = d.x\n"
                           "  loss l = mean[batch](m(x))\n"
                           "  metric turn = mean[batch](x[f = step % f])\n"));
  EXPECT_DOUBLE_EQ(metric(model.step(Rows), "turn"), 1);
  EXPECT_DOUBLE_EQ(metric(model.step(Rows), "turn"), 2);
}

TEST(Numbers, ADimOfABlockIsUnknownOutside) {
  Compiled model("dim batch, f = 4, layer = 2\n"
                 "fn two(x[.., f]) {\n"
                 "  let a = if true {\n    dim k like f\n    sum[k](x as [f -> k])\n  } else {\n"
                 "    dim k = 2\n    sum[f](x)\n  }\n"
                 "  let b = repeat[layer](h = x) {\n    dim k like f\n    over[f](max[k](h as [f -> k]))\n  }\n"
                 "  sum[f](b) + a\n}\n"
                 "model m(x[batch, f]) -> [batch] {\n  weight w [] = 1\n  two(w * x)\n}\n"
                 "train m {\n  data d = csv(train = \"t.csv\", batch = 4, x = float[f](column = 0))\n"
                 "  loss l = mean[batch](m(d.x))\n  optimize sgd(lr = 0.1) on **\n}\n");
  EXPECT_DOUBLE_EQ(model.run("evaluate", Rows)["loss l"][0], 4 * 4 + 10);
}

TEST(Numbers, ADimMayBeCalledAsThePartsAre) {
  Compiled model("dim batch, micro = 4\n"
                 "model m(x[batch, micro]) -> [batch] {\n  weight a [] = 1\n  sum[micro](a * x)\n}\n"
                 "train m {\n  data d = csv(train = \"t.csv\", batch = 4, x = float[micro](column = 0))\n"
                 "  loss l = mean[batch](m(d.x))\n  optimize sgd(lr = 0.1) on **\n  accumulate(2)\n}\n");
  EXPECT_DOUBLE_EQ(model.step(Rows)["total total"][0], 10);
}

/// A model with two outputs: 2 x (1 in training), and the sum over the features.
std::string withOutputs(const std::string &items) {
  return "dim batch, f = 2, layer = 3\n"
         "model m(x[batch, f]) -> (double [batch, f], total [batch]) {\n  weight a [] = 2\n"
         "  (total = sum[f](x), double = if training { a * x / 2 } else { a * x })\n}\n"
         "train m {\n  data d = csv(train = \"t.csv\", batch = 2, x = float[f](column = 0), y = float(column = 2))\n" +
         items + "\n  optimize sgd(lr = 0.1) on **\n}\n";
}

TEST(Numbers, OutputsHaveNames) {
  Compiled model(withOutputs("  let out = m(d.x)\n"
                             "  let (double, total) = m(d.x - 1)\n"
                             "  loss l = mean[batch](sum[f](out.double) + total + d.y)\n"));
  NamedNumbers rows = {{"d.x", {1, 2, 3, 4}}, {"d.y", {10, 20}}};
  // In evaluation: 2 (1 + 2) + 1 + 10 and 2 (3 + 4) + 5 + 20.
  EXPECT_DOUBLE_EQ(model.run("evaluate", rows)["loss l"][0], (17.0 + 39.0) / 2);
  NamedNumbers predicted = model.run("predict", rows);
  EXPECT_EQ(predicted["result double"], (Numbers{2, 4, 6, 8}));
  EXPECT_EQ(predicted["result total"], (Numbers{3, 7}));
}

TEST(Numbers, ATupleIsReadInsideOfARepeat) {
  Compiled model(withOutputs("  let out = m(d.x)\n"
                             "  let sums = repeat[layer](s = out.total) { s + out.total }\n"
                             "  loss l = mean[batch](sums) + 0 * mean[..](out.double)\n"));
  EXPECT_DOUBLE_EQ(model.run("evaluate", {{"d.x", {1, 2, 3, 4}}, {"d.y", {0, 0}}})["loss l"][0], 4 * (3 + 7) / 2.0);
}

TEST(Numbers, PredictionsTakeTheCallWithTheFewestFields) {
  Compiled model(withOutputs("  let first = m(d.x + d.y)\n"
                             "  let second = if training { m(d.x * 100) } else { m(d.x / 2) }\n"
                             "  loss l = mean[batch](first.total + second.total) + 0 * mean[..](first.double)\n"));
  NamedNumbers predicted = model.run("predict", {{"d.x", {1, 2, 3, 4}}, {"d.y", {10, 20}}});
  EXPECT_EQ(predicted["result double"], (Numbers{1, 2, 3, 4}));
  EXPECT_EQ(predicted["result total"], (Numbers{1.5, 3.5}));
}

/// Rows that pad the last batch change no prediction.
TEST(Numbers, PaddingDoesNotChangePredictions) {
  Compiled model("dim batch\n"
                 "model m(x[batch]) -> [batch] {\n  weight a [] = 1\n  a * x - mean[batch](x) + max[batch](x)\n}\n"
                 "train m {\n  data d = csv(train = \"t.csv\", batch = 4, x = float(column = 0))\n"
                 "  loss l = mean[batch](m(d.x)^2)\n  optimize sgd(lr = 0.1) on **\n}\n");
  NamedNumbers predicted = model.run("predict", {{"d.x", {1, 3, 90, 90}}, {"weight", {1, 1, 0, 0}}});
  EXPECT_EQ(predicted["result m"][0], 1 - 2 + 3);
  EXPECT_EQ(predicted["result m"][1], 3 - 2 + 3);
}

} // namespace
