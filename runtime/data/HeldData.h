//===- HeldData.h - the memory that data take ---------------------------------------===//

#ifndef TESSERA_RUNTIME_DATA_HELDDATA_H
#define TESSERA_RUNTIME_DATA_HELDDATA_H

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace tessera::runtime {

struct Manifest;
class DataFiles;

/// Bytes that readers hold beside mapped files, for training and for evaluation, and the rows that a pass over the
/// training data takes. None if the data cannot be read, as `problem` says.
struct HeldData {
  std::optional<int64_t> bytes;
  std::string problem = {};
  std::optional<int64_t> trainingRows = std::nullopt; ///< of the first source; none: not known
  std::vector<std::string> warnings = {};             ///< of a batch that is larger than the training data
};
HeldData heldData(const Manifest &manifest, const DataFiles &files);

} // namespace tessera::runtime

#endif // TESSERA_RUNTIME_DATA_HELDDATA_H
