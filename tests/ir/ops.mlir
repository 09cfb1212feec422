// RUN: tessera-opt %s | FileCheck %s
// RUN: tessera-opt %s --mlir-print-op-generic | tessera-opt | FileCheck %s

// Every op parses, verifies and prints as it stands here.

module attributes {tsr.axes = ["layer", "batch", "head", "seq", "key", "in", "out", "vocab"]} {
  // CHECK: tsr.state @w "weight" !tsr.tensor<[in: 4, out: 2], f32>
  tsr.state @w "weight" !tsr.tensor<[in: 4, out: 2], f32>
  // CHECK: tsr.state @b "bias" !tsr.tensor<[out: 2], f32> at <1024>
  tsr.state @b "bias" !tsr.tensor<[out: 2], f32> at <1024>
  // CHECK: tsr.state @c "counter" !tsr.tensor<[], i32> at <64, [8, 16]>
  tsr.state @c "counter" !tsr.tensor<[], i32> at <64, [8, 16]>

  // Elementwise ops broadcast by name.
  // CHECK-LABEL: func.func @elementwise
  func.func @elementwise(%x: !tsr.tensor<[batch: 3], f32>, %y: !tsr.tensor<[in: 4], f32>, %n: !tsr.tensor<[batch: 3], i32>) {
    // CHECK: %[[NEG:.*]] = tsr.neg %arg0 : <[batch: 3], f32>
    %neg = tsr.neg %x : !tsr.tensor<[batch: 3], f32>
    // CHECK: tsr.exp %[[NEG]] : <[batch: 3], f32>
    %exp = tsr.exp %neg : !tsr.tensor<[batch: 3], f32>
    // CHECK: tsr.add %arg0, %arg1 : <[batch: 3], f32>, <[in: 4], f32> -> <[batch: 3, in: 4], f32>
    %add = tsr.add %x, %y : (!tsr.tensor<[batch: 3], f32>, !tsr.tensor<[in: 4], f32>) -> !tsr.tensor<[batch: 3, in: 4], f32>
    // CHECK: tsr.floordiv %arg2, %arg2
    %div = tsr.floordiv %n, %n : (!tsr.tensor<[batch: 3], i32>, !tsr.tensor<[batch: 3], i32>) -> !tsr.tensor<[batch: 3], i32>
    // CHECK: %[[LESS:.*]] = tsr.compare lt %arg0, %arg1 :
    %less = tsr.compare lt %x, %y : (!tsr.tensor<[batch: 3], f32>, !tsr.tensor<[in: 4], f32>) -> !tsr.tensor<[batch: 3, in: 4], i1>
    // CHECK: tsr.not %[[LESS]] : <[batch: 3, in: 4], i1>
    %not = tsr.not %less : !tsr.tensor<[batch: 3, in: 4], i1>
    // CHECK: tsr.select %[[LESS]], %arg0, %arg1 :
    %select = tsr.select %less, %x, %y : (!tsr.tensor<[batch: 3, in: 4], i1>, !tsr.tensor<[batch: 3], f32>, !tsr.tensor<[in: 4], f32>) -> !tsr.tensor<[batch: 3, in: 4], f32>
    // CHECK: tsr.stop %arg0 : <[batch: 3], f32>
    %stop = tsr.stop %x : !tsr.tensor<[batch: 3], f32>
    // CHECK: tsr.cast %arg0 : <[batch: 3], f32> to <[batch: 3], bf16>
    %cast = tsr.cast %x : !tsr.tensor<[batch: 3], f32> to !tsr.tensor<[batch: 3], bf16>
    return
  }

  // CHECK-LABEL: func.func @sources
  func.func @sources(%seed: !tsr.tensor<[], i64>, %step: !tsr.tensor<[], i32>, %salt: !tsr.tensor<[], i32>) {
    // CHECK: tsr.constant 0.5 -> <[batch: 3], f32>
    %half = tsr.constant 0.5 : f32 -> !tsr.tensor<[batch: 3], f32>
    // CHECK: tsr.constant true{{$}}
    %true = tsr.constant true -> !tsr.tensor<[], i1>
    // CHECK: tsr.index : <[seq: 5], i32>
    %index = tsr.index : !tsr.tensor<[seq: 5], i32>
    // CHECK: tsr.random uniform site 3 seed %arg0 step %arg1 : (!tsr.tensor<[], i64>, !tsr.tensor<[], i32>) -> !tsr.tensor<[batch: 3], f32>
    %uniform = tsr.random uniform site 3 seed %seed step %step : (!tsr.tensor<[], i64>, !tsr.tensor<[], i32>) -> !tsr.tensor<[batch: 3], f32>
    // CHECK: tsr.random normal site 4 seed %arg0 step %arg1 salts %arg2 canonical [batch, in]
    %normal = tsr.random normal site 4 seed %seed step %step salts %salt {canonical = ["batch", "in"]} : (!tsr.tensor<[], i64>, !tsr.tensor<[], i32>, !tsr.tensor<[], i32>) -> !tsr.tensor<[in: 4, batch: 3], f32>
    // CHECK: tsr.seed : <[], f32>
    %one = tsr.seed : !tsr.tensor<[], f32>
    return
  }

