//===- KernelHarness.cpp - compiles kernels and runs them in this process -===//

#include "KernelHarness.h"
#include "codegen/cpu/object/Link.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/IR/Diagnostics.h"
#include "mlir/IR/Verifier.h"
#include "mlir/Parser/Parser.h"
#include "tests/support/TensorBytes.h"
#include <chrono>
#include <dlfcn.h>
#include <limits>

using namespace mlir;
using namespace tessera;
using namespace tessera::test;

//===----------------------------------------------------------------------===//
// Buffers
//===----------------------------------------------------------------------===//

static constexpr char marginByte = 0x5a;

Buffer::Buffer(NamedTensorType type, bool isPacked) : type(type), shift(isPacked ? type.getElementBytes() : 0) {
  bytes.assign(type.getNumBytes() + shift + 2 * margin, marginByte);
}

Buffer::Buffer(const TensorValue &value, NamedTensorType type, bool isPacked) : Buffer(type, isPacked) {
  std::fill_n(data(), type.getNumBytes(), static_cast<char>(0xff)); // NaN
  storeTensor(value, type, data());
}

bool Buffer::isMarginIntact() const {
  auto intact = [](char c) { return c == marginByte; };
  return std::all_of(bytes.begin(), bytes.begin() + margin, intact) &&
         std::all_of(bytes.end() - margin, bytes.end(), intact);
}

TensorValue test::randomTensor(NamedTensorType type, std::mt19937 &random, double low, double high,
                               int64_t highInteger) {
  TensorValue value(type);
  std::uniform_real_distribution<double> reals(low, high);
  for (double &x : value.data) {
    x = reals(random);
    if (isa<FloatType>(type.getElementType())) x = roundTo(x, type.getElementType());
    if (type.getElementType().isInteger(1))
      x = random() % 2;
    else if (isa<IntegerType>(type.getElementType()))
      x = static_cast<double>(random() % highInteger);
  }
  return value;
}

//===----------------------------------------------------------------------===//
// Compiling and loading
//===----------------------------------------------------------------------===//

LoadedKernels::LoadedKernels(StringRef text, StringRef march) : text(text), context(MLIRContext::Threading::DISABLED) {
  context.loadDialect<TsrDialect, func::FuncDialect, LLVM::LLVMDialect>();
  ScopedDiagnosticHandler handler(&context, [&](Diagnostic &diagnostic) {
    errors += diagnostic.str() + "\n";
    return success();
  });
  module = parseSourceString<ModuleOp>(text, &context);
  if (module && !(march == "cuda" ? compileForCuda() : compile(march)) && errors.empty())
    errors = "no code and no message";
}

LoadedKernels::~LoadedKernels() {
  if (library) dlclose(library);
}

bool LoadedKernels::compile(StringRef march) {
  llvm::raw_string_ostream messages(errors);
  FailureOr<CpuTarget> target = CpuTarget::get(march, messages);
  if (failed(target)) return false;
  code = ModuleOp::create(UnknownLoc::get(&context));
  KernelCodegen codegen(*code, *target);
  auto start = std::chrono::steady_clock::now();
  auto elapsed = [&] { return std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count(); };
  bool ok = true;
  module->walk([&](KernelOp op) {
    FailureOr<KernelInterface> interface = codegen.emit(op);
    ok &= succeeded(interface);
    if (ok) kernels.push_back({op->getParentOfType<func::FuncOp>(), op, *interface, nullptr});
  });
  emitTime = elapsed();
  if (!ok || failed(verify(*code))) return false;
  FailureOr<std::vector<std::string>> objects = compileToObjects(*code, *target, /*threads=*/1, &llvmText, &times);
  if (failed(objects)) return false;
  start = std::chrono::steady_clock::now();
  FailureOr<std::string> shared = linkSharedObject(*objects, messages);
  linkTime = elapsed();
  if (failed(shared) || !(library = loadLibrary(*shared, errors))) return false;
  for (Kernel &kernel : kernels)
    kernel.code = reinterpret_cast<TsrKernel>(dlsym(library, kernel.interface.name.c_str()));
  return llvm::all_of(kernels, [](const Kernel &kernel) { return kernel.code != nullptr; });
}

