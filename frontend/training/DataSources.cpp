//===- DataSources.cpp - the data of the training description ---------------===//

#include "frontend/training/DataSources.h"
#include "ir/program/Program.h"

using namespace tessera;
using llvm::StringRef;
using llvm::Twine;

static constexpr unsigned MaxFields = 250;

/// The argument, if it is one that the set has.
static std::optional<DataArgument> argumentNamed(StringRef name, DataArguments allowed) {
  std::optional<DataArgument> argument = dataArgumentNamed(std::string_view(name));
  return argument && allowed.has(*argument) ? argument : std::nullopt;
}

/// `batch` and the like, which `--set SOURCE.NAME=…` may replace.
static std::optional<DataArgument> settingNamed(StringRef name, const DataFormatInfo &format) {
  std::optional<DataArgument> argument = argumentNamed(name, format.arguments);
  return argument && infoOf(*argument).isSetting ? argument : std::nullopt;
}

static std::vector<StringRef> namesOf(DataArguments arguments) {
  std::vector<StringRef> names;
  for (const DataArgumentInfo &info : dataArguments)
    if (arguments.has(info.argument)) names.push_back(info.name);
  return names;
}

DataSources::DataSources(Elaboration &elaboration, TrainingSettings &settings, SettingOverrides &overrides)
    : ElaborationComponent(elaboration.calls), elaboration(elaboration), settings(settings), overrides(overrides) {}

std::vector<std::string> DataSources::addresses() const {
  std::vector<std::string> addresses;
  for (const SourceDescription &source : sources)
    for (StringRef name : namesOf(source.info().arguments))
      if (settingNamed(name, source.info())) addresses.push_back(source.name + "." + name.str());
  return addresses;
}

//===----------------------------------------------------------------------===//
// Fields
//===----------------------------------------------------------------------===//

/// "a.txt" or ("a.txt", "b.txt").
bool DataSources::readPaths(const ast::Expr &expr, std::vector<std::string> &paths) {
  if (auto *text = llvm::dyn_cast<ast::StringExpr>(&expr)) {
    paths.push_back(text->value);
    return true;
  }
  auto *tuple = llvm::dyn_cast<ast::TupleExpr>(&expr);
  bool ok = tuple != nullptr;
  if (tuple)
    for (const ast::Argument &element : tuple->elements)
      ok &= element.name.text.empty() && llvm::isa<ast::StringExpr>(*element.value) && readPaths(*element.value, paths);
  if (!ok) error(DiagnosticCode::E0410, expr.span, "expected a file name in quotes, or several in parentheses");
  return ok;
}

bool DataSources::readFieldNumber(SourceField &field, DataArgument argument, const ast::Expr &expr) {
  bool isColumn = argument == DataArgument::Column;
  std::optional<Number> number = elaboration.exprs.expressions.evalConstant(expr, isColumn ? "a column" : "the bound");
  if (!number) return false;
  int64_t low = isColumn ? 0 : 1, high = isColumn ? 1'000'000 : INT32_MAX;
  if (!number->isWhole() || number->asInteger() < low || number->asInteger() > high) {
    error(DiagnosticCode::E0410, expr.span,
          isColumn ? "columns are numbered from 0" : "the bound must be a whole number from 1");
    return false;
  }
  (isColumn ? field.column : field.below) = number->asInteger();
  return true;
}

bool DataSources::readFieldArgument(const DataFormatInfo &format, SourceField &field, const ast::Argument &arg) {
  StringRef name = arg.name.text;
  std::optional<DataArgument> argument = argumentNamed(name, format.fieldArguments);
  if (argument == DataArgument::Train) return readPaths(*arg.value, field.train);
  if (argument == DataArgument::Val) return readPaths(*arg.value, field.val);
  if (argument && (*argument != DataArgument::Below || field.isInteger))
    return readFieldNumber(field, *argument, *arg.value);
  std::string known;
  for (StringRef each : namesOf(format.fieldArguments)) {
    bool isBound = each == infoOf(DataArgument::Below).name;
    known += (known.empty() ? "" : isBound ? " and, for integers, " : ", ") + ("`" + each + "`").str();
  }
  error(DiagnosticCode::E0410, name.empty() ? arg.value->span : arg.name.span,
        "a field of " + Twine(format.name) + " has no argument `" + name + "`")
      .help("its arguments are " + known);
  return false;
}

