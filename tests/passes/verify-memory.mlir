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

// All that is allowed.
module attributes {tsr.axes = ["n"], tsr.memory = {arena = 64 : i64, budget = 128 : i64, exchanges = 8 : i64, wish}, tsr.remat = "sqrt", tsr.save = ["h.*"], tsr.recompute = [], tsr.phase = "tile"} {
}
