"""GPT-2 and LLaMA in PyTorch, on weights with Hugging Face's names and shapes, computed as `transformers` does: Conv1D
and merged queries, keys and values in GPT-2; nn.Linear, rotated halves and repeated key heads in LLaMA.

usage: hugging_face.py      compares the first loss of each with that of `transformers`, which must be installed
"""

import math
import sys

import torch
from torch.nn import functional

import make_weights


def causal(scores):
    length = scores.shape[-1]
    future = torch.triu(torch.ones(length, length, dtype=torch.bool), diagonal=1)
    return torch.softmax(scores.masked_fill(future, -math.inf), -1)


def conv1d(x, w, name):
    """GPT-2's Conv1D: its weight is [in, out]."""
    return x @ w[name + ".weight"] + w[name + ".bias"]


def gpt2_logits(case, w, tokens):
    heads, width = case.heads, case.embed
    norm = lambda x, name: functional.layer_norm(x, (width,), w[name + ".weight"], w[name + ".bias"], 1e-5)
    split = lambda x: x.view(*x.shape[:2], heads, -1).transpose(1, 2)
    x = w["transformer.wte.weight"][tokens] + w["transformer.wpe.weight"][: tokens.shape[1]]
    for layer in range(case.layers):
        h = f"transformer.h.{layer}."
        q, k, v = map(split, conv1d(norm(x, h + "ln_1"), w, h + "attn.c_attn").split(width, dim=2))
        mixed = causal(q @ k.transpose(-1, -2) / math.sqrt(q.shape[-1])) @ v
        x = x + conv1d(mixed.transpose(1, 2).reshape(x.shape), w, h + "attn.c_proj")
        wide = functional.gelu(conv1d(norm(x, h + "ln_2"), w, h + "mlp.c_fc"), approximate="tanh")
        x = x + conv1d(wide, w, h + "mlp.c_proj")
    return norm(x, "transformer.ln_f") @ w["transformer.wte.weight"].T


def rotate_half(x):
    half = x.shape[-1] // 2
    return torch.cat((-x[..., half:], x[..., :half]), dim=-1)


def rotate(x, base):
    """Rotary positions of x [batch, head, seq, hd]."""
    size = x.shape[-1]
    frequency = 1.0 / base ** (torch.arange(0, size, 2, dtype=x.dtype) / size)
    angle = torch.outer(torch.arange(x.shape[-2], dtype=x.dtype), frequency)
    angle = torch.cat((angle, angle), dim=-1)
    return x * angle.cos() + rotate_half(x) * angle.sin()


def llama_logits(case, w, tokens):
    def norm(x, name):
        return w[name + ".weight"] * (x * torch.rsqrt(x.pow(2).mean(-1, keepdim=True) + case.epsilon))

    linear = lambda x, name: functional.linear(x, w[name + ".weight"])
    split = lambda x: x.view(*x.shape[:2], -1, case.head_size).transpose(1, 2)
    x = w["model.embed_tokens.weight"][tokens]
    for layer in range(case.layers):
        h = f"model.layers.{layer}."
        y = norm(x, h + "input_layernorm")
        q, k, v = (split(linear(y, f"{h}self_attn.{name}_proj")) for name in "qkv")
        q, k = rotate(q, case.base), rotate(k, case.base)
        k, v = k.repeat_interleave(case.group, dim=1), v.repeat_interleave(case.group, dim=1)
        mixed = causal(q @ k.transpose(-1, -2) / math.sqrt(case.head_size)) @ v
        x = x + linear(mixed.transpose(1, 2).reshape(x.shape), h + "self_attn.o_proj")
        y = norm(x, h + "post_attention_layernorm")
        wide = functional.silu(linear(y, h + "mlp.gate_proj")) * linear(y, h + "mlp.up_proj")
        x = x + linear(wide, h + "mlp.down_proj")
    return linear(norm(x, "model.norm"), "lm_head")


LOGITS = {"hf-gpt2-tiny": gpt2_logits, "hf-llama-tiny": llama_logits}


def reference_model(case):
    import transformers

    if isinstance(case, make_weights.HuggingFaceGpt2):
        sizes = {"n_layer": case.layers, "n_head": case.heads, "n_embd": case.embed, "n_positions": case.context}
        config = transformers.GPT2Config(vocab_size=case.vocab, **sizes, bos_token_id=0, eos_token_id=0)
        return transformers.GPT2LMHeadModel(config)
    sizes = {"num_hidden_layers": case.layers, "num_key_value_heads": case.kv_heads, "hidden_size": case.embed}
    sizes |= {"num_attention_heads": case.kv_heads * case.group, "intermediate_size": case.wide}
    config = transformers.LlamaConfig(
        vocab_size=case.vocab, **sizes, rms_norm_eps=case.epsilon, tie_word_embeddings=False
    )
    return transformers.LlamaForCausalLM(config)


def main():
    worst = 0.0
    for name, logits in LOGITS.items():
        case = make_weights.CASES[name]
        w = {
            path: torch.frombuffer(values, dtype=torch.float32).view(shape).clone()
            for path, shape, values in make_weights.case_tensors(name)
            if case.is_parameter(path)
        }
        tokens = torch.tensor(make_weights.tokens(2 * case.seq, case.vocab)).view(2, case.seq)
        model = reference_model(case).eval()
        lacking, unknown = model.load_state_dict(w, strict=False)
        assert not unknown and set(lacking) <= {"lm_head.weight"}, (lacking, unknown)
        with torch.no_grad():
            error = (model(tokens).logits - logits(case, w, tokens)).abs().max().item()
        print(f"{name}: the largest difference of a logit is {error:.1e}")
        worst = max(worst, error)
    return 0 if worst < 1e-5 else 1


if __name__ == "__main__":
    sys.exit(main())
