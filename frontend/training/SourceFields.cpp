//===- SourceFields.cpp - the fields of data that a model file describes ----===//

#include "frontend/training/SourceFields.h"

using namespace tessera;
using llvm::StringRef;
using llvm::Twine;

std::optional<DataArgument> tessera::argumentNamed(StringRef name, DataArguments allowed) {
  std::optional<DataArgument> argument = dataArgumentNamed(std::string_view(name));
  return argument && allowed.has(*argument) ? argument : std::nullopt;
}

std::vector<StringRef> tessera::namesOf(DataArguments arguments) {
  std::vector<StringRef> names;
  for (const DataArgumentInfo &info : dataArguments)
    if (arguments.has(info.argument)) names.push_back(info.name);
  return names;
}

int64_t SourceField::elements() const {
  int64_t count = 1;
  for (const AxisRef &axis : axes)
    if (__builtin_mul_overflow(count, axis.size, &count)) return INT32_MAX;
  return std::min<int64_t>(count, INT32_MAX);
}

//===----------------------------------------------------------------------===//
// Arguments
//===----------------------------------------------------------------------===//

bool SourceFields::readStrings(const ast::Expr &expr, std::vector<std::string> &strings, StringRef what) {
  if (auto *text = llvm::dyn_cast<ast::StringExpr>(&expr)) {
    strings.push_back(text->value);
    return true;
  }
  auto *tuple = llvm::dyn_cast<ast::TupleExpr>(&expr);
  bool ok = tuple != nullptr;
  if (tuple)
    for (const ast::Argument &element : tuple->elements) {
      auto *text = llvm::dyn_cast<ast::StringExpr>(element.value.get());
      ok &= element.name.text.empty() && text;
      if (ok) strings.push_back(text->value);
    }
  if (!ok) error(DiagnosticCode::E0410, expr.span, "expected " + what + " in quotes, or several in parentheses");
  return ok;
}

bool SourceFields::readBound(SourceField &field, const ast::Expr &expr) {
  std::optional<Number> number = elaboration.exprs.expressions.evalConstant(expr, "the bound");
  if (!number) return false;
  if (!number->isWhole() || number->asInteger() < 1 || number->asInteger() > INT32_MAX)
    return error(DiagnosticCode::E0410, expr.span, "the bound must be a whole number from 1"), false;
  field.below = number->asInteger();
  return true;
}

/// `"age"` or `3`.
bool SourceFields::readColumn(SourceField &field, const ast::Expr &expr) {
  if (auto *text = llvm::dyn_cast<ast::StringExpr>(&expr)) {
    if (text->value.empty())
      return error(DiagnosticCode::E0410, expr.span, "a column has a name").help("or write its number: `column = 0`"),
             false;
    field.columns.push_back({text->value, 0});
    return true;
  }
  if (auto *ref = llvm::dyn_cast<ast::RefExpr>(&expr); ref && !ref->axes) {
    StringRef name = ref->name.text;
    if (!declared.hypers.count(name) && !declared.dims.count(name) && !declared.main().lets.count(name))
      return error(DiagnosticCode::E0410, expr.span, "a column is a number, or a name in quotes")
                 .help("write `\"" + name + "\"`"),
             false;
  }
  std::optional<Number> number = elaboration.exprs.expressions.evalConstant(expr, "a column");
  if (!number) return false;
  if (!number->isWhole() || number->asInteger() < 0 || number->asInteger() > 1'000'000)
    return error(DiagnosticCode::E0410, expr.span, "columns are numbered from 0")
               .help("or write the name in the header: `column = \"age\"`"),
           false;
  field.columns.push_back({"", number->asInteger()});
  return true;
}

/// Warns if the last column of a field is one of those before it.
void SourceFields::warnOfRepetition(const SourceField &field, Span span) {
  const SourceColumn &last = field.columns.back();
  if (!llvm::is_contained(llvm::ArrayRef(field.columns).drop_back(), last)) return;
  diagnostics
      .warning(DiagnosticCode::E0410, span, "`" + field.name + "` takes the column " + last.describe() + " twice")
      .help("`columns` names the column of each element");
}

