//===- Kernels.h - creates the kernels ------------------------------------===//

#ifndef TESSERA_PASSES_FUSION_KERNELS_H
#define TESSERA_PASSES_FUSION_KERNELS_H

#include "ir/program/KernelFingerprint.h"
#include "passes/fusion/Groups.h"
#include "llvm/ADT/StringMap.h"
#include <map>

namespace tessera {

/// Names kernels after the user's names, or else their ops. Kernels with equal bodies have one name.
class KernelNames {
public:
  /// Notes that a kernel has its name already; the first of several bodies with one name keeps it.
  void keep(KernelOp kernel);
  /// Sets the name of a kernel whose region is complete.
  void assign(KernelOp kernel, llvm::StringRef wanted);

private:
  std::map<KernelFingerprint, std::string> nameOfBody;
  llvm::StringMap<unsigned> taken;
};

/// Rewrites a block as planned and returns its kernels.
llvm::SmallVector<KernelOp> applyFusion(mlir::Block &block, const FusionPlan &plan, KernelNames &names);

} // namespace tessera

#endif // TESSERA_PASSES_FUSION_KERNELS_H
