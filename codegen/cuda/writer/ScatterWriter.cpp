//===- ScatterWriter.cpp - kernels that scatter -----------------------------===//
//
// docs/ir.md, Kernels, rule 4. There are no atomics: the owner of a part of the result fills it, with zeros or with
// `init`, and adds to it in the order of the serial loops. Updates out of range are dropped. The owner is
//
//   a block      that owns some positions at all points, if all points add at the same positions (the gradient of an
//                embedding). It reads all positions, as many at a time as it has threads, collects its own in shared
//                memory, and adds these updates one after the other, one thread for each point;
//   a thread     that owns its point at all positions, in other kernels.
//
//===----------------------------------------------------------------------===//

#include "codegen/cuda/writer/KernelWriter.h"
#include "codegen/cuda/writer/Scalars.h"
#include "llvm/ADT/StringExtras.h"

using namespace mlir;
using namespace tessera;
using namespace tessera::cuda;

void KernelWriter::writeScatter() {
  if (mapping.ownPositions > 0)
    writeScatterByPositions();
  else
    writeScatterByPoints();
}

/// result[place] += update, where `place` is an offset.
void KernelWriter::writeAddition(StringRef place) {
  ScatterAddOp scatter = plan.scatter;
  const Access &write = plan.writes.front();
  std::string element = parameters[write.argument] + "[" + place.str() + "]";
  Type wide = accumulatorType(write.element);
  std::string sum = castTo(element, write.element, wide) + " + " +
                    castTo(use(scatter.getUpdates()), scatter.getUpdates().getType().getElementType(), wide);
  text.line(element + " = " + castTo(sum, wide, write.element) + ";");
}

/// Computes `roots` and the values that they depend on, as far as they are not in scope.
void KernelWriter::writeDependenciesOf(ValueRange roots) {
  llvm::SmallPtrSet<Value, 8> needed;
  for (Value item : llvm::reverse(plan.items)) {
    Operation *op = item.getDefiningOp();
    bool isRoot = llvm::is_contained(roots, item);
    if (!isRoot && llvm::none_of(item.getUsers(), [&](Operation *user) {
          return user->getNumResults() == 1 && needed.contains(user->getResult(0));
        }))
      continue;
    if (!isa_and_nonnull<ScatterAddOp>(op)) needed.insert(item);
  }
  Segment segment;
  for (Value item : plan.items)
    if (needed.contains(item)) segment.items.push_back(item);
  writeSegment(segment);
}

/// The condition that all indices are in range, and the number of the position in row-major order.
std::pair<std::string, std::string> KernelWriter::positionOf() {
  ScatterAddOp scatter = plan.scatter;
  SmallVector<std::string> inside, parts;
  int64_t within = 1;
  SmallVector<StringRef> axes = names(scatter.getAxes());
  for (size_t i = axes.size(); i-- > 0;) {
    int64_t size = scatter.getType().getSize(axes[i]);
    std::string index = use(scatter.getIndices()[i]);
    inside.push_back("tsr::is_inside(" + index + ", " + std::to_string(size) + ")");
    parts.push_back((within == 1 ? "" : std::to_string(within) + " * ") + (indexType == "int" ? "int(" : "tsr::i64(") +
                    index + ")");
    within *= size;
  }
  return {llvm::join(inside, " && "), llvm::join(parts, " + ")};
}

/// The offset of a position, given its number, at the current point.
std::string KernelWriter::offsetOf(StringRef position) {
  ScatterAddOp scatter = plan.scatter;
  NamedTensorType type = scatter.getType();
  std::string offset = expression(plan.writes.front().offset);
  SmallVector<StringRef> axes = names(scatter.getAxes());
  int64_t within = 1;
  for (size_t i = axes.size(); i-- > 0;) {
    std::string index = position.str();
    if (within != 1) index += " / " + std::to_string(within);
    if (i != 0) index = (within != 1 ? "(" + index + ")" : index) + " % " + std::to_string(type.getSize(axes[i]));
    within *= type.getSize(axes[i]);
    int64_t stride = type.getStrides()[type.findAxis(axes[i])];
    bool isSimple = index == position;
    offset += " + " + (stride == 1 ? "" : std::to_string(stride) + " * ") + (isSimple ? index : "(" + index + ")");
  }
  return offset;
}

void KernelWriter::openFill() {
  ScatterAddOp scatter = plan.scatter;
  if (auto init = dyn_cast_if_present<BlockArgument>(scatter.getInit()))
    text.open("if (" + parameters[init.getArgNumber()] + " != " + parameters[plan.writes.front().argument] + ")");
}

