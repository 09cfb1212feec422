//===- CpuTarget.h - the processor that code is generated for -------------===//

#ifndef TESSERA_CODEGEN_CPU_OBJECT_CPUTARGET_H
#define TESSERA_CODEGEN_CPU_OBJECT_CPUTARGET_H

#include "mlir/Support/LLVM.h"
#include <string>
#include <vector>

namespace tessera {

struct CpuTarget {
  std::string triple;
  std::string cpu;                          ///< LLVM's name
  std::string features;                     ///< LLVM's list, such as "+avx2,-sse4a"; empty: those of the processor
  std::vector<std::string> instructionSets; ///< those that code may use, by LLVM's names, without AMX
  unsigned floatLanes;                      ///< f32 elements of a vector register
  bool hasVectorScale;                      ///< one instruction multiplies vectors by powers of two
  bool hasBf16Dot;                          ///< one instruction accumulates products of pairs of bf16 in f32
  bool hasAmx;                              ///< one instruction multiplies tiles of bf16 and accumulates in f32
  /// Whether the hardware prefetcher crosses pages, as ir/program/Target.h describes the processor.
  bool prefetchesAcrossPages = false;

  /// What a program that uses AMX needs besides `instructionSets`. Other programs run without it.
  static constexpr const char *amxInstructionSets[] = {"amx-tile", "amx-bf16"};

  /// The processor of that name; this machine's for "native". Fails with a message on `errors` for an unknown one, and
  /// for one without AVX2 and fused multiply-add (x86-64 before v3), which generated code needs.
  static llvm::FailureOr<CpuTarget> get(llvm::StringRef march, llvm::raw_ostream &errors);
};

} // namespace tessera

#endif // TESSERA_CODEGEN_CPU_OBJECT_CPUTARGET_H
