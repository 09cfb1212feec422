//===- Tsr.cpp - registration, attributes and types of the dialect --------===//

#include "ir/dialect/Assembly.h"
#include "ir/dialect/Attributes.h"
#include "ir/dialect/GraphBuilder.h"
#include "mlir/IR/DialectImplementation.h"
#include "llvm/ADT/StringSet.h"
#include "llvm/ADT/TypeSwitch.h"
#include <cmath>

using namespace mlir;
using namespace tessera;

#include "ir/dialect/TsrDialect.cpp.inc"
#include "ir/dialect/TsrEnums.cpp.inc"
#include "ir/dialect/TsrInterfaces.cpp.inc"

#define GET_ATTRDEF_CLASSES
#include "ir/dialect/TsrAttrs.cpp.inc"
#define GET_TYPEDEF_CLASSES
#include "ir/dialect/TsrTypes.cpp.inc"
#define GET_OP_CLASSES
#include "ir/dialect/TsrOps.cpp.inc"

void TsrDialect::initialize() {
  addTypeAliases(*this);
  addAttributes<
#define GET_ATTRDEF_LIST
#include "ir/dialect/TsrAttrs.cpp.inc"
      >();
  addTypes<
#define GET_TYPEDEF_LIST
#include "ir/dialect/TsrTypes.cpp.inc"
      >();
  addOperations<
#define GET_OP_LIST
#include "ir/dialect/TsrOps.cpp.inc"
      >();
}

void tessera::nameResults(Operation *op, OpAsmSetValueNameFn setName) {
  // A use of a constant shows its value: `tsr.mul %x, %c0.5`.
  if (auto constant = dyn_cast<ConstantOp>(op)) return setName(constant.getResult(), constantName(constant.getValue()));
  StringRef last = userName(op).rsplit('.').second;
  StringRef name = last.empty() ? userName(op) : last;
  if (name.empty()) return;
  for (Value result : op->getResults()) setName(result, name);
}

void tessera::nameArguments(Region &region, OpAsmSetValueNameFn setName) {
  for (BlockArgument argument : region.getArguments()) {
    unsigned number = argument.getArgNumber();
    std::string name(1, 'a' + number % 26);
    setName(argument, number < 26 ? name : name + std::to_string(number / 26));
  }
}

SmallVector<StringRef> tessera::names(ArrayAttr attr) {
  return llvm::map_to_vector(attr, [](Attribute a) { return cast<StringAttr>(a).getValue(); });
}

//===----------------------------------------------------------------------===//
// Axes: `name: size`, in angle brackets outside of types
//===----------------------------------------------------------------------===//

static FailureOr<AxisAttr> parseAxis(AsmParser &parser) {
  StringRef name;
  int64_t size;
  if (parser.parseKeyword(&name)) return failure();
  std::string kept = name.str();
  if (parser.parseColon() || parser.parseInteger(size)) return failure();
  return AxisAttr::get(parser.getContext(), kept, size);
}

Attribute AxisAttr::parse(AsmParser &parser, Type) {
  if (parser.parseLess()) return {};
  FailureOr<AxisAttr> axis = parseAxis(parser);
  if (failed(axis) || parser.parseGreater()) return {};
  return *axis;
}

void AxisAttr::print(AsmPrinter &printer) const { printer << "<" << getName() << ": " << getSize() << ">"; }

//===----------------------------------------------------------------------===//
// Tensors
//===----------------------------------------------------------------------===//

Type NamedTensorType::parse(AsmParser &parser) {
  SmallVector<AxisAttr> axes;
  SmallVector<int64_t> allocated;
  Type elementType;
  SMLoc loc = parser.getCurrentLocation();
  auto parseOne = [&]() -> ParseResult {
    FailureOr<AxisAttr> axis = parseAxis(parser);
    if (failed(axis)) return failure();
    axes.push_back(*axis);
    allocated.push_back(axis->getSize());
    return succeeded(parser.parseOptionalKeyword("of")) ? parser.parseInteger(allocated.back()) : success();
  };
  if (parser.parseLess() || parser.parseCommaSeparatedList(AsmParser::Delimiter::Square, parseOne) ||
      parser.parseComma() || parser.parseType(elementType) || parser.parseGreater())
    return {};
  return getChecked([&] { return parser.emitError(loc); }, parser.getContext(), ArrayRef<AxisAttr>(axes), elementType,
                    dropIfDense(axes, allocated));
}

void tessera::printAxes(llvm::raw_ostream &out, NamedTensorType type) {
  out << "[";
  llvm::interleaveComma(llvm::zip(type.getAxes(), type.getAllocatedSizes()), out, [&](auto pair) {
    auto [axis, allocated] = pair;
    out << axis.getName() << ": " << axis.getSize();
    if (allocated != axis.getSize()) out << " of " << allocated;
  });
  out << "]";
}

void NamedTensorType::print(AsmPrinter &printer) const {
  printer << "<";
  printAxes(printer.getStream(), *this);
  printer << ", " << getElementType() << ">";
}

