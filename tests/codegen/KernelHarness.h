//===- KernelHarness.h - compiles kernels and runs them in this process ---===//
//
// A kernel that is given as text is compiled to an object, linked, loaded with dlopen and called. The interpreter runs
// the same text. Tests compare the two.
//
//===----------------------------------------------------------------------===//

#ifndef TESSERA_TESTS_CODEGEN_KERNELHARNESS_H
#define TESSERA_TESTS_CODEGEN_KERNELHARNESS_H

#include "codegen/cpu/KernelCodegen.h"
#include "codegen/cpu/object/ObjectCode.h"
#include "ir/interpreter/Interpreter.h"
#include "runtime/Abi.h"
#include "tests/codegen/cuda/EmulatedKernels.h"
#include "tests/support/LoadLibrary.h"
#include "llvm/Support/raw_ostream.h"
#include <memory>
#include <random>

namespace tessera::test {

/// One tensor as a kernel sees it.
struct Buffer {
  NamedTensorType type;
  std::vector<char> bytes; ///< with a margin of `margin` bytes on both sides, to find writes outside

  size_t shift = 0; ///< of the first element, after the margin
  static constexpr size_t margin = 64;
  /// `isPacked`: the first element is aligned to its own size only.
  explicit Buffer(NamedTensorType type, bool isPacked = false);
  /// The elements of `value` as `type` lays them out, and NaN where it has none.
  Buffer(const TensorValue &value, NamedTensorType type, bool isPacked);
  char *data() { return bytes.data() + margin + shift; }
  bool isMarginIntact() const;
};

/// A module of functions, each with one kernel, compiled and loaded.
class LoadedKernels {
public:
  /// Compiles the kernels of `text` for `march`: a processor, or `cuda`, which is emulated. For CUDA there are three
  /// variants: for a large device; for one so small that small kernels get the thread mappings of large ones; and for
  /// arguments that are aligned to elements only. Check `errors` afterwards: it is empty on success.
  explicit LoadedKernels(llvm::StringRef text, llvm::StringRef march = "native");
  ~LoadedKernels();
  LoadedKernels(const LoadedKernels &) = delete;

  struct Kernel {
    mlir::func::FuncOp function;
    KernelOp op;
    KernelInterface interface;
    TsrKernel code = nullptr;                   ///< for a processor
    const cuda::CudaKernel *emulated = nullptr; ///< for CUDA
    bool isPacked = false;                      ///< arguments are aligned to elements only

    bool isCuda() const { return emulated != nullptr; }
    llvm::StringRef symbol() const { return isCuda() ? emulated->symbol : interface.name; }
  };
  Kernel &kernel(unsigned i = 0) { return kernels[i]; }

  /// Runs the iterations of a kernel in `ranges` ranges, the last ones first, as threads would. `inPlace[i]` is the
  /// operand whose storage result i reuses, or -1.
  std::vector<TensorValue> run(Kernel &kernel, llvm::ArrayRef<TensorValue> arguments, int ranges = 1,
                               llvm::ArrayRef<int> inPlace = {});

  /// Runs a kernel for CUDA on these arguments. Returns an error, or an empty string.
  std::string runOn(Kernel &kernel, llvm::ArrayRef<void *> addresses) { return call(kernel, addresses, 1); }

  std::string errors, text, llvmText;
  ObjectCodeTimes times;
  double emitTime = 0, linkTime = 0;
  std::vector<Kernel> kernels;

private:
  bool compile(llvm::StringRef march);
  bool compileForCuda();
  std::string call(Kernel &kernel, llvm::ArrayRef<void *> addresses, int ranges);
  mlir::MLIRContext context;
  mlir::OwningOpRef<mlir::ModuleOp> module;
  mlir::OwningOpRef<mlir::ModuleOp> code;
  void *library = nullptr;
  std::vector<std::unique_ptr<cuda::CudaKernel>> cudaKernels;
  std::unique_ptr<EmulatedKernels> emulated;
};

/// A tensor of random elements: floats in [low, high), integers in [0, highInteger), booleans.
TensorValue randomTensor(NamedTensorType type, std::mt19937 &random, double low = -2, double high = 2,
                         int64_t highInteger = 100);

} // namespace tessera::test

#endif // TESSERA_TESTS_CODEGEN_KERNELHARNESS_H
