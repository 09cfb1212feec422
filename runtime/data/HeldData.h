//===- HeldData.h - the memory that data take ---------------------------------------===//

#ifndef TESSERA_RUNTIME_DATA_HELDDATA_H
#define TESSERA_RUNTIME_DATA_HELDDATA_H

#include "runtime/data/DataSource.h"

#include <optional>
#include <string>

namespace tessera::runtime {

/// Bytes that readers hold beside mapped files, for training and for evaluation. None if the data cannot be read, as
/// `error` says.
std::optional<int64_t> heldDataBytes(const Manifest &manifest, const DataFiles &files, std::string &error);

} // namespace tessera::runtime

#endif // TESSERA_RUNTIME_DATA_HELDDATA_H
