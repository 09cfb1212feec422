// RUN: tessera-opt %s --split-input-file --tsr-layout --tsr-verify-phase=phase=layout | FileCheck %s

// Heads need no transposes: queries stay [batch, seq, head, hd], scores are dense matrices, and in the operand of the
// output projection head and hd are adjacent.
// CHECK-LABEL: func.func @step
module attributes {tsr.axes = ["batch", "head", "seq", "key", "hd", "embed"], tsr.phase = "optimize"} {
  func.func @step(%x: !tsr.tensor<[batch: 2, seq: 8, embed: 32], f32> {tsr.input = {name = "x", role = "argument"}},
                  %wq: !tsr.tensor<[head: 4, hd: 8, embed: 32], f32> {tsr.input = {name = "wq", role = "argument"}})
      -> (!tsr.tensor<[batch: 2, seq: 8, embed: 32], f32> {tsr.output = {name = "y", role = "result"}}) {
    // CHECK: tsr.contract %arg0, %arg1 over [embed] {{.*}} -> !tsr.tensor<[batch: 2, seq: 8, head: 4, hd: 8], f32>
    %q = tsr.contract %x, %wq over ["embed"] : (!tsr.tensor<[batch: 2, seq: 8, embed: 32], f32>, !tsr.tensor<[head: 4, hd: 8, embed: 32], f32>) -> !tsr.tensor<[batch: 2, head: 4, seq: 8, hd: 8], f32>
    // CHECK: tsr.rename {{.*}} -> <[batch: 2, key: 8, head: 4, hd: 8], f32>
    %k = tsr.rename %q ["seq"] to ["key"] : !tsr.tensor<[batch: 2, head: 4, seq: 8, hd: 8], f32> -> !tsr.tensor<[batch: 2, head: 4, key: 8, hd: 8], f32>
    // CHECK: tsr.contract {{.*}} over [hd] {{.*}} -> !tsr.tensor<[batch: 2, head: 4, seq: 8, key: 8], f32>
    %s = tsr.contract %q, %k over ["hd"] : (!tsr.tensor<[batch: 2, head: 4, seq: 8, hd: 8], f32>, !tsr.tensor<[batch: 2, head: 4, key: 8, hd: 8], f32>) -> !tsr.tensor<[batch: 2, head: 4, seq: 8, key: 8], f32>
    // CHECK: tsr.contract {{.*}} over [key] {{.*}} -> !tsr.tensor<[batch: 2, seq: 8, head: 4, hd: 8], f32>
    %o = tsr.contract %s, %k over ["key"] : (!tsr.tensor<[batch: 2, head: 4, seq: 8, key: 8], f32>, !tsr.tensor<[batch: 2, head: 4, key: 8, hd: 8], f32>) -> !tsr.tensor<[batch: 2, head: 4, seq: 8, hd: 8], f32>
    // CHECK-NOT: tsr.reorder
    // CHECK: tsr.contract {{.*}} over [head, hd] {{.*}} -> !tsr.tensor<[batch: 2, seq: 8, embed: 32], f32>
    %y = tsr.contract %o, %wq over ["head", "hd"] : (!tsr.tensor<[batch: 2, head: 4, seq: 8, hd: 8], f32>, !tsr.tensor<[head: 4, hd: 8, embed: 32], f32>) -> !tsr.tensor<[batch: 2, seq: 8, embed: 32], f32>
    return %y : !tsr.tensor<[batch: 2, seq: 8, embed: 32], f32>
  }
}

// -----

// State that a repeat slices has the repeat's axis outermost, in the table and in every function.
module attributes {tsr.axes = ["embed", "layer"], tsr.phase = "optimize"} {
  // CHECK: tsr.state @b "bias" !tsr.tensor<[layer: 3, embed: 4], f32>
  tsr.state @b "bias" !tsr.tensor<[embed: 4, layer: 3], f32>
  // CHECK: func.func @init() -> (!tsr.tensor<[layer: 3, embed: 4], f32>
  func.func @init() -> (!tsr.tensor<[embed: 4, layer: 3], f32> {tsr.state = @b}) {
    %zero = tsr.constant 0.0 : f32 -> !tsr.tensor<[embed: 4, layer: 3], f32>
    return %zero : !tsr.tensor<[embed: 4, layer: 3], f32>
  }
  // CHECK: func.func @predict(%arg0: !tsr.tensor<[layer: 3, embed: 4], f32>
  func.func @predict(%b: !tsr.tensor<[embed: 4, layer: 3], f32> {tsr.state = @b}, %x: !tsr.tensor<[embed: 4], f32> {tsr.input = {name = "x", role = "argument"}})
      -> (!tsr.tensor<[embed: 4], f32> {tsr.output = {name = "y", role = "result"}}) {
    %y = tsr.repeat [layer: 3] index %i carry (%a = %x : !tsr.tensor<[embed: 4], f32>) slice (%bl = %b : !tsr.tensor<[embed: 4, layer: 3], f32>) -> (!tsr.tensor<[embed: 4], f32>) {
      %n = tsr.add %a, %bl : (!tsr.tensor<[embed: 4], f32>, !tsr.tensor<[embed: 4], f32>) -> !tsr.tensor<[embed: 4], f32>
      tsr.yield %n : !tsr.tensor<[embed: 4], f32>
    }
    return %y : !tsr.tensor<[embed: 4], f32>
  }
}

