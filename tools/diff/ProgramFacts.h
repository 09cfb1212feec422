//===- ProgramFacts.h - what is compared of a program ----------------------===//
//
// Everything comes from the manifest, which a program contains, a plan repeats, and `--dump-dir` writes. A plan also
// knows how much data is held in memory.
//
//===----------------------------------------------------------------------===//

#ifndef TESSERA_TOOLS_DIFF_PROGRAMFACTS_H
#define TESSERA_TOOLS_DIFF_PROGRAMFACTS_H

#include "runtime/program/Manifest.h"
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

namespace tessera {

/// A number of something; none if it is not known.
using Amount = std::optional<double>;

enum class Unit { Count, Bytes, Operations, Seconds };

struct Figure {
  std::string name;
  Unit unit = Unit::Count;
  Amount amount;
};

/// What the kernels and contractions of one name do in one call of an entry function.
struct WorkFacts {
  std::string entry, name;
  std::string line;             ///< of the model file; may be empty
  std::set<std::string> makers; ///< "generated", or the library's implementation and the type of the operands
  Amount calls, flops, bytes, seconds;

  bool operator==(const WorkFacts &) const = default;
};

/// A part of the memory that a run takes, and its bytes.
using NeededMemory = std::vector<std::pair<std::string, Amount>>;

/// Something that was decided, or given.
struct Decision {
  std::string name;
  runtime::Json value;

  bool operator==(const Decision &) const = default;
};

struct ProgramFacts {
  std::string sort; ///< what the file is: "program", "plan" or "manifest"
  std::string model;
  std::vector<Figure> sizes;
  NeededMemory device;              ///< of the memory that the arena is in
  std::optional<NeededMemory> host; ///< of the host's, beside a GPU
  std::string running;              ///< at the peak of the step
  std::vector<Figure> peak;         ///< live bytes there, by kind
  std::string timeSource;           ///< what predictions are made from; empty: there are none
  std::vector<Figure> times;        ///< of entry functions, and of the passes of a step
  std::vector<WorkFacts> work;      ///< by entry function, in the order of the manifest
  std::vector<runtime::BufferSpec> buffers;
  std::vector<Decision> decisions; ///< target, settings, data, loops, inputs and outputs, state
  runtime::Json source;            ///< lines and options of the model; null: not recorded

  /// The predicted time of a step.
  Amount stepSeconds() const;
  int64_t arenaBytes = 0;
};

// Each throws runtime::Error, which names `path`.

/// `text`: the manifest of the program in file `path`.
ProgramFacts factsOfProgram(const std::string &text, const std::string &path);
/// `text`: JSON; a manifest, or what `tessera plan --json` prints.
ProgramFacts factsOfJson(const std::string &text, const std::string &path);

} // namespace tessera

#endif // TESSERA_TOOLS_DIFF_PROGRAMFACTS_H
