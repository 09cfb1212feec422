// What the short forms leave out must follow from what is there.

// RUN: tessera-opt %s --split-input-file --verify-diagnostics

func.func @no_widest(%x: !tsr.tensor<[b: 3], f32>, %y: !tsr.tensor<[n: 4], f32>) {
  // expected-error@+1 {{expected `-> TYPE`: no operand has all axes of the result}}
  %0 = tsr.mul %x, %y : <[b: 3], f32>, <[n: 4], f32>
  return
}

// -----

func.func @three(%x: !tsr.tensor<[b: 3], f32>) {
  // expected-error@+1 {{expected the types of two operands, got 3}}
  %0 = tsr.mul %x, %x : <[b: 3], f32>, <[b: 3], f32>, <[b: 3], f32>
  return
}

// -----

func.func @one(%x: !tsr.tensor<[b: 3], i1>) {
  // expected-error@+1 {{expected the types of a condition and of one or two values, got 1}}
  %0 = tsr.select %x, %x, %x : <[b: 3], i1>
  return
}

// -----

func.func @literal() {
  // expected-error@+1 {{expected element type 'i32', got 'f64'}}
  %0 = tsr.constant 0.5 -> <[], i32>
  return
}

// -----

func.func @too_large() {
  // expected-error@+1 {{expected element type 'i32', got 'i64'}}
  %0 = tsr.constant 9000000000 -> <[], i32>
  return
}

// -----

func.func @no_yield(%x: !tsr.tensor<[b: 3], f32>) {
  // expected-error@+1 {{expected a region that ends with a yield}}
  %0 = tsr.kernel "k" (%v = %x : !tsr.tensor<[b: 3], f32>) parallel [b] {
  }
  return
}

// -----

func.func @text() {
  // expected-error@+1 {{expected element type f64, f32, bf16, f16, f8E4M3FN, f8E5M2, i64, i32 or i1, got}}
  %0 = tsr.constant "half"
  return
}
