//===- Target.cpp - runs of whole programs --------------------------------===//

#include "tests/random/Target.h"
#include "ir/Program.h"
#include "tests/random/RandomGraph.h"
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

FailureOr<Values> InterpreterTarget::run(StringRef entry, const Values &values) {
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

FailureOr<Trace> tessera::test::trace(Target &target, ModuleOp module, bool withSteps, unsigned draw) {
  Trace trace;
  Values state;
  auto runEntry = [&](StringRef entry, unsigned number) -> LogicalResult {
    auto function = module.lookupSymbol<func::FuncOp>(entry);
    Values values = makeInputs(function, 10 * draw + number);
    values.insert(state.begin(), state.end());
    FailureOr<Values> results = target.run(entry, values);
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
  if (failed(runEntry("evaluate", 3)) || failed(runEntry("predict", 4))) return failure();
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

namespace {
/// The rounding interpreter, with every state it returns moved by up to one unit: rounding as it might also have
/// fallen.
class JitteringInterpreter : public InterpreterTarget {
public:
  explicit JitteringInterpreter(unsigned seed) : InterpreterTarget(Rounding::Types), choices(seed) {}
  FailureOr<Values> run(StringRef entry, const Values &values) override {
    FailureOr<Values> results = InterpreterTarget::run(entry, values);
    if (failed(results)) return failure();
    for (auto &[name, value] : *results)
      if (StringRef(name).starts_with("state "))
        for (double &number : value.data) number *= 1 + choices.real(-1, 1) * unitOf(value.type.getElementType());
    return results;
  }

private:
  Choices choices;
};
} // namespace

/// The number of the run in a trace's key `ENTRY N: NAME`.
static int runNumber(StringRef key) {
  int number = 0;
  key.split(':').first.rsplit(' ').second.getAsInteger(10, number);
  return number;
}

/// Runs of the programs with roundings as they might fall.
static FailureOr<SmallVector<Trace>> sampleRoundings(ArrayRef<ModuleOp> programs, unsigned draw) {
  constexpr int samples = 4;
  SmallVector<Trace> traces;
  auto add = [&](Target &&target, ModuleOp program) {
    FailureOr<Trace> run = failure();
    if (succeeded(target.load(program)) && succeeded(run = trace(target, program, true, draw)))
      traces.push_back(std::move(*run));
    return success(succeeded(run));
  };
  for (ModuleOp program : programs) {
    if (failed(add(InterpreterTarget(Rounding::Types), program))) return failure();
    for (int seed = 0; seed < samples; ++seed)
      if (failed(add(InterpreterTarget(Rounding::Random, seed), program)) ||
          failed(add(JitteringInterpreter(seed), program)))
        return failure();
  }
  return traces;
}

FailureOr<TargetError> tessera::test::judge(Target &target, ModuleOp module, ArrayRef<ModuleOp> variants,
                                            unsigned draw) {
  // The program as it was before the passes under test says what is right; each program's rounding is measured against
  // itself, so that a pass that changes the meaning does not pass for noise.
  struct Sampled {
    Trace exact;
    SmallVector<Trace> rounded;
  };
  SmallVector<Sampled> samples;
  SmallVector<ModuleOp> programs(variants);
  programs.push_back(module);
  for (ModuleOp program : programs) {
    InterpreterTarget interpreter(Rounding::Double);
    FailureOr<Trace> exact = failure();
    if (failed(interpreter.load(program)) || failed(exact = trace(interpreter, program, true, draw))) return failure();
    FailureOr<SmallVector<Trace>> rounded = sampleRoundings(program, draw);
    if (failed(rounded)) return failure();
    samples.push_back({std::move(*exact), std::move(*rounded)});
  }
  FailureOr<Trace> got = failure();
  if (failed(target.load(module)) || failed(got = trace(target, module, true, draw))) return failure();

  std::optional<TargetError> worst;
  auto rank = [](const TargetError &error) { // what is wrong first comes before what follows from it
    double ratio = error.error / std::max(4 * error.rounding + error.floor, 1e-300);
    return error.isAccepted() ? std::pair(-1000, ratio) : std::pair(-runNumber(error.tensor), ratio);
  };
  for (auto &[name, value] : samples.front().exact) {
    auto it = got->find(name);
    if (it == got->end()) return TargetError{name + " is missing", std::numeric_limits<double>::infinity(), 0, 0};
    TargetError error{name, maxDifference(value, it->second), 0,
                      4 * unitOf(value.type.getElementType()) * maxNorm(value), maxNorm(value)};
    for (Sampled &sample : samples)
      for (Trace &run : sample.rounded)
        error.rounding = std::max(error.rounding, maxDifference(sample.exact[name], run[name]));
    if (!worst || rank(error) > rank(*worst)) worst = error;
  }
  return *worst;
}
