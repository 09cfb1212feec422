// RUN: tessera-opt %s --tsr-differentiate --verify-diagnostics

// The loss is a float.
module attributes {tsr.axes = ["in"]} {
  func.func @loss(%n: !tsr.tensor<[], i32>, %x: !tsr.tensor<[in: 4], f32>) -> !tsr.tensor<[in: 4], f32> {
    // expected-error @+1 {{expected a loss of float type}}
    %d = tsr.gradient %n wrt(%x) : (!tsr.tensor<[], i32>, !tsr.tensor<[in: 4], f32>) -> !tsr.tensor<[in: 4], f32>
    return %d : !tsr.tensor<[in: 4], f32>
  }
}
