//===- FakeCuda.cpp - CUDA libraries for a machine without a GPU ------------===//
//
// One library replaces four: libnvrtc (the compiler that built the tests compiles kernels for the emulator), libcuda
// (device memory is memory of the process, kernels run in Emulator.h, streams are in FakeStreams.cpp, pinned memory in
// FakeHostMemory.cpp), libcublasLt (FakeCublasLt.cpp) and libnccl (FakeNccl.cpp). So tests cover a program for a GPU
// from the model to trained weights.
//
// Only functions that Tessera calls are here. What a real library rejects is rejected: a graph that is launched while
// its stream records, accesses beyond the end of an allocation, copies to and from memory that is partly pinned.
//
//===----------------------------------------------------------------------===//

#include "tests/codegen/cuda/Emulator.h"
#include "tests/codegen/cuda/FakeDevice.h"
#include <algorithm>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <dlfcn.h>
#include <elf.h>
#include <fstream>
#include <map>
#include <memory>
#include <mutex>
#include <sstream>
#include <sys/mman.h>
#include <unistd.h>
#include <vector>

using namespace tessera::test;

//===----------------------------------------------------------------------===//
// NVRTC
//===----------------------------------------------------------------------===//

namespace {
struct Program {
  std::string source, name, code, log;
};

/// What cubins and PTX say of themselves in the symbol `made_for`.
constexpr int toolkitVersion = 13000;

std::string trimmed(const std::string &text) {
  size_t first = text.find_first_not_of(" \n"), last = text.find_last_not_of(" \n");
  return first == std::string::npos ? "" : text.substr(first, last - first + 1);
}

/// For each kernel of a source a function that receives its arguments in the form of a launch.
std::string trampolines(const std::string &source) {
  std::string text;
  for (size_t at = source.find("__global__"); at != std::string::npos; at = source.find("__global__", at + 1)) {
    size_t bounds = source.find(')', source.find("__launch_bounds__", at)), open = source.find('(', bounds);
    size_t close = source.find(')', open);
    std::string name = trimmed(source.substr(bounds + 1, open - bounds - 1)), call, parameter;
    std::istringstream list(source.substr(open + 1, close - open - 1));
    int count = 0;
    // A horizontally fused launch has one parameter, an array of pointers.
    size_t array = source.find("tsr::pointers<", open);
    if (array < close) {
      count = atoi(source.c_str() + source.find('<', array) + 1);
      call = "*(tsr::pointers<" + std::to_string(count) + ">*)parameters[0]";
    }
    for (; array > close && std::getline(list, parameter, ','); ++count) {
      std::string type = parameter.substr(0, parameter.rfind('*') + 1); // all are pointers
      call += (count ? ", *(" : "*(") + type + "*)parameters[" + std::to_string(count) + "]";
    }
    text += "extern \"C\" void emulated_" + name + "(void **parameters) { " + name + "(" + call + "); }\n";
    text += "extern \"C\" const int parameters_of_" + name + " = " + std::to_string(count) + ";\n";
  }
  return text;
}

std::string readFile(const std::string &path) {
  std::ifstream file(path, std::ios::binary);
  std::ostringstream text;
  text << file.rdbuf();
  return text.str();
}
} // namespace

