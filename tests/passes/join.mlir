// RUN: tessera-opt %s --split-input-file --tsr-join | FileCheck %s

// Queries and keys of one input, with biases, in a repeat: the weights are joined outside of it, and it stacks the
// joined result.
// CHECK-LABEL: func.func @step
module attributes {tsr.axes = ["layer", "batch", "seq", "head", "kv", "hd", "embed", "key"], tsr.target = "cuda", tsr.phase = "chunk"} {
  func.func @step(%x: !tsr.tensor<[batch: 4, seq: 16, embed: 32], bf16>,
                  %wq: !tsr.tensor<[layer: 2, head: 4, hd: 16, embed: 32], f32>,
                  %wk: !tsr.tensor<[layer: 2, kv: 2, hd: 16, embed: 32], f32>,
                  %bq: !tsr.tensor<[layer: 2, head: 4, hd: 16], f32>,
                  %bk: !tsr.tensor<[layer: 2, kv: 2, hd: 16], f32>)
      -> (!tsr.tensor<[layer: 2, batch: 4, seq: 16, head: 4, hd: 16], bf16>, !tsr.tensor<[layer: 2, batch: 4, kv: 2, hd: 16, key: 16], bf16>) {
    // CHECK: tsr.merge {{.*}} [head, hd] into joined {{.*}} -> <[layer: 2, embed: 32, joined: 64], bf16>
    // CHECK: tsr.merge {{.*}} [kv, hd] into joined {{.*}} -> <[layer: 2, embed: 32, joined: 32], bf16>
    // CHECK: tsr.join {{.*}} along joined {{.*}} -> !tsr.tensor<[layer: 2, embed: 32, joined: 96], bf16>
    // CHECK: %[[ALL:.*]] = tsr.repeat [layer: 2]
    // CHECK: %[[Y:.*]] = tsr.contract {{.*}} over [embed] {{.*}} -> !tsr.tensor<[batch: 4, seq: 16, joined: 96], f32>
    // CHECK: %[[SUM:.*]] = tsr.add %[[Y]]
    // CHECK: %[[ROUNDED:.*]] = tsr.cast %[[SUM]]
    // CHECK: tsr.yield {{.*}}%[[ROUNDED]] :
    // CHECK-DAG: tsr.slice %[[ALL]] joined from 0
    // CHECK-DAG: tsr.slice %[[ALL]] joined from 64
    %0 = tsr.cast %wq : !tsr.tensor<[layer: 2, head: 4, hd: 16, embed: 32], f32> to !tsr.tensor<[layer: 2, head: 4, hd: 16, embed: 32], bf16>
    %1 = tsr.cast %wk : !tsr.tensor<[layer: 2, kv: 2, hd: 16, embed: 32], f32> to !tsr.tensor<[layer: 2, kv: 2, hd: 16, embed: 32], bf16>
    %2:2 = tsr.repeat [layer: 2] index %i slice (%vq = %0 : !tsr.tensor<[layer: 2, head: 4, hd: 16, embed: 32], bf16>, %vk = %1 : !tsr.tensor<[layer: 2, kv: 2, hd: 16, embed: 32], bf16>, %cq = %bq : !tsr.tensor<[layer: 2, head: 4, hd: 16], f32>, %ck = %bk : !tsr.tensor<[layer: 2, kv: 2, hd: 16], f32>) invariant (%y = %x : !tsr.tensor<[batch: 4, seq: 16, embed: 32], bf16>) -> (!tsr.tensor<[layer: 2, batch: 4, seq: 16, head: 4, hd: 16], bf16>, !tsr.tensor<[layer: 2, batch: 4, kv: 2, hd: 16, key: 16], bf16>) {
      %past = tsr.rename %y [seq] to [key] : !tsr.tensor<[batch: 4, seq: 16, embed: 32], bf16> -> !tsr.tensor<[batch: 4, embed: 32, key: 16], bf16>
      %q = tsr.contract %y, %vq over [embed] : (!tsr.tensor<[batch: 4, seq: 16, embed: 32], bf16>, !tsr.tensor<[head: 4, hd: 16, embed: 32], bf16>) -> !tsr.tensor<[batch: 4, seq: 16, head: 4, hd: 16], f32>
      %qb = tsr.add %q, %cq : !tsr.tensor<[batch: 4, seq: 16, head: 4, hd: 16], f32>, !tsr.tensor<[head: 4, hd: 16], f32>
      %qr = tsr.cast %qb : !tsr.tensor<[batch: 4, seq: 16, head: 4, hd: 16], f32> to !tsr.tensor<[batch: 4, seq: 16, head: 4, hd: 16], bf16>
      %k = tsr.contract %past, %vk over [embed] : (!tsr.tensor<[batch: 4, embed: 32, key: 16], bf16>, !tsr.tensor<[kv: 2, hd: 16, embed: 32], bf16>) -> !tsr.tensor<[batch: 4, kv: 2, hd: 16, key: 16], f32>
      %kb = tsr.add %k, %ck : !tsr.tensor<[batch: 4, kv: 2, hd: 16, key: 16], f32>, !tsr.tensor<[kv: 2, hd: 16], f32>
      %kr = tsr.cast %kb : !tsr.tensor<[batch: 4, kv: 2, hd: 16, key: 16], f32> to !tsr.tensor<[batch: 4, kv: 2, hd: 16, key: 16], bf16>
      tsr.yield %qr, %kr : !tsr.tensor<[batch: 4, seq: 16, head: 4, hd: 16], bf16>, !tsr.tensor<[batch: 4, kv: 2, hd: 16, key: 16], bf16>
    }
    return %2#0, %2#1 : !tsr.tensor<[layer: 2, batch: 4, seq: 16, head: 4, hd: 16], bf16>, !tsr.tensor<[layer: 2, batch: 4, kv: 2, hd: 16, key: 16], bf16>
  }
}

