//===- Globals.cpp - hypers, presets, --set, sizes of dims, lets -----------===//

#include "frontend/elaborate/Elaborator.h"
#include "frontend/syntax/Parser.h"
#include "llvm/ADT/ScopeExit.h"

using namespace tessera;
using llvm::StringRef;
using llvm::Twine;

static constexpr int64_t MaxDimSize = int64_t(1) << 40;

//===----------------------------------------------------------------------===//
// Hypers
//===----------------------------------------------------------------------===//

static StringRef typeName(Number number) {
  return number.isBool() ? "true or false" : number.isFloat() ? "a number" : "a whole number";
}

/// The value of `--set NAME=VALUE` for a hyper: a closed expression.
bool Elaborator::parseOverride(StringRef name, StringRef text, Number &number) {
  unsigned file = Engine.sources().add(text, ("<--set " + name + ">").str());
  ast::ExprPtr expr = parseExpression(file, Engine);
  if (!expr) return false;
  Frame frame;
  frame.file = &Program.main();
  frame.scopes.emplace_back();
  Value value = evalIn(frame, *expr);
  if (value.isNumber()) return number = value.number, true;
  if (!value.isError())
    Engine.error(DiagnosticCode::E0502, expr->span, "expected a number for `" + name + "`, got " + describe(value));
  return false;
}

/// Gives a hyper another value, which must have the type of its default.
static bool convert(Number &value, Number like) {
  if (value.isBool() != like.isBool()) return false;
  if (like.isFloat()) return value = Number::ofFloat(value.asDouble()), true;
  if (value.isFloat() && !value.isWhole()) return false;
  if (!like.isBool()) value = Number::ofInt(value.asInteger());
  return true;
}

void Elaborator::applyOverride(const std::string &name, const std::string &text, const ast::Bind *bind) {
  Number value;
  if (!parseOverride(name, text, value)) return;
  Number &current = Hypers[name];
  if (convert(value, current))
    current = value;
  else
    Engine.error(DiagnosticCode::E0502, "expected " + typeName(current) + " for `" + name + "`, got " + value.str())
        .note("`" + name + "` is declared", bind->name.span);
}

/// The hypers that an expression is computed from, directly or through dims and lets, in the order met.
void Elaborator::hypersOf(const ast::Expr &expr, std::vector<StringRef> &hypers, llvm::StringSet<> &seen) const {
  ast::forEachExpr(expr, [&](const ast::Expr &each) {
    auto *ref = llvm::dyn_cast<ast::RefExpr>(&each);
    if (!ref || !seen.insert(ref->name.text).second) return;
    StringRef name = ref->name.text;
    if (Program.hypers.count(name)) hypers.push_back(name);
    if (auto dim = Program.dims.find(name); dim != Program.dims.end() && dim->second.size->size)
      hypersOf(*dim->second.size->size, hypers, seen);
    if (auto let = Program.main().lets.find(name); let != Program.main().lets.end())
      hypersOf(*let->second.definition->value, hypers, seen);
  });
}

/// Sorts the `--set` options into hypers, whose texts are returned by name, and addressed settings.
void Elaborator::resolveSets() {
  for (const std::string &set : Options.sets) {
    auto [name, text] = StringRef(set).split('=');
    if (name.empty() || name.size() == set.size() || text.empty()) {
      Engine.error(DiagnosticCode::E0505, "malformed `--set " + set + "`").help("write `--set NAME=VALUE`");
      continue;
    }
    if (Program.hypers.count(name)) continue; // read by resolveHypers
    if (auto dim = Program.dims.find(name); dim != Program.dims.end()) {
      auto message = Engine.error(DiagnosticCode::E0504, "`" + name + "` is a dim and cannot be set");
      message.note("declared", dim->second.size->span);
      std::vector<StringRef> hypers;
      llvm::StringSet<> seen;
      if (dim->second.size->size) hypersOf(*dim->second.size->size, hypers, seen);
      StringRef size = dim->second.size->size ? Engine.sources().text(dim->second.size->size->span) : "";
      if (!hypers.empty())
        message.help("set what it is computed from: " + llvm::join(hypers, ", "));
      else if (!size.empty())
        message.help("make a hyper of its size: `hyper n_" + name + " = " + size + "` and `dim " + name + " = n_" +
                     name + "`; then set `n_" + name + "`");
      else
        message.help("its size comes from the data description");
      continue;
    }
    SettingOverrides.push_back({name.str(), text.str()});
  }
}

