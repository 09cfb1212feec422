//===- DeviceValue.cpp - values with units, as text -----------------------===//

#include "ir/program/DeviceValue.h"
#include "llvm/ADT/ArrayRef.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringExtras.h"
#include <charconv>
#include <limits>

using namespace tessera;
using llvm::ArrayRef;
using llvm::StringRef;

namespace {
/// A name of a unit: 10^tens * 2^twos of the base unit.
struct UnitName {
  llvm::StringLiteral text;
  int tens, twos = 0;
};

/// 0.25e-3 as 25 and the power of ten of its last digit, -5. Zero has no digits.
struct Decimal {
  std::string digits;
  int exponent = 0;
};
} // namespace

/// Largest first.
static ArrayRef<UnitName> namesOf(DeviceUnit unit) {
  static constexpr UnitName none[] = {{"", 0}},
                            bytes[] = {{"TiB", 0, 40}, {"TB", 12},     {"GiB", 0, 30}, {"GB", 9}, {"MiB", 0, 20},
                                       {"MB", 6},      {"KiB", 0, 10}, {"KB", 3},      {"B", 0}},
                            bandwidth[] = {{"TB/s", 12}, {"GB/s", 9}, {"MB/s", 6}},
                            rate[] = {{"PFLOP/s", 15}, {"TFLOP/s", 12}, {"GFLOP/s", 9}, {"MFLOP/s", 6}},
                            time[] = {{"s", 0}, {"ms", -3}, {"us", -6}, {"ns", -9}},
                            frequency[] = {{"GHz", 9}, {"MHz", 6}}, percent[] = {{"%", 0}}, price[] = {{"USD/h", 0}};
  switch (unit) {
  case DeviceUnit::None:
    return none;
  case DeviceUnit::Bytes:
    return bytes;
  case DeviceUnit::Bandwidth:
    return bandwidth;
  case DeviceUnit::Rate:
    return rate;
  case DeviceUnit::Time:
    return time;
  case DeviceUnit::Frequency:
    return frequency;
  case DeviceUnit::Percent:
    return percent;
  case DeviceUnit::Price:
    return price;
  }
  return none;
}

std::string tessera::unitNames(DeviceUnit unit) {
  return llvm::join(llvm::map_range(llvm::reverse(namesOf(unit)), [](const UnitName &name) { return name.text; }),
                    ", ");
}

//===----------------------------------------------------------------------===//
// From text
//===----------------------------------------------------------------------===//

/// Numbers of more digits, or of a larger exponent, are not read.
static constexpr size_t mostDigits = 40;
static constexpr int mostExponent = 400;

static StringRef takeDigits(StringRef &text) {
  StringRef digits = text.take_while(llvm::isDigit);
  text = text.drop_front(digits.size());
  return digits;
}

/// Takes `e-12` from the front; the exponent is 0 where there is none.
static bool takeExponent(StringRef &text, int &exponent) {
  exponent = 0;
  if (!text.starts_with_insensitive("e")) return true;
  StringRef rest = text.drop_front();
  bool isNegative = rest.consume_front("-");
  if (!isNegative) rest.consume_front("+");
  StringRef digits = takeDigits(rest);
  if (digits.empty() || digits.size() > 3) return false;
  digits.getAsInteger(10, exponent);
  if (isNegative) exponent = -exponent;
  text = rest;
  return std::abs(exponent) <= mostExponent;
}

/// Takes a number without a sign from the front.
static std::optional<Decimal> takeDecimal(StringRef &text) {
  StringRef rest = text, whole = takeDigits(rest), fraction;
  if (whole.empty()) return std::nullopt;
  if (rest.consume_front(".") && (fraction = takeDigits(rest)).empty()) return std::nullopt;
  Decimal result;
  if (!takeExponent(rest, result.exponent)) return std::nullopt;
  std::string digits = (whole + fraction).str();
  StringRef shown = StringRef(digits).ltrim('0'), kept = shown.rtrim('0');
  if (kept.size() > mostDigits) return std::nullopt;
  result.exponent += static_cast<int>(shown.size() - kept.size()) - static_cast<int>(fraction.size());
  result.digits = kept.str();
  text = rest;
  return result;
}

/// A number and the name of its unit. Else says in `problem` what is wrong.
static std::optional<std::pair<Decimal, UnitName>> parseParts(StringRef text, DeviceUnit unit, TextProblem &problem) {
  std::string names = unitNames(unit);
  std::string expected = names.empty() ? "expected a number without a unit" : "expected a number and a unit, " + names;
  StringRef rest = text;
  std::optional<Decimal> number = takeDecimal(rest);
  if (!number) {
    problem = {0, expected + ", got `" + text.str() + "`"};
    return std::nullopt;
  }
  StringRef written = rest.trim(" \t");
  for (const UnitName &name : namesOf(unit))
    if (written == name.text) return std::pair(*number, name);
  size_t offset = text.size() - rest.ltrim(" \t").size();
  problem = {written.empty() ? 0 : offset, expected + ", got `" + text.str() + "`"};
  return std::nullopt;
}