/// `("age", "height", 7)`.
bool SourceFields::readColumns(SourceField &field, const ast::Expr &expr) {
  auto *tuple = llvm::dyn_cast<ast::TupleExpr>(&expr);
  if (!tuple && !readColumn(field, expr)) return false;
  if (tuple)
    for (const ast::Argument &element : tuple->elements) {
      if (!readColumn(field, *element.value)) return false;
      warnOfRepetition(field, element.value->span);
    }
  if (static_cast<int64_t>(field.columns.size()) == field.elements()) return true;
  error(DiagnosticCode::E0410, expr.span,
        "`" + field.name + "` has " + Twine(field.elements()) + " elements and " + Twine(field.columns.size()) +
            (field.columns.size() == 1 ? " column" : " columns"))
      .help("`columns` names one for each element; `column` names the first one of a sequence");
  return false;
}

bool SourceFields::readClasses(SourceField &field, const ast::Expr &expr) {
  if (!readStrings(expr, field.classes, "a class")) return false;
  for (auto [i, name] : llvm::enumerate(field.classes))
    if (name.empty() || llvm::is_contained(llvm::ArrayRef(field.classes).take_front(i), name))
      return error(DiagnosticCode::E0410, expr.span,
                   name.empty() ? "a class has a name" : "the class \"" + name + "\" is given twice"),
             false;
  return true;
}

/// A number, or a class. Classes may be given after it: `checkClasses` looks the name up.
bool SourceFields::readMissing(SourceField &field, const ast::Expr &expr) {
  std::optional<Number> number = elaboration.exprs.expressions.evalConstant(expr, "the value of empty cells");
  if (!number) return false;
  field.missing = number->asDouble();
  if (field.isInteger ? number->isWhole() && std::fabs(*field.missing) <= INT32_MAX : isFiniteF32(*number)) return true;
  error(DiagnosticCode::E0410, expr.span,
        "empty cells of `" + field.name + "` must be " + (field.isInteger ? "a whole number" : "a finite number"));
  return false;
}

bool SourceFields::refuseArgument(const DataFormatInfo &format, const SourceField &field, const ast::Argument &arg) {
  std::string any, integers;
  for (const DataArgumentInfo &info : dataArguments)
    if (format.fieldArguments.has(info.argument)) {
      std::string &list = info.isForIntegers ? integers : any;
      list += (list.empty() ? "`" : ", `") + std::string(info.name) + "`";
    }
  StringRef name = arg.name.text;
  error(DiagnosticCode::E0410, name.empty() ? arg.value->span : arg.name.span,
        "a field of " + Twine(format.name) + " has no argument `" + name + "`")
      .help("its arguments are " + any + " and, for integers, " + integers);
  return false;
}

bool SourceFields::readArgument(const DataFormatInfo &format, SourceField &field, const ast::Argument &arg) {
  std::optional<DataArgument> argument = argumentNamed(arg.name.text, format.fieldArguments);
  if (!argument || (infoOf(*argument).isForIntegers && !field.isInteger)) return refuseArgument(format, field, arg);
  if ((*argument == DataArgument::Column || *argument == DataArgument::Columns) && !field.columns.empty())
    return error(DiagnosticCode::E0410, arg.name.span, "`" + field.name + "` has `column` and `columns`")
               .help("`column` is the first one of a sequence; `columns` are all of them"),
           false;
  switch (*argument) {
  case DataArgument::Train:
    return readStrings(*arg.value, field.train, "a file name");
  case DataArgument::Val:
    return readStrings(*arg.value, field.val, "a file name");
  case DataArgument::Column:
    return readColumn(field, *arg.value);
  case DataArgument::Columns:
    return readColumns(field, *arg.value);
  case DataArgument::Classes:
    return readClasses(field, *arg.value);
  case DataArgument::Below:
    return readBound(field, *arg.value);
  case DataArgument::Missing:
    // The name of a class is looked up when all classes are known.
    return llvm::isa<ast::StringExpr>(*arg.value) || readMissing(field, *arg.value);
  case DataArgument::Batch:
  case DataArgument::Seq:
  case DataArgument::Width:
  case DataArgument::Shuffle:
  case DataArgument::ValSeed:
  case DataArgument::ValTail:
    break;
  }
  llvm_unreachable("not an argument of a field");
}

