// RUN: tessera-opt %s --split-input-file --tsr-schedule --tsr-verify-phase=phase=schedule | FileCheck %s

// Three small stacks that the second repeat empties while it fills a large one share a buffer, with a part of each in a slot of 192
// bytes, the size of a slot of the large one. The large stack overlaps them, one slot behind.
// CHECK-LABEL: func.func @step
module attributes {tsr.axes = ["layer", "m", "n"], tsr.phase = "tile"} {
  func.func @step(%x: !tsr.tensor<[n: 16], f32>) -> (!tsr.tensor<[layer: 4, m: 3, n: 16], f32>) {
    // CHECK: tsr.repeat [layer: 4] index {{.*}} at <960>, <0 slot 192>, <64 slot 192>, <128 slot 192>
    %f:4 = tsr.repeat [layer: 4] index %i carry (%c = %x : !tsr.tensor<[n: 16], f32>) -> (!tsr.tensor<[n: 16], f32>, !tsr.tensor<[layer: 4, n: 16], f32>, !tsr.tensor<[layer: 4, n: 16], f32>, !tsr.tensor<[layer: 4, n: 16], f32>) {
      %a = tsr.kernel "sin" (%p = %c : !tsr.tensor<[n: 16], f32>) parallel ["n"] serial [] vector "n" -> (!tsr.tensor<[n: 16], f32>) {
        %r = tsr.sin %p : !tsr.tensor<[n: 16], f32>
        tsr.yield %r : !tsr.tensor<[n: 16], f32>
      }
      // CHECK: tsr.kernel "cos" {{.*}}<64, [192]>
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
    // CHECK: tsr.repeat [layer: 4] reverse {{.*}}arguments at <1024>, <960>, <0, [192]>, <64, [192]>, <128, [192]> at <960>, <192>
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
    return %g#1 : !tsr.tensor<[layer: 4, m: 3, n: 16], f32>
  }
}

// -----

// A part of a slot may be a stack of an inner repeat, whose own slots are adjacent, forwards and backwards.
// CHECK-LABEL: func.func @step
module attributes {tsr.axes = ["layer", "inner", "m", "n"], tsr.phase = "tile"} {
  func.func @step(%x: !tsr.tensor<[n: 16], f32>) -> (!tsr.tensor<[layer: 4, m: 4, n: 16], f32>) {
    // CHECK: tsr.repeat [layer: 4] index {{.*}} slot 256>, <{{[0-9]+}} slot 256>
    // CHECK: tsr.kernel "sin" {{.*}}, [256, 64]>
    // CHECK: tsr.kernel "cos" {{.*}}, [256, 64]>
    %f:3 = tsr.repeat [layer: 4] index %i carry (%c = %x : !tsr.tensor<[n: 16], f32>) -> (!tsr.tensor<[n: 16], f32>, !tsr.tensor<[layer: 4, inner: 2, n: 16], f32>, !tsr.tensor<[layer: 4, inner: 2, n: 16], f32>) {
      %h:3 = tsr.repeat [inner: 2] index %j carry (%d = %c : !tsr.tensor<[n: 16], f32>) -> (!tsr.tensor<[n: 16], f32>, !tsr.tensor<[inner: 2, n: 16], f32>, !tsr.tensor<[inner: 2, n: 16], f32>) {
        %a = tsr.kernel "sin" (%p = %d : !tsr.tensor<[n: 16], f32>) parallel ["n"] serial [] vector "n" -> (!tsr.tensor<[n: 16], f32>) {
          %r = tsr.sin %p : !tsr.tensor<[n: 16], f32>
          tsr.yield %r : !tsr.tensor<[n: 16], f32>
        }
        %b = tsr.kernel "cos" (%p = %d : !tsr.tensor<[n: 16], f32>) parallel ["n"] serial [] vector "n" -> (!tsr.tensor<[n: 16], f32>) {
          %r = tsr.cos %p : !tsr.tensor<[n: 16], f32>
          tsr.yield %r : !tsr.tensor<[n: 16], f32>
        }
        %e = tsr.kernel "exp" (%p = %d : !tsr.tensor<[n: 16], f32>) parallel ["n"] serial [] vector "n" -> (!tsr.tensor<[n: 16], f32>) {
          %r = tsr.exp %p : !tsr.tensor<[n: 16], f32>
          tsr.yield %r : !tsr.tensor<[n: 16], f32>
        }
        tsr.yield %e, %a, %b : !tsr.tensor<[n: 16], f32>, !tsr.tensor<[n: 16], f32>, !tsr.tensor<[n: 16], f32>
      }
      tsr.yield %h#0, %h#1, %h#2 : !tsr.tensor<[n: 16], f32>, !tsr.tensor<[inner: 2, n: 16], f32>, !tsr.tensor<[inner: 2, n: 16], f32>
    }
    // CHECK: tsr.repeat [layer: 4] reverse
    // CHECK: tsr.repeat [inner: 2] reverse {{.*}}arguments at {{.*}}, [256, 64]>, <{{[0-9]+}}, [256, 64]>
    %g:2 = tsr.repeat [layer: 4] reverse index %i carry (%c = %f#0 : !tsr.tensor<[n: 16], f32>) slice (%s = %f#1 : !tsr.tensor<[layer: 4, inner: 2, n: 16], f32>, %t = %f#2 : !tsr.tensor<[layer: 4, inner: 2, n: 16], f32>) -> (!tsr.tensor<[n: 16], f32>, !tsr.tensor<[layer: 4, m: 4, n: 16], f32>) {
      %h = tsr.repeat [inner: 2] reverse index %j carry (%d = %c : !tsr.tensor<[n: 16], f32>) slice (%u = %s : !tsr.tensor<[inner: 2, n: 16], f32>, %v = %t : !tsr.tensor<[inner: 2, n: 16], f32>) -> (!tsr.tensor<[n: 16], f32>) {
        %w = tsr.kernel "mul" (%p = %u : !tsr.tensor<[n: 16], f32>, %q = %v : !tsr.tensor<[n: 16], f32>, %o = %d : !tsr.tensor<[n: 16], f32>) parallel ["n"] serial [] vector "n" -> (!tsr.tensor<[n: 16], f32>) {
          %r = tsr.mul %p, %q : (!tsr.tensor<[n: 16], f32>, !tsr.tensor<[n: 16], f32>) -> !tsr.tensor<[n: 16], f32>
          %z = tsr.mul %r, %o : (!tsr.tensor<[n: 16], f32>, !tsr.tensor<[n: 16], f32>) -> !tsr.tensor<[n: 16], f32>
          tsr.yield %z : !tsr.tensor<[n: 16], f32>
        }
        tsr.yield %w : !tsr.tensor<[n: 16], f32>
      }
      %l = tsr.kernel "repeat" (%p = %h : !tsr.tensor<[n: 16], f32>) parallel ["m", "n"] serial [] vector "n" -> (!tsr.tensor<[m: 4, n: 16], f32>) {
        %r = tsr.broadcast %p : !tsr.tensor<[n: 16], f32> -> !tsr.tensor<[m: 4, n: 16], f32>
        tsr.yield %r : !tsr.tensor<[m: 4, n: 16], f32>
      }
      tsr.yield %h, %l : !tsr.tensor<[n: 16], f32>, !tsr.tensor<[m: 4, n: 16], f32>
    }
    return %g#1 : !tsr.tensor<[layer: 4, m: 4, n: 16], f32>
  }
}

// -----

// A stack that a kernel reads as a whole has adjacent slots.
// CHECK-LABEL: func.func @step
// CHECK: tsr.repeat [layer: 4] index {{.*}} at <{{[0-9]+}}>, <{{[0-9]+}}>, <{{[0-9]+}}>, <{{[0-9]+}}> {
// CHECK-NOT: slot
// CHECK: return
module attributes {tsr.axes = ["layer", "m", "n"], tsr.phase = "tile"} {
  func.func @step(%x: !tsr.tensor<[n: 16], f32>) -> (!tsr.tensor<[layer: 4, m: 3, n: 16], f32>, !tsr.tensor<[layer: 4, n: 16], f32>) {
    %f:4 = tsr.repeat [layer: 4] index %i carry (%c = %x : !tsr.tensor<[n: 16], f32>) -> (!tsr.tensor<[n: 16], f32>, !tsr.tensor<[layer: 4, n: 16], f32>, !tsr.tensor<[layer: 4, n: 16], f32>, !tsr.tensor<[layer: 4, n: 16], f32>) {
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
    %whole = tsr.kernel "exp" (%p = %f#1 : !tsr.tensor<[layer: 4, n: 16], f32>) parallel ["layer", "n"] serial [] vector "n" -> (!tsr.tensor<[layer: 4, n: 16], f32>) {
      %r = tsr.exp %p : !tsr.tensor<[layer: 4, n: 16], f32>
      tsr.yield %r : !tsr.tensor<[layer: 4, n: 16], f32>
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
    return %g#1, %whole : !tsr.tensor<[layer: 4, m: 3, n: 16], f32>, !tsr.tensor<[layer: 4, n: 16], f32>
  }
}
