//===- ThreadMapping.cpp - which GPU thread computes which points ---------===//

#include "passes/kernel/ThreadMapping.h"
#include "ir/dialect/Attributes.h"
#include "llvm/Support/MathExtras.h"

using namespace mlir;
using namespace tessera;

/// Vectors of a row that a thread of a thread group computes, before more threads join.
static constexpr int64_t vectorsEach = 8;
/// 32-bit registers of a multiprocessor.
static constexpr int64_t multiprocessorRegisters = 65536;
/// Registers of a thread that may hold a row from one sweep to the next. The others are for what is computed. Two
/// blocks fit on a multiprocessor, so that one computes while the other one loads.
static int64_t rowRegisters(int64_t block) { return std::min<int64_t>(64, multiprocessorRegisters / (2 * block) / 2); }
/// Blocks of a scatter on a multiprocessor. Each reads all positions, and its threads have many updates in registers.
static constexpr int64_t scatterBlocks = 2;
static constexpr int64_t warp = 32, largestGroup = 512;
/// Elements of a vector.
static constexpr int64_t mostElements = 8;
/// A row is divided into whole vectors and a tail if it has at least so many of them.
static constexpr int64_t fewestVectors = 8;
/// Columns that a thread sums, at most; threads of a column; bytes of a row that a block reads at once, at least.
static constexpr int64_t mostColumns = 4, largestColumnGroup = 16, columnBytes = 128;
/// Bytes that a thread of a kernel without serial loops loads before it computes, if there are enough points.
static constexpr int64_t bytesEach = 64;

static int64_t bytesOf(Type element) { return std::max<int64_t>(element.getIntOrFloatBitWidth() / 8, 1); }

int64_t tessera::vectorRegisters(const KernelPlan &plan, ArrayRef<Value> reads, int64_t vector) {
  int64_t registers = 0;
  for (Value read : reads)
    registers +=
        llvm::divideCeil((plan.variesAlongVector(read) ? vector : 1) * bytesOf(plan.reads.at(read).element), 4);
  return registers;
}

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

/// Whether all vectors begin at a multiple of `vector` elements from the tensor's first one.
static bool startsAtVectors(const KernelPlan &plan, const Access &access, int64_t vector) {
  auto divides = [&](int64_t index) { return index % vector == 0; };
  for (auto [loop, coefficient] : llvm::enumerate(access.offset.coefficients))
    if (!plan.loops.isVector(loop) && !divides(coefficient)) return false;
  return divides(access.offset.constant) &&
         llvm::all_of(access.offset.terms, [&](const LinearIndex::Term &term) { return divides(term.coefficient); });
}

bool tessera::isVectorAccess(const KernelPlan &plan, const Access &access, const ThreadMapping &mapping) {
  int64_t vector = mapping.vector;
  if (!isContiguous(plan, access)) return false;
  if (mapping.alignments[access.argument] % std::min(vectorBytes, vector * bytesOf(access.element)) != 0) return false;
  return startsAtVectors(plan, access, vector);
}

static void forEachAccess(const KernelPlan &plan, llvm::function_ref<void(const Access &)> visit) {
  for (auto &[value, access] : plan.reads) visit(access);
  llvm::for_each(plan.writes, visit);
}

/// Whether nothing is summed: each iteration is a point of its own. A reduction of an axis with one element has no
/// serial loop, but it is a sweep.
static bool isPointwise(const KernelPlan &plan) { return plan.sweeps == 0 && !plan.scatter; }

LogicalResult tessera::checkOrderOfSums(KernelOp kernel) {
  Attribute recorded = kernel->getAttr(attrs::sums);
  auto order = dyn_cast_or_null<DenseI64ArrayAttr>(recorded);
  auto isSize = [](int64_t size, int64_t most) { return llvm::isPowerOf2_64(size) && size <= most; };
  bool fits = order && order.size() == 2 && isSize(order[0], mostElements) && isSize(order[1], largestGroup);
  if (!recorded || fits) return success();
  return kernel.emitError("expected `") << attrs::sums << "` to be the elements of a vector, up to " << mostElements
                                        << ", and the threads of a group, up to " << largestGroup
                                        << ", both powers of two";
}

