//===- Ast.h - the syntax tree of a model file -----------------------------===//
//
// Plain structs with spans. Names point into the source text, so a tree lives
// no longer than its DiagnosticEngine. The height of an expression is bounded
// by the parser: recursion over a tree cannot overflow the stack.
//
//===----------------------------------------------------------------------===//

#ifndef TESSERA_FRONTEND_SYNTAX_AST_H
#define TESSERA_FRONTEND_SYNTAX_AST_H

#include "frontend/diagnostics/Source.h"
#include "llvm/ADT/STLFunctionalExtras.h"
#include "llvm/ADT/StringRef.h"
#include "llvm/Support/Casting.h"
#include <memory>
#include <optional>
#include <variant>
#include <vector>

namespace tessera::ast {

using llvm::StringRef;

struct Name {
  StringRef text;
  Span span;
};

struct Expr;
using ExprPtr = std::unique_ptr<Expr>;

/// `NAME = expr`.
struct Bind {
  Name name;
  ExprPtr value;
};

/// One entry of an axis list: `seq`, `seq: 6`, `..` or `r..`.
struct AxisItem {
  Name name; ///< empty for a plain `..`
  bool isRest = false;
  ExprPtr size; ///< only in `seq: 6`
  Span span;
};

struct Axes {
  std::vector<AxisItem> list;
  Span span;
};

/// An argument: positional, or `NAME = expr`.
struct Argument {
  Name name; ///< empty if positional
  ExprPtr value;
};

/// One entry of `as […]`: `seq -> key`, `hd -> (pair, half)`, `(gy, gx) -> patch`.
struct Renaming {
  std::vector<Name> from, to;
  Span span;
};

//===----------------------------------------------------------------------===//
// Expressions
//===----------------------------------------------------------------------===//

struct Expr {
  enum class Kind { Number, String, Ref, Call, Unary, Binary, Index, Into, Field, As, Tuple, Repeat, If };
  Expr(Kind kind, Span span) : kind(kind), span(span) {}
  virtual ~Expr() = default;

  const Kind kind;
  Span span;
  unsigned height = 1; ///< of the tree below, blocks included
};

template <Expr::Kind K> struct ExprOf : Expr {
  explicit ExprOf(Span span) : Expr(K, span) {}
  static bool classof(const Expr *expr) { return expr->kind == K; }
};

struct NumberExpr : ExprOf<Expr::Kind::Number> {
  using ExprOf::ExprOf;
  double value = 0;
  std::optional<int64_t> integer; ///< set if written without point and exponent
};

struct StringExpr : ExprOf<Expr::Kind::String> {
  using ExprOf::ExprOf;
  std::string value;
};

/// A name, or a function with its axes as a static argument: `relu`, `layer_norm[embed]`.
struct RefExpr : ExprOf<Expr::Kind::Ref> {
  using ExprOf::ExprOf;
  Name name;
  std::optional<Axes> axes;
};

struct CallExpr : ExprOf<Expr::Kind::Call> {
  using ExprOf::ExprOf;
  Name label; ///< empty if unlabelled
  Name callee;
  std::optional<Axes> axes;
  std::vector<Argument> args;
};

enum class UnaryOp { Negate, Not };
enum class BinaryOp { Or, And, Eq, Ne, Lt, Le, Gt, Ge, Add, Sub, Mul, Div, FloorDiv, Mod, Pow };

/// The operator as written.
StringRef spelling(BinaryOp op);

struct UnaryExpr : ExprOf<Expr::Kind::Unary> {
  using ExprOf::ExprOf;
  UnaryOp op = UnaryOp::Negate;
  ExprPtr operand;
};

struct BinaryExpr : ExprOf<Expr::Kind::Binary> {
  using ExprOf::ExprOf;
  BinaryOp op = BinaryOp::Add;
  Span opSpan;
  ExprPtr lhs, rhs;
};

/// `x[axis = e, … else v]`.
struct IndexExpr : ExprOf<Expr::Kind::Index> {
  using ExprOf::ExprOf;
  ExprPtr base;
  std::vector<Bind> positions;
  ExprPtr otherwise; ///< may be null
};

/// `x into [axis = e, …]`.
struct IntoExpr : ExprOf<Expr::Kind::Into> {
  using ExprOf::ExprOf;
  ExprPtr base;
  std::vector<Bind> positions;
};

struct FieldExpr : ExprOf<Expr::Kind::Field> {
  using ExprOf::ExprOf;
  ExprPtr base;
  Name field;
};

struct AsExpr : ExprOf<Expr::Kind::As> {
  using ExprOf::ExprOf;
  ExprPtr base;
  std::vector<Renaming> renamings;
};

/// `(a, b)` or `(x = a, y = b)`; a single expression in parentheses is itself.
struct TupleExpr : ExprOf<Expr::Kind::Tuple> {
  using ExprOf::ExprOf;
  std::vector<Argument> elements;
};

struct Stmt;
struct Block {
  Block();
  Block(Block &&) noexcept;
  Block &operator=(Block &&) noexcept;
  ~Block();

