//===- RunOutput.cpp - what a run shows and writes beside its checkpoints -===//

#include "runtime/train/RunOutput.h"

#include "runtime/train/ProfileTable.h"

namespace tessera::runtime {

void RunOutput::openProfile(const std::string &path) {
  profileFile.open(path);
  hasProfileFile = true;
}

bool RunOutput::showProfileTable(LoadedProgram &program) {
  if (!hasProfileTable) return true;
  bool isEmpty = profile->countSteps() == 0;
  return progress->sayResult(isEmpty ? "profile: there was no step"
                                     : profileTable(profile->describe(program.manifest()), program.machineLimits()),
                             "the table of the profile");
}

bool RunOutput::writeProfile(const Manifest &manifest) {
  return !hasProfileFile || profileFile.write(dumpJson(profile->describe(manifest)) + "\n");
}

bool RunOutput::finish(LoadedProgram &program) {
  if (std::string line = ledger.describe(program.manifest()); !line.empty()) progress->note(line);
  bool isRecorded = records.finish(), isProfiled = writeProfile(program.manifest());
  return showProfileTable(program) && isRecorded && isProfiled;
}

void RunOutput::step(const StepReport &report) {
  progress->step(report);
  if (auto warning = rates.note(report)) progress->say(*warning);
  if (!records) return;
  Json json = recordOf(report);
  json[unit] = static_cast<int64_t>(unitsPerStep * static_cast<double>(report.step));
  json["seconds"] = secondsSinceStart();
  records.write(json);
}

void RunOutput::evaluation(int64_t step, const char *split, const EvaluationResult &result) {
  progress->evaluation(step, split, result);
  records.write({{"step", step},
                 {"split", split},
                 {"losses", namedNumbers(result.losses)},
                 {"metrics", namedNumbers(result.metrics)},
                 {"total", jsonNumber(result.total)},
                 {"rows", result.rows},
                 {"seconds", secondsSinceStart()}});
}

void RunOutput::showDifferences(int64_t step) {
  for (const std::string &difference : differences) {
    progress->say("note: " + difference);
    records.announce({{"step", step}, {"split", "note"}, {"note", difference}});
  }
}

} // namespace tessera::runtime
