!batch = !tsr.tensor<[batch: 8], f32>
!batch_embed_key = !tsr.tensor<[batch: 8, embed: 768, key: 1024], f32>
!batch_embed_key1 = !tsr.tensor<[batch: 1, embed: 768, key: 1024], f32>
!batch_head_hd_key = !tsr.tensor<[batch: 8, head: 12, hd: 64, key: 1024], f32>
!batch_head_hd_key1 = !tsr.tensor<[batch: 1, head: 12, hd: 64, key: 1024], f32>
!batch_seq = !tsr.tensor<[batch: 8, seq: 1024], f32>
!batch_seq1 = !tsr.tensor<[batch: 1, seq: 1024], f32>
!batch_seq_embed = !tsr.tensor<[batch: 8, seq: 1024, embed: 768], f32>
!batch_seq_embed1 = !tsr.tensor<[batch: 1, seq: 1024, embed: 768], f32>
!batch_seq_ff = !tsr.tensor<[batch: 8, seq: 1024, ff: 3072], f32>
!batch_seq_ff1 = !tsr.tensor<[batch: 1, seq: 1024, ff: 3072], f32>
!batch_seq_head = !tsr.tensor<[batch: 8, seq: 1024, head: 12], f32>
!batch_seq_head1 = !tsr.tensor<[batch: 1, seq: 1024, head: 12], f32>
!batch_seq_head_hd = !tsr.tensor<[batch: 8, seq: 1024, head: 12, hd: 64], f32>
!batch_seq_head_hd1 = !tsr.tensor<[batch: 1, seq: 1024, head: 12, hd: 64], f32>
!batch_seq_head_i1 = !tsr.tensor<[batch: 8, seq: 1024, head: 12], i1>
!batch_seq_head_i1_1 = !tsr.tensor<[batch: 1, seq: 1024, head: 12], i1>
!batch_seq_head_key = !tsr.tensor<[batch: 8, seq: 1024, head: 12, key: 1024], f32>
!batch_seq_head_key1 = !tsr.tensor<[batch: 1, seq: 1024, head: 12, key: 1024], f32>
!batch_seq_i32 = !tsr.tensor<[batch: 8, seq: 1024], i32>
!batch_seq_i32_1 = !tsr.tensor<[batch: 1, seq: 1024], i32>
!batch_seq_vocab = !tsr.tensor<[batch: 8, seq: 1024, vocab: 50257], f32>
!batch_seq_vocab1 = !tsr.tensor<[batch: 1, seq: 1024, vocab: 50257], f32>
!embed = !tsr.tensor<[embed: 768], f32>
!embed_ff = !tsr.tensor<[embed: 768, ff: 3072], f32>
!f32 = !tsr.tensor<[], f32>
!ff = !tsr.tensor<[ff: 3072], f32>
!head_hd = !tsr.tensor<[head: 12, hd: 64], f32>
!head_hd_embed = !tsr.tensor<[head: 12, hd: 64, embed: 768], f32>
!i1 = !tsr.tensor<[], i1>
!i32 = !tsr.tensor<[], i32>
!i64 = !tsr.tensor<[], i64>
!key_i32 = !tsr.tensor<[key: 1024], i32>
!layer_embed = !tsr.tensor<[layer: 12, embed: 768], f32>
!layer_embed_ff = !tsr.tensor<[layer: 12, embed: 768, ff: 3072], f32>
!layer_ff = !tsr.tensor<[layer: 12, ff: 3072], f32>
!layer_head_hd = !tsr.tensor<[layer: 12, head: 12, hd: 64], f32>
!layer_head_hd_embed = !tsr.tensor<[layer: 12, head: 12, hd: 64, embed: 768], f32>
!place_embed = !tsr.tensor<[place: 1024, embed: 768], f32>
!seq_embed = !tsr.tensor<[seq: 1024, embed: 768], f32>
!seq_i32 = !tsr.tensor<[seq: 1024], i32>
!seq_key_i1 = !tsr.tensor<[seq: 1024, key: 1024], i1>
!vocab_embed = !tsr.tensor<[vocab: 50257, embed: 768], f32>
module attributes {tsr.axes = ["micro", "layer", "batch", "seq", "vocab", "place", "head", "hd", "embed", "ff", "key"], tsr.data =
    [{batch = ["batch", 8], fields = [], format = "tokens", name = "d", seq = ["seq", 1024], shuffle = true, splits =
    {train = ["fineweb/train_*.bin"], val = ["fineweb/val_*.bin"]}, val_fraction = 0.000000e+00 : f64}], tsr.device = "zen", tsr.model = "gpt2", tsr.phase =
    "parse", tsr.settings = {evaluate = {batches = 20 : i64, every = 250 : i64, on = "val"}, save = {every = 1000 : i64, keep = 3 : i64}, stop =
    {after = 19073 : i64}}} {
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
    %c0.004082483 = tsr.constant 0.004082483
    %wo_8 = tsr.mul %wo, %c0.004082483 as "h.attn.wo" : !layer_head_hd_embed, !f32
    %c0.0_9 = tsr.constant 0.0 -> !layer_head_hd
    %c0.0_10 = tsr.constant 0.0 -> !layer_head_hd
    %c0.0_11 = tsr.constant 0.0 -> !layer_head_hd
    %c0.0_12 = tsr.constant 0.0 -> !layer_embed
    %c1.0_13 = tsr.constant 1.0 -> !layer_embed
    %c0.0_14 = tsr.constant 0.0 -> !layer_embed
    %up = tsr.random normal site 484722861 seed %arg0 step %c0 canonical [layer, embed, ff] as "h.mlp.up" : (!i64, !i32) -> !layer_embed_ff
    %c0.02_15 = tsr.constant 0.02
    %up_16 = tsr.mul %up, %c0.02_15 as "h.mlp.up" : !layer_embed_ff, !f32
    %down = tsr.random normal site 387253196 seed %arg0 step %c0 canonical [layer, ff, embed] as "h.mlp.down" : (!i64, !i32) -> !layer_embed_ff
    %c0.004082483_17 = tsr.constant 0.004082483
    %down_18 = tsr.mul %down, %c0.004082483_17 as "h.mlp.down" : !layer_embed_ff, !f32
    %c0.0_19 = tsr.constant 0.0 -> !layer_ff
    %c0.0_20 = tsr.constant 0.0 -> !layer_embed
    %c1.0_21 = tsr.constant 1.0 -> !embed
    %c0.0_22 = tsr.constant 0.0 -> !embed
    return %wte_0, %wpe_1, %c1.0, %c0.0, %wq_3, %wk_5, %wv_7, %wo_8, %c0.0_9, %c0.0_10, %c0.0_11, %c0.0_12, %c1.0_13, %c0.0_14, %up_16, %down_18, %c0.0_19,
        %c0.0_20, %c1.0_21, %c0.0_22, %c0, %arg0 : !vocab_embed, !place_embed, !layer_embed, !layer_embed, !layer_head_hd_embed, !layer_head_hd_embed,
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
      %arg21: !batch_seq_i32 {tsr.input = {data = "d", field = "tokens", name = "d.tokens", of = 50257 : i64, order = ["batch", "seq"], role = "data"}},
      %arg22: !batch_seq_i32 {tsr.input = {data = "d", field = "next", name = "d.next", of = 50257 : i64, order = ["batch", "seq"], role = "data"}})
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
    %e = tsr.gather %arg0[[vocab] = %arg21] as "e" : (!vocab_embed, !batch_seq_i32) -> !batch_seq_embed
    %0 = tsr.index : !seq_i32
    %e_0 = tsr.rename %arg1 [place] to [seq] as "e" : !place_embed -> !seq_embed
    %e_1 = tsr.add %e, %e_0 as "e" : !batch_seq_embed, !seq_embed
    %y = tsr.repeat [layer: 12] index %arg23 carry (%arg24 = %e_1 : !batch_seq_embed) slice
        (%arg25 = %arg2 : !layer_embed, %arg26 = %arg3 : !layer_embed, %arg27 = %arg4 : !layer_head_hd_embed, %arg28 = %arg5 : !layer_head_hd_embed, %arg29 =
        %arg6 : !layer_head_hd_embed, %arg30 = %arg7 : !layer_head_hd_embed, %arg31 = %arg8 : !layer_head_hd, %arg32 = %arg9 : !layer_head_hd, %arg33 = %arg10 :
        !layer_head_hd, %arg34 = %arg11 : !layer_embed, %arg35 = %arg12 : !layer_embed, %arg36 = %arg13 : !layer_embed, %arg37 = %arg14 : !layer_embed_ff,
        %arg38 = %arg15 : !layer_embed_ff, %arg39 = %arg16 : !layer_ff, %arg40 = %arg17 : !layer_embed) -> !batch_seq_embed as "y" {
      %centred_134 = tsr.reduce sum %arg24 over [embed] as "h.ln_1.centred" : !batch_seq_embed
      %c0.0013020834_135 = tsr.constant 0.0013020834
      %centred_136 = tsr.mul %centred_134, %c0.0013020834_135 as "h.ln_1.centred" : !batch_seq, !f32
      %centred_137 = tsr.sub %arg24, %centred_136 as "h.ln_1.centred" : !batch_seq_embed, !batch_seq
      %variance_138 = tsr.mul %centred_137, %centred_137 as "h.ln_1.variance" : !batch_seq_embed
      %variance_139 = tsr.reduce sum %variance_138 over [embed] as "h.ln_1.variance" : !batch_seq_embed
      %c0.0013020834_140 = tsr.constant 0.0013020834
      %variance_141 = tsr.mul %variance_139, %c0.0013020834_140 as "h.ln_1.variance" : !batch_seq, !f32
      %c1.0e-05_142 = tsr.constant 1.0e-05
      %ln_1 = tsr.add %variance_141, %c1.0e-05_142 as "h.ln_1" : !batch_seq, !f32
      %ln_1_143 = tsr.rsqrt %ln_1 as "h.ln_1" : !batch_seq
      %ln_1_144 = tsr.mul %centred_137, %ln_1_143 as "h.ln_1" : !batch_seq_embed, !batch_seq
      %ln_1_145 = tsr.mul %ln_1_144, %arg25 as "h.ln_1" : !batch_seq_embed, !embed
      %ln_1_146 = tsr.add %ln_1_145, %arg26 as "h.ln_1" : !batch_seq_embed, !embed
      %past = tsr.rename %ln_1_146 [seq] to [key] as "h.attn.past" : !batch_seq_embed -> !batch_embed_key
      %q = tsr.contract %ln_1_146, %arg27 over [embed] as "h.attn.q" : (!batch_seq_embed, !head_hd_embed) -> !batch_seq_head_hd
      %q_147 = tsr.add %q, %arg31 as "h.attn.q" : !batch_seq_head_hd, !head_hd
      %k = tsr.contract %past, %arg28 over [embed] as "h.attn.k" : (!batch_embed_key, !head_hd_embed) -> !batch_head_hd_key
      %k_148 = tsr.add %k, %arg32 as "h.attn.k" : !batch_head_hd_key, !head_hd
      %v = tsr.contract %past, %arg29 over [embed] as "h.attn.v" : (!batch_embed_key, !head_hd_embed) -> !batch_head_hd_key
      %v_149 = tsr.add %v, %arg33 as "h.attn.v" : !batch_head_hd_key, !head_hd
      %score = tsr.contract %q_147, %k_148 over [hd] as "h.attn.score" : (!batch_seq_head_hd, !batch_head_hd_key) -> !batch_seq_head_key
      %c8.0 = tsr.constant 8.0
      %score_150 = tsr.div %score, %c8.0 as "h.attn.score" : !batch_seq_head_key, !f32
      %7 = tsr.index : !key_i32
      %8 = tsr.index : !seq_i32
      %p = tsr.compare le %7, %8 as "h.attn.p" : !key_i32, !seq_i32 -> !seq_key_i1
      %c-inf = tsr.constant 0xFF800000 : f32
      %p_151 = tsr.select %p, %score_150, %c-inf as "h.attn.p" : !seq_key_i1, !batch_seq_head_key, !f32
      %top_152 = tsr.reduce max %p_151 over [key] as "h.attn.softmax.top" : !batch_seq_head_key
      %c-inf_153 = tsr.constant 0xFF800000 : f32
      %e_154 = tsr.compare eq %top_152, %c-inf_153 as "h.attn.softmax.e" : !batch_seq_head, !f32
      %c0.0_155 = tsr.constant 0.0
      %e_156 = tsr.select %e_154, %c0.0_155, %top_152 as "h.attn.softmax.e" : !batch_seq_head_i1, !f32, !batch_seq_head
      %e_157 = tsr.sub %p_151, %e_156 as "h.attn.softmax.e" : !batch_seq_head_key, !batch_seq_head
      %e_158 = tsr.exp %e_157 as "h.attn.softmax.e" : !batch_seq_head_key
      %total_159 = tsr.reduce sum %e_158 over [key] as "h.attn.softmax.total" : !batch_seq_head_key
      %c0.0_160 = tsr.constant 0.0
      %softmax = tsr.compare eq %total_159, %c0.0_160 as "h.attn.softmax" : !batch_seq_head, !f32
      %c1.0_161 = tsr.constant 1.0
      %softmax_162 = tsr.select %softmax, %c1.0_161, %total_159 as "h.attn.softmax" : !batch_seq_head_i1, !f32, !batch_seq_head
      %softmax_163 = tsr.div %e_158, %softmax_162 as "h.attn.softmax" : !batch_seq_head_key, !batch_seq_head
      %attn = tsr.contract %softmax_163, %v_149 over [key] as "h.attn" : (!batch_seq_head_key, !batch_head_hd_key) -> !batch_seq_head_hd
      %attn_164 = tsr.contract %attn, %arg30 over [head, hd] as "h.attn" : (!batch_seq_head_hd, !head_hd_embed) -> !batch_seq_embed
      %attn_165 = tsr.add %attn_164, %arg34 as "h.attn" : !batch_seq_embed, !embed
      %a = tsr.add %arg24, %attn_165 as "h.a" : !batch_seq_embed
      %centred_166 = tsr.reduce sum %a over [embed] as "h.ln_2.centred" : !batch_seq_embed
      %c0.0013020834_167 = tsr.constant 0.0013020834
      %centred_168 = tsr.mul %centred_166, %c0.0013020834_167 as "h.ln_2.centred" : !batch_seq, !f32
      %centred_169 = tsr.sub %a, %centred_168 as "h.ln_2.centred" : !batch_seq_embed, !batch_seq
      %variance_170 = tsr.mul %centred_169, %centred_169 as "h.ln_2.variance" : !batch_seq_embed
      %variance_171 = tsr.reduce sum %variance_170 over [embed] as "h.ln_2.variance" : !batch_seq_embed
      %c0.0013020834_172 = tsr.constant 0.0013020834
      %variance_173 = tsr.mul %variance_171, %c0.0013020834_172 as "h.ln_2.variance" : !batch_seq, !f32
      %c1.0e-05_174 = tsr.constant 1.0e-05
      %ln_2 = tsr.add %variance_173, %c1.0e-05_174 as "h.ln_2" : !batch_seq, !f32
      %ln_2_175 = tsr.rsqrt %ln_2 as "h.ln_2" : !batch_seq
      %ln_2_176 = tsr.mul %centred_169, %ln_2_175 as "h.ln_2" : !batch_seq_embed, !batch_seq
      %ln_2_177 = tsr.mul %ln_2_176, %arg35 as "h.ln_2" : !batch_seq_embed, !embed
      %ln_2_178 = tsr.add %ln_2_177, %arg36 as "h.ln_2" : !batch_seq_embed, !embed
      %mlp = tsr.contract %ln_2_178, %arg37 over [embed] as "h.mlp" : (!batch_seq_embed, !embed_ff) -> !batch_seq_ff
      %mlp_179 = tsr.add %mlp, %arg39 as "h.mlp" : !batch_seq_ff, !ff
      %c0.5 = tsr.constant 0.5
      %gelu_tanh = tsr.mul %c0.5, %mlp_179 as "h.mlp.gelu_tanh" : !f32, !batch_seq_ff
      %gelu_tanh_180 = tsr.mul %mlp_179, %mlp_179 as "h.mlp.gelu_tanh" : !batch_seq_ff
      %gelu_tanh_181 = tsr.mul %gelu_tanh_180, %mlp_179 as "h.mlp.gelu_tanh" : !batch_seq_ff
      %c0.044715 = tsr.constant 0.044715
      %gelu_tanh_182 = tsr.mul %c0.044715, %gelu_tanh_181 as "h.mlp.gelu_tanh" : !f32, !batch_seq_ff
      %gelu_tanh_183 = tsr.add %mlp_179, %gelu_tanh_182 as "h.mlp.gelu_tanh" : !batch_seq_ff
      %c0.7978846 = tsr.constant 0.7978846
      %gelu_tanh_184 = tsr.mul %c0.7978846, %gelu_tanh_183 as "h.mlp.gelu_tanh" : !f32, !batch_seq_ff
      %gelu_tanh_185 = tsr.tanh %gelu_tanh_184 as "h.mlp.gelu_tanh" : !batch_seq_ff
      %c1.0_186 = tsr.constant 1.0
      %gelu_tanh_187 = tsr.add %c1.0_186, %gelu_tanh_185 as "h.mlp.gelu_tanh" : !f32, !batch_seq_ff
      %gelu_tanh_188 = tsr.mul %gelu_tanh, %gelu_tanh_187 as "h.mlp.gelu_tanh" : !batch_seq_ff
      %mlp_189 = tsr.contract %gelu_tanh_188, %arg38 over [ff] as "h.mlp" : (!batch_seq_ff, !embed_ff) -> !batch_seq_embed
      %mlp_190 = tsr.add %mlp_189, %arg40 as "h.mlp" : !batch_seq_embed, !embed
      %h = tsr.add %a, %mlp_190 as "h" : !batch_seq_embed
      tsr.yield %h : !batch_seq_embed
    }
    %centred = tsr.reduce sum %y over [embed] as "ln_f.centred" : !batch_seq_embed
    %c0.0013020834 = tsr.constant 0.0013020834
    %centred_2 = tsr.mul %centred, %c0.0013020834 as "ln_f.centred" : !batch_seq, !f32
    %centred_3 = tsr.sub %y, %centred_2 as "ln_f.centred" : !batch_seq_embed, !batch_seq
    %variance = tsr.mul %centred_3, %centred_3 as "ln_f.variance" : !batch_seq_embed
    %variance_4 = tsr.reduce sum %variance over [embed] as "ln_f.variance" : !batch_seq_embed
    %c0.0013020834_5 = tsr.constant 0.0013020834
    %variance_6 = tsr.mul %variance_4, %c0.0013020834_5 as "ln_f.variance" : !batch_seq, !f32
    %c1.0e-05 = tsr.constant 1.0e-05
    %ln_f = tsr.add %variance_6, %c1.0e-05 as "ln_f" : !batch_seq, !f32
    %ln_f_7 = tsr.rsqrt %ln_f as "ln_f" : !batch_seq
    %ln_f_8 = tsr.mul %centred_3, %ln_f_7 as "ln_f" : !batch_seq_embed, !batch_seq
    %ln_f_9 = tsr.mul %ln_f_8, %arg18 as "ln_f" : !batch_seq_embed, !embed
    %ln_f_10 = tsr.add %ln_f_9, %arg19 as "ln_f" : !batch_seq_embed, !embed
    %1 = tsr.contract %ln_f_10, %arg0 over [embed] : (!batch_seq_embed, !vocab_embed) -> !batch_seq_vocab
    %top = tsr.reduce max %1 over [vocab] as "cross_entropy.top" : !batch_seq_vocab
    %total = tsr.sub %1, %top as "cross_entropy.total" : !batch_seq_vocab, !batch_seq
    %total_11 = tsr.exp %total as "cross_entropy.total" : !batch_seq_vocab
    %total_12 = tsr.reduce sum %total_11 over [vocab] as "cross_entropy.total" : !batch_seq_vocab
    %cross_entropy = tsr.log %total_12 as "cross_entropy" : !batch_seq
    %cross_entropy_13 = tsr.add %cross_entropy, %top as "cross_entropy" : !batch_seq
    %cross_entropy_14 = tsr.gather %1[[vocab] = %arg22] as "cross_entropy" : (!batch_seq_vocab, !batch_seq_i32) -> !batch_seq
    %cross_entropy_15 = tsr.sub %cross_entropy_13, %cross_entropy_14 as "cross_entropy" : !batch_seq
    %ce = tsr.reduce sum %cross_entropy_15 over [batch, seq] as "ce" : !batch_seq
    %c0.00012207031 = tsr.constant 0.00012207031
    %ce_16 = tsr.mul %ce, %c0.00012207031 as "ce" : !f32
    %c1 = tsr.constant 1
    %rising = tsr.add %arg20, %c1 as "warmup_cosine.rising" : !i32
    %rising_17 = tsr.cast %rising as "warmup_cosine.rising" : !i32 to !f32
    %c7.0e2B02 = tsr.constant 7.0e+02
    %rising_18 = tsr.div %rising_17, %c7.0e2B02 as "warmup_cosine.rising" : !f32
    %c-700 = tsr.constant -700
    %along = tsr.add %arg20, %c-700 as "warmup_cosine.along" : !i32
    %along_19 = tsr.cast %along as "warmup_cosine.along" : !i32 to !f32
    %c18373.0 = tsr.constant 18373.0
    %along_20 = tsr.div %along_19, %c18373.0 as "warmup_cosine.along" : !f32
    %c0.0 = tsr.constant 0.0
    %along_21 = tsr.max %along_20, %c0.0 as "warmup_cosine.along" : !f32
    %c1.0 = tsr.constant 1.0
    %along_22 = tsr.min %along_21, %c1.0 as "warmup_cosine.along" : !f32
    %c3.1415927 = tsr.constant 3.1415927
    %falling = tsr.mul %c3.1415927, %along_22 as "warmup_cosine.falling" : !f32
    %falling_23 = tsr.cos %falling as "warmup_cosine.falling" : !f32
    %c1.0_24 = tsr.constant 1.0
    %falling_25 = tsr.add %c1.0_24, %falling_23 as "warmup_cosine.falling" : !f32
    %c0.45 = tsr.constant 0.45
    %falling_26 = tsr.mul %c0.45, %falling_25 as "warmup_cosine.falling" : !f32
    %c0.1 = tsr.constant 0.1
    %falling_27 = tsr.add %c0.1, %falling_26 as "warmup_cosine.falling" : !f32
    %c700 = tsr.constant 700
    %warmup_cosine = tsr.compare lt %arg20, %c700 as "warmup_cosine" : !i32
    %warmup_cosine_28 = tsr.select %warmup_cosine, %rising_18, %falling_27 as "warmup_cosine" : !i1, !f32
    %c0.0006 = tsr.constant 0.0006
    %warmup_cosine_29 = tsr.mul %c0.0006, %warmup_cosine_28 as "warmup_cosine" : !f32
    %2:20 = tsr.gradient %ce_16 wrt(%arg0, %arg1, %arg2, %arg3, %arg4, %arg5, %arg6, %arg7, %arg8, %arg9, %arg10, %arg11, %arg12, %arg13, %arg14, %arg15,
        %arg16, %arg17, %arg18, %arg19) : (!f32, !vocab_embed, !place_embed, !layer_embed, !layer_embed, !layer_head_hd_embed, !layer_head_hd_embed,
        !layer_head_hd_embed, !layer_head_hd_embed, !layer_head_hd, !layer_head_hd, !layer_head_hd, !layer_embed, !layer_embed, !layer_embed, !layer_embed_ff,
        !layer_embed_ff, !layer_ff, !layer_embed, !embed, !embed) -> (!vocab_embed, !place_embed, !layer_embed, !layer_embed, !layer_head_hd_embed,
        !layer_head_hd_embed, !layer_head_hd_embed, !layer_head_hd_embed, !layer_head_hd, !layer_head_hd, !layer_head_hd, !layer_embed, !layer_embed,
        !layer_embed, !layer_embed_ff, !layer_embed_ff, !layer_ff, !layer_embed, !embed, !embed)
    %c1.0_30 = tsr.constant 1.0
    %clip, %clip_31, %clip_32, %clip_33, %clip_34, %clip_35, %clip_36, %clip_37, %clip_38, %clip_39, %clip_40, %clip_41, %clip_42, %clip_43, %clip_44, %clip_45,
        %clip_46, %clip_47, %clip_48, %clip_49, %clip_50 = tsr.clip(%2#0, %2#1, %2#2, %2#3, %2#4, %2#5, %2#6, %2#7, %2#8, %2#9, %2#10, %2#11, %2#12, %2#13,
        %2#14, %2#15, %2#16, %2#17, %2#18, %2#19) limit %c1.0_30 as "clip" : (!vocab_embed, !place_embed, !layer_embed, !layer_embed, !layer_head_hd_embed,
        !layer_head_hd_embed, !layer_head_hd_embed, !layer_head_hd_embed, !layer_head_hd, !layer_head_hd, !layer_head_hd, !layer_embed, !layer_embed,
        !layer_embed, !layer_embed_ff, !layer_embed_ff, !layer_ff, !layer_embed, !embed, !embed, !f32) ->
        (!vocab_embed, !place_embed, !layer_embed, !layer_embed, !layer_head_hd_embed, !layer_head_hd_embed, !layer_head_hd_embed, !layer_head_hd_embed,
        !layer_head_hd, !layer_head_hd, !layer_head_hd, !layer_embed, !layer_embed, !layer_embed, !layer_embed_ff, !layer_embed_ff, !layer_ff, !layer_embed,
        !embed, !embed, !f32)
    %c0.9 = tsr.constant 0.9
    %c0.95 = tsr.constant 0.95
    %c1.0e-08 = tsr.constant 1.0e-08
    %c0.1_51 = tsr.constant 0.1
    %wte = tsr.update "adamw" @wte %arg0 gradient %clip step %arg20 norm %clip_50 arguments
        [rate, beta1, beta2, epsilon, decay](%warmup_cosine_29, %c0.9, %c0.95, %c1.0e-08, %c0.1_51) as "wte" :
        (!vocab_embed, !vocab_embed, !i32, !f32, !f32, !f32, !f32, !f32, !f32) -> !vocab_embed
    %c0.9_52 = tsr.constant 0.9
    %c0.95_53 = tsr.constant 0.95
    %c1.0e-08_54 = tsr.constant 1.0e-08
    %c0.1_55 = tsr.constant 0.1
    %wpe = tsr.update "adamw" @wpe %arg1 gradient %clip_31 step %arg20 norm %clip_50 arguments
        [rate, beta1, beta2, epsilon, decay](%warmup_cosine_29, %c0.9_52, %c0.95_53, %c1.0e-08_54, %c0.1_55) as "wpe" :
        (!place_embed, !place_embed, !i32, !f32, !f32, !f32, !f32, !f32, !f32) -> !place_embed
    %c0.9_56 = tsr.constant 0.9
    %c0.95_57 = tsr.constant 0.95
    %c1.0e-08_58 = tsr.constant 1.0e-08
    %c0.0_59 = tsr.constant 0.0
    %g = tsr.update "adamw" @h.ln_1.g %arg2 gradient %clip_32 step %arg20 norm %clip_50 arguments
        [rate, beta1, beta2, epsilon, decay](%warmup_cosine_29, %c0.9_56, %c0.95_57, %c1.0e-08_58, %c0.0_59) as "h.ln_1.g" :
        (!layer_embed, !layer_embed, !i32, !f32, !f32, !f32, !f32, !f32, !f32) -> !layer_embed
    %c0.9_60 = tsr.constant 0.9
    %c0.95_61 = tsr.constant 0.95
    %c1.0e-08_62 = tsr.constant 1.0e-08
    %c0.0_63 = tsr.constant 0.0
    %b = tsr.update "adamw" @h.ln_1.b %arg3 gradient %clip_33 step %arg20 norm %clip_50 arguments
        [rate, beta1, beta2, epsilon, decay](%warmup_cosine_29, %c0.9_60, %c0.95_61, %c1.0e-08_62, %c0.0_63) as "h.ln_1.b" :
        (!layer_embed, !layer_embed, !i32, !f32, !f32, !f32, !f32, !f32, !f32) -> !layer_embed
    %c0.9_64 = tsr.constant 0.9
    %c0.95_65 = tsr.constant 0.95
    %c1.0e-08_66 = tsr.constant 1.0e-08
    %c0.1_67 = tsr.constant 0.1
    %wq = tsr.update "adamw" @h.attn.wq %arg4 gradient %clip_34 step %arg20 norm %clip_50 arguments
        [rate, beta1, beta2, epsilon, decay](%warmup_cosine_29, %c0.9_64, %c0.95_65, %c1.0e-08_66, %c0.1_67) as "h.attn.wq" :
        (!layer_head_hd_embed, !layer_head_hd_embed, !i32, !f32, !f32, !f32, !f32, !f32, !f32) -> !layer_head_hd_embed
    %c0.9_68 = tsr.constant 0.9
    %c0.95_69 = tsr.constant 0.95
    %c1.0e-08_70 = tsr.constant 1.0e-08
    %c0.1_71 = tsr.constant 0.1
    %wk = tsr.update "adamw" @h.attn.wk %arg5 gradient %clip_35 step %arg20 norm %clip_50 arguments
        [rate, beta1, beta2, epsilon, decay](%warmup_cosine_29, %c0.9_68, %c0.95_69, %c1.0e-08_70, %c0.1_71) as "h.attn.wk" :
        (!layer_head_hd_embed, !layer_head_hd_embed, !i32, !f32, !f32, !f32, !f32, !f32, !f32) -> !layer_head_hd_embed
    %c0.9_72 = tsr.constant 0.9
    %c0.95_73 = tsr.constant 0.95
    %c1.0e-08_74 = tsr.constant 1.0e-08
    %c0.1_75 = tsr.constant 0.1
    %wv = tsr.update "adamw" @h.attn.wv %arg6 gradient %clip_36 step %arg20 norm %clip_50 arguments
        [rate, beta1, beta2, epsilon, decay](%warmup_cosine_29, %c0.9_72, %c0.95_73, %c1.0e-08_74, %c0.1_75) as "h.attn.wv" :
        (!layer_head_hd_embed, !layer_head_hd_embed, !i32, !f32, !f32, !f32, !f32, !f32, !f32) -> !layer_head_hd_embed
    %c0.9_76 = tsr.constant 0.9
    %c0.95_77 = tsr.constant 0.95
    %c1.0e-08_78 = tsr.constant 1.0e-08
    %c0.1_79 = tsr.constant 0.1
    %wo = tsr.update "adamw" @h.attn.wo %arg7 gradient %clip_37 step %arg20 norm %clip_50 arguments
        [rate, beta1, beta2, epsilon, decay](%warmup_cosine_29, %c0.9_76, %c0.95_77, %c1.0e-08_78, %c0.1_79) as "h.attn.wo" :
        (!layer_head_hd_embed, !layer_head_hd_embed, !i32, !f32, !f32, !f32, !f32, !f32, !f32) -> !layer_head_hd_embed
    %c0.9_80 = tsr.constant 0.9
    %c0.95_81 = tsr.constant 0.95
    %c1.0e-08_82 = tsr.constant 1.0e-08
    %c0.0_83 = tsr.constant 0.0
    %bq = tsr.update "adamw" @h.attn.bq %arg8 gradient %clip_38 step %arg20 norm %clip_50 arguments
        [rate, beta1, beta2, epsilon, decay](%warmup_cosine_29, %c0.9_80, %c0.95_81, %c1.0e-08_82, %c0.0_83) as "h.attn.bq" :
        (!layer_head_hd, !layer_head_hd, !i32, !f32, !f32, !f32, !f32, !f32, !f32) -> !layer_head_hd
    %c0.9_84 = tsr.constant 0.9
    %c0.95_85 = tsr.constant 0.95
    %c1.0e-08_86 = tsr.constant 1.0e-08
    %c0.0_87 = tsr.constant 0.0
    %bk = tsr.update "adamw" @h.attn.bk %arg9 gradient %clip_39 step %arg20 norm %clip_50 arguments
        [rate, beta1, beta2, epsilon, decay](%warmup_cosine_29, %c0.9_84, %c0.95_85, %c1.0e-08_86, %c0.0_87) as "h.attn.bk" :
        (!layer_head_hd, !layer_head_hd, !i32, !f32, !f32, !f32, !f32, !f32, !f32) -> !layer_head_hd
    %c0.9_88 = tsr.constant 0.9
    %c0.95_89 = tsr.constant 0.95
    %c1.0e-08_90 = tsr.constant 1.0e-08
    %c0.0_91 = tsr.constant 0.0
    %bv = tsr.update "adamw" @h.attn.bv %arg10 gradient %clip_40 step %arg20 norm %clip_50 arguments
        [rate, beta1, beta2, epsilon, decay](%warmup_cosine_29, %c0.9_88, %c0.95_89, %c1.0e-08_90, %c0.0_91) as "h.attn.bv" :
        (!layer_head_hd, !layer_head_hd, !i32, !f32, !f32, !f32, !f32, !f32, !f32) -> !layer_head_hd
    %c0.9_92 = tsr.constant 0.9
    %c0.95_93 = tsr.constant 0.95
    %c1.0e-08_94 = tsr.constant 1.0e-08
    %c0.0_95 = tsr.constant 0.0
    %bo = tsr.update "adamw" @h.attn.bo %arg11 gradient %clip_41 step %arg20 norm %clip_50 arguments
        [rate, beta1, beta2, epsilon, decay](%warmup_cosine_29, %c0.9_92, %c0.95_93, %c1.0e-08_94, %c0.0_95) as "h.attn.bo" :
        (!layer_embed, !layer_embed, !i32, !f32, !f32, !f32, !f32, !f32, !f32) -> !layer_embed
    %c0.9_96 = tsr.constant 0.9
    %c0.95_97 = tsr.constant 0.95
    %c1.0e-08_98 = tsr.constant 1.0e-08
    %c0.0_99 = tsr.constant 0.0
    %g_100 = tsr.update "adamw" @h.ln_2.g %arg12 gradient %clip_42 step %arg20 norm %clip_50 arguments
        [rate, beta1, beta2, epsilon, decay](%warmup_cosine_29, %c0.9_96, %c0.95_97, %c1.0e-08_98, %c0.0_99) as "h.ln_2.g" :
        (!layer_embed, !layer_embed, !i32, !f32, !f32, !f32, !f32, !f32, !f32) -> !layer_embed
    %c0.9_101 = tsr.constant 0.9
    %c0.95_102 = tsr.constant 0.95
    %c1.0e-08_103 = tsr.constant 1.0e-08
    %c0.0_104 = tsr.constant 0.0
    %b_105 = tsr.update "adamw" @h.ln_2.b %arg13 gradient %clip_43 step %arg20 norm %clip_50 arguments
        [rate, beta1, beta2, epsilon, decay](%warmup_cosine_29, %c0.9_101, %c0.95_102, %c1.0e-08_103, %c0.0_104) as "h.ln_2.b" :
        (!layer_embed, !layer_embed, !i32, !f32, !f32, !f32, !f32, !f32, !f32) -> !layer_embed
    %c0.9_106 = tsr.constant 0.9
    %c0.95_107 = tsr.constant 0.95
    %c1.0e-08_108 = tsr.constant 1.0e-08
    %c0.1_109 = tsr.constant 0.1
    %up = tsr.update "adamw" @h.mlp.up %arg14 gradient %clip_44 step %arg20 norm %clip_50 arguments
        [rate, beta1, beta2, epsilon, decay](%warmup_cosine_29, %c0.9_106, %c0.95_107, %c1.0e-08_108, %c0.1_109) as "h.mlp.up" :
        (!layer_embed_ff, !layer_embed_ff, !i32, !f32, !f32, !f32, !f32, !f32, !f32) -> !layer_embed_ff
    %c0.9_110 = tsr.constant 0.9
    %c0.95_111 = tsr.constant 0.95
    %c1.0e-08_112 = tsr.constant 1.0e-08
    %c0.1_113 = tsr.constant 0.1
    %down = tsr.update "adamw" @h.mlp.down %arg15 gradient %clip_45 step %arg20 norm %clip_50 arguments
        [rate, beta1, beta2, epsilon, decay](%warmup_cosine_29, %c0.9_110, %c0.95_111, %c1.0e-08_112, %c0.1_113) as "h.mlp.down" :
        (!layer_embed_ff, !layer_embed_ff, !i32, !f32, !f32, !f32, !f32, !f32, !f32) -> !layer_embed_ff
    %c0.9_114 = tsr.constant 0.9
    %c0.95_115 = tsr.constant 0.95
    %c1.0e-08_116 = tsr.constant 1.0e-08
    %c0.0_117 = tsr.constant 0.0
    %b_up = tsr.update "adamw" @h.mlp.b_up %arg16 gradient %clip_46 step %arg20 norm %clip_50 arguments
        [rate, beta1, beta2, epsilon, decay](%warmup_cosine_29, %c0.9_114, %c0.95_115, %c1.0e-08_116, %c0.0_117) as "h.mlp.b_up" :
        (!layer_ff, !layer_ff, !i32, !f32, !f32, !f32, !f32, !f32, !f32) -> !layer_ff
    %c0.9_118 = tsr.constant 0.9
    %c0.95_119 = tsr.constant 0.95
    %c1.0e-08_120 = tsr.constant 1.0e-08
    %c0.0_121 = tsr.constant 0.0
    %b_down = tsr.update "adamw" @h.mlp.b_down %arg17 gradient %clip_47 step %arg20 norm %clip_50 arguments
        [rate, beta1, beta2, epsilon, decay](%warmup_cosine_29, %c0.9_118, %c0.95_119, %c1.0e-08_120, %c0.0_121) as "h.mlp.b_down" :
        (!layer_embed, !layer_embed, !i32, !f32, !f32, !f32, !f32, !f32, !f32) -> !layer_embed
    %c0.9_122 = tsr.constant 0.9
    %c0.95_123 = tsr.constant 0.95
    %c1.0e-08_124 = tsr.constant 1.0e-08
    %c0.0_125 = tsr.constant 0.0
    %g_126 = tsr.update "adamw" @ln_f.g %arg18 gradient %clip_48 step %arg20 norm %clip_50 arguments
        [rate, beta1, beta2, epsilon, decay](%warmup_cosine_29, %c0.9_122, %c0.95_123, %c1.0e-08_124, %c0.0_125) as "ln_f.g" :
        (!embed, !embed, !i32, !f32, !f32, !f32, !f32, !f32, !f32) -> !embed
    %c0.9_127 = tsr.constant 0.9
    %c0.95_128 = tsr.constant 0.95
    %c1.0e-08_129 = tsr.constant 1.0e-08
    %c0.0_130 = tsr.constant 0.0
    %b_131 = tsr.update "adamw" @ln_f.b %arg19 gradient %clip_49 step %arg20 norm %clip_50 arguments
        [rate, beta1, beta2, epsilon, decay](%warmup_cosine_29, %c0.9_127, %c0.95_128, %c1.0e-08_129, %c0.0_130) as "ln_f.b" :
        (!embed, !embed, !i32, !f32, !f32, !f32, !f32, !f32, !f32) -> !embed
    %c1_132 = tsr.constant 1
    %3 = tsr.add %arg20, %c1_132 : !i32
    %c0.0_133 = tsr.constant 0.0
    %4 = tsr.sub %clip_50, %clip_50 : !f32
    %5 = tsr.compare eq %4, %c0.0_133 : !f32
    %6 = tsr.cast %5 : !i1 to !i32
    return %wte, %wpe, %g, %b, %wq, %wk, %wv, %wo, %bq, %bk, %bv, %bo, %g_100, %b_105, %up, %down, %b_up, %b_down, %g_126, %b_131, %3, %ce_16, %ce_16,
        %warmup_cosine_29, %clip_50, %6 : !vocab_embed, !place_embed, !layer_embed, !layer_embed, !layer_head_hd_embed, !layer_head_hd_embed,
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
    %e_0 = tsr.rename %arg1 [place] to [seq] as "e" : !place_embed -> !seq_embed
    %e_1 = tsr.add %e, %e_0 as "e" : !batch_seq_embed, !seq_embed
    %y = tsr.repeat [layer: 12] index %arg23 carry (%arg24 = %e_1 : !batch_seq_embed) slice
        (%arg25 = %arg2 : !layer_embed, %arg26 = %arg3 : !layer_embed, %arg27 = %arg4 : !layer_head_hd_embed, %arg28 = %arg5 : !layer_head_hd_embed, %arg29 =
        %arg6 : !layer_head_hd_embed, %arg30 = %arg7 : !layer_head_hd_embed, %arg31 = %arg8 : !layer_head_hd, %arg32 = %arg9 : !layer_head_hd, %arg33 = %arg10 :
        !layer_head_hd, %arg34 = %arg11 : !layer_embed, %arg35 = %arg12 : !layer_embed, %arg36 = %arg13 : !layer_embed, %arg37 = %arg14 : !layer_embed_ff,
        %arg38 = %arg15 : !layer_embed_ff, %arg39 = %arg16 : !layer_ff, %arg40 = %arg17 : !layer_embed) -> !batch_seq_embed as "y" {
      %centred_22 = tsr.reduce sum %arg24 over [embed] as "h.ln_1.centred" : !batch_seq_embed
      %c0.0013020834_23 = tsr.constant 0.0013020834
      %centred_24 = tsr.mul %centred_22, %c0.0013020834_23 as "h.ln_1.centred" : !batch_seq, !f32
      %centred_25 = tsr.sub %arg24, %centred_24 as "h.ln_1.centred" : !batch_seq_embed, !batch_seq
      %variance_26 = tsr.mul %centred_25, %centred_25 as "h.ln_1.variance" : !batch_seq_embed
      %variance_27 = tsr.reduce sum %variance_26 over [embed] as "h.ln_1.variance" : !batch_seq_embed
      %c0.0013020834_28 = tsr.constant 0.0013020834
      %variance_29 = tsr.mul %variance_27, %c0.0013020834_28 as "h.ln_1.variance" : !batch_seq, !f32
      %c1.0e-05_30 = tsr.constant 1.0e-05
      %ln_1 = tsr.add %variance_29, %c1.0e-05_30 as "h.ln_1" : !batch_seq, !f32
      %ln_1_31 = tsr.rsqrt %ln_1 as "h.ln_1" : !batch_seq
      %ln_1_32 = tsr.mul %centred_25, %ln_1_31 as "h.ln_1" : !batch_seq_embed, !batch_seq
      %ln_1_33 = tsr.mul %ln_1_32, %arg25 as "h.ln_1" : !batch_seq_embed, !embed
      %ln_1_34 = tsr.add %ln_1_33, %arg26 as "h.ln_1" : !batch_seq_embed, !embed
      %past = tsr.rename %ln_1_34 [seq] to [key] as "h.attn.past" : !batch_seq_embed -> !batch_embed_key
      %q = tsr.contract %ln_1_34, %arg27 over [embed] as "h.attn.q" : (!batch_seq_embed, !head_hd_embed) -> !batch_seq_head_hd
      %q_35 = tsr.add %q, %arg31 as "h.attn.q" : !batch_seq_head_hd, !head_hd
      %k = tsr.contract %past, %arg28 over [embed] as "h.attn.k" : (!batch_embed_key, !head_hd_embed) -> !batch_head_hd_key
      %k_36 = tsr.add %k, %arg32 as "h.attn.k" : !batch_head_hd_key, !head_hd
      %v = tsr.contract %past, %arg29 over [embed] as "h.attn.v" : (!batch_embed_key, !head_hd_embed) -> !batch_head_hd_key
      %v_37 = tsr.add %v, %arg33 as "h.attn.v" : !batch_head_hd_key, !head_hd
      %score = tsr.contract %q_35, %k_36 over [hd] as "h.attn.score" : (!batch_seq_head_hd, !batch_head_hd_key) -> !batch_seq_head_key
      %c8.0 = tsr.constant 8.0
      %score_38 = tsr.div %score, %c8.0 as "h.attn.score" : !batch_seq_head_key, !f32
      %3 = tsr.index : !key_i32
      %4 = tsr.index : !seq_i32
      %p = tsr.compare le %3, %4 as "h.attn.p" : !key_i32, !seq_i32 -> !seq_key_i1
      %c-inf = tsr.constant 0xFF800000 : f32
      %p_39 = tsr.select %p, %score_38, %c-inf as "h.attn.p" : !seq_key_i1, !batch_seq_head_key, !f32
      %top_40 = tsr.reduce max %p_39 over [key] as "h.attn.softmax.top" : !batch_seq_head_key
      %c-inf_41 = tsr.constant 0xFF800000 : f32
      %e_42 = tsr.compare eq %top_40, %c-inf_41 as "h.attn.softmax.e" : !batch_seq_head, !f32
      %c0.0_43 = tsr.constant 0.0
      %e_44 = tsr.select %e_42, %c0.0_43, %top_40 as "h.attn.softmax.e" : !batch_seq_head_i1, !f32, !batch_seq_head
      %e_45 = tsr.sub %p_39, %e_44 as "h.attn.softmax.e" : !batch_seq_head_key, !batch_seq_head
      %e_46 = tsr.exp %e_45 as "h.attn.softmax.e" : !batch_seq_head_key
      %total_47 = tsr.reduce sum %e_46 over [key] as "h.attn.softmax.total" : !batch_seq_head_key
      %c0.0_48 = tsr.constant 0.0
      %softmax = tsr.compare eq %total_47, %c0.0_48 as "h.attn.softmax" : !batch_seq_head, !f32
      %c1.0_49 = tsr.constant 1.0
      %softmax_50 = tsr.select %softmax, %c1.0_49, %total_47 as "h.attn.softmax" : !batch_seq_head_i1, !f32, !batch_seq_head
      %softmax_51 = tsr.div %e_46, %softmax_50 as "h.attn.softmax" : !batch_seq_head_key, !batch_seq_head
      %attn = tsr.contract %softmax_51, %v_37 over [key] as "h.attn" : (!batch_seq_head_key, !batch_head_hd_key) -> !batch_seq_head_hd
      %attn_52 = tsr.contract %attn, %arg30 over [head, hd] as "h.attn" : (!batch_seq_head_hd, !head_hd_embed) -> !batch_seq_embed
      %attn_53 = tsr.add %attn_52, %arg34 as "h.attn" : !batch_seq_embed, !embed
      %a = tsr.add %arg24, %attn_53 as "h.a" : !batch_seq_embed
      %centred_54 = tsr.reduce sum %a over [embed] as "h.ln_2.centred" : !batch_seq_embed
      %c0.0013020834_55 = tsr.constant 0.0013020834
      %centred_56 = tsr.mul %centred_54, %c0.0013020834_55 as "h.ln_2.centred" : !batch_seq, !f32
      %centred_57 = tsr.sub %a, %centred_56 as "h.ln_2.centred" : !batch_seq_embed, !batch_seq
      %variance_58 = tsr.mul %centred_57, %centred_57 as "h.ln_2.variance" : !batch_seq_embed
      %variance_59 = tsr.reduce sum %variance_58 over [embed] as "h.ln_2.variance" : !batch_seq_embed
      %c0.0013020834_60 = tsr.constant 0.0013020834
      %variance_61 = tsr.mul %variance_59, %c0.0013020834_60 as "h.ln_2.variance" : !batch_seq, !f32
      %c1.0e-05_62 = tsr.constant 1.0e-05
      %ln_2 = tsr.add %variance_61, %c1.0e-05_62 as "h.ln_2" : !batch_seq, !f32
      %ln_2_63 = tsr.rsqrt %ln_2 as "h.ln_2" : !batch_seq
      %ln_2_64 = tsr.mul %centred_57, %ln_2_63 as "h.ln_2" : !batch_seq_embed, !batch_seq
      %ln_2_65 = tsr.mul %ln_2_64, %arg35 as "h.ln_2" : !batch_seq_embed, !embed
      %ln_2_66 = tsr.add %ln_2_65, %arg36 as "h.ln_2" : !batch_seq_embed, !embed
      %mlp = tsr.contract %ln_2_66, %arg37 over [embed] as "h.mlp" : (!batch_seq_embed, !embed_ff) -> !batch_seq_ff
      %mlp_67 = tsr.add %mlp, %arg39 as "h.mlp" : !batch_seq_ff, !ff
      %c0.5 = tsr.constant 0.5
      %gelu_tanh = tsr.mul %c0.5, %mlp_67 as "h.mlp.gelu_tanh" : !f32, !batch_seq_ff
      %gelu_tanh_68 = tsr.mul %mlp_67, %mlp_67 as "h.mlp.gelu_tanh" : !batch_seq_ff
      %gelu_tanh_69 = tsr.mul %gelu_tanh_68, %mlp_67 as "h.mlp.gelu_tanh" : !batch_seq_ff
      %c0.044715 = tsr.constant 0.044715
      %gelu_tanh_70 = tsr.mul %c0.044715, %gelu_tanh_69 as "h.mlp.gelu_tanh" : !f32, !batch_seq_ff
      %gelu_tanh_71 = tsr.add %mlp_67, %gelu_tanh_70 as "h.mlp.gelu_tanh" : !batch_seq_ff
      %c0.7978846 = tsr.constant 0.7978846
      %gelu_tanh_72 = tsr.mul %c0.7978846, %gelu_tanh_71 as "h.mlp.gelu_tanh" : !f32, !batch_seq_ff
      %gelu_tanh_73 = tsr.tanh %gelu_tanh_72 as "h.mlp.gelu_tanh" : !batch_seq_ff
      %c1.0_74 = tsr.constant 1.0
      %gelu_tanh_75 = tsr.add %c1.0_74, %gelu_tanh_73 as "h.mlp.gelu_tanh" : !f32, !batch_seq_ff
      %gelu_tanh_76 = tsr.mul %gelu_tanh, %gelu_tanh_75 as "h.mlp.gelu_tanh" : !batch_seq_ff
      %mlp_77 = tsr.contract %gelu_tanh_76, %arg38 over [ff] as "h.mlp" : (!batch_seq_ff, !embed_ff) -> !batch_seq_embed
      %mlp_78 = tsr.add %mlp_77, %arg40 as "h.mlp" : !batch_seq_embed, !embed
      %h = tsr.add %a, %mlp_78 as "h" : !batch_seq_embed
      tsr.yield %h : !batch_seq_embed
    }
    %centred = tsr.reduce sum %y over [embed] as "ln_f.centred" : !batch_seq_embed
    %c0.0013020834 = tsr.constant 0.0013020834
    %centred_2 = tsr.mul %centred, %c0.0013020834 as "ln_f.centred" : !batch_seq, !f32
    %centred_3 = tsr.sub %y, %centred_2 as "ln_f.centred" : !batch_seq_embed, !batch_seq
    %variance = tsr.mul %centred_3, %centred_3 as "ln_f.variance" : !batch_seq_embed
    %variance_4 = tsr.reduce sum %variance over [embed] as "ln_f.variance" : !batch_seq_embed
    %c0.0013020834_5 = tsr.constant 0.0013020834
    %variance_6 = tsr.mul %variance_4, %c0.0013020834_5 as "ln_f.variance" : !batch_seq, !f32
    %c1.0e-05 = tsr.constant 1.0e-05
    %ln_f = tsr.add %variance_6, %c1.0e-05 as "ln_f" : !batch_seq, !f32
    %ln_f_7 = tsr.rsqrt %ln_f as "ln_f" : !batch_seq
    %ln_f_8 = tsr.mul %centred_3, %ln_f_7 as "ln_f" : !batch_seq_embed, !batch_seq
    %ln_f_9 = tsr.mul %ln_f_8, %arg18 as "ln_f" : !batch_seq_embed, !embed
    %ln_f_10 = tsr.add %ln_f_9, %arg19 as "ln_f" : !batch_seq_embed, !embed
    %1 = tsr.contract %ln_f_10, %arg0 over [embed] : (!batch_seq_embed, !vocab_embed) -> !batch_seq_vocab
    %top = tsr.reduce max %1 over [vocab] as "cross_entropy.top" : !batch_seq_vocab
    %total = tsr.sub %1, %top as "cross_entropy.total" : !batch_seq_vocab, !batch_seq
    %total_11 = tsr.exp %total as "cross_entropy.total" : !batch_seq_vocab
    %total_12 = tsr.reduce sum %total_11 over [vocab] as "cross_entropy.total" : !batch_seq_vocab
    %cross_entropy = tsr.log %total_12 as "cross_entropy" : !batch_seq
    %cross_entropy_13 = tsr.add %cross_entropy, %top as "cross_entropy" : !batch_seq
    %cross_entropy_14 = tsr.gather %1[[vocab] = %arg22] as "cross_entropy" : (!batch_seq_vocab, !batch_seq_i32) -> !batch_seq
    %cross_entropy_15 = tsr.sub %cross_entropy_13, %cross_entropy_14 as "cross_entropy" : !batch_seq
    %ce = tsr.reduce sum %arg20 over [batch] as "ce" : !batch
    %c1024.0 = tsr.constant 1024.0
    %ce_16 = tsr.mul %ce, %c1024.0 as "ce" : !f32
    %ce_17 = tsr.mul %cross_entropy_15, %arg20 as "ce" : !batch_seq, !batch
    %ce_18 = tsr.reduce sum %ce_17 over [batch, seq] as "ce" : !batch_seq
    %c0.0 = tsr.constant 0.0
    %ce_19 = tsr.compare eq %ce_16, %c0.0 as "ce" : !f32
    %c1.0 = tsr.constant 1.0
    %ce_20 = tsr.select %ce_19, %c1.0, %ce_16 as "ce" : !i1, !f32
    %ce_21 = tsr.div %ce_18, %ce_20 as "ce" : !f32
    %2 = tsr.reduce sum %arg20 over [batch] : !batch
    return %ce_21, %ce_16 : !f32, !f32
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
    %e_0 = tsr.rename %arg1 [place] to [seq] as "e" : !place_embed -> !seq_embed
    %e_1 = tsr.add %e, %e_0 as "e" : !batch_seq_embed, !seq_embed
    %y = tsr.repeat [layer: 12] index %arg21 carry (%arg22 = %e_1 : !batch_seq_embed) slice
        (%arg23 = %arg2 : !layer_embed, %arg24 = %arg3 : !layer_embed, %arg25 = %arg4 : !layer_head_hd_embed, %arg26 = %arg5 : !layer_head_hd_embed, %arg27 =
        %arg6 : !layer_head_hd_embed, %arg28 = %arg7 : !layer_head_hd_embed, %arg29 = %arg8 : !layer_head_hd, %arg30 = %arg9 : !layer_head_hd, %arg31 = %arg10 :
        !layer_head_hd, %arg32 = %arg11 : !layer_embed, %arg33 = %arg12 : !layer_embed, %arg34 = %arg13 : !layer_embed, %arg35 = %arg14 : !layer_embed_ff,
        %arg36 = %arg15 : !layer_embed_ff, %arg37 = %arg16 : !layer_ff, %arg38 = %arg17 : !layer_embed) -> !batch_seq_embed as "y" {
      %centred_11 = tsr.reduce sum %arg22 over [embed] as "h.ln_1.centred" : !batch_seq_embed
      %c0.0013020834_12 = tsr.constant 0.0013020834
      %centred_13 = tsr.mul %centred_11, %c0.0013020834_12 as "h.ln_1.centred" : !batch_seq, !f32
      %centred_14 = tsr.sub %arg22, %centred_13 as "h.ln_1.centred" : !batch_seq_embed, !batch_seq
      %variance_15 = tsr.mul %centred_14, %centred_14 as "h.ln_1.variance" : !batch_seq_embed
      %variance_16 = tsr.reduce sum %variance_15 over [embed] as "h.ln_1.variance" : !batch_seq_embed
      %c0.0013020834_17 = tsr.constant 0.0013020834
      %variance_18 = tsr.mul %variance_16, %c0.0013020834_17 as "h.ln_1.variance" : !batch_seq, !f32
      %c1.0e-05_19 = tsr.constant 1.0e-05
      %ln_1 = tsr.add %variance_18, %c1.0e-05_19 as "h.ln_1" : !batch_seq, !f32
      %ln_1_20 = tsr.rsqrt %ln_1 as "h.ln_1" : !batch_seq
      %ln_1_21 = tsr.mul %centred_14, %ln_1_20 as "h.ln_1" : !batch_seq_embed, !batch_seq
      %ln_1_22 = tsr.mul %ln_1_21, %arg23 as "h.ln_1" : !batch_seq_embed, !embed
      %ln_1_23 = tsr.add %ln_1_22, %arg24 as "h.ln_1" : !batch_seq_embed, !embed
      %past = tsr.rename %ln_1_23 [seq] to [key] as "h.attn.past" : !batch_seq_embed -> !batch_embed_key
      %q = tsr.contract %ln_1_23, %arg25 over [embed] as "h.attn.q" : (!batch_seq_embed, !head_hd_embed) -> !batch_seq_head_hd
      %q_24 = tsr.add %q, %arg29 as "h.attn.q" : !batch_seq_head_hd, !head_hd
      %k = tsr.contract %past, %arg26 over [embed] as "h.attn.k" : (!batch_embed_key, !head_hd_embed) -> !batch_head_hd_key
      %k_25 = tsr.add %k, %arg30 as "h.attn.k" : !batch_head_hd_key, !head_hd
      %v = tsr.contract %past, %arg27 over [embed] as "h.attn.v" : (!batch_embed_key, !head_hd_embed) -> !batch_head_hd_key
      %v_26 = tsr.add %v, %arg31 as "h.attn.v" : !batch_head_hd_key, !head_hd
      %score = tsr.contract %q_24, %k_25 over [hd] as "h.attn.score" : (!batch_seq_head_hd, !batch_head_hd_key) -> !batch_seq_head_key
      %c8.0 = tsr.constant 8.0
      %score_27 = tsr.div %score, %c8.0 as "h.attn.score" : !batch_seq_head_key, !f32
      %1 = tsr.index : !key_i32
      %2 = tsr.index : !seq_i32
      %p = tsr.compare le %1, %2 as "h.attn.p" : !key_i32, !seq_i32 -> !seq_key_i1
      %c-inf = tsr.constant 0xFF800000 : f32
      %p_28 = tsr.select %p, %score_27, %c-inf as "h.attn.p" : !seq_key_i1, !batch_seq_head_key, !f32
      %top = tsr.reduce max %p_28 over [key] as "h.attn.softmax.top" : !batch_seq_head_key
      %c-inf_29 = tsr.constant 0xFF800000 : f32
      %e_30 = tsr.compare eq %top, %c-inf_29 as "h.attn.softmax.e" : !batch_seq_head, !f32
      %c0.0 = tsr.constant 0.0
      %e_31 = tsr.select %e_30, %c0.0, %top as "h.attn.softmax.e" : !batch_seq_head_i1, !f32, !batch_seq_head
      %e_32 = tsr.sub %p_28, %e_31 as "h.attn.softmax.e" : !batch_seq_head_key, !batch_seq_head
      %e_33 = tsr.exp %e_32 as "h.attn.softmax.e" : !batch_seq_head_key
      %total = tsr.reduce sum %e_33 over [key] as "h.attn.softmax.total" : !batch_seq_head_key
      %c0.0_34 = tsr.constant 0.0
      %softmax = tsr.compare eq %total, %c0.0_34 as "h.attn.softmax" : !batch_seq_head, !f32
      %c1.0 = tsr.constant 1.0
      %softmax_35 = tsr.select %softmax, %c1.0, %total as "h.attn.softmax" : !batch_seq_head_i1, !f32, !batch_seq_head
      %softmax_36 = tsr.div %e_33, %softmax_35 as "h.attn.softmax" : !batch_seq_head_key, !batch_seq_head
      %attn = tsr.contract %softmax_36, %v_26 over [key] as "h.attn" : (!batch_seq_head_key, !batch_head_hd_key) -> !batch_seq_head_hd
      %attn_37 = tsr.contract %attn, %arg28 over [head, hd] as "h.attn" : (!batch_seq_head_hd, !head_hd_embed) -> !batch_seq_embed
      %attn_38 = tsr.add %attn_37, %arg32 as "h.attn" : !batch_seq_embed, !embed
      %a = tsr.add %arg22, %attn_38 as "h.a" : !batch_seq_embed
      %centred_39 = tsr.reduce sum %a over [embed] as "h.ln_2.centred" : !batch_seq_embed
      %c0.0013020834_40 = tsr.constant 0.0013020834
      %centred_41 = tsr.mul %centred_39, %c0.0013020834_40 as "h.ln_2.centred" : !batch_seq, !f32
      %centred_42 = tsr.sub %a, %centred_41 as "h.ln_2.centred" : !batch_seq_embed, !batch_seq
      %variance_43 = tsr.mul %centred_42, %centred_42 as "h.ln_2.variance" : !batch_seq_embed
      %variance_44 = tsr.reduce sum %variance_43 over [embed] as "h.ln_2.variance" : !batch_seq_embed
      %c0.0013020834_45 = tsr.constant 0.0013020834
      %variance_46 = tsr.mul %variance_44, %c0.0013020834_45 as "h.ln_2.variance" : !batch_seq, !f32
      %c1.0e-05_47 = tsr.constant 1.0e-05
      %ln_2 = tsr.add %variance_46, %c1.0e-05_47 as "h.ln_2" : !batch_seq, !f32
      %ln_2_48 = tsr.rsqrt %ln_2 as "h.ln_2" : !batch_seq
      %ln_2_49 = tsr.mul %centred_42, %ln_2_48 as "h.ln_2" : !batch_seq_embed, !batch_seq
      %ln_2_50 = tsr.mul %ln_2_49, %arg33 as "h.ln_2" : !batch_seq_embed, !embed
      %ln_2_51 = tsr.add %ln_2_50, %arg34 as "h.ln_2" : !batch_seq_embed, !embed
      %mlp = tsr.contract %ln_2_51, %arg35 over [embed] as "h.mlp" : (!batch_seq_embed, !embed_ff) -> !batch_seq_ff
      %mlp_52 = tsr.add %mlp, %arg37 as "h.mlp" : !batch_seq_ff, !ff
      %c0.5 = tsr.constant 0.5
      %gelu_tanh = tsr.mul %c0.5, %mlp_52 as "h.mlp.gelu_tanh" : !f32, !batch_seq_ff
      %gelu_tanh_53 = tsr.mul %mlp_52, %mlp_52 as "h.mlp.gelu_tanh" : !batch_seq_ff
      %gelu_tanh_54 = tsr.mul %gelu_tanh_53, %mlp_52 as "h.mlp.gelu_tanh" : !batch_seq_ff
      %c0.044715 = tsr.constant 0.044715
      %gelu_tanh_55 = tsr.mul %c0.044715, %gelu_tanh_54 as "h.mlp.gelu_tanh" : !f32, !batch_seq_ff
      %gelu_tanh_56 = tsr.add %mlp_52, %gelu_tanh_55 as "h.mlp.gelu_tanh" : !batch_seq_ff
      %c0.7978846 = tsr.constant 0.7978846
      %gelu_tanh_57 = tsr.mul %c0.7978846, %gelu_tanh_56 as "h.mlp.gelu_tanh" : !f32, !batch_seq_ff
      %gelu_tanh_58 = tsr.tanh %gelu_tanh_57 as "h.mlp.gelu_tanh" : !batch_seq_ff
      %c1.0_59 = tsr.constant 1.0
      %gelu_tanh_60 = tsr.add %c1.0_59, %gelu_tanh_58 as "h.mlp.gelu_tanh" : !f32, !batch_seq_ff
      %gelu_tanh_61 = tsr.mul %gelu_tanh, %gelu_tanh_60 as "h.mlp.gelu_tanh" : !batch_seq_ff
      %mlp_62 = tsr.contract %gelu_tanh_61, %arg36 over [ff] as "h.mlp" : (!batch_seq_ff, !embed_ff) -> !batch_seq_embed
      %mlp_63 = tsr.add %mlp_62, %arg38 as "h.mlp" : !batch_seq_embed, !embed
      %h = tsr.add %a, %mlp_63 as "h" : !batch_seq_embed
      tsr.yield %h : !batch_seq_embed
    }
    %centred = tsr.reduce sum %y over [embed] as "ln_f.centred" : !batch_seq_embed
    %c0.0013020834 = tsr.constant 0.0013020834
    %centred_2 = tsr.mul %centred, %c0.0013020834 as "ln_f.centred" : !batch_seq, !f32
    %centred_3 = tsr.sub %y, %centred_2 as "ln_f.centred" : !batch_seq_embed, !batch_seq
    %variance = tsr.mul %centred_3, %centred_3 as "ln_f.variance" : !batch_seq_embed
    %variance_4 = tsr.reduce sum %variance over [embed] as "ln_f.variance" : !batch_seq_embed
    %c0.0013020834_5 = tsr.constant 0.0013020834
    %variance_6 = tsr.mul %variance_4, %c0.0013020834_5 as "ln_f.variance" : !batch_seq, !f32
    %c1.0e-05 = tsr.constant 1.0e-05
    %ln_f = tsr.add %variance_6, %c1.0e-05 as "ln_f" : !batch_seq, !f32
    %ln_f_7 = tsr.rsqrt %ln_f as "ln_f" : !batch_seq
    %ln_f_8 = tsr.mul %centred_3, %ln_f_7 as "ln_f" : !batch_seq_embed, !batch_seq
    %ln_f_9 = tsr.mul %ln_f_8, %arg18 as "ln_f" : !batch_seq_embed, !embed
    %ln_f_10 = tsr.add %ln_f_9, %arg19 as "ln_f" : !batch_seq_embed, !embed
    %0 = tsr.contract %ln_f_10, %arg0 over [embed] : (!batch_seq_embed, !vocab_embed) -> !batch_seq_vocab
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
    %e_0 = tsr.rename %arg1 [place] to [seq] as "e" : !place_embed -> !seq_embed
    %e_1 = tsr.add %e, %e_0 as "e" : !batch_seq_embed1, !seq_embed
    %y = tsr.repeat [layer: 12] index %arg21 carry (%arg22 = %e_1 : !batch_seq_embed1) slice
        (%arg23 = %arg2 : !layer_embed, %arg24 = %arg3 : !layer_embed, %arg25 = %arg4 : !layer_head_hd_embed, %arg26 = %arg5 : !layer_head_hd_embed, %arg27 =
        %arg6 : !layer_head_hd_embed, %arg28 = %arg7 : !layer_head_hd_embed, %arg29 = %arg8 : !layer_head_hd, %arg30 = %arg9 : !layer_head_hd, %arg31 = %arg10 :
        !layer_head_hd, %arg32 = %arg11 : !layer_embed, %arg33 = %arg12 : !layer_embed, %arg34 = %arg13 : !layer_embed, %arg35 = %arg14 : !layer_embed_ff,
        %arg36 = %arg15 : !layer_embed_ff, %arg37 = %arg16 : !layer_ff, %arg38 = %arg17 : !layer_embed) -> !batch_seq_embed1 as "y" {
      %centred_11 = tsr.reduce sum %arg22 over [embed] as "h.ln_1.centred" : !batch_seq_embed1
      %c0.0013020834_12 = tsr.constant 0.0013020834
      %centred_13 = tsr.mul %centred_11, %c0.0013020834_12 as "h.ln_1.centred" : !batch_seq1, !f32
      %centred_14 = tsr.sub %arg22, %centred_13 as "h.ln_1.centred" : !batch_seq_embed1, !batch_seq1
      %variance_15 = tsr.mul %centred_14, %centred_14 as "h.ln_1.variance" : !batch_seq_embed1
      %variance_16 = tsr.reduce sum %variance_15 over [embed] as "h.ln_1.variance" : !batch_seq_embed1
      %c0.0013020834_17 = tsr.constant 0.0013020834
      %variance_18 = tsr.mul %variance_16, %c0.0013020834_17 as "h.ln_1.variance" : !batch_seq1, !f32
      %c1.0e-05_19 = tsr.constant 1.0e-05
      %ln_1 = tsr.add %variance_18, %c1.0e-05_19 as "h.ln_1" : !batch_seq1, !f32
      %ln_1_20 = tsr.rsqrt %ln_1 as "h.ln_1" : !batch_seq1
      %ln_1_21 = tsr.mul %centred_14, %ln_1_20 as "h.ln_1" : !batch_seq_embed1, !batch_seq1
      %ln_1_22 = tsr.mul %ln_1_21, %arg23 as "h.ln_1" : !batch_seq_embed1, !embed
      %ln_1_23 = tsr.add %ln_1_22, %arg24 as "h.ln_1" : !batch_seq_embed1, !embed
      %past = tsr.rename %ln_1_23 [seq] to [key] as "h.attn.past" : !batch_seq_embed1 -> !batch_embed_key1
      %q = tsr.contract %ln_1_23, %arg25 over [embed] as "h.attn.q" : (!batch_seq_embed1, !head_hd_embed) -> !batch_seq_head_hd1
      %q_24 = tsr.add %q, %arg29 as "h.attn.q" : !batch_seq_head_hd1, !head_hd
      %k = tsr.contract %past, %arg26 over [embed] as "h.attn.k" : (!batch_embed_key1, !head_hd_embed) -> !batch_head_hd_key1
      %k_25 = tsr.add %k, %arg30 as "h.attn.k" : !batch_head_hd_key1, !head_hd
      %v = tsr.contract %past, %arg27 over [embed] as "h.attn.v" : (!batch_embed_key1, !head_hd_embed) -> !batch_head_hd_key1
      %v_26 = tsr.add %v, %arg31 as "h.attn.v" : !batch_head_hd_key1, !head_hd
      %score = tsr.contract %q_24, %k_25 over [hd] as "h.attn.score" : (!batch_seq_head_hd1, !batch_head_hd_key1) -> !batch_seq_head_key1
      %c8.0 = tsr.constant 8.0
      %score_27 = tsr.div %score, %c8.0 as "h.attn.score" : !batch_seq_head_key1, !f32
      %2 = tsr.index : !key_i32
      %3 = tsr.index : !seq_i32
      %p = tsr.compare le %2, %3 as "h.attn.p" : !key_i32, !seq_i32 -> !seq_key_i1
      %c-inf = tsr.constant 0xFF800000 : f32
      %p_28 = tsr.select %p, %score_27, %c-inf as "h.attn.p" : !seq_key_i1, !batch_seq_head_key1, !f32
      %top = tsr.reduce max %p_28 over [key] as "h.attn.softmax.top" : !batch_seq_head_key1
      %c-inf_29 = tsr.constant 0xFF800000 : f32
      %e_30 = tsr.compare eq %top, %c-inf_29 as "h.attn.softmax.e" : !batch_seq_head1, !f32
      %c0.0 = tsr.constant 0.0
      %e_31 = tsr.select %e_30, %c0.0, %top as "h.attn.softmax.e" : !batch_seq_head_i1_1, !f32, !batch_seq_head1
      %e_32 = tsr.sub %p_28, %e_31 as "h.attn.softmax.e" : !batch_seq_head_key1, !batch_seq_head1
      %e_33 = tsr.exp %e_32 as "h.attn.softmax.e" : !batch_seq_head_key1
      %total = tsr.reduce sum %e_33 over [key] as "h.attn.softmax.total" : !batch_seq_head_key1
      %c0.0_34 = tsr.constant 0.0
      %softmax = tsr.compare eq %total, %c0.0_34 as "h.attn.softmax" : !batch_seq_head1, !f32
      %c1.0 = tsr.constant 1.0
      %softmax_35 = tsr.select %softmax, %c1.0, %total as "h.attn.softmax" : !batch_seq_head_i1_1, !f32, !batch_seq_head1
      %softmax_36 = tsr.div %e_33, %softmax_35 as "h.attn.softmax" : !batch_seq_head_key1, !batch_seq_head1
      %attn = tsr.contract %softmax_36, %v_26 over [key] as "h.attn" : (!batch_seq_head_key1, !batch_head_hd_key1) -> !batch_seq_head_hd1
      %attn_37 = tsr.contract %attn, %arg28 over [head, hd] as "h.attn" : (!batch_seq_head_hd1, !head_hd_embed) -> !batch_seq_embed1
      %attn_38 = tsr.add %attn_37, %arg32 as "h.attn" : !batch_seq_embed1, !embed
      %a = tsr.add %arg22, %attn_38 as "h.a" : !batch_seq_embed1
      %centred_39 = tsr.reduce sum %a over [embed] as "h.ln_2.centred" : !batch_seq_embed1
      %c0.0013020834_40 = tsr.constant 0.0013020834
      %centred_41 = tsr.mul %centred_39, %c0.0013020834_40 as "h.ln_2.centred" : !batch_seq1, !f32
      %centred_42 = tsr.sub %a, %centred_41 as "h.ln_2.centred" : !batch_seq_embed1, !batch_seq1
      %variance_43 = tsr.mul %centred_42, %centred_42 as "h.ln_2.variance" : !batch_seq_embed1
      %variance_44 = tsr.reduce sum %variance_43 over [embed] as "h.ln_2.variance" : !batch_seq_embed1
      %c0.0013020834_45 = tsr.constant 0.0013020834
      %variance_46 = tsr.mul %variance_44, %c0.0013020834_45 as "h.ln_2.variance" : !batch_seq1, !f32
      %c1.0e-05_47 = tsr.constant 1.0e-05
      %ln_2 = tsr.add %variance_46, %c1.0e-05_47 as "h.ln_2" : !batch_seq1, !f32
      %ln_2_48 = tsr.rsqrt %ln_2 as "h.ln_2" : !batch_seq1
      %ln_2_49 = tsr.mul %centred_42, %ln_2_48 as "h.ln_2" : !batch_seq_embed1, !batch_seq1
      %ln_2_50 = tsr.mul %ln_2_49, %arg33 as "h.ln_2" : !batch_seq_embed1, !embed
      %ln_2_51 = tsr.add %ln_2_50, %arg34 as "h.ln_2" : !batch_seq_embed1, !embed
      %mlp = tsr.contract %ln_2_51, %arg35 over [embed] as "h.mlp" : (!batch_seq_embed1, !embed_ff) -> !batch_seq_ff1
      %mlp_52 = tsr.add %mlp, %arg37 as "h.mlp" : !batch_seq_ff1, !ff
      %c0.5 = tsr.constant 0.5
      %gelu_tanh = tsr.mul %c0.5, %mlp_52 as "h.mlp.gelu_tanh" : !f32, !batch_seq_ff1
      %gelu_tanh_53 = tsr.mul %mlp_52, %mlp_52 as "h.mlp.gelu_tanh" : !batch_seq_ff1
      %gelu_tanh_54 = tsr.mul %gelu_tanh_53, %mlp_52 as "h.mlp.gelu_tanh" : !batch_seq_ff1
      %c0.044715 = tsr.constant 0.044715
      %gelu_tanh_55 = tsr.mul %c0.044715, %gelu_tanh_54 as "h.mlp.gelu_tanh" : !f32, !batch_seq_ff1
      %gelu_tanh_56 = tsr.add %mlp_52, %gelu_tanh_55 as "h.mlp.gelu_tanh" : !batch_seq_ff1
      %c0.7978846 = tsr.constant 0.7978846
      %gelu_tanh_57 = tsr.mul %c0.7978846, %gelu_tanh_56 as "h.mlp.gelu_tanh" : !f32, !batch_seq_ff1
      %gelu_tanh_58 = tsr.tanh %gelu_tanh_57 as "h.mlp.gelu_tanh" : !batch_seq_ff1
      %c1.0_59 = tsr.constant 1.0
      %gelu_tanh_60 = tsr.add %c1.0_59, %gelu_tanh_58 as "h.mlp.gelu_tanh" : !f32, !batch_seq_ff1
      %gelu_tanh_61 = tsr.mul %gelu_tanh, %gelu_tanh_60 as "h.mlp.gelu_tanh" : !batch_seq_ff1
      %mlp_62 = tsr.contract %gelu_tanh_61, %arg36 over [ff] as "h.mlp" : (!batch_seq_ff1, !embed_ff) -> !batch_seq_embed1
      %mlp_63 = tsr.add %mlp_62, %arg38 as "h.mlp" : !batch_seq_embed1, !embed
      %h = tsr.add %a, %mlp_63 as "h" : !batch_seq_embed1
      tsr.yield %h : !batch_seq_embed1
    }
    %centred = tsr.reduce sum %y over [embed] as "ln_f.centred" : !batch_seq_embed1
    %c0.0013020834 = tsr.constant 0.0013020834
    %centred_2 = tsr.mul %centred, %c0.0013020834 as "ln_f.centred" : !batch_seq1, !f32
    %centred_3 = tsr.sub %y, %centred_2 as "ln_f.centred" : !batch_seq_embed1, !batch_seq1
    %variance = tsr.mul %centred_3, %centred_3 as "ln_f.variance" : !batch_seq_embed1
    %variance_4 = tsr.reduce sum %variance over [embed] as "ln_f.variance" : !batch_seq_embed1
    %c0.0013020834_5 = tsr.constant 0.0013020834
    %variance_6 = tsr.mul %variance_4, %c0.0013020834_5 as "ln_f.variance" : !batch_seq1, !f32
    %c1.0e-05 = tsr.constant 1.0e-05
    %ln_f = tsr.add %variance_6, %c1.0e-05 as "ln_f" : !batch_seq1, !f32
    %ln_f_7 = tsr.rsqrt %ln_f as "ln_f" : !batch_seq1
    %ln_f_8 = tsr.mul %centred_3, %ln_f_7 as "ln_f" : !batch_seq_embed1, !batch_seq1
    %ln_f_9 = tsr.mul %ln_f_8, %arg18 as "ln_f" : !batch_seq_embed1, !embed
    %ln_f_10 = tsr.add %ln_f_9, %arg19 as "ln_f" : !batch_seq_embed1, !embed
    %1 = tsr.contract %ln_f_10, %arg0 over [embed] : (!batch_seq_embed1, !vocab_embed) -> !batch_seq_vocab1
    return %1 : !batch_seq_vocab1
  }
}

