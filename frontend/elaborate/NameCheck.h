//===- NameCheck.h - names in what no expansion has reached -----------------===//

#ifndef TESSERA_FRONTEND_NAMECHECK_H
#define TESSERA_FRONTEND_NAMECHECK_H

#include "frontend/elaborate/Names.h"

namespace tessera {

/// Checks functions that are never called, and branches that a static `if` leaves out: their names, axes and calls are
/// resolved, without types. Only what would be wrong in every expansion is reported.
class NameCheck : ElaborationPart {
public:
  NameCheck(CallStack &calls, Names &names, EntryBuilder &entry, Dims &dims, Lets &lets, Evaluator &evaluator)
      : ElaborationPart(calls), Scope(names), Entry(entry), Sizes(dims), FileLets(lets), Eval(evaluator) {}

  /// Checks what no entry has expanded: dims, lets, and the names in bodies.
  void run();

private:
  void checkDims();
  void checkFile(const FileScope &file);

  Names &Scope;
  EntryBuilder &Entry;
  Dims &Sizes;
  Lets &FileLets;
  Evaluator &Eval;
};

} // namespace tessera

#endif // TESSERA_FRONTEND_NAMECHECK_H
