// The short forms that ops print, and the long ones that parse too: each pair gives one text.

// RUN: tessera-opt %s | FileCheck %s
// RUN: tessera-opt %s | tessera-opt | FileCheck %s

// Operands and result of one type: it prints once. A result as large as an operand is left out; any other is there.
// CHECK-LABEL: func.func @types
func.func @types(%x: !tsr.tensor<[b: 3, n: 4], f32>, %y: !tsr.tensor<[n: 4], f32>, %z: !tsr.tensor<[b: 3], f32>) {
  // CHECK-COUNT-2: tsr.mul %arg0, %arg0 : <[b: 3, n: 4], f32>{{$}}
  %0 = tsr.mul %x, %x : (!tsr.tensor<[b: 3, n: 4], f32>, !tsr.tensor<[b: 3, n: 4], f32>) -> !tsr.tensor<[b: 3, n: 4], f32>
  %1 = tsr.mul %x, %x : <[b: 3, n: 4], f32>
  // CHECK-COUNT-2: tsr.add %arg1, %arg0 : <[n: 4], f32>, <[b: 3, n: 4], f32>{{$}}
  %2 = tsr.add %y, %x : (!tsr.tensor<[n: 4], f32>, !tsr.tensor<[b: 3, n: 4], f32>) -> !tsr.tensor<[b: 3, n: 4], f32>
  %3 = tsr.add %y, %x : <[n: 4], f32>, <[b: 3, n: 4], f32>
  // CHECK: tsr.add %arg1, %arg2 : <[n: 4], f32>, <[b: 3], f32> -> <[b: 3, n: 4], f32>
  %4 = tsr.add %y, %z : <[n: 4], f32>, <[b: 3], f32> -> <[b: 3, n: 4], f32>
  // A result in another order than the operand's is there.
  // CHECK: tsr.sub %arg0, %arg1 : <[b: 3, n: 4], f32>, <[n: 4], f32> -> <[n: 4, b: 3], f32>
  %5 = tsr.sub %x, %y : <[b: 3, n: 4], f32>, <[n: 4], f32> -> <[n: 4, b: 3], f32>
  // CHECK-COUNT-2: tsr.compare lt %arg0, %arg1 : <[b: 3, n: 4], f32>, <[n: 4], f32>{{$}}
  %6 = tsr.compare lt %x, %y : (!tsr.tensor<[b: 3, n: 4], f32>, !tsr.tensor<[n: 4], f32>) -> !tsr.tensor<[b: 3, n: 4], i1>
  %7 = tsr.compare lt %x, %y : <[b: 3, n: 4], f32>, <[n: 4], f32>
  // CHECK: tsr.select %{{.*}}, %arg0, %arg0 : <[b: 3, n: 4], i1>, <[b: 3, n: 4], f32>{{$}}
  %8 = tsr.select %7, %x, %x : (!tsr.tensor<[b: 3, n: 4], i1>, !tsr.tensor<[b: 3, n: 4], f32>, !tsr.tensor<[b: 3, n: 4], f32>) -> !tsr.tensor<[b: 3, n: 4], f32>
  // CHECK: tsr.select %{{.*}}, %arg1, %arg2 : <[b: 3, n: 4], i1>, <[n: 4], f32>, <[b: 3], f32>{{$}}
  %9 = tsr.select %7, %y, %z : <[b: 3, n: 4], i1>, <[n: 4], f32>, <[b: 3], f32>
  // CHECK-COUNT-2: tsr.reduce sum %arg0 over [n] : <[b: 3, n: 4], f32>{{$}}
  %10 = tsr.reduce sum %x over ["n"] : <[b: 3, n: 4], f32> -> <[b: 3], f32>
  %11 = tsr.reduce sum %x over [n] : <[b: 3, n: 4], f32>
  return
}

// Allocated sizes, on any axis; an axis whose allocated size is its size has none.
// CHECK-LABEL: func.func @allocated
// CHECK-SAME: (%arg0: !tsr.tensor<[b: 3, n: 77 of 80], bf16>, %arg1: !tsr.tensor<[b: 3, head: 2 of 6, hd: 4], f32>, %arg2: !tsr.tensor<[n: 4], f32>)
func.func @allocated(%x: !tsr.tensor<[b: 3, n: 77 of 80], bf16>, %y: !tsr.tensor<[b: 3 of 3, head: 2 of 6, hd: 4], f32>, %z: !tsr.tensor<[n: 4 of 4], f32>) {
  // A result has the allocated sizes of the operand that it has the axes of, unless its type is there.
  // CHECK-COUNT-2: tsr.neg %arg0 : <[b: 3, n: 77 of 80], bf16>
  %0 = tsr.neg %x : !tsr.tensor<[b: 3, n: 77 of 80], bf16>
  %1 = tsr.neg %x : <[b: 3, n: 77 of 80], bf16>
  // CHECK-COUNT-2: tsr.cast %arg0 : <[b: 3, n: 77 of 80], bf16> to <[b: 3, n: 77], f32>
  %2 = tsr.cast %x : !tsr.tensor<[b: 3, n: 77 of 80], bf16> to !tsr.tensor<[b: 3, n: 77], f32>
  %3 = tsr.cast %x : <[b: 3, n: 77 of 80], bf16> to <[b: 3, n: 77], f32>
  // CHECK: tsr.add %arg0, %arg0 : <[b: 3, n: 77 of 80], bf16> -> <[b: 3, n: 77], bf16>
  %4 = tsr.add %x, %x : <[b: 3, n: 77 of 80], bf16> -> <[b: 3, n: 77], bf16>
  return
}

