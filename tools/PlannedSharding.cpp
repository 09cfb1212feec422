//===- PlannedSharding.cpp - what is divided, and why, for a person -------===//

#include "tools/PlannedSharding.h"
#include <algorithm>

using namespace tessera;
using namespace tessera::runtime;

/// Rows of a table as text, unless all are listed; JSON has all.
static constexpr size_t mostRows = 12;
/// Of what was rejected in place of one choice.
static constexpr size_t mostRejected = 3;

/// "  and 7 more rows (-v lists all)".
static std::string describeRest(size_t rows, size_t listed, const char *what) {
  return listed == rows ? "" : fmt::format("  and {} more {} (-v lists all)\n", rows - listed, what);
}

//===----------------------------------------------------------------------===//
// Lines
//===----------------------------------------------------------------------===//

namespace {
/// Lines that are divided alike.
struct LineRow {
  std::vector<const DividedLineSpec *> lines;
  std::vector<std::string> cells; ///< by mesh axis
};
} // namespace

/// The axes that a mesh axis divides of a line, those of most ops first; of equally many, in the order of names.
std::string PlannedSharding::axesAlong(const DividedLineSpec &line, const std::string &mesh) const {
  auto found = line.divided.find(mesh);
  if (found == line.divided.end()) return "";
  std::vector<std::pair<std::string, int64_t>> axes(found->second.begin(), found->second.end());
  std::stable_sort(axes.begin(), axes.end(), [](const auto &a, const auto &b) { return a.second > b.second; });
  std::string text;
  for (const auto &[axis, count] : axes) text += (text.empty() ? "" : ", ") + axis;
  return text;
}

/// "gpt.tsr:3-5, 9". A range may skip lines that have no ops, but none of another row.
static std::string describePlaces(const LineRow &row) {
  std::string text, file;
  for (size_t i = 0; i < row.lines.size();) {
    const DividedLineSpec *first = row.lines[i], *last = first;
    while (++i < row.lines.size() && row.lines[i] == last + 1 && row.lines[i]->file() == first->file())
      last = row.lines[i];
    if (!text.empty()) text += first->file() == file ? ", " : "; ";
    if (first->file() != file) text += first->file() + ":";
    file = first->file();
    text += last == first ? fmt::format("{}", first->line()) : fmt::format("{}-{}", first->line(), last->line());
  }
  return text;
}

std::string PlannedSharding::describeLines(bool listsAll) const {
  std::vector<LineRow> rows;
  for (const DividedLineSpec &line : ranks.lines) {
    std::vector<std::string> cells;
    for (const MeshAxisSpec &axis : ranks.mesh) cells.push_back(axesAlong(line, axis.name));
    auto known = std::find_if(rows.begin(), rows.end(), [&](const LineRow &row) { return row.cells == cells; });
    (known == rows.end() ? rows.emplace_back(LineRow{{}, cells}) : *known).lines.push_back(&line);
  }
  if (rows.empty()) return "";
  std::stable_sort(rows.begin(), rows.end(),
                   [](const LineRow &a, const LineRow &b) { return a.lines.size() > b.lines.size(); });
  size_t listed = listsAll ? rows.size() : std::min(rows.size(), mostRows);
  std::vector<size_t> widths;
  for (size_t axis = 0; axis < ranks.mesh.size(); ++axis) {
    widths.push_back(ranks.mesh[axis].name.size() + 6);
    for (size_t i = 0; i < listed; ++i) widths[axis] = std::max(widths[axis], rows[i].cells[axis].size());
  }
  auto addRow = [&](const auto &cellOf, const std::string &places) {
    std::string text = " ";
    for (size_t axis = 0; axis < widths.size(); ++axis) text += fmt::format(" {:<{}} ", cellOf(axis), widths[axis]);
    return text + " " + places + "\n";
  };
  std::string text = "what is divided, by lines of the model\n" +
                     addRow([&](size_t axis) { return "along " + ranks.mesh[axis].name; }, "lines");
  for (size_t i = 0; i < listed; ++i)
    text += addRow([&](size_t axis) { return rows[i].cells[axis].empty() ? std::string("-") : rows[i].cells[axis]; },
                   describePlaces(rows[i]));
  return text + describeRest(rows.size(), listed, rows.size() == listed + 1 ? "row" : "rows");
}

//===----------------------------------------------------------------------===//
// What was rejected
//===----------------------------------------------------------------------===//

namespace {
/// Choices, and what a search rejected in the place of each.
struct ChoiceRow {
  std::vector<std::string> of; ///< states and lines that are alike
  std::string choice;          ///< "along tensor: vocab"
  std::string rejected;        ///< "embed +1.2 %, none at least +3.4 %"
  double nearest = 0;          ///< seconds
};
} // namespace

