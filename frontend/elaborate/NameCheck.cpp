//===- NameCheck.cpp - names in what no expansion has reached -------------===//

#include "frontend/elaborate/NameCheck.h"

using namespace tessera;
using llvm::StringRef;
using llvm::Twine;

namespace {
/// Resolves the names in one body.
class BodyCheck : ElaborationComponent {
public:
  BodyCheck(CallStack &calls, NameResolver &names, const FileScope &file)
      : ElaborationComponent(calls), resolver(names), here(fileFrame(file)), entered(calls, here) {}

  void check(const std::vector<ast::Param> &params, const ast::Axes *axes, const ast::Block &body);

private:
  static Frame fileFrame(const FileScope &file) {
    Frame frame;
    frame.file = &file;
    return frame;
  }
  void visit(const ast::Block &block);
  void visit(const ast::Stmt &stmt);
  void visit(const ast::Expr &expr);
  void visit(const ast::CallExpr &call);
  void visit(const ast::Axes &axes);
  void visitPositions(const std::vector<ast::Bind> &positions);
  void checkArguments(const ast::CallExpr &call, const ast::Function &function);
  void resolve(const ast::Name &name);
  void resolveAxis(const ast::Name &name);
  void define(const ast::Name &name) { here.scopes.back().try_emplace(name.text, LanguageValue()); }
  void visitIf(const ast::ExprPtr &expr) {
    if (expr) visit(*expr);
  }

  NameResolver &resolver;
  Frame here;
  FrameScope entered;
};
} // namespace

void BodyCheck::check(const std::vector<ast::Param> &params, const ast::Axes *axes, const ast::Block &body) {
  if (axes)
    for (const ast::AxisItem &axis : axes->list) here.axes[axis.name.text] = {axis.name.text.str(), 1};
  for (const ast::Param &param : params)
    if (param.axes)
      for (const ast::AxisItem &axis : param.axes->list)
        if (axis.isRest && !axis.name.text.empty()) here.rests[axis.name.text];
  here.scopes.emplace_back();
  for (const ast::Param &param : params) {
    if (param.axes) visit(*param.axes);
    if (!param.within.text.empty()) resolveAxis(param.within);
    visitIf(param.fallback);
    define(param.name);
  }
  visit(body);
}

//===----------------------------------------------------------------------===//
// Names
//===----------------------------------------------------------------------===//

void BodyCheck::resolve(const ast::Name &name) {
  bool known = here.axes.count(name.text) || here.rests.count(name.text) || declared.dims.count(name.text) ||
               declared.hypers.count(name.text) || here.file->lets.count(name.text) ||
               here.file->functions.count(name.text) || isBuiltin(name.text) ||
               llvm::is_contained({"training", "true", "false", "inf", "pi", "none", "step"}, name.text) ||
               llvm::any_of(here.scopes, [&](auto &scope) { return scope.count(name.text) > 0; });
  if (!known) resolver.lookup(name); // says so
}

void BodyCheck::resolveAxis(const ast::Name &name) {
  bool known = here.axes.count(name.text) || here.rests.count(name.text) || declared.dims.count(name.text);
  if (!known) resolver.resolveAxis(name); // says so
}

void BodyCheck::visit(const ast::Axes &axes) {
  for (const ast::AxisItem &axis : axes.list) {
    if (!axis.name.text.empty()) resolveAxis(axis.name);
    visitIf(axis.size);
  }
}

//===----------------------------------------------------------------------===//
// Statements
//===----------------------------------------------------------------------===//

void BodyCheck::visit(const ast::Block &block) {
  llvm::StringMap<AxisRef> outer = here.axes;
  here.scopes.emplace_back();
  for (auto &stmt : block.statements) visit(*stmt);
  visitIf(block.result);
  here.scopes.pop_back();
  here.axes = std::move(outer);
}

void BodyCheck::visit(const ast::Stmt &stmt) {
  if (auto *dims = std::get_if<ast::DimStmt>(&stmt.node))
    for (const ast::DimSize &size : dims->sizes) {
      if (size.kind == ast::DimSize::Kind::Like) resolveAxis(size.like);
      visitIf(size.size);
      here.axes[size.name.text] = {size.name.text.str(), 1};
    }
  if (auto *let = std::get_if<ast::LetStmt>(&stmt.node))
    for (const ast::Definition &definition : let->definitions) {
      visitIf(definition.value);
      for (const ast::Name &name : definition.names) define(name);
    }
  if (auto *log = std::get_if<ast::LogStmt>(&stmt.node))
    for (const ast::Bind &bind : log->binds) visitIf(bind.value);
  if (auto *param = std::get_if<ast::ParamStmt>(&stmt.node)) {
    visit(param->axes);
    visitIf(param->init);
    for (const ast::Name &name : param->names) define(name);
  }
  if (auto *part = std::get_if<ast::PartStmt>(&stmt.node)) {
    resolve(part->function);
    define(part->name);
  }
  if (auto *assign = std::get_if<ast::AssignStmt>(&stmt.node)) {
    resolve(assign->name);
    visitIf(assign->value);
  }
  if (auto *expect = std::get_if<ast::ExpectStmt>(&stmt.node)) visitIf(expect->value);
  if (auto *require = std::get_if<ast::RequireStmt>(&stmt.node)) visitIf(require->condition);
}

//===----------------------------------------------------------------------===//
// Expressions
//===----------------------------------------------------------------------===//

void BodyCheck::visitPositions(const std::vector<ast::Bind> &positions) {
  for (const ast::Bind &bind : positions) {
    resolveAxis(bind.name);
    visitIf(bind.value);
  }
}

