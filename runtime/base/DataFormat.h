//===- DataFormat.h - the formats of training data and their arguments ----===//
//
// The one table of data formats. The frontend reads it for what a model file may
// say of its data, the runtime for how it reads the files; both spell the
// manifest's keys as here. It needs the C++ standard library only.
//
// A new format is an enumerator, a row, and a reader in `runtime/data`, which the
// switch over the enumeration there asks for at build time.
//
//===----------------------------------------------------------------------===//

#ifndef TESSERA_RUNTIME_BASE_DATAFORMAT_H
#define TESSERA_RUNTIME_BASE_DATAFORMAT_H

#include <array>
#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <iterator>
#include <optional>
#include <string_view>

namespace tessera {

enum class DataFormat : uint8_t { Text, Tokens, Csv, Npy, Idx };

/// What a model file may say of a data source or of one of its fields, as `name = value`.
enum class DataArgument : uint8_t {
  Train,   ///< files of the training split
  Val,     ///< files of the validation split, or (of a source) the fraction of the training data held out for it
  Batch,   ///< rows of a step
  Seq,     ///< elements of a row
  Width,   ///< bits of a token in files without a header
  Shuffle, ///< whether an epoch permutes the rows
  Column,  ///< the first column of a field: its number, or its name in the header
  Below,   ///< exclusive upper bound of an integer field
  ValSeed, ///< chooses the rows that a fraction holds out for validation
  ValTail, ///< whether a fraction holds out the last rows instead
  Columns, ///< the columns of a field, one for each element
  Classes, ///< the words that are the values 0, 1, … of an integer field
  Missing, ///< the value of empty cells
};

struct DataArgumentInfo {
  DataArgument argument;
  const char *name;
  bool isSetting;             ///< a scalar of a source, which `--set SOURCE.NAME=VALUE` may replace
  bool isForIntegers = false; ///< an argument of integer fields only
};

inline constexpr DataArgumentInfo dataArguments[] = {
    {DataArgument::Train, "train", false},     {DataArgument::Val, "val", true},
    {DataArgument::Batch, "batch", true},      {DataArgument::Seq, "seq", true},
    {DataArgument::Width, "width", true},      {DataArgument::Shuffle, "shuffle", true},
    {DataArgument::Column, "column", false},   {DataArgument::Below, "below", false, true},
    {DataArgument::ValSeed, "val_seed", true}, {DataArgument::ValTail, "val_tail", true},
    {DataArgument::Columns, "columns", false}, {DataArgument::Classes, "classes", false, true},
    {DataArgument::Missing, "missing", false},
};

/// A set of arguments.
class DataArguments {
public:
  constexpr DataArguments(std::initializer_list<DataArgument> arguments) {
    for (DataArgument argument : arguments) bits |= bit(argument);
  }
  constexpr bool has(DataArgument argument) const { return bits & bit(argument); }

private:
  static constexpr uint32_t bit(DataArgument argument) { return uint32_t(1) << static_cast<uint32_t>(argument); }
  uint32_t bits = 0;
};

/// Where the fields of a row come from.
enum class FieldSource : uint8_t {
  Sequence, ///< the format gives them: `tokens` and `next`, the same values shifted by one
  Columns,  ///< the model file describes them, each by its columns of the source's files
  Files,    ///< the model file describes them, each with files of its own
};

struct DataFormatInfo {
  DataFormat format;
  const char *name; ///< in model files, manifests and messages
  FieldSource fields;
  DataArguments arguments;      ///< of a source
  DataArguments fieldArguments; ///< of a field that the model file describes
  int64_t values;               ///< number of values that an element of a sequence may take; 0: the files decide

