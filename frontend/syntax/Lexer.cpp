//===- Lexer.cpp - text to tokens ------------------------------------------===//

#include "frontend/syntax/Lexer.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/ADT/StringSwitch.h"

using namespace tessera;
using llvm::StringRef;

StringRef tessera::describe(TokenKind kind) {
  static const StringRef words[] = {"the end of the file",
                                    "the end of the statement",
                                    "a name",
                                    "a number",
                                    "a string",
                                    "`(`",
                                    "`)`",
                                    "`[`",
                                    "`]`",
                                    "`{`",
                                    "`}`",
                                    "`,`",
                                    "`:`",
                                    "`=`",
                                    "`:=`",
                                    "`->`",
                                    "`.`",
                                    "`..`",
                                    "`+`",
                                    "`-`",
                                    "`*`",
                                    "`/`",
                                    "`//`",
                                    "`%`",
                                    "`^`",
                                    "`==`",
                                    "`!=`",
                                    "`<`",
                                    "`<=`",
                                    "`>`",
                                    "`>=`"};
  return words[static_cast<unsigned>(kind)];
}

bool tessera::isReserved(StringRef word) {
  return llvm::StringSwitch<bool>(word)
      .Cases({"use", "hyper", "preset", "dim", "let", "fn", "model", "train", "test"}, true)
      .Cases({"weight", "bias", "gain", "state", "loss", "metric", "part", "optimize", "expect", "require"}, true)
      .Cases({"if", "else", "repeat", "and", "or", "not", "as", "into", "in", "like"}, true)
      .Default(false);
}

/// Words that begin a statement and are followed by a name: where a line starts so, a bracket above was left open.
static bool beginsStatement(StringRef word) {
  return llvm::StringSwitch<bool>(word)
      .Cases({"use", "hyper", "preset", "dim", "let", "fn", "model", "train", "test", "weight", "bias"}, true)
      .Cases({"gain", "state", "loss", "metric", "part", "optimize", "data", "require"}, true)
      .Default(false);
}

namespace {

class Lexer {
public:
  Lexer(unsigned file, DiagnosticEngine &diagnostics)
      : diagnostics(diagnostics), file(file), source(diagnostics.sources()[file].text()) {}

  std::vector<Token> run();

private:
  char peek(size_t ahead = 0) const { return pos + ahead < source.size() ? source[pos + ahead] : '\0'; }
  Span spanFrom(size_t begin) const { return {file, unsigned(begin), unsigned(pos)}; }
  void push(TokenKind kind, size_t begin, StringRef text);
  void skipComment();
  void lexNewline();
  void lexNumber();
  void lexString();
  void lexName();
  void lexPunctuation();
  void lexUnknown();
  bool continuesStatement() const;
  size_t nextLine() const;

  DiagnosticEngine &diagnostics;
  unsigned file;
  StringRef source;
  size_t pos = 0;
  std::vector<Token> tokens;
  std::vector<TokenKind> open; ///< brackets not yet closed
  size_t statementBegin = 0;   ///< the token that the current statement begins with
  size_t docBegin = StringRef::npos, docEnd = 0;
};
} // namespace

static bool isNameStart(char c) { return llvm::isAlpha(c) || c == '_'; }
static bool isNamePart(char c) { return llvm::isAlnum(c) || c == '_'; }

void Lexer::push(TokenKind kind, size_t begin, StringRef text) {
  Token token{kind, spanFrom(begin), text, ""};
  if (docBegin != StringRef::npos && kind != TokenKind::Separator) {
    token.doc = source.slice(docBegin, docEnd);
    docBegin = StringRef::npos;
  }
  tokens.push_back(token);
  if (kind == TokenKind::Separator || kind == TokenKind::LeftBrace || kind == TokenKind::RightBrace)
    statementBegin = tokens.size();
}

void Lexer::skipComment() {
  size_t begin = pos;
  pos = std::min(source.find('\n', pos), source.size());
  bool ownLine = tokens.empty() || source.slice(0, begin).rtrim(" \t").ends_with("\n");
  if (!source.substr(begin).starts_with("##") || !ownLine) return;
  if (docBegin == StringRef::npos) docBegin = begin;
  docEnd = pos;
}

