//===- WideBuilder.h - values of all ranks in one program -----------------===//
//
// In *wide form* an axis that is divided among ranks is two axes: the mesh axis, and the axis of a part. A value has
// the parts of all ranks. On mesh axes ordinary ops are collectives: to reduce over one is an all-reduce, to merge one
// with the axis of a part is an all-gather, to split a whole axis is taking one's own part.
//
//===----------------------------------------------------------------------===//

#ifndef TESSERA_PASSES_SHARDING_WIDEBUILDER_H
#define TESSERA_PASSES_SHARDING_WIDEBUILDER_H

#include "ir/dialect/GraphBuilder.h"
#include "passes/sharding/Sharding.h"

namespace tessera {

/// A value with all its parts.
struct WideValue {
  mlir::Value value;
  NamedTensorType whole; ///< the type that it has undivided
  Sharding sharding;
  /// What is behind the end of a divided axis whose size its parts do not divide is zero; else it is anything.
  bool hasZeroPadding = false;
};

/// Builds what changes the sharding of values.
class WideBuilder : public GraphBuilder {
public:
  WideBuilder(mlir::ModuleOp module, const ProgramMesh &mesh, mlir::Location loc)
      : GraphBuilder(module, loc), module(module), mesh(mesh) {}

  const ProgramMesh &getMesh() const { return mesh; }
  NamedTensorType wideType(NamedTensorType whole, const Sharding &sharding) {
    return tessera::wideType(whole, sharding, mesh, module);
  }

  /// The same elements, divided in another way.
  WideValue convert(WideValue value, const Sharding &sharding);
  /// The position of each element of all parts along an axis that is divided: i32, [mesh axis, axis].
  mlir::Value positions(AxisAttr whole, llvm::StringRef meshAxis);
  /// The first position of each part: i32, [mesh axis].
  mlir::Value firstPositions(AxisAttr whole, llvm::StringRef meshAxis);
  /// The type in which ops compute with elements: f32 for those of reduced precision.
  mlir::Type arithmeticType(mlir::Type element);
  /// Whether a value has elements behind the end of an axis.
  bool isPadded(const WideValue &value, llvm::StringRef axis) const;
  /// An element in place of what is behind the end of some axes.
  mlir::Value withPadding(const WideValue &value, llvm::ArrayRef<llvm::StringRef> axes, mlir::TypedAttr element);
  /// Zeros behind the ends of all axes.
  WideValue withZeroPadding(WideValue value);

private:
  mlir::ModuleOp module;
  const ProgramMesh &mesh;
};

} // namespace tessera

#endif // TESSERA_PASSES_SHARDING_WIDEBUILDER_H
