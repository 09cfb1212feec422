// Contractions with epilogues, computed by the fake library, against plain loops.

#include "runtime/base/Error.h"
#include "runtime/base/Json.h"
#include "runtime/cuda/Contractions.h"
#include "runtime/cuda/GemmSearch.h"
#include "runtime/cuda/Recording.h"
#include "tests/codegen/cuda/FakeDevice.h"
#include "tests/runtime/TemporaryFolder.h"

#include <gtest/gtest.h>

#include <cmath>
#include <cstdlib>
#include <dlfcn.h>
#include <fstream>
#include <functional>
#include <vector>

namespace tessera::tests {

using namespace runtime;
using namespace runtime::cuda;
using test::fromBf16, test::toBf16;

namespace {

constexpr int64_t rows = 3, columns = 16, depth = 5;
constexpr size_t bytesEach = 4096;

double gelu(double x) { return 0.5 * x * (1 + std::tanh(0.7978845608028654 * (x + 0.044715 * x * x * x))); }
/// By finite differences.
double slopeOfGelu(double x) { return (gelu(x + 1e-4) - gelu(x - 1e-4)) / 2e-4; }

GemmSpec describe(ElementType type, GemmEpilogue epilogue, bool hasBias, bool hasAux) {
  GemmSpec d;
  d.name = "mlp";
  d.a.type = d.b.type = d.c.type = d.biasType = type;
  d.a.dims = {rows, depth}, d.a.strides = {depth, 1};
  d.b.dims = {depth, columns}, d.b.strides = {1, depth};
  d.c.dims = {rows, columns}, d.c.strides = {columns, 1};
  if (hasBias) d.bias = {0, 1};
  d.epilogue = epilogue;
  d.hasAux = hasAux;
  return d;
}

class CublasGemmEpilogues : public testing::TestWithParam<ElementType> {
protected:
  void SetUp() override {
    setenv("TESSERA_CUDA_DRIVER", TESSERA_FAKE_CUDA, 1);
    setenv("TESSERA_CUBLASLT", TESSERA_FAKE_CUDA, 1);
    const Driver &driver = Driver::get();
    driver.check(driver.streamCreate(&stream, streamNonBlocking), "a stream");
    DevicePointer *all[] = {&at.a, &at.b, &at.bias, &at.c, &at.aux, &workspace};
    for (DevicePointer *place : all) driver.check(driver.memAlloc(place, bytesEach), "memory");
    allocated = at;
    put(at.a, valuesOf(rows * depth, 7)), put(at.b, valuesOf(columns * depth, 5)), put(at.bias, valuesOf(columns, 3));
    put(at.aux, valuesOf(rows * columns, 11)), put(at.c, std::vector<double>(rows * columns, NAN));
  }
  void TearDown() override {
    const Driver &driver = Driver::get();
    for (DevicePointer place : {allocated.a, allocated.b, allocated.bias, allocated.c, allocated.aux, workspace})
      driver.memFree(place);
    driver.streamDestroy(stream);
  }

