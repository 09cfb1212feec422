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
    std::string others = std::to_string(plan.otherAxis().getSize()),
                clamped = "tsr::clamp(" + other + ", " + others + ")";
    text.line("const bool inside = " + std::string(plan.peelsEdges() ? "!at_edge || " : "") + other + " < " + others +
              ";");
    other = plan.peelsEdges() ? "at_edge ? " + clamped + " : " + other : clamped;
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

/// What `roots` need and is not known yet.
llvm::DenseSet<Value> ElementWriter::neededBy(const TileKernel &kernel, ArrayRef<Value> roots) const {
  llvm::DenseSet<Value> needed;
  SmallVector<Value> worklist;
  auto need = [&](Value value) {
    if (kernel.plan.varies.contains(value) && !scope.isBound(value) && needed.insert(value).second)
      worklist.push_back(value);
  };
  llvm::for_each(roots, need);
  while (!worklist.empty()) llvm::for_each(kernel.ops.operandsOf(worklist.pop_back_val()), need);
  return needed;
}

void ElementWriter::writeItems(const TileKernel &kernel, ArrayRef<Value> roots) {
  llvm::DenseSet<Value> needed = neededBy(kernel, roots);
  for (Value item : kernel.plan.items)
    if (needed.contains(item) && !isa_and_nonnull<ReduceOp>(item.getDefiningOp())) writeItem(kernel, item);
}

void ElementWriter::writeItem(const TileKernel &kernel, Value item) {
  if (const TileElement *matrix = matrixOf(kernel, item)) return scope.bind(item, {matrix->value, ""});
  if (std::string line = values.elementOf(item, tiles.startOfLines()); !line.empty()) return scope.declare(item, line);
  if (kernel.ops.exponentials.contains(item)) {
    const TileExponential exponential = kernel.ops.exponentials.lookup(item);
    return scope.declare(item, exponentialOf(argumentOf(exponential), exponential));
  }
  if (Value rounded = kernel.ops.roundings.lookup(item)) {
    const TileElement *matrix = matrixOf(kernel, rounded);
    std::string exact = matrix ? matrix->sum : isa<BlockArgument>(rounded) ? "" : scope.use(rounded);
    StringRef type = scalarType(tensorType(item.getDefiningOp()->getOperand(0)).getElementType());
    if (!exact.empty()) return scope.declare(item, "tsr::rounded<" + type + ">(" + exact + ")");
  }
  auto inside = kernel.ops.insideBand.find(item);
  if (inside == kernel.ops.insideBand.end() || !plan.peelsEdges()) return scope.writeItem(item);
  scope.declare(item, (inside->second ? "!at_edge || " : "at_edge && ") + scope.computed(item.getDefiningOp()));
}

/// The element of the matrix that is an argument of a kernel; null if `item` is no such argument.
const TileElement *ElementWriter::matrixOf(const TileKernel &kernel, Value item) const {
  auto argument = dyn_cast<BlockArgument>(item);
  auto it = argument ? matrices.find(kernel.op->getOperand(argument.getArgNumber())) : matrices.end();
  return it == matrices.end() ? nullptr : &it->second;
}

std::string ElementWriter::argumentOf(const TileExponential &exponential) const {
  std::string x = scope.use(exponential.x);
  if (!exponential.mask) return x;
  std::string mask = scope.use(exponential.mask) + " ? ";
  return exponential.selectsX ? mask + x + " : -tsr::infinity()" : mask + "-tsr::infinity() : " + x;
}

std::string ElementWriter::exponentialOf(const std::string &argument, const TileExponential &exponential) const {
  return "tsr::exp_of_difference(" + argument + ", " +
         literal(exponential.scale, tensorType(exponential.down).getElementType()) + ", " +
         scope.use(exponential.down) + ")";
}

/// The elements of a reduction: of an online softmax without their common factor.
void ElementWriter::accumulate(const TileKernel &kernel, ReduceOp reduce) {
  if (plan.online && reduce.getResult() == plan.online->max)
    return rows.accumulate(reduce, argumentOf(kernel.ops.exponentials.lookup(plan.online->exponential)));
  Type from = reduce.getX().getType().getElementType(), to = accumulatorType(reduce.getType().getElementType());
  rows.accumulate(reduce, castTo(scope.use(reduce.getX()), from, to));
}

/// One element of each matrix of a kernel.
void ElementWriter::writeKernel(const TileKernel &kernel, unsigned number, bool isLast) {
  SmallVector<ReduceOp> reduces;
  SmallVector<Value> roots;
  bool writesElements = true;
  if (&kernel == plan.reducingKernel()) {
    Sweep sweep = rows.planSweep(number);
    writesElements = sweep.writesElements;
    for (ReduceOp reduce : sweep.reduces) {
      if (kernel.plan.isSoftmaxSum(reduce.getResult())) continue; // accumulated with its maximum
      reduces.push_back(reduce);
      if (plan.online && reduce.getResult() == plan.online->max)
        roots.append(ElementOps::argumentsOf(kernel.ops.exponentials.lookup(plan.online->exponential)));
      else
        roots.push_back(reduce.getX());
    }
  }
  for (auto [i, value] : llvm::enumerate(kernel.plan.yield().getValues()))
    if (writesElements && plan.isMatrix(kernel.op->getResult(i))) roots.push_back(value);
  writeItems(kernel, roots);
  for (ReduceOp reduce : reduces) accumulate(kernel, reduce);
  if (!writesElements) return;
  for (auto [result, value] : llvm::zip(kernel.op->getResults(), kernel.plan.yield().getValues()))
    if (plan.isMatrix(result)) matrices[result] = {scope.use(value), ""};
  if (isLast) fragments.storeWeights(kernel);
}

void ElementWriter::writeOnlineWeights() {
  const TileKernel &kernel = *plan.reducingKernel();
  const OnlineSoftmax &softmax = *plan.online;
  fragments.declareWeights();
  openLoop();
  enter(kernel);
  rows.bindOnlineMaximum();
  for (auto &[result, factors] : softmax.factors)
    for (Value factor : factors) scope.bind(factor, {literal(1.0, tensorType(factor).getElementType()), ""});
  TileExponential exponential = kernel.ops.exponentials.lookup(softmax.exponential);
  writeItems(kernel, exponential.down);
  scope.declare(softmax.exponential, exponentialOf(rows.softmaxElements() + "[v / 2][2 * n + v % 2]", exponential));
  SmallVector<Value> roots;
  for (auto [i, value] : llvm::enumerate(kernel.plan.yield().getValues()))
    if (plan.isMatrix(kernel.op->getResult(i))) roots.push_back(value);
  writeItems(kernel, roots);
  scope.text.line(rows.runningSoftmax() + "[v / 2].sum += " + scope.use(softmax.exponential) + ";");
  fragments.storeWeights(kernel);
  closeLoop();
}
