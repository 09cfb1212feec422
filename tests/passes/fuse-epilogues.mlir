// RUN: tessera-opt %s --split-input-file --tsr-fuse --tsr-verify-phase=phase=fuse | FileCheck %s

// GELU of a contraction's result is its epilogue; the sum is a second result if another op reads it.

!x = !tsr.tensor<[batch: 64, embed: 32], bf16>
!w = !tsr.tensor<[embed: 32, ff: 64], bf16>
!v = !tsr.tensor<[ff: 64, embed: 32], bf16>
!b = !tsr.tensor<[ff: 64], f32>
!h = !tsr.tensor<[batch: 64, ff: 64], bf16>
!f = !tsr.tensor<[batch: 64, ff: 64], f32>
!y = !tsr.tensor<[batch: 64, embed: 32], bf16>
!c = !tsr.tensor<[], f32>
module attributes {tsr.axes = ["batch", "embed", "ff"], tsr.phase = "layout", tsr.target = "cuda"} {
  // CHECK-LABEL: func.func @with_sum
  // CHECK: %[[BIAS:.*]] = tsr.kernel {{.*}} (%{{.*}} = %arg2
  // CHECK: %[[GELU:.*]], %[[SUM:.*]] = tsr.contract %arg0, %arg1 over [embed] bias %[[BIAS]] epilogue gelu as "mlp"
  // CHECK-NOT: tsr.kernel
  // CHECK: %[[Y:.*]] = tsr.contract %[[GELU]], %arg3
  // CHECK: return %[[Y]], %[[SUM]]
  func.func @with_sum(%x: !x, %w: !w, %b: !b, %v: !v) -> (!y, !h) {
    %cubic = tsr.constant 4.471500e-02 : f32 -> <[], f32>
    %scale = tsr.constant 1.59576917 : f32 -> <[], f32>
    %0 = tsr.contract %x, %w over ["embed"] {tsr.name = "mlp"} : (!x, !w) -> !f
    %1 = tsr.add %0, %b : (!f, !b) -> !f
    %low = tsr.cast %1 : !f to !h
    %s = tsr.cast %low : !h to !f
    %sq = tsr.mul %s, %s : (!f, !f) -> !f
    %cube = tsr.mul %sq, %s : (!f, !f) -> !f
    %2 = tsr.mul %cube, %cubic : (!f, !c) -> !f
    %3 = tsr.add %s, %2 : (!f, !f) -> !f
    %4 = tsr.mul %3, %scale : (!f, !c) -> !f
    %5 = tsr.sigmoid %4 : !f
    %6 = tsr.mul %s, %5 : (!f, !f) -> !f
    %g = tsr.cast %6 : !f to !h
    %y = tsr.contract %g, %v over ["ff"] : (!h, !v) -> !y
    return %y, %low : !y, !h
  }

  // The same in another spelling, with the sum unused.
  // CHECK-LABEL: func.func @alone
  // CHECK: %[[GELU:.*]] = tsr.contract %arg0, %arg1 over [embed] epilogue gelu : ({{.*}}) -> !tsr.tensor<[batch: 64, ff: 64], bf16>
  // CHECK-NOT: tsr.kernel
  // CHECK: return
  func.func @alone(%x: !x, %w: !w, %v: !v) -> !y {
    %cubic = tsr.constant 4.471500e-02 : f32 -> <[], f32>
    %scale = tsr.constant 0.797884583 : f32 -> <[], f32>
    %one = tsr.constant 1.0 : f32 -> <[], f32>
    %half = tsr.constant 0.5 : f32 -> <[], f32>
    %0 = tsr.contract %x, %w over ["embed"] : (!x, !w) -> !h
    %s = tsr.cast %0 : !h to !f
    %sq = tsr.mul %s, %s : (!f, !f) -> !f
    %1 = tsr.mul %cubic, %sq : (!c, !f) -> !f
    %2 = tsr.add %one, %1 : (!c, !f) -> !f
    %3 = tsr.mul %s, %scale : (!f, !c) -> !f
    %4 = tsr.mul %2, %3 : (!f, !f) -> !f
    %5 = tsr.tanh %4 : !f
    %6 = tsr.add %one, %5 : (!c, !f) -> !f
    %7 = tsr.mul %6, %half : (!f, !c) -> !f
    %8 = tsr.mul %7, %s : (!f, !f) -> !f
    %g = tsr.cast %8 : !f to !h
    %y = tsr.contract %g, %v over ["ff"] : (!h, !v) -> !y
    return %y : !y
  }