// -----

// The backward pass of a gate and its values: the gradient of the input is one contraction over both, and the
// gradients of the weights are one too.
// CHECK-LABEL: func.func @step
module attributes {tsr.axes = ["batch", "in", "a", "b", "c"], tsr.target = "cuda", tsr.phase = "chunk"} {
  func.func @step(%x: !tsr.tensor<[batch: 8, in: 32], bf16>, %ga: !tsr.tensor<[batch: 8, a: 16], f32>, %gb: !tsr.tensor<[batch: 8, b: 32], f32>, %wa: !tsr.tensor<[in: 32, a: 16], f32>, %wb: !tsr.tensor<[in: 32, b: 32], f32>)
      -> (!tsr.tensor<[batch: 8, in: 32], f32>, !tsr.tensor<[in: 32, a: 16], f32>, !tsr.tensor<[in: 32, b: 32], f32>) {
    // CHECK: %[[DY:.*]] = tsr.join {{.*}} along joined
    // CHECK: tsr.contract %[[DY]], {{.*}} over [joined]
    // CHECK-NOT: tsr.add
    // CHECK: return
    %gal = tsr.cast %ga : !tsr.tensor<[batch: 8, a: 16], f32> to !tsr.tensor<[batch: 8, a: 16], bf16>
    %gbl = tsr.cast %gb : !tsr.tensor<[batch: 8, b: 32], f32> to !tsr.tensor<[batch: 8, b: 32], bf16>
    %wal = tsr.cast %wa : !tsr.tensor<[in: 32, a: 16], f32> to !tsr.tensor<[in: 32, a: 16], bf16>
    %wbl = tsr.cast %wb : !tsr.tensor<[in: 32, b: 32], f32> to !tsr.tensor<[in: 32, b: 32], bf16>
    %0 = tsr.contract %gal, %wal over [a] : (!tsr.tensor<[batch: 8, a: 16], bf16>, !tsr.tensor<[in: 32, a: 16], bf16>) -> !tsr.tensor<[batch: 8, in: 32], f32>
    %1 = tsr.contract %gbl, %wbl over [b] : (!tsr.tensor<[batch: 8, b: 32], bf16>, !tsr.tensor<[in: 32, b: 32], bf16>) -> !tsr.tensor<[batch: 8, in: 32], f32>
    %dx = tsr.add %0, %1 : !tsr.tensor<[batch: 8, in: 32], f32>
    %da = tsr.contract %x, %gal over [batch] : (!tsr.tensor<[batch: 8, in: 32], bf16>, !tsr.tensor<[batch: 8, a: 16], bf16>) -> !tsr.tensor<[in: 32, a: 16], f32>
    %db = tsr.contract %x, %gbl over [batch] : (!tsr.tensor<[batch: 8, in: 32], bf16>, !tsr.tensor<[batch: 8, b: 32], bf16>) -> !tsr.tensor<[in: 32, b: 32], f32>
    return %dx, %da, %db : !tsr.tensor<[batch: 8, in: 32], f32>, !tsr.tensor<[in: 32, a: 16], f32>, !tsr.tensor<[in: 32, b: 32], f32>
  }
}

