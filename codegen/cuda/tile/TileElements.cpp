//===- TileElements.cpp - the kernels of a tiled op, element by element -----===//
//
// A lane has some elements of each tile of a matrix (tessera.cuh, FragmentC): in lines `own` and `own` + 8, two
// neighbours along the other lines in each eight. Values of rows are kept for both lines, `[h]` or `[v / 2]`.
//
//===----------------------------------------------------------------------===//

#include "codegen/cuda/tile/TileWriter.h"
#include "codegen/cuda/writer/Scalars.h"
#include "ir/program/Program.h"

using namespace mlir;
using namespace tessera;
using namespace tessera::cuda;

void TileWriter::enter(Inner &kernel) {
  inner = &kernel;
  current = &kernel.plan;
  indices.assign(kernel.plan.loops.sizes.size(), "");
  std::copy(kernel.batch.begin(), kernel.batch.end(), indices.begin());
}

/// What sums read outlives the loop over elements.
void TileWriter::declareWeights() {
  for (const Product &sum : sums) {
    if (fragments.contains(sum.own)) continue;
    fragments[sum.own] = unique("weight");
    text.line(scalarType(tensorType(sum.own).getElementType()) + " " + fragments[sum.own] + "[" +
              Twine(tilesOfOther()) + "][4];");
  }
}

void TileWriter::openElements() {
  text.line("#pragma unroll");
  text.open("for (int n = 0; n < " + Twine(tilesOfOther()) + "; ++n)");
  text.line("#pragma unroll");
  text.open("for (int v = 0; v < 4; ++v)");
  frames.emplace_back();
  ownLineName = unique(ownAxis().getName()), otherLineName = unique(otherAxis().getName());
  int64_t ownSize = ownAxis().getSize(), others = otherAxis().getSize();
  std::string ownLine = "own + 8 * (v / 2)", otherLine = "first + 8 * n + 2 * member + v % 2";
  if (ownSize % mapping.ownLines != 0) ownLine = "tsr::clamp(" + ownLine + ", " + std::to_string(ownSize) + ")";
  text.line("const " + indexType + " " + ownLineName + " = " + ownLine + ";");
  if (hasOtherTail()) {
    text.line("const bool inside = " + otherLine + " < " + Twine(others) + ";");
    otherLine = "tsr::clamp(" + otherLine + ", " + std::to_string(others) + ")";
  }
  text.line("const " + indexType + " " + otherLineName + " = " + otherLine + ";");
  rowIndex = "v / 2";
}

void TileWriter::closeElements() {
  frames.pop_back();
  text.close();
  text.close();
}

void TileWriter::writeElements(unsigned number, bool isLast) {
  if (isLast) declareWeights();
  // Numbers of a row whose exponentials are added up: all at once, so that the sum is corrected once.
  rowNumbers.clear();
  for (auto &[max, name] : accumulators)
    if (reducing->plan.softmaxSumOf(max) && reducing->plan.stages.lookup(max) == number) {
      rowNumbers[max] = unique("numbers");
      text.line("tsr::vec<" + scalarType(tensorType(max).getElementType()) + ", " + Twine(2 * tilesOfOther()) + "> " +
                rowNumbers[max] + "[2];");
    }
  openElements();
  for (Inner &kernel : kernels) {
    enter(kernel);
    indices[kernel.rowsLoop()] = lineName(/*isRow=*/true);
    indices[kernel.rowsLoop() + 1] = lineName(/*isRow=*/false);
    writeInner(kernel, number, isLast);
  }
  closeElements();
  if (oneSweep) return; // these are looked at again
  for (auto &[max, name] : rowNumbers)
    for (const char *half : {"[0]", "[1]"}) text.line(accumulators.lookup(max) + half + ".add(" + name + half + ");");
}

/// What the current element's code needs of a kernel's items: in a sweep of the one that reduces, what that needs.
void TileWriter::writeItems(Inner &kernel, const std::optional<Sweep> &sweep) {
  for (Value item : kernel.plan.items) {
    if (isKnown(item) || (sweep && !sweep->needed.contains(item))) continue;
    auto argument = dyn_cast<BlockArgument>(item);
    if (auto it = argument ? matrices.find(kernel.op.getOperand(argument.getArgNumber())) : matrices.end();
        it != matrices.end())
      know(item, {it->second, ""});
    else if (!isa_and_nonnull<ReduceOp>(item.getDefiningOp()))
      writeItem(item);
  }
}

/// One element of each of a kernel's matrices.
void TileWriter::writeInner(Inner &kernel, unsigned number, bool isLast) {
  bool reduces = &kernel == reducing;
  auto knownBefore = [&](Value value) { return reduces && isRow(kernel, value) && isKnown(value); };
  std::optional<Sweep> sweep;
  if (reduces) sweep = planSweep(kernel.plan, number, knownBefore);
  writeItems(kernel, sweep);
  for (ReduceOp reduce : sweep ? sweep->reduces : SmallVector<ReduceOp>()) {
    if (kernel.plan.isSoftmaxSum(reduce.getResult())) continue; // part of its maximum's
    Type type = accumulatorType(reduce.getType().getElementType());
    std::string total = accumulators.lookup(reduce.getResult()) + "[v / 2]";
    std::string x = castTo(use(reduce.getX()), reduce.getX().getType().getElementType(), type);
    if (auto it = rowNumbers.find(reduce.getResult()); it != rowNumbers.end())
      text.line(it->second + "[v / 2][2 * n + v % 2] = " + (hasOtherTail() ? "inside ? " : "") + x +
                (hasOtherTail() ? " : -tsr::infinity()" : "") + ";");
    else
      text.line((hasOtherTail() ? "if (inside) " : "") + total + " = " + cuda::reduction(reduce.getKind()) +
                "::combine(" + total + ", " + x + ");");
  }
  if (sweep && !sweep->writesElements) return;
  for (auto [result, value] : llvm::zip(kernel.op.getResults(), kernel.plan.yield().getValues()))
    if (isMatrix(result)) matrices[result] = use(value);
  if (isLast) writeFragments(kernel);
}

