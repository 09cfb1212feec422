//===- Dims.cpp - the sizes and names of axes -------------------------------===//

#include "frontend/elaborate/Dims.h"

using namespace tessera;
using llvm::StringRef;
using llvm::Twine;

static constexpr int64_t MaxDimSize = int64_t(1) << 40;

//===----------------------------------------------------------------------===//
// Names
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

std::string tessera::microAxis(const Declarations &program) {
  std::string name = "micro";
  while (program.dims.count(name)) name += "_";
  return name;
}

/// Canonical order: axes that are repeated along first, so that a stack's layers are contiguous, then the dims of the
/// program in the order of their declaration, then those of functions.
std::vector<std::string> tessera::canonicalAxisOrder(const Declarations &program) {
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

std::string Dims::uniqueAxisName(StringRef name, int64_t size, bool isRows,
                                 llvm::function_ref<bool(StringRef)> isTaken) {
  for (unsigned suffix = 1;; ++suffix) {
    std::string candidate = suffix == 1 ? name.str() : (name + "_" + Twine(suffix)).str();
    bool taken = declared.dims.count(candidate) || isTaken(candidate);
    auto known = localSizes.find(candidate);
    if (known != localSizes.end()) taken |= known->second != size || sampleAxes.contains(candidate) != isRows;
    if (taken) continue;
    localSizes[candidate] = size;
    if (isRows) sampleAxes.insert(candidate);
    return candidate;
  }
}

//===----------------------------------------------------------------------===//
// Sizes
//===----------------------------------------------------------------------===//

void Dims::beginEntry() {
  sizes.clear();
  overrides.clear();
  localSizes.clear();
  sampleAxes.clear();
  batchSizedAxes.clear();
}

bool Dims::agreesWithDeclaration(StringRef dim, int64_t size, Span span) {
  auto found = declared.dims.find(dim);
  if (found == declared.dims.end()) return true;
  const ast::DimSize &declaration = *found->second.size;
  if (declaration.kind != ast::DimSize::Kind::Equal && declaration.kind != ast::DimSize::Kind::Like) return true;
  std::optional<int64_t> wanted = this->size(dim, span);
  if (!wanted || *wanted == size) return wanted.has_value();
  error(DiagnosticCode::E0223, span,
        "the data gives `" + dim + "` the size " + Twine(size) + ", its declaration gives it " + Twine(*wanted))
      .label(span, Twine(size) + " here")
      .label(declaration.span, Twine(*wanted) + " here")
      .help("leave the size to the data: `dim " + dim + "`");
  return false;
}

void Dims::giveSize(StringRef dim, int64_t size, Span span) {
  if (!declared.dims.count(dim)) {
    error(DiagnosticCode::E0204, span, "the data gives a size to `" + dim + "`, which is not a dim")
        .help("declare it: `dim " + dim + "`");
    return;
  }
  auto [entry, isNew] = dataSizes.insert({dim, {size, span}});
  if (!isNew && entry->second.first != size)
    error(DiagnosticCode::E0410, span, "two data sources give `" + dim + "` different sizes")
        .label(entry->second.second, "the other one");
}

std::optional<int64_t> Dims::checkedSize(const LanguageValue &value, Span span, StringRef name) {
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

std::optional<int64_t> Dims::size(StringRef name, Span use) {
  if (auto override = overrides.find(name); override != overrides.end()) return override->second;
  if (auto known = sizes.find(name); known != sizes.end()) return known->second;
  if (!inProgress.insert(name).second) {
    error(DiagnosticCode::E0222, use, "the size of `" + name + "` depends on itself");
    return std::nullopt;
  }
  const DimDecl &decl = declared.dims.find(name)->second;
  Frame frame = Frame::ofFile(*decl.file);
  std::optional<int64_t> size;
  {
    FrameScope scope(calls, frame);
    SizeReads counted(*this, true); // the size is kept for other readers
    bool wasRead = std::exchange(batchSizeRead, false);
    size = computeSize(decl, use);
    if (batchSizeRead) batchSizedAxes.insert(name);
    batchSizeRead |= wasRead;
  }
  inProgress.erase(name);
  sizes[name] = size;
  return size;
}

std::optional<int64_t> Dims::computeSize(const DimDecl &decl, Span use) {
  const ast::DimSize &dim = *decl.size;
  StringRef name = dim.name.text;
  auto given = dataSizes.find(name);
  if (dim.kind == ast::DimSize::Kind::Equal)
    return given != dataSizes.end() ? given->second.first
                                    : checkedSize(evaluator.eval(*dim.size), dim.size->span, name);
  if (dim.kind == ast::DimSize::Kind::Like) {
    if (declared.dims.count(dim.like.text)) {
      std::optional<int64_t> size = this->size(dim.like.text, dim.like.span);
      if (isSampleAxis(dim.like.text)) sampleAxes.insert(name);
      if (batchSizedAxes.contains(dim.like.text)) batchSizedAxes.insert(name);
      return size;
    }
    calls.reportUnknownAxis(dim.like);
    return std::nullopt;
  }
  std::optional<int64_t> bound;
  if (dim.size && !(bound = checkedSize(evaluator.eval(*dim.size), dim.size->span, name))) return std::nullopt;
  if (given == dataSizes.end()) {
    if (!declared.train) return bound ? std::min<int64_t>(*bound, 8) : 8; // only checked, never run
    error(DiagnosticCode::E0222, use, "the dim `" + name + "` has no size")
        .label(dim.name.span, "declared without a size")
        .help(name == batchAxis || name == seqAxis
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