static std::string describe(const std::vector<RejectedSpec> &rejected, double seconds, bool listsAll) {
  std::string text;
  size_t listed = listsAll ? rejected.size() : std::min(rejected.size(), mostRejected);
  for (size_t i = 0; i < listed; ++i) {
    // A bound may be below what was found; so may a mesh on which the program is slower than the estimate.
    double percent = seconds > 0 ? 100 * (rejected[i].seconds / seconds - 1) : 0;
    if (!rejected[i].isExact) percent = std::max(0.0, percent);
    text += fmt::format("{}{} {}{:+.2f} %", text.empty() ? "" : ", ",
                        rejected[i].choice.empty() ? "none" : rejected[i].choice,
                        rejected[i].isExact ? "" : "at least ", std::abs(percent) < 0.005 ? 0 : percent);
  }
  return listed == rejected.size() ? text : text + fmt::format(", {} more", rejected.size() - listed);
}

/// "h.attn.wq, h.attn.wk and 4 more along tensor: head".
static std::string describe(const ChoiceRow &row, bool listsAll) {
  constexpr size_t mostNames = 2;
  size_t listed = listsAll || row.of.size() == mostNames + 1 ? row.of.size() : std::min(row.of.size(), mostNames);
  std::string names;
  for (size_t i = 0; i < listed; ++i) names += (names.empty() ? "" : ", ") + row.of[i];
  if (listed < row.of.size()) names += fmt::format(" and {} more", row.of.size() - listed);
  return names + " " + row.choice;
}

/// Those that matter most first. States and lines with the same prices are one row.
static std::vector<ChoiceRow> choiceRows(const SearchSpec &search, bool listsAll) {
  std::vector<ChoiceRow> rows;
  for (const DecisionSpec &decision : search.decisions) {
    ChoiceRow row{{decision.of},
                  fmt::format("along {}: {}", decision.along, decision.chosen.empty() ? "none" : decision.chosen),
                  describe(decision.rejected, search.seconds, listsAll),
                  decision.rejected.front().seconds};
    auto known = std::find_if(rows.begin(), rows.end(), [&](const ChoiceRow &other) {
      return other.choice == row.choice && other.rejected == row.rejected;
    });
    if (known == rows.end())
      rows.push_back(std::move(row));
    else
      known->of.push_back(decision.of);
  }
  std::stable_sort(rows.begin(), rows.end(),
                   [](const ChoiceRow &a, const ChoiceRow &b) { return a.nearest > b.nearest; });
  return rows;
}

std::string PlannedSharding::describeRejected(bool listsAll) const {
  if (!ranks.search || (ranks.search->meshes.empty() && ranks.search->decisions.empty())) return "";
  std::vector<ChoiceRow> rows = choiceRows(*ranks.search, listsAll);
  size_t all = rows.size(), listed = listsAll ? all : std::min(all, mostRows);
  rows.resize(listed);
  std::string ofMesh;
  for (const MeshAxisSpec &axis : ranks.mesh) ofMesh += fmt::format("{}{}", ofMesh.empty() ? "" : " x ", axis.size);
  if (!ranks.search->meshes.empty())
    rows.insert(rows.begin(), {{"mesh"}, ofMesh, describe(ranks.search->meshes, ranks.search->seconds, listsAll)});
  size_t width = 0;
  for (const ChoiceRow &row : rows) width = std::max(width, describe(row, listsAll).size());
  std::string text = "what was rejected, and how much longer a step takes with it\n";
  for (const ChoiceRow &row : rows) text += fmt::format("  {:<{}}  {}\n", describe(row, listsAll), width, row.rejected);
  return text + describeRest(all, listed, all == listed + 1 ? "choice" : "choices");
}

//===----------------------------------------------------------------------===//
// As JSON
//===----------------------------------------------------------------------===//

Json PlannedSharding::linesAsJson() const {
  Json list = Json::array();
  for (const DividedLineSpec &line : ranks.lines)
    list.push_back({{"at", line.at}, {"ops", line.ops}, {"divided", line.divided}});
  return list;
}

/// `choice`: the key of what was rejected.
static Json asJson(const std::vector<RejectedSpec> &rejected, const char *choice) {
  Json list = Json::array();
  for (const RejectedSpec &one : rejected)
    list.push_back({{choice, one.choice}, {"seconds", one.seconds}, {"exact", one.isExact}});
  return list;
}

Json PlannedSharding::searchAsJson() const {
  if (!ranks.search) return nullptr;
  auto orNull = [](const auto &value) { return value ? Json(*value) : Json(nullptr); };
  Json decisions = Json::array();
  for (const DecisionSpec &decision : ranks.search->decisions)
    decisions.push_back({{"of", decision.of},
                         {"kind", decision.isOfState ? "state" : "line"},
                         {"along", decision.along},
                         {"chosen", decision.chosen},
                         {"rejected", asJson(decision.rejected, "axis")}});
  return {{"seconds", ranks.search->seconds},
          {"bound", ranks.search->bound},
          {"memory", orNull(ranks.search->memory)},
          {"unpinned", orNull(ranks.search->unpinned)},
          {"meshes", asJson(ranks.search->meshes, "mesh")},
          {"decisions", std::move(decisions)}};
}
