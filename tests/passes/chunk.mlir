// RUN: tessera-opt %s --split-input-file --tsr-chunk="least-bytes=64 least-rows=2" | FileCheck %s

// A wide result is computed in chunks of rows: operands with the rows are sliced, results with rows are stacked, sums over rows are
// carried.
// CHECK-LABEL: func.func @step
module attributes {tsr.axes = ["batch", "vocab", "embed"], tsr.phase = "optimize"} {
  func.func @step(%x: !tsr.tensor<[batch: 4, embed: 3], f32>, %w: !tsr.tensor<[vocab: 5, embed: 3], f32>)
      -> (!tsr.tensor<[batch: 4, embed: 3], f32>, !tsr.tensor<[vocab: 5, embed: 3], f32>) {
    // CHECK: %[[ZERO:.*]] = tsr.constant 0.0 -> <[vocab: 5, embed: 3], f32>
    // CHECK: %[[ROWS:.*]] = tsr.split %arg0 batch into [batch_chunk, batch] {{.*}} -> <[batch_chunk: 2, batch: 2, embed: 3], f32>
    // CHECK: %[[OUT:.*]]:2 = tsr.repeat [batch_chunk: 2] index {{.*}} carry (%[[SUM:.*]] = %[[ZERO]] {{.*}} slice (%[[PART:.*]] = %[[ROWS]] {{.*}} invariant (%[[W:.*]] = %arg1
    // CHECK: %[[L:.*]] = tsr.contract %[[PART]], %[[W]] over [embed] {{.*}} -> !tsr.tensor<[batch: 2, vocab: 5], f32>
    %l = tsr.contract %x, %w over ["embed"] : (!tsr.tensor<[batch: 4, embed: 3], f32>, !tsr.tensor<[vocab: 5, embed: 3], f32>) -> !tsr.tensor<[batch: 4, vocab: 5], f32>
    // CHECK: %[[E:.*]] = tsr.exp %[[L]]
    %e = tsr.exp %l : !tsr.tensor<[batch: 4, vocab: 5], f32>
    // CHECK: %[[DX:.*]] = tsr.contract %[[E]], %[[W]] over [vocab] {{.*}} -> !tsr.tensor<[batch: 2, embed: 3], f32>
    %dx = tsr.contract %e, %w over ["vocab"] : (!tsr.tensor<[batch: 4, vocab: 5], f32>, !tsr.tensor<[vocab: 5, embed: 3], f32>) -> !tsr.tensor<[batch: 4, embed: 3], f32>
    // CHECK: %[[DW:.*]] = tsr.contract %[[E]], %[[PART]] over [batch] {{.*}} -> !tsr.tensor<[vocab: 5, embed: 3], f32>
    // CHECK: %[[NEXT:.*]] = tsr.add %[[SUM]], %[[DW]]
    %dw = tsr.contract %e, %x over ["batch"] : (!tsr.tensor<[batch: 4, vocab: 5], f32>, !tsr.tensor<[batch: 4, embed: 3], f32>) -> !tsr.tensor<[vocab: 5, embed: 3], f32>
    // CHECK: tsr.yield %[[NEXT]], %[[DX]]
    // CHECK: %[[WHOLE:.*]] = tsr.merge %[[OUT]]#1 [batch_chunk, batch] into batch {{.*}} -> <[batch: 4, embed: 3], f32>
    // CHECK: return %[[WHOLE]], %[[OUT]]#0
    return %dx, %dw : !tsr.tensor<[batch: 4, embed: 3], f32>, !tsr.tensor<[vocab: 5, embed: 3], f32>
  }
}

// -----

