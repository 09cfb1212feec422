//===- KernelRecorder.cpp - records emulated kernels for a machine with a GPU -===//

#include "tests/codegen/cuda/KernelRecorder.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/JSON.h"
#include "llvm/Support/Path.h"
#include "llvm/Support/Process.h"

using namespace tessera;
using namespace tessera::test;

/// The largest arguments that are recorded, in bytes for a kernel: small tensors show the same errors as large ones.
static constexpr int64_t mostBytes = 48 << 10;
/// The alignment of arguments that is reproduced: that of the largest vector.
static constexpr uintptr_t vectorBytes = 16;

namespace {
/// An element type, by its names in kernels and in the list. `tolerance` bounds the difference between a GPU and the
/// emulator, relative to the largest element: functions differ in their last bits, and a value close to the middle
/// between two low-precision values may be rounded to either.
struct EmulatedType {
  llvm::StringLiteral inKernels, name;
  double tolerance;
};
} // namespace
static constexpr EmulatedType emulatedTypes[] = {
    {"float", "f32", 2e-5},    {"double", "f64", 1e-9},         {"tsr::bf16", "bf16", 1e-2},
    {"tsr::f16", "f16", 2e-3}, {"tsr::e4m3", "f8E4M3FN", 0.13}, {"tsr::e5m2", "f8E5M2", 0.26},
    {"bool", "i1", 0},         {"signed char", "i8", 0},        {"unsigned char", "i8", 0},
    {"int", "i32", 0},         {"tsr::i64", "i64", 0},
};
/// For f32 sums of products of low-precision values, because an intermediate result was rounded too.
static constexpr double productTolerance = 2e-3;

KernelRecorder *KernelRecorder::get() {
  static const std::unique_ptr<KernelRecorder> recorder = []() -> std::unique_ptr<KernelRecorder> {
    const char *folder = getenv("TESSERA_RECORD_KERNELS");
    if (!folder) return nullptr;
    if (llvm::sys::fs::create_directories(folder)) llvm::report_fatal_error("cannot make $TESSERA_RECORD_KERNELS");
    std::string program = llvm::sys::path::filename(llvm::sys::fs::getMainExecutable(nullptr, nullptr)).str();
    return std::unique_ptr<KernelRecorder>(new KernelRecorder(std::string(folder) + "/" + program + "-" +
                                                              std::to_string(llvm::sys::Process::getProcessId())));
  }();
  return recorder.get();
}

KernelRecorder::KernelRecorder(const std::string &base) : list(base + ".jsonl", error), data(base + ".bin", error) {
  if (error) llvm::report_fatal_error("cannot write to $TESSERA_RECORD_KERNELS");
}

int64_t KernelRecorder::store(llvm::StringRef bytes) {
  auto offset = static_cast<int64_t>(data.tell());
  data << bytes;
  return offset;
}

KernelRecorder::Before KernelRecorder::snapshot(const cuda::CudaKernel &kernel, llvm::ArrayRef<void *> arguments) {
  Before before;
  int64_t sum = 0;
  for (const KernelArgument &argument : kernel.arguments) sum += argument.bytes;
  if (sum > mostBytes || kernel.arguments.size() != arguments.size()) return before;
  // Arguments are disjoint or identical.
  for (size_t i = 0; i < arguments.size(); ++i)
    for (size_t j = 0; j < i; ++j) {
      auto first = reinterpret_cast<uintptr_t>(arguments[j]), second = reinterpret_cast<uintptr_t>(arguments[i]);
      bool overlap = first < second + static_cast<uintptr_t>(kernel.arguments[i].bytes) &&
                     second < first + static_cast<uintptr_t>(kernel.arguments[j].bytes);
      if (overlap && (first != second || kernel.arguments[i].bytes != kernel.arguments[j].bytes)) return before;
    }
  if (!seen.insert(kernel.symbol + kernel.source).second) return before;
  for (auto [address, argument] : llvm::zip(arguments, kernel.arguments))
    before.bytes.emplace_back(static_cast<const char *>(address), static_cast<size_t>(argument.bytes));
  return before;
}

/// The kernel's source with another symbol. The namespace of a horizontally fused launch is named after it too.
static std::string renamed(const cuda::CudaKernel &kernel, const std::string &symbol) {
  std::string source = kernel.source, name = kernel.isHorizontallyFused ? kernel.symbol : kernel.symbol + "(";
  for (size_t at = source.find(name); at != std::string::npos; at = source.find(name, at + symbol.size()))
    source.replace(at, kernel.symbol.size(), symbol);
  return source;
}

void KernelRecorder::record(const cuda::CudaKernel &kernel, llvm::ArrayRef<void *> arguments, const Before &before) {
  if (before.bytes.empty()) return;
  // Several programs of a test may use the same symbol.
  std::string symbol = kernel.symbol + "_c" + std::to_string(seen.size()), source = renamed(kernel, symbol);
  bool isProduct = llvm::StringRef(source).contains("multiply_add<");
  llvm::json::Array list;
  for (size_t i = 0; i < arguments.size(); ++i) {
    llvm::StringRef type = llvm::StringRef(kernel.parameterTypes[i]).trim(" *");
    type.consume_front("const ");
    const auto *element =
        llvm::find_if(emulatedTypes, [&](const EmulatedType &known) { return known.inKernels == type; });
    if (element == std::end(emulatedTypes)) llvm::report_fatal_error("no element type has this name: " + type);
    llvm::StringRef after(static_cast<const char *>(arguments[i]), before.bytes[i].size());
    auto same = static_cast<int64_t>(llvm::find(arguments, arguments[i]) - arguments.begin());
    bool isChanged = after != before.bytes[i];
    list.push_back(
        llvm::json::Object{{"type", element->name},
                           {"bytes", static_cast<int64_t>(after.size())},
                           {"offset", store(before.bytes[i])},
                           {"shift", static_cast<int64_t>(reinterpret_cast<uintptr_t>(arguments[i]) % vectorBytes)},
                           {"expected", isChanged ? store(after) : -1},
                           {"tolerance", isProduct && element->name == "f32" ? productTolerance : element->tolerance},
                           {"same_as", same < static_cast<int64_t>(i) ? same : -1}});
  }
  this->list << llvm::json::Value(llvm::json::Object{{"name", kernel.symbol},
                                                     {"symbol", symbol},
                                                     {"source", source},
                                                     {"blocks", kernel.blocks},
                                                     {"threads", kernel.threads},
                                                     {"arguments", std::move(list)}})
             << "\n";
  this->list.flush();
  data.flush();
}
