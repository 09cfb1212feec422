//===- ErrorsTest.cpp - wrong models cause the messages they should --------===//
//
// Each file of errors/ says what is wrong with it, in comments:
//
//   let a = b      #! E0201 11 unknown name
//
// expects a message E0201 at column 11 of this line whose text contains the
// words. `#!-1` means the line above. There may be no other messages.
//
//===----------------------------------------------------------------------===//

#include "frontend/Frontend.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/Path.h"
#include "gtest/gtest.h"
#include <set>

using namespace tessera;
using llvm::StringRef;

namespace {

std::vector<std::string> wrongModels() {
  std::vector<std::string> paths;
  std::error_code error;
  for (llvm::sys::fs::directory_iterator it(TESSERA_SOURCE_DIR "/"
                                                               "tests/frontend/errors",
                                            error),
       end;
       it != end && !error; it.increment(error))
    if (StringRef(it->path()).ends_with(".tsr")) paths.push_back(it->path());
  llvm::sort(paths);
  return paths;
}

/// "E0201 3:11 words" for each expected message.
std::vector<std::pair<std::string, std::string>> expectations(StringRef text) {
  std::vector<std::pair<std::string, std::string>> expected;
  llvm::SmallVector<StringRef> lines;
  text.split(lines, '\n');
  for (unsigned i = 0; i < lines.size(); ++i) {
    StringRef rest = lines[i];
    while (rest.contains("#!")) {
      rest = rest.substr(rest.find("#!") + 2);
      unsigned line = i + 1 - (rest.consume_front("-1") ? 1 : 0);
      StringRef one = rest.take_until([](char c) { return c == '#'; }).trim();
      auto [code, more] = one.split(' ');
      auto [column, words] = more.split(' ');
      expected.push_back({(code + " " + llvm::Twine(line) + ":" + column).str(), words.str()});
    }
  }
  return expected;
}

class WrongModel : public testing::TestWithParam<std::string> {};

TEST_P(WrongModel, CausesItsMessages) {
  mlir::MLIRContext context(mlir::MLIRContext::Threading::DISABLED);
  DiagnosticEngine engine;
  auto module = compileModel(context, GetParam(), {}, engine);
  EXPECT_FALSE(module);
  std::multiset<std::string> wanted, got;
  std::string messages;
  for (const Diagnostic &diagnostic : engine.all()) {
    std::string place = "-";
    if (!diagnostic.labels.empty()) {
      LineColumn at = engine.sources().position(diagnostic.labels[0].span);
      place = std::to_string(at.line) + ":" + std::to_string(at.column);
    }
    got.insert(diagnosticCodeInfo(diagnostic.code).name.str() + " " + place);
    messages += diagnostic.message + "\n";
  }
  auto text = llvm::MemoryBuffer::getFile(GetParam());
  ASSERT_TRUE(bool(text));
  for (auto &[message, words] : expectations((*text)->getBuffer())) {
    wanted.insert(message);
    EXPECT_NE(messages.find(words), std::string::npos) << "no message says: " << words << "\n" << messages;
  }
  std::string shown;
  llvm::raw_string_ostream os(shown);
  engine.printText(os);
  EXPECT_EQ(wanted, got) << shown;
}

INSTANTIATE_TEST_SUITE_P(Errors, WrongModel, testing::ValuesIn(wrongModels()),
                         [](const testing::TestParamInfo<std::string> &info) {
                           std::string name = llvm::sys::path::stem(info.param).str();
                           llvm::replace(name, '-', '_');
                           return name;
                         });

/// What a program of one model says, as text. `body` is the model's, `fields` those of its data.
std::string messagesOn(StringRef body, StringRef fields = "x = float[a](column = 0)") {
  mlir::MLIRContext context(mlir::MLIRContext::Threading::DISABLED);
  DiagnosticEngine engine;
  std::string text = ("dim batch, a = 4\nmodel m(x[batch, a]) -> [batch, a] {\nweight w [a]\n" + body +
                      "\n}\ntrain m {\n  data d = csv(train = \"d.csv\", batch = 8, " + fields +
                      ")\n  loss l = mean[..](m(d.x))\n  optimize sgd(lr = 0.1) on weight\n}\n")
                         .str();
  (void)compileModelText(context, text, "<test>", {}, engine);
  std::string shown;
  llvm::raw_string_ostream os(shown);
  engine.printText(os);
  return shown;
}

TEST(Helps, SayWhatToWrite) {
  EXPECT_EQ(messagesOn("x * w"), "");
  for (auto [body, help] : std::initializer_list<std::pair<StringRef, StringRef>>{
           {"x @ w", "`sum[axis](x * w)`"},
           {"x ** w", "powers are written `x ^ 2`"},
           {"// a comment\nx * w", "comments begin with `#`"},
           {"let y = x // a comment\ny * w", "comments begin with `#`"},
           {"if x > 0 { x } else { w }", "`where(condition, a, b)` chooses"},
           {"if step > 10 { x } else { x * w }", "`where(condition, a, b)` chooses"},
           {"weight v [a] = normal(0.1) + 1\nx * v", "initial values are `normal(deviation)`"},
           {"weight v [a] = pos[a]\nx * v", "initial values are `normal(deviation)`"},
           {"weight v [a] = xavier(1)\nx * v", "initial values are `normal(deviation)`"},
       })
    EXPECT_NE(messagesOn(body).find(help), std::string::npos) << body.str() << "\n" << messagesOn(body);
  std::string chain = "x * w";
  for (int i = 0; i < 300; ++i) chain += " + 1";
  EXPECT_NE(messagesOn(chain).find("counts as nested too"), std::string::npos) << messagesOn(chain);
}

TEST(Warnings, FieldsThatShareColumns) {
  EXPECT_EQ(messagesOn("x * w", "x = float[a](column = 0), y = int(column = 4), z = float[a](column = 5)"), "");
  std::string said = messagesOn("x * w", "x = float[a](column = 0), y = int(column = 3)");
  EXPECT_NE(said.find("warning[E0410]: `y` shares columns with `x`"), std::string::npos) << said;
  EXPECT_NE(said.find("columns 0 to 3"), std::string::npos) << said;
  EXPECT_EQ(said.find("error"), std::string::npos) << said;
  EXPECT_EQ(messagesOn("x * w", "x = float[a](column = \"p0\"), y = int(column = \"kind\")"), "");
  said = messagesOn("x * w", "x = float[a](columns = (\"p\", \"q\", 3, \"r\")), y = int(column = \"q\")");
  EXPECT_NE(said.find("column \"q\""), std::string::npos) << said;
  EXPECT_NE(said.find("columns \"p\" to \"r\""), std::string::npos) << said;
}

TEST(WrongModels, AreMany) { EXPECT_GE(wrongModels().size(), 40u); }

} // namespace
