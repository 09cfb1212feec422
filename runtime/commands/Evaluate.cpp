//===- Evaluate.cpp - the command `eval` ----------------------------------===//

#include "runtime/base/UnsignedNan.h"
#include "runtime/commands/RunRanks.h"
#include "runtime/commands/Session.h"
#include "runtime/train/Evaluation.h"

namespace tessera::runtime {

ExitStatus runEvaluate(LoadedProgram &program, const Options &options, RunRanks &ranks) {
  const Manifest &manifest = program.manifest();
  std::string loaded;
  std::optional<Evaluation> evaluation;
  {
    RunRanks::LongWork start(ranks);
    DataFiles files({}, {});
    ranks.together("the start", [&] { files = DataFiles(manifest.data, options.data, Split::Val); });
    program.start(options.threads, options.bind);
    ranks.together("the weights", [&] { loaded = loadParameters(program, options, ranks.world()); });
    ranks.together("the data", [&] {
      continueRowOrder(files, manifest, loaded);
      evaluation.emplace(program, files, Split::Val);
      sayDataNotes(evaluation->data());
      warnOfOtherColumns(manifest, evaluation->data(), loaded);
    });
    ranks.requireSameData(files, evaluation->data(), Split::Val, manifest);
  }
  EvaluationResult result = *evaluation->run(0, [&](const std::function<void()> &read) {
    ranks.together("the next batch", read);
    return true;
  });
  printText("checkpoint {}\nrows {}\n", loaded, result.rows);
  for (const auto &[name, value] : result.losses) printText("{} {:.9g}\n", name, unsignedNan(value));
  for (const auto &[name, value] : result.metrics) printText("{} {:.9g}\n", name, unsignedNan(value));
  if (result.losses.size() > 1) printText("total {:.9g}\n", unsignedNan(result.total));
  return ExitStatus::Done;
}

} // namespace tessera::runtime
