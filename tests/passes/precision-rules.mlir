// RUN: tessera-opt %s --tsr-precision --tsr-simplify --split-input-file | FileCheck %s

// Operands and result of a contraction are bf16; a parameter is cast before the repeat; carried values are bf16, and values inside a
// kernel are not.
module attributes {tsr.axes = ["layer", "batch", "in", "out"], tsr.phase = "differentiate", tsr.settings = {compute = {type = "bf16"}}} {
  // CHECK-LABEL: func.func @evaluate
  // CHECK: %[[W:.*]] = tsr.cast %arg1 : {{.*}} to <[layer: 3, in: 4, out: 4], bf16>
  // CHECK: %[[X:.*]] = tsr.cast %arg0 : {{.*}} to <[batch: 8, in: 4], bf16>
  // CHECK: tsr.repeat [layer: 3] index %{{[a-z0-9]*}} carry (%[[H:[a-z0-9]*]] = %[[X]] : {{.*}}) slice (%[[WI:[a-z0-9]*]] = %[[W]] : !tsr.tensor<[layer: 3, in: 4, out: 4], bf16>)
  // CHECK-NEXT: %[[Y:.*]] = tsr.contract %[[H]], %[[WI]] over [in]{{.*}} -> !tsr.tensor<[batch: 8, out: 4], bf16>
  // CHECK-NEXT: %[[WIDE:.*]] = tsr.cast %[[Y]]
  // CHECK-NEXT: %[[T:.*]] = tsr.tanh %[[WIDE]] : <[batch: 8, out: 4], f32>
  // CHECK-NEXT: %[[S:.*]] = tsr.mul %[[T]], %[[T]]
  // CHECK-NEXT: %[[L:.*]] = tsr.cast %[[S]] : {{.*}} to <[batch: 8, out: 4], bf16>
  // CHECK-NEXT: %[[R:.*]] = tsr.rename %[[L]]
  // CHECK-NEXT: tsr.yield %[[R]]
  func.func @evaluate(%x: !tsr.tensor<[batch: 8, in: 4], f32>, %w: !tsr.tensor<[layer: 3, in: 4, out: 4], f32>) -> !tsr.tensor<[batch: 8], f32> {
    %h = tsr.repeat [layer: 3] index %i carry (%c = %x : !tsr.tensor<[batch: 8, in: 4], f32>) slice (%wi = %w : !tsr.tensor<[layer: 3, in: 4, out: 4], f32>) -> !tsr.tensor<[batch: 8, in: 4], f32> {
      %y = tsr.contract %c, %wi over ["in"] : (!tsr.tensor<[batch: 8, in: 4], f32>, !tsr.tensor<[in: 4, out: 4], f32>) -> !tsr.tensor<[batch: 8, out: 4], f32>
      %t = tsr.tanh %y : !tsr.tensor<[batch: 8, out: 4], f32>
      %s = tsr.mul %t, %t : (!tsr.tensor<[batch: 8, out: 4], f32>, !tsr.tensor<[batch: 8, out: 4], f32>) -> !tsr.tensor<[batch: 8, out: 4], f32>
      %r = tsr.rename %s ["out"] to ["in"] : !tsr.tensor<[batch: 8, out: 4], f32> -> !tsr.tensor<[batch: 8, in: 4], f32>
      tsr.yield %r : !tsr.tensor<[batch: 8, in: 4], f32>
    }
    // CHECK: %[[SUM:.*]] = tsr.reduce sum %{{.*}} : <[batch: 8, in: 4], f32>{{$}}
    // CHECK: return %[[SUM]]
    %n = tsr.reduce sum %h over ["in"] : !tsr.tensor<[batch: 8, in: 4], f32> -> !tsr.tensor<[batch: 8], f32>
    return %n : !tsr.tensor<[batch: 8], f32>
  }
}

// -----

