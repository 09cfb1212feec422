//===- Packing.cpp - operands of products in panels -----------------------===//

#include "codegen/cpu/contraction/MatrixFunctions.h"

using namespace mlir;
using namespace tessera;

/// What tells functions for one format of operands from those for others.
static std::string suffixOf(PanelFormat format) {
  if (format.type == ElementType::F32) return "";
  return "_" + std::string(elementTypeName(format.type)) + (format.amx ? "_amx" : format.pairs ? "_pairs" : "");
}

/// Packs lines of an operand in one format.
namespace {
struct Packer {
  CodeBuilder &code;
  PanelFormat format;
  unsigned width, lanes;

  void copy(Value source, Value stride, Value steps, Value lines, Value panels);
  void transposePanel(Value source, Value stride, Value steps, Value lines, Value panel);
  void clearBehind(Value steps, Value lines, Value panels);
  void copyAmxColumns(Value source, Value stride, Value steps, Value lines, Value panels);
  void copyAmxRow(Value source, Value steps, Value panel);
  void transposeAmxRows(Value source, Value stride, Value steps, Value lines, Value panel);

  Value unitAt(Value panel, Value unit) { return code.f32At(panel, unit); }
  Value unitAt(Value panel, int64_t unit) { return code.at(panel, code.getF32Type(), unit); }
  Value numberAt(Value base, Value offset) { return tessera::numberAt(code, format.type, base, offset); }
  Value numberAt(Value base, int64_t offset) { return tessera::numberAt(code, format.type, base, offset); }
  Value unitsOfLines(Value first, Value second, unsigned column, Value mask);
  Value unitsOfLine(Value address, unsigned count);
  Value joined(Value low, Value high);
  void fetch(Value address);
};
} // namespace

/// What will be packed soon comes into the second level cache. There need not be anything.
void Packer::fetch(Value address) {
  IntegerAttr toRead = code.getI32IntegerAttr(0), secondLevel = code.getI32IntegerAttr(2);
  code.make<LLVM::Prefetch>(address, toRead, secondLevel, code.getI32IntegerAttr(1));
}

/// Pairs of bf16 in the lanes of f32.
Value Packer::joined(Value low, Value high) {
  Type i32 = CodeBuilder::like(low, code.getI32Type());
  low = code.make<LLVM::ZExtOp>(i32, low), high = code.make<LLVM::ZExtOp>(i32, high);
  Value shifted = code.make<LLVM::ShlOp>(high, code.integer(i32, 16));
  return code.bitcast(code.bitOr(low, shifted), code.getF32Type());
}

/// Units of as many lines as a vector has lanes, which lie side by side; `second`: where the next k is, for pairs.
Value Packer::unitsOfLines(Value first, Value second, unsigned column, Value mask) {
  if (!format.pairs) return loadVector(code, format.type, numberAt(first, column), lanes, mask);
  return joined(loadBf16(code, format.type, numberAt(first, column), lanes, mask),
                loadBf16(code, format.type, numberAt(second, column), lanes, mask));
}

/// Successive units of one line; of none, a single one.
Value Packer::unitsOfLine(Value address, unsigned count) {
  if (!format.pairs) return loadVector(code, format.type, address, count);
  Type unit = CodeBuilder::withLanes(code.getF32Type(), count);
  if (format.isLikeMemory()) return code.make<LLVM::LoadOp>(unit, address, /*alignment=*/2);
  return code.make<LLVM::BitcastOp>(unit, loadBf16(code, format.type, address, 2 * std::max(count, 1u), {}));
}

