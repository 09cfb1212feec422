// RUN: tessera-opt %s --tsr-differentiate --tsr-simplify | FileCheck %s

module attributes {tsr.axes = ["layer", "batch", "in", "out"], tsr.phase = "simplify"} {
  // The adjoint of a contraction is a contraction, that of a broadcast bias a sum; the seed is an op.
  // CHECK-LABEL: @linear
  func.func @linear(%x: !tsr.tensor<[batch: 8, in: 4], f32>, %w: !tsr.tensor<[in: 4, out: 2], f32>, %b: !tsr.tensor<[out: 2], f32>) -> (!tsr.tensor<[in: 4, out: 2], f32>, !tsr.tensor<[out: 2], f32>) {
    // CHECK: %[[ONE:.*]] = tsr.seed
    // CHECK: %[[D:.*]] = tsr.mul %{{.*}} <[batch: 8, out: 2], f32>{{$}}
    // CHECK: %[[SUM:.*]] = tsr.add %[[D]], %[[D]]
    // CHECK: %[[DB:.*]] = tsr.reduce sum %[[SUM]] over [batch]
    // CHECK: %[[DW:.*]] = tsr.contract %[[SUM]], %arg0 over [batch] as "y.grad"
    // CHECK: return %[[DW]], %[[DB]]
    %y = tsr.contract %x, %w over ["in"] {tsr.name = "y"} : (!tsr.tensor<[batch: 8, in: 4], f32>, !tsr.tensor<[in: 4, out: 2], f32>) -> !tsr.tensor<[batch: 8, out: 2], f32>
    %z = tsr.add %y, %b : (!tsr.tensor<[batch: 8, out: 2], f32>, !tsr.tensor<[out: 2], f32>) -> !tsr.tensor<[batch: 8, out: 2], f32>
    %q = tsr.mul %z, %z : (!tsr.tensor<[batch: 8, out: 2], f32>, !tsr.tensor<[batch: 8, out: 2], f32>) -> !tsr.tensor<[batch: 8, out: 2], f32>
    %l = tsr.reduce sum %q over ["batch", "out"] : !tsr.tensor<[batch: 8, out: 2], f32> -> !tsr.tensor<[], f32>
    %dw, %db = tsr.gradient %l wrt(%w, %b) : (!tsr.tensor<[], f32>, !tsr.tensor<[in: 4, out: 2], f32>, !tsr.tensor<[out: 2], f32>) -> (!tsr.tensor<[in: 4, out: 2], f32>, !tsr.tensor<[out: 2], f32>)
    return %dw, %db : !tsr.tensor<[in: 4, out: 2], f32>, !tsr.tensor<[out: 2], f32>
  }

  // Only ops that depend on `wrt` are differentiated; a value that the loss does not depend on has the gradient 0.
  // CHECK-LABEL: @notReached
  func.func @notReached(%x: !tsr.tensor<[in: 4], f32>, %y: !tsr.tensor<[in: 4], f32>) -> !tsr.tensor<[in: 4], f32> {
    // CHECK: %[[ZERO:.*]] = tsr.constant 0.0{{.*}} -> <[in: 4], f32>
    // CHECK-NEXT: return %[[ZERO]]
    %e = tsr.exp %x : !tsr.tensor<[in: 4], f32>
    %l = tsr.reduce sum %e over ["in"] : !tsr.tensor<[in: 4], f32> -> !tsr.tensor<[], f32>
    %d = tsr.gradient %l wrt(%y) : (!tsr.tensor<[], f32>, !tsr.tensor<[in: 4], f32>) -> !tsr.tensor<[in: 4], f32>
    return %d : !tsr.tensor<[in: 4], f32>
  }

