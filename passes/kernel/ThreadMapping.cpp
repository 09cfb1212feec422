//===- ThreadMapping.cpp - which GPU thread computes which points ---------===//

#include "passes/kernel/ThreadMapping.h"
#include "llvm/Support/MathExtras.h"

using namespace mlir;
using namespace tessera;

/// Vectors of a row that a thread of a thread group computes, before more threads join.
static constexpr int64_t vectorsEach = 8;
/// 32-bit registers of a multiprocessor, and the most that a thread can address.
static constexpr int64_t multiprocessorRegisters = 65536, mostRegisters = 255;
/// Registers of a thread that may hold a row from one sweep to the next. The others are for what is computed.
static int64_t rowRegisters(int64_t block) {
  return std::min<int64_t>(64, std::min(mostRegisters, multiprocessorRegisters / block) / 2);
}
/// The largest size of a value that threads exchange in shared memory, in bytes.
static constexpr int64_t mostScratch = 8;
/// Blocks of a scatter on a multiprocessor. Each reads all positions.
static constexpr int64_t scatterBlocks = 8;
static constexpr int64_t warp = 32, largestGroup = 1024;

static int64_t bytesOf(Type element) { return std::max<int64_t>(element.getIntOrFloatBitWidth() / 8, 1); }

//===----------------------------------------------------------------------===//
// Vectors
//===----------------------------------------------------------------------===//

static bool variesAlongVector(const KernelPlan &plan, const LinearIndex &expr, bool termsOnly) {
  auto varies = [&](Value value) { return plan.varies.lookup(value); };
  if (!termsOnly) return expr.loops(varies) & plan.loops.vectorMask();
  LinearIndex terms(expr.coefficients.size());
  terms.terms = expr.terms;
  return terms.loops(varies) & plan.loops.vectorMask();
}

/// Whether iterations of the vector loop access consecutive elements, whatever the alignment of the first.
static bool isContiguous(const KernelPlan &plan, const Access &access) {
  if (plan.loops.vector < 0 || access.offset.coefficients[plan.loops.vector] != 1) return false;
  if (variesAlongVector(plan, access.offset, /*termsOnly=*/true)) return false;
  return llvm::none_of(access.ranges,
                       [&](const IndexCondition &range) { return variesAlongVector(plan, range.expr, false); });
}

bool tessera::isVectorAccess(const KernelPlan &plan, const Access &access, const ThreadMapping &mapping) {
  int64_t vector = mapping.vector;
  if (!isContiguous(plan, access)) return false;
  if (mapping.alignments[access.argument] % std::min(vectorBytes, vector * bytesOf(access.element)) != 0) return false;
  auto divides = [&](int64_t index) { return index % vector == 0; };
  for (auto [loop, coefficient] : llvm::enumerate(access.offset.coefficients))
    if (!plan.loops.isVector(loop) && !divides(coefficient)) return false;
  return divides(access.offset.constant) &&
         llvm::all_of(access.offset.terms, [&](const LinearIndex::Term &term) { return divides(term.coefficient); });
}

/// Elements in 16 bytes, of the narrowest type that is contiguous along the vector loop.
static int64_t chooseVector(const KernelPlan &plan) {
  if (plan.loops.vector < 0) return 1;
  int64_t narrowest = vectorBytes;
  auto consider = [&](const Access &access) {
    if (isContiguous(plan, access)) narrowest = std::min(narrowest, bytesOf(access.element));
  };
  for (auto &[value, access] : plan.reads) consider(access);
  llvm::for_each(plan.writes, consider);
  int64_t vector = std::min<int64_t>(vectorBytes / narrowest, 8);
  while (plan.loops.sizes[plan.loops.vector] % vector != 0) vector /= 2;
  return vector;
}

//===----------------------------------------------------------------------===//
// Thread groups
//===----------------------------------------------------------------------===//

static int64_t countPoints(const KernelPlan &plan, bool parallel) {
  int64_t count = 1;
  for (auto [loop, size] : llvm::enumerate(plan.loops.sizes))
    if ((loop < plan.loops.parallelCount) == parallel) count *= size;
  return count;
}

static void divideByVector(const KernelPlan &plan, ThreadMapping &mapping) {
  mapping.points = countPoints(plan, true) / (plan.loops.isVectorParallel() ? mapping.vector : 1);
  mapping.serialCount = countPoints(plan, false) / (plan.loops.isVectorSerial() ? mapping.vector : 1);
}

int64_t tessera::scratchBytes(const KernelPlan &plan, const ThreadMapping &mapping) {
  if (mapping.group == 1 || (!mapping.strided && mapping.group <= warp)) return 0;
  int64_t sums = llvm::count_if(plan.items, [](Value item) { return isa_and_nonnull<ReduceOp>(item.getDefiningOp()); });
  return sums * mostScratch * (mapping.strided ? mapping.block * mapping.vector : mapping.block / warp);
}

ThreadMapping tessera::withBlock(const ThreadMapping &mapping, int64_t block) {
  ThreadMapping result = mapping;
  result.block = block;
  return result;
}

