// RUN: tessera-opt %s --split-input-file --tsr-optimize --tsr-simplify | FileCheck %s

// AdamW and clipping: state in the table, in `init` as zeros and in `step` after the other state; the norm as two reductions; the
// parameter and its moments do not change if the norm is not finite.
// CHECK-LABEL: module attributes {{.*}}tsr.model = "adamw"
module attributes {tsr.model = "adamw", tsr.axes = ["in", "out"], tsr.phase = "differentiate"} {
  tsr.state @w "weight" !tsr.tensor<[in: 4, out: 2], f32>
  tsr.state @step "counter" !tsr.tensor<[], i32>
  // CHECK: tsr.state @step "counter"
  // CHECK-NEXT: tsr.state @w.m "moment" !tsr.tensor<[in: 4, out: 2], f32>
  // CHECK-NEXT: tsr.state @w.v "moment" !tsr.tensor<[in: 4, out: 2], f32>

  // CHECK: func.func @init
  // CHECK-SAME: {tsr.state = @step}, !tsr.tensor<[in: 4, out: 2], f32> {tsr.state = @w.m}, !tsr.tensor<[in: 4, out: 2], f32> {tsr.state = @w.v})
  func.func @init(%seed: !tsr.tensor<[], i64> {tsr.input = {name = "seed", role = "seed"}}) -> (!tsr.tensor<[in: 4, out: 2], f32> {tsr.state = @w}, !tsr.tensor<[], i32> {tsr.state = @step}) {
    // CHECK: %[[ZERO:.*]] = tsr.constant 0.0
    // CHECK: return %{{.*}}, %{{.*}}, %[[ZERO]], %[[ZERO]]
    %w = tsr.constant 1.0 : f32 -> !tsr.tensor<[in: 4, out: 2], f32>
    %s = tsr.constant 0 : i32 -> !tsr.tensor<[], i32>
    return %w, %s : !tsr.tensor<[in: 4, out: 2], f32>, !tsr.tensor<[], i32>
  }

  // CHECK: func.func @step(%[[W:[a-z0-9]*]]: !tsr.tensor<[in: 4, out: 2], f32> {tsr.state = @w}, %[[STEP:.*]]: !tsr.tensor<[], i32> {tsr.state = @step}, %[[M:.*]]: !tsr.tensor<[in: 4, out: 2], f32> {tsr.state = @w.m}, %[[V:.*]]: !tsr.tensor<[in: 4, out: 2], f32> {tsr.state = @w.v}, %[[G:.*]]: !tsr.tensor<[in: 4, out: 2], f32> {tsr.input =
  // CHECK-SAME: -> (!tsr.tensor<[in: 4, out: 2], f32> {tsr.state = @w}, !tsr.tensor<[in: 4, out: 2], f32> {tsr.state = @w.m}, !tsr.tensor<[in: 4, out: 2], f32> {tsr.state = @w.v}, !tsr.tensor<[], f32> {tsr.output =
  func.func @step(%w: !tsr.tensor<[in: 4, out: 2], f32> {tsr.state = @w}, %step: !tsr.tensor<[], i32> {tsr.state = @step}, %g: !tsr.tensor<[in: 4, out: 2], f32> {tsr.input = {name = "g", role = "data"}}) -> (!tsr.tensor<[in: 4, out: 2], f32> {tsr.state = @w}, !tsr.tensor<[], f32> {tsr.output = {name = "norm", role = "grad_norm"}}) {
    // CHECK-DAG: %[[INF:.*]] = tsr.constant 0x7F800000
    // CHECK: %[[ROWS:.*]] = tsr.reduce sum %{{.*}} over [out]
    // CHECK-NEXT: %[[ALL:.*]] = tsr.reduce sum %[[ROWS]] over [in]
    // CHECK-NEXT: %[[NORM:.*]] = tsr.sqrt %[[ALL]]
    // CHECK-NEXT: %[[MAX:.*]] = tsr.max %[[NORM]], %[[LIMIT:.*]] optimizer :
    // CHECK-NEXT: %[[SCALE:.*]] = tsr.div %[[LIMIT]], %[[MAX]]
    // CHECK-NEXT: tsr.mul %[[G]], %[[SCALE]]
    // CHECK: %[[FINITE:.*]] = tsr.compare lt %[[NORM]], %[[INF]]
    // CHECK-NEXT: %[[W1:.*]] = tsr.select %[[FINITE]], %{{.*}}, %[[W]]
    // CHECK-NEXT: %[[M1:.*]] = tsr.select %[[FINITE]], %{{.*}}, %[[M]]
    // CHECK-NEXT: %[[V1:.*]] = tsr.select %[[FINITE]], %{{.*}}, %[[V]]
    // CHECK-NEXT: return %[[W1]], %[[M1]], %[[V1]], %[[NORM]]
    %limit = tsr.constant 1.0 : f32 -> !tsr.tensor<[], f32>
    %rate = tsr.constant 1.0e-3 : f32 -> !tsr.tensor<[], f32>
    %b1 = tsr.constant 0.9 : f32 -> !tsr.tensor<[], f32>
    %b2 = tsr.constant 0.95 : f32 -> !tsr.tensor<[], f32>
    %eps = tsr.constant 1.0e-8 : f32 -> !tsr.tensor<[], f32>
    %decay = tsr.constant 0.1 : f32 -> !tsr.tensor<[], f32>
    %c, %norm = tsr.clip(%g) limit %limit : (!tsr.tensor<[in: 4, out: 2], f32>, !tsr.tensor<[], f32>) -> (!tsr.tensor<[in: 4, out: 2], f32>, !tsr.tensor<[], f32>)
    %n = tsr.update "adamw" @w %w gradient %c step %step norm %norm arguments ["rate", "beta1", "beta2", "epsilon", "decay"](%rate, %b1, %b2, %eps, %decay) : (!tsr.tensor<[in: 4, out: 2], f32>, !tsr.tensor<[in: 4, out: 2], f32>, !tsr.tensor<[], i32>, !tsr.tensor<[], f32>, !tsr.tensor<[], f32>, !tsr.tensor<[], f32>, !tsr.tensor<[], f32>, !tsr.tensor<[], f32>, !tsr.tensor<[], f32>) -> !tsr.tensor<[in: 4, out: 2], f32>
    return %n, %norm : !tsr.tensor<[in: 4, out: 2], f32>, !tsr.tensor<[], f32>
  }
}