  // CHECK-LABEL: func.func @contractions
  func.func @contractions(%x: !tsr.tensor<[batch: 3, in: 4], f32>, %w: !tsr.tensor<[in: 4, out: 2], f32>, %b: !tsr.tensor<[out: 2], f32>) {
    // The user's name gives the SSA name.
    // CHECK: %q = tsr.contract %arg0, %arg1 over [in] as "h.attn.q" :
    %0 = tsr.contract %x, %w over ["in"] {tsr.name = "h.attn.q"} : (!tsr.tensor<[batch: 3, in: 4], f32>, !tsr.tensor<[in: 4, out: 2], f32>) -> !tsr.tensor<[batch: 3, out: 2], f32>
    // CHECK: tsr.contract %arg0, %arg1 over [in] init %q bias %arg2 :
    %1 = tsr.contract %x, %w over ["in"] init %0 bias %b : (!tsr.tensor<[batch: 3, in: 4], f32>, !tsr.tensor<[in: 4, out: 2], f32>, !tsr.tensor<[batch: 3, out: 2], f32>, !tsr.tensor<[out: 2], f32>) -> !tsr.tensor<[batch: 3, out: 2], f32>
    // CHECK: %{{.*}}:2 = tsr.contract %arg0, %arg1 over [in] bias %arg2 epilogue gelu :
    %e0, %e1 = tsr.contract %x, %w over ["in"] bias %b epilogue gelu : (!tsr.tensor<[batch: 3, in: 4], f32>, !tsr.tensor<[in: 4, out: 2], f32>, !tsr.tensor<[out: 2], f32>) -> (!tsr.tensor<[batch: 3, out: 2], f32>, !tsr.tensor<[batch: 3, out: 2], f32>)
    // CHECK: %{{.*}}:2 = tsr.contract %arg0, %arg1 over [in] epilogue gelu_grad aux %q :
    %e2, %e3 = tsr.contract %x, %w over ["in"] epilogue gelu_grad aux %0 : (!tsr.tensor<[batch: 3, in: 4], f32>, !tsr.tensor<[in: 4, out: 2], f32>, !tsr.tensor<[batch: 3, out: 2], f32>) -> (!tsr.tensor<[batch: 3, out: 2], f32>, !tsr.tensor<[out: 2], f32>)
    // CHECK: tsr.reduce max %q over [batch, out] : <[batch: 3, out: 2], f32>{{$}}
    %2 = tsr.reduce max %0 over ["batch", "out"] : !tsr.tensor<[batch: 3, out: 2], f32> -> !tsr.tensor<[], f32>
    // CHECK: tsr.broadcast %arg2 : <[out: 2], f32> -> <[batch: 3, out: 2], f32>
    %3 = tsr.broadcast %b : !tsr.tensor<[out: 2], f32> -> !tsr.tensor<[batch: 3, out: 2], f32>
    return
  }