//===----------------------------------------------------------------------===//
// Fields
//===----------------------------------------------------------------------===//

/// Whether the field says where its values are.
bool SourceFields::checkPlace(const DataFormatInfo &format, const SourceField &field) {
  if (format.fields == FieldSource::Columns && field.columns.empty())
    return error(DiagnosticCode::E0410, field.span, "which column does `" + field.name + "` begin at?")
               .help("add `column = 0`, or `column = \"name\"` with its name in the header"),
           false;
  if (format.fields == FieldSource::Files && field.train.empty())
    return error(DiagnosticCode::E0410, field.span, "which file is `" + field.name + "` in?")
               .help("add `train = \"…\"`"),
           false;
  return true;
}

/// The number of classes is the bound.
bool SourceFields::checkClasses(SourceField &field) {
  auto count = static_cast<int64_t>(field.classes.size());
  if (field.below && count > 0 && *field.below != count)
    return error(DiagnosticCode::E0410, field.span,
                 "`" + field.name + "` has " + Twine(count) + " classes and is below " + Twine(*field.below))
               .help("leave out `below`: the number of classes is the bound"),
           false;
  if (count > 0) field.below = count;
  if (!field.missing || !field.below || (*field.missing >= 0 && *field.missing < static_cast<double>(*field.below)))
    return true;
  error(DiagnosticCode::E0410, field.span,
        "empty cells of `" + field.name + "` must be from 0 to " + Twine(*field.below - 1));
  return false;
}

std::optional<SourceField> SourceFields::read(const DataFormatInfo &format, const ast::Argument &arg) {
  auto *call = llvm::dyn_cast<ast::CallExpr>(arg.value.get());
  if (!call || (call->callee.text != "float" && call->callee.text != "int")) {
    error(DiagnosticCode::E0410, arg.value->span, "`" + arg.name.text + "` must describe a field")
        .help("write `" + arg.name.text + " = float[axis](…)` or `" + arg.name.text + " = int(…)`");
    return std::nullopt;
  }
  SourceField field;
  field.name = arg.name.text.str();
  field.span = call->span;
  field.isInteger = call->callee.text == "int";
  if (call->axes) {
    // Before the axes are looked up: the size of `batch` may come later in this description.
    if (llvm::any_of(call->axes->list, [](const ast::AxisItem &axis) { return axis.name.text == batchAxis; })) {
      error(DiagnosticCode::E0212, call->axes->span, "`" + arg.name.text + "` has the axis `batch` by itself")
          .help("name the axes within a row only");
      return std::nullopt;
    }
    std::optional<std::vector<AxisRef>> axes = elaboration.names.resolveAxes(*call->axes);
    if (!axes) return std::nullopt;
    field.axes = std::move(*axes);
  }
  for (const ast::Argument &each : call->args)
    if (!readArgument(format, field, each)) return std::nullopt;
  for (const ast::Argument &each : call->args) {
    auto *name = llvm::dyn_cast<ast::StringExpr>(each.value.get());
    if (!name || each.name.text != infoOf(DataArgument::Missing).name) continue;
    auto found = llvm::find(field.classes, name->value);
    if (found == field.classes.end()) {
      error(DiagnosticCode::E0410, name->span, "`missing` is a number, or one of the classes of `" + field.name + "`");
      return std::nullopt;
    }
    field.missing = static_cast<double>(found - field.classes.begin());
  }
  if (!checkPlace(format, field) || !checkClasses(field)) return std::nullopt;
  return field;
}

