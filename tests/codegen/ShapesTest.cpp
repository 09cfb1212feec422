//===- ShapesTest.cpp - kernels with reductions, in every shape -----------===//
//
// Reductions along contiguous rows, along columns, and of all elements; several sweeps; sizes below, at and between
// multiples of the vectors.
//
//===----------------------------------------------------------------------===//

#include "KernelCheck.h"
#include <gtest/gtest.h>

using namespace tessera::test;

namespace {

std::string matrix(int rows, int cols, const char *element = "f32") {
  return "[row: " + std::to_string(rows) + ", col: " + std::to_string(cols) + "], " + element;
}
std::string vectorOf(const char *axis, int size, const char *element = "f32") {
  return std::string("[") + axis + ": " + std::to_string(size) + "], " + element;
}
std::string binary(const char *name, const std::string &a, const std::string &ta, const std::string &b,
                   const std::string &tb, const std::string &t) {
  return std::string(name) + " " + a + ", " + b + " : (" + T(ta) + ", " + T(tb) + ") -> " + T(t);
}
std::string reduce(const char *kind, const std::string &x, const std::string &over, const std::string &from,
                   const std::string &to) {
  return std::string("reduce ") + kind + " " + x + " over [" + over + "] : " + T(from) + " -> " + T(to);
}

TEST(Shapes, ReduceRowsAndColumns) {
  for (int cols : {1, 3, 16, 17, 64, 65, 131, 200})
    for (const char *kind : {"sum", "max", "min"}) {
      std::string x = matrix(7, cols);
      for (const char *vector : {"row", "col", ""}) {
        check({{{"x", x}},
               "\"row\"",
               "\"col\"",
               vector,
               op("%y", reduce(kind, "%x", "\"col\"", x, vectorOf("row", 7))),
               {{"%y", vectorOf("row", 7)}}});
        check({{{"x", x}},
               "\"col\"",
               "\"row\"",
               vector,
               op("%y", reduce(kind, "%x", "\"row\"", x, vectorOf("col", cols))),
               {{"%y", vectorOf("col", cols)}}});
      }
    }
}

/// Allocated sizes are strides and nothing else: what is between the rows is NaN, and no result depends on it.
TEST(Shapes, RowsWithGaps) {
  std::string dense = matrix(7, 77), row = vectorOf("row", 7), col = vectorOf("col", 77);
  for (int allocated : {77, 78, 80, 88}) {
    std::string axes = "[row: 7, col: 77 of " + std::to_string(allocated) + "], ", x = axes + "f32",
                low = axes + "bf16";
    std::string widened = op("%w", "cast %x : " + T(low) + " to " + T(x));
    for (const char *kind : {"sum", "max"}) {
      std::string rows = op("%y", reduce(kind, "%w", "\"col\"", x, row));
      check({{{"x", low}}, "\"row\"", "\"col\"", "col", widened + rows, {{"%y", row}}});
      std::string columns = op("%y", reduce(kind, "%x", "\"row\"", x, col));
      check({{{"x", x}}, "\"col\"", "\"row\"", "col", columns, {{"%y", col}}});
    }
    // From rows with gaps to dense ones, and back.
    for (auto [from, to] : {std::pair(x, dense), std::pair(dense, x), std::pair(x, x)}) {
      std::string body = op("%y", binary("add", "%x", from, "%b", col, to));
      check({{{"x", from}, {"b", col}}, "\"row\", \"col\"", "", "col", body, {{"%y", to}}});
    }
    // In place.
    check({{{"x", x}}, "\"row\", \"col\"", "", "col", op("%y", "exp %x : " + T(x)), {{"%y", x}}}, {.inPlace = {0}});
  }
}

/// An axis between others has gaps, as a part of the heads does.
TEST(Shapes, PartsOfRows) {
  std::string part = "[row: 5, head: 2 of 6, hd: 16], f32", dense = "[row: 5, head: 2, hd: 16], f32";
  for (auto [from, to] : {std::pair(part, dense), std::pair(dense, part)})
    check({{{"x", from}},
           "\"row\", \"head\", \"hd\"",
           "",
           "hd",
           op("%y", binary("mul", "%x", from, "%x", from, to)),
           {{"%y", to}}});
  std::string merged = "[row: 5, f: 32], f32";
  check({{{"x", part}},
         "\"row\", \"f\"",
         "",
         "f",
         op("%y", "merge %x [\"head\", \"hd\"] into \"f\" : " + T(part) + " -> " + T(merged)),
         {{"%y", merged}}});
}

TEST(Shapes, ReduceIntegers) {
  for (const char *element : {"i32", "i64", "f64"})
    for (const char *kind : {"sum", "max", "min"}) {
      std::string x = matrix(5, 77, element), y = vectorOf("row", 5, element), z = vectorOf("col", 77, element);
      check({{{"x", x}}, "\"row\"", "\"col\"", "col", op("%y", reduce(kind, "%x", "\"col\"", x, y)), {{"%y", y}}});
      check({{{"x", x}}, "\"col\"", "\"row\"", "col", op("%y", reduce(kind, "%x", "\"row\"", x, z)), {{"%y", z}}});
    }
}

TEST(Shapes, ReduceToScalar) {
  for (int cols : {3, 64, 100}) {
    std::string x = matrix(9, cols);
    for (const char *vector : {"row", "col", ""})
      check({{{"x", x}},
             "",
             "\"row\", \"col\"",
             vector,
             op("%xx", binary("mul", "%x", x, "%x", x, x)) +
                 op("%y", reduce("sum", "%xx", "\"row\", \"col\"", x, "[], f32")),
             {{"%y", "[], f32"}}});
  }
}

TEST(Shapes, ReduceSeveralAxesOfFour) {
  std::string x = "[a: 3, b: 5, c: 4, d: 18], f32";
  check({{{"x", x}},
         "\"b\"",
         "\"a\", \"c\", \"d\"",
         "d",
         op("%y", reduce("sum", "%x", "\"a\", \"c\", \"d\"", x, "[b: 5], f32")),
         {{"%y", "[b: 5], f32"}}});
  check({{{"x", x}},
         "\"b\", \"d\"",
         "\"a\", \"c\"",
         "d",
         op("%y", reduce("sum", "%x", "\"a\", \"c\"", x, "[b: 5, d: 18], f32")),
         {{"%y", "[b: 5, d: 18], f32"}}});
  check({{{"x", x}},
         "\"b\", \"d\"",
         "\"a\", \"c\"",
         "d",
         op("%y", reduce("max", "%x", "\"a\", \"c\"", x, "[d: 18, b: 5], f32")),
         {{"%y", "[d: 18, b: 5], f32"}}});
}

/// softmax over `col`: three sweeps.
KernelText softmax(int rows, int cols, const char *vector) {
  std::string x = matrix(rows, cols), r = vectorOf("row", rows);
  std::string body = op("%m", reduce("max", "%x", "\"col\"", x, r)) + op("%c", binary("sub", "%x", x, "%m", r, x)) +
                     op("%e", "exp %c : " + T(x)) + op("%s", reduce("sum", "%e", "\"col\"", x, r)) +
                     op("%y", binary("div", "%e", x, "%s", r, x)) + op("%l", "log %s : " + T(r)) +
                     op("%lse", binary("add", "%l", r, "%m", r, r));
  return {{{"x", x}}, "\"row\"", "\"col\"", vector, body, {{"%y", x}, {"%lse", r}}};
}

TEST(Shapes, Softmax) {
  for (int cols : {1, 10, 64, 193})
    for (const char *vector : {"row", "col", ""}) check(softmax(6, cols, vector), {.low = -20, .high = 20});
}

TEST(Shapes, SoftmaxInPlace) { check(softmax(6, 193, "col"), {.inPlace = {0}}); }

/// Square roots of negative elements are NaN; in some rows all are.
TEST(Shapes, NaNInMaxima) {
  for (int cols : {1, 10, 193})
    for (const char *vector : {"row", "col", ""}) {
      std::string x = matrix(12, cols), r = vectorOf("row", 12);
      std::string body = op("%root", "sqrt %x : " + T(x)) + op("%m", reduce("max", "%root", "\"col\"", x, r)) +
                         op("%n", reduce("maxnum", "%root", "\"col\"", x, r));
      check({{{"x", x}}, "\"row\"", "\"col\"", vector, body, {{"%m", r}, {"%n", r}}}, {.low = -2, .high = 1});
    }
}

TEST(Shapes, LayerNormForward) {
  for (int cols : {48, 768, 77}) {
    std::string x = matrix(5, cols), r = vectorOf("row", 5), g = vectorOf("col", cols), s = "[], f32";
    std::string body =
        op("%n", "constant " + std::to_string(1.0 / cols) + " : f32 -> " + T(s)) +
        op("%eps", "constant 1.0e-5 : f32 -> " + T(s)) + op("%sum", reduce("sum", "%x", "\"col\"", x, r)) +
        op("%mean", binary("mul", "%sum", r, "%n", s, r)) + op("%d", binary("sub", "%x", x, "%mean", r, x)) +
        op("%dd", binary("mul", "%d", x, "%d", x, x)) + op("%v0", reduce("sum", "%dd", "\"col\"", x, r)) +
        op("%v1", binary("mul", "%v0", r, "%n", s, r)) + op("%v2", binary("add", "%v1", r, "%eps", s, r)) +
        op("%rstd", "rsqrt %v2 : " + T(r)) + op("%h", binary("mul", "%d", x, "%rstd", r, x)) +
        op("%hg", binary("mul", "%h", x, "%g", g, x)) + op("%y", binary("add", "%hg", x, "%b", g, x));
    for (const char *vector : {"col", "row"})
      check({{{"x", x}, {"g", g}, {"b", g}}, "\"row\"", "\"col\"", vector, body, {{"%y", x}, {"%h", x}, {"%rstd", r}}});
  }
}

TEST(Shapes, ElementResultAndReduction) {
  std::string x = matrix(9, 70), c = vectorOf("col", 70);
  for (const char *vector : {"col", "row"})
    check({{{"x", x}},
           "\"col\"",
           "\"row\"",
           vector,
           op("%e", "tanh %x : " + T(x)) + op("%s", reduce("sum", "%e", "\"row\"", x, c)),
           {{"%e", x}, {"%s", c}}});
}

TEST(Shapes, ReductionOfAValueWithOneSerialAxis) {
  std::string x = "[a: 3, b: 5, c: 20], f32", y = "[b: 5], f32";
  std::string body = op("%e", "exp %y : " + T(y)) + op("%z", binary("mul", "%x", x, "%e", y, x)) +
                     op("%w", "broadcast %e : " + T(y) + " -> " + T(x)) +
                     op("%s", reduce("sum", "%z", "\"b\", \"c\"", x, "[a: 3], f32")) +
                     op("%t", reduce("sum", "%w", "\"b\", \"c\"", x, "[a: 3], f32"));
  for (const char *vector : {"a", "b", "c"})
    check(
        {{{"x", x}, {"y", y}}, "\"a\"", "\"b\", \"c\"", vector, body, {{"%s", "[a: 3], f32"}, {"%t", "[a: 3], f32"}}});
}

} // namespace
