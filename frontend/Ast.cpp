//===- Ast.cpp - the syntax tree of a model file ---------------------------===//

#include "frontend/Ast.h"

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
