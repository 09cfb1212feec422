//===- ParseExpressions.cpp - expressions ----------------------------------===//

#include "frontend/diagnostics/ForeignNames.h"
#include "frontend/syntax/ParserImpl.h"
#include "llvm/ADT/ScopeExit.h"
#include "llvm/Support/JSON.h"
#include <cmath>

using namespace tessera;
using namespace tessera::ast;
using llvm::StringRef;

namespace {
struct Operator {
  BinaryOp op;
  unsigned precedence;
};
} // namespace

static constexpr unsigned ComparisonPrecedence = 3;

static std::optional<Operator> binaryOperator(const Token &token) {
  switch (token.kind) {
  case TokenKind::Name:
    if (token.text == "or") return Operator{BinaryOp::Or, 1};
    if (token.text == "and") return Operator{BinaryOp::And, 2};
    return std::nullopt;
  case TokenKind::Equal:
    return Operator{BinaryOp::Eq, ComparisonPrecedence};
  case TokenKind::NotEqual:
    return Operator{BinaryOp::Ne, ComparisonPrecedence};
  case TokenKind::Less:
    return Operator{BinaryOp::Lt, ComparisonPrecedence};
  case TokenKind::LessEqual:
    return Operator{BinaryOp::Le, ComparisonPrecedence};
  case TokenKind::Greater:
    return Operator{BinaryOp::Gt, ComparisonPrecedence};
  case TokenKind::GreaterEqual:
    return Operator{BinaryOp::Ge, ComparisonPrecedence};
  case TokenKind::Plus:
    return Operator{BinaryOp::Add, 4};
  case TokenKind::Minus:
    return Operator{BinaryOp::Sub, 4};
  case TokenKind::Star:
    return Operator{BinaryOp::Mul, 5};
  case TokenKind::Slash:
    return Operator{BinaryOp::Div, 5};
  case TokenKind::SlashSlash:
    return Operator{BinaryOp::FloorDiv, 5};
  case TokenKind::Percent:
    return Operator{BinaryOp::Mod, 5};
  default:
    return std::nullopt;
  }
}

ExprPtr Parser::makeBinary(BinaryOp op, Span opSpan, ExprPtr lhs, ExprPtr rhs) {
  auto node = std::make_unique<BinaryExpr>(lhs->span.to(rhs->span));
  node->op = op;
  node->opSpan = opSpan;
  Span span = node->span;
  const Expr *left = lhs.get(), *right = rhs.get();
  node->lhs = std::move(lhs);
  node->rhs = std::move(rhs);
  return finish(std::move(node), span, {left, right});
}

/// Operators that bind at least as tightly as `minPrecedence`, all of which associate to the left.
ExprPtr Parser::parseBinary(unsigned minPrecedence) {
  if (!enter()) return nullptr;
  llvm::scope_exit guard([&] { leave(); });
  ExprPtr lhs = parseUnary();
  bool compared = false;
  while (lhs) {
    std::optional<Operator> op = binaryOperator(peek());
    if (!op || op->precedence < minPrecedence) break;
    if (op->precedence == ComparisonPrecedence && compared) {
      diagnostics.error(DiagnosticCode::E0113, peek().span, "comparisons cannot be chained")
          .help("write `a < b and b < c` instead of `a < b < c`");
      return nullptr;
    }
    compared = op->precedence == ComparisonPrecedence;
    Span opSpan = take().span;
    ExprPtr rhs = parseBinary(op->precedence + 1);
    if (!rhs) return nullptr;
    lhs = makeBinary(op->op, opSpan, std::move(lhs), std::move(rhs));
  }
  return lhs;
}

ExprPtr Parser::parseUnary() {
  Token first = peek();
  bool negate = at(TokenKind::Minus), invert = atWord("not");
  if (!negate && !invert) return parsePower();
  if (!enter()) return nullptr;
  llvm::scope_exit guard([&] { leave(); });
  take();
  // `not` binds looser than comparisons: `not a == b` is `not (a == b)`.
  ExprPtr operand = negate ? parseUnary() : parseBinary(ComparisonPrecedence);
  if (!operand) return nullptr;
  auto node = std::make_unique<UnaryExpr>(since(first));
  node->op = negate ? UnaryOp::Negate : UnaryOp::Not;
  node->operand = std::move(operand);
  const Expr *child = node->operand.get();
  return finish(std::move(node), since(first), {child});
}

