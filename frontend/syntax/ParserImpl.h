//===- ParserImpl.h - the recursive-descent parser -------------------------===//
//
// One function for each rule of the grammar in docs/language.md. A function
// that fails has reported why and returns null or false; its caller returns
// too, up to the nearest statement, which skips to the next one.
//
//===----------------------------------------------------------------------===//

#ifndef TESSERA_FRONTEND_SYNTAX_PARSERIMPL_H
#define TESSERA_FRONTEND_SYNTAX_PARSERIMPL_H

#include "frontend/syntax/Lexer.h"
#include "frontend/syntax/Parser.h"
#include "llvm/ADT/StringSet.h"

namespace tessera {

/// Large because: one method for each rule of the grammar.
class Parser {
public:
  Parser(unsigned file, DiagnosticEngine &diagnostics) : diagnostics(diagnostics), tokens(lex(file, diagnostics)) {}

  std::vector<ast::Declaration> parseDeclarations();
  ast::ExprPtr parseWholeExpression();

private:
  // Tokens
  const Token &peek(unsigned ahead = 0) const { return tokens[std::min<size_t>(pos + ahead, tokens.size() - 1)]; }
  bool at(TokenKind kind) const { return peek().kind == kind; }
  bool atWord(llvm::StringRef word) const { return at(TokenKind::Name) && peek().text == word; }
  Token take();
  bool accept(TokenKind kind);
  bool acceptWord(llvm::StringRef word);
  bool expect(TokenKind kind, const llvm::Twine &after);
  bool expectWord(llvm::StringRef word, const llvm::Twine &after);
  bool expectName(ast::Name &name, const llvm::Twine &what);
  /// A name where any word will do, such as an argument's: `evaluate(on = val)`.
  ast::Name takeWord();
  bool unexpected(const llvm::Twine &expected, llvm::StringRef help = "");
  Span since(const Token &first) const { return first.span.to(tokens[pos ? pos - 1 : 0].span); }

  // Recovery
  void skipStatement();
  void skipDeclaration();
  bool endStatement();
  bool enter();
  void leave() { --depth; }
  bool tooDeep(Span span);

  // Declarations
  bool parseDeclaration(std::vector<ast::Declaration> &into);
  bool parseUse(ast::Use &use);
  bool parsePreset(ast::Preset &preset);
  bool parseFunction(ast::Function &function);
  bool parseModel(ast::Model &model);
  bool parseTrain(ast::Train &train);
  bool parseTrainItem(ast::TrainItem &item);
  bool parseTest(ast::Test &test);
  bool parseParams(std::vector<ast::Param> &params);
  bool parseParam(ast::Param &param);
  bool parsePath(ast::PathPattern &path);

  // Statements
  bool parseBlock(ast::Block &block, bool wantsResult = true);
  bool parseBlockEntry(ast::Block &block);
  void checkBlockEnd(ast::Block &block, bool wantsResult);
  bool isStatement() const;
  bool parseStatement(ast::Stmt &stmt);
  bool parseDim(ast::DimStmt &dim);
  bool parseLet(ast::LetStmt &let);
  bool parseLog(ast::LogStmt &log);
  bool parseParamStmt(ast::ParamStmt &stmt);
  bool parseRequire(ast::RequireStmt &require);
  bool parseBinds(std::vector<ast::Bind> &binds);
  bool parseBind(ast::Bind &bind);
  bool parseAxes(ast::Axes &axes);

  // Expressions
  ast::ExprPtr parseExpr() { return parseBinary(0); }
  ast::ExprPtr parseBinary(unsigned minPrecedence);
  ast::ExprPtr parseUnary();
  ast::ExprPtr parsePower();
  ast::ExprPtr parsePostfix();
  void reportMethod(const ast::Name &name, llvm::StringRef base);
  ast::ExprPtr parsePrimary();
  ast::ExprPtr parseNumber();
  ast::ExprPtr parseString();
  ast::ExprPtr parseNamed();
  ast::ExprPtr parseParenthesised();
  ast::ExprPtr parseRepeat();
  ast::ExprPtr parseIf();
  bool parseElse(ast::Block &block);
  ast::ExprPtr parseIndex(ast::ExprPtr base);
  ast::ExprPtr parseInto(ast::ExprPtr base);
  ast::ExprPtr parseAs(ast::ExprPtr base);
  ast::ExprPtr parseArgumentValue();
  bool parseArguments(std::vector<ast::Argument> &args);
  bool parseGroup(std::vector<ast::Name> &names);
  bool startsIndex() const;
  /// Completes a node: its span, its height; null if it grew too high.
  template <typename T>
  ast::ExprPtr finish(std::unique_ptr<T> node, Span span, std::initializer_list<const ast::Expr *> children);
  ast::ExprPtr makeBinary(ast::BinaryOp op, Span opSpan, ast::ExprPtr lhs, ast::ExprPtr rhs);

  DiagnosticEngine &diagnostics;
  std::vector<Token> tokens;
  size_t pos = 0;
  bool gaveUp = false; ///< nesting was too deep
  unsigned depth = 0;
  unsigned tallest = 0;     ///< height of the tallest expression of the block being parsed
  llvm::StringSet<> states; ///< that the body has declared so far, for helps
};

template <typename T>
ast::ExprPtr Parser::finish(std::unique_ptr<T> node, Span span, std::initializer_list<const ast::Expr *> children) {
  node->span = span;
  for (const ast::Expr *child : children)
    if (child) node->height = std::max(node->height, child->height + 1);
  tallest = std::max(tallest, node->height);
  if (node->height > MaxNesting) {
    tooDeep(span);
    return nullptr;
  }
  return node;
}

/// What to write for `x[0:2]`.
inline constexpr llvm::StringLiteral SliceHelp =
    "a part of `x` along `a` is `x[a = pos[b]]`, or from n on `x[a = pos[b] + n]`, with `dim b = 2`, its length";

/// The contents of a string literal with its escapes resolved.
std::string unescape(llvm::StringRef literal);

} // namespace tessera

#endif // TESSERA_FRONTEND_SYNTAX_PARSERIMPL_H
