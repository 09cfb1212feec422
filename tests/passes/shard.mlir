// RUN: tessera-opt %s --split-input-file --tsr-shard | FileCheck %s --check-prefix=SHARD
// RUN: tessera-opt %s --split-input-file --tsr-shard --tsr-partition --tsr-simplify | FileCheck %s --check-prefix=WIDE
// RUN: tessera-opt %s --split-input-file --tsr-shard --tsr-partition --tsr-localize --tsr-simplify | FileCheck %s --check-prefix=LOCAL

// Megatron's split of a multi-layer perceptron: columns, then rows, then one all-reduce.
// SHARD-LABEL: func.func @step
// SHARD: tsr.contract %arg0, %arg1 over [embed] {tsr.sharding = {batch = "data", ff = "tensor"}}
// SHARD: tsr.contract {{.*}} over [ff] {tsr.sharding = {batch = "data", ff = "tensor"}}
// WIDE-LABEL: func.func @step(%arg0: !tsr.tensor<[data: 2, batch: 2, embed: 3], f32>
// WIDE-SAME: %arg1: !tsr.tensor<[tensor: 2, embed: 3, ff: 3], f32>
// WIDE: %[[H:.*]] = tsr.contract %arg0, %arg1 over [embed] {{.*}} -> !tsr.tensor<[data: 2, tensor: 2, batch: 2, ff: 3], f32>
// WIDE: %[[P:.*]] = tsr.contract {{.*}} over [ff] {{.*}} -> !tsr.tensor<[data: 2, tensor: 2, batch: 2, embed: 3], f32>
// WIDE: tsr.reduce sum %[[P]] over [tensor]
// LOCAL-LABEL: func.func @step(%arg0: !tsr.tensor<[batch: 2, embed: 3], f32>
// LOCAL: %[[P:.*]] = tsr.contract {{.*}} over [ff] {{.*}} -> !tsr.tensor<[batch: 2, embed: 3], f32>
// LOCAL: %[[S:.*]] = tsr.start all_gather %[[P]] along tensor
// LOCAL: %[[W:.*]] = tsr.wait %[[S]] sent %[[P]]
// LOCAL: tsr.reduce sum %[[W]] over [tensor]
module attributes {tsr.axes = ["batch", "embed", "ff"], tsr.phase = "optimize", tsr.mesh = [#tsr.axis<data: 2>, #tsr.axis<tensor: 2>],
    tsr.shard = {batch = "data", ff = "tensor"}} {
  tsr.state @up "weight" !tsr.tensor<[embed: 3, ff: 6], f32>
  tsr.state @down "weight" !tsr.tensor<[embed: 3, ff: 6], f32>
  func.func @step(%x: !tsr.tensor<[batch: 4, embed: 3], f32> {tsr.input = {name = "x", role = "data"}},
      %up: !tsr.tensor<[embed: 3, ff: 6], f32> {tsr.state = @up},
      %down: !tsr.tensor<[embed: 3, ff: 6], f32> {tsr.state = @down})
      -> (!tsr.tensor<[batch: 4, embed: 3], f32> {tsr.output = {name = "y", role = "prediction"}}) {
    %h = tsr.contract %x, %up over [embed] : (!tsr.tensor<[batch: 4, embed: 3], f32>, !tsr.tensor<[embed: 3, ff: 6], f32>) -> !tsr.tensor<[batch: 4, ff: 6], f32>
    %g = tsr.tanh %h : !tsr.tensor<[batch: 4, ff: 6], f32>
    %y = tsr.contract %g, %down over [ff] : (!tsr.tensor<[batch: 4, ff: 6], f32>, !tsr.tensor<[embed: 3, ff: 6], f32>) -> !tsr.tensor<[batch: 4, embed: 3], f32>
    return %y : !tsr.tensor<[batch: 4, embed: 3], f32>
  }
}

// -----

// A divided moment has its update divided; the gradient is scattered as it is reduced, and the weight is gathered.
// SHARD-LABEL: func.func @step
// SHARD: tsr.mul %arg2, {{.*}} {tsr.sharding = {out = "data"}}
// SHARD: tsr.add {{.*}} {tsr.sharding = {out = "data"}}
// LOCAL-LABEL: func.func @step
// LOCAL: tsr.contract %arg0, %arg3 over [batch] {{.*}} -> !tsr.tensor<[in: 3, out: 4], f32>
// LOCAL: tsr.start all_to_all
// LOCAL: tsr.wait
// LOCAL: tsr.reduce sum {{.*}} over [data] : {{.*}}[data: 2, in: 3, out: 2]
// LOCAL: tsr.start all_gather
// LOCAL: return {{.*}} : !tsr.tensor<[in: 3, out: 4], f32>, !tsr.tensor<[in: 3, out: 2], f32>
module attributes {tsr.axes = ["batch", "in", "out"], tsr.phase = "optimize", tsr.mesh = [#tsr.axis<data: 2>], tsr.shard = {batch = "data"}} {
  tsr.state @w "weight" !tsr.tensor<[in: 3, out: 4], f32>
  tsr.state @w.m "moment" !tsr.tensor<[in: 3, out: 4], f32> {tsr.sharding = {out = "data"}}
  func.func @step(%x: !tsr.tensor<[batch: 4, in: 3], f32> {tsr.input = {name = "x", role = "data"}},
      %w: !tsr.tensor<[in: 3, out: 4], f32> {tsr.state = @w}, %m: !tsr.tensor<[in: 3, out: 4], f32> {tsr.state = @w.m},
      %d: !tsr.tensor<[batch: 4, out: 4], f32> {tsr.input = {name = "d", role = "data"}})
      -> (!tsr.tensor<[in: 3, out: 4], f32> {tsr.state = @w}, !tsr.tensor<[in: 3, out: 4], f32> {tsr.state = @w.m}) {
    %g = tsr.contract %x, %d over [batch] : (!tsr.tensor<[batch: 4, in: 3], f32>, !tsr.tensor<[batch: 4, out: 4], f32>) -> !tsr.tensor<[in: 3, out: 4], f32>
    %c = tsr.constant 0.9
    %old = tsr.mul %m, %c : !tsr.tensor<[in: 3, out: 4], f32>, !tsr.tensor<[], f32>
    %m1 = tsr.add %old, %g : !tsr.tensor<[in: 3, out: 4], f32>
    %w1 = tsr.sub %w, %m1 : !tsr.tensor<[in: 3, out: 4], f32>
    return %w1, %m1 : !tsr.tensor<[in: 3, out: 4], f32>, !tsr.tensor<[in: 3, out: 4], f32>
  }
}

// -----

// Two projections of one input: the gradients that come back through them are added before they are reduced, once. One of them is renamed.
// WIDE-LABEL: func.func @step
// WIDE: %[[K:.*]] = tsr.rename {{.*}} [key] to [seq]
// WIDE: %[[SUM:.*]] = tsr.add {{.*}}, %[[K]]
// WIDE: tsr.reduce sum %[[SUM]] over [tensor]
// WIDE-NOT: tsr.reduce
module attributes {tsr.axes = ["seq", "key", "head", "embed"], tsr.phase = "optimize", tsr.mesh = [#tsr.axis<tensor: 2>], tsr.shard = {head = "tensor"}} {
  tsr.state @q "weight" !tsr.tensor<[head: 4, embed: 3], f32>
  tsr.state @k "weight" !tsr.tensor<[head: 4, embed: 3], f32>
  func.func @step(%dq: !tsr.tensor<[seq: 5, head: 4], f32> {tsr.input = {name = "dq", role = "data"}},
      %dk: !tsr.tensor<[key: 5, head: 4], f32> {tsr.input = {name = "dk", role = "data"}},
      %q: !tsr.tensor<[head: 4, embed: 3], f32> {tsr.state = @q}, %k: !tsr.tensor<[head: 4, embed: 3], f32> {tsr.state = @k})
      -> (!tsr.tensor<[seq: 5, embed: 3], f32> {tsr.output = {name = "dx", role = "prediction"}}) {
    %a = tsr.contract %dq, %q over [head] : (!tsr.tensor<[seq: 5, head: 4], f32>, !tsr.tensor<[head: 4, embed: 3], f32>) -> !tsr.tensor<[seq: 5, embed: 3], f32>
    %b = tsr.contract %dk, %k over [head] : (!tsr.tensor<[key: 5, head: 4], f32>, !tsr.tensor<[head: 4, embed: 3], f32>) -> !tsr.tensor<[key: 5, embed: 3], f32>
    %c = tsr.rename %b [key] to [seq] : !tsr.tensor<[key: 5, embed: 3], f32> -> !tsr.tensor<[seq: 5, embed: 3], f32>
    %dx = tsr.add %a, %c : !tsr.tensor<[seq: 5, embed: 3], f32>
    return %dx : !tsr.tensor<[seq: 5, embed: 3], f32>
  }
}
