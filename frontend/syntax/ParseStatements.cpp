//===- ParseStatements.cpp - blocks and statements -------------------------===//

#include "frontend/syntax/ParserImpl.h"
#include "llvm/ADT/ScopeExit.h"

using namespace tessera;
using namespace tessera::ast;
using llvm::StringRef;

bool Parser::isStatement() const {
  if (!at(TokenKind::Name)) return false;
  bool keyword = llvm::is_contained(
      {"dim", "let", "loss", "metric", "weight", "bias", "gain", "state", "part", "expect", "require"}, peek().text);
  return keyword || peek(1).kind == TokenKind::Define;
}

bool Parser::parseBlock(Block &block, bool wantsResult) {
  Token first = peek();
  if (!expect(TokenKind::LeftBrace, "and a block") || !enter()) return false;
  unsigned outerTallest = std::exchange(tallest, 1);
  llvm::scope_exit guard([&] {
    leave();
    block.height = tallest;
    tallest = std::max(outerTallest, tallest);
  });
  while (!at(TokenKind::RightBrace) && !at(TokenKind::EndOfFile)) {
    if (accept(TokenKind::Separator)) continue;
    if (parseBlockEntry(block) && endStatement()) continue;
    // Inside a block, only `fn`, `model` and the like cannot follow: a brace is missing.
    if (at(TokenKind::Name) && llvm::is_contained({"use", "hyper", "preset", "fn", "model", "train"}, peek().text))
      break;
    skipStatement();
    if (!block.result) // the mistake may have been the result: do not ask for one as well
      wantsResult = false;
  }
  if (!expect(TokenKind::RightBrace, "at the end of the block")) return false;
  block.span = since(first);
  checkBlockEnd(block, wantsResult);
  return true;
}

bool Parser::parseBlockEntry(Block &block) {
  Token first = peek();
  if (block.result) {
    // What looked like the result was not the last entry.
    diagnostics.error(DiagnosticCode::E0120, block.result->span, "the value of this expression is not used")
        .help("name it with `let`, or remove it; only a block's last entry is its result");
    block.result = nullptr;
  }
  if (at(TokenKind::Name) && peek(1).kind == TokenKind::Assign && !isReserved(peek().text)) {
    StringRef name = peek().text;
    bool isState = states.contains(name);
    diagnostics
        .error(DiagnosticCode::E0110, peek().span,
               "`" + name + "` is given a value without `let`" + (isState ? ", and is a state" : ""))
        .help(isState ? "write `" + name + " := …`, the value after the step"
                      : "write `let " + name + " = …`; a name is given a value once");
    return false;
  }
  if (atWord("return") && (peek(1).kind == TokenKind::Name || peek(1).kind == TokenKind::Number)) {
    diagnostics.error(DiagnosticCode::E0110, peek().span, "the language has no `return`")
        .help("a block's last entry is its result: write the expression alone");
    return false;
  }
  if (!isStatement()) return bool(block.result = parseExpr());
  auto stmt = std::make_unique<Stmt>();
  bool ok = parseStatement(*stmt);
  stmt->span = since(first);
  if (ok) block.statements.push_back(std::move(stmt));
  return ok;
}

void Parser::checkBlockEnd(Block &block, bool wantsResult) {
  if (wantsResult && !block.result) {
    Span end{block.span.file, block.span.end - 1, block.span.end};
    diagnostics.error(DiagnosticCode::E0121, end, "the block ends without a result")
        .label(end, "expected an expression before this")
        .help("the last entry of a block is the expression that it returns");
  }
  if (!wantsResult && block.result) block.result = nullptr;
}

bool Parser::parseStatement(Stmt &stmt) {
  if (peek(1).kind == TokenKind::Define) {
    AssignStmt &assign = stmt.node.emplace<AssignStmt>();
    if (!expectName(assign.name, "a state's name")) return false;
    take();
    return bool(assign.value = parseExpr());
  }
  if (acceptWord("dim")) return parseDim(stmt.node.emplace<DimStmt>());
  if (acceptWord("let")) return parseLet(stmt.node.emplace<LetStmt>());
  if (atWord("loss") || atWord("metric")) return parseLog(stmt.node.emplace<LogStmt>());
  if (acceptWord("require")) return parseRequire(stmt.node.emplace<RequireStmt>());
  if (acceptWord("expect")) return bool(stmt.node.emplace<ExpectStmt>().value = parseExpr());
  if (!acceptWord("part")) return parseParamStmt(stmt.node.emplace<ParamStmt>());
  PartStmt &part = stmt.node.emplace<PartStmt>();
  if (!expectName(part.name, "the part's name") || !expect(TokenKind::Assign, "after the part's name") ||
      !expectName(part.function, "a function's name"))
    return false;
  return !at(TokenKind::LeftBracket) || parseAxes(part.axes.emplace());
}

