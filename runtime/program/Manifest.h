//===- Manifest.h - the manifest of a training program --------------------===//
//
// The manifest of `docs/manifest.md`, validated: every offset is in the arena, every size agrees with its axes.
//
//===----------------------------------------------------------------------===//

#ifndef TESSERA_RUNTIME_PROGRAM_MANIFEST_H
#define TESSERA_RUNTIME_PROGRAM_MANIFEST_H

#include "runtime/base/DataFormat.h"
#include "runtime/base/ElementType.h"
#include "runtime/base/Json.h"
#include "runtime/program/CallTrace.h"
#include "runtime/program/GemmSpec.h"
#include "runtime/program/MemoryPlan.h"
#include "runtime/program/RanksSpec.h"

#include <map>
#include <optional>

namespace tessera::runtime {

struct AxisSpec {
  std::string name;
  int64_t size = 0;
  bool operator==(const AxisSpec &) const = default;
};

/// An axis that ranks have parts of. With parts of `size` elements, as the axes of the value say, the rank at position
/// p along the mesh axis has the elements from p * size on, up to (p + 1) * size; from `whole` on there is padding.
///
/// An input that is read in micro-batches may be divided in several blocks. Then each block of whole / blocks elements
/// is divided so, without padding, into parts of size / blocks elements, and the rank has its parts of all blocks, one
/// after the other.
struct DividedAxis {
  std::string axis, along;
  int64_t whole = 0;  ///< elements of all ranks, without padding
  int64_t blocks = 1; ///< 1 for states
  bool operator==(const DividedAxis &) const = default;
};

/// Elements of an axis of a state or a value in the parts of all ranks together, without padding.
int64_t wholeSize(const AxisSpec &axis, const std::vector<DividedAxis> &divided);

/// The type that manifests call `name`. Throws an Error that starts with `where` if it is unknown.
ElementType parseElementType(const std::string &name, const std::string &where);

/// "[embed: 64, head: 4]", or "[]".
std::string formatAxes(const std::vector<AxisSpec> &axes);

/// One tensor of the state table: a parameter, a moment, a counter, a scale.
struct StateEntry {
  std::string path, kind;
  ElementType type = ElementType::F32;
  std::vector<AxisSpec> axes;         ///< memory order, outermost first
  std::vector<std::string> canonical; ///< the same names in canonical order
  int64_t offset = 0, bytes = 0;      ///< of this rank's part
  std::vector<DividedAxis> divided = {};

  /// Whether it is a parameter.
  bool isParameter() const { return kind == "weight" || kind == "bias" || kind == "gain"; }
  /// Whether it is part of the model, which `export` writes and `--init` reads: a parameter, or a declared state.
  bool isModel() const { return isParameter() || kind == "state"; }
  /// Of this rank's part.
  std::vector<AxisSpec> canonicalAxes() const;
  /// Of the parts of all ranks together, without padding: as files have it.
  std::vector<AxisSpec> wholeAxes() const;
  /// Elements of `wholeAxes`.
  int64_t wholeElements() const;
  int64_t wholeBytes() const { return wholeElements() * bytesOf(type); }
};

/// An input or output of an entry function.
struct ValueSpec {
  std::string name, role, data, field;
  ElementType type = ElementType::F32;
  std::vector<AxisSpec> axes;
  int64_t of = 0; ///< number of values an integer may take; 0: not declared
  int64_t offset = 0, bytes = 0;
  std::vector<std::string> reads = {}; ///< of a result of `predict`: the inputs that it is computed from; empty: all
  std::vector<DividedAxis> divided = {};

  int64_t elements() const { return bytes / bytesOf(type); }
};

struct EntryFunction {
  std::string name;
  std::vector<ValueSpec> inputs, outputs;
  double flops = 0;              ///< of contractions, two for each multiply-add
  std::vector<TracedCall> trace; ///< of `step`: its calls, in order

  /// The first input or output of that role (and name), or null.
  const ValueSpec *input(const std::string &role) const;
  const ValueSpec *output(const std::string &role, const std::string &name = "") const;
};

/// A column of a csv file.
struct ColumnSpec {
  std::string name;   ///< in the header; empty: by number
  int64_t number = 0; ///< counted from 0
};

struct FieldSpec {
  std::string name;
  std::vector<AxisSpec> axes;                             ///< of a row; empty: a scalar, or not in the manifest
  int64_t column = 0;                                     ///< csv: the first column, if `columns` is empty
  std::map<std::string, std::vector<std::string>> splits; ///< npy, idx
  /// csv: one column for each element, or the first one if there is one only.
  std::vector<ColumnSpec> columns = {};
  std::vector<std::string> classes = {};        ///< csv: the words that are 0, 1, …; empty: cells are numbers
  std::vector<std::string> classAxes = {};      ///< axes whose positions the classes are
  std::optional<double> missing = std::nullopt; ///< csv: the value of an empty cell; none: an error
  ElementType type = ElementType::F32;
};

struct DataSpec {
  std::string name;
  DataFormat format = DataFormat::Text;
  std::string batchAxis; ///< the axis along which rows are stacked
  int64_t seq = 0;       ///< length of a sequence; text and tokens
  int64_t width = 16;    ///< bits of a token in files without a header
  std::map<std::string, std::vector<std::string>> splits;
  double valFraction = 0;
  bool shuffle = true;
  std::vector<FieldSpec> fields;
  /// The seed of the choice of the rows that are held out; none: the end of the data is.
  std::optional<uint64_t> valSeed = std::nullopt;
  bool readsNext = true; ///< text and tokens: each row is followed by a value, even if no input reads it

