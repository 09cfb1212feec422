// Every format, with valid and malformed files.

#include "runtime/data/DataSource.h"
#include "runtime/base/Error.h"
#include "runtime/base/MappedFile.h"
#include "tests/runtime/TemporaryFolder.h"
#include "tests/runtime/data/FileContents.h"

#include <array>
#include <gtest/gtest.h>

#include <limits>
#include <random>
#include <sys/stat.h>

using namespace tessera;
using namespace tessera::runtime;
using namespace tessera::tests;
using enum DataFormat;

namespace fs = std::filesystem;

namespace {

class Data : public testing::Test {
protected:
  using Open = std::unique_ptr<RowReader> (*)(const DataSpec &, const SplitPaths &, Portion, std::vector<FieldRequest>);

  std::unique_ptr<RowReader> open(Open opener, DataFormat format, const std::string &path,
                                  std::vector<FieldRequest> requests, Portion portion = {}) {
    spec.name = "d", spec.format = format, spec.seq = 4;
    SplitPaths paths;
    if (!infoOf(format).hasFiles())
      paths[requests[0].field] = {path};
    else
      paths[""] = {path};
    return opener(spec, paths, portion, requests);
  }

  std::vector<FieldRequest> tokenFields(int64_t of = 0) {
    return {{"tokens", ElementType::I32, 4, of}, {"next", ElementType::I32, 4, of}};
  }

  template <typename T> std::vector<T> row(const RowReader &reader, int64_t row, size_t request, int64_t count) {
    std::vector<T> numbers(count);
    reader.read(row, request, numbers.data());
    return numbers;
  }

  /// Nothing is allocated under the guard, which may leave by a jump.
  void readUnderGuard(const RowReader &reader, int64_t row) {
    std::array<int32_t, 4> numbers;
    withMappedFiles([&] { reader.read(row, 0, numbers.data()); });
  }

  template <typename Action> std::string errorOf(Action action) {
    try {
      action();
    } catch (const Error &e) {
      return e.what();
    }
    return "no error";
  }

  /// Truncates and mutates a good file: each variant is read whole or refused by an Error.
  void mutate(Open opener, DataFormat format, const std::string &good, std::vector<FieldRequest> requests) {
    std::mt19937 random(1);
    for (int round = 0; round < 200; ++round) {
      std::string bad = good;
      if (round % 3 == 0)
        bad.resize(random() % bad.size());
      else
        for (unsigned i = 0; i <= random() % 3; ++i) bad[random() % std::min<size_t>(bad.size(), 140)] = char(random());
      std::string path = folder.write("mutated", bad);
      try {
        auto reader = open(opener, format, path, requests);
        std::vector<char> row(64);
        for (int64_t i = 0; i < std::min<int64_t>(reader->rows(), 100); ++i)
          for (size_t k = 0; k < requests.size(); ++k) reader->read(i, k, row.data());
      } catch (const Error &e) {
        EXPECT_NE(std::string(e.what()), "");
      }
    }
  }

