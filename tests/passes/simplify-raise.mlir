// RUN: tessera-opt %s --tsr-simplify --verify-diagnostics | FileCheck %s

module attributes {tsr.axes = ["batch", "seq", "head", "hd", "key", "in", "vocab"]} {
  // Open-coded softmax, safe against overflow.
  // CHECK-LABEL: @softmax
  func.func @softmax(%x: !tsr.tensor<[batch: 3, in: 4], f32>) -> !tsr.tensor<[batch: 3, in: 4], f32> {
    // CHECK-NEXT: %[[P:.*]] = tsr.softmax %arg0 over in as "p"
    // CHECK-NEXT: return %[[P]]
    %t = tsr.reduce max %x over ["in"] : !tsr.tensor<[batch: 3, in: 4], f32> -> !tsr.tensor<[batch: 3], f32>
    %d = tsr.sub %x, %t : (!tsr.tensor<[batch: 3, in: 4], f32>, !tsr.tensor<[batch: 3], f32>) -> !tsr.tensor<[batch: 3, in: 4], f32>
    %e = tsr.exp %d : !tsr.tensor<[batch: 3, in: 4], f32>
    %s = tsr.reduce sum %e over ["in"] : !tsr.tensor<[batch: 3, in: 4], f32> -> !tsr.tensor<[batch: 3], f32>
    %p = tsr.div %e, %s {tsr.name = "p"} : (!tsr.tensor<[batch: 3, in: 4], f32>, !tsr.tensor<[batch: 3], f32>) -> !tsr.tensor<[batch: 3, in: 4], f32>
    return %p : !tsr.tensor<[batch: 3, in: 4], f32>
  }

  // Guards against rows that are masked throughout are looked through.
  // CHECK-LABEL: @maskedSoftmax
  func.func @maskedSoftmax(%x: !tsr.tensor<[batch: 3, in: 4], f32>) -> !tsr.tensor<[batch: 3, in: 4], f32> {
    // CHECK-NEXT: %[[P:.*]] = tsr.softmax %arg0 over in
    // CHECK-NEXT: return %[[P]]
    %t = tsr.reduce max %x over ["in"] : !tsr.tensor<[batch: 3, in: 4], f32> -> !tsr.tensor<[batch: 3], f32>
    %low = tsr.constant 0xFF800000 : f32 -> !tsr.tensor<[], f32>
    %zero = tsr.constant 0.0 : f32 -> !tsr.tensor<[], f32>
    %one = tsr.constant 1.0 : f32 -> !tsr.tensor<[], f32>
    %masked = tsr.compare eq %low, %t : (!tsr.tensor<[], f32>, !tsr.tensor<[batch: 3], f32>) -> !tsr.tensor<[batch: 3], i1>
    %c = tsr.select %masked, %zero, %t : (!tsr.tensor<[batch: 3], i1>, !tsr.tensor<[], f32>, !tsr.tensor<[batch: 3], f32>) -> !tsr.tensor<[batch: 3], f32>
    %d = tsr.sub %x, %c : (!tsr.tensor<[batch: 3, in: 4], f32>, !tsr.tensor<[batch: 3], f32>) -> !tsr.tensor<[batch: 3, in: 4], f32>
    %e = tsr.exp %d : !tsr.tensor<[batch: 3, in: 4], f32>
    %s = tsr.reduce sum %e over ["in"] : !tsr.tensor<[batch: 3, in: 4], f32> -> !tsr.tensor<[batch: 3], f32>
    %some = tsr.compare ne %s, %zero : (!tsr.tensor<[batch: 3], f32>, !tsr.tensor<[], f32>) -> !tsr.tensor<[batch: 3], i1>
    %n = tsr.select %some, %s, %one : (!tsr.tensor<[batch: 3], i1>, !tsr.tensor<[batch: 3], f32>, !tsr.tensor<[], f32>) -> !tsr.tensor<[batch: 3], f32>
    %i = tsr.div %one, %n : (!tsr.tensor<[], f32>, !tsr.tensor<[batch: 3], f32>) -> !tsr.tensor<[batch: 3], f32>
    %p = tsr.mul %i, %e : (!tsr.tensor<[batch: 3], f32>, !tsr.tensor<[batch: 3, in: 4], f32>) -> !tsr.tensor<[batch: 3, in: 4], f32>
    return %p : !tsr.tensor<[batch: 3, in: 4], f32>
  }

