//===- Target.h - the device that a program is for ------------------------===//
//
// The one description of a device. Phases and code generation ask it questions; none of them asks which device it is.
// The module records what it was compiled for:
//
//   tsr.target = "cuda"                                   the kind of device; absent: a CPU
//   tsr.device = "a100"                                   its description; absent: the first one of the kind
//   tsr.device = {name = "a100", multiprocessors = 16}    the same with other fields
//   tsr.device = {name = "a100", called = "mine", …}      the description `mine`, from a file
//   tsr.prefer = "memory"                                 whether a GPU program spends memory for speed; absent: yes
//
// Descriptions are texts: presets in ir/program/devices/, and files of users (DeviceText.h). The fields that they and
// `tsr.device` may have are in one table, DeviceFields.h.
//
//===----------------------------------------------------------------------===//

#ifndef TESSERA_IR_PROGRAM_TARGET_H
#define TESSERA_IR_PROGRAM_TARGET_H

#include "ir/dialect/Tsr.h"
#include "ir/program/DeviceFigures.h"
#include <limits>

namespace tessera {

/// Measured speeds of contractions (passes/gemm/ContractionSpeeds.h).
enum class SpeedTable { Intel, Amd };

/// What the GEMM library of a device can do.
struct GemmLibrary {
  /// A contraction and its bias are one value: the library stores their sum, and the sum without the bias nowhere.
  bool givesBiasedSumsOnly = false;
  /// A bias has the element type of the result, even where that has fewer bits than the sum.
  bool roundsBiases = false;
  /// GELU and its gradient are epilogues of contractions, unless `tsr.epilogues` says otherwise.
  bool hasGeluEpilogues = false;
  /// Contractions with a common operand are computed as one, with their other operands joined (passes/join/).
  bool joinsContractions = false;
  /// The dimensions of an fp8 contraction are multiples of this.
  int64_t fp8Multiple = 1;
  /// Rows of a matrix that begin at multiples of so many bytes are read and written fastest.
  int64_t rowAlignment = 1;
  /// The axes that an fp8 contraction sums over are innermost in both operands.
  bool sumsFp8Innermost = false;
};

/// The sizes of a GPU.
struct GpuSizes {
  int64_t multiprocessors = 0;
  int64_t threadsPerMultiprocessor = 0;
  int64_t cacheBytes = 0; ///< of the cache that all multiprocessors share

  /// Points that give all multiprocessors work in a kernel whose points several threads share.
  int64_t pointsForAll() const { return multiprocessors * threadsPerMultiprocessor / 16; }
};

/// Whether a GPU program spends memory for speed, as it does where `Speed` is preferred.
enum class Preference { Speed, Memory };

/// The device, as phases and code generation ask for it.
///
/// Large because: a fact about a device is a field here and nowhere else.
struct Target {
  enum class Kind { Cpu, Gpu };

  llvm::StringRef device; ///< the preset, or the one that the description of a file is based on; else its kind
  std::string called;     ///< the name of the description of a file; empty: it is the preset
  Kind kind = Kind::Cpu;
  Preference preference = Preference::Speed;
  GemmLibrary library;
  GpuSizes gpu; ///< all 0 for a CPU

  // How work is divided.

  /// Rows of a contraction from which on it takes much longer than a pass over a carried sum.
  int64_t leastChunkRows = 256;
  /// Bytes of a contraction's result from which on it is computed in chunks.
  int64_t leastChunkedBytes = 64 << 20;
  /// There are no more chunks than make them as small as `leastChunkedBytes`; else as many as leave each enough rows.
  bool prefersLargeChunks = false;
  /// A reduction to fewer elements than `fewSums`, each of at least `longSum` elements, is computed by two kernels.
  int64_t fewSums = 64, longSum = 4096;
  /// Matrices of a batch that give all threads work, if a tiled op sums over rows.
  int64_t leastTiledMatrices = 4;
  /// The largest operand that a contraction in a tiled op may read whole, in bytes.
  int64_t mostTiledBytes = 2 << 20;
  /// The matrices of a tiled op are held in the registers of matrix units.
  bool tilesInRegisters = false;
  /// The kernel of sums over outer axes may compute and write element values: access by columns is as fast as by rows,
  /// if there are sums for all threads.
  bool writesByColumns = false;

  // What is stored.

  /// What the forward pass stores for a contraction, and the backward pass reads in memory too, is saved instead of
  /// being stored once more by a kernel.
  bool savesStoredOperands = false;
  /// A contraction adds to the residual stream in memory, also where the sum is in a low-precision type and where a
  /// kernel reads it: adding to the result costs less than passing over it once more.
  bool addsToResiduals = false;

  // What runs together.

  /// Independent kernels are fused horizontally: they run in one launch.
  bool fusesLaunches = false;
  /// Independent GEMMs with a common operand are fused horizontally.
  bool fusesGemms = true;
  /// Exchanges with other ranks run beside kernels that do not need what they bring.
  bool overlapsExchanges = false;
  /// How fast horizontally fused GEMMs must be, in percent of the faster way to compute them one by one.
  int64_t fusedSpeedPercent = 100;

  // The processor.

  SpeedTable speeds = SpeedTable::Intel;
  /// Cache lines at a constant distance of several pages are prefetched.
  bool prefetchesAcrossPages = false;

  /// How large and how fast it is, as far as that is known.
  DeviceFigures figures;

  /// The name of the description.
  llvm::StringRef name() const { return called.empty() ? device : llvm::StringRef(called); }
  bool isGpu() const { return kind == Kind::Gpu; }

  /// The target of the module that is, or contains, `op`. What the module records must be known; see `read`.
  static Target of(mlir::Operation *op);
  /// The same; fails with a message on the module where it records an unknown kind, device or field.
  static llvm::FailureOr<Target> read(mlir::ModuleOp module);

  /// The presets, in their order.
  static llvm::ArrayRef<Target> presets();
  /// The preset of that name.
  static std::optional<Target> named(llvm::StringRef device);
  /// What all devices of a kind have in common. Its name is `cpu` or `gpu`.
  static Target ofKind(Kind kind);
  /// The description that suits a processor, by LLVM's name.
  static Target forProcessor(llvm::StringRef processor);
  /// The description of a GPU of that architecture: 90 for sm_90a.
  static Target forArchitecture(int architecture);

  /// The device with that preference: it decides the fields of its description that trade memory for speed.
  Target preferring(Preference preference) const;

  /// Records the target in the module. The first description of a kind leaves no `tsr.device`.
  void record(mlir::ModuleOp module) const;
  /// The value of `tsr.device`, also where it is left out.
  mlir::Attribute recorded(mlir::MLIRContext *context) const;
};

} // namespace tessera

#endif // TESSERA_IR_PROGRAM_TARGET_H
