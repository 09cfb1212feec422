// RUN: tessera-opt %s --tsr-simplify | FileCheck %s

module attributes {tsr.axes = ["layer", "batch", "seq", "head", "hd", "key", "in", "place"]} {
  // An op on constants is a constant; 1 * x and x + 0 are x; x / 4 is a product.
  // CHECK-LABEL: @arithmetic
  func.func @arithmetic(%x: !tsr.tensor<[in: 4], f32>) -> !tsr.tensor<[in: 4], f32> {
    // CHECK: %[[Q:.*]] = tsr.constant 0.25
    // CHECK-NEXT: %[[R:.*]] = tsr.mul %arg0, %[[Q]]
    // CHECK-NEXT: return %[[R]]
    %two = tsr.constant 2.0 : f32 -> !tsr.tensor<[], f32>
    %one = tsr.constant 1.0 : f32 -> !tsr.tensor<[], f32>
    %zero = tsr.sub %one, %one : (!tsr.tensor<[], f32>, !tsr.tensor<[], f32>) -> !tsr.tensor<[], f32>
    %four = tsr.mul %two, %two : (!tsr.tensor<[], f32>, !tsr.tensor<[], f32>) -> !tsr.tensor<[], f32>
    %a = tsr.mul %one, %x : (!tsr.tensor<[], f32>, !tsr.tensor<[in: 4], f32>) -> !tsr.tensor<[in: 4], f32>
    %b = tsr.add %a, %zero : (!tsr.tensor<[in: 4], f32>, !tsr.tensor<[], f32>) -> !tsr.tensor<[in: 4], f32>
    %c = tsr.div %b, %four : (!tsr.tensor<[in: 4], f32>, !tsr.tensor<[], f32>) -> !tsr.tensor<[in: 4], f32>
    return %c : !tsr.tensor<[in: 4], f32>
  }

  // x - x stays: it is NaN where x is not finite.
  // CHECK-LABEL: @nan
  func.func @nan(%x: !tsr.tensor<[in: 4], f32>) -> !tsr.tensor<[in: 4], f32> {
    // CHECK: tsr.sub %arg0, %arg0
    %d = tsr.sub %x, %x : (!tsr.tensor<[in: 4], f32>, !tsr.tensor<[in: 4], f32>) -> !tsr.tensor<[in: 4], f32>
    return %d : !tsr.tensor<[in: 4], f32>
  }

  // A stop stays until there are gradients: x + stop(y - x) is not y.
  // CHECK-LABEL: @stop
  func.func @stop(%x: !tsr.tensor<[in: 4], f32>, %y: !tsr.tensor<[in: 4], f32>) -> !tsr.tensor<[in: 4], f32> {
    // CHECK: %[[D:.*]] = tsr.sub %arg1, %arg0
    // CHECK: %[[S:.*]] = tsr.stop %[[D]] : <[in: 4], f32>
    // CHECK: tsr.add %arg0, %[[S]]
    %d = tsr.sub %y, %x : <[in: 4], f32>
    %s = tsr.stop %d : !tsr.tensor<[in: 4], f32>
    %a = tsr.add %x, %s : <[in: 4], f32>
    return %a : !tsr.tensor<[in: 4], f32>
  }

  // A difference with an integer constant becomes a sum, and chains of sums become one.
  // CHECK-LABEL: @integers
  func.func @integers(%n: !tsr.tensor<[], i32>) -> !tsr.tensor<[], i32> {
    // CHECK: %[[C:.*]] = tsr.constant -100{{$}}
    // CHECK-NEXT: tsr.add %arg0, %[[C]]
    %c = tsr.constant 101 : i32 -> !tsr.tensor<[], i32>
    %one = tsr.constant 1 : i32 -> !tsr.tensor<[], i32>
    %a = tsr.sub %n, %c : (!tsr.tensor<[], i32>, !tsr.tensor<[], i32>) -> !tsr.tensor<[], i32>
    %b = tsr.add %a, %one : (!tsr.tensor<[], i32>, !tsr.tensor<[], i32>) -> !tsr.tensor<[], i32>
    return %b : !tsr.tensor<[], i32>
  }

