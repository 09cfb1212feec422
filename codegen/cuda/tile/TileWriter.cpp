//===- TileWriter.cpp - from a tiled op to CUDA C++ -------------------------===//

#include "codegen/cuda/tile/TileWriter.h"
#include "codegen/cuda/writer/Scalars.h"
#include "ir/program/Program.h"
#include "passes/kernel/ThreadMapping.h"
#include "llvm/ADT/StringExtras.h"

using namespace mlir;
using namespace tessera;
using namespace tessera::cuda;

/// 32-bit registers of a thread that fragments may take: the rest is for addresses and what is computed from element to
/// element.
static constexpr int64_t fragmentRegisters = 200;
/// Of these, what f32 numbers are taken apart in, in front of a product.
static constexpr int64_t splitRegisters = 52;

namespace {
/// What a launch keeps in registers and in shared memory.
struct TileNeeds {
  bool isLaunched = false;
  int64_t lasting = 0; ///< registers of own operands and of sums
  int64_t perLine = 0; ///< of matrices, in halves of a register for each other line
  int64_t products = 0, extent = 0, elementBytes = 2;

  int64_t registers(int64_t otherLines) const { return lasting + perLine * otherLines / 4; }
  /// A product brings one tile at most.
  int64_t sharedBytes(int64_t otherLines) const { return products * otherLines * lineLength(extent) * elementBytes; }
};
} // namespace

static bool isSerial(TiledOp op, AxisAttr axis) { return llvm::is_contained(names(op.getSerial()), axis.getName()); }

static TileNeeds needsOf(TiledOp op, const MatrixAxes &axes, bool ownsRows) {
  TileNeeds needs;
  llvm::SmallPtrSet<Value, 4> own, weights;
  for (Operation &inner : op.getBlock().without_terminator()) {
    auto contract = dyn_cast<ContractOp>(inner);
    if (!contract) {
      // Values of rows are results of the launch that owns rows.
      for (Value result : inner.getResults()) needs.isLaunched |= ownsRows && !axes.isMatrix(tensorType(result));
      continue;
    }
    TiledContraction role = *tiledRole(contract, axes);
    int64_t bytes = contract.getLhs().getType().getElementBytes(), extent = padded(role.extent);
    needs.elementBytes = std::max(needs.elementBytes, bytes);
    needs.extent = std::max(needs.extent, role.extent);
    ++needs.products;
    if (role.role == TiledRole::MakesMatrix) {
      if (own.insert(contract->getOperand(ownsRows ? role.x : role.y)).second) needs.lasting += extent * bytes / 8;
      needs.perLine += 2;
    } else if ((role.role == TiledRole::SumsColumns) == ownsRows) {
      needs.isLaunched = true;
      needs.lasting += extent / 2;
      if (weights.insert(contract->getOperand(role.x)).second) needs.perLine += bytes / 2;
    }
  }
  if (needs.elementBytes == 4) needs.lasting += splitRegisters;
  return needs;
}

SmallVector<TileMapping> cuda::tileMappings(TiledOp op, const MatrixAxes &axes) {
  SmallVector<TileMapping> mappings;
  for (bool ownsRows : {true, false}) {
    TileNeeds needs = needsOf(op, axes, ownsRows);
    if (!needs.isLaunched) continue;
    TileMapping mapping;
    mapping.ownsRows = ownsRows;
    int64_t least = needs.elementBytes == 4 ? 8 : 16; // what a fragment of a matrix holds along the sum
    while (mapping.otherLines > least && (needs.registers(mapping.otherLines) > fragmentRegisters ||
                                          needs.sharedBytes(mapping.otherLines) > sharedBytes))
      mapping.otherLines /= 2;
    int64_t others = (ownsRows ? axes.columns : axes.rows).getSize();
    if (others <= mapping.otherLines || 2 * needs.sharedBytes(mapping.otherLines) > sharedBytes) mapping.stages = 1;
    int64_t positions = 1;
    for (AxisAttr axis : axes.batch)
      if (ownsRows || !isSerial(op, axis)) positions *= axis.getSize();
    mapping.blocks = positions * llvm::divideCeil((ownsRows ? axes.rows : axes.columns).getSize(), mapping.ownLines);
    mappings.push_back(mapping);
  }
  return mappings;
}

