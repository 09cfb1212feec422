//===- DataSources.cpp - the data of the training description ---------------===//

#include "frontend/training/DataSources.h"
#include "ir/program/Program.h"

using namespace tessera;
using llvm::StringRef;
using llvm::Twine;

static constexpr unsigned MaxFields = 250;

namespace {
/// What other libraries call arguments of a data source.
struct ForeignArgument {
  StringRef names; ///< separated by spaces
  StringRef help;
};
} // namespace

static constexpr ForeignArgument foreignArguments[] = {
    {"delimiter sep separator", "cells are separated by commas: write the file with commas"},
    {"header names col_names skiprows skip_header",
     "the header is found by itself; `column = 3` or `column = \"age\"` is where a field begins"},
    {"index_col usecols", "columns that no field takes are ignored"},
    {"test test_size test_split",
     "there is no test split: `val = 0.1` holds rows out, and `PROGRAM eval --data FILE` evaluates another file"},
    {"validation valid validation_split val_split dev", "`val = 0.1` holds a fraction of the rows out"},
    {"batch_size bs", "write `batch = 32`"},
    {"random_state seed",
     "`val_seed = 1` chooses the rows that `val` holds out; `PROGRAM train --seed 1` all the rest"},
    {"path file filename filepath data_dir root", "write `train = \"…\"`"},
    {"epochs epoch", "write `stop(after = n)`, in steps: an epoch is the number of rows divided by `batch`"},
    {"num_workers pin_memory drop_last", "leave it out"},
    {"normalize standardize scale", "compute with the field instead: `m(d.x / 255)`"},
};

/// What to write for an argument that other libraries have; empty if it is none.
static StringRef helpOnForeignArgument(StringRef name) {
  for (const ForeignArgument &row : foreignArguments) {
    llvm::SmallVector<StringRef> names;
    row.names.split(names, ' ');
    if (llvm::is_contained(names, name)) return row.help;
  }
  return "";
}

/// `batch` and the like, which `--set SOURCE.NAME=…` may replace.
static std::optional<DataArgument> settingNamed(StringRef name, const DataFormatInfo &format) {
  std::optional<DataArgument> argument = argumentNamed(name, format.arguments);
  return argument && infoOf(*argument).isSetting ? argument : std::nullopt;
}

DataSources::DataSources(Elaboration &elaboration, TrainingSettings &settings, SettingOverrides &overrides)
    : ElaborationComponent(elaboration.calls), elaboration(elaboration), settings(settings), overrides(overrides),
      fields(elaboration) {}

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

bool DataSources::describeField(SourceDescription &source, const ast::Argument &arg) {
  std::optional<SourceField> field = fields.read(source.info(), arg);
  if (field) source.fields.push_back(std::move(*field));
  return field.has_value();
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

/// What is held out for validation; false if the value is not one that the argument takes.
bool DataSources::readValidation(SourceDescription &source, DataArgument argument, const LanguageValue &value) {
  if (!value.isNumber() || value.number.isBool() != (argument == DataArgument::ValTail)) return false;
  const Number &number = value.number;
  if (argument == DataArgument::ValTail) {
    source.valTail = number.integer != 0;
  } else if (argument == DataArgument::ValSeed) {
    if (!number.isWhole() || number.asInteger() < 0) return false;
    source.valSeed = number.asInteger();
  } else {
    if (!(number.asDouble() >= 0 && number.asDouble() < 1)) return false;
    source.val.clear();
    source.valFraction = number.asDouble();
  }
  return true;
}

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
    StringRef dim = argument == DataArgument::Batch ? batchAxis : seqAxis;
    if (!size || !elaboration.dims.agreesWithDeclaration(dim, *size, span)) return false;
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
    return readValidation(source, argument, value) || refuse("a fraction in [0, 1)");
  case DataArgument::ValSeed:
    return readValidation(source, argument, value) || refuse("a whole number from 0");
  case DataArgument::ValTail:
    return readValidation(source, argument, value) || refuse("true or false");
  case DataArgument::Train:
  case DataArgument::Column:
  case DataArgument::Columns:
  case DataArgument::Below:
  case DataArgument::Classes:
  case DataArgument::Missing:
    break;
  }
  llvm_unreachable("not a scalar of a source");
}

#pragma GCC diagnostic pop

