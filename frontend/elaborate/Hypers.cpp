//===- Hypers.cpp - hyperparameters, presets, --set -------------------------===//

#include "frontend/elaborate/Hypers.h"

using namespace tessera;
using llvm::StringRef;
using llvm::Twine;

static StringRef typeName(Number number) {
  return number.isBool() ? "true or false" : number.isFloat() ? "a number" : "a whole number";
}

/// Gives a value the type of the hyper's default, if it fits.
static bool convert(Number &value, Number like) {
  if (value.isBool() != like.isBool()) return false;
  if (like.isFloat()) return value = Number::ofFloat(value.asDouble()), true;
  if (value.isFloat() && !value.isWhole()) return false;
  if (!like.isBool()) value = Number::ofInt(value.asInteger());
  return true;
}

/// A default that is written as a whole number, where a real one was meant.
static void helpOnType(DiagnosticBuilder message, StringRef name, Number initial, Number value) {
  if (!initial.isFloat() && !initial.isBool() && value.isFloat())
    message.help("a hyper has the type of its default; for real numbers write `hyper " + name + " = " + initial.str() +
                 ".0`");
}

//===----------------------------------------------------------------------===//
// --set
//===----------------------------------------------------------------------===//

/// The value of `--set NAME=VALUE` for a hyper: a closed expression.
std::optional<Number> Hypers::parseSet(StringRef name, StringRef text) {
  unsigned file = diagnostics.sources().add(text, ("<--set " + name + ">").str());
  ast::ExprPtr expr = parseExpression(file, diagnostics);
  if (!expr) return std::nullopt;
  Frame frame = Frame::ofFile(declared.main());
  LanguageValue value = evaluator.evalIn(frame, *expr);
  if (value.isNumber()) return value.number;
  if (!value.isError())
    diagnostics.error(DiagnosticCode::E0502, expr->span,
                      "expected a number for `" + name + "`, got " + describe(value));
  return std::nullopt;
}

void Hypers::applySet(StringRef name, StringRef text, const ast::Bind &bind) {
  std::optional<Number> value = parseSet(name, text);
  if (!value) return;
  Number &current = values[name];
  Number given = *value;
  if (convert(*value, current)) {
    current = *value;
    return;
  }
  auto message = diagnostics.error(DiagnosticCode::E0502,
                                   "expected " + typeName(current) + " for `" + name + "`, got " + given.str());
  message.note("`" + name + "` is declared", bind.name.span);
  helpOnType(message, name, current, given);
}

/// The hypers that an expression is computed from, directly or through dims and lets, in the order met.
void Hypers::hypersOf(const ast::Expr &expr, std::vector<StringRef> &hypers, llvm::StringSet<> &seen) const {
  ast::forEachExpr(expr, [&](const ast::Expr &each) {
    auto *ref = llvm::dyn_cast<ast::RefExpr>(&each);
    if (!ref || !seen.insert(ref->name.text).second) return;
    StringRef name = ref->name.text;
    if (declared.hypers.count(name)) hypers.push_back(name);
    if (auto dim = declared.dims.find(name); dim != declared.dims.end() && dim->second.size->size)
      hypersOf(*dim->second.size->size, hypers, seen);
    if (auto let = declared.main().lets.find(name); let != declared.main().lets.end())
      hypersOf(*let->second.definition->value, hypers, seen);
  });
}

/// Dims are derived: says what to set instead.
void Hypers::refuseDim(StringRef name, const DimDecl &dim) {
  auto message = diagnostics.error(DiagnosticCode::E0504, "`" + name + "` is a dim and cannot be set");
  message.note("declared", dim.size->span);
  std::vector<StringRef> hypers;
  llvm::StringSet<> seen;
  if (dim.size->size) hypersOf(*dim.size->size, hypers, seen);
  StringRef size = dim.size->size ? diagnostics.sources().text(dim.size->size->span) : "";
  if (!hypers.empty())
    message.help("set what it is computed from: " + llvm::join(hypers, ", "));
  else if (!size.empty())
    message.help("make its size a hyper: `hyper n_" + name + " = " + size + "` and `dim " + name + " = n_" + name +
                 "`; then set `n_" + name + "`");
  else
    message.help("its size comes from the data description");
}

