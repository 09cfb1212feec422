//===- Manifest.h - what a training program says of itself --------------------===//
//
// The manifest of `docs/manifest.md`, checked: every offset lies in the arena,
// every size agrees with its axes.
//
//===----------------------------------------------------------------------===//

#ifndef TESSERA_RUNTIME_MANIFEST_H
#define TESSERA_RUNTIME_MANIFEST_H

#include "runtime/base/DataFormat.h"
#include "runtime/base/ElementType.h"
#include "runtime/base/Json.h"
#include "runtime/machine/Gemm.h"
#include "runtime/program/Trace.h"

#include <map>

namespace tessera::runtime {

struct Axis {
  std::string name;
  int64_t size = 0;
  bool operator==(const Axis &) const = default;
};

/// The type that manifests call `name`. Throws an Error that starts with `where` if it is unknown.
ElementType parseElementType(const std::string &name, const std::string &where);

/// "[embed: 64, head: 4]", or "[]".
std::string formatAxes(const std::vector<Axis> &axes);

/// One tensor of the state table: a parameter, a moment, a counter, a scale.
struct StateEntry {
  std::string path, kind;
  ElementType type = ElementType::F32;
  std::vector<Axis> axes;             ///< memory order, outermost first
  std::vector<std::string> canonical; ///< the same names in canonical order
  int64_t offset = 0, bytes = 0;

  /// Part of the model: what `export` writes and `--init` reads.
  bool isModel() const { return kind != "moment" && kind != "counter" && kind != "scale"; }
  std::vector<Axis> canonicalAxes() const;
};

/// An input or output of an entry function.
struct Value {
  std::string name, role, data, field;
  ElementType type = ElementType::F32;
  std::vector<Axis> axes;
  int64_t of = 0; ///< number of values an integer may take; 0: not declared
  int64_t offset = 0, bytes = 0;

  int64_t elements() const { return bytes / bytesOf(type); }
};

struct EntryFunction {
  std::string name;
  std::vector<Value> inputs, outputs;
  double flops = 0;             ///< of library contractions
  std::vector<TraceStep> trace; ///< of `step`: its calls, in order

  /// The first input or output of that role (and name), or null.
  const Value *input(const std::string &role) const;
  const Value *output(const std::string &role, const std::string &name = "") const;
};

struct FieldSpec {
  std::string name;
  std::vector<Axis> axes; ///< of a row; empty for a number, or if the manifest does not say
  int64_t column = 0;     ///< csv: the first column
  std::map<std::string, std::vector<std::string>> splits; ///< npy, idx
};

struct DataSpec {
  std::string name;
  DataFormat format = DataFormat::Text;
  std::string batchAxis; ///< that rows are stacked along
  int64_t seq = 0;       ///< length of a sequence; text and tokens
  int64_t width = 16;    ///< bits of a token in files without a header
  std::map<std::string, std::vector<std::string>> splits;
  double valFraction = 0;
  bool shuffle = true;
  std::vector<FieldSpec> fields;
};

struct BufferSpec {
  std::string name, entry, kind;
  int64_t offset = 0, bytes = 0;
};

/// What an argument of a kernel points to.
struct KernelArgument {
  int64_t bytes = 0;
  bool isWritten = false; ///< else it is read
};

/// A generated kernel: its work in one call.
struct KernelSpec {
  std::string name;
  int64_t flops = 0;                    ///< arithmetic, one for each op and element
  bool contracts = false;               ///< that of contractions: multiply-adds
  int64_t read = 0, written = 0;        ///< bytes
  std::map<std::string, int64_t> calls; ///< by entry function, in one call of it
  /// On a GPU: blocks of the grid, and threads of a block.
  int64_t blocks = 0, threads = 0;
  std::vector<KernelArgument> arguments; ///< on a GPU
  bool isPart = false;                   ///< the op that it belongs to is done behind a later launch
  std::string line;                      ///< of the model; empty: not known
};

struct Manifest {
  std::string compiler, model, march;
  std::vector<std::string> architectures; ///< of GPUs; empty: the program runs on the CPU
  std::vector<std::string> features;
  int threads = 0;
  int64_t arenaBytes = 0, workspaceOffset = 0, workspaceBytes = 0;
  int64_t scratchOffset = 0, scratchBytes = 0; ///< bytes of one thread; there are `threads` of them
  std::vector<StateEntry> state;
  std::map<std::string, EntryFunction> entries;
  std::vector<GemmDescription> gemms;
  std::vector<DataSpec> data;
  Json settings;
  std::vector<BufferSpec> buffers;
  std::vector<KernelSpec> kernels; ///< in the order of the code's table

  /// The entry function, or an Error that says what the program cannot do without it.
  const EntryFunction &entry(const std::string &name) const;
  bool isForGpu() const { return !architectures.empty(); }
  bool hasEntry(const std::string &name) const { return entries.count(name) != 0; }
  /// The state entry with that path, or null.
  const StateEntry *stateAt(const std::string &path) const;
  const DataSpec *dataNamed(const std::string &name) const;
};

/// Throws an Error where the text is not a manifest of this ABI version.
Manifest parseManifest(const std::string &text);

} // namespace tessera::runtime

#endif // TESSERA_RUNTIME_MANIFEST_H
