//===- CublasGemm.cpp - a contraction computed by cuBLASLt ----------------===//
//
// cuBLASLt's matrices are column-major: c [M, N], row-major, is its [N, M]. So b is its first operand and a its
// second:
//
//   cᵀ [N, M] = bᵀ [N, K] · aᵀ [K, M]
//
// cuBLASLt transposes operands in the other order. Batch dimensions with one common stride in all operands are
// merged. The longest of the rest is cuBLASLt's batch; the others are loops over calls.
//
// Addresses of biases and auxiliary matrices are attributes of a description. There is a description for each pair of
// addresses, so that nothing is set while a stream captures.
//
//===----------------------------------------------------------------------===//

#include "runtime/cuda/CublasGemm.h"

#include "runtime/base/Error.h"

#include <numeric>

namespace tessera::runtime::cuda {

namespace {
/// What all buffers of an arena have. A larger alignment would be that of a plan of the memory.
constexpr uint32_t largestAlignment = 64;
/// Suggestions of cuBLASLt that are tried before a contraction counts as not supported.
constexpr int mostTried = 8;

/// cudaDataType_t.
int libraryType(ElementType type) {
  switch (type) {
  case ElementType::F32:
    return 0;
  case ElementType::BF16:
    return 14;
  case ElementType::F16:
    return 2;
  case ElementType::E4M3:
    return 28;
  case ElementType::E5M2:
    return 29;
  case ElementType::F64:
  case ElementType::I32:
  case ElementType::I64:
  case ElementType::I1:
  case ElementType::U8:
    fail("cuBLASLt: contractions of {} are not supported", elementTypeName(type));
  }
  return 0;
}

/// A batch dimension: its size, and the strides of a, b, c and bias along it, in elements.
struct BatchDim {
  int64_t size, a, b, c, bias;
};

/// Whether `outer` continues where `inner` ends, so that both are one dimension.
bool areContiguous(const BatchDim &outer, const BatchDim &inner) {
  return outer.a == inner.a * inner.size && outer.b == inner.b * inner.size && outer.c == inner.c * inner.size &&
         outer.bias == inner.bias * inner.size;
}

/// An operand as cuBLASLt sees it: `columns` columns of `rows` contiguous elements, perhaps to be transposed.
struct Operand {
  int64_t rows, columns, leading;
  bool isTransposed;

  /// From a row-major [outer, inner] with these strides, whose transpose is the operand.
  static Operand of(int64_t outer, int64_t inner, int64_t outerStride, int64_t innerStride) {
    if (innerStride == 1 || inner == 1) return {inner, outer, outer == 1 ? inner : outerStride, false};
    return {outer, inner, innerStride, true};
  }
};
} // namespace

struct CublasGemm::Impl {
  const CublasLt &library = CublasLt::get();
  GemmSpec description;
  /// For questions to the library, whose answers depend on the alignment of addresses only.
  MatmulDesc asking = nullptr;
  /// By the addresses of bias and auxiliary matrix; 0: there is none.
  std::map<std::pair<DevicePointer, DevicePointer>, MatmulDesc> descs;
  bool transposesA = false, transposesB = false; ///< of cuBLASLt's operands
  int64_t leadingOfAux = 0;
  MatrixLayout layoutA = nullptr, layoutB = nullptr,
               layoutC = nullptr; ///< in the order of cuBLASLt's operands: layoutA is that of b
  /// An algorithm and its workspace.
  struct Choice {
    MatmulAlgorithm algorithm;
    size_t workspaceBytes;
  };
  std::map<GemmAlignment, Choice> choices;
  int64_t workspaceLimit = 0;
  std::vector<BatchDim> loops; ///< loops over calls

