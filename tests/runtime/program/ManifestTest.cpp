// Regions outside of the arena, and sizes that disagree with axes, are refused.

#include "runtime/program/Manifest.h"
#include "runtime/Abi.h"
#include "runtime/base/Error.h"

#include <gtest/gtest.h>

using namespace tessera;
using namespace tessera::runtime;

namespace {

std::string withState(const std::string &entry) {
  return R"({"abi": 9, "model": "m", "target": {"kind": "cpu"}, "arena": {"bytes": 256}, "entries": {}, "state": [)" +
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

TEST(Manifest, RefusesABoundAboveTheArena) {
  std::string text =
      R"({"abi": 9, "model": "m", "target": {"kind": "cpu"}, "arena": {"bytes": 256, "bound": 257}, "entries": {},
                         "state": []})";
  EXPECT_NE(errorOf(text).find("the arena of 256 bytes cannot have 257 at least"), std::string::npos) << errorOf(text);
}

TEST(Manifest, RefusesMemoryOutsideOfTheArena) {
  auto withArena = [](const std::string &parts) {
    return R"({"abi": 9, "model": "m", "target": {"kind": "cpu", "threads": 4}, "arena": {"bytes": 256, )" + parts +
           R"(}, "entries": {}, "state": []})";
  };
  EXPECT_EQ(errorOf(withArena(R"("workspace": {"offset": 192, "bytes": 64}, "scratch": {"bytes": 64})")), "");
  EXPECT_EQ(errorOf(withArena(R"("workspace": null, "scratch": null)")), "");
  EXPECT_EQ(errorOf(withArena(R"("workspace": {"offset": 192, "bytes": 65})")),
            "manifest: the workspace is outside of the arena");
  EXPECT_EQ(errorOf(withArena(R"("scratch": {"bytes": 65})")),
            "manifest: the scratch memory of 4 threads with 65 bytes each exceeds the arena of 256");
}

TEST(Manifest, AcceptsState) {
  Manifest m = parseManifest(withState(R"({"path": "w", "kind": "weight", "type": "f32", "axes": [["a", 2], ["b", 3]],
                                           "canonical": ["b", "a"], "offset": 64, "bytes": 24})"));
  EXPECT_EQ(formatAxes(m.state[0].canonicalAxes()), "[b: 3, a: 2]");
  EXPECT_TRUE(m.stateAt("w"));
  EXPECT_FALSE(m.stateAt("v"));
}

TEST(Manifest, EpilogueKernelsAreFoundByName) {
  std::string text =
      R"({"abi": 9, "model": "m", "target": {"kind": "cpu"}, "arena": {"bytes": 0}, "entries": {}, "state": [],
          "kernels": [{"name": "other"}, {"name": "tsr_gelu"}],
          "gemms": [{"name": "h", "dims_a": [4, 8], "strides_a": [8, 1], "dims_b": [8, 16], "strides_b": [16, 1],
                     "dims_c": [4, 16], "strides_c": [16, 1], "epilogue": "gelu", "epilogue_kernel": "tsr_gelu"}]})";
  EXPECT_EQ(parseManifest(text).gemms[0].epilogueKernel, 1u);
  text.replace(text.rfind("tsr_gelu"), 8, "tsr_none");
  EXPECT_EQ(errorOf(text), "manifest: there is no kernel 'tsr_none' for an epilogue");
}

