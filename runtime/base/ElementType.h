//===- ElementType.h - the element types of tensors and matrices ----------===//
//
// The C++ side of the list in `runtime/Abi.h`. The compiler includes this header
// too: it needs the C++ standard library only.
//
//===----------------------------------------------------------------------===//

#ifndef TESSERA_RUNTIME_BASE_ELEMENTTYPE_H
#define TESSERA_RUNTIME_BASE_ELEMENTTYPE_H

#include "runtime/Abi.h"

#include <cstdint>
#include <iterator>
#include <optional>
#include <string_view>

namespace tessera {

#define TSR_ENUMERATOR(enumerator, value, ...) enumerator = (value),
enum class ElementType : int32_t { TSR_ELEMENT_TYPES(TSR_ENUMERATOR) };
#undef TSR_ENUMERATOR

struct ElementTypeInfo {
  ElementType type;
  int64_t bytes;
  int exponentBits; ///< 0: an integer
  int mantissaBits; ///< without the implicit one
  const char *name; ///< as manifests spell it: "bf16"
  const char *safetensorsName;
  const char *numpyName; ///< empty: NumPy has no such type
};

#define TSR_ROW(enumerator, value, bytes, exponentBits, mantissaBits, name, safetensorsName, numpyName)                \
  {ElementType::enumerator, bytes, exponentBits, mantissaBits, name, safetensorsName, numpyName},
inline constexpr ElementTypeInfo elementTypes[] = {TSR_ELEMENT_TYPES(TSR_ROW)};
#undef TSR_ROW

constexpr const ElementTypeInfo &infoOf(ElementType type) { return elementTypes[static_cast<int32_t>(type)]; }

constexpr bool areElementTypesInOrder() {
  for (size_t i = 0; i < std::size(elementTypes); ++i)
    if (elementTypes[i].type != static_cast<ElementType>(i)) return false;
  return true;
}
static_assert(areElementTypesInOrder(), "the rows of TSR_ELEMENT_TYPES are sorted by value, from 0 without gaps");

constexpr int64_t bytesOf(ElementType type) { return infoOf(type).bytes; }
constexpr const char *elementTypeName(ElementType type) { return infoOf(type).name; }
constexpr bool isFloat(ElementType type) { return infoOf(type).exponentBits != 0; }
/// The fp8 formats: e4m3 and e5m2.
constexpr bool isFp8(ElementType type) { return isFloat(type) && bytesOf(type) == 1; }

/// The type that manifests call `name`; none if it is unknown.
constexpr std::optional<ElementType> elementTypeNamed(std::string_view name) {
  for (const ElementTypeInfo &info : elementTypes)
    if (info.name == name) return info.type;
  return std::nullopt;
}

} // namespace tessera

#endif // TESSERA_RUNTIME_BASE_ELEMENTTYPE_H
