//===- Assembly.cpp - how ops of the dialect print and parse --------------===//

#include "ir/dialect/Assembly.h"
#include "ir/dialect/Attributes.h"
#include "llvm/ADT/APFloat.h"

using namespace mlir;
using namespace tessera;

//===----------------------------------------------------------------------===//
// Types
//===----------------------------------------------------------------------===//

namespace {
/// A name consists of the axes, each with its allocated size where that is not its size, and of the element type unless
/// it is f32. MLIR numbers types that share a name.
struct TypeAliases : OpAsmDialectInterface {
  using OpAsmDialectInterface::OpAsmDialectInterface;

  AliasResult getAlias(Type type, raw_ostream &out) const override {
    auto tensor = dyn_cast<NamedTensorType>(type);
    if (!tensor) return AliasResult::NoAlias;
    auto printAxis = [&](auto pair) {
      auto [axis, allocated] = pair;
      out << axis.getName();
      if (allocated != axis.getSize()) out << "_of_" << allocated;
    };
    llvm::interleave(llvm::zip(tensor.getAxes(), tensor.getAllocatedSizes()), out, printAxis, "_");
    if (!tensor.isScalar() && tensor.getElementType().isF32()) return AliasResult::FinalAlias;
    if (!tensor.isScalar()) out << "_";
    out << tensor.getElementType();
    return AliasResult::FinalAlias;
  }
};
} // namespace

void tessera::addTypeAliases(TsrDialect &dialect) { dialect.addInterface(std::make_unique<TypeAliases>(&dialect)); }

static ParseResult parseTensor(OpAsmParser &parser, Type &type) {
  NamedTensorType tensor;
  if (parser.parseCustomTypeWithFallback(tensor)) return failure();
  type = tensor;
  return success();
}

/// The result of an elementwise op by its operands alone: the first type that has the axes of all, with the element
/// type. Null if there is none; the canonical order of axes, which the module knows, decides then.
static NamedTensorType widest(ArrayRef<NamedTensorType> operands, Type elementType) {
  for (NamedTensorType candidate : operands)
    if (llvm::all_of(operands, [&](NamedTensorType other) {
          return llvm::all_of(other.getAxes(), [&](AxisAttr axis) { return candidate.hasAxis(axis.getName()); });
        }))
      return candidate.withElementType(elementType);
  return {};
}

/// Parses `T, … -> R` or `(T, …) -> R`. Without `-> R` the result stays null.
static ParseResult parseSignature(OpAsmParser &parser, SmallVectorImpl<NamedTensorType> &types, Type &result) {
  auto parseOne = [&]() -> ParseResult { return parser.parseCustomTypeWithFallback(types.emplace_back()); };
  if (succeeded(parser.parseOptionalLParen())) {
    if (parser.parseCommaSeparatedList(parseOne) || parser.parseRParen() || parser.parseArrow()) return failure();
    return parseTensor(parser, result);
  }
  if (parser.parseCommaSeparatedList(parseOne)) return failure();
  return succeeded(parser.parseOptionalArrow()) ? parseTensor(parser, result) : success();
}

static void printTensors(OpAsmPrinter &printer, ArrayRef<NamedTensorType> types) {
  llvm::interleaveComma(types, printer, [&](NamedTensorType type) { printer.printStrippedAttrOrType(type); });
}

static void printResultUnless(OpAsmPrinter &printer, NamedTensorType inferred, NamedTensorType result) {
  if (inferred == result) return;
  printer << " -> ";
  printer.printStrippedAttrOrType(result);
}

/// Sets the result, unless it was parsed, to what the operands make of it.
static ParseResult inferResult(OpAsmParser &parser, SMLoc loc, NamedTensorType inferred, Type &result) {
  if (result) return success();
  if (!inferred) return parser.emitError(loc, "expected `-> TYPE`: no operand has all axes of the result");
  result = inferred;
  return success();
}

static ParseResult parseTwoOperands(OpAsmParser &parser, Type &lhs, Type &rhs, Type &result, Type elementType) {
  SMLoc loc = parser.getCurrentLocation();
  SmallVector<NamedTensorType> types;
  if (parseSignature(parser, types, result)) return failure();
  if (types.size() > 2) return parser.emitError(loc, "expected the types of two operands, got ") << types.size();
  lhs = types.front(), rhs = types.back();
  return inferResult(parser, loc, widest(types, elementType ? elementType : types.back().getElementType()), result);
}

static void printTwoOperands(OpAsmPrinter &printer, NamedTensorType lhs, NamedTensorType rhs, NamedTensorType result,
                             Type elementType) {
  SmallVector<NamedTensorType> types{lhs};
  if (rhs != lhs) types.push_back(rhs);
  printTensors(printer, types);
  printResultUnless(printer, widest(types, elementType), result);
}

