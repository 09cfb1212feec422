//===- Nvrtc.h - CUDA C++ to machine code -----------------------------------===//
//
// NVRTC is opened at run time: compiling for a GPU needs neither a GPU, nor its driver, nor CUDA where Tessera was built.
//
//===----------------------------------------------------------------------===//

#ifndef TESSERA_CODEGEN_CUDA_NVRTC_H
#define TESSERA_CODEGEN_CUDA_NVRTC_H

#include "mlir/Support/LLVM.h"
#include "llvm/ADT/STLExtras.h"
#include <memory>
#include <string>
#include <vector>

namespace tessera::cuda {

/// What became of a source.
struct Compilation {
  std::string code; ///< a cubin, or PTX; empty where there are errors
  std::string log;  ///< errors, and what ptxas says of registers and spills
};

/// Bytes that ptxas says a kernel spills, stores and loads together.
int64_t spilledBytes(llvm::StringRef log);

/// `log`, with each line of the source that it names, and the line of the model behind it.
std::string explain(llvm::StringRef log, llvm::StringRef source);

class Nvrtc {
public:
  /// The library, opened once. Null with a message in `error` that says what is missing.
  static const Nvrtc *get(std::string &error);

  /// Machine code of `source` for an architecture: sm_90a; or PTX for compute_90. May be called from several threads.
  Compilation compile(llvm::StringRef source, llvm::StringRef name, llvm::StringRef architecture) const;

  /// Whether it compiles for an architecture: 90 for sm_90a.
  bool supports(int architecture) const { return llvm::is_contained(architectures, architecture); }

  /// What the library is known by: the version, and which file it is, of what size and when it was changed.
  const std::string &getIdentity() const { return identity; }

private:
  struct Functions;
  explicit Nvrtc(std::unique_ptr<Functions> functions);
  ~Nvrtc();
  std::unique_ptr<Functions> functions;
  std::string identity;
  std::vector<int> architectures;
};

} // namespace tessera::cuda

#endif // TESSERA_CODEGEN_CUDA_NVRTC_H
