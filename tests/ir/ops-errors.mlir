// RUN: tessera-opt %s --split-input-file --verify-diagnostics

// What the verifier refuses, and how it says so. C1, C2, … are the constraints in the description of the op that the case is of.

// Axis names are unique within a tensor.
// expected-error @below {{axis `a` occurs twice}}
func.func private @f(!tsr.tensor<[a: 2, a: 3], f32>)

// -----

// An axis has at least one element.
// expected-error @below {{expected a positive size for axis `a`, got 0}}
func.func private @f(!tsr.tensor<[a: 0], f32>)

// -----

// An axis has memory for all its elements.
// expected-error @below {{expected an allocated size of at least 4 for axis `a`, got 3}}
func.func private @f(!tsr.tensor<[a: 4 of 3], f32>)

// -----

// Allocated sizes are a part of the type: what leaves a kernel has those of its result.
func.func @f(%x: !tsr.tensor<[a: 2, b: 3], f32>) -> !tsr.tensor<[a: 2, b: 3 of 4], f32> {
  // expected-error @below {{yields other types than its results}}
  %k = tsr.kernel "k" (%v = %x : !tsr.tensor<[a: 2, b: 3], f32>) parallel [a, b] vector b -> (!tsr.tensor<[a: 2, b: 3 of 4], f32>) {
    %r = tsr.neg %v : <[a: 2, b: 3], f32>
    tsr.yield %r : !tsr.tensor<[a: 2, b: 3], f32>
  }
  return %k : !tsr.tensor<[a: 2, b: 3 of 4], f32>
}

// -----

// A slice of a stack has the allocated sizes of the stack.
func.func @f(%x: !tsr.tensor<[l: 2, b: 3 of 4], f32>) {
  // expected-error @below {{expected '!tsr.tensor<[b: 3 of 4], f32>' for a sliced argument, got '!tsr.tensor<[b: 3], f32>'}}
  "tsr.repeat"(%x) <{axis = #tsr.axis<l: 2>, operandSegmentSizes = array<i32: 0, 1, 0>}> ({
  ^bb0(%i: !tsr.tensor<[], i32>, %v: !tsr.tensor<[b: 3], f32>):
    tsr.yield
  }) : (!tsr.tensor<[l: 2, b: 3 of 4], f32>) -> ()
  return
}

// -----

// Element types are a short list.
// expected-error @below {{expected element type f64, f32, bf16, f16, f8E4M3FN, f8E5M2, i64, i32 or i1, got 'i8'}}
func.func private @f(!tsr.tensor<[a: 2], i8>)

// -----

// C1: Sizes of an axis agree.
func.func @f(%x0: !tsr.tensor<[batch: 3], f32>, %x1: !tsr.tensor<[batch: 4], f32>) {
  // expected-error @below {{'tsr.add' op axis `batch` has size 3 and size 4}}
  %r0 = tsr.add %x0, %x1 : (!tsr.tensor<[batch: 3], f32>, !tsr.tensor<[batch: 4], f32>) -> !tsr.tensor<[batch: 3], f32>
  return
}

// -----

// C2: The result of an elementwise op has no axis of its own.
func.func @f(%x0: !tsr.tensor<[batch: 3], f32>) {
  // expected-error @below {{'tsr.add' op result has axis `in` that no operand gives it}}
  %r0 = tsr.add %x0, %x0 : (!tsr.tensor<[batch: 3], f32>, !tsr.tensor<[batch: 3], f32>) -> !tsr.tensor<[batch: 3, in: 4], f32>
  return
}

// -----

// C2: The result of an elementwise op has all axes.
func.func @f(%x0: !tsr.tensor<[batch: 3, in: 4], f32>, %x1: !tsr.tensor<[batch: 3], f32>) {
  // expected-error @below {{'tsr.mul' op expected 2 axes in the result, got}}
  tsr.mul %x0, %x1 : (!tsr.tensor<[batch: 3, in: 4], f32>, !tsr.tensor<[batch: 3], f32>) -> !tsr.tensor<[batch: 3], f32>
  return
}

// -----

// C2: The size of an axis of the result is that of the operands.
func.func @f(%x0: !tsr.tensor<[batch: 3], f32>) {
  // expected-error @below {{'tsr.add' op expected size 3 for axis `batch` of the result, got 4}}
  tsr.add %x0, %x0 : (!tsr.tensor<[batch: 3], f32>, !tsr.tensor<[batch: 3], f32>) -> !tsr.tensor<[batch: 4], f32>
  return
}

// -----

// C3: There are no implicit casts.
func.func @f(%x0: !tsr.tensor<[batch: 3], f32>, %x1: !tsr.tensor<[batch: 3], bf16>) {
  // expected-error @below {{'tsr.add' op expected element type 'f32', got 'bf16'}}
  tsr.add %x0, %x1 : (!tsr.tensor<[batch: 3], f32>, !tsr.tensor<[batch: 3], bf16>) -> !tsr.tensor<[batch: 3], f32>
  return
}

// -----

// C3: Nor in the values of a select.
func.func @f(%x0: !tsr.tensor<[batch: 3], i1>, %x1: !tsr.tensor<[batch: 3], f32>, %x2: !tsr.tensor<[batch: 3], i32>) {
  // expected-error @below {{'tsr.select' op expected element type 'f32', got 'i32'}}
  tsr.select %x0, %x1, %x2 : (!tsr.tensor<[batch: 3], i1>, !tsr.tensor<[batch: 3], f32>, !tsr.tensor<[batch: 3], i32>) -> !tsr.tensor<[batch: 3], f32>
  return
}

// -----

// A comparison gives booleans.
func.func @f(%x0: !tsr.tensor<[batch: 3], f32>) {
  // expected-error @below {{'tsr.compare' op result #0 must be named tensor of i1}}
  tsr.compare eq %x0, %x0 : (!tsr.tensor<[batch: 3], f32>, !tsr.tensor<[batch: 3], f32>) -> !tsr.tensor<[batch: 3], f32>
  return
}

