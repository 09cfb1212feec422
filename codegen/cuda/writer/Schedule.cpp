//===- Schedule.cpp - how threads share the points of a kernel --------------===//

#include "codegen/cuda/writer/Schedule.h"
#include "codegen/cuda/writer/Scalars.h"
#include "llvm/Support/MathExtras.h"

using namespace mlir;
using namespace tessera;
using namespace tessera::cuda;

/// Threads of a block, unless a team is larger.
static constexpr int64_t usualBlock = 256;
/// Vectors of a row that a thread of a team takes, before more threads join.
static constexpr int64_t vectorsEach = 8;
/// 32-bit registers of a multiprocessor, and how many a thread can name.
static constexpr int64_t registersEach = 65536, mostRegisters = 255;
/// Of the registers of a thread, those that may hold a row from one sweep to the next: the rest is for what is computed.
static int64_t keptRegisters(int64_t block) {
  return std::min<int64_t>(64, std::min(mostRegisters, registersEach / block) / 2);
}
/// Bytes of a number that threads exchange in shared memory, at most.
static constexpr int64_t mostScratch = 8;
/// Blocks of a scatter on a multiprocessor: each reads all positions.
static constexpr int64_t scatterBlocks = 8;
static constexpr int64_t warp = 32, largestTeam = 1024;

Device Device::of(int architecture) {
  constexpr int64_t mebi = 1 << 20;
  if (architecture < 86) return {"a100", 108, 2048, 40 * mebi};
  if (architecture < 90) return {"l40s", 142, 1536, 96 * mebi};
  if (architecture < 100) return {"h100", 132, 2048, 50 * mebi};
  if (architecture < 120) return {"b200", 148, 2048, 126 * mebi};
  return {"rtx5090", 170, 1536, 96 * mebi};
}

//===----------------------------------------------------------------------===//
// Vectors
//===----------------------------------------------------------------------===//

static bool variesAlongVector(const KernelPlan &plan, const Expr &expr, bool termsOnly) {
  auto varies = [&](Value value) { return plan.varies.lookup(value); };
  if (!termsOnly) return expr.loops(varies) & plan.vectorMask();
  Expr terms(expr.coefficients.size());
  terms.terms = expr.terms;
  return terms.loops(varies) & plan.vectorMask();
}

/// Whether the access meets neighbours along the vector loop, wherever they start.
static bool isContiguous(const KernelPlan &plan, const Access &access) {
  if (plan.vectorLoop < 0 || access.offset.coefficients[plan.vectorLoop] != 1) return false;
  if (variesAlongVector(plan, access.offset, /*termsOnly=*/true)) return false;
  return llvm::none_of(access.ranges, [&](const Extent &range) { return variesAlongVector(plan, range.expr, false); });
}

bool cuda::isVectorAccess(const KernelPlan &plan, const Access &access, const KernelSchedule &schedule) {
  int64_t vector = schedule.vector;
  if (!isContiguous(plan, access)) return false;
  if (schedule.alignments[access.argument] % std::min(vectorBytes, vector * bytesOf(access.element)) != 0) return false;
  auto divides = [&](int64_t number) { return number % vector == 0; };
  for (auto [loop, coefficient] : llvm::enumerate(access.offset.coefficients))
    if (static_cast<int>(loop) != plan.vectorLoop && !divides(coefficient)) return false;
  return divides(access.offset.constant) &&
         llvm::all_of(access.offset.terms, [&](const Expr::Term &term) { return divides(term.coefficient); });
}

/// Neighbours that make 16 bytes of the narrowest numbers which lie along the vector loop.
static int64_t chooseVector(const KernelPlan &plan) {
  if (plan.vectorLoop < 0) return 1;
  int64_t narrowest = vectorBytes;
  auto look = [&](const Access &access) {
    if (isContiguous(plan, access)) narrowest = std::min(narrowest, bytesOf(access.element));
  };
  for (auto &[value, access] : plan.reads) look(access);
  llvm::for_each(plan.writes, look);
  int64_t vector = std::min<int64_t>(vectorBytes / narrowest, 8);
  while (plan.sizes[plan.vectorLoop] % vector != 0) vector /= 2;
  return vector;
}

//===----------------------------------------------------------------------===//
// Teams
//===----------------------------------------------------------------------===//

static int64_t countPoints(const KernelPlan &plan, bool parallel) {
  int64_t count = 1;
  for (auto [loop, size] : llvm::enumerate(plan.sizes))
    if ((loop < plan.parallelLoops) == parallel) count *= size;
  return count;
}

static void divideByVector(const KernelPlan &plan, KernelSchedule &schedule) {
  schedule.points = countPoints(plan, true) / (plan.isVectorParallel() ? schedule.vector : 1);
  schedule.serialCount = countPoints(plan, false) / (plan.isVectorSerial() ? schedule.vector : 1);
}

int64_t cuda::scratchBytes(const KernelPlan &plan, const KernelSchedule &schedule) {
  if (schedule.team == 1 || (!schedule.strided && schedule.team <= warp)) return 0;
  int64_t sums = llvm::count_if(plan.items, [](Value item) { return isa_and_nonnull<ReduceOp>(item.getDefiningOp()); });
  return sums * mostScratch * (schedule.strided ? schedule.block * schedule.vector : schedule.block / warp);
}

KernelSchedule cuda::withBlock(const KernelSchedule &schedule, int64_t block) {
  KernelSchedule result = schedule;
  result.block = block;
  return result;
}

