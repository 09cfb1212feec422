//===- Names.h - what names mean at the place being elaborated --------------===//

#ifndef TESSERA_FRONTEND_NAMES_H
#define TESSERA_FRONTEND_NAMES_H

#include "frontend/elaborate/Dims.h"
#include "frontend/elaborate/Hypers.h"
#include "frontend/elaborate/Lets.h"
#include "frontend/elaborate/RegionStack.h"
#include "frontend/elaborate/TrainingNames.h"

namespace tessera {

/// Resolves and declares names of values and axes in the current frame.
class Names : ElaborationPart {
public:
  Names(CallStack &calls, EntryBuilder &entry, RegionStack &regions, Hypers &hypers, Dims &dims, Lets &lets,
        Evaluator &evaluator, TrainingNames &training)
      : ElaborationPart(calls), Entry(entry), Regions(regions), ProgramHypers(hypers), Sizes(dims), FileLets(lets),
        Eval(evaluator), Training(training) {}

  Value lookup(const ast::Name &name);
  std::optional<AxisRef> resolveAxis(const ast::Name &name);
  /// The axes of a list; `..` stands for the axes of `all` not named, where `all` is given.
  std::optional<std::vector<AxisRef>> resolveAxes(const ast::Axes &axes, const Tensor *all = nullptr);

  bool define(const ast::Name &name, Value value);
  /// Names whose declaration was wrong are known all the same, so that their uses cause no further messages.
  void defineAsWrong(llvm::ArrayRef<ast::Name> names);
  bool declareLocalDim(const ast::DimSize &dim);

private:
  Value lookupInProgram(const ast::Name &name);
  Value lookupBuiltin(const ast::Name &name);
  Value reportUnknown(const ast::Name &name);
  bool isDim(const ast::Name &name) const;
  std::vector<llvm::StringRef> visibleNames() const;

  EntryBuilder &Entry;
  RegionStack &Regions;
  Hypers &ProgramHypers;
  Dims &Sizes;
  Lets &FileLets;
  Evaluator &Eval;
  TrainingNames &Training;
};

/// Names of all built-in functions, in alphabetical order.
llvm::ArrayRef<llvm::StringRef> builtinNames();
bool isBuiltin(llvm::StringRef name);

} // namespace tessera

#endif // TESSERA_FRONTEND_NAMES_H
