//===- CublasLt.cpp - contractions on a GPU -----------------------------------===//
//
// The library's matrices are column-major: c [M, N], row-major, is its [N, M]. So b takes the place of its first operand and a that
// of its second:
//
//   cᵀ [N, M] = bᵀ [N, K] · aᵀ [K, M]
//
// What lies the other way round is transposed by the library. Batch dimensions that have one stride in all operands are one; of those
// that are left, the longest is the library's batch, and the others are calls of their own.
//
//===----------------------------------------------------------------------===//

#include "runtime/cuda/CublasLt.h"

#include "runtime/Error.h"
#include "runtime/cuda/Library.h"

namespace tessera::runtime::cuda {

namespace {
using Handle = struct CublasLtHandle *;
using MatmulDesc = struct CublasLtMatmulDesc *;
using Layout = struct CublasLtLayout *;
using Preference = struct CublasLtPreference *;

/// As cublasLt.h declares them.
struct Algorithm {
  uint64_t data[8];
};
struct Heuristic {
  Algorithm algorithm;
  size_t workspaceBytes;
  int status;
  float waves;
  int reserved[4];
};

// Values of the library's enumerations (cublasLt.h, library_types.h).
constexpr int compute32F = 68, scaleType32F = 0;
constexpr int descTransA = 3, descTransB = 4, descEpilogue = 7, descBiasPointer = 8, descBiasType = 26;
constexpr int operationNone = 0, operationTranspose = 1;
constexpr int epilogueBias = 4;
constexpr int layoutBatchCount = 5, layoutBatchStride = 6;
constexpr int preferenceWorkspace = 1;

int libraryType(GemmType type) {
  switch (type) {
  case GemmType::F32:
    return 0;
  case GemmType::BF16:
    return 14;
  case GemmType::F16:
    return 2;
  case GemmType::E4M3:
    return 28;
  case GemmType::E5M2:
    return 29;
  }
  return 0;
}

int64_t bytesOf(GemmType type) {
  return type == GemmType::F32 ? 4 : type == GemmType::BF16 || type == GemmType::F16 ? 2 : 1;
}

/// The library, opened once: in $TESSERA_CUBLASLT if that is set.
struct CublasLt {
  static const CublasLt &get() {
    static const CublasLt library;
    return library;
  }
  void check(int status, const char *what) const {
    if (status != 0) fail("cuBLASLt: {}: {}", what, getStatusString ? getStatusString(status) : "failed");
  }

  Handle handle = nullptr;
  const char *(*getStatusString)(int status);
  int (*create)(Handle *handle);
  int (*matmulDescCreate)(MatmulDesc *desc, int computeType, int scaleType);
  int (*matmulDescDestroy)(MatmulDesc desc);
  int (*matmulDescSetAttribute)(MatmulDesc desc, int attribute, const void *value, size_t bytes);
  int (*layoutCreate)(Layout *layout, int type, uint64_t rows, uint64_t columns, int64_t leading);
  int (*layoutDestroy)(Layout layout);
  int (*layoutSetAttribute)(Layout layout, int attribute, const void *value, size_t bytes);
  int (*preferenceCreate)(Preference *preference);
  int (*preferenceDestroy)(Preference preference);
  int (*preferenceSetAttribute)(Preference preference, int attribute, const void *value, size_t bytes);
  int (*getHeuristic)(Handle handle, MatmulDesc desc, Layout a, Layout b, Layout c, Layout d, Preference preference,
                      int wanted, Heuristic *results, int *found);
  int (*matmul)(Handle handle, MatmulDesc desc, const void *alpha, const void *a, Layout layoutA, const void *b,
                Layout layoutB, const void *beta, const void *c, Layout layoutC, void *d, Layout layoutD,
                const Algorithm *algorithm, void *workspace, size_t workspaceBytes, Stream stream);

private:
  CublasLt() {
    Library library("TESSERA_CUBLASLT", {"libcublasLt.so.13", "libcublasLt.so.12"},
                    "install cuBLAS, a part of the CUDA Toolkit, or name its folder in TESSERA_CUBLASLT");
    library.find(getStatusString, "cublasLtGetStatusString");
    library.find(create, "cublasLtCreate");
    library.find(matmulDescCreate, "cublasLtMatmulDescCreate");
    library.find(matmulDescDestroy, "cublasLtMatmulDescDestroy");
    library.find(matmulDescSetAttribute, "cublasLtMatmulDescSetAttribute");
    library.find(layoutCreate, "cublasLtMatrixLayoutCreate");
    library.find(layoutDestroy, "cublasLtMatrixLayoutDestroy");
    library.find(layoutSetAttribute, "cublasLtMatrixLayoutSetAttribute");
    library.find(preferenceCreate, "cublasLtMatmulPreferenceCreate");
    library.find(preferenceDestroy, "cublasLtMatmulPreferenceDestroy");
    library.find(preferenceSetAttribute, "cublasLtMatmulPreferenceSetAttribute");
    library.find(getHeuristic, "cublasLtMatmulAlgoGetHeuristic");
    library.find(matmul, "cublasLtMatmul");
    check(create(&handle), "cannot start");
  }
};

/// A batch dimension: its size, and the strides of a, b, c and bias along it, in elements.
struct BatchDim {
  int64_t size, a, b, c, bias;
};

/// Whether `inner` runs on where `outer` steps.
bool isOne(const BatchDim &outer, const BatchDim &inner) {
  return outer.a == inner.a * inner.size && outer.b == inner.b * inner.size && outer.c == inner.c * inner.size &&
         outer.bias == inner.bias * inner.size;
}

/// An operand as the library sees it: a matrix of `rows` contiguous numbers and `columns`, perhaps to be transposed.
struct Operand {
  int64_t rows, columns, leading;
  bool isTransposed;