  // CHECK-LABEL: func.func @axes
  func.func @axes(%x: !tsr.tensor<[batch: 3, in: 4], f32>, %at: !tsr.tensor<[seq: 5], i32>) {
    // CHECK: tsr.rename %arg0 [batch, in] to [in, batch] : <[batch: 3, in: 4], f32> -> <[batch: 4, in: 3], f32>
    %rename = tsr.rename %x ["batch", "in"] to ["in", "batch"] : !tsr.tensor<[batch: 3, in: 4], f32> -> !tsr.tensor<[batch: 4, in: 3], f32>
    // CHECK: tsr.split %arg0 in into [head, out] : <[batch: 3, in: 4], f32> -> <[batch: 3, head: 2, out: 2], f32>
    %split = tsr.split %x "in" into ["head", "out"] : !tsr.tensor<[batch: 3, in: 4], f32> -> !tsr.tensor<[batch: 3, head: 2, out: 2], f32>
    // CHECK: tsr.merge %arg0 [in, batch] into out : <[batch: 3, in: 4], f32> -> <[out: 12], f32>
    %merge = tsr.merge %x ["in", "batch"] into "out" : !tsr.tensor<[batch: 3, in: 4], f32> -> !tsr.tensor<[out: 12], f32>
    // CHECK: tsr.reorder %arg0 : <[batch: 3, in: 4], f32> -> <[in: 4, batch: 3], f32>
    %reorder = tsr.reorder %x : !tsr.tensor<[batch: 3, in: 4], f32> -> !tsr.tensor<[in: 4, batch: 3], f32>
    // CHECK: tsr.slice %arg0 in from 1 : <[batch: 3, in: 4], f32> -> <[batch: 3, in: 2], f32>
    %slice = tsr.slice %x "in" from 1 : !tsr.tensor<[batch: 3, in: 4], f32> -> !tsr.tensor<[batch: 3, in: 2], f32>
    // CHECK: tsr.join %arg0, %arg0 along in : (!tsr.tensor<[batch: 3, in: 4], f32>, !tsr.tensor<[batch: 3, in: 4], f32>) -> !tsr.tensor<[batch: 3, in: 8], f32>
    %join = tsr.join %x, %x along in : (!tsr.tensor<[batch: 3, in: 4], f32>, !tsr.tensor<[batch: 3, in: 4], f32>) -> !tsr.tensor<[batch: 3, in: 8], f32>
    // CHECK: tsr.pad %arg0 in at 2 : <[batch: 3, in: 4], f32> -> <[batch: 3, in: 9], f32>
    %pad = tsr.pad %x "in" at 2 : !tsr.tensor<[batch: 3, in: 4], f32> -> !tsr.tensor<[batch: 3, in: 9], f32>
    // CHECK: tsr.gather %arg0{{\[}}[batch] = %arg1] :
    // CHECK-SAME: -> !tsr.tensor<[seq: 5, in: 4], f32>
    %gather = tsr.gather %x[["batch"] = %at] : (!tsr.tensor<[batch: 3, in: 4], f32>, !tsr.tensor<[seq: 5], i32>) -> !tsr.tensor<[seq: 5, in: 4], f32>
    // CHECK: tsr.scatter_add
    // CHECK-SAME: -> !tsr.tensor<[batch: 3, in: 4], f32>
    %scatter = tsr.scatter_add %gather[["batch"] = %at] : (!tsr.tensor<[seq: 5, in: 4], f32>, !tsr.tensor<[seq: 5], i32>) -> !tsr.tensor<[batch: 3, in: 4], f32>
    // CHECK: tsr.scatter_add {{.*}} init %arg0 :
    %more = tsr.scatter_add %gather[["batch"] = %at] init %x : (!tsr.tensor<[seq: 5, in: 4], f32>, !tsr.tensor<[seq: 5], i32>, !tsr.tensor<[batch: 3, in: 4], f32>) -> !tsr.tensor<[batch: 3, in: 4], f32>
    return
  }

