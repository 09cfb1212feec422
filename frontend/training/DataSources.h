//===- DataSources.h - the data of the training description -----------------===//

#ifndef TESSERA_FRONTEND_TRAINING_DATASOURCES_H
#define TESSERA_FRONTEND_TRAINING_DATASOURCES_H

#include "frontend/training/TrainingSettings.h"
#include "runtime/base/DataFormat.h"

namespace tessera {

/// A field of a data source.
struct SourceField {
  std::string name;
  bool isInteger = false;
  std::vector<AxisRef> axes;    ///< without the batch
  std::optional<int64_t> below; ///< integers are less than this
  std::optional<int64_t> column;
  std::vector<std::string> train, val;
  Span span;
};

/// A data source as the description gives it.
struct SourceDescription {
  std::string name;
  DataFormat format = DataFormat::Text;
  int64_t batch = 0, seq = 0;
  int64_t width = 0; ///< bits of a token; 0: the file says
  std::vector<std::string> train, val;
  double valFraction = 0;
  bool shuffle = true;
  std::vector<SourceField> fields;
  Span span;

  const DataFormatInfo &info() const { return infoOf(format); }
};

/// Reads the data descriptions, and makes their fields inputs of the entries.
class DataSources : ElaborationComponent {
public:
  DataSources(Elaboration &elaboration, TrainingSettings &settings, SettingOverrides &overrides);

  /// Reads all data descriptions; afterwards every dim has its size.
  void describe();
  llvm::ArrayRef<SourceDescription> all() const { return sources; }
  /// What `--set` reaches: SOURCE.ARGUMENT.
  std::vector<std::string> addresses() const;

  /// The index of a source; nothing if there is none of the name.
  std::optional<unsigned> find(llvm::StringRef name) const;
  /// A field of a source as a tensor of the current level.
  LanguageValue field(const LanguageValue &data, const ast::Name &field, Span span);
  /// The field that `Tensor::input` names holds integers less than `below`.
  void requireBelow(int input, int64_t below);
  /// Enters the bounds of all fields in the entry being built; they may be found after an input was first read.
  void setInputBounds();

  /// The sources with the keys that the manifest has.
  mlir::ArrayAttr attribute() const;

private:
  void describeSource(const ast::DataItem &item);
  bool readArguments(SourceDescription &source, const ast::CallExpr &call);
  bool readArgument(SourceDescription &source, const ast::Argument &arg);
  bool reportUnknownArgument(const SourceDescription &source, const ast::Argument &arg);
  bool readScalar(SourceDescription &source, DataArgument argument, const LanguageValue &value, Span span);
  bool readOverrides(SourceDescription &source);
  bool readPaths(const ast::Expr &expr, std::vector<std::string> &paths);
  bool describeField(SourceDescription &source, const ast::Argument &arg);
  bool readFieldArgument(const DataFormatInfo &format, SourceField &field, const ast::Argument &arg);
  bool readFieldNumber(SourceField &field, DataArgument argument, const ast::Expr &expr);
  bool checkField(const DataFormatInfo &format, const SourceField &field);
  void addSequenceFields(SourceDescription &source);
  bool checkComplete(const SourceDescription &source);
  void warnOfOverlaps(const SourceDescription &source);
  mlir::Value inputOf(const SourceDescription &source, const SourceField &field, int64_t rows);
  mlir::Value sliceOf(const SourceDescription &source, const SourceField &field, mlir::Value batch);

  Elaboration &elaboration;
  TrainingSettings &settings;
  SettingOverrides &overrides;
  std::vector<SourceDescription> sources;
};

} // namespace tessera

#endif // TESSERA_FRONTEND_TRAINING_DATASOURCES_H
