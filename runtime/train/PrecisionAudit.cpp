//===- PrecisionAudit.cpp - compares a reduced-precision step with f32 ----===//

#include "runtime/train/PrecisionAudit.h"
#include "runtime/base/LowPrecision.h"
#include "runtime/data/BatchLoader.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <map>

namespace tessera::runtime {

static constexpr int64_t samplesOfResult = 512;
static constexpr size_t rowsOfTable = 20;

namespace {
class PrecisionAudit {
public:
  explicit PrecisionAudit(const char *arena) : arena(arena) {}

  /// Called before those of `shadow`, and between those and the calls of `step`. `lossScale`: that of the step, or 1.
  void beginStep(double lossScale);
  void endShadow() { seen.clear(); }
  void seeShadow(const TracedCall &step, const std::vector<int64_t> &turns);
  void seeStep(const TracedCall &step, const std::vector<int64_t> &turns);

  /// A table of the results with the largest errors, in descending order, and the number of results.
  std::string table() const;

private:
  struct Row {
    std::string name, sources, type;
    double error = 0;  ///< the largest one: norm of the difference over the norm, of the samples
    std::string where; ///< the iteration indices of the loops around it
    int64_t count = 0;
  };
  std::string keyOf(const TracedCall::Result &result, const std::vector<int64_t> &turns);
  std::vector<double> sample(const TracedCall::Result &result, const std::vector<int64_t> &turns) const;

