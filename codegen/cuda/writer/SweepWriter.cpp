//===- SweepWriter.cpp - the serial loops of a kernel -----------------------===//
//
// A thread processes every `group`th serial vector of its point. The threads of a group then combine what they have
// accumulated, in an order that depends on the mapping alone.
//
//===----------------------------------------------------------------------===//

#include "codegen/cuda/writer/KernelWriter.h"
#include "codegen/cuda/writer/Scalars.h"

using namespace mlir;
using namespace tessera;
using namespace tessera::cuda;

/// The factor by which the compiler unrolls a long serial loop.
static constexpr int64_t unrolled = 4;

static Type accumulatorOf(ReduceOp reduce) { return accumulatorType(reduce.getType().getElementType()); }

/// A mapping may retain all values that several sweeps read, or none.
void KernelWriter::declareRetained() {
  if (mapping.registerVectors == 0) return;
  for (Value item : repeatedlyRead(plan)) {
    const Access &access = plan.reads.find(item)->second;
    std::string type = scalarType(access.element).str();
    if (isVector(item) && isVectorAccess(access))
      type = "tsr::vec<" + type + ", " + std::to_string(mapping.vector) + ">";
    else if (isVector(item))
      continue;
    std::string name = unique(parameters[access.argument] + "_kept");
    text.line(type + " " + name + "[" + Twine(mapping.registerVectors) + "];");
    retainedNames[item] = name;
  }
}

void KernelWriter::declareAccumulators(const Sweep &sweep) {
  for (ReduceOp reduce : sweep.reduces) {
    if (plan.isSoftmaxSum(reduce.getResult())) continue; // part of its maximum's
    Accumulator accumulator = accumulatorFor(plan, reduce);
    const std::string &type = accumulator.type, &start = accumulator.start;
    std::string name = unique(accumulator.name);
    accumulators[reduce.getResult()] = name;
    if (isVector(reduce.getResult()))
      text.line("auto " + name + " = tsr::filled<" + Twine(mapping.vector) + ", " + type + ">(" + start + ");");
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

void KernelWriter::openSerialLoops(const Sweep &sweep) {
  unsigned first = plan.loops.parallelCount, last = plan.loops.sizes.size();
  std::string count = std::to_string(mapping.serialCount), group = std::to_string(mapping.group);
  bool allActive = isExact || mapping.group == 1;
  if (mapping.registerVectors > 0) {
    text.flush("#pragma unroll");
    text.open("for (int k = 0; k < " + Twine(mapping.registerVectors) + "; ++k)");
    text.line("const int s = " + Twine(mapping.group == 1 ? "k" : "lane + k * " + group) + ";");
    serialDepth = 1;
    bool isWhole = mapping.registerVectors * mapping.group == mapping.serialCount;
    if (!isWhole || !allActive) {
      std::string condition = isWhole ? "active" : "s < " + count + (allActive ? "" : " && active");
      text.open("if (" + Twine(condition) + ")");
      serialDepth = 2;
    }
  } else {
    // Unrolling issues several loads before the first is used.
    if (mapping.serialCount >= unrolled * 2 * mapping.group) text.flush("#pragma unroll " + Twine(unrolled));
    std::string end = allActive ? count : "(active ? " + count + " : 0)";
    text.open("for (" + indexType + " s = " + (mapping.group == 1 ? "0" : "lane") + "; s < " + end + "; " +
              (mapping.group == 1 ? "++s" : "s += " + group) + ")");
    serialDepth = 1;
  }
  declareIndices(first, last, "s");
}

void KernelWriter::closeSerialLoops() {
  for (; serialDepth > 0; --serialDepth) text.close();
}

void KernelWriter::reduceOverGroup(const Sweep &sweep) {
  for (ReduceOp reduce : sweep.reduces) {
    if (plan.isSoftmaxSum(reduce.getResult())) continue;
    std::string name = accumulators.lookup(reduce.getResult());
    Accumulator accumulator = accumulatorFor(plan, reduce);
    const std::string &type = accumulator.type, &op = accumulator.op;
    std::string group = std::to_string(mapping.group);
    int64_t scratchElements =
        mapping.strided ? mapping.block * (isVector(reduce.getResult()) ? mapping.vector : 1) : mapping.block / 32;
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
  openSerialLoops(sweep);
  frames.emplace_back();
  Segment segment;
  for (Value item : plan.items) {
    if (!sweep.needed.contains(item)) continue;
    if (retainedLoaded.contains(item))
      bind(item, {retainedNames.lookup(item) + "[k]", "", isVector(item) ? Multiplicity::PerLane : Multiplicity::One});
    else
      segment.items.push_back(item);
  }
  segment.reduces = sweep.reduces;
  if (sweep.writesElements)
    for (unsigned result = 0; result < plan.writes.size(); ++result)
      if (plan.isElementResult(result)) segment.stores.push_back(result);
  writeSegment(segment);
  frames.pop_back();
  closeSerialLoops();
  reduceOverGroup(sweep);
}
