//===- LabelProblems.h - problems for tests of the solver -----------------===//

#ifndef TESSERA_TESTS_PASSES_SHARDING_LABELPROBLEMS_H
#define TESSERA_TESTS_PASSES_SHARDING_LABELPROBLEMS_H

#include "passes/sharding/search/LabelProblem.h"
#include <functional>
#include <random>

namespace tessera::test {

/// How a small random problem is made; everything is drawn from the seed.
struct RandomShape {
  unsigned mostVariables = 8, mostLabels = 6;
  unsigned leastVariables = 1, leastLabels = 1;
  bool mayForbid = true, mayBeDense = true;
};

/// Chains, trees, cycles, dense and sparse graphs; costs with and without ties; bytes of labels, of pairs or none;
/// tables of zeros, tables that forbid, several tables of the same pair.
LabelProblem randomProblem(unsigned seed, const RandomShape &shape = {});

/// What a step of training looks like to the search. Each op is a variable, its labels say for each mesh axis which of
/// the op's axes it divides, if any. Forward and backward chains with a residual stream, saved values, parameters,
/// their updates; layers that have the same label at their entry and at their exit.
struct StepShape {
  std::vector<int> mesh = {8, 8}; ///< sizes of the mesh axes, the one with the fastest links first
  int layers = 3;                 ///< different ones, each of which is there several times
  double width = 4096, length = 2048, rows = 64, vocabulary = 128'000;
};
LabelProblem trainingStep(const StepShape &shape);

/// All labellings of a small problem.
void forEachLabelling(const LabelProblem &problem, const std::function<void(const Labelling &)> &visit);

} // namespace tessera::test

#endif // TESSERA_TESTS_PASSES_SHARDING_LABELPROBLEMS_H
