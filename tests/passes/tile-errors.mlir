// RUN: tessera-opt %s --split-input-file --tsr-verify-phase=phase=tile --verify-diagnostics

// Rules for tiled ops: code for those that break them would compute something else.

// A matrix that another op reads must be stored.
module attributes {tsr.axes = ["head", "row", "col", "hid", "out"], tsr.phase = "fuse"} {
  func.func @step(%q: !tsr.tensor<[head: 4, row: 32, hid: 8], f32>, %k: !tsr.tensor<[head: 4, col: 32, hid: 8], f32>, %v: !tsr.tensor<[head: 4, col: 32, out: 8], f32>) -> (!tsr.tensor<[head: 4, row: 32, out: 8], f32>, !tsr.tensor<[head: 4, row: 32, col: 32], f32>) {
    // expected-error @below {{a matrix cannot be a result: it is not stored}}
    %t:2 = tsr.tiled "scores" (%a = %q : !tsr.tensor<[head: 4, row: 32, hid: 8], f32>, %b = %k : !tsr.tensor<[head: 4, col: 32, hid: 8], f32>, %c = %v : !tsr.tensor<[head: 4, col: 32, out: 8], f32>) parallel ["head"] serial [] rows "row" columns "col" -> (!tsr.tensor<[head: 4, row: 32, out: 8], f32>, !tsr.tensor<[head: 4, row: 32, col: 32], f32>) {
      %s = tsr.contract %a, %b over ["hid"] : (!tsr.tensor<[head: 4, row: 32, hid: 8], f32>, !tsr.tensor<[head: 4, col: 32, hid: 8], f32>) -> !tsr.tensor<[head: 4, row: 32, col: 32], f32>
      %e = tsr.kernel "exp" (%p = %s : !tsr.tensor<[head: 4, row: 32, col: 32], f32>) parallel ["head", "row", "col"] serial [] vector "col" -> (!tsr.tensor<[head: 4, row: 32, col: 32], f32>) {
        %x = tsr.exp %p : !tsr.tensor<[head: 4, row: 32, col: 32], f32>
        tsr.yield %x : !tsr.tensor<[head: 4, row: 32, col: 32], f32>
      }
      %o = tsr.contract %e, %c over ["col"] : (!tsr.tensor<[head: 4, row: 32, col: 32], f32>, !tsr.tensor<[head: 4, col: 32, out: 8], f32>) -> !tsr.tensor<[head: 4, row: 32, out: 8], f32>
      tsr.yield %o, %e : !tsr.tensor<[head: 4, row: 32, out: 8], f32>, !tsr.tensor<[head: 4, row: 32, col: 32], f32>
    }
    return %t#0, %t#1 : !tsr.tensor<[head: 4, row: 32, out: 8], f32>, !tsr.tensor<[head: 4, row: 32, col: 32], f32>
  }
}

// -----

