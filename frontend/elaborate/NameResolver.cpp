//===- NameResolver.cpp - what names mean at the place being elaborated ------------===//

#include "frontend/elaborate/NameResolver.h"
#include "frontend/diagnostics/ForeignNames.h"

using namespace tessera;
using llvm::StringRef;
using llvm::Twine;

std::vector<StringRef> NameResolver::visibleNames() const {
  std::vector<StringRef> names = calls.visibleAxes();
  if (!calls.isEmpty()) {
    for (auto &scope : frame().scopes)
      for (auto &known : scope) names.push_back(known.first());
    for (auto &known : frame().file->functions) names.push_back(known.first());
    for (auto &known : frame().file->lets) names.push_back(known.first());
  }
  for (auto &known : declared.hypers) names.push_back(known.first);
  llvm::append_range(names, builtinNames());
  for (StringRef constant : {"training", "true", "false", "inf", "pi", "none", "step"}) names.push_back(constant);
  llvm::sort(names);
  return names;
}

//===----------------------------------------------------------------------===//
// Values
//===----------------------------------------------------------------------===//

LanguageValue NameResolver::lookup(const ast::Name &name) {
  for (auto scope = frame().scopes.rbegin(); scope != frame().scopes.rend(); ++scope)
    if (auto found = scope->find(name.text); found != scope->end()) {
      LanguageValue value = found->second;
      value.tensor.state = nullptr; // only the name itself can be assigned to
      return regions.here(value);
    }
  if (frame().isTraining)
    if (std::optional<LanguageValue> value = training.lookup(name.text)) return *value;
  if (auto axis = frame().axes.find(name.text); axis != frame().axes.end()) {
    if (!axis->second.size) return LanguageValue();
    sizes.noteSizeRead(axis->second.name);
    return Number::ofInt(axis->second.size);
  }
  if (auto rest = frame().rests.find(name.text); rest != frame().rests.end()) {
    int64_t product = 1;
    for (const AxisRef &axis : rest->second) {
      product *= axis.size;
      sizes.noteSizeRead(axis.name);
    }
    return Number::ofInt(product);
  }
  return lookupInProgram(name);
}

/// What the file declares itself comes before the dims and hypers of other files.
LanguageValue NameResolver::lookupInProgram(const ast::Name &name) {
  const FileScope &file = *frame().file;
  if (auto let = file.lets.find(name.text); let != file.lets.end()) {
    Dims::SizeReads counted(sizes, true); // the value is kept for other readers
    return fileLets.find(file, name.text, let->second);
  }
  if (auto function = file.functions.find(name.text); function != file.functions.end())
    return FunctionValue{function->second.function->name.text, function->second.function, function->second.file, {}};
  if (file.isLibrary) return lookupBuiltin(name);
  auto hyper = declared.hypers.find(name.text);
  bool isHyper = hyper != declared.hypers.end();
  if (declared.dims.count(name.text) && !(isHyper && hyper->second.file == &file)) {
    std::optional<int64_t> size = sizes.size(name.text, name.span);
    sizes.noteSizeRead(name.text);
    return size ? LanguageValue(Number::ofInt(*size)) : LanguageValue();
  }
  if (!isHyper) return lookupBuiltin(name);
  if (std::optional<Number> value = programHypers.find(name.text)) return *value;
  return diagnostics.hasErrors()
             ? LanguageValue()
             : failed(DiagnosticCode::E0201, name.span, "the hyper `" + name.text + "` is used before it is declared");
}

LanguageValue NameResolver::lookupBuiltin(const ast::Name &name) {
  if (name.text == "training") return Number::ofBool(entry.isTraining());
  if (name.text == "true" || name.text == "false") return Number::ofBool(name.text == "true");
  if (name.text == "inf") return Number::ofFloat(INFINITY);
  if (name.text == "pi") return Number::ofFloat(M_PI);
  if (name.text == "none") return LanguageValue::none();
  if (name.text == "step") {
    if (!entry.isActive()) return failed(DiagnosticCode::E0219, name.span, "`step` is not known at compile time");
    Tensor step;
    step.value = regions.importCounter("step");
    step.level = regions.level();
    return step;
  }
  if (isBuiltin(name.text)) return FunctionValue{name.text, nullptr, frame().file, {}};
  return reportUnknown(name);
}

