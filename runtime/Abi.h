//===- Abi.h - the contract between compiled code and the runtime ---------===//
//
// A training program is the launcher (this runtime) with a payload appended to
// it. The payload is a shared object made by the compiler plus a manifest in
// JSON. The shared object has no dependencies: all it needs of the machine it
// is given as a table of C function pointers.
//
// File layout of a training program:
//
//   launcher ELF | shared object | manifest (JSON, UTF-8) | TsrTrailer
//
// Only C types here: the file is read by the compiler and by the runtime.
//
//===----------------------------------------------------------------------===//

#ifndef TESSERA_RUNTIME_ABI_H
#define TESSERA_RUNTIME_ABI_H

#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/// Raised whenever a struct or a meaning in this file or in the manifest changes.
#define TSR_ABI_VERSION 6u

/// Element types of tensors and matrices, one row each:
///
///   X(enumerator, value, bytes, exponent bits, mantissa bits, name, name in safetensors files)
///
/// `name` is that of manifests. Integers have no exponent bits. Files hold the values (the GPU's remembered
/// algorithms), so new types come last. `runtime/base/ElementType.h` makes the C++ enumeration and its table of this list.
#define TSR_ELEMENT_TYPES(X)                                                                                           \
  X(F32, 0, 4, 8, 23, "f32", "F32")                                                                                    \
  X(BF16, 1, 2, 8, 7, "bf16", "BF16")                                                                                  \
  X(F16, 2, 2, 5, 10, "f16", "F16")                                                                                    \
  X(E4M3, 3, 1, 4, 3, "e4m3", "F8_E4M3")                                                                               \
  X(E5M2, 4, 1, 5, 2, "e5m2", "F8_E5M2")                                                                               \
  X(F64, 5, 8, 11, 52, "f64", "F64")                                                                                   \
  X(I32, 6, 4, 0, 0, "i32", "I32")                                                                                     \
  X(I64, 7, 8, 0, 0, "i64", "I64")                                                                                     \
  X(I1, 8, 1, 0, 0, "i1", "BOOL")                                                                                      \
  X(U8, 9, 1, 0, 0, "u8", "U8")

#define TSR_ENUMERATOR(enumerator, value, ...) TSR_##enumerator = value,
typedef enum TsrElementType { TSR_ELEMENT_TYPES(TSR_ENUMERATOR) } TsrElementType;
#undef TSR_ENUMERATOR

/// A generated kernel: works on the iterations [begin, end) of its parallel
/// space. `args` are the addresses of its operands, then of its results; `scratch`
/// is memory that no other thread uses meanwhile, of the size the manifest names, 64-byte aligned.
typedef void (*TsrKernel)(void *const *args, int64_t begin, int64_t end, void *scratch);

/// What compiled code may ask of the runtime. `self` is always the first argument.
typedef struct TsrRuntime {
  uint32_t abiVersion;
  uint32_t threads;
  /// Runs `kernel` over [0, iterations), cut into one contiguous range for each thread, every range but the last a multiple of
  /// `grain`. Returns when all are done. Unless `piece` is 0, a thread that is done takes over pieces of at least so many
  /// iterations from the end of another one's range: what a kernel computes does not depend on where it is cut.
  void (*parallelFor)(struct TsrRuntime *self, TsrKernel kernel, void *const *args, int64_t iterations, int64_t grain,
                      int64_t piece);
  /// Runs entry `gemm` of the manifest's list of contractions: c = a·b, or
  /// c += a·b where the entry says accumulate. `bias` and `aux` are null unless the entry has them; which of them is read and which
  /// is written, its epilogue says. If the library fails, the runtime notes it and reports it when the entry function has returned:
  /// nothing is thrown through compiled code.
  void (*gemm)(struct TsrRuntime *self, uint32_t gemm, const void *a, const void *b, void *bias, void *aux, void *c);
  /// Copies `bytes` bytes between buffers that do not overlap; in parallel where that pays.
  void (*copy)(struct TsrRuntime *self, void *dst, const void *src, int64_t bytes);
  /// Sets `bytes` bytes to zero.
  void (*zero)(struct TsrRuntime *self, void *dst, int64_t bytes);
  /// In programs for a GPU, whose arena is memory of the device; what is called here runs there, in order, when the entry function has
  /// returned. Launches entry `kernel` of the manifest's list of kernels; `args` are the addresses of its operands, then of its results.
  void (*launch)(struct TsrRuntime *self, uint32_t kernel, void *const *args);
  /// In programs for a GPU: writes a number into the arena.
  void (*setInt)(struct TsrRuntime *self, void *dst, int32_t value);
} TsrRuntime;

/// An entry function: init, step, evaluate or predict. Everything it reads and
/// writes lies in the arena, at the offsets that the manifest names.
typedef void (*TsrEntry)(TsrRuntime *runtime, char *arena);

/// Machine code of some kernels for one kind of GPU.
typedef struct TsrImage {
  const char *architecture; ///< sm_90a: a cubin; compute_90: PTX
  uint32_t firstKernel;     ///< of the manifest's list
  uint32_t kernels;         ///< so many, from that one on
  uint64_t bytes;
  const void *code;
} TsrImage;

/// Symbols of the shared object: `tsr_abi_version` (uint32_t), `tsr_kernels` (TsrKernel[], one for each entry of the
/// manifest's list of kernels, in its order) and, for each entry function E of the manifest, `tsr_entry_E` (TsrEntry).
/// In programs for a GPU `tsr_images` (TsrImage[], up to one without an architecture) stands in place of `tsr_kernels`.
#define TSR_SYMBOL_ABI_VERSION "tsr_abi_version"
#define TSR_SYMBOL_KERNELS "tsr_kernels"
#define TSR_SYMBOL_IMAGES "tsr_images"
#define TSR_SYMBOL_ENTRY_PREFIX "tsr_entry_"

/// Last bytes of a training program, little endian.
typedef struct TsrTrailer {
  char magic[8];           ///< TSR_TRAILER_MAGIC, without the terminating zero
  uint32_t abiVersion;     ///< TSR_ABI_VERSION of the compiler
  uint32_t payloadHash;    ///< low half of XXH64 of shared object and manifest; 0: not recorded
  uint64_t objectOffset;   ///< of the shared object, from the start of the file
  uint64_t objectSize;     ///< bytes
  uint64_t manifestOffset; ///< of the manifest, from the start of the file
  uint64_t manifestSize;   ///< bytes
  uint64_t stateHash;      ///< FNV-1a (64 bit) of the text of the manifest's `state` value, brackets included
} TsrTrailer;

#define TSR_TRAILER_MAGIC "TESSERA1"

#ifdef __cplusplus
} // extern "C"
#endif

#endif // TESSERA_RUNTIME_ABI_H
