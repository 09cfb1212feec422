//===- ProgramMesh.h - the ranks of a program, as named axes ---------------------===//
//
// `tsr.mesh` of the module: the axes of the mesh of ranks, outermost first. Ranks are numbered row-major.
//
//===----------------------------------------------------------------------===//

#ifndef TESSERA_IR_PROGRAM_PROGRAMMESH_H
#define TESSERA_IR_PROGRAM_PROGRAMMESH_H

#include "ir/dialect/Tsr.h"

namespace tessera {

class ProgramMesh {
public:
  /// Without axes: of one rank.
  ProgramMesh() = default;
  explicit ProgramMesh(llvm::ArrayRef<AxisAttr> axes) : axes(axes) {}
  /// Without axes if the program is for one rank.
  static ProgramMesh of(mlir::ModuleOp module);
  /// Records the mesh in the module.
  static void set(mlir::ModuleOp module, llvm::ArrayRef<AxisAttr> axes);

  llvm::ArrayRef<AxisAttr> getAxes() const { return axes; }
  bool has(llvm::StringRef name) const;
  /// Ranks along an axis.
  int64_t size(llvm::StringRef name) const;
  int64_t ranks() const;

private:
  llvm::SmallVector<AxisAttr> axes;
};

} // namespace tessera

#endif // TESSERA_IR_PROGRAM_PROGRAMMESH_H