  // The adjoint of a gather is a scatter-add at the clamped positions; along an existing axis it is a comparison.
  // CHECK-LABEL: @reads
  func.func @reads(%t: !tsr.tensor<[in: 9, out: 2], f32>, %i: !tsr.tensor<[batch: 3], i32>, %x: !tsr.tensor<[batch: 3, in: 9], f32>) -> (!tsr.tensor<[in: 9, out: 2], f32>, !tsr.tensor<[batch: 3, in: 9], f32>) {
    // CHECK: tsr.max %arg1
    // CHECK: %[[AT:.*]] = tsr.min
    // CHECK: %[[POS:.*]] = tsr.index
    // CHECK: tsr.compare eq %[[POS]], %[[AT]]
    // CHECK: tsr.scatter_add {{.*}}[in] = %[[AT]]
    %g = tsr.gather %t[["in"] = %i] : (!tsr.tensor<[in: 9, out: 2], f32>, !tsr.tensor<[batch: 3], i32>) -> !tsr.tensor<[batch: 3, out: 2], f32>
    %p = tsr.gather %x[["in"] = %i] : (!tsr.tensor<[batch: 3, in: 9], f32>, !tsr.tensor<[batch: 3], i32>) -> !tsr.tensor<[batch: 3], f32>
    %m = tsr.mul %g, %p : (!tsr.tensor<[batch: 3, out: 2], f32>, !tsr.tensor<[batch: 3], f32>) -> !tsr.tensor<[batch: 3, out: 2], f32>
    %l = tsr.reduce sum %m over ["batch", "out"] : !tsr.tensor<[batch: 3, out: 2], f32> -> !tsr.tensor<[], f32>
    %dt, %dx = tsr.gradient %l wrt(%t, %x) : (!tsr.tensor<[], f32>, !tsr.tensor<[in: 9, out: 2], f32>, !tsr.tensor<[batch: 3, in: 9], f32>) -> (!tsr.tensor<[in: 9, out: 2], f32>, !tsr.tensor<[batch: 3, in: 9], f32>)
    return %dt, %dx : !tsr.tensor<[in: 9, out: 2], f32>, !tsr.tensor<[batch: 3, in: 9], f32>
  }

