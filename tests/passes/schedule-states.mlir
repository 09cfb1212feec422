// RUN: tessera-opt %s --tsr-layout --tsr-fuse --tsr-schedule --tsr-verify-phase=phase=schedule | FileCheck %s

// A state takes its next value in its own place, without a copy, after the last op that reads the old one. States that are swapped are
// proven right by the verifier.
module attributes {tsr.model = "tiny", tsr.axes = ["batch", "n"], tsr.phase = "optimize"} {
  // CHECK: tsr.state @s "state" {{.*}} at <[[S:[0-9]+]]>
  tsr.state @s "state" !tsr.tensor<[n: 64], f32>
  tsr.state @a "state" !tsr.tensor<[n: 64], f32>
  tsr.state @b "state" !tsr.tensor<[n: 64], f32>
  // CHECK-LABEL: func.func @step
  // CHECK-NOT: at <[[S]]>
  // CHECK: tsr.kernel {{.*}}"sum{{.*}} parallel [batch]
  // CHECK-NOT: tsr.reorder
  // CHECK: tsr.select
  func.func @step(%s: !tsr.tensor<[n: 64], f32> {tsr.state = @s}, %x: !tsr.tensor<[batch: 16, n: 64], f32> {tsr.input = {name = "d.x", role = "data", data = "d", field = "x"}})
      -> (!tsr.tensor<[n: 64], f32> {tsr.state = @s}, !tsr.tensor<[], f32> {tsr.output = {name = "l", role = "loss"}}) {
    %m = tsr.reduce sum %x over [batch] : <[batch: 16, n: 64], f32>
    %next = tsr.add %s, %m : <[n: 64], f32>
    %p = tsr.mul %x, %s : <[batch: 16, n: 64], f32>, <[n: 64], f32>
    %q = tsr.reduce sum %p over [n] : <[batch: 16, n: 64], f32>
    %l = tsr.reduce sum %q over [batch] : <[batch: 16], f32>
    %most = tsr.constant 100.0
    %c = tsr.compare lt %l, %most : !tsr.tensor<[], f32>, !tsr.tensor<[], f32>
    %after = tsr.select %c, %next, %s : <[], i1>, <[n: 64], f32>
    return %after, %l : !tsr.tensor<[n: 64], f32>, !tsr.tensor<[], f32>
  }
  // CHECK-LABEL: func.func @evaluate
  func.func @evaluate(%a: !tsr.tensor<[n: 64], f32> {tsr.state = @a}, %b: !tsr.tensor<[n: 64], f32> {tsr.state = @b})
      -> (!tsr.tensor<[n: 64], f32> {tsr.state = @a}, !tsr.tensor<[n: 64], f32> {tsr.state = @b}) {
    return %b, %a : !tsr.tensor<[n: 64], f32>, !tsr.tensor<[n: 64], f32>
  }
}