/// Whether the field says where its values are.
bool DataSources::checkField(const DataFormatInfo &format, const SourceField &field) {
  if (format.fields == FieldSource::Columns && !field.column)
    return error(DiagnosticCode::E0410, field.span, "which column does `" + field.name + "` begin at?")
               .help("add `column = 0`"),
           false;
  if (format.fields == FieldSource::Files && field.train.empty())
    return error(DiagnosticCode::E0410, field.span, "which file is `" + field.name + "` in?")
               .help("add `train = \"…\"`"),
           false;
  return true;
}

/// `pixels = float[pixel](column = 0)`.
bool DataSources::describeField(SourceDescription &source, const ast::Argument &arg) {
  auto *call = llvm::dyn_cast<ast::CallExpr>(arg.value.get());
  if (!call || (call->callee.text != "float" && call->callee.text != "int")) {
    error(DiagnosticCode::E0410, arg.value->span, "`" + arg.name.text + "` must describe a field")
        .help("write `" + arg.name.text + " = float[axis](…)` or `" + arg.name.text + " = int(…)`");
    return false;
  }
  SourceField field;
  field.name = arg.name.text.str();
  field.span = call->span;
  field.isInteger = call->callee.text == "int";
  if (call->axes) {
    std::optional<std::vector<AxisRef>> axes = elaboration.names.resolveAxes(*call->axes);
    if (!axes) return false;
    field.axes = std::move(*axes);
    if (llvm::any_of(field.axes, [](const AxisRef &axis) { return axis.name == batchAxis; })) {
      error(DiagnosticCode::E0212, call->axes->span, "`" + arg.name.text + "` has the axis `batch` by itself")
          .help("name the axes within a row only");
      return false;
    }
  }
  for (const ast::Argument &each : call->args)
    if (!readFieldArgument(source.info(), field, each)) return false;
  if (!checkField(source.info(), field)) return false;
  source.fields.push_back(std::move(field));
  return true;
}

/// The fields of text and tokens.
void DataSources::addSequenceFields(SourceDescription &source) {
  for (const char *name : {tokensField, nextField}) {
    SourceField field;
    field.name = name;
    field.isInteger = true;
    if (source.info().values) field.below = source.info().values;
    field.axes = {{seqAxis.str(), source.seq}};
    source.fields.push_back(field);
  }
}

//===----------------------------------------------------------------------===//
// Sources
//===----------------------------------------------------------------------===//

// Without a case for each argument the build fails.
#pragma GCC diagnostic push
#pragma GCC diagnostic error "-Wswitch"

bool DataSources::readScalar(SourceDescription &source, DataArgument argument, const LanguageValue &value, Span span) {
  StringRef name = infoOf(argument).name;
  auto refuse = [&](const Twine &expected) {
    if (!value.isError())
      error(DiagnosticCode::E0410, span,
            "expected " + expected + " for `" + name + "`, got " + tessera::describe(value));
    return false;
  };
  switch (argument) {
  case DataArgument::Batch:
  case DataArgument::Seq: {
    std::optional<int64_t> size = elaboration.dims.checkedSize(value, span, name);
    if (!size) return false;
    (argument == DataArgument::Batch ? source.batch : source.seq) = *size;
    if (argument == DataArgument::Seq) elaboration.dims.giveSize(seqAxis, *size, span);
    return true;
  }
  case DataArgument::Shuffle:
    if (!value.isNumber() || !value.number.isBool()) return refuse("true or false");
    source.shuffle = value.number.integer != 0;
    return true;
  case DataArgument::Width:
    if (!value.isNumber() || (value.number.asDouble() != 16 && value.number.asDouble() != 32))
      return refuse("16 or 32, the bits of a token,");
    source.width = value.number.asInteger();
    return true;
  case DataArgument::Val:
    if (!value.isNumber() || value.number.isBool() || !(value.number.asDouble() >= 0 && value.number.asDouble() < 1))
      return refuse("a fraction in [0, 1)");
    source.val.clear();
    source.valFraction = value.number.asDouble();
    return true;
  case DataArgument::Train:
  case DataArgument::Column:
  case DataArgument::Below:
    break;
  }
  llvm_unreachable("not a scalar of a source");
}

#pragma GCC diagnostic pop

bool DataSources::reportUnknownArgument(const SourceDescription &source, const ast::Argument &arg) {
  StringRef name = arg.name.text, format = source.info().name;
  auto message = error(DiagnosticCode::E0410, arg.name.span, "`" + format + "` has no argument `" + name + "`");
  if (StringRef nearest = nearestName(name, namesOf(source.info().arguments)); !nearest.empty())
    message.help("did you mean `" + nearest + "`?");
  else if (!source.info().isSequence())
    message.help("a field is described as `" + name + " = float[axis](…)` or `" + name + " = int(…)`");
  return false;
}

