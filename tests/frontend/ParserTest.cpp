//===- ParserTest.cpp - the syntax tree and recovery -----------------------===//

#include "frontend/syntax/Parser.h"
#include "gtest/gtest.h"

using namespace tessera;
using namespace tessera::ast;

namespace {

/// An expression with all its parentheses.
std::string show(const Expr &expr) {
  if (auto *number = llvm::dyn_cast<NumberExpr>(&expr)) return number->integer ? std::to_string(*number->integer) : "r";
  if (auto *ref = llvm::dyn_cast<RefExpr>(&expr)) return ref->name.text.str();
  if (auto *unary = llvm::dyn_cast<UnaryExpr>(&expr))
    return (unary->op == UnaryOp::Negate ? "(-" : "(not ") + show(*unary->operand) + ")";
  if (auto *binary = llvm::dyn_cast<BinaryExpr>(&expr))
    return "(" + show(*binary->lhs) + " " + spelling(binary->op).str() + " " + show(*binary->rhs) + ")";
  if (auto *field = llvm::dyn_cast<FieldExpr>(&expr)) return show(*field->base) + "." + field->field.text.str();
  if (auto *index = llvm::dyn_cast<IndexExpr>(&expr))
    return show(*index->base) + "[" + std::to_string(index->positions.size()) + (index->otherwise ? " else]" : "]");
  if (auto *call = llvm::dyn_cast<CallExpr>(&expr)) {
    std::string text = call->label.text.empty() ? "" : call->label.text.str() + ": ";
    text += call->callee.text.str() + "(";
    for (const Argument &arg : call->args) text += (&arg == &call->args[0] ? "" : ", ") + show(*arg.value);
    return text + ")";
  }
  return "?";
}

std::string parse(llvm::StringRef text) {
  DiagnosticEngine engine;
  ExprPtr expr = parseExpression(engine.sources().add(text, "t.tsr"), engine);
  if (expr && !engine.hasErrors()) return show(*expr);
  return engine.all().empty() ? "no message" : diagnosticCodeInfo(engine.all()[0].code).name.str();
}

std::vector<std::string> codes(llvm::StringRef text) {
  DiagnosticEngine engine;
  parseFile(engine.sources().add(text, "t.tsr"), engine);
  std::vector<std::string> found;
  for (const Diagnostic &diagnostic : engine.all()) found.push_back(diagnosticCodeInfo(diagnostic.code).name.str());
  return found;
}

TEST(Parser, Precedence) {
  EXPECT_EQ(parse("a or b and c < d + e * f"), "(a or (b and (c < (d + (e * f)))))");
  EXPECT_EQ(parse("a - b - c"), "((a - b) - c)");
  EXPECT_EQ(parse("-a^b^-c"), "(-(a ^ (b ^ (-c))))");
  EXPECT_EQ(parse("-a * b"), "((-a) * b)");
  EXPECT_EQ(parse("a // b % c / d"), "(((a // b) % c) / d)");
  EXPECT_EQ(parse("not a == b and c"), "((not (a == b)) and c)");
  EXPECT_EQ(parse("x^2 + 1"), "((x ^ 2) + 1)");
}

TEST(Parser, LabelsAndPostfix) {
  EXPECT_EQ(parse("ln_1: layer_norm[embed](x)[seq = 3] + d.tokens"), "(ln_1: layer_norm(x)[1] + d.tokens)");
  EXPECT_EQ(parse("x[seq = pos[seq] - 1 else 0]"), "x[1 else]");
}

TEST(Parser, ElseIf) {
  EXPECT_EQ(codes("fn f(x[..]) { if a { 1 } else if b { let y = 2; y } else { 3 } }"), std::vector<std::string>{});
  EXPECT_EQ(codes("fn f(x[..]) {\n if a { 1 }\n else if b { 2 }\n else { 3 }\n}"), std::vector<std::string>{});
  EXPECT_EQ(codes("fn f(x[..]) { if a { 1 } else if b { 2 } }"), std::vector<std::string>{"E0110"});
}

TEST(Parser, RefusesStringsThatAreNotUtf8) {
  EXPECT_EQ(parse("f(\"r\xff.csv\")"), "E0107");
  EXPECT_EQ(parse("f(\"é.csv\")").find("E0107"), std::string::npos);
}
TEST(Parser, RefusesChainedComparisons) { EXPECT_EQ(parse("a < b < c"), "E0113"); }
TEST(Parser, RefusesAxesAfterAValue) { EXPECT_EQ(parse("(a + b)[seq]"), "E0114"); }
TEST(Parser, RefusesLabelsOnValues) { EXPECT_EQ(parse("a: b"), "E0110"); }

TEST(Parser, ReportsSeveralErrors) {
  EXPECT_EQ(codes("fn f(x[..]) {\n let = 1\n let b = )\n x\n}\nfn g(x[..]) { x + }\nhyper a 3\n"),
            (std::vector<std::string>{"E0110", "E0110", "E0110", "E0110"}));
}

TEST(Parser, AnOpenBracketSpoilsOneStatementOnly) {
  EXPECT_EQ(codes("fn f(x[..]) {\n let a = sum[embed](x\n let b = 2\n a + b\n}\n"), std::vector<std::string>{"E0110"});
}

TEST(Parser, NestingIsBounded) {
  for (const char *open :
       {"(", "-", "f(", "a^", "{", "if ", "repeat[a](x = ", "a + ", "a.b", "not ", "x[a = ", "if a { b } else "}) {
    std::string text = "fn f(x[..]) { ";
    for (int i = 0; i < 100000; ++i) text += open;
    std::vector<std::string> found = codes(text);
    ASSERT_FALSE(found.empty());
  }
  EXPECT_EQ(codes("fn f(x[..]) { " + std::string(100000, '(')), std::vector<std::string>{"E0105"});
}

TEST(Parser, ParsesEverythingInTheLanguage) {
  EXPECT_EQ(codes(R"(
use nn: layer_norm, gelu
use "blocks.tsr": block
hyper depth = 12, drop = 0.1,
  peak = 6e-4
preset medium { depth = 24, drop = 0 }
preset large {
  depth = 36
  drop = 0
}
dim batch, seq <= 1024, vocab = 50_257, key like seq
let small = 0.02 / sqrt(2 * depth)
## Documents.
fn norm[c](x[r.., c], momentum = 0.1) {
  require momentum >= 0 and momentum <= 1, "from 0 to 1"
  gain g [c]; bias b [c]; state mu [c] = 0
  part f = block
  let (m, v) = (mean[r](x), 1), w = (a = m, b = v)
  mu := mu + momentum * (m - mu)
  loss balance = 0.01 * sum[c](m)
  let y = repeat[layer](x = x, z = w.a) { let n = h: block(x)
    (x = n, z = z) }
  let t = x as [(a, b) -> c, d -> (e, f), g -> h] into [expert = e, slot = r]
  if training { y } else { x[c = pos[c] - 1 else -inf] }
}
model m(tokens[batch, seq] in vocab, im[batch]) -> (a[batch], b[batch, vocab]) { tokens }
train m {
  data d = tokens(train = "fineweb/train_*.bin", val = 0.1, batch = 512)
  let lr = 1e-3 * step
  loss ce = mean[batch, seq](m(d.tokens)); metric acc = 1
  optimize adamw(lr = lr, betas = (0.9, 0.95)) on weight, h.**.w
  optimize none on **
  clip(1.0); evaluate(every = 250, on = val)
  stop(after = 3)
}
test "works" {
  let x = normal[seq: 6, embed](1)
  expect near(x, x)
}
)"),
            std::vector<std::string>{});
}

} // namespace
