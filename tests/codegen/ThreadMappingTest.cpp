//===- ThreadMappingTest.cpp - vectors, tails, batches and runs -----------===//
//
// Kernels whose mapping to threads is special: rows that are not whole vectors, several points for a thread, columns
// that share a thread, and scatters in which many updates have one position.
//
//===----------------------------------------------------------------------===//

#include "KernelCheck.h"
#include <cstring>
#include <gtest/gtest.h>

using namespace tessera;
using namespace tessera::test;

namespace {

std::string matrix(int rows, int cols, const std::string &element) {
  return "[row: " + std::to_string(rows) + ", col: " + std::to_string(cols) + "], " + element;
}
std::string line(const char *axis, int size, const std::string &element) {
  return "[" + std::string(axis) + ": " + std::to_string(size) + "], " + element;
}
std::string binary(const char *name, const std::string &a, const std::string &b, const std::string &types,
                   const std::string &result) {
  return std::string(name) + " " + a + ", " + b + " : (" + types + ") -> " + T(result);
}

/// The text of a kernel for a device on which small kernels get the mappings of large ones.
std::string textForSmallDevice(LoadedKernels &loaded) {
  for (LoadedKernels::Kernel &kernel : loaded.kernels)
    if (kernel.symbol().ends_with("_small")) return kernel.emulated->source;
  return "";
}

/// Whether all vectors are loaded before the first one is stored.
bool loadsFirst(const std::string &text) {
  size_t load = text.rfind("tsr::load"), store = text.find("tsr::store");
  return load != std::string::npos && store != std::string::npos && load < store;
}

std::string cast(const std::string &x, const std::string &from, const std::string &to) {
  return "cast " + x + " : <" + from + "> to <" + to + ">";
}

/// `y = x + z`, computed in f32, where y may have the storage of x or z.
KernelText elementwise(int size, const std::string &element) {
  std::string n = line("n", size, element), f = line("n", size, "f32"), types = T(f) + ", " + T(f);
  if (n == f)
    return {{{"x", n}, {"z", n}}, "\"n\"", "", "n", op("%y", binary("add", "%x", "%z", types, f)), {{"%y", n}}};
  return {{{"x", n}, {"z", n}},
          "\"n\"",
          "",
          "n",
          op("%a", cast("%x", n, f)) + op("%b", cast("%z", n, f)) + op("%s", binary("add", "%a", "%b", types, f)) +
              op("%y", cast("%s", f, n)),
          {{"%y", n}}};
}

/// Each row minus its maximum, times a second matrix.
KernelText rows(int count, int cols) {
  std::string x = matrix(count, cols, "f32"), r = line("row", count, "f32");
  return {{{"x", x}, {"z", x}},
          "\"row\"",
          "\"col\"",
          "col",
          op("%m", "reduce max %x over [\"col\"] : " + T(x) + " -> " + T(r)) +
              op("%d", binary("sub", "%x", "%m", T(x) + ", " + T(r), x)) +
              op("%y", binary("mul", "%d", "%z", T(x) + ", " + T(x), x)),
          {{"%y", x}}};
}

/// The sums of columns and of their products with a second matrix.
KernelText columns(int count, int cols, const std::string &element) {
  std::string x = matrix(count, cols, element), f = matrix(count, cols, "f32"), c = line("col", cols, "f32");
  std::string widen = element == "f32" ? "" : op("%a", cast("%x", x, f));
  std::string a = element == "f32" ? "%x" : "%a";
  return {{{"x", x}, {"z", f}},
          "\"col\"",
          "\"row\"",
          "col",
          widen + op("%p", binary("mul", a, "%z", T(f) + ", " + T(f), f)) +
              op("%s", "reduce sum " + a + " over [\"row\"] : " + T(f) + " -> " + T(c)) +
              op("%t", "reduce sum %p over [\"row\"] : " + T(f) + " -> " + T(c)),
          {{"%s", c}, {"%t", c}}};
}

TEST(ThreadMapping, LoadsPrecedeStoresThatMayAlias) {
  for (const KernelText &text : {elementwise(8011, "bf16"), elementwise(4096, "f32"), rows(6, 768), rows(3, 200)}) {
    LoadedKernels loaded(text.str(), "cuda");
    ASSERT_EQ(loaded.errors, "");
    std::string source = textForSmallDevice(loaded);
    EXPECT_TRUE(loadsFirst(source)) << source;
    EXPECT_NE(source.find("_at["), std::string::npos) << source; // several vectors
  }
  for (int size : {8000, 8008, 8011, 65, 12}) {
    check(elementwise(size, "bf16"), {.tolerance = 0, .inPlace = {0}});
    check(elementwise(size, "f32"), {.tolerance = 0, .inPlace = {1}});
  }
  for (int cols : {200, 768, 4096}) check(rows(3, cols), {.inPlace = {0}});
}

/// Rows of 9 vectors and some elements: a part of longer rows, of which the other elements are NaN or large.
TEST(ThreadMapping, TailsOfRowsInLongerRows) {
  for (int tail = 1; tail < 8; ++tail)
    for (const char *element : {"bf16", "f32"}) {
      std::string x = matrix(7, 80, element), part = matrix(7, 72 + tail, element), wide = matrix(7, 72 + tail, "f32");
      std::string r = line("row", 7, "f32");
      std::string body = op("%p", "slice %x \"col\" from 0 : " + T(x) + " -> " + T(part));
      std::string p = "%p";
      if (part != wide) body += op("%c", cast("%p", part, wide)), p = "%c";
      body += op("%s", "reduce sum " + p + " over [\"col\"] : " + T(wide) + " -> " + T(r));
      body += op("%m", "reduce max " + p + " over [\"col\"] : " + T(wide) + " -> " + T(r));
      KernelText text{{{"x", x}}, "\"row\"", "\"col\"", "col", body, {{"%s", r}, {"%m", r}}};
      check(text);
      LoadedKernels loaded(text.str(), "cuda");
      EXPECT_NE(textForSmallDevice(loaded).find("tsr::load<"), std::string::npos) << textForSmallDevice(loaded);
    }
}

/// One row with results for its elements: nothing is written after the last one.
TEST(ThreadMapping, TailsAreStored) {
  for (int cols : {65, 1037, 8191, 33001}) {
    std::string x = line("col", cols, "bf16"), wide = line("col", cols, "f32"), types = T(wide) + ", " + T("[], f32");
    check({{{"x", x}},
           "",
           "\"col\"",
           "col",
           op("%c", cast("%x", x, wide)) +
               op("%m", "reduce max %c over [\"col\"] : " + T(wide) + " -> " + T("[], f32")) +
               op("%d", binary("sub", "%c", "%m", types, wide)) + op("%y", cast("%d", wide, x)),
           {{"%y", x}, {"%m", "[], f32"}}},
          {.tolerance = 0});
  }
}

/// A softmax of rows that begin at multiples of a vector and do not end there.
KernelText softmax(int count, const std::string &cols, const std::string &element) {
  std::string x = "[row: " + std::to_string(count) + ", col: " + cols + "], " + element, r = line("row", count, "f32");
  std::string f = "[row: " + std::to_string(count) + ", col: " + cols.substr(0, cols.find(' ')) + "], f32";
  std::string types = T(f) + ", " + T(r);
  return {{{"x", x}},
          "\"row\"",
          "\"col\"",
          "col",
          op("%c", cast("%x", x, f)) + op("%m", "reduce max %c over [\"col\"] : " + T(f) + " -> " + T(r)) +
              op("%d", binary("sub", "%c", "%m", types, f)) + op("%e", "exp %d : " + T(f)) +
              op("%s", "reduce sum %e over [\"col\"] : " + T(f) + " -> " + T(r)) +
              op("%q", binary("div", "%e", "%s", types, f)) + op("%y", cast("%q", f, x)),
          {{"%y", x}, {"%s", r}}};
}

/// Rows with gaps between them are loaded and stored as vectors, and nothing is written to the gaps.
TEST(ThreadMapping, TailsOfPaddedRows) {
  for (auto [cols, allocated] : {std::pair(77, 80), {1025, 1032}, {9001, 9008}}) {
    std::string axis = std::to_string(cols) + " of " + std::to_string(allocated);
    KernelText text = softmax(5, axis, "bf16");
    check(text, {.tolerance = 1e-2});
    check(text, {.tolerance = 1e-2, .inPlace = {0, -1}});
    LoadedKernels loaded(text.str(), "cuda");
    ASSERT_EQ(loaded.errors, "");
    for (LoadedKernels::Kernel &kernel : loaded.kernels) {
      const std::string &source = kernel.emulated->source;
      if (kernel.isPacked) continue;
      EXPECT_NE(source.find("tsr::load"), std::string::npos) << source;
      EXPECT_NE(source.find("tsr::store"), std::string::npos) << source;
    }
    for (LoadedKernels::Kernel &kernel : loaded.kernels) {
      std::mt19937 random(5);
      NamedTensorType type = tensorType(kernel.op.getOperand(0));
      Buffer x(randomTensor(type, random), type, kernel.isPacked);
      Buffer y(type, kernel.isPacked), sums(tensorType(kernel.op.getResult(1)), kernel.isPacked);
      std::vector<char> before(y.data(), y.data() + type.getNumBytes());
      ASSERT_EQ(loaded.runOn(kernel, {x.data(), y.data(), sums.data()}), "");
      int64_t row = allocated * 2, used = cols * 2;
      for (int64_t i = 0; i < type.getNumBytes(); ++i)
        if (i % row >= used) ASSERT_EQ(y.data()[i], before[i]) << "byte " << i << "\n" << kernel.emulated->source;
    }
  }
}

TEST(ThreadMapping, ManyColumnsShareAThread) {
  for (auto [count, cols] : {std::pair(300, 1024), {1000, 64}, {37, 12}, {70, 50}, {129, 2056}})
    for (const char *element : {"bf16", "f32"}) check(columns(count, cols, element), {.tolerance = 2e-5});
  LoadedKernels loaded(columns(300, 1024, "bf16").str(), "cuda");
  EXPECT_NE(textForSmallDevice(loaded).find("4 consecutive elements"), std::string::npos) << textForSmallDevice(loaded);
}

/// A sum of one element has no serial loop, and neither a tail nor several points for a thread.
TEST(ThreadMapping, SumsOfOneElement) {
  for (int cols : {50, 1037, 100003})
    for (const char *element : {"bf16", "f32"}) check(columns(1, cols, element), {.tolerance = 2e-5});
}

/// A kernel computes the same bits for arguments that are not aligned to vectors.
TEST(ThreadMapping, BitsDoNotDependOnAlignment) {
  for (const KernelText &text : {columns(300, 1024, "bf16"), rows(3, 768), elementwise(8011, "bf16")}) {
    LoadedKernels loaded(text.str(), "cuda");
    ASSERT_EQ(loaded.errors, "");
    std::vector<std::vector<TensorValue>> results;
    for (LoadedKernels::Kernel &kernel : loaded.kernels) {
      if (!kernel.symbol().ends_with("_small") && !kernel.isPacked) continue;
      std::mt19937 random(3);
      std::vector<TensorValue> arguments;
      for (mlir::Value operand : kernel.op.getOperands())
        arguments.push_back(randomTensor(tensorType(operand), random));
      results.push_back(loaded.run(kernel, arguments));
    }
    ASSERT_EQ(loaded.errors, "");
    ASSERT_EQ(results.size(), 2u);
    for (size_t i = 0; i < results[0].size(); ++i)
      EXPECT_EQ(
          std::memcmp(results[0][i].data.data(), results[1][i].data.data(), results[0][i].data.size() * sizeof(double)),
          0);
  }
}

/// All updates, or most, have one position. They are added in the order of the rows: another order gives other bits.
TEST(ThreadMapping, ScattersWithHotPositions) {
  for (auto [count, cols] : {std::pair(1300, 96), {700, 264}, {513, 9}})
    for (int64_t positions : {1, 3, 40})
      for (const char *element : {"f32", "bf16"}) {
        std::string u = matrix(count, cols, element), w = matrix(count, cols, "f32"), i = line("row", count, "i32");
        std::string y = "[vocab: 33, col: " + std::to_string(cols) + "], f32";
        std::string body = u == w ? "" : op("%e", cast("%u", u, w));
        body += op("%y", std::string("scatter_add ") + (u == w ? "%u" : "%e") + " [[\"vocab\"] = %i] init %a : (" +
                             T(w) + ", " + T(i) + ", " + T(y) + ") -> " + T(y));
        KernelText text{{{"u", u}, {"i", i}, {"a", y}}, "\"col\"", "\"row\"", "col", body, {{"%y", y}}};
        check(text, {.highInteger = positions, .tolerance = 0});
        check(text, {.highInteger = positions, .tolerance = 0, .inPlace = {2}});
      }
}

} // namespace
