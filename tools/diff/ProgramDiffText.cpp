//===- ProgramDiffText.cpp - a difference of programs as text and as JSON --===//

#include "runtime/machine/MachineMemory.h"
#include "tools/diff/ProgramDiff.h"
#include "llvm/ADT/STLExtras.h"
#include <algorithm>
#include <cmath>

using namespace tessera;
using namespace tessera::runtime;

/// Lines of a section, unless all are listed.
static constexpr size_t largestChanges = 10;

//===----------------------------------------------------------------------===//
// Words
//===----------------------------------------------------------------------===//

/// Names come from files.
static std::string shown(const std::string &name) { return printable(name, 200); }

/// "5.12 ms" of 0.00512: the largest unit in which the amount is at least 1, or the last one.
static std::string inUnits(double amount, std::initializer_list<std::pair<double, const char *>> units) {
  for (auto [size, name] : units)
    if (amount >= size) return fmt::format("{:.2f} {}", amount / size, name);
  auto [size, name] = *(units.end() - 1);
  return fmt::format("{:.2f} {}", amount / size, name);
}

/// Files may say numbers that no integer holds.
static int64_t wholeNumber(double amount) { return static_cast<int64_t>(std::min(amount, 9e18)); }

std::string tessera::formatAmount(Amount amount, Unit unit) {
  if (!amount) return "?";
  switch (unit) {
  case Unit::Count:
    return fmt::format("{:.0f}", *amount);
  case Unit::Bytes:
    return formatBytes(wholeNumber(*amount));
  case Unit::Operations:
    return inUnits(*amount, {{1e12, "TFLOP"}, {1e9, "GFLOP"}, {1e6, "MFLOP"}});
  case Unit::Seconds:
    return inUnits(*amount, {{1, "s"}, {1e-3, "ms"}, {1e-6, "us"}});
  }
  return "";
}

/// "-41.4%", of a time "0.59 times"; empty if a side is not known or nothing was before.
static std::string describeChange(const FigurePair &figure) {
  if (!figure.differs() || !figure.before || !figure.after || *figure.before == 0) return "";
  double ratio = *figure.after / *figure.before;
  if (figure.unit == Unit::Seconds) return fmt::format("{:.3f} times", ratio);
  std::string text = fmt::format("{:+.1f}%", 100 * (ratio - 1));
  if (figure.unit == Unit::Bytes && std::abs(ratio - 1) < 0.001) // the texts of both may be the same
    text += fmt::format(", {:+.0f} bytes", *figure.after - *figure.before);
  return text;
}

static std::string describeFigure(const FigurePair &figure) {
  std::string text = fmt::format("  {:<26} {:>12} => {:>12}", shown(figure.name),
                                 formatAmount(figure.before, figure.unit), formatAmount(figure.after, figure.unit));
  std::string change = describeChange(figure);
  return text + (change.empty() ? "\n" : "  " + change + "\n");
}

static std::string describeFigures(const std::string &title, const std::vector<FigurePair> &figures) {
  std::string text;
  for (const FigurePair &figure : figures)
    if (figure.differs()) text += describeFigure(figure);
  return text.empty() ? "" : title + "\n" + text;
}

/// "a => b", or "a" if that is the same.
static std::string describeStep(const std::string &before, const std::string &after) {
  auto known = [](const std::string &text) { return text.empty() ? "none" : shown(text); };
  return before == after ? known(before) : known(before) + " => " + known(after);
}

/// "+", "-" or "~".
template <typename T> static const char *signOf(const Pair<T> &pair) {
  return !pair.before ? "+" : !pair.after ? "-" : "~";
}

/// "3 added, 1 removed, 2 changed, 40 the same"; parts that are zero are left out.
template <typename T> static std::string describeCounts(const std::vector<Pair<T>> &pairs, size_t same) {
  size_t added = llvm::count_if(pairs, [](const Pair<T> &pair) { return !pair.before; });
  size_t removed = llvm::count_if(pairs, [](const Pair<T> &pair) { return !pair.after; });
  std::string text;
  for (auto [count, what] : {std::pair(added, "added"), std::pair(removed, "removed"),
                             std::pair(pairs.size() - added - removed, "changed"), std::pair(same, "the same")})
    if (count > 0) text += fmt::format("{}{} {}", text.empty() ? "" : ", ", count, what);
  return text;
}

/// The first lines of a list, and how many others there are.
template <typename T, typename Fn>
static std::string describeFirst(const std::vector<T> &list, bool listsAll, Fn describe) {
  std::string text;
  size_t count = listsAll ? list.size() : std::min(list.size(), largestChanges);
  for (size_t i = 0; i < count; ++i) text += describe(list[i]);
  if (count < list.size()) text += fmt::format("  … {} more, which -v lists\n", list.size() - count);
  return text;
}

//===----------------------------------------------------------------------===//
// Sections
//===----------------------------------------------------------------------===//

