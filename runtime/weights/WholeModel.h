//===- WholeModel.h - the parameters of a model, without its program ------===//
//
// Weights are read and written whole without the program's code, and without its ranks: one process exports those of a
// program for many.
//
//===----------------------------------------------------------------------===//

#ifndef TESSERA_RUNTIME_WEIGHTS_WHOLEMODEL_H
#define TESSERA_RUNTIME_WEIGHTS_WHOLEMODEL_H

#include "runtime/checkpoint/Checkpoint.h"

#include <memory>

namespace tessera::runtime {

/// The model of a program with memory for it, undivided. Its elements are undefined until they are loaded.
class WholeModel {
public:
  explicit WholeModel(const Manifest &program);

  /// The model's part of the state table, as that of a program for one rank.
  const Manifest &manifest() const { return description; }
  StateAddress address() const {
    return [this](const StateEntry &entry) { return memory.get() + entry.offset; };
  }

private:
  Manifest description;
  std::unique_ptr<char[]> memory;
};

} // namespace tessera::runtime

#endif // TESSERA_RUNTIME_WEIGHTS_WHOLEMODEL_H
