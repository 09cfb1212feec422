//===- DataSources.h - the data of the training description -----------------===//

#ifndef TESSERA_FRONTEND_TRAINING_DATASOURCES_H
#define TESSERA_FRONTEND_TRAINING_DATASOURCES_H

#include "frontend/training/SourceFields.h"
#include "frontend/training/TrainingSettings.h"

namespace tessera {

/// A data source as the description gives it.
struct SourceDescription {
  std::string name;
  DataFormat format = DataFormat::Text;
  int64_t batch = 0, seq = 0;
  int64_t width = 0; ///< bits of a token; 0: the file says
  std::vector<std::string> train, val;
  double valFraction = 0;
  int64_t valSeed = 0;  ///< chooses the rows of the fraction
  bool valTail = false; ///< the fraction is the last rows
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
  /// The field that `Tensor::input` names holds positions on an axis.
  void notePositions(int input, llvm::StringRef axis);
  /// Enters the bounds of all fields in the entry being built; they may be found after an input was first read.
  void setInputBounds();

  /// Whether a field has the axis.
  bool hasAxis(llvm::StringRef name) const;
  /// The sources with the keys that the manifest has.
  mlir::ArrayAttr attribute() const;

private:
  void describeSource(const ast::DataItem &item);
  bool readArguments(SourceDescription &source, const ast::CallExpr &call);
  bool readArgument(SourceDescription &source, const ast::Argument &arg);
  bool reportUnknownArgument(const SourceDescription &source, const ast::Argument &arg);
  bool readScalar(SourceDescription &source, DataArgument argument, const LanguageValue &value, Span span);
  bool readOverrides(SourceDescription &source);
  bool readValidation(SourceDescription &source, DataArgument argument, const LanguageValue &value);
  bool describeField(SourceDescription &source, const ast::Argument &arg);
  void addSequenceFields(SourceDescription &source);
  bool checkComplete(const SourceDescription &source);
  void warnOfUnusedValidation(const SourceDescription &source, const ast::CallExpr &call);
  mlir::Value inputOf(const SourceDescription &source, const SourceField &field, int64_t rows);
  mlir::Value sliceOf(const SourceDescription &source, const SourceField &field, mlir::Value batch);

  Elaboration &elaboration;
  TrainingSettings &settings;
  SettingOverrides &overrides;
  SourceFields fields;
  std::vector<SourceDescription> sources;
};

} // namespace tessera

#endif // TESSERA_FRONTEND_TRAINING_DATASOURCES_H
