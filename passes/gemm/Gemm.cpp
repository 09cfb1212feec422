//===- Gemm.cpp - contractions as matrix multiplications ------------------===//

#include "passes/gemm/Gemm.h"
#include "passes/analysis/Views.h"
#include "llvm/ADT/STLExtras.h"

using namespace mlir;
using namespace tessera;

/// With fewer multiply-adds, calling a GEMM costs more than the work.
static constexpr int64_t tinyContraction = 2048;

namespace {
/// One dimension with its strides in the tensors that have it; 0 where a tensor lacks it.
struct Dim {
  int64_t size, strideA, strideB, strideC;
};

/// The axes of a contraction by group. M is in operand `a`.
struct AxisGroups {
  SmallVector<Dim> batch, m, n, k;
};
} // namespace

ContractTypes tessera::contractTypes(ContractOp contract) {
  NamedTensorType bias;
  if (contract.getBias()) bias = contract.getBias().getType();
  if (contract.getEpilogue() == Epilogue::GeluGrad && contract.getExtra()) bias = contract.getExtra().getType();
  return {contract.getLhs().getType(), contract.getRhs().getType(), contract.getType(), bias,
          names(contract.getOver())};
}

std::optional<ElementType> tessera::elementTypeOf(Type element) {
  if (element.isF32()) return ElementType::F32;
  if (element.isBF16()) return ElementType::BF16;
  if (element.isF16()) return ElementType::F16;
  if (isa<Float8E4M3FNType>(element)) return ElementType::E4M3;
  if (isa<Float8E5M2Type>(element)) return ElementType::E5M2;
  return std::nullopt;
}

bool tessera::isGemmShaped(const ContractTypes &types) {
  Type lhs = types.lhs.getElementType(), rhs = types.rhs.getElementType(), result = types.result.getElementType();
  bool areFp8 = tessera::isFp8(lhs) && tessera::isFp8(rhs);
  if ((lhs != rhs && !areFp8) || !elementTypeOf(lhs)) return false;
  if (!result.isF32() && (result != lhs || areFp8)) return false;
  auto isFree = [&](NamedTensorType x, NamedTensorType other) {
    return llvm::any_of(x.getAxes(), [&](AxisAttr a) { return !other.hasAxis(a.getName()) && a.getSize() > 1; });
  };
  if (!isFree(types.lhs, types.rhs) || !isFree(types.rhs, types.lhs)) return false;
  int64_t work = types.result.getNumElements();
  for (StringRef name : types.over) work *= types.lhs.getSize(name);
  return work >= tinyContraction;
}

/// Stride of an axis in elements, 0 if the tensor lacks it.
static int64_t strideOf(NamedTensorType type, StringRef name) {
  int64_t at = type.findAxis(name);
  return at < 0 ? 0 : type.getStrides()[at];
}

/// Axes of size 1 are left out, since any stride fits them.
static AxisGroups groupAxes(const ContractTypes &types, NamedTensorType a, NamedTensorType b) {
  AxisGroups groups;
  auto dim = [&](AxisAttr axis) {
    return Dim{axis.getSize(), strideOf(a, axis.getName()), strideOf(b, axis.getName()),
               strideOf(types.result, axis.getName())};
  };
  for (AxisAttr axis : types.result.getAxes()) {
    if (axis.getSize() == 1) continue;
    bool inA = a.hasAxis(axis.getName()), inB = b.hasAxis(axis.getName());
    (inA && inB ? groups.batch : inA ? groups.m : groups.n).push_back(dim(axis));
  }
  for (AxisAttr axis : a.getAxes())
    if (axis.getSize() > 1 && llvm::is_contained(types.over, axis.getName())) groups.k.push_back(dim(axis));
  return groups;
}

/// Whether the strides of `outer` continue those of `inner` in every tensor, so that the two are one dimension.
static bool continues(const Dim &outer, const Dim &inner) {
  return outer.strideA == inner.strideA * inner.size && outer.strideB == inner.strideB * inner.size &&
         outer.strideC == inner.strideC * inner.size;
}