/// Whether the last token asks for more, so that a newline after it means nothing.
bool Lexer::continuesStatement() const {
  if (tokens.empty()) return true;
  const Token &last = tokens.back();
  switch (last.kind) {
  case TokenKind::Separator:
  case TokenKind::Comma:
  case TokenKind::Colon:
  case TokenKind::Assign:
  case TokenKind::Define:
  case TokenKind::Arrow:
  case TokenKind::LeftBrace:
  case TokenKind::Plus:
  case TokenKind::Minus:
  case TokenKind::Slash:
  case TokenKind::SlashSlash:
  case TokenKind::Percent:
  case TokenKind::Caret:
  case TokenKind::Equal:
  case TokenKind::NotEqual:
  case TokenKind::Less:
  case TokenKind::LessEqual:
  case TokenKind::Greater:
  case TokenKind::GreaterEqual:
    return true;
  case TokenKind::Star:
    // `optimize sgd(…) on *` and `on **` end with a star that is no operator.
    return tokens[statementBegin].text != "optimize";
  case TokenKind::Name:
    return llvm::is_contained({"and", "or", "not", "as", "into", "in", "like"}, last.text);
  default:
    return false;
  }
}

/// Where the text continues after blank lines and comments.
size_t Lexer::nextLine() const {
  StringRef rest = source.substr(pos);
  while (true) {
    rest = rest.ltrim();
    if (!rest.starts_with("#")) return rest.begin() - source.begin();
    rest = rest.substr(std::min(rest.find('\n'), rest.size()));
  }
}

void Lexer::lexNewline() {
  size_t begin = pos++;
  if (tokens.empty() || tokens.back().kind == TokenKind::Separator) return;
  size_t next = nextLine();
  StringRef word = source.substr(next).take_while(isNamePart);
  StringRef rest = source.substr(next + word.size()).ltrim(" \t");
  if (!open.empty() && open.back() != TokenKind::LeftBrace) {
    // A statement cannot begin inside brackets: one was left open. Closing it here keeps the error to one line.
    bool named = !rest.empty() && (isNameStart(rest[0]) || (word == "let" && rest[0] == '('));
    if (!beginsStatement(word) || !named) {
      pos = next;
      return;
    }
    while (!open.empty() && open.back() != TokenKind::LeftBrace) open.pop_back();
    push(TokenKind::Separator, begin, "\n");
  } else if (word == "else" || continuesStatement()) {
    pos = next;
  } else {
    push(TokenKind::Separator, begin, "\n");
  }
}

void Lexer::lexNumber() {
  size_t begin = pos;
  auto digits = [&] {
    while (llvm::isDigit(peek()) || (peek() == '_' && llvm::isDigit(peek(1)))) ++pos;
  };
  digits();
  if (peek() == '.' && llvm::isDigit(peek(1))) {
    ++pos;
    digits();
  }
  bool signedExponent = (peek(1) == '-' || peek(1) == '+') && llvm::isDigit(peek(2));
  if ((peek() == 'e' || peek() == 'E') && (llvm::isDigit(peek(1)) || signedExponent)) {
    pos += signedExponent ? 2 : 1;
    digits();
  }
  if (isNamePart(peek())) {
    size_t wrong = pos;
    while (isNamePart(peek())) ++pos;
    diagnostics.error(DiagnosticCode::E0103, spanFrom(begin), "malformed number `" + source.slice(begin, pos) + "`")
        .label(spanFrom(wrong), "not part of a number")
        .help("numbers look like 12, 50_257, 0.02 or 6e-4; a name cannot begin with a digit");
  }
  push(TokenKind::Number, begin, source.slice(begin, pos));
}

void Lexer::lexString() {
  size_t begin = pos++;
  while (pos < source.size() && peek() != '"' && peek() != '\n') pos += peek() == '\\' && peek(1) != '\n' ? 2 : 1;
  pos = std::min(pos, source.size());
  StringRef content = source.slice(begin + 1, pos);
  if (peek() == '"')
    ++pos;
  else
    diagnostics.error(DiagnosticCode::E0102, spanFrom(begin), "unterminated string")
        .help("close it with `\"` on the same line");
  push(TokenKind::String, begin, content);
}

void Lexer::lexName() {
  size_t begin = pos;
  while (isNamePart(peek())) ++pos;
  push(TokenKind::Name, begin, source.slice(begin, pos));
}

