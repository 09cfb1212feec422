// RUN: tessera-opt %s --tsr-schedule --tsr-verify-phase=phase=schedule | FileCheck %s

// Slots of a long stack that are not adjacent, because stacks share a buffer, are checked as fast as those of a short one.
// CHECK-LABEL: func.func @step
// CHECK: tsr.repeat [layer: 100000000] index {{.*}} <0 slot 192>, <64 slot 192>, <128 slot 192>
// CHECK: tsr.repeat [layer: 100000000] reverse {{.*}}arguments at {{.*}}, <0, [192]>, <64, [192]>, <128, [192]> at {{.*}}, <192>
module attributes {tsr.axes = ["layer", "m", "n"], tsr.phase = "tile"} {
  func.func @step(%x: !tsr.tensor<[n: 16], f32>) -> (!tsr.tensor<[layer: 100000000, m: 3, n: 16], f32>) {
    %f:4 = tsr.repeat [layer: 100000000] index %i carry (%c = %x : !tsr.tensor<[n: 16], f32>) -> (!tsr.tensor<[n: 16], f32>, !tsr.tensor<[layer: 100000000, n: 16], f32>, !tsr.tensor<[layer: 100000000, n: 16], f32>, !tsr.tensor<[layer: 100000000, n: 16], f32>) {
      %a = tsr.kernel "sin" (%p = %c : !tsr.tensor<[n: 16], f32>) parallel ["n"] serial [] vector "n" -> (!tsr.tensor<[n: 16], f32>) {
        %r = tsr.sin %p : !tsr.tensor<[n: 16], f32>
        tsr.yield %r : !tsr.tensor<[n: 16], f32>
      }
      %b = tsr.kernel "cos" (%p = %c : !tsr.tensor<[n: 16], f32>) parallel ["n"] serial [] vector "n" -> (!tsr.tensor<[n: 16], f32>) {
        %r = tsr.cos %p : !tsr.tensor<[n: 16], f32>
        tsr.yield %r : !tsr.tensor<[n: 16], f32>
      }
      %d = tsr.kernel "exp" (%p = %c : !tsr.tensor<[n: 16], f32>) parallel ["n"] serial [] vector "n" -> (!tsr.tensor<[n: 16], f32>) {
        %r = tsr.exp %p : !tsr.tensor<[n: 16], f32>
        tsr.yield %r : !tsr.tensor<[n: 16], f32>
      }
      %n = tsr.kernel "add" (%p = %a : !tsr.tensor<[n: 16], f32>, %q = %b : !tsr.tensor<[n: 16], f32>) parallel ["n"] serial [] vector "n" -> (!tsr.tensor<[n: 16], f32>) {
        %r = tsr.add %p, %q : (!tsr.tensor<[n: 16], f32>, !tsr.tensor<[n: 16], f32>) -> !tsr.tensor<[n: 16], f32>
        tsr.yield %r : !tsr.tensor<[n: 16], f32>
      }
      tsr.yield %n, %a, %b, %d : !tsr.tensor<[n: 16], f32>, !tsr.tensor<[n: 16], f32>, !tsr.tensor<[n: 16], f32>, !tsr.tensor<[n: 16], f32>
    }
    %g:2 = tsr.repeat [layer: 100000000] reverse index %i carry (%c = %f#0 : !tsr.tensor<[n: 16], f32>) slice (%s = %f#1 : !tsr.tensor<[layer: 100000000, n: 16], f32>, %t = %f#2 : !tsr.tensor<[layer: 100000000, n: 16], f32>, %u = %f#3 : !tsr.tensor<[layer: 100000000, n: 16], f32>) -> (!tsr.tensor<[n: 16], f32>, !tsr.tensor<[layer: 100000000, m: 3, n: 16], f32>) {
      %e = tsr.kernel "mul" (%p = %s : !tsr.tensor<[n: 16], f32>, %q = %t : !tsr.tensor<[n: 16], f32>, %w = %u : !tsr.tensor<[n: 16], f32>) parallel ["n"] serial [] vector "n" -> (!tsr.tensor<[n: 16], f32>) {
        %r = tsr.mul %p, %q : (!tsr.tensor<[n: 16], f32>, !tsr.tensor<[n: 16], f32>) -> !tsr.tensor<[n: 16], f32>
        %v = tsr.mul %r, %w : (!tsr.tensor<[n: 16], f32>, !tsr.tensor<[n: 16], f32>) -> !tsr.tensor<[n: 16], f32>
        tsr.yield %v : !tsr.tensor<[n: 16], f32>
      }
      %l = tsr.kernel "repeat" (%p = %e : !tsr.tensor<[n: 16], f32>) parallel ["m", "n"] serial [] vector "n" -> (!tsr.tensor<[m: 3, n: 16], f32>) {
        %r = tsr.broadcast %p : !tsr.tensor<[n: 16], f32> -> !tsr.tensor<[m: 3, n: 16], f32>
        tsr.yield %r : !tsr.tensor<[m: 3, n: 16], f32>
      }
      tsr.yield %e, %l : !tsr.tensor<[n: 16], f32>, !tsr.tensor<[m: 3, n: 16], f32>
    }
    return %g#1 : !tsr.tensor<[layer: 100000000, m: 3, n: 16], f32>
  }
}
