//===- CallWorkTest.cpp - the work of a call as JSON ----------------------===//

#include "passes/cost/CallWork.h"
#include <gtest/gtest.h>
#include <random>

using namespace tessera;

namespace {

std::string textOf(const CallWork &work) {
  std::string text;
  llvm::raw_string_ostream stream(text);
  llvm::json::OStream json(stream);
  work.write(json);
  return text;
}

std::optional<CallWork> parse(const std::string &text) {
  auto json = llvm::json::parse(text);
  if (!json) {
    llvm::consumeError(json.takeError());
    return std::nullopt;
  }
  return CallWork::read(*json);
}

CallWork sample() {
  CallWork work;
  work.kind = CallKind::Gemm;
  work.ops = {{"exp", 1 << 20}, {"mul", int64_t(3) << 40}};
  work.gemms = {{ElementType::F32, 12, 64, 48, 32, false, true}, {ElementType::E4M3, 0.53125, 7, 8, 9, true, false}};
  work.traffic = {1024, 0, 4e12};
  return work;
}

ExchangeWork exchangeSample() {
  return {ExchangeKind::ReduceScatter, int64_t(5) << 40, {double(int64_t(3) << 40), 6}, {1e12, 1}};
}

TEST(CallWork, ReadsWhatItWrites) {
  for (CallKind kind : {CallKind::Kernel, CallKind::Gemm, CallKind::Copy, CallKind::Exchange}) {
    CallWork work = sample();
    work.kind = kind;
    if (kind == CallKind::Exchange) work.exchange = exchangeSample();
    std::string text = textOf(work);
    std::optional<CallWork> read = parse(text);
    ASSERT_TRUE(read) << text;
    EXPECT_EQ(textOf(*read), text);
    EXPECT_EQ(read->kind, kind);
    EXPECT_EQ(read->exchange, work.exchange);
    EXPECT_EQ(read->gemms[0].tf32, true);
    EXPECT_EQ(read->gemms[1].isTiled, true);
    EXPECT_EQ(read->gemms[1].count, 0.53125);
    EXPECT_EQ(read->traffic[2], 4e12);
  }
  EXPECT_EQ(textOf(*parse(textOf(CallWork()))), textOf(CallWork()));
}

/// Links that an exchange does not use have no key.
TEST(CallWork, ReadsExchangesInsideOfAMachine) {
  CallWork work;
  work.kind = CallKind::Exchange, work.exchange = exchangeSample(), work.exchange.network = {};
  std::string text = textOf(work);
  EXPECT_EQ(text.find("network"), std::string::npos);
  ASSERT_TRUE(parse(text));
  EXPECT_EQ(parse(text)->exchange, work.exchange);
}

/// Another version of the compiler may have had other ops.
TEST(CallWork, LeavesOutUnknownOps) {
  auto read = parse(R"({"kind": "kernel", "ops": {"exp": 3, "frobnicate": 5}, "multiplies": [], "traffic": []})");
  ASSERT_TRUE(read);
  ASSERT_EQ(read->ops.size(), 1u);
  EXPECT_EQ(read->ops[0].op, "exp");
}

TEST(CallWork, RefusesOtherJson) {
  const char *texts[] = {
      "[]",
      "null",
      "{}",
      R"({"kind": "kernels", "ops": {}, "multiplies": [], "traffic": []})",
      R"({"ops": {}, "multiplies": [], "traffic": []})",
      R"({"kind": "kernel", "multiplies": [], "traffic": []})",
      R"({"kind": "kernel", "ops": [], "multiplies": [], "traffic": []})",
      R"({"kind": "kernel", "ops": {"exp": -1}, "multiplies": [], "traffic": []})",
      R"({"kind": "kernel", "ops": {"exp": 1.5}, "multiplies": [], "traffic": []})",
      R"({"kind": "kernel", "ops": {"exp": "1"}, "multiplies": [], "traffic": []})",
      R"({"kind": "kernel", "ops": {}, "multiplies": {}, "traffic": []})",
      R"({"kind": "kernel", "ops": {}, "multiplies": [1], "traffic": []})",
      R"({"kind": "kernel", "ops": {}, "multiplies": [], "traffic": [-1]})",
      R"({"kind": "kernel", "ops": {}, "multiplies": [], "traffic": [1e30]})",
      R"({"kind": "kernel", "ops": {}, "multiplies": [], "traffic": [null]})",
      R"({"kind": "kernel", "ops": {}, "multiplies": []})",
      R"({"kind": "exchange", "ops": {}, "multiplies": [], "traffic": []})",
  };
  for (const char *text : texts) EXPECT_FALSE(parse(text)) << text;
  auto withGemm = [](const char *type, const char *count, const char *m) {
    return std::string(R"({"kind": "gemm", "ops": {}, "traffic": [], "multiplies": [{"type": ")") + type +
           R"(", "count": )" + count + R"(, "m": )" + m + R"(, "n": 4, "k": 4}]})";
  };
  EXPECT_TRUE(parse(withGemm("f32", "1", "4")));
  for (const char *type : {"", "float", "i32", "i64", "i1", "u8", "f64"})
    EXPECT_FALSE(parse(withGemm(type, "1", "4"))) << type;
  for (const char *count : {"-1", "\"1\"", "null", "1e300"}) EXPECT_FALSE(parse(withGemm("f32", count, "4"))) << count;
  for (const char *m : {"0", "-4", "1.5", "null"}) EXPECT_FALSE(parse(withGemm("f32", "1", m))) << m;
}

TEST(CallWork, RefusesOtherExchanges) {
  const char *texts[] = {
      R"("received": -1)",
      R"("received": 1)",
      R"("exchange": "all_gather")",
      R"("exchange": "all", "received": 1)",
      R"("exchange": "all_gather", "received": 1, "inside": 3)",
      R"("exchange": "all_gather", "received": 1, "inside": {"bytes": 1})",
      R"("exchange": "all_gather", "received": 1, "inside": {"bytes": -1, "rounds": 1})",
      R"("exchange": "all_gather", "received": 1, "network": {"bytes": 1, "rounds": -1})",
      R"("exchange": "all_gather", "received": 1, "network": {"bytes": 1e30, "rounds": 1})",
  };
  const std::string rest = R"({"kind": "exchange", "ops": {}, "multiplies": [], "traffic": [], )";
  EXPECT_TRUE(parse(rest + R"("exchange": "all_gather", "received": 1, "inside": {"bytes": 1, "rounds": 1}})"));
  for (const char *text : texts) EXPECT_FALSE(parse(rest + text + "}")) << text;
}

/// What is accepted after random changes reads as the same again.
TEST(CallWork, SurvivesRandomChanges) {
  std::mt19937 random(3);
  std::string original = textOf(sample());
  constexpr char characters[] = R"("{}[]:,.-0123456789eabkmnt )";
  int accepted = 0;
  for (int round = 0; round < 20000; ++round) {
    std::string text = original;
    for (int change = 1 + int(random() % 3); change > 0; --change) {
      size_t at = random() % text.size();
      if (random() % 3 == 0)
        text.erase(at, 1);
      else
        text[at] = characters[random() % (sizeof characters - 1)];
    }
    std::optional<CallWork> work = parse(text);
    if (!work) continue;
    ++accepted;
    std::string again = textOf(*work);
    std::optional<CallWork> same = parse(again);
    ASSERT_TRUE(same) << text;
    ASSERT_EQ(textOf(*same), again) << text;
  }
  EXPECT_GT(accepted, 100);
}

} // namespace