/// Fills one element that the thread or block owns.
void KernelWriter::writeFill(StringRef place) {
  ScatterAddOp scatter = plan.scatter;
  const Access &write = plan.writes.front();
  auto init = dyn_cast_if_present<BlockArgument>(scatter.getInit());
  std::string start = init ? parameters[init.getArgNumber()] + "[" + place.str() + "]" : literal(0.0, write.element);
  text.line(parameters[write.argument] + "[" + place + "] = " + start + ";");
}

void KernelWriter::closeFill() {
  ScatterAddOp scatter = plan.scatter;
  if (scatter.getInit()) text.close();
}

void KernelWriter::writeScatterByPoints() {
  writePoint();
  ScatterAddOp scatter = plan.scatter;
  openFill();
  text.open("for (" + indexType + " position = 0; position < " + Twine(mapping.positions) + "; ++position)");
  writeFill(offsetOf("position"));
  text.close();
  closeFill();

  text.open("for (" + indexType + " s = 0; s < " + Twine(mapping.serialCount) + "; ++s)");
  declareIndices(plan.loops.parallelCount, plan.loops.sizes.size(), "s");
  frames.emplace_back();
  writeDependenciesOf(scatter->getOperands());
  auto [inside, position] = positionOf();
  text.open("if (" + inside + ")");
  text.line("const " + indexType + " position = " + position + ";");
  writeAddition(offsetOf("position"));
  text.close();
  frames.pop_back();
  text.close();
}

/// The barrier in `count_chosen` separates the reads of the collected positions from the next writes.
void KernelWriter::writeScatterByPositions() {
  ScatterAddOp scatter = plan.scatter;
  std::string block = std::to_string(mapping.block), points = std::to_string(mapping.points);
  std::string own = std::to_string(mapping.ownPositions), type = indexType;
  bool hasTail = mapping.positions % mapping.ownPositions != 0;
  auto openPoints = [&] {
    text.open("for (" + type + " point = threadIdx.x; point < " + points + "; point += " + block + ")");
    declareIndices(0, plan.loops.parallelCount, "point");
  };
  text.line("const " + type + " first = " + (type == "int" ? "" : "tsr::i64(") + blockNumber +
            (type == "int" ? "" : ")") + " * " + own + "; // of the positions that the block owns");
  openFill();
  text.open("for (" + type + " position = first; position < first + " + own +
            (hasTail ? " && position < " + std::to_string(mapping.positions) : "") + "; ++position)");
  openPoints();
  writeFill(offsetOf("position"));
  text.close();
  text.close();
  closeFill();

  text.line("TSR_SHARED(int, counts, " + Twine(mapping.block / 32) + ");");
  text.line("TSR_SHARED(" + type + ", found, " + block + ");");
  text.line("TSR_SHARED(" + type + ", found_at, " + block + ");");
  std::string serial = std::to_string(mapping.serialCount);
  text.open("for (" + type + " start = 0; start < " + serial + "; start += " + block + ")");
  frames.emplace_back();
  bool isWhole = mapping.serialCount % mapping.block == 0;
  std::string number = "start + threadIdx.x";
  text.line("const " + type +
            " s = " + (isWhole ? number : "tsr::clamp(" + type + "(" + number + "), " + serial + ")") + ";");
  declareIndices(plan.loops.parallelCount, plan.loops.sizes.size(), "s");
  writeDependenciesOf(scatter.getIndices());
  auto [inside, position] = positionOf();
  text.line("const " + type + " position = " + position + ";");
  text.line("const bool is_own = " + (isWhole ? "" : number + " < " + serial + " && ") + inside +
            " && position >= first && position < first + " + own + ";");
  text.line("int place;");
  text.line("const int many = tsr::count_chosen<" + Twine(mapping.block / 32) + ">(is_own, counts, place);");
  text.line("if (is_own) found.set(place, s);");
  text.line("if (is_own) found_at.set(place, position);");
  text.line("tsr::sync_block();");
  frames.pop_back();
  text.open("for (int i = 0; i < many; ++i)");
  text.line("const " + type + " s = found.get(i), position = found_at.get(i);");
  declareIndices(plan.loops.parallelCount, plan.loops.sizes.size(), "s");
  openPoints();
  frames.emplace_back();
  writeDependenciesOf(scatter.getUpdates());
  writeAddition(offsetOf("position"));
  frames.pop_back();
  text.close();
  text.close();
  text.close();
}
