// What ranks exchange fits the mesh, and is waited for once.

// RUN: tessera-opt %s --split-input-file --tsr-verify-phase=phase=localize --verify-diagnostics

module attributes {tsr.axes = ["data", "a"], tsr.mesh = [#tsr.axis<data: 2>]} {
  func.func @step(%x: !tsr.tensor<[a: 2], f32>) -> !tsr.tensor<[data: 2, a: 2], f32> {
    %s = tsr.start all_gather %x along data : !tsr.tensor<[a: 2], f32> -> !tsr.tensor<[data: 2, a: 2], f32>
    %w = tsr.wait %s sent %x : !tsr.tensor<[data: 2, a: 2], f32>, !tsr.tensor<[a: 2], f32>
    return %w : !tsr.tensor<[data: 2, a: 2], f32>
  }
}

// -----

module attributes {tsr.axes = ["pipe", "a"], tsr.mesh = [#tsr.axis<data: 2>]} {
  func.func @step(%x: !tsr.tensor<[a: 2], f32>) -> !tsr.tensor<[pipe: 2, a: 2], f32> {
    // expected-error @below {{'tsr.start' op is along `pipe`, which is no axis of the mesh}}
    %s = tsr.start all_gather %x along pipe : !tsr.tensor<[a: 2], f32> -> !tsr.tensor<[pipe: 2, a: 2], f32>
    %w = tsr.wait %s sent %x : !tsr.tensor<[pipe: 2, a: 2], f32>, !tsr.tensor<[a: 2], f32>
    return %w : !tsr.tensor<[pipe: 2, a: 2], f32>
  }
}

// -----

module attributes {tsr.axes = ["data", "a"], tsr.mesh = [#tsr.axis<data: 2>]} {
  func.func @step(%x: !tsr.tensor<[a: 2], f32>) -> !tsr.tensor<[data: 3, a: 2], f32> {
    // expected-error @below {{'tsr.start' op has 3 positions along `data`, and the mesh has 2 ranks}}
    %s = tsr.start all_gather %x along data : !tsr.tensor<[a: 2], f32> -> !tsr.tensor<[data: 3, a: 2], f32>
    %w = tsr.wait %s sent %x : !tsr.tensor<[data: 3, a: 2], f32>, !tsr.tensor<[a: 2], f32>
    return %w : !tsr.tensor<[data: 3, a: 2], f32>
  }
}

// -----

module attributes {tsr.axes = ["data", "a"], tsr.mesh = [#tsr.axis<data: 2>]} {
  func.func @step(%x: !tsr.tensor<[a: 2], f32>) -> !tsr.tensor<[data: 2, a: 2], f32> {
    // expected-error @below {{'tsr.start' op must be read by one tsr.wait, and by nothing else}}
    %s = tsr.start all_gather %x along data : !tsr.tensor<[a: 2], f32> -> !tsr.tensor<[data: 2, a: 2], f32>
    return %s : !tsr.tensor<[data: 2, a: 2], f32>
  }
}

// -----

module attributes {tsr.axes = ["data", "a"], tsr.mesh = [#tsr.axis<data: 2>]} {
  func.func @step(%x: !tsr.tensor<[a: 2], f32>) -> !tsr.tensor<[data: 2, a: 2], f32> {
    // expected-error @below {{'tsr.start' op must be read by one tsr.wait, and by nothing else}}
    %s = tsr.start all_gather %x along data : !tsr.tensor<[a: 2], f32> -> !tsr.tensor<[data: 2, a: 2], f32>
    %w = tsr.wait %s sent %x : !tsr.tensor<[data: 2, a: 2], f32>, !tsr.tensor<[a: 2], f32>
    %v = tsr.wait %s sent %x : !tsr.tensor<[data: 2, a: 2], f32>, !tsr.tensor<[a: 2], f32>
    %y = tsr.add %w, %v : !tsr.tensor<[data: 2, a: 2], f32>
    return %y : !tsr.tensor<[data: 2, a: 2], f32>
  }
}
