// RUN: tessera-opt %s --split-input-file --verify-diagnostics --tsr-shard --tsr-partition

// expected-error@+1 {{`batch` is laid along `pipe`, which the mesh lacks}}
module attributes {tsr.axes = ["batch"], tsr.phase = "optimize", tsr.mesh = [#tsr.axis<data: 2>], tsr.shard = {batch = "pipe"}} {}

// -----

// expected-error@+1 {{the mesh axis `data` is an axis of the program: rename it}}
module attributes {tsr.axes = ["data"], tsr.phase = "optimize", tsr.mesh = [#tsr.axis<data: 2>]} {}

// -----

module attributes {tsr.axes = ["in", "out"], tsr.phase = "optimize", tsr.mesh = [#tsr.axis<data: 2>]} {
  // expected-error@+1 {{`w` has no axis `head`, but '!tsr.tensor<[in: 3, out: 4], f32>'}}
  tsr.state @w "weight" !tsr.tensor<[in: 3, out: 4], f32> {tsr.sharding = {head = "data"}}
}

// -----

module attributes {tsr.axes = ["in", "out"], tsr.phase = "optimize", tsr.mesh = [#tsr.axis<data: 2>]} {
  // expected-error@+1 {{`w` has both `in` and `out` laid along `data`: a mesh axis divides one axis}}
  tsr.state @w "weight" !tsr.tensor<[in: 3, out: 4], f32> {tsr.sharding = {in = "data", out = "data"}}
}
