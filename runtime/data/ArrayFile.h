//===- ArrayFile.h - npy and IDX files ------------------------------------===//

#ifndef TESSERA_RUNTIME_DATA_ARRAYFILE_H
#define TESSERA_RUNTIME_DATA_ARRAYFILE_H

#include "runtime/base/MappedFile.h"

namespace tessera::runtime {

/// The format of an element.
struct NumberFormat {
  enum Kind { Signed, Unsigned, Float } kind = Unsigned;
  int bytes = 1; ///< 1, 2, 4 or 8
  bool bigEndian = false;
};

/// An array in a file: row-major, its first dimension counts rows.
struct ArrayFile {
  MappedFile file;
  NumberFormat format;
  std::vector<int64_t> shape;
  size_t firstByte = 0; ///< of the elements

  int64_t rows() const { return shape.empty() ? 0 : shape[0]; }
  int64_t rowElements() const;
};

/// Read the header. Throw an Error with the byte offset if the file does not match it; sizes are compared with the
/// file's size before anything is read.
ArrayFile openNpy(const std::string &path);
ArrayFile openIdx(const std::string &path);

} // namespace tessera::runtime

#endif // TESSERA_RUNTIME_DATA_ARRAYFILE_H
