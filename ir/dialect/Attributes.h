//===- Attributes.h - discardable attributes of modules, functions and ops -===//
//
// Their names, and access to those that many phases read. See docs/ir.md.
//
//===----------------------------------------------------------------------===//

#ifndef TESSERA_IR_DIALECT_ATTRIBUTES_H
#define TESSERA_IR_DIALECT_ATTRIBUTES_H

#include "mlir/IR/Operation.h"

namespace tessera {

namespace attrs {
// On the module.
inline constexpr llvm::StringLiteral axes = "tsr.axes";   ///< canonical axis order: array of strings
inline constexpr llvm::StringLiteral model = "tsr.model"; ///< the model's name
inline constexpr llvm::StringLiteral phase = "tsr.phase"; ///< the last phase that has run
// The device that the program is for (ir/program/Target.h). Phases from `differentiate` on ask for it.
inline constexpr llvm::StringLiteral target = "tsr.target";
inline constexpr llvm::StringLiteral device = "tsr.device";
inline constexpr llvm::StringLiteral prefer = "tsr.prefer"; ///< "memory": a GPU program spends none for speed
/// The machines that its ranks run on: dictionary {count, devices}; absent: one (ir/program/Machines.h).
inline constexpr llvm::StringLiteral machines = "tsr.machines";
/// "bias": on a GPU contractions add biases, and have no other epilogues; absent: all that the library has.
inline constexpr llvm::StringLiteral epilogues = "tsr.epilogues";
inline constexpr llvm::StringLiteral data = "tsr.data"; ///< data sources: array of dictionaries, as in the manifest
inline constexpr llvm::StringLiteral settings = "tsr.settings"; ///< run-time settings: dictionary of dictionaries
inline constexpr llvm::StringLiteral audit = "tsr.audit";       ///< unit: `precision` makes the entry function `shadow`
// What the user says about ranks (ir/program/ShardSettings.h).
inline constexpr llvm::StringLiteral mesh = "tsr.mesh";   ///< the mesh of ranks: array of axes; absent: one rank
inline constexpr llvm::StringLiteral shard = "tsr.shard"; ///< which mesh axis an axis is laid along: dictionary
inline constexpr llvm::StringLiteral shardStates = "tsr.shard_states"; ///< the same for states: array of dictionaries
inline constexpr llvm::StringLiteral zero = "tsr.zero";                ///< the level of ZeRO: 0 to 3
/// The number of leaves that the batch of `step` is cut into, whose gradients add in a binary tree; absent: none.
inline constexpr llvm::StringLiteral leaves = "tsr.leaves";
/// Ranks for which a sharding is to be found, as far as the others do not say it; absent: they say all.
inline constexpr llvm::StringLiteral devices = "tsr.devices";
/// What the search for a sharding predicts: dictionary {seconds, bound, bytes, memory}, of a step, of one with any
/// sharding that is within the limits, of what is alive at once on a rank, and its limit; without `memory` no limit was
/// kept, because none is known or nothing is within it.
inline constexpr llvm::StringLiteral foundSharding = "tsr.found_sharding";
/// The bytes that the search may count as alive at once on a rank, none if negative; absent: the budget, or the memory
/// of the device.
inline constexpr llvm::StringLiteral searchMemory = "tsr.search_memory";
/// "library": the library that moves bytes between GPUs also adds, in an order of its own; absent: generated code does.
inline constexpr llvm::StringLiteral reductions = "tsr.reductions";
// What the user says about memory (ir/program/MemorySettings.h), and what the phase `rematerialize` found.
inline constexpr llvm::StringLiteral memory = "tsr.memory";       ///< dictionary of bytes
inline constexpr llvm::StringLiteral remat = "tsr.remat";         ///< what is recomputed: a word
inline constexpr llvm::StringLiteral save = "tsr.save";           ///< patterns of the values that are saved
inline constexpr llvm::StringLiteral recompute = "tsr.recompute"; ///< patterns of those that are recomputed
inline constexpr llvm::StringLiteral frontier = "tsr.frontier";   ///< memory against time: array of dictionaries
/// What layers save and recompute: array of dictionaries (passes/rematerialize/LayerValues.h).
inline constexpr llvm::StringLiteral layerValues = "tsr.layer_values";
/// Predicted seconds: dictionary {seconds, bound, step}, of recomputation, of that in any plan whose live bytes are
/// within the arena that was asked for, and of the step without it.
inline constexpr llvm::StringLiteral recomputation = "tsr.recomputation";
/// Why a phase cannot do what the user asked for: with it, the failure of a phase is no defect of the compiler.
inline constexpr llvm::StringLiteral problem = "tsr.problem";
inline constexpr llvm::StringLiteral arena = "tsr.arena"; ///< bytes of the arena, after `schedule`
/// No places in the order of the ops need an arena of fewer bytes, after `schedule`.
inline constexpr llvm::StringLiteral arenaBound = "tsr.arena_bound";
/// What the arena lacks for all exchanges of `step` to run beside kernels, after `schedule`; absent: nothing.
inline constexpr llvm::StringLiteral arenaLacking = "tsr.arena_lacking";
// On arguments and results of entry functions.
inline constexpr llvm::StringLiteral state = "tsr.state"; ///< symbol of the state entry that the value is
inline constexpr llvm::StringLiteral input =
    "tsr.input"; ///< dictionary {name, role, data, field, of} as in the manifest, and `order`
inline constexpr llvm::StringLiteral output = "tsr.output"; ///< dictionary {name, role} as in the manifest, and `order`
inline constexpr llvm::StringLiteral place = "tsr.place";   ///< #tsr.place, after `schedule`
/// On ops, states, arguments and results, by `shard` (passes/sharding/Sharding.h): which mesh axis an axis is divided
/// along, as a dictionary; on repeats a list of dictionaries, one for each operand and stacked result.
inline constexpr llvm::StringLiteral sharding = "tsr.sharding";
/// On states, after `partition`: what is divided of them, a dictionary {AXIS = {along = MESH AXIS, whole = elements of
/// all ranks, without padding}}. Tags of inputs have it as `divided`, or with `blocks` (passes/sharding/Sharding.h).
inline constexpr llvm::StringLiteral divided = "tsr.divided";
// On ops.
inline constexpr llvm::StringLiteral name = "tsr.name";     ///< the user's name with its scope: "h.attn.q"
inline constexpr llvm::StringLiteral places = "tsr.places"; ///< one #tsr.place for each result, after `schedule`
/// "backward" or "optimizer": the pass of a training step that the op belongs to; absent: the forward pass.
inline constexpr llvm::StringLiteral pass = "tsr.pass";
/// f32: the phase `precision` leaves the op and its results in f32.
inline constexpr llvm::StringLiteral precision = "tsr.precision";
/// Unit, on a sum over one axis whose size is a power of two: neighbours are added, then neighbouring sums, and so on.
/// So the sum of the sums of equal ranges has the same bits. On a repeat: its iterations are leaves (docs/sharding.md).
inline constexpr llvm::StringLiteral tree = "tsr.tree";
/// On a repeat over leaves: the mesh axis that divides its iterations, from `shard` to `partition`.
inline constexpr llvm::StringLiteral along = "tsr.along";
/// On adjacent ops of a block that are horizontally fused, kernels on a GPU or GEMMs on a CPU: the number (i64) of
/// their group. After `schedule`.
inline constexpr llvm::StringLiteral fusionGroup = "tsr.group";
/// Unit, on a `tsr.start` in a repeat, after `schedule`: it runs in the iteration before its own
/// (passes/analysis/EarlyStarts.h).
inline constexpr llvm::StringLiteral early = "tsr.early";
/// Unit, on a `tsr.start` in a repeat, after `schedule`: what it brings is needed for results of the repeat only, and
/// while the repeat runs, what it sends and receives has places that nothing else uses.
inline constexpr llvm::StringLiteral late = "tsr.late";
/// On a kernel that has lost results: how a GPU divides its sums as before, array<i64: VECTOR, GROUP>
/// (passes/kernel/ThreadMapping.h); absent: as what it reads and writes suggests.
inline constexpr llvm::StringLiteral sums = "tsr.sums";
/// On a contraction whose rows do not begin at multiples of what the library prefers: why `layout` left them so.
inline constexpr llvm::StringLiteral unaligned = "tsr.unaligned";
} // namespace attrs

/// The user's name of an op, or the empty string.
llvm::StringRef userName(mlir::Operation *op);

/// Sets an attribute, or removes it if `value` is null.
void setOrRemoveAttr(mlir::Operation *op, llvm::StringRef name, mlir::Attribute value);

/// Gives `to` the user's name of `from`, if it has none itself.
void copyUserName(mlir::Operation *from, mlir::Operation *to);

/// What the name of an op begins with that computes again, in the backward pass, what the forward pass did not save.
inline constexpr llvm::StringLiteral recomputeOf = "recompute of ";

/// The passes of a training step, in their order.
enum class StepPass : uint8_t { Forward, Backward, Optimizer };

/// "forward", "backward" or "optimizer".
llvm::StringRef stringifyStepPass(StepPass pass);

/// The pass that an op belongs to, as its attribute says; `tsr.seed`, `tsr.clip` and `tsr.update` need none. Of a
/// kernel that computes for several: passes/analysis/StepPasses.h.
StepPass stepPass(mlir::Operation *op);
/// Of ops that run together: the last one's.
StepPass stepPass(llvm::ArrayRef<mlir::Operation *> ops);

/// Has an op belong to a pass. Constants and terminators belong to none.
void setStepPass(mlir::Operation *op, StepPass pass);

/// Has all ops after `previous` (null: from the beginning of the block) and before `end` belong to a pass, with those
/// in their regions.
void setStepPassBetween(mlir::Operation *previous, mlir::Operation *end, StepPass pass);

/// For an op that computes what `from` does: the user's name, and the pass unless its own is a later one. Both only
/// describe: nothing that the compiler does depends on them.
void copyNotes(mlir::Operation *from, mlir::Operation *to);

/// Whether an attribute only describes its op: the user's name, the pass of a step.
bool isNote(mlir::NamedAttribute attribute);

/// Whether the op and its results are exempt from reduced precision.
inline bool staysInF32(mlir::Operation *op) { return op && op->hasAttr(attrs::precision); }

/// Exempts `to` from reduced precision if `from` is exempt.
void copyPrecision(mlir::Operation *from, mlir::Operation *to);

} // namespace tessera

#endif // TESSERA_IR_DIALECT_ATTRIBUTES_H
