// Rows of matrices that begin at aligned addresses: 16 bytes on a GPU. On a CPU every type stays dense.

// RUN: tessera-opt %s --split-input-file --tsr-layout --tsr-verify-phase=phase=layout | FileCheck %s
// RUN: sed 's/, tsr.target = "cuda"//' %s | tessera-opt --split-input-file --tsr-layout --tsr-verify-phase=phase=layout | FileCheck %s --check-prefix=CPU
// CPU-NOT: {{ of |tsr.unaligned}}
// CPU: func.func @step
// CPU-NOT: {{ of |tsr.unaligned}}

// The logits of a chunk, their roundings and all that is elementwise between them. Sums over them, and what the program
// receives and returns, are dense.
// CHECK-LABEL: func.func @step
module attributes {tsr.axes = ["chunk", "row", "vocab", "embed"], tsr.phase = "optimize", tsr.target = "cuda"} {
  func.func @step(%x: !tsr.tensor<[chunk: 4, row: 64, embed: 32], bf16> {tsr.input = {name = "x", role = "argument"}},
                  %w: !tsr.tensor<[vocab: 77, embed: 32], bf16> {tsr.input = {name = "w", role = "argument"}},
                  %b: !tsr.tensor<[vocab: 77], f32> {tsr.input = {name = "b", role = "argument"}})
      -> (!tsr.tensor<[vocab: 77, embed: 32], f32> {tsr.output = {name = "y", role = "result"}},
          !tsr.tensor<[chunk: 4, row: 64], f32> {tsr.output = {name = "z", role = "result"}}) {
    %zero = tsr.constant 0.0 -> <[vocab: 77, embed: 32], f32>
    // CHECK: tsr.repeat {{.*}} carry (%{{.*}} : !tsr.tensor<[vocab: 77, embed: 32], f32>)
    %y, %z = tsr.repeat [chunk: 4] index %i carry (%sum = %zero : !tsr.tensor<[vocab: 77, embed: 32], f32>) slice (%xs = %x : !tsr.tensor<[chunk: 4, row: 64, embed: 32], bf16>) invariant (%wi = %w : !tsr.tensor<[vocab: 77, embed: 32], bf16>, %bi = %b : !tsr.tensor<[vocab: 77], f32>) -> (!tsr.tensor<[vocab: 77, embed: 32], f32>, !tsr.tensor<[chunk: 4, row: 64], f32>) {
      // CHECK: tsr.contract {{.*}} over [embed] : {{.*}} -> !tsr.tensor<[row: 64, vocab: 77 of 80], f32>
      %l = tsr.contract %xs, %wi over [embed] : (!tsr.tensor<[row: 64, embed: 32], bf16>, !tsr.tensor<[vocab: 77, embed: 32], bf16>) -> !tsr.tensor<[row: 64, vocab: 77], f32>
      // CHECK: tsr.cast {{.*}} to <[row: 64, vocab: 77 of 80], bf16>
      %r = tsr.cast %l : <[row: 64, vocab: 77], f32> to <[row: 64, vocab: 77], bf16>
      // CHECK: tsr.cast {{.*}} to <[row: 64, vocab: 77 of 80], f32>
      %f = tsr.cast %r : <[row: 64, vocab: 77], bf16> to <[row: 64, vocab: 77], f32>
      // CHECK: tsr.add {{.*}} : <[row: 64, vocab: 77 of 80], f32>, <[vocab: 77], f32>{{$}}
      %a = tsr.add %f, %bi : <[row: 64, vocab: 77], f32>, <[vocab: 77], f32>
      // CHECK: tsr.reduce max {{.*}} over [vocab] : <[row: 64, vocab: 77 of 80], f32>{{$}}
      %m = tsr.reduce max %a over [vocab] : <[row: 64, vocab: 77], f32>
      // CHECK: tsr.cast {{.*}} to <[row: 64, vocab: 77 of 80], bf16>
      %d = tsr.cast %a : <[row: 64, vocab: 77], f32> to <[row: 64, vocab: 77], bf16>
      // The sum over rows has dense results: its rows are those of the embedding.
      // CHECK: tsr.contract {{.*}} over [row] : (!tsr.tensor<[row: 64, vocab: 77 of 80], bf16>, !tsr.tensor<[row: 64, embed: 32], bf16>) -> !tsr.tensor<[vocab: 77, embed: 32], f32>
      %g = tsr.contract %d, %xs over [row] : (!tsr.tensor<[row: 64, vocab: 77], bf16>, !tsr.tensor<[row: 64, embed: 32], bf16>) -> !tsr.tensor<[vocab: 77, embed: 32], f32>
      %s = tsr.add %sum, %g : <[vocab: 77, embed: 32], f32>
      tsr.yield %s, %m : !tsr.tensor<[vocab: 77, embed: 32], f32>, !tsr.tensor<[row: 64], f32>
    }
    return %y, %z : !tsr.tensor<[vocab: 77, embed: 32], f32>, !tsr.tensor<[chunk: 4, row: 64], f32>
  }
}

