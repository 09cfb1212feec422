//===- GrowthLimit.cpp - how much worse a program may become ---------------===//

#include "tools/diff/GrowthLimit.h"
#include "llvm/ADT/StringExtras.h"

using namespace tessera;
using llvm::StringRef;

std::optional<GrowthLimit> GrowthLimit::parse(const std::string &text) {
  StringRef number = text;
  auto isDigits = [](StringRef part) { return !part.empty() && llvm::all_of(part, llvm::isDigit); };
  if (!number.consume_back("%")) return std::nullopt;
  auto [whole, fraction] = number.split('.');
  if (!isDigits(whole) || (number.contains('.') && !isDigits(fraction))) return std::nullopt;
  GrowthLimit limit;
  if (number.getAsDouble(limit.percent) || limit.percent > 1e6) return std::nullopt;
  return limit;
}

/// "the arena grew by 78.6%, from 104.3 MiB to 177.9 MiB".
static std::string describeGrowth(const std::string &what, const FigurePair &figure) {
  std::string text = "the " + what + " grew";
  if (*figure.before > 0) text += fmt::format(" by {:.3g}%", 100 * (*figure.after / *figure.before - 1));
  return text + ", from " + formatAmount(figure.before, figure.unit) + " to " + formatAmount(figure.after, figure.unit);
}

std::vector<std::string> GrowthLimit::findBreaches(const ProgramDiff &diff) const {
  std::vector<std::string> breaches;
  for (const auto &[what, figure] : {std::pair<std::string, FigurePair>("arena", diff.arena),
                                     {"needed memory", diff.needed},
                                     {"predicted time of a step", diff.step}})
    if (figure.before && figure.after && *figure.after > *figure.before * (1 + percent / 100))
      breaches.push_back(fmt::format("{}; at most {}% are allowed", describeGrowth(what, figure), percent));
  return breaches;
}

std::vector<std::string> tessera::findUncompared(const ProgramDiff &diff) {
  std::vector<std::string> sentences;
  bool isKnownBefore = diff.step.before.has_value(), isKnownAfter = diff.step.after.has_value();
  if (!isKnownBefore || !isKnownAfter)
    sentences.push_back(
        fmt::format("only memory was compared: {} predicted time of a step", isKnownBefore  ? "the second has no"
                                                                             : isKnownAfter ? "the first has no"
                                                                                            : "neither has a"));
  else if (diff.timeSource.first != diff.timeSource.second)
    sentences.push_back(fmt::format("the predicted times have different sources: {} and {}", diff.timeSource.first,
                                    diff.timeSource.second));
  return sentences;
}