/// For each k, the numbers of all lines, which lie side by side: what is read is read in its order, and goes to one panel after
/// the other.
void Packer::copy(Value source, Value stride, Value steps, Value lines, Value panels) {
  unsigned vectors = llvm::divideCeil(width, lanes), rest = width - (vectors - 1) * lanes;
  Value lastLine = code.mul(code.udiv(code.add(lines, -1), width), width); // the first one of the last panel
  Value wholeMask = rest < lanes ? code.prefixMask(lanes, rest) : Value();
  SmallVector<Value> lastMasks;
  for (unsigned j = 0; j < vectors; ++j)
    lastMasks.push_back(code.icmp(LLVM::ICmpPredicate::slt,
                                  code.iota(CodeBuilder::withLanes(code.i64(), lanes), j * lanes),
                                  code.splat(code.sub(lines, lastLine), lanes)));
  Value units = format.filledUnits(code, steps), panelSize = code.mul(format.units(code, steps), width);
  // Ascending in k: a vector that reaches beyond its row is followed by the next row. `isLast`: no row follows, but the next
  // panel, which has been written, and the second number of a pair may be missing.
  auto copyRow = [&](Value from, Value to, bool isLast) {
    Value isOdd, second = from;
    if (format.pairs) second = numberAt(from, stride);
    if (format.pairs && isLast) {
      isOdd = code.icmp(LLVM::ICmpPredicate::eq, code.bitAnd(steps, 1), code.index(1));
      second = code.select(isOdd, from, second);
    }
    auto copyPanel = [&](Value from, Value second, Value to, bool isLastPanel) {
      for (unsigned j = 0; j < vectors; ++j) {
        Value loadMask = isLastPanel ? lastMasks[j] : j + 1 == vectors ? wholeMask : Value();
        Value vector = unitsOfLines(from, second, j * lanes, loadMask);
        if (isOdd) {
          Value bits = code.bitcast(vector, code.getI32Type()), low = code.integer(bits.getType(), 0xffff);
          Value kept = code.select(isOdd, low, code.integer(bits.getType(), -1));
          vector = code.bitcast(code.bitAnd(bits, kept), code.getF32Type());
        }
        storeVector(code, vector, unitAt(to, j * lanes), isLast && j + 1 == vectors ? wholeMask : Value());
      }
    };
    SmallVector<Value> last = code.loop(
        code.index(0), lastLine, width, {from, second, to}, false, [&](Value, ValueRange now) -> SmallVector<Value> {
          copyPanel(now[0], now[1], now[2], false);
          return {numberAt(now[0], width), numberAt(now[1], width), unitAt(now[2], panelSize)};
        });
    copyPanel(last[0], last[1], last[2], true);
  };
  Value advance = code.mul(stride, format.perUnit());
  SmallVector<Value> end = code.loop(code.index(0), code.add(units, -1), 1, {source, panels}, false,
                                     [&](Value, ValueRange now) -> SmallVector<Value> {
                                       copyRow(now[0], now[1], false);
                                       return {numberAt(now[0], advance), unitAt(now[1], width)};
                                     });
  copyRow(end[0], end[1], true);
}

/// Squares of lines and k are transposed in registers; what is left of k goes unit by unit. A line that does not exist
/// is read as the last one.
void Packer::transposePanel(Value source, Value stride, Value steps, Value lines, Value panel) {
  SmallVector<Value> starts;
  Value last = code.add(lines, -1);
  for (unsigned line = 0; line < llvm::alignTo(width, lanes); ++line)
    starts.push_back(numberAt(source, code.mul(code.smin(code.index(line), last), stride)));
  // Squares of whole units; of an odd k, the last number has no partner.
  Value pairs = format.pairs ? code.udiv(steps, 2) : steps, whole = code.bitAnd(pairs, -static_cast<int64_t>(lanes));
  auto numberOf = [&](Value unit) { return format.pairs ? code.mul(unit, 2) : unit; };
  code.loop(code.index(0), whole, lanes, {}, false, [&](Value unit, ValueRange) -> SmallVector<Value> {
    Value out = unitAt(panel, code.mul(unit, width)), k = numberOf(unit);
    // From the last lines to the first and in the order of k: the last vector of a row may reach into the row behind it.
    for (unsigned group = llvm::divideCeil(width, lanes); group-- > 0;) {
      unsigned first = group * lanes;
      SmallVector<Value> rows;
      for (unsigned line = 0; line < lanes; ++line) {
        Value address = numberAt(starts[first + line], k);
        rows.push_back(unitsOfLine(address, lanes));
      }
      for (auto [row, vector] : llvm::enumerate(transpose(code, rows)))
        storeVector(code, vector, unitAt(out, row * width + first));
    }
    return {};
  });
  auto copyUnits = [&](Value from, Value to, llvm::function_ref<Value(Value address)> load) {
    code.loop(from, to, 1, {}, false, [&](Value unit, ValueRange) -> SmallVector<Value> {
      Value out = unitAt(panel, code.mul(unit, width)), k = numberOf(unit);
      for (unsigned line = 0; line < width; ++line)
        code.make<LLVM::StoreOp>(load(numberAt(starts[line], k)), unitAt(out, line), /*alignment=*/4);
      return {};
    });
  };
  copyUnits(whole, pairs, [&](Value address) { return unitsOfLine(address, 0); });
  if (format.pairs)
    copyUnits(pairs, format.filledUnits(code, steps), [&](Value address) {
      Value number = loadBf16(code, format.type, address, 0, {});
      return joined(number, code.integer(number.getType(), 0));
    });
}

