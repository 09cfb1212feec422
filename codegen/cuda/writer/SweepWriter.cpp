//===- SweepWriter.cpp - the serial loops of a kernel -----------------------===//
//
// Of the serial vectors of a point, a thread takes each `team`th. What it accumulates is then combined with the others' in an
// order that depends on the schedule alone.
//
//===----------------------------------------------------------------------===//

#include "codegen/cuda/writer/KernelWriter.h"
#include "codegen/cuda/writer/Scalars.h"

using namespace mlir;
using namespace tessera;
using namespace tessera::cuda;

/// Rounds of a long serial loop that the compiler takes together.
static constexpr int64_t unrolled = 4;

static Type accumulatorOf(ReduceOp reduce) { return accumulatorType(reduce.getType().getElementType()); }

/// What is read in several sweeps, if the schedule keeps it.
void KernelWriter::declareKept() {
  if (schedule.kept == 0) return;
  for (Value item : readAgain(plan)) {
    const Access &access = plan.reads.find(item)->second;
    std::string type = scalarType(access.element).str();
    if (isVector(item) && isVectorAccess(access))
      type = "tsr::vec<" + type + ", " + std::to_string(schedule.vector) + ">";
    else if (isVector(item))
      continue;
    std::string name = unique(parameters[access.argument] + "_kept");
    text.line(type + " " + name + "[" + Twine(schedule.kept) + "];");
    keptNames[item] = name;
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
      text.line("auto " + name + " = tsr::filled<" + Twine(schedule.vector) + ", " + type + ">(" + start + ");");
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
  unsigned first = plan.parallelLoops, last = plan.sizes.size();
  std::string count = std::to_string(schedule.serialCount), team = std::to_string(schedule.team);
  bool everyoneWorks = isExact || schedule.team == 1;
  if (schedule.kept > 0) {
    text.flush("#pragma unroll");
    text.open("for (int k = 0; k < " + Twine(schedule.kept) + "; ++k)");
    text.line("const int s = " + Twine(schedule.team == 1 ? "k" : "lane + k * " + team) + ";");
    serialDepth = 1;
    bool isWhole = schedule.kept * schedule.team == schedule.serialCount;
    if (!isWhole || !everyoneWorks) {
      std::string isThere = isWhole ? "active" : "s < " + count + (everyoneWorks ? "" : " && active");
      text.open("if (" + Twine(isThere) + ")");
      serialDepth = 2;
    }
  } else {
    // Several reads are under way at a time.
    if (schedule.serialCount >= unrolled * 2 * schedule.team) text.flush("#pragma unroll " + Twine(unrolled));
    std::string end = everyoneWorks ? count : "(active ? " + count + " : 0)";
    text.open("for (" + indexType + " s = " + (schedule.team == 1 ? "0" : "lane") + "; s < " + end + "; " +
              (schedule.team == 1 ? "++s" : "s += " + team) + ")");
    serialDepth = 1;
  }
  declareIndices(first, last, "s");
}

void KernelWriter::closeSerialLoops() {
  for (; serialDepth > 0; --serialDepth) text.close();
}

void KernelWriter::reduceOverTeam(const Sweep &sweep) {
  for (ReduceOp reduce : sweep.reduces) {
    if (plan.isSoftmaxSum(reduce.getResult())) continue;
    std::string name = accumulators.lookup(reduce.getResult());
    Accumulator accumulator = accumulatorFor(plan, reduce);
    const std::string &type = accumulator.type, &op = accumulator.op;
    std::string team = std::to_string(schedule.team);
    int64_t numbers =
        schedule.strided ? schedule.block * (isVector(reduce.getResult()) ? schedule.vector : 1) : schedule.block / 32;
    if (schedule.team > 1 && !schedule.strided && schedule.team <= 32) {
      text.line(name + " = tsr::warp_reduce<" + op + ", " + team + ">(" + name + ");");
    } else if (schedule.team > 1) {
      std::string scratch = unique(name + "_scratch");
      text.line("TSR_SHARED(" + type + ", " + scratch + ", " + Twine(numbers) + ");");
      std::string function = schedule.strided ? "strided_reduce" : "block_reduce";
      std::string stride = schedule.strided ? ", " + std::to_string(schedule.pointsOfBlock()) : "";
      text.line(name + " = tsr::" + function + "<" + op + ", " + team + stride + ">(" + name + ", " + scratch + ");");
    }
    Type element = reduce.getType().getElementType();
    Known known{name, "", isVector(reduce.getResult()) ? Many::PerLane : Many::One};
    if (Value sum = plan.softmaxSumOf(reduce.getResult())) {
      know(sum, {name, ".sum", known.many});
      known.after = ".max";
    }
    if (element != accumulatorOf(reduce)) known.before = (scalarType(element) + "(" + name).str(), known.after = ")";
    know(reduce.getResult(), known);
  }
}

void KernelWriter::writeSweep(unsigned number) {
  Sweep sweep = planSweep(plan, number, [&](Value value) { return isRow(value) && isKnown(value); });
  declareAccumulators(sweep);
  openSerialLoops(sweep);
  frames.emplace_back();
  Step step;
  for (Value item : plan.items) {
    if (!sweep.needed.contains(item)) continue;
    if (keptLoaded.contains(item))
      know(item, {keptNames.lookup(item) + "[k]", "", isVector(item) ? Many::PerLane : Many::One});
    else
      step.items.push_back(item);
  }
  step.reduces = sweep.reduces;
  if (sweep.writesElements)
    for (unsigned result = 0; result < plan.writes.size(); ++result)
      if (plan.isElementResult(result)) step.stores.push_back(result);
  writeStep(step);
  frames.pop_back();
  closeSerialLoops();
  reduceOverTeam(sweep);
}