  /// Values of both signs that are exact in every type.
  static std::vector<double> valuesOf(int64_t count, int64_t step) {
    std::vector<double> values;
    for (int64_t i = 0; i < count; ++i) values.push_back(static_cast<double>(i * step % 13 - 6) * 0.25);
    return values;
  }
  void put(DevicePointer place, const std::vector<double> &values) {
    std::vector<char> bytes(values.size() * 4);
    for (size_t i = 0; i < values.size(); ++i) write(bytes.data(), i, values[i]);
    const Driver &driver = Driver::get();
    driver.check(driver.memcpyHtoDAsync(place, bytes.data(), values.size() * bytesOf(GetParam()), stream), "put");
    driver.check(driver.streamSynchronize(stream), "put");
  }
  std::vector<double> get(DevicePointer place, int64_t count) {
    std::vector<char> bytes(static_cast<size_t>(count) * 4);
    const Driver &driver = Driver::get();
    driver.check(driver.memcpyDtoHAsync(bytes.data(), place, count * bytesOf(GetParam()), stream), "get");
    driver.check(driver.streamSynchronize(stream), "get");
    std::vector<double> values;
    for (int64_t i = 0; i < count; ++i) values.push_back(read(bytes.data(), i));
    return values;
  }
  static void write(char *bytes, size_t i, double value) {
    if (GetParam() == ElementType::F32) reinterpret_cast<float *>(bytes)[i] = static_cast<float>(value);
    if (GetParam() == ElementType::BF16)
      reinterpret_cast<unsigned short *>(bytes)[i] = toBf16(static_cast<float>(value));
    if (GetParam() == ElementType::F16) reinterpret_cast<_Float16 *>(bytes)[i] = static_cast<_Float16>(value);
  }
  static double read(const char *bytes, int64_t i) {
    if (GetParam() == ElementType::F32) return reinterpret_cast<const float *>(bytes)[i];
    if (GetParam() == ElementType::BF16) return fromBf16(reinterpret_cast<const unsigned short *>(bytes)[i]);
    return static_cast<double>(reinterpret_cast<const _Float16 *>(bytes)[i]);
  }
  void run(const GemmSpec &d) {
    CublasGemm gemm(d, bytesEach);
    gemm.prepare(at);
    gemm.run(at, workspace, stream);
    Driver::get().check(Driver::get().streamSynchronize(stream), "a contraction");
  }
  /// a · b, without a bias.
  static double sumAt(int64_t row, int64_t column) {
    std::vector<double> a = valuesOf(rows * depth, 7), b = valuesOf(columns * depth, 5);
    double sum = 0;
    for (int64_t k = 0; k < depth; ++k) sum += a[row * depth + k] * b[column * depth + k];
    return sum;
  }
  static void expectNear(const std::vector<double> &got, const std::function<double(int64_t, int64_t)> &expected) {
    double tolerance = GetParam() == ElementType::F32 ? 1e-6 : GetParam() == ElementType::F16 ? 1e-3 : 8e-3;
    for (int64_t i = 0; i < static_cast<int64_t>(got.size()); ++i) {
      double want = expected(i / columns, i % columns);
      EXPECT_NEAR(got[i], want, tolerance * (1 + std::abs(want))) << i / columns << ", " << i % columns;
    }
  }
  std::string errorOf(const GemmSpec &d) {
    try {
      run(d);
    } catch (const Error &error) {
      return error.what();
    }
    return "";
  }

  /// A program whose contractions have epilogue kernels.
  static Manifest manifestOf(std::vector<GemmSpec> gemms) {
    Manifest manifest;
    for (GemmSpec &gemm : gemms) gemm.epilogueKernel = 7;
    manifest.gemms = std::move(gemms);
    manifest.arena.workspaceBytes = bytesEach;
    return manifest;
  }
  /// What the preparation of these calls prints.
  std::string prepare(Contractions &contractions, const std::vector<ContractionCall> &calls) {
    testing::internal::CaptureStderr();
    struct Captured { // also if it throws
      std::string &text;
      ~Captured() { text = testing::internal::GetCapturedStderr(); }
    };
    std::string said;
    {
      Captured captured{said};
      contractions.prepare(calls, "GPU", workspace, stream);
      Driver::get().check(Driver::get().streamSynchronize(stream), "contractions");
    }
    return said;
  }

  /// A function of the fake library that the real one does not have.
  template <typename Function> static Function ofFake(const char *name) {
    void *library = dlopen((std::string(TESSERA_FAKE_CUDA) + "/libcublasLt.so.13").c_str(), RTLD_NOW);
    return reinterpret_cast<Function>(dlsym(library, name));
  }

