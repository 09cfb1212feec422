//===- TrainingSettings.cpp - settings of the training description ----------===//

#include "frontend/training/TrainingSettings.h"
#include "frontend/diagnostics/ForeignNames.h"
#include "frontend/elaborate/FrontendOptions.h"
#include "llvm/ADT/MapVector.h"

using namespace tessera;
using llvm::StringRef;
using llvm::Twine;

namespace {
enum class SettingType { Count, Positive, Word, Words, Goal };

/// One argument of a setting. The first of a group may be given without its name.
struct SettingInfo {
  StringRef group, name;
  SettingType type;
  bool atRunTime;         ///< goes into the manifest
  StringRef words = "";   ///< the possible ones, separated by spaces; empty if any
  bool inBatches = false; ///< counts batches, where `evaluate` runs on micro-batches
};
} // namespace

static const SettingInfo Table[] = {
    {"clip", "norm", SettingType::Positive, false},
    {"accumulate", "count", SettingType::Count, false},
    {"compute", "type", SettingType::Word, true, "f32 tf32 bf16 fp16 fp8"},
    {"compute", "f32", SettingType::Words, true},
    {"compute", "scale", SettingType::Positive, true},
    {"compute", "weights", SettingType::Word, true, "f32 bf16"},
    {"evaluate", "every", SettingType::Count, true},
    {"evaluate", "on", SettingType::Word, true, "train val"},
    {"evaluate", "batches", SettingType::Count, true, "", /*inBatches=*/true},
    {"save", "every", SettingType::Count, true},
    {"save", "keep", SettingType::Count, true},
    {"save", "minutes", SettingType::Positive, true},
    {"save", "best", SettingType::Goal, true},
    {"stop", "after", SettingType::Count, true},
    {"stop", "patience", SettingType::Count, true},
};

static const SettingInfo *findInfo(StringRef group, StringRef name) {
  for (const SettingInfo &info : Table)
    if (info.group == group && (name.empty() || info.name == name)) return &info;
  return nullptr;
}

static std::vector<std::string> wordsOf(StringRef group, StringRef name) {
  llvm::SmallVector<StringRef> words;
  findInfo(group, name)->words.split(words, ' ');
  return {words.begin(), words.end()};
}

std::vector<std::string> tessera::computeTypes() { return wordsOf("compute", "type"); }
std::vector<std::string> tessera::weightTypes() { return wordsOf("compute", "weights"); }

static std::vector<StringRef> groupNames() {
  std::vector<StringRef> names;
  for (const SettingInfo &info : Table)
    if (!llvm::is_contained(names, info.group)) names.push_back(info.group);
  return names;
}

static std::vector<StringRef> argumentsOf(StringRef group) {
  std::vector<StringRef> names;
  for (const SettingInfo &info : Table)
    if (info.group == group) names.push_back(info.name);
  return names;
}

/// Evaluates a setting: a name is a text, any other expression must be known at compile time.
static LanguageValue wordsOf(const ast::Expr &expr) {
  LanguageValue value = LanguageValue::ofKind(LanguageValue::Kind::Text);
  if (auto *ref = llvm::dyn_cast<ast::RefExpr>(&expr)) {
    value.text = ref->name.text.str();
    return value;
  }
  if (auto *field = llvm::dyn_cast<ast::FieldExpr>(&expr)) { // a path: h.attn
    LanguageValue base = wordsOf(*field->base);
    if (base.kind != LanguageValue::Kind::Text) return LanguageValue();
    value.text = base.text + "." + field->field.text.str();
    return value;
  }
  if (auto *call = llvm::dyn_cast<ast::CallExpr>(&expr)) { // a goal: max(right)
    bool isPlain = call->args.size() == 1 && call->args[0].name.text.empty() && !call->axes;
    LanguageValue inner = isPlain ? wordsOf(*call->args[0].value) : LanguageValue();
    if (inner.kind != LanguageValue::Kind::Text) return LanguageValue();
    value.text = (call->callee.text + "(" + inner.text + ")").str();
    return value;
  }
  auto *tuple = llvm::dyn_cast<ast::TupleExpr>(&expr);
  if (!tuple) return LanguageValue();
  value.kind = LanguageValue::Kind::Tuple;
  for (const ast::Argument &element : tuple->elements) {
    LanguageValue word = wordsOf(*element.value);
    if (word.kind != LanguageValue::Kind::Text) return LanguageValue();
    value.elements.push_back({"", word});
  }
  return value;
}

std::pair<LanguageValue, Span> TrainingSettings::valueOf(StringRef group, StringRef name, const ast::Expr &value) {
  const SettingInfo *info = findInfo(group, name);
  bool isWord = info && info->type != SettingType::Count && info->type != SettingType::Positive;
  bool isFirst = info && info == findInfo(group, "");
  auto evaluate = [&](const ast::Expr &expr) {
    return isWord ? wordsOf(expr) : elaboration.exprs.expressions.eval(expr);
  };
  std::pair<LanguageValue, Span> result = {LanguageValue(), value.span};
  bool isOverridden = false;
  for (const SettingOverrides::Override &override : overrides.all())
    if (override.key == (group + "." + name).str() || (isFirst && override.key == group)) {
      ast::ExprPtr parsed = overrides.use(override);
      if (!parsed) return {LanguageValue(), value.span};
      result = {evaluate(*parsed), parsed->span}; // the last wins
      isOverridden = true;
    }
  return isOverridden ? result : std::pair(evaluate(value), value.span);
}