// A residual connection is stored, because there is a contraction between its two readers; both read the rounded value. Scores that
// only an exponential reads stay in f32, a bias is added before rounding, and ops with `tsr.precision` are exempt.
module attributes {tsr.axes = ["batch", "in", "out"], tsr.phase = "differentiate", tsr.settings = {compute = {type = "bf16"}}} {
  // CHECK-LABEL: func.func @evaluate
  func.func @evaluate(%x: !tsr.tensor<[batch: 8, in: 4], f32>, %w: !tsr.tensor<[in: 4, out: 4], f32>, %b: !tsr.tensor<[out: 4], f32>)
      -> (!tsr.tensor<[batch: 8, out: 4], f32>, !tsr.tensor<[batch: 8], f32>, !tsr.tensor<[batch: 8, out: 4], f32>) {
    // CHECK: %[[Y:.*]] = tsr.contract %{{.*}}, %{{.*}} over [in] : {{.*}}bf16>) -> !tsr.tensor<[batch: 8, out: 4], f32>
    // CHECK: %[[Z:.*]] = tsr.add %[[Y]], %arg2
    // CHECK: %[[ZL:.*]] = tsr.cast %[[Z]] : {{.*}} to <[batch: 8, out: 4], bf16>
    // CHECK: %[[ZW:.*]] = tsr.cast %[[ZL]] : {{.*}} to <[batch: 8, out: 4], f32>
    // CHECK: %[[R:.*]] = tsr.rename %[[ZL]]
    // CHECK: %[[U:.*]] = tsr.contract %[[R]], %{{.*}} over [in] : {{.*}}bf16>) -> !tsr.tensor<[batch: 8, out: 4], bf16>
    // CHECK: %[[UW:.*]] = tsr.cast %[[U]]
    // CHECK: tsr.add %[[ZW]], %[[UW]]
    %y = tsr.contract %x, %w over ["in"] : (!tsr.tensor<[batch: 8, in: 4], f32>, !tsr.tensor<[in: 4, out: 4], f32>) -> !tsr.tensor<[batch: 8, out: 4], f32>
    %z = tsr.add %y, %b : (!tsr.tensor<[batch: 8, out: 4], f32>, !tsr.tensor<[out: 4], f32>) -> !tsr.tensor<[batch: 8, out: 4], f32>
    %r = tsr.rename %z ["out"] to ["in"] : !tsr.tensor<[batch: 8, out: 4], f32> -> !tsr.tensor<[batch: 8, in: 4], f32>
    %u = tsr.contract %r, %w over ["in"] : (!tsr.tensor<[batch: 8, in: 4], f32>, !tsr.tensor<[in: 4, out: 4], f32>) -> !tsr.tensor<[batch: 8, out: 4], f32>
    %sum = tsr.add %z, %u : (!tsr.tensor<[batch: 8, out: 4], f32>, !tsr.tensor<[batch: 8, out: 4], f32>) -> !tsr.tensor<[batch: 8, out: 4], f32>
    // CHECK: %[[SC:.*]] = tsr.contract {{.*}} as "scores" : {{.*}}bf16>) -> !tsr.tensor<[batch: 8, out: 4], f32>
    // CHECK: %[[E:.*]] = tsr.exp
    // CHECK: tsr.reduce sum %[[E]]
    %v = tsr.mul %w, %w : (!tsr.tensor<[in: 4, out: 4], f32>, !tsr.tensor<[in: 4, out: 4], f32>) -> !tsr.tensor<[in: 4, out: 4], f32>
    %s = tsr.contract %x, %v over ["in"] {tsr.name = "scores"} : (!tsr.tensor<[batch: 8, in: 4], f32>, !tsr.tensor<[in: 4, out: 4], f32>) -> !tsr.tensor<[batch: 8, out: 4], f32>
    %h = tsr.add %s, %s : (!tsr.tensor<[batch: 8, out: 4], f32>, !tsr.tensor<[batch: 8, out: 4], f32>) -> !tsr.tensor<[batch: 8, out: 4], f32>
    %e = tsr.exp %h : !tsr.tensor<[batch: 8, out: 4], f32>
    %n = tsr.reduce sum %e over ["out"] : !tsr.tensor<[batch: 8, out: 4], f32> -> !tsr.tensor<[batch: 8], f32>
    // CHECK: tsr.contract %arg0, %{{.*}} over [in] {tsr.precision = f32} : {{.*}}f32>) -> !tsr.tensor<[batch: 8, out: 4], f32>
    %k = tsr.contract %x, %v over ["in"] {tsr.precision = f32} : (!tsr.tensor<[batch: 8, in: 4], f32>, !tsr.tensor<[in: 4, out: 4], f32>) -> !tsr.tensor<[batch: 8, out: 4], f32>
    return %sum, %n, %k : !tsr.tensor<[batch: 8, out: 4], f32>, !tsr.tensor<[batch: 8], f32>, !tsr.tensor<[batch: 8, out: 4], f32>
  }
}

// -----

