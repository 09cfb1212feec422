// RUN: tessera-opt %s --split-input-file --tsr-fuse | FileCheck %s
// RUN: tessera-opt %s --split-input-file --tsr-fuse --tsr-tile --tsr-schedule --tsr-verify-phase=phase=schedule | FileCheck %s --check-prefix=PLACES

// Gradients of micro-batches: the sum of a stack is carried, so each layer adds to its slot of it, and the next sum is where the last
// one was.
!x = !tsr.tensor<[micro: 4, batch: 32, in: 16], f32>
!w = !tsr.tensor<[layer: 3, in: 16, out: 16], f32>
!b = !tsr.tensor<[batch: 32, in: 16], f32>
!l = !tsr.tensor<[in: 16, out: 16], f32>
!y = !tsr.tensor<[batch: 32, out: 16], f32>
// CHECK-LABEL: func.func @step
// PLACES-LABEL: func.func @step
module attributes {tsr.axes = ["micro", "layer", "batch", "in", "out"], tsr.phase = "layout"} {
  func.func @step(%x: !x, %w: !w) -> !w {
    %zero = tsr.constant 0.0 -> !w
    // CHECK: tsr.repeat [micro: 4] {{.*}} carry (%[[SUM:[^ ]*]] =
    // PLACES: tsr.repeat [micro: 4] {{.*}} at <[[PLACE:[0-9]+]]>
    %sum = tsr.repeat [micro: 4] index %i carry (%s = %zero : !w) slice (%m = %x : !x) invariant (%v = %w : !w) -> (!w) {
      // CHECK: tsr.repeat [layer: 3] reverse {{.*}} slice (%[[W:[^ ]*]] = %{{[^ ]*}} : {{.*}}, %[[SLOT:[^ ]*]] = %[[SUM]] :
      // PLACES: tsr.repeat [layer: 3] reverse {{.*}} at <{{[0-9]+}}>, <[[PLACE]]>
      %d, %g = tsr.repeat [layer: 3] reverse index %j carry (%c = %m : !b) slice (%u = %v : !w) -> (!b, !w) {
        %p = tsr.contract %c, %u over [in] : (!b, !l) -> !y
        // CHECK: %[[G:.*]] = tsr.contract {{.*}} over [batch] init %[[SLOT]]
        // PLACES: tsr.contract {{.*}} over [batch] init {{.*}} at <[[PLACE]], [0, 1024]>
        %t = tsr.contract %c, %p over [batch] : (!b, !y) -> !l
        %n = tsr.contract %p, %u over [out] : (!y, !l) -> !b
        tsr.yield %n, %t : !b, !l
      }
      // CHECK-NOT: tsr.add
      %next = tsr.add %s, %g : !w
      tsr.yield %next : !w
    }
    // CHECK: return
    return %sum : !w
  }
}

// -----

// Weights of two repeats: the second one adds to the stack of the first one.
!w = !tsr.tensor<[layer: 3, in: 16, out: 16], f32>
!b = !tsr.tensor<[batch: 32, in: 16], f32>
!l = !tsr.tensor<[in: 16, out: 16], f32>
// CHECK-LABEL: func.func @step
// PLACES-LABEL: func.func @step
module attributes {tsr.axes = ["layer", "batch", "in", "out"], tsr.phase = "layout"} {
  func.func @step(%x: !tsr.tensor<[layer: 3, batch: 32, in: 16], f32>, %y: !tsr.tensor<[layer: 3, batch: 32, out: 16], f32>) -> !w {
    // CHECK: %[[FIRST:.*]] = tsr.repeat [layer: 3]
    // PLACES: tsr.repeat [layer: 3] {{.*}} at <[[PLACE:[0-9]+]]>
    %g = tsr.repeat [layer: 3] index %i slice (%a = %x : !tsr.tensor<[layer: 3, batch: 32, in: 16], f32>, %b = %y : !tsr.tensor<[layer: 3, batch: 32, out: 16], f32>) -> (!w) {
      %t = tsr.contract %a, %b over [batch] : (!b, !tsr.tensor<[batch: 32, out: 16], f32>) -> !l
      tsr.yield %t : !l
    }
    // CHECK: tsr.repeat [layer: 3] {{.*}}%[[SLOT:[^ ]*]] = %[[FIRST]] :
    // CHECK: tsr.contract {{.*}} init %[[SLOT]]
    // PLACES: tsr.repeat [layer: 3] {{.*}} at <[[PLACE]]>
    %h = tsr.repeat [layer: 3] index %i slice (%a = %x : !tsr.tensor<[layer: 3, batch: 32, in: 16], f32>, %b = %y : !tsr.tensor<[layer: 3, batch: 32, out: 16], f32>) -> (!w) {
      %t = tsr.contract %a, %b over [batch] : (!b, !tsr.tensor<[batch: 32, out: 16], f32>) -> !l
      tsr.yield %t : !l
    }
    // CHECK-NOT: tsr.add
    %sum = tsr.add %h, %g : !w
    return %sum : !w
  }
}

