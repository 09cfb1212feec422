//===- KernelWriter.cpp - from a kernel's plan to CUDA C++ ------------------===//

#include "codegen/cuda/writer/KernelWriter.h"
#include "codegen/cuda/writer/Scalars.h"
#include "ir/program/Program.h"
#include "llvm/ADT/StringExtras.h"

using namespace mlir;
using namespace tessera;
using namespace tessera::cuda;

KernelWriter::KernelWriter(const KernelPlan &plan, const ThreadMapping &mapping) : plan(plan), mapping(mapping) {
  current = &plan;
  indices.resize(plan.loops.sizes.size());
  KernelOp kernel = plan.kernel;
  int64_t most = mapping.blocks() * mapping.pointsOfBlock() * mapping.vector;
  for (int64_t size : plan.loops.sizes) most = std::max(most, size);
  for (Value value :
       llvm::concat<Value>(SmallVector<Value>(kernel.getOperands()), SmallVector<Value>(kernel.getResults())))
    most = std::max(most, tensorType(value).getNumElements());
  if (std::max(most, largestPosition(plan)) >= largestInt) indexType = "tsr::i64";
  isExact = mapping.points % mapping.pointsOfBlock() == 0;
}

//===----------------------------------------------------------------------===//
// The function
//===----------------------------------------------------------------------===//

void KernelWriter::writeSignature(StringRef symbol, bool isPart) {
  KernelOp kernel = plan.kernel;
  if (isPart) blockNumber = unique("block");
  bool mayAlias = llvm::is_contained(plan.mayAliasResult, true);
  SmallVector<std::string> list;
  if (isPart) list.push_back("const unsigned " + blockNumber);
  for (auto [i, operand] : llvm::enumerate(kernel.getOperands())) {
    addParameter(operand, memoryName(operand, "in"), /*isResult=*/false);
    list.push_back(parameterTypes.back() + (plan.mayAliasResult[i] ? "" : "__restrict__ ") + parameters.back());
  }
  for (auto [i, result] : llvm::enumerate(kernel.getResults())) {
    addParameter(result, i == 0 ? "out" : "out_" + std::to_string(i), /*isResult=*/true);
    list.push_back(parameterTypes.back() + (mayAlias ? "" : "__restrict__ ") + parameters.back());
  }
  std::string kind = "extern \"C\" __global__ void __launch_bounds__(" + std::to_string(mapping.block) + ")";
  text.open(Twine(isPart ? "TSR_DEVICE void" : kind) + "\n" + symbol + "(" + llvm::join(list, ",\n    ") + ")");
}

/// Which point this thread computes. Teams whose threads work together do so to the end, on the last point where there
/// is none for them, and write nothing.
void KernelWriter::writePoint() {
  int64_t group = mapping.group, stride = mapping.pointsOfBlock();
  std::string own = group == 1        ? "threadIdx.x"
                    : mapping.strided ? "threadIdx.x % " + std::to_string(stride)
                                      : "threadIdx.x / " + std::to_string(group);
  std::string block = indexType == "int" ? blockNumber : "tsr::i64(" + blockNumber + ")";
  std::string number = stride == 1 ? block : block + " * " + std::to_string(stride) + " + " + own;
  if (group > 1)
    text.line("const int lane = threadIdx.x " + Twine(mapping.strided ? "/ " : "% ") +
              Twine(mapping.strided ? stride : group) + ";");
  if (mapping.points == 1 && stride == 1) {
    declareIndices(0, plan.loops.parallelCount, "0");
    return;
  }
  std::string count = std::to_string(mapping.points);
  if (isExact || group == 1) {
    text.line("const " + indexType + " point = " + number + ";");
    if (!isExact) text.line("if (point >= " + count + ") return;");
  } else {
    text.line("const bool active = " + number + " < " + count + ";");
    text.line("const " + indexType + " point = active ? " + number + " : " + std::to_string(mapping.points - 1) + ";");
  }
  declareIndices(0, plan.loops.parallelCount, "point");
}

