// A perceptron as the frontend would build it: compiles to a program that trains.
//
// REQUIRES: tessera
// RUN: tessera compile %s -o %t
// RUN: %t info | FileCheck %s
// CHECK: up {{ *}}weight
!W = !tsr.tensor<[pixel: 64, hidden: 32], f32>
!V = !tsr.tensor<[hidden: 32, class: 10], f32>
!b = !tsr.tensor<[hidden: 32], f32>
!x = !tsr.tensor<[batch: 48, pixel: 64], f32>
!h = !tsr.tensor<[batch: 48, hidden: 32], f32>
!y = !tsr.tensor<[batch: 48, class: 10], f32>
!r = !tsr.tensor<[batch: 48], f32>
!l = !tsr.tensor<[batch: 48], i32>
!s = !tsr.tensor<[], f32>
!i = !tsr.tensor<[], i32>
!seed = !tsr.tensor<[], i64>
module attributes {tsr.model = "perceptron", tsr.axes = ["batch", "pixel", "hidden", "class"], tsr.phase = "parse",
    tsr.data = [{name = "d", format = "csv", batch = ["batch", 48 : i64], splits = {train = ["digits.csv"], val = []}, val_fraction = 0.2 : f64, shuffle = true,
                 fields = [{name = "x", type = "f32", axes = [["pixel", 64 : i64]], column = 0 : i64}, {name = "label", type = "i32", axes = [], column = 64 : i64}]}],
    tsr.settings = {stop = {after = 300 : i64}}} {
  tsr.state @up "weight" !W
  tsr.state @b "bias" !b
  tsr.state @down "weight" !V
  tsr.state @step "counter" !i
  tsr.state @seed "counter" !seed

  func.func @init(%seed: !seed {tsr.input = {name = "seed", role = "seed"}})
      -> (!W {tsr.state = @up}, !b {tsr.state = @b}, !V {tsr.state = @down}, !i {tsr.state = @step}, !seed {tsr.state = @seed}) {
    %zero = tsr.constant 0 : i32 -> !i
    %n0 = tsr.random normal site 11 seed %seed step %zero : (!seed, !i) -> !W
    %n1 = tsr.random normal site 12 seed %seed step %zero : (!seed, !i) -> !V
    %c = tsr.constant 0.1 : f32 -> !s
    %up = tsr.mul %n0, %c : (!W, !s) -> !W
    %down = tsr.mul %n1, %c : (!V, !s) -> !V
    %b = tsr.constant 0.0 : f32 -> !b
    return %up, %b, %down, %zero, %seed : !W, !b, !V, !i, !seed
  }

  func.func @step(%up: !W {tsr.state = @up}, %b: !b {tsr.state = @b}, %down: !V {tsr.state = @down}, %step: !i {tsr.state = @step},
                  %x: !x {tsr.input = {name = "d.x", role = "data", data = "d", field = "x"}},
                  %label: !l {tsr.input = {name = "d.label", role = "data", data = "d", field = "label", of = 10 : i64}})
      -> (!W {tsr.state = @up}, !b {tsr.state = @b}, !V {tsr.state = @down}, !i {tsr.state = @step}, !s {tsr.output = {name = "ce", role = "loss"}}, !s {tsr.output = {name = "grad_norm", role = "grad_norm"}}) {
    %scale = tsr.constant 0.0625 : f32 -> !s
    %xs = tsr.mul %x, %scale : (!x, !s) -> !x
    %h0 = tsr.contract %xs, %up over ["pixel"] {tsr.name = "up"} : (!x, !W) -> !h
    %h1 = tsr.add %h0, %b : (!h, !b) -> !h
    %h = tsr.tanh %h1 : !h
    %y = tsr.contract %h, %down over ["hidden"] {tsr.name = "down"} : (!h, !V) -> !y
    %ce, %shift, %inverse = tsr.cross_entropy %y, %label over "class" : (!y, !l) -> (!r, !r, !r)
    %sum = tsr.reduce sum %ce over ["batch"] : !r -> !s
    %n = tsr.constant 0.020833333 : f32 -> !s
    %loss = tsr.mul %sum, %n : (!s, !s) -> !s
    %g:3 = tsr.gradient %loss wrt (%up, %b, %down) : (!s, !W, !b, !V) -> (!W, !b, !V)
    %limit = tsr.constant 1.0 : f32 -> !s
    %c:4 = tsr.clip (%g#0, %g#1, %g#2) limit %limit : (!W, !b, !V, !s) -> (!W, !b, !V, !s)
    %rate = tsr.constant 0.01 : f32 -> !s
    %b1 = tsr.constant 0.9 : f32 -> !s
    %b2 = tsr.constant 0.999 : f32 -> !s
    %eps = tsr.constant 1.0e-8 : f32 -> !s
    %decay = tsr.constant 0.01 : f32 -> !s
    %up2 = tsr.update "adamw" @up %up gradient %c#0 step %step norm %c#3 arguments ["rate", "beta1", "beta2", "epsilon", "decay"] (%rate, %b1, %b2, %eps, %decay) : (!W, !W, !i, !s, !s, !s, !s, !s, !s) -> !W
    %bb2 = tsr.update "adamw" @b %b gradient %c#1 step %step norm %c#3 arguments ["rate", "beta1", "beta2", "epsilon", "decay"] (%rate, %b1, %b2, %eps, %decay) : (!b, !b, !i, !s, !s, !s, !s, !s, !s) -> !b
    %down2 = tsr.update "adamw" @down %down gradient %c#2 step %step norm %c#3 arguments ["rate", "beta1", "beta2", "epsilon", "decay"] (%rate, %b1, %b2, %eps, %decay) : (!V, !V, !i, !s, !s, !s, !s, !s, !s) -> !V
    %one = tsr.constant 1 : i32 -> !i
    %step2 = tsr.add %step, %one : (!i, !i) -> !i
    return %up2, %bb2, %down2, %step2, %loss, %c#3 : !W, !b, !V, !i, !s, !s
  }
}