/// The columns of a field, with their numbers if these are known.
static std::vector<SourceColumn> columnsOf(const SourceField &field) {
  std::vector<SourceColumn> columns = field.columns;
  for (int64_t i = 1, count = field.elements(); field.columns.size() == 1 && columns[0].name.empty() && i < count; ++i)
    columns.push_back({"", columns[0].number + i});
  return columns;
}

void SourceFields::warnOfOverlaps(llvm::ArrayRef<SourceField> fields) {
  auto describe = [](llvm::ArrayRef<SourceColumn> columns) {
    std::string text = (columns.size() == 1 ? "column " : "columns ") + columns.front().describe();
    return columns.size() == 1 ? text : text + " to " + columns.back().describe();
  };
  std::vector<std::pair<const SourceField *, std::vector<SourceColumn>>> earlier;
  for (const SourceField &field : fields) {
    if (field.columns.empty()) continue;
    std::vector<SourceColumn> columns = columnsOf(field);
    for (const auto &[other, taken] : earlier)
      if (llvm::any_of(columns, [&](const SourceColumn &column) { return llvm::is_contained(taken, column); }))
        diagnostics
            .warning(DiagnosticCode::E0410, field.span,
                     "`" + field.name + "` shares columns with `" + other->name + "`")
            .label(field.span, describe(columns))
            .label(other->span, describe(taken))
            .help("columns are counted from 0, and a field takes as many as its axes have elements");
    earlier.emplace_back(&field, std::move(columns));
  }
}

//===----------------------------------------------------------------------===//
// Attributes
//===----------------------------------------------------------------------===//

mlir::Attribute tessera::splitsAttribute(mlir::Builder &b, llvm::ArrayRef<std::string> train,
                                         llvm::ArrayRef<std::string> val) {
  auto paths = [&](llvm::ArrayRef<std::string> texts) {
    return b.getStrArrayAttr(llvm::to_vector_of<StringRef>(texts));
  };
  return b.getDictionaryAttr(
      {b.getNamedAttr(data_keys::train, paths(train)), b.getNamedAttr(data_keys::val, paths(val))});
}

mlir::Attribute tessera::axisAttribute(mlir::Builder &b, StringRef name, int64_t size) {
  return b.getArrayAttr({b.getStringAttr(name), b.getI64IntegerAttr(size)});
}

static mlir::Attribute columnAttribute(mlir::Builder &b, const SourceColumn &column) {
  if (column.name.empty()) return b.getI64IntegerAttr(column.number);
  return b.getStringAttr(column.name);
}

mlir::Attribute tessera::fieldAttribute(mlir::Builder &b, const SourceField &field) {
  auto attributes = [&](const auto &list, auto make) { return b.getArrayAttr(llvm::map_to_vector(list, make)); };
  mlir::NamedAttrList entry;
  entry.set(data_keys::name, b.getStringAttr(field.name));
  entry.set(data_keys::type, b.getStringAttr(field.isInteger ? "i32" : "f32"));
  entry.set(data_keys::axes,
            attributes(field.axes, [&](const AxisRef &ref) { return axisAttribute(b, ref.name, ref.size); }));
  auto toColumn = [&](const SourceColumn &column) { return columnAttribute(b, column); };
  if (field.columns.size() == 1)
    entry.set(data_keys::column, toColumn(field.columns[0]));
  else if (!field.columns.empty())
    entry.set(data_keys::columns, attributes(field.columns, toColumn));
  else
    entry.set(data_keys::splits, splitsAttribute(b, field.train, field.val));
  if (!field.classes.empty())
    entry.set(data_keys::classes, b.getStrArrayAttr(llvm::to_vector_of<StringRef>(field.classes)));
  if (!field.classes.empty() && !field.positionsOn.empty())
    entry.set(data_keys::classAxes, b.getStrArrayAttr(llvm::to_vector_of<StringRef>(field.positionsOn)));
  if (field.missing) entry.set(data_keys::missing, b.getF64FloatAttr(*field.missing));
  return entry.getDictionary(b.getContext());
}
