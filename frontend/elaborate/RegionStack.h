//===- RegionStack.h - the repeats that the elaboration builds into ---------===//
//
// Each `repeat` is a region. A value knows the level that it was made at, the
// number of regions around it; reading it deeper inside imports it as an
// invariant of each region between.
//
//===----------------------------------------------------------------------===//

#ifndef TESSERA_FRONTEND_ELABORATE_REGIONSTACK_H
#define TESSERA_FRONTEND_ELABORATE_REGIONSTACK_H

#include "frontend/elaborate/BatchAccounting.h"
#include "frontend/elaborate/EntryBuilder.h"

namespace tessera {

/// A loss or a metric: a named scalar that is an output of the entry function.
struct LoggedScalar {
  std::string name;
  bool isLoss = true;
  mlir::Value value;
  mlir::Value count; ///< its weight; null for the number of samples
  Span span;
  Span call;              ///< of the function around it
  Span modelCall;         ///< of the model around it
  unsigned expansion = 0; ///< which expansion of the model that is; 0 outside
  BatchReduction reduction = BatchReduction::Mean;
};

/// What a state is after the step, as known in a region: inside a repeat, of one layer.
struct AssignedState {
  std::string path;
  mlir::Value value;
  Span span; ///< of the assignment; inside the library, of the call in the user's file
};

/// The body of a repeat, while it is built.
struct RepeatRegion {
  AxisRef axis;
  bool isMicro = false; ///< the loop over micro-batches, which stacks no parameters
  mlir::Block *block = nullptr;
  std::vector<mlir::Value> carried, sliced, invariants; ///< operands of the repeat
  llvm::DenseMap<mlir::Value, mlir::Value> captured;
  llvm::StringMap<mlir::Value> slices; ///< of parameters and data, by name
  std::vector<LoggedScalar> loggedScalars;
  std::vector<std::string> carriedStates; ///< over micro-batches: the states among what is carried, the first of it
  std::vector<AssignedState> assignedStates;

  mlir::Value induction() const { return block->getArgument(0); }
  /// The arguments of the block that hold what is carried.
  mlir::Block::BlockArgListType carriedArguments() const { return block->getArguments().slice(1, carried.size()); }
  mlir::Value addCarried(mlir::Value initial, mlir::Location location);
  /// Over micro-batches each reads what the one before has assigned.
  mlir::Value addCarriedState(llvm::StringRef path, mlir::Value initial, mlir::Location location);
  mlir::Value addInvariant(mlir::Value value, mlir::Location location);
  /// A value that has the axis of the repeat; inside it is one slice, of this type.
  mlir::Value addSliced(mlir::Value stacked, NamedTensorType type, mlir::Location location);
};

class RegionStack : ElaborationComponent {
public:
  RegionStack(CallStack &calls, EntryBuilder &entry) : ElaborationComponent(calls), entry(entry) {}

  /// Forgets the entry before.
  void beginEntry();

  /// How many repeats surround what is built.
  unsigned level() const { return stack.size(); }
  llvm::ArrayRef<RepeatRegion> regions() const { return stack; }
  RepeatRegion &region(unsigned level) { return stack[level]; }
  RepeatRegion &innermost() { return stack.back(); }
  /// The block at a level; 0 is the entry's.
  mlir::Block *block(unsigned level) const { return level ? stack[level - 1].block : entry.block(); }
  /// Whether the loop over micro-batches is among the regions.
  bool isInMicro() const { return !stack.empty() && stack.front().isMicro; }

  /// Makes a value of an outer level available at the current one, as an invariant of each repeat between.
  mlir::Value import(mlir::Value value, unsigned fromLevel);
  /// The tensor at the current level; of a tuple, all its tensors.
  Tensor here(Tensor tensor);
  LanguageValue here(LanguageValue value);
  /// A value of the entry (a parameter, a counter) at the current level.
  mlir::Value importCounter(llvm::StringRef name) { return import(entry.counter(name), 0); }
  /// What random draws inside repeats, and in the batches of a data set, are told apart by.
  llvm::SmallVector<mlir::Value> salts();

  void push(AxisRef axis, bool isMicro);
  /// Ends the region: yields `next`, losses, metrics and assigned states, builds the repeat, returns its carried
  /// results. Outside, a state that was assigned in the region is assigned the stack of all layers; in the loop over
  /// micro-batches states are carried instead, and `next` has their next values.
  std::vector<mlir::Value> pop(llvm::ArrayRef<mlir::Value> next);

  /// Losses and metrics at the current level.
  std::vector<LoggedScalar> &loggedScalars() { return stack.empty() ? entryScalars : stack.back().loggedScalars; }
  /// Enters a loss or metric at the current level. Each has a name of its own: where a body is expanded twice, its
  /// losses would silently count twice.
  bool addLoggedScalar(LoggedScalar scalar);
  /// States that are assigned at the current level.
  std::vector<AssignedState> &assignedStates() { return stack.empty() ? entryStates : stack.back().assignedStates; }

private:
  void continueAtLevel() { builder.setInsertionPointToEnd(block(level())); }

  EntryBuilder &entry;
  std::vector<RepeatRegion> stack;
  std::vector<LoggedScalar> entryScalars;
  std::vector<AssignedState> entryStates;
};

} // namespace tessera

#endif // TESSERA_FRONTEND_ELABORATE_REGIONSTACK_H