  Stream stream = nullptr;
  GemmAddresses at, allocated;
  DevicePointer workspace = 0;
};

TEST_P(CublasGemmEpilogues, GeluWithAux) {
  run(describe(GetParam(), GemmEpilogue::Gelu, true, true));
  std::vector<double> bias = valuesOf(columns, 3);
  auto sum = [&](int64_t row, int64_t column) { return sumAt(row, column) + bias[column]; };
  expectNear(get(at.aux, rows * columns), sum);
  expectNear(get(at.c, rows * columns), [&](int64_t row, int64_t column) { return gelu(sum(row, column)); });
}

TEST_P(CublasGemmEpilogues, Gelu) {
  std::vector<double> before = get(at.aux, rows * columns);
  run(describe(GetParam(), GemmEpilogue::Gelu, false, false));
  expectNear(get(at.c, rows * columns), [](int64_t row, int64_t column) { return gelu(sumAt(row, column)); });
  EXPECT_EQ(get(at.aux, rows * columns), before);
}

TEST_P(CublasGemmEpilogues, Gradient) {
  std::vector<double> points = valuesOf(rows * columns, 11), bias = get(at.bias, columns);
  auto expected = [&](int64_t row, int64_t column) {
    return sumAt(row, column) * slopeOfGelu(points[row * columns + column]);
  };
  run(describe(GetParam(), GemmEpilogue::GeluGrad, false, true));
  expectNear(get(at.c, rows * columns), expected);
  EXPECT_EQ(get(at.bias, columns), bias);
  run(describe(GetParam(), GemmEpilogue::GeluGrad, true, true));
  expectNear(get(at.bias, columns), [&](int64_t, int64_t column) {
    double sum = 0;
    for (int64_t row = 0; row < rows; ++row) sum += expected(row, column);
    return sum;
  });
}

/// Among others because the auxiliary matrix is misaligned.
TEST_P(CublasGemmEpilogues, RejectedByCublasLt) {
  GemmSpec d = describe(GetParam(), GemmEpilogue::Gelu, false, true);
  EXPECT_EQ(CublasGemm(d, bytesEach).alignmentOf(at)[4] % 16, 0u);
  at.aux += 8;
  EXPECT_EQ(CublasGemm(d, bytesEach).alignmentOf(at)[4], 8u);
  std::string refused = "cuBLASLt has no algorithm for the contraction 'mlp' [3, 5] x [5, 16] followed by GELU";
  EXPECT_EQ(errorOf(d), refused);
  at.aux -= 8;
  EXPECT_EQ(errorOf(d), "");
  d.b.dims[1] = d.c.dims[1] = 12, d.c.strides[0] = 12;
  refused.replace(refused.find("16]"), 2, "12");
  EXPECT_EQ(errorOf(d), refused);
  d.hasAux = false;
  EXPECT_EQ(errorOf(d), "");
  d.epilogue = GemmEpilogue::None;
  EXPECT_EQ(errorOf(d), "");
}

TEST_P(CublasGemmEpilogues, LoopsOverBatchesAreRejected) {
  GemmSpec d = describe(GetParam(), GemmEpilogue::Gelu, false, false);
  for (auto *dims : {&d.a.dims, &d.b.dims, &d.c.dims}) dims->insert(dims->begin(), 2);
  d.a.strides.insert(d.a.strides.begin(), rows * depth), d.b.strides.insert(d.b.strides.begin(), columns * depth);
  d.c.strides.insert(d.c.strides.begin(), rows * columns);
  EXPECT_EQ(errorOf(d), "contraction 'mlp': only contractions without loops over batches may be followed by GELU");
}

/// Its algorithm is chosen, and all that depends on addresses is made, before a stream records.
TEST_P(CublasGemmEpilogues, IsRecordedOnceItIsPrepared) {
  const Driver &driver = Driver::get();
  CublasGemm gemm(describe(GetParam(), GemmEpilogue::Gelu, true, true), bytesEach);
  auto record = [&](const GemmAddresses &operands) {
    Recording graph(stream, "step", /*inOrder=*/false);
    graph.add(gemm.accesses(operands, workspace), [&] { gemm.run(operands, workspace, stream); });
    return graph.finish();
  };
  auto problemOf = [&](const GemmAddresses &operands) -> std::string {
    try {
      driver.graphExecDestroy(record(operands));
    } catch (const Error &error) {
      return error.what();
    }
    return "";
  };
  const char *unprepared = "contraction 'mlp' runs with operands that it was not prepared for";
  EXPECT_EQ(problemOf(at), unprepared);
  gemm.prepare(at);
  gemm.run(at, workspace, stream);
  driver.check(driver.streamSynchronize(stream), "the first run");
  put(at.c, std::vector<double>(rows * columns, NAN));
  GraphExec graph = record(at);
  driver.check(driver.graphLaunch(graph, stream), "a graph");
  driver.check(driver.streamSynchronize(stream), "a graph");
  driver.graphExecDestroy(graph);
  std::vector<double> bias = valuesOf(columns, 3);
  expectNear(get(at.c, rows * columns),
             [&](int64_t row, int64_t column) { return gelu(sumAt(row, column) + bias[column]); });
  GemmAddresses others = at;
  others.bias += 256;
  EXPECT_EQ(problemOf(others), unprepared);
  gemm.prepare(others);
  EXPECT_EQ(problemOf(others), "");
  others = at;
  others.aux += 256;
  EXPECT_EQ(problemOf(others), unprepared);
}

TEST_P(CublasGemmEpilogues, NothingIsAskedWhileAStreamRecords) {
  CublasGemm gemm(describe(GetParam(), GemmEpilogue::None, true, false), bytesEach);
  Recording graph(stream, "step", /*inOrder=*/false);
  EXPECT_THROW(CublasGemm(describe(GetParam(), GemmEpilogue::None, true, false), bytesEach), Error);
  EXPECT_THROW(gemm.prepare(at), Error);
  EXPECT_THROW(gemm.suggest(gemm.alignmentOf(at), 1), Error);
}

/// The parts of a split summed axis are not added in low precision: each sum is rounded once.
TEST_P(CublasGemmEpilogues, PartialSumsAreNotRounded) {
  constexpr int64_t longer = 128;
  GemmSpec d = describe(GetParam(), GemmEpilogue::None, false, false);
  d.a.dims = {1, longer}, d.a.strides = {longer, 1};
  d.b.dims = {longer, 1}, d.b.strides = {1, longer};
  d.c.dims = {1, 1}, d.c.strides = {1, 1};
  // The first part is large, the others are below half of its last place; together they are not.
  std::vector<double> a(longer, 0.0), b(longer, 1.0);
  double last = GetParam() == ElementType::BF16 ? 2 : GetParam() == ElementType::F16 ? 0.25 : 1.0 / 32768;
  a[0] = 256;
  for (int64_t k : {32, 64, 96}) a[k] = 0.4 * last;
  put(at.a, a), put(at.b, b);
  run(d);
  EXPECT_EQ(get(at.c, 1)[0], 256 + last);
}

/// Contractions with different epilogues are searched separately.
TEST_P(CublasGemmEpilogues, HaveTheirOwnSearch) {
  TemporaryFolder folder;
  std::string file = folder / "gemms.json";
  auto search = [&](const GemmSpec &d) {
    std::vector<CublasGemm> products;
    products.emplace_back(d, bytesEach);
    GemmUses uses = {{0, products[0].alignmentOf(at)}};
    return GemmSearch({file}, "GPU").chooseFor(products, uses, workspace, stream);
  };
  GemmSpec kinds[] = {
      describe(GetParam(), GemmEpilogue::None, false, false), describe(GetParam(), GemmEpilogue::Gelu, false, false),
      describe(GetParam(), GemmEpilogue::Gelu, false, true), describe(GetParam(), GemmEpilogue::GeluGrad, false, true)};
  auto gemmCount = ofFake<int (*)()>("fakeGemmCount");
  for (const GemmSpec &d : kinds) {
    int before = gemmCount();
    EXPECT_EQ(search(d), 1);
    EXPECT_GT(gemmCount(), before + 1) << "no algorithms were compared";
  }
  for (const GemmSpec &d : kinds) EXPECT_EQ(search(d), 0);
}

/// What one program has measured another one takes, wherever its operands are, and records as its own.
TEST_P(CublasGemmEpilogues, ShareChoices) {
  TemporaryFolder folder;
  std::string shared = folder / "cache/gemms.json";
  GemmSpec d = describe(GetParam(), GemmEpilogue::None, false, false);
  auto search = [&](const std::string &program, DevicePointer offset) {
    std::vector<CublasGemm> products;
    products.emplace_back(d, bytesEach);
    GemmAddresses moved = at;
    moved.a += offset, moved.b += offset;
    GemmUses uses = {{0, products[0].alignmentOf(moved)}};
    int searched = GemmSearch({program, shared}, "GPU").chooseFor(products, uses, workspace, stream);
    EXPECT_TRUE(products[0].chosen(uses.begin()->second));
    return searched;
  };
  std::string first = folder / "first.json", second = folder / "second.json";
  EXPECT_EQ(search(first, 0), 1);
  EXPECT_EQ(search(second, 64), 0);
  EXPECT_TRUE(std::filesystem::exists(second));
  EXPECT_EQ(search("", 128), 0) << "a program without a file";
  EXPECT_EQ(search(second, 8), 1) << "another alignment";
  std::filesystem::remove_all(folder / "cache");
  EXPECT_EQ(search(second, 8), 0) << "its own file has it";
  EXPECT_EQ(search("", 64), 1);
  EXPECT_EQ(search("", 64), 0) << "the shared file alone has it";
}

/// Sets what the fake library refuses.
struct Refusal {
  explicit Refusal(const char *what) { setenv("FAKE_CUDA_NO_GELU", what, 1); }
  ~Refusal() { unsetenv("FAKE_CUDA_NO_GELU"); }
};

/// An algorithm that the library accepts and then does not run is replaced by the next one, also if it is recorded, or
/// if the choices cannot be recorded.
TEST_P(CublasGemmEpilogues, RunWithAnotherAlgorithm) {
  TemporaryFolder folder;
  for (const std::string &file : {std::string(), folder / "gemms.json", folder / "no such folder/gemms.json"})
    for (GemmEpilogue epilogue : {GemmEpilogue::None, GemmEpilogue::Gelu}) {
      Manifest manifest = manifestOf({describe(GetParam(), epilogue, true, epilogue == GemmEpilogue::Gelu)});
      GemmAlignment alignment{};
      for (const char *broken : {"0", "1"}) { // the first search finds no difference, and records the first algorithm
        setenv("FAKE_CUDA_BROKEN_ALGORITHM", broken, 1);
        Contractions contractions(manifest, {file});
        EXPECT_EQ(prepare(contractions, {{0, at}}), "");
        alignment = contractions.gemm(0).alignmentOf(at);
        ASSERT_TRUE(contractions.gemm(0).chosen(alignment));
        EXPECT_EQ(contractions.gemm(0).chosen(alignment)->data[0], *broken == '1' ? 2u : 1u) << file;
        unsetenv("FAKE_CUDA_BROKEN_ALGORITHM");
      }
    }
}

/// The kernel after the contraction is none of the runtime's: here nothing computes GELU.
TEST_P(CublasGemmEpilogues, AreLeftToAKernelIfRefused) {
  for (const char *refused : {"gelu", "gradient", "1", "late"}) {
    Refusal refusal(refused);
    SCOPED_TRACE(refused);
    bool isGelu = std::string(refused) != "gradient", isGradient = std::string(refused) != "gelu";
    Manifest manifest = manifestOf({describe(GetParam(), GemmEpilogue::Gelu, true, true),
                                    describe(GetParam(), GemmEpilogue::Gelu, true, false),
                                    describe(GetParam(), GemmEpilogue::GeluGrad, true, true)});
    Contractions contractions(manifest, {});
    std::string said = prepare(contractions, {{0, at}, {1, at}, {2, at}});
    EXPECT_EQ(said, "note: cuBLASLt has no algorithm with GELU for the contraction 'mlp'; a kernel computes GELU "
                    "instead, and no action is required\n");
    for (uint32_t i : {0u, 1u, 2u}) EXPECT_EQ(contractions.kernelOf(i).has_value(), i == 2 ? isGradient : isGelu) << i;
  }
}

/// GELU's kernel reads the sums from the auxiliary matrix, or else from the result.
TEST_P(CublasGemmEpilogues, LeaveSumsToAKernel) {
  Refusal refusal("1");
  Manifest manifest = manifestOf({describe(GetParam(), GemmEpilogue::Gelu, true, true),
                                  describe(GetParam(), GemmEpilogue::Gelu, true, false),
                                  describe(GetParam(), GemmEpilogue::GeluGrad, true, true)});
  Contractions contractions(manifest, {});
  prepare(contractions, {{0, at}, {1, at}, {2, at}});
  std::vector<double> bias = get(at.bias, columns), unchanged = valuesOf(rows * columns, 11);
  using Places = std::vector<DevicePointer>;
  const Places places[] = {{at.aux, at.c}, {at.c, at.c}, {at.c, at.aux, at.c, at.bias}};
  for (uint32_t i : {0u, 1u, 2u}) {
    put(at.c, unchanged), put(at.aux, unchanged);
    ContractionCall call{i, at};
    contractions.gemm(i).run(contractions.operandsOf(call), workspace, stream);
    EXPECT_EQ(get(i == 0 ? at.c : at.aux, rows * columns), unchanged);
    expectNear(get(i == 0 ? at.aux : at.c, rows * columns),
               [&](int64_t row, int64_t column) { return sumAt(row, column) + (i == 2 ? 0 : bias[column]); });
    EXPECT_EQ(get(at.bias, columns), bias);
    Places arguments;
    for (void *argument : contractions.kernelArguments(call))
      arguments.push_back(reinterpret_cast<DevicePointer>(argument));
    EXPECT_EQ(arguments, places[i]);
    // Neither the other result nor what only the kernel reads.
    for (const MemoryAccess &access : contractions.gemm(i).accesses(contractions.operandsOf(call), workspace)) {
      EXPECT_NE(access.address, i == 0 ? at.c : at.aux);
      if (i == 2) EXPECT_NE(access.address, at.bias);
    }
  }
}

/// One call whose auxiliary matrix is misaligned decides for all calls of its contraction.
TEST_P(CublasGemmEpilogues, AreLeftToAKernelForAllAlignments) {
  Manifest manifest = manifestOf(
      {describe(GetParam(), GemmEpilogue::Gelu, true, true), describe(GetParam(), GemmEpilogue::Gelu, true, true)});
  GemmAddresses other = at;
  other.aux += 8;
  Contractions contractions(manifest, {});
  EXPECT_NE(prepare(contractions, {{0, at}, {0, other}, {1, at}}), "");
  EXPECT_TRUE(contractions.kernelOf(0));
  EXPECT_FALSE(contractions.kernelOf(1));
  for (const GemmAddresses &operands : {at, other})
    contractions.gemm(0).run(contractions.operandsOf({0, operands}), workspace, stream);
  Driver::get().check(Driver::get().streamSynchronize(stream), "contractions");
  Contractions whole(manifest, {});
  EXPECT_EQ(prepare(whole, {{0, at}, {1, at}}), "");
  EXPECT_FALSE(whole.kernelOf(0));
}

TEST_P(CublasGemmEpilogues, NeedAPlainAlgorithm) {
  Manifest manifest = manifestOf({describe(GetParam(), GemmEpilogue::Gelu, true, true)});
  Contractions contractions(manifest, {});
  setenv("FAKE_CUDA_NO_ALGORITHM", "1", 1);
  std::string problem;
  try {
    prepare(contractions, {{0, at}});
  } catch (const Error &error) {
    problem = error.what();
  }
  unsetenv("FAKE_CUDA_NO_ALGORITHM");
  EXPECT_EQ(problem, "cuBLASLt has no algorithm for the contraction 'mlp' [3, 5] x [5, 16]");
}

/// The recorded choice for one form is not used for the other one.
TEST_P(CublasGemmEpilogues, BothFormsHaveTheirOwnSearch) {
  TemporaryFolder folder;
  std::string file = folder / "gemms.json";
  Manifest manifest = manifestOf({describe(GetParam(), GemmEpilogue::Gelu, true, true)});
  auto countChoices = [&] {
    Contractions contractions(manifest, {file});
    prepare(contractions, {{0, at}});
    std::ifstream in(file);
    return Json::parse(in)["algorithms"].size();
  };
  EXPECT_EQ(countChoices(), 1u);
  {
    Refusal refusal("1");
    EXPECT_EQ(countChoices(), 2u);
    EXPECT_EQ(countChoices(), 2u);
  }
  EXPECT_EQ(countChoices(), 2u);
}

/// Short contractions are measured ten at a time, long ones one at a time.
TEST_P(CublasGemmEpilogues, MeasurementsHaveSeveralRuns) {
  auto gemmCount = ofFake<int (*)()>("fakeGemmCount");
  auto setElapsed = ofFake<void (*)(float)>("fakeSetElapsed");
  GemmSpec d = describe(GetParam(), GemmEpilogue::None, false, false);
  auto runsWith = [&](float milliseconds) {
    TemporaryFolder folder;
    std::vector<CublasGemm> products;
    products.emplace_back(d, bytesEach);
    GemmUses uses = {{0, products[0].alignmentOf(at)}};
    int before = gemmCount();
    setElapsed(milliseconds);
    GemmSearch({folder / "gemms.json"}, "GPU").chooseFor(products, uses, workspace, stream);
    setElapsed(1);
    return gemmCount() - before;
  };
  // Of three algorithms: the first run, one that is timed alone, and three measurements.
  EXPECT_EQ(runsWith(0.01f), 3 * (2 + 3 * 10));
  EXPECT_EQ(runsWith(1), 3 * (2 + 3 * 2));
  EXPECT_EQ(runsWith(50), 3 * (2 + 3 * 1));
}

INSTANTIATE_TEST_SUITE_P(Types, CublasGemmEpilogues,
                         testing::Values(ElementType::F32, ElementType::BF16, ElementType::F16), [](const auto &info) {
                           return info.param == ElementType::F32    ? "f32"
                                  : info.param == ElementType::BF16 ? "bf16"
                                                                    : "fp16";
                         });

} // namespace
} // namespace tessera::tests
