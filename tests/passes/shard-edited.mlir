// RUN: tessera-opt %s --split-input-file --verify-diagnostics --tsr-partition

// Modules that were edited by hand after `shard`.

module attributes {tsr.axes = ["in", "out"], tsr.phase = "shard", tsr.mesh = [#tsr.axis<data: 2>]} {
  // expected-error@+1 {{`tsr.sharding` divides the axis `bogus`, which '!tsr.tensor<[in: 4, out: 4], f32>' lacks}}
  tsr.state @w "weight" !tsr.tensor<[in: 4, out: 4], f32> {tsr.sharding = {bogus = "data"}}
}

// -----

module attributes {tsr.axes = ["in", "out"], tsr.phase = "shard", tsr.mesh = [#tsr.axis<data: 2>]} {
  // expected-error@+1 {{`tsr.sharding` divides the axis `out`, which '!tsr.tensor<[in: 4], f32>' lacks}}
  func.func @step(%x: !tsr.tensor<[in: 4], f32> {tsr.input = {name = "x", role = "data"}, tsr.sharding = {out = "data"}}) -> (!tsr.tensor<[in: 4], f32> {tsr.sharding = {}}) {
    return %x : !tsr.tensor<[in: 4], f32>
  }
}
