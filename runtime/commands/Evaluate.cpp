//===- Evaluate.cpp - the command `eval` ----------------------------------===//

#include "runtime/base/UnsignedNan.h"
#include "runtime/commands/Session.h"
#include "runtime/train/Evaluation.h"

namespace tessera::runtime {

ExitStatus runEvaluate(LoadedProgram &program, const Options &options) {
  const Manifest &manifest = program.manifest();
  DataFiles files(manifest.data, options.data, Split::Val);
  program.start(options.threads, options.bind);
  std::string loaded = loadParameters(program, options);
  continueRowOrder(files, manifest, loaded);
  Evaluation evaluation(program, files, Split::Val);
  sayDataNotes(evaluation.data());
  warnOfOtherColumns(manifest, evaluation.data(), loaded);
  EvaluationResult result = *evaluation.run();
  printText("checkpoint {}\nrows {}\n", loaded, result.rows);
  for (const auto &[name, value] : result.losses) printText("{} {:.9g}\n", name, unsignedNan(value));
  for (const auto &[name, value] : result.metrics) printText("{} {:.9g}\n", name, unsignedNan(value));
  if (result.losses.size() > 1) printText("total {:.9g}\n", unsignedNan(result.total));
  return ExitStatus::Done;
}

} // namespace tessera::runtime
