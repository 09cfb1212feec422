//===- StatePart.h - the part of a state that a rank has ------------------===//
//
// Files have whole tensors, in canonical order. A rank has a part in memory: a block of the whole, in memory order,
// with padding at the end of divided axes. On one rank the part is the whole.
//
//===----------------------------------------------------------------------===//

#ifndef TESSERA_RUNTIME_CHECKPOINT_STATEPART_H
#define TESSERA_RUNTIME_CHECKPOINT_STATEPART_H

#include "runtime/checkpoint/StridedCopy.h"
#include "runtime/program/Manifest.h"
#include "runtime/ranks/Mesh.h"

namespace tessera::runtime {

/// Which of the ranks that have the same part of a state a rank is.
struct PartHolder {
  int number = 0, count = 1;
};

/// The place of a rank in the mesh of a program.
class MeshPlace {
public:
  /// The only rank of a program without a mesh.
  MeshPlace() = default;
  /// That of this rank. Throws an Error with status 2 if the mesh has another number of ranks.
  MeshPlace(const RanksSpec &ranks, const HostCommunicator &world);

  /// The position along a mesh axis. Throws an Error with status 2 if the mesh lacks it.
  int along(const std::string &axis) const { return coordinates[mesh.axis(axis)]; }

  PartHolder holderOf(const StateEntry &entry) const;

private:
  Mesh mesh;
  std::vector<int> coordinates;
};

/// A canonical axis of a part.
struct PartAxis {
  int64_t whole = 0;            ///< elements of the axis in files
  int64_t begin = 0, count = 0; ///< those that the rank has, without padding; maybe none
  int64_t stride = 0;           ///< in memory, in elements
};

/// The canonical axes of the part of an entry at that place.
std::vector<PartAxis> partAxes(const StateEntry &entry, const MeshPlace &place);

/// The elements of a state that a rank has, without padding. They are counted in canonical order.
class StatePart {
public:
  StatePart(const StateEntry &entry, const MeshPlace &place);

  int64_t elements() const { return count; }

  /// Elements that are copied at a time, so that saving a large tensor takes little memory.
  int64_t pieceElements() const { return pieceBytes / elementBytes; }
  static constexpr int64_t pieceBytes = 1 << 20;

  /// The elements [first, first + number), dense: where they are in `memory` if they are dense there, else in `buffer`.
  const char *dense(const char *memory, int64_t first, int64_t number, std::vector<char> &buffer) const;

  /// Visits the places of these elements in the whole tensor, in order, in runs of adjacent ones: visit(first element
  /// of the tensor, elements).
  void forEachFileRun(int64_t first, int64_t number, const std::function<void(int64_t, int64_t)> &visit) const;

  /// Copies the part from a whole tensor to memory. Padding becomes zeros.
  void read(const char *whole, char *memory) const;

private:
  /// An axis of the part, with its stride on one side.
  struct WalkedAxis {
    int64_t size, stride;
  };
  static std::vector<WalkedAxis> walked(const std::vector<StridedAxis> &axes, int64_t StridedAxis::*side);
  template <typename Visit>
  static void forEachRun(const std::vector<WalkedAxis> &axes, int64_t first, int64_t end, Visit visit);

  int64_t elementBytes, memoryBytes; ///< of an element; of the part in memory, with padding
  int64_t count = 1, fileOffset = 0; ///< elements; before the first one in the whole tensor
  std::vector<StridedAxis> axes;     ///< canonical; from the whole tensor to memory
  std::vector<WalkedAxis> inFile, inMemory;
};

} // namespace tessera::runtime

#endif // TESSERA_RUNTIME_CHECKPOINT_STATEPART_H