  // The gradient: a product with the derivative at %s. Sums over rows of a low-precision type are rounded, so they are kernels.
  // CHECK-LABEL: func.func @gradient
  // CHECK: %[[D:.*]] = tsr.contract %arg0, %arg1 over [embed] epilogue gelu_grad aux %arg2 as "mlp.grad" : ({{.*}}) -> !tsr.tensor<[batch: 64, ff: 64], bf16>
  // CHECK: tsr.kernel {{.*}} (%{{.*}} = %[[D]] {{.*}} parallel [ff] serial [batch]
  // CHECK: tsr.contract %[[D]], %arg3
  // CHECK-NOT: tsr.kernel
  // CHECK: return
  func.func @gradient(%x: !x, %w: !w, %low: !h, %v: !v) -> (!y, !b) {
    %scale = tsr.constant 1.59576917 : f32 -> <[], f32>
    %cubic = tsr.constant 4.471500e-02 : f32 -> <[], f32>
    %both = tsr.constant 0.0713548139 : f32 -> <[], f32>
    %s = tsr.cast %low : !h to !f
    %sq = tsr.mul %s, %s : (!f, !f) -> !f
    %cube = tsr.mul %sq, %s : (!f, !f) -> !f
    %2 = tsr.mul %cube, %cubic : (!f, !c) -> !f
    %3 = tsr.add %s, %2 : (!f, !f) -> !f
    %4 = tsr.mul %3, %scale : (!f, !c) -> !f
    %5 = tsr.sigmoid %4 : !f
    %0 = tsr.contract %x, %w over ["embed"] {tsr.name = "mlp.grad"} : (!x, !w) -> !h
    %1 = tsr.cast %0 : !h to !f
    %d0 = tsr.mul %1, %5 : (!f, !f) -> !f
    %d1 = tsr.mul %1, %s : (!f, !f) -> !f
    %d2 = tsr.mul %5, %5 : (!f, !f) -> !f
    %d3 = tsr.sub %5, %d2 : (!f, !f) -> !f
    %d4 = tsr.mul %d1, %d3 : (!f, !f) -> !f
    %d5 = tsr.mul %d4, %scale : (!f, !c) -> !f
    %d6 = tsr.add %d0, %d5 : (!f, !f) -> !f
    %d7 = tsr.mul %d4, %both : (!f, !c) -> !f
    %d8 = tsr.mul %d7, %s : (!f, !f) -> !f
    %d9 = tsr.mul %d7, %sq : (!f, !f) -> !f
    %d10 = tsr.add %d6, %d9 : (!f, !f) -> !f
    %d11 = tsr.mul %d8, %s : (!f, !f) -> !f
    %d12 = tsr.add %d10, %d11 : (!f, !f) -> !f
    %d13 = tsr.add %d11, %d12 : (!f, !f) -> !f
    %g = tsr.cast %d13 : !f to !h
    %wide = tsr.cast %g : !h to !f
    %sum = tsr.reduce sum %wide over ["batch"] : !f -> !b
    %y = tsr.contract %g, %v over ["ff"] : (!h, !v) -> !y
    return %y, %sum : !y, !b
  }
}

// -----

!x = !tsr.tensor<[batch: 64, embed: 32], f32>
!w = !tsr.tensor<[embed: 32, ff: 64], f32>
!v = !tsr.tensor<[ff: 64, embed: 32], f32>
!b = !tsr.tensor<[ff: 64], f32>
!f = !tsr.tensor<[batch: 64, ff: 64], f32>
!y = !tsr.tensor<[batch: 64, embed: 32], f32>
!c = !tsr.tensor<[], f32>
module attributes {tsr.axes = ["batch", "embed", "ff"], tsr.phase = "layout", tsr.target = "cuda"} {
  // In f32 the contraction computes the gradient of the bias too. The forward pass is in the same block: the gradient reads its sum,
  // and the parts of GELU that both read are gone.
  // CHECK-LABEL: func.func @step
  // CHECK: %[[MLP:.*]]:2 = tsr.contract %arg0, %arg1 over [embed] bias %arg2 epilogue gelu :
  // CHECK: tsr.contract %[[MLP]]#0, %arg3 over [ff]
  // CHECK: %[[D:.*]]:2 = tsr.contract %arg4, %arg3 over [embed] epilogue gelu_grad aux %[[MLP]]#1 : ({{.*}}) -> (!tsr.tensor<[batch: 64, ff: 64], f32>, !tsr.tensor<[ff: 64], f32>)
  // CHECK: tsr.contract %[[D]]#0, %arg0 over [batch]
  // CHECK-NOT: tsr.kernel
  // CHECK: return %{{.*}}, %[[D]]#1
  func.func @step(%x: !x, %w: !w, %b: !b, %v: !v, %dy: !y) -> (!y, !b, !w) {
    %scale = tsr.constant 1.59576917 : f32 -> <[], f32>
    %cubic = tsr.constant 4.471500e-02 : f32 -> <[], f32>
    %both = tsr.constant 0.0713548139 : f32 -> <[], f32>
    %0 = tsr.contract %x, %w over ["embed"] : (!x, !w) -> !f
    %s = tsr.add %0, %b : (!f, !b) -> !f
    %sq = tsr.mul %s, %s : (!f, !f) -> !f
    %cube = tsr.mul %sq, %s : (!f, !f) -> !f
    %2 = tsr.mul %cube, %cubic : (!f, !c) -> !f
    %3 = tsr.add %s, %2 : (!f, !f) -> !f
    %4 = tsr.mul %3, %scale : (!f, !c) -> !f
    %5 = tsr.sigmoid %4 : !f
    %gelu = tsr.mul %s, %5 : (!f, !f) -> !f
    %y = tsr.contract %gelu, %v over ["ff"] : (!f, !v) -> !y
    %1 = tsr.contract %dy, %v over ["embed"] : (!y, !v) -> !f
    %d0 = tsr.mul %1, %5 : (!f, !f) -> !f
    %d1 = tsr.mul %1, %s : (!f, !f) -> !f
    %d2 = tsr.mul %5, %5 : (!f, !f) -> !f
    %d3 = tsr.sub %5, %d2 : (!f, !f) -> !f
    %d4 = tsr.mul %d1, %d3 : (!f, !f) -> !f
    %d5 = tsr.mul %d4, %scale : (!f, !c) -> !f
    %d6 = tsr.add %d0, %d5 : (!f, !f) -> !f
    %d7 = tsr.mul %d4, %both : (!f, !c) -> !f
    %d8 = tsr.mul %d7, %s : (!f, !f) -> !f
    %d9 = tsr.mul %d7, %sq : (!f, !f) -> !f
    %d10 = tsr.add %d6, %d9 : (!f, !f) -> !f
    %d11 = tsr.mul %d8, %s : (!f, !f) -> !f
    %d12 = tsr.add %d10, %d11 : (!f, !f) -> !f
    %d13 = tsr.add %d11, %d12 : (!f, !f) -> !f
    %sum = tsr.reduce sum %d13 over ["batch"] : !f -> !b
    %dw = tsr.contract %d13, %x over ["batch"] : (!f, !x) -> !w
    return %y, %sum, %dw : !y, !b, !w
  }
}

