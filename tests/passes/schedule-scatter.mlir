// RUN: tessera-opt %s --tsr-schedule --tsr-verify-phase=phase=schedule | FileCheck %s

// A scatter does not overwrite its updates, although they have the type of its result and die in it.
module attributes {tsr.axes = ["vocab"], tsr.phase = "fuse"} {
  // CHECK-LABEL: func.func @evaluate
  func.func @evaluate(%x: !tsr.tensor<[vocab: 8], f32> {tsr.input = {name = "d.x", role = "data", data = "d", field = "x"}})
      -> (!tsr.tensor<[vocab: 8], f32> {tsr.output = {name = "y", role = "metric"}}) {
    // CHECK: tsr.kernel "exp" {{.*}} at <[[UPDATES:[0-9]+]]>
    // CHECK-NOT: tsr.kernel "scatter" {{.*}} at <[[UPDATES]]>
    // CHECK: return
    %u = tsr.kernel "exp" (%a = %x : !tsr.tensor<[vocab: 8], f32>) parallel ["vocab"] serial [] -> (!tsr.tensor<[vocab: 8], f32>) {
      %e = tsr.exp %a : !tsr.tensor<[vocab: 8], f32>
      tsr.yield %e : !tsr.tensor<[vocab: 8], f32>
    }
    %s = tsr.kernel "scatter" (%a = %u : !tsr.tensor<[vocab: 8], f32>) parallel [] serial ["vocab"] -> (!tsr.tensor<[vocab: 8], f32>) {
      %i = tsr.index : !tsr.tensor<[vocab: 8], i32>
      %r = tsr.scatter_add %a[["vocab"] = %i] : (!tsr.tensor<[vocab: 8], f32>, !tsr.tensor<[vocab: 8], i32>) -> !tsr.tensor<[vocab: 8], f32>
      tsr.yield %r : !tsr.tensor<[vocab: 8], f32>
    }
    return %s : !tsr.tensor<[vocab: 8], f32>
  }
}
