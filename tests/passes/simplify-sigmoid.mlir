// RUN: tessera-opt %s --tsr-simplify | FileCheck %s

// GELU by tanh becomes x times a sigmoid; so do the usual spellings of a sigmoid.
// CHECK-LABEL: func.func @gelu
module attributes {tsr.axes = ["n"]} {
  func.func @gelu(%x: !tsr.tensor<[n: 4], f32>, %u: !tsr.tensor<[n: 4], f32>) -> (!tsr.tensor<[n: 4], f32>, !tsr.tensor<[n: 4], f32>) {
    // CHECK-DAG: %[[TWO:.*]] = tsr.constant 2.0
    // CHECK: %[[D:.*]] = tsr.mul %arg1, %[[TWO]]
    // CHECK: %[[S:.*]] = tsr.sigmoid %[[D]]
    // CHECK: %[[G:.*]] = tsr.mul %arg0, %[[S]]
    // CHECK: %[[N:.*]] = tsr.neg %arg1
    // CHECK: %[[L:.*]] = tsr.sigmoid %[[N]]
    // CHECK-NOT: tsr.tanh
    // CHECK: return %[[G]], %[[L]]
    %half = tsr.constant 5.000000e-01 : f32 -> !tsr.tensor<[], f32>
    %one = tsr.constant 1.000000e+00 : f32 -> !tsr.tensor<[], f32>
    %t = tsr.tanh %u : !tsr.tensor<[n: 4], f32>
    %s = tsr.add %one, %t : (!tsr.tensor<[], f32>, !tsr.tensor<[n: 4], f32>) -> !tsr.tensor<[n: 4], f32>
    %h = tsr.mul %half, %x : (!tsr.tensor<[], f32>, !tsr.tensor<[n: 4], f32>) -> !tsr.tensor<[n: 4], f32>
    %g = tsr.mul %h, %s : (!tsr.tensor<[n: 4], f32>, !tsr.tensor<[n: 4], f32>) -> !tsr.tensor<[n: 4], f32>
    %v = tsr.mul %half, %u : (!tsr.tensor<[], f32>, !tsr.tensor<[n: 4], f32>) -> !tsr.tensor<[n: 4], f32>
    %w = tsr.tanh %v : !tsr.tensor<[n: 4], f32>
    %y = tsr.mul %half, %w : (!tsr.tensor<[], f32>, !tsr.tensor<[n: 4], f32>) -> !tsr.tensor<[n: 4], f32>
    %z = tsr.sub %half, %y : (!tsr.tensor<[], f32>, !tsr.tensor<[n: 4], f32>) -> !tsr.tensor<[n: 4], f32>
    return %g, %z : !tsr.tensor<[n: 4], f32>, !tsr.tensor<[n: 4], f32>
  }
}
