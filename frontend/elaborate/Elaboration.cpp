//===- Elaboration.cpp - the parts that turn the language into IR -----------===//

#include "frontend/elaborate/Elaboration.h"

using namespace tessera;

Elaboration::Elaboration(const ElaborationContext &context, TrainingNames &training)
    : calls(context), entry(calls), regions(calls, entry), hypers(calls, parts.expressions),
      dims(calls, parts.expressions), lets(calls, parts.expressions),
      names(calls, entry, regions, hypers, dims, lets, parts.expressions, training),
      parameters(calls, entry, regions, names, parts.expressions), batches(calls, dims),
      parts{
          Operators(calls, regions),
          Reductions(calls, entry, regions, names, dims, parts.operators, batches, parts.expressions),
          Builtins(calls, entry, regions, names, parts.operators, parts.reductions, parts.expressions),
          Indexing(calls, entry, regions, names, parts.operators, batches, parts.expressions),
          FunctionCalls(calls, regions, names, parameters, parts.operators, parts.builtins, parts.indexing, float32,
                        training, parts.expressions),
          Expressions(calls, entry, regions, names, parameters, parts.operators, parts.indexing, parts.functions,
                      batches, training),
      } {}

void Elaboration::beginEntry(llvm::StringRef name) {
  entry.begin(name);
  regions.beginEntry();
  dims.beginEntry();
  lets.beginEntry();
  batches.beginEntry();
  parts.reductions.setRowWeights(nullptr);
}