/// digits * 10^exponent * 2^twos, if that is a whole number of 63 bits.
static std::optional<int64_t> toWhole(const Decimal &number, int exponent, int twos) {
  if (number.digits.empty()) return 0;
  uint64_t digits;
  if (number.digits.size() > 18 || StringRef(number.digits).getAsInteger(10, digits)) return std::nullopt;
  __int128 value = static_cast<__int128>(digits) << twos; // below 10^18 * 2^40
  for (; exponent < 0 && value % 10 == 0; ++exponent) value /= 10;
  for (; exponent > 0 && value <= std::numeric_limits<int64_t>::max(); --exponent) value *= 10;
  if (exponent != 0 || value > std::numeric_limits<int64_t>::max()) return std::nullopt;
  return static_cast<int64_t>(value);
}

std::optional<int64_t> tessera::parseWhole(StringRef text, DeviceUnit unit, TextProblem &problem) {
  auto parts = parseParts(text, unit, problem);
  if (!parts) return std::nullopt;
  auto &[number, name] = *parts;
  std::optional<int64_t> value = toWhole(number, number.exponent + name.tens, name.twos);
  if (!value) {
    StringRef kind = unit == DeviceUnit::Bytes ? "of bytes " : "";
    problem = {0, ("expected a whole number " + kind + "below 2^63, got `" + text + "`").str()};
  }
  return value;
}

std::optional<double> tessera::parseReal(StringRef text, DeviceUnit unit, TextProblem &problem) {
  auto parts = parseParts(text, unit, problem);
  if (!parts) return std::nullopt;
  auto &[number, name] = *parts;
  if (number.digits.empty()) return 0.0;
  std::string scaled = number.digits + "e" + std::to_string(number.exponent + name.tens);
  double value = 0;
  auto [end, error] = std::from_chars(scaled.data(), scaled.data() + scaled.size(), value);
  if (error == std::errc() && end == scaled.data() + scaled.size()) return value;
  problem = {0, "expected a number that a 64-bit float holds, got `" + text.str() + "`"};
  return std::nullopt;
}

//===----------------------------------------------------------------------===//
// To text
//===----------------------------------------------------------------------===//

static std::string withUnit(const std::string &number, StringRef name) {
  return name.empty() ? number : number + " " + name.str();
}

std::string tessera::formatWhole(int64_t value, DeviceUnit unit) {
  const UnitName *best = &namesOf(unit).back();
  int64_t least = value;
  for (const UnitName &name : namesOf(unit)) {
    std::optional<int64_t> factor = toWhole({"1", 0}, name.tens, name.twos);
    if (value != 0 && value % *factor == 0 && value / *factor < least) best = &name, least = value / *factor;
  }
  return withUnit(std::to_string(least), best->text);
}

/// The shortest decimal that reads as the value.
static Decimal shortest(double value) {
  char text[40];
  auto [end, error] = std::to_chars(std::begin(text), std::end(text), value, std::chars_format::scientific);
  StringRef written(text, error == std::errc() ? end - text : 0);
  return takeDecimal(written).value_or(Decimal());
}

/// The decimal without an exponent, unless that took many zeros.
static std::string plain(const Decimal &number, int exponent) {
  int count = static_cast<int>(number.digits.size()), point = count + exponent; // digits before the point
  if (point > 18 || point < -5) {
    std::string fraction = count > 1 ? "." + number.digits.substr(1) : "";
    return number.digits.substr(0, 1) + fraction + "e" + std::to_string(point - 1);
  }
  if (exponent >= 0) return number.digits + std::string(exponent, '0');
  if (point <= 0) return "0." + std::string(-point, '0') + number.digits;
  return number.digits.substr(0, point) + "." + number.digits.substr(point);
}

std::string tessera::formatReal(double value, DeviceUnit unit) {
  Decimal number = shortest(value);
  ArrayRef<UnitName> names = namesOf(unit);
  if (number.digits.empty()) return withUnit("0", names.back().text);
  int magnitude = static_cast<int>(number.digits.size()) + number.exponent - 1; // of the first digit
  const UnitName *name = llvm::find_if(names, [&](const UnitName &one) { return one.tens <= magnitude; });
  if (name == names.end()) --name;
  return withUnit(plain(number, number.exponent - name->tens), name->text);
}
