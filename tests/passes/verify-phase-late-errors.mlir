// Ops that are gone after `layout` and after `fuse`.

// RUN: tessera-opt %s --split-input-file --tsr-verify-phase=phase=fuse --verify-diagnostics

func.func @step(%x: !tsr.tensor<[n: 4], f32>) -> !tsr.tensor<[n: 4], f32> {
  // expected-error @below {{must not exist after fuse}}
  %y = tsr.softmax %x over n : !tsr.tensor<[n: 4], f32>
  return %y : !tsr.tensor<[n: 4], f32>
}

// -----

func.func @step() -> !tsr.tensor<[], f32> {
  // expected-error @below {{must not exist after fuse}}
  %y = tsr.seed : !tsr.tensor<[], f32>
  return %y : !tsr.tensor<[], f32>
}
