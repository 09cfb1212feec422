//===- Packing.cpp - functions that pack operands into panels -------------===//

#include "codegen/cpu/contraction/MatrixFunctions.h"

using namespace mlir;
using namespace tessera;

/// Distinguishes the functions for one format of operands from those for others.
static std::string suffixOf(PanelFormat format) {
  if (format.type == ElementType::F32) return "";
  return "_" + std::string(elementTypeName(format.type)) + (format.amx ? "_amx" : format.pairs ? "_pairs" : "");
}

namespace {
/// Emits code that packs lines of an operand in one format.
struct Packer {
  CodeBuilder &code;
  PanelFormat format;
  unsigned width, lanes;

  void copy(Value source, Value stride, Value depth, Value lines, Value panels);
  void transposePanel(Value source, Value stride, Value depth, Value lines, Value panel);
  void padDepth(Value depth, Value lines, Value panels);
  void copyAmxColumns(Value source, Value stride, Value depth, Value lines, Value panels);
  void copyAmxRow(Value source, Value depth, Value panel);
  void transposeAmxRows(Value source, Value stride, Value depth, Value lines, Value panel);

  Value unitAt(Value panel, Value unit) { return code.f32At(panel, unit); }
  Value unitAt(Value panel, int64_t unit) { return code.at(panel, code.getF32Type(), unit); }
  Value elementAt(Value base, Value offset) { return tessera::elementAt(code, format.type, base, offset); }
  Value elementAt(Value base, int64_t offset) { return tessera::elementAt(code, format.type, base, offset); }
  Value unitsOfLines(Value first, Value second, unsigned column, Value mask);
  Value unitsOfLine(Value address, unsigned count);
  Value pairOf(Value first, Value second);
  void prefetch(Value address);
};
} // namespace

/// Prefetches what will be packed soon into the L2 cache. The address need not be mapped.
void Packer::prefetch(Value address) {
  IntegerAttr toRead = code.getI32IntegerAttr(0), intoL2 = code.getI32IntegerAttr(2);
  code.make<LLVM::Prefetch>(address, toRead, intoL2, code.getI32IntegerAttr(1));
}

/// Pairs of bf16 elements in f32 lanes.
Value Packer::pairOf(Value first, Value second) {
  Type i32 = CodeBuilder::like(first, code.getI32Type());
  first = code.make<LLVM::ZExtOp>(i32, first), second = code.make<LLVM::ZExtOp>(i32, second);
  Value shifted = code.make<LLVM::ShlOp>(second, code.integer(i32, 16));
  return code.bitcast(code.bitOr(first, shifted), code.getF32Type());
}

/// One unit of each of as many lines as a vector has lanes. The elements of the lines are contiguous at `first`, and
/// for pairs those of the next k at `second`.
Value Packer::unitsOfLines(Value first, Value second, unsigned column, Value mask) {
  if (!format.pairs) return loadVector(code, format.type, elementAt(first, column), lanes, mask);
  return pairOf(loadBf16(code, format.type, elementAt(first, column), lanes, mask),
                loadBf16(code, format.type, elementAt(second, column), lanes, mask));
}

/// A vector of `count` successive units of one line; a scalar unit if `count` is 0.
Value Packer::unitsOfLine(Value address, unsigned count) {
  if (!format.pairs) return loadVector(code, format.type, address, count);
  Type unit = CodeBuilder::withLanes(code.getF32Type(), count);
  if (format.isLikeMemory()) return code.make<LLVM::LoadOp>(unit, address, /*alignment=*/2);
  return code.make<LLVM::BitcastOp>(unit, loadBf16(code, format.type, address, 2 * std::max(count, 1u), {}));
}