  TemporaryFolder folder;
  DataSpec spec;
};

TEST_F(Data, TextWindows) {
  auto reader = open(openTokenRows, Text, folder.write("t", "abcdefghijk"), tokenFields());
  ASSERT_EQ(reader->rows(), 2); // 11 bytes: windows of 5 with a stride of 4
  EXPECT_EQ(row<int32_t>(*reader, 0, 0, 4), (std::vector<int32_t>{'a', 'b', 'c', 'd'}));
  EXPECT_EQ(row<int32_t>(*reader, 0, 1, 4), (std::vector<int32_t>{'b', 'c', 'd', 'e'}));
  EXPECT_EQ(row<int32_t>(*reader, 1, 1, 4), (std::vector<int32_t>{'f', 'g', 'h', 'i'}));
}

TEST_F(Data, SequencesWithoutNextValuesFillTheFile) {
  EXPECT_EQ(open(openTokenRows, Text, folder.write("t", "abcdefgh"), tokenFields())->rows(), 1);
  EXPECT_EQ(open(openTokenRows, Text, folder.write("t", "abcdefghijk"), tokenFields())->leftOver(), 2);
  spec.readsNext = false;
  std::vector<FieldRequest> tokens = {{"tokens", ElementType::I32, 4, 0}};
  auto reader = open(openTokenRows, Text, folder.write("t", "abcdefgh"), tokens);
  ASSERT_EQ(reader->rows(), 2);
  EXPECT_EQ(reader->leftOver(), 0);
  EXPECT_EQ(row<int32_t>(*reader, 1, 0, 4), (std::vector<int32_t>{'e', 'f', 'g', 'h'}));
  EXPECT_EQ(open(openTokenRows, Text, folder.write("t", "abcdefghijk"), tokens)->leftOver(), 3);
  EXPECT_EQ(errorOf([&] { open(openTokenRows, Text, folder.write("short", "abc"), tokens); }),
            fmt::format("data 'd': 3 values in {} are too few for one sequence of 4", folder / "short"));
  // Next values that are read are in the file, whatever the description says.
  std::vector<FieldRequest> next = {{"next", ElementType::I32, 4, 0}};
  reader = open(openTokenRows, Text, folder.write("t", "abcdefgh"), next);
  EXPECT_EQ(reader->rows(), 1);
  EXPECT_EQ(reader->leftOver(), 3);
  EXPECT_EQ(row<int32_t>(*reader, 0, 0, 4), (std::vector<int32_t>{'b', 'c', 'd', 'e'}));
}

TEST_F(Data, WindowsStayInsideFiles) {
  folder.write("t1", "abcdef");
  folder.write("t2", "uvwxyz");
  auto reader = open(openTokenRows, Text, folder / "t*", tokenFields());
  ASSERT_EQ(reader->rows(), 2);
  EXPECT_EQ(row<int32_t>(*reader, 1, 0, 4), (std::vector<int32_t>{'u', 'v', 'w', 'x'}));
}

TEST_F(Data, TailAndHeadDoNotOverlap) {
  std::string text;
  for (int i = 0; i < 100; ++i) text += char(i);
  std::string path = folder.write("t", text);
  auto head = open(openTokenRows, Text, path, tokenFields(), {Portion::Training, 0.2});
  auto tail = open(openTokenRows, Text, path, tokenFields(), {Portion::Validation, 0.2});
  EXPECT_EQ(head->rows(), 19);
  EXPECT_EQ(tail->rows(), 4);
  EXPECT_EQ(row<int32_t>(*head, 18, 1, 4).back(), 76);
  EXPECT_EQ(row<int32_t>(*tail, 0, 0, 4).front(), 80);
}

TEST_F(Data, Tokens) {
  std::vector<uint16_t> small = {1, 2, 3, 4, 50256, 6};
  std::vector<uint32_t> large = {1, 2, 3, 4, 100000, 6};
  for (const std::string &bytes : {bytesOf(small), tokenFile(20240520, 1, 6, bytesOf(small))}) {
    auto reader = open(openTokenRows, Tokens, folder.write("t", bytes), tokenFields(50257));
    ASSERT_EQ(reader->rows(), 1);
    EXPECT_EQ(row<int32_t>(*reader, 0, 1, 4), (std::vector<int32_t>{2, 3, 4, 50256}));
  }
  auto reader =
      open(openTokenRows, Tokens, folder.write("t", tokenFile(20240801, 7, 6, bytesOf(large))), tokenFields());
  EXPECT_EQ(row<int32_t>(*reader, 0, 1, 4), (std::vector<int32_t>{2, 3, 4, 100000}));
}

TEST_F(Data, TokensOutOfRangeNameFileAndByte) {
  std::vector<uint16_t> numbers = {1, 2, 3, 4, 60000, 6};
  auto reader =
      open(openTokenRows, Tokens, folder.write("t", tokenFile(20240520, 1, 6, bytesOf(numbers))), tokenFields(50257));
  EXPECT_EQ(errorOf([&] { row<int32_t>(*reader, 0, 1, 4); }),
            folder / "t" + ": byte 1032: value 60000 is out of range, the model takes 0 to 50256");
}

TEST_F(Data, TokenHeaders) {
  std::string numbers(12, '\0');
  auto error = [&](const std::string &bytes) {
    return errorOf([&] { open(openTokenRows, Tokens, folder.write("t", bytes), tokenFields()); });
  };
  EXPECT_NE(error(tokenFile(20240520, 2, 6, numbers)).find("byte 4: expected version 1, got 2"), std::string::npos);
  EXPECT_NE(error(tokenFile(20240520, 1, 7, numbers)).find("byte 1036"), std::string::npos);
  EXPECT_NE(error(tokenFile(20240520, 1, -1, numbers)).find("byte 8"), std::string::npos);
  EXPECT_NE(error(tokenFile(20240520, 1, 2147483647, numbers)).find("the file has 1036 bytes"), std::string::npos);
  EXPECT_NE(error(tokenFile(20240520, 1, 6, numbers).substr(0, 100)).find("byte 100: the header is truncated"),
            std::string::npos);
  EXPECT_NE(error("abc").find("not a multiple of 2"), std::string::npos);
  EXPECT_NE(error("").find("byte 0: the file is empty"), std::string::npos);
  EXPECT_NE(error("abcd").find("too few"), std::string::npos);
}

TEST_F(Data, Csv) {
  spec.fields = {{"x", {}, 1, {}}, {"y", {}, 0, {}}};
  std::vector<FieldRequest> fields = {{"x", ElementType::F32, 2, 0}, {"y", ElementType::I32, 1, 3}};
  for (const char *text :
       {"y,a,b\n2,0.5,\"-1e3\"\n1,3,+4\n", "2,0.5,-1e3\r\n1,3,4", "\"a \"\"y\"\"\",b,c\n2,.5,-1000\n\n1, 3,4 \n"}) {
    auto reader = open(openCsvRows, Csv, folder.write("c", text), fields);
    ASSERT_EQ(reader->rows(), 2) << text;
    EXPECT_EQ(row<float>(*reader, 0, 0, 2), (std::vector<float>{0.5, -1000}));
    EXPECT_EQ(row<int32_t>(*reader, 1, 1, 1), (std::vector<int32_t>{1}));
  }
  auto error = [&](const std::string &text) {
    return errorOf([&] { open(openCsvRows, Csv, folder.write("c", text), fields); });
  };
  EXPECT_NE(error("1,2,3\n1,2\n").find("line 2, byte 6: expected 3 columns as above, got 2"), std::string::npos);
  EXPECT_NE(error("1,2,3\n3,2,1\n").find("value 3 is out of range"), std::string::npos);
  EXPECT_NE(error("1,2,3\n0.5,2,1\n").find("out of range"), std::string::npos);
  std::vector<FieldRequest> unbounded = {{"y", ElementType::I32, 1, 0}};
  auto reader = open(openCsvRows, Csv, folder.write("c", "-5\n"), unbounded);
  EXPECT_EQ(row<int32_t>(*reader, 0, 0, 1), (std::vector<int32_t>{-5}));
  EXPECT_NE(errorOf([&] {
              open(openCsvRows, Csv, folder.write("c", "0.5\n"), unbounded);
            }).find("whole numbers from -2147483648 to 2147483647"),
            std::string::npos);
  EXPECT_NE(error("1,2,\"3\n").find("not closed"), std::string::npos);
  EXPECT_NE(error("1,2\n").find("takes columns 1 to 2"), std::string::npos);
  EXPECT_NE(error("a,b,c\n").find("no rows"), std::string::npos);
  EXPECT_NE(error("1,+-5,3\n").find("expected a number, got '+-5'"), std::string::npos);
  for (const char *other : {"1;2;3\n4;5;6\n", "1\t2\t3\n4\t5\t6\n"})
    EXPECT_NE(error(other).find("columns are separated by commas"), std::string::npos) << error(other);
  mutate(openCsvRows, Csv, "y,a,b\n2,0.5,\"-1e3\"\n1,3,+4\n0,3,+4\n1,7,8\n", fields);
}

TEST_F(Data, Npy) {
  std::vector<FieldRequest> real = {{"x", ElementType::F32, 2, 0}}, whole = {{"x", ElementType::I32, 2, 10}};
  std::string floats = npyFile("<f4", "(2, 2)", bytesOf(std::vector<float>{1, 2, 3.5, 4}));
  auto reader = open(openArrayRows, Npy, folder.write("n", floats), real);
  EXPECT_EQ(row<float>(*reader, 1, 0, 2), (std::vector<float>{3.5, 4}));
  std::string longs = npyFile("<i8", "(2, 1, 2)", bytesOf(std::vector<int64_t>{1, 2, 3, 11}));
  reader = open(openArrayRows, Npy, folder.write("n", longs), whole);
  EXPECT_EQ(row<int32_t>(*reader, 0, 0, 2), (std::vector<int32_t>{1, 2}));
  EXPECT_NE(errorOf([&] { row<int32_t>(*reader, 1, 0, 2); }).find("(row 1): value 11 is out of range"),
            std::string::npos);
  reader = open(openArrayRows, Npy, folder.write("n", npyFile(">i2", "(1, 2)", std::string("\0\5\0\6", 4))), whole);
  EXPECT_EQ(row<int32_t>(*reader, 0, 0, 2), (std::vector<int32_t>{5, 6}));
  auto error = [&](const std::string &bytes) {
    return errorOf([&] { open(openArrayRows, Npy, folder.write("n", bytes), real); });
  };
  EXPECT_NE(error(floats.substr(0, floats.size() - 1)).find("needs 16 bytes"), std::string::npos);
  EXPECT_NE(error(npyFile("<f4", "(9223372036854775807, 2)", "")).find("overflow"), std::string::npos);
  EXPECT_NE(error(npyFile("<f4", "(4611686018427387904, 4)", "")).find("overflow"), std::string::npos);
  EXPECT_NE(error(npyFile("|O", "(2, 2)", "")).find("unsupported element type"), std::string::npos);
  EXPECT_NE(error(npyFile("<f4", "(2, 3)", std::string(24, 'x'))).find("a row has 3 elements"), std::string::npos);
  EXPECT_NE(error("hello").find("not an npy file"), std::string::npos);
  EXPECT_NE(errorOf([&] {
              open(openArrayRows, Npy, folder.write("n", npyFile("|u1", "(2, 3)", "xxxxxx")),
                   {{"x", ElementType::I32, 1, 3}});
            }).find("takes 1, one class number; save one-hot labels as labels.argmax(axis=1)"),
            std::string::npos);
  EXPECT_NE(error("PK\x03\x04 and more").find("this is an archive, as numpy.savez writes it"), std::string::npos);
  std::string structured = npyFile("<f4", "(2,)", std::string(16, 'x'));
  structured.replace(structured.find("'<f4'"), 5, "[('a', '<f4'), ('b', '<f4')]");
  EXPECT_NE(error(structured).find("several parts (a structured array)"), std::string::npos) << error(structured);
  mutate(openArrayRows, Npy, floats, real);
}

TEST_F(Data, Idx) {
  std::vector<FieldRequest> fields = {{"x", ElementType::F32, 4, 0}};
  std::string images = idxFile(8, {3, 2, 2}, std::string("\0\1\2\3\4\5\6\7\10\11\12\377", 12));
  for (const std::string &bytes : {images, gzip(images)}) {
    auto reader = open(openArrayRows, Idx, folder.write("i", bytes), fields);
    ASSERT_EQ(reader->rows(), 3);
    EXPECT_EQ(row<float>(*reader, 2, 0, 4), (std::vector<float>{8, 9, 10, 255}));
  }
  auto tail = open(openArrayRows, Idx, folder.write("i", images), fields, {Portion::Validation, 0.34});
  EXPECT_EQ(tail->rows(), 1);
  EXPECT_EQ(row<float>(*tail, 0, 0, 4), (std::vector<float>{8, 9, 10, 255}));
  auto error = [&](const std::string &bytes) {
    return errorOf([&] { open(openArrayRows, Idx, folder.write("i", bytes), fields); });
  };
  EXPECT_NE(error(idxFile(8, {0x7fffffff, 0x7fffffff, 0x7fffffff}, "")).find("overflow"), std::string::npos);
  EXPECT_NE(error(idxFile(7, {3}, "abc")).find("byte 2: unknown element type"), std::string::npos);
  EXPECT_NE(error(images.substr(0, 9)).find("truncated"), std::string::npos);
  EXPECT_NE(error(gzip(images).substr(0, 20)).find("gzip data damaged or truncated"), std::string::npos);
  EXPECT_NE(error(gzip(images) + "x").find("after the end"), std::string::npos);
  std::string halves = gzip(images.substr(0, 17)) + gzip(images.substr(17));
  auto joined = open(openArrayRows, Idx, folder.write("i", halves), fields);
  EXPECT_EQ(row<float>(*joined, 2, 0, 4), (std::vector<float>{8, 9, 10, 255}));
  EXPECT_NE(error(gzip(images + "more")).find("claims 28 bytes, the inflated data are more"), std::string::npos);
  EXPECT_NE(error(gzip(idxFile(8, {1000, 2, 2}, "few"))).find("the file has 3"), std::string::npos);
  EXPECT_NE(error(gzip(std::string(100'000, 'x'))).find("not an IDX file"), std::string::npos);
  std::string claim = error(gzip(idxFile(8, {1 << 20, 32, 96}, std::string(100'000, 'x')))); // 3 GiB
  EXPECT_NE(claim.find("claims 3221225488 bytes, which"), std::string::npos) << claim;
  mutate(openArrayRows, Idx, images, fields);
  mutate(openArrayRows, Idx, gzip(images), fields);
}

// With the rank of the field, an equal number of elements is not enough.
TEST_F(Data, AxesOfAFileAreThoseOfTheField) {
  auto opened = [&](const std::string &shape, std::vector<AxisSpec> axes) {
    int64_t elements = 1;
    for (const AxisSpec &axis : axes) elements *= axis.size;
    spec.fields = {{"x", axes, 0, {}}};
    std::string path = folder.write("n", npyFile("<f4", shape, std::string(elements * 8, '\0')));
    std::vector<std::string> notes;
    std::string said =
        errorOf([&] { open(openArrayRows, Npy, path, {{"x", ElementType::F32, elements, 0}})->addNotes(notes); });
    EXPECT_LE(notes.size(), 1u);
    return notes.empty() ? said : "note: " + notes[0];
  };
  std::string permuted = opened("(2, 2, 3)", {{"a", 3}, {"b", 2}});
  EXPECT_NE(permuted.find("the shape of the file is (rows, 2, 3), the axes of field 'd.x' are [a: 3, b: 2]"),
            std::string::npos)
      << permuted;
  EXPECT_NE(permuted.find("declare it as `float[b, a]`"), std::string::npos) << permuted;
  for (const char *shape : {"(2, 1, 6)", "(2, 6, 1)"})
    EXPECT_NE(opened(shape, {{"a", 3}, {"b", 2}}).find("save rows of these sizes"), std::string::npos) << shape;
  EXPECT_NE(opened("(2, 3, 4)", {{"a", 2}, {"b", 2}, {"c", 3}}).find("declare the axes"), std::string::npos);
  EXPECT_EQ(opened("(2, 3, 2)", {{"a", 3}, {"b", 2}}), "no error");
  EXPECT_EQ(opened("(2, 2, 3)", {{"pixel", 6}}), "no error"); // the field has no order that could be wrong
  EXPECT_EQ(opened("(2, 3, 2)", {{"channel", 1}, {"a", 3}, {"b", 2}}), "no error");
  EXPECT_EQ(opened("(2, 1)", {}), "no error");
  for (const char *shape : {"(2, 12)", "(2, 3, 4)"}) {
    std::string guessed = opened(shape, {{"a", 3}, {"b", 2}, {"c", 2}});
    EXPECT_NE(guessed.find("note: "), std::string::npos) << guessed;
    EXPECT_NE(guessed.find("read as [a: 3, b: 2, c: 2]"), std::string::npos) << guessed;
  }
}

TEST_F(Data, NonFiniteValuesAreRefused) {
  float nan = std::numeric_limits<float>::quiet_NaN(), infinity = std::numeric_limits<float>::infinity();
  FieldRequest x{"x", ElementType::F32, 2, 0};
  for (float bad : {nan, infinity, -infinity}) {
    std::string path = folder.write("x.npy", npyFile("<f4", "(2, 2)", bytesOf<float>({1, 2, 3, bad})));
    auto reader = open(openArrayRows, Npy, path, {x});
    EXPECT_EQ(row<float>(*reader, 0, 0, 2), (std::vector<float>{1, 2}));
    std::string said = errorOf([&] { row<float>(*reader, 1, 0, 2); });
    EXPECT_NE(said.find(fmt::format("byte {} (row 1): value", fs::file_size(path) - 4)), std::string::npos) << said;
  }
  std::string large = folder.write("x.npy", npyFile("<f8", "(1, 2)", bytesOf<double>({1, 1e300})));
  auto reader = open(openArrayRows, Npy, large, {x});
  EXPECT_NE(errorOf([&] { row<float>(*reader, 0, 0, 2); }).find("not a finite"), std::string::npos);
  spec.fields = {{"x", {}, 0, {}}};
  for (const char *bad : {"nan", "inf", "-inf", "1e40", "1e999"}) {
    std::string path = folder.write("x.csv", fmt::format("1,2\n3,{}\n", bad));
    std::string said = errorOf([&] { open(openCsvRows, Csv, path, {x}); });
    bool isMissing = std::string(bad) == "nan";
    std::string expected = fmt::format("line 2, column 1, byte 6: field 'd.x': {} {}", isMissing ? "the cell" : "value",
                                       isMissing ? "'nan' has no value" : bad);
    EXPECT_NE(said.find(expected), std::string::npos) << said;
  }
  std::string small = folder.write("x.csv", "1e-999,-1e-320\n");
  EXPECT_EQ(row<float>(*open(openCsvRows, Csv, small, {x}), 0, 0, 2), (std::vector<float>{0, 0}));
}

TEST_F(Data, PartsOfASourceShareMemory) {
  auto heldBy = [](const RowReader &head, const RowReader &tail) {
    HeldMemory held;
    head.addHeld(held);
    size_t one = held.size();
    tail.addHeld(held);
    EXPECT_EQ(held.size(), one);
    int64_t bytes = 0;
    for (const auto &[address, size] : held) bytes += size;
    return bytes;
  };
  std::vector<FieldRequest> x = {{"x", ElementType::F32, 4, 0}};
  std::string path = folder.write("i", gzip(idxFile(8, {1000, 2, 2}, std::string(4000, 'x'))));
  auto head = open(openArrayRows, Idx, path, x, {Portion::Training, 0.5}),
       tail = open(openArrayRows, Idx, path, x, {Portion::Validation, 0.5});
  EXPECT_EQ(heldBy(*head, *tail), 4016);
  spec.fields = {{"x", {}, 0, {}}};
  path = folder.write("c", "1,2,3,4\n5,6,7,8\n");
  head = open(openCsvRows, Csv, path, x, {Portion::Training, 0.5}),
  tail = open(openCsvRows, Csv, path, x, {Portion::Validation, 0.5});
  EXPECT_EQ(heldBy(*head, *tail), 32);
  EXPECT_EQ(row<float>(*tail, 0, 0, 4), (std::vector<float>{5, 6, 7, 8}));
  folder.write("c", "9,9,9,9\n5,6,7,8\n1,1,1,1\n"); // another state of the file is another table
  EXPECT_EQ(row<float>(*open(openCsvRows, Csv, path, x), 0, 0, 4), (std::vector<float>{9, 9, 9, 9}));
}

TEST_F(Data, TablesHoldTheirRowsOnly) {
  auto heldBy = [](const RowReader &reader) {
    HeldMemory held;
    reader.addHeld(held);
    return held.begin()->second;
  };
  std::string rows = "a,b,c,d\n";
  for (int i = 0; i < 1100; ++i) rows += "1,2,3,4\n\r\n"; // empty lines are no rows
  spec.fields = {{"x", {}, 0, {}}};
  std::string path = folder.write("many", rows);
  auto whole = open(openCsvRows, Csv, path, {{"x", ElementType::F32, 4, 0}});
  EXPECT_EQ(heldBy(*whole), 1100 * 16);
  // One column eight times: more bytes than twice the file.
  std::vector<FieldRequest> same = {{"x", ElementType::F32, 8, 0}};
  spec.fields[0].columns.assign(8, {"", 0});
  path = folder.write("narrow", "1\n2\n3\n");
  whole = open(openCsvRows, Csv, path, same);
  EXPECT_EQ(heldBy(*whole), 3 * 32);
  EXPECT_EQ(row<float>(*whole, 2, 0, 8), std::vector<float>(8, 3));
}

TEST_F(Data, WideTokensAreNotReadAsNarrowTokens) {
  std::vector<uint32_t> wide(1000, 7);
  std::string path = folder.write("t", bytesOf(wide));
  std::string said = errorOf([&] { open(openTokenRows, Tokens, path, tokenFields()); });
  EXPECT_NE(said.find("say width = 32"), std::string::npos) << said;
  wide[30] = 70'000;
  folder.write("t", bytesOf(wide));
  EXPECT_EQ(open(openTokenRows, Tokens, path, tokenFields())->rows(), 499);
  folder.write("t", std::string(4000, '\0'));
  EXPECT_EQ(open(openTokenRows, Tokens, path, tokenFields())->rows(), 499);
}

TEST_F(Data, ExistingPathsAreNotPatterns) {
  for (const char *name : {"a[1].t", "a1.t"}) folder.write(name, "x");
  EXPECT_EQ(expandPatterns({folder / "a[1].t"}), std::vector<std::string>{folder / "a[1].t"});
  EXPECT_EQ(expandPatterns({folder / "a[12].t"}), std::vector<std::string>{folder / "a1.t"});
  ASSERT_EQ(mkfifo((folder / "fifo").c_str(), 0600), 0);
  EXPECT_NE(errorOf([&] { MappedFile file(folder / "fifo"); }).find("not a regular file"), std::string::npos);
}

TEST_F(Data, KeysOfOptionsAreWordsAndDots) {
  EXPECT_EQ(keyOfOption("d.val.x_2=a=b.npy"), "d.val.x_2");
  for (const char *path : {"a.npy", "./seed=3/x.npy", "a b=c", "=a", ""}) EXPECT_EQ(keyOfOption(path), "") << path;
}

TEST_F(Data, FileTruncatedDuringAReadIsAnError) {
  std::string path = folder.write("t", std::string(1 << 20, 'a'));
  auto reader = open(openTokenRows, Text, path, tokenFields());
  fs::resize_file(path, 5000);
  EXPECT_EQ(row<int32_t>(*reader, 0, 0, 4)[0], 'a');
  for (int round = 0; round < 2; ++round) {
    std::string said = errorOf([&] { readUnderGuard(*reader, 100'000); });
    EXPECT_NE(said.find("t: byte 400000: the file was truncated"), std::string::npos) << said;
  }
  EXPECT_EXIT(row<int32_t>(*reader, 100'000, 0, 4), testing::ExitedWithCode(1), "byte 400000: the file was truncated");
}

TEST_F(Data, TruncationIsDetectedInAnyOfManyFiles) {
  std::vector<MappedFile> others;
  std::string other = folder.write("other", "x");
  for (int i = 0; i < 300; ++i) others.emplace_back(other);
  std::string path = folder.write("t", std::string(1 << 20, 'a'));
  auto reader = open(openTokenRows, Text, path, tokenFields());
  fs::resize_file(path, 5000);
  std::string said = errorOf([&] { readUnderGuard(*reader, 100'000); });
  EXPECT_NE(said.find("t: byte 400000: the file was truncated"), std::string::npos) << said;
}

TEST_F(Data, GzipIsRefusedByUncompressedFormats) {
  std::string path = folder.write("t.gz", gzip(std::string(1000, 'a')));
  spec.fields = {{"x", {}, 0, {}}};
  for (DataFormat format : {Text, Tokens, Csv}) {
    bool isCsv = format == Csv;
    auto fields = isCsv ? std::vector<FieldRequest>{{"x", ElementType::F32, 1, 0}} : tokenFields();
    std::string said = errorOf([&] { open(isCsv ? openCsvRows : openTokenRows, format, path, fields); });
    EXPECT_NE(said.find("gunzip"), std::string::npos) << said;
  }
}

TEST_F(Data, EmptyPartIsExplained) {
  spec.fields = {{"x", {}, 0, {}}};
  Portion tail{Portion::Validation, 0.1};
  std::vector<FieldRequest> one = {{"x", ElementType::F32, 1, 0}};
  std::string csv = folder.write("three.csv", "1\n2\n3\n");
  std::string npy = folder.write("three.npy", npyFile("<f4", "(3, 1)", bytesOf<float>({1, 2, 3})));
  std::string text = folder.write("three.txt", "abc");
  for (const std::string &said : {errorOf([&] { open(openCsvRows, Csv, csv, one, tail); }),
                                  errorOf([&] { open(openArrayRows, Npy, npy, one, tail); }),
                                  errorOf([&] { open(openTokenRows, Text, text, tokenFields(), tail); })})
    EXPECT_NE(said.find("val = 0.1 holds out none of 3"), std::string::npos) << said;
}

TEST_F(Data, MutatedTokenFiles) {
  std::vector<uint16_t> numbers(50, 7);
  mutate(openTokenRows, Tokens, tokenFile(20240520, 1, 50, bytesOf(numbers)), tokenFields(50257));
}

} // namespace
