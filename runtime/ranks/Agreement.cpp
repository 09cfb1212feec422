//===- Agreement.cpp - decisions that all ranks make alike ----------------===//

#include "runtime/ranks/Agreement.h"

#include "runtime/base/Hash.h"

#include <algorithm>

namespace tessera::runtime {

void Agreement::set(AgreedFlag flag, int value) {
  int32_t &own = this->own.values[static_cast<size_t>(flag)];
  own = std::max(own, value);
}

void Agreement::setError(const std::string &text, ExitStatus status) {
  if (own.values[static_cast<size_t>(AgreedFlag::Error)] != 0) return;
  set(AgreedFlag::Error, static_cast<int>(status));
  errorText = text.substr(0, longestArgument);
  own.textBytes = static_cast<int32_t>(errorText.size());
  own.textHash = hashXxh64(errorText.data(), errorText.size());
}

AgreedValues Agreement::agree(std::string_view what) {
  group.allGather(what, &own, all.data(), sizeof(Brought));
  own = {};
  AgreedValues agreed;
  for (size_t flag = 0; flag < agreedFlags; ++flag)
    for (int rank = 0; rank < group.size(); ++rank)
      if (int value = all[rank].values[flag]; value > agreed[AgreedFlag(flag)].value)
        agreed[AgreedFlag(flag)] = {value, rank};
  const AgreedValue &error = agreed[AgreedFlag::Error];
  if (error.value == 0) return agreed;
  std::string text = std::move(errorText);
  errorText.clear();
  text.resize(all[error.rank].textBytes);
  group.broadcast(what, text.data(), text.size(), error.rank);
  if (group.size() == 1) throw Error(text, static_cast<ExitStatus>(error.value));
  bool isOfAll = std::all_of(all.begin(), all.end(), [&](const Brought &brought) {
    return brought.textBytes == all[0].textBytes && brought.textHash == all[0].textHash;
  });
  throw RankError(isOfAll ? noRank : error.rank, text, static_cast<ExitStatus>(error.value));
}

void Agreement::together(std::string_view what, const std::function<void()> &body) {
  try {
    body();
  } catch (const Error &error) {
    setError(error.what(), error.exitStatus());
  } catch (const std::exception &error) {
    setError(error.what(), ExitStatus::Fault);
  }
  agree(what);
}

} // namespace tessera::runtime
