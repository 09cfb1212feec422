//===- AccessTest.cpp - kernels that address memory, draw, and scatter ----===//

#include "KernelCheck.h"
#include <gtest/gtest.h>

using namespace tessera::test;

namespace {

TEST(Access, Slice) {
  std::string x = "[row: 9, col: 80], f32", y = "[row: 4, col: 37], f32";
  for (const char *vector : {"row", "col"})
    check({{{"x", "[row: 9, col: 37], f32"}},
           "\"row\", \"col\"",
           "",
           vector,
           op("%y", "slice %x \"row\" from 3 : " + T("[row: 9, col: 37], f32") + " -> " + T(y)),
           {{"%y", y}}});
  check({{{"x", "[row: 4, col: 80], f32"}},
         "\"row\", \"col\"",
         "",
         "col",
         op("%y", "slice %x \"col\" from 21 : " + T("[row: 4, col: 80], f32") + " -> " + T(y)),
         {{"%y", y}}});
  check({{{"x", "[row: 4, col: 80], f32"}, {"z", y}},
         "\"row\", \"col\"",
         "",
         "col",
         op("%y", "slice %x \"col\" from 21 : " + T("[row: 4, col: 80], f32") + " -> " + T(y)) +
             op("%w", "mul %y, %z : (" + T(y) + ", " + T(y) + ") -> " + T(y)),
         {{"%w", y}}});
}

TEST(Access, Pad) {
  std::string x = "[row: 4, col: 21], f32", y = "[row: 4, col: 80], f32", z = "[row: 11, col: 21], f32";
  for (const char *vector : {"row", "col"}) {
    check({{{"x", x}},
           "\"row\", \"col\"",
           "",
           vector,
           op("%y", "pad %x \"col\" at 13 : " + T(x) + " -> " + T(y)),
           {{"%y", y}}});
    check({{{"x", x}},
           "\"row\", \"col\"",
           "",
           vector,
           op("%y", "pad %x \"row\" at 3 : " + T(x) + " -> " + T(z)),
           {{"%y", z}}});
  }
  std::string bits = "[row: 4, col: 21], i1", padded = "[row: 4, col: 80], i1";
  check({{{"x", bits}},
         "\"row\", \"col\"",
         "",
         "col",
         op("%y", "pad %x \"col\" at 59 : " + T(bits) + " -> " + T(padded)),
         {{"%y", padded}}});
}

TEST(Access, Rename) {
  std::string x = "[a: 7, b: 7], f32", y = "[b: 7, a: 7], f32";
  check({{{"x", x}},
         "\"a\", \"b\"",
         "",
         "a",
         op("%y", "rename %x [\"a\", \"b\"] to [\"b\", \"a\"] : " + T(x) + " -> " + T(y)),
         {{"%y", y}}});
  std::string z = "[c: 7, b: 7], f32";
  check({{{"x", x}},
         "\"c\", \"b\"",
         "",
         "b",
         op("%y", "rename %x [\"a\"] to [\"c\"] : " + T(x) + " -> " + T(z)),
         {{"%y", z}}});
}

TEST(Access, SplitAndMerge) {
  std::string x = "[row: 5, col: 48], f32", y = "[row: 5, head: 3, hidden: 16], f32",
              t = "[head: 3, row: 5, hidden: 16], f32";
  for (const char *vector : {"row", "head", "hidden"}) {
    check({{{"x", x}},
           "\"row\", \"head\", \"hidden\"",
           "",
           vector,
           op("%y", "split %x \"col\" into [\"head\", \"hidden\"] : " + T(x) + " -> " + T(y)),
           {{"%y", y}}});
    check({{{"x", x}},
           "\"head\", \"row\", \"hidden\"",
           "",
           vector,
           op("%y", "split %x \"col\" into [\"head\", \"hidden\"] : " + T(x) + " -> " + T(t)),
           {{"%y", t}}});
  }
  for (const char *vector : {"row", "col"})
    for (const std::string &from : {y, t})
      check({{{"x", from}},
             "\"row\", \"col\"",
             "",
             vector,
             op("%y", "merge %x [\"head\", \"hidden\"] into \"col\" : " + T(from) + " -> " + T(x)),
             {{"%y", x}}});
}

TEST(Access, GatherRows) {
  std::string x = "[vocab: 50, embed: 37], f32", i = "[batch: 3, seq: 5], i32",
              y = "[batch: 3, seq: 5, embed: 37], f32";
  std::string body = op("%y", "gather %x [[\"vocab\"] = %i] : (" + T(x) + ", " + T(i) + ") -> " + T(y));
  for (const char *vector : {"embed", "seq", "batch"}) // indices up to 100 for 50 positions: some are out of range
    check({{{"x", x}, {"i", i}}, "\"batch\", \"seq\", \"embed\"", "", vector, body, {{"%y", y}}});
}

TEST(Access, GatherByLane) {
  std::string x = "[batch: 9, vocab: 50], f32", i = "[batch: 9], i64", y = "[batch: 9], f32";
  check({{{"x", x}, {"i", i}},
         "\"batch\"",
         "",
         "batch",
         op("%y", "gather %x [[\"vocab\"] = %i] : (" + T(x) + ", " + T(i) + ") -> " + T(y)),
         {{"%y", y}}});
}

TEST(Access, GatherInsideReduction) {
  // Cross entropy: log-sum-exp minus the logit of the label.
  std::string x = "[batch: 9, vocab: 50], f32", i = "[batch: 9], i32", r = "[batch: 9], f32";
  std::string body = op("%m", "reduce max %x over [\"vocab\"] : " + T(x) + " -> " + T(r)) +
                     op("%c", "sub %x, %m : (" + T(x) + ", " + T(r) + ") -> " + T(x)) + op("%e", "exp %c : " + T(x)) +
                     op("%s", "reduce sum %e over [\"vocab\"] : " + T(x) + " -> " + T(r)) +
                     op("%l", "log %s : " + T(r)) + op("%lse", "add %l, %m : (" + T(r) + ", " + T(r) + ") -> " + T(r)) +
                     op("%z", "gather %x [[\"vocab\"] = %i] : (" + T(x) + ", " + T(i) + ") -> " + T(r)) +
                     op("%loss", "sub %lse, %z : (" + T(r) + ", " + T(r) + ") -> " + T(r));
  check({{{"x", x}, {"i", i}}, "\"batch\"", "\"vocab\"", "vocab", body, {{"%loss", r}, {"%lse", r}}});
}

TEST(Access, IndexAndCausalMask) {
  std::string q = "[query: 7], i32", k = "[key: 21], i32", b = "[query: 7, key: 21], i1",
              x = "[query: 7, key: 21], f32";
  std::string body = op("%q", "index : " + T(q)) + op("%k", "index : " + T(k)) +
                     op("%m", "compare le %k, %q : (" + T(k) + ", " + T(q) + ") -> " + T(b)) +
                     op("%z", "constant 0xFF800000 : f32 -> " + T("[], f32")) +
                     op("%y", "select %m, %x, %z : (" + T(b) + ", " + T(x) + ", " + T("[], f32") + ") -> " + T(x));
  for (const char *vector : {"query", "key", ""})
    check({{{"x", x}}, "\"query\", \"key\"", "", vector, body, {{"%y", x}}});
}

TEST(Access, Random) {
  for (const char *distribution : {"uniform", "normal"})
    for (const char *vector : {"row", "col", ""}) {
      std::string s = "[], i64", c = "[], i32", y = "[row: 5, col: 37], f32";
      check({{{"s", s}, {"c", c}, {"i", c}, {"j", c}},
             "\"row\", \"col\"",
             "",
             vector,
             op("%y", std::string("random ") + distribution + " site -5 seed %s step %c salts %i, %j : (" + T(s) +
                          ", " + T(c) + ", " + T(c) + ", " + T(c) + ") -> " + T(y)),
             {{"%y", y}}});
      std::string t = "[col: 37, row: 5], f32";
      check({{{"s", s}, {"c", c}},
             "\"col\", \"row\"",
             "",
             vector,
             op("%y", std::string("random ") + distribution +
                          " site 9 seed %s step %c {canonical = [\"row\", \"col\"]} : (" + T(s) + ", " + T(c) +
                          ") -> " + T(t)),
             {{"%y", t}}});
    }
}

/// In a kernel with other work the draws are inline.
TEST(Access, RandomInAKernelWithOtherOps) {
  std::string s = "[], i64", c = "[], i32", y = "[row: 5, col: 37], f32";
  for (const char *distribution : {"uniform", "normal"})
    for (const char *vector : {"row", "col", ""})
      check({{{"x", y}, {"s", s}, {"c", c}},
             "\"row\", \"col\"",
             "",
             vector,
             op("%r", std::string("random ") + distribution + " site 3 seed %s step %c : (" + T(s) + ", " + T(c) +
                          ") -> " + T(y)) +
                 op("%y", "mul %r, %x : (" + T(y) + ", " + T(y) + ") -> " + T(y)),
             {{"%y", y}}});
}

/// Kernels that only draw, each at its own site, share one function that draws.
TEST(Access, DrawingKernelsShareAFunction) {
  std::string s = "[], i64", c = "[], i32", text;
  for (int site : {1, 2, 3}) {
    std::string y = "[n: " + std::to_string(64 * site) + "], f32";
    text += KernelText{
        {{"s", s}, {"c", c}},
        "\"n\"",
        "",
        "n",
        op("%y",
           "random normal site " + std::to_string(site) + " seed %s step %c : (" + T(s) + ", " + T(c) + ") -> " + T(y)),
        {{"%y",
          y}}}.str("k" + std::to_string(site));
  }
  LoadedKernels loaded(text);
  ASSERT_EQ(loaded.errors, "");
  ASSERT_EQ(loaded.kernels.size(), 3u);
  llvm::StringRef code = loaded.llvmText;
  EXPECT_EQ(code.count("define "), 4u) << loaded.llvmText;
  EXPECT_EQ(code.count("define hidden "), 1u);
  for (LoadedKernels::Kernel &kernel : loaded.kernels) checkKernel(loaded, kernel, {});
}

TEST(Access, ScatterAddRows) {
  std::string u = "[batch: 3, seq: 15, embed: 37], f32", i = "[batch: 3, seq: 15], i32",
              y = "[vocab: 20, embed: 37], f32";
  std::string types = " : (" + T(u) + ", " + T(i);
  for (const char *vector : {"embed", "seq", ""}) {
    check({{{"u", u}, {"i", i}},
           "\"embed\"",
           "\"batch\", \"seq\"",
           vector,
           op("%y", "scatter_add %u [[\"vocab\"] = %i]" + types + ") -> " + T(y)),
           {{"%y", y}}},
          {.highInteger = 25});
    KernelText withInit{{{"u", u}, {"i", i}, {"a", y}},
                        "\"embed\"",
                        "\"batch\", \"seq\"",
                        vector,
                        op("%y", "scatter_add %u [[\"vocab\"] = %i] init %a" + types + ", " + T(y) + ") -> " + T(y)),
                        {{"%y", y}}};
    check(withInit, {.highInteger = 25});
    check(withInit, {.highInteger = 25, .inPlace = {2}});
  }
}

/// More positions than a block of threads reads at once, in a low-precision type, with computed updates.
TEST(Access, ScatterAddManyRows) {
  std::string u = "[row: 700, embed: 9], bf16", i = "[row: 700], i32", y = "[vocab: 33, embed: 9], f32",
              w = "[row: 700, embed: 9], f32";
  check({{{"u", u}, {"i", i}},
         "\"embed\"",
         "\"row\"",
         "embed",
         op("%e", "cast %u : <" + u + "> to <" + w + ">") +
             op("%y", "scatter_add %e [[\"vocab\"] = %i] : (" + T(w) + ", " + T(i) + ") -> " + T(y)),
         {{"%y", y}}},
        {.highInteger = 36});
}

TEST(Access, ScatterAddOneEachRow) {
  // The term of the label in the gradient of the logits.
  std::string u = "[batch: 23], f32", i = "[batch: 23], i32", y = "[batch: 23, vocab: 20], f32", e = "[batch: 23], f32";
  for (const char *vector : {"batch", ""})
    check({{{"u", u}, {"i", i}},
           "\"batch\"",
           "",
           vector,
           op("%e", "neg %u : " + T(u)) +
               op("%y", "scatter_add %e [[\"vocab\"] = %i] : (" + T(e) + ", " + T(i) + ") -> " + T(y)),
           {{"%y", y}}},
          {.highInteger = 25});
}

TEST(Access, ScatterAddWithComputedPositionsAlongTwoAxes) {
  std::string u = "[n: 40], i32", i = "[n: 40], i64", y = "[a: 6, b: 7], i32";
  check({{{"u", u}, {"i", i}, {"j", i}},
         "",
         "\"n\"",
         "n",
         op("%y", "scatter_add %u [[\"a\", \"b\"] = %i, %j] : (" + T(u) + ", " + T(i) + ", " + T(i) + ") -> " + T(y)),
         {{"%y", y}}},
        {.highInteger = 8});
}

TEST(Access, InvalidKernelsAreRefused) {
  std::string x = "[row: 5, col: 7], f32", r = "[row: 5], f32";
  auto errors = [](const KernelText &text) { return LoadedKernels(text.str()).errors; };
  EXPECT_EQ(
      errors(
          {{{"x", x}, {"y", r}}, "\"row\", \"col\"", "", "col", op("%e", "exp %y : " + T(r)), {{"%e", r}, {"%x", x}}}),
      "result 0 lacks the parallel axis `col`\n");
  EXPECT_EQ(errors({{{"x", x}},
                    "\"row\"",
                    "\"col\"",
                    "col",
                    op("%e", "exp %x : " + T(x)) +
                        op("%s", "slice %e \"col\" from 1 : " + T(x) + " -> " + T("[row: 5, col: 5], f32")),
                    {{"%s", "[row: 5, col: 5], f32"}}}),
            "expected a kernel operand, got a computed value, where other positions are read\n");
  std::string i = "[n: 4], i32", gathered = "[n: 4, col: 7], f32", sliced = "[n: 4, col: 5], f32";
  EXPECT_EQ(errors({{{"x", x}, {"i", i}},
                    "\"n\", \"col\"",
                    "",
                    "col",
                    op("%g", "gather %x [[\"row\"] = %i] : (" + T(x) + ", " + T(i) + ") -> " + T(gathered)) +
                        op("%s", "slice %g \"col\" from 1 : " + T(gathered) + " -> " + T(sliced)),
                    {{"%s", sliced}}}),
            "cannot be read at other positions than the current point\n");
  std::string wide = "[row: 5], f64";
  EXPECT_EQ(errors({{{"x", wide}}, "\"row\"", "", "row", op("%y", "erf %x : " + T(wide)), {{"%y", wide}}}),
            "has no code on the CPU for element type 'f64'\n");
}

} // namespace
