//===- TileScope.h - positions, names and scopes in a tiled launch ----------===//
//
// What the writers of this folder share: the text, the names in scope, the parameters, and the position of a block in
// the batch and of a lane in the matrices.
//
//===----------------------------------------------------------------------===//

#ifndef TESSERA_CODEGEN_CUDA_TILE_TILESCOPE_H
#define TESSERA_CODEGEN_CUDA_TILE_TILESCOPE_H

#include "codegen/cuda/tile/TilePlan.h"
#include "codegen/cuda/writer/ScopeWriter.h"

namespace tessera::cuda {

class TileScope : public ScopeWriter {
public:
  /// `alignments`: of the addresses of operands, in bytes.
  TileScope(const TilePlan &plan, llvm::ArrayRef<int64_t> alignments);

  using ScopeWriter::bind;
  using ScopeWriter::Binding;
  using ScopeWriter::computed;
  using ScopeWriter::declare;
  using ScopeWriter::expression;
  using ScopeWriter::failed;
  using ScopeWriter::frames;
  using ScopeWriter::indexType;
  using ScopeWriter::indices;
  using ScopeWriter::isBound;
  using ScopeWriter::Multiplicity;
  using ScopeWriter::parameters;
  using ScopeWriter::rowIndex;
  using ScopeWriter::text;
  using ScopeWriter::unique;
  using ScopeWriter::use;
  using ScopeWriter::writeItem;

  void writeSignature(llvm::StringRef symbol);
  /// The lines that the block owns, and its position in the batch.
  void writePosition();
  /// The loops over the batch axes that one block sums over.
  void openSerialLoops();
  void closeSerialLoops();

  /// The following code is of a kernel, at the current position in the batch.
  void enter(const TileKernel &kernel);
  /// The parameter of an operand of the tiled op.
  std::string parameterFor(mlir::Value operand) const;
  /// The numbers of the parameters of the tiled op's results that `value` is.
  llvm::SmallVector<unsigned> resultArguments(mlir::Value value) const;
  /// The offset of the current position in the batch.
  std::string batchOffset(NamedTensorType type) const;
  /// Whether `count` consecutive elements of an operand may be moved at once, starting at each multiple of `count`.
  bool allowsVectors(mlir::Value operand, TiledStrides strides, int64_t count) const;
  /// The same of the parameter with the number `argument`, of that type.
  bool allowsVectors(NamedTensorType type, TiledStrides strides, unsigned argument, int64_t count) const;

private:
  void declareBatchIndices(llvm::StringRef number);
  std::string parameterOf(unsigned argument) const override;

  const TilePlan &plan;
  llvm::ArrayRef<int64_t> alignments;
  llvm::StringMap<std::string> batchIndices; ///< by axis
  /// Of each kernel: the indices of its loops outside rows and columns.
  llvm::DenseMap<const TileKernel *, llvm::SmallVector<std::string>> kernelIndices;
  const TileKernel *kernel = nullptr; ///< the current one
};

} // namespace tessera::cuda

#endif // TESSERA_CODEGEN_CUDA_TILE_TILESCOPE_H
