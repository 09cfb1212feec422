//===- Device.cpp - the GPU of a process ----------------------------------===//

#include "runtime/cuda/Device.h"

#include "runtime/base/Error.h"

namespace tessera::runtime::cuda {

/// A job launcher may let each rank see its own GPU alone.
static int numberOf(LocalPlace place, int count) {
  if (count == 1 || place.size == 1) return 0;
  if (count < place.size)
    fail("{} ranks were started on this host, which has {} GPUs; start as many ranks on each host as it has GPUs",
         place.size, count);
  return place.rank;
}

Device::Device(LocalPlace place, MemoryAdvice advice) : advice(std::move(advice)) {
  int status = driver.init(0), count = 0;
  if (status == 0) status = driver.deviceGetCount(&count);
  if (status == errorNoDevice || (status == 0 && count == 0))
    fail("this program runs on an NVIDIA GPU, and there is none here; for the processor compile it with --target=cpu");
  driver.check(status, "cannot start CUDA");
  driver.check(driver.deviceGet(&number, numberOf(place, count)), "cannot open the GPU");
  char text[256] = "";
  driver.check(driver.deviceGetName(text, sizeof text, number), "the GPU's name");
  ownName = text;
  driver.check(driver.deviceGetAttribute(&capability[0], attributeMajor, number), "the GPU's architecture");
  driver.check(driver.deviceGetAttribute(&capability[1], attributeMinor, number), "the GPU's architecture");
  Context context = nullptr;
  driver.check(driver.devicePrimaryCtxRetain(&context, number), "cannot use " + ownName);
  driver.check(driver.ctxSetCurrent(context), "cannot use " + ownName);
}

Device::~Device() { driver.devicePrimaryCtxRelease(number); }

void Device::requireFree(size_t needed, int64_t held) const {
  size_t free = 0, total = 0;
  driver.check(driver.memGetInfo(&free, &total), "the GPU's memory");
  if (needed > free)
    fail("the program needs {} bytes of {}'s memory, of which {} of {} are free; end other processes that use the "
         "GPU, or {}",
         needed, ownName, free, total,
         advice ? advice(static_cast<int64_t>(free) + held) : "compile with a smaller batch");
}

} // namespace tessera::runtime::cuda
