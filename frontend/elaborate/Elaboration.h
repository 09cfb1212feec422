//===- Elaboration.h - the parts that turn the language into IR -------------===//
//
// Functions are templates over axes and are expanded at each call; one walk
// checks a program and builds its IR. Each part of the walk owns some of the
// state: the stack of calls, the entry function, the regions in it, names,
// parameters, the evaluation of expressions.
//
//===----------------------------------------------------------------------===//

#ifndef TESSERA_FRONTEND_ELABORATION_H
#define TESSERA_FRONTEND_ELABORATION_H

#include "frontend/elaborate/Expressions.h"

namespace tessera {

/// The operators, reads and calls that expressions are made of. Each part evaluates its operands through `Evaluator`.
struct ExpressionParts {
  Operators operators;
  Reductions reductions;
  Builtins builtins;
  Indexing indexing;
  FunctionCalls functions;
  Expressions expressions;
};

/// All parts, each with its own state. They hold references to each other, so an elaboration can be neither
/// copied nor moved.
struct Elaboration {
  Elaboration(const ElaborationContext &context, TrainingNames &training);
  Elaboration(const Elaboration &) = delete;

  /// Begins an entry function; what holds for one entry only is forgotten.
  void beginEntry(llvm::StringRef name);

  CallStack calls;
  EntryBuilder entry;
  RegionStack regions;
  Hypers hypers;
  Dims dims;
  Lets lets;
  Names names;
  ParameterTable parameters;
  BatchAccounting batches;
  Float32Names float32;
  ExpressionParts parts;
};

} // namespace tessera

#endif // TESSERA_FRONTEND_ELABORATION_H
