//===- Predict.cpp - the command `predict` ----------------------------------===//
//
// The entry function `predict` computes the outputs of the model for a batch of rows. The rows of all batches are
// written in the order of the files.
//
//===----------------------------------------------------------------------===//

#include "runtime/base/OutputPath.h"
#include "runtime/commands/FilesInUse.h"
#include "runtime/commands/RunRanks.h"
#include "runtime/commands/Session.h"
#include "runtime/predict/Likelihood.h"
#include "runtime/predict/PredictionData.h"
#include "runtime/predict/PredictionFile.h"
#include "runtime/train/Evaluation.h"
#include "runtime/train/RunRequests.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <optional>

namespace tessera::runtime {

namespace {
/// Values that are not finite, and the first of them.
class NonFiniteCount {
public:
  void count(const PredictedTensor &tensor, int64_t firstRow, int64_t rows);
  void warnOfThem() const {
    if (found == 0) return;
    warn("warning: {} of {} predicted values are not finite, the first in row {} of '{}'; check that row, and the "
         "weights with 'eval'",
         found, all, row, name);
  }

private:
  int64_t found = 0, all = 0, row = 0;
  std::string name;
};

/// One run of the command.
class Prediction {
public:
  Prediction(LoadedProgram &program, const Options &options);
  ExitStatus run(RunRanks &ranks);

private:
  std::string begin(RunRanks &ranks);
  void addResults();
  void addEchoes();
  void addTensor(const ValueSpec &value, std::string name);
  void checkOutput() const;
  void placeTensors();
  void computeLikelihoods();
  void report(const std::string &loaded) const;