static std::string describeMemory(const ProgramDiff &diff) {
  std::string text = describeFigures("memory", diff.sizes);
  if (diff.needed.differs() && !diff.unknownMemory.empty())
    text += fmt::format("  needed memory is without {}, not known of both\n", fmt::join(diff.unknownMemory, ", "));
  std::string peak = "peak of step: " + describeStep(diff.running.first, diff.running.second);
  std::string kinds = describeFigures(peak, diff.peak);
  if (!kinds.empty()) return text + kinds;
  return text + (diff.running.first == diff.running.second ? "" : peak + "\n");
}

static std::string describeTimes(const ProgramDiff &diff) {
  std::string title = "predicted time, " + describeStep(diff.timeSource.first, diff.timeSource.second);
  std::string text = describeFigures(title, diff.times);
  return text.empty() && diff.timeSource.first != diff.timeSource.second ? title + "\n" : text;
}

static std::string describeScalar(const Json &value) {
  return value.is_string() ? value.get<std::string>() : dumpJson(value);
}

/// A value in words; of a list of words those that `other` lacks.
static std::string describeValue(const std::optional<Json> &value, const std::optional<Json> &other) {
  if (!value) return "none";
  if (!value->is_array()) return describeScalar(*value);
  bool isOfWords = llvm::all_of(*value, [](const Json &element) { return element.is_string(); });
  std::string text;
  for (const Json &element : *value)
    if (!isOfWords || !other || !other->is_array() || !llvm::is_contained(*other, element))
      text += (text.empty() ? "" : " ") + describeScalar(element);
  return text.empty() ? (value->empty() ? "none" : "nothing else") : text;
}

static std::string describeDecision(const Pair<Decision> &pair) {
  auto value = [](const std::optional<Decision> &d) { return d ? std::optional<Json>(d->value) : std::nullopt; };
  std::optional<Json> before = value(pair.before), after = value(pair.after);
  return fmt::format("  {} {}: {} => {}\n", signOf(pair), shown(pair.any().name), shown(describeValue(before, after)),
                     shown(describeValue(after, before)));
}

static std::string describeDecisions(const ProgramDiff &diff, bool listsAll) {
  std::string text;
  if (!diff.edits.empty()) text += "model file and options\n";
  for (const std::string &edit : diff.edits) text += "  " + edit + "\n";
  if (!diff.decisions.empty())
    text += "decisions: " + describeCounts(diff.decisions, 0) + "\n" +
            describeFirst(diff.decisions, listsAll, describeDecision);
  return text;
}

static std::string placeOf(const std::string &name, const std::string &line) {
  return (name.empty() ? "(no name)" : shown(name)) + (line.empty() ? "" : ", " + shown(line));
}

/// What is known of one side, or what differs between two.
static std::string describeWork(const Pair<WorkFacts> &pair) {
  std::string text;
  auto add = [&](const std::string &part) { text += (text.empty() ? "" : "; ") + part; };
  auto addAmount = [&](Amount WorkFacts::*amount, Unit unit, const char *what) {
    Amount any = pair.any().*amount;
    if (!pair.before || !pair.after) {
      if (any && *any > 0) add(formatAmount(any, unit) + what);
    } else if (FigurePair figure{"", unit, (*pair.before).*amount, any}; figure.differs()) {
      std::string old = formatAmount(figure.before, unit), now = formatAmount(any, unit);
      add(old + " => " + now + what + (old == now ? " (" + describeChange(figure) + ")" : ""));
    }
  };
  addAmount(&WorkFacts::seconds, Unit::Seconds, "");
  addAmount(&WorkFacts::calls, Unit::Count, " calls");
  addAmount(&WorkFacts::flops, Unit::Operations, "");
  addAmount(&WorkFacts::bytes, Unit::Bytes, "");
  auto makers = [](const WorkFacts &work) { return fmt::format("{}", fmt::join(work.makers, " and ")); };
  if (!pair.before || !pair.after)
    add(shown(makers(pair.any())));
  else if (pair.before->makers != pair.after->makers)
    add(describeStep(makers(*pair.before), makers(*pair.after)));
  return fmt::format("  {} {}: {}\n", signOf(pair), placeOf(pair.any().name, pair.any().line), text);
}

static std::string describeWork(const WorkDiff &work, bool listsAll) {
  if (work.changes.empty()) return "";
  std::string text = fmt::format("kernels and contractions of {}, by name: {}\n", shown(work.entry),
                                 describeCounts(work.changes, work.same));
  for (const FigurePair &figure : work.totals)
    if (figure.differs()) text += describeFigure(figure);
  return text + describeFirst(work.changes, listsAll, [](const Pair<WorkFacts> &pair) { return describeWork(pair); });
}

/// In full of the step; of others how many differ, unless all are listed.
static std::string describeWork(const ProgramDiff &diff, bool listsAll) {
  std::string text, others;
  for (const WorkDiff &work : diff.work) {
    if (listsAll || &work == &diff.work.front())
      text += describeWork(work, listsAll);
    else if (!work.changes.empty())
      others += fmt::format("{}{}: {}", others.empty() ? "  " : "; ", shown(work.entry),
                            describeCounts(work.changes, work.same));
  }
  return others.empty() ? text : text + "kernels and contractions of others, which -v lists\n" + others + "\n";
}

