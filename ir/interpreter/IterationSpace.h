//===- IterationSpace.h - loops over named axes ---------------------------===//
//
// The interpreter's only loop: it visits every point of a space of named axes
// and tracks, for each tensor, the offset of its element at that point. A tensor
// that lacks an axis does not move along it, which is broadcasting by name.
//
//===----------------------------------------------------------------------===//

#ifndef TESSERA_IR_INTERPRETER_ITERATIONSPACE_H
#define TESSERA_IR_INTERPRETER_ITERATIONSPACE_H

#include "ir/dialect/Tsr.h"

namespace tessera {

/// The points of a set of named axes, visited in row-major order.
class IterationSpace {
public:
  explicit IterationSpace(llvm::ArrayRef<AxisAttr> axes) {
    for (AxisAttr axis : axes) names.push_back(axis.getName()), sizes.push_back(axis.getSize());
  }

  /// Adds a tensor; it moves along the axes that it shares with the space, but for those in `fixed`.
  IterationSpace &add(NamedTensorType type, llvm::ArrayRef<llvm::StringRef> fixed = {}) {
    llvm::SmallVector<int64_t> all = type.getStrides(), along;
    for (llvm::StringRef name : names) {
      int64_t i = llvm::is_contained(fixed, name) ? -1 : type.findAxis(name);
      along.push_back(i < 0 ? 0 : all[i]);
    }
    strides.push_back(along);
    return *this;
  }

  /// Adds what moves so far along each axis of the space.
  IterationSpace &addStrided(llvm::ArrayRef<int64_t> along) {
    strides.emplace_back(along);
    return *this;
  }

  /// Calls `body` with one offset for each tensor, in the order in which they were added.
  template <typename Body> void forEach(Body body) const {
    llvm::SmallVector<int64_t> point(sizes.size(), 0), offsets(strides.size(), 0);
    while (true) {
      body(llvm::ArrayRef<int64_t>(offsets));
      int64_t axis = static_cast<int64_t>(sizes.size()) - 1;
      for (; axis >= 0; --axis) {
        if (++point[axis] < sizes[axis]) break;
        point[axis] = 0;
        for (auto [offset, stride] : llvm::zip(offsets, strides)) offset -= stride[axis] * (sizes[axis] - 1);
      }
      if (axis < 0) return;
      for (auto [offset, stride] : llvm::zip(offsets, strides)) offset += stride[axis];
    }
  }

private:
  llvm::SmallVector<llvm::StringRef> names;
  llvm::SmallVector<int64_t> sizes;
  llvm::SmallVector<llvm::SmallVector<int64_t>> strides; // strides[tensor][axis]
};

} // namespace tessera

#endif // TESSERA_IR_INTERPRETER_ITERATIONSPACE_H
