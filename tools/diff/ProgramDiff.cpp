//===- ProgramDiff.cpp - what differs between two programs -----------------===//

#include "tools/diff/ProgramDiff.h"
#include "runtime/train/SourceChanges.h"
#include "tools/diff/Match.h"
#include <algorithm>
#include <array>
#include <cmath>
#include <tuple>

using namespace tessera;
using namespace tessera::runtime;

//===----------------------------------------------------------------------===//
// Pairs
//===----------------------------------------------------------------------===//

namespace {
/// An item of one side, and its partner on the other.
template <typename T> struct Side {
  const T *item = nullptr;
  Side *partner = nullptr;
};
template <typename T> using Key = llvm::function_ref<std::string(const T &)>;
} // namespace

template <typename T> static std::vector<Side<T>> sidesOf(const std::vector<T> &items) {
  std::vector<Side<T>> sides;
  for (const T &item : items) sides.push_back({&item});
  return sides;
}

/// Pairs items that have equal keys, those of the first key first; then what is gone, then what is new.
template <typename T>
static std::vector<Pair<T>> pairUp(const std::vector<T> &before, const std::vector<T> &after,
                                   std::initializer_list<Key<T>> keys) {
  std::vector<Side<T>> old = sidesOf(before), now = sidesOf(after);
  for (Key<T> key : keys) match(old, now, [&](const Side<T> &side) { return key(*side.item); });
  std::vector<Pair<T>> pairs;
  for (const Side<T> &side : old)
    pairs.push_back({*side.item, side.partner ? std::optional<T>(*side.partner->item) : std::nullopt});
  for (const Side<T> &side : now)
    if (!side.partner) pairs.push_back({std::nullopt, *side.item});
  return pairs;
}

/// Keys are lists of words.
static std::string keyOf(std::initializer_list<std::string> words) {
  std::string key;
  for (const std::string &word : words) key += word + '\n';
  return key;
}

/// `lacking`: what a figure is that one side does not list.
static std::vector<FigurePair> pairFigures(const std::vector<Figure> &before, const std::vector<Figure> &after,
                                           Amount lacking = std::nullopt) {
  std::vector<FigurePair> figures;
  for (const Pair<Figure> &pair : pairUp<Figure>(before, after, {[](const Figure &figure) { return figure.name; }}))
    figures.push_back({pair.any().name, pair.any().unit, pair.before ? pair.before->amount : lacking,
                       pair.after ? pair.after->amount : lacking});
  return figures;
}

/// How much an amount differs, where it is known; what one side lacks is 0 there.
template <typename T> static double distance(const Pair<T> &pair, Amount T::*amount) {
  Amount before = pair.before ? (*pair.before).*amount : Amount(0),
         after = pair.after ? (*pair.after).*amount : Amount(0);
  return before && after ? std::abs(*after - *before) : 0;
}

//===----------------------------------------------------------------------===//
// Memory
//===----------------------------------------------------------------------===//

/// The total of what both sides know. Adds the names of other parts to `unknown`.
static FigurePair pairMemory(const std::string &name, const NeededMemory &before, const NeededMemory &after,
                             std::vector<std::string> *unknown = nullptr) {
  using Part = NeededMemory::value_type;
  FigurePair total{name, Unit::Bytes, 0, 0};
  for (const Pair<Part> &pair : pairUp<Part>(before, after, {[](const Part &part) { return part.first; }})) {
    Amount old = pair.before ? pair.before->second : 0, now = pair.after ? pair.after->second : 0;
    if (old && now)
      *total.before += *old, *total.after += *now;
    else if (unknown)
      unknown->push_back(pair.any().first);
  }
  return total;
}

static void diffMemory(const ProgramFacts &before, const ProgramFacts &after, ProgramDiff &diff) {
  diff.sizes = pairFigures(before.sizes, after.sizes);
  diff.arena = {"arena", Unit::Bytes, before.arenaBytes, after.arenaBytes};
  diff.needed = pairMemory("needed memory", before.device, after.device, &diff.unknownMemory);
  diff.sizes.push_back(diff.needed);
  if (before.host && after.host)
    diff.sizes.push_back(pairMemory("needed memory of the host", *before.host, *after.host));
  diff.running = {before.running, after.running};
  bool isKnown = !before.peak.empty() && !after.peak.empty(); // kinds of which no bytes are live are not listed
  diff.peak = pairFigures(before.peak, after.peak, isKnown ? Amount(0) : std::nullopt);
}

static void diffBuffers(const ProgramFacts &before, const ProgramFacts &after, ProgramDiff &diff) {
  auto pairs = pairUp<BufferSpec>(
      before.buffers, after.buffers,
      {[](const BufferSpec &b) { return keyOf({b.entry, b.name, b.kind, b.type, std::to_string(b.bytes)}); },
       [](const BufferSpec &b) { return keyOf({b.entry, b.name, b.kind}); },
       [](const BufferSpec &b) { return keyOf({b.entry, b.name}); }});
  for (Pair<BufferSpec> &pair : pairs) {
    auto said = [](const std::optional<BufferSpec> &b) {
      return b ? std::optional(std::tuple(b->kind, b->type, b->bytes)) : std::nullopt;
    };
    if (said(pair.before) == said(pair.after))
      ++diff.sameBuffers;
    else
      diff.buffers.push_back(std::move(pair));
  }
  auto bytes = [](const Pair<BufferSpec> &pair) {
    return std::abs((pair.after ? double(pair.after->bytes) : 0) - (pair.before ? double(pair.before->bytes) : 0));
  };
  llvm::stable_sort(diff.buffers, [&](const auto &a, const auto &b) { return bytes(a) > bytes(b); });
}