  ~Impl() {
    if (asking) library.matmulDescDestroy(asking);
    for (auto &[places, desc] : descs) library.matmulDescDestroy(desc);
    for (MatrixLayout layout : {layoutA, layoutB, layoutC})
      if (layout) library.layoutDestroy(layout);
  }
  BatchDim chooseBatch();
  MatrixLayout makeLayout(ElementType type, const Operand &operand, int64_t count, int64_t stride);
  MatmulDesc makeDesc() const;
  /// For each pair of addresses of a bias and an auxiliary matrix.
  void makeDescs(const GemmAddresses &operands);
  /// What cuBLASLt suggests, best first; may be empty.
  std::vector<MatmulHeuristic> ask(const GemmAlignment &alignment, int most) const;
  /// The same; throws an Error if it suggests nothing.
  std::vector<MatmulHeuristic> suggest(const GemmAlignment &alignment, int most) const;
  void setPlaces(MatmulDesc desc, DevicePointer bias, DevicePointer aux) const {
    auto set = [&](int attribute, DevicePointer place, const char *what) {
      library.check(library.matmulDescSetAttribute(desc, attribute, &place, sizeof place), what);
    };
    if (description.bias) set(descBiasPointer, bias, "bias");
    if (description.hasAux) set(descAuxPointer, aux, "auxiliary matrix");
  }