// -----

// Plain SGD keeps no state, and without a limit nothing is scaled.
// CHECK-LABEL: module attributes {{.*}}tsr.model = "sgd"
module attributes {tsr.model = "sgd", tsr.axes = ["in"], tsr.phase = "differentiate"} {
  tsr.state @w "weight" !tsr.tensor<[in: 4], f32>
  // CHECK-NOT: moment
  // CHECK: func.func @step
  func.func @step(%w: !tsr.tensor<[in: 4], f32> {tsr.state = @w}, %step: !tsr.tensor<[], i32> {tsr.input = {name = "s", role = "data"}}, %g: !tsr.tensor<[in: 4], f32> {tsr.input = {name = "g", role = "data"}}) -> (!tsr.tensor<[in: 4], f32> {tsr.state = @w}) {
    // CHECK: %[[RATE:.*]] = tsr.constant 0.1
    // CHECK: %[[D:.*]] = tsr.mul %arg2, %[[RATE]]
    // CHECK-NOT: tsr.mul
    // CHECK: tsr.sub %arg0, %[[D]]
    %rate = tsr.constant 0.1 : f32 -> !tsr.tensor<[], f32>
    %zero = tsr.constant 0.0 : f32 -> !tsr.tensor<[], f32>
    %c, %norm = tsr.clip(%g) : (!tsr.tensor<[in: 4], f32>) -> (!tsr.tensor<[in: 4], f32>, !tsr.tensor<[], f32>)
    %n = tsr.update "sgd" @w %w gradient %c step %step norm %norm arguments ["rate", "momentum", "decay"](%rate, %zero, %zero) : (!tsr.tensor<[in: 4], f32>, !tsr.tensor<[in: 4], f32>, !tsr.tensor<[], i32>, !tsr.tensor<[], f32>, !tsr.tensor<[], f32>, !tsr.tensor<[], f32>, !tsr.tensor<[], f32>) -> !tsr.tensor<[in: 4], f32>
    return %n : !tsr.tensor<[in: 4], f32>
  }
}

// -----

// Nesterov momentum steps along g + momentum * buffer.
// CHECK-LABEL: module attributes {{.*}}tsr.model = "nesterov"
module attributes {tsr.model = "nesterov", tsr.axes = ["in"], tsr.phase = "differentiate"} {
  tsr.state @w "weight" !tsr.tensor<[in: 4], f32>
  // CHECK: tsr.state @w.momentum "moment"
  // CHECK: func.func @step(%[[W:[a-z0-9]*]]: {{[^{]*}} {tsr.state = @w}, %[[U:[a-z0-9]*]]: {{[^{]*}} {tsr.state = @w.momentum}, %[[S:[a-z0-9]*]]: {{[^(]*}}, %[[G:[a-z0-9]*]]: {{[^(]*}}) -> (
  func.func @step(%w: !tsr.tensor<[in: 4], f32> {tsr.state = @w}, %step: !tsr.tensor<[], i32> {tsr.input = {name = "s", role = "data"}}, %g: !tsr.tensor<[in: 4], f32> {tsr.input = {name = "g", role = "data"}}) -> (!tsr.tensor<[in: 4], f32> {tsr.state = @w}) {
    // CHECK: %[[OLD:.*]] = tsr.mul %[[U]], %[[MU:.*]] :
    // CHECK-NEXT: %[[NEW:.*]] = tsr.add %[[OLD]], %[[G]]
    // CHECK-NEXT: %[[AHEAD:.*]] = tsr.mul %[[NEW]], %[[MU]]
    // CHECK-NEXT: tsr.add %[[G]], %[[AHEAD]]
    %rate = tsr.constant 0.1 : f32 -> !tsr.tensor<[], f32>
    %mu = tsr.constant 0.9 : f32 -> !tsr.tensor<[], f32>
    %c, %norm = tsr.clip(%g) : (!tsr.tensor<[in: 4], f32>) -> (!tsr.tensor<[in: 4], f32>, !tsr.tensor<[], f32>)
    %n = tsr.update "sgd" @w nesterov %w gradient %c step %step norm %norm arguments ["rate", "momentum"](%rate, %mu) : (!tsr.tensor<[in: 4], f32>, !tsr.tensor<[in: 4], f32>, !tsr.tensor<[], i32>, !tsr.tensor<[], f32>, !tsr.tensor<[], f32>, !tsr.tensor<[], f32>) -> !tsr.tensor<[in: 4], f32>
    return %n : !tsr.tensor<[in: 4], f32>
  }
}