  /// The field of that name, or null.
  const FieldSpec *fieldNamed(const std::string &field) const;
};

struct BufferSpec {
  std::string name, entry, kind;
  std::string type; ///< "[batch: 8, ff: 768] f32"; empty: not in the manifest
  std::string line; ///< of the model file; empty: not known
  int64_t offset = 0, bytes = 0;
};

/// The memory that an argument of a kernel points to.
struct ArgumentSpec {
  int64_t bytes = 0;
  bool isWritten = false; ///< else it is read
};

/// A generated kernel, with the work of one call.
struct KernelSpec {
  std::string name;
  int64_t flops = 0;                    ///< arithmetic operations, one for each op and element
  bool contracts = false;               ///< whether `flops` are multiply-adds of contractions
  int64_t read = 0, written = 0;        ///< bytes
  std::map<std::string, int64_t> calls; ///< number of calls, by entry function
  /// On a GPU: blocks of the grid, and threads in a block.
  int64_t blocks = 0, threads = 0;
  std::vector<ArgumentSpec> arguments; ///< on a GPU
  bool isPart = false;                 ///< a later launch completes the op
  std::string line;                    ///< of the model file; empty: not known
  std::string of;                      ///< what it computes; empty: not in the manifest
  std::map<std::string, int64_t> ops;  ///< elements that it computes in one call, by op
  std::optional<double> seconds;       ///< predicted, of one call
  Json work;                           ///< for the model of costs; profiles repeat it
};

/// The device that a program was compiled for.
struct TargetSpec {
  std::string march;
  std::vector<std::string> architectures; ///< of GPUs; empty: the program runs on the CPU
  std::string toolkit;                    ///< the version of CUDA that made the code, as 13.0; empty: not known
  std::vector<std::string> features;
  int threads = 0;
  std::optional<int64_t> contextBytes = std::nullopt; ///< of a GPU's memory: what its driver takes; none: not described
  RanksSpec ranks;
};

/// What recomputing values takes, for an arena of limited size, by the model of costs.
struct RecomputationSpec {
  double seconds = 0; ///< in a step
  double step = 0;    ///< of a step without it
  double bound = 0;   ///< no plan within the limit needs less
};

/// The arena, and the regions of it that are not places of values.
struct ArenaSpec {
  int64_t bytes = 0;
  std::optional<int64_t> bound = std::nullopt; ///< no places need fewer bytes; none: not known
  int64_t workspaceOffset = 0, workspaceBytes = 0;
  int64_t scratchBytes = 0;                                      ///< the most of any kernel, for each thread
  std::optional<RecomputationSpec> recomputation = std::nullopt; ///< none: its size was not limited
};

/// What the model of costs predicted when the program was compiled.
struct PredictedRepeat {
  std::string axis, pass; ///< `pass` is empty outside of `step`
  int64_t iterations = 1;
  int64_t depth = 0; ///< how many repeats are around it
  double seconds = 0;
};

struct PredictedEntry {
  double seconds = 0, least = 0, most = 0; ///< of one call; the range in which it is expected
  std::map<std::string, double> passes;    ///< of `step`: seconds
  std::vector<PredictedRepeat> repeats;    ///< in program order
  double flops = 0, peak = 0; ///< of contractions: their operations, and how many a second they reach at most; 0: none
  std::string type;           ///< of most of their operands
  /// Classes of links that it exchanges over, and whose bandwidth is not described but assumed.
  std::vector<std::string> assumedLinks;
  double beside = 0; ///< seconds of exchanges that run beside kernels, which are not in `seconds`
};

struct PredictedTimes {
  std::string source;                            ///< "calibrated", "data sheet" or "assumed"; empty: no prediction
  std::map<std::string, PredictedEntry> entries; ///< by entry function

  bool isAssumed() const { return source == "assumed"; }
  /// Null if nothing is predicted for that entry function.
  const PredictedEntry *entry(const std::string &name) const {
    auto found = entries.find(name);
    return found == entries.end() ? nullptr : &found->second;
  }
};

struct Manifest {
  std::string compiler, model;
  TargetSpec target;
  ArenaSpec arena;
  std::vector<StateEntry> state;
  std::map<std::string, EntryFunction> entries;
  std::vector<GemmSpec> gemms;
  std::vector<DataSpec> data;
  Json settings;
  std::vector<BufferSpec> buffers;
  std::vector<KernelSpec> kernels; ///< in the order of the code's kernel table
  PredictedTimes predicted;
  MemorySpec memory;
  Json source; ///< what it was compiled from (docs/manifest.md); null: not recorded
  /// Of the manifest's text without `memory`: whether a program fits must not depend on what is said of other plans.
  int64_t textBytes = 0;

  /// The entry function. Throws an Error if the program was compiled without it.
  const EntryFunction &entry(const std::string &name) const;
  bool isForGpu() const { return !target.architectures.empty(); }
  bool hasEntry(const std::string &name) const { return entries.count(name) != 0; }
  /// Of one rank.
  int64_t stateBytes() const;
  /// Of all ranks together, as files have it: without copies and padding.
  int64_t wholeStateBytes() const;
  /// Elements of all parameters, those of other ranks included.
  int64_t parameters() const;
  /// The state entry with that path, or null.
  const StateEntry *stateAt(const std::string &path) const;
  const DataSpec *dataNamed(const std::string &name) const;
};

/// How deep the JSON of a manifest may be nested: repeats in repeats, each of which takes two levels, and the rest.
inline constexpr int deepestManifest = 512;

/// Throws an Error if the text is not a manifest of this ABI version.
Manifest parseManifest(const std::string &text);

} // namespace tessera::runtime

#endif // TESSERA_RUNTIME_PROGRAM_MANIFEST_H
