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
#include "frontend/diagnostics/ForeignNames.h"
#include "frontend/elaborate/NameResolver.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/Path.h"
#include "gtest/gtest.h"
#include <optional>
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

/// What is said of a model file, as text. `compiles`: whether it is accepted, if that is checked here.
std::string messagesOf(StringRef text, std::optional<bool> compiles = std::nullopt) {
  mlir::MLIRContext context(mlir::MLIRContext::Threading::DISABLED);
  DiagnosticEngine engine;
  bool isAccepted = bool(compileModelText(context, text, "<test>", {}, engine));
  EXPECT_EQ(isAccepted, compiles.value_or(isAccepted));
  std::string shown;
  llvm::raw_string_ostream os(shown);
  engine.printText(os);
  return shown;
}

/// What a program of one model says, as text. `body` is the model's, `fields` those of its data, `rule` what trains it,
/// `result` what the loss is the mean of.
std::string messagesOn(StringRef body, StringRef fields = "x = float[a](column = 0)",
                       StringRef rule = "sgd(lr = 0.1) on weight", StringRef result = "m(d.x)") {
  std::string text = ("dim batch, a = 4, k = 2\nmodel m(x[batch, a]) -> [batch, a] {\nweight w [a]\n" + body +
                      "\n}\ntrain m {\n  data d = csv(train = \"d.csv\", batch = 8, " + fields +
                      ")\n  loss l = mean[..](" + result + ")\n  optimize " + rule + "\n}\n")
                         .str();
  return messagesOf(text);
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
           {"let y = x[a = 0]\nx * w * x[a = where(int(y) >= 0 and int(y) < a, int(y), 0)]",
            "name the value with `let`"},
           {"nn.linear[a, a](x)", "after `use nn: linear` at the top of the file"},
           {"l2: nn.Linear[a, a](x)", "called by their names alone: `linear[…](…)`"},
           {"ReLU()(x)", "there are no layers to build first"},
           {"state n [] = 0\nn = n + 1\nx * w", "write `n := …`, the value after the step"},
           {"state n [] = 0\nn += 1\nx * w", "write `n := n + …`, the value after the step"},
           {"state n [] = 0\nlet n = n + 1\nx * w", "it is a state: `n := …`"},
           {"let n = 1\nn += 1\nx * w", "write `let NEW = n + …`"},
           {"let i = pos[batch] % 4\nw[i] * x", "read at a position with `w[a = i]`"},
           {"let k = x[:, 0]\nx * w", "a part of `x` along `a` is `x[a = pos[b]]`"},
           {"let k = x[a = 0:2]\nx * w", "a part of `x` along `a` is `x[a = pos[b]]`"},
           {"let k = x[0]\nx * w", "`x[a = 0]` reads at a position"},
           {"weight v [4]\nx * v", "`dim a = 3` declares an axis"},
           {"weight v [a, a]\nx * v", "`dim a_in like a`, and rename where they meet: `x as [a -> a_in]`"},
           {"x * .1", "write `0.1`"},
           {"x > 0 ? x : w", "write `where(condition, a, b)`"},
           {"if True { x * w } else { x }", "did you mean `true`?"},
           {"x * w * 'a'", "strings are in double quotes"},
           {"x * w * “a”", "strings are in double quotes"},
       })
    EXPECT_NE(messagesOn(body).find(help), std::string::npos) << body.str() << "\n" << messagesOn(body);
  std::string named = messagesOn("let i = int(x[a = 0])\nx * w * x[a = where(i >= 0, i, 0)]");
  EXPECT_NE(named.find("E0216"), std::string::npos) << named;
  EXPECT_EQ(named.find("with `let`"), std::string::npos) << named;
  for (auto [fields, help] : std::initializer_list<std::pair<StringRef, StringRef>>{
           {"delimiter = \";\"", "cells are separated by commas"},
           {"header = true", "the header is found by itself"},
           {"test = 0.1", "there is no test split: `val = 0.1`"},
           {"index_col = 0", "columns that no field takes are ignored"},
           {"target = 4", "fields such as `x = float[axis](…)`"},
           {"shufle = true", "did you mean `shuffle`?"},
           {"y = float(column = rooms)", "write `\"rooms\"`"},
       }) {
    std::string said = messagesOn("x * w", ("x = float[a](column = 0), " + fields).str());
    EXPECT_NE(said.find(help), std::string::npos) << fields.str() << "\n" << said;
  }
  std::string chain = "x * w";
  for (int i = 0; i < 300; ++i) chain += " + 1";
  EXPECT_NE(messagesOn(chain).find("counts as nested too"), std::string::npos) << messagesOn(chain);
}

