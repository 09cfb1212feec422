// RUN: sed 's/tsr.phase = "tile"/&, tsr.save = ["h.wrong"]/' %S/rematerialize.mlir | not tessera-opt --tsr-rematerialize 2>&1 | FileCheck %s --check-prefix=UNKNOWN
// RUN: sed 's/tsr.phase = "tile"/&, tsr.remat = "layer", tsr.recompute = ["h.up", "up"]/' %S/rematerialize.mlir | not tessera-opt --tsr-rematerialize 2>&1 | FileCheck %s --check-prefix=SECOND
// RUN: sed 's/tsr.phase = "tile"/&, tsr.save = ["h.*"], tsr.recompute = ["h.up"]/' %S/rematerialize.mlir | not tessera-opt --tsr-rematerialize 2>&1 | FileCheck %s --check-prefix=BOTH
// RUN: not tessera-opt %s --tsr-rematerialize 2>&1 | FileCheck %s
// UNKNOWN: error: no value of a stack of layers is called `h.wrong`; those that can be saved or recomputed are {{(.*, )?}}h.down, h.dropout, h.up
// SECOND: error: no value of a stack of layers is called `up`; those that can be saved or recomputed are
// BOTH: error: `h.up` is named by --save and by --recompute
// CHECK: error: no value of a stack of layers is called `h.up`; the step has no stack of layers (`repeat`) with a backward pass

module attributes {tsr.axes = ["m"], tsr.phase = "tile", tsr.save = ["h.up"]} {
  func.func @step(%x: !tsr.tensor<[m: 4], f32>) -> !tsr.tensor<[m: 4], f32> {
    return %x : !tsr.tensor<[m: 4], f32>
  }
}
