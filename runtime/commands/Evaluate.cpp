//===- Evaluate.cpp - the command `eval` --------------------------------------===//

#include "runtime/commands/Session.h"
#include "runtime/train/Evaluation.h"

namespace tessera::runtime {

/// A plain --data PATH names the data to evaluate.
static std::vector<std::string> asValidation(const Manifest &manifest, std::vector<std::string> options) {
  for (std::string &option : options) {
    size_t equals = option.find('=');
    std::string key = equals == std::string::npos ? "" : option.substr(0, equals);
    bool isPath = equals == std::string::npos || key.find('/') != std::string::npos;
    if (isPath)
      option = "val=" + option;
    else if (manifest.dataNamed(key))
      option = key + ".val" + option.substr(equals);
    else if (key.find("val") == std::string::npos)
      option = "val." + option;
  }
  return options;
}

ExitCode runEvaluate(Program &program, const Options &options) {
  const Manifest &manifest = program.manifest();
  DataFiles files(manifest.data, asValidation(manifest, options.data));
  program.start(options.threads, options.bind);
  std::string loaded = loadParameters(program, options);
  Evaluation evaluation(program, files, Split::Val);
  EvaluationResult result = *evaluation.run();
  fmt::print("checkpoint {}\nrows {}\n", loaded, result.rows);
  for (const auto &[name, value] : result.losses) fmt::print("{} {:.9g}\n", name, value);
  for (const auto &[name, value] : result.metrics) fmt::print("{} {:.9g}\n", name, value);
  if (result.losses.size() > 1) fmt::print("total {:.9g}\n", result.total);
  return ExitCode::Done;
}

} // namespace tessera::runtime