// -----

// exp is for floats.
func.func @f(%x0: !tsr.tensor<[batch: 3], i32>) {
  // expected-error @below {{'tsr.exp' op operand #0 must be named tensor of floats}}
  tsr.exp %x0 : !tsr.tensor<[batch: 3], i32>
  return
}

// -----

// C1: A constant has the element type of its result.
func.func @f() {
  // expected-error @below {{'tsr.constant' op expected element type 'f32', got 'i32'}}
  tsr.constant 1 : i32 -> !tsr.tensor<[batch: 3], f32>
  return
}

// -----

// C1: An index has one axis.
func.func @f() {
  // expected-error @below {{'tsr.index' op expected one axis, got}}
  tsr.index : !tsr.tensor<[a: 2, b: 3], i32>
  return
}

// -----

// C3: A contraction sums over axes of both operands.
func.func @f(%x0: !tsr.tensor<[batch: 3, in: 4], f32>, %x1: !tsr.tensor<[in: 4, out: 2], f32>) {
  // expected-error @below {{'tsr.contract' op expected axis `batch` in both operands}}
  tsr.contract %x0, %x1 over ["batch"] : (!tsr.tensor<[batch: 3, in: 4], f32>, !tsr.tensor<[in: 4, out: 2], f32>) -> !tsr.tensor<[in: 4, out: 2], f32>
  return
}

// -----

// C4: A contraction has all other axes.
func.func @f(%x0: !tsr.tensor<[batch: 3, in: 4], f32>, %x1: !tsr.tensor<[in: 4, out: 2], f32>) {
  // expected-error @below {{'tsr.contract' op expected 2 axes in the result, got}}
  tsr.contract %x0, %x1 over ["in"] : (!tsr.tensor<[batch: 3, in: 4], f32>, !tsr.tensor<[in: 4, out: 2], f32>) -> !tsr.tensor<[out: 2], f32>
  return
}

// -----

// C5: `init` has the type of the result.
func.func @f(%x0: !tsr.tensor<[batch: 3, in: 4], f32>, %x1: !tsr.tensor<[in: 4, out: 2], f32>, %x2: !tsr.tensor<[batch: 3], f32>) {
  // expected-error @below {{'tsr.contract' op expected init of type}}
  tsr.contract %x0, %x1 over ["in"] init %x2 : (!tsr.tensor<[batch: 3, in: 4], f32>, !tsr.tensor<[in: 4, out: 2], f32>, !tsr.tensor<[batch: 3], f32>) -> !tsr.tensor<[batch: 3, out: 2], f32>
  return
}

// -----

// C6: `bias` has axes of the result only.
func.func @f(%x0: !tsr.tensor<[batch: 3, in: 4], f32>, %x1: !tsr.tensor<[in: 4, out: 2], f32>, %x2: !tsr.tensor<[vocab: 7], f32>) {
  // expected-error @below {{'tsr.contract' op bias has axis `vocab` that the result lacks}}
  tsr.contract %x0, %x1 over ["in"] bias %x2 : (!tsr.tensor<[batch: 3, in: 4], f32>, !tsr.tensor<[in: 4, out: 2], f32>, !tsr.tensor<[vocab: 7], f32>) -> !tsr.tensor<[batch: 3, out: 2], f32>
  return
}

// -----

// C7: Only an epilogue has a second result.
func.func @f(%x0: !tsr.tensor<[batch: 3, in: 4], f32>, %x1: !tsr.tensor<[in: 4, out: 2], f32>) {
  // expected-error @below {{'tsr.contract' op has `aux` or a second result, and no epilogue}}
  %0, %1 = tsr.contract %x0, %x1 over ["in"] : (!tsr.tensor<[batch: 3, in: 4], f32>, !tsr.tensor<[in: 4, out: 2], f32>) -> (!tsr.tensor<[batch: 3, out: 2], f32>, !tsr.tensor<[batch: 3, out: 2], f32>)
  return
}

// -----

// C8: GELU is taken of a product, not of a sum with a matrix.
func.func @f(%x0: !tsr.tensor<[batch: 3, in: 4], f32>, %x1: !tsr.tensor<[in: 4, out: 2], f32>, %x2: !tsr.tensor<[batch: 3, out: 2], f32>) {
  // expected-error @below {{'tsr.contract' op has an epilogue and `init`}}
  tsr.contract %x0, %x1 over ["in"] init %x2 epilogue gelu : (!tsr.tensor<[batch: 3, in: 4], f32>, !tsr.tensor<[in: 4, out: 2], f32>, !tsr.tensor<[batch: 3, out: 2], f32>) -> !tsr.tensor<[batch: 3, out: 2], f32>
  return
}

// -----

// C9: GELU needs no other matrix.
func.func @f(%x0: !tsr.tensor<[batch: 3, in: 4], f32>, %x1: !tsr.tensor<[in: 4, out: 2], f32>, %x2: !tsr.tensor<[batch: 3, out: 2], f32>) {
  // expected-error @below {{'tsr.contract' op reads `aux`, which GELU does not need}}
  tsr.contract %x0, %x1 over ["in"] epilogue gelu aux %x2 : (!tsr.tensor<[batch: 3, in: 4], f32>, !tsr.tensor<[in: 4, out: 2], f32>, !tsr.tensor<[batch: 3, out: 2], f32>) -> !tsr.tensor<[batch: 3, out: 2], f32>
  return
}

// -----

// C9: The sum has the type of the result.
func.func @f(%x0: !tsr.tensor<[batch: 3, in: 4], f32>, %x1: !tsr.tensor<[in: 4, out: 2], f32>) {
  // expected-error @below {{'tsr.contract' op expected the sum in the type of the result}}
  %0, %1 = tsr.contract %x0, %x1 over ["in"] epilogue gelu : (!tsr.tensor<[batch: 3, in: 4], f32>, !tsr.tensor<[in: 4, out: 2], f32>) -> (!tsr.tensor<[batch: 3, out: 2], f32>, !tsr.tensor<[out: 2], f32>)
  return
}

