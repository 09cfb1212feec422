// RUN: tessera-opt %s --split-input-file --tsr-fuse --tsr-verify-phase=phase=fuse | FileCheck %s --check-prefixes=CHECK,GPU
// RUN: sed 's/, tsr.target = "cuda"//' %s | tessera-opt --split-input-file --tsr-fuse --tsr-verify-phase=phase=fuse | FileCheck %s --check-prefixes=CHECK,CPU

// On a GPU a contraction adds to the residual stream in memory; on a CPU a kernel does.

!x = !tsr.tensor<[batch: 64, embed: 32], bf16>
!wide = !tsr.tensor<[batch: 64, embed: 32], f32>
!w = !tsr.tensor<[ff: 64, embed: 32], bf16>
!ws = !tsr.tensor<[layer: 2, ff: 64, embed: 32], bf16>
!h = !tsr.tensor<[batch: 64, ff: 64], bf16>
!u = !tsr.tensor<[embed: 32, out: 32], bf16>
!o = !tsr.tensor<[batch: 64, out: 32], bf16>
!half = !tsr.tensor<[batch: 64, embed: 16], bf16>
!hs = !tsr.tensor<[layer: 2, batch: 64, ff: 64], bf16>
module attributes {tsr.axes = ["layer", "batch", "ff", "embed"], tsr.phase = "layout", tsr.target = "cuda"} {
  // The sum is rounded once, and the kernel reads it.
  // CHECK-LABEL: func.func @carried
  func.func @carried(%x: !x, %hs: !hs, %ws: !ws) -> (!x, !wide) {
    // CHECK: tsr.repeat {{.*}} carry (%[[X:.*]] = %arg0
    // GPU: %[[R:.*]] = tsr.contract %{{.*}}, %{{.*}} over [ff] init %[[X]] : {{.*}} -> !tsr.tensor<[batch: 64, embed: 32], bf16>
    // GPU-NOT: tsr.add
    // GPU: tsr.yield %[[R]]
    // CPU: tsr.contract %{{.*}}, %{{.*}} over [ff] : {{.*}} -> !tsr.tensor<[batch: 64, embed: 32], bf16>
    // CPU: tsr.add
    %y = tsr.repeat [layer: 2] index %i carry (%c = %x : !x) slice (%h = %hs : !hs, %w = %ws : !ws) -> (!x) {
      %p = tsr.contract %h, %w over ["ff"] : (!h, !w) -> !x
      %a = tsr.cast %c : !x to !wide
      %b = tsr.cast %p : !x to !wide
      %s = tsr.add %a, %b : !wide
      %r = tsr.cast %s : !wide to !x
      tsr.yield %r : !x
    }
    // CHECK: tsr.exp
    %wide = tsr.cast %y : !x to !wide
    %e = tsr.exp %wide : !wide
    return %y, %e : !x, !wide
  }

  // What is read after the sum keeps its storage; what is also used in f32 is not rounded; an argument of the function is not overwritten.
  // CHECK-LABEL: func.func @kept
  func.func @kept(%z: !x, %h: !h, %w: !w) -> (!x, !x, !wide, !x) {
    // CHECK-NOT: init
    // CHECK: return
    %zw = tsr.cast %z : !x to !wide
    %e = tsr.exp %zw : !wide
    %x = tsr.cast %e : !wide to !x
    %p = tsr.contract %h, %w over ["ff"] : (!h, !w) -> !x
    %a = tsr.cast %x : !x to !wide
    %b = tsr.cast %p : !x to !wide
    %s = tsr.add %a, %b : !wide
    %r = tsr.cast %s : !wide to !x
    %q = tsr.contract %h, %w over ["ff"] : (!h, !w) -> !x
    %c = tsr.cast %q : !x to !wide
    %t = tsr.add %zw, %c : !wide
    %u = tsr.cast %t : !wide to !x
    return %x, %r, %t, %u : !x, !x, !wide, !x
  }

  // What a kernel recomputes from the stream is a read of it: no sum takes its storage before the last one. A contraction does not
  // write the stream that it reads by another name.
  // CHECK-LABEL: func.func @read
  func.func @read(%z: !x, %h: !h, %w: !w, %u: !u) -> (!x, !half, !x) {
    // CHECK-NOT: init
    // CHECK: return
    %zw = tsr.cast %z : !x to !wide
    %e = tsr.exp %zw : !wide
    %x = tsr.cast %e : !wide to !x
    %part = tsr.slice %x embed from 8 : !x -> !half
    %p = tsr.contract %h, %w over ["ff"] : (!h, !w) -> !x
    %a = tsr.cast %x : !x to !wide
    %b = tsr.cast %p : !x to !wide
    %s = tsr.add %a, %b : !wide
    %r = tsr.cast %s : !wide to !x
    %tanh = tsr.tanh %part : !half
    %f = tsr.sin %zw : !wide
    %y = tsr.cast %f : !wide to !x
    %n = tsr.rename %y [embed] to [out] : !x -> !o
    %q = tsr.contract %n, %u over ["out"] : (!o, !u) -> !x
    %c = tsr.cast %y : !x to !wide
    %d = tsr.cast %q : !x to !wide
    %t = tsr.add %c, %d : !wide
    %v = tsr.cast %t : !wide to !x
    return %r, %tanh, %v : !x, !half, !x
  }
}
