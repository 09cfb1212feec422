!batch = !tsr.tensor<[batch: 4], f32>
!batch_embed_key = !tsr.tensor<[batch: 4, embed: 64, key: 100], f32>
!batch_embed_key1 = !tsr.tensor<[batch: 1, embed: 64, key: 100], f32>
!batch_head_hd_key = !tsr.tensor<[batch: 4, head: 1, hd: 64, key: 100], f32>
!batch_head_hd_key1 = !tsr.tensor<[batch: 1, head: 1, hd: 64, key: 100], f32>
!batch_seq = !tsr.tensor<[batch: 4, seq: 100], f32>
!batch_seq1 = !tsr.tensor<[batch: 1, seq: 100], f32>
!batch_seq_embed = !tsr.tensor<[batch: 4, seq: 100, embed: 64], f32>
!batch_seq_embed1 = !tsr.tensor<[batch: 1, seq: 100, embed: 64], f32>
!batch_seq_embed_i1 = !tsr.tensor<[batch: 4, seq: 100, embed: 64], i1>
!batch_seq_ff = !tsr.tensor<[batch: 4, seq: 100, ff: 256], f32>
!batch_seq_ff1 = !tsr.tensor<[batch: 1, seq: 100, ff: 256], f32>
!batch_seq_head = !tsr.tensor<[batch: 4, seq: 100, head: 1], f32>
!batch_seq_head1 = !tsr.tensor<[batch: 1, seq: 100, head: 1], f32>
!batch_seq_head_hd = !tsr.tensor<[batch: 4, seq: 100, head: 1, hd: 64], f32>
!batch_seq_head_hd1 = !tsr.tensor<[batch: 1, seq: 100, head: 1, hd: 64], f32>
!batch_seq_head_i1 = !tsr.tensor<[batch: 4, seq: 100, head: 1], i1>
!batch_seq_head_i1_1 = !tsr.tensor<[batch: 1, seq: 100, head: 1], i1>
!batch_seq_head_key = !tsr.tensor<[batch: 4, seq: 100, head: 1, key: 100], f32>
!batch_seq_head_key1 = !tsr.tensor<[batch: 1, seq: 100, head: 1, key: 100], f32>
!batch_seq_head_key_i1 = !tsr.tensor<[batch: 4, seq: 100, head: 1, key: 100], i1>
!batch_seq_i32 = !tsr.tensor<[batch: 4, seq: 100], i32>
!batch_seq_i32_1 = !tsr.tensor<[batch: 1, seq: 100], i32>
!batch_seq_vocab = !tsr.tensor<[batch: 4, seq: 100, vocab: 50257], f32>
!batch_seq_vocab1 = !tsr.tensor<[batch: 1, seq: 100, vocab: 50257], f32>
!embed = !tsr.tensor<[embed: 64], f32>
!embed_ff = !tsr.tensor<[embed: 64, ff: 256], f32>
!f32 = !tsr.tensor<[], f32>
!ff = !tsr.tensor<[ff: 256], f32>
!head_hd = !tsr.tensor<[head: 1, hd: 64], f32>
!head_hd_embed = !tsr.tensor<[head: 1, hd: 64, embed: 64], f32>
!i1 = !tsr.tensor<[], i1>
!i32 = !tsr.tensor<[], i32>
!i64 = !tsr.tensor<[], i64>
!key_i32 = !tsr.tensor<[key: 100], i32>
!layer_embed = !tsr.tensor<[layer: 2, embed: 64], f32>
!layer_embed_ff = !tsr.tensor<[layer: 2, embed: 64, ff: 256], f32>
!layer_ff = !tsr.tensor<[layer: 2, ff: 256], f32>
!layer_head_hd = !tsr.tensor<[layer: 2, head: 1, hd: 64], f32>
!layer_head_hd_embed = !tsr.tensor<[layer: 2, head: 1, hd: 64, embed: 64], f32>
!place_embed = !tsr.tensor<[place: 128, embed: 64], f32>
!place_embed1 = !tsr.tensor<[place: 100, embed: 64], f32>
!seq_embed = !tsr.tensor<[seq: 100, embed: 64], f32>
!seq_i32 = !tsr.tensor<[seq: 100], i32>
!seq_key_i1 = !tsr.tensor<[seq: 100, key: 100], i1>
!vocab_embed = !tsr.tensor<[vocab: 50257, embed: 64], f32>
module attributes {tsr.axes = ["micro", "layer", "batch", "seq", "vocab", "place", "head", "hd", "embed", "ff", "key"], tsr.data =
    [{batch = ["batch", 4], fields = [], format = "tokens", name = "d", seq = ["seq", 100], shuffle = true, splits =
    {train = ["fineweb/train_*.bin"], val = ["fineweb/val_*.bin"]}, val_fraction = 0.000000e+00 : f64}], tsr.mesh = [#tsr.axis<data: 2>], tsr.model = "gpt2",
    tsr.phase = "parse", tsr.settings = {compute = {type = "bf16"}, evaluate = {batches = 2 : i64, every = 250 : i64, on = "val"}, save =
    {every = 1000 : i64, keep = 3 : i64}, stop = {after = 19073 : i64}}, tsr.shard = {batch = "data"}, tsr.target = "cuda", tsr.zero = 3 : i64} {
  tsr.state @wte "weight" !vocab_embed order [vocab, embed]
  tsr.state @wpe "weight" !place_embed order [place, embed]
  tsr.state @h.ln_1.g "gain" !layer_embed order [layer, embed]
  tsr.state @h.ln_1.b "bias" !layer_embed order [layer, embed]
  tsr.state @h.attn.wq "weight" !layer_head_hd_embed order [layer, embed, head, hd]
  tsr.state @h.attn.wk "weight" !layer_head_hd_embed order [layer, embed, head, hd]
  tsr.state @h.attn.wv "weight" !layer_head_hd_embed order [layer, embed, head, hd]
  tsr.state @h.attn.wo "weight" !layer_head_hd_embed order [layer, head, hd, embed]
  tsr.state @h.attn.bq "bias" !layer_head_hd order [layer, head, hd]
  tsr.state @h.attn.bk "bias" !layer_head_hd order [layer, head, hd]
  tsr.state @h.attn.bv "bias" !layer_head_hd order [layer, head, hd]
  tsr.state @h.attn.bo "bias" !layer_embed order [layer, embed]
  tsr.state @h.ln_2.g "gain" !layer_embed order [layer, embed]
  tsr.state @h.ln_2.b "bias" !layer_embed order [layer, embed]
  tsr.state @h.mlp.up "weight" !layer_embed_ff order [layer, embed, ff]
  tsr.state @h.mlp.down "weight" !layer_embed_ff order [layer, ff, embed]
  tsr.state @h.mlp.b_up "bias" !layer_ff order [layer, ff]
  tsr.state @h.mlp.b_down "bias" !layer_embed order [layer, embed]
  tsr.state @ln_f.g "gain" !embed order [embed]
  tsr.state @ln_f.b "bias" !embed order [embed]
  tsr.state @step "counter" !i32
  tsr.state @seed "counter" !i64
  func.func @init(%arg0: !i64 {tsr.input = {name = "seed", role = "seed"}})
      -> (!vocab_embed {tsr.state = @wte},
      !place_embed {tsr.state = @wpe},
      !layer_embed {tsr.state = @h.ln_1.g},
      !layer_embed {tsr.state = @h.ln_1.b},
      !layer_head_hd_embed {tsr.state = @h.attn.wq},
      !layer_head_hd_embed {tsr.state = @h.attn.wk},
      !layer_head_hd_embed {tsr.state = @h.attn.wv},
      !layer_head_hd_embed {tsr.state = @h.attn.wo},
      !layer_head_hd {tsr.state = @h.attn.bq},
      !layer_head_hd {tsr.state = @h.attn.bk},
      !layer_head_hd {tsr.state = @h.attn.bv},
      !layer_embed {tsr.state = @h.attn.bo},
      !layer_embed {tsr.state = @h.ln_2.g},
      !layer_embed {tsr.state = @h.ln_2.b},
      !layer_embed_ff {tsr.state = @h.mlp.up},
      !layer_embed_ff {tsr.state = @h.mlp.down},
      !layer_ff {tsr.state = @h.mlp.b_up},
      !layer_embed {tsr.state = @h.mlp.b_down},
      !embed {tsr.state = @ln_f.g},
      !embed {tsr.state = @ln_f.b},
      !i32 {tsr.state = @step},
      !i64 {tsr.state = @seed}) {
    %c0 = tsr.constant 0
    %wte = tsr.random normal site 78563897 seed %arg0 step %c0 canonical [vocab, embed] as "wte" : (!i64, !i32) -> !vocab_embed
    %c0.02 = tsr.constant 0.02
    %wte_0 = tsr.mul %wte, %c0.02 as "wte" : !vocab_embed, !f32
    %wpe = tsr.random normal site 616139253 seed %arg0 step %c0 canonical [place, embed] as "wpe" : (!i64, !i32) -> !place_embed
    %c0.01 = tsr.constant 0.01
    %wpe_1 = tsr.mul %wpe, %c0.01 as "wpe" : !place_embed, !f32
    %c1.0 = tsr.constant 1.0 -> !layer_embed
    %c0.0 = tsr.constant 0.0 -> !layer_embed
    %wq = tsr.random normal site 1547927394 seed %arg0 step %c0 canonical [layer, embed, head, hd] as "h.attn.wq" : (!i64, !i32) -> !layer_head_hd_embed
    %c0.02_2 = tsr.constant 0.02
    %wq_3 = tsr.mul %wq, %c0.02_2 as "h.attn.wq" : !layer_head_hd_embed, !f32
    %wk = tsr.random normal site 1380151204 seed %arg0 step %c0 canonical [layer, embed, head, hd] as "h.attn.wk" : (!i64, !i32) -> !layer_head_hd_embed
    %c0.02_4 = tsr.constant 0.02
    %wk_5 = tsr.mul %wk, %c0.02_4 as "h.attn.wk" : !layer_head_hd_embed, !f32
    %wv = tsr.random normal site 1464039299 seed %arg0 step %c0 canonical [layer, embed, head, hd] as "h.attn.wv" : (!i64, !i32) -> !layer_head_hd_embed
    %c0.02_6 = tsr.constant 0.02
    %wv_7 = tsr.mul %wv, %c0.02_6 as "h.attn.wv" : !layer_head_hd_embed, !f32
    %wo = tsr.random normal site 1313040728 seed %arg0 step %c0 canonical [layer, head, hd, embed] as "h.attn.wo" : (!i64, !i32) -> !layer_head_hd_embed
    %c0.01_8 = tsr.constant 0.01
    %wo_9 = tsr.mul %wo, %c0.01_8 as "h.attn.wo" : !layer_head_hd_embed, !f32
    %c0.0_10 = tsr.constant 0.0 -> !layer_head_hd
    %c0.0_11 = tsr.constant 0.0 -> !layer_head_hd
    %c0.0_12 = tsr.constant 0.0 -> !layer_head_hd
    %c0.0_13 = tsr.constant 0.0 -> !layer_embed
    %c1.0_14 = tsr.constant 1.0 -> !layer_embed
    %c0.0_15 = tsr.constant 0.0 -> !layer_embed
    %up = tsr.random normal site 484722861 seed %arg0 step %c0 canonical [layer, embed, ff] as "h.mlp.up" : (!i64, !i32) -> !layer_embed_ff
    %c0.02_16 = tsr.constant 0.02
    %up_17 = tsr.mul %up, %c0.02_16 as "h.mlp.up" : !layer_embed_ff, !f32
    %down = tsr.random normal site 387253196 seed %arg0 step %c0 canonical [layer, ff, embed] as "h.mlp.down" : (!i64, !i32) -> !layer_embed_ff
    %c0.01_18 = tsr.constant 0.01
    %down_19 = tsr.mul %down, %c0.01_18 as "h.mlp.down" : !layer_embed_ff, !f32
    %c0.0_20 = tsr.constant 0.0 -> !layer_ff
    %c0.0_21 = tsr.constant 0.0 -> !layer_embed
    %c1.0_22 = tsr.constant 1.0 -> !embed
    %c0.0_23 = tsr.constant 0.0 -> !embed
    return %wte_0, %wpe_1, %c1.0, %c0.0, %wq_3, %wk_5, %wv_7, %wo_9, %c0.0_10, %c0.0_11, %c0.0_12, %c0.0_13, %c1.0_14, %c0.0_15, %up_17, %down_19, %c0.0_20,
        %c0.0_21, %c1.0_22, %c0.0_23, %c0, %arg0 : !vocab_embed, !place_embed, !layer_embed, !layer_embed, !layer_head_hd_embed, !layer_head_hd_embed,
        !layer_head_hd_embed, !layer_head_hd_embed, !layer_head_hd, !layer_head_hd, !layer_head_hd, !layer_embed, !layer_embed, !layer_embed, !layer_embed_ff,
        !layer_embed_ff, !layer_ff, !layer_embed, !embed, !embed, !i32, !i64
  }
  func.func @step(%arg0: !vocab_embed {tsr.state = @wte},
      %arg1: !place_embed {tsr.state = @wpe},
      %arg2: !layer_embed {tsr.state = @h.ln_1.g},
      %arg3: !layer_embed {tsr.state = @h.ln_1.b},
      %arg4: !layer_head_hd_embed {tsr.state = @h.attn.wq},
      %arg5: !layer_head_hd_embed {tsr.state = @h.attn.wk},
      %arg6: !layer_head_hd_embed {tsr.state = @h.attn.wv},
      %arg7: !layer_head_hd_embed {tsr.state = @h.attn.wo},
      %arg8: !layer_head_hd {tsr.state = @h.attn.bq},
      %arg9: !layer_head_hd {tsr.state = @h.attn.bk},
      %arg10: !layer_head_hd {tsr.state = @h.attn.bv},
      %arg11: !layer_embed {tsr.state = @h.attn.bo},
      %arg12: !layer_embed {tsr.state = @h.ln_2.g},
      %arg13: !layer_embed {tsr.state = @h.ln_2.b},
      %arg14: !layer_embed_ff {tsr.state = @h.mlp.up},
      %arg15: !layer_embed_ff {tsr.state = @h.mlp.down},
      %arg16: !layer_ff {tsr.state = @h.mlp.b_up},
      %arg17: !layer_embed {tsr.state = @h.mlp.b_down},
      %arg18: !embed {tsr.state = @ln_f.g},
      %arg19: !embed {tsr.state = @ln_f.b},
      %arg20: !i32 {tsr.state = @step},
      %arg21: !i64 {tsr.state = @seed},
      %arg22: !batch_seq_i32 {tsr.input = {data = "d", field = "tokens", name = "d.tokens", of = 50257 : i64, order = ["batch", "seq"], role = "data"}},
      %arg23: !batch_seq_i32 {tsr.input = {data = "d", field = "next", name = "d.next", of = 50257 : i64, order = ["batch", "seq"], role = "data"}})
      -> (!vocab_embed {tsr.state = @wte},
      !place_embed {tsr.state = @wpe},
      !layer_embed {tsr.state = @h.ln_1.g},
      !layer_embed {tsr.state = @h.ln_1.b},
      !layer_head_hd_embed {tsr.state = @h.attn.wq},
      !layer_head_hd_embed {tsr.state = @h.attn.wk},
      !layer_head_hd_embed {tsr.state = @h.attn.wv},
      !layer_head_hd_embed {tsr.state = @h.attn.wo},
      !layer_head_hd {tsr.state = @h.attn.bq},
      !layer_head_hd {tsr.state = @h.attn.bk},
      !layer_head_hd {tsr.state = @h.attn.bv},
      !layer_embed {tsr.state = @h.attn.bo},
      !layer_embed {tsr.state = @h.ln_2.g},
      !layer_embed {tsr.state = @h.ln_2.b},
      !layer_embed_ff {tsr.state = @h.mlp.up},
      !layer_embed_ff {tsr.state = @h.mlp.down},
      !layer_ff {tsr.state = @h.mlp.b_up},
      !layer_embed {tsr.state = @h.mlp.b_down},
      !embed {tsr.state = @ln_f.g},
      !embed {tsr.state = @ln_f.b},
      !i32 {tsr.state = @step},
      !f32 {tsr.output = {name = "ce", role = "loss"}},
      !f32 {tsr.output = {name = "total", role = "total"}},
      !f32 {tsr.output = {name = "rate", role = "rate"}},
      !f32 {tsr.output = {name = "grad_norm", role = "grad_norm"}},
      !i32 {tsr.output = {name = "finite", role = "finite"}}) {
    %e = tsr.gather %arg0[[vocab] = %arg22] as "e" : (!vocab_embed, !batch_seq_i32) -> !batch_seq_embed
    %0 = tsr.index : !seq_i32
    %e_0 = tsr.slice %arg1 place from 0 as "e" : !place_embed -> !place_embed1
    %e_1 = tsr.rename %e_0 [place] to [seq] as "e" : !place_embed1 -> !seq_embed
    %e_2 = tsr.add %e, %e_1 as "e" : !batch_seq_embed, !seq_embed
    %dropout = tsr.random uniform site 622065915 seed %arg21 step %arg20 as "dropout" : (!i64, !i32) -> !batch_seq_embed
    %c0.1 = tsr.constant 0.1
    %dropout_3 = tsr.compare lt %dropout, %c0.1 as "dropout" : !batch_seq_embed, !f32
    %c0.9 = tsr.constant 0.9
    %dropout_4 = tsr.div %e_2, %c0.9 as "dropout" : !batch_seq_embed, !f32
    %c0.0 = tsr.constant 0.0
    %dropout_5 = tsr.select %dropout_3, %c0.0, %dropout_4 as "dropout" : !batch_seq_embed_i1, !f32, !batch_seq_embed
    %y = tsr.repeat [layer: 2] index %arg24 carry (%arg25 = %dropout_5 : !batch_seq_embed) slice
        (%arg26 = %arg2 : !layer_embed, %arg27 = %arg3 : !layer_embed, %arg28 = %arg4 : !layer_head_hd_embed, %arg29 = %arg5 : !layer_head_hd_embed, %arg30 =
        %arg6 : !layer_head_hd_embed, %arg31 = %arg7 : !layer_head_hd_embed, %arg32 = %arg8 : !layer_head_hd, %arg33 = %arg9 : !layer_head_hd, %arg34 = %arg10 :
        !layer_head_hd, %arg35 = %arg11 : !layer_embed, %arg36 = %arg12 : !layer_embed, %arg37 = %arg13 : !layer_embed, %arg38 = %arg14 : !layer_embed_ff,
        %arg39 = %arg15 : !layer_embed_ff, %arg40 = %arg16 : !layer_ff, %arg41 = %arg17 : !layer_embed) invariant
        (%arg42 = %arg21 : !i64, %arg43 = %arg20 : !i32) -> !batch_seq_embed as "y" {
      %centred_141 = tsr.reduce sum %arg25 over [embed] as "h.ln_1.centred" : !batch_seq_embed
      %c0.015625_142 = tsr.constant 0.015625
      %centred_143 = tsr.mul %centred_141, %c0.015625_142 as "h.ln_1.centred" : !batch_seq, !f32
      %centred_144 = tsr.sub %arg25, %centred_143 as "h.ln_1.centred" : !batch_seq_embed, !batch_seq
      %variance_145 = tsr.mul %centred_144, %centred_144 as "h.ln_1.variance" : !batch_seq_embed
      %variance_146 = tsr.reduce sum %variance_145 over [embed] as "h.ln_1.variance" : !batch_seq_embed
      %c0.015625_147 = tsr.constant 0.015625
      %variance_148 = tsr.mul %variance_146, %c0.015625_147 as "h.ln_1.variance" : !batch_seq, !f32
      %c1.0e-05_149 = tsr.constant 1.0e-05
      %ln_1 = tsr.add %variance_148, %c1.0e-05_149 as "h.ln_1" : !batch_seq, !f32
      %ln_1_150 = tsr.rsqrt %ln_1 as "h.ln_1" : !batch_seq
      %ln_1_151 = tsr.mul %centred_144, %ln_1_150 as "h.ln_1" : !batch_seq_embed, !batch_seq
      %ln_1_152 = tsr.mul %ln_1_151, %arg26 as "h.ln_1" : !batch_seq_embed, !embed
      %ln_1_153 = tsr.add %ln_1_152, %arg27 as "h.ln_1" : !batch_seq_embed, !embed
      %past = tsr.rename %ln_1_153 [seq] to [key] as "h.attn.past" : !batch_seq_embed -> !batch_embed_key
      %q = tsr.contract %ln_1_153, %arg28 over [embed] as "h.attn.q" : (!batch_seq_embed, !head_hd_embed) -> !batch_seq_head_hd
      %q_154 = tsr.add %q, %arg32 as "h.attn.q" : !batch_seq_head_hd, !head_hd
      %k = tsr.contract %past, %arg29 over [embed] as "h.attn.k" : (!batch_embed_key, !head_hd_embed) -> !batch_head_hd_key
      %k_155 = tsr.add %k, %arg33 as "h.attn.k" : !batch_head_hd_key, !head_hd
      %v = tsr.contract %past, %arg30 over [embed] as "h.attn.v" : (!batch_embed_key, !head_hd_embed) -> !batch_head_hd_key
      %v_156 = tsr.add %v, %arg34 as "h.attn.v" : !batch_head_hd_key, !head_hd
      %score = tsr.contract %q_154, %k_155 over [hd] as "h.attn.score" : (!batch_seq_head_hd, !batch_head_hd_key) -> !batch_seq_head_key
      %c8.0 = tsr.constant 8.0
      %score_157 = tsr.div %score, %c8.0 as "h.attn.score" : !batch_seq_head_key, !f32
      %7 = tsr.index : !key_i32
      %8 = tsr.index : !seq_i32
      %p = tsr.compare le %7, %8 as "h.attn.p" : !key_i32, !seq_i32 -> !seq_key_i1
      %c-inf = tsr.constant 0xFF800000 : f32
      %p_158 = tsr.select %p, %score_157, %c-inf as "h.attn.p" : !seq_key_i1, !batch_seq_head_key, !f32
      %top_159 = tsr.reduce max %p_158 over [key] as "h.attn.softmax.top" : !batch_seq_head_key
      %c-inf_160 = tsr.constant 0xFF800000 : f32
      %e_161 = tsr.compare eq %top_159, %c-inf_160 as "h.attn.softmax.e" : !batch_seq_head, !f32
      %c0.0_162 = tsr.constant 0.0
      %e_163 = tsr.select %e_161, %c0.0_162, %top_159 as "h.attn.softmax.e" : !batch_seq_head_i1, !f32, !batch_seq_head
      %e_164 = tsr.sub %p_158, %e_163 as "h.attn.softmax.e" : !batch_seq_head_key, !batch_seq_head
      %e_165 = tsr.exp %e_164 as "h.attn.softmax.e" : !batch_seq_head_key
      %total_166 = tsr.reduce sum %e_165 over [key] as "h.attn.softmax.total" : !batch_seq_head_key
      %c0.0_167 = tsr.constant 0.0
      %softmax = tsr.compare eq %total_166, %c0.0_167 as "h.attn.softmax" : !batch_seq_head, !f32
      %c1.0_168 = tsr.constant 1.0
      %softmax_169 = tsr.select %softmax, %c1.0_168, %total_166 as "h.attn.softmax" : !batch_seq_head_i1, !f32, !batch_seq_head
      %softmax_170 = tsr.div %e_165, %softmax_169 as "h.attn.softmax" : !batch_seq_head_key, !batch_seq_head
      %dropout_171 = tsr.random uniform site 910870146 seed %arg42 step %arg43 salts %arg24 as "h.attn.dropout" : (!i64, !i32, !i32) -> !batch_seq_head_key
      %c0.1_172 = tsr.constant 0.1
      %dropout_173 = tsr.compare lt %dropout_171, %c0.1_172 as "h.attn.dropout" : !batch_seq_head_key, !f32
      %c0.9_174 = tsr.constant 0.9
      %dropout_175 = tsr.div %softmax_170, %c0.9_174 as "h.attn.dropout" : !batch_seq_head_key, !f32
      %c0.0_176 = tsr.constant 0.0
      %dropout_177 = tsr.select %dropout_173, %c0.0_176, %dropout_175 as "h.attn.dropout" : !batch_seq_head_key_i1, !f32, !batch_seq_head_key
      %attn = tsr.contract %dropout_177, %v_156 over [key] as "h.attn" : (!batch_seq_head_key, !batch_head_hd_key) -> !batch_seq_head_hd
      %attn_178 = tsr.contract %attn, %arg31 over [head, hd] as "h.attn" : (!batch_seq_head_hd, !head_hd_embed) -> !batch_seq_embed
      %attn_179 = tsr.add %attn_178, %arg35 as "h.attn" : !batch_seq_embed, !embed
      %dropout_180 = tsr.random uniform site 1523105229 seed %arg42 step %arg43 salts %arg24 as "h.dropout" : (!i64, !i32, !i32) -> !batch_seq_embed
      %c0.1_181 = tsr.constant 0.1
      %dropout_182 = tsr.compare lt %dropout_180, %c0.1_181 as "h.dropout" : !batch_seq_embed, !f32
      %c0.9_183 = tsr.constant 0.9
      %dropout_184 = tsr.div %attn_179, %c0.9_183 as "h.dropout" : !batch_seq_embed, !f32
      %c0.0_185 = tsr.constant 0.0
      %dropout_186 = tsr.select %dropout_182, %c0.0_185, %dropout_184 as "h.dropout" : !batch_seq_embed_i1, !f32, !batch_seq_embed
      %a = tsr.add %arg25, %dropout_186 as "h.a" : !batch_seq_embed
      %centred_187 = tsr.reduce sum %a over [embed] as "h.ln_2.centred" : !batch_seq_embed
      %c0.015625_188 = tsr.constant 0.015625
      %centred_189 = tsr.mul %centred_187, %c0.015625_188 as "h.ln_2.centred" : !batch_seq, !f32
      %centred_190 = tsr.sub %a, %centred_189 as "h.ln_2.centred" : !batch_seq_embed, !batch_seq
      %variance_191 = tsr.mul %centred_190, %centred_190 as "h.ln_2.variance" : !batch_seq_embed
      %variance_192 = tsr.reduce sum %variance_191 over [embed] as "h.ln_2.variance" : !batch_seq_embed
      %c0.015625_193 = tsr.constant 0.015625
      %variance_194 = tsr.mul %variance_192, %c0.015625_193 as "h.ln_2.variance" : !batch_seq, !f32
      %c1.0e-05_195 = tsr.constant 1.0e-05
      %ln_2 = tsr.add %variance_194, %c1.0e-05_195 as "h.ln_2" : !batch_seq, !f32
      %ln_2_196 = tsr.rsqrt %ln_2 as "h.ln_2" : !batch_seq
      %ln_2_197 = tsr.mul %centred_190, %ln_2_196 as "h.ln_2" : !batch_seq_embed, !batch_seq
      %ln_2_198 = tsr.mul %ln_2_197, %arg36 as "h.ln_2" : !batch_seq_embed, !embed
      %ln_2_199 = tsr.add %ln_2_198, %arg37 as "h.ln_2" : !batch_seq_embed, !embed
      %mlp = tsr.contract %ln_2_199, %arg38 over [embed] as "h.mlp" : (!batch_seq_embed, !embed_ff) -> !batch_seq_ff
      %mlp_200 = tsr.add %mlp, %arg40 as "h.mlp" : !batch_seq_ff, !ff
      %c0.5 = tsr.constant 0.5
      %gelu_tanh = tsr.mul %c0.5, %mlp_200 as "h.mlp.gelu_tanh" : !f32, !batch_seq_ff
      %gelu_tanh_201 = tsr.mul %mlp_200, %mlp_200 as "h.mlp.gelu_tanh" : !batch_seq_ff
      %gelu_tanh_202 = tsr.mul %gelu_tanh_201, %mlp_200 as "h.mlp.gelu_tanh" : !batch_seq_ff
      %c0.044715 = tsr.constant 0.044715
      %gelu_tanh_203 = tsr.mul %c0.044715, %gelu_tanh_202 as "h.mlp.gelu_tanh" : !f32, !batch_seq_ff
      %gelu_tanh_204 = tsr.add %mlp_200, %gelu_tanh_203 as "h.mlp.gelu_tanh" : !batch_seq_ff
      %c0.7978846 = tsr.constant 0.7978846
      %gelu_tanh_205 = tsr.mul %c0.7978846, %gelu_tanh_204 as "h.mlp.gelu_tanh" : !f32, !batch_seq_ff
      %gelu_tanh_206 = tsr.tanh %gelu_tanh_205 as "h.mlp.gelu_tanh" : !batch_seq_ff
      %c1.0_207 = tsr.constant 1.0
      %gelu_tanh_208 = tsr.add %c1.0_207, %gelu_tanh_206 as "h.mlp.gelu_tanh" : !f32, !batch_seq_ff
      %gelu_tanh_209 = tsr.mul %gelu_tanh, %gelu_tanh_208 as "h.mlp.gelu_tanh" : !batch_seq_ff
      %mlp_210 = tsr.contract %gelu_tanh_209, %arg39 over [ff] as "h.mlp" : (!batch_seq_ff, !embed_ff) -> !batch_seq_embed
      %mlp_211 = tsr.add %mlp_210, %arg41 as "h.mlp" : !batch_seq_embed, !embed
      %dropout_212 = tsr.random uniform site 1506327610 seed %arg42 step %arg43 salts %arg24 as "h.dropout" : (!i64, !i32, !i32) -> !batch_seq_embed
      %c0.1_213 = tsr.constant 0.1
      %dropout_214 = tsr.compare lt %dropout_212, %c0.1_213 as "h.dropout" : !batch_seq_embed, !f32
      %c0.9_215 = tsr.constant 0.9
      %dropout_216 = tsr.div %mlp_211, %c0.9_215 as "h.dropout" : !batch_seq_embed, !f32
      %c0.0_217 = tsr.constant 0.0
      %dropout_218 = tsr.select %dropout_214, %c0.0_217, %dropout_216 as "h.dropout" : !batch_seq_embed_i1, !f32, !batch_seq_embed
      %h = tsr.add %a, %dropout_218 as "h" : !batch_seq_embed
      tsr.yield %h : !batch_seq_embed
    }
    %centred = tsr.reduce sum %y over [embed] as "ln_f.centred" : !batch_seq_embed
    %c0.015625 = tsr.constant 0.015625
    %centred_6 = tsr.mul %centred, %c0.015625 as "ln_f.centred" : !batch_seq, !f32
    %centred_7 = tsr.sub %y, %centred_6 as "ln_f.centred" : !batch_seq_embed, !batch_seq
    %variance = tsr.mul %centred_7, %centred_7 as "ln_f.variance" : !batch_seq_embed
    %variance_8 = tsr.reduce sum %variance over [embed] as "ln_f.variance" : !batch_seq_embed
    %c0.015625_9 = tsr.constant 0.015625
    %variance_10 = tsr.mul %variance_8, %c0.015625_9 as "ln_f.variance" : !batch_seq, !f32
    %c1.0e-05 = tsr.constant 1.0e-05
    %ln_f = tsr.add %variance_10, %c1.0e-05 as "ln_f" : !batch_seq, !f32
    %ln_f_11 = tsr.rsqrt %ln_f as "ln_f" : !batch_seq
    %ln_f_12 = tsr.mul %centred_7, %ln_f_11 as "ln_f" : !batch_seq_embed, !batch_seq
    %ln_f_13 = tsr.mul %ln_f_12, %arg18 as "ln_f" : !batch_seq_embed, !embed
    %ln_f_14 = tsr.add %ln_f_13, %arg19 as "ln_f" : !batch_seq_embed, !embed
    %1 = tsr.contract %ln_f_14, %arg0 over [embed] : (!batch_seq_embed, !vocab_embed) -> !batch_seq_vocab
    %top = tsr.reduce max %1 over [vocab] as "cross_entropy.top" : !batch_seq_vocab
    %total = tsr.sub %1, %top as "cross_entropy.total" : !batch_seq_vocab, !batch_seq
    %total_15 = tsr.exp %total as "cross_entropy.total" : !batch_seq_vocab
    %total_16 = tsr.reduce sum %total_15 over [vocab] as "cross_entropy.total" : !batch_seq_vocab
    %cross_entropy = tsr.log %total_16 as "cross_entropy" : !batch_seq
    %cross_entropy_17 = tsr.add %cross_entropy, %top as "cross_entropy" : !batch_seq
    %cross_entropy_18 = tsr.gather %1[[vocab] = %arg23] as "cross_entropy" : (!batch_seq_vocab, !batch_seq_i32) -> !batch_seq
    %cross_entropy_19 = tsr.sub %cross_entropy_17, %cross_entropy_18 as "cross_entropy" : !batch_seq
    %ce = tsr.reduce sum %cross_entropy_19 over [batch, seq] as "ce" : !batch_seq
    %c0.0025 = tsr.constant 0.0025
    %ce_20 = tsr.mul %ce, %c0.0025 as "ce" : !f32
    %c1 = tsr.constant 1
    %rising = tsr.add %arg20, %c1 as "warmup_cosine.rising" : !i32
    %rising_21 = tsr.cast %rising as "warmup_cosine.rising" : !i32 to !f32
    %c7.0e2B02 = tsr.constant 7.0e+02
    %rising_22 = tsr.div %rising_21, %c7.0e2B02 as "warmup_cosine.rising" : !f32
    %c-700 = tsr.constant -700
    %along = tsr.add %arg20, %c-700 as "warmup_cosine.along" : !i32
    %along_23 = tsr.cast %along as "warmup_cosine.along" : !i32 to !f32
    %c18373.0 = tsr.constant 18373.0
    %along_24 = tsr.div %along_23, %c18373.0 as "warmup_cosine.along" : !f32
    %c0.0_25 = tsr.constant 0.0
    %along_26 = tsr.max %along_24, %c0.0_25 as "warmup_cosine.along" : !f32
    %c1.0 = tsr.constant 1.0
    %along_27 = tsr.min %along_26, %c1.0 as "warmup_cosine.along" : !f32
    %c3.1415927 = tsr.constant 3.1415927
    %falling = tsr.mul %c3.1415927, %along_27 as "warmup_cosine.falling" : !f32
    %falling_28 = tsr.cos %falling as "warmup_cosine.falling" : !f32
    %c1.0_29 = tsr.constant 1.0
    %falling_30 = tsr.add %c1.0_29, %falling_28 as "warmup_cosine.falling" : !f32
    %c0.45 = tsr.constant 0.45
    %falling_31 = tsr.mul %c0.45, %falling_30 as "warmup_cosine.falling" : !f32
    %c0.1_32 = tsr.constant 0.1
    %falling_33 = tsr.add %c0.1_32, %falling_31 as "warmup_cosine.falling" : !f32
    %c700 = tsr.constant 700
    %warmup_cosine = tsr.compare lt %arg20, %c700 as "warmup_cosine" : !i32
    %warmup_cosine_34 = tsr.select %warmup_cosine, %rising_22, %falling_33 as "warmup_cosine" : !i1, !f32
    %c0.02 = tsr.constant 0.02
    %warmup_cosine_35 = tsr.mul %c0.02, %warmup_cosine_34 as "warmup_cosine" : !f32
    %2:20 = tsr.gradient %ce_20 wrt(%arg0, %arg1, %arg2, %arg3, %arg4, %arg5, %arg6, %arg7, %arg8, %arg9, %arg10, %arg11, %arg12, %arg13, %arg14, %arg15,
        %arg16, %arg17, %arg18, %arg19) : (!f32, !vocab_embed, !place_embed, !layer_embed, !layer_embed, !layer_head_hd_embed, !layer_head_hd_embed,
        !layer_head_hd_embed, !layer_head_hd_embed, !layer_head_hd, !layer_head_hd, !layer_head_hd, !layer_embed, !layer_embed, !layer_embed, !layer_embed_ff,
        !layer_embed_ff, !layer_ff, !layer_embed, !embed, !embed) -> (!vocab_embed, !place_embed, !layer_embed, !layer_embed, !layer_head_hd_embed,
        !layer_head_hd_embed, !layer_head_hd_embed, !layer_head_hd_embed, !layer_head_hd, !layer_head_hd, !layer_head_hd, !layer_embed, !layer_embed,
        !layer_embed, !layer_embed_ff, !layer_embed_ff, !layer_ff, !layer_embed, !embed, !embed)
    %c1.0_36 = tsr.constant 1.0
    %clip, %clip_37, %clip_38, %clip_39, %clip_40, %clip_41, %clip_42, %clip_43, %clip_44, %clip_45, %clip_46, %clip_47, %clip_48, %clip_49, %clip_50, %clip_51,
        %clip_52, %clip_53, %clip_54, %clip_55, %clip_56 = tsr.clip(%2#0, %2#1, %2#2, %2#3, %2#4, %2#5, %2#6, %2#7, %2#8, %2#9, %2#10, %2#11, %2#12, %2#13,
        %2#14, %2#15, %2#16, %2#17, %2#18, %2#19) limit %c1.0_36 as "clip" : (!vocab_embed, !place_embed, !layer_embed, !layer_embed, !layer_head_hd_embed,
        !layer_head_hd_embed, !layer_head_hd_embed, !layer_head_hd_embed, !layer_head_hd, !layer_head_hd, !layer_head_hd, !layer_embed, !layer_embed,
        !layer_embed, !layer_embed_ff, !layer_embed_ff, !layer_ff, !layer_embed, !embed, !embed, !f32) ->
        (!vocab_embed, !place_embed, !layer_embed, !layer_embed, !layer_head_hd_embed, !layer_head_hd_embed, !layer_head_hd_embed, !layer_head_hd_embed,
        !layer_head_hd, !layer_head_hd, !layer_head_hd, !layer_embed, !layer_embed, !layer_embed, !layer_embed_ff, !layer_embed_ff, !layer_ff, !layer_embed,
        !embed, !embed, !f32)
    %c0.9_57 = tsr.constant 0.9
    %c0.95 = tsr.constant 0.95
    %c1.0e-08 = tsr.constant 1.0e-08
    %c0.1_58 = tsr.constant 0.1
    %wte = tsr.update "adamw" @wte %arg0 gradient %clip step %arg20 norm %clip_56 arguments
        [rate, beta1, beta2, epsilon, decay](%warmup_cosine_35, %c0.9_57, %c0.95, %c1.0e-08, %c0.1_58) as "wte" :
        (!vocab_embed, !vocab_embed, !i32, !f32, !f32, !f32, !f32, !f32, !f32) -> !vocab_embed
    %c0.9_59 = tsr.constant 0.9
    %c0.95_60 = tsr.constant 0.95
    %c1.0e-08_61 = tsr.constant 1.0e-08
    %c0.1_62 = tsr.constant 0.1
    %wpe = tsr.update "adamw" @wpe %arg1 gradient %clip_37 step %arg20 norm %clip_56 arguments
        [rate, beta1, beta2, epsilon, decay](%warmup_cosine_35, %c0.9_59, %c0.95_60, %c1.0e-08_61, %c0.1_62) as "wpe" :
        (!place_embed, !place_embed, !i32, !f32, !f32, !f32, !f32, !f32, !f32) -> !place_embed
    %c0.9_63 = tsr.constant 0.9
    %c0.95_64 = tsr.constant 0.95
    %c1.0e-08_65 = tsr.constant 1.0e-08
    %c0.0_66 = tsr.constant 0.0
    %g = tsr.update "adamw" @h.ln_1.g %arg2 gradient %clip_38 step %arg20 norm %clip_56 arguments
        [rate, beta1, beta2, epsilon, decay](%warmup_cosine_35, %c0.9_63, %c0.95_64, %c1.0e-08_65, %c0.0_66) as "h.ln_1.g" :
        (!layer_embed, !layer_embed, !i32, !f32, !f32, !f32, !f32, !f32, !f32) -> !layer_embed
    %c0.9_67 = tsr.constant 0.9
    %c0.95_68 = tsr.constant 0.95
    %c1.0e-08_69 = tsr.constant 1.0e-08
    %c0.0_70 = tsr.constant 0.0
    %b = tsr.update "adamw" @h.ln_1.b %arg3 gradient %clip_39 step %arg20 norm %clip_56 arguments
        [rate, beta1, beta2, epsilon, decay](%warmup_cosine_35, %c0.9_67, %c0.95_68, %c1.0e-08_69, %c0.0_70) as "h.ln_1.b" :
        (!layer_embed, !layer_embed, !i32, !f32, !f32, !f32, !f32, !f32, !f32) -> !layer_embed
    %c0.9_71 = tsr.constant 0.9
    %c0.95_72 = tsr.constant 0.95
    %c1.0e-08_73 = tsr.constant 1.0e-08
    %c0.1_74 = tsr.constant 0.1
    %wq = tsr.update "adamw" @h.attn.wq %arg4 gradient %clip_40 step %arg20 norm %clip_56 arguments
        [rate, beta1, beta2, epsilon, decay](%warmup_cosine_35, %c0.9_71, %c0.95_72, %c1.0e-08_73, %c0.1_74) as "h.attn.wq" :
        (!layer_head_hd_embed, !layer_head_hd_embed, !i32, !f32, !f32, !f32, !f32, !f32, !f32) -> !layer_head_hd_embed
    %c0.9_75 = tsr.constant 0.9
    %c0.95_76 = tsr.constant 0.95
    %c1.0e-08_77 = tsr.constant 1.0e-08
    %c0.1_78 = tsr.constant 0.1
    %wk = tsr.update "adamw" @h.attn.wk %arg5 gradient %clip_41 step %arg20 norm %clip_56 arguments
        [rate, beta1, beta2, epsilon, decay](%warmup_cosine_35, %c0.9_75, %c0.95_76, %c1.0e-08_77, %c0.1_78) as "h.attn.wk" :
        (!layer_head_hd_embed, !layer_head_hd_embed, !i32, !f32, !f32, !f32, !f32, !f32, !f32) -> !layer_head_hd_embed
    %c0.9_79 = tsr.constant 0.9
    %c0.95_80 = tsr.constant 0.95
    %c1.0e-08_81 = tsr.constant 1.0e-08
    %c0.1_82 = tsr.constant 0.1
    %wv = tsr.update "adamw" @h.attn.wv %arg6 gradient %clip_42 step %arg20 norm %clip_56 arguments
        [rate, beta1, beta2, epsilon, decay](%warmup_cosine_35, %c0.9_79, %c0.95_80, %c1.0e-08_81, %c0.1_82) as "h.attn.wv" :
        (!layer_head_hd_embed, !layer_head_hd_embed, !i32, !f32, !f32, !f32, !f32, !f32, !f32) -> !layer_head_hd_embed
    %c0.9_83 = tsr.constant 0.9
    %c0.95_84 = tsr.constant 0.95
    %c1.0e-08_85 = tsr.constant 1.0e-08
    %c0.1_86 = tsr.constant 0.1
    %wo = tsr.update "adamw" @h.attn.wo %arg7 gradient %clip_43 step %arg20 norm %clip_56 arguments
        [rate, beta1, beta2, epsilon, decay](%warmup_cosine_35, %c0.9_83, %c0.95_84, %c1.0e-08_85, %c0.1_86) as "h.attn.wo" :
        (!layer_head_hd_embed, !layer_head_hd_embed, !i32, !f32, !f32, !f32, !f32, !f32, !f32) -> !layer_head_hd_embed
    %c0.9_87 = tsr.constant 0.9
    %c0.95_88 = tsr.constant 0.95
    %c1.0e-08_89 = tsr.constant 1.0e-08
    %c0.0_90 = tsr.constant 0.0
    %bq = tsr.update "adamw" @h.attn.bq %arg8 gradient %clip_44 step %arg20 norm %clip_56 arguments
        [rate, beta1, beta2, epsilon, decay](%warmup_cosine_35, %c0.9_87, %c0.95_88, %c1.0e-08_89, %c0.0_90) as "h.attn.bq" :
        (!layer_head_hd, !layer_head_hd, !i32, !f32, !f32, !f32, !f32, !f32, !f32) -> !layer_head_hd
    %c0.9_91 = tsr.constant 0.9
    %c0.95_92 = tsr.constant 0.95
    %c1.0e-08_93 = tsr.constant 1.0e-08
    %c0.0_94 = tsr.constant 0.0
    %bk = tsr.update "adamw" @h.attn.bk %arg9 gradient %clip_45 step %arg20 norm %clip_56 arguments
        [rate, beta1, beta2, epsilon, decay](%warmup_cosine_35, %c0.9_91, %c0.95_92, %c1.0e-08_93, %c0.0_94) as "h.attn.bk" :
        (!layer_head_hd, !layer_head_hd, !i32, !f32, !f32, !f32, !f32, !f32, !f32) -> !layer_head_hd
    %c0.9_95 = tsr.constant 0.9
    %c0.95_96 = tsr.constant 0.95
    %c1.0e-08_97 = tsr.constant 1.0e-08
    %c0.0_98 = tsr.constant 0.0
    %bv = tsr.update "adamw" @h.attn.bv %arg10 gradient %clip_46 step %arg20 norm %clip_56 arguments
        [rate, beta1, beta2, epsilon, decay](%warmup_cosine_35, %c0.9_95, %c0.95_96, %c1.0e-08_97, %c0.0_98) as "h.attn.bv" :
        (!layer_head_hd, !layer_head_hd, !i32, !f32, !f32, !f32, !f32, !f32, !f32) -> !layer_head_hd
    %c0.9_99 = tsr.constant 0.9
    %c0.95_100 = tsr.constant 0.95
    %c1.0e-08_101 = tsr.constant 1.0e-08
    %c0.0_102 = tsr.constant 0.0
    %bo = tsr.update "adamw" @h.attn.bo %arg11 gradient %clip_47 step %arg20 norm %clip_56 arguments
        [rate, beta1, beta2, epsilon, decay](%warmup_cosine_35, %c0.9_99, %c0.95_100, %c1.0e-08_101, %c0.0_102) as "h.attn.bo" :
        (!layer_embed, !layer_embed, !i32, !f32, !f32, !f32, !f32, !f32, !f32) -> !layer_embed
    %c0.9_103 = tsr.constant 0.9
    %c0.95_104 = tsr.constant 0.95
    %c1.0e-08_105 = tsr.constant 1.0e-08
    %c0.0_106 = tsr.constant 0.0
    %g_107 = tsr.update "adamw" @h.ln_2.g %arg12 gradient %clip_48 step %arg20 norm %clip_56 arguments
        [rate, beta1, beta2, epsilon, decay](%warmup_cosine_35, %c0.9_103, %c0.95_104, %c1.0e-08_105, %c0.0_106) as "h.ln_2.g" :
        (!layer_embed, !layer_embed, !i32, !f32, !f32, !f32, !f32, !f32, !f32) -> !layer_embed
    %c0.9_108 = tsr.constant 0.9
    %c0.95_109 = tsr.constant 0.95
    %c1.0e-08_110 = tsr.constant 1.0e-08
    %c0.0_111 = tsr.constant 0.0
    %b_112 = tsr.update "adamw" @h.ln_2.b %arg13 gradient %clip_49 step %arg20 norm %clip_56 arguments
        [rate, beta1, beta2, epsilon, decay](%warmup_cosine_35, %c0.9_108, %c0.95_109, %c1.0e-08_110, %c0.0_111) as "h.ln_2.b" :
        (!layer_embed, !layer_embed, !i32, !f32, !f32, !f32, !f32, !f32, !f32) -> !layer_embed
    %c0.9_113 = tsr.constant 0.9
    %c0.95_114 = tsr.constant 0.95
    %c1.0e-08_115 = tsr.constant 1.0e-08
    %c0.1_116 = tsr.constant 0.1
    %up = tsr.update "adamw" @h.mlp.up %arg14 gradient %clip_50 step %arg20 norm %clip_56 arguments
        [rate, beta1, beta2, epsilon, decay](%warmup_cosine_35, %c0.9_113, %c0.95_114, %c1.0e-08_115, %c0.1_116) as "h.mlp.up" :
        (!layer_embed_ff, !layer_embed_ff, !i32, !f32, !f32, !f32, !f32, !f32, !f32) -> !layer_embed_ff
    %c0.9_117 = tsr.constant 0.9
    %c0.95_118 = tsr.constant 0.95
    %c1.0e-08_119 = tsr.constant 1.0e-08
    %c0.1_120 = tsr.constant 0.1
    %down = tsr.update "adamw" @h.mlp.down %arg15 gradient %clip_51 step %arg20 norm %clip_56 arguments
        [rate, beta1, beta2, epsilon, decay](%warmup_cosine_35, %c0.9_117, %c0.95_118, %c1.0e-08_119, %c0.1_120) as "h.mlp.down" :
        (!layer_embed_ff, !layer_embed_ff, !i32, !f32, !f32, !f32, !f32, !f32, !f32) -> !layer_embed_ff
    %c0.9_121 = tsr.constant 0.9
    %c0.95_122 = tsr.constant 0.95
    %c1.0e-08_123 = tsr.constant 1.0e-08
    %c0.0_124 = tsr.constant 0.0
    %b_up = tsr.update "adamw" @h.mlp.b_up %arg16 gradient %clip_52 step %arg20 norm %clip_56 arguments
        [rate, beta1, beta2, epsilon, decay](%warmup_cosine_35, %c0.9_121, %c0.95_122, %c1.0e-08_123, %c0.0_124) as "h.mlp.b_up" :
        (!layer_ff, !layer_ff, !i32, !f32, !f32, !f32, !f32, !f32, !f32) -> !layer_ff
    %c0.9_125 = tsr.constant 0.9
    %c0.95_126 = tsr.constant 0.95
    %c1.0e-08_127 = tsr.constant 1.0e-08
    %c0.0_128 = tsr.constant 0.0
    %b_down = tsr.update "adamw" @h.mlp.b_down %arg17 gradient %clip_53 step %arg20 norm %clip_56 arguments
        [rate, beta1, beta2, epsilon, decay](%warmup_cosine_35, %c0.9_125, %c0.95_126, %c1.0e-08_127, %c0.0_128) as "h.mlp.b_down" :
        (!layer_embed, !layer_embed, !i32, !f32, !f32, !f32, !f32, !f32, !f32) -> !layer_embed
    %c0.9_129 = tsr.constant 0.9
    %c0.95_130 = tsr.constant 0.95
    %c1.0e-08_131 = tsr.constant 1.0e-08
    %c0.0_132 = tsr.constant 0.0
    %g_133 = tsr.update "adamw" @ln_f.g %arg18 gradient %clip_54 step %arg20 norm %clip_56 arguments
        [rate, beta1, beta2, epsilon, decay](%warmup_cosine_35, %c0.9_129, %c0.95_130, %c1.0e-08_131, %c0.0_132) as "ln_f.g" :
        (!embed, !embed, !i32, !f32, !f32, !f32, !f32, !f32, !f32) -> !embed
    %c0.9_134 = tsr.constant 0.9
    %c0.95_135 = tsr.constant 0.95
    %c1.0e-08_136 = tsr.constant 1.0e-08
    %c0.0_137 = tsr.constant 0.0
    %b_138 = tsr.update "adamw" @ln_f.b %arg19 gradient %clip_55 step %arg20 norm %clip_56 arguments
        [rate, beta1, beta2, epsilon, decay](%warmup_cosine_35, %c0.9_134, %c0.95_135, %c1.0e-08_136, %c0.0_137) as "ln_f.b" :
        (!embed, !embed, !i32, !f32, !f32, !f32, !f32, !f32, !f32) -> !embed
    %c1_139 = tsr.constant 1
    %3 = tsr.add %arg20, %c1_139 : !i32
    %c0.0_140 = tsr.constant 0.0
    %4 = tsr.sub %clip_56, %clip_56 : !f32
    %5 = tsr.compare eq %4, %c0.0_140 : !f32
    %6 = tsr.cast %5 : !i1 to !i32
    return %wte, %wpe, %g, %b, %wq, %wk, %wv, %wo, %bq, %bk, %bv, %bo, %g_107, %b_112, %up, %down, %b_up, %b_down, %g_133, %b_138, %3, %ce_20, %ce_20,
        %warmup_cosine_35, %clip_56, %6 : !vocab_embed, !place_embed, !layer_embed, !layer_embed, !layer_head_hd_embed, !layer_head_hd_embed,
        !layer_head_hd_embed, !layer_head_hd_embed, !layer_head_hd, !layer_head_hd, !layer_head_hd, !layer_embed, !layer_embed, !layer_embed, !layer_embed_ff,
        !layer_embed_ff, !layer_ff, !layer_embed, !embed, !embed, !i32, !f32, !f32, !f32, !f32, !i32
  }
  func.func @evaluate(%arg0: !vocab_embed {tsr.state = @wte},
      %arg1: !place_embed {tsr.state = @wpe},
      %arg2: !layer_embed {tsr.state = @h.ln_1.g},
      %arg3: !layer_embed {tsr.state = @h.ln_1.b},
      %arg4: !layer_head_hd_embed {tsr.state = @h.attn.wq},
      %arg5: !layer_head_hd_embed {tsr.state = @h.attn.wk},
      %arg6: !layer_head_hd_embed {tsr.state = @h.attn.wv},
      %arg7: !layer_head_hd_embed {tsr.state = @h.attn.wo},
      %arg8: !layer_head_hd {tsr.state = @h.attn.bq},
      %arg9: !layer_head_hd {tsr.state = @h.attn.bk},
      %arg10: !layer_head_hd {tsr.state = @h.attn.bv},
      %arg11: !layer_embed {tsr.state = @h.attn.bo},
      %arg12: !layer_embed {tsr.state = @h.ln_2.g},
      %arg13: !layer_embed {tsr.state = @h.ln_2.b},
      %arg14: !layer_embed_ff {tsr.state = @h.mlp.up},
      %arg15: !layer_embed_ff {tsr.state = @h.mlp.down},
      %arg16: !layer_ff {tsr.state = @h.mlp.b_up},
      %arg17: !layer_embed {tsr.state = @h.mlp.b_down},
      %arg18: !embed {tsr.state = @ln_f.g},
      %arg19: !embed {tsr.state = @ln_f.b},
      %arg20: !batch {tsr.input = {name = "weight", role = "weight"}},
      %arg21: !batch_seq_i32 {tsr.input = {data = "d", field = "tokens", name = "d.tokens", of = 50257 : i64, order = ["batch", "seq"], role = "data"}},
      %arg22: !batch_seq_i32 {tsr.input = {data = "d", field = "next", name = "d.next", of = 50257 : i64, order = ["batch", "seq"], role = "data"}})
      -> (!f32 {tsr.output = {name = "ce", role = "loss"}},
      !f32 {tsr.output = {name = "ce", role = "count"}}) {
    %e = tsr.gather %arg0[[vocab] = %arg21] as "e" : (!vocab_embed, !batch_seq_i32) -> !batch_seq_embed
    %0 = tsr.index : !seq_i32
    %e_0 = tsr.slice %arg1 place from 0 as "e" : !place_embed -> !place_embed1
    %e_1 = tsr.rename %e_0 [place] to [seq] as "e" : !place_embed1 -> !seq_embed
    %e_2 = tsr.add %e, %e_1 as "e" : !batch_seq_embed, !seq_embed
    %y = tsr.repeat [layer: 2] index %arg23 carry (%arg24 = %e_2 : !batch_seq_embed) slice
        (%arg25 = %arg2 : !layer_embed, %arg26 = %arg3 : !layer_embed, %arg27 = %arg4 : !layer_head_hd_embed, %arg28 = %arg5 : !layer_head_hd_embed, %arg29 =
        %arg6 : !layer_head_hd_embed, %arg30 = %arg7 : !layer_head_hd_embed, %arg31 = %arg8 : !layer_head_hd, %arg32 = %arg9 : !layer_head_hd, %arg33 = %arg10 :
        !layer_head_hd, %arg34 = %arg11 : !layer_embed, %arg35 = %arg12 : !layer_embed, %arg36 = %arg13 : !layer_embed, %arg37 = %arg14 : !layer_embed_ff,
        %arg38 = %arg15 : !layer_embed_ff, %arg39 = %arg16 : !layer_ff, %arg40 = %arg17 : !layer_embed) -> !batch_seq_embed as "y" {
      %centred_23 = tsr.reduce sum %arg24 over [embed] as "h.ln_1.centred" : !batch_seq_embed
      %c0.015625_24 = tsr.constant 0.015625
      %centred_25 = tsr.mul %centred_23, %c0.015625_24 as "h.ln_1.centred" : !batch_seq, !f32
      %centred_26 = tsr.sub %arg24, %centred_25 as "h.ln_1.centred" : !batch_seq_embed, !batch_seq
      %variance_27 = tsr.mul %centred_26, %centred_26 as "h.ln_1.variance" : !batch_seq_embed
      %variance_28 = tsr.reduce sum %variance_27 over [embed] as "h.ln_1.variance" : !batch_seq_embed
      %c0.015625_29 = tsr.constant 0.015625
      %variance_30 = tsr.mul %variance_28, %c0.015625_29 as "h.ln_1.variance" : !batch_seq, !f32
      %c1.0e-05_31 = tsr.constant 1.0e-05
      %ln_1 = tsr.add %variance_30, %c1.0e-05_31 as "h.ln_1" : !batch_seq, !f32
      %ln_1_32 = tsr.rsqrt %ln_1 as "h.ln_1" : !batch_seq
      %ln_1_33 = tsr.mul %centred_26, %ln_1_32 as "h.ln_1" : !batch_seq_embed, !batch_seq
      %ln_1_34 = tsr.mul %ln_1_33, %arg25 as "h.ln_1" : !batch_seq_embed, !embed
      %ln_1_35 = tsr.add %ln_1_34, %arg26 as "h.ln_1" : !batch_seq_embed, !embed
      %past = tsr.rename %ln_1_35 [seq] to [key] as "h.attn.past" : !batch_seq_embed -> !batch_embed_key
      %q = tsr.contract %ln_1_35, %arg27 over [embed] as "h.attn.q" : (!batch_seq_embed, !head_hd_embed) -> !batch_seq_head_hd
      %q_36 = tsr.add %q, %arg31 as "h.attn.q" : !batch_seq_head_hd, !head_hd
      %k = tsr.contract %past, %arg28 over [embed] as "h.attn.k" : (!batch_embed_key, !head_hd_embed) -> !batch_head_hd_key
      %k_37 = tsr.add %k, %arg32 as "h.attn.k" : !batch_head_hd_key, !head_hd
      %v = tsr.contract %past, %arg29 over [embed] as "h.attn.v" : (!batch_embed_key, !head_hd_embed) -> !batch_head_hd_key
      %v_38 = tsr.add %v, %arg33 as "h.attn.v" : !batch_head_hd_key, !head_hd
      %score = tsr.contract %q_36, %k_37 over [hd] as "h.attn.score" : (!batch_seq_head_hd, !batch_head_hd_key) -> !batch_seq_head_key
      %c8.0 = tsr.constant 8.0
      %score_39 = tsr.div %score, %c8.0 as "h.attn.score" : !batch_seq_head_key, !f32
      %3 = tsr.index : !key_i32
      %4 = tsr.index : !seq_i32
      %p = tsr.compare le %3, %4 as "h.attn.p" : !key_i32, !seq_i32 -> !seq_key_i1
      %c-inf = tsr.constant 0xFF800000 : f32
      %p_40 = tsr.select %p, %score_39, %c-inf as "h.attn.p" : !seq_key_i1, !batch_seq_head_key, !f32
      %top_41 = tsr.reduce max %p_40 over [key] as "h.attn.softmax.top" : !batch_seq_head_key
      %c-inf_42 = tsr.constant 0xFF800000 : f32
      %e_43 = tsr.compare eq %top_41, %c-inf_42 as "h.attn.softmax.e" : !batch_seq_head, !f32
      %c0.0_44 = tsr.constant 0.0
      %e_45 = tsr.select %e_43, %c0.0_44, %top_41 as "h.attn.softmax.e" : !batch_seq_head_i1, !f32, !batch_seq_head
      %e_46 = tsr.sub %p_40, %e_45 as "h.attn.softmax.e" : !batch_seq_head_key, !batch_seq_head
      %e_47 = tsr.exp %e_46 as "h.attn.softmax.e" : !batch_seq_head_key
      %total_48 = tsr.reduce sum %e_47 over [key] as "h.attn.softmax.total" : !batch_seq_head_key
      %c0.0_49 = tsr.constant 0.0
      %softmax = tsr.compare eq %total_48, %c0.0_49 as "h.attn.softmax" : !batch_seq_head, !f32
      %c1.0_50 = tsr.constant 1.0
      %softmax_51 = tsr.select %softmax, %c1.0_50, %total_48 as "h.attn.softmax" : !batch_seq_head_i1, !f32, !batch_seq_head
      %softmax_52 = tsr.div %e_47, %softmax_51 as "h.attn.softmax" : !batch_seq_head_key, !batch_seq_head
      %attn = tsr.contract %softmax_52, %v_38 over [key] as "h.attn" : (!batch_seq_head_key, !batch_head_hd_key) -> !batch_seq_head_hd
      %attn_53 = tsr.contract %attn, %arg30 over [head, hd] as "h.attn" : (!batch_seq_head_hd, !head_hd_embed) -> !batch_seq_embed
      %attn_54 = tsr.add %attn_53, %arg34 as "h.attn" : !batch_seq_embed, !embed
      %a = tsr.add %arg24, %attn_54 as "h.a" : !batch_seq_embed
      %centred_55 = tsr.reduce sum %a over [embed] as "h.ln_2.centred" : !batch_seq_embed
      %c0.015625_56 = tsr.constant 0.015625
      %centred_57 = tsr.mul %centred_55, %c0.015625_56 as "h.ln_2.centred" : !batch_seq, !f32
      %centred_58 = tsr.sub %a, %centred_57 as "h.ln_2.centred" : !batch_seq_embed, !batch_seq
      %variance_59 = tsr.mul %centred_58, %centred_58 as "h.ln_2.variance" : !batch_seq_embed
      %variance_60 = tsr.reduce sum %variance_59 over [embed] as "h.ln_2.variance" : !batch_seq_embed
      %c0.015625_61 = tsr.constant 0.015625
      %variance_62 = tsr.mul %variance_60, %c0.015625_61 as "h.ln_2.variance" : !batch_seq, !f32
      %c1.0e-05_63 = tsr.constant 1.0e-05
      %ln_2 = tsr.add %variance_62, %c1.0e-05_63 as "h.ln_2" : !batch_seq, !f32
      %ln_2_64 = tsr.rsqrt %ln_2 as "h.ln_2" : !batch_seq
      %ln_2_65 = tsr.mul %centred_58, %ln_2_64 as "h.ln_2" : !batch_seq_embed, !batch_seq
      %ln_2_66 = tsr.mul %ln_2_65, %arg35 as "h.ln_2" : !batch_seq_embed, !embed
      %ln_2_67 = tsr.add %ln_2_66, %arg36 as "h.ln_2" : !batch_seq_embed, !embed
      %mlp = tsr.contract %ln_2_67, %arg37 over [embed] as "h.mlp" : (!batch_seq_embed, !embed_ff) -> !batch_seq_ff
      %mlp_68 = tsr.add %mlp, %arg39 as "h.mlp" : !batch_seq_ff, !ff
      %c0.5 = tsr.constant 0.5
      %gelu_tanh = tsr.mul %c0.5, %mlp_68 as "h.mlp.gelu_tanh" : !f32, !batch_seq_ff
      %gelu_tanh_69 = tsr.mul %mlp_68, %mlp_68 as "h.mlp.gelu_tanh" : !batch_seq_ff
      %gelu_tanh_70 = tsr.mul %gelu_tanh_69, %mlp_68 as "h.mlp.gelu_tanh" : !batch_seq_ff
      %c0.044715 = tsr.constant 0.044715
      %gelu_tanh_71 = tsr.mul %c0.044715, %gelu_tanh_70 as "h.mlp.gelu_tanh" : !f32, !batch_seq_ff
      %gelu_tanh_72 = tsr.add %mlp_68, %gelu_tanh_71 as "h.mlp.gelu_tanh" : !batch_seq_ff
      %c0.7978846 = tsr.constant 0.7978846
      %gelu_tanh_73 = tsr.mul %c0.7978846, %gelu_tanh_72 as "h.mlp.gelu_tanh" : !f32, !batch_seq_ff
      %gelu_tanh_74 = tsr.tanh %gelu_tanh_73 as "h.mlp.gelu_tanh" : !batch_seq_ff
      %c1.0_75 = tsr.constant 1.0
      %gelu_tanh_76 = tsr.add %c1.0_75, %gelu_tanh_74 as "h.mlp.gelu_tanh" : !f32, !batch_seq_ff
      %gelu_tanh_77 = tsr.mul %gelu_tanh, %gelu_tanh_76 as "h.mlp.gelu_tanh" : !batch_seq_ff
      %mlp_78 = tsr.contract %gelu_tanh_77, %arg38 over [ff] as "h.mlp" : (!batch_seq_ff, !embed_ff) -> !batch_seq_embed
      %mlp_79 = tsr.add %mlp_78, %arg40 as "h.mlp" : !batch_seq_embed, !embed
      %h = tsr.add %a, %mlp_79 as "h" : !batch_seq_embed
      tsr.yield %h : !batch_seq_embed
    }
    %centred = tsr.reduce sum %y over [embed] as "ln_f.centred" : !batch_seq_embed
    %c0.015625 = tsr.constant 0.015625
    %centred_3 = tsr.mul %centred, %c0.015625 as "ln_f.centred" : !batch_seq, !f32
    %centred_4 = tsr.sub %y, %centred_3 as "ln_f.centred" : !batch_seq_embed, !batch_seq
    %variance = tsr.mul %centred_4, %centred_4 as "ln_f.variance" : !batch_seq_embed
    %variance_5 = tsr.reduce sum %variance over [embed] as "ln_f.variance" : !batch_seq_embed
    %c0.015625_6 = tsr.constant 0.015625
    %variance_7 = tsr.mul %variance_5, %c0.015625_6 as "ln_f.variance" : !batch_seq, !f32
    %c1.0e-05 = tsr.constant 1.0e-05
    %ln_f = tsr.add %variance_7, %c1.0e-05 as "ln_f" : !batch_seq, !f32
    %ln_f_8 = tsr.rsqrt %ln_f as "ln_f" : !batch_seq
    %ln_f_9 = tsr.mul %centred_4, %ln_f_8 as "ln_f" : !batch_seq_embed, !batch_seq
    %ln_f_10 = tsr.mul %ln_f_9, %arg18 as "ln_f" : !batch_seq_embed, !embed
    %ln_f_11 = tsr.add %ln_f_10, %arg19 as "ln_f" : !batch_seq_embed, !embed
    %1 = tsr.contract %ln_f_11, %arg0 over [embed] : (!batch_seq_embed, !vocab_embed) -> !batch_seq_vocab
    %top = tsr.reduce max %1 over [vocab] as "cross_entropy.top" : !batch_seq_vocab
    %total = tsr.sub %1, %top as "cross_entropy.total" : !batch_seq_vocab, !batch_seq
    %total_12 = tsr.exp %total as "cross_entropy.total" : !batch_seq_vocab
    %total_13 = tsr.reduce sum %total_12 over [vocab] as "cross_entropy.total" : !batch_seq_vocab
    %cross_entropy = tsr.log %total_13 as "cross_entropy" : !batch_seq
    %cross_entropy_14 = tsr.add %cross_entropy, %top as "cross_entropy" : !batch_seq
    %cross_entropy_15 = tsr.gather %1[[vocab] = %arg22] as "cross_entropy" : (!batch_seq_vocab, !batch_seq_i32) -> !batch_seq
    %cross_entropy_16 = tsr.sub %cross_entropy_14, %cross_entropy_15 as "cross_entropy" : !batch_seq
    %ce = tsr.reduce sum %arg20 over [batch] as "ce" : !batch
    %c1.0e2B02 = tsr.constant 1.0e+02
    %ce_17 = tsr.mul %ce, %c1.0e2B02 as "ce" : !f32
    %ce_18 = tsr.mul %cross_entropy_16, %arg20 as "ce" : !batch_seq, !batch
    %ce_19 = tsr.reduce sum %ce_18 over [batch, seq] as "ce" : !batch_seq
    %c0.0 = tsr.constant 0.0
    %ce_20 = tsr.compare eq %ce_17, %c0.0 as "ce" : !f32
    %c1.0 = tsr.constant 1.0
    %ce_21 = tsr.select %ce_20, %c1.0, %ce_17 as "ce" : !i1, !f32
    %ce_22 = tsr.div %ce_19, %ce_21 as "ce" : !f32
    %2 = tsr.reduce sum %arg20 over [batch] : !batch
    return %ce_22, %ce_17 : !f32, !f32
  }
  func.func @predict(%arg0: !vocab_embed {tsr.state = @wte},
      %arg1: !place_embed {tsr.state = @wpe},
      %arg2: !layer_embed {tsr.state = @h.ln_1.g},
      %arg3: !layer_embed {tsr.state = @h.ln_1.b},
      %arg4: !layer_head_hd_embed {tsr.state = @h.attn.wq},
      %arg5: !layer_head_hd_embed {tsr.state = @h.attn.wk},
      %arg6: !layer_head_hd_embed {tsr.state = @h.attn.wv},
      %arg7: !layer_head_hd_embed {tsr.state = @h.attn.wo},
      %arg8: !layer_head_hd {tsr.state = @h.attn.bq},
      %arg9: !layer_head_hd {tsr.state = @h.attn.bk},
      %arg10: !layer_head_hd {tsr.state = @h.attn.bv},
      %arg11: !layer_embed {tsr.state = @h.attn.bo},
      %arg12: !layer_embed {tsr.state = @h.ln_2.g},
      %arg13: !layer_embed {tsr.state = @h.ln_2.b},
      %arg14: !layer_embed_ff {tsr.state = @h.mlp.up},
      %arg15: !layer_embed_ff {tsr.state = @h.mlp.down},
      %arg16: !layer_ff {tsr.state = @h.mlp.b_up},
      %arg17: !layer_embed {tsr.state = @h.mlp.b_down},
      %arg18: !embed {tsr.state = @ln_f.g},
      %arg19: !embed {tsr.state = @ln_f.b},
      %arg20: !batch_seq_i32 {tsr.input = {data = "d", field = "tokens", name = "d.tokens", of = 50257 : i64, order = ["batch", "seq"], role = "data"}})
      -> (!batch_seq_vocab {tsr.output = {name = "gpt2", order = ["batch", "seq", "vocab"], reads = ["d.tokens"], role = "result"}}) {
    %e = tsr.gather %arg0[[vocab] = %arg20] as "e" : (!vocab_embed, !batch_seq_i32) -> !batch_seq_embed
    %e_0 = tsr.slice %arg1 place from 0 as "e" : !place_embed -> !place_embed1
    %e_1 = tsr.rename %e_0 [place] to [seq] as "e" : !place_embed1 -> !seq_embed
    %e_2 = tsr.add %e, %e_1 as "e" : !batch_seq_embed, !seq_embed
    %y = tsr.repeat [layer: 2] index %arg21 carry (%arg22 = %e_2 : !batch_seq_embed) slice
        (%arg23 = %arg2 : !layer_embed, %arg24 = %arg3 : !layer_embed, %arg25 = %arg4 : !layer_head_hd_embed, %arg26 = %arg5 : !layer_head_hd_embed, %arg27 =
        %arg6 : !layer_head_hd_embed, %arg28 = %arg7 : !layer_head_hd_embed, %arg29 = %arg8 : !layer_head_hd, %arg30 = %arg9 : !layer_head_hd, %arg31 = %arg10 :
        !layer_head_hd, %arg32 = %arg11 : !layer_embed, %arg33 = %arg12 : !layer_embed, %arg34 = %arg13 : !layer_embed, %arg35 = %arg14 : !layer_embed_ff,
        %arg36 = %arg15 : !layer_embed_ff, %arg37 = %arg16 : !layer_ff, %arg38 = %arg17 : !layer_embed) -> !batch_seq_embed as "y" {
      %centred_12 = tsr.reduce sum %arg22 over [embed] as "h.ln_1.centred" : !batch_seq_embed
      %c0.015625_13 = tsr.constant 0.015625
      %centred_14 = tsr.mul %centred_12, %c0.015625_13 as "h.ln_1.centred" : !batch_seq, !f32
      %centred_15 = tsr.sub %arg22, %centred_14 as "h.ln_1.centred" : !batch_seq_embed, !batch_seq
      %variance_16 = tsr.mul %centred_15, %centred_15 as "h.ln_1.variance" : !batch_seq_embed
      %variance_17 = tsr.reduce sum %variance_16 over [embed] as "h.ln_1.variance" : !batch_seq_embed
      %c0.015625_18 = tsr.constant 0.015625
      %variance_19 = tsr.mul %variance_17, %c0.015625_18 as "h.ln_1.variance" : !batch_seq, !f32
      %c1.0e-05_20 = tsr.constant 1.0e-05
      %ln_1 = tsr.add %variance_19, %c1.0e-05_20 as "h.ln_1" : !batch_seq, !f32
      %ln_1_21 = tsr.rsqrt %ln_1 as "h.ln_1" : !batch_seq
      %ln_1_22 = tsr.mul %centred_15, %ln_1_21 as "h.ln_1" : !batch_seq_embed, !batch_seq
      %ln_1_23 = tsr.mul %ln_1_22, %arg23 as "h.ln_1" : !batch_seq_embed, !embed
      %ln_1_24 = tsr.add %ln_1_23, %arg24 as "h.ln_1" : !batch_seq_embed, !embed
      %past = tsr.rename %ln_1_24 [seq] to [key] as "h.attn.past" : !batch_seq_embed -> !batch_embed_key
      %q = tsr.contract %ln_1_24, %arg25 over [embed] as "h.attn.q" : (!batch_seq_embed, !head_hd_embed) -> !batch_seq_head_hd
      %q_25 = tsr.add %q, %arg29 as "h.attn.q" : !batch_seq_head_hd, !head_hd
      %k = tsr.contract %past, %arg26 over [embed] as "h.attn.k" : (!batch_embed_key, !head_hd_embed) -> !batch_head_hd_key
      %k_26 = tsr.add %k, %arg30 as "h.attn.k" : !batch_head_hd_key, !head_hd
      %v = tsr.contract %past, %arg27 over [embed] as "h.attn.v" : (!batch_embed_key, !head_hd_embed) -> !batch_head_hd_key
      %v_27 = tsr.add %v, %arg31 as "h.attn.v" : !batch_head_hd_key, !head_hd
      %score = tsr.contract %q_25, %k_26 over [hd] as "h.attn.score" : (!batch_seq_head_hd, !batch_head_hd_key) -> !batch_seq_head_key
      %c8.0 = tsr.constant 8.0
      %score_28 = tsr.div %score, %c8.0 as "h.attn.score" : !batch_seq_head_key, !f32
      %1 = tsr.index : !key_i32
      %2 = tsr.index : !seq_i32
      %p = tsr.compare le %1, %2 as "h.attn.p" : !key_i32, !seq_i32 -> !seq_key_i1
      %c-inf = tsr.constant 0xFF800000 : f32
      %p_29 = tsr.select %p, %score_28, %c-inf as "h.attn.p" : !seq_key_i1, !batch_seq_head_key, !f32
      %top = tsr.reduce max %p_29 over [key] as "h.attn.softmax.top" : !batch_seq_head_key
      %c-inf_30 = tsr.constant 0xFF800000 : f32
      %e_31 = tsr.compare eq %top, %c-inf_30 as "h.attn.softmax.e" : !batch_seq_head, !f32
      %c0.0 = tsr.constant 0.0
      %e_32 = tsr.select %e_31, %c0.0, %top as "h.attn.softmax.e" : !batch_seq_head_i1, !f32, !batch_seq_head
      %e_33 = tsr.sub %p_29, %e_32 as "h.attn.softmax.e" : !batch_seq_head_key, !batch_seq_head
      %e_34 = tsr.exp %e_33 as "h.attn.softmax.e" : !batch_seq_head_key
      %total = tsr.reduce sum %e_34 over [key] as "h.attn.softmax.total" : !batch_seq_head_key
      %c0.0_35 = tsr.constant 0.0
      %softmax = tsr.compare eq %total, %c0.0_35 as "h.attn.softmax" : !batch_seq_head, !f32
      %c1.0 = tsr.constant 1.0
      %softmax_36 = tsr.select %softmax, %c1.0, %total as "h.attn.softmax" : !batch_seq_head_i1, !f32, !batch_seq_head
      %softmax_37 = tsr.div %e_34, %softmax_36 as "h.attn.softmax" : !batch_seq_head_key, !batch_seq_head
      %attn = tsr.contract %softmax_37, %v_27 over [key] as "h.attn" : (!batch_seq_head_key, !batch_head_hd_key) -> !batch_seq_head_hd
      %attn_38 = tsr.contract %attn, %arg28 over [head, hd] as "h.attn" : (!batch_seq_head_hd, !head_hd_embed) -> !batch_seq_embed
      %attn_39 = tsr.add %attn_38, %arg32 as "h.attn" : !batch_seq_embed, !embed
      %a = tsr.add %arg22, %attn_39 as "h.a" : !batch_seq_embed
      %centred_40 = tsr.reduce sum %a over [embed] as "h.ln_2.centred" : !batch_seq_embed
      %c0.015625_41 = tsr.constant 0.015625
      %centred_42 = tsr.mul %centred_40, %c0.015625_41 as "h.ln_2.centred" : !batch_seq, !f32
      %centred_43 = tsr.sub %a, %centred_42 as "h.ln_2.centred" : !batch_seq_embed, !batch_seq
      %variance_44 = tsr.mul %centred_43, %centred_43 as "h.ln_2.variance" : !batch_seq_embed
      %variance_45 = tsr.reduce sum %variance_44 over [embed] as "h.ln_2.variance" : !batch_seq_embed
      %c0.015625_46 = tsr.constant 0.015625
      %variance_47 = tsr.mul %variance_45, %c0.015625_46 as "h.ln_2.variance" : !batch_seq, !f32
      %c1.0e-05_48 = tsr.constant 1.0e-05
      %ln_2 = tsr.add %variance_47, %c1.0e-05_48 as "h.ln_2" : !batch_seq, !f32
      %ln_2_49 = tsr.rsqrt %ln_2 as "h.ln_2" : !batch_seq
      %ln_2_50 = tsr.mul %centred_43, %ln_2_49 as "h.ln_2" : !batch_seq_embed, !batch_seq
      %ln_2_51 = tsr.mul %ln_2_50, %arg33 as "h.ln_2" : !batch_seq_embed, !embed
      %ln_2_52 = tsr.add %ln_2_51, %arg34 as "h.ln_2" : !batch_seq_embed, !embed
      %mlp = tsr.contract %ln_2_52, %arg35 over [embed] as "h.mlp" : (!batch_seq_embed, !embed_ff) -> !batch_seq_ff
      %mlp_53 = tsr.add %mlp, %arg37 as "h.mlp" : !batch_seq_ff, !ff
      %c0.5 = tsr.constant 0.5
      %gelu_tanh = tsr.mul %c0.5, %mlp_53 as "h.mlp.gelu_tanh" : !f32, !batch_seq_ff
      %gelu_tanh_54 = tsr.mul %mlp_53, %mlp_53 as "h.mlp.gelu_tanh" : !batch_seq_ff
      %gelu_tanh_55 = tsr.mul %gelu_tanh_54, %mlp_53 as "h.mlp.gelu_tanh" : !batch_seq_ff
      %c0.044715 = tsr.constant 0.044715
      %gelu_tanh_56 = tsr.mul %c0.044715, %gelu_tanh_55 as "h.mlp.gelu_tanh" : !f32, !batch_seq_ff
      %gelu_tanh_57 = tsr.add %mlp_53, %gelu_tanh_56 as "h.mlp.gelu_tanh" : !batch_seq_ff
      %c0.7978846 = tsr.constant 0.7978846
      %gelu_tanh_58 = tsr.mul %c0.7978846, %gelu_tanh_57 as "h.mlp.gelu_tanh" : !f32, !batch_seq_ff
      %gelu_tanh_59 = tsr.tanh %gelu_tanh_58 as "h.mlp.gelu_tanh" : !batch_seq_ff
      %c1.0_60 = tsr.constant 1.0
      %gelu_tanh_61 = tsr.add %c1.0_60, %gelu_tanh_59 as "h.mlp.gelu_tanh" : !f32, !batch_seq_ff
      %gelu_tanh_62 = tsr.mul %gelu_tanh, %gelu_tanh_61 as "h.mlp.gelu_tanh" : !batch_seq_ff
      %mlp_63 = tsr.contract %gelu_tanh_62, %arg36 over [ff] as "h.mlp" : (!batch_seq_ff, !embed_ff) -> !batch_seq_embed
      %mlp_64 = tsr.add %mlp_63, %arg38 as "h.mlp" : !batch_seq_embed, !embed
      %h = tsr.add %a, %mlp_64 as "h" : !batch_seq_embed
      tsr.yield %h : !batch_seq_embed
    }
    %centred = tsr.reduce sum %y over [embed] as "ln_f.centred" : !batch_seq_embed
    %c0.015625 = tsr.constant 0.015625
    %centred_3 = tsr.mul %centred, %c0.015625 as "ln_f.centred" : !batch_seq, !f32
    %centred_4 = tsr.sub %y, %centred_3 as "ln_f.centred" : !batch_seq_embed, !batch_seq
    %variance = tsr.mul %centred_4, %centred_4 as "ln_f.variance" : !batch_seq_embed
    %variance_5 = tsr.reduce sum %variance over [embed] as "ln_f.variance" : !batch_seq_embed
    %c0.015625_6 = tsr.constant 0.015625
    %variance_7 = tsr.mul %variance_5, %c0.015625_6 as "ln_f.variance" : !batch_seq, !f32
    %c1.0e-05 = tsr.constant 1.0e-05
    %ln_f = tsr.add %variance_7, %c1.0e-05 as "ln_f" : !batch_seq, !f32
    %ln_f_8 = tsr.rsqrt %ln_f as "ln_f" : !batch_seq
    %ln_f_9 = tsr.mul %centred_4, %ln_f_8 as "ln_f" : !batch_seq_embed, !batch_seq
    %ln_f_10 = tsr.mul %ln_f_9, %arg18 as "ln_f" : !batch_seq_embed, !embed
    %ln_f_11 = tsr.add %ln_f_10, %arg19 as "ln_f" : !batch_seq_embed, !embed
    %0 = tsr.contract %ln_f_11, %arg0 over [embed] : (!batch_seq_embed, !vocab_embed) -> !batch_seq_vocab
    return %0 : !batch_seq_vocab
  }
  func.func @generate(%arg0: !vocab_embed {tsr.state = @wte},
      %arg1: !place_embed {tsr.state = @wpe},
      %arg2: !layer_embed {tsr.state = @h.ln_1.g},
      %arg3: !layer_embed {tsr.state = @h.ln_1.b},
      %arg4: !layer_head_hd_embed {tsr.state = @h.attn.wq},
      %arg5: !layer_head_hd_embed {tsr.state = @h.attn.wk},
      %arg6: !layer_head_hd_embed {tsr.state = @h.attn.wv},
      %arg7: !layer_head_hd_embed {tsr.state = @h.attn.wo},
      %arg8: !layer_head_hd {tsr.state = @h.attn.bq},
      %arg9: !layer_head_hd {tsr.state = @h.attn.bk},
      %arg10: !layer_head_hd {tsr.state = @h.attn.bv},
      %arg11: !layer_embed {tsr.state = @h.attn.bo},
      %arg12: !layer_embed {tsr.state = @h.ln_2.g},
      %arg13: !layer_embed {tsr.state = @h.ln_2.b},
      %arg14: !layer_embed_ff {tsr.state = @h.mlp.up},
      %arg15: !layer_embed_ff {tsr.state = @h.mlp.down},
      %arg16: !layer_ff {tsr.state = @h.mlp.b_up},
      %arg17: !layer_embed {tsr.state = @h.mlp.b_down},
      %arg18: !embed {tsr.state = @ln_f.g},
      %arg19: !embed {tsr.state = @ln_f.b},
      %arg20: !batch_seq_i32_1 {tsr.input = {name = "tokens", of = 50257 : i64, order = ["batch", "seq"], role = "argument"}})
      -> (!batch_seq_vocab1 {tsr.output = {name = "result", order = ["batch", "seq", "vocab"], role = "result"}}) {
    %e = tsr.gather %arg0[[vocab] = %arg20] as "e" : (!vocab_embed, !batch_seq_i32_1) -> !batch_seq_embed1
    %0 = tsr.index : !seq_i32
    %e_0 = tsr.slice %arg1 place from 0 as "e" : !place_embed -> !place_embed1
    %e_1 = tsr.rename %e_0 [place] to [seq] as "e" : !place_embed1 -> !seq_embed
    %e_2 = tsr.add %e, %e_1 as "e" : !batch_seq_embed1, !seq_embed
    %y = tsr.repeat [layer: 2] index %arg21 carry (%arg22 = %e_2 : !batch_seq_embed1) slice
        (%arg23 = %arg2 : !layer_embed, %arg24 = %arg3 : !layer_embed, %arg25 = %arg4 : !layer_head_hd_embed, %arg26 = %arg5 : !layer_head_hd_embed, %arg27 =
        %arg6 : !layer_head_hd_embed, %arg28 = %arg7 : !layer_head_hd_embed, %arg29 = %arg8 : !layer_head_hd, %arg30 = %arg9 : !layer_head_hd, %arg31 = %arg10 :
        !layer_head_hd, %arg32 = %arg11 : !layer_embed, %arg33 = %arg12 : !layer_embed, %arg34 = %arg13 : !layer_embed, %arg35 = %arg14 : !layer_embed_ff,
        %arg36 = %arg15 : !layer_embed_ff, %arg37 = %arg16 : !layer_ff, %arg38 = %arg17 : !layer_embed) -> !batch_seq_embed1 as "y" {
      %centred_12 = tsr.reduce sum %arg22 over [embed] as "h.ln_1.centred" : !batch_seq_embed1
      %c0.015625_13 = tsr.constant 0.015625
      %centred_14 = tsr.mul %centred_12, %c0.015625_13 as "h.ln_1.centred" : !batch_seq1, !f32
      %centred_15 = tsr.sub %arg22, %centred_14 as "h.ln_1.centred" : !batch_seq_embed1, !batch_seq1
      %variance_16 = tsr.mul %centred_15, %centred_15 as "h.ln_1.variance" : !batch_seq_embed1
      %variance_17 = tsr.reduce sum %variance_16 over [embed] as "h.ln_1.variance" : !batch_seq_embed1
      %c0.015625_18 = tsr.constant 0.015625
      %variance_19 = tsr.mul %variance_17, %c0.015625_18 as "h.ln_1.variance" : !batch_seq1, !f32
      %c1.0e-05_20 = tsr.constant 1.0e-05
      %ln_1 = tsr.add %variance_19, %c1.0e-05_20 as "h.ln_1" : !batch_seq1, !f32
      %ln_1_21 = tsr.rsqrt %ln_1 as "h.ln_1" : !batch_seq1
      %ln_1_22 = tsr.mul %centred_15, %ln_1_21 as "h.ln_1" : !batch_seq_embed1, !batch_seq1
      %ln_1_23 = tsr.mul %ln_1_22, %arg23 as "h.ln_1" : !batch_seq_embed1, !embed
      %ln_1_24 = tsr.add %ln_1_23, %arg24 as "h.ln_1" : !batch_seq_embed1, !embed
      %past = tsr.rename %ln_1_24 [seq] to [key] as "h.attn.past" : !batch_seq_embed1 -> !batch_embed_key1
      %q = tsr.contract %ln_1_24, %arg25 over [embed] as "h.attn.q" : (!batch_seq_embed1, !head_hd_embed) -> !batch_seq_head_hd1
      %q_25 = tsr.add %q, %arg29 as "h.attn.q" : !batch_seq_head_hd1, !head_hd
      %k = tsr.contract %past, %arg26 over [embed] as "h.attn.k" : (!batch_embed_key1, !head_hd_embed) -> !batch_head_hd_key1
      %k_26 = tsr.add %k, %arg30 as "h.attn.k" : !batch_head_hd_key1, !head_hd
      %v = tsr.contract %past, %arg27 over [embed] as "h.attn.v" : (!batch_embed_key1, !head_hd_embed) -> !batch_head_hd_key1
      %v_27 = tsr.add %v, %arg31 as "h.attn.v" : !batch_head_hd_key1, !head_hd
      %score = tsr.contract %q_25, %k_26 over [hd] as "h.attn.score" : (!batch_seq_head_hd1, !batch_head_hd_key1) -> !batch_seq_head_key1
      %c8.0 = tsr.constant 8.0
      %score_28 = tsr.div %score, %c8.0 as "h.attn.score" : !batch_seq_head_key1, !f32
      %2 = tsr.index : !key_i32
      %3 = tsr.index : !seq_i32
      %p = tsr.compare le %2, %3 as "h.attn.p" : !key_i32, !seq_i32 -> !seq_key_i1
      %c-inf = tsr.constant 0xFF800000 : f32
      %p_29 = tsr.select %p, %score_28, %c-inf as "h.attn.p" : !seq_key_i1, !batch_seq_head_key1, !f32
      %top = tsr.reduce max %p_29 over [key] as "h.attn.softmax.top" : !batch_seq_head_key1
      %c-inf_30 = tsr.constant 0xFF800000 : f32
      %e_31 = tsr.compare eq %top, %c-inf_30 as "h.attn.softmax.e" : !batch_seq_head1, !f32
      %c0.0 = tsr.constant 0.0
      %e_32 = tsr.select %e_31, %c0.0, %top as "h.attn.softmax.e" : !batch_seq_head_i1_1, !f32, !batch_seq_head1
      %e_33 = tsr.sub %p_29, %e_32 as "h.attn.softmax.e" : !batch_seq_head_key1, !batch_seq_head1
      %e_34 = tsr.exp %e_33 as "h.attn.softmax.e" : !batch_seq_head_key1
      %total = tsr.reduce sum %e_34 over [key] as "h.attn.softmax.total" : !batch_seq_head_key1
      %c0.0_35 = tsr.constant 0.0
      %softmax = tsr.compare eq %total, %c0.0_35 as "h.attn.softmax" : !batch_seq_head1, !f32
      %c1.0 = tsr.constant 1.0
      %softmax_36 = tsr.select %softmax, %c1.0, %total as "h.attn.softmax" : !batch_seq_head_i1_1, !f32, !batch_seq_head1
      %softmax_37 = tsr.div %e_34, %softmax_36 as "h.attn.softmax" : !batch_seq_head_key1, !batch_seq_head1
      %attn = tsr.contract %softmax_37, %v_27 over [key] as "h.attn" : (!batch_seq_head_key1, !batch_head_hd_key1) -> !batch_seq_head_hd1
      %attn_38 = tsr.contract %attn, %arg28 over [head, hd] as "h.attn" : (!batch_seq_head_hd1, !head_hd_embed) -> !batch_seq_embed1
      %attn_39 = tsr.add %attn_38, %arg32 as "h.attn" : !batch_seq_embed1, !embed
      %a = tsr.add %arg22, %attn_39 as "h.a" : !batch_seq_embed1
      %centred_40 = tsr.reduce sum %a over [embed] as "h.ln_2.centred" : !batch_seq_embed1
      %c0.015625_41 = tsr.constant 0.015625
      %centred_42 = tsr.mul %centred_40, %c0.015625_41 as "h.ln_2.centred" : !batch_seq1, !f32
      %centred_43 = tsr.sub %a, %centred_42 as "h.ln_2.centred" : !batch_seq_embed1, !batch_seq1
      %variance_44 = tsr.mul %centred_43, %centred_43 as "h.ln_2.variance" : !batch_seq_embed1
      %variance_45 = tsr.reduce sum %variance_44 over [embed] as "h.ln_2.variance" : !batch_seq_embed1
      %c0.015625_46 = tsr.constant 0.015625
      %variance_47 = tsr.mul %variance_45, %c0.015625_46 as "h.ln_2.variance" : !batch_seq1, !f32
      %c1.0e-05_48 = tsr.constant 1.0e-05
      %ln_2 = tsr.add %variance_47, %c1.0e-05_48 as "h.ln_2" : !batch_seq1, !f32
      %ln_2_49 = tsr.rsqrt %ln_2 as "h.ln_2" : !batch_seq1
      %ln_2_50 = tsr.mul %centred_43, %ln_2_49 as "h.ln_2" : !batch_seq_embed1, !batch_seq1
      %ln_2_51 = tsr.mul %ln_2_50, %arg33 as "h.ln_2" : !batch_seq_embed1, !embed
      %ln_2_52 = tsr.add %ln_2_51, %arg34 as "h.ln_2" : !batch_seq_embed1, !embed
      %mlp = tsr.contract %ln_2_52, %arg35 over [embed] as "h.mlp" : (!batch_seq_embed1, !embed_ff) -> !batch_seq_ff1
      %mlp_53 = tsr.add %mlp, %arg37 as "h.mlp" : !batch_seq_ff1, !ff
      %c0.5 = tsr.constant 0.5
      %gelu_tanh = tsr.mul %c0.5, %mlp_53 as "h.mlp.gelu_tanh" : !f32, !batch_seq_ff1
      %gelu_tanh_54 = tsr.mul %mlp_53, %mlp_53 as "h.mlp.gelu_tanh" : !batch_seq_ff1
      %gelu_tanh_55 = tsr.mul %gelu_tanh_54, %mlp_53 as "h.mlp.gelu_tanh" : !batch_seq_ff1
      %c0.044715 = tsr.constant 0.044715
      %gelu_tanh_56 = tsr.mul %c0.044715, %gelu_tanh_55 as "h.mlp.gelu_tanh" : !f32, !batch_seq_ff1
      %gelu_tanh_57 = tsr.add %mlp_53, %gelu_tanh_56 as "h.mlp.gelu_tanh" : !batch_seq_ff1
      %c0.7978846 = tsr.constant 0.7978846
      %gelu_tanh_58 = tsr.mul %c0.7978846, %gelu_tanh_57 as "h.mlp.gelu_tanh" : !f32, !batch_seq_ff1
      %gelu_tanh_59 = tsr.tanh %gelu_tanh_58 as "h.mlp.gelu_tanh" : !batch_seq_ff1
      %c1.0_60 = tsr.constant 1.0
      %gelu_tanh_61 = tsr.add %c1.0_60, %gelu_tanh_59 as "h.mlp.gelu_tanh" : !f32, !batch_seq_ff1
      %gelu_tanh_62 = tsr.mul %gelu_tanh, %gelu_tanh_61 as "h.mlp.gelu_tanh" : !batch_seq_ff1
      %mlp_63 = tsr.contract %gelu_tanh_62, %arg36 over [ff] as "h.mlp" : (!batch_seq_ff1, !embed_ff) -> !batch_seq_embed1
      %mlp_64 = tsr.add %mlp_63, %arg38 as "h.mlp" : !batch_seq_embed1, !embed
      %h = tsr.add %a, %mlp_64 as "h" : !batch_seq_embed1
      tsr.yield %h : !batch_seq_embed1
    }
    %centred = tsr.reduce sum %y over [embed] as "ln_f.centred" : !batch_seq_embed1
    %c0.015625 = tsr.constant 0.015625
    %centred_3 = tsr.mul %centred, %c0.015625 as "ln_f.centred" : !batch_seq1, !f32
    %centred_4 = tsr.sub %y, %centred_3 as "ln_f.centred" : !batch_seq_embed1, !batch_seq1
    %variance = tsr.mul %centred_4, %centred_4 as "ln_f.variance" : !batch_seq_embed1
    %variance_5 = tsr.reduce sum %variance over [embed] as "ln_f.variance" : !batch_seq_embed1
    %c0.015625_6 = tsr.constant 0.015625
    %variance_7 = tsr.mul %variance_5, %c0.015625_6 as "ln_f.variance" : !batch_seq1, !f32
    %c1.0e-05 = tsr.constant 1.0e-05
    %ln_f = tsr.add %variance_7, %c1.0e-05 as "ln_f" : !batch_seq1, !f32
    %ln_f_8 = tsr.rsqrt %ln_f as "ln_f" : !batch_seq1
    %ln_f_9 = tsr.mul %centred_4, %ln_f_8 as "ln_f" : !batch_seq_embed1, !batch_seq1
    %ln_f_10 = tsr.mul %ln_f_9, %arg18 as "ln_f" : !batch_seq_embed1, !embed
    %ln_f_11 = tsr.add %ln_f_10, %arg19 as "ln_f" : !batch_seq_embed1, !embed
    %1 = tsr.contract %ln_f_11, %arg0 over [embed] : (!batch_seq_embed1, !vocab_embed) -> !batch_seq_vocab1
    return %1 : !batch_seq_vocab1
  }
}

