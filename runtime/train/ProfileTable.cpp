//===- ProfileTable.cpp - where the time of a step goes, as text ----------===//

#include "runtime/train/ProfileTable.h"

#include <algorithm>
#include <map>

namespace tessera::runtime {

namespace {
/// All calls of one kernel, contraction, exchange or kind of copy in a step.
struct ProfileRow {
  std::string name, of, line;
  int64_t calls = 0;
  double seconds = 0;
  std::optional<double> predicted; ///< seconds
  double flops = 0, bytes = 0;     ///< of all calls; of exchanges the bytes that a rank receives
  bool contracts = false;          ///< the operations are multiply-adds
  bool isExchange = false;         ///< with other ranks
  std::string type = "f32";        ///< of the operands of multiply-adds; another one if any are of another one
};
} // namespace

/// Rows below this share of the step are added up in one.
static constexpr double leastShare = 0.002;

/// Of less time the clock says little: it is read twice for each call.
static constexpr double shortestTimed = 1e-6;

/// The type of the operands of multiply-adds that is not f32, if there is one.
static std::string operandType(const Json &json) {
  if (json.contains("work") && json["work"].is_object())
    for (const Json &multiply : json["work"].value("multiplies", Json::array()))
      if (std::string type = multiply.value("type", "f32"); type != "f32") return type;
  return "f32";
}

static ProfileRow readRow(const Json &json) {
  std::string kind = json.at("kind");
  ProfileRow row;
  row.name = json.value("name", "");
  if (row.name.starts_with("tsr_kernel_")) row.name = row.name.substr(std::string_view("tsr_kernel_").size());
  row.of = json.value("of", "");
  row.line = json.value("at", "");
  row.calls = json.at("calls");
  row.seconds = json.at("seconds");
  if (json.contains("predicted")) row.predicted = json["predicted"].get<double>();
  row.flops = json.at("flops").get<double>() * static_cast<double>(row.calls);
  row.bytes = (json.at("read").get<double>() + json.at("written").get<double>()) * static_cast<double>(row.calls);
  row.isExchange = kind == "exchange";
  if (row.isExchange) row.bytes = json.at("received").get<double>() * static_cast<double>(row.calls);
  row.contracts = kind == "contraction" || json.value("contracts", false);
  row.type = operandType(json);
  if (row.of.empty()) row.of = kind == "contraction" ? "contraction" : "";
  return row;
}

/// "my model.tsr:31" of "my model.tsr:31:7 and 2 other places".
static std::string lineWithoutColumn(const std::string &place) {
  size_t end = place.ends_with(" other places") ? place.rfind(" and ") : place.size();
  return place.substr(0, place.substr(0, end).rfind(':'));
}

/// Whether the row's operations are those whose rate was measured.
static bool isOfMeasuredRate(const ProfileRow &row) { return row.contracts && row.type == "f32"; }

/// The rates of this machine, and of multiply-adds the row that was faster than the measurement, if one was: other work
/// may have slowed that down, but the machine has reached what a row of the profile did.
static MachineLimits reached(MachineLimits limits, const std::vector<ProfileRow> &rows, const ProfileRow *&faster) {
  faster = nullptr;
  for (const ProfileRow &row : rows)
    if (isOfMeasuredRate(row) && row.seconds >= shortestTimed && row.flops / row.seconds > limits.flops)
      limits.flops = row.flops / row.seconds, faster = &row;
  return limits;
}

/// The least time that the row takes at the machine's rates, as a share of its time, or what these rates do not bound:
/// bytes that a cache delivers or that ranks exchange, multiply-adds of another type, and what is too short to be
/// timed. Operations other than multiply-adds (exp, tanh) count only by their bytes.
static std::string limitOf(const ProfileRow &row, const MachineLimits &limits) {
  if (row.isExchange) return "link";
  double computing = row.flops / limits.flops, moving = row.bytes / limits.copyBytes;
  if (row.contracts && !isOfMeasuredRate(row)) return row.type;
  bool isCached = moving > row.seconds;
  if (!row.contracts && isCached) return "cache";
  if (row.contracts && computing > row.seconds * (1 + 1e-9)) return "short";
  double least = std::max(row.contracts ? computing : 0.0, isCached ? 0.0 : moving);
  return fmt::format("{:.0f}%", 100 * least / row.seconds);
}

static std::string percent(double part) { return fmt::format("{:.1f}%", 100 * part); }

static std::string linesTable(const std::vector<ProfileRow> &rows, double step) {
  std::map<std::string, double> lines;
  double inRows = 0;
  for (const ProfileRow &row : rows) {
    lines[row.line.empty() ? "no line: copies, updates, sums" : lineWithoutColumn(row.line)] += row.seconds;
    inRows += row.seconds;
  }
  if (step > inRows) lines["between kernels"] = step - inRows;
  std::vector<std::pair<std::string, double>> sorted(lines.begin(), lines.end());
  std::stable_sort(sorted.begin(), sorted.end(), [](const auto &a, const auto &b) { return a.second > b.second; });
  std::string text = fmt::format("{:>10} {:>7}  by line of the model, with its gradients\n", "ms", "share");
  for (const auto &[line, seconds] : sorted)
    if (seconds >= leastShare * step)
      text += fmt::format("{:>10.4g} {:>7}  {}\n", 1e3 * seconds, percent(seconds / step), line);
  return text;
}

static std::string kernelsTable(const std::vector<ProfileRow> &rows, double step,
                                const std::optional<MachineLimits> &limits) {
  bool isPredicted = std::any_of(rows.begin(), rows.end(), [](const ProfileRow &row) { return row.predicted; });
  // A column of its own, where something was predicted.
  auto predictedCell = [&](const std::string &text) { return isPredicted ? fmt::format(" {:>10}", text) : ""; };
  std::string text = fmt::format("{:>10}{} {:>7} {:>6} {:>8} {:>7} {:>7}  by kernel\n", "ms",
                                 predictedCell("predicted"), "share", "calls", "GFLOP/s", "GB/s", "limit");
  int64_t more = 0;
  double rest = 0;
  for (const ProfileRow &row : rows) {
    if (row.seconds < leastShare * step) {
      ++more, rest += row.seconds;
      continue;
    }
    std::string share = limits ? limitOf(row, *limits) : "";
    std::string predicted = row.predicted ? fmt::format("{:.4g}", 1e3 * *row.predicted) : "";
    text += fmt::format("{:>10.4g}{} {:>7} {:>6} {:>8.4g} {:>7.3g} {:>7}  {}{}{}\n", 1e3 * row.seconds,
                        predictedCell(predicted), percent(row.seconds / step), row.calls, row.flops / row.seconds / 1e9,
                        row.bytes / row.seconds / 1e9, share, row.name, row.of.empty() ? "" : ": " + row.of,
                        row.line.empty() ? "" : ", " + row.line);
  }
  if (more > 0)
    text += fmt::format("{:>10.4g}{} {:>7}  {} more\n", 1e3 * rest, predictedCell(""), percent(rest / step), more);
  return text;
}

std::string profileTable(const Json &profile, const std::optional<MachineLimits> &limits) {
  std::vector<ProfileRow> rows;
  for (const Json &row : profile.at("rows")) rows.push_back(readRow(row));
  std::stable_sort(rows.begin(), rows.end(),
                   [](const ProfileRow &a, const ProfileRow &b) { return a.seconds > b.seconds; });
  double step = profile.at("seconds");
  const ProfileRow *faster = nullptr;
  std::optional<MachineLimits> rates;
  if (limits) rates = reached(*limits, rows, faster);
  std::string text = fmt::format("profile: {:.4g} ms a step, median of {}", 1e3 * step,
                                 std::max<int64_t>(1, profile.at("steps").get<int64_t>() - 1));
  if (rates)
    text += fmt::format(
        "; this machine reaches {:.0f} GFLOP/s in multiply-adds of f32{} and copies {:.1f} GB/s", rates->flops / 1e9,
        faster ? fmt::format(" (in {}; {:.0f} when it was measured at the end)", faster->name, limits->flops / 1e9)
               : "",
        rates->copyBytes / 1e9);
  text += "\n" + linesTable(rows, step) + kernelsTable(rows, step, rates);
  text.pop_back();
  return text;
}

} // namespace tessera::runtime
