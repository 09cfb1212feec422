//===- TileLoads.cpp - the other operands of a tiled op, tile by tile -------===//
//
// A tile is copied to shared memory without going through registers. With two stages the next one is on its way while a
// tile is looked at: one barrier a tile, behind which it is there and nobody reads the one that will be overwritten.
//
//===----------------------------------------------------------------------===//

#include "codegen/cuda/tile/TileWriter.h"
#include "codegen/cuda/writer/Scalars.h"
#include "passes/kernel/ThreadMapping.h"
#include "llvm/ADT/StringExtras.h"

using namespace mlir;
using namespace tessera;
using namespace tessera::cuda;

void TileWriter::declareTiles() {
  for (Value other : tiles) {
    std::string name = unique(parameterFor(other) + "_tile");
    tileNames[other] = name;
    text.line("TSR_SHARED(" + scalarType(tensorType(other).getElementType()) + ", " + name + ", " +
              Twine(mapping.stages * tileNumbers(other)) + ");");
  }
}

std::string TileWriter::tileStart(Value other) const {
  return mapping.stages == 1 ? "" : stageName + " * " + std::to_string(tileNumbers(other)) + " + ";
}

/// Goes over the other lines that the band leaves, a tile at a time, of which `loaded` are brought.
void TileWriter::openTiles(unsigned number, ArrayRef<Value> loaded) {
  int64_t others = otherAxis().getSize(), lines = mapping.otherLines;
  // Of own line i: other lines from i + least to i + most.
  std::optional<int64_t> least, most;
  if (mapping.ownsRows) {
    least = op.getLower(), most = op.getUpper();
  } else {
    if (op.getUpper()) least = -*op.getUpper();
    if (op.getLower()) most = -*op.getLower();
  }
  std::string start = "0", end = std::to_string(others), base = "tile * " + std::to_string(mapping.ownLines);
  if (least)
    start = "tsr::clamp(" + base + " + " + std::to_string(*least) + ", " + std::to_string(others) + ") / " +
            std::to_string(lines) + " * " + std::to_string(lines);
  if (most)
    end = "tsr::clamp(" + base + " + " + std::to_string(mapping.ownLines + *most) + ", " + std::to_string(others + 1) +
          ")";
  std::string loop = "for (" + indexType + " first = ", step = "first += " + std::to_string(lines);
  bool isFirst = number == 1 && serialAxes.empty();
  if (mapping.stages == 1) {
    text.open(loop + start + "; first < " + end + "; " + step + ")");
    frames.emplace_back();
    if (!isFirst || others > lines) text.line("tsr::sync_block(); // the tile before has been read");
    for (Value other : loaded) loadTile(other, "first", "");
    text.line("tsr::wait_for_copies();");
    text.line("tsr::sync_block();");
    return;
  }
  std::string startName = unique("start"), endName = unique("end");
  stageName = unique("stage");
  if (!isFirst) text.line("tsr::sync_block(); // the tiles before have been read");
  text.line("const " + indexType + " " + startName + " = " + start + ", " + endName + " = " + end + ";");
  text.line("int " + stageName + " = 0;");
  text.open("if (" + startName + " < " + endName + ")");
  for (Value other : loaded) loadTile(other, startName, "");
  text.close();
  text.open(loop + startName + "; first < " + endName + "; " + step + ", " + stageName + " ^= 1)");
  frames.emplace_back();
  text.line("tsr::wait_for_copies();");
  text.line("tsr::sync_block(); // the tile is there, and the one before has been read");
  text.open("if (first + " + Twine(lines) + " < " + endName + ")");
  for (Value other : loaded)
    loadTile(other, "first + " + std::to_string(lines),
             "(1 - " + stageName + ") * " + std::to_string(tileNumbers(other)) + " + ");
  text.close();
}

void TileWriter::closeTiles() {
  frames.pop_back();
  text.close();
}

/// Begins to bring the lines of an operand that a tile needs, zero beyond its end.
void TileWriter::loadTile(Value other, StringRef firstLine, StringRef to) {
  NamedTensorType type = tensorType(other);
  int64_t extent = extents[other], length = lineLength(extent), others = otherAxis().getSize();
  TiledStrides stride = strides[other];
  int64_t vector = vectorBytes / bytesOf(type.getElementType());
  bool isWide = extent % vector == 0 && isVector(other, stride, vector);
  int64_t width = isWide ? vector : 1, parts = padded(extent) / width;
  std::string element = scalarType(type.getElementType()).str(), zero = element + "(0.0f)";
  text.open("for (int i = threadIdx.x; i < " + Twine(mapping.otherLines * parts) +
            "; i += " + Twine(mapping.threads()) + ")");
  text.line("const int line = i / " + Twine(parts) + ", part = i % " + Twine(parts) +
            (width > 1 ? " * " + std::to_string(width) : "") + ";");
  SmallVector<std::string> conditions;
  if (hasOtherTail()) conditions.push_back((firstLine + " + line < ").str() + std::to_string(others));
  if (padded(extent) != extent) conditions.push_back("part < " + std::to_string(extent));
  std::string place = parameterFor(other) + " + (" + batchOffset(type) + " + " + std::to_string(stride.line) + " * (" +
                      firstLine.str() + " + line) + " +
                      (stride.element == 1 ? "" : std::to_string(stride.element) + " * ") + "part)";
  std::string condition = llvm::join(conditions, " && "),
              at = to.str() + "line * " + std::to_string(length) + " + part";
  if (isWide)
    text.line("tsr::start_copy<" + Twine(vector) + ">(" + tileNames[other] + ", " + at + ", " + place + ", " +
              (conditions.empty() ? "true" : condition) + ");");
  else
    text.line(tileNames[other] + ".set(" + at + ", " + (conditions.empty() ? "" : condition + " ? ") + "*(" + place +
              ")" + (conditions.empty() ? "" : " : " + zero) + ");");
  text.close();
}
