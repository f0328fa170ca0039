"""GPT-2 and Llama of hocket against those of Hugging Face's transformers.

Both begin with the same random weights, read from safetensors, and train on the same batches of a
token file with AdamW. Their logits and their losses must be the same but for rounding: PyTorch
computes in float32, and hocket's interpreter in double precision. With PyTorch 2.13 and
transformers 5.24 on x86-64, logits of up to 2 differ by 1.1e-6, and losses of about 4 over 20 steps
by 4.9e-7; the tolerances are ten and twenty times that.
"""

import os
import struct
import subprocess
import sys
import tempfile
import unittest

import torch
import transformers

CURVE = os.environ["HOCKET_MODEL_CURVE"]
STEPS, RATE, SEED = 20, 1e-3, 5
BATCH, SEQUENCE, VOCABULARY = 4, 12, 64
LOGITS_TOLERANCE = 1e-5
LOSS_TOLERANCE = 1e-5

MASK = (1 << 64) - 1


def random_bits(key, index):
    """SplitMix64, as core/random/split_mix.h."""
    z = (key + (index + 1) * 0x9E3779B97F4A7C15) & MASK
    z = ((z ^ (z >> 30)) * 0xBF58476D1CE4E5B9) & MASK
    z = ((z ^ (z >> 27)) * 0x94D049BB133111EB) & MASK
    return z ^ (z >> 31)


def batch_of(tokens, step):
    """The batch that models/data/token_source.h draws for rank 0."""
    key = random_bits(random_bits(random_bits(SEED, 1), 0), step)
    rows = []
    for window in range(BATCH):
        begin = random_bits(key, window) % (len(tokens) - SEQUENCE)
        rows.append(tokens[begin : begin + SEQUENCE + 1])
    both = torch.tensor(rows)
    return both[:, :-1], both[:, 1:]


def random_tokens(count):
    """Tokens of which the next one can be learnt: mostly the one before, times three."""
    tokens = [1]
    for i in range(count - 1):
        is_drawn = random_bits(77, 2 * i) % 4 == 0
        tokens.append(random_bits(77, 2 * i + 1) % VOCABULARY if is_drawn
                      else (3 * tokens[-1] + 1) % VOCABULARY)
    return tokens


def write_tokens(path, tokens, kind):
    if kind == "nanogpt":
        header = b""
        body = struct.pack(f"<{len(tokens)}H", *tokens)
    elif kind == "gpt-2":
        header = struct.pack("<256i", 20240520, 1, len(tokens), *[0] * 253)
        body = struct.pack(f"<{len(tokens)}H", *tokens)
    else:
        header = struct.pack("<256i", 20240801, 7, len(tokens), *[0] * 253)
        body = struct.pack(f"<{len(tokens)}I", *tokens)
    with open(path, "wb") as file:
        file.write(header + body)


def tiny_gpt2():
    config = transformers.GPT2Config(
        vocab_size=VOCABULARY, n_positions=16, n_embd=24, n_layer=3, n_head=4,
        bos_token_id=0, eos_token_id=0, resid_pdrop=0.0, embd_pdrop=0.0, attn_pdrop=0.0)
    options = {"layers": 3, "heads": 4, "width": 24, "positions": 16}
    return transformers.GPT2LMHeadModel(config), options


def tiny_llama():
    config = transformers.LlamaConfig(
        vocab_size=VOCABULARY, hidden_size=32, intermediate_size=56, num_hidden_layers=3,
        num_attention_heads=4, num_key_value_heads=2, max_position_embeddings=32,
        rms_norm_eps=1e-5, tie_word_embeddings=False, attention_dropout=0.0,
        rope_parameters={"rope_type": "default", "rope_theta": 500000.0})
    options = {"layers": 3, "heads": 4, "groups": 2, "width": 32, "hidden": 56,
               "rotary_base": 500000, "epsilon": 1e-5}
    return transformers.LlamaForCausalLM(config), options


def widened(model):
    """Weights far from their first values, so that every part of the model counts."""
    with torch.no_grad():
        for parameter in model.parameters():
            parameter.add_(0.1 * torch.randn_like(parameter))
    return model


def curve_of(model, tokens):
    """The logits of the first batch, and the losses, of transformers."""
    optimizer = torch.optim.AdamW(model.parameters(), lr=RATE, betas=(0.9, 0.95), eps=1e-8,
                                  weight_decay=0.1)
    first, losses = None, []
    for step in range(STEPS):
        inputs, targets = batch_of(tokens, step)
        logits = model(inputs).logits
        loss = torch.nn.functional.cross_entropy(logits.flatten(0, 1), targets.flatten())
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        first = logits.detach().flatten().tolist() if first is None else first
        losses.append(loss.item())
    return first, losses


def hockets_curve(name, weights, tokens, options):
    options = dict(options, vocabulary=VOCABULARY, batch=BATCH, sequence=SEQUENCE)
    words = [f"{option}={value!r}" for option, value in options.items()]
    done = subprocess.run([CURVE, name, weights, tokens, str(STEPS), repr(RATE), *words],
                          capture_output=True, text=True, check=False)
    if done.returncode != 0:
        raise AssertionError(done.stderr)
    lines = [line.split() for line in done.stdout.splitlines()]
    logits = [[float(word) for word in line[1:]] for line in lines if line[0] == "logits"]
    losses = [float(line[1]) for line in lines if line[0] == "loss"]
    return logits[0], losses


def most_apart(one, other):
    assert len(one) == len(other), (len(one), len(other))
    return max(abs(a - b) for a, b in zip(one, other))


class Transformers(unittest.TestCase):
    def compare(self, name, make, kind, shards=False):
        torch.manual_seed(SEED)
        torch.set_default_dtype(torch.float32)
        model, options = make()
        widened(model)
        with tempfile.TemporaryDirectory() as folder:
            size = {"max_shard_size": "20KB"} if shards else {}
            model.save_pretrained(folder, **size)
            self.assertEqual(os.path.exists(f"{folder}/model.safetensors.index.json"), shards)
            tokens = random_tokens(1000)
            path = f"{folder}/tokens.bin"
            write_tokens(path, tokens, kind)
            logits, losses = hockets_curve(name, folder, path, options)
        their_logits, their_losses = curve_of(model, tokens)
        apart = most_apart(logits, their_logits), most_apart(losses, their_losses)
        print(f"{name} {kind}: logits up to {max(map(abs, their_logits)):.3g} differ by "
              f"{apart[0]:.3g}, losses from {losses[0]:.4f} to {losses[-1]:.4f} by {apart[1]:.3g}")
        self.assertLess(losses[-1], losses[0] - 0.1, "it learns")
        self.assertLess(apart[0], LOGITS_TOLERANCE)
        self.assertLess(apart[1], LOSS_TOLERANCE)

    def test_gpt2(self):
        self.compare("gpt2", tiny_gpt2, "nanogpt")
        self.compare("gpt2", tiny_gpt2, "gpt-2")

    def test_llama(self):
        self.compare("llama", tiny_llama, "llama-3")

    def test_several_files(self):
        self.compare("llama", tiny_llama, "llama-3", shards=True)


if __name__ == "__main__":
    print(transformers.__version__, torch.__version__, sys.version.split()[0])
    unittest.main(verbosity=2)