  // Broadcasts move after elementwise ops and vanish under sums.
  // CHECK-LABEL: @broadcasts
  func.func @broadcasts(%x: !tsr.tensor<[batch: 3], f32>, %y: !tsr.tensor<[batch: 3, in: 4], f32>) -> (!tsr.tensor<[batch: 3, in: 4], f32>, !tsr.tensor<[batch: 3], f32>) {
    // CHECK: %[[FOUR:.*]] = tsr.constant 4.0
    // CHECK: %[[E:.*]] = tsr.exp %arg0 : <[batch: 3], f32>
    // CHECK: %[[S:.*]] = tsr.add %[[E]], %arg1
    // CHECK: %[[M:.*]] = tsr.mul %[[E]], %[[FOUR]]
    // CHECK: return %[[S]], %[[M]]
    %b = tsr.broadcast %x : !tsr.tensor<[batch: 3], f32> -> !tsr.tensor<[batch: 3, in: 4], f32>
    %e = tsr.exp %b : !tsr.tensor<[batch: 3, in: 4], f32>
    %s = tsr.add %e, %y : (!tsr.tensor<[batch: 3, in: 4], f32>, !tsr.tensor<[batch: 3, in: 4], f32>) -> !tsr.tensor<[batch: 3, in: 4], f32>
    %m = tsr.reduce sum %e over ["in"] : !tsr.tensor<[batch: 3, in: 4], f32> -> !tsr.tensor<[batch: 3], f32>
    return %s, %m : !tsr.tensor<[batch: 3, in: 4], f32>, !tsr.tensor<[batch: 3], f32>
  }

  // Common subexpressions are eliminated whatever their names; draws of two sites are not equal.
  // CHECK-LABEL: @equal
  func.func @equal(%x: !tsr.tensor<[in: 4], f32>, %seed: !tsr.tensor<[], i64>, %step: !tsr.tensor<[], i32>) -> (!tsr.tensor<[in: 4], f32>, !tsr.tensor<[in: 4], f32>) {
    // CHECK: %[[E:.*]] = tsr.exp %arg0
    // CHECK-NOT: tsr.exp
    // CHECK: tsr.random uniform site 1
    // CHECK: tsr.random uniform site 2
    %a = tsr.exp %x {tsr.name = "a"} : !tsr.tensor<[in: 4], f32>
    %b = tsr.exp %x {tsr.name = "b"} : !tsr.tensor<[in: 4], f32>
    %r = tsr.random uniform site 1 seed %seed step %step : (!tsr.tensor<[], i64>, !tsr.tensor<[], i32>) -> !tsr.tensor<[in: 4], f32>
    %s = tsr.random uniform site 2 seed %seed step %step : (!tsr.tensor<[], i64>, !tsr.tensor<[], i32>) -> !tsr.tensor<[in: 4], f32>
    // CHECK: tsr.mul %[[E]], %[[E]]
    %p = tsr.mul %a, %b : (!tsr.tensor<[in: 4], f32>, !tsr.tensor<[in: 4], f32>) -> !tsr.tensor<[in: 4], f32>
    %q = tsr.add %r, %s : (!tsr.tensor<[in: 4], f32>, !tsr.tensor<[in: 4], f32>) -> !tsr.tensor<[in: 4], f32>
    return %p, %q : !tsr.tensor<[in: 4], f32>, !tsr.tensor<[in: 4], f32>
  }

