//===- FuzzTest.cpp - nothing that a file holds crashes the compiler -------===//
//
// Mutations of the examples and of the wrong models, and random bytes: every
// run ends within a second, with a module or with messages. Seeds are fixed.
//
//===----------------------------------------------------------------------===//

#include "frontend/Frontend.h"
#include "mlir/IR/Diagnostics.h"
#include "llvm/Support/FileSystem.h"
#include "gtest/gtest.h"
#include <ctime>
#include <random>

using namespace tessera;
using llvm::StringRef;

namespace {

std::vector<std::string> corpus() {
  std::vector<std::string> texts;
  for (const char *folder : {"examples", "tests/frontend/errors"}) {
    std::error_code error;
    std::vector<std::string> paths;
    for (llvm::sys::fs::directory_iterator it(std::string(TESSERA_SOURCE_DIR "/") + folder, error), end;
         it != end && !error; it.increment(error))
      if (StringRef(it->path()).ends_with(".tsr")) paths.push_back(it->path());
    llvm::sort(paths);
    for (const std::string &path : paths)
      if (auto buffer = llvm::MemoryBuffer::getFile(path)) texts.push_back((*buffer)->getBuffer().str());
  }
  return texts;
}

/// Compiles, and asks only for an end in time, with a message if there is no module.
void compileQuickly(StringRef text) {
  std::clock_t begin = std::clock(); // Processor time: other work on the machine does not count.
  mlir::MLIRContext context(mlir::MLIRContext::Threading::DISABLED);
  std::string internal;
  mlir::ScopedDiagnosticHandler handler(&context,
                                        [&](mlir::Diagnostic &diagnostic) { internal += diagnostic.str() + "\n"; });
  DiagnosticEngine engine;
  auto module = compileModelText(context, text, "<fuzz>", {}, engine);
  std::string shown;
  llvm::raw_string_ostream os(shown);
  engine.printText(os);
  engine.printJson(os);
  EXPECT_EQ(internal, "") << text.str();
  EXPECT_TRUE(module || engine.hasErrors()) << text.str();
  double seconds = double(std::clock() - begin) / CLOCKS_PER_SEC;
  // No measure of speed: what expands without end takes far more.
  EXPECT_LT(seconds, 30) << text.substr(0, 2000).str();
}

/// Pieces that make interesting files when they meet by chance.
const char *const Pieces[] = {"(",        ")",
                              "[",        "]",
                              "{",        "}",
                              "..",       ",",
                              "=",        "x",
                              "seq",      "sum",
                              "repeat",   "let ",
                              "dim ",     "fn f(x[..]) {",
                              "\n",       "if training {",
                              "else",     "weight w [",
                              "0",        "1e308",
                              "-inf",     "as [",
                              "-> ",      "like ",
                              "pos[seq]", "where(",
                              "softmax[", "model ",
                              "train",    "data ",
                              "optimize", "on **",
                              "\xff",     "\"",
                              "#",        "9999999",
                              "* ",       "loss l = ",
                              "batch",    "embed",
                              "mean[",    "^",
                              "// 0",     "step",
                              "over[",    "normal(",
                              "true",     ": "};

std::string mutate(std::string text, std::mt19937 &random) {
  auto upTo = [&](size_t n) { return n ? random() % n : 0; };
  for (unsigned edits = 1 + upTo(6); edits-- > 0;) {
    size_t at = upTo(text.size() + 1), length = upTo(1 + upTo(40));
    switch (random() % 5) {
    case 0:
      text.erase(at, length);
      break;
    case 1:
      text.insert(at, Pieces[upTo(std::size(Pieces))]);
      break;
    case 2:
      text.insert(at, text.substr(upTo(text.size()), length));
      break;
    case 3:
      if (at < text.size()) text[at] = static_cast<char>(random());
      break;
    default: { // one line in the place of another
      size_t from = upTo(text.size()), line = text.rfind('\n', from), end = text.find('\n', from);
      if (line != std::string::npos && end != std::string::npos)
        text.insert(std::min(text.find('\n', at), text.size()), text.substr(line, end - line));
    }
    }
  }
  return text;
}

TEST(Fuzz, MutatedModels) {
  std::vector<std::string> texts = corpus();
  ASSERT_FALSE(texts.empty());
  std::mt19937 random(20240601);
  for (unsigned i = 0; i < 1500; ++i) compileQuickly(mutate(texts[random() % texts.size()], random));
}

TEST(Fuzz, RandomPieces) {
  std::mt19937 random(7);
  for (unsigned i = 0; i < 500; ++i) {
    std::string text;
    for (unsigned n = random() % 200; n-- > 0;) text += Pieces[random() % std::size(Pieces)];
    compileQuickly(text);
  }
}

TEST(Fuzz, RandomBytes) {
  std::mt19937 random(11);
  for (unsigned i = 0; i < 300; ++i) {
    std::string text(random() % 3000, '\0');
    for (char &c : text) c = static_cast<char>(random());
    compileQuickly(text);
  }
}

TEST(Fuzz, LargeFiles) {
  auto times = [](StringRef piece, unsigned n) {
    std::string text;
    for (unsigned i = 0; i < n; ++i) text += piece;
    return text;
  };
  compileQuickly(times("\n", 3'000'000));
  compileQuickly("let a = (" + times("\n", 3'000'000));
  compileQuickly("let a = " + times("1 +\n", 500'000) + "1");
  compileQuickly("let a = " + times("x *\n", 500'000) + "1");
  compileQuickly(times("(", 1'000'000));
  compileQuickly("hyper a = " + times("[", 1'000'000));
  compileQuickly(times("fn f(x[..]) { x }\n", 20'000));
  compileQuickly("\"" + times("\\", 1'000'000));
  compileQuickly(times("\xe2\x88\x92", 300'000));
}

/// Each function calls the one before twice: 2^60 calls when expanded.
TEST(Fuzz, ExponentialExpansion) {
  std::string text = "dim batch, a = 4\nfn f0(x[..]) { x + 1 }\n";
  for (int i = 1; i < 60; ++i) {
    std::string before = "f" + std::to_string(i - 1);
    text += "fn f" + std::to_string(i) + "(x[..]) { " + before + "(x) + " + before + "(x) }\n";
  }
  text += "model m(x[batch, a]) -> [batch, a] { weight w [a]\n f59(x * w) }\n"
          "train m { data d = csv(train = \"d\", batch = 8, x = float[a](column = 0))\n"
          "loss l = mean[..](m(d.x)); optimize sgd(lr = 1) on * }\n";
  compileQuickly(text);
}

/// Deep calls of deep expressions.
TEST(Fuzz, DeepCalls) {
  std::string text = "dim batch, a = 4\nfn f0(x[..]) { x }\n";
  for (int i = 1; i < 62; ++i) {
    text += "fn f" + std::to_string(i) + "(x[..]) { ";
    for (int k = 0; k < 200; ++k) text += "(1 + ";
    text += "f" + std::to_string(i - 1) + "(x)" + std::string(200, ')') + " }\n";
  }
  text += "model m(x[batch, a]) -> [batch, a] { weight w [a]\n f61(x * w) }\n"
          "train m { data d = csv(train = \"d\", batch = 8, x = float[a](column = 0))\n"
          "loss l = mean[..](m(d.x)); optimize sgd(lr = 1) on * }\n";
  compileQuickly(text);
}

} // namespace
