//===- Data.cpp - data descriptions and their fields -----------------------===//

#include "frontend/elaborate/Elaborator.h"
#include "frontend/syntax/Parser.h"
#include "ir/program/Program.h"

using namespace tessera;
using llvm::StringRef;
using llvm::Twine;

void Elaborator::giveSize(StringRef dim, int64_t size, Span span) {
  if (!Program.dims.count(dim)) {
    error(DiagnosticCode::E0204, span, "the data gives a size to `" + dim + "`, which is no dim")
        .help("declare it: `dim " + dim + "`");
    return;
  }
  auto [entry, isNew] = DataSizes.insert({dim, {size, span}});
  if (!isNew && entry->second.first != size)
    error(DiagnosticCode::E0410, span, "two data sources give `" + dim + "` different sizes")
        .label(entry->second.second, "the other one");
}

/// "a.txt" or ("a.txt", "b.txt").
bool Elaborator::pathsOf(const ast::Expr &expr, std::vector<std::string> &paths) {
  if (auto *text = llvm::dyn_cast<ast::StringExpr>(&expr)) {
    paths.push_back(text->value);
    return true;
  }
  auto *tuple = llvm::dyn_cast<ast::TupleExpr>(&expr);
  bool ok = tuple != nullptr;
  if (tuple)
    for (const ast::Argument &element : tuple->elements)
      ok &= element.name.text.empty() && llvm::isa<ast::StringExpr>(*element.value) && pathsOf(*element.value, paths);
  if (!ok) error(DiagnosticCode::E0410, expr.span, "expected a file's name in quotes, or several in parentheses");
  return ok;
}

bool Elaborator::fieldArgument(DataSource &source, DataField &field, const ast::Argument &arg) {
  StringRef name = arg.name.text;
  if (name == "train" && source.format != "csv") return pathsOf(*arg.value, field.train);
  if (name == "val" && source.format != "csv") return pathsOf(*arg.value, field.val);
  if (name == "column" && source.format == "csv") {
    std::optional<Number> column = closed(*arg.value, "a column");
    if (column && (!column->isWhole() || column->asInteger() < 0 || column->asInteger() > 1'000'000))
      return error(DiagnosticCode::E0410, arg.value->span, "columns are numbered from 0"), false;
    if (column) field.column = column->asInteger();
    return column.has_value();
  }
  if (name == "below" && field.isInteger) {
    std::optional<Number> below = closed(*arg.value, "the bound");
    if (below && (!below->isWhole() || below->asInteger() < 1 || below->asInteger() > INT32_MAX))
      return error(DiagnosticCode::E0410, arg.value->span, "the bound must be a whole number from 1"), false;
    if (below) field.below = below->asInteger();
    return below.has_value();
  }
  error(DiagnosticCode::E0410, arg.name.text.empty() ? arg.value->span : arg.name.span,
        "a field of " + source.format + " has no argument `" + name + "`")
      .help(source.format == "csv" ? "its arguments are `column` and, for integers, `below`"
                                   : "its arguments are `train`, `val` and, for integers, `below`");
  return false;
}

/// `pixels = float[pixel](column = 0)`.
bool Elaborator::describeField(DataSource &source, const ast::Argument &arg) {
  auto *call = llvm::dyn_cast<ast::CallExpr>(arg.value.get());
  if (!call || (call->callee.text != "float" && call->callee.text != "int")) {
    error(DiagnosticCode::E0410, arg.value->span, "`" + arg.name.text + "` must describe a field")
        .help("write `" + arg.name.text + " = float[axis](…)` or `" + arg.name.text + " = int(…)`");
    return false;
  }
  DataField field;
  field.name = arg.name.text.str();
  field.span = call->span;
  field.isInteger = call->callee.text == "int";
  if (call->axes) {
    std::optional<std::vector<AxisRef>> axes = resolveAxes(*call->axes);
    if (!axes) return false;
    field.axes = std::move(*axes);
    if (llvm::any_of(field.axes, [](const AxisRef &axis) { return axis.name == "batch"; })) {
      error(DiagnosticCode::E0212, call->axes->span, "`" + arg.name.text + "` has the axis `batch` by itself")
          .help("name the axes within a row only");
      return false;
    }
  }
  for (const ast::Argument &each : call->args)
    if (!fieldArgument(source, field, each)) return false;
  if (source.format == "csv" && !field.column)
    return error(DiagnosticCode::E0410, call->span, "which column does `" + field.name + "` begin at?")
               .help("add `column = 0`"),
           false;
  if (source.format != "csv" && field.train.empty())
    return error(DiagnosticCode::E0410, call->span, "which file is `" + field.name + "` in?")
               .help("add `train = \"…\"`"),
           false;
  source.fields.push_back(std::move(field));
  return true;
}

