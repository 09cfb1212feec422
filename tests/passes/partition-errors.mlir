// RUN: tessera-opt %s --split-input-file --verify-diagnostics --tsr-partition

// What was edited by hand is checked.
module attributes {tsr.axes = ["a", "b"], tsr.phase = "optimize", tsr.mesh = [#tsr.axis<data: 2>]} {
  func.func @step(%x: !tsr.tensor<[a: 4], f32> {tsr.input = {name = "x", role = "data"}, tsr.sharding = {}})
      -> (!tsr.tensor<[a: 2], f32> {tsr.output = {name = "y", role = "prediction"}, tsr.sharding = {}}) {
    // expected-error@+1 {{'tsr.slice' op cannot be divided along `a`}}
    %y = tsr.slice %x a from 2 {tsr.sharding = {a = "data"}} : !tsr.tensor<[a: 4], f32> -> !tsr.tensor<[a: 2], f32>
    return %y : !tsr.tensor<[a: 2], f32>
  }
}

// -----

module attributes {tsr.axes = ["a", "b"], tsr.phase = "optimize", tsr.mesh = [#tsr.axis<data: 2>]} {
  func.func @step(%x: !tsr.tensor<[a: 4], f32> {tsr.input = {name = "x", role = "data"}, tsr.sharding = {}})
      -> (!tsr.tensor<[a: 4], f32> {tsr.output = {name = "y", role = "prediction"}, tsr.sharding = {}}) {
    // expected-error@+1 {{expected a mesh axis for `a`, got "pipe"}}
    %y = tsr.exp %x {tsr.sharding = {a = "pipe"}} : !tsr.tensor<[a: 4], f32>
    return %y : !tsr.tensor<[a: 4], f32>
  }
}

// -----

module attributes {tsr.axes = ["a", "b"], tsr.phase = "optimize", tsr.mesh = [#tsr.axis<data: 2>]} {
  // expected-error@+1 {{expected `tsr.sharding` to be a dictionary, got 3 : i64}}
  func.func @step(%x: !tsr.tensor<[a: 4], f32> {tsr.input = {name = "x", role = "data"}, tsr.sharding = 3 : i64})
      -> (!tsr.tensor<[a: 4], f32> {tsr.output = {name = "y", role = "prediction"}, tsr.sharding = {}}) {
    return %x : !tsr.tensor<[a: 4], f32>
  }
}

// -----

// An input that is read in blocks is divided like its blocks.
module attributes {tsr.axes = ["micro", "batch"], tsr.phase = "optimize", tsr.mesh = [#tsr.axis<data: 2>]} {
  func.func @step(%x: !tsr.tensor<[batch: 8], f32> {tsr.input = {name = "x", role = "data"}, tsr.sharding = {}})
      -> (!tsr.tensor<[micro: 2, batch: 4], f32> {tsr.output = {name = "y", role = "prediction"}, tsr.sharding = {}}) {
    // expected-error@+1 {{'tsr.split' op is not divided along `batch` like the input that is read in blocks}}
    %y = tsr.split %x batch into [micro, batch] {tsr.sharding = {batch = "data"}} : !tsr.tensor<[batch: 8], f32> -> !tsr.tensor<[micro: 2, batch: 4], f32>
    return %y : !tsr.tensor<[micro: 2, batch: 4], f32>
  }
}

// -----

// What is not read in blocks only cannot be divided in them.
module attributes {tsr.axes = ["micro", "batch"], tsr.phase = "optimize", tsr.mesh = [#tsr.axis<data: 2>]} {
  func.func @step(%x: !tsr.tensor<[batch: 8], f32> {tsr.input = {name = "x", role = "data"}, tsr.sharding = {batch = "data"}})
      -> (!tsr.tensor<[micro: 2, batch: 4], f32> {tsr.output = {name = "y", role = "prediction"}, tsr.sharding = {}},
          !tsr.tensor<[batch: 8], f32> {tsr.output = {name = "z", role = "prediction"}, tsr.sharding = {}}) {
    // expected-error@+1 {{'tsr.split' op cannot be divided along `batch`}}
    %y = tsr.split %x batch into [micro, batch] {tsr.sharding = {batch = "data"}} : !tsr.tensor<[batch: 8], f32> -> !tsr.tensor<[micro: 2, batch: 4], f32>
    return %y, %x : !tsr.tensor<[micro: 2, batch: 4], f32>, !tsr.tensor<[batch: 8], f32>
  }
}

// -----

// Leaves that three ranks cannot divide.
module attributes {tsr.axes = ["micro"], tsr.phase = "shard", tsr.mesh = [#tsr.axis<data: 3>]} {
  func.func @step(%x: !tsr.tensor<[micro: 4], f32> {tsr.input = {name = "x", role = "data"}, tsr.sharding = {}})
      -> (!tsr.tensor<[micro: 4], f32> {tsr.sharding = {}}) {
    // expected-error@+1 {{'tsr.repeat' op cannot be divided along "data"}}
    %y = tsr.repeat [micro: 4] index %i slice (%a = %x : !tsr.tensor<[micro: 4], f32>) -> !tsr.tensor<[micro: 4], f32>
        attributes {tsr.along = "data", tsr.sharding = [{}, {}]} {
      tsr.yield %a : !tsr.tensor<[], f32>
    }
    return %y : !tsr.tensor<[micro: 4], f32>
  }
}
