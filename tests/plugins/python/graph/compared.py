"""Compares a module's graph with the module itself, in float64: outputs and gradients.

hocket itself checks the graph first, and says all its types.
"""

import copy
import math
import os
import pathlib
import subprocess
import sys
import tempfile
import unittest

import torch
from torch import nn
from torch.utils import _pytree

import hocket.graph

sys.path.append(str(pathlib.Path(__file__).resolve().parents[3] / "models/autograd"))
from carried import Carried  # noqa: E402

HOCKET = os.environ["HOCKET_PROGRAM"]
TOLERANCE = 1e-9


def shown(graph, *options):
    """Returns what `hocket graph show` says of a graph."""
    with tempfile.TemporaryDirectory() as folder:
        graph.write(f"{folder}/a.graph")
        done = subprocess.run([HOCKET, "graph", "show", f"{folder}/a.graph", *options],
                              capture_output=True, text=True, check=False)
    if done.returncode != 0:
        raise AssertionError(f"{done.stderr}\n{graph}")
    return done.stdout


def widened(module):
    """Returns a copy in float64, with parameters of which each part counts."""
    wide = copy.deepcopy(module).double()
    with torch.no_grad():
        for parameter in wide.parameters():
            parameter.add_(0.3 * torch.randn_like(parameter))
    return wide


def _doubles(tree):
    def wide(leaf):
        is_floating = isinstance(leaf, torch.Tensor) and leaf.is_floating_point()
        return leaf.detach().double() if is_floating else leaf
    return _pytree.tree_map(wide, tree)


def gradients_of(outputs, leaves):
    """Returns the gradients of the sum of all outputs' squares, in which each number counts."""
    total = sum((each * each).sum() for each in outputs)
    if not total.requires_grad:
        return [torch.zeros_like(each) for each in leaves]
    return torch.autograd.grad(total, leaves, materialize_grads=True, allow_unused=True)


def furthest(ours, theirs):
    """Returns how far numbers are apart, as a share of the largest one or of 1."""
    if ours.shape != theirs.shape:
        raise AssertionError(f"{tuple(ours.shape)} is not {tuple(theirs.shape)}")
    if not bool(torch.isfinite(theirs).all()):
        raise AssertionError("the module's own numbers are not finite")
    scale = max(1, theirs.abs().max().item())
    return (ours - theirs).abs().max().item() / scale


class Comparison:
    """A module's graph, checked, and how far it is from the module."""

    def __init__(self, module, args=(), kwargs=None, wide=None, **options):
        kwargs = kwargs or {}
        self.graph = hocket.graph.from_module(module, args, kwargs, **options)
        self.text = shown(self.graph)
        wide = wide or widened(module)
        wide_args, wide_kwargs = _doubles((args, kwargs))
        found = wide(*wide_args, **wide_kwargs)
        theirs = [each for each in _pytree.tree_leaves(found) if isinstance(each, torch.Tensor)]
        leaves = dict(wide.named_parameters())
        tensors = [each for each in _pytree.tree_leaves((wide_args, wide_kwargs))
                   if isinstance(each, torch.Tensor)]
        numbers = {name: each.detach().clone() for name, each in leaves.items()}
        numbers |= dict(zip(self.graph.inputs, tensors))
        self.carried = Carried(self.text, numbers)
        ours = list(self.carried.outputs.values())
        assert len(ours) == len(theirs), (list(self.carried.outputs), len(theirs))
        # A graph leaves out parameters that no output needs.
        unused = [torch.zeros_like(leaves[name], requires_grad=True) for name in leaves
                  if name not in self.carried.leaves]
        ours_by = [self.carried.leaves[name] if name in self.carried.leaves else unused.pop(0)
                   for name in leaves]
        pairs = [*zip(ours, theirs),
                 *zip(gradients_of(ours, ours_by), gradients_of(theirs, list(leaves.values())))]
        self.apart = max((furthest(our, their) for our, their in pairs), default=math.inf)

    def kinds(self):
        """Returns the kinds of operations, of each how many there are."""
        counts = {}
        for line in self.text.splitlines():
            if line.startswith("%"):
                kind = line.split(" = ")[1].split()[0]
                counts[kind] = counts.get(kind, 0) + 1
        return counts


class Function(nn.Module):
    """A function of tensors, and of one parameter."""

    def __init__(self, function, *shape):
        super().__init__()
        self.function, self.w = function, nn.Parameter(torch.rand(shape) + 0.5)

    def forward(self, *x):
        return self.function(self.w, *x)


class ComparingTest(unittest.TestCase):
    """Tests that compare modules and functions with their graphs."""

    def setUp(self):
        torch.manual_seed(7)

    def compare(self, module, *args, kinds=None, **options):
        """Checks the graph, and that it has these kinds so often."""
        found = Comparison(module, args, **options)
        self.assertLess(found.apart, TOLERANCE, found.text)
        counts = found.kinds()
        for kind, count in (kinds or {}).items():
            self.assertEqual(counts.get(kind, 0), count, f"{kind} in\n{found.text}")
        return found

    def of(self, function, *args, shape=(3, 4), kinds=None, **options):
        return self.compare(Function(function, *shape), *args, kinds=kinds, **options)
