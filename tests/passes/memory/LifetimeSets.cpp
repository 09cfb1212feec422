//===- LifetimeSets.cpp - buffers to pack, for tests and a benchmark ------===//

#include "tests/passes/memory/LifetimeSets.h"
#include "llvm/ADT/STLExtras.h"

using namespace tessera;

std::vector<Lifetime> test::trainingStep(int layers, std::mt19937 &random) {
  std::vector<Lifetime> buffers;
  int end = 20 * layers;
  for (int layer = 0; layer < layers; ++layer) {
    int forward = 10 * layer, backward = end - 10 * layer;
    buffers.push_back({4096 + 64 * static_cast<int64_t>(random() % 8), forward, backward});
    buffers.push_back({1024, forward + 1, backward - 1});
    for (int i = 0; i < 4; ++i)
      buffers.push_back({512 + 64 * static_cast<int64_t>(random() % 40), forward + 2 * i, forward + 2 * i + 2});
    for (int i = 0; i < 4; ++i)
      buffers.push_back({512 + 64 * static_cast<int64_t>(random() % 40), backward - 2 * i - 2, backward - 2 * i});
  }
  return buffers;
}

std::vector<Lifetime> test::randomLifetimes(int count, int moments, int duration, std::mt19937 &random) {
  std::vector<Lifetime> buffers;
  for (int i = 0; i < count; ++i) {
    int start = random() % moments;
    buffers.push_back(
        {1 + static_cast<int64_t>(random() % 5000), start, start + static_cast<int>(random() % duration)});
  }
  return buffers;
}

std::vector<Lifetime> test::randomStacks(int count, bool backwards, std::mt19937 &random) {
  int64_t slots = 1 + random() % 12;
  std::vector<Lifetime> buffers;
  for (int i = 0; i < count; ++i) {
    bool isOld = random() % 2;
    Lifetime buffer{64 * slots * static_cast<int64_t>(1 + random() % 9), isOld ? 0 : 5, isOld ? 6 : 9};
    if (random() % 4) (isOld ? buffer.emptied : buffer.filled) = {3, slots, backwards};
    buffers.push_back(buffer);
  }
  return buffers;
}

/// A moment where most bytes are live.
static int peakMoment(llvm::ArrayRef<Lifetime> buffers) {
  auto liveAt = [&](int moment) {
    int64_t live = 0;
    for (const Lifetime &buffer : buffers)
      if (buffer.start <= moment && moment <= buffer.end) live += buffer.bytes;
    return live;
  };
  int peak = 0;
  for (const Lifetime &buffer : buffers)
    if (liveAt(buffer.start) > liveAt(peak)) peak = buffer.start;
  return peak;
}

std::vector<Lifetime> test::nested(llvm::ArrayRef<Lifetime> program, size_t count) {
  int peak = peakMoment(program), last = 0, loops = 0;
  for (const Lifetime &buffer : program) {
    last = std::max(last, buffer.end);
    loops = std::max({loops, buffer.emptied.loop + 1, buffer.filled.loop + 1});
  }
  int copies = (count + program.size() - 1) / program.size();
  std::vector<Lifetime> buffers;
  for (int copy = 0; copy < copies; ++copy) {
    auto at = [&](int moment) {
      return moment < peak ? copy * peak + moment
                           : copies * peak + (copies - 1 - copy) * (last + 1 - peak) + moment - peak;
    };
    for (Lifetime buffer : program) {
      buffer.start = at(buffer.start), buffer.end = at(buffer.end);
      for (StackUse *use : {&buffer.emptied, &buffer.filled})
        if (use->loop >= 0) use->loop += copy * loops;
      buffers.push_back(buffer);
    }
  }
  return buffers;
}
