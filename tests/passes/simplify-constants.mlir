// RUN: tessera-opt %s --tsr-simplify | FileCheck %s

// The cube of a constant: a product of products of constants, which must not be regrouped forever.
module attributes {tsr.axes = ["batch"], tsr.phase = "parse"} {
  // CHECK-LABEL: func.func @evaluate
  func.func @evaluate() -> !tsr.tensor<[batch: 4], f32> {
    // CHECK-NEXT: tsr.constant 8.0
    // CHECK-NEXT: return
    %c = tsr.constant 2.0 : f32 -> !tsr.tensor<[batch: 4], f32>
    %three = tsr.constant 3.0 : f32 -> !tsr.tensor<[], f32>
    %y = tsr.pow %c, %three : (!tsr.tensor<[batch: 4], f32>, !tsr.tensor<[], f32>) -> !tsr.tensor<[batch: 4], f32>
    return %y : !tsr.tensor<[batch: 4], f32>
  }

  // Constants are regrouped only if their product is a normal number: not 1e-50, and not 1e40. The reciprocal of 1e-39 overflows f32,
  // that of 2e38 is subnormal.
  // CHECK-LABEL: func.func @predict
  func.func @predict(%x: !tsr.tensor<[batch: 4], f32>) -> (!tsr.tensor<[batch: 4], f32>, !tsr.tensor<[batch: 4], f32>, !tsr.tensor<[batch: 4], f32>, !tsr.tensor<[batch: 4], f32>, !tsr.tensor<[batch: 4], f32>) {
    // CHECK-DAG: %[[LOW:.*]] = tsr.constant 1.0e-25
    // CHECK-DAG: %[[HIGH:.*]] = tsr.constant 1.0e+20
    // CHECK-DAG: %[[SIX:.*]] = tsr.constant 6.0
    // CHECK-DAG: %[[A:.*]] = tsr.mul %arg0, %[[LOW]]
    // CHECK-DAG: %[[B:.*]] = tsr.mul %[[A]], %[[LOW]]
    // CHECK-DAG: %[[C:.*]] = tsr.mul %arg0, %[[HIGH]]
    // CHECK-DAG: %[[D:.*]] = tsr.mul %[[C]], %[[HIGH]]
    // CHECK-DAG: %[[E:.*]] = tsr.mul %arg0, %[[SIX]]
    // CHECK-DAG: %[[F:.*]] = tsr.div %arg0
    // CHECK-DAG: %[[G:.*]] = tsr.div %arg0
    // CHECK: return %[[B]], %[[D]], %[[E]], %[[F]], %[[G]]
    %low = tsr.constant 1.0e-25 : f32 -> !tsr.tensor<[], f32>
    %small = tsr.constant 1.0e-20 : f32 -> !tsr.tensor<[], f32>
    %tiny = tsr.constant 1.0e-39 : f32 -> !tsr.tensor<[], f32>
    %huge = tsr.constant 2.0e38 : f32 -> !tsr.tensor<[], f32>
    %two = tsr.constant 2.0 : f32 -> !tsr.tensor<[], f32>
    %three = tsr.constant 3.0 : f32 -> !tsr.tensor<[], f32>
    %a = tsr.mul %x, %low : (!tsr.tensor<[batch: 4], f32>, !tsr.tensor<[], f32>) -> !tsr.tensor<[batch: 4], f32>
    %b = tsr.mul %a, %low : (!tsr.tensor<[batch: 4], f32>, !tsr.tensor<[], f32>) -> !tsr.tensor<[batch: 4], f32>
    %c = tsr.div %x, %small : (!tsr.tensor<[batch: 4], f32>, !tsr.tensor<[], f32>) -> !tsr.tensor<[batch: 4], f32>
    %d = tsr.div %c, %small : (!tsr.tensor<[batch: 4], f32>, !tsr.tensor<[], f32>) -> !tsr.tensor<[batch: 4], f32>
    %e = tsr.mul %x, %two : (!tsr.tensor<[batch: 4], f32>, !tsr.tensor<[], f32>) -> !tsr.tensor<[batch: 4], f32>
    %f = tsr.mul %e, %three : (!tsr.tensor<[batch: 4], f32>, !tsr.tensor<[], f32>) -> !tsr.tensor<[batch: 4], f32>
    %g = tsr.div %x, %tiny : (!tsr.tensor<[batch: 4], f32>, !tsr.tensor<[], f32>) -> !tsr.tensor<[batch: 4], f32>
    %h = tsr.div %x, %huge : (!tsr.tensor<[batch: 4], f32>, !tsr.tensor<[], f32>) -> !tsr.tensor<[batch: 4], f32>
    return %b, %d, %f, %g, %h : !tsr.tensor<[batch: 4], f32>, !tsr.tensor<[batch: 4], f32>, !tsr.tensor<[batch: 4], f32>, !tsr.tensor<[batch: 4], f32>, !tsr.tensor<[batch: 4], f32>
  }
}