/// The function of `nn` that has the name, perhaps in other letters: `ReLU` is `relu`. Empty if there is none.
static StringRef libraryFunction(StringRef name) {
  for (const LibraryFile &library : nnLibrary()) {
    llvm::SmallVector<StringRef> lines;
    StringRef(library.text).split(lines, '\n');
    for (StringRef line : lines) {
      if (!line.consume_front("fn ")) continue;
      StringRef function = line.take_until([](char c) { return c == '[' || c == '('; });
      if (function.equals_insensitive(name)) return function;
    }
  }
  return "";
}

LanguageValue NameResolver::reportUnknown(const ast::Name &name) {
  if (!calls.isFirstReport(name.text)) return LanguageValue();
  if (declared.model && name.text == declared.model->name.text) {
    error(DiagnosticCode::E0205, name.span, "`" + name.text + "` is the model: only the training description calls it")
        .label(declared.model->name.span, "the model")
        .help("put the shared code into a function: `fn … { … }`");
    return LanguageValue();
  }
  auto message = error(DiagnosticCode::E0201, name.span, "unknown name `" + name.text + "`");
  if (StringRef advice = adviceOnForeignName(name.text); !advice.empty())
    message.help("write " + advice);
  else if (StringRef function = libraryFunction(name.text); !function.empty())
    message.help("it is in the library: `use nn: " + function + "`");
  else if (name.text == "None")
    message.help("leave the argument out");
  else if (StringRef nearest = nearestName(name.text, visibleNames()); !nearest.empty())
    message.help("did you mean `" + nearest + "`?");
  else
    message.help("values are declared with `let`, axes with `dim`, functions with `fn`");
  return LanguageValue();
}

//===----------------------------------------------------------------------===//
// Declarations
//===----------------------------------------------------------------------===//

bool NameResolver::isDim(const ast::Name &name) const {
  return frame().axes.count(name.text) || frame().rests.count(name.text) || frame().file->dims.contains(name.text);
}

bool NameResolver::define(const ast::Name &name, LanguageValue value) {
  if (isDim(name)) {
    auto message =
        error(DiagnosticCode::E0203, name.span, "`" + name.text + "` is a dim, and nothing may hide a dim's name");
    if (auto dim = declared.dims.find(name.text); dim != declared.dims.end())
      message.label(name.span, "this would hide it").label(dim->second.size->name.span, "the dim");
    message.help("choose another name");
    defineAsWrong(name);
    return false;
  }
  auto [known, isNew] = frame().scopes.back().try_emplace(name.text, std::move(value));
  if (isNew) return true;
  bool isState = known->second.isTensor() && known->second.tensor.state;
  error(DiagnosticCode::E0202, name.span, "`" + name.text + "` is declared twice")
      .help(isState ? "it is a state: `" + name.text + " := …` says what it is after the step" : "choose another name");
  return false;
}

void NameResolver::defineAsWrong(llvm::ArrayRef<ast::Name> names) {
  for (const ast::Name &name : names) frame().scopes.back().try_emplace(name.text, LanguageValue());
}

bool NameResolver::declareLocalDim(const ast::DimSize &dim) {
  if (declareCheckedDim(dim)) return true;
  // Uses of the dim cause no further messages.
  if (!isDim(dim.name)) frame().axes[dim.name.text] = {dim.name.text.str(), 0};
  return false;
}

