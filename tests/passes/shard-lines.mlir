// RUN: tessera-opt %s --split-input-file --tsr-shard | tr -s '\n ' ' ' | FileCheck %s

// Lines count the ops that have axes, by what each mesh axis divides of them. Constants and repeats are no work of a line, and what has no axes cannot be
// divided.
// CHECK: tsr.divided_lines = [{at = "m.tsr:7", divided = {data = {batch = 2 : i64}, tensor = {ff = 1 : i64}}, ops = 3 : i64}, {at = "m.tsr:12", divided = {}, ops = 1 : i64}, {at = "n.tsr:1", divided = {data = {batch = 1 : i64}, tensor = {ff = 1 : i64}}, ops = 1 : i64}]
module attributes {tsr.axes = ["batch", "in", "ff"], tsr.phase = "optimize", tsr.mesh = [#tsr.axis<data: 2>, #tsr.axis<tensor: 2>],
    tsr.shard = {batch = "data", ff = "tensor"}} {
  tsr.state @w "weight" !tsr.tensor<[in: 2, ff: 4], f32>
  tsr.state @v "weight" !tsr.tensor<[in: 2], f32>
  func.func @step(%x: !tsr.tensor<[batch: 4, in: 2], f32> {tsr.input = {name = "x", role = "data"}},
      %w: !tsr.tensor<[in: 2, ff: 4], f32> {tsr.state = @w}, %v: !tsr.tensor<[in: 2], f32> {tsr.state = @v})
      -> (!tsr.tensor<[], f32> {tsr.output = {name = "loss", role = "loss"}},
          !tsr.tensor<[in: 2], f32> {tsr.state = @v}) {
    %two = tsr.constant 2.0 loc("m.tsr":7:1)
    %a = tsr.mul %x, %x : !tsr.tensor<[batch: 4, in: 2], f32> loc("m.tsr":7:3)
    %y = tsr.contract %a, %w over [in] : (!tsr.tensor<[batch: 4, in: 2], f32>, !tsr.tensor<[in: 2, ff: 4], f32>) -> !tsr.tensor<[batch: 4, ff: 4], f32> loc("m.tsr":7:9)
    %u = tsr.neg %v : !tsr.tensor<[in: 2], f32> loc("m.tsr":7:20)
    %n = tsr.neg %u : !tsr.tensor<[in: 2], f32> loc("m.tsr":12:1)
    %l = tsr.reduce sum %y over [batch, ff] : !tsr.tensor<[batch: 4, ff: 4], f32> -> !tsr.tensor<[], f32> loc("n.tsr":1:1)
    %s = tsr.neg %l : !tsr.tensor<[], f32> loc("m.tsr":13:1)
    return %s, %n : !tsr.tensor<[], f32>, !tsr.tensor<[in: 2], f32>
  }
}
