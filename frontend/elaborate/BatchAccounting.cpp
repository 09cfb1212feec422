//===- BatchAccounting.cpp - reductions over the rows of a batch ------------===//

#include "frontend/elaborate/BatchAccounting.h"
#include "frontend/elaborate/Dims.h"
#include "frontend/elaborate/RegionStack.h"
#include "llvm/ADT/SetVector.h"
#include <functional>

using namespace tessera;
using llvm::StringRef;

void BatchAccounting::beginEntry(bool isEvaluate) {
  isEvaluation = isEvaluate;
  reductions.clear();
  weightedMeans.clear();
}

void BatchAccounting::noteReduction(mlir::Value value, llvm::ArrayRef<StringRef> over, BatchReduction reduction,
                                    Span span) {
  if ((!isAccumulating() && !isEvaluation) || !sizes.hasSampleAxis(over)) return;
  bool isBatchAlone =
      llvm::none_of(over, [&](StringRef axis) { return axis != batchAxis && sizes.isSampleAxis(axis); });
  reductions.push_back({value, isBatchAlone ? reduction : BatchReduction::Other, reduction, calls.userSpan(span)});
}

void BatchAccounting::noteSamplePositions(StringRef axis, Span span) {
  if (isAccumulating() && sizes.isSampleAxis(axis))
    reductions.push_back({{}, BatchReduction::Other, BatchReduction::Other, span});
}

void BatchAccounting::noteWeightedMean(mlir::Value value, mlir::Value count, mlir::Value weights) {
  weightedMeans.push_back({value, count, weights});
}

mlir::Value BatchAccounting::countOf(mlir::Value value, const ast::Bind &bind) const {
  llvm::SetVector<mlir::Value> seen;
  seen.insert(value);
  const WeightedMean *first = nullptr;
  for (size_t next = 0; next < seen.size(); ++next) {
    auto mean = llvm::find_if(weightedMeans, [&](const WeightedMean &m) { return m.value == seen[next]; });
    if (mean != weightedMeans.end()) {
      if (first && first->weights != mean->weights) {
        diagnostics
            .warning(DiagnosticCode::E0413, bind.value->span,
                     "`" + bind.name.text +
                         "` combines means with different weights, so evaluation weights each batch by its rows")
            .help("log the terms separately: each is then weighted by its own weights");
        return {};
      }
      first = first ? first : &*mean;
      continue;
    }
    mlir::Operation *op = seen[next].getDefiningOp();
    if (!op || op->getNumRegions() > 0) continue;
    for (mlir::Value operand : op->getOperands()) {
      auto hasRows = [&](AxisAttr axis) { return sizes.isSampleAxis(axis.getName()); };
      if (llvm::none_of(tensorType(operand).getAxes(), hasRows)) seen.insert(operand);
    }
  }
  return first ? first->count : mlir::Value();
}

//===----------------------------------------------------------------------===//
// Evaluation
//===----------------------------------------------------------------------===//

const BatchAccounting::Reduction *BatchAccounting::findReduction(mlir::Value value) const {
  auto found = llvm::find_if(reductions, [&](const Reduction &reduction) { return reduction.value == value; });
  return found == reductions.end() ? nullptr : &*found;
}

namespace {
/// How a scalar depends on the reductions over the rows of a batch.
enum class Dependence { None, Linear, Other };
} // namespace

/// Of the result of an op. A select is linear if its condition does not depend on them, as a product of one factor is.
static Dependence combine(mlir::Operation *op, llvm::ArrayRef<Dependence> operands) {
  auto count = llvm::count_if(operands, [](Dependence d) { return d != Dependence::None; });
  if (count == 0) return Dependence::None;
  if (llvm::is_contained(operands, Dependence::Other)) return Dependence::Other;
  bool isLinear = llvm::isa<AddOp, SubOp, NegOp, StopOp, CastOp, BroadcastOp, ReduceOp>(op) ||
                  (llvm::isa<MulOp>(op) && count == 1) ||
                  (llvm::isa<DivOp, SelectOp>(op) && operands[llvm::isa<DivOp>(op) ? 1 : 0] == Dependence::None);
  return isLinear ? Dependence::Linear : Dependence::Other;
}