/// The vector fits into the columns, and the group into a block, whatever is recorded.
static std::optional<SumOrder> recordedOrder(const KernelPlan &plan) {
  KernelOp kernel = plan.kernel;
  auto recorded = kernel->getAttrOfType<DenseI64ArrayAttr>(attrs::sums);
  if (!recorded || plan.loops.vector < 0) return {};
  SumOrder order{.vector = recorded[0], .group = recorded[1]};
  if (plan.loops.isVectorSerial()) return order;
  while (plan.loops.sizes[plan.loops.vector] % order.vector != 0) order.vector /= 2;
  order.group = std::min(order.group, largestColumnGroup);
  return order;
}

/// Elements in 16 bytes, of the narrowest type that is contiguous along the vector loop.
static int64_t chooseVector(const KernelPlan &plan) {
  if (plan.loops.vector < 0) return 1;
  int64_t narrowest = vectorBytes, size = plan.loops.sizes[plan.loops.vector];
  forEachAccess(plan, [&](const Access &access) {
    if (isContiguous(plan, access)) narrowest = std::min(narrowest, bytesOf(access.element));
  });
  int64_t vector = std::min<int64_t>(vectorBytes / narrowest, mostElements);
  bool startAtVectors = true; // of all rows
  forEachAccess(plan, [&](const Access &access) {
    startAtVectors &= !isContiguous(plan, access) || startsAtVectors(plan, access, vector);
  });
  // The columns of a sum, and the points of a scatter, are shared by threads in whole vectors.
  bool mayHaveTail = plan.loops.isVectorSerial() || isPointwise(plan);
  if (mayHaveTail && startAtVectors && size / vector >= fewestVectors) return vector;
  while (size % vector != 0) vector /= 2;
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
  mapping.points = countPoints(plan, true);
  mapping.serialCount = countPoints(plan, false);
  if (plan.loops.vector < 0) return;
  int64_t &count = plan.loops.isVectorSerial() ? mapping.serialCount : mapping.points;
  int64_t size = plan.loops.sizes[plan.loops.vector], rows = count / size;
  count = rows * (size / mapping.vector);
  mapping.tailCount = rows * (size % mapping.vector);
}

/// The size of a value that threads exchange in shared memory, in bytes; with that of a softmax's sum.
static int64_t accumulatorBytes(const KernelPlan &plan, Value item) {
  if (!isa_and_nonnull<ReduceOp>(item.getDefiningOp()) || plan.isSoftmaxSum(item)) return 0;
  int64_t bytes = std::max<int64_t>(bytesOf(tensorType(item).getElementType()), 4);
  return plan.softmaxSumOf(item) ? 2 * bytes : bytes;
}

int64_t tessera::scratchBytes(const KernelPlan &plan, const ThreadMapping &mapping) {
  if (mapping.group == 1 || (!mapping.strided && mapping.group <= warp)) return 0;
  int64_t bytes = 0;
  for (Value item : plan.items) bytes += accumulatorBytes(plan, item);
  return bytes * (mapping.strided ? mapping.block * mapping.vector : mapping.block / warp);
}

ThreadMapping tessera::withBlock(const ThreadMapping &mapping, int64_t block) {
  ThreadMapping result = mapping;
  result.block = block;
  return result;
}

/// Bytes of a row that a thread reads at once: of the narrowest type that is contiguous along the vector loop.
static int64_t pointBytes(const KernelPlan &plan, const ThreadMapping &mapping) {
  int64_t narrowest = vectorBytes;
  forEachAccess(plan, [&](const Access &access) {
    if (isContiguous(plan, access)) narrowest = std::min(narrowest, bytesOf(access.element));
  });
  return narrowest * mapping.vector;
}

