// RUN: tessera-opt %s --split-input-file --tsr-shard | FileCheck %s

// ZeRO: of a moment the axis that two ranks divide evenly, else the largest; none of a repeat, of a scalar, or with too few elements. Parameters
// stay whole.
// CHECK: tsr.state @w "weight" {{.*}} {tsr.sharding = {}}
// CHECK: tsr.state @w.m "moment" {{.*}} {tsr.sharding = {in = "data"}}
// CHECK: tsr.state @odd.m "moment" {{.*}} {tsr.sharding = {out = "data"}}
// CHECK: tsr.state @stack.m "moment" {{.*}} {tsr.sharding = {in = "data"}}
// CHECK: tsr.state @scalar.m "moment" {{.*}} {tsr.sharding = {}}
// CHECK: tsr.state @step "counter" {{.*}} {tsr.sharding = {}}
// CHECK: tsr.state @running "state" {{.*}} {tsr.sharding = {}}
module attributes {tsr.axes = ["layer", "batch", "in", "out"], tsr.phase = "optimize", tsr.mesh = [#tsr.axis<data: 2>],
    tsr.shard = {batch = "data"}, tsr.zero = 1 : i64, tsr.data = [{name = "d", batch = ["batch", 4]}]} {
  tsr.state @w "weight" !tsr.tensor<[in: 4, out: 5], f32>
  tsr.state @w.m "moment" !tsr.tensor<[in: 4, out: 5], f32>
  tsr.state @odd.m "moment" !tsr.tensor<[in: 3, out: 5], f32>
  tsr.state @stack.m "moment" !tsr.tensor<[layer: 8, in: 4], f32>
  tsr.state @scalar.m "moment" !tsr.tensor<[], f32>
  tsr.state @step "counter" !tsr.tensor<[], i32>
  tsr.state @running "state" !tsr.tensor<[in: 4], f32>
  func.func @step(%x: !tsr.tensor<[batch: 4, in: 4], f32> {tsr.input = {name = "x", role = "data"}},
      %m: !tsr.tensor<[layer: 8, in: 4], f32> {tsr.state = @stack.m}) -> !tsr.tensor<[layer: 8, in: 4], f32> {
    %y = tsr.repeat [layer: 8] index %i slice (%s = %m : !tsr.tensor<[layer: 8, in: 4], f32>) -> (!tsr.tensor<[layer: 8, in: 4], f32>) {
      %t = tsr.add %s, %s : !tsr.tensor<[in: 4], f32>
      tsr.yield %t : !tsr.tensor<[in: 4], f32>
    }
    return %y : !tsr.tensor<[layer: 8, in: 4], f32>
  }
}

// -----

// Weights too, along both axes of data; an axis that is divided already is not taken again. What a path says comes before what an axis says, and
// the optimizer's state of a parameter follows it.
// CHECK: tsr.state @w "weight" {{.*}} {tsr.sharding = {in = "data", out = "tensor"}}
// CHECK: tsr.state @w.m "moment" {{.*}} {tsr.sharding = {in = "data", out = "tensor"}}
// CHECK: tsr.state @head.w "weight" {{.*}} {tsr.sharding = {in = "tensor", out = "data"}}
// CHECK: tsr.state @head.w.v "moment" {{.*}} {tsr.sharding = {in = "tensor", out = "data"}}
module attributes {tsr.axes = ["batch", "in", "out"], tsr.phase = "optimize", tsr.mesh = [#tsr.axis<data: 2>, #tsr.axis<tensor: 2>],
    tsr.shard = {batch = "data", out = "tensor"}, tsr.shard_states = [{path = "head.*", axis = "in", along = "tensor"}],
    tsr.zero = 3 : i64, tsr.data = [{name = "d", batch = ["batch", 4]}]} {
  tsr.state @w "weight" !tsr.tensor<[in: 4, out: 4], f32>
  tsr.state @w.m "moment" !tsr.tensor<[in: 4, out: 4], f32>
  tsr.state @head.w "weight" !tsr.tensor<[in: 4, out: 4], f32>
  tsr.state @head.w.v "moment" !tsr.tensor<[in: 4, out: 4], f32>
  func.func @step(%x: !tsr.tensor<[batch: 4, in: 4], f32> {tsr.input = {name = "x", role = "data"}}, %w: !tsr.tensor<[in: 4, out: 4], f32> {tsr.state = @w})
      -> !tsr.tensor<[in: 4, out: 4], f32> {
    return %w : !tsr.tensor<[in: 4, out: 4], f32>
  }
}