//===----------------------------------------------------------------------===//
// Kernels and contractions
//===----------------------------------------------------------------------===//

static std::vector<WorkFacts> workIn(const std::string &entry, const ProgramFacts &facts) {
  std::vector<WorkFacts> work;
  llvm::copy_if(facts.work, std::back_inserter(work), [&](const WorkFacts &item) { return item.entry == entry; });
  return work;
}

/// The total of all work; not known if a part of it is not.
static Amount total(const std::vector<WorkFacts> &work, Amount WorkFacts::*amount) {
  double total = 0;
  for (const WorkFacts &item : work) {
    if (!(item.*amount)) return std::nullopt;
    total += *(item.*amount);
  }
  return total;
}

static bool isSame(const Pair<WorkFacts> &pair) {
  if (!pair.before || !pair.after) return false;
  WorkFacts before = *pair.before;
  before.line = pair.after->line;
  return before == *pair.after;
}

static WorkDiff diffWork(const std::string &entry, const ProgramFacts &before, const ProgramFacts &after) {
  WorkDiff diff{entry, {}, {}};
  std::vector<WorkFacts> old = workIn(entry, before), now = workIn(entry, after);
  diff.totals = {{"calls", Unit::Count, total(old, &WorkFacts::calls), total(now, &WorkFacts::calls)},
                 {"operations", Unit::Operations, total(old, &WorkFacts::flops), total(now, &WorkFacts::flops)},
                 {"bytes moved", Unit::Bytes, total(old, &WorkFacts::bytes), total(now, &WorkFacts::bytes)}};
  auto pairs = pairUp<WorkFacts>(old, now,
                                 {[](const WorkFacts &work) { return keyOf({work.name, work.line}); },
                                  [](const WorkFacts &work) { return keyOf({work.name}); }});
  for (Pair<WorkFacts> &pair : pairs)
    if (isSame(pair))
      ++diff.same;
    else
      diff.changes.push_back(std::move(pair));
  auto rank = [](const Pair<WorkFacts> &pair) {
    return std::array{distance(pair, &WorkFacts::seconds), distance(pair, &WorkFacts::bytes),
                      distance(pair, &WorkFacts::flops)};
  };
  llvm::stable_sort(diff.changes, [&](const auto &a, const auto &b) { return rank(a) > rank(b); });
  return diff;
}

/// The entry functions of both, `step` first, then as the manifests have them.
static std::vector<std::string> entriesOf(const ProgramFacts &before, const ProgramFacts &after) {
  std::vector<std::string> entries{"step"};
  for (const ProgramFacts *facts : {&before, &after})
    for (const WorkFacts &work : facts->work)
      if (!llvm::is_contained(entries, work.entry)) entries.push_back(work.entry);
  return entries;
}

//===----------------------------------------------------------------------===//
// All of it
//===----------------------------------------------------------------------===//

static void diffDecisions(const ProgramFacts &before, const ProgramFacts &after, ProgramDiff &diff) {
  auto pairs = pairUp<Decision>(before.decisions, after.decisions, {[](const Decision &d) { return d.name; }});
  llvm::copy_if(pairs, std::back_inserter(diff.decisions),
                [](const Pair<Decision> &pair) { return pair.before != pair.after; });
  if (auto edits = sourceChanges(before.source, after.source)) diff.edits = std::move(*edits);
}

ProgramDiff tessera::diffPrograms(const ProgramFacts &before, const ProgramFacts &after) {
  ProgramDiff diff;
  diffMemory(before, after, diff);
  diff.timeSource = {before.timeSource, after.timeSource};
  diff.times = pairFigures(before.times, after.times);
  diff.step = {"step", Unit::Seconds, before.stepSeconds(), after.stepSeconds()};
  diffDecisions(before, after, diff);
  for (const std::string &entry : entriesOf(before, after)) diff.work.push_back(diffWork(entry, before, after));
  diffBuffers(before, after, diff);
  return diff;
}

bool ProgramDiff::differs() const {
  auto anyDiffers = [](const std::vector<FigurePair> &figures) {
    return llvm::any_of(figures, [](const FigurePair &figure) { return figure.differs(); });
  };
  return anyDiffers(sizes) || anyDiffers(peak) || anyDiffers(times) || running.first != running.second ||
         timeSource.first != timeSource.second || !decisions.empty() || !edits.empty() || !buffers.empty() ||
         llvm::any_of(work, [&](const WorkDiff &diff) { return !diff.changes.empty() || anyDiffers(diff.totals); });
}
