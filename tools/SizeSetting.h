//===- SizeSetting.h - what sets the size of an axis of the data ----------===//

#ifndef TESSERA_TOOLS_SIZESETTING_H
#define TESSERA_TOOLS_SIZESETTING_H

#include "tools/Trials.h"

namespace tessera {

/// How the command line sets the size of an axis of the data.
struct SizeSetting {
  std::string axis;               ///< `batch` or `seq`
  std::vector<std::string> names; ///< of `--set`: the argument of each source, as `d.batch`; or a hyper
  int64_t size = 0;               ///< now
  int64_t unit = 1;               ///< the model takes multiples of this

  TrialOptions with(int64_t size) const;
};

/// Finds by trials what sets the size. None, with a message in `problem`, if nothing does.
std::optional<SizeSetting> findSizeSetting(Trials &trials, llvm::StringRef axis, std::string &problem);

} // namespace tessera

#endif // TESSERA_TOOLS_SIZESETTING_H