bool DataSources::reportUnknownArgument(const SourceDescription &source, const ast::Argument &arg) {
  StringRef name = arg.name.text, format = source.info().name;
  auto message = error(DiagnosticCode::E0410, arg.name.span, "`" + format + "` has no argument `" + name + "`");
  std::vector<StringRef> known = namesOf(source.info().arguments);
  if (StringRef help = helpOnForeignArgument(name); !help.empty()) return message.help(help), false;
  if (StringRef nearest = nearestName(name, known); !nearest.empty())
    return message.help("did you mean `" + nearest + "`?"), false;
  message.help("its arguments are " + llvm::join(known, ", ") +
               (source.info().isSequence() ? "" : ", and fields such as `x = float[axis](…)` or `y = int(…)`"));
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
  if (argument == DataArgument::Train) return fields.readStrings(*arg.value, source.train, "a file name");
  if (argument == DataArgument::Val && format.hasFiles() && isPath)
    return fields.readStrings(*arg.value, source.val, "a file name");
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

/// Warns of arguments about the rows of a fraction where no fraction, or its end, is held out.
void DataSources::warnOfUnusedValidation(const SourceDescription &source, const ast::CallExpr &call) {
  for (const ast::Argument &arg : call.args) {
    std::optional<DataArgument> argument = argumentNamed(arg.name.text, source.info().arguments);
    bool isSeed = argument == DataArgument::ValSeed, hasFraction = source.valFraction > 0;
    if ((!isSeed && argument != DataArgument::ValTail) || (hasFraction && !(isSeed && source.valTail))) continue;
    diagnostics
        .warning(DiagnosticCode::E0410, arg.name.span,
                 "`" + arg.name.text + "` has no effect: " +
                     (hasFraction ? "`val_tail` holds out the last rows" : "no fraction of the rows is held out"))
        .help(hasFraction ? "leave out one of the two" : "write `val = 0.1`, or leave it out");
  }
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
  fields.warnOfOverlaps(source.fields);
  warnOfUnusedValidation(source, *call);
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
            "a batch of " + Twine(source.batch) + " rows cannot be split into " + Twine(count) + " equal parts")
          .help("`accumulate`, or --leaves, says how many parts");
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

bool DataSources::hasAxis(StringRef name) const {
  return llvm::any_of(sources, [&](const SourceDescription &source) {
    return llvm::any_of(source.fields, [&](const SourceField &field) {
      return llvm::any_of(field.axes, [&](const AxisRef &axis) { return axis.name == name; });
    });
  });
}

/// `Tensor::input` holds the index of the source and that of the field.
static int inputOfField(unsigned source, unsigned field) { return static_cast<int>(source << 8 | field); }
static_assert(MaxFields < 256, "the index of a field has 8 bits");

void DataSources::requireBelow(int input, int64_t below) {
  SourceField &field = sources[input >> 8].fields[input & 255];
  field.below = std::min(field.below.value_or(below), below);
}

void DataSources::notePositions(int input, StringRef axis) {
  auto &axes = sources[input >> 8].fields[input & 255].positionsOn;
  if (!llvm::is_contained(axes, axis)) axes.push_back(axis.str());
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
  if (!elaboration.entry.isActive() || elaboration.entry.isGenerate())
    return failed(DiagnosticCode::E0219, source.span, "data is not known at compile time");
  // Only `step` reads the whole batch, and splits it; everything else works on the part that the model is built for.
  bool isSplit = elaboration.regions.isInMicro();
  std::optional<int64_t> rows = isSplit ? source.batch : elaboration.dims.size(batchAxis, span);
  if (!rows) return LanguageValue();
  Tensor tensor;
  tensor.level = isSplit ? 1 : 0;
  tensor.value = inputOf(source, *field, *rows);
  if (isSplit) tensor.value = sliceOf(source, *field, tensor.value);
  tensor.input = inputOfField(data.data, field - source.fields.begin());
  if (field->below) tensor.range = Interval{0, *field->below - 1};
  return elaboration.regions.here(tensor);
}

//===----------------------------------------------------------------------===//
// The attribute
//===----------------------------------------------------------------------===//

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
    if (source.valFraction > 0 && !source.valTail && !isSequence)
      entry.set(data_keys::valSeed, b.getI64IntegerAttr(source.valSeed));
    if (source.width) entry.set(data_keys::width, b.getI64IntegerAttr(source.width));
    entry.set(data_keys::shuffle, b.getBoolAttr(source.shuffle));
    entry.set(data_keys::fields, b.getArrayAttr(fields));
    entries.push_back(entry.getDictionary(&context));
  }
  return b.getArrayAttr(entries);
}