  // A sum over another axis is no softmax.
  // CHECK-LABEL: @notSoftmax
  func.func @notSoftmax(%x: !tsr.tensor<[batch: 4, in: 4], f32>, %y: !tsr.tensor<[batch: 4, in: 4], f32>) -> !tsr.tensor<[batch: 4, in: 4], f32> {
    // CHECK-NOT: tsr.softmax
    // CHECK: return
    %e = tsr.exp %x : !tsr.tensor<[batch: 4, in: 4], f32>
    %f = tsr.exp %y : !tsr.tensor<[batch: 4, in: 4], f32>
    %s = tsr.reduce sum %f over ["in"] : !tsr.tensor<[batch: 4, in: 4], f32> -> !tsr.tensor<[batch: 4], f32>
    %p = tsr.div %e, %s : (!tsr.tensor<[batch: 4, in: 4], f32>, !tsr.tensor<[batch: 4], f32>) -> !tsr.tensor<[batch: 4, in: 4], f32>
    return %p : !tsr.tensor<[batch: 4, in: 4], f32>
  }

  // Layer norm by division by the square root; the gain stays outside.
  // CHECK-LABEL: @layerNorm
  func.func @layerNorm(%x: !tsr.tensor<[batch: 3, in: 4], f32>, %g: !tsr.tensor<[in: 4], f32>) -> !tsr.tensor<[batch: 3, in: 4], f32> {
    // CHECK-NEXT: %[[N:.*]]:2 = tsr.layer_norm %arg0 over [in] epsilon 9.99
    // CHECK-NEXT: %[[G:.*]] = tsr.mul %[[N]]#0, %arg1
    // CHECK-NEXT: return %[[G]]
    %four = tsr.constant 4.0 : f32 -> !tsr.tensor<[], f32>
    %eps = tsr.constant 1.0e-5 : f32 -> !tsr.tensor<[], f32>
    %two = tsr.constant 2.0 : f32 -> !tsr.tensor<[], f32>
    %s = tsr.reduce sum %x over ["in"] : !tsr.tensor<[batch: 3, in: 4], f32> -> !tsr.tensor<[batch: 3], f32>
    %m = tsr.div %s, %four : (!tsr.tensor<[batch: 3], f32>, !tsr.tensor<[], f32>) -> !tsr.tensor<[batch: 3], f32>
    %c = tsr.sub %x, %m : (!tsr.tensor<[batch: 3, in: 4], f32>, !tsr.tensor<[batch: 3], f32>) -> !tsr.tensor<[batch: 3, in: 4], f32>
    %q = tsr.pow %c, %two : (!tsr.tensor<[batch: 3, in: 4], f32>, !tsr.tensor<[], f32>) -> !tsr.tensor<[batch: 3, in: 4], f32>
    %v = tsr.reduce sum %q over ["in"] : !tsr.tensor<[batch: 3, in: 4], f32> -> !tsr.tensor<[batch: 3], f32>
    %w = tsr.div %v, %four : (!tsr.tensor<[batch: 3], f32>, !tsr.tensor<[], f32>) -> !tsr.tensor<[batch: 3], f32>
    %e = tsr.add %eps, %w : (!tsr.tensor<[], f32>, !tsr.tensor<[batch: 3], f32>) -> !tsr.tensor<[batch: 3], f32>
    %r = tsr.sqrt %e : !tsr.tensor<[batch: 3], f32>
    %n = tsr.div %c, %r : (!tsr.tensor<[batch: 3, in: 4], f32>, !tsr.tensor<[batch: 3], f32>) -> !tsr.tensor<[batch: 3, in: 4], f32>
    %o = tsr.mul %n, %g : (!tsr.tensor<[batch: 3, in: 4], f32>, !tsr.tensor<[in: 4], f32>) -> !tsr.tensor<[batch: 3, in: 4], f32>
    return %o : !tsr.tensor<[batch: 3, in: 4], f32>
  }

  // Layer norm in which rstd is multiplied by the gain first.
  // CHECK-LABEL: @layerNormRegrouped
  func.func @layerNormRegrouped(%x: !tsr.tensor<[batch: 3, in: 4], f32>, %g: !tsr.tensor<[in: 4], f32>) -> !tsr.tensor<[batch: 3, in: 4], f32> {
    // CHECK: %[[N:.*]]:2 = tsr.layer_norm
    // CHECK: tsr.mul %[[N]]#0, %arg1
    %quarter = tsr.constant 0.25 : f32 -> !tsr.tensor<[], f32>
    %eps = tsr.constant 1.0e-5 : f32 -> !tsr.tensor<[], f32>
    %s = tsr.reduce sum %x over ["in"] : !tsr.tensor<[batch: 3, in: 4], f32> -> !tsr.tensor<[batch: 3], f32>
    %m = tsr.mul %s, %quarter : (!tsr.tensor<[batch: 3], f32>, !tsr.tensor<[], f32>) -> !tsr.tensor<[batch: 3], f32>
    %c = tsr.sub %x, %m : (!tsr.tensor<[batch: 3, in: 4], f32>, !tsr.tensor<[batch: 3], f32>) -> !tsr.tensor<[batch: 3, in: 4], f32>
    %q = tsr.mul %c, %c : (!tsr.tensor<[batch: 3, in: 4], f32>, !tsr.tensor<[batch: 3, in: 4], f32>) -> !tsr.tensor<[batch: 3, in: 4], f32>
    %v = tsr.reduce sum %q over ["in"] : !tsr.tensor<[batch: 3, in: 4], f32> -> !tsr.tensor<[batch: 3], f32>
    %w = tsr.mul %v, %quarter : (!tsr.tensor<[batch: 3], f32>, !tsr.tensor<[], f32>) -> !tsr.tensor<[batch: 3], f32>
    %e = tsr.add %w, %eps : (!tsr.tensor<[batch: 3], f32>, !tsr.tensor<[], f32>) -> !tsr.tensor<[batch: 3], f32>
    %r = tsr.rsqrt %e : !tsr.tensor<[batch: 3], f32>
    %rg = tsr.mul %g, %r : (!tsr.tensor<[in: 4], f32>, !tsr.tensor<[batch: 3], f32>) -> !tsr.tensor<[batch: 3, in: 4], f32>
    %n = tsr.mul %rg, %c : (!tsr.tensor<[batch: 3, in: 4], f32>, !tsr.tensor<[batch: 3, in: 4], f32>) -> !tsr.tensor<[batch: 3, in: 4], f32>
    return %n : !tsr.tensor<[batch: 3, in: 4], f32>
  }

