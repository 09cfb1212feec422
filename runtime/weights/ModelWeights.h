//===- ModelWeights.h - reads and writes the weights of a model -----------===//

#ifndef TESSERA_RUNTIME_WEIGHTS_MODELWEIGHTS_H
#define TESSERA_RUNTIME_WEIGHTS_MODELWEIGHTS_H

#include "runtime/checkpoint/Checkpoint.h"
#include "runtime/weights/WeightLayout.h"

namespace tessera::runtime {

/// How files and the model correspond.
struct WeightOptions {
  std::vector<std::string> only; ///< patterns of parameters, or their kinds; none: all of them, one to one
  std::string map;               ///< a file, or "hf:gpt2"; empty: tensors are called as the parameters
  bool isOffered = false;        ///< the command has these options, so messages may name them
};

/// What was read from a file, and what not.
struct LoadedWeights {
  size_t read = 0;                      ///< parameters
  std::vector<std::string> missing;     ///< parameters that `only` selects and the file lacks
  std::vector<std::string> notSelected; ///< parameters
  std::vector<std::string> leftOver;    ///< tensors of the file that belong to no parameter that was read
};

/// A collective: loads the model's parameters, of which each rank reads its part. Without `only`, tensors and
/// parameters must correspond one to one; with it, parameters that are not read keep their values. A parameter is read
/// whole or not at all, and must be finite. Throws an Error (CheckpointDamaged for a damaged checkpoint) on all ranks
/// before it changes anything, unless a tied tensor differs.
LoadedWeights loadWeights(const std::string &path, const WeightOptions &options, const Manifest &manifest,
                          const StateAddress &address, HostCommunicator &world);

/// Writes the model's parameters, those that `only` selects, and commits the file. Returns the number of tensors. The
/// state must be whole: see WholeModel.
size_t saveWeights(DurableFile &file, const WeightOptions &options, const Manifest &manifest,
                   const StateAddress &address);

/// Whether a pattern (a path with `*` and `**`, or a kind: weight, bias, gain) selects the parameter.
bool selects(const std::string &pattern, const StateEntry &entry);

/// Throws an Error for a pattern of --only that selects nothing.
[[noreturn]] void refusePattern(const std::string &pattern, const Manifest &manifest);

/// "h.0.attn.bias, h.1.attn.bias, x" as "h.*.attn.bias (2), x": names that differ in numbers only are one.
std::string listOfNames(const std::vector<std::string> &names);

} // namespace tessera::runtime

#endif // TESSERA_RUNTIME_WEIGHTS_MODELWEIGHTS_H
