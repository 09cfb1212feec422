//===- Mesh.h - ranks arranged along named axes ---------------------------===//
//
// `data=2,tensor=4` arranges eight ranks in row-major order: the last axis is the fastest, so ranks that are adjacent
// along it have adjacent numbers, and job launchers place those on one host.
//
//===----------------------------------------------------------------------===//

#ifndef TESSERA_RUNTIME_RANKS_MESH_H
#define TESSERA_RUNTIME_RANKS_MESH_H

#include "runtime/ranks/Communicator.h"

#include <map>
#include <string>
#include <string_view>
#include <vector>

namespace tessera::runtime {

struct MeshAxis {
  std::string name;
  int size = 1;
  bool operator==(const MeshAxis &) const = default;
};

/// Where a rank is along each axis of a mesh, by name. An axis that is missing has one position, 0.
using RankPositions = std::map<std::string, int>;

class Mesh {
public:
  /// The mesh of one rank: no axes.
  Mesh() = default;
  /// Throws an Error with status 2 if two axes have one name, if a name is not an identifier, or if a size is below 1.
  explicit Mesh(std::vector<MeshAxis> axes);
  /// "data=2,tensor=4". Throws the same errors, and one that says what is expected in place of other text.
  static Mesh parse(std::string_view text);

  const std::vector<MeshAxis> &axes() const { return list; }
  /// The number of ranks: the product of the sizes.
  int size() const { return ranks; }
  /// As `parse` reads it.
  std::string text() const;

  /// Throws an Error with status 2 that says what to change if there is another number of ranks.
  void requireRanks(int count) const;

  /// The position of an axis; throws an Error with status 2 that names the axes there are.
  size_t axis(std::string_view name) const;

  /// Of a rank along each axis; and the rank at coordinates.
  std::vector<int> coordinates(int rank) const;
  int rankAt(const std::vector<int> &coordinates) const;

  /// The ranks that differ from `rank` along one axis at most, in the order of that axis.
  std::vector<int> ranksAlong(size_t axis, int rank) const;

private:
  /// The distance of ranks that are adjacent along an axis.
  int stride(size_t axis) const;

  std::vector<MeshAxis> list;
  int ranks = 1;
};

/// A collective: a group for each axis, named like it, of the ranks along it.
std::vector<std::unique_ptr<HostCommunicator>> splitAlongAxes(HostCommunicator &world, const Mesh &mesh);

} // namespace tessera::runtime

#endif // TESSERA_RUNTIME_RANKS_MESH_H
