//===- LaunchWriter.cpp - horizontally fused launches -----------------------===//
//
//   namespace of_tsr_add_and_2 {
//   TSR_DEVICE void part_add(const unsigned block, const float *in, …) { … }
//   TSR_DEVICE void part_exp(const unsigned block, const float *in, …) { … }
//   }
//   extern "C" __global__ void tsr_add_and_2(const __grid_constant__ tsr::pointers<7> at) {
//     unsigned block = blockIdx.x;
//     if (block < 12) {                       // the blocks of the first kernel
//       return of_tsr_add_and_2::part_add(block, at[0], at[1], at[2]);
//     }
//     block -= 12;
//     const int own = 3 + block / 6 * 2;      // two equal kernels of 6 blocks each: the first argument of each
//     of_tsr_add_and_2::part_exp(block % 6, at[own], at[own + 1]);
//   }
//
// All threads of a block run the same part, so kernels may have barriers. Equal kernels are compiled once.
//
//===----------------------------------------------------------------------===//

#include "codegen/cuda/CudaKernels.h"
#include "codegen/cuda/writer/KernelWriter.h"
#include "passes/launch/FusedLaunch.h"
#include "llvm/ADT/StringExtras.h"
#include <numeric>

using namespace mlir;
using namespace tessera;
using namespace tessera::cuda;

/// Columns of a line of arguments.
static constexpr size_t lineLength = 110;

namespace {
/// Consecutive equal kernels.
struct Run {
  std::string function;
  int64_t argument;  ///< the number of the first one
  int64_t arguments; ///< of each
  int64_t blocks;    ///< of each
  int64_t count = 1;
};

/// Writes the function of a launch: its parts, then their calls.
class LaunchWriter {
public:
  LaunchWriter(std::string symbol, int64_t block) : symbol(std::move(symbol)), block(block) {}

  LogicalResult add(MappedKernel &member);
  /// The launch of all kernels that were added.
  CudaKernel finish(StringRef title);

private:
  FailureOr<std::string> functionOf(const MappedKernel &member);
  void writeCall(Text &text, const Run &run, bool isLast) const;

  std::string symbol, parts;
  int64_t block;
  llvm::StringMap<std::string> functions; ///< by code
  llvm::StringSet<> names;
  std::vector<Run> runs;
  SmallVector<std::string> lines; ///< of the model
  CudaKernel result;
};
} // namespace

//===----------------------------------------------------------------------===//
// The function
//===----------------------------------------------------------------------===//

/// C++ without its comments, which say where in the model a kernel comes from.
static std::string withoutComments(StringRef text) {
  std::string result;
  while (!text.empty()) {
    StringRef line;
    std::tie(line, text) = text.split('\n');
    result += line.split("//").first.str() + "\n";
  }
  return result;
}

/// The name of a part. Kernels with the same code share one, even if their axes have different names.
FailureOr<std::string> LaunchWriter::functionOf(const MappedKernel &member) {
  constexpr StringLiteral placeholder = "@";
  KernelOp kernel = member.plan.kernel;
  KernelWriter writer(member.plan, member.mapping);
  FailureOr<std::string> text = writer.write(placeholder, /*isPart=*/true);
  if (failed(text)) return failure();
  llvm::append_range(result.parameterTypes, writer.getParameterTypes());
  std::string &function = functions[withoutComments(*text)];
  if (!function.empty()) return function;
  function = "part_";
  for (char c : kernel.getName()) function += llvm::isAlnum(c) ? c : '_';
  while (!names.insert(function).second) function += "_"; // another mapping of an equal kernel
  text->replace(text->find(placeholder), placeholder.size(), function);
  parts += "\n" + headComment(member.plan, member.mapping) + *text;
  return function;
}

LogicalResult LaunchWriter::add(MappedKernel &member) {
  KernelOp kernel = member.plan.kernel;
  auto argument = static_cast<int64_t>(result.parameterTypes.size());
  member.mapping = withBlock(member.mapping, block);
  int64_t blocks = member.mapping.blocks();
  FailureOr<std::string> function = functionOf(member);
  if (failed(function)) return failure();
  llvm::append_range(result.arguments, argumentsOf(kernel));
  if (std::string line = firstLine(kernel.getBlock()); !line.empty() && !llvm::is_contained(lines, line))
    lines.push_back(line);
  if (!runs.empty() && runs.back().function == *function && runs.back().blocks == blocks)
    ++runs.back().count;
  else
    runs.push_back({*function, argument, static_cast<int64_t>(result.parameterTypes.size()) - argument, blocks});
  return success();
}

