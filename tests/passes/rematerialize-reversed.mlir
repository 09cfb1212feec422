// RUN: sed 's/tsr.phase = "tile"/&, tsr.remat = "auto", tsr.memory = {arena = 19000}/' %s | tessera-opt --tsr-rematerialize | FileCheck %s
// RUN: sed 's/tsr.phase = "tile"/&, tsr.remat = "auto", tsr.memory = {arena = 19000}/' %s | tessera-opt --tsr-rematerialize --tsr-schedule --tsr-verify-phase=phase=schedule | FileCheck %s --check-prefix=WITHIN
// WITHIN: tsr.arena = 18688

!x = !tsr.tensor<[batch: 64, embed: 4], f32>
!h = !tsr.tensor<[batch: 64, ff: 8], f32>
!w = !tsr.tensor<[embed: 4, ff: 8], f32>
!xs = !tsr.tensor<[layer: 6, batch: 64, embed: 4], f32>
!hs = !tsr.tensor<[layer: 6, batch: 64, ff: 8], f32>
!ws = !tsr.tensor<[layer: 6, embed: 4, ff: 8], f32>
!loss = !tsr.tensor<[], f32>
!counter = !tsr.tensor<[], i32>
!seed = !tsr.tensor<[], i64>

// A stack that runs from its last layer to its first. Those that run first recompute: the layers 2 to 5.
// CHECK: %[[F2:.*]]:2 = tsr.repeat [layer: 4] reverse index %arg5 carry (%arg6 = %arg4 :
// CHECK-NEXT: %[[AT:.*]] = tsr.kernel "position" (%a = %arg5 :
// CHECK: tsr.constant 2
// CHECK: tsr.kernel "dropout" {{.*}} %d = %[[AT]] :
// CHECK: tsr.yield %down, %dropout :
// CHECK: %[[F0:.*]]:3 = tsr.repeat [layer: 2] reverse index %arg5 carry (%arg6 = %[[F2]]#0 :
// CHECK-NEXT: tsr.kernel "dropout" {{.*}} %d = %arg5 :
// CHECK: tsr.yield %down, %up, %dropout :
// CHECK: %[[B0:.*]]:3 = tsr.repeat [layer: 2] index {{.*}} %[[F0]]#1 :
// CHECK: %[[B2:.*]]:3 = tsr.repeat [layer: 4] index %arg5 carry (%arg6 = %[[B0]]#0 :
// CHECK: as "recompute of h.up" backward {
// CHECK: tsr.join %[[B0]]#1, %[[B2]]#1 along layer backward
module attributes {tsr.axes = ["layer", "batch", "embed", "ff"], tsr.phase = "tile"} {
  func.func @step(%up: !ws, %down: !ws, %step: !counter, %seed: !seed, %x: !x) -> (!loss, !ws, !ws) {
    %f:3 = tsr.repeat [layer: 6] reverse index %i carry (%c = %x : !x) slice (%u = %up : !ws, %d = %down : !ws) invariant (%s = %seed : !seed, %n = %step : !counter) -> (!x, !hs, !xs) {
      %dropout = tsr.kernel "dropout" (%a = %c : !x, %b = %s : !seed, %k = %n : !counter, %l = %i : !counter) parallel [batch, embed] vector embed as "h.dropout" {
        %0 = tsr.random uniform site 1523105229 seed %b step %k salts %l canonical [batch, embed] : (!seed, !counter, !counter) -> !x
        %1 = tsr.mul %0, %a : !x
        tsr.yield %1 : !x
      }
      %out, %act = tsr.kernel "up" (%a = %dropout : !x, %b = %u : !w) parallel [batch, ff] serial [embed] vector ff as "h.up" {
        %0 = tsr.mul %a, %b : !x, !w -> !tsr.tensor<[batch: 64, embed: 4, ff: 8], f32>
        %1 = tsr.reduce sum %0 over [embed] : !tsr.tensor<[batch: 64, embed: 4, ff: 8], f32>
        %2 = tsr.tanh %1 : !h
        tsr.yield %1, %2 : !h, !h
      }
      %y = tsr.kernel "down" (%a = %act : !h, %b = %d : !w) parallel [batch, embed] serial [ff] vector ff as "h.down" {
        %0 = tsr.mul %a, %b : !h, !w -> !tsr.tensor<[batch: 64, embed: 4, ff: 8], f32>
        %1 = tsr.reduce sum %0 over [ff] : !tsr.tensor<[batch: 64, embed: 4, ff: 8], f32>
        tsr.yield %1 : !x
      }
      tsr.yield %y, %out, %dropout : !x, !h, !x
    }
    %e = tsr.kernel "e" (%a = %f#0 : !x) parallel [] serial [batch, embed] vector embed as "e" {
      %0 = tsr.reduce sum %a over [batch, embed] : !x
      tsr.yield %0 : !loss
    }
    %one = tsr.kernel "one" () parallel [batch, embed] vector embed backward {
      %0 = tsr.constant 1.0 -> !x
      tsr.yield %0 : !x
    }
    %g:3 = tsr.repeat [layer: 6] index %i carry (%dy = %one : !x) slice (%d = %down : !ws, %out = %f#1 : !hs, %u = %up : !ws, %dropout = %f#2 : !xs) invariant (%s = %seed : !seed, %n = %step : !counter) -> (!x, !ws, !ws) backward {
      %act, %dh = tsr.kernel "grad" (%a = %out : !h, %b = %dy : !x, %k = %d : !w) parallel [batch, ff] serial [embed] vector ff as "h.grad" backward {
        %0 = tsr.tanh %a : !h
        %1 = tsr.mul %b, %k : !x, !w -> !tsr.tensor<[batch: 64, embed: 4, ff: 8], f32>
        %2 = tsr.reduce sum %1 over [embed] : !tsr.tensor<[batch: 64, embed: 4, ff: 8], f32>
        %3 = tsr.mul %0, %2 : !h
        tsr.yield %0, %3 : !h, !h
      }
      %dd = tsr.kernel "grad_down" (%a = %dy : !x, %b = %act : !h) parallel [embed, ff] serial [batch] vector ff as "h.down.grad" backward {
        %0 = tsr.mul %a, %b : !x, !h -> !tsr.tensor<[embed: 4, batch: 64, ff: 8], f32>
        %1 = tsr.reduce sum %0 over [batch] : !tsr.tensor<[embed: 4, batch: 64, ff: 8], f32>
        tsr.yield %1 : !w
      }
      %du = tsr.kernel "grad_up" (%a = %dh : !h, %b = %dropout : !x) parallel [embed, ff] serial [batch] vector ff as "h.up.grad" backward {
        %0 = tsr.mul %a, %b : !h, !x -> !tsr.tensor<[embed: 4, batch: 64, ff: 8], f32>
        %1 = tsr.reduce sum %0 over [batch] : !tsr.tensor<[embed: 4, batch: 64, ff: 8], f32>
        tsr.yield %1 : !w
      }
      %dx = tsr.kernel "grad_x" (%a = %dh : !h, %b = %u : !w, %k = %s : !seed, %l = %n : !counter, %m = %i : !counter) parallel [batch, embed] serial [ff] vector ff as "h.dropout.grad" backward {
        %0 = tsr.mul %a, %b : !h, !w -> !tsr.tensor<[batch: 64, embed: 4, ff: 8], f32>
        %1 = tsr.reduce sum %0 over [ff] : !tsr.tensor<[batch: 64, embed: 4, ff: 8], f32>
        %2 = tsr.random uniform site 1523105229 seed %k step %l salts %m canonical [batch, embed] : (!seed, !counter, !counter) -> !x
        %3 = tsr.mul %1, %2 : !x
        tsr.yield %3 : !x
      }
      tsr.yield %dx, %du, %dd : !x, !w, !w
    }
    return %e, %g#1, %g#2 : !loss, !ws, !ws
  }
}
