//===- NameCheck.h - names in what no expansion has reached -----------------===//

#ifndef TESSERA_FRONTEND_NAMECHECK_H
#define TESSERA_FRONTEND_NAMECHECK_H

#include "frontend/elaborate/Names.h"

namespace tessera {

/// Functions are checked where they are called. What nobody calls, and the branch that a static `if` leaves out, would
/// never be looked at; here their names, axes and calls are resolved, without types. Only what would be wrong in every
/// expansion is reported.
class NameCheck : ElaborationPart {
public:
  NameCheck(CallStack &calls, Names &names, EntryBuilder &entry, Dims &dims, Lets &lets, Evaluator &evaluator)
      : ElaborationPart(calls), Scope(names), Entry(entry), Sizes(dims), FileLets(lets), Eval(evaluator) {}

  /// Checks what the entries have not looked at: dims, lets, and the names in bodies.
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
