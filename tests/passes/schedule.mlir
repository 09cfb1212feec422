// RUN: tessera-opt %s --tsr-layout --tsr-fuse --tsr-schedule --tsr-verify-phase=phase=schedule | FileCheck %s

// State comes first and keeps its place in every entry function.
// CHECK: tsr.arena = {{[0-9]+}} : i64
// CHECK: tsr.state @w {{.*}} at <0>
// CHECK: tsr.state @v {{.*}} at <24576>
// CHECK: tsr.state @b {{.*}} at <49152>
// CHECK-SAME: {{$}}
// No copies: the saved layer input is carried by its own stack, from slot to slot.
// CHECK-NOT: tsr.reorder
// CHECK: tsr.kernel "exp" {{.*}}at <[[STACK:[0-9]+]]>
// CHECK: tsr.repeat [layer: 3] index {{.*}}arguments at <{{[0-9]+}}>, <[[STACK]], [2048]>, <0, [8192]>, <49152, [256]>, <24576, [8192]>
// CHECK-SAME: at <[[LAST:[0-9]+]]>, <[[STACK]]>, <[[SAVED:[0-9]+]]>
// The producer of a saved value writes it into its stack.
// CHECK: tsr.contract {{.*}} bias {{.*}}at <[[SAVED]], [4096]>
// In the backward pass the carried gradient stays in its place; the contraction accumulates into it.
// CHECK: tsr.repeat [layer: 3] reverse {{.*}}arguments at <{{[0-9]+}}>, <[[D:[0-9]+]]>, <0, [8192]>, <24576, [8192]>, <[[STACK]], [2048]>, <[[SAVED]], [4096]>
// CHECK: tsr.contract {{.*}} init {{.*}}at <[[D]]>
// Parameters are updated in place.
// CHECK: tsr.kernel {{.*}} parallel [layer, embed, ff] {{.*}}at <0>
// CHECK: tsr.kernel {{.*}} parallel [layer, ff] {{.*}}at <49152>
module attributes {tsr.model = "tiny", tsr.axes = ["layer", "batch", "in", "embed", "ff", "out"], tsr.phase = "optimize"} {
  tsr.state @w "weight" !tsr.tensor<[layer: 3, embed: 32, ff: 64], f32>
  tsr.state @v "weight" !tsr.tensor<[layer: 3, embed: 32, ff: 64], f32>
  tsr.state @b "bias" !tsr.tensor<[layer: 3, ff: 64], f32>
  func.func @step(%w: !tsr.tensor<[layer: 3, embed: 32, ff: 64], f32> {tsr.state = @w}, %v: !tsr.tensor<[layer: 3, embed: 32, ff: 64], f32> {tsr.state = @v},
                  %b: !tsr.tensor<[layer: 3, ff: 64], f32> {tsr.state = @b},
                  %x: !tsr.tensor<[batch: 16, embed: 32], f32> {tsr.input = {name = "d.x", role = "data", data = "d", field = "x"}})
      -> (!tsr.tensor<[layer: 3, embed: 32, ff: 64], f32> {tsr.state = @w}, !tsr.tensor<[layer: 3, ff: 64], f32> {tsr.state = @b}, !tsr.tensor<[], f32> {tsr.output = {name = "mse", role = "loss"}}) {
    %x0 = tsr.exp %x : !tsr.tensor<[batch: 16, embed: 32], f32>
    %y, %xs, %hs = tsr.repeat [layer: 3] index %i carry (%a = %x0 : !tsr.tensor<[batch: 16, embed: 32], f32>)
        slice (%wl = %w : !tsr.tensor<[layer: 3, embed: 32, ff: 64], f32>, %bl = %b : !tsr.tensor<[layer: 3, ff: 64], f32>, %vl = %v : !tsr.tensor<[layer: 3, embed: 32, ff: 64], f32>)
        -> (!tsr.tensor<[batch: 16, embed: 32], f32>, !tsr.tensor<[layer: 3, batch: 16, embed: 32], f32>, !tsr.tensor<[layer: 3, batch: 16, ff: 64], f32>) {
      %h0 = tsr.contract %a, %wl over ["embed"] : (!tsr.tensor<[batch: 16, embed: 32], f32>, !tsr.tensor<[embed: 32, ff: 64], f32>) -> !tsr.tensor<[batch: 16, ff: 64], f32>
      %h = tsr.add %h0, %bl : (!tsr.tensor<[batch: 16, ff: 64], f32>, !tsr.tensor<[ff: 64], f32>) -> !tsr.tensor<[batch: 16, ff: 64], f32>
      %g = tsr.tanh %h : !tsr.tensor<[batch: 16, ff: 64], f32>
      %o = tsr.contract %g, %vl over ["ff"] : (!tsr.tensor<[batch: 16, ff: 64], f32>, !tsr.tensor<[embed: 32, ff: 64], f32>) -> !tsr.tensor<[batch: 16, embed: 32], f32>
      %n = tsr.add %a, %o : (!tsr.tensor<[batch: 16, embed: 32], f32>, !tsr.tensor<[batch: 16, embed: 32], f32>) -> !tsr.tensor<[batch: 16, embed: 32], f32>
      tsr.yield %n, %a, %h : !tsr.tensor<[batch: 16, embed: 32], f32>, !tsr.tensor<[batch: 16, embed: 32], f32>, !tsr.tensor<[batch: 16, ff: 64], f32>
    }
    %sq = tsr.mul %y, %y : (!tsr.tensor<[batch: 16, embed: 32], f32>, !tsr.tensor<[batch: 16, embed: 32], f32>) -> !tsr.tensor<[batch: 16, embed: 32], f32>
    %loss = tsr.reduce sum %sq over ["batch", "embed"] : !tsr.tensor<[batch: 16, embed: 32], f32> -> !tsr.tensor<[], f32>
    %two = tsr.constant 2.0 : f32 -> !tsr.tensor<[], f32>
    %dy = tsr.mul %y, %two : (!tsr.tensor<[batch: 16, embed: 32], f32>, !tsr.tensor<[], f32>) -> !tsr.tensor<[batch: 16, embed: 32], f32>
    %dx, %dw, %db = tsr.repeat [layer: 3] reverse index %i carry (%d = %dy : !tsr.tensor<[batch: 16, embed: 32], f32>)
        slice (%wl = %w : !tsr.tensor<[layer: 3, embed: 32, ff: 64], f32>, %vl = %v : !tsr.tensor<[layer: 3, embed: 32, ff: 64], f32>, %a = %xs : !tsr.tensor<[layer: 3, batch: 16, embed: 32], f32>, %h = %hs : !tsr.tensor<[layer: 3, batch: 16, ff: 64], f32>)
        -> (!tsr.tensor<[batch: 16, embed: 32], f32>, !tsr.tensor<[layer: 3, embed: 32, ff: 64], f32>, !tsr.tensor<[layer: 3, ff: 64], f32>) {
      %dg = tsr.contract %d, %vl over ["embed"] : (!tsr.tensor<[batch: 16, embed: 32], f32>, !tsr.tensor<[embed: 32, ff: 64], f32>) -> !tsr.tensor<[batch: 16, ff: 64], f32>
      %t = tsr.tanh %h : !tsr.tensor<[batch: 16, ff: 64], f32>
      %tt = tsr.mul %t, %t : (!tsr.tensor<[batch: 16, ff: 64], f32>, !tsr.tensor<[batch: 16, ff: 64], f32>) -> !tsr.tensor<[batch: 16, ff: 64], f32>
      %one = tsr.constant 1.0 : f32 -> !tsr.tensor<[], f32>
      %s = tsr.sub %one, %tt : (!tsr.tensor<[], f32>, !tsr.tensor<[batch: 16, ff: 64], f32>) -> !tsr.tensor<[batch: 16, ff: 64], f32>
      %dh = tsr.mul %dg, %s : (!tsr.tensor<[batch: 16, ff: 64], f32>, !tsr.tensor<[batch: 16, ff: 64], f32>) -> !tsr.tensor<[batch: 16, ff: 64], f32>
      %dwl = tsr.contract %a, %dh over ["batch"] : (!tsr.tensor<[batch: 16, embed: 32], f32>, !tsr.tensor<[batch: 16, ff: 64], f32>) -> !tsr.tensor<[embed: 32, ff: 64], f32>
      %dbl = tsr.reduce sum %dh over ["batch"] : !tsr.tensor<[batch: 16, ff: 64], f32> -> !tsr.tensor<[ff: 64], f32>
      %da = tsr.contract %dh, %wl over ["ff"] : (!tsr.tensor<[batch: 16, ff: 64], f32>, !tsr.tensor<[embed: 32, ff: 64], f32>) -> !tsr.tensor<[batch: 16, embed: 32], f32>
      %dn = tsr.add %d, %da : (!tsr.tensor<[batch: 16, embed: 32], f32>, !tsr.tensor<[batch: 16, embed: 32], f32>) -> !tsr.tensor<[batch: 16, embed: 32], f32>
      tsr.yield %dn, %dwl, %dbl : !tsr.tensor<[batch: 16, embed: 32], f32>, !tsr.tensor<[embed: 32, ff: 64], f32>, !tsr.tensor<[ff: 64], f32>
    }
    %lr = tsr.constant 0.1 : f32 -> !tsr.tensor<[], f32>
    %u = tsr.mul %dw, %lr : (!tsr.tensor<[layer: 3, embed: 32, ff: 64], f32>, !tsr.tensor<[], f32>) -> !tsr.tensor<[layer: 3, embed: 32, ff: 64], f32>
    %w1 = tsr.sub %w, %u : (!tsr.tensor<[layer: 3, embed: 32, ff: 64], f32>, !tsr.tensor<[layer: 3, embed: 32, ff: 64], f32>) -> !tsr.tensor<[layer: 3, embed: 32, ff: 64], f32>
    %ub = tsr.mul %db, %lr : (!tsr.tensor<[layer: 3, ff: 64], f32>, !tsr.tensor<[], f32>) -> !tsr.tensor<[layer: 3, ff: 64], f32>
    %b1 = tsr.sub %b, %ub : (!tsr.tensor<[layer: 3, ff: 64], f32>, !tsr.tensor<[layer: 3, ff: 64], f32>) -> !tsr.tensor<[layer: 3, ff: 64], f32>
    return %w1, %b1, %loss : !tsr.tensor<[layer: 3, embed: 32, ff: 64], f32>, !tsr.tensor<[layer: 3, ff: 64], f32>, !tsr.tensor<[], f32>
  }
}