  int64_t calls() const {
    int64_t count = 1;
    for (const BatchDim &loop : loops) count *= loop.size;
    return count;
  }
  GemmAddresses operandsOf(int64_t call, const GemmAddresses &first) const;
  /// The key of `descs`.
  std::pair<DevicePointer, DevicePointer> placesOf(const GemmAddresses &operands) const {
    return {description.bias ? operands.bias : 0, description.hasAux ? operands.aux : 0};
  }
  const Choice &choiceFor(const GemmAlignment &alignment) const {
    auto it = choices.find(alignment);
    if (it == choices.end()) failUnprepared();
    return it->second;
  }
  [[noreturn]] void failUnprepared() const {
    fail("contraction '{}' runs with operands that it was not prepared for", description.name);
  }
};

/// cublasLtEpilogue_t.
int epilogueOf(const GemmSpec &d) {
  switch (d.epilogue) {
  case GemmEpilogue::None:
    return d.bias ? epilogueBias : epilogueDefault;
  case GemmEpilogue::Gelu:
    return epilogueGelu | (d.bias ? epilogueBias : 0) | (d.hasAux ? epilogueAux : 0);
  case GemmEpilogue::GeluGrad:
    return epilogueGeluGradient | epilogueAux | (d.bias ? epilogueBiasGradient : 0);
  }
  return epilogueDefault;
}

/// How the parts of a split summed axis may be added. In place, they are added in the result's type: in low precision
/// that would round each partial sum.
uint32_t allowedReductions(ElementType result) {
  return result == ElementType::F32 ? reductionInPlace | reductionComputeType | reductionOutputType
                                    : reductionComputeType;
}

/// The end of a message about sizes.
const char *describeEpilogue(const GemmSpec &d) {
  if (d.epilogue == GemmEpilogue::None) return "";
  return d.epilogue == GemmEpilogue::Gelu ? " followed by GELU" : " followed by GELU's gradient";
}

/// The batch dimension of one library call; the others become `loops`.
BatchDim CublasGemm::Impl::chooseBatch() {
  const GemmSpec &d = description;
  size_t rank = d.c.dims.size();
  for (size_t i = 0; i + 2 < rank; ++i) {
    if (d.c.dims[i] == 1) continue;
    BatchDim dim{d.c.dims[i], d.a.dims[i] == 1 ? 0 : d.a.strides[i], d.b.dims[i] == 1 ? 0 : d.b.strides[i],
                 d.c.strides[i], 0};
    if (d.bias && d.bias->size() + i >= rank) dim.bias = (*d.bias)[i + d.bias->size() - rank];
    if (!loops.empty() && areContiguous(loops.back(), dim)) {
      dim.size *= loops.back().size;
      loops.back() = dim;
    } else {
      loops.push_back(dim);
    }
  }
  auto longest = loops.end();
  for (auto it = loops.begin(); it != loops.end(); ++it) {
    // A batch of cuBLASLt cannot have different biases.
    if (it->bias == 0 && (longest == loops.end() || it->size > longest->size)) longest = it;
  }
  if (longest == loops.end()) return {1, 0, 0, 0, 0};
  BatchDim batch = *longest;
  loops.erase(longest);
  return batch;
}

MatrixLayout CublasGemm::Impl::makeLayout(ElementType type, const Operand &operand, int64_t count, int64_t stride) {
  MatrixLayout layout = nullptr;
  library.check(library.layoutCreate(&layout, libraryType(type), operand.rows, operand.columns, operand.leading),
                "cannot describe a matrix");
  auto batches = static_cast<int32_t>(count);
  library.check(library.layoutSetAttribute(layout, layoutBatchCount, &batches, sizeof batches), "batch count");
  library.check(library.layoutSetAttribute(layout, layoutBatchStride, &stride, sizeof stride), "batch stride");
  return layout;
}

MatmulDesc CublasGemm::Impl::makeDesc() const {
  const GemmSpec &d = description;
  MatmulDesc desc = nullptr;
  library.check(library.matmulDescCreate(&desc, d.tf32 ? compute32FFastTF32 : compute32F, real32F),
                "cannot describe a GEMM");
  auto set = [&](int attribute, auto value) {
    library.check(library.matmulDescSetAttribute(desc, attribute, &value, sizeof value), "an attribute of a GEMM");
  };
  set(descTransA, transposesA ? operationTranspose : operationNone);
  set(descTransB, transposesB ? operationTranspose : operationNone);
  set(descEpilogue, epilogueOf(d));
  if (d.bias) set(descBiasType, libraryType(d.biasType));
  if (d.hasAux) set(descAuxLeading, leadingOfAux);
  return desc;
}

/// The operands of one library call.
GemmAddresses CublasGemm::Impl::operandsOf(int64_t call, const GemmAddresses &first) const {
  const GemmSpec &d = description;
  int64_t inA = 0, inB = 0, inC = 0, inBias = 0;
  for (size_t i = loops.size(); i-- > 0;) {
    const BatchDim &loop = loops[i];
    int64_t at = call % loop.size;
    call /= loop.size;
    inA += at * loop.a, inB += at * loop.b, inC += at * loop.c, inBias += at * loop.bias;
  }
  auto moved = [](DevicePointer base, int64_t elements, ElementType type) {
    return base + static_cast<DevicePointer>(elements * bytesOf(type));
  };
  return {moved(first.a, inA, d.a.type), moved(first.b, inB, d.b.type), moved(first.bias, inBias, d.biasType),
          moved(first.c, inC, d.c.type), first.aux};
}

std::vector<MatmulHeuristic> CublasGemm::Impl::ask(const GemmAlignment &alignment, int most) const {
  MatmulPreference preference = nullptr;
  library.check(library.preferenceCreate(&preference), "cannot describe a search");
  auto set = [&](int attribute, auto value) {
    library.check(library.preferenceSetAttribute(preference, attribute, &value, sizeof value),
                  "an attribute of a search");
  };
  set(preferenceWorkspace, static_cast<uint64_t>(workspaceLimit));
  set(preferenceReductions, allowedReductions(description.c.type));
  auto [a, b, bias, c, aux] = alignment;
  const uint32_t inLibrary[] = {b, a, c, c};
  for (size_t i = 0; i < std::size(inLibrary); ++i) set(preferenceAlignments[i], inLibrary[i]);
  setPlaces(asking, bias, aux);
  std::vector<MatmulHeuristic> found(static_cast<size_t>(most));
  int count = 0;
  int status = library.getHeuristic(library.handle, asking, layoutA, layoutB, layoutC, layoutC, preference, most,
                                    found.data(), &count);
  library.preferenceDestroy(preference);
  found.resize(status == 0 ? static_cast<size_t>(count) : 0);
  std::erase_if(found, [](const MatmulHeuristic &one) { return one.status != 0; });
  return found;
}

std::vector<MatmulHeuristic> CublasGemm::Impl::suggest(const GemmAlignment &alignment, int most) const {
  std::vector<MatmulHeuristic> found = ask(alignment, most);
  if (found.empty())
    fail("cuBLASLt has no algorithm for the contraction '{}' [{}] x [{}]{}", description.name,
         fmt::join(description.a.dims, ", "), fmt::join(description.b.dims, ", "), describeEpilogue(description));
  return found;
}

CublasGemm::CublasGemm(const GemmSpec &d, int64_t workspaceBytes) : impl(std::make_unique<Impl>()) {
  impl->description = d;
  impl->workspaceLimit = workspaceBytes;
  size_t rank = d.c.dims.size();
  int64_t m = d.c.dims[rank - 2], n = d.c.dims[rank - 1], k = d.a.dims[rank - 1];
  BatchDim batch = impl->chooseBatch();
  Operand first = Operand::of(k, n, d.b.strides[rank - 2], d.b.strides[rank - 1]);
  Operand second = Operand::of(m, k, d.a.strides[rank - 2], d.a.strides[rank - 1]);
  Operand result{n, m, m == 1 ? n : d.c.strides[rank - 2], false};
  impl->layoutA = impl->makeLayout(d.b.type, first, batch.size, batch.b);
  impl->layoutB = impl->makeLayout(d.a.type, second, batch.size, batch.a);
  impl->layoutC = impl->makeLayout(d.c.type, result, batch.size, batch.c);

  impl->transposesA = first.isTransposed, impl->transposesB = second.isTransposed;
  impl->leadingOfAux = result.leading;
  if (d.epilogue != GemmEpilogue::None && (batch.size != 1 || !impl->loops.empty()))
    fail("contraction '{}': only contractions without loops over batches may be followed by GELU", d.name);
  impl->asking = impl->makeDesc();
  if (d.epilogueKernel) return;
  // Contractions that are rejected for any alignment are rejected here.
  GemmAlignment best;
  best.fill(largestAlignment);
  impl->suggest(best, 1);
}

CublasGemm::~CublasGemm() = default;
CublasGemm::CublasGemm(CublasGemm &&) noexcept = default;
CublasGemm &CublasGemm::operator=(CublasGemm &&) noexcept = default;

void CublasGemm::Impl::makeDescs(const GemmAddresses &operands) {
  for (int64_t call = 0; call < calls(); ++call) {
    std::pair places = placesOf(operandsOf(call, operands));
    if (descs.count(places)) continue;
    MatmulDesc desc = makeDesc();
    descs.emplace(places, desc);
    setPlaces(desc, places.first, places.second);
  }
}

bool CublasGemm::findAlgorithm(const GemmAddresses &operands, DevicePointer workspace, Stream stream) {
  GemmAlignment alignment = alignmentOf(operands);
  impl->makeDescs(operands);
  for (const MatmulHeuristic &found : impl->ask(alignment, mostTried)) {
    impl->choices[alignment] = {found.algorithm, found.workspaceBytes};
    try {
      run(operands, workspace, stream);
      return true;
    } catch (const Error &) { // the next one may run
    }
  }
  forget(alignment);
  return false;
}

void CublasGemm::prepare(const GemmAddresses &operands) {
  impl->makeDescs(operands);
  GemmAlignment alignment = alignmentOf(operands);
  if (impl->choices.count(alignment)) return;
  MatmulHeuristic best = impl->suggest(alignment, 1).front();
  impl->choices[alignment] = {best.algorithm, best.workspaceBytes};
}

std::optional<MatmulAlgorithm> CublasGemm::chosen(const GemmAlignment &alignment) const {
  auto it = impl->choices.find(alignment);
  if (it == impl->choices.end()) return std::nullopt;
  return it->second.algorithm;
}

void CublasGemm::forget(const GemmAlignment &alignment) { impl->choices.erase(alignment); }

int64_t CublasGemm::calls() const { return impl->calls(); }

const GemmSpec &CublasGemm::description() const { return impl->description; }

GemmAlignment CublasGemm::alignmentOf(const GemmAddresses &operands) const {
  const GemmSpec &d = impl->description;
  int64_t bytesA = bytesOf(d.a.type), bytesB = bytesOf(d.b.type), bytesC = bytesOf(d.c.type);
  std::array<uint64_t, 5> divisors = {operands.a, operands.b, d.bias ? operands.bias : 0, operands.c,
                                      d.hasAux ? operands.aux : 0};
  for (const BatchDim &loop : impl->loops) {
    const int64_t steps[] = {loop.a * bytesA, loop.b * bytesB, loop.bias * bytesOf(d.biasType), loop.c * bytesC};
    for (size_t i = 0; i < std::size(steps); ++i)
      divisors[i] = std::gcd(divisors[i], static_cast<uint64_t>(std::abs(steps[i])));
  }
  GemmAlignment result;
  for (size_t i = 0; i < divisors.size(); ++i)
    result[i] = static_cast<uint32_t>(std::gcd(divisors[i], uint64_t(largestAlignment)));
  return result;
}

std::vector<MatmulAlgorithm> CublasGemm::suggest(const GemmAlignment &alignment, int most) const {
  std::vector<MatmulAlgorithm> algorithms;
  for (const MatmulHeuristic &found : impl->suggest(alignment, most)) algorithms.push_back(found.algorithm);
  return algorithms;
}

bool CublasGemm::choose(const GemmAlignment &alignment, const MatmulAlgorithm &algorithm) {
  MatmulHeuristic answer{};
  impl->setPlaces(impl->asking, alignment[2], alignment[4]);
  int status = impl->library.checkAlgorithm(impl->library.handle, impl->asking, impl->layoutA, impl->layoutB,
                                            impl->layoutC, impl->layoutC, &algorithm, &answer);
  if (status != 0 || answer.workspaceBytes > static_cast<size_t>(impl->workspaceLimit)) return false;
  impl->choices[alignment] = {algorithm, answer.workspaceBytes};
  return true;
}

/// Bytes from the first element of a tensor to its last. `dims` may be longer than `strides`, which belong to the
/// last ones.
static int64_t extentOf(const std::vector<int64_t> &dims, const std::vector<int64_t> &strides, ElementType type) {
  int64_t last = 0;
  for (size_t i = 0; i < strides.size(); ++i) last += (dims[i + dims.size() - strides.size()] - 1) * strides[i];
  return (last + 1) * bytesOf(type);
}

std::vector<MemoryAccess> CublasGemm::accesses(const GemmAddresses &operands, DevicePointer workspace) const {
  const GemmSpec &d = impl->description;
  auto needed = static_cast<int64_t>(impl->choiceFor(alignmentOf(operands)).workspaceBytes);
  std::vector<MemoryAccess> result = {{operands.a, extentOf(d.a.dims, d.a.strides, d.a.type), false},
                                      {operands.b, extentOf(d.b.dims, d.b.strides, d.b.type), false},
                                      {operands.c, extentOf(d.c.dims, d.c.strides, d.c.type), true},
                                      {workspace, needed, true}};
  if (d.bias)
    result.push_back({operands.bias, extentOf(d.c.dims, *d.bias, d.biasType), d.epilogue == GemmEpilogue::GeluGrad});
  if (d.hasAux)
    result.push_back({operands.aux, extentOf(d.c.dims, d.c.strides, d.c.type), d.epilogue == GemmEpilogue::Gelu});
  return result;
}

void CublasGemm::run(const GemmAddresses &operands, DevicePointer workspace, Stream stream) const {
  const CublasLt &library = impl->library;
  const GemmSpec &d = impl->description;
  const Impl::Choice &choice = impl->choiceFor(alignmentOf(operands));
  const float one = 1, added = d.accumulate ? 1.0f : 0.0f;
  auto pointer = [](DevicePointer place) { return reinterpret_cast<void *>(place); };
  for (int64_t call = 0; call < calls(); ++call) {
    GemmAddresses at = impl->operandsOf(call, operands);
    auto desc = impl->descs.find(impl->placesOf(at));
    if (desc == impl->descs.end()) impl->failUnprepared();
    int status = library.matmul(library.handle, desc->second, &one, pointer(at.b), impl->layoutA, pointer(at.a),
                                impl->layoutB, &added, pointer(at.c), impl->layoutC, pointer(at.c), impl->layoutC,
                                &choice.algorithm, pointer(workspace), choice.workspaceBytes, stream);
    if (status != 0) fail("contraction '{}': cuBLASLt: {}", d.name, library.getStatusString(status));
  }
}

} // namespace tessera::runtime::cuda