  // CHECK-LABEL: func.func @composites
  func.func @composites(%x: !tsr.tensor<[batch: 3, vocab: 7], f32>, %label: !tsr.tensor<[batch: 3], i32>, %q: !tsr.tensor<[seq: 5, in: 4], f32>,
                        %k: !tsr.tensor<[key: 5, in: 4], f32>, %v: !tsr.tensor<[key: 5, in: 4], f32>, %bias: !tsr.tensor<[key: 5], f32>) {
    // CHECK: tsr.softmax %arg0 over vocab : <[batch: 3, vocab: 7], f32>
    %softmax = tsr.softmax %x over "vocab" : !tsr.tensor<[batch: 3, vocab: 7], f32>
    // CHECK: tsr.layer_norm %arg0 over [vocab] epsilon 1.000000e-05 : <[batch: 3, vocab: 7], f32>, <[batch: 3], f32>
    %norm, %rstd = tsr.layer_norm %x over ["vocab"] epsilon 1.0e-5 : !tsr.tensor<[batch: 3, vocab: 7], f32>, !tsr.tensor<[batch: 3], f32>
    // CHECK: tsr.cross_entropy %arg0, %arg1 over vocab :
    %loss, %shift, %inverse = tsr.cross_entropy %x, %label over "vocab" : (!tsr.tensor<[batch: 3, vocab: 7], f32>, !tsr.tensor<[batch: 3], i32>) -> (!tsr.tensor<[batch: 3], f32>, !tsr.tensor<[batch: 3], f32>, !tsr.tensor<[batch: 3], f32>)
    // CHECK: tsr.attention %arg2, %arg3, %arg4 captures %arg5 hidden [in] key key :
    // CHECK: ^bb0(%{{.*}}: !tsr.tensor<[seq: 5, key: 5], f32>, %{{.*}}: !tsr.tensor<[key: 5], f32>):
    // CHECK: tsr.yield %{{.*}} : !tsr.tensor<[seq: 5, key: 5], f32>
    %out, %top, %scale = tsr.attention %q, %k, %v captures %bias hidden ["in"] key "key" : (!tsr.tensor<[seq: 5, in: 4], f32>, !tsr.tensor<[key: 5, in: 4], f32>, !tsr.tensor<[key: 5, in: 4], f32>, !tsr.tensor<[key: 5], f32>) -> (!tsr.tensor<[seq: 5, in: 4], f32>, !tsr.tensor<[seq: 5], f32>, !tsr.tensor<[seq: 5], f32>) {
    ^bb0(%score: !tsr.tensor<[seq: 5, key: 5], f32>, %b: !tsr.tensor<[key: 5], f32>):
      %biased = tsr.add %score, %b : (!tsr.tensor<[seq: 5, key: 5], f32>, !tsr.tensor<[key: 5], f32>) -> !tsr.tensor<[seq: 5, key: 5], f32>
      tsr.yield %biased : !tsr.tensor<[seq: 5, key: 5], f32>
    }
    // CHECK: tsr.attention
    // CHECK: } weight {
    // CHECK-NEXT: ^bb0(%[[P:.*]]: !tsr.tensor<[seq: 5, key: 5], f32>):
    // CHECK-NEXT: tsr.mul %[[P]], %[[P]]
    %out2, %top2, %scale2 = tsr.attention %q, %k, %v hidden ["in"] key "key" : (!tsr.tensor<[seq: 5, in: 4], f32>, !tsr.tensor<[key: 5, in: 4], f32>, !tsr.tensor<[key: 5, in: 4], f32>) -> (!tsr.tensor<[seq: 5, in: 4], f32>, !tsr.tensor<[seq: 5], f32>, !tsr.tensor<[seq: 5], f32>) {
    ^bb0(%score: !tsr.tensor<[seq: 5, key: 5], f32>):
      tsr.yield %score : !tsr.tensor<[seq: 5, key: 5], f32>
    } weight {
    ^bb0(%p: !tsr.tensor<[seq: 5, key: 5], f32>):
      %scaled = tsr.mul %p, %p : (!tsr.tensor<[seq: 5, key: 5], f32>, !tsr.tensor<[seq: 5, key: 5], f32>) -> !tsr.tensor<[seq: 5, key: 5], f32>
      tsr.yield %scaled : !tsr.tensor<[seq: 5, key: 5], f32>
    }
    return
  }

  // CHECK-LABEL: func.func @structure
  func.func @structure(%x: !tsr.tensor<[batch: 3], f32>, %w: !tsr.tensor<[layer: 2, batch: 3], f32>, %m: !tsr.tensor<[batch: 3], f32>) {
    // CHECK: tsr.repeat [layer: 2] index %{{.*}} carry (%{{.*}} = %arg0 : !tsr.tensor<[batch: 3], f32>) slice (%{{.*}} = %arg1 : !tsr.tensor<[layer: 2, batch: 3], f32>) invariant (%{{.*}} = %arg2 : !tsr.tensor<[batch: 3], f32>) -> (!tsr.tensor<[batch: 3], f32>, !tsr.tensor<[layer: 2, batch: 3], f32>) {
    %y, %ys = tsr.repeat [layer: 2] index %i carry (%c = %x : !tsr.tensor<[batch: 3], f32>) slice (%s = %w : !tsr.tensor<[layer: 2, batch: 3], f32>) invariant (%k = %m : !tsr.tensor<[batch: 3], f32>) -> (!tsr.tensor<[batch: 3], f32>, !tsr.tensor<[layer: 2, batch: 3], f32>) {
      %a = tsr.mul %c, %s : (!tsr.tensor<[batch: 3], f32>, !tsr.tensor<[batch: 3], f32>) -> !tsr.tensor<[batch: 3], f32>
      %b = tsr.add %a, %k : (!tsr.tensor<[batch: 3], f32>, !tsr.tensor<[batch: 3], f32>) -> !tsr.tensor<[batch: 3], f32>
      // CHECK: tsr.yield %{{.*}}, %{{.*}} : !tsr.tensor<[batch: 3], f32>, !tsr.tensor<[batch: 3], f32>
      tsr.yield %b, %a : !tsr.tensor<[batch: 3], f32>, !tsr.tensor<[batch: 3], f32>
    }
    // CHECK: tsr.repeat [layer: 2] reverse index
    %z = tsr.repeat [layer: 2] reverse index %i carry (%c = %x : !tsr.tensor<[batch: 3], f32>) -> !tsr.tensor<[batch: 3], f32> attributes {tsr.name = "h"} {
      tsr.yield %c : !tsr.tensor<[batch: 3], f32>
    }
    // CHECK: tsr.kernel "neg" (%{{.*}} = %arg0 : !tsr.tensor<[batch: 3], f32>) parallel [batch] vector batch {
    %n = tsr.kernel "neg" (%a = %x : !tsr.tensor<[batch: 3], f32>) parallel ["batch"] serial [] vector "batch" -> (!tsr.tensor<[batch: 3], f32>) {
      %b = tsr.neg %a : !tsr.tensor<[batch: 3], f32>
      tsr.yield %b : !tsr.tensor<[batch: 3], f32>
    }
    return
  }