/// `^` binds tighter than a sign on its left and associates to the right: `-a^b^c` is `-(a^(b^c))`.
ExprPtr Parser::parsePower() {
  ExprPtr base = parsePostfix();
  if (!base || !at(TokenKind::Caret)) return base;
  if (!enter()) return nullptr;
  llvm::scope_exit guard([&] { leave(); });
  Span opSpan = take().span;
  ExprPtr exponent = parseUnary();
  return exponent ? makeBinary(BinaryOp::Pow, opSpan, std::move(base), std::move(exponent)) : nullptr;
}

/// Whether the bracket ahead indexes a value (`[axis = …`) rather than listing axes.
bool Parser::startsIndex() const {
  return at(TokenKind::LeftBracket) && peek(1).kind == TokenKind::Name && peek(2).kind == TokenKind::Assign;
}

/// `x.detach()`, `torch.cat(…)`, `nn.linear[a, b](…)`; `base` is the name before the dot, if it is one.
void Parser::reportMethod(const Name &name, StringRef base) {
  auto message = diagnostics.error(DiagnosticCode::E0110, name.span, "there are no methods and no modules");
  StringRef advice = adviceOnForeignName(name.text), brackets = at(TokenKind::LeftBracket) ? "[…](…)" : "(…)";
  std::string function = base == libraryName ? name.text.lower() : name.text.str(); // nn.Linear
  if (!advice.empty())
    message.help("write " + advice);
  else
    message.help("functions are called by their names alone: `" + function + brackets + "`");
  if (base == libraryName && advice.empty())
    message.help("after `use " + base + ": " + function + "` at the top of the file");
}

ExprPtr Parser::parsePostfix() {
  ExprPtr expr = parsePrimary();
  while (expr) {
    if (at(TokenKind::LeftBracket)) {
      if (!startsIndex()) {
        diagnostics.error(DiagnosticCode::E0114, peek().span, "brackets after a value need `axis = position`")
            .label(expr->span, "a value")
            .help("read at a position with `x[seq = 3]`; rename an axis with `x as [seq -> key]`");
        return nullptr;
      }
      expr = parseIndex(std::move(expr));
    } else if (at(TokenKind::Dot)) {
      take();
      if (!at(TokenKind::Name)) return unexpected("a field's name after `.`"), nullptr;
      auto node = std::make_unique<FieldExpr>(expr->span);
      const Expr *child = expr.get();
      node->base = std::move(expr);
      node->field = takeWord();
      auto *module = llvm::dyn_cast<RefExpr>(child);
      StringRef moduleName = module ? module->name.text : "";
      bool isLibrary = at(TokenKind::LeftBracket) && moduleName == libraryName;
      if (at(TokenKind::LeftParen) || isLibrary) return reportMethod(node->field, moduleName), nullptr;
      Span span = child->span.to(node->field.span);
      expr = finish(std::move(node), span, {child});
    } else if (atWord("into")) {
      expr = parseInto(std::move(expr));
    } else if (atWord("as")) {
      expr = parseAs(std::move(expr));
    } else {
      break;
    }
  }
  return expr;
}

ExprPtr Parser::parseIndex(ExprPtr base) {
  auto node = std::make_unique<IndexExpr>(base->span);
  take();
  if (!parseBinds(node->positions)) return nullptr;
  if (acceptWord("else") && !(node->otherwise = parseExpr())) return nullptr;
  if (!accept(TokenKind::RightBracket))
    return unexpected("`]` after the positions", at(TokenKind::Colon) ? SliceHelp : ""), nullptr;
  Span span = base->span.to(tokens[pos - 1].span);
  for (const Bind &bind : node->positions) node->height = std::max(node->height, bind.value->height + 1);
  const Expr *child = base.get(), *otherwise = node->otherwise.get();
  node->base = std::move(base);
  return finish(std::move(node), span, {child, otherwise});
}

ExprPtr Parser::parseInto(ExprPtr base) {
  auto node = std::make_unique<IntoExpr>(base->span);
  take();
  if (!startsIndex()) return unexpected("`[axis = position]` after `into`"), nullptr;
  take();
  if (!parseBinds(node->positions) || !expect(TokenKind::RightBracket, "after the positions")) return nullptr;
  Span span = base->span.to(tokens[pos - 1].span);
  for (const Bind &bind : node->positions) node->height = std::max(node->height, bind.value->height + 1);
  const Expr *child = base.get();
  node->base = std::move(base);
  return finish(std::move(node), span, {child});
}

