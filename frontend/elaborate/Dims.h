//===- Dims.h - the sizes and names of axes ---------------------------------===//

#ifndef TESSERA_FRONTEND_DIMS_H
#define TESSERA_FRONTEND_DIMS_H

#include "frontend/elaborate/Evaluator.h"
#include "llvm/ADT/StringSet.h"

namespace tessera {

/// The dims of the program with their sizes, and the names that local dims of functions have in the IR.
class Dims : ElaborationPart {
public:
  Dims(CallStack &calls, Evaluator &evaluator) : ElaborationPart(calls), Eval(evaluator) {}

  /// Forgets sizes and local dims of the entry before.
  void beginEntry();

  /// The size of a dim of the program.
  std::optional<int64_t> size(llvm::StringRef name, Span use);
  std::optional<int64_t> checkedSize(const Value &value, Span span, llvm::StringRef name);
  /// The data description gives a size to a dim.
  void giveSize(llvm::StringRef dim, int64_t size, Span span);
  /// In the entry being built the dim has another size: `batch` in `predict`.
  void overrideSize(llvm::StringRef dim, int64_t size) { Overrides[dim] = size; }

  /// A name for a local dim that differs from every dim of the program, of enclosing calls and repeats, and from local
  /// dims of another size.
  std::string uniqueAxisName(llvm::StringRef name, int64_t size, bool isRows,
                             llvm::function_ref<bool(llvm::StringRef)> isTaken);

  /// Whether the axis counts the rows of a batch: `batch`, and dims declared like it.
  bool isRowAxis(llvm::StringRef name) const { return name == "batch" || RowAxes.contains(name); }
  bool hasRowAxis(llvm::ArrayRef<llvm::StringRef> axes) const {
    return llvm::any_of(axes, [&](llvm::StringRef axis) { return isRowAxis(axis); });
  }
  /// Notes that the size of an axis is used as a number.
  void noteSizeRead(llvm::StringRef axis) { BatchSizeRead |= axis == "batch"; }
  bool isBatchSizeRead() const { return BatchSizeRead; }

private:
  std::optional<int64_t> computeSize(const DimDecl &decl, Span use);

  Evaluator &Eval;
  llvm::StringMap<std::optional<int64_t>> Sizes;
  llvm::StringSet<> InProgress;
  llvm::MapVector<llvm::StringRef, std::pair<int64_t, Span>> DataSizes;
  llvm::StringMap<int64_t> Overrides;
  llvm::StringMap<int64_t> LocalSizes; ///< sizes under which names of local dims are taken
  llvm::StringSet<> RowAxes;           ///< those that are declared like `batch`
  bool BatchSizeRead = false;          ///< by any entry
};

/// The name of the axis that `accumulate` cuts the batch along; no dim has it.
std::string microAxis(const SourceProgram &program);

/// The names of all axes that the program's text declares, in canonical order.
std::vector<std::string> canonicalAxisOrder(const SourceProgram &program);

} // namespace tessera

#endif // TESSERA_FRONTEND_DIMS_H