/// Joins dimensions, which are outermost first, from the innermost one outwards. Those that cannot be joined are
/// appended to `rest`.
static Dim collapse(ArrayRef<Dim> dims, SmallVectorImpl<Dim> &rest) {
  if (dims.empty()) return {1, 1, 1, 1};
  Dim joined = dims.back();
  dims = dims.drop_back();
  while (!dims.empty() && continues(dims.back(), joined)) {
    joined.size *= dims.back().size;
    dims = dims.drop_back();
  }
  rest.append(dims.begin(), dims.end());
  return joined;
}

/// Joins adjacent batch dimensions; they are in the order of c.
static SmallVector<Dim> joinAdjacent(ArrayRef<Dim> dims) {
  SmallVector<Dim> joined;
  for (const Dim &dim : dims) {
    if (!joined.empty() && continues(joined.back(), dim)) {
      int64_t size = joined.back().size;
      joined.back() = dim;
      joined.back().size *= size;
    } else {
      joined.push_back(dim);
    }
  }
  return joined;
}

/// Whether `bias` has exactly the axes of N, in their order, without gaps.
static bool variesAlongN(NamedTensorType bias, const ContractTypes &types, NamedTensorType a) {
  SmallVector<AxisAttr> n =
      llvm::filter_to_vector(types.result.getAxes(), [&](AxisAttr x) { return !a.hasAxis(x.getName()); });
  return llvm::equal(n, bias.getAxes()) && bias.getStrides() == bias.withAllocated({}).getStrides();
}

static std::optional<ContractionGemm> describe(const ContractTypes &types, bool swapped) {
  NamedTensorType a = swapped ? types.rhs : types.lhs, b = swapped ? types.lhs : types.rhs;
  AxisGroups groups = groupAxes(types, a, b);
  // The strides of a tensor that lacks an axis are 0, which continue each other.
  SmallVector<Dim> unjoinedN, unjoinedK;
  Dim m = collapse(groups.m, groups.batch);
  Dim n = collapse(groups.n, unjoinedN);
  Dim k = collapse(groups.k, unjoinedK);
  if (!unjoinedK.empty()) return std::nullopt;
  if (types.bias && (!unjoinedN.empty() || !variesAlongN(types.bias, types, a))) return std::nullopt;
  groups.batch.append(unjoinedN);
  if (n.strideC != 1 && n.size != 1) return std::nullopt;
  if (m.strideA != 1 && k.strideA != 1 && m.size != 1 && k.size != 1) return std::nullopt;
  if (k.strideB != 1 && n.strideB != 1 && k.size != 1 && n.size != 1) return std::nullopt;

  llvm::sort(groups.batch, [](const Dim &x, const Dim &y) { return x.strideC > y.strideC; });
  ContractionGemm gemm;
  gemm.swapped = swapped;
  gemm.a.type = *elementTypeOf(a.getElementType()), gemm.b.type = *elementTypeOf(b.getElementType());
  gemm.c.type = *elementTypeOf(types.result.getElementType());
  auto add = [](std::vector<int64_t> &dims, std::vector<int64_t> &strides, int64_t size, int64_t stride) {
    dims.push_back(stride ? size : 1);
    strides.push_back(stride);
  };
  for (const Dim &dim : joinAdjacent(groups.batch)) {
    add(gemm.a.dims, gemm.a.strides, dim.size, dim.strideA);
    add(gemm.b.dims, gemm.b.strides, dim.size, dim.strideB);
    add(gemm.c.dims, gemm.c.strides, dim.size, dim.strideC);
  }
  add(gemm.a.dims, gemm.a.strides, m.size, m.strideA), add(gemm.a.dims, gemm.a.strides, k.size, k.strideA);
  add(gemm.b.dims, gemm.b.strides, k.size, k.strideB), add(gemm.b.dims, gemm.b.strides, n.size, n.strideB);
  add(gemm.c.dims, gemm.c.strides, m.size, m.strideC), add(gemm.c.dims, gemm.c.strides, n.size, n.strideC);
  // A dimension of size 1 may have any stride. Libraries expect the stride of a dense matrix.
  auto densify = [](ArrayRef<int64_t> dims, MutableArrayRef<int64_t> strides) {
    size_t rows = dims.size() - 2, columns = dims.size() - 1;
    if (dims[columns] == 1 && strides[rows] != 1) strides[columns] = 1;
    if (dims[rows] == 1) strides[rows] = std::max(dims[columns] * strides[columns], int64_t(1));
    for (size_t i = rows; i-- > 0;)
      if (dims[i] == 1) strides[i] = std::max(dims[i + 1] * strides[i + 1], int64_t(1));
  };
  densify(gemm.a.dims, gemm.a.strides), densify(gemm.b.dims, gemm.b.strides), densify(gemm.c.dims, gemm.c.strides);
  if (types.bias) {
    gemm.bias.emplace(gemm.c.dims.size(), 0);
    gemm.bias->back() = 1;
    gemm.biasType = *elementTypeOf(types.bias.getElementType());
  }
  return gemm;
}