// A gather of a low-precision value has its element type, whatever else reads the value.
module attributes {tsr.axes = ["batch", "in", "class"], tsr.phase = "differentiate", tsr.settings = {compute = {type = "bf16"}}} {
  // CHECK-LABEL: func.func @evaluate
  // CHECK: %[[Y:.*]] = tsr.contract {{.*}} -> !tsr.tensor<[batch: 8, class: 4], f32>
  // CHECK: %[[Z:.*]] = tsr.add %[[Y]], %arg2
  // CHECK: %[[ZL:.*]] = tsr.cast %[[Z]] : {{.*}} to <[batch: 8, class: 4], bf16>
  // CHECK: %[[G:.*]] = tsr.gather %[[ZL]]{{.*}} -> !tsr.tensor<[batch: 8], bf16>
  // CHECK: %[[GW:.*]] = tsr.cast %[[G]] : <[batch: 8], bf16> to <[batch: 8], f32>
  // CHECK: tsr.compare ge %[[GW]]
  func.func @evaluate(%x: !tsr.tensor<[batch: 8, in: 4], f32>, %w: !tsr.tensor<[in: 4, class: 4], f32>, %b: !tsr.tensor<[class: 4], f32>, %label: !tsr.tensor<[batch: 8], i32>) -> !tsr.tensor<[batch: 8], i1> {
    %y = tsr.contract %x, %w over ["in"] : (!tsr.tensor<[batch: 8, in: 4], f32>, !tsr.tensor<[in: 4, class: 4], f32>) -> !tsr.tensor<[batch: 8, class: 4], f32>
    %z = tsr.add %y, %b : (!tsr.tensor<[batch: 8, class: 4], f32>, !tsr.tensor<[class: 4], f32>) -> !tsr.tensor<[batch: 8, class: 4], f32>
    %g = tsr.gather %z[["class"] = %label] : (!tsr.tensor<[batch: 8, class: 4], f32>, !tsr.tensor<[batch: 8], i32>) -> !tsr.tensor<[batch: 8], f32>
    %m = tsr.reduce max %z over ["class"] : !tsr.tensor<[batch: 8, class: 4], f32> -> !tsr.tensor<[batch: 8], f32>
    %right = tsr.compare ge %g, %m : (!tsr.tensor<[batch: 8], f32>, !tsr.tensor<[batch: 8], f32>) -> !tsr.tensor<[batch: 8], i1>
    return %right : !tsr.tensor<[batch: 8], i1>
  }
}

// -----

