//===- DeviceOption.h - the value of `--on` ---------------------------------===//

#ifndef TESSERA_TOOLS_DEVICEOPTION_H
#define TESSERA_TOOLS_DEVICEOPTION_H

#include "ir/program/Machines.h"
#include "ir/program/Target.h"
#include <vector>

namespace tessera {

/// The devices that a command is for.
struct DeviceOption {
  Target target;
  std::optional<Machines> machines; ///< if it says how many devices there are
  std::vector<std::string> files;   ///< the description and its bases, if they are files

  int64_t count() const { return machines ? machines->allDevices() : 1; }
};

/// Parses NAME, FILE, or before one of them DEVICESx or MACHINESxDEVICESx. A name of a preset is that preset, also
/// where a file is called so, unless it contains a `/` or ends in `.device`. Else an exit status other than `ExitDone`,
/// with a message in `problem`.
int parseDeviceOption(llvm::StringRef text, DeviceOption &option, std::string &problem);

/// The names of all presets, for help and messages.
std::string presetNames();

} // namespace tessera

#endif // TESSERA_TOOLS_DEVICEOPTION_H
