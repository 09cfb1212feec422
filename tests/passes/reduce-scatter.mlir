// RUN: tessera-opt %s --split-input-file --tsr-simplify --tsr-localize | FileCheck %s
// RUN: sed 's/tsr.phase = "partition"/tsr.phase = "partition", tsr.reductions = "library"/' %s | tessera-opt --split-input-file --tsr-simplify --tsr-localize=least-divided=1 | FileCheck %s --check-prefix=LIBRARY
// RUN: tessera-opt %s --split-input-file --tsr-localize=least-divided=1 | FileCheck %s --check-prefix=DIVIDED

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

// -----

// A sum over two mesh axes that all ranks want whole: the near ranks reduce parts, of which the others exchange parts.
// CHECK-LABEL: func.func @step
// DIVIDED-LABEL: func.func @step
// DIVIDED: tsr.start all_to_all {{.*}} along tensor : <[tensor: 2, n: 4, m: 2], f32>
// DIVIDED: tsr.start all_to_all {{.*}} along data : <[data: 4, n: 1, m: 2], f32>
// DIVIDED: tsr.start all_gather {{.*}} along data : <[n: 1, m: 2], bf16>
// DIVIDED: tsr.start all_gather {{.*}} along tensor : <[n: 4, m: 2], bf16>
// DIVIDED-NOT: tsr.start
// DIVIDED: return
module attributes {tsr.axes = ["data", "tensor", "n", "m"], tsr.phase = "partition", tsr.mesh = [#tsr.axis<data: 4>, #tsr.axis<tensor: 2>]} {
  func.func @step(%x: !tsr.tensor<[data: 4, tensor: 2, n: 8, m: 2], f32> {tsr.input = {name = "x", role = "data"}}) -> !tsr.tensor<[n: 8, m: 2], bf16> {
    %s = tsr.reduce sum %x over [data, tensor] : !tsr.tensor<[data: 4, tensor: 2, n: 8, m: 2], f32> -> !tsr.tensor<[n: 8, m: 2], f32>
    %c = tsr.cast %s : !tsr.tensor<[n: 8, m: 2], f32> to !tsr.tensor<[n: 8, m: 2], bf16>
    return %c : !tsr.tensor<[n: 8, m: 2], bf16>
  }
}

// -----

// Small values are gathered in f32, and rounded by everybody.
// CHECK-LABEL: func.func @step
// CHECK: tsr.start all_gather {{.*}} along data : <[n: 8], f32>
// CHECK: tsr.reduce sum
// CHECK: tsr.cast
// CHECK-NOT: tsr.start
// CHECK: return
module attributes {tsr.axes = ["data", "n"], tsr.phase = "partition", tsr.mesh = [#tsr.axis<data: 4>]} {
  func.func @step(%x: !tsr.tensor<[data: 4, n: 8], f32> {tsr.input = {name = "x", role = "data"}}) -> !tsr.tensor<[n: 8], bf16> {
    %s = tsr.reduce sum %x over [data] : !tsr.tensor<[data: 4, n: 8], f32> -> !tsr.tensor<[n: 8], f32>
    %c = tsr.cast %s : !tsr.tensor<[n: 8], f32> to !tsr.tensor<[n: 8], bf16>
    return %c : !tsr.tensor<[n: 8], bf16>
  }
}

// -----

// Large values of which no axis is as long as the ranks are many: the ranks divide all axes as one.
// CHECK-LABEL: func.func @step
// CHECK: %[[F:.*]] = tsr.merge %{{.*}} [n, m, k] into n : <[n: 8, m: 4, k: 40], f32> -> <[n: 1280], f32>
// CHECK: %[[S:.*]] = tsr.split {{.*}} n into [data, n] : {{.*}} -> <[data: 64, n: 20], f32>
// CHECK: tsr.start all_to_all %[[S]]
// CHECK: tsr.start all_gather {{.*}} : <[n: 20], f32>
// CHECK: tsr.split {{.*}} n into [n, m, k] : <[n: 1280], f32> -> <[n: 8, m: 4, k: 40], f32>
module attributes {tsr.axes = ["data", "n", "m", "k"], tsr.phase = "partition", tsr.mesh = [#tsr.axis<data: 64>]} {
  func.func @step(%x: !tsr.tensor<[data: 64, n: 8, m: 4, k: 40], f32> {tsr.input = {name = "x", role = "data"}}) -> !tsr.tensor<[n: 8, m: 4, k: 40], f32> {
    %s = tsr.reduce sum %x over [data] : !tsr.tensor<[data: 64, n: 8, m: 4, k: 40], f32> -> !tsr.tensor<[n: 8, m: 4, k: 40], f32>
    return %s : !tsr.tensor<[n: 8, m: 4, k: 40], f32>
  }
}
