//===- KernelWriter.cpp - a kernel as CUDA C++ ------------------------------===//

#include "codegen/cuda/writer/KernelWriter.h"
#include "codegen/cuda/writer/Scalars.h"
#include "ir/program/Program.h"
#include "llvm/ADT/StringExtras.h"

using namespace mlir;
using namespace tessera;
using namespace tessera::cuda;

KernelWriter::KernelWriter(const KernelPlan &plan, const ThreadMapping &mapping)
    : plan(plan), mapping(mapping), vector(mapping.vector) {
  current = &plan;
  indices.resize(plan.loops.sizes.size());
  KernelOp kernel = plan.kernel;
  int64_t most = mapping.blocks() * mapping.pointsOfBlock() * mapping.vector;
  for (int64_t size : plan.loops.sizes) most = std::max(most, size);
  for (Value value :
       llvm::concat<Value>(SmallVector<Value>(kernel.getOperands()), SmallVector<Value>(kernel.getResults())))
    most = std::max(most, tensorType(value).getNumAllocated());
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
  std::string blocks = mapping.residentBlocks == 0 ? "" : ", " + std::to_string(mapping.residentBlocks);
  std::string kind = "extern \"C\" __global__ void __launch_bounds__(" + std::to_string(mapping.block) + blocks + ")";
  text.open(Twine(isPart ? "TSR_DEVICE void" : kind) + "\n" + symbol + "(" + llvm::join(list, ",\n    ") + ")");
}

/// The point of this thread. A thread group for which there is no point computes the last one without storing it: its
/// threads must reach all barriers.
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
  if (plan.scatter) {
    writeScatter();
  } else if (plan.sweeps == 0) {
    writePoints();
  } else {
    writePoint();
    writeRowStage(0);
    declareRetained();
    for (unsigned number = 1; number <= plan.sweeps; ++number) {
      writeSweep(number);
      writeRowStage(number);
    }
  }
  text.close();
  if (failed) return failure();
  return text.str();
}

/// The row values that are known after `stage` sweeps; after the last one, stores the row's results.
void KernelWriter::writeRowStage(unsigned stage) {
  Segment segment;
  for (Value item : plan.items)
    if (isRow(item) && plan.stages.lookup(item) == stage && !isa_and_nonnull<ReduceOp>(item.getDefiningOp()))
      segment.items.push_back(item);
  segment.storesOnce = mapping.group > 1;
  if (stage == plan.sweeps)
    for (unsigned result = 0; result < plan.writes.size(); ++result)
      if (!plan.isElementResult(result)) segment.stores.push_back(result);
  writeSegment(segment);
}

//===----------------------------------------------------------------------===//
// Segments
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

void KernelWriter::writeSegment(const Segment &segment) {
  SmallVector<Value> vectors;
  for (Value item : segment.items) {
    if (isBound(item)) continue;
    if (isVector(item))
      vectors.push_back(item);
    else
      writeItem(item);
  }
  auto isPerLane = [&](unsigned result) {
    return vector > 1 && plan.writes[result].offset.coefficients[plan.loops.vector] != 0;
  };
  Segment lanes = segment;
  lanes.stores.clear(), lanes.reduces.clear();
  for (unsigned result : segment.stores) {
    if (isPerLane(result)) {
      lanes.stores.push_back(result);
      continue;
    }
    std::string once = mapping.group == 1 ? "" : std::string("lane == 0") + (isExact ? "" : " && active");
    text.line((segment.storesOnce ? "if (" + once + ") " : "") + element(plan.writes[result]) + " = " +
              use(plan.yield().getValues()[result]) + ";");
  }
  for (ReduceOp reduce : segment.reduces) {
    // Along a serial vector every lane is accumulated, even if all are equal.
    if (vector > 1 && (plan.loops.isVectorSerial() || isVector(reduce.getResult())))
      lanes.reduces.push_back(reduce);
    else
      writeAccumulation(reduce);
  }
  if (vector == 1 && !segment.addsTo.empty()) {
    text.line(segment.addsTo + " = " + added(segment.addsTo) + ";");
    lanes.addsTo.clear();
  }
  if (!vectors.empty() || !lanes.stores.empty() || !lanes.reduces.empty() || !lanes.addsTo.empty())
    writeLanes(lanes, vectors);
}