// -----

// Parts that begin at odd places stay contractions of their own.
// CHECK-LABEL: func.func @step
module attributes {tsr.axes = ["batch", "in", "a", "b", "c"], tsr.target = "cuda", tsr.phase = "chunk"} {
  func.func @step(%x: !tsr.tensor<[batch: 8, in: 32], bf16>, %ga: !tsr.tensor<[batch: 8, a: 12], f32>, %gb: !tsr.tensor<[batch: 8, b: 32], f32>, %wa: !tsr.tensor<[in: 32, a: 12], f32>, %wb: !tsr.tensor<[in: 32, b: 32], f32>)
      -> (!tsr.tensor<[batch: 8, in: 32], f32>, !tsr.tensor<[in: 32, a: 12], f32>, !tsr.tensor<[in: 32, b: 32], f32>) {
    // CHECK-NOT: tsr.join
    // CHECK: return
    %gal = tsr.cast %ga : !tsr.tensor<[batch: 8, a: 12], f32> to !tsr.tensor<[batch: 8, a: 12], bf16>
    %gbl = tsr.cast %gb : !tsr.tensor<[batch: 8, b: 32], f32> to !tsr.tensor<[batch: 8, b: 32], bf16>
    %wal = tsr.cast %wa : !tsr.tensor<[in: 32, a: 12], f32> to !tsr.tensor<[in: 32, a: 12], bf16>
    %wbl = tsr.cast %wb : !tsr.tensor<[in: 32, b: 32], f32> to !tsr.tensor<[in: 32, b: 32], bf16>
    %0 = tsr.contract %gal, %wal over [a] : (!tsr.tensor<[batch: 8, a: 12], bf16>, !tsr.tensor<[in: 32, a: 12], bf16>) -> !tsr.tensor<[batch: 8, in: 32], f32>
    %1 = tsr.contract %gbl, %wbl over [b] : (!tsr.tensor<[batch: 8, b: 32], bf16>, !tsr.tensor<[in: 32, b: 32], bf16>) -> !tsr.tensor<[batch: 8, in: 32], f32>
    %dx = tsr.add %0, %1 : !tsr.tensor<[batch: 8, in: 32], f32>
    %da = tsr.contract %x, %gal over [batch] : (!tsr.tensor<[batch: 8, in: 32], bf16>, !tsr.tensor<[batch: 8, a: 12], bf16>) -> !tsr.tensor<[in: 32, a: 12], f32>
    %db = tsr.contract %x, %gbl over [batch] : (!tsr.tensor<[batch: 8, in: 32], bf16>, !tsr.tensor<[batch: 8, b: 32], bf16>) -> !tsr.tensor<[in: 32, b: 32], f32>
    return %dx, %da, %db : !tsr.tensor<[batch: 8, in: 32], f32>, !tsr.tensor<[in: 32, a: 12], f32>, !tsr.tensor<[in: 32, b: 32], f32>
  }
}

// -----

