//===- ElementwiseTest.cpp - one-op kernels against the interpreter -------===//

#include "KernelCheck.h"
#include "ir/dialect/UnaryFunction.h"
#include <gtest/gtest.h>

using namespace tessera::test;
using namespace tessera;
using namespace mlir;

namespace {

/// y = op x on sizes with and without tails.
void checkUnary(const std::string &name, const std::string &element, CheckOptions options = {}) {
  for (const char *axes : {"[row: 3, col: 64]", "[row: 5, col: 7]", "[row: 1, col: 1]", "[row: 2, col: 259]"}) {
    std::string type = axes + (", " + element);
    check({{{"x", type}}, "\"row\", \"col\"", "", "col", op("%y", name + " %x : " + T(type)), {{"%y", type}}}, options);
  }
}

/// z = x op y, where y has the shape of x, one axis, or none.
void checkBinary(const std::string &name, const std::string &element, const std::string &resultElement,
                 CheckOptions options = {}) {
  std::string x = "[row: 5, col: 37], " + element, z = "[row: 5, col: 37], " + resultElement;
  for (std::string y : {"[row: 5, col: 37]", "[col: 37]", "[row: 5]", "[]"}) {
    y += ", " + element;
    for (const char *vector : {"col", "row", ""}) {
      std::string types = " : (" + T(x) + ", " + T(y) + ") -> " + T(z);
      check({{{"x", x}, {"y", y}}, "\"row\", \"col\"", "", vector, op("%z", name + " %x, %y" + types), {{"%z", z}}},
            options);
    }
  }
}

//===----------------------------------------------------------------------===//
// Elementwise
//===----------------------------------------------------------------------===//

TEST(Elementwise, UnaryFloat) {
  for (const char *name : {"neg", "exp", "tanh", "erf", "sin", "cos", "abs", "floor", "ceil", "round", "sign"})
    checkUnary(name, "f32", {.low = -5, .high = 5});
  for (const char *name : {"log", "sqrt", "rsqrt"}) checkUnary(name, "f32", {.low = 0.01, .high = 50});
  for (const char *name : {"neg", "exp", "abs", "floor", "ceil", "round", "sign"})
    checkUnary(name, "f64", {.tolerance = 1e-14});
  checkUnary("expm1", "f64", {.low = -3, .high = 3, .tolerance = 1e-14});
  checkUnary("expm1", "f64", {.low = -1e-9, .high = 1e-9, .tolerance = 1e-14});
  checkUnary("log1p", "f64", {.low = -0.9, .high = 3, .tolerance = 1e-14});
  checkUnary("log1p", "f64", {.low = -1e-9, .high = 1e-9, .tolerance = 1e-14});
}

TEST(Elementwise, EveryUnaryFunction) {
  for (const UnaryFunction &function : unaryFunctions())
    checkUnary(function.op.str(), "f32", {.low = function.sampleLow, .high = function.sampleHigh});
}

// Multiples of one half: at a tie the even integer is the nearest.
TEST(Elementwise, RoundOfHalves) {
  std::string integers = "[row: 3, col: 37], i32";
  for (std::string element : {"f32", "f64"}) {
    std::string type = "[row: 3, col: 37], " + element, scalar = "[], " + element;
    check({{{"x", integers}},
           "\"row\", \"col\"",
           "",
           "col",
           op("%whole", "cast %x : " + T(integers) + " to " + T(type)) +
               op("%half", "constant 0.5 : " + element + " -> " + T(scalar)) +
               op("%halves", "mul %whole, %half : (" + T(type) + ", " + T(scalar) + ") -> " + T(type)) +
               op("%y", "round %halves : " + T(type)),
           {{"%y", type}}});
  }
}

TEST(Elementwise, UnaryIntegerAndBoolean) {
  checkUnary("neg", "i32");
  checkUnary("abs", "i64");
  checkUnary("not", "i1");
}

TEST(Elementwise, BinaryFloat) {
  for (const char *name : {"add", "sub", "mul", "div", "max", "min", "floordiv", "mod"})
    checkBinary(name, "f32", "f32");
  checkBinary("pow", "f32", "f32", {.low = 0.1, .high = 3});
  checkBinary("add", "f64", "f64");
}

TEST(Elementwise, BinaryInteger) {
  for (const char *name : {"add", "sub", "mul", "max", "min"}) {
    checkBinary(name, "i32", "i32");
    checkBinary(name, "i64", "i64");
  }
}

TEST(Elementwise, BinaryBoolean) {
  checkBinary("and", "i1", "i1");
  checkBinary("or", "i1", "i1");
}

TEST(Elementwise, Compare) {
  for (const char *predicate : {"eq", "ne", "lt", "le", "gt", "ge"})
    for (const char *element : {"f32", "i32", "i64", "i1"})
      checkBinary(std::string("compare ") + predicate, element, "i1", {.highInteger = 3});
}

TEST(Elementwise, FloorDivAndModOfIntegers) {
  // Both signs, and powers of two and others as constant divisors.
  for (const char *element : {"i32", "i64"})
    for (const char *name : {"floordiv", "mod"}) {
      std::string type = std::string("[row: 3, col: 29], ") + element, scalar = std::string("[], ") + element;
      std::string shift = op("%c", std::string("constant 50 : ") + element + " -> " + T(scalar)) +
                          op("%one", std::string("constant 1 : ") + element + " -> " + T(scalar)) +
                          op("%a", "sub %x, %c : (" + T(type) + ", " + T(scalar) + ") -> " + T(type)) +
                          op("%b0", "sub %y, %c : (" + T(type) + ", " + T(scalar) + ") -> " + T(type)) +
                          op("%zero", std::string("constant 0 : ") + element + " -> " + T(scalar)) +
                          op("%isZero", "compare eq %b0, %zero : (" + T(type) + ", " + T(scalar) + ") -> " +
                                            T("[row: 3, col: 29], i1")) +
                          op("%b", "select %isZero, %one, %b0 : (" + T("[row: 3, col: 29], i1") + ", " + T(scalar) +
                                       ", " + T(type) + ") -> " + T(type));
      std::string types = " : (" + T(type) + ", " + T(type) + ") -> " + T(type);
      check({{{"x", type}, {"y", type}},
             "\"row\", \"col\"",
             "",
             "col",
             shift + op("%z", std::string(name) + " %a, %b" + types),
             {{"%z", type}}});
      for (const char *divisor : {"8", "-8", "7", "-7", "1", "-1"})
        check({{{"x", type}},
               "\"row\", \"col\"",
               "",
               "col",
               op("%c", std::string("constant 50 : ") + element + " -> " + T(scalar)) +
                   op("%d", std::string("constant ") + divisor + " : " + element + " -> " + T(scalar)) +
                   op("%a", "sub %x, %c : (" + T(type) + ", " + T(scalar) + ") -> " + T(type)) +
                   op("%z", std::string(name) + " %a, %d : (" + T(type) + ", " + T(scalar) + ") -> " + T(type)),
               {{"%z", type}}});
    }
}

TEST(Elementwise, Select) {
  std::string c = "[col: 37], i1", x = "[row: 5, col: 37], f32", y = "[row: 5], f32";
  check({{{"c", c}, {"x", x}, {"y", y}},
         "\"row\", \"col\"",
         "",
         "col",
         op("%z", "select %c, %x, %y : (" + T(c) + ", " + T(x) + ", " + T(y) + ") -> " + T(x)),
         {{"%z", x}}});
}

TEST(Elementwise, Cast) {
  for (const char *from : {"f32", "f64", "i32", "i64", "i1"})
    for (const char *to : {"f32", "f64", "i32", "i64", "i1"}) {
      std::string x = std::string("[col: 83], ") + from, z = std::string("[col: 83], ") + to;
      check({{{"x", x}}, "\"col\"", "", "col", op("%z", "cast %x : " + T(x) + " to " + T(z)), {{"%z", z}}},
            {.highInteger = 3});
      // Values beyond the range of i32 saturate.
      if (from[0] == 'f' && std::string(to) == "i32")
        check({{{"x", x}}, "\"col\"", "", "col", op("%z", "cast %x : " + T(x) + " to " + T(z)), {{"%z", z}}},
              {.low = -1e10, .high = 1e10});
    }
}

TEST(Elementwise, CastOfLowPrecisionTypes) {
  for (const char *low : {"bf16", "f16", "f8E4M3FN", "f8E5M2"})
    for (const char *other : {"f32", "bf16", "f16", "f8E4M3FN", "f8E5M2", "i32"})
      for (auto [from, to] : {std::pair(low, other), std::pair(other, low)})
        for (double range : {1e-3, 3.0, 4e4}) {
          std::string x = std::string("[row: 3, col: 83], ") + from, z = std::string("[row: 3, col: 83], ") + to;
          check({{{"x", x}}, "\"row\", \"col\"", "", "col", op("%z", "cast %x : " + T(x) + " to " + T(z)), {{"%z", z}}},
                {.low = -range, .high = range, .highInteger = 1000, .tolerance = 0});
        }
}

/// All values of an fp8 type, the midpoints between adjacent ones and values next to the midpoints, and values out of
/// range.
std::vector<double> everyValueAndTie(const llvm::fltSemantics &format) {
  std::vector<double> values{INFINITY, -INFINITY, NAN, 0.0, -0.0, 1e30, -1e30, 1e-30, -1e-30};
  std::vector<double> finite;
  for (unsigned bits = 0; bits < 128; ++bits)
    if (llvm::APFloat number(format, llvm::APInt(8, bits)); number.isFinite())
      finite.push_back(number.convertToDouble());
  finite.push_back(2 * finite.back() - finite[finite.size() - 2]); // where the next value would be
  for (size_t i = 0; i < finite.size(); ++i)
    for (double sign : {1.0, -1.0}) {
      values.push_back(sign * finite[i]);
      if (i == 0) continue;
      auto tie = static_cast<float>((finite[i - 1] + finite[i]) / 2);
      for (float x : {tie, std::nextafter(tie, 0.0f), std::nextafter(tie, INFINITY)}) values.push_back(sign * x);
    }
  return values;
}

TEST(Elementwise, Fp8Values) {
  for (auto [name, format] :
       {std::pair("f8E4M3FN", &llvm::APFloat::Float8E4M3FN()), std::pair("f8E5M2", &llvm::APFloat::Float8E5M2())}) {
    std::vector<double> values = everyValueAndTie(*format);
    std::string axes = "[col: " + std::to_string(values.size()) + "], ", wide = axes + "f32", narrow = axes + name;
    KernelText text{{{"x", wide}},
                    "\"col\"",
                    "",
                    "col",
                    op("%y", "cast %x : " + T(wide) + " to " + T(narrow)) +
                        op("%z", "cast %y : " + T(narrow) + " to " + T(wide)),
                    {{"%y", narrow}, {"%z", wide}}};
    for (const char *march : {"native", "x86-64-v3"}) {
      LoadedKernels loaded(text.str(), march);
      ASSERT_EQ(loaded.errors, "");
      TensorValue x(tensorType(loaded.kernel().op.getOperand(0)));
      x.data.assign(values.begin(), values.end());
      Type type = tensorType(loaded.kernel().op.getResult(0)).getElementType();
      std::vector<TensorValue> results = loaded.run(loaded.kernel(), {x}, 1, {});
      for (const TensorValue &result : results)
        for (size_t i = 0; i < values.size(); ++i) {
          double expected = roundTo(values[i], type), got = result.data[i];
          ASSERT_TRUE(std::isnan(expected) ? std::isnan(got)
                                           : expected == got && std::signbit(expected) == std::signbit(got))
              << values[i] << " became " << got << ", expected " << expected << " on " << march;
        }
    }
  }
}

TEST(Elementwise, TransposedOperand) {
  std::string x = "[row: 19, col: 37], f32", y = "[col: 37, row: 19], f32";
  for (const char *vector : {"row", "col"})
    check({{{"x", x}, {"y", y}},
           "\"row\", \"col\"",
           "",
           vector,
           op("%z", "add %x, %y : (" + T(x) + ", " + T(y) + ") -> " + T(x)),
           {{"%z", x}}});
  check({{{"y", y}}, "\"row\", \"col\"", "", "col", op("%z", "reorder %y : " + T(y) + " -> " + T(x)), {{"%z", x}}});
}

TEST(Elementwise, ResultInTheStorageOfAnOperand) {
  std::string x = "[row: 5, col: 37], f32";
  check({{{"x", x}, {"y", x}},
         "\"row\", \"col\"",
         "",
         "col",
         op("%a", "mul %x, %y : (" + T(x) + ", " + T(x) + ") -> " + T(x)) +
             op("%b", "add %x, %y : (" + T(x) + ", " + T(x) + ") -> " + T(x)),
         {{"%a", x}, {"%b", x}}},
        {.inPlace = {1, 0}});
}

TEST(Elementwise, EqualKernelsAreEmittedOnce) {
  std::string x = "[row: 5, col: 37], f32", y = "[row: 5, col: 38], f32";
  auto text = [](const std::string &type, const std::string &name) {
    return KernelText{
        {{"x", type}}, "\"row\", \"col\"", "", "col", op("%y", "exp %x {tsr.name = \"" + name + "\"} : " + T(type)),
        {{"%y", type}}}
        .str(name);
  };
  LoadedKernels loaded(text(x, "a") + text(x, "b") + text(y, "c"));
  ASSERT_EQ(loaded.errors, "");
  EXPECT_EQ(loaded.kernel(0).interface.name, loaded.kernel(1).interface.name);
  EXPECT_NE(loaded.kernel(0).interface.name, loaded.kernel(2).interface.name);
}

TEST(Elementwise, CodeIsDeterministic) {
  std::string x = "[row: 5, col: 37], f32";
  std::string text =
      KernelText{{{"x", x}}, "\"row\", \"col\"", "", "col", op("%y", "erf %x : " + T(x)), {{"%y", x}}}.str();
  EXPECT_EQ(LoadedKernels(text).llvmText, LoadedKernels(text).llvmText);
}

} // namespace