bool Parser::parseDim(DimStmt &dim) {
  do {
    Token first = peek();
    DimSize size;
    if (!expectName(size.name, "a dim's name")) return false;
    if (at(TokenKind::Assign) || at(TokenKind::LessEqual)) {
      size.kind = take().kind == TokenKind::Assign ? DimSize::Kind::Equal : DimSize::Kind::AtMost;
      if (!(size.size = parseExpr())) return false;
    } else if (acceptWord("like")) {
      size.kind = DimSize::Kind::Like;
      if (!expectName(size.like, "the dim that it is like")) return false;
    }
    size.span = since(first);
    dim.sizes.push_back(std::move(size));
  } while (accept(TokenKind::Comma));
  return true;
}

bool Parser::parseLet(LetStmt &let) {
  do {
    Definition definition;
    if (accept(TokenKind::LeftParen)) {
      definition.isTuple = true;
      do {
        Name name;
        if (!expectName(name, "a name")) return false;
        definition.names.push_back(name);
      } while (accept(TokenKind::Comma));
      if (!expect(TokenKind::RightParen, "after the names")) return false;
    } else {
      Name name;
      if (!expectName(name, "a name after `let`")) return false;
      definition.names.push_back(name);
    }
    if (!expect(TokenKind::Assign, "after the name") || !(definition.value = parseExpr())) return false;
    let.definitions.push_back(std::move(definition));
  } while (accept(TokenKind::Comma));
  return true;
}

bool Parser::parseLog(LogStmt &log) {
  log.isLoss = take().text == "loss";
  return parseBinds(log.binds);
}

bool Parser::parseParamStmt(ParamStmt &stmt) {
  StringRef word = take().text;
  stmt.kind = word == "weight" ? ParamKind::Weight
              : word == "bias" ? ParamKind::Bias
              : word == "gain" ? ParamKind::Gain
                               : ParamKind::State;
  do {
    Name name;
    if (!expectName(name, "the " + word + "'s name")) return false;
    stmt.names.push_back(name);
    if (stmt.kind == ParamKind::State) states.insert(name.text);
  } while (accept(TokenKind::Comma));
  if (!at(TokenKind::LeftBracket)) return unexpected("`[` and the axes of the " + word);
  if (!parseAxes(stmt.axes)) return false;
  if (at(TokenKind::Comma)) {
    diagnostics.error(DiagnosticCode::E0112, peek().span, "a `" + word + "` statement declares one shape")
        .help("begin a new statement: `" + word + " …`");
    return false;
  }
  return !accept(TokenKind::Assign) || (stmt.init = parseExpr());
}

bool Parser::parseRequire(RequireStmt &require) {
  if (!(require.condition = parseExpr()) || !expect(TokenKind::Comma, "and a message after the condition"))
    return false;
  if (!at(TokenKind::String)) return unexpected("the message in quotes");
  require.message = unescape(take().text);
  return true;
}

bool Parser::parseBind(Bind &bind) {
  return expectName(bind.name, "a name") && expect(TokenKind::Assign, "after the name") && (bind.value = parseExpr());
}

bool Parser::parseBinds(std::vector<Bind> &binds) {
  do {
    if (!parseBind(binds.emplace_back())) return false;
  } while (accept(TokenKind::Comma));
  return true;
}

bool Parser::parseAxes(Axes &axes) {
  Token first = peek();
  if (!expect(TokenKind::LeftBracket, "and axes")) return false;
  while (!at(TokenKind::RightBracket)) {
    Token begin = peek();
    AxisItem axis;
    if (at(TokenKind::Colon)) return unexpected("an axis or `..`", SliceHelp);
    if (at(TokenKind::Number))
      return unexpected("an axis or `..`",
                        "axes have names: `x[a = 0]` reads at a position, and `dim a = 3` declares an "
                        "axis of a size");
    if (!at(TokenKind::DotDot) && !expectName(axis.name, "an axis or `..`")) return false;
    axis.isRest = accept(TokenKind::DotDot);
    if (!axis.isRest && accept(TokenKind::Colon) && !(axis.size = parseExpr())) return false;
    axis.span = since(begin);
    axes.list.push_back(std::move(axis));
    if (!accept(TokenKind::Comma)) break;
  }
  bool ok = expect(TokenKind::RightBracket, "after the axes");
  axes.span = since(first);
  return ok;
}
