//===- SweepWriter.cpp - the serial loops of a kernel -----------------------===//
//
// A thread processes every `group`th serial vector of its point, then its part of the elements that are no part of a
// whole vector. The threads of a group then combine what they have accumulated, in an order that depends on the mapping
// alone.
//
//===----------------------------------------------------------------------===//

#include "codegen/cuda/writer/KernelWriter.h"
#include "codegen/cuda/writer/Scalars.h"

using namespace mlir;
using namespace tessera;
using namespace tessera::cuda;

/// The factor by which the compiler unrolls a long serial loop whose vectors are not loaded together.
static constexpr int64_t unrolled = 4;
/// The most serial vectors that are loaded together.
static constexpr int64_t mostVectors = 8;
/// 32-bit registers of a thread for vectors that are loaded together: an eighth of a multiprocessor's for one block.
static int64_t batchRegisters(int64_t block) { return std::min<int64_t>(32, 65536 / (8 * block)); }

static Type accumulatorOf(ReduceOp reduce) { return accumulatorType(reduce.getType().getElementType()); }

/// Declares arrays for values that several sweeps read and that stay in registers: all of them, or none.
void KernelWriter::declareRetained() {
  if (mapping.registerVectors == 0) return;
  for (Value item : repeatedlyRead(plan))
    if (!isVector(item) || isVectorAccess(plan.reads.find(item)->second)) declareArray(item, mapping.registerVectors);
}

void KernelWriter::declareAccumulators(const Sweep &sweep) {
  for (ReduceOp reduce : sweep.reduces) {
    if (plan.isSoftmaxSum(reduce.getResult())) continue; // part of its maximum's
    Accumulator accumulator = accumulatorFor(plan, reduce);
    const std::string &type = accumulator.type, &start = accumulator.start;
    std::string name = unique(accumulator.name);
    accumulators[reduce.getResult()] = name;
    if (isVector(reduce.getResult()))
      text.line("auto " + name + " = tsr::filled<" + Twine(vector) + ", " + type + ">(" + start + ");");
    else
      text.line(type + " " + name + " = " + start + ";");
  }
}

void KernelWriter::writeAccumulation(ReduceOp reduce) {
  if (plan.isSoftmaxSum(reduce.getResult())) return;
  std::string total = accumulators.lookup(reduce.getResult()) + (isVector(reduce.getResult()) ? "[j]" : "");
  std::string x = castTo(use(reduce.getX()), reduce.getX().getType().getElementType(), accumulatorOf(reduce));
  if (plan.softmaxSumOf(reduce.getResult()))
    text.line(total + ".add(" + x + ");");
  else if (reduce.getKind() == ReduceKind::Sum && isa<FloatType>(accumulatorOf(reduce)))
    text.line(total + " += " + x + ";");
  else
    text.line(total + " = " + reduction(reduce.getKind()) + "::combine(" + total + ", " + x + ");");
}

/// Serial vectors that are loaded together; where possible, each thread has a multiple of them.
static int64_t vectorsAtOnce(const KernelPlan &plan, const ThreadMapping &mapping, ArrayRef<Value> loads) {
  if (loads.empty()) return 1;
  int64_t each = llvm::divideCeil(mapping.serialCount, mapping.group);
  int64_t fit = batchRegisters(mapping.block) / vectorRegisters(plan, loads, mapping.vector);
  int64_t most = std::min(std::clamp<int64_t>(fit, 1, mostVectors), each);
  for (int64_t count = most; 2 * count > most && mapping.serialCount % mapping.group == 0; --count)
    if (each % count == 0) return count;
  return most;
}

