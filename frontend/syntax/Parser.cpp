//===- Parser.cpp - tokens, recovery and declarations ----------------------===//

#include "frontend/syntax/ParserImpl.h"

using namespace tessera;
using namespace tessera::ast;
using llvm::StringRef;
using llvm::Twine;

//===----------------------------------------------------------------------===//
// Tokens
//===----------------------------------------------------------------------===//

Token Parser::take() {
  Token token = peek();
  if (pos + 1 < tokens.size()) ++pos;
  return token;
}

bool Parser::accept(TokenKind kind) {
  if (!at(kind)) return false;
  take();
  return true;
}

bool Parser::acceptWord(StringRef word) {
  if (!atWord(word)) return false;
  take();
  return true;
}

/// Always false, so that callers can return it.
bool Parser::unexpected(const Twine &expected, StringRef help) {
  if (gaveUp) return false;
  const Token &token = peek();
  std::string got = at(TokenKind::Name) ? ("`" + token.text + "`").str() : describe(token.kind).str();
  if (at(TokenKind::Number) || at(TokenKind::String)) got += (" `" + token.text.substr(0, 40) + "`").str();
  auto message = diagnostics.error(DiagnosticCode::E0110, token.span, "expected " + expected + ", got " + got);
  if (!help.empty()) message.help(help);
  // What other languages write.
  auto before = [&](size_t count) { return pos >= count ? tokens[pos - count].kind : TokenKind::EndOfFile; };
  bool isComment = at(TokenKind::Name) && before(1) == TokenKind::Name && before(2) == TokenKind::SlashSlash;
  if (at(TokenKind::SlashSlash) || isComment) message.help("comments begin with `#`; `//` divides and rounds down");
  if (at(TokenKind::Star) && before(1) == TokenKind::Star) message.help("powers are written `x ^ 2`");
  bool isArithmetic =
      llvm::is_contained({TokenKind::Plus, TokenKind::Minus, TokenKind::Star, TokenKind::Slash}, before(1));
  if (at(TokenKind::Assign) && isArithmetic && before(2) == TokenKind::Name) {
    std::string value = (tokens[pos - 2].text + " " + tokens[pos - 1].text + " …`").str();
    message.help(states.contains(tokens[pos - 2].text)
                     ? "write `" + tokens[pos - 2].text + " := " + value + ", the value after the step"
                     : "a name is given a value once: write `let NEW = " + value);
  }
  if (at(TokenKind::LeftParen) && before(1) == TokenKind::RightParen)
    message.help("a function is called once, with its values: `linear[a, b](x)`; there are no layers to build first");
  bool isFraction = at(TokenKind::Dot) && peek(1).kind == TokenKind::Number && token.span.end == peek(1).span.begin;
  if (isFraction) message.help("write `0." + peek(1).text + "`");
  return false;
}

bool Parser::expect(TokenKind kind, const Twine &after) {
  return accept(kind) || unexpected(describe(kind) + " " + after);
}

bool Parser::expectWord(StringRef word, const Twine &after) {
  return acceptWord(word) || unexpected("`" + word + "` " + after);
}

Name Parser::takeWord() {
  Token token = take();
  return {token.text, token.span};
}

bool Parser::expectName(Name &name, const Twine &what) {
  if (!at(TokenKind::Name)) return unexpected(what);
  if (isReserved(peek().text)) {
    diagnostics
        .error(DiagnosticCode::E0111, peek().span,
               "`" + peek().text + "` is a word of the language and cannot be a name")
        .help("choose another name, such as `" + peek().text + "_`");
    return false;
  }
  name = takeWord();
  return true;
}

//===----------------------------------------------------------------------===//
// Recovery
//===----------------------------------------------------------------------===//

/// Skips to the end of the statement, over whole blocks that it holds.
void Parser::skipStatement() {
  unsigned open = 0;
  for (;; take()) {
    if (at(TokenKind::EndOfFile)) return;
    if (at(TokenKind::LeftBrace))
      ++open;
    else if (at(TokenKind::RightBrace) && open-- == 0)
      return;
    else if (at(TokenKind::Separator) && open == 0)
      return;
  }
}

static bool beginsDeclaration(StringRef word) {
  return llvm::is_contained({"use", "hyper", "preset", "fn", "model", "train", "test"}, word);
}

/// Skips to a word that can only begin a declaration. (`dim` and `let` also begin statements.)
void Parser::skipDeclaration() {
  for (bool lineStart = false; !at(TokenKind::EndOfFile); take()) {
    if (lineStart && at(TokenKind::Name) && beginsDeclaration(peek().text)) return;
    lineStart = at(TokenKind::Separator) || at(TokenKind::RightBrace);
  }
}

bool Parser::endStatement() {
  if (accept(TokenKind::Separator) || at(TokenKind::RightBrace) || at(TokenKind::EndOfFile)) return true;
  return unexpected("a new line or `;` after the statement");
}

