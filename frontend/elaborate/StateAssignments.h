//===- StateAssignments.h - `mu := e` ---------------------------------------===//

#ifndef TESSERA_FRONTEND_ELABORATE_STATEASSIGNMENTS_H
#define TESSERA_FRONTEND_ELABORATE_STATEASSIGNMENTS_H

#include "frontend/elaborate/Dims.h"
#include "frontend/elaborate/Operators.h"
#include "frontend/elaborate/ParameterTable.h"

namespace tessera {

/// Gives states their next values. In `step` these become results of the entry; elsewhere assignments are not made.
class StateAssignments : ElaborationComponent {
public:
  StateAssignments(CallStack &calls, EntryBuilder &entry, RegionStack &regions, Dims &sizes, BatchAccounting &batches,
                   NameResolver &names, ParameterTable &parameters, Operators &operators, Evaluator &evaluator)
      : ElaborationComponent(calls), entry(entry), regions(regions), sizes(sizes), batches(batches), resolver(names),
        parameters(parameters), ops(operators), evaluator(evaluator) {}

  bool assign(const ast::AssignStmt &stmt);
  /// After all entries: reports states that no step assigns.
  void reportUnassigned() const;

private:
  /// Where a state is assigned.
  struct Place {
    Span span, modelCall;
    unsigned expansion = 0; ///< of the model
  };

  const Tensor *findState(const ast::Name &name);
  bool checkOnce(const Parameter &state, const ast::Name &name);
  bool checkLevel(const Tensor &state, const ast::Name &name);
  mlir::Value nextValue(const Tensor &state, const ast::AssignStmt &stmt);

  EntryBuilder &entry;
  RegionStack &regions;
  Dims &sizes;
  BatchAccounting &batches;
  NameResolver &resolver;
  ParameterTable &parameters;
  Operators &ops;
  Evaluator &evaluator;
  llvm::StringMap<Place> inTraining, inEvaluation; ///< by the state's path
};

} // namespace tessera

#endif // TESSERA_FRONTEND_ELABORATE_STATEASSIGNMENTS_H
