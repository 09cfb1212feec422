//===- SpreadLeaves.h - iterations of a repeat divided among ranks --------===//

#ifndef TESSERA_PASSES_SHARDING_SPREADLEAVES_H
#define TESSERA_PASSES_SHARDING_SPREADLEAVES_H

#include "ir/program/ProgramMesh.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"

namespace tessera {

/// Divides the iterations of each repeat of a function in wide form that names a mesh axis (`tsr.along`): each rank
/// along it runs a range of them. What depends on the iteration has the mesh axis as an axis more.
///
///   before   %g = tsr.repeat [micro: 8] slice (%x: [micro: 8, batch])  …              %g: [micro: 8, embed]
///   after    %s = tsr.split %x micro into [data, micro]
///            %p = tsr.repeat [micro: 2] slice (%s: [data: 4, micro: 2, batch])  …     %p: [data: 4, micro: 2, embed]
///            %g = tsr.merge %p [data, micro] into micro
///
/// Such a repeat carries nothing, and the ranks divide its iterations evenly.
void spreadLeaves(mlir::func::FuncOp function, const ProgramMesh &mesh);

} // namespace tessera

#endif // TESSERA_PASSES_SHARDING_SPREADLEAVES_H