// A kernel must be able to stop at any column.
module attributes {tsr.axes = ["head", "row", "col", "hid", "out"], tsr.phase = "fuse"} {
  func.func @step(%q: !tsr.tensor<[head: 4, row: 32, hid: 8], f32>, %k: !tsr.tensor<[head: 4, col: 32, hid: 8], f32>, %v: !tsr.tensor<[head: 4, col: 32, out: 8], f32>) -> (!tsr.tensor<[head: 4, row: 32, out: 8], f32>) {
    %t = tsr.tiled "scores" (%a = %q : !tsr.tensor<[head: 4, row: 32, hid: 8], f32>, %b = %k : !tsr.tensor<[head: 4, col: 32, hid: 8], f32>, %c = %v : !tsr.tensor<[head: 4, col: 32, out: 8], f32>) parallel ["head"] serial [] rows "row" columns "col" -> (!tsr.tensor<[head: 4, row: 32, out: 8], f32>) {
      %s = tsr.contract %a, %b over ["hid"] : (!tsr.tensor<[head: 4, row: 32, hid: 8], f32>, !tsr.tensor<[head: 4, col: 32, hid: 8], f32>) -> !tsr.tensor<[head: 4, row: 32, col: 32], f32>
      // expected-error @below {{expected a kernel that can run for a range of rows and columns}}
      %e = tsr.kernel "exp" (%p = %s : !tsr.tensor<[head: 4, row: 32, col: 32], f32>) parallel ["head", "row", "col"] serial [] vector "row" -> (!tsr.tensor<[head: 4, row: 32, col: 32], f32>) {
        %x = tsr.exp %p : !tsr.tensor<[head: 4, row: 32, col: 32], f32>
        tsr.yield %x : !tsr.tensor<[head: 4, row: 32, col: 32], f32>
      }
      %o = tsr.contract %e, %c over ["col"] : (!tsr.tensor<[head: 4, row: 32, col: 32], f32>, !tsr.tensor<[head: 4, col: 32, out: 8], f32>) -> !tsr.tensor<[head: 4, row: 32, out: 8], f32>
      tsr.yield %o : !tsr.tensor<[head: 4, row: 32, out: 8], f32>
    }
    return %t : !tsr.tensor<[head: 4, row: 32, out: 8], f32>
  }
}

// -----

// A batch axis that no contraction sums over is parallel.
module attributes {tsr.axes = ["head", "row", "col", "hid", "out"], tsr.phase = "fuse"} {
  func.func @step(%q: !tsr.tensor<[head: 4, row: 32, hid: 8], f32>, %k: !tsr.tensor<[head: 4, col: 32, hid: 8], f32>, %v: !tsr.tensor<[head: 4, col: 32, out: 8], f32>) -> (!tsr.tensor<[head: 4, row: 32, out: 8], f32>) {
    // expected-error @below {{expected batch axis `head` to be parallel}}
    %t = tsr.tiled "scores" (%a = %q : !tsr.tensor<[head: 4, row: 32, hid: 8], f32>, %b = %k : !tsr.tensor<[head: 4, col: 32, hid: 8], f32>, %c = %v : !tsr.tensor<[head: 4, col: 32, out: 8], f32>) parallel [] serial ["head"] rows "row" columns "col" -> (!tsr.tensor<[head: 4, row: 32, out: 8], f32>) {
      %s = tsr.contract %a, %b over ["hid"] : (!tsr.tensor<[head: 4, row: 32, hid: 8], f32>, !tsr.tensor<[head: 4, col: 32, hid: 8], f32>) -> !tsr.tensor<[head: 4, row: 32, col: 32], f32>
      %e = tsr.kernel "exp" (%p = %s : !tsr.tensor<[head: 4, row: 32, col: 32], f32>) parallel ["head", "row", "col"] serial [] vector "col" -> (!tsr.tensor<[head: 4, row: 32, col: 32], f32>) {
        %x = tsr.exp %p : !tsr.tensor<[head: 4, row: 32, col: 32], f32>
        tsr.yield %x : !tsr.tensor<[head: 4, row: 32, col: 32], f32>
      }
      %o = tsr.contract %e, %c over ["col"] : (!tsr.tensor<[head: 4, row: 32, col: 32], f32>, !tsr.tensor<[head: 4, col: 32, out: 8], f32>) -> !tsr.tensor<[head: 4, row: 32, out: 8], f32>
      tsr.yield %o : !tsr.tensor<[head: 4, row: 32, out: 8], f32>
    }
    return %t : !tsr.tensor<[head: 4, row: 32, out: 8], f32>
  }
}

// -----

