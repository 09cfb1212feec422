// RUN: tessera-opt %s --split-input-file --tsr-shard -verify-diagnostics | FileCheck %s

// A plan is taken as it is, whatever the search would find; the other functions follow its states.
// CHECK: tsr.found_sharding = {bound = 1.000000e+00 : f64, bytes = 3.000000e+00 : f64, seconds = 2.000000e+00 : f64}
// CHECK: tsr.mesh = [#tsr.axis<odd: 2>]
// CHECK-NOT: tsr.plan
// CHECK: tsr.state @w "weight" {{.*}} {tsr.sharding = {out = "odd"}}
// CHECK: func.func @step(%{{.*}}role = "data"}, tsr.sharding = {}}
// CHECK: tsr.contract {{.*}} {tsr.sharding = {out = "odd"}}
// CHECK: func.func @evaluate
// CHECK-SAME: tsr.sharding = {out = "odd"}
module attributes {tsr.axes = ["batch", "in", "out"], tsr.phase = "optimize", tsr.devices = 2 : i64,
    tsr.plan = {found = {bound = 1.0, bytes = 3.0, seconds = 2.0}, mesh = [#tsr.axis<odd: 2>], states = [["w", "in: 8, out: 8 = odd"]],
                inputs = [["x", "batch: 8, in: 8"]], ops = [["m.tsr:3:1 contract", "batch: 8, out: 8 = odd, in: 8"]]}} {
  tsr.state @w "weight" !tsr.tensor<[in: 8, out: 8], f32>
  func.func @step(%x: !tsr.tensor<[batch: 8, in: 8], f32> {tsr.input = {name = "x", role = "data"}}, %w: !tsr.tensor<[in: 8, out: 8], f32> {tsr.state = @w})
      -> (!tsr.tensor<[batch: 8, out: 8], f32> {tsr.output = {name = "y", role = "prediction"}}) {
    %y = tsr.contract %x, %w over [in] : (!tsr.tensor<[batch: 8, in: 8], f32>, !tsr.tensor<[in: 8, out: 8], f32>) -> !tsr.tensor<[batch: 8, out: 8], f32>
    return %y : !tsr.tensor<[batch: 8, out: 8], f32>
  }
  func.func @evaluate(%w: !tsr.tensor<[in: 8, out: 8], f32> {tsr.state = @w}) {
    return
  }
}

// -----

// expected-error @below {{the axis `batch` has 8 elements now, and had 16}}
module attributes {tsr.axes = ["batch", "in"], tsr.phase = "optimize", tsr.devices = 2 : i64,
    tsr.plan = {found = {bound = 1.0, bytes = 3.0, seconds = 2.0}, mesh = [#tsr.axis<odd: 2>], states = [], inputs = [["x", "batch: 16 = odd, in: 8"]],
                ops = [["neg", "batch: 16 = odd, in: 8"]]}} {
  func.func @step(%x: !tsr.tensor<[batch: 8, in: 8], f32> {tsr.input = {name = "x", role = "data"}})
      -> (!tsr.tensor<[batch: 8, in: 8], f32> {tsr.output = {name = "y", role = "prediction"}}) {
    %y = tsr.neg %x : !tsr.tensor<[batch: 8, in: 8], f32>
    return %y : !tsr.tensor<[batch: 8, in: 8], f32>
  }
}

// -----

// What was edited must be possible.
// expected-error @below {{divides two axes}}
module attributes {tsr.axes = ["batch", "in"], tsr.phase = "optimize", tsr.devices = 2 : i64,
    tsr.plan = {found = {bound = 1.0, bytes = 3.0, seconds = 2.0}, mesh = [#tsr.axis<odd: 2>], states = [], inputs = [["x", "batch: 16, in: 8"]],
                ops = [["neg", "batch: 16 = odd, in: 8 = odd"]]}} {
  func.func @step(%x: !tsr.tensor<[batch: 16, in: 8], f32> {tsr.input = {name = "x", role = "data"}})
      -> (!tsr.tensor<[batch: 16, in: 8], f32> {tsr.output = {name = "y", role = "prediction"}}) {
    %y = tsr.neg %x : !tsr.tensor<[batch: 16, in: 8], f32>
    return %y : !tsr.tensor<[batch: 16, in: 8], f32>
  }
}

// -----

// expected-error @below {{the mesh axis `in` is an axis of the program: rename it}}
module attributes {tsr.axes = ["batch", "in"], tsr.phase = "optimize", tsr.devices = 2 : i64,
    tsr.plan = {found = {bound = 1.0, bytes = 3.0, seconds = 2.0}, mesh = [#tsr.axis<in: 2>], states = [], inputs = [["x", "batch: 16, in: 8"]],
                ops = [["neg", "batch: 16 = in, in: 8"]]}} {
  func.func @step(%x: !tsr.tensor<[batch: 16, in: 8], f32> {tsr.input = {name = "x", role = "data"}})
      -> (!tsr.tensor<[batch: 16, in: 8], f32> {tsr.output = {name = "y", role = "prediction"}}) {
    %y = tsr.neg %x : !tsr.tensor<[batch: 16, in: 8], f32>
    return %y : !tsr.tensor<[batch: 16, in: 8], f32>
  }
}

// -----

// What the user names is named so in the plan, too.
// expected-error @below {{its mesh does not have the axes that --mesh, --shard and --zero name}}
module attributes {tsr.axes = ["batch", "in"], tsr.phase = "optimize", tsr.devices = 2 : i64, tsr.shard = {in = "tensor"},
    tsr.plan = {found = {bound = 1.0, bytes = 3.0, seconds = 2.0}, mesh = [#tsr.axis<odd: 2>], states = [], inputs = [["x", "batch: 16, in: 8"]],
                ops = [["neg", "batch: 16 = odd, in: 8"]]}} {
  func.func @step(%x: !tsr.tensor<[batch: 16, in: 8], f32> {tsr.input = {name = "x", role = "data"}})
      -> (!tsr.tensor<[batch: 16, in: 8], f32> {tsr.output = {name = "y", role = "prediction"}}) {
    %y = tsr.neg %x : !tsr.tensor<[batch: 16, in: 8], f32>
    return %y : !tsr.tensor<[batch: 16, in: 8], f32>
  }
}

// -----

// expected-error @below {{`tsr.plan` is malformed}}
module attributes {tsr.axes = ["batch"], tsr.phase = "optimize", tsr.devices = 2 : i64, tsr.plan = {mesh = [#tsr.axis<odd: 2>]}} {
  func.func @step(%x: !tsr.tensor<[batch: 16], f32> {tsr.input = {name = "x", role = "data"}})
      -> (!tsr.tensor<[batch: 16], f32> {tsr.output = {name = "y", role = "prediction"}}) {
    %y = tsr.neg %x : !tsr.tensor<[batch: 16], f32>
    return %y : !tsr.tensor<[batch: 16], f32>
  }
}