  // A merge undoes a split, a rename its opposite.
  // CHECK-LABEL: @views
  func.func @views(%x: !tsr.tensor<[batch: 3, in: 8], f32>) -> !tsr.tensor<[batch: 3, in: 8], f32> {
    // CHECK-NEXT: return %arg0
    %s = tsr.split %x "in" into ["head", "hd"] : !tsr.tensor<[batch: 3, in: 8], f32> -> !tsr.tensor<[batch: 3, head: 2, hd: 4], f32>
    %m = tsr.merge %s ["head", "hd"] into "in" : !tsr.tensor<[batch: 3, head: 2, hd: 4], f32> -> !tsr.tensor<[batch: 3, in: 8], f32>
    %r = tsr.rename %m ["in"] to ["place"] : !tsr.tensor<[batch: 3, in: 8], f32> -> !tsr.tensor<[batch: 3, place: 8], f32>
    %b = tsr.rename %r ["place"] to ["in"] : !tsr.tensor<[batch: 3, place: 8], f32> -> !tsr.tensor<[batch: 3, in: 8], f32>
    return %b : !tsr.tensor<[batch: 3, in: 8], f32>
  }

  // A read at position + constant, within the axis, is a slice under another name; a guard that always holds is removed.
  // CHECK-LABEL: @affine
  func.func @affine(%x: !tsr.tensor<[in: 4, place: 9], f32>) -> !tsr.tensor<[seq: 6, in: 4], f32> {
    // CHECK: %[[S:.*]] = tsr.slice %arg0 place from 2
    // CHECK-NEXT: %[[R:.*]] = tsr.rename %[[S]] [place] to [seq]
    // CHECK-NEXT: return %[[R]]
    %p = tsr.index : !tsr.tensor<[seq: 6], i32>
    %two = tsr.constant 2 : i32 -> !tsr.tensor<[], i32>
    %nine = tsr.constant 9 : i32 -> !tsr.tensor<[], i32>
    %zero = tsr.constant 0.0 : f32 -> !tsr.tensor<[], f32>
    %i = tsr.add %p, %two : (!tsr.tensor<[seq: 6], i32>, !tsr.tensor<[], i32>) -> !tsr.tensor<[seq: 6], i32>
    %inside = tsr.compare lt %i, %nine : (!tsr.tensor<[seq: 6], i32>, !tsr.tensor<[], i32>) -> !tsr.tensor<[seq: 6], i1>
    %g = tsr.gather %x[["place"] = %i] : (!tsr.tensor<[in: 4, place: 9], f32>, !tsr.tensor<[seq: 6], i32>) -> !tsr.tensor<[seq: 6, in: 4], f32>
    %r = tsr.select %inside, %g, %zero : (!tsr.tensor<[seq: 6], i1>, !tsr.tensor<[seq: 6, in: 4], f32>, !tsr.tensor<[], f32>) -> !tsr.tensor<[seq: 6, in: 4], f32>
    return %r : !tsr.tensor<[seq: 6, in: 4], f32>
  }

  // A read that leaves the axis stays a gather.
  // CHECK-LABEL: @leavesTheAxis
  func.func @leavesTheAxis(%x: !tsr.tensor<[place: 7], f32>) -> !tsr.tensor<[seq: 6], f32> {
    // CHECK: tsr.gather
    %p = tsr.index : !tsr.tensor<[seq: 6], i32>
    %two = tsr.constant 2 : i32 -> !tsr.tensor<[], i32>
    %i = tsr.add %p, %two : (!tsr.tensor<[seq: 6], i32>, !tsr.tensor<[], i32>) -> !tsr.tensor<[seq: 6], i32>
    %g = tsr.gather %x[["place"] = %i] : (!tsr.tensor<[place: 7], f32>, !tsr.tensor<[seq: 6], i32>) -> !tsr.tensor<[seq: 6], f32>
    return %g : !tsr.tensor<[seq: 6], f32>
  }