  /// Of [outer, inner] with these strides: its transpose is what the library wants.
  static Operand of(int64_t outer, int64_t inner, int64_t outerStride, int64_t innerStride) {
    if (innerStride == 1 || inner == 1) return {inner, outer, outer == 1 ? inner : outerStride, false};
    return {outer, inner, innerStride, true};
  }
};
} // namespace

struct Product::Impl {
  const CublasLt &library = CublasLt::get();
  GemmDescription description;
  MatmulDesc desc = nullptr;
  Layout layoutA = nullptr, layoutB = nullptr, layoutC = nullptr; ///< a's and b's as the library counts them
  Algorithm algorithm{};
  size_t workspaceBytes = 0;
  std::vector<BatchDim> loops; ///< calls of their own

  ~Impl() {
    if (desc) library.matmulDescDestroy(desc);
    for (Layout layout : {layoutA, layoutB, layoutC})
      if (layout) library.layoutDestroy(layout);
  }
  BatchDim chooseBatch();
  Layout makeLayout(GemmType type, const Operand &operand, int64_t count, int64_t stride);
  void chooseAlgorithm(int64_t limit);
};

/// The batch that the library runs in one call; the others become `loops`.
BatchDim Product::Impl::chooseBatch() {
  const GemmDescription &d = description;
  size_t rank = d.dimsC.size();
  for (size_t i = 0; i + 2 < rank; ++i) {
    if (d.dimsC[i] == 1) continue;
    BatchDim dim{d.dimsC[i], d.dimsA[i] == 1 ? 0 : d.stridesA[i], d.dimsB[i] == 1 ? 0 : d.stridesB[i], d.stridesC[i],
                 0};
    if (d.bias && d.bias->size() + i >= rank) dim.bias = (*d.bias)[i + d.bias->size() - rank];
    if (!loops.empty() && isOne(loops.back(), dim)) {
      dim.size *= loops.back().size;
      loops.back() = dim;
    } else {
      loops.push_back(dim);
    }
  }
  auto longest = loops.end();
  for (auto it = loops.begin(); it != loops.end(); ++it) {
    // The library has no batches of one bias, but where all share it.
    if (it->bias == 0 && (longest == loops.end() || it->size > longest->size)) longest = it;
  }
  if (longest == loops.end()) return {1, 0, 0, 0, 0};
  BatchDim batch = *longest;
  loops.erase(longest);
  return batch;
}

Layout Product::Impl::makeLayout(GemmType type, const Operand &operand, int64_t count, int64_t stride) {
  Layout layout = nullptr;
  library.check(library.layoutCreate(&layout, libraryType(type), operand.rows, operand.columns, operand.leading),
                "cannot describe a matrix");
  auto number = static_cast<int32_t>(count);
  library.check(library.layoutSetAttribute(layout, layoutBatchCount, &number, sizeof number), "batch count");
  library.check(library.layoutSetAttribute(layout, layoutBatchStride, &stride, sizeof stride), "batch stride");
  return layout;
}

void Product::Impl::chooseAlgorithm(int64_t limit) {
  Preference preference = nullptr;
  library.check(library.preferenceCreate(&preference), "cannot describe a search");
  auto bytes = static_cast<uint64_t>(limit);
  library.check(library.preferenceSetAttribute(preference, preferenceWorkspace, &bytes, sizeof bytes), "workspace");
  Heuristic best{};
  int found = 0;
  int status =
      library.getHeuristic(library.handle, desc, layoutA, layoutB, layoutC, layoutC, preference, 1, &best, &found);
  library.preferenceDestroy(preference);
  if (status != 0 || found == 0)
    fail("cuBLASLt has no algorithm for the contraction '{}' [{}] x [{}]", description.name,
         fmt::join(description.dimsA, ", "), fmt::join(description.dimsB, ", "));
  algorithm = best.algorithm;
  workspaceBytes = best.workspaceBytes;
}

Product::Product(const GemmDescription &d, int64_t workspaceBytes) : impl(std::make_unique<Impl>()) {
  impl->description = d;
  const CublasLt &library = impl->library;
  size_t rank = d.dimsC.size();
  int64_t m = d.dimsC[rank - 2], n = d.dimsC[rank - 1], k = d.dimsA[rank - 1];
  BatchDim batch = impl->chooseBatch();
  Operand first = Operand::of(k, n, d.stridesB[rank - 2], d.stridesB[rank - 1]);
  Operand second = Operand::of(m, k, d.stridesA[rank - 2], d.stridesA[rank - 1]);
  Operand result{n, m, m == 1 ? n : d.stridesC[rank - 2], false};
  impl->layoutA = impl->makeLayout(d.typeB.value_or(d.type), first, batch.size, batch.b);
  impl->layoutB = impl->makeLayout(d.type, second, batch.size, batch.a);
  impl->layoutC = impl->makeLayout(d.resultType, result, batch.size, batch.c);

  library.check(library.matmulDescCreate(&impl->desc, compute32F, scaleType32F), "cannot describe a product");
  auto set = [&](int attribute, auto value) {
    library.check(library.matmulDescSetAttribute(impl->desc, attribute, &value, sizeof value), "a product's attribute");
  };
  set(descTransA, first.isTransposed ? operationTranspose : operationNone);
  set(descTransB, second.isTransposed ? operationTranspose : operationNone);
  if (d.bias) {
    set(descEpilogue, epilogueBias);
    set(descBiasType, libraryType(GemmType::F32));
  }
  impl->chooseAlgorithm(workspaceBytes);
}

Product::~Product() = default;
Product::Product(Product &&) noexcept = default;

int64_t Product::calls() const {
  int64_t count = 1;
  for (const BatchDim &loop : impl->loops) count *= loop.size;
  return count;
}

void Product::run(DevicePointer a, DevicePointer b, DevicePointer bias, DevicePointer c, DevicePointer workspace,
                  Stream stream) const {
  const CublasLt &library = impl->library;
  const GemmDescription &d = impl->description;
  const float one = 1, added = d.accumulate ? 1.0f : 0.0f;
  int64_t bytesA = bytesOf(d.type), bytesB = bytesOf(d.typeB.value_or(d.type)), bytesC = bytesOf(d.resultType);
  for (int64_t call = 0; call < calls(); ++call) {
    int64_t rest = call, inA = 0, inB = 0, inC = 0, inBias = 0;
    for (size_t i = impl->loops.size(); i-- > 0;) {
      const BatchDim &loop = impl->loops[i];
      int64_t at = rest % loop.size;
      rest /= loop.size;
      inA += at * loop.a, inB += at * loop.b, inC += at * loop.c, inBias += at * loop.bias;
    }
    if (d.bias) {
      DevicePointer place = bias + inBias * 4;
      library.check(library.matmulDescSetAttribute(impl->desc, descBiasPointer, &place, sizeof place), "bias");
    }
    auto pointer = [](DevicePointer base, int64_t bytes) { return reinterpret_cast<void *>(base + bytes); };
    void *result = pointer(c, inC * bytesC);
    int status = library.matmul(library.handle, impl->desc, &one, pointer(b, inB * bytesB), impl->layoutA,
                                pointer(a, inA * bytesA), impl->layoutB, &added, result, impl->layoutC, result,
                                impl->layoutC, &impl->algorithm, pointer(workspace, 0), impl->workspaceBytes, stream);
    if (status != 0) fail("contraction '{}': cuBLASLt: {}", d.name, library.getStatusString(status));
  }
}

} // namespace tessera::runtime::cuda
