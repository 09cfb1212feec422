// RUN: tessera-opt %s --tsr-differentiate --tsr-simplify --tsr-verify-phase=phase=differentiate | FileCheck %s
// RUN: tessera-opt %s --tsr-differentiate --tsr-simplify --tsr-verify-phase=phase=differentiate --tsr-optimize --tsr-simplify --tsr-verify-phase=phase=optimize | FileCheck %s --check-prefix=OPT

// What reverse mode builds belongs to the backward pass, what reads it in a sum over micro-batches too; the clip, the updates and all
// that is read by them alone belong to the optimizer.
module attributes {tsr.axes = ["micro", "layer", "in"], tsr.model = "m", tsr.phase = "simplify"} {
  tsr.state @w "weight" !tsr.tensor<[layer: 3, in: 4], f32>
  tsr.state @step "counter" !tsr.tensor<[], i32>
  func.func @init(%seed: !tsr.tensor<[], i64> {tsr.input = {name = "seed", role = "seed"}}) -> (!tsr.tensor<[layer: 3, in: 4], f32> {tsr.state = @w}, !tsr.tensor<[], i32> {tsr.state = @step}) {
    %w = tsr.constant 1.0 : f32 -> !tsr.tensor<[layer: 3, in: 4], f32>
    %s = tsr.constant 0 : i32 -> !tsr.tensor<[], i32>
    return %w, %s : !tsr.tensor<[layer: 3, in: 4], f32>, !tsr.tensor<[], i32>
  }

  // CHECK: func.func @step
  func.func @step(%w: !tsr.tensor<[layer: 3, in: 4], f32> {tsr.state = @w}, %step: !tsr.tensor<[], i32> {tsr.state = @step}, %x: !tsr.tensor<[micro: 2, in: 4], f32> {tsr.input = {name = "x", role = "data"}}) -> (!tsr.tensor<[layer: 3, in: 4], f32> {tsr.state = @w}, !tsr.tensor<[], i32> {tsr.state = @step}, !tsr.tensor<[], f32> {tsr.output = {name = "l", role = "loss"}}) {
    %zero = tsr.constant 0.0 : f32 -> !tsr.tensor<[layer: 3, in: 4], f32>
    %none = tsr.constant 0.0 : f32 -> !tsr.tensor<[], f32>
    // The repeat of micro-batches has ops of both passes, and no mark.
    // CHECK: tsr.repeat [micro: 2]
    // CHECK-NOT: backward {
    // CHECK: tsr.repeat [layer: 3] index
    // CHECK-NOT: backward {
    // CHECK: tsr.tanh {{.*}} as "h" :
    // CHECK: tsr.reduce sum {{.*}} :
    // CHECK: tsr.seed
    // CHECK: tsr.mul {{.*}} backward :
    // CHECK: tsr.repeat [layer: 3] reverse {{.*}} backward {
    // CHECK: tsr.mul {{.*}} as "h.grad" backward :
    // CHECK: tsr.add {{.*}} backward : <[layer: 3, in: 4], f32>
    %sum, %loss = tsr.repeat [micro: 2] index %m carry (%acc = %zero : !tsr.tensor<[layer: 3, in: 4], f32>, %before = %none : !tsr.tensor<[], f32>) slice (%row = %x : !tsr.tensor<[micro: 2, in: 4], f32>) invariant (%v = %w : !tsr.tensor<[layer: 3, in: 4], f32>) -> (!tsr.tensor<[layer: 3, in: 4], f32>, !tsr.tensor<[], f32>) {
      %y = tsr.repeat [layer: 3] index %i carry (%a = %row : !tsr.tensor<[in: 4], f32>) slice (%u = %v : !tsr.tensor<[layer: 3, in: 4], f32>) -> !tsr.tensor<[in: 4], f32> {
        %p = tsr.mul %a, %u : <[in: 4], f32>
        %t = tsr.tanh %p as "h" : <[in: 4], f32>
        tsr.yield %t : !tsr.tensor<[in: 4], f32>
      }
      %q = tsr.mul %y, %y : <[in: 4], f32>
      %l = tsr.reduce sum %q over [in] : <[in: 4], f32>
      %g = tsr.gradient %l wrt(%v) : (!tsr.tensor<[], f32>, !tsr.tensor<[layer: 3, in: 4], f32>) -> !tsr.tensor<[layer: 3, in: 4], f32>
      %next = tsr.add %acc, %g : <[layer: 3, in: 4], f32>
      %after = tsr.add %before, %l : <[], f32>
      tsr.yield %next, %after : !tsr.tensor<[layer: 3, in: 4], f32>, !tsr.tensor<[], f32>
    }
    // The rate depends on the counter alone.
    // CHECK: tsr.cast %arg1 optimizer :
    // CHECK: tsr.add %arg1, {{.*}} optimizer :
    // OPT: tsr.cast %arg1 optimizer :
    // OPT: tsr.mul {{.*}} optimizer : <[layer: 3, in: 4], f32>
    // OPT: tsr.reduce sum {{.*}} optimizer :
    // OPT: tsr.sqrt {{.*}} optimizer :
    // OPT: tsr.select {{.*}} optimizer :
    %rate = tsr.cast %step : <[], i32> to <[], f32>
    %c, %norm = tsr.clip(%sum) : (!tsr.tensor<[layer: 3, in: 4], f32>) -> (!tsr.tensor<[layer: 3, in: 4], f32>, !tsr.tensor<[], f32>)
    %n = tsr.update "sgd" @w %w gradient %c step %step norm %norm arguments [rate, momentum, decay](%rate, %none, %none) : (!tsr.tensor<[layer: 3, in: 4], f32>, !tsr.tensor<[layer: 3, in: 4], f32>, !tsr.tensor<[], i32>, !tsr.tensor<[], f32>, !tsr.tensor<[], f32>, !tsr.tensor<[], f32>, !tsr.tensor<[], f32>) -> !tsr.tensor<[layer: 3, in: 4], f32>
    %one = tsr.constant 1 : i32 -> !tsr.tensor<[], i32>
    %count = tsr.add %step, %one : <[], i32>
    return %n, %count, %loss : !tsr.tensor<[layer: 3, in: 4], f32>, !tsr.tensor<[], i32>, !tsr.tensor<[], f32>
  }
}