/// The whole vectors of a sweep.
void KernelWriter::writeVectors(const Segment &segment) {
  uint64_t serial = ~plan.loops.parallelMask();
  int64_t group = mapping.group;
  bool allActive = isExact || group == 1, retains = mapping.registerVectors > 0;
  std::string all = std::to_string(mapping.serialCount), first = group == 1 ? "0" : "lane";
  std::string end = allActive ? all : "(active ? " + all + " : 0)";
  auto declare = [&] { declareIndices(plan.loops.parallelCount, plan.loops.sizes.size(), "s"); };
  auto compute = [&](const Segment &rest) { writeSegment(rest); };
  SmallVector<Value> loads = batchLoads(segment, serial);
  if (retains) {
    auto isRetained = [&](Value item) { return arrays.contains(item); };
    SmallVector<Value> retained = llvm::filter_to_vector(loads, isRetained);
    SmallVector<Value> others = llvm::filter_to_vector(loads, [&](Value item) { return !isRetained(item); });
    if (vectorRegisters(plan, others, vector) * mapping.registerVectors > batchRegisters(mapping.block))
      loads = retained;
    bool isWhole = mapping.registerVectors * group == mapping.serialCount;
    std::string inside = isWhole ? "" : "s < " + all, both = isWhole || allActive ? "" : " && ";
    writeBatch(segment, loads, mapping.registerVectors,
               {"const int s = " + (group == 1 ? "k" : "lane + k * " + std::to_string(group)) + ";",
                inside + both + (allActive ? "" : "active"), declare},
               compute);
    return;
  }
  int64_t count = vectorsAtOnce(plan, mapping, loads);
  if (count > 1) {
    text.open("for (" + indexType + " start = " + first + "; start < " + end + "; start += " + Twine(count * group) +
              ")");
    bool isWhole = mapping.serialCount % (count * group) == 0;
    std::string step = group == 1 ? "k" : "k * " + std::to_string(group);
    writeBatch(segment, loads, count,
               {"const " + indexType + " s = start + " + step + ";", isWhole ? "" : "s < " + all, declare}, compute);
    text.close();
    return;
  }
  if (mapping.serialCount >= unrolled * 2 * group) text.flush("#pragma unroll " + Twine(unrolled));
  text.open("for (" + indexType + " s = " + first + "; s < " + end + "; " +
            (group == 1 ? "++s" : "s += " + std::to_string(group)) + ")");
  declare();
  frames.emplace_back();
  writeSegment(segment);
  frames.pop_back();
  text.close();
}

/// The elements of a sweep that are no part of a whole vector, one by one.
void KernelWriter::writeTail(const Segment &segment) {
  if (mapping.tailCount == 0) return;
  std::string all = std::to_string(mapping.tailCount), group = std::to_string(mapping.group);
  bool allActive = isExact || mapping.group == 1;
  text.open("for (" + indexType + " s = " + (mapping.group == 1 ? "0" : "lane") + "; s < " +
            (allActive ? all : "(active ? " + all + " : 0)") + "; s += " + group + ")");
  writeTailElements(segment, plan.loops.parallelCount, plan.loops.sizes.size(), "s");
  text.close();
}

void KernelWriter::reduceOverGroup(const Sweep &sweep) {
  for (ReduceOp reduce : sweep.reduces) {
    if (plan.isSoftmaxSum(reduce.getResult())) continue;
    std::string name = accumulators.lookup(reduce.getResult());
    Accumulator accumulator = accumulatorFor(plan, reduce);
    const std::string &type = accumulator.type, &op = accumulator.op;
    std::string group = std::to_string(mapping.group);
    int64_t scratchElements =
        mapping.strided ? mapping.block * (isVector(reduce.getResult()) ? vector : 1) : mapping.block / 32;
    if (mapping.group > 1 && !mapping.strided && mapping.group <= 32) {
      text.line(name + " = tsr::warp_reduce<" + op + ", " + group + ">(" + name + ");");
    } else if (mapping.group > 1) {
      std::string scratch = unique(name + "_scratch");
      text.line("TSR_SHARED(" + type + ", " + scratch + ", " + Twine(scratchElements) + ");");
      std::string function = mapping.strided ? "strided_reduce" : "block_reduce";
      std::string stride = mapping.strided ? ", " + std::to_string(mapping.pointsOfBlock()) : "";
      text.line(name + " = tsr::" + function + "<" + op + ", " + group + stride + ">(" + name + ", " + scratch + ");");
    }
    Type element = reduce.getType().getElementType();
    Binding binding{name, "", isVector(reduce.getResult()) ? Multiplicity::PerLane : Multiplicity::One};
    if (Value sum = plan.softmaxSumOf(reduce.getResult())) {
      bind(sum, {name, ".sum", binding.multiplicity});
      binding.suffix = ".max";
    }
    if (element != accumulatorOf(reduce))
      binding.prefix = (scalarType(element) + "(" + name).str(), binding.suffix = ")";
    bind(reduce.getResult(), binding);
  }
}

void KernelWriter::writeSweep(unsigned number) {
  Sweep sweep = planSweep(plan, number, [&](Value value) { return isRow(value) && isBound(value); });
  declareAccumulators(sweep);
  Segment segment;
  segment.items = llvm::filter_to_vector(plan.items, [&](Value item) { return sweep.needed.contains(item); });
  segment.reduces = sweep.reduces;
  if (sweep.writesElements)
    for (unsigned result = 0; result < plan.writes.size(); ++result)
      if (plan.isElementResult(result)) segment.stores.push_back(result);
  frames.emplace_back();
  for (Value item : segment.items)
    if (loaded.contains(item)) bindLoaded(item);
  writeVectors(segment);
  frames.pop_back();
  writeTail(segment);
  reduceOverGroup(sweep);
}
