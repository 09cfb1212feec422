// RUN: tessera-opt %s --tsr-schedule --tsr-verify-phase=phase=schedule | FileCheck %s

// Checking the plan of a long repeat takes no longer than that of a short one: forwards, backwards over a stack, and with an inner
// repeat.
// CHECK-LABEL: func.func @step
module attributes {tsr.axes = ["layer", "part", "n"], tsr.phase = "tile"} {
  func.func @step(%x: !tsr.tensor<[n: 16], f32>) -> (!tsr.tensor<[n: 16], f32>, !tsr.tensor<[layer: 100000000, part: 1000000, n: 16], f32>) {
    // CHECK: tsr.repeat [layer: 100000000]
    %f, %stack = tsr.repeat [layer: 100000000] index %i carry (%c = %x : !tsr.tensor<[n: 16], f32>) -> (!tsr.tensor<[n: 16], f32>, !tsr.tensor<[layer: 100000000, n: 16], f32>) {
      %a = tsr.kernel "sin" (%p = %c : !tsr.tensor<[n: 16], f32>) parallel ["n"] serial [] vector "n" -> (!tsr.tensor<[n: 16], f32>) {
        %r = tsr.sin %p : !tsr.tensor<[n: 16], f32>
        tsr.yield %r : !tsr.tensor<[n: 16], f32>
      }
      tsr.yield %a, %c : !tsr.tensor<[n: 16], f32>, !tsr.tensor<[n: 16], f32>
    }
    // CHECK: tsr.repeat [layer: 100000000] reverse
    %g, %all = tsr.repeat [layer: 100000000] reverse index %i carry (%c = %f : !tsr.tensor<[n: 16], f32>) slice (%s = %stack : !tsr.tensor<[layer: 100000000, n: 16], f32>) -> (!tsr.tensor<[n: 16], f32>, !tsr.tensor<[layer: 100000000, part: 1000000, n: 16], f32>) {
      %b = tsr.kernel "mul" (%p = %c : !tsr.tensor<[n: 16], f32>, %q = %s : !tsr.tensor<[n: 16], f32>) parallel ["n"] serial [] vector "n" -> (!tsr.tensor<[n: 16], f32>) {
        %r = tsr.mul %p, %q : (!tsr.tensor<[n: 16], f32>, !tsr.tensor<[n: 16], f32>) -> !tsr.tensor<[n: 16], f32>
        tsr.yield %r : !tsr.tensor<[n: 16], f32>
      }
      %h, %parts = tsr.repeat [part: 1000000] index %j carry (%d = %b : !tsr.tensor<[n: 16], f32>) -> (!tsr.tensor<[n: 16], f32>, !tsr.tensor<[part: 1000000, n: 16], f32>) {
        %e = tsr.kernel "cos" (%p = %d : !tsr.tensor<[n: 16], f32>) parallel ["n"] serial [] vector "n" -> (!tsr.tensor<[n: 16], f32>) {
          %r = tsr.cos %p : !tsr.tensor<[n: 16], f32>
          tsr.yield %r : !tsr.tensor<[n: 16], f32>
        }
        tsr.yield %e, %d : !tsr.tensor<[n: 16], f32>, !tsr.tensor<[n: 16], f32>
      }
      tsr.yield %h, %parts : !tsr.tensor<[n: 16], f32>, !tsr.tensor<[part: 1000000, n: 16], f32>
    }
    return %g, %all : !tsr.tensor<[n: 16], f32>, !tsr.tensor<[layer: 100000000, part: 1000000, n: 16], f32>
  }
}