/// A thread group so large that each thread has few vectors and that all multiprocessors have threads.
static int64_t chooseGroup(const KernelPlan &plan, const Target &target, const ThreadMapping &mapping) {
  int64_t group = 1, enoughThreads = target.gpu.multiprocessors * target.gpu.threadsPerMultiprocessor / 2;
  auto isLong = [&] { return llvm::divideCeil(mapping.serialCount, group) > vectorsEach; };
  if (plan.loops.isVectorSerial()) {
    group = std::min<int64_t>(warp, llvm::PowerOf2Ceil(mapping.serialCount));
    while (group >= warp && group < largestGroup && mapping.serialCount > group && isLong()) group *= 2;
    return group;
  }
  int64_t most =
      std::clamp(mapping.block * pointBytes(plan, mapping) / columnBytes, mapping.block / warp, largestColumnGroup);
  while (group < most && isLong() && mapping.points * group < enoughThreads) group *= 2;
  return group;
}

/// Chooses the thread group, and a block that holds it.
static void mapSums(const KernelPlan &plan, const Target &target, ThreadMapping &mapping) {
  std::optional<SumOrder> order = recordedOrder(plan);
  mapping.group = order ? order->group : chooseGroup(plan, target, mapping);
  if (plan.loops.isVectorSerial()) {
    mapping.block = std::max(mapping.group, defaultBlock / 2);
    while (mapping.block > warp && mapping.block > mapping.group &&
           mapping.points * mapping.group < target.gpu.multiprocessors * mapping.block)
      mapping.block /= 2;
    return;
  }
  // Adjacent threads have adjacent points; the threads of a group are `block / group` apart.
  mapping.strided = true;
  auto isTooLarge = [&] { return scratchBytes(plan, mapping) > sharedBytes; };
  while (mapping.pointsOfBlock() > warp && mapping.points * mapping.group < target.gpu.multiprocessors * mapping.block)
    mapping.block /= 2;
  while (mapping.group > 1 && isTooLarge()) mapping.group /= 2, mapping.block /= 2;
}

bool tessera::isSharedByPoints(const KernelPlan &plan, Value value) {
  return plan.loops.parallelCount > 0 && (plan.varies.lookup(value) & plan.loops.parallelMask()) == 0;
}

SmallVector<Value> tessera::repeatedlyRead(const KernelPlan &plan) {
  llvm::DenseMap<Value, unsigned> sweeps;
  auto isRow = [&](Value value) { return (plan.varies.lookup(value) & ~plan.loops.parallelMask()) == 0; };
  for (unsigned number = 1; number <= plan.sweeps; ++number)
    for (Value value : planSweep(plan, number, isRow).needed)
      if (plan.reads.contains(value)) ++sweeps[value];
  return llvm::filter_to_vector(plan.items,
                                [&](Value item) { return sweeps.lookup(item) > 1 && !isSharedByPoints(plan, item); });
}