// If wide values need a mean over all rows, there are no chunks.
// CHECK-LABEL: func.func @step
module attributes {tsr.axes = ["batch", "vocab", "embed"], tsr.phase = "optimize"} {
  func.func @step(%x: !tsr.tensor<[batch: 4, embed: 3], f32>, %w: !tsr.tensor<[vocab: 5, embed: 3], f32>) -> !tsr.tensor<[batch: 4, embed: 3], f32> {
    // CHECK-NOT: tsr.repeat
    %l = tsr.contract %x, %w over ["embed"] : (!tsr.tensor<[batch: 4, embed: 3], f32>, !tsr.tensor<[vocab: 5, embed: 3], f32>) -> !tsr.tensor<[batch: 4, vocab: 5], f32>
    %m = tsr.reduce sum %l over ["batch"] : !tsr.tensor<[batch: 4, vocab: 5], f32> -> !tsr.tensor<[vocab: 5], f32>
    %c = tsr.sub %l, %m : (!tsr.tensor<[batch: 4, vocab: 5], f32>, !tsr.tensor<[vocab: 5], f32>) -> !tsr.tensor<[batch: 4, vocab: 5], f32>
    %dx = tsr.contract %c, %w over ["vocab"] : (!tsr.tensor<[batch: 4, vocab: 5], f32>, !tsr.tensor<[vocab: 5, embed: 3], f32>) -> !tsr.tensor<[batch: 4, embed: 3], f32>
    // CHECK: return
    return %dx : !tsr.tensor<[batch: 4, embed: 3], f32>
  }
}

// -----

// A wide value that is a result stays whole.
// CHECK-LABEL: func.func @step
module attributes {tsr.axes = ["batch", "vocab", "embed"], tsr.phase = "optimize"} {
  func.func @step(%x: !tsr.tensor<[batch: 4, embed: 3], f32>, %w: !tsr.tensor<[vocab: 5, embed: 3], f32>) -> !tsr.tensor<[batch: 4, vocab: 5], f32> {
    // CHECK-NOT: tsr.repeat
    %l = tsr.contract %x, %w over ["embed"] : (!tsr.tensor<[batch: 4, embed: 3], f32>, !tsr.tensor<[vocab: 5, embed: 3], f32>) -> !tsr.tensor<[batch: 4, vocab: 5], f32>
    // CHECK: return
    return %l : !tsr.tensor<[batch: 4, vocab: 5], f32>
  }
}

// -----

// The new axis gets another name if a value already has an axis of that name.
// CHECK-LABEL: func.func @step
module attributes {tsr.axes = ["batch", "batch_chunk", "vocab", "embed"], tsr.phase = "optimize"} {
  func.func @step(%x: !tsr.tensor<[batch: 4, batch_chunk: 2, embed: 3], f32>, %w: !tsr.tensor<[vocab: 5, embed: 3], f32>) -> !tsr.tensor<[batch: 4, batch_chunk: 2, embed: 3], f32> {
    // CHECK: tsr.repeat [batch_chunk_chunk: 4]
    %l = tsr.contract %x, %w over ["embed"] : (!tsr.tensor<[batch: 4, batch_chunk: 2, embed: 3], f32>, !tsr.tensor<[vocab: 5, embed: 3], f32>) -> !tsr.tensor<[batch: 4, batch_chunk: 2, vocab: 5], f32>
    %dx = tsr.contract %l, %w over ["vocab"] : (!tsr.tensor<[batch: 4, batch_chunk: 2, vocab: 5], f32>, !tsr.tensor<[vocab: 5, embed: 3], f32>) -> !tsr.tensor<[batch: 4, batch_chunk: 2, embed: 3], f32>
    return %dx : !tsr.tensor<[batch: 4, batch_chunk: 2, embed: 3], f32>
  }
}

// -----