void BatchAccounting::warnOfBatchValue(mlir::Value value, const ast::Bind &bind, bool isLoss) const {
  llvm::DenseMap<mlir::Value, Dependence> known;
  bool hasSum = false;
  std::function<Dependence(mlir::Value)> dependenceOf = [&](mlir::Value of) {
    if (auto found = known.find(of); found != known.end()) return found->second;
    Dependence own = Dependence::None;
    auto hasRows = [&](AxisAttr axis) { return sizes.isSampleAxis(axis.getName()); };
    mlir::Operation *op = of.getDefiningOp();
    if (const Reduction *reduction = findReduction(of)) {
      own = reduction->own == BatchReduction::Other ? Dependence::Other : Dependence::Linear;
      hasSum |= reduction->own == BatchReduction::Sum;
    } else if (op && op->getNumRegions() == 0 && llvm::none_of(tensorType(of).getAxes(), hasRows)) {
      own = combine(op, llvm::map_to_vector(op->getOperands(), dependenceOf));
    }
    return known[of] = own;
  };
  bool isMean = dependenceOf(value) != Dependence::Other;
  if (isMean && (isLoss || !hasSum)) return;
  diagnostics
      .warning(DiagnosticCode::E0417, bind.value->span,
               "in evaluation, `" + bind.name.text + "` is averaged over the batches: " +
                   (isMean ? "as a sum over `batch` it depends on their size" : "it is not a mean over all rows"))
      .help(isMean ? "make it a mean: `mean[batch](…)`"
                   : "log the means that it is computed from, or compute it from what `PROGRAM predict` writes");
}

//===----------------------------------------------------------------------===//
// Linear functions of reductions
//===----------------------------------------------------------------------===//

static bool isConstant(mlir::Value value) { return llvm::isa_and_nonnull<ConstantOp>(value.getDefiningOp()); }

/// The operand that an op multiplies by a constant; null if it is another op.
static mlir::Value scaledOperand(mlir::Operation *op) {
  if (llvm::isa_and_nonnull<MulOp, DivOp>(op) && isConstant(op->getOperand(1))) return op->getOperand(0);
  return llvm::isa_and_nonnull<MulOp>(op) && isConstant(op->getOperand(0)) ? op->getOperand(1) : mlir::Value();
}

static bool isSum(mlir::Operation *op) {
  auto reduce = llvm::dyn_cast_or_null<ReduceOp>(op);
  return reduce && reduce.getKind() == ReduceKind::Sum;
}

/// Whether the value adds up sums over `batch`, with constant factors, and nothing else.
bool BatchAccounting::findSums(mlir::Value value, Reductions &sums) {
  for (Reduction &reduction : reductions)
    if (reduction.value == value && reduction.kind == BatchReduction::Sum) return sums.push_back(&reduction), true;
  mlir::Operation *op = value.getDefiningOp();
  if (llvm::isa_and_nonnull<AddOp, SubOp>(op))
    return findSums(op->getOperand(0), sums) && findSums(op->getOperand(1), sums);
  if (llvm::isa_and_nonnull<NegOp, StopOp, CastOp>(op) || isSum(op)) return findSums(op->getOperand(0), sums);
  mlir::Value scaled = scaledOperand(op);
  return scaled && findSums(scaled, sums);
}

/// Whether the next value is the state plus, or minus, such sums.
bool BatchAccounting::findAddedSums(mlir::Value next, mlir::Value state, Reductions &sums) {
  if (next == state) return true;
  mlir::Operation *op = next.getDefiningOp();
  if (!llvm::isa_and_nonnull<AddOp, SubOp>(op)) return false;
  mlir::Value lhs = op->getOperand(0), rhs = op->getOperand(1);
  size_t before = sums.size();
  if (findAddedSums(lhs, state, sums) && findSums(rhs, sums)) return true;
  sums.truncate(before);
  return llvm::isa<AddOp>(op) && findAddedSums(rhs, state, sums) && findSums(lhs, sums);
}

void BatchAccounting::noteAssignment(mlir::Value next, mlir::Value state) {
  Reductions sums;
  if (!isAccumulating() || !findAddedSums(next, state, sums)) return;
  for (Reduction *sum : sums) sum->isAdded = true;
}

/// Follows linear ops; any other value is averaged.
BatchReduction BatchAccounting::reductionOf(mlir::Value value) {
  for (Reduction &reduction : reductions)
    if (reduction.value == value && reduction.kind != BatchReduction::Other) {
      reduction.isLogged = true;
      return reduction.kind;
    }
  mlir::Operation *op = value.getDefiningOp();
  auto isFloat = [](mlir::Value v) { return llvm::isa<mlir::FloatType>(tensorType(v).getElementType()); };
  bool isCast = llvm::isa_and_nonnull<CastOp>(op) && isFloat(value) && isFloat(op->getOperand(0));
  if (llvm::isa_and_nonnull<NegOp, StopOp>(op) || isCast || isSum(op)) return reductionOf(op->getOperand(0));
  if (llvm::isa_and_nonnull<AddOp, SubOp>(op)) {
    BatchReduction lhs = reductionOf(op->getOperand(0)), rhs = reductionOf(op->getOperand(1));
    return lhs == rhs ? lhs : BatchReduction::Other;
  }
  mlir::Value scaled = scaledOperand(op);
  return scaled ? reductionOf(scaled) : BatchReduction::Mean;
}

