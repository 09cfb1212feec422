// RUN: tessera-opt %s --split-input-file --tsr-fuse --tsr-tile="least-rows=2 least-products=1" --tsr-verify-phase=phase=tile | FileCheck %s

// A matrix for each head, exponentials of its elements on and below the diagonal, and their product with other rows become one op.
// Elements above the diagonal are not computed. An op before the last contraction that needs a result moves after the tiled op.
// CHECK-LABEL: func.func @step
module attributes {tsr.axes = ["head", "group", "row", "col", "hid", "out"], tsr.phase = "layout"} {
  func.func @step(%q: !tsr.tensor<[head: 4, row: 32, hid: 8], f32>, %k: !tsr.tensor<[head: 4, col: 32, hid: 8], f32>, %v: !tsr.tensor<[head: 4, col: 32, out: 8], f32>)
      -> (!tsr.tensor<[head: 4, row: 32, out: 8], f32>, !tsr.tensor<[head: 4], f32>) {
    // CHECK: %[[L:.*]], %[[O:.*]] = tsr.tiled "scores" (%[[Q:.*]] = %arg0 : {{.*}}, %[[K:.*]] = %arg1 : {{.*}}, %[[V:.*]] = %arg2 : {{.*}}) parallel [head] rows row columns col upper 0
    // CHECK: %[[S:.*]] = tsr.contract %[[Q]], %[[K]] over [hid]
    %s = tsr.contract %q, %k over ["hid"] {tsr.name = "scores"} : (!tsr.tensor<[head: 4, row: 32, hid: 8], f32>, !tsr.tensor<[head: 4, col: 32, hid: 8], f32>) -> !tsr.tensor<[head: 4, row: 32, col: 32], f32>
    // CHECK: %[[P:.*]]:2 = tsr.kernel {{.*}} (%{{.*}} = %[[S]] : {{.*}}) parallel [head, row] serial [col] vector col
    %i = tsr.index : !tsr.tensor<[row: 32], i32>
    %j = tsr.index : !tsr.tensor<[col: 32], i32>
    %sees = tsr.compare le %j, %i : (!tsr.tensor<[col: 32], i32>, !tsr.tensor<[row: 32], i32>) -> !tsr.tensor<[row: 32, col: 32], i1>
    %low = tsr.constant 0xFF800000 : f32 -> !tsr.tensor<[], f32>
    %m = tsr.select %sees, %s, %low : (!tsr.tensor<[row: 32, col: 32], i1>, !tsr.tensor<[head: 4, row: 32, col: 32], f32>, !tsr.tensor<[], f32>) -> !tsr.tensor<[head: 4, row: 32, col: 32], f32>
    %e = tsr.exp %m : !tsr.tensor<[head: 4, row: 32, col: 32], f32>
    %t = tsr.reduce sum %e over ["col"] : !tsr.tensor<[head: 4, row: 32, col: 32], f32> -> !tsr.tensor<[head: 4, row: 32], f32>
    %n = tsr.reduce sum %t over ["row"] : !tsr.tensor<[head: 4, row: 32], f32> -> !tsr.tensor<[head: 4], f32>
    // CHECK: %[[R:.*]] = tsr.contract %[[P]]#0, %[[V]] over [col]
    %o = tsr.contract %e, %v over ["col"] : (!tsr.tensor<[head: 4, row: 32, col: 32], f32>, !tsr.tensor<[head: 4, col: 32, out: 8], f32>) -> !tsr.tensor<[head: 4, row: 32, out: 8], f32>
    // CHECK: tsr.yield %[[P]]#1, %[[R]]
    // CHECK: tsr.kernel {{.*}} (%{{.*}} = %[[L]] :
    return %o, %n : !tsr.tensor<[head: 4, row: 32, out: 8], f32>, !tsr.tensor<[head: 4], f32>
  }
}

// -----

