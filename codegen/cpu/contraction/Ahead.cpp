//===- Ahead.cpp - reading memory before it is needed -----------------------===//

#include "codegen/cpu/contraction/Ahead.h"

using namespace mlir;
using namespace tessera;

Ahead tessera::partOf(CodeBuilder &code, const Ahead &ahead, Value number, Value parts) {
  Value share = code.make<LLVM::UDivOp>(code.add(ahead.pieces, code.add(parts, -1)), parts);
  Value from = code.mul(number, share);
  return {code.at(ahead.start, code.getI8Type(), code.mul(from, ahead.stride)), ahead.stride, ahead.lines,
          code.smax(code.smin(code.sub(ahead.pieces, from), share), 0)}; // the last parts may be empty
}

void tessera::prefetch(CodeBuilder &code, const Ahead &ahead) {
  auto fetch = [&](Value address) {
    IntegerAttr toRead = code.getI32IntegerAttr(0), secondLevel = code.getI32IntegerAttr(2),
                data = code.getI32IntegerAttr(1);
    code.make<LLVM::Prefetch>(address, toRead, secondLevel, data);
  };
  code.loop(code.index(0), ahead.pieces, 1, [&](Value piece) {
    Type byte = code.getI8Type();
    Value start = code.at(ahead.start, byte, code.mul(piece, ahead.stride));
    constexpr int64_t fewLines = 4;
    if (ahead.lines > fewLines)
      code.loop(code.index(0), code.index(ahead.lines * lineBytes), lineBytes,
                [&](Value i) { fetch(code.at(start, byte, i)); });
    else
      for (int64_t i = 0; i < ahead.lines; ++i) fetch(code.at(start, byte, i * lineBytes));
  });
}
