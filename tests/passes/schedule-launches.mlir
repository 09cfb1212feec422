// RUN: tessera-opt %s --split-input-file --tsr-schedule --tsr-verify-phase=phase=schedule | FileCheck %s

// Independent kernels run in one launch: the sums of two gradients level by level, the larger gradient first.
// CHECK-LABEL: func.func @step
module attributes {tsr.axes = ["m", "n"], tsr.phase = "tile", tsr.target = "cuda"} {
  func.func @step(%x: !tsr.tensor<[m: 32, n: 64], f32>, %y: !tsr.tensor<[m: 64, n: 64], f32>) -> (!tsr.tensor<[], f32>, !tsr.tensor<[], f32>) {
    // CHECK: tsr.kernel "large" {{.*}}tsr.group = 0
    // CHECK: tsr.kernel "small" {{.*}}tsr.group = 0
    // CHECK: tsr.kernel "rest_of_large" {{.*}}tsr.group = 1
    // CHECK: tsr.kernel "rest_of_small" {{.*}}tsr.group = 1
    %a = tsr.kernel "small" (%p = %x : !tsr.tensor<[m: 32, n: 64], f32>) parallel ["m"] serial ["n"] vector "n" -> (!tsr.tensor<[m: 32], f32>) {
      %r = tsr.reduce sum %p over ["n"] : !tsr.tensor<[m: 32, n: 64], f32> -> !tsr.tensor<[m: 32], f32>
      tsr.yield %r : !tsr.tensor<[m: 32], f32>
    }
    %b = tsr.kernel "rest_of_small" (%p = %a : !tsr.tensor<[m: 32], f32>) parallel [] serial ["m"] vector "m" -> (!tsr.tensor<[], f32>) {
      %r = tsr.reduce sum %p over ["m"] : !tsr.tensor<[m: 32], f32> -> !tsr.tensor<[], f32>
      tsr.yield %r : !tsr.tensor<[], f32>
    }
    %c = tsr.kernel "large" (%p = %y : !tsr.tensor<[m: 64, n: 64], f32>) parallel ["m"] serial ["n"] vector "n" -> (!tsr.tensor<[m: 64], f32>) {
      %r = tsr.reduce sum %p over ["n"] : !tsr.tensor<[m: 64, n: 64], f32> -> !tsr.tensor<[m: 64], f32>
      tsr.yield %r : !tsr.tensor<[m: 64], f32>
    }
    %d = tsr.kernel "rest_of_large" (%p = %c : !tsr.tensor<[m: 64], f32>) parallel [] serial ["m"] vector "m" -> (!tsr.tensor<[], f32>) {
      %r = tsr.reduce sum %p over ["m"] : !tsr.tensor<[m: 64], f32> -> !tsr.tensor<[], f32>
      tsr.yield %r : !tsr.tensor<[], f32>
    }
    return %b, %d : !tsr.tensor<[], f32>, !tsr.tensor<[], f32>
  }
}

// -----

// On a CPU no kernel is moved.
// CHECK-LABEL: func.func @step
// CHECK-NOT: tsr.group
// CHECK: tsr.kernel "small"
// CHECK: tsr.kernel "rest_of_small"
module attributes {tsr.axes = ["m", "n"], tsr.phase = "tile"} {
  func.func @step(%x: !tsr.tensor<[m: 32, n: 64], f32>, %y: !tsr.tensor<[m: 64, n: 64], f32>) -> (!tsr.tensor<[], f32>, !tsr.tensor<[], f32>) {
    %a = tsr.kernel "small" (%p = %x : !tsr.tensor<[m: 32, n: 64], f32>) parallel ["m"] serial ["n"] vector "n" -> (!tsr.tensor<[m: 32], f32>) {
      %r = tsr.reduce sum %p over ["n"] : !tsr.tensor<[m: 32, n: 64], f32> -> !tsr.tensor<[m: 32], f32>
      tsr.yield %r : !tsr.tensor<[m: 32], f32>
    }
    %b = tsr.kernel "rest_of_small" (%p = %a : !tsr.tensor<[m: 32], f32>) parallel [] serial ["m"] vector "m" -> (!tsr.tensor<[], f32>) {
      %r = tsr.reduce sum %p over ["m"] : !tsr.tensor<[m: 32], f32> -> !tsr.tensor<[], f32>
      tsr.yield %r : !tsr.tensor<[], f32>
    }
    %c = tsr.kernel "large" (%p = %y : !tsr.tensor<[m: 64, n: 64], f32>) parallel ["m"] serial ["n"] vector "n" -> (!tsr.tensor<[m: 64], f32>) {
      %r = tsr.reduce sum %p over ["n"] : !tsr.tensor<[m: 64, n: 64], f32> -> !tsr.tensor<[m: 64], f32>
      tsr.yield %r : !tsr.tensor<[m: 64], f32>
    }
    %d = tsr.kernel "rest_of_large" (%p = %c : !tsr.tensor<[m: 64], f32>) parallel [] serial ["m"] vector "m" -> (!tsr.tensor<[], f32>) {
      %r = tsr.reduce sum %p over ["m"] : !tsr.tensor<[m: 64], f32> -> !tsr.tensor<[], f32>
      tsr.yield %r : !tsr.tensor<[], f32>
    }
    return %b, %d : !tsr.tensor<[], f32>, !tsr.tensor<[], f32>
  }
}

