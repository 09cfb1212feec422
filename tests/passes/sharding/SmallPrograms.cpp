//===- SmallPrograms.cpp - programs whose shardings can all be tried ------===//

#include "tests/passes/sharding/SmallPrograms.h"
#include "ir/dialect/GraphBuilder.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Parser/Parser.h"
#include <cmath>

using namespace mlir;
using namespace tessera;
using namespace tessera::test;

namespace {
/// The ops of a step.
class StepMaker {
public:
  StepMaker(func::FuncOp step, std::mt19937 &draws)
      : b(step.getBody().front().getTerminator()), step(step), draws(draws) {}
  void make();

private:
  bool oneIn(unsigned n) { return draws() % n == 0; }
  Value unary(Value x);

  GraphBuilder b;
  func::FuncOp step;
  std::mt19937 &draws;
};
} // namespace

Value StepMaker::unary(Value x) {
  switch (draws() % 3) {
  case 0:
    return b.exp(x);
  case 1:
    return b.mul(x, 0.5);
  default:
    StringRef last = tensorType(x).getAxes().back().getName();
    return SoftmaxOp::create(b, b.getLoc(), x.getType(), x, last).getResult();
  }
}

void StepMaker::make() {
  Value x = step.getArgument(0), w = step.getArgument(1), v = step.getArgument(2);
  Value hidden = b.contract(x, w, {"in"});
  if (oneIn(2)) hidden = unary(hidden);
  Value result = hidden;
  if (oneIn(2)) result = b.contract(result, v, {"mid"});
  if (oneIn(2)) result = unary(result);
  if (oneIn(3)) result = b.sum(result, {tensorType(result).getAxes().back().getName()});
  SmallVector<Value> results{result, w, v};
  if (oneIn(2)) results[1] = b.sub(w, b.contract(x, hidden, {"batch"}));
  Operation *terminator = step.getBody().front().getTerminator();
  terminator->setOperands(results);
  step.setFunctionType(b.getFunctionType(step.getArgumentTypes(), ValueRange(results).getTypes()));
}

OwningOpRef<ModuleOp> tessera::test::smallProgram(MLIRContext &context, unsigned seed) {
  context.loadDialect<TsrDialect, func::FuncDialect>();
  std::mt19937 draws(seed);
  static constexpr const char *sizes[] = {"3", "4", "6", "8", "16"};
  auto size = [&] { return std::string(sizes[draws() % std::size(sizes)]); };
  std::string batch = "batch: " + size(), in = "in: " + size(), mid = "mid: " + size(), out = "out: " + size();
  std::string text = "!x = !tsr.tensor<[" + batch + ", " + in + "], f32>\n!w = !tsr.tensor<[" + in + ", " + mid +
                     "], f32>\n!v = !tsr.tensor<[" + mid + ", " + out + R"mlir(], f32>
module attributes {tsr.axes = ["batch", "in", "mid", "out"], tsr.phase = "optimize"} {
  tsr.state @w "weight" !w
  tsr.state @v "weight" !v
  func.func @step(%x: !x {tsr.input = {name = "x", role = "data"}}, %w: !w {tsr.state = @w}, %v: !v {tsr.state = @v})
      -> (!x {tsr.output = {name = "y", role = "prediction"}}, !w {tsr.state = @w}, !v {tsr.state = @v}) {
    return %x, %w, %v : !x, !w, !v
  }
})mlir";
  OwningOpRef<ModuleOp> module = parseSourceString<ModuleOp>(text, &context);
  if (module) StepMaker(module->lookupSymbol<func::FuncOp>("step"), draws).make();
  return module;
}

SearchDevices tessera::test::randomDevices(unsigned seed) {
  std::mt19937 draws(seed);
  auto amount = [&](int least, int most) {
    return std::pow(10, least + static_cast<int>(draws() % (most - least + 1)));
  };
  Target target = *Target::named("x86");
  target.figures.linkBandwidths = {{"memory", amount(6, 9)}};
  target.figures.linkLatencies = {{"memory", 1e-12 * amount(0, 6)}};
  target.figures.cpu.thread.f32 = amount(5, 8);
  target.figures.copyBandwidth = target.figures.cpu.threadCopyBandwidth = amount(6, 9);
  return {target, CostModel(target, 1), std::nullopt, 1};
}

double tessera::test::countLabellings(const LabelProblem &problem) {
  double count = 1;
  for (unsigned i = 0; i < problem.size(); ++i) count *= static_cast<double>(problem.labels(i).size());
  return count;
}

namespace {
/// All labellings, but not those that begin like one which costs too much already: no cost is negative here.
class Trials {
public:
  Trials(ShardingCosts &costs, const LabelProblem &problem, double mostBytes)
      : costs(costs), problem(problem), mostBytes(mostBytes) {
    earlier.resize(problem.size());
    for (const LabelProblem::Pair &pair : problem.getPairs()) earlier[pair.ends[1]].push_back(&pair);
    labels.resize(problem.size());
  }
  double find() {
    visit(0, {});
    return least;
  }

private:
  void visit(unsigned variable, LabelCost before) {
    if (before.seconds >= least || before.bytes > mostBytes) return;
    if (variable == problem.size()) {
      if (costs.peakOf(labels).bytes <= mostBytes) least = before.seconds;
      return;
    }
    for (unsigned label = 0; label < problem.labels(variable).size(); ++label) {
      labels[variable] = label;
      LabelCost cost = before;
      cost += problem.labels(variable)[label];
      for (const LabelProblem::Pair *pair : earlier[variable]) cost += pair->cost(labels[pair->ends[0]], label);
      visit(variable + 1, cost);
    }
  }

  ShardingCosts &costs;
  const LabelProblem &problem;
  double mostBytes, least = INFINITY;
  std::vector<std::vector<const LabelProblem::Pair *>> earlier; ///< by the later one of the two
  Labelling labels;
};
} // namespace

double tessera::test::leastSecondsOf(ShardingCosts &costs, const ShardingGraph &graph, double mostBytes) {
  // What is too much on average is too much at some moment.
  MomentWeights weights(graph.countMoments());
  for (unsigned moment = 0; moment < graph.countMoments(); ++moment) weights.give(moment, 1.0 / (moment + 1));
  return Trials(costs, costs.problem(weights), mostBytes).find();
}
