//===- StateAssignments.cpp - `mu := e` -------------------------------------===//

#include "frontend/elaborate/StateAssignments.h"

using namespace tessera;
using llvm::StringRef;
using llvm::Twine;

//===----------------------------------------------------------------------===//
// Checks
//===----------------------------------------------------------------------===//

/// What the name declares in this body, if that is a state; else says what it is.
const Tensor *StateAssignments::findState(const ast::Name &name) {
  for (auto scope = frame().scopes.rbegin(); scope != frame().scopes.rend(); ++scope) {
    auto found = scope->find(name.text);
    if (found == scope->end()) continue;
    const LanguageValue &value = found->second;
    if (value.isTensor() && value.tensor.state) return &value.tensor;
    if (!value.isError())
      error(DiagnosticCode::E0310, name.span, "`" + name.text + "` is " + describe(value) + ", not a state")
          .help("`let` names a value; what is kept from step to step is declared by `state " + name.text + " […] = 0`");
    return nullptr;
  }
  if (!resolver.lookup(name).isError())
    error(DiagnosticCode::E0310, name.span, "`" + name.text + "` is not a state of this body")
        .help("declare it where it is assigned: `state " + name.text + " […] = 0`");
  return nullptr;
}

/// Whether the step has not assigned the state before.
bool StateAssignments::checkOnce(const Parameter &state, const ast::Name &name) {
  Place place{name.span, {}, frame().expansion};
  for (Frame *outer = calls.current(); outer && outer->expansion; outer = outer->caller)
    place.modelCall = outer->callSite;
  auto [seen, isFirst] = inTraining.try_emplace(state.path, place);
  if (isFirst) return true;
  const Place &first = seen->second;
  if (first.expansion == place.expansion)
    error(DiagnosticCode::E0310, name.span, "`" + name.text + "` is assigned twice in a step")
        .label(first.span, "the first time")
        .help("a state has one next value: choose it with `where`, or in one expression");
  else
    error(DiagnosticCode::E0310, place.modelCall,
          "the state `" + state.path + "` would be assigned twice in a step: the model is called twice")
        .label(first.modelCall, "first called here")
        .label(name.span, "assigned in each call")
        .help("call the model once and name its result: `let y = " + declared.model->name.text + "(…)`");
  return false;
}

bool StateAssignments::checkLevel(const Tensor &state, const ast::Name &name) {
  if (state.level == regions.level()) return true;
  StringRef axis = regions.innermost().axis.name;
  error(DiagnosticCode::E0310, name.span,
        "`" + name.text + "` is declared outside of `repeat[" + axis + "]`, which would assign it in each iteration")
      .label(state.state->declared, "declared here")
      .help("declare it inside: then each layer has its own; or carry the value, and assign it after the repeat");
  return false;
}

/// The value in f32, with the axes of the state; null after an error.
mlir::Value StateAssignments::nextValue(const Tensor &state, const ast::AssignStmt &stmt) {
  LanguageValue value;
  {
    NameScope named(calls, state.state->path);
    CallStack::AssignmentScope assigned(calls, stmt.value->span);
    Dims::SizeReads uncounted(sizes, false); // losses of this step do not depend on what is assigned
    value = evaluator.eval(*stmt.value);
  }
  if (value.isError()) return {};
  if (!value.isArithmetic()) {
    error(DiagnosticCode::E0205, stmt.value->span, "a state holds numbers, got " + describe(value));
    return {};
  }
  mlir::Value next = ops.materialize(value, f32);
  if (tensorType(next) == state.type()) return next;
  auto message = error(DiagnosticCode::E0310, stmt.value->span,
                       "`" + stmt.name.text + "` has the axes " + describeAxes(state.type()) + ", its next value is " +
                           describe(value));
  message.label(state.state->declared, "the state");
  for (AxisAttr axis : tensorType(next).getAxes())
    if (!state.type().hasAxis(axis.getName()))
      return message.help("reduce it over `" + axis.getName() + "`: `mean[" + axis.getName() + "](…)`"), mlir::Value();
  for (AxisAttr axis : state.type().getAxes())
    if (!tensorType(next).hasAxis(axis.getName()))
      return message.help("repeat it along `" + axis.getName() + "`: `over[" + axis.getName() + "](…)`"), mlir::Value();
  return {};
}

//===----------------------------------------------------------------------===//
// Assignments
//===----------------------------------------------------------------------===//

bool StateAssignments::assign(const ast::AssignStmt &stmt) {
  const Tensor *found = findState(stmt.name);
  if (!found) return false;
  Tensor state = *found; // evaluation may move what scopes hold
  if (!entry.isTraining()) {
    inEvaluation.try_emplace(state.state->path, Place{stmt.name.span, {}, 0});
    return true;
  }
  if (!checkLevel(state, stmt.name) || !checkOnce(*state.state, stmt.name)) return false;
  mlir::Value next = nextValue(state, stmt);
  if (!next) return false;
  regions.assignedStates().push_back({state.state->path, next, calls.userSpan(stmt.value->span)});
  batches.noteAssignment(next, state.value);
  return true;
}

void StateAssignments::reportUnassigned() const {
  for (auto &[path, state] : parameters.all()) {
    if (!state->isState() || inTraining.count(path)) continue;
    StringRef name = StringRef(path).rsplit('.').second;
    if (name.empty()) name = path;
    auto found = inEvaluation.find(path);
    if (found != inEvaluation.end())
      diagnostics
          .error(DiagnosticCode::E0310, found->second.span,
                 "`" + name + "` is assigned in evaluation only, where assignments are not made")
          .help("states change in training: assign it outside of `if`, or where `training` is true");
    else
      diagnostics.warning(DiagnosticCode::E0310, state->place, "the state `" + path + "` is never assigned")
          .help("it keeps its initial value; `" + name + " := …` says what it is after a step");
  }
}
