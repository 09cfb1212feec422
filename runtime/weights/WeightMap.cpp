//===- WeightMap.cpp - parses maps between files and parameters -----------===//

#include "runtime/weights/WeightMap.h"

#include "runtime/base/Json.h"
#include "runtime/base/MappedFile.h"
#include "runtime/base/PathPattern.h"

#include <algorithm>
#include <cctype>

namespace tessera::runtime {

static constexpr size_t longestMap = 1 << 20;

/// "[embed, (3, head, hd)]".
static std::string notationOf(const std::vector<std::vector<AxisFactor>> &axes) {
  std::vector<std::string> texts;
  for (const std::vector<AxisFactor> &axis : axes) {
    std::vector<std::string> factors;
    for (const AxisFactor &factor : axis)
      factors.push_back(factor.name.empty() ? std::to_string(factor.number) : factor.name);
    texts.push_back(factors.size() == 1 ? factors[0] : fmt::format("({})", fmt::join(factors, ", ")));
  }
  return fmt::format("[{}]", fmt::join(texts, ", "));
}

namespace {
/// Reads the lines of a map. Spaces and comments separate; a newline ends a line unless a bracket is open.
class MapParser {
public:
  MapParser(std::string_view text, const std::string &source) : text(text) { map.source = source; }

  WeightMap parse() {
    while (skipLines()) {
      size_t begin = at;
      std::string word = peek() == '"' ? "" : name("a tensor in quotes, `tied`, `ignore` or `optional prefix`");
      if (word == "ignore")
        map.ignored.push_back(pattern());
      else if (word == "optional")
        prefix();
      else if (word.empty() || word == "tied")
        map.lines.push_back(line(begin, word == "tied"));
      else
        failAt(begin, "expected a tensor in quotes, `tied`, `ignore` or `optional prefix`, got `{}`", word);
      skipSpace();
      if (at < text.size() && peek() != '\n') failAt(at, "expected the end of the line, got {}", found());
    }
    return std::move(map);
  }

private:
  std::string place(size_t offset) const {
    std::string_view before = text.substr(0, offset);
    size_t begin = before.rfind('\n') + 1; // 0 if there is none
    auto isCharacter = [](char c) { return (c & 0xc0) != 0x80; };
    return fmt::format("{}:{}:{}", map.source, std::count(before.begin(), before.end(), '\n') + 1,
                       std::count_if(before.begin() + begin, before.end(), isCharacter) + 1);
  }

  template <typename... Args>
  [[noreturn]] void failAt(size_t offset, fmt::format_string<Args...> format, Args &&...args) const {
    fail("{}: {}", place(offset), fmt::format(format, std::forward<Args>(args)...));
  }

  char peek() const { return at < text.size() ? text[at] : '\0'; }

  /// What is at the current place, for a message.
  std::string found() const {
    if (at >= text.size()) return "the end of the file";
    if (text[at] == '\n') return "the end of the line";
    return fmt::format("`{}`", text.substr(at, (text[at] & 0x80) ? 4 : 1));
  }

  void skipSpace() {
    while (at < text.size()) {
      char c = text[at];
      if (c == '#')
        at = std::min(text.find('\n', at), text.size());
      else if (c == ' ' || c == '\t' || c == '\r' || (c == '\n' && depth > 0))
        ++at;
      else
        return;
    }
  }

  /// Whether there is another line.
  bool skipLines() {
    for (skipSpace(); peek() == '\n'; skipSpace()) ++at;
    return at < text.size();
  }

  bool take(char c) {
    skipSpace();
    if (peek() != c) return false;
    depth += (c == '[' || c == '(' || c == '{') - (c == ']' || c == ')' || c == '}');
    ++at;
    return true;
  }

  void expect(char c) {
    if (!take(c)) failAt(at, "expected `{}`, got {}", c, found());
  }

  static bool isNameCharacter(char c) { return isalnum(static_cast<unsigned char>(c)) || c == '_'; }

  std::string name(const char *what) {
    skipSpace();
    size_t begin = at;
    while (isNameCharacter(peek())) ++at;
    if (begin == at || isdigit(static_cast<unsigned char>(text[begin])))
      at = begin, failAt(begin, "expected {}, got {}", what, found());
    return std::string(text.substr(begin, at - begin));
  }

