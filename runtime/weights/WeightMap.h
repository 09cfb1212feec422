//===- WeightMap.h - maps between files and parameters --------------------===//
//
// docs/weights.md describes the notation. A line says which tensors of a file hold which parameters:
//
//   "h.{layer}.attn.c_attn.weight" [embed, (3, head, hd)] = h.{layer}.attn.{wq, wk, wv}
//
//===----------------------------------------------------------------------===//

#ifndef TESSERA_RUNTIME_WEIGHTS_WEIGHTMAP_H
#define TESSERA_RUNTIME_WEIGHTS_WEIGHTMAP_H

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace tessera::runtime {

/// A part of the name of a tensor: text, or a placeholder, an axis whose indices the name contains.
struct NamePart {
  std::string text;
  bool isPlaceholder = false;
};

/// A factor of an axis of the file: an axis of the parameter, or the number of parameters that share the tensor.
struct AxisFactor {
  std::string name; ///< empty: a number
  int64_t number = 0;
};

/// `"NAME" [axes] = path`.
struct MapLine {
  std::string where;                         ///< "gpt2.map:3:1"
  bool isTied = false;                       ///< a copy of what another line has; the file may lack it
  std::string name;                          ///< as written
  std::vector<NamePart> parts;               ///< of the name
  std::vector<std::vector<AxisFactor>> axes; ///< of the file's tensor; each is merged from its factors, major first
  std::string notation;                      ///< of the axes: "[embed, (3, head, hd)]"
  std::vector<std::string> paths;            ///< of the parameters, without placeholders; several along the number axis
};

struct WeightMap {
  std::string source; ///< the file, or the name of a map of the runtime
  std::string prefix; ///< files may lack it before all names that begin with it
  std::vector<MapLine> lines;
  std::vector<std::string> ignored; ///< patterns of tensors that are not read
};

/// Throws an Error "SOURCE:LINE:COLUMN: expected …" if the text is not a map.
WeightMap parseWeightMap(std::string_view text, const std::string &source);

/// Reads a file, or a map of the runtime.
WeightMap readWeightMap(const std::string &fileOrName);

/// A map that is part of the runtime.
struct BuiltinMap {
  const char *name; ///< "hf:gpt2"
  std::string_view text;
};
const std::vector<BuiltinMap> &builtinMaps();
/// "hf:gpt2, hf:llama".
std::string namesOfBuiltinMaps();

} // namespace tessera::runtime

#endif // TESSERA_RUNTIME_WEIGHTS_WEIGHTMAP_H