  // log(sum(exp(x - top))) + top - x[label]
  // CHECK-LABEL: @crossEntropy
  func.func @crossEntropy(%x: !tsr.tensor<[batch: 3, vocab: 9], f32>, %label: !tsr.tensor<[batch: 3], i32>) -> !tsr.tensor<[batch: 3], f32> {
    // CHECK-NEXT: %[[L:.*]]:3 = tsr.cross_entropy %arg0, %arg1 over vocab
    // CHECK-NEXT: return %[[L]]#0
    %t = tsr.reduce max %x over ["vocab"] : !tsr.tensor<[batch: 3, vocab: 9], f32> -> !tsr.tensor<[batch: 3], f32>
    %d = tsr.sub %x, %t : (!tsr.tensor<[batch: 3, vocab: 9], f32>, !tsr.tensor<[batch: 3], f32>) -> !tsr.tensor<[batch: 3, vocab: 9], f32>
    %e = tsr.exp %d : !tsr.tensor<[batch: 3, vocab: 9], f32>
    %s = tsr.reduce sum %e over ["vocab"] : !tsr.tensor<[batch: 3, vocab: 9], f32> -> !tsr.tensor<[batch: 3], f32>
    %l = tsr.log %s : !tsr.tensor<[batch: 3], f32>
    %lse = tsr.add %l, %t : (!tsr.tensor<[batch: 3], f32>, !tsr.tensor<[batch: 3], f32>) -> !tsr.tensor<[batch: 3], f32>
    %g = tsr.gather %x[["vocab"] = %label] : (!tsr.tensor<[batch: 3, vocab: 9], f32>, !tsr.tensor<[batch: 3], i32>) -> !tsr.tensor<[batch: 3], f32>
    %o = tsr.sub %lse, %g : (!tsr.tensor<[batch: 3], f32>, !tsr.tensor<[batch: 3], f32>) -> !tsr.tensor<[batch: 3], f32>
    return %o : !tsr.tensor<[batch: 3], f32>
  }

  // The negative of log softmax at the label.
  // CHECK-LABEL: @pickedLogSoftmax
  func.func @pickedLogSoftmax(%x: !tsr.tensor<[batch: 3, vocab: 9], f32>, %label: !tsr.tensor<[batch: 3], i32>) -> !tsr.tensor<[batch: 3], f32> {
    // CHECK-NEXT: %[[L:.*]]:3 = tsr.cross_entropy %arg0, %arg1 over vocab
    // CHECK-NEXT: return %[[L]]#0
    %t = tsr.reduce max %x over ["vocab"] : !tsr.tensor<[batch: 3, vocab: 9], f32> -> !tsr.tensor<[batch: 3], f32>
    %d = tsr.sub %x, %t : (!tsr.tensor<[batch: 3, vocab: 9], f32>, !tsr.tensor<[batch: 3], f32>) -> !tsr.tensor<[batch: 3, vocab: 9], f32>
    %e = tsr.exp %d : !tsr.tensor<[batch: 3, vocab: 9], f32>
    %s = tsr.reduce sum %e over ["vocab"] : !tsr.tensor<[batch: 3, vocab: 9], f32> -> !tsr.tensor<[batch: 3], f32>
    %l = tsr.log %s : !tsr.tensor<[batch: 3], f32>
    %ls = tsr.sub %d, %l : (!tsr.tensor<[batch: 3, vocab: 9], f32>, !tsr.tensor<[batch: 3], f32>) -> !tsr.tensor<[batch: 3, vocab: 9], f32>
    %g = tsr.gather %ls[["vocab"] = %label] : (!tsr.tensor<[batch: 3, vocab: 9], f32>, !tsr.tensor<[batch: 3], i32>) -> !tsr.tensor<[batch: 3], f32>
    %o = tsr.neg %g : !tsr.tensor<[batch: 3], f32>
    return %o : !tsr.tensor<[batch: 3], f32>
  }

