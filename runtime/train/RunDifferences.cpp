//===- RunDifferences.cpp - how a run differs from the one it resumes -----===//

#include "runtime/train/RunDifferences.h"

#include "runtime/train/SourceChanges.h"

#include <map>
#include <numeric>
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

/// "160 rows in one file of 4123 bytes".
static std::string describeSize(const Json &source) {
  std::vector<int64_t> bytes = source.value("bytes", std::vector<int64_t>());
  std::string files = bytes.size() == 1 ? fmt::format("one file of {} bytes", bytes[0])
                                        : fmt::format("{} files of {} bytes", bytes.size(),
                                                      std::accumulate(bytes.begin(), bytes.end(), uint64_t(0)));
  return fmt::format("{} rows in {}", source.value("rows", int64_t(0)), files);
}

std::string contentChange(const Json &saved, const Json &now, const std::string &name) {
  if (!saved.contains("rows")) return "";
  std::string before = describeSize(saved), after = describeSize(now), change;
  std::string hashBefore = saved.value("content", ""), hashAfter = now.value("content", "");
  if (before != after)
    change = fmt::format("the training data of '{}' changed from {} to {}", name, before, after);
  else if (saved.value("bytes", Json()) != now.value("bytes", Json()))
    change = fmt::format("the training data of '{}', {}, is in files of other sizes", name, after);
  else if (!hashBefore.empty() && !hashAfter.empty() && hashBefore != hashAfter)
    change = fmt::format("the content of the training data of '{}' changed, though not its size, {}", name, after);
  if (change.empty() || !now.contains("validation")) return change;
  return change + ": some of the rows that are held out now may have been trained on, so their losses do not tell how "
                  "the model does on new data";
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
      changes.push_back(fmt::format("the setting {} changed from {} to {}", printable(address, 200),
                                    printable(old[address], 200), current[address]));
  }
}

/// What was compiled: the lines of the model if they are recorded, else only whether the program is another one.
static void compareProgram(const CheckpointInfo &saved, const CheckpointInfo &now, std::vector<std::string> &changes) {
  std::optional<std::vector<std::string>> edits = sourceChanges(saved.source, now.source);
  if (edits)
    for (const std::string &edit : *edits) changes.push_back("the model changed: " + edit);
  bool isSame = saved.program.empty() || saved.program == now.program;
  if (isSame || (edits && !edits->empty())) return;
  changes.push_back(
      edits ? "the program was recompiled from the same model: its compiler, target, mesh or threads may differ"
            : "the program was recompiled: compiled-in settings (rates, options, mesh, threads) may differ");
}

/// Sums over ranks depend on the mesh, and those of libraries on the number of threads.
static void compareRanks(const CheckpointInfo &saved, const CheckpointInfo &now, std::vector<std::string> &changes) {
  auto onRanks = [](const std::string &mesh) { return mesh.empty() ? "one rank" : "the mesh " + mesh; };
  if (saved.parallelism.mesh && now.parallelism.mesh && *saved.parallelism.mesh != *now.parallelism.mesh) {
    bool haveLeaves = saved.parallelism.leaves > 0 && saved.parallelism.leaves == now.parallelism.leaves;
    changes.push_back(fmt::format(
        "the run resumes on {}, the checkpoint was made on {}: rounding may differ from that of an uninterrupted run{}",
        onRanks(*now.parallelism.mesh), onRanks(*saved.parallelism.mesh),
        haveLeaves ? ", unless only the number of ranks along the batch changed"
                   : "; programs with --leaves have the same bits for any number of ranks along the batch"));
  } else if (saved.parallelism.threads != 0 && now.parallelism.threads != 0 &&
             saved.parallelism.threads != now.parallelism.threads) {
    changes.push_back(
        fmt::format("the run resumes with {} thread{}, the checkpoint was made with {}: rounding may differ from that "
                    "of an uninterrupted run; --threads {} avoids that",
                    now.parallelism.threads, now.parallelism.threads == 1 ? "" : "s", saved.parallelism.threads,
                    saved.parallelism.threads));
  }
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
      changes.push_back(fmt::format("{} changed from {} to {}", what, printable(before, 200), after));
  };
  note("the data", saved.data.empty() ? "" : fmt::format("'{}'", saved.data), fmt::format("'{}'", now.data));
  for (const auto &[name, source] : now.sources.items()) {
    if (!saved.sources.contains(name)) continue;
    if (std::string change = contentChange(saved.sources[name], source, name); !change.empty())
      changes.push_back(change);
    if (std::string change = heldOutChange(saved.sources[name], source, name); !change.empty())
      changes.push_back(change);
  }
  compareSettings(saved.settings, now.settings, changes);
  compareProgram(saved, now, changes);
  compareRanks(saved, now, changes);
  return changes;
}

} // namespace tessera::runtime