TileWriter::TileWriter(TiledOp op, const MatrixAxes &axes, const TileMapping &mapping, ArrayRef<int64_t> alignments)
    : op(op), axes(axes), mapping(mapping), alignments(alignments) {
  for (const char *word :
       {"w",    "i",    "x",    "warp",  "group", "member", "own",      "first", "inside", "n",      "v",    "h",
        "line", "part", "step", "words", "left",  "right",  "position", "tile",  "out",    "number", "pair", "at"})
    taken.insert(word);
}

//===----------------------------------------------------------------------===//
// What belongs to the launch
//===----------------------------------------------------------------------===//

LogicalResult TileWriter::plan() {
  for (Operation &step : op.getBlock().without_terminator()) {
    if (auto kernel = dyn_cast<KernelOp>(step)) {
      RowsPlacement placement;
      placement.strides.resize(kernel.getNumOperands() + kernel.getNumResults());
      placement.separatesRows = true;
      FailureOr<KernelPlan> planned = planKernel(kernel, &placement, /*onlineSoftmax=*/true);
      if (llvm::failed(planned)) return failure();
      kernels.push_back({kernel, std::move(*planned), {}});
      if (largestPosition(kernels.back().plan) >= largestInt) indexType = "tsr::i64";
      continue;
    }
    auto contract = cast<ContractOp>(step);
    TiledContraction role = *tiledRole(contract, axes);
    Value x = contract->getOperand(role.x), y = contract->getOperand(role.y);
    if (role.role == TiledRole::MakesMatrix) {
      if (mapping.ownsRows)
        makers.push_back({contract, contract.getResult(), x, y, role.extent, role.ofX, role.ofY, {}});
      else
        makers.push_back({contract, contract.getResult(), y, x, role.extent, role.ofY, role.ofX, {}});
    } else if ((role.role == TiledRole::SumsColumns) == mapping.ownsRows) {
      sums.push_back({contract, contract.getResult(), x, y, role.extent, {}, role.ofY, role.ofResult});
    }
  }
  for (Value value : llvm::concat<Value>(SmallVector<Value>(op.getInputs()), SmallVector<Value>(op.getResults())))
    if (tensorType(value).getNumElements() >= largestInt) indexType = "tsr::i64";
  for (Inner &kernel : kernels)
    if (kernel.plan.sweeps > 0) reducing = &kernel;
  if (isOneSweep()) oneSweep = OneSweep::of(reducing->plan);
  for (const std::vector<Product> *list : {&makers, &sums})
    for (const Product &product : *list) {
      if (!extents.contains(product.other)) tiles.push_back(product.other);
      extents[product.other] = product.extent;
      strides[product.other] = product.ofOther;
    }
  return success();
}

bool TileWriter::isRow(const Inner &kernel, Value item) const {
  uint64_t columns = uint64_t(1) << (kernel.rowsLoop() + 1);
  return (kernel.plan.varies.lookup(item) & columns) == 0;
}

std::string TileWriter::parameterFor(Value value) const {
  return parameters[cast<BlockArgument>(value).getArgNumber()];
}

/// Of the current kernel: it reads the tiled op's operands.
std::string TileWriter::parameterOf(unsigned argument) const {
  KernelOp kernel = inner->op;
  if (argument >= kernel.getNumOperands()) return "?"; // results are written by others
  Value operand = kernel.getOperand(argument);
  return isa<BlockArgument>(operand) ? parameterFor(operand) : "x";
}

