//===- Safetensors.h - reads and writes safetensors files -----------------===//

#ifndef TESSERA_RUNTIME_CHECKPOINT_SAFETENSORS_H
#define TESSERA_RUNTIME_CHECKPOINT_SAFETENSORS_H

#include "runtime/base/DurableFile.h"
#include "runtime/base/MappedFile.h"
#include "runtime/program/Manifest.h"

#include <functional>

namespace tessera::runtime {

/// One tensor of a file: row-major in the order of `shape`.
struct SafeTensor {
  std::string name;
  ElementType type = ElementType::F32;
  std::vector<int64_t> shape;
  const char *data = nullptr;
  int64_t bytes = 0;
};

/// A safetensors file, mapped. Safe for untrusted files: everything is checked before it is used (header length,
/// nesting, duplicates, sizes against shapes, gaps and overlaps, end of file).
class SafetensorsFile {
public:
  explicit SafetensorsFile(const std::string &path) : SafetensorsFile(MappedFile(path)) {}
  explicit SafetensorsFile(MappedFile mapped);
  const std::string &path() const { return file.path(); }
  std::string_view bytes() const { return file.text(); }
  const std::vector<SafeTensor> &tensors() const { return list; }
  const SafeTensor *find(const std::string &name) const;

private:
  MappedFile file;
  std::vector<SafeTensor> list;
};

/// Writes state entries, named by path, in canonical axis order. `address` returns an entry's bytes in memory order.
/// Commits the file.
void writeSafetensors(DurableFile &file, const std::vector<const StateEntry *> &entries,
                      const std::function<const char *(const StateEntry &)> &address);

/// Throws an Error if a tensor's type or shape differ from an entry's. `mayConvert`: f32 and bf16 are
/// interchangeable.
void checkTensor(const SafetensorsFile &file, const SafeTensor &tensor, const StateEntry &entry,
                 bool mayConvert = false);

/// Throws an Error that names the first non-finite element of a tensor.
void checkFinite(const SafetensorsFile &file, const SafeTensor &tensor);

/// Converts f32 to bf16, rounded to nearest, or bf16 to f32.
std::vector<char> convertNumbers(const char *data, int64_t count, ElementType from, ElementType to);

} // namespace tessera::runtime

#endif // TESSERA_RUNTIME_CHECKPOINT_SAFETENSORS_H