/// Copies the elements of all lines, which are contiguous, for one k after the other: reads are sequential, and writes
/// go from panel to panel.
void Packer::copy(Value source, Value stride, Value depth, Value lines, Value panels) {
  unsigned vectors = llvm::divideCeil(width, lanes), rest = width - (vectors - 1) * lanes;
  Value lastPanel = code.mul(code.udiv(code.add(lines, -1), width), width); // its first line
  Value wholeMask = rest < lanes ? code.prefixMask(lanes, rest) : Value();
  SmallVector<Value> lastMasks;
  for (unsigned j = 0; j < vectors; ++j)
    lastMasks.push_back(code.icmp(LLVM::ICmpPredicate::slt,
                                  code.iota(CodeBuilder::withLanes(code.i64(), lanes), j * lanes),
                                  code.splat(code.sub(lines, lastPanel), lanes)));
  Value units = format.filledUnits(code, depth), panelSize = code.mul(format.units(code, depth), width);
  // Rows of a panel are written in ascending order: a vector may reach into the next row, which is written later.
  // `isLast`: the next panel follows, which has been written already, and the second element of a pair may be missing.
  auto copyRow = [&](Value from, Value to, bool isLast) {
    Value isOdd, second = from;
    if (format.pairs) second = elementAt(from, stride);
    if (format.pairs && isLast) {
      isOdd = code.icmp(LLVM::ICmpPredicate::eq, code.bitAnd(depth, 1), code.index(1));
      second = code.select(isOdd, from, second);
    }
    auto copyPanel = [&](Value from, Value second, Value to, bool isLastPanel) {
      for (unsigned j = 0; j < vectors; ++j) {
        Value loadMask = isLastPanel ? lastMasks[j] : j + 1 == vectors ? wholeMask : Value();
        Value vector = unitsOfLines(from, second, j * lanes, loadMask);
        if (isOdd) {
          Value bits = code.bitcast(vector, code.getI32Type()), first = code.integer(bits.getType(), 0xffff);
          Value used = code.select(isOdd, first, code.integer(bits.getType(), -1));
          vector = code.bitcast(code.bitAnd(bits, used), code.getF32Type());
        }
        storeVector(code, vector, unitAt(to, j * lanes), isLast && j + 1 == vectors ? wholeMask : Value());
      }
    };
    SmallVector<Value> last = code.loop(
        code.index(0), lastPanel, width, {from, second, to}, false, [&](Value, ValueRange now) -> SmallVector<Value> {
          copyPanel(now[0], now[1], now[2], false);
          return {elementAt(now[0], width), elementAt(now[1], width), unitAt(now[2], panelSize)};
        });
    copyPanel(last[0], last[1], last[2], true);
  };
  Value advance = code.mul(stride, format.perUnit());
  SmallVector<Value> end = code.loop(code.index(0), code.add(units, -1), 1, {source, panels}, false,
                                     [&](Value, ValueRange now) -> SmallVector<Value> {
                                       copyRow(now[0], now[1], false);
                                       return {elementAt(now[0], advance), unitAt(now[1], width)};
                                     });
  copyRow(end[0], end[1], true);
}