// A model that cannot generate need not work for a batch of one row, nor outside of the description's repeats.
TEST(Models, AreCheckedAsTheDescriptionCallsThem) {
  EXPECT_EQ(messagesOn("let c = x - mean[batch](x)\nc * rsqrt(sum[batch](c * c) / (batch - 1) + 1) * w"), "");
  EXPECT_EQ(messagesOn("x * w", "x = float[a](column = 0)", "sgd(lr = 0.1) on weight", "repeat[k](h = d.x) { m(h) }"),
            "");
}

TEST(Helps, NameTheAxisToSumOver) {
  mlir::MLIRContext context(mlir::MLIRContext::Threading::DISABLED);
  DiagnosticEngine engine;
  (void)compileModel(context,
                     TESSERA_SOURCE_DIR "/"
                                        "tests/frontend/errors/sum-shared-axis.tsr",
                     {}, engine);
  ASSERT_EQ(engine.all().size(), 1u);
  ASSERT_FALSE(engine.all()[0].helps.empty());
  EXPECT_EQ(engine.all()[0].helps[0], "sum over what both have: `sum[hidden](h * w)`");
}

// Each row of the table is one of the documentation, and no row is about a name that models can use.
TEST(Helps, OnForeignNamesAreDocumented) {
  auto file = llvm::MemoryBuffer::getFile(TESSERA_SOURCE_DIR "/docs/language.md");
  ASSERT_TRUE(bool(file));
  StringRef page = (*file)->getBuffer();
  std::set<std::string> seen;
  for (const ForeignNames &row : foreignNames()) {
    std::string line = "|";
    llvm::SmallVector<StringRef> names;
    row.names.split(names, ' ');
    for (StringRef name : names) {
      line += " `" + name.str() + "`";
      EXPECT_TRUE(seen.insert(name.lower()).second) << name.str();
      EXPECT_EQ(adviceOnForeignName(name.upper()), row.write);
      EXPECT_FALSE(isBuiltin(name)) << name.str();
      for (const LibraryFile &library : nnLibrary())
        EXPECT_FALSE(library.text.contains(("\nfn " + name + "[").str())) << name.str();
    }
    line += " | " + row.write.str() + " |\n";
    EXPECT_TRUE(page.contains(line)) << line;
  }
}

TEST(Helps, OnForeignNamesAreGiven) {
  for (auto [body, help] : std::initializer_list<std::pair<StringRef, StringRef>>{
           {"conv2d(x, w)", "write `sum[kr, kc, chan](windows * w)`"},
           {"Einsum(x, w)", "write `sum[a](x * w)`"},
           {"x.detach()", "write `stop(x)`"},
           {"x.pow(2)", "write `x ^ 2`"},
           {"torch.relu(x)", "`relu(…)`"},
           {"ReLU(x)", "`use nn: relu`"},
           {"x * x.shape", "a dim stands for its size"},
           {"BCELoss(x, w)", "from scores x, without the sigmoid"},
           {"binary_cross_entropy(x, w)", "from scores x, without the sigmoid"},
           {"Dense(x)", "`linear[a, b](x)` of `nn`"},
           {"BatchNorm2d(x)", "`batch_norm[c](x)` of `nn`"},
           {"x * categorical_crossentropy(x, x)", "`mean[batch](cross_entropy[class](scores, label))`"},
       })
    EXPECT_NE(messagesOn(body).find(help), std::string::npos) << body.str() << "\n" << messagesOn(body);
  EXPECT_EQ(messagesOn("conv2d(x, w)").find("did you mean"), std::string::npos);
  for (auto [rule, help] : std::initializer_list<std::pair<StringRef, StringRef>>{
           {"adam(lr = 0.1, weight_decay = 0.1) on weight", "write `decay = 0.01`, an argument of the rule"},
           {"adam(learning_rate = 0.1) on weight", "write `lr = 1e-3`, an argument of the rule"},
           {"sgd(lr = 0.1) on weight\nepochs(3)", "write `stop(after = n)`, in steps"},
           {"sgd(lr = 0.1) on weight\nstop(epochs = 3)", "write `stop(after = n)`, in steps"},
           {"sgd(lr = 0.1) on all", "`**` selects all parameters"},
           {"sgd(lr = 0.1) on weights", "did you mean `weight`?"},
           {"sgd(lr = 0.1) on wieght", "did you mean `weight`?"},
       }) {
    std::string said = messagesOn("x * w", "x = float[a](column = 0)", rule);
    EXPECT_NE(said.find(help), std::string::npos) << rule.str() << "\n" << said;
  }
}

