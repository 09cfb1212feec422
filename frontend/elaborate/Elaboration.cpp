//===- Elaboration.cpp - from the syntax tree to IR -------------------------===//

#include "frontend/elaborate/Elaboration.h"

using namespace tessera;

Elaboration::Elaboration(const ElaborationInputs &context, TrainingNames &training)
    : calls(context), entry(calls), regions(calls, entry), hypers(calls, exprs.expressions),
      dims(calls, exprs.expressions), lets(calls, exprs.expressions),
      names(calls, entry, regions, hypers, dims, lets, exprs.expressions, training),
      parameters(calls, entry, regions, dims, names, exprs.expressions), batches(calls, dims),
      exprs{
          Operators(calls, regions),
          Reductions(calls, entry, regions, names, dims, exprs.operators, batches, exprs.expressions),
          Builtins(calls, entry, regions, names, exprs.operators, exprs.reductions, exprs.expressions),
          Indexing(calls, entry, regions, names, exprs.operators, batches, training, exprs.expressions),
          FunctionCalls(calls, regions, names, parameters, exprs.operators, exprs.builtins, exprs.indexing, float32,
                        training, exprs.expressions),
          StateAssignments(calls, entry, regions, dims, batches, names, parameters, exprs.operators, exprs.expressions),
          Expressions(calls, entry, regions, names, dims, parameters, exprs.operators, exprs.indexing, exprs.functions,
                      exprs.states, batches, training),
      } {}

void Elaboration::beginEntry(llvm::StringRef name) {
  entry.begin(name);
  regions.beginEntry();
  dims.beginEntry();
  lets.beginEntry();
  batches.beginEntry(entry.isEvaluate());
  exprs.reductions.setSampleWeights(nullptr);
  exprs.functions.beginEntry();
}
