//===- Timeline.h - lifetimes of values -----------------------------------===//
//
// Numbers the ops of an entry function: a repeat has one moment where it begins, then come the moments of its body,
// then one where it ends. The operands of a repeat live until it ends; values in its body live within one iteration.
// The ops of a launch have one moment.
//
// What an early exchange receives (EarlyStarts.h) lives from the prologue to the end of the repeat; what a late one
// sends and receives lives as long as the repeat runs.
//
//===----------------------------------------------------------------------===//

#ifndef TESSERA_PASSES_ANALYSIS_TIMELINE_H
#define TESSERA_PASSES_ANALYSIS_TIMELINE_H

#include "ir/dialect/Tsr.h"

namespace tessera {

class EarlyStarts;

class Timeline {
public:
  explicit Timeline(mlir::func::FuncOp function);

  /// The moment of an op; for a repeat the moment where it begins.
  int at(mlir::Operation *op) const { return begin.lookup(op); }
  /// The moment where an op is done: for a repeat after its body.
  int endOf(mlir::Operation *op) const { return end.lookup(op); }
  /// When the buffer of a root value is first written: results of a repeat where it begins; arguments of the function
  /// at 0, of a repeat where it begins.
  int definition(mlir::Value root) const;
  /// When it is last read, through any view; its definition (a repeat's end) if never. A carried operand of a repeat is
  /// read where the repeat begins.
  int lastUse(mlir::Value root) const;

private:
  void number(mlir::Block &block);
  void noteExchanges(mlir::Block &block, const EarlyStarts &early);
  int lastUseOfAlias(mlir::Value value) const;
  llvm::DenseMap<mlir::Operation *, int> begin, end;
  llvm::DenseMap<mlir::Value, std::pair<int, int>> overlapped; ///< of exchanges: definition and last use
  int next = 1;
};

} // namespace tessera

#endif // TESSERA_PASSES_ANALYSIS_TIMELINE_H
