//===- CudaKernels.cpp - the distinct kernels of a program as CUDA C++ ------===//

#include "codegen/cuda/CudaKernels.h"
#include "codegen/cuda/tile/TileWriter.h"
#include "codegen/cuda/writer/KernelWriter.h"
#include "ir/program/Program.h"
#include "llvm/ADT/SetVector.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/raw_ostream.h"
#include <numeric>

using namespace mlir;
using namespace tessera;
using namespace tessera::cuda;

/// `name` as a C identifier, with a number if it is taken.
std::string CudaKernels::uniqueSymbol(StringRef name) {
  std::string symbol = "tsr_";
  for (char c : name) symbol += llvm::isAlnum(c) ? c : '_';
  std::string candidate = symbol;
  for (unsigned i = 2; !taken.insert(candidate).second; ++i) candidate = symbol + "_" + std::to_string(i);
  return candidate;
}

//===----------------------------------------------------------------------===//
// The comment before a kernel
//===----------------------------------------------------------------------===//

static std::string describe(NamedTensorType type) {
  std::string text;
  llvm::raw_string_ostream out(text);
  out << type.getElementType() << " ";
  printAxes(out, type);
  return text;
}

/// Comment lines of at most some 110 columns.
static std::string wrapped(StringRef head, ArrayRef<std::string> words) {
  std::string text, line = ("//   " + head).str();
  for (auto [i, item] : llvm::enumerate(words)) {
    std::string word = item + (i + 1 < words.size() ? "," : "");
    if (line.size() + word.size() > 110) {
      text += line + "\n";
      line = "//     ";
    } else {
      line += " ";
    }
    line += word;
  }
  return text + line + "\n";
}

static std::string describe(const ThreadMapping &mapping, const KernelPlan &plan) {
  std::string text = std::to_string(mapping.blocks()) + " blocks of " + std::to_string(mapping.block) + " threads";
  if (mapping.vector > 1) text += ", " + std::to_string(mapping.vector) + " consecutive elements at a time";
  if (mapping.tailCount > 0) text += ", " + std::to_string(mapping.tailCount) + " one by one";
  if (mapping.pointsEach > 1) text += ", " + std::to_string(mapping.pointsEach) + " points for a thread";
  if (mapping.group > 1)
    text +=
        ", " + std::to_string(mapping.group) + " threads " + (mapping.strided ? "in a column " : "") + "for a point";
  if (mapping.ownPositions > 0) text += ", each with " + std::to_string(mapping.ownPositions) + " positions";
  if (mapping.registerVectors > 0) text += ", its values stay in registers";
  if (plan.sweeps > 1) text += ", " + std::to_string(plan.sweeps) + " sweeps";
  return text;
}

std::string cuda::headComment(const KernelPlan &plan, const ThreadMapping &mapping) {
  KernelOp kernel = plan.kernel;
  std::string text = ("// " + kernel.getName() + "\n//\n").str();
  llvm::SmallSetVector<StringRef, 4> users;
  SmallVector<std::string> ops, lines;
  for (Operation &op : kernel.getBlock().without_terminator()) {
    if (StringRef name = userName(&op); !name.empty()) users.insert(name);
    if (std::string line = userLine(op.getLoc()); !line.empty() && !llvm::is_contained(lines, line))
      lines.push_back(line);
    if (!isa<ConstantOp, BroadcastOp>(op)) ops.push_back(op.getName().stripDialect().str());
  }
  if (!users.empty()) text += wrapped("of        ", llvm::map_to_vector(users, [](StringRef s) { return s.str(); }));
  if (!lines.empty()) text += wrapped("from      ", lines);
  auto types = [](auto range) { return llvm::map_to_vector(range, [](Value v) { return describe(tensorType(v)); }); };
  if (kernel.getNumOperands() > 0) text += wrapped("reads     ", types(kernel.getOperands()));
  text += wrapped("writes    ", types(kernel.getResults()));
  if (!ops.empty()) text += wrapped("computes  ", ops);
  return text + "//   mapping    " + describe(mapping, plan) + "\n";
}

std::string cuda::firstLine(Block &block) {
  for (Operation &op : block)
    if (std::string line = userLine(op.getLoc()); !line.empty()) return line;
  return "";
}

/// Bytes from the first element to the end of the last one.
static int64_t extentBytes(NamedTensorType type) {
  int64_t last = 0;
  for (auto [axis, stride] : llvm::zip(type.getAxes(), type.getStrides())) last += (axis.getSize() - 1) * stride;
  return (last + 1) * type.getElementBytes();
}

std::vector<KernelArgument> cuda::argumentsOf(Operation *op) {
  std::vector<KernelArgument> arguments;
  auto add = [&](Type type, bool isWritten) {
    arguments.push_back({extentBytes(cast<NamedTensorType>(type)), isWritten});
  };
  for (Type type : op->getOperandTypes()) add(type, false);
  for (Type type : op->getResultTypes()) add(type, true);
  return arguments;
}

