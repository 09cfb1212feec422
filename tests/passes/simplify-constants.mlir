// RUN: tessera-opt %s --tsr-simplify | FileCheck %s

// The cube of a constant: a product of products of constants, which must not be regrouped for ever.
module attributes {tsr.axes = ["batch"], tsr.phase = "parse"} {
  // CHECK-LABEL: func.func @evaluate
  func.func @evaluate() -> !tsr.tensor<[batch: 4], f32> {
    // CHECK-NEXT: tsr.constant 8.000000e+00
    // CHECK-NEXT: return
    %c = tsr.constant 2.0 : f32 -> !tsr.tensor<[batch: 4], f32>
    %three = tsr.constant 3.0 : f32 -> !tsr.tensor<[], f32>
    %y = tsr.pow %c, %three : (!tsr.tensor<[batch: 4], f32>, !tsr.tensor<[], f32>) -> !tsr.tensor<[batch: 4], f32>
    return %y : !tsr.tensor<[batch: 4], f32>
  }
}
