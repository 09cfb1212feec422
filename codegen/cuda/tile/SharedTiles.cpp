//===- SharedTiles.cpp - operands of a tiled op in shared memory ------------===//

#include "codegen/cuda/tile/SharedTiles.h"
#include "codegen/cuda/writer/Scalars.h"
#include "passes/kernel/ThreadMapping.h"
#include "llvm/ADT/StringExtras.h"

using namespace mlir;
using namespace tessera;
using namespace tessera::cuda;

int64_t SharedTiles::elementsOfTile(Value operand) const {
  return plan.mapping.otherLines * sharedLineStride(plan.sharedOperands.lookup(operand).extent);
}

std::string SharedTiles::startOf(Value operand) const {
  return plan.mapping.stages == 1 ? "" : stage + " * " + std::to_string(elementsOfTile(operand)) + " + ";
}

void SharedTiles::declare() {
  for (Value operand : llvm::make_first_range(plan.sharedOperands)) {
    std::string name = scope.unique(scope.parameterFor(operand) + "_tile");
    names[operand] = name;
    scope.text.line("TSR_SHARED(" + scalarType(tensorType(operand).getElementType()) + ", " + name + ", " +
                    Twine(plan.mapping.stages * elementsOfTile(operand)) + ");");
  }
  values.declare();
}

//===----------------------------------------------------------------------===//
// The loop
//===----------------------------------------------------------------------===//

SharedTiles::LineRange SharedTiles::linesInBand() const {
  int64_t others = plan.otherAxis().getSize(), lines = plan.mapping.otherLines, ownLines = plan.mapping.ownLines;
  // The other lines of own line i are i + least to i + most.
  std::optional<int64_t> least = plan.leastDiagonal(), most = plan.mostDiagonal();
  LineRange range{"0", std::to_string(others)};
  std::string base = "tile * " + std::to_string(ownLines);
  if (least)
    range.first = "tsr::clamp(" + base + " + " + std::to_string(*least) + ", " + std::to_string(others) + ") / " +
                  std::to_string(lines) + " * " + std::to_string(lines);
  if (most)
    range.end =
        "tsr::clamp(" + base + " + " + std::to_string(ownLines + *most) + ", " + std::to_string(others + 1) + ")";
  return range;
}

/// One loop, or, as an outer loop that is unrolled: the tiles that the band's lower edge crosses, those inside, and
/// those that its upper edge crosses or that are not full.
void SharedTiles::openTiles(const LineRange &range) {
  Text &text = scope.text;
  int64_t others = plan.otherAxis().getSize(), lines = plan.mapping.otherLines, ownLines = plan.mapping.ownLines;
  std::string index = scope.indexType, flip = plan.mapping.stages == 1 ? "" : ", " + stage + " ^= 1";
  std::string advance = "first += " + std::to_string(lines) + flip + ")";
  if (!plan.peelsEdges()) {
    text.open("for (" + index + " first = " + range.first + "; first < " + range.end + "; " + advance);
    return;
  }
  auto fromTile = [&](int64_t lines) {
    return "tile * " + std::to_string(ownLines) + (lines < 0 ? " - " : " + ") + std::to_string(std::abs(lines));
  };
  auto least = [&](const std::string &a, const std::string &b) {
    return "tsr::min<" + index + ">(" + a + ", " + b + ")";
  };
  SmallVector<std::string> limits;
  std::string inside = range.end;
  if (std::optional<int64_t> most = plan.mostDiagonal(); most && plan.hasMaskedEdges())
    inside = least(inside, fromTile(*most - lines + 2));
  if (plan.hasOtherTail()) inside = least(inside, std::to_string(others - lines + 1));
  if (std::optional<int64_t> first = plan.leastDiagonal(); first && plan.hasMaskedEdges())
    limits.push_back(least(range.end, fromTile(ownLines - 1 + *first)));
  int64_t interior = limits.size();
  limits.push_back(inside);
  if (inside != range.end) limits.push_back(range.end);
  std::string limit = scope.unique("limits"), count = std::to_string(limits.size());
  text.line("const " + index + " " + limit + "[" + count + "] = {" + llvm::join(limits, ", ") + "};");
  text.line("#pragma unroll");
  text.open("for (" + index + " zone = 0, first = " + range.first + "; zone < " + count + "; ++zone)");
  text.line("const bool at_edge = zone != " + Twine(interior) + "; // else the tile is full, and inside the band");
  text.open("for (; first < " + limit + "[zone]; " + advance);
}

