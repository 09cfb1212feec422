// RUN: tessera-opt %s --split-input-file --tsr-fuse --tsr-verify-phase=phase=fuse | FileCheck %s

module attributes {tsr.axes = ["batch", "seq", "key", "embed", "ff"], tsr.phase = "layout"} {
  // A softmax is one kernel: row values and element values over one loop nest.
  // CHECK-LABEL: func.func @softmax
  func.func @softmax(%x: !tsr.tensor<[batch: 8, key: 16], f32>) -> !tsr.tensor<[batch: 8, key: 16], f32> {
    // CHECK: tsr.kernel {{.*}} parallel [batch] serial [key] vector key
    // CHECK-COUNT-2: tsr.reduce
    // CHECK: tsr.yield
    // CHECK-NOT: tsr.kernel
    // CHECK: return
    %m = tsr.reduce max %x over ["key"] : !tsr.tensor<[batch: 8, key: 16], f32> -> !tsr.tensor<[batch: 8], f32>
    %d = tsr.sub %x, %m : (!tsr.tensor<[batch: 8, key: 16], f32>, !tsr.tensor<[batch: 8], f32>) -> !tsr.tensor<[batch: 8, key: 16], f32>
    %e = tsr.exp %d : !tsr.tensor<[batch: 8, key: 16], f32>
    %s = tsr.reduce sum %e over ["key"] : !tsr.tensor<[batch: 8, key: 16], f32> -> !tsr.tensor<[batch: 8], f32>
    %y = tsr.div %e, %s : (!tsr.tensor<[batch: 8, key: 16], f32>, !tsr.tensor<[batch: 8], f32>) -> !tsr.tensor<[batch: 8, key: 16], f32>
    return %y : !tsr.tensor<[batch: 8, key: 16], f32>
  }

  // A reduction of outer axes is not fused with elementwise ops that others use; two over the same tensor are one kernel.
  // CHECK-LABEL: func.func @columns
  func.func @columns(%x: !tsr.tensor<[batch: 8, embed: 16], f32>) -> (!tsr.tensor<[batch: 8, embed: 16], f32>, !tsr.tensor<[embed: 16], f32>, !tsr.tensor<[embed: 16], f32>) {
    // CHECK: %[[E:.*]] = tsr.kernel "exp" {{.*}} parallel [batch, embed] vector
    // CHECK: %[[C:.*]]:2 = tsr.kernel {{.*}} (%{{.*}} = %[[E]]{{.*}} parallel [embed] serial [batch] vector embed
    // CHECK-COUNT-2: tsr.reduce
    %e = tsr.exp %x : !tsr.tensor<[batch: 8, embed: 16], f32>
    %a = tsr.reduce sum %e over ["batch"] : !tsr.tensor<[batch: 8, embed: 16], f32> -> !tsr.tensor<[embed: 16], f32>
    %sq = tsr.mul %e, %e : (!tsr.tensor<[batch: 8, embed: 16], f32>, !tsr.tensor<[batch: 8, embed: 16], f32>) -> !tsr.tensor<[batch: 8, embed: 16], f32>
    %b = tsr.reduce sum %sq over ["batch"] : !tsr.tensor<[batch: 8, embed: 16], f32> -> !tsr.tensor<[embed: 16], f32>
    // CHECK: return %[[E]], %[[C]]#0, %[[C]]#1
    return %e, %a, %b : !tsr.tensor<[batch: 8, embed: 16], f32>, !tsr.tensor<[embed: 16], f32>, !tsr.tensor<[embed: 16], f32>
  }

  // The kernel of a scatter contains no reduction, although both iterate over the same axes of the same tensor.
  // CHECK-LABEL: func.func @scatter
  func.func @scatter(%x: !tsr.tensor<[batch: 8, embed: 16], f32>, %i: !tsr.tensor<[batch: 8], i32>) -> (!tsr.tensor<[embed: 16], f32>, !tsr.tensor<[vocab: 64, embed: 16], f32>) {
    // CHECK-COUNT-2: tsr.kernel {{.*}} parallel [embed] serial [batch]
    // CHECK: return
    %s = tsr.reduce sum %x over ["batch"] : !tsr.tensor<[batch: 8, embed: 16], f32> -> !tsr.tensor<[embed: 16], f32>
    %a = tsr.scatter_add %x[["vocab"] = %i] : (!tsr.tensor<[batch: 8, embed: 16], f32>, !tsr.tensor<[batch: 8], i32>) -> !tsr.tensor<[vocab: 64, embed: 16], f32>
    return %s, %a : !tsr.tensor<[embed: 16], f32>, !tsr.tensor<[vocab: 64, embed: 16], f32>
  }

