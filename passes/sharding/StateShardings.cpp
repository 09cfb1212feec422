//===- StateShardings.cpp - what the state table is divided along ---------===//

#include "passes/sharding/StateShardings.h"
#include "ir/program/Program.h"
#include "runtime/base/DataFormat.h"
#include "runtime/base/PathPattern.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/FormatVariadic.h"

using namespace mlir;
using namespace tessera;

SmallVector<StringRef> tessera::batchAxes(ModuleOp module) {
  SmallVector<StringRef> axes;
  if (auto sources = module->getAttrOfType<ArrayAttr>(attrs::data))
    for (auto source : sources.getAsRange<DictionaryAttr>())
      if (auto batch = source.getAs<ArrayAttr>(data_keys::batch); batch && !batch.empty())
        if (auto name = dyn_cast<StringAttr>(batch[0]); name && !llvm::is_contained(axes, name.getValue()))
          axes.push_back(name.getValue());
  return axes;
}

StateShardings::StateShardings(ModuleOp module, const ProgramMesh &mesh, const Assignment &rules, ShardSettings words)
    : mesh(mesh), rules(rules), settings(std::move(words)), table(stateTable(module)), byPath(statesByPath(module)),
      isMatched(settings.states.size()), isUsed(settings.states.size()) {
  module.walk([&](RepeatOp repeat) { repeated.insert(repeat.getAxis().getName()); });
  for (StringRef batch : batchAxes(module))
    for (const AxisRule &rule : settings.axes)
      if (batch == rule.axis && !llvm::is_contained(dataAxes, rule.along))
        for (AxisAttr axis : mesh.getAxes())
          if (axis.getName() == rule.along) dataAxes.push_back(axis.getName());
}

StateOp StateShardings::ownerOf(StateOp state) const {
  auto owner = byPath.find(state.getPath().rsplit('.').first);
  bool isOwned = state.getKind() == "moment" && owner != byPath.end() && StateOp(owner->second).isParameter();
  return isOwned ? StateOp(owner->second) : state;
}

/// "vocab, embed"
static std::string listAxes(NamedTensorType type) {
  return llvm::join(llvm::map_range(type.getAxes(), [](AxisAttr axis) { return axis.getName(); }), ", ");
}

/// The first ones of them.
std::string StateShardings::listParameters() const {
  constexpr size_t most = 12;
  SmallVector<StringRef> paths;
  for (StateOp state : table)
    if (state.isParameter()) paths.push_back(state.getPath());
  std::string rest = paths.size() > most ? llvm::formatv(" and {0} more", paths.size() - most).str() : "";
  if (paths.size() > most) paths.truncate(most);
  return llvm::join(paths, ", ") + rest;
}

/// Divides an axis of a state as a rule says.
bool StateShardings::divide(StateOp state, const StateRule &rule, Sharding &sharding, std::string &problem) const {
  NamedTensorType type = state.getTensorType();
  std::string what = llvm::formatv("`{0}` is to be divided along `{1}`", state.getPath(), rule.axis);
  auto meshAxis = llvm::find_if(mesh.getAxes(), [&](AxisAttr axis) { return axis.getName() == rule.along; });
  auto axis = llvm::find_if(type.getAxes(), [&](AxisAttr axis) { return axis.getName() == rule.axis; });
  if (meshAxis == mesh.getAxes().end()) {
    problem = what + ", which is laid along `" + rule.along + "`, but the mesh has no such axis";
  } else if (axis == type.getAxes().end()) {
    problem = what + ", an axis that it lacks: it has " + (type.getAxes().empty() ? "none" : listAxes(type));
  } else if (int64_t size = AxisAttr(*axis).getSize(), ranks = mesh.size(rule.along);
             !rule.path.empty() && size < ranks) {
    problem = llvm::formatv("{0}, which has {1} elements for {2} ranks", what, size, ranks);
  } else if (StringRef other = sharding.axisAlong(rule.along); !other.empty() && other != rule.axis) {
    problem =
        what + " and along `" + other.str() + "`, both laid along `" + rule.along + "`: a mesh axis divides one axis";
  } else if (StringRef other = sharding.meshAxis(rule.axis); !other.empty() && other != rule.along) {
    problem = what + ", laid along both `" + other.str() + "` and `" + rule.along + "`: an axis is divided along one";
  } else {
    // The strings of types and of the mesh live as long as the context.
    sharding.divide(AxisAttr(*axis).getName(), AxisAttr(*meshAxis).getName());
    return true;
  }
  return false;
}

