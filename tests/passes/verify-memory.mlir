// RUN: tessera-opt %s --split-input-file --tsr-verify-phase=phase=tile --verify-diagnostics

// What the user says about memory, as a dump that was edited by hand may have it.
// expected-error @below {{expected a dictionary of sizes, `budget`, `arena` and `exchanges`, and `wish` for `tsr.memory`, got {budget = "8GiB"}}}
module attributes {tsr.axes = ["n"], tsr.memory = {budget = "8GiB"}, tsr.phase = "tile"} {
}

// -----

// expected-error @below {{for `tsr.memory`, got {exchanges = -1 : i64}}}
module attributes {tsr.axes = ["n"], tsr.memory = {exchanges = -1 : i64}, tsr.phase = "tile"} {
}

// -----

// expected-error @below {{for `tsr.memory`, got {bytes = 64 : i64}}}
module attributes {tsr.axes = ["n"], tsr.memory = {bytes = 64 : i64}, tsr.phase = "tile"} {
}

// -----

// expected-error @below {{for `tsr.memory`, got 3 : i64}}
module attributes {tsr.axes = ["n"], tsr.memory = 3 : i64, tsr.phase = "tile"} {
}

// -----

// expected-error @below {{expected a word such as "auto" or "layer" for `tsr.remat`, got "most"}}
module attributes {tsr.axes = ["n"], tsr.remat = "most", tsr.phase = "tile"} {
}

// -----

// expected-error @below {{expected a list of names for `tsr.save`, got "h.mlp.up"}}
module attributes {tsr.axes = ["n"], tsr.save = "h.mlp.up", tsr.phase = "tile"} {
}

// -----

// expected-error @below {{expected a list of names for `tsr.recompute`, got [3]}}
module attributes {tsr.axes = ["n"], tsr.recompute = [3], tsr.phase = "tile"} {
}

// -----

// What the phases found, likewise.
// expected-error @below {{expected a list of plans with `arena`, `live`, `seconds` and `what` for `tsr.frontier`, got [{}]}}
module attributes {tsr.axes = ["n"], tsr.frontier = [{}], tsr.phase = "tile"} {
}

// -----

// expected-error @below {{for `tsr.frontier`, got [{arena = 64 : i64, live = 64 : i64, seconds = 0x7FF8000000000000 : f64, what = "nothing"}]}}
module attributes {tsr.axes = ["n"], tsr.frontier = [{arena = 64 : i64, live = 64 : i64, seconds = 0x7FF8000000000000 : f64, what = "nothing"}], tsr.phase = "tile"} {
}

// -----

// expected-error @below {{for `tsr.frontier`, got [3]}}
module attributes {tsr.axes = ["n"], tsr.frontier = [3], tsr.phase = "tile"} {
}

// -----

// expected-error @below {{`saved`, `recomputed` and `bytes` for `tsr.layer_values`, got}}
module attributes {tsr.axes = ["n"], tsr.layer_values = [{alternative = {bytes = "less", seconds = 0.0 : f64}, axis = "layer", bytes = 64 : i64, layers = 4 : i64, name = "up", recomputed = 0 : i64, saved = 4 : i64}], tsr.phase = "tile"} {
}

// -----

// expected-error @below {{expected a dictionary of seconds: `seconds`, `bound` and `step` for `tsr.recomputation`, got}}
module attributes {tsr.axes = ["n"], tsr.recomputation = {bound = "0", seconds = 0.0 : f64, step = 1.0 : f64}, tsr.phase = "tile"} {
}

// -----

// expected-error @below {{expected a dictionary with the numbers `seconds`, `bound` and `bytes` for `tsr.found_sharding`, got {}}}
module attributes {tsr.axes = ["n"], tsr.found_sharding = {}, tsr.phase = "tile"} {
}

// -----

// expected-error @below {{expected `tsr.arena_bound` to be at most `tsr.arena`}}
module attributes {tsr.arena = 64 : i64, tsr.arena_bound = 65 : i64, tsr.axes = ["n"], tsr.phase = "tile"} {
}

// -----

// All that is allowed.
module attributes {tsr.axes = ["n"], tsr.memory = {arena = 64 : i64, budget = 128 : i64, exchanges = 8 : i64, wish}, tsr.remat = "sqrt", tsr.save = ["h.*"], tsr.recompute = [], tsr.phase = "tile",
  tsr.frontier = [{arena = 64 : i64, chosen, live = 64 : i64, seconds = 0.0 : f64, what = "nothing"}], tsr.recomputation = {bound = 0.0 : f64, seconds = 0.0 : f64, step = 1.0 : f64},
  tsr.layer_values = [{alternative = {bytes = -64 : i64, seconds = 0.0 : f64}, axis = "layer", bytes = 64 : i64, layers = 4 : i64, name = "up reduce", path = "up", recomputed = 0 : i64, saved = 4 : i64}]} {
}