EXPORT int nvrtcVersion(int *major, int *minor) { return *major = toolkitVersion / 1000, *minor = 0, 0; }
EXPORT int nvrtcGetNumSupportedArchs(int *count) { return *count = 3, 0; }
EXPORT int nvrtcGetSupportedArchs(int *numbers) { return numbers[0] = 80, numbers[1] = 90, numbers[2] = 100, 0; }
EXPORT int nvrtcCreateProgram(void **program, const char *source, const char *name, int, const char *const *,
                              const char *const *) {
  *program = new Program{source, name, "", ""};
  return 0;
}
EXPORT int nvrtcDestroyProgram(void **program) { return delete static_cast<Program *>(*program), 0; }
EXPORT int nvrtcCompileProgram(void *handle, int count, const char *const *options) {
  auto &program = *static_cast<Program *>(handle);
  char folder[] = "/tmp/fake-nvrtc-XXXXXX";
  if (!mkdtemp(folder)) return 1;
  std::string base = folder;
  bool isPtx = std::any_of(options, options + count, [](const char *option) { return strstr(option, "=compute_"); });
  std::ofstream(base + "/k.cpp") << program.source << "\n"
                                 << trampolines(program.source) << "extern \"C\" const int made_for[] = {"
                                 << toolkitVersion << ", " << isPtx << "};\n";
  std::string command = TESSERA_CXX
                        " -std=c++20 -O1 -ffp-contract=off -fPIC -shared -fuse-ld=lld -w -I" TESSERA_SOURCE_DIR
                        "/codegen/cuda/device -I" TESSERA_SOURCE_DIR "/tests/codegen/cuda " +
                        base + "/k.cpp -o " + base + "/k.so 2> " + base + "/log";
  int status = system(command.c_str());
  program.code = readFile(base + "/k.so"), program.log = readFile(base + "/log");
  if (system(("rm -r " + base).c_str()) != 0) return 1;
  return status == 0 ? 0 : 6;
}
EXPORT int nvrtcGetCUBINSize(void *program, size_t *size) {
  return *size = static_cast<Program *>(program)->code.size(), 0;
}
EXPORT int nvrtcGetCUBIN(void *program, char *to) {
  const std::string &code = static_cast<Program *>(program)->code;
  return memcpy(to, code.data(), code.size()), 0;
}
EXPORT int nvrtcGetPTXSize(void *program, size_t *size) { return nvrtcGetCUBINSize(program, size); }
EXPORT int nvrtcGetPTX(void *program, char *to) { return nvrtcGetCUBIN(program, to); }
EXPORT int nvrtcGetProgramLogSize(void *program, size_t *size) {
  return *size = static_cast<Program *>(program)->log.size() + 1, 0;
}
EXPORT int nvrtcGetProgramLog(void *program, char *to) {
  return strcpy(to, static_cast<Program *>(program)->log.c_str()), 0;
}

//===----------------------------------------------------------------------===//
// The driver
//===----------------------------------------------------------------------===//

namespace {
struct FakeFunction {
  void (*run)(void **parameters);
  int parameters;
  bool isLoaded = false; ///< loading is lazy
  std::string name;
};

std::map<uintptr_t, size_t> allocations;
std::mutex allocationsMutex; ///< ranks may be threads

size_t memoryOfDevice() {
  const char *text = getenv("FAKE_CUDA_MEMORY");
  return text ? strtoull(text, nullptr, 10) : size_t(8) << 30;
}
size_t memoryInUse() {
  size_t sum = 0;
  for (auto &[address, bytes] : allocations) sum += bytes;
  return sum;
}
} // namespace

bool tessera::test::isOnDevice(unsigned long long address, size_t bytes) {
  std::lock_guard lock(allocationsMutex);
  auto it = allocations.upper_bound(address);
  return it != allocations.begin() && (--it, address + bytes <= it->first + it->second);
}

/// Bytes of a shared object that begins at an address.
static size_t sizeOfObject(const void *image) {
  auto *header = static_cast<const Elf64_Ehdr *>(image);
  return header->e_shoff + size_t(header->e_shnum) * header->e_shentsize;
}

/// The version of CUDA that the driver supports: $FAKE_CUDA_VERSION, as 12040 for 12.4.
static int driverVersion() {
  const char *text = getenv("FAKE_CUDA_VERSION");
  return text ? atoi(text) : toolkitVersion;
}
EXPORT int cuDriverGetVersion(int *version) { return *version = driverVersion(), 0; }

EXPORT int cuInit(unsigned) { return 0; }
EXPORT int cuGetErrorName(int error, const char **text) {
  *text = error == launchFailed     ? "CUDA_ERROR_LAUNCH_FAILED"
          : error == outOfMemory    ? "CUDA_ERROR_OUT_OF_MEMORY"
          : error == invalidImage   ? "CUDA_ERROR_INVALID_IMAGE"
          : error == invalidDevice  ? "CUDA_ERROR_INVALID_DEVICE"
          : error == unsupportedPtx ? "CUDA_ERROR_UNSUPPORTED_PTX_VERSION"
                                    : "CUDA_ERROR_INVALID_VALUE";
  return 0;
}
EXPORT int cuGetErrorString(int, const char **text) { return *text = "an error of the fake driver", 0; }

