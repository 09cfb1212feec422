//===- Abi.h - the contract between compiled code and the runtime ---------===//
//
// A training program is the launcher (this runtime) with a payload appended to it. The payload is a shared object
// made by the compiler and a manifest in JSON. The shared object has no dependencies: it reaches the runtime through
// a table of C function pointers only.
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
#define TSR_ABI_VERSION 9u

/// Element types of tensors and matrices, one row each:
///
///   X(enumerator, value, bytes, exponent bits, mantissa bits, name, name in safetensors files, name in NumPy's files)
///
/// `name` is that of manifests. Integers have no exponent bits. NumPy's name is empty for types that it does not have.
/// Files contain the values (GemmSearch.h), so new types come last. `runtime/base/ElementType.h` makes the C++
/// enumeration and its table from this list.
#define TSR_ELEMENT_TYPES(X)                                                                                           \
  X(F32, 0, 4, 8, 23, "f32", "F32", "<f4")                                                                             \
  X(BF16, 1, 2, 8, 7, "bf16", "BF16", "")                                                                              \
  X(F16, 2, 2, 5, 10, "f16", "F16", "<f2")                                                                             \
  X(E4M3, 3, 1, 4, 3, "e4m3", "F8_E4M3", "")                                                                           \
  X(E5M2, 4, 1, 5, 2, "e5m2", "F8_E5M2", "")                                                                           \
  X(F64, 5, 8, 11, 52, "f64", "F64", "<f8")                                                                            \
  X(I32, 6, 4, 0, 0, "i32", "I32", "<i4")                                                                              \
  X(I64, 7, 8, 0, 0, "i64", "I64", "<i8")                                                                              \
  X(I1, 8, 1, 0, 0, "i1", "BOOL", "|b1")                                                                               \
  X(U8, 9, 1, 0, 0, "u8", "U8", "|u1")

#define TSR_ENUMERATOR(enumerator, value, ...) TSR_##enumerator = value,
typedef enum TsrElementType { TSR_ELEMENT_TYPES(TSR_ENUMERATOR) } TsrElementType;
#undef TSR_ENUMERATOR

/// A generated kernel. It computes the iterations [begin, end) of its parallel space. `args` are the addresses of its
/// operands, then of its results. `scratch` is memory of this thread alone, of the size that `parallelFor` is called
/// with, 64-byte aligned.
typedef void (*TsrKernel)(void *const *args, int64_t begin, int64_t end, void *scratch);

/// The functions of the runtime that compiled code calls. `self` is always the first argument.
typedef struct TsrRuntime {
  uint32_t abiVersion;
  uint32_t threads;
  /// Runs `kernel` over [0, iterations), split into one contiguous range for each thread; every range but the last is
  /// a multiple of `grain`. Returns when all are done. Unless `piece` is 0 there is work stealing: an idle thread
  /// takes blocks of at least `piece` iterations from the end of another thread's range. Results do not depend on
  /// where a range is split. At `scratch` is the scratch memory of the manifest's number of threads, `scratchBytes`
  /// for each; null if the kernel needs none.
  void (*parallelFor)(struct TsrRuntime *self, TsrKernel kernel, void *const *args, int64_t iterations, int64_t grain,
                      int64_t piece, void *scratch, int64_t scratchBytes);
  /// Runs entry `gemm` of the manifest's list of contractions: c = a·b, or c += a·b if the entry says `accumulate`.
  /// `bias` and `aux` are null unless the entry has them; its epilogue says which of them is read and which is
  /// written. If the library fails, the runtime notes it and throws when the entry function has returned: no
  /// exception crosses compiled code.
  void (*gemm)(struct TsrRuntime *self, uint32_t gemm, const void *a, const void *b, void *bias, void *aux, void *c);
  /// Copies `bytes` bytes between buffers that do not overlap, with several threads if that is faster.
  void (*copy)(struct TsrRuntime *self, void *dst, const void *src, int64_t bytes);
  /// Sets `bytes` bytes to zero.
  void (*zero)(struct TsrRuntime *self, void *dst, int64_t bytes);
  /// In programs for a GPU, whose arena is device memory: work issued here runs on the device, in order, after the
  /// entry function has returned. Launches entry `kernel` of the manifest's list of kernels; `args` are the addresses
  /// of its operands, then of its results.
  void (*launch)(struct TsrRuntime *self, uint32_t kernel, void *const *args);
  /// In programs for a GPU: writes an integer into the arena.
  void (*setInt)(struct TsrRuntime *self, void *dst, int32_t value);
  /// In programs for several ranks: begins entry `exchange` of the manifest's list of exchanges. Until `wait` returns,
  /// nothing may write what is sent or access what is received. A failure is noted like that of `gemm`.
  void (*start)(struct TsrRuntime *self, uint32_t exchange, const void *sent, void *received);
  void (*wait)(struct TsrRuntime *self, uint32_t exchange);
} TsrRuntime;

/// An entry function: init, step, shadow, evaluate, predict or generate. All that it reads and writes is in the arena,
/// at the offsets that the manifest gives.
typedef void (*TsrEntry)(TsrRuntime *runtime, char *arena);

/// Machine code of some kernels for one GPU architecture.
typedef struct TsrImage {
  const char *architecture; ///< sm_90a: a cubin; compute_90: PTX
  uint32_t firstKernel;     ///< index in the manifest's list
  uint32_t kernels;         ///< their number
  uint64_t bytes;
  const void *code;
} TsrImage;

/// Symbols of the shared object: `tsr_abi_version` (uint32_t), `tsr_kernels` (TsrKernel[], in the order of the
/// manifest's list of kernels) and, for each entry function E of the manifest, `tsr_entry_E` (TsrEntry). Programs for
/// a GPU have `tsr_images` (TsrImage[], ended by one without an architecture) instead of `tsr_kernels`.
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