/// In a text with many kernels, many access memory in the same way: so many are compiled for packed arguments.
static constexpr int64_t mostPacked = 4;

bool LoadedKernels::compileForCuda() {
  const Target large = *Target::named("h100");
  Target small = large;
  small.gpu = {.multiprocessors = 1, .threadsPerMultiprocessor = 32, .cacheBytes = 0};
  struct Variant {
    std::string name;
    Target target;
    bool isPacked;
  };
  for (const auto &[name, target, isPacked] :
       {Variant{"large", large, false}, Variant{"small", small, false}, Variant{"packed", small, true}}) {
    cuda::CudaKernels written(target);
    llvm::StringMap<const cuda::CudaKernel *> renamed; // unique, so that all variants are one library
    bool ok = true;
    int64_t left = isPacked ? mostPacked : std::numeric_limits<int64_t>::max();
    module->walk([&](KernelOp op) {
      if (left-- <= 0) return;
      SmallVector<int64_t> alignments;
      for (Type type : llvm::concat<const Type>(op->getOperandTypes(), op->getResultTypes()))
        if (isPacked) alignments.push_back(cast<NamedTensorType>(type).getElementBytes());
      FailureOr<const cuda::CudaKernel *> kernel = written.emit(op, alignments);
      if (!(ok &= succeeded(kernel))) return;
      const cuda::CudaKernel *&own = renamed[(*kernel)->symbol];
      if (!own) {
        cudaKernels.push_back(std::make_unique<cuda::CudaKernel>(**kernel));
        cuda::CudaKernel &copy = *cudaKernels.back();
        copy.symbol += "_" + name;
        copy.source.replace(copy.source.find((*kernel)->symbol + "("), (*kernel)->symbol.size(), copy.symbol);
        own = &copy;
      }
      kernels.push_back({op->getParentOfType<func::FuncOp>(), op, {}, nullptr, own, isPacked});
    });
    if (!ok) return false;
  }
  emulated = std::make_unique<EmulatedKernels>(
      llvm::map_to_vector(cudaKernels, [](auto &kernel) -> const cuda::CudaKernel * { return kernel.get(); }));
  errors += emulated->errors;
  for (auto &kernel : cudaKernels)
    if (!errors.empty()) errors += kernel->source + "\n";
  return errors.empty();
}

/// Runs a kernel. Returns an error, or an empty string.
std::string LoadedKernels::call(Kernel &kernel, ArrayRef<void *> addresses, int ranges) {
  if (kernel.isCuda()) return emulated->run(*kernel.emulated, addresses);
  int64_t n = kernel.interface.iterations;
  for (int range = ranges - 1; range >= 0; --range)
    kernel.code(addresses.data(), n * range / ranges, n * (range + 1) / ranges, nullptr);
  return "";
}

std::vector<TensorValue> LoadedKernels::run(Kernel &kernel, ArrayRef<TensorValue> arguments, int ranges,
                                            ArrayRef<int> inPlace) {
  std::vector<Buffer> buffers;
  for (auto [argument, operand] : llvm::zip(arguments, kernel.op.getOperands()))
    buffers.emplace_back(argument, tensorType(operand), kernel.isPacked);
  for (Value result : kernel.op.getResults()) {
    buffers.emplace_back(tensorType(result), kernel.isPacked);
    std::fill_n(buffers.back().data(), tensorType(result).getNumBytes(), static_cast<char>(0xff)); // NaN
  }
  std::vector<void *> addresses;
  for (Buffer &buffer : buffers) addresses.push_back(buffer.data());
  for (auto [result, operand] : llvm::enumerate(inPlace))
    if (operand >= 0) addresses[arguments.size() + result] = addresses[operand];
  errors += call(kernel, addresses, ranges);

  std::vector<TensorValue> results;
  for (size_t i = 0; i < buffers.size(); ++i) {
    if (!buffers[i].isMarginIntact()) errors += "wrote outside buffer " + std::to_string(i) + "\n";
    if (i < arguments.size()) continue;
    size_t result = i - arguments.size();
    bool moved = result < inPlace.size() && inPlace[result] >= 0;
    Buffer &buffer = moved ? buffers[inPlace[result]] : buffers[i];
    results.push_back(fetchTensor(buffer.type, buffer.data()));
  }
  return results;
}
