// RUN: tessera-opt %s --split-input-file --tsr-schedule --tsr-verify-phase=phase=schedule | FileCheck %s

// Where the wide value is reduced, most bytes are live. What is computed before and read after moves to its reader: the arena has
// 64 + 16 KiB.
// CHECK: tsr.arena = 81920 : i64
// CHECK: tsr.kernel "wide"
// CHECK: tsr.kernel "thin"
// CHECK: tsr.kernel "early"
// CHECK: tsr.kernel "last"
module attributes {tsr.axes = ["m", "n", "k"], tsr.phase = "tile"} {
  func.func @step(%x: !tsr.tensor<[m: 64, n: 64], f32>) -> !tsr.tensor<[m: 64, n: 64], f32> {
    %early = tsr.kernel "early" () parallel ["m", "n"] serial [] vector "n" -> (!tsr.tensor<[m: 64, n: 64], f32>) {
      %r = tsr.constant 1.0 : f32 -> !tsr.tensor<[m: 64, n: 64], f32>
      tsr.yield %r : !tsr.tensor<[m: 64, n: 64], f32>
    }
    %wide = tsr.kernel "wide" (%p = %x : !tsr.tensor<[m: 64, n: 64], f32>) parallel ["m", "n", "k"] serial [] vector "k" -> (!tsr.tensor<[m: 64, n: 64, k: 4], f32>) {
      %r = tsr.exp %p : !tsr.tensor<[m: 64, n: 64], f32>
      %q = tsr.broadcast %r : !tsr.tensor<[m: 64, n: 64], f32> -> !tsr.tensor<[m: 64, n: 64, k: 4], f32>
      tsr.yield %q : !tsr.tensor<[m: 64, n: 64, k: 4], f32>
    }
    %thin = tsr.kernel "thin" (%p = %wide : !tsr.tensor<[m: 64, n: 64, k: 4], f32>) parallel ["m", "n"] serial ["k"] vector "k" -> (!tsr.tensor<[m: 64, n: 64], f32>) {
      %r = tsr.reduce sum %p over ["k"] : !tsr.tensor<[m: 64, n: 64, k: 4], f32> -> !tsr.tensor<[m: 64, n: 64], f32>
      tsr.yield %r : !tsr.tensor<[m: 64, n: 64], f32>
    }
    %last = tsr.kernel "last" (%p = %thin : !tsr.tensor<[m: 64, n: 64], f32>, %q = %early : !tsr.tensor<[m: 64, n: 64], f32>) parallel ["m", "n"] serial [] vector "n" -> (!tsr.tensor<[m: 64, n: 64], f32>) {
      %r = tsr.add %p, %q : (!tsr.tensor<[m: 64, n: 64], f32>, !tsr.tensor<[m: 64, n: 64], f32>) -> !tsr.tensor<[m: 64, n: 64], f32>
      tsr.yield %r : !tsr.tensor<[m: 64, n: 64], f32>
    }
    return %last : !tsr.tensor<[m: 64, n: 64], f32>
  }
}

// -----

// The first wide value is read once more, after the second one has been used. Its reader moves up, so that they are not live together:
// one wide value and two others, instead of two and two.
// CHECK: tsr.arena = 98304 : i64
// CHECK: tsr.kernel "first"
// CHECK: tsr.kernel "most"
// CHECK: tsr.kernel "sum"
// CHECK: tsr.kernel "second"
// CHECK: tsr.kernel "other"
// CHECK: tsr.kernel "last"
module attributes {tsr.axes = ["m", "n", "k"], tsr.phase = "tile"} {
  func.func @step(%x: !tsr.tensor<[m: 64, n: 64], f32>) -> !tsr.tensor<[m: 64, n: 64], f32> {
    %first = tsr.kernel "first" (%p = %x : !tsr.tensor<[m: 64, n: 64], f32>) parallel ["m", "n", "k"] serial [] vector "k" -> (!tsr.tensor<[m: 64, n: 64, k: 4], f32>) {
      %r = tsr.exp %p : !tsr.tensor<[m: 64, n: 64], f32>
      %q = tsr.broadcast %r : !tsr.tensor<[m: 64, n: 64], f32> -> !tsr.tensor<[m: 64, n: 64, k: 4], f32>
      tsr.yield %q : !tsr.tensor<[m: 64, n: 64, k: 4], f32>
    }
    %most = tsr.kernel "most" (%p = %first : !tsr.tensor<[m: 64, n: 64, k: 4], f32>) parallel ["m", "n"] serial ["k"] vector "k" -> (!tsr.tensor<[m: 64, n: 64], f32>) {
      %r = tsr.reduce max %p over ["k"] : !tsr.tensor<[m: 64, n: 64, k: 4], f32> -> !tsr.tensor<[m: 64, n: 64], f32>
      tsr.yield %r : !tsr.tensor<[m: 64, n: 64], f32>
    }
    %second = tsr.kernel "second" (%p = %most : !tsr.tensor<[m: 64, n: 64], f32>) parallel ["m", "n", "k"] serial [] vector "k" -> (!tsr.tensor<[m: 64, n: 64, k: 4], f32>) {
      %r = tsr.sin %p : !tsr.tensor<[m: 64, n: 64], f32>
      %q = tsr.broadcast %r : !tsr.tensor<[m: 64, n: 64], f32> -> !tsr.tensor<[m: 64, n: 64, k: 4], f32>
      tsr.yield %q : !tsr.tensor<[m: 64, n: 64, k: 4], f32>
    }
    %other = tsr.kernel "other" (%p = %second : !tsr.tensor<[m: 64, n: 64, k: 4], f32>) parallel ["m", "n"] serial ["k"] vector "k" -> (!tsr.tensor<[m: 64, n: 64], f32>) {
      %r = tsr.reduce sum %p over ["k"] : !tsr.tensor<[m: 64, n: 64, k: 4], f32> -> !tsr.tensor<[m: 64, n: 64], f32>
      tsr.yield %r : !tsr.tensor<[m: 64, n: 64], f32>
    }
    %sum = tsr.kernel "sum" (%p = %first : !tsr.tensor<[m: 64, n: 64, k: 4], f32>) parallel ["m", "n"] serial ["k"] vector "k" -> (!tsr.tensor<[m: 64, n: 64], f32>) {
      %r = tsr.reduce sum %p over ["k"] : !tsr.tensor<[m: 64, n: 64, k: 4], f32> -> !tsr.tensor<[m: 64, n: 64], f32>
      tsr.yield %r : !tsr.tensor<[m: 64, n: 64], f32>
    }
    %last = tsr.kernel "last" (%p = %sum : !tsr.tensor<[m: 64, n: 64], f32>, %q = %other : !tsr.tensor<[m: 64, n: 64], f32>) parallel ["m", "n"] serial [] vector "n" -> (!tsr.tensor<[m: 64, n: 64], f32>) {
      %r = tsr.add %p, %q : (!tsr.tensor<[m: 64, n: 64], f32>, !tsr.tensor<[m: 64, n: 64], f32>) -> !tsr.tensor<[m: 64, n: 64], f32>
      tsr.yield %r : !tsr.tensor<[m: 64, n: 64], f32>
    }
    return %last : !tsr.tensor<[m: 64, n: 64], f32>
  }
}

