// RUN: tessera-opt %s --tsr-differentiate --tsr-simplify | FileCheck %s --check-prefixes=CHECK,GPU,SPEED
// RUN: sed 's/, tsr.target = "cuda"//' %s | tessera-opt --tsr-differentiate --tsr-simplify | FileCheck %s --check-prefixes=CHECK,CPU,MEMORY
// RUN: sed 's/tsr.target = "cuda"/tsr.target = "cuda", tsr.prefer = "memory"/' %s | tessera-opt --tsr-differentiate --tsr-simplify | FileCheck %s --check-prefixes=CHECK,GPU,MEMORY

// What a repeat saves of a contraction with a bias: on a GPU their sum, which cuBLASLt computes; on a CPU the contraction; the sum is
// recomputed.

!x = !tsr.tensor<[batch: 3, in: 4], f32>
!ws = !tsr.tensor<[layer: 2, in: 4, out: 4], f32>
!bs = !tsr.tensor<[layer: 2, out: 4], f32>
!w = !tsr.tensor<[in: 4, out: 4], f32>
!b = !tsr.tensor<[out: 4], f32>
!y = !tsr.tensor<[batch: 3, out: 4], f32>
module attributes {tsr.axes = ["layer", "batch", "in", "out"], tsr.phase = "simplify", tsr.target = "cuda"} {
  // CHECK-LABEL: func.func @step
  func.func @step(%x: !x, %ws: !ws, %bs: !bs) -> (!ws, !bs) {
    // CHECK: tsr.repeat [layer: 2]
    // CHECK: %[[PRODUCT:.*]] = tsr.contract
    // CHECK: %[[SUM:.*]] = tsr.add %[[PRODUCT]]
    // GPU: tsr.yield %{{.*}}, %[[SUM]]
    // CPU: tsr.yield %{{.*}}, %[[PRODUCT]]
    // CHECK: tsr.repeat [layer: 2] reverse
    // GPU-NOT: tsr.add
    // CPU: tsr.add
    // CHECK: tsr.tanh
    %0 = tsr.repeat [layer: 2] index %i carry (%c = %x : !x) slice (%w = %ws : !ws, %b = %bs : !bs) -> (!x) {
      %p = tsr.contract %c, %w over ["in"] : (!x, !w) -> !y
      %s = tsr.add %p, %b : (!y, !b) -> !y
      %t = tsr.tanh %s : !y
      %r = tsr.rename %t ["out"] to ["in"] : !y -> !x
      tsr.yield %r : !x
    }
    %loss = tsr.reduce sum %0 over ["batch", "in"] : !x -> !tsr.tensor<[], f32>
    %dw, %db = tsr.gradient %loss wrt(%ws, %bs) : (!tsr.tensor<[], f32>, !ws, !bs) -> (!ws, !bs)
    return %dw, %db : !ws, !bs
  }

  // What a contraction reads in both passes is saved where speed is preferred; else it is recomputed from what it follows from.
  // CHECK-LABEL: func.func @stored
  func.func @stored(%x: !x, %ws: !ws) -> !ws {
    // CHECK: tsr.repeat [layer: 2]
    // CHECK: %[[T:[a-z0-9_]+]] = tsr.mul
    // SPEED: tsr.yield {{.*}}%[[T]]
    // MEMORY-NOT: tsr.yield {{.*}}%[[T]]
    // CHECK: tsr.repeat [layer: 2] reverse
    // SPEED-NOT: tsr.mul [[P:%[a-z0-9_]+]], [[P]]
    // MEMORY: tsr.mul [[P:%[a-z0-9_]+]], [[P]]
    // CHECK: return
    %0 = tsr.repeat [layer: 2] index %i carry (%c = %x : !x) slice (%w = %ws : !ws) -> (!x) {
      %p = tsr.contract %c, %w over ["in"] : (!x, !w) -> !y
      %t = tsr.mul %p, %p : !y
      %h = tsr.rename %t ["out"] to ["in"] : !y -> !x
      %q = tsr.contract %h, %w over ["in"] : (!x, !w) -> !y
      %r = tsr.rename %q ["out"] to ["in"] : !y -> !x
      tsr.yield %r : !x
    }
    %loss = tsr.reduce sum %0 over ["batch", "in"] : !x -> !tsr.tensor<[], f32>
    %dw = tsr.gradient %loss wrt(%ws) : (!tsr.tensor<[], f32>, !ws) -> !ws
    return %dw : !ws
  }
}
