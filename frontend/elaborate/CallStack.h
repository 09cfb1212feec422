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
  std::optional<mlir::Location> callLocation; ///< of the call, for call-site locations
  std::string path;                           ///< "h.attn"; empty in a model's body
  unsigned expansion = 0;                     ///< counts the expansions of the model; 0 outside
  bool mayHaveParameters = false;             ///< inside a model
  bool isTraining = false;                    ///< the training description itself
  bool isFloat32 = false;                     ///< what is computed here stays in f32
  /// Axis parameters and local dims by the names used here; one whose declaration is wrong has the size 0.
  llvm::StringMap<AxisRef> axes;
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
  explicit CallStack(const ElaborationInputs &inputs) : shared(inputs) {}

  const ElaborationInputs &inputs() const { return shared; }
  bool isEmpty() const { return !innermost; }
  Frame *current() const { return innermost; }
  Frame &frame() const { return *innermost; }
  /// What new ops are called: the path and the name of the `let`.
  const std::string &opName() const { return currentName; }
  /// Whether what is computed here stays in f32: by a setting or by `f32(…)`.
  bool isFloat32() const { return float32Depth > 0 || (innermost && innermost->isFloat32); }
  /// The expression being evaluated.
  Span currentSpan() const { return exprSpan; }
  /// Whether nothing is evaluated that exists in training only, the right side of `:=`. Else reports the declaration of
  /// `what` at `span`, which would be missing elsewhere.
  bool checkIsEverywhere(Span span, const llvm::Twine &what) const;

  /// Inside the library the message points to the call in the user's file; notes name the calls around the place.
  DiagnosticBuilder error(DiagnosticCode code, Span span, const llvm::Twine &message) const;
  /// The place itself; inside the library, the call in the user's file.
  Span userSpan(Span span) const;
  /// Whether the product of the sizes is small enough that all later arithmetic on it is exact; reports it if not.
  bool checkElements(NamedTensorType type, Span span) const;
  /// Adds the sizes of axes that a message is about.
  void noteDims(DiagnosticBuilder &message, llvm::ArrayRef<AxisAttr> axes) const;
  void reportUnknownAxis(const ast::Name &name);
  /// Whether no message has been about this unknown name: a forgotten declaration is one mistake, however often the
  /// name is used as an axis or a value.
  bool isFirstReport(llvm::StringRef name) { return unknownNames.insert(name).second; }
  mlir::Location locate(Span span) const;
  /// The names of all axes that can be used here, for suggestions.
  std::vector<llvm::StringRef> visibleAxes() const;

  /// Enters a frame for as long as it lives.
  class FrameScope {
  public:
    FrameScope(CallStack &calls, Frame &frame);
    ~FrameScope();

  private:
    CallStack &calls;
    Frame *savedFrame;
    std::string savedName;
  };

  /// Names ops for as long as it lives.
  class NameScope {
  public:
    NameScope(CallStack &calls, std::string name)
        : calls(calls), saved(std::exchange(calls.currentName, std::move(name))) {}
    ~NameScope() { calls.currentName = std::move(saved); }

  private:
    CallStack &calls;
    std::string saved;
  };

  /// Sets the span and location of an expression for as long as it lives.
  class SpanScope {
  public:
    SpanScope(CallStack &calls, Span span);
    ~SpanScope();

  private:
    CallStack &calls;
    Span savedSpan;
    mlir::Location savedLocation;
  };

  /// Everything computed while it lives stays in f32, if `isActive`.
  class Float32Scope {
  public:
    Float32Scope(CallStack &calls, bool isActive) : calls(calls), isActive(isActive) { calls.float32Depth += isActive; }
    ~Float32Scope() { calls.float32Depth -= isActive; }

  private:
    CallStack &calls;
    bool isActive;
  };

  /// While it lives, what is assigned to a state is evaluated.
  class AssignmentScope {
  public:
    AssignmentScope(CallStack &calls, Span span) : calls(calls), saved(calls.assigned) { calls.assigned = span; }
    ~AssignmentScope() { calls.assigned = saved; }

  private:
    CallStack &calls;
    std::optional<Span> saved;
  };

private:
  const ElaborationInputs &shared;
  Frame *innermost = nullptr;
  std::string currentName;
  unsigned float32Depth = 0; ///< of `f32(…)`
  Span exprSpan;
  std::optional<Span> assigned;   ///< what is assigned to a state, while it is evaluated
  llvm::StringSet<> unknownNames; ///< that messages have been about
};

/// Base of the components of an elaboration: what all of them need, and how they report errors.
class ElaborationComponent {
protected:
  using FrameScope = CallStack::FrameScope;
  using NameScope = CallStack::NameScope;

  explicit ElaborationComponent(CallStack &calls);

  DiagnosticBuilder error(DiagnosticCode code, Span span, const llvm::Twine &message) const {
    return calls.error(code, span, message);
  }
  LanguageValue failed(DiagnosticCode code, Span span, const llvm::Twine &message) const {
    return error(code, span, message), LanguageValue();
  }
  LanguageValue unsupported(Span span, const llvm::Twine &what) const {
    return failed(DiagnosticCode::E0701, span, what + " not supported yet");
  }
  Frame &frame() const { return calls.frame(); }

  CallStack &calls;
  const Declarations &declared;
  DiagnosticEngine &diagnostics;
  mlir::MLIRContext &context;
  GraphBuilder &builder;
  mlir::Type f32, i32, i64, i1;
};

} // namespace tessera

#endif // TESSERA_FRONTEND_ELABORATE_CALLSTACK_H
