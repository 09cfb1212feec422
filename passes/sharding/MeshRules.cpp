//===- MeshRules.cpp - what the user says of axes, and what is wrong with it ===//

#include "passes/sharding/MeshRules.h"
#include "ir/dialect/Attributes.h"
#include "ir/program/Program.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/ADT/StringSet.h"

using namespace mlir;
using namespace tessera;

SmallVector<StringRef> tessera::declaredAxes(ModuleOp module) {
  auto declared = module->getAttrOfType<ArrayAttr>(attrs::axes);
  return declared ? names(declared) : SmallVector<StringRef>();
}

std::string tessera::problemOfMesh(ModuleOp module, const ProgramMesh &mesh) {
  SmallVector<StringRef> axes = declaredAxes(module);
  llvm::StringSet<> known;
  for (AxisAttr axis : mesh.getAxes()) {
    std::string name = "the mesh axis `" + axis.getName().str() + "`";
    if (axis.getSize() < 1) return name + " has no ranks";
    if (!known.insert(axis.getName()).second) return "the mesh has two axes `" + axis.getName().str() + "`";
    if (llvm::is_contained(axes, axis.getName())) return name + " is an axis of the program: rename it";
  }
  return "";
}

/// The largest size of an axis of that name; 0: no value has it.
static int64_t largestSize(ModuleOp module, StringRef axis) {
  int64_t largest = 0;
  module.walk([&](Operation *op) {
    auto note = [&](Type type) {
      if (auto tensor = dyn_cast<NamedTensorType>(type); tensor && tensor.hasAxis(axis))
        largest = std::max(largest, tensor.getSize(axis));
    };
    if (auto state = dyn_cast<StateOp>(op)) note(state.getTensorType());
    llvm::for_each(op->getResultTypes(), note);
    for (Region &region : op->getRegions())
      for (Block &block : region) llvm::for_each(block.getArgumentTypes(), note);
  });
  return largest;
}

static std::string namesOfMesh(const ProgramMesh &mesh) {
  return llvm::join(llvm::map_range(mesh.getAxes(), [](AxisAttr axis) { return axis.getName(); }), ", ");
}

/// Axes that some value has with at least `ranks` elements, and that are laid along no mesh axis.
static std::string namesOfAxes(ModuleOp module, int64_t ranks, const Sharding &rules = {}) {
  auto isPossible = [&](StringRef axis) { return largestSize(module, axis) >= ranks && rules.meshAxis(axis).empty(); };
  return llvm::join(llvm::make_filter_range(declaredAxes(module), isPossible), ", ");
}

std::string tessera::problemOfRules(ModuleOp module, const Sharding &rules, const ProgramMesh &mesh) {
  SmallVector<StringRef> axes = declaredAxes(module);
  for (const Sharding::Part &part : rules.getParts()) {
    std::string what = "`" + part.axis.str() + "` is laid along `" + part.mesh.str() + "`, ";
    bool isReversed = mesh.has(part.axis) && llvm::is_contained(axes, part.mesh);
    if (isReversed)
      return what + "but `" + part.axis.str() + "` is the axis of the mesh: write " + part.mesh.str() + "=" +
             part.axis.str();
    if (!mesh.has(part.mesh)) return what + "which the mesh lacks; it has " + namesOfMesh(mesh);
    int64_t size = largestSize(module, part.axis), ranks = mesh.size(part.mesh);
    if (size == 0) return what + "but the program has no such axis; it has " + namesOfAxes(module, 1);
    if (size < ranks)
      return what + "but has " + std::to_string(size) + (size == 1 ? " element for " : " elements for ") +
             std::to_string(ranks) + " ranks";
  }
  return "";
}

std::string tessera::problemOfUnused(ModuleOp module, const ProgramMesh &mesh, const Sharding &rules,
                                     const llvm::StringMap<Sharding> &ofState) {
  for (AxisAttr axis : mesh.getAxes()) {
    StringRef name = axis.getName();
    bool isUsed = rules.uses(name) || llvm::any_of(ofState, [&](auto &entry) { return entry.second.uses(name); });
    if (isUsed || axis.getSize() == 1) continue;
    std::string problem = "nothing is laid along the mesh axis `" + name.str() + "`";
    std::string possible = namesOfAxes(module, axis.getSize(), rules);
    return possible.empty() ? problem + ", and no axis of the program is long enough for its ranks"
                            : problem + ": add --shard AXIS=" + name.str() + ", with one of the axes " + possible;
  }
  return "";
}
