//===- Band.cpp - which elements of a matrix can affect a result ----------===//

#include "passes/tile/Band.h"
#include "llvm/ADT/TypeSwitch.h"
#include <cmath>
#include <set>

using namespace mlir;
using namespace tessera;

namespace {

/// What is known of a value outside the band.
enum class Known { Nothing, False, True, Zero, NegativeInfinity, Positive };

/// row · rows + column · columns + constant.
struct Position {
  int64_t rows = 0, columns = 0, constant = 0;
};

class BandFinder {
public:
  BandFinder(ArrayRef<Operation *> ops, const MatrixAxes &axes) : ops(ops), axes(axes) {}
  Band find();
  /// Of column - row where the condition holds.
  std::optional<Interval> diagonalsOf(CompareOp compare);

private:
  std::optional<Position> positionOf(Value value);
  std::optional<Position> findPosition(Operation *op);
  bool holdsOutside(const Interval &outside);
  bool kernelHolds(KernelOp kernel, const Interval &outside);
  Known follow(Operation *op, const Interval &outside);
  Known evaluateKnown(ElementwiseOpInterface op) const;
  Known knownOf(Value value) const { return known.lookup(value); }

  ArrayRef<Operation *> ops;
  const MatrixAxes &axes;
  llvm::DenseMap<Value, Known> known;
  llvm::DenseMap<Operation *, std::optional<Position>> positions; ///< what positionOf has found
};

} // namespace

std::optional<Position> BandFinder::positionOf(Value value) {
  Operation *op = value.getDefiningOp();
  if (!op) return std::nullopt;
  if (auto it = positions.find(op); it != positions.end()) return it->second;
  std::optional<Position> found = findPosition(op);
  return positions[op] = found;
}

std::optional<Position> BandFinder::findPosition(Operation *op) {
  if (auto index = dyn_cast<IndexOp>(op)) {
    AxisAttr axis = index.getType().getAxes()[0];
    if (axis != axes.rows && axis != axes.columns) return std::nullopt;
    return Position{axis == axes.rows, axis == axes.columns, 0};
  }
  if (auto constant = dyn_cast<ConstantOp>(op)) {
    if (!isa<IntegerType>(constant.getType().getElementType())) return std::nullopt;
    return Position{0, 0, static_cast<int64_t>(constant.getNumber())};
  }
  if (isa<BroadcastOp>(op)) return positionOf(op->getOperand(0));
  if (!isa<AddOp, SubOp>(op)) return std::nullopt;
  auto a = positionOf(op->getOperand(0)), b = positionOf(op->getOperand(1));
  if (!a || !b) return std::nullopt;
  int64_t sign = isa<AddOp>(op) ? 1 : -1;
  Position sum{a->rows + sign * b->rows, a->columns + sign * b->columns, a->constant + sign * b->constant};
  // Beyond that the model's own i32 arithmetic wraps around.
  if (!llvm::isInt<32>(sum.rows) || !llvm::isInt<32>(sum.columns) || !llvm::isInt<32>(sum.constant))
    return std::nullopt;
  return sum;
}

/// The diagonals on which the comparison holds; none if it does not compare column - row with a constant.
std::optional<Interval> BandFinder::diagonalsOf(CompareOp compare) {
  auto a = positionOf(compare.getLhs()), b = positionOf(compare.getRhs());
  if (!a || !b) return std::nullopt;
  Position difference{a->rows - b->rows, a->columns - b->columns, a->constant - b->constant};
  if (difference.rows + difference.columns != 0 || std::abs(difference.columns) != 1) return std::nullopt;
  // With d = column - row the comparison is d ⋈ limit, or the other way round: d ⋈' limit.
  bool flipped = difference.columns == -1;
  int64_t limit = flipped ? difference.constant : -difference.constant;
  switch (compare.getPredicate()) {
  case Predicate::LT:
    return flipped ? Interval{limit + 1, INT64_MAX} : Interval{INT64_MIN, limit - 1};
  case Predicate::LE:
    return flipped ? Interval{limit, INT64_MAX} : Interval{INT64_MIN, limit};
  case Predicate::GT:
    return flipped ? Interval{INT64_MIN, limit - 1} : Interval{limit + 1, INT64_MAX};
  case Predicate::GE:
    return flipped ? Interval{INT64_MIN, limit} : Interval{limit, INT64_MAX};
  case Predicate::EQ:
    return Interval{limit, limit};
  case Predicate::NE:
    return std::nullopt;
  }
  llvm_unreachable("all predicates are listed");
}

