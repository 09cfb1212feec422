//===- OnednnGemm.h - contractions that oneDNN computes -------------------===//
//
// An `OnednnGemm` is an entry of the manifest's list of contractions. The compiler links this file too: it asks
// `planGemm` for the workspace of a contraction and whether oneDNN would use a slow implementation. It needs no other
// source of the runtime.
//
//===----------------------------------------------------------------------===//

#ifndef TESSERA_RUNTIME_MACHINE_ONEDNNGEMM_H
#define TESSERA_RUNTIME_MACHINE_ONEDNNGEMM_H

#include "runtime/program/GemmSpec.h"

#include <memory>
#include <string>

namespace tessera::runtime {

/// What oneDNN would do with a contraction.
struct GemmPlan {
  std::string error;          ///< why oneDNN rejects it; empty: it does not
  int64_t scratchBytes = 0;   ///< workspace, 64-byte aligned
  std::string implementation; ///< oneDNN's name for it, "brg:avx512_core"
  bool isReference = false;   ///< a naive loop: orders of magnitude too slow
};

/// Asks oneDNN, for `threads` threads (0: its default).
GemmPlan planGemm(const GemmSpec &description, int threads = 0);

/// A prepared contraction. Its constructor throws std::runtime_error if oneDNN rejects it.
class OnednnGemm {
public:
  explicit OnednnGemm(const GemmSpec &description);
  ~OnednnGemm();
  OnednnGemm(OnednnGemm &&) noexcept;
  OnednnGemm &operator=(OnednnGemm &&) noexcept;

  int64_t scratchBytes() const;

  /// `bias` is ignored unless the description has one; `scratch` has scratchBytes() bytes. One call at a time.
  void run(const void *a, const void *b, const void *bias, void *c, void *scratch);

private:
  struct Impl;
  std::unique_ptr<Impl> impl;
};

} // namespace tessera::runtime

#endif // TESSERA_RUNTIME_MACHINE_ONEDNNGEMM_H
