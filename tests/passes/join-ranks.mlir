// RUN: tessera-opt %s --tsr-join --tsr-layout | FileCheck %s

// What ranks send is contiguous: a part of a joined result is copied for that.
// CHECK-LABEL: func.func @step
// CHECK: %[[BOTH:.*]] = tsr.slice {{.*}} joined from 0 : {{.*}} -> <[batch: 8, joined: 16 of 48], bf16>
// CHECK: %[[PART:.*]] = tsr.rename %[[BOTH]] [joined] to [a]
// CHECK: %[[SENT:.*]] = tsr.reorder %[[PART]] : <[batch: 8, a: 16 of 48], bf16> -> <[batch: 8, a: 16], bf16>
// CHECK: %[[STARTED:.*]] = tsr.start all_gather %[[SENT]] along data
// CHECK: tsr.wait %[[STARTED]] sent %[[SENT]]
module attributes {tsr.axes = ["batch", "in", "a", "b"], tsr.target = "cuda", tsr.phase = "chunk", tsr.mesh = [#tsr.axis<data: 2>]} {
  func.func @step(%x: !tsr.tensor<[batch: 8, in: 32], bf16>, %wa: !tsr.tensor<[in: 32, a: 16], f32>, %wb: !tsr.tensor<[in: 32, b: 32], f32>)
      -> (!tsr.tensor<[data: 2, batch: 8, a: 16], bf16>, !tsr.tensor<[batch: 8, b: 32], f32>) {
    %wal = tsr.cast %wa : !tsr.tensor<[in: 32, a: 16], f32> to !tsr.tensor<[in: 32, a: 16], bf16>
    %wbl = tsr.cast %wb : !tsr.tensor<[in: 32, b: 32], f32> to !tsr.tensor<[in: 32, b: 32], bf16>
    %0 = tsr.contract %x, %wal over [in] : (!tsr.tensor<[batch: 8, in: 32], bf16>, !tsr.tensor<[in: 32, a: 16], bf16>) -> !tsr.tensor<[batch: 8, a: 16], f32>
    %1 = tsr.contract %x, %wbl over [in] : (!tsr.tensor<[batch: 8, in: 32], bf16>, !tsr.tensor<[in: 32, b: 32], bf16>) -> !tsr.tensor<[batch: 8, b: 32], f32>
    %y = tsr.cast %0 : !tsr.tensor<[batch: 8, a: 16], f32> to !tsr.tensor<[batch: 8, a: 16], bf16>
    %z = tsr.cast %1 : !tsr.tensor<[batch: 8, b: 32], f32> to !tsr.tensor<[batch: 8, b: 32], bf16>
    %w = tsr.cast %z : !tsr.tensor<[batch: 8, b: 32], bf16> to !tsr.tensor<[batch: 8, b: 32], f32>
    %s = tsr.start all_gather %y along data : !tsr.tensor<[batch: 8, a: 16], bf16> -> !tsr.tensor<[data: 2, batch: 8, a: 16], bf16>
    %g = tsr.wait %s sent %y : !tsr.tensor<[data: 2, batch: 8, a: 16], bf16>, !tsr.tensor<[batch: 8, a: 16], bf16>
    return %g, %w : !tsr.tensor<[data: 2, batch: 8, a: 16], bf16>, !tsr.tensor<[batch: 8, b: 32], f32>
  }
}
