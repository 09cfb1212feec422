//===- ContractionBenchmark.cpp - throughput of contractions and of oneDNN ===//
//
// contraction-bench [--from-memory] [--bf16 | --fp8] [--to-f32] [BATCH M N K LAYOUT]...
//   Prints the throughput of the generated code and of oneDNN for each contraction: medians of interleaved
//   measurements, with as many threads as OMP_NUM_THREADS says. LAYOUT is NN, NT, TN or TT, with T for a transposed
//   operand. `best` is oneDNN's fastest layout. Without contractions: those of GPT-2 124M, cubes, and small ones.
//     --from-memory   operands come from memory, as for the table below
//     --bf16          operands and result are bf16
//     --fp8           operands are e4m3 and the result is f32, compared with oneDNN's bf16
//     --to-f32        the result is f32
//
// contraction-bench --table [FIRST]
//   Prints the rows of passes/gemm/SpeedsAmd.inc or SpeedsIntel.inc, from row FIRST on, counted from 0. Large operands
//   come from memory, as in a training step, where other kernels run between the one that writes a tensor and the one
//   that reads it.
//
//===----------------------------------------------------------------------===//

#include "ContractionHarness.h"
#include "runtime/machine/OnednnGemm.h"
#include "runtime/machine/Threads.h"
#include <algorithm>
#include <chrono>
#include <cmath>
#include <sys/mman.h>

using namespace tessera;
using namespace tessera::test;

namespace {

double now() { return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count(); }

/// Memory like the arena's: huge pages, already mapped.
class Memory {
public:
  explicit Memory(int64_t floats) : bytes((floats * 4 + (4 << 20)) >> 21 << 21) {
    address = mmap(nullptr, bytes + (2 << 20), PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    data = reinterpret_cast<float *>((reinterpret_cast<uintptr_t>(address) + (2 << 20) - 1) >> 21 << 21);
    madvise(data, bytes, MADV_HUGEPAGE);
    for (int64_t i = 0; i < floats; ++i) data[i] = static_cast<float>(i * 7 % 13 - 6);
  }
  ~Memory() { munmap(address, bytes + (2 << 20)); }
  float *data;

private:
  int64_t bytes;
  void *address;
};

struct Case {
  int64_t batch, m, n, k;
  std::string layout;
  ElementType type = ElementType::F32, resultType = ElementType::F32;

  ContractionGemm gemm(bool transposedA, bool transposedB) const {
    ContractionGemm result = denseGemm(batch, m, n, k, transposedA, transposedB);
    result.a.type = result.b.type = type, result.c.type = resultType;
    return result;
  }
  /// Bytes of an element. Memory suffices for oneDNN too, which multiplies bf16 instead of fp8.
  int64_t operandBytes() const { return std::max<int64_t>(2, bytesOf(type)); }
};

/// Operands and result of a contraction. Large ones have so many sets that no set is in a cache when it is used again.
class Operands {
public:
  Operands(const Case &c, bool fromMemory)
      : sizes{c.batch * c.m * c.k * c.operandBytes() / 4, c.batch * c.k * c.n * c.operandBytes() / 4,
              c.batch * c.m * c.n},
        sets(countOf(fromMemory)), memory(sets * (sizes[0] + sizes[1] + sizes[2] + 3 * gap)) {}

  /// a, b, no bias, c.
  void **next() {
    float *start = memory.data + uses++ % sets * (sizes[0] + sizes[1] + sizes[2] + 3 * gap);
    args[0] = start, args[1] = start + sizes[0] + gap, args[3] = start + sizes[0] + sizes[1] + 2 * gap;
    return args;
  }

private:
  int64_t countOf(bool fromMemory) const {
    constexpr int64_t large = 1 << 20, caches = 64 << 20; // bytes
    int64_t bytes = 4 * (sizes[0] + sizes[1] + sizes[2]);
    return fromMemory && bytes >= large ? std::max<int64_t>(caches / bytes, 1) + 1 : 1;
  }