/// What a program with the weights v and w and the bias b says whose training has these items.
std::string messagesOnTraining(const std::string &items, bool compiles = true) {
  std::string text = "dim batch, a = 4\nmodel m(x[batch, a]) -> [batch, a] {\nweight v, w [a]\nbias b [a]\n"
                     "x * w * v + b\n}\ntrain m {\n"
                     "data d = csv(train = \"d.csv\", batch = 8, x = float[a](column = 0))\n" +
                     items + "\n}\n";
  return messagesOf(text, compiles);
}

TEST(Warnings, RulesWithoutEffect) {
  std::string loss = "loss l = mean[..](m(d.x))\n";
  for (const char *rules :
       {"optimize sgd(lr = 1) on **", "optimize sgd(lr = 1) on weight, bias, gain",
        "optimize sgd(lr = 1) on **\noptimize none on w", "optimize sgd(lr = 1) on weight\noptimize none on w, b"})
    EXPECT_EQ(messagesOnTraining(loss + rules), "") << rules;
  struct Case {
    const char *rules, *pattern;
  };
  for (auto [rules, pattern] :
       {Case{"optimize none on w\noptimize sgd(lr = 1) on **", "w"},
        Case{"optimize none on w, b\noptimize sgd(lr = 1) on weight", "w"},
        Case{"optimize sgd(lr = 2) on **\noptimize sgd(lr = 1) on weight, bias", "**"},
        Case{"optimize none on w\noptimize none on v\noptimize sgd(lr = 1) on weight, b", "v"}}) {
    std::string said = messagesOnTraining(loss + rules);
    EXPECT_NE(said.find("warning[E0414]"), std::string::npos) << rules << "\n" << said;
    EXPECT_NE(said.find("has no effect on `" + std::string(pattern) + "`"), std::string::npos) << said;
    EXPECT_NE(said.find("write general rules first"), std::string::npos) << said;
  }
  std::string said = messagesOnTraining(loss + "optimize sgd(lr = 1) on weight, bias\noptimize sgd(lr = 2) on gain");
  EXPECT_NE(said.find("warning[E0414]: `optimize sgd` selects nothing"), std::string::npos) << said;
}

TEST(Warnings, ParametersThatNoLossDependsOn) {
  std::string rules = "\noptimize sgd(lr = 1) on **";
  EXPECT_EQ(messagesOnTraining("loss l = mean[..](m(d.x))" + rules), "");
  for (const char *loss :
       {"loss l = mean[..](d.x)\nmetric k = mean[..](m(d.x))", "loss l = mean[..](round(m(d.x)))",
        "loss l = mean[..](float(m(d.x) > 0))", "loss l = mean[..](d.x)\nmetric k = mean[..](m(d.x))\naccumulate(2)"})
    EXPECT_NE(messagesOnTraining(loss + rules, /*compiles=*/false).find("error[E0415]: no loss depends on any trained"),
              std::string::npos)
        << loss;
  std::string said = messagesOn("weight u [a]\nx * w");
  EXPECT_NE(said.find("warning[E0415]: no loss depends on the weight `u`"), std::string::npos) << said;
  EXPECT_EQ(messagesOnTraining("loss l = mean[..](m(d.x) - m(d.x * 0) + 0 * d.x)" + rules), "");
  EXPECT_EQ(messagesOnTraining("loss l = mean[..](round(m(d.x)) + mean[..](m(d.x)))\noptimize none on w" + rules +
                               "\noptimize none on w")
                .find("E0415"),
            std::string::npos);
}