bool Parser::tooDeep(Span span) {
  diagnostics.error(DiagnosticCode::E0105, span, "nesting is deeper than " + Twine(MaxNesting))
      .help("name parts of the expression with `let`; a chain such as `a + b + …` counts as nested too");
  // The rest would only repeat the message.
  pos = tokens.size() - 1;
  gaveUp = true;
  return false;
}

bool Parser::enter() {
  if (++depth <= MaxNesting) return true;
  --depth;
  return tooDeep(peek().span);
}

//===----------------------------------------------------------------------===//
// Declarations
//===----------------------------------------------------------------------===//

std::vector<Declaration> Parser::parseDeclarations() {
  std::vector<Declaration> declarations;
  while (!at(TokenKind::EndOfFile) && !diagnostics.isFull()) {
    if (accept(TokenKind::Separator)) continue;
    size_t before = pos;
    if (parseDeclaration(declarations) && endStatement()) continue;
    if (pos == before) take();
    skipDeclaration();
  }
  return declarations;
}

bool Parser::parseDeclaration(std::vector<Declaration> &into) {
  Token first = peek();
  Declaration declaration{first.span, first.doc, Use{}};
  auto parse = [&](auto node, auto method) {
    take();
    bool ok = (this->*method)(node);
    declaration.node = std::move(node);
    return ok;
  };
  bool ok;
  if (atWord("use"))
    ok = parse(Use{}, &Parser::parseUse);
  else if (acceptWord("hyper")) {
    Hyper hyper;
    ok = parseBinds(hyper.binds);
    declaration.node = std::move(hyper);
  } else if (atWord("preset"))
    ok = parse(Preset{}, &Parser::parsePreset);
  else if (atWord("dim"))
    ok = parse(DimStmt{}, &Parser::parseDim);
  else if (atWord("let"))
    ok = parse(LetStmt{}, &Parser::parseLet);
  else if (atWord("fn"))
    ok = parse(Function{}, &Parser::parseFunction);
  else if (atWord("model"))
    ok = parse(Model{}, &Parser::parseModel);
  else if (atWord("train"))
    ok = parse(Train{}, &Parser::parseTrain);
  else if (atWord("test"))
    ok = parse(Test{}, &Parser::parseTest);
  else
    return unexpected("a declaration (`use`, `hyper`, `preset`, `dim`, `let`, `fn`, `model`, `train` or `test`)",
                      atWord("import") || atWord("from") ? "functions are taken by name: `use nn: relu, linear`" : "");
  declaration.span = since(first);
  if (ok) into.push_back(std::move(declaration));
  return ok;
}

bool Parser::parseUse(Use &use) {
  use.source = peek().span;
  if (at(TokenKind::String))
    use.file = unescape(take().text);
  else if (!expectName(use.library, "a library's name or a file in quotes after `use`"))
    return false;
  if (!expect(TokenKind::Colon, "after what is used, then the names to take from it")) return false;
  do {
    Name name;
    if (at(TokenKind::Star)) return unexpected("a name to use", "list the functions: `use nn: relu, linear`");
    if (!expectName(name, "a name to use")) return false;
    use.names.push_back(name);
  } while (accept(TokenKind::Comma));
  return true;
}

bool Parser::parsePreset(Preset &preset) {
  if (!expectName(preset.name, "the preset's name") || !expect(TokenKind::LeftBrace, "after the preset's name"))
    return false;
  while (accept(TokenKind::Separator)) {
  }
  while (!at(TokenKind::RightBrace)) {
    if (!parseBinds(preset.binds)) return false;
    while (accept(TokenKind::Separator)) {
    }
    if (at(TokenKind::EndOfFile)) break;
  }
  return expect(TokenKind::RightBrace, "at the end of the preset");
}

bool Parser::parseFunction(Function &function) {
  states.clear();
  if (!expectName(function.name, "the function's name")) return false;
  if (at(TokenKind::LeftBracket) && !parseAxes(function.axes.emplace())) return false;
  return parseParams(function.params) && parseBlock(function.body);
}

bool Parser::parseModel(Model &model) {
  states.clear();
  if (!expectName(model.name, "the model's name") || !parseParams(model.params)) return false;
  if (!expect(TokenKind::Arrow, "and the result's axes after the parameters")) return false;
  if (at(TokenKind::LeftBracket)) {
    ModelOutput output;
    if (!parseAxes(output.axes)) return false;
    model.outputs.push_back(std::move(output));
    return parseBlock(model.body);
  }
  if (!expect(TokenKind::LeftParen, "or `[` and the result's axes")) return false;
  do {
    ModelOutput output;
    if (!expectName(output.name, "an output's name") || !parseAxes(output.axes)) return false;
    model.outputs.push_back(std::move(output));
  } while (accept(TokenKind::Comma));
  return expect(TokenKind::RightParen, "after the outputs") && parseBlock(model.body);
}

