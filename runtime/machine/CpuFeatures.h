//===- CpuFeatures.h - does this processor run that code ----------------------===//

#ifndef TESSERA_RUNTIME_CPUFEATURES_H
#define TESSERA_RUNTIME_CPUFEATURES_H

#include <string>
#include <vector>

namespace tessera::runtime {

/// Of `features` (LLVM's names: "avx512f", "fma"), those that generated code may use and this processor lacks, or that nobody here
/// knows how to ask it for. Those with a "-" in front are not asked for. Where AMX is among them, the process may use it from
/// then on, or the kernel does not let it, and it is missing.
std::vector<std::string> missingCpuFeatures(const std::vector<std::string> &features);

} // namespace tessera::runtime

#endif // TESSERA_RUNTIME_CPUFEATURES_H