// All batch axes are listed.
module attributes {tsr.axes = ["head", "row", "col", "hid", "out"], tsr.phase = "fuse"} {
  func.func @step(%q: !tsr.tensor<[head: 4, row: 32, hid: 8], f32>, %k: !tsr.tensor<[head: 4, col: 32, hid: 8], f32>, %v: !tsr.tensor<[head: 4, col: 32, out: 8], f32>) -> (!tsr.tensor<[head: 4, row: 32, out: 8], f32>) {
    // expected-error @below {{expected the batch axes of its matrices as parallel and serial axes}}
    %t = tsr.tiled "scores" (%a = %q : !tsr.tensor<[head: 4, row: 32, hid: 8], f32>, %b = %k : !tsr.tensor<[head: 4, col: 32, hid: 8], f32>, %c = %v : !tsr.tensor<[head: 4, col: 32, out: 8], f32>) parallel [] serial [] rows "row" columns "col" -> (!tsr.tensor<[head: 4, row: 32, out: 8], f32>) {
      %s = tsr.contract %a, %b over ["hid"] : (!tsr.tensor<[head: 4, row: 32, hid: 8], f32>, !tsr.tensor<[head: 4, col: 32, hid: 8], f32>) -> !tsr.tensor<[head: 4, row: 32, col: 32], f32>
      %e = tsr.kernel "exp" (%p = %s : !tsr.tensor<[head: 4, row: 32, col: 32], f32>) parallel ["head", "row", "col"] serial [] vector "col" -> (!tsr.tensor<[head: 4, row: 32, col: 32], f32>) {
        %x = tsr.exp %p : !tsr.tensor<[head: 4, row: 32, col: 32], f32>
        tsr.yield %x : !tsr.tensor<[head: 4, row: 32, col: 32], f32>
      }
      %o = tsr.contract %e, %c over ["col"] : (!tsr.tensor<[head: 4, row: 32, col: 32], f32>, !tsr.tensor<[head: 4, col: 32, out: 8], f32>) -> !tsr.tensor<[head: 4, row: 32, out: 8], f32>
      tsr.yield %o : !tsr.tensor<[head: 4, row: 32, out: 8], f32>
    }
    return %t : !tsr.tensor<[head: 4, row: 32, out: 8], f32>
  }
}

// -----

// The upper limit must include all elements that affect a result.
module attributes {tsr.axes = ["head", "row", "col", "hid", "out"], tsr.phase = "fuse"} {
  func.func @step(%q: !tsr.tensor<[head: 4, row: 32, hid: 8], f32>, %k: !tsr.tensor<[head: 4, col: 32, hid: 8], f32>, %v: !tsr.tensor<[head: 4, col: 32, out: 8], f32>) -> (!tsr.tensor<[head: 4, row: 32, out: 8], f32>) {
    // expected-error @below {{elements above the upper limit affect a result}}
    %t = tsr.tiled "scores" (%a = %q : !tsr.tensor<[head: 4, row: 32, hid: 8], f32>, %b = %k : !tsr.tensor<[head: 4, col: 32, hid: 8], f32>, %c = %v : !tsr.tensor<[head: 4, col: 32, out: 8], f32>) parallel ["head"] serial [] rows "row" columns "col" upper -1 -> (!tsr.tensor<[head: 4, row: 32, out: 8], f32>) {
      %s = tsr.contract %a, %b over ["hid"] : (!tsr.tensor<[head: 4, row: 32, hid: 8], f32>, !tsr.tensor<[head: 4, col: 32, hid: 8], f32>) -> !tsr.tensor<[head: 4, row: 32, col: 32], f32>
      %e = tsr.kernel "exp" (%p = %s : !tsr.tensor<[head: 4, row: 32, col: 32], f32>) parallel ["head", "row", "col"] serial [] vector "col" -> (!tsr.tensor<[head: 4, row: 32, col: 32], f32>) {
        %i = tsr.index : !tsr.tensor<[row: 32], i32>
        %j = tsr.index : !tsr.tensor<[col: 32], i32>
        %sees = tsr.compare le %j, %i : (!tsr.tensor<[col: 32], i32>, !tsr.tensor<[row: 32], i32>) -> !tsr.tensor<[row: 32, col: 32], i1>
        %low = tsr.constant 0xFF800000 : f32 -> !tsr.tensor<[], f32>
        %m = tsr.select %sees, %p, %low : (!tsr.tensor<[row: 32, col: 32], i1>, !tsr.tensor<[head: 4, row: 32, col: 32], f32>, !tsr.tensor<[], f32>) -> !tsr.tensor<[head: 4, row: 32, col: 32], f32>
        %x = tsr.exp %m : !tsr.tensor<[head: 4, row: 32, col: 32], f32>
        tsr.yield %x : !tsr.tensor<[head: 4, row: 32, col: 32], f32>
      }
      %o = tsr.contract %e, %c over ["col"] : (!tsr.tensor<[head: 4, row: 32, col: 32], f32>, !tsr.tensor<[head: 4, col: 32, out: 8], f32>) -> !tsr.tensor<[head: 4, row: 32, out: 8], f32>
      tsr.yield %o : !tsr.tensor<[head: 4, row: 32, out: 8], f32>
    }
    return %t : !tsr.tensor<[head: 4, row: 32, out: 8], f32>
  }
}

