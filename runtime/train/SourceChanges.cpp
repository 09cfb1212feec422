//===- SourceChanges.cpp - what was edited since a checkpoint -------------===//
//
//   1. read both sources: options, and numbered lines without comments
//   2. compare the options as sets
//   3. compare the lines of each file: leave out what is equal at both ends, then find the longest common subsequence
//   4. pair removed lines with those added in the same place
//
//===----------------------------------------------------------------------===//

#include "runtime/train/SourceChanges.h"

#include <algorithm>
#include <iterator>

namespace tessera::runtime {

namespace {
struct RecordedLine {
  std::string number, text;
};

struct RecordedFile {
  std::string name;
  std::vector<RecordedLine> lines;
};

struct RecordedSource {
  std::vector<std::string> options;
  std::vector<RecordedFile> files;
};

/// A sentence for each difference; those beyond `most` are only counted.
class ChangeList {
public:
  void add(std::string sentence) {
    if (sentences.size() < most)
      sentences.push_back(std::move(sentence));
    else
      ++more;
  }
  std::vector<std::string> take() {
    if (more > 0) sentences.push_back(fmt::format("{} more line{} of the model changed", more, more == 1 ? "" : "s"));
    return std::move(sentences);
  }

private:
  static constexpr size_t most = 6;
  std::vector<std::string> sentences;
  int64_t more = 0;
};
} // namespace

/// "7 stop(after = 40)".
static RecordedLine readLine(const std::string &text) {
  size_t space = text.find(' ');
  if (space == std::string::npos) return {"?", text};
  return {text.substr(0, space), text.substr(space + 1)};
}

/// None if it is not recorded, or not as the compiler writes it.
static std::optional<RecordedSource> readSource(const Json &json) {
  if (!json.is_object()) return std::nullopt;
  try {
    RecordedSource source;
    for (const Json &option : member(json, "options", "source")) source.options.push_back(asString(option, "source"));
    for (const Json &file : member(json, "files", "source")) {
      source.files.push_back({asString(member(file, "name", "source"), "source"), {}});
      for (const Json &line : member(file, "lines", "source"))
        source.files.back().lines.push_back(readLine(asString(line, "source")));
    }
    return source;
  } catch (const Error &) {
    return std::nullopt;
  }
}

static void compareOptions(std::vector<std::string> before, std::vector<std::string> now, ChangeList &changes) {
  std::sort(before.begin(), before.end());
  std::sort(now.begin(), now.end());
  std::vector<std::string> gone, added;
  std::set_difference(before.begin(), before.end(), now.begin(), now.end(), std::back_inserter(gone));
  std::set_difference(now.begin(), now.end(), before.begin(), before.end(), std::back_inserter(added));
  for (const std::string &option : added) changes.add(fmt::format("`{}` is new", printable(option, 200)));
  for (const std::string &option : gone) changes.add(fmt::format("`{}` is gone", printable(option, 200)));
}

/// Which lines of both are equal, in order: pairs of indices. Quadratic: of long texts none.
static std::vector<std::pair<size_t, size_t>> commonLines(const std::vector<RecordedLine> &a,
                                                          const std::vector<RecordedLine> &b) {
  constexpr size_t mostPairs = 4'000'000;
  if (a.size() * b.size() > mostPairs) return {};
  size_t columns = b.size() + 1;
  std::vector<uint32_t> longest((a.size() + 1) * columns); // of the rest from there on
  for (size_t i = a.size(); i-- > 0;)
    for (size_t j = b.size(); j-- > 0;)
      longest[i * columns + j] = a[i].text == b[j].text
                                     ? longest[(i + 1) * columns + j + 1] + 1
                                     : std::max(longest[(i + 1) * columns + j], longest[i * columns + j + 1]);
  std::vector<std::pair<size_t, size_t>> pairs;
  for (size_t i = 0, j = 0; i < a.size() && j < b.size();) {
    if (a[i].text == b[j].text)
      pairs.emplace_back(i++, j++);
    else if (longest[(i + 1) * columns + j] >= longest[i * columns + j + 1])
      ++i;
    else
      ++j;
  }
  return pairs;
}

static void compareLines(const std::string &file, std::vector<RecordedLine> before, std::vector<RecordedLine> now,
                         ChangeList &changes) {
  auto isSame = [](const RecordedLine &a, const RecordedLine &b) { return a.text == b.text; };
  auto [endA, endB] = std::mismatch(before.rbegin(), before.rend(), now.rbegin(), now.rend(), isSame);
  before.erase(endA.base(), before.end()), now.erase(endB.base(), now.end());
  auto [startA, startB] = std::mismatch(before.begin(), before.end(), now.begin(), now.end(), isSame);
  before.erase(before.begin(), startA), now.erase(now.begin(), startB);
  std::vector<std::pair<size_t, size_t>> common = commonLines(before, now);
  common.emplace_back(before.size(), now.size());
  size_t i = 0, j = 0;
  std::string name = printable(file, 80);
  auto quote = [](const RecordedLine &line) { return printable(line.text, 100); };
  for (auto [nextI, nextJ] : common) {
    for (; i < nextI && j < nextJ; ++i, ++j)
      changes.add(fmt::format("{}:{}: `{}` was `{}`", name, now[j].number, quote(now[j]), quote(before[i])));
    for (; j < nextJ; ++j) changes.add(fmt::format("{}:{}: `{}` is new", name, now[j].number, quote(now[j])));
    for (; i < nextI; ++i)
      changes.add(
          fmt::format("{}: `{}`, line {} before, is gone", name, quote(before[i]), printable(before[i].number, 20)));
    i = nextI + 1, j = nextJ + 1;
  }
}

std::optional<std::vector<std::string>> sourceChanges(const Json &before, const Json &now) {
  std::optional<RecordedSource> old = readSource(before), current = readSource(now);
  if (!old || !current) return std::nullopt;
  ChangeList changes;
  compareOptions(old->options, current->options, changes);
  // The first is the model, which may have been renamed.
  if (!old->files.empty() && !current->files.empty()) old->files[0].name = current->files[0].name;
  auto linesOf = [](const RecordedSource &source, const std::string &name) {
    auto found =
        std::find_if(source.files.begin(), source.files.end(), [&](const RecordedFile &f) { return f.name == name; });
    return found == source.files.end() ? std::vector<RecordedLine>() : found->lines;
  };
  for (const RecordedFile &file : current->files)
    compareLines(file.name, linesOf(*old, file.name), file.lines, changes);
  for (const RecordedFile &file : old->files)
    if (std::none_of(current->files.begin(), current->files.end(),
                     [&](const RecordedFile &other) { return other.name == file.name; }))
      changes.add(fmt::format("{} is not used any more", printable(file.name, 80)));
  return changes.take();
}

} // namespace tessera::runtime
