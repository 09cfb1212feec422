// Columns by name, classes, missing values, and where messages say an error is.

#include "runtime/base/Error.h"
#include "runtime/data/DataSource.h"
#include "tests/runtime/TemporaryFolder.h"

#include <gtest/gtest.h>

#include <cstring>

using namespace tessera;
using namespace tessera::runtime;
using namespace tessera::tests;

namespace {

class Columns : public testing::Test {
protected:
  /// The only row of `text`, or the message.
  std::string rowOf(const std::string &text, FieldSpec field, int64_t elements = 1,
                    ElementType type = ElementType::F32) {
    DataSpec spec;
    spec.name = "d", spec.format = DataFormat::Csv;
    field.name = "x";
    spec.fields = {field};
    int64_t of = static_cast<int64_t>(field.classes.size());
    try {
      auto reader = openCsvRows(spec, {{"", {folder.write("c.csv", text)}}}, {}, {{"x", type, elements, of}});
      std::vector<float> numbers(elements);
      std::vector<int32_t> integers(elements);
      bool isFloat = type == ElementType::F32;
      reader->read(reader->rows() - 1, 0, isFloat ? static_cast<void *>(numbers.data()) : integers.data());
      return isFloat ? fmt::format("{}", fmt::join(numbers, " ")) : fmt::format("{}", fmt::join(integers, " "));
    } catch (const Error &e) {
      std::string said = e.what();
      return said.substr(said.find("c.csv"));
    }
  }
  static FieldSpec columns(std::vector<ColumnSpec> names) {
    FieldSpec field;
    field.columns = std::move(names);
    return field;
  }
  TemporaryFolder folder;
};

TEST_F(Columns, AreFoundByTheirNames) {
  std::string text = "id,\"height, cm\", age ,2020\n1,170,30,5\n";
  EXPECT_EQ(rowOf(text, columns({{"age"}})), "30");
  EXPECT_EQ(rowOf(text, columns({{"height, cm"}})), "170");
  EXPECT_EQ(rowOf(text, columns({{"2020"}})), "5"); // the first line is the header, whatever it holds
  EXPECT_EQ(rowOf(text, columns({{"age"}, {"id"}, {"", 3}}), 3), "30 1 5");
  EXPECT_EQ(rowOf(text, columns({{"age"}}), 2), "30 5"); // the first one of two
  EXPECT_EQ(rowOf("a \"\"b\"\",x\n1,2\n", columns({{"x"}})), "2");
  EXPECT_EQ(rowOf("\"a \"\"b\"\"\",x\n1,2\n", columns({{"a \"b\""}})), "1");
}

TEST_F(Columns, UnknownNamesAreErrors) {
  EXPECT_EQ(rowOf("id,age\n1,2\n", columns({{"ages"}})),
            "c.csv: line 1: field 'd.x' takes the column 'ages', which the header does not have; its columns are 'id', "
            "'age'");
  EXPECT_NE(rowOf("age,age\n1,2\n", columns({{"age"}})).find("two columns have this name"), std::string::npos);
  EXPECT_NE(
      rowOf("id,age\n1,2\n", columns({{"age"}}), 2).find("takes columns 1 to 2, the line has 2; columns are counted"),
      std::string::npos);
  EXPECT_NE(
      rowOf("id,age\n1,2\n", columns({{"", 2}})).find("takes column 2, the line has 2; columns are counted from 0"),
      std::string::npos);
}

TEST_F(Columns, MessagesNameLineColumnAndField) {
  std::string text = "id,age\n1,2\n3,young\n";
  EXPECT_EQ(rowOf(text, columns({{"age"}})),
            "c.csv: line 3, column 1 ('age'), byte 13: field 'd.x': expected a number, got 'young'");
  EXPECT_EQ(rowOf("1,2\n3,young\n", columns({{"", 1}})),
            "c.csv: line 2, column 1, byte 6: field 'd.x': expected a number, got 'young'");
  EXPECT_EQ(rowOf("1,2\n3,young\n", columns({{"", 1}}), 1, ElementType::I32),
            "c.csv: line 2, column 1, byte 6: field 'd.x': expected a number, got 'young'; if words are classes, name "
            "all: `classes = (\"…\", …)`");
}

TEST_F(Columns, MissingValuesAreErrorsOrHaveAValue) {
  FieldSpec field = columns({{"age"}});
  for (const char *cell : {"", "NA", "na", "N/A", "n/a", "#N/A", "<NA>", "NaN", "nan", "null", "NULL", "None", "none",
                           "?", "\"\"", " ", "\"NA\""}) {
    std::string text = fmt::format("id,age\n1,2\n3,{}\n", cell);
    field.missing.reset();
    std::string said = rowOf(text, field);
    EXPECT_NE(said.find("has no value; fill it in, or say what such cells are: `missing = 0`"), std::string::npos)
        << said;
    EXPECT_NE(said.find("line 3, column 1 ('age')"), std::string::npos) << said;
    field.missing = -1;
    EXPECT_EQ(rowOf(text, field), "-1") << cell;
  }
  EXPECT_NE(rowOf("id,age\n1,old\n", field).find("expected a number"), std::string::npos);
}

TEST_F(Columns, ClassesAreNumbersInTheirOrder) {
  FieldSpec field = columns({{"species"}});
  field.classes = {"setosa", "versicolor", "virginica", "NA"};
  auto row = [&](const std::string &cell) { return rowOf("id,species\n1," + cell + "\n", field, 1, ElementType::I32); };
  EXPECT_EQ(row("virginica"), "2");
  EXPECT_EQ(row(" versicolor "), "1");
  EXPECT_EQ(row("\"setosa\""), "0");
  EXPECT_EQ(row("NA"), "3"); // a class goes before a missing value
  EXPECT_EQ(row("setsa"), "c.csv: line 2, column 1 ('species'), byte 13: field 'd.x': expected one of the classes "
                          "'setosa', 'versicolor', 'virginica', 'NA', got 'setsa'");
  EXPECT_NE(row("").find("`missing = \"setosa\"`"), std::string::npos) << row("");
  field.missing = 1;
  EXPECT_EQ(row(""), "1");
  // A first line of classes alone is no header.
  field.columns = {{"", 0}};
  EXPECT_EQ(rowOf("virginica\n", field, 1, ElementType::I32), "2");
  EXPECT_EQ(rowOf("species\nvirginica\n", field, 1, ElementType::I32), "2");
}

TEST_F(Columns, LineBreaksWithinCellsAreRefused) {
  for (const char *end : {"\n", "\r\n"})
    EXPECT_EQ(
        rowOf(fmt::format("note,age{0}\"two{0}lines\",2{0}", end), columns({{"age"}})),
        fmt::format("c.csv: line 2, byte {}: a quoted cell is not closed at the end of its line; line breaks within "
                    "cells are not supported",
                    8 + strlen(end)));
  EXPECT_EQ(rowOf("note,age\n\"two", columns({{"age"}})), "c.csv: line 2, byte 9: a quoted cell is not closed");
}

TEST_F(Columns, ControlCharactersAreNotPrinted) {
  for (const std::string &said :
       {rowOf("i\033[31md,age\n1,2\n", columns({{"x"}})), rowOf("i\nd\n", columns({{"x\033[31m\n"}})),
        rowOf("a\033[2Jge\n1\nol\033[31md\n", columns({{"", 0}}))}) {
    EXPECT_EQ(said.find('\033'), std::string::npos) << said;
    EXPECT_EQ(said.find('\n'), std::string::npos) << said;
    EXPECT_NE(said.find("\\x1b["), std::string::npos) << said;
  }
}

} // namespace