// -----

// Values that a repeat stacks, slices and carries have rows of one kind, and so have views of them. In f32 a vector is 4
// elements.
// CHECK-LABEL: func.func @step
module attributes {tsr.axes = ["layer", "row", "line", "ff", "wide", "embed"], tsr.phase = "optimize", tsr.target = "cuda"} {
  func.func @step(%x: !tsr.tensor<[line: 8, row: 8, embed: 32], f32> {tsr.input = {name = "x", role = "argument"}},
                  %w: !tsr.tensor<[ff: 77, embed: 32], f32> {tsr.input = {name = "w", role = "argument"}})
      -> (!tsr.tensor<[line: 8, row: 8, embed: 32], f32> {tsr.output = {name = "y", role = "result"}}) {
    // CHECK: tsr.contract {{.*}} -> !tsr.tensor<[line: 8, row: 8, ff: 77 of 80], f32>
    %u = tsr.contract %x, %w over [embed] : (!tsr.tensor<[line: 8, row: 8, embed: 32], f32>, !tsr.tensor<[ff: 77, embed: 32], f32>) -> !tsr.tensor<[line: 8, row: 8, ff: 77], f32>
    // CHECK: tsr.repeat {{.*}} carry (%{{.*}} : !tsr.tensor<[line: 8, row: 8, ff: 77 of 80], f32>) -> (!tsr.tensor<[line: 8, row: 8, ff: 77 of 80], f32>, !tsr.tensor<[layer: 3, line: 8, row: 8, ff: 77 of 80], f32>)
    %c, %s = tsr.repeat [layer: 3] index %i carry (%v = %u : !tsr.tensor<[line: 8, row: 8, ff: 77], f32>) -> (!tsr.tensor<[line: 8, row: 8, ff: 77], f32>, !tsr.tensor<[layer: 3, line: 8, row: 8, ff: 77], f32>) {
      %e = tsr.tanh %v : <[line: 8, row: 8, ff: 77], f32>
      tsr.yield %e, %v : !tsr.tensor<[line: 8, row: 8, ff: 77], f32>, !tsr.tensor<[line: 8, row: 8, ff: 77], f32>
    }
    // CHECK: tsr.repeat {{.*}} slice (%{{.*}} : !tsr.tensor<[layer: 3, line: 8, row: 8, ff: 77 of 80], f32>)
    %b = tsr.repeat [layer: 3] index %i carry (%v = %c : !tsr.tensor<[line: 8, row: 8, ff: 77], f32>) slice (%p = %s : !tsr.tensor<[layer: 3, line: 8, row: 8, ff: 77], f32>) -> (!tsr.tensor<[line: 8, row: 8, ff: 77], f32>) {
      %e = tsr.mul %v, %p : <[line: 8, row: 8, ff: 77], f32>
      tsr.yield %e : !tsr.tensor<[line: 8, row: 8, ff: 77], f32>
    }
    // CHECK: tsr.rename {{.*}} -> <[line: 8, row: 8, wide: 77 of 80], f32>
    %r = tsr.rename %b [ff] to [wide] : <[line: 8, row: 8, ff: 77], f32> -> <[line: 8, row: 8, wide: 77], f32>
    %n = tsr.rename %w [ff] to [wide] : <[ff: 77, embed: 32], f32> -> <[wide: 77, embed: 32], f32>
    %y = tsr.contract %r, %n over [wide] : (!tsr.tensor<[line: 8, row: 8, wide: 77], f32>, !tsr.tensor<[wide: 77, embed: 32], f32>) -> !tsr.tensor<[line: 8, row: 8, embed: 32], f32>
    return %y : !tsr.tensor<[line: 8, row: 8, embed: 32], f32>
  }
}

