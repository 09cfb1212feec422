//===- Runner.cpp - runs of whole programs --------------------------------===//

#include "tests/differential/Runner.h"
#include "ir/program/Program.h"
#include "tests/differential/RandomGraph.h"
#include "tests/support/TensorBytes.h"
#include <cmath>
#include <limits>

using namespace mlir;
using namespace tessera;
using namespace tessera::test;

/// The user's name in a tag `tsr.input` or `tsr.output`.
static std::string taggedName(StringRef kind, DictionaryAttr tag) {
  auto name = tag ? tag.getAs<StringAttr>("name") : StringAttr();
  return (kind + " " + (name ? name.getValue() : "?")).str();
}

std::string tessera::test::argumentName(func::FuncOp entry, unsigned i) {
  StringRef state = argumentState(entry, i);
  return state.empty() ? taggedName("input", entry.getArgAttrOfType<DictionaryAttr>(i, attrs::input))
                       : ("state " + state).str();
}

std::string tessera::test::resultName(func::FuncOp entry, unsigned i) {
  StringRef state = resultState(entry, i);
  return state.empty() ? taggedName("output", entry.getResultAttrOfType<DictionaryAttr>(i, attrs::output))
                       : ("state " + state).str();
}

FailureOr<Values> InterpreterRunner::run(StringRef entry, const Values &values) {
  auto function = module.lookupSymbol<func::FuncOp>(entry);
  SmallVector<TensorValue> arguments;
  for (unsigned i = 0; i < function.getNumArguments(); ++i) {
    auto it = values.find(argumentName(function, i));
    if (it == values.end()) return function.emitError("no value for argument ") << argumentName(function, i);
    arguments.push_back(it->second);
    if (arguments.back().type.getRank() != cast<NamedTensorType>(function.getArgumentTypes()[i]).getRank())
      return function.emitError("wrong axes for argument ") << argumentName(function, i);
  }
  auto results = interpreter.run(function, arguments);
  if (failed(results)) return failure();
  Values named;
  for (unsigned i = 0; i < function.getNumResults(); ++i) named[resultName(function, i)] = (*results)[i];
  return named;
}

FailureOr<Trace> tessera::test::trace(Runner &runner, ModuleOp module, bool withSteps, unsigned draw) {
  Trace trace;
  Values state;
  auto runEntry = [&](StringRef entry, unsigned number) -> LogicalResult {
    auto function = module.lookupSymbol<func::FuncOp>(entry);
    Values values = makeInputs(function, 10 * draw + number);
    values.insert(state.begin(), state.end());
    FailureOr<Values> results = runner.run(entry, values);
    if (failed(results)) return failure();
    for (auto &[name, value] : *results) {
      trace[(entry + " " + Twine(number) + ": " + name).str()] = value;
      if (StringRef(name).starts_with("state ")) state[name] = value;
    }
    return success();
  };
  if (failed(runEntry("init", 0))) return failure();
  for (unsigned number = 1; withSteps && number <= 2; ++number)
    if (failed(runEntry("step", number))) return failure();
  unsigned number = 3;
  for (StringRef entry : {"evaluate", "predict", "generate"}) {
    if (module.lookupSymbol(entry) && failed(runEntry(entry, number))) return failure();
    ++number;
  }
  return trace;
}

double tessera::test::maxNorm(const TensorValue &value) {
  double norm = 0;
  for (double number : value.data)
    if (!std::isnan(number)) norm = std::max(norm, std::abs(number));
  return norm;
}

double tessera::test::maxDifference(const TensorValue &a, const TensorValue &b) {
  TensorValue same = b.reordered(a.type);
  double largest = 0;
  for (auto [x, y] : llvm::zip(a.data, same.data)) {
    if (x == y || (std::isnan(x) && std::isnan(y))) continue;
    double difference = std::abs(x - y);
    largest = std::max(largest, std::isnan(difference) ? std::numeric_limits<double>::infinity() : difference);
  }
  return largest;
}

/// Distance from 1 to the next number of the type.
static double unitOf(Type elementType) {
  auto type = dyn_cast<FloatType>(elementType);
  return type ? std::ldexp(1.0, 1 - static_cast<int>(type.getFPMantissaWidth())) : 0;
}

/// The number of the run in a trace's key `ENTRY N: NAME`.
static int runNumber(StringRef key) {
  int number = 0;
  key.split(':').first.rsplit(' ').second.getAsInteger(10, number);
  return number;
}

namespace {
/// How far a program's own rounding takes it from what it computes exactly.
class RoundingSamples {
public:
  RoundingSamples(ModuleOp program, unsigned draw) : program(program), draw(draw) {}

