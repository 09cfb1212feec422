//===- ScatterWriter.cpp - kernels that scatter -----------------------------===//
//
// docs/ir.md, Kernels, rule 4. There are no atomics: the owner of a part of the result fills it, with zeros or with
// `init`, and adds to it in the order of the serial loops. Updates out of range are dropped. The owner is
//
//   a block      that owns some positions at some points, if all points add at the same positions (the gradient of an
//                embedding). Positions are dealt out to blocks in turn, because adjacent ones are often equally
//                frequent. A block reads all positions, collects its own in shared memory, and sorts them when it has
//                enough. The updates of a position are a run: a row of the block's threads loads several at a time,
//                adds them in order to a sum in registers, and stores it once;
//   a thread     that owns its point at all positions, in other kernels.
//
//===----------------------------------------------------------------------===//

#include "codegen/cuda/writer/KernelWriter.h"
#include "codegen/cuda/writer/Scalars.h"
#include "llvm/ADT/StringExtras.h"

using namespace mlir;
using namespace tessera;
using namespace tessera::cuda;

/// Serial iterations whose positions a thread reads together.
static constexpr int64_t positionsAtOnce = 4;
/// The most updates of a position that a thread loads together, and 32-bit registers for them.
static constexpr int64_t mostUpdates = 12, updateRegisters = 48;
/// Vectors that a thread copies together.
static constexpr int64_t copiesAtOnce = 4;

void KernelWriter::writeScatter() {
  if (mapping.ownPositions > 0)
    writeScatterByPositions();
  else
    writeScatterByPoints();
}

/// An element of the result, and the update of the current iteration.
std::string KernelWriter::added(StringRef sum) {
  ScatterAddOp scatter = plan.scatter;
  Type element = plan.writes.front().element, wide = accumulatorType(element);
  std::string both = castTo(sum, element, wide) + " + " +
                     castTo(use(scatter.getUpdates()), scatter.getUpdates().getType().getElementType(), wide);
  return castTo(both, wide, element);
}

