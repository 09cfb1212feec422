//===- LaunchTest.cpp - several kernels in one launch ---------------------===//
//
// In one launch kernels must compute the same bits as alone, although blocks have another size, other kernels precede
// them, and arguments are read from a list.
//
//===----------------------------------------------------------------------===//

#include "KernelCheck.h"
#include "mlir/Parser/Parser.h"
#include "passes/launch/FusedLaunch.h"
#include <cstring>
#include <gtest/gtest.h>

using namespace mlir;
using namespace tessera;
using namespace tessera::test;

namespace {

/// `y = exp(x) * x`, with a different name for each size.
KernelText elementwise(int64_t size, const std::string &element = "f32") {
  std::string type = "[n: " + std::to_string(size) + "], " + element;
  return {{{"x", type}},
          "\"n\"",
          "",
          "n",
          op("%e", "exp %x : " + T(type)) + op("%y", "mul %e, %x : (" + T(type) + ", " + T(type) + ") -> " + T(type)),
          {{"%y", type}}};
}

/// The sum of each row, or of each column.
KernelText sums(int64_t rows, int64_t columns, bool ofRows, const std::string &kind = "sum") {
  std::string type = "[row: " + std::to_string(rows) + ", col: " + std::to_string(columns) + "], f32";
  std::string result =
      ofRows ? "[row: " + std::to_string(rows) + "], f32" : "[col: " + std::to_string(columns) + "], f32";
  return {
      {{"x", type}},
      ofRows ? "\"row\"" : "\"col\"",
      ofRows ? "\"col\"" : "\"row\"",
      "col",
      op("%s", "reduce " + kind + " %x over [\"" + (ofRows ? "col" : "row") + "\"] : " + T(type) + " -> " + T(result)),
      {{"%s", result}}};
}

/// Each row minus its maximum: two sweeps.
KernelText minusMaximum(int64_t rows, int64_t columns) {
  std::string type = "[row: " + std::to_string(rows) + ", col: " + std::to_string(columns) + "], f32";
  std::string row = "[row: " + std::to_string(rows) + "], f32";
  return {{{"x", type}},
          "\"row\"",
          "\"col\"",
          "col",
          op("%m", "reduce max %x over [\"col\"] : " + T(type) + " -> " + T(row)) +
              op("%y", "sub %x, %m : (" + T(type) + ", " + T(row) + ") -> " + T(type)),
          {{"%y", type}}};
}

struct Launch {
  explicit Launch(ArrayRef<KernelText> texts) {
    context.loadDialect<TsrDialect, func::FuncDialect>();
    std::string all;
    for (auto [i, text] : llvm::enumerate(texts)) all += text.str("k" + std::to_string(i));
    module = parseSourceString<ModuleOp>(all, &context);
    if (module) module->walk([&](KernelOp kernel) { kernels.push_back(kernel); });
    EXPECT_EQ(kernels.size(), texts.size());
  }
  MLIRContext context;
  OwningOpRef<ModuleOp> module;
  SmallVector<KernelOp> kernels;
};

/// Runs `kernel` on random elements from `seed`. Returns the memory afterwards, with margins and operands.
std::vector<Buffer> runOn(EmulatedKernels &emulated, const cuda::CudaKernel &kernel, ArrayRef<KernelOp> ops,
                          bool isPacked, unsigned seed) {
  std::vector<Buffer> buffers;
  for (KernelOp op : ops) {
    std::mt19937 random(seed++);
    for (Value operand : op.getOperands())
      buffers.emplace_back(randomTensor(tensorType(operand), random), tensorType(operand), isPacked);
    for (Value result : op.getResults()) buffers.emplace_back(tensorType(result), isPacked);
  }
  std::vector<void *> addresses;
  for (Buffer &buffer : buffers) addresses.push_back(buffer.data());
  EXPECT_EQ(emulated.run(kernel, addresses), "") << kernel.source;
  return buffers;
}

/// Returns the text for the default device.
std::string checkTogether(ArrayRef<KernelText> texts) {
  Launch launch(texts);
  Target small = *Target::named("h100");
  small.gpu = {.multiprocessors = 1, .threadsPerMultiprocessor = 32, .cacheBytes = 0};
  std::string source;
  for (const Target &target : {*Target::named("h100"), small})
    for (bool isPacked : {false, true}) {
      cuda::CudaKernels written(target);
      EXPECT_EQ(countFusible(launch.kernels, target), launch.kernels.size());
      std::vector<SmallVector<int64_t>> alignments;
      std::vector<const cuda::CudaKernel *> alone;
      for (KernelOp kernel : launch.kernels) {
        alignments.emplace_back();
        for (Type type : llvm::concat<const Type>(kernel->getOperandTypes(), kernel->getResultTypes()))
          if (isPacked) alignments.back().push_back(cast<NamedTensorType>(type).getElementBytes());
        FailureOr<const cuda::CudaKernel *> one = written.emit(kernel, alignments.back());
        if (failed(one)) return ADD_FAILURE() << "no code", "";
        alone.push_back(*one);
      }
      FailureOr<const cuda::CudaKernel *> together = written.emit(launch.kernels, alignments);
      if (failed(together)) return ADD_FAILURE() << "no code", "";
      if (source.empty()) source = (*together)->source;
      EmulatedKernels emulated(llvm::map_to_vector(
          written.getKernels(), [](auto &kernel) -> const cuda::CudaKernel * { return kernel.get(); }));
      EXPECT_EQ(emulated.errors, "") << (*together)->source;
      if (!emulated.errors.empty()) return "";
      std::vector<Buffer> got = runOn(emulated, **together, launch.kernels, isPacked, 1);
      size_t at = 0;
      for (auto [i, kernel] : llvm::enumerate(launch.kernels))
        for (const Buffer &expected : runOn(emulated, *alone[i], {kernel}, isPacked, 1 + static_cast<unsigned>(i)))
          EXPECT_EQ(expected.bytes, got[at++].bytes) << "kernel " << i << " of\n" << (*together)->source;
    }
  return source;
}

int count(const std::string &text, const std::string &what) {
  int found = 0;
  for (size_t at = text.find(what); at != std::string::npos; at = text.find(what, at + 1)) ++found;
  return found;
}

TEST(Launches, ElementwiseOfSeveralSizesAndTypes) {
  checkTogether({elementwise(4096), elementwise(77), elementwise(1), elementwise(130, "bf16"), elementwise(513)});
}

TEST(Launches, EqualKernelsAreOneFunction) {
  std::string text = checkTogether({elementwise(1000), elementwise(77), elementwise(77), elementwise(77)});
  EXPECT_EQ(count(text, "TSR_DEVICE void"), 2) << text;
  EXPECT_EQ(count(text, "::part_"), 2) << text;
  // Without a tail the text does not depend on the size.
  text = checkTogether({elementwise(512), elementwise(256), elementwise(256)});
  EXPECT_EQ(count(text, "TSR_DEVICE void"), 1) << text;
  EXPECT_EQ(count(text, "::part_"), 2) << text;
}

TEST(Launches, SumsOverThreadsOfABlock) {
  checkTogether(
      {sums(3, 8192, true), sums(40, 100, true), sums(1, 12, true), sums(3, 8192, true, "max"), sums(7, 3000, true)});
}

TEST(Launches, ColumnsAndRowsAndPoints) {
  checkTogether({sums(512, 96, false), sums(33, 31, false), sums(40, 100, true), elementwise(700), sums(512, 96, false),
                 minusMaximum(5, 300)});
}

TEST(Launches, TwoSweepsInOneLaunch) {
  checkTogether({minusMaximum(2, 4096), elementwise(77), minusMaximum(2, 4096), sums(2, 4096, true)});
}

TEST(Launches, KernelsThatDoNotFitTogetherAreDivided) {
  // A thread group of 512, and blocks of 128.
  Launch groups({sums(40, 100, true), sums(40, 101, true), sums(2, 65536, true), sums(3, 65536, true)});
  Target target = *Target::named("h100");
  EXPECT_EQ(countFusible(groups.kernels, target), 2U);
  EXPECT_EQ(countFusible(ArrayRef(groups.kernels).drop_front(2), target), 2U);
  // Sums of columns exchange 4 KiB each.
  std::vector<KernelText> texts;
  for (int64_t i = 0; i < 15; ++i) texts.push_back(sums(512 + i, 1 << 19, false));
  Launch columns(texts);
  EXPECT_EQ(countFusible(columns.kernels, target), 12U);
  // Equal kernels are emitted once.
  texts.assign(15, sums(512, 1 << 19, false));
  EXPECT_EQ(countFusible(Launch(texts).kernels, target), 15U);
}

} // namespace
