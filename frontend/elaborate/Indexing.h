//===- Indexing.h - `as`, and reads at positions ----------------------------===//

#ifndef TESSERA_FRONTEND_ELABORATE_INDEXING_H
#define TESSERA_FRONTEND_ELABORATE_INDEXING_H

#include "frontend/elaborate/NameResolver.h"
#include "frontend/elaborate/Operators.h"

namespace tessera {

/// Renames, splits and merges axes, and reads tensors at positions.
class Indexing : ElaborationComponent {
public:
  Indexing(CallStack &calls, EntryBuilder &entry, RegionStack &regions, NameResolver &names, Operators &operators,
           BatchAccounting &batches, TrainingNames &training, Evaluator &evaluator)
      : ElaborationComponent(calls), entry(entry), regions(regions), resolver(names), ops(operators), batches(batches),
        training(training), evaluator(evaluator) {}

  LanguageValue evalAs(const ast::AsExpr &expr);
  LanguageValue evalIndex(const ast::IndexExpr &expr);
  /// `pos[a]`; inside `repeat[a]` it is the number of the layer.
  LanguageValue position(llvm::ArrayRef<AxisRef> axes, const ast::RefExpr &expr);

  /// Notes that the training gives a parameter of the model integers, to explain errors in `generate`.
  void noteModelArgument(const ast::Param &param, bool isInteger) { modelIntegers[&param] = isInteger; }

private:
  /// One `axis = e` of a read.
  struct Position {
    AxisRef axis;
    LanguageValue value;
    Span span;
    bool proven = false; ///< never out of range
  };

  bool renameAxes(const ast::AsExpr &expr, Tensor &x);
  Tensor splitOrMerge(Tensor x, const ast::Renaming &renaming);
  std::optional<llvm::SmallVector<AxisRef>> axesFrom(const Tensor &x, const ast::Renaming &renaming);
  std::optional<llvm::SmallVector<AxisRef>> axesTo(const Tensor &x, const ast::Renaming &renaming,
                                                   llvm::ArrayRef<AxisRef> from);
  bool evalPositions(const ast::IndexExpr &expr, const Tensor &x, std::vector<Position> &positions);
  bool checkPosition(const ast::Bind &bind, const LanguageValue &value);
  void reportOutOfRange(const ast::Bind &bind, const LanguageValue &value, int64_t size);
  std::optional<LanguageValue> readShifted(const Tensor &x, const Position &position, const LanguageValue &otherwise);
  LanguageValue readAt(const Tensor &x, llvm::ArrayRef<Position> positions, const LanguageValue &otherwise);

  EntryBuilder &entry;
  RegionStack &regions;
  NameResolver &resolver;
  Operators &ops;
  BatchAccounting &batches;
  TrainingNames &training;
  Evaluator &evaluator;
  llvm::MapVector<const ast::Param *, bool> modelIntegers;
};

} // namespace tessera

#endif // TESSERA_FRONTEND_ELABORATE_INDEXING_H
