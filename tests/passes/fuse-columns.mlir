// RUN: tessera-opt %s --tsr-fuse --tsr-verify-phase=phase=fuse | FileCheck %s --check-prefixes=CHECK,GPU
// RUN: sed 's/, tsr.target = "cuda"//' %s | tessera-opt --tsr-fuse --tsr-verify-phase=phase=fuse | FileCheck %s --check-prefixes=CHECK,CPU

// On a GPU the kernel of a sum over rows computes the value that it sums, where that moves fewer bytes.

!x = !tsr.tensor<[batch: 32, seq: 128, embed: 1024], f32>
!row = !tsr.tensor<[batch: 32, seq: 128], f32>
!sum = !tsr.tensor<[batch: 32, embed: 1024], f32>
!few = !tsr.tensor<[batch: 2, seq: 128, embed: 16], f32>
!fewsum = !tsr.tensor<[batch: 2, embed: 16], f32>
module attributes {tsr.axes = ["batch", "seq", "embed"], tsr.phase = "layout", tsr.target = "cuda"} {
  // The kernel of the sum reads %x alone, and writes the value too.
  // CHECK-LABEL: func.func @elementwise
  func.func @elementwise(%x: !x) -> (!x, !sum) {
    // GPU: %[[K:.*]]:2 = tsr.kernel {{.*}} (%{{.*}} = %arg0 {{.*}} parallel [batch, embed] serial [seq] vector embed
    // GPU-NEXT: %[[E:.*]] = tsr.exp
    // GPU-NEXT: %[[S:.*]] = tsr.reduce sum %[[E]] over [seq]
    // GPU-NEXT: tsr.yield %[[E]], %[[S]]
    // GPU-NOT: tsr.kernel
    // CPU: %[[E:.*]] = tsr.kernel {{.*}} parallel [batch, seq, embed]
    // CPU: tsr.kernel {{.*}} (%{{.*}} = %[[E]] {{.*}} parallel [batch, embed] serial [seq]
    // CHECK: return
    %e = tsr.exp %x : !x
    %s = tsr.reduce sum %e over ["seq"] : !x -> !sum
    return %e, %s : !x, !sum
  }

  // The gradient of a norm: row sums in one kernel; in another one the gradient, its sum, and two sums of what it follows from.
  // CHECK-LABEL: func.func @norm
  func.func @norm(%dy: !x, %y: !x, %residual: !x) -> (!x, !sum, !sum, !sum) {
    // GPU: %[[ROW:.*]] = tsr.kernel {{.*}} parallel [batch, seq] serial [embed]
    // GPU-NEXT: tsr.mul
    // GPU-NEXT: tsr.reduce
    // GPU-NEXT: tsr.yield %{{[^,]*}} :
    // GPU: tsr.kernel {{.*}} parallel [batch, embed] serial [seq]
    // GPU-NOT: tsr.kernel
    // GPU-COUNT-3: tsr.reduce
    // GPU-NOT: tsr.kernel
    // CPU-COUNT-3: tsr.kernel
    // CHECK: return
    %p = tsr.mul %dy, %y : !x
    %r = tsr.reduce sum %p over ["embed"] : !x -> !row
    %q = tsr.mul %p, %r : !x, !row
    %m = tsr.add %residual, %q : !x
    %a = tsr.reduce sum %m over ["seq"] : !x -> !sum
    %b = tsr.reduce sum %residual over ["seq"] : !x -> !sum
    %c = tsr.reduce sum %dy over ["seq"] : !x -> !sum
    return %m, %a, %b, %c : !x, !sum, !sum, !sum
  }

  // Without other sums the row kernel and the sum read as much in two kernels as the row sums alone and the rest would.
  // CHECK-LABEL: func.func @rows
  func.func @rows(%x: !x) -> (!x, !sum) {
    // CHECK: %[[M:.*]] = tsr.kernel {{.*}} parallel [batch, seq] serial [embed]
    // CHECK: tsr.kernel {{.*}} (%{{.*}} = %[[M]] {{.*}} parallel [batch, embed] serial [seq]
    // CHECK: return
    %r = tsr.reduce sum %x over ["embed"] : !x -> !row
    %m = tsr.mul %x, %r : !x, !row
    %a = tsr.reduce sum %m over ["seq"] : !x -> !sum
    return %m, %a : !x, !sum
  }

  // Few sums do not give all threads work.
  // CHECK-LABEL: func.func @few
  func.func @few(%x: !few) -> (!few, !fewsum) {
    // CHECK: %[[E:.*]] = tsr.kernel {{.*}} parallel [batch, seq, embed]
    // CHECK: tsr.kernel {{.*}} (%{{.*}} = %[[E]] {{.*}} parallel [batch, embed] serial [seq]
    %e = tsr.exp %x : !few
    %s = tsr.reduce sum %e over ["seq"] : !few -> !fewsum
    return %e, %s : !few, !fewsum
  }

  // If a row kernel reads the value too, it computes it.
  // CHECK-LABEL: func.func @read
  func.func @read(%x: !x) -> (!x, !sum, !row) {
    // CHECK: tsr.kernel {{.*}} parallel [batch, seq] serial [embed]
    // CHECK: tsr.kernel {{.*}} parallel [batch, embed] serial [seq]
    %e = tsr.exp %x : !x
    %s = tsr.reduce sum %e over ["seq"] : !x -> !sum
    %r = tsr.reduce sum %e over ["embed"] : !x -> !row
    return %e, %s, %r : !x, !sum, !row
  }
}
