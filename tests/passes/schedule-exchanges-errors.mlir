// RUN: tessera-opt %s --split-input-file --tsr-verify-phase=phase=schedule --verify-diagnostics

// Exchanges that start an iteration early: the proof of places starts them when they run.

// What a kernel computes is put where the next iteration's weights arrive meanwhile.
module attributes {tsr.arena = 1280 : i64, tsr.arena_bound = 1280 : i64, tsr.axes = ["layer", "data", "m", "n"], tsr.mesh = [#tsr.axis<data: 2>], tsr.phase = "tile", tsr.target = "cuda"} {
  func.func @step(%arg0: !tsr.tensor<[data: 2, n: 16], f32> {tsr.place = #tsr.place<640>}, %arg1: !tsr.tensor<[layer: 4, n: 16], f32> {tsr.place = #tsr.place<0>}, %arg2: !tsr.tensor<[n: 16], f32> {tsr.place = #tsr.place<1152>}) -> (!tsr.tensor<[data: 2, n: 16], f32> {tsr.place = #tsr.place<512>}, !tsr.tensor<[layer: 4, n: 16], f32> {tsr.place = #tsr.place<256>}) {
    %0 = tsr.reorder %arg0 at <512> : <[data: 2, n: 16], f32> -> <[data: 2, n: 16], f32>
    %1 = tsr.start all_gather %arg2 along data at <640> : <[n: 16], f32> -> <[data: 2, n: 16], f32>
    %2:2 = tsr.repeat [layer: 4] index %arg3 carry (%arg4 = %0 : !tsr.tensor<[data: 2, n: 16], f32>) slice (%arg5 = %arg1 : !tsr.tensor<[layer: 4, n: 16], f32>) -> (!tsr.tensor<[data: 2, n: 16], f32>, !tsr.tensor<[layer: 4, n: 16], f32>) arguments at <1216>, <512>, <0, [64]> at <512>, <256> {
      // expected-note @below {{the value was computed here}}
      %5 = tsr.start all_gather %arg5 along data at <768> {tsr.early} : <[n: 16], f32> -> <[data: 2, n: 16], f32>
      // expected-error @below {{reads bytes that were overwritten, at 768}}
      %6 = tsr.wait %5 sent %arg5 at <768> : <[data: 2, n: 16], f32>, <[n: 16], f32>
      %7 = tsr.kernel "add" (%a = %arg4 : !tsr.tensor<[data: 2, n: 16], f32>, %b = %6 : !tsr.tensor<[data: 2, n: 16], f32>) parallel [data, n] vector n at <512> {
        %12 = tsr.add %a, %b : <[data: 2, n: 16], f32>
        tsr.yield %12 : !tsr.tensor<[data: 2, n: 16], f32>
      }
      %8 = tsr.kernel "terms" (%a = %7 : !tsr.tensor<[data: 2, n: 16], f32>) parallel [data, n] vector n at <768> {
        %12 = tsr.exp %a : <[data: 2, n: 16], f32>
        tsr.yield %12 : !tsr.tensor<[data: 2, n: 16], f32>
      }
      %9 = tsr.start all_to_all %8 along data at <896> {tsr.late} : <[data: 2, n: 16], f32> -> <[data: 2, n: 16], f32>
      %10 = tsr.wait %9 sent %8 at <896> : <[data: 2, n: 16], f32>, <[data: 2, n: 16], f32>
      %11 = tsr.kernel "sum" (%a = %10 : !tsr.tensor<[data: 2, n: 16], f32>) parallel [n] serial [data] vector n at <256, [64]> {
        %12 = tsr.reduce sum %a over [data] : <[data: 2, n: 16], f32>
        tsr.yield %12 : !tsr.tensor<[n: 16], f32>
      }
      tsr.yield %7, %11 : !tsr.tensor<[data: 2, n: 16], f32>, !tsr.tensor<[n: 16], f32>
    }
    %3 = tsr.wait %1 sent %arg2 at <640> : <[data: 2, n: 16], f32>, <[n: 16], f32>
    %4 = tsr.kernel "add" (%a = %2#0 : !tsr.tensor<[data: 2, n: 16], f32>, %b = %3 : !tsr.tensor<[data: 2, n: 16], f32>) parallel [data, n] vector n at <512> {
      %5 = tsr.add %a, %b : <[data: 2, n: 16], f32>
      tsr.yield %5 : !tsr.tensor<[data: 2, n: 16], f32>
    }
    return %4, %2#1 : !tsr.tensor<[data: 2, n: 16], f32>, !tsr.tensor<[layer: 4, n: 16], f32>
  }
}

// -----

// A kernel of the iteration makes what it sends, which is not there before.
module attributes {tsr.arena = 1280 : i64, tsr.arena_bound = 1280 : i64, tsr.axes = ["layer", "data", "m", "n"], tsr.mesh = [#tsr.axis<data: 2>], tsr.phase = "tile", tsr.target = "cuda"} {
  func.func @step(%arg0: !tsr.tensor<[data: 2, n: 16], f32> {tsr.place = #tsr.place<640>}, %arg1: !tsr.tensor<[layer: 4, n: 16], f32> {tsr.place = #tsr.place<0>}, %arg2: !tsr.tensor<[n: 16], f32> {tsr.place = #tsr.place<1152>}) -> (!tsr.tensor<[data: 2, n: 16], f32> {tsr.place = #tsr.place<512>}, !tsr.tensor<[layer: 4, n: 16], f32> {tsr.place = #tsr.place<256>}) {
    %0 = tsr.reorder %arg0 at <512> : <[data: 2, n: 16], f32> -> <[data: 2, n: 16], f32>
    %1 = tsr.start all_gather %arg2 along data at <640> : <[n: 16], f32> -> <[data: 2, n: 16], f32>
    %2:2 = tsr.repeat [layer: 4] index %arg3 carry (%arg4 = %0 : !tsr.tensor<[data: 2, n: 16], f32>) slice (%arg5 = %arg1 : !tsr.tensor<[layer: 4, n: 16], f32>) -> (!tsr.tensor<[data: 2, n: 16], f32>, !tsr.tensor<[layer: 4, n: 16], f32>) arguments at <1216>, <512>, <0, [64]> at <512>, <256> {
      %5 = tsr.start all_gather %arg5 along data at <768> {tsr.early} : <[n: 16], f32> -> <[data: 2, n: 16], f32>
      %6 = tsr.wait %5 sent %arg5 at <768> : <[data: 2, n: 16], f32>, <[n: 16], f32>
      %7 = tsr.kernel "add" (%a = %arg4 : !tsr.tensor<[data: 2, n: 16], f32>, %b = %6 : !tsr.tensor<[data: 2, n: 16], f32>) parallel [data, n] vector n at <512> {
        %12 = tsr.add %a, %b : <[data: 2, n: 16], f32>
        tsr.yield %12 : !tsr.tensor<[data: 2, n: 16], f32>
      }
      %8 = tsr.kernel "terms" (%a = %7 : !tsr.tensor<[data: 2, n: 16], f32>) parallel [data, n] vector n at <1024> {
        %12 = tsr.exp %a : <[data: 2, n: 16], f32>
        tsr.yield %12 : !tsr.tensor<[data: 2, n: 16], f32>
      }
      // expected-error @below {{starts early, but does not send a slice or an invariant of its repeat}}
      %9 = tsr.start all_to_all %8 along data at <896> {tsr.early} : <[data: 2, n: 16], f32> -> <[data: 2, n: 16], f32>
      %10 = tsr.wait %9 sent %8 at <896> : <[data: 2, n: 16], f32>, <[data: 2, n: 16], f32>
      %11 = tsr.kernel "sum" (%a = %10 : !tsr.tensor<[data: 2, n: 16], f32>) parallel [n] serial [data] vector n at <256, [64]> {
        %12 = tsr.reduce sum %a over [data] : <[data: 2, n: 16], f32>
        tsr.yield %12 : !tsr.tensor<[n: 16], f32>
      }
      tsr.yield %7, %11 : !tsr.tensor<[data: 2, n: 16], f32>, !tsr.tensor<[n: 16], f32>
    }
    %3 = tsr.wait %1 sent %arg2 at <640> : <[data: 2, n: 16], f32>, <[n: 16], f32>
    %4 = tsr.kernel "add" (%a = %2#0 : !tsr.tensor<[data: 2, n: 16], f32>, %b = %3 : !tsr.tensor<[data: 2, n: 16], f32>) parallel [data, n] vector n at <512> {
      %5 = tsr.add %a, %b : <[data: 2, n: 16], f32>
      tsr.yield %5 : !tsr.tensor<[data: 2, n: 16], f32>
    }
    return %4, %2#1 : !tsr.tensor<[data: 2, n: 16], f32>, !tsr.tensor<[layer: 4, n: 16], f32>
  }
}
