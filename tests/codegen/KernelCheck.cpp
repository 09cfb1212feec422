//===- KernelCheck.cpp - kernels as text, compared with the interpreter ---===//

#include "KernelCheck.h"
#include "tests/codegen/cuda/KernelRecorder.h"
#include <cmath>
#include <cstring>
#include <gtest/gtest.h>

using namespace mlir;
using namespace tessera;
using namespace tessera::test;

std::string KernelText::str(const std::string &name) const {
  std::string out = "func.func @" + name + "(", bindings, outer, types, values;
  auto comma = [](const std::string &s) { return s.empty() ? "" : ", "; };
  for (auto &[argument, type] : arguments) {
    std::string full = "!tsr.tensor<" + type + ">";
    outer += comma(outer) + ("%o_" + argument) + ": " + full;
    bindings += comma(bindings) + ("%" + argument) + " = %o_" + argument + " : " + full;
  }
  for (auto &[value, type] : results) {
    types += comma(types) + ("!tsr.tensor<" + type + ">");
    values += comma(values) + value;
  }
  std::string count = results.size() == 1 ? "" : ":" + std::to_string(results.size());
  std::string returned = count.empty() ? "%k" : "";
  for (size_t i = 0; i < results.size() && !count.empty(); ++i)
    returned += comma(returned) + ("%k#" + std::to_string(i));
  out += outer + ") -> (" + types + ") {\n  %k" + count + " = tsr.kernel \"" + name + "\" (" + bindings +
         ") parallel [" + parallel + "] serial [" + serial + "]" +
         (vector.empty() ? "" : " vector \"" + vector + "\"") + " -> (" + types + ") {\n" + body + "\n    tsr.yield " +
         values + " : " + types + "\n  }\n  return " + returned + " : " + types + "\n}\n";
  return out;
}

static bool agrees(double a, double b, double bound) {
  return a == b || (std::isnan(a) && std::isnan(b)) || std::abs(a - b) <= bound;
}

static void compare(const TensorValue &got, const TensorValue &expected, double tolerance, const std::string &what) {
  double largest = 0;
  for (double x : expected.data)
    if (std::isfinite(x)) largest = std::max(largest, std::abs(x));
  if (isa<IntegerType>(expected.type.getElementType())) tolerance = 0;
  ASSERT_EQ(got.data.size(), expected.data.size());
  for (size_t i = 0; i < got.data.size(); ++i)
    ASSERT_TRUE(agrees(got.data[i], expected.data[i], tolerance * largest))
        << what << ": element " << i << " is " << got.data[i] << ", expected " << expected.data[i];
}

void test::checkKernel(LoadedKernels &loaded, LoadedKernels::Kernel &kernel, const CheckOptions &options) {
  std::mt19937 random(7);
  std::vector<TensorValue> arguments;
  for (Value operand : kernel.op.getOperands())
    arguments.push_back(randomTensor(tensorType(operand), random, options.low, options.high, options.highInteger));
  Interpreter interpreter(Rounding::Types);
  auto expected = interpreter.runBlock(kernel.op.getBlock(), arguments);
  ASSERT_TRUE(succeeded(expected));
  std::string text;
  llvm::raw_string_ostream out(text);
  kernel.op.print(out);
  if (kernel.isCuda()) out << "\n" << kernel.emulated->source;
  std::vector<TensorValue> whole = loaded.run(kernel, arguments, 1, options.inPlace);
  ASSERT_EQ(loaded.errors, "") << text;
  for (size_t i = 0; i < whole.size(); ++i)
    compare(whole[i], (*expected)[i], options.tolerance, text + "\nresult " + std::to_string(i));
  // How threads share the iterations depends on their speed: work stealing.
  for (int ranges : kernel.isCuda() ? std::vector<int>() : std::vector<int>{2, 3, 7}) {
    std::vector<TensorValue> results = loaded.run(kernel, arguments, ranges, options.inPlace);
    ASSERT_EQ(loaded.errors, "") << text;
    for (size_t i = 0; i < results.size(); ++i)
      ASSERT_EQ(std::memcmp(results[i].data.data(), whole[i].data.data(), whole[i].data.size() * sizeof(double)), 0)
          << text << "\nresult " << i << " differs if computed in " << ranges << " ranges";
  }
}

void test::check(const KernelText &text, const CheckOptions &options) {
  for (llvm::StringRef march : {"native", "x86-64-v3", "cuda"}) {
    if (KernelRecorder::get() && march != "cuda") continue; // the recorder needs CUDA only
    LoadedKernels loaded(text.str(), march);
    ASSERT_EQ(loaded.errors, "") << text.str();
    SCOPED_TRACE(march.str());
    for (LoadedKernels::Kernel &kernel : loaded.kernels) checkKernel(loaded, kernel, options);
  }
}
