//===- Structure.cpp - printing and parsing of repeat, kernel and tiled ---===//
//
// Region arguments print beside their operands:
//
//   %y = tsr.repeat [layer: 12] index %i
//       carry (%x = %x0 : T) slice (%w = %W : T) invariant (%m = %m0 : T) -> T
//       arguments at <0>, <64> NOTES { … }
//   %y = tsr.kernel "softmax" (%a = %x : T) parallel [batch] serial [key] vector key NOTES { … }
//   %y = tsr.tiled "attention" (%a = %x : T) parallel [batch] rows seq columns key upper 0 NOTES { … }
//
//===----------------------------------------------------------------------===//

#include "ir/dialect/Assembly.h"
#include "ir/dialect/GraphBuilder.h"
#include "ir/dialect/Tsr.h"

using namespace mlir;
using namespace tessera;

namespace {
/// `(%arg = %operand : type, …)`
struct BindingList {
  SmallVector<OpAsmParser::Argument> arguments;
  SmallVector<OpAsmParser::UnresolvedOperand> operands;
  SmallVector<Type> types;

  ParseResult parse(OpAsmParser &parser) {
    return parser.parseCommaSeparatedList(AsmParser::Delimiter::Paren, [&]() -> ParseResult {
      if (parser.parseArgument(arguments.emplace_back()) || parser.parseEqual() ||
          parser.parseOperand(operands.emplace_back()) || parser.parseColonType(types.emplace_back()))
        return failure();
      return success();
    });
  }
};
} // namespace

static void printBindings(OpAsmPrinter &printer, ValueRange arguments, ValueRange operands) {
  printer << "(";
  llvm::interleaveComma(llvm::zip(arguments, operands), printer, [&](auto pair) {
    auto [argument, operand] = pair;
    printer << argument << " = " << operand << " : " << operand.getType();
  });
  printer << ")";
}

static LogicalResult expectYield(Operation *op, Block &block) {
  if (isa<YieldOp>(block.getTerminator())) return success();
  return op->emitOpError("expected a region that ends with `tsr.yield`, got `")
         << block.getTerminator()->getName() << "`";
}

//===----------------------------------------------------------------------===//
// repeat
//===----------------------------------------------------------------------===//

ParseResult RepeatOp::parse(OpAsmParser &parser, OperationState &result) {
  MLIRContext *context = parser.getContext();
  StringRef keyword;
  int64_t size;
  if (parser.parseLSquare() || parser.parseKeyword(&keyword)) return failure();
  std::string name = keyword.str();
  if (parser.parseColon() || parser.parseInteger(size) || parser.parseRSquare()) return failure();
  auto axis = AxisAttr::get(context, name, size);
  auto &properties = result.getOrAddProperties<RepeatOp::Properties>();
  properties.axis = axis;
  if (succeeded(parser.parseOptionalKeyword("reverse"))) properties.reverse = UnitAttr::get(context);

  OpAsmParser::Argument induction;
  BindingList carried, sliced, invariants;
  if (parser.parseKeyword("index") || parser.parseArgument(induction)) return failure();
  if (succeeded(parser.parseOptionalKeyword("carry")) && carried.parse(parser)) return failure();
  if (succeeded(parser.parseOptionalKeyword("slice")) && sliced.parse(parser)) return failure();
  // Dumps of earlier versions have `keep`.
  bool hasInvariants =
      succeeded(parser.parseOptionalKeyword("invariant")) || succeeded(parser.parseOptionalKeyword("keep"));
  if (hasInvariants && invariants.parse(parser)) return failure();
  SmallVector<Type> results;
  if (parser.parseOptionalArrowTypeList(results)) return failure();
  if (succeeded(parser.parseOptionalKeyword("arguments")) &&
      (parser.parseKeyword("at") || parsePlaces(parser, properties.argPlaces)))
    return failure();
  if (parseNotesBeforeRegion(parser, result.attributes)) return failure();

  // Types of the region's arguments follow from the operands.
  induction.type = NamedTensorType::get(context, {}, IntegerType::get(context, 32));
  SmallVector<OpAsmParser::Argument> arguments{induction};
  for (BindingList *list : {&carried, &sliced, &invariants})
    for (auto [argument, type] : llvm::zip(list->arguments, list->types)) {
      argument.type = type;
      auto tensor = dyn_cast<NamedTensorType>(type);
      if (!tensor) return parser.emitError(parser.getNameLoc(), "expected a named tensor, got ") << type;
      if (list == &sliced) argument.type = tensor.withoutAxis(axis.getName());
      arguments.push_back(argument);
    }
  Region *body = result.addRegion();
  if (parser.parseRegion(*body, arguments)) return failure();
  for (BindingList *list : {&carried, &sliced, &invariants})
    if (parser.resolveOperands(list->operands, list->types, parser.getNameLoc(), result.operands)) return failure();
  llvm::copy(ArrayRef<int32_t>{static_cast<int32_t>(carried.operands.size()),
                               static_cast<int32_t>(sliced.operands.size()),
                               static_cast<int32_t>(invariants.operands.size())},
             properties.operandSegmentSizes.begin());
  result.addTypes(results);
  return success();
}