  // A repeat loses unused stacks, unused carried values and operands that are never read.
  // CHECK-LABEL: @prune
  func.func @prune(%x: !tsr.tensor<[in: 4], f32>, %y: !tsr.tensor<[in: 4], f32>, %w: !tsr.tensor<[layer: 3, in: 4], f32>) -> !tsr.tensor<[in: 4], f32> {
    // CHECK: tsr.repeat [layer: 3] index %{{.*}} carry (%{{[a-z0-9]*}} = %arg0 : !tsr.tensor<[in: 4], f32>) slice (%{{[a-z0-9]*}} = %arg2 : !tsr.tensor<[layer: 3, in: 4], f32>) -> !tsr.tensor<[in: 4], f32>
    // CHECK-NOT: tsr.exp
    // CHECK: tsr.yield %{{[a-z0-9]*}} : !tsr.tensor<[in: 4], f32>
    %r:3 = tsr.repeat [layer: 3] index %i carry (%a = %x : !tsr.tensor<[in: 4], f32>, %b = %y : !tsr.tensor<[in: 4], f32>) slice (%v = %w : !tsr.tensor<[layer: 3, in: 4], f32>) invariant (%k = %y : !tsr.tensor<[in: 4], f32>) -> (!tsr.tensor<[in: 4], f32>, !tsr.tensor<[in: 4], f32>, !tsr.tensor<[layer: 3, in: 4], f32>) {
      %m = tsr.mul %a, %v : (!tsr.tensor<[in: 4], f32>, !tsr.tensor<[in: 4], f32>) -> !tsr.tensor<[in: 4], f32>
      %e = tsr.exp %b : !tsr.tensor<[in: 4], f32>
      %s = tsr.add %e, %k : (!tsr.tensor<[in: 4], f32>, !tsr.tensor<[in: 4], f32>) -> !tsr.tensor<[in: 4], f32>
      tsr.yield %m, %s, %e : !tsr.tensor<[in: 4], f32>, !tsr.tensor<[in: 4], f32>, !tsr.tensor<[in: 4], f32>
    }
    return %r#0 : !tsr.tensor<[in: 4], f32>
  }

  // A carried value that every iteration passes on unchanged becomes an invariant.
  // CHECK-LABEL: @passedOn
  func.func @passedOn(%x: !tsr.tensor<[in: 4], f32>, %y: !tsr.tensor<[in: 4], f32>) -> (!tsr.tensor<[in: 4], f32>, !tsr.tensor<[in: 4], f32>) {
    // CHECK: %[[R:.*]] = tsr.repeat [layer: 3] index %{{.*}} carry (%{{[a-z0-9]*}} = %arg0 : !tsr.tensor<[in: 4], f32>) invariant (%{{[a-z0-9]*}} = %arg1 :
    // CHECK: return %[[R]], %arg1
    %r:2 = tsr.repeat [layer: 3] index %i carry (%a = %x : !tsr.tensor<[in: 4], f32>, %b = %y : !tsr.tensor<[in: 4], f32>) -> (!tsr.tensor<[in: 4], f32>, !tsr.tensor<[in: 4], f32>) {
      %m = tsr.mul %a, %b : (!tsr.tensor<[in: 4], f32>, !tsr.tensor<[in: 4], f32>) -> !tsr.tensor<[in: 4], f32>
      tsr.yield %m, %b : !tsr.tensor<[in: 4], f32>, !tsr.tensor<[in: 4], f32>
    }
    return %r#0, %r#1 : !tsr.tensor<[in: 4], f32>, !tsr.tensor<[in: 4], f32>
  }

  // A chain of constants folds; regrouping it again and again would not terminate.
  // CHECK-LABEL: @constantChain
  // CHECK-NOT: tsr.mul
  // CHECK: tsr.constant 0.3125
  func.func @constantChain() -> !tsr.tensor<[], f64> {
    %a = tsr.constant 0.25 : f64 -> !tsr.tensor<[], f64>
    %b = tsr.constant 5.0 : f64 -> !tsr.tensor<[], f64>
    %c = tsr.constant 0.25 : f64 -> !tsr.tensor<[], f64>
    %d = tsr.mul %a, %b : (!tsr.tensor<[], f64>, !tsr.tensor<[], f64>) -> !tsr.tensor<[], f64>
    %e = tsr.mul %d, %c : (!tsr.tensor<[], f64>, !tsr.tensor<[], f64>) -> !tsr.tensor<[], f64>
    return %e : !tsr.tensor<[], f64>
  }
}