  constexpr bool isSequence() const { return fields == FieldSource::Sequence; }
  /// Whether the files belong to the source; else each field has its own.
  constexpr bool hasFiles() const { return fields != FieldSource::Files; }
};

inline constexpr auto dataFormats = [] {
  using enum DataArgument;
  return std::to_array<DataFormatInfo>({
      {DataFormat::Text, "text", FieldSource::Sequence, {Train, Val, Batch, Seq, Shuffle}, {}, 256},
      {DataFormat::Tokens, "tokens", FieldSource::Sequence, {Train, Val, Batch, Seq, Width, Shuffle}, {}, 0},
      {DataFormat::Csv,
       "csv",
       FieldSource::Columns,
       {Train, Val, ValSeed, ValTail, Batch, Shuffle},
       {Column, Columns, Missing, Below, Classes},
       0},
      {DataFormat::Npy, "npy", FieldSource::Files, {Val, ValSeed, ValTail, Batch, Shuffle}, {Train, Val, Below}, 0},
      {DataFormat::Idx, "idx", FieldSource::Files, {Val, ValSeed, ValTail, Batch, Shuffle}, {Train, Val, Below}, 0},
  });
}();

/// The fields of a format that defines them: the values of a row, and for each the one after it.
inline constexpr const char *tokensField = "tokens", *nextField = "next";

constexpr const DataFormatInfo &infoOf(DataFormat format) { return dataFormats[static_cast<size_t>(format)]; }
constexpr const DataArgumentInfo &infoOf(DataArgument argument) { return dataArguments[static_cast<size_t>(argument)]; }

constexpr bool areDataTablesInOrder() {
  for (size_t i = 0; i < std::size(dataFormats); ++i)
    if (dataFormats[i].format != static_cast<DataFormat>(i)) return false;
  for (size_t i = 0; i < std::size(dataArguments); ++i)
    if (dataArguments[i].argument != static_cast<DataArgument>(i)) return false;
  return true;
}
static_assert(areDataTablesInOrder(), "rows stand in the order of the enumerators");

/// The format or argument of that name; none if it is unknown.
constexpr std::optional<DataFormat> dataFormatNamed(std::string_view name) {
  for (const DataFormatInfo &info : dataFormats)
    if (info.name == name) return info.format;
  return std::nullopt;
}
constexpr std::optional<DataArgument> dataArgumentNamed(std::string_view name) {
  for (const DataArgumentInfo &info : dataArguments)
    if (info.name == name) return info.argument;
  return std::nullopt;
}

/// Keys of the manifest's list of data sources (`docs/manifest.md`), and of the attribute `tsr.data` that becomes it.
namespace data_keys {
inline constexpr const char *name = "name";
inline constexpr const char *format = "format";
inline constexpr const char *batch = "batch";   ///< [axis, rows]
inline constexpr const char *seq = "seq";       ///< [axis, elements]; sequences only
inline constexpr const char *width = "width";   ///< missing: not declared
inline constexpr const char *splits = "splits"; ///< of a source, or of a field with files of its own
inline constexpr const char *train = "train";   ///< of `splits`: paths
inline constexpr const char *val = "val";       ///< of `splits`: paths
inline constexpr const char *valFraction = "val_fraction";
inline constexpr const char *valSeed = "val_seed"; ///< missing: the fraction is the end of the data
inline constexpr const char *shuffle = "shuffle";
inline constexpr const char *fields = "fields";
inline constexpr const char *type = "type";            ///< of a field
inline constexpr const char *axes = "axes";            ///< of a field
inline constexpr const char *column = "column";        ///< of a field: number or name of the first one
inline constexpr const char *columns = "columns";      ///< of a field: numbers and names, one for each element
inline constexpr const char *classes = "classes";      ///< of a field: the words that are 0, 1, …
inline constexpr const char *classAxes = "class_axes"; ///< of a field with classes: axes whose positions they are
inline constexpr const char *missing = "missing";      ///< of a field: the value of empty cells
} // namespace data_keys

} // namespace tessera

#endif // TESSERA_RUNTIME_BASE_DATAFORMAT_H