std::string TileWriter::batchOffset(NamedTensorType type) {
  SmallVector<std::string> parts;
  for (auto [axis, stride] : llvm::zip(type.getAxes(), type.getStrides()))
    if (axes.isBatch(axis.getName()) && axis.getSize() > 1)
      parts.push_back((stride == 1 ? "" : std::to_string(stride) + " * ") + batchIndex[axis.getName()]);
  return parts.empty() ? "0" : llvm::join(parts, " + ");
}

//===----------------------------------------------------------------------===//
// The function
//===----------------------------------------------------------------------===//

/// Two blocks of a multiprocessor leave each thread all the registers that it can name.
void TileWriter::writeSignature(StringRef symbol) {
  SmallVector<std::string> list;
  for (Value input : op.getInputs()) {
    addParameter(input, memoryName(input, "in"), /*isResult=*/false);
    list.push_back(parameterTypes.back() + "__restrict__ " + parameters.back());
  }
  for (auto [i, result] : llvm::enumerate(op.getResults())) {
    addParameter(result, "out_" + std::to_string(i), /*isResult=*/true);
    list.push_back(parameterTypes.back() + "__restrict__ " + parameters.back());
  }
  text.open("extern \"C\" __global__ void __launch_bounds__(" + Twine(mapping.threads()) + ", 2)\n" + symbol + "(" +
            llvm::join(list, ",\n    ") + ")");
}

/// Which lines the block owns, and of which position of the batch. A block that owns columns goes over the serial axes.
void TileWriter::writePosition() {
  int64_t count = llvm::divideCeil(ownAxis().getSize(), mapping.ownLines);
  text.line("const int warp = threadIdx.x / 32, group = threadIdx.x % 32 / 4, member = threadIdx.x % 4;");
  std::string tile = count == 1 ? "0" : "blockIdx.x % " + std::to_string(count);
  text.line("const int tile = " + tile + ";");
  text.line("// A lane has own lines `own` and `own` + 8.");
  text.line("const " + indexType + " own = tile * " + Twine(mapping.ownLines) + " + warp * 16 + group;");
  text.line("const int position = blockIdx.x" + Twine(count == 1 ? "" : " / " + std::to_string(count)) + ";");
  SmallVector<AxisAttr> inBlocks;
  for (AxisAttr axis : axes.batch) (isLooped(axis) ? serialAxes : inBlocks).push_back(axis);
  int64_t within = 1;
  for (AxisAttr axis : llvm::reverse(inBlocks)) {
    std::string index = "position";
    if (within != 1) index += " / " + std::to_string(within);
    if (axis != inBlocks.front()) index += " % " + std::to_string(axis.getSize());
    within *= axis.getSize();
    std::string name = unique(axis.getName());
    batchIndex[axis.getName()] = name;
    text.line("const " + indexType + " " + name + " = " + index + ";");
  }
  if (serialAxes.empty()) declareBatch("position");
}

/// The indices of kernels outside of rows and columns, by the number of the batch's position.
void TileWriter::declareBatch(StringRef number) {
  for (Inner &kernel : kernels) {
    current = &kernel.plan;
    indices.assign(kernel.plan.loops.sizes.size(), "");
    declareIndices(0, kernel.rowsLoop(), number);
    kernel.batch.assign(indices.begin(), indices.begin() + kernel.rowsLoop());
  }
}

/// Loops over positions that one block sums over.
void TileWriter::openSerialLoops() {
  if (serialAxes.empty()) return;
  for (AxisAttr axis : serialAxes) {
    std::string name = unique(axis.getName());
    batchIndex[axis.getName()] = name;
    text.open("for (" + indexType + " " + name + " = 0; " + name + " < " + Twine(axis.getSize()) + "; ++" + name + ")");
  }
  SmallVector<std::string> parts;
  int64_t within = 1;
  for (AxisAttr axis : llvm::reverse(axes.batch)) {
    parts.push_back((within == 1 ? "" : std::to_string(within) + " * ") + batchIndex[axis.getName()]);
    within *= axis.getSize();
  }
  text.line("const " + indexType + " number = " + llvm::join(parts, " + ") + "; // of the batch's position");
  declareBatch("number");
}

