// What the user says of a sharding that is searched, in place of PINS.

// Axes are laid along a mesh axis that is found: every op, input and state that has them is divided so.
// RUN: sed -e 's/PINS/tsr.shard = {out = "tensor"}/' %s | tessera-opt --tsr-shard | FileCheck %s --check-prefix=AXIS
// AXIS: tsr.mesh = [{{.*}}#tsr.axis<tensor: {{[24]}}>
// AXIS: tsr.state @w "weight" {{.*}}out = "tensor"
// AXIS: tsr.state @w.m "moment" {{.*}}out = "tensor"
// AXIS-LABEL: func.func @step
// AXIS-SAME: %arg3: {{[^%]*}}out = "tensor"
// AXIS: tsr.contract %arg0, %arg1 over [in] {tsr.sharding = {{{.*}}out = "tensor"}}
// AXIS: tsr.sub {{.*}} {tsr.sharding = {{{.*}}out = "tensor"}}
// AXIS: tsr.contract {{.*}} over [batch] {tsr.sharding = {{{.*}}out = "tensor"}}

// Of two axes along one mesh axis the first of an op gets it.
// RUN: sed -e 's/PINS/tsr.mesh = [#tsr.axis<tensor: 4>], tsr.shard = {in = "tensor", out = "tensor"}/' %s | tessera-opt --tsr-shard | FileCheck %s --check-prefix=FIRST
// FIRST: tsr.mesh = [#tsr.axis<tensor: 4>]
// FIRST: tsr.state @w "weight" {{.*}} {tsr.sharding = {in = "tensor"}}
// FIRST: tsr.contract %arg0, %arg1 over [in] {tsr.sharding = {out = "tensor"}}
// FIRST: tsr.contract {{.*}} over [batch] {tsr.sharding = {in = "tensor"}}

// A state, and what the optimizer keeps for it; of the mesh that is given both names stay.
// RUN: sed -e 's/PINS/tsr.mesh = [#tsr.axis<a: 2>, #tsr.axis<b: 2>], tsr.shard_states = [{path = "w", axis = "in", along = "b"}]/' %s | tessera-opt --tsr-shard | FileCheck %s --check-prefix=STATE
// STATE: tsr.mesh = [#tsr.axis<a: 2>, #tsr.axis<b: 2>]
// STATE: tsr.state @w "weight" {{.*}}in = "b"
// STATE: tsr.state @w.m "moment" {{.*}}in = "b"

// ZeRO says of states whether the mesh axis of the batch divides them, and lays the batch along `data`. That of another function follows.
// RUN: sed -e 's/PINS/tsr.zero = 1 : i64/' %s | tessera-opt --tsr-shard | FileCheck %s --check-prefixes=ZERO,MOMENTS
// RUN: sed -e 's/PINS/tsr.zero = 2 : i64/' %s | tessera-opt --tsr-shard | FileCheck %s --check-prefixes=ZERO,MOMENTS
// RUN: sed -e 's/PINS/tsr.zero = 3 : i64/' %s | tessera-opt --tsr-shard | FileCheck %s --check-prefixes=ZERO,WEIGHTS
// ZERO: tsr.mesh = [{{.*}}#tsr.axis<data:
// MOMENTS: tsr.state @w "weight" {{.*}} {tsr.sharding = {{{(.* = "tensor.*")?}}}}
// WEIGHTS: tsr.state @w "weight" {{.*}}{{in|out}} = "data"
// ZERO: tsr.state @w.m "moment" {{.*}}{{in|out}} = "data"
// ZERO: tsr.state @mean "state"
// ZERO-NOT: "data"
// ZERO-LABEL: func.func @step
// ZERO-SAME: %arg0: {{[^%]*}}batch = "data"
// ZERO: tsr.contract %arg0, %arg1 over [in] {tsr.sharding = {batch = "data"

// Level 0 divides none of them along the mesh axis of the batch, if there is one.
// RUN: sed -e 's/PINS/tsr.mesh = [#tsr.axis<data: 4>], tsr.shard = {batch = "data"}, tsr.zero = 0 : i64/' %s | tessera-opt --tsr-shard | FileCheck %s --check-prefix=NONE
// NONE: tsr.state @w "weight" {{.*}} {tsr.sharding = {}}
// NONE: tsr.state @w.m "moment" {{.*}} {tsr.sharding = {}}
// NONE: tsr.contract %arg0, %arg1 over [in] {tsr.sharding = {batch = "data"}}

