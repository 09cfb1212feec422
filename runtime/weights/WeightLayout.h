//===- WeightLayout.h - the tensors of a weight file ----------------------===//

#ifndef TESSERA_RUNTIME_WEIGHTS_WEIGHTLAYOUT_H
#define TESSERA_RUNTIME_WEIGHTS_WEIGHTLAYOUT_H

#include "runtime/checkpoint/StatePart.h"
#include "runtime/weights/WeightMap.h"

namespace tessera::runtime {

/// What a tensor of a file holds of one parameter; of it the elements that the rank has.
struct TensorPart {
  const StateEntry *entry = nullptr;
  int64_t fileOffset = 0, memoryOffset = 0; ///< in elements
  std::vector<StridedAxis> axes;            ///< strides in the file and in memory, in elements; maybe no elements

  int64_t elements() const { return elementsOf(axes); }
};

/// A tensor as a file has it, row-major, and the parameters in it.
struct FileTensor {
  std::string name;
  std::vector<int64_t> shape;
  std::string axes;     ///< "[embed, (3, head, hd)]"
  std::string expected; ///< the same with sizes
  std::string where;    ///< the line of the map; empty: there is no map
  bool isTied = false;  ///< a copy of another one; a file may lack it, and it is not written
  std::vector<TensorPart> parts;

  int64_t elements() const;
  ElementType type() const { return parts.front().entry->type; }
};

/// A line of a map whose parameters the program does not have.
struct UnusedLine {
  std::string where, path;
  std::string nearest; ///< the path that may be meant; empty: there is none
  std::vector<NamePart> name;
};

/// How a file stores the model of a program.
struct WeightLayout {
  std::vector<FileTensor> tensors;
  std::string prefix;               ///< files may lack it
  std::vector<std::string> ignored; ///< patterns of tensors that are not read
  std::vector<UnusedLine> unused;
  std::string source; ///< the map; empty: there is none
};

/// Each parameter by its path, with its axes in canonical order, for the rank at `place`. That is how programs write
/// weights.
WeightLayout layoutOf(const Manifest &manifest, const MeshPlace &place);

/// As a map says. Throws an Error that names the map's line if the map does not fit the program.
WeightLayout layoutOf(const Manifest &manifest, const WeightMap &map, const MeshPlace &place);

/// The parameters and other state of the model, in the order of the state table.
std::vector<const StateEntry *> modelEntries(const Manifest &manifest);

/// What to do about a path that no parameter has: "; did you mean 'h.wq'?", or "; `info` lists them".
std::string pathAdvice(const Manifest &manifest, const std::string &path);

/// Whether `name` is the name of a tensor of the line, with some index for each placeholder.
bool isNameOf(const std::vector<NamePart> &parts, std::string_view name);

} // namespace tessera::runtime

#endif // TESSERA_RUNTIME_WEIGHTS_WEIGHTLAYOUT_H
