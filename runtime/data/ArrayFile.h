//===- ArrayFile.h - npy and IDX files ----------------------------------------===//

#ifndef TESSERA_RUNTIME_DATA_ARRAYFILE_H
#define TESSERA_RUNTIME_DATA_ARRAYFILE_H

#include "runtime/data/MappedFile.h"

namespace tessera::runtime {

/// How one number is stored.
struct NumberFormat {
  enum Kind { Signed, Unsigned, Float } kind = Unsigned;
  int bytes = 1; ///< 1, 2, 4 or 8
  bool bigEndian = false;
};

/// An array of numbers in a file: row-major, its first dimension counts rows.
struct ArrayFile {
  MappedFile file;
  NumberFormat format;
  std::vector<int64_t> shape;
  size_t firstByte = 0; ///< of the numbers

  int64_t rows() const { return shape.empty() ? 0 : shape[0]; }
  int64_t rowElements() const;
};

/// Reads headers. Throw an Error with the byte offset where the file is not
/// what it claims; sizes are checked against the file before anything is used.
ArrayFile openNpy(const std::string &path);
ArrayFile openIdx(const std::string &path);

} // namespace tessera::runtime

#endif // TESSERA_RUNTIME_DATA_ARRAYFILE_H