/// Of the current element, what sums read.
void TileWriter::writeFragments(Inner &kernel) {
  for (auto [result, value] : llvm::zip(kernel.op.getResults(), kernel.plan.yield().getValues())) {
    auto it = fragments.find(result);
    if (it == fragments.end()) continue;
    Type element = tensorType(result).getElementType();
    text.line(it->second + "[n][v] = " + (hasOtherTail() ? "inside ? " : "") + use(value) +
              (hasOtherTail() ? " : " + literal(0.0, element) : "") + ";");
  }
}

void TileWriter::declareAccumulators(unsigned number) {
  Sweep sweep =
      planSweep(reducing->plan, number, [&](Value value) { return isRow(*reducing, value) && isKnown(value); });
  for (ReduceOp reduce : sweep.reduces) {
    if (reducing->plan.isSoftmaxSum(reduce.getResult())) continue;
    Accumulator accumulator = accumulatorFor(reducing->plan, reduce);
    std::string name = unique(accumulator.name);
    accumulators[reduce.getResult()] = name;
    text.line(accumulator.type + " " + name + "[2] = {" + accumulator.start + ", " + accumulator.start + "};");
  }
}

void TileWriter::reduceOverLanes(unsigned number) {
  for (Value item : reducing->plan.items) {
    auto reduce = dyn_cast_if_present<ReduceOp>(item.getDefiningOp());
    if (!reduce || reducing->plan.stages.lookup(item) != number) continue;
    if (reducing->plan.isSoftmaxSum(item)) continue;
    std::string name = accumulators.lookup(item), op = accumulatorFor(reducing->plan, reduce).op;
    for (const char *half : {"[0]", "[1]"})
      text.line(name + half + " = tsr::warp_reduce<" + op + ", 4>(" + name + half + ");");
    Type element = reduce.getType().getElementType(), type = accumulatorType(element);
    Known known{name, "", Many::PerRow};
    if (Value sum = reducing->plan.softmaxSumOf(item)) {
      know(sum, {name, ".sum", Many::PerRow});
      known.after = ".max";
    }
    if (element != type) known.before = (scalarType(element) + "(" + name).str(), known.after = ")";
    know(item, known);
  }
}

/// Values of the two own rows that are known after so many sweeps; at the end the rows' results are written.
void TileWriter::writeRowStep(unsigned stage) {
  Inner &kernel = *reducing;
  SmallVector<Value> items;
  SmallVector<unsigned> stores;
  for (Value item : kernel.plan.items)
    if (isRow(kernel, item) && kernel.plan.stages.lookup(item) == stage &&
        !isa_and_nonnull<ReduceOp>(item.getDefiningOp()))
      items.push_back(item);
  if (stage == kernel.plan.sweeps)
    for (auto [i, result] : llvm::enumerate(kernel.op.getResults()))
      if (!isMatrix(result)) stores.push_back(i);
  if (items.empty() && stores.empty()) return;
  llvm::DenseMap<Value, std::string> left;
  for (Value item : items) {
    if (isa_and_nonnull<ConstantOp>(item.getDefiningOp())) continue;
    left[item] = unique(item.getDefiningOp() ? item.getDefiningOp()->getName().stripDialect() : StringRef("row"));
    text.line(scalarType(tensorType(item).getElementType()) + " " + left[item] + "[2];");
  }
  text.line("#pragma unroll");
  text.open("for (int h = 0; h < 2; ++h)");
  frames.emplace_back();
  rowIndex = "h";
  enter(kernel);
  int64_t rows = axes.rows.getSize();
  std::string name = unique(axes.rows.getName()), line = "own + 8 * h";
  bool hasTail = rows % mapping.ownLines != 0;
  text.line("const " + indexType + " " + name + " = " +
            (hasTail ? "tsr::clamp(" + line + ", " + std::to_string(rows) + ")" : line) + ";");
  indices[kernel.rowsLoop()] = name;
  for (Value item : items) {
    writeItem(item);
    if (auto it = left.find(item); it != left.end()) text.line(it->second + "[h] = " + use(item) + ";");
  }
  for (unsigned i : stores) {
    Value result = kernel.op.getResult(i);
    // The tiled op's result that this is, if it is one.
    for (OpOperand &use : result.getUses()) {
      if (!isa<YieldOp>(use.getOwner())) continue;
      unsigned parameter = op.getNumOperands() + use.getOperandNumber();
      std::string where = "member == 0" + (hasTail ? " && " + line + " < " + std::to_string(rows) : std::string());
      text.line("if (" + where + ") " + parameters[parameter] + "[" + expression(kernel.plan.writes[i].offset) +
                "] = " + this->use(kernel.plan.yield().getValues()[i]) + ";");
    }
  }
  frames.pop_back();
  text.close();
  for (Value item : items) {
    if (auto it = left.find(item); it != left.end())
      know(item, {it->second, "", Many::PerRow});
    else
      know(item, {literal(item.getDefiningOp<ConstantOp>().getValue(), tensorType(item).getElementType()), ""});
  }
}
