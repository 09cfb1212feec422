//===- ElementWriter.cpp - the kernels of a tiled op, element by element ----===//

#include "codegen/cuda/tile/ElementWriter.h"
#include "codegen/cuda/writer/Scalars.h"

using namespace mlir;
using namespace tessera;
using namespace tessera::cuda;

//===----------------------------------------------------------------------===//
// The loop
//===----------------------------------------------------------------------===//

void ElementWriter::openLoop() {
  Text &text = scope.text;
  text.line("#pragma unroll");
  text.open("for (int n = 0; n < " + Twine(plan.fragmentsOfTile()) + "; ++n)");
  text.line("#pragma unroll");
  text.open("for (int v = 0; v < 4; ++v)");
  scope.frames.emplace_back();
  ownLine = scope.unique(plan.ownAxis().getName()), otherLine = scope.unique(plan.otherAxis().getName());
  std::string own = "own + 8 * (v / 2)", other = "first + 8 * n + 2 * member + v % 2";
  if (plan.hasOwnTail()) own = "tsr::clamp(" + own + ", " + std::to_string(plan.ownAxis().getSize()) + ")";
  text.line("const " + scope.indexType + " " + ownLine + " = " + own + ";");
  if (plan.hasOtherTail()) {
    std::string others = std::to_string(plan.otherAxis().getSize());
    text.line("const bool inside = " + other + " < " + others + ";");
    other = "tsr::clamp(" + other + ", " + others + ")";
  }
  text.line("const " + scope.indexType + " " + otherLine + " = " + other + ";");
  scope.rowIndex = "v / 2";
}

void ElementWriter::closeLoop() {
  scope.frames.pop_back();
  scope.text.close();
  scope.text.close();
}

void ElementWriter::enter(const TileKernel &kernel) {
  scope.enter(kernel);
  scope.indices[kernel.rowsLoop()] = plan.mapping.ownsRows ? ownLine : otherLine;
  scope.indices[kernel.rowsLoop() + 1] = plan.mapping.ownsRows ? otherLine : ownLine;
}

//===----------------------------------------------------------------------===//
// Kernels
//===----------------------------------------------------------------------===//

void ElementWriter::write(unsigned sweep, bool isLast) {
  if (isLast) fragments.declareWeights();
  rows.declareSoftmaxElements(sweep);
  openLoop();
  for (const TileKernel &kernel : plan.kernels) {
    enter(kernel);
    writeKernel(kernel, sweep, isLast);
  }
  closeLoop();
}

/// The values that an element needs: of the reducing kernel those of the sweep, of another kernel all.
void ElementWriter::writeItems(const TileKernel &kernel, const std::optional<Sweep> &sweep) {
  for (Value item : kernel.plan.items) {
    if (scope.isBound(item) || (sweep && !sweep->needed.contains(item))) continue;
    auto argument = dyn_cast<BlockArgument>(item);
    auto matrix = argument ? matrices.find(kernel.op->getOperand(argument.getArgNumber())) : matrices.end();
    if (matrix != matrices.end())
      scope.bind(item, {matrix->second, ""});
    else if (!isa_and_nonnull<ReduceOp>(item.getDefiningOp()))
      scope.writeItem(item);
  }
}

/// One element of each matrix of a kernel.
void ElementWriter::writeKernel(const TileKernel &kernel, unsigned number, bool isLast) {
  std::optional<Sweep> sweep;
  if (&kernel == plan.reducingKernel()) sweep = rows.planSweep(number);
  writeItems(kernel, sweep);
  if (sweep) {
    for (ReduceOp reduce : sweep->reduces) rows.accumulate(reduce);
    if (!sweep->writesElements) return;
  }
  for (auto [result, value] : llvm::zip(kernel.op->getResults(), kernel.plan.yield().getValues()))
    if (plan.isMatrix(result)) matrices[result] = scope.use(value);
  if (isLast) fragments.storeWeights(kernel);
}

void ElementWriter::writeOnlineWeights() {
  using Multiplicity = TileScope::Multiplicity;
  const TileKernel &kernel = *plan.reducingKernel();
  const OnlineSoftmax &softmax = *plan.online;
  std::string running = rows.runningSoftmax();
  fragments.declareWeights();
  openLoop();
  enter(kernel);
  scope.bind(softmax.max, {running, ".max", Multiplicity::PerRow});
  scope.bind(softmax.x, {rows.softmaxElements() + "[v / 2][2 * n + v % 2]", ""});
  for (auto &[result, factors] : softmax.factors)
    for (Value factor : factors) scope.bind(factor, {literal(1.0, tensorType(factor).getElementType()), ""});
  writeItems(kernel, planSweep(kernel.plan, kernel.plan.sweeps, [&](Value value) { return scope.isBound(value); }));
  scope.text.line(running + "[v / 2].sum += " + scope.use(softmax.exponential) + ";");
  fragments.storeWeights(kernel);
  closeLoop();
}
