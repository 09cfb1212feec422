// RUN: tessera-opt %s --split-input-file --tsr-optimize --verify-diagnostics

// An update names an entry of the state table.
module attributes {tsr.axes = ["in"]} {
  func.func @step(%w: !tsr.tensor<[in: 4], f32> {tsr.state = @w}, %s: !tsr.tensor<[], i32>, %r: !tsr.tensor<[], f32>) -> !tsr.tensor<[in: 4], f32> {
    // expected-error @+1 {{no state is called `w`}}
    %n = tsr.update "sgd" @w %w gradient %w step %s norm %r arguments ["rate"](%r) : (!tsr.tensor<[in: 4], f32>, !tsr.tensor<[in: 4], f32>, !tsr.tensor<[], i32>, !tsr.tensor<[], f32>, !tsr.tensor<[], f32>) -> !tsr.tensor<[in: 4], f32>
    return %n : !tsr.tensor<[in: 4], f32>
  }
}