/// A program for two ranks, each of which has 4 rows of an input that is divided as `divided` says.
std::string withDividedInput(const std::string &divided) {
  return R"({"abi": 9, "model": "m", "target": {"kind": "cpu"}, "arena": {"bytes": 256}, "state": [],
             "mesh": [{"name": "data", "size": 2}], "exchanges": [],
             "entries": {"step": {"inputs": [{"name": "d.x", "role": "data", "type": "f32", "axes": [["batch", 4]],
                                              "offset": 0, "bytes": 16, "divided": {"batch": )" +
         divided + "}}], \"outputs\": []}}}";
}

TEST(Manifest, AnInputMayBeDividedInBlocks) {
  auto divisionOf = [](const std::string &divided) {
    return parseManifest(withDividedInput(divided)).entries["step"].inputs[0].divided[0];
  };
  EXPECT_EQ(divisionOf(R"({"along": "data", "whole": 7})"), (DividedAxis{"batch", "data", 7, 1}));
  EXPECT_EQ(divisionOf(R"({"along": "data", "blocks": 2, "whole": 8})"), (DividedAxis{"batch", "data", 8, 2}));
  EXPECT_EQ(errorOf(withDividedInput(R"({"along": "data", "blocks": 3, "whole": 8})")),
            "manifest: the divided axis 'batch' has no 3 equal blocks");
  EXPECT_EQ(errorOf(withDividedInput(R"({"along": "data", "blocks": 0, "whole": 8})")),
            "manifest: the divided axis 'batch' has no 0 equal blocks");
  EXPECT_EQ(errorOf(withDividedInput(R"({"along": "data", "blocks": 2, "whole": 6})")),
            "manifest: 'd.x' has parts of 4 of the 6 elements of 'batch', for 2 ranks");
}

TEST(Manifest, KindsOfStateAreParametersOrOfTheModelOrNeither) {
  for (const char *kind : {"weight", "bias", "gain", "state", "moment", "counter", "scale"}) {
    StateEntry entry;
    entry.kind = kind;
    bool isParameter = std::string_view("weight bias gain").find(kind) != std::string_view::npos;
    EXPECT_EQ(entry.isParameter(), isParameter) << kind;
    EXPECT_EQ(entry.isModel(), isParameter || entry.kind == "state") << kind;
  }
}

TEST(Manifest, RefusesInconsistentSizes) {
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
  EXPECT_NE(errorOf("[1, 2"), "");
  EXPECT_NE(errorOf(std::string(10000, '[')), "");
}

/// A program whose entry function has one value that is a scalar.
std::string withValue(const char *entry, const char *side, const char *role, const char *type) {
  return fmt::format(R"({{"abi": {}, "model": "m", "target": {{"kind": "cpu"}}, "arena": {{"bytes": 256}}, "state": [],
                         "entries": {{"{}": {{"{}": [{{"name": "v", "role": "{}", "type": "{}", "axes": [],
                                                       "offset": 0, "bytes": {}}}]}}}}}})",
                     TSR_ABI_VERSION, entry, side, role, type, std::string_view(type) == "i64" ? 8 : 4);
}

TEST(Manifest, RefusesValuesThatNothingWritesOrReads) {
  EXPECT_EQ(errorOf(withValue("init", "inputs", "seed", "i64")), "");
  EXPECT_EQ(errorOf(withValue("shadow", "outputs", "grad_norm", "f32")), "");
  EXPECT_EQ(errorOf(withValue("step", "inputs", "dta", "f32")),
            "manifest: 'step' has no inputs of the role 'dta', which 'v' has");
  EXPECT_EQ(errorOf(withValue("step", "inputs", "seed", "i64")),
            "manifest: 'step' has no inputs of the role 'seed', which 'v' has");
  EXPECT_EQ(errorOf(withValue("step", "outputs", "data", "f32")),
            "manifest: 'step' has no outputs of the role 'data', which 'v' has");
  EXPECT_EQ(errorOf(withValue("step", "outputs", "finite", "f32")),
            "manifest: the output 'v' of 'step' must be a scalar of i32");
}

TEST(Manifest, RefusesStatesOfUnknownKinds) {
  EXPECT_NE(errorOf(withState(R"({"path": "w", "kind": "wieght", "type": "f32", "axes": [], "canonical": [],
                                  "offset": 0, "bytes": 4})"))
                .find("'w' is a state of the unknown kind 'wieght': expected one of 'weight', "),
            std::string::npos);
}

std::string withPredicted(const std::string &predicted) {
  std::string text = withState("");
  text.back() = ',';
  return text + R"("predicted": )" + predicted + "}";
}

TEST(Manifest, ReadsPredictedTimes) {
  EXPECT_EQ(parseManifest(withState("")).predicted.source, "");
  EXPECT_EQ(parseManifest(withState("")).predicted.entry("step"), nullptr);
  Manifest m = parseManifest(withPredicted(R"({"source": "calibrated", "entries": {
      "evaluate": {"seconds": 0.1, "least": 0.05, "most": 0.2},
      "step": {"seconds": 0.5, "least": 0.4, "most": 0.6, "flops": 1e9, "type": "bf16", "peak": 4e9,
               "passes": {"backward": 0.3, "forward": 0.2},
               "repeats": [{"axis": "layer", "iterations": 12, "seconds": 0.15},
                           {"axis": "chunk", "iterations": 3, "depth": 1, "pass": "backward", "seconds": 0.05}]}}})"));
  EXPECT_FALSE(m.predicted.isAssumed());
  const PredictedEntry *step = m.predicted.entry("step"), *evaluate = m.predicted.entry("evaluate");
  ASSERT_TRUE(step && evaluate);
  EXPECT_EQ(m.predicted.entry("predict"), nullptr);
  EXPECT_EQ(evaluate->most, 0.2);
  EXPECT_EQ(evaluate->peak, 0);
  EXPECT_TRUE(evaluate->passes.empty() && evaluate->repeats.empty());
  EXPECT_EQ(step->seconds, 0.5);
  EXPECT_EQ(step->flops, 1e9);
  EXPECT_EQ(step->type, "bf16");
  EXPECT_EQ(step->passes.at("backward"), 0.3);
  ASSERT_EQ(step->repeats.size(), 2u);
  EXPECT_EQ(step->repeats[0].iterations, 12);
  EXPECT_EQ(step->repeats[0].depth, 0);
  EXPECT_EQ(step->repeats[1].pass, "backward");
  EXPECT_EQ(step->repeats[1].seconds, 0.05);
  EXPECT_TRUE(parseManifest(withPredicted(R"({"source": "assumed"})")).predicted.isAssumed());
}

TEST(Manifest, RefusesPredictedTimesOfAnotherForm) {
  for (const char *predicted :
       {"[]", "{}", R"({"source": 3})", R"({"source": "assumed", "entries": {"step": {"seconds": 1, "least": 1}}})",
        R"({"source": "assumed", "entries": {"step": {"seconds": "1", "least": 1, "most": 1}}})",
        R"({"source": "assumed", "entries": {"step": {"seconds": 1, "least": 1, "most": 1, "passes": [1]}}})",
        R"({"source": "assumed", "entries": {"step": {"seconds": 1, "least": 1, "most": 1, "repeats": [{}]}}})"})
    EXPECT_NE(errorOf(withPredicted(predicted)), "") << predicted;
}

TEST(Manifest, NamesTheVersionOfOtherPrograms) {
  for (uint32_t abi : {TSR_ABI_VERSION - 1, TSR_ABI_VERSION + 1})
    EXPECT_EQ(errorOf(fmt::format("{{\"abi\": {}}}", abi)),
              fmt::format("manifest: ABI version {}, expected {}; compile the program again", abi, TSR_ABI_VERSION));
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

} // namespace
