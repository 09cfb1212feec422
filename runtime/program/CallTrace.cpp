//===- CallTrace.cpp - finds the first non-finite value of a step ---------===//

#include "runtime/program/CallTrace.h"
#include "runtime/program/Manifest.h"

#include <cmath>
#include <cstring>
#include <fmt/core.h>

namespace tessera::runtime {

std::vector<TracedCall> readTrace(const Json &json) {
  std::vector<TracedCall> steps;
  for (const Json &entry : json) {
    TracedCall step;
    if (entry.contains("repeat")) {
      step.repeats = entry.at("repeat").get<int64_t>();
      step.isReversed = entry.at("reverse").get<bool>();
      step.body = readTrace(entry.at("body"));
    } else {
      auto name = entry.at("name").get<std::string>();
      for (const Json &item : entry.at("results")) {
        TracedCall::Result result;
        result.name = item.value("name", name);
        result.op = item.at("op").get<std::string>();
        for (const Json &from : item.at("from"))
          result.from.emplace_back(from.at("op").get<std::string>(), from.at("at").get<std::string>());
        result.type = parseElementType(item.at("type").get<std::string>(), "manifest");
        for (const Json &axis : item.at("axes"))
          result.axes.push_back({axis.at(0).get<std::string>(), axis.at(1).get<int64_t>()});
        if (item.contains("allocated")) result.allocated = item.at("allocated").get<std::vector<int64_t>>();
        result.offset = item.at("offset").get<int64_t>();
        result.strides = item.at("strides").get<std::vector<int64_t>>();
        result.mayBeInfinite = item.at("infinite").get<bool>();
        step.results.push_back(std::move(result));
      }
    }
    steps.push_back(std::move(step));
  }
  return steps;
}

int64_t TracedCall::Result::count() const {
  int64_t count = 1;
  for (const AxisSpec &axis : axes) count *= axis.size;
  return count;
}

int64_t TracedCall::Result::extent() const {
  std::vector<int64_t> distances = elementStrides();
  int64_t extent = 1;
  for (size_t i = 0; i < axes.size(); ++i) extent += (axes[i].size - 1) * distances[i];
  return extent;
}

std::vector<int64_t> TracedCall::Result::elementStrides() const {
  std::vector<int64_t> result(axes.size(), 1);
  for (size_t i = axes.size(); i-- > 1;) result[i - 1] = result[i] * (allocated.empty() ? axes[i].size : allocated[i]);
  return result;
}

int64_t TracedCall::Result::offsetAt(const std::vector<int64_t> &turns) const {
  int64_t result = offset;
  for (size_t i = 0; i < strides.size() && i < turns.size(); ++i) result += strides[i] * turns[i];
  return result;
}

std::string describeSources(const std::vector<std::pair<std::string, std::string>> &from) {
  std::string text;
  for (const auto &[op, at] : from)
    text += fmt::format("{}{}{}", text.empty() ? "" : " or ", op, at.empty() ? "" : " at " + at);
  return text;
}

std::string NonFinite::describe() const {
  std::string text = fmt::format("{} from {}", isNaN ? "NaN" : "infinity", describeSources(from));
  return name.empty() ? text : text + fmt::format(" in `{}`", name);
}

const TracedCall *CallCursor::advance() {
  while (!loops.empty()) {
    Loop &loop = loops.back();
    if (loop.next == loop.steps->size()) {
      if (++loop.turn < loop.turns)
        loop.next = 0;
      else
        loops.pop_back();
      continue;
    }
    const TracedCall &step = (*loop.steps)[loop.next++];
    if (step.repeats == 0) return &step;
    if (!step.body.empty()) loops.push_back({&step.body, 0, 0, step.repeats, step.isReversed});
  }
  return nullptr;
}

std::vector<int64_t> CallCursor::turns() const {
  std::vector<int64_t> result;
  for (size_t i = 1; i < loops.size(); ++i) // the outermost is the function
    result.push_back(loops[i].isReversed ? loops[i].turns - 1 - loops[i].turn : loops[i].turn);
  return result;
}

namespace {
enum class Kind { Finite, Infinite, NaN };
}

/// Classifies a float by its bits.
template <typename Bits> static Kind kindOf(Bits bits, int mantissa, Bits exponent) {
  if ((bits >> mantissa & exponent) != exponent) return Kind::Finite;
  return (bits & ((Bits(1) << mantissa) - 1)) == 0 ? Kind::Infinite : Kind::NaN;
}

/// The worst of `count` consecutive elements.
template <typename Bits> static Kind worstOfRun(const TracedCall::Result &result, const char *start, int64_t count) {
  const ElementTypeInfo &info = infoOf(result.type);
  Bits exponent = (Bits(1) << info.exponentBits) - 1;
  Kind worst = Kind::Finite;
  for (int64_t i = 0; i < count; ++i) {
    Bits bits;
    memcpy(&bits, start + i * sizeof(Bits), sizeof(Bits));
    Kind kind = kindOf<Bits>(bits, info.mantissaBits, exponent);
    if (kind == Kind::NaN) return kind;
    if (kind == Kind::Infinite && !result.mayBeInfinite) worst = kind;
  }
  return worst;
}

/// The worst element, run by run where allocated sizes leave gaps, which have no elements.
template <typename Bits> static Kind worstOf(const TracedCall::Result &result, const char *start) {
  std::vector<int64_t> strides = result.elementStrides();
  int64_t run = 1;
  size_t outer = result.axes.size(); // axes outside of the run
  for (; outer > 0 && (result.axes[outer - 1].size == 1 || strides[outer - 1] == run); --outer)
    run *= result.axes[outer - 1].size;
  Kind worst = Kind::Finite;
  for (int64_t number = 0, runs = result.count() / run; number < runs; ++number) {
    int64_t rest = number, offset = 0;
    for (size_t i = outer; i-- > 0; rest /= result.axes[i].size) offset += rest % result.axes[i].size * strides[i];
    Kind kind = worstOfRun<Bits>(result, start + offset * static_cast<int64_t>(sizeof(Bits)), run);
    if (kind == Kind::NaN) return kind;
    if (kind != Kind::Finite) worst = kind;
  }
  return worst;
}

/// fp8 values are clamped when they are rounded: they are finite unless their sources are not.
static Kind worstOf(const TracedCall::Result &result, const char *start) {
  if (!isFloat(result.type)) return Kind::Finite;
  switch (bytesOf(result.type)) {
  case 2:
    return worstOf<uint16_t>(result, start);
  case 4:
    return worstOf<uint32_t>(result, start);
  case 8:
    return worstOf<uint64_t>(result, start);
  default:
    return Kind::Finite;
  }
}

std::optional<NonFinite> findNonFinite(const TracedCall &step, const std::vector<int64_t> &turns, const char *arena) {
  for (const TracedCall::Result &result : step.results) {
    Kind kind = worstOf(result, arena + result.offsetAt(turns));
    if (kind != Kind::Finite) return NonFinite{result.name, result.from, kind == Kind::NaN};
  }
  return std::nullopt;
}

} // namespace tessera::runtime
