//===- BatchWriter.cpp - vectors that a thread loads together ---------------===//
//
//   tsr::vec<float, 4> x_at[2];
//   for (int k = 0; k < 2; ++k) {          // all loads of the batch
//     const int s = start + k * 32;
//     x_at[k] = tsr::load<4>(x + s * 4);
//   }
//   for (int k = 0; k < 2; ++k) {          // then what is computed and stored, in the same order
//     const int s = start + k * 32;
//     …
//   }
//
// The order of sums is that of a loop over single vectors.
//
//===----------------------------------------------------------------------===//

#include "codegen/cuda/writer/KernelWriter.h"
#include "codegen/cuda/writer/Scalars.h"

using namespace mlir;
using namespace tessera;
using namespace tessera::cuda;

/// Reads of a segment that vary along one of the loops `alongLoops` and depend on no computed position. What all points
/// share is left out, because it stays in the cache.
SmallVector<Value> KernelWriter::batchLoads(const Segment &segment, uint64_t alongLoops) const {
  return llvm::filter_to_vector(segment.items, [&](Value item) {
    auto it = plan.reads.find(item);
    if (it == plan.reads.end() || isBound(item) || isSharedByPoints(plan, item)) return false;
    if (isVector(item) && !isVectorAccess(it->second)) return false;
    bool hasPosition = false;
    it->second.loops([&](Value) { return hasPosition = true, uint64_t(0); });
    return !hasPosition && (plan.varies.lookup(item) & alongLoops) != 0;
  });
}

/// Declares an array for `count` vectors of a value that is read.
void KernelWriter::declareArray(Value item, int64_t count) {
  const Access &access = plan.reads.find(item)->second;
  std::string type = scalarType(access.element).str();
  if (isVector(item)) type = "tsr::vec<" + type + ", " + std::to_string(vector) + ">";
  std::string name = nameOf(item);
  text.line(type + " " + name + "[" + Twine(count) + "];");
  arrays[item] = name;
}

/// Loads `loads` for all vectors of a batch; then `compute` gets the rest of the segment for each.
void KernelWriter::writeBatch(const Segment &segment, ArrayRef<Value> loads, int64_t count, const BatchVector &each,
                              llvm::function_ref<void(const Segment &)> compute) {
  auto forEachVector = [&](llvm::function_ref<void()> body) {
    text.flush("#pragma unroll");
    text.open("for (int k = 0; k < " + Twine(count) + "; ++k)");
    if (!each.declaration.empty()) text.line(each.declaration);
    if (!each.condition.empty()) text.open("if (" + each.condition + ")");
    each.declareIndices();
    frames.emplace_back();
    body();
    frames.pop_back();
    if (!each.condition.empty()) text.close();
    text.close();
  };
  SmallVector<Value> own;
  for (Value item : loads) {
    if (arrays.contains(item)) continue;
    declareArray(item, count);
    own.push_back(item);
  }
  if (!loads.empty()) forEachVector([&] { llvm::for_each(loads, [&](Value item) { writeRead(item); }); });
  Segment rest = segment;
  llvm::erase_if(rest.items, [&](Value item) { return llvm::is_contained(loads, item); });
  forEachVector([&] {
    for (Value item : loads) bindLoaded(item);
    compute(rest);
  });
  for (Value item : own) arrays.erase(item), loaded.erase(item);
}

/// Binds a value that an array holds for vector `k`.
void KernelWriter::bindLoaded(Value item) {
  bind(item, {arrays.lookup(item) + "[k]", "", isVector(item) ? Multiplicity::PerLane : Multiplicity::One});
}

/// A kernel without serial loops: the points of this thread, then its elements that are no part of a whole vector.
void KernelWriter::writePoints() {
  Segment all;
  all.items = plan.items;
  for (unsigned result = 0; result < plan.writes.size(); ++result) all.stores.push_back(result);
  if (mapping.pointsEach == 1 && mapping.tailCount == 0) {
    writePoint();
    return writeSegment(all);
  }
  Segment constants;
  constants.items = llvm::filter_to_vector(plan.items, [&](Value item) { return plan.varies.lookup(item) == 0; });
  writeSegment(constants);
  std::string block = indexType == "int" ? blockNumber : "tsr::i64(" + blockNumber + ")";
  text.line("const " + indexType + " first = " + block + " * " + Twine(mapping.pointsOfBlock()) + " + threadIdx.x;");
  auto declare = [&] { declareIndices(0, plan.loops.parallelCount, "point"); };
  writeBatch(all, batchLoads(all, ~uint64_t(0)), mapping.pointsEach,
             {"const " + indexType + " point = first + k * " + std::to_string(mapping.block) + ";",
              isExact ? "" : "point < " + std::to_string(mapping.points), declare},
             [&](const Segment &rest) { writeSegment(rest); });
  if (mapping.tailCount == 0) return;
  text.open("for (" + indexType + " point = " + block + " * " + Twine(mapping.block) + " + threadIdx.x; point < " +
            Twine(mapping.tailCount) + "; point += " + Twine(mapping.blocks() * mapping.block) + ")");
  writeTailElements(all, 0, plan.loops.parallelCount, "point");
  text.close();
}

/// Elements that are no part of a whole vector: `number` counts them along loops [first, last).
void KernelWriter::writeTailElements(const Segment &segment, unsigned first, unsigned last, StringRef number) {
  inTail = true, vector = 1;
  declareIndices(first, last, number);
  frames.emplace_back();
  writeSegment(segment);
  frames.pop_back();
  inTail = false, vector = mapping.vector;
}
