//===- Ast.cpp - the syntax tree of a model file ---------------------------===//

#include "frontend/syntax/Ast.h"

using namespace tessera::ast;

Block::Block() = default;
Block::Block(Block &&) noexcept = default;
Block &Block::operator=(Block &&) noexcept = default;
Block::~Block() = default;

llvm::StringRef tessera::ast::spelling(BinaryOp op) {
  static const StringRef words[] = {"or", "and", "==", "!=", "<", "<=", ">", ">=", "+", "-", "*", "/", "//", "%", "^"};
  return words[static_cast<unsigned>(op)];
}

llvm::StringRef tessera::ast::spelling(ParamKind kind) {
  static const StringRef words[] = {"weight", "bias", "gain", "state"};
  return words[static_cast<unsigned>(kind)];
}

void tessera::ast::forEachExpr(const Block &block, llvm::function_ref<void(const Expr &)> visit) {
  auto visitIf = [&](const ExprPtr &expr) {
    if (expr) forEachExpr(*expr, visit);
  };
  for (auto &stmt : block.statements) {
    if (auto *dims = std::get_if<DimStmt>(&stmt->node))
      for (const DimSize &size : dims->sizes) visitIf(size.size);
    if (auto *let = std::get_if<LetStmt>(&stmt->node))
      for (const Definition &definition : let->definitions) visitIf(definition.value);
    if (auto *log = std::get_if<LogStmt>(&stmt->node))
      for (const Bind &bind : log->binds) visitIf(bind.value);
    if (auto *param = std::get_if<ParamStmt>(&stmt->node)) visitIf(param->init);
    if (auto *assign = std::get_if<AssignStmt>(&stmt->node)) visitIf(assign->value);
    if (auto *expect = std::get_if<ExpectStmt>(&stmt->node)) visitIf(expect->value);
    if (auto *require = std::get_if<RequireStmt>(&stmt->node)) visitIf(require->condition);
  }
  visitIf(block.result);
}

void tessera::ast::forEachExpr(const Expr &expr, llvm::function_ref<void(const Expr &)> visit) {
  visit(expr);
  auto visitIf = [&](const ExprPtr &child) {
    if (child) forEachExpr(*child, visit);
  };
  auto visitAll = [&](auto &list) {
    for (auto &each : list) visitIf(each.value);
  };
  if (auto *call = llvm::dyn_cast<CallExpr>(&expr)) {
    visitAll(call->args);
  } else if (auto *unary = llvm::dyn_cast<UnaryExpr>(&expr)) {
    visitIf(unary->operand);
  } else if (auto *binary = llvm::dyn_cast<BinaryExpr>(&expr)) {
    visitIf(binary->lhs);
    visitIf(binary->rhs);
  } else if (auto *index = llvm::dyn_cast<IndexExpr>(&expr)) {
    visitIf(index->base);
    visitAll(index->positions);
    visitIf(index->otherwise);
  } else if (auto *into = llvm::dyn_cast<IntoExpr>(&expr)) {
    visitIf(into->base);
    visitAll(into->positions);
  } else if (auto *field = llvm::dyn_cast<FieldExpr>(&expr)) {
    visitIf(field->base);
  } else if (auto *as = llvm::dyn_cast<AsExpr>(&expr)) {
    visitIf(as->base);
  } else if (auto *tuple = llvm::dyn_cast<TupleExpr>(&expr)) {
    visitAll(tuple->elements);
  } else if (auto *repeat = llvm::dyn_cast<RepeatExpr>(&expr)) {
    visitAll(repeat->carried);
    forEachExpr(repeat->body, visit);
  } else if (auto *choice = llvm::dyn_cast<IfExpr>(&expr)) {
    visitIf(choice->condition);
    forEachExpr(choice->thenBlock, visit);
    forEachExpr(choice->elseBlock, visit);
  }
}
