// RUN: tessera-opt %s --split-input-file --tsr-shard 2> %t.warnings | FileCheck %s
// RUN: FileCheck %s --check-prefix=WARNED < %t.warnings

// Rows of data are those that the data says, whatever axis of an input is the first one.
// CHECK: tsr.mesh = [#tsr.axis<data: 2>]
// CHECK: tsr.contract {{.*}} {tsr.sharding = {batch = "data"}}
module attributes {tsr.axes = ["batch", "in"], tsr.phase = "optimize", tsr.devices = 2 : i64, tsr.data = [{batch = ["batch"]}],
    tsr.device = {name = "x86", called = "slow", thread_f32_rate = 1.0e6, link_bandwidth.memory = 1.0e12, link_latency.memory = 1.0e-12}} {
  tsr.state @w "weight" !tsr.tensor<[in: 1], f32>
  func.func @step(%x: !tsr.tensor<[in: 1, batch: 64], f32> {tsr.input = {name = "x", role = "data"}},
      %w: !tsr.tensor<[in: 1], f32> {tsr.state = @w}) -> (!tsr.tensor<[batch: 64], f32> {tsr.output = {name = "y", role = "prediction"}}) {
    %y = tsr.contract %x, %w over [in] : (!tsr.tensor<[in: 1, batch: 64], f32>, !tsr.tensor<[in: 1], f32>) -> !tsr.tensor<[batch: 64], f32>
    return %y : !tsr.tensor<[batch: 64], f32>
  }
}

// -----

// A mesh axis that divides nothing. All axes are shorter than it.
// CHECK: tsr.mesh = [#tsr.axis<replica: 5>]
// WARNED: warning: the ranks along `replica` divide 0 % of the contractions of a step
// WARNED-NEXT: note: no axis of a contraction that may be divided has as many elements as there are ranks along `replica`: at most 3, for 5 ranks
// WARNED-NOT: note:
module attributes {tsr.axes = ["batch", "in"], tsr.phase = "optimize", tsr.devices = 5 : i64} {
  tsr.state @w "weight" !tsr.tensor<[in: 2], f32>
  func.func @step(%x: !tsr.tensor<[batch: 3, in: 2], f32> {tsr.input = {name = "x", role = "data"}},
      %w: !tsr.tensor<[in: 2], f32> {tsr.state = @w}) -> (!tsr.tensor<[batch: 3], f32> {tsr.output = {name = "y", role = "prediction"}}) {
    %y = tsr.contract %x, %w over [in] : (!tsr.tensor<[batch: 3, in: 2], f32>, !tsr.tensor<[in: 2], f32>) -> !tsr.tensor<[batch: 3], f32>
    return %y : !tsr.tensor<[batch: 3], f32>
  }
}

// -----

// Micro-batches of three rows for two ranks.
// CHECK: tsr.mesh = [#tsr.axis<replica: 2>]
// WARNED: warning: the ranks along `replica` divide 0 % of the contractions of a step
// WARNED-NEXT: note: micro-batches of 3 rows cannot be divided evenly among 2 ranks: choose `accumulate` so that they can
// WARNED-NEXT: note: the search for a sharding found none with which a step takes less time: fewer devices may do as well
module attributes {tsr.axes = ["batch", "in"], tsr.phase = "optimize", tsr.devices = 2 : i64, tsr.data = [{batch = ["batch"]}]} {
  tsr.state @w "weight" !tsr.tensor<[in: 2], f32>
  func.func @step(%x: !tsr.tensor<[batch: 6, in: 2], f32> {tsr.input = {name = "x", role = "data"}},
      %w: !tsr.tensor<[in: 2], f32> {tsr.state = @w}) -> (!tsr.tensor<[], f32> {tsr.output = {name = "loss", role = "loss"}}) {
    %zero = tsr.constant 0.0
    %blocks = tsr.split %x batch into [micro, batch] : !tsr.tensor<[batch: 6, in: 2], f32> -> !tsr.tensor<[micro: 2, batch: 3, in: 2], f32>
    %sum = tsr.repeat [micro: 2] index %i carry (%s = %zero : !tsr.tensor<[], f32>) slice (%rows = %blocks : !tsr.tensor<[micro: 2, batch: 3, in: 2], f32>) invariant (%v = %w : !tsr.tensor<[in: 2], f32>) -> (!tsr.tensor<[], f32>) {
      %y = tsr.contract %rows, %v over [in] : (!tsr.tensor<[batch: 3, in: 2], f32>, !tsr.tensor<[in: 2], f32>) -> !tsr.tensor<[batch: 3], f32>
      %l = tsr.reduce sum %y over [batch] : !tsr.tensor<[batch: 3], f32> -> !tsr.tensor<[], f32>
      %next = tsr.add %s, %l : !tsr.tensor<[], f32>
      tsr.yield %next : !tsr.tensor<[], f32>
    }
    return %sum : !tsr.tensor<[], f32>
  }
}

