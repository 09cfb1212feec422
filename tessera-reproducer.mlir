module attributes {tsr.axes = ["micro", "layer", "batch", "seq", "vocab", "place", "head", "hd", "embed", "ff", "key"], tsr.data = [{batch = ["batch", 4], fields = [], format = "tokens", name = "d", seq = ["seq", 64], shuffle = true, splits = {train = ["fineweb/train_*.bin"], val = ["fineweb/val_*.bin"]}, val_fraction = 0.000000e+00 : f64}], tsr.model = "gpt2", tsr.phase = "parse", tsr.settings = {compute = {type = "bf16"}, evaluate = {batches = 20 : i64, every = 250 : i64, on = "val"}, save = {every = 1000 : i64, keep = 3 : i64}, stop = {after = 19073 : i64}}, tsr.target = "cuda"} {
  tsr.state @wte "weight" !tsr.tensor<[vocab: 50257, embed: 768], f32> order ["vocab", "embed"]
  tsr.state @wpe "weight" !tsr.tensor<[place: 1024, embed: 768], f32> order ["place", "embed"]
  tsr.state @h.ln_1.g "gain" !tsr.tensor<[layer: 12, embed: 768], f32> order ["layer", "embed"]
  tsr.state @h.ln_1.b "bias" !tsr.tensor<[layer: 12, embed: 768], f32> order ["layer", "embed"]
  tsr.state @h.attn.wq "weight" !tsr.tensor<[layer: 12, head: 12, hd: 64, embed: 768], f32> order ["layer", "embed", "head", "hd"]
  tsr.state @h.attn.wk "weight" !tsr.tensor<[layer: 12, head: 12, hd: 64, embed: 768], f32> order ["layer", "embed", "head", "hd"]
  tsr.state @h.attn.wv "weight" !tsr.tensor<[layer: 12, head: 12, hd: 64, embed: 768], f32> order ["layer", "embed", "head", "hd"]
  tsr.state @h.attn.wo "weight" !tsr.tensor<[layer: 12, head: 12, hd: 64, embed: 768], f32> order ["layer", "head", "hd", "embed"]
  tsr.state @h.attn.bq "bias" !tsr.tensor<[layer: 12, head: 12, hd: 64], f32> order ["layer", "head", "hd"]
  tsr.state @h.attn.bk "bias" !tsr.tensor<[layer: 12, head: 12, hd: 64], f32> order ["layer", "head", "hd"]
  tsr.state @h.attn.bv "bias" !tsr.tensor<[layer: 12, head: 12, hd: 64], f32> order ["layer", "head", "hd"]
  tsr.state @h.attn.bo "bias" !tsr.tensor<[layer: 12, embed: 768], f32> order ["layer", "embed"]
  tsr.state @h.ln_2.g "gain" !tsr.tensor<[layer: 12, embed: 768], f32> order ["layer", "embed"]
  tsr.state @h.ln_2.b "bias" !tsr.tensor<[layer: 12, embed: 768], f32> order ["layer", "embed"]
  tsr.state @h.mlp.up "weight" !tsr.tensor<[layer: 12, embed: 768, ff: 3072], f32> order ["layer", "embed", "ff"]
  tsr.state @h.mlp.down "weight" !tsr.tensor<[layer: 12, embed: 768, ff: 3072], f32> order ["layer", "ff", "embed"]
  tsr.state @h.mlp.b_up "bias" !tsr.tensor<[layer: 12, ff: 3072], f32> order ["layer", "ff"]
  tsr.state @h.mlp.b_down "bias" !tsr.tensor<[layer: 12, embed: 768], f32> order ["layer", "embed"]
  tsr.state @ln_f.g "gain" !tsr.tensor<[embed: 768], f32> order ["embed"]
  tsr.state @ln_f.b "bias" !tsr.tensor<[embed: 768], f32> order ["embed"]
  tsr.state @step "counter" !tsr.tensor<[], i32>
  tsr.state @seed "counter" !tsr.tensor<[], i64>
  func.func @init(%arg0: !tsr.tensor<[], i64> {tsr.input = {name = "seed", role = "seed"}}) -> (!tsr.tensor<[vocab: 50257, embed: 768], f32> {tsr.state = @wte}, !tsr.tensor<[place: 1024, embed: 768], f32> {tsr.state = @wpe}, !tsr.tensor<[layer: 12, embed: 768], f32> {tsr.state = @h.ln_1.g}, !tsr.tensor<[layer: 12, embed: 768], f32> {tsr.state = @h.ln_1.b}, !tsr.tensor<[layer: 12, head: 12, hd: 64, embed: 768], f32> {tsr.state = @h.attn.wq}, !tsr.tensor<[layer: 12, head: 12, hd: 64, embed: 768], f32> {tsr.state = @h.attn.wk}, !tsr.tensor<[layer: 12, head: 12, hd: 64, embed: 768], f32> {tsr.state = @h.attn.wv}, !tsr.tensor<[layer: 12, head: 12, hd: 64, embed: 768], f32> {tsr.state = @h.attn.wo}, !tsr.tensor<[layer: 12, head: 12, hd: 64], f32> {tsr.state = @h.attn.bq}, !tsr.tensor<[layer: 12, head: 12, hd: 64], f32> {tsr.state = @h.attn.bk}, !tsr.tensor<[layer: 12, head: 12, hd: 64], f32> {tsr.state = @h.attn.bv}, !tsr.tensor<[layer: 12, embed: 768], f32> {tsr.state = @h.attn.bo}, !tsr.tensor<[layer: 12, embed: 768], f32> {tsr.state = @h.ln_2.g}, !tsr.tensor<[layer: 12, embed: 768], f32> {tsr.state = @h.ln_2.b}, !tsr.tensor<[layer: 12, embed: 768, ff: 3072], f32> {tsr.state = @h.mlp.up}, !tsr.tensor<[layer: 12, embed: 768, ff: 3072], f32> {tsr.state = @h.mlp.down}, !tsr.tensor<[layer: 12, ff: 3072], f32> {tsr.state = @h.mlp.b_up}, !tsr.tensor<[layer: 12, embed: 768], f32> {tsr.state = @h.mlp.b_down}, !tsr.tensor<[embed: 768], f32> {tsr.state = @ln_f.g}, !tsr.tensor<[embed: 768], f32> {tsr.state = @ln_f.b}, !tsr.tensor<[], i32> {tsr.state = @step}, !tsr.tensor<[], i64> {tsr.state = @seed}) {
    %0 = tsr.constant 0 : i32 -> <[], i32>
    %wte = tsr.random normal site 78563897 seed %arg0 step %0 {canonical = ["vocab", "embed"], tsr.name = "wte"} : (!tsr.tensor<[], i64>, !tsr.tensor<[], i32>) -> !tsr.tensor<[vocab: 50257, embed: 768], f32>
    %1 = tsr.constant 2.000000e-02 : f32 -> <[], f32>
    %wte_0 = tsr.mul %wte, %1 {tsr.name = "wte"} : (!tsr.tensor<[vocab: 50257, embed: 768], f32>, !tsr.tensor<[], f32>) -> !tsr.tensor<[vocab: 50257, embed: 768], f32>
    %wpe = tsr.random normal site 616139253 seed %arg0 step %0 {canonical = ["place", "embed"], tsr.name = "wpe"} : (!tsr.tensor<[], i64>, !tsr.tensor<[], i32>) -> !tsr.tensor<[place: 1024, embed: 768], f32>
    %2 = tsr.constant 0.00999999977 : f32 -> <[], f32>
    %wpe_1 = tsr.mul %wpe, %2 {tsr.name = "wpe"} : (!tsr.tensor<[place: 1024, embed: 768], f32>, !tsr.tensor<[], f32>) -> !tsr.tensor<[place: 1024, embed: 768], f32>
    %3 = tsr.constant 1.000000e+00 : f32 -> <[layer: 12, embed: 768], f32>
    %4 = tsr.constant 0.000000e+00 : f32 -> <[layer: 12, embed: 768], f32>
    %wq = tsr.random normal site 1547927394 seed %arg0 step %0 {canonical = ["layer", "embed", "head", "hd"], tsr.name = "h.attn.wq"} : (!tsr.tensor<[], i64>, !tsr.tensor<[], i32>) -> !tsr.tensor<[layer: 12, head: 12, hd: 64, embed: 768], f32>
    %5 = tsr.constant 2.000000e-02 : f32 -> <[], f32>
    %wq_2 = tsr.mul %wq, %5 {tsr.name = "h.attn.wq"} : (!tsr.tensor<[layer: 12, head: 12, hd: 64, embed: 768], f32>, !tsr.tensor<[], f32>) -> !tsr.tensor<[layer: 12, head: 12, hd: 64, embed: 768], f32>
    %wk = tsr.random normal site 1380151204 seed %arg0 step %0 {canonical = ["layer", "embed", "head", "hd"], tsr.name = "h.attn.wk"} : (!tsr.tensor<[], i64>, !tsr.tensor<[], i32>) -> !tsr.tensor<[layer: 12, head: 12, hd: 64, embed: 768], f32>
    %6 = tsr.constant 2.000000e-02 : f32 -> <[], f32>
    %wk_3 = tsr.mul %wk, %6 {tsr.name = "h.attn.wk"} : (!tsr.tensor<[layer: 12, head: 12, hd: 64, embed: 768], f32>, !tsr.tensor<[], f32>) -> !tsr.tensor<[layer: 12, head: 12, hd: 64, embed: 768], f32>
    %wv = tsr.random normal site 1464039299 seed %arg0 step %0 {canonical = ["layer", "embed", "head", "hd"], tsr.name = "h.attn.wv"} : (!tsr.tensor<[], i64>, !tsr.tensor<[], i32>) -> !tsr.tensor<[layer: 12, head: 12, hd: 64, embed: 768], f32>
    %7 = tsr.constant 2.000000e-02 : f32 -> <[], f32>
    %wv_4 = tsr.mul %wv, %7 {tsr.name = "h.attn.wv"} : (!tsr.tensor<[layer: 12, head: 12, hd: 64, embed: 768], f32>, !tsr.tensor<[], f32>) -> !tsr.tensor<[layer: 12, head: 12, hd: 64, embed: 768], f32>
    %wo = tsr.random normal site 1313040728 seed %arg0 step %0 {canonical = ["layer", "head", "hd", "embed"], tsr.name = "h.attn.wo"} : (!tsr.tensor<[], i64>, !tsr.tensor<[], i32>) -> !tsr.tensor<[layer: 12, head: 12, hd: 64, embed: 768], f32>
    %8 = tsr.constant 0.00408248277 : f32 -> <[], f32>
    %wo_5 = tsr.mul %wo, %8 {tsr.name = "h.attn.wo"} : (!tsr.tensor<[layer: 12, head: 12, hd: 64, embed: 768], f32>, !tsr.tensor<[], f32>) -> !tsr.tensor<[layer: 12, head: 12, hd: 64, embed: 768], f32>
    %9 = tsr.constant 0.000000e+00 : f32 -> <[layer: 12, head: 12, hd: 64], f32>
    %10 = tsr.constant 0.000000e+00 : f32 -> <[layer: 12, head: 12, hd: 64], f32>
    %11 = tsr.constant 0.000000e+00 : f32 -> <[layer: 12, head: 12, hd: 64], f32>
    %12 = tsr.constant 0.000000e+00 : f32 -> <[layer: 12, embed: 768], f32>
    %13 = tsr.constant 1.000000e+00 : f32 -> <[layer: 12, embed: 768], f32>
    %14 = tsr.constant 0.000000e+00 : f32 -> <[layer: 12, embed: 768], f32>
    %up = tsr.random normal site 484722861 seed %arg0 step %0 {canonical = ["layer", "embed", "ff"], tsr.name = "h.mlp.up"} : (!tsr.tensor<[], i64>, !tsr.tensor<[], i32>) -> !tsr.tensor<[layer: 12, embed: 768, ff: 3072], f32>
    %15 = tsr.constant 2.000000e-02 : f32 -> <[], f32>
    %up_6 = tsr.mul %up, %15 {tsr.name = "h.mlp.up"} : (!tsr.tensor<[layer: 12, embed: 768, ff: 3072], f32>, !tsr.tensor<[], f32>) -> !tsr.tensor<[layer: 12, embed: 768, ff: 3072], f32>
    %down = tsr.random normal site 387253196 seed %arg0 step %0 {canonical = ["layer", "ff", "embed"], tsr.name = "h.mlp.down"} : (!tsr.tensor<[], i64>, !tsr.tensor<[], i32>) -> !tsr.tensor<[layer: 12, embed: 768, ff: 3072], f32>
    %16 = tsr.constant 0.00408248277 : f32 -> <[], f32>
    %down_7 = tsr.mul %down, %16 {tsr.name = "h.mlp.down"} : (!tsr.tensor<[layer: 12, embed: 768, ff: 3072], f32>, !tsr.tensor<[], f32>) -> !tsr.tensor<[layer: 12, embed: 768, ff: 3072], f32>
    %17 = tsr.constant 0.000000e+00 : f32 -> <[layer: 12, ff: 3072], f32>
    %18 = tsr.constant 0.000000e+00 : f32 -> <[layer: 12, embed: 768], f32>
    %19 = tsr.constant 1.000000e+00 : f32 -> <[embed: 768], f32>
    %20 = tsr.constant 0.000000e+00 : f32 -> <[embed: 768], f32>
    return %wte_0, %wpe_1, %3, %4, %wq_2, %wk_3, %wv_4, %wo_5, %9, %10, %11, %12, %13, %14, %up_6, %down_7, %17, %18, %19, %20, %0, %arg0 : !tsr.tensor<[vocab: 50257, embed: 768], f32>, !tsr.tensor<[place: 1024, embed: 768], f32>, !tsr.tensor<[layer: 12, embed: 768], f32>, !tsr.tensor<[layer: 12, embed: 768], f32>, !tsr.tensor<[layer: 12, head: 12, hd: 64, embed: 768], f32>, !tsr.tensor<[layer: 12, head: 12, hd: 64, embed: 768], f32>, !tsr.tensor<[layer: 12, head: 12, hd: 64, embed: 768], f32>, !tsr.tensor<[layer: 12, head: 12, hd: 64, embed: 768], f32>, !tsr.tensor<[layer: 12, head: 12, hd: 64], f32>, !tsr.tensor<[layer: 12, head: 12, hd: 64], f32>, !tsr.tensor<[layer: 12, head: 12, hd: 64], f32>, !tsr.tensor<[layer: 12, embed: 768], f32>, !tsr.tensor<[layer: 12, embed: 768], f32>, !tsr.tensor<[layer: 12, embed: 768], f32>, !tsr.tensor<[layer: 12, embed: 768, ff: 3072], f32>, !tsr.tensor<[layer: 12, embed: 768, ff: 3072], f32>, !tsr.tensor<[layer: 12, ff: 3072], f32>, !tsr.tensor<[layer: 12, embed: 768], f32>, !tsr.tensor<[embed: 768], f32>, !tsr.tensor<[embed: 768], f32>, !tsr.tensor<[], i32>, !tsr.tensor<[], i64>
  }
  func.func @step(%arg0: !tsr.tensor<[vocab: 50257, embed: 768], f32> {tsr.state = @wte}, %arg1: !tsr.tensor<[place: 1024, embed: 768], f32> {tsr.state = @wpe}, %arg2: !tsr.tensor<[layer: 12, embed: 768], f32> {tsr.state = @h.ln_1.g}, %arg3: !tsr.tensor<[layer: 12, embed: 768], f32> {tsr.state = @h.ln_1.b}, %arg4: !tsr.tensor<[layer: 12, head: 12, hd: 64, embed: 768], f32> {tsr.state = @h.attn.wq}, %arg5: !tsr.tensor<[layer: 12, head: 12, hd: 64, embed: 768], f32> {tsr.state = @h.attn.wk}, %arg6: !tsr.tensor<[layer: 12, head: 12, hd: 64, embed: 768], f32> {tsr.state = @h.attn.wv}, %arg7: !tsr.tensor<[layer: 12, head: 12, hd: 64, embed: 768], f32> {tsr.state = @h.attn.wo}, %arg8: !tsr.tensor<[layer: 12, head: 12, hd: 64], f32> {tsr.state = @h.attn.bq}, %arg9: !tsr.tensor<[layer: 12, head: 12, hd: 64], f32> {tsr.state = @h.attn.bk}, %arg10: !tsr.tensor<[layer: 12, head: 12, hd: 64], f32> {tsr.state = @h.attn.bv}, %arg11: !tsr.tensor<[layer: 12, embed: 768], f32> {tsr.state = @h.attn.bo}, %arg12: !tsr.tensor<[layer: 12, embed: 768], f32> {tsr.state = @h.ln_2.g}, %arg13: !tsr.tensor<[layer: 12, embed: 768], f32> {tsr.state = @h.ln_2.b}, %arg14: !tsr.tensor<[layer: 12, embed: 768, ff: 3072], f32> {tsr.state = @h.mlp.up}, %arg15: !tsr.tensor<[layer: 12, embed: 768, ff: 3072], f32> {tsr.state = @h.mlp.down}, %arg16: !tsr.tensor<[layer: 12, ff: 3072], f32> {tsr.state = @h.mlp.b_up}, %arg17: !tsr.tensor<[layer: 12, embed: 768], f32> {tsr.state = @h.mlp.b_down}, %arg18: !tsr.tensor<[embed: 768], f32> {tsr.state = @ln_f.g}, %arg19: !tsr.tensor<[embed: 768], f32> {tsr.state = @ln_f.b}, %arg20: !tsr.tensor<[], i32> {tsr.state = @step}, %arg21: !tsr.tensor<[batch: 4, seq: 64], i32> {tsr.input = {data = "d", field = "tokens", name = "d.tokens", of = 50257 : i64, order = ["batch", "seq"], role = "data"}}, %arg22: !tsr.tensor<[batch: 4, seq: 64], i32> {tsr.input = {data = "d", field = "next", name = "d.next", of = 50257 : i64, order = ["batch", "seq"], role = "data"}}) -> (!tsr.tensor<[vocab: 50257, embed: 768], f32> {tsr.state = @wte}, !tsr.tensor<[place: 1024, embed: 768], f32> {tsr.state = @wpe}, !tsr.tensor<[layer: 12, embed: 768], f32> {tsr.state = @h.ln_1.g}, !tsr.tensor<[layer: 12, embed: 768], f32> {tsr.state = @h.ln_1.b}, !tsr.tensor<[layer: 12, head: 12, hd: 64, embed: 768], f32> {tsr.state = @h.attn.wq}, !tsr.tensor<[layer: 12, head: 12, hd: 64, embed: 768], f32> {tsr.state = @h.attn.wk}, !tsr.tensor<[layer: 12, head: 12, hd: 64, embed: 768], f32> {tsr.state = @h.attn.wv}, !tsr.tensor<[layer: 12, head: 12, hd: 64, embed: 768], f32> {tsr.state = @h.attn.wo}, !tsr.tensor<[layer: 12, head: 12, hd: 64], f32> {tsr.state = @h.attn.bq}, !tsr.tensor<[layer: 12, head: 12, hd: 64], f32> {tsr.state = @h.attn.bk}, !tsr.tensor<[layer: 12, head: 12, hd: 64], f32> {tsr.state = @h.attn.bv}, !tsr.tensor<[layer: 12, embed: 768], f32> {tsr.state = @h.attn.bo}, !tsr.tensor<[layer: 12, embed: 768], f32> {tsr.state = @h.ln_2.g}, !tsr.tensor<[layer: 12, embed: 768], f32> {tsr.state = @h.ln_2.b}, !tsr.tensor<[layer: 12, embed: 768, ff: 3072], f32> {tsr.state = @h.mlp.up}, !tsr.tensor<[layer: 12, embed: 768, ff: 3072], f32> {tsr.state = @h.mlp.down}, !tsr.tensor<[layer: 12, ff: 3072], f32> {tsr.state = @h.mlp.b_up}, !tsr.tensor<[layer: 12, embed: 768], f32> {tsr.state = @h.mlp.b_down}, !tsr.tensor<[embed: 768], f32> {tsr.state = @ln_f.g}, !tsr.tensor<[embed: 768], f32> {tsr.state = @ln_f.b}, !tsr.tensor<[], i32> {tsr.state = @step}, !tsr.tensor<[], f32> {tsr.output = {name = "ce", role = "loss"}}, !tsr.tensor<[], f32> {tsr.output = {name = "total", role = "total"}}, !tsr.tensor<[], f32> {tsr.output = {name = "rate", role = "rate"}}, !tsr.tensor<[], f32> {tsr.output = {name = "grad_norm", role = "grad_norm"}}, !tsr.tensor<[], i32> {tsr.output = {name = "finite", role = "finite"}}) {
    %e = tsr.gather %arg0[["vocab"] = %arg21] {tsr.name = "e"} : (!tsr.tensor<[vocab: 50257, embed: 768], f32>, !tsr.tensor<[batch: 4, seq: 64], i32>) -> !tsr.tensor<[batch: 4, seq: 64, embed: 768], f32>
    %0 = tsr.index : <[seq: 64], i32>
    %e_0 = tsr.slice %arg1 "place" from 0 {tsr.name = "e"} : <[place: 1024, embed: 768], f32> -> <[place: 64, embed: 768], f32>
    %e_1 = tsr.rename %e_0 ["place"] to ["seq"] {tsr.name = "e"} : <[place: 64, embed: 768], f32> -> <[seq: 64, embed: 768], f32>
    %e_2 = tsr.add %e, %e_1 {tsr.name = "e"} : (!tsr.tensor<[batch: 4, seq: 64, embed: 768], f32>, !tsr.tensor<[seq: 64, embed: 768], f32>) -> !tsr.tensor<[batch: 4, seq: 64, embed: 768], f32>
    %y = tsr.repeat [layer: 12] index %arg23 carry (%arg24 = %e_2 : !tsr.tensor<[batch: 4, seq: 64, embed: 768], f32>) slice (%arg25 = %arg2 : !tsr.tensor<[layer: 12, embed: 768], f32>, %arg26 = %arg3 : !tsr.tensor<[layer: 12, embed: 768], f32>, %arg27 = %arg4 : !tsr.tensor<[layer: 12, head: 12, hd: 64, embed: 768], f32>, %arg28 = %arg5 : !tsr.tensor<[layer: 12, head: 12, hd: 64, embed: 768], f32>, %arg29 = %arg6 : !tsr.tensor<[layer: 12, head: 12, hd: 64, embed: 768], f32>, %arg30 = %arg7 : !tsr.tensor<[layer: 12, head: 12, hd: 64, embed: 768], f32>, %arg31 = %arg8 : !tsr.tensor<[layer: 12, head: 12, hd: 64], f32>, %arg32 = %arg9 : !tsr.tensor<[layer: 12, head: 12, hd: 64], f32>, %arg33 = %arg10 : !tsr.tensor<[layer: 12, head: 12, hd: 64], f32>, %arg34 = %arg11 : !tsr.tensor<[layer: 12, embed: 768], f32>, %arg35 = %arg12 : !tsr.tensor<[layer: 12, embed: 768], f32>, %arg36 = %arg13 : !tsr.tensor<[layer: 12, embed: 768], f32>, %arg37 = %arg14 : !tsr.tensor<[layer: 12, embed: 768, ff: 3072], f32>, %arg38 = %arg15 : !tsr.tensor<[layer: 12, embed: 768, ff: 3072], f32>, %arg39 = %arg16 : !tsr.tensor<[layer: 12, ff: 3072], f32>, %arg40 = %arg17 : !tsr.tensor<[layer: 12, embed: 768], f32>) -> !tsr.tensor<[batch: 4, seq: 64, embed: 768], f32> attributes {tsr.name = "y"} {
      %centred_53 = tsr.reduce sum %arg24 over ["embed"] {tsr.name = "h.ln_1.centred"} : <[batch: 4, seq: 64, embed: 768], f32> -> <[batch: 4, seq: 64], f32>
      %106 = tsr.constant 0.00130208337 : f32 -> <[], f32>
      %centred_54 = tsr.mul %centred_53, %106 {tsr.name = "h.ln_1.centred"} : (!tsr.tensor<[batch: 4, seq: 64], f32>, !tsr.tensor<[], f32>) -> !tsr.tensor<[batch: 4, seq: 64], f32>
      %centred_55 = tsr.sub %arg24, %centred_54 {tsr.name = "h.ln_1.centred"} : (!tsr.tensor<[batch: 4, seq: 64, embed: 768], f32>, !tsr.tensor<[batch: 4, seq: 64], f32>) -> !tsr.tensor<[batch: 4, seq: 64, embed: 768], f32>
      %variance_56 = tsr.mul %centred_55, %centred_55 {tsr.name = "h.ln_1.variance"} : (!tsr.tensor<[batch: 4, seq: 64, embed: 768], f32>, !tsr.tensor<[batch: 4, seq: 64, embed: 768], f32>) -> !tsr.tensor<[batch: 4, seq: 64, embed: 768], f32>
      %variance_57 = tsr.reduce sum %variance_56 over ["embed"] {tsr.name = "h.ln_1.variance"} : <[batch: 4, seq: 64, embed: 768], f32> -> <[batch: 4, seq: 64], f32>
      %107 = tsr.constant 0.00130208337 : f32 -> <[], f32>
      %variance_58 = tsr.mul %variance_57, %107 {tsr.name = "h.ln_1.variance"} : (!tsr.tensor<[batch: 4, seq: 64], f32>, !tsr.tensor<[], f32>) -> !tsr.tensor<[batch: 4, seq: 64], f32>
      %108 = tsr.constant 9.99999974E-6 : f32 -> <[], f32>
      %ln_1 = tsr.add %variance_58, %108 {tsr.name = "h.ln_1"} : (!tsr.tensor<[batch: 4, seq: 64], f32>, !tsr.tensor<[], f32>) -> !tsr.tensor<[batch: 4, seq: 64], f32>
      %ln_1_59 = tsr.rsqrt %ln_1 {tsr.name = "h.ln_1"} : <[batch: 4, seq: 64], f32>
      %ln_1_60 = tsr.mul %centred_55, %ln_1_59 {tsr.name = "h.ln_1"} : (!tsr.tensor<[batch: 4, seq: 64, embed: 768], f32>, !tsr.tensor<[batch: 4, seq: 64], f32>) -> !tsr.tensor<[batch: 4, seq: 64, embed: 768], f32>
      %ln_1_61 = tsr.mul %ln_1_60, %arg25 {tsr.name = "h.ln_1"} : (!tsr.tensor<[batch: 4, seq: 64, embed: 768], f32>, !tsr.tensor<[embed: 768], f32>) -> !tsr.tensor<[batch: 4, seq: 64, embed: 768], f32>
      %ln_1_62 = tsr.add %ln_1_61, %arg26 {tsr.name = "h.ln_1"} : (!tsr.tensor<[batch: 4, seq: 64, embed: 768], f32>, !tsr.tensor<[embed: 768], f32>) -> !tsr.tensor<[batch: 4, seq: 64, embed: 768], f32>
      %past = tsr.rename %ln_1_62 ["seq"] to ["key"] {tsr.name = "h.attn.past"} : <[batch: 4, seq: 64, embed: 768], f32> -> <[batch: 4, embed: 768, key: 64], f32>
      %q = tsr.contract %ln_1_62, %arg27 over ["embed"] {tsr.name = "h.attn.q"} : (!tsr.tensor<[batch: 4, seq: 64, embed: 768], f32>, !tsr.tensor<[head: 12, hd: 64, embed: 768], f32>) -> !tsr.tensor<[batch: 4, seq: 64, head: 12, hd: 64], f32>
      %q_63 = tsr.add %q, %arg31 {tsr.name = "h.attn.q"} : (!tsr.tensor<[batch: 4, seq: 64, head: 12, hd: 64], f32>, !tsr.tensor<[head: 12, hd: 64], f32>) -> !tsr.tensor<[batch: 4, seq: 64, head: 12, hd: 64], f32>
      %k = tsr.contract %past, %arg28 over ["embed"] {tsr.name = "h.attn.k"} : (!tsr.tensor<[batch: 4, embed: 768, key: 64], f32>, !tsr.tensor<[head: 12, hd: 64, embed: 768], f32>) -> !tsr.tensor<[batch: 4, head: 12, hd: 64, key: 64], f32>
      %k_64 = tsr.add %k, %arg32 {tsr.name = "h.attn.k"} : (!tsr.tensor<[batch: 4, head: 12, hd: 64, key: 64], f32>, !tsr.tensor<[head: 12, hd: 64], f32>) -> !tsr.tensor<[batch: 4, head: 12, hd: 64, key: 64], f32>
      %v = tsr.contract %past, %arg29 over ["embed"] {tsr.name = "h.attn.v"} : (!tsr.tensor<[batch: 4, embed: 768, key: 64], f32>, !tsr.tensor<[head: 12, hd: 64, embed: 768], f32>) -> !tsr.tensor<[batch: 4, head: 12, hd: 64, key: 64], f32>
      %v_65 = tsr.add %v, %arg33 {tsr.name = "h.attn.v"} : (!tsr.tensor<[batch: 4, head: 12, hd: 64, key: 64], f32>, !tsr.tensor<[head: 12, hd: 64], f32>) -> !tsr.tensor<[batch: 4, head: 12, hd: 64, key: 64], f32>
      %score = tsr.contract %q_63, %k_64 over ["hd"] {tsr.name = "h.attn.score"} : (!tsr.tensor<[batch: 4, seq: 64, head: 12, hd: 64], f32>, !tsr.tensor<[batch: 4, head: 12, hd: 64, key: 64], f32>) -> !tsr.tensor<[batch: 4, seq: 64, head: 12, key: 64], f32>
      %109 = tsr.constant 8.000000e+00 : f32 -> <[], f32>
      %score_66 = tsr.div %score, %109 {tsr.name = "h.attn.score"} : (!tsr.tensor<[batch: 4, seq: 64, head: 12, key: 64], f32>, !tsr.tensor<[], f32>) -> !tsr.tensor<[batch: 4, seq: 64, head: 12, key: 64], f32>
      %110 = tsr.index : <[key: 64], i32>
      %111 = tsr.index : <[seq: 64], i32>
      %p = tsr.compare le %110, %111 {tsr.name = "h.attn.p"} : (!tsr.tensor<[key: 64], i32>, !tsr.tensor<[seq: 64], i32>) -> !tsr.tensor<[seq: 64, key: 64], i1>
      %112 = tsr.constant 0xFF800000 : f32 -> <[], f32>
      %p_67 = tsr.select %p, %score_66, %112 {tsr.name = "h.attn.p"} : (!tsr.tensor<[seq: 64, key: 64], i1>, !tsr.tensor<[batch: 4, seq: 64, head: 12, key: 64], f32>, !tsr.tensor<[], f32>) -> !tsr.tensor<[batch: 4, seq: 64, head: 12, key: 64], f32>
      %top_68 = tsr.reduce max %p_67 over ["key"] {tsr.name = "h.attn.softmax.top"} : <[batch: 4, seq: 64, head: 12, key: 64], f32> -> <[batch: 4, seq: 64, head: 12], f32>
      %113 = tsr.constant 0xFF800000 : f32 -> <[], f32>
      %e_69 = tsr.compare eq %top_68, %113 {tsr.name = "h.attn.softmax.e"} : (!tsr.tensor<[batch: 4, seq: 64, head: 12], f32>, !tsr.tensor<[], f32>) -> !tsr.tensor<[batch: 4, seq: 64, head: 12], i1>
      %114 = tsr.constant 0.000000e+00 : f32 -> <[], f32>
      %e_70 = tsr.select %e_69, %114, %top_68 {tsr.name = "h.attn.softmax.e"} : (!tsr.tensor<[batch: 4, seq: 64, head: 12], i1>, !tsr.tensor<[], f32>, !tsr.tensor<[batch: 4, seq: 64, head: 12], f32>) -> !tsr.tensor<[batch: 4, seq: 64, head: 12], f32>
      %e_71 = tsr.sub %p_67, %e_70 {tsr.name = "h.attn.softmax.e"} : (!tsr.tensor<[batch: 4, seq: 64, head: 12, key: 64], f32>, !tsr.tensor<[batch: 4, seq: 64, head: 12], f32>) -> !tsr.tensor<[batch: 4, seq: 64, head: 12, key: 64], f32>
      %e_72 = tsr.exp %e_71 {tsr.name = "h.attn.softmax.e"} : <[batch: 4, seq: 64, head: 12, key: 64], f32>
      %total_73 = tsr.reduce sum %e_72 over ["key"] {tsr.name = "h.attn.softmax.total"} : <[batch: 4, seq: 64, head: 12, key: 64], f32> -> <[batch: 4, seq: 64, head: 12], f32>
      %115 = tsr.constant 0.000000e+00 : f32 -> <[], f32>
      %softmax = tsr.compare eq %total_73, %115 {tsr.name = "h.attn.softmax"} : (!tsr.tensor<[batch: 4, seq: 64, head: 12], f32>, !tsr.tensor<[], f32>) -> !tsr.tensor<[batch: 4, seq: 64, head: 12], i1>
      %116 = tsr.constant 1.000000e+00 : f32 -> <[], f32>
      %softmax_74 = tsr.select %softmax, %116, %total_73 {tsr.name = "h.attn.softmax"} : (!tsr.tensor<[batch: 4, seq: 64, head: 12], i1>, !tsr.tensor<[], f32>, !tsr.tensor<[batch: 4, seq: 64, head: 12], f32>) -> !tsr.tensor<[batch: 4, seq: 64, head: 12], f32>
      %softmax_75 = tsr.div %e_72, %softmax_74 {tsr.name = "h.attn.softmax"} : (!tsr.tensor<[batch: 4, seq: 64, head: 12, key: 64], f32>, !tsr.tensor<[batch: 4, seq: 64, head: 12], f32>) -> !tsr.tensor<[batch: 4, seq: 64, head: 12, key: 64], f32>
      %attn = tsr.contract %softmax_75, %v_65 over ["key"] {tsr.name = "h.attn"} : (!tsr.tensor<[batch: 4, seq: 64, head: 12, key: 64], f32>, !tsr.tensor<[batch: 4, head: 12, hd: 64, key: 64], f32>) -> !tsr.tensor<[batch: 4, seq: 64, head: 12, hd: 64], f32>
      %attn_76 = tsr.contract %attn, %arg30 over ["head", "hd"] {tsr.name = "h.attn"} : (!tsr.tensor<[batch: 4, seq: 64, head: 12, hd: 64], f32>, !tsr.tensor<[head: 12, hd: 64, embed: 768], f32>) -> !tsr.tensor<[batch: 4, seq: 64, embed: 768], f32>
      %attn_77 = tsr.add %attn_76, %arg34 {tsr.name = "h.attn"} : (!tsr.tensor<[batch: 4, seq: 64, embed: 768], f32>, !tsr.tensor<[embed: 768], f32>) -> !tsr.tensor<[batch: 4, seq: 64, embed: 768], f32>
      %a = tsr.add %arg24, %attn_77 {tsr.name = "h.a"} : (!tsr.tensor<[batch: 4, seq: 64, embed: 768], f32>, !tsr.tensor<[batch: 4, seq: 64, embed: 768], f32>) -> !tsr.tensor<[batch: 4, seq: 64, embed: 768], f32>
      %centred_78 = tsr.reduce sum %a over ["embed"] {tsr.name = "h.ln_2.centred"} : <[batch: 4, seq: 64, embed: 768], f32> -> <[batch: 4, seq: 64], f32>
      %117 = tsr.constant 0.00130208337 : f32 -> <[], f32>
      %centred_79 = tsr.mul %centred_78, %117 {tsr.name = "h.ln_2.centred"} : (!tsr.tensor<[batch: 4, seq: 64], f32>, !tsr.tensor<[], f32>) -> !tsr.tensor<[batch: 4, seq: 64], f32>
      %centred_80 = tsr.sub %a, %centred_79 {tsr.name = "h.ln_2.centred"} : (!tsr.tensor<[batch: 4, seq: 64, embed: 768], f32>, !tsr.tensor<[batch: 4, seq: 64], f32>) -> !tsr.tensor<[batch: 4, seq: 64, embed: 768], f32>
      %variance_81 = tsr.mul %centred_80, %centred_80 {tsr.name = "h.ln_2.variance"} : (!tsr.tensor<[batch: 4, seq: 64, embed: 768], f32>, !tsr.tensor<[batch: 4, seq: 64, embed: 768], f32>) -> !tsr.tensor<[batch: 4, seq: 64, embed: 768], f32>
      %variance_82 = tsr.reduce sum %variance_81 over ["embed"] {tsr.name = "h.ln_2.variance"} : <[batch: 4, seq: 64, embed: 768], f32> -> <[batch: 4, seq: 64], f32>
      %118 = tsr.constant 0.00130208337 : f32 -> <[], f32>
      %variance_83 = tsr.mul %variance_82, %118 {tsr.name = "h.ln_2.variance"} : (!tsr.tensor<[batch: 4, seq: 64], f32>, !tsr.tensor<[], f32>) -> !tsr.tensor<[batch: 4, seq: 64], f32>
      %119 = tsr.constant 9.99999974E-6 : f32 -> <[], f32>
      %ln_2 = tsr.add %variance_83, %119 {tsr.name = "h.ln_2"} : (!tsr.tensor<[batch: 4, seq: 64], f32>, !tsr.tensor<[], f32>) -> !tsr.tensor<[batch: 4, seq: 64], f32>
      %ln_2_84 = tsr.rsqrt %ln_2 {tsr.name = "h.ln_2"} : <[batch: 4, seq: 64], f32>
      %ln_2_85 = tsr.mul %centred_80, %ln_2_84 {tsr.name = "h.ln_2"} : (!tsr.tensor<[batch: 4, seq: 64, embed: 768], f32>, !tsr.tensor<[batch: 4, seq: 64], f32>) -> !tsr.tensor<[batch: 4, seq: 64, embed: 768], f32>
      %ln_2_86 = tsr.mul %ln_2_85, %arg35 {tsr.name = "h.ln_2"} : (!tsr.tensor<[batch: 4, seq: 64, embed: 768], f32>, !tsr.tensor<[embed: 768], f32>) -> !tsr.tensor<[batch: 4, seq: 64, embed: 768], f32>
      %ln_2_87 = tsr.add %ln_2_86, %arg36 {tsr.name = "h.ln_2"} : (!tsr.tensor<[batch: 4, seq: 64, embed: 768], f32>, !tsr.tensor<[embed: 768], f32>) -> !tsr.tensor<[batch: 4, seq: 64, embed: 768], f32>
      %mlp = tsr.contract %ln_2_87, %arg37 over ["embed"] {tsr.name = "h.mlp"} : (!tsr.tensor<[batch: 4, seq: 64, embed: 768], f32>, !tsr.tensor<[embed: 768, ff: 3072], f32>) -> !tsr.tensor<[batch: 4, seq: 64, ff: 3072], f32>
      %mlp_88 = tsr.add %mlp, %arg39 {tsr.name = "h.mlp"} : (!tsr.tensor<[batch: 4, seq: 64, ff: 3072], f32>, !tsr.tensor<[ff: 3072], f32>) -> !tsr.tensor<[batch: 4, seq: 64, ff: 3072], f32>
      %120 = tsr.constant 5.000000e-01 : f32 -> <[], f32>
      %gelu_tanh = tsr.mul %120, %mlp_88 {tsr.name = "h.mlp.gelu_tanh"} : (!tsr.tensor<[], f32>, !tsr.tensor<[batch: 4, seq: 64, ff: 3072], f32>) -> !tsr.tensor<[batch: 4, seq: 64, ff: 3072], f32>
      %gelu_tanh_89 = tsr.mul %mlp_88, %mlp_88 {tsr.name = "h.mlp.gelu_tanh"} : (!tsr.tensor<[batch: 4, seq: 64, ff: 3072], f32>, !tsr.tensor<[batch: 4, seq: 64, ff: 3072], f32>) -> !tsr.tensor<[batch: 4, seq: 64, ff: 3072], f32>
      %gelu_tanh_90 = tsr.mul %gelu_tanh_89, %mlp_88 {tsr.name = "h.mlp.gelu_tanh"} : (!tsr.tensor<[batch: 4, seq: 64, ff: 3072], f32>, !tsr.tensor<[batch: 4, seq: 64, ff: 3072], f32>) -> !tsr.tensor<[batch: 4, seq: 64, ff: 3072], f32>
      %121 = tsr.constant 4.471500e-02 : f32 -> <[], f32>
      %gelu_tanh_91 = tsr.mul %121, %gelu_tanh_90 {tsr.name = "h.mlp.gelu_tanh"} : (!tsr.tensor<[], f32>, !tsr.tensor<[batch: 4, seq: 64, ff: 3072], f32>) -> !tsr.tensor<[batch: 4, seq: 64, ff: 3072], f32>
      %gelu_tanh_92 = tsr.add %mlp_88, %gelu_tanh_91 {tsr.name = "h.mlp.gelu_tanh"} : (!tsr.tensor<[batch: 4, seq: 64, ff: 3072], f32>, !tsr.tensor<[batch: 4, seq: 64, ff: 3072], f32>) -> !tsr.tensor<[batch: 4, seq: 64, ff: 3072], f32>
      %122 = tsr.constant 0.797884583 : f32 -> <[], f32>
      %gelu_tanh_93 = tsr.mul %122, %gelu_tanh_92 {tsr.name = "h.mlp.gelu_tanh"} : (!tsr.tensor<[], f32>, !tsr.tensor<[batch: 4, seq: 64, ff: 3072], f32>) -> !tsr.tensor<[batch: 4, seq: 64, ff: 3072], f32>
      %gelu_tanh_94 = tsr.tanh %gelu_tanh_93 {tsr.name = "h.mlp.gelu_tanh"} : <[batch: 4, seq: 64, ff: 3072], f32>
      %123 = tsr.constant 1.000000e+00 : f32 -> <[], f32>
      %gelu_tanh_95 = tsr.add %123, %gelu_tanh_94 {tsr.name = "h.mlp.gelu_tanh"} : (!tsr.tensor<[], f32>, !tsr.tensor<[batch: 4, seq: 64, ff: 3072], f32>) -> !tsr.tensor<[batch: 4, seq: 64, ff: 3072], f32>
      %gelu_tanh_96 = tsr.mul %gelu_tanh, %gelu_tanh_95 {tsr.name = "h.mlp.gelu_tanh"} : (!tsr.tensor<[batch: 4, seq: 64, ff: 3072], f32>, !tsr.tensor<[batch: 4, seq: 64, ff: 3072], f32>) -> !tsr.tensor<[batch: 4, seq: 64, ff: 3072], f32>
      %mlp_97 = tsr.contract %gelu_tanh_96, %arg38 over ["ff"] {tsr.name = "h.mlp"} : (!tsr.tensor<[batch: 4, seq: 64, ff: 3072], f32>, !tsr.tensor<[embed: 768, ff: 3072], f32>) -> !tsr.tensor<[batch: 4, seq: 64, embed: 768], f32>
      %mlp_98 = tsr.add %mlp_97, %arg40 {tsr.name = "h.mlp"} : (!tsr.tensor<[batch: 4, seq: 64, embed: 768], f32>, !tsr.tensor<[embed: 768], f32>) -> !tsr.tensor<[batch: 4, seq: 64, embed: 768], f32>
      %h = tsr.add %a, %mlp_98 {tsr.name = "h"} : (!tsr.tensor<[batch: 4, seq: 64, embed: 768], f32>, !tsr.tensor<[batch: 4, seq: 64, embed: 768], f32>) -> !tsr.tensor<[batch: 4, seq: 64, embed: 768], f32>
      tsr.yield %h : !tsr.tensor<[batch: 4, seq: 64, embed: 768], f32>
    }
    %centred = tsr.reduce sum %y over ["embed"] {tsr.name = "ln_f.centred"} : <[batch: 4, seq: 64, embed: 768], f32> -> <[batch: 4, seq: 64], f32>
    %1 = tsr.constant 0.00130208337 : f32 -> <[], f32>
    %centred_3 = tsr.mul %centred, %1 {tsr.name = "ln_f.centred"} : (!tsr.tensor<[batch: 4, seq: 64], f32>, !tsr.tensor<[], f32>) -> !tsr.tensor<[batch: 4, seq: 64], f32>
    %centred_4 = tsr.sub %y, %centred_3 {tsr.name = "ln_f.centred"} : (!tsr.tensor<[batch: 4, seq: 64, embed: 768], f32>, !tsr.tensor<[batch: 4, seq: 64], f32>) -> !tsr.tensor<[batch: 4, seq: 64, embed: 768], f32>
    %variance = tsr.mul %centred_4, %centred_4 {tsr.name = "ln_f.variance"} : (!tsr.tensor<[batch: 4, seq: 64, embed: 768], f32>, !tsr.tensor<[batch: 4, seq: 64, embed: 768], f32>) -> !tsr.tensor<[batch: 4, seq: 64, embed: 768], f32>
    %variance_5 = tsr.reduce sum %variance over ["embed"] {tsr.name = "ln_f.variance"} : <[batch: 4, seq: 64, embed: 768], f32> -> <[batch: 4, seq: 64], f32>
    %2 = tsr.constant 0.00130208337 : f32 -> <[], f32>
    %variance_6 = tsr.mul %variance_5, %2 {tsr.name = "ln_f.variance"} : (!tsr.tensor<[batch: 4, seq: 64], f32>, !tsr.tensor<[], f32>) -> !tsr.tensor<[batch: 4, seq: 64], f32>
    %3 = tsr.constant 9.99999974E-6 : f32 -> <[], f32>
    %ln_f = tsr.add %variance_6, %3 {tsr.name = "ln_f"} : (!tsr.tensor<[batch: 4, seq: 64], f32>, !tsr.tensor<[], f32>) -> !tsr.tensor<[batch: 4, seq: 64], f32>
    %ln_f_7 = tsr.rsqrt %ln_f {tsr.name = "ln_f"} : <[batch: 4, seq: 64], f32>
    %ln_f_8 = tsr.mul %centred_4, %ln_f_7 {tsr.name = "ln_f"} : (!tsr.tensor<[batch: 4, seq: 64, embed: 768], f32>, !tsr.tensor<[batch: 4, seq: 64], f32>) -> !tsr.tensor<[batch: 4, seq: 64, embed: 768], f32>
    %ln_f_9 = tsr.mul %ln_f_8, %arg18 {tsr.name = "ln_f"} : (!tsr.tensor<[batch: 4, seq: 64, embed: 768], f32>, !tsr.tensor<[embed: 768], f32>) -> !tsr.tensor<[batch: 4, seq: 64, embed: 768], f32>
    %ln_f_10 = tsr.add %ln_f_9, %arg19 {tsr.name = "ln_f"} : (!tsr.tensor<[batch: 4, seq: 64, embed: 768], f32>, !tsr.tensor<[embed: 768], f32>) -> !tsr.tensor<[batch: 4, seq: 64, embed: 768], f32>
    %4 = tsr.contract %ln_f_10, %arg0 over ["embed"] : (!tsr.tensor<[batch: 4, seq: 64, embed: 768], f32>, !tsr.tensor<[vocab: 50257, embed: 768], f32>) -> !tsr.tensor<[batch: 4, seq: 64, vocab: 50257], f32>
    %top = tsr.reduce max %4 over ["vocab"] {tsr.name = "cross_entropy.top"} : <[batch: 4, seq: 64, vocab: 50257], f32> -> <[batch: 4, seq: 64], f32>
    %total = tsr.sub %4, %top {tsr.name = "cross_entropy.total"} : (!tsr.tensor<[batch: 4, seq: 64, vocab: 50257], f32>, !tsr.tensor<[batch: 4, seq: 64], f32>) -> !tsr.tensor<[batch: 4, seq: 64, vocab: 50257], f32>
    %total_11 = tsr.exp %total {tsr.name = "cross_entropy.total"} : <[batch: 4, seq: 64, vocab: 50257], f32>
    %total_12 = tsr.reduce sum %total_11 over ["vocab"] {tsr.name = "cross_entropy.total"} : <[batch: 4, seq: 64, vocab: 50257], f32> -> <[batch: 4, seq: 64], f32>
    %cross_entropy = tsr.log %total_12 {tsr.name = "cross_entropy"} : <[batch: 4, seq: 64], f32>
    %cross_entropy_13 = tsr.add %cross_entropy, %top {tsr.name = "cross_entropy"} : (!tsr.tensor<[batch: 4, seq: 64], f32>, !tsr.tensor<[batch: 4, seq: 64], f32>) -> !tsr.tensor<[batch: 4, seq: 64], f32>
    %cross_entropy_14 = tsr.gather %4[["vocab"] = %arg22] {tsr.name = "cross_entropy"} : (!tsr.tensor<[batch: 4, seq: 64, vocab: 50257], f32>, !tsr.tensor<[batch: 4, seq: 64], i32>) -> !tsr.tensor<[batch: 4, seq: 64], f32>
    %cross_entropy_15 = tsr.sub %cross_entropy_13, %cross_entropy_14 {tsr.name = "cross_entropy"} : (!tsr.tensor<[batch: 4, seq: 64], f32>, !tsr.tensor<[batch: 4, seq: 64], f32>) -> !tsr.tensor<[batch: 4, seq: 64], f32>
    %ce = tsr.reduce sum %cross_entropy_15 over ["batch", "seq"] {tsr.name = "ce"} : <[batch: 4, seq: 64], f32> -> <[], f32>
    %5 = tsr.constant 3.906250e-03 : f32 -> <[], f32>
    %ce_16 = tsr.mul %ce, %5 {tsr.name = "ce"} : (!tsr.tensor<[], f32>, !tsr.tensor<[], f32>) -> !tsr.tensor<[], f32>
    %6 = tsr.constant 1 : i32 -> <[], i32>
    %rising = tsr.add %arg20, %6 {tsr.name = "warmup_cosine.rising"} : (!tsr.tensor<[], i32>, !tsr.tensor<[], i32>) -> !tsr.tensor<[], i32>
    %rising_17 = tsr.cast %rising {tsr.name = "warmup_cosine.rising"} : <[], i32> to <[], f32>
    %7 = tsr.constant 7.000000e+02 : f32 -> <[], f32>
    %rising_18 = tsr.div %rising_17, %7 {tsr.name = "warmup_cosine.rising"} : (!tsr.tensor<[], f32>, !tsr.tensor<[], f32>) -> !tsr.tensor<[], f32>
    %8 = tsr.constant -700 : i32 -> <[], i32>
    %along = tsr.add %arg20, %8 {tsr.name = "warmup_cosine.along"} : (!tsr.tensor<[], i32>, !tsr.tensor<[], i32>) -> !tsr.tensor<[], i32>
    %along_19 = tsr.cast %along {tsr.name = "warmup_cosine.along"} : <[], i32> to <[], f32>
    %9 = tsr.constant 1.837300e+04 : f32 -> <[], f32>
    %along_20 = tsr.div %along_19, %9 {tsr.name = "warmup_cosine.along"} : (!tsr.tensor<[], f32>, !tsr.tensor<[], f32>) -> !tsr.tensor<[], f32>
    %10 = tsr.constant 0.000000e+00 : f32 -> <[], f32>
    %along_21 = tsr.max %along_20, %10 {tsr.name = "warmup_cosine.along"} : (!tsr.tensor<[], f32>, !tsr.tensor<[], f32>) -> !tsr.tensor<[], f32>
    %11 = tsr.constant 1.000000e+00 : f32 -> <[], f32>
    %along_22 = tsr.min %along_21, %11 {tsr.name = "warmup_cosine.along"} : (!tsr.tensor<[], f32>, !tsr.tensor<[], f32>) -> !tsr.tensor<[], f32>
    %12 = tsr.constant 3.14159274 : f32 -> <[], f32>
    %falling = tsr.mul %12, %along_22 {tsr.name = "warmup_cosine.falling"} : (!tsr.tensor<[], f32>, !tsr.tensor<[], f32>) -> !tsr.tensor<[], f32>
    %falling_23 = tsr.cos %falling {tsr.name = "warmup_cosine.falling"} : <[], f32>
    %13 = tsr.constant 1.000000e+00 : f32 -> <[], f32>
    %falling_24 = tsr.add %13, %falling_23 {tsr.name = "warmup_cosine.falling"} : (!tsr.tensor<[], f32>, !tsr.tensor<[], f32>) -> !tsr.tensor<[], f32>
    %14 = tsr.constant 4.500000e-01 : f32 -> <[], f32>
    %falling_25 = tsr.mul %14, %falling_24 {tsr.name = "warmup_cosine.falling"} : (!tsr.tensor<[], f32>, !tsr.tensor<[], f32>) -> !tsr.tensor<[], f32>
    %15 = tsr.constant 1.000000e-01 : f32 -> <[], f32>
    %falling_26 = tsr.add %15, %falling_25 {tsr.name = "warmup_cosine.falling"} : (!tsr.tensor<[], f32>, !tsr.tensor<[], f32>) -> !tsr.tensor<[], f32>
    %16 = tsr.constant 700 : i32 -> <[], i32>
    %warmup_cosine = tsr.compare lt %arg20, %16 {tsr.name = "warmup_cosine"} : (!tsr.tensor<[], i32>, !tsr.tensor<[], i32>) -> !tsr.tensor<[], i1>
    %warmup_cosine_27 = tsr.select %warmup_cosine, %rising_18, %falling_26 {tsr.name = "warmup_cosine"} : (!tsr.tensor<[], i1>, !tsr.tensor<[], f32>, !tsr.tensor<[], f32>) -> !tsr.tensor<[], f32>
    %17 = tsr.constant 6.000000e-04 : f32 -> <[], f32>
    %warmup_cosine_28 = tsr.mul %17, %warmup_cosine_27 {tsr.name = "warmup_cosine"} : (!tsr.tensor<[], f32>, !tsr.tensor<[], f32>) -> !tsr.tensor<[], f32>
    %18:20 = tsr.gradient %ce_16 wrt(%arg0, %arg1, %arg2, %arg3, %arg4, %arg5, %arg6, %arg7, %arg8, %arg9, %arg10, %arg11, %arg12, %arg13, %arg14, %arg15, %arg16, %arg17, %arg18, %arg19) : (!tsr.tensor<[], f32>, !tsr.tensor<[vocab: 50257, embed: 768], f32>, !tsr.tensor<[place: 1024, embed: 768], f32>, !tsr.tensor<[layer: 12, embed: 768], f32>, !tsr.tensor<[layer: 12, embed: 768], f32>, !tsr.tensor<[layer: 12, head: 12, hd: 64, embed: 768], f32>, !tsr.tensor<[layer: 12, head: 12, hd: 64, embed: 768], f32>, !tsr.tensor<[layer: 12, head: 12, hd: 64, embed: 768], f32>, !tsr.tensor<[layer: 12, head: 12, hd: 64, embed: 768], f32>, !tsr.tensor<[layer: 12, head: 12, hd: 64], f32>, !tsr.tensor<[layer: 12, head: 12, hd: 64], f32>, !tsr.tensor<[layer: 12, head: 12, hd: 64], f32>, !tsr.tensor<[layer: 12, embed: 768], f32>, !tsr.tensor<[layer: 12, embed: 768], f32>, !tsr.tensor<[layer: 12, embed: 768], f32>, !tsr.tensor<[layer: 12, embed: 768, ff: 3072], f32>, !tsr.tensor<[layer: 12, embed: 768, ff: 3072], f32>, !tsr.tensor<[layer: 12, ff: 3072], f32>, !tsr.tensor<[layer: 12, embed: 768], f32>, !tsr.tensor<[embed: 768], f32>, !tsr.tensor<[embed: 768], f32>) -> (!tsr.tensor<[vocab: 50257, embed: 768], f32>, !tsr.tensor<[place: 1024, embed: 768], f32>, !tsr.tensor<[layer: 12, embed: 768], f32>, !tsr.tensor<[layer: 12, embed: 768], f32>, !tsr.tensor<[layer: 12, head: 12, hd: 64, embed: 768], f32>, !tsr.tensor<[layer: 12, head: 12, hd: 64, embed: 768], f32>, !tsr.tensor<[layer: 12, head: 12, hd: 64, embed: 768], f32>, !tsr.tensor<[layer: 12, head: 12, hd: 64, embed: 768], f32>, !tsr.tensor<[layer: 12, head: 12, hd: 64], f32>, !tsr.tensor<[layer: 12, head: 12, hd: 64], f32>, !tsr.tensor<[layer: 12, head: 12, hd: 64], f32>, !tsr.tensor<[layer: 12, embed: 768], f32>, !tsr.tensor<[layer: 12, embed: 768], f32>, !tsr.tensor<[layer: 12, embed: 768], f32>, !tsr.tensor<[layer: 12, embed: 768, ff: 3072], f32>, !tsr.tensor<[layer: 12, embed: 768, ff: 3072], f32>, !tsr.tensor<[layer: 12, ff: 3072], f32>, !tsr.tensor<[layer: 12, embed: 768], f32>, !tsr.tensor<[embed: 768], f32>, !tsr.tensor<[embed: 768], f32>)
    %19 = tsr.constant 1.000000e+00 : f32 -> <[], f32>
    %clip, %clip_29, %clip_30, %clip_31, %clip_32, %clip_33, %clip_34, %clip_35, %clip_36, %clip_37, %clip_38, %clip_39, %clip_40, %clip_41, %clip_42, %clip_43, %clip_44, %clip_45, %clip_46, %clip_47, %clip_48 = tsr.clip(%18#0, %18#1, %18#2, %18#3, %18#4, %18#5, %18#6, %18#7, %18#8, %18#9, %18#10, %18#11, %18#12, %18#13, %18#14, %18#15, %18#16, %18#17, %18#18, %18#19) limit %19 {tsr.name = "clip"} : (!tsr.tensor<[vocab: 50257, embed: 768], f32>, !tsr.tensor<[place: 1024, embed: 768], f32>, !tsr.tensor<[layer: 12, embed: 768], f32>, !tsr.tensor<[layer: 12, embed: 768], f32>, !tsr.tensor<[layer: 12, head: 12, hd: 64, embed: 768], f32>, !tsr.tensor<[layer: 12, head: 12, hd: 64, embed: 768], f32>, !tsr.tensor<[layer: 12, head: 12, hd: 64, embed: 768], f32>, !tsr.tensor<[layer: 12, head: 12, hd: 64, embed: 768], f32>, !tsr.tensor<[layer: 12, head: 12, hd: 64], f32>, !tsr.tensor<[layer: 12, head: 12, hd: 64], f32>, !tsr.tensor<[layer: 12, head: 12, hd: 64], f32>, !tsr.tensor<[layer: 12, embed: 768], f32>, !tsr.tensor<[layer: 12, embed: 768], f32>, !tsr.tensor<[layer: 12, embed: 768], f32>, !tsr.tensor<[layer: 12, embed: 768, ff: 3072], f32>, !tsr.tensor<[layer: 12, embed: 768, ff: 3072], f32>, !tsr.tensor<[layer: 12, ff: 3072], f32>, !tsr.tensor<[layer: 12, embed: 768], f32>, !tsr.tensor<[embed: 768], f32>, !tsr.tensor<[embed: 768], f32>, !tsr.tensor<[], f32>) -> (!tsr.tensor<[vocab: 50257, embed: 768], f32>, !tsr.tensor<[place: 1024, embed: 768], f32>, !tsr.tensor<[layer: 12, embed: 768], f32>, !tsr.tensor<[layer: 12, embed: 768], f32>, !tsr.tensor<[layer: 12, head: 12, hd: 64, embed: 768], f32>, !tsr.tensor<[layer: 12, head: 12, hd: 64, embed: 768], f32>, !tsr.tensor<[layer: 12, head: 12, hd: 64, embed: 768], f32>, !tsr.tensor<[layer: 12, head: 12, hd: 64, embed: 768], f32>, !tsr.tensor<[layer: 12, head: 12, hd: 64], f32>, !tsr.tensor<[layer: 12, head: 12, hd: 64], f32>, !tsr.tensor<[layer: 12, head: 12, hd: 64], f32>, !tsr.tensor<[layer: 12, embed: 768], f32>, !tsr.tensor<[layer: 12, embed: 768], f32>, !tsr.tensor<[layer: 12, embed: 768], f32>, !tsr.tensor<[layer: 12, embed: 768, ff: 3072], f32>, !tsr.tensor<[layer: 12, embed: 768, ff: 3072], f32>, !tsr.tensor<[layer: 12, ff: 3072], f32>, !tsr.tensor<[layer: 12, embed: 768], f32>, !tsr.tensor<[embed: 768], f32>, !tsr.tensor<[embed: 768], f32>, !tsr.tensor<[], f32>)
    %20 = tsr.constant 0.899999976 : f32 -> <[], f32>
    %21 = tsr.constant 0.949999988 : f32 -> <[], f32>
    %22 = tsr.constant 9.99999993E-9 : f32 -> <[], f32>
    %23 = tsr.constant 1.000000e-01 : f32 -> <[], f32>
    %wte = tsr.update "adamw" @wte %arg0 gradient %clip step %arg20 norm %clip_48 hypers ["rate", "beta1", "beta2", "epsilon", "decay"](%warmup_cosine_28, %20, %21, %22, %23) {tsr.name = "wte"} : (!tsr.tensor<[vocab: 50257, embed: 768], f32>, !tsr.tensor<[vocab: 50257, embed: 768], f32>, !tsr.tensor<[], i32>, !tsr.tensor<[], f32>, !tsr.tensor<[], f32>, !tsr.tensor<[], f32>, !tsr.tensor<[], f32>, !tsr.tensor<[], f32>, !tsr.tensor<[], f32>) -> !tsr.tensor<[vocab: 50257, embed: 768], f32>
    %24 = tsr.constant 0.899999976 : f32 -> <[], f32>
    %25 = tsr.constant 0.949999988 : f32 -> <[], f32>
    %26 = tsr.constant 9.99999993E-9 : f32 -> <[], f32>
    %27 = tsr.constant 1.000000e-01 : f32 -> <[], f32>
    %wpe = tsr.update "adamw" @wpe %arg1 gradient %clip_29 step %arg20 norm %clip_48 hypers ["rate", "beta1", "beta2", "epsilon", "decay"](%warmup_cosine_28, %24, %25, %26, %27) {tsr.name = "wpe"} : (!tsr.tensor<[place: 1024, embed: 768], f32>, !tsr.tensor<[place: 1024, embed: 768], f32>, !tsr.tensor<[], i32>, !tsr.tensor<[], f32>, !tsr.tensor<[], f32>, !tsr.tensor<[], f32>, !tsr.tensor<[], f32>, !tsr.tensor<[], f32>, !tsr.tensor<[], f32>) -> !tsr.tensor<[place: 1024, embed: 768], f32>
    %28 = tsr.constant 0.899999976 : f32 -> <[], f32>
    %29 = tsr.constant 0.949999988 : f32 -> <[], f32>
    %30 = tsr.constant 9.99999993E-9 : f32 -> <[], f32>
    %31 = tsr.constant 0.000000e+00 : f32 -> <[], f32>
    %g = tsr.update "adamw" @h.ln_1.g %arg2 gradient %clip_30 step %arg20 norm %clip_48 hypers ["rate", "beta1", "beta2", "epsilon", "decay"](%warmup_cosine_28, %28, %29, %30, %31) {tsr.name = "h.ln_1.g"} : (!tsr.tensor<[layer: 12, embed: 768], f32>, !tsr.tensor<[layer: 12, embed: 768], f32>, !tsr.tensor<[], i32>, !tsr.tensor<[], f32>, !tsr.tensor<[], f32>, !tsr.tensor<[], f32>, !tsr.tensor<[], f32>, !tsr.tensor<[], f32>, !tsr.tensor<[], f32>) -> !tsr.tensor<[layer: 12, embed: 768], f32>
    %32 = tsr.constant 0.899999976 : f32 -> <[], f32>
    %33 = tsr.constant 0.949999988 : f32 -> <[], f32>
    %34 = tsr.constant 9.99999993E-9 : f32 -> <[], f32>
    %35 = tsr.constant 0.000000e+00 : f32 -> <[], f32>
    %b = tsr.update "adamw" @h.ln_1.b %arg3 gradient %clip_31 step %arg20 norm %clip_48 hypers ["rate", "beta1", "beta2", "epsilon", "decay"](%warmup_cosine_28, %32, %33, %34, %35) {tsr.name = "h.ln_1.b"} : (!tsr.tensor<[layer: 12, embed: 768], f32>, !tsr.tensor<[layer: 12, embed: 768], f32>, !tsr.tensor<[], i32>, !tsr.tensor<[], f32>, !tsr.tensor<[], f32>, !tsr.tensor<[], f32>, !tsr.tensor<[], f32>, !tsr.tensor<[], f32>, !tsr.tensor<[], f32>) -> !tsr.tensor<[layer: 12, embed: 768], f32>
    %36 = tsr.constant 0.899999976 : f32 -> <[], f32>
    %37 = tsr.constant 0.949999988 : f32 -> <[], f32>
    %38 = tsr.constant 9.99999993E-9 : f32 -> <[], f32>
    %39 = tsr.constant 1.000000e-01 : f32 -> <[], f32>
    %wq = tsr.update "adamw" @h.attn.wq %arg4 gradient %clip_32 step %arg20 norm %clip_48 hypers ["rate", "beta1", "beta2", "epsilon", "decay"](%warmup_cosine_28, %36, %37, %38, %39) {tsr.name = "h.attn.wq"} : (!tsr.tensor<[layer: 12, head: 12, hd: 64, embed: 768], f32>, !tsr.tensor<[layer: 12, head: 12, hd: 64, embed: 768], f32>, !tsr.tensor<[], i32>, !tsr.tensor<[], f32>, !tsr.tensor<[], f32>, !tsr.tensor<[], f32>, !tsr.tensor<[], f32>, !tsr.tensor<[], f32>, !tsr.tensor<[], f32>) -> !tsr.tensor<[layer: 12, head: 12, hd: 64, embed: 768], f32>
    %40 = tsr.constant 0.899999976 : f32 -> <[], f32>
    %41 = tsr.constant 0.949999988 : f32 -> <[], f32>
    %42 = tsr.constant 9.99999993E-9 : f32 -> <[], f32>
    %43 = tsr.constant 1.000000e-01 : f32 -> <[], f32>
    %wk = tsr.update "adamw" @h.attn.wk %arg5 gradient %clip_33 step %arg20 norm %clip_48 hypers ["rate", "beta1", "beta2", "epsilon", "decay"](%warmup_cosine_28, %40, %41, %42, %43) {tsr.name = "h.attn.wk"} : (!tsr.tensor<[layer: 12, head: 12, hd: 64, embed: 768], f32>, !tsr.tensor<[layer: 12, head: 12, hd: 64, embed: 768], f32>, !tsr.tensor<[], i32>, !tsr.tensor<[], f32>, !tsr.tensor<[], f32>, !tsr.tensor<[], f32>, !tsr.tensor<[], f32>, !tsr.tensor<[], f32>, !tsr.tensor<[], f32>) -> !tsr.tensor<[layer: 12, head: 12, hd: 64, embed: 768], f32>
    %44 = tsr.constant 0.899999976 : f32 -> <[], f32>
    %45 = tsr.constant 0.949999988 : f32 -> <[], f32>
    %46 = tsr.constant 9.99999993E-9 : f32 -> <[], f32>
    %47 = tsr.constant 1.000000e-01 : f32 -> <[], f32>
    %wv = tsr.update "adamw" @h.attn.wv %arg6 gradient %clip_34 step %arg20 norm %clip_48 hypers ["rate", "beta1", "beta2", "epsilon", "decay"](%warmup_cosine_28, %44, %45, %46, %47) {tsr.name = "h.attn.wv"} : (!tsr.tensor<[layer: 12, head: 12, hd: 64, embed: 768], f32>, !tsr.tensor<[layer: 12, head: 12, hd: 64, embed: 768], f32>, !tsr.tensor<[], i32>, !tsr.tensor<[], f32>, !tsr.tensor<[], f32>, !tsr.tensor<[], f32>, !tsr.tensor<[], f32>, !tsr.tensor<[], f32>, !tsr.tensor<[], f32>) -> !tsr.tensor<[layer: 12, head: 12, hd: 64, embed: 768], f32>
    %48 = tsr.constant 0.899999976 : f32 -> <[], f32>
    %49 = tsr.constant 0.949999988 : f32 -> <[], f32>
    %50 = tsr.constant 9.99999993E-9 : f32 -> <[], f32>
    %51 = tsr.constant 1.000000e-01 : f32 -> <[], f32>
    %wo = tsr.update "adamw" @h.attn.wo %arg7 gradient %clip_35 step %arg20 norm %clip_48 hypers ["rate", "beta1", "beta2", "epsilon", "decay"](%warmup_cosine_28, %48, %49, %50, %51) {tsr.name = "h.attn.wo"} : (!tsr.tensor<[layer: 12, head: 12, hd: 64, embed: 768], f32>, !tsr.tensor<[layer: 12, head: 12, hd: 64, embed: 768], f32>, !tsr.tensor<[], i32>, !tsr.tensor<[], f32>, !tsr.tensor<[], f32>, !tsr.tensor<[], f32>, !tsr.tensor<[], f32>, !tsr.tensor<[], f32>, !tsr.tensor<[], f32>) -> !tsr.tensor<[layer: 12, head: 12, hd: 64, embed: 768], f32>
    %52 = tsr.constant 0.899999976 : f32 -> <[], f32>
    %53 = tsr.constant 0.949999988 : f32 -> <[], f32>
    %54 = tsr.constant 9.99999993E-9 : f32 -> <[], f32>
    %55 = tsr.constant 0.000000e+00 : f32 -> <[], f32>
    %bq = tsr.update "adamw" @h.attn.bq %arg8 gradient %clip_36 step %arg20 norm %clip_48 hypers ["rate", "beta1", "beta2", "epsilon", "decay"](%warmup_cosine_28, %52, %53, %54, %55) {tsr.name = "h.attn.bq"} : (!tsr.tensor<[layer: 12, head: 12, hd: 64], f32>, !tsr.tensor<[layer: 12, head: 12, hd: 64], f32>, !tsr.tensor<[], i32>, !tsr.tensor<[], f32>, !tsr.tensor<[], f32>, !tsr.tensor<[], f32>, !tsr.tensor<[], f32>, !tsr.tensor<[], f32>, !tsr.tensor<[], f32>) -> !tsr.tensor<[layer: 12, head: 12, hd: 64], f32>
    %56 = tsr.constant 0.899999976 : f32 -> <[], f32>
    %57 = tsr.constant 0.949999988 : f32 -> <[], f32>
    %58 = tsr.constant 9.99999993E-9 : f32 -> <[], f32>
    %59 = tsr.constant 0.000000e+00 : f32 -> <[], f32>
    %bk = tsr.update "adamw" @h.attn.bk %arg9 gradient %clip_37 step %arg20 norm %clip_48 hypers ["rate", "beta1", "beta2", "epsilon", "decay"](%warmup_cosine_28, %56, %57, %58, %59) {tsr.name = "h.attn.bk"} : (!tsr.tensor<[layer: 12, head: 12, hd: 64], f32>, !tsr.tensor<[layer: 12, head: 12, hd: 64], f32>, !tsr.tensor<[], i32>, !tsr.tensor<[], f32>, !tsr.tensor<[], f32>, !tsr.tensor<[], f32>, !tsr.tensor<[], f32>, !tsr.tensor<[], f32>, !tsr.tensor<[], f32>) -> !tsr.tensor<[layer: 12, head: 12, hd: 64], f32>
    %60 = tsr.constant 0.899999976 : f32 -> <[], f32>
    %61 = tsr.constant 0.949999988 : f32 -> <[], f32>
    %62 = tsr.constant 9.99999993E-9 : f32 -> <[], f32>
    %63 = tsr.constant 0.000000e+00 : f32 -> <[], f32>
    %bv = tsr.update "adamw" @h.attn.bv %arg10 gradient %clip_38 step %arg20 norm %clip_48 hypers ["rate", "beta1", "beta2", "epsilon", "decay"](%warmup_cosine_28, %60, %61, %62, %63) {tsr.name = "h.attn.bv"} : (!tsr.tensor<[layer: 12, head: 12, hd: 64], f32>, !tsr.tensor<[layer: 12, head: 12, hd: 64], f32>, !tsr.tensor<[], i32>, !tsr.tensor<[], f32>, !tsr.tensor<[], f32>, !tsr.tensor<[], f32>, !tsr.tensor<[], f32>, !tsr.tensor<[], f32>, !tsr.tensor<[], f32>) -> !tsr.tensor<[layer: 12, head: 12, hd: 64], f32>
    %64 = tsr.constant 0.899999976 : f32 -> <[], f32>
    %65 = tsr.constant 0.949999988 : f32 -> <[], f32>
    %66 = tsr.constant 9.99999993E-9 : f32 -> <[], f32>
    %67 = tsr.constant 0.000000e+00 : f32 -> <[], f32>
    %bo = tsr.update "adamw" @h.attn.bo %arg11 gradient %clip_39 step %arg20 norm %clip_48 hypers ["rate", "beta1", "beta2", "epsilon", "decay"](%warmup_cosine_28, %64, %65, %66, %67) {tsr.name = "h.attn.bo"} : (!tsr.tensor<[layer: 12, embed: 768], f32>, !tsr.tensor<[layer: 12, embed: 768], f32>, !tsr.tensor<[], i32>, !tsr.tensor<[], f32>, !tsr.tensor<[], f32>, !tsr.tensor<[], f32>, !tsr.tensor<[], f32>, !tsr.tensor<[], f32>, !tsr.tensor<[], f32>) -> !tsr.tensor<[layer: 12, embed: 768], f32>
    %68 = tsr.constant 0.899999976 : f32 -> <[], f32>
    %69 = tsr.constant 0.949999988 : f32 -> <[], f32>
    %70 = tsr.constant 9.99999993E-9 : f32 -> <[], f32>
    %71 = tsr.constant 0.000000e+00 : f32 -> <[], f32>
    %g_49 = tsr.update "adamw" @h.ln_2.g %arg12 gradient %clip_40 step %arg20 norm %clip_48 hypers ["rate", "beta1", "beta2", "epsilon", "decay"](%warmup_cosine_28, %68, %69, %70, %71) {tsr.name = "h.ln_2.g"} : (!tsr.tensor<[layer: 12, embed: 768], f32>, !tsr.tensor<[layer: 12, embed: 768], f32>, !tsr.tensor<[], i32>, !tsr.tensor<[], f32>, !tsr.tensor<[], f32>, !tsr.tensor<[], f32>, !tsr.tensor<[], f32>, !tsr.tensor<[], f32>, !tsr.tensor<[], f32>) -> !tsr.tensor<[layer: 12, embed: 768], f32>
    %72 = tsr.constant 0.899999976 : f32 -> <[], f32>
    %73 = tsr.constant 0.949999988 : f32 -> <[], f32>
    %74 = tsr.constant 9.99999993E-9 : f32 -> <[], f32>
    %75 = tsr.constant 0.000000e+00 : f32 -> <[], f32>
    %b_50 = tsr.update "adamw" @h.ln_2.b %arg13 gradient %clip_41 step %arg20 norm %clip_48 hypers ["rate", "beta1", "beta2", "epsilon", "decay"](%warmup_cosine_28, %72, %73, %74, %75) {tsr.name = "h.ln_2.b"} : (!tsr.tensor<[layer: 12, embed: 768], f32>, !tsr.tensor<[layer: 12, embed: 768], f32>, !tsr.tensor<[], i32>, !tsr.tensor<[], f32>, !tsr.tensor<[], f32>, !tsr.tensor<[], f32>, !tsr.tensor<[], f32>, !tsr.tensor<[], f32>, !tsr.tensor<[], f32>) -> !tsr.tensor<[layer: 12, embed: 768], f32>
    %76 = tsr.constant 0.899999976 : f32 -> <[], f32>
    %77 = tsr.constant 0.949999988 : f32 -> <[], f32>
    %78 = tsr.constant 9.99999993E-9 : f32 -> <[], f32>
    %79 = tsr.constant 1.000000e-01 : f32 -> <[], f32>
    %up = tsr.update "adamw" @h.mlp.up %arg14 gradient %clip_42 step %arg20 norm %clip_48 hypers ["rate", "beta1", "beta2", "epsilon", "decay"](%warmup_cosine_28, %76, %77, %78, %79) {tsr.name = "h.mlp.up"} : (!tsr.tensor<[layer: 12, embed: 768, ff: 3072], f32>, !tsr.tensor<[layer: 12, embed: 768, ff: 3072], f32>, !tsr.tensor<[], i32>, !tsr.tensor<[], f32>, !tsr.tensor<[], f32>, !tsr.tensor<[], f32>, !tsr.tensor<[], f32>, !tsr.tensor<[], f32>, !tsr.tensor<[], f32>) -> !tsr.tensor<[layer: 12, embed: 768, ff: 3072], f32>
    %80 = tsr.constant 0.899999976 : f32 -> <[], f32>
    %81 = tsr.constant 0.949999988 : f32 -> <[], f32>
    %82 = tsr.constant 9.99999993E-9 : f32 -> <[], f32>
    %83 = tsr.constant 1.000000e-01 : f32 -> <[], f32>
    %down = tsr.update "adamw" @h.mlp.down %arg15 gradient %clip_43 step %arg20 norm %clip_48 hypers ["rate", "beta1", "beta2", "epsilon", "decay"](%warmup_cosine_28, %80, %81, %82, %83) {tsr.name = "h.mlp.down"} : (!tsr.tensor<[layer: 12, embed: 768, ff: 3072], f32>, !tsr.tensor<[layer: 12, embed: 768, ff: 3072], f32>, !tsr.tensor<[], i32>, !tsr.tensor<[], f32>, !tsr.tensor<[], f32>, !tsr.tensor<[], f32>, !tsr.tensor<[], f32>, !tsr.tensor<[], f32>, !tsr.tensor<[], f32>) -> !tsr.tensor<[layer: 12, embed: 768, ff: 3072], f32>
    %84 = tsr.constant 0.899999976 : f32 -> <[], f32>
    %85 = tsr.constant 0.949999988 : f32 -> <[], f32>
    %86 = tsr.constant 9.99999993E-9 : f32 -> <[], f32>
    %87 = tsr.constant 0.000000e+00 : f32 -> <[], f32>
    %b_up = tsr.update "adamw" @h.mlp.b_up %arg16 gradient %clip_44 step %arg20 norm %clip_48 hypers ["rate", "beta1", "beta2", "epsilon", "decay"](%warmup_cosine_28, %84, %85, %86, %87) {tsr.name = "h.mlp.b_up"} : (!tsr.tensor<[layer: 12, ff: 3072], f32>, !tsr.tensor<[layer: 12, ff: 3072], f32>, !tsr.tensor<[], i32>, !tsr.tensor<[], f32>, !tsr.tensor<[], f32>, !tsr.tensor<[], f32>, !tsr.tensor<[], f32>, !tsr.tensor<[], f32>, !tsr.tensor<[], f32>) -> !tsr.tensor<[layer: 12, ff: 3072], f32>
    %88 = tsr.constant 0.899999976 : f32 -> <[], f32>
    %89 = tsr.constant 0.949999988 : f32 -> <[], f32>
    %90 = tsr.constant 9.99999993E-9 : f32 -> <[], f32>
    %91 = tsr.constant 0.000000e+00 : f32 -> <[], f32>
    %b_down = tsr.update "adamw" @h.mlp.b_down %arg17 gradient %clip_45 step %arg20 norm %clip_48 hypers ["rate", "beta1", "beta2", "epsilon", "decay"](%warmup_cosine_28, %88, %89, %90, %91) {tsr.name = "h.mlp.b_down"} : (!tsr.tensor<[layer: 12, embed: 768], f32>, !tsr.tensor<[layer: 12, embed: 768], f32>, !tsr.tensor<[], i32>, !tsr.tensor<[], f32>, !tsr.tensor<[], f32>, !tsr.tensor<[], f32>, !tsr.tensor<[], f32>, !tsr.tensor<[], f32>, !tsr.tensor<[], f32>) -> !tsr.tensor<[layer: 12, embed: 768], f32>
    %92 = tsr.constant 0.899999976 : f32 -> <[], f32>
    %93 = tsr.constant 0.949999988 : f32 -> <[], f32>
    %94 = tsr.constant 9.99999993E-9 : f32 -> <[], f32>
    %95 = tsr.constant 0.000000e+00 : f32 -> <[], f32>
    %g_51 = tsr.update "adamw" @ln_f.g %arg18 gradient %clip_46 step %arg20 norm %clip_48 hypers ["rate", "beta1", "beta2", "epsilon", "decay"](%warmup_cosine_28, %92, %93, %94, %95) {tsr.name = "ln_f.g"} : (!tsr.tensor<[embed: 768], f32>, !tsr.tensor<[embed: 768], f32>, !tsr.tensor<[], i32>, !tsr.tensor<[], f32>, !tsr.tensor<[], f32>, !tsr.tensor<[], f32>, !tsr.tensor<[], f32>, !tsr.tensor<[], f32>, !tsr.tensor<[], f32>) -> !tsr.tensor<[embed: 768], f32>
    %96 = tsr.constant 0.899999976 : f32 -> <[], f32>
    %97 = tsr.constant 0.949999988 : f32 -> <[], f32>
    %98 = tsr.constant 9.99999993E-9 : f32 -> <[], f32>
    %99 = tsr.constant 0.000000e+00 : f32 -> <[], f32>
    %b_52 = tsr.update "adamw" @ln_f.b %arg19 gradient %clip_47 step %arg20 norm %clip_48 hypers ["rate", "beta1", "beta2", "epsilon", "decay"](%warmup_cosine_28, %96, %97, %98, %99) {tsr.name = "ln_f.b"} : (!tsr.tensor<[embed: 768], f32>, !tsr.tensor<[embed: 768], f32>, !tsr.tensor<[], i32>, !tsr.tensor<[], f32>, !tsr.tensor<[], f32>, !tsr.tensor<[], f32>, !tsr.tensor<[], f32>, !tsr.tensor<[], f32>, !tsr.tensor<[], f32>) -> !tsr.tensor<[embed: 768], f32>
    %100 = tsr.constant 1 : i32 -> <[], i32>
    %101 = tsr.add %arg20, %100 : (!tsr.tensor<[], i32>, !tsr.tensor<[], i32>) -> !tsr.tensor<[], i32>
    %102 = tsr.constant 0.000000e+00 : f32 -> <[], f32>
    %103 = tsr.sub %clip_48, %clip_48 : (!tsr.tensor<[], f32>, !tsr.tensor<[], f32>) -> !tsr.tensor<[], f32>
    %104 = tsr.compare eq %103, %102 : (!tsr.tensor<[], f32>, !tsr.tensor<[], f32>) -> !tsr.tensor<[], i1>
    %105 = tsr.cast %104 : <[], i1> to <[], i32>
    return %wte, %wpe, %g, %b, %wq, %wk, %wv, %wo, %bq, %bk, %bv, %bo, %g_49, %b_50, %up, %down, %b_up, %b_down, %g_51, %b_52, %101, %ce_16, %ce_16, %warmup_cosine_28, %clip_48, %105 : !tsr.tensor<[vocab: 50257, embed: 768], f32>, !tsr.tensor<[place: 1024, embed: 768], f32>, !tsr.tensor<[layer: 12, embed: 768], f32>, !tsr.tensor<[layer: 12, embed: 768], f32>, !tsr.tensor<[layer: 12, head: 12, hd: 64, embed: 768], f32>, !tsr.tensor<[layer: 12, head: 12, hd: 64, embed: 768], f32>, !tsr.tensor<[layer: 12, head: 12, hd: 64, embed: 768], f32>, !tsr.tensor<[layer: 12, head: 12, hd: 64, embed: 768], f32>, !tsr.tensor<[layer: 12, head: 12, hd: 64], f32>, !tsr.tensor<[layer: 12, head: 12, hd: 64], f32>, !tsr.tensor<[layer: 12, head: 12, hd: 64], f32>, !tsr.tensor<[layer: 12, embed: 768], f32>, !tsr.tensor<[layer: 12, embed: 768], f32>, !tsr.tensor<[layer: 12, embed: 768], f32>, !tsr.tensor<[layer: 12, embed: 768, ff: 3072], f32>, !tsr.tensor<[layer: 12, embed: 768, ff: 3072], f32>, !tsr.tensor<[layer: 12, ff: 3072], f32>, !tsr.tensor<[layer: 12, embed: 768], f32>, !tsr.tensor<[embed: 768], f32>, !tsr.tensor<[embed: 768], f32>, !tsr.tensor<[], i32>, !tsr.tensor<[], f32>, !tsr.tensor<[], f32>, !tsr.tensor<[], f32>, !tsr.tensor<[], f32>, !tsr.tensor<[], i32>
  }
  func.func @evaluate(%arg0: !tsr.tensor<[vocab: 50257, embed: 768], f32> {tsr.state = @wte}, %arg1: !tsr.tensor<[place: 1024, embed: 768], f32> {tsr.state = @wpe}, %arg2: !tsr.tensor<[layer: 12, embed: 768], f32> {tsr.state = @h.ln_1.g}, %arg3: !tsr.tensor<[layer: 12, embed: 768], f32> {tsr.state = @h.ln_1.b}, %arg4: !tsr.tensor<[layer: 12, head: 12, hd: 64, embed: 768], f32> {tsr.state = @h.attn.wq}, %arg5: !tsr.tensor<[layer: 12, head: 12, hd: 64, embed: 768], f32> {tsr.state = @h.attn.wk}, %arg6: !tsr.tensor<[layer: 12, head: 12, hd: 64, embed: 768], f32> {tsr.state = @h.attn.wv}, %arg7: !tsr.tensor<[layer: 12, head: 12, hd: 64, embed: 768], f32> {tsr.state = @h.attn.wo}, %arg8: !tsr.tensor<[layer: 12, head: 12, hd: 64], f32> {tsr.state = @h.attn.bq}, %arg9: !tsr.tensor<[layer: 12, head: 12, hd: 64], f32> {tsr.state = @h.attn.bk}, %arg10: !tsr.tensor<[layer: 12, head: 12, hd: 64], f32> {tsr.state = @h.attn.bv}, %arg11: !tsr.tensor<[layer: 12, embed: 768], f32> {tsr.state = @h.attn.bo}, %arg12: !tsr.tensor<[layer: 12, embed: 768], f32> {tsr.state = @h.ln_2.g}, %arg13: !tsr.tensor<[layer: 12, embed: 768], f32> {tsr.state = @h.ln_2.b}, %arg14: !tsr.tensor<[layer: 12, embed: 768, ff: 3072], f32> {tsr.state = @h.mlp.up}, %arg15: !tsr.tensor<[layer: 12, embed: 768, ff: 3072], f32> {tsr.state = @h.mlp.down}, %arg16: !tsr.tensor<[layer: 12, ff: 3072], f32> {tsr.state = @h.mlp.b_up}, %arg17: !tsr.tensor<[layer: 12, embed: 768], f32> {tsr.state = @h.mlp.b_down}, %arg18: !tsr.tensor<[embed: 768], f32> {tsr.state = @ln_f.g}, %arg19: !tsr.tensor<[embed: 768], f32> {tsr.state = @ln_f.b}, %arg20: !tsr.tensor<[batch: 4], f32> {tsr.input = {name = "weight", role = "weight"}}, %arg21: !tsr.tensor<[batch: 4, seq: 64], i32> {tsr.input = {data = "d", field = "tokens", name = "d.tokens", of = 50257 : i64, order = ["batch", "seq"], role = "data"}}, %arg22: !tsr.tensor<[batch: 4, seq: 64], i32> {tsr.input = {data = "d", field = "next", name = "d.next", of = 50257 : i64, order = ["batch", "seq"], role = "data"}}) -> (!tsr.tensor<[], f32> {tsr.output = {name = "ce", role = "loss"}}, !tsr.tensor<[], f32> {tsr.output = {name = "ce", role = "count"}}) {
    %e = tsr.gather %arg0[["vocab"] = %arg21] {tsr.name = "e"} : (!tsr.tensor<[vocab: 50257, embed: 768], f32>, !tsr.tensor<[batch: 4, seq: 64], i32>) -> !tsr.tensor<[batch: 4, seq: 64, embed: 768], f32>
    %0 = tsr.index : <[seq: 64], i32>
    %e_0 = tsr.slice %arg1 "place" from 0 {tsr.name = "e"} : <[place: 1024, embed: 768], f32> -> <[place: 64, embed: 768], f32>
    %e_1 = tsr.rename %e_0 ["place"] to ["seq"] {tsr.name = "e"} : <[place: 64, embed: 768], f32> -> <[seq: 64, embed: 768], f32>
    %e_2 = tsr.add %e, %e_1 {tsr.name = "e"} : (!tsr.tensor<[batch: 4, seq: 64, embed: 768], f32>, !tsr.tensor<[seq: 64, embed: 768], f32>) -> !tsr.tensor<[batch: 4, seq: 64, embed: 768], f32>
    %y = tsr.repeat [layer: 12] index %arg23 carry (%arg24 = %e_2 : !tsr.tensor<[batch: 4, seq: 64, embed: 768], f32>) slice (%arg25 = %arg2 : !tsr.tensor<[layer: 12, embed: 768], f32>, %arg26 = %arg3 : !tsr.tensor<[layer: 12, embed: 768], f32>, %arg27 = %arg4 : !tsr.tensor<[layer: 12, head: 12, hd: 64, embed: 768], f32>, %arg28 = %arg5 : !tsr.tensor<[layer: 12, head: 12, hd: 64, embed: 768], f32>, %arg29 = %arg6 : !tsr.tensor<[layer: 12, head: 12, hd: 64, embed: 768], f32>, %arg30 = %arg7 : !tsr.tensor<[layer: 12, head: 12, hd: 64, embed: 768], f32>, %arg31 = %arg8 : !tsr.tensor<[layer: 12, head: 12, hd: 64], f32>, %arg32 = %arg9 : !tsr.tensor<[layer: 12, head: 12, hd: 64], f32>, %arg33 = %arg10 : !tsr.tensor<[layer: 12, head: 12, hd: 64], f32>, %arg34 = %arg11 : !tsr.tensor<[layer: 12, embed: 768], f32>, %arg35 = %arg12 : !tsr.tensor<[layer: 12, embed: 768], f32>, %arg36 = %arg13 : !tsr.tensor<[layer: 12, embed: 768], f32>, %arg37 = %arg14 : !tsr.tensor<[layer: 12, embed: 768, ff: 3072], f32>, %arg38 = %arg15 : !tsr.tensor<[layer: 12, embed: 768, ff: 3072], f32>, %arg39 = %arg16 : !tsr.tensor<[layer: 12, ff: 3072], f32>, %arg40 = %arg17 : !tsr.tensor<[layer: 12, embed: 768], f32>) -> !tsr.tensor<[batch: 4, seq: 64, embed: 768], f32> attributes {tsr.name = "y"} {
      %centred_22 = tsr.reduce sum %arg24 over ["embed"] {tsr.name = "h.ln_1.centred"} : <[batch: 4, seq: 64, embed: 768], f32> -> <[batch: 4, seq: 64], f32>
      %9 = tsr.constant 0.00130208337 : f32 -> <[], f32>
      %centred_23 = tsr.mul %centred_22, %9 {tsr.name = "h.ln_1.centred"} : (!tsr.tensor<[batch: 4, seq: 64], f32>, !tsr.tensor<[], f32>) -> !tsr.tensor<[batch: 4, seq: 64], f32>
      %centred_24 = tsr.sub %arg24, %centred_23 {tsr.name = "h.ln_1.centred"} : (!tsr.tensor<[batch: 4, seq: 64, embed: 768], f32>, !tsr.tensor<[batch: 4, seq: 64], f32>) -> !tsr.tensor<[batch: 4, seq: 64, embed: 768], f32>
      %variance_25 = tsr.mul %centred_24, %centred_24 {tsr.name = "h.ln_1.variance"} : (!tsr.tensor<[batch: 4, seq: 64, embed: 768], f32>, !tsr.tensor<[batch: 4, seq: 64, embed: 768], f32>) -> !tsr.tensor<[batch: 4, seq: 64, embed: 768], f32>
      %variance_26 = tsr.reduce sum %variance_25 over ["embed"] {tsr.name = "h.ln_1.variance"} : <[batch: 4, seq: 64, embed: 768], f32> -> <[batch: 4, seq: 64], f32>
      %10 = tsr.constant 0.00130208337 : f32 -> <[], f32>
      %variance_27 = tsr.mul %variance_26, %10 {tsr.name = "h.ln_1.variance"} : (!tsr.tensor<[batch: 4, seq: 64], f32>, !tsr.tensor<[], f32>) -> !tsr.tensor<[batch: 4, seq: 64], f32>
      %11 = tsr.constant 9.99999974E-6 : f32 -> <[], f32>
      %ln_1 = tsr.add %variance_27, %11 {tsr.name = "h.ln_1"} : (!tsr.tensor<[batch: 4, seq: 64], f32>, !tsr.tensor<[], f32>) -> !tsr.tensor<[batch: 4, seq: 64], f32>
      %ln_1_28 = tsr.rsqrt %ln_1 {tsr.name = "h.ln_1"} : <[batch: 4, seq: 64], f32>
      %ln_1_29 = tsr.mul %centred_24, %ln_1_28 {tsr.name = "h.ln_1"} : (!tsr.tensor<[batch: 4, seq: 64, embed: 768], f32>, !tsr.tensor<[batch: 4, seq: 64], f32>) -> !tsr.tensor<[batch: 4, seq: 64, embed: 768], f32>
      %ln_1_30 = tsr.mul %ln_1_29, %arg25 {tsr.name = "h.ln_1"} : (!tsr.tensor<[batch: 4, seq: 64, embed: 768], f32>, !tsr.tensor<[embed: 768], f32>) -> !tsr.tensor<[batch: 4, seq: 64, embed: 768], f32>
      %ln_1_31 = tsr.add %ln_1_30, %arg26 {tsr.name = "h.ln_1"} : (!tsr.tensor<[batch: 4, seq: 64, embed: 768], f32>, !tsr.tensor<[embed: 768], f32>) -> !tsr.tensor<[batch: 4, seq: 64, embed: 768], f32>
      %past = tsr.rename %ln_1_31 ["seq"] to ["key"] {tsr.name = "h.attn.past"} : <[batch: 4, seq: 64, embed: 768], f32> -> <[batch: 4, embed: 768, key: 64], f32>
      %q = tsr.contract %ln_1_31, %arg27 over ["embed"] {tsr.name = "h.attn.q"} : (!tsr.tensor<[batch: 4, seq: 64, embed: 768], f32>, !tsr.tensor<[head: 12, hd: 64, embed: 768], f32>) -> !tsr.tensor<[batch: 4, seq: 64, head: 12, hd: 64], f32>
      %q_32 = tsr.add %q, %arg31 {tsr.name = "h.attn.q"} : (!tsr.tensor<[batch: 4, seq: 64, head: 12, hd: 64], f32>, !tsr.tensor<[head: 12, hd: 64], f32>) -> !tsr.tensor<[batch: 4, seq: 64, head: 12, hd: 64], f32>
      %k = tsr.contract %past, %arg28 over ["embed"] {tsr.name = "h.attn.k"} : (!tsr.tensor<[batch: 4, embed: 768, key: 64], f32>, !tsr.tensor<[head: 12, hd: 64, embed: 768], f32>) -> !tsr.tensor<[batch: 4, head: 12, hd: 64, key: 64], f32>
      %k_33 = tsr.add %k, %arg32 {tsr.name = "h.attn.k"} : (!tsr.tensor<[batch: 4, head: 12, hd: 64, key: 64], f32>, !tsr.tensor<[head: 12, hd: 64], f32>) -> !tsr.tensor<[batch: 4, head: 12, hd: 64, key: 64], f32>
      %v = tsr.contract %past, %arg29 over ["embed"] {tsr.name = "h.attn.v"} : (!tsr.tensor<[batch: 4, embed: 768, key: 64], f32>, !tsr.tensor<[head: 12, hd: 64, embed: 768], f32>) -> !tsr.tensor<[batch: 4, head: 12, hd: 64, key: 64], f32>
      %v_34 = tsr.add %v, %arg33 {tsr.name = "h.attn.v"} : (!tsr.tensor<[batch: 4, head: 12, hd: 64, key: 64], f32>, !tsr.tensor<[head: 12, hd: 64], f32>) -> !tsr.tensor<[batch: 4, head: 12, hd: 64, key: 64], f32>
      %score = tsr.contract %q_32, %k_33 over ["hd"] {tsr.name = "h.attn.score"} : (!tsr.tensor<[batch: 4, seq: 64, head: 12, hd: 64], f32>, !tsr.tensor<[batch: 4, head: 12, hd: 64, key: 64], f32>) -> !tsr.tensor<[batch: 4, seq: 64, head: 12, key: 64], f32>
      %12 = tsr.constant 8.000000e+00 : f32 -> <[], f32>
      %score_35 = tsr.div %score, %12 {tsr.name = "h.attn.score"} : (!tsr.tensor<[batch: 4, seq: 64, head: 12, key: 64], f32>, !tsr.tensor<[], f32>) -> !tsr.tensor<[batch: 4, seq: 64, head: 12, key: 64], f32>
      %13 = tsr.index : <[key: 64], i32>
      %14 = tsr.index : <[seq: 64], i32>
      %p = tsr.compare le %13, %14 {tsr.name = "h.attn.p"} : (!tsr.tensor<[key: 64], i32>, !tsr.tensor<[seq: 64], i32>) -> !tsr.tensor<[seq: 64, key: 64], i1>
      %15 = tsr.constant 0xFF800000 : f32 -> <[], f32>
      %p_36 = tsr.select %p, %score_35, %15 {tsr.name = "h.attn.p"} : (!tsr.tensor<[seq: 64, key: 64], i1>, !tsr.tensor<[batch: 4, seq: 64, head: 12, key: 64], f32>, !tsr.tensor<[], f32>) -> !tsr.tensor<[batch: 4, seq: 64, head: 12, key: 64], f32>
      %top_37 = tsr.reduce max %p_36 over ["key"] {tsr.name = "h.attn.softmax.top"} : <[batch: 4, seq: 64, head: 12, key: 64], f32> -> <[batch: 4, seq: 64, head: 12], f32>
      %16 = tsr.constant 0xFF800000 : f32 -> <[], f32>
      %e_38 = tsr.compare eq %top_37, %16 {tsr.name = "h.attn.softmax.e"} : (!tsr.tensor<[batch: 4, seq: 64, head: 12], f32>, !tsr.tensor<[], f32>) -> !tsr.tensor<[batch: 4, seq: 64, head: 12], i1>
      %17 = tsr.constant 0.000000e+00 : f32 -> <[], f32>
      %e_39 = tsr.select %e_38, %17, %top_37 {tsr.name = "h.attn.softmax.e"} : (!tsr.tensor<[batch: 4, seq: 64, head: 12], i1>, !tsr.tensor<[], f32>, !tsr.tensor<[batch: 4, seq: 64, head: 12], f32>) -> !tsr.tensor<[batch: 4, seq: 64, head: 12], f32>
      %e_40 = tsr.sub %p_36, %e_39 {tsr.name = "h.attn.softmax.e"} : (!tsr.tensor<[batch: 4, seq: 64, head: 12, key: 64], f32>, !tsr.tensor<[batch: 4, seq: 64, head: 12], f32>) -> !tsr.tensor<[batch: 4, seq: 64, head: 12, key: 64], f32>
      %e_41 = tsr.exp %e_40 {tsr.name = "h.attn.softmax.e"} : <[batch: 4, seq: 64, head: 12, key: 64], f32>
      %total_42 = tsr.reduce sum %e_41 over ["key"] {tsr.name = "h.attn.softmax.total"} : <[batch: 4, seq: 64, head: 12, key: 64], f32> -> <[batch: 4, seq: 64, head: 12], f32>
      %18 = tsr.constant 0.000000e+00 : f32 -> <[], f32>
      %softmax = tsr.compare eq %total_42, %18 {tsr.name = "h.attn.softmax"} : (!tsr.tensor<[batch: 4, seq: 64, head: 12], f32>, !tsr.tensor<[], f32>) -> !tsr.tensor<[batch: 4, seq: 64, head: 12], i1>
      %19 = tsr.constant 1.000000e+00 : f32 -> <[], f32>
      %softmax_43 = tsr.select %softmax, %19, %total_42 {tsr.name = "h.attn.softmax"} : (!tsr.tensor<[batch: 4, seq: 64, head: 12], i1>, !tsr.tensor<[], f32>, !tsr.tensor<[batch: 4, seq: 64, head: 12], f32>) -> !tsr.tensor<[batch: 4, seq: 64, head: 12], f32>
      %softmax_44 = tsr.div %e_41, %softmax_43 {tsr.name = "h.attn.softmax"} : (!tsr.tensor<[batch: 4, seq: 64, head: 12, key: 64], f32>, !tsr.tensor<[batch: 4, seq: 64, head: 12], f32>) -> !tsr.tensor<[batch: 4, seq: 64, head: 12, key: 64], f32>
      %attn = tsr.contract %softmax_44, %v_34 over ["key"] {tsr.name = "h.attn"} : (!tsr.tensor<[batch: 4, seq: 64, head: 12, key: 64], f32>, !tsr.tensor<[batch: 4, head: 12, hd: 64, key: 64], f32>) -> !tsr.tensor<[batch: 4, seq: 64, head: 12, hd: 64], f32>
      %attn_45 = tsr.contract %attn, %arg30 over ["head", "hd"] {tsr.name = "h.attn"} : (!tsr.tensor<[batch: 4, seq: 64, head: 12, hd: 64], f32>, !tsr.tensor<[head: 12, hd: 64, embed: 768], f32>) -> !tsr.tensor<[batch: 4, seq: 64, embed: 768], f32>
      %attn_46 = tsr.add %attn_45, %arg34 {tsr.name = "h.attn"} : (!tsr.tensor<[batch: 4, seq: 64, embed: 768], f32>, !tsr.tensor<[embed: 768], f32>) -> !tsr.tensor<[batch: 4, seq: 64, embed: 768], f32>
      %a = tsr.add %arg24, %attn_46 {tsr.name = "h.a"} : (!tsr.tensor<[batch: 4, seq: 64, embed: 768], f32>, !tsr.tensor<[batch: 4, seq: 64, embed: 768], f32>) -> !tsr.tensor<[batch: 4, seq: 64, embed: 768], f32>
      %centred_47 = tsr.reduce sum %a over ["embed"] {tsr.name = "h.ln_2.centred"} : <[batch: 4, seq: 64, embed: 768], f32> -> <[batch: 4, seq: 64], f32>
      %20 = tsr.constant 0.00130208337 : f32 -> <[], f32>
      %centred_48 = tsr.mul %centred_47, %20 {tsr.name = "h.ln_2.centred"} : (!tsr.tensor<[batch: 4, seq: 64], f32>, !tsr.tensor<[], f32>) -> !tsr.tensor<[batch: 4, seq: 64], f32>
      %centred_49 = tsr.sub %a, %centred_48 {tsr.name = "h.ln_2.centred"} : (!tsr.tensor<[batch: 4, seq: 64, embed: 768], f32>, !tsr.tensor<[batch: 4, seq: 64], f32>) -> !tsr.tensor<[batch: 4, seq: 64, embed: 768], f32>
      %variance_50 = tsr.mul %centred_49, %centred_49 {tsr.name = "h.ln_2.variance"} : (!tsr.tensor<[batch: 4, seq: 64, embed: 768], f32>, !tsr.tensor<[batch: 4, seq: 64, embed: 768], f32>) -> !tsr.tensor<[batch: 4, seq: 64, embed: 768], f32>
      %variance_51 = tsr.reduce sum %variance_50 over ["embed"] {tsr.name = "h.ln_2.variance"} : <[batch: 4, seq: 64, embed: 768], f32> -> <[batch: 4, seq: 64], f32>
      %21 = tsr.constant 0.00130208337 : f32 -> <[], f32>
      %variance_52 = tsr.mul %variance_51, %21 {tsr.name = "h.ln_2.variance"} : (!tsr.tensor<[batch: 4, seq: 64], f32>, !tsr.tensor<[], f32>) -> !tsr.tensor<[batch: 4, seq: 64], f32>
      %22 = tsr.constant 9.99999974E-6 : f32 -> <[], f32>
      %ln_2 = tsr.add %variance_52, %22 {tsr.name = "h.ln_2"} : (!tsr.tensor<[batch: 4, seq: 64], f32>, !tsr.tensor<[], f32>) -> !tsr.tensor<[batch: 4, seq: 64], f32>
      %ln_2_53 = tsr.rsqrt %ln_2 {tsr.name = "h.ln_2"} : <[batch: 4, seq: 64], f32>
      %ln_2_54 = tsr.mul %centred_49, %ln_2_53 {tsr.name = "h.ln_2"} : (!tsr.tensor<[batch: 4, seq: 64, embed: 768], f32>, !tsr.tensor<[batch: 4, seq: 64], f32>) -> !tsr.tensor<[batch: 4, seq: 64, embed: 768], f32>
      %ln_2_55 = tsr.mul %ln_2_54, %arg35 {tsr.name = "h.ln_2"} : (!tsr.tensor<[batch: 4, seq: 64, embed: 768], f32>, !tsr.tensor<[embed: 768], f32>) -> !tsr.tensor<[batch: 4, seq: 64, embed: 768], f32>
      %ln_2_56 = tsr.add %ln_2_55, %arg36 {tsr.name = "h.ln_2"} : (!tsr.tensor<[batch: 4, seq: 64, embed: 768], f32>, !tsr.tensor<[embed: 768], f32>) -> !tsr.tensor<[batch: 4, seq: 64, embed: 768], f32>
      %mlp = tsr.contract %ln_2_56, %arg37 over ["embed"] {tsr.name = "h.mlp"} : (!tsr.tensor<[batch: 4, seq: 64, embed: 768], f32>, !tsr.tensor<[embed: 768, ff: 3072], f32>) -> !tsr.tensor<[batch: 4, seq: 64, ff: 3072], f32>
      %mlp_57 = tsr.add %mlp, %arg39 {tsr.name = "h.mlp"} : (!tsr.tensor<[batch: 4, seq: 64, ff: 3072], f32>, !tsr.tensor<[ff: 3072], f32>) -> !tsr.tensor<[batch: 4, seq: 64, ff: 3072], f32>
      %23 = tsr.constant 5.000000e-01 : f32 -> <[], f32>
      %gelu_tanh = tsr.mul %23, %mlp_57 {tsr.name = "h.mlp.gelu_tanh"} : (!tsr.tensor<[], f32>, !tsr.tensor<[batch: 4, seq: 64, ff: 3072], f32>) -> !tsr.tensor<[batch: 4, seq: 64, ff: 3072], f32>
      %gelu_tanh_58 = tsr.mul %mlp_57, %mlp_57 {tsr.name = "h.mlp.gelu_tanh"} : (!tsr.tensor<[batch: 4, seq: 64, ff: 3072], f32>, !tsr.tensor<[batch: 4, seq: 64, ff: 3072], f32>) -> !tsr.tensor<[batch: 4, seq: 64, ff: 3072], f32>
      %gelu_tanh_59 = tsr.mul %gelu_tanh_58, %mlp_57 {tsr.name = "h.mlp.gelu_tanh"} : (!tsr.tensor<[batch: 4, seq: 64, ff: 3072], f32>, !tsr.tensor<[batch: 4, seq: 64, ff: 3072], f32>) -> !tsr.tensor<[batch: 4, seq: 64, ff: 3072], f32>
      %24 = tsr.constant 4.471500e-02 : f32 -> <[], f32>
      %gelu_tanh_60 = tsr.mul %24, %gelu_tanh_59 {tsr.name = "h.mlp.gelu_tanh"} : (!tsr.tensor<[], f32>, !tsr.tensor<[batch: 4, seq: 64, ff: 3072], f32>) -> !tsr.tensor<[batch: 4, seq: 64, ff: 3072], f32>
      %gelu_tanh_61 = tsr.add %mlp_57, %gelu_tanh_60 {tsr.name = "h.mlp.gelu_tanh"} : (!tsr.tensor<[batch: 4, seq: 64, ff: 3072], f32>, !tsr.tensor<[batch: 4, seq: 64, ff: 3072], f32>) -> !tsr.tensor<[batch: 4, seq: 64, ff: 3072], f32>
      %25 = tsr.constant 0.797884583 : f32 -> <[], f32>
      %gelu_tanh_62 = tsr.mul %25, %gelu_tanh_61 {tsr.name = "h.mlp.gelu_tanh"} : (!tsr.tensor<[], f32>, !tsr.tensor<[batch: 4, seq: 64, ff: 3072], f32>) -> !tsr.tensor<[batch: 4, seq: 64, ff: 3072], f32>
      %gelu_tanh_63 = tsr.tanh %gelu_tanh_62 {tsr.name = "h.mlp.gelu_tanh"} : <[batch: 4, seq: 64, ff: 3072], f32>
      %26 = tsr.constant 1.000000e+00 : f32 -> <[], f32>
      %gelu_tanh_64 = tsr.add %26, %gelu_tanh_63 {tsr.name = "h.mlp.gelu_tanh"} : (!tsr.tensor<[], f32>, !tsr.tensor<[batch: 4, seq: 64, ff: 3072], f32>) -> !tsr.tensor<[batch: 4, seq: 64, ff: 3072], f32>
      %gelu_tanh_65 = tsr.mul %gelu_tanh, %gelu_tanh_64 {tsr.name = "h.mlp.gelu_tanh"} : (!tsr.tensor<[batch: 4, seq: 64, ff: 3072], f32>, !tsr.tensor<[batch: 4, seq: 64, ff: 3072], f32>) -> !tsr.tensor<[batch: 4, seq: 64, ff: 3072], f32>
      %mlp_66 = tsr.contract %gelu_tanh_65, %arg38 over ["ff"] {tsr.name = "h.mlp"} : (!tsr.tensor<[batch: 4, seq: 64, ff: 3072], f32>, !tsr.tensor<[embed: 768, ff: 3072], f32>) -> !tsr.tensor<[batch: 4, seq: 64, embed: 768], f32>
      %mlp_67 = tsr.add %mlp_66, %arg40 {tsr.name = "h.mlp"} : (!tsr.tensor<[batch: 4, seq: 64, embed: 768], f32>, !tsr.tensor<[embed: 768], f32>) -> !tsr.tensor<[batch: 4, seq: 64, embed: 768], f32>
      %h = tsr.add %a, %mlp_67 {tsr.name = "h"} : (!tsr.tensor<[batch: 4, seq: 64, embed: 768], f32>, !tsr.tensor<[batch: 4, seq: 64, embed: 768], f32>) -> !tsr.tensor<[batch: 4, seq: 64, embed: 768], f32>
      tsr.yield %h : !tsr.tensor<[batch: 4, seq: 64, embed: 768], f32>
    }
    %centred = tsr.reduce sum %y over ["embed"] {tsr.name = "ln_f.centred"} : <[batch: 4, seq: 64, embed: 768], f32> -> <[batch: 4, seq: 64], f32>
    %1 = tsr.constant 0.00130208337 : f32 -> <[], f32>
    %centred_3 = tsr.mul %centred, %1 {tsr.name = "ln_f.centred"} : (!tsr.tensor<[batch: 4, seq: 64], f32>, !tsr.tensor<[], f32>) -> !tsr.tensor<[batch: 4, seq: 64], f32>
    %centred_4 = tsr.sub %y, %centred_3 {tsr.name = "ln_f.centred"} : (!tsr.tensor<[batch: 4, seq: 64, embed: 768], f32>, !tsr.tensor<[batch: 4, seq: 64], f32>) -> !tsr.tensor<[batch: 4, seq: 64, embed: 768], f32>
    %variance = tsr.mul %centred_4, %centred_4 {tsr.name = "ln_f.variance"} : (!tsr.tensor<[batch: 4, seq: 64, embed: 768], f32>, !tsr.tensor<[batch: 4, seq: 64, embed: 768], f32>) -> !tsr.tensor<[batch: 4, seq: 64, embed: 768], f32>
    %variance_5 = tsr.reduce sum %variance over ["embed"] {tsr.name = "ln_f.variance"} : <[batch: 4, seq: 64, embed: 768], f32> -> <[batch: 4, seq: 64], f32>
    %2 = tsr.constant 0.00130208337 : f32 -> <[], f32>
    %variance_6 = tsr.mul %variance_5, %2 {tsr.name = "ln_f.variance"} : (!tsr.tensor<[batch: 4, seq: 64], f32>, !tsr.tensor<[], f32>) -> !tsr.tensor<[batch: 4, seq: 64], f32>
    %3 = tsr.constant 9.99999974E-6 : f32 -> <[], f32>
    %ln_f = tsr.add %variance_6, %3 {tsr.name = "ln_f"} : (!tsr.tensor<[batch: 4, seq: 64], f32>, !tsr.tensor<[], f32>) -> !tsr.tensor<[batch: 4, seq: 64], f32>
    %ln_f_7 = tsr.rsqrt %ln_f {tsr.name = "ln_f"} : <[batch: 4, seq: 64], f32>
    %ln_f_8 = tsr.mul %centred_4, %ln_f_7 {tsr.name = "ln_f"} : (!tsr.tensor<[batch: 4, seq: 64, embed: 768], f32>, !tsr.tensor<[batch: 4, seq: 64], f32>) -> !tsr.tensor<[batch: 4, seq: 64, embed: 768], f32>
    %ln_f_9 = tsr.mul %ln_f_8, %arg18 {tsr.name = "ln_f"} : (!tsr.tensor<[batch: 4, seq: 64, embed: 768], f32>, !tsr.tensor<[embed: 768], f32>) -> !tsr.tensor<[batch: 4, seq: 64, embed: 768], f32>
    %ln_f_10 = tsr.add %ln_f_9, %arg19 {tsr.name = "ln_f"} : (!tsr.tensor<[batch: 4, seq: 64, embed: 768], f32>, !tsr.tensor<[embed: 768], f32>) -> !tsr.tensor<[batch: 4, seq: 64, embed: 768], f32>
    %4 = tsr.contract %ln_f_10, %arg0 over ["embed"] : (!tsr.tensor<[batch: 4, seq: 64, embed: 768], f32>, !tsr.tensor<[vocab: 50257, embed: 768], f32>) -> !tsr.tensor<[batch: 4, seq: 64, vocab: 50257], f32>
    %top = tsr.reduce max %4 over ["vocab"] {tsr.name = "cross_entropy.top"} : <[batch: 4, seq: 64, vocab: 50257], f32> -> <[batch: 4, seq: 64], f32>
    %total = tsr.sub %4, %top {tsr.name = "cross_entropy.total"} : (!tsr.tensor<[batch: 4, seq: 64, vocab: 50257], f32>, !tsr.tensor<[batch: 4, seq: 64], f32>) -> !tsr.tensor<[batch: 4, seq: 64, vocab: 50257], f32>
    %total_11 = tsr.exp %total {tsr.name = "cross_entropy.total"} : <[batch: 4, seq: 64, vocab: 50257], f32>
    %total_12 = tsr.reduce sum %total_11 over ["vocab"] {tsr.name = "cross_entropy.total"} : <[batch: 4, seq: 64, vocab: 50257], f32> -> <[batch: 4, seq: 64], f32>
    %cross_entropy = tsr.log %total_12 {tsr.name = "cross_entropy"} : <[batch: 4, seq: 64], f32>
    %cross_entropy_13 = tsr.add %cross_entropy, %top {tsr.name = "cross_entropy"} : (!tsr.tensor<[batch: 4, seq: 64], f32>, !tsr.tensor<[batch: 4, seq: 64], f32>) -> !tsr.tensor<[batch: 4, seq: 64], f32>
    %cross_entropy_14 = tsr.gather %4[["vocab"] = %arg22] {tsr.name = "cross_entropy"} : (!tsr.tensor<[batch: 4, seq: 64, vocab: 50257], f32>, !tsr.tensor<[batch: 4, seq: 64], i32>) -> !tsr.tensor<[batch: 4, seq: 64], f32>
    %cross_entropy_15 = tsr.sub %cross_entropy_13, %cross_entropy_14 {tsr.name = "cross_entropy"} : (!tsr.tensor<[batch: 4, seq: 64], f32>, !tsr.tensor<[batch: 4, seq: 64], f32>) -> !tsr.tensor<[batch: 4, seq: 64], f32>
    %ce = tsr.reduce sum %arg20 over ["batch"] {tsr.name = "ce"} : <[batch: 4], f32> -> <[], f32>
    %5 = tsr.constant 6.400000e+01 : f32 -> <[], f32>
    %ce_16 = tsr.mul %ce, %5 {tsr.name = "ce"} : (!tsr.tensor<[], f32>, !tsr.tensor<[], f32>) -> !tsr.tensor<[], f32>
    %ce_17 = tsr.mul %cross_entropy_15, %arg20 {tsr.name = "ce"} : (!tsr.tensor<[batch: 4, seq: 64], f32>, !tsr.tensor<[batch: 4], f32>) -> !tsr.tensor<[batch: 4, seq: 64], f32>
    %ce_18 = tsr.reduce sum %ce_17 over ["batch", "seq"] {tsr.name = "ce"} : <[batch: 4, seq: 64], f32> -> <[], f32>
    %6 = tsr.constant 0.000000e+00 : f32 -> <[], f32>
    %ce_19 = tsr.compare eq %ce_16, %6 {tsr.name = "ce"} : (!tsr.tensor<[], f32>, !tsr.tensor<[], f32>) -> !tsr.tensor<[], i1>
    %7 = tsr.constant 1.000000e+00 : f32 -> <[], f32>
    %ce_20 = tsr.select %ce_19, %7, %ce_16 {tsr.name = "ce"} : (!tsr.tensor<[], i1>, !tsr.tensor<[], f32>, !tsr.tensor<[], f32>) -> !tsr.tensor<[], f32>
    %ce_21 = tsr.div %ce_18, %ce_20 {tsr.name = "ce"} : (!tsr.tensor<[], f32>, !tsr.tensor<[], f32>) -> !tsr.tensor<[], f32>
    %8 = tsr.reduce sum %arg20 over ["batch"] : <[batch: 4], f32> -> <[], f32>
    return %ce_21, %ce_16 : !tsr.tensor<[], f32>, !tsr.tensor<[], f32>
  }
  func.func @predict(%arg0: !tsr.tensor<[vocab: 50257, embed: 768], f32> {tsr.state = @wte}, %arg1: !tsr.tensor<[place: 1024, embed: 768], f32> {tsr.state = @wpe}, %arg2: !tsr.tensor<[layer: 12, embed: 768], f32> {tsr.state = @h.ln_1.g}, %arg3: !tsr.tensor<[layer: 12, embed: 768], f32> {tsr.state = @h.ln_1.b}, %arg4: !tsr.tensor<[layer: 12, head: 12, hd: 64, embed: 768], f32> {tsr.state = @h.attn.wq}, %arg5: !tsr.tensor<[layer: 12, head: 12, hd: 64, embed: 768], f32> {tsr.state = @h.attn.wk}, %arg6: !tsr.tensor<[layer: 12, head: 12, hd: 64, embed: 768], f32> {tsr.state = @h.attn.wv}, %arg7: !tsr.tensor<[layer: 12, head: 12, hd: 64, embed: 768], f32> {tsr.state = @h.attn.wo}, %arg8: !tsr.tensor<[layer: 12, head: 12, hd: 64], f32> {tsr.state = @h.attn.bq}, %arg9: !tsr.tensor<[layer: 12, head: 12, hd: 64], f32> {tsr.state = @h.attn.bk}, %arg10: !tsr.tensor<[layer: 12, head: 12, hd: 64], f32> {tsr.state = @h.attn.bv}, %arg11: !tsr.tensor<[layer: 12, embed: 768], f32> {tsr.state = @h.attn.bo}, %arg12: !tsr.tensor<[layer: 12, embed: 768], f32> {tsr.state = @h.ln_2.g}, %arg13: !tsr.tensor<[layer: 12, embed: 768], f32> {tsr.state = @h.ln_2.b}, %arg14: !tsr.tensor<[layer: 12, embed: 768, ff: 3072], f32> {tsr.state = @h.mlp.up}, %arg15: !tsr.tensor<[layer: 12, embed: 768, ff: 3072], f32> {tsr.state = @h.mlp.down}, %arg16: !tsr.tensor<[layer: 12, ff: 3072], f32> {tsr.state = @h.mlp.b_up}, %arg17: !tsr.tensor<[layer: 12, embed: 768], f32> {tsr.state = @h.mlp.b_down}, %arg18: !tsr.tensor<[embed: 768], f32> {tsr.state = @ln_f.g}, %arg19: !tsr.tensor<[embed: 768], f32> {tsr.state = @ln_f.b}, %arg20: !tsr.tensor<[batch: 1, seq: 64], i32> {tsr.input = {name = "tokens", of = 50257 : i64, order = ["batch", "seq"], role = "argument"}}) -> (!tsr.tensor<[batch: 1, seq: 64, vocab: 50257], f32> {tsr.output = {name = "result", order = ["batch", "seq", "vocab"], role = "result"}}) {
    %e = tsr.gather %arg0[["vocab"] = %arg20] {tsr.name = "e"} : (!tsr.tensor<[vocab: 50257, embed: 768], f32>, !tsr.tensor<[batch: 1, seq: 64], i32>) -> !tsr.tensor<[batch: 1, seq: 64, embed: 768], f32>
    %0 = tsr.index : <[seq: 64], i32>
    %e_0 = tsr.slice %arg1 "place" from 0 {tsr.name = "e"} : <[place: 1024, embed: 768], f32> -> <[place: 64, embed: 768], f32>
    %e_1 = tsr.rename %e_0 ["place"] to ["seq"] {tsr.name = "e"} : <[place: 64, embed: 768], f32> -> <[seq: 64, embed: 768], f32>
    %e_2 = tsr.add %e, %e_1 {tsr.name = "e"} : (!tsr.tensor<[batch: 1, seq: 64, embed: 768], f32>, !tsr.tensor<[seq: 64, embed: 768], f32>) -> !tsr.tensor<[batch: 1, seq: 64, embed: 768], f32>
    %y = tsr.repeat [layer: 12] index %arg21 carry (%arg22 = %e_2 : !tsr.tensor<[batch: 1, seq: 64, embed: 768], f32>) slice (%arg23 = %arg2 : !tsr.tensor<[layer: 12, embed: 768], f32>, %arg24 = %arg3 : !tsr.tensor<[layer: 12, embed: 768], f32>, %arg25 = %arg4 : !tsr.tensor<[layer: 12, head: 12, hd: 64, embed: 768], f32>, %arg26 = %arg5 : !tsr.tensor<[layer: 12, head: 12, hd: 64, embed: 768], f32>, %arg27 = %arg6 : !tsr.tensor<[layer: 12, head: 12, hd: 64, embed: 768], f32>, %arg28 = %arg7 : !tsr.tensor<[layer: 12, head: 12, hd: 64, embed: 768], f32>, %arg29 = %arg8 : !tsr.tensor<[layer: 12, head: 12, hd: 64], f32>, %arg30 = %arg9 : !tsr.tensor<[layer: 12, head: 12, hd: 64], f32>, %arg31 = %arg10 : !tsr.tensor<[layer: 12, head: 12, hd: 64], f32>, %arg32 = %arg11 : !tsr.tensor<[layer: 12, embed: 768], f32>, %arg33 = %arg12 : !tsr.tensor<[layer: 12, embed: 768], f32>, %arg34 = %arg13 : !tsr.tensor<[layer: 12, embed: 768], f32>, %arg35 = %arg14 : !tsr.tensor<[layer: 12, embed: 768, ff: 3072], f32>, %arg36 = %arg15 : !tsr.tensor<[layer: 12, embed: 768, ff: 3072], f32>, %arg37 = %arg16 : !tsr.tensor<[layer: 12, ff: 3072], f32>, %arg38 = %arg17 : !tsr.tensor<[layer: 12, embed: 768], f32>) -> !tsr.tensor<[batch: 1, seq: 64, embed: 768], f32> attributes {tsr.name = "y"} {
      %centred_11 = tsr.reduce sum %arg22 over ["embed"] {tsr.name = "h.ln_1.centred"} : <[batch: 1, seq: 64, embed: 768], f32> -> <[batch: 1, seq: 64], f32>
      %5 = tsr.constant 0.00130208337 : f32 -> <[], f32>
      %centred_12 = tsr.mul %centred_11, %5 {tsr.name = "h.ln_1.centred"} : (!tsr.tensor<[batch: 1, seq: 64], f32>, !tsr.tensor<[], f32>) -> !tsr.tensor<[batch: 1, seq: 64], f32>
      %centred_13 = tsr.sub %arg22, %centred_12 {tsr.name = "h.ln_1.centred"} : (!tsr.tensor<[batch: 1, seq: 64, embed: 768], f32>, !tsr.tensor<[batch: 1, seq: 64], f32>) -> !tsr.tensor<[batch: 1, seq: 64, embed: 768], f32>
      %variance_14 = tsr.mul %centred_13, %centred_13 {tsr.name = "h.ln_1.variance"} : (!tsr.tensor<[batch: 1, seq: 64, embed: 768], f32>, !tsr.tensor<[batch: 1, seq: 64, embed: 768], f32>) -> !tsr.tensor<[batch: 1, seq: 64, embed: 768], f32>
      %variance_15 = tsr.reduce sum %variance_14 over ["embed"] {tsr.name = "h.ln_1.variance"} : <[batch: 1, seq: 64, embed: 768], f32> -> <[batch: 1, seq: 64], f32>
      %6 = tsr.constant 0.00130208337 : f32 -> <[], f32>
      %variance_16 = tsr.mul %variance_15, %6 {tsr.name = "h.ln_1.variance"} : (!tsr.tensor<[batch: 1, seq: 64], f32>, !tsr.tensor<[], f32>) -> !tsr.tensor<[batch: 1, seq: 64], f32>
      %7 = tsr.constant 9.99999974E-6 : f32 -> <[], f32>
      %ln_1 = tsr.add %variance_16, %7 {tsr.name = "h.ln_1"} : (!tsr.tensor<[batch: 1, seq: 64], f32>, !tsr.tensor<[], f32>) -> !tsr.tensor<[batch: 1, seq: 64], f32>
      %ln_1_17 = tsr.rsqrt %ln_1 {tsr.name = "h.ln_1"} : <[batch: 1, seq: 64], f32>
      %ln_1_18 = tsr.mul %centred_13, %ln_1_17 {tsr.name = "h.ln_1"} : (!tsr.tensor<[batch: 1, seq: 64, embed: 768], f32>, !tsr.tensor<[batch: 1, seq: 64], f32>) -> !tsr.tensor<[batch: 1, seq: 64, embed: 768], f32>
      %ln_1_19 = tsr.mul %ln_1_18, %arg23 {tsr.name = "h.ln_1"} : (!tsr.tensor<[batch: 1, seq: 64, embed: 768], f32>, !tsr.tensor<[embed: 768], f32>) -> !tsr.tensor<[batch: 1, seq: 64, embed: 768], f32>
      %ln_1_20 = tsr.add %ln_1_19, %arg24 {tsr.name = "h.ln_1"} : (!tsr.tensor<[batch: 1, seq: 64, embed: 768], f32>, !tsr.tensor<[embed: 768], f32>) -> !tsr.tensor<[batch: 1, seq: 64, embed: 768], f32>
      %past = tsr.rename %ln_1_20 ["seq"] to ["key"] {tsr.name = "h.attn.past"} : <[batch: 1, seq: 64, embed: 768], f32> -> <[batch: 1, embed: 768, key: 64], f32>
      %q = tsr.contract %ln_1_20, %arg25 over ["embed"] {tsr.name = "h.attn.q"} : (!tsr.tensor<[batch: 1, seq: 64, embed: 768], f32>, !tsr.tensor<[head: 12, hd: 64, embed: 768], f32>) -> !tsr.tensor<[batch: 1, seq: 64, head: 12, hd: 64], f32>
      %q_21 = tsr.add %q, %arg29 {tsr.name = "h.attn.q"} : (!tsr.tensor<[batch: 1, seq: 64, head: 12, hd: 64], f32>, !tsr.tensor<[head: 12, hd: 64], f32>) -> !tsr.tensor<[batch: 1, seq: 64, head: 12, hd: 64], f32>
      %k = tsr.contract %past, %arg26 over ["embed"] {tsr.name = "h.attn.k"} : (!tsr.tensor<[batch: 1, embed: 768, key: 64], f32>, !tsr.tensor<[head: 12, hd: 64, embed: 768], f32>) -> !tsr.tensor<[batch: 1, head: 12, hd: 64, key: 64], f32>
      %k_22 = tsr.add %k, %arg30 {tsr.name = "h.attn.k"} : (!tsr.tensor<[batch: 1, head: 12, hd: 64, key: 64], f32>, !tsr.tensor<[head: 12, hd: 64], f32>) -> !tsr.tensor<[batch: 1, head: 12, hd: 64, key: 64], f32>
      %v = tsr.contract %past, %arg27 over ["embed"] {tsr.name = "h.attn.v"} : (!tsr.tensor<[batch: 1, embed: 768, key: 64], f32>, !tsr.tensor<[head: 12, hd: 64, embed: 768], f32>) -> !tsr.tensor<[batch: 1, head: 12, hd: 64, key: 64], f32>
      %v_23 = tsr.add %v, %arg31 {tsr.name = "h.attn.v"} : (!tsr.tensor<[batch: 1, head: 12, hd: 64, key: 64], f32>, !tsr.tensor<[head: 12, hd: 64], f32>) -> !tsr.tensor<[batch: 1, head: 12, hd: 64, key: 64], f32>
      %score = tsr.contract %q_21, %k_22 over ["hd"] {tsr.name = "h.attn.score"} : (!tsr.tensor<[batch: 1, seq: 64, head: 12, hd: 64], f32>, !tsr.tensor<[batch: 1, head: 12, hd: 64, key: 64], f32>) -> !tsr.tensor<[batch: 1, seq: 64, head: 12, key: 64], f32>
      %8 = tsr.constant 8.000000e+00 : f32 -> <[], f32>
      %score_24 = tsr.div %score, %8 {tsr.name = "h.attn.score"} : (!tsr.tensor<[batch: 1, seq: 64, head: 12, key: 64], f32>, !tsr.tensor<[], f32>) -> !tsr.tensor<[batch: 1, seq: 64, head: 12, key: 64], f32>
      %9 = tsr.index : <[key: 64], i32>
      %10 = tsr.index : <[seq: 64], i32>
      %p = tsr.compare le %9, %10 {tsr.name = "h.attn.p"} : (!tsr.tensor<[key: 64], i32>, !tsr.tensor<[seq: 64], i32>) -> !tsr.tensor<[seq: 64, key: 64], i1>
      %11 = tsr.constant 0xFF800000 : f32 -> <[], f32>
      %p_25 = tsr.select %p, %score_24, %11 {tsr.name = "h.attn.p"} : (!tsr.tensor<[seq: 64, key: 64], i1>, !tsr.tensor<[batch: 1, seq: 64, head: 12, key: 64], f32>, !tsr.tensor<[], f32>) -> !tsr.tensor<[batch: 1, seq: 64, head: 12, key: 64], f32>
      %top = tsr.reduce max %p_25 over ["key"] {tsr.name = "h.attn.softmax.top"} : <[batch: 1, seq: 64, head: 12, key: 64], f32> -> <[batch: 1, seq: 64, head: 12], f32>
      %12 = tsr.constant 0xFF800000 : f32 -> <[], f32>
      %e_26 = tsr.compare eq %top, %12 {tsr.name = "h.attn.softmax.e"} : (!tsr.tensor<[batch: 1, seq: 64, head: 12], f32>, !tsr.tensor<[], f32>) -> !tsr.tensor<[batch: 1, seq: 64, head: 12], i1>
      %13 = tsr.constant 0.000000e+00 : f32 -> <[], f32>
      %e_27 = tsr.select %e_26, %13, %top {tsr.name = "h.attn.softmax.e"} : (!tsr.tensor<[batch: 1, seq: 64, head: 12], i1>, !tsr.tensor<[], f32>, !tsr.tensor<[batch: 1, seq: 64, head: 12], f32>) -> !tsr.tensor<[batch: 1, seq: 64, head: 12], f32>
      %e_28 = tsr.sub %p_25, %e_27 {tsr.name = "h.attn.softmax.e"} : (!tsr.tensor<[batch: 1, seq: 64, head: 12, key: 64], f32>, !tsr.tensor<[batch: 1, seq: 64, head: 12], f32>) -> !tsr.tensor<[batch: 1, seq: 64, head: 12, key: 64], f32>
      %e_29 = tsr.exp %e_28 {tsr.name = "h.attn.softmax.e"} : <[batch: 1, seq: 64, head: 12, key: 64], f32>
      %total = tsr.reduce sum %e_29 over ["key"] {tsr.name = "h.attn.softmax.total"} : <[batch: 1, seq: 64, head: 12, key: 64], f32> -> <[batch: 1, seq: 64, head: 12], f32>
      %14 = tsr.constant 0.000000e+00 : f32 -> <[], f32>
      %softmax = tsr.compare eq %total, %14 {tsr.name = "h.attn.softmax"} : (!tsr.tensor<[batch: 1, seq: 64, head: 12], f32>, !tsr.tensor<[], f32>) -> !tsr.tensor<[batch: 1, seq: 64, head: 12], i1>
      %15 = tsr.constant 1.000000e+00 : f32 -> <[], f32>
      %softmax_30 = tsr.select %softmax, %15, %total {tsr.name = "h.attn.softmax"} : (!tsr.tensor<[batch: 1, seq: 64, head: 12], i1>, !tsr.tensor<[], f32>, !tsr.tensor<[batch: 1, seq: 64, head: 12], f32>) -> !tsr.tensor<[batch: 1, seq: 64, head: 12], f32>
      %softmax_31 = tsr.div %e_29, %softmax_30 {tsr.name = "h.attn.softmax"} : (!tsr.tensor<[batch: 1, seq: 64, head: 12, key: 64], f32>, !tsr.tensor<[batch: 1, seq: 64, head: 12], f32>) -> !tsr.tensor<[batch: 1, seq: 64, head: 12, key: 64], f32>
      %attn = tsr.contract %softmax_31, %v_23 over ["key"] {tsr.name = "h.attn"} : (!tsr.tensor<[batch: 1, seq: 64, head: 12, key: 64], f32>, !tsr.tensor<[batch: 1, head: 12, hd: 64, key: 64], f32>) -> !tsr.tensor<[batch: 1, seq: 64, head: 12, hd: 64], f32>
      %attn_32 = tsr.contract %attn, %arg28 over ["head", "hd"] {tsr.name = "h.attn"} : (!tsr.tensor<[batch: 1, seq: 64, head: 12, hd: 64], f32>, !tsr.tensor<[head: 12, hd: 64, embed: 768], f32>) -> !tsr.tensor<[batch: 1, seq: 64, embed: 768], f32>
      %attn_33 = tsr.add %attn_32, %arg32 {tsr.name = "h.attn"} : (!tsr.tensor<[batch: 1, seq: 64, embed: 768], f32>, !tsr.tensor<[embed: 768], f32>) -> !tsr.tensor<[batch: 1, seq: 64, embed: 768], f32>
      %a = tsr.add %arg22, %attn_33 {tsr.name = "h.a"} : (!tsr.tensor<[batch: 1, seq: 64, embed: 768], f32>, !tsr.tensor<[batch: 1, seq: 64, embed: 768], f32>) -> !tsr.tensor<[batch: 1, seq: 64, embed: 768], f32>
      %centred_34 = tsr.reduce sum %a over ["embed"] {tsr.name = "h.ln_2.centred"} : <[batch: 1, seq: 64, embed: 768], f32> -> <[batch: 1, seq: 64], f32>
      %16 = tsr.constant 0.00130208337 : f32 -> <[], f32>
      %centred_35 = tsr.mul %centred_34, %16 {tsr.name = "h.ln_2.centred"} : (!tsr.tensor<[batch: 1, seq: 64], f32>, !tsr.tensor<[], f32>) -> !tsr.tensor<[batch: 1, seq: 64], f32>
      %centred_36 = tsr.sub %a, %centred_35 {tsr.name = "h.ln_2.centred"} : (!tsr.tensor<[batch: 1, seq: 64, embed: 768], f32>, !tsr.tensor<[batch: 1, seq: 64], f32>) -> !tsr.tensor<[batch: 1, seq: 64, embed: 768], f32>
      %variance_37 = tsr.mul %centred_36, %centred_36 {tsr.name = "h.ln_2.variance"} : (!tsr.tensor<[batch: 1, seq: 64, embed: 768], f32>, !tsr.tensor<[batch: 1, seq: 64, embed: 768], f32>) -> !tsr.tensor<[batch: 1, seq: 64, embed: 768], f32>
      %variance_38 = tsr.reduce sum %variance_37 over ["embed"] {tsr.name = "h.ln_2.variance"} : <[batch: 1, seq: 64, embed: 768], f32> -> <[batch: 1, seq: 64], f32>
      %17 = tsr.constant 0.00130208337 : f32 -> <[], f32>
      %variance_39 = tsr.mul %variance_38, %17 {tsr.name = "h.ln_2.variance"} : (!tsr.tensor<[batch: 1, seq: 64], f32>, !tsr.tensor<[], f32>) -> !tsr.tensor<[batch: 1, seq: 64], f32>
      %18 = tsr.constant 9.99999974E-6 : f32 -> <[], f32>
      %ln_2 = tsr.add %variance_39, %18 {tsr.name = "h.ln_2"} : (!tsr.tensor<[batch: 1, seq: 64], f32>, !tsr.tensor<[], f32>) -> !tsr.tensor<[batch: 1, seq: 64], f32>
      %ln_2_40 = tsr.rsqrt %ln_2 {tsr.name = "h.ln_2"} : <[batch: 1, seq: 64], f32>
      %ln_2_41 = tsr.mul %centred_36, %ln_2_40 {tsr.name = "h.ln_2"} : (!tsr.tensor<[batch: 1, seq: 64, embed: 768], f32>, !tsr.tensor<[batch: 1, seq: 64], f32>) -> !tsr.tensor<[batch: 1, seq: 64, embed: 768], f32>
      %ln_2_42 = tsr.mul %ln_2_41, %arg33 {tsr.name = "h.ln_2"} : (!tsr.tensor<[batch: 1, seq: 64, embed: 768], f32>, !tsr.tensor<[embed: 768], f32>) -> !tsr.tensor<[batch: 1, seq: 64, embed: 768], f32>
      %ln_2_43 = tsr.add %ln_2_42, %arg34 {tsr.name = "h.ln_2"} : (!tsr.tensor<[batch: 1, seq: 64, embed: 768], f32>, !tsr.tensor<[embed: 768], f32>) -> !tsr.tensor<[batch: 1, seq: 64, embed: 768], f32>
      %mlp = tsr.contract %ln_2_43, %arg35 over ["embed"] {tsr.name = "h.mlp"} : (!tsr.tensor<[batch: 1, seq: 64, embed: 768], f32>, !tsr.tensor<[embed: 768, ff: 3072], f32>) -> !tsr.tensor<[batch: 1, seq: 64, ff: 3072], f32>
      %mlp_44 = tsr.add %mlp, %arg37 {tsr.name = "h.mlp"} : (!tsr.tensor<[batch: 1, seq: 64, ff: 3072], f32>, !tsr.tensor<[ff: 3072], f32>) -> !tsr.tensor<[batch: 1, seq: 64, ff: 3072], f32>
      %19 = tsr.constant 5.000000e-01 : f32 -> <[], f32>
      %gelu_tanh = tsr.mul %19, %mlp_44 {tsr.name = "h.mlp.gelu_tanh"} : (!tsr.tensor<[], f32>, !tsr.tensor<[batch: 1, seq: 64, ff: 3072], f32>) -> !tsr.tensor<[batch: 1, seq: 64, ff: 3072], f32>
      %gelu_tanh_45 = tsr.mul %mlp_44, %mlp_44 {tsr.name = "h.mlp.gelu_tanh"} : (!tsr.tensor<[batch: 1, seq: 64, ff: 3072], f32>, !tsr.tensor<[batch: 1, seq: 64, ff: 3072], f32>) -> !tsr.tensor<[batch: 1, seq: 64, ff: 3072], f32>
      %gelu_tanh_46 = tsr.mul %gelu_tanh_45, %mlp_44 {tsr.name = "h.mlp.gelu_tanh"} : (!tsr.tensor<[batch: 1, seq: 64, ff: 3072], f32>, !tsr.tensor<[batch: 1, seq: 64, ff: 3072], f32>) -> !tsr.tensor<[batch: 1, seq: 64, ff: 3072], f32>
      %20 = tsr.constant 4.471500e-02 : f32 -> <[], f32>
      %gelu_tanh_47 = tsr.mul %20, %gelu_tanh_46 {tsr.name = "h.mlp.gelu_tanh"} : (!tsr.tensor<[], f32>, !tsr.tensor<[batch: 1, seq: 64, ff: 3072], f32>) -> !tsr.tensor<[batch: 1, seq: 64, ff: 3072], f32>
      %gelu_tanh_48 = tsr.add %mlp_44, %gelu_tanh_47 {tsr.name = "h.mlp.gelu_tanh"} : (!tsr.tensor<[batch: 1, seq: 64, ff: 3072], f32>, !tsr.tensor<[batch: 1, seq: 64, ff: 3072], f32>) -> !tsr.tensor<[batch: 1, seq: 64, ff: 3072], f32>
      %21 = tsr.constant 0.797884583 : f32 -> <[], f32>
      %gelu_tanh_49 = tsr.mul %21, %gelu_tanh_48 {tsr.name = "h.mlp.gelu_tanh"} : (!tsr.tensor<[], f32>, !tsr.tensor<[batch: 1, seq: 64, ff: 3072], f32>) -> !tsr.tensor<[batch: 1, seq: 64, ff: 3072], f32>
      %gelu_tanh_50 = tsr.tanh %gelu_tanh_49 {tsr.name = "h.mlp.gelu_tanh"} : <[batch: 1, seq: 64, ff: 3072], f32>
      %22 = tsr.constant 1.000000e+00 : f32 -> <[], f32>
      %gelu_tanh_51 = tsr.add %22, %gelu_tanh_50 {tsr.name = "h.mlp.gelu_tanh"} : (!tsr.tensor<[], f32>, !tsr.tensor<[batch: 1, seq: 64, ff: 3072], f32>) -> !tsr.tensor<[batch: 1, seq: 64, ff: 3072], f32>
      %gelu_tanh_52 = tsr.mul %gelu_tanh, %gelu_tanh_51 {tsr.name = "h.mlp.gelu_tanh"} : (!tsr.tensor<[batch: 1, seq: 64, ff: 3072], f32>, !tsr.tensor<[batch: 1, seq: 64, ff: 3072], f32>) -> !tsr.tensor<[batch: 1, seq: 64, ff: 3072], f32>
      %mlp_53 = tsr.contract %gelu_tanh_52, %arg36 over ["ff"] {tsr.name = "h.mlp"} : (!tsr.tensor<[batch: 1, seq: 64, ff: 3072], f32>, !tsr.tensor<[embed: 768, ff: 3072], f32>) -> !tsr.tensor<[batch: 1, seq: 64, embed: 768], f32>
      %mlp_54 = tsr.add %mlp_53, %arg38 {tsr.name = "h.mlp"} : (!tsr.tensor<[batch: 1, seq: 64, embed: 768], f32>, !tsr.tensor<[embed: 768], f32>) -> !tsr.tensor<[batch: 1, seq: 64, embed: 768], f32>
      %h = tsr.add %a, %mlp_54 {tsr.name = "h"} : (!tsr.tensor<[batch: 1, seq: 64, embed: 768], f32>, !tsr.tensor<[batch: 1, seq: 64, embed: 768], f32>) -> !tsr.tensor<[batch: 1, seq: 64, embed: 768], f32>
      tsr.yield %h : !tsr.tensor<[batch: 1, seq: 64, embed: 768], f32>
    }
    %centred = tsr.reduce sum %y over ["embed"] {tsr.name = "ln_f.centred"} : <[batch: 1, seq: 64, embed: 768], f32> -> <[batch: 1, seq: 64], f32>
    %1 = tsr.constant 0.00130208337 : f32 -> <[], f32>
    %centred_3 = tsr.mul %centred, %1 {tsr.name = "ln_f.centred"} : (!tsr.tensor<[batch: 1, seq: 64], f32>, !tsr.tensor<[], f32>) -> !tsr.tensor<[batch: 1, seq: 64], f32>
    %centred_4 = tsr.sub %y, %centred_3 {tsr.name = "ln_f.centred"} : (!tsr.tensor<[batch: 1, seq: 64, embed: 768], f32>, !tsr.tensor<[batch: 1, seq: 64], f32>) -> !tsr.tensor<[batch: 1, seq: 64, embed: 768], f32>
    %variance = tsr.mul %centred_4, %centred_4 {tsr.name = "ln_f.variance"} : (!tsr.tensor<[batch: 1, seq: 64, embed: 768], f32>, !tsr.tensor<[batch: 1, seq: 64, embed: 768], f32>) -> !tsr.tensor<[batch: 1, seq: 64, embed: 768], f32>
    %variance_5 = tsr.reduce sum %variance over ["embed"] {tsr.name = "ln_f.variance"} : <[batch: 1, seq: 64, embed: 768], f32> -> <[batch: 1, seq: 64], f32>
    %2 = tsr.constant 0.00130208337 : f32 -> <[], f32>
    %variance_6 = tsr.mul %variance_5, %2 {tsr.name = "ln_f.variance"} : (!tsr.tensor<[batch: 1, seq: 64], f32>, !tsr.tensor<[], f32>) -> !tsr.tensor<[batch: 1, seq: 64], f32>
    %3 = tsr.constant 9.99999974E-6 : f32 -> <[], f32>
    %ln_f = tsr.add %variance_6, %3 {tsr.name = "ln_f"} : (!tsr.tensor<[batch: 1, seq: 64], f32>, !tsr.tensor<[], f32>) -> !tsr.tensor<[batch: 1, seq: 64], f32>
    %ln_f_7 = tsr.rsqrt %ln_f {tsr.name = "ln_f"} : <[batch: 1, seq: 64], f32>
    %ln_f_8 = tsr.mul %centred_4, %ln_f_7 {tsr.name = "ln_f"} : (!tsr.tensor<[batch: 1, seq: 64, embed: 768], f32>, !tsr.tensor<[batch: 1, seq: 64], f32>) -> !tsr.tensor<[batch: 1, seq: 64, embed: 768], f32>
    %ln_f_9 = tsr.mul %ln_f_8, %arg18 {tsr.name = "ln_f"} : (!tsr.tensor<[batch: 1, seq: 64, embed: 768], f32>, !tsr.tensor<[embed: 768], f32>) -> !tsr.tensor<[batch: 1, seq: 64, embed: 768], f32>
    %ln_f_10 = tsr.add %ln_f_9, %arg19 {tsr.name = "ln_f