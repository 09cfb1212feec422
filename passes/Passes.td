//===- Passes.td - the phases of the compiler -----------------------------===//
//
// passes/Pipeline.cpp says in which order the passes run, and why; docs/ir.md
// lists what holds after each of them. Samples of IR are as it prints, but for
// types, which are left out.
//
//===----------------------------------------------------------------------===//

#ifndef TSR_PASSES_TD
#define TSR_PASSES_TD

include "mlir/Pass/PassBase.td"

class Tsr_ModulePass<string flag> : Pass<flag, "::mlir::ModuleOp"> {
  let dependentDialects = ["::tessera::TsrDialect", "::mlir::func::FuncDialect"];
}

def SimplifyPass : Tsr_ModulePass<"tsr-simplify"> {
  let summary = "canonicalisation, common subexpression elimination, dead code elimination; raises composites";
  let description = [{
    Rewrites until nothing changes: folds constants, applies identities of arithmetic that hold for every float (NaN and
    infinity included), cancels axis ops, moves broadcasts out of elementwise ops, eliminates common subexpressions of a
    block, and removes unused results, carried values and operands of repeats. No rewrite looks at the user's names.

    Before `differentiate` it also raises softmax, layer norm, cross entropy and attention that are open-coded, because
    the composites have better adjoints than their primitive ops. Where attention is nearly matched, a remark says what
    prevents it.

    ```
    before   %t = tsr.reduce max %x over [key]
             %d = tsr.sub %x, %t
             %e = tsr.exp %d
             %s = tsr.reduce sum %e over [key]
             %p = tsr.div %e, %s
    after    %p = tsr.softmax %x over key
    ```

    Requires: nothing; it may run at any point before `layout`. Ensures: no dead op, no two equal ops in a block, no op
    on constants that folds.
  }];
}

def DifferentiatePass : Tsr_ModulePass<"tsr-differentiate"> {
  let summary = "replaces tsr.gradient by the reverse-mode program";
  let description = [{
    Reverse-mode automatic differentiation of the block that contains each `tsr.gradient`. Each op builds its
    adjoint; the adjoint of a repeat is a reversed repeat, and the values that it reads are stacked results of the
    forward repeat or recomputed (`ir/autodiff/SavedValues.h`).

    ```
    before   %p = tsr.mul %x, %w
             %loss = tsr.reduce sum %p over [in]
             %dw = tsr.gradient %loss wrt(%w)
    after    %p = tsr.mul %x, %w
             %loss = tsr.reduce sum %p over [in]
             %one = tsr.seed
             %dp = tsr.broadcast %one
             %dw = tsr.mul %dp, %x
    ```

    At the end each `tsr.stop`, which has no adjoint, is replaced by its operand.

    Requires: the loss is a float scalar of the same block. Ensures: no `tsr.gradient` and no `tsr.stop`. Dead ops,
    zeros and duplicates may be left; `tsr-simplify` removes them.
  }];
}

def PrecisionPass : Tsr_ModulePass<"tsr-precision"> {
  let summary = "reduced precision of contractions and stored activations; loss scaling";
  let description = [{
    Under `compute(bf16)` or `compute(fp16)`, contractions multiply low-precision elements and accumulate in f32, and
    activations are stored in the low-precision type. All other arithmetic is in f32, in registers: a value is rounded
    where it is stored and nowhere else. Under `compute(fp8)` the same holds with bf16, and then the contractions of the
    step with weight matrices get fp8 operands. Ops with `tsr.precision = f32` are exempt.

    ```
    before   %h = tsr.contract %x, %w over [in]               x, w, h: f32
             %g = tsr.tanh %h
             %y = tsr.contract %g, %v over [out]
    after    %x.l = tsr.cast %x to bf16                         parameters: once a step, before all repeats
             %w.l = tsr.cast %w to bf16
             %h.l = tsr.contract %x.l, %w.l over [in]         bf16, accumulated in f32
             %h = tsr.cast %h.l to f32
             %g = tsr.tanh %h
             %g.l = tsr.cast %g to bf16                         the next contraction reads it from memory
             %y.l = tsr.contract %g.l, %v.l over [out]
    ```

    For an audit (`tsr.audit`) the step is cloned in f32 first, as the entry function `shadow`.

    Requires: `tsr.clip` and `tsr.update` are still there; they say which gradients belong to parameters. Ensures: each
    op has the element types of the policy (`passes/precision/Policy.h`), and each rounding is a cast or the result of a
    contraction. Without a low-precision type nothing changes.
  }];
}

def OptimizePass : Tsr_ModulePass<"tsr-optimize"> {
  let summary = "expands optimizer updates and gradient clipping, and adds the optimizer's state";
  let description = [{
    Replaces `tsr.clip` by the global norm and scaled gradients, and each `tsr.update` by the formula of its rule
    (`ir/optimizer/OptimizerRules.h`), which becomes one elementwise chain for each parameter. The state of the rule is
    entered in the state table and passed through `init`, as zeros, and `step`. If the global norm is not finite,
    parameters and state stay as they are.

    ```
    before   %c, %norm = tsr.clip(%g) limit %limit
             %w1 = tsr.update "adamw" @w %w gradient %c step %step norm %norm arguments [rate, …](%rate, …)
    after    %norm = sqrt(sum of all squares)                   @w.m and @w.v are state
             %c = %g * (%limit / max(%norm, %limit))
             %finite = %norm < inf
             %m1 = select(%finite, m + (c - m) * (1 - beta1), m)
             …
    ```

    Requires: updates are in the body of `step`, not in a repeat. Ensures: no `tsr.clip`, no `tsr.update`; `init`
    returns all state.
  }];
}

def LeavesPass : Tsr_ModulePass<"tsr-leaves"> {
  let summary = "sums over leaves in a binary tree";
  let description = [{
    With `tsr.leaves` the batch of `step` is cut into leaves, over which a repeat adds up gradients. Leaves are
    independent of each other, so the repeat stacks what each adds, and the stack is summed in a tree (`tsr.tree`): in
    the same order on any number of ranks that have whole leaves.

    ```
    before   %g = tsr.repeat [micro: 8] carry (%sum = %zero) … {
               %next = tsr.add %sum, %d
               tsr.yield %next
             }
    after    %s = tsr.repeat [micro: 8] … {
               tsr.yield %d
             }
             %g = tsr.reduce sum %s over [micro] {tsr.tree}
    ```

    Requires: no updates. Ensures: the repeat over leaves carries nothing. Without leaves nothing changes.
  }];
}

def TreeSumsPass : Tsr_ModulePass<"tsr-tree-sums"> {
  let summary = "writes sums in trees as additions";
  let description = [{
    A stack that is only summed in a tree is not stored: its repeat becomes nested ones, which add where a tree does
    (`passes/TreeSums.cpp`). So four leaves or more, N on a rank, need memory for 2 + log2 N gradients, not for N. What
    was received from ranks is added pair by pair.

    Ensures: no reduction has `tsr.tree`.
  }];
}

def ShardPass : Tsr_ModulePass<"tsr-shard"> {
  let summary = "decides which axes are divided among ranks";
  let description = [{
    Begins with what the user says: the mesh (`tsr.mesh`), axes of the program that are laid along mesh axes
    (`tsr.shard`), and shardings of single states (`tsr.sharding` on them). Every op, argument and result gets a
    sharding, as an attribute: along which mesh axis each of its axes is divided (`passes/sharding/Assignment.h`).

    ```
    before   tsr.mesh = [data: 2, tensor: 4], tsr.shard = {batch = "data", ff = "tensor"}
             %h = tsr.contract %x, %up over [embed]         [batch, seq, ff]
             %y = tsr.contract %h, %down over [ff]          [batch, seq, embed]
    after    %h = tsr.contract %x, %up over [embed]         {batch = "data", ff = "tensor"}
             %y = tsr.contract %h, %down over [ff]          {batch = "data", ff = "tensor"}
    ```

    With `tsr.devices` it finds the mesh and the shardings that take the least time (`passes/sharding/search/`), as far
    as the attributes above do not say them. With `tsr.plan` too, it takes those that an earlier search found
    (`passes/sharding/search/ShardingPlan.h`), or fails with what has changed since then.

    With neither, nothing changes. Requires: all state is in the state table. Ensures: a mesh axis divides at most one
    axis of an op.
  }];
  let options = [
    Option<"threads", "threads", "int", "1", "threads that a program for a CPU will have">,
    Option<"explains", "explain", "bool", "false",
           "also find what a step takes without the user's words, and with what was rejected">
  ];
}

def PartitionPass : Tsr_ModulePass<"tsr-partition"> {
  let summary = "writes the program with an axis for the ranks";
  let description = [{
    Rewrites entry functions into wide form (`passes/sharding/WideBuilder.h`): a divided axis becomes the mesh axis and
    the axis of a part, so that values have the parts of all ranks. The program is still an ordinary one, which the
    interpreter evaluates. What ranks exchange are ops on mesh axes: to reduce over one is an all-reduce, to merge one
    with the axis of a part an all-gather, to split a whole axis is taking one's own part.

    ```
    before   %y = tsr.contract %h, %down over [ff]            {batch = "data", ff = "tensor"}
    after    %p = tsr.contract %h, %down over [ff]            [data, tensor, batch, seq, embed]
             %y = tsr.reduce sum %p over [tensor]             [data, batch, seq, embed]
    ```

    Sums over mesh axes that are added to each other become one, and what a repeat accumulates is summed over mesh axes
    once, after it (`passes/sharding/LateReductions.h`). A part that all readers of a sum want is taken directly behind
    it (`passes/sharding/EarlyParts.h`). Sizes that the ranks do not divide are padded. What is behind the end of an
    axis is anything, but for state, where it is zero; what is reduced over gets the neutral element there.

    Requires: `tsr-shard`. Ensures: each result is that of the program before, but for the order of sums over divided
    axes.
  }];
}

def LocalizePass : Tsr_ModulePass<"tsr-localize"> {
  let summary = "writes the program of one rank";
  let description = [{
    Removes the mesh axes from all types: a value is this rank's part. Reductions over mesh axes, and merges of them,
    become exchanges of bytes (`tsr.start`, `tsr.wait`) with ordinary ops around them (`passes/sharding/Exchanges.h`); a
    split along a mesh axis reads this rank's part, of a sum by a reduce-scatter. If all readers round a sum, so is what
    is gathered of it. All ranks run this one program. What differs are the positions of a rank along the axes of the
    mesh, which are inputs with the role `rank`.

    ```
    before   %y = tsr.reduce sum %p over [tensor]
    after    %s = tsr.split %p batch into [tensor, batch]
             %r = tsr.start all_to_all %s along tensor
             %w = tsr.wait %r sent %s
             %t = tsr.reduce sum %w over [tensor]
             …                                                  and an all_gather of %t
    ```

    Requires: `tsr-partition`. Ensures: sums over ranks are in the order of the ranks, but for those that
    `tsr.reductions = "library"` leaves to the library (`reduce_scatter`).
  }];
  let options = [Option<"leastDivided", "least-divided", "int64_t", "1024",
                        "values of fewer elements are gathered whole to be reduced: one exchange instead of two">];
}

def ChunkPass : Tsr_ModulePass<"tsr-chunk"> {
  let summary = "computes large intermediate results for some rows at a time";
  let description = [{
    The logits of a language model, [batch, seq, vocab], are the largest intermediate result of its step. A contraction
    computes them, a loss and its gradient follow, and two contractions consume them. All of these ops work on rows
    independently, so that a repeat over chunks of rows needs a fraction of the memory. The pass finds such groups
    around every contraction with a large result, also inside repeats.

    ```
    before   %l = tsr.contract %x, %w over [embed]                     [batch: 8, seq, vocab]
             …                                                           dl, loss
             %dx = tsr.contract %dl, %w over [vocab]                   [batch: 8, seq, embed]
             %dw = tsr.contract %dl, %x over [batch, seq]              [vocab, embed]
    after    %dw, %dxs, %losses = tsr.repeat [batch_chunk: 4] index %i carry (%sum = %zero) slice (%rows = %xs) {
               the same on [batch: 2, …], %dw accumulated in %sum
             }
             %dx = tsr.merge %dxs [batch_chunk, batch] into batch
    ```

    Sums over the chunked axis are accumulated in the order of the rows, as before. A chunk costs one pass over each
    carried sum; therefore chunks have enough rows for contractions to run at full speed.

    Contractions that `tile` will take, as those around the scores of an attention, are in no chunk. If any result is
    large, the pass runs the phases up to `tile` on a copy of the module to find them.

    Requires: canonical types, so it runs before `layout`. Ensures: each result is computed from the same sums, in the
    same order.
  }];
  let options = [Option<"leastBytes", "least-bytes", "int64_t", "0",
                        "size of the smallest result that is computed in chunks, in bytes; 0: as the target says">,
                 Option<"leastRows", "least-rows", "int64_t", "0",
                        "rows of a chunk at least, so that contractions run at full speed; 0: as the target says">];
  let statistics = [Statistic<"resultsChunked", "results-chunked",
                              "contractions whose results are computed in chunks">];
}

def JoinPass : Tsr_ModulePass<"tsr-join"> {
  let summary = "computes contractions with a common operand as one";
  let description = [{
    Queries, keys and values are three contractions of one input. Joined along the feature axis their weights are one
    matrix, and one larger contraction takes their place. So do the gate and the values of a gated MLP. In the backward
    pass the gradients are joined: the sum of their contractions with the weights is one contraction over the joined
    axis, and the gradients of the weights are one contraction with the common input.

    ```
    before   %q = tsr.contract %x, %wq over [embed]         [batch, seq, head, hd]
             %k = tsr.contract %x, %wk over [embed]
             …
             %dx = tsr.add %1, %2                              contractions of %dq and %wq, %dk and %wk
    after    %w = tsr.join %wq, %wk along joined            each with its features merged into one axis
             %y = tsr.contract %x, %w over [embed]         [batch, seq, joined]
             %q = tsr.slice %y joined from 0                 and split, and so on
             …
             %dy = tsr.join %dq, %dk along joined
             %dx = tsr.contract %dy, %w over [joined]
    ```

    What a repeat slices is joined outside of it; what it stacks is stacked as a whole. Biases are joined in the type of
    the result, in which the library adds them. Values of 16 bits only: in f32 the weights are state, which is not
    contiguous.

    Requires: canonical types; a target that asks for it (`GemmLibrary::joinsContractions`), and no audit of the
    precision. Ensures: the operands of a `tsr.join` are results of ops that can write them into a part of a buffer.
  }];
  let statistics = [Statistic<"contractionsSaved", "contractions-saved",
                              "contractions that are a part of another one">];
}

def LayoutPass : Tsr_ModulePass<"tsr-layout"> {
  let summary = "chooses memory orders such that contractions need no transposes and loops access contiguous memory";
  let description = [{
    Chooses the order in which the axes of every value are stored. Before this phase the order in a type is canonical
    and means nothing; afterwards it is the memory order, row-major.

    ```
    before   %s = tsr.contract %q, %k over [hd]       axes: ([batch, seq, head, hd], [batch, head, hd, key])
                                                           -> [batch, seq, head, key]
    after    %s = tsr.contract %q, %k over [hd]       axes: ([batch, seq, head, hd], [batch, key, head, hd])
                                                           -> [batch, head, seq, key]
    ```

    Then rows of matrices get allocated sizes where the target prefers aligned rows: `[row: 64, vocab: 50257 of 50264]`
    (`passes/layout/RowPadding.h`). Everything else is dense, and on a CPU all is.

    State has one order in all functions: canonical, with the axes of repeats outermost. Inputs and outputs have the
    order that their tags name. In program order, each other result takes its order from its operands; a contraction
    chooses among a few orders by what its uses prefer. Where an operand has the wrong order, a `tsr.reorder` is
    inserted.

    Ensures: composites are decomposed. Every contraction is a GEMM with strided operands (`describeGemm`), or is too
    small for one (not `isGemmShaped`) and becomes a kernel. Renames, splits and merges are views. Sliced and stacked
    tensors of a repeat have its axis outermost. `tsr.random` records its canonical order, since draws are numbered in
    it.
  }];
  let statistics = [Statistic<"reordersInserted", "reorders-inserted", "operands copied to another memory order">,
                    Statistic<"valuesPadded", "values-padded", "values with padded rows">];
}

def FusePass : Tsr_ModulePass<"tsr-fuse"> {
  let summary = "fuses ops into kernels";
  let description = [{
    A kernel is a set of ops that run as one loop nest over named axes; values between them stay in registers.

    ```
    before   %a = tsr.exp %x
             %s = tsr.reduce sum %a over [key]
             %y = tsr.div %a, %s
    after    %y, %s = tsr.kernel "softmax" (%a = %x) parallel [batch] serial [key] vector key {
               %0 = tsr.exp %a
               %1 = tsr.reduce sum %0 over [key]
               %2 = tsr.div %0, %1
               tsr.yield %2, %1
             }
    ```

    Contractions take in what a GEMM can do besides: accumulation into an operand, a bias, rounding of the result, and
    on a GPU GELU and its gradient. The operand may be a slot of a stack: sums of stacked gradients are computed in the
    repeat that computes the gradients. Contractions that are no GEMMs become a multiplication and a sum. Reductions of
    many elements to few results are split in two by shape alone, so that the first one is parallel and the order of
    summation is fixed. Ops that cost little (`isRecomputed` in `passes/fusion/Groups.h`) are recomputed in each kernel
    that uses them. So are the squares of a gradient that both a norm and an update read: what waits for the norm is in
    a later kernel, and nothing of it is stored before (`passes/fusion/EarlySums.cpp`). `tsr.seed` becomes a constant.

    Requires: `layout`. Ensures: every op of a block is a kernel that satisfies the rules of docs/ir.md, a contraction
    that `describeGemm` describes, a repeat, a view or the terminator. There is no `tsr.seed`. Equal kernels have one
    name.
  }];
  let statistics = [Statistic<"kernelsMade", "kernels-made", "kernels created">,
                    Statistic<"opsFused", "ops-fused", "ops inside kernels">];
}

def TilePass : Tsr_ModulePass<"tsr-tile"> {
  let summary = "computes large matrices in tiles, without storing them";
  let description = [{
    The scores of an attention are a matrix of queries times keys for each head: one contraction computes it, kernels
    change it, other contractions consume it, and no other op reads it. All of them become one `tsr.tiled`, which
    processes a block of rows at a time, so that the matrix is never materialised.

    ```
    before   %s = tsr.contract %q, %k over [hd]
             %p, %m, %r = tsr.kernel "softmax" (%a = %s) parallel [batch, head, seq] serial [key] vector key { … }
             %o = tsr.contract %p, %v over [key]
    after    %o, %m, %r = tsr.tiled "attention" (%a = %q, %b = %k, %c = %v) parallel [batch, head] rows seq columns key
                 upper 0 { the same three }
    ```

    The pass knows nothing of attention: every matrix for each position of a batch qualifies if only such ops read it.
    Masks that depend on positions bound the band of elements that can affect a result; only these are computed.

    Requires: `fuse`. Ensures: contractions in a region of `tsr.tiled` compute or consume its matrices, and its kernels
    are one loop nest over batch, rows and columns, vectorised along the columns (docs/ir.md, "Tiled ops").
  }];
  let options = [Option<"leastRows", "least-rows", "int64_t", "16",
                        "rows of a matrix at least, so that packing the operands that all rows read pays off">,
                 Option<"leastProducts", "least-products", "int64_t", "0",
                        "matrices of a batch at least, so that all threads have work; 0: as the target says">,
                 Option<"mostBytes", "most-bytes", "int64_t", "0",
                        "bytes of an operand that one matrix reads whole at most, to stay in the cache; 0: as the "
                        "target says">];
  let statistics = [Statistic<"groupsTiled", "groups-tiled", "tiled ops created">];
}