// The user's name, the pass of the step and the places print without braces, other attributes in braces.
// CHECK-LABEL: func.func @notes
func.func @notes(%x: !tsr.tensor<[n: 4], f32>) {
  // CHECK-COUNT-2: tsr.exp %arg0 as "h.e" at <64> {tsr.precision = f32} : <[n: 4], f32>
  %0 = tsr.exp %x {tsr.precision = f32, tsr.name = "h.e", tsr.places = [#tsr.place<64>]} : <[n: 4], f32>
  %1 = tsr.exp %x as "h.e" at <64> {tsr.precision = f32} : <[n: 4], f32>
  // CHECK-COUNT-2: tsr.neg %arg0 as "h.e.grad" backward at <64> {tsr.precision = f32} : <[n: 4], f32>
  %pass0 = tsr.neg %x {tsr.pass = "backward", tsr.precision = f32, tsr.name = "h.e.grad", tsr.places = [#tsr.place<64>]} : <[n: 4], f32>
  %pass1 = tsr.neg %x as "h.e.grad" backward at <64> {tsr.precision = f32} : <[n: 4], f32>
  // CHECK-COUNT-2: tsr.sqrt %arg0 optimizer : <[n: 4], f32>
  %pass2 = tsr.sqrt %x {tsr.pass = "optimizer"} : <[n: 4], f32>
  %pass3 = tsr.sqrt %x optimizer : <[n: 4], f32>
  // Another value of the attribute has no short form.
  // CHECK: tsr.abs %arg0 {tsr.pass = "other"} : <[n: 4], f32>
  %pass4 = tsr.abs %x {tsr.pass = "other"} : <[n: 4], f32>
  // CHECK-COUNT-2: = tsr.kernel "k" (%a = %arg0 : !tsr.tensor<[n: 4], f32>) parallel [n] vector n as "h.k" at <0> attributes {tsr.group = 1 : i64} {
  %2 = tsr.kernel "k" (%v = %x : !tsr.tensor<[n: 4], f32>) parallel ["n"] serial [] vector "n" -> (!tsr.tensor<[n: 4], f32>) attributes {tsr.launch = 1 : i64, tsr.name = "h.k", tsr.places = [#tsr.place<0>]} {
    %r = tsr.neg %v : <[n: 4], f32>
    tsr.yield %r : !tsr.tensor<[n: 4], f32>
  }
  %3 = tsr.kernel "k" (%v = %x : !tsr.tensor<[n: 4], f32>) parallel [n] vector n as "h.k" at <0> attributes {tsr.group = 1 : i64} {
    %r = tsr.neg %v : <[n: 4], f32>
    tsr.yield %r : !tsr.tensor<[n: 4], f32>
  }
  // CHECK-COUNT-2: tsr.repeat [layer: 2] index %{{.*}} carry (%{{.*}} = %arg0 : !tsr.tensor<[n: 4], f32>) -> !tsr.tensor<[n: 4], f32> arguments at <64>, <0, [8]> at <0> {
  %4 = tsr.repeat [layer: 2] index %i carry (%v = %x : !tsr.tensor<[n: 4], f32>) -> !tsr.tensor<[n: 4], f32> attributes {argPlaces = [#tsr.place<64>, #tsr.place<0, [8]>], tsr.places = [#tsr.place<0>]} {
    tsr.yield %v : !tsr.tensor<[n: 4], f32>
  }
  %5 = tsr.repeat [layer: 2] index %i carry (%v = %x : !tsr.tensor<[n: 4], f32>) -> !tsr.tensor<[n: 4], f32> arguments at <64>, <0, [8]> at <0> {
    tsr.yield %v : !tsr.tensor<[n: 4], f32>
  }
  // CHECK-COUNT-2: tsr.repeat [layer: 2] index %{{.*}} invariant (%{{.*}} = %arg0 : !tsr.tensor<[n: 4], f32>) -> !tsr.tensor<[layer: 2, n: 4], f32> {
  %6 = tsr.repeat [layer: 2] index %i keep (%v = %x : !tsr.tensor<[n: 4], f32>) -> !tsr.tensor<[layer: 2, n: 4], f32> {
    tsr.yield %v : !tsr.tensor<[n: 4], f32>
  }
  %7 = tsr.repeat [layer: 2] index %i invariant (%v = %x : !tsr.tensor<[n: 4], f32>) -> !tsr.tensor<[layer: 2, n: 4], f32> {
    tsr.yield %v : !tsr.tensor<[n: 4], f32>
  }
  return
}

// Flags of an update are keywords after the state; the keyword before its arguments was `hypers` in earlier versions.
// CHECK-LABEL: func.func @update
func.func @update(%w: !tsr.tensor<[n: 4], f32>, %s: !tsr.tensor<[], i32>, %r: !tsr.tensor<[], f32>) {
  // CHECK-COUNT-2: tsr.update "sgd" @w nesterov %arg0 gradient %arg0 step %arg1 norm %arg2 arguments [rate](%arg2) :
  %0 = tsr.update "sgd" @w nesterov %w gradient %w step %s norm %r hypers ["rate"](%r) : (!tsr.tensor<[n: 4], f32>, !tsr.tensor<[n: 4], f32>, !tsr.tensor<[], i32>, !tsr.tensor<[], f32>, !tsr.tensor<[], f32>) -> !tsr.tensor<[n: 4], f32>
  %1 = tsr.update "sgd" @w nesterov %w gradient %w step %s norm %r arguments [rate](%r) : (!tsr.tensor<[n: 4], f32>, !tsr.tensor<[n: 4], f32>, !tsr.tensor<[], i32>, !tsr.tensor<[], f32>, !tsr.tensor<[], f32>) -> !tsr.tensor<[n: 4], f32>
  // CHECK: tsr.update "sgd" @w %arg0 gradient %arg0 step %arg1 norm %arg2 arguments [rate](%arg2) :
  %2 = tsr.update "sgd" @w %w gradient %w step %s norm %r arguments [rate](%r) : (!tsr.tensor<[n: 4], f32>, !tsr.tensor<[n: 4], f32>, !tsr.tensor<[], i32>, !tsr.tensor<[], f32>, !tsr.tensor<[], f32>) -> !tsr.tensor<[n: 4], f32>
  return
}

// Spellings of earlier versions: an attribute and a keyword had other names.
// CHECK-LABEL: func.func @earlier
func.func @earlier(%x: !tsr.tensor<[n: 4], f32>) {
  // CHECK-COUNT-2: tsr.exp %arg0 {tsr.precision = f32} : <[n: 4], f32>
  %0 = tsr.exp %x {tsr.keep = f32} : <[n: 4], f32>
  %1 = tsr.exp %x {tsr.precision = f32} : <[n: 4], f32>
  // CHECK-COUNT-2: tsr.repeat [layer: 2] index %{{.*}} invariant (%{{.*}} = %arg0 : !tsr.tensor<[n: 4], f32>) -> !tsr.tensor<[layer: 2, n: 4], f32> attributes {tsr.precision = f32} {
  %2 = tsr.repeat [layer: 2] index %i keep (%v = %x : !tsr.tensor<[n: 4], f32>) -> !tsr.tensor<[layer: 2, n: 4], f32> attributes {tsr.keep = f32} {
    tsr.yield %v : !tsr.tensor<[n: 4], f32>
  }
  %3 = tsr.repeat [layer: 2] index %i invariant (%v = %x : !tsr.tensor<[n: 4], f32>) -> !tsr.tensor<[layer: 2, n: 4], f32> attributes {tsr.precision = f32} {
    tsr.yield %v : !tsr.tensor<[n: 4], f32>
  }
  return
}

// Constants print with as few digits as identify them, and their values are named for them.
// CHECK-LABEL: func.func @constants
func.func @constants(%x: !tsr.tensor<[n: 4], f32>) {
  // CHECK-NEXT: %c0.5 = tsr.constant 0.5{{$}}
  %half = tsr.constant 5.000000e-01 : f32 -> <[], f32>
  // CHECK-NEXT: tsr.mul %arg0, %c0.5 :
  %0 = tsr.mul %x, %half : <[n: 4], f32>, <[], f32>
  // CHECK-NEXT: %c0.1 = tsr.constant 0.1 -> <[n: 4], f32>
  %1 = tsr.constant 1.000000e-01 : f32 -> <[n: 4], f32>
  // CHECK-NEXT: tsr.constant 0.1 -> <[], f64>
  %2 = tsr.constant 0.1 -> <[], f64>
  // CHECK-NEXT: %c1.0e-06 = tsr.constant 1.0e-06{{$}}
  %3 = tsr.constant 9.99999997E-7 -> <[], f32>
  // CHECK-NEXT: tsr.constant 0.1 -> <[], bf16>
  %4 = tsr.constant 1.001e-01 : bf16 -> <[], bf16>
  // CHECK-NEXT: %c-7 = tsr.constant -7{{$}}
  %5 = tsr.constant -7 : i32 -> <[], i32>
  // CHECK-NEXT: tsr.constant 9000000000 -> <[], i64>
  %6 = tsr.constant 9000000000 -> <[], i64>
  // CHECK-NEXT: %ctrue = tsr.constant true{{$}}
  %7 = tsr.constant true -> <[], i1>
  // CHECK-NEXT: tsr.constant -0.0{{$}}
  %8 = tsr.constant -0.0
  // Infinities have no literal: their bits print with the type.
  // CHECK-NEXT: %c-inf = tsr.constant 0xFF800000 : f32{{$}}
  %9 = tsr.constant 0xFF800000 : f32 -> <[], f32>
  return
}
