// RUN: tessera-opt %s --split-input-file --verify-diagnostics --tsr-partition

// What was edited by hand is checked.
module attributes {tsr.axes = ["a", "b"], tsr.phase = "optimize", tsr.mesh = [#tsr.axis<data: 2>]} {
  func.func @step(%x: !tsr.tensor<[a: 4], f32> {tsr.input = {name = "x", role = "data"}, tsr.sharding = {}})
      -> (!tsr.tensor<[a: 2], f32> {tsr.output = {name = "y", role = "prediction"}, tsr.sharding = {}}) {
    // expected-error@+1 {{'tsr.slice' op cannot be divided along `a`}}
    %y = tsr.slice %x a from 2 {tsr.sharding = {a = "data"}} : !tsr.tensor<[a: 4], f32> -> !tsr.tensor<[a: 2], f32>
    return %y : !tsr.tensor<[a: 2], f32>
  }
}

// -----

module attributes {tsr.axes = ["a", "b"], tsr.phase = "optimize", tsr.mesh = [#tsr.axis<data: 2>]} {
  func.func @step(%x: !tsr.tensor<[a: 4], f32> {tsr.input = {name = "x", role = "data"}, tsr.sharding = {}})
      -> (!tsr.tensor<[a: 4], f32> {tsr.output = {name = "y", role = "prediction"}, tsr.sharding = {}}) {
    // expected-error@+1 {{expected a mesh axis for `a`, got "pipe"}}
    %y = tsr.exp %x {tsr.sharding = {a = "pipe"}} : !tsr.tensor<[a: 4], f32>
    return %y : !tsr.tensor<[a: 4], f32>
  }
}

// -----

module attributes {tsr.axes = ["a", "b"], tsr.phase = "optimize", tsr.mesh = [#tsr.axis<data: 2>]} {
  // expected-error@+1 {{expected `tsr.sharding` to be a dictionary, got 3 : i64}}
  func.func @step(%x: !tsr.tensor<[a: 4], f32> {tsr.input = {name = "x", role = "data"}, tsr.sharding = 3 : i64})
      -> (!tsr.tensor<[a: 4], f32> {tsr.output = {name = "y", role = "prediction"}, tsr.sharding = {}}) {
    return %x : !tsr.tensor<[a: 4], f32>
  }
}