bool NameResolver::declareCheckedDim(const ast::DimSize &dim) {
  if (!frame().function) {
    // A model's own dims would be the program's: declare them there.
    error(DiagnosticCode::E0205, dim.span, "dims of a model are declared at the top of the file")
        .help("move `dim " + diagnostics.sources().text(dim.span) + "` there");
    return false;
  }
  bool hides = isDim(dim.name);
  for (auto &scope : frame().scopes) hides |= scope.count(dim.name.text) > 0;
  if (hides) {
    error(DiagnosticCode::E0203, dim.name.span,
          "`" + dim.name.text + "` is declared already, and nothing may hide a dim's name");
    return false;
  }
  std::optional<int64_t> size;
  std::string like;
  if (dim.kind == ast::DimSize::Kind::Like) {
    if (std::optional<AxisRef> axis = resolveAxis(dim.like)) size = axis->size, like = axis->name;
  } else if (dim.kind == ast::DimSize::Kind::Equal) {
    size = sizes.checkedSize(evaluator.eval(*dim.size), dim.size->span, dim.name.text);
  } else {
    error(DiagnosticCode::E0222, dim.span, "a function's own dim needs a size")
        .help("write `dim " + dim.name.text + " = …` or `like …`");
  }
  if (!size) return false;
  auto isTaken = [&](StringRef name) {
    for (Frame *frame = calls.current(); frame; frame = frame->caller)
      if (frame->locals.count(name)) return true;
    return llvm::any_of(regions.regions(), [&](const RepeatRegion &region) { return region.axis.name == name; });
  };
  AxisRef axis{sizes.uniqueAxisName(dim.name.text, *size, sizes.isSampleAxis(like), isTaken), *size};
  frame().axes[dim.name.text] = axis;
  frame().locals[axis.name] = axis;
  return true;
}

//===----------------------------------------------------------------------===//
// Axes
//===----------------------------------------------------------------------===//

std::optional<AxisRef> NameResolver::resolveAxis(const ast::Name &name) {
  if (auto axis = frame().axes.find(name.text); axis != frame().axes.end())
    return axis->second.size ? std::optional(axis->second) : std::nullopt;
  if (!frame().file->isLibrary && declared.dims.count(name.text)) {
    std::optional<int64_t> size = sizes.size(name.text, name.span);
    return size ? std::optional(AxisRef{name.text.str(), *size}) : std::nullopt;
  }
  if (frame().rests.count(name.text))
    error(DiagnosticCode::E0205, name.span, "`" + name.text + "` stands for several axes; one is needed here");
  else
    calls.reportUnknownAxis(name);
  return std::nullopt;
}

std::optional<std::vector<AxisRef>> NameResolver::resolveAxes(const ast::Axes &axes, const Tensor *all) {
  std::vector<AxisRef> result;
  bool wantsRest = false;
  auto add = [&](const AxisRef &axis, Span span) {
    if (!llvm::is_contained(result, axis)) return result.push_back(axis), true;
    error(DiagnosticCode::E0212, span, "the axis `" + axis.name + "` is listed twice")
        .help("a value has each axis once: declare another of its size, `dim " + axis.name + "_in like " + axis.name +
              "`, and rename where they meet: `x as [" + axis.name + " -> " + axis.name + "_in]`");
    return false;
  };
  for (const ast::AxisItem &axis : axes.list) {
    if (axis.size) {
      error(DiagnosticCode::E0701, axis.span, "axes with sizes of their own are not supported yet")
          .help("declare a dim");
      return std::nullopt;
    }
    if (axis.isRest && axis.name.text.empty() && all) {
      wantsRest = true;
      continue;
    }
    auto rest = frame().rests.find(axis.name.text);
    if (rest != frame().rests.end() && !axis.name.text.empty()) {
      for (const AxisRef &each : rest->second)
        if (!add(each, axis.span)) return std::nullopt;
      continue;
    }
    if (axis.isRest) {
      error(DiagnosticCode::E0207, axis.span, "`..` has no meaning here").help("name the axes");
      return std::nullopt;
    }
    std::optional<AxisRef> resolved = resolveAxis(axis.name);
    if (!resolved || !add(*resolved, axis.span)) return std::nullopt;
  }
  if (wantsRest)
    for (AxisAttr axis : all->type().getAxes()) {
      AxisRef ref{axis.getName().str(), axis.getSize()};
      if (!llvm::is_contained(result, ref)) result.push_back(ref);
    }
  return result;
}