void RepeatOp::print(OpAsmPrinter &printer) {
  printer << " [" << getAxis().getName() << ": " << getAxis().getSize() << "]";
  if (getReverse()) printer << " reverse";
  printer << " index " << getInduction();
  auto section = [&](StringRef keyword, ValueRange arguments, ValueRange operands) {
    if (operands.empty()) return;
    printer << " " << keyword << " ";
    printBindings(printer, arguments, operands);
  };
  section("carry", getCarriedArgs(), getCarried());
  section("slice", getSlicedArgs(), getSliced());
  section("invariant", getInvariantArgs(), getInvariants());
  printer.printOptionalArrowTypeList(getResultTypes());
  SmallVector<NamedAttribute> notes(getOperation()->getDiscardableAttrDictionary().getValue());
  if (ArrayAttr places = getArgPlacesAttr(); arePlaces(places)) {
    printer << " arguments at ";
    printPlaces(printer, places);
  } else if (places) {
    notes.emplace_back(getArgPlacesAttrName(), places);
  }
  printNotesBeforeRegion(printer, getOperation(), notes);
  printer << " ";
  printer.printRegion(getBody(), /*printEntryBlockArgs=*/false);
}

YieldOp RepeatOp::getYield() { return cast<YieldOp>(getBlock().getTerminator()); }

LogicalResult RepeatOp::verify() {
  if (getAxis().getSize() < 1) return emitOpError("expected at least one iteration, got ") << getAxis().getSize();
  unsigned expected = 1 + getNumOperands();
  if (getBlock().getNumArguments() != expected)
    return emitOpError("expected ") << expected << " region arguments, got " << getBlock().getNumArguments();
  StringRef axis = getAxis().getName();
  Type induction = NamedTensorType::get(getContext(), {}, IntegerType::get(getContext(), 32));
  if (getInduction().getType() != induction)
    return emitOpError("expected an induction value of type ") << induction << ", got " << getInduction().getType();
  for (auto [operand, argument] : llvm::zip(getCarried(), getCarriedArgs()))
    if (operand.getType() != argument.getType()) return emitOpError("carried argument and operand differ in type");
  for (auto [operand, argument] : llvm::zip(getSliced(), getSlicedArgs())) {
    if (tensorType(operand).findAxis(axis) < 0 || tensorType(operand).getSize(axis) != getAxis().getSize())
      return emitOpError("expected a sliced operand with axis `")
             << axis << ": " << getAxis().getSize() << "`, got " << operand.getType();
    if (tensorType(operand).withoutAxis(axis) != argument.getType())
      return emitOpError("expected ") << tensorType(operand).withoutAxis(axis) << " for a sliced argument, got "
                                      << argument.getType();
  }
  for (auto [operand, argument] : llvm::zip(getInvariants(), getInvariantArgs()))
    if (operand.getType() != argument.getType()) return emitOpError("invariant argument and operand differ in type");
  return success();
}