ParseResult tessera::parseBinaryTypes(OpAsmParser &parser, Type &lhs, Type &rhs, Type &result) {
  return parseTwoOperands(parser, lhs, rhs, result, {});
}

void tessera::printBinaryTypes(OpAsmPrinter &printer, Operation *, NamedTensorType lhs, NamedTensorType rhs,
                               NamedTensorType result) {
  printTwoOperands(printer, lhs, rhs, result, rhs.getElementType());
}

ParseResult tessera::parseCompareTypes(OpAsmParser &parser, Type &lhs, Type &rhs, Type &result) {
  return parseTwoOperands(parser, lhs, rhs, result, parser.getBuilder().getI1Type());
}

void tessera::printCompareTypes(OpAsmPrinter &printer, Operation *op, NamedTensorType lhs, NamedTensorType rhs,
                                NamedTensorType result) {
  printTwoOperands(printer, lhs, rhs, result, IntegerType::get(op->getContext(), 1));
}

ParseResult tessera::parseSelectTypes(OpAsmParser &parser, Type &condition, Type &yes, Type &no, Type &result) {
  SMLoc loc = parser.getCurrentLocation();
  SmallVector<NamedTensorType> types;
  if (parseSignature(parser, types, result)) return failure();
  if (types.size() < 2 || types.size() > 3)
    return parser.emitError(loc, "expected the types of a condition and of one or two values, got ") << types.size();
  condition = types.front(), yes = types[1], no = types.back();
  return inferResult(parser, loc, widest(types, types.back().getElementType()), result);
}

void tessera::printSelectTypes(OpAsmPrinter &printer, Operation *, NamedTensorType condition, NamedTensorType yes,
                               NamedTensorType no, NamedTensorType result) {
  SmallVector<NamedTensorType> types{condition, yes};
  if (no != yes) types.push_back(no);
  printTensors(printer, types);
  printResultUnless(printer, widest(types, no.getElementType()), result);
}

static NamedTensorType without(NamedTensorType type, ArrayAttr axes) {
  auto names = llvm::make_filter_range(axes, llvm::IsaPred<StringAttr>);
  return type.withAxes(llvm::filter_to_vector(type.getAxes(), [&](AxisAttr axis) {
    return llvm::none_of(names, [&](Attribute name) { return cast<StringAttr>(name).getValue() == axis.getName(); });
  }));
}

ParseResult tessera::parseReduceTypes(OpAsmParser &parser, ArrayAttr over, Type &x, Type &result) {
  NamedTensorType operand;
  if (parser.parseCustomTypeWithFallback(operand)) return failure();
  x = operand;
  if (succeeded(parser.parseOptionalArrow())) return parseTensor(parser, result);
  result = without(operand, over);
  return success();
}

void tessera::printReduceTypes(OpAsmPrinter &printer, Operation *, ArrayAttr over, NamedTensorType x,
                               NamedTensorType result) {
  printer.printStrippedAttrOrType(x);
  printResultUnless(printer, without(x, over), result);
}

//===----------------------------------------------------------------------===//
// Names
//===----------------------------------------------------------------------===//

ParseResult tessera::parseName(OpAsmParser &parser, StringAttr &name) {
  std::string text;
  if (parser.parseKeywordOrString(&text)) return failure();
  name = parser.getBuilder().getStringAttr(text);
  return success();
}

void tessera::printName(OpAsmPrinter &printer, Operation *, StringAttr name) { printer.printKeywordOrString(name); }

ParseResult tessera::parseNames(OpAsmParser &parser, ArrayAttr &names) {
  SmallVector<Attribute> list;
  auto parseOne = [&]() -> ParseResult {
    StringAttr name;
    if (parseName(parser, name)) return failure();
    list.push_back(name);
    return success();
  };
  if (parser.parseCommaSeparatedList(AsmParser::Delimiter::Square, parseOne)) return failure();
  names = parser.getBuilder().getArrayAttr(list);
  return success();
}

void tessera::printNames(OpAsmPrinter &printer, Operation *, ArrayAttr names) {
  printer << "[";
  llvm::interleaveComma(names.getAsRange<StringAttr>(), printer,
                        [&](StringAttr name) { printer.printKeywordOrString(name); });
  printer << "]";
}

ParseResult tessera::parseFlags(OpAsmParser &parser, ArrayAttr &flags) {
  SmallVector<StringRef> keywords;
  for (StringRef keyword; succeeded(parser.parseOptionalKeyword(&keyword));) keywords.push_back(keyword);
  if (!keywords.empty()) flags = parser.getBuilder().getStrArrayAttr(keywords);
  return success();
}