  static constexpr int64_t gap = 64; // as the sizes, in units of four bytes
  int64_t sizes[3], sets, uses = 0;
  Memory memory;
  void *args[4] = {};
};

runtime::GemmSpec forOneDnn(const ContractionGemm &d) {
  runtime::GemmSpec result;
  result.a.dims = d.a.dims, result.a.strides = d.a.strides;
  result.b.dims = d.b.dims, result.b.strides = d.b.strides;
  result.c.dims = d.c.dims, result.c.strides = d.c.strides;
  auto type = [](ElementType t) { return t == ElementType::F32 ? ElementType::F32 : ElementType::BF16; };
  result.a.type = result.b.type = type(d.a.type), result.c.type = type(d.c.type);
  return result;
}

template <typename Run> void timeCalls(std::vector<double> &seconds, double flops, Run run) {
  int calls = std::max<int>(1, 2e8 / flops);
  double start = now();
  for (int i = 0; i < calls; ++i) run();
  seconds.push_back((now() - start) / calls);
}

double median(std::vector<double> values) {
  std::sort(values.begin(), values.end());
  return values[values.size() / 2];
}

/// GFLOP/s of the generated code, of oneDNN, and of oneDNN in its fastest layout.
struct Throughputs {
  double generated = 0, oneDnn = 0, best = 0;
};

Throughputs measure(const Case &c, runtime::Threads &threads, bool allLayouts, bool fromMemory) {
  double flops = 2.0 * c.batch * c.m * c.n * c.k;
  Operands operands(c, fromMemory);
  CompiledContraction compiled(c.gemm(c.layout[0] == 'T', c.layout[1] == 'T'));
  if (!compiled.error.empty()) {
    fprintf(stderr, "%s\n", compiled.error.c_str());
    exit(1);
  }
  Memory scratch(threads.count() * compiled.interface.scratchBytes / 4 + 64);
  int same = (c.layout[0] == 'T' ? 2 : 0) + (c.layout[1] == 'T' ? 1 : 0);
  std::vector<double> times, oneDnn[4];
  std::vector<std::pair<int, runtime::OnednnGemm>> gemms;
  int64_t workspaceBytes = 0;
  for (int i = 0; i < 4; ++i) {
    if (!allLayouts && i != same) continue;
    gemms.emplace_back(i, forOneDnn(c.gemm(i & 2, i & 1)));
    workspaceBytes = std::max(workspaceBytes, gemms.back().second.scratchBytes());
  }
  Memory workspace(workspaceBytes / 4 + 64);
  const WorkSharing &sharing = compiled.interface;
  int rounds = std::clamp<int>(4e11 / 5 / flops, 7, 25);
  for (int round = 0; round < rounds; ++round) {
    timeCalls(times, flops, [&] {
      threads.parallelFor(compiled.code, operands.next(), sharing.iterations, sharing.grain, sharing.stealGrain,
                          {reinterpret_cast<char *>(scratch.data), sharing.scratchBytes});
    });
    for (auto &[i, gemm] : gemms)
      timeCalls(oneDnn[i], flops, [&] {
        void **set = operands.next();
        gemm.run(set[0], set[1], nullptr, set[3], workspace.data);
      });
  }
  double best = median(oneDnn[same]);
  for (auto &list : oneDnn)
    if (!list.empty()) best = std::min(best, median(list));
  return {flops / median(times) / 1e9, flops / median(oneDnn[same]) / 1e9, flops / best / 1e9};
}

void report(const Case &c, runtime::Threads &threads, bool fromMemory) {
  Throughputs r = measure(c, threads, true, fromMemory);
  printf("%4ld x %5ld %5ld %5ld %s  generated %4.0f  oneDNN %4.0f  best %4.0f GFLOP/s   ratio %.2f  to best %.2f\n",
         c.batch, c.m, c.n, c.k, c.layout.c_str(), r.generated, r.oneDnn, r.best, r.generated / r.oneDnn,
         r.generated / r.best);
}

/// The contractions of a transformer's layer: forward pass, gradients of activations and of weights.
void addLayer(std::vector<Case> &cases, int64_t tokens, int64_t width, int64_t wide) {
  for (const char *layout : {"NN", "NT", "TN"}) {
    bool ofWeights = layout[0] == 'T';
    cases.push_back(ofWeights ? Case{1, width, wide, tokens, layout} : Case{1, tokens, wide, width, layout});
    if (width != wide)
      cases.push_back(ofWeights ? Case{1, wide, width, tokens, layout} : Case{1, tokens, width, wide, layout});
  }
}

/// Sizes that differ by factors of four, long ones along each of the three axes, and those in transformers.
void printTable(runtime::Threads &threads, size_t first) {
  std::vector<Case> cases;
  for (const char *layout : {"NN", "NT", "TN", "TT"}) {
    for (int64_t m : {16, 64, 256, 1024})
      for (int64_t n : {16, 64, 256, 1024})
        for (int64_t k : {16, 64, 256, 1024}) cases.push_back({1, m, n, k, layout});
    for (int64_t size : {256, 1024}) {
      cases.push_back({1, 32768, size, size, layout});
      cases.push_back({1, size, 32768, size, layout});
      cases.push_back({1, size, size, 32768, layout});
    }
    for (int64_t rows : {256, 1024})
      for (auto [width, wide] : {std::pair<int64_t, int64_t>{768, 768}, {768, 3072}, {768, 50257}, {384, 1536}}) {
        cases.push_back({1, rows, wide, width, layout});
        cases.push_back({1, rows, width, wide, layout});
        cases.push_back({1, width, wide, rows, layout});
        cases.push_back({1, wide, width, rows, layout});
      }
    for (int64_t m : {16, 64, 256, 1024})
      for (int64_t k : {16, 64}) {
        cases.push_back({32, m, m, k, layout});
        cases.push_back({32, m, k, m, layout});
      }
  }
  for (int64_t width : {128, 256, 384, 512})
    for (int64_t wide : {width, 4 * width}) addLayer(cases, 4096, width, wide);
  // A library may be slow where rows are of some length: GPT-2's are among them.
  for (int64_t tokens : {2048, 8192})
    for (int64_t width : {768, 1024})
      for (int64_t wide : {width, 4 * width}) addLayer(cases, tokens, width, wide);
  cases.erase(cases.begin(), cases.begin() + std::min(first, cases.size()));
  // Twice, minutes apart: a shared machine may be slow for some seconds.
  std::vector<Throughputs> best(cases.size());
  for (int pass = 0; pass < 2; ++pass)
    for (size_t i = 0; i < cases.size(); ++i) {
      Throughputs r = measure(cases[i], threads, false, true);
      best[i] = {std::max(best[i].generated, r.generated), std::max(best[i].oneDnn, r.oneDnn), 0};
    }
  for (size_t i = 0; i < cases.size(); ++i) {
    const Case &c = cases[i];
    printf("{%ld, %ld, %ld, %ld, %d, %d, %.0f, %.0f},\n", c.batch, c.m, c.n, c.k, c.layout[0] == 'T',
           c.layout[1] == 'T', best[i].generated, best[i].oneDnn);
  }
}

} // namespace

int main(int argc, char **argv) {
  std::vector<Case> cases;
  bool fromMemory = false, toF32 = false;
  ElementType type = ElementType::F32;
  int next = 1;
  for (; next < argc && argv[next][0] == '-' && std::string(argv[next]) != "--table"; ++next) {
    std::string option = argv[next];
    fromMemory |= option == "--from-memory", toF32 |= option == "--to-f32";
    if (option == "--bf16") type = ElementType::BF16;
    if (option == "--fp8") type = ElementType::E4M3, toF32 = true;
  }
  for (int i = next; i + 4 < argc; i += 5)
    cases.push_back({atol(argv[i]), atol(argv[i + 1]), atol(argv[i + 2]), atol(argv[i + 3]), argv[i + 4]});
  if (cases.empty())
    cases = {{1, 1024, 1024, 1024, "NN"}, {1, 2048, 2048, 2048, "NN"}, {1, 4096, 4096, 4096, "NT"},
             {1, 256, 3072, 768, "NN"},   {1, 256, 3072, 768, "NT"},   {1, 256, 768, 3072, "NN"},
             {1, 256, 768, 768, "NT"},    {1, 256, 768, 768, "NN"},    {1, 768, 3072, 256, "TN"},
             {1, 768, 768, 256, "TN"},    {1, 256, 768, 50257, "NN"},  {1, 50257, 768, 256, "TN"},
             {1, 256, 50257, 768, "NT"},  {1, 1024, 3072, 768, "NN"},  {1, 768, 3072, 1024, "TN"},
             {1, 64, 64, 64, "NN"},       {1, 32, 32, 32, "NN"},       {1, 16, 16, 16, "NN"},
             {1, 48, 48, 48, "NT"},       {48, 64, 64, 64, "NT"},      {48, 64, 64, 64, "NN"},
             {1, 32, 128, 64, "NN"},      {1, 32, 10, 128, "NN"},      {1, 64, 128, 32, "TN"}};
  const char *wanted = getenv("OMP_NUM_THREADS");
  runtime::Threads threads(wanted ? atoi(wanted) : 2);
  if (argc > 1 && std::string(argv[1]) == "--table") {
    printTable(threads, argc > 2 ? atoi(argv[2]) : 0);
    return 0;
  }
  for (Case &c : cases) {
    c.type = type, c.resultType = toF32 ? ElementType::F32 : type;
    report(c, threads, fromMemory);
  }
  return 0;
}