  LoadedProgram &program;
  const Options &options;
  const EntryFunction &entry;
  PredictionFormat format;
  std::string path;        ///< of the output, with links followed; empty: standard output
  const ValueSpec *scores; ///< with --likelihood
  std::vector<const ValueSpec *> results;
  PredictionData data;
  FilesInUse files;
  std::vector<PredictedTensor> tensors; ///< echoed fields, then results
  std::vector<float> likelihoods;       ///< of a batch
  std::unique_ptr<PredictionFile> file; ///< of the first rank
};
} // namespace

void NonFiniteCount::count(const PredictedTensor &tensor, int64_t firstRow, int64_t rows) {
  if (tensor.type != ElementType::F32) return;
  for (int64_t i = 0; i < rows * tensor.elements(); ++i) {
    float value;
    memcpy(&value, tensor.batch + 4 * i, 4);
    if (!std::isfinite(value) && found++ == 0) row = firstRow + i / tensor.elements(), name = tensor.name;
  }
  all += rows * tensor.elements();
}

//===----------------------------------------------------------------------===//
// What is read and written
//===----------------------------------------------------------------------===//

static const EntryFunction &predictEntry(const Manifest &manifest) {
  if (!manifest.hasEntry("predict"))
    fail("this program cannot predict: its training description calls the model only for results that are not one for "
         "each row, inside of a repeat, or without data; give the model an output with the axis `batch`, and call it "
         "outside of repeats");
  return manifest.entry("predict");
}

/// The outputs for each row: those of --only, else all.
static std::vector<const ValueSpec *> findResults(const EntryFunction &entry, const std::vector<std::string> &only) {
  std::vector<const ValueSpec *> results;
  std::vector<std::string> names;
  for (const ValueSpec &value : entry.outputs) {
    if (value.role != "result") continue;
    names.push_back(value.name);
    if (only.empty() || std::find(only.begin(), only.end(), value.name) != only.end()) results.push_back(&value);
  }
  for (const std::string &name : only)
    if (std::find(names.begin(), names.end(), name) == names.end())
      failUsage("--only {}: the outputs for each row are {}", name, fmt::join(names, ", "));
  return results;
}

/// The inputs that are tokens of a text or token source.
static std::vector<const ValueSpec *> tokenInputs(const Manifest &manifest, const EntryFunction &entry) {
  std::vector<const ValueSpec *> inputs;
  for (const ValueSpec &input : entry.inputs)
    if (input.role == "data" && input.field == tokensField &&
        infoOf(manifest.dataNamed(input.data)->format).isSequence())
      inputs.push_back(&input);
  return inputs;
}

/// The scores that likelihoods are computed from. Throws an Error if the model is not one of tokens, or if its tokens
/// are of several sources: nothing says which of them the scores are about.
static const ValueSpec *findScores(const Manifest &manifest, const EntryFunction &entry) {
  const ValueSpec *result = entry.output("result");
  std::vector<const ValueSpec *> tokens = tokenInputs(manifest, entry);
  if (tokens.size() > 1) {
    std::vector<std::string> sources;
    for (const ValueSpec *input : tokens) sources.push_back(input->data);
    failUsage("--likelihood: the model reads tokens of {}, and nothing says which of them its scores are about; write "
              "the scores, without --likelihood, and the next tokens beside them: --echo {}.{}",
              fmt::join(sources, " and "), sources[0], nextField);
  }
  bool fits = result && !tokens.empty() && result->type == ElementType::F32 && result->axes.size() == 3 &&
              result->axes[1] == wholeAxes(*tokens[0])[1];
  for (const ValueSpec &output : entry.outputs) fits &= output.role != "result" || &output == result;
  if (!fits)
    failUsage("--likelihood needs a model from tokens [batch, seq] to scores [batch, seq, vocab]; this one is not");
  return result;
}

/// The fields that --echo names, and for likelihoods the next tokens.
static std::vector<CopiedField> copiedFields(const Manifest &manifest, const Options &options,
                                             const ValueSpec *scores) {
  std::vector<CopiedField> fields;
  for (const std::string &name : options.predict.echo) fields.push_back({name, 0});
  if (!scores) return fields;
  for (const ValueSpec *input : tokenInputs(manifest, manifest.entry("predict")))
    fields.push_back({input->data + "." + nextField, scores->axes[2].size});
  return fields;
}

static bool writesFile(const Options &options) {
  return !options.predict.output.empty() && options.predict.output != "-";
}

static std::string outputPath(const Options &options) {
  if (!writesFile(options)) return "";
  OutputPath output = findOutput(options.predict.output);
  if (!output.canBeReplaced()) fail("cannot write predictions to {}: not a regular file", options.predict.output);
  return output.path;
}

Prediction::Prediction(LoadedProgram &program, const Options &options)
    : program(program), options(options), entry(predictEntry(program.manifest())),
      format(writesFile(options) ? predictionFormat(options.predict.output) : PredictionFormat::Csv),
      path(outputPath(options)), scores(options.predict.likelihood ? findScores(program.manifest(), entry) : nullptr),
      results(findResults(entry, options.predict.only)),
      data(program.manifest(), results, options.data, copiedFields(program.manifest(), options, scores),
           program.positions()),
      files(program) {
  files.addData(data.dataFiles());
  checkOutput();
  addEchoes();
  addResults();
}

void Prediction::checkOutput() const {
  if (!path.empty()) files.check("--output", options.predict.output);
}

void Prediction::addTensor(const ValueSpec &value, std::string name) {
  tensors.push_back({std::move(name), value.type, value.axes, nullptr});
}

/// Echoed fields have their plain name where no output has it.
void Prediction::addEchoes() {
  const Manifest &manifest = program.manifest();
  for (size_t i = 0; i < options.predict.echo.size(); ++i) {
    const ValueSpec &value = data.copiedField(i);
    bool isTaken = entry.output("result", value.field) != nullptr;
    for (const PredictedTensor &tensor : tensors) isTaken |= tensor.name == value.field;
    for (size_t k = 0; k < i; ++k)
      if (data.copiedField(k).name == value.name)
        failUsage("--echo {}: the field is named twice", options.predict.echo[i]);
    addTensor(value, isTaken ? value.name : value.field);
    if (const FieldSpec *field = manifest.dataNamed(value.data)->fieldNamed(value.field))
      tensors.back().valueNames = field->classes;
  }
}

/// The classes whose scores are along an axis: those of the fields that are positions on it. Empty if there are none,
/// or different ones.
static std::vector<std::string> classesOn(const Manifest &manifest, const AxisSpec &axis) {
  std::vector<std::string> classes;
  for (const DataSpec &spec : manifest.data)
    for (const FieldSpec &field : spec.fields) {
      bool isOn = std::find(field.classAxes.begin(), field.classAxes.end(), axis.name) != field.classAxes.end();
      if (!isOn || static_cast<int64_t>(field.classes.size()) != axis.size) continue;
      if (!classes.empty() && classes != field.classes) return {};
      classes = field.classes;
    }
  return classes;
}

void Prediction::addResults() {
  if (scores) {
    tensors.push_back({"log_likelihood", ElementType::F32, {scores->axes[0], scores->axes[1]}, nullptr});
    return;
  }
  for (const ValueSpec *value : results) {
    addTensor(*value, value->name);
    auto &names = tensors.back().positionNames;
    for (const AxisSpec &axis : value->axes) names.push_back(classesOn(program.manifest(), axis));
  }
  for (const ValueSpec &value : entry.outputs)
    if (value.role == "batch_result" && options.predict.only.empty())
      warn("note: the output '{}' is of a whole batch, not of each row, and is left out", value.name);
}

//===----------------------------------------------------------------------===//
// Batches
//===----------------------------------------------------------------------===//

/// Points the tensors at the memory that each batch is written to.
void Prediction::placeTensors() {
  size_t echoes = options.predict.echo.size();
  for (size_t i = 0; i < echoes; ++i) tensors[i].batch = data.copiedRows(i);
  if (!scores) {
    for (size_t i = 0; i < results.size(); ++i) tensors[echoes + i].batch = program.at(results[i]->offset);
    return;
  }
  likelihoods.resize(scores->elements() / scores->axes[2].size);
  tensors.back().batch = reinterpret_cast<const char *>(likelihoods.data());
}

void Prediction::computeLikelihoods() {
  std::vector<int32_t> next(likelihoods.size());
  memcpy(next.data(), data.copiedRows(options.predict.echo.size()), next.size() * sizeof(int32_t));
  logLikelihoods(reinterpret_cast<const float *>(program.at(scores->offset)), scores->axes[2].size, next,
                 likelihoods.data());
}

void Prediction::report(const std::string &loaded) const {
  std::vector<std::string> shapes;
  for (const PredictedTensor &tensor : tensors)
    shapes.push_back(tensor.name + " " + formatAxes(std::vector<AxisSpec>(tensor.axes.begin() + 1, tensor.axes.end())));
  if (path.empty())
    warn("predicted {} rows of {} with {}", data.rows(), fmt::join(shapes, ", "), loaded);
  else
    printText("wrote {} ({} rows of {}, predicted with {})\n", options.predict.output, data.rows(),
              fmt::join(shapes, ", "), loaded);
}

/// Opens the file, starts the machine and loads the weights; returns their path.
std::string Prediction::begin(RunRanks &ranks) {
  RunRanks::LongWork work(ranks);
  std::string loaded;
  // Before anything is computed: a path that cannot be written is refused at the start.
  ranks.onFirst("the file of predictions", [&] { file = openPredictionFile(format, path, tensors, data.rows()); });
  ranks.together("the start", [&] { sayDataNotes(data.dataSet()); });
  program.start(options.threads, options.bind);
  ranks.together("the weights", [&] { loaded = loadParameters(program, options, ranks.world()); });
  ranks.onFirst("the files in use", [&] {
    files.addWeights(loaded);
    checkOutput();
    warnOfOtherColumns(program.manifest(), data.dataSet(), loaded);
  });
  ranks.requireSameData(data.dataFiles(), data.dataSet(), Split::Val, data.description());
  placeTensors();
  return loaded;
}

ExitStatus Prediction::run(RunRanks &ranks) {
  std::string loaded = begin(ranks);
  SharedRequests requests(ranks.world(), [&] { return SharedRequests::Own{file && file->isClosed(), false}; });
  NonFiniteCount nonFinite;
  int64_t done = 0, rows = 0;
  for (int64_t batch = 0; batch < data.batches(); ++batch) {
    if (requests.next("the next batch", [&] { rows = data.fill(batch, program); })) break;
    writeBatchInputs(program, entry, batch, rows);
    program.call("predict");
    if (scores) computeLikelihoods();
    for (size_t i = options.predict.echo.size(); i < tensors.size(); ++i) nonFinite.count(tensors[i], done, rows);
    if (file) {
      RunRanks::LongWork writing(ranks); // of the first rank alone
      file->write(rows);
    }
    done += rows;
  }
  RunRanks::LongWork end(ranks);
  if (file) file->finish();
  nonFinite.warnOfThem();
  if (int64_t rest = data.leftOver(); rest > 0)
    warn("warning: {} values at the ends of the files do not fill a sequence and are left out", rest);
  if (file && !file->isClosed()) report(loaded);
  return ExitStatus::Done;
}

ExitStatus runPredict(LoadedProgram &program, const Options &options, RunRanks &ranks) {
  std::optional<Prediction> prediction;
  {
    RunRanks::LongWork start(ranks);
    ranks.together("what is predicted", [&] { prediction.emplace(program, options); });
  }
  return prediction->run(ranks);
}

} // namespace tessera::runtime