// If another op reads the matrix, it is stored.
// CHECK-LABEL: func.func @step
module attributes {tsr.axes = ["head", "group", "row", "col", "hid", "out"], tsr.phase = "layout"} {
  func.func @step(%q: !tsr.tensor<[head: 4, row: 32, hid: 8], f32>, %k: !tsr.tensor<[head: 4, col: 32, hid: 8], f32>, %v: !tsr.tensor<[head: 4, col: 32, out: 8], f32>)
      -> (!tsr.tensor<[head: 4, row: 32, out: 8], f32>, !tsr.tensor<[head: 4, row: 32, col: 32], f32>) {
    // CHECK-NOT: tsr.tiled
    %s = tsr.contract %q, %k over ["hid"] {tsr.name = "scores"} : (!tsr.tensor<[head: 4, row: 32, hid: 8], f32>, !tsr.tensor<[head: 4, col: 32, hid: 8], f32>) -> !tsr.tensor<[head: 4, row: 32, col: 32], f32>
    %i = tsr.index : !tsr.tensor<[row: 32], i32>
    %j = tsr.index : !tsr.tensor<[col: 32], i32>
    %sees = tsr.compare le %j, %i : (!tsr.tensor<[col: 32], i32>, !tsr.tensor<[row: 32], i32>) -> !tsr.tensor<[row: 32, col: 32], i1>
    %low = tsr.constant 0xFF800000 : f32 -> !tsr.tensor<[], f32>
    %m = tsr.select %sees, %s, %low : (!tsr.tensor<[row: 32, col: 32], i1>, !tsr.tensor<[head: 4, row: 32, col: 32], f32>, !tsr.tensor<[], f32>) -> !tsr.tensor<[head: 4, row: 32, col: 32], f32>
    %e = tsr.exp %m : !tsr.tensor<[head: 4, row: 32, col: 32], f32>
    %o = tsr.contract %e, %v over ["col"] : (!tsr.tensor<[head: 4, row: 32, col: 32], f32>, !tsr.tensor<[head: 4, col: 32, out: 8], f32>) -> !tsr.tensor<[head: 4, row: 32, out: 8], f32>
    // CHECK: return
    return %o, %e : !tsr.tensor<[head: 4, row: 32, out: 8], f32>, !tsr.tensor<[head: 4, row: 32, col: 32], f32>
  }
}

// -----

// If the right operand is the same for all heads, one large GEMM is better.
// CHECK-LABEL: func.func @step
module attributes {tsr.axes = ["head", "group", "row", "col", "hid", "out"], tsr.phase = "layout"} {
  func.func @step(%q: !tsr.tensor<[head: 4, row: 32, hid: 8], f32>, %k: !tsr.tensor<[col: 32, hid: 8], f32>, %v: !tsr.tensor<[head: 4, col: 32, out: 8], f32>)
      -> (!tsr.tensor<[head: 4, row: 32, out: 8], f32>) {
    // CHECK-NOT: tsr.tiled
    %s = tsr.contract %q, %k over ["hid"] : (!tsr.tensor<[head: 4, row: 32, hid: 8], f32>, !tsr.tensor<[col: 32, hid: 8], f32>) -> !tsr.tensor<[head: 4, row: 32, col: 32], f32>
    %e = tsr.exp %s : !tsr.tensor<[head: 4, row: 32, col: 32], f32>
    %o = tsr.contract %e, %v over ["col"] : (!tsr.tensor<[head: 4, row: 32, col: 32], f32>, !tsr.tensor<[head: 4, col: 32, out: 8], f32>) -> !tsr.tensor<[head: 4, row: 32, out: 8], f32>
    // CHECK: return
    return %o : !tsr.tensor<[head: 4, row: 32, out: 8], f32>
  }
}

// -----

