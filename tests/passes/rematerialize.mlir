// RUN: tessera-opt %s > %t && tessera-opt %s --tsr-rematerialize | diff - %t
// RUN: sed 's/tsr.phase = "tile"/&, tsr.remat = "none"/' %s | tessera-opt --tsr-rematerialize | FileCheck %s --check-prefix=NONE
// RUN: sed 's/tsr.phase = "tile"/&, tsr.remat = "layer"/' %s | tessera-opt --tsr-rematerialize | FileCheck %s --check-prefix=LAYER
// RUN: sed 's/tsr.phase = "tile"/&, tsr.remat = "layer", tsr.save = ["h.up"]/' %s | tessera-opt --tsr-rematerialize | FileCheck %s --check-prefix=NONE
// RUN: sed 's/tsr.phase = "tile"/&, tsr.recompute = ["*.dropout"]/' %s | tessera-opt --tsr-rematerialize | FileCheck %s --check-prefix=PIN
// RUN: sed 's/tsr.phase = "tile"/&, tsr.remat = "auto", tsr.memory = {arena = 19000}/' %s | tessera-opt --tsr-rematerialize=price-values=true | FileCheck %s --check-prefix=SPANS
// RUN: sed 's/tsr.phase = "tile"/&, tsr.remat = "auto", tsr.memory = {arena = 25600, exchanges = 6600}/' %s | tessera-opt --tsr-rematerialize=price-values=true | FileCheck %s --check-prefix=SPANS
// RUN: sed 's/tsr.phase = "tile"/&, tsr.remat = "sqrt"/' %s | tessera-opt --tsr-rematerialize | FileCheck %s --check-prefix=SQRT
// RUN: tessera-opt %s --tsr-rematerialize="find-frontier=true price-values=true" | FileCheck %s --check-prefix=FRONTIER
// RUN: sed 's/tsr.phase = "tile"/&, tsr.remat = "sqrt"/' %s | tessera-opt --tsr-rematerialize=find-frontier=true | FileCheck %s --check-prefix=UNIFORM
// Places hold after all of it.
// RUN: sed 's/tsr.phase = "tile"/&, tsr.remat = "layer"/' %s | tessera-opt --tsr-rematerialize --tsr-verify-phase=phase=rematerialize --tsr-schedule --tsr-verify-phase=phase=schedule | FileCheck %s --check-prefix=PLACES
// RUN: sed 's/tsr.phase = "tile"/&, tsr.remat = "sqrt"/' %s | tessera-opt --tsr-rematerialize --tsr-verify-phase=phase=rematerialize --tsr-schedule --tsr-verify-phase=phase=schedule | FileCheck %s --check-prefix=PLACES
// RUN: sed 's/tsr.phase = "tile"/&, tsr.remat = "auto", tsr.memory = {arena = 19000}/' %s | tessera-opt --tsr-rematerialize --tsr-verify-phase=phase=rematerialize --tsr-schedule --tsr-verify-phase=phase=schedule | FileCheck %s --check-prefix=WITHIN

!x = !tsr.tensor<[batch: 64, embed: 4], f32>
!h = !tsr.tensor<[batch: 64, ff: 8], f32>
!w = !tsr.tensor<[embed: 4, ff: 8], f32>
!xs = !tsr.tensor<[layer: 6, batch: 64, embed: 4], f32>
!hs = !tsr.tensor<[layer: 6, batch: 64, ff: 8], f32>
!ws = !tsr.tensor<[layer: 6, embed: 4, ff: 8], f32>
!loss = !tsr.tensor<[], f32>
!counter = !tsr.tensor<[], i32>
!seed = !tsr.tensor<[], i64>

// Nothing is recomputed: of what the layers stack, both are saved.
// NONE: tsr.repeat [layer: 6] index
// NONE: tsr.yield %down, %up, %dropout
// NONE: tsr.repeat [layer: 6] reverse
// NONE-NOT: recompute of

