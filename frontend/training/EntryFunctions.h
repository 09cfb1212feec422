//===- EntryFunctions.h - step, evaluate, predict, generate, init -----------===//

#ifndef TESSERA_FRONTEND_TRAINING_ENTRYFUNCTIONS_H
#define TESSERA_FRONTEND_TRAINING_ENTRYFUNCTIONS_H

#include "frontend/training/ParameterRules.h"
#include "frontend/training/TrainingScope.h"

namespace tessera {

/// An output of the model as `predict` returns it.
struct PredictedOutput {
  llvm::StringRef name;
  mlir::Value value;
  std::vector<AxisRef> order; ///< of files: rows outermost
  bool isOfRows = false;      ///< each row has its own value; else it belongs to the batch
};

/// Builds the entry functions: `step` first, which finds the parameters.
class EntryFunctions : ElaborationComponent {
public:
  EntryFunctions(Elaboration &elaboration, TrainingScope &scope, DataSources &data, const TrainingSettings &settings,
                 const FrontendOptions &options)
      : ElaborationComponent(elaboration.calls), elaboration(elaboration), training(scope), data(data),
        settings(settings), options(options), rules(elaboration) {}

  void buildStep();
  void buildEvaluate();
  void buildPredict();
  void buildGenerate();
  void buildInit();

private:
  void begin(llvm::StringRef name);
  void finish();
  Frame trainingFrame();

  std::vector<mlir::Value> buildGradients();
  std::vector<mlir::Value> buildMicroBatches();
  std::vector<mlir::Value> nextStatesOfMicroBatch();
  std::vector<mlir::Value> lossGradients();
  bool checkTrainable(llvm::ArrayRef<LoggedScalar> logs);
  void reportUnusedParameters(GradientOp gradient);
  void warnOfParametersOfSteps() const;
  mlir::Value totalLoss(llvm::ArrayRef<LoggedScalar> logs);
  ClipOp buildClip(llvm::ArrayRef<mlir::Value> gradients);
  void buildUpdates(llvm::ArrayRef<mlir::Value> gradients);
  void addNextStates(mlir::Value norm);
  void addStepOutputs(mlir::Value rate, mlir::Value norm);
  mlir::Value addSampleWeights();
  std::vector<PredictedOutput> outputsOf(const ModelCall &call);
  std::vector<PredictedOutput> choosePrediction();
  bool checkModelParameters();
  const ast::Param *sequenceParameter() const;
  std::optional<LanguageValue> generateArgument(const ast::Param &param);
  mlir::Value initialValue(const Parameter &parameter, mlir::Value seed, mlir::Value zero);

  Elaboration &elaboration;
  TrainingScope &training;
  DataSources &data;
  const TrainingSettings &settings;
  const FrontendOptions &options;
  ParameterRules rules;
};

} // namespace tessera

#endif // TESSERA_FRONTEND_TRAINING_ENTRYFUNCTIONS_H