// If masked elements are not -inf, all elements affect the result.
// CHECK-LABEL: func.func @step
module attributes {tsr.axes = ["head", "group", "row", "col", "hid", "out"], tsr.phase = "layout"} {
  func.func @step(%q: !tsr.tensor<[head: 4, row: 32, hid: 8], f32>, %k: !tsr.tensor<[head: 4, col: 32, hid: 8], f32>, %v: !tsr.tensor<[head: 4, col: 32, out: 8], f32>)
      -> (!tsr.tensor<[head: 4, row: 32, out: 8], f32>) {
    // CHECK: tsr.tiled {{.*}} rows row columns col
    %s = tsr.contract %q, %k over ["hid"] {tsr.name = "scores"} : (!tsr.tensor<[head: 4, row: 32, hid: 8], f32>, !tsr.tensor<[head: 4, col: 32, hid: 8], f32>) -> !tsr.tensor<[head: 4, row: 32, col: 32], f32>
    %i = tsr.index : !tsr.tensor<[row: 32], i32>
    %j = tsr.index : !tsr.tensor<[col: 32], i32>
    %sees = tsr.compare le %j, %i : (!tsr.tensor<[col: 32], i32>, !tsr.tensor<[row: 32], i32>) -> !tsr.tensor<[row: 32, col: 32], i1>
    %low = tsr.constant -1.0e+03 : f32 -> !tsr.tensor<[], f32>
    %m = tsr.select %sees, %s, %low : (!tsr.tensor<[row: 32, col: 32], i1>, !tsr.tensor<[head: 4, row: 32, col: 32], f32>, !tsr.tensor<[], f32>) -> !tsr.tensor<[head: 4, row: 32, col: 32], f32>
    %e = tsr.exp %m : !tsr.tensor<[head: 4, row: 32, col: 32], f32>
    %o = tsr.contract %e, %v over ["col"] : (!tsr.tensor<[head: 4, row: 32, col: 32], f32>, !tsr.tensor<[head: 4, col: 32, out: 8], f32>) -> !tsr.tensor<[head: 4, row: 32, out: 8], f32>
    return %o : !tsr.tensor<[head: 4, row: 32, out: 8], f32>
  }
}

// -----

// Comparisons joined by `and`, with swapped operands and of a difference, bound the band on both sides.
// CHECK-LABEL: func.func @step
module attributes {tsr.axes = ["head", "group", "row", "col", "hid", "out"], tsr.phase = "layout"} {
  func.func @step(%q: !tsr.tensor<[head: 4, row: 32, hid: 8], f32>, %k: !tsr.tensor<[head: 4, col: 32, hid: 8], f32>, %v: !tsr.tensor<[head: 4, col: 32, out: 8], f32>)
      -> (!tsr.tensor<[head: 4, row: 32, out: 8], f32>) {
    // CHECK: tsr.tiled {{.*}} lower -4 upper 0
    %s = tsr.contract %q, %k over ["hid"] {tsr.name = "scores"} : (!tsr.tensor<[head: 4, row: 32, hid: 8], f32>, !tsr.tensor<[head: 4, col: 32, hid: 8], f32>) -> !tsr.tensor<[head: 4, row: 32, col: 32], f32>
    %i = tsr.index : !tsr.tensor<[row: 32], i32>
    %j = tsr.index : !tsr.tensor<[col: 32], i32>
    %a = tsr.compare ge %i, %j : (!tsr.tensor<[row: 32], i32>, !tsr.tensor<[col: 32], i32>) -> !tsr.tensor<[row: 32, col: 32], i1>
    %d = tsr.sub %i, %j : (!tsr.tensor<[row: 32], i32>, !tsr.tensor<[col: 32], i32>) -> !tsr.tensor<[row: 32, col: 32], i32>
    %far = tsr.constant 5 : i32 -> !tsr.tensor<[], i32>
    %b = tsr.compare lt %d, %far : (!tsr.tensor<[row: 32, col: 32], i32>, !tsr.tensor<[], i32>) -> !tsr.tensor<[row: 32, col: 32], i1>
    %sees = tsr.and %a, %b : (!tsr.tensor<[row: 32, col: 32], i1>, !tsr.tensor<[row: 32, col: 32], i1>) -> !tsr.tensor<[row: 32, col: 32], i1>
    %low = tsr.constant 0xFF800000 : f32 -> !tsr.tensor<[], f32>
    %m = tsr.select %sees, %s, %low : (!tsr.tensor<[row: 32, col: 32], i1>, !tsr.tensor<[head: 4, row: 32, col: 32], f32>, !tsr.tensor<[], f32>) -> !tsr.tensor<[head: 4, row: 32, col: 32], f32>
    %e = tsr.exp %m : !tsr.tensor<[head: 4, row: 32, col: 32], f32>
    %o = tsr.contract %e, %v over ["col"] : (!tsr.tensor<[head: 4, row: 32, col: 32], f32>, !tsr.tensor<[head: 4, col: 32, out: 8], f32>) -> !tsr.tensor<[head: 4, row: 32, out: 8], f32>
    return %o : !tsr.tensor<[head: 4, row: 32, out: 8], f32>
  }
}

