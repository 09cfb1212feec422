// RUN: tessera-opt %s --split-input-file --tsr-simplify --tsr-localize | FileCheck %s
// RUN: sed 's/tsr.phase = "partition"/tsr.phase = "partition", tsr.reductions = "library"/' %s | tessera-opt --split-input-file --tsr-simplify --tsr-localize=least-divided=1 | FileCheck %s --check-prefix=LIBRARY

// One sum that is read in parts twice, padded alike: one reduce-scatter.
// CHECK-LABEL: func.func @step
// CHECK: tsr.pad
// CHECK: tsr.start all_to_all
// CHECK-NOT: tsr.start
// CHECK: return

// The library can add what it exchanges.
// LIBRARY-LABEL: func.func @step
// LIBRARY: %[[PARTS:.*]] = tsr.split {{.*}} n into [data, n]
// LIBRARY: %[[S:.*]] = tsr.start reduce_scatter %[[PARTS]] along data : <[data: 2, n: 2], f32> -> <[n: 2], f32>
// LIBRARY: tsr.wait %[[S]] sent %[[PARTS]]
// LIBRARY-NOT: tsr.reduce
module attributes {tsr.axes = ["data", "n"], tsr.phase = "partition", tsr.mesh = [#tsr.axis<data: 2>]} {
  func.func @step(%x: !tsr.tensor<[data: 2, n: 3], f32> {tsr.input = {name = "x", role = "data"}}) -> !tsr.tensor<[data: 2, n: 2], f32> {
    %s = tsr.reduce sum %x over [data] : !tsr.tensor<[data: 2, n: 3], f32> -> !tsr.tensor<[n: 3], f32>
    %p = tsr.pad %s n at 0 : !tsr.tensor<[n: 3], f32> -> !tsr.tensor<[n: 4], f32>
    %q = tsr.pad %s n at 0 : !tsr.tensor<[n: 3], f32> -> !tsr.tensor<[n: 4], f32>
    %a = tsr.split %p n into [data, n] : !tsr.tensor<[n: 4], f32> -> !tsr.tensor<[data: 2, n: 2], f32>
    %b = tsr.split %q n into [data, n] : !tsr.tensor<[n: 4], f32> -> !tsr.tensor<[data: 2, n: 2], f32>
    %y = tsr.add %a, %b : !tsr.tensor<[data: 2, n: 2], f32>
    return %y : !tsr.tensor<[data: 2, n: 2], f32>
  }
}

// -----

// Padded in two ways it is two values: the gradient of w[0 .. n - 1] + w[1 .. n].
// CHECK-LABEL: func.func @step
// CHECK: tsr.start all_
// CHECK: tsr.pad {{.*}} at 0
// CHECK: tsr.pad {{.*}} at 1
// CHECK: return
module attributes {tsr.axes = ["data", "n"], tsr.phase = "partition", tsr.mesh = [#tsr.axis<data: 2>]} {
  func.func @step(%x: !tsr.tensor<[data: 2, n: 3], f32> {tsr.input = {name = "x", role = "data"}}) -> !tsr.tensor<[data: 2, n: 2], f32> {
    %s = tsr.reduce sum %x over [data] : !tsr.tensor<[data: 2, n: 3], f32> -> !tsr.tensor<[n: 3], f32>
    %p = tsr.pad %s n at 0 : !tsr.tensor<[n: 3], f32> -> !tsr.tensor<[n: 4], f32>
    %q = tsr.pad %s n at 1 : !tsr.tensor<[n: 3], f32> -> !tsr.tensor<[n: 4], f32>
    %a = tsr.split %p n into [data, n] : !tsr.tensor<[n: 4], f32> -> !tsr.tensor<[data: 2, n: 2], f32>
    %b = tsr.split %q n into [data, n] : !tsr.tensor<[n: 4], f32> -> !tsr.tensor<[data: 2, n: 2], f32>
    %y = tsr.add %a, %b : !tsr.tensor<[data: 2, n: 2], f32>
    return %y : !tsr.tensor<[data: 2, n: 2], f32>
  }
}