// -----

// C10: The derivative is taken somewhere.
func.func @f(%x0: !tsr.tensor<[batch: 3, in: 4], f32>, %x1: !tsr.tensor<[in: 4, out: 2], f32>) {
  // expected-error @below {{'tsr.contract' op expected `aux` of the result's type}}
  tsr.contract %x0, %x1 over ["in"] epilogue gelu_grad : (!tsr.tensor<[batch: 3, in: 4], f32>, !tsr.tensor<[in: 4, out: 2], f32>) -> !tsr.tensor<[batch: 3, out: 2], f32>
  return
}

// -----

// C10: A gradient has no bias.
func.func @f(%x0: !tsr.tensor<[batch: 3, in: 4], f32>, %x1: !tsr.tensor<[in: 4, out: 2], f32>, %x2: !tsr.tensor<[out: 2], f32>, %x3: !tsr.tensor<[batch: 3, out: 2], f32>) {
  // expected-error @below {{'tsr.contract' op has a bias, and GELU's gradient as its epilogue}}
  tsr.contract %x0, %x1 over ["in"] bias %x2 epilogue gelu_grad aux %x3 : (!tsr.tensor<[batch: 3, in: 4], f32>, !tsr.tensor<[in: 4, out: 2], f32>, !tsr.tensor<[out: 2], f32>, !tsr.tensor<[batch: 3, out: 2], f32>) -> !tsr.tensor<[batch: 3, out: 2], f32>
  return
}

// -----

// C10: The gradient of a bias has axes of the result only.
func.func @f(%x0: !tsr.tensor<[batch: 3, in: 4], f32>, %x1: !tsr.tensor<[in: 4, out: 2], f32>, %x2: !tsr.tensor<[batch: 3, out: 2], f32>) {
  // expected-error @below {{'tsr.contract' op the bias' gradient has axis `vocab` that the result lacks}}
  %0, %1 = tsr.contract %x0, %x1 over ["in"] epilogue gelu_grad aux %x2 : (!tsr.tensor<[batch: 3, in: 4], f32>, !tsr.tensor<[in: 4, out: 2], f32>, !tsr.tensor<[batch: 3, out: 2], f32>) -> (!tsr.tensor<[batch: 3, out: 2], f32>, !tsr.tensor<[vocab: 7], f32>)
  return
}

// -----

// C1: A reduction is over axes of its operand.
func.func @f(%x0: !tsr.tensor<[batch: 3], f32>) {
  // expected-error @below {{'tsr.reduce' op operand has no axis `in`}}
  tsr.reduce sum %x0 over ["in"] : !tsr.tensor<[batch: 3], f32> -> !tsr.tensor<[batch: 3], f32>
  return
}

// -----

// What is summed in a tree has a power of two terms along one axis.
func.func @f(%x0: !tsr.tensor<[batch: 3, in: 4], f32>) {
  // expected-error @below {{'tsr.reduce' op expected a sum over one axis, of a power of two elements, to be added in a tree}}
  tsr.reduce sum %x0 over ["batch"] {tsr.tree} : !tsr.tensor<[batch: 3, in: 4], f32> -> !tsr.tensor<[in: 4], f32>
  return
}

// -----

// C3: A reduction has the element type of its operand.
func.func @f(%x0: !tsr.tensor<[batch: 3, in: 4], f32>) {
  // expected-error @below {{'tsr.reduce' op expected element type 'f32', got 'f64'}}
  tsr.reduce sum %x0 over ["in"] : !tsr.tensor<[batch: 3, in: 4], f32> -> !tsr.tensor<[batch: 3], f64>
  return
}

// -----

// C1: A broadcast loses no axis.
func.func @f(%x0: !tsr.tensor<[batch: 3, in: 4], f32>) {
  // expected-error @below {{'tsr.broadcast' op result loses axis `in: 4`}}
  tsr.broadcast %x0 : !tsr.tensor<[batch: 3, in: 4], f32> -> !tsr.tensor<[batch: 3], f32>
  return
}

// -----

// C3: A rename does not make one name of two.
func.func @f(%x0: !tsr.tensor<[batch: 3, in: 4], f32>) {
  // expected-error @below {{'tsr.rename' op two axes would be called `in`}}
  tsr.rename %x0 ["batch"] to ["in"] : !tsr.tensor<[batch: 3, in: 4], f32> -> !tsr.tensor<[batch: 3, in: 4], f32>
  return
}

// -----

// C2: A rename is of axes that are there.
func.func @f(%x0: !tsr.tensor<[batch: 3], f32>) {
  // expected-error @below {{'tsr.rename' op operand has no axis `in`}}
  tsr.rename %x0 ["in"] to ["out"] : !tsr.tensor<[batch: 3], f32> -> !tsr.tensor<[batch: 3], f32>
  return
}

// -----

// C1: A rename has as many names on both sides.
func.func @f(%x0: !tsr.tensor<[batch: 3], f32>) {
  // expected-error @below {{'tsr.rename' op expected as many new names as old ones}}
  tsr.rename %x0 ["batch"] to [] : !tsr.tensor<[batch: 3], f32> -> !tsr.tensor<[batch: 3], f32>
  return
}

// -----

// C1: A split leaves the number of elements as it is.
func.func @f(%x0: !tsr.tensor<[batch: 3, in: 4], f32>) {
  // expected-error @below {{'tsr.split' op expected size 6 for axis `in` of the result, got 4}}
  tsr.split %x0 "in" into ["head", "out"] : !tsr.tensor<[batch: 3, in: 4], f32> -> !tsr.tensor<[batch: 3, head: 3, out: 2], f32>
  return
}

// -----

// C1: A merge is of axes that are there.
func.func @f(%x0: !tsr.tensor<[batch: 3, in: 4], f32>) {
  // expected-error @below {{'tsr.merge' op no axis `out`}}
  tsr.merge %x0 ["in", "out"] into "head" : !tsr.tensor<[batch: 3, in: 4], f32> -> !tsr.tensor<[batch: 3, head: 8], f32>
  return
}

// -----

// C1: A reorder loses no axis.
func.func @f(%x0: !tsr.tensor<[batch: 3, in: 4], f32>) {
  // expected-error @below {{'tsr.reorder' op expected 2 axes in the result, got}}
  tsr.reorder %x0 : !tsr.tensor<[batch: 3, in: 4], f32> -> !tsr.tensor<[batch: 3], f32>
  return
}

// -----

// C1: A slice stays within its operand.
func.func @f(%x0: !tsr.tensor<[batch: 3, in: 4], f32>) {
  // expected-error @below {{'tsr.slice' op positions 3 to 5 leave axis `in` of size 4}}
  tsr.slice %x0 "in" from 3 : !tsr.tensor<[batch: 3, in: 4], f32> -> !tsr.tensor<[batch: 3, in: 2], f32>
  return
}

// -----

// The end of a slice does not fit into 64 bits.
func.func @f(%x0: !tsr.tensor<[batch: 3, in: 4], f32>) {
  // expected-error @below {{'tsr.slice' op positions 9223372036854775806 to 9223372036854775807 leave axis `in` of size 4}}
  tsr.slice %x0 "in" from 9223372036854775806 : !tsr.tensor<[batch: 3, in: 4], f32> -> !tsr.tensor<[batch: 3, in: 2], f32>
  return
}

// -----

// The size of a merged axis does not fit into 64 bits.
func.func @f(%x0: !tsr.tensor<[batch: 4611686018427387904, in: 4], f32>) {
  // expected-error @below {{'tsr.merge' op the product of the sizes overflows}}
  tsr.merge %x0 ["batch", "in"] into "head" : !tsr.tensor<[batch: 4611686018427387904, in: 4], f32> -> !tsr.tensor<[head: 8], f32>
  return
}

// -----

// A repeat has iterations.
func.func @f(%x0: !tsr.tensor<[batch: 3], f32>) {
  // expected-error @below {{'tsr.repeat' op expected at least one iteration, got 0}}
  tsr.repeat [layer: 0] index %i carry (%c = %x0 : !tsr.tensor<[batch: 3], f32>) -> !tsr.tensor<[batch: 3], f32> {
    tsr.yield %c : !tsr.tensor<[batch: 3], f32>
  }
  return
}

// -----

// C2: A slice touches one axis.
func.func @f(%x0: !tsr.tensor<[batch: 3, in: 4], f32>) {
  // expected-error @below {{'tsr.slice' op expected size 3 for axis `batch` of the result, got 2}}
  tsr.slice %x0 "in" from 0 : !tsr.tensor<[batch: 3, in: 4], f32> -> !tsr.tensor<[batch: 2, in: 2], f32>
  return
}

// -----

// C1: A join has an operand.
func.func @f() {
  // expected-error @below {{'tsr.join' op expected an operand}}
  tsr.join along "batch" : () -> !tsr.tensor<[batch: 4], f32>
  return
}

// -----

// C2: The parts of a join fill the result.
func.func @f(%x0: !tsr.tensor<[batch: 3], f32>) {
  // expected-error @below {{'tsr.join' op expected a result of size 6 along `batch`, got 7}}
  tsr.join %x0, %x0 along "batch" : (!tsr.tensor<[batch: 3], f32>, !tsr.tensor<[batch: 3], f32>) -> !tsr.tensor<[batch: 7], f32>
  return
}

// -----

// C2: The parts of a join are within the result.
func.func @f(%x0: !tsr.tensor<[batch: 3], f32>) {
  // expected-error @below {{'tsr.join' op positions 3 to 6 leave axis `batch` of size 5}}
  tsr.join %x0, %x0 along "batch" : (!tsr.tensor<[batch: 3], f32>, !tsr.tensor<[batch: 3], f32>) -> !tsr.tensor<[batch: 5], f32>
  return
}

// -----

// C3: Other axes stay.
func.func @f(%x0: !tsr.tensor<[batch: 3, in: 4], f32>) {
  // expected-error @below {{'tsr.join' op expected size 5 for axis `in` of the result, got 4}}
  tsr.join %x0 along "batch" : (!tsr.tensor<[batch: 3, in: 4], f32>) -> !tsr.tensor<[batch: 3, in: 5], f32>
  return
}

// -----

// C1: A pad holds its operand.
func.func @f(%x0: !tsr.tensor<[batch: 3], f32>) {
  // expected-error @below {{'tsr.pad' op positions 2 to 5 leave axis `batch` of size 4}}
  tsr.pad %x0 "batch" at 2 : !tsr.tensor<[batch: 3], f32> -> !tsr.tensor<[batch: 4], f32>
  return
}

// -----

// C1: A gather has an index for each axis.
func.func @f(%x0: !tsr.tensor<[batch: 3, in: 4], f32>, %x1: !tsr.tensor<[seq: 5], i32>) {
  // expected-error @below {{'tsr.gather' op expected one index for each axis read at positions}}
  tsr.gather %x0[["batch", "in"] = %x1] : (!tsr.tensor<[batch: 3, in: 4], f32>, !tsr.tensor<[seq: 5], i32>) -> !tsr.tensor<[seq: 5], f32>
  return
}

// -----

// C2: A gather reads along axes that are there.
func.func @f(%x0: !tsr.tensor<[batch: 3, in: 4], f32>, %x1: !tsr.tensor<[seq: 5], i32>) {
  // expected-error @below {{'tsr.gather' op operand has no axis `out`}}
  tsr.gather %x0[["out"] = %x1] : (!tsr.tensor<[batch: 3, in: 4], f32>, !tsr.tensor<[seq: 5], i32>) -> !tsr.tensor<[batch: 3, seq: 5, in: 4], f32>
  return
}

