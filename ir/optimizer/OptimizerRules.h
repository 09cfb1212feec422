//===- OptimizerRules.h - the table of optimizer rules --------------------===//
//
// One entry for each rule: its arguments, the state that it adds to each parameter, and its formula. The frontend reads
// the arguments by their names in model files, the verifier of `tsr.update` by those in the IR, and the pass `optimize`
// builds state and formula. A new rule is an entry in OptimizerRules.cpp.
//
//===----------------------------------------------------------------------===//

#ifndef TESSERA_IR_OPTIMIZER_OPTIMIZERRULES_H
#define TESSERA_IR_OPTIMIZER_OPTIMIZERRULES_H

#include "ir/dialect/GraphBuilder.h"
#include <limits>
#include <optional>

namespace tessera {

/// An argument of a rule: a scalar, or a flag that is true or false.
struct OptimizerArgument {
  llvm::StringRef name;           ///< in the model file
  llvm::StringRef irName;         ///< in `tsr.update`: of a hyperparameter, or of a unit attribute if it is a flag
  std::optional<double> fallback; ///< its value if it is not given; none: it is required, and not in a tuple
  double below = infinity;        ///< a constant is in [0, below)
  llvm::StringRef tuple = {};     ///< it may also be given as an element of this tuple: `betas` of `beta1`, `beta2`
  bool isFlag = false;

  static constexpr double infinity = std::numeric_limits<double>::infinity();
  /// Whether `tsr.update` must name it: what is absent there is 0.
  bool isRequired() const { return !isFlag && (!fallback || *fallback != 0); }
};

/// A tensor of a parameter's type that a rule carries from step to step, zero at first. The path of the state of a
/// parameter `w` is `w.NAME`.
struct OptimizerState {
  llvm::StringRef name;
  llvm::StringRef onlyWith = {}; ///< exists only where this hyperparameter is not the constant 0; empty: always
};

/// What the formula of a rule reads: one parameter, its gradient and the hyperparameters, in one step.
class UpdateInputs {
public:
  /// Ops are built by `b`; `state`, in the table's order, as it is before the step.
  UpdateInputs(GraphBuilder &b, UpdateOp update, llvm::ArrayRef<mlir::Value> state);

  GraphBuilder &b;
  const mlir::Value parameter, gradient;
  const llvm::ArrayRef<mlir::Value> state;

  /// A hyperparameter, by its name in the IR, cast to the parameter's element type.
  mlir::Value scalar(llvm::StringRef irName) const;
  /// Whether the hyperparameter is given, and not the constant 0.
  bool isUsed(llvm::StringRef irName) const;
  bool hasFlag(llvm::StringRef irName) const;
  /// The number of this step, from 1.
  mlir::Value stepNumber() const;
  /// 1 - x
  mlir::Value complement(mlir::Value x) const { return b.sub(b.scalar(1, element), x); }

private:
  mutable UpdateOp update; ///< mutable: the accessors of ops are not const
  mlir::Type element;      ///< of the parameter
};

/// A parameter and its state after a step.
struct UpdateResults {
  mlir::Value parameter;
  llvm::SmallVector<mlir::Value> state;
};

struct OptimizerRule {
  llvm::StringRef name;
  llvm::ArrayRef<OptimizerArgument> arguments;
  llvm::ArrayRef<OptimizerState> state;
  UpdateResults (*formula)(const UpdateInputs &);

  /// The argument of that name in the model file, or in the IR; null if there is none.
  const OptimizerArgument *findArgument(llvm::StringRef argument) const;
  const OptimizerArgument *findIrArgument(llvm::StringRef irName) const;
  /// The names of the state that exists, given which hyperparameters are not the constant 0.
  llvm::SmallVector<llvm::StringRef> stateNames(llvm::function_ref<bool(llvm::StringRef irName)> isUsed) const;
  /// As documents write it: `adam(lr, betas = (0.9, 0.999), eps = 1e-8, decay = 0)`.
  std::string signature() const;
};

/// All rules, in the order in which messages list them.
llvm::ArrayRef<OptimizerRule> optimizerRules();

/// The rule of that name; null if there is none.
const OptimizerRule *findOptimizerRule(llvm::StringRef name);

/// Whether a hyperparameter of the update is given, and not the constant 0.
bool isArgumentUsed(UpdateOp update, llvm::StringRef irName);

} // namespace tessera

#endif // TESSERA_IR_OPTIMIZER_OPTIMIZERRULES_H