// -----

// A sum over rows and over a batch axis: that axis is serial.
// CHECK-LABEL: func.func @step
module attributes {tsr.axes = ["head", "group", "row", "col", "hid", "out"], tsr.phase = "layout"} {
  func.func @step(%q: !tsr.tensor<[head: 4, group: 3, row: 32, hid: 8], f32>, %k: !tsr.tensor<[head: 4, col: 32, hid: 8], f32>)
      -> (!tsr.tensor<[head: 4, col: 32, hid: 8], f32>) {
    // CHECK: tsr.tiled {{.*}} parallel [head] serial [group] rows row columns col
    %s = tsr.contract %q, %k over ["hid"] : (!tsr.tensor<[head: 4, group: 3, row: 32, hid: 8], f32>, !tsr.tensor<[head: 4, col: 32, hid: 8], f32>) -> !tsr.tensor<[head: 4, group: 3, row: 32, col: 32], f32>
    %e = tsr.exp %s : !tsr.tensor<[head: 4, group: 3, row: 32, col: 32], f32>
    // CHECK: tsr.contract {{.*}} over [group, row]
    %g = tsr.contract %e, %q over ["group", "row"] : (!tsr.tensor<[head: 4, group: 3, row: 32, col: 32], f32>, !tsr.tensor<[head: 4, group: 3, row: 32, hid: 8], f32>) -> !tsr.tensor<[head: 4, col: 32, hid: 8], f32>
    return %g : !tsr.tensor<[head: 4, col: 32, hid: 8], f32>
  }
}

// -----