// Weights that are state have places of their own, and are no parts of other values.
// CHECK-LABEL: func.func @step
module attributes {tsr.axes = ["batch", "in", "a", "b"], tsr.target = "cuda", tsr.phase = "chunk"} {
  tsr.state @wa "weight" !tsr.tensor<[in: 32, a: 16], bf16>
  tsr.state @wb "weight" !tsr.tensor<[in: 32, b: 32], bf16>
  func.func @step(%x: !tsr.tensor<[batch: 8, in: 32], bf16>, %wa: !tsr.tensor<[in: 32, a: 16], bf16> {tsr.state = @wa}, %wb: !tsr.tensor<[in: 32, b: 32], bf16> {tsr.state = @wb})
      -> (!tsr.tensor<[batch: 8, a: 16], f32>, !tsr.tensor<[batch: 8, b: 32], f32>) {
    // CHECK-NOT: tsr.join
    // CHECK: return
    %0 = tsr.contract %x, %wa over [in] : (!tsr.tensor<[batch: 8, in: 32], bf16>, !tsr.tensor<[in: 32, a: 16], bf16>) -> !tsr.tensor<[batch: 8, a: 16], f32>
    %1 = tsr.contract %x, %wb over [in] : (!tsr.tensor<[batch: 8, in: 32], bf16>, !tsr.tensor<[in: 32, b: 32], bf16>) -> !tsr.tensor<[batch: 8, b: 32], f32>
    %y = tsr.exp %0 : !tsr.tensor<[batch: 8, a: 16], f32>
    %z = tsr.exp %1 : !tsr.tensor<[batch: 8, b: 32], f32>
    return %y, %z : !tsr.tensor<[batch: 8, a: 16], f32>, !tsr.tensor<[batch: 8, b: 32], f32>
  }
}

// -----

// Nor is a cast joined with one of them.
// CHECK-LABEL: func.func @step
module attributes {tsr.axes = ["batch", "in", "a", "b"], tsr.target = "cuda", tsr.phase = "chunk"} {
  tsr.state @wb "weight" !tsr.tensor<[in: 32, b: 32], bf16>
  func.func @step(%x: !tsr.tensor<[batch: 8, in: 32], bf16>, %wa: !tsr.tensor<[in: 32, a: 16], f32>, %wb: !tsr.tensor<[in: 32, b: 32], bf16> {tsr.state = @wb})
      -> (!tsr.tensor<[batch: 8, a: 16], bf16>, !tsr.tensor<[batch: 8, b: 32], bf16>) {
    // CHECK-NOT: tsr.join
    // CHECK: return
    %wal = tsr.cast %wa : !tsr.tensor<[in: 32, a: 16], f32> to !tsr.tensor<[in: 32, a: 16], bf16>
    %0 = tsr.contract %x, %wal over [in] : (!tsr.tensor<[batch: 8, in: 32], bf16>, !tsr.tensor<[in: 32, a: 16], bf16>) -> !tsr.tensor<[batch: 8, a: 16], bf16>
    %1 = tsr.contract %x, %wb over [in] : (!tsr.tensor<[batch: 8, in: 32], bf16>, !tsr.tensor<[in: 32, b: 32], bf16>) -> !tsr.tensor<[batch: 8, b: 32], bf16>
    %y = tsr.exp %0 : !tsr.tensor<[batch: 8, a: 16], bf16>
    %z = tsr.exp %1 : !tsr.tensor<[batch: 8, b: 32], bf16>
    return %y, %z : !tsr.tensor<[batch: 8, a: 16], bf16>, !tsr.tensor<[batch: 8, b: 32], bf16>
  }
}

// -----

