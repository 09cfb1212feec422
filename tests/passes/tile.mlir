// RUN: tessera-opt %s --split-input-file --tsr-fuse --tsr-tile="least-rows=2 least-products=1" --tsr-verify-phase=phase=tile | FileCheck %s

// A matrix for each head, exponentials of what lies on and below the diagonal, and their product with other rows: one op. Above
// the diagonal nothing counts. What stood in front of the last contraction and needs a result comes behind the op.
// CHECK-LABEL: func.func @step
module attributes {tsr.axes = ["head", "group", "row", "col", "hid", "out"], tsr.phase = "layout"} {
  func.func @step(%q: !tsr.tensor<[head: 4, row: 32, hid: 8], f32>, %k: !tsr.tensor<[head: 4, col: 32, hid: 8], f32>, %v: !tsr.tensor<[head: 4, col: 32, out: 8], f32>)
      -> (!tsr.tensor<[head: 4, row: 32, out: 8], f32>, !tsr.tensor<[head: 4], f32>) {
    // CHECK: %[[L:.*]], %[[O:.*]] = tsr.tiled "scores" (%[[Q:.*]] = %arg0 : {{.*}}, %[[K:.*]] = %arg1 : {{.*}}, %[[V:.*]] = %arg2 : {{.*}}) parallel ["head"] serial [] rows "row" columns "col" upper 0 ->
    // CHECK: %[[S:.*]] = tsr.contract %[[Q]], %[[K]] over ["hid"]
    %s = tsr.contract %q, %k over ["hid"] {tsr.name = "scores"} : (!tsr.tensor<[head: 4, row: 32, hid: 8], f32>, !tsr.tensor<[head: 4, col: 32, hid: 8], f32>) -> !tsr.tensor<[head: 4, row: 32, col: 32], f32>
    // CHECK: %[[P:.*]]:2 = tsr.kernel {{.*}} (%{{.*}} = %[[S]] : {{.*}}) parallel ["head", "row"] serial ["col"] vector "col"
    %i = tsr.index : !tsr.tensor<[row: 32], i32>
    %j = tsr.index : !tsr.tensor<[col: 32], i32>
    %sees = tsr.compare le %j, %i : (!tsr.tensor<[col: 32], i32>, !tsr.tensor<[row: 32], i32>) -> !tsr.tensor<[row: 32, col: 32], i1>
    %low = tsr.constant 0xFF800000 : f32 -> !tsr.tensor<[], f32>
    %m = tsr.select %sees, %s, %low : (!tsr.tensor<[row: 32, col: 32], i1>, !tsr.tensor<[head: 4, row: 32, col: 32], f32>, !tsr.tensor<[], f32>) -> !tsr.tensor<[head: 4, row: 32, col: 32], f32>
    %e = tsr.exp %m : !tsr.tensor<[head: 4, row: 32, col: 32], f32>
    %t = tsr.reduce sum %e over ["col"] : !tsr.tensor<[head: 4, row: 32, col: 32], f32> -> !tsr.tensor<[head: 4, row: 32], f32>
    %n = tsr.reduce sum %t over ["row"] : !tsr.tensor<[head: 4, row: 32], f32> -> !tsr.tensor<[head: 4], f32>
    // CHECK: %[[R:.*]] = tsr.contract %[[P]]#0, %[[V]] over ["col"]
    %o = tsr.contract %e, %v over ["col"] : (!tsr.tensor<[head: 4, row: 32, col: 32], f32>, !tsr.tensor<[head: 4, col: 32, out: 8], f32>) -> !tsr.tensor<[head: 4, row: 32, out: 8], f32>
    // CHECK: tsr.yield %[[P]]#1, %[[R]]
    // CHECK: tsr.kernel {{.*}} (%{{.*}} = %[[L]] :
    return %o, %n : !tsr.tensor<[head: 4, row: 32, out: 8], f32>, !tsr.tensor<[head: 4], f32>
  }
}

// -----

// Someone else reads the matrix: it is stored.
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

// One matrix for all heads on the right: the products of the heads are one large product.
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

// Another number than -inf leaves something of what it stands for: everything counts.
// CHECK-LABEL: func.func @step
module attributes {tsr.axes = ["head", "group", "row", "col", "hid", "out"], tsr.phase = "layout"} {
  func.func @step(%q: !tsr.tensor<[head: 4, row: 32, hid: 8], f32>, %k: !tsr.tensor<[head: 4, col: 32, hid: 8], f32>, %v: !tsr.tensor<[head: 4, col: 32, out: 8], f32>)
      -> (!tsr.tensor<[head: 4, row: 32, out: 8], f32>) {
    // CHECK: tsr.tiled {{.*}} rows "row" columns "col" ->
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

// Comparisons joined by `and`, the other way round and of a difference, limit a band on both sides.
// CHECK-LABEL: func.func @step
module attributes {tsr.axes = ["head", "group", "row", "col", "hid", "out"], tsr.phase = "layout"} {
  func.func @step(%q: !tsr.tensor<[head: 4, row: 32, hid: 8], f32>, %k: !tsr.tensor<[head: 4, col: 32, hid: 8], f32>, %v: !tsr.tensor<[head: 4, col: 32, out: 8], f32>)
      -> (!tsr.tensor<[head: 4, row: 32, out: 8], f32>) {
    // CHECK: tsr.tiled {{.*}} lower -4 upper 0 ->
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

// What is summed over rows and over an axis of the batch: that axis runs inside one thread.
// CHECK-LABEL: func.func @step
module attributes {tsr.axes = ["head", "group", "row", "col", "hid", "out"], tsr.phase = "layout"} {
  func.func @step(%q: !tsr.tensor<[head: 4, group: 3, row: 32, hid: 8], f32>, %k: !tsr.tensor<[head: 4, col: 32, hid: 8], f32>)
      -> (!tsr.tensor<[head: 4, col: 32, hid: 8], f32>) {
    // CHECK: tsr.tiled {{.*}} parallel ["head"] serial ["group"] rows "row" columns "col" ->
    %s = tsr.contract %q, %k over ["hid"] : (!tsr.tensor<[head: 4, group: 3, row: 32, hid: 8], f32>, !tsr.tensor<[head: 4, col: 32, hid: 8], f32>) -> !tsr.tensor<[head: 4, group: 3, row: 32, col: 32], f32>
    %e = tsr.exp %s : !tsr.tensor<[head: 4, group: 3, row: 32, col: 32], f32>
    // CHECK: tsr.contract {{.*}} over ["group", "row"]
    %g = tsr.contract %e, %q over ["group", "row"] : (!tsr.tensor<[head: 4, group: 3, row: 32, col: 32], f32>, !tsr.tensor<[head: 4, group: 3, row: 32, hid: 8], f32>) -> !tsr.tensor<[head: 4, col: 32, hid: 8], f32>
    return %g : !tsr.tensor<[head: 4, col: 32, hid: 8], f32>
  }
}
