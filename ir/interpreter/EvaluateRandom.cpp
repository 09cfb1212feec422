//===- EvaluateRandom.cpp - counter-based random numbers ------------------===//

#include "ir/interpreter/Interpreter.h"
#include "ir/interpreter/IterationSpace.h"
#include <array>
#include <cmath>
#include <numbers>

using namespace mlir;
using namespace tessera;

/// Philox 4x32-10 (Salmon et al., Parallel random numbers: as easy as 1, 2, 3, 2011).
static std::array<uint32_t, 4> philox(std::array<uint32_t, 4> counter, std::array<uint32_t, 2> key) {
  for (int round = 0; round < 10; ++round) {
    uint64_t a = uint64_t(0xD2511F53) * counter[0], b = uint64_t(0xCD9E8D57) * counter[2];
    counter = {uint32_t(b >> 32) ^ counter[1] ^ key[0], uint32_t(b), uint32_t(a >> 32) ^ counter[3] ^ key[1],
               uint32_t(a)};
    key = {key[0] + 0x9E3779B9, key[1] + 0xBB67AE85};
  }
  return counter;
}

/// One draw from the words of a counter; see the description of `tsr.random`.
static double draw(Distribution distribution, const std::array<uint32_t, 4> &words) {
  if (distribution == Distribution::Uniform) return (words[0] >> 8) * 0x1p-24;
  double radius = std::sqrt(-2 * std::log(((words[0] >> 8) + 1) * 0x1p-24));
  return radius * std::cos(2 * std::numbers::pi * ((words[1] >> 8) * 0x1p-24));
}

LogicalResult RandomOp::evaluate(ArrayRef<TensorValue> operands, MutableArrayRef<TensorValue> results, Interpreter &) {
  auto seed = static_cast<uint64_t>(static_cast<int64_t>(operands[0].data[0]));
  auto word = [](double value) { return static_cast<uint32_t>(static_cast<int64_t>(value)); };
  ArrayRef<TensorValue> salts = operands.slice(2, getSalts().size());
  TensorValue &result = results[0];
  uint64_t first = getFirst() ? static_cast<uint64_t>(static_cast<int64_t>(operands.back().data[0])) : 0;

  IterationSpace space(result.type.getAxes());
  space.addStrided(getIndexStrides()).add(result.type);
  for (const TensorValue &salt : salts) space.add(salt.type);
  space.forEach([&](ArrayRef<int64_t> at) {
    uint64_t index = first + static_cast<uint64_t>(at[0]);
    uint32_t mixed = getSite();
    for (auto [salt, offset] : llvm::zip(salts, at.drop_front(2)))
      mixed = (mixed ^ word(salt.data[offset])) * 0x9E3779B1u + 0x7F4A7C15u;
    auto words = philox({uint32_t(index), uint32_t(index >> 32), word(operands[1].data[0]), mixed},
                        {uint32_t(seed), uint32_t(seed >> 32)});
    result.data[at[1]] = draw(getDistribution(), words);
  });
  return success();
}
