//===- KernelCheck.h - writes kernels and compares them with the oracle ---===//

#ifndef TESSERA_TESTS_CODEGEN_KERNELCHECK_H
#define TESSERA_TESTS_CODEGEN_KERNELCHECK_H

#include "KernelHarness.h"

namespace tessera::test {

/// A named value or a named type of a kernel under test.
using Names = std::vector<std::pair<std::string, std::string>>;

/// A function with one kernel. Types are written as `[row: 4, col: 17], f32`.
struct KernelText {
  Names arguments; ///< name, type
  std::string parallel, serial, vector, body;
  Names results; ///< value, type

  /// The function as text.
  std::string str(const std::string &name = "k") const;
};

struct CheckOptions {
  double low = -2, high = 2;
  int64_t highInteger = 100;
  double tolerance = 4e-6;       ///< relative to the largest value of the tensor
  std::vector<int> inPlace = {}; ///< for each result: the operand whose storage it reuses, or -1
};

/// Compiles the kernel for both vector widths and CUDA, runs it whole and in ranges, and compares with the interpreter.
void check(const KernelText &text, const CheckOptions &options = {});

/// Runs one loaded kernel on random values, whole and in ranges, and compares with the interpreter.
void checkKernel(LoadedKernels &loaded, LoadedKernels::Kernel &kernel, const CheckOptions &options);

/// One line of a kernel's body: `result = tsr.text`.
inline std::string op(const std::string &result, const std::string &text) {
  return "    " + result + " = tsr." + text + "\n";
}
/// The type whose axes and element type are `type`.
inline std::string T(const std::string &type) { return "!tsr.tensor<" + type + ">"; }

} // namespace tessera::test

#endif // TESSERA_TESTS_CODEGEN_KERNELCHECK_H
