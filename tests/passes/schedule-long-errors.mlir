// RUN: tessera-opt %s --split-input-file --tsr-verify-phase=phase=schedule --verify-diagnostics

// An argument is in slot 50 of 100 of a stack: an iteration overwrites it that the check does not execute.
module attributes {tsr.arena = 12800 : i64, tsr.axes = ["layer", "n"], tsr.phase = "tile"} {
  func.func @step(%x: !tsr.tensor<[n: 16], f32> {tsr.place = #tsr.place<0>}, %y: !tsr.tensor<[n: 16], f32> {tsr.place = #tsr.place<3328>}) -> (!tsr.tensor<[layer: 100, n: 16], f32> {tsr.place = #tsr.place<128>}, !tsr.tensor<[n: 16], f32> {tsr.place = #tsr.place<3328>}) {
    %stack = tsr.repeat [layer: 100] index %i invariant (%v = %x : !tsr.tensor<[n: 16], f32>) -> (!tsr.tensor<[layer: 100, n: 16], f32>) attributes {argPlaces = [#tsr.place<64>, #tsr.place<0>], tsr.places = [#tsr.place<128>]} {
      %a = tsr.kernel "a" (%p = %v : !tsr.tensor<[n: 16], f32>) parallel ["n"] serial [] vector "n" -> (!tsr.tensor<[n: 16], f32>) attributes {tsr.places = [#tsr.place<128, [64]>]} {
        %r = tsr.exp %p : !tsr.tensor<[n: 16], f32>
        tsr.yield %r : !tsr.tensor<[n: 16], f32>
      }
      tsr.yield %a : !tsr.tensor<[n: 16], f32>
    }
    // expected-error @+1 {{reads bytes that were overwritten, at 3328}}
    return %stack, %y : !tsr.tensor<[layer: 100, n: 16], f32>, !tsr.tensor<[n: 16], f32>
  }
}

// -----

// The same in an inner repeat, which moves through the slots of another stack.
module attributes {tsr.arena = 128000 : i64, tsr.axes = ["layer", "part", "n"], tsr.phase = "tile"} {
  func.func @step(%x: !tsr.tensor<[n: 16], f32> {tsr.place = #tsr.place<0>}, %y: !tsr.tensor<[n: 16], f32> {tsr.place = #tsr.place<64128>}) -> (!tsr.tensor<[layer: 40, part: 40, n: 16], f32> {tsr.place = #tsr.place<192>}, !tsr.tensor<[n: 16], f32> {tsr.place = #tsr.place<64128>}) {
    %all = tsr.repeat [layer: 40] index %i invariant (%v = %x : !tsr.tensor<[n: 16], f32>) -> (!tsr.tensor<[layer: 40, part: 40, n: 16], f32>) attributes {argPlaces = [#tsr.place<64>, #tsr.place<0>], tsr.places = [#tsr.place<192>]} {
      %stack = tsr.repeat [part: 40] index %j invariant (%w = %v : !tsr.tensor<[n: 16], f32>) -> (!tsr.tensor<[part: 40, n: 16], f32>) attributes {argPlaces = [#tsr.place<128>, #tsr.place<0>], tsr.places = [#tsr.place<192, [2560]>]} {
        %a = tsr.kernel "a" (%p = %w : !tsr.tensor<[n: 16], f32>) parallel ["n"] serial [] vector "n" -> (!tsr.tensor<[n: 16], f32>) attributes {tsr.places = [#tsr.place<192, [2560, 64]>]} {
          %r = tsr.exp %p : !tsr.tensor<[n: 16], f32>
          tsr.yield %r : !tsr.tensor<[n: 16], f32>
        }
        tsr.yield %a : !tsr.tensor<[n: 16], f32>
      }
      tsr.yield %stack : !tsr.tensor<[part: 40, n: 16], f32>
    }
    // expected-error @+1 {{reads bytes that were overwritten, at 64128}}
    return %all, %y : !tsr.tensor<[layer: 40, part: 40, n: 16], f32>, !tsr.tensor<[n: 16], f32>
  }
}

// -----

// Slots that are not adjacent: one is where an argument is.
module attributes {tsr.arena = 19200 : i64, tsr.axes = ["layer", "n"], tsr.phase = "tile"} {
  func.func @step(%x: !tsr.tensor<[n: 16], f32> {tsr.place = #tsr.place<0>}, %y: !tsr.tensor<[n: 16], f32> {tsr.place = #tsr.place<9728>}) -> (!tsr.tensor<[layer: 100, n: 16], f32> {tsr.place = #tsr.place<128 slot 192>}, !tsr.tensor<[n: 16], f32> {tsr.place = #tsr.place<9728>}) {
    %stack = tsr.repeat [layer: 100] index %i invariant (%v = %x : !tsr.tensor<[n: 16], f32>) -> (!tsr.tensor<[layer: 100, n: 16], f32>) attributes {argPlaces = [#tsr.place<64>, #tsr.place<0>], tsr.places = [#tsr.place<128 slot 192>]} {
      %a = tsr.kernel "a" (%p = %v : !tsr.tensor<[n: 16], f32>) parallel ["n"] serial [] vector "n" -> (!tsr.tensor<[n: 16], f32>) attributes {tsr.places = [#tsr.place<128, [192]>]} {
        %r = tsr.exp %p : !tsr.tensor<[n: 16], f32>
        tsr.yield %r : !tsr.tensor<[n: 16], f32>
      }
      tsr.yield %a : !tsr.tensor<[n: 16], f32>
    }
    // expected-error @+1 {{reads bytes that were overwritten, at 9728}}
    return %stack, %y : !tsr.tensor<[layer: 100, n: 16], f32>, !tsr.tensor<[n: 16], f32>
  }
}

// -----

// Between two of them there is room for the argument.
module attributes {tsr.arena = 19200 : i64, tsr.axes = ["layer", "n"], tsr.phase = "tile"} {
  func.func @step(%x: !tsr.tensor<[n: 16], f32> {tsr.place = #tsr.place<0>}, %y: !tsr.tensor<[n: 16], f32> {tsr.place = #tsr.place<9792>}) -> (!tsr.tensor<[layer: 100, n: 16], f32> {tsr.place = #tsr.place<128 slot 192>}, !tsr.tensor<[n: 16], f32> {tsr.place = #tsr.place<9792>}) {
    %stack = tsr.repeat [layer: 100] index %i invariant (%v = %x : !tsr.tensor<[n: 16], f32>) -> (!tsr.tensor<[layer: 100, n: 16], f32>) attributes {argPlaces = [#tsr.place<64>, #tsr.place<0>], tsr.places = [#tsr.place<128 slot 192>]} {
      %a = tsr.kernel "a" (%p = %v : !tsr.tensor<[n: 16], f32>) parallel ["n"] serial [] vector "n" -> (!tsr.tensor<[n: 16], f32>) attributes {tsr.places = [#tsr.place<128, [192]>]} {
        %r = tsr.exp %p : !tsr.tensor<[n: 16], f32>
        tsr.yield %r : !tsr.tensor<[n: 16], f32>
      }
      tsr.yield %a : !tsr.tensor<[n: 16], f32>
    }
    return %stack, %y : !tsr.tensor<[layer: 100, n: 16], f32>, !tsr.tensor<[n: 16], f32>
  }
}