/// Makes the thread group so large that each thread has few vectors and that all multiprocessors have threads.
static void chooseGroup(const KernelPlan &plan, const Target &target, ThreadMapping &mapping) {
  int64_t enoughThreads = target.gpu.multiprocessors * target.gpu.threadsPerMultiprocessor / 2;
  auto isLong = [&] { return llvm::divideCeil(mapping.serialCount, mapping.group) > vectorsEach; };
  if (plan.loops.isVectorSerial()) {
    mapping.group = std::min<int64_t>(warp, llvm::PowerOf2Ceil(mapping.serialCount));
    while (mapping.group >= warp && mapping.group < largestGroup && mapping.serialCount > mapping.group && isLong())
      mapping.group *= 2;
    mapping.block = std::max(mapping.group, defaultBlock / 2);
    while (mapping.block > warp && mapping.block > mapping.group &&
           mapping.points * mapping.group < target.gpu.multiprocessors * mapping.block)
      mapping.block /= 2;
    return;
  }
  // Adjacent threads have adjacent points; the threads of a group are `block / group` apart.
  mapping.strided = true;
  while (mapping.group < defaultBlock / warp && isLong() && mapping.points * mapping.group < enoughThreads)
    mapping.group *= 2;
  auto isTooLarge = [&] { return scratchBytes(plan, mapping) > sharedBytes; };
  while (mapping.pointsOfBlock() > warp && mapping.points * mapping.group < target.gpu.multiprocessors * mapping.block)
    mapping.block /= 2;
  while (mapping.group > 1 && isTooLarge()) mapping.group /= 2, mapping.block /= 2;
}

SmallVector<Value> tessera::repeatedlyRead(const KernelPlan &plan) {
  llvm::DenseMap<Value, unsigned> sweeps;
  auto isRow = [&](Value value) { return (plan.varies.lookup(value) & ~plan.loops.parallelMask()) == 0; };
  for (unsigned number = 1; number <= plan.sweeps; ++number)
    for (Value value : planSweep(plan, number, isRow).needed)
      if (plan.reads.contains(value)) ++sweeps[value];
  return llvm::filter_to_vector(plan.items, [&](Value item) { return sweeps.lookup(item) > 1; });
}

/// Where all points add at the same positions, each block owns some positions and skips the others. Else each thread
/// owns its point.
static void mapScatter(const KernelPlan &plan, const Target &target, ThreadMapping &mapping) {
  mapping.block = 64;
  ScatterAddOp scatter = plan.scatter;
  bool isShared = llvm::none_of(
      scatter.getIndices(), [&](Value index) { return (plan.varies.lookup(index) & plan.loops.parallelMask()) != 0; });
  for (StringRef axis : names(scatter.getAxes())) mapping.positions *= scatter.getType().getSize(axis);
  if (!isShared || mapping.serialCount == 1) return;
  mapping.ownPositions = llvm::divideCeil(mapping.positions, target.gpu.multiprocessors * scatterBlocks);
  int64_t wanted = std::max(mapping.points, std::min(mapping.serialCount, defaultBlock));
  mapping.block = std::clamp<int64_t>(llvm::PowerOf2Ceil(wanted), warp, defaultBlock);
}

/// Results are written once. An operand is read once if the kernel has as many points as the operand has elements, and
/// if only one sweep reads it.
static void findStreams(const KernelPlan &plan, const Target &target, ThreadMapping &mapping) {
  KernelOp kernel = plan.kernel;
  int64_t points = 1;
  for (int64_t size : plan.loops.sizes) points *= size;
  for (Type type : llvm::concat<const Type>(kernel->getOperandTypes(), kernel->getResultTypes()))
    mapping.streams.push_back(cast<NamedTensorType>(type).getNumBytes() > target.gpu.cacheBytes);
  for (auto [streams, operand] : llvm::zip(mapping.streams, kernel.getOperands()))
    streams = streams && tensorType(operand).getNumElements() == points;
  if (mapping.registerVectors > 0) return;
  for (Value item : repeatedlyRead(plan)) mapping.streams[plan.reads.lookup(item).argument] = false;
}

bool tessera::isStreaming(const Access &access, const ThreadMapping &mapping) {
  return mapping.streams[access.argument] && mapping.vector * bytesOf(access.element) % vectorBytes == 0;
}

static void chooseMapping(const KernelPlan &plan, const Target &target, ThreadMapping &mapping) {
  mapping.vector = plan.scatter ? 1 : chooseVector(plan);
  int64_t enoughPoints = target.gpu.multiprocessors * target.gpu.threadsPerMultiprocessor / 4;
  while (plan.loops.isVectorParallel() && mapping.vector > 1 && countPoints(plan, true) / mapping.vector < enoughPoints)
    mapping.vector /= 2;
  divideByVector(plan, mapping);
  if (plan.scatter) return mapScatter(plan, target, mapping);
  if (!plan.loops.hasSerial()) return;
  chooseGroup(plan, target, mapping);
  int64_t each = llvm::divideCeil(mapping.serialCount, mapping.group);
  int64_t registers = static_cast<int64_t>(repeatedlyRead(plan).size()) * each * mapping.vector;
  if (plan.loops.isVectorSerial() && registers > 0 && registers <= rowRegisters(mapping.block))
    mapping.registerVectors = each;
}

ThreadMapping tessera::mapThreads(const KernelPlan &plan, const Target &target, ArrayRef<int64_t> alignments) {
  ThreadMapping mapping;
  mapping.alignments.assign(alignments.begin(), alignments.end());
  chooseMapping(plan, target, mapping);
  findStreams(plan, target, mapping);
  return mapping;
}