// -----

// Positions are integers.
func.func @f(%x0: !tsr.tensor<[batch: 3, in: 4], f32>, %x1: !tsr.tensor<[seq: 5], f32>) {
  // expected-error @below {{'tsr.gather' op operand #1 must be variadic of named tensor of i32 or i64}}
  tsr.gather %x0[["batch"] = %x1] : (!tsr.tensor<[batch: 3, in: 4], f32>, !tsr.tensor<[seq: 5], f32>) -> !tsr.tensor<[seq: 5, in: 4], f32>
  return
}

// -----

// scatter_add writes along axes that are there.
func.func @f(%x0: !tsr.tensor<[seq: 5, in: 4], f32>, %x1: !tsr.tensor<[seq: 5], i32>) {
  // expected-error @below {{'tsr.scatter_add' op result has no axis `out`}}
  tsr.scatter_add %x0[["out"] = %x1] : (!tsr.tensor<[seq: 5, in: 4], f32>, !tsr.tensor<[seq: 5], i32>) -> !tsr.tensor<[batch: 3, in: 4], f32>
  return
}

// -----

// softmax is over an axis of its operand.
func.func @f(%x0: !tsr.tensor<[batch: 3], f32>) {
  // expected-error @below {{'tsr.softmax' op operand has no axis `in`}}
  tsr.softmax %x0 over "in" : !tsr.tensor<[batch: 3], f32>
  return
}

// -----

// layer_norm is over axes of its operand.
func.func @f(%x0: !tsr.tensor<[batch: 3], f32>) {
  // expected-error @below {{'tsr.layer_norm' op operand has no axis `in`}}
  tsr.layer_norm %x0 over ["in"] epsilon 1.0e-5 : !tsr.tensor<[batch: 3], f32>, !tsr.tensor<[batch: 3], f32>
  return
}

// -----

// C2: `rstd` has the axes that are left.
func.func @f(%x0: !tsr.tensor<[batch: 3, in: 4], f32>) {
  // expected-error @below {{'tsr.layer_norm' op expected 1 axes in the result, got}}
  tsr.layer_norm %x0 over ["in"] epsilon 1.0e-5 : !tsr.tensor<[batch: 3, in: 4], f32>, !tsr.tensor<[], f32>
  return
}

// -----

// cross_entropy is over an axis of the logits.
func.func @f(%x0: !tsr.tensor<[batch: 3, in: 4], f32>, %x1: !tsr.tensor<[batch: 3], i32>) {
  // expected-error @below {{'tsr.cross_entropy' op logits have no axis `vocab`}}
  tsr.cross_entropy %x0, %x1 over "vocab" : (!tsr.tensor<[batch: 3, in: 4], f32>, !tsr.tensor<[batch: 3], i32>) -> (!tsr.tensor<[batch: 3], f32>, !tsr.tensor<[batch: 3], f32>, !tsr.tensor<[batch: 3], f32>)
  return
}

// -----

// C2: The results of cross_entropy have one type.
func.func @f(%x0: !tsr.tensor<[batch: 3, in: 4], f32>, %x1: !tsr.tensor<[batch: 3], i32>) {
  // expected-error @below {{'tsr.cross_entropy' op loss, shift and inverse sum differ in type}}
  tsr.cross_entropy %x0, %x1 over "in" : (!tsr.tensor<[batch: 3, in: 4], f32>, !tsr.tensor<[batch: 3], i32>) -> (!tsr.tensor<[batch: 3], f32>, !tsr.tensor<[batch: 3], f32>, !tsr.tensor<[], f32>)
  return
}

// -----

// C1: The region of an attention takes the score and the captures.
func.func @f(%x0: !tsr.tensor<[seq: 5, in: 4], f32>, %x1: !tsr.tensor<[key: 5, in: 4], f32>) {
  // expected-error @below {{'tsr.attention' op expected the score and the captures as region arguments}}
  tsr.attention %x0, %x1, %x1 hidden ["in"] key "key" : (!tsr.tensor<[seq: 5, in: 4], f32>, !tsr.tensor<[key: 5, in: 4], f32>, !tsr.tensor<[key: 5, in: 4], f32>) -> (!tsr.tensor<[seq: 5, in: 4], f32>, !tsr.tensor<[seq: 5], f32>, !tsr.tensor<[seq: 5], f32>) {
  ^bb0(%s: !tsr.tensor<[seq: 5, key: 5], f32>, %c: !tsr.tensor<[seq: 5, key: 5], f32>):
    tsr.yield %s : !tsr.tensor<[seq: 5, key: 5], f32>
  }
  return
}

// -----

// C3: The region of an attention yields scores.
func.func @f(%x0: !tsr.tensor<[seq: 5, in: 4], f32>, %x1: !tsr.tensor<[key: 5, in: 4], f32>) {
  // expected-error @below {{'tsr.attention' op expected the region to yield scores of type}}
  tsr.attention %x0, %x1, %x1 hidden ["in"] key "key" : (!tsr.tensor<[seq: 5, in: 4], f32>, !tsr.tensor<[key: 5, in: 4], f32>, !tsr.tensor<[key: 5, in: 4], f32>) -> (!tsr.tensor<[seq: 5, in: 4], f32>, !tsr.tensor<[seq: 5], f32>, !tsr.tensor<[seq: 5], f32>) {
  ^bb0(%s: !tsr.tensor<[seq: 5, key: 5], f32>):
    %r = tsr.reduce sum %s over ["key"] : !tsr.tensor<[seq: 5, key: 5], f32> -> !tsr.tensor<[seq: 5], f32>
    tsr.yield %r : !tsr.tensor<[seq: 5], f32>
  }
  return
}

// -----