bool Parser::parseGroup(std::vector<Name> &names) {
  bool grouped = accept(TokenKind::LeftParen);
  do {
    if (!expectName(names.emplace_back(), "an axis")) return false;
  } while (grouped && accept(TokenKind::Comma));
  return !grouped || expect(TokenKind::RightParen, "after the axes");
}

ExprPtr Parser::parseAs(ExprPtr base) {
  auto node = std::make_unique<AsExpr>(base->span);
  take();
  if (!expect(TokenKind::LeftBracket, "after `as`")) return nullptr;
  do {
    Token first = peek();
    Renaming &renaming = node->renamings.emplace_back();
    if (!parseGroup(renaming.from) || !expect(TokenKind::Arrow, "and the new name") || !parseGroup(renaming.to))
      return nullptr;
    renaming.span = since(first);
    if (renaming.from.size() > 1 && renaming.to.size() > 1) {
      diagnostics.error(DiagnosticCode::E0115, renaming.span, "either side of `->` may be a group, not both")
          .help("merge first, then split: `x as [(a, b) -> c] as [c -> (d, e)]`");
      return nullptr;
    }
  } while (accept(TokenKind::Comma));
  if (!expect(TokenKind::RightBracket, "after the renamings")) return nullptr;
  Span span = base->span.to(tokens[pos - 1].span);
  const Expr *child = base.get();
  node->base = std::move(base);
  return finish(std::move(node), span, {child});
}

ExprPtr Parser::parsePrimary() {
  if (at(TokenKind::Number)) return parseNumber();
  if (at(TokenKind::String)) return parseString();
  if (at(TokenKind::LeftParen)) return parseParenthesised();
  if (atWord("repeat")) return parseRepeat();
  if (atWord("if")) return parseIf();
  if (at(TokenKind::Name) && (!isReserved(peek().text))) return parseNamed();
  unexpected("an expression");
  return nullptr;
}

ExprPtr Parser::parseNumber() {
  Token token = take();
  auto node = std::make_unique<NumberExpr>(token.span);
  std::string digits = token.text.str();
  llvm::erase(digits, '_');
  int64_t integer;
  bool looksInteger = digits.find_first_not_of("0123456789") == std::string::npos;
  if (looksInteger && !StringRef(digits).getAsInteger(10, integer)) node->integer = integer;
  bool malformed = StringRef(digits).getAsDouble(node->value, /*AllowInexact=*/true);
  if ((looksInteger && !node->integer) || (!malformed && !std::isfinite(node->value)))
    diagnostics.error(DiagnosticCode::E0106, token.span, "number is too large");
  return node;
}

std::string tessera::unescape(StringRef literal) {
  std::string result;
  for (size_t i = 0; i < literal.size(); ++i) {
    if (literal[i] == '\\' && i + 1 < literal.size()) {
      char c = literal[++i];
      result += c == 'n' ? '\n' : c == 't' ? '\t' : c;
    } else {
      result += literal[i];
    }
  }
  return result;
}

ExprPtr Parser::parseString() {
  Token token = take();
  auto node = std::make_unique<StringExpr>(token.span);
  node->value = unescape(token.text);
  if (!llvm::json::isUTF8(node->value))
    diagnostics.error(DiagnosticCode::E0107, token.span, "the string `" + node->value + "` is not UTF-8")
        .help("save the model file as UTF-8; files with such names can be given to the program with `--data`");
  return node;
}

/// A name, a function with axes, or a call, with or without a label.
ExprPtr Parser::parseNamed() {
  Token first = peek();
  Name label, name = takeWord();
  if (at(TokenKind::Colon)) {
    take();
    label = name;
    if (!expectName(name, "a call after the label")) return nullptr;
    if (at(TokenKind::Dot) && peek(1).kind == TokenKind::Name) {
      take();
      return reportMethod(takeWord(), name.text), nullptr;
    }
  }
  std::optional<Axes> axes;
  if (at(TokenKind::LeftBracket) && !startsIndex() && !parseAxes(axes.emplace())) return nullptr;
  if (!at(TokenKind::LeftParen)) {
    if (!label.text.empty()) return unexpected("`(`: only calls have labels"), nullptr;
    auto node = std::make_unique<RefExpr>(since(first));
    node->name = name;
    node->axes = std::move(axes);
    return node;
  }
  auto node = std::make_unique<CallExpr>(first.span);
  node->label = label;
  node->callee = name;
  node->axes = std::move(axes);
  take();
  if (!parseArguments(node->args) || !expect(TokenKind::RightParen, "after the arguments")) return nullptr;
  for (const Argument &arg : node->args) node->height = std::max(node->height, arg.value->height + 1);
  return finish(std::move(node), since(first), {});
}

