//===- ProgramPlan.h - what a program will need, before it is made ---------===//

#ifndef TESSERA_TOOLS_PROGRAMPLAN_H
#define TESSERA_TOOLS_PROGRAMPLAN_H

#include <cstdint>
#include <string>

namespace tessera {

/// What a plan says beside the manifest.
struct PlanDetails {
  int64_t liveBytes = 0;        ///< the bound that no arena can be below
  std::string memoryByKind;     ///< PlanText.h
  bool listsAllBuffers = false; ///< else the largest ones
};

/// What a program with this manifest needs, as text: parameters, state, arena, the memory that it takes while it
/// trains, its checkpoints and its buffers. Reads the data that the model names, if there are any.
std::string describePlan(const std::string &manifest, const PlanDetails &details);

} // namespace tessera

#endif // TESSERA_TOOLS_PROGRAMPLAN_H
