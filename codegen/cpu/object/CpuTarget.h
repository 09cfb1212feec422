//===- CpuTarget.h - the processor that code is made for ---------------------===//

#ifndef TESSERA_CODEGEN_CPU_CPUTARGET_H
#define TESSERA_CODEGEN_CPU_CPUTARGET_H

#include "mlir/Support/LLVM.h"
#include <string>
#include <vector>

namespace tessera {

struct CpuTarget {
  std::string triple;
  std::string cpu;                          ///< LLVM's name
  std::string features;                     ///< LLVM's list: "+avx2,-sse4a"; empty: those of the processor
  std::vector<std::string> instructionSets; ///< those that code may use, by LLVM's names; less AMX's
  unsigned floatLanes;                      ///< f32 numbers in a vector register
  bool hasVectorScale;                      ///< vectors times powers of two in one instruction
  bool hasBf16Dot;                          ///< sums of products of pairs of bf16, in f32, in one instruction
  bool hasAmx;                              ///< the same of whole matrices, in tile registers
  /// As the processor's description says (ir/program/Target.h).
  bool prefetchesAcrossPages = false;

  /// What a program whose code multiplies on AMX uses besides `instructionSets`: few do, and others run without.
  static constexpr const char *amxInstructionSets[] = {"amx-tile", "amx-bf16"};

  /// The processor named, or this machine's for "native". Fails with a message on `errors` for an unknown one, and for
  /// one without fused multiply-add (x86-64 before v3), which generated code relies on.
  static llvm::FailureOr<CpuTarget> get(llvm::StringRef march, llvm::raw_ostream &errors);
};

} // namespace tessera

#endif // TESSERA_CODEGEN_CPU_CPUTARGET_H
