// RUN: tessera-opt %s --split-input-file --verify-diagnostics --tsr-shard

// What a search is told is refused where it contradicts the program, in the words of shard-errors.mlir, or the number of devices.

// expected-error@+1 {{the mesh has 4 ranks, and --devices says 8: say the same number with both}}
module attributes {tsr.axes = ["in", "out"], tsr.phase = "optimize", tsr.devices = 8 : i64, tsr.mesh = [#tsr.axis<data: 2>, #tsr.axis<tensor: 2>]} {}

// -----

// expected-error@+1 {{expected lists of ranks in a list for `tsr.search_without`}}
module attributes {tsr.axes = ["in"], tsr.phase = "optimize", tsr.devices = 2 : i64, tsr.search_without = [2 : i64]} {}

// -----

// expected-error@+1 {{the mesh has 2 ranks, and --devices says 1: say the same number with both}}
module attributes {tsr.axes = ["in", "out"], tsr.phase = "optimize", tsr.devices = 1 : i64, tsr.mesh = [#tsr.axis<data: 2>]} {}

// -----

// expected-error@+1 {{--devices searches meshes with at most 4 axes, and the mesh has 5}}
module attributes {tsr.axes = ["in", "out"], tsr.phase = "optimize", tsr.devices = 32 : i64,
    tsr.mesh = [#tsr.axis<a: 2>, #tsr.axis<b: 2>, #tsr.axis<c: 2>, #tsr.axis<d: 2>, #tsr.axis<e: 2>]} {}

// -----

// expected-error@+1 {{axes are laid along the mesh axes a, b, c, and a mesh of 9 devices has at most 2 axes}}
module attributes {tsr.axes = ["in", "out"], tsr.phase = "optimize", tsr.devices = 9 : i64, tsr.shard = {in = "a", out = "b"},
    tsr.shard_states = [{path = "w", axis = "in", along = "c"}]} {}

// -----

// expected-error@+1 {{`batch` is laid along `pipe`, which the mesh lacks; it has data}}
module attributes {tsr.axes = ["batch"], tsr.phase = "optimize", tsr.devices = 2 : i64, tsr.mesh = [#tsr.axis<data: 2>], tsr.shard = {batch = "pipe"}} {}

// -----

// expected-error@+1 {{the mesh axis `in` is an axis of the program: rename it}}
module attributes {tsr.axes = ["in", "out"], tsr.phase = "optimize", tsr.devices = 2 : i64, tsr.shard = {out = "in"}} {}

// -----

// expected-error@+1 {{`in` is laid along `tensor`, but has 3 elements for 5 ranks}}
module attributes {tsr.axes = ["in"], tsr.phase = "optimize", tsr.devices = 5 : i64, tsr.shard = {in = "tensor"}} {
  func.func @step(%x: !tsr.tensor<[in: 3], f32> {tsr.input = {name = "x", role = "data"}}) -> !tsr.tensor<[in: 3], f32> {
    return %x : !tsr.tensor<[in: 3], f32>
  }
}

// -----

// expected-error@+1 {{ZeRO divides state among ranks that the batch is divided among, but no mesh axis has the batch laid along it: add an axis `data` to --mesh}}
module attributes {tsr.axes = ["in", "out"], tsr.phase = "optimize", tsr.devices = 2 : i64, tsr.mesh = [#tsr.axis<tensor: 2>], tsr.zero = 1 : i64,
    tsr.data = [{name = "d", batch = ["in", 4]}]} {
  tsr.state @w "weight" !tsr.tensor<[in: 3, out: 4], f32>
}

// -----

// expected-error@+1 {{`w` is to be divided along `out` and along `in`, both laid along `t`: a mesh axis divides one axis}}
module attributes {tsr.axes = ["in", "out"], tsr.phase = "optimize", tsr.devices = 2 : i64,
    tsr.shard_states = [{path = "w", axis = "in", along = "t"}, {path = "w", axis = "out", along = "t"}]} {
  tsr.state @w "weight" !tsr.tensor<[in: 3, out: 4], f32>
}

// -----

// Iterations of a repeat read what other ranks would have.
// expected-error@+1 {{`w` is to be divided along `layer`, which --devices cannot: it divides no axis of a repeat, and what the optimizer keeps for a parameter alike}}
module attributes {tsr.axes = ["layer", "in"], tsr.phase = "optimize", tsr.devices = 2 : i64,
    tsr.shard_states = [{path = "w", axis = "layer", along = "t"}]} {
  tsr.state @w "weight" !tsr.tensor<[layer: 4, in: 8], f32>
  func.func @step(%w: !tsr.tensor<[layer: 4, in: 8], f32> {tsr.state = @w}) -> (!tsr.tensor<[layer: 4, in: 8], f32> {tsr.state = @w}) {
    %y = tsr.repeat [layer: 4] index %i slice (%s = %w : !tsr.tensor<[layer: 4, in: 8], f32>) -> (!tsr.tensor<[layer: 4, in: 8], f32>) {
      %t = tsr.add %s, %s : !tsr.tensor<[in: 8], f32>
      tsr.yield %t : !tsr.tensor<[in: 8], f32>
    }
    return %y : !tsr.tensor<[layer: 4, in: 8], f32>
  }
}

// -----

// expected-error@+1 {{`layer` is laid along `t`, but no op or state that has it can be divided so}}
module attributes {tsr.axes = ["layer", "in"], tsr.phase = "optimize", tsr.devices = 2 : i64, tsr.shard = {layer = "t"}} {
  tsr.state @w "weight" !tsr.tensor<[layer: 4, in: 8], f32>
  func.func @step(%w: !tsr.tensor<[layer: 4, in: 8], f32> {tsr.state = @w}) -> (!tsr.tensor<[layer: 4, in: 8], f32> {tsr.state = @w}) {
    %y = tsr.repeat [layer: 4] index %i slice (%s = %w : !tsr.tensor<[layer: 4, in: 8], f32>) -> (!tsr.tensor<[layer: 4, in: 8], f32>) {
      %t = tsr.add %s, %s : !tsr.tensor<[in: 8], f32>
      tsr.yield %t : !tsr.tensor<[in: 8], f32>
    }
    return %y : !tsr.tensor<[layer: 4, in: 8], f32>
  }
}
