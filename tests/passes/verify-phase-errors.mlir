// Ops that a phase introduces, before it; ops that a phase replaces, after it. Each case has one such op.

// RUN: tessera-opt %s --split-input-file --tsr-verify-phase=phase=differentiate --verify-diagnostics

func.func @step(%x: !tsr.tensor<[n: 4], f32>) -> !tsr.tensor<[n: 4], f32> {
  // expected-error @below {{must not exist before layout}}
  %y = tsr.reorder %x : !tsr.tensor<[n: 4], f32> -> !tsr.tensor<[n: 4], f32>
  return %y : !tsr.tensor<[n: 4], f32>
}

// -----

func.func @step(%x: !tsr.tensor<[n: 4], f32>) -> !tsr.tensor<[n: 4], f32> {
  // expected-error @below {{must not exist before fuse}}
  %y = tsr.kernel "k" (%v = %x : !tsr.tensor<[n: 4], f32>) parallel [n] vector n {
    %r = tsr.neg %v : <[n: 4], f32>
    tsr.yield %r : !tsr.tensor<[n: 4], f32>
  }
  return %y : !tsr.tensor<[n: 4], f32>
}

// -----

func.func @step(%x: !tsr.tensor<[b: 2, n: 4], f32>) -> !tsr.tensor<[b: 2, n: 4], f32> {
  // expected-error @below {{has allocated sizes before layout: '!tsr.tensor<[b: 2, n: 4 of 8], f32>'}}
  %y = tsr.add %x, %x : <[b: 2, n: 4], f32> -> <[b: 2, n: 4 of 8], f32>
  return %x : !tsr.tensor<[b: 2, n: 4], f32>
}

// -----

// expected-error @below {{`tsr.arena` must not exist before schedule}}
module attributes {tsr.arena = 64 : i64} {
}

// -----

func.func @step(%x: !tsr.tensor<[n: 4], f32>, %l: !tsr.tensor<[], f32>) -> !tsr.tensor<[], f32> {
  // expected-error @below {{must not exist after differentiate}}
  %y = tsr.gradient %l wrt(%l) : (!tsr.tensor<[], f32>, !tsr.tensor<[], f32>) -> !tsr.tensor<[], f32>
  return %y : !tsr.tensor<[], f32>
}

// -----

func.func @step(%x: !tsr.tensor<[n: 4], f32>) -> !tsr.tensor<[n: 4], f32> {
  // expected-error @below {{must not exist after differentiate}}
  %y = tsr.stop %x : !tsr.tensor<[n: 4], f32>
  return %y : !tsr.tensor<[n: 4], f32>
}

// -----

// A word that nobody knows is not the default.

// expected-error @below {{expected "library" for `tsr.reductions`, got "libary"}}
module attributes {tsr.axes = [], tsr.phase = "optimize", tsr.reductions = "libary"} {
}