/// Transposes squares of lines and units in registers; the remaining units are copied one by one. In place of lines
/// beyond the last one, the last one is read.
void Packer::transposePanel(Value source, Value stride, Value depth, Value lines, Value panel) {
  SmallVector<Value> starts;
  Value last = code.add(lines, -1);
  for (unsigned line = 0; line < llvm::alignTo(width, lanes); ++line)
    starts.push_back(elementAt(source, code.mul(code.smin(code.index(line), last), stride)));
  // Squares consist of whole units. If the depth is odd, the last element has no partner.
  Value pairs = format.pairs ? code.udiv(depth, 2) : depth, whole = code.bitAnd(pairs, -static_cast<int64_t>(lanes));
  auto firstK = [&](Value unit) { return format.pairs ? code.mul(unit, 2) : unit; };
  code.loop(code.index(0), whole, lanes, {}, false, [&](Value unit, ValueRange) -> SmallVector<Value> {
    Value out = unitAt(panel, code.mul(unit, width)), k = firstK(unit);
    // From the last lines to the first, in ascending order of k: the last vector of a row may reach into the next row.
    for (unsigned group = llvm::divideCeil(width, lanes); group-- > 0;) {
      unsigned first = group * lanes;
      SmallVector<Value> rows;
      for (unsigned line = 0; line < lanes; ++line) {
        Value address = elementAt(starts[first + line], k);
        rows.push_back(unitsOfLine(address, lanes));
      }
      for (auto [row, vector] : llvm::enumerate(transpose(code, rows)))
        storeVector(code, vector, unitAt(out, row * width + first));
    }
    return {};
  });
  auto copyUnits = [&](Value from, Value to, llvm::function_ref<Value(Value address)> load) {
    code.loop(from, to, 1, {}, false, [&](Value unit, ValueRange) -> SmallVector<Value> {
      Value out = unitAt(panel, code.mul(unit, width)), k = firstK(unit);
      for (unsigned line = 0; line < width; ++line)
        code.make<LLVM::StoreOp>(load(elementAt(starts[line], k)), unitAt(out, line), /*alignment=*/4);
      return {};
    });
  };
  copyUnits(whole, pairs, [&](Value address) { return unitsOfLine(address, 0); });
  if (format.pairs)
    copyUnits(pairs, format.filledUnits(code, depth), [&](Value address) {
      Value element = loadBf16(code, format.type, address, 0, {});
      return pairOf(element, code.integer(element.getType(), 0));
    });
}

/// Pads each panel with zeros after the last unit that has an element.
void Packer::padDepth(Value depth, Value lines, Value panels) {
  Value units = format.units(code, depth), filled = format.filledUnits(code, depth);
  Value zeros = code.number(CodeBuilder::withLanes(code.getF32Type(), lanes), 0.0);
  code.loop(code.index(0), lines, width, [&](Value line) {
    Value panel = unitAt(panels, code.mul(line, units));
    code.loop(code.mul(filled, width), code.mul(units, width), lanes,
              [&](Value unit) { storeVector(code, zeros, unitAt(panel, unit)); });
  });
}

/// Units from one block of a panel along K to the next, and elements along K in a block.
static constexpr int64_t amxBlockUnits = 2 * amxRows * amxUnits, amxBlockDepth = 2 * amxUnits;

/// Like `copy`, but block by block along K, and in a block panel by panel: writes are contiguous, and what is read
/// stays in the L1 cache for the next panel.
void Packer::copyAmxColumns(Value source, Value stride, Value depth, Value lines, Value panels) {
  Value advance = code.mul(stride, amxBlockDepth), panelSize = code.mul(format.units(code, depth), width);
  auto existing = [&](Value count, unsigned first) {
    return code.icmp(LLVM::ICmpPredicate::slt, code.iota(CodeBuilder::withLanes(code.i64(), lanes), first),
                     code.splat(count, lanes));
  };
  auto copyBlock = [&](Value from, Value to, ArrayRef<Value> masks, Value remaining) {
    code.loop(code.index(0), code.index(amxBlockDepth), 2, {from, to}, true, [&](Value offset, ValueRange now) {
      Value first = now[0], second = elementAt(first, stride);
      if (!remaining)
        for (Value row : {first, second}) prefetch(elementAt(row, advance));
      for (unsigned j = 0; j < 2; ++j) {
        auto load = [&](Value row, int64_t ofPair) {
          Value mask = masks[j];
          if (remaining) { // nothing is read beyond the last k
            Value isThere = code.icmp(LLVM::ICmpPredicate::slt, code.add(offset, ofPair), remaining);
            mask = code.bitAnd(mask, code.splat(isThere, lanes));
          }
          return loadBf16(code, format.type, elementAt(row, j * lanes), lanes, mask);
        };
        Value firsts = load(first, 0), seconds = load(second, 1);
        storeVector(code, pairOf(firsts, seconds), unitAt(now[1], j * lanes));
      }
      return SmallVector<Value>{elementAt(second, stride), unitAt(now[1], width)};
    });
  };
  auto copyBlocks = [&](Value from, Value to, Value remaining) {
    Value whole = code.bitAnd(lines, -int64_t(width));
    SmallVector<Value> every = {existing(code.index(width), 0), existing(code.index(width), lanes)};
    SmallVector<Value> rest =
        code.loop(code.index(0), whole, width, {from, to}, false, [&](Value, ValueRange now) -> SmallVector<Value> {
          copyBlock(now[0], now[1], remaining ? every : SmallVector<Value>(2), remaining);
          return {elementAt(now[0], width), unitAt(now[1], panelSize)};
        });
    code.when(code.icmp(LLVM::ICmpPredicate::slt, whole, lines), [&] {
      Value count = code.sub(lines, whole);
      copyBlock(rest[0], rest[1], {existing(count, 0), existing(count, lanes)}, remaining);
    });
  };
  Value whole = code.bitAnd(depth, -amxBlockDepth);
  SmallVector<Value> rest = code.loop(code.index(0), whole, amxBlockDepth, {source, panels}, false,
                                      [&](Value, ValueRange now) -> SmallVector<Value> {
                                        copyBlocks(now[0], now[1], {});
                                        return {elementAt(now[0], advance), unitAt(now[1], amxUnits * width)};
                                      });
  code.when(code.icmp(LLVM::ICmpPredicate::slt, whole, depth),
            [&] { copyBlocks(rest[0], rest[1], code.sub(depth, whole)); });
}

