//===- Trace.cpp - finds the first number that is not finite ----------------===//

#include "runtime/Trace.h"
#include "runtime/Manifest.h"

#include <cmath>
#include <cstring>
#include <fmt/core.h>

namespace tessera::runtime {

std::vector<TraceStep> readTrace(const Json &json) {
  std::vector<TraceStep> steps;
  for (const Json &entry : json) {
    TraceStep step;
    if (entry.contains("repeat")) {
      step.repeats = entry.at("repeat").get<int64_t>();
      step.isReversed = entry.at("reverse").get<bool>();
      step.body = readTrace(entry.at("body"));
    } else {
      step.name = entry.at("name").get<std::string>();
      for (const Json &item : entry.at("results")) {
        TraceStep::Result result;
        for (const Json &from : item.at("from"))
          result.from.emplace_back(from.at("op").get<std::string>(), from.at("at").get<std::string>());
        result.type = parseElementType(item.at("type").get<std::string>(), "manifest");
        result.count = item.at("count").get<int64_t>();
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

std::string NotFinite::describe() const {
  std::string text = isNaN ? "NaN" : "an infinite number";
  for (size_t i = 0; i < from.size(); ++i) {
    const auto &[op, at] = from[i];
    text += fmt::format("{} {}{}", i == 0 ? " from" : " or", op, at.empty() ? "" : " at " + at);
  }
  return name.empty() ? text : text + fmt::format(" in `{}`", name);
}

TraceWatch::TraceWatch(const std::vector<TraceStep> &trace, const char *arena) : arena(arena) {
  loops.push_back({&trace});
}

/// The next call, with `loops` as they stand in it; null behind the last.
const TraceStep *TraceWatch::advance() {
  while (!loops.empty()) {
    Loop &loop = loops.back();
    if (loop.next == loop.steps->size()) {
      if (++loop.turn < loop.turns)
        loop.next = 0;
      else
        loops.pop_back();
      continue;
    }
    const TraceStep &step = (*loop.steps)[loop.next++];
    if (step.repeats == 0) return &step;
    if (!step.body.empty()) loops.push_back({&step.body, 0, 0, step.repeats, step.isReversed});
  }
  return nullptr;
}

namespace {
enum class Kind { Finite, Infinite, NaN };
}

/// By the bits of a float with so many bits of exponent and mantissa.
template <typename Bits> static Kind kindOf(Bits bits, int mantissa, Bits exponent) {
  if ((bits >> mantissa & exponent) != exponent) return Kind::Finite;
  return (bits & ((Bits(1) << mantissa) - 1)) == 0 ? Kind::Infinite : Kind::NaN;
}

template <typename Bits>
static Kind worstOf(const char *start, int64_t count, int mantissa, Bits exponent, bool mayBeInfinite) {
  Kind worst = Kind::Finite;
  for (int64_t i = 0; i < count; ++i) {
    Bits bits;
    memcpy(&bits, start + i * sizeof(Bits), sizeof(Bits));
    Kind kind = kindOf<Bits>(bits, mantissa, exponent);
    if (kind == Kind::NaN) return kind;
    if (kind == Kind::Infinite && !mayBeInfinite) worst = kind;
  }
  return worst;
}

static Kind worstOf(const TraceStep::Result &result, const char *start) {
  switch (result.type) {
  case ElementType::F32:
    return worstOf<uint32_t>(start, result.count, 23, 0xff, result.mayBeInfinite);
  case ElementType::F64:
    return worstOf<uint64_t>(start, result.count, 52, 0x7ff, result.mayBeInfinite);
  case ElementType::BF16:
    return worstOf<uint16_t>(start, result.count, 7, 0xff, result.mayBeInfinite);
  case ElementType::F16:
    return worstOf<uint16_t>(start, result.count, 10, 0x1f, result.mayBeInfinite);
  default:
    return Kind::Finite;
  }
}

void TraceWatch::afterCall() {
  const TraceStep *step = first ? nullptr : advance();
  if (!step) return;
  for (const TraceStep::Result &result : step->results) {
    int64_t offset = result.offset;
    for (size_t i = 0; i < result.strides.size() && i + 1 < loops.size(); ++i) {
      const Loop &loop = loops[i + 1]; // the outermost is the function
      offset += result.strides[i] * (loop.isReversed ? loop.turns - 1 - loop.turn : loop.turn);
    }
    Kind kind = worstOf(result, arena + offset);
    if (kind == Kind::Finite) continue;
    first = NotFinite{step->name, result.from, kind == Kind::NaN};
    return;
  }
}

} // namespace tessera::runtime
