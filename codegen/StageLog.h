//===- StageLog.h - dumps and times of code generation --------------------===//

#ifndef TESSERA_CODEGEN_STAGELOG_H
#define TESSERA_CODEGEN_STAGELOG_H

#include "passes/OutputFile.h"
#include <chrono>

namespace tessera {

/// Prints the time of each stage of code generation, and writes the dumps that `--dump-dir` requests.
class StageLog {
public:
  /// `dumps` may be null.
  StageLog(DumpFolder *dumps, bool timing) : dumps(dumps), timing(timing), last(std::chrono::steady_clock::now()) {}

  /// Called at the end of a stage.
  void finishStage(llvm::StringRef name);
  bool isDumping() const { return dumps && dumps->isWanted(); }
  llvm::LogicalResult dump(llvm::StringRef file, llvm::StringRef text);

private:
  DumpFolder *dumps;
  bool timing;
  std::chrono::steady_clock::time_point last;
};

} // namespace tessera

#endif // TESSERA_CODEGEN_STAGELOG_H
