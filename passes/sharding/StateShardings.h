//===- StateShardings.h - what the state table is divided along -----------===//
//
// Of a state, the first of these that says something about an axis or a mesh axis decides:
//
// 1. its attribute `tsr.sharding`, as in a dump that was edited
// 2. what the user says of states whose path matches a pattern. What the optimizer keeps for a parameter follows it.
// 3. the axes that are laid along mesh axes everywhere
// 4. ZeRO: along each mesh axis that the batch is laid along, one axis of what the level names is divided: of those
//    that ranks divide evenly the largest, else the largest. No axis of a repeat: its iterations read other parts.
//
//===----------------------------------------------------------------------===//

#ifndef TESSERA_PASSES_SHARDING_STATESHARDINGS_H
#define TESSERA_PASSES_SHARDING_STATESHARDINGS_H

#include "ir/program/ShardSettings.h"
#include "passes/sharding/Assignment.h"
#include "llvm/ADT/StringMap.h"
#include "llvm/ADT/StringSet.h"

namespace tessera {

class StateShardings {
public:
  StateShardings(mlir::ModuleOp module, const ProgramMesh &mesh, const Assignment &rules)
      : StateShardings(module, mesh, rules, ShardSettings::of(module)) {}
  /// With other settings than the module records.
  StateShardings(mlir::ModuleOp module, const ProgramMesh &mesh, const Assignment &rules, ShardSettings settings);

  /// The mesh axes that rows of data are laid along.
  llvm::ArrayRef<llvm::StringRef> getDataAxes() const { return dataAxes; }
  /// What is wrong if ZeRO is asked for, and there are none; else empty.
  std::string problemOfZero() const;
  /// By path. None, with what is wrong in `problem`, if the user's words contradict the program or each other.
  std::optional<llvm::StringMap<Sharding>> find(std::string &problem);

private:
  std::string listParameters() const;
  bool divide(StateOp state, const StateRule &rule, Sharding &sharding, std::string &problem) const;
  bool addOwn(StateOp state, Sharding &sharding, std::string &problem) const;
  bool addRules(StateOp state, Sharding &sharding, std::string &problem);
  void addZero(StateOp state, Sharding &sharding) const;
  /// The parameter that the optimizer keeps a state for, or the state itself.
  StateOp ownerOf(StateOp state) const;

  const ProgramMesh &mesh;
  const Assignment &rules;
  ShardSettings settings;
  llvm::SmallVector<StateOp> table;
  llvm::StringMap<StateOp> byPath;
  llvm::StringSet<> repeated; ///< axes of repeats
  llvm::SmallVector<llvm::StringRef> dataAxes;
  std::vector<bool> isMatched; ///< of `settings.states`: some state has such a path
  std::vector<bool> isUsed;    ///< and the axis
};

/// The axes that rows of data are stacked along.
llvm::SmallVector<llvm::StringRef> batchAxes(mlir::ModuleOp module);

} // namespace tessera

#endif // TESSERA_PASSES_SHARDING_STATESHARDINGS_H
