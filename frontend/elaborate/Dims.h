//===- Dims.h - the sizes and names of axes ---------------------------------===//

#ifndef TESSERA_FRONTEND_ELABORATE_DIMS_H
#define TESSERA_FRONTEND_ELABORATE_DIMS_H

#include "frontend/elaborate/Evaluator.h"
#include "llvm/ADT/StringSet.h"

namespace tessera {

/// The axis of the samples of a batch, and the axis of the sequences that `text` and `tokens` provide. Both get their
/// sizes from the data.
inline constexpr llvm::StringLiteral batchAxis = "batch", seqAxis = "seq";

/// The dims of the program with their sizes, and the names that local dims of functions have in the IR.
class Dims : ElaborationComponent {
public:
  Dims(CallStack &calls, Evaluator &evaluator) : ElaborationComponent(calls), evaluator(evaluator) {}

  /// Clears the sizes and local dims of the entry before.
  void beginEntry();

  /// The size of a dim of the program.
  std::optional<int64_t> size(llvm::StringRef name, Span use);
  std::optional<int64_t> checkedSize(const LanguageValue &value, Span span, llvm::StringRef name);
  /// Whether the size that the data gives to a dim is the one that the file declares, if it declares one; reports it if
  /// not. `span` is the size in the data description.
  bool agreesWithDeclaration(llvm::StringRef dim, int64_t size, Span span);
  /// Sets the size of a dim that the data description determines. Of a declared size it takes the place: under
  /// `accumulate` the rows of a part are fewer than those of the batch.
  void giveSize(llvm::StringRef dim, int64_t size, Span span);
  /// In the entry being built the dim has another size: `batch` in `generate`, and where memory is short in `predict`.
  void overrideSize(llvm::StringRef dim, int64_t size) { overrides[dim] = size; }

  /// A name for a local dim that differs from every dim of the program, of enclosing calls and repeats, and from local
  /// dims of another size.
  std::string uniqueAxisName(llvm::StringRef name, int64_t size, bool isRows,
                             llvm::function_ref<bool(llvm::StringRef)> isTaken);

  /// Whether the axis is one of samples: `batch`, and dims that are declared like it.
  bool isSampleAxis(llvm::StringRef name) const { return name == batchAxis || sampleAxes.contains(name); }
  bool hasSampleAxis(llvm::ArrayRef<llvm::StringRef> axes) const {
    return llvm::any_of(axes, [&](llvm::StringRef axis) { return isSampleAxis(axis); });
  }
  /// Whether the axis is one of samples, or a dim whose size is computed from that of `batch`.
  bool isOfBatch(llvm::StringRef axis) const { return isSampleAxis(axis) || batchSizedAxes.contains(axis); }
  /// Records that the size of an axis is used as a number.
  void noteSizeRead(llvm::StringRef axis) { batchSizeRead |= countsReads && isOfBatch(axis); }
  /// Whether losses or metrics may be computed from the size of `batch`.
  bool isBatchSizeRead() const { return batchSizeRead; }

  /// While it lives, reads of sizes as numbers count, or do not because no loss or metric can depend on them.
  class SizeReads {
  public:
    SizeReads(Dims &dims, bool count) : dims(dims), saved(std::exchange(dims.countsReads, count)) {}
    ~SizeReads() { dims.countsReads = saved; }

  private:
    Dims &dims;
    bool saved;
  };

private:
  std::optional<int64_t> computeSize(const DimDecl &decl, Span use);

  Evaluator &evaluator;
  llvm::StringMap<std::optional<int64_t>> sizes;
  llvm::StringSet<> inProgress;
  llvm::MapVector<llvm::StringRef, std::pair<int64_t, Span>> dataSizes;
  llvm::StringMap<int64_t> overrides;
  llvm::StringMap<int64_t> localSizes;            ///< sizes under which names of local dims are taken
  llvm::StringSet<> sampleAxes;                   ///< those that are declared like `batch`
  llvm::StringSet<> batchSizedAxes;               ///< dims of the program with sizes computed from that of `batch`
  bool countsReads = true, batchSizeRead = false; ///< by any entry
};

/// The name of the axis that `accumulate` cuts the batch along; no dim has it.
std::string microAxis(const Declarations &program);

/// The names of all axes that the program's text declares, in canonical order.
std::vector<std::string> canonicalAxisOrder(const Declarations &program);

} // namespace tessera

#endif // TESSERA_FRONTEND_ELABORATE_DIMS_H
