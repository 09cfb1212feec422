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

/// Why ranks along a mesh axis do not divide the rows of micro-batches; empty if that is not the reason.
static std::string problemOfMicroBatches(func::FuncOp function, StringRef along, int64_t ranks) {
  auto rules = function->getParentOfType<ModuleOp>()->getAttrOfType<DictionaryAttr>(attrs::shard);
  std::string problem;
  function.walk([&](SplitOp split) {
    if (!makesBlocks(split) || Sharding(rules).meshAxis(split.getAxis()) != along) return;
    int64_t rows = tensorType(split.getResult()).getSize(split.getAxis());
    if (rows % ranks == 0) return;
    problem =
        llvm::formatv("micro-batches of {0} row{1} cannot be divided evenly among {2} ranks: choose `accumulate` so "
                      "that they can",
                      rows, rows == 1 ? "" : "s", ranks);
  });
  return problem;
}

void tessera::warnOfUndividedWork(ModuleOp module, const ProgramMesh &mesh) {
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
      std::string reason = problemOfMicroBatches(function, axis.getName(), axis.getSize());
      if (!reason.empty()) warning.attachNote() << reason;
      if (module->hasAttr(attrs::foundSharding))
        warning.attachNote() << "the search for a sharding found none with which a step takes less time: fewer devices "
                                "may do as well";
    }
  }
}