// -----

// These functions do not become epilogues.

!x = !tsr.tensor<[batch: 64, embed: 32], f32>
!w = !tsr.tensor<[embed: 32, ff: 64], f32>
!v = !tsr.tensor<[ff: 64, embed: 32], f32>
!f = !tsr.tensor<[batch: 64, ff: 64], f32>
!t = !tsr.tensor<[ff: 64, batch: 64], f32>
!y = !tsr.tensor<[batch: 64, embed: 32], f32>
!c = !tsr.tensor<[], f32>
!o = !tsr.tensor<[ff: 63, embed: 32], f32>
!p = !tsr.tensor<[batch: 64, ff: 63], f32>
!q = !tsr.tensor<[embed: 32, ff: 63], f32>
module attributes {tsr.axes = ["batch", "embed", "ff"], tsr.phase = "layout", tsr.target = "cuda"} {
  // GELU with erf is another function.
  // CHECK-LABEL: func.func @exact
  // CHECK-NOT: epilogue
  // CHECK: tsr.erf
  // CHECK-NOT: epilogue
  func.func @exact(%x: !x, %w: !w, %v: !v) -> !y {
    %root = tsr.constant 0.707106769 : f32 -> <[], f32>
    %one = tsr.constant 1.0 : f32 -> <[], f32>
    %half = tsr.constant 0.5 : f32 -> <[], f32>
    %s = tsr.contract %x, %w over ["embed"] : (!x, !w) -> !f
    %1 = tsr.mul %s, %root : (!f, !c) -> !f
    %2 = tsr.erf %1 : !f
    %3 = tsr.add %2, %one : (!f, !c) -> !f
    %4 = tsr.mul %3, %half : (!f, !c) -> !f
    %g = tsr.mul %s, %4 : (!f, !f) -> !f
    %y = tsr.contract %g, %v over ["ff"] : (!f, !v) -> !y
    return %y : !y
  }

  // So is the logistic form, x sigmoid(1.702 x).
  // CHECK-LABEL: func.func @quick
  // CHECK-NOT: epilogue
  // CHECK: return
  func.func @quick(%x: !x, %w: !w, %v: !v) -> !y {
    %scale = tsr.constant 1.702 : f32 -> <[], f32>
    %s = tsr.contract %x, %w over ["embed"] : (!x, !w) -> !f
    %1 = tsr.mul %s, %scale : (!f, !c) -> !f
    %2 = tsr.sigmoid %1 : !f
    %g = tsr.mul %s, %2 : (!f, !f) -> !f
    %y = tsr.contract %g, %v over ["ff"] : (!f, !v) -> !y
    return %y : !y
  }

  // cuBLASLt does not add a matrix before GELU.
  // CHECK-LABEL: func.func @init
  // CHECK-NOT: epilogue
  // CHECK: return
  func.func @init(%x: !x, %w: !w, %v: !v) -> !y {
    %scale = tsr.constant 1.59576917 : f32 -> <[], f32>
    %cubic = tsr.constant 4.471500e-02 : f32 -> <[], f32>
    %0 = tsr.contract %x, %w over ["embed"] : (!x, !w) -> !f
    %1 = tsr.contract %x, %w over ["embed"] : (!x, !w) -> !f
    %s = tsr.add %0, %1 : (!f, !f) -> !f
    %sq = tsr.mul %s, %s : (!f, !f) -> !f
    %cube = tsr.mul %sq, %s : (!f, !f) -> !f
    %2 = tsr.mul %cube, %cubic : (!f, !c) -> !f
    %3 = tsr.add %s, %2 : (!f, !f) -> !f
    %4 = tsr.mul %3, %scale : (!f, !c) -> !f
    %5 = tsr.sigmoid %4 : !f
    %g = tsr.mul %s, %5 : (!f, !f) -> !f
    %y = tsr.contract %g, %v over ["ff"] : (!f, !v) -> !y
    return %y : !y
  }