  std::vector<std::unique_ptr<Stmt>> statements;
  ExprPtr result; ///< null only after a syntax error
  Span span;
  unsigned height = 0; ///< of the tallest expression inside
};

struct RepeatExpr : ExprOf<Expr::Kind::Repeat> {
  using ExprOf::ExprOf;
  Name axis;
  std::vector<Bind> carried;
  Block body;
};

struct IfExpr : ExprOf<Expr::Kind::If> {
  using ExprOf::ExprOf;
  ExprPtr condition;
  Block thenBlock, elseBlock;
};

//===----------------------------------------------------------------------===//
// Statements
//===----------------------------------------------------------------------===//

/// `a`, `a = n`, `a <= n` or `a like b` of a `dim` declaration.
struct DimSize {
  enum class Kind { FromInputs, Equal, AtMost, Like };
  Name name;
  Kind kind = Kind::FromInputs;
  ExprPtr size; ///< for Equal and AtMost
  Name like;
  Span span;
};

/// `a = e` or `(a, b) = e` of a `let`.
struct Definition {
  std::vector<Name> names;
  bool isTuple = false;
  ExprPtr value;
};

enum class ParamKind { Weight, Bias, Gain, State };
StringRef spelling(ParamKind kind);

struct DimStmt {
  std::vector<DimSize> sizes;
};
struct LetStmt {
  std::vector<Definition> definitions;
};
struct LogStmt {
  bool isLoss = true;
  std::vector<Bind> binds;
};
struct ParamStmt {
  ParamKind kind = ParamKind::Weight;
  std::vector<Name> names;
  Axes axes;
  ExprPtr init; ///< may be null
};
struct PartStmt {
  Name name, function;
  std::optional<Axes> axes;
};
struct AssignStmt {
  Name name;
  ExprPtr value;
};
struct ExpectStmt {
  ExprPtr value;
};
/// `require rate < 1, "…"`: what a function demands of its arguments.
struct RequireStmt {
  ExprPtr condition;
  std::string message;
};

struct Stmt {
  Span span;
  std::variant<DimStmt, LetStmt, LogStmt, ParamStmt, PartStmt, AssignStmt, ExpectStmt, RequireStmt> node;
};

//===----------------------------------------------------------------------===//
// Declarations
//===----------------------------------------------------------------------===//

/// A parameter of a function or model: a tensor `x[.., a] in vocab`, or a static argument `k = 3`.
struct Param {
  Name name;
  std::optional<Axes> axes;
  Name within; ///< the dim after `in`; empty if none
  ExprPtr fallback;
  Span span;
};

/// The one library, which `use` knows without quotes.
inline constexpr llvm::StringLiteral libraryName = "nn";

struct Use {
  Name library;     ///< `nn`; empty if a file is named
  std::string file; ///< "blocks.tsr"
  Span source;      ///< of the library's or file's name
  std::vector<Name> names;
};
struct Hyper {
  std::vector<Bind> binds;
};
struct Preset {
  Name name;
  std::vector<Bind> binds;
};
struct Function {
  Name name;
  std::optional<Axes> axes;
  std::vector<Param> params;
  Block body;
};
/// One result of a model; unnamed in the short form `-> [batch, vocab]`.
struct ModelOutput {
  Name name;
  Axes axes;
};
struct Model {
  Name name;
  std::vector<Param> params;
  std::vector<ModelOutput> outputs;
  Block body;
};

/// `*`, `**` or a name.
struct PathPattern {
  std::vector<Name> segments;
  Span span;
};
struct DataItem {
  Name name;
  ExprPtr source;
};
struct OptimizeItem {
  ExprPtr rule;
  std::vector<PathPattern> selection;
};
struct SettingItem {
  ExprPtr call;
};
struct TrainItem {
  Span span;
  std::variant<DataItem, LetStmt, LogStmt, OptimizeItem, SettingItem> node;
};
struct Train {
  Name model;
  std::vector<TrainItem> items;
  Span span;
};
struct Test {
  std::string title;
  Block body; ///< without a result
};

struct Declaration {
  Span span;
  StringRef doc; ///< the `##` lines above, as written
  std::variant<Use, Hyper, Preset, DimStmt, LetStmt, Function, Model, Train, Test> node;
};

/// Visits an expression and all below it, those of blocks included, from the outside in.
void forEachExpr(const Expr &expr, llvm::function_ref<void(const Expr &)> visit);
void forEachExpr(const Block &block, llvm::function_ref<void(const Expr &)> visit);

struct File {
  unsigned file = 0;
  std::vector<Declaration> declarations;
};

} // namespace tessera::ast

#endif // TESSERA_FRONTEND_SYNTAX_AST_H