// Contractions that sum over one axis of a common operand are one.
// CHECK-LABEL: func.func @step
module attributes {tsr.axes = ["batch", "in", "out", "a", "b"], tsr.target = "cuda", tsr.phase = "chunk"} {
  func.func @step(%x: !tsr.tensor<[batch: 8, in: 32, out: 16], bf16>, %wa: !tsr.tensor<[in: 32, a: 16], f32>, %wb: !tsr.tensor<[in: 32, b: 32], f32>)
      -> (!tsr.tensor<[batch: 8, out: 16, a: 16], f32>, !tsr.tensor<[batch: 8, out: 16, b: 32], f32>) {
    // CHECK: tsr.join
    // CHECK: tsr.contract {{.*}} -> !tsr.tensor<[batch: 8, out: 16, joined: 48], f32>
    // CHECK-NOT: tsr.contract
    // CHECK: return
    %wal = tsr.cast %wa : !tsr.tensor<[in: 32, a: 16], f32> to !tsr.tensor<[in: 32, a: 16], bf16>
    %wbl = tsr.cast %wb : !tsr.tensor<[in: 32, b: 32], f32> to !tsr.tensor<[in: 32, b: 32], bf16>
    %0 = tsr.contract %x, %wal over [in] : (!tsr.tensor<[batch: 8, in: 32, out: 16], bf16>, !tsr.tensor<[in: 32, a: 16], bf16>) -> !tsr.tensor<[batch: 8, out: 16, a: 16], f32>
    %1 = tsr.contract %x, %wbl over [in] : (!tsr.tensor<[batch: 8, in: 32, out: 16], bf16>, !tsr.tensor<[in: 32, b: 32], bf16>) -> !tsr.tensor<[batch: 8, out: 16, b: 32], f32>
    %y = tsr.exp %0 : !tsr.tensor<[batch: 8, out: 16, a: 16], f32>
    %z = tsr.exp %1 : !tsr.tensor<[batch: 8, out: 16, b: 32], f32>
    return %y, %z : !tsr.tensor<[batch: 8, out: 16, a: 16], f32>, !tsr.tensor<[batch: 8, out: 16, b: 32], f32>
  }
}

// -----

// Contractions that sum over different axes of it are not.
// CHECK-LABEL: func.func @step
module attributes {tsr.axes = ["batch", "in", "out", "a", "b"], tsr.target = "cuda", tsr.phase = "chunk"} {
  func.func @step(%x: !tsr.tensor<[batch: 8, in: 32, out: 16], bf16>, %wa: !tsr.tensor<[in: 32, a: 16], f32>, %wb: !tsr.tensor<[out: 16, b: 32], f32>)
      -> (!tsr.tensor<[batch: 8, out: 16, a: 16], f32>, !tsr.tensor<[batch: 8, in: 32, b: 32], f32>) {
    // CHECK-NOT: tsr.join
    // CHECK: return
    %wal = tsr.cast %wa : !tsr.tensor<[in: 32, a: 16], f32> to !tsr.tensor<[in: 32, a: 16], bf16>
    %wbl = tsr.cast %wb : !tsr.tensor<[out: 16, b: 32], f32> to !tsr.tensor<[out: 16, b: 32], bf16>
    %0 = tsr.contract %x, %wal over [in] : (!tsr.tensor<[batch: 8, in: 32, out: 16], bf16>, !tsr.tensor<[in: 32, a: 16], bf16>) -> !tsr.tensor<[batch: 8, out: 16, a: 16], f32>
    %1 = tsr.contract %x, %wbl over [out] : (!tsr.tensor<[batch: 8, in: 32, out: 16], bf16>, !tsr.tensor<[out: 16, b: 32], bf16>) -> !tsr.tensor<[batch: 8, in: 32, b: 32], f32>
    %y = tsr.exp %0 : !tsr.tensor<[batch: 8, out: 16, a: 16], f32>
    %z = tsr.exp %1 : !tsr.tensor<[batch: 8, in: 32, b: 32], f32>
    return %y, %z : !tsr.tensor<[batch: 8, out: 16, a: 16], f32>, !tsr.tensor<[batch: 8, in: 32, b: 32], f32>
  }
}

// -----

