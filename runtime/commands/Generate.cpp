//===- Generate.cpp - the command `generate` ------------------------------===//
//
// The entry function `generate` computes scores [batch, seq, vocab] for a window of tokens. While the text is shorter
// than the window it is padded on the right, and the scores at its last position count; then the window slides. Each
// token costs one call.
//
//===----------------------------------------------------------------------===//

#include "runtime/commands/RunRanks.h"
#include "runtime/commands/Session.h"
#include "runtime/data/Permutation.h"
#include "runtime/tokenizer/Tokenizer.h"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <numeric>
#include <optional>

namespace tessera::runtime {

namespace {
/// Samples tokens from scores.
class Sampler {
public:
  Sampler(const Options &options, int64_t vocabulary)
      : options(options), state(options.seed.value_or(defaultSeed)), order(vocabulary), weights(vocabulary) {}

  int32_t draw(const float *scores) {
    if (options.generate.temperature == 0) return std::max_element(scores, scores + order.size()) - scores;
    size_t kept = rank(scores);
    double sum = 0;
    for (size_t i = 0; i < kept; ++i)
      sum += weights[i] = std::exp((scores[order[i]] - scores[order[0]]) / options.generate.temperature);
    if (options.generate.topP < 1) kept = cutAtProbability(kept, sum);
    state = mix64(state);
    double point = static_cast<double>(state >> 11) * 0x1p-53 * std::accumulate(&weights[0], &weights[kept], 0.0);
    for (size_t i = 0; i < kept; ++i)
      if ((point -= weights[i]) < 0) return order[i];
    return order[kept - 1];
  }

private:
  /// Sorts tokens by descending score; returns how many --top-k retains.
  size_t rank(const float *scores) {
    std::iota(order.begin(), order.end(), 0);
    size_t kept = options.generate.topK > 0 ? std::min<size_t>(options.generate.topK, order.size()) : order.size();
    std::partial_sort(order.begin(), order.begin() + kept, order.end(),
                      [&](int32_t a, int32_t b) { return scores[a] != scores[b] ? scores[a] > scores[b] : a < b; });
    return kept;
  }

  /// The smallest number of tokens with a total probability of --top-p.
  size_t cutAtProbability(size_t kept, double sum) const {
    double reached = 0;
    for (size_t i = 0; i < kept; ++i)
      if ((reached += weights[i]) >= options.generate.topP * sum) return i + 1;
    return kept;
  }

  const Options &options;
  uint64_t state;
  std::vector<int32_t> order;
  std::vector<double> weights;
};
} // namespace

static std::vector<int32_t> parseTokens(const std::string &text) {
  std::vector<int32_t> tokens;
  const char *at = text.data(), *end = at + text.size();
  while (at < end) {
    if (*at == ' ' || *at == ',') {
      ++at;
      continue;
    }
    int32_t token;
    auto [stop, error] = std::from_chars(at, end, token);
    if (error != std::errc()) failUsage("--prompt-tokens: expected numbers, got '{}'", std::string(at, end));
    tokens.push_back(token);
    at = stop;
  }
  return tokens;
}

namespace {
/// How a model's tokens are written: as bytes, as text by a tokenizer, or as numbers.
class TokenText {
public:
  TokenText(const std::string &tokenizerPath, bool isBytes) : isBytes(isBytes) {
    if (!tokenizerPath.empty()) tokenizer.emplace(tokenizerPath);
  }

  bool isText() const { return isBytes || tokenizer; }

  std::vector<int32_t> encode(const std::string &text, int64_t vocabulary) const {
    if (tokenizer) return tokenizer->encode(text);
    if (!text.empty() && !isBytes)
      failUsage("this model reads tokens of a vocabulary of {}; give a --tokenizer, or --prompt-tokens IDS",
                vocabulary);
    std::vector<int32_t> tokens;
    for (unsigned char byte : text) tokens.push_back(byte);
    return tokens;
  }

  void print(int32_t token, bool first) const {
    if (tokenizer)
      fmt::print("{}", tokenizer->decode(token));
    else if (isBytes)
      std::putchar(token);
    else
      fmt::print("{}{}", first ? "" : " ", token);
    std::fflush(stdout);
  }

  /// The token to begin with where there is no prompt.
  int32_t firstToken() const {
    if (tokenizer) failUsage("give a --prompt: the tokenizer has no token that begins a text");
    return isBytes ? '\n' : 0;
  }