// C5: What an attention keeps of each row has one type.
func.func @f(%x0: !tsr.tensor<[seq: 5, in: 4], f32>, %x1: !tsr.tensor<[key: 5, in: 4], f32>) {
  // expected-error @below {{'tsr.attention' op shift and inverse sum differ in type}}
  tsr.attention %x0, %x1, %x1 hidden ["in"] key "key" : (!tsr.tensor<[seq: 5, in: 4], f32>, !tsr.tensor<[key: 5, in: 4], f32>, !tsr.tensor<[key: 5, in: 4], f32>) -> (!tsr.tensor<[seq: 5, in: 4], f32>, !tsr.tensor<[seq: 5], f32>, !tsr.tensor<[], f32>) {
  ^bb0(%s: !tsr.tensor<[seq: 5, key: 5], f32>):
    tsr.yield %s : !tsr.tensor<[seq: 5, key: 5], f32>
  }
  return
}

// -----

// C5: A carried value does not change its type.
func.func @f(%x0: !tsr.tensor<[batch: 3], f32>) {
  // expected-error @below {{'tsr.repeat' op carried value 0 changes type}}
  tsr.repeat [layer: 2] index %i carry (%c = %x0 : !tsr.tensor<[batch: 3], f32>) -> !tsr.tensor<[], f32> {
    %r = tsr.reduce sum %c over ["batch"] : !tsr.tensor<[batch: 3], f32> -> !tsr.tensor<[], f32>
    tsr.yield %r : !tsr.tensor<[], f32>
  }
  return
}

// -----

// C3: A sliced operand has the axis of the repeat.
func.func @f(%x0: !tsr.tensor<[batch: 3], f32>) {
  // expected-error @below {{'tsr.repeat' op expected a sliced operand with axis `layer: 2`, got}}
  tsr.repeat [layer: 2] index %i slice (%c = %x0 : !tsr.tensor<[batch: 3], f32>) {
    tsr.yield
  }
  return
}

// -----

// C4: A repeat yields one value a result.
func.func @f(%x0: !tsr.tensor<[batch: 3], f32>) {
  // expected-error @below {{'tsr.repeat' op yields 0 values for 1 results}}
  tsr.repeat [layer: 2] index %i carry (%c = %x0 : !tsr.tensor<[batch: 3], f32>) -> !tsr.tensor<[batch: 3], f32> {
    tsr.yield
  }
  return
}

// -----

// C6: A stacked result has the axis of the repeat.
func.func @f(%x0: !tsr.tensor<[batch: 3], f32>) {
  // expected-error @below {{'tsr.repeat' op stacked result 0 of type}}
  tsr.repeat [layer: 2] index %i invariant (%c = %x0 : !tsr.tensor<[batch: 3], f32>) -> !tsr.tensor<[batch: 3], f32> {
    tsr.yield %c : !tsr.tensor<[batch: 3], f32>
  }
  return
}

// -----

// C2: A kernel yields what it returns.
func.func @f(%x0: !tsr.tensor<[batch: 3], f32>) {
  // expected-error @below {{'tsr.kernel' op yields other types than its results}}
  tsr.kernel "k" (%a = %x0 : !tsr.tensor<[batch: 3], f32>) parallel ["batch"] serial [] -> (!tsr.tensor<[batch: 3], f32>) {
    tsr.yield
  }
  return
}

// -----

// C1: A gradient has the type of its value.
func.func @f(%x0: !tsr.tensor<[], f32>, %x1: !tsr.tensor<[batch: 3], f32>) {
  // expected-error @below {{'tsr.gradient' op expected a gradient of the type of each value}}
  tsr.gradient %x0 wrt (%x1) : (!tsr.tensor<[], f32>, !tsr.tensor<[batch: 3], f32>) -> !tsr.tensor<[batch: 3, in: 4], f32>
  return
}

// -----

func.func @arithmetic_of_eight_bits(%x: !tsr.tensor<[a: 2], f8E4M3FN>) {
  // expected-error @+1 {{computes in 'f8E4M3FN': cast to f32 first}}
  %y = tsr.add %x, %x : (!tsr.tensor<[a: 2], f8E4M3FN>, !tsr.tensor<[a: 2], f8E4M3FN>) -> !tsr.tensor<[a: 2], f8E4M3FN>
  return
}

// -----

func.func @gather_of_another_type(%x: !tsr.tensor<[a: 2], bf16>, %i: !tsr.tensor<[], i32>) {
  // expected-error @+1 {{expected element type 'bf16', got 'f32'}}
  %y = tsr.gather %x[["a"] = %i] : (!tsr.tensor<[a: 2], bf16>, !tsr.tensor<[], i32>) -> !tsr.tensor<[], f32>
  return
}

// -----

func.func @contraction_of_two_types(%x: !tsr.tensor<[a: 2], bf16>, %y: !tsr.tensor<[a: 2], f32>) {
  // expected-error @+1 {{expected element type 'bf16', got 'f32'}}
  %z = tsr.contract %x, %y over ["a"] : (!tsr.tensor<[a: 2], bf16>, !tsr.tensor<[a: 2], f32>) -> !tsr.tensor<[], f32>
  return
}

// -----

func.func @comparison_of_eight_bits(%x: !tsr.tensor<[a: 2], f8E4M3FN>) {
  // expected-error @+1 {{computes in 'f8E4M3FN': cast to f32 first}}
  %y = tsr.compare lt %x, %x : (!tsr.tensor<[a: 2], f8E4M3FN>, !tsr.tensor<[a: 2], f8E4M3FN>) -> !tsr.tensor<[a: 2], i1>
  return
}

// -----

func.func @reduction_of_eight_bits(%x: !tsr.tensor<[a: 2], f8E5M2>) {
  // expected-error @+1 {{computes in 'f8E5M2': cast to f32 first}}
  %y = tsr.reduce max %x over ["a"] : !tsr.tensor<[a: 2], f8E5M2> -> !tsr.tensor<[], f8E5M2>
  return
}

// -----