  // Axes of one name and different sizes are different loops.
  // CHECK-LABEL: func.func @sizes
  func.func @sizes(%x: !tsr.tensor<[batch: 8, embed: 16], f32>) -> !tsr.tensor<[], f32> {
    // CHECK: %[[HALF:.*]] = tsr.slice
    // CHECK-COUNT-2: tsr.kernel {{.*}} serial [batch, embed]
    // CHECK: return
    %h = tsr.slice %x "batch" from 4 : !tsr.tensor<[batch: 8, embed: 16], f32> -> !tsr.tensor<[batch: 4, embed: 16], f32>
    %a = tsr.reduce sum %x over ["batch", "embed"] : !tsr.tensor<[batch: 8, embed: 16], f32> -> !tsr.tensor<[], f32>
    %b = tsr.reduce sum %h over ["batch", "embed"] : !tsr.tensor<[batch: 4, embed: 16], f32> -> !tsr.tensor<[], f32>
    %s = tsr.add %a, %b : (!tsr.tensor<[], f32>, !tsr.tensor<[], f32>) -> !tsr.tensor<[], f32>
    return %s : !tsr.tensor<[], f32>
  }

  // Biases and sums of contractions are absorbed by the contractions.
  // CHECK-LABEL: func.func @absorb
  func.func @absorb(%x: !tsr.tensor<[batch: 64, embed: 32], f32>, %w: !tsr.tensor<[embed: 32, ff: 32], f32>, %b: !tsr.tensor<[ff: 32], f32>) -> !tsr.tensor<[batch: 64, ff: 32], f32> {
    // CHECK: %[[FIRST:.*]] = tsr.contract %arg0, %arg1 over [embed] bias %arg2
    // CHECK: tsr.contract %arg0, %arg1 over [embed] init %[[FIRST]]
    // CHECK-NOT: tsr.kernel
    // CHECK: return
    %c = tsr.contract %x, %w over ["embed"] : (!tsr.tensor<[batch: 64, embed: 32], f32>, !tsr.tensor<[embed: 32, ff: 32], f32>) -> !tsr.tensor<[batch: 64, ff: 32], f32>
    %d = tsr.contract %x, %w over ["embed"] : (!tsr.tensor<[batch: 64, embed: 32], f32>, !tsr.tensor<[embed: 32, ff: 32], f32>) -> !tsr.tensor<[batch: 64, ff: 32], f32>
    %cb = tsr.add %c, %b : (!tsr.tensor<[batch: 64, ff: 32], f32>, !tsr.tensor<[ff: 32], f32>) -> !tsr.tensor<[batch: 64, ff: 32], f32>
    %y = tsr.add %cb, %d : (!tsr.tensor<[batch: 64, ff: 32], f32>, !tsr.tensor<[batch: 64, ff: 32], f32>) -> !tsr.tensor<[batch: 64, ff: 32], f32>
    return %y : !tsr.tensor<[batch: 64, ff: 32], f32>
  }

  // A matrix-vector product is no GEMM, so it becomes a kernel.
  // CHECK-LABEL: func.func @matvec
  func.func @matvec(%x: !tsr.tensor<[batch: 64, embed: 32], f32>, %w: !tsr.tensor<[embed: 32], f32>) -> !tsr.tensor<[batch: 64], f32> {
    // CHECK: tsr.kernel {{.*}} parallel [batch] serial [embed] vector embed
    // CHECK: tsr.mul
    // CHECK: tsr.reduce sum
    %y = tsr.contract %x, %w over ["embed"] : (!tsr.tensor<[batch: 64, embed: 32], f32>, !tsr.tensor<[embed: 32], f32>) -> !tsr.tensor<[batch: 64], f32>
    return %y : !tsr.tensor<[batch: 64], f32>
  }