/// The part of a segment that differs between the lanes of a vector: vector loads, a loop over lanes, vector stores.
void KernelWriter::writeLanes(const Segment &segment, ArrayRef<Value> items) {
  std::string width = std::to_string(vector);
  SmallVector<Value> inLoop;
  for (Value item : items) {
    auto it = plan.reads.find(item);
    if (it != plan.reads.end() && isVectorAccess(it->second))
      writeRead(item);
    else
      inLoop.push_back(item);
  }
  if (inLoop.empty() && segment.stores.empty() && segment.reduces.empty() && segment.addsTo.empty()) return;
  llvm::DenseMap<Value, std::string> kept; // of values that later segments use
  for (Value item : inLoop) {
    if (!isUsedLater(item) || isa_and_nonnull<ConstantOp>(item.getDefiningOp())) continue;
    kept[item] = nameOf(item);
    text.line("tsr::vec<" + scalarType(tensorType(item).getElementType()) + ", " + width + "> " + kept[item] + ";");
  }
  SmallVector<std::pair<unsigned, std::string>> stored; // results that are stored as vectors
  for (unsigned result : segment.stores) {
    if (!isVectorAccess(plan.writes[result])) continue;
    stored.emplace_back(result, unique(parameters[plan.writes[result].argument] + "_" + width));
    text.line("tsr::vec<" + scalarType(plan.writes[result].element) + ", " + width + "> " + stored.back().second + ";");
  }
  // Elements whose exponentials are summed are added together, so that the sum is corrected once.
  llvm::DenseMap<Value, std::string> softmaxElements;
  for (ReduceOp reduce : segment.reduces) {
    if (!plan.softmaxSumOf(reduce.getResult()) || isVector(reduce.getResult())) continue;
    std::string &name = softmaxElements[reduce.getResult()] = unique("numbers");
    text.line("tsr::vec<" + scalarType(reduce.getType().getElementType()) + ", " + width + "> " + name + ";");
  }
  text.flush("#pragma unroll");
  text.open("for (int j = 0; j < " + Twine(width) + "; ++j)");
  frames.emplace_back();
  inLane = true;
  for (Value item : inLoop) {
    writeItem(item);
    if (auto it = kept.find(item); it != kept.end()) text.line(it->second + "[j] = " + use(item) + ";");
  }
  for (ReduceOp reduce : segment.reduces) {
    if (auto it = softmaxElements.find(reduce.getResult()); it != softmaxElements.end())
      text.line(it->second + "[j] = " + use(reduce.getX()) + ";");
    else
      writeAccumulation(reduce);
  }
  if (!segment.addsTo.empty()) text.line(segment.addsTo + "[j] = " + added(segment.addsTo + "[j]") + ";");
  std::string once = segment.storesOnce ? std::string("if (lane == 0") + (isExact ? ") " : " && active) ") : "";
  for (unsigned result : segment.stores) {
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
  for (ReduceOp reduce : segment.reduces)
    if (auto it = softmaxElements.find(reduce.getResult()); it != softmaxElements.end())
      text.line(accumulators.lookup(reduce.getResult()) + ".add(" + it->second + ");");
  for (auto &[item, name] : kept) bind(item, {name, "", Multiplicity::PerLane});
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
  std::string load = element(access), width = std::to_string(vector);
  if (isWide)
    load =
        (isStreaming(access, mapping) ? "tsr::load_streaming<" : "tsr::load<") + width + ">(" + address(access) + ")";
  std::string zero = literal(0.0, access.element);
  if (isWide) zero = "tsr::filled<" + width + ">(" + zero + ")";
  if (!where.empty()) load = where + " ? " + load + " : " + zero;
  auto it = arrays.find(item);
  if (it != arrays.end() && !inTail) {
    text.line(it->second + "[k] = " + load + ";");
    loaded.insert(item);
    return bindLoaded(item);
  }
  if (!isWide) return declare(item, load);
  std::string name = nameOf(item);
  text.line("const auto " + name + " = " + load + ";");
  bind(item, {name, "", Multiplicity::PerLane});
}

/// A tail has the elements after the whole vectors.
std::pair<int64_t, int64_t> KernelWriter::rangeOf(unsigned loop) const {
  if (!inTail || !plan.loops.isVector(loop)) return ScopeWriter::rangeOf(loop);
  int64_t size = plan.loops.sizes[loop], count = size % mapping.vector;
  return {size - count, count};
}