func.func @contraction_to_eight_bits(%x: !tsr.tensor<[a: 2], f8E4M3FN>) {
  // expected-error @+1 {{expected a result in f32 of fp8 operands, got 'f8E4M3FN'}}
  %y = tsr.contract %x, %x over ["a"] : (!tsr.tensor<[a: 2], f8E4M3FN>, !tsr.tensor<[a: 2], f8E4M3FN>) -> !tsr.tensor<[], f8E4M3FN>
  return
}

// -----

// The rule of an update is in the table of rules.
func.func @f(%w: !tsr.tensor<[in: 4], f32>, %s: !tsr.tensor<[], i32>, %r: !tsr.tensor<[], f32>) {
  // expected-error @below {{'tsr.update' op unknown optimizer rule `lamb`}}
  tsr.update "lamb" @w %w gradient %w step %s norm %r arguments ["rate"](%r) : (!tsr.tensor<[in: 4], f32>, !tsr.tensor<[in: 4], f32>, !tsr.tensor<[], i32>, !tsr.tensor<[], f32>, !tsr.tensor<[], f32>) -> !tsr.tensor<[in: 4], f32>
  return
}

// -----

// A hyperparameter whose default is not 0 must be given.
func.func @f(%w: !tsr.tensor<[in: 4], f32>, %s: !tsr.tensor<[], i32>, %r: !tsr.tensor<[], f32>) {
  // expected-error @below {{'tsr.update' op rule `adam` needs `beta1`}}
  tsr.update "adam" @w %w gradient %w step %s norm %r arguments ["rate"](%r) : (!tsr.tensor<[in: 4], f32>, !tsr.tensor<[in: 4], f32>, !tsr.tensor<[], i32>, !tsr.tensor<[], f32>, !tsr.tensor<[], f32>) -> !tsr.tensor<[in: 4], f32>
  return
}

// -----

// A rule takes its own hyperparameters only.
func.func @f(%w: !tsr.tensor<[in: 4], f32>, %s: !tsr.tensor<[], i32>, %r: !tsr.tensor<[], f32>) {
  // expected-error @below {{'tsr.update' op rule `sgd` has no hyperparameter `beta1`}}
  tsr.update "sgd" @w %w gradient %w step %s norm %r arguments ["rate", "beta1"](%r, %r) : (!tsr.tensor<[in: 4], f32>, !tsr.tensor<[in: 4], f32>, !tsr.tensor<[], i32>, !tsr.tensor<[], f32>, !tsr.tensor<[], f32>, !tsr.tensor<[], f32>) -> !tsr.tensor<[in: 4], f32>
  return
}

// -----

// A hyperparameter is given once.
func.func @f(%w: !tsr.tensor<[in: 4], f32>, %s: !tsr.tensor<[], i32>, %r: !tsr.tensor<[], f32>) {
  // expected-error @below {{'tsr.update' op hyperparameter `decay` is given twice}}
  tsr.update "sgd" @w %w gradient %w step %s norm %r arguments ["rate", "decay", "decay"](%r, %r, %r) : (!tsr.tensor<[in: 4], f32>, !tsr.tensor<[in: 4], f32>, !tsr.tensor<[], i32>, !tsr.tensor<[], f32>, !tsr.tensor<[], f32>, !tsr.tensor<[], f32>, !tsr.tensor<[], f32>) -> !tsr.tensor<[in: 4], f32>
  return
}

// -----

// Each hyperparameter has a name.
func.func @f(%w: !tsr.tensor<[in: 4], f32>, %s: !tsr.tensor<[], i32>, %r: !tsr.tensor<[], f32>) {
  // expected-error @below {{'tsr.update' op expected one name for each hyperparameter}}
  tsr.update "sgd" @w %w gradient %w step %s norm %r arguments ["rate"](%r, %r) : (!tsr.tensor<[in: 4], f32>, !tsr.tensor<[in: 4], f32>, !tsr.tensor<[], i32>, !tsr.tensor<[], f32>, !tsr.tensor<[], f32>, !tsr.tensor<[], f32>) -> !tsr.tensor<[in: 4], f32>
  return
}

// -----

// A flag is not a hyperparameter.
func.func @f(%w: !tsr.tensor<[in: 4], f32>, %s: !tsr.tensor<[], i32>, %r: !tsr.tensor<[], f32>) {
  // expected-error @below {{'tsr.update' op rule `sgd` has no hyperparameter `nesterov`}}
  tsr.update "sgd" @w %w gradient %w step %s norm %r arguments ["rate", "nesterov"](%r, %r) : (!tsr.tensor<[in: 4], f32>, !tsr.tensor<[in: 4], f32>, !tsr.tensor<[], i32>, !tsr.tensor<[], f32>, !tsr.tensor<[], f32>, !tsr.tensor<[], f32>) -> !tsr.tensor<[in: 4], f32>
  return
}

// -----

// A rule takes its own flags only.
func.func @f(%w: !tsr.tensor<[in: 4], f32>, %s: !tsr.tensor<[], i32>, %r: !tsr.tensor<[], f32>) {
  // expected-error @below {{'tsr.update' op rule `adamw` has no flag `nesterov`}}
  tsr.update "adamw" @w nesterov %w gradient %w step %s norm %r arguments ["rate", "beta1", "beta2", "epsilon"](%r, %r, %r, %r) : (!tsr.tensor<[in: 4], f32>, !tsr.tensor<[in: 4], f32>, !tsr.tensor<[], i32>, !tsr.tensor<[], f32>, !tsr.tensor<[], f32>, !tsr.tensor<[], f32>, !tsr.tensor<[], f32>, !tsr.tensor<[], f32>) -> !tsr.tensor<[in: 4], f32>
  return
}

// -----

func.func @f(%x: !tsr.tensor<[a: 2], f32>) -> !tsr.tensor<[a: 2], f32> {
  // expected-error @below {{'tsr.state' op expects parent op 'builtin.module'}}
  tsr.state @w "weight" !tsr.tensor<[a: 2], f32>
  return %x : !tsr.tensor<[a: 2], f32>
}

