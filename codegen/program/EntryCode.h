//===- EntryCode.h - the code of entry functions --------------------------===//
//
// An entry function of a scheduled module becomes one C function that runs
// kernels, library calls and loops in order, all at fixed addresses in the arena.
//
//===----------------------------------------------------------------------===//

#ifndef TESSERA_CODEGEN_HOST_ENTRYCODE_H
#define TESSERA_CODEGEN_HOST_ENTRYCODE_H

#include "codegen/WorkSharing.h"
#include "codegen/program/GemmTable.h"
#include "ir/dialect/Tsr.h"
#include "llvm/ADT/MapVector.h"

namespace tessera {

/// A kernel as the entry code calls it.
struct KernelCall {
  std::string symbol;
  WorkSharing sharing;
  /// On a device: of the manifest's list of kernels.
  std::optional<uint32_t> number;
};

/// Makes (or finds) the code of a kernel or a tiled op, or of the kernels of one launch: calls in their order, each with the operands and
/// results of the first op, then of the next. `alignments`: what the addresses of an op's operands, then results, are multiples of,
/// in bytes, in every iteration.
using KernelEmitter = llvm::function_ref<llvm::FailureOr<llvm::SmallVector<KernelCall>>(
    llvm::ArrayRef<mlir::Operation *> ops, llvm::ArrayRef<llvm::SmallVector<int64_t>> alignments)>;

/// Makes (or finds) the code of a contraction, or of some that are computed as one (then it must be there); nothing if a library
/// computes it. It is called with all a, which are one if they share it, all b likewise, a bias for each b, and all c.
using ContractionEmitter = llvm::function_ref<std::optional<KernelCall>(
    llvm::ArrayRef<ContractOp>, const GemmDescription &, const MergedProducts &)>;

/// Emits `tsr_entry_NAME(TsrRuntime *, char *arena)` for `function` into `code`, in the LLVM dialect. Contractions are
/// entered into `gemms`. `onDevice`: the arena is memory of a GPU.
llvm::LogicalResult emitEntry(mlir::func::FuncOp function, mlir::ModuleOp code, GemmTable &gemms,
                              KernelEmitter emitKernel, ContractionEmitter emitContraction, bool onDevice = false);

/// Emits the constant `tsr_abi_version`.
void emitAbiVersion(mlir::ModuleOp code);

/// Machine code of kernels that follow each other, for an architecture.
struct DeviceImage {
  std::string architecture;
  uint32_t firstKernel, kernels;
  std::string code;
};

/// Emits `tsr_images` (runtime/Abi.h).
void emitImageTable(mlir::ModuleOp code, llvm::ArrayRef<DeviceImage> images);

/// Emits `tsr_kernels`, the addresses of the kernels of those names; none if there are none.
void emitKernelTable(mlir::ModuleOp code, llvm::ArrayRef<std::string> kernels);

} // namespace tessera

#endif // TESSERA_CODEGEN_HOST_ENTRYCODE_H