void TileWriter::closeSerialLoops() {
  for (size_t i = 0; i < serialAxes.size(); ++i) text.close();
}

/// An own operand as fragments, zero beyond its end. Two neighbours are moved at once where they lie so.
void TileWriter::loadOwn(const Product &maker) {
  if (ownNames.contains(maker.own)) return;
  StringRef type = scalarType(tensorType(maker.own).getElementType());
  std::string name = unique(parameterFor(maker.own) + "_own"), from = parameterFor(maker.own);
  ownNames[maker.own] = name;
  int64_t depth = depthOf(maker.own);
  bool isWide = depth == 8; // a word is one number
  text.line("tsr::FragmentA " + name + "[" + Twine(padded(maker.extent) / depth) + "];");
  text.line("#pragma unroll");
  text.open("for (int step = 0; step < " + Twine(padded(maker.extent) / depth) + "; ++step)");
  text.line("#pragma unroll");
  text.open("for (int w = 0; w < 4; ++w)");
  text.line("const " + indexType + " line = own + 8 * (w % 2);");
  text.line("const int part = step * " + Twine(depth) + " + 2 * member + " + (isWide ? "w / 2;" : "8 * (w / 2);"));
  auto times = [](int64_t stride, const std::string &index) {
    return stride == 1 ? index : std::to_string(stride) + " * " + index;
  };
  int64_t extent = maker.extent;
  std::string base =
      from + " + (" + batchOffset(tensorType(maker.own)) + " + " + times(maker.ofOwn.line, "line") + " + ";
  auto guarded = [&](StringRef part, const std::string &load, const std::string &none) {
    SmallVector<std::string> conditions;
    if (ownAxis().getSize() % mapping.ownLines != 0)
      conditions.push_back("line < " + std::to_string(ownAxis().getSize()));
    if (padded(extent) != extent) conditions.push_back((part + " < " + Twine(extent)).str());
    return conditions.empty() ? load : llvm::join(conditions, " && ") + " ? " + load + " : " + none;
  };
  std::string zero = (type + "(0.0f)").str();
  auto at = [&](StringRef part) {
    return guarded(part, "*(" + base + times(maker.ofOwn.element, ("(" + part + ")").str()) + "))", zero);
  };
  if (isWide) {
    text.line(name + "[step].words[w] = tsr::bits_of(" + at("part") + ");");
  } else if (extent % 2 == 0 && isVector(maker.own, maker.ofOwn, 2)) {
    text.line("const auto pair = " +
              guarded("part", "tsr::load<2>(" + base + "part))", "tsr::filled<2>(" + zero + ")") + ";");
    text.line(name + "[step].words[w] = tsr::packed(pair[0], pair[1]);");
  } else {
    text.line("const " + type + " left = " + at("part") + ";");
    text.line("const " + type + " right = " + at("part + 1") + ";");
    text.line(name + "[step].words[w] = tsr::packed(left, right);");
  }
  text.close();
  text.close();
}

bool TileWriter::isVector(Value operand, TiledStrides stride, int64_t count) const {
  NamedTensorType type = tensorType(operand);
  return stride.element == 1 &&
         alignments[cast<BlockArgument>(operand).getArgNumber()] % (count * bytesOf(type.getElementType())) == 0 &&
         llvm::all_of(type.getStrides(), [&](int64_t s) { return s == 1 || s % count == 0; });
}

FailureOr<std::string> TileWriter::write(StringRef symbol) {
  if (llvm::failed(plan())) return failure();
  writeSignature(symbol);
  frames.emplace_back();
  writePosition();
  for (const Product &maker : makers) loadOwn(maker);
  declareTiles();
  for (const Product &sum : sums) {
    sumNames[sum.result] = unique("sum");
    text.line("tsr::FragmentC " + sumNames[sum.result] + "[" + Twine(padded(sum.extent) / 8) + "] = {};");
  }
  unsigned sweeps = reducing ? reducing->plan.sweeps : 1;
  if (reducing) writeRowStep(0);
  openSerialLoops();
  if (oneSweep) writeOneSweep();
  for (unsigned number = 1; number <= sweeps && !oneSweep; ++number) {
    writeSweep(number, sweeps);
    if (reducing) writeRowStep(number);
  }
  closeSerialLoops();
  for (const Product &sum : sums) storeSum(sum);
  text.close();
  if (failed) return failure();
  return text.str();
}

