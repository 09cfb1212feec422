// RUN: tessera-opt %s --split-input-file --tsr-schedule --tsr-verify-phase=phase=schedule | FileCheck %s

// A layer's part of a weight is gathered, and terms of its gradient are exchanged and added. On a GPU the gather starts
// an iteration early, and nothing waits for the gradient. What is gathered behind the repeat is under way before it.
// The places of these values (0 to 511 are the arguments') are different, since all live while the repeat runs.
// CHECK: tsr.arena = 1280
// CHECK-LABEL: func.func @step
// CHECK: %[[V:.*]] = tsr.start all_gather %arg2
// CHECK: tsr.repeat
// CHECK: tsr.start all_gather {{.*}} at <[[GATHERED:[0-9]+]]> {{.*}}tsr.early
// CHECK: tsr.wait {{.*}} at <[[GATHERED]]>
// CHECK: tsr.kernel "add"
// CHECK: tsr.kernel "terms" {{.*}} at <[[SENT:[0-9]+]]>
// CHECK: tsr.start all_to_all {{.*}} at <[[RECEIVED:[0-9]+]]> {{.*}}tsr.late
// CHECK: tsr.wait {{.*}} at <[[RECEIVED]]>
// CHECK: tsr.kernel "sum"
// CHECK: tsr.wait %[[V]] sent %arg2
module attributes {tsr.axes = ["layer", "data", "m", "n"], tsr.phase = "tile", tsr.target = "cuda", tsr.mesh = [#tsr.axis<data: 2>]} {
  func.func @step(%x: !tsr.tensor<[data: 2, n: 16], f32>, %w: !tsr.tensor<[layer: 4, n: 16], f32>, %v: !tsr.tensor<[n: 16], f32>) -> (!tsr.tensor<[data: 2, n: 16], f32>, !tsr.tensor<[layer: 4, n: 16], f32>) {
    %y, %g = tsr.repeat [layer: 4] index %i carry (%c = %x : !tsr.tensor<[data: 2, n: 16], f32>) slice (%p = %w : !tsr.tensor<[layer: 4, n: 16], f32>) -> (!tsr.tensor<[data: 2, n: 16], f32>, !tsr.tensor<[layer: 4, n: 16], f32>) {
      %s = tsr.start all_gather %p along data : !tsr.tensor<[n: 16], f32> -> !tsr.tensor<[data: 2, n: 16], f32>
      %q = tsr.wait %s sent %p : !tsr.tensor<[data: 2, n: 16], f32>, !tsr.tensor<[n: 16], f32>
      %a = tsr.kernel "add" (%b = %c : !tsr.tensor<[data: 2, n: 16], f32>, %d = %q : !tsr.tensor<[data: 2, n: 16], f32>) parallel ["data", "n"] serial [] vector "n" -> (!tsr.tensor<[data: 2, n: 16], f32>) {
        %r = tsr.add %b, %d : (!tsr.tensor<[data: 2, n: 16], f32>, !tsr.tensor<[data: 2, n: 16], f32>) -> !tsr.tensor<[data: 2, n: 16], f32>
        tsr.yield %r : !tsr.tensor<[data: 2, n: 16], f32>
      }
      %t = tsr.kernel "terms" (%b = %a : !tsr.tensor<[data: 2, n: 16], f32>) parallel ["data", "n"] serial [] vector "n" -> (!tsr.tensor<[data: 2, n: 16], f32>) {
        %r = tsr.exp %b : !tsr.tensor<[data: 2, n: 16], f32>
        tsr.yield %r : !tsr.tensor<[data: 2, n: 16], f32>
      }
      %u = tsr.start all_to_all %t along data : !tsr.tensor<[data: 2, n: 16], f32> -> !tsr.tensor<[data: 2, n: 16], f32>
      %z = tsr.wait %u sent %t : !tsr.tensor<[data: 2, n: 16], f32>, !tsr.tensor<[data: 2, n: 16], f32>
      %sum = tsr.kernel "sum" (%b = %z : !tsr.tensor<[data: 2, n: 16], f32>) parallel ["n"] serial ["data"] vector "n" -> (!tsr.tensor<[n: 16], f32>) {
        %r = tsr.reduce sum %b over ["data"] : !tsr.tensor<[data: 2, n: 16], f32> -> !tsr.tensor<[n: 16], f32>
        tsr.yield %r : !tsr.tensor<[n: 16], f32>
      }
      tsr.yield %a, %sum : !tsr.tensor<[data: 2, n: 16], f32>, !tsr.tensor<[n: 16], f32>
    }
    %s = tsr.start all_gather %v along data : !tsr.tensor<[n: 16], f32> -> !tsr.tensor<[data: 2, n: 16], f32>
    %q = tsr.wait %s sent %v : !tsr.tensor<[data: 2, n: 16], f32>, !tsr.tensor<[n: 16], f32>
    %end = tsr.kernel "add" (%b = %y : !tsr.tensor<[data: 2, n: 16], f32>, %d = %q : !tsr.tensor<[data: 2, n: 16], f32>) parallel ["data", "n"] serial [] vector "n" -> (!tsr.tensor<[data: 2, n: 16], f32>) {
      %r = tsr.add %b, %d : (!tsr.tensor<[data: 2, n: 16], f32>, !tsr.tensor<[data: 2, n: 16], f32>) -> !tsr.tensor<[data: 2, n: 16], f32>
      tsr.yield %r : !tsr.tensor<[data: 2, n: 16], f32>
    }
    return %end, %g : !tsr.tensor<[data: 2, n: 16], f32>, !tsr.tensor<[layer: 4, n: 16], f32>
  }
}

// -----

// The same from the last layer to the first, of more layers than the proof of places executes.
// CHECK-LABEL: func.func @step
// CHECK: tsr.repeat [layer: 40] reverse
// CHECK: tsr.start all_gather {{.*}}tsr.early
// CHECK: tsr.start all_to_all {{.*}}tsr.late
module attributes {tsr.axes = ["layer", "data", "m", "n"], tsr.phase = "tile", tsr.target = "cuda", tsr.mesh = [#tsr.axis<data: 2>]} {
  func.func @step(%x: !tsr.tensor<[data: 2, n: 16], f32>, %w: !tsr.tensor<[layer: 40, n: 16], f32>, %v: !tsr.tensor<[n: 16], f32>) -> (!tsr.tensor<[data: 2, n: 16], f32>, !tsr.tensor<[layer: 40, n: 16], f32>) {
    %y, %g = tsr.repeat [layer: 40] reverse index %i carry (%c = %x : !tsr.tensor<[data: 2, n: 16], f32>) slice (%p = %w : !tsr.tensor<[layer: 40, n: 16], f32>) -> (!tsr.tensor<[data: 2, n: 16], f32>, !tsr.tensor<[layer: 40, n: 16], f32>) {
      %s = tsr.start all_gather %p along data : !tsr.tensor<[n: 16], f32> -> !tsr.tensor<[data: 2, n: 16], f32>
      %q = tsr.wait %s sent %p : !tsr.tensor<[data: 2, n: 16], f32>, !tsr.tensor<[n: 16], f32>
      %a = tsr.kernel "add" (%b = %c : !tsr.tensor<[data: 2, n: 16], f32>, %d = %q : !tsr.tensor<[data: 2, n: 16], f32>) parallel ["data", "n"] serial [] vector "n" -> (!tsr.tensor<[data: 2, n: 16], f32>) {
        %r = tsr.add %b, %d : (!tsr.tensor<[data: 2, n: 16], f32>, !tsr.tensor<[data: 2, n: 16], f32>) -> !tsr.tensor<[data: 2, n: 16], f32>
        tsr.yield %r : !tsr.tensor<[data: 2, n: 16], f32>
      }
      %t = tsr.kernel "terms" (%b = %a : !tsr.tensor<[data: 2, n: 16], f32>) parallel ["data", "n"] serial [] vector "n" -> (!tsr.tensor<[data: 2, n: 16], f32>) {
        %r = tsr.exp %b : !tsr.tensor<[data: 2, n: 16], f32>
        tsr.yield %r : !tsr.tensor<[data: 2, n: 16], f32>
      }
      %u = tsr.start all_to_all %t along data : !tsr.tensor<[data: 2, n: 16], f32> -> !tsr.tensor<[data: 2, n: 16], f32>
      %z = tsr.wait %u sent %t : !tsr.tensor<[data: 2, n: 16], f32>, !tsr.tensor<[data: 2, n: 16], f32>
      %sum = tsr.kernel "sum" (%b = %z : !tsr.tensor<[data: 2, n: 16], f32>) parallel ["n"] serial ["data"] vector "n" -> (!tsr.tensor<[n: 16], f32>) {
        %r = tsr.reduce sum %b over ["data"] : !tsr.tensor<[data: 2, n: 16], f32> -> !tsr.tensor<[n: 16], f32>
        tsr.yield %r : !tsr.tensor<[n: 16], f32>
      }
      tsr.yield %a, %sum : !tsr.tensor<[data: 2, n: 16], f32>, !tsr.tensor<[n: 16], f32>
    }
    %s = tsr.start all_gather %v along data : !tsr.tensor<[n: 16], f32> -> !tsr.tensor<[data: 2, n: 16], f32>
    %q = tsr.wait %s sent %v : !tsr.tensor<[data: 2, n: 16], f32>, !tsr.tensor<[n: 16], f32>
    %end = tsr.kernel "add" (%b = %y : !tsr.tensor<[data: 2, n: 16], f32>, %d = %q : !tsr.tensor<[data: 2, n: 16], f32>) parallel ["data", "n"] serial [] vector "n" -> (!tsr.tensor<[data: 2, n: 16], f32>) {
      %r = tsr.add %b, %d : (!tsr.tensor<[data: 2, n: 16], f32>, !tsr.tensor<[data: 2, n: 16], f32>) -> !tsr.tensor<[data: 2, n: 16], f32>
      tsr.yield %r : !tsr.tensor<[data: 2, n: 16], f32>
    }
    return %end, %g : !tsr.tensor<[data: 2, n: 16], f32>, !tsr.tensor<[layer: 40, n: 16], f32>
  }
}

// -----

// On a CPU exchanges start where they stand.
// CHECK-LABEL: func.func @step
// CHECK-NOT: tsr.start
// CHECK: tsr.repeat
// CHECK-NOT: tsr.early
// CHECK-NOT: tsr.late
// CHECK: return
module attributes {tsr.axes = ["layer", "data", "m", "n"], tsr.phase = "tile", tsr.mesh = [#tsr.axis<data: 2>]} {
  func.func @step(%x: !tsr.tensor<[data: 2, n: 16], f32>, %w: !tsr.tensor<[layer: 4, n: 16], f32>, %v: !tsr.tensor<[n: 16], f32>) -> (!tsr.tensor<[data: 2, n: 16], f32>, !tsr.tensor<[layer: 4, n: 16], f32>) {
    %y, %g = tsr.repeat [layer: 4] index %i carry (%c = %x : !tsr.tensor<[data: 2, n: 16], f32>) slice (%p = %w : !tsr.tensor<[layer: 4, n: 16], f32>) -> (!tsr.tensor<[data: 2, n: 16], f32>, !tsr.tensor<[layer: 4, n: 16], f32>) {
      %s = tsr.start all_gather %p along data : !tsr.tensor<[n: 16], f32> -> !tsr.tensor<[data: 2, n: 16], f32>
      %q = tsr.wait %s sent %p : !tsr.tensor<[data: 2, n: 16], f32>, !tsr.tensor<[n: 16], f32>
      %a = tsr.kernel "add" (%b = %c : !tsr.tensor<[data: 2, n: 16], f32>, %d = %q : !tsr.tensor<[data: 2, n: 16], f32>) parallel ["data", "n"] serial [] vector "n" -> (!tsr.tensor<[data: 2, n: 16], f32>) {
        %r = tsr.add %b, %d : (!tsr.tensor<[data: 2, n: 16], f32>, !tsr.tensor<[data: 2, n: 16], f32>) -> !tsr.tensor<[data: 2, n: 16], f32>
        tsr.yield %r : !tsr.tensor<[data: 2, n: 16], f32>
      }
      %t = tsr.kernel "terms" (%b = %a : !tsr.tensor<[data: 2, n: 16], f32>) parallel ["data", "n"] serial [] vector "n" -> (!tsr.tensor<[data: 2, n: 16], f32>) {
        %r = tsr.exp %b : !tsr.tensor<[data: 2, n: 16], f32>
        tsr.yield %r : !tsr.tensor<[data: 2, n: 16], f32>
      }
      %u = tsr.start all_to_all %t along data : !tsr.tensor<[data: 2, n: 16], f32> -> !tsr.tensor<[data: 2, n: 16], f32>
      %z = tsr.wait %u sent %t : !tsr.tensor<[data: 2, n: 16], f32>, !tsr.tensor<[data: 2, n: 16], f32>
      %sum = tsr.kernel "sum" (%b = %z : !tsr.tensor<[data: 2, n: 16], f32>) parallel ["n"] serial ["data"] vector "n" -> (!tsr.tensor<[n: 16], f32>) {
        %r = tsr.reduce sum %b over ["data"] : !tsr.tensor<[data: 2, n: 16], f32> -> !tsr.tensor<[n: 16], f32>
        tsr.yield %r : !tsr.tensor<[n: 16], f32>
      }
      tsr.yield %a, %sum : !tsr.tensor<[data: 2, n: 16], f32>, !tsr.tensor<[n: 16], f32>
    }
    %s = tsr.start all_gather %v along data : !tsr.tensor<[n: 16], f32> -> !tsr.tensor<[data: 2, n: 16], f32>
    %q = tsr.wait %s sent %v : !tsr.tensor<[data: 2, n: 16], f32>, !tsr.tensor<[n: 16], f32>
    %end = tsr.kernel "add" (%b = %y : !tsr.tensor<[data: 2, n: 16], f32>, %d = %q : !tsr.tensor<[data: 2, n: 16], f32>) parallel ["data", "n"] serial [] vector "n" -> (!tsr.tensor<[data: 2, n: 16], f32>) {
      %r = tsr.add %b, %d : (!tsr.tensor<[data: 2, n: 16], f32>, !tsr.tensor<[data: 2, n: 16], f32>) -> !tsr.tensor<[data: 2, n: 16], f32>
      tsr.yield %r : !tsr.tensor<[data: 2, n: 16], f32>
    }
    return %end, %g : !tsr.tensor<[data: 2, n: 16], f32>, !tsr.tensor<[layer: 4, n: 16], f32>
  }
}

// -----

// Where there is no memory for all, those that need the least of it run beside kernels.
// All of this program take 1280 bytes. What is lacking for them is recorded.
// CHECK: tsr.arena = 1152
// CHECK-SAME: tsr.arena_lacking = 1 : i64
// CHECK-LABEL: func.func @step
// CHECK: tsr.start all_gather {{.*}}tsr.early
// CHECK-NOT: tsr.late
// CHECK: return
module attributes {tsr.axes = ["layer", "data", "m", "n"], tsr.phase = "tile", tsr.target = "cuda", tsr.memory = {arena = 1279 : i64}, tsr.mesh = [#tsr.axis<data: 2>]} {
  func.func @step(%x: !tsr.tensor<[data: 2, n: 16], f32>, %w: !tsr.tensor<[layer: 4, n: 16], f32>, %v: !tsr.tensor<[n: 16], f32>) -> (!tsr.tensor<[data: 2, n: 16], f32>, !tsr.tensor<[layer: 4, n: 16], f32>) {
    %y, %g = tsr.repeat [layer: 4] index %i carry (%c = %x : !tsr.tensor<[data: 2, n: 16], f32>) slice (%p = %w : !tsr.tensor<[layer: 4, n: 16], f32>) -> (!tsr.tensor<[data: 2, n: 16], f32>, !tsr.tensor<[layer: 4, n: 16], f32>) {
      %s = tsr.start all_gather %p along data : !tsr.tensor<[n: 16], f32> -> !tsr.tensor<[data: 2, n: 16], f32>
      %q = tsr.wait %s sent %p : !tsr.tensor<[data: 2, n: 16], f32>, !tsr.tensor<[n: 16], f32>
      %a = tsr.kernel "add" (%b = %c : !tsr.tensor<[data: 2, n: 16], f32>, %d = %q : !tsr.tensor<[data: 2, n: 16], f32>) parallel ["data", "n"] serial [] vector "n" -> (!tsr.tensor<[data: 2, n: 16], f32>) {
        %r = tsr.add %b, %d : (!tsr.tensor<[data: 2, n: 16], f32>, !tsr.tensor<[data: 2, n: 16], f32>) -> !tsr.tensor<[data: 2, n: 16], f32>
        tsr.yield %r : !tsr.tensor<[data: 2, n: 16], f32>
      }
      %t = tsr.kernel "terms" (%b = %a : !tsr.tensor<[data: 2, n: 16], f32>) parallel ["data", "n"] serial [] vector "n" -> (!tsr.tensor<[data: 2, n: 16], f32>) {
        %r = tsr.exp %b : !tsr.tensor<[data: 2, n: 16], f32>
        tsr.yield %r : !tsr.tensor<[data: 2, n: 16], f32>
      }
      %u = tsr.start all_to_all %t along data : !tsr.tensor<[data: 2, n: 16], f32> -> !tsr.tensor<[data: 2, n: 16], f32>
      %z = tsr.wait %u sent %t : !tsr.tensor<[data: 2, n: 16], f32>, !tsr.tensor<[data: 2, n: 16], f32>
      %sum = tsr.kernel "sum" (%b = %z : !tsr.tensor<[data: 2, n: 16], f32>) parallel ["n"] serial ["data"] vector "n" -> (!tsr.tensor<[n: 16], f32>) {
        %r = tsr.reduce sum %b over ["data"] : !tsr.tensor<[data: 2, n: 16], f32> -> !tsr.tensor<[n: 16], f32>
        tsr.yield %r : !tsr.tensor<[n: 16], f32>
      }
      tsr.yield %a, %sum : !tsr.tensor<[data: 2, n: 16], f32>, !tsr.tensor<[n: 16], f32>
    }
    %s = tsr.start all_gather %v along data : !tsr.tensor<[n: 16], f32> -> !tsr.tensor<[data: 2, n: 16], f32>
    %q = tsr.wait %s sent %v : !tsr.tensor<[data: 2, n: 16], f32>, !tsr.tensor<[n: 16], f32>
    %end = tsr.kernel "add" (%b = %y : !tsr.tensor<[data: 2, n: 16], f32>, %d = %q : !tsr.tensor<[data: 2, n: 16], f32>) parallel ["data", "n"] serial [] vector "n" -> (!tsr.tensor<[data: 2, n: 16], f32>) {
      %r = tsr.add %b, %d : (!tsr.tensor<[data: 2, n: 16], f32>, !tsr.tensor<[data: 2, n: 16], f32>) -> !tsr.tensor<[data: 2, n: 16], f32>
      tsr.yield %r : !tsr.tensor<[data: 2, n: 16], f32>
    }
    return %end, %g : !tsr.tensor<[data: 2, n: 16], f32>, !tsr.tensor<[layer: 4, n: 16], f32>
  }
}

// -----

// CHECK: tsr.arena = 1024
// CHECK-SAME: tsr.arena_lacking = 129 : i64
// CHECK-LABEL: func.func @step
// CHECK-NOT: tsr.early
// CHECK-NOT: tsr.late
// CHECK: return
module attributes {tsr.axes = ["layer", "data", "m", "n"], tsr.phase = "tile", tsr.target = "cuda", tsr.memory = {arena = 1151 : i64}, tsr.mesh = [#tsr.axis<data: 2>]} {
  func.func @step(%x: !tsr.tensor<[data: 2, n: 16], f32>, %w: !tsr.tensor<[layer: 4, n: 16], f32>, %v: !tsr.tensor<[n: 16], f32>) -> (!tsr.tensor<[data: 2, n: 16], f32>, !tsr.tensor<[layer: 4, n: 16], f32>) {
    %y, %g = tsr.repeat [layer: 4] index %i carry (%c = %x : !tsr.tensor<[data: 2, n: 16], f32>) slice (%p = %w : !tsr.tensor<[layer: 4, n: 16], f32>) -> (!tsr.tensor<[data: 2, n: 16], f32>, !tsr.tensor<[layer: 4, n: 16], f32>) {
      %s = tsr.start all_gather %p along data : !tsr.tensor<[n: 16], f32> -> !tsr.tensor<[data: 2, n: 16], f32>
      %q = tsr.wait %s sent %p : !tsr.tensor<[data: 2, n: 16], f32>, !tsr.tensor<[n: 16], f32>
      %a = tsr.kernel "add" (%b = %c : !tsr.tensor<[data: 2, n: 16], f32>, %d = %q : !tsr.tensor<[data: 2, n: 16], f32>) parallel ["data", "n"] serial [] vector "n" -> (!tsr.tensor<[data: 2, n: 16], f32>) {
        %r = tsr.add %b, %d : (!tsr.tensor<[data: 2, n: 16], f32>, !tsr.tensor<[data: 2, n: 16], f32>) -> !tsr.tensor<[data: 2, n: 16], f32>
        tsr.yield %r : !tsr.tensor<[data: 2, n: 16], f32>
      }
      %t = tsr.kernel "terms" (%b = %a : !tsr.tensor<[data: 2, n: 16], f32>) parallel ["data", "n"] serial [] vector "n" -> (!tsr.tensor<[data: 2, n: 16], f32>) {
        %r = tsr.exp %b : !tsr.tensor<[data: 2, n: 16], f32>
        tsr.yield %r : !tsr.tensor<[data: 2, n: 16], f32>
      }
      %u = tsr.start all_to_all %t along data : !tsr.tensor<[data: 2, n: 16], f32> -> !tsr.tensor<[data: 2, n: 16], f32>
      %z = tsr.wait %u sent %t : !tsr.tensor<[data: 2, n: 16], f32>, !tsr.tensor<[data: 2, n: 16], f32>
      %sum = tsr.kernel "sum" (%b = %z : !tsr.tensor<[data: 2, n: 16], f32>) parallel ["n"] serial ["data"] vector "n" -> (!tsr.tensor<[n: 16], f32>) {
        %r = tsr.reduce sum %b over ["data"] : !tsr.tensor<[data: 2, n: 16], f32> -> !tsr.tensor<[n: 16], f32>
        tsr.yield %r : !tsr.tensor<[n: 16], f32>
      }
      tsr.yield %a, %sum : !tsr.tensor<[data: 2, n: 16], f32>, !tsr.tensor<[n: 16], f32>
    }
    %s = tsr.start all_gather %v along data : !tsr.tensor<[n: 16], f32> -> !tsr.tensor<[data: 2, n: 16], f32>
    %q = tsr.wait %s sent %v : !tsr.tensor<[data: 2, n: 16], f32>, !tsr.tensor<[n: 16], f32>
    %end = tsr.kernel "add" (%b = %y : !tsr.tensor<[data: 2, n: 16], f32>, %d = %q : !tsr.tensor<[data: 2, n: 16], f32>) parallel ["data", "n"] serial [] vector "n" -> (!tsr.tensor<[data: 2, n: 16], f32>) {
      %r = tsr.add %b, %d : (!tsr.tensor<[data: 2, n: 16], f32>, !tsr.tensor<[data: 2, n: 16], f32>) -> !tsr.tensor<[data: 2, n: 16], f32>
      tsr.yield %r : !tsr.tensor<[data: 2, n: 16], f32>
    }
    return %end, %g : !tsr.tensor<[data: 2, n: 16], f32>, !tsr.tensor<[layer: 4, n: 16], f32>
  }
}
