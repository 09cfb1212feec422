//===- Driver.cpp - the part of CUDA's driver interface that is used ------===//

#include "runtime/cuda/Driver.h"

#include "runtime/base/Error.h"
#include "runtime/cuda/Library.h"

namespace tessera::runtime::cuda {

Driver::Driver() {
  Library library(
      "TESSERA_CUDA_DRIVER", {"libcuda.so.1"},
      "this program runs on an NVIDIA GPU, whose driver is not installed here; for the processor compile it "
      "with --target=cpu");
  library.find(init, "cuInit");
  library.find(getVersion, "cuDriverGetVersion");
  library.find(getErrorName, "cuGetErrorName");
  library.find(getErrorString, "cuGetErrorString");
  library.find(deviceGetCount, "cuDeviceGetCount");
  library.find(deviceGet, "cuDeviceGet");
  library.find(deviceGetName, "cuDeviceGetName");
  library.find(deviceGetAttribute, "cuDeviceGetAttribute");
  library.find(devicePrimaryCtxRetain, "cuDevicePrimaryCtxRetain");
  library.find(devicePrimaryCtxRelease, "cuDevicePrimaryCtxRelease_v2");
  library.find(ctxSetCurrent, "cuCtxSetCurrent");
  library.find(memGetInfo, "cuMemGetInfo_v2");
  library.find(memAlloc, "cuMemAlloc_v2");
  library.find(memFree, "cuMemFree_v2");
  library.find(memHostAlloc, "cuMemHostAlloc");
  library.find(memFreeHost, "cuMemFreeHost");
  library.find(memHostRegister, "cuMemHostRegister_v2");
  library.find(memHostUnregister, "cuMemHostUnregister");
  library.find(memcpyHtoDAsync, "cuMemcpyHtoDAsync_v2");
  library.find(memcpyDtoHAsync, "cuMemcpyDtoHAsync_v2");
  library.find(memcpyDtoDAsync, "cuMemcpyDtoDAsync_v2");
  library.find(memsetD8Async, "cuMemsetD8Async");
  library.find(memsetD32Async, "cuMemsetD32Async");
  library.find(moduleLoadData, "cuModuleLoadData");
  library.find(moduleUnload, "cuModuleUnload");
  library.find(moduleGetFunction, "cuModuleGetFunction");
  library.findIfPresent(funcLoad, "cuFuncLoad");
  library.find(launchKernel, "cuLaunchKernel");
  library.find(streamCreate, "cuStreamCreate");
  library.find(streamDestroy, "cuStreamDestroy_v2");
  library.find(streamSynchronize, "cuStreamSynchronize");
  library.find(streamWaitEvent, "cuStreamWaitEvent");
  library.find(streamBeginCapture, "cuStreamBeginCapture_v2");
  library.find(streamEndCapture, "cuStreamEndCapture");
  library.find(streamGetCaptureInfo, "cuStreamGetCaptureInfo_v2");
  library.find(streamUpdateCaptureDependencies, "cuStreamUpdateCaptureDependencies");
  library.find(graphInstantiate, "cuGraphInstantiateWithFlags");
  library.find(graphLaunch, "cuGraphLaunch");
  library.find(graphDestroy, "cuGraphDestroy");
  library.find(graphExecDestroy, "cuGraphExecDestroy");
  library.find(eventCreate, "cuEventCreate");
  library.find(eventDestroy, "cuEventDestroy_v2");
  library.find(eventRecord, "cuEventRecord");
  library.find(eventSynchronize, "cuEventSynchronize");
  library.find(eventElapsedTime, "cuEventElapsedTime");
}

const Driver &Driver::get() {
  static const Driver driver;
  return driver;
}

void Driver::check(int status, const std::string &what) const {
  if (status == 0) return;
  const char *name = nullptr, *meaning = nullptr;
  getErrorName(status, &name);
  getErrorString(status, &meaning);
  fail("{}: {}, {}", what, name ? name : fmt::format("CUDA error {}", status), meaning ? meaning : "no more is known");
}

} // namespace tessera::runtime::cuda