void BodyCheck::visit(const ast::Expr &expr) {
  if (auto *ref = llvm::dyn_cast<ast::RefExpr>(&expr)) {
    resolve(ref->name);
    if (ref->axes) visit(*ref->axes);
  } else if (auto *call = llvm::dyn_cast<ast::CallExpr>(&expr)) {
    visit(*call);
  } else if (auto *unary = llvm::dyn_cast<ast::UnaryExpr>(&expr)) {
    visitIf(unary->operand);
  } else if (auto *binary = llvm::dyn_cast<ast::BinaryExpr>(&expr)) {
    visitIf(binary->lhs);
    visitIf(binary->rhs);
  } else if (auto *index = llvm::dyn_cast<ast::IndexExpr>(&expr)) {
    visitIf(index->base);
    visitPositions(index->positions);
    visitIf(index->otherwise);
  } else if (auto *into = llvm::dyn_cast<ast::IntoExpr>(&expr)) {
    visitIf(into->base);
    visitPositions(into->positions);
  } else if (auto *field = llvm::dyn_cast<ast::FieldExpr>(&expr)) {
    visitIf(field->base);
  } else if (auto *as = llvm::dyn_cast<ast::AsExpr>(&expr)) {
    visitIf(as->base);
    for (const ast::Renaming &renaming : as->renamings) {
      for (const ast::Name &name : renaming.from) resolveAxis(name);
      for (const ast::Name &name : renaming.to) resolveAxis(name);
    }
  } else if (auto *tuple = llvm::dyn_cast<ast::TupleExpr>(&expr)) {
    for (const ast::Argument &element : tuple->elements) visitIf(element.value);
  } else if (auto *repeat = llvm::dyn_cast<ast::RepeatExpr>(&expr)) {
    resolveAxis(repeat->axis);
    for (const ast::Bind &bind : repeat->carried) visitIf(bind.value);
    here.scopes.emplace_back();
    for (const ast::Bind &bind : repeat->carried) define(bind.name);
    visit(repeat->body);
    here.scopes.pop_back();
  } else if (auto *choice = llvm::dyn_cast<ast::IfExpr>(&expr)) {
    visitIf(choice->condition);
    visit(choice->thenBlock);
    visit(choice->elseBlock);
  }
}

void BodyCheck::visit(const ast::CallExpr &call) {
  resolve(call.callee);
  if (call.axes) visit(*call.axes);
  for (const ast::Argument &arg : call.args) visitIf(arg.value);
  for (auto &scope : here.scopes)
    if (scope.count(call.callee.text)) return;
  if (auto found = here.file->functions.find(call.callee.text); found != here.file->functions.end())
    checkArguments(call, *found->second.function);
}

/// Each argument has a parameter, and each parameter without a default an argument.
void BodyCheck::checkArguments(const ast::CallExpr &call, const ast::Function &function) {
  std::vector<bool> given(function.params.size(), false);
  for (unsigned i = 0; i < call.args.size(); ++i) {
    const ast::Argument &arg = call.args[i];
    unsigned index = i;
    if (!arg.name.text.empty())
      index = llvm::find_if(function.params, [&](const ast::Param &p) { return p.name.text == arg.name.text; }) -
              function.params.begin();
    if (index < given.size()) {
      given[index] = true;
      continue;
    }
    error(DiagnosticCode::E0206, arg.name.text.empty() ? arg.value->span : arg.name.span,
          arg.name.text.empty()
              ? "too many arguments: `" + call.callee.text + "` takes " + Twine(function.params.size())
              : "`" + call.callee.text + "` has no parameter `" + arg.name.text + "`");
    return;
  }
  for (auto [param, isGiven] : llvm::zip(function.params, given))
    if (!isGiven && !param.fallback)
      error(DiagnosticCode::E0206, call.span,
            "`" + call.callee.text + "` needs an argument for `" + param.name.text + "`");
}

//===----------------------------------------------------------------------===//
// The program
//===----------------------------------------------------------------------===//

void NameCheck::checkDims() {
  for (auto &[name, decl] : declared.dims) {
    const ast::DimSize &dim = *decl.size;
    Frame frame = Frame::ofFile(*decl.file);
    FrameScope scope(calls, frame);
    if (dim.kind == ast::DimSize::Kind::Equal)
      sizes.size(name, dim.name.span);
    else if (dim.kind == ast::DimSize::Kind::AtMost)
      sizes.checkedSize(evaluator.eval(*dim.size), dim.size->span, name);
    else if (dim.kind == ast::DimSize::Kind::Like && !declared.dims.count(dim.like.text))
      resolver.resolveAxis(dim.like);
  }
}

void NameCheck::checkFile(const FileScope &file) {
  for (const ast::Declaration &declaration : file.tree.declarations) {
    if (auto *let = std::get_if<ast::LetStmt>(&declaration.node))
      for (const ast::Definition &definition : let->definitions)
        fileLets.find(file, definition.names[0].text, file.lets.lookup(definition.names[0].text));
    if (auto *function = std::get_if<ast::Function>(&declaration.node))
      BodyCheck(calls, resolver, file)
          .check(function->params, function->axes ? &*function->axes : nullptr, function->body);
    if (auto *model = std::get_if<ast::Model>(&declaration.node))
      BodyCheck(calls, resolver, file).check(model->params, nullptr, model->body);
    if (std::holds_alternative<ast::Test>(declaration.node))
      diagnostics.warning(DiagnosticCode::E0701,
                          {declaration.span.file, declaration.span.begin, declaration.span.begin + 4},
                          "this version neither runs nor checks tests");
  }
}

void NameCheck::run() {
  entry.end();
  checkDims();
  for (auto &file : declared.files)
    if (!file->isLibrary) checkFile(*file);
}
