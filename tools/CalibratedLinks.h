//===- CalibratedLinks.h - measures the links between ranks ---------------===//
//
// All ranks exchange at the same time, as those of a program do: the ranks of each machine with each other, and those
// at one place of all machines with each other. Each collective that a program on processors uses is measured with
// blocks of several sizes.
//
//===----------------------------------------------------------------------===//

#ifndef TESSERA_TOOLS_CALIBRATEDLINKS_H
#define TESSERA_TOOLS_CALIBRATEDLINKS_H

#include "passes/cost/FitLinks.h"
#include "runtime/ranks/Communicator.h"
#include "runtime/ranks/RankLaunch.h"
#include <map>

namespace tessera {

/// What was measured of the links between ranks on processors.
struct CalibratedLinks {
  /// By class, or by class and collective, as in keys of descriptions: `memory.all_gather`.
  std::map<std::string, LinkFigures> figures;
  std::map<std::string, int64_t> devices; ///< that share a link, by class
  Machines machines;                      ///< the ranks that measured

  /// "4 ranks on 2 machines"
  std::string ranks() const;
  /// Lines for a person.
  std::string describe() const;
  /// Enters the figures.
  void enter(Target &target) const;
};

/// A collective: measures the links. Throws a runtime::RankError on all ranks, with status 2, if the machines have
/// different numbers of ranks, or ranks that are not adjacent.
CalibratedLinks calibrateLinks(runtime::HostCommunicator &world);

/// Lets this process run on all processors that the job launcher has for it: mpirun binds ranks to single cores. What
/// is wrong with the launch is left to `findRankLaunch`.
void useAllProcessors();

} // namespace tessera

#endif // TESSERA_TOOLS_CALIBRATEDLINKS_H
