//===- Safetensors.h - reads and writes safetensors files -----------------===//

#ifndef TESSERA_RUNTIME_CHECKPOINT_SAFETENSORS_H
#define TESSERA_RUNTIME_CHECKPOINT_SAFETENSORS_H

#include "runtime/base/DurableFile.h"
#include "runtime/base/MappedFile.h"
#include "runtime/checkpoint/StatePart.h"

#include <functional>
#include <optional>

namespace tessera::runtime {

/// One tensor of a file: row-major in the order of `shape`.
struct SafeTensor {
  std::string name, typeName;
  std::optional<ElementType> type; ///< none: a type of the format that programs do not have, such as I16
  std::vector<int64_t> shape;
  std::string axes; ///< as axisNotation() and maps write them: "[embed, (head, hd)]"; empty: the file does not say
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

/// A tensor to write. The file's metadata name its axes.
struct SafeTensorOutput {
  std::string name;
  ElementType type = ElementType::F32;
  std::vector<int64_t> shape;
  std::string axes;
  int64_t bytes = 0;
  std::function<void(DurableFile &file)> append; ///< appends `bytes` bytes
};

/// What a file begins with; the elements of the tensors follow, in this order. Does not call `append`.
std::string safetensorsHeader(const std::vector<SafeTensorOutput> &tensors);

/// Writes and commits a file.
void writeSafetensors(DurableFile &file, const std::vector<SafeTensorOutput> &tensors);

/// Writes state entries, named by path, in canonical axis order. `address` returns an entry's bytes in memory order,
/// which must be whole: `place` is that of the only rank. Commits the file.
void writeSafetensors(DurableFile &file, const std::vector<const StateEntry *> &entries,
                      const std::function<const char *(const StateEntry &)> &address, const MeshPlace &place);

/// A state entry as files have it, without `append`.
SafeTensorOutput outputOf(const StateEntry &entry);

/// "[layer, embed, head, hd]".
std::string axisNotation(const std::vector<std::string> &names);

/// Throws an Error if a tensor's type, shape, or order of axes differ from an entry's.
void checkTensor(const SafetensorsFile &file, const SafeTensor &tensor, const StateEntry &entry);

/// The same, for a tensor of this shape and these axes, of which a type may be converted: see `isConvertible`.
/// `expected` is the shape for messages.
void checkConvertible(const SafetensorsFile &file, const SafeTensor &tensor, const std::vector<int64_t> &shape,
                      const std::string &axes, ElementType type, const std::string &expected);

/// Throws an Error that names the first element of a tensor that is not finite, as it is or converted to `type`.
void checkFinite(const SafetensorsFile &file, const SafeTensor &tensor, ElementType type);

/// The same for those elements only that `axes` walk from element `offset` on.
void checkFinite(const SafetensorsFile &file, const SafeTensor &tensor, ElementType type, int64_t offset,
                 const std::vector<StridedAxis> &axes);

/// Whether elements may be converted on loading: f32 and bf16 into each other, f16 to f32, which is exact.
bool isConvertible(ElementType from, ElementType to);

/// Converts f32 to bf16, rounded to nearest, or bf16 or f16 to f32.
std::vector<char> convertNumbers(const char *data, int64_t count, ElementType from, ElementType to);

} // namespace tessera::runtime

#endif // TESSERA_RUNTIME_CHECKPOINT_SAFETENSORS_H
