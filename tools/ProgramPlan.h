//===- ProgramPlan.h - what a program will need, before it is made ---------===//

#ifndef TESSERA_TOOLS_PROGRAMPLAN_H
#define TESSERA_TOOLS_PROGRAMPLAN_H

#include <cstdint>
#include <string>

namespace tessera {

/// What a program with this manifest needs, as text: parameters, state, arena, the memory that it takes while it
/// trains, its checkpoints, and its largest buffers, or all of them. Reads the data that the model names, if there
/// are any. `liveBytes`: the bound that no arena can be below.
std::string describePlan(const std::string &manifest, int64_t liveBytes, bool listsAllBuffers);

} // namespace tessera

#endif // TESSERA_TOOLS_PROGRAMPLAN_H