  // A causal mask and a bias per head: the chain moves into the region, positions with it, the bias is captured.
  // CHECK-LABEL: @attention
  func.func @attention(%q: !tsr.tensor<[seq: 5, head: 2, hd: 4], f32>, %k: !tsr.tensor<[head: 2, hd: 4, key: 5], f32>, %v: !tsr.tensor<[head: 2, hd: 4, key: 5], f32>, %b: !tsr.tensor<[head: 2], f32>) -> !tsr.tensor<[seq: 5, head: 2, hd: 4], f32> {
    // CHECK-NEXT: %[[O:.*]]:3 = tsr.attention %arg0, %arg1, %arg2 captures %arg3 hidden [hd] key key
    // CHECK-NEXT: ^bb0(%[[S:.*]]: !tsr.tensor<[seq: 5, head: 2, key: 5], f32>, %[[B:.*]]: !tsr.tensor<[head: 2], f32>):
    // CHECK: tsr.mul %[[S]]
    // CHECK: tsr.add %{{.*}}, %[[B]]
    // CHECK: tsr.compare le
    // CHECK: tsr.select
    // CHECK-NEXT: tsr.yield
    // CHECK: return %[[O]]#0
    %two = tsr.constant 2.0 : f32 -> !tsr.tensor<[], f32>
    %low = tsr.constant 0xFF800000 : f32 -> !tsr.tensor<[], f32>
    %s = tsr.contract %k, %q over ["hd"] : (!tsr.tensor<[head: 2, hd: 4, key: 5], f32>, !tsr.tensor<[seq: 5, head: 2, hd: 4], f32>) -> !tsr.tensor<[seq: 5, head: 2, key: 5], f32>
    %t = tsr.div %s, %two : (!tsr.tensor<[seq: 5, head: 2, key: 5], f32>, !tsr.tensor<[], f32>) -> !tsr.tensor<[seq: 5, head: 2, key: 5], f32>
    %u = tsr.add %t, %b : (!tsr.tensor<[seq: 5, head: 2, key: 5], f32>, !tsr.tensor<[head: 2], f32>) -> !tsr.tensor<[seq: 5, head: 2, key: 5], f32>
    %pk = tsr.index : !tsr.tensor<[key: 5], i32>
    %ps = tsr.index : !tsr.tensor<[seq: 5], i32>
    %c = tsr.compare le %pk, %ps : (!tsr.tensor<[key: 5], i32>, !tsr.tensor<[seq: 5], i32>) -> !tsr.tensor<[seq: 5, key: 5], i1>
    %m = tsr.select %c, %u, %low : (!tsr.tensor<[seq: 5, key: 5], i1>, !tsr.tensor<[seq: 5, head: 2, key: 5], f32>, !tsr.tensor<[], f32>) -> !tsr.tensor<[seq: 5, head: 2, key: 5], f32>
    %p = tsr.softmax %m over "key" : !tsr.tensor<[seq: 5, head: 2, key: 5], f32>
    %o = tsr.contract %p, %v over ["key"] : (!tsr.tensor<[seq: 5, head: 2, key: 5], f32>, !tsr.tensor<[head: 2, hd: 4, key: 5], f32>) -> !tsr.tensor<[seq: 5, head: 2, hd: 4], f32>
    return %o : !tsr.tensor<[seq: 5, head: 2, hd: 4], f32>
  }

