//===- TileWriter.h - from a tiled op to CUDA C++ ---------------------------===//
//
// A launch of a tiled op (docs/ir.md, Tiled ops): its blocks *own* some lines of the matrices, rows or columns, and go
// over the *other* lines a tile at a time. A warp has 16 own lines; a tile of a matrix is fragments in its registers
// and lies nowhere else.
//
//   own operands of the makers, as fragments
//   for sweep in sweeps                          as many as the kernel with reductions has, or one
//     for tile of other lines (inside the band)
//       the other operands of the tile into shared memory, while the tile before is looked at
//       makers: fragments of the matrices
//       kernels, element by element; their reductions over columns
//       in the last sweep: sums over the other lines, in fragments
//     reduce over the lanes that share a row; values of the row that are known now
//                                                (weights of a softmax need one sweep: OneSweep.h)
//   write values of rows, and sums
//
// Sums over columns are computed where rows are owned, sums over rows where columns are: two launches where a tiled op
// has both. Each makes the matrices anew; no two blocks write one result, so sums need no atomics and have one order.
//
//===----------------------------------------------------------------------===//

#ifndef TESSERA_CODEGEN_CUDA_TILEWRITER_H
#define TESSERA_CODEGEN_CUDA_TILEWRITER_H

#include "codegen/cuda/tile/OneSweep.h"
#include "codegen/cuda/writer/ScopeWriter.h"
#include "passes/tile/TiledContraction.h"
#include "llvm/ADT/MapVector.h"

namespace tessera::cuda {

/// Sizes of the tiles of a launch.
struct TileMapping {
  bool ownsRows = true;
  int64_t ownLines = 64, otherLines = 64; ///< of a block; of a tile
  int64_t stages = 2; ///< tiles in shared memory: that which is looked at, and the next one on its way
  int64_t blocks = 1;

  int64_t threads() const { return ownLines / 16 * 32; }
};

/// The launches that a tiled op takes.
llvm::SmallVector<TileMapping> tileMappings(TiledOp op, const MatrixAxes &axes);

/// Numbers of a line in fragments, and in shared memory: there lines start in other banks.
inline int64_t padded(int64_t extent) { return llvm::alignTo(extent, 16); }
inline int64_t lineLength(int64_t extent) { return padded(extent) + 8; }

class TileWriter : public ScopeWriter {
public:
  /// `alignments`: of the addresses of operands, in bytes.
  TileWriter(TiledOp op, const MatrixAxes &axes, const TileMapping &mapping, llvm::ArrayRef<int64_t> alignments);

  /// The function's text; fails with a message on an op for which there is no code.
  llvm::FailureOr<std::string> write(llvm::StringRef symbol);

private:
  /// A kernel inside, with the indices of its loops outside rows and columns.
  struct Inner {
    KernelOp op;
    KernelPlan plan;
    llvm::SmallVector<std::string> batch;
    unsigned rowsLoop() const {
      return plan.loops.isVectorParallel() ? plan.loops.vector - 1 : plan.loops.parallelCount - 1;
    }
  };
  /// A contraction inside, by own and other lines.
  struct Product {
    ContractOp op;
    Value result;
    Value own, other; ///< own: of a maker the operand, of a sum the matrix
    int64_t extent;
    TiledStrides ofOwn, ofOther, ofResult; ///< nothing is said of a matrix
  };