/// A team large enough that each of its threads has few vectors, and that there are threads for the whole device.
static void chooseTeam(const KernelPlan &plan, const Device &device, KernelSchedule &schedule) {
  int64_t enoughThreads = device.multiprocessors * device.threadsEach / 2;
  auto isLong = [&] { return llvm::divideCeil(schedule.serialCount, schedule.team) > vectorsEach; };
  if (plan.isVectorSerial()) {
    schedule.team = std::min<int64_t>(warp, llvm::PowerOf2Ceil(schedule.serialCount));
    while (schedule.team >= warp && schedule.team < largestTeam && schedule.serialCount > schedule.team && isLong())
      schedule.team *= 2;
    schedule.block = std::max(schedule.team, usualBlock / 2);
    while (schedule.block > warp && schedule.block > schedule.team &&
           schedule.points * schedule.team < device.multiprocessors * schedule.block)
      schedule.block /= 2;
    return;
  }
  // Neighbouring threads have neighbouring points; the team is the rows of the block.
  schedule.strided = true;
  while (schedule.team < usualBlock / warp && isLong() && schedule.points * schedule.team < enoughThreads)
    schedule.team *= 2;
  auto isTooLarge = [&] { return scratchBytes(plan, schedule) > sharedBytes; };
  while (schedule.pointsOfBlock() > warp && schedule.points * schedule.team < device.multiprocessors * schedule.block)
    schedule.block /= 2;
  while (schedule.team > 1 && isTooLarge()) schedule.team /= 2, schedule.block /= 2;
}

SmallVector<Value> cuda::readAgain(const KernelPlan &plan) {
  llvm::DenseMap<Value, unsigned> sweeps;
  auto isRow = [&](Value value) { return (plan.varies.lookup(value) & ~plan.parallelMask()) == 0; };
  for (unsigned number = 1; number <= plan.sweeps; ++number)
    for (Value value : planSweep(plan, number, isRow).needed)
      if (plan.reads.contains(value)) ++sweeps[value];
  return llvm::filter_to_vector(plan.items, [&](Value item) { return sweeps.lookup(item) > 1; });
}

/// Where all points add at the same positions, blocks own positions and look for what is theirs; else threads own points.
static void scheduleScatter(const KernelPlan &plan, const Device &device, KernelSchedule &schedule) {
  schedule.block = 64;
  ScatterAddOp scatter = plan.scatter;
  bool isShared = llvm::none_of(scatter.getIndices(),
                                [&](Value index) { return (plan.varies.lookup(index) & plan.parallelMask()) != 0; });
  for (StringRef axis : names(scatter.getAxes())) schedule.positions *= scatter.getType().getSize(axis);
  if (!isShared || schedule.serialCount == 1) return;
  schedule.ownPositions = llvm::divideCeil(schedule.positions, device.multiprocessors * scatterBlocks);
  int64_t wanted = std::max(schedule.points, std::min(schedule.serialCount, usualBlock));
  schedule.block = std::clamp<int64_t>(llvm::PowerOf2Ceil(wanted), warp, usualBlock);
}

/// Results are written once; an operand is read once if the kernel has as many points as it has numbers, and one sweep reads it.
static void findStreams(const KernelPlan &plan, const Device &device, KernelSchedule &schedule) {
  KernelOp kernel = plan.kernel;
  int64_t points = 1;
  for (int64_t size : plan.sizes) points *= size;
  for (Type type : llvm::concat<const Type>(kernel->getOperandTypes(), kernel->getResultTypes()))
    schedule.streams.push_back(cast<NamedTensorType>(type).getNumBytes() > device.cacheBytes);
  for (auto [streams, operand] : llvm::zip(schedule.streams, kernel.getOperands()))
    streams = streams && tensorType(operand).getNumElements() == points;
  if (schedule.kept > 0) return;
  for (Value item : readAgain(plan)) schedule.streams[plan.reads.lookup(item).argument] = false;
}

bool cuda::isStreaming(const Access &access, const KernelSchedule &schedule) {
  return schedule.streams[access.argument] && schedule.vector * bytesOf(access.element) % vectorBytes == 0;
}

static void layOut(const KernelPlan &plan, const Device &device, KernelSchedule &schedule) {
  schedule.vector = plan.scatter ? 1 : chooseVector(plan);
  int64_t enoughPoints = device.multiprocessors * device.threadsEach / 4;
  bool hasSerial = plan.parallelLoops < plan.sizes.size();
  while (plan.isVectorParallel() && schedule.vector > 1 && countPoints(plan, true) / schedule.vector < enoughPoints)
    schedule.vector /= 2;
  divideByVector(plan, schedule);
  if (plan.scatter) return scheduleScatter(plan, device, schedule);
  if (!hasSerial) return;
  chooseTeam(plan, device, schedule);
  int64_t each = llvm::divideCeil(schedule.serialCount, schedule.team);
  int64_t registers = static_cast<int64_t>(readAgain(plan).size()) * each * schedule.vector;
  if (plan.isVectorSerial() && registers > 0 && registers <= keptRegisters(schedule.block)) schedule.kept = each;
}

KernelSchedule cuda::chooseSchedule(const KernelPlan &plan, const Device &device, ArrayRef<int64_t> alignments) {
  KernelSchedule schedule;
  schedule.alignments.assign(alignments.begin(), alignments.end());
  layOut(plan, device, schedule);
  findStreams(plan, device, schedule);
  return schedule;
}