// -----

// What stays dense, and why.
// CHECK-LABEL: func.func @step
module attributes {tsr.axes = ["row", "mid", "in", "out", "h", "d"], tsr.phase = "optimize", tsr.target = "cuda"} {
  tsr.state @s "weight" !tsr.tensor<[in: 32, out: 77], bf16>
  func.func @step(%x: !tsr.tensor<[row: 64, in: 32], bf16> {tsr.input = {name = "x", role = "argument"}},
                  %i: !tsr.tensor<[in: 32, out: 77], bf16> {tsr.input = {name = "i", role = "argument"}},
                  %s: !tsr.tensor<[in: 32, out: 77], bf16> {tsr.state = @s},
                  %n: !tsr.tensor<[mid: 9, in: 32], bf16> {tsr.input = {name = "n", role = "argument"}},
                  %h: !tsr.tensor<[h: 11, d: 7, in: 32], bf16> {tsr.input = {name = "h", role = "argument"}})
      -> (!tsr.tensor<[row: 64, out: 77], bf16> {tsr.output = {name = "a", role = "result"}},
          !tsr.tensor<[row: 64, mid: 9], f32> {tsr.output = {name = "b", role = "result"}},
          !tsr.tensor<[row: 64, in: 32], f32> {tsr.output = {name = "c", role = "result"}},
          !tsr.tensor<[row: 64, in: 32], f32> {tsr.output = {name = "e", role = "result"}},
          !tsr.tensor<[row: 64], f32> {tsr.output = {name = "g", role = "result"}}) {
    // CHECK: tsr.contract %arg0, %arg1 over [in] {tsr.unaligned = "input"} : {{.*}} -> !tsr.tensor<[row: 64, out: 77 of 80], bf16>
    %0 = tsr.contract %x, %i over [in] : (!tsr.tensor<[row: 64, in: 32], bf16>, !tsr.tensor<[in: 32, out: 77], bf16>) -> !tsr.tensor<[row: 64, out: 77], bf16>
    // CHECK: tsr.contract %{{.*}}, %arg2 over [out] {tsr.unaligned = "state"}
    %1 = tsr.contract %0, %s over [out] : (!tsr.tensor<[row: 64, out: 77], bf16>, !tsr.tensor<[in: 32, out: 77], bf16>) -> !tsr.tensor<[row: 64, in: 32], f32>
    // CHECK: tsr.contract %arg0, %arg3 over [in] {tsr.unaligned = "short rows"} : {{.*}} -> !tsr.tensor<[row: 64, mid: 9], f32>
    %2 = tsr.contract %x, %n over [in] : (!tsr.tensor<[row: 64, in: 32], bf16>, !tsr.tensor<[mid: 9, in: 32], bf16>) -> !tsr.tensor<[row: 64, mid: 9], f32>
    %3 = tsr.mul %2, %2 : <[row: 64, mid: 9], f32>
    // A copy of a weight is padded, even if the weight is not.
    // CHECK: tsr.cast %arg1 : <[in: 32, out: 77], bf16> to <[in: 32, out: 77 of 80], f32>
    // CHECK: tsr.cast {{.*}} to <[in: 32, out: 77 of 80], bf16>
    %wide = tsr.cast %i : <[in: 32, out: 77], bf16> to <[in: 32, out: 77], f32>
    %copy = tsr.cast %wide : <[in: 32, out: 77], f32> to <[in: 32, out: 77], bf16>
    // CHECK: tsr.contract {{.*}} over [in] {tsr.unaligned = "output"} : {{.*}} -> !tsr.tensor<[row: 64, out: 77], bf16>
    %4 = tsr.contract %x, %copy over [in] : (!tsr.tensor<[row: 64, in: 32], bf16>, !tsr.tensor<[in: 32, out: 77], bf16>) -> !tsr.tensor<[row: 64, out: 77], bf16>
    // Rows of 77 elements as 11 heads of 7: aligned rows would have 16 heads.
    // CHECK: tsr.contract {{.*}} over [in] {tsr.unaligned = "short rows"} : {{.*}} -> !tsr.tensor<[row: 64, h: 11, d: 7], bf16>
    %5 = tsr.contract %x, %h over [in] : (!tsr.tensor<[row: 64, in: 32], bf16>, !tsr.tensor<[h: 11, d: 7, in: 32], bf16>) -> !tsr.tensor<[row: 64, h: 11, d: 7], bf16>
    %6 = tsr.merge %5 [h, d] into out : <[row: 64, h: 11, d: 7], bf16> -> <[row: 64, out: 77], bf16>
    // 80 elements are no multiple of 7.
    // CHECK: tsr.contract {{.*}} over [out] {tsr.unaligned = "view"}
    %7 = tsr.contract %6, %copy over [out] : (!tsr.tensor<[row: 64, out: 77], bf16>, !tsr.tensor<[in: 32, out: 77], bf16>) -> !tsr.tensor<[row: 64, in: 32], f32>
    %8 = tsr.cast %5 : <[row: 64, h: 11, d: 7], bf16> to <[row: 64, h: 11, d: 7], f32>
    %9 = tsr.reduce sum %8 over [h, d] : <[row: 64, h: 11, d: 7], f32>
    return %4, %3, %1, %7, %9 : !tsr.tensor<[row: 64, out: 77], bf16>, !tsr.tensor<[row: 64, mid: 9], f32>, !tsr.tensor<[row: 64, in: 32], f32>, !tsr.tensor<[row: 64, in: 32], f32>, !tsr.tensor<[row: 64], f32>
  }
}