void tessera::printFlags(OpAsmPrinter &printer, Operation *, ArrayAttr flags) {
  if (!flags) return;
  for (StringRef flag : flags.getAsValueRange<StringAttr>()) printer << " " << flag;
}

ParseResult tessera::parseRuleArguments(OpAsmParser &parser, ArrayAttr &names) {
  if (failed(parser.parseOptionalKeyword("hypers")) && parser.parseKeyword("arguments")) return failure();
  return parseNames(parser, names);
}

void tessera::printRuleArguments(OpAsmPrinter &printer, Operation *op, ArrayAttr names) {
  printer << "arguments ";
  printNames(printer, op, names);
}

//===----------------------------------------------------------------------===//
// Notes
//===----------------------------------------------------------------------===//

ParseResult tessera::parsePlaces(OpAsmParser &parser, ArrayAttr &places) {
  SmallVector<Attribute> list;
  auto parsePlace = [&]() -> ParseResult {
    PlaceAttr place;
    if (parser.parseCustomAttributeWithFallback(place)) return failure();
    list.push_back(place);
    return success();
  };
  if (parser.parseCommaSeparatedList(parsePlace)) return failure();
  places = parser.getBuilder().getArrayAttr(list);
  return success();
}

bool tessera::arePlaces(Attribute attribute) {
  auto list = dyn_cast_or_null<ArrayAttr>(attribute);
  return list && !list.empty() && llvm::all_of(list, llvm::IsaPred<PlaceAttr>);
}

void tessera::printPlaces(OpAsmPrinter &printer, ArrayAttr places) {
  llvm::interleaveComma(places.getAsRange<PlaceAttr>(), printer,
                        [&](PlaceAttr place) { printer.printStrippedAttrOrType(place); });
}

/// The values of `tsr.pass`, which are keywords in the text.
static constexpr StringRef stepPasses[] = {"backward", "optimizer"};

static bool isStepPass(Attribute attribute) {
  auto pass = dyn_cast<StringAttr>(attribute);
  return pass && llvm::is_contained(stepPasses, pass.getValue());
}

/// `as "name"`, `backward` or `optimizer`, and `at <place>, …`.
static ParseResult parseShortNotes(OpAsmParser &parser, NamedAttrList &attributes) {
  if (succeeded(parser.parseOptionalKeyword("as"))) {
    std::string name; // no attribute: that would take the colon of the types for its own
    if (parser.parseString(&name)) return failure();
    attributes.set(attrs::name, parser.getBuilder().getStringAttr(name));
  }
  StringRef pass;
  if (succeeded(parser.parseOptionalKeyword(&pass, stepPasses)))
    attributes.set(attrs::pass, parser.getBuilder().getStringAttr(pass));
  if (failed(parser.parseOptionalKeyword("at"))) return success();
  ArrayAttr places;
  if (parsePlaces(parser, places)) return failure();
  attributes.set(attrs::places, places);
  return success();
}

/// Prints what has a short form, and returns the other attributes.
static SmallVector<NamedAttribute> printShortNotes(OpAsmPrinter &printer, ArrayRef<NamedAttribute> attributes) {
  SmallVector<NamedAttribute> rest;
  StringAttr pass;
  ArrayAttr places;
  for (NamedAttribute attribute : attributes) {
    if (attribute.getName() == attrs::name && isa<StringAttr>(attribute.getValue()))
      printer << " as " << attribute.getValue();
    else if (attribute.getName() == attrs::pass && isStepPass(attribute.getValue()))
      pass = cast<StringAttr>(attribute.getValue());
    else if (attribute.getName() == attrs::places && arePlaces(attribute.getValue()))
      places = cast<ArrayAttr>(attribute.getValue());
    else
      rest.push_back(attribute);
  }
  if (pass) printer << " " << pass.getValue();
  if (!places) return rest;
  printer << " at ";
  printPlaces(printer, places);
  return rest;
}

/// Gives attributes of dumps of earlier versions their present names.
static void renameEarlier(NamedAttrList &attributes) {
  for (auto [earlier, name] : {std::pair(StringLiteral("tsr.keep"), attrs::precision),
                               std::pair(StringLiteral("tsr.launch"), attrs::fusionGroup)})
    if (Attribute value = attributes.erase(earlier)) attributes.set(name, value);
}

ParseResult tessera::parseNotes(OpAsmParser &parser, NamedAttrList &attributes) {
  if (parseShortNotes(parser, attributes) || parser.parseOptionalAttrDict(attributes)) return failure();
  renameEarlier(attributes);
  return success();
}

void tessera::printNotes(OpAsmPrinter &printer, Operation *op, DictionaryAttr) {
  printer.printOptionalAttrDict(printShortNotes(printer, op->getDiscardableAttrDictionary().getValue()));
}