bool DataSources::readArgument(SourceDescription &source, const ast::Argument &arg) {
  const DataFormatInfo &format = source.info();
  StringRef name = arg.name.text;
  if (name.empty())
    return error(DiagnosticCode::E0410, arg.value->span, "the arguments of `" + Twine(format.name) + "` are named")
               .help("write `train = \"…\"`"),
           false;
  std::optional<DataArgument> argument = argumentNamed(name, format.arguments);
  bool isPath = llvm::isa<ast::StringExpr>(*arg.value) || llvm::isa<ast::TupleExpr>(*arg.value);
  if (argument == DataArgument::Train) return readPaths(*arg.value, source.train);
  if (argument == DataArgument::Val && format.hasFiles() && isPath) return readPaths(*arg.value, source.val);
  if (std::optional<DataArgument> setting = settingNamed(name, format)) {
    auto [value, span] = settings.valueOf(source.name, name, *arg.value);
    return readScalar(source, *setting, value, span);
  }
  if (!format.isSequence() && llvm::isa<ast::CallExpr>(*arg.value)) return describeField(source, arg);
  return reportUnknownArgument(source, arg);
}

bool DataSources::readArguments(SourceDescription &source, const ast::CallExpr &call) {
  llvm::StringSet<> seen;
  for (const ast::Argument &arg : call.args) {
    if (!arg.name.text.empty() && !seen.insert(arg.name.text).second) {
      error(DiagnosticCode::E0410, arg.name.span, "`" + arg.name.text + "` is given twice");
      return false;
    }
    if (!readArgument(source, arg)) return false;
  }
  return true;
}

/// What the description does not give, or gives as files, `--set` may.
bool DataSources::readOverrides(SourceDescription &source) {
  for (const SettingOverrides::Override &override : overrides.all()) {
    std::optional<DataArgument> setting = settingNamed(override.name(), source.info());
    if (override.group() != source.name || overrides.isUsed(override) || !setting) continue;
    ast::ExprPtr expr = overrides.use(override);
    if (!expr || !readScalar(source, *setting, elaboration.exprs.expressions.eval(*expr), expr->span)) return false;
  }
  return true;
}

/// Whether the source has all that its format needs.
bool DataSources::checkComplete(const SourceDescription &source) {
  const DataFormatInfo &format = source.info();
  StringRef missing;
  if (!source.batch)
    missing = "`batch`, the rows of a step";
  else if (format.hasFiles() && source.train.empty())
    missing = "`train`, the files";
  else if (format.isSequence() && !source.seq)
    missing = "`seq`, the length of a row";
  if (!missing.empty()) {
    error(DiagnosticCode::E0410, source.span, "`" + Twine(format.name) + "` needs " + missing);
    return false;
  }
  if (!format.isSequence() && source.fields.empty()) {
    error(DiagnosticCode::E0410, source.span, "`" + Twine(format.name) + "` needs fields")
        .help("such as `x = float[axis](column = 0)`");
    return false;
  }
  if (source.fields.size() <= MaxFields) return true;
  error(DiagnosticCode::E0410, source.span, "more than " + Twine(MaxFields) + " fields");
  return false;
}

/// Fields of a csv source that share columns: more often a column miscounted than meant.
void DataSources::warnOfOverlaps(const SourceDescription &source) {
  auto end = [](const SourceField &field) {
    int64_t count = 1;
    for (const AxisRef &axis : field.axes)
      if (__builtin_mul_overflow(count, axis.size, &count)) count = INT32_MAX;
    return *field.column + std::min<int64_t>(count, INT32_MAX);
  };
  auto columns = [&](const SourceField &field) {
    int64_t last = end(field) - 1;
    return last == *field.column ? "column " + std::to_string(last)
                                 : "columns " + std::to_string(*field.column) + " to " + std::to_string(last);
  };
  for (auto [i, field] : llvm::enumerate(source.fields))
    for (const SourceField &earlier : llvm::ArrayRef(source.fields).take_front(i))
      if (field.column && earlier.column && *field.column < end(earlier) && *earlier.column < end(field))
        diagnostics
            .warning(DiagnosticCode::E0410, field.span,
                     "`" + field.name + "` shares columns with `" + earlier.name + "`")
            .label(field.span, columns(field))
            .label(earlier.span, columns(earlier))
            .help("columns are counted from 0, and a field takes as many as its axes have elements");
}

