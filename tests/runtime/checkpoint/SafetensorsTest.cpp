// Files round-trip; malformed files are refused.

#include "runtime/checkpoint/Safetensors.h"
#include "runtime/base/Hash.h"
#include "tests/runtime/TemporaryFolder.h"

#include <gtest/gtest.h>

#include <chrono>
#include <numeric>
#include <random>

using namespace tessera;
using namespace tessera::runtime;
using namespace tessera::tests;

namespace {

std::string safetensors(const std::string &header, const std::string &numbers) {
  uint64_t length = header.size();
  return std::string(reinterpret_cast<char *>(&length), 8) + header + numbers;
}

class Safetensors : public testing::Test {
protected:
  std::string errorOf(const std::string &bytes) {
    try {
      SafetensorsFile file(folder.write("f", bytes));
    } catch (const Error &e) {
      return e.what();
    }
    return "";
  }
  TemporaryFolder folder;
};

TEST(Hash, Xxh64) {
  EXPECT_EQ(hashXxh64("", 0), 0xef46db3751d8e999u);
  EXPECT_EQ(hashXxh64("abc", 3), 0x44bc2cf5ad770999u);
  std::string fox = "The quick brown fox jumps over the lazy dog";
  EXPECT_EQ(hashXxh64(fox.data(), fox.size()), 0x0b242d361fda71bcu);
}

TEST_F(Safetensors, RoundTrip) {
  StateEntry w{"w", "weight", ElementType::F32, {{"a", 2}, {"b", 3}}, {"b", "a"}, 0, 24};
  StateEntry step{"step", "counter", ElementType::I32, {}, {}, 0, 4};
  float numbers[] = {1, 2, 3, 4, 5, 6};
  int32_t count = 7;
  DurableFile out(folder / "f");
  auto address = [&](const StateEntry &e) {
    return e.path == "w" ? reinterpret_cast<const char *>(numbers) : reinterpret_cast<const char *>(&count);
  };
  writeSafetensors(out, {&w, &step}, address, MeshPlace());
  SafetensorsFile file(folder / "f");
  ASSERT_EQ(file.tensors().size(), 2u);
  const SafeTensor *tensor = file.find("w");
  EXPECT_EQ(tensor->shape, (std::vector<int64_t>{3, 2}));
  const float expected[] = {1, 4, 2, 5, 3, 6};
  EXPECT_EQ(std::string(tensor->data, 24), std::string(reinterpret_cast<const char *>(expected), 24));
  checkTensor(file, *tensor, w);
  w.canonical = {"a", "b"};
  EXPECT_THROW(checkTensor(file, *tensor, w), Error);
}

TEST_F(Safetensors, IsStrict) {
  std::string a = R"({"a":{"dtype":"F32","shape":[2],"data_offsets":[0,8]}})", eight(8, 'x');
  EXPECT_EQ(errorOf(safetensors(a, eight)), "");
  EXPECT_EQ(errorOf(safetensors(R"({"__metadata__":{"format":"pt"},)" + a.substr(1) + "  ", eight)), "");
  auto expectError = [&](const std::string &bytes, const std::string &part) {
    EXPECT_NE(errorOf(bytes).find(part), std::string::npos) << part << ", got: " << errorOf(bytes);
  };
  expectError(safetensors(R"({"a\u001b[31m":{"dtype":"F32","shape":[2],"data_offsets":[8,0]}})", eight),
              R"(tensor 'a\x1b[31m')");
  expectError("1234567", "byte 7: the file is truncated");
  expectError(std::string(8, '\xff') + a, "byte 0: the header has 18446744073709551615 bytes");
  expectError(safetensors(a, eight + "y"), "belong to no tensor");
  expectError(safetensors(a, "1234567"), "outside");
  expectError(safetensors(R"({"a":{"dtype":"F32","shape":[3],"data_offsets":[0,8]}})", eight), "its shape needs 12");
  expectError(safetensors(R"({"a":{"dtype":"F32","shape":[2],"data_offsets":[8,0]}})", eight), "outside");
  expectError(safetensors(R"({"a":{"dtype":"F32","shape":[-2],"data_offsets":[0,8]}})", eight), "overflow");
  expectError(
      safetensors(R"({"a":{"dtype":"F32","shape":[4611686018427387904,4611686018427387904],"data_offsets":[0,8]}})",
                  eight),
      "overflow");
  expectError(safetensors(R"({"a":{"dtype":"F32","shape":[18446744073709551615],"data_offsets":[0,8]}})", eight),
              "expected an integer");
  expectError(safetensors(R"({"a":{"dtype":"Q4","shape":[2],"data_offsets":[0,8]}})", eight), "type Q4");
  expectError(safetensors(R"({"a":{"dtype":"F32","shape":[2]}})", eight), "data_offsets");
  expectError(safetensors(R"({"a":{"dtype":"F32","shape":[2],"data_offsets":[0,8],"x":1}})", eight), "unknown key 'x'");
  expectError(safetensors("{" + a.substr(1, a.size() - 2) + "," + a.substr(1), eight), "'a' occurs twice");
  std::string overlap =
      R"({"a":{"dtype":"F32","shape":[2],"data_offsets":[0,8]},"b":{"dtype":"F32","shape":[1],"data_offsets":[4,8]}})";
  expectError(safetensors(overlap, eight), "overlaps");
  expectError(safetensors(R"({"a":{"dtype":"F32","shape":[1],"data_offsets":[4,8]}})", eight), "gap");
  expectError(safetensors("{\"a\":" + std::string(10000, '[') + std::string(10000, ']') + "}", ""), "nested deeper");
  expectError(safetensors("{\"a\":", ""), "not valid JSON");
  expectError(safetensors("", ""), "expected '{'");
}

TEST_F(Safetensors, ManyTensorsTakeLinearTime) {
  std::string header = "{", numbers(50'000 * 4, 'x');
  for (int i = 0; i < 50'000; ++i)
    header += fmt::format(R"({}"layer.{}.w":{{"dtype":"F32","shape":[1],"data_offsets":[{},{}]}})", i ? "," : "", i,
                          i * 4, i * 4 + 4);
  auto begin = std::chrono::steady_clock::now();
  EXPECT_EQ(errorOf(safetensors(header + "}", numbers)), "");
  // A part of a second; minutes where each key is searched among all before it.
  EXPECT_LT(std::chrono::steady_clock::now() - begin, std::chrono::seconds(20));
  EXPECT_NE(errorOf(safetensors("{" + std::string(33 << 20, ' ') + "}", "")).find("at most 33554432 are read"),
            std::string::npos);
}

TEST_F(Safetensors, MutatedFilesAreReadOrRefused) {
  std::string good = safetensors(
      R"({"a":{"dtype":"F32","shape":[2],"data_offsets":[0,8]},"b":{"dtype":"I64","shape":[],"data_offsets":[8,16]}})",
      std::string(16, 'x'));
  std::mt19937 random(3);
  for (int round = 0; round < 500; ++round) {
    std::string bad = good;
    if (round % 4 == 0)
      bad.resize(random() % bad.size());
    else
      for (unsigned i = 0; i <= random() % 3; ++i) bad[random() % bad.size()] = char(random());
    errorOf(bad);
  }
}

} // namespace