bool tessera::isSourceNumber(const DataSource &source, StringRef name) {
  bool isText = source.format == "text" || source.format == "tokens";
  return name == "batch" || name == "val" || name == "shuffle" || (name == "seq" && isText) ||
         (name == "width" && source.format == "tokens");
}

bool Elaborator::sourceNumber(DataSource &source, StringRef name, const Value &value, Span span) {
  auto wrong = [&](const Twine &expected) {
    if (!value.isError())
      error(DiagnosticCode::E0410, span, "expected " + expected + " for `" + name + "`, got " + describe(value));
    return false;
  };
  if (name == "batch" || name == "seq") {
    std::optional<int64_t> size = checkedSize(value, span, name);
    if (!size) return false;
    (name == "batch" ? source.batch : source.seq) = *size;
    if (name == "seq") giveSize("seq", *size, span);
    return true;
  }
  if (name == "shuffle") {
    if (!value.isNumber() || !value.number.isBool()) return wrong("true or false");
    source.shuffle = value.number.integer != 0;
    return true;
  }
  if (name == "width") {
    bool known = value.isNumber() && (value.number.asDouble() == 16 || value.number.asDouble() == 32);
    if (!known) return wrong("16 or 32, the bits of a token,");
    source.width = value.number.asInteger();
    return true;
  }
  if (!value.isNumber() || value.number.isBool() || !(value.number.asDouble() >= 0 && value.number.asDouble() < 1))
    return wrong("a fraction from 0 and below 1");
  source.val.clear();
  source.valFraction = value.number.asDouble();
  return true;
}

bool Elaborator::sourceArgument(DataSource &source, const ast::Argument &arg) {
  StringRef name = arg.name.text;
  bool isText = source.format == "text" || source.format == "tokens";
  bool hasFiles = isText || source.format == "csv";
  if (name.empty())
    return error(DiagnosticCode::E0410, arg.value->span, "the arguments of `" + source.format + "` are named")
               .help("write `train = \"…\"`"),
           false;
  if (name == "train" && hasFiles) return pathsOf(*arg.value, source.train);
  if (name == "val" && hasFiles && (llvm::isa<ast::StringExpr>(*arg.value) || llvm::isa<ast::TupleExpr>(*arg.value)))
    return pathsOf(*arg.value, source.val);
  if (isSourceNumber(source, name)) {
    auto [value, span] = settingValue(source.name, name, *arg.value);
    return sourceNumber(source, name, value, span);
  }
  if (!isText && llvm::isa<ast::CallExpr>(*arg.value)) return describeField(source, arg);
  auto message = error(DiagnosticCode::E0410, arg.name.span, "`" + source.format + "` has no argument `" + name + "`");
  std::vector<StringRef> known{"val", "batch", "shuffle"};
  if (hasFiles) known.push_back("train");
  if (isText) known.push_back("seq");
  if (source.format == "tokens") known.push_back("width");
  if (StringRef nearest = nearestName(name, known); !nearest.empty())
    message.help("did you mean `" + nearest + "`?");
  else if (!isText)
    message.help("a field is described as `" + name + " = float[axis](…)` or `" + name + " = int(…)`");
  return false;
}

/// Fields of a csv source that share columns: more often a column miscounted than meant.
void Elaborator::warnOfOverlaps(const DataSource &source) {
  auto end = [](const DataField &field) {
    int64_t count = 1;
    for (const AxisRef &axis : field.axes)
      if (__builtin_mul_overflow(count, axis.size, &count)) count = INT32_MAX;
    return *field.column + std::min<int64_t>(count, INT32_MAX);
  };
  auto columns = [&](const DataField &field) {
    int64_t last = end(field) - 1;
    return last == *field.column ? "column " + std::to_string(last)
                                 : "columns " + std::to_string(*field.column) + " to " + std::to_string(last);
  };
  for (auto [i, field] : llvm::enumerate(source.fields))
    for (const DataField &earlier : llvm::ArrayRef(source.fields).take_front(i))
      if (field.column && earlier.column && *field.column < end(earlier) && *earlier.column < end(field))
        Engine
            .warning(DiagnosticCode::E0410, field.span,
                     "`" + field.name + "` shares columns with `" + earlier.name + "`")
            .label(field.span, columns(field))
            .label(earlier.span, columns(earlier))
            .help("columns are counted from 0, and a field takes as many as its axes have elements");
}

