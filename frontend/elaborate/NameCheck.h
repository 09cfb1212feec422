//===- NameCheck.h - names in functions that are never expanded -------------===//

#ifndef TESSERA_FRONTEND_ELABORATE_NAMECHECK_H
#define TESSERA_FRONTEND_ELABORATE_NAMECHECK_H

#include "frontend/elaborate/NameResolver.h"

namespace tessera {

/// Checks functions that are never called, and branches that a static `if` leaves out. Their names, axes and calls are
/// resolved; types are not. It reports only what is wrong in every expansion.
class NameCheck : ElaborationComponent {
public:
  NameCheck(CallStack &calls, NameResolver &names, EntryBuilder &entry, Dims &dims, Lets &lets, Evaluator &evaluator)
      : ElaborationComponent(calls), resolver(names), entry(entry), sizes(dims), fileLets(lets), evaluator(evaluator) {}

  /// Checks what no entry has expanded: dims, lets, and the names in bodies.
  void run();

private:
  void checkDims();
  void checkFile(const FileScope &file);

  NameResolver &resolver;
  EntryBuilder &entry;
  Dims &sizes;
  Lets &fileLets;
  Evaluator &evaluator;
};

} // namespace tessera

#endif // TESSERA_FRONTEND_ELABORATE_NAMECHECK_H
