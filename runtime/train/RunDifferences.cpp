//===- RunDifferences.cpp - how a run differs from the one it resumes -----===//

#include "runtime/train/RunDifferences.h"

namespace tessera::runtime {

/// Throws if the data position has another meaning now.
static void refuseOtherRows(const CheckpointInfo &saved, const CheckpointInfo &now, const std::string &path) {
  std::string instead = fmt::format("its data position has another meaning; --init {} with another --checkpoint-dir "
                                    "takes over its parameters and starts at step 0",
                                    path);
  if (saved.batch != 0 && saved.batch != now.batch)
    fail("{} was trained with {} rows a batch, this program takes {}: {}", path, saved.batch, now.batch, instead);
  for (const auto &[name, source] : now.sources.items()) {
    int64_t then = saved.sources.value(name, Json::object()).value("seq", int64_t(0)), seq = source.value("seq", then);
    if (then != 0 && then != seq)
      fail("{} was trained with sequences of {} in '{}', this program takes {}: {}", path, then, name, seq, instead);
  }
}

/// A source without `seq`, which is compared above and which older checkpoints do not have.
static std::string contentOf(Json source) {
  source.erase("seq");
  return dumpJson(source);
}

std::vector<std::string> differencesSince(const CheckpointInfo &saved, const CheckpointInfo &now,
                                          const std::string &path) {
  if (saved.model != now.model)
    fail("{} is of the model '{}', this program is '{}'; --init {} with another --checkpoint-dir takes over its "
         "parameters and starts at step 0",
         path, saved.model, now.model, path);
  refuseOtherRows(saved, now, path);
  std::vector<std::string> changes;
  auto note = [&](const std::string &what, const std::string &before, const std::string &after) {
    if (!before.empty() && before != after)
      changes.push_back(fmt::format("{} changed from {} to {}", what, before, after));
  };
  note("the data", saved.data.empty() ? "" : fmt::format("'{}'", saved.data), fmt::format("'{}'", now.data));
  for (const auto &[name, source] : now.sources.items())
    note(fmt::format("what source '{}' holds", name),
         saved.sources.contains(name) ? contentOf(saved.sources[name]) : "", contentOf(source));
  note("the settings", dumpJson(saved.settings), dumpJson(now.settings));
  if (!saved.program.empty() && saved.program != now.program)
    changes.push_back("the program was recompiled: compiled-in settings (rates, options, threads) may differ");
  if (saved.threads != 0 && now.threads != 0 && saved.threads != now.threads)
    changes.push_back(
        fmt::format("the run resumes with {} threads, the checkpoint was made with {}: rounding may differ from "
                    "that of an uninterrupted run; --threads {} avoids that",
                    now.threads, saved.threads, saved.threads));
  return changes;
}

} // namespace tessera::runtime