// -----

// Axes that are not adjacent are moved together before they are merged.
module attributes {tsr.axes = ["a", "b", "c", "ac"], tsr.phase = "optimize"} {
  // CHECK: func.func @predict
  func.func @predict(%x: !tsr.tensor<[a: 2, b: 3, c: 4], f32> {tsr.input = {name = "x", role = "argument"}})
      -> (!tsr.tensor<[b: 3, ac: 8], f32> {tsr.output = {name = "y", role = "result"}}) {
    // CHECK: %[[MOVED:.*]] = tsr.reorder %arg0 : <[a: 2, b: 3, c: 4], f32> -> <[b: 3, a: 2, c: 4], f32>
    // CHECK: tsr.merge %[[MOVED]] [a, c] into ac
    %y = tsr.merge %x ["a", "c"] into "ac" : !tsr.tensor<[a: 2, b: 3, c: 4], f32> -> !tsr.tensor<[b: 3, ac: 8], f32>
    return %y : !tsr.tensor<[b: 3, ac: 8], f32>
  }
}

// -----

// Inputs and outputs have the order of their tags, whatever the canonical order is.
module attributes {tsr.axes = ["feat", "batch", "class"], tsr.phase = "optimize"} {
  // CHECK: func.func @predict(%arg0: !tsr.tensor<[batch: 2, feat: 3], f32>
  // CHECK-SAME: -> (!tsr.tensor<[class: 4, batch: 2], f32>
  func.func @predict(%x: !tsr.tensor<[feat: 3, batch: 2], f32> {tsr.input = {name = "x", role = "argument", order = ["batch", "feat"]}},
                     %w: !tsr.tensor<[feat: 3, class: 4], f32> {tsr.input = {name = "w", role = "argument"}})
      -> (!tsr.tensor<[batch: 2, class: 4], f32> {tsr.output = {name = "y", role = "result", order = ["class", "batch"]}}) {
    %y = tsr.contract %x, %w over ["feat"] : (!tsr.tensor<[feat: 3, batch: 2], f32>, !tsr.tensor<[feat: 3, class: 4], f32>) -> !tsr.tensor<[batch: 2, class: 4], f32>
    return %y : !tsr.tensor<[batch: 2, class: 4], f32>
  }
}

// -----

// What a leaf yields has the normal order, whatever its readers would rather have. (Without `tsr.tree` it would be [out, in].)
// CHECK-LABEL: func.func @step
// CHECK: tsr.contract {{.*}} over [batch] {{.*}} -> !tsr.tensor<[in: 48, out: 80], f32>
module attributes {tsr.axes = ["micro", "batch", "in", "out"], tsr.phase = "chunk"} {
  func.func @step(%x: !tsr.tensor<[micro: 2, batch: 64, in: 48], f32> {tsr.input = {name = "x", role = "data"}},
      %y: !tsr.tensor<[micro: 2, batch: 64, out: 80], f32> {tsr.input = {name = "y", role = "data"}},
      %w: !tsr.tensor<[micro: 2, in: 48, out: 80], f32> {tsr.input = {name = "w", order = ["micro", "out", "in"], role = "argument"}})
      -> (!tsr.tensor<[micro: 2, in: 48, out: 80], f32> {tsr.output = {name = "z", order = ["micro", "out", "in"], role = "result"}}) {
    %g = tsr.repeat [micro: 2] index %i slice (%a = %x : !tsr.tensor<[micro: 2, batch: 64, in: 48], f32>, %b = %y : !tsr.tensor<[micro: 2, batch: 64, out: 80], f32>)
        -> !tsr.tensor<[micro: 2, in: 48, out: 80], f32> attributes {tsr.tree} {
      %d = tsr.contract %b, %a over [batch] : (!tsr.tensor<[batch: 64, out: 80], f32>, !tsr.tensor<[batch: 64, in: 48], f32>) -> !tsr.tensor<[in: 48, out: 80], f32>
      tsr.yield %d : !tsr.tensor<[in: 48, out: 80], f32>
    }
    %z = tsr.mul %g, %w : !tsr.tensor<[micro: 2, in: 48, out: 80], f32>
    return %z : !tsr.tensor<[micro: 2, in: 48, out: 80], f32>
  }
}