/// The number of GPUs: $FAKE_CUDA_DEVICES, or 1. They share the memory of the process.
static int deviceCount() {
  if (getenv("FAKE_CUDA_NO_DEVICE")) return 0;
  const char *text = getenv("FAKE_CUDA_DEVICES");
  return text ? atoi(text) : 1;
}
EXPORT int cuDeviceGetCount(int *count) { return *count = deviceCount(), 0; }
EXPORT int cuDeviceGet(int *device, int number) {
  return number < 0 || number >= deviceCount() ? invalidDevice : (*device = number, 0);
}
EXPORT int cuDeviceGetName(char *name, int length, int) { return snprintf(name, length, "Fake GPU"), 0; }
EXPORT int cuDeviceGetAttribute(int *value, int attribute, int) {
  *value = attribute == 75 ? 9 : 0; // sm_90
  return 0;
}

/// A context is the number of its device, from 1.
static thread_local uintptr_t currentContext = 0;
int tessera::test::currentDevice() { return currentContext == 0 ? 0 : static_cast<int>(currentContext - 1); }

EXPORT int cuDevicePrimaryCtxRetain(void **context, int device) {
  return *context = reinterpret_cast<void *>(uintptr_t(device) + 1), 0;
}
EXPORT int cuDevicePrimaryCtxRelease_v2(int) { return 0; }
EXPORT int cuCtxSetCurrent(void *context) { return currentContext = reinterpret_cast<uintptr_t>(context), 0; }
EXPORT int cuMemGetInfo_v2(size_t *free, size_t *total) {
  std::lock_guard lock(allocationsMutex);
  *total = memoryOfDevice(), *free = *total - memoryInUse();
  return 0;
}
EXPORT int cuMemAlloc_v2(unsigned long long *memory, size_t bytes) {
  std::lock_guard lock(allocationsMutex);
  if (memoryInUse() + bytes > memoryOfDevice()) return outOfMemory;
  void *address = mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (address == MAP_FAILED) return outOfMemory;
  *memory = reinterpret_cast<uintptr_t>(address);
  allocations[*memory] = bytes;
  return 0;
}
EXPORT int cuMemFree_v2(unsigned long long memory) {
  std::lock_guard lock(allocationsMutex);
  auto it = allocations.find(memory);
  if (it == allocations.end()) return invalidValue;
  munmap(reinterpret_cast<void *>(memory), it->second);
  return allocations.erase(it), 0;
}
static int copy(void *stream, void *to, const void *from, size_t bytes) {
  return enqueue(stream, [=] { return memcpy(to, from, bytes), 0; });
}
EXPORT int cuMemcpyHtoDAsync_v2(unsigned long long to, const void *from, size_t bytes, void *stream) {
  if (!isOnDevice(to, bytes) || !isUniformHostRange(from, bytes)) return invalidValue;
  return copy(stream, reinterpret_cast<void *>(to), from, bytes);
}
EXPORT int cuMemcpyDtoHAsync_v2(void *to, unsigned long long from, size_t bytes, void *stream) {
  if (!isOnDevice(from, bytes) || !isUniformHostRange(to, bytes)) return invalidValue;
  return copy(stream, to, reinterpret_cast<void *>(from), bytes);
}
EXPORT int cuMemcpyDtoDAsync_v2(unsigned long long to, unsigned long long from, size_t bytes, void *stream) {
  if (!isOnDevice(to, bytes) || !isOnDevice(from, bytes)) return invalidValue;
  return copy(stream, reinterpret_cast<void *>(to), reinterpret_cast<void *>(from), bytes);
}
EXPORT int cuMemsetD8Async(unsigned long long to, unsigned char value, size_t count, void *stream) {
  if (!isOnDevice(to, count)) return invalidValue;
  return enqueue(stream, [=] { return memset(reinterpret_cast<void *>(to), value, count), 0; });
}
EXPORT int cuMemsetD32Async(unsigned long long to, unsigned value, size_t count, void *stream) {
  if (!isOnDevice(to, 4 * count) || to % 4 != 0) return invalidValue;
  return enqueue(stream, [=] { return std::fill_n(reinterpret_cast<unsigned *>(to), count, value), 0; });
}

