//===- ElementwiseTest.cpp - one-op kernels against the interpreter -------===//

#include "KernelCheck.h"
#include <gtest/gtest.h>

using namespace tessera::test;

namespace {

/// y = op x on sizes with and without tails.
void checkUnary(const std::string &name, const std::string &element, CheckOptions options = {}) {
  for (const char *axes : {"[row: 3, col: 64]", "[row: 5, col: 7]", "[row: 1, col: 1]", "[row: 2, col: 259]"}) {
    std::string type = axes + (", " + element);
    check({{{"x", type}}, "\"row\", \"col\"", "", "col", op("%y", name + " %x : " + T(type)), {{"%y", type}}}, options);
  }
}

/// z = x op y, with y of the same shape, of one axis, and a scalar.
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
  for (const char *name : {"neg", "exp", "tanh", "erf", "sin", "cos", "abs", "floor", "ceil", "sign"})
    checkUnary(name, "f32", {.low = -5, .high = 5});
  for (const char *name : {"log", "sqrt", "rsqrt"}) checkUnary(name, "f32", {.low = 0.01, .high = 50});
  for (const char *name : {"neg", "exp", "abs", "floor", "ceil", "sign"}) checkUnary(name, "f64", {.tolerance = 1e-14});
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

TEST(Elementwise, ResultTakesTheStorageOfAnOperand) {
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
