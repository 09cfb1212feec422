//===- TrainingScope.h - the names of the training description --------------===//

#ifndef TESSERA_FRONTEND_TRAINING_TRAININGSCOPE_H
#define TESSERA_FRONTEND_TRAINING_TRAININGSCOPE_H

#include "frontend/training/DataSources.h"

namespace tessera {

/// The lets and data sources of the training description. Lets are evaluated where they are first needed: a learning
/// rate outside the loop over micro-batches, logits inside.
class TrainingScope : public TrainingNames, ElaborationComponent {
public:
  TrainingScope(Elaboration &elaboration, DataSources &data)
      : ElaborationComponent(elaboration.calls), elaboration(elaboration), sources(data) {}

  /// Collects the names of the description.
  void declare();
  /// Forgets the values of the entry before.
  void beginEntry() { values.clear(); }

  std::optional<LanguageValue> lookup(llvm::StringRef name) override;
  LanguageValue dataField(const LanguageValue &data, const ast::Name &field, Span span) override {
    return sources.field(data, field, span);
  }
  void requireBelow(int input, int64_t below) override { sources.requireBelow(input, below); }
  void notePositions(int input, llvm::StringRef axis) override { sources.notePositions(input, axis); }

  /// Evaluates the losses and metrics of the description. In training, lets that none of them needs are evaluated too,
  /// so that they are checked.
  void evalLossesAndMetrics(bool isTraining);

private:
  void declare(const ast::Name &name, const ast::Definition &definition, unsigned element);
  void evalLetsOf(const ast::Expr &expr);
  void evalUnusedLets();
  void warnOfUnusedLets() const;
  const LanguageValue *findValue(const ast::Definition &definition) const;
  LanguageValue evalLet(llvm::StringRef name, const ast::Definition &definition);

  Elaboration &elaboration;
  DataSources &sources;
  llvm::StringMap<std::pair<const ast::Definition *, unsigned>> lets;
  /// By the block that they were evaluated in.
  llvm::DenseMap<std::pair<mlir::Block *, const ast::Definition *>, LanguageValue> values;
  llvm::DenseSet<const ast::Definition *> inProgress;
};

} // namespace tessera

#endif // TESSERA_FRONTEND_TRAINING_TRAININGSCOPE_H