/// Zeros from the last number's unit to the end of each panel.
void Packer::clearBehind(Value steps, Value lines, Value panels) {
  Value units = format.units(code, steps), filled = format.filledUnits(code, steps);
  Value zeros = code.number(CodeBuilder::withLanes(code.getF32Type(), lanes), 0.0);
  code.loop(code.index(0), lines, width, [&](Value line) {
    Value panel = unitAt(panels, code.mul(line, units));
    code.loop(code.mul(filled, width), code.mul(units, width), lanes,
              [&](Value unit) { storeVector(code, zeros, unitAt(panel, unit)); });
  });
}

/// Units from one block of a panel along K to the next.
static constexpr int64_t amxBlock = 2 * amxRows * amxUnits;

/// As `copy`, a block along K of each panel after the other: what is written lies side by side, and what is read stays in the first
/// level cache for the next panel.
void Packer::copyAmxColumns(Value source, Value stride, Value steps, Value lines, Value panels) {
  constexpr int64_t stepsOfBlock = 2 * amxUnits;
  Value advance = code.mul(stride, stepsOfBlock), panelSize = code.mul(format.units(code, steps), width);
  auto existing = [&](Value count, unsigned first) {
    return code.icmp(LLVM::ICmpPredicate::slt, code.iota(CodeBuilder::withLanes(code.i64(), lanes), first),
                     code.splat(count, lanes));
  };
  auto copyBlock = [&](Value from, Value to, ArrayRef<Value> masks, Value left) {
    code.loop(code.index(0), code.index(stepsOfBlock), 2, {from, to}, true, [&](Value step, ValueRange now) {
      Value first = now[0], second = numberAt(first, stride);
      if (!left)
        for (Value row : {first, second}) fetch(numberAt(row, advance));
      for (unsigned j = 0; j < 2; ++j) {
        auto load = [&](Value row, int64_t ofPair) {
          Value mask = masks[j];
          if (left) { // behind the last k nothing is read
            Value isThere = code.icmp(LLVM::ICmpPredicate::slt, code.add(step, ofPair), left);
            mask = code.bitAnd(mask, code.splat(isThere, lanes));
          }
          return loadBf16(code, format.type, numberAt(row, j * lanes), lanes, mask);
        };
        Value low = load(first, 0), high = load(second, 1);
        storeVector(code, joined(low, high), unitAt(now[1], j * lanes));
      }
      return SmallVector<Value>{numberAt(second, stride), unitAt(now[1], width)};
    });
  };
  auto copyBlocks = [&](Value from, Value to, Value left) {
    Value whole = code.bitAnd(lines, -int64_t(width));
    SmallVector<Value> every = {existing(code.index(width), 0), existing(code.index(width), lanes)};
    SmallVector<Value> rest =
        code.loop(code.index(0), whole, width, {from, to}, false, [&](Value, ValueRange now) -> SmallVector<Value> {
          copyBlock(now[0], now[1], left ? every : SmallVector<Value>(2), left);
          return {numberAt(now[0], width), unitAt(now[1], panelSize)};
        });
    code.when(code.icmp(LLVM::ICmpPredicate::slt, whole, lines), [&] {
      Value count = code.sub(lines, whole);
      copyBlock(rest[0], rest[1], {existing(count, 0), existing(count, lanes)}, left);
    });
  };
  Value whole = code.bitAnd(steps, -stepsOfBlock);
  SmallVector<Value> rest = code.loop(code.index(0), whole, stepsOfBlock, {source, panels}, false,
                                      [&](Value, ValueRange now) -> SmallVector<Value> {
                                        copyBlocks(now[0], now[1], {});
                                        return {numberAt(now[0], advance), unitAt(now[1], amxUnits * width)};
                                      });
  code.when(code.icmp(LLVM::ICmpPredicate::slt, whole, steps),
            [&] { copyBlocks(rest[0], rest[1], code.sub(steps, whole)); });
}

/// One row, of which neighbours along K lie side by side.
void Packer::copyAmxRow(Value source, Value steps, Value panel) {
  constexpr int64_t stepsOfBlock = 2 * amxUnits;
  auto copyBlock = [&](Value from, Value to, Value mask) {
    Value numbers = loadBf16(code, format.type, from, stepsOfBlock, mask);
    storeVector(code, code.make<LLVM::BitcastOp>(CodeBuilder::withLanes(code.getF32Type(), amxUnits), numbers), to);
  };
  Value whole = code.bitAnd(steps, -stepsOfBlock);
  SmallVector<Value> rest = code.loop(code.index(0), whole, stepsOfBlock, {source, panel}, false,
                                      [&](Value, ValueRange now) -> SmallVector<Value> {
                                        copyBlock(now[0], now[1], {});
                                        return {numberAt(now[0], stepsOfBlock), unitAt(now[1], amxBlock)};
                                      });
  code.when(code.icmp(LLVM::ICmpPredicate::slt, whole, steps), [&] {
    copyBlock(rest[0], rest[1],
              code.icmp(LLVM::ICmpPredicate::slt, code.iota(CodeBuilder::withLanes(code.i64(), stepsOfBlock), 0),
                        code.splat(code.sub(steps, whole), stepsOfBlock)));
  });
}