// The input of tanh is recomputed from what is dropped out, which is saved: its inputs are as large. tanh of it is a second result
// of the clone, so the gradient's kernel computes it no more; in the forward pass, the first result is gone.
// LAYER: tsr.repeat [layer: 6] index
// LAYER: %dropout = tsr.kernel "dropout"
// LAYER: %up = tsr.kernel "up" {{.*}} as "h.up" {
// LAYER: tsr.yield %down, %dropout :
// LAYER: tsr.repeat [layer: 6] reverse {{.*}} slice (%arg7 = %arg1 : {{.*}}, %arg8 = %arg0 : {{.*}}, %arg9 = %0#1 : !tsr.tensor<[layer: 6, batch: 64, embed: 4], f32>)
// LAYER-NEXT: %up, %up_0 = tsr.kernel "up_2" (%a = %arg9 : {{.*}}, %b = %arg8 : {{.*}} as "recompute of h.up" backward {
// LAYER: tsr.yield %[[SUM:.*]], %[[ACT:.*]] : !tsr.tensor<[batch: 64, ff: 8], f32>, !tsr.tensor<[batch: 64, ff: 8], f32>
// LAYER: %grad = tsr.kernel "grad" (%a = %up :
// LAYER: %grad_1 = tsr.kernel "grad_down" {{.*}} %b = %up_0 :
// LAYER-NOT: recompute of

// What is pinned is recomputed, from what is dropped out of: the input of the layer.
// PIN: tsr.yield %down, %up, %arg6 :
// PIN: tsr.repeat [layer: 6] reverse
// PIN: tsr.kernel "dropout" (%a = %arg{{[0-9]+}} : {{.*}} %d = %arg5 : {{.*}} as "recompute of h.dropout" backward {
// PIN: tsr.kernel "grad_up" {{.*}} %b = %dropout :
// PIN-NOT: recompute of

// The first four layers recompute, the last two do not. Draws of the last ones are those of the layers 4 and 5. The gradients of the
// weights are joined.
// SPANS: tsr.frontier = [{arena = 25600 : i64, live = 25600 : i64, seconds = 0.000000e+00 : f64, what = "nothing"}, {{.*}}{arena = 18752 : i64, chosen,
// SPANS-SAME: alternative = {bytes = -4096 : i64, {{.*}} path = "h.up", recomputed = 4 : i64, saved = 2 : i64}]
// SPANS: %[[DOWN4:.*]] = tsr.slice %arg1 layer from 4
// SPANS: %[[UP4:.*]] = tsr.slice %arg0 layer from 4
// SPANS: %[[DOWN0:.*]] = tsr.slice %arg1 layer from 0
// SPANS: %[[UP0:.*]] = tsr.slice %arg0 layer from 0
// SPANS: %[[F0:.*]]:2 = tsr.repeat [layer: 4] index %arg5 carry (%arg6 = %arg4 : {{.*}} slice (%arg7 = %[[UP0]] : {{.*}}, %arg8 = %[[DOWN0]] :
// SPANS-NEXT: tsr.kernel "dropout" {{.*}} %d = %arg5 :
// SPANS: tsr.yield %down, %dropout :
// SPANS: %[[F4:.*]]:3 = tsr.repeat [layer: 2] index %arg5 carry (%arg6 = %[[F0]]#0 :
// SPANS-NEXT: %[[AT:.*]] = tsr.kernel "position" (%a = %arg5 :
// SPANS: tsr.constant 4
// SPANS: tsr.kernel "dropout" {{.*}} %d = %[[AT]] :
// SPANS: tsr.yield %down, %up, %dropout :
// SPANS: tsr.kernel "e" (%a = %[[F4]]#0 :
// SPANS: %[[B4:.*]]:3 = tsr.repeat [layer: 2] reverse {{.*}} %[[F4]]#1 : {{.*}} %[[F4]]#2 :
// SPANS: %[[BACK:.*]] = tsr.kernel "position" (%a = %arg5 : {{.*}} backward {
// SPANS: tsr.kernel "grad_x" {{.*}} = %[[BACK]] :
// SPANS: %[[B0:.*]]:3 = tsr.repeat [layer: 4] reverse index %arg5 carry (%arg6 = %[[B4]]#0 : {{.*}} %[[F0]]#1 :
// SPANS-NEXT: as "recompute of h.up" backward {
// SPANS: tsr.kernel "grad_x" {{.*}} = %arg5 :
// SPANS: %[[JOINED:.*]] = tsr.join %[[B0]]#1, %[[B4]]#1 along layer backward
// SPANS: %[[OTHER:.*]] = tsr.join %[[B0]]#2, %[[B4]]#2 along layer backward
// SPANS: return %e, %[[JOINED]], %[[OTHER]]

