//===- DeviceFigures.h - how large and how fast a device is ---------------===//
//
// Figures for plans and for the model of costs. Of the phases only those read them that compare times: `shard` where it
// searches, and `rematerialize`. All are optional: what is absent is not known. Units: bytes, seconds, bytes a second,
// floating-point operations a second (a multiply-add counts as two). ir/program/DeviceFields.cpp has their keys, ranges
// and meanings.
//
//===----------------------------------------------------------------------===//

#ifndef TESSERA_IR_PROGRAM_DEVICEFIGURES_H
#define TESSERA_IR_PROGRAM_DEVICEFIGURES_H

#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <string>

namespace tessera {

/// Figures by the last part of their keys: `function.exp` is the entry `exp` of `functions`.
using FigureMap = std::map<std::string, double, std::less<>>;

/// Contractions by the type of their operands, in floating-point operations a second.
struct MultiplyRates {
  std::optional<double> f32, tf32, bf16, f16, fp8;
};

/// Of a GPU beside its sizes, `GpuSizes`.
struct GpuFigures {
  std::string architecture; ///< sm_90a; empty: not known
  std::optional<int64_t> contextBytes, sharedBytes, registers;
  std::optional<double> clock, cacheBandwidth, hostBandwidth;
  std::optional<double> launch, graphLaunch, shortestKernel, exchangeStart;
};

/// Of the processors of a machine.
struct CpuFigures {
  std::string march; ///< LLVM's name; empty: not known
  std::optional<int64_t> cores, l1Bytes, l2Bytes, l3Bytes, l3Cores;
  std::optional<double> l1Bandwidth, l2Bandwidth, l3Bandwidth;
  MultiplyRates thread; ///< of one thread while the others are idle
  std::optional<double> threadCopyBandwidth;
  FigureMap barriers;  ///< by the number of threads: the time of an empty parallel region
  FigureMap functions; ///< by the op: time for an element in one thread
};

struct DeviceFigures {
  std::string source;     ///< "data sheet" or "calibrated"; empty: not known
  std::string calibrated; ///< when and by which command
  std::optional<int64_t> memoryBytes;
  std::optional<double> price; ///< US dollars for an hour
  std::optional<double> copyBandwidth;
  MultiplyRates rates; ///< at their peak, with the whole device
  std::optional<double> sustainedPercent;
  FigureMap gemm;                                       ///< constants of the model of contractions
  FigureMap linkBandwidths, linkLatencies, linkDevices; ///< by class (passes/cost/RankLinks.h)
  GpuFigures gpu;
  CpuFigures cpu;
};

} // namespace tessera

#endif // TESSERA_IR_PROGRAM_DEVICEFIGURES_H