  const char *arena;
  double scale = 1;
  std::map<std::string, int> seen; ///< in this run of the entry function
  std::map<std::string, std::vector<double>> reference;
  std::map<std::string, Row> rows;
};
} // namespace

static double numberAt(ElementType type, const char *address) {
  auto read = [&](auto number) {
    memcpy(&number, address, sizeof(number));
    return number;
  };
  switch (type) {
  case ElementType::F64:
    return read(double());
  case ElementType::F32:
    return read(float());
  case ElementType::F16:
    return fromF16(read(uint16_t()));
  case ElementType::BF16:
    return fromBf16(read(uint16_t()));
  case ElementType::E4M3:
  case ElementType::E5M2:
  case ElementType::I32:
  case ElementType::I64:
  case ElementType::I1:
  case ElementType::U8:
    break;
  }
  fail("a precision audit does not compare values of type {}", elementTypeName(type));
}

/// Samples at positions that depend on the axes' names and sizes only, so that they agree for any memory order.
std::vector<double> PrecisionAudit::sample(const TracedCall::Result &result, const std::vector<int64_t> &turns) const {
  std::vector<std::pair<AxisSpec, int64_t>> axes; // with strides, by name
  std::vector<int64_t> strides = result.elementStrides();
  for (size_t i = result.axes.size(); i-- > 0;) axes.push_back({result.axes[i], strides[i]});
  std::sort(axes.begin(), axes.end(), [](auto &a, auto &b) { return a.first.name < b.first.name; });
  const char *start = arena + result.offsetAt(turns);
  int64_t count = result.count(), taken = std::min(count, samplesOfResult);
  std::vector<double> numbers;
  for (int64_t i = 0; i < taken; ++i) {
    // Every n-th element in the order of the names, with offsets that avoid sampling one column only.
    auto rest = static_cast<int64_t>((static_cast<__int128>(i) * count / taken + i * 7919 % (count / taken)) % count);
    int64_t offset = 0;
    for (size_t axis = axes.size(); axis-- > 0;) {
      offset += rest % axes[axis].first.size * axes[axis].second;
      rest /= axes[axis].first.size;
    }
    numbers.push_back(numberAt(result.type, start + offset * bytesOf(result.type)));
  }
  return numbers;
}

static std::string lineOf(const TracedCall::Result &result) {
  return result.from.empty() ? "" : result.from.back().second;
}

/// Results with neither name nor line (the norm, scales) cannot be matched, and the f32 step has no fp8 values.
static bool isComparable(const TracedCall::Result &result) {
  return isFloat(result.type) && !isFp8(result.type) && !result.mayBeInfinite &&
         !(result.name.empty() && lineOf(result).empty());
}

/// The key that matches a result in both entry functions: names, lines, axes, and an index among equal ones.
std::string PrecisionAudit::keyOf(const TracedCall::Result &result, const std::vector<int64_t> &turns) {
  std::vector<std::string> axes;
  for (const AxisSpec &axis : result.axes) axes.push_back(fmt::format("{}:{}", axis.name, axis.size));
  std::sort(axes.begin(), axes.end());
  std::string key = fmt::format("{}|{}|{}|{}|{}", result.name, result.op, lineOf(result), fmt::join(axes, ","),
                                fmt::join(turns, ","));
  return fmt::format("{}|{}", key, seen[key]++);
}

void PrecisionAudit::beginStep(double lossScale) {
  scale = lossScale;
  seen.clear();
  reference.clear();
}

void PrecisionAudit::seeShadow(const TracedCall &step, const std::vector<int64_t> &turns) {
  for (const TracedCall::Result &result : step.results)
    if (isComparable(result)) reference[keyOf(result, turns)] = sample(result, turns);
}

void PrecisionAudit::seeStep(const TracedCall &step, const std::vector<int64_t> &turns) {
  for (const TracedCall::Result &result : step.results) {
    if (!isComparable(result)) continue;
    auto found = reference.find(keyOf(result, turns));
    if (found == reference.end()) continue;
    std::vector<double> numbers = sample(result, turns);
    // Gradients are scaled by the loss scale, sums of their squares by its square, other values not at all; the
    // samples show which.
    double norm = 0, differences[3] = {};
    for (size_t i = 0; i < numbers.size(); ++i) {
      double expected = found->second[i], factor = 1;
      norm += expected * expected;
      for (double &difference : differences) {
        double error = numbers[i] / factor - expected;
        difference += error * error, factor *= scale;
      }
    }
    if (!(norm > 0)) continue;
    double error = std::sqrt(*std::min_element(std::begin(differences), std::end(differences)) / norm);
    std::string type = elementTypeName(result.type);
    Row &row = rows[fmt::format("{}|{}|{}", result.name, describeSources(result.from), type)];
    ++row.count;
    if (row.count > 1 && !(error > row.error)) continue;
    row = {result.name, describeSources(result.from), type, error, fmt::format("{}", fmt::join(turns, ", ")),
           row.count};
  }
}

std::string PrecisionAudit::table() const {
  std::vector<const Row *> sorted;
  int64_t compared = 0;
  for (auto &[key, row] : rows) sorted.push_back(&row), compared += row.count;
  std::stable_sort(sorted.begin(), sorted.end(), [](const Row *a, const Row *b) { return a->error > b->error; });
  std::string text = fmt::format("{:>9}  {:5}  {:28}  {:8}  {}\n", "error", "type", "value", "layer", "made by");
  for (size_t i = 0; i < std::min(rowsOfTable, sorted.size()); ++i)
    text += fmt::format("{:9.2e}  {:5}  {:28}  {:8}  {}\n", sorted[i]->error, sorted[i]->type,
                        sorted[i]->name.empty() ? "-" : sorted[i]->name,
                        sorted[i]->where.empty() ? "-" : sorted[i]->where, sorted[i]->sources);
  text += fmt::format("{} results compared with f32; an error is the norm of the difference by the norm", compared);
  return text;
}

void requireShadow(const Manifest &manifest) {
  if (!manifest.hasEntry("shadow"))
    fail("this program has no step in f32 to compare with; compile it with --audit-precision and a low-precision "
         "type, such as --precision bf16");
}

std::string auditPrecision(LoadedProgram &program, const DataSet &set, uint64_t seed, int64_t position, int64_t steps) {
  const Manifest &manifest = program.manifest();
  requireShadow(manifest);
  const EntryFunction &step = manifest.entry("step"), &shadow = manifest.entry("shadow");
  BatchLoader loader(set, seed, position);
  PrecisionAudit audit(program.at(0));
  for (int64_t number = 0; number < steps; ++number) {
    loader.takeInto(program.at(0));
    // The entry functions share memory: the batch is copied before the first of them runs.
    std::map<std::string, std::vector<char>> batch;
    for (const ValueSpec &input : step.inputs)
      if (input.role == "data")
        batch[input.name].assign(program.at(input.offset), program.at(input.offset) + input.bytes);
    auto give = [&](const EntryFunction &function) {
      for (const ValueSpec &input : function.inputs)
        if (input.role == "data") memcpy(program.at(input.offset), batch.at(input.name).data(), input.bytes);
    };
    const StateEntry *scale = manifest.stateAt("loss_scale");
    float lossScale = 1;
    if (scale) program.pullState(*scale);
    if (scale) memcpy(&lossScale, program.at(scale->offset), sizeof(lossScale));
    audit.beginStep(lossScale);
    give(shadow);
    program.callObserved("shadow", [&](auto &call, auto &turns) { audit.seeShadow(call, turns); });
    audit.endShadow();
    give(step);
    program.callObserved("step", [&](auto &call, auto &turns) { audit.seeStep(call, turns); });
  }
  return fmt::format("{} steps beside the same in f32:\n{}", steps, audit.table());
}

} // namespace tessera::runtime