static Known ofNumber(double number, Type element) {
  if (element.isInteger(1)) return number != 0 ? Known::True : Known::False;
  if (number == 0) return Known::Zero;
  if (number == -INFINITY) return Known::NegativeInfinity;
  return number > 0 && std::isfinite(number) ? Known::Positive : Known::Nothing;
}

static Known ofConstant(ConstantOp constant) {
  return ofNumber(constant.getNumber(), constant.getType().getElementType());
}

/// The value that is known, if it is one number.
static std::optional<double> numberOf(Known known) {
  switch (known) {
  case Known::False:
  case Known::Zero:
    return 0;
  case Known::True:
    return 1;
  case Known::NegativeInfinity:
    return -INFINITY;
  case Known::Nothing:
  case Known::Positive:
    return std::nullopt;
  }
  llvm_unreachable("all cases are listed");
}

/// What is known of the result where each operand is one known number.
Known BandFinder::evaluateKnown(ElementwiseOpInterface op) const {
  SmallVector<double> numbers;
  for (Value operand : op->getOperands()) {
    std::optional<double> number = numberOf(knownOf(operand));
    if (!number) return Known::Nothing;
    numbers.push_back(*number);
  }
  return ofNumber(op.applyScalar(numbers), tensorType(op->getResult(0)).getElementType());
}

Known BandFinder::follow(Operation *op, const Interval &outside) {
  auto operand = [&](unsigned i) { return knownOf(op->getOperand(i)); };
  auto either = [&](Known what) { return operand(0) == what || operand(1) == what; };
  auto both = [&](Known what) { return operand(0) == what && operand(1) == what; };
  return llvm::TypeSwitch<Operation *, Known>(op)
      .Case<ConstantOp>(ofConstant)
      .Case<CompareOp>([&](CompareOp compare) {
        std::optional<Interval> holds = diagonalsOf(compare);
        if (!holds) return Known::Nothing;
        if (holds->contains(outside)) return Known::True;
        return holds->intersects(outside) ? Known::Nothing : Known::False;
      })
      .Case<AndOp>([&](auto) {
        return either(Known::False) ? Known::False : both(Known::True) ? Known::True : Known::Nothing;
      })
      .Case<OrOp>([&](auto) {
        return either(Known::True) ? Known::True : both(Known::False) ? Known::False : Known::Nothing;
      })
      .Case<SelectOp>([&](auto) {
        if (operand(0) == Known::True) return operand(1);
        if (operand(0) == Known::False) return operand(2);
        return operand(1) == operand(2) ? operand(1) : Known::Nothing;
      })
      .Case<MulOp>([&](auto) {
        if (either(Known::Zero)) return Known::Zero;
        return either(Known::NegativeInfinity) && either(Known::Positive) ? Known::NegativeInfinity : Known::Nothing;
      })
      .Case<DivOp>([&](auto) {
        if (operand(0) == Known::Zero) return Known::Zero;
        return operand(0) == Known::NegativeInfinity && operand(1) == Known::Positive ? Known::NegativeInfinity
                                                                                      : Known::Nothing;
      })
      .Case<AddOp>([&](auto) {
        if (either(Known::NegativeInfinity)) return Known::NegativeInfinity;
        return operand(0) == Known::Zero ? operand(1) : operand(1) == Known::Zero ? operand(0) : Known::Nothing;
      })
      .Case<SubOp>([&](auto) {
        if (operand(0) == Known::NegativeInfinity || operand(1) == Known::Zero) return operand(0);
        return Known::Nothing;
      })
      .Case<CastOp>([&](auto) {
        if (operand(0) == Known::False) return Known::Zero;
        return operand(0) == Known::True ? Known::Positive : operand(0);
      })
      .Case<BroadcastOp>([&](auto) { return operand(0); })
      .Case<ElementwiseOpInterface>([&](auto elementwise) { return evaluateKnown(elementwise); })
      .Default([](auto) { return Known::Nothing; });
}

