//===- LifetimeSets.h - buffers to pack, for tests and a benchmark --------===//

#ifndef TESSERA_TESTS_PASSES_MEMORY_LIFETIMESETS_H
#define TESSERA_TESTS_PASSES_MEMORY_LIFETIMESETS_H

#include "passes/memory/Offsets.h"
#include <random>
#include <vector>

namespace tessera::test {

/// A forward pass that saves values of equal layers, and the backward pass that reads them in reverse, with short-lived
/// values in between.
std::vector<Lifetime> trainingStep(int layers, std::mt19937 &random);

/// Buffers of any size that live for up to `duration` moments of `moments`.
std::vector<Lifetime> randomLifetimes(int count, int moments, int duration, std::mt19937 &random);

/// The same with stacks of one loop: some that it empties, some that it fills, and buffers without.
std::vector<Lifetime> randomStacks(int count, bool backwards, std::mt19937 &random);

/// At least `count` buffers: copies of a program, one inside the other, as if its layers were unrolled. Each begins
/// where most of the one around it is live.
std::vector<Lifetime> nested(llvm::ArrayRef<Lifetime> program, size_t count);

} // namespace tessera::test

#endif // TESSERA_TESTS_PASSES_MEMORY_LIFETIMESETS_H
