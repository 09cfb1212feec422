// RUN: tessera-opt %s --split-input-file --verify-diagnostics --tsr-shard --tsr-partition

// expected-error@+1 {{`batch` is laid along `pipe`, which the mesh lacks; it has data}}
module attributes {tsr.axes = ["batch"], tsr.phase = "optimize", tsr.mesh = [#tsr.axis<data: 2>], tsr.shard = {batch = "pipe"}} {}

// -----

// expected-error@+1 {{the mesh axis `data` is an axis of the program: rename it}}
module attributes {tsr.axes = ["data"], tsr.phase = "optimize", tsr.mesh = [#tsr.axis<data: 2>]} {}

// -----

// expected-error@+1 {{`w` is to be divided along `head`, an axis that it lacks: it has in, out}}
module attributes {tsr.axes = ["in", "out"], tsr.phase = "optimize", tsr.mesh = [#tsr.axis<data: 2>]} {
  tsr.state @w "weight" !tsr.tensor<[in: 3, out: 4], f32> {tsr.sharding = {head = "data"}}
}

// -----

// expected-error@+1 {{`w` is to be divided along `out` and along `in`, both laid along `data`: a mesh axis divides one axis}}
module attributes {tsr.axes = ["in", "out"], tsr.phase = "optimize", tsr.mesh = [#tsr.axis<data: 2>]} {
  tsr.state @w "weight" !tsr.tensor<[in: 3, out: 4], f32> {tsr.sharding = {in = "data", out = "data"}}
}

// -----

// expected-error@+1 {{`w` is to be divided along `in`, laid along both `data` and `tensor`: an axis is divided along one}}
module attributes {tsr.axes = ["in", "out"], tsr.phase = "optimize", tsr.mesh = [#tsr.axis<data: 2>, #tsr.axis<tensor: 2>],
    tsr.shard_states = [{path = "w", axis = "in", along = "data"}, {path = "*", axis = "in", along = "tensor"}]} {
  tsr.state @w "weight" !tsr.tensor<[in: 3, out: 4], f32>
}

// -----

// expected-error@+1 {{`in` is laid along `data`, but has 3 elements for 4 ranks}}
module attributes {tsr.axes = ["in"], tsr.phase = "optimize", tsr.mesh = [#tsr.axis<data: 4>], tsr.shard = {in = "data"}} {
  func.func @step(%x: !tsr.tensor<[in: 3], f32> {tsr.input = {name = "x", role = "data"}}) -> !tsr.tensor<[in: 3], f32> {
    return %x : !tsr.tensor<[in: 3], f32>
  }
}

// -----

// expected-error@+1 {{nothing is laid along the mesh axis `tensor`: add --shard AXIS=tensor, with one of the axes in, out}}
module attributes {tsr.axes = ["in", "out"], tsr.phase = "optimize", tsr.mesh = [#tsr.axis<data: 2>, #tsr.axis<tensor: 2>],
    tsr.shard_states = [{path = "w", axis = "in", along = "data"}]} {
  tsr.state @w "weight" !tsr.tensor<[in: 3, out: 4], f32>
}

// -----

// expected-error@+1 {{ZeRO divides state among ranks that the batch is divided among, but no mesh axis has the batch laid along it}}
module attributes {tsr.axes = ["in", "out"], tsr.phase = "optimize", tsr.mesh = [#tsr.axis<data: 2>], tsr.zero = 1 : i64,
    tsr.shard_states = [{path = "w", axis = "in", along = "data"}]} {
  tsr.state @w "weight" !tsr.tensor<[in: 3, out: 4], f32>
}

// -----

// expected-error@+1 {{`tensor` is laid along `in`, but `tensor` is the axis of the mesh: write in=tensor}}
module attributes {tsr.axes = ["in", "out"], tsr.phase = "optimize", tsr.mesh = [#tsr.axis<tensor: 2>], tsr.shard = {tensor = "in"}} {
  tsr.state @w "weight" !tsr.tensor<[in: 3, out: 4], f32>
}

// -----

// A pattern is about the states that have the axis. A path is about its state.
// expected-error@+1 {{no state that `b.*` matches has the axis `out`}}
module attributes {tsr.axes = ["in", "out"], tsr.phase = "optimize", tsr.mesh = [#tsr.axis<tensor: 2>],
    tsr.shard_states = [{path = "**", axis = "out", along = "tensor"}, {path = "b.*", axis = "out", along = "tensor"}]} {
  tsr.state @w "weight" !tsr.tensor<[in: 3, out: 4], f32>
  tsr.state @b.c "bias" !tsr.tensor<[in: 3], f32>
}

// -----

// expected-error@+1 {{no state has a path that `v` matches; the parameters are w, b}}
module attributes {tsr.axes = ["in", "out"], tsr.phase = "optimize", tsr.mesh = [#tsr.axis<tensor: 2>],
    tsr.shard_states = [{path = "v", axis = "out", along = "tensor"}]} {
  tsr.state @w "weight" !tsr.tensor<[in: 3, out: 4], f32>
  tsr.state @b "bias" !tsr.tensor<[in: 3], f32>
}