/// The last run has all remaining blocks, so it needs no condition.
void LaunchWriter::writeCall(Text &text, const Run &run, bool isLast) const {
  std::string each = std::to_string(run.blocks), number = "block";
  std::string all = run.count > 1 ? std::to_string(run.count) + " * " + each : each;
  if (!isLast) text.open("if (block < " + all + ")");
  if (run.count > 1) {
    std::string which = run.blocks == 1 ? "block" : "block / " + each;
    number = run.blocks == 1 ? "0" : "block % " + each;
    text.line("const int own = " + (run.argument ? Twine(run.argument) + " + " : Twine("")) + "static_cast<int>(" +
              which + ") * " + Twine(run.arguments) + ";");
  }
  std::string line = (isLast ? "" : "return ") + ("of_" + symbol) + "::" + run.function + "(" + number;
  for (int64_t i = 0; i < run.arguments; ++i) {
    std::string place =
        run.count > 1 ? (i == 0 ? "own" : "own + " + std::to_string(i)) : std::to_string(run.argument + i);
    line += ",";
    if (line.size() + place.size() > lineLength) {
      text.line(line);
      line = "   ";
    }
    line += " at[" + place + "]";
  }
  text.line(line + ");");
  if (isLast) return;
  text.close();
  text.line("block -= " + all + ";");
}

CudaKernel LaunchWriter::finish(StringRef title) {
  Text text;
  text.open("extern \"C\" __global__ void __launch_bounds__(" + Twine(block) + ")\n" + symbol +
            "(const __grid_constant__ tsr::pointers<" + Twine(result.parameterTypes.size()) + "> at)");
  text.line("unsigned block = blockIdx.x;");
  result.blocks = 0;
  for (auto [i, run] : llvm::enumerate(runs)) {
    writeCall(text, run, i + 1 == runs.size());
    result.blocks += run.count * run.blocks;
  }
  text.close();
  std::string space = "of_" + symbol;
  result.source = ("// " + title + " in one launch of " + Twine(result.blocks) + " blocks of " + Twine(block) +
                   " threads\n#include \"tessera.cuh\"\n\nnamespace " + space + " {\n" + parts + "} // namespace " +
                   space + "\n\n" + text.str())
                      .str();
  result.symbol = symbol;
  if (!lines.empty()) result.line = lines.front();
  if (lines.size() > 1) result.line += " and " + std::to_string(lines.size() - 1) + " other places";
  result.isHorizontallyFused = true;
  result.threads = block;
  return std::move(result);
}

/// Equal kernels of a launch are generated for their least alignments: so they share one function and its shared
/// memory.
void CudaKernels::shareAlignments(std::vector<Key> &keys) {
  std::map<KernelFingerprint, SmallVector<int64_t>> shared;
  for (const auto &[kernel, alignments] : keys) {
    auto [it, isNew] = shared.try_emplace(kernel, alignments);
    for (auto [known, own] : llvm::zip(it->second, alignments)) known = std::gcd(known, own);
  }
  for (auto &[kernel, alignments] : keys) alignments = shared.at(kernel);
}

FailureOr<const CudaKernel *> CudaKernels::emit(ArrayRef<KernelOp> ops, ArrayRef<SmallVector<int64_t>> alignments) {
  if (ops.size() == 1) return emit(ops.front(), alignments.front());
  std::vector<Key> keys;
  for (auto [kernel, known] : llvm::zip(ops, alignments)) keys.push_back(keyOf(kernel, known));
  shareAlignments(keys);
  if (auto it = fusedLaunches.find(keys); it != fusedLaunches.end()) return it->second;
  std::vector<MappedKernel> members;
  for (auto [kernel, key] : llvm::zip(ops, keys)) {
    FailureOr<MappedKernel> member = MappedKernel::of(kernel, target, key.second);
    if (failed(member)) return failure();
    members.push_back(std::move(*member));
  }
  KernelOp leader = ops.front();
  std::string name = leader.getName().str(), others = std::to_string(ops.size() - 1);
  LaunchWriter writer(uniqueSymbol(name + "_and_" + others), commonBlock(members));
  for (MappedKernel &member : members)
    if (failed(writer.add(member))) return failure();
  const CudaKernel *added = add(writer.finish(name + " and " + others + " more kernels"));
  fusedLaunches[std::move(keys)] = added;
  return added;
}
