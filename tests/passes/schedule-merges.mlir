// RUN: tessera-opt %s --split-input-file --tsr-schedule --tsr-verify-phase=phase=schedule | FileCheck %s

// Contractions of one input are computed as one: they are put next to each other, the views that they read through in front.
// CHECK-LABEL: func.func @step
// CHECK: tsr.rename
// CHECK-NEXT: %[[Q:.*]] = tsr.contract {{.*}}tsr.group = 0
// CHECK-NEXT: %[[K:.*]] = tsr.contract {{.*}}tsr.group = 0
// CHECK-NEXT: tsr.contract %[[Q]], %[[K]]
// CHECK-NOT: tsr.group
module attributes {tsr.axes = ["t", "s", "e", "h"], tsr.phase = "tile"} {
  func.func @step(%x: !tsr.tensor<[t: 64, e: 32], f32>, %wq: !tsr.tensor<[e: 32, h: 16], f32>, %wk: !tsr.tensor<[e: 32, h: 16], f32>) -> !tsr.tensor<[t: 64, s: 64], f32> {
    %q = tsr.contract %x, %wq over ["e"] : (!tsr.tensor<[t: 64, e: 32], f32>, !tsr.tensor<[e: 32, h: 16], f32>) -> !tsr.tensor<[t: 64, h: 16], f32>
    %y = tsr.rename %x ["t"] to ["s"] : !tsr.tensor<[t: 64, e: 32], f32> -> !tsr.tensor<[s: 64, e: 32], f32>
    %k = tsr.contract %y, %wk over ["e"] : (!tsr.tensor<[s: 64, e: 32], f32>, !tsr.tensor<[e: 32, h: 16], f32>) -> !tsr.tensor<[s: 64, h: 16], f32>
    %z = tsr.contract %q, %k over ["h"] : (!tsr.tensor<[t: 64, h: 16], f32>, !tsr.tensor<[s: 64, h: 16], f32>) -> !tsr.tensor<[t: 64, s: 64], f32>
    return %z : !tsr.tensor<[t: 64, s: 64], f32>
  }
}

// -----

// Gradients of weights share the other operand; what stands between them does not matter.
// CHECK-LABEL: func.func @step
// CHECK: tsr.contract %{{.*}}, %[[X:.*]] over [t] {{.*}}{tsr.group = 0
// CHECK-NEXT: tsr.contract %{{.*}}, %[[X]] over [t] {{.*}}{tsr.group = 0
// CHECK-NEXT: tsr.kernel
module attributes {tsr.axes = ["t", "e", "h"], tsr.phase = "tile"} {
  func.func @step(%x: !tsr.tensor<[t: 64, e: 32], f32>, %dq: !tsr.tensor<[t: 64, h: 16], f32>, %dk: !tsr.tensor<[t: 64, h: 16], f32>) -> (!tsr.tensor<[h: 16, e: 32], f32>, !tsr.tensor<[h: 16], f32>, !tsr.tensor<[h: 16, e: 32], f32>) {
    %a = tsr.contract %dq, %x over ["t"] : (!tsr.tensor<[t: 64, h: 16], f32>, !tsr.tensor<[t: 64, e: 32], f32>) -> !tsr.tensor<[h: 16, e: 32], f32>
    %s = tsr.kernel "sum" (%p = %dq : !tsr.tensor<[t: 64, h: 16], f32>) parallel ["h"] serial ["t"] vector "h" -> (!tsr.tensor<[h: 16], f32>) {
      %r = tsr.reduce sum %p over ["t"] : !tsr.tensor<[t: 64, h: 16], f32> -> !tsr.tensor<[h: 16], f32>
      tsr.yield %r : !tsr.tensor<[h: 16], f32>
    }
    %b = tsr.contract %dk, %x over ["t"] : (!tsr.tensor<[t: 64, h: 16], f32>, !tsr.tensor<[t: 64, e: 32], f32>) -> !tsr.tensor<[h: 16, e: 32], f32>
    return %a, %s, %b : !tsr.tensor<[h: 16, e: 32], f32>, !tsr.tensor<[h: 16], f32>, !tsr.tensor<[h: 16, e: 32], f32>
  }
}

// -----

