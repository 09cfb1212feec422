//===- Runner.h - what runs a program -------------------------------------===//

#ifndef TESSERA_TESTS_DIFFERENTIAL_RUNNER_H
#define TESSERA_TESTS_DIFFERENTIAL_RUNNER_H

#include "ir/interpreter/Interpreter.h"
#include <map>

namespace tessera::test {

/// Tensors by name: `state PATH`, `input NAME`, `output NAME`.
using Values = std::map<std::string, TensorValue>;

/// The names of an entry function's arguments and results.
std::string argumentName(mlir::func::FuncOp entry, unsigned argument);
std::string resultName(mlir::func::FuncOp entry, unsigned result);

/// Puts an entry function's arguments where a scheduled module says that they lie; an error on it if a value lacks.
/// `arena`: the address of a byte of the arena.
llvm::LogicalResult storeArguments(mlir::func::FuncOp entry, const Values &values,
                                   llvm::function_ref<char *(int64_t)> arena);
/// Its results, from where they lie.
Values fetchResults(mlir::func::FuncOp entry, llvm::function_ref<char *(int64_t)> arena);

/// Something that runs the entry functions of a module: the interpreter, or the code of a back end.
class Runner {
public:
  virtual ~Runner() = default;
  virtual llvm::StringRef getName() const = 0;
  /// Takes a module in the phase that the runner needs; it outlives the runs.
  virtual llvm::LogicalResult load(mlir::ModuleOp module) = 0;
  /// Runs an entry function; `values` has at least what it takes. Returns what it returns, axes in any order.
  virtual llvm::FailureOr<Values> run(llvm::StringRef entry, const Values &values) = 0;
};

/// Runs the reference interpreter.
class InterpreterRunner : public Runner {
public:
  explicit InterpreterRunner(Rounding rounding, uint64_t seed = 0) : rounding(rounding), interpreter(rounding, seed) {}
  llvm::StringRef getName() const override {
    return rounding == Rounding::Double ? "interpreter" : "rounding interpreter";
  }
  llvm::LogicalResult load(mlir::ModuleOp loaded) override {
    module = loaded;
    return llvm::success();
  }
  llvm::FailureOr<Values> run(llvm::StringRef entry, const Values &values) override;
  /// Records or replays what `tsr.stop` returns.
  void setStops(StopTape *tape) { interpreter.setStops(tape); }

private:
  Rounding rounding;
  Interpreter interpreter;
  mlir::ModuleOp module;
};

/// Results of a run of a whole program: `init`, some steps, `evaluate`, `predict`, `generate`. Keys are
/// `ENTRY N: NAME`.
using Trace = std::map<std::string, TensorValue>;

/// Runs the entry functions one after the other, feeding state back. Without `withSteps` no `step` is run.
llvm::FailureOr<Trace> trace(Runner &runner, mlir::ModuleOp module, bool withSteps, unsigned draw = 0);

/// Largest absolute value and largest difference of two tensors with the same axes in some order. NaNs are equal to
/// each other and infinitely far from anything else.
double maxNorm(const TensorValue &value);
double maxDifference(const TensorValue &a, const TensorValue &b);

/// How a runner is judged on a tensor: by its error, and the error that rounding causes in the interpreter, both in the
/// largest absolute difference from the interpreter in f64. Rounding is sampled with all values held with two mantissa
/// bits less than their types have (`Rounding::Coarse`, so about four times the error of the type's own rounding where
/// errors grow linearly, and as much as they grow where they do not), and once with the type's own rounding to nearest.
/// `floor` is 4 units in the last place of the tensor's largest element.
struct RunnerError {
  std::string tensor;
  double error = 0, rounding = 0, floor = 0, norm = 0;
  double allowed() const { return rounding + floor; }
  bool isAccepted() const { return error <= allowed(); }
};

/// Runs a program with a runner and returns the worst tensor by `error / allowed`, of the first run in which one is
/// refused. `module` is in the phase that the runner needs; `variants` are the same program in other phases: the first
/// says what is right, and the rounding of all of them counts, since one order of operations may be exact by luck.
llvm::FailureOr<RunnerError> judge(Runner &runner, mlir::ModuleOp module, llvm::ArrayRef<mlir::ModuleOp> variants,
                                   unsigned draw = 0);

} // namespace tessera::test

#endif // TESSERA_TESTS_DIFFERENTIAL_RUNNER_H
