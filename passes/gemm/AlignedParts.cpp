//===- AlignedParts.cpp - a GEMM of whole vectors and the rest of it ------===//

#include "passes/gemm/AlignedParts.h"

using namespace tessera;

/// What cuBLASLt's kernels load at a time.
static constexpr int64_t vectorBytes = 16;
/// Operations below which a second call costs more than it gains: on an H200, 2^31 take 20 us at the rate of kernels
/// for unaligned sizes, and 4 us at that of the others.
static constexpr int64_t leastOperations = int64_t(1) << 31;

namespace {
/// Number of a dimension of a matrix among its last two.
enum Place { Rows, Columns };
enum class GemmDim { N, M, K };

/// The place of a dimension in a matrix that has it.
struct Role {
  GemmMatrix ContractionGemm::*matrix;
  Place place;
};
} // namespace

/// The two matrices that have a dimension.
static std::array<Role, 2> rolesOf(GemmDim dim) {
  switch (dim) {
  case GemmDim::N:
    return {Role{&ContractionGemm::b, Columns}, Role{&ContractionGemm::c, Columns}};
  case GemmDim::M:
    return {Role{&ContractionGemm::a, Rows}, Role{&ContractionGemm::c, Rows}};
  case GemmDim::K:
    return {Role{&ContractionGemm::a, Columns}, Role{&ContractionGemm::b, Rows}};
  }
  llvm_unreachable("unknown dimension");
}

static size_t indexOf(const GemmMatrix &matrix, Place place) { return matrix.dims.size() - 2 + place; }

static int64_t vectorOf(const GemmMatrix &matrix) { return vectorBytes / bytesOf(matrix.type); }

/// Elements of a dimension that are left over behind its whole vectors, in the matrices where it is contiguous.
static int64_t restOf(const ContractionGemm &gemm, GemmDim dim) {
  int64_t rest = 0;
  for (Role role : rolesOf(dim)) {
    const GemmMatrix &matrix = gemm.*role.matrix;
    size_t at = indexOf(matrix, role.place);
    if (matrix.strides[at] == 1) rest = std::max(rest, matrix.dims[at] % vectorOf(matrix));
  }
  return rest;
}

/// The elements of a dimension from `begin` to `begin + size`.
static GemmPart partOf(const GemmPart &whole, GemmDim dim, int64_t begin, int64_t size) {
  GemmPart part = whole;
  for (Role role : rolesOf(dim)) {
    GemmMatrix &matrix = part.gemm.*role.matrix;
    size_t at = indexOf(matrix, role.place);
    matrix.dims[at] = size;
    int64_t &offset = role.matrix == &ContractionGemm::a   ? part.a
                      : role.matrix == &ContractionGemm::b ? part.b
                                                           : part.c;
    offset += begin * matrix.strides[at];
  }
  if (dim == GemmDim::N && part.gemm.bias) part.bias += begin * part.gemm.bias->back();
  return part;
}

static bool runsOnMatrixUnits(const ContractionGemm &gemm) { return gemm.a.type != ElementType::F32 || gemm.tf32; }

std::vector<GemmPart> tessera::alignedParts(const ContractionGemm &gemm) {
  std::vector<GemmPart> parts;
  GemmPart main{gemm};
  auto hasAlignedRows = [](const GemmMatrix &matrix) { return unalignedStride(matrix, vectorOf(matrix)) == 0; };
  int64_t operations = 2 * gemm.batch() * gemm.m() * gemm.n() * gemm.k();
  if (operations >= leastOperations && runsOnMatrixUnits(gemm) && !gemm.epilogue && !gemm.hasAux &&
      hasAlignedRows(gemm.a) && hasAlignedRows(gemm.b) && hasAlignedRows(gemm.c))
    for (GemmDim dim : {GemmDim::N, GemmDim::M, GemmDim::K}) {
      int64_t rest = restOf(main.gemm, dim);
      const GemmMatrix &matrix = main.gemm.*rolesOf(dim)[0].matrix;
      int64_t whole = matrix.dims[indexOf(matrix, rolesOf(dim)[0].place)] - rest;
      if (rest == 0 || whole == 0) continue;
      parts.push_back(partOf(main, dim, whole, rest));
      main = partOf(main, dim, 0, whole);
      if (dim != GemmDim::K) continue;
      parts.back().gemm.bias.reset();
      main.gemm.accumulate = true;
    }
  parts.push_back(main);
  return parts;
}