/// Hypers are set in `resolve`; everything that is neither hyper nor dim addresses a setting.
void Hypers::sortSets(llvm::ArrayRef<std::string> sets, SettingOverrides &settings) {
  for (const std::string &set : sets) {
    auto [name, text] = StringRef(set).split('=');
    if (name.empty() || name.size() == set.size() || text.empty())
      diagnostics.error(DiagnosticCode::E0505, "malformed `--set " + set + "`").help("write `--set NAME=VALUE`");
    else if (auto dim = declared.dims.find(name); !declared.hypers.count(name) && dim != declared.dims.end())
      refuseDim(name, dim->second);
    else if (!declared.hypers.count(name))
      settings.add(name, text);
  }
}

//===----------------------------------------------------------------------===//
// Presets
//===----------------------------------------------------------------------===//

std::vector<const ast::Preset *> Hypers::findPresets(llvm::ArrayRef<std::string> names) {
  std::vector<const ast::Preset *> presets;
  for (const std::string &name : names) {
    auto found = declared.presets.find(name);
    if (found != declared.presets.end()) {
      presets.push_back(found->second);
      continue;
    }
    std::vector<StringRef> known;
    for (auto &entry : declared.presets) known.push_back(entry.first);
    auto message = diagnostics.error(DiagnosticCode::E0503, "unknown preset `" + name + "`");
    message.help(known.empty() ? "the file declares no presets" : "the file declares " + llvm::join(known, ", "));
  }
  return presets;
}

/// Presets that are not chosen are checked too, before those that are.
void Hypers::applyPresets(StringRef name, const HyperDecl &decl, llvm::ArrayRef<const ast::Preset *> chosen) {
  Number initial = values[name];
  std::vector<const ast::Preset *> all;
  for (auto &entry : declared.presets)
    if (!llvm::is_contained(chosen, entry.second)) all.push_back(entry.second);
  unsigned firstChosen = all.size();
  llvm::append_range(all, chosen);
  for (auto [index, preset] : llvm::enumerate(all))
    for (const ast::Bind &bind : preset->binds) {
      if (bind.name.text != name) continue;
      std::optional<Number> other = evaluator.evalConstant(*bind.value, "the preset's value of `" + name + "`");
      bool fits = other && convert(*other, initial);
      if (fits && index >= firstChosen)
        values[name] = *other;
      else if (other && !fits) {
        auto message = error(DiagnosticCode::E0502, bind.value->span,
                             "expected " + typeName(initial) + " for `" + name + "`, got " + other->str());
        message.label(decl.bind->value->span, "the default");
        helpOnType(message, name, initial, *other);
      }
    }
}

void Hypers::checkPresetNames() {
  for (auto &[name, preset] : declared.presets)
    for (const ast::Bind &bind : preset->binds) {
      if (declared.hypers.count(bind.name.text)) continue;
      auto message =
          diagnostics.error(DiagnosticCode::E0501, bind.name.span, "no hyper is called `" + bind.name.text + "`");
      std::vector<StringRef> known;
      for (auto &entry : declared.hypers) known.push_back(entry.first);
      if (StringRef nearest = nearestName(bind.name.text, known); !nearest.empty())
        message.help("did you mean `" + nearest + "`?");
    }
}

void Hypers::resolve(const FrontendOptions &options, SettingOverrides &settings) {
  sortSets(options.sets, settings);
  std::vector<const ast::Preset *> presets = findPresets(options.presets);
  for (auto &[name, decl] : declared.hypers) {
    Frame frame = Frame::ofFile(*decl.file);
    FrameScope scope(calls, frame);
    std::optional<Number> value = evaluator.evalConstant(*decl.bind->value, "the default of `" + name + "`");
    if (!value) continue;
    values[name] = *value;
    applyPresets(name, decl, presets);
    for (const std::string &set : options.sets)
      if (auto [key, text] = StringRef(set).split('='); key == name && !text.empty()) applySet(name, text, *decl.bind);
  }
  checkPresetNames();
}
