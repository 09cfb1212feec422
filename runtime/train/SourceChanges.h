//===- SourceChanges.h - what was edited since a checkpoint ---------------===//

#ifndef TESSERA_RUNTIME_TRAIN_SOURCECHANGES_H
#define TESSERA_RUNTIME_TRAIN_SOURCECHANGES_H

#include "runtime/base/Json.h"

#include <optional>

namespace tessera::runtime {

/// Compares the sources of two programs (`Manifest::source`), of which the first may come from a stranger's checkpoint.
/// Returns a sentence for each edited line and option, the first few of them; none if one of the two is not recorded.
std::optional<std::vector<std::string>> sourceChanges(const Json &before, const Json &now);

} // namespace tessera::runtime

#endif // TESSERA_RUNTIME_TRAIN_SOURCECHANGES_H
