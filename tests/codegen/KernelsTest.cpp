//===- KernelsTest.cpp - generated kernels against the interpreter --------===//

#include "KernelHarness.h"
#include <cmath>
#include <gtest/gtest.h>

using namespace mlir;
using namespace tessera;
using namespace tessera::test;

namespace {

/// A named value or a named type of a kernel under test.
using Names = std::vector<std::pair<std::string, std::string>>;

/// A function with one kernel. Types are written as `[row: 4, col: 17], f32`.
struct KernelText {
  Names arguments; ///< name, type
  std::string parallel, serial, vector, body;
  Names results; ///< value, type

  std::string str(const std::string &name = "k") const {
    std::string out = "func.func @" + name + "(", bindings, outer, types, values;
    auto comma = [](const std::string &s) { return s.empty() ? "" : ", "; };
    for (auto &[argument, type] : arguments) {
      std::string full = "!tsr.tensor<" + type + ">";
      outer += comma(outer) + ("%o_" + argument) + ": " + full;
      bindings += comma(bindings) + ("%" + argument) + " = %o_" + argument + " : " + full;
    }
    for (auto &[value, type] : results) {
      types += comma(types) + ("!tsr.tensor<" + type + ">");
      values += comma(values) + value;
    }
    std::string count = results.size() == 1 ? "" : ":" + std::to_string(results.size());
    std::string returned = count.empty() ? "%k" : "";
    for (size_t i = 0; i < results.size() && !count.empty(); ++i) returned += comma(returned) + ("%k#" + std::to_string(i));
    out += outer + ") -> (" + types + ") {\n  %k" + count + " = tsr.kernel \"" + name + "\" (" + bindings + ") parallel [" + parallel +
           "] serial [" + serial + "]" + (vector.empty() ? "" : " vector \"" + vector + "\"") + " -> (" + types + ") {\n" + body +
           "\n    tsr.yield " + values + " : " + types + "\n  }\n  return " + returned + " : " + types + "\n}\n";
    return out;
  }
};

struct CheckOptions {
  double low = -2, high = 2;
  int64_t highInteger = 100;
  double tolerance = 4e-6; ///< relative to the largest number of the tensor
  bool inPlace = false;
};

bool agrees(double a, double b, double bound) { return a == b || (std::isnan(a) && std::isnan(b)) || std::abs(a - b) <= bound; }

void compare(const TensorValue &got, const TensorValue &expected, double tolerance, const std::string &what) {
  double largest = 0;
  for (double x : expected.data)
    if (std::isfinite(x)) largest = std::max(largest, std::abs(x));
  if (isa<IntegerType>(expected.type.getElementType())) tolerance = 0;
  ASSERT_EQ(got.data.size(), expected.data.size());
  for (size_t i = 0; i < got.data.size(); ++i)
    ASSERT_TRUE(agrees(got.data[i], expected.data[i], tolerance * largest)) << what << ": element " << i << " is " << got.data[i] << ", expected " << expected.data[i];
}

/// Runs the kernel on both vector widths, whole and in pieces, and compares with the interpreter.
void check(const KernelText &text, CheckOptions options = {}) {
  for (const char *march : {"native", "x86-64-v3"}) {
    LoadedKernels loaded(text.str(), march);
    ASSERT_EQ(loaded.errors, "") << text.str();
    ASSERT_EQ(loaded.kernels.size(), 1u) << text.str();
    LoadedKernels::Kernel &kernel = loaded.kernel();
    std::mt19937 random(7);
    std::vector<TensorValue> arguments;
    for (Value operand : kernel.op.getOperands())
      arguments.push_back(randomTensor(tensorType(operand), random, options.low, options.high, options.highInteger));
    Interpreter interpreter(Rounding::Types);
    auto expected = interpreter.runBlock(kernel.op.getBlock(), arguments);
    ASSERT_TRUE(succeeded(expected));
    for (int pieces : {1, 3}) {
      auto results = loaded.run(kernel, arguments, pieces, options.inPlace ? ArrayRef<int>{0} : ArrayRef<int>{});
      ASSERT_EQ(loaded.errors, "") << text.str();
      for (size_t i = 0; i < results.size(); ++i)
        compare(results[i], (*expected)[i], options.tolerance, text.str() + march + ", " + std::to_string(pieces) + " pieces");
    }
  }
}

std::string op(const std::string &result, const std::string &text) { return "    " + result + " = tsr." + text + "\n"; }
std::string T(const std::string &type) { return "!tsr.tensor<" + type + ">"; }

/// y = op x on sizes with and without tails.
void checkUnary(const std::string &name, const std::string &element, CheckOptions options = {}) {
  for (const char *axes : {"[row: 3, col: 64]", "[row: 5, col: 7]", "[row: 1, col: 1]", "[row: 2, col: 259]"}) {
    std::string type = axes + (", " + element);
    check({{{"x", type}}, "\"row\", \"col\"", "", "col", op("%y", name + " %x : " + T(type)), {{"%y", type}}}, options);
  }
}

/// z = x op y, with y of the same shape, of one axis, and a scalar.
void checkBinary(const std::string &name, const std::string &element, const std::string &resultElement, CheckOptions options = {}) {
  std::string x = "[row: 5, col: 37], " + element, z = "[row: 5, col: 37], " + resultElement;
  for (std::string y : {"[row: 5, col: 37]", "[col: 37]", "[row: 5]", "[]"}) {
    y += ", " + element;
    for (const char *vector : {"col", "row", ""}) {
      std::string types = " : (" + T(x) + ", " + T(y) + ") -> " + T(z);
      check({{{"x", x}, {"y", y}}, "\"row\", \"col\"", "", vector, op("%z", name + " %x, %y" + types), {{"%z", z}}}, options);
    }
  }
}

//===----------------------------------------------------------------------===//
// Elementwise
//===----------------------------------------------------------------------===//

TEST(Kernels, UnaryFloat) {
  for (const char *name : {"neg", "exp", "tanh", "erf", "sin", "cos", "abs", "floor", "ceil", "sign"}) checkUnary(name, "f32", {.low = -5, .high = 5});
  for (const char *name : {"log", "sqrt", "rsqrt"}) checkUnary(name, "f32", {.low = 0.01, .high = 50});
  for (const char *name : {"neg", "exp", "abs", "floor", "ceil", "sign"}) checkUnary(name, "f64", {.tolerance = 1e-14});
}

TEST(Kernels, UnaryIntegerAndBoolean) {
  checkUnary("neg", "i32");
  checkUnary("abs", "i64");
  checkUnary("not", "i1");
}

TEST(Kernels, BinaryFloat) {
  for (const char *name : {"add", "sub", "mul", "div", "max", "min", "floordiv", "mod"}) checkBinary(name, "f32", "f32");
  checkBinary("pow", "f32", "f32", {.low = 0.1, .high = 3});
  checkBinary("add", "f64", "f64");
}

TEST(Kernels, BinaryInteger) {
  for (const char *name : {"add", "sub", "mul", "max", "min"}) {
    checkBinary(name, "i32", "i32");
    checkBinary(name, "i64", "i64");
  }
}

TEST(Kernels, BinaryBoolean) {
  checkBinary("and", "i1", "i1");
  checkBinary("or", "i1", "i1");
}

TEST(Kernels, Compare) {
  for (const char *predicate : {"eq", "ne", "lt", "le", "gt", "ge"})
    for (const char *element : {"f32", "i32", "i64", "i1"}) checkBinary(std::string("compare ") + predicate, element, "i1", {.highInteger = 3});
}

} // namespace
