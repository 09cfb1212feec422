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
}

//===----------------------------------------------------------------------===//
// The loop
//===----------------------------------------------------------------------===//

SharedTiles::LineRange SharedTiles::linesInBand() const {
  TiledOp op = plan.op;
  int64_t others = plan.otherAxis().getSize(), lines = plan.mapping.otherLines, ownLines = plan.mapping.ownLines;
  // The other lines of own line i are i + least to i + most.
  std::optional<int64_t> least, most;
  if (plan.mapping.ownsRows) {
    least = op.getLower(), most = op.getUpper();
  } else {
    if (op.getUpper()) least = -*op.getUpper();
    if (op.getLower()) most = -*op.getLower();
  }
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

void SharedTiles::openLoop(bool isFirstSweep, ArrayRef<Value> loaded) {
  Text &text = scope.text;
  int64_t lines = plan.mapping.otherLines;
  LineRange range = linesInBand();
  std::string loop = "for (" + scope.indexType + " first = ", advance = "first += " + std::to_string(lines);
  bool isFirst = isFirstSweep && plan.serialAxes.empty();
  if (plan.mapping.stages == 1) {
    text.open(loop + range.first + "; first < " + range.end + "; " + advance + ")");
    scope.frames.emplace_back();
    if (!isFirst || plan.otherAxis().getSize() > lines)
      text.line("tsr::sync_block(); // the previous tile has been read");
    startCopies(loaded, "first");
    text.line("tsr::wait_for_copies();");
    text.line("tsr::sync_block();");
    return;
  }
  std::string start = scope.unique("start"), end = scope.unique("end");
  stage = scope.unique("stage");
  if (!isFirst) text.line("tsr::sync_block(); // the previous tiles have been read");
  text.line("const " + scope.indexType + " " + start + " = " + range.first + ", " + end + " = " + range.end + ";");
  text.line("int " + stage + " = 0;");
  text.open("if (" + start + " < " + end + ")");
  startCopies(loaded, start);
  text.close();
  text.open(loop + start + "; first < " + end + "; " + advance + ", " + stage + " ^= 1)");
  scope.frames.emplace_back();
  text.line("tsr::wait_for_copies();");
  text.line("tsr::sync_block(); // the tile is complete, and the previous one has been read");
  text.open("if (first + " + Twine(lines) + " < " + end + ")");
  startCopies(loaded, "first + " + std::to_string(lines), /*toNextStage=*/true);
  text.close();
}

void SharedTiles::closeLoop() {
  scope.frames.pop_back();
  scope.text.close();
}

//===----------------------------------------------------------------------===//
// Copies
//===----------------------------------------------------------------------===//

void SharedTiles::startCopies(ArrayRef<Value> operands, StringRef firstLine, bool toNextStage) {
  for (Value operand : operands)
    startCopy(operand, firstLine,
              toNextStage ? "(1 - " + stage + ") * " + std::to_string(elementsOfTile(operand)) + " + " : "");
}

/// Starts to copy a tile of an operand, with zeros outside it.
void SharedTiles::startCopy(Value operand, StringRef firstLine, StringRef start) {
  Text &text = scope.text;
  NamedTensorType type = tensorType(operand);
  auto [extent, strides] = plan.sharedOperands.lookup(operand);
  int64_t vector = vectorBytes / bytesOf(type.getElementType());
  bool isWide = extent % vector == 0 && scope.allowsVectors(operand, strides, vector);
  int64_t width = isWide ? vector : 1, parts = paddedExtent(extent) / width;
  text.open("for (int i = threadIdx.x; i < " + Twine(plan.mapping.otherLines * parts) +
            "; i += " + Twine(plan.mapping.threads()) + ")");
  text.line("const int line = i / " + Twine(parts) + ", part = i % " + Twine(parts) +
            (width > 1 ? " * " + std::to_string(width) : "") + ";");
  SmallVector<std::string> conditions;
  if (plan.hasOtherTail())
    conditions.push_back((firstLine + " + line < ").str() + std::to_string(plan.otherAxis().getSize()));
  if (paddedExtent(extent) != extent) conditions.push_back("part < " + std::to_string(extent));
  std::string from = scope.parameterFor(operand) + " + (" + scope.batchOffset(type) + " + " +
                     std::to_string(strides.line) + " * (" + firstLine.str() + " + line) + " +
                     (strides.element == 1 ? "" : std::to_string(strides.element) + " * ") + "part)";
  std::string condition = llvm::join(conditions, " && "), name = nameOf(operand);
  std::string at = start.str() + "line * " + std::to_string(sharedLineStride(extent)) + " + part";
  std::string zero = (scalarType(type.getElementType()) + "(0.0f)").str();
  if (isWide)
    text.line("tsr::start_copy<" + Twine(vector) + ">(" + name + ", " + at + ", " + from + ", " +
              (conditions.empty() ? "true" : condition) + ");");
  else
    text.line(name + ".set(" + at + ", " + (conditions.empty() ? "" : condition + " ? ") + "*(" + from + ")" +
              (conditions.empty() ? "" : " : " + zero) + ");");
  text.close();
}
