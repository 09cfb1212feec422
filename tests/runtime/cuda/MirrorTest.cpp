// Copies between the device and a mirror of which some pages are pinned.

#include "runtime/base/Error.h"
#include "runtime/cuda/Transfers.h"

#include <gtest/gtest.h>

#include <cstdlib>
#include <vector>

namespace tessera::tests {

using namespace runtime;
using namespace runtime::cuda;

namespace {

constexpr int64_t page = 4096, bytes = 10 * page;

class MirrorCopies : public testing::Test {
protected:
  void SetUp() override {
    setenv("TESSERA_CUDA_DRIVER", TESSERA_FAKE_CUDA, 1);
    const Driver &driver = Driver::get();
    driver.check(driver.streamCreate(&stream, streamNonBlocking), "a stream");
    driver.check(driver.memAlloc(&arena, bytes), "memory");
  }
  void TearDown() override {
    Driver::get().memFree(arena);
    Driver::get().streamDestroy(stream);
  }
  void synchronize() { Driver::get().check(Driver::get().streamSynchronize(stream), "copies"); }
  static char valueAt(int64_t i) { return static_cast<char>(i % 251 + 1); }

  /// Copies a range to the device and back, and expects its bytes, and no others.
  void expectRoundTrip(Mirror &mirror, int64_t offset, int64_t count) {
    const Driver &driver = Driver::get();
    driver.check(driver.memsetD8Async(arena, 0, bytes, stream), "zeros");
    for (int64_t i = 0; i < bytes; ++i) *mirror.at(i) = valueAt(i);
    mirror.copyToDevice(arena + offset, offset, count, stream, "to the device");
    synchronize();
    for (int64_t i = 0; i < bytes; ++i) *mirror.at(i) = 0;
    mirror.copyToHost(0, arena, bytes, stream, "to the host");
    synchronize();
    for (int64_t i = 0; i < bytes; ++i)
      ASSERT_EQ(*mirror.at(i), i >= offset && i < offset + count ? valueAt(i) : 0) << i << " of " << offset;
    for (int64_t i = 0; i < bytes; ++i) *mirror.at(i) = 0;
    mirror.copyToHost(offset, arena + offset, count, stream, "to the host");
    synchronize();
    for (int64_t i = 0; i < bytes; ++i)
      ASSERT_EQ(*mirror.at(i), i >= offset && i < offset + count ? valueAt(i) : 0) << i << " of " << offset;
  }

  Stream stream = nullptr;
  DevicePointer arena = 0;
};

/// What the mirror avoids.
TEST_F(MirrorCopies, TheDriverRefusesMemoryThatIsPartlyPinned) {
  const Driver &driver = Driver::get();
  Mirror mirror(bytes);
  mirror.add(2 * page + 100, 8);
  mirror.pin();
  auto copy = [&](int64_t offset, int64_t count) {
    int to = driver.memcpyHtoDAsync(arena, mirror.at(offset), static_cast<size_t>(count), stream);
    int from = driver.memcpyDtoHAsync(mirror.at(offset), arena, static_cast<size_t>(count), stream);
    EXPECT_EQ(to, from);
    return to;
  };
  EXPECT_EQ(copy(2 * page, page), 0);
  EXPECT_EQ(copy(2 * page + 100, 8), 0);
  EXPECT_EQ(copy(0, 2 * page), 0);
  EXPECT_EQ(copy(3 * page, page), 0);
  EXPECT_EQ(copy(2 * page - 1, 2), 1); // CUDA_ERROR_INVALID_VALUE
  EXPECT_EQ(copy(3 * page - 1, 2), 1);
  EXPECT_EQ(copy(page, 3 * page), 1);
  synchronize();
}

TEST_F(MirrorCopies, SplitWherePinnedPagesBeginAndEnd) {
  Mirror mirror(bytes);
  mirror.add(2 * page + 100, 8);
  mirror.add(5 * page - 4, 8); // two pages
  mirror.add(8 * page, page);
  mirror.pin();
  const int64_t ranges[][2] = {{0, bytes},           {0, 2 * page},        {2 * page, page},     {page, 2 * page},
                               {2 * page + 1, 17},   {2 * page - 1, 2},    {3 * page - 1, 2},    {page + 7, 5 * page},
                               {4 * page, 2 * page}, {8 * page - 64, 128}, {9 * page - 64, 128}, {bytes - 1, 1},
                               {4 * page + 9, 0}};
  for (auto [offset, count] : ranges) expectRoundTrip(mirror, offset, count);
}

TEST_F(MirrorCopies, PinnedRangesThatOverlapOrTouchAreOne) {
  const Driver &driver = Driver::get();
  Mirror mirror(bytes);
  mirror.add(3 * page, page);
  mirror.add(page, 10);
  mirror.add(2 * page + 5, 1);
  mirror.add(page + 20, 10);
  mirror.add(6 * page, 0);
  mirror.pin();
  EXPECT_EQ(driver.memHostUnregister(mirror.at(2 * page)), 713); // the registration begins before it
  EXPECT_EQ(driver.memHostUnregister(mirror.at(6 * page)), 713);
  EXPECT_EQ(driver.memcpyHtoDAsync(arena, mirror.at(page), 3 * page, stream), 0);
  EXPECT_EQ(driver.memcpyHtoDAsync(arena, mirror.at(page), 3 * page + 1, stream), 1);
  synchronize();
}

/// Pages that cannot be pinned are copied as any other memory.
TEST_F(MirrorCopies, PagesThatCannotBePinned) {
  const Driver &driver = Driver::get();
  Mirror mirror(bytes);
  mirror.add(page, page);
  mirror.add(4 * page, page);
  ASSERT_EQ(driver.memHostRegister(mirror.at(4 * page), page, 0), 0); // taken by another
  mirror.pin();
  ASSERT_EQ(driver.memHostUnregister(mirror.at(4 * page)), 0);
  expectRoundTrip(mirror, 0, bytes);
  mirror.unpin();
  expectRoundTrip(mirror, 0, bytes);
}

/// An input whose pages are not all pinned, as beside an output of which only the last page was.
TEST_F(MirrorCopies, InputsAndOutputsOfOverlappingCalls) {
  Mirror mirror(bytes);
  mirror.add(0, page);
  mirror.pin();
  EntryFunction entry;
  entry.name = "step";
  ValueSpec input;
  input.name = "x", input.offset = page - 64, input.bytes = 128;
  entry.inputs = {input};
  ValueSpec output;
  output.name = "y", output.offset = page - 64, output.bytes = 128;
  entry.outputs = {output};
  Transfers transfers(Transfers::bytesFor(entry), arena, mirror, stream);
  for (char value : {1, 2}) {
    memset(mirror.at(input.offset), value, static_cast<size_t>(input.bytes));
    transfers.sendInputs(entry);
    transfers.fetchOutputs(entry);
    memset(mirror.at(input.offset), 0, static_cast<size_t>(input.bytes));
  }
  for (char value : {1, 2}) {
    transfers.waitForOutputs([](const EntryFunction &) { return "outputs"; });
    EXPECT_EQ(*mirror.at(output.offset), value);
    EXPECT_EQ(*mirror.at(output.offset + output.bytes - 1), value);
  }
}

} // namespace
} // namespace tessera::tests
