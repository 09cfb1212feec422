//===- RankLinks.h - what the links between ranks carry -------------------===//
//
// A link has a class: `network` is between machines, all other classes are inside of a machine, of which the fastest
// one counts. `link_devices.CLASS` devices of a machine share a link. Rank r of a mesh is device r % D of machine
// r / D, if a machine has D devices; ranks are numbered row-major, so the last axis of the mesh has neighbours.
//
// All groups along a mesh axis exchange at the same time; GroupLoads.h says what links carry then. docs/cost.md has the
// formulas of groups that lie evenly, and the sources.
//
//===----------------------------------------------------------------------===//

#ifndef TESSERA_PASSES_COST_RANKLINKS_H
#define TESSERA_PASSES_COST_RANKLINKS_H

#include "ir/program/Machines.h"
#include "ir/program/ProgramMesh.h"
#include "ir/program/Target.h"
#include "passes/cost/GroupLoads.h"

namespace tessera {

/// The class of the links between machines.
inline constexpr llvm::StringLiteral networkClass = "network";
/// The class of the links inside of a machine: of those that are described the fastest. Else a default one.
std::string insideClass(const Target &target);

/// What links of one class do in an exchange.
struct LinkLoad {
  double bytes = 0;   ///< that the busiest link carries in one direction
  int64_t rounds = 0; ///< messages that follow each other

  bool isUsed() const { return bytes > 0 || rounds > 0; }
  bool operator==(const LinkLoad &) const = default;
};

/// The work of an exchange, as the model of costs sees it.
struct ExchangeWork {
  ExchangeKind kind = ExchangeKind::AllGather;
  int64_t received = 0;     ///< bytes that a rank receives from all others
  LinkLoad inside, network; ///< of links in a machine, and between machines

  bool operator==(const ExchangeWork &) const = default;
};

/// The ranks of a mesh on machines, and the links between them.
class RankLinks {
public:
  /// `mesh`: ranks along each axis, outermost first. Without `machines` all ranks are on one machine.
  RankLinks(const Target &target, llvm::ArrayRef<int64_t> mesh, std::optional<Machines> machines);
  /// Those of a program.
  static RankLinks of(mlir::ModuleOp module);

  /// An exchange along an axis of the mesh, by its position; `bytes`: from each rank for each other one.
  ExchangeWork workOf(ExchangeKind kind, size_t axis, int64_t bytes) const;
  /// One of the program's exchanges.
  ExchangeWork workOf(StartOp start) const;
  /// Whether the axes of another mesh are these in another order, as far as the time of exchanges goes.
  bool isReorderingOf(const RankLinks &other) const;
  /// Whether groups along an axis have members on several machines.
  bool crossesMachines(size_t axis) const { return axes[axis].loads.machines > 1; }

private:
  struct Axis {
    int64_t ranks = 1; ///< along it
    GroupLoads loads;
    bool operator==(const Axis &) const = default;
  };
  /// Messages that follow each other: inside of machines, and between them.
  std::pair<int64_t, int64_t> roundsOf(ExchangeKind kind, const Axis &axis, int64_t bytes) const;

  bool isGpu;
  llvm::SmallVector<Axis> axes;
  llvm::SmallVector<std::string> axisNames; ///< of a program
};

} // namespace tessera

#endif // TESSERA_PASSES_COST_RANKLINKS_H