  // Dropout: what scales the probabilities moves into a second region, the draw with it; both regions take all captures.
  // CHECK-LABEL: @dropout
  func.func @dropout(%q: !tsr.tensor<[seq: 5, hd: 4], f32>, %k: !tsr.tensor<[hd: 4, key: 5], f32>, %v: !tsr.tensor<[hd: 4, key: 5], f32>, %b: !tsr.tensor<[key: 5], f32>, %seed: !tsr.tensor<[], i64>, %step: !tsr.tensor<[], i32>) -> !tsr.tensor<[seq: 5, hd: 4], f32> {
    // CHECK-NEXT: %[[O:.*]]:3 = tsr.attention %arg0, %arg1, %arg2 captures %arg3, %arg4, %arg5 hidden [hd] key key
    // CHECK-NEXT: ^bb0(%[[S:.*]]: !tsr.tensor<[seq: 5, key: 5], f32>, %[[B:.*]]: !tsr.tensor<[key: 5], f32>, %{{.*}}: !tsr.tensor<[], i64>, %{{.*}}: !tsr.tensor<[], i32>):
    // CHECK-NEXT: tsr.add %[[S]], %[[B]]
    // CHECK-NEXT: tsr.yield
    // CHECK-NEXT: } weight {
    // CHECK-NEXT: ^bb0(%[[P:.*]]: !tsr.tensor<[seq: 5, key: 5], f32>, %{{.*}}: !tsr.tensor<[key: 5], f32>, %[[SEED:.*]]: !tsr.tensor<[], i64>, %[[STEP:.*]]: !tsr.tensor<[], i32>):
    // CHECK: tsr.mul %[[P]]
    // CHECK: tsr.random uniform site 7 seed %[[SEED]] step %[[STEP]]
    // CHECK: tsr.select
    // CHECK-NEXT: tsr.yield
    // CHECK: return %[[O]]#0
    %zero = tsr.constant 0.0 : f32 -> !tsr.tensor<[], f32>
    %rate = tsr.constant 0.2 : f32 -> !tsr.tensor<[], f32>
    %more = tsr.constant 1.25 : f32 -> !tsr.tensor<[], f32>
    %s0 = tsr.contract %q, %k over ["hd"] : (!tsr.tensor<[seq: 5, hd: 4], f32>, !tsr.tensor<[hd: 4, key: 5], f32>) -> !tsr.tensor<[seq: 5, key: 5], f32>
    %s = tsr.add %s0, %b : (!tsr.tensor<[seq: 5, key: 5], f32>, !tsr.tensor<[key: 5], f32>) -> !tsr.tensor<[seq: 5, key: 5], f32>
    %p = tsr.softmax %s over "key" : !tsr.tensor<[seq: 5, key: 5], f32>
    %u = tsr.random uniform site 7 seed %seed step %step : (!tsr.tensor<[], i64>, !tsr.tensor<[], i32>) -> !tsr.tensor<[seq: 5, key: 5], f32>
    %drop = tsr.compare lt %u, %rate : (!tsr.tensor<[seq: 5, key: 5], f32>, !tsr.tensor<[], f32>) -> !tsr.tensor<[seq: 5, key: 5], i1>
    %m = tsr.mul %p, %more : (!tsr.tensor<[seq: 5, key: 5], f32>, !tsr.tensor<[], f32>) -> !tsr.tensor<[seq: 5, key: 5], f32>
    %d = tsr.select %drop, %zero, %m : (!tsr.tensor<[seq: 5, key: 5], i1>, !tsr.tensor<[], f32>, !tsr.tensor<[seq: 5, key: 5], f32>) -> !tsr.tensor<[seq: 5, key: 5], f32>
    %o = tsr.contract %d, %v over ["key"] : (!tsr.tensor<[seq: 5, key: 5], f32>, !tsr.tensor<[hd: 4, key: 5], f32>) -> !tsr.tensor<[seq: 5, hd: 4], f32>
    return %o : !tsr.tensor<[seq: 5, hd: 4], f32>
  }

  // An addition to the probabilities is no scaling: a remark says that this is no attention.
  // CHECK-LABEL: @added
  func.func @added(%q: !tsr.tensor<[seq: 5, hd: 4], f32>, %k: !tsr.tensor<[hd: 4, key: 5], f32>, %v: !tsr.tensor<[hd: 4, key: 5], f32>, %b: !tsr.tensor<[key: 5], f32>) -> !tsr.tensor<[seq: 5, hd: 4], f32> {
    // CHECK: tsr.softmax
    // CHECK-NOT: tsr.attention
    %s = tsr.contract %q, %k over ["hd"] : (!tsr.tensor<[seq: 5, hd: 4], f32>, !tsr.tensor<[hd: 4, key: 5], f32>) -> !tsr.tensor<[seq: 5, key: 5], f32>
    %p = tsr.softmax %s over "key" : !tsr.tensor<[seq: 5, key: 5], f32>
    %d = tsr.add %p, %b : (!tsr.tensor<[seq: 5, key: 5], f32>, !tsr.tensor<[key: 5], f32>) -> !tsr.tensor<[seq: 5, key: 5], f32>
    // expected-remark @+1 {{not raised to attention: an op other than a scaling is between the softmax and the contraction with the values}}
    %o = tsr.contract %d, %v over ["key"] : (!tsr.tensor<[seq: 5, key: 5], f32>, !tsr.tensor<[hd: 4, key: 5], f32>) -> !tsr.tensor<[seq: 5, hd: 4], f32>
    return %o : !tsr.tensor<[seq: 5, hd: 4], f32>
  }

