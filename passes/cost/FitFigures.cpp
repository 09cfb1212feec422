//===- FitFigures.cpp - figures of a device from measured times -----------===//

#include "passes/cost/FitFigures.h"
#include "ir/program/DeviceFields.h"
#include <cmath>
#include <map>

using namespace mlir;
using namespace tessera;

/// By how much the time of a call differs from a perfect model's, and that of a whole program.
static constexpr double callError = 0.05, programError = 0.02;
/// Residuals beyond this many times their expected size count linearly, not by their square.
static constexpr double outlier = 2;
/// A call counts in full from this share of a step on.
static constexpr double fullShare = 0.01;
static constexpr int mostRounds = 60;

/// How far the logarithm of a figure is expected from its first value; none: it is no figure of speed.
static std::optional<double> spreadOf(StringRef key) {
  if (key.starts_with("thread_")) return std::nullopt; // measured otherwise
  if (key.starts_with("gemm.")) return key.ends_with(".speed") ? 0.1 : 1.0;
  FieldKey found = findDeviceField(key);
  if (!found.field) return std::nullopt;
  switch (found.field->unit) {
  case DeviceUnit::Rate:
    return 0.2;
  case DeviceUnit::Bandwidth:
    return 0.5;
  case DeviceUnit::Time:
    return 0.8;
  default:
    return std::nullopt;
  }
}

namespace {

class Fit {
public:
  Fit(CostModel &model, ArrayRef<TimedCall> calls, double freedom);
  void run();
  FitResult result() const;

private:
  using Vector = std::vector<double>;

  size_t figures() const { return keys.size(); }
  size_t unknowns() const { return keys.size() + programs; }
  void enter(const Vector &x) {
    for (size_t i = 0; i < figures(); ++i) model.set(keys[i], std::exp(x[i]));
  }
  double residual(const Vector &x, size_t call) const;
  double weightOf(size_t call) const { return std::sqrt(std::min(1.0, calls[call].share / fullShare)) / callError; }
  double costOf(const Vector &x);
  /// The normal equations at x, and their right side.
  void linearize(const Vector &x, std::vector<Vector> &matrix, Vector &gradient);

  CostModel &model;
  ArrayRef<TimedCall> calls;
  std::vector<std::string> keys;
  std::vector<std::vector<size_t>> used; ///< by call: the figures that its time depends on
  Vector x, first, spread;
  size_t programs = 0;
};

} // namespace

Fit::Fit(CostModel &model, ArrayRef<TimedCall> calls, double freedom) : model(model), calls(calls) {
  std::map<std::string, size_t> numbers;
  for (const TimedCall &call : calls) {
    programs = std::max<size_t>(programs, call.program + 1);
    for (const std::string &key : model.figuresOf(call.work))
      if (spreadOf(key)) numbers[key] = 0;
  }
  for (auto &[key, number] : numbers) {
    number = keys.size();
    keys.push_back(key);
    x.push_back(std::log(std::max(model.get(key), 1e-15)));
    spread.push_back(freedom * *spreadOf(key));
  }
  for (const TimedCall &call : calls) {
    std::vector<size_t> &own = used.emplace_back();
    for (const std::string &key : model.figuresOf(call.work))
      if (auto found = numbers.find(key); found != numbers.end()) own.push_back(found->second);
  }
  x.resize(unknowns(), 0);
  spread.resize(unknowns(), programError);
  first = x;
}

double Fit::residual(const Vector &x, size_t call) const {
  double predicted = std::log(model.secondsOf(calls[call].work)) + x[figures() + calls[call].program];
  return weightOf(call) * (predicted - std::log(calls[call].seconds));
}

/// Huber's function of a residual: half its square, or linear for outliers.
static double lossOf(double residual) {
  double size = std::abs(residual);
  return size <= outlier ? size * size / 2 : outlier * (size - outlier / 2);
}

double Fit::costOf(const Vector &x) {
  enter(x);
  double cost = 0;
  for (size_t call = 0; call < calls.size(); ++call) cost += lossOf(residual(x, call));
  for (size_t i = 0; i < unknowns(); ++i) cost += std::pow((x[i] - first[i]) / spread[i], 2) / 2;
  return cost;
}

