// RUN: tessera-opt %s --split-input-file --tsr-rematerialize | FileCheck %s
// RUN: tessera-opt %s --split-input-file --tsr-rematerialize --tsr-verify-phase=phase=rematerialize --tsr-schedule --tsr-verify-phase=phase=schedule | FileCheck %s --check-prefix=PLACES
// PLACES-COUNT-2: tsr.phase = "schedule"

!x = !tsr.tensor<[batch: 64, embed: 64], f32>
!h = !tsr.tensor<[batch: 64, ff: 64], f32>
!w = !tsr.tensor<[embed: 64, ff: 64], f32>
!hs = !tsr.tensor<[layer: 6, batch: 64, ff: 64], f32>
!ws = !tsr.tensor<[layer: 6, embed: 64, ff: 64], f32>

// Two contractions with a common operand are fused before anything is recomputed, and recomputed together, with a mark of their own.
// CHECK-LABEL: func.func @step
// CHECK-SAME: attributes {tsr.fused_gemms}
// CHECK: tsr.contract {{.*}} as "h.k" {tsr.group = 0 : i64}
// CHECK: tsr.contract {{.*}} as "h.v" {tsr.group = 0 : i64}
// CHECK: tsr.yield %y, %arg{{[0-9]+}} :
// CHECK: tsr.repeat [layer: 6] reverse
// CHECK-NEXT: tsr.contract {{.*}} as "h.y.grad"
// CHECK-NEXT: %k = tsr.contract {{.*}} as "recompute of h.k" backward {tsr.group = [[GROUP:[1-9]]] : i64}
// CHECK-NEXT: %v = tsr.contract {{.*}} as "recompute of h.v" backward {tsr.group = [[GROUP]] : i64}
// CHECK: tsr.kernel "grad" (%a = %grad : {{.*}}, %b = %k : {{.*}}, %c = %v :
module attributes {tsr.axes = ["layer", "batch", "embed", "ff"], tsr.phase = "tile", tsr.remat = "layer"} {
  func.func @step(%wk: !ws, %wv: !ws, %x: !x) -> (!x, !hs) {
    %f:3 = tsr.repeat [layer: 6] index %i carry (%c = %x : !x) slice (%a = %wk : !ws, %b = %wv : !ws) -> (!x, !hs, !hs) {
      %k = tsr.contract %c, %a over [embed] as "h.k" : (!x, !w) -> !h
      %v = tsr.contract %c, %b over [embed] as "h.v" : (!x, !w) -> !h
      %p = tsr.kernel "p" (%l = %k : !h, %r = %v : !h) parallel [batch, ff] vector ff {
        %0 = tsr.mul %l, %r : !h
        tsr.yield %0 : !h
      }
      %y = tsr.contract %p, %a over [ff] as "h.y" : (!h, !w) -> !x
      tsr.yield %y, %k, %v : !x, !h, !h
    }
    %g:2 = tsr.repeat [layer: 6] reverse index %i carry (%dy = %f#0 : !x) slice (%a = %wk : !ws, %k = %f#1 : !hs, %v = %f#2 : !hs) -> (!x, !hs) backward {
      %dp = tsr.contract %dy, %a over [embed] as "h.y.grad" backward : (!x, !w) -> !h
      %d = tsr.kernel "grad" (%l = %dp : !h, %m = %k : !h, %n = %v : !h) parallel [batch, ff] vector ff as "grad" backward {
        %0 = tsr.mul %l, %m : !h
        %1 = tsr.mul %0, %n : !h
        tsr.yield %1 : !h
      }
      %dx = tsr.contract %d, %a over [ff] as "h.k.grad" backward : (!h, !w) -> !x
      tsr.yield %dx, %d : !x, !h
    }
    return %g#0, %g#1 : !x, !hs
  }
}

// -----

!x = !tsr.tensor<[batch: 64, embed: 64], f32>
!h = !tsr.tensor<[batch: 64, ff: 64], f32>
!w = !tsr.tensor<[embed: 64, ff: 64], f32>
!hs = !tsr.tensor<[layer: 6, batch: 64, ff: 64], f32>
!ws = !tsr.tensor<[layer: 6, embed: 64, ff: 64], f32>

// If only one of them is read, it is saved: alone it might add in another order.
// CHECK-LABEL: func.func @step
// CHECK: tsr.contract {{.*}} as "h.v" {tsr.group = 0 : i64}
// CHECK: tsr.yield %y, %k :
// CHECK: tsr.repeat [layer: 6] reverse
// CHECK-NOT: recompute of
// CHECK: return
module attributes {tsr.axes = ["layer", "batch", "embed", "ff"], tsr.phase = "tile", tsr.remat = "layer"} {
  func.func @step(%wk: !ws, %wv: !ws, %x: !x) -> (!x, !hs) {
    %f:2 = tsr.repeat [layer: 6] index %i carry (%c = %x : !x) slice (%a = %wk : !ws, %b = %wv : !ws) -> (!x, !hs) {
      %k = tsr.contract %c, %a over [embed] as "h.k" : (!x, !w) -> !h
      %v = tsr.contract %c, %b over [embed] as "h.v" : (!x, !w) -> !h
      %p = tsr.kernel "p" (%l = %k : !h, %r = %v : !h) parallel [batch, ff] vector ff {
        %0 = tsr.mul %l, %r : !h
        tsr.yield %0 : !h
      }
      %y = tsr.contract %p, %a over [ff] as "h.y" : (!h, !w) -> !x
      tsr.yield %y, %k : !x, !h
    }
    %g:2 = tsr.repeat [layer: 6] reverse index %i carry (%dy = %f#0 : !x) slice (%a = %wk : !ws, %k = %f#1 : !hs) -> (!x, !hs) backward {
      %dp = tsr.contract %dy, %a over [embed] as "h.y.grad" backward : (!x, !w) -> !h
      %d = tsr.kernel "grad" (%l = %dp : !h, %m = %k : !h) parallel [batch, ff] vector ff as "grad" backward {
        %0 = tsr.mul %l, %m : !h
        tsr.yield %0 : !h
      }
      %dx = tsr.contract %d, %a over [ff] as "h.k.grad" backward : (!h, !w) -> !x
      tsr.yield %dx, %d : !x, !h
    }
    return %g#0, %g#1 : !x, !hs
  }
}