/// "[batch: 4, ff: 768] f32 => bf16": what both types begin with is there once.
static std::string describeTypes(const std::string &before, const std::string &after) {
  size_t axes = before.rfind("] ") + 1;
  if (before == after || axes == 0 || before.compare(0, axes, after, 0, axes) != 0) return describeStep(before, after);
  return shown(before) + " =>" + shown(after.substr(axes));
}

static std::string describeBuffer(const Pair<BufferSpec> &pair) {
  const BufferSpec &any = pair.any(), &before = pair.before ? *pair.before : any;
  std::string bytes = formatBytes(before.bytes);
  if (before.bytes != any.bytes) bytes += " => " + formatBytes(any.bytes);
  return fmt::format("  {} {}, {}: {}; {}; {}\n", signOf(pair), placeOf(any.name, any.line),
                     any.entry == "*" ? "state" : shown(any.entry), bytes, describeStep(before.kind, any.kind),
                     describeTypes(before.type, any.type));
}

static std::string describeBuffers(const ProgramDiff &diff, bool listsAll) {
  if (diff.buffers.empty()) return "";
  return "buffers: " + describeCounts(diff.buffers, diff.sameBuffers) + "\n" +
         describeFirst(diff.buffers, listsAll, describeBuffer);
}

std::string tessera::describeDiff(const ProgramDiff &diff, bool listsAll) {
  return describeMemory(diff) + describeTimes(diff) + describeDecisions(diff, listsAll) + describeWork(diff, listsAll) +
         describeBuffers(diff, listsAll);
}

//===----------------------------------------------------------------------===//
// As JSON
//===----------------------------------------------------------------------===//

static Json asJson(Amount amount, Unit unit) {
  if (!amount) return nullptr;
  return unit == Unit::Seconds ? Json(*amount) : Json(wholeNumber(*amount));
}

template <typename T> static Json bothSides(const T &before, const T &after) {
  return {{"before", before}, {"after", after}};
}

static Json asJson(const std::vector<FigurePair> &figures) {
  Json json = Json::object();
  for (const FigurePair &figure : figures)
    json[figure.name] = bothSides(asJson(figure.before, figure.unit), asJson(figure.after, figure.unit));
  return json;
}

static Json asJson(const WorkFacts &work) {
  return {{"calls", asJson(work.calls, Unit::Count)},
          {"flops", asJson(work.flops, Unit::Operations)},
          {"bytes", asJson(work.bytes, Unit::Bytes)},
          {"seconds", asJson(work.seconds, Unit::Seconds)},
          {"by", work.makers}};
}

static Json asJson(const BufferSpec &buffer) {
  return {{"kind", buffer.kind}, {"type", buffer.type}, {"bytes", buffer.bytes}};
}

/// An entry of a list of changes, with null for what a side lacks.
template <typename T> static Json asJson(const Pair<T> &pair) {
  auto side = [](const std::optional<T> &item) { return item ? asJson(*item) : Json(); };
  Json json = {{"name", pair.any().name}, {"entry", pair.any().entry}, {"at", pair.any().line}};
  json["before"] = side(pair.before), json["after"] = side(pair.after);
  return json;
}

static Json asJson(const DiffSide &side) { return {{"path", side.path}, {"is", side.sort}, {"model", side.model}}; }

std::string tessera::diffAsJson(const ProgramDiff &diff, const DiffSide &before, const DiffSide &after) {
  Json json = {{"before", asJson(before)}, {"after", asJson(after)}, {"differs", diff.differs()}};
  json["memory"] = asJson(diff.sizes);
  json["needed_without"] = diff.unknownMemory;
  json["peak"] = {{"running", bothSides(diff.running.first, diff.running.second)}, {"kinds", asJson(diff.peak)}};
  json["predicted"] = {{"source", bothSides(diff.timeSource.first, diff.timeSource.second)},
                       {"seconds", asJson(diff.times)}};
  json["edits"] = diff.edits;
  for (const char *list : {"decisions", "work", "buffers"}) json[list] = Json::array();
  json["totals"] = Json::object();
  for (const Pair<Decision> &pair : diff.decisions)
    json["decisions"].push_back({{"name", pair.any().name},
                                 {"before", pair.before ? pair.before->value : Json()},
                                 {"after", pair.after ? pair.after->value : Json()}});
  for (const WorkDiff &work : diff.work) {
    json["totals"][work.entry] = asJson(work.totals);
    for (const Pair<WorkFacts> &pair : work.changes) json["work"].push_back(asJson(pair));
  }
  for (const Pair<BufferSpec> &pair : diff.buffers) json["buffers"].push_back(asJson(pair));
  return dumpJson(json, 1) + "\n";
}