  // CHECK-LABEL: func.func @training
  func.func @training(%loss: !tsr.tensor<[], f32>, %w: !tsr.tensor<[in: 4, out: 2], f32>, %step: !tsr.tensor<[], i32>) {
    // CHECK: %[[G:.*]] = tsr.gradient %arg0 wrt(%arg1) : (!tsr.tensor<[], f32>, !tsr.tensor<[in: 4, out: 2], f32>) -> !tsr.tensor<[in: 4, out: 2], f32>
    %g = tsr.gradient %loss wrt (%w) : (!tsr.tensor<[], f32>, !tsr.tensor<[in: 4, out: 2], f32>) -> !tsr.tensor<[in: 4, out: 2], f32>
    // CHECK: tsr.clip(%[[G]]) limit %arg0 :
    %clipped, %norm = tsr.clip (%g) limit %loss : (!tsr.tensor<[in: 4, out: 2], f32>, !tsr.tensor<[], f32>) -> (!tsr.tensor<[in: 4, out: 2], f32>, !tsr.tensor<[], f32>)
    // CHECK: tsr.update "sgd" @w %arg1 gradient %{{.*}} step %arg2 norm %{{.*}} arguments [rate](%arg0) :
    %new = tsr.update "sgd" @w %w gradient %clipped step %step norm %norm arguments ["rate"] (%loss) : (!tsr.tensor<[in: 4, out: 2], f32>, !tsr.tensor<[in: 4, out: 2], f32>, !tsr.tensor<[], i32>, !tsr.tensor<[], f32>, !tsr.tensor<[], f32>) -> !tsr.tensor<[in: 4, out: 2], f32>
    return
  }

  // CHECK-LABEL: func.func @ranks
  func.func @ranks(%x: !tsr.tensor<[a: 2], f32>, %seed: !tsr.tensor<[], i64>, %step: !tsr.tensor<[], i32>, %first: !tsr.tensor<[], i64>) {
    // CHECK: %[[S:.*]] = tsr.start all_gather %arg0 along data as "x" : <[a: 2], f32> -> <[data: 2, a: 2], f32>
    %s = tsr.start all_gather %x along data as "x" : !tsr.tensor<[a: 2], f32> -> !tsr.tensor<[data: 2, a: 2], f32>
    // CHECK: %[[W:.*]] = tsr.wait %[[S]] sent %arg0 : <[data: 2, a: 2], f32>, <[a: 2], f32>
    %w = tsr.wait %s sent %x : !tsr.tensor<[data: 2, a: 2], f32>, !tsr.tensor<[a: 2], f32>
    // CHECK: tsr.start all_to_all %[[W]] along data :
    %t = tsr.start all_to_all %w along data : !tsr.tensor<[data: 2, a: 2], f32> -> !tsr.tensor<[data: 2, a: 2], f32>
    // CHECK: tsr.start reduce_scatter %[[W]] along data : <[data: 2, a: 2], f32> -> <[a: 2], f32>
    %u = tsr.start reduce_scatter %w along data : !tsr.tensor<[data: 2, a: 2], f32> -> !tsr.tensor<[a: 2], f32>
    // CHECK: tsr.random uniform site 5 seed %arg1 step %arg2 strides {a = 3 : i64} first %arg3 :
    %r = tsr.random uniform site 5 seed %seed step %step strides {a = 3 : i64} first %first : (!tsr.tensor<[], i64>, !tsr.tensor<[], i32>, !tsr.tensor<[], i64>) -> !tsr.tensor<[a: 2], f32>
    return
  }
}
