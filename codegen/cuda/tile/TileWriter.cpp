//===- TileWriter.cpp - a launch of a tiled op as CUDA C++ ------------------===//

#include "codegen/cuda/tile/TileWriter.h"
#include "codegen/cuda/writer/Scalars.h"

using namespace mlir;
using namespace tessera;
using namespace tessera::cuda;

TileWriter::TileWriter(const TilePlan &plan, ArrayRef<int64_t> alignments)
    : plan(plan), scope(plan, alignments), values(scope, plan), tiles(scope, plan, values),
      fragments(scope, plan, tiles), rows(scope, plan), elements(scope, plan, tiles, values, fragments, rows) {}

FailureOr<std::string> TileWriter::write(StringRef symbol) {
  const TileKernel *reducing = plan.reducingKernel();
  unsigned sweeps = reducing ? reducing->plan.sweeps : 1;
  scope.writeSignature(symbol);
  scope.frames.emplace_back();
  scope.writePosition();
  for (const TileContraction &matrix : plan.matrices) fragments.loadOwn(matrix);
  tiles.declare();
  fragments.declareSums();
  if (reducing) rows.writeStage(0);
  scope.openSerialLoops();
  values.loadOwn();
  if (plan.online) {
    writeOnlineSweep();
  } else {
    for (unsigned number = 1; number <= sweeps; ++number) {
      writeSweep(number, sweeps);
      if (reducing) rows.writeStage(number);
    }
  }
  scope.closeSerialLoops();
  for (const TileContraction &sum : plan.sums) fragments.storeSum(sum);
  scope.text.close();
  if (scope.failed) return failure();
  return scope.text.str();
}

void TileWriter::writeMatrices() {
  for (const TileContraction &matrix : plan.matrices) elements.setMatrix(matrix.result, fragments.writeMatrix(matrix));
  tiles.storeNextLines();
}

void TileWriter::writeSweep(unsigned number, unsigned sweeps) {
  bool isLast = number == sweeps, reduces = plan.reducingKernel() != nullptr;
  auto isLoaded = [&](Value operand) {
    return isLast ||
           llvm::any_of(plan.matrices, [&](const TileContraction &matrix) { return matrix.other == operand; });
  };
  if (reduces) rows.declareAccumulators(number);
  tiles.openLoop(number == 1, llvm::filter_to_vector(llvm::make_first_range(plan.sharedOperands), isLoaded));
  writeMatrices();
  elements.write(number, isLast);
  rows.addSoftmaxElements();
  if (isLast)
    for (const TileContraction &sum : plan.sums) fragments.accumulate(sum);
  tiles.closeLoop();
  if (reduces) rows.reduceOverLanes(number);
}

/// The kernels run twice for each tile: first for the elements of the softmax, then, with the new maximum, for the
/// weights.
void TileWriter::writeOnlineSweep() {
  rows.declareAccumulators(1);
  tiles.openLoop(/*isFirstSweep=*/true, llvm::to_vector(llvm::make_first_range(plan.sharedOperands)));
  writeMatrices();
  elements.write(1, /*isLast=*/false);
  std::string running = rows.runningSoftmax(), arrays = rows.softmaxElements(), scale = scope.unique("scale");
  std::string factor = literal(plan.onlineScale(), tensorType(plan.online->max).getElementType());
  auto advance = [&](StringRef half) {
    return ("tsr::advance<4>(" + running + half + ", " + arrays + half + ", " + factor + ")").str();
  };
  scope.text.line("const float " + scale + "[2] = {" + advance("[0]") + ", " + advance("[1]") + "};");
  fragments.scaleSums(scale);
  elements.writeOnlineWeights();
  for (const TileContraction &sum : plan.sums) fragments.accumulate(sum);
  tiles.closeLoop();
  rows.reduceOnlineSoftmax();
  rows.writeStage(1);
  rows.writeStage(2);
}
