//===- FakeCublasLt.cpp - cuBLASLt for the fake device ----------------------===//
//
// GEMMs are plain loops in f64. What the real library rejects is an error here too: matrices whose sizes do not match,
// unsupported biases, fp8 operands that are not contiguous along the summed axis, operands with less alignment than the
// algorithm was chosen for, and GELU with an auxiliary matrix that is missing or misaligned.
//
// While a stream records, only cublasLtMatmul may be called: in its other functions the real library may allocate
// memory or wait for the device. It also loads the code of an algorithm when it is used for the first time, so a call
// that is recorded must not be the first one.
//
//===----------------------------------------------------------------------===//

#include "tests/codegen/cuda/FakeDevice.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <map>
#include <mutex>
#include <set>
#include <string>
#include <utility>
#include <vector>

using namespace tessera::test;

namespace {
struct FakeDesc {
  int transA = 0, transB = 0, epilogue = 1, biasType = -1, auxType = -1;
  void *bias = nullptr, *aux = nullptr;
  int64_t auxLeading = 0;

  // As cublasLt.h says: CUBLASLT_EPILOGUE_BIAS, _GELU, _DGELU; with an auxiliary matrix, with the gradient of a bias.
  bool hasBias() const { return epilogue & 4; }
  bool isGelu() const { return epilogue & 32; }
  bool isGradient() const { return epilogue & 64; }
  bool hasAux() const { return epilogue & 128; }
  bool hasBiasGradient() const { return epilogue & 16; }
};
/// The conditions of a choice of algorithms: the least alignments of a, b, c and d in bytes.
struct FakePreference {
  uint32_t alignments[4] = {256, 256, 256, 256};
  uint32_t reductions = 7; ///< cublasLtReductionScheme_t, bits
};
/// Has the layout of the library's results: 64 bytes for an algorithm, then its workspace and its rating.
struct FakeHeuristic {
  uint64_t number; ///< from 1
  uint32_t alignments[4];
  uint64_t parts; ///< of the summed axis, which are added in the result's type; 0: it is not split
  uint64_t rest[4];
  size_t workspace;
  int status;
  float waves;
  int reserved[4];
};
constexpr int algorithms = 3;

struct FakeLayout {
  int type;
  int64_t rows, columns, leading, stride = 0;
  int32_t batch = 1;
};

int bytesOf(int type) { return type == 0 ? 4 : type == 14 || type == 2 ? 2 : 1; }

double decodeFp8(unsigned char bits, int mantissa, int bias) {
  int exponent = (bits & 0x7f) >> mantissa, fraction = bits & ((1 << mantissa) - 1);
  double one = 1 << mantissa;
  double magnitude = exponent == 0 ? ldexp(fraction / one, 1 - bias) : ldexp(1 + fraction / one, exponent - bias);
  return bits & 0x80 ? -magnitude : magnitude;
}
double read(const void *base, int type, int64_t i) {
  switch (type) {
  case 0:
    return static_cast<const float *>(base)[i];
  case 14:
    return fromBf16(static_cast<const unsigned short *>(base)[i]);
  case 2:
    return static_cast<double>(static_cast<const _Float16 *>(base)[i]);
  case 28:
    return decodeFp8(static_cast<const unsigned char *>(base)[i], 3, 7);
  default:
    return decodeFp8(static_cast<const unsigned char *>(base)[i], 2, 15);
  }
}
void write(void *base, int type, int64_t i, double number) {
  auto x = static_cast<float>(number);
  if (type == 0) static_cast<float *>(base)[i] = x;
  if (type == 2) static_cast<_Float16 *>(base)[i] = static_cast<_Float16>(x);
  if (type == 14) static_cast<unsigned short *>(base)[i] = toBf16(x);
}
double rounded(int type, double number) {
  float memory = 0;
  write(&memory, type, 0, number);
  return read(&memory, type, 0);
}
/// Whether the library supports a GEMM of these types. fp8 operands must be contiguous along the summed axis, with
/// dimensions that are multiples of 16.
bool isSupported(const FakeDesc &desc, const FakeLayout &a, const FakeLayout &b, const FakeLayout &d) {
  if (bytesOf(a.type) != 1) return true;
  bool areMultiples =
      a.rows % 16 == 0 && d.rows % 16 == 0 && d.columns % 16 == 0 && a.leading % 16 == 0 && b.leading % 16 == 0;
  return desc.transA && !desc.transB && areMultiples && !(a.type == 29 && b.type == 29);
}
/// What a library without epilogues refuses. $FAKE_CUDA_NO_GELU is `gelu`, `gradient` or 1, both; `late` refuses both
/// only when they run.
bool isRefused(const FakeDesc &desc, bool runs) {
  const char *text = getenv("FAKE_CUDA_NO_GELU");
  std::string what = text ? text : "";
  if (what.empty() || !(desc.isGelu() || desc.isGradient())) return false;
  if (what == "late") return runs;
  return what == "1" || what == (desc.isGelu() ? "gelu" : "gradient");
}
/// Whether the library supports an epilogue, with a bias and an auxiliary matrix at these addresses.
bool isEpilogueSupported(const FakeDesc &desc, const FakeLayout &a, const FakeLayout &d, bool runs = false) {
  static const std::set<int> known = {1, 4, 32, 32 | 4, 32 | 128, 32 | 128 | 4, 64 | 128, 64 | 128 | 16};
  if (!known.count(desc.epilogue)) return false;
  bool readsVector = desc.hasBias() || desc.hasBiasGradient();
  if (readsVector && (!desc.bias || desc.biasType != d.type)) return false;
  if (desc.isGelu() || desc.isGradient())
    if (bytesOf(a.type) == 1 || d.batch != 1 || isRefused(desc, runs)) return false;
  if (!desc.hasAux()) return true;
  bool isWhole = desc.aux && reinterpret_cast<uintptr_t>(desc.aux) % 16 == 0;
  bool hasLines = desc.auxLeading % 8 == 0 && desc.auxLeading >= d.rows;
  return isWhole && hasLines && (desc.auxType == -1 || desc.auxType == d.type);
}
constexpr int notNow = 14; ///< CUBLAS_STATUS_INTERNAL_ERROR
/// Whether a stream records.
bool isTooLate(const char *function) {
  if (isCapturing()) fprintf(stderr, "fake cuBLASLt: %s is called while a stream records\n", function);
  return isCapturing();
}
/// Whether the code of an algorithm is loaded; loads it unless the stream records.
bool isLoaded(const FakeDesc &desc, const FakeLayout &a, const FakeLayout &b, const FakeLayout &d, uint64_t number,
              void *stream) {
  static std::set<std::array<uint64_t, 7>> loaded;
  static std::mutex mutex; // ranks may be threads
  std::lock_guard lock(mutex);
  auto word = [](int value) { return static_cast<uint64_t>(value); };
  std::array<uint64_t, 7> code = {
      number, word(a.type), word(b.type), word(d.type), word(desc.transA), word(desc.transB), word(desc.epilogue)};
  if (!isRecording(stream)) loaded.insert(code);
  return loaded.count(code) > 0;
}
/// GELU, and its derivative, in terms of the logistic function.
double logistic(double x) { return 1 / (1 + exp(-1.5957691216057308 * x * (1 + 0.044715 * x * x))); }
double gelu(double x) { return x * logistic(x); }
double geluDerivative(double x) {
  double s = logistic(x);
  return s + x * s * (1 - s) * 1.5957691216057308 * (1 + 3 * 0.044715 * x * x);
}
/// The elements of op(matrix) in one GEMM of a batch, a line for each of its columns. `rows` and `columns` are those of
/// op(matrix).
std::vector<double> elements(const void *base, const FakeLayout &layout, bool transposed, int64_t batch, int64_t rows,
                             int64_t columns) {
  int64_t stepOfRow = transposed ? layout.leading : 1, stepOfColumn = transposed ? 1 : layout.leading;
  std::vector<double> result;
  result.reserve(static_cast<size_t>(rows * columns));
  for (int64_t column = 0; column < columns; ++column)
    for (int64_t row = 0; row < rows; ++row)
      result.push_back(read(base, layout.type, batch * layout.stride + column * stepOfColumn + row * stepOfRow));
  return result;
}
} // namespace

