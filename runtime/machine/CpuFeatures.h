//===- CpuFeatures.h - checks the processor's instruction sets ------------===//

#ifndef TESSERA_RUNTIME_MACHINE_CPUFEATURES_H
#define TESSERA_RUNTIME_MACHINE_CPUFEATURES_H

#include <string>
#include <vector>

namespace tessera::runtime {

/// The features among `features` (LLVM's names: "avx512f", "fma") that generated code may use and this processor
/// lacks or that are unknown here. Names that begin with "-" are skipped. If AMX is among them, requests the kernel's
/// permission for this process; it is missing if the kernel denies it.
std::vector<std::string> missingCpuFeatures(const std::vector<std::string> &features);

} // namespace tessera::runtime

#endif // TESSERA_RUNTIME_MACHINE_CPUFEATURES_H
