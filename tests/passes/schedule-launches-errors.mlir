// RUN: tessera-opt %s --split-input-file --tsr-verify-phase=phase=schedule --verify-diagnostics

// Rules for the kernels of one launch.

// Two results in different places, one of them that of its operand, are allowed.
module attributes {tsr.arena = 512 : i64, tsr.axes = ["n"], tsr.phase = "tile", tsr.target = "cuda"} {
  func.func @step(%x: !tsr.tensor<[n: 16], f32> {tsr.place = #tsr.place<0>}, %y: !tsr.tensor<[n: 16], f32> {tsr.place = #tsr.place<64>}) -> (!tsr.tensor<[n: 16], f32> {tsr.place = #tsr.place<0>}, !tsr.tensor<[n: 16], f32> {tsr.place = #tsr.place<128>}) {
    %a = tsr.kernel "a" (%p = %x : !tsr.tensor<[n: 16], f32>) parallel ["n"] serial [] vector "n" -> (!tsr.tensor<[n: 16], f32>) attributes {tsr.group = 0 : i64, tsr.places = [#tsr.place<0>]} {
      %r = tsr.exp %p : !tsr.tensor<[n: 16], f32>
      tsr.yield %r : !tsr.tensor<[n: 16], f32>
    }
    %b = tsr.kernel "b" (%p = %y : !tsr.tensor<[n: 16], f32>) parallel ["n"] serial [] vector "n" -> (!tsr.tensor<[n: 16], f32>) attributes {tsr.group = 0 : i64, tsr.places = [#tsr.place<128>]} {
      %r = tsr.exp %p : !tsr.tensor<[n: 16], f32>
      tsr.yield %r : !tsr.tensor<[n: 16], f32>
    }
    return %a, %b : !tsr.tensor<[n: 16], f32>, !tsr.tensor<[n: 16], f32>
  }
}

// -----

// The second kernel reads what the first one overwrites. One after the other, the reader first, that would be allowed.
module attributes {tsr.arena = 512 : i64, tsr.axes = ["n"], tsr.phase = "tile", tsr.target = "cuda"} {
  func.func @step(%x: !tsr.tensor<[n: 16], f32> {tsr.place = #tsr.place<0>}, %y: !tsr.tensor<[n: 16], f32> {tsr.place = #tsr.place<64>}) -> (!tsr.tensor<[n: 16], f32> {tsr.place = #tsr.place<0>}, !tsr.tensor<[n: 16], f32> {tsr.place = #tsr.place<128>}) {
    // expected-error @below {{result overwrites an operand of another op of its launch}}
    %a = tsr.kernel "a" (%p = %x : !tsr.tensor<[n: 16], f32>) parallel ["n"] serial [] vector "n" -> (!tsr.tensor<[n: 16], f32>) attributes {tsr.group = 0 : i64, tsr.places = [#tsr.place<0>]} {
      %r = tsr.exp %p : !tsr.tensor<[n: 16], f32>
      tsr.yield %r : !tsr.tensor<[n: 16], f32>
    }
    %b = tsr.kernel "b" (%p = %x : !tsr.tensor<[n: 16], f32>, %q = %y : !tsr.tensor<[n: 16], f32>) parallel ["n"] serial [] vector "n" -> (!tsr.tensor<[n: 16], f32>) attributes {tsr.group = 0 : i64, tsr.places = [#tsr.place<128>]} {
      %r = tsr.add %p, %q : (!tsr.tensor<[n: 16], f32>, !tsr.tensor<[n: 16], f32>) -> !tsr.tensor<[n: 16], f32>
      tsr.yield %r : !tsr.tensor<[n: 16], f32>
    }
    return %a, %b : !tsr.tensor<[n: 16], f32>, !tsr.tensor<[n: 16], f32>
  }
}

// -----

// The other way round: the kernels of a launch have no order, so the first one need not have read it yet.
module attributes {tsr.arena = 512 : i64, tsr.axes = ["n"], tsr.phase = "tile", tsr.target = "cuda"} {
  func.func @step(%x: !tsr.tensor<[n: 16], f32> {tsr.place = #tsr.place<0>}, %y: !tsr.tensor<[n: 16], f32> {tsr.place = #tsr.place<64>}) -> (!tsr.tensor<[n: 16], f32> {tsr.place = #tsr.place<0>}, !tsr.tensor<[n: 16], f32> {tsr.place = #tsr.place<128>}) {
    %b = tsr.kernel "b" (%p = %x : !tsr.tensor<[n: 16], f32>, %q = %y : !tsr.tensor<[n: 16], f32>) parallel ["n"] serial [] vector "n" -> (!tsr.tensor<[n: 16], f32>) attributes {tsr.group = 0 : i64, tsr.places = [#tsr.place<128>]} {
      %r = tsr.add %p, %q : (!tsr.tensor<[n: 16], f32>, !tsr.tensor<[n: 16], f32>) -> !tsr.tensor<[n: 16], f32>
      tsr.yield %r : !tsr.tensor<[n: 16], f32>
    }
    // expected-error @below {{result overwrites an operand of another op of its launch}}
    %a = tsr.kernel "a" (%p = %x : !tsr.tensor<[n: 16], f32>) parallel ["n"] serial [] vector "n" -> (!tsr.tensor<[n: 16], f32>) attributes {tsr.group = 0 : i64, tsr.places = [#tsr.place<0>]} {
      %r = tsr.exp %p : !tsr.tensor<[n: 16], f32>
      tsr.yield %r : !tsr.tensor<[n: 16], f32>
    }
    return %a, %b : !tsr.tensor<[n: 16], f32>, !tsr.tensor<[n: 16], f32>
  }
}

// -----

// Two results must not be in one place, even if the first one is never read.
module attributes {tsr.arena = 512 : i64, tsr.axes = ["n"], tsr.phase = "tile", tsr.target = "cuda"} {
  func.func @step(%x: !tsr.tensor<[n: 16], f32> {tsr.place = #tsr.place<0>}, %y: !tsr.tensor<[n: 16], f32> {tsr.place = #tsr.place<64>}) -> (!tsr.tensor<[n: 16], f32> {tsr.place = #tsr.place<128>}) {
    // expected-error @below {{two results of a launch overlap}}
    %a = tsr.kernel "a" (%p = %x : !tsr.tensor<[n: 16], f32>) parallel ["n"] serial [] vector "n" -> (!tsr.tensor<[n: 16], f32>) attributes {tsr.group = 0 : i64, tsr.places = [#tsr.place<128>]} {
      %r = tsr.exp %p : !tsr.tensor<[n: 16], f32>
      tsr.yield %r : !tsr.tensor<[n: 16], f32>
    }
    %b = tsr.kernel "b" (%p = %y : !tsr.tensor<[n: 16], f32>) parallel ["n"] serial [] vector "n" -> (!tsr.tensor<[n: 16], f32>) attributes {tsr.group = 0 : i64, tsr.places = [#tsr.place<128>]} {
      %r = tsr.exp %p : !tsr.tensor<[n: 16], f32>
      tsr.yield %r : !tsr.tensor<[n: 16], f32>
    }
    return %b : !tsr.tensor<[n: 16], f32>
  }
}

// -----

// A kernel must not depend on another one of its launch.
module attributes {tsr.arena = 512 : i64, tsr.axes = ["n"], tsr.phase = "tile", tsr.target = "cuda"} {
  func.func @step(%x: !tsr.tensor<[n: 16], f32> {tsr.place = #tsr.place<0>}, %y: !tsr.tensor<[n: 16], f32> {tsr.place = #tsr.place<64>}) -> (!tsr.tensor<[n: 16], f32> {tsr.place = #tsr.place<192>}) {
    %a = tsr.kernel "a" (%p = %x : !tsr.tensor<[n: 16], f32>) parallel ["n"] serial [] vector "n" -> (!tsr.tensor<[n: 16], f32>) attributes {tsr.group = 0 : i64, tsr.places = [#tsr.place<128>]} {
      %r = tsr.exp %p : !tsr.tensor<[n: 16], f32>
      tsr.yield %r : !tsr.tensor<[n: 16], f32>
    }
    // expected-error @below {{reads a result of its own launch}}
    %b = tsr.kernel "b" (%p = %a : !tsr.tensor<[n: 16], f32>) parallel ["n"] serial [] vector "n" -> (!tsr.tensor<[n: 16], f32>) attributes {tsr.group = 0 : i64, tsr.places = [#tsr.place<192>]} {
      %r = tsr.exp %p : !tsr.tensor<[n: 16], f32>
      tsr.yield %r : !tsr.tensor<[n: 16], f32>
    }
    return %b : !tsr.tensor<[n: 16], f32>
  }
}
