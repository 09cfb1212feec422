//===- TileScope.cpp - positions, names and scopes in a tiled launch --------===//

#include "codegen/cuda/tile/TileScope.h"
#include "codegen/cuda/writer/Scalars.h"
#include "llvm/ADT/StringExtras.h"

using namespace mlir;
using namespace tessera;
using namespace tessera::cuda;

TileScope::TileScope(const TilePlan &plan, ArrayRef<int64_t> alignments) : plan(plan), alignments(alignments) {
  if (plan.has64BitIndices) indexType = "tsr::i64";
  for (const char *word : {"w",        "i",    "x",   "warp",   "group", "member", "own",   "first", "inside",
                           "n",        "v",    "h",   "line",   "part",  "step",   "words", "left",  "right",
                           "position", "tile", "out", "number", "pair",  "at",     "pass",  "zone",  "at_edge"})
    taken.insert(word);
}

//===----------------------------------------------------------------------===//
// The function
//===----------------------------------------------------------------------===//

/// With two blocks on a multiprocessor, each thread may use all 255 registers; with three, 168.
void TileScope::writeSignature(StringRef symbol) {
  TiledOp op = plan.op;
  SmallVector<std::string> list;
  for (Value input : op.getInputs()) {
    addParameter(input, memoryName(input, "in"), /*isResult=*/false);
    list.push_back(parameterTypes.back() + "__restrict__ " + parameters.back());
  }
  for (auto [i, result] : llvm::enumerate(op.getResults())) {
    addParameter(result, "out_" + std::to_string(i), /*isResult=*/true);
    list.push_back(parameterTypes.back() + "__restrict__ " + parameters.back());
  }
  text.open("extern \"C\" __global__ void __launch_bounds__(" + Twine(plan.mapping.threads()) + ", " +
            Twine(plan.mapping.residentBlocks) + ")\n" + symbol + "(" + llvm::join(list, ",\n    ") + ")");
}

void TileScope::writePosition() {
  int64_t ownLines = plan.mapping.ownLines, count = llvm::divideCeil(plan.ownAxis().getSize(), ownLines);
  text.line("const int warp = threadIdx.x / 32, group = threadIdx.x % 32 / 4, member = threadIdx.x % 4;");
  std::string tile = count == 1 ? "0" : "blockIdx.x % " + std::to_string(count);
  text.line("const int tile = " + tile + ";");
  text.line("// A lane has own lines `own` and `own` + 8.");
  text.line("const " + indexType + " own = tile * " + Twine(ownLines) + " + warp * 16 + group;");
  text.line("const int position = blockIdx.x" + Twine(count == 1 ? "" : " / " + std::to_string(count)) + ";");
  int64_t within = 1;
  for (AxisAttr axis : llvm::reverse(plan.blockAxes)) {
    std::string index = "position";
    if (within != 1) index += " / " + std::to_string(within);
    if (axis != plan.blockAxes.front()) index += " % " + std::to_string(axis.getSize());
    within *= axis.getSize();
    std::string name = unique(axis.getName());
    batchIndices[axis.getName()] = name;
    text.line("const " + indexType + " " + name + " = " + index + ";");
  }
  if (plan.serialAxes.empty()) declareBatchIndices("position");
}

/// The indices of kernels outside of rows and columns; `number` counts the positions of the batch.
void TileScope::declareBatchIndices(StringRef number) {
  for (const TileKernel &kernel : plan.kernels) {
    current = &kernel.plan;
    indices.assign(kernel.plan.loops.sizes.size(), "");
    declareIndices(0, kernel.rowsLoop(), number);
    kernelIndices[&kernel].assign(indices.begin(), indices.begin() + kernel.rowsLoop());
  }
}

void TileScope::openSerialLoops() {
  if (plan.serialAxes.empty()) return;
  for (AxisAttr axis : plan.serialAxes) {
    std::string name = unique(axis.getName());
    batchIndices[axis.getName()] = name;
    text.open("for (" + indexType + " " + name + " = 0; " + name + " < " + Twine(axis.getSize()) + "; ++" + name + ")");
  }
  SmallVector<std::string> parts;
  int64_t within = 1;
  for (AxisAttr axis : llvm::reverse(plan.axes.batch)) {
    parts.push_back((within == 1 ? "" : std::to_string(within) + " * ") + batchIndices[axis.getName()]);
    within *= axis.getSize();
  }
  text.line("const " + indexType + " number = " + llvm::join(parts, " + ") + "; // of the batch's position");
  declareBatchIndices("number");
}

void TileScope::closeSerialLoops() {
  for (size_t i = 0; i < plan.serialAxes.size(); ++i) text.close();
}

//===----------------------------------------------------------------------===//
// Addresses
//===----------------------------------------------------------------------===//

void TileScope::enter(const TileKernel &entered) {
  kernel = &entered;
  current = &entered.plan;
  indices.assign(entered.plan.loops.sizes.size(), "");
  const SmallVector<std::string> &outer = kernelIndices[kernel];
  std::copy(outer.begin(), outer.end(), indices.begin());
}

std::string TileScope::parameterFor(Value operand) const {
  return parameters[cast<BlockArgument>(operand).getArgNumber()];
}

SmallVector<unsigned> TileScope::resultArguments(Value value) const {
  SmallVector<unsigned> result;
  for (OpOperand &use : value.getUses())
    if (isa<YieldOp>(use.getOwner())) result.push_back(plan.op->getNumOperands() + use.getOperandNumber());
  return result;
}

/// A kernel reads operands of the tiled op from memory. Its results are not accessed by parameter.
std::string TileScope::parameterOf(unsigned argument) const {
  if (argument >= kernel->op->getNumOperands()) return "?";
  Value operand = kernel->op->getOperand(argument);
  return isa<BlockArgument>(operand) ? parameterFor(operand) : "x";
}

std::string TileScope::batchOffset(NamedTensorType type) const {
  SmallVector<std::string> parts;
  for (auto [axis, stride] : llvm::zip(type.getAxes(), type.getStrides()))
    if (plan.axes.isBatch(axis.getName()) && axis.getSize() > 1)
      parts.push_back((stride == 1 ? "" : std::to_string(stride) + " * ") + batchIndices.lookup(axis.getName()));
  return parts.empty() ? "0" : llvm::join(parts, " + ");
}

bool TileScope::allowsVectors(Value operand, TiledStrides strides, int64_t count) const {
  return allowsVectors(tensorType(operand), strides, cast<BlockArgument>(operand).getArgNumber(), count);
}

bool TileScope::allowsVectors(NamedTensorType type, TiledStrides strides, unsigned argument, int64_t count) const {
  return strides.element == 1 && alignments[argument] % (count * bytesOf(type.getElementType())) == 0 &&
         llvm::all_of(type.getStrides(), [&](int64_t s) { return s == 1 || s % count == 0; });
}