void Elaborator::resolveHypers() {
  resolveSets();
  std::vector<const ast::Preset *> presets;
  for (const std::string &name : Options.presets) {
    auto found = Program.presets.find(name);
    if (found != Program.presets.end()) {
      presets.push_back(found->second);
      continue;
    }
    std::vector<StringRef> known;
    for (auto &entry : Program.presets) known.push_back(entry.first);
    auto message = Engine.error(DiagnosticCode::E0503, "unknown preset `" + name + "`");
    message.help(known.empty() ? "the file declares no presets" : "the file declares " + llvm::join(known, ", "));
  }
  for (auto &[name, decl] : Program.hypers) {
    Frame frame;
    frame.file = decl.file;
    frame.scopes.emplace_back();
    FrameScope scope(*this, frame);
    std::optional<Number> value = closed(*decl.bind->value, "the default of `" + name + "`");
    if (!value) continue;
    Hypers[name] = *value;
    // Presets that are not chosen are checked too, before those that are.
    std::vector<const ast::Preset *> all;
    for (auto &entry : Program.presets)
      if (!llvm::is_contained(presets, entry.second)) all.push_back(entry.second);
    unsigned chosen = all.size();
    llvm::append_range(all, presets);
    for (auto [index, preset] : llvm::enumerate(all))
      for (const ast::Bind &bind : preset->binds)
        if (bind.name.text == name) {
          std::optional<Number> other = closed(*bind.value, "the preset's value of `" + name + "`");
          bool fits = other && convert(*other, *value);
          if (fits && index >= chosen)
            Hypers[name] = *other;
          else if (other && !fits)
            error(DiagnosticCode::E0502, bind.value->span,
                  "expected " + typeName(*value) + " for `" + name + "`, got " + other->str())
                .label(decl.bind->value->span, "the default");
        }
    for (const std::string &set : Options.sets)
      if (auto [key, text] = StringRef(set).split('='); key == name && !text.empty())
        applyOverride(name.str(), text.str(), decl.bind);
  }
  for (auto &[name, preset] : Program.presets)
    for (const ast::Bind &bind : preset->binds)
      if (!Program.hypers.count(bind.name.text)) {
        auto message =
            Engine.error(DiagnosticCode::E0501, bind.name.span, "no hyper is called `" + bind.name.text + "`");
        std::vector<StringRef> known;
        for (auto &entry : Program.hypers) known.push_back(entry.first);
        if (StringRef nearest = nearestName(bind.name.text, known); !nearest.empty())
          message.help("did you mean `" + nearest + "`?");
      }
}

//===----------------------------------------------------------------------===//
// Dims
//===----------------------------------------------------------------------===//

namespace {
/// Finds in the text of the program, in order, the axes that are repeated along and all names of dims.
struct AxisNames {
  std::vector<std::string> repeated, locals;