  /// Throws an Error if the tokenizer has tokens that the model does not. (It may have fewer: models pad.)
  void checkVocabulary(const std::string &path, int64_t vocabulary) const {
    if (tokenizer && tokenizer->largestId() >= vocabulary)
      fail("{}: has tokens up to {}, the model takes 0 to {}; is it the tokenizer of this model?", path,
           tokenizer->largestId(), vocabulary - 1);
  }

private:
  bool isBytes;
  std::optional<Tokenizer> tokenizer;
};
} // namespace

static std::vector<int32_t> readPrompt(const Options &options, const TokenText &text, int64_t vocabulary) {
  if (!options.generate.promptTokens.empty() && !options.generate.prompt.empty())
    failUsage("--prompt and --prompt-tokens exclude each other");
  std::vector<int32_t> tokens = parseTokens(options.generate.promptTokens);
  if (tokens.empty()) tokens = text.encode(options.generate.prompt, vocabulary);
  if (tokens.empty()) tokens.push_back(text.firstToken());
  for (int32_t token : tokens)
    if (token < 0 || token >= vocabulary)
      failUsage("the prompt's token {} is out of range, the model takes 0 to {}", token, vocabulary - 1);
  return tokens;
}

static void checkEntry(const ValueSpec *argument, const ValueSpec *result) {
  bool fits = argument && result && argument->axes.size() == 2 && argument->type == ElementType::I32 &&
              result->axes.size() == 3 && result->type == ElementType::F32;
  if (fits) {
    std::vector<AxisSpec> axes = wholeAxes(*argument);
    fits = result->axes[0] == axes[0] && result->axes[1] == axes[1];
  }
  if (!fits) fail("'generate' needs a model from tokens [batch, seq] to scores [batch, seq, vocab]; this one is not");
}

namespace {
/// The window of the last tokens, of which ranks may have parts, as the input of the entry function.
class TokenWindow {
public:
  TokenWindow(const ValueSpec &argument, LoadedProgram &program)
      : rows(argument.axes[0].size), part(argument.axes[1].size), whole(wholeAxes(argument)[1].size),
        window(windowOf(argument, 1, program.positions())),
        input(reinterpret_cast<int32_t *>(program.at(argument.offset))) {}

  /// Writes the last tokens, all rows alike; returns how many there are.
  int64_t write(const std::vector<int32_t> &tokens) {
    int64_t have = std::min<int64_t>(static_cast<int64_t>(tokens.size()), whole);
    for (int64_t i = 0; i < part; ++i) {
      int64_t place = window(i);
      for (int64_t row = 0; row < rows; ++row)
        input[row * part + i] = place < have ? tokens[tokens.size() - have + place] : 0;
    }
    return have;
  }

private:
  int64_t rows, part, whole;
  AxisWindow window;
  int32_t *input;
};
} // namespace

ExitStatus runGenerate(LoadedProgram &program, const Options &options, RunRanks &ranks) {
  const Manifest &manifest = program.manifest();
  bool hasEntry = manifest.hasEntry("generate");
  const ValueSpec *argument = hasEntry ? manifest.entry("generate").input("argument") : nullptr;
  const ValueSpec *result = hasEntry ? manifest.entry("generate").output("result") : nullptr;
  std::optional<TokenText> text;
  std::vector<int32_t> tokens;
  {
    RunRanks::LongWork start(ranks);
    ranks.together("the prompt", [&] {
      checkEntry(argument, result);
      int64_t vocabulary = result->axes[2].size, known = argument->of > 0 ? argument->of : vocabulary;
      bool isBytes = vocabulary == 256 || (!manifest.data.empty() && manifest.data[0].format == DataFormat::Text);
      text.emplace(options.generate.tokenizer, isBytes);
      text->checkVocabulary(options.generate.tokenizer, known);
      tokens = readPrompt(options, *text, known);
    });
    program.start(options.threads, options.bind);
    ranks.together("the weights", [&] { loadParameters(program, options, ranks.world()); });
  }
  int64_t vocabulary = result->axes[2].size;
  Sampler sampler(options, vocabulary);
  if (text->isText()) fmt::print("{}", options.generate.prompt);
  TokenWindow window(*argument, program);
  auto *scores = reinterpret_cast<const float *>(program.at(result->offset));
  for (int64_t i = 0; i < options.generate.length; ++i) {
    int64_t have = window.write(tokens);
    program.call("generate");
    // Ranks that exchange nothing to compute scores would not miss one that is stopped.
    ranks.together("the next token", [&] { tokens.push_back(sampler.draw(scores + (have - 1) * vocabulary)); });
    text->print(tokens.back(), i == 0);
  }
  fmt::print("\n");
  return ExitStatus::Done;
}

} // namespace tessera::runtime