  // Rows of 63 elements are no multiples of the vectors of cuBLASLt.
  // CHECK-LABEL: func.func @lines
  // CHECK-NOT: epilogue
  // CHECK: return
  func.func @lines(%x: !x, %w: !q, %v: !o) -> !y {
    %scale = tsr.constant 1.59576917 : f32 -> <[], f32>
    %cubic = tsr.constant 4.471500e-02 : f32 -> <[], f32>
    %s = tsr.contract %x, %w over ["embed"] : (!x, !q) -> !p
    %sq = tsr.mul %s, %s : (!p, !p) -> !p
    %cube = tsr.mul %sq, %s : (!p, !p) -> !p
    %2 = tsr.mul %cube, %cubic : (!p, !c) -> !p
    %3 = tsr.add %s, %2 : (!p, !p) -> !p
    %4 = tsr.mul %3, %scale : (!p, !c) -> !p
    %5 = tsr.sigmoid %4 : !p
    %g = tsr.mul %s, %5 : (!p, !p) -> !p
    %y = tsr.contract %g, %v over ["ff"] : (!p, !o) -> !y
    return %y : !y
  }

  // `tsr.precision` exempts an op.
  // CHECK-LABEL: func.func @kept
  // CHECK-NOT: epilogue
  // CHECK: return
  func.func @kept(%x: !x, %w: !w, %v: !v) -> !y {
    %scale = tsr.constant 1.59576917 : f32 -> <[], f32>
    %cubic = tsr.constant 4.471500e-02 : f32 -> <[], f32>
    %s = tsr.contract %x, %w over ["embed"] : (!x, !w) -> !f
    %sq = tsr.mul %s, %s : (!f, !f) -> !f
    %cube = tsr.mul %sq, %s : (!f, !f) -> !f
    %2 = tsr.mul %cube, %cubic : (!f, !c) -> !f
    %3 = tsr.add %s, %2 : (!f, !f) -> !f
    %4 = tsr.mul %3, %scale : (!f, !c) -> !f
    %5 = tsr.sigmoid %4 {tsr.precision = f32} : !f
    %g = tsr.mul %s, %5 : (!f, !f) -> !f
    %y = tsr.contract %g, %v over ["ff"] : (!f, !v) -> !y
    return %y : !y
  }

  // A kernel consumes GELU, so it need not be stored.
  // CHECK-LABEL: func.func @gated
  // CHECK-NOT: epilogue
  // CHECK: return
  func.func @gated(%x: !x, %w: !w, %u: !f, %v: !v) -> !y {
    %scale = tsr.constant 1.59576917 : f32 -> <[], f32>
    %cubic = tsr.constant 4.471500e-02 : f32 -> <[], f32>
    %s = tsr.contract %x, %w over ["embed"] : (!x, !w) -> !f
    %sq = tsr.mul %s, %s : (!f, !f) -> !f
    %cube = tsr.mul %sq, %s : (!f, !f) -> !f
    %2 = tsr.mul %cube, %cubic : (!f, !c) -> !f
    %3 = tsr.add %s, %2 : (!f, !f) -> !f
    %4 = tsr.mul %3, %scale : (!f, !c) -> !f
    %5 = tsr.sigmoid %4 : !f
    %6 = tsr.mul %s, %5 : (!f, !f) -> !f
    %g = tsr.mul %6, %u : (!f, !f) -> !f
    %y = tsr.contract %g, %v over ["ff"] : (!f, !v) -> !y
    return %y : !y
  }

  // The operand of GELU has another memory order than the product.
  // CHECK-LABEL: func.func @order
  // CHECK-NOT: epilogue
  // CHECK: return
  func.func @order(%x: !x, %w: !w, %0: !t) -> !f {
    %scale = tsr.constant 1.59576917 : f32 -> <[], f32>
    %cubic = tsr.constant 4.471500e-02 : f32 -> <[], f32>
    %both = tsr.constant 0.0713548139 : f32 -> <[], f32>
    %s = tsr.reorder %0 : !t -> !f
    %sq = tsr.mul %s, %s : (!f, !f) -> !f
    %cube = tsr.mul %sq, %s : (!f, !f) -> !f
    %2 = tsr.mul %cube, %cubic : (!f, !c) -> !f
    %3 = tsr.add %s, %2 : (!f, !f) -> !f
    %4 = tsr.mul %3, %scale : (!f, !c) -> !f
    %5 = tsr.sigmoid %4 : !f
    %1 = tsr.contract %x, %w over ["embed"] : (!x, !w) -> !f
    %d0 = tsr.mul %1, %5 : (!f, !f) -> !f
    %d1 = tsr.mul %1, %s : (!f, !f) -> !f
    %d2 = tsr.mul %5, %5 : (!f, !f) -> !f
    %d3 = tsr.sub %5, %d2 : (!f, !f) -> !f
    %d4 = tsr.mul %d1, %d3 : (!f, !f) -> !f
    %d5 = tsr.mul %d4, %scale : (!f, !c) -> !f
    %d6 = tsr.add %d0, %d5 : (!f, !f) -> !f
    %d7 = tsr.mul %d4, %both : (!f, !c) -> !f
    %d8 = tsr.mul %d7, %s : (!f, !f) -> !f
    %d9 = tsr.mul %d7, %sq : (!f, !f) -> !f
    %d10 = tsr.add %d6, %d9 : (!f, !f) -> !f
    %d11 = tsr.mul %d8, %s : (!f, !f) -> !f
    %d12 = tsr.add %d10, %d11 : (!f, !f) -> !f
    %g = tsr.add %d11, %d12 : (!f, !f) -> !f
    return %g : !f
  }

