// RUN: tessera-opt %s --split-input-file --verify-diagnostics --tsr-leaves --tsr-shard

!f = !tsr.tensor<[], f32>
!batch = !tsr.tensor<[batch: 8], f32>
!rows = !tsr.tensor<[batch: 2], f32>
!micro_rows = !tsr.tensor<[micro: 4, batch: 2], f32>
// A state that one leaf hands to the next one.
// expected-error@+1 {{each leaf would need the state `n` as the one before hands it on, but leaves are independent of each other: leave out --leaves}}
module attributes {tsr.axes = ["micro", "batch"], tsr.leaves = 4 : i64, tsr.phase = "optimize"} {
  tsr.state @n "state" !f
  func.func @step(%n: !f {tsr.state = @n}, %x: !batch {tsr.input = {name = "x", role = "data"}}) -> (!f {tsr.state = @n}) {
    %parts = tsr.split %x batch into [micro, batch] : !batch -> !micro_rows
    %next = tsr.repeat [micro: 4] index %i carry (%before = %n : !f) slice (%row = %parts : !micro_rows) -> !f {
      %s = tsr.reduce sum %row over [batch] : !rows -> !f
      %after = tsr.add %before, %s : !f
      tsr.yield %after : !f
    }
    return %next : !f
  }
}

// -----

!f = !tsr.tensor<[], f32>
!batch = !tsr.tensor<[batch: 8], f32>
// expected-error@+1 {{the batch of `step` is not cut into 4 leaves}}
module attributes {tsr.axes = ["micro", "batch"], tsr.leaves = 4 : i64, tsr.phase = "optimize"} {
  func.func @step(%x: !batch {tsr.input = {name = "x", role = "data"}}) -> !f {
    %s = tsr.reduce sum %x over [batch] : !batch -> !f
    return %s : !f
  }
}

// -----

!f = !tsr.tensor<[], f32>
!batch = !tsr.tensor<[batch: 8], f32>
// expected-error@+1 {{expected a power of two for the number of leaves, got 6}}
module attributes {tsr.axes = ["micro", "batch"], tsr.leaves = 6 : i64, tsr.phase = "optimize"} {
  func.func @step(%x: !batch {tsr.input = {name = "x", role = "data"}}) -> !f {
    %s = tsr.reduce sum %x over [batch] : !batch -> !f
    return %s : !f
  }
}

// -----

!f = !tsr.tensor<[], f32>
!batch = !tsr.tensor<[batch: 8], f32>
!rows = !tsr.tensor<[batch: 2], f32>
!micro = !tsr.tensor<[micro: 4], f32>
!micro_rows = !tsr.tensor<[micro: 4, batch: 2], f32>
// A contraction over leaves.
// expected-error@+1 {{leaves would be added in another way than in a tree, by `weighted`: leave out --leaves}}
module attributes {tsr.axes = ["micro", "batch"], tsr.leaves = 4 : i64, tsr.phase = "optimize"} {
  func.func @step(%x: !batch {tsr.input = {name = "x", role = "data"}}, %w: !micro {tsr.input = {name = "w", role = "data"}}) -> !f {
    %parts = tsr.split %x batch into [micro, batch] : !batch -> !micro_rows
    %sums = tsr.repeat [micro: 4] index %i slice (%row = %parts : !micro_rows) -> !micro {
      %s = tsr.reduce sum %row over [batch] : !rows -> !f
      tsr.yield %s : !f
    }
    %y = tsr.contract %sums, %w over [micro] as "weighted" : (!micro, !micro) -> !f
    return %y : !f
  }
}

// -----

!f = !tsr.tensor<[], f32>
!batch = !tsr.tensor<[batch: 12], f32>
!rows = !tsr.tensor<[batch: 3], f32>
!micro = !tsr.tensor<[micro: 4], f32>
!micro_rows = !tsr.tensor<[micro: 4, batch: 3], f32>
// expected-error@+1 {{the 3 ranks along `data` cannot divide 4 leaves evenly: make them a power of two, at most 4}}
module attributes {tsr.axes = ["micro", "batch"], tsr.leaves = 4 : i64, tsr.phase = "optimize", tsr.mesh = [#tsr.axis<data: 3>],
    tsr.shard = {batch = "data"}} {
  func.func @step(%x: !batch {tsr.input = {name = "x", role = "data"}}) -> !f {
    %parts = tsr.split %x batch into [micro, batch] : !batch -> !micro_rows
    %sums = tsr.repeat [micro: 4] index %i slice (%row = %parts : !micro_rows) -> !micro {
      %s = tsr.reduce sum %row over [batch] : !rows -> !f
      tsr.yield %s : !f
    }
    %y = tsr.reduce sum %sums over [micro] : !micro -> !f
    return %y : !f
  }
}