  // Probabilities that are a result themselves keep their softmax.
  // CHECK-LABEL: @probabilitiesUsed
  func.func @probabilitiesUsed(%q: !tsr.tensor<[seq: 5, hd: 4], f32>, %k: !tsr.tensor<[hd: 4, key: 5], f32>, %v: !tsr.tensor<[hd: 4, key: 5], f32>) -> (!tsr.tensor<[seq: 5, hd: 4], f32>, !tsr.tensor<[seq: 5, key: 5], f32>) {
    // CHECK: tsr.softmax
    // CHECK-NOT: tsr.attention
    %s = tsr.contract %q, %k over ["hd"] : (!tsr.tensor<[seq: 5, hd: 4], f32>, !tsr.tensor<[hd: 4, key: 5], f32>) -> !tsr.tensor<[seq: 5, key: 5], f32>
    %p = tsr.softmax %s over "key" : !tsr.tensor<[seq: 5, key: 5], f32>
    // expected-remark @+1 {{not raised to attention: scores or probabilities are used elsewhere}}
    %o = tsr.contract %p, %v over ["key"] : (!tsr.tensor<[seq: 5, key: 5], f32>, !tsr.tensor<[hd: 4, key: 5], f32>) -> !tsr.tensor<[seq: 5, hd: 4], f32>
    return %o, %p : !tsr.tensor<[seq: 5, hd: 4], f32>, !tsr.tensor<[seq: 5, key: 5], f32>
  }

  // The probabilities are also the values: an attention would read what it replaces.
  // CHECK-LABEL: @probabilitiesAreValues
  func.func @probabilitiesAreValues(%q: !tsr.tensor<[seq: 5, hd: 4], f32>, %k: !tsr.tensor<[hd: 4, key: 5], f32>, %b: !tsr.tensor<[key: 5], f32>) -> (!tsr.tensor<[seq: 5], f32>, !tsr.tensor<[seq: 5], f32>) {
    // CHECK-COUNT-2: tsr.softmax
    // CHECK-NOT: tsr.attention
    %s = tsr.contract %q, %k over ["hd"] : (!tsr.tensor<[seq: 5, hd: 4], f32>, !tsr.tensor<[hd: 4, key: 5], f32>) -> !tsr.tensor<[seq: 5, key: 5], f32>
    %p = tsr.softmax %s over "key" : !tsr.tensor<[seq: 5, key: 5], f32>
    // expected-remark @+1 {{not raised to attention: scores or probabilities are used elsewhere}}
    %o = tsr.contract %p, %p over ["key"] : (!tsr.tensor<[seq: 5, key: 5], f32>, !tsr.tensor<[seq: 5, key: 5], f32>) -> !tsr.tensor<[seq: 5], f32>
    %t = tsr.mul %s, %b : (!tsr.tensor<[seq: 5, key: 5], f32>, !tsr.tensor<[key: 5], f32>) -> !tsr.tensor<[seq: 5, key: 5], f32>
    %r = tsr.softmax %t over "key" : !tsr.tensor<[seq: 5, key: 5], f32>
    %d = tsr.mul %r, %b : (!tsr.tensor<[seq: 5, key: 5], f32>, !tsr.tensor<[key: 5], f32>) -> !tsr.tensor<[seq: 5, key: 5], f32>
    // expected-remark @+1 {{not raised to attention: scores or probabilities are used elsewhere}}
    %w = tsr.contract %d, %r over ["key"] : (!tsr.tensor<[seq: 5, key: 5], f32>, !tsr.tensor<[seq: 5, key: 5], f32>) -> !tsr.tensor<[seq: 5], f32>
    return %o, %w : !tsr.tensor<[seq: 5], f32>, !tsr.tensor<[seq: 5], f32>
  }

  // A guard that adds an axis is not looked through.
  // CHECK-LABEL: @guardWithAxes
  func.func @guardWithAxes(%x: !tsr.tensor<[in: 4], f32>, %y: !tsr.tensor<[batch: 3], f32>) -> !tsr.tensor<[batch: 3, in: 4], f32> {
    // CHECK-NOT: tsr.softmax
    // CHECK: return
    %zero = tsr.constant 0.0 : f32 -> !tsr.tensor<[], f32>
    %e = tsr.exp %x : !tsr.tensor<[in: 4], f32>
    %s = tsr.reduce sum %e over ["in"] : !tsr.tensor<[in: 4], f32> -> !tsr.tensor<[], f32>
    %none = tsr.compare eq %s, %zero : (!tsr.tensor<[], f32>, !tsr.tensor<[], f32>) -> !tsr.tensor<[], i1>
    %n = tsr.select %none, %y, %s : (!tsr.tensor<[], i1>, !tsr.tensor<[batch: 3], f32>, !tsr.tensor<[], f32>) -> !tsr.tensor<[batch: 3], f32>
    %p = tsr.div %e, %n : (!tsr.tensor<[in: 4], f32>, !tsr.tensor<[batch: 3], f32>) -> !tsr.tensor<[batch: 3, in: 4], f32>
    return %p : !tsr.tensor<[batch: 3, in: 4], f32>
  }