/// 1.
bool StateShardings::addOwn(StateOp state, Sharding &sharding, std::string &problem) const {
  Sharding own = Sharding::of(state);
  return llvm::all_of(own.getParts(), [&](const Sharding::Part &part) {
    return divide(state, {"", part.axis.str(), part.mesh.str()}, sharding, problem);
  });
}

/// 2. What an attribute said of an axis, or of a mesh axis, stays.
bool StateShardings::addRules(StateOp state, Sharding &sharding, std::string &problem) {
  Sharding byPaths;
  StringRef owner = ownerOf(state).getPath();
  for (auto [i, rule] : llvm::enumerate(settings.states)) {
    if (!matchesPath(rule.path, std::string_view(state.getPath())) && !matchesPath(rule.path, std::string_view(owner)))
      continue;
    // A pattern is about the states among those that it matches which have the axis.
    isMatched[i] = true;
    bool isPattern = rule.path.find('*') != std::string::npos;
    if (isPattern && !state.getTensorType().hasAxis(rule.axis)) continue;
    isUsed[i] = true;
    if (!divide(state, rule, byPaths, problem)) return false;
  }
  sharding = sharding.unitedWith(byPaths).unitedWith(rules.byRules(state.getTensorType()));
  return true;
}

/// 4.
void StateShardings::addZero(StateOp state, Sharding &sharding) const {
  ZeroLevel from = state.isParameter() ? ZeroLevel::Weights : ZeroLevel::Moments;
  if (settings.zeroLevel() < from || !(state.isParameter() || state.getKind() == "moment")) return;
  for (StringRef along : dataAxes) {
    int64_t ranks = mesh.size(along);
    auto worth = [&](AxisAttr axis) { return std::pair(axis.getSize() % ranks == 0, axis.getSize()); };
    AxisAttr best;
    for (AxisAttr axis : state.getTensorType().getAxes()) {
      bool isFree = sharding.meshAxis(axis.getName()).empty() && !repeated.contains(axis.getName());
      if (isFree && axis.getSize() >= ranks && (!best || worth(axis) > worth(best))) best = axis;
    }
    if (best && !sharding.uses(along)) sharding.divide(best.getName(), along);
  }
}

std::string StateShardings::problemOfZero() const {
  if (settings.zeroLevel() == ZeroLevel::None || !dataAxes.empty()) return "";
  return "ZeRO divides state among ranks that the batch is divided among, but no mesh axis has the batch laid along "
         "it" +
         std::string(mesh.has("data") ? "" : ": add an axis `data` to --mesh");
}

std::optional<llvm::StringMap<Sharding>> StateShardings::find(std::string &problem) {
  if (problem = problemOfZero(); !problem.empty()) return std::nullopt;
  llvm::StringMap<Sharding> found;
  for (StateOp state : table) {
    Sharding &sharding = found[state.getPath()];
    if (!addOwn(state, sharding, problem) || !addRules(state, sharding, problem)) return std::nullopt;
    addZero(state, sharding);
  }
  for (auto [rule, matched, used] : llvm::zip(settings.states, isMatched, isUsed)) {
    if (used) continue;
    problem = matched ? "no state that `" + rule.path + "` matches has the axis `" + rule.axis + "`"
                      : "no state has a path that `" + rule.path + "` matches; the parameters are " + listParameters();
    return std::nullopt;
  }
  return found;
}