void Elaborator::describeSource(const ast::DataItem &item) {
  auto *call = llvm::dyn_cast<ast::CallExpr>(item.source.get());
  bool known = call && llvm::is_contained({"text", "tokens", "csv", "npy", "idx"}, call->callee.text);
  if (!known) {
    error(DiagnosticCode::E0410, call ? call->callee.span : item.source->span,
          "data comes from text, tokens, csv, npy or idx")
        .help("write `data " + item.name.text + " = text(train = \"…\", batch = 16, seq = 64)`");
    return;
  }
  DataSource source;
  source.name = item.name.text.str();
  source.format = call->callee.text.str();
  source.span = call->span;
  for (const DataSource &other : Data)
    if (other.name == source.name) {
      error(DiagnosticCode::E0202, item.name.span, "two data sources are called `" + item.name.text + "`");
      return;
    }
  llvm::StringSet<> seen;
  for (const ast::Argument &arg : call->args) {
    if (!arg.name.text.empty() && !seen.insert(arg.name.text).second) {
      error(DiagnosticCode::E0410, arg.name.span, "`" + arg.name.text + "` is given twice");
      return;
    }
    if (!sourceArgument(source, arg)) return;
  }
  // What the description does not say, or says with files, `--set` may.
  for (auto &[key, text] : SettingOverrides) {
    auto [group, name] = StringRef(key).split('.');
    if (group != source.name || UsedOverrides.contains(key) || !isSourceNumber(source, name)) continue;
    UsedOverrides.insert(key);
    ast::ExprPtr expr = parseExpression(Engine.sources().add(text, "<--set " + key + ">"), Engine);
    if (!expr || !sourceNumber(source, name, eval(*expr), expr->span)) return;
  }
  bool isText = source.format == "text" || source.format == "tokens";
  if (!source.batch || (isText && !source.seq) || ((isText || source.format == "csv") && source.train.empty())) {
    error(DiagnosticCode::E0410, call->span,
          "`" + source.format + "` needs " +
              (!source.batch          ? "`batch`, the rows of a step"
               : source.train.empty() ? "`train`, the files"
                                      : "`seq`, the length of a row"));
    return;
  }
  if (isText)
    for (const char *name : {"tokens", "next"}) {
      DataField field;
      field.name = name;
      field.isInteger = true;
      if (source.format == "text") field.below = 256;
      field.axes = {{"seq", source.seq}};
      source.fields.push_back(field);
    }
  if (source.fields.empty()) {
    error(DiagnosticCode::E0410, call->span, "`" + source.format + "` needs fields")
        .help("such as `x = float[axis](column = 0)`");
    return;
  }
  warnOfOverlaps(source);
  if (source.fields.size() > 250) {
    error(DiagnosticCode::E0410, call->span, "more than 250 fields");
    return;
  }
  Data.push_back(std::move(source));
}

/// Reads all data descriptions; afterwards every dim has its size.
void Elaborator::describeData() {
  Frame frame;
  frame.file = &Program.main();
  frame.scopes.emplace_back();
  FrameScope scope(*this, frame);
  for (const ast::TrainItem &item : Program.train->items)
    if (auto *data = std::get_if<ast::DataItem>(&item.node)) describeSource(*data);
  if (Engine.hasErrors()) return;
  for (DataSource &source : Data) {
    if (source.batch % MicroBatches != 0) {
      error(DiagnosticCode::E0409, source.span,
            "a batch of " + Twine(source.batch) + " rows cannot be cut into " + Twine(MicroBatches) + " equal parts");
      return;
    }
    giveSize("batch", source.batch / MicroBatches, source.span);
  }
}

Value Elaborator::dataField(const Value &data, const ast::Name &field, Span span) {
  DataSource &source = Data[data.data];
  std::vector<StringRef> names;
  for (unsigned i = 0; i < source.fields.size(); ++i) {
    if (source.fields[i].name == field.text) return dataInput(source, data.data, i);
    names.push_back(source.fields[i].name);
  }
  auto message = error(DiagnosticCode::E0411, field.span, "`" + source.name + "` has no field `" + field.text + "`");
  message.note("its fields are " + llvm::join(names, ", "));
  if (StringRef nearest = nearestName(field.text, names); !nearest.empty())
    message.help("did you mean `" + nearest + "`?");
  return Value();
}