// -----

func.func @f(%x: !tsr.tensor<[a: 2], f32>) -> !tsr.tensor<[a: 2], f32> {
  // expected-error @below {{'tsr.yield' op expects parent op to be one of 'tsr.attention, tsr.kernel, tsr.repeat, tsr.tiled'}}
  tsr.yield %x : !tsr.tensor<[a: 2], f32>
}

// -----

func.func @f(%x: !tsr.tensor<[a: 2], f32>) -> !tsr.tensor<[a: 2], f32> {
  %y = tsr.repeat [layer: 2] index %i carry (%c = %x : !tsr.tensor<[a: 2], f32>) -> !tsr.tensor<[a: 2], f32> {
    // expected-error @below {{block with no terminator}}
    %n = tsr.neg %c : <[a: 2], f32>
  }
  return %y : !tsr.tensor<[a: 2], f32>
}

// -----

func.func @f(%x: !tsr.tensor<[a: 2], f32>) -> !tsr.tensor<[a: 2], f32> {
  %y = tsr.kernel "k" (%c = %x : !tsr.tensor<[a: 2], f32>) parallel [a] vector a {
    // expected-error @below {{block with no terminator}}
    %n = tsr.neg %c : <[a: 2], f32>
  }
  return %y : !tsr.tensor<[a: 2], f32>
}

// -----

func.func @f(%x: !tsr.tensor<[a: 2], f32>) -> !tsr.tensor<[a: 2], f32> {
  // expected-error @below {{'tsr.repeat' op yields 1 values for 2 carried values}}
  %y = tsr.repeat [layer: 2] index %i carry (%c = %x : !tsr.tensor<[a: 2], f32>, %d = %x : !tsr.tensor<[a: 2], f32>)
      -> !tsr.tensor<[a: 2], f32> {
    tsr.yield %c : !tsr.tensor<[a: 2], f32>
  }
  return %y : !tsr.tensor<[a: 2], f32>
}

// -----

func.func @f(%s: !tsr.tensor<[], i64>, %n: !tsr.tensor<[], i32>) -> !tsr.tensor<[a: 2], f32> {
  // expected-error @below {{'tsr.random' op expected `canonical` to list the axes of the result}}
  %y = tsr.random uniform site 1 seed %s step %n canonical [b] : (!tsr.tensor<[], i64>, !tsr.tensor<[], i32>) -> !tsr.tensor<[a: 2], f32>
  return %y : !tsr.tensor<[a: 2], f32>
}

// -----

// C1: What is gathered has the operand's axes and the mesh axis.
func.func @f(%x: !tsr.tensor<[a: 2], f32>) {
  // expected-error @below {{'tsr.start' op expected the operand with the axis `data`}}
  tsr.start all_gather %x along data : !tsr.tensor<[a: 2], f32> -> !tsr.tensor<[data: 2, a: 3], f32>
  return
}

// -----

// C2: What each rank sends to each has the mesh axis.
func.func @f(%x: !tsr.tensor<[a: 2], f32>) {
  // expected-error @below {{'tsr.start' op expected operand and result with the axis `data`}}
  tsr.start all_to_all %x along data : !tsr.tensor<[a: 2], f32> -> !tsr.tensor<[a: 2], f32>
  return
}

// -----

// C3: What is added has the mesh axis, which its sum lacks.
func.func @f(%x: !tsr.tensor<[data: 2, a: 2], f32>) {
  // expected-error @below {{'tsr.start' op expected the operand without the axis `data`}}
  tsr.start reduce_scatter %x along data : !tsr.tensor<[data: 2, a: 2], f32> -> !tsr.tensor<[data: 2, a: 2], f32>
  return
}

// -----

// C3: In reduced precision it would be rounded between ranks.
func.func @f(%x: !tsr.tensor<[data: 2, a: 2], bf16>) {
  // expected-error @below {{'tsr.start' op the library adds f32 and f64 only}}
  tsr.start reduce_scatter %x along data : !tsr.tensor<[data: 2, a: 2], bf16> -> !tsr.tensor<[a: 2], bf16>
  return
}

// -----

// C1: A wait has the result and the operand of a start.
func.func @f(%x: !tsr.tensor<[a: 2], f32>, %y: !tsr.tensor<[a: 2], f32>) {
  %s = tsr.start all_gather %x along data : !tsr.tensor<[a: 2], f32> -> !tsr.tensor<[data: 2, a: 2], f32>
  // expected-error @below {{'tsr.wait' op expected the result and the operand of a tsr.start of the same block}}
  tsr.wait %s sent %y : !tsr.tensor<[data: 2, a: 2], f32>, !tsr.tensor<[a: 2], f32>
  return
}

// -----

// C3: A draw has the axes of its salts.
func.func @f(%seed: !tsr.tensor<[], i64>, %step: !tsr.tensor<[], i32>, %leaf: !tsr.tensor<[data: 2], i32>) {
  // expected-error @below {{'tsr.random' op a salt has #tsr.axis<data: 2>, which the result lacks}}
  tsr.random uniform site 1 seed %seed step %step salts %leaf : (!tsr.tensor<[], i64>, !tsr.tensor<[], i32>, !tsr.tensor<[data: 2], i32>) -> !tsr.tensor<[a: 2], f32>
  return
}

// -----

// C2: The index of a draw has a stride for each axis.
func.func @f(%seed: !tsr.tensor<[], i64>, %step: !tsr.tensor<[], i32>) {
  // expected-error @below {{'tsr.random' op expected `strides` to have a number for each axis of the result}}
  tsr.random uniform site 1 seed %seed step %step strides {b = 1 : i64} : (!tsr.tensor<[], i64>, !tsr.tensor<[], i32>) -> !tsr.tensor<[a: 2], f32>
  return
}
