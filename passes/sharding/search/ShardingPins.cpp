//===- ShardingPins.cpp - what the user says of a sharding that is searched ===//

#include "passes/sharding/search/ShardingPins.h"
#include "ir/dialect/GraphBuilder.h"
#include "ir/program/Program.h"
#include "passes/sharding/MeshRules.h"
#include "passes/sharding/StateShardings.h"
#include "passes/sharding/search/ShardingSearch.h"
#include "runtime/base/PathPattern.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/FormatVariadic.h"

using namespace mlir;
using namespace tessera;

/// What rows of data are laid along unless the user says otherwise.
static constexpr StringLiteral dataAxis = "data";

ShardingPins::ShardingPins(ModuleOp module, ShardSettings words)
    : module(module), settings(std::move(words)), rows(batchAxes(module)) {
  auto note = [&](StringRef name) {
    if (!llvm::is_contained(named, name)) named.push_back(intern(name));
  };
  for (const auto &[name, size] : settings.mesh) note(name);
  if (!haveMesh()) {
    for (const AxisRule &rule : settings.axes) note(rule.along);
    for (const StateRule &rule : settings.states) note(rule.along);
    for (StateOp state : stateTable(module)) { // what an edited module says
      Sharding own = Sharding::of(state);
      for (const Sharding::Part &part : own.getParts()) note(part.mesh);
    }
  }
  bool areLaid = llvm::any_of(settings.axes, [&](const AxisRule &rule) { return llvm::is_contained(rows, rule.axis); });
  bool isNamed = haveMesh() ? settings.zeroLevel() != ZeroLevel::None : llvm::is_contained(named, dataAxis);
  findsRows = settings.zero && !areLaid && !isNamed && !rows.empty();
}

StringRef ShardingPins::intern(StringRef text) const { return StringAttr::get(module->getContext(), text).getValue(); }

SmallVector<int64_t, mostMeshAxes> ShardingPins::getMesh() const {
  SmallVector<int64_t, mostMeshAxes> mesh;
  for (const auto &[name, size] : settings.mesh) mesh.push_back(size);
  return mesh;
}

/// All ways to give the names from one on to axes that have none.
void ShardingPins::arrange(ArrayRef<int64_t> mesh, Names names, unsigned next, std::vector<Names> &arranged) const {
  if (next == named.size()) {
    arranged.push_back(names);
    return;
  }
  for (StringRef &name : names) {
    if (!name.empty()) continue;
    name = named[next];
    arrange(mesh, names, next + 1, arranged);
    name = "";
  }
}

std::vector<PinnedMesh> ShardingPins::namingsOf(ArrayRef<int64_t> mesh, std::string &problem) const {
  std::vector<Names> arranged;
  if (haveMesh())
    arranged.emplace_back(named.begin(), named.end());
  else
    arrange(mesh, Names(mesh.size()), 0, arranged);
  std::vector<PinnedMesh> namings;
  auto add = [&](const Names &names, std::optional<unsigned> data) {
    if (std::optional<PinnedMesh> pinned = pin(mesh, names, data, problem)) namings.push_back(std::move(*pinned));
  };
  for (const Names &names : arranged) {
    if (findsRows)
      for (unsigned i = 0; i < mesh.size(); ++i)
        if (names[i].empty() || (haveMesh() && mesh[i] > 1)) add(names, i);
    if (!findsRows || settings.zero == ZeroLevel::None) add(names, std::nullopt);
  }
  return namings;
}

/// `data`: what rows of data are laid along if the user does not say it.
std::optional<PinnedMesh> ShardingPins::pin(ArrayRef<int64_t> mesh, const Names &names, std::optional<unsigned> data,
                                            std::string &problem) const {
  PinnedMesh pinned;
  pinned.ranks.assign(mesh.begin(), mesh.end()), pinned.names = names, pinned.zero = settings.zero;
  if (data && names[*data].empty()) pinned.names[*data] = dataAxis;
  ShardSettings said = settings;
  for (StringRef row : rows) {
    if (data)
      said.axes.push_back({row.str(), pinned.names[*data].str()});
    else if (findsRows)
      pinned.wholeAxes.push_back(row);
  }
  SmallVector<AxisAttr> axes;
  for (auto [name, ranks] : llvm::zip(pinned.names, mesh))
    if (!name.empty()) axes.push_back(tessera::axis(module->getContext(), name, ranks));
  for (const AxisRule &rule : said.axes) pinned.rules.divide(intern(rule.axis), intern(rule.along));
  ProgramMesh namedMesh(axes);
  std::string wrong = problemOfMesh(module, namedMesh);
  if (wrong.empty()) wrong = problemOfRules(module, pinned.rules, namedMesh);
  Assignment assignment(namedMesh, pinned.rules);
  StateShardings withZero(module, namedMesh, assignment, said);
  if (wrong.empty()) wrong = withZero.problemOfZero();
  for (auto [i, name] : llvm::enumerate(pinned.names))
    if (llvm::is_contained(withZero.getDataAxes(), name)) pinned.data.push_back(i);
  if (wrong.empty()) {
    said.zero.reset();
    if (auto ofStates = StateShardings(module, namedMesh, assignment, said).find(wrong))
      pinned.ofStates = std::move(*ofStates);
  }
  if (wrong.empty()) return pinned;
  problem = wrong;
  return std::nullopt;
}

