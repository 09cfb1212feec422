//===- Driver.h - the part of CUDA's driver interface that is used --------===//
//
// The declarations follow the driver's documentation. They are repeated here so that the runtime is built the same
// way on machines with and without CUDA. Names are those of the driver without `cu`.
//
//===----------------------------------------------------------------------===//

#ifndef TESSERA_RUNTIME_CUDA_DRIVER_H
#define TESSERA_RUNTIME_CUDA_DRIVER_H

#include <cstddef>
#include <cstdint>
#include <string>

namespace tessera::runtime::cuda {

using DevicePointer = unsigned long long;
using DeviceNumber = int;
using Context = struct ContextHandle *;
using Module = struct ModuleHandle *;
using Function = struct FunctionHandle *;
using Stream = struct StreamHandle *;
using Event = struct EventHandle *;
using Graph = struct GraphHandle *;
using GraphNode = struct GraphNodeHandle *;
using GraphExec = struct GraphExecHandle *;

/// The driver, opened once: libcuda.so.1, in $TESSERA_CUDA_DRIVER if that is set. Large because: it is a table of
/// functions.
struct Driver {
  static const Driver &get();

  /// Throws an Error if `status` is one: "`what`: CUDA_ERROR_…, its meaning".
  void check(int status, const std::string &what) const;

  int (*init)(unsigned flags);
  /// The version of CUDA that the driver supports: 12040 for 12.4.
  int (*getVersion)(int *version);
  int (*getErrorName)(int error, const char **text);
  int (*getErrorString)(int error, const char **text);
  int (*deviceGetCount)(int *count);
  int (*deviceGet)(DeviceNumber *device, int number);
  int (*deviceGetName)(char *name, int length, DeviceNumber device);
  int (*deviceGetAttribute)(int *value, int attribute, DeviceNumber device);
  int (*devicePrimaryCtxRetain)(Context *context, DeviceNumber device);
  int (*devicePrimaryCtxRelease)(DeviceNumber device);
  int (*ctxSetCurrent)(Context context);
  int (*memGetInfo)(size_t *free, size_t *total);
  int (*memAlloc)(DevicePointer *memory, size_t bytes);
  int (*memFree)(DevicePointer memory);
  int (*memHostAlloc)(void **memory, size_t bytes, unsigned flags);
  int (*memFreeHost)(void *memory);
  int (*memHostRegister)(void *memory, size_t bytes, unsigned flags);
  int (*memHostUnregister)(void *memory);
  int (*memcpyHtoDAsync)(DevicePointer to, const void *from, size_t bytes, Stream stream);
  int (*memcpyDtoHAsync)(void *to, DevicePointer from, size_t bytes, Stream stream);
  int (*memcpyDtoDAsync)(DevicePointer to, DevicePointer from, size_t bytes, Stream stream);
  int (*memsetD8Async)(DevicePointer to, unsigned char value, size_t count, Stream stream);
  int (*memsetD32Async)(DevicePointer to, unsigned value, size_t count, Stream stream);
  int (*moduleLoadData)(Module *module, const void *image);
  int (*moduleUnload)(Module module);
  int (*moduleGetFunction)(Function *function, Module module, const char *name);
  int (*funcLoad)(Function function); ///< null: the driver is older than CUDA 12.4
  int (*launchKernel)(Function function, unsigned gridX, unsigned gridY, unsigned gridZ, unsigned blockX,
                      unsigned blockY, unsigned blockZ, unsigned sharedBytes, Stream stream, void **parameters,
                      void **extra);
  int (*streamCreate)(Stream *stream, unsigned flags);
  int (*streamDestroy)(Stream stream);
  int (*streamSynchronize)(Stream stream);
  int (*streamWaitEvent)(Stream stream, Event event, unsigned flags);
  int (*streamBeginCapture)(Stream stream, int mode);
  int (*streamEndCapture)(Stream stream, Graph *graph);
  /// `nodes`: the dependencies of the next captured node.
  int (*streamGetCaptureInfo)(Stream stream, int *state, uint64_t *number, Graph *graph, const GraphNode **nodes,
                              size_t *count);
  int (*streamUpdateCaptureDependencies)(Stream stream, GraphNode *nodes, size_t count, unsigned flags);
  int (*graphInstantiate)(GraphExec *executable, Graph graph, unsigned long long flags);
  int (*graphLaunch)(GraphExec executable, Stream stream);
  int (*graphDestroy)(Graph graph);
  int (*graphExecDestroy)(GraphExec executable);
  int (*eventCreate)(Event *event, unsigned flags);
  int (*eventDestroy)(Event event);
  int (*eventRecord)(Event event, Stream stream);
  int (*eventSynchronize)(Event event);
  int (*eventElapsedTime)(float *milliseconds, Event start, Event end);

private:
  Driver();
};

// Values of the driver's enumerations.
inline constexpr int attributeMajor = 75, attributeMinor = 76;
inline constexpr unsigned streamNonBlocking = 1;
inline constexpr int captureThreadLocal = 1;
inline constexpr unsigned captureSetDependencies = 1;
inline constexpr unsigned eventDisableTiming = 2;
inline constexpr int errorNoDevice = 100;
// Errors of loading code: it is not for this driver or this GPU.
inline constexpr int errorInvalidImage = 200, errorNoBinary = 209, errorInvalidPtx = 218, errorNoJitCompiler = 221,
                     errorUnsupportedPtx = 222, errorJitDisabled = 223;

} // namespace tessera::runtime::cuda

#endif // TESSERA_RUNTIME_CUDA_DRIVER_H