FailureOr<std::string> KernelWriter::write(StringRef symbol, bool isPart) {
  writeSignature(symbol, isPart);
  frames.emplace_back();
  if (!plan.scatter) writePoint();
  if (plan.scatter) {
    writeScatter();
  } else if (plan.sweeps == 0) {
    Step all;
    all.items = plan.items;
    for (unsigned result = 0; result < plan.writes.size(); ++result) all.stores.push_back(result);
    writeStep(all);
  } else {
    writeRowStep(0);
    declareKept();
    for (unsigned number = 1; number <= plan.sweeps; ++number) {
      writeSweep(number);
      writeRowStep(number);
    }
  }
  text.close();
  if (failed) return failure();
  return text.str();
}

/// Values of the row that are known after `stage` sweeps; after the last one the row's results are written.
void KernelWriter::writeRowStep(unsigned stage) {
  Step step;
  for (Value item : plan.items)
    if (isRow(item) && plan.stages.lookup(item) == stage && !isa_and_nonnull<ReduceOp>(item.getDefiningOp()))
      step.items.push_back(item);
  step.storesOnce = mapping.group > 1;
  if (stage == plan.sweeps)
    for (unsigned result = 0; result < plan.writes.size(); ++result)
      if (!plan.isElementResult(result)) step.stores.push_back(result);
  writeStep(step);
}

//===----------------------------------------------------------------------===//
// Steps
//===----------------------------------------------------------------------===//

bool KernelWriter::isUsedLater(Value item) const {
  if (!isRow(item) || plan.sweeps == 0) return false;
  unsigned stage = plan.stages.lookup(item);
  for (Operation *user : item.getUsers()) {
    if (isa<YieldOp>(user)) {
      if (stage != plan.sweeps) return true;
      continue;
    }
    Value result = user->getResult(0);
    if (isa<ReduceOp>(user) || !isRow(result) || plan.stages.lookup(result) != stage) return true;
  }
  return false;
}

void KernelWriter::writeStep(const Step &step) {
  SmallVector<Value> vectors;
  for (Value item : step.items) {
    if (isKnown(item)) continue;
    if (isVector(item))
      vectors.push_back(item);
    else
      writeItem(item);
  }
  auto isOfLanes = [&](unsigned result) {
    return mapping.vector > 1 && plan.writes[result].offset.coefficients[plan.loops.vector] != 0;
  };
  Step lanes = step;
  lanes.stores.clear(), lanes.reduces.clear();
  for (unsigned result : step.stores) {
    if (isOfLanes(result)) {
      lanes.stores.push_back(result);
      continue;
    }
    std::string once = mapping.group == 1 ? "" : std::string("lane == 0") + (isExact ? "" : " && active");
    text.line((step.storesOnce ? "if (" + once + ") " : "") + element(plan.writes[result]) + " = " +
              use(plan.yield().getValues()[result]) + ";");
  }
  for (ReduceOp reduce : step.reduces) {
    // Along a serial vector every lane counts, even where all are equal.
    if (mapping.vector > 1 && (plan.loops.isVectorSerial() || isVector(reduce.getResult())))
      lanes.reduces.push_back(reduce);
    else
      writeAccumulation(reduce);
  }
  if (!vectors.empty() || !lanes.stores.empty() || !lanes.reduces.empty()) writeLanes(lanes, vectors);
}