void Fit::linearize(const Vector &x, std::vector<Vector> &matrix, Vector &gradient) {
  constexpr double step = 1e-4;
  matrix.assign(unknowns(), Vector(unknowns(), 0));
  gradient.assign(unknowns(), 0);
  enter(x);
  for (size_t call = 0; call < calls.size(); ++call) {
    double value = residual(x, call);
    std::vector<std::pair<size_t, double>> slopes{{figures() + calls[call].program, weightOf(call)}};
    for (size_t i : used[call]) {
      model.set(keys[i], std::exp(x[i] + step));
      slopes.push_back({i, (residual(x, call) - value) / step});
      model.set(keys[i], std::exp(x[i]));
    }
    double trust = std::abs(value) <= outlier ? 1 : outlier / std::abs(value);
    for (auto [i, slope] : slopes) {
      gradient[i] -= trust * slope * value;
      for (auto [j, other] : slopes) matrix[i][j] += trust * slope * other;
    }
  }
  for (size_t i = 0; i < unknowns(); ++i) {
    double precision = 1 / (spread[i] * spread[i]);
    matrix[i][i] += precision;
    gradient[i] -= precision * (x[i] - first[i]);
  }
}

/// Solves a · x = b for a symmetric positive definite a by Cholesky's decomposition; both are overwritten.
static void solve(std::vector<std::vector<double>> &a, std::vector<double> &b) {
  size_t n = b.size();
  for (size_t j = 0; j < n; ++j) {
    for (size_t k = 0; k < j; ++k) a[j][j] -= a[j][k] * a[j][k];
    a[j][j] = std::sqrt(a[j][j]);
    for (size_t i = j + 1; i < n; ++i) {
      for (size_t k = 0; k < j; ++k) a[i][j] -= a[i][k] * a[j][k];
      a[i][j] /= a[j][j];
    }
  }
  for (size_t i = 0; i < n; ++i) {
    for (size_t k = 0; k < i; ++k) b[i] -= a[i][k] * b[k];
    b[i] /= a[i][i];
  }
  for (size_t i = n; i-- > 0;) {
    for (size_t k = i + 1; k < n; ++k) b[i] -= a[k][i] * b[k];
    b[i] /= a[i][i];
  }
}

void Fit::run() {
  double damping = 1e-2, cost = costOf(x);
  for (int round = 0; round < mostRounds; ++round) {
    std::vector<Vector> matrix;
    Vector change;
    linearize(x, matrix, change);
    for (size_t i = 0; i < unknowns(); ++i) matrix[i][i] *= 1 + damping;
    solve(matrix, change);
    Vector next = x;
    for (size_t i = 0; i < unknowns(); ++i) next[i] += std::clamp(change[i], -1.0, 1.0);
    double nextCost = costOf(next);
    if (nextCost < cost) {
      bool isDone = cost - nextCost < 1e-6 * cost;
      x = next, cost = nextCost, damping = std::max(damping / 5, 1e-9);
      if (isDone) break;
    } else if ((damping *= 5) > 1e9) {
      break;
    }
  }
  enter(x);
}

FitResult Fit::result() const {
  FitResult result;
  result.keys = keys;
  std::map<unsigned, std::pair<double, double>> sums; // by program: predicted and measured
  for (const TimedCall &call : calls) {
    double times = call.share / call.seconds; // in proportion to the number of calls
    sums[call.program].first += times * model.secondsOf(call.work);
    sums[call.program].second += times * call.seconds;
  }
  std::vector<double> errors;
  for (const auto &[program, sum] : sums) {
    result.ratios.push_back(sum.first / sum.second);
    errors.push_back(std::abs(result.ratios.back() - 1));
  }
  llvm::sort(errors);
  if (errors.empty()) return result;
  result.medianError = errors[errors.size() / 2], result.largestError = errors.back();
  return result;
}

FitResult tessera::fitFigures(CostModel &model, ArrayRef<TimedCall> calls, double freedom) {
  Fit fit(model, calls, freedom);
  fit.run();
  return fit.result();
}