  void visit(const ast::Block &block) {
    for (auto &stmt : block.statements) {
      if (auto *dims = std::get_if<ast::DimStmt>(&stmt->node))
        for (const ast::DimSize &size : dims->sizes) locals.push_back(size.name.text.str());
      if (auto *let = std::get_if<ast::LetStmt>(&stmt->node))
        for (const ast::Definition &definition : let->definitions) visit(*definition.value);
    }
    if (block.result) visit(*block.result);
  }
  void visit(const ast::Expr &expr) {
    if (auto *repeat = llvm::dyn_cast<ast::RepeatExpr>(&expr)) {
      repeated.push_back(repeat->axis.text.str());
      visit(repeat->body);
    } else if (auto *call = llvm::dyn_cast<ast::CallExpr>(&expr)) {
      for (const ast::Argument &arg : call->args) visit(*arg.value);
    } else if (auto *binary = llvm::dyn_cast<ast::BinaryExpr>(&expr)) {
      visit(*binary->lhs);
      visit(*binary->rhs);
    } else if (auto *choice = llvm::dyn_cast<ast::IfExpr>(&expr)) {
      visit(choice->thenBlock);
      visit(choice->elseBlock);
    } else if (auto *field = llvm::dyn_cast<ast::FieldExpr>(&expr)) {
      visit(*field->base);
    } else if (auto *as = llvm::dyn_cast<ast::AsExpr>(&expr)) {
      visit(*as->base);
    } else if (auto *index = llvm::dyn_cast<ast::IndexExpr>(&expr)) {
      visit(*index->base);
    }
  }
};
} // namespace

std::string tessera::microAxis(const SourceProgram &program) {
  std::string name = "micro";
  while (program.dims.count(name)) name += "_";
  return name;
}

/// Canonical order: axes that are repeated along first, so that a stack's layers are contiguous, then the dims of the
/// program in the order of their declaration, then those of functions.
std::vector<std::string> tessera::canonicalAxisOrder(const SourceProgram &program) {
  std::vector<std::string> order;
  AxisNames names;
  for (auto &file : program.files)
    for (const ast::Declaration &declaration : file->tree.declarations) {
      if (auto *function = std::get_if<ast::Function>(&declaration.node)) names.visit(function->body);
      if (auto *model = std::get_if<ast::Model>(&declaration.node)) names.visit(model->body);
    }
  llvm::StringSet<> seen;
  auto add = [&](StringRef name) {
    if (seen.insert(name).second) order.push_back(name.str());
  };
  add(microAxis(program));
  for (auto &[name, decl] : program.dims)
    if (llvm::is_contained(names.repeated, name)) add(name);
  for (auto &entry : program.dims) add(entry.first);
  for (const std::string &name : names.locals) add(name);
  return order;
}

std::optional<int64_t> Elaborator::checkedSize(const Value &value, Span span, StringRef name) {
  if (value.isError()) return std::nullopt;
  if (!value.isNumber()) {
    error(DiagnosticCode::E0219, span,
          "the size of `" + name + "` must be known at compile time, got " + describe(value));
    return std::nullopt;
  }
  if (value.number.isBool() || !value.number.isWhole() || value.number.asInteger() < 1 ||
      value.number.asInteger() > MaxDimSize) {
    auto message = error(DiagnosticCode::E0223, span, "`" + name + "` would have size " + value.number.str());
    message.help(value.number.isFloat() ? "`/` divides real numbers; `//` rounds down to a whole one"
                                        : "sizes are whole numbers from 1");
    return std::nullopt;
  }
  return value.number.asInteger();
}

std::optional<int64_t> Elaborator::dimSize(StringRef name, Span use) {
  if (auto override = SizeOverrides.find(name); override != SizeOverrides.end()) return override->second;
  if (auto known = DimSizes.find(name); known != DimSizes.end()) return known->second;
  if (!SizesInProgress.insert(name).second) {
    error(DiagnosticCode::E0222, use, "the size of `" + name + "` depends on itself");
    return std::nullopt;
  }
  const DimDecl &decl = Program.dims.find(name)->second;
  Frame frame;
  frame.file = decl.file;
  frame.scopes.emplace_back();
  std::optional<int64_t> size;
  {
    FrameScope scope(*this, frame);
    size = computeDimSize(decl, use);
  }
  SizesInProgress.erase(name);
  DimSizes[name] = size;
  return size;
}

