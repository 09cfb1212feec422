//===- DividedWork.cpp - how much of a step ranks divide ------------------===//

#include "passes/sharding/DividedWork.h"
#include "ir/program/Program.h"
#include "passes/sharding/Sharding.h"
#include "llvm/Support/FormatVariadic.h"

using namespace mlir;
using namespace tessera;

/// Whether ranks along a mesh axis have parts of an op, or iterations of a repeat around it.
static bool isDivided(Operation *op, StringRef along) {
  if (Sharding::of(op).uses(along)) return true;
  for (auto repeat = op->getParentOfType<RepeatOp>(); repeat; repeat = repeat->getParentOfType<RepeatOp>())
    if (auto ofLeaves = repeat->getAttrOfType<StringAttr>(attrs::along); ofLeaves && ofLeaves.getValue() == along)
      return true;
  return false;
}

std::optional<double> tessera::dividedWork(func::FuncOp function, StringRef along) {
  double all = 0, divided = 0;
  function.walk([&](CostOpInterface op) {
    double flops = static_cast<double>(runsPerCall(op)) * static_cast<double>(op.getFlops());
    all += flops;
    if (isDivided(op, along)) divided += flops;
  });
  return all > 0 ? std::optional(divided / all) : std::nullopt;
}

/// Of the axes of contractions that may be divided at all, the size of the largest one.
static int64_t largestAxis(func::FuncOp function) {
  llvm::StringSet<> repeated = repeatedAxes(function);
  int64_t largest = 0;
  function.walk([&](CostOpInterface op) {
    for (AxisAttr axis : spaceOf(op))
      if (!repeated.contains(axis.getName())) largest = std::max(largest, axis.getSize());
  });
  return largest;
}

/// Why ranks along a mesh axis do not divide the rows of micro-batches; empty if that is not the reason. Of a sharding
/// that was found, rows along no mesh axis might have been divided along this one.
static std::string problemOfMicroBatches(func::FuncOp function, StringRef along, int64_t ranks, bool isFound) {
  auto rules = function->getParentOfType<ModuleOp>()->getAttrOfType<DictionaryAttr>(attrs::shard);
  std::string problem;
  function.walk([&](SplitOp split) {
    if (!makesBlocks(split)) return;
    bool mightDivide = isFound ? Sharding::of(split).meshAxis(split.getAxis()).empty()
                               : Sharding(rules).meshAxis(split.getAxis()) == along;
    int64_t rows = tensorType(split.getResult()).getSize(split.getAxis());
    if (!mightDivide || rows % ranks == 0) return;
    problem =
        llvm::formatv("micro-batches of {0} row{1} cannot be divided evenly among {2} ranks: choose `accumulate` so "
                      "that they can",
                      rows, rows == 1 ? "" : "s", ranks);
  });
  return problem;
}

/// Why ranks along a mesh axis divide little; none if that is not known.
static SmallVector<std::string, 2> reasonsOf(func::FuncOp function, AxisAttr along, ShardingDecision decision) {
  bool isFound = decision != ShardingDecision::User;
  size_t names = isFound ? mostAxisNames(function->getParentOfType<ModuleOp>()) : 0;
  if (names > mostSearchedNames)
    return {
        llvm::formatv("the search for a sharding divides programs with at most {0} names of axes in a function, and "
                      "this one has {1}: say the mesh with --mesh",
                      mostSearchedNames, names)};
  if (int64_t largest = largestAxis(function); largest < along.getSize())
    return {llvm::formatv(
        "no axis of a contraction that may be divided has as many elements as there are ranks along "
        "`{0}`{1}",
        along.getName(),
        largest == 0 ? "" : llvm::formatv(": at most {0}, for {1} ranks", largest, along.getSize()).str())};
  SmallVector<std::string, 2> reasons;
  std::string problem = problemOfMicroBatches(function, along.getName(), along.getSize(), isFound);
  if (!problem.empty()) reasons.push_back(std::move(problem));
  if (decision == ShardingDecision::Memory)
    reasons.push_back("the search for a sharding knows some with which a step takes less time, but by its count they "
                      "need more than the memory of a rank");
  if (decision == ShardingDecision::Time)
    reasons.push_back("the search for a sharding found none with which a step takes less time: fewer devices may do as "
                      "well");
  return reasons;
}

void tessera::warnOfUndividedWork(ModuleOp module, const ProgramMesh &mesh, ShardingDecision decision) {
  for (func::FuncOp function : entryFunctions(module)) {
    if (function.getName() != "step") continue;
    for (AxisAttr axis : mesh.getAxes()) {
      std::optional<double> work = dividedWork(function, axis.getName());
      if (axis.getSize() == 1 || !work || *work >= 0.5) continue;
      InFlightDiagnostic warning = emitWarning(UnknownLoc::get(module.getContext()));
      warning.getUnderlyingDiagnostic()->getMetadata().emplace_back(StringRef("E0418"));
      warning << "the ranks along `" << axis.getName() << "` divide "
              << llvm::formatv("{0}", static_cast<int>(100 * *work)).str()
              << " % of the contractions of a step, and each of them computes the rest in full";
      for (const std::string &reason : reasonsOf(function, axis, decision)) warning.attachNote() << reason;
    }
  }
}