// -----

// So must the lower limit.
module attributes {tsr.axes = ["head", "row", "col", "hid", "out"], tsr.phase = "fuse"} {
  func.func @step(%q: !tsr.tensor<[head: 4, row: 32, hid: 8], f32>, %k: !tsr.tensor<[head: 4, col: 32, hid: 8], f32>, %v: !tsr.tensor<[head: 4, col: 32, out: 8], f32>) -> (!tsr.tensor<[head: 4, row: 32, out: 8], f32>) {
    // expected-error @below {{elements below the lower limit affect a result}}
    %t = tsr.tiled "scores" (%a = %q : !tsr.tensor<[head: 4, row: 32, hid: 8], f32>, %b = %k : !tsr.tensor<[head: 4, col: 32, hid: 8], f32>, %c = %v : !tsr.tensor<[head: 4, col: 32, out: 8], f32>) parallel ["head"] serial [] rows "row" columns "col" lower 0 upper 0 -> (!tsr.tensor<[head: 4, row: 32, out: 8], f32>) {
      %s = tsr.contract %a, %b over ["hid"] : (!tsr.tensor<[head: 4, row: 32, hid: 8], f32>, !tsr.tensor<[head: 4, col: 32, hid: 8], f32>) -> !tsr.tensor<[head: 4, row: 32, col: 32], f32>
      %e = tsr.kernel "exp" (%p = %s : !tsr.tensor<[head: 4, row: 32, col: 32], f32>) parallel ["head", "row", "col"] serial [] vector "col" -> (!tsr.tensor<[head: 4, row: 32, col: 32], f32>) {
        %i = tsr.index : !tsr.tensor<[row: 32], i32>
        %j = tsr.index : !tsr.tensor<[col: 32], i32>
        %sees = tsr.compare le %j, %i : (!tsr.tensor<[col: 32], i32>, !tsr.tensor<[row: 32], i32>) -> !tsr.tensor<[row: 32, col: 32], i1>
        %low = tsr.constant 0xFF800000 : f32 -> !tsr.tensor<[], f32>
        %m = tsr.select %sees, %p, %low : (!tsr.tensor<[row: 32, col: 32], i1>, !tsr.tensor<[head: 4, row: 32, col: 32], f32>, !tsr.tensor<[], f32>) -> !tsr.tensor<[head: 4, row: 32, col: 32], f32>
        %x = tsr.exp %m : !tsr.tensor<[head: 4, row: 32, col: 32], f32>
        tsr.yield %x : !tsr.tensor<[head: 4, row: 32, col: 32], f32>
      }
      %o = tsr.contract %e, %c over ["col"] : (!tsr.tensor<[head: 4, row: 32, col: 32], f32>, !tsr.tensor<[head: 4, col: 32, out: 8], f32>) -> !tsr.tensor<[head: 4, row: 32, out: 8], f32>
      tsr.yield %o : !tsr.tensor<[head: 4, row: 32, out: 8], f32>
    }
    return %t : !tsr.tensor<[head: 4, row: 32, out: 8], f32>
  }
}