std::optional<int64_t> Elaborator::computeDimSize(const DimDecl &decl, Span use) {
  const ast::DimSize &dim = *decl.size;
  StringRef name = dim.name.text;
  if (dim.kind == ast::DimSize::Kind::Equal) return checkedSize(eval(*dim.size), dim.size->span, name);
  if (dim.kind == ast::DimSize::Kind::Like) {
    if (Program.dims.count(dim.like.text)) {
      std::optional<int64_t> size = dimSize(dim.like.text, dim.like.span);
      if (isRowAxis(dim.like.text)) RowAxes.insert(name);
      return size;
    }
    resolveAxis(dim.like); // reports it as unknown
    return std::nullopt;
  }
  std::optional<int64_t> bound;
  if (dim.size && !(bound = checkedSize(eval(*dim.size), dim.size->span, name))) return std::nullopt;
  auto given = DataSizes.find(name);
  if (given == DataSizes.end()) {
    if (!Program.train) return bound ? std::min<int64_t>(*bound, 8) : 8; // only checked, never run
    error(DiagnosticCode::E0222, use, "the dim `" + name + "` has no size")
        .label(dim.name.span, "declared without a size")
        .help(name == "batch" || name == "seq"
                  ? "write `" + name + " = …` in the data description, or `dim " + name + " = …`"
                  : "write `dim " + name + " = …`; data gives sizes to `batch` and `seq` only");
    return std::nullopt;
  }
  if (bound && given->second.first > *bound) {
    error(DiagnosticCode::E0223, given->second.second,
          "`" + name + "` = " + Twine(given->second.first) + " is more than " + Twine(*bound))
        .label(given->second.second, "the data gives it this size")
        .label(dim.span, "at most " + Twine(*bound));
    return std::nullopt;
  }
  return given->second.first;
}

//===----------------------------------------------------------------------===//
// Closed expressions and lets
//===----------------------------------------------------------------------===//

Value Elaborator::evalIn(Frame &frame, const ast::Expr &expr) {
  FrameScope scope(*this, frame);
  return eval(expr);
}

/// The value of an expression that must be known at compile time; `otherwise` helps where that was not meant.
std::optional<Number> Elaborator::closed(const ast::Expr &expr, const Twine &what, StringRef otherwise) {
  std::string description = what.str();
  Value value = eval(expr);
  if (value.isNumber()) return value.number;
  if (value.isTensor()) {
    auto message =
        error(DiagnosticCode::E0219, expr.span, description + " must be known at compile time, got " + describe(value));
    message.help("compute it from numbers, hypers and dims");
    if (!otherwise.empty()) message.help(otherwise);
  } else if (!value.isError()) {
    error(DiagnosticCode::E0205, expr.span, description + " must be a number, true or false, got " + describe(value));
  }
  return std::nullopt;
}

Value Elaborator::globalLet(const FileScope &file, StringRef name, const LetDecl &let) {
  const ast::Definition *definition = let.definition;
  auto known = Lets.find(definition);
  if (known == Lets.end()) {
    if (!LetsInProgress.insert(definition).second)
      return failed(DiagnosticCode::E0201, definition->names[0].span, "the value of `" + name + "` depends on itself");
    Frame frame;
    frame.file = &file;
    frame.scopes.emplace_back();
    Value value = evalIn(frame, *definition->value);
    LetsInProgress.erase(definition);
    if (value.isTensor())
      value = failed(DiagnosticCode::E0219, definition->value->span,
                     "a `let` outside functions must be known at compile time, got " + describe(value));
    if (definition->isTuple && !value.isError() &&
        (value.kind != Value::Kind::Tuple || value.elements.size() != definition->names.size()))
      value = failed(DiagnosticCode::E0227, definition->value->span,
                     "expected a tuple of " + Twine(definition->names.size()) + " elements, got " + describe(value));
    known = Lets.try_emplace(definition, std::move(value)).first;
  }
  if (definition->isTuple && !known->second.isError()) return known->second.elements[let.element].second;
  return known->second;
}
