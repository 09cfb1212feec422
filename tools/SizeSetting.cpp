//===- SizeSetting.cpp - what sets the size of an axis of the data --------===//

#include "tools/SizeSetting.h"
#include "frontend/Frontend.h"
#include "runtime/base/DataFormat.h"

using namespace tessera;
using llvm::StringRef;

/// Of the divisors of a size, the smallest ones; a model that takes none of their multiples takes no other size.
static constexpr size_t mostUnits = 16;
static constexpr int64_t farthest = 1 << 12;

TrialOptions SizeSetting::with(int64_t size) const {
  TrialOptions options;
  for (const std::string &name : names) options.push_back({TrialOption::Set, name + "=" + std::to_string(size)});
  return options;
}

/// Divisors of `size` that are multiples of `least`, in order.
static std::vector<int64_t> unitsOf(int64_t size, int64_t least) {
  std::vector<int64_t> units;
  int64_t last = std::min(size, least * farthest);
  for (int64_t unit = least; unit <= last && units.size() < mostUnits; unit += least)
    if (size % unit == 0) units.push_back(unit);
  return units;
}

/// Whether the names set the size to `size`.
static bool reaches(Trials &trials, const SizeSetting &setting, int64_t size, std::string &problem) {
  if (size < 1) return false;
  std::optional<DataSizes> sizes = trials.sizesWith(setting.with(size), problem);
  return sizes && sizes->axes[setting.axis] == size;
}

/// Sets the smallest unit of which the model takes another multiple than its present size; false if there is none.
static bool findUnit(Trials &trials, SizeSetting &setting, int64_t least, std::string &problem) {
  for (int64_t unit : unitsOf(setting.size, least)) {
    std::string smaller; // the first message is that about the larger size
    bool isUnit = reaches(trials, setting, setting.size + unit, unit == least ? problem : smaller) ||
                  reaches(trials, setting, setting.size - unit, smaller);
    if (!isUnit) continue;
    setting.unit = unit;
    return true;
  }
  return false;
}

std::optional<SizeSetting> tessera::findSizeSetting(Trials &trials, StringRef axis, std::string &problem) {
  std::optional<DataSizes> sizes = trials.sizesWith({}, problem);
  if (!sizes) return std::nullopt;
  const std::vector<std::string> &sources = axis == data_keys::batch ? sizes->batched : sizes->sequences;
  SizeSetting setting{axis.str(), {}, sizes->axes[axis.str()], 1};
  if (sources.empty()) {
    problem = ("no data of this model have `" + axis + "`").str();
    return std::nullopt;
  }
  for (const std::string &source : sources) setting.names.push_back(source + "." + axis.str());
  int64_t least = axis == data_keys::batch ? sizes->microBatches : 1;
  std::string refusal, ignored;
  if (findUnit(trials, setting, least, refusal)) return setting;
  std::string tried = textOf(setting.with(setting.size + least));
  for (const std::string &hyper : hyperNames(trials.options().input.path)) {
    setting.names = {hyper};
    if (findUnit(trials, setting, least, ignored)) return setting;
  }
  problem = ("no option sets the size of `" + axis + "`: with " + tried + ", " + refusal +
             "; let the data alone decide the size, or one hyper")
                .str();
  return std::nullopt;
}
