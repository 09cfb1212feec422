//===- CallWork.h - what the time of a call depends on --------------------===//

#ifndef TESSERA_PASSES_COST_CALLWORK_H
#define TESSERA_PASSES_COST_CALLWORK_H

#include "passes/cost/CallSequence.h"
#include "llvm/Support/JSON.h"

namespace tessera {

/// "kernel", "gemm", "copy" or "exchange".
llvm::StringRef stringify(CallKind kind);

/// The work of a call as the model of costs sees it. Manifests and profiles record it (`work` in docs/manifest.md), so
/// that measured times can be compared with it later.
struct CallWork {
  CallKind kind = CallKind::Kernel;
  bool isAlone = false; ///< too little work to be shared: one thread does it
  llvm::SmallVector<OpCount, 0> ops;
  llvm::SmallVector<MultiplyWork, 0> gemms;
  /// Bytes that are read and written, by the smallest cache that holds them; the last of them no cache holds.
  llvm::SmallVector<double, 4> traffic;
  ExchangeWork exchange = {}; ///< of an exchange

  static CallWork of(const ProgramCall &call) {
    return {call.kind, call.isAlone, call.work.ops, call.work.gemms, {}, call.exchange};
  }
  /// What `write` wrote; none if it is not of that form.
  static std::optional<CallWork> read(const llvm::json::Value &json);
  /// As an object with keys in a fixed order.
  void write(llvm::json::OStream &json) const;
};

} // namespace tessera

#endif // TESSERA_PASSES_COST_CALLWORK_H
