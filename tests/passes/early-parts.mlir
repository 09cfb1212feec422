// RUN: tessera-opt %s --split-input-file --tsr-partition --tsr-simplify | FileCheck %s
// RUN: tessera-opt %s --split-input-file --tsr-partition --tsr-simplify --tsr-localize=least-divided=1 --tsr-simplify | FileCheck %s --check-prefix=LOCAL

// A sum that is rounded to bf16, and then divided: a reduce-scatter in f32. The sum is rounded once, on each rank its part.
// CHECK-LABEL: func.func @step
// CHECK: %[[S:.*]] = tsr.reduce sum %{{.*}} over [data] : <[data: 2, in: 3, out: 4], f32>
// CHECK: %[[P:.*]] = tsr.split %[[S]] out into [data, out]
// CHECK: tsr.cast %[[P]] : <[data: 2, in: 3, out: 2], f32> to <[data: 2, in: 3, out: 2], bf16>
// LOCAL-LABEL: func.func @step
// LOCAL: tsr.start all_to_all {{.*}} : <[data: 2, in: 3, out: 2], f32>
// LOCAL: tsr.reduce sum
// LOCAL: tsr.cast {{.*}} : <[in: 3, out: 2], f32> to <[in: 3, out: 2], bf16>
// LOCAL-NOT: tsr.start
// LOCAL: return
!x = !tsr.tensor<[batch: 4, in: 3], bf16>
!d = !tsr.tensor<[batch: 4, out: 4], bf16>
!g = !tsr.tensor<[in: 3, out: 4], bf16>
module attributes {tsr.axes = ["batch", "in", "out"], tsr.phase = "optimize", tsr.mesh = [#tsr.axis<data: 2>]} {
  func.func @step(%x: !x {tsr.input = {name = "x", role = "data"}, tsr.sharding = {batch = "data"}},
      %d: !d {tsr.input = {name = "d", role = "data"}, tsr.sharding = {batch = "data"}})
      -> (!g {tsr.output = {name = "g", role = "metric"}, tsr.sharding = {out = "data"}}) {
    %g = tsr.contract %x, %d over [batch] {tsr.sharding = {batch = "data"}} : (!x, !d) -> !g
    return %g : !g
  }
}

// -----

// The same with an axis that the ranks do not divide: it is padded before it is scattered. Two readers want the part.
// CHECK-LABEL: func.func @step
// CHECK: %[[S:.*]] = tsr.reduce sum %{{.*}} over [data] : <[data: 2, in: 3, out: 4], f32>
// CHECK: %[[W:.*]] = tsr.pad %[[S]] in at 0 : <[in: 3, out: 4], f32> -> <[in: 4, out: 4], f32>
// CHECK: %[[P:.*]] = tsr.split %[[W]] in into [data, in]
// CHECK: %[[C:.*]] = tsr.cast %[[P]]
// CHECK: tsr.exp %[[C]]
// CHECK: tsr.tanh %[[C]]
// CHECK-NOT: tsr.pad
// LOCAL-LABEL: func.func @step
// LOCAL: tsr.start all_to_all {{.*}} : <[data: 2, in: 2, out: 4], f32>
// LOCAL-NOT: tsr.start
// LOCAL: return
!x = !tsr.tensor<[batch: 4, in: 3], bf16>
!d = !tsr.tensor<[batch: 4, out: 4], bf16>
!g = !tsr.tensor<[in: 3, out: 4], bf16>
module attributes {tsr.axes = ["batch", "in", "out"], tsr.phase = "optimize", tsr.mesh = [#tsr.axis<data: 2>]} {
  func.func @step(%x: !x {tsr.input = {name = "x", role = "data"}, tsr.sharding = {batch = "data"}},
      %d: !d {tsr.input = {name = "d", role = "data"}, tsr.sharding = {batch = "data"}})
      -> (!g {tsr.output = {name = "e", role = "metric"}, tsr.sharding = {in = "data"}},
          !g {tsr.output = {name = "t", role = "metric"}, tsr.sharding = {in = "data"}}) {
    %g = tsr.contract %x, %d over [batch] {tsr.sharding = {batch = "data"}} : (!x, !d) -> !g
    %e = tsr.exp %g {tsr.sharding = {in = "data"}} : !g
    %t = tsr.tanh %g {tsr.sharding = {in = "data"}} : !g
    return %e, %t : !g, !g
  }
}

// -----

// One reader wants all of it: what is gathered is rounded, and the other reader takes its part of it.
// CHECK-LABEL: func.func @step
// LOCAL-LABEL: func.func @step
// LOCAL: tsr.start all_to_all {{.*}} : <[data: 3, in: 1, out: 4], f32>
// LOCAL: %[[C:.*]] = tsr.cast {{.*}} : <[in: 1, out: 4], f32> to <[in: 1, out: 4], bf16>
// LOCAL: tsr.start all_gather %[[C]] along data : <[in: 1, out: 4], bf16> -> <[data: 3, in: 1, out: 4], bf16>
// LOCAL-NOT: tsr.start
// LOCAL: return
!x = !tsr.tensor<[batch: 6, in: 3], bf16>
!d = !tsr.tensor<[batch: 6, out: 4], bf16>
!g = !tsr.tensor<[in: 3, out: 4], bf16>
module attributes {tsr.axes = ["batch", "in", "out"], tsr.phase = "optimize", tsr.mesh = [#tsr.axis<data: 3>]} {
  func.func @step(%x: !x {tsr.input = {name = "x", role = "data"}, tsr.sharding = {batch = "data"}},
      %d: !d {tsr.input = {name = "d", role = "data"}, tsr.sharding = {batch = "data"}})
      -> (!g {tsr.output = {name = "e", role = "metric"}, tsr.sharding = {}},
          !g {tsr.output = {name = "t", role = "metric"}, tsr.sharding = {in = "data"}}) {
    %g = tsr.contract %x, %d over [batch] {tsr.sharding = {batch = "data"}} : (!x, !d) -> !g
    %e = tsr.exp %g {tsr.sharding = {}} : !g
    %t = tsr.tanh %g {tsr.sharding = {in = "data"}} : !g
    return %e, %t : !g, !g
  }
}

// -----

// A sum over two mesh axes of which one divides the result: the near ranks reduce parts of another axis, which are
// scattered along that one before they are gathered.
// CHECK-LABEL: func.func @step
// LOCAL-LABEL: func.func @step
// LOCAL: tsr.start all_to_all {{.*}} along tensor : <[tensor: 2, in: 2, out: 4], f32>
// LOCAL: tsr.start all_to_all {{.*}} along data : <[data: 2, in: 2, out: 2], f32>
// LOCAL: tsr.start all_gather {{.*}} along tensor : <[in: 2, out: 2], f32>
// LOCAL-NOT: tsr.start
// LOCAL: return
!x = !tsr.tensor<[batch: 4, seq: 4, in: 4], f32>
!d = !tsr.tensor<[batch: 4, seq: 4, out: 4], f32>
!w = !tsr.tensor<[in: 4, out: 4], f32>
module attributes {tsr.axes = ["batch", "seq", "in", "out"], tsr.phase = "optimize", tsr.mesh = [#tsr.axis<data: 2>, #tsr.axis<tensor: 2>]} {
  func.func @step(%x: !x {tsr.input = {name = "x", role = "data"}, tsr.sharding = {batch = "data", seq = "tensor"}},
      %d: !d {tsr.input = {name = "d", role = "data"}, tsr.sharding = {batch = "data", seq = "tensor"}})
      -> (!w {tsr.output = {name = "g", role = "metric"}, tsr.sharding = {out = "data"}}) {
    %g = tsr.contract %x, %d over [batch, seq] {tsr.sharding = {batch = "data", seq = "tensor"}} : (!x, !d) -> !w
    return %g : !w
  }
}

// -----

// No other axis is as long as the near ranks are many: they reduce the part.
// CHECK-LABEL: func.func @step
// LOCAL-LABEL: func.func @step
// LOCAL: tsr.start all_to_all {{.*}} along data : <[data: 2, in: 1, out: 2], f32>
// LOCAL: tsr.start all_to_all {{.*}} along tensor : <[tensor: 2, in: 1, out: 1], f32>
// LOCAL: tsr.start all_gather {{.*}} along tensor : <[in: 1, out: 1], f32>
// LOCAL-NOT: tsr.start
// LOCAL: return
!x = !tsr.tensor<[batch: 4, seq: 4, in: 1], f32>
!d = !tsr.tensor<[batch: 4, seq: 4, out: 4], f32>
!w = !tsr.tensor<[in: 1, out: 4], f32>
module attributes {tsr.axes = ["batch", "seq", "in", "out"], tsr.phase = "optimize", tsr.mesh = [#tsr.axis<data: 2>, #tsr.axis<tensor: 2>]} {
  func.func @step(%x: !x {tsr.input = {name = "x", role = "data"}, tsr.sharding = {batch = "data", seq = "tensor"}},
      %d: !d {tsr.input = {name = "d", role = "data"}, tsr.sharding = {batch = "data", seq = "tensor"}})
      -> (!w {tsr.output = {name = "g", role = "metric"}, tsr.sharding = {out = "data"}}) {
    %g = tsr.contract %x, %d over [batch, seq] {tsr.sharding = {batch = "data", seq = "tensor"}} : (!x, !d) -> !w
    return %g : !w
  }
}

// -----

// Both divide it: two reduce-scatters, first among the ranks that are near to each other, whatever the axes are called.
// CHECK-LABEL: func.func @step
// CHECK: %[[A:.*]] = tsr.reduce sum {{.*}} over [data, tensor]
// CHECK: %[[B:.*]] = tsr.split %[[A]] in into [tensor, in]
// CHECK: tsr.split %[[B]] out into [data, out]
// CHECK: %[[C:.*]] = tsr.reduce sum {{.*}} over [data, tensor]
// CHECK: %[[D:.*]] = tsr.split %[[C]] out into [tensor, out]
// CHECK: tsr.split %[[D]] in into [data, in]
// LOCAL-LABEL: func.func @step
// LOCAL: tsr.start all_to_all {{.*}} along tensor : <[tensor: 2, in: 2, out: 4], f32>
// LOCAL: tsr.start all_to_all {{.*}} along data : <[data: 2, in: 2, out: 2], f32>
// LOCAL-NOT: all_gather
// LOCAL: return
!x = !tsr.tensor<[batch: 4, seq: 4, in: 4], f32>
!d = !tsr.tensor<[batch: 4, seq: 4, out: 4], f32>
!w = !tsr.tensor<[in: 4, out: 4], f32>
module attributes {tsr.axes = ["batch", "seq", "in", "out"], tsr.phase = "optimize", tsr.mesh = [#tsr.axis<data: 2>, #tsr.axis<tensor: 2>]} {
  func.func @step(%x: !x {tsr.input = {name = "x", role = "data"}, tsr.sharding = {batch = "data", seq = "tensor"}},
      %d: !d {tsr.input = {name = "d", role = "data"}, tsr.sharding = {batch = "data", seq = "tensor"}})
      -> (!w {tsr.output = {name = "g", role = "metric"}, tsr.sharding = {in = "tensor", out = "data"}},
          !w {tsr.output = {name = "h", role = "metric"}, tsr.sharding = {in = "data", out = "tensor"}}) {
    %g = tsr.contract %x, %d over [batch, seq] {tsr.sharding = {batch = "data", seq = "tensor"}} : (!x, !d) -> !w
    %t = tsr.tanh %x {tsr.sharding = {batch = "data", seq = "tensor"}} : !x
    %h = tsr.contract %t, %d over [seq, batch] {tsr.sharding = {batch = "data", seq = "tensor"}} : (!x, !d) -> !w
    return %g, %h : !w, !w
  }
}

// -----

// An axis that becomes whole: it is gathered after the sum was scattered, in bf16.
// CHECK-LABEL: func.func @step
// CHECK: %[[S:.*]] = tsr.reduce sum {{.*}} over [data]
// CHECK: %[[P:.*]] = tsr.split %[[S]] in into [data, in]
// CHECK: %[[C:.*]] = tsr.cast %[[P]]
// CHECK: tsr.merge %[[C]] [tensor, out] into out : <[data: 2, tensor: 2, in: 2, out: 3], bf16> -> <[data: 2, in: 2, out: 6], bf16>
// CHECK: tsr.slice {{.*}} out from 0 : {{.*}} -> <[data: 2, in: 2, out: 5], bf16>
// LOCAL-LABEL: func.func @step
// LOCAL: tsr.start all_to_all {{.*}} along data : <[data: 2, in: 2, out: 3], f32>
// LOCAL: tsr.start all_gather {{.*}} along tensor : <[in: 2, out: 3], bf16>
// LOCAL-NOT: tsr.start
// LOCAL: return
!x = !tsr.tensor<[batch: 4, in: 4], bf16>
!d = !tsr.tensor<[batch: 4, out: 5], bf16>
!w = !tsr.tensor<[in: 4, out: 5], bf16>
module attributes {tsr.axes = ["batch", "in", "out"], tsr.phase = "optimize", tsr.mesh = [#tsr.axis<data: 2>, #tsr.axis<tensor: 2>]} {
  func.func @step(%x: !x {tsr.input = {name = "x", role = "data"}, tsr.sharding = {batch = "data"}},
      %d: !d {tsr.input = {name = "d", role = "data"}, tsr.sharding = {batch = "data", out = "tensor"}})
      -> (!w {tsr.output = {name = "g", role = "metric"}, tsr.sharding = {in = "data"}}) {
    %g = tsr.contract %x, %d over [batch] {tsr.sharding = {batch = "data", out = "tensor"}} : (!x, !d) -> !w
    return %g : !w
  }
}

// -----

// A part along a mesh axis that is not summed over is taken before the sum, whatever the axes are called: less is summed.
// CHECK-LABEL: func.func @step
// CHECK: %[[A:.*]] = tsr.split {{.*}} in into [tensor, in] : <[data: 2, in: 4, out: 4], f32>
// CHECK: %[[B:.*]] = tsr.reduce sum %[[A]] over [data] : <[data: 2, tensor: 2, in: 2, out: 4], f32>
// CHECK: tsr.split %[[B]] out into [data, out]
// CHECK: %[[C:.*]] = tsr.split {{.*}} out into [tensor, out] : <[data: 2, in: 4, out: 4], f32>
// CHECK: %[[D:.*]] = tsr.reduce sum %[[C]] over [data] : <[data: 2, tensor: 2, in: 4, out: 2], f32>
// CHECK: tsr.split %[[D]] in into [data, in]
// LOCAL-LABEL: func.func @step
// LOCAL: tsr.start all_to_all {{.*}} along data : <[data: 2, in: 2, out: 2], f32>
// LOCAL: tsr.start all_to_all {{.*}} along data : <[data: 2, in: 2, out: 2], f32>
// LOCAL-NOT: tsr.start
// LOCAL: return
!x = !tsr.tensor<[batch: 4, in: 4], f32>
!d = !tsr.tensor<[batch: 4, out: 4], f32>
!w = !tsr.tensor<[in: 4, out: 4], f32>
module attributes {tsr.axes = ["batch", "in", "out"], tsr.phase = "optimize", tsr.mesh = [#tsr.axis<data: 2>, #tsr.axis<tensor: 2>]} {
  func.func @step(%x: !x {tsr.input = {name = "x", role = "data"}, tsr.sharding = {batch = "data"}},
      %d: !d {tsr.input = {name = "d", role = "data"}, tsr.sharding = {batch = "data"}})
      -> (!w {tsr.output = {name = "g", role = "metric"}, tsr.sharding = {in = "tensor", out = "data"}},
          !w {tsr.output = {name = "h", role = "metric"}, tsr.sharding = {in = "data", out = "tensor"}}) {
    %g = tsr.contract %x, %d over [batch] {tsr.sharding = {batch = "data"}} : (!x, !d) -> !w
    %t = tsr.tanh %x {tsr.sharding = {batch = "data"}} : !x
    %h = tsr.contract %t, %d over [batch] {tsr.sharding = {batch = "data"}} : (!x, !d) -> !w
    return %g, %h : !w, !w
  }
}

// -----

// The axis has another name where it is divided.
// CHECK-LABEL: func.func @step
// CHECK: %[[S:.*]] = tsr.reduce sum {{.*}} over [data] : <[data: 2, seq: 4, in: 3], f32>
// CHECK: %[[P:.*]] = tsr.split %[[S]] seq into [data, seq]
// CHECK: tsr.rename %[[P]] [seq] to [place] : <[data: 2, seq: 2, in: 3], f32> -> <[data: 2, place: 2, in: 3], f32>
// LOCAL-LABEL: func.func @step
// LOCAL: tsr.start all_to_all {{.*}} along data : <[data: 2, seq: 2, in: 3], f32>
// LOCAL-NOT: tsr.start
// LOCAL: return
!x = !tsr.tensor<[batch: 4, seq: 4, in: 3], f32>
!s = !tsr.tensor<[seq: 4, in: 3], f32>
!w = !tsr.tensor<[place: 4, in: 3], f32>
module attributes {tsr.axes = ["batch", "seq", "place", "in"], tsr.phase = "optimize", tsr.mesh = [#tsr.axis<data: 2>]} {
  func.func @step(%x: !x {tsr.input = {name = "x", role = "data"}, tsr.sharding = {batch = "data"}})
      -> (!w {tsr.output = {name = "g", role = "metric"}, tsr.sharding = {place = "data"}}) {
    %s = tsr.reduce sum %x over [batch] {tsr.sharding = {batch = "data"}} : !x
    %g = tsr.rename %s [seq] to [place] {tsr.sharding = {}} : !s -> !w
    return %g : !w
  }
}

// -----

// Axes become whole along the outermost mesh axis first, whatever they are called: more is exchanged by near ranks.
// CHECK-LABEL: func.func @step
// LOCAL-LABEL: func.func @step
// LOCAL: tsr.start all_gather {{.*}} along data : <[in: 2, out: 2], f32>
// LOCAL: tsr.start all_gather {{.*}} along tensor : <[in: 2, out: 4], f32>
// LOCAL: tsr.start all_gather {{.*}} along data : <[in: 2, out: 2], f32>
// LOCAL: tsr.start all_gather {{.*}} along tensor : <[in: 4, out: 2], f32>
!w = !tsr.tensor<[in: 4, out: 4], f32>
module attributes {tsr.axes = ["in", "out"], tsr.phase = "optimize", tsr.mesh = [#tsr.axis<data: 2>, #tsr.axis<tensor: 2>]} {
  func.func @step(%x: !w {tsr.input = {name = "x", role = "data"}, tsr.sharding = {in = "tensor", out = "data"}},
      %y: !w {tsr.input = {name = "y", role = "data"}, tsr.sharding = {in = "data", out = "tensor"}})
      -> (!w {tsr.output = {name = "x", role = "metric"}, tsr.sharding = {}},
          !w {tsr.output = {name = "y", role = "metric"}, tsr.sharding = {}}) {
    return %x, %y : !w, !w
  }
}