LogicalResult RepeatOp::verifyRegions() {
  if (failed(expectYield(*this, getBlock()))) return failure();
  StringRef axis = getAxis().getName();
  ValueRange yielded = getYield().getValues();
  if (yielded.size() != getNumResults())
    return emitOpError("yields ") << yielded.size() << " values for " << getNumResults() << " results";
  if (yielded.size() < getCarried().size())
    return emitOpError("yields ") << yielded.size() << " values for " << getCarried().size() << " carried values";
  for (auto [i, value, result] : llvm::enumerate(yielded, getResults())) {
    NamedTensorType type = tensorType(result);
    if (i < getCarried().size() && (type != value.getType() || type != getCarried()[i].getType()))
      return emitOpError("carried value ")
             << i << " changes type: " << getCarried()[i].getType() << ", " << value.getType() << ", " << type;
    if (i >= getCarried().size() && (type.findAxis(axis) < 0 || type.getSize(axis) != getAxis().getSize() ||
                                     type.withoutAxis(axis) != value.getType()))
      return emitOpError("stacked result ")
             << i << " of type " << type << " does not stack " << value.getType() << " along `" << axis << "`";
  }
  return success();
}

//===----------------------------------------------------------------------===//
// kernel and tiled
//===----------------------------------------------------------------------===//

/// `parallel [batch, seq] serial [embed]`; without `serial` there are no serial axes.
static ParseResult parseLoops(OpAsmParser &parser, ArrayAttr &parallel, ArrayAttr &serial) {
  if (parser.parseKeyword("parallel") || parseNames(parser, parallel)) return failure();
  serial = parser.getBuilder().getArrayAttr({});
  return succeeded(parser.parseOptionalKeyword("serial")) ? parseNames(parser, serial) : success();
}

static void printLoops(OpAsmPrinter &printer, Operation *op, ArrayAttr parallel, ArrayAttr serial) {
  printer << " parallel ";
  printNames(printer, op, parallel);
  if (serial.empty()) return;
  printer << " serial ";
  printNames(printer, op, serial);
}

/// Attributes and the region of an op whose region arguments stand for its operands, and which yields its results. The
/// types of these may precede the region: `-> (T, …)`.
static ParseResult parseBody(OpAsmParser &parser, BindingList &inputs, OperationState &result) {
  SmallVector<Type> results;
  SMLoc loc = parser.getCurrentLocation();
  if (parser.parseOptionalArrowTypeList(results) || parseNotesBeforeRegion(parser, result.attributes)) return failure();
  for (auto [argument, type] : llvm::zip(inputs.arguments, inputs.types)) argument.type = type;
  Region *body = result.addRegion();
  if (parser.parseRegion(*body, inputs.arguments) ||
      parser.resolveOperands(inputs.operands, inputs.types, parser.getNameLoc(), result.operands))
    return failure();
  if (results.empty()) {
    if (body->empty() || body->front().empty())
      return parser.emitError(loc, "expected a region that ends with a yield");
    llvm::append_range(results, body->front().back().getOperandTypes());
  }
  result.addTypes(results);
  return success();
}

static void printBody(OpAsmPrinter &printer, Operation *op) {
  printNotesBeforeRegion(printer, op, op->getDiscardableAttrDictionary().getValue());
  printer << " ";
  printer.printRegion(op->getRegion(0), /*printEntryBlockArgs=*/false);
}