void Lexer::lexUnknown() {
  size_t begin = pos++;
  while (pos < source.size() && (static_cast<unsigned char>(peek()) & 0xC0) == 0x80) ++pos;
  StringRef text = source.slice(begin, pos);
  bool printable = text.size() > 1 || llvm::isPrint(text[0]);
  auto message =
      diagnostics.error(DiagnosticCode::E0101, spanFrom(begin),
                        printable ? "unexpected character `" + text + "`"
                                  : "unexpected byte 0x" + llvm::utohexstr(static_cast<unsigned char>(text[0])));
  if (text == "−" || text == "–") message.help("write `-`");
  if (text == "×" || text == "·") message.help("write `*`");
  if (text == "!") message.help("write `not`");
  if (text == "@") message.help("a matrix product is `sum[axis](x * w)`, along the axis that both have");
  if (text == "&" || text == "|") message.help("write `and` or `or`");
  if (text == "'" || text == "“" || text == "”" || text == "‘" || text == "’")
    message.help("strings are in double quotes: `\"d.csv\"`");
  if (text == "?") message.help("write `where(condition, a, b)`, or `if` for what is known at compile time");
}

void Lexer::lexPunctuation() {
  struct Entry {
    StringRef text;
    TokenKind kind;
  };
  // Longer ones first.
  static const Entry entries[] = {
      {":=", TokenKind::Define},     {"->", TokenKind::Arrow},        {"..", TokenKind::DotDot},
      {"//", TokenKind::SlashSlash}, {"==", TokenKind::Equal},        {"!=", TokenKind::NotEqual},
      {"<=", TokenKind::LessEqual},  {">=", TokenKind::GreaterEqual}, {"(", TokenKind::LeftParen},
      {")", TokenKind::RightParen},  {"[", TokenKind::LeftBracket},   {"]", TokenKind::RightBracket},
      {"{", TokenKind::LeftBrace},   {"}", TokenKind::RightBrace},    {",", TokenKind::Comma},
      {":", TokenKind::Colon},       {"=", TokenKind::Assign},        {".", TokenKind::Dot},
      {"+", TokenKind::Plus},        {"-", TokenKind::Minus},         {"*", TokenKind::Star},
      {"/", TokenKind::Slash},       {"%", TokenKind::Percent},       {"^", TokenKind::Caret},
      {"<", TokenKind::Less},        {">", TokenKind::Greater},       {";", TokenKind::Separator},
  };
  StringRef rest = source.substr(pos);
  for (const Entry &entry : entries) {
    if (!rest.starts_with(entry.text)) continue;
    size_t begin = pos;
    pos += entry.text.size();
    switch (entry.kind) {
    case TokenKind::LeftParen:
    case TokenKind::LeftBracket:
    case TokenKind::LeftBrace:
      open.push_back(entry.kind);
      break;
    case TokenKind::RightBrace:
      // A brace closes whatever was left open inside it.
      while (!open.empty() && open.back() != TokenKind::LeftBrace) open.pop_back();
      [[fallthrough]];
    case TokenKind::RightParen:
    case TokenKind::RightBracket:
      if (!open.empty() && (entry.kind == TokenKind::RightBrace || open.back() != TokenKind::LeftBrace))
        open.pop_back();
      break;
    default:
      break;
    }
    return push(entry.kind, begin, entry.text);
  }
  lexUnknown();
}

std::vector<Token> Lexer::run() {
  if (source.size() > MaxFileSize) {
    // Without a place: its line may be all of the file.
    diagnostics.error(DiagnosticCode::E0104, "`" + diagnostics.sources()[file].name() + "` is too large")
        .help("a model file has at most 4 MiB; is this data?");
    pos = source.size();
  }
  if (source.starts_with("\xEF\xBB\xBF")) pos = 3;
  while (pos < source.size() && !diagnostics.isFull()) {
    char c = peek();
    if (c == '\n')
      lexNewline();
    else if (c == ' ' || c == '\t' || c == '\r')
      ++pos;
    else if (c == '#')
      skipComment();
    else if (llvm::isDigit(c))
      lexNumber();
    else if (c == '"')
      lexString();
    else if (isNameStart(c))
      lexName();
    else
      lexPunctuation();
  }
  pos = source.size();
  if (!tokens.empty() && tokens.back().kind != TokenKind::Separator) push(TokenKind::Separator, pos, "");
  push(TokenKind::EndOfFile, pos, "");
  return std::move(tokens);
}

std::vector<Token> tessera::lex(unsigned file, DiagnosticEngine &diagnostics) { return Lexer(file, diagnostics).run(); }