//===----------------------------------------------------------------------===//
// Problems
//===----------------------------------------------------------------------===//

/// The most axes that a mesh of so many devices has.
static unsigned mostAxesOf(int64_t devices) {
  unsigned most = 0;
  for (int64_t factor = 2; devices > 1; ++factor)
    for (; devices % factor == 0; devices /= factor) ++most;
  return std::min(most, mostMeshAxes);
}

std::string tessera::problemOfPins(ModuleOp module, int64_t devices) {
  ShardingPins pins(module, ShardSettings::of(module));
  if (!pins.areGiven()) return "";
  if (pins.haveMesh()) {
    int64_t ranks = ProgramMesh::of(module).ranks();
    if (ranks != devices)
      return llvm::formatv("the mesh has {0} rank{1}, and --devices says {2}: say the same number with both", ranks,
                           ranks == 1 ? "" : "s", devices);
    if (pins.getMesh().size() > mostMeshAxes)
      return llvm::formatv("--devices searches meshes with at most {0} axes, and the mesh has {1}", mostMeshAxes,
                           pins.getMesh().size());
  } else if (unsigned most = mostAxesOf(devices); pins.getNamed().size() > most) {
    return llvm::formatv("axes are laid along the mesh axes {0}, and a mesh of {1} devices has at most {2} {3}",
                         llvm::join(pins.getNamed(), ", "), devices, most, most == 1 ? "axis" : "axes");
  }
  std::string problem;
  for (const Mesh &mesh : meshesOf(devices, pins))
    if (!pins.namingsOf(mesh, problem).empty()) return "";
  return problem;
}

ShardSettings tessera::wordsOf(ModuleOp module) {
  ShardSettings words = ShardSettings::of(module);
  for (StateOp state : stateTable(module)) {
    Sharding own = Sharding::of(state);
    for (const Sharding::Part &part : own.getParts())
      words.states.push_back({state.getPath().str(), part.axis.str(), part.mesh.str()});
  }
  return words;
}

static bool follows(Operation *op, StringRef axis, StringRef along) {
  return !isa<RepeatOp>(op) && Sharding::of(op).meshAxis(axis) == along;
}

std::string tessera::problemOfUnfollowed(ModuleOp module, const ShardSettings &said) {
  ProgramMesh mesh = ProgramMesh::of(module);
  for (const StateRule &rule : said.states) {
    if (mesh.size(rule.along) == 1) continue;
    for (StateOp state : stateTable(module)) {
      bool isMeant =
          matchesPath(rule.path, std::string_view(state.getPath())) && state.getTensorType().hasAxis(rule.axis);
      if (!isMeant || follows(state, rule.axis, rule.along)) continue;
      int64_t size = state.getTensorType().getSize(rule.axis), ranks = mesh.size(rule.along);
      return llvm::formatv("`{0}` is to be divided along `{1}`, ", state.getPath(), rule.axis).str() +
             (size < ranks ? llvm::formatv("which has {0} elements for {1} ranks", size, ranks).str()
                           : "which --devices cannot: it divides no axis of a repeat, and what the optimizer keeps for "
                             "a parameter alike");
    }
  }
  for (const AxisRule &rule : said.axes) {
    if (mesh.size(rule.along) == 1) continue;
    bool isFollowed = module
                          .walk([&](Operation *op) {
                            return follows(op, rule.axis, rule.along) ? WalkResult::interrupt() : WalkResult::advance();
                          })
                          .wasInterrupted();
    if (!isFollowed)
      return llvm::formatv("`{0}` is laid along `{1}`, but no op or state that has it can be divided so", rule.axis,
                           rule.along);
  }
  return "";
}