void SharedTiles::openLoop(bool isFirstSweep, ArrayRef<Value> loaded) {
  Text &text = scope.text;
  int64_t lines = plan.mapping.otherLines;
  LineRange range = linesInBand();
  bool isFirst = isFirstSweep && plan.serialAxes.empty();
  for (Value operand : loaded) declareCopy(operand);
  std::string start = scope.unique("start"), end = scope.unique("end");
  text.line("const " + scope.indexType + " " + start + " = " + range.first + ", " + end + " = " + range.end + ";");
  range = {start, end};
  if (plan.mapping.stages == 1) {
    openTiles(range);
    scope.frames.emplace_back();
    if (!isFirst || plan.otherAxis().getSize() > lines)
      text.line("tsr::sync_block(); // the previous tile has been read");
    startCopies(loaded, "first");
    values.store("first", "");
    text.line("tsr::wait_for_copies();");
    text.line("tsr::sync_block();");
    return;
  }
  stage = scope.unique("stage");
  if (!isFirst) text.line("tsr::sync_block(); // the previous tiles have been read");
  text.line("int " + stage + " = 0;");
  text.open("if (" + start + " < " + end + ")");
  startCopies(loaded, start);
  values.store(start, "");
  text.close();
  openTiles(range);
  scope.frames.emplace_back();
  text.line("tsr::wait_for_copies();");
  text.line("tsr::sync_block(); // the tile is complete, and the previous one has been read");
  values.declareNext();
  text.open("if (first + " + Twine(lines) + " < " + end + ")");
  startCopies(loaded, "first + " + std::to_string(lines), /*toNextStage=*/true);
  values.loadNext("first + " + std::to_string(lines));
  text.close();
}

void SharedTiles::storeNextLines() {
  if (plan.mapping.stages == 1) return;
  values.storeNext("(1 - " + stage + ") * " + std::to_string(plan.mapping.otherLines) + " + ");
}

void SharedTiles::closeLoop() {
  scope.frames.pop_back();
  scope.text.close();
  if (plan.peelsEdges()) scope.text.close();
}

std::string SharedTiles::startOfLines() const {
  return plan.mapping.stages == 1 ? "" : stage + " * " + std::to_string(plan.mapping.otherLines) + " + ";
}

//===----------------------------------------------------------------------===//
// Copies
//===----------------------------------------------------------------------===//

/// How the threads of a block share a tile: adjacent ones copy the parts of a line, 16 bytes each, and the block as
/// many lines at a time as it has threads for.
SharedTiles::CopyShape SharedTiles::shapeOf(Value operand) const {
  auto [extent, strides] = plan.sharedOperands.lookup(operand);
  int64_t vector = vectorBytes / bytesOf(tensorType(operand).getElementType()), parts = paddedExtent(extent) / vector;
  int64_t threads = llvm::PowerOf2Ceil(parts);
  if (extent % vector != 0 || !scope.allowsVectors(operand, strides, vector) || threads > plan.mapping.threads())
    return {};
  return {vector, parts, threads, plan.mapping.threads() / threads};
}

/// Where the thread copies from and to: the addresses of a tile differ from these by constants and by a multiple of its
/// first line.
void SharedTiles::declareCopy(Value operand) {
  CopyShape shape = shapeOf(operand);
  if (shape.vector == 0) return;
  Text &text = scope.text;
  NamedTensorType type = tensorType(operand);
  auto [extent, strides] = plan.sharedOperands.lookup(operand);
  std::string parameter = scope.parameterFor(operand);
  Copy &copy = copies[operand] = {scope.unique(parameter + "_line"), scope.unique(parameter + "_part"),
                                  scope.unique(parameter + "_from")};
  text.line("const int " + copy.line + " = threadIdx.x / " + Twine(shape.threads) + ", " + copy.part +
            " = threadIdx.x % " + Twine(shape.threads) + " * " + Twine(shape.vector) + ";");
  text.line("const " + scalarType(type.getElementType()) + " *" + copy.from + " = " + parameter + " + (" +
            scope.batchOffset(type) + " + " + std::to_string(strides.line) + " * " + copy.line + " + " + copy.part +
            ");");
}