//===----------------------------------------------------------------------===//
// Sweeps
//===----------------------------------------------------------------------===//

void TileWriter::writeSweep(unsigned number, unsigned sweeps) {
  bool isLast = number == sweeps;
  if (reducing) declareAccumulators(number);
  openTiles(number, llvm::filter_to_vector(tiles, [&](Value other) {
              return isLast || llvm::any_of(makers, [&](const Product &maker) { return maker.other == other; });
            }));
  for (const Product &maker : makers) writeMaker(maker);
  writeElements(number, isLast);
  if (isLast)
    for (const Product &sum : sums) writeSum(sum);
  closeTiles();
  if (reducing) reduceOverLanes(number);
}

/// matrix [own, other] = own operand · tileᵀ.
void TileWriter::writeMaker(const Product &maker) {
  ContractOp contract = maker.op;
  std::string name = unique(userName(contract).empty() ? "product" : memoryName(contract.getResult(), "product"));
  std::string type = scalarType(tensorType(maker.own).getElementType()).str();
  int64_t length = lineLength(maker.extent);
  Type element = contract.getType().getElementType();
  matrices[contract.getResult()] = castTo(name + "[n].values[v]", Float32Type::get(op.getContext()), element);
  text.line("tsr::FragmentC " + name + "[" + Twine(tilesOfOther()) + "] = {};");
  text.line("#pragma unroll");
  text.open("for (int step = 0; step < " + Twine(padded(maker.extent) / depthOf(maker.own)) + "; ++step)");
  text.line("#pragma unroll");
  if (depthOf(maker.own) == 8) {
    text.open("for (int n = 0; n < " + Twine(tilesOfOther()) + "; ++n)");
    text.line("const auto pair = " + tileNames[maker.other] + ".get_vector<2>(" + tileStart(maker.other) +
              "(8 * n + group) * " + Twine(length) + " + step * 8 + 2 * member);");
    text.line("tsr::multiply_add<float>(" + name + "[n], " + ownNames[maker.own] +
              "[step], {tsr::bits_of(pair[0]), tsr::bits_of(pair[1])});");
    text.close();
    text.close();
    return;
  }
  text.open("for (int n = 0; n < " + Twine(tilesOfOther()) + "; n += 2)");
  text.line("unsigned words[4]; // of both tiles' lines: the first and the second half of the step");
  text.line("const int line = 8 * (n + threadIdx.x % 32 / 16) + threadIdx.x % 8;");
  text.line("tsr::load_matrices<false>(words, " + tileNames[maker.other] + ", " + tileStart(maker.other) + "line * " +
            Twine(length) + " + step * 16 + threadIdx.x / 8 % 2 * 8);");
  text.line("tsr::multiply_add<" + type + ">(" + name + "[n], " + ownNames[maker.own] +
            "[step], {words[0], words[1]});");
  text.line("tsr::multiply_add<" + type + ">(" + name + "[n + 1], " + ownNames[maker.own] +
            "[step], {words[2], words[3]});");
  text.close();
  text.close();
}

//===----------------------------------------------------------------------===//
// Sums over the other lines
//===----------------------------------------------------------------------===//

