//===- Storage.h - which values share a buffer ----------------------------===//
//
// A *cell* is a location: a buffer, an offset in it and strides along the enclosing repeats. Several values may occupy
// one cell one after the other (state and its next value; an operand and the result that overwrites it; a carried value
// from iteration to iteration). Views and slices are in the cell of their operand.
//
//===----------------------------------------------------------------------===//

#ifndef TESSERA_PASSES_MEMORY_STORAGE_H
#define TESSERA_PASSES_MEMORY_STORAGE_H

#include "passes/analysis/Timeline.h"
#include "passes/memory/Offsets.h"
#include "llvm/ADT/StringMap.h"
#include <vector>

namespace tessera {

/// A range of the arena with one lifetime.
struct Buffer {
  Lifetime lifetime;
  std::string state; ///< path, if it is the place of state; such a buffer is always live
  int64_t slot =
      0; ///< of stacks that share the buffer: bytes from one slot to the next, each with a part of every stack
  int64_t offset = 0; ///< set once packed
};

/// A value in a buffer from the moment `start` to `end`. Of a carried result `start` is the end of its repeat.
struct Occupant {
  mlir::Value value;
  int buffer;
  int64_t offset, bytes; ///< in the buffer
  bool isSlot;           ///< of a stack: another one in each iteration
  int start, end;
};

/// The values of an entry function by storage. If `copies` is not empty the plan is incomplete: those operands must be
/// copied first.
class StoragePlan {
public:
  /// Analyses a function; changes nothing.
  StoragePlan(mlir::func::FuncOp function);

  llvm::ArrayRef<mlir::OpOperand *> getCopies() const { return copies; }
  std::vector<Buffer> &getBuffers() { return buffers; }
  /// The lifetimes of the buffers that are not state, in order.
  llvm::SmallVector<Lifetime> lifetimes() const;
  /// The values in the buffers, but views and slices, cell by cell.
  std::vector<Occupant> occupants() const;
  /// The place of a value, also of a view or slice. Buffers must have their offsets.
  PlaceAttr place(mlir::Value value) const;

private:
  struct Segment {
    int start, end;
    mlir::Value value;
  };
  struct Cell {
    int buffer;
    int64_t offset;
    llvm::SmallVector<int64_t> strides;
    int64_t bytes;
    llvm::SmallVector<Segment> segments;
  };
  struct Location {
    int buffer = -1;
    int64_t offset = 0;
    llvm::SmallVector<int64_t> strides;
  };

  void placeArguments();
  void placeStateResults();
  void placeBlock(mlir::Block &block);
  void placeOp(mlir::Operation *op);
  void shareWithOperands(KernelOp kernel);
  void placeInit(ContractOp contract);
  void placeJoin(JoinOp join);
  void placeRepeat(RepeatOp repeat);
  void placeCarried(RepeatOp repeat, unsigned carried);
  bool placeCarriedStack(RepeatOp repeat, unsigned carried, unsigned stacked);
  void placeStacked(RepeatOp repeat, unsigned stacked);
  void placeSlotsTaken(RepeatOp repeat, unsigned stacked);
  void noteStacks();
  void noteEmptied(RepeatOp repeat, int loop);
  void noteFilled(RepeatOp repeat, int loop);
  void groupStacks();
  bool mayShareSlots(unsigned buffer) const;
  void shareSlots(llvm::ArrayRef<unsigned> members);
  /// Whether `root` alone has the buffer of its cell from `start` to `end`, but for its slots. It begins where the
  /// buffer does, and ends there too unless `mayEnd` earlier.
  bool ownsBuffer(mlir::Value root, int start, int end, bool mayEnd = false) const;

  int newBuffer(int64_t bytes, llvm::StringRef state = "");
  int newCell(int buffer, int64_t offset, llvm::ArrayRef<int64_t> strides, int64_t bytes);
  /// Puts a value into a cell without asking.
  void enter(mlir::Value root, int cell);
  void extend(int buffer, int start, int end);
  /// Whether `made` may be where `dying` is, whose lifetimes meet.
  bool takesOver(const Segment &made, const Segment &dying) const;
  /// Puts an op's result into a cell if nothing that lives there meanwhile forbids it.
  bool tryEnter(mlir::Value value, int cell);
  bool hasCell(mlir::Value root) const { return cellOf.count(root); }
  Location locate(mlir::Value value) const;

  mlir::func::FuncOp function;
  Timeline line;
  std::vector<Buffer> buffers;
  std::vector<Cell> cells;
  llvm::DenseMap<mlir::Value, int> cellOf;
  llvm::StringMap<int> stateCells;
  llvm::SmallVector<mlir::OpOperand *> copies;
  llvm::SmallVector<unsigned> loopDepths; ///< the number of repeats around each loop of `StackUse`
};

/// The number of repeats around an op.
unsigned repeatDepth(mlir::Operation *op);

/// Which stacked result of `repeat` saves carried argument `carried` as it is, so that the stack itself can carry it;
/// -1 if none.
int stackOfCarried(RepeatOp repeat, unsigned carried);

} // namespace tessera

#endif // TESSERA_PASSES_MEMORY_STORAGE_H
