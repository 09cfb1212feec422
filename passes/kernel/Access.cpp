//===- Access.cpp - the address of an element as a function of the loops --===//

#include "passes/kernel/Access.h"
#include "llvm/ADT/TypeSwitch.h"

using namespace mlir;
using namespace tessera;

//===----------------------------------------------------------------------===//
// Expressions
//===----------------------------------------------------------------------===//

LinearIndex LinearIndex::scaled(int64_t factor) const {
  LinearIndex result = *this;
  for (int64_t &c : result.coefficients) c *= factor;
  result.constant *= factor;
  for (Term &term : result.terms) term = {term.coefficient * factor, std::make_shared<NonlinearTerm>(*term.value)};
  return result;
}

LinearIndex &LinearIndex::operator+=(const LinearIndex &other) {
  for (size_t i = 0; i < coefficients.size(); ++i) coefficients[i] += other.coefficients[i];
  constant += other.constant;
  terms.append(other.terms.begin(), other.terms.end());
  return *this;
}

uint64_t LinearIndex::loops(llvm::function_ref<uint64_t(Value)> varies) const {
  uint64_t mask = 0;
  for (size_t i = 0; i < coefficients.size(); ++i)
    if (coefficients[i] != 0) mask |= uint64_t(1) << i;
  for (const Term &term : terms)
    mask |= term.value->position ? varies(term.value->position) : term.value->inner.loops(varies);
  return mask;
}

void LinearIndex::forEach(llvm::function_ref<void(LinearIndex &)> visit) {
  visit(*this);
  for (Term &term : terms)
    if (!term.value->position) term.value->inner.forEach(visit);
}

uint64_t Access::loops(llvm::function_ref<uint64_t(Value)> varies) const {
  uint64_t mask = offset.loops(varies);
  for (const IndexCondition &range : ranges) mask |= range.expr.loops(varies);
  return mask;
}

void Access::forEachIndex(llvm::function_ref<void(LinearIndex &)> visit) {
  offset.forEach(visit);
  for (IndexCondition &range : ranges) range.expr.forEach(visit);
}

/// floor(e / divisor) mod modulus, for e that is not negative; affine where everything divides.
static LinearIndex divideAndWrap(const LinearIndex &e, int64_t divisor, int64_t modulus) {
  auto divides = [&](int64_t by) {
    return e.terms.empty() && llvm::all_of(e.coefficients, [&](int64_t c) { return c % by == 0; });
  };
  LinearIndex result(e.coefficients.size());
  if (modulus == 0 && divides(divisor)) {
    for (size_t i = 0; i < e.coefficients.size(); ++i) result.coefficients[i] = e.coefficients[i] / divisor;
    result.constant = e.constant / divisor;
    return result;
  }
  if (modulus != 0 && divides(divisor * modulus)) {
    result.constant = e.constant / divisor % modulus;
    return result;
  }
  result.terms.push_back({1, std::make_shared<NonlinearTerm>(NonlinearTerm{e, divisor, modulus, Value(), 0})});
  return result;
}

LinearIndex tessera::linearize(NamedTensorType type, const AxisPositions &positions, size_t loops) {
  return linearize(type, positions, loops, type.getStrides());
}

LinearIndex tessera::linearize(NamedTensorType type, const AxisPositions &positions, size_t loops,
                               ArrayRef<int64_t> strides) {
  LinearIndex offset(loops);
  for (auto [axis, stride] : llvm::zip(type.getAxes(), strides)) {
    auto it = positions.find(axis.getName());
    assert(it != positions.end() && "every axis has a position");
    offset += it->second.scaled(stride);
  }
  return offset;
}

//===----------------------------------------------------------------------===//
// From positions in the result to positions in the operand
//===----------------------------------------------------------------------===//

namespace {

/// Walks from a value to the block argument that it is read from. `positions` are those in the value reached.
struct Resolver {
  AxisPositions positions;
  size_t loops;
  SmallVector<IndexCondition, 1> ranges;

  void through(SliceOp op) { positions.find(op.getAxis())->second.constant += op.getOffset(); }

  void through(PadOp op) {
    LinearIndex &position = positions.find(op.getAxis())->second;
    position.constant -= op.getOffset();
    ranges.push_back({position.scaled(1), op.getX().getType().getSize(op.getAxis())});
  }

  void through(RenameOp op) {
    SmallVector<std::pair<StringRef, LinearIndex>> moved;
    for (auto [from, to] : llvm::zip(names(op.getFrom()), names(op.getTo()))) {
      moved.emplace_back(from, positions.find(to)->second);
      positions.erase(to);
    }
    for (auto &[name, position] : moved) positions.insert_or_assign(name, position);
  }

  void through(SplitOp op) {
    LinearIndex position(loops);
    for (StringRef part : names(op.getInto())) {
      position = position.scaled(op.getType().getSize(part));
      position += positions.find(part)->second;
      positions.erase(part);
    }
    positions.insert_or_assign(op.getAxis(), position);
  }

  void through(MergeOp op) {
    LinearIndex merged = positions.find(op.getInto())->second;
    positions.erase(op.getInto());
    SmallVector<StringRef> parts = names(op.getAxes());
    NamedTensorType type = op.getX().getType();
    // If the axes are adjacent in memory, the whole position along the last one gives the same offset.
    bool adjacent = isa<BlockArgument>(op.getX());
    SmallVector<int64_t> sizes = type.getAllocatedSizes();
    for (size_t i = 0; adjacent && i + 1 < parts.size(); ++i) {
      int64_t next = type.findAxis(parts[i + 1]);
      adjacent = type.findAxis(parts[i]) + 1 == next && sizes[next] == type.getAxes()[next].getSize();
    }
    int64_t inner = 1;
    for (StringRef part : llvm::reverse(parts)) {
      int64_t size = type.getSize(part);
      if (adjacent)
        positions.insert_or_assign(part, part == parts.back() ? merged : LinearIndex(loops));
      else
        positions.insert_or_assign(part, divideAndWrap(merged, inner, part == parts.front() ? 0 : size));
      inner *= size;
    }
  }

  void through(GatherOp op) {
    for (auto [axis, indices] : llvm::zip(names(op.getAxes()), op.getIndices())) {
      LinearIndex position(loops);
      int64_t extent = op.getX().getType().getSize(axis);
      position.terms.push_back(
          {1, std::make_shared<NonlinearTerm>(NonlinearTerm{LinearIndex(loops), 1, 0, indices, extent})});
      positions.insert_or_assign(axis, position);
    }
  }
};

} // namespace

FailureOr<Access> tessera::resolveAccess(Value value, const AxisPositions &positions, size_t loops) {
  Resolver resolver{positions, loops, {}};
  bool first = true;
  while (Operation *op = value.getDefiningOp()) {
    if (isa<GatherOp>(op) && !first) return op->emitError("cannot be read at other positions than the current point");
    if (op->hasTrait<traits::PointwiseIdentity>()) {
      value = op->getOperand(0);
      continue;
    }
    if (!op->hasTrait<traits::IndexTransform>())
      return op->emitError("expected a kernel operand, got a computed value, where other positions are read");
    llvm::TypeSwitch<Operation *>(op).Case<SliceOp, PadOp, RenameOp, SplitOp, MergeOp, GatherOp>(
        [&](auto transform) { resolver.through(transform); });
    value = op->getOperand(0);
    first = false;
  }
  Access access;
  access.argument = cast<BlockArgument>(value).getArgNumber();
  access.element = tensorType(value).getElementType();
  access.offset = linearize(tensorType(value), resolver.positions, loops);
  access.ranges = resolver.ranges;
  return access;
}