  // The product itself is used too.
  // CHECK-LABEL: func.func @twice
  // CHECK-NOT: epilogue
  // CHECK: return
  func.func @twice(%x: !x, %w: !w, %s: !f) -> (!f, !f) {
    %scale = tsr.constant 1.59576917 : f32 -> <[], f32>
    %cubic = tsr.constant 4.471500e-02 : f32 -> <[], f32>
    %both = tsr.constant 0.0713548139 : f32 -> <[], f32>
    %sq = tsr.mul %s, %s : (!f, !f) -> !f
    %cube = tsr.mul %sq, %s : (!f, !f) -> !f
    %2 = tsr.mul %cube, %cubic : (!f, !c) -> !f
    %3 = tsr.add %s, %2 : (!f, !f) -> !f
    %4 = tsr.mul %3, %scale : (!f, !c) -> !f
    %5 = tsr.sigmoid %4 : !f
    %1 = tsr.contract %x, %w over ["embed"] : (!x, !w) -> !f
    %d0 = tsr.mul %1, %5 : (!f, !f) -> !f
    %d1 = tsr.mul %1, %s : (!f, !f) -> !f
    %d2 = tsr.mul %5, %5 : (!f, !f) -> !f
    %d3 = tsr.sub %5, %d2 : (!f, !f) -> !f
    %d4 = tsr.mul %d1, %d3 : (!f, !f) -> !f
    %d5 = tsr.mul %d4, %scale : (!f, !c) -> !f
    %d6 = tsr.add %d0, %d5 : (!f, !f) -> !f
    %d7 = tsr.mul %d4, %both : (!f, !c) -> !f
    %d8 = tsr.mul %d7, %s : (!f, !f) -> !f
    %d9 = tsr.mul %d7, %sq : (!f, !f) -> !f
    %d10 = tsr.add %d6, %d9 : (!f, !f) -> !f
    %d11 = tsr.mul %d8, %s : (!f, !f) -> !f
    %d12 = tsr.add %d10, %d11 : (!f, !f) -> !f
    %g = tsr.add %d11, %d12 : (!f, !f) -> !f
    return %g, %1 : !f, !f
  }

  // Half of the derivative is not the derivative.
  // CHECK-LABEL: func.func @half
  // CHECK-NOT: epilogue
  // CHECK: return
  func.func @half(%x: !x, %w: !w, %s: !f) -> !f {
    %scale = tsr.constant 1.59576917 : f32 -> <[], f32>
    %cubic = tsr.constant 4.471500e-02 : f32 -> <[], f32>
    %both = tsr.constant 0.03567740695 : f32 -> <[], f32>
    %sq = tsr.mul %s, %s : (!f, !f) -> !f
    %cube = tsr.mul %sq, %s : (!f, !f) -> !f
    %2 = tsr.mul %cube, %cubic : (!f, !c) -> !f
    %3 = tsr.add %s, %2 : (!f, !f) -> !f
    %4 = tsr.mul %3, %scale : (!f, !c) -> !f
    %5 = tsr.sigmoid %4 : !f
    %1 = tsr.contract %x, %w over ["embed"] : (!x, !w) -> !f
    %d0 = tsr.mul %1, %5 : (!f, !f) -> !f
    %d1 = tsr.mul %1, %s : (!f, !f) -> !f
    %d2 = tsr.mul %5, %5 : (!f, !f) -> !f
    %d3 = tsr.sub %5, %d2 : (!f, !f) -> !f
    %d4 = tsr.mul %d1, %d3 : (!f, !f) -> !f
    %d5 = tsr.mul %d4, %scale : (!f, !c) -> !f
    %d6 = tsr.add %d0, %d5 : (!f, !f) -> !f
    %d7 = tsr.mul %d4, %both : (!f, !c) -> !f
    %d8 = tsr.mul %d7, %s : (!f, !f) -> !f
    %d9 = tsr.mul %d7, %sq : (!f, !f) -> !f
    %d10 = tsr.add %d6, %d9 : (!f, !f) -> !f
    %d11 = tsr.mul %d8, %s : (!f, !f) -> !f
    %d12 = tsr.add %d10, %d11 : (!f, !f) -> !f
    %g = tsr.add %d11, %d12 : (!f, !f) -> !f
    return %g : !f
  }
}

// -----