// -----

// Nothing moves where that would not lower the peak.
// CHECK: tsr.kernel "early"
// CHECK: tsr.kernel "wide"
module attributes {tsr.axes = ["m", "n", "k"], tsr.phase = "tile"} {
  func.func @step(%x: !tsr.tensor<[m: 64, n: 64], f32>) -> (!tsr.tensor<[m: 64, n: 64], f32>, !tsr.tensor<[m: 64, n: 64], f32>) {
    %early = tsr.kernel "early" () parallel ["m", "n"] serial [] vector "n" -> (!tsr.tensor<[m: 64, n: 64], f32>) {
      %r = tsr.constant 1.0 : f32 -> !tsr.tensor<[m: 64, n: 64], f32>
      tsr.yield %r : !tsr.tensor<[m: 64, n: 64], f32>
    }
    %wide = tsr.kernel "wide" (%p = %x : !tsr.tensor<[m: 64, n: 64], f32>) parallel ["m", "n", "k"] serial [] vector "k" -> (!tsr.tensor<[m: 64, n: 64, k: 4], f32>) {
      %r = tsr.exp %p : !tsr.tensor<[m: 64, n: 64], f32>
      %q = tsr.broadcast %r : !tsr.tensor<[m: 64, n: 64], f32> -> !tsr.tensor<[m: 64, n: 64, k: 4], f32>
      tsr.yield %q : !tsr.tensor<[m: 64, n: 64, k: 4], f32>
    }
    %thin = tsr.kernel "thin" (%p = %wide : !tsr.tensor<[m: 64, n: 64, k: 4], f32>) parallel ["m", "n"] serial ["k"] vector "k" -> (!tsr.tensor<[m: 64, n: 64], f32>) {
      %r = tsr.reduce sum %p over ["k"] : !tsr.tensor<[m: 64, n: 64, k: 4], f32> -> !tsr.tensor<[m: 64, n: 64], f32>
      tsr.yield %r : !tsr.tensor<[m: 64, n: 64], f32>
    }
    %last = tsr.kernel "last" (%p = %thin : !tsr.tensor<[m: 64, n: 64], f32>, %q = %early : !tsr.tensor<[m: 64, n: 64], f32>) parallel ["m", "n"] serial [] vector "n" -> (!tsr.tensor<[m: 64, n: 64], f32>) {
      %r = tsr.add %p, %q : (!tsr.tensor<[m: 64, n: 64], f32>, !tsr.tensor<[m: 64, n: 64], f32>) -> !tsr.tensor<[m: 64, n: 64], f32>
      tsr.yield %r : !tsr.tensor<[m: 64, n: 64], f32>
    }
    %again = tsr.kernel "again" (%p = %last : !tsr.tensor<[m: 64, n: 64], f32>) parallel ["m", "n", "k"] serial [] vector "k" -> (!tsr.tensor<[m: 64, n: 64, k: 4], f32>) {
      %r = tsr.exp %p : !tsr.tensor<[m: 64, n: 64], f32>
      %q = tsr.broadcast %r : !tsr.tensor<[m: 64, n: 64], f32> -> !tsr.tensor<[m: 64, n: 64, k: 4], f32>
      tsr.yield %q : !tsr.tensor<[m: 64, n: 64, k: 4], f32>
    }
    %more = tsr.kernel "more" (%p = %again : !tsr.tensor<[m: 64, n: 64, k: 4], f32>) parallel ["m", "n"] serial ["k"] vector "k" -> (!tsr.tensor<[m: 64, n: 64], f32>) {
      %r = tsr.reduce sum %p over ["k"] : !tsr.tensor<[m: 64, n: 64, k: 4], f32> -> !tsr.tensor<[m: 64, n: 64], f32>
      tsr.yield %r : !tsr.tensor<[m: 64, n: 64], f32>
    }
    return %more, %early : !tsr.tensor<[m: 64, n: 64], f32>, !tsr.tensor<[m: 64, n: 64], f32>
  }
}