  // A sum over all axes is split in two reductions; the squares are in the first one.
  // CHECK-LABEL: func.func @norm
  func.func @norm(%x: !tsr.tensor<[batch: 128, seq: 32, embed: 16], f32>) -> !tsr.tensor<[], f32> {
    // CHECK: tsr.kernel {{.*}} parallel [batch] serial [seq, embed]
    // CHECK: tsr.mul
    // CHECK: tsr.kernel {{.*}} parallel [] serial [batch]
    %sq = tsr.mul %x, %x : (!tsr.tensor<[batch: 128, seq: 32, embed: 16], f32>, !tsr.tensor<[batch: 128, seq: 32, embed: 16], f32>) -> !tsr.tensor<[batch: 128, seq: 32, embed: 16], f32>
    %s = tsr.reduce sum %sq over ["batch", "seq", "embed"] : !tsr.tensor<[batch: 128, seq: 32, embed: 16], f32> -> !tsr.tensor<[], f32>
    return %s : !tsr.tensor<[], f32>
  }

  // A returned constant is stored.
  // CHECK-LABEL: func.func @constant
  func.func @constant() -> !tsr.tensor<[embed: 4], f32> {
    // CHECK: %[[K:.*]] = tsr.kernel
    // CHECK: return %[[K]]
    %c = tsr.constant 1.0 : f32 -> !tsr.tensor<[embed: 4], f32>
    return %c : !tsr.tensor<[embed: 4], f32>
  }
}

// -----

// The axes of a split reduction get longer names if the operand already has axes of those names.
// CHECK-LABEL: func.func @step
module attributes {tsr.axes = ["n", "n_outer"], tsr.phase = "layout"} {
  func.func @step(%x: !tsr.tensor<[n: 8192, n_outer: 2], f32>) -> !tsr.tensor<[n_outer: 2], f32> {
    // CHECK: tsr.split %{{.*}} n into [n_outer_outer, n_inner] {{.*}} -> <[n_outer_outer: 64, n_inner: 128, n_outer: 2], f32>
    %s = tsr.reduce sum %x over ["n"] : !tsr.tensor<[n: 8192, n_outer: 2], f32> -> !tsr.tensor<[n_outer: 2], f32>
    return %s : !tsr.tensor<[n_outer: 2], f32>
  }
}

// -----

// The split of an axis with padded rows is a view of them.
// CHECK-LABEL: func.func @step
module attributes {tsr.axes = ["n", "m", "k"], tsr.phase = "layout", tsr.target = "cuda"} {
  func.func @step(%x: !tsr.tensor<[n: 4096, k: 32], bf16>, %w: !tsr.tensor<[m: 77, k: 32], bf16>) -> !tsr.tensor<[m: 77], f32> {
    // CHECK: tsr.split %{{.*}} n into [n_outer, n_inner] : <[n: 4096, m: 77 of 80], f32> -> <[n_outer: 64, n_inner: 64, m: 77 of 80], f32>
    %y = tsr.contract %x, %w over ["k"] : (!tsr.tensor<[n: 4096, k: 32], bf16>, !tsr.tensor<[m: 77, k: 32], bf16>) -> !tsr.tensor<[n: 4096, m: 77 of 80], f32>
    %s = tsr.reduce sum %y over ["n"] : !tsr.tensor<[n: 4096, m: 77 of 80], f32> -> !tsr.tensor<[m: 77], f32>
    return %s : !tsr.tensor<[m: 77], f32>
  }
}

// -----

// Rows of 4100 elements in 4104 positions cannot be split: 4104 is no multiple of 82.
// CHECK-LABEL: func.func @step
module attributes {tsr.axes = ["n", "m", "k"], tsr.phase = "layout", tsr.target = "cuda"} {
  func.func @step(%x: !tsr.tensor<[n: 4100, k: 32], bf16>, %w: !tsr.tensor<[m: 64, k: 32], bf16>) -> !tsr.tensor<[m: 64], f32> {
    // CHECK-NOT: tsr.split
    // CHECK: tsr.reduce sum %{{.*}} over [n] : <[m: 64, n: 4100 of 4104], bf16>
    %y = tsr.contract %w, %x over ["k"] : (!tsr.tensor<[m: 64, k: 32], bf16>, !tsr.tensor<[n: 4100, k: 32], bf16>) -> !tsr.tensor<[m: 64, n: 4100 of 4104], bf16>
    %s = tsr.reduce sum %y over ["n"] : !tsr.tensor<[m: 64, n: 4100 of 4104], bf16> -> !tsr.tensor<[m: 64], bf16>
    %f = tsr.cast %s : <[m: 64], bf16> to <[m: 64], f32>
    return %f : !tsr.tensor<[m: 64], f32>
  }
}
