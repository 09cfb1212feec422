//===- StageLog.cpp - dumps and times of code generation ------------------===//

#include "codegen/StageLog.h"
#include "llvm/Support/FormatVariadic.h"
#include "llvm/Support/raw_ostream.h"

using namespace tessera;

void StageLog::finishStage(llvm::StringRef name) {
  auto now = std::chrono::steady_clock::now();
  if (timing)
    llvm::errs() << llvm::formatv("{0}: {1:f1} ms\n", name, std::chrono::duration<double>(now - last).count() * 1e3);
  last = now;
}

llvm::LogicalResult StageLog::dump(llvm::StringRef file, llvm::StringRef text) {
  return isDumping() ? dumps->write(file, text) : llvm::success();
}