bool TrainingSettings::check(StringRef group, StringRef name, const LanguageValue &value, Span span) {
  const SettingInfo &info = *findInfo(group, name);
  auto wrong = [&](const Twine &expected) {
    std::string got = value.kind == LanguageValue::Kind::Text ? "`" + value.text + "`" : describe(value);
    error(DiagnosticCode::E0409, span,
          "expected " + expected + " for `" + group + "." + name + "`" + (value.isError() ? "" : ", got " + got));
    return false;
  };
  switch (info.type) {
  case SettingType::Count:
    if (!value.isNumber() || value.number.isBool() || !value.number.isWhole() || value.number.asInteger() < 1)
      return value.isError() && diagnostics.hasErrors() ? false : wrong("a whole number from 1");
    return true;
  case SettingType::Positive:
    if (!value.isNumber() || !(value.number.asDouble() > 0))
      return value.isError() && diagnostics.hasErrors() ? false : wrong("a number above 0");
    return true;
  case SettingType::Word: {
    llvm::SmallVector<StringRef> words;
    info.words.split(words, ' ');
    if (value.kind != LanguageValue::Kind::Text || !llvm::is_contained(words, value.text))
      return wrong("one of " + llvm::join(words, ", "));
    return true;
  }
  case SettingType::Words:
    if (value.kind != LanguageValue::Kind::Text && value.kind != LanguageValue::Kind::Tuple)
      return wrong("a name, or several in parentheses");
    return true;
  case SettingType::Goal:
    if (value.kind != LanguageValue::Kind::Text) return wrong("the name of a loss, min(NAME) or max(NAME)");
    return true;
  }
  llvm_unreachable("all types are handled");
}

void TrainingSettings::add(StringRef group, StringRef name, const ast::Expr &expr) {
  auto [value, span] = valueOf(group, name, expr);
  if (!check(group, name, value, span)) return;
  settings.push_back({group.str(), name.str(), std::move(value), span});
}

void TrainingSettings::readSetting(const ast::CallExpr &call) {
  StringRef group = call.callee.text;
  if (!findInfo(group, "")) {
    auto message = error(DiagnosticCode::E0408, call.callee.span, "unknown setting `" + group + "`");
    std::vector<StringRef> known = groupNames();
    StringRef nearest = nearestName(group, known), advice = adviceOnForeignName(group);
    message.help(!advice.empty()   ? "write " + advice
                 : nearest.empty() ? Twine("the settings are " + llvm::join(known, ", "))
                                   : "did you mean `" + nearest + "`?");
    return;
  }
  for (const Setting &other : settings)
    if (other.group == group) {
      error(DiagnosticCode::E0202, call.callee.span, "`" + group + "` is given twice").label(other.span, "first here");
      return;
    }
  if (call.args.empty())
    error(DiagnosticCode::E0408, call.span, "`" + group + "` needs at least one argument")
        .help("its arguments are " + llvm::join(argumentsOf(group), ", "));
  for (auto [i, arg] : llvm::enumerate(call.args)) readArgument(group, arg, /*isFirst=*/i == 0);
}

void TrainingSettings::readArgument(StringRef group, const ast::Argument &arg, bool isFirst) {
  StringRef name = arg.name.text.empty() && isFirst ? findInfo(group, "")->name : arg.name.text;
  if (!name.empty() && findInfo(group, name)) {
    if (find(group, name))
      error(DiagnosticCode::E0408, arg.value->span, "`" + group + "." + name + "` is given twice");
    else
      add(group, name, *arg.value);
    return;
  }
  std::string known = "its arguments are " + llvm::join(argumentsOf(group), ", ");
  if (name.empty())
    error(DiagnosticCode::E0408, arg.value->span,
          "only the first argument of `" + group + "` may be given without its name")
        .help(known);
  else {
    auto message = error(DiagnosticCode::E0408, arg.name.span, "`" + group + "` has no argument `" + name + "`");
    message.help(known);
    if (StringRef advice = adviceOnForeignName(name); !advice.empty()) message.help("write " + advice);
  }
}

std::vector<std::string> TrainingSettings::addresses() {
  std::vector<std::string> addresses;
  for (const SettingInfo &info : Table) addresses.push_back((info.group + "." + info.name).str());
  return addresses;
}