!x = !tsr.tensor<[batch: 64, embed: 32], f32>
!w = !tsr.tensor<[embed: 32, ff: 64], f32>
!f = !tsr.tensor<[batch: 64, ff: 64], f32>
!b = !tsr.tensor<[batch: 64], f32>
!c = !tsr.tensor<[], f32>
module attributes {tsr.axes = ["batch", "embed", "ff"], tsr.phase = "layout", tsr.target = "cuda"} {
  // The library sums over rows, not along them.
  // CHECK-LABEL: func.func @rows
  // CHECK: %[[D:.*]] = tsr.contract {{.*}} epilogue gelu_grad aux %arg2
  // CHECK: tsr.reduce sum {{.*}} over [ff]
  func.func @rows(%x: !x, %w: !w, %s: !f) -> (!f, !b) {
    %scale = tsr.constant 1.59576917 : f32 -> <[], f32>
    %cubic = tsr.constant 4.471500e-02 : f32 -> <[], f32>
    %both = tsr.constant 0.0713548139 : f32 -> <[], f32>
    %sq = tsr.mul %s, %s : (!f, !f) -> !f
    %cube = tsr.mul %sq, %s : (!f, !f) -> !f
    %2 = tsr.mul %cube, %cubic : (!f, !c) -> !f
    %3 = tsr.add %s, %2 : (!f, !f) -> !f
    %4 = tsr.mul %3, %scale : (!f, !c) -> !f
    %5 = tsr.sigmoid %4 : !f
    %1 = tsr.contract %x, %w over ["embed"] : (!x, !w) -> !f
    %d0 = tsr.mul %1, %5 : (!f, !f) -> !f
    %d1 = tsr.mul %1, %s : (!f, !f) -> !f
    %d2 = tsr.mul %5, %5 : (!f, !f) -> !f
    %d3 = tsr.sub %5, %d2 : (!f, !f) -> !f
    %d4 = tsr.mul %d1, %d3 : (!f, !f) -> !f
    %d5 = tsr.mul %d4, %scale : (!f, !c) -> !f
    %d6 = tsr.add %d0, %d5 : (!f, !f) -> !f
    %d7 = tsr.mul %d4, %both : (!f, !c) -> !f
    %d8 = tsr.mul %d7, %s : (!f, !f) -> !f
    %d9 = tsr.mul %d7, %sq : (!f, !f) -> !f
    %d10 = tsr.add %d6, %d9 : (!f, !f) -> !f
    %d11 = tsr.mul %d8, %s : (!f, !f) -> !f
    %d12 = tsr.add %d10, %d11 : (!f, !f) -> !f
    %g = tsr.add %d11, %d12 : (!f, !f) -> !f
    %sum = tsr.reduce sum %g over ["ff"] : !f -> !b
    return %g, %sum : !f, !b
  }
}

// -----

!x = !tsr.tensor<[batch: 64, embed: 32], f32>
!w = !tsr.tensor<[embed: 32, ff: 64], f32>
!f = !tsr.tensor<[batch: 64, ff: 64], f32>
!c = !tsr.tensor<[], f32>
module attributes {tsr.axes = ["batch", "embed", "ff"], tsr.phase = "layout", tsr.target = "cuda", tsr.epilogues = "bias"} {
  // `tsr.epilogues = "bias"` switches epilogues with GELU off.
  // CHECK-LABEL: func.func @off
  // CHECK-NOT: epilogue
  // CHECK: tsr.sigmoid
  // CHECK-NOT: epilogue
  func.func @off(%x: !x, %w: !w, %s: !f) -> !f {
    %scale = tsr.constant 1.59576917 : f32 -> <[], f32>
    %cubic = tsr.constant 4.471500e-02 : f32 -> <[], f32>
    %both = tsr.constant 0.0713548139 : f32 -> <[], f32>
    %sq = tsr.mul %s, %s : (!f, !f) -> !f
    %cube = tsr.mul %sq, %s : (!f, !f) -> !f
    %2 = tsr.mul %cube, %cubic : (!f, !c) -> !f
    %3 = tsr.add %s, %2 : (!f, !f) -> !f
    %4 = tsr.mul %3, %scale : (!f, !c) -> !f
    %5 = tsr.sigmoid %4 : !f
    %1 = tsr.contract %x, %w over ["embed"] : (!x, !w) -> !f
    %d0 = tsr.mul %1, %5 : (!f, !f) -> !f
    %d1 = tsr.mul %1, %s : (!f, !f) -> !f
    %d2 = tsr.mul %5, %5 : (!f, !f) -> !f
    %d3 = tsr.sub %5, %d2 : (!f, !f) -> !f
    %d4 = tsr.mul %d1, %d3 : (!f, !f) -> !f
    %d5 = tsr.mul %d4, %scale : (!f, !c) -> !f
    %d6 = tsr.add %d0, %d5 : (!f, !f) -> !f
    %d7 = tsr.mul %d4, %both : (!f, !c) -> !f
    %d8 = tsr.mul %d7, %s : (!f, !f) -> !f
    %d9 = tsr.mul %d7, %sq : (!f, !f) -> !f
    %d10 = tsr.add %d6, %d9 : (!f, !f) -> !f
    %d11 = tsr.mul %d8, %s : (!f, !f) -> !f
    %d12 = tsr.add %d10, %d11 : (!f, !f) -> !f
    %g = tsr.add %d11, %d12 : (!f, !f) -> !f
    return %g : !f
  }
}

// -----

