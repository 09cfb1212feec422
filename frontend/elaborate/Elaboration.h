//===- Elaboration.h - from the syntax tree to IR ---------------------------===//
//
// Functions are templates over axes and are expanded at each call; one walk
// checks a program and builds its IR. Each part of the walk owns some of the
// state: the stack of calls, the entry function, the regions in it, names,
// parameters, the evaluation of expressions.
//
//===----------------------------------------------------------------------===//

#ifndef TESSERA_FRONTEND_ELABORATE_ELABORATION_H
#define TESSERA_FRONTEND_ELABORATE_ELABORATION_H

#include "frontend/elaborate/Expressions.h"

namespace tessera {

/// The evaluation of expressions, by kind. Each component evaluates its operands through `Evaluator`.
struct ExpressionComponents {
  Operators operators;
  Reductions reductions;
  Builtins builtins;
  Indexing indexing;
  FunctionCalls functions;
  StateAssignments states;
  Expressions expressions;
};

/// All parts, each with its own state. They hold references to each other, so an elaboration can be neither
/// copied nor moved.
struct Elaboration {
  Elaboration(const ElaborationInputs &context, TrainingNames &training);
  Elaboration(const Elaboration &) = delete;

  /// Begins an entry function, and clears what belongs to the one before.
  void beginEntry(llvm::StringRef name);

  CallStack calls;
  EntryBuilder entry;
  RegionStack regions;
  Hypers hypers;
  Dims dims;
  Lets lets;
  NameResolver names;
  ParameterTable parameters;
  BatchAccounting batches;
  Float32Names float32;
  ExpressionComponents exprs;
};

} // namespace tessera

#endif // TESSERA_FRONTEND_ELABORATE_ELABORATION_H
