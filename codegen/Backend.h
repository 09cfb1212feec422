//===- Backend.h - what code generation asks of a target ------------------===//
//
// The driver (codegen/program/Program.cpp) walks the entry functions of a scheduled module and asks a back end for the
// code of each launch, tiled op and contraction. It does not change the module: `schedule` has decided which ops run
// together.
//
//   begin(code)
//     emitKernels(ops, alignments)        for each launch and each tiled op, in program order
//     emitContraction(contractions)       for each contraction, or each group of horizontally fused GEMMs
//   finish(log)
//   describe(target)
//
//===----------------------------------------------------------------------===//

#ifndef TESSERA_CODEGEN_BACKEND_H
#define TESSERA_CODEGEN_BACKEND_H

#include "codegen/StageLog.h"
#include "codegen/WorkSharing.h"
#include "ir/dialect/Tsr.h"
#include "passes/gemm/Gemm.h"

namespace tessera {

/// An argument of a kernel: operands are read, results are written.
struct KernelArgument {
  int64_t bytes; ///< 0: this launch does not access it
  bool isWritten;
};

/// How a kernel is launched on a device.
struct LaunchShape {
  int64_t blocks = 1, threads = 1;
  std::vector<KernelArgument> arguments;
  std::string line; ///< of the model file; may be empty
};

/// A kernel that a back end has emitted. Equal kernels share one symbol.
struct EmittedKernel {
  std::string symbol;
  /// How threads share the iterations, if the kernel is a function in the host's code.
  WorkSharing sharing;
  /// How the kernel is launched, if it runs on a device. It is launched by its number in the manifest.
  std::optional<LaunchShape> launch;
};

/// The machine that a program's code is for, as the manifest names it.
struct TargetDescription {
  std::vector<std::string> architectures; ///< of GPUs: sm_90a; empty for a program that runs on the CPU
  std::string toolkit;                    ///< the version of CUDA that compiled the kernels; empty: not compiled
  std::string march;                      ///< LLVM's name of the processor
  std::vector<std::string> features;      ///< instruction sets that the code may use, by LLVM's names
  int threads = 1;
};

/// The library that computes the contractions which a back end does not emit.
struct ContractionLibrary {
  bool isOnDevice = false; ///< it chooses its algorithms where the program runs
  bool tf32 = false;       ///< f32 operands may be rounded to tf32
};

class Backend {
public:
  virtual ~Backend() = default;

  /// Whether the arena is memory of a device, which the host's code does not access.
  virtual bool hasDeviceMemory() const = 0;
  /// The alignment of the library's workspace, in bytes.
  virtual int64_t workspaceAlignment() const = 0;
  virtual ContractionLibrary getLibrary(mlir::ModuleOp module) const = 0;

  /// Called first. Functions for the host and constants go into `code`, in the LLVM dialect.
  virtual void begin(mlir::ModuleOp code) = 0;

  /// Emits (or finds) the kernels of a tiled op, or those of one launch, in the order in which they run. Each is called
  /// with the operands and results of the first op, then those of the next. `alignments`: of the addresses of each op's
  /// operands, then results, in bytes, in every iteration. Fails with a message on an op.
  virtual llvm::FailureOr<llvm::SmallVector<EmittedKernel>>
  emitKernels(llvm::ArrayRef<mlir::Operation *> ops, llvm::ArrayRef<llvm::SmallVector<int64_t>> alignments) = 0;

  /// Emits (or finds) the kernel of a contraction, or of fused GEMMs. Returns none if the library computes it, which it
  /// cannot do for fused GEMMs. The kernel is called with each a (one if it is shared), each b likewise, a bias for
  /// each b, and each c.
  virtual std::optional<EmittedKernel> emitContraction(llvm::ArrayRef<ContractOp> contractions,
                                                       const ContractionGemm &description, const FusedGemms &fused) = 0;

  /// Called last: emits what else the kernels need, such as tables and machine code for a device.
  virtual llvm::LogicalResult finish(StageLog &log) = 0;

  /// Adds what the back end knows. The host's processor and threads are already set.
  virtual void describe(TargetDescription &target) const = 0;
};

} // namespace tessera

#endif // TESSERA_CODEGEN_BACKEND_H
