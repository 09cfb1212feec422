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

class Exchanges {
public:
  /// Values of fewer elements than `leastDivided` are gathered whole to be reduced: one exchange instead of two.
  Exchanges(GraphBuilder &builder, const ProgramMesh &mesh, int64_t leastDivided, bool addsInLibrary)
      : b(builder), mesh(mesh), leastDivided(leastDivided), addsInLibrary(addsInLibrary) {}

  /// The values of all ranks, with the mesh axis as an axis.
  mlir::Value gatherAxis(mlir::Value value, llvm::StringRef along);
  /// A reduction over the values of all ranks along mesh axes, one after the other; a sum in a tree if `inTree`. It is
  /// rounded to `element` when it is complete. Of a large value each rank reduces a part, and gathers the others: the
  /// bytes that a ring of ranks would send.
  mlir::Value allReduce(ReduceKind kind, mlir::Value value, llvm::ArrayRef<llvm::StringRef> along, bool inTree,
                        mlir::Type element);
  /// This rank's part, along an axis whose size is a multiple of the ranks, of a reduction over the values of all.
  mlir::Value reduceScatter(ReduceKind kind, mlir::Value value, llvm::StringRef along, llvm::StringRef axis,
                            bool inTree = false);

private:
  /// Along one axis of a value, which is as long as its ranks at least, and then along the other mesh axes.
  mlir::Value allReduceDivided(ReduceKind kind, mlir::Value value, AxisAttr axis, llvm::ArrayRef<llvm::StringRef> along,
                               bool inTree, mlir::Type element);
  mlir::Value exchange(ExchangeKind kind, mlir::Value value, llvm::StringRef along);
  /// Of what came from all ranks.
  mlir::Value reduce(ReduceKind kind, mlir::Value received, llvm::StringRef along, bool inTree);

  GraphBuilder &b;
  const ProgramMesh &mesh;
  int64_t leastDivided;
  bool addsInLibrary;
};

} // namespace tessera

#endif // TESSERA_PASSES_SHARDING_EXCHANGES_H