bool Parser::parseParams(std::vector<Param> &params) {
  if (!expect(TokenKind::LeftParen, "and the parameters")) return false;
  while (!at(TokenKind::RightParen)) {
    Param param;
    if (!parseParam(param)) return false;
    params.push_back(std::move(param));
    if (!accept(TokenKind::Comma)) break;
  }
  return expect(TokenKind::RightParen, "after the parameters");
}

bool Parser::parseParam(Param &param) {
  Token first = peek();
  if (!expectName(param.name, "a parameter's name")) return false;
  if (at(TokenKind::Colon)) {
    diagnostics.error(DiagnosticCode::E0110, peek().span, "axes follow the name without `:`")
        .help("write `" + param.name.text + "[…]`, or `" + param.name.text + "` alone for a number");
    return false;
  }
  if (at(TokenKind::LeftBracket)) {
    if (!parseAxes(param.axes.emplace())) return false;
    if (acceptWord("in") && !expectName(param.within, "the dim that bounds the values after `in`")) return false;
  } else if (accept(TokenKind::Assign) && !(param.fallback = parseExpr())) {
    return false;
  }
  param.span = since(first);
  return true;
}

bool Parser::parseTest(Test &test) {
  if (!at(TokenKind::String)) return unexpected("the test's title in quotes");
  test.title = unescape(take().text);
  return parseBlock(test.body, /*wantsResult=*/false);
}

//===----------------------------------------------------------------------===//
// Training
//===----------------------------------------------------------------------===//

bool Parser::parseTrain(Train &train) {
  if (!expectName(train.model, "the name of the model to train") ||
      !expect(TokenKind::LeftBrace, "after the model's name"))
    return false;
  while (!at(TokenKind::RightBrace) && !at(TokenKind::EndOfFile)) {
    if (accept(TokenKind::Separator)) continue;
    Token first = peek();
    TrainItem item;
    if (parseTrainItem(item) && endStatement()) {
      item.span = since(first);
      train.items.push_back(std::move(item));
      continue;
    }
    if (at(TokenKind::Name) && (beginsDeclaration(peek().text))) return false;
    skipStatement();
  }
  return expect(TokenKind::RightBrace, "at the end of the training description");
}

bool Parser::parseTrainItem(TrainItem &item) {
  if (atWord("data") && peek(1).kind == TokenKind::Name) {
    take();
    DataItem data;
    bool ok = expectName(data.name, "the data's name") && expect(TokenKind::Assign, "after the data's name") &&
              (data.source = parseExpr());
    item.node = std::move(data);
    return ok;
  }
  if (acceptWord("let")) return parseLet(item.node.emplace<LetStmt>());
  if (atWord("loss") || atWord("metric")) return parseLog(item.node.emplace<LogStmt>());
  if (acceptWord("optimize")) {
    OptimizeItem &optimize = item.node.emplace<OptimizeItem>();
    if (!(optimize.rule = parseExpr()) || !expectWord("on", "and what the rule is for")) return false;
    do {
      if (!parsePath(optimize.selection.emplace_back())) return false;
    } while (accept(TokenKind::Comma));
    return true;
  }
  if (!at(TokenKind::Name) || peek(1).kind != TokenKind::LeftParen)
    return unexpected("`data`, `let`, `loss`, `metric`, `optimize` or a setting such as `stop(after = 100)`");
  return bool(item.node.emplace<SettingItem>().call = parseExpr());
}

bool Parser::parsePath(PathPattern &path) {
  Token first = peek();
  do {
    if (at(TokenKind::Star)) {
      Token star = take();
      bool adjacent = at(TokenKind::Star) && peek().span.begin == star.span.end;
      Span span = adjacent ? star.span.to(take().span) : star.span;
      path.segments.push_back({adjacent ? "**" : "*", span});
    } else if (at(TokenKind::Name)) {
      path.segments.push_back(takeWord());
    } else {
      return unexpected("a kind (`weight`, `bias`, `gain`) or a path such as `h.**.w`");
    }
  } while (accept(TokenKind::Dot));
  path.span = since(first);
  return true;
}

//===----------------------------------------------------------------------===//
// Entry points
//===----------------------------------------------------------------------===//

ExprPtr Parser::parseWholeExpression() {
  ExprPtr expr = parseArgumentValue();
  accept(TokenKind::Separator);
  if (expr && !at(TokenKind::EndOfFile)) {
    unexpected("the end of the expression");
    return nullptr;
  }
  return expr;
}

File tessera::parseFile(unsigned file, DiagnosticEngine &diagnostics) {
  return {file, Parser(file, diagnostics).parseDeclarations()};
}

ExprPtr tessera::parseExpression(unsigned file, DiagnosticEngine &diagnostics) {
  return Parser(file, diagnostics).parseWholeExpression();
}