  // The adjoint of a repeat is a reversed repeat. Saved: the carried argument and operands that must be stored. The dropout mask is
  // drawn again, from the same site. The gradient of an invariant is accumulated, that of a slice stacked.
  // CHECK-LABEL: @repeat
  func.func @repeat(%x: !tsr.tensor<[batch: 8, in: 4], f32>, %w: !tsr.tensor<[layer: 3, in: 4, out: 4], f32>, %b: !tsr.tensor<[out: 4], f32>, %seed: !tsr.tensor<[], i64>, %step: !tsr.tensor<[], i32>) -> (!tsr.tensor<[layer: 3, in: 4, out: 4], f32>, !tsr.tensor<[out: 4], f32>) {
    // CHECK: tsr.repeat [layer: 3] index
    // CHECK: tsr.random uniform site 7
    // CHECK: %[[H:.*]] = tsr.contract
    // CHECK: tsr.yield %{{[^,]*}}, %[[H]], %{{[^,]*}} : !tsr.tensor<[batch: 8, in: 4], f32>, !tsr.tensor<[batch: 8, out: 4], f32>, !tsr.tensor<[batch: 8, in: 4], f32>
    // CHECK: tsr.repeat [layer: 3] reverse index %[[I:[a-z0-9]*]] carry (%{{[a-z0-9]*}} = %{{[^ ]*}} : !tsr.tensor<[batch: 8, in: 4], f32>, %{{[a-z0-9]*}} = %{{[^ ]*}} : !tsr.tensor<[out: 4], f32>) slice
    // CHECK-SAME: -> (!tsr.tensor<[batch: 8, in: 4], f32>, !tsr.tensor<[out: 4], f32>, !tsr.tensor<[layer: 3, in: 4, out: 4], f32>)
    // CHECK: tsr.random uniform site 7 {{.*}} salts %[[I]]
    // CHECK: tsr.tanh
    // CHECK: tsr.contract {{.*}} over [batch]
    %y = tsr.repeat [layer: 3] index %i carry (%c = %x : !tsr.tensor<[batch: 8, in: 4], f32>) slice (%v = %w : !tsr.tensor<[layer: 3, in: 4, out: 4], f32>) invariant (%k = %b : !tsr.tensor<[out: 4], f32>, %s = %seed : !tsr.tensor<[], i64>, %t = %step : !tsr.tensor<[], i32>) -> !tsr.tensor<[batch: 8, in: 4], f32> {
      %half = tsr.constant 0.5 : f32 -> !tsr.tensor<[], f32>
      %zero = tsr.constant 0.0 : f32 -> !tsr.tensor<[], f32>
      %r = tsr.random uniform site 7 seed %s step %t salts %i : (!tsr.tensor<[], i64>, !tsr.tensor<[], i32>, !tsr.tensor<[], i32>) -> !tsr.tensor<[batch: 8, out: 4], f32>
      %m = tsr.compare lt %r, %half : (!tsr.tensor<[batch: 8, out: 4], f32>, !tsr.tensor<[], f32>) -> !tsr.tensor<[batch: 8, out: 4], i1>
      %h = tsr.contract %c, %v over ["in"] : (!tsr.tensor<[batch: 8, in: 4], f32>, !tsr.tensor<[in: 4, out: 4], f32>) -> !tsr.tensor<[batch: 8, out: 4], f32>
      %a = tsr.add %h, %k : (!tsr.tensor<[batch: 8, out: 4], f32>, !tsr.tensor<[out: 4], f32>) -> !tsr.tensor<[batch: 8, out: 4], f32>
      %g = tsr.tanh %a : !tsr.tensor<[batch: 8, out: 4], f32>
      %d = tsr.select %m, %g, %zero : (!tsr.tensor<[batch: 8, out: 4], i1>, !tsr.tensor<[batch: 8, out: 4], f32>, !tsr.tensor<[], f32>) -> !tsr.tensor<[batch: 8, out: 4], f32>
      %o = tsr.rename %d ["out"] to ["in"] : !tsr.tensor<[batch: 8, out: 4], f32> -> !tsr.tensor<[batch: 8, in: 4], f32>
      %n = tsr.add %c, %o : (!tsr.tensor<[batch: 8, in: 4], f32>, !tsr.tensor<[batch: 8, in: 4], f32>) -> !tsr.tensor<[batch: 8, in: 4], f32>
      tsr.yield %n : !tsr.tensor<[batch: 8, in: 4], f32>
    }
    %l = tsr.reduce sum %y over ["batch", "in"] : !tsr.tensor<[batch: 8, in: 4], f32> -> !tsr.tensor<[], f32>
    %dw, %db = tsr.gradient %l wrt(%w, %b) : (!tsr.tensor<[], f32>, !tsr.tensor<[layer: 3, in: 4, out: 4], f32>, !tsr.tensor<[out: 4], f32>) -> (!tsr.tensor<[layer: 3, in: 4, out: 4], f32>, !tsr.tensor<[out: 4], f32>)
    return %dw, %db : !tsr.tensor<[layer: 3, in: 4, out: 4], f32>, !tsr.tensor<[out: 4], f32>
  }