/// sum [own, E] += matrix [own, other] · tile [other, E].
void TileWriter::writeSum(const Product &sum) {
  std::string type = scalarType(tensorType(sum.own).getElementType()).str(), weights = fragments[sum.own];
  int64_t length = lineLength(sum.extent);
  std::string name = sumNames.lookup(sum.result);
  if (depthOf(sum.own) == 8) {
    text.line("#pragma unroll");
    text.open("for (int step = 0; step < " + Twine(tilesOfOther()) + "; ++step)");
    text.line("tsr::FragmentA left;");
    text.line("#pragma unroll");
    text.line("for (int w = 0; w < 4; ++w) left.words[w] = tsr::bits_of(" + weights + "[step][w % 2 * 2 + w / 2]);");
    text.line("#pragma unroll");
    text.open("for (int n = 0; n < " + Twine(padded(sum.extent) / 8) + "; ++n)");
    text.line("const int at = " + tileStart(sum.other) + "(8 * step + 2 * member) * " + Twine(length) +
              " + 8 * n + group;");
    text.line("tsr::multiply_add<float>(" + name + "[n], left, {tsr::bits_of(" + tileNames[sum.other] +
              ".get(at)), tsr::bits_of(" + tileNames[sum.other] + ".get(at + " + Twine(length) + "))});");
    text.close();
    text.close();
    return;
  }
  text.line("#pragma unroll");
  text.open("for (int step = 0; step < " + Twine(mapping.otherLines / 16) + "; ++step)");
  text.line("tsr::FragmentA left;");
  text.line("#pragma unroll");
  text.line("for (int w = 0; w < 4; ++w)");
  text.line("  left.words[w] = tsr::packed(" + weights + "[2 * step + w / 2][w % 2 * 2], " + weights +
            "[2 * step + w / 2][w % 2 * 2 + 1]);");
  text.line("#pragma unroll");
  text.open("for (int n = 0; n < " + Twine(padded(sum.extent) / 8) + "; n += 2)");
  text.line("unsigned words[4];");
  text.line("const int line = step * 16 + threadIdx.x % 16;");
  text.line("tsr::load_matrices<true>(words, " + tileNames[sum.other] + ", " + tileStart(sum.other) + "line * " +
            Twine(length) + " + 8 * (n + threadIdx.x % 32 / 16));");
  text.line("tsr::multiply_add<" + type + ">(" + name + "[n], left, {words[0], words[1]});");
  text.line("tsr::multiply_add<" + type + ">(" + name + "[n + 1], left, {words[2], words[3]});");
  text.close();
  text.close();
}

void TileWriter::storeSum(const Product &sum) {
  ContractOp contract = sum.op;
  std::string name = sumNames[contract.getResult()];
  NamedTensorType type = contract.getType();
  for (OpOperand &use : contract.getResult().getUses()) {
    if (!isa<YieldOp>(use.getOwner())) continue;
    std::string parameter = parameters[op.getNumOperands() + use.getOperandNumber()];
    text.line("#pragma unroll");
    text.open("for (int n = 0; n < " + Twine(padded(sum.extent) / 8) + "; ++n)");
    text.line("#pragma unroll");
    text.open("for (int v = 0; v < 4; ++v)");
    text.line("const " + indexType + " line = own + 8 * (v / 2);");
    text.line("const int part = 8 * n + 2 * member + v % 2;");
    SmallVector<std::string> conditions;
    if (ownAxis().getSize() % mapping.ownLines != 0)
      conditions.push_back("line < " + std::to_string(ownAxis().getSize()));
    if (padded(sum.extent) != sum.extent) conditions.push_back("part < " + std::to_string(sum.extent));
    std::string place = batchOffset(type) + " + " + std::to_string(sum.ofResult.line) + " * line + part";
    std::string value = name + "[n].values[v]";
    rowIndex = "v / 2";
    if (oneSweep)
      for (Value factor : oneSweep->factors.lookup(sum.own)) value += " * " + this->use(factor);
    text.line((conditions.empty() ? "" : "if (" + llvm::join(conditions, " && ") + ") ") + parameter + "[" + place +
              "] = " + castTo(value, Float32Type::get(op.getContext()), type.getElementType()) + ";");
    text.close();
    text.close();
  }
}