std::optional<ContractionGemm> tessera::describeGemm(const ContractTypes &types) {
  if (!isGemmShaped(types)) return std::nullopt;
  if (auto gemm = describe(types, false)) return gemm;
  return describe(types, true);
}

std::optional<ContractionGemm> tessera::describeGemm(ContractOp contract) {
  std::optional<ContractionGemm> gemm = describeGemm(contractTypes(contract));
  if (!gemm) return std::nullopt;
  gemm->accumulate = contract.getInit() != nullptr;
  gemm->epilogue = contract.getEpilogue();
  gemm->hasAux = contract.getAux() || (gemm->epilogue == Epilogue::Gelu && contract.getExtra());
  return gemm;
}

int64_t tessera::unalignedStride(const GemmMatrix &matrix, int64_t multiple) {
  int64_t least = 0;
  for (auto [size, stride] : llvm::zip(matrix.dims, matrix.strides))
    if (size > 1 && stride > 1 && stride % multiple != 0 && (least == 0 || stride < least)) least = stride;
  return least;
}

bool tessera::canFuseHorizontally(const ContractionGemm &gemm, FusedGemms::Operand shared) {
  bool isPlain = gemm.batch() == 1 && !gemm.epilogue && !gemm.hasAux;
  return isPlain && !(shared == FusedGemms::B && gemm.bias);
}

std::pair<Value, Value> tessera::gemmOperands(ContractOp contract, const ContractionGemm &gemm) {
  if (gemm.swapped) return {contract.getRhs(), contract.getLhs()};
  return {contract.getLhs(), contract.getRhs()};
}

/// Whether both are the same elements of one buffer, perhaps with other axis names.
static bool isSameStorage(Value x, Value y) { return viewRoot(x) == viewRoot(y) && offsetInRoot(x) == offsetInRoot(y); }

std::optional<FusedGemms> tessera::fusedGemms(ArrayRef<Operation *> contractions) {
  std::optional<ContractionGemm> gemm;
  std::pair<Value, Value> first;
  bool shares[] = {true, true};
  for (Operation *op : contractions) {
    auto contract = dyn_cast<ContractOp>(op);
    std::optional<ContractionGemm> own = contract ? describeGemm(contract) : std::nullopt;
    if (!own || (gemm && *own != *gemm)) return std::nullopt;
    auto [a, b] = gemmOperands(contract, *own);
    if (!gemm) gemm = own, first = {a, b};
    shares[FusedGemms::A] &= isSameStorage(first.first, a);
    shares[FusedGemms::B] &= isSameStorage(first.second, b);
  }
  for (auto shared : {FusedGemms::A, FusedGemms::B})
    if (gemm && shares[shared] && canFuseHorizontally(*gemm, shared))
      return FusedGemms{static_cast<int64_t>(contractions.size()), shared};
  return std::nullopt;
}

bool tessera::mayHaveEpilogue(const ContractTypes &types) {
  // The leading dimension of the auxiliary matrix must be a multiple of this.
  constexpr int64_t multiple = 8;
  std::optional<ContractionGemm> gemm = describeGemm(types);
  return gemm && gemm->c.dims.size() == 2 && !isFp8(gemm->a.type) && gemm->c.type == gemm->a.type &&
         gemm->n() % multiple == 0 && gemm->c.strides.front() % multiple == 0;
}