// A GEMM that depends on another one is not fused with it, and wide ones reuse their input enough by themselves.
// CHECK-LABEL: func.func @step
// CHECK-NOT: tsr.group
// CHECK-COUNT-4: tsr.contract
// CHECK-NOT: tsr.group
module attributes {tsr.axes = ["t", "e", "f", "w"], tsr.phase = "tile"} {
  func.func @step(%x: !tsr.tensor<[t: 64, e: 32], f32>, %u: !tsr.tensor<[e: 32, w: 1024], f32>, %v: !tsr.tensor<[e: 32, w: 1024], f32>, %m: !tsr.tensor<[e: 32, f: 32], f32>) -> (!tsr.tensor<[t: 64, w: 1024], f32>, !tsr.tensor<[t: 64, w: 1024], f32>, !tsr.tensor<[t: 64, f: 32], f32>) {
    %a = tsr.contract %x, %u over ["e"] : (!tsr.tensor<[t: 64, e: 32], f32>, !tsr.tensor<[e: 32, w: 1024], f32>) -> !tsr.tensor<[t: 64, w: 1024], f32>
    %b = tsr.contract %x, %v over ["e"] : (!tsr.tensor<[t: 64, e: 32], f32>, !tsr.tensor<[e: 32, w: 1024], f32>) -> !tsr.tensor<[t: 64, w: 1024], f32>
    %c = tsr.contract %x, %m over ["e"] : (!tsr.tensor<[t: 64, e: 32], f32>, !tsr.tensor<[e: 32, f: 32], f32>) -> !tsr.tensor<[t: 64, f: 32], f32>
    %w = tsr.kernel "scale" (%s = %c : !tsr.tensor<[t: 64, f: 32], f32>) parallel ["f"] serial ["t"] vector "f" -> (!tsr.tensor<[f: 32], f32>) {
      %r = tsr.reduce sum %s over ["t"] : !tsr.tensor<[t: 64, f: 32], f32> -> !tsr.tensor<[f: 32], f32>
      tsr.yield %r : !tsr.tensor<[f: 32], f32>
    }
    %n = tsr.kernel "spread" (%p = %m : !tsr.tensor<[e: 32, f: 32], f32>, %s = %w : !tsr.tensor<[f: 32], f32>) parallel ["e", "f"] serial [] vector "f" -> (!tsr.tensor<[e: 32, f: 32], f32>) {
      %r = tsr.mul %p, %s : (!tsr.tensor<[e: 32, f: 32], f32>, !tsr.tensor<[f: 32], f32>) -> !tsr.tensor<[e: 32, f: 32], f32>
      tsr.yield %r : !tsr.tensor<[e: 32, f: 32], f32>
    }
    %d = tsr.contract %x, %n over ["e"] : (!tsr.tensor<[t: 64, e: 32], f32>, !tsr.tensor<[e: 32, f: 32], f32>) -> !tsr.tensor<[t: 64, f: 32], f32>
    return %a, %b, %d : !tsr.tensor<[t: 64, w: 1024], f32>, !tsr.tensor<[t: 64, w: 1024], f32>, !tsr.tensor<[t: 64, f: 32], f32>
  }
}

// -----

// GEMMs that accumulate in place are not fused if one reads the accumulator of the other as an operand.
// CHECK-LABEL: func.func @step
// CHECK-NOT: tsr.group
// CHECK-NOT: tsr.reorder
// CHECK-COUNT-2: tsr.contract
// CHECK-NOT: tsr.group
// CHECK-NOT: tsr.reorder
module attributes {tsr.axes = ["t", "e", "h"], tsr.phase = "tile"} {
  func.func @step(%x: !tsr.tensor<[t: 32, e: 32], f32>, %w: !tsr.tensor<[e: 32, h: 16], f32>, %s: !tsr.tensor<[t: 32, h: 16], f32>) -> (!tsr.tensor<[t: 32, h: 16], f32>, !tsr.tensor<[t: 32, h: 16], f32>) {
    %u = tsr.kernel "u" (%p = %s : !tsr.tensor<[t: 32, h: 16], f32>) parallel ["t", "h"] serial [] vector "h" -> (!tsr.tensor<[t: 32, h: 16], f32>) {
      %r = tsr.exp %p : !tsr.tensor<[t: 32, h: 16], f32>
      tsr.yield %r : !tsr.tensor<[t: 32, h: 16], f32>
    }
    %v = tsr.kernel "v" (%p = %s : !tsr.tensor<[t: 32, h: 16], f32>) parallel ["t", "h"] serial [] vector "h" -> (!tsr.tensor<[t: 32, h: 16], f32>) {
      %r = tsr.tanh %p : !tsr.tensor<[t: 32, h: 16], f32>
      tsr.yield %r : !tsr.tensor<[t: 32, h: 16], f32>
    }
    %y = tsr.rename %v ["t"] to ["e"] : !tsr.tensor<[t: 32, h: 16], f32> -> !tsr.tensor<[e: 32, h: 16], f32>
    %a = tsr.contract %x, %y over ["e"] init %u : (!tsr.tensor<[t: 32, e: 32], f32>, !tsr.tensor<[e: 32, h: 16], f32>, !tsr.tensor<[t: 32, h: 16], f32>) -> !tsr.tensor<[t: 32, h: 16], f32>
    %b = tsr.contract %x, %w over ["e"] init %v : (!tsr.tensor<[t: 32, e: 32], f32>, !tsr.tensor<[e: 32, h: 16], f32>, !tsr.tensor<[t: 32, h: 16], f32>) -> !tsr.tensor<[t: 32, h: 16], f32>
    return %a, %b : !tsr.tensor<[t: 32, h: 16], f32>, !tsr.tensor<[t: 32, h: 16], f32>
  }
}
