// RUN: tessera-opt %s --tsr-verify-phase=phase=precision --split-input-file --verify-diagnostics

// Contractions have low-precision operands.
module attributes {tsr.axes = ["batch", "in", "out"], tsr.settings = {compute = {type = "bf16"}}} {
  func.func @evaluate(%x: !tsr.tensor<[batch: 8, in: 4], f32>, %w: !tsr.tensor<[in: 4, out: 2], f32>) -> !tsr.tensor<[batch: 8, out: 2], f32> {
    // expected-error @+1 {{expected 'bf16' operands, got 'f32'}}
    %y = tsr.contract %x, %w over ["in"] : (!tsr.tensor<[batch: 8, in: 4], f32>, !tsr.tensor<[in: 4, out: 2], f32>) -> !tsr.tensor<[batch: 8, out: 2], f32>
    return %y : !tsr.tensor<[batch: 8, out: 2], f32>
  }
}

// -----

// Elementwise arithmetic is in f32.
module attributes {tsr.axes = ["batch"], tsr.settings = {compute = {type = "bf16"}}} {
  func.func @evaluate(%x: !tsr.tensor<[batch: 8], bf16>) -> !tsr.tensor<[batch: 8], bf16> {
    // expected-error @+1 {{expected f32 arithmetic, got 'bf16'}}
    %y = tsr.exp %x : !tsr.tensor<[batch: 8], bf16>
    return %y : !tsr.tensor<[batch: 8], bf16>
  }
}

// -----

// A contraction that `tsr.precision` exempts has f32 operands.
module attributes {tsr.axes = ["batch", "in"], tsr.settings = {compute = {type = "bf16"}}} {
  func.func @evaluate(%x: !tsr.tensor<[batch: 8, in: 4], bf16>, %w: !tsr.tensor<[in: 4], bf16>) -> !tsr.tensor<[batch: 8], bf16> {
    // expected-error @+1 {{expected f32 operands by tsr.precision, got 'bf16'}}
    %y = tsr.contract %x, %w over ["in"] {tsr.precision = f32} : (!tsr.tensor<[batch: 8, in: 4], bf16>, !tsr.tensor<[in: 4], bf16>) -> !tsr.tensor<[batch: 8], bf16>
    return %y : !tsr.tensor<[batch: 8], bf16>
  }
}

// -----

// Without `compute(…)` there are no low-precision values.
module attributes {tsr.axes = ["batch"]} {
  func.func @evaluate(%x: !tsr.tensor<[batch: 8], f32>) -> !tsr.tensor<[batch: 8], f32> {
    // expected-error @+1 {{unexpected element type 'f16'}}
    %l = tsr.cast %x : !tsr.tensor<[batch: 8], f32> to !tsr.tensor<[batch: 8], f16>
    %y = tsr.cast %l : !tsr.tensor<[batch: 8], f16> to !tsr.tensor<[batch: 8], f32>
    return %y : !tsr.tensor<[batch: 8], f32>
  }
}

// -----

// State is f32.
module attributes {tsr.axes = ["in"], tsr.settings = {compute = {type = "bf16"}}} {
  // expected-error @+1 {{expected state in f32, got 'bf16'}}
  tsr.state @w "weight" !tsr.tensor<[in: 4], bf16>
}

// -----

// Under fp8 a contraction with a weight matrix has fp8 operands, and no other one has.
module attributes {tsr.axes = ["batch", "in", "out"], tsr.settings = {compute = {type = "fp8"}}} {
  tsr.state @w "weight" !tsr.tensor<[in: 4, out: 2], f32>
  func.func @step(%w: !tsr.tensor<[in: 4, out: 2], f32> {tsr.state = @w}, %x: !tsr.tensor<[batch: 8, in: 4], bf16>) -> !tsr.tensor<[batch: 8, out: 2], bf16> {
    %l = tsr.cast %w : !tsr.tensor<[in: 4, out: 2], f32> to !tsr.tensor<[in: 4, out: 2], bf16>
    // expected-error @+1 {{expected fp8 operands, got 'bf16'}}
    %y = tsr.contract %x, %l over ["in"] : (!tsr.tensor<[batch: 8, in: 4], bf16>, !tsr.tensor<[in: 4, out: 2], bf16>) -> !tsr.tensor<[batch: 8, out: 2], bf16>
    return %y : !tsr.tensor<[batch: 8, out: 2], bf16>
  }
}

// -----

// Values of another low-precision type do not occur.
module attributes {tsr.axes = ["batch"], tsr.settings = {compute = {type = "bf16"}}} {
  func.func @evaluate(%x: !tsr.tensor<[batch: 8], f32>) -> !tsr.tensor<[batch: 8], f32> {
    // expected-error @+1 {{unexpected element type 'f8E5M2'}}
    %l = tsr.cast %x : !tsr.tensor<[batch: 8], f32> to !tsr.tensor<[batch: 8], f8E5M2>
    %y = tsr.cast %l : !tsr.tensor<[batch: 8], f8E5M2> to !tsr.tensor<[batch: 8], f32>
    return %y : !tsr.tensor<[batch: 8], f32>
  }
}