// Messages on parameters of the library point to the call that makes them.
TEST(Warnings, PointIntoTheUsersFile) {
  auto said = [](const std::string &rule) {
    std::string text = "use nn: linear\ndim batch, a = 4, b = 3\nmodel m(x[batch, a]) -> [batch, a] {\nweight w [a]\n"
                       "let unused = l: linear[a, b](x)\nx * w\n}\n"
                       "train m {\ndata d = csv(train = \"d.csv\", batch = 8, x = float[a](column = 0))\n"
                       "loss l = mean[..](m(d.x))\noptimize sgd(lr = 0.1) on " +
                       rule + "\n}\n";
    return messagesOf(text);
  };
  for (auto [rule, message] : {std::pair("**", "warning[E0415]: no loss depends on the weight `l.w`"),
                               std::pair("w", "error[E0405]: no `optimize` selects the weight `l.w`")}) {
    std::string shown = said(rule);
    EXPECT_NE(shown.find(message), std::string::npos) << shown;
    EXPECT_NE(shown.find("<test>:5:14"), std::string::npos) << shown;
    EXPECT_NE(shown.find("declared in the library, at nn/layers.tsr:"), std::string::npos) << shown;
  }
}

/// What a recurrent model says. `body` is that of its repeat along time, from the carried state h.
std::string messagesOnRecurrent(const std::string &body) {
  std::string text = "dim batch, time = 5, a = 3, hidden = 4\nmodel m(x[batch, time, a]) -> [batch, hidden] {\n"
                     "weight w [a, hidden]\nrepeat[time](h = over[batch, hidden](0.0)) {\n" +
                     body + "\n}\n}\ntrain m {\n" +
                     "data d = npy(batch = 8, x = float[time, a](train = \"x.npy\"))\n"
                     "loss l = mean[..](m(d.x))\noptimize sgd(lr = 0.1) on **\n}\n";
  return messagesOf(text);
}

TEST(Helps, OnRepeatsAlongTime) {
  EXPECT_EQ(messagesOnRecurrent("tanh(sum[a](x[time = pos[time]] * w) + h)"), "");
  std::string said = messagesOnRecurrent("tanh(sum[a](x * w) + h)");
  EXPECT_NE(said.find("error[E0226]"), std::string::npos) << said;
  EXPECT_NE(said.find("`x` still has the axis `time`: write `x[time = pos[time]]`"), std::string::npos) << said;
  said = messagesOnRecurrent("weight v [hidden]\ntanh(sum[a](x[time = pos[time]] * w) + h * v)");
  EXPECT_NE(said.find("warning[E0304]: each position along `time` has its own weight `v`"), std::string::npos) << said;
  EXPECT_EQ(said.find("error"), std::string::npos) << said;
}

TEST(Warnings, LetsThatNothingUses) {
  std::string rest = "loss l = mean[..](m(d.x))\noptimize sgd(lr = 0.1) on **\n";
  EXPECT_EQ(messagesOnTraining("let half = 0.5 * rate, rate = 0.1, (p, q) = (1, 2)\nmetric k = half + q\n" + rest), "");
  std::string said = messagesOnTraining("let lr = 0.1, other = 2\n" + rest);
  EXPECT_NE(said.find("warning[E0416]: nothing uses `lr`"), std::string::npos) << said;
  EXPECT_NE(said.find("give it to a rule: `optimize adam(lr = lr) on **`"), std::string::npos) << said;
  EXPECT_NE(said.find("warning[E0416]: nothing uses `other`"), std::string::npos) << said;
}

