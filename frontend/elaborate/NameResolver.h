//===- Names.h - what names mean at the place being elaborated --------------===//

#ifndef TESSERA_FRONTEND_ELABORATE_NAMERESOLVER_H
#define TESSERA_FRONTEND_ELABORATE_NAMERESOLVER_H

#include "frontend/elaborate/Dims.h"
#include "frontend/elaborate/Hypers.h"
#include "frontend/elaborate/Lets.h"
#include "frontend/elaborate/RegionStack.h"
#include "frontend/elaborate/TrainingNames.h"

namespace tessera {

/// Resolves and declares names of values and axes in the current frame.
class NameResolver : ElaborationComponent {
public:
  NameResolver(CallStack &calls, EntryBuilder &entry, RegionStack &regions, Hypers &hypers, Dims &dims, Lets &lets,
               Evaluator &evaluator, TrainingNames &training)
      : ElaborationComponent(calls), entry(entry), regions(regions), programHypers(hypers), sizes(dims), fileLets(lets),
        evaluator(evaluator), training(training) {}

  LanguageValue lookup(const ast::Name &name);
  std::optional<AxisRef> resolveAxis(const ast::Name &name);
  /// The axes of a list; `..` means the axes of `all` that are not named, if `all` is given.
  std::optional<std::vector<AxisRef>> resolveAxes(const ast::Axes &axes, const Tensor *all = nullptr);

  bool define(const ast::Name &name, LanguageValue value);
  /// Names whose declaration was wrong are known all the same, so that their uses cause no further messages.
  void defineAsWrong(llvm::ArrayRef<ast::Name> names);
  bool declareLocalDim(const ast::DimSize &dim);

private:
  bool declareCheckedDim(const ast::DimSize &dim);
  LanguageValue lookupInProgram(const ast::Name &name);
  LanguageValue lookupBuiltin(const ast::Name &name);
  LanguageValue reportUnknown(const ast::Name &name);
  bool isDim(const ast::Name &name) const;
  std::vector<llvm::StringRef> visibleNames() const;

  EntryBuilder &entry;
  RegionStack &regions;
  Hypers &programHypers;
  Dims &sizes;
  Lets &fileLets;
  Evaluator &evaluator;
  TrainingNames &training;
};

/// Names of all built-in functions, in alphabetical order.
llvm::ArrayRef<llvm::StringRef> builtinNames();
bool isBuiltin(llvm::StringRef name);

} // namespace tessera

#endif // TESSERA_FRONTEND_ELABORATE_NAMERESOLVER_H