/// A panel of rows whose neighbours lie side by side for each k: squares of 16 units along K and 16 rows are transposed in
/// registers.
void Packer::transposeAmxRows(Value source, Value stride, Value steps, Value lines, Value panel) {
  SmallVector<Value> exists; // which rows do
  for (int64_t first : {int64_t(0), amxRows})
    exists.push_back(code.icmp(LLVM::ICmpPredicate::slt, code.iota(CodeBuilder::withLanes(code.i64(), amxRows), first),
                               code.splat(lines, amxRows)));
  constexpr int64_t stepsOfBlock = 2 * amxUnits;
  Value advance = code.mul(stride, stepsOfBlock);
  auto transposeBlock = [&](Value from, Value to, Value left) {
    for (auto [half, mask] : llvm::enumerate(exists)) {
      SmallVector<Value> units;
      Value address = numberAt(from, int64_t(half) * amxRows);
      auto next = [&](int64_t step) {
        Value loaded = mask;
        if (left) // behind the last k nothing is read
          loaded = code.bitAnd(mask, code.splat(code.icmp(LLVM::ICmpPredicate::slt, code.index(step), left), amxRows));
        if (!left && half == 0) fetch(numberAt(address, advance));
        Value numbers = loadBf16(code, format.type, address, amxRows, loaded);
        address = numberAt(address, stride);
        return numbers;
      };
      for (int64_t unit = 0; unit < amxUnits; ++unit) {
        Value low = next(2 * unit), high = next(2 * unit + 1);
        units.push_back(joined(low, high));
      }
      for (auto [row, vector] : llvm::enumerate(transpose(code, units)))
        storeVector(code, vector, unitAt(to, (int64_t(half) * amxRows + int64_t(row)) * amxUnits));
    }
  };
  Value whole = code.bitAnd(steps, -stepsOfBlock);
  SmallVector<Value> rest = code.loop(code.index(0), whole, stepsOfBlock, {source, panel}, false,
                                      [&](Value, ValueRange now) -> SmallVector<Value> {
                                        transposeBlock(now[0], now[1], {});
                                        return {numberAt(now[0], advance), unitAt(now[1], amxBlock)};
                                      });
  code.when(code.icmp(LLVM::ICmpPredicate::slt, whole, steps),
            [&] { transposeBlock(rest[0], rest[1], code.sub(steps, whole)); });
}

static LLVM::LLVMFunctionType packType(CodeBuilder &code) {
  Type pointer = code.pointer(), i64 = code.i64();
  return LLVM::LLVMFunctionType::get(LLVM::LLVMVoidType::get(code.getContext()), {pointer, i64, i64, i64, pointer});
}

namespace {
/// Of a function that packs, in their order.
struct PackArguments {
  Value source, stride, steps, lines, panels;
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
  auto [source, stride, steps, lines, panels] = packArguments(function);
  constexpr int64_t width = 2 * amxRows;
  Packer packer{code, format, width, lanes};
  Value units = format.units(code, steps);
  code.loop(code.index(0), lines, width, [&](Value line) {
    Value panel = packer.unitAt(panels, code.mul(line, units)), count = code.smin(code.sub(lines, line), width);
    if (transposing) return packer.transposeAmxRows(packer.numberAt(source, line), stride, steps, count, panel);
    code.loop(code.index(0), count, 1, [&](Value row) {
      packer.copyAmxRow(packer.numberAt(source, code.mul(code.add(line, row), stride)), steps,
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
  auto [source, stride, steps, lines, panels] = packArguments(function);
  Packer packer{code, format, width, lanes};
  if (format.amx && !transposing) {
    packer.copyAmxColumns(source, stride, steps, lines, panels);
  } else if (transposing) {
    Value units = format.units(code, steps);
    code.loop(code.index(0), lines, width, [&](Value line) {
      packer.transposePanel(packer.numberAt(source, code.mul(line, stride)), stride, steps,
                            code.smin(code.sub(lines, line), width), packer.unitAt(panels, code.mul(line, units)));
    });
  } else {
    packer.copy(source, stride, steps, lines, panels);
  }
  if (format.amx && transposing) packer.clearBehind(steps, lines, panels);
  code.make<LLVM::ReturnOp>(ValueRange{});
  return function;
}