!x = !tsr.tensor<[batch: 64, embed: 32], f32>
!w = !tsr.tensor<[embed: 32, ff: 64], f32>
!f = !tsr.tensor<[batch: 64, ff: 64], f32>
!c = !tsr.tensor<[], f32>
module attributes {tsr.axes = ["batch", "embed", "ff"], tsr.phase = "layout"} {
  // On a CPU GELU stays in kernels.
  // CHECK-LABEL: func.func @on_cpu
  // CHECK-NOT: epilogue
  // CHECK: tsr.sigmoid
  // CHECK-NOT: epilogue
  func.func @on_cpu(%x: !x, %w: !w, %s: !f) -> !f {
    %scale = tsr.constant 1.59576917 : f32 -> <[], f32>
    %cubic = tsr.constant 4.471500e-02 : f32 -> <[], f32>
    %both = tsr.constant 0.0713548139 : f32 -> <[], f32>
    %sq = tsr.mul %s, %s : (!f, !f) -> !f
    %cube = tsr.mul %sq, %s : (!f, !f) -> !f
    %2 = tsr.mul %cube, %cubic : (!f, !c) -> !f
    %3 = tsr.add %s, %2 : (!f, !f) -> !f
    %4 = tsr.mul %3, %scale : (!f, !c) -> !f
    %5 = tsr.sigmoid %4 : !f
    %1 = tsr.contract %x, %w over ["embed"] : (!x, !w) -> !f
    %d0 = tsr.mul %1, %5 : (!f, !f) -> !f
    %d1 = tsr.mul %1, %s : (!f, !f) -> !f
    %d2 = tsr.mul %5, %5 : (!f, !f) -> !f
    %d3 = tsr.sub %5, %d2 : (!f, !f) -> !f
    %d4 = tsr.mul %d1, %d3 : (!f, !f) -> !f
    %d5 = tsr.mul %d4, %scale : (!f, !c) -> !f
    %d6 = tsr.add %d0, %d5 : (!f, !f) -> !f
    %d7 = tsr.mul %d4, %both : (!f, !c) -> !f
    %d8 = tsr.mul %d7, %s : (!f, !f) -> !f
    %d9 = tsr.mul %d7, %sq : (!f, !f) -> !f
    %d10 = tsr.add %d6, %d9 : (!f, !f) -> !f
    %d11 = tsr.mul %d8, %s : (!f, !f) -> !f
    %d12 = tsr.add %d10, %d11 : (!f, !f) -> !f
    %g = tsr.add %d11, %d12 : (!f, !f) -> !f
    return %g : !f
  }
}

// -----

!x = !tsr.tensor<[batch: 64, embed: 32], bf16>
!w = !tsr.tensor<[embed: 32, ff: 64], bf16>
!h = !tsr.tensor<[batch: 64, ff: 64], bf16>
!f = !tsr.tensor<[batch: 64, ff: 64], f32>
!b = !tsr.tensor<[ff: 64], bf16>
!c = !tsr.tensor<[], f32>
module attributes {tsr.axes = ["batch", "embed", "ff"], tsr.phase = "layout", tsr.target = "cuda"} {
  // The operand of GELU is stored in another type than the product.
  // CHECK-LABEL: func.func @types
  // CHECK-NOT: epilogue
  // CHECK: return
  func.func @types(%x: !x, %w: !w, %s: !f) -> !h {
    %scale = tsr.constant 1.59576917 : f32 -> <[], f32>
    %cubic = tsr.constant 4.471500e-02 : f32 -> <[], f32>
    %both = tsr.constant 0.0713548139 : f32 -> <[], f32>
    %sq = tsr.mul %s, %s : (!f, !f) -> !f
    %cube = tsr.mul %sq, %s : (!f, !f) -> !f
    %2 = tsr.mul %cube, %cubic : (!f, !c) -> !f
    %3 = tsr.add %s, %2 : (!f, !f) -> !f
    %4 = tsr.mul %3, %scale : (!f, !c) -> !f
    %5 = tsr.sigmoid %4 : !f
    %product = tsr.contract %x, %w over ["embed"] : (!x, !w) -> !h
    %1 = tsr.cast %product : !h to !f
    %d0 = tsr.mul %1, %5 : (!f, !f) -> !f
    %d1 = tsr.mul %1, %s : (!f, !f) -> !f
    %d2 = tsr.mul %5, %5 : (!f, !f) -> !f
    %d3 = tsr.sub %5, %d2 : (!f, !f) -> !f
    %d4 = tsr.mul %d1, %d3 : (!f, !f) -> !f
    %d5 = tsr.mul %d4, %scale : (!f, !c) -> !f
    %d6 = tsr.add %d0, %d5 : (!f, !f) -> !f
    %d7 = tsr.mul %d4, %both : (!f, !c) -> !f
    %d8 = tsr.mul %d7, %s : (!f, !f) -> !f
    %d9 = tsr.mul %d7, %sq : (!f, !f) -> !f
    %d10 = tsr.add %d6, %d9 : (!f, !f) -> !f
    %d11 = tsr.mul %d8, %s : (!f, !f) -> !f
    %d12 = tsr.add %d10, %d11 : (!f, !f) -> !f
    %g = tsr.add %d11, %d12 : (!f, !f) -> !f
    %low = tsr.cast %g : !f to !h
    return %low : !h
  }