/// What one launch of a tiled op accesses. The results of the other launch are none of its arguments, so that both may
/// run at the same time.
static std::vector<KernelArgument> launchArguments(const TilePlan &plan) {
  TiledOp tiled = plan.op;
  std::vector<KernelArgument> arguments = argumentsOf(tiled.getOperation());
  for (unsigned i = 0; i < tiled->getNumResults(); ++i)
    if (!plan.writesResult(i)) arguments[tiled->getNumOperands() + i] = {0, false};
  return arguments;
}

/// The alignments of all arguments of an op, at most that of the largest vector.
static SmallVector<int64_t> argumentAlignments(Operation *op, ArrayRef<int64_t> known) {
  SmallVector<int64_t> result(op->getNumOperands() + op->getNumResults(), vectorBytes);
  for (auto [own, alignment] : llvm::zip(result, known)) own = std::gcd(alignment, vectorBytes);
  return result;
}

CudaKernels::Key CudaKernels::keyOf(KernelOp kernel, ArrayRef<int64_t> alignments) {
  return {fingerprint(kernel), argumentAlignments(kernel, alignments)};
}

const CudaKernel *CudaKernels::add(CudaKernel kernel) {
  kernels.push_back(std::make_shared<const CudaKernel>(std::move(kernel)));
  return kernels.back().get();
}

FailureOr<const CudaKernel *> CudaKernels::emit(KernelOp kernel, ArrayRef<int64_t> alignments) {
  Key key = keyOf(kernel, alignments);
  if (auto it = written.find(key); it != written.end()) return it->second.front();
  FailureOr<KernelPlan> plan = planKernel(kernel, /*placement=*/nullptr, /*onlineSoftmax=*/true);
  if (failed(plan)) return failure();
  ThreadMapping mapping = mapThreads(*plan, target, key.second);
  CudaKernel result;
  result.symbol = uniqueSymbol(kernel.getName());
  KernelWriter writer(*plan, mapping);
  FailureOr<std::string> function = writer.write(result.symbol);
  if (failed(function)) return failure();
  result.source = headComment(*plan, mapping) + "#include \"tessera.cuh\"\n\n" + *function;
  result.parameterTypes = writer.getParameterTypes();
  result.arguments = argumentsOf(kernel);
  result.line = firstLine(kernel.getBlock());
  result.blocks = mapping.blocks();
  result.threads = mapping.block;
  const CudaKernel *added = add(std::move(result));
  written[std::move(key)] = {added};
  return added;
}

//===----------------------------------------------------------------------===//
// Tiled ops
//===----------------------------------------------------------------------===//

static std::string tileComment(TiledOp tiled, const TileMapping &mapping) {
  std::string text = ("// " + tiled.getName() + "\n//\n").str();
  SmallVector<std::string> ops, lines;
  for (Operation &op : tiled.getBlock().without_terminator()) {
    ops.push_back(op.getName().stripDialect().str());
    if (std::string line = userLine(op.getLoc()); !line.empty() && !llvm::is_contained(lines, line))
      lines.push_back(line);
  }
  if (!lines.empty()) text += wrapped("from      ", lines);
  auto types = [](auto range) { return llvm::map_to_vector(range, [](Value v) { return describe(tensorType(v)); }); };
  text += wrapped("reads     ", types(tiled.getOperands()));
  text += wrapped("writes    ", types(tiled.getResults()));
  text += wrapped("computes  ", ops);
  return text + "//   mapping    " + std::to_string(mapping.blocks) + " blocks of " +
         std::to_string(mapping.threads()) + " threads, each with " + std::to_string(mapping.ownLines) + " lines of " +
         (mapping.ownsRows ? tiled.getRows() : tiled.getColumns()).str() + " and " +
         std::to_string(mapping.otherLines) + " of " + (mapping.ownsRows ? tiled.getColumns() : tiled.getRows()).str() +
         " at a time\n";
}

FailureOr<SmallVector<const CudaKernel *>> CudaKernels::emit(TiledOp tiled, ArrayRef<int64_t> alignments) {
  Key key{fingerprint(tiled), argumentAlignments(tiled, alignments)};
  if (auto it = written.find(key); it != written.end()) return it->second;
  std::optional<MatrixAxes> axes = MatrixAxes::of(tiled);
  if (!axes) return tiled.emitError("has no matrix of its rows and columns");
  SmallVector<const CudaKernel *> launches;
  for (const TileMapping &mapping : tileMappings(tiled, *axes)) {
    CudaKernel result;
    result.symbol = uniqueSymbol(tiled.getName());
    FailureOr<TilePlan> plan = TilePlan::of(tiled, *axes, mapping);
    if (failed(plan)) return failure();
    TileWriter writer(*plan, key.second);
    FailureOr<std::string> function = writer.write(result.symbol);
    if (failed(function)) return failure();
    result.source = tileComment(tiled, mapping) + "#include \"tessera.cuh\"\n\n" + *function;
    result.parameterTypes = writer.getParameterTypes();
    result.arguments = launchArguments(*plan);
    result.line = firstLine(tiled.getBlock());
    result.blocks = mapping.blocks;
    result.threads = mapping.threads();
    launches.push_back(add(std::move(result)));
  }
  return written[std::move(key)] = launches;
}
