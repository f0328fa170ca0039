"""Graphs of functions of all operators that have a rule compute what the functions compute."""

import math
import unittest

import torch
from compared import ComparingTest
from torch.nn import functional

TOKENS = torch.tensor([[3, 1, 4, 1, 5], [9, 2, 6, 5, 3]])


def norm(x, gain, epsilon=1e-6):
    """RMSNorm as Llama's code has it."""
    root = torch.rsqrt(x.pow(2).mean(-1, keepdim=True) + epsilon)
    return gain * (x * root)


def gelu_of_gpt2(x):
    return 0.5 * x * (1.0 + torch.tanh(math.sqrt(2.0 / math.pi)
                                       * (x + 0.044715 * torch.pow(x, 3.0))))


class Operators(ComparingTest):
    def test_losses(self):
        logits, targets = torch.randn(6, 5), torch.tensor([0, 1, 2, 3, 4, 0])
        for reduction in ("mean", "sum", "none"):
            self.of(lambda w, x, t: functional.cross_entropy(x * w, t, reduction=reduction), logits,
                    targets, shape=(5,), kinds={"cross_entropy": 1})
            self.of(lambda w, x, t: functional.mse_loss(x * w, t, reduction=reduction), logits,
                    torch.randn(6, 5), shape=(5,))
        self.of(lambda w, x, t: functional.cross_entropy(x * w, t), torch.randn(2, 5, 3),
                torch.tensor([[0, 1, 2], [3, 4, 0]]), shape=(5, 1), kinds={"cross_entropy": 1})
        self.of(lambda w, x, t: functional.cross_entropy(x * w, t), torch.randn(5),
                torch.tensor(2), shape=(5,), kinds={"cross_entropy": 1})
        self.of(lambda w, x, t: functional.nll_loss(functional.log_softmax(x * w, -1), t), logits,
                targets, shape=(5,), kinds={"cross_entropy": 1, "logarithm": 0})

        def shifted(w, x, labels):
            next_ones = functional.pad(labels, (0, 1), value=-100)[..., 1:].contiguous()
            return functional.cross_entropy((x * w).view(-1, 11), next_ones.view(-1),
                                            ignore_index=-100)
        found = self.of(shifted, torch.randn(2, 5, 11), TOKENS, shape=(11,),
                        kinds={"cross_entropy": 1})
        self.assertEqual(list(found.graph.outputs), ["loss"])

    def test_number_by_number(self):
        x = torch.rand(2, 3, 4) + 0.5
        for function in (
                lambda w, x: (x + w, 2 - x, x * 3 / w, 1 / (w + 2), -x),
                lambda w, x: (x ** 2, x ** 3 - w, x ** 0.5, x ** -0.5, x ** -1, x.square()),
                lambda w, x: (x.exp(), x.log(), (x * w).sqrt(), x.rsqrt(), x.tanh(), w.sigmoid()),
                lambda w, x: (torch.add(x, w, alpha=0.3), torch.sub(x, w, alpha=-2), x + 0),
                lambda w, x: (x.mean(), x.sum(0), x.mean((0, -1), keepdim=True), x.amax(1)),
                lambda w, x: w.sum(),
                lambda w, x: (x.softmax(1), (x * w).log_softmax(-1), x.log_softmax(0)),
                lambda w, x: (x.reciprocal(), x * torch.tensor(0.5), x + torch.full((3, 1), 2.0)),
                lambda w, x: functional.gelu(x * w, approximate="tanh").add_(1).mul_(w)):
            self.of(function, x)
        self.of(lambda w, x: gelu_of_gpt2(x * w), x, kinds={"gelu": 1, "tanh": 0})
        # Not quite gelu.
        self.of(lambda w, x: 0.5 * (x * w) * (1 + torch.tanh(
            0.8 * (x * w + 0.044715 * (x * w) ** 3))), x, kinds={"gelu": 0, "tanh": 1})

        def rough(w, x):
            x = x * w
            return 0.5 * x * (1 + torch.tanh(math.sqrt(2 / math.pi) * (x + 0.0447 * x ** 3)))
        self.of(rough, x, kinds={"gelu": 0, "tanh": 1})
        self.of(lambda w, x: 0.5 * x * (1 + torch.tanh(w + 0.044715 * x ** 3)), x,
                kinds={"gelu": 0})
        self.of(lambda w, x: norm(x, w), x, shape=(4,), kinds={"rms_norm": 1, "sum": 0})
        self.of(lambda w, x: norm(x, w, 0.1).mean(-1), x, kinds={"rms_norm": 1, "sum": 1})
        self.of(lambda w, x: x * w * torch.rsqrt((x * x).mean(-1, keepdim=True) + 0.1), x,
                kinds={"rms_norm": 0})
        self.of(lambda w, x: x * torch.rsqrt((x * x).mean(1, keepdim=True) + 0.1) + w, x,
                kinds={"rms_norm": 0})

    def test_layouts(self):
        x = torch.randn(2, 3, 4)
        for function in (
                lambda w, x: (x.chunk(2, -1)[1] * w[:, :2], x.split([1, 2], 1)[1], x.unbind(1)[2]),
                lambda w, x: (torch.stack([x, x * w], 1), torch.cat([x, w[None]], 0), x[..., -1]),
                lambda w, x: (functional.pad(x * w, (1, 2, 0, 1)), x[:, 1:], x[1, :, -3:-1]),
                lambda w, x: (x.permute(2, 0, 1), x.mT @ w, w.t(), x.flatten(1), x.narrow(2, 1, 2)),
                lambda w, x: ((x * w)[:, None].expand(2, 5, 3, 4), x.unsqueeze(0)),
                lambda w, x: w.expand(2, 3, 4),
                lambda w, x: (x @ w.mT, w @ x.mT, x @ x.transpose(1, 2)),
                lambda w, x: (x[0] @ w[0], w[0] @ x[0].T),
                lambda w, x: (x.repeat_interleave(3, dim=1), (x * w).repeat_interleave(2, dim=-1)),
                lambda w, x: (torch.einsum("bij,kj->bik", x, w), torch.outer(x[0, 0], w[0])),
                lambda w, x: torch.addmm(w[0, :3], x[0], w.t())):
            self.of(function, x)
        self.of(lambda w, x: functional.embedding(torch.tensor([[2, 2], [2, 2]]), w) + x[0, :2],
                x, kinds={"embedding": 1})
        self.of(lambda w, x: functional.embedding(torch.arange(1, 3).expand(2, 2), w) * x[:, :2], x,
                kinds={"embedding": 0, "slice": 2})
        self.of(lambda w, x: torch.addmm(w[0], x.view(-1, 4), w).view(2, 5, 4),
                torch.randn(2, 5, 4), shape=(4, 4), kinds={"reshape": 1})


if __name__ == "__main__":
    torch.set_num_threads(1)
    print(torch.__version__)
    unittest.main(verbosity=2)
