// RUN: tessera-opt %s --split-input-file --tsr-verify-phase=phase=schedule --verify-diagnostics

// Places in the arena, whose numbers a dump may say at will.

// The end of the buffer does not fit into 64 bits.
module attributes {tsr.arena = 512 : i64, tsr.axes = ["n"], tsr.phase = "tile"} {
  func.func @step(%x: !tsr.tensor<[n: 16], f32> {tsr.place = #tsr.place<0>}) -> (!tsr.tensor<[n: 16], f32> {tsr.place = #tsr.place<9223372036854775744>}) {
    // expected-error @below {{buffer of 64 bytes exceeds the arena of 512 bytes: #tsr.place<9223372036854775744>}}
    %a = tsr.kernel "a" (%p = %x : !tsr.tensor<[n: 16], f32>) parallel ["n"] serial [] vector "n" -> (!tsr.tensor<[n: 16], f32>) attributes {tsr.places = [#tsr.place<9223372036854775744>]} {
      %r = tsr.exp %p : !tsr.tensor<[n: 16], f32>
      tsr.yield %r : !tsr.tensor<[n: 16], f32>
    }
    return %a : !tsr.tensor<[n: 16], f32>
  }
}

// -----

// A result that is never read may not be outside either.
module attributes {tsr.arena = 128 : i64, tsr.axes = ["n"], tsr.phase = "tile"} {
  func.func @step(%x: !tsr.tensor<[n: 16], f32> {tsr.place = #tsr.place<0>}) -> (!tsr.tensor<[n: 16], f32> {tsr.place = #tsr.place<0>}) {
    // expected-error @below {{buffer of 64 bytes exceeds the arena of 128 bytes}}
    %a = tsr.kernel "a" (%p = %x : !tsr.tensor<[n: 16], f32>) parallel ["n"] serial [] vector "n" -> (!tsr.tensor<[n: 16], f32>) attributes {tsr.places = [#tsr.place<128>]} {
      %r = tsr.exp %p : !tsr.tensor<[n: 16], f32>
      tsr.yield %r : !tsr.tensor<[n: 16], f32>
    }
    return %x : !tsr.tensor<[n: 16], f32>
  }
}

// -----

module attributes {tsr.arena = 512 : i64, tsr.axes = ["n"], tsr.phase = "tile"} {
  // expected-error @below {{buffer of 64 bytes exceeds the arena of 512 bytes: #tsr.place<-64>}}
  func.func @step(%x: !tsr.tensor<[n: 16], f32> {tsr.place = #tsr.place<-64>}) -> (!tsr.tensor<[n: 16], f32> {tsr.place = #tsr.place<-64>}) {
    return %x : !tsr.tensor<[n: 16], f32>
  }
}

// -----

// A stride that overflows in the last iteration.
module attributes {tsr.arena = 12800 : i64, tsr.axes = ["layer", "n"], tsr.phase = "tile"} {
  func.func @step(%x: !tsr.tensor<[n: 16], f32> {tsr.place = #tsr.place<0>}) -> (!tsr.tensor<[layer: 100, n: 16], f32> {tsr.place = #tsr.place<128>}) {
    %stack = tsr.repeat [layer: 100] index %i invariant (%v = %x : !tsr.tensor<[n: 16], f32>) -> (!tsr.tensor<[layer: 100, n: 16], f32>) attributes {argPlaces = [#tsr.place<64>, #tsr.place<0>], tsr.places = [#tsr.place<128>]} {
      // expected-error @below {{exceeds the arena of 12800 bytes: #tsr.place<128, [4611686018427387904]>}}
      %a = tsr.kernel "a" (%p = %v : !tsr.tensor<[n: 16], f32>) parallel ["n"] serial [] vector "n" -> (!tsr.tensor<[n: 16], f32>) attributes {tsr.places = [#tsr.place<128, [4611686018427387904]>]} {
        %r = tsr.exp %p : !tsr.tensor<[n: 16], f32>
        tsr.yield %r : !tsr.tensor<[n: 16], f32>
      }
      tsr.yield %a : !tsr.tensor<[n: 16], f32>
    }
    return %stack : !tsr.tensor<[layer: 100, n: 16], f32>
  }
}

// -----

// Slots of a stack.
module attributes {tsr.arena = 12800 : i64, tsr.axes = ["layer", "n"], tsr.phase = "tile"} {
  func.func @step(%x: !tsr.tensor<[n: 16], f32> {tsr.place = #tsr.place<0>}) -> (!tsr.tensor<[layer: 4, n: 16], f32> {tsr.place = #tsr.place<128>}) {
    // expected-error @below {{expected slots that do not overlap}}
    %stack = tsr.repeat [layer: 4] index %i invariant (%v = %x : !tsr.tensor<[n: 16], f32>) -> (!tsr.tensor<[layer: 4, n: 16], f32>) attributes {argPlaces = [#tsr.place<64>, #tsr.place<0>], tsr.places = [#tsr.place<128 slot 32>]} {
      tsr.yield %v : !tsr.tensor<[n: 16], f32>
    }
    return %stack : !tsr.tensor<[layer: 4, n: 16], f32>
  }
}

// -----

module attributes {tsr.arena = 12800 : i64, tsr.axes = ["layer", "n"], tsr.phase = "tile"} {
  func.func @step(%x: !tsr.tensor<[n: 16], f32> {tsr.place = #tsr.place<0>}) -> (!tsr.tensor<[layer: 4, n: 16], f32> {tsr.place = #tsr.place<128>}) {
    // expected-error @below {{buffer of 256 bytes exceeds the arena of 12800 bytes}}
    %stack = tsr.repeat [layer: 4] index %i invariant (%v = %x : !tsr.tensor<[n: 16], f32>) -> (!tsr.tensor<[layer: 4, n: 16], f32>) attributes {argPlaces = [#tsr.place<64>, #tsr.place<0>], tsr.places = [#tsr.place<128 slot 9223372036854775744>]} {
      tsr.yield %v : !tsr.tensor<[n: 16], f32>
    }
    return %stack : !tsr.tensor<[layer: 4, n: 16], f32>
  }
}

// -----

// State that no function reads.
module attributes {tsr.arena = 512 : i64, tsr.axes = ["n"], tsr.phase = "tile"} {
  // expected-error @below {{expected a place in the arena of 512 bytes, got #tsr.place<9223372036854775744>}}
  tsr.state @w "weight" !tsr.tensor<[n: 16], f32> at <9223372036854775744>
}

// -----

// expected-error @below {{expected a size of at most 2^56 bytes for `tsr.arena`}}
module attributes {tsr.arena = 9223372036854775807 : i64, tsr.axes = ["n"], tsr.phase = "tile"} {
}

// -----

module attributes {tsr.arena = 512 : i64, tsr.axes = ["n"], tsr.phase = "tile"} {
  // expected-error @below {{has a tensor of more than 2^56 bytes}}
  tsr.state @w "weight" !tsr.tensor<[n: 4611686018427387904], f32> at <0>
}

// -----

// The bytes between the rows of a padded value are its own.
module attributes {tsr.arena = 512 : i64, tsr.axes = ["b", "n"], tsr.phase = "tile"} {
  func.func @step(%x: !tsr.tensor<[b: 2, n: 3], f32> {tsr.place = #tsr.place<0>}, %y: !tsr.tensor<[], f32> {tsr.place = #tsr.place<64>}) -> (!tsr.tensor<[b: 2, n: 3], f32> {tsr.place = #tsr.place<256>}) {
    // expected-note @below {{the value was computed here}}
    %a = tsr.kernel "a" (%p = %x : !tsr.tensor<[b: 2, n: 3], f32>) parallel [b, n] vector n at <128> {
      %r = tsr.add %p, %p : <[b: 2, n: 3], f32> -> <[b: 2, n: 3 of 4], f32>
      tsr.yield %r : !tsr.tensor<[b: 2, n: 3 of 4], f32>
    }
    // At 140 is the first position without an element.
    %c = tsr.kernel "c" (%p = %y : !tsr.tensor<[], f32>) parallel [] at <140> {
      %r = tsr.exp %p : <[], f32>
      tsr.yield %r : !tsr.tensor<[], f32>
    }
    // expected-error @below {{reads bytes that were overwritten, at 128}}
    %d = tsr.kernel "d" (%p = %a : !tsr.tensor<[b: 2, n: 3 of 4], f32>) parallel [b, n] vector n at <256> {
      %r = tsr.add %p, %p : <[b: 2, n: 3 of 4], f32> -> <[b: 2, n: 3], f32>
      tsr.yield %r : !tsr.tensor<[b: 2, n: 3], f32>
    }
    return %d : !tsr.tensor<[b: 2, n: 3], f32>
  }
}

// -----

// A padded value takes as much as its allocated sizes say.
module attributes {tsr.arena = 144 : i64, tsr.axes = ["b", "n"], tsr.phase = "tile"} {
  func.func @step(%x: !tsr.tensor<[b: 2, n: 3], f32> {tsr.place = #tsr.place<0>}) -> (!tsr.tensor<[b: 2, n: 3], f32> {tsr.place = #tsr.place<0>}) {
    // expected-error @below {{buffer of 32 bytes exceeds the arena of 144 bytes}}
    %a = tsr.kernel "a" (%p = %x : !tsr.tensor<[b: 2, n: 3], f32>) parallel [b, n] vector n at <128> {
      %r = tsr.add %p, %p : <[b: 2, n: 3], f32> -> <[b: 2, n: 3 of 4], f32>
      tsr.yield %r : !tsr.tensor<[b: 2, n: 3 of 4], f32>
    }
    return %x : !tsr.tensor<[b: 2, n: 3], f32>
  }
}

// -----

// A slice of every row is a view at an offset within the row.
module attributes {tsr.arena = 512 : i64, tsr.axes = ["b", "n"], tsr.phase = "tile"} {
  func.func @step(%x: !tsr.tensor<[b: 2, n: 4], f32> {tsr.place = #tsr.place<0>}) -> (!tsr.tensor<[b: 2, n: 4], f32> {tsr.place = #tsr.place<0>}) {
    %good = tsr.slice %x n from 2 at <8> : <[b: 2, n: 4], f32> -> <[b: 2, n: 2 of 4], f32>
    // expected-error @below {{expected a view in its operand's buffer}}
    %wrong = tsr.slice %x n from 2 at <32> : <[b: 2, n: 4], f32> -> <[b: 2, n: 2 of 4], f32>
    return %x : !tsr.tensor<[b: 2, n: 4], f32>
  }
}

// -----

// A part of a join is at its columns of the result.
module attributes {tsr.arena = 384 : i64, tsr.axes = ["batch", "n"], tsr.phase = "tile", tsr.target = "cuda"} {
  func.func @step(%x: !tsr.tensor<[batch: 4, n: 8], f32> {tsr.place = #tsr.place<256>}) -> (!tsr.tensor<[batch: 4, n: 16], f32> {tsr.place = #tsr.place<0>}) {
    %a = tsr.kernel "a" (%p = %x : !tsr.tensor<[batch: 4, n: 8], f32>) parallel [batch, n] vector n at <0> {
      %r = tsr.add %p, %p : <[batch: 4, n: 8], f32> -> <[batch: 4, n: 8 of 16], f32>
      tsr.yield %r : !tsr.tensor<[batch: 4, n: 8 of 16], f32>
    }
    %b = tsr.kernel "b" (%p = %x : !tsr.tensor<[batch: 4, n: 8], f32>) parallel [batch, n] vector n at <16> {
      %r = tsr.mul %p, %p : <[batch: 4, n: 8], f32> -> <[batch: 4, n: 8 of 16], f32>
      tsr.yield %r : !tsr.tensor<[batch: 4, n: 8 of 16], f32>
    }
    // expected-error @below {{expected part 1 in the buffer of the result}}
    %j = tsr.join %a, %b along n at <0> : (!tsr.tensor<[batch: 4, n: 8 of 16], f32>, !tsr.tensor<[batch: 4, n: 8 of 16], f32>) -> !tsr.tensor<[batch: 4, n: 16], f32>
    return %j : !tsr.tensor<[batch: 4, n: 16], f32>
  }
}

// -----

// What is in a part is what its op has written.
module attributes {tsr.arena = 384 : i64, tsr.axes = ["batch", "n"], tsr.phase = "tile", tsr.target = "cuda"} {
  func.func @step(%x: !tsr.tensor<[batch: 4, n: 8], f32> {tsr.place = #tsr.place<256>}) -> (!tsr.tensor<[batch: 4, n: 16], f32> {tsr.place = #tsr.place<0>}) {
    // expected-note @below {{the value was computed here}}
    %a = tsr.kernel "a" (%p = %x : !tsr.tensor<[batch: 4, n: 8], f32>) parallel [batch, n] vector n at <0> {
      %r = tsr.add %p, %p : <[batch: 4, n: 8], f32> -> <[batch: 4, n: 8 of 16], f32>
      tsr.yield %r : !tsr.tensor<[batch: 4, n: 8 of 16], f32>
    }
    %b = tsr.kernel "b" (%p = %x : !tsr.tensor<[batch: 4, n: 8], f32>) parallel [batch, n] vector n at <32> {
      %r = tsr.mul %p, %p : <[batch: 4, n: 8], f32> -> <[batch: 4, n: 8 of 16], f32>
      tsr.yield %r : !tsr.tensor<[batch: 4, n: 8 of 16], f32>
    }
    %c = tsr.kernel "c" (%p = %x : !tsr.tensor<[batch: 4, n: 8], f32>) parallel [] serial [batch, n] vector n at <128> {
      %r = tsr.reduce sum %p over [batch, n] : <[batch: 4, n: 8], f32>
      tsr.yield %r : !tsr.tensor<[], f32>
    }
    // expected-error @below {{reads bytes that were overwritten, at 0}}
    %j = tsr.join %a, %b along n at <0> : (!tsr.tensor<[batch: 4, n: 8 of 16], f32>, !tsr.tensor<[batch: 4, n: 8 of 16], f32>) -> !tsr.tensor<[batch: 4, n: 16], f32>
    return %j : !tsr.tensor<[batch: 4, n: 16], f32>
  }
}

// -----

module attributes {tsr.arena = 1280 : i64, tsr.axes = ["layer", "n"], tsr.phase = "tile"} {
  func.func @step(%x: !tsr.tensor<[n: 16], f32> {tsr.place = #tsr.place<0>}) -> (!tsr.tensor<[layer: 4, n: 16], f32> {tsr.place = #tsr.place<896>}) {
    %stack = tsr.repeat [layer: 4] index %i invariant (%v = %x : !tsr.tensor<[n: 16], f32>) -> (!tsr.tensor<[layer: 4, n: 16], f32>) arguments at <64>, <0> at <128 slot 128> {
      %a = tsr.kernel "exp" (%p = %v : !tsr.tensor<[n: 16], f32>) parallel [n] vector n at <128, [128]> {
        %r = tsr.exp %p : !tsr.tensor<[n: 16], f32>
        tsr.yield %r : !tsr.tensor<[n: 16], f32>
      }
      tsr.yield %a : !tsr.tensor<[n: 16], f32>
    }
    // expected-error @below {{expected adjacent slots of a stack that is read as a whole, got #tsr.place<128 slot 128>}}
    %y = tsr.kernel "sin" (%p = %stack : !tsr.tensor<[layer: 4, n: 16], f32>) parallel [layer, n] vector n at <896> {
      %r = tsr.sin %p : !tsr.tensor<[layer: 4, n: 16], f32>
      tsr.yield %r : !tsr.tensor<[layer: 4, n: 16], f32>
    }
    return %y : !tsr.tensor<[layer: 4, n: 16], f32>
  }
}
