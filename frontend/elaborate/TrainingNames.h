//===- TrainingNames.h - what the training description adds to names --------===//

#ifndef TESSERA_FRONTEND_ELABORATE_TRAININGNAMES_H
#define TESSERA_FRONTEND_ELABORATE_TRAININGNAMES_H

#include "frontend/elaborate/Values.h"

namespace tessera {

/// The names of the training description: its data sources and its lets.
class TrainingNames {
public:
  virtual ~TrainingNames() = default;

  /// The value of a name; nothing if the description declares no such name.
  virtual std::optional<LanguageValue> lookup(llvm::StringRef name) = 0;
  /// A field of a data source: an input of the entry.
  virtual LanguageValue dataField(const LanguageValue &data, const ast::Name &field, Span span) = 0;
  /// Requires the integers of the field `Tensor::input` to be less than `below`; the runtime checks it.
  virtual void requireBelow(int input, int64_t below) = 0;
  /// Notes that the integers of the field `Tensor::input` are positions on an axis.
  virtual void notePositions(int input, llvm::StringRef axis) = 0;
};

} // namespace tessera

#endif // TESSERA_FRONTEND_ELABORATE_TRAININGNAMES_H
