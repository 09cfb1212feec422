//===- LineValues.h - values of lines that kernels read ---------------------===//

#ifndef TESSERA_CODEGEN_CUDA_TILE_LINEVALUES_H
#define TESSERA_CODEGEN_CUDA_TILE_LINEVALUES_H

#include "codegen/cuda/tile/TileScope.h"

namespace tessera::cuda {

/// Values in memory that are the same for all elements of a line (row statistics, masks of keys), so that none is
/// loaded for each element.
///
/// Those of own lines are in registers. Those of other lines are in shared memory, beside the tiles: a thread loads
/// those of the next tile before the matrix products of the current one, and stores them after these.
class LineValues {
public:
  LineValues(TileScope &scope, const TilePlan &plan) : scope(scope), plan(plan) {}

  /// Declares the shared memory of other lines.
  void declare();
  /// Loads the values of own lines, which all tiles use.
  void loadOwn();

  /// Stores those of the tile from line `first` on, at `start` of the shared memory.
  void store(llvm::StringRef first, llvm::StringRef start);
  /// The same in two steps, for the next tile: first into registers, which `declareNext` has declared.
  void declareNext();
  void loadNext(llvm::StringRef first);
  void storeNext(llvm::StringRef start);

  /// The value of the current element's other line; `start` as above. Empty if `item` is no such value.
  std::string elementOf(mlir::Value item, llvm::StringRef start) const;

private:
  std::string parameterOf(const LineValue &value) const;
  std::string load(const LineValue &value, llvm::StringRef line);
  mlir::Type typeOf(const LineValue &value) const { return tensorType(value.item).getElementType(); }
  std::string threads() const;

  TileScope &scope;
  const TilePlan &plan;
  llvm::DenseMap<mlir::Value, std::string> names;     ///< of the shared memory
  llvm::DenseMap<mlir::Value, std::string> nextNames; ///< of the registers
};

} // namespace tessera::cuda

#endif // TESSERA_CODEGEN_CUDA_TILE_LINEVALUES_H
