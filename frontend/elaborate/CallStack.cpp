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
    : Calls(calls), SavedFrame(std::exchange(calls.Current, &frame)),
      SavedName(std::exchange(calls.OpName, frame.path)) {}

CallStack::FrameScope::~FrameScope() {
  Calls.Current = SavedFrame;
  Calls.OpName = std::move(SavedName);
}

CallStack::SpanScope::SpanScope(CallStack &calls, Span span)
    : Calls(calls), SavedSpan(std::exchange(calls.CurrentSpan, span)), SavedLocation(calls.Inputs.builder.getLoc()) {
  Calls.Inputs.builder.setLoc(Calls.locate(span));
}

CallStack::SpanScope::~SpanScope() {
  Calls.Inputs.builder.setLoc(SavedLocation);
  Calls.CurrentSpan = SavedSpan;
}

ElaborationComponent::ElaborationComponent(CallStack &calls)
    : Calls(calls), Declared(calls.inputs().declarations), Engine(calls.inputs().diagnostics),
      Context(*calls.inputs().builder.getContext()), B(calls.inputs().builder), F32(B.getF32Type()),
      I32(B.getI32Type()), I64(B.getI64Type()), I1(B.getI1Type()) {}

//===----------------------------------------------------------------------===//
// Messages
//===----------------------------------------------------------------------===//

DiagnosticBuilder CallStack::error(DiagnosticCode code, Span span, const Twine &message) const {
  DiagnosticEngine &engine = Inputs.diagnostics;
  Frame *frame = Current;
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
    auto found = Inputs.declarations.dims.find(axis.getName());
    if (found == Inputs.declarations.dims.end()) continue;
    const ast::DimSize &size = *found->second.size;
    std::string text = ("`" + axis.getName() + "` = " + Twine(axis.getSize())).str();
    if (size.size && !llvm::isa<ast::NumberExpr>(*size.size))
      text += (" (" + Inputs.diagnostics.sources().text(size.size->span) + ")").str();
    message.note(text + ", declared", size.name.span);
  }
}

void CallStack::reportUnknownAxis(const ast::Name &name) const {
  auto message = error(DiagnosticCode::E0204, name.span, "unknown axis `" + name.text + "`");
  StringRef nearest = nearestName(name.text, visibleAxes());
  if (!nearest.empty())
    message.help("did you mean `" + nearest + "`?");
  else
    message.help("declare it: `dim " + name.text + " = …`");
}

std::vector<StringRef> CallStack::visibleAxes() const {
  std::vector<StringRef> names;
  if (Current) {
    for (auto &entry : Current->axes) names.push_back(entry.first());
    for (auto &entry : Current->rests) names.push_back(entry.first());
  }
  for (auto &entry : Inputs.declarations.dims) names.push_back(entry.first);
  llvm::sort(names);
  return names;
}

mlir::Location CallStack::locate(Span span) const {
  const SourceFiles &sources = Inputs.diagnostics.sources();
  LineColumn at = sources.position(span);
  mlir::Location here =
      mlir::FileLineColLoc::get(Inputs.builder.getContext(), sources[span.file].name(), at.line, at.column);
  if (Current && Current->callLocation) return mlir::CallSiteLoc::get(here, *Current->callLocation);
  return here;
}