void DataSources::describeSource(const ast::DataItem &item) {
  auto *call = llvm::dyn_cast<ast::CallExpr>(item.source.get());
  std::optional<DataFormat> format = call ? dataFormatNamed(std::string_view(call->callee.text)) : std::nullopt;
  if (!format) {
    std::vector<StringRef> known;
    for (const DataFormatInfo &info : dataFormats) known.push_back(info.name);
    StringRef last = known.back();
    known.pop_back();
    error(DiagnosticCode::E0410, call ? call->callee.span : item.source->span,
          "data comes from " + llvm::join(known, ", ") + " or " + last)
        .help("write `data " + item.name.text + " = text(train = \"…\", batch = 16, seq = 64)`");
    return;
  }
  if (find(item.name.text)) {
    error(DiagnosticCode::E0202, item.name.span, "two data sources are called `" + item.name.text + "`");
    return;
  }
  SourceDescription source;
  source.name = item.name.text.str();
  source.format = *format;
  source.span = call->span;
  if (!readArguments(source, *call) || !readOverrides(source) || !checkComplete(source)) return;
  if (source.info().isSequence()) addSequenceFields(source);
  warnOfOverlaps(source);
  sources.push_back(std::move(source));
}

void DataSources::describe() {
  Frame frame = Frame::ofFile(declared.main());
  FrameScope scope(calls, frame);
  for (const ast::TrainItem &item : declared.train->items)
    if (auto *data = std::get_if<ast::DataItem>(&item.node)) describeSource(*data);
  if (diagnostics.hasErrors()) return;
  unsigned count = elaboration.batches.microBatchCount();
  for (SourceDescription &source : sources) {
    if (source.batch % count != 0) {
      error(DiagnosticCode::E0409, source.span,
            "a batch of " + Twine(source.batch) + " rows cannot be split into " + Twine(count) + " equal parts");
      return;
    }
    elaboration.dims.giveSize(batchAxis, source.batch / count, source.span);
  }
}

//===----------------------------------------------------------------------===//
// Inputs of an entry
//===----------------------------------------------------------------------===//

std::optional<unsigned> DataSources::find(StringRef name) const {
  for (auto [i, source] : llvm::enumerate(sources))
    if (source.name == name) return i;
  return std::nullopt;
}

/// `Tensor::input` holds the index of the source and that of the field.
static int inputOfField(unsigned source, unsigned field) { return static_cast<int>(source << 8 | field); }
static_assert(MaxFields < 256, "the index of a field has 8 bits");

void DataSources::requireBelow(int input, int64_t below) {
  SourceField &field = sources[input >> 8].fields[input & 255];
  field.below = std::min(field.below.value_or(below), below);
}

void DataSources::setInputBounds() {
  for (const SourceDescription &source : sources)
    for (const SourceField &field : source.fields)
      if (field.below) elaboration.entry.setInputBound(source.name + "." + field.name, *field.below);
}

/// A batch of so many rows, an input of the entry.
mlir::Value DataSources::inputOf(const SourceDescription &source, const SourceField &field, int64_t rows) {
  llvm::SmallVector<AxisAttr> axes;
  axes.push_back(axis(&context, batchAxis, rows));
  for (const AxisRef &ref : field.axes) axes.push_back(axis(&context, ref.name, ref.size));
  std::string name = source.name + "." + field.name;
  auto order = llvm::map_to_vector(axes, [](AxisAttr axis) { return axis.getName(); }); // the order of the file
  auto info = builder.getDictionaryAttr({builder.getNamedAttr("name", builder.getStringAttr(name)),
                                         builder.getNamedAttr("role", builder.getStringAttr("data")),
                                         builder.getNamedAttr("data", builder.getStringAttr(source.name)),
                                         builder.getNamedAttr("field", builder.getStringAttr(field.name)),
                                         builder.getNamedAttr("order", builder.getStrArrayAttr(order))});
  return elaboration.entry.inputArgument(name, builder.type(axes, field.isInteger ? i32 : f32), info);
}

/// The part of the batch that the loop over micro-batches is at.
mlir::Value DataSources::sliceOf(const SourceDescription &source, const SourceField &field, mlir::Value batch) {
  RepeatRegion &micro = elaboration.regions.region(0);
  mlir::Value &slice = micro.slices["<data>" + source.name + "." + field.name];
  if (slice) return slice;
  mlir::OpBuilder::InsertionGuard guard(builder);
  builder.setInsertionPointToEnd(elaboration.entry.block());
  std::string along = microAxis(declared);
  mlir::Value microBatches =
      builder.split(batch, batchAxis,
                    {axis(&context, along, elaboration.batches.microBatchCount()),
                     axis(&context, batchAxis, source.batch / elaboration.batches.microBatchCount())});
  auto type = tensorType(microBatches).withAxes(builder.without(tensorType(microBatches), StringRef(along)));
  return slice = micro.addSliced(microBatches, type, builder.getLoc());
}