/// Region arguments have the operands' types, yielded values those of the results.
static LogicalResult verifyBody(Operation *op) {
  Block &block = op->getRegion(0).front();
  if (block.getNumArguments() != op->getNumOperands())
    return op->emitOpError("expected a region argument for each operand");
  for (auto [operand, argument] : llvm::zip(op->getOperands(), block.getArguments()))
    if (operand.getType() != argument.getType()) return op->emitOpError("argument and operand differ in type");
  if (failed(expectYield(op, block))) return failure();
  if (block.getTerminator()->getOperandTypes() != op->getResultTypes())
    return op->emitOpError("yields other types than its results");
  return success();
}

ParseResult KernelOp::parse(OpAsmParser &parser, OperationState &result) {
  auto &properties = result.getOrAddProperties<KernelOp::Properties>();
  BindingList inputs;
  if (parser.parseAttribute(properties.name) || inputs.parse(parser) ||
      parseLoops(parser, properties.parallel, properties.serial))
    return failure();
  if (succeeded(parser.parseOptionalKeyword("vector")) && parseName(parser, properties.vector)) return failure();
  return parseBody(parser, inputs, result);
}

void KernelOp::print(OpAsmPrinter &printer) {
  printer << " " << getNameAttr() << " ";
  printBindings(printer, getBlock().getArguments(), getInputs());
  printLoops(printer, getOperation(), getParallel(), getSerial());
  if (auto vector = getVectorAttr()) printer << " vector ", printName(printer, getOperation(), vector);
  printBody(printer, getOperation());
}

LogicalResult KernelOp::verifyRegions() { return verifyBody(getOperation()); }

static ParseResult parseOptionalNumber(OpAsmParser &parser, StringRef keyword, IntegerAttr &number) {
  int64_t value;
  if (failed(parser.parseOptionalKeyword(keyword))) return success();
  if (parser.parseInteger(value)) return failure();
  number = IntegerAttr::get(IntegerType::get(parser.getContext(), 64, IntegerType::Signed), value);
  return success();
}

ParseResult TiledOp::parse(OpAsmParser &parser, OperationState &result) {
  auto &properties = result.getOrAddProperties<TiledOp::Properties>();
  BindingList inputs;
  if (parser.parseAttribute(properties.name) || inputs.parse(parser) ||
      parseLoops(parser, properties.parallel, properties.serial) || parser.parseKeyword("rows") ||
      parseName(parser, properties.rows) || parser.parseKeyword("columns") || parseName(parser, properties.columns) ||
      parseOptionalNumber(parser, "lower", properties.lower) || parseOptionalNumber(parser, "upper", properties.upper))
    return failure();
  return parseBody(parser, inputs, result);
}

void TiledOp::print(OpAsmPrinter &printer) {
  printer << " " << getNameAttr() << " ";
  printBindings(printer, getBlock().getArguments(), getInputs());
  printLoops(printer, getOperation(), getParallel(), getSerial());
  printer << " rows ";
  printName(printer, getOperation(), getRowsAttr());
  printer << " columns ";
  printName(printer, getOperation(), getColumnsAttr());
  if (getLower()) printer << " lower " << *getLower();
  if (getUpper()) printer << " upper " << *getUpper();
  printBody(printer, getOperation());
}

/// Limits beyond all positions, yet sums of them and of positions do not overflow.
static bool isLimit(std::optional<int64_t> limit) { return !limit || llvm::isInt<57>(*limit); }

LogicalResult TiledOp::verifyRegions() {
  if (!isLimit(getLower()) || !isLimit(getUpper())) return emitOpError("expected limits between -2^56 and 2^56");
  return verifyBody(getOperation());
}

int64_t TiledOp::countedElements(int64_t rows, int64_t columns) {
  int64_t count = 0;
  for (int64_t row = 0; row < rows; ++row) {
    int64_t first = getLower() ? std::clamp<int64_t>(row + *getLower(), 0, columns) : 0;
    int64_t last = getUpper() ? std::clamp<int64_t>(row + *getUpper() + 1, 0, columns) : columns;
    count += std::max<int64_t>(0, last - first);
  }
  return count;
}