/// `roots` and the values that they depend on.
KernelWriter::Segment KernelWriter::dependenciesOf(ValueRange roots) const {
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
  segment.items = llvm::filter_to_vector(plan.items, [&](Value item) { return needed.contains(item); });
  return segment;
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

/// Writes a fill of the result, unless it has the storage of `init`.
void KernelWriter::writeUnlessInPlace(llvm::function_ref<void()> fill) {
  ScatterAddOp scatter = plan.scatter;
  auto init = dyn_cast_if_present<BlockArgument>(scatter.getInit());
  if (!init) return fill();
  text.open("if (" + parameters[init.getArgNumber()] + " != " + parameters[plan.writes.front().argument] + ")");
  fill();
  text.close();
}

//===----------------------------------------------------------------------===//
// A thread owns its point
//===----------------------------------------------------------------------===//

void KernelWriter::writeScatterByPoints() {
  writePoint();
  ScatterAddOp scatter = plan.scatter;
  const Access &write = plan.writes.front();
  const std::string &result = parameters[write.argument];
  writeUnlessInPlace([&] {
    text.open("for (" + indexType + " position = 0; position < " + Twine(mapping.positions) + "; ++position)");
    std::string place = offsetOf("position");
    auto init = dyn_cast_if_present<BlockArgument>(scatter.getInit());
    text.line(result + "[" + place + "] = " +
              (init ? parameters[init.getArgNumber()] + "[" + place + "]" : literal(0.0, write.element)) + ";");
    text.close();
  });

  text.open("for (" + indexType + " s = 0; s < " + Twine(mapping.serialCount) + "; ++s)");
  declareIndices(plan.loops.parallelCount, plan.loops.sizes.size(), "s");
  frames.emplace_back();
  writeSegment(dependenciesOf(scatter->getOperands()));
  auto [inside, position] = positionOf();
  text.open("if (" + inside + ")");
  text.line("const " + indexType + " position = " + position + ";");
  std::string element = result + "[" + offsetOf("position") + "]";
  text.line(element + " = " + added(element) + ";");
  text.close();
  frames.pop_back();
  text.close();
}

//===----------------------------------------------------------------------===//
// A block owns positions
//===----------------------------------------------------------------------===//

/// A vector of the result's type, or one element.
std::string KernelWriter::vectorLoad(unsigned argument, StringRef offset) {
  Access access = plan.writes.front();
  access.argument = argument;
  const std::string &from = parameters[argument];
  if (vector == 1) return from + "[" + offset.str() + "]";
  return (isVectorAccess(access) ? "tsr::load<" : "tsr::load_unaligned<") + std::to_string(vector) + ">(" + from +
         " + (" + offset.str() + "))";
}

void KernelWriter::writeVectorStore(StringRef offset, StringRef value) {
  const Access &write = plan.writes.front();
  const std::string &to = parameters[write.argument];
  if (vector == 1) return text.line(to + "[" + offset + "] = " + value + ";");
  text.line((isVectorAccess(write) ? "tsr::store(" : "tsr::store_unaligned(") + to + " + (" + offset + "), " + value +
            ");");
}

/// Fills the positions that the block owns. A barrier of the collection follows.
void KernelWriter::writeFill(int64_t rows, bool allActive) {
  ScatterAddOp scatter = plan.scatter;
  const Access &write = plan.writes.front();
  std::string type = scalarType(write.element).str(), width = std::to_string(vector);
  std::string vectorType = vector == 1 ? type : "tsr::vec<" + type + ", " + width + ">";
  auto init = dyn_cast_if_present<BlockArgument>(scatter.getInit());
  int64_t step = rows * mapping.positionBlocks(), count = init ? copiesAtOnce : 1;
  text.open("for (" + indexType + " first = slot + row * " + Twine(mapping.positionBlocks()) + "; first < " +
            Twine(mapping.positions) + "; first += " + Twine(count * step) + ")");
  std::string kept = unique("kept");
  if (init) text.line(vectorType + " " + kept + "[" + Twine(count) + "];");
  for (bool isLoad : {true, false}) {
    if (isLoad && !init) continue;
    text.flush("#pragma unroll");
    text.open("for (int k = 0; k < " + Twine(count) + "; ++k)");
    text.line("const " + indexType + " position = first + k * " + Twine(step) + ";");
    text.open("if (position < " + Twine(mapping.positions) + (allActive ? "" : " && active") + ")");
    std::string zero = literal(0.0, write.element);
    if (isLoad)
      text.line(kept + "[k] = " + vectorLoad(init.getArgNumber(), offsetOf("position")) + ";");
    else
      writeVectorStore(offsetOf("position"), init          ? kept + "[k]"
                                             : vector == 1 ? zero
                                                           : "tsr::filled<" + width + ">(" + zero + ")");
    text.close();
    text.close();
  }
  text.close();
}

/// Collects the block's own positions among the next ones, in the order of the serial loops: iterations in `found`,
/// their positions in `found_at`. The barrier in `count_chosen` separates earlier reads of these lists from the writes.
void KernelWriter::writeCollection() {
  ScatterAddOp scatter = plan.scatter;
  std::string count = std::to_string(positionsAtOnce), serial = std::to_string(mapping.serialCount);
  std::string numbers = unique("numbers"), positions = unique("positions"), more = unique("more");
  text.line("tsr::vec<bool, " + count + "> chosen;");
  text.line("tsr::vec<int, " + count + "> places;");
  text.line("tsr::vec<" + indexType + ", " + count + "> " + numbers + ", " + positions + ";");
  text.flush("#pragma unroll");
  text.open("for (int k = 0; k < " + count + "; ++k)");
  frames.emplace_back();
  text.line("const " + indexType + " i = start + threadIdx.x / 32 * " + Twine(32 * positionsAtOnce) +
            " + k * 32 + threadIdx.x % 32;");
  bool isWhole = mapping.serialCount % (mapping.block * positionsAtOnce) == 0;
  text.line("const " + indexType + " s = " + (isWhole ? "i" : "tsr::clamp(i, " + serial + ")") + ";");
  declareIndices(plan.loops.parallelCount, plan.loops.sizes.size(), "s");
  writeSegment(dependenciesOf(scatter.getIndices()));
  auto [inside, position] = positionOf();
  text.line(numbers + "[k] = s;");
  text.line(positions + "[k] = " + position + ";");
  text.line("chosen[k] = " + (isWhole ? "" : "i < " + serial + " && ") + inside + " && " + positions + "[k] % " +
            Twine(mapping.positionBlocks()) + " == slot;");
  frames.pop_back();
  text.close();
  text.line("const int " + more + " = tsr::count_chosen<" + Twine(mapping.block / 32) + ">(chosen, counts, places);");
  text.flush("#pragma unroll");
  text.open("for (int k = 0; k < " + count + "; ++k)");
  text.open("if (chosen[k])");
  text.line("found.set(many + places[k], " + numbers + "[k]);");
  text.line("found_at.set(many + places[k], " + positions + "[k]);");
  text.close();
  text.close();
  text.line("many += " + more + ";");
  text.line("tsr::sync_block();");
}

/// Adds the updates that have been collected, those of one position after the other.
void KernelWriter::writeRuns(int64_t rows, bool allActive) {
  ScatterAddOp scatter = plan.scatter;
  std::string sum = unique("sum");
  text.line("tsr::sort_by_key<" + Twine(mapping.block) + ">(many, found, found_at, sorted, begins, lengths);");
  text.open("for (int i = row; i < many; i += " + Twine(rows) + ")");
  text.line("const int begin = begins.get(i), length = lengths.get(i);");
  text.line("if (length == 0" + Twine(allActive ? "" : " || !active") + ") continue;");
  text.line("const " + indexType + " position = found_at.get(i), place = " + offsetOf("position") + ";");
  text.line("auto " + sum + " = " + vectorLoad(plan.writes.front().argument, "place") + ";");
  frames.emplace_back();
  Segment segment = dependenciesOf(scatter.getUpdates());
  segment.addsTo = sum;
  SmallVector<Value> loads = batchLoads(segment, ~plan.loops.parallelMask());
  int64_t count =
      loads.empty() ? 1 : std::clamp<int64_t>(updateRegisters / vectorRegisters(plan, loads, vector), 1, mostUpdates);
  text.open("for (int first = 0; first < length; first += " + Twine(count) + ")");
  auto declare = [&] {
    text.line("const " + indexType + " s = sorted.get(begin + first + k);");
    declareIndices(plan.loops.parallelCount, plan.loops.sizes.size(), "s");
  };
  writeBatch(segment, loads, count, {"", "first + k < length", declare},
             [&](const Segment &rest) { writeSegment(rest); });
  text.close();
  frames.pop_back();
  writeVectorStore("place", sum);
  text.close();
  text.line("many = 0;");
}

void KernelWriter::writeScatterByPositions() {
  int64_t slabs = mapping.slabs(), points = mapping.ownPoints, rows = mapping.block / points;
  int64_t chunk = mapping.block * positionsAtOnce, capacity = chunk + mapping.block;
  bool allActive = mapping.points % points == 0;
  std::string type = indexType, block = type == "int" ? blockNumber : "tsr::i64(" + blockNumber + ")";
  std::string number = slabs == 1 ? "" : block + " % " + std::to_string(slabs) + " * " + std::to_string(points) + " + ";
  number += "threadIdx.x % " + std::to_string(points);
  text.line("const " + type + " slot = " + block + (slabs == 1 ? "" : " / " + std::to_string(slabs)) + ";");
  text.line("const int row = threadIdx.x / " + Twine(points) + ";");
  if (!allActive) text.line("const bool active = " + number + " < " + Twine(mapping.points) + ";");
  text.line("const " + type + " point = " +
            (allActive ? number : "active ? " + number + " : " + std::to_string(mapping.points - 1)) + ";");
  declareIndices(0, plan.loops.parallelCount, "point");
  writeUnlessInPlace([&] { writeFill(rows, allActive); });

  text.line("TSR_SHARED(int, counts, " + Twine(mapping.block / 32) + ");");
  for (StringRef list : {"found", "found_at", "sorted"})
    text.line("TSR_SHARED(" + type + ", " + list + ", " + Twine(capacity) + ");");
  for (StringRef list : {"begins", "lengths"}) text.line("TSR_SHARED(int, " + list + ", " + Twine(capacity) + ");");
  text.line("int many = 0;");
  text.open("for (" + type + " start = 0; start < " + Twine(mapping.serialCount) + "; start += " + Twine(chunk) + ")");
  writeCollection();
  text.line("if (many <= " + Twine(capacity - chunk) + " && start + " + Twine(chunk) + " < " +
            Twine(mapping.serialCount) + ") continue;");
  writeRuns(rows, allActive);
  text.close();
}
