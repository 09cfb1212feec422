//===- DiagnosticsTest.cpp - the text and JSON forms of messages -----------===//

#include "frontend/diagnostics/Diagnostics.h"
#include "gtest/gtest.h"

using namespace tessera;

namespace {

std::string text(const DiagnosticEngine &engine) {
  std::string out;
  llvm::raw_string_ostream os(out);
  engine.printText(os);
  return out;
}

/// The span of the first `part` in the file.
Span find(DiagnosticEngine &engine, unsigned file, llvm::StringRef part) {
  unsigned begin = engine.sources()[file].text().find(part);
  return {file, begin, unsigned(begin + part.size())};
}

TEST(Diagnostics, TextShowsAllPlaces) {
  DiagnosticEngine engine;
  unsigned file = engine.sources().add("dim ff = 8\n\n  a + gelu(b)\n", "m.tsr");
  engine.error(DiagnosticCode::E0210, find(engine, file, "a"), "`+` would make an outer product")
      .label(find(engine, file, "gelu(b)"), "[ff]");
  Span lhs{file, 14, 15};
  DiagnosticEngine second;
  second.sources().add("dim ff = 8\n\n  a + gelu(b)\n", "m.tsr");
  second.error(DiagnosticCode::E0210, lhs, "`+` would make an outer product")
      .label(lhs, "[embed]")
      .label(find(second, file, "gelu(b)"), "[ff]")
      .note("`ff` = 8, declared", find(second, file, "ff"))
      .help("contract it first");
  EXPECT_EQ(text(second), "error[E0210]: `+` would make an outer product\n"
                          " --> m.tsr:3:3\n"
                          "  |\n"
                          "3 |   a + gelu(b)\n"
                          "  |   -   ------- [ff]\n"
                          "  |   |\n"
                          "  |   [embed]\n"
                          "note: `ff` = 8, declared at m.tsr:1:5\n"
                          "help: contract it first\n\n");
}

TEST(Diagnostics, ColumnsCountCodePoints) {
  DiagnosticEngine engine;
  unsigned file = engine.sources().add("# ünï\n# ü x\n", "m.tsr");
  engine.error(DiagnosticCode::E0201, find(engine, file, "x"), "unknown");
  EXPECT_EQ(text(engine), "error[E0201]: unknown\n --> m.tsr:2:5\n  |\n2 | # ü x\n  |     ^\n\n");
}

TEST(Diagnostics, JsonIsOneObjectALine) {
  DiagnosticEngine engine;
  unsigned file = engine.sources().add("let a = b\n", "m.tsr");
  engine.error(DiagnosticCode::E0201, find(engine, file, "b"), "unknown name `b`").help("did you mean `a`?");
  std::string out;
  llvm::raw_string_ostream os(out);
  engine.printJson(os);
  EXPECT_EQ(out,
            "{\"code\":\"E0201\",\"column\":9,\"endColumn\":10,\"endLine\":1,\"file\":\"m.tsr\",\"help\":[\"did "
            "you mean `a`?\"],\"labels\":[{\"column\":9,\"endColumn\":10,\"endLine\":1,\"file\":\"m.tsr\",\"line\":"
            "1,\"text\":\"\"}],\"line\":1,\"message\":\"unknown name `b`\",\"notes\":[],\"severity\":\"error\"}\n");
}

TEST(Diagnostics, NearestName) {
  EXPECT_EQ(nearestName("embd", {"embed", "head"}), "embed");
  EXPECT_EQ(nearestName("sofmax", {"softmax", "gelu"}), "softmax");
  EXPECT_EQ(nearestName("x", {"embed", "head"}), "");
}

TEST(Diagnostics, EveryCodeExplainsItself) {
  for (const DiagnosticCodeInfo &info : allDiagnosticCodes()) {
    EXPECT_FALSE(info.title.empty()) << info.name.str();
    EXPECT_FALSE(info.text.empty()) << info.name.str();
    EXPECT_EQ(findDiagnosticCode(info.name.lower()), &info);
  }
}

TEST(Diagnostics, LettersThatChangedPlacesAreOneMistake) {
  EXPECT_EQ(nearestName("dpeth", {"depth"}), "depth");
  EXPECT_EQ(nearestName("wrod", {"word", "wood"}), "word");
  EXPECT_EQ(nearestName("abcd", {"badc"}), "");
}

} // namespace