def RematerializePass : Tsr_ModulePass<"tsr-rematerialize"> {
  let summary = "computes values again in the backward pass instead of saving them, until the step fits";
  let description = [{
    What the backward pass reads of the forward pass is saved: a stack with a slot for each layer. This phase has it
    computed again instead, from what remains saved, where the memory that the user allows is not enough. It moves whole
    kernels, tiled ops and contractions, so the numbers stay the same, bit for bit. docs/memory.md says how it decides.

    ```
    before   %y, %h = tsr.repeat [layer: 12] carry (%a = %x) slice (%b = %w) { … %up = tsr.contract %a, %b …
                        tsr.yield %next, %up }
             …
             %dx = tsr.repeat [layer: 12] reverse carry (%a = %dy) slice (%b = %w, %c = %h) { … reads %c … }
    after    %y, %x.s = tsr.repeat [layer: 12] carry (%a = %x) slice (%b = %w) { … tsr.yield %next, %a }
             …
             %dx = tsr.repeat [layer: 12] reverse carry (%a = %dy) slice (%b = %w, %c = %x.s) {
               %up = tsr.contract %c, %b as "recompute of h.mlp.up" … reads %up … }
    ```

    `tsr.memory`, `tsr.remat`, `tsr.save` and `tsr.recompute` say what is asked for (`ir/program/MemorySettings.h`).
    Without them nothing changes.

    Requires: `tile`, since only then is it known what is stored. Ensures: no value changes. `tsr.frontier` lists the
    plans that were found, with their memory and their time.
  }];
  let options = [Option<"threads", "threads", "int", "0", "threads that a program for a CPU will have; 0: one">,
                 Option<"findsFrontier", "find-frontier", "bool", "false",
                        "list plans in `tsr.frontier` even if nothing is asked for">,
                 Option<"pricesValues", "price-values", "bool", "false",
                        "say in `tsr.layer_values` what the alternative of each value costs">];
}

def SchedulePass : Tsr_ModulePass<"tsr-schedule"> {
  let summary = "gives every buffer an offset in one arena, and fuses independent kernels or GEMMs horizontally";
  let description = [{
    Decides which values share storage: state is updated in place, results overwrite operands at the end of their
    lifetimes, carried values have one place, stacked results are written by their producers. Where two values would
    collide, an operand is copied (a `tsr.reorder` that changes no order). State is at the start of the arena, at the
    same offsets for all entry functions. The other buffers of each entry function are packed after it by lifetime;
    entry functions do not run at the same time, so their buffers overlap.

    ```
    before   %y = tsr.kernel "gelu" (%a = %x) parallel [batch] vector batch { … }
    after    %y = tsr.kernel "gelu" (%a = %x) parallel [batch] vector batch at <4096> { … }
             and tsr.arena = 123456 on the module
    ```

    Has exchanges between ranks run beside kernels, where the device can and there is memory for it (docs/sharding.md,
    "Beside kernels"): the starts that run an iteration early get `tsr.early`, those that nothing waits for `tsr.late`.

    Fuses horizontally: on a GPU independent kernels, which then run in one launch; on a CPU GEMMs with a common
    operand, which one function then computes (docs/ir.md, "Horizontal fusion"). The ops of a group become adjacent and
    get one number, `tsr.group`. Neither may cost a copy or more than a little memory.

    Moves ops within their blocks where that lowers peak live memory.

    Requires: `fuse`. Ensures: every value has a place, and each op finds at its operands' places exactly the bytes that
    were written for them; the verify pass proves it by executing each entry function on symbols.
  }];
  let options = [Option<"overlapsExchanges", "overlap-exchanges", "bool", "false",
                        "exchanges run beside kernels, whatever the device can">];
  let statistics = [Statistic<"copiesInserted", "copies-inserted", "copies that no choice of places avoids">,
                    Statistic<"arenaBytes", "arena-bytes", "size of the arena, in bytes">,
                    Statistic<"exchangesOverlapped", "exchanges-overlapped", "exchanges that run beside kernels">,
                    Statistic<"launchesSaved", "launches-saved", "kernels that run in the launch of another kernel">,
                    Statistic<"gemmsFused", "gemms-fused",
                              "GEMMs that are fused horizontally with another one">,
                    Statistic<"opsMoved", "ops-moved", "moves of ops that lower peak live memory">,
                    Statistic<"lowerBound", "lower-bound", "no arena can be smaller, in bytes">];
}

def VerifyPhasePass : Tsr_ModulePass<"tsr-verify-phase"> {
  let summary = "checks what must hold after a phase, and records the phase in tsr.phase";
  let description = [{
    The last pass of each phase. It checks the invariants that docs/ir.md lists for this phase and all earlier ones, and
    sets `tsr.phase` on the module, so that a dump says where compilation resumes. From `differentiate` on it marks ops
    whose pass of the step follows from the dataflow (`tsr.pass`). It changes nothing else. A failure is a bug of the
    compiler, or a fault in a module that was written by hand.
  }];
  let options = [Option<"phase", "phase", "std::string", "", "the phase that has just run">];
}

#endif // TSR_PASSES_TD