/// The field as an input of the entry; inside the loop over micro-batches, its slice.
Value Elaborator::dataInput(DataSource &source, unsigned data, unsigned index) {
  const DataField &field = source.fields[index];
  if (!EntryBlock || IsPredict) return failed(DiagnosticCode::E0219, source.span, "data is not known at compile time");
  llvm::SmallVector<AxisAttr> axes;
  bool split = !Levels.empty() && Levels.front().isMicro;
  // Only `step` sees the whole batch, and cuts it; everything else works on the part that the model is built for.
  axes.push_back(axis(&Context, "batch", split ? source.batch : source.batch / MicroBatches));
  for (const AxisRef &ref : field.axes) axes.push_back(axis(&Context, ref.name, ref.size));
  std::string name = source.name + "." + field.name;
  mlir::Builder attr(&Context);
  auto order = llvm::map_to_vector(axes, [](AxisAttr axis) { return axis.getName(); }); // rows as they lie in the file
  auto info = attr.getDictionaryAttr({attr.getNamedAttr("name", attr.getStringAttr(name)),
                                      attr.getNamedAttr("role", attr.getStringAttr("data")),
                                      attr.getNamedAttr("data", attr.getStringAttr(source.name)),
                                      attr.getNamedAttr("field", attr.getStringAttr(field.name)),
                                      attr.getNamedAttr("order", attr.getStrArrayAttr(order))});
  mlir::Value value = inputArgument(name, B.type(axes, field.isInteger ? I32 : F32), info);
  if (split) {
    Level &micro = Levels.front();
    mlir::Value &slice = micro.parameters["<data>" + name];
    if (!slice) {
      mlir::OpBuilder::InsertionGuard guard(B);
      B.setInsertionPointToEnd(EntryBlock);
      mlir::Value parts = B.split(
          value, "batch",
          {axis(&Context, microAxis(Program), MicroBatches), axis(&Context, "batch", source.batch / MicroBatches)});
      auto type = tensorType(parts).withAxes(B.without(tensorType(parts), StringRef(microAxis(Program))));
      slice = micro.block->insertArgument(1 + micro.carried.size() + micro.sliced.size(), type, B.getLoc());
      micro.sliced.push_back(parts);
    }
    value = slice;
  }
  Tensor tensor;
  tensor.level = split ? 1 : 0;
  tensor.value = value;
  tensor.input = static_cast<int>(data << 8 | index);
  if (field.below) tensor.range = Interval{0, *field.below - 1};
  return here(tensor);
}

static mlir::ArrayAttr textArray(mlir::Builder &b, llvm::ArrayRef<std::string> texts) {
  llvm::SmallVector<mlir::Attribute> list;
  for (const std::string &text : texts) list.push_back(b.getStringAttr(text));
  return b.getArrayAttr(list);
}

/// The data sources with the keys that the manifest has.
mlir::ArrayAttr Elaborator::dataAttribute() {
  mlir::Builder b(&Context);
  auto pair = [&](StringRef name, int64_t size) {
    return b.getArrayAttr({b.getStringAttr(name), b.getI64IntegerAttr(size)});
  };
  auto splits = [&](llvm::ArrayRef<std::string> train, llvm::ArrayRef<std::string> val) {
    return b.getDictionaryAttr(
        {b.getNamedAttr("train", textArray(b, train)), b.getNamedAttr("val", textArray(b, val))});
  };
  llvm::SmallVector<mlir::Attribute> sources;
  for (const DataSource &source : Data) {
    bool isText = source.format == "text" || source.format == "tokens";
    llvm::SmallVector<mlir::Attribute> fields;
    for (const DataField &field : source.fields) {
      if (isText) break;
      llvm::SmallVector<mlir::Attribute> axes;
      for (const AxisRef &ref : field.axes) axes.push_back(pair(ref.name, ref.size));
      mlir::NamedAttrList entry;
      entry.set("name", b.getStringAttr(field.name));
      entry.set("type", b.getStringAttr(field.isInteger ? "i32" : "f32"));
      entry.set("axes", b.getArrayAttr(axes));
      if (field.column)
        entry.set("column", b.getI64IntegerAttr(*field.column));
      else
        entry.set("splits", splits(field.train, field.val));
      fields.push_back(entry.getDictionary(&Context));
    }
    mlir::NamedAttrList entry;
    entry.set("name", b.getStringAttr(source.name));
    entry.set("format", b.getStringAttr(source.format));
    entry.set("batch", pair("batch", source.batch));
    if (isText) entry.set("seq", pair("seq", source.seq));
    entry.set("splits", splits(source.train, source.val));
    entry.set("val_fraction", b.getF64FloatAttr(source.valFraction));
    if (source.width) entry.set("width", b.getI64IntegerAttr(source.width));
    entry.set("shuffle", b.getBoolAttr(source.shuffle));
    entry.set("fields", b.getArrayAttr(fields));
    sources.push_back(entry.getDictionary(&Context));
  }
  return b.getArrayAttr(sources);
}
