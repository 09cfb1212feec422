//===- KernelBenchmark.cpp - speed of generated kernels -------------------===//
//
// codegen-bench: medians over repeated runs, on one thread and on two, and the time to compile forty kernels. This is
// no test, since times depend on the machine's load. With --code it prints the kernels' LLVM IR instead. With a model
// file it compiles that model's kernels.
//
//===----------------------------------------------------------------------===//

#include "KernelCheck.h"
#include "ModelText.h"
#include <algorithm>
#include <chrono>
#include <ctime>
#include <thread>

using namespace tessera;
using namespace tessera::test;

namespace {

bool showCode = false;

double now() { return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count(); }

/// Appends ops with their types to a kernel's body.
struct Body {
  std::string text;
  void op(const std::string &result, const std::string &what) { text += test::op(result, what); }
  void binary(const char *name, const std::string &z, const std::string &a, const std::string &ta, const std::string &b,
              const std::string &tb) {
    op(z, std::string(name) + " " + a + ", " + b + " : (" + T(ta) + ", " + T(tb) + ") -> " +
              T(ta.size() >= tb.size() ? ta : tb));
  }
  void constant(const std::string &name, const char *number) {
    op(name, std::string("constant ") + number + " : f32 -> " + T("[], f32"));
  }
  void reduce(const char *kind, const std::string &z, const std::string &x, const std::string &from, const char *over,
              const std::string &to) {
    op(z, std::string("reduce ") + kind + " " + x + " over [\"" + over + "\"] : " + T(from) + " -> " + T(to));
  }
};

const std::string s = "[], f32";

KernelText geluTanh() {
  std::string x = "[row: 1024, col: 3072], f32";
  Body b;
  b.constant("%half", "0.5"), b.constant("%one", "1.0"), b.constant("%c", "0.044715"), b.constant("%k", "0.7978845608");
  b.binary("mul", "%x2", "%x", x, "%x", x), b.binary("mul", "%x3", "%x2", x, "%x", x),
      b.binary("mul", "%cx", "%x3", x, "%c", s);
  b.binary("add", "%in", "%x", x, "%cx", x), b.binary("mul", "%kin", "%in", x, "%k", s),
      b.op("%t", "tanh %kin : " + T(x));
  b.binary("add", "%t1", "%t", x, "%one", s), b.binary("mul", "%hx", "%x", x, "%half", s),
      b.binary("mul", "%y", "%hx", x, "%t1", x);
  return {{{"x", x}}, "\"row\", \"col\"", "", "col", b.text, {{"%y", x}}};
}

KernelText geluErf() {
  std::string x = "[row: 1024, col: 3072], f32";
  Body b;
  b.constant("%half", "0.5"), b.constant("%one", "1.0"), b.constant("%k", "0.70710678");
  b.binary("mul", "%kx", "%x", x, "%k", s), b.op("%t", "erf %kx : " + T(x)), b.binary("add", "%t1", "%t", x, "%one", s);
  b.binary("mul", "%hx", "%x", x, "%half", s), b.binary("mul", "%y", "%hx", x, "%t1", x);
  return {{{"x", x}}, "\"row\", \"col\"", "", "col", b.text, {{"%y", x}}};
}

KernelText softmax() {
  std::string x = "[row: 256, col: 50257], f32", r = "[row: 256], f32";
  Body b;
  b.reduce("max", "%m", "%x", x, "col", r), b.binary("sub", "%c", "%x", x, "%m", r), b.op("%e", "exp %c : " + T(x));
  b.reduce("sum", "%s", "%e", x, "col", r), b.binary("div", "%y", "%e", x, "%s", r);
  return {{{"x", x}}, "\"row\"", "\"col\"", "col", b.text, {{"%y", x}}};
}

KernelText layerNorm() {
  std::string x = "[row: 256, col: 768], f32", r = "[row: 256], f32", g = "[col: 768], f32";
  Body b;
  b.constant("%n", "0.00130208333"), b.constant("%eps", "1.0e-5"), b.reduce("sum", "%sum", "%x", x, "col", r);
  b.binary("mul", "%mean", "%sum", r, "%n", s), b.binary("sub", "%d", "%x", x, "%mean", r),
      b.binary("mul", "%dd", "%d", x, "%d", x);
  b.reduce("sum", "%v0", "%dd", x, "col", r), b.binary("mul", "%v1", "%v0", r, "%n", s),
      b.binary("add", "%v2", "%v1", r, "%eps", s);
  b.op("%rstd", "rsqrt %v2 : " + T(r)), b.binary("mul", "%h", "%d", x, "%rstd", r);
  b.binary("mul", "%hg", "%h", x, "%g", g), b.binary("add", "%y", "%hg", x, "%b", g);
  return {{{"x", x}, {"g", g}, {"b", g}}, "\"row\"", "\"col\"", "col", b.text, {{"%y", x}, {"%rstd", r}}};
}

KernelText columnSum() {
  std::string x = "[row: 1024, col: 3072], f32", c = "[col: 3072], f32";
  Body b;
  b.reduce("sum", "%y", "%x", x, "row", c);
  return {{{"x", x}}, "\"col\"", "\"row\"", "col", b.text, {{"%y", c}}};
}

KernelText sumOfSquares() {
  std::string x = "[row: 2048, col: 2048], f32";
  Body b;
  b.binary("mul", "%xx", "%x", x, "%x", x);
  b.op("%y", "reduce sum %xx over [\"row\", \"col\"] : " + T(x) + " -> " + T(s));
  return {{{"x", x}}, "", "\"row\", \"col\"", "col", b.text, {{"%y", s}}};
}

/// w, m, v in place; 16 bytes read and 12 written an element.
KernelText adamW() {
  std::string x = "[n: 4194304], f32", flag = "[], i1", bits = "[n: 4194304], i1";
  Body b;
  b.constant("%b1", "0.9"), b.constant("%c1", "0.1"), b.constant("%b2", "0.95"), b.constant("%c2", "0.05"),
      b.constant("%eps", "1.0e-8"), b.constant("%decay", "0.1");
  b.binary("mul", "%m1", "%m", x, "%b1", s), b.binary("mul", "%g1", "%g", x, "%c1", s),
      b.binary("add", "%mn", "%m1", x, "%g1", x);
  b.binary("mul", "%gg", "%g", x, "%g", x), b.binary("mul", "%v1", "%v", x, "%b2", s),
      b.binary("mul", "%g2", "%gg", x, "%c2", s);
  b.binary("add", "%vn", "%v1", x, "%g2", x), b.binary("mul", "%mh", "%mn", x, "%k1", s),
      b.binary("mul", "%vh", "%vn", x, "%k2", s);
  b.op("%root", "sqrt %vh : " + T(x)), b.binary("add", "%den", "%root", x, "%eps", s),
      b.binary("div", "%u", "%mh", x, "%den", x);
  b.binary("mul", "%wd", "%w", x, "%decay", s), b.binary("add", "%u2", "%u", x, "%wd", x),
      b.binary("mul", "%u3", "%u2", x, "%rate", s);
  b.binary("sub", "%wn", "%w", x, "%u3", x);
  std::string select = " : (" + T(flag) + ", " + T(x) + ", " + T(x) + ") -> " + T(x);
  b.op("%w2", "select %ok, %wn, %w" + select), b.op("%m2", "select %ok, %mn, %m" + select),
      b.op("%v2", "select %ok, %vn, %v" + select);
  return {{{"w", x}, {"m", x}, {"v", x}, {"g", x}, {"rate", s}, {"k1", s}, {"k2", s}, {"ok", flag}},
          "\"n\"",
          "",
          "n",
          b.text,
          {{"%w2", x}, {"%m2", x}, {"%v2", x}}};
}

KernelText embeddingGradient() {
  std::string u = "[n: 1024, embed: 768], f32", i = "[n: 1024], i32", y = "[vocab: 50257, embed: 768], f32";
  Body b;
  b.op("%y", "scatter_add %u [[\"vocab\"] = %i] init %a : (" + T(u) + ", " + T(i) + ", " + T(y) + ") -> " + T(y));
  return {{{"u", u}, {"i", i}, {"a", y}}, "\"embed\"", "\"n\"", "embed", b.text, {{"%y", y}}};
}

KernelText dropout() {
  std::string x = "[row: 1024, col: 768], f32", l = "[], i64", c = "[], i32", bits = "[row: 1024, col: 768], i1";
  Body b;
  b.op("%r", "random uniform site 3 seed %s step %c : (" + T(l) + ", " + T(c) + ") -> " + T(x)),
      b.constant("%p", "0.1"), b.constant("%zero", "0.0");
  b.op("%keep", "compare ge %r, %p : (" + T(x) + ", " + T(s) + ") -> " + T(bits));
  b.op("%y", "select %keep, %x, %zero : (" + T(bits) + ", " + T(x) + ", " + T(s) + ") -> " + T(x));
  return {{{"x", x}, {"s", l}, {"c", c}}, "\"row\", \"col\"", "", "col", b.text, {{"%y", x}}};
}

/// Two threads that wait for work, as the runtime's pool does.
void runOnTwoThreads(TsrKernel code, void **addresses, int64_t n) {
  std::thread other([=] { code(addresses, n / 2, n, nullptr); });
  code(addresses, 0, n / 2, nullptr);
  other.join();
}

void bench(const char *name, const KernelText &text, double bytes, std::vector<int> inPlace = {}) {
  LoadedKernels loaded(text.str());
  if (!loaded.errors.empty()) return (void)printf("%s: %s\n", name, loaded.errors.c_str());
  if (showCode) return (void)printf("; %s\n%s\n", name, loaded.llvmText.c_str());
  LoadedKernels::Kernel &kernel = loaded.kernel();
  std::mt19937 random(1);
  std::vector<std::vector<char>> buffers;
  std::vector<void *> addresses;
  auto allocate = [&](mlir::Value value) {
    NamedTensorType type = tensorType(value);
    buffers.emplace_back(type.getNumBytes() + 64);
    char *data = buffers.back().data() + (64 - reinterpret_cast<uintptr_t>(buffers.back().data()) % 64);
    for (int64_t i = 0; i < type.getNumElements() && type.getElementType().isF32(); ++i)
      reinterpret_cast<float *>(data)[i] = float(random() % 1000) * 1e-3f;
    if (type.isScalar() && type.getElementType().isInteger(1)) data[0] = 1;
    for (int64_t i = 0; i < type.getNumElements() && type.getElementType().isInteger(32); ++i)
      reinterpret_cast<int32_t *>(data)[i] = random() % 50257;
    addresses.push_back(data);
  };
  llvm::for_each(kernel.op.getOperands(), allocate);
  for (auto [i, result] : llvm::enumerate(kernel.op.getResults())) {
    if (i < inPlace.size() && inPlace[i] >= 0)
      addresses.push_back(addresses[inPlace[i]]);
    else
      allocate(result);
  }
  int64_t n = kernel.interface.iterations;
  for (int threads : {1, 2}) {
    std::vector<double> times;
    for (int i = 0; i < 21; ++i) {
      double start = now();
      if (threads == 1)
        kernel.code(addresses.data(), 0, n, nullptr);
      else
        runOnTwoThreads(kernel.code, addresses.data(), n);
      times.push_back(now() - start);
    }
    std::sort(times.begin(), times.end());
    printf("%-28s %d threads  %8.3f ms (best %8.3f)  %6.1f GB/s  best %6.1f  [%ld iterations, grain %ld]\n", name,
           threads, times[10] * 1e3, times[0] * 1e3, bytes / times[10] * 1e-9, bytes / times[0] * 1e-9, long(n),
           long(kernel.interface.grain));
  }
}

/// Compiles the kernels of a module. The total is processor time; the stages are measured in wall-clock time.
void benchCompile(const std::string &text) {
  for (int i = 0; i < 3; ++i) {
    std::clock_t start = std::clock();
    LoadedKernels loaded(text);
    double seconds = double(std::clock() - start) / CLOCKS_PER_SEC;
    if (!loaded.errors.empty()) return (void)printf("%s\n", loaded.errors.c_str());
    printf("%zu kernels, %.3f s of processor time with parsing; emit %.3f, translate %.3f, optimize %.3f, generate "
           "%.3f, link %.3f s\n",
           loaded.kernels.size(), seconds, loaded.emitTime, loaded.times.translate, loaded.times.optimize,
           loaded.times.generate, loaded.linkTime);
  }
}

/// Forty distinct kernels: those above with other sizes.
void benchCompileTime() {
  std::string text;
  const KernelText kinds[] = {geluTanh(),  geluErf(),      softmax(), layerNorm(),
                              columnSum(), sumOfSquares(), adamW(),   dropout()};
  int number = 0;
  for (int size = 0; size < 5; ++size)
    for (const KernelText &kind : kinds) {
      std::string one = kind.str("k" + std::to_string(number++));
      for (const char *from : {"768", "3072", "50257", "4194304", "2048"})
        for (size_t at = 0; (at = one.find(from + std::string("]"), at)) != std::string::npos; at += 4)
          one.replace(at, std::string(from).size(), std::to_string(std::stoi(from) + 16 * size));
      text += one;
    }
  benchCompile(text);
}

} // namespace

int main(int argc, char **argv) {
  showCode = argc > 1 && argv[1] == std::string("--code");
  if (argc > 1 && !showCode) return benchCompile(fusedModel(argv[1], {})), 0;
  constexpr double f = 4;
  bench("GELU tanh 1024x3072", geluTanh(), 1024 * 3072 * 2 * f);
  bench("GELU erf 1024x3072", geluErf(), 1024 * 3072 * 2 * f);
  bench("softmax 256x50257", softmax(), 256.0 * 50257 * 2 * f);
  bench("layer norm 256x768", layerNorm(), 256 * 768 * 2 * f);
  bench("column sum 1024x3072", columnSum(), 1024 * 3072 * f);
  bench("sum of squares 2048x2048", sumOfSquares(), 2048 * 2048 * f);
  bench("AdamW 4M", adamW(), 4194304.0 * 7 * f, {0, 1, 2});
  bench("embedding gradient, in place", embeddingGradient(), 1024 * 768 * 3 * f, {2});
  bench("embedding gradient, copied", embeddingGradient(), 50257.0 * 768 * 2 * f);
  bench("dropout 1024x768", dropout(), 1024 * 768 * 2 * f);
  if (!showCode) benchCompileTime();
}
