//===- Comparison.cpp - what must be equal on all ranks -------------------===//

#include "runtime/ranks/Comparison.h"

#include "runtime/base/Hash.h"
#include "runtime/ranks/Agreement.h"

namespace tessera::runtime {

void requireEqual(HostCommunicator &world, const std::vector<ComparedItem> &items, const char *advice) {
  if (world.size() == 1 || items.empty()) return;
  std::vector<uint64_t> own, all(items.size() * world.size());
  for (const ComparedItem &item : items) own.push_back(hashXxh64(item.content.data(), item.content.size()));
  world.allGather("what must be equal on all ranks", own.data(), all.data(), own.size() * sizeof(uint64_t));
  for (int rank = 1; rank < world.size(); ++rank)
    for (size_t i = 0; i < items.size(); ++i)
      if (all[rank * items.size() + i] != all[i])
        throw RankError(rank, fmt::format("{} is not the same as on rank 0; {}", items[i].name, advice),
                        ExitStatus::Usage);
}

} // namespace tessera::runtime