  std::string quoted() {
    expect('"');
    size_t begin = at;
    while (peek() != '"') {
      if (at >= text.size() || text[at] == '\n') failAt(begin - 1, "the quote is not closed on its line");
      if (text[at] < 0x20 || text[at] > 0x7e)
        failAt(at, "names of tensors consist of printable ASCII characters, got {}", found());
      ++at;
    }
    if (begin == at) failAt(begin - 1, "expected a name between the quotes");
    return std::string(text.substr(begin, at++ - begin));
  }

  std::string pattern() {
    size_t begin = (skipSpace(), at);
    std::string pattern = quoted(), mistake = misplacedStar(pattern);
    if (!mistake.empty()) failAt(begin, "{}", mistake);
    return pattern;
  }

  /// What a file calls a tensor.
  std::string plainName() {
    size_t begin = (skipSpace(), at);
    std::string name = quoted();
    if (size_t star = name.find('*'); star != name.npos)
      failAt(begin + 1 + star, "`*` is for `ignore`; a placeholder, as {{layer}}, stands for the indices of an axis");
    return name;
  }

  void prefix() {
    skipSpace();
    size_t begin = at;
    if (name("`prefix`") != "prefix") failAt(begin, "expected `optional prefix`");
    if (!map.prefix.empty()) failAt(begin, "a map has one `optional prefix`; this is the second");
    map.prefix = plainName();
  }

  MapLine line(size_t begin, bool isTied) {
    MapLine line;
    line.where = place(begin);
    line.isTied = isTied;
    skipSpace();
    size_t nameAt = at + 1;
    line.name = plainName();
    splitName(line, nameAt);
    size_t axesAt = (skipSpace(), at);
    readAxes(line);
    line.notation = notationOf(line.axes);
    expect('=');
    readPath(line);
    checkNumbers(line, axesAt);
    return line;
  }

  /// Divides a name at its placeholders.
  void splitName(MapLine &line, size_t begin) {
    for (std::string_view rest = line.name; !rest.empty();) {
      size_t open = rest.find('{'), here = begin + (line.name.size() - rest.size());
      if (std::string_view plain = rest.substr(0, open); !plain.empty()) {
        if (plain.find('}') != plain.npos) failAt(here + plain.find('}'), "`}}` without `{{`");
        line.parts.push_back({std::string(plain), false});
      }
      if (open == rest.npos) return;
      size_t close = rest.find('}', open);
      std::string_view axis = rest.substr(open + 1, close == rest.npos ? 0 : close - open - 1);
      if (axis.empty() || !std::all_of(axis.begin(), axis.end(), isNameCharacter))
        failAt(here + open, "expected the name of one axis in braces, such as {{layer}}");
      if (hasPlaceholder(line, axis)) failAt(here + open, "the placeholder {{{}}} occurs twice", axis);
      line.parts.push_back({std::string(axis), true});
      rest = rest.substr(close + 1);
    }
  }

  static bool hasPlaceholder(const MapLine &line, std::string_view axis) {
    return std::any_of(line.parts.begin(), line.parts.end(),
                       [&](const NamePart &part) { return part.isPlaceholder && part.text == axis; });
  }

  void readAxes(MapLine &line) {
    expect('[');
    if (take(']')) return;
    do {
      line.axes.emplace_back();
      if (!take('(')) {
        readFactor(line);
        continue;
      }
      do readFactor(line);
      while (take(','));
      expect(')');
    } while (take(','));
    expect(']');
  }

  void readFactor(MapLine &line) {
    skipSpace();
    size_t begin = at;
    AxisFactor factor;
    while (isdigit(static_cast<unsigned char>(peek()))) {
      factor.number = factor.number * 10 + (text[at++] - '0');
      if (factor.number > 1'000'000) failAt(begin, "at most 1000000 parameters share a tensor");
    }
    if (begin == at) {
      factor.name = name("an axis or a number");
      bool isTwice = hasPlaceholder(line, factor.name);
      for (const std::vector<AxisFactor> &axis : line.axes)
        for (const AxisFactor &other : axis) isTwice |= other.name == factor.name;
      if (isTwice) failAt(begin, "the axis `{}` occurs twice", factor.name);
    } else if (factor.number == 0) {
      failAt(begin, "expected a number of at least 1, got 0");
    }
    line.axes.back().push_back(factor);
  }

