// An arena that exceeds the available memory is refused; the memory is zeroed.

#include "runtime/machine/Arena.h"
#include "runtime/base/Error.h"
#include "runtime/machine/MachineMemory.h"

#include <gtest/gtest.h>

using namespace tessera::runtime;

namespace {

TEST(Arena, RefusesMoreThanThereIs) {
  Threads threads(2);
  EXPECT_GT(availableMemory().bytes, 1 << 20);
  try {
    Arena arena(int64_t(1) << 50, threads);
    FAIL();
  } catch (const Error &e) {
    EXPECT_NE(std::string(e.what()).find("1024.0 TiB"), std::string::npos) << e.what();
    EXPECT_NE(std::string(e.what()).find("left"), std::string::npos);
  }
  Arena arena(1 << 20, threads);
  for (int64_t i = 0; i < arena.size(); ++i) ASSERT_EQ(arena.base()[i], 0);
}

} // namespace
