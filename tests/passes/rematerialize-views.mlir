// RUN: tessera-opt %s --tsr-rematerialize --tsr-verify-phase=phase=rematerialize | FileCheck %s

!x = !tsr.tensor<[batch: 64, embed: 4], f32>
!h = !tsr.tensor<[batch: 64, ff: 8], f32>
!k = !tsr.tensor<[batch: 64, key: 8], f32>
!xs = !tsr.tensor<[layer: 6, batch: 64, embed: 4], f32>
!hs = !tsr.tensor<[layer: 6, batch: 64, ff: 8], f32>
!loss = !tsr.tensor<[], f32>

// A view at the beginning of the backward body goes to its reader, so that what it views is recomputed right before that.
// CHECK: tsr.repeat [layer: 6] reverse
// CHECK-NEXT: tsr.kernel "early"
// CHECK: tsr.kernel "up{{.*}} as "recompute of up" backward
// CHECK: tsr.rename {{.*}} [ff] to [key] backward
// CHECK-NEXT: tsr.kernel "late"
// CHECK: tsr.yield
module attributes {tsr.axes = ["layer", "batch", "embed", "ff", "key"], tsr.phase = "tile", tsr.remat = "layer"} {
  func.func @step(%x: !x) -> (!loss, !x) {
    %f:2 = tsr.repeat [layer: 6] index %i carry (%c = %x : !x) -> (!x, !hs) {
      %out = tsr.kernel "up" (%a = %c : !x) parallel [batch, ff] serial [embed] vector ff as "up" {
        %0 = tsr.constant 1.0 -> !h
        %1 = tsr.reduce sum %a over [embed] : !x
        %2 = tsr.add %0, %1 : !h, !tsr.tensor<[batch: 64], f32>
        tsr.yield %2 : !h
      }
      %y = tsr.kernel "down" (%a = %out : !h) parallel [batch, embed] serial [ff] vector embed as "down" {
        %0 = tsr.constant 1.0 -> !x
        %1 = tsr.reduce sum %a over [ff] : !h
        %2 = tsr.add %0, %1 : !x, !tsr.tensor<[batch: 64], f32>
        tsr.yield %2 : !x
      }
      tsr.yield %y, %out : !x, !h
    }
    %e = tsr.kernel "e" (%a = %f#0 : !x) parallel [] serial [batch, embed] vector embed as "e" {
      %0 = tsr.reduce sum %a over [batch, embed] : !x
      tsr.yield %0 : !loss
    }
    %one = tsr.kernel "one" () parallel [batch, embed] vector embed backward {
      %0 = tsr.constant 1.0 -> !x
      tsr.yield %0 : !x
    }
    %g = tsr.repeat [layer: 6] reverse index %i carry (%dy = %one : !x) slice (%out = %f#1 : !hs) -> !x backward {
      %view = tsr.rename %out [ff] to [key] backward : !h -> !k
      %d = tsr.kernel "early" (%a = %dy : !x) parallel [batch, embed] vector embed backward {
        %0 = tsr.tanh %a : !x
        tsr.yield %0 : !x
      }
      %dx = tsr.kernel "late" (%a = %d : !x, %b = %view : !k) parallel [batch, embed] serial [key] vector embed backward {
        %0 = tsr.reduce sum %b over [key] : !k
        %1 = tsr.add %a, %0 : !x, !tsr.tensor<[batch: 64], f32>
        tsr.yield %1 : !x
      }
      tsr.yield %dx : !x
    }
    return %e, %g : !loss, !x
  }
}