LogicalResult NamedTensorType::verify(function_ref<InFlightDiagnostic()> emitError, ArrayRef<AxisAttr> axes,
                                      Type elementType, ArrayRef<int64_t> allocated) {
  if (!elementType.isF64() && !elementType.isF32() && !elementType.isBF16() && !elementType.isF16() &&
      !isFp8(elementType) && !elementType.isInteger(64) && !elementType.isInteger(32) && !elementType.isInteger(1))
    return emitError() << "expected element type f64, f32, bf16, f16, f8E4M3FN, f8E5M2, i64, i32 or i1, got "
                       << elementType;
  llvm::StringSet<> seen;
  for (AxisAttr axis : axes) {
    if (!seen.insert(axis.getName()).second) return emitError() << "axis `" << axis.getName() << "` occurs twice";
    if (axis.getSize() < 1)
      return emitError() << "expected a positive size for axis `" << axis.getName() << "`, got " << axis.getSize();
  }
  if (allocated.empty()) return success();
  if (allocated.size() != axes.size())
    return emitError() << "expected " << axes.size() << " allocated sizes, got " << allocated.size();
  for (auto [axis, size] : llvm::zip(axes, allocated))
    if (size < axis.getSize())
      return emitError() << "expected an allocated size of at least " << axis.getSize() << " for axis `"
                         << axis.getName() << "`, got " << size;
  return success();
}

double tessera::largestOf(Type floatType) {
  return llvm::APFloat::getLargest(cast<FloatType>(floatType).getFloatSemantics()).convertToDouble();
}

int64_t NamedTensorType::getNumElements() const {
  int64_t count = 1;
  for (AxisAttr axis : getAxes()) count *= axis.getSize();
  return count;
}

int64_t NamedTensorType::getElementBytes() const {
  return std::max<int64_t>(1, getElementType().getIntOrFloatBitWidth() / 8);
}

int64_t NamedTensorType::getNumAllocated() const {
  int64_t count = 1;
  for (int64_t size : getAllocatedSizes()) count *= size;
  return count;
}

int64_t NamedTensorType::getNumBytes() const { return getNumAllocated() * getElementBytes(); }

int64_t NamedTensorType::getSlotBytes() const { return (isScalar() ? 1 : getStrides().front()) * getElementBytes(); }

ArrayRef<int64_t> NamedTensorType::dropIfDense(ArrayRef<AxisAttr> axes, ArrayRef<int64_t> allocated) {
  bool isDense = axes.size() == allocated.size() && llvm::all_of(llvm::zip(axes, allocated), [](auto pair) {
                   return std::get<0>(pair).getSize() == std::get<1>(pair);
                 });
  return isDense ? ArrayRef<int64_t>() : allocated;
}

SmallVector<int64_t> NamedTensorType::getAllocatedSizes() const {
  if (!isDense()) return SmallVector<int64_t>(getAllocated());
  return llvm::map_to_vector(getAxes(), [](AxisAttr axis) { return axis.getSize(); });
}

int64_t NamedTensorType::findAxis(StringRef name) const {
  for (auto [i, axis] : llvm::enumerate(getAxes()))
    if (axis.getName() == name) return i;
  return -1;
}

int64_t NamedTensorType::getSize(StringRef name) const {
  int64_t i = findAxis(name);
  assert(i >= 0 && "the tensor lacks the axis");
  return getAxes()[i].getSize();
}

SmallVector<int64_t> NamedTensorType::getStrides() const {
  SmallVector<int64_t> strides(getRank(), 1);
  SmallVector<int64_t> sizes = getAllocatedSizes();
  for (int64_t i = getRank() - 2; i >= 0; --i) strides[i] = strides[i + 1] * sizes[i + 1];
  return strides;
}

SmallVector<int64_t> RandomOp::getIndexStrides() {
  ArrayRef<AxisAttr> axes = getType().getAxes();
  if (std::optional<DictionaryAttr> strides = getStrides())
    return llvm::map_to_vector(axes, [&](AxisAttr a) { return strides->getAs<IntegerAttr>(a.getName()).getInt(); });
  SmallVector<StringRef> order =
      getCanonical() ? names(*getCanonical()) : llvm::map_to_vector(axes, [](AxisAttr axis) { return axis.getName(); });
  SmallVector<int64_t> strides(axes.size());
  int64_t stride = 1;
  for (StringRef name : llvm::reverse(order)) {
    int64_t axis = getType().findAxis(name);
    strides[axis] = stride, stride *= axes[axis].getSize();
  }
  return strides;
}

NamedTensorType NamedTensorType::withElementType(Type type) const {
  return get(getContext(), getAxes(), type, getAllocated());
}
NamedTensorType NamedTensorType::withAxes(ArrayRef<AxisAttr> axes) const {
  return get(getContext(), axes, getElementType());
}
NamedTensorType NamedTensorType::withAllocated(ArrayRef<int64_t> allocated) const {
  return get(getContext(), getAxes(), getElementType(), allocated);
}
NamedTensorType NamedTensorType::withoutAxis(StringRef name) const {
  SmallVector<AxisAttr> axes;
  SmallVector<int64_t> allocated;
  for (auto [axis, size] : llvm::zip(getAxes(), getAllocatedSizes())) {
    if (axis.getName() == name) continue;
    axes.push_back(axis);
    allocated.push_back(size);
  }
  return get(getContext(), axes, getElementType(), allocated);
}
