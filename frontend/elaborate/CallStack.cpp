//===- CallStack.cpp - frames, messages, locations --------------------------===//

#include "frontend/elaborate/CallStack.h"
#include "mlir/IR/Location.h"

using namespace tessera;
using llvm::StringRef;
using llvm::Twine;

Frame Frame::ofFile(const FileScope &file) {
  Frame frame;
  frame.file = &file;
  frame.scopes.emplace_back();
  return frame;
}

//===----------------------------------------------------------------------===//
// Scopes
//===----------------------------------------------------------------------===//

CallStack::FrameScope::FrameScope(CallStack &calls, Frame &frame)
    : calls(calls), savedFrame(std::exchange(calls.innermost, &frame)),
      savedName(std::exchange(calls.currentName, frame.path)) {}

CallStack::FrameScope::~FrameScope() {
  calls.innermost = savedFrame;
  calls.currentName = std::move(savedName);
}

CallStack::SpanScope::SpanScope(CallStack &calls, Span span)
    : calls(calls), savedSpan(std::exchange(calls.exprSpan, span)), savedLocation(calls.shared.builder.getLoc()) {
  calls.shared.builder.setLoc(calls.locate(span));
}

CallStack::SpanScope::~SpanScope() {
  calls.shared.builder.setLoc(savedLocation);
  calls.exprSpan = savedSpan;
}

ElaborationComponent::ElaborationComponent(CallStack &calls)
    : calls(calls), declared(calls.inputs().declarations), diagnostics(calls.inputs().diagnostics),
      context(*calls.inputs().builder.getContext()), builder(calls.inputs().builder), f32(builder.getF32Type()),
      i32(builder.getI32Type()), i64(builder.getI64Type()), i1(builder.getI1Type()) {}

//===----------------------------------------------------------------------===//
// Messages
//===----------------------------------------------------------------------===//

DiagnosticBuilder CallStack::error(DiagnosticCode code, Span span, const Twine &message) const {
  DiagnosticEngine &engine = shared.diagnostics;
  Frame *frame = innermost;
  Span place = span;
  while (frame && frame->caller && engine.sources()[place.file].isLibrary()) {
    place = frame->callSite;
    frame = frame->caller;
  }
  DiagnosticBuilder builder = engine.error(code, place, message);
  if (!(place == span)) builder.note("found in the library,", span);
  for (unsigned shown = 0; frame && frame->caller && frame->function && shown < 3; frame = frame->caller, ++shown)
    builder.note("in the call of `" + frame->function->name.text + "`", frame->callSite);
  return builder;
}

Span CallStack::userSpan(Span span) const {
  for (Frame *frame = innermost; frame && frame->caller && shared.diagnostics.sources()[span.file].isLibrary();
       frame = frame->caller)
    span = frame->callSite;
  return span;
}

bool CallStack::checkIsEverywhere(Span span, const Twine &what) const {
  if (!assigned) return true;
  error(DiagnosticCode::E0310, span, what + " would exist in training only")
      .label(*assigned, "computed for a state, which evaluation does not do")
      .help("name the value before the assignment: `let next = …`, then `:= next`");
  return false;
}

bool CallStack::checkElements(NamedTensorType type, Span span) const {
  int64_t elements = 1;
  bool fits = true;
  for (AxisAttr axis : type.getAxes()) fits = fits && !__builtin_mul_overflow(elements, axis.getSize(), &elements);
  if (fits && elements <= int64_t(1) << 48) return true;
  auto message =
      error(DiagnosticCode::E0223, span, "a value " + describeAxes(type) + " would have more than 2^48 elements");
  noteDims(message, type.getAxes());
  return false;
}

void CallStack::noteDims(DiagnosticBuilder &message, llvm::ArrayRef<AxisAttr> axes) const {
  for (AxisAttr axis : axes) {
    auto found = shared.declarations.dims.find(axis.getName());
    if (found == shared.declarations.dims.end()) continue;
    const ast::DimSize &size = *found->second.size;
    std::string text = ("`" + axis.getName() + "` = " + Twine(axis.getSize())).str();
    if (size.size && !llvm::isa<ast::NumberExpr>(*size.size))
      text += (" (" + shared.diagnostics.sources().text(size.size->span) + ")").str();
    message.note(text + ", declared", size.name.span);
  }
}

void CallStack::reportUnknownAxis(const ast::Name &name) {
  if (!isFirstReport(name.text)) return;
  auto message = error(DiagnosticCode::E0204, name.span, "unknown axis `" + name.text + "`");
  StringRef nearest = nearestName(name.text, visibleAxes());
  bool isNumber = shared.declarations.hypers.count(name.text) || (innermost && innermost->file->lets.count(name.text));
  if (isNumber)
    message.help("`" + name.text + "` is a number: declare an axis of this size, `dim n_" + name.text + " = " +
                 name.text + "`, and write `n_" + name.text + "` here");
  else if (!nearest.empty())
    message.help("did you mean `" + nearest + "`?");
  else
    message.help("declare it: `dim " + name.text + " = …`");
  if (!isNumber && nearest.empty() && innermost && innermost->function)
    message.help("or name it in the brackets of the function: `fn " + innermost->function->name.text + "[" + name.text +
                 "](…)`");
}

std::vector<StringRef> CallStack::visibleAxes() const {
  std::vector<StringRef> names;
  if (innermost) {
    for (auto &entry : innermost->axes) names.push_back(entry.first());
    for (auto &entry : innermost->rests) names.push_back(entry.first());
  }
  for (auto &entry : shared.declarations.dims) names.push_back(entry.first);
  llvm::sort(names);
  return names;
}

mlir::Location CallStack::locate(Span span) const {
  const SourceFiles &sources = shared.diagnostics.sources();
  LineColumn at = sources.position(span);
  mlir::Location here =
      mlir::FileLineColLoc::get(shared.builder.getContext(), sources[span.file].name(), at.line, at.column);
  if (innermost && innermost->callLocation) return mlir::CallSiteLoc::get(here, *innermost->callLocation);
  return here;
}
