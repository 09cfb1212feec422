//===- CpuFeatures.cpp - checks the processor's instruction sets ----------===//
//
// Uses CPUID (Intel, "Software Developer's Manual", volume 2A; AMD, "Architecture Programmer's Manual", volume 3,
// appendix E): the list in /proc/cpuinfo lacks features that are newer than the kernel. XCR0 says whether the system
// saves the registers that a feature needs.
//
//===----------------------------------------------------------------------===//

#include "runtime/machine/CpuFeatures.h"

#include <algorithm>

#ifdef __x86_64__
#include <cpuid.h>
#include <sys/syscall.h>
#include <unistd.h>
#endif

namespace tessera::runtime {

#ifdef __x86_64__

namespace {
enum Register { EAX, EBX, ECX, EDX };

/// Register states, as bits of XCR0.
enum State : unsigned { Sse = 0x2, Avx = 0x6, Avx512 = 0xe6, Tiles = 0x60000 };

struct Feature {
  const char *name; ///< LLVM's
  unsigned leaf, subleaf;
  Register reg;
  unsigned bit;
  State state;
};
} // namespace

/// All features that generated code may use.
static constexpr Feature known[] = {
    {"sse", 1, 0, EDX, 25, Sse},
    {"sse2", 1, 0, EDX, 26, Sse},
    {"sse3", 1, 0, ECX, 0, Sse},
    {"pclmul", 1, 0, ECX, 1, Sse},
    {"ssse3", 1, 0, ECX, 9, Sse},
    {"fma", 1, 0, ECX, 12, Avx},
    {"sse4.1", 1, 0, ECX, 19, Sse},
    {"sse4.2", 1, 0, ECX, 20, Sse},
    {"movbe", 1, 0, ECX, 22, Sse},
    {"popcnt", 1, 0, ECX, 23, Sse},
    {"aes", 1, 0, ECX, 25, Sse},
    {"avx", 1, 0, ECX, 28, Avx},
    {"f16c", 1, 0, ECX, 29, Avx},
    {"bmi", 7, 0, EBX, 3, Sse},
    {"avx2", 7, 0, EBX, 5, Avx},
    {"bmi2", 7, 0, EBX, 8, Sse},
    {"avx512f", 7, 0, EBX, 16, Avx512},
    {"avx512dq", 7, 0, EBX, 17, Avx512},
    {"adx", 7, 0, EBX, 19, Sse},
    {"avx512ifma", 7, 0, EBX, 21, Avx512},
    {"avx512cd", 7, 0, EBX, 28, Avx512},
    {"sha", 7, 0, EBX, 29, Sse},
    {"avx512bw", 7, 0, EBX, 30, Avx512},
    {"avx512vl", 7, 0, EBX, 31, Avx512},
    {"avx512vbmi", 7, 0, ECX, 1, Avx512},
    {"avx512vbmi2", 7, 0, ECX, 6, Avx512},
    {"gfni", 7, 0, ECX, 8, Sse},
    {"vaes", 7, 0, ECX, 9, Avx},
    {"vpclmulqdq", 7, 0, ECX, 10, Avx},
    {"avx512vnni", 7, 0, ECX, 11, Avx512},
    {"avx512bitalg", 7, 0, ECX, 12, Avx512},
    {"avx512vpopcntdq", 7, 0, ECX, 14, Avx512},
    {"avx512vp2intersect", 7, 0, EDX, 8, Avx512},
    {"amx-bf16", 7, 0, EDX, 22, Tiles},
    {"avx512fp16", 7, 0, EDX, 23, Avx512},
    {"amx-tile", 7, 0, EDX, 24, Tiles},
    {"amx-int8", 7, 0, EDX, 25, Tiles},
    {"sha512", 7, 1, EAX, 0, Avx},
    {"avxvnni", 7, 1, EAX, 4, Avx},
    {"avx512bf16", 7, 1, EAX, 5, Avx512},
    {"amx-fp16", 7, 1, EAX, 21, Tiles},
    {"avxifma", 7, 1, EAX, 23, Avx},
    {"avxvnniint8", 7, 1, EDX, 4, Avx},
    {"avxneconvert", 7, 1, EDX, 5, Avx},
    {"amx-complex", 7, 1, EDX, 8, Tiles},
    {"avxvnniint16", 7, 1, EDX, 10, Avx},
    {"avx10.1", 7, 1, EDX, 19, Avx512},
    {"lzcnt", 0x80000001, 0, ECX, 5, Sse},
    {"sse4a", 0x80000001, 0, ECX, 6, Sse},
    {"sse-unaligned-mem", 0x80000001, 0, ECX, 7, Sse},
    {"fma4", 0x80000001, 0, ECX, 16, Avx},
};

/// A register of a CPUID leaf; 0 if the processor lacks the leaf.
static unsigned ask(unsigned leaf, unsigned subleaf, Register reg) {
  unsigned words[4] = {0, 0, 0, 0};
  if (!__get_cpuid_count(leaf, subleaf, &words[EAX], &words[EBX], &words[ECX], &words[EDX])) return 0;
  if (leaf == 7 && subleaf > 0 && ask(7, 0, EAX) < subleaf) return 0;
  return words[reg];
}

/// The states that the system saves; SSE's alone if XCR0 cannot be read.
static unsigned savedStates() {
  constexpr unsigned osxsave = 27;
  if (!(ask(1, 0, ECX) >> osxsave & 1)) return Sse;
  unsigned low = 0, high = 0;
  asm volatile("xgetbv" : "=a"(low), "=d"(high) : "c"(0));
  return low;
}

/// Whether the kernel lets this process use AMX's tile registers, whose state it saves only for processes that
/// requested it (Linux, Documentation/arch/x86/xstate.rst). Requests it, for all threads.
static bool maySaveTiles() {
  constexpr long requestPermission = 0x1023, tileData = 18; // ARCH_REQ_XCOMP_PERM, XFEATURE_XTILEDATA
  static const bool isGranted = syscall(SYS_arch_prctl, requestPermission, tileData) == 0;
  return isGranted;
}

static bool isThere(const std::string &name) {
  auto feature =
      std::find_if(std::begin(known), std::end(known), [&](const Feature &each) { return name == each.name; });
  if (feature == std::end(known)) return false;
  return (ask(feature->leaf, feature->subleaf, feature->reg) >> feature->bit & 1) &&
         (savedStates() & feature->state) == feature->state && (feature->state != Tiles || maySaveTiles());
}

/// Whether generated code may use instructions of a feature. Features of the system (`shstk`), and those that the
/// kernel masks for other reasons (`rdseed`), do not matter.
static bool isUsedByCode(const std::string &name) {
  for (const char *prefix : {"sse", "ssse", "avx", "amx", "fma", "f16c", "bmi", "lzcnt", "popcnt", "movbe", "aes",
                             "vaes", "pclmul", "vpclmul", "gfni", "sha", "adx"})
    if (name.starts_with(prefix)) return true;
  return false;
}

#else

static bool isThere(const std::string &) { return true; }
/// Other architectures have no check.
static bool isUsedByCode(const std::string &) { return false; }

#endif

std::vector<std::string> missingCpuFeatures(const std::vector<std::string> &features) {
  std::vector<std::string> missing;
  for (const std::string &feature : features) {
    if (feature.starts_with("-")) continue;
    std::string name = feature.starts_with("+") ? feature.substr(1) : feature;
    if (isUsedByCode(name) && !isThere(name)) missing.push_back(feature);
  }
  return missing;
}

} // namespace tessera::runtime
