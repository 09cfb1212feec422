//===- Observer.cpp - dumps and times of code generation --------------------===//

#include "codegen/program/Observer.h"
#include "llvm/Support/FormatVariadic.h"

using namespace mlir;
using namespace tessera;

void Observer::step(StringRef name) {
  auto now = std::chrono::steady_clock::now();
  if (options.timing)
    llvm::errs() << llvm::formatv("{0}: {1:f1} ms\n", name, std::chrono::duration<double>(now - last).count() * 1e3);
  last = now;
}

LogicalResult Observer::dump(StringRef file, StringRef text) {
  return isDumping() ? options.dumps->write(file, text) : success();
}
