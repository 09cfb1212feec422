//===- FrontendOptions.h - what the command line says about a model ---------===//

#ifndef TESSERA_FRONTEND_ELABORATE_FRONTENDOPTIONS_H
#define TESSERA_FRONTEND_ELABORATE_FRONTENDOPTIONS_H

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace tessera {

struct FrontendOptions {
  std::vector<std::string> sets;      ///< NAME=VALUE, in order; the last wins
  std::vector<std::string> presets;   ///< in order; the last wins
  int64_t leaves = 0;                 ///< --leaves, which `sets` has as the accumulation that it implies; 0: none
  bool checkOnly = false;             ///< a model without a training description is fine
  std::optional<int64_t> predictRows; ///< rows of a batch of `predict`; default: those of a micro-batch
};

/// The types that `compute(TYPE)` and `--set compute=TYPE` accept.
std::vector<std::string> computeTypes();
/// The types that `--set compute.weights=TYPE` accepts. Others than the first need the same type to compute in.
std::vector<std::string> weightTypes();

} // namespace tessera

#endif // TESSERA_FRONTEND_ELABORATE_FRONTENDOPTIONS_H