// -----

// The result of an op of one operand has the operand's type. What is returned, received or split at a size that padding
// does not allow keeps both dense.
// CHECK-LABEL: func.func @step
module attributes {tsr.axes = ["row", "in", "out", "h", "d"], tsr.phase = "optimize", tsr.target = "cuda"} {
  func.func @step(%x: !tsr.tensor<[row: 64, in: 32], f32> {tsr.input = {name = "x", role = "argument"}},
                  %w: !tsr.tensor<[out: 77, in: 32], f32> {tsr.input = {name = "w", role = "argument"}},
                  %v: !tsr.tensor<[in: 32, out: 77], f32> {tsr.input = {name = "v", role = "argument"}})
      -> (!tsr.tensor<[row: 64, out: 77], f32> {tsr.output = {name = "a", role = "result"}},
          !tsr.tensor<[row: 64, in: 32], f32> {tsr.output = {name = "b", role = "result"}},
          !tsr.tensor<[row: 64, h: 11], f32> {tsr.output = {name = "c", role = "result"}}) {
    // CHECK: tsr.contract {{.*}} over [in] {tsr.unaligned = "output"} : {{.*}} -> !tsr.tensor<[row: 64, out: 77], f32>
    // CHECK: tsr.tanh {{.*}} : <[row: 64, out: 77], f32>
    %0 = tsr.contract %x, %w over [in] : (!tsr.tensor<[row: 64, in: 32], f32>, !tsr.tensor<[out: 77, in: 32], f32>) -> !tsr.tensor<[row: 64, out: 77], f32>
    %1 = tsr.tanh %0 : <[row: 64, out: 77], f32>
    // CHECK: tsr.contract {{.*}} over [in] : {{.*}} -> !tsr.tensor<[row: 64, out: 77 of 80], f32>
    // CHECK: tsr.neg {{.*}} : <[row: 64, out: 77 of 80], f32>
    %2 = tsr.contract %x, %w over [in] : (!tsr.tensor<[row: 64, in: 32], f32>, !tsr.tensor<[out: 77, in: 32], f32>) -> !tsr.tensor<[row: 64, out: 77], f32>
    %3 = tsr.neg %2 : <[row: 64, out: 77], f32>
    // CHECK: tsr.exp %arg2 : <[in: 32, out: 77], f32>
    // CHECK: tsr.contract {{.*}} over [out] {tsr.unaligned = "input"}
    %4 = tsr.exp %v : <[in: 32, out: 77], f32>
    %5 = tsr.contract %3, %4 over [out] : (!tsr.tensor<[row: 64, out: 77], f32>, !tsr.tensor<[in: 32, out: 77], f32>) -> !tsr.tensor<[row: 64, in: 32], f32>
    // CHECK: tsr.contract {{.*}} over [in] {tsr.unaligned = "view"} : {{.*}} -> !tsr.tensor<[row: 64, out: 77], f32>
    // CHECK: tsr.sin {{.*}} : <[row: 64, out: 77], f32>
    %6 = tsr.contract %x, %w over [in] : (!tsr.tensor<[row: 64, in: 32], f32>, !tsr.tensor<[out: 77, in: 32], f32>) -> !tsr.tensor<[row: 64, out: 77], f32>
    %7 = tsr.sin %6 : <[row: 64, out: 77], f32>
    %8 = tsr.split %7 out into [h, d] : <[row: 64, out: 77], f32> -> <[row: 64, h: 11, d: 7], f32>
    %9 = tsr.reduce sum %8 over [d] : <[row: 64, h: 11, d: 7], f32>
    return %1, %5, %9 : !tsr.tensor<[row: 64, out: 77], f32>, !tsr.tensor<[row: 64, in: 32], f32>, !tsr.tensor<[row: 64, h: 11], f32>
  }
}

