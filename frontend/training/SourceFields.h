//===- SourceFields.h - the fields of data that a model file describes ------===//

#ifndef TESSERA_FRONTEND_TRAINING_SOURCEFIELDS_H
#define TESSERA_FRONTEND_TRAINING_SOURCEFIELDS_H

#include "frontend/elaborate/Elaboration.h"
#include "runtime/base/DataFormat.h"

namespace tessera {

/// A column of a csv file: its name in the header, or its number.
struct SourceColumn {
  std::string name; ///< empty: by number
  int64_t number = 0;

  bool operator==(const SourceColumn &) const = default;
  std::string describe() const { return name.empty() ? std::to_string(number) : "\"" + name + "\""; }
};

/// A field of a data source.
struct SourceField {
  std::string name;
  bool isInteger = false;
  std::vector<AxisRef> axes;    ///< without the batch
  std::optional<int64_t> below; ///< integers are less than this
  /// One for each element, or the first one if there is one only.
  std::vector<SourceColumn> columns;
  std::vector<std::string> classes;     ///< the words that are 0, 1, …
  std::vector<std::string> positionsOn; ///< the axes that the model reads at its values
  std::optional<double> missing;        ///< the value of empty cells
  std::vector<std::string> train, val;
  Span span;

  /// In a row; bounded, so that columns can be counted.
  int64_t elements() const;
};

/// The argument, if it is one that the set has.
std::optional<DataArgument> argumentNamed(llvm::StringRef name, DataArguments allowed);
std::vector<llvm::StringRef> namesOf(DataArguments arguments);

/// Reads descriptions of fields, such as `pixels = float[pixel](column = 0)`.
class SourceFields : ElaborationComponent {
public:
  explicit SourceFields(Elaboration &elaboration) : ElaborationComponent(elaboration.calls), elaboration(elaboration) {}

  /// Nothing after an error.
  std::optional<SourceField> read(const DataFormatInfo &format, const ast::Argument &arg);
  /// "a.txt" or ("a.txt", "b.txt"). `what` is expected otherwise.
  bool readStrings(const ast::Expr &expr, std::vector<std::string> &strings, llvm::StringRef what);
  /// Warns of fields of a csv source that share columns: more often a column miscounted than meant.
  void warnOfOverlaps(llvm::ArrayRef<SourceField> fields);

private:
  bool readArgument(const DataFormatInfo &format, SourceField &field, const ast::Argument &arg);
  bool refuseArgument(const DataFormatInfo &format, const SourceField &field, const ast::Argument &arg);
  bool readBound(SourceField &field, const ast::Expr &expr);
  bool readColumn(SourceField &field, const ast::Expr &expr);
  bool readColumns(SourceField &field, const ast::Expr &expr);
  void warnOfRepetition(const SourceField &field, Span span);
  bool readClasses(SourceField &field, const ast::Expr &expr);
  bool readMissing(SourceField &field, const ast::Expr &expr);
  bool checkPlace(const DataFormatInfo &format, const SourceField &field);
  bool checkClasses(SourceField &field);

  Elaboration &elaboration;
};

/// The paths of both splits, with the keys that the manifest has.
mlir::Attribute splitsAttribute(mlir::Builder &b, llvm::ArrayRef<std::string> train, llvm::ArrayRef<std::string> val);
/// [name, size].
mlir::Attribute axisAttribute(mlir::Builder &b, llvm::StringRef name, int64_t size);
/// A field with the keys that the manifest has.
mlir::Attribute fieldAttribute(mlir::Builder &b, const SourceField &field);

} // namespace tessera

#endif // TESSERA_FRONTEND_TRAINING_SOURCEFIELDS_H