  /// `h.{layer}.attn.{wq, wk, wv}`: a placeholder is left out of the path.
  void readPath(MapLine &line) {
    skipSpace();
    size_t begin = at;
    line.paths = {""};
    bool hasAlternatives = false;
    for (bool isFirst = true; isNameCharacter(peek()) || peek() == '.' || peek() == '{'; isFirst = false) {
      if (peek() != '{') {
        for (std::string &path : line.paths) path += peek();
        ++at;
        continue;
      }
      size_t open = at;
      std::vector<std::string> words = wordsInBraces();
      if (words.size() == 1 && hasPlaceholder(line, words[0])) {
        skipPlaceholder(line, open, isFirst);
        continue;
      }
      if (words.size() == 1)
        failAt(open, "the name on the left has no placeholder {{{}}}; alternatives are several, as {{wq, wk}}",
               words[0]);
      if (hasAlternatives) failAt(open, "a path has alternatives in one place");
      hasAlternatives = true;
      std::vector<std::string> longer;
      for (const std::string &word : words) longer.push_back(line.paths[0] + word);
      line.paths = longer;
    }
    for (const std::string &path : line.paths)
      if (path.empty() || path.front() == '.' || path.back() == '.' || path.find("..") != path.npos)
        failAt(begin, "expected the path of a parameter, such as h.attn.wq, got {}",
               at == begin ? found() : fmt::format("`{}`", text.substr(begin, at - begin)));
  }

  std::vector<std::string> wordsInBraces() {
    std::vector<std::string> words;
    expect('{');
    do {
      std::string word = name("a name");
      while (peek() == '.') word += text[at++], word += name("a name");
      words.push_back(word);
    } while (take(','));
    expect('}');
    return words;
  }

  /// Leaves out a placeholder together with one of the dots around it.
  void skipPlaceholder(MapLine &line, size_t open, bool isFirst) {
    bool isBefore = peek() == '.', isAfter = line.paths[0].ends_with('.');
    if (!(isFirst || isAfter) || !(isBefore || !isNameCharacter(peek())))
      failAt(open, "a placeholder in a path is between dots, as in h.{{layer}}.w");
    if (isBefore)
      ++at;
    else if (isAfter)
      for (std::string &path : line.paths) path.pop_back();
  }

  /// The numbers among the axes are 1, but for the one that counts the alternatives.
  void checkNumbers(const MapLine &line, size_t axesAt) const {
    int64_t product = 1, others = 0, count = line.paths.size();
    for (const std::vector<AxisFactor> &axis : line.axes)
      for (const AxisFactor &factor : axis)
        if (factor.name.empty() && factor.number != 1) product = factor.number, ++others;
    if (others <= 1 && product == count) return;
    failAt(axesAt,
           "expected {}: the path on the right names {} parameter{}, which are stacked along one number among the axes",
           count == 1 ? std::string("no number but 1 among the axes")
                      : fmt::format("the number {} once among the axes", count),
           count, count == 1 ? "" : "s");
  }

  std::string_view text;
  size_t at = 0;
  int depth = 0; ///< open brackets
  WeightMap map;
};
} // namespace

WeightMap parseWeightMap(std::string_view text, const std::string &source) { return MapParser(text, source).parse(); }

std::string namesOfBuiltinMaps() {
  std::vector<std::string> names;
  for (const BuiltinMap &map : builtinMaps()) names.push_back(map.name);
  return fmt::format("{}", fmt::join(names, ", "));
}

WeightMap readWeightMap(const std::string &fileOrName) {
  for (const BuiltinMap &map : builtinMaps())
    if (fileOrName == map.name) return parseWeightMap(map.text, fileOrName);
  if (fileOrName.starts_with("hf:"))
    fail("--map {}: there is no such map; expected a file or one of {}", fileOrName, namesOfBuiltinMaps());
  MappedFile file(fileOrName);
  if (file.size() > longestMap) fail("{}: {} bytes, a map has at most {}", fileOrName, file.size(), longestMap);
  return parseWeightMap(file.text(), fileOrName);
}

} // namespace tessera::runtime
