//===- ModuleText.cpp - the text of a module, for people -------------------===//

#include "ir/program/ModuleText.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/raw_ostream.h"

using namespace mlir;
using namespace tessera;

namespace {
/// A space between tokens, outside of strings.
struct Gap {
  size_t position; ///< of the space
  int depth;       ///< brackets around it
  bool isForced;   ///< the line is broken here in any case
};
} // namespace

/// The gaps of a line after its indentation. In a signature those before arguments, before results and before the arrow
/// are forced.
static SmallVector<Gap> findGaps(StringRef line, bool isSignature) {
  SmallVector<Gap> gaps;
  int depth = 0;
  bool isInString = false;
  for (size_t i = line.find_first_not_of(' '); i < line.size(); ++i) {
    char c = line[i];
    if (isInString) {
      if (c == '\\') ++i;
      if (c == '"') isInString = false;
      continue;
    }
    if (c == '"') isInString = true;
    if (StringRef("([{<").contains(c)) ++depth;
    if (StringRef(")]}").contains(c) || (c == '>' && line[i - 1] != '-')) --depth;
    if (c != ' ') continue;
    bool isItem = depth == 1 && line[i - 1] == ',';
    gaps.push_back({i, depth, isSignature && (isItem || line.substr(i).starts_with(" -> ("))});
  }
  return gaps;
}

/// Where to break a line that begins at `begin`: at the shallowest of the last gaps that fit, the last of these; at the
/// first gap if none fits.
static const Gap *chooseGap(ArrayRef<Gap> gaps, size_t begin, size_t width) {
  const Gap *best = nullptr;
  for (const Gap &gap : gaps) {
    if (gap.position <= begin) continue;
    if (gap.position - begin > width) return best ? best : &gap;
    bool isLate = gap.position - begin > width / 2;
    if (!best || gap.depth <= best->depth || (isLate && best->position - begin <= width / 2)) best = &gap;
  }
  return best;
}

/// Appends a line that is too long, in pieces.
static void appendBroken(std::string &result, StringRef line, size_t columns) {
  size_t indent = std::min(line.find_first_not_of(' '), columns / 2);
  SmallVector<Gap> gaps = findGaps(line, line.ltrim().starts_with("func.func "));
  std::string margin(indent + 4, ' ');
  size_t begin = 0, width = columns;
  while (true) {
    const Gap *forced = llvm::find_if(gaps, [&](const Gap &gap) { return gap.isForced && gap.position > begin; });
    size_t end = forced == gaps.end() ? line.size() : forced->position;
    if (end - begin > width)
      if (const Gap *gap = chooseGap(gaps, begin, width); gap && gap->position < end) end = gap->position;
    result += line.slice(begin, end);
    if (end == line.size()) break;
    result += "\n" + margin;
    begin = end + 1;
    width = columns - margin.size();
  }
}

std::string tessera::breakLongLines(StringRef text, size_t columns) {
  std::string result;
  while (!text.empty()) {
    auto [line, rest] = text.split('\n');
    if (line.size() <= columns)
      result += line;
    else
      appendBroken(result, line, columns);
    if (line.size() < text.size()) result += "\n";
    text = rest;
  }
  return result;
}

std::string tessera::moduleText(ModuleOp module, bool withLocations) {
  std::string text;
  llvm::raw_string_ostream out(text);
  OpPrintingFlags flags;
  if (withLocations) flags.enableDebugInfo(true, false);
  module->print(out, flags);
  return breakLongLines(text) + "\n";
}