// A loss along the axis needs all of its positions.
// CHECK-LABEL: func.func @step
module attributes {tsr.axes = ["batch", "vocab", "embed"], tsr.phase = "optimize"} {
  func.func @step(%x: !tsr.tensor<[batch: 4, embed: 3], f32>, %w: !tsr.tensor<[vocab: 5, embed: 3], f32>, %label: !tsr.tensor<[vocab: 5], i32>) -> !tsr.tensor<[batch: 4, embed: 3], f32> {
    // CHECK-NOT: tsr.repeat
    %l = tsr.contract %x, %w over ["embed"] : (!tsr.tensor<[batch: 4, embed: 3], f32>, !tsr.tensor<[vocab: 5, embed: 3], f32>) -> !tsr.tensor<[batch: 4, vocab: 5], f32>
    %loss, %shift, %inverse = tsr.cross_entropy %l, %label over "batch" : (!tsr.tensor<[batch: 4, vocab: 5], f32>, !tsr.tensor<[vocab: 5], i32>) -> (!tsr.tensor<[vocab: 5], f32>, !tsr.tensor<[vocab: 5], f32>, !tsr.tensor<[vocab: 5], f32>)
    %c = tsr.sub %l, %shift : (!tsr.tensor<[batch: 4, vocab: 5], f32>, !tsr.tensor<[vocab: 5], f32>) -> !tsr.tensor<[batch: 4, vocab: 5], f32>
    %dx = tsr.contract %c, %w over ["vocab"] : (!tsr.tensor<[batch: 4, vocab: 5], f32>, !tsr.tensor<[vocab: 5, embed: 3], f32>) -> !tsr.tensor<[batch: 4, embed: 3], f32>
    // CHECK: return
    return %dx : !tsr.tensor<[batch: 4, embed: 3], f32>
  }
}

// -----

// Micro-batches: the body of the repeat is treated like a function body. The sum of the gradient starts at the carried value; a
// stacked result is merged again; the new repeat is not chunked again.
// CHECK-LABEL: func.func @step
module attributes {tsr.axes = ["micro", "batch", "vocab", "embed"], tsr.phase = "optimize"} {
  func.func @step(%x: !tsr.tensor<[micro: 2, batch: 4, embed: 3], f32>, %w: !tsr.tensor<[vocab: 5, embed: 3], f32>)
      -> (!tsr.tensor<[vocab: 5, embed: 3], f32>, !tsr.tensor<[micro: 2, batch: 4, embed: 3], f32>) {
    %zero = tsr.constant 0.0 : f32 -> !tsr.tensor<[vocab: 5, embed: 3], f32>
    // CHECK: tsr.repeat [micro: 2] index {{.*}} carry (%[[SUM:[^ ]*]] = {{.*}} slice (%[[X:[^ ]*]] = %arg0
    %sum, %all = tsr.repeat [micro: 2] index %i carry (%s = %zero : !tsr.tensor<[vocab: 5, embed: 3], f32>) slice (%m = %x : !tsr.tensor<[micro: 2, batch: 4, embed: 3], f32>) invariant (%v = %w : !tsr.tensor<[vocab: 5, embed: 3], f32>) -> (!tsr.tensor<[vocab: 5, embed: 3], f32>, !tsr.tensor<[micro: 2, batch: 4, embed: 3], f32>) {
      // CHECK-NOT: tsr.constant
      // CHECK: %[[ROWS:.*]] = tsr.split %[[X]] batch
      // CHECK: %[[OUT:.*]]:2 = tsr.repeat [batch_chunk: 2] index {{.*}} carry (%[[PART:[^ ]*]] = %[[SUM]] {{.*}} slice ({{.*}} = %[[ROWS]]
      // CHECK: tsr.contract {{.*}} -> !tsr.tensor<[batch: 2, vocab: 5], f32>
      %l = tsr.contract %m, %v over ["embed"] : (!tsr.tensor<[batch: 4, embed: 3], f32>, !tsr.tensor<[vocab: 5, embed: 3], f32>) -> !tsr.tensor<[batch: 4, vocab: 5], f32>
      %e = tsr.exp %l : !tsr.tensor<[batch: 4, vocab: 5], f32>
      %dx = tsr.contract %e, %v over ["vocab"] : (!tsr.tensor<[batch: 4, vocab: 5], f32>, !tsr.tensor<[vocab: 5, embed: 3], f32>) -> !tsr.tensor<[batch: 4, embed: 3], f32>
      %dw = tsr.contract %e, %m over ["batch"] : (!tsr.tensor<[batch: 4, vocab: 5], f32>, !tsr.tensor<[batch: 4, embed: 3], f32>) -> !tsr.tensor<[vocab: 5, embed: 3], f32>
      // CHECK: tsr.add %[[PART]],
      // CHECK-NOT: tsr.repeat
      // CHECK: %[[WHOLE:.*]] = tsr.merge %[[OUT]]#1 [batch_chunk, batch] into batch {{.*}} -> <[batch: 4, embed: 3], f32>
      // CHECK-NOT: tsr.add
      // CHECK: tsr.yield %[[OUT]]#0, %[[WHOLE]]
      %n = tsr.add %s, %dw : (!tsr.tensor<[vocab: 5, embed: 3], f32>, !tsr.tensor<[vocab: 5, embed: 3], f32>) -> !tsr.tensor<[vocab: 5, embed: 3], f32>
      tsr.yield %n, %dx : !tsr.tensor<[vocab: 5, embed: 3], f32>, !tsr.tensor<[batch: 4, embed: 3], f32>
    }
    return %sum, %all : !tsr.tensor<[vocab: 5, embed: 3], f32>, !tsr.tensor<[micro: 2, batch: 4, embed: 3], f32>
  }
}