/// Machine code is for the driver's major version of CUDA and earlier ones, PTX for its version and earlier ones.
static int statusOf(void *module) {
  auto *madeFor = static_cast<const int *>(dlsym(module, "made_for"));
  if (!madeFor) return 0;
  if (madeFor[1]) return madeFor[0] > driverVersion() ? unsupportedPtx : 0;
  return madeFor[0] / 1000 > driverVersion() / 1000 ? invalidImage : 0;
}

EXPORT int cuModuleLoadData(void **module, const void *image) {
  if (memcmp(image, ELFMAG, SELFMAG) != 0) return invalidImage;
  // Kernels, which are loaded later, use the symbols of the emulator.
  Dl_info self;
  if (dladdr(reinterpret_cast<void *>(&cuModuleLoadData), &self)) dlopen(self.dli_fname, RTLD_NOW | RTLD_GLOBAL);
  int file = memfd_create("kernel", MFD_CLOEXEC);
  auto size = static_cast<ssize_t>(sizeOfObject(image));
  if (file < 0 || write(file, image, size) != size) return invalidValue;
  *module = dlopen(("/proc/self/fd/" + std::to_string(file)).c_str(), RTLD_NOW | RTLD_LOCAL);
  if (!*module) fprintf(stderr, "fake CUDA: %s\n", dlerror());
  // The file stays open: the loader would take another file with the same path for this one.
  return *module ? statusOf(*module) : invalidValue;
}
/// Functions belong to their modules.
static std::map<void *, std::vector<std::unique_ptr<FakeFunction>>> functionsOfModules;
static std::mutex functionsMutex;

EXPORT int cuModuleUnload(void *module) {
  std::lock_guard lock(functionsMutex);
  functionsOfModules.erase(module);
  return dlclose(module), 0;
}
EXPORT int cuModuleGetFunction(void **function, void *module, const char *name) {
  auto code = reinterpret_cast<void (*)(void **)>(dlsym(module, (std::string("emulated_") + name).c_str()));
  auto *parameters = static_cast<const int *>(dlsym(module, (std::string("parameters_of_") + name).c_str()));
  if (!code || !parameters) return invalidValue;
  std::lock_guard lock(functionsMutex);
  auto &functions = functionsOfModules[module];
  functions.push_back(std::make_unique<FakeFunction>(FakeFunction{code, *parameters, false, name}));
  return *function = functions.back().get(), 0;
}
EXPORT int cuFuncLoad(void *function) { return static_cast<FakeFunction *>(function)->isLoaded = true, 0; }
EXPORT int cuLaunchKernel(void *function, unsigned gridX, unsigned gridY, unsigned gridZ, unsigned blockX,
                          unsigned blockY, unsigned blockZ, unsigned, void *stream, void **parameters, void **) {
  if (gridX == 0 || blockX == 0 || blockX > 1024 || gridY * gridZ * blockY * blockZ != 1) return invalidValue;
  if (!isRecording(stream)) cuFuncLoad(function);
  FakeFunction code = *static_cast<FakeFunction *>(function);
  if (!code.isLoaded) {
    fprintf(stderr, "fake CUDA: the first launch of a kernel is recorded, and the kernel is not loaded\n");
    return invalidValue;
  }
  std::vector<void *> values; // the parameters at the time of the launch
  for (int i = 0; i < code.parameters; ++i) values.push_back(*static_cast<void **>(parameters[i]));
  auto work = [=]() mutable {
    std::vector<void *> addresses;
    for (void *&value : values) addresses.push_back(&value);
    std::string error = emulate(gridX, static_cast<int>(blockX), [&] { code.run(addresses.data()); });
    if (!error.empty()) fprintf(stderr, "fake CUDA: %s\n", error.c_str());
    return error.empty() ? 0 : launchFailed;
  };
  return enqueue(stream, work, code.name);
}
