//===- SmallPrograms.cpp - programs whose shardings can all be tried ------===//

#include "tests/passes/sharding/SmallPrograms.h"
#include "ir/dialect/GraphBuilder.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Parser/Parser.h"
#include "llvm/ADT/StringExtras.h"
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

OwningOpRef<ModuleOp> tessera::test::smallLayers(MLIRContext &context, unsigned seed) {
  context.loadDialect<TsrDialect, func::FuncDialect>();
  std::mt19937 draws(seed);
  static constexpr const char *sizes[] = {"2", "4", "8", "16"};
  auto size = [&] { return sizes[draws() % std::size(sizes)]; };
  std::string layers = std::string("layer: ") + size(), batch = std::string("batch: ") + size(), width = size();
  std::string in = "in: " + width, out = "out: " + width;
  auto type = [](ArrayRef<std::string> axes) { return "!tsr.tensor<[" + llvm::join(axes, ", ") + "], f32>\n"; };
  std::string text = "!x = " + type({batch, in}) + "!xs = " + type({layers, batch, in}) + "!y = " + type({batch, out}) +
                     "!ys = " + type({layers, batch, out}) + "!w = " + type({in, out}) +
                     "!ws = " + type({layers, in, out}) + R"mlir(
module attributes {tsr.axes = ["layer", "batch", "in", "out"], tsr.phase = "optimize"} {
  tsr.state @w "weight" !ws
  func.func @step(%x: !x {tsr.input = {name = "x", role = "data"}}, %w: !ws {tsr.state = @w})
      -> (!ws {tsr.state = @w}) {
    %f:4 = tsr.repeat [)mlir" +
                     layers + R"mlir(] index %i carry (%c = %x : !x) slice (%v = %w : !ws) -> (!x, !xs, !ys, !ys) {
      %product = tsr.contract %c, %v over [in] : (!x, !w) -> !y
      %tanh = tsr.tanh %product : !y
      %next = tsr.rename %tanh [out] to [in] : !y -> !x
      tsr.yield %next, %c, %product, %tanh : !x, !x, !y, !y
    }
    %b:2 = tsr.repeat [)mlir" +
                     layers +
                     R"mlir(] reverse index %i carry (%c = %f#0 : !x)
        slice (%v = %w : !ws, %s = %f#1 : !xs, %p = %f#2 : !ys, %t = %f#3 : !ys) -> (!x, !ws) {
      %d = tsr.rename %c [in] to [out] : !x -> !y
      %e = tsr.mul %d, %p : !y
      %g = tsr.mul %e, %t : !y
      %gw = tsr.contract %s, %g over [batch] : (!x, !y) -> !w
      %gx = tsr.contract %g, %v over [out] : (!y, !w) -> !x
      tsr.yield %gx, %gw : !x, !w
    }
    %new = tsr.sub %w, %b#1 : !ws
    return %new : !ws
  }
})mlir";
  return parseSourceString<ModuleOp>(text, &context);
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
/// All labellings, but not those that begin like one which costs too much already, in seconds or in bytes at some
/// moment: no cost is negative here.
class Trials {
public:
  Trials(ShardingCosts &costs, unsigned moments, double mostBytes, double most)
      : costs(costs), mostBytes(mostBytes), least(most) {
    for (unsigned moment = 0; moment < moments; ++moment) {
      MomentWeights weights(moments);
      weights.give(moment, 1);
      problems.push_back(costs.problem(weights));
    }
    const LabelProblem &first = problems.front();
    earlier.resize(first.size());
    for (auto [i, pair] : llvm::enumerate(first.getPairs())) earlier[pair.ends[1]].push_back(i);
    labels.resize(first.size());
    std::vector<LabelCost> none(moments);
    before.assign(first.size() + 1, none), rest = before;
    for (unsigned i = first.size(); i-- > 0;)
      for (unsigned moment = 0; moment < moments; ++moment) {
        LabelCost fewest{INFINITY, INFINITY};
        for (const LabelCost &cost : problems[moment].labels(i))
          fewest = {std::min(fewest.seconds, cost.seconds), std::min(fewest.bytes, cost.bytes)};
        rest[i][moment] = rest[i + 1][moment], rest[i][moment] += fewest;
      }
  }
  double find() {
    visit(0);
    return least;
  }

private:
  void visit(unsigned variable) {
    if (variable == labels.size()) {
      double seconds = costs.haveBeside() ? costs.timesOf(labels).seconds : before[variable].front().seconds;
      if (costs.peakOf(labels).bytes <= mostBytes) least = std::min(least, seconds);
      return;
    }
    for (unsigned label = 0; label < problems.front().labels(variable).size(); ++label) {
      labels[variable] = label;
      if (mayBe(variable)) visit(variable + 1);
    }
  }

  /// Adds the costs of the label of a variable to those before it. False if they are too much.
  bool mayBe(unsigned variable) {
    for (auto [moment, problem] : llvm::enumerate(problems)) {
      LabelCost cost = before[variable][moment];
      cost += problem.labels(variable)[labels[variable]];
      for (size_t number : earlier[variable]) {
        const LabelProblem::Pair &pair = problem.getPairs()[number];
        cost += pair.cost(labels[pair.ends[0]], labels[variable]);
      }
      const LabelCost &more = rest[variable + 1][moment];
      if (cost.seconds + more.seconds >= least || cost.bytes + more.bytes > mostBytes) return false;
      before[variable + 1][moment] = cost;
    }
    return true;
  }

  ShardingCosts &costs;
  std::vector<LabelProblem> problems; ///< for each moment, with the bytes that are alive then
  double mostBytes, least;
  std::vector<std::vector<LabelCost>> before, rest; ///< of the labels before each variable; and at least from it on
  std::vector<std::vector<size_t>> earlier;         ///< the pairs of a variable with those before it
  Labelling labels;
};
} // namespace

double tessera::test::leastSecondsOf(ShardingCosts &costs, const ShardingGraph &graph, double mostBytes, double most) {
  return Trials(costs, graph.countMoments(), mostBytes, most).find();
}
