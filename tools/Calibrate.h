//===- Calibrate.h - the command `tessera calibrate` ----------------------===//

#ifndef TESSERA_TOOLS_CALIBRATE_H
#define TESSERA_TOOLS_CALIBRATE_H

#include "passes/cost/FitFigures.h"
#include "tools/Commands.h"

namespace tessera {

/// The profile of a step, as far as figures are fitted to it.
struct MeasuredProfile {
  double seconds = 0; ///< of a step
  int threads = 0;    ///< 0: the program ran on a GPU
  std::vector<TimedCall> calls;
};

/// Reads what `PROGRAM train --profile` wrote. `number`: of the program among those that are fitted together. Returns
/// none if it cannot, and `problem` says why.
std::optional<MeasuredProfile> readProfile(const std::string &path, unsigned number, std::string &problem);

/// Measures this machine, or takes the times of profiles, and writes a description of the device. Returns an exit
/// status.
int runCalibrate(const CommandOptions &options);

} // namespace tessera

#endif // TESSERA_TOOLS_CALIBRATE_H