  // Of a chain of elementwise ops only the first operand is saved.
  // CHECK-LABEL: @chain
  func.func @chain(%x: !tsr.tensor<[batch: 8, in: 4], f32>, %w: !tsr.tensor<[layer: 3, in: 4, out: 4], f32>) -> !tsr.tensor<[layer: 3, in: 4, out: 4], f32> {
    // CHECK: %[[H:.*]] = tsr.contract
    // CHECK: tsr.yield %{{[^,]*}}, %[[H]], %{{[^,]*}} : !tsr.tensor
    // CHECK: reverse
    // CHECK: tsr.exp
    %y = tsr.repeat [layer: 3] index %i carry (%c = %x : !tsr.tensor<[batch: 8, in: 4], f32>) slice (%v = %w : !tsr.tensor<[layer: 3, in: 4, out: 4], f32>) -> !tsr.tensor<[batch: 8, in: 4], f32> {
      %h = tsr.contract %c, %v over ["in"] : (!tsr.tensor<[batch: 8, in: 4], f32>, !tsr.tensor<[in: 4, out: 4], f32>) -> !tsr.tensor<[batch: 8, out: 4], f32>
      %e = tsr.exp %h : !tsr.tensor<[batch: 8, out: 4], f32>
      %s = tsr.sin %e : !tsr.tensor<[batch: 8, out: 4], f32>
      %t = tsr.mul %s, %h : (!tsr.tensor<[batch: 8, out: 4], f32>, !tsr.tensor<[batch: 8, out: 4], f32>) -> !tsr.tensor<[batch: 8, out: 4], f32>
      %o = tsr.rename %t ["out"] to ["in"] : !tsr.tensor<[batch: 8, out: 4], f32> -> !tsr.tensor<[batch: 8, in: 4], f32>
      tsr.yield %o : !tsr.tensor<[batch: 8, in: 4], f32>
    }
    %l = tsr.reduce sum %y over ["batch", "in"] : !tsr.tensor<[batch: 8, in: 4], f32> -> !tsr.tensor<[], f32>
    %dw = tsr.gradient %l wrt(%w) : (!tsr.tensor<[], f32>, !tsr.tensor<[layer: 3, in: 4, out: 4], f32>) -> !tsr.tensor<[layer: 3, in: 4, out: 4], f32>
    return %dw : !tsr.tensor<[layer: 3, in: 4, out: 4], f32>
  }

  // A stop has no adjoint, inside a repeat neither. It is gone afterwards, in functions without a gradient too.
  // CHECK-LABEL: @stops
  // CHECK-NOT: tsr.stop
  // CHECK: tsr.repeat [layer: 3] reverse
  // CHECK: tsr.mul %{{.*}} : <[in: 4], f32>
  // CHECK-NOT: tsr.stop
  // CHECK-NOT: tsr.cos
  // CHECK: return
  func.func @stops(%x: !tsr.tensor<[in: 4], f32>, %w: !tsr.tensor<[layer: 3, in: 4], f32>) -> !tsr.tensor<[layer: 3, in: 4], f32> {
    %y = tsr.repeat [layer: 3] index %i carry (%c = %x : !tsr.tensor<[in: 4], f32>) slice (%v = %w : !tsr.tensor<[layer: 3, in: 4], f32>) -> !tsr.tensor<[in: 4], f32> {
      %s = tsr.sin %v : !tsr.tensor<[in: 4], f32>
      %t = tsr.stop %s : !tsr.tensor<[in: 4], f32>
      %m = tsr.mul %t, %v : <[in: 4], f32>
      %n = tsr.mul %c, %m : <[in: 4], f32>
      tsr.yield %n : !tsr.tensor<[in: 4], f32>
    }
    %l = tsr.reduce sum %y over ["in"] : !tsr.tensor<[in: 4], f32> -> !tsr.tensor<[], f32>
    %dw = tsr.gradient %l wrt(%w) : (!tsr.tensor<[], f32>, !tsr.tensor<[layer: 3, in: 4], f32>) -> !tsr.tensor<[layer: 3, in: 4], f32>
    return %dw : !tsr.tensor<[layer: 3, in: 4], f32>
  }

  // CHECK-LABEL: @stopsAlone
  // CHECK-NEXT: %[[E:.*]] = tsr.exp %arg0 as "e"
  // CHECK-NEXT: return %[[E]]
  func.func @stopsAlone(%x: !tsr.tensor<[in: 4], f32>) -> !tsr.tensor<[in: 4], f32> {
    %e = tsr.exp %x : !tsr.tensor<[in: 4], f32>
    %s = tsr.stop %e as "e" : !tsr.tensor<[in: 4], f32>
    return %s : !tsr.tensor<[in: 4], f32>
  }
}
