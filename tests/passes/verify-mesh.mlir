// RUN: tessera-opt %s --split-input-file --verify-diagnostics --tsr-verify-phase=phase=partition

// Modules that were edited by hand after `partition`.

// expected-error@+1 {{expected a list of axes with different names, of at most 2^20 ranks, for `tsr.mesh`, got [#tsr.axis<data: 1048577>]}}
module attributes {tsr.axes = ["data", "in"], tsr.phase = "partition", tsr.mesh = [#tsr.axis<data: 1048577>]} {
}

// -----

// expected-error@+1 {{expected a list of axes with different names, of at most 2^20 ranks, for `tsr.mesh`, got [#tsr.axis<data: 2>, #tsr.axis<data: 2>]}}
module attributes {tsr.axes = ["data", "in"], tsr.phase = "partition", tsr.mesh = [#tsr.axis<data: 2>, #tsr.axis<data: 2>]} {
}

// -----

module attributes {tsr.axes = ["data", "in"], tsr.phase = "partition", tsr.mesh = [#tsr.axis<data: 4>]} {
  // expected-error@+1 {{expected 4 elements along the mesh axis `data`, got '!tsr.tensor<[data: 2, in: 4], f32>'}}
  func.func @step(%x: !tsr.tensor<[data: 2, in: 4], f32> {tsr.input = {name = "x", role = "data"}}) -> !tsr.tensor<[data: 2, in: 4], f32> {
    return %x : !tsr.tensor<[data: 2, in: 4], f32>
  }
}

// -----

module attributes {tsr.axes = ["data", "in"], tsr.phase = "partition", tsr.mesh = [#tsr.axis<data: 2>]} {
  // expected-error@+1 {{is divided as `tsr.sharding` says, but `tsr.divided` does not say so}}
  tsr.state @w "weight" !tsr.tensor<[data: 2, in: 4], f32> {tsr.sharding = {in = "data"}}
}

// -----

// expected-error@+1 {{expected a number from 1 to 2^20 for `tsr.leaves`, got 0 : i64}}
module attributes {tsr.axes = ["data", "in"], tsr.phase = "partition", tsr.leaves = 0 : i64} {
}

// -----

// expected-error@+1 {{expected a number from 1 to 2^20 for `tsr.devices`, got -2 : i64}}
module attributes {tsr.axes = ["data", "in"], tsr.phase = "partition", tsr.devices = -2 : i64} {
}
