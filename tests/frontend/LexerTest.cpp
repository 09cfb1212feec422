//===- LexerTest.cpp - tokens, and where a newline is one ------------------===//

#include "frontend/syntax/Lexer.h"
#include "gtest/gtest.h"

using namespace tessera;

namespace {

/// The tokens' texts, with `⏎` for separators, joined by spaces.
std::string tokens(llvm::StringRef text, DiagnosticEngine &engine) {
  std::string joined;
  for (const Token &token : lex(engine.sources().add(text, "t.tsr"), engine)) {
    if (token.kind == TokenKind::EndOfFile) break;
    joined += (joined.empty() ? "" : " ") + (token.kind == TokenKind::Separator ? "⏎" : token.text.str());
  }
  return joined;
}

std::string tokens(llvm::StringRef text) {
  DiagnosticEngine engine;
  std::string joined = tokens(text, engine);
  EXPECT_FALSE(engine.hasErrors());
  return joined;
}

TEST(Lexer, NumbersMayHaveUnderscoresAndExponents) {
  EXPECT_EQ(tokens("19_073 6e-4 1.5e+3 0.02 7"), "19_073 6e-4 1.5e+3 0.02 7 ⏎");
}

TEST(Lexer, RestAxesAreNotNumbers) { EXPECT_EQ(tokens("[.., seq] [r.., c]"), "[ .. , seq ] [ r .. , c ] ⏎"); }

TEST(Lexer, NewlineEndsAStatement) { EXPECT_EQ(tokens("let a = 1\nlet b = 2\n"), "let a = 1 ⏎ let b = 2 ⏎"); }

TEST(Lexer, NewlineInsideBracketsMeansNothing) { EXPECT_EQ(tokens("f(a,\n  b\n)"), "f ( a , b ) ⏎"); }

TEST(Lexer, NewlineAfterAnOperatorMeansNothing) { EXPECT_EQ(tokens("a +\n b"), "a + b ⏎"); }

TEST(Lexer, NewlineBeforeElseMeansNothing) {
  EXPECT_EQ(tokens("if c { a }\n\n# no\nelse { b }"), "if c { a } else { b } ⏎");
}

TEST(Lexer, BracesInsideBracketsEndStatements) {
  EXPECT_EQ(tokens("f(repeat[l](x = e) {\n a\n b\n})"), "f ( repeat [ l ] ( x = e ) { a ⏎ b ⏎ } ) ⏎");
}

TEST(Lexer, SelectionMayEndWithAStar) {
  EXPECT_EQ(tokens("optimize none on **\nstop(after = 1)"), "optimize none on * * ⏎ stop ( after = 1 ) ⏎");
}

TEST(Lexer, OpenBracketIsClosedByTheNextStatement) {
  EXPECT_EQ(tokens("let a = f(1\nlet b = 2"), "let a = f ( 1 ⏎ let b = 2 ⏎");
}

TEST(Lexer, DocumentationBelongsToTheNextToken) {
  DiagnosticEngine engine;
  auto all = lex(engine.sources().add("## one\n## two\nfn f", "t.tsr"), engine);
  EXPECT_EQ(all[0].doc, "## one\n## two");
  EXPECT_EQ(all[1].doc, "");
}

TEST(Lexer, StrangeBytesAreReported) {
  DiagnosticEngine engine;
  tokens("let a = 1 − 2 \x01", engine);
  ASSERT_EQ(engine.errorCount(), 2u);
  EXPECT_EQ(engine.all()[0].message, "unexpected character `−`");
  EXPECT_EQ(engine.all()[1].message, "unexpected byte 0x1");
}

} // namespace
