//===- MemoryTimeline.h - which values are in the arena at which moment ---===//
//
// The exact memory plan of an entry function: the moments of its timeline (passes/analysis/Timeline.h), what runs
// there, and the values in the arena, each with its kind, its bytes, and the moments of its birth and death. No byte
// counts twice: of values that follow each other in a buffer, each has it for a time; of a buffer with several values
// at once (the slots of a stack, the parts of a joined value) the largest has all of it. So the bytes of the values at
// a moment are the bytes that are live then. A repeat has the moments of its body once.
//
//===----------------------------------------------------------------------===//

#ifndef TESSERA_PASSES_MEMORY_MEMORYTIMELINE_H
#define TESSERA_PASSES_MEMORY_MEMORYTIMELINE_H

#include "ir/dialect/Attributes.h"
#include "passes/memory/BufferKinds.h"
#include <array>
#include <string>
#include <vector>

namespace tessera {

/// A moment at which a kernel, contraction or copy runs, or a repeat begins.
struct MemoryMoment {
  int number = 0;
  std::string name; ///< of what runs (passes/analysis/ValueNames.h); the axis of a repeat
  StepPass pass = StepPass::Forward;
  mlir::Operation *first = nullptr; ///< of the ops that run; null for a repeat
  int call = -1;                    ///< the ordinal of the call in the manifest's `trace`; -1: a copy or a repeat
  int64_t iterations = 0;           ///< of a repeat that begins; else 0
  int end = 0;                      ///< the moment where that repeat ends
};

/// A value in the arena from the moment `first` to `last`, both inclusive. A stack that a repeat fills while it empties
/// another is there twice: while the repeat runs with its share of the bytes of both, otherwise with all of its bytes.
struct MemoryValue {
  mlir::Value value; ///< null for a state that the function does not read
  std::string name;  ///< passes/analysis/ValueNames.h; a state's path
  std::string line;  ///< of the model, "model.tsr:31:7"; may be empty
  BufferKind kind = BufferKind::Temporary;
  bool isState = false;
  /// The bytes of the arena that it has. Values at one moment do not overlap. (Of stacks that share slots the places
  /// alternate; here they follow each other.)
  int64_t offset = 0, bytes = 0;
  int first = 0, last = 0;
};

using BytesByKind = std::array<int64_t, bufferKindCount>;

struct MemoryTimeline {
  std::vector<MemoryMoment> moments;
  std::vector<MemoryValue> values; ///< states first, then by birth
  int lastMoment = 0;              ///< the first one is 0, before all ops
  int peak = 0;                    ///< the first moment at which most bytes are live

  /// Live bytes at a moment.
  BytesByKind liveAt(int moment) const;
  int64_t bytesAt(int moment) const;
};

/// Bytes of the arena that a buffer has from the moment `first` to `last`, both inclusive.
struct PlacedRange {
  int64_t offset, bytes;
  int first, last;
};

/// All buffers of an entry function of a scheduled module, but the places of state. A stack has all of its bytes for as
/// long as any of them is live.
std::vector<PlacedRange> placedRanges(mlir::func::FuncOp function);

/// The timeline of an entry function of a scheduled module.
MemoryTimeline memoryTimeline(mlir::func::FuncOp function);

} // namespace tessera

#endif // TESSERA_PASSES_MEMORY_MEMORYTIMELINE_H
