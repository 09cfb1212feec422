// What does not lie in the arena or agree with its axes is refused.

#include "runtime/program/Manifest.h"
#include "runtime/base/Error.h"
#include "runtime/machine/Arena.h"
#include "runtime/machine/CpuFeatures.h"
#include "runtime/machine/MachineMemory.h"
#include "runtime/train/Settings.h"

#include <cmath>
#include <fstream>
#include <gtest/gtest.h>
#include <map>
#include <set>
#include <sstream>

using namespace tessera;
using namespace tessera::runtime;

namespace {

std::string withState(const std::string &entry) {
  return R"({"abi": 6, "model": "m", "target": {"kind": "cpu"}, "arena": {"bytes": 256}, "entries": {}, "state": [)" +
         entry + "]}";
}

std::string errorOf(const std::string &text) {
  try {
    parseManifest(text);
  } catch (const Error &e) {
    return e.what();
  }
  return "";
}

TEST(Manifest, AcceptsState) {
  Manifest m = parseManifest(withState(R"({"path": "w", "kind": "weight", "type": "f32", "axes": [["a", 2], ["b", 3]],
                                           "canonical": ["b", "a"], "offset": 64, "bytes": 24})"));
  EXPECT_EQ(formatAxes(m.state[0].canonicalAxes()), "[b: 3, a: 2]");
  EXPECT_TRUE(m.stateAt("w"));
  EXPECT_FALSE(m.stateAt("v"));
}

TEST(Manifest, RefusesWhatDoesNotFit) {
  auto state = [](const char *axes, const char *canonical, int offset, int bytes) {
    return withState(fmt::format(R"({{"path": "w", "kind": "weight", "type": "f32", "axes": {}, "canonical": {},
                                     "offset": {}, "bytes": {}}})",
                                 axes, canonical, offset, bytes));
  };
  EXPECT_EQ(errorOf(state(R"([["a", 2]])", R"(["a"])", 0, 8)), "");
  EXPECT_NE(errorOf(state(R"([["a", 2]])", R"(["a"])", 0, 12)), "");
  EXPECT_NE(errorOf(state(R"([["a", 2]])", R"(["a"])", 252, 8)), "");
  EXPECT_NE(errorOf(state(R"([["a", 2]])", R"(["a"])", -4, 8)), "");
  EXPECT_NE(errorOf(state(R"([["a", 2]])", R"(["a"])", 2, 8)), "");
  EXPECT_NE(errorOf(state(R"([["a", 2]])", R"(["b"])", 0, 8)), "");
  EXPECT_NE(errorOf(state(R"([["a", 4611686018427387904], ["b", 4611686018427387904]])", R"(["a", "b"])", 0, 0)), "");
  EXPECT_NE(errorOf("{\"abi\": 99}"), "");
  EXPECT_NE(errorOf("[1, 2"), "");
  EXPECT_NE(errorOf(std::string(10000, '[')), "");
}

TEST(Manifest, ReadsEveryDataFormat) {
  auto withFormat = [](std::string_view format) {
    return fmt::format(R"({{"abi": {}, "model": "m", "target": {{"kind": "cpu"}}, "arena": {{"bytes": 0}}, "state": [],
                           "entries": {{}}, "data": [{{"name": "d", "format": "{}"}}]}})",
                       TSR_ABI_VERSION, format);
  };
  for (const DataFormatInfo &info : dataFormats)
    EXPECT_EQ(parseManifest(withFormat(info.name)).data[0].format, info.format);
  EXPECT_EQ(errorOf(withFormat("parquet")), "manifest: data 'd' has the unknown format 'parquet'");
}

TEST(Manifest, ReadsEveryElementType) {
  for (const ElementTypeInfo &info : elementTypes) EXPECT_EQ(parseElementType(info.name, "x"), info.type);
  EXPECT_THROW(parseElementType("f31", "x"), Error);
}

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

TEST(Arena, RefusesMoreThanThereIs) {
  Threads threads(2);
  EXPECT_GT(availableMemory().bytes, 1 << 20);
  try {
    Arena arena(int64_t(1) << 50, threads);
    FAIL();
  } catch (const Error &e) {
    EXPECT_NE(std::string(e.what()).find("1024.0 TiB"), std::string::npos) << e.what();
    EXPECT_NE(std::string(e.what()).find("left"), std::string::npos);
  }
  Arena arena(1 << 20, threads);
  for (int64_t i = 0; i < arena.size(); ++i) ASSERT_EQ(arena.base()[i], 0);
}

TEST(Settings, OverridesAndSuggests) {
  Settings settings(Json::parse(R"({"evaluate": {"every": 250}, "save": null})"));
  settings.set("evaluate.every=10");
  settings.set("save.keep=2");
  EXPECT_EQ(settings.integer("evaluate.every", 0), 10);
  EXPECT_EQ(settings.integer("save.keep", 0), 2);
  EXPECT_EQ(settings.integer("save.every", 7), 7);
  for (const char *bad : {"evaluate.every", "evaluate.every=x", "evaluate.every=-1", "evaluate.every=1.5", "every=1"})
    EXPECT_THROW(settings.set(bad), Error) << bad;
  EXPECT_EQ(nearestWord("sve.keep", {"save.keep", "stop.after"}), "save.keep");
  EXPECT_EQ(nearestWord("colour", {"save.keep", "stop.after"}), "");
}

TEST(Trace, ResultsOfALaunchHaveTheirOwnNames) {
  auto result = [](const std::string &name, int offset) {
    return R"({)" + name + R"("op": "exp", "from": [], "type": "f32", "axes": [], "offset": )" +
           std::to_string(offset) + R"(, "strides": [], "infinite": false})";
  };
  std::vector<TraceStep> steps =
      readTrace(Json::parse(R"([{"name": "alone", "results": [)" + result("", 0) + R"(]}, {"name": "", "results": [)" +
                            result(R"("name": "first", )", 0) + ", " + result(R"("name": "second", )", 4) + "]}]"));
  ASSERT_EQ(steps.size(), 2U);
  const float arena[] = {1, INFINITY, NAN};
  auto *bytes = reinterpret_cast<const char *>(arena);
  EXPECT_FALSE(findNotFinite(steps[0], {}, bytes));
  EXPECT_EQ(findNotFinite(steps[0], {}, bytes + 8)->name, "alone");
  EXPECT_EQ(findNotFinite(steps[1], {}, bytes)->name, "second");
  EXPECT_EQ(findNotFinite(steps[1], {}, bytes + 4)->name, "first");
}

} // namespace
