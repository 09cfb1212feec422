//===- Elaborator.cpp - messages, names, axes ------------------------------===//

#include "frontend/elaborate/Elaborator.h"
#include "ir/program/Program.h"
#include "mlir/IR/Location.h"

using namespace tessera;
using llvm::StringRef;
using llvm::Twine;

int32_t tessera::stableHash(StringRef text) {
  uint32_t hash = 2166136261u;
  for (unsigned char c : text) hash = (hash ^ c) * 16777619u;
  return static_cast<int32_t>(hash & 0x7FFFFFFF);
}

static mlir::OwningOpRef<mlir::ModuleOp> emptyModule(mlir::MLIRContext &context, const SourceProgram &program) {
  auto module = mlir::ModuleOp::create(mlir::UnknownLoc::get(&context));
  llvm::SmallVector<mlir::Attribute> order;
  for (const std::string &name : canonicalAxisOrder(program)) order.push_back(mlir::StringAttr::get(&context, name));
  module->setAttr(attrs::axes, mlir::ArrayAttr::get(&context, order));
  return module;
}

Elaborator::Elaborator(mlir::MLIRContext &context, const SourceProgram &program, const FrontendOptions &options,
                       DiagnosticEngine &diagnostics)
    : Program(program), Options(options), Engine(diagnostics), Context(context), Module(emptyModule(context, program)),
      B(*Module, mlir::UnknownLoc::get(&context)) {
  F32 = B.getF32Type();
  I32 = B.getI32Type();
  I64 = B.getI64Type();
  I1 = B.getI1Type();
}

//===----------------------------------------------------------------------===//
// Messages
//===----------------------------------------------------------------------===//

/// Inside the library the message points to the call in the user's file; elsewhere notes tell the way to the place.
DiagnosticBuilder Elaborator::error(DiagnosticCode code, Span span, const Twine &message) {
  Frame *frame = Current;
  Span place = span;
  while (frame && frame->caller && Engine.sources()[place.file].isLibrary()) {
    place = frame->callSite;
    frame = frame->caller;
  }
  DiagnosticBuilder builder = Engine.error(code, place, message);
  if (!(place == span)) builder.note("found in the library,", span);
  for (unsigned shown = 0; frame && frame->caller && frame->function && shown < 3; frame = frame->caller, ++shown)
    builder.note("in the call of `" + frame->function->name.text + "`", frame->callSite);
  return builder;
}

Value Elaborator::unsupported(Span span, const Twine &what) {
  return failed(DiagnosticCode::E0701, span, what + " not supported yet");
}

/// Whether sizes, multiplied, stay where all later arithmetic on them is exact.
bool Elaborator::checkElements(NamedTensorType type, Span span) {
  int64_t elements = 1;
  bool fits = true;
  for (AxisAttr axis : type.getAxes()) fits = fits && !__builtin_mul_overflow(elements, axis.getSize(), &elements);
  if (fits && elements <= int64_t(1) << 48) return true;
  auto message =
      error(DiagnosticCode::E0223, span, "a value " + describeAxes(type) + " would have more than 2^48 elements");
  noteDims(message, type.getAxes());
  return false;
}

/// Tells the sizes of axes that a message is about.
void Elaborator::noteDims(DiagnosticBuilder &message, llvm::ArrayRef<AxisAttr> axes) {
  for (AxisAttr axis : axes) {
    auto found = Program.dims.find(axis.getName());
    if (found == Program.dims.end()) continue;
    const ast::DimSize &size = *found->second.size;
    std::string text = ("`" + axis.getName() + "` = " + Twine(axis.getSize())).str();
    if (size.size && !llvm::isa<ast::NumberExpr>(*size.size))
      text += (" (" + Engine.sources().text(size.size->span) + ")").str();
    message.note(text + ", declared", size.name.span);
  }
}

mlir::Location Elaborator::locate(Span span) {
  LineColumn at = Engine.sources().position(span);
  mlir::Location here = mlir::FileLineColLoc::get(&Context, Engine.sources()[span.file].name(), at.line, at.column);
  if (Current && Current->callLocation) return mlir::CallSiteLoc::get(here, *Current->callLocation);
  return here;
}

std::vector<StringRef> Elaborator::visibleAxes() const {
  std::vector<StringRef> names;
  if (Current) {
    for (auto &entry : Current->axes) names.push_back(entry.first());
    for (auto &entry : Current->rests) names.push_back(entry.first());
  }
  for (auto &entry : Program.dims) names.push_back(entry.first);
  llvm::sort(names);
  return names;
}