LanguageValue DataSources::field(const LanguageValue &data, const ast::Name &name, Span span) {
  const SourceDescription &source = sources[data.data];
  auto field = llvm::find_if(source.fields, [&](const SourceField &f) { return f.name == name.text; });
  if (field == source.fields.end()) {
    std::vector<StringRef> names;
    for (const SourceField &each : source.fields) names.push_back(each.name);
    auto message = error(DiagnosticCode::E0411, name.span, "`" + source.name + "` has no field `" + name.text + "`");
    message.note("its fields are " + llvm::join(names, ", "));
    if (StringRef nearest = nearestName(name.text, names); !nearest.empty())
      message.help("did you mean `" + nearest + "`?");
    return LanguageValue();
  }
  if (!elaboration.entry.isActive() || elaboration.entry.isPredict())
    return failed(DiagnosticCode::E0219, source.span, "data is not known at compile time");
  // Only `step` reads the whole batch, and splits it; everything else works on the part that the model is built for.
  bool isSplit = elaboration.regions.isInMicro();
  Tensor tensor;
  tensor.level = isSplit ? 1 : 0;
  tensor.value = inputOf(source, *field, isSplit ? source.batch : source.batch / elaboration.batches.microBatchCount());
  if (isSplit) tensor.value = sliceOf(source, *field, tensor.value);
  tensor.input = inputOfField(data.data, field - source.fields.begin());
  if (field->below) tensor.range = Interval{0, *field->below - 1};
  return elaboration.regions.here(tensor);
}

//===----------------------------------------------------------------------===//
// The attribute
//===----------------------------------------------------------------------===//

static mlir::Attribute splitsAttribute(mlir::Builder &b, llvm::ArrayRef<std::string> train,
                                       llvm::ArrayRef<std::string> val) {
  auto paths = [&](llvm::ArrayRef<std::string> texts) {
    return b.getStrArrayAttr(llvm::to_vector_of<StringRef>(texts));
  };
  return b.getDictionaryAttr(
      {b.getNamedAttr(data_keys::train, paths(train)), b.getNamedAttr(data_keys::val, paths(val))});
}

static mlir::Attribute axisAttribute(mlir::Builder &b, StringRef name, int64_t size) {
  return b.getArrayAttr({b.getStringAttr(name), b.getI64IntegerAttr(size)});
}

static mlir::Attribute fieldAttribute(mlir::Builder &b, const SourceField &field) {
  llvm::SmallVector<mlir::Attribute> axes;
  for (const AxisRef &ref : field.axes) axes.push_back(axisAttribute(b, ref.name, ref.size));
  mlir::NamedAttrList entry;
  entry.set(data_keys::name, b.getStringAttr(field.name));
  entry.set(data_keys::type, b.getStringAttr(field.isInteger ? "i32" : "f32"));
  entry.set(data_keys::axes, b.getArrayAttr(axes));
  if (field.column)
    entry.set(data_keys::column, b.getI64IntegerAttr(*field.column));
  else
    entry.set(data_keys::splits, splitsAttribute(b, field.train, field.val));
  return entry.getDictionary(b.getContext());
}

mlir::ArrayAttr DataSources::attribute() const {
  mlir::Builder b(&context);
  llvm::SmallVector<mlir::Attribute> entries;
  for (const SourceDescription &source : sources) {
    bool isSequence = source.info().isSequence();
    llvm::SmallVector<mlir::Attribute> fields;
    if (!isSequence)
      for (const SourceField &field : source.fields) fields.push_back(fieldAttribute(b, field));
    mlir::NamedAttrList entry;
    entry.set(data_keys::name, b.getStringAttr(source.name));
    entry.set(data_keys::format, b.getStringAttr(source.info().name));
    entry.set(data_keys::batch, axisAttribute(b, batchAxis, source.batch));
    if (isSequence) entry.set(data_keys::seq, axisAttribute(b, seqAxis, source.seq));
    entry.set(data_keys::splits, splitsAttribute(b, source.train, source.val));
    entry.set(data_keys::valFraction, b.getF64FloatAttr(source.valFraction));
    if (source.width) entry.set(data_keys::width, b.getI64IntegerAttr(source.width));
    entry.set(data_keys::shuffle, b.getBoolAttr(source.shuffle));
    entry.set(data_keys::fields, b.getArrayAttr(fields));
    entries.push_back(entry.getDictionary(&context));
  }
  return b.getArrayAttr(entries);
}
