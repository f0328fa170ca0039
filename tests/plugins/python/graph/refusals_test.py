"""What has no counterpart in graphs is refused, all of it at once, and says what to do."""

import unittest

import torch
from torch import nn
from torch.nn import functional

import hocket.graph

X = torch.ones(2, 3, 4)
NONE = ("no operation of graphs has the same mathematics; write the module with others, "
        "docs/formats/graph.md lists them")


class Function(nn.Module):
    def __init__(self, function):
        super().__init__()
        self.function = function
        self.register_buffer("table", torch.arange(4.0))

    def forward(self, *x):
        return self.function(self, *x)


class Cache:
    """What torch.export does not know."""


class Refusals(unittest.TestCase):
    def refused(self, module, *args, **options):
        with self.assertRaises(hocket.graph.GraphError) as caught:
            print(hocket.graph.from_module(module, args, **options))
        return str(caught.exception)

    def check(self, function, lines, *args, **options):
        module = Function(lambda self, *x: function(*x))
        expected = "this module has no graph:\n" + "\n".join(f"  {line}" for line in lines)
        self.assertEqual(self.refused(module, *(args or (X,)), **options), expected)

    def test_all_unknown_operators_at_once(self):
        class Layer(nn.Module):
            def forward(self, x):
                return torch.erf(x).sin()
        module = nn.Sequential(*[Layer() for _ in range(5)], nn.GELU(), nn.Softplus())
        self.assertEqual(
            self.refused(module, X),
            "this module has no graph:\n"
            f'  erf in "0", "1", "2" and 2 more: {NONE}\n'
            f'  sin in "0", "1", "2" and 2 more: {NONE}\n'
            '  gelu in "5": graphs have gelu by tanh, not by erf; use GELU(approximate="tanh"), '
            'or "gelu_new" or "gelu_pytorch_tanh" in a configuration of transformers\n'
            f'  softplus in "6": {NONE}')

    def test_shapes(self):
        self.check(lambda x: x[x > 0], [
            f"gt.Scalar in the module itself: {NONE}",
            f"index.Tensor in the module itself: {NONE}"])
        self.check(lambda x: torch.nonzero(x).float().sum(0), [
            f"nonzero in the module itself: {NONE}",
            "_to_copy in the module itself: the shape of its result depends on data; graphs have "
            "fixed shapes"])
        text = self.refused(Function(lambda _, x: x * int(x.sum())), X)
        self.assertTrue(text.startswith("torch.export has no program of this module: "), text)

    def test_types(self):
        self.check(lambda x: x * 2, [
            "the input \"args.0\": numbers of the type float64, which graphs have not; "
            "call float() on the module",
            "mul.Tensor in the module itself: numbers of the type float64, which graphs have not; "
            "call float() on the module"], X.double())
        self.check(lambda x: x.float(), [
            "_to_copy in the module itself: conversion between integers and other numbers that "
            "depend on inputs"], X.long())
        self.check(lambda x: x + 1, [
            "add.Tensor in the module itself: arithmetic with integers that depend on inputs; "
            "graphs have none"], X.long())

    def test_constants(self):
        self.assertEqual(
            self.refused(Function(lambda self, x: x * self.table), X),
            'this module has no graph:\n  the buffer "table": a constant of '
            "different numbers; constants of graphs are one number everywhere. Make it a parameter "
            "or an input")

        class Changing(nn.Module):
            def __init__(self):
                super().__init__()
                self.register_buffer("count", torch.zeros(()))

            def forward(self, x):
                self.count += 1
                return x
        self.assertEqual(
            self.refused(Changing(), X),
            "forward changes count; a graph has no state. Keep what forward changes out of the "
            "module, or call eval() first")

    def test_attention(self):
        def attended(**options):
            return lambda x: functional.scaled_dot_product_attention(x, x, x, **options)
        where = "scaled_dot_product_attention in the module itself: "
        window = torch.ones(3, 3).tril().triu(-1).bool()
        self.check(attended(attn_mask=window), [
            where + "a mask that is neither full nor causal; graphs have no other attention"])
        self.check(attended(attn_mask=-torch.ones(3, 3).triu(1)), [
            where + "a mask that is neither full nor causal; graphs have no other attention"])
        self.check(attended(dropout_p=0.1), [
            where + "it drops attention by chance, and attention of graphs does not; set the "
            "dropout of attention to 0, or call eval() on the module"])
        self.check(lambda x: functional.scaled_dot_product_attention(x, x, x, x[..., :3]), [
            where + "a mask that depends on inputs; graphs have full and causal attention. Leave "
            "out attention_mask where no token is padding"])
        self.check(lambda x: functional.scaled_dot_product_attention(
            x[:, :2], x, x, is_causal=True), [
                where + "is_causal with 2 rows and 3 columns, which sees the first columns; causal "
                "attention of graphs sees the last ones"])
        self.check(lambda x: torch.softmax((x @ x.mT).masked_fill(~window, -1e9), -1) @ x, [
            "matmul in the module itself: a mask that is neither full nor causal; graphs have no "
            "other attention"])

    def test_rotations(self):
        def rotated(angles):
            angles = torch.cat([angles, angles], -1)
            return lambda x: x * angles.cos() + torch.cat(
                [-x[..., 2:], x[..., :2]], -1) * angles.sin()
        refusal = ("a rotary embedding whose tables are not the cosines and sines of position · "
                   "base^(−2i/width); graphs have no scaled, interleaved or rounded frequencies")
        frequencies = torch.tensor([1.0, 0.01])
        positions = torch.arange(3.0)
        self.assertIn("{base=10000.0}", str(hocket.graph.from_module(Function(
            lambda _, x: rotated(torch.outer(positions, frequencies))(x)), (X,))))
        for angles in (torch.outer(positions, frequencies / 2),
                       torch.outer(positions + 1, frequencies),
                       torch.outer(positions, frequencies.flip(0))):
            self.check(rotated(angles), [f"add.Tensor in the module itself: {refusal}"])
        cos, sin = torch.outer(positions, torch.ones(4)).cos(), torch.ones(3, 4)
        self.check(lambda x: x * cos + torch.cat([-x[..., 2:], x[..., :2]], -1) * sin,
                   [f"add.Tensor in the module itself: {refusal}"])

    def test_results_that_are_no_tensors(self):
        text = self.refused(Function(lambda _, x: (x * 2, Cache())), X)
        advice = ". Have forward return tensors only; for transformers' models, pass use_cache=False"
        self.assertTrue(text.endswith(advice), text)
        self.assertEqual(self.refused(Function(lambda _, x: None), X), "forward returns no tensor")

    def test_chance(self):
        module = nn.Sequential(nn.Linear(4, 4), nn.Dropout(0.1))
        self.assertEqual(
            self.refused(module, X),
            'this module has no graph:\n  native_dropout in "1": it drops numbers by chance; call '
            'eval() on the module, set p to 0, or have them dropped by the input "key" with '
            "from_module(…, dropout=True)")
        self.check(lambda x: x + torch.rand(3, 4), [f"rand in the module itself: {NONE}"])
        self.check(lambda x: functional.dropout(x, 1.0), [
            "native_dropout in the module itself: it drops a share of 1.0; graphs drop less than "
            "all"], dropout=True)

    def test_gradients(self):
        class Stopping(nn.Module):
            def __init__(self, is_detached):
                super().__init__()
                self.layer, self.is_detached = nn.Linear(4, 4), is_detached

            def forward(self, x):
                # This detaches nothing, since x needs no gradient.
                with torch.no_grad():
                    x = x * 2
                y = self.layer(x.detach())
                if self.is_detached:
                    return y.detach() * x
                with torch.no_grad():
                    z = y * x
                return y * z
        self.assertEqual(
            self.refused(Stopping(True), X),
            "this module has no graph:\n  detach in the module itself: it stops gradients, and no "
            "operation of graphs does; return what is needed without a gradient from another "
            "module")
        self.assertEqual(
            self.refused(nn.Sequential(Stopping(False)), X),
            'torch.no_grad() in "0": it stops gradients, and no operation of graphs does; leave it '
            "out")
        tokens = torch.zeros(2, 3, dtype=torch.int64)
        self.assertEqual(
            self.refused(nn.Embedding(5, 4, padding_idx=0), tokens),
            "this module has no graph:\n  embedding in the module itself: padding_idx is 0, whose "
            "row gets no gradient; in a graph each row gets one. Set it to None")

    def test_losses(self):
        targets = torch.tensor([[0, 1, 2], [3, 0, 0]])
        where = "cross_entropy_loss in the module itself: "
        self.check(lambda x, t: functional.cross_entropy(x.view(6, 4), t.view(6), ignore_index=3), [
            where + "ignore_index is 3, a class; graphs ignore no targets"], X, targets)
        self.check(lambda x, t: functional.cross_entropy(
            x.view(6, 4), t.view(6), label_smoothing=0.1), [
                where + "weights of classes and smoothed labels; graphs have neither"], X, targets)
        self.assertEqual(self.refused(nn.Linear(4, 2), X, loss="mse"),
                         "loss is \"cross_entropy\" or None, not 'mse'")
        self.assertEqual(
            self.refused(Function(lambda _, x: (x, x + 1)), X, loss="cross_entropy"),
            'loss is of the output "logits", and there are output.0, output.1; return {"logits": '
            "…}, or return the loss from the module")
        self.assertEqual(
            self.refused(Function(lambda _, x: x.sum()), X, loss="cross_entropy"),
            'the module returns a "loss" itself; leave out the option loss')

    def test_buffers_without_values(self):
        class Rotated(nn.Module):
            def __init__(self):
                super().__init__()
                frequencies = 10000.0 ** (-torch.arange(0, 4, 2) / 4)
                self.register_buffer("frequencies", frequencies, persistent=False)

            def forward(self, x):
                angles = torch.outer(torch.arange(3.0), self.frequencies)
                angles = torch.cat([angles, angles], -1)
                return x * angles.cos() + torch.cat([-x[..., 2:], x[..., :2]], -1) * angles.sin()
        with torch.device("meta"):
            module = Rotated()
        self.assertEqual(
            self.refused(module, X),
            "this module has no graph:\n  add.Tensor in the module itself: it needs the values of "
            "the buffer frequencies, which is on the meta device; make the module within `with "
            "hocket.graph.without_weights():`, which gives buffers values and weights none")
        with hocket.graph.without_weights():
            module = Rotated()
        self.assertIn("rotary", str(hocket.graph.from_module(module, (X,))))


if __name__ == "__main__":
    torch.set_num_threads(1)
    print(torch.__version__)
    unittest.main(verbosity=2)