TEST(Warnings, ALossWhoseLargestValueIsSaved) {
  std::string rest = "loss l = mean[..](m(d.x))\nmetric k = l_again\nlet l_again = 1.0\noptimize sgd(lr = 0.1) on **\n";
  for (const char *goal : {"l", "min(l)", "total", "max(k)"})
    EXPECT_EQ(messagesOnTraining(rest + "save(best = " + goal + ")"), "") << goal;
  std::string said = messagesOnTraining(rest + "save(best = max(l))");
  EXPECT_NE(said.find("warning[E0409]: `l` is a loss: its largest value is the worst"), std::string::npos) << said;
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

TEST(Warnings, AFieldThatTakesAColumnTwice) {
  std::string said = messagesOn("x * w", "x = float[a](columns = (0, 1, 2, 2))");
  EXPECT_NE(said.find("warning[E0410]: `x` takes the column 2 twice"), std::string::npos) << said;
  EXPECT_EQ(said.find("error"), std::string::npos) << said;
  said = messagesOn("x * w", "x = float[a](columns = (\"p\", \"q\", \"p\", 0))");
  EXPECT_NE(said.find("takes the column \"p\" twice"), std::string::npos) << said;
}

TEST(Warnings, NameArgumentsOfAFractionThatIsNotHeldOut) {
  std::string said = messagesOn("x * w", "x = float[a](column = 0), val_seed = 3");
  EXPECT_NE(said.find("warning[E0410]: `val_seed` has no effect: no fraction"), std::string::npos) << said;
  said = messagesOn("x * w", "x = float[a](column = 0), val = 0.1, val_tail = true, val_seed = 3");
  EXPECT_NE(said.find("warning[E0410]: `val_seed` has no effect: `val_tail` holds out"), std::string::npos) << said;
  said = messagesOn("x * w", "x = float[a](column = 0), val = 0.1, val_seed = 3");
  EXPECT_EQ(said.find("has no effect"), std::string::npos) << said;
}

TEST(Warnings, NameMetricsThatEvaluationCannotAverage) {
  auto said = [](const std::string &metric) {
    return messagesOnTraining("loss l = mean[..](m(d.x)^2)\nmetric v = " + metric + "\noptimize sgd(lr = 0.1) on **");
  };
  for (const char *metric : {"sqrt(mean[..](m(d.x)^2))", "exp(mean[..](d.x))", "max[batch, a](d.x)",
                             "mean[..](d.x) / mean[..](d.x^2)", "mean[..](d.x) * mean[..](d.x)", "1 / mean[..](d.x)"})
    EXPECT_NE(said(metric).find("warning[E0417]: in evaluation, `v` is averaged over the batches: it is not a mean"),
              std::string::npos)
        << metric;
  EXPECT_NE(said("sum[..](d.x)").find("as a sum over `batch` it depends on their size"), std::string::npos);
  for (const char *metric :
       {"mean[..](d.x)", "2 * mean[..](d.x) - mean[..](d.x^2) / 3", "mean[batch](sqrt(mean[a](d.x^2)))",
        "mean[..](d.x, where = d.x > 0)", "mean[batch](max[a](d.x))", "where(1 > 2, 0, mean[..](d.x))"})
    EXPECT_EQ(said(metric).find("E0417"), std::string::npos) << metric;
}

TEST(Warnings, LabelsAmongTheRowsOfTheBatch) {
  auto said = [&](StringRef loss) {
    std::string text = "dim batch, row like batch, a = 4\n"
                       "fn pick[c](x[.., c], label[..] in c) { x[c = label] }\n"
                       "model m(x[batch, a]) -> [batch, a] {\nweight w [a]\nx * w\n}\ntrain m {\n"
                       "data d = csv(train = \"d.csv\", batch = 8, x = float[a](column = 0), y = int(column = 4))\n"
                       "loss l = " +
                       loss.str() + "\noptimize sgd(lr = 0.1) on weight\n}\n";
    return messagesOf(text, true);
  };
  EXPECT_EQ(said("mean[..](pick[a](m(d.x), d.y))"), "");
  EXPECT_EQ(said("mean[..](pick[batch](m(d.x), pos[row]))"), "");
  std::string warned = said("mean[..](pick[batch](m(d.x), d.y))");
  EXPECT_NE(warned.find("warning[E0230]: `label` is in `batch`: the classes would be the rows"), std::string::npos)
      << warned;
  EXPECT_NE(warned.find("name the axis of the scores: `pick[a](…)`"), std::string::npos) << warned;
}

TEST(Warnings, AStateThatIsNeverAssigned) {
  EXPECT_EQ(messagesOn("state s [a] = 1\ns := mean[batch](x)\nx * w * s"), "");
  EXPECT_EQ(messagesOn("state s [a] = 1\nif training {\ns := mean[batch](x)\nx * w\n} else {\nx * s\n}"), "");
  std::string said = messagesOn("state s [a] = 1\nx * w * s");
  EXPECT_NE(said.find("warning[E0310]: the state `s` is never assigned"), std::string::npos) << said;
  EXPECT_EQ(said.find("error"), std::string::npos) << said;
}

TEST(WrongModels, AreMany) { EXPECT_GE(wrongModels().size(), 40u); }

} // namespace