// -----

// `generate` goes over the places of the weight, so that it is whole; `step` divides them nevertheless.
// CHECK: tsr.mesh = [#tsr.axis<tensor: 2>]
// CHECK: tsr.state @w "weight" {{.*}} {tsr.sharding = {}}
// CHECK: tsr.contract {{.*}} {tsr.sharding = {place = "tensor"}}
module attributes {tsr.axes = ["place"], tsr.phase = "optimize", tsr.devices = 2 : i64,
    tsr.device = {name = "x86", called = "slow", thread_f32_rate = 1.0e6, link_bandwidth.memory = 1.0e12, link_latency.memory = 1.0e-12}} {
  tsr.state @w "weight" !tsr.tensor<[place: 64], f32>
  func.func @step(%w: !tsr.tensor<[place: 64], f32> {tsr.state = @w}) -> (!tsr.tensor<[place: 64], f32> {tsr.state = @w}) {
    %s = tsr.contract %w, %w over [place] : (!tsr.tensor<[place: 64], f32>, !tsr.tensor<[place: 64], f32>) -> !tsr.tensor<[], f32>
    %n = tsr.mul %w, %s : !tsr.tensor<[place: 64], f32>, !tsr.tensor<[], f32>
    return %n : !tsr.tensor<[place: 64], f32>
  }
  func.func @generate(%w: !tsr.tensor<[place: 64], f32> {tsr.state = @w}) -> (!tsr.tensor<[], f32> {tsr.output = {name = "y", role = "prediction"}}) {
    %zero = tsr.constant 0.0
    %sum = tsr.repeat [place: 64] index %i carry (%s = %zero : !tsr.tensor<[], f32>) slice (%p = %w : !tsr.tensor<[place: 64], f32>) -> (!tsr.tensor<[], f32>) {
      %next = tsr.add %s, %p : !tsr.tensor<[], f32>
      tsr.yield %next : !tsr.tensor<[], f32>
    }
    return %sum : !tsr.tensor<[], f32>
  }
}

// -----

// Another mesh than the one that is not to be taken, of four ranks; if there is no other, that one.
// CHECK: tsr.mesh = [#tsr.axis<{{[a-z]+}}: 2>, #tsr.axis<{{[a-z0-9]+}}: 2>]
module attributes {tsr.axes = ["batch", "in"], tsr.phase = "optimize", tsr.devices = 4 : i64, tsr.search_without = [array<i64: 4>]} {
  tsr.state @w "weight" !tsr.tensor<[in: 64], f32>
  func.func @step(%x: !tsr.tensor<[batch: 64, in: 64], f32> {tsr.input = {name = "x", role = "data"}},
      %w: !tsr.tensor<[in: 64], f32> {tsr.state = @w}) -> (!tsr.tensor<[batch: 64], f32> {tsr.output = {name = "y", role = "prediction"}}) {
    %y = tsr.contract %x, %w over [in] : (!tsr.tensor<[batch: 64, in: 64], f32>, !tsr.tensor<[in: 64], f32>) -> !tsr.tensor<[batch: 64], f32>
    return %y : !tsr.tensor<[batch: 64], f32>
  }
}

// -----

// CHECK: tsr.mesh = [#tsr.axis<{{[a-z]+}}: 2>]
module attributes {tsr.axes = ["batch", "in"], tsr.phase = "optimize", tsr.devices = 2 : i64, tsr.search_without = [array<i64: 2>]} {
  tsr.state @w "weight" !tsr.tensor<[in: 64], f32>
  func.func @step(%x: !tsr.tensor<[batch: 64, in: 64], f32> {tsr.input = {name = "x", role = "data"}},
      %w: !tsr.tensor<[in: 64], f32> {tsr.state = @w}) -> (!tsr.tensor<[batch: 64], f32> {tsr.output = {name = "y", role = "prediction"}}) {
    %y = tsr.contract %x, %w over [in] : (!tsr.tensor<[batch: 64, in: 64], f32>, !tsr.tensor<[in: 64], f32>) -> !tsr.tensor<[batch: 64], f32>
    return %y : !tsr.tensor<[batch: 64], f32>
  }
}
