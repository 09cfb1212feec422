//===- CallStack.h - the calls that the elaboration is inside of ------------===//
//
// Functions are expanded at each call. The stack of frames says where the
// elaboration is: which names are visible, what ops are called, and which
// calls a message must mention.
//
//===----------------------------------------------------------------------===//

#ifndef TESSERA_FRONTEND_ELABORATE_CALLSTACK_H
#define TESSERA_FRONTEND_ELABORATE_CALLSTACK_H

#include "frontend/elaborate/Values.h"
#include "frontend/names/Declarations.h"
#include "ir/dialect/GraphBuilder.h"
#include "llvm/ADT/StringExtras.h"

namespace tessera {

/// What all components of an elaboration need.
struct ElaborationInputs {
  const Declarations &declarations;
  DiagnosticEngine &diagnostics;
  mlir::ModuleOp module;
  GraphBuilder &builder;
};

/// A call that is being expanded, or the training description, or a file's top level.
struct Frame {
  const ast::Function *function = nullptr;
  const FileScope *file = nullptr;
  Frame *caller = nullptr;
  Span callSite;
  std::optional<mlir::Location> callLocation;  ///< of the call, for call-site locations
  std::string path;                            ///< "h.attn"; empty in a model's body
  unsigned expansion = 0;                      ///< counts the expansions of the model; 0 outside
  bool mayHaveParameters = false;              ///< inside a model
  bool isTraining = false;                     ///< the training description itself
  bool isFloat32 = false;                      ///< what is computed here stays in f32
  llvm::StringMap<AxisRef> axes;               ///< axis parameters and local dims by the names used here
  llvm::StringMap<std::vector<AxisRef>> rests; ///< `r..`
  llvm::StringMap<AxisRef> locals;             ///< local dims by their name in the IR
  std::vector<llvm::StringMap<LanguageValue>> scopes;
  llvm::StringMap<Span> labels; ///< of calls in this body

  /// A frame at the top level of a file.
  static Frame ofFile(const FileScope &file);
  /// The path of something declared or called in this frame.
  std::string pathOf(llvm::StringRef name) const { return (path.empty() ? "" : path + ".") + name.str(); }
};

/// The stack of frames, with the messages and locations that depend on it.
class CallStack {
public:
  explicit CallStack(const ElaborationInputs &inputs) : Inputs(inputs) {}

  const ElaborationInputs &inputs() const { return Inputs; }
  bool isEmpty() const { return !Current; }
  Frame *current() const { return Current; }
  Frame &frame() const { return *Current; }
  /// What new ops are called: the path and the name of the `let`.
  const std::string &opName() const { return OpName; }
  /// Whether what is computed here stays in f32: by a setting or by `f32(…)`.
  bool isFloat32() const { return Float32Depth > 0 || (Current && Current->isFloat32); }
  /// The expression being evaluated.
  Span currentSpan() const { return CurrentSpan; }

  /// Inside the library the message points to the call in the user's file; notes name the calls around the place.
  DiagnosticBuilder error(DiagnosticCode code, Span span, const llvm::Twine &message) const;
  /// Whether the product of the sizes is small enough that all later arithmetic on it is exact; reports it if not.
  bool checkElements(NamedTensorType type, Span span) const;
  /// Adds the sizes of axes that a message is about.
  void noteDims(DiagnosticBuilder &message, llvm::ArrayRef<AxisAttr> axes) const;
  void reportUnknownAxis(const ast::Name &name) const;
  mlir::Location locate(Span span) const;
  /// The names of all axes that can be used here, for suggestions.
  std::vector<llvm::StringRef> visibleAxes() const;

  /// Enters a frame for as long as it lives.
  class FrameScope {
  public:
    FrameScope(CallStack &calls, Frame &frame);
    ~FrameScope();

  private:
    CallStack &Calls;
    Frame *SavedFrame;
    std::string SavedName;
  };

  /// Names ops for as long as it lives.
  class NameScope {
  public:
    NameScope(CallStack &calls, std::string name) : Calls(calls), Saved(std::exchange(calls.OpName, std::move(name))) {}
    ~NameScope() { Calls.OpName = std::move(Saved); }

  private:
    CallStack &Calls;
    std::string Saved;
  };

  /// Sets the span and location of an expression for as long as it lives.
  class SpanScope {
  public:
    SpanScope(CallStack &calls, Span span);
    ~SpanScope();

  private:
    CallStack &Calls;
    Span SavedSpan;
    mlir::Location SavedLocation;
  };

  /// Everything computed while it lives stays in f32, if `isActive`.
  class Float32Scope {
  public:
    Float32Scope(CallStack &calls, bool isActive) : Calls(calls), IsActive(isActive) { Calls.Float32Depth += IsActive; }
    ~Float32Scope() { Calls.Float32Depth -= IsActive; }

  private:
    CallStack &Calls;
    bool IsActive;
  };

private:
  const ElaborationInputs &Inputs;
  Frame *Current = nullptr;
  std::string OpName;
  unsigned Float32Depth = 0; ///< of `f32(…)`
  Span CurrentSpan;
};

/// Base of the components of an elaboration: what all of them need, and how they report errors.
class ElaborationComponent {
protected:
  using FrameScope = CallStack::FrameScope;
  using NameScope = CallStack::NameScope;

  explicit ElaborationComponent(CallStack &calls);

  DiagnosticBuilder error(DiagnosticCode code, Span span, const llvm::Twine &message) const {
    return Calls.error(code, span, message);
  }
  LanguageValue failed(DiagnosticCode code, Span span, const llvm::Twine &message) const {
    return error(code, span, message), LanguageValue();
  }
  LanguageValue unsupported(Span span, const llvm::Twine &what) const {
    return failed(DiagnosticCode::E0701, span, what + " not supported yet");
  }
  Frame &frame() const { return Calls.frame(); }

  CallStack &Calls;
  const Declarations &Declared;
  DiagnosticEngine &Engine;
  mlir::MLIRContext &Context;
  GraphBuilder &B;
  mlir::Type F32, I32, I64, I1;
};

} // namespace tessera

#endif // TESSERA_FRONTEND_ELABORATE_CALLSTACK_H
