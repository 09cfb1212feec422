//===- RunDifferences.cpp - how a run differs from the one it resumes -----===//

#include "runtime/train/RunDifferences.h"

#include "runtime/train/SourceChanges.h"

#include <map>
#include <set>

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

/// A source without what is compared by itself, and what older checkpoints do not have.
static std::string contentOf(Json source) {
  source.erase("seq");
  source.erase("validation");
  return dumpJson(source);
}

std::string heldOutChange(const Json &saved, const Json &now, const std::string &name) {
  std::string before = saved.value("validation", ""), after = now.value("validation", "");
  if (before.empty() || after.empty() || before == after) return "";
  return fmt::format(
      "the rows of '{}' for validation changed from {} to {}: some of them were trained on, so its losses "
      "do not tell how the model does on new data",
      name, before, after);
}

/// Settings by address: "save.every" and its value.
static void flatten(const Json &settings, const std::string &prefix, std::map<std::string, std::string> &values) {
  for (const auto &[key, value] : settings.items()) {
    if (value.is_object())
      flatten(value, prefix + key + ".", values);
    else
      values[prefix + key] = value.is_null() ? "not set" : dumpJson(value);
  }
}

static void compareSettings(const Json &before, const Json &now, std::vector<std::string> &changes) {
  if (!before.is_object() || !now.is_object()) return;
  std::map<std::string, std::string> old, current;
  flatten(before, "", old);
  flatten(now, "", current);
  std::set<std::string> addresses;
  for (const auto &values : {old, current})
    for (const auto &[address, value] : values) addresses.insert(address);
  for (const std::string &address : addresses) {
    old.try_emplace(address, "not set"), current.try_emplace(address, "not set");
    if (old[address] != current[address])
      changes.push_back(fmt::format("the setting {} changed from {} to {}", printable(address), printable(old[address]),
                                    current[address]));
  }
}

/// What was compiled: the lines of the model if they are recorded, else only whether the program is another one.
static void compareProgram(const CheckpointInfo &saved, const CheckpointInfo &now, std::vector<std::string> &changes) {
  std::optional<std::vector<std::string>> edits = sourceChanges(saved.source, now.source);
  if (edits)
    for (const std::string &edit : *edits) changes.push_back("the model changed: " + edit);
  bool isSame = saved.program.empty() || saved.program == now.program;
  if (isSame || (edits && !edits->empty())) return;
  changes.push_back(edits ? "the program was recompiled from the same model: its compiler, target or threads may differ"
                          : "the program was recompiled: compiled-in settings (rates, options, threads) may differ");
}

std::vector<std::string> differencesSince(const CheckpointInfo &saved, const CheckpointInfo &now,
                                          const std::string &path) {
  if (saved.model != now.model)
    fail("{} is of the model '{}', this program is '{}'; --init {} with another --checkpoint-dir takes over its "
         "parameters and starts at step 0",
         path, printable(saved.model), now.model, path);
  refuseOtherRows(saved, now, path);
  std::vector<std::string> changes;
  auto note = [&](const std::string &what, const std::string &before, const std::string &after) {
    if (!before.empty() && before != after)
      changes.push_back(fmt::format("{} changed from {} to {}", what, printable(before), after));
  };
  note("the data", saved.data.empty() ? "" : fmt::format("'{}'", saved.data), fmt::format("'{}'", now.data));
  for (const auto &[name, source] : now.sources.items()) {
    if (!saved.sources.contains(name)) continue;
    note(fmt::format("what source '{}' holds", name), contentOf(saved.sources[name]), contentOf(source));
    if (std::string change = heldOutChange(saved.sources[name], source, name); !change.empty())
      changes.push_back(change);
  }
  compareSettings(saved.settings, now.settings, changes);
  compareProgram(saved, now, changes);
  if (saved.threads != 0 && now.threads != 0 && saved.threads != now.threads)
    changes.push_back(
        fmt::format("the run resumes with {} threads, the checkpoint was made with {}: rounding may differ from "
                    "that of an uninterrupted run; --threads {} avoids that",
                    now.threads, saved.threads, saved.threads));
  return changes;
}

} // namespace tessera::runtime
