//===- Float32Names.h - what is computed in f32 by name ---------------------===//

#ifndef TESSERA_FRONTEND_ELABORATE_FLOAT32NAMES_H
#define TESSERA_FRONTEND_ELABORATE_FLOAT32NAMES_H

#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringRef.h"
#include "llvm/ADT/StringSet.h"
#include <vector>

namespace tessera {

/// The names that `compute(…, f32 = …)` lists: functions, paths of calls, `loss` and `gradients`.
class Float32Names {
public:
  void set(std::vector<llvm::StringRef> names, bool isReduced) {
    listed = std::move(names);
    usesReduced = isReduced;
  }
  /// Whether the model computes in reduced precision somewhere, so that it matters what stays in f32.
  bool isReduced() const { return usesReduced; }
  /// Whether the name is listed; remembers that something is called so.
  bool contains(llvm::StringRef name) {
    if (!llvm::is_contained(listed, name)) return false;
    found.insert(name);
    return true;
  }
  /// The listed names that nothing is called by.
  std::vector<llvm::StringRef> unknown() const {
    std::vector<llvm::StringRef> unknown;
    llvm::copy_if(listed, std::back_inserter(unknown), [&](llvm::StringRef name) { return !found.contains(name); });
    return unknown;
  }

private:
  std::vector<llvm::StringRef> listed;
  llvm::StringSet<> found;
  bool usesReduced = false;
};

} // namespace tessera

#endif // TESSERA_FRONTEND_ELABORATE_FLOAT32NAMES_H
