//===- CallSequence.h - what an entry function does, in order -------------===//
//
// The calls of kernels and of the library, the copies, and the exchanges with other ranks, of a scheduled function,
// with the memory that they access.
// Code generation makes it while it emits the function; the model of costs goes through it.
//
//===----------------------------------------------------------------------===//

#ifndef TESSERA_PASSES_COST_CALLSEQUENCE_H
#define TESSERA_PASSES_COST_CALLSEQUENCE_H

#include "ir/dialect/Attributes.h"
#include "passes/cost/KernelWork.h"
#include "passes/cost/RankLinks.h"
#include <variant>
#include <vector>

namespace tessera {

/// What a call reads or writes.
struct CallAccess {
  PlaceAttr place;   ///< in the arena, with strides along the loops around the call
  int64_t span = 0;  ///< from the first byte to the last
  int64_t bytes = 0; ///< of them, that are accessed
  bool isWritten = false;
};

/// What is called: a kernel, a contraction of the library, a copy, or an exchange with other ranks.
enum class CallKind { Kernel, Gemm, Copy, Exchange };

/// A call or a copy, as often as the loops around it run.
struct ProgramCall {
  CallKind kind = CallKind::Kernel;
  bool isAlone = false;             ///< too little work to be shared: one thread does it
  uint32_t number = 0;              ///< in the manifest's list of kernels, contractions or exchanges
  mlir::Operation *first = nullptr; ///< of the ops that it computes; null: a copy that is no op, or not its last call
  StepPass pass = StepPass::Forward;
  KernelWork work;
  std::vector<CallAccess> accesses;
  ExchangeWork exchange = {}; ///< of an exchange
  bool isBeside = false; ///< an exchange that runs beside kernels of the loop around it, as far as they take as long
};

/// A repeat begins. Its steps are those up to its `LoopEnd`.
struct LoopBegin {
  std::string axis;
  int64_t iterations = 1;
  bool isReverse = false;
  StepPass pass = StepPass::Forward;
};
struct LoopEnd {};

struct CallSequence {
  std::string entry; ///< the entry function
  std::vector<std::variant<ProgramCall, LoopBegin, LoopEnd>> steps;
};

} // namespace tessera

#endif // TESSERA_PASSES_COST_CALLSEQUENCE_H