void SharedTiles::startCopies(ArrayRef<Value> operands, StringRef firstLine, bool toNextStage) {
  for (Value operand : operands) {
    std::string start = toNextStage ? "(1 - " + stage + ") * " + std::to_string(elementsOfTile(operand)) + " + " : "";
    if (shapeOf(operand).vector != 0)
      startCopy(operand, firstLine, start);
    else
      copyElements(operand, firstLine, start);
  }
}

/// Starts to copy a tile of an operand, with zeros outside it.
void SharedTiles::startCopy(Value operand, StringRef firstLine, StringRef start) {
  Text &text = scope.text;
  auto [extent, strides] = plan.sharedOperands.lookup(operand);
  CopyShape shape = shapeOf(operand);
  const Copy &copy = copies.find(operand)->second;
  int64_t lines = plan.mapping.otherLines, passes = llvm::divideCeil(lines, shape.lines);
  std::string line = copy.line + (passes > 1 ? " + " + std::to_string(shape.lines) + " * pass" : "");
  std::string offset = firstLine.str() + (passes > 1 ? " + " + std::to_string(shape.lines) + " * pass" : "");
  SmallVector<std::string> guards, conditions;
  if (shape.parts != shape.threads) guards.push_back(copy.part + " < " + std::to_string(paddedExtent(extent)));
  if (lines % shape.lines != 0) guards.push_back(line + " < " + std::to_string(lines));
  if (plan.hasOtherTail())
    conditions.push_back(firstLine.str() + " + " + line + " < " + std::to_string(plan.otherAxis().getSize()));
  if (paddedExtent(extent) != extent) conditions.push_back(copy.part + " < " + std::to_string(extent));
  std::string from = copy.from + " + " + std::to_string(strides.line) + " * (" + offset + ")";
  std::string at = start.str() + "(" + line + ") * " + std::to_string(sharedLineStride(extent)) + " + " + copy.part;
  if (passes > 1) {
    text.line("#pragma unroll");
    text.open("for (int pass = 0; pass < " + Twine(passes) + "; ++pass)");
  }
  text.line((guards.empty() ? "" : "if (" + llvm::join(guards, " && ") + ") ") + "tsr::start_copy<" +
            Twine(shape.vector) + ">(" + nameOf(operand) + ", " + at + ", " + from + ", " +
            (conditions.empty() ? "true" : llvm::join(conditions, " && ")) + ");");
  if (passes > 1) text.close();
}

/// The same element by element, where lines are not contiguous or not aligned.
void SharedTiles::copyElements(Value operand, StringRef firstLine, StringRef start) {
  Text &text = scope.text;
  NamedTensorType type = tensorType(operand);
  auto [extent, strides] = plan.sharedOperands.lookup(operand);
  text.open("for (int i = threadIdx.x; i < " + Twine(plan.mapping.otherLines * paddedExtent(extent)) +
            "; i += " + Twine(plan.mapping.threads()) + ")");
  text.line("const int line = i / " + Twine(paddedExtent(extent)) + ", part = i % " + Twine(paddedExtent(extent)) +
            ";");
  SmallVector<std::string> conditions;
  if (plan.hasOtherTail())
    conditions.push_back((firstLine + " + line < ").str() + std::to_string(plan.otherAxis().getSize()));
  if (paddedExtent(extent) != extent) conditions.push_back("part < " + std::to_string(extent));
  std::string from = scope.parameterFor(operand) + "[" + scope.batchOffset(type) + " + " +
                     std::to_string(strides.line) + " * (" + firstLine.str() + " + line) + " +
                     (strides.element == 1 ? "" : std::to_string(strides.element) + " * ") + "part]";
  std::string at = start.str() + "line * " + std::to_string(sharedLineStride(extent)) + " + part";
  std::string zero = (scalarType(type.getElementType()) + "(0.0f)").str();
  text.line(nameOf(operand) + ".set(" + at + ", " + (conditions.empty() ? "" : llvm::join(conditions, " && ") + " ? ") +
            from + (conditions.empty() ? "" : " : " + zero) + ");");
  text.close();
}
