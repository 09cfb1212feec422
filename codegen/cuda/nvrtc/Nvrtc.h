//===- Nvrtc.h - CUDA C++ to machine code -----------------------------------===//
//
// NVRTC is opened at run time. Compiling for a GPU needs neither a GPU nor its driver, and building Tessera does not
// need CUDA.
//
//===----------------------------------------------------------------------===//

#ifndef TESSERA_CODEGEN_CUDA_NVRTC_NVRTC_H
#define TESSERA_CODEGEN_CUDA_NVRTC_NVRTC_H

#include "mlir/Support/LLVM.h"
#include "llvm/ADT/STLExtras.h"
#include <memory>
#include <string>
#include <vector>

namespace tessera::cuda {

/// The result of compiling a source.
struct Compilation {
  std::string code; ///< a cubin or PTX; empty if there are errors
  std::string log;  ///< errors, and registers and spills reported by ptxas
};

/// Bytes of spill stores and loads that ptxas reports.
int64_t spilledBytes(llvm::StringRef log);

/// `log` with each line of the source that it names, and the line of the model that it comes from.
std::string explain(llvm::StringRef log, llvm::StringRef source);

class Nvrtc {
public:
  /// The library, opened once. Null if it cannot be opened, with a message in `error`.
  static const Nvrtc *get(std::string &error);

  /// Compiles `source` to machine code (sm_90a) or PTX (compute_90). Thread-safe.
  Compilation compile(llvm::StringRef source, llvm::StringRef name, llvm::StringRef architecture) const;

  /// Whether it supports an architecture: 90 for sm_90a.
  bool supports(int architecture) const { return llvm::is_contained(architectures, architecture); }

  /// All of them.
  const std::vector<int> &known() const { return architectures; }

  /// Its version: 13.0.
  std::string getVersion() const { return identity.substr(0, identity.find(' ')); }
  /// Identifies the library: its version, and the path, size and modification time of its file.
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

#endif // TESSERA_CODEGEN_CUDA_NVRTC_NVRTC_H