/// Copies one row, whose elements are contiguous along K.
void Packer::copyAmxRow(Value source, Value depth, Value panel) {
  auto copyBlock = [&](Value from, Value to, Value mask) {
    Value elements = loadBf16(code, format.type, from, amxBlockDepth, mask);
    storeVector(code, code.make<LLVM::BitcastOp>(CodeBuilder::withLanes(code.getF32Type(), amxUnits), elements), to);
  };
  Value whole = code.bitAnd(depth, -amxBlockDepth);
  SmallVector<Value> rest = code.loop(code.index(0), whole, amxBlockDepth, {source, panel}, false,
                                      [&](Value, ValueRange now) -> SmallVector<Value> {
                                        copyBlock(now[0], now[1], {});
                                        return {elementAt(now[0], amxBlockDepth), unitAt(now[1], amxBlockUnits)};
                                      });
  code.when(code.icmp(LLVM::ICmpPredicate::slt, whole, depth), [&] {
    copyBlock(rest[0], rest[1],
              code.icmp(LLVM::ICmpPredicate::slt, code.iota(CodeBuilder::withLanes(code.i64(), amxBlockDepth), 0),
                        code.splat(code.sub(depth, whole), amxBlockDepth)));
  });
}

/// Copies a panel of rows whose elements are contiguous for each k: squares of 16 units along K and 16 rows are
/// transposed in registers.
void Packer::transposeAmxRows(Value source, Value stride, Value depth, Value lines, Value panel) {
  SmallVector<Value> exists; // masks of the rows that do
  for (int64_t first : {int64_t(0), amxRows})
    exists.push_back(code.icmp(LLVM::ICmpPredicate::slt, code.iota(CodeBuilder::withLanes(code.i64(), amxRows), first),
                               code.splat(lines, amxRows)));
  Value advance = code.mul(stride, amxBlockDepth);
  auto transposeBlock = [&](Value from, Value to, Value remaining) {
    for (auto [half, mask] : llvm::enumerate(exists)) {
      SmallVector<Value> units;
      Value address = elementAt(from, int64_t(half) * amxRows);
      auto next = [&](int64_t offset) {
        Value loaded = mask;
        if (remaining) // nothing is read beyond the last k
          loaded = code.bitAnd(mask,
                               code.splat(code.icmp(LLVM::ICmpPredicate::slt, code.index(offset), remaining), amxRows));
        if (!remaining && half == 0) prefetch(elementAt(address, advance));
        Value elements = loadBf16(code, format.type, address, amxRows, loaded);
        address = elementAt(address, stride);
        return elements;
      };
      for (int64_t unit = 0; unit < amxUnits; ++unit) {
        Value first = next(2 * unit), second = next(2 * unit + 1);
        units.push_back(pairOf(first, second));
      }
      for (auto [row, vector] : llvm::enumerate(transpose(code, units)))
        storeVector(code, vector, unitAt(to, (int64_t(half) * amxRows + int64_t(row)) * amxUnits));
    }
  };
  Value whole = code.bitAnd(depth, -amxBlockDepth);
  SmallVector<Value> rest = code.loop(code.index(0), whole, amxBlockDepth, {source, panel}, false,
                                      [&](Value, ValueRange now) -> SmallVector<Value> {
                                        transposeBlock(now[0], now[1], {});
                                        return {elementAt(now[0], advance), unitAt(now[1], amxBlockUnits)};
                                      });
  code.when(code.icmp(LLVM::ICmpPredicate::slt, whole, depth),
            [&] { transposeBlock(rest[0], rest[1], code.sub(depth, whole)); });
}