EXPORT const char *cublasLtGetStatusString(int) { return "an error of the fake library"; }
EXPORT int cublasLtCreate(void **handle) {
  if (isTooLate("cublasLtCreate")) return notNow;
  return *handle = nullptr, 0;
}
EXPORT int cublasLtMatmulDescCreate(void **desc, int compute, int scale) {
  if (isTooLate("cublasLtMatmulDescCreate")) return notNow;
  return *desc = new FakeDesc, (compute == 68 || compute == 77) && scale == 0 ? 0 : 7;
}
EXPORT int cublasLtMatmulDescDestroy(void *desc) {
  if (isTooLate("cublasLtMatmulDescDestroy")) return notNow;
  return delete static_cast<FakeDesc *>(desc), 0;
}
EXPORT int cublasLtMatmulDescSetAttribute(void *handle, int attribute, const void *value, size_t bytes) {
  if (isTooLate("cublasLtMatmulDescSetAttribute")) return notNow;
  auto &desc = *static_cast<FakeDesc *>(handle);
  std::map<int, std::pair<void *, size_t>> fields = {
      {3, {&desc.transA, 4}}, {4, {&desc.transB, 4}},      {7, {&desc.epilogue, 4}}, {8, {&desc.bias, 8}},
      {11, {&desc.aux, 8}},   {12, {&desc.auxLeading, 8}}, {22, {&desc.auxType, 4}}, {26, {&desc.biasType, 4}}};
  auto it = fields.find(attribute);
  if (it == fields.end() || it->second.second != bytes) return 7;
  return memcpy(it->second.first, value, bytes), 0;
}
EXPORT int cublasLtMatrixLayoutCreate(void **layout, int type, uint64_t rows, uint64_t columns, int64_t leading) {
  if (isTooLate("cublasLtMatrixLayoutCreate")) return notNow;
  if (leading < static_cast<int64_t>(rows)) return 7;
  *layout = new FakeLayout{type, static_cast<int64_t>(rows), static_cast<int64_t>(columns), leading};
  return 0;
}
EXPORT int cublasLtMatrixLayoutDestroy(void *layout) {
  if (isTooLate("cublasLtMatrixLayoutDestroy")) return notNow;
  return delete static_cast<FakeLayout *>(layout), 0;
}
EXPORT int cublasLtMatrixLayoutSetAttribute(void *handle, int attribute, const void *value, size_t bytes) {
  if (isTooLate("cublasLtMatrixLayoutSetAttribute")) return notNow;
  auto &layout = *static_cast<FakeLayout *>(handle);
  if (attribute == 5 && bytes == 4) return memcpy(&layout.batch, value, 4), 0;
  if (attribute == 6 && bytes == 8) return memcpy(&layout.stride, value, 8), 0;
  return 7;
}
EXPORT int cublasLtMatmulPreferenceCreate(void **preference) {
  if (isTooLate("cublasLtMatmulPreferenceCreate")) return notNow;
  return *preference = new FakePreference, 0;
}
EXPORT int cublasLtMatmulPreferenceDestroy(void *preference) {
  if (isTooLate("cublasLtMatmulPreferenceDestroy")) return notNow;
  return delete static_cast<FakePreference *>(preference), 0;
}
EXPORT int cublasLtMatmulPreferenceSetAttribute(void *handle, int attribute, const void *value, size_t bytes) {
  if (isTooLate("cublasLtMatmulPreferenceSetAttribute")) return notNow;
  if (attribute == 1) return bytes == 8 ? 0 : 7;
  if (attribute == 3 && bytes == 4) return memcpy(&static_cast<FakePreference *>(handle)->reductions, value, 4), 0;
  if (attribute < 5 || attribute > 8 || bytes != 4) return 7;
  return memcpy(&static_cast<FakePreference *>(handle)->alignments[attribute - 5], value, 4), 0;
}
EXPORT int cublasLtMatmulAlgoGetHeuristic(void *, void *descHandle, void *layoutA, void *layoutB, void *, void *layoutD,
                                          void *preference, int wanted, void *results, int *found) {
  if (isTooLate("cublasLtMatmulAlgoGetHeuristic")) return notNow;
  *found = 0;
  if (getenv("FAKE_CUDA_NO_ALGORITHM")) return 15;
  auto &ofA = *static_cast<FakeLayout *>(layoutA), &ofB = *static_cast<FakeLayout *>(layoutB);
  auto &ofD = *static_cast<FakeLayout *>(layoutD);
  auto &desc = *static_cast<FakeDesc *>(descHandle);
  if (!isSupported(desc, ofA, ofB, ofD) || !isEpilogueSupported(desc, ofA, ofD)) return 15;
  for (; *found < wanted && *found < algorithms; ++*found) {
    FakeHeuristic result{};
    result.number = static_cast<uint64_t>(*found) + 1;
    // Parts that are added in a low-precision type need the least memory, so the library likes them.
    uint32_t inResultType = 1 | 4; // CUBLASLT_REDUCTION_SCHEME_INPLACE, _OUTPUT_TYPE
    bool mayRound = (static_cast<FakePreference *>(preference)->reductions & inResultType) != 0;
    result.parts = mayRound && bytesOf(ofD.type) < 4 ? 4 : 0;
    memcpy(result.alignments, static_cast<FakePreference *>(preference)->alignments, sizeof result.alignments);
    memcpy(static_cast<FakeHeuristic *>(results) + *found, &result, sizeof result);
  }
  return 0;
}
EXPORT int cublasLtMatmulAlgoCheck(void *, void *, void *, void *, void *, void *, const void *algorithm,
                                   void *result) {
  if (isTooLate("cublasLtMatmulAlgoCheck")) return notNow;
  FakeHeuristic answer{};
  memcpy(&answer, algorithm, 64);
  memcpy(result, &answer, sizeof answer);
  return answer.number >= 1 && answer.number <= algorithms ? 0 : 15;
}
EXPORT size_t cublasLtGetVersion() { return 130000; }
/// A count of GEMMs, which the real library does not have.
static int gemmCount = 0;
EXPORT int fakeGemmCount() { return gemmCount; }
EXPORT int cublasLtMatmul(void *, void *descHandle, const void *alpha, const void *a, void *layoutA, const void *b,
                          void *layoutB, const void *beta, const void *c, void *layoutC, void *d, void *layoutD,
                          const void *algorithm, void *, size_t, void *stream) {
  FakeDesc desc = *static_cast<FakeDesc *>(descHandle);
  FakeLayout ofA = *static_cast<FakeLayout *>(layoutA), ofB = *static_cast<FakeLayout *>(layoutB),
             ofC = *static_cast<FakeLayout *>(layoutC), ofD = *static_cast<FakeLayout *>(layoutD);
  double one = *static_cast<const float *>(alpha), added = *static_cast<const float *>(beta);
  int64_t rows = ofD.rows, columns = ofD.columns, depth = desc.transA ? ofA.rows : ofA.columns;
  bool fits = (desc.transA ? ofA.columns : ofA.rows) == rows && (desc.transB ? ofB.rows : ofB.columns) == columns &&
              (desc.transB ? ofB.columns : ofB.rows) == depth && ofA.batch == ofD.batch && ofB.batch == ofD.batch;
  auto lastOf = [](const FakeLayout &x) {
    return ((x.batch - 1) * x.stride + (x.columns - 1) * x.leading + x.rows) * bytesOf(x.type);
  };
  auto address = [](const void *x) { return reinterpret_cast<uintptr_t>(x); };
  fits = fits && isOnDevice(address(a), lastOf(ofA)) && isOnDevice(address(b), lastOf(ofB)) &&
         isOnDevice(address(d), lastOf(ofD));
  FakeLayout ofAux = ofD;
  ofAux.leading = desc.auxLeading;
  if (desc.hasAux()) fits = fits && isOnDevice(address(desc.aux), lastOf(ofAux));
  if (desc.hasBias() || desc.hasBiasGradient())
    fits = fits && isOnDevice(address(desc.bias), rows * bytesOf(desc.biasType));
  // The result must not overwrite what the epilogue reads.
  bool isApart = !desc.isGradient() || address(desc.aux) + lastOf(ofAux) <= address(d) ||
                 address(d) + lastOf(ofD) <= address(desc.aux);
  if (!fits || !isApart || !isEpilogueSupported(desc, ofA, ofD, /*runs=*/true)) return 7;
  FakeHeuristic chosen{};
  memcpy(&chosen, algorithm, 64);
  // Accepted, but it does not run.
  if (const char *broken = getenv("FAKE_CUDA_BROKEN_ALGORITHM"))
    if (chosen.number == strtoull(broken, nullptr, 10)) return notNow;
  const void *operands[] = {a, b, c, d};
  for (int i = 0; i < 4; ++i)
    if (chosen.alignments[i] == 0 || address(operands[i]) % chosen.alignments[i] != 0) return 7;
  if (!isLoaded(desc, ofA, ofB, ofD, chosen.number, stream)) {
    fprintf(stderr, "fake cuBLASLt: the first use of an algorithm is recorded\n");
    return notNow;
  }
  ++gemmCount;
  auto parts = static_cast<int64_t>(chosen.parts);
  auto work = [=] {
    auto lines = static_cast<size_t>(rows);
    std::vector<double> sums(lines, 0.0), column(lines), ofParts(lines);
    int64_t depthOfPart = parts ? (depth + parts - 1) / parts : depth;
    for (int64_t batch = 0; batch < ofD.batch; ++batch) {
      std::vector<double> left = elements(a, ofA, desc.transA, batch, rows, depth);
      std::vector<double> right = elements(b, ofB, desc.transB, batch, depth, columns);
      for (int64_t j = 0; j < columns; ++j) {
        // Each element is summed in the order of k. The rows are the inner loop: they do not wait for each other.
        std::fill(column.begin(), column.end(), 0.0);
        std::fill(ofParts.begin(), ofParts.end(), 0.0);
        for (int64_t k = 0; k < depth; ++k) {
          const double *from = left.data() + k * rows;
          double factor = right[static_cast<size_t>(j * depth + k)];
          for (size_t row = 0; row < lines; ++row) column[row] += from[row] * factor;
          if (parts == 0 || (k + 1) % depthOfPart != 0) continue;
          for (size_t row = 0; row < lines; ++row)
            ofParts[row] = rounded(ofD.type, ofParts[row] + rounded(ofD.type, std::exchange(column[row], 0.0)));
        }
        for (int64_t row = 0; row < rows; ++row) {
          auto line = static_cast<size_t>(row);
          double sum = (column[line] + ofParts[line]) * one;
          if (added != 0) sum += added * read(c, ofC.type, batch * ofC.stride + j * ofC.leading + row);
          if (desc.hasBias()) sum += read(desc.bias, desc.biasType, row);
          int64_t beside = j * ofAux.leading + row;
          if (desc.isGelu() && desc.hasAux()) write(desc.aux, ofD.type, beside, sum);
          if (desc.isGelu()) sum = gelu(sum);
          if (desc.isGradient()) sum *= geluDerivative(read(desc.aux, ofD.type, beside));
          sums[line] += sum;
          write(d, ofD.type, batch * ofD.stride + j * ofD.leading + row, sum);
        }
      }
    }
    for (int64_t row = 0; desc.hasBiasGradient() && row < rows; ++row)
      write(desc.bias, desc.biasType, row, sums[static_cast<size_t>(row)]);
    return 0;
  };
  return enqueue(stream, work, "gemm");
}
