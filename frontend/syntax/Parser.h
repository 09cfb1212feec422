//===- Parser.h - tokens to a syntax tree ----------------------------------===//

#ifndef TESSERA_FRONTEND_SYNTAX_PARSER_H
#define TESSERA_FRONTEND_SYNTAX_PARSER_H

#include "frontend/diagnostics/Diagnostics.h"
#include "frontend/syntax/Ast.h"

namespace tessera {

/// How deep expressions and blocks may nest.
inline constexpr unsigned MaxNesting = 256;

/// Parses a file of `diagnostics.sources()`. After an error the parser continues with the next statement, so that the
/// tree holds everything that could be understood; check `diagnostics.hasErrors()` before elaborating it.
ast::File parseFile(unsigned file, DiagnosticEngine &diagnostics);

/// Parses one expression, such as the value of a `--set`; null after an error.
ast::ExprPtr parseExpression(unsigned file, DiagnosticEngine &diagnostics);

} // namespace tessera

#endif // TESSERA_FRONTEND_SYNTAX_PARSER_H
