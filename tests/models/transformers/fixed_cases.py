"""Prints what Hugging Face's transformers make of the small models of tests/models, whose weights
are a formula (tests/models/sample_model.h): the numbers that the tests of gpt2, llama and mixture
compare with.

    build/frameworks/bin/python tests/models/transformers/fixed_cases.py
"""

import math

import torch
import transformers

VOCABULARY, SEQUENCE, BATCH = 11, 5, 2


def formula(shape, number, middle):
    count = math.prod(shape)
    numbers = [middle + 0.3 * math.sin(1.7 * i + number) for i in range(count)]
    return torch.tensor(numbers, dtype=torch.float64).reshape(shape)


def fill(model, names):
    """Fills the model's parameters: hocket's order, their name, and whether it is transposed."""
    state, filled = model.state_dict(), {}
    for number, (name, is_transposed) in enumerate(names):
        parts = name if isinstance(name, tuple) else (name,)
        shape = list(state[parts[0]].shape)
        if len(parts) == 3:  # the begin and the end of a part of dimension 1
            shape[1] = parts[2] - parts[1]
        if is_transposed:
            shape.reverse()
        middle = 1 if "norm" in parts[0] or "ln_" in parts[0] else 0
        if parts[0].endswith(".bias"):
            middle = 0
        value = formula(shape, number, middle)
        value = value.T if is_transposed else value
        if len(parts) == 3:
            filled.setdefault(parts[0], state[parts[0]].clone().double())[:, parts[1]:parts[2]] = value
        else:
            filled[parts[0]] = value
    missing = set(state) - set(filled) - {"lm_head.weight"}
    assert not missing, missing
    model.load_state_dict({**state, **filled}, strict=True)


def show(title, model):
    count = BATCH * SEQUENCE
    tokens = torch.tensor([(7 * i + 3) % VOCABULARY for i in range(count)]).reshape(BATCH, SEQUENCE)
    targets = torch.tensor([(5 * i + 1) % VOCABULARY for i in range(count)])
    with torch.no_grad():
        logits = model(tokens).logits.flatten(0, 1)
        loss = torch.nn.functional.cross_entropy(logits, targets)
    print(title, f"loss {loss.item():.10f}; first logits",
          " ".join(f"{x:.10f}" for x in logits[0, :3]), "last",
          " ".join(f"{x:.10f}" for x in logits[-1, -3:]))


def main():
    torch.set_default_dtype(torch.float64)
    model = transformers.GPT2LMHeadModel(transformers.GPT2Config(
        vocab_size=VOCABULARY, n_positions=6, n_embd=8, n_layer=2, n_head=2, bos_token_id=0,
        eos_token_id=0, resid_pdrop=0.0, embd_pdrop=0.0, attn_pdrop=0.0)).eval()
    names = [("transformer.wte.weight", False), ("transformer.wpe.weight", False)]
    for i in range(2):
        for name in ("ln_1", "attn.c_attn", "attn.c_proj", "ln_2", "mlp.c_fc", "mlp.c_proj"):
            names += [(f"transformer.h.{i}.{name}.weight", "c_" in name),
                      (f"transformer.h.{i}.{name}.bias", False)]
    names += [("transformer.ln_f.weight", False), ("transformer.ln_f.bias", False)]
    fill(model, names)
    model.lm_head.weight = model.transformer.wte.weight
    show("gpt2", model)

    shared = dict(vocab_size=VOCABULARY, hidden_size=16, intermediate_size=12, num_hidden_layers=2,
                  num_attention_heads=4, num_key_value_heads=2, max_position_embeddings=32,
                  rms_norm_eps=1e-5, tie_word_embeddings=False, bos_token_id=0, eos_token_id=0)
    model = transformers.LlamaForCausalLM(transformers.LlamaConfig(
        **shared, rope_parameters={"rope_type": "default", "rope_theta": 500000.0})).eval()
    names = ["model.embed_tokens.weight"]
    for i in range(2):
        names += [f"model.layers.{i}.{name}.weight" for name in (
            "input_layernorm", "self_attn.q_proj", "self_attn.k_proj", "self_attn.v_proj",
            "self_attn.o_proj", "post_attention_layernorm", "mlp.gate_proj", "mlp.up_proj",
            "mlp.down_proj")]
    names += ["model.norm.weight", "lm_head.weight"]
    fill(model, [(name, False) for name in names])
    show("llama", model)

    model = transformers.MixtralForCausalLM(transformers.MixtralConfig(
        **shared, experts_implementation="eager", num_local_experts=4, num_experts_per_tok=2, sliding_window=None,
        rope_parameters={"rope_type": "default", "rope_theta": 1000000.0})).eval()
    names = ["model.embed_tokens.weight"]
    for i in range(2):
        layer = f"model.layers.{i}"
        names += [f"{layer}.{name}.weight" for name in (
            "input_layernorm", "self_attn.q_proj", "self_attn.k_proj", "self_attn.v_proj",
            "self_attn.o_proj", "post_attention_layernorm", "mlp.gate")]
        names += [(f"{layer}.mlp.experts.gate_up_proj", 0, 12),
                  (f"{layer}.mlp.experts.gate_up_proj", 12, 24), f"{layer}.mlp.experts.down_proj"]
    names += ["model.norm.weight", "lm_head.weight"]
    fill(model, [(name, False) for name in names])
    show("mixture", model)


if __name__ == "__main__":
    main()
