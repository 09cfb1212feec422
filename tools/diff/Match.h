//===- Match.h - which items of two lists belong together ------------------===//

#ifndef TESSERA_TOOLS_DIFF_MATCH_H
#define TESSERA_TOOLS_DIFF_MATCH_H

#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/STLFunctionalExtras.h"
#include "llvm/ADT/SmallVector.h"
#include "llvm/ADT/StringMap.h"
#include <string>
#include <type_traits>
#include <vector>

namespace tessera {

/// Makes partners of items without one whose `key` is the same, in their order. An empty key matches nothing. An Item
/// has a field `partner`, which points to an Item or is null.
template <typename Item>
void match(std::vector<Item> &before, std::vector<Item> &after,
           llvm::function_ref<std::string(const std::type_identity_t<Item> &)> key) {
  llvm::StringMap<llvm::SmallVector<Item *>> waiting;
  for (Item &item : llvm::reverse(before))
    if (!item.partner) waiting[key(item)].push_back(&item);
  for (Item &item : after) {
    std::string wanted = key(item);
    auto found = item.partner || wanted.empty() ? waiting.end() : waiting.find(wanted);
    if (found == waiting.end() || found->second.empty()) continue;
    item.partner = found->second.pop_back_val();
    item.partner->partner = &item;
  }
}

} // namespace tessera

#endif // TESSERA_TOOLS_DIFF_MATCH_H
