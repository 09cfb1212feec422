// RUN: tessera-opt %s --split-input-file --verify-diagnostics --tsr-shard

// Who adds the values of several ranks.

// expected-error@+1 {{ranks on CPUs exchange bytes only: leave out --reductions=library, or compile for GPUs}}
module attributes {tsr.axes = ["batch"], tsr.phase = "optimize", tsr.reductions = "library", tsr.mesh = [#tsr.axis<data: 2>], tsr.shard = {batch = "data"}} {
  func.func @step(%x: !tsr.tensor<[batch: 8], f32> {tsr.input = {name = "x", role = "data"}}) -> !tsr.tensor<[], f32> {
    %s = tsr.reduce sum %x over [batch] : !tsr.tensor<[batch: 8], f32> -> !tsr.tensor<[], f32>
    return %s : !tsr.tensor<[], f32>
  }
}

// -----

// expected-error@+1 {{--leaves fixes the order of sums, and with --reductions=library the library chooses it: leave out one of them}}
module attributes {tsr.axes = ["batch"], tsr.phase = "optimize", tsr.target = "cuda", tsr.leaves = 4 : i64, tsr.reductions = "library", tsr.mesh = [#tsr.axis<data: 2>], tsr.shard = {batch = "data"}} {
  func.func @step(%x: !tsr.tensor<[batch: 8], f32> {tsr.input = {name = "x", role = "data"}}) -> !tsr.tensor<[], f32> {
    %s = tsr.reduce sum %x over [batch] : !tsr.tensor<[batch: 8], f32> -> !tsr.tensor<[], f32>
    return %s : !tsr.tensor<[], f32>
  }
}