// -----

// Fused updates still overwrite their weights in place.
// CHECK-LABEL: func.func @step
// CHECK: tsr.kernel "update" {{.*}} at <0> attributes {tsr.group = 0 : i64}
// CHECK: tsr.kernel "update" {{.*}} at <16384> attributes {tsr.group = 0 : i64}
module attributes {tsr.axes = ["m", "n"], tsr.phase = "tile", tsr.target = "cuda"} {
  tsr.state @w "weight" !tsr.tensor<[m: 64, n: 64], f32>
  tsr.state @v "weight" !tsr.tensor<[m: 64, n: 64], f32>
  func.func @step(%w: !tsr.tensor<[m: 64, n: 64], f32> {tsr.state = @w}, %v: !tsr.tensor<[m: 64, n: 64], f32> {tsr.state = @v}, %g: !tsr.tensor<[m: 64, n: 64], f32>) -> (!tsr.tensor<[m: 64, n: 64], f32> {tsr.state = @w}, !tsr.tensor<[m: 64, n: 64], f32> {tsr.state = @v}) {
    %a = tsr.kernel "update" (%p = %w : !tsr.tensor<[m: 64, n: 64], f32>, %q = %g : !tsr.tensor<[m: 64, n: 64], f32>) parallel ["m", "n"] serial [] vector "n" -> (!tsr.tensor<[m: 64, n: 64], f32>) {
      %r = tsr.sub %p, %q : (!tsr.tensor<[m: 64, n: 64], f32>, !tsr.tensor<[m: 64, n: 64], f32>) -> !tsr.tensor<[m: 64, n: 64], f32>
      tsr.yield %r : !tsr.tensor<[m: 64, n: 64], f32>
    }
    %b = tsr.kernel "update" (%p = %v : !tsr.tensor<[m: 64, n: 64], f32>, %q = %g : !tsr.tensor<[m: 64, n: 64], f32>) parallel ["m", "n"] serial [] vector "n" -> (!tsr.tensor<[m: 64, n: 64], f32>) {
      %r = tsr.sub %p, %q : (!tsr.tensor<[m: 64, n: 64], f32>, !tsr.tensor<[m: 64, n: 64], f32>) -> !tsr.tensor<[m: 64, n: 64], f32>
      tsr.yield %r : !tsr.tensor<[m: 64, n: 64], f32>
    }
    return %a, %b : !tsr.tensor<[m: 64, n: 64], f32>, !tsr.tensor<[m: 64, n: 64], f32>
  }
}

// -----