static LLVM::LLVMFunctionType packType(CodeBuilder &code) {
  Type pointer = code.pointer(), i64 = code.i64();
  return LLVM::LLVMFunctionType::get(LLVM::LLVMVoidType::get(code.getContext()), {pointer, i64, i64, i64, pointer});
}

namespace {
/// The arguments of a function that packs, in this order.
struct PackArguments {
  Value source, stride, depth, lines, panels;
};
} // namespace

static PackArguments packArguments(LLVM::LLVMFuncOp function) {
  auto argument = [&](unsigned i) { return function.getBody().getArgument(i); };
  return {argument(0), argument(1), argument(2), argument(3), argument(4)};
}

LLVM::LLVMFuncOp MatrixFunctions::packAmxRows(bool transposing, PanelFormat format) {
  std::string name = (transposing ? "tsr_pack_rows_transposing" : "tsr_pack_rows") + suffixOf(format);
  if (auto it = functions.find(name); it != functions.end()) return it->second;
  CodeBuilder code(UnknownLoc::get(module.getContext()));
  auto function = begin(code, name, packType(code).getParams());
  auto [source, stride, depth, lines, panels] = packArguments(function);
  constexpr int64_t width = 2 * amxRows;
  Packer packer{code, format, width, lanes};
  Value units = format.units(code, depth);
  code.loop(code.index(0), lines, width, [&](Value line) {
    Value panel = packer.unitAt(panels, code.mul(line, units)), count = code.smin(code.sub(lines, line), width);
    if (transposing) return packer.transposeAmxRows(packer.elementAt(source, line), stride, depth, count, panel);
    code.loop(code.index(0), count, 1, [&](Value row) {
      packer.copyAmxRow(packer.elementAt(source, code.mul(code.add(line, row), stride)), depth,
                        packer.unitAt(panel, code.mul(row, amxUnits)));
    });
  });
  code.make<LLVM::ReturnOp>(ValueRange{});
  return function;
}

LLVM::LLVMFuncOp MatrixFunctions::pack(unsigned width, bool transposing, PanelFormat format) {
  std::string name = (transposing ? "tsr_pack_transposing_" : "tsr_pack_") + std::to_string(width) + suffixOf(format);
  if (auto it = functions.find(name); it != functions.end()) return it->second;
  CodeBuilder code(UnknownLoc::get(module.getContext()));
  auto function = begin(code, name, packType(code).getParams());
  auto [source, stride, depth, lines, panels] = packArguments(function);
  Packer packer{code, format, width, lanes};
  if (format.amx && !transposing) {
    packer.copyAmxColumns(source, stride, depth, lines, panels);
  } else if (transposing) {
    Value units = format.units(code, depth);
    code.loop(code.index(0), lines, width, [&](Value line) {
      packer.transposePanel(packer.elementAt(source, code.mul(line, stride)), stride, depth,
                            code.smin(code.sub(lines, line), width), packer.unitAt(panels, code.mul(line, units)));
    });
  } else {
    packer.copy(source, stride, depth, lines, panels);
  }
  if (format.amx && transposing) packer.padDepth(depth, lines, panels);
  code.make<LLVM::ReturnOp>(ValueRange{});
  return function;
}