// -----

// Other terms may be added to the sum before it is added to the carried value: the repeat starts there too. Of two sums that are added to
// each other one starts at the carried value.
!x = !tsr.tensor<[micro: 2, batch: 4, embed: 3], f32>
!b = !tsr.tensor<[batch: 4, embed: 3], f32>
!w = !tsr.tensor<[vocab: 5, embed: 3], f32>
!l = !tsr.tensor<[batch: 4, vocab: 5], f32>
// CHECK-LABEL: func.func @step
module attributes {tsr.axes = ["micro", "batch", "vocab", "embed"], tsr.phase = "optimize"} {
  func.func @step(%x: !x, %w: !w, %tokens: !tsr.tensor<[batch: 4], i32>) -> (!w, !w) {
    %zero = tsr.constant 0.0 -> !w
    // CHECK: tsr.repeat [micro: 2] index {{.*}} carry (%[[SUM:[^ ]*]] = {{.*}}, %[[SUMS:[^ ]*]] = {{.*}} slice (
    %sum, %sums = tsr.repeat [micro: 2] index %i carry (%s = %zero : !w, %s2 = %zero : !w) slice (%m = %x : !x) invariant (%v = %w : !w, %t = %tokens : !tsr.tensor<[batch: 4], i32>) -> (!w, !w) {
      // CHECK: %[[E:.*]] = tsr.scatter_add
      // CHECK: %[[FIRST:.*]] = tsr.repeat [batch_chunk: 2] index {{.*}} carry (%{{[^ ]*}} = %[[SUM]] :
      %l = tsr.contract %m, %v over [embed] : (!b, !w) -> !l
      %dw = tsr.contract %l, %m over [batch] : (!l, !b) -> !w
      %e = tsr.scatter_add %m[[vocab] = %t] : (!b, !tsr.tensor<[batch: 4], i32>) -> !w
      // CHECK: %[[NEXT:.*]] = tsr.add %[[FIRST]], %[[E]]
      %g = tsr.add %dw, %e : !w
      %n = tsr.add %s, %g : !w
      // CHECK: %[[ZERO:.*]] = tsr.constant 0.0 -> <[vocab: 5, embed: 3], f32>
      // CHECK: %[[BOTH:.*]]:2 = tsr.repeat [batch_chunk: 2] index {{.*}} carry (%{{[^ ]*}} = %[[SUMS]] : {{.*}}, %{{[^ ]*}} = %[[ZERO]] :
      %k = tsr.contract %m, %v over [embed] : (!b, !w) -> !l
      %k1 = tsr.exp %k : !l
      %dv = tsr.contract %k, %m over [batch] : (!l, !b) -> !w
      %du = tsr.contract %k1, %m over [batch] : (!l, !b) -> !w
      // CHECK: %[[NEXTS:.*]] = tsr.add %[[BOTH]]#0, %[[BOTH]]#1
      %d = tsr.add %dv, %du : !w
      %n2 = tsr.add %s2, %d : !w
      // CHECK: tsr.yield %[[NEXT]], %[[NEXTS]]
      tsr.yield %n, %n2 : !w, !w
    }
    return %sum, %sums : !w, !w
  }
}