std::vector<StringRef> Elaborator::visibleNames() const {
  std::vector<StringRef> names = visibleAxes();
  if (Current) {
    for (auto &scope : Current->scopes)
      for (auto &entry : scope) names.push_back(entry.first());
    for (auto &entry : Current->file->functions) names.push_back(entry.first());
    for (auto &entry : Current->file->lets) names.push_back(entry.first());
  }
  for (auto &entry : Program.hypers) names.push_back(entry.first);
  llvm::append_range(names, builtinNames());
  llvm::sort(names);
  return names;
}

//===----------------------------------------------------------------------===//
// Names
//===----------------------------------------------------------------------===//

Value Elaborator::lookup(const ast::Name &name) {
  for (auto scope = Current->scopes.rbegin(); scope != Current->scopes.rend(); ++scope)
    if (auto found = scope->find(name.text); found != scope->end()) {
      Value value = found->second;
      if (value.isTensor()) value.tensor = here(value.tensor);
      return value;
    }
  if (Current->isTraining) {
    bool found = false;
    Value value = lookupTrainLet(name.text, found);
    if (found) return value;
  }
  if (auto axis = Current->axes.find(name.text); axis != Current->axes.end()) {
    BatchSizeRead |= axis->second.name == "batch";
    return Number::ofInt(axis->second.size);
  }
  if (auto rest = Current->rests.find(name.text); rest != Current->rests.end()) {
    int64_t product = 1;
    for (const AxisRef &axis : rest->second) {
      product *= axis.size;
      BatchSizeRead |= axis.name == "batch";
    }
    return Number::ofInt(product);
  }
  return lookupGlobal(name);
}

Value Elaborator::lookupGlobal(const ast::Name &name) {
  const FileScope &file = *Current->file;
  if (!file.isLibrary) {
    if (Program.dims.count(name.text)) {
      std::optional<int64_t> size = dimSize(name.text, name.span);
      BatchSizeRead |= name.text == "batch";
      return size ? Value(Number::ofInt(*size)) : Value();
    }
    if (Program.hypers.count(name.text)) {
      auto found = Hypers.find(name.text);
      if (found != Hypers.end()) return found->second;
      return Engine.hasErrors() ? Value()
                                : failed(DiagnosticCode::E0201, name.span,
                                         "the hyper `" + name.text + "` is used before it is declared");
    }
  }
  if (auto let = file.lets.find(name.text); let != file.lets.end()) return globalLet(file, name.text, let->second);
  if (auto function = file.functions.find(name.text); function != file.functions.end())
    return FunctionValue{function->second.function->name.text, function->second.function, function->second.file, {}};
  if (name.text == "training") return Number::ofBool(Training);
  if (name.text == "true" || name.text == "false") return Number::ofBool(name.text == "true");
  if (name.text == "inf") return Number::ofFloat(INFINITY);
  if (name.text == "pi") return Number::ofFloat(M_PI);
  if (name.text == "none") return Value::none();
  if (name.text == "step") {
    if (!EntryBlock) return failed(DiagnosticCode::E0219, name.span, "`step` is not known at compile time");
    Tensor step;
    step.value = import(counter("step"), 0);
    step.level = level();
    return step;
  }
  if (isBuiltin(name.text)) return FunctionValue{name.text, nullptr, &file, {}};
  if (Program.model && name.text == Program.model->name.text) {
    error(DiagnosticCode::E0205, name.span, "`" + name.text + "` is the model: only the training description calls it")
        .label(Program.model->name.span, "the model")
        .help("put what is shared into a function: `fn … { … }`");
    return Value();
  }
  auto message = error(DiagnosticCode::E0201, name.span, "unknown name `" + name.text + "`");
  StringRef nearest = nearestName(name.text, visibleNames());
  if (!nearest.empty()) message.help("did you mean `" + nearest + "`?");
  for (const LibraryFile &library : nnLibrary())
    if (library.text.contains(("\nfn " + name.text + "[").str()) ||
        library.text.contains(("\nfn " + name.text + "(").str()))
      message.help("it is in the library: `use nn: " + name.text + "`");
  return Value();
}

bool Elaborator::define(const ast::Name &name, Value value) {
  bool isDim = Current->axes.count(name.text) || Current->rests.count(name.text) ||
               (!Current->file->isLibrary && Program.dims.count(name.text));
  if (isDim) {
    auto message =
        error(DiagnosticCode::E0203, name.span, "`" + name.text + "` is a dim, and nothing may hide a dim's name");
    if (auto dim = Program.dims.find(name.text); dim != Program.dims.end())
      message.label(name.span, "this would hide it").label(dim->second.size->name.span, "the dim");
    message.help("choose another name");
    return false;
  }
  if (Current->scopes.back().try_emplace(name.text, std::move(value)).second) return true;
  error(DiagnosticCode::E0202, name.span, "`" + name.text + "` is declared twice").help("choose another name");
  return false;
}