  // Each op of a mask's arithmetic is visited once, however often it is used.
  // CHECK-LABEL: @deepMask
  func.func @deepMask(%q: !tsr.tensor<[seq: 5, hd: 4], f32>, %k: !tsr.tensor<[hd: 4, key: 5], f32>, %v: !tsr.tensor<[hd: 4, key: 5], f32>) -> !tsr.tensor<[seq: 5, hd: 4], f32> {
    // CHECK: tsr.attention
    %zero = tsr.constant 0 : i32 -> !tsr.tensor<[], i32>
    %low = tsr.constant 0xFF800000 : f32 -> !tsr.tensor<[], f32>
    %a0 = tsr.index : !tsr.tensor<[key: 5], i32>
    %a1 = tsr.add %a0, %a0 : (!tsr.tensor<[key: 5], i32>, !tsr.tensor<[key: 5], i32>) -> !tsr.tensor<[key: 5], i32>
    %a2 = tsr.add %a1, %a1 : (!tsr.tensor<[key: 5], i32>, !tsr.tensor<[key: 5], i32>) -> !tsr.tensor<[key: 5], i32>
    %a3 = tsr.add %a2, %a2 : (!tsr.tensor<[key: 5], i32>, !tsr.tensor<[key: 5], i32>) -> !tsr.tensor<[key: 5], i32>
    %a4 = tsr.add %a3, %a3 : (!tsr.tensor<[key: 5], i32>, !tsr.tensor<[key: 5], i32>) -> !tsr.tensor<[key: 5], i32>
    %a5 = tsr.add %a4, %a4 : (!tsr.tensor<[key: 5], i32>, !tsr.tensor<[key: 5], i32>) -> !tsr.tensor<[key: 5], i32>
    %a6 = tsr.add %a5, %a5 : (!tsr.tensor<[key: 5], i32>, !tsr.tensor<[key: 5], i32>) -> !tsr.tensor<[key: 5], i32>
    %a7 = tsr.add %a6, %a6 : (!tsr.tensor<[key: 5], i32>, !tsr.tensor<[key: 5], i32>) -> !tsr.tensor<[key: 5], i32>
    %a8 = tsr.add %a7, %a7 : (!tsr.tensor<[key: 5], i32>, !tsr.tensor<[key: 5], i32>) -> !tsr.tensor<[key: 5], i32>
    %a9 = tsr.add %a8, %a8 : (!tsr.tensor<[key: 5], i32>, !tsr.tensor<[key: 5], i32>) -> !tsr.tensor<[key: 5], i32>
    %a10 = tsr.add %a9, %a9 : (!tsr.tensor<[key: 5], i32>, !tsr.tensor<[key: 5], i32>) -> !tsr.tensor<[key: 5], i32>
    %a11 = tsr.add %a10, %a10 : (!tsr.tensor<[key: 5], i32>, !tsr.tensor<[key: 5], i32>) -> !tsr.tensor<[key: 5], i32>
    %a12 = tsr.add %a11, %a11 : (!tsr.tensor<[key: 5], i32>, !tsr.tensor<[key: 5], i32>) -> !tsr.tensor<[key: 5], i32>
    %a13 = tsr.add %a12, %a12 : (!tsr.tensor<[key: 5], i32>, !tsr.tensor<[key: 5], i32>) -> !tsr.tensor<[key: 5], i32>
    %a14 = tsr.add %a13, %a13 : (!tsr.tensor<[key: 5], i32>, !tsr.tensor<[key: 5], i32>) -> !tsr.tensor<[key: 5], i32>
    %a15 = tsr.add %a14, %a14 : (!tsr.tensor<[key: 5], i32>, !tsr.tensor<[key: 5], i32>) -> !tsr.tensor<[key: 5], i32>
    %a16 = tsr.add %a15, %a15 : (!tsr.tensor<[key: 5], i32>, !tsr.tensor<[key: 5], i32>) -> !tsr.tensor<[key: 5], i32>
    %a17 = tsr.add %a16, %a16 : (!tsr.tensor<[key: 5], i32>, !tsr.tensor<[key: 5], i32>) -> !tsr.tensor<[key: 5], i32>
    %a18 = tsr.add %a17, %a17 : (!tsr.tensor<[key: 5], i32>, !tsr.tensor<[key: 5], i32>) -> !tsr.tensor<[key: 5], i32>
    %a19 = tsr.add %a18, %a18 : (!tsr.tensor<[key: 5], i32>, !tsr.tensor<[key: 5], i32>) -> !tsr.tensor<[key: 5], i32>
    %a20 = tsr.add %a19, %a19 : (!tsr.tensor<[key: 5], i32>, !tsr.tensor<[key: 5], i32>) -> !tsr.tensor<[key: 5], i32>
    %a21 = tsr.add %a20, %a20 : (!tsr.tensor<[key: 5], i32>, !tsr.tensor<[key: 5], i32>) -> !tsr.tensor<[key: 5], i32>
    %a22 = tsr.add %a21, %a21 : (!tsr.tensor<[key: 5], i32>, !tsr.tensor<[key: 5], i32>) -> !tsr.tensor<[key: 5], i32>
    %a23 = tsr.add %a22, %a22 : (!tsr.tensor<[key: 5], i32>, !tsr.tensor<[key: 5], i32>) -> !tsr.tensor<[key: 5], i32>
    %a24 = tsr.add %a23, %a23 : (!tsr.tensor<[key: 5], i32>, !tsr.tensor<[key: 5], i32>) -> !tsr.tensor<[key: 5], i32>
    %a25 = tsr.add %a24, %a24 : (!tsr.tensor<[key: 5], i32>, !tsr.tensor<[key: 5], i32>) -> !tsr.tensor<[key: 5], i32>
    %a26 = tsr.add %a25, %a25 : (!tsr.tensor<[key: 5], i32>, !tsr.tensor<[key: 5], i32>) -> !tsr.tensor<[key: 5], i32>
    %a27 = tsr.add %a26, %a26 : (!tsr.tensor<[key: 5], i32>, !tsr.tensor<[key: 5], i32>) -> !tsr.tensor<[key: 5], i32>
    %a28 = tsr.add %a27, %a27 : (!tsr.tensor<[key: 5], i32>, !tsr.tensor<[key: 5], i32>) -> !tsr.tensor<[key: 5], i32>
    %a29 = tsr.add %a28, %a28 : (!tsr.tensor<[key: 5], i32>, !tsr.tensor<[key: 5], i32>) -> !tsr.tensor<[key: 5], i32>
    %a30 = tsr.add %a29, %a29 : (!tsr.tensor<[key: 5], i32>, !tsr.tensor<[key: 5], i32>) -> !tsr.tensor<[key: 5], i32>
    %a31 = tsr.add %a30, %a30 : (!tsr.tensor<[key: 5], i32>, !tsr.tensor<[key: 5], i32>) -> !tsr.tensor<[key: 5], i32>
    %a32 = tsr.add %a31, %a31 : (!tsr.tensor<[key: 5], i32>, !tsr.tensor<[key: 5], i32>) -> !tsr.tensor<[key: 5], i32>
    %a33 = tsr.add %a32, %a32 : (!tsr.tensor<[key: 5], i32>, !tsr.tensor<[key: 5], i32>) -> !tsr.tensor<[key: 5], i32>
    %a34 = tsr.add %a33, %a33 : (!tsr.tensor<[key: 5], i32>, !tsr.tensor<[key: 5], i32>) -> !tsr.tensor<[key: 5], i32>
    %a35 = tsr.add %a34, %a34 : (!tsr.tensor<[key: 5], i32>, !tsr.tensor<[key: 5], i32>) -> !tsr.tensor<[key: 5], i32>
    %a36 = tsr.add %a35, %a35 : (!tsr.tensor<[key: 5], i32>, !tsr.tensor<[key: 5], i32>) -> !tsr.tensor<[key: 5], i32>
    %a37 = tsr.add %a36, %a36 : (!tsr.tensor<[key: 5], i32>, !tsr.tensor<[key: 5], i32>) -> !tsr.tensor<[key: 5], i32>
    %a38 = tsr.add %a37, %a37 : (!tsr.tensor<[key: 5], i32>, !tsr.tensor<[key: 5], i32>) -> !tsr.tensor<[key: 5], i32>
    %a39 = tsr.add %a38, %a38 : (!tsr.tensor<[key: 5], i32>, !tsr.tensor<[key: 5], i32>) -> !tsr.tensor<[key: 5], i32>
    %a40 = tsr.add %a39, %a39 : (!tsr.tensor<[key: 5], i32>, !tsr.tensor<[key: 5], i32>) -> !tsr.tensor<[key: 5], i32>
    %c = tsr.compare eq %a40, %zero : (!tsr.tensor<[key: 5], i32>, !tsr.tensor<[], i32>) -> !tsr.tensor<[key: 5], i1>
    %s = tsr.contract %q, %k over ["hd"] : (!tsr.tensor<[seq: 5, hd: 4], f32>, !tsr.tensor<[hd: 4, key: 5], f32>) -> !tsr.tensor<[seq: 5, key: 5], f32>
    %m = tsr.select %c, %s, %low : (!tsr.tensor<[key: 5], i1>, !tsr.tensor<[seq: 5, key: 5], f32>, !tsr.tensor<[], f32>) -> !tsr.tensor<[seq: 5, key: 5], f32>
    %p = tsr.softmax %m over "key" : !tsr.tensor<[seq: 5, key: 5], f32>
    %o = tsr.contract %p, %v over ["key"] : (!tsr.tensor<[seq: 5, key: 5], f32>, !tsr.tensor<[hd: 4, key: 5], f32>) -> !tsr.tensor<[seq: 5, hd: 4], f32>
    return %o : !tsr.tensor<[seq: 5, hd: 4], f32>
  }
}
