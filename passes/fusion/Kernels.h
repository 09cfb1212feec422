//===- Kernels.h - makes kernels of groups ------------------------------------===//

#ifndef TESSERA_PASSES_FUSION_KERNELS_H
#define TESSERA_PASSES_FUSION_KERNELS_H

#include "ir/program/KernelFingerprint.h"
#include "passes/fusion/Groups.h"
#include "llvm/ADT/StringMap.h"
#include <map>

namespace tessera {

/// Gives kernels names: from the user's names and the ops; one name for each distinct body.
class KernelNames {
public:
  /// Sets the name of a kernel whose region is complete.
  void assign(KernelOp kernel, llvm::StringRef wanted);

private:
  std::map<KernelFingerprint, std::string> nameOfBody;
  llvm::StringMap<unsigned> taken;
};

/// Rewrites a block as the plan says. Returns the kernels made.
llvm::SmallVector<KernelOp> applyFusion(mlir::Block &block, const FusionPlan &plan, KernelNames &names);

} // namespace tessera

#endif // TESSERA_PASSES_FUSION_KERNELS_H