  llvm::LogicalResult plan();
  void writeSignature(llvm::StringRef symbol);
  void writePosition();
  void declareBatch(llvm::StringRef number);
  void openSerialLoops();
  void closeSerialLoops();
  void loadOwn(const Product &maker);
  void declareTiles();
  void writeSweep(unsigned number, unsigned sweeps);
  void openTiles(unsigned number, llvm::ArrayRef<Value> loaded);
  void closeTiles();
  void loadTile(Value other, llvm::StringRef firstLine, llvm::StringRef to);
  int64_t tileNumbers(Value other) const { return mapping.otherLines * lineLength(extents.lookup(other)); }
  /// Where the tile that is looked at begins, to be followed by an index in it.
  std::string tileStart(Value other) const;
  void writeMaker(const Product &maker);
  void writeOneSweep();
  void writeWeights();
  void writeElements(unsigned number, bool isLast);
  void openElements();
  void closeElements();
  void declareWeights();
  void writeInner(Inner &inner, unsigned number, bool isLast);
  void writeItems(Inner &inner, const std::optional<Sweep> &sweep);
  void writeFragments(Inner &inner);
  void writeRowStep(unsigned stage);
  void declareAccumulators(unsigned number);
  void reduceOverLanes(unsigned number);
  void writeSum(const Product &sum);
  void storeSum(const Product &sum);
  void enter(Inner &inner);

  std::string parameterOf(unsigned argument) const override;
  std::string batchOffset(NamedTensorType type);
  std::string parameterFor(Value value) const;
  /// Whether `count` neighbours of an operand may be moved at once wherever they start at a multiple of `count`.
  bool isVector(Value operand, TiledStrides stride, int64_t count) const;
  bool isMatrix(Value value) const { return axes.isMatrix(tensorType(value)); }
  bool isRow(const Inner &inner, Value item) const;
  /// Whether what reads the weights of a softmax are the launch's sums, and these read nothing else.
  bool isOneSweep() const;
  /// What the element loop calls the line of an element: its row's, or its column's.
  llvm::StringRef lineName(bool isRow) const { return isRow == mapping.ownsRows ? ownLineName : otherLineName; }
  /// Whether the block goes over a batch axis by itself.
  bool isLooped(AxisAttr axis) const {
    TiledOp tiled = op;
    return !mapping.ownsRows && llvm::is_contained(names(tiled.getSerial()), axis.getName());
  }
  AxisAttr ownAxis() const { return mapping.ownsRows ? axes.rows : axes.columns; }
  AxisAttr otherAxis() const { return mapping.ownsRows ? axes.columns : axes.rows; }
  bool hasOtherTail() const { return otherAxis().getSize() % mapping.otherLines != 0; }
  /// Numbers along what is summed that a fragment of a value's type holds.
  static int64_t depthOf(Value value) { return tensorType(value).getElementType().isF32() ? 8 : 16; }
  int64_t tilesOfOther() const { return mapping.otherLines / 8; }

  TiledOp op;
  const MatrixAxes &axes;
  const TileMapping &mapping;
  llvm::ArrayRef<int64_t> alignments;
  std::vector<Inner> kernels;
  std::vector<Product> makers, sums;
  llvm::SmallVector<AxisAttr> serialAxes;       ///< that the block goes over
  llvm::SmallVector<Value> tiles;               ///< other operands, each once
  llvm::DenseMap<Value, int64_t> extents;       ///< of tiles
  llvm::DenseMap<Value, TiledStrides> strides;  ///< of tiles: of a line, and along it
  llvm::DenseMap<Value, std::string> tileNames; ///< in shared memory
  std::string stageName;                        ///< of the tile that is looked at
  llvm::DenseMap<Value, std::string> ownNames;  ///< fragments of own operands
  llvm::DenseMap<Value, std::string> matrices;  ///< the expression of an element, by value of the tiled op
  llvm::DenseMap<Value, std::string> fragments; ///< what a sum reads
  llvm::DenseMap<Value, std::string> sumNames;
  llvm::MapVector<Value, std::string> accumulators;
  llvm::MapVector<Value, std::string> rowNumbers; ///< what a softmax adds up of a tile, by its maximum
  llvm::StringMap<std::string> batchIndex;        ///< by axis
  std::string ownLineName, otherLineName;         ///< in the loop over elements
  std::optional<OneSweep> oneSweep;               ///< where there is one sweep, though weights depend on sums
  Inner *reducing = nullptr;                      ///< the kernel that has reductions
  Inner *inner = nullptr;                         ///< the current one
};

} // namespace tessera::cuda

#endif // TESSERA_CODEGEN_CUDA_TILEWRITER_H
