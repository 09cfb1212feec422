//===- WideBuilder.cpp - values of all ranks in one program ---------------===//

#include "passes/sharding/WideBuilder.h"

using namespace mlir;
using namespace tessera;

static AxisAttr axisOf(NamedTensorType type, StringRef name) { return type.getAxes()[type.findAxis(name)]; }

/// The parts along the axes of a mesh, the outermost first.
static SmallVector<Sharding::Part> inOrderOf(const ProgramMesh &mesh, const Sharding &sharding) {
  SmallVector<Sharding::Part> parts;
  for (AxisAttr along : mesh.getAxes())
    if (sharding.uses(along.getName())) parts.push_back({sharding.axisAlong(along.getName()), along.getName()});
  return parts;
}

WideValue WideBuilder::convert(WideValue value, const Sharding &sharding) {
  SmallVector<Sharding::Part> before = inOrderOf(mesh, value.sharding);
  // Whole first: a mesh axis may divide another axis now. The more is whole, the nearer are the ranks that exchange it.
  for (auto [axis, along] : before) {
    if (sharding.meshAxis(axis) == along) continue;
    int64_t size = value.whole.getSize(axis);
    value.value = merge(value.value, {along, axis}, axis);
    if (tensorType(value.value).getSize(axis) != size) value.value = slice(value.value, axis, 0, size);
    value.sharding.makeWhole(axis);
  }
  for (auto [axis, along] : inOrderOf(mesh, sharding)) {
    if (value.sharding.meshAxis(axis) == along) continue;
    int64_t size = value.whole.getSize(axis), parts = mesh.size(along), part = partSize(size, parts);
    if (part * parts != size) value.value = pad(value.value, axis, 0, part * parts);
    value.value =
        split(value.value, axis, {tessera::axis(getContext(), along, parts), tessera::axis(getContext(), axis, part)});
    value.sharding.divide(axis, along);
  }
  // Other axes that were padded still are.
  bool wasPadded = llvm::any_of(before, [&](const Sharding::Part &part) {
    return sharding.meshAxis(part.axis) == part.mesh && isPadded(value, part.axis);
  });
  value.hasZeroPadding |= !wasPadded;
  return value;
}

Value WideBuilder::firstPositions(AxisAttr whole, StringRef meshAxis) {
  int64_t parts = mesh.size(meshAxis), part = partSize(whole.getSize(), parts);
  Value rank = index(tessera::axis(getContext(), meshAxis, parts));
  return mul(rank, static_cast<double>(part));
}

Value WideBuilder::positions(AxisAttr whole, StringRef meshAxis) {
  int64_t part = partSize(whole.getSize(), mesh.size(meshAxis));
  return add(firstPositions(whole, meshAxis), index(tessera::axis(getContext(), whole.getName(), part)));
}

Type WideBuilder::arithmeticType(Type element) {
  bool isNarrow = isa<FloatType>(element) && element.getIntOrFloatBitWidth() < 32;
  return isNarrow ? Type(getF32Type()) : element;
}

bool WideBuilder::isPadded(const WideValue &value, StringRef axis) const {
  StringRef along = value.sharding.meshAxis(axis);
  return !along.empty() && value.whole.getSize(axis) % mesh.size(along) != 0;
}

Value WideBuilder::withPadding(const WideValue &value, ArrayRef<StringRef> axes, TypedAttr element) {
  if (value.hasZeroPadding && element == getZeroAttr(element.getType())) return value.value;
  Value result = value.value;
  Type computed = arithmeticType(element.getType());
  for (StringRef axis : axes) {
    if (!isPadded(value, axis)) continue;
    AxisAttr whole = axisOf(value.whole, axis);
    Value size = scalar(static_cast<double>(whole.getSize()), getI32Type());
    Value isInside = compare(Predicate::LT, positions(whole, value.sharding.meshAxis(axis)), size);
    Value padding = ConstantOp::create(*this, getLoc(), scalarType(element.getType()), element);
    result = select(isInside, cast(result, computed), cast(padding, computed));
  }
  return cast(result, element.getType());
}

WideValue WideBuilder::withZeroPadding(WideValue value) {
  SmallVector<StringRef> axes =
      llvm::map_to_vector(value.sharding.getParts(), [](const Sharding::Part &part) { return part.axis; });
  value.value = withPadding(value, axes, getZeroAttr(value.whole.getElementType()));
  value.hasZeroPadding = true;
  return value;
}