// -----

// What ranks exchange has padded rows as a whole: the sender's are the receiver's.
// CHECK-LABEL: func.func @step
module attributes {tsr.axes = ["data", "row", "vocab", "embed"], tsr.mesh = [#tsr.axis<data: 2>], tsr.phase = "optimize", tsr.target = "cuda"} {
  func.func @step(%x: !tsr.tensor<[row: 64, embed: 32], f32> {tsr.input = {name = "x", role = "argument"}},
                  %w: !tsr.tensor<[vocab: 77, embed: 32], f32> {tsr.input = {name = "w", role = "argument"}})
      -> (!tsr.tensor<[row: 64], f32> {tsr.output = {name = "y", role = "result"}}) {
    // CHECK: tsr.contract {{.*}} -> !tsr.tensor<[row: 64, vocab: 77 of 80], f32>
    %l = tsr.contract %x, %w over [embed] : (!tsr.tensor<[row: 64, embed: 32], f32>, !tsr.tensor<[vocab: 77, embed: 32], f32>) -> !tsr.tensor<[row: 64, vocab: 77], f32>
    // CHECK: tsr.start all_gather {{.*}} -> <[data: 2, row: 64, vocab: 77 of 80], f32>
    %s = tsr.start all_gather %l along data : !tsr.tensor<[row: 64, vocab: 77], f32> -> !tsr.tensor<[data: 2, row: 64, vocab: 77], f32>
    // CHECK: tsr.wait {{.*}}vocab: 77 of 80
    %a = tsr.wait %s sent %l : !tsr.tensor<[data: 2, row: 64, vocab: 77], f32>, !tsr.tensor<[row: 64, vocab: 77], f32>
    // CHECK: tsr.start all_to_all {{.*}} -> <[data: 2, row: 64, vocab: 77 of 80], f32>
    %t = tsr.start all_to_all %a along data : !tsr.tensor<[data: 2, row: 64, vocab: 77], f32> -> !tsr.tensor<[data: 2, row: 64, vocab: 77], f32>
    %b = tsr.wait %t sent %a : !tsr.tensor<[data: 2, row: 64, vocab: 77], f32>, !tsr.tensor<[data: 2, row: 64, vocab: 77], f32>
    // CHECK: tsr.reduce max {{.*}} over [data, vocab] : <[data: 2, row: 64, vocab: 77 of 80], f32>
    %m = tsr.reduce max %b over [data, vocab] : <[data: 2, row: 64, vocab: 77], f32>
    return %m : !tsr.tensor<[row: 64], f32>
  }
}