// Under fp16 the seed is scaled, tsr.clip divides by the scale, which is state, and the optimizer counts only the steps that happened.
module attributes {tsr.axes = ["batch", "in"], tsr.phase = "differentiate", tsr.settings = {compute = {type = "fp16"}}} {
  // CHECK: tsr.state @loss_scale "counter" !tsr.tensor<[], f32>
  // CHECK-NEXT: tsr.state @clean_steps "counter" !tsr.tensor<[], i32>
  // CHECK-NEXT: tsr.state @skipped_steps "counter" !tsr.tensor<[], i32>
  tsr.state @w "weight" !tsr.tensor<[in: 4], f32>
  tsr.state @step "counter" !tsr.tensor<[], i32>
  // CHECK: func.func @init
  // CHECK: %[[FIRST:.*]] = tsr.constant 65536.0
  // CHECK: return %{{.*}}, %{{.*}}, %[[FIRST]], %[[NONE:.*]], %[[NONE]]
  func.func @init(%seed: !tsr.tensor<[], i64> {tsr.input = {name = "seed", role = "seed"}}) -> (!tsr.tensor<[in: 4], f32> {tsr.state = @w}, !tsr.tensor<[], i32> {tsr.state = @step}) {
    %w = tsr.constant 1.0 : f32 -> !tsr.tensor<[in: 4], f32>
    %step = tsr.constant 0 : i32 -> !tsr.tensor<[], i32>
    return %w, %step : !tsr.tensor<[in: 4], f32>, !tsr.tensor<[], i32>
  }
  // CHECK: func.func @step(%arg0: {{.*}}@w}, %arg1: {{.*}}@step}, %[[SCALE:arg2]]: {{.*}}@loss_scale}, %[[CLEAN:arg3]]: {{.*}}@clean_steps}, %[[SKIPPED:arg4]]: {{.*}}@skipped_steps}
  // CHECK-SAME: role = "loss_scale"
  // CHECK-SAME: role = "skipped"
  // CHECK: %[[ONE:.*]] = tsr.seed
  // CHECK: %[[SEED:.*]] = tsr.mul %[[ONE]], %[[SCALE]]
  // CHECK: %[[G:.*]] = tsr.mul %arg5, %[[SEED]]
  // CHECK: %[[UNSCALE:.*]] = tsr.div %{{.*}}, %[[SCALE]]
  // CHECK: %[[CLIPPED:.*]]:2 = tsr.clip(%[[G]]) unscale %[[UNSCALE]]
  // CHECK: %[[FINITE:.*]] = tsr.compare lt %[[CLIPPED]]#1
  // CHECK: %[[T:.*]] = tsr.sub %arg1, %[[SKIPPED]]
  // CHECK: tsr.update "sgd" @w %arg0 gradient %[[CLIPPED]]#0 step %[[T]]
  func.func @step(%w: !tsr.tensor<[in: 4], f32> {tsr.state = @w}, %step: !tsr.tensor<[], i32> {tsr.state = @step}, %x: !tsr.tensor<[in: 4], f32> {tsr.input = {name = "x", role = "data"}})
      -> (!tsr.tensor<[in: 4], f32> {tsr.state = @w}, !tsr.tensor<[], i32> {tsr.state = @step}, !tsr.tensor<[], f32> {tsr.output = {name = "norm", role = "grad_norm"}}) {
    %seed = tsr.seed : !tsr.tensor<[], f32>
    %g = tsr.mul %x, %seed : (!tsr.tensor<[in: 4], f32>, !tsr.tensor<[], f32>) -> !tsr.tensor<[in: 4], f32>
    %c, %norm = tsr.clip(%g) : (!tsr.tensor<[in: 4], f32>) -> (!tsr.tensor<[in: 4], f32>, !tsr.tensor<[], f32>)
    %rate = tsr.constant 1.000000e-01 : f32 -> !tsr.tensor<[], f32>
    %next = tsr.update "sgd" @w %w gradient %c step %step norm %norm arguments ["rate"](%rate) : (!tsr.tensor<[in: 4], f32>, !tsr.tensor<[in: 4], f32>, !tsr.tensor<[], i32>, !tsr.tensor<[], f32>, !tsr.tensor<[], f32>) -> !tsr.tensor<[in: 4], f32>
    %one = tsr.constant 1 : i32 -> !tsr.tensor<[], i32>
    %more = tsr.add %step, %one : (!tsr.tensor<[], i32>, !tsr.tensor<[], i32>) -> !tsr.tensor<[], i32>
    return %next, %more, %norm : !tsr.tensor<[in: 4], f32>, !tsr.tensor<[], i32>, !tsr.tensor<[], f32>
  }
}

// -----

// The next value of a state is f32 inside the repeat that stacks it, though it follows from an activation and a contraction reads it:
// that one reads a copy.
module attributes {tsr.axes = ["layer", "batch", "in", "out"], tsr.phase = "differentiate", tsr.settings = {compute = {type = "bf16"}}} {
  tsr.state @m "state" !tsr.tensor<[layer: 3, in: 4], f32>
  // CHECK: tsr.state @m "state"
  // CHECK-NEXT: func.func @step
  // CHECK: tsr.repeat {{.*}} -> (!tsr.tensor<[batch: 8, in: 4], bf16>, !tsr.tensor<[layer: 3, in: 4], f32>)
  // CHECK: %[[NEXT:.*]] = tsr.add %{{.*}} : <[in: 4], f32>
  // CHECK: tsr.cast %[[NEXT]] : <[in: 4], f32> to <[in: 4], bf16>
  // CHECK: tsr.yield %{{[^,]*}}, %[[NEXT]] :
  func.func @step(%x: !tsr.tensor<[batch: 8, in: 4], f32>, %m: !tsr.tensor<[layer: 3, in: 4], f32> {tsr.state = @m}, %w: !tsr.tensor<[in: 4, out: 4], f32>)
      -> (!tsr.tensor<[layer: 3, in: 4], f32> {tsr.state = @m}, !tsr.tensor<[batch: 8, in: 4], f32>) {
    %h, %n = tsr.repeat [layer: 3] index %i carry (%c = %x : !tsr.tensor<[batch: 8, in: 4], f32>) slice (%mi = %m : !tsr.tensor<[layer: 3, in: 4], f32>) invariant (%v = %w : !tsr.tensor<[in: 4, out: 4], f32>) -> (!tsr.tensor<[batch: 8, in: 4], f32>, !tsr.tensor<[layer: 3, in: 4], f32>) {
      %first = tsr.constant 0 : i32 -> !tsr.tensor<[], i32>
      %row = tsr.gather %c[["batch"] = %first] : (!tsr.tensor<[batch: 8, in: 4], f32>, !tsr.tensor<[], i32>) -> !tsr.tensor<[in: 4], f32>
      %part = tsr.mul %row, %row : <[in: 4], f32>
      %next = tsr.add %mi, %part : <[in: 4], f32>
      %y = tsr.contract %c, %v over ["in"] : (!tsr.tensor<[batch: 8, in: 4], f32>, !tsr.tensor<[in: 4, out: 4], f32>) -> !tsr.tensor<[batch: 8, out: 4], f32>
      %r = tsr.rename %y ["out"] to ["in"] : !tsr.tensor<[batch: 8, out: 4], f32> -> !tsr.tensor<[batch: 8, in: 4], f32>
      %z = tsr.contract %r, %next over ["in"] : (!tsr.tensor<[batch: 8, in: 4], f32>, !tsr.tensor<[in: 4], f32>) -> !tsr.tensor<[batch: 8], f32>
      %q = tsr.mul %r, %z : <[batch: 8, in: 4], f32>, <[batch: 8], f32>
      tsr.yield %q, %next : !tsr.tensor<[batch: 8, in: 4], f32>, !tsr.tensor<[in: 4], f32>
    }
    return %n, %h : !tsr.tensor<[layer: 3, in: 4], f32>, !tsr.tensor<[batch: 8, in: 4], f32>
  }
}

