// RUN: tessera-opt %s --tsr-leaves | FileCheck %s --check-prefix=LEAVES
// RUN: tessera-opt %s --tsr-leaves --tsr-shard | FileCheck %s --check-prefix=SHARD
// RUN: tessera-opt %s --tsr-leaves --tsr-shard --tsr-partition --tsr-simplify | FileCheck %s --check-prefix=WIDE
// RUN: tessera-opt %s --tsr-leaves --tsr-shard --tsr-partition --tsr-simplify --tsr-localize --tsr-simplify | FileCheck %s --check-prefix=RANK
// RUN: tessera-opt %s --tsr-leaves --tsr-shard --tsr-partition --tsr-simplify --tsr-localize --tsr-tree-sums --tsr-simplify | FileCheck %s --check-prefix=ADDED

// What leaves add is stacked, and the stack is summed in a tree. So is what they stack anyway, other axes first.
// LEAVES-LABEL: func.func @step
// LEAVES: %[[S:.*]]:3 = tsr.repeat [micro: 16] index %{{.*}} slice {{.*}} attributes {tsr.tree}
// LEAVES: %[[OF:.*]] = tsr.reduce sum %{{.*}} over [in]
// LEAVES: tsr.yield %{{.*}}, %{{.*}}, %[[OF]] :
// LEAVES-DAG: tsr.reduce sum %[[S]]#0 over [micro] {tsr.tree}
// LEAVES-DAG: tsr.reduce sum %[[S]]#2 over [micro] {tsr.tree}

// The mesh axis of the batch divides the leaves, and nothing inside of them.
// SHARD-LABEL: func.func @step
// SHARD: tsr.split %{{.*}} batch into [micro, batch] {tsr.sharding = {micro = "data"}}
// SHARD: tsr.repeat {{.*}} attributes {tsr.along = "data", tsr.sharding = [{}, {}, {}, {}, {}{{.*}}], tsr.tree}
// SHARD-NOT: tsr.sharding
// SHARD: tsr.yield
// SHARD: over [micro] {tsr.sharding = {micro = "data"}, tsr.tree}

// Each rank runs eight iterations; draws know the number of the leaf, as a salt along the mesh axis.
// WIDE-LABEL: func.func @step
// WIDE: %[[R:.*]]:2 = tsr.repeat [micro: 8] index %[[I:.*]] slice
// WIDE: %[[AT:.*]] = tsr.index
// WIDE: %[[FIRST:.*]] = tsr.mul %[[AT]]
// WIDE: %[[NUMBER:.*]] = tsr.add %[[FIRST]], %[[I]]
// WIDE: tsr.random uniform site 7 seed %{{.*}} step %{{.*}} salts %[[NUMBER]] strides {batch = 3 : i64, data = 0 : i64, in = 1 : i64}
// WIDE: %[[OWN:.*]] = tsr.reduce sum %[[R]]#0 over [micro] {tsr.tree}
// WIDE: tsr.reduce sum %[[OWN]] over [data] {tsr.tree}

// The sum of what came from the ranks is one in a tree, too.
// RANK-LABEL: func.func @step
// RANK: tsr.repeat [micro: 8]
// RANK: tsr.random uniform {{.*}} salts %{{.*}} strides {batch = 3 : i64, in = 1 : i64}
// RANK: %[[GOT:.*]] = tsr.wait
// RANK: tsr.reduce sum %[[GOT]] over [data] {tsr.tree}

// Eight leaves of a rank: sums of four are added to what begins with -0.
// ADDED-LABEL: func.func @step
// ADDED: %[[Z:.*]] = tsr.constant -0.0 -> <[in: 3], f32>
// ADDED: tsr.repeat [micro_2: 2] index %{{.*}} carry (%[[SUM:.*]] = %[[Z]] :
// ADDED: tsr.repeat [micro: 4] index {{.*}} attributes {tsr.tree}
// ADDED: tsr.yield
// ADDED: %[[A:.*]] = tsr.add %{{.*}}, %{{.*}} : <[in: 3], f32>
// ADDED: %[[B:.*]] = tsr.add %{{.*}}, %{{.*}} : <[in: 3], f32>
// ADDED: %[[C:.*]] = tsr.add %[[A]], %[[B]]
// ADDED: tsr.add %[[SUM]], %[[C]]
// ADDED-NOT: tsr.reduce {{.*}} over [data]
// ADDED: return

!in = !tsr.tensor<[in: 3], f32>
!batch_in = !tsr.tensor<[batch: 32, in: 3], f32>
!rows_in = !tsr.tensor<[batch: 2, in: 3], f32>
!micro_rows_in = !tsr.tensor<[micro: 16, batch: 2, in: 3], f32>
module attributes {tsr.axes = ["micro", "batch", "in"], tsr.leaves = 16 : i64, tsr.phase = "optimize", tsr.mesh = [#tsr.axis<data: 2>],
    tsr.shard = {batch = "data"}} {
  func.func @step(%x: !batch_in {tsr.input = {name = "x", role = "data"}}, %seed: !tsr.tensor<[], i64> {tsr.input = {name = "seed", role = "seed"}},
      %step: !tsr.tensor<[], i32> {tsr.input = {name = "step", role = "seed"}}) -> (!in, !tsr.tensor<[], f32>) {
    %zero = tsr.constant 0.0 -> !in
    %parts = tsr.split %x batch into [micro, batch] : !batch_in -> !micro_rows_in
    %g, %l = tsr.repeat [micro: 16] index %i carry (%sum = %zero : !in) slice (%rows = %parts : !micro_rows_in) invariant
        (%s = %seed : !tsr.tensor<[], i64>, %t = %step : !tsr.tensor<[], i32>) -> (!in, !tsr.tensor<[micro: 16, in: 3], f32>) {
      %draw = tsr.random uniform site 7 seed %s step %t salts %i : (!tsr.tensor<[], i64>, !tsr.tensor<[], i32>, !tsr.tensor<[], i32>) -> !rows_in
      %y = tsr.mul %rows, %draw : !rows_in
      %d = tsr.reduce sum %y over [batch] : !rows_in -> !in
      %next = tsr.add %sum, %d : !in
      tsr.yield %next, %d : !in, !in
    }
    %total = tsr.reduce sum %l over [micro, in] : !tsr.tensor<[micro: 16, in: 3], f32> -> !tsr.tensor<[], f32>
    return %g, %total : !in, !tsr.tensor<[], f32>
  }
}
