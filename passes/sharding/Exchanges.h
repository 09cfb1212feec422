//===- Exchanges.h - collectives by what moves bytes ----------------------===//
//
// Ranks exchange bytes only: an all-gather or an all-to-all. Sums are ops of the program, over what was received, in
// the order of the ranks, or in a tree of them. So every element type works, and the library that moves the bytes
// changes no bit. If the user asks for it, the library adds large values in f32 and f64.
//
//===----------------------------------------------------------------------===//

#ifndef TESSERA_PASSES_SHARDING_EXCHANGES_H
#define TESSERA_PASSES_SHARDING_EXCHANGES_H

#include "ir/dialect/GraphBuilder.h"
#include "ir/program/ProgramMesh.h"

namespace tessera {

/// What ranks along a mesh axis want of a reduction: each its own part of an axis.
struct WantedPart {
  llvm::StringRef along, axis;
  int64_t offset = 0, padded = 0; ///< the axis is padded to this size before; 0: it is not
};

/// A reduction over the values of all ranks along some mesh axes.
struct RankReduction {
  ReduceKind kind;
  mlir::Type element;                    ///< what a complete sum is rounded to, before it is gathered
  bool inTree = false;                   ///< a sum in a binary tree of the ranks
  llvm::SmallVector<WantedPart> parts{}; ///< along the other mesh axes all ranks want the whole
};

class Exchanges {
public:
  /// Values of fewer elements than `leastDivided` are gathered whole to be reduced: one exchange instead of two.
  Exchanges(GraphBuilder &builder, const ProgramMesh &mesh, int64_t leastDivided, bool addsInLibrary)
      : b(builder), mesh(mesh), leastDivided(leastDivided), addsInLibrary(addsInLibrary) {}

  /// The values of all ranks, with the mesh axis as an axis.
  mlir::Value gatherAxis(mlir::Value value, llvm::StringRef along);
  /// Reduces a value along mesh axes, one after the other. Each rank reduces a part of a large value, and only that is
  /// exchanged along the next mesh axis: along one mesh axis these are the bytes that a ring of ranks would send. If
  /// the ranks want the whole, they gather the parts at the end.
  mlir::Value reduce(const RankReduction &reduction, mlir::Value value, llvm::ArrayRef<llvm::StringRef> along);

private:
  mlir::Value reduceWhole(const RankReduction &reduction, mlir::Value value, llvm::ArrayRef<llvm::StringRef> along);
  /// Along mesh axes, dividing an axis that is as long as the ranks along the first of them at least.
  mlir::Value reduceDivided(const RankReduction &reduction, mlir::Value value, AxisAttr axis,
                            llvm::ArrayRef<llvm::StringRef> along);
  /// This rank's part, along an axis whose size is a multiple of the ranks.
  mlir::Value reduceScatter(const RankReduction &reduction, mlir::Value value, llvm::StringRef along,
                            llvm::StringRef axis);
  mlir::Value exchange(ExchangeKind kind, mlir::Value value, llvm::StringRef along);
  /// Of what came from all ranks.
  mlir::Value reduceReceived(const RankReduction &reduction, mlir::Value received, llvm::StringRef along);

  GraphBuilder &b;
  const ProgramMesh &mesh;
  int64_t leastDivided;
  bool addsInLibrary;
};

} // namespace tessera

#endif // TESSERA_PASSES_SHARDING_EXCHANGES_H