/// The part of a step that differs between neighbours: loads of all of them, a loop over them, stores of all of them.
void KernelWriter::writeLanes(const Step &step, ArrayRef<Value> items) {
  std::string vector = std::to_string(mapping.vector);
  SmallVector<Value> inLoop;
  for (Value item : items) {
    auto it = plan.reads.find(item);
    if (it != plan.reads.end() && isVectorAccess(it->second))
      writeRead(item);
    else
      inLoop.push_back(item);
  }
  if (inLoop.empty() && step.stores.empty() && step.reduces.empty()) return;
  llvm::DenseMap<Value, std::string> left; // to later steps
  for (Value item : inLoop) {
    if (!isUsedLater(item) || isa_and_nonnull<ConstantOp>(item.getDefiningOp())) continue;
    left[item] = nameOf(item);
    text.line("tsr::vec<" + scalarType(tensorType(item).getElementType()) + ", " + vector + "> " + left[item] + ";");
  }
  SmallVector<std::pair<unsigned, std::string>> stored; // as vectors
  for (unsigned result : step.stores) {
    if (!isVectorAccess(plan.writes[result])) continue;
    stored.emplace_back(result, unique(parameters[plan.writes[result].argument] + "_" + vector));
    text.line("tsr::vec<" + scalarType(plan.writes[result].element) + ", " + vector + "> " + stored.back().second +
              ";");
  }
  // Numbers of a row whose exponentials are added up: all at once, so that the sum is corrected once.
  llvm::DenseMap<Value, std::string> together;
  for (ReduceOp reduce : step.reduces) {
    if (!plan.softmaxSumOf(reduce.getResult()) || isVector(reduce.getResult())) continue;
    std::string &name = together[reduce.getResult()] = unique("numbers");
    text.line("tsr::vec<" + scalarType(reduce.getType().getElementType()) + ", " + vector + "> " + name + ";");
  }
  text.flush("#pragma unroll");
  text.open("for (int j = 0; j < " + Twine(vector) + "; ++j)");
  frames.emplace_back();
  inLane = true;
  for (Value item : inLoop) {
    writeItem(item);
    if (auto it = left.find(item); it != left.end()) text.line(it->second + "[j] = " + use(item) + ";");
  }
  for (ReduceOp reduce : step.reduces) {
    if (auto it = together.find(reduce.getResult()); it != together.end())
      text.line(it->second + "[j] = " + use(reduce.getX()) + ";");
    else
      writeAccumulation(reduce);
  }
  std::string once = step.storesOnce ? std::string("if (lane == 0") + (isExact ? ") " : " && active) ") : "";
  for (unsigned result : step.stores) {
    std::string value = use(plan.yield().getValues()[result]);
    auto it = llvm::find_if(stored, [&](auto &entry) { return entry.first == result; });
    if (it != stored.end())
      text.line(it->second + "[j] = " + value + ";");
    else
      text.line(once + element(plan.writes[result]) + " = " + value + ";");
  }
  inLane = false;
  frames.pop_back();
  text.close();
  for (ReduceOp reduce : step.reduces)
    if (auto it = together.find(reduce.getResult()); it != together.end())
      text.line(accumulators.lookup(reduce.getResult()) + ".add(" + it->second + ");");
  for (auto &[item, name] : left) know(item, {name, "", Many::PerLane});
  for (auto &[result, name] : stored)
    text.line(once + (isStreaming(plan.writes[result], mapping) ? "tsr::store_streaming(" : "tsr::store(") +
              address(plan.writes[result]) + ", " + name + ");");
}

//===----------------------------------------------------------------------===//
// Reads
//===----------------------------------------------------------------------===//

void KernelWriter::writeRead(Value item) {
  const Access &access = plan.reads.find(item)->second;
  std::string where = condition(access), type = scalarType(access.element).str();
  bool isWide = isVector(item) && isVectorAccess(access);
  std::string load = element(access);
  if (isWide)
    load = (isStreaming(access, mapping) ? "tsr::load_streaming<" : "tsr::load<") + std::to_string(mapping.vector) +
           ">(" + address(access) + ")";
  std::string zero = literal(0.0, access.element);
  if (isWide) zero = "tsr::filled<" + std::to_string(mapping.vector) + ">(" + zero + ")";
  if (!where.empty()) load = where + " ? " + load + " : " + zero;
  auto it = keptNames.find(item);
  if (it != keptNames.end()) {
    text.line(it->second + "[k] = " + load + ";");
    keptLoaded.insert(item);
    return know(item, {it->second + "[k]", "", isWide ? Many::PerLane : Many::One});
  }
  if (!isWide) return declare(item, load);
  std::string name = nameOf(item);
  text.line("const auto " + name + " = " + load + ";");
  know(item, {name, "", Many::PerLane});
}