/// Where all points add at the same positions, each block owns some positions at some points and skips the others. Else
/// each thread owns its point.
static void mapScatter(const KernelPlan &plan, const Target &target, ThreadMapping &mapping) {
  mapping.block = 64;
  ScatterAddOp scatter = plan.scatter;
  NamedTensorType type = scatter.getType();
  bool isShared = llvm::none_of(
      scatter.getIndices(), [&](Value index) { return (plan.varies.lookup(index) & plan.loops.parallelMask()) != 0; });
  for (StringRef axis : names(scatter.getAxes())) mapping.positions *= type.getSize(axis);
  divideByVector(plan, mapping);
  if (!isShared || mapping.serialCount == 1) return;
  mapping.vector = chooseVector(plan);
  bool startAtVectors = isContiguous(plan, plan.writes.front());
  for (StringRef axis : names(scatter.getAxes()))
    startAtVectors &= type.getStrides()[type.findAxis(axis)] % mapping.vector == 0;
  forEachAccess(plan, [&](const Access &access) {
    startAtVectors &= !isContiguous(plan, access) || startsAtVectors(plan, access, mapping.vector);
  });
  if (!startAtVectors) mapping.vector = 1;
  divideByVector(plan, mapping);
  mapping.ownPoints = std::min<int64_t>(warp, llvm::PowerOf2Ceil(mapping.points));
  mapping.ownPositions =
      llvm::divideCeil(mapping.positions * mapping.slabs(), target.gpu.multiprocessors * scatterBlocks);
  int64_t wanted = std::max(mapping.points, std::min(mapping.serialCount, defaultBlock));
  mapping.block = std::clamp<int64_t>(llvm::PowerOf2Ceil(wanted), warp, defaultBlock);
  mapping.residentBlocks = scatterBlocks;
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

/// Points that a thread of a kernel without serial loops computes, so that it issues several loads before it waits.
static void choosePointsEach(const KernelPlan &plan, int64_t enoughPoints, ThreadMapping &mapping) {
  SmallVector<Value> reads = llvm::filter_to_vector(
      plan.items, [&](Value item) { return plan.reads.contains(item) && plan.varies.lookup(item) != 0; });
  int64_t registers = vectorRegisters(plan, reads, mapping.vector);
  if (registers == 0 || mapping.vector == 1) return;
  while (registers * 4 * mapping.pointsEach * 2 <= bytesEach &&
         mapping.points / (2 * mapping.pointsEach) >= enoughPoints)
    mapping.pointsEach *= 2;
}

/// The vector with which there are enough points for `threads`, if they are along the vector loop.
static int64_t chooseVectorFor(const KernelPlan &plan, int64_t threads) {
  int64_t vector = chooseVector(plan);
  bool isColumns = plan.loops.hasSerial() && plan.loops.isVectorParallel();
  if (isColumns) vector = std::min(vector, mostColumns);
  // Columns are shared by threads, and each thread has several loads at a time.
  int64_t enoughPoints = isColumns ? threads / 8 / largestColumnGroup : threads / 4;
  while (plan.loops.isVectorParallel() && vector > 1 && countPoints(plan, true) / vector < enoughPoints) vector /= 2;
  return vector;
}

static void chooseMapping(const KernelPlan &plan, const Target &target, ThreadMapping &mapping) {
  if (plan.scatter) return mapScatter(plan, target, mapping);
  int64_t threads = target.gpu.multiprocessors * target.gpu.threadsPerMultiprocessor;
  std::optional<SumOrder> order = recordedOrder(plan);
  mapping.vector = order ? order->vector : chooseVectorFor(plan, threads);
  divideByVector(plan, mapping);
  if (isPointwise(plan)) return choosePointsEach(plan, threads, mapping);
  mapSums(plan, target, mapping);
  int64_t each = llvm::divideCeil(mapping.serialCount, mapping.group);
  int64_t registers = each * vectorRegisters(plan, repeatedlyRead(plan), mapping.vector);
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

std::optional<SumOrder> tessera::orderOfSums(KernelOp kernel, const Target &target) {
  if (!target.isGpu() || kernel.getSerial().empty()) return {};
  ScopedDiagnosticHandler silent(kernel.getContext(), [](Diagnostic &) { return success(); });
  FailureOr<KernelPlan> plan = planKernel(kernel, /*placement=*/nullptr, /*onlineSoftmax=*/true);
  if (failed(plan) || plan->scatter || plan->sweeps == 0) return {};
  SmallVector<int64_t> alignments(kernel->getNumOperands() + kernel->getNumResults(), vectorBytes);
  ThreadMapping mapping = mapThreads(*plan, target, alignments);
  return SumOrder{.vector = mapping.vector, .group = mapping.group};
}

void tessera::keepOrderOfSums(KernelOp kernel, const SumOrder &order, const Target &target) {
  std::optional<SumOrder> own = orderOfSums(kernel, target);
  if (own && *own != order)
    kernel->setAttr(attrs::sums, DenseI64ArrayAttr::get(kernel.getContext(), {order.vector, order.group}));
}
