//===- JoinedValues.h - operands of contractions, one after the other in one value ---===//

#ifndef TESSERA_PASSES_JOIN_JOINEDVALUES_H
#define TESSERA_PASSES_JOIN_JOINEDVALUES_H

#include "ir/dialect/GraphBuilder.h"
#include <vector>

namespace tessera {

/// A unit attribute on the slices that take a joined value apart. `layout` makes them views and removes it.
inline constexpr llvm::StringLiteral partAttr = "tsr.part";

/// A value to be joined: its axes `merged` become the joined axis, then `from` is renamed `to`.
struct JoinMember {
  mlir::Value value;
  llvm::SmallVector<llvm::StringRef> merged, from, to;

  bool operator==(const JoinMember &) const = default;
  /// Size along the joined axis.
  int64_t size() const;
};

/// All joins of a module. A value is part of one join at most, because it is written straight into the joined buffer.
/// What a repeat slices or has as an invariant is joined outside of it.
class JoinedValues {
public:
  explicit JoinedValues(mlir::ModuleOp module);

  /// The axis along which values are joined.
  llvm::StringRef getAxis() const { return axis.getValue(); }
  /// Whether the members are, in this order, adjacent parts of one join, or may become one.
  bool canJoin(llvm::ArrayRef<JoinMember> members) const;
  /// The members in one value of `block`. They satisfy `canJoin`.
  mlir::Value join(llvm::ArrayRef<JoinMember> members, mlir::Block *block);
  /// The position of a value in its join; -1 if it is in none.
  int64_t positionOf(mlir::Value value) const;
  /// Joins that were made.
  int64_t getCount() const { return families.size(); }

private:
  struct Family {
    llvm::SmallVector<JoinMember> members; ///< with values outside of repeats
    mlir::Value joined;
  };
  struct Position {
    int family = -1;
    int64_t index = -1;
  };
  Position find(mlir::Value outer) const;
  bool mayBecomeJoin(llvm::ArrayRef<JoinMember> members) const;
  mlir::Value make(llvm::ArrayRef<JoinMember> members);

  mlir::StringAttr axis;
  std::vector<Family> families;
  llvm::DenseMap<mlir::Value, Position> positions; ///< by the value outside of repeats
  llvm::DenseSet<mlir::Value> roots;               ///< what ops write into joins; for look-up only
  llvm::DenseMap<std::pair<mlir::Value, mlir::Block *>, mlir::Value> imported;
};

/// A part of a joined value, from `start` along the joined axis.
mlir::Value slicePart(GraphBuilder &b, mlir::Value joined, llvm::StringRef axis, int64_t start, int64_t size);

} // namespace tessera

#endif // TESSERA_PASSES_JOIN_JOINEDVALUES_H