// Neither are contractions in f32.
// CHECK-LABEL: func.func @step
module attributes {tsr.axes = ["batch", "in", "out", "a", "b"], tsr.target = "cuda", tsr.phase = "chunk"} {
  func.func @step(%x: !tsr.tensor<[batch: 8, in: 32, out: 16], f32>, %wa: !tsr.tensor<[in: 32, a: 16], bf16>, %wb: !tsr.tensor<[in: 32, b: 32], bf16>)
      -> (!tsr.tensor<[batch: 8, out: 16, a: 16], f32>, !tsr.tensor<[batch: 8, out: 16, b: 32], f32>) {
    // CHECK-NOT: tsr.join
    // CHECK: return
    %wal = tsr.cast %wa : !tsr.tensor<[in: 32, a: 16], bf16> to !tsr.tensor<[in: 32, a: 16], f32>
    %wbl = tsr.cast %wb : !tsr.tensor<[in: 32, b: 32], bf16> to !tsr.tensor<[in: 32, b: 32], f32>
    %0 = tsr.contract %x, %wal over [in] : (!tsr.tensor<[batch: 8, in: 32, out: 16], f32>, !tsr.tensor<[in: 32, a: 16], f32>) -> !tsr.tensor<[batch: 8, out: 16, a: 16], f32>
    %1 = tsr.contract %x, %wbl over [in] : (!tsr.tensor<[batch: 8, in: 32, out: 16], f32>, !tsr.tensor<[in: 32, b: 32], f32>) -> !tsr.tensor<[batch: 8, out: 16, b: 32], f32>
    %y = tsr.exp %0 : !tsr.tensor<[batch: 8, out: 16, a: 16], f32>
    %z = tsr.exp %1 : !tsr.tensor<[batch: 8, out: 16, b: 32], f32>
    return %y, %z : !tsr.tensor<[batch: 8, out: 16, a: 16], f32>, !tsr.tensor<[batch: 8, out: 16, b: 32], f32>
  }
}

// -----

// On a CPU nothing is joined.
// CHECK-LABEL: func.func @step
module attributes {tsr.axes = ["batch", "in", "a", "b", "c"], tsr.phase = "chunk"} {
  func.func @step(%x: !tsr.tensor<[batch: 8, in: 32], bf16>, %ga: !tsr.tensor<[batch: 8, a: 16], f32>, %gb: !tsr.tensor<[batch: 8, b: 32], f32>, %wa: !tsr.tensor<[in: 32, a: 16], f32>, %wb: !tsr.tensor<[in: 32, b: 32], f32>)
      -> (!tsr.tensor<[batch: 8, in: 32], f32>, !tsr.tensor<[in: 32, a: 16], f32>, !tsr.tensor<[in: 32, b: 32], f32>) {
    // CHECK-NOT: tsr.join
    // CHECK: return
    %gal = tsr.cast %ga : !tsr.tensor<[batch: 8, a: 16], f32> to !tsr.tensor<[batch: 8, a: 16], bf16>
    %gbl = tsr.cast %gb : !tsr.tensor<[batch: 8, b: 32], f32> to !tsr.tensor<[batch: 8, b: 32], bf16>
    %wal = tsr.cast %wa : !tsr.tensor<[in: 32, a: 16], f32> to !tsr.tensor<[in: 32, a: 16], bf16>
    %wbl = tsr.cast %wb : !tsr.tensor<[in: 32, b: 32], f32> to !tsr.tensor<[in: 32, b: 32], bf16>
    %0 = tsr.contract %gal, %wal over [a] : (!tsr.tensor<[batch: 8, a: 16], bf16>, !tsr.tensor<[in: 32, a: 16], bf16>) -> !tsr.tensor<[batch: 8, in: 32], f32>
    %1 = tsr.contract %gbl, %wbl over [b] : (!tsr.tensor<[batch: 8, b: 32], bf16>, !tsr.tensor<[in: 32, b: 32], bf16>) -> !tsr.tensor<[batch: 8, in: 32], f32>
    %dx = tsr.add %0, %1 : !tsr.tensor<[batch: 8, in: 32], f32>
    %da = tsr.contract %x, %gal over [batch] : (!tsr.tensor<[batch: 8, in: 32], bf16>, !tsr.tensor<[batch: 8, a: 16], bf16>) -> !tsr.tensor<[in: 32, a: 16], f32>
    %db = tsr.contract %x, %gbl over [batch] : (!tsr.tensor<[batch: 8, in: 32], bf16>, !tsr.tensor<[batch: 8, b: 32], bf16>) -> !tsr.tensor<[in: 32, b: 32], f32>
    return %dx, %da, %db : !tsr.tensor<[batch: 8, in: 32], f32>, !tsr.tensor<[in: 32, a: 16], f32>, !tsr.tensor<[in: 32, b: 32], f32>
  }
}
