//===- CudaRunner.cpp - runs generated CUDA code, emulated -----------===//

#include "tests/differential/CudaRunner.h"
#include "codegen/program/Program.h"
#include "ir/dialect/Gelu.h"
#include "ir/program/Program.h"
#include "runtime/Abi.h"
#include "tests/codegen/cuda/EmulatedKernels.h"
#include "tests/support/LoadLibrary.h"
#include "tests/support/TensorBytes.h"
#include <cstring>
#include <dlfcn.h>

using namespace mlir;
using namespace tessera;
using namespace tessera::test;

//===----------------------------------------------------------------------===//
// A machine with a GPU
//===----------------------------------------------------------------------===//

/// What entry functions see; its arena is memory of this process.
struct CudaRunner::Machine : TsrRuntime {
  MLIRContext *context;
  CompiledProgram program;
  std::vector<std::shared_ptr<const cuda::CudaKernel>> written;
  std::unique_ptr<EmulatedKernels> kernels;
  std::vector<char> memory;
  char *arena = nullptr;
  void *library = nullptr;
  std::string errors;
  unsigned epilogues = 0; ///< that were computed

  ~Machine() {
    if (library) dlclose(library);
  }
  static Machine &of(TsrRuntime *self) { return *static_cast<Machine *>(self); }
  void runKernel(uint32_t number, ArrayRef<void *> arguments);
  void runGemm(const ContractionGemm &d, const void *a, const void *b, void *bias, void *aux, void *c);
  /// The same without GELU or its gradient, and the kernel that computes it.
  void runWithKernel(const GemmTable::Entry &entry, const void *a, const void *b, void *bias, void *aux, void *c);
  Type elementType(ElementType type);
  /// Numbers that lie behind one another at an address, and those that a matrix spans.
  TensorValue fetch(const void *address, Type element, int64_t count);
};

Type CudaRunner::Machine::elementType(ElementType type) {
  switch (type) {
  case ElementType::F32:
    return Float32Type::get(context);
  case ElementType::BF16:
    return BFloat16Type::get(context);
  case ElementType::F16:
    return Float16Type::get(context);
  case ElementType::E4M3:
    return Float8E4M3FNType::get(context);
  case ElementType::E5M2:
    return Float8E5M2Type::get(context);
  default:
    llvm_unreachable("contractions do not take this type");
  }
}

TensorValue CudaRunner::Machine::fetch(const void *address, Type element, int64_t count) {
  return fetchTensor(NamedTensorType::get(context, AxisAttr::get(context, "x", count), element), address);
}

static int64_t spanOf(ArrayRef<int64_t> dims, ArrayRef<int64_t> strides) {
  int64_t span = 1;
  for (auto [dim, stride] : llvm::zip(dims, strides)) span += (dim - 1) * stride;
  return span;
}

void CudaRunner::Machine::runGemm(const ContractionGemm &d, const void *a, const void *b, void *bias, void *aux,
                                  void *c) {
  TensorValue left = fetch(a, elementType(d.a.type), spanOf(d.a.dims, d.a.strides));
  TensorValue right = fetch(b, elementType(d.b.type), spanOf(d.b.dims, d.b.strides));
  TensorValue result = fetch(c, elementType(d.c.type), spanOf(d.c.dims, d.c.strides));
  TensorValue row = d.bias ? fetch(bias, elementType(d.biasType), spanOf(d.c.dims, *d.bias)) : left;
  TensorValue beside = d.hasAux ? fetch(aux, result.type.getElementType(), spanOf(d.c.dims, d.c.strides)) : result;
  bool isGrad = d.epilogue == Epilogue::GeluGrad, isGelu = d.epilogue == Epilogue::Gelu;
  if (isGrad && d.bias) llvm::fill(row.data, 0);
  size_t rank = d.c.dims.size();
  SmallVector<int64_t> at(rank, 0); // in c; the last two are m and n
  auto offset = [&](ArrayRef<int64_t> dims, ArrayRef<int64_t> strides) {
    int64_t sum = 0;
    for (size_t i = 0; i < rank; ++i) sum += dims[i] == 1 ? 0 : at[i] * strides[i];
    return sum;
  };
  bool more = true;
  while (more) {
    int64_t m = at[rank - 2], n = at[rank - 1], k = d.k(), place = offset(d.c.dims, d.c.strides);
    at[rank - 1] = 0;
    int64_t fromLeft = offset(d.a.dims, d.a.strides);
    at[rank - 1] = n, at[rank - 2] = 0;
    int64_t fromRight = offset(d.b.dims, d.b.strides);
    at[rank - 2] = m;
    double sum = d.accumulate ? result.data[place] : 0;
    for (int64_t i = 0; i < k; ++i)
      sum += left.data[fromLeft + i * d.a.strides[rank - 1]] * right.data[fromRight + i * d.b.strides[rank - 2]];
    if (d.bias && !isGrad) sum += row.data[offset(d.c.dims, *d.bias)];
    if (isGelu) beside.data[place] = sum, sum = gelu(sum);
    if (isGrad) sum *= geluDerivative(beside.data[place]);
    if (isGrad && d.bias) row.data[offset(d.c.dims, *d.bias)] += sum;
    result.data[place] = sum;
    more = false;
    for (size_t i = rank; i-- > 0 && !more;) {
      more = ++at[i] < d.c.dims[i];
      if (!more) at[i] = 0;
    }
  }
  storeTensor(result, result.type, c);
  if (isGelu && d.hasAux) storeTensor(beside, beside.type, aux);
  if (isGrad && d.bias) storeTensor(row, row.type, bias);
}