  LogicalResult computeExact() { return run(Rounding::Double, 0, exact); }
  /// Runs the program once more with every result rounded to nearest in its own type. Random rounding almost never
  /// cancels two terms to exactly 0, as this does, and what compares with 0 (the maximum of an fp8 operand) tells.
  LogicalResult addNearest() { return add(Rounding::Types, 0); }
  /// Runs the program once more with roundings drawn from `seed`.
  LogicalResult addRandom(unsigned seed) { return add(Rounding::Coarse, seed); }
  double error(const std::string &name) const {
    auto it = errors.find(name);
    return it == errors.end() ? 0 : it->second;
  }
  const Trace &getExact() const { return exact; }

private:
  LogicalResult add(Rounding rounding, unsigned seed) {
    Trace rounded;
    if (failed(run(rounding, seed, rounded))) return failure();
    for (auto &[name, value] : rounded) {
      double &largest = errors[name];
      largest = std::max(largest, maxDifference(exact[name], value));
    }
    return success();
  }

  LogicalResult run(Rounding rounding, unsigned seed, Trace &result) {
    InterpreterRunner interpreter(rounding, seed);
    if (failed(interpreter.load(program))) return failure();
    FailureOr<Trace> run = trace(interpreter, program, true, draw);
    if (succeeded(run)) result = std::move(*run);
    return success(succeeded(run));
  }

  ModuleOp program;
  unsigned draw;
  Trace exact;
  std::map<std::string, double> errors;
};
} // namespace

/// The tensor of `got` that is furthest from what is allowed; of those refused, one of the first run that has any,
/// since what is wrong there makes wrong what follows.
static RunnerError findWorst(const Trace &got, ArrayRef<RoundingSamples> samples) {
  std::optional<RunnerError> worst;
  auto rank = [](const RunnerError &error) {
    double ratio = error.error / std::max(error.allowed(), 1e-300);
    return error.isAccepted() ? std::pair(-1000, ratio) : std::pair(-runNumber(error.tensor), ratio);
  };
  for (auto &[name, value] : samples.front().getExact()) {
    auto it = got.find(name);
    if (it == got.end()) return RunnerError{name + " is missing", std::numeric_limits<double>::infinity()};
    RunnerError error{name, maxDifference(value, it->second), 0,
                      4 * unitOf(value.type.getElementType()) * maxNorm(value), maxNorm(value)};
    for (const RoundingSamples &program : samples) error.rounding = std::max(error.rounding, program.error(name));
    if (!worst || rank(error) > rank(*worst)) worst = error;
  }
  return *worst;
}

FailureOr<RunnerError> tessera::test::judge(Runner &runner, ModuleOp module, ArrayRef<ModuleOp> variants,
                                            unsigned draw) {
  // The program as it was before the passes under test says what is right; each program's rounding is measured against
  // itself, so that a pass that changes the meaning does not pass for noise.
  SmallVector<RoundingSamples> samples;
  for (ModuleOp variant : variants) samples.emplace_back(variant, draw);
  samples.emplace_back(module, draw);
  for (RoundingSamples &program : samples)
    if (failed(program.computeExact()) || failed(program.addNearest())) return failure();
  FailureOr<Trace> got = failure();
  if (failed(runner.load(module)) || failed(got = trace(runner, module, true, draw))) return failure();

  // A few samples accept most programs. Where a number lies near a kink, it takes many until one falls on the other
  // side of it, too.
  constexpr unsigned few = 4, many = 64;
  for (unsigned seed = 0;; ++seed) {
    for (RoundingSamples &program : samples)
      if (failed(program.addRandom(seed))) return failure();
    if (seed + 1 < few) continue;
    RunnerError worst = findWorst(*got, samples);
    if (worst.isAccepted() || seed + 1 == many) return worst;
  }
}

LogicalResult test::storeArguments(func::FuncOp entry, const Values &values,
                                   llvm::function_ref<char *(int64_t)> arena) {
  for (unsigned i = 0; i < entry.getNumArguments(); ++i) {
    auto it = values.find(argumentName(entry, i));
    if (it == values.end()) return entry.emitError("no value for argument ") << argumentName(entry, i);
    auto place = entry.getArgAttrOfType<PlaceAttr>(i, attrs::place);
    storeTensor(it->second, tensorType(entry.getArgument(i)), arena(place.getOffset()));
  }
  return success();
}

Values test::fetchResults(func::FuncOp entry, llvm::function_ref<char *(int64_t)> arena) {
  Values results;
  for (unsigned i = 0; i < entry.getNumResults(); ++i) {
    auto place = entry.getResultAttrOfType<PlaceAttr>(i, attrs::place);
    results[resultName(entry, i)] =
        fetchTensor(cast<NamedTensorType>(entry.getResultTypes()[i]), arena(place.getOffset()));
  }
  return results;
}
