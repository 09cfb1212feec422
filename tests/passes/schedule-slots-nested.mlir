// RUN: tessera-opt %s --tsr-schedule --tsr-verify-phase=phase=schedule | FileCheck %s
// RUN: tessera-opt %s --tsr-schedule | sed 's/<1728/<1472/g' > %t.mlir
// RUN: not tessera-opt %t.mlir --tsr-verify-phase=phase=schedule 2>&1 | FileCheck %s --check-prefix=CLOSER

// Stacks of repeats inside of another repeat: they live within one of its iterations and share storage there. Their slots have the
// second stride. If the large stack began lower, it would overwrite slots that are still to be read.
// CLOSER: reads bytes that were overwritten
// CHECK-LABEL: func.func @step
module attributes {tsr.axes = ["micro", "layer", "m", "n"], tsr.phase = "tile"} {
  func.func @step(%x: !tsr.tensor<[micro: 2, n: 16], f32>) -> (!tsr.tensor<[micro: 2, layer: 4, m: 3, n: 16], f32>) {
    %o = tsr.repeat [micro: 2] index %k slice (%y = %x : !tsr.tensor<[micro: 2, n: 16], f32>) -> (!tsr.tensor<[micro: 2, layer: 4, m: 3, n: 16], f32>) {
      // CHECK: tsr.repeat [layer: 4] index {{.*}} <[[#FIRST:]] slot 192>, <{{[0-9]+}} slot 192>, <{{[0-9]+}} slot 192>
      // CHECK: tsr.kernel "sin" {{.*}}<[[#FIRST]], [0, 192]>
      // CHECK: tsr.repeat [layer: 4] reverse {{.*}}<[[#FIRST]], [0, 192]>{{.*}} at {{.*}}, <[[#FIRST + 192]]> {
      %f:4 = tsr.repeat [layer: 4] index %i carry (%c = %y : !tsr.tensor<[n: 16], f32>) -> (!tsr.tensor<[n: 16], f32>, !tsr.tensor<[layer: 4, n: 16], f32>, !tsr.tensor<[layer: 4, n: 16], f32>, !tsr.tensor<[layer: 4, n: 16], f32>) {
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
      %g:2 = tsr.repeat [layer: 4] reverse index %i carry (%c = %f#0 : !tsr.tensor<[n: 16], f32>) slice (%s = %f#1 : !tsr.tensor<[layer: 4, n: 16], f32>, %t = %f#2 : !tsr.tensor<[layer: 4, n: 16], f32>, %u = %f#3 : !tsr.tensor<[layer: 4, n: 16], f32>) -> (!tsr.tensor<[n: 16], f32>, !tsr.tensor<[layer: 4, m: 3, n: 16], f32>) {
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
      %e = tsr.kernel "neg" (%p = %g#1 : !tsr.tensor<[layer: 4, m: 3, n: 16], f32>) parallel ["layer", "m", "n"] serial [] vector "n" -> (!tsr.tensor<[layer: 4, m: 3, n: 16], f32>) {
        %r = tsr.neg %p : !tsr.tensor<[layer: 4, m: 3, n: 16], f32>
        tsr.yield %r : !tsr.tensor<[layer: 4, m: 3, n: 16], f32>
      }
      tsr.yield %e : !tsr.tensor<[layer: 4, m: 3, n: 16], f32>
    }
    return %o : !tsr.tensor<[micro: 2, layer: 4, m: 3, n: 16], f32>
  }
}