void CudaRunner::Machine::runKernel(uint32_t number, ArrayRef<void *> arguments) {
  const cuda::CudaKernel &launched = *written[number];
  std::string error = kernels->run(launched, arguments.take_front(launched.parameterTypes.size()));
  if (!error.empty() && errors.empty()) errors = error + "\n" + launched.source;
}

void CudaRunner::Machine::runWithKernel(const GemmTable::Entry &entry, const void *a, const void *b, void *bias,
                                        void *aux, void *c) {
  ContractionGemm plain = entry.description;
  bool isGrad = plain.epilogue == Epilogue::GeluGrad;
  void *sums = plain.hasAux && !isGrad ? aux : c;
  plain.epilogue.reset(), plain.hasAux = false;
  if (isGrad) plain.bias.reset();
  runGemm(plain, a, b, bias, nullptr, sums);
  runKernel(*entry.epilogueKernel, isGrad ? SmallVector<void *>{c, aux, c, bias} : SmallVector<void *>{sums, c});
}

//===----------------------------------------------------------------------===//
// The runner
//===----------------------------------------------------------------------===//

CudaRunner::CudaRunner() = default;
CudaRunner::~CudaRunner() = default;

LogicalResult CudaRunner::load(ModuleOp scheduled) {
  module = scheduled;
  CudaBackend backend(Target::of(module), CudaOptions{{"sm_90a"}, /*compiles=*/false, {}, {}});
  FailureOr<CompiledProgram> compiled = generateProgram(module, backend, {});
  if (failed(compiled)) return failure();
  machine = std::make_unique<Machine>();
  machine->context = module.getContext();
  machine->program = std::move(*compiled);
  machine->written = backend.getKernels();
  machine->kernels = std::make_unique<EmulatedKernels>(
      llvm::map_to_vector(machine->written, [](auto &kernel) -> const cuda::CudaKernel * { return kernel.get(); }));
  if (!machine->kernels->errors.empty()) return module.emitError(machine->kernels->errors);
  machine->library = loadLibrary(machine->program.object, machine->errors);
  if (!machine->library) return module.emitError("host code does not load: ") << machine->errors;

  constexpr size_t alignment = 256;
  machine->memory.assign(module->getAttrOfType<IntegerAttr>(attrs::arena).getInt() + alignment,
                         static_cast<char>(0xff)); // NaN
  auto start = reinterpret_cast<uintptr_t>(machine->memory.data());
  machine->arena = reinterpret_cast<char *>(llvm::alignTo(start, alignment));
  machine->abiVersion = TSR_ABI_VERSION;
  machine->launch = [](TsrRuntime *self, uint32_t kernel, void *const *args) {
    Machine &machine = Machine::of(self);
    machine.runKernel(kernel, ArrayRef(args, machine.written[kernel]->parameterTypes.size()));
  };
  machine->gemm = [](TsrRuntime *self, uint32_t gemm, const void *a, const void *b, void *bias, void *aux, void *c) {
    Machine &machine = Machine::of(self);
    const GemmTable::Entry &entry = machine.program.gemms[gemm];
    // Every second one, as if cuBLASLt had no such epilogue.
    if (entry.epilogueKernel && machine.epilogues++ % 2 == 0) return machine.runWithKernel(entry, a, b, bias, aux, c);
    machine.runGemm(entry.description, a, b, bias, aux, c);
  };
  machine->copy = [](TsrRuntime *, void *dst, const void *src, int64_t bytes) { std::memcpy(dst, src, bytes); };
  machine->zero = [](TsrRuntime *, void *dst, int64_t bytes) { std::memset(dst, 0, bytes); };
  machine->setInt = [](TsrRuntime *, void *dst, int32_t value) { std::memcpy(dst, &value, sizeof value); };
  return success();
}

FailureOr<Values> CudaRunner::run(StringRef entry, const Values &values) {
  auto function = module.lookupSymbol<func::FuncOp>(entry);
  auto arena = [&](int64_t offset) { return machine->arena + offset; };
  if (failed(storeArguments(function, values, arena))) return failure();
  auto code = reinterpret_cast<TsrEntry>(dlsym(machine->library, (TSR_SYMBOL_ENTRY_PREFIX + entry).str().c_str()));
  if (!code) return function.emitError("has no code");
  code(machine.get(), machine->arena);
  if (!machine->errors.empty()) return function.emitError(machine->errors);
  return fetchResults(function, arena);
}
