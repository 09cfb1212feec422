// RUN: tessera-opt %s --split-input-file --tsr-fuse | FileCheck %s

// The squares of a gradient are for its norm and for its second moment. Until the norm is known nothing of the update can be written,
// so the norm is computed alone, from squares of its own, and the update in one kernel that stores nothing in between.
!w = !tsr.tensor<[in: 64, out: 512], f32>
!in = !tsr.tensor<[in: 64], f32>
!f = !tsr.tensor<[], f32>
// CHECK-LABEL: func.func @step
module attributes {tsr.axes = ["in", "out"], tsr.phase = "layout"} {
  func.func @step(%w: !w, %v: !w, %g: !w) -> (!w, !w) {
    // CHECK: %[[ROWS:.*]] = tsr.kernel "sum" (%{{.*}} = %arg2 : !tsr.tensor<[in: 64, out: 512], f32>) parallel [in] serial [out]
    // CHECK-NEXT: tsr.mul
    // CHECK-NEXT: tsr.reduce sum
    // CHECK-NEXT: tsr.yield {{.*}} : !tsr.tensor<[in: 64], f32>
    %squares = tsr.mul %g, %g : !w
    %rows = tsr.reduce sum %squares over [out] : !w
    %all = tsr.reduce sum %rows over [in] : !in
    %infinity = tsr.constant 0x7F800000 : f32
    %finite = tsr.compare lt %all, %infinity : !f
    // CHECK: tsr.kernel {{.*}} parallel [in, out]
    // CHECK: tsr.mul
    // CHECK: tsr.rsqrt
    // CHECK: tsr.select
    // CHECK: tsr.select
    // CHECK-NEXT: tsr.yield {{.*}} : !tsr.tensor<[in: 64, out: 512], f32>, !tsr.tensor<[in: 64, out: 512], f32>
    // CHECK-NOT: tsr.kernel
    // CHECK: return
    %v1 = tsr.add %v, %squares : !w
    %r = tsr.rsqrt %v1 : !w
    %d = tsr.mul %g, %r : !w
    %w1 = tsr.sub %w, %d : !w
    %new_w = tsr.select %finite, %w1, %w : !tsr.tensor<[], i1>, !w
    %new_v = tsr.select %finite, %v1, %v : !tsr.tensor<[], i1>, !w
    return %new_w, %new_v : !w, !w
  }
}

// -----

// What only waits for a sum of its own kernel is computed there, once.
!w = !tsr.tensor<[in: 64, out: 512], f32>
!in = !tsr.tensor<[in: 64], f32>
// CHECK-LABEL: func.func @step
module attributes {tsr.axes = ["in", "out"], tsr.phase = "layout"} {
  func.func @step(%x: !w) -> (!w, !tsr.tensor<[], f32>) {
    // CHECK: tsr.kernel {{.*}} parallel [in] serial [out]
    // CHECK: tsr.exp
    // CHECK-NOT: tsr.exp
    // CHECK: return
    %e = tsr.exp %x : !w
    %sum = tsr.reduce sum %e over [out] : !w
    %y = tsr.div %e, %sum : !w, !in
    %all = tsr.reduce sum %sum over [in] : !in
    return %y, %all : !w, !tsr.tensor<[], f32>
  }
}
