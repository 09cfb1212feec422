// RUN: tessera-opt %s --tsr-chunk | FileCheck %s --check-prefixes=CHECK,SPEED
// RUN: sed 's/tsr.target = "cuda"/tsr.target = "cuda", tsr.prefer = "memory"/' %s | tessera-opt --tsr-chunk | FileCheck %s --check-prefixes=CHECK,MEMORY
// RUN: sed 's/tsr.target = "cuda"/tsr.target = "cuda", tsr.device = {name = "h100", memory = 16777216 : i64}/' %s | tessera-opt --tsr-chunk | FileCheck %s --check-prefixes=CHECK,SPEED

// How much memory the device has changes nothing.
// On a GPU a result of up to 4 GiB is computed at once, and a larger one in no more chunks than make them that small. Where memory is
// preferred there are as many as leave each 8192 rows.

!x = !tsr.tensor<[batch: 64, seq: 1024, embed: 16], bf16>
!half = !tsr.tensor<[batch: 32, seq: 1024, embed: 16], bf16>
!w = !tsr.tensor<[vocab: 50256, embed: 16], bf16>
!l = !tsr.tensor<[batch: 64, seq: 1024, vocab: 50256], bf16>
!halfl = !tsr.tensor<[batch: 32, seq: 1024, vocab: 50256], bf16>
module attributes {tsr.axes = ["batch", "seq", "vocab", "embed"], tsr.phase = "optimize", tsr.target = "cuda"} {
  // CHECK-LABEL: func.func @step
  func.func @step(%x: !x, %w: !w) -> !x {
    // SPEED: tsr.repeat [batch_chunk: 2]
    // MEMORY: tsr.repeat [batch_chunk: 8]
    %l = tsr.contract %x, %w over ["embed"] : (!x, !w) -> !l
    %y = tsr.contract %l, %w over ["vocab"] : (!l, !w) -> !x
    return %y : !x
  }

  // CHECK-LABEL: func.func @evaluate
  func.func @evaluate(%x: !half, %w: !w) -> !half {
    // SPEED-NOT: tsr.repeat
    // SPEED: tsr.contract
    // MEMORY: tsr.repeat [batch_chunk: 4]
    %l = tsr.contract %x, %w over ["embed"] : (!half, !w) -> !halfl
    %y = tsr.contract %l, %w over ["vocab"] : (!halfl, !w) -> !half
    return %y : !half
  }
}
