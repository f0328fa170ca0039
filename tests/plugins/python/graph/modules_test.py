"""Graphs of modules compute what the modules compute."""

import math
import unittest

import torch
from compared import TOLERANCE, Carried, ComparingTest, Function, shown
from torch import nn
from torch.nn import functional

import hocket.graph

TOKENS = torch.tensor([[3, 1, 4, 1, 5], [9, 2, 6, 5, 3]])


class Attention(nn.Module):
    """Causal attention of `heads`, of which groups share keys and values."""

    def __init__(self, width, heads, groups, attend, base=None):
        super().__init__()
        self.heads, self.groups, self.attend, self.base = heads, groups, attend, base
        self.q = nn.Linear(width, width)
        self.kv = nn.Linear(width, 2 * width // heads * groups, bias=False)
        self.out = nn.Linear(width, width)

    def rotated(self, x):
        positions, width = x.shape[-2:]
        # In the type of x, so that float64 has exact angles.
        frequencies = self.base ** (-torch.arange(0, width, 2, dtype=x.dtype) / width)
        angles = torch.outer(torch.arange(positions, dtype=x.dtype), frequencies)
        angles = torch.cat([angles, angles], dim=-1)
        first, second = x.chunk(2, dim=-1)
        return x * angles.cos() + torch.cat([-second, first], dim=-1) * angles.sin()

    def forward(self, x):
        q = self.q(x).unflatten(-1, (self.heads, -1)).transpose(1, 2)
        k, v = (each.unflatten(-1, (self.groups, -1)).transpose(1, 2)
                for each in self.kv(x).chunk(2, dim=-1))
        if self.base:
            q, k = self.rotated(q), self.rotated(k)
        return self.out(self.attend(q, k, v).transpose(1, 2).flatten(-2))


def sdpa(q, k, v):
    return functional.scaled_dot_product_attention(q, k, v, is_causal=True)


def grouped(q, k, v):
    return functional.scaled_dot_product_attention(q, k, v, is_causal=True, enable_gqa=True)


def repeated(q, k, v):
    n = q.shape[1] // k.shape[1]
    return sdpa(q, k.repeat_interleave(n, dim=1), v.repeat_interleave(n, dim=1))


def expanded(q, k, v):
    batch, groups, rows, width = k.shape
    k, v = (each[:, :, None].expand(batch, groups, q.shape[1] // groups, rows, width)
            .reshape(q.shape) for each in (k, v))
    seen = torch.arange(rows)[:, None] >= torch.arange(rows)
    return functional.scaled_dot_product_attention(q, k, v, attn_mask=seen)


def filled(q, k, v):
    scores = q @ k.transpose(-2, -1) * (1.0 / math.sqrt(k.shape[-1]))
    hidden = torch.ones(q.shape[-2], k.shape[-2]).tril() == 0
    return functional.softmax(scores.masked_fill(hidden, float("-inf")), dim=-1) @ v


def added(q, k, v):
    rows = q.shape[-2]
    mask = torch.full((rows, rows), torch.finfo(torch.float32).min).triu(1)
    return torch.softmax(torch.matmul(q, k.mT) / 3 + mask, -1) @ v


class Transformer(nn.Module):
    """A language model, with its loss."""

    def __init__(self, attention, words=11, width=16):
        super().__init__()
        self.tokens, self.positions = nn.Embedding(words, width), nn.Embedding(8, width)
        self.attention, self.norms = attention(width), nn.ModuleList(
            [nn.LayerNorm(width), nn.RMSNorm(width, eps=1e-5), nn.LayerNorm(width, bias=False)])
        self.up, self.down = nn.Linear(width, 24), nn.Linear(12, width)
        self.head = nn.Linear(width, words, bias=False)
        self.head.weight = self.tokens.weight

    def forward(self, tokens, targets):
        x = self.tokens(tokens) + self.positions(torch.arange(tokens.shape[1]))
        x = x + self.attention(self.norms[0](x))
        gate, up = self.up(self.norms[1](x)).chunk(2, -1)
        y = self.down(functional.silu(gate) * up)
        y += x
        logits = self.head(self.norms[2](y))
        loss = functional.cross_entropy(logits.view(-1, logits.size(-1)), targets.view(-1))
        return {"loss": loss, "logits": logits}


class Modules(ComparingTest):
    def test_perceptron(self):
        layers = [nn.Linear(4, 8), nn.ReLU(), nn.LayerNorm(8), nn.Linear(8, 8, bias=False),
                  nn.GELU(approximate="tanh"), nn.RMSNorm(8, eps=1e-3), nn.Linear(8, 6), nn.SiLU(),
                  nn.LayerNorm(6, elementwise_affine=False), nn.Tanh(), nn.Sigmoid(), nn.Identity(),
                  nn.Dropout(0.1), nn.RMSNorm(6, eps=0.01, elementwise_affine=False),
                  nn.LayerNorm(6, bias=False, eps=0.1)]
        self.compare(nn.Sequential(*layers).eval(), torch.randn(5, 4),
                     kinds={"matmul": 3, "relu": 1, "gelu": 1, "silu": 1, "layer_norm": 3,
                            "rms_norm": 2, "parameter": 9, "dropout": 0})
        # The smallest step of float32, as PyTorch has it where none is given.
        graph = hocket.graph.from_module(nn.RMSNorm(4), (torch.randn(2, 4),))
        self.assertIn("{epsilon=1.1920928955078125e-07}", str(graph))
        # A vector, and more dimensions than two.
        self.compare(nn.Linear(4, 3), torch.randn(4))
        self.compare(nn.Linear(4, 3), torch.randn(2, 1, 5, 4), kinds={"reshape": 0})

    def test_transformers(self):
        for attend in (sdpa, repeated, expanded, filled, added):
            for groups in (4, 2):
                if groups == 2 and attend in (sdpa, filled, added):
                    continue
                with self.subTest(attend=attend.__name__, groups=groups):
                    self.compare(Transformer(lambda w: Attention(w, 4, groups, attend)), TOKENS,
                                 TOKENS, kinds={"attention": 1, "softmax": 0, "swiglu": 1,
                                                "broadcast": 0, "matmul": 6, "embedding": 1})
        self.compare(Transformer(lambda w: Attention(w, 4, 2, grouped, base=10000.0)), TOKENS,
                     TOKENS, kinds={"attention": 1, "rotary": 2, "concatenate": 0})

    def test_attention_of_torch(self):
        class Attending(nn.Module):
            def __init__(self):
                super().__init__()
                self.attention = nn.MultiheadAttention(8, 2, batch_first=True)

            def forward(self, x):
                mask = nn.Transformer.generate_square_subsequent_mask(x.shape[1])
                return self.attention(x, x, x, attn_mask=mask, need_weights=False)[0]
        found = self.compare(Attending(), torch.randn(2, 3, 8), kinds={"attention": 1})
        self.assertIn("{causal=true}", found.text)
        for first in (True, False):
            layer = nn.TransformerEncoderLayer(8, 2, 16, batch_first=True, norm_first=first).eval()
            found = self.compare(layer, torch.randn(2, 3, 8), kinds={"attention": 1})
            self.assertNotIn("causal", found.text)
        x = torch.randn(3, 5, 4)
        self.of(lambda w, x: functional.scaled_dot_product_attention(x * w, x, x, scale=0.3), x,
                shape=(5, 4), kinds={"attention": 1})
        self.of(lambda w, x: torch.bmm(torch.softmax(torch.bmm(x * w, x.mT), -1), x), x,
                shape=(5, 4), kinds={"attention": 1, "matmul": 0})
        # Several masks of one shape.
        masks = torch.ones(5, 5).tril().bool(), torch.ones(5, 5).bool()
        for first, second in (masks, masks[::-1]):
            self.of(lambda w, x: functional.scaled_dot_product_attention(
                x * w, x, functional.scaled_dot_product_attention(x, x, x, first), second), x,
                    shape=(5, 4), kinds={"attention": 2})
        # More columns than rows.
        k = torch.randn(2, 1, 7, 4)
        mask = torch.ones(5, 7, dtype=torch.bool).tril(2)
        self.of(lambda w, q, k: functional.scaled_dot_product_attention(q * w, k, k, mask),
                torch.randn(2, 1, 5, 4), k, shape=(5, 4), kinds={"attention": 1})

    def test_rotations(self):
        def turned(x, angles, dimension, sign=1.0):
            angles = torch.cat([angles, angles], -1)
            shape = [1] * x.dim()
            shape[dimension], shape[-1] = angles.shape
            cos, sin = angles.cos().reshape(shape), sign * angles.sin().reshape(shape)
            half = x.shape[-1] // 2
            return (x * cos) + (torch.cat((-x[..., half:], x[..., :half]), dim=-1) * sin)

        def rotation(base, dimension, sign):
            def function(w, x):
                count, width = x.shape[dimension], x.shape[-1]
                frequencies = 1.0 / base ** (torch.arange(0, width, 2, dtype=x.dtype) / width)
                angles = torch.arange(count, dtype=x.dtype)[:, None] * frequencies
                return turned(x * w, angles, dimension, sign)
            return function
        for base, dimension, sign, width in ((10000.0, -2, 1.0, 8), (500000.0, -3, 1.0, 64),
                                             (123.5, -2, -1.0, 6), (10000.0, -2, 1.0, 2)):
            with self.subTest(base=base, dimension=dimension, sign=sign):
                found = self.of(rotation(base, dimension, sign), torch.randn(2, 3, 5, width),
                                shape=(width,), kinds={"rotary": 1, "concatenate": 0})
                self.assertEqual("inverse=true" in found.text, sign < 0)
        # Several tables of one shape.
        found = self.of(lambda w, x: rotation(100.0, -2, 1.0)(w, rotation(1e4, -2, 1.0)(w, x)),
                        torch.randn(2, 3, 5, 8), shape=(8,), kinds={"rotary": 2})
        self.assertIn("{base=100}", found.text)

    def test_names(self):
        class Nested(nn.Module):
            def __init__(self):
                super().__init__()
                self.layer = nn.Linear(2, 2)

            def forward(self, input, other, *rest, scale=None, **more):
                x = self.layer(self.layer(input)) + other["a"][0] + rest[0] + more["b"]
                return {"x": x, "all": [x * scale, None]}
        one = torch.ones(1, 2)
        graph = hocket.graph.from_module(
            Nested(), (one, {"a": [one]}, one), {"b": one, "scale": one})
        self.assertEqual(set(graph.inputs),
                         {"input", "other.a.0", "args.0", "b", "scale"})
        self.assertEqual(list(graph.outputs), ["x", "all.0"])
        self.assertEqual({name: str(type) for name, type in graph.parameters.items()},
                         {"layer.weight": "float32[2, 2]", "layer.bias": "float32[2]"})
        self.assertEqual(str(graph).count("@layer\n"), 6)
        self.assertEqual(repr(graph), "<Graph of 5 inputs, 2 parameters and 15 operations>")
        self.assertEqual(str(hocket.graph.from_module(nn.Linear(2, 2), one)),
                         str(hocket.graph.from_module(nn.Linear(2, 2), (one,))))
        loss = hocket.graph.from_module(Function(lambda w: w.sum(), 2))
        self.assertEqual(list(loss.outputs), ["loss"])
        pair = hocket.graph.from_module(Function(lambda w: (w + 1, w), 2))
        self.assertEqual(list(pair.outputs), ["output.0", "output.1"])
        # A step trains what a graph calls a parameter.
        frozen = nn.Linear(2, 2)
        frozen.weight.requires_grad_(False)
        graph = hocket.graph.from_module(frozen, one)
        self.assertEqual(list(graph.inputs), ["input", "weight"])
        self.assertEqual(list(graph.parameters), ["bias"])

    def test_loss_is_added(self):
        class WithLoss(nn.Module):
            def __init__(self):
                super().__init__()
                self.layer = nn.Linear(4, 7)

            def forward(self, x, targets):
                logits = self.layer(x)
                return functional.cross_entropy(logits.flatten(0, 1), targets.flatten()), logits
        x, targets = torch.randn(2, 4, 4), torch.tensor([[0, 1, 2, 6], [3, 4, 5, 6]])
        module = WithLoss()
        theirs = self.compare(module, x, targets).carried
        graph = hocket.graph.from_module(module.layer, (x,), loss="cross_entropy")
        self.assertEqual({name: str(type) for name, type in graph.inputs.items()},
                         {"input": "float32[2, 4, 4]", "targets": "int32[2, 4]"})
        self.assertEqual(list(graph.outputs), ["loss", "output"])
        shown(graph, "--after", "optimiser", "--memory")
        numbers = {name.removeprefix("layer."): each.detach()
                   for name, each in theirs.leaves.items()}
        ours = Carried(shown(graph), numbers | {"input": x, "targets": targets})
        self.assertAlmostEqual(ours.outputs["loss"].item(), theirs.outputs["output.0"].item(),
                               delta=TOLERANCE)

    def test_dropout_by_the_key(self):
        module = nn.Sequential(nn.Linear(4, 64), nn.Dropout(0.25), nn.Tanh(), nn.Dropout(0.5))
        graph = hocket.graph.from_module(module, (torch.zeros(3, 4),), dropout=True)
        self.assertEqual(str(graph.inputs["key"]), "int32[2]")
        text = shown(graph)
        self.assertIn("{rate=0.25, stream=0}", text)
        self.assertIn("{rate=0.5, stream=1}", text)

    def test_few_bits(self):
        class Norm(nn.Module):
            def __init__(self):
                super().__init__()
                self.gain, self.layer = nn.Parameter(torch.ones(4)), nn.Linear(4, 4)

            def forward(self, x):
                wide = x.to(torch.float32)
                root = torch.rsqrt(wide.pow(2).mean(-1, keepdim=True) + 1e-6)
                return self.layer(self.gain * (wide * root).to(x.dtype)).float()
        graph = hocket.graph.from_module(Norm().bfloat16(), (torch.zeros(2, 4).bfloat16(),))
        kinds = [line.split(" = ")[1].split()[0] for line in shown(graph).splitlines()]
        self.assertEqual(sorted(kinds[:-1]), sorted(
            ["input", *["parameter"] * 3, "rms_norm", "matmul", "add", "convert"]))
        self.assertEqual(str(graph.outputs["output"]), "float32[2, 4]")
        self.assertEqual(graph.parameters["gain"].bytes, 8)

    def test_tables_of_few_bits(self):
        def graph_of(rounded):
            def rotated(w, x):
                x = x * w
                frequencies = rounded(12500.0 ** (-torch.arange(0, 8, 2) / 8))
                angles = torch.outer(torch.arange(4.0), frequencies)
                angles = torch.cat([angles, angles], -1)
                cos, sin = angles.cos().to(x.dtype)[None], angles.sin().to(x.dtype)[None]
                return x * cos + torch.cat([-x[..., 4:], x[..., :4]], -1) * sin
            return hocket.graph.from_module(Function(rotated, 8).bfloat16(),
                                            (torch.ones(2, 4, 8).bfloat16(),))
        # Numbers that are rounded at last, and frequencies that are no powers of a base.
        self.assertIn("{base=12500}", shown(graph_of(lambda x: x)))
        with self.assertRaisesRegex(hocket.graph.GraphError, "interleaved or rounded"):
            graph_of(lambda x: (x * 64).round() / 64)

    def test_values_are_not_needed(self):
        with hocket.graph.without_weights():
            module = nn.Sequential(nn.Embedding(1 << 20, 1 << 14), nn.Linear(1 << 14, 1 << 20))
            module.register_buffer("counts", torch.arange(3))
        self.assertTrue(all(each.is_meta for each in module.parameters()))
        self.assertEqual(module.counts.tolist(), [0, 1, 2])
        self.assertFalse(nn.Linear(2, 2).weight.is_meta)

        class Tied(nn.Module):
            def __init__(self):
                super().__init__()
                self.a = nn.Parameter(torch.ones(2))
                self.b = self.a
        with hocket.graph.without_weights():
            tied = Tied()
        self.assertTrue(tied.a.is_meta and tied.a is tied.b)
        with torch.no_grad():
            self.assertFalse(Tied().a.is_meta)
        for tokens in (torch.zeros(2, 3, dtype=torch.int64),
                       torch.zeros(2, 3, dtype=torch.int64, device="meta")):
            graph = hocket.graph.from_module(module, (tokens,), loss="cross_entropy")
            self.assertEqual(sum(each.bytes for each in graph.parameters.values()),
                             4 * sum(each.numel() for each in module.parameters()))
        with torch.device("meta"):
            other = nn.Sequential(nn.Embedding(1 << 20, 1 << 14), nn.Linear(1 << 14, 1 << 20))
        self.assertEqual(str(hocket.graph.from_module(other, (tokens,), loss="cross_entropy")),
                         str(graph))


if __name__ == "__main__":
    torch.set_num_threads(1)
    print(torch.__version__)
    unittest.main(verbosity=2)
