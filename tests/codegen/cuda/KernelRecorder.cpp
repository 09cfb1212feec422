//===- KernelRecorder.cpp - emulated kernels, kept for a machine with a GPU ---===//

#include "tests/codegen/cuda/KernelRecorder.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/JSON.h"
#include "llvm/Support/Path.h"
#include "llvm/Support/Process.h"

using namespace tessera;
using namespace tessera::test;

/// Bytes of all arguments of a kernel that is worth recording: what is found in large tensors is found in small ones.
static constexpr int64_t mostBytes = 48 << 10;
/// Addresses matter up to the largest vector.
static constexpr uintptr_t vectorBytes = 16;

namespace {
/// Numbers as kernels name them, as the list does, and how far a GPU's may lie from the emulator's, relative to the largest: functions
/// differ in their last bits, and a number that lies between two of a low type may be rounded to either.
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
/// Of f32 sums of products of low numbers, which were rounded once more on the way.
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

KernelRecorder::Before KernelRecorder::look(const cuda::CudaKernel &kernel, llvm::ArrayRef<void *> arguments) {
  Before before;
  int64_t sum = 0;
  for (const KernelArgument &argument : kernel.arguments) sum += argument.bytes;
  if (sum > mostBytes || kernel.arguments.size() != arguments.size()) return before;
  // Arguments are apart from each other, or the same.
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

/// The kernel's source with another symbol; of a launch of several the namespace of its parts is named after it too.
static std::string renamed(const cuda::CudaKernel &kernel, const std::string &symbol) {
  std::string source = kernel.source, name = kernel.isOfSeveral ? kernel.symbol : kernel.symbol + "(";
  for (size_t at = source.find(name); at != std::string::npos; at = source.find(name, at + symbol.size()))
    source.replace(at, kernel.symbol.size(), symbol);
  return source;
}

void KernelRecorder::record(const cuda::CudaKernel &kernel, llvm::ArrayRef<void *> arguments, const Before &before) {
  if (before.bytes.empty()) return;
  // Symbols of other programs that a test compiles may be the same.
  std::string symbol = kernel.symbol + "_c" + std::to_string(seen.size()), source = renamed(kernel, symbol);
  bool isProduct = llvm::StringRef(source).contains("multiply_add<");
  llvm::json::Array list;
  for (size_t i = 0; i < arguments.size(); ++i) {
    llvm::StringRef type = llvm::StringRef(kernel.parameterTypes[i]).trim(" *");
    type.consume_front("const ");
    const auto *number =
        llvm::find_if(emulatedTypes, [&](const EmulatedType &known) { return known.inKernels == type; });
    if (number == std::end(emulatedTypes)) llvm::report_fatal_error("no number type of this name is recorded: " + type);
    llvm::StringRef after(static_cast<const char *>(arguments[i]), before.bytes[i].size());
    auto same = static_cast<int64_t>(llvm::find(arguments, arguments[i]) - arguments.begin());
    bool isChanged = after != before.bytes[i];
    list.push_back(
        llvm::json::Object{{"type", number->name},
                           {"bytes", static_cast<int64_t>(after.size())},
                           {"offset", store(before.bytes[i])},
                           {"shift", static_cast<int64_t>(reinterpret_cast<uintptr_t>(arguments[i]) % vectorBytes)},
                           {"expected", isChanged ? store(after) : -1},
                           {"tolerance", isProduct && number->name == "f32" ? productTolerance : number->tolerance},
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
