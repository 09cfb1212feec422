//===- ProgramMesh.cpp - the ranks of a program, as named axes -------------------===//

#include "ir/program/ProgramMesh.h"
#include "ir/dialect/Attributes.h"

using namespace mlir;
using namespace tessera;

ProgramMesh ProgramMesh::of(ModuleOp module) {
  ProgramMesh mesh;
  if (auto axes = module->getAttrOfType<ArrayAttr>(attrs::mesh))
    for (Attribute axis : axes) mesh.axes.push_back(cast<AxisAttr>(axis));
  return mesh;
}

void ProgramMesh::set(ModuleOp module, ArrayRef<AxisAttr> axes) {
  SmallVector<Attribute> list(axes);
  module->setAttr(attrs::mesh, ArrayAttr::get(module.getContext(), list));
}

bool ProgramMesh::has(StringRef name) const {
  return llvm::any_of(axes, [&](AxisAttr axis) { return axis.getName() == name; });
}

int64_t ProgramMesh::size(StringRef name) const {
  auto found = llvm::find_if(axes, [&](AxisAttr axis) { return axis.getName() == name; });
  assert(found != axes.end() && "the mesh lacks the axis");
  return AxisAttr(*found).getSize();
}

int64_t ProgramMesh::ranks() const {
  int64_t ranks = 1;
  for (AxisAttr axis : axes) ranks *= axis.getSize();
  return ranks;
}