// The average reads the weight that the update overwrites: in one launch they would need a copy of it.
// CHECK-LABEL: func.func @step
// CHECK-NOT: tsr.group
// CHECK-NOT: tsr.reorder
// CHECK: return
module attributes {tsr.axes = ["m", "n"], tsr.phase = "tile", tsr.target = "cuda"} {
  tsr.state @w "weight" !tsr.tensor<[m: 64, n: 64], f32>
  tsr.state @average "weight" !tsr.tensor<[m: 64, n: 64], f32>
  func.func @step(%w: !tsr.tensor<[m: 64, n: 64], f32> {tsr.state = @w}, %s: !tsr.tensor<[m: 64, n: 64], f32> {tsr.state = @average}, %g: !tsr.tensor<[m: 64, n: 64], f32>) -> (!tsr.tensor<[m: 64, n: 64], f32> {tsr.state = @w}, !tsr.tensor<[m: 64, n: 64], f32> {tsr.state = @average}) {
    %b = tsr.kernel "average" (%p = %s : !tsr.tensor<[m: 64, n: 64], f32>, %q = %w : !tsr.tensor<[m: 64, n: 64], f32>) parallel ["m", "n"] serial [] vector "n" -> (!tsr.tensor<[m: 64, n: 64], f32>) {
      %r = tsr.add %p, %q : (!tsr.tensor<[m: 64, n: 64], f32>, !tsr.tensor<[m: 64, n: 64], f32>) -> !tsr.tensor<[m: 64, n: 64], f32>
      tsr.yield %r : !tsr.tensor<[m: 64, n: 64], f32>
    }
    %a = tsr.kernel "update" (%p = %w : !tsr.tensor<[m: 64, n: 64], f32>, %q = %g : !tsr.tensor<[m: 64, n: 64], f32>) parallel ["m", "n"] serial [] vector "n" -> (!tsr.tensor<[m: 64, n: 64], f32>) {
      %r = tsr.sub %p, %q : (!tsr.tensor<[m: 64, n: 64], f32>, !tsr.tensor<[m: 64, n: 64], f32>) -> !tsr.tensor<[m: 64, n: 64], f32>
      tsr.yield %r : !tsr.tensor<[m: 64, n: 64], f32>
    }
    return %a, %b : !tsr.tensor<[m: 64, n: 64], f32>, !tsr.tensor<[m: 64, n: 64], f32>
  }
}

// -----

// A small kernel is fused with an earlier one. A kernel whose operand would raise peak live memory is not deferred to be fused with a
// later one.
// CHECK-LABEL: func.func @step
// CHECK: tsr.kernel "first" {{.*}}tsr.group = 0
// CHECK: tsr.kernel "scalars" {{.*}}tsr.group = 0
// CHECK: tsr.kernel "sum"
// CHECK-NOT: tsr.group
// CHECK: return
module attributes {tsr.axes = ["m", "n"], tsr.phase = "tile", tsr.target = "cuda"} {
  func.func @step(%x: !tsr.tensor<[m: 2048, n: 2048], f32>, %z: !tsr.tensor<[m: 2048], f32>) -> (!tsr.tensor<[m: 2048], f32>, !tsr.tensor<[m: 2048], f32>, !tsr.tensor<[m: 2048], f32>) {
    %a = tsr.kernel "first" (%p = %x : !tsr.tensor<[m: 2048, n: 2048], f32>) parallel ["m", "n"] serial [] vector "n" -> (!tsr.tensor<[m: 2048, n: 2048], f32>) {
      %r = tsr.exp %p : !tsr.tensor<[m: 2048, n: 2048], f32>
      tsr.yield %r : !tsr.tensor<[m: 2048, n: 2048], f32>
    }
    %b = tsr.kernel "sum" (%p = %a : !tsr.tensor<[m: 2048, n: 2048], f32>) parallel ["m"] serial ["n"] vector "n" -> (!tsr.tensor<[m: 2048], f32>) {
      %r = tsr.reduce sum %p over ["n"] : !tsr.tensor<[m: 2048, n: 2048], f32> -> !tsr.tensor<[m: 2048], f32>
      tsr.yield %r : !tsr.tensor<[m: 2048], f32>
    }
    %c = tsr.kernel "other" (%p = %x : !tsr.tensor<[m: 2048, n: 2048], f32>) parallel ["m"] serial ["n"] vector "n" -> (!tsr.tensor<[m: 2048], f32>) {
      %r = tsr.reduce sum %p over ["n"] : !tsr.tensor<[m: 2048, n: 2048], f32> -> !tsr.tensor<[m: 2048], f32>
      tsr.yield %r : !tsr.tensor<[m: 2048], f32>
    }
    %d = tsr.kernel "scalars" (%p = %z : !tsr.tensor<[m: 2048], f32>) parallel ["m"] serial [] vector "m" -> (!tsr.tensor<[m: 2048], f32>) {
      %r = tsr.cos %p : !tsr.tensor<[m: 2048], f32>
      tsr.yield %r : !tsr.tensor<[m: 2048], f32>
    }
    return %b, %c, %d : !tsr.tensor<[m: 2048], f32>, !tsr.tensor<[m: 2048], f32>, !tsr.tensor<[m: 2048], f32>
  }
}