/// What reduced precision means for the rest of the elaboration.
void TrainingSettings::readPrecision() {
  const Setting *type = find("compute", "type"), *weights = find("compute", "weights");
  if (weights && weights->value.text == "bf16" && !(type && type->value.text == "bf16"))
    error(DiagnosticCode::E0409, weights->span, "`weights = bf16` needs `compute(bf16)`")
        .help("parameters in bf16 are for models that compute in bf16");
  std::vector<StringRef> names;
  if (const Setting *listed = find("compute", "f32")) {
    if (listed->value.kind == LanguageValue::Kind::Text) names.push_back(listed->value.text);
    for (auto &[name, word] : listed->value.elements) names.push_back(word.text);
  }
  elaboration.float32.set(std::move(names), type && type->value.text != "f32");
}

void TrainingSettings::read() {
  Frame frame = Frame::ofFile(declared.main());
  FrameScope scope(calls, frame);
  for (const ast::TrainItem &item : declared.train->items)
    if (auto *setting = std::get_if<ast::SettingItem>(&item.node)) {
      if (auto *call = llvm::dyn_cast<ast::CallExpr>(setting->call.get()))
        readSetting(*call);
      else
        error(DiagnosticCode::E0408, item.span, "expected a setting such as `stop(after = 100)`");
    }
  for (const SettingOverrides::Override &override : overrides.all()) {
    const SettingInfo *info = findInfo(override.group(), override.name());
    if (overrides.isUsed(override) || !info) continue;
    if (ast::ExprPtr expr = overrides.use(override)) add(override.group(), info->name, *expr);
  }
  readPrecision();
  if (const Setting *accumulate = find("accumulate", "count"))
    elaboration.batches.setMicroBatchCount(std::min<int64_t>(accumulate->value.number.asInteger(), INT32_MAX));
}

void TrainingSettings::checkFloat32Names() {
  for (StringRef name : elaboration.float32.unknown())
    error(DiagnosticCode::E0409, find("compute", "f32")->span, "no function or call is named `" + name + "`")
        .help("name functions (`layer_norm`), paths of calls (`h.attn`), `loss` for the losses and metrics of the "
              "description, or `gradients` for the gradients of parameters");
}

void TrainingSettings::checkGoal(llvm::ArrayRef<LoggedScalar> logs) const {
  const Setting *setting = find("save", "best");
  if (!setting) return;
  StringRef goal = setting->value.text, name = goal;
  bool isExplicit = (name.consume_front("min(") || name.consume_front("max(")) && name.consume_back(")");
  std::vector<StringRef> known;
  for (const LoggedScalar &log : logs) {
    known.push_back(log.name);
    if (log.name != name) continue;
    if (log.isLoss && goal.starts_with("max("))
      diagnostics
          .warning(DiagnosticCode::E0409, setting->span,
                   "`" + name + "` is a loss: its largest value is the worst, which `" + goal + "` would keep")
          .help("write `best = " + name + "`");
    if (!log.isLoss && !isExplicit)
      error(DiagnosticCode::E0409, setting->span, "`" + name + "` is a metric: which of its values is best?")
          .help("write `best = max(" + name + ")` if it shall be large, `best = min(" + name + ")` if small");
    return;
  }
  if (name == "total" && !goal.starts_with("max(")) return;
  if (name == "total") {
    error(DiagnosticCode::E0409, setting->span, "`total` is what training makes small: its smallest value is best")
        .help("write `best = total`, or name a metric that shall be large: `best = max(…)`");
    return;
  }
  StringRef nearest = nearestName(name, known);
  error(DiagnosticCode::E0409, setting->span, "no loss or metric is named `" + name + "`")
      .help(nearest.empty() ? "they are named " + llvm::join(known, ", ") : "did you mean `" + nearest.str() + "`?");
}

const Setting *TrainingSettings::find(StringRef group, StringRef name) const {
  for (const Setting &setting : settings)
    if (setting.group == group && setting.name == name) return &setting;
  return nullptr;
}

mlir::DictionaryAttr TrainingSettings::attribute() const {
  mlir::Builder b(&context);
  llvm::MapVector<StringRef, mlir::NamedAttrList> groups;
  for (const Setting &setting : settings) {
    const SettingInfo &info = *findInfo(setting.group, setting.name);
    if (!info.atRunTime) continue;
    mlir::Attribute value;
    if (info.type == SettingType::Count)
      value = b.getI64IntegerAttr(setting.value.number.asInteger() *
                                  (info.inBatches ? elaboration.batches.microBatchCount() : 1));
    else if (info.type == SettingType::Positive)
      value = b.getF64FloatAttr(setting.value.number.asDouble());
    else if (setting.value.kind == LanguageValue::Kind::Text)
      value = b.getStringAttr(setting.value.text);
    else {
      llvm::SmallVector<mlir::Attribute> words;
      for (auto &[name, word] : setting.value.elements) words.push_back(b.getStringAttr(word.text));
      value = b.getArrayAttr(words);
    }
    groups[info.group].set(info.name, value);
  }
  mlir::NamedAttrList all;
  for (auto &[group, list] : groups) all.set(group, list.getDictionary(&context));
  return all.getDictionary(&context);
}
