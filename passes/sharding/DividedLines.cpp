//===- DividedLines.cpp - what each line of the model is divided along ----===//

#include "passes/sharding/DividedLines.h"
#include "ir/program/Program.h"
#include "passes/sharding/Sharding.h"
#include <map>

using namespace mlir;
using namespace tessera;

namespace {
struct DividedLine {
  int64_t ops = 0;
  std::map<std::string, std::map<std::string, int64_t>> divided; ///< ops, by mesh axis and axis
};
} // namespace

static DictionaryAttr describe(StringRef file, unsigned line, const DividedLine &divided, Builder &b) {
  SmallVector<NamedAttribute> byMeshAxis;
  for (const auto &[along, axes] : divided.divided) {
    SmallVector<NamedAttribute> counts;
    for (const auto &[axis, count] : axes) counts.push_back(b.getNamedAttr(axis, b.getI64IntegerAttr(count)));
    byMeshAxis.push_back(b.getNamedAttr(along, b.getDictionaryAttr(counts)));
  }
  return b.getDictionaryAttr({b.getNamedAttr("at", b.getStringAttr(file + ":" + Twine(line))),
                              b.getNamedAttr("ops", b.getI64IntegerAttr(divided.ops)),
                              b.getNamedAttr("divided", b.getDictionaryAttr(byMeshAxis))});
}

/// Of ops in a composite the composite counts.
static bool countsAsDivided(Operation *op) {
  return op->getNumResults() > 0 && isa<func::FuncOp, RepeatOp>(op->getParentOp()) &&
         !isa<RepeatOp, RenameOp, ConstantOp, IndexOp>(op) && !spaceOf(op).empty();
}

ArrayAttr tessera::describeDividedLines(func::FuncOp function) {
  std::map<std::pair<std::string, unsigned>, DividedLine> lines;
  function.walk([&](Operation *op) {
    FileLineColLoc place = userPlace(op->getLoc());
    if (!place || !countsAsDivided(op)) return;
    DividedLine &line = lines[{fileNameInLines(place.getFilename().getValue()), place.getLine()}];
    ++line.ops;
    Sharding sharding = Sharding::of(op);
    for (const Sharding::Part &part : sharding.getParts()) ++line.divided[part.mesh.str()][part.axis.str()];
  });
  Builder b(function.getContext());
  SmallVector<Attribute> list;
  for (const auto &[place, line] : lines) list.push_back(describe(place.first, place.second, line, b));
  return b.getArrayAttr(list);
}