// Three segments of two layers. The forward pass saves the first input of each; the backward pass computes its layers again, saving as
// `layer` does, and draws at the same positions.
// SQRT: %[[UPS:.*]] = tsr.split %arg0 layer into [layer_segment, layer]
// SQRT: %[[F:.*]]:2 = tsr.repeat [layer_segment: 3] index %arg5 carry (%arg6 = %arg4
// SQRT-NEXT: %[[OUT:.*]] = tsr.repeat [layer: 2] index %arg11 {{.*}}%[[SEGMENT:arg[0-9]+]] = %arg5 : !tsr.tensor<[], i32>)
// SQRT-NEXT: %[[AT:.*]] = tsr.kernel "position" (%a = %arg11 : {{.*}}, %b = %[[SEGMENT]] :
// SQRT: tsr.constant 2
// SQRT: tsr.kernel "dropout" {{.*}} = %[[AT]] :
// SQRT: tsr.yield %down : !tsr.tensor<[batch: 64, embed: 4], f32>
// SQRT: tsr.yield %[[OUT]], %arg6 :
// SQRT: tsr.repeat [layer_segment: 3] reverse index %arg5 {{.*}} %[[FIRST:arg[0-9]+]] = %[[F]]#1 : !tsr.tensor<[layer_segment: 3, batch: 64, embed: 4], f32>
// SQRT-NEXT: %[[AGAIN:.*]]:2 = tsr.repeat [layer: 2] index %{{.*}} carry (%{{.*}} = %[[FIRST]] : {{.*}} backward {
// SQRT-NEXT: tsr.kernel "position" {{.*}} backward {
// SQRT: tsr.yield %down, %dropout :
// SQRT: tsr.repeat [layer: 2] reverse {{.*}} %[[AGAIN]]#1 :
// SQRT: as "recompute of h.up" backward {
// SQRT: tsr.merge {{.*}} [layer_segment, layer] into layer backward

// PLACES: tsr.arena = {{[0-9]+}}
// WITHIN: tsr.arena = 18688

// Plans are listed without a budget too; the first one is taken.
// FRONTIER: tsr.frontier = [{arena = 25600 : i64, chosen, live = 25600 : i64, seconds = 0.000000e+00 : f64, what = "nothing"}, {{.*}}, {arena = 13952 : i64, live
// What they recompute is said in words, and what layers save by value: `up` can be recomputed from what is dropped out of, which is saved.
// FRONTIER-SAME: what = "layer x 6: 1 of 3 ops"}]
// FRONTIER-SAME: tsr.layer_values = [{alternative = {bytes = 960 : i64, seconds = {{[0-9.E-]+}} : f64}, axis = "layer", bytes = 6144 : i64, layers = 6 : i64, name = "h.dropout mul", path = "h.dropout", recomputed = 0 : i64, saved = 6 : i64},
// FRONTIER-SAME: {alternative = {bytes = -11648 : i64, {{.*}} name = "h.up reduce", path = "h.up", recomputed = 0 : i64, saved = 6 : i64}]
// FRONTIER-NOT: recompute of

// A plan that was asked for is listed among the others, wherever it is. Of what segments recompute no single value has an alternative;
// the input of each segment is saved.
// UNIFORM: chosen, {{[^{]*}} what = "layer x 6: 3 segments of 2, 1 of 3 ops"}
// UNIFORM-SAME: tsr.layer_values = [{axis = "layer", bytes = 6144 : i64, layers = 6 : i64, name = "{{[^"]*}}", recomputed = 0 : i64, saved = 3 : i64}, {axis = "layer",
// UNIFORM-SAME: path = "h.up", recomputed = 6 : i64, saved = 0 : i64}]

// Six layers: dropout, a matrix product with tanh, another product. The forward pass saves what is dropped out and what tanh reads.
module attributes {tsr.axes = ["layer", "batch", "embed", "ff"], tsr.phase = "tile"} {
  func.func @step(%up: !ws, %down: !ws, %step: !counter, %seed: !seed, %x: !x) -> (!loss, !ws, !ws) {
    %f:3 = tsr.repeat [layer: 6] index %i carry (%c = %x : !x) slice (%u = %up : !ws, %d = %down : !ws) invariant (%s = %seed : !seed, %n = %step : !counter) -> (!x, !hs, !xs) {
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
    %g:3 = tsr.repeat [layer: 6] reverse index %i carry (%dy = %one : !x) slice (%d = %down : !ws, %out = %f#1 : !hs, %u = %up : !ws, %dropout = %f#2 : !xs) invariant (%s = %seed : !seed, %n = %step : !counter) -> (!x, !ws, !ws) backward {
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