// -----

// What is added to a state is f32 too: the results of contractions that are terms of the next value, through scaling, so that counts are
// exact. A gather moves rounded elements; the state gets a copy of them in f32.
module attributes {tsr.axes = ["batch", "in", "out"], tsr.phase = "differentiate", tsr.settings = {compute = {type = "bf16"}}} {
  tsr.state @n "state" !tsr.tensor<[in: 4, out: 4], f32>
  tsr.state @c "state" !tsr.tensor<[], f32>
  tsr.state @r "state" !tsr.tensor<[out: 4], f32>
  // CHECK: tsr.state @n "state"
  // CHECK: func.func @step
  // CHECK: tsr.contract %{{.*}} over [batch] as "hits" {{.*}} -> !tsr.tensor<[in: 4, out: 4], f32>
  // CHECK: tsr.contract %{{.*}} over [batch, in] as "all" {{.*}} -> !tsr.tensor<[], f32>
  // CHECK: %[[Y:.*]] = tsr.contract %{{.*}} over [in] as "y" {{.*}} -> !tsr.tensor<[batch: 8, out: 4], bf16>
  // CHECK: %[[ROW:.*]] = tsr.gather %[[Y]]{{.*}} -> !tsr.tensor<[out: 4], bf16>
  // CHECK: %[[WIDE:.*]] = tsr.cast %[[ROW]] {{.*}} to <[out: 4], f32>
  // CHECK: return %{{[^,]*}}, %{{[^,]*}}, %[[WIDE]],
  func.func @step(%x: !tsr.tensor<[batch: 8, in: 4], f32>, %n: !tsr.tensor<[in: 4, out: 4], f32> {tsr.state = @n}, %c: !tsr.tensor<[], f32> {tsr.state = @c}, %r: !tsr.tensor<[out: 4], f32> {tsr.state = @r}, %w: !tsr.tensor<[in: 4, out: 4], f32>, %hit: !tsr.tensor<[batch: 8, out: 4], f32>)
      -> (!tsr.tensor<[in: 4, out: 4], f32> {tsr.state = @n}, !tsr.tensor<[], f32> {tsr.state = @c}, !tsr.tensor<[out: 4], f32> {tsr.state = @r}, !tsr.tensor<[batch: 8, in: 4], f32>) {
    %decay = tsr.constant 0.9 : f32 -> !tsr.tensor<[], f32>
    %old = tsr.mul %n, %decay : <[in: 4, out: 4], f32>, <[], f32>
    %hits = tsr.contract %x, %hit over ["batch"] as "hits" : (!tsr.tensor<[batch: 8, in: 4], f32>, !tsr.tensor<[batch: 8, out: 4], f32>) -> !tsr.tensor<[in: 4, out: 4], f32>
    %new = tsr.mul %hits, %decay : <[in: 4, out: 4], f32>, <[], f32>
    %next = tsr.sub %old, %new : <[in: 4, out: 4], f32>
    %all = tsr.contract %x, %x over ["batch", "in"] as "all" : (!tsr.tensor<[batch: 8, in: 4], f32>, !tsr.tensor<[batch: 8, in: 4], f32>) -> !tsr.tensor<[], f32>
    %part = tsr.mul %decay, %all : <[], f32>
    %more = tsr.add %c, %part : <[], f32>
    %y = tsr.contract %x, %w over ["in"] as "y" : (!tsr.tensor<[batch: 8, in: 4], f32>, !tsr.tensor<[in: 4, out: 4], f32>) -> !tsr.tensor<[batch: 8, out: 4], f32>
    %first = tsr.constant 0 : i32 -> !tsr.tensor<[], i32>
    %row = tsr.gather %y[["batch"] = %first] : (!tsr.tensor<[batch: 8, out: 4], f32>, !tsr.tensor<[], i32>) -> !tsr.tensor<[out: 4], f32>
    %z = tsr.contract %y, %w over ["out"] : (!tsr.tensor<[batch: 8, out: 4], f32>, !tsr.tensor<[in: 4, out: 4], f32>) -> !tsr.tensor<[batch: 8, in: 4], f32>
    return %next, %more, %row, %z : !tsr.tensor<[in: 4, out: 4], f32>, !tsr.tensor<[], f32>, !tsr.tensor<[out: 4], f32>, !tsr.tensor<[batch: 8, in: 4], f32>
  }
}

