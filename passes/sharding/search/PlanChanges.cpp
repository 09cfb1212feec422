//===- PlanChanges.cpp - why a plan does not suit a program any more ------===//
//
// From what an author thinks of to what an op tells, as far as it explains the difference:
//
// 1. sizes of axes, and axes that are new or gone
// 2. states and inputs that are new or gone
// 3. ops: the first place from which on others are computed
//
//===----------------------------------------------------------------------===//

#include "passes/sharding/search/ShardingPlan.h"
#include "llvm/ADT/StringExtras.h"
#include <map>
#include <set>

using namespace mlir;
using namespace tessera;

/// The sizes of each axis.
using AxisSizes = std::map<std::string, std::set<int64_t>>;

static AxisSizes sizesOf(const ShardingPlan &plan) {
  AxisSizes sizes;
  for (const std::vector<PlannedEntry> *list : {&plan.states, &plan.inputs, &plan.ops})
    for (const PlannedEntry &entry : *list)
      for (const PlannedAxes &axes : entry.axes)
        for (const PlannedAxis &axis : axes) sizes[axis.axis].insert(axis.size);
  return sizes;
}

static std::string textOf(const std::set<int64_t> &sizes) {
  return llvm::join(llvm::map_range(sizes, [](int64_t size) { return std::to_string(size); }), " and ");
}

static void addAxes(const ShardingPlan &before, const ShardingPlan &now, std::vector<std::string> &changes) {
  AxisSizes old = sizesOf(before), current = sizesOf(now);
  for (const auto &[axis, sizes] : current) {
    auto known = old.find(axis);
    if (known == old.end())
      changes.push_back("the axis `" + axis + "` is new");
    else if (known->second != sizes)
      changes.push_back("the axis `" + axis + "` has " + textOf(sizes) + " elements now, and had " +
                        textOf(known->second));
  }
  for (const auto &[axis, sizes] : old)
    if (!current.contains(axis)) changes.push_back("there is no axis `" + axis + "` any more");
}

/// Of states or inputs.
static void addNamed(StringRef what, const std::vector<PlannedEntry> &before, const std::vector<PlannedEntry> &now,
                     bool comparesAxes, std::vector<std::string> &changes) {
  std::map<std::string, const PlannedEntry *> old, current;
  for (const PlannedEntry &entry : before) old[entry.name] = &entry;
  for (const PlannedEntry &entry : now) current[entry.name] = &entry;
  auto name = [&](const std::string &own) { return "the " + what.str() + " `" + own + "`"; };
  for (const auto &[own, entry] : current) {
    auto known = old.find(own);
    if (known == old.end())
      changes.push_back(name(own) + " is new");
    else if (comparesAxes && !known->second->hasSameAxes(*entry))
      changes.push_back(name(own) + " has other axes");
  }
  for (const auto &[own, entry] : old)
    if (!current.contains(own)) changes.push_back(name(own) + " is gone");
}

static bool areAlike(const PlannedEntry &a, const PlannedEntry &b) { return a.kind() == b.kind() && a.hasSameAxes(b); }

/// "`contract` at gpt.tsr:31:7".
static std::string describe(const PlannedEntry &op) {
  std::string text = "`" + op.kind().str() + "`";
  return op.place().empty() ? text : text + " at " + op.place().str();
}

/// "2 ops".
static std::string countOf(size_t count) { return std::to_string(count) + (count == 1 ? " op" : " ops"); }

static void addOps(const std::vector<PlannedEntry> &before, const std::vector<PlannedEntry> &now,
                   std::vector<std::string> &changes) {
  size_t first = 0, most = std::min(before.size(), now.size());
  while (first < most && areAlike(before[first], now[first])) ++first;
  if (first == before.size() && first == now.size()) return;
  size_t last = 0; // how many are the same at the end
  while (last < most - first && areAlike(before[before.size() - 1 - last], now[now.size() - 1 - last])) ++last;
  size_t added = now.size() - first - last, removed = before.size() - first - last;
  if (removed == 0)
    changes.push_back("a step has " + countOf(added) + " more, from " + describe(now[first]) + " on");
  else if (added == 0)
    changes.push_back("a step has " + countOf(removed) + " less, from what was " + describe(before[first]) + " on");
  else
    changes.push_back("a step computes something else from " + describe(now[first]) + " on, which was " +
                      describe(before[first]));
}

std::string tessera::describeChanges(const ShardingPlan &before, const ShardingPlan &now) {
  constexpr size_t mostTold = 3;
  std::vector<std::string> changes;
  addAxes(before, now, changes);
  bool haveSizesChanged = !changes.empty(); // of which those of states and inputs follow
  addNamed("state", before.states, now.states, !haveSizesChanged, changes);
  addNamed("input", before.inputs, now.inputs, !haveSizesChanged, changes);
  if (changes.empty()) addOps(before.ops, now.ops, changes);
  std::string text = llvm::join(ArrayRef(changes).take_front(mostTold), "; ");
  if (changes.size() > mostTold) text += "; and " + std::to_string(changes.size() - mostTold) + " more";
  return text;
}