// Each op of a mask's arithmetic is visited once, however often it is used.
// CHECK-LABEL: func.func @step
module attributes {tsr.axes = ["head", "row", "col", "hid", "out"], tsr.phase = "layout"} {
  func.func @step(%q: !tsr.tensor<[head: 4, row: 32, hid: 8], f32>, %k: !tsr.tensor<[head: 4, col: 32, hid: 8], f32>, %v: !tsr.tensor<[head: 4, col: 32, out: 8], f32>) -> !tsr.tensor<[head: 4, row: 32, out: 8], f32> {
    // CHECK: tsr.tiled
    %s = tsr.contract %q, %k over ["hid"] {tsr.name = "scores"} : (!tsr.tensor<[head: 4, row: 32, hid: 8], f32>, !tsr.tensor<[head: 4, col: 32, hid: 8], f32>) -> !tsr.tensor<[head: 4, row: 32, col: 32], f32>
    %i = tsr.index : !tsr.tensor<[row: 32], i32>
    %a0 = tsr.index : !tsr.tensor<[col: 32], i32>
    %a1 = tsr.add %a0, %a0 : (!tsr.tensor<[col: 32], i32>, !tsr.tensor<[col: 32], i32>) -> !tsr.tensor<[col: 32], i32>
    %a2 = tsr.add %a1, %a1 : (!tsr.tensor<[col: 32], i32>, !tsr.tensor<[col: 32], i32>) -> !tsr.tensor<[col: 32], i32>
    %a3 = tsr.add %a2, %a2 : (!tsr.tensor<[col: 32], i32>, !tsr.tensor<[col: 32], i32>) -> !tsr.tensor<[col: 32], i32>
    %a4 = tsr.add %a3, %a3 : (!tsr.tensor<[col: 32], i32>, !tsr.tensor<[col: 32], i32>) -> !tsr.tensor<[col: 32], i32>
    %a5 = tsr.add %a4, %a4 : (!tsr.tensor<[col: 32], i32>, !tsr.tensor<[col: 32], i32>) -> !tsr.tensor<[col: 32], i32>
    %a6 = tsr.add %a5, %a5 : (!tsr.tensor<[col: 32], i32>, !tsr.tensor<[col: 32], i32>) -> !tsr.tensor<[col: 32], i32>
    %a7 = tsr.add %a6, %a6 : (!tsr.tensor<[col: 32], i32>, !tsr.tensor<[col: 32], i32>) -> !tsr.tensor<[col: 32], i32>
    %a8 = tsr.add %a7, %a7 : (!tsr.tensor<[col: 32], i32>, !tsr.tensor<[col: 32], i32>) -> !tsr.tensor<[col: 32], i32>
    %a9 = tsr.add %a8, %a8 : (!tsr.tensor<[col: 32], i32>, !tsr.tensor<[col: 32], i32>) -> !tsr.tensor<[col: 32], i32>
    %a10 = tsr.add %a9, %a9 : (!tsr.tensor<[col: 32], i32>, !tsr.tensor<[col: 32], i32>) -> !tsr.tensor<[col: 32], i32>
    %a11 = tsr.add %a10, %a10 : (!tsr.tensor<[col: 32], i32>, !tsr.tensor<[col: 32], i32>) -> !tsr.tensor<[col: 32], i32>
    %a12 = tsr.add %a11, %a11 : (!tsr.tensor<[col: 32], i32>, !tsr.tensor<[col: 32], i32>) -> !tsr.tensor<[col: 32], i32>
    %a13 = tsr.add %a12, %a12 : (!tsr.tensor<[col: 32], i32>, !tsr.tensor<[col: 32], i32>) -> !tsr.tensor<[col: 32], i32>
    %a14 = tsr.add %a13, %a13 : (!tsr.tensor<[col: 32], i32>, !tsr.tensor<[col: 32], i32>) -> !tsr.tensor<[col: 32], i32>
    %a15 = tsr.add %a14, %a14 : (!tsr.tensor<[col: 32], i32>, !tsr.tensor<[col: 32], i32>) -> !tsr.tensor<[col: 32], i32>
    %a16 = tsr.add %a15, %a15 : (!tsr.tensor<[col: 32], i32>, !tsr.tensor<[col: 32], i32>) -> !tsr.tensor<[col: 32], i32>
    %a17 = tsr.add %a16, %a16 : (!tsr.tensor<[col: 32], i32>, !tsr.tensor<[col: 32], i32>) -> !tsr.tensor<[col: 32], i32>
    %a18 = tsr.add %a17, %a17 : (!tsr.tensor<[col: 32], i32>, !tsr.tensor<[col: 32], i32>) -> !tsr.tensor<[col: 32], i32>
    %a19 = tsr.add %a18, %a18 : (!tsr.tensor<[col: 32], i32>, !tsr.tensor<[col: 32], i32>) -> !tsr.tensor<[col: 32], i32>
    %a20 = tsr.add %a19, %a19 : (!tsr.tensor<[col: 32], i32>, !tsr.tensor<[col: 32], i32>) -> !tsr.tensor<[col: 32], i32>
    %a21 = tsr.add %a20, %a20 : (!tsr.tensor<[col: 32], i32>, !tsr.tensor<[col: 32], i32>) -> !tsr.tensor<[col: 32], i32>
    %a22 = tsr.add %a21, %a21 : (!tsr.tensor<[col: 32], i32>, !tsr.tensor<[col: 32], i32>) -> !tsr.tensor<[col: 32], i32>
    %a23 = tsr.add %a22, %a22 : (!tsr.tensor<[col: 32], i32>, !tsr.tensor<[col: 32], i32>) -> !tsr.tensor<[col: 32], i32>
    %a24 = tsr.add %a23, %a23 : (!tsr.tensor<[col: 32], i32>, !tsr.tensor<[col: 32], i32>) -> !tsr.tensor<[col: 32], i32>
    %a25 = tsr.add %a24, %a24 : (!tsr.tensor<[col: 32], i32>, !tsr.tensor<[col: 32], i32>) -> !tsr.tensor<[col: 32], i32>
    %a26 = tsr.add %a25, %a25 : (!tsr.tensor<[col: 32], i32>, !tsr.tensor<[col: 32], i32>) -> !tsr.tensor<[col: 32], i32>
    %a27 = tsr.add %a26, %a26 : (!tsr.tensor<[col: 32], i32>, !tsr.tensor<[col: 32], i32>) -> !tsr.tensor<[col: 32], i32>
    %a28 = tsr.add %a27, %a27 : (!tsr.tensor<[col: 32], i32>, !tsr.tensor<[col: 32], i32>) -> !tsr.tensor<[col: 32], i32>
    %a29 = tsr.add %a28, %a28 : (!tsr.tensor<[col: 32], i32>, !tsr.tensor<[col: 32], i32>) -> !tsr.tensor<[col: 32], i32>
    %a30 = tsr.add %a29, %a29 : (!tsr.tensor<[col: 32], i32>, !tsr.tensor<[col: 32], i32>) -> !tsr.tensor<[col: 32], i32>
    %a31 = tsr.add %a30, %a30 : (!tsr.tensor<[col: 32], i32>, !tsr.tensor<[col: 32], i32>) -> !tsr.tensor<[col: 32], i32>
    %a32 = tsr.add %a31, %a31 : (!tsr.tensor<[col: 32], i32>, !tsr.tensor<[col: 32], i32>) -> !tsr.tensor<[col: 32], i32>
    %a33 = tsr.add %a32, %a32 : (!tsr.tensor<[col: 32], i32>, !tsr.tensor<[col: 32], i32>) -> !tsr.tensor<[col: 32], i32>
    %a34 = tsr.add %a33, %a33 : (!tsr.tensor<[col: 32], i32>, !tsr.tensor<[col: 32], i32>) -> !tsr.tensor<[col: 32], i32>
    %a35 = tsr.add %a34, %a34 : (!tsr.tensor<[col: 32], i32>, !tsr.tensor<[col: 32], i32>) -> !tsr.tensor<[col: 32], i32>
    %a36 = tsr.add %a35, %a35 : (!tsr.tensor<[col: 32], i32>, !tsr.tensor<[col: 32], i32>) -> !tsr.tensor<[col: 32], i32>
    %a37 = tsr.add %a36, %a36 : (!tsr.tensor<[col: 32], i32>, !tsr.tensor<[col: 32], i32>) -> !tsr.tensor<[col: 32], i32>
    %a38 = tsr.add %a37, %a37 : (!tsr.tensor<[col: 32], i32>, !tsr.tensor<[col: 32], i32>) -> !tsr.tensor<[col: 32], i32>
    %a39 = tsr.add %a38, %a38 : (!tsr.tensor<[col: 32], i32>, !tsr.tensor<[col: 32], i32>) -> !tsr.tensor<[col: 32], i32>
    %a40 = tsr.add %a39, %a39 : (!tsr.tensor<[col: 32], i32>, !tsr.tensor<[col: 32], i32>) -> !tsr.tensor<[col: 32], i32>
    %sees = tsr.compare le %a40, %i : (!tsr.tensor<[col: 32], i32>, !tsr.tensor<[row: 32], i32>) -> !tsr.tensor<[row: 32, col: 32], i1>
    %low = tsr.constant 0xFF800000 : f32 -> !tsr.tensor<[], f32>
    %m = tsr.select %sees, %s, %low : (!tsr.tensor<[row: 32, col: 32], i1>, !tsr.tensor<[head: 4, row: 32, col: 32], f32>, !tsr.tensor<[], f32>) -> !tsr.tensor<[head: 4, row: 32, col: 32], f32>
    %e = tsr.exp %m : !tsr.tensor<[head: 4, row: 32, col: 32], f32>
    %o = tsr.contract %e, %v over ["col"] : (!tsr.tensor<[head: 4, row: 32, col: 32], f32>, !tsr.tensor<[head: 4, col: 32, out: 8], f32>) -> !tsr.tensor<[head: 4, row: 32, out: 8], f32>
    return %o : !tsr.tensor<[head: 4, row: 32, out: 8], f32>
  }
}
