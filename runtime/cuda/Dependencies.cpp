//===- Dependencies.cpp - the order that work items need ------------------===//

#include "runtime/cuda/Dependencies.h"

#include <algorithm>

namespace tessera::runtime::cuda {

void Dependencies::splitAt(DevicePointer at) {
  auto it = segments.upper_bound(at);
  if (it == segments.begin()) return;
  --it;
  if (it->first == at || it->second.end <= at) return;
  Segment upper = it->second;
  it->second.end = at;
  segments.emplace(at, std::move(upper));
}

void Dependencies::touch(const MemoryAccess &access, uint32_t item, std::vector<bool> &needed) {
  if (access.bytes <= 0) return;
  DevicePointer end = access.address + static_cast<DevicePointer>(access.bytes);
  splitAt(access.address);
  splitAt(end);
  auto need = [&](uint32_t other) {
    if (other != item) needed[other] = true;
  };
  for (DevicePointer at = access.address; at < end;) {
    auto it = segments.lower_bound(at);
    if (it == segments.end() || it->first > at) { // touched for the first time
      DevicePointer gapEnd = it == segments.end() ? end : std::min(end, it->first);
      it = segments.emplace(at, Segment{gapEnd, -1, {}}).first;
    }
    Segment &segment = it->second;
    if (segment.writer >= 0) need(static_cast<uint32_t>(segment.writer));
    if (access.isWrite) {
      for (uint32_t reader : segment.readers) need(reader);
      segment.readers.clear();
      segment.writer = item;
    } else if (segment.readers.empty() || segment.readers.back() != item) {
      segment.readers.push_back(item);
    }
    at = segment.end;
  }
}

std::vector<uint32_t> Dependencies::withoutImplied(const std::vector<bool> &needed) {
  std::vector<uint32_t> direct;
  std::vector<bool> all(needed.size());
  for (size_t i = needed.size(); i-- > 0;) {
    if (!needed[i] || all[i]) continue;
    direct.push_back(static_cast<uint32_t>(i));
    all[i] = true;
    for (size_t j = 0; j < before[i].size(); ++j)
      if (before[i][j]) all[j] = true;
  }
  std::reverse(direct.begin(), direct.end());
  before.push_back(std::move(all));
  return direct;
}

std::vector<uint32_t> Dependencies::add(const std::vector<MemoryAccess> &accesses) {
  auto item = static_cast<uint32_t>(before.size());
  std::vector<bool> needed(item);
  for (const MemoryAccess &access : accesses) touch(access, item, needed);
  return withoutImplied(needed);
}

} // namespace tessera::runtime::cuda