/// An expression, or a word of the language that stands alone: `evaluate(on = train)`. Whether a word means anything
/// here is for the callee to say.
ExprPtr Parser::parseArgumentValue() {
  bool isAlone = llvm::is_contained(
      {TokenKind::Comma, TokenKind::RightParen, TokenKind::Separator, TokenKind::EndOfFile}, peek(1).kind);
  if (!at(TokenKind::Name) || !isReserved(peek().text) || !isAlone) return parseExpr();
  auto node = std::make_unique<RefExpr>(peek().span);
  node->name = takeWord();
  return node;
}

bool Parser::parseArguments(std::vector<Argument> &args) {
  while (!at(TokenKind::RightParen)) {
    Argument arg;
    if (at(TokenKind::Name) && peek(1).kind == TokenKind::Assign) {
      arg.name = takeWord();
      take();
    } else if (!args.empty() && !args.back().name.text.empty()) {
      diagnostics.error(DiagnosticCode::E0116, peek().span, "a positional argument cannot follow a named one")
          .label(args.back().name.span, "named here");
      return false;
    }
    if (!(arg.value = parseArgumentValue())) return false;
    args.push_back(std::move(arg));
    if (!accept(TokenKind::Comma)) break;
  }
  return true;
}

ExprPtr Parser::parseParenthesised() {
  Token first = take();
  auto node = std::make_unique<TupleExpr>(first.span);
  if (!parseArguments(node->elements)) return nullptr;
  bool trailingComma = tokens[pos - 1].kind == TokenKind::Comma;
  if (!expect(TokenKind::RightParen, "to close the parenthesis")) return nullptr;
  if (node->elements.size() == 1 && node->elements[0].name.text.empty() && !trailingComma)
    return std::move(node->elements[0].value);
  if (node->elements.empty()) {
    diagnostics.error(DiagnosticCode::E0117, since(first), "empty parentheses");
    return nullptr;
  }
  for (const Argument &element : node->elements) node->height = std::max(node->height, element.value->height + 1);
  return finish(std::move(node), since(first), {});
}

ExprPtr Parser::parseRepeat() {
  Token first = take();
  auto node = std::make_unique<RepeatExpr>(first.span);
  if (!expect(TokenKind::LeftBracket, "and the axis to repeat along") ||
      !expectName(node->axis, "the axis to repeat along") || !expect(TokenKind::RightBracket, "after the axis") ||
      !expect(TokenKind::LeftParen, "and the carried values, `x = …`") || !parseBinds(node->carried) ||
      !expect(TokenKind::RightParen, "after the carried values") || !parseBlock(node->body))
    return nullptr;
  for (const Bind &bind : node->carried) node->height = std::max(node->height, bind.value->height + 1);
  node->height = std::max(node->height, node->body.height + 1);
  return finish(std::move(node), since(first), {});
}

/// The side after `else`: a block, or another `if`, which is the block's result.
bool Parser::parseElse(Block &block) {
  if (!atWord("if")) return parseBlock(block);
  if (!enter()) return false;
  llvm::scope_exit guard([&] { leave(); });
  if (!(block.result = parseIf())) return false;
  block.span = block.result->span;
  block.height = block.result->height;
  return true;
}

ExprPtr Parser::parseIf() {
  Token first = take();
  auto node = std::make_unique<IfExpr>(first.span);
  if (!(node->condition = parseExpr()) || !parseBlock(node->thenBlock)) return nullptr;
  if (!expectWord("else", "after the block: both branches of an `if` have a value") || !parseElse(node->elseBlock))
    return nullptr;
  node->height = std::max(node->thenBlock.height, node->elseBlock.height) + 1;
  const Expr *condition = node->condition.get();
  return finish(std::move(node), since(first), {condition});
}