  // Casts of stored parts of GELU are looked through; the contraction does not compute a sum over rows that is rounded.
  // CHECK-LABEL: func.func @stored
  // CHECK: %[[D:.*]] = tsr.contract {{.*}} epilogue gelu_grad aux %arg2 : ({{.*}}) -> !tsr.tensor<[batch: 64, ff: 64], bf16>
  // CHECK: tsr.reduce sum {{.*}} over [batch]
  func.func @stored(%x: !x, %w: !w, %at: !h) -> (!h, !b) {
    %scale = tsr.constant 1.59576917 : f32 -> <[], f32>
    %cubic = tsr.constant 4.471500e-02 : f32 -> <[], f32>
    %both = tsr.constant 0.0713548139 : f32 -> <[], f32>
    %s = tsr.cast %at : !h to !f
    %sq = tsr.mul %s, %s : (!f, !f) -> !f
    %cube = tsr.mul %sq, %s : (!f, !f) -> !f
    %2 = tsr.mul %cube, %cubic : (!f, !c) -> !f
    %3 = tsr.add %s, %2 : (!f, !f) -> !f
    %4 = tsr.mul %3, %scale : (!f, !c) -> !f
    %logistic = tsr.sigmoid %4 : !f
    %rounded = tsr.cast %logistic : !f to !h
    %5 = tsr.cast %rounded : !h to !f
    %product = tsr.contract %x, %w over ["embed"] : (!x, !w) -> !h
    %1 = tsr.cast %product : !h to !f
    %d0 = tsr.mul %1, %5 : (!f, !f) -> !f
    %d1 = tsr.mul %1, %s : (!f, !f) -> !f
    %d2 = tsr.mul %5, %5 : (!f, !f) -> !f
    %d3 = tsr.sub %5, %d2 : (!f, !f) -> !f
    %d4 = tsr.mul %d1, %d3 : (!f, !f) -> !f
    %d5 = tsr.mul %d4, %scale : (!f, !c) -> !f
    %d6 = tsr.add %d0, %d5 : (!f, !f) -> !f
    %d7 = tsr.mul %d4, %both : (!f, !c) -> !f
    %d8 = tsr.mul %d7, %s : (!f, !f) -> !f
    %d9 = tsr.mul %d7, %sq : (!f, !f) -> !f
    %d10 = tsr.add %d6, %d9 : (!f, !f) -> !f
    %d11 = tsr.mul %d8, %s : (!f, !f) -> !f
    %d12 = tsr.add %d10, %d11 : (!f, !f) -> !f
    %g = tsr.add %d11, %d12 : (!f, !f) -> !f
    %low = tsr.cast %g : !f to !h
    %sum = tsr.reduce sum %low over ["batch"] : !h -> !b
    return %low, %sum : !h, !b
  }
}

// -----

!x = !tsr.tensor<[batch: 64, embed: 32], bf16>
!w = !tsr.tensor<[embed: 32, ff: 64], bf16>
!v = !tsr.tensor<[ff: 64, embed: 32], bf16>
!h = !tsr.tensor<[batch: 64, ff: 64], bf16>
!f = !tsr.tensor<[batch: 64, ff: 64], f32>
!y = !tsr.tensor<[batch: 64, embed: 32], bf16>
!c = !tsr.tensor<[], f32>
module attributes {tsr.axes = ["batch", "embed", "ff"], tsr.phase = "layout", tsr.target = "cuda", tsr.device = "a100"} {
  // Before Hopper, GELU is an epilogue only if that is asked for.
  // CHECK-LABEL: func.func @before_hopper
  // CHECK-NOT: epilogue
  // CHECK: return
  func.func @before_hopper(%x: !x, %w: !w, %v: !v) -> !y {
    %cubic = tsr.constant 4.471500e-02 : f32 -> <[], f32>
    %scale = tsr.constant 1.59576917 : f32 -> <[], f32>
    %0 = tsr.contract %x, %w over ["embed"] : (!x, !w) -> !f
    %low = tsr.cast %0 : !f to !h
    %s = tsr.cast %low : !h to !f
    %sq = tsr.mul %s, %s : (!f, !f) -> !f
    %cube = tsr.mul %sq, %s : (!f, !f) -> !f
    %2 = tsr.mul %cube, %cubic : (!f, !c) -> !f
    %3 = tsr.add %s, %2 : (!f, !f) -> !f
    %4 = tsr.mul %3, %scale : (!f, !c) -> !f
    %5 = tsr.sigmoid %4 : !f
    %6 = tsr.mul %s, %5 : (!f, !f) -> !f
    %g = tsr.cast %6 : !f to !h
    %y = tsr.contract %g, %v over ["ff"] : (!h, !v) -> !y
    return %y : !y
  }
}

// -----

!x = !tsr.tensor<[batch: 64, embed: 32], bf16>
!w = !tsr.tensor<[embed: 32, ff: 64], bf16>
!v = !tsr.tensor<[ff: 64, embed: 32], bf16>
!h = !tsr.tensor<[batch: 64, ff: 64], bf16>
!f = !tsr.tensor<[batch: 64, ff: 64], f32>
!y = !tsr.tensor<[batch: 64, embed: 32], bf16>
!c = !tsr.tensor<[], f32>
module attributes {tsr.axes = ["batch", "embed", "ff"], tsr.phase = "layout", tsr.target = "cuda", tsr.device = "a100", tsr.epilogues = "gelu"} {
  // CHECK-LABEL: func.func @asked_for
  // CHECK: tsr.contract %arg0, %arg1 over [embed] epilogue gelu
  func.func @asked_for(%x: !x, %w: !w, %v: !v) -> !y {
    %cubic = tsr.constant 4.471500e-02 : f32 -> <[], f32>
    %scale = tsr.constant 1.59576917 : f32 -> <[], f32>
    %0 = tsr.contract %x, %w over ["embed"] : (!x, !w) -> !f
    %low = tsr.cast %0 : !f to !h
    %s = tsr.cast %low : !h to !f
    %sq = tsr.mul %s, %s : (!f, !f) -> !f
    %cube = tsr.mul %sq, %s : (!f, !f) -> !f
    %2 = tsr.mul %cube, %cubic : (!f, !c) -> !f
    %3 = tsr.add %s, %2 : (!f, !f) -> !f
    %4 = tsr.mul %3, %scale : (!f, !c) -> !f
    %5 = tsr.sigmoid %4 : !f
    %6 = tsr.mul %s, %5 : (!f, !f) -> !f
    %g = tsr.cast %6 : !f to !h
    %y = tsr.contract %g, %v over ["ff"] : (!h, !v) -> !y
    return %y : !y
  }
}
