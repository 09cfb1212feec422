// RUN: tessera-opt %s --split-input-file --tsr-shard --tsr-partition --tsr-simplify | FileCheck %s
// RUN: tessera-opt %s --split-input-file --tsr-shard --tsr-partition --tsr-localize --tsr-simplify | FileCheck %s --check-prefix=LOCAL

// A gradient that is accumulated over micro-batches is summed over ranks once, after them, and so is the loss. Ranks have
// a part of each micro-batch: nothing is gathered.
// CHECK-LABEL: func.func @step
// CHECK-SAME: %arg0: !tsr.tensor<[data: 2, batch: 12, in: 3], f32> {{.*}}divided = {batch = {along = "data", blocks = 4 : i64, whole = 24 : i64}}
// CHECK: tsr.split %arg0 batch into [micro, batch] {{.*}} -> <[data: 2, micro: 4, batch: 3, in: 3], f32>
// CHECK-NOT: tsr.reduce
// CHECK: tsr.repeat [micro: 4] {{.*}} carry (%[[ACC:.*]] = %{{.*}} : !tsr.tensor<[data: 2, in: 3, out: 2], f32>)
// CHECK: %[[G:.*]] = tsr.contract {{.*}} over [batch]
// CHECK: tsr.add %[[ACC]], %[[G]]
// CHECK-NOT: over [data]
// CHECK: tsr.yield
// CHECK: tsr.reduce sum %{{.*}}#0 over [data] : <[data: 2, in: 3, out: 2], f32>
// CHECK: %[[L:.*]] = tsr.reduce sum %{{.*}}#1 over [micro] : <[data: 2, micro: 4], f32>
// CHECK: tsr.reduce sum %[[L]] over [data]
// LOCAL-LABEL: func.func @step
// LOCAL-SAME: %arg0: !tsr.tensor<[batch: 12, in: 3], f32>
// LOCAL-NOT: tsr.start
// LOCAL: tsr.repeat
// LOCAL-NOT: tsr.start
// LOCAL: tsr.yield
// LOCAL: tsr.start
!x = !tsr.tensor<[batch: 24, in: 3], f32>
!d = !tsr.tensor<[batch: 24, out: 2], f32>
!w = !tsr.tensor<[in: 3, out: 2], f32>
module attributes {tsr.axes = ["micro", "batch", "in", "out"], tsr.phase = "optimize", tsr.mesh = [#tsr.axis<data: 2>], tsr.shard = {batch = "data"}} {
  func.func @step(%x: !x {tsr.input = {name = "x", role = "data"}}, %d: !d {tsr.input = {name = "d", role = "data"}})
      -> (!w {tsr.output = {name = "g", role = "metric"}}, !tsr.tensor<[], f32> {tsr.output = {name = "l", role = "loss"}}) {
    %xs = tsr.split %x batch into [micro, batch] : !x -> !tsr.tensor<[micro: 4, batch: 6, in: 3], f32>
    %ds = tsr.split %d batch into [micro, batch] : !d -> !tsr.tensor<[micro: 4, batch: 6, out: 2], f32>
    %zero = tsr.constant 0.0 : f32 -> !w
    %r:2 = tsr.repeat [micro: 4] index %i carry (%acc = %zero : !w)
        slice (%xm = %xs : !tsr.tensor<[micro: 4, batch: 6, in: 3], f32>, %dm = %ds : !tsr.tensor<[micro: 4, batch: 6, out: 2], f32>)
        -> (!w, !tsr.tensor<[micro: 4], f32>) {
      %g = tsr.contract %xm, %dm over [batch] : (!tsr.tensor<[batch: 6, in: 3], f32>, !tsr.tensor<[batch: 6, out: 2], f32>) -> !w
      %next = tsr.add %acc, %g : !w
      %l = tsr.reduce sum %xm over [batch, in] : !tsr.tensor<[batch: 6, in: 3], f32>
      %c = tsr.constant 0.25
      %loss = tsr.mul %l, %c : !tsr.tensor<[], f32>
      tsr.yield %next, %loss : !w, !tsr.tensor<[], f32>
    }
    %loss = tsr.reduce sum %r#1 over [micro] : !tsr.tensor<[micro: 4], f32>
    return %r#0, %loss : !w, !tsr.tensor<[], f32>
  }
}

// -----

// The gradients of layers that a repeat inside stacks are not summed in it. One that it accumulates is not either. What
// does not begin with zeros is.
// CHECK-LABEL: func.func @step
// CHECK: tsr.repeat [micro: 2]
// CHECK: tsr.repeat [layer: 3] {{.*}} -> (!tsr.tensor<[data: 2, in: 3], f32>, !tsr.tensor<[data: 2, layer: 3, in: 3], f32>)
// CHECK-NOT: over [data]
// CHECK: tsr.reduce sum {{.*}} over [data] : <[data: 2, in: 3], f32>
// CHECK-NOT: over [data]
// CHECK: tsr.yield
// CHECK: }
// CHECK-DAG: tsr.reduce sum {{.*}} over [data] : <[data: 2, in: 3], f32>
// CHECK-DAG: tsr.reduce sum {{.*}} over [data] : <[data: 2, layer: 3, in: 3], f32>
// CHECK-NOT: over [data]
!x = !tsr.tensor<[micro: 2, batch: 4, in: 3], f32>
!b = !tsr.tensor<[batch: 4, in: 3], f32>
!g = !tsr.tensor<[in: 3], f32>
!w = !tsr.tensor<[layer: 3, in: 3], f32>
module attributes {tsr.axes = ["layer", "micro", "batch", "in"], tsr.phase = "optimize", tsr.mesh = [#tsr.axis<data: 2>], tsr.shard = {batch = "data"}} {
  func.func @step(%x: !x {tsr.input = {name = "x", role = "data"}}, %w: !w {tsr.state = @w}, %start: !g {tsr.input = {name = "s", role = "data"}})
      -> (!g {tsr.output = {name = "g", role = "metric"}}, !w {tsr.output = {name = "h", role = "metric"}}, !g {tsr.output = {name = "s", role = "metric"}}) {
    %zero = tsr.constant 0.0 : f32 -> !g
    %zeros = tsr.constant 0.0 : f32 -> !w
    %r:3 = tsr.repeat [micro: 2] index %i carry (%a = %zero : !g, %c = %zeros : !w, %s = %start : !g) slice (%xm = %x : !x)
        invariant (%wm = %w : !w) -> (!g, !w, !g) {
      %z = tsr.constant 0.0 : f32 -> !g
      %q:2 = tsr.repeat [layer: 3] index %j carry (%e = %z : !g) slice (%v = %wm : !w) invariant (%xi = %xm : !b) -> (!g, !w) {
        %p = tsr.mul %xi, %v : !b, !g
        %g = tsr.reduce sum %p over [batch] : !b
        %t = tsr.tanh %p : !b
        %f = tsr.reduce sum %t over [batch] : !b
        %n = tsr.add %e, %f : !g
        tsr.yield %n, %g : !g, !g
      }
      %u = tsr.sin %xm : !b
      %y = tsr.reduce sum %u over [batch] : !b
      %a1 = tsr.add %a, %q#0 : !g
      %c1 = tsr.add %c, %q#1 : !w
      %s1 = tsr.add %s, %y : !g
      tsr.yield %a1, %c1, %s1 : !g, !w, !g
    }
    return %r#0, %r#1, %r#2 : !g, !w, !g
  }
  tsr.state @w "weight" !w
}

// -----

// Without a sum around it, the gradient of a layer is summed in the repeat: it can be exchanged while the next is
// computed.
// CHECK-LABEL: func.func @step
// CHECK: tsr.repeat [layer: 3]
// CHECK: tsr.reduce sum {{.*}} over [data]
// CHECK: tsr.yield
// CHECK-NOT: over [data]
!b = !tsr.tensor<[batch: 4, in: 3], f32>
!g = !tsr.tensor<[in: 3], f32>
!w = !tsr.tensor<[layer: 3, in: 3], f32>
module attributes {tsr.axes = ["layer", "batch", "in"], tsr.phase = "optimize", tsr.mesh = [#tsr.axis<data: 2>], tsr.shard = {batch = "data"}} {
  func.func @step(%x: !b {tsr.input = {name = "x", role = "data"}}, %w: !w {tsr.state = @w}) -> (!w {tsr.output = {name = "h", role = "metric"}}) {
    %q = tsr.repeat [layer: 3] index %j slice (%v = %w : !w) invariant (%xi = %x : !b) -> (!w) {
      %p = tsr.mul %xi, %v : !b, !g
      %t = tsr.tanh %p : !b
      %g = tsr.reduce sum %t over [batch] : !b
      tsr.yield %g : !g
    }
    return %q : !w
  }
  tsr.state @w "weight" !w
}

// -----

// Sums that are rounded to bf16 before they are added: the parts are added in f32, and the sum is rounded once.
// CHECK-LABEL: func.func @step
// CHECK: %[[A:.*]] = tsr.contract {{.*}} -> !tsr.tensor<[tensor: 2, seq: 5, embed: 3], f32>
// CHECK: %[[B:.*]] = tsr.contract {{.*}} -> !tsr.tensor<[tensor: 2, seq: 5, embed: 3], f32>
// CHECK: %[[S:.*]] = tsr.add %[[A]], %[[B]]
// CHECK: %[[R:.*]] = tsr.reduce sum %[[S]] over [tensor] : <[tensor: 2, seq: 5, embed: 3], f32>
// CHECK: %[[C:.*]] = tsr.cast %[[R]]
// CHECK: return %[[C]]
!d = !tsr.tensor<[seq: 5, head: 4], bf16>
!w = !tsr.tensor<[head: 4, embed: 3], bf16>
!h = !tsr.tensor<[seq: 5, embed: 3], bf16>
!f = !tsr.tensor<[seq: 5, embed: 3], f32>
module attributes {tsr.axes = ["seq", "head", "embed"], tsr.phase = "optimize", tsr.mesh = [#tsr.axis<tensor: 2>], tsr.shard = {head = "tensor"}} {
  tsr.state @q "weight" !w
  tsr.state @k "weight" !w
  func.func @step(%dq: !d {tsr.input = {name = "dq", role = "data"}}, %dk: !d {tsr.input = {name = "dk", role = "data"}},
      %q: !w {tsr.state = @q}, %k: !w {tsr.state = @k}) -> (!h {tsr.output = {name = "dx", role = "prediction"}}) {
    %a = tsr.contract %dq, %q over [head] : (!d, !w) -> !h
    %b = tsr.contract %dk, %k over [head] : (!d, !w) -> !h
    %af = tsr.cast %a : !h to !f
    %bf = tsr.cast %b : !h to !f
    %s = tsr.add %af, %bf : !f
    %dx = tsr.cast %s : !f to !h
    return %dx : !h
  }
}

// -----

// A sum in bf16 over a divided axis is rounded once, when it is complete. A maximum needs no other type, and the padding
// of integers is the smallest of their type.
// CHECK-LABEL: func.func @step
// CHECK: %[[F:.*]] = tsr.cast {{.*}} : <[data: 2, batch: 2, in: 3], bf16> to <[data: 2, batch: 2, in: 3], f32>
// CHECK: %[[P:.*]] = tsr.reduce sum %[[F]] over [batch]
// CHECK: %[[S:.*]] = tsr.reduce sum %[[P]] over [data] : <[data: 2, in: 3], f32>
// CHECK: tsr.cast %[[S]] : <[in: 3], f32> to <[in: 3], bf16>
// CHECK: tsr.reduce max {{.*}} over [batch] : <[data: 2, batch: 2, in: 3], bf16>
// CHECK: %[[I:.*]] = tsr.select {{.*}}, %c-9223372036854775808
// CHECK: tsr.reduce max %[[I]]
!b = !tsr.tensor<[batch: 4, in: 3], bf16>
!g = !tsr.tensor<[in: 3], bf16>
module attributes {tsr.axes = ["batch", "odd", "in"], tsr.phase = "optimize", tsr.mesh = [#tsr.axis<data: 2>], tsr.shard = {batch = "data", odd = "data"}} {
  func.func @step(%x: !b {tsr.input = {name = "x", role = "data"}}, %n: !tsr.tensor<[odd: 5], i64> {tsr.input = {name = "n", role = "data"}})
      -> (!g {tsr.output = {name = "s", role = "metric"}}, !g {tsr.output = {name = "m", role = "metric"}}, !tsr.tensor<[], i64> {tsr.output = {name = "n", role = "metric"}}) {
    %s = tsr.reduce sum %x over [batch] : !b
    %m = tsr.reduce max %x over [batch] : !b
    %i = tsr.reduce max %n over [odd] : !tsr.tensor<[odd: 5], i64>
    return %s, %m, %i : !g, !g, !tsr.tensor<[], i64>
  }
}

// -----

// The squares of a norm are those of the parts that the divided update reads: the gradient is scattered as it is reduced,
// and not gathered.
// CHECK-LABEL: func.func @step
// LOCAL-LABEL: func.func @step({{.*}}"norm"
// LOCAL: tsr.start all_to_all
// LOCAL: tsr.wait
// LOCAL: %[[G:.*]] = tsr.reduce sum {{.*}} over [data] : {{.*}}[data: 2, in: 3, out: 2]
// LOCAL: tsr.mul %[[G]], %[[G]]
// LOCAL: tsr.reduce sum {{.*}} over [out] : <[in: 3, out: 2], f32>
// LOCAL: tsr.start all_gather {{.*}} : <[], f32> -> <[data: 2], f32>
!x = !tsr.tensor<[batch: 4, in: 3], f32>
!d = !tsr.tensor<[batch: 4, out: 4], f32>
!w = !tsr.tensor<[in: 3, out: 4], f32>
module attributes {tsr.axes = ["batch", "in", "out"], tsr.phase = "optimize", tsr.mesh = [#tsr.axis<data: 2>], tsr.shard = {batch = "data"}} {
  tsr.state @m "moment" !w {tsr.sharding = {out = "data"}}
  func.func @step(%x: !x {tsr.input = {name = "x", role = "data"}}, %d: !d {tsr.input = {name = "d", role = "data"}}, %m: !w {tsr.state = @m})
      -> (!w {tsr.state = @m}, !tsr.tensor<[], f32> {tsr.output = {name = "norm", role = "metric"}}) {
    %g = tsr.contract %x, %d over [batch] : (!x, !d) -> !w
    %q = tsr.mul %g, %g : !w
    %rows = tsr.reduce sum %q over [out] : !w
    %norm = tsr.reduce sum %rows over [in] : !tsr.tensor<[in: 3], f32>
    %m1 = tsr.add %m, %g : !w
    return %m1, %norm : !w, !tsr.tensor<[], f32>
  }
}

// -----

// A softmax is not divided along the axis that it mixes because its reader is.
// CHECK-LABEL: func.func @step
// LOCAL-LABEL: func.func @step(%arg0: !tsr.tensor<[in: 4], f32>
// LOCAL: tsr.softmax
!x = !tsr.tensor<[in: 4], f32>
module attributes {tsr.axes = ["in"], tsr.phase = "optimize", tsr.mesh = [#tsr.axis<data: 2>], tsr.shard = {}} {
  tsr.state @m "state" !x {tsr.sharding = {in = "data"}}
  func.func @step(%x: !x {tsr.input = {name = "x", role = "data"}}, %m: !x {tsr.state = @m}) -> (!x {tsr.state = @m}) {
    %s = tsr.softmax %x over "in" : !x
    return %s : !x
  }
}

// -----

// Sums with other values between them are one, too.
// CHECK-LABEL: func.func @step
// CHECK: %[[A:.*]] = tsr.reduce sum %arg0 over [batch] : <[data: 2, batch: 2, in: 3], f32>
// CHECK: %[[B:.*]] = tsr.reduce sum %arg1 over [batch] : <[data: 2, batch: 2, in: 3], f32>
// CHECK: %[[W:.*]] = tsr.add %arg2, %arg3
// CHECK: %[[P:.*]] = tsr.add %[[A]], %[[B]]
// CHECK: %[[S:.*]] = tsr.reduce sum %[[P]] over [data] : <[data: 2, in: 3], f32>
// CHECK: tsr.add %[[W]], %[[S]]
!x = !tsr.tensor<[batch: 4, in: 3], f32>
!w = !tsr.tensor<[in: 3], f32>
module attributes {tsr.axes = ["batch", "in"], tsr.phase = "optimize", tsr.mesh = [#tsr.axis<data: 2>], tsr.shard = {batch = "data"}} {
  func.func @step(%x: !x {tsr.input = {name = "x", role = "data"}}, %y: !x {tsr.input = {name = "y", role = "data"}},
      %v: !w {tsr.state = @v}, %w: !w {tsr.state = @w}) -> (!w {tsr.output = {name = "s", role = "metric"}}) {
    %a = tsr.reduce sum %x over [batch] : !x
    %b = tsr.reduce sum %y over [batch] : !x
    %va = tsr.add %v, %a : !w
    %vaw = tsr.add %va, %w : !w
    %all = tsr.add %vaw, %b : !w
    return %all : !w
  }
  tsr.state @v "weight" !w
  tsr.state @w "weight" !w
}

// -----

// Sums over different mesh axes: one over that which they have in common. The other one is summed before.
// CHECK-LABEL: func.func @step
// CHECK: %[[A:.*]] = tsr.reduce sum %{{.*}} over [tensor] : <[data: 2, tensor: 2, in: 4], f32>
// CHECK: %[[S:.*]] = tsr.add %[[A]], %{{.*}} : <[data: 2, in: 4], f32>
// CHECK: tsr.reduce sum %[[S]] over [data]
// CHECK-NOT: tsr.reduce
!x = !tsr.tensor<[batch: 4, seq: 4, in: 4], f32>
!y = !tsr.tensor<[batch: 4, in: 4], f32>
!w = !tsr.tensor<[in: 4], f32>
module attributes {tsr.axes = ["batch", "seq", "in"], tsr.phase = "optimize", tsr.mesh = [#tsr.axis<data: 2>, #tsr.axis<tensor: 2>], tsr.shard = {batch = "data", seq = "tensor"}} {
  func.func @step(%x: !x {tsr.input = {name = "x", role = "data"}}, %y: !y {tsr.input = {name = "y", role = "data"}})
      -> (!w {tsr.output = {name = "s", role = "metric"}}) {
    %a = tsr.reduce sum %x over [seq, batch] : !x
    %b = tsr.reduce sum %y over [batch] : !y
    %s = tsr.add %a, %b : !w
    return %s : !w
  }
}
