//===- HeldData.cpp - the memory that data take -----------------------------------===//

#include "runtime/data/HeldData.h"

#include "runtime/base/Error.h"

namespace tessera::runtime {

std::optional<int64_t> heldDataBytes(const Manifest &manifest, const DataFiles &files, std::string &error) {
  try {
    DataSet training, validation; // open at the same time, as in training: they share memory
    auto step = manifest.entries.find("step"), evaluate = manifest.entries.find("evaluate");
    if (step != manifest.entries.end()) training = openDataSet(manifest, step->second, files, Split::Train);
    if (evaluate != manifest.entries.end() && hasValidation(manifest, evaluate->second, files))
      validation = openDataSet(manifest, evaluate->second, files, Split::Val);
    HeldMemory held;
    training.addHeld(held);
    validation.addHeld(held);
    int64_t bytes = 0;
    for (const auto &[address, size] : held) bytes += size;
    return bytes;
  } catch (const Error &e) {
    error = e.what();
    return std::nullopt;
  }
}

} // namespace tessera::runtime
