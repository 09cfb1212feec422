//===- ProgramDiff.h - what differs between two programs -------------------===//
//
// Kernels, contractions and buffers belong together by the user's names: numbers and symbols shift when a model is
// edited. So do lines, which tell things of one name apart but are no difference by themselves.
//
//===----------------------------------------------------------------------===//

#ifndef TESSERA_TOOLS_DIFF_PROGRAMDIFF_H
#define TESSERA_TOOLS_DIFF_PROGRAMDIFF_H

#include "tools/diff/ProgramFacts.h"

namespace tessera {

/// A figure on both sides.
struct FigurePair {
  std::string name;
  Unit unit = Unit::Count;
  Amount before, after;

  bool differs() const { return before != after; }
};

/// Something that one of the sides may lack.
template <typename T> struct Pair {
  std::optional<T> before, after;

  /// What there is of it now, or else was.
  const T &any() const { return after ? *after : *before; }
};

/// The kernels and contractions of one entry function.
struct WorkDiff {
  std::string entry;
  std::vector<FigurePair> totals;
  std::vector<Pair<WorkFacts>> changes; ///< largest difference first
  size_t same = 0;                      ///< how many names do not differ
};

struct ProgramDiff {
  std::vector<FigurePair> sizes;          ///< all of them, as all figures here
  FigurePair arena, needed;               ///< also among the sizes
  std::vector<std::string> unknownMemory; ///< parts that `needed` is without, since a side does not know them
  std::pair<std::string, std::string> running;
  std::vector<FigurePair> peak;
  std::pair<std::string, std::string> timeSource;
  std::vector<FigurePair> times;
  FigurePair step; ///< also among the times
  std::vector<Pair<Decision>> decisions;
  std::vector<std::string> edits;                 ///< of the model file and its options, as sentences
  std::vector<WorkDiff> work;                     ///< of each entry function, `step` first
  std::vector<Pair<runtime::BufferSpec>> buffers; ///< largest difference first
  size_t sameBuffers = 0;

  bool differs() const;
};

ProgramDiff diffPrograms(const ProgramFacts &before, const ProgramFacts &after);

/// In words, with a unit; "?" if it is not known.
std::string formatAmount(Amount amount, Unit unit);

/// As text: the largest differences of each section, or all of them.
std::string describeDiff(const ProgramDiff &diff, bool listsAll);

/// What is said of the sides of a difference.
struct DiffSide {
  std::string path, sort, model;
};
std::string diffAsJson(const ProgramDiff &diff, const DiffSide &before, const DiffSide &after);

} // namespace tessera

#endif // TESSERA_TOOLS_DIFF_PROGRAMDIFF_H