BatchReduction BatchAccounting::reductionOfLogged(mlir::Value value, const ast::Bind &bind) {
  if (!isAccumulating()) return BatchReduction::Mean;
  BatchReduction reduction = reductionOf(value);
  if (reduction == BatchReduction::Other)
    error(DiagnosticCode::E0412, bind.value->span,
          "under `accumulate`, `" + bind.name.text + "` adds a sum over `batch` to a value that is not one")
        .help("log them separately, or make both means: `mean[batch](…)`");
  else if (reduction == BatchReduction::Sum && sizes.isBatchSizeRead())
    error(DiagnosticCode::E0412, bind.value->span,
          "`" + bind.name.text +
              "` is a sum over `batch`, and the program uses the size of `batch` as a number, which under "
              "`accumulate` is the size of a micro-batch")
        .help("write `mean[batch](…)` instead of dividing by the size");
  return reduction;
}

void BatchAccounting::warnOfReductions() const {
  if (!isAccumulating()) return;
  std::vector<Span> warned; // a call of the library may reduce several times
  auto isOfBatch = [](const Reduction &reduction) {
    return reduction.isLogged || (reduction.isAdded && reduction.value.hasOneUse());
  };
  for (const Reduction &reduction : reductions)
    if (!isOfBatch(reduction) && !llvm::is_contained(warned, reduction.span)) {
      warned.push_back(reduction.span);
      diagnostics
          .warning(DiagnosticCode::E0412, reduction.span,
                   reduction.value ? "under `accumulate` this reduces each micro-batch separately"
                                   : "under `accumulate` row positions are counted in each micro-batch separately")
          .help("results depend on the number of micro-batches; remove `accumulate` to avoid this");
    }
}

//===----------------------------------------------------------------------===//
// States that each micro-batch assigns
//===----------------------------------------------------------------------===//

/// What a value is computed from, one op back; into and out of repeats.
static llvm::SmallVector<mlir::Value> sourcesOf(mlir::Value value) {
  auto argument = llvm::dyn_cast<mlir::BlockArgument>(value);
  mlir::Operation *op = argument ? argument.getOwner()->getParentOp() : value.getDefiningOp();
  auto repeat = llvm::dyn_cast_or_null<RepeatOp>(op);
  if (!repeat) return argument ? llvm::SmallVector<mlir::Value>() : llvm::SmallVector<mlir::Value>(op->getOperands());
  int number = argument ? static_cast<int>(argument.getArgNumber()) - 1
                        : static_cast<int>(llvm::cast<mlir::OpResult>(value).getResultNumber());
  bool isCarried = number >= 0 && number < static_cast<int>(repeat.getCarried().size());
  llvm::SmallVector<mlir::Value> sources;
  if (number >= 0 && (argument || isCarried)) sources.push_back(repeat->getOperand(number));
  if (!argument || isCarried) sources.push_back(repeat.getYield().getValues()[number]);
  return sources;
}

/// Whether the value follows from the state, and from nothing else that differs between micro-batches: their data,
/// their number (which random draws depend on) and other states.
static bool isRepeated(mlir::Value next, mlir::Value state, const RepeatRegion &micro) {
  llvm::SetVector<mlir::Value> seen;
  seen.insert(next);
  for (size_t index = 0; index < seen.size(); ++index) {
    auto argument = llvm::dyn_cast<mlir::BlockArgument>(seen[index]);
    bool isOfMicro = argument && argument.getOwner() == micro.block;
    unsigned shared = 1 + micro.carried.size() + micro.sliced.size(); // the first argument that is an invariant
    if (isOfMicro && argument != state && argument.getArgNumber() < shared) return false;
    if (!isOfMicro)
      for (mlir::Value source : sourcesOf(seen[index])) seen.insert(source);
  }
  return seen.contains(state);
}

void BatchAccounting::warnOfRepetition(const RepeatRegion &micro) const {
  std::vector<Span> warned; // a function may be called several times
  for (const AssignedState &assigned : micro.assignedStates) {
    auto carried = llvm::find(micro.carriedStates, assigned.path);
    mlir::Value state = micro.block->getArgument(1 + (carried - micro.carriedStates.begin()));
    if (llvm::is_contained(warned, assigned.span) || !isRepeated(assigned.value, state, micro)) continue;
    warned.push_back(assigned.span);
    diagnostics
        .warning(DiagnosticCode::E0412, assigned.span,
                 "under `accumulate` this is assigned " + llvm::Twine(microBatches) +
                     " times a step, though nothing in it is of the rows of a micro-batch")
        .help("a factor of 0.9 becomes 0.9^" + llvm::Twine(microBatches) +
              " in a step: choose it for that, or remove `accumulate`");
  }
}
