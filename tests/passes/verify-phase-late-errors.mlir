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

// -----

// Allocated sizes exist between the ops of a function: what files and callers see is dense.
// expected-error @below {{expected dense arguments and results, got '!tsr.tensor<[b: 2, n: 4 of 8], f32>'}}
func.func @step(%x: !tsr.tensor<[b: 2, n: 4 of 8], f32>) {
  return
}

// -----

// Adjacent iterations are adjacent in a stack.
func.func @step(%x: !tsr.tensor<[n: 4], f32>) {
  // expected-error @below {{expected `l` outermost in '!tsr.tensor<[l: 2 of 3, n: 4], f32>'}}
  %s = tsr.repeat [l: 2] index %i invariant (%v = %x : !tsr.tensor<[n: 4], f32>) -> (!tsr.tensor<[l: 2 of 3, n: 4], f32>) {
    tsr.yield %v : !tsr.tensor<[n: 4], f32>
  }
  return
}

// -----

// A split of padded rows whose outer part does not divide the allocated size has no strides.
func.func @step(%x: !tsr.tensor<[b: 2, n: 6], f32>) {
  %y = tsr.kernel "k" (%v = %x : !tsr.tensor<[b: 2, n: 6], f32>) parallel [b, n] vector n -> (!tsr.tensor<[b: 2, n: 6 of 8], f32>) {
    %r = tsr.add %v, %v : <[b: 2, n: 6], f32> -> <[b: 2, n: 6 of 8], f32>
    tsr.yield %r : !tsr.tensor<[b: 2, n: 6 of 8], f32>
  }
  // expected-error @below {{expected a view of its operand}}
  %z = tsr.split %y n into [p, q] : <[b: 2, n: 6 of 8], f32> -> <[b: 2, p: 2, q: 3], f32>
  return
}

// -----

module {
  // expected-error @below {{expected a dense state, got '!tsr.tensor<[b: 2, n: 4 of 8], f32>'}}
  tsr.state @w "weight" !tsr.tensor<[b: 2, n: 4 of 8], f32>
}
