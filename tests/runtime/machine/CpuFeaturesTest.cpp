// The instruction sets found by CPUID against those of /proc/cpuinfo.

#include "runtime/machine/CpuFeatures.h"

#include <fstream>
#include <gtest/gtest.h>
#include <map>
#include <set>
#include <sstream>

using namespace tessera::runtime;

namespace {

TEST(CpuFeatures, KnowsThisProcessor) {
  EXPECT_TRUE(missingCpuFeatures({"sse2", "+sse4.2", "64bit", "shstk", "-avx10.1"}).empty());
  EXPECT_EQ(missingCpuFeatures({"sse2", "avx4096"}), std::vector<std::string>{"avx4096"});
}

/// What the kernel knows of this processor, which may be newer than the kernel, the processor says of itself.
TEST(CpuFeatures, AgreesWithTheKernel) {
  const std::map<std::string, std::string> named = {{"pni", "sse3"},
                                                    {"pclmulqdq", "pclmul"},
                                                    {"sse4_1", "sse4.1"},
                                                    {"sse4_2", "sse4.2"},
                                                    {"bmi1", "bmi"},
                                                    {"abm", "lzcnt"},
                                                    {"sha_ni", "sha"},
                                                    {"misalignsse", "sse-unaligned-mem"},
                                                    {"avx512_bf16", "avx512bf16"},
                                                    {"avx512_fp16", "avx512fp16"},
                                                    {"avx512_vbmi2", "avx512vbmi2"},
                                                    {"avx512_vnni", "avx512vnni"},
                                                    {"avx512_bitalg", "avx512bitalg"},
                                                    {"avx512_vpopcntdq", "avx512vpopcntdq"},
                                                    {"avx_vnni", "avxvnni"},
                                                    {"amx_bf16", "amx-bf16"},
                                                    {"amx_tile", "amx-tile"},
                                                    {"amx_int8", "amx-int8"}};
  std::ifstream file("/proc/cpuinfo");
  std::set<std::string> kernel;
  for (std::string line; kernel.empty() && std::getline(file, line);)
    if (line.starts_with("flags")) {
      std::istringstream words(line.substr(line.find(':') + 1));
      for (std::string word; words >> word;) kernel.insert(named.count(word) ? named.at(word) : word);
    }
  for (const char *name : {"sse",        "sse2",         "sse3",
                           "ssse3",      "sse4.1",       "sse4.2",
                           "sse4a",      "pclmul",       "fma",
                           "movbe",      "popcnt",       "aes",
                           "avx",        "avx2",         "f16c",
                           "bmi",        "bmi2",         "adx",
                           "sha",        "gfni",         "vaes",
                           "vpclmulqdq", "avx512f",      "avx512dq",
                           "avx512ifma", "avx512cd",     "avx512bw",
                           "avx512vl",   "avx512vbmi",   "avx512vbmi2",
                           "avx512vnni", "avx512bitalg", "avx512vpopcntdq",
                           "avx512bf16", "avx512fp16",   "avxvnni",
                           "lzcnt",      "fma4",         "amx-tile",
                           "amx-bf16",   "amx-int8"})
    if (kernel.count(name)) EXPECT_TRUE(missingCpuFeatures({name}).empty()) << name;
}

} // namespace
