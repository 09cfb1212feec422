//===- KernelCodegen.h - from tsr.kernel to a function --------------------===//
//
// Input: kernels after `fuse` (docs/ir.md, Kernels), whose types are memory orders, row-major and dense. Output:
// LLVM-dialect functions of type TsrKernel (runtime/Abi.h), one for each distinct kernel, which ObjectCode.h compiles.
//
//===----------------------------------------------------------------------===//

#ifndef TESSERA_CODEGEN_CPU_KERNELCODEGEN_H
#define TESSERA_CODEGEN_CPU_KERNELCODEGEN_H

#include "codegen/WorkSharing.h"
#include "codegen/cpu/contraction/ContractionPlan.h"
#include "codegen/cpu/object/CpuTarget.h"
#include "ir/program/KernelFingerprint.h"
#include "llvm/ADT/StringSet.h"
#include <map>

namespace tessera {

/// How a kernel's function is called. Its iterations are those of the collapsed parallel space: points, or tiles of
/// points along a parallel vector axis.
struct KernelInterface : WorkSharing {
  std::string name; ///< the symbol
};

/// Emits kernels into a module.
class KernelCodegen {
public:
  KernelCodegen(mlir::ModuleOp code, CpuTarget target)
      : code(code), target(std::move(target)), matrixFunctions(code, this->target) {}

  /// The function of `kernel`, emitted now or for an equal kernel before. Fails with a message on the kernel or an op
  /// in it.
  llvm::FailureOr<KernelInterface> emit(KernelOp kernel);

  /// The function of a contraction, or of fused GEMMs, called with the arguments of `Backend::emitContraction`; `name`
  /// is the user's.
  KernelInterface emit(const ContractionGemm &contraction, const FusedGemms &fused, llvm::StringRef name);

  /// The function of a tiled op, called with its operands and results. Fails with a message on an op in it.
  llvm::FailureOr<KernelInterface> emit(TiledOp tiled);

  /// Whether any of them uses AMX.
  bool usesAmx() const { return matrixFunctions.usesAmx(); }

  /// The symbols of all distinct kernels, in the order in which they were emitted.
  llvm::ArrayRef<std::string> getSymbols() const { return symbols; }

private:
  std::string uniqueSymbol(llvm::StringRef name);

  mlir::ModuleOp code;
  CpuTarget target;
  MatrixFunctions matrixFunctions;
  std::map<KernelFingerprint, KernelInterface> emitted;
  struct Contraction {
    ContractionGemm description;
    FusedGemms fused;
    KernelInterface interface;
  };
  std::vector<Contraction> contractions;
  llvm::StringSet<> taken;
  std::vector<std::string> symbols;
};

} // namespace tessera

#endif // TESSERA_CODEGEN_CPU_KERNELCODEGEN_H