// -----

// A sum of one element is none: what reads one position of an axis of an activation, as rotary positions do, is stacked in bf16, and
// not in f32 with a copy of the whole stack in bf16.
module attributes {tsr.axes = ["layer", "batch", "in", "side", "half", "out"], tsr.phase = "differentiate", tsr.settings = {compute = {type = "bf16"}}} {
  // CHECK-LABEL: func.func @evaluate
  // CHECK: %[[STACK:.*]] = tsr.repeat [layer: 3]{{.*}} -> !tsr.tensor<[layer: 3, batch: 8, half: 4], bf16>
  // CHECK: tsr.mul %{{.*}} : {{.*}}f32
  // CHECK: %[[L:.*]] = tsr.cast %{{.*}} : {{.*}} to <[batch: 8, half: 4], bf16>
  // CHECK: tsr.yield %[[L]]
  // CHECK: tsr.contract %[[STACK]]
  func.func @evaluate(%x: !tsr.tensor<[batch: 8, in: 4], f32>, %w: !tsr.tensor<[layer: 3, in: 4, side: 2, half: 4], f32>, %v: !tsr.tensor<[half: 4, out: 2], f32>, %angle: !tsr.tensor<[half: 4], f32>) -> !tsr.tensor<[layer: 3, batch: 8, out: 2], f32> {
    %s = tsr.repeat [layer: 3] index %i slice (%wi = %w : !tsr.tensor<[layer: 3, in: 4, side: 2, half: 4], f32>) invariant (%xi = %x : !tsr.tensor<[batch: 8, in: 4], f32>, %ai = %angle : !tsr.tensor<[half: 4], f32>) -> !tsr.tensor<[layer: 3, batch: 8, half: 4], f32> {
      %y = tsr.contract %xi, %wi over ["in"] : (!tsr.tensor<[batch: 8, in: 4], f32>, !tsr.tensor<[in: 4, side: 2, half: 4], f32>) -> !tsr.tensor<[batch: 8, side: 2, half: 4], f32>
      %a = tsr.slice %y side from 0 : !tsr.tensor<[batch: 8, side: 2, half: 4], f32> -> !tsr.tensor<[batch: 8, side: 1, half: 4], f32>
      %b = tsr.reduce sum %a over ["side"] : !tsr.tensor<[batch: 8, side: 1, half: 4], f32> -> !tsr.tensor<[batch: 8, half: 4], f32>
      %t = tsr.mul %b, %ai : (!tsr.tensor<[batch: 8, half: 4], f32>, !tsr.tensor<[half: 4], f32>) -> !tsr.tensor<[batch: 8, half: 4], f32>
      tsr.yield %t : !tsr.tensor<[batch: 8, half: 4], f32>
    }
    %z = tsr.contract %s, %v over ["half"] : (!tsr.tensor<[layer: 3, batch: 8, half: 4], f32>, !tsr.tensor<[half: 4, out: 2], f32>) -> !tsr.tensor<[layer: 3, batch: 8, out: 2], f32>
    return %z : !tsr.tensor<[layer: 3, batch: 8, out: 2], f32>
  }
}