// A state that the step does not have is as the user says, in the functions that have it.
// RUN: sed -e 's/PINS/tsr.shard_states = [{path = "mean", axis = "out", along = "tensor"}]/' %s | tessera-opt --tsr-shard | FileCheck %s --check-prefix=ELSEWHERE
// ELSEWHERE: tsr.state @mean "state" {{.*}} {tsr.sharding = {out = "tensor"}}
// ELSEWHERE-LABEL: func.func @evaluate
// ELSEWHERE-SAME: %arg1: {{[^%]*}}out = "tensor"

// What it costs is the difference to a search without these words.
// RUN: sed -e 's/PINS/tsr.shard = {out = "tensor"}/' %s | tessera-opt --tsr-shard=explain | FileCheck %s --check-prefix=PRICE
// PRICE: tsr.found_sharding = {bound = {{.*}}decisions = [{{.*}}seconds = {{.*}}, unpinned =
// RUN: sed -e 's/, PINS//' %s | tessera-opt --tsr-shard=explain | FileCheck %s --check-prefix=FREE
// FREE: decisions = [{along = "tensor", chosen = "{{[a-z]+}}", rejected = [{axis = "{{[a-z]*}}", exact = true, seconds = {{[^}]*}}}{{.*}}], seconds = {{[^,]*}}}, tsr.mesh

module attributes {tsr.axes = ["batch", "in", "out"], tsr.phase = "optimize", tsr.devices = 4 : i64, tsr.data = [{name = "d", batch = ["batch", 8]}], PINS} {
  tsr.state @w "weight" !tsr.tensor<[in: 8, out: 12], f32>
  tsr.state @w.m "moment" !tsr.tensor<[in: 8, out: 12], f32>
  tsr.state @mean "state" !tsr.tensor<[out: 12], f32>
  func.func @step(%x: !tsr.tensor<[batch: 8, in: 8], f32> {tsr.input = {name = "x", role = "data"}},
      %w: !tsr.tensor<[in: 8, out: 12], f32> {tsr.state = @w}, %m: !tsr.tensor<[in: 8, out: 12], f32> {tsr.state = @w.m},
      %y: !tsr.tensor<[batch: 8, out: 12], f32> {tsr.input = {name = "y", role = "data"}})
      -> (!tsr.tensor<[in: 8, out: 12], f32> {tsr.state = @w}, !tsr.tensor<[in: 8, out: 12], f32> {tsr.state = @w.m}) {
    %p = tsr.contract %x, %w over [in] : (!tsr.tensor<[batch: 8, in: 8], f32>, !tsr.tensor<[in: 8, out: 12], f32>) -> !tsr.tensor<[batch: 8, out: 12], f32>
    %d = tsr.sub %p, %y : !tsr.tensor<[batch: 8, out: 12], f32>
    %g = tsr.contract %x, %d over [batch] : (!tsr.tensor<[batch: 8, in: 8], f32>, !tsr.tensor<[batch: 8, out: 12], f32>) -> !tsr.tensor<[in: 8, out: 12], f32>
    %c = tsr.constant 0.9
    %old = tsr.mul %m, %c : !tsr.tensor<[in: 8, out: 12], f32>, !tsr.tensor<[], f32>
    %m1 = tsr.add %old, %g : !tsr.tensor<[in: 8, out: 12], f32>
    %w1 = tsr.sub %w, %m1 : !tsr.tensor<[in: 8, out: 12], f32>
    return %w1, %m1 : !tsr.tensor<[in: 8, out: 12], f32>, !tsr.tensor<[in: 8, out: 12], f32>
  }
  func.func @evaluate(%y: !tsr.tensor<[batch: 8, out: 12], f32> {tsr.input = {name = "y", role = "data"}},
      %mean: !tsr.tensor<[out: 12], f32> {tsr.state = @mean}) -> (!tsr.tensor<[batch: 8, out: 12], f32> {tsr.output = {name = "z", role = "prediction"}}) {
    %z = tsr.sub %y, %mean : !tsr.tensor<[batch: 8, out: 12], f32>, !tsr.tensor<[out: 12], f32>
    return %z : !tsr.tensor<[batch: 8, out: 12], f32>
  }
}
