//===- Lexer.h - text to tokens --------------------------------------------===//

#ifndef TESSERA_FRONTEND_SYNTAX_LEXER_H
#define TESSERA_FRONTEND_SYNTAX_LEXER_H

#include "frontend/diagnostics/Diagnostics.h"
#include <vector>

namespace tessera {

enum class TokenKind {
  EndOfFile,
  Separator, ///< a newline that ends a statement, or `;`
  Name,      ///< also keywords: which words are reserved depends on the place
  Number,
  String,
  LeftParen,
  RightParen,
  LeftBracket,
  RightBracket,
  LeftBrace,
  RightBrace,
  Comma,
  Colon,
  Assign, ///< =
  Define, ///< :=
  Arrow,  ///< ->
  Dot,
  DotDot,
  Plus,
  Minus,
  Star,
  Slash,
  SlashSlash,
  Percent,
  Caret,
  Equal,
  NotEqual,
  Less,
  LessEqual,
  Greater,
  GreaterEqual,
};

struct Token {
  TokenKind kind = TokenKind::EndOfFile;
  Span span;
  llvm::StringRef text; ///< as written; for strings without the quotes
  llvm::StringRef doc;  ///< the `##` lines directly above, as written
};

/// Cuts a file into tokens, the last of which is EndOfFile. A newline is a token only where it ends a statement: not
/// inside parentheses or brackets, not after an operator or a comma, not before `else`.
std::vector<Token> lex(unsigned file, DiagnosticEngine &diagnostics);

/// How a kind is called in messages: "`(`", "a name".
llvm::StringRef describe(TokenKind kind);

/// Whether `word` begins a statement or declaration, or is a word of expressions, and so cannot be a name.
bool isReserved(llvm::StringRef word);

} // namespace tessera

#endif // TESSERA_FRONTEND_SYNTAX_LEXER_H