// -----

// Not if the sum or the stack is read elsewhere, nor if the term is: it must be stored anyway.
!x = !tsr.tensor<[layer: 3, batch: 32, in: 16], f32>
!y = !tsr.tensor<[layer: 3, batch: 32, out: 16], f32>
!w = !tsr.tensor<[layer: 3, in: 16, out: 16], f32>
!l = !tsr.tensor<[in: 16, out: 16], f32>
!b = !tsr.tensor<[batch: 32, in: 16], f32>
!c = !tsr.tensor<[batch: 32, out: 16], f32>
// CHECK-LABEL: func.func @step
// PLACES-LABEL: func.func @step
module attributes {tsr.axes = ["layer", "batch", "in", "out"], tsr.phase = "layout"} {
  func.func @step(%x: !x, %y: !y) -> (!w, !w, !w, !w, !w) {
    // CHECK-NOT: init
    %g = tsr.repeat [layer: 3] index %i slice (%a = %x : !x, %b = %y : !y) -> (!w) {
      %t = tsr.contract %a, %b over [batch] : (!b, !c) -> !l
      tsr.yield %t : !l
    }
    %h:3 = tsr.repeat [layer: 3] index %i slice (%a = %x : !x, %b = %y : !y) -> (!w, !w, !w) {
      %t = tsr.contract %a, %b over [batch] : (!b, !c) -> !l
      %e = tsr.exp %t : !l
      %u = tsr.contract %b, %a over [batch] : (!c, !b) -> !l
      tsr.yield %t, %e, %u : !l, !l, !l
    }
    // CHECK: tsr.add
    %s = tsr.add %g, %h#0 : !w
    // CHECK: tsr.add
    %r = tsr.add %g, %h#2 : !w
    return %g, %s, %h#1, %h#2, %r : !w, !w, !w, !w, !w
  }
}

// -----

// A stack of stacks: the innermost contraction adds to a slot of a slot.
!x = !tsr.tensor<[batch: 32, in: 16], f32>
!y = !tsr.tensor<[batch: 32, out: 16], f32>
!w = !tsr.tensor<[stage: 2, layer: 3, in: 16, out: 16], f32>
!l = !tsr.tensor<[in: 16, out: 16], f32>
!s = !tsr.tensor<[layer: 3, in: 16, out: 16], f32>
// CHECK-LABEL: func.func @step
// PLACES-LABEL: func.func @step
module attributes {tsr.axes = ["micro", "stage", "layer", "batch", "in", "out"], tsr.phase = "layout"} {
  func.func @step(%x: !x, %y: !y) -> !w {
    %zero = tsr.constant 0.0 -> !w
    // PLACES: tsr.repeat [micro: 4] {{.*}} at <[[PLACE:[0-9]+]]>
    // CHECK: tsr.repeat [micro: 4] {{.*}} carry (%[[SUM:[^ ]*]] =
    %sum = tsr.repeat [micro: 4] index %i carry (%c = %zero : !w) invariant (%x1 = %x : !x, %y1 = %y : !y) -> (!w) {
      // CHECK: tsr.repeat [stage: 2] {{.*}} slice (%[[STAGE:[^ ]*]] = %[[SUM]] :
      %g = tsr.repeat [stage: 2] index %j invariant (%x2 = %x1 : !x, %y2 = %y1 : !y) -> (!w) {
        // CHECK: tsr.repeat [layer: 3] {{.*}} slice (%[[SLOT:[^ ]*]] = %[[STAGE]] :
        %h = tsr.repeat [layer: 3] index %k invariant (%x3 = %x2 : !x, %y3 = %y2 : !y) -> (!s) {
          // CHECK: tsr.contract {{.*}} init %[[SLOT]]
          // PLACES: tsr.contract {{.*}} at <[[PLACE]], [0, 3072, 1024]>
          %t = tsr.contract %x3, %y3 over [batch] : (!x, !y) -> !l
          tsr.yield %t : !l
        }
        tsr.yield %h : !s
      }
      // CHECK-NOT: tsr.add
      %n = tsr.add %g, %c : !w
      tsr.yield %n : !w
    }
    return %sum : !w
  }
}