/// Whether what a kernel sums or compares outside the band is neutral. Notes what is known of its results.
bool BandFinder::kernelHolds(KernelOp kernel, const Interval &outside) {
  for (auto [operand, argument] : llvm::zip(kernel.getInputs(), kernel.getBlock().getArguments()))
    known[argument] = knownOf(operand);
  for (Operation &op : kernel.getBlock().without_terminator()) {
    if (auto reduce = dyn_cast<ReduceOp>(op)) {
      Known x = knownOf(reduce.getX());
      bool isNeutral =
          (reduce.getKind() == ReduceKind::Sum && x == Known::Zero) ||
          (llvm::is_contained({ReduceKind::Max, ReduceKind::MaxNum}, reduce.getKind()) && x == Known::NegativeInfinity);
      if (!isNeutral) return false;
    }
    for (Value result : op.getResults()) known[result] = follow(&op, outside);
  }
  for (auto [value, result] : llvm::zip(kernel.getBlock().getTerminator()->getOperands(), kernel.getResults()))
    if (axes.isMatrix(tensorType(result))) known[result] = knownOf(value);
  return true;
}

bool BandFinder::holdsOutside(const Interval &outside) {
  known.clear();
  for (Operation *member : ops) {
    if (auto kernel = dyn_cast<KernelOp>(member)) {
      if (!kernelHolds(kernel, outside)) return false;
      continue;
    }
    auto contract = cast<ContractOp>(member);
    std::optional<TiledContraction> part = tiledRole(contract, axes);
    if (part->role != TiledRole::MakesMatrix && knownOf(contract->getOperand(part->x)) != Known::Zero) return false;
  }
  return true;
}

Band BandFinder::find() {
  std::set<int64_t> uppers, lowers; // candidates, the narrowest band first
  for (Operation *member : ops)
    member->walk([&](CompareOp compare) {
      std::optional<Interval> holds = diagonalsOf(compare);
      if (!holds) return;
      // A comparison may select the elements that matter, or those that do not.
      if (holds->high != INT64_MAX) uppers.insert(holds->high), lowers.insert(-holds->high - 1);
      if (holds->low != INT64_MIN) uppers.insert(holds->low - 1), lowers.insert(-holds->low);
    });
  Band band;
  for (int64_t upper : uppers)
    if (!band.upper && holdsOutside({upper + 1, INT64_MAX})) band.upper = upper;
  for (int64_t lower : lowers)
    if (!band.lower && holdsOutside({INT64_MIN, -lower - 1})) band.lower = -lower;
  return band;
}

Band tessera::findBand(ArrayRef<Operation *> ops, const MatrixAxes &axes) { return BandFinder(ops, axes).find(); }

std::optional<bool> tessera::valueInside(const Band &band, CompareOp compare, const MatrixAxes &axes) {
  std::optional<Interval> holds = BandFinder({}, axes).diagonalsOf(compare);
  if (!holds) return std::nullopt;
  Interval inside{band.lower.value_or(INT64_MIN), band.upper.value_or(INT64_MAX)};
  if (holds->contains(inside)) return true;
  return holds->intersects(inside) ? std::nullopt : std::optional(false);
}
