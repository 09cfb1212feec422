//===- Prefetch.cpp - software prefetch of operands -----------------------===//

#include "codegen/cpu/contraction/Prefetch.h"

using namespace mlir;
using namespace tessera;

PrefetchRegion tessera::shareOf(CodeBuilder &code, const PrefetchRegion &region, Value index, Value count) {
  Value rows = code.make<LLVM::UDivOp>(code.add(region.rows, code.add(count, -1)), count);
  Value from = code.mul(index, rows);
  return {code.at(region.start, code.getI8Type(), code.mul(from, region.strideBytes)), region.strideBytes,
          region.cacheLines, code.smax(code.smin(code.sub(region.rows, from), rows), 0)};
}

void tessera::prefetch(CodeBuilder &code, const PrefetchRegion &region) {
  auto prefetchLine = [&](Value address) {
    IntegerAttr toRead = code.getI32IntegerAttr(0), intoL2 = code.getI32IntegerAttr(2),
                data = code.getI32IntegerAttr(1);
    code.make<LLVM::Prefetch>(address, toRead, intoL2, data);
  };
  code.loop(code.index(0), region.rows, 1, [&](Value row) {
    Type byte = code.getI8Type();
    Value start = code.at(region.start, byte, code.mul(row, region.strideBytes));
    constexpr int64_t fewLines = 4;
    if (region.cacheLines > fewLines)
      code.loop(code.index(0), code.index(region.cacheLines * lineBytes), lineBytes,
                [&](Value i) { prefetchLine(code.at(start, byte, i)); });
    else
      for (int64_t i = 0; i < region.cacheLines; ++i) prefetchLine(code.at(start, byte, i * lineBytes));
  });
}
