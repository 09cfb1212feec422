//===- Settings.cpp - settings that need no recompilation -----------------===//

#include "runtime/train/Settings.h"

#include "runtime/base/Error.h"
#include "runtime/base/NearestWord.h"

#include <algorithm>

namespace tessera::runtime {

/// Settings of every program, whether its model file mentions them or not.
static const Json &builtinSettings() {
  static const Json settings = {{"evaluate", {{"every", 0}, {"on", "val"}, {"batches", 0}}},
                                {"save", {{"every", 0}, {"keep", 0}, {"minutes", 0.0}, {"best", ""}}},
                                {"stop", {{"after", 0}, {"patience", 0}}}};
  return settings;
}

static void collectNames(const Json &json, const std::string &prefix, std::vector<std::string> &names) {
  for (const auto &[key, value] : json.items()) {
    if (value.is_object())
      collectNames(value, prefix + key + ".", names);
    else
      names.push_back(prefix + key);
  }
}

static Json::json_pointer pointerTo(const std::string &name) {
  std::string path = "/" + name;
  std::replace(path.begin(), path.end(), '.', '/');
  return Json::json_pointer(path);
}

const Json *Settings::find(const std::string &name) const {
  Json::json_pointer pointer = pointerTo(name);
  return values.contains(pointer) && !values.at(pointer).is_null() ? &values.at(pointer) : nullptr;
}

void Settings::set(const std::string &assignment) {
  size_t equals = assignment.find('=');
  if (equals == std::string::npos) failUsage("--set {}: expected NAME=VALUE", assignment);
  std::string name = assignment.substr(0, equals), text = assignment.substr(equals + 1);
  if (name == "compute" || name.starts_with("compute."))
    failUsage("--set {}: the program was compiled for one precision; compile again with --precision", assignment);
  std::vector<std::string> names;
  collectNames(builtinSettings(), "", names);
  collectNames(values, "", names);
  if (std::find(names.begin(), names.end(), name) == names.end()) {
    std::string nearest = nearestWord(name, names);
    failUsage("--set {}: this program has no setting '{}'{}; what affects shapes is set when compiling", assignment,
              name, nearest.empty() ? "" : fmt::format(", did you mean '{}'?", nearest));
  }
  Json value = Json::parse(text, nullptr, /*allow_exceptions=*/false);
  if (value.is_discarded() || value.is_structured()) value = text;
  Json::json_pointer pointer = pointerTo(name);
  const Json &like = builtinSettings().contains(pointer) ? builtinSettings().at(pointer) : *find(name);
  if (like.is_number() != value.is_number() || (like.is_number_integer() && !value.is_number_integer()))
    failUsage("--set {}: expected {} as in {}", assignment,
              like.is_number_integer() ? "a whole number" : like.type_name(), dumpJson(like));
  if (value.is_number_unsigned() && value.get<uint64_t>() > static_cast<uint64_t>(INT64_MAX))
    failUsage("--set {}: expected a whole number of at most {}", assignment, INT64_MAX);
  if (name == "evaluate.on" && value != "val" && value != "train")
    failUsage("--set {}: expected val or train", assignment);
  if (value.is_number() && value.get<double>() < 0) failUsage("--set {}: expected a value of at least 0", assignment);
  int64_t count = 0;
  if (name == "evaluate.batches" && __builtin_mul_overflow(value.get<int64_t>(), microBatches, &count))
    failUsage("--set {}: too many batches", assignment);
  values[pointer] = name == "evaluate.batches" ? Json(count) : value;
}

int64_t Settings::integer(const std::string &name, int64_t missing) const {
  const Json *value = find(name);
  return value && value->is_number() ? value->get<int64_t>() : missing;
}

double Settings::real(const std::string &name, double missing) const {
  const Json *value = find(name);
  return value && value->is_number() ? value->get<double>() : missing;
}

std::string Settings::text(const std::string &name, const std::string &missing) const {
  const Json *value = find(name);
  return value && value->is_string() ? value->get<std::string>() : missing;
}

} // namespace tessera::runtime
