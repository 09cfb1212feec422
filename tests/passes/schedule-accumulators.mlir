// RUN: tessera-opt %s --split-input-file --tsr-schedule --tsr-verify-phase=phase=schedule | FileCheck %s

// A slot that is read after the contraction that adds to it keeps its contents: the contraction adds to a copy.
!x = !tsr.tensor<[layer: 3, batch: 32, in: 16], f32>
!w = !tsr.tensor<[layer: 3, in: 16, out: 16], f32>
!b = !tsr.tensor<[batch: 32, in: 16], f32>
!y = !tsr.tensor<[batch: 32, out: 16], f32>
!l = !tsr.tensor<[in: 16, out: 16], f32>
// CHECK-LABEL: func.func @step
module attributes {tsr.axes = ["layer", "batch", "in", "out"], tsr.phase = "tile"} {
  func.func @step(%x: !x, %w: !w, %y: !y) -> (!w, !w) {
    %s = tsr.kernel "exp" (%a = %w : !w) parallel [layer, in, out] vector out {
      %e = tsr.exp %a : !w
      tsr.yield %e : !w
    }
    // CHECK: tsr.repeat
    %g:2 = tsr.repeat [layer: 3] index %i slice (%c = %x : !x, %t = %s : !w) invariant (%d = %y : !y) -> (!w, !w) {
      // CHECK: %[[COPY:.*]] = tsr.reorder %{{.*}} at <[[AT:.*]]> :
      // CHECK: tsr.contract {{.*}} init %[[COPY]] at <[[AT]]>
      %n = tsr.contract %c, %d over [batch] init %t : (!b, !y, !l) -> !l
      %q = tsr.kernel "sin" (%a = %t : !l) parallel [in, out] vector out {
        %e = tsr.sin %a : !l
        tsr.yield %e : !l
      }
      tsr.yield %n, %q : !l, !l
    }
    return %g#0, %g#1 : !w, !w
  }
}

// -----

// Slot by slot of a slot.
!x = !tsr.tensor<[micro: 4, batch: 32, in: 16], f32>
!w = !tsr.tensor<[outer: 2, layer: 3, in: 16, out: 16], f32>
!s = !tsr.tensor<[layer: 3, in: 16, out: 16], f32>
!b = !tsr.tensor<[batch: 32, in: 16], f32>
!y = !tsr.tensor<[batch: 32, out: 16], f32>
!l = !tsr.tensor<[in: 16, out: 16], f32>
// CHECK-LABEL: func.func @step
module attributes {tsr.axes = ["micro", "outer", "layer", "batch", "in", "out"], tsr.phase = "tile"} {
  func.func @step(%x: !x, %w: !w, %y: !y) -> !w {
    %zero = tsr.kernel "exp" (%a = %w : !w) parallel [outer, layer, in, out] vector out {
      %e = tsr.exp %a : !w
      tsr.yield %e : !w
    }
    // CHECK: tsr.repeat [micro: 4] {{.*}} at <[[PLACE:[0-9]+]]>
    // CHECK-NOT: tsr.reorder
    // CHECK: tsr.contract {{.*}} at <[[PLACE]], [0, 3072, 1024]>
    %sum = tsr.repeat [micro: 4] index %i carry (%c = %zero : !w) slice (%m = %x : !x) invariant (%d = %y : !y) -> (!w) {
      %g = tsr.repeat [outer: 2] index %j slice (%u = %c : !w) invariant (%m1 = %m : !b, %d1 = %d : !y) -> (!w) {
        %h = tsr.repeat [layer: 3] reverse index %k slice (%v = %u : !s) invariant (%m2 = %m1 : !b, %d2 = %d1 : !y) -> (!s) {
          %n = tsr.contract %m2, %d2 over [batch] init %v : (!b, !y, !l) -> !l
          tsr.yield %n : !l
        }
        tsr.yield %h : !s
      }
      tsr.yield %g : !w
    }
    return %sum : !w
  }
}
