// RUN: tessera-opt %s --tsr-chunk="least-bytes=8192 least-rows=8" | FileCheck %s
// RUN: tessera-opt %s --tsr-chunk="least-bytes=8192 least-rows=8" --tsr-layout --tsr-fuse --tsr-tile | FileCheck %s --check-prefix=TILED

// What `tile` will compute in tiles is not stored, so it is not computed in chunks, however large it is. Nor is the projection before
// it, which is large too, and would be in one repeat with it.

!q = !tsr.tensor<[seq: 64, head: 4, hd: 16], f32>
!k = !tsr.tensor<[head: 4, hd: 16, key: 64], f32>
!s = !tsr.tensor<[seq: 64, head: 4, key: 64], f32>
!w = !tsr.tensor<[head: 4, hd: 16, embed: 8], f32>
!x = !tsr.tensor<[seq: 64, embed: 8], f32>
module attributes {tsr.axes = ["seq", "head", "hd", "embed", "key"], tsr.phase = "optimize"} {
  // CHECK-LABEL: func.func @step
  // CHECK-NOT: tsr.repeat
  // CHECK: %[[S:.*]] = tsr.contract {{.*}} -> !tsr.tensor<[seq: 64, head: 4, key: 64], f32>
  // CHECK: tsr.exp %[[S]]
  // CHECK-NOT: tsr.repeat
  // TILED-LABEL: func.func @step
  // TILED: tsr.tiled {{.*}} parallel [head] rows seq columns key
  func.func @step(%x: !x, %w: !w, %k: !k, %v: !k) -> (!q, !k) {
    %q = tsr.contract %x, %w over [embed] : (!x, !w) -> !q
    %s = tsr.contract %q, %k over [hd] : (!q, !k) -> !s
    %p = tsr.exp %s : !s
    %o = tsr.contract %p, %v over [key] : (!s, !k) -> !q
    %dv = tsr.contract %p, %q over [seq] : (!s, !q) -> !k
    return %o, %dv : !q, !k
  }

  // A reduction over the rows is not of a row, so these scores would be stored.
  // CHECK-LABEL: func.func @evaluate
  // CHECK: tsr.repeat [seq_chunk: 8]
  func.func @evaluate(%q: !q, %k: !k, %v: !k) -> (!q, !tsr.tensor<[head: 4, key: 64], f32>) {
    %s = tsr.contract %q, %k over [hd] : (!q, !k) -> !s
    %o = tsr.contract %s, %v over [key] : (!s, !k) -> !q
    %e = tsr.exp %s : !s
    %sums = tsr.reduce sum %e over [seq] : !s
    return %o, %sums : !q, !tsr.tensor<[head: 4, key: 64], f32>
  }
}