ParseResult tessera::parseNotesBeforeRegion(OpAsmParser &parser, NamedAttrList &attributes) {
  if (parseShortNotes(parser, attributes) || parser.parseOptionalAttrDictWithKeyword(attributes)) return failure();
  renameEarlier(attributes);
  return success();
}

void tessera::printNotesBeforeRegion(OpAsmPrinter &printer, Operation *, ArrayRef<NamedAttribute> attributes) {
  printer.printOptionalAttrDictWithKeyword(printShortNotes(printer, attributes));
}

//===----------------------------------------------------------------------===//
// Constants
//===----------------------------------------------------------------------===//

/// A literal of MLIR is read as a double, which is then rounded to the type.
static APFloat fromDouble(double value, const llvm::fltSemantics &semantics) {
  APFloat result(value);
  bool losesInfo;
  result.convert(semantics, APFloat::rmNearestTiesToEven, &losesInfo);
  return result;
}

static std::string floatLiteral(const APFloat &value) {
  if (!value.isFinite()) return "";
  for (int digits = 1; digits <= 17; ++digits) {
    char text[32];
    std::snprintf(text, sizeof text, "%.*g", digits, value.convertToDouble());
    if (!fromDouble(std::strtod(text, nullptr), value.getSemantics()).bitwiseIsEqual(value)) continue;
    // MLIR's literals have a point, and `%g` leaves it out of whole numbers.
    auto [mantissa, exponent] = StringRef(text).split('e');
    std::string result = mantissa.str() + (mantissa.contains('.') ? "" : ".0");
    return exponent.empty() ? result : result + "e" + exponent.str();
  }
  return "";
}

std::string tessera::literal(Attribute value) {
  if (auto number = dyn_cast<FloatAttr>(value)) return isFp8(number.getType()) ? "" : floatLiteral(number.getValue());
  auto number = dyn_cast<IntegerAttr>(value);
  if (!number || !number.getType().isSignlessInteger()) return "";
  if (number.getType().isInteger(1)) return number.getValue().isZero() ? "false" : "true";
  return std::to_string(number.getInt());
}

std::string tessera::constantName(Attribute value) {
  if (std::string text = literal(value); !text.empty()) return "c" + text;
  auto number = dyn_cast<FloatAttr>(value);
  if (!number || number.getValue().isFinite()) return "c";
  if (number.getValue().isNaN()) return "cnan";
  return number.getValue().isNegative() ? "c-inf" : "cinf";
}

/// The type of a constant without `-> T`: a scalar of f32 or i32, which a literal alone does not say, or of i1.
static NamedTensorType scalarOf(TypedAttr value, llvm::function_ref<InFlightDiagnostic()> emitError) {
  Type type = value.getType();
  if (type.isF64()) type = Float32Type::get(value.getContext());
  if (type.isInteger(64)) type = IntegerType::get(value.getContext(), 32);
  return NamedTensorType::getChecked(emitError, value.getContext(), ArrayRef<AxisAttr>(), type);
}

/// Gives a literal without a type of its own, read as f64 or i64, the element type. Leaves others to the verifier.
static TypedAttr withType(TypedAttr value, Type elementType) {
  if (value.getType() == elementType) return value;
  if (auto number = dyn_cast<FloatAttr>(value); number && number.getType().isF64() && isa<FloatType>(elementType))
    return FloatAttr::get(elementType,
                          fromDouble(number.getValueAsDouble(), cast<FloatType>(elementType).getFloatSemantics()));
  if (auto number = dyn_cast<IntegerAttr>(value);
      number && number.getType().isInteger(64) && elementType.isInteger(32) && llvm::isInt<32>(number.getInt()))
    return IntegerAttr::get(elementType, number.getInt());
  return value;
}

ParseResult tessera::parseSplat(OpAsmParser &parser, TypedAttr &value, NamedAttrList &attributes, Type &result) {
  SMLoc loc = parser.getCurrentLocation();
  if (parser.parseAttribute(value) || parseNotes(parser, attributes)) return failure();
  NamedTensorType type;
  if (failed(parser.parseOptionalArrow()))
    type = scalarOf(value, [&] { return parser.emitError(loc); });
  else if (parser.parseCustomTypeWithFallback(type))
    return failure();
  if (!type) return failure();
  result = type;
  value = withType(value, type.getElementType());
  return success();
}

void tessera::printSplat(OpAsmPrinter &printer, Operation *op, Attribute value, DictionaryAttr attributes,
                         NamedTensorType result) {
  std::string text = literal(value);
  text.empty() ? printer << value : printer << text;
  printNotes(printer, op, attributes);
  Type type = result.getElementType();
  if (result.isScalar() && (type.isF32() || type.isInteger(32) || type.isInteger(1))) return;
  printer << " -> ";
  printer.printStrippedAttrOrType(result);
}