/// Names whose declaration was wrong are known all the same, so that their uses cause no further messages.
void Elaborator::defineAsWrong(llvm::ArrayRef<ast::Name> names) {
  for (const ast::Name &name : names) Current->scopes.back().try_emplace(name.text, Value());
}

//===----------------------------------------------------------------------===//
// Axes
//===----------------------------------------------------------------------===//

std::optional<AxisRef> Elaborator::resolveAxis(const ast::Name &name) {
  if (auto axis = Current->axes.find(name.text); axis != Current->axes.end()) return axis->second;
  if (!Current->file->isLibrary && Program.dims.count(name.text)) {
    std::optional<int64_t> size = dimSize(name.text, name.span);
    return size ? std::optional(AxisRef{name.text.str(), *size}) : std::nullopt;
  }
  if (Current->rests.count(name.text)) {
    error(DiagnosticCode::E0205, name.span, "`" + name.text + "` stands for several axes; one is needed here");
    return std::nullopt;
  }
  auto message = error(DiagnosticCode::E0204, name.span, "unknown axis `" + name.text + "`");
  StringRef nearest = nearestName(name.text, visibleAxes());
  if (!nearest.empty())
    message.help("did you mean `" + nearest + "`?");
  else
    message.help("declare it: `dim " + name.text + " = …`");
  return std::nullopt;
}

std::optional<std::vector<AxisRef>> Elaborator::resolveAxes(const ast::Axes &axes, const Tensor *all) {
  std::vector<AxisRef> result;
  bool wantsRest = false;
  auto add = [&](const AxisRef &axis, Span span) {
    if (!llvm::is_contained(result, axis)) return result.push_back(axis), true;
    error(DiagnosticCode::E0212, span, "the axis `" + axis.name + "` is listed twice");
    return false;
  };
  for (const ast::Axis &axis : axes.list) {
    if (axis.size) {
      error(DiagnosticCode::E0701, axis.span, "axes with sizes of their own are not supported yet")
          .help("declare a dim");
      return std::nullopt;
    }
    if (axis.isRest && axis.name.text.empty() && all) {
      wantsRest = true;
      continue;
    }
    auto rest = Current->rests.find(axis.name.text);
    if (rest != Current->rests.end() && !axis.name.text.empty()) {
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

/// A name for a local dim that no dim of the program, of an enclosing call, or of another size has.
std::string Elaborator::uniqueAxisName(StringRef name, int64_t size, bool isRows) {
  for (unsigned suffix = 1;; ++suffix) {
    std::string candidate = suffix == 1 ? name.str() : (name + "_" + Twine(suffix)).str();
    bool taken = Program.dims.count(candidate);
    for (Frame *frame = Current; frame && !taken; frame = frame->caller) taken = frame->locals.count(candidate);
    for (const Level &level : Levels) taken |= level.axis.name == candidate;
    auto known = LocalSizes.find(candidate);
    if (known != LocalSizes.end()) taken |= known->second != size || RowAxes.contains(candidate) != isRows;
    if (taken) continue;
    LocalSizes[candidate] = size;
    if (isRows) RowAxes.insert(candidate);
    return candidate;
  }
}

bool Elaborator::declareLocalDim(const ast::DimSize &dim) {
  if (!Current->function) {
    // A model's own dims would be the program's: declare them there.
    error(DiagnosticCode::E0205, dim.span, "dims of a model are declared at the top of the file");
    return false;
  }
  bool hides = Current->axes.count(dim.name.text) || Current->rests.count(dim.name.text) ||
               (!Current->file->isLibrary && Program.dims.count(dim.name.text));
  for (auto &scope : Current->scopes) hides |= scope.count(dim.name.text) > 0;
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
    size = checkedSize(eval(*dim.size), dim.size->span, dim.name.text);
  } else {
    error(DiagnosticCode::E0222, dim.span, "a function's own dim needs a size")
        .help("write `dim " + dim.name.text + " = …` or `like …`");
  }
  if (!size) return false;
  AxisRef axis{uniqueAxisName(dim.name.text, *size, isRowAxis(like)), *size};
  Current->axes[dim.name.text] = axis;
  Current->locals[axis.name] = axis;
  return true;
}
