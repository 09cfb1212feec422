//===- Observer.h - dumps and times of code generation ----------------------===//

#ifndef TESSERA_CODEGEN_HOST_OBSERVER_H
#define TESSERA_CODEGEN_HOST_OBSERVER_H

#include "codegen/program/Program.h"
#include <chrono>

namespace tessera {

/// Writes what `--dump-dir` shows of code generation, and times of steps.
class Observer {
public:
  explicit Observer(const CodegenOptions &options) : options(options), last(std::chrono::steady_clock::now()) {}

  /// A step is over.
  void step(llvm::StringRef name);
  bool isDumping() const { return options.dumps && options.dumps->isWanted(); }
  llvm::LogicalResult dump(llvm::StringRef file, llvm::StringRef text);

private:
  const CodegenOptions &options;
  std::chrono::steady_clock::time_point last;
};

} // namespace tessera

#endif // TESSERA_CODEGEN_HOST_OBSERVER_H
