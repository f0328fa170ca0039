"""Values that depend on no input and no parameter: computed, and recognised for what they are.

Modules compute causal masks and tables of rotations in many ways; their numbers are the same.
"""

import collections
import math

# Attention that hides a place adds at most this to its score: the least number of float16.
HIDDEN = -65504
# Masks of long sequences take gigabytes, of which each step is needed once.
_LARGE = 1 << 22
# Roundings of tables, as a share of an angle; modules compute angles in float32 or better.
_ROUNDINGS = 8


def _is_large(value):
    return not isinstance(value, (tuple, list)) and value.numel() > _LARGE


class Constants:
    """The nodes of a program that depend on buffers and constants alone."""

    def __init__(self, torch, program):
        self._torch, self._nodes, self._values = torch, set(), {}
        self._recognised = {}
        self.without_values = {}  # names of buffers by nodes that need them
        for node in program.nodes:
            if node.op == "placeholder" and node.name in program.buffers:
                name, tensor = program.buffers[node.name]
                self._nodes.add(node)
                self._values[node] = tensor
                if tensor.is_meta:
                    self.without_values[node] = name
            elif node.op == "call_function" and self._is_constant(node):
                self._nodes.add(node)
                missing = [self.without_values[each] for each in node.all_input_nodes
                           if each in self.without_values]
                if missing:
                    self.without_values[node] = missing[0]

    def _is_constant(self, node):
        torch = self._torch
        tags = getattr(node.target, "tags", ())
        is_random = torch.Tag.nondeterministic_seeded in tags or "empty" in str(node.target)
        return (not is_random and all(each in self._nodes for each in node.all_input_nodes)
                and isinstance(node.meta.get("val"), (torch.Tensor, tuple, list)))

    def __contains__(self, node):
        return node in self._nodes

    def value(self, node):
        """Returns the tensor, or None where it depends on more or on a buffer without values."""
        if node not in self._nodes or node in self.without_values:
            return None
        order = self._missing(node)
        uses = collections.Counter(before for each in order for before in each.all_input_nodes)
        for each in order:
            self._values[each] = self._computed(each)
            for before in each.all_input_nodes:
                uses[before] -= 1
                value = self._values[before]
                if uses[before] == 0 and before.op != "placeholder" and _is_large(value):
                    del self._values[before]
        return self._values[node]

    def _computed(self, node):
        args, kwargs = self._torch.fx.map_arg((node.args, node.kwargs), self._values.get)
        kwargs = {**kwargs, **({"device": "cpu"} if "device" in kwargs else {})}
        # Tables that are rounded to few bits at last are recognised by what they are before.
        if kwargs.get("dtype") in (self._torch.bfloat16, self._torch.float16):
            kwargs["dtype"] = self._torch.float32
        with self._torch.no_grad():
            return node.target(*args, **kwargs)

    def _missing(self, node):
        """Returns the nodes to compute before and with this one, in order."""
        order, seen, stack = [], set(), [(node, False)]
        while stack:
            each, is_after = stack.pop()
            if is_after:
                order.append(each)
            elif each not in self._values and each not in seen:
                seen.add(each)
                stack.append((each, True))
                stack.extend((before, False) for before in each.all_input_nodes)
        return order

    def recognised(self, function, *arguments):
        """Returns function(torch, *arguments), computed once for tensors of the same memory: each
        layer of a module has the same mask and the same tables."""
        def key_of(each):
            if not isinstance(each, self._torch.Tensor):
                return each
            return each.data_ptr(), each.shape, each.stride(), each.dtype
        key = function, *map(key_of, arguments)
        if key not in self._recognised:
            # With the tensors, so that their memory stays theirs.
            self._recognised[key] = function(self._torch, *arguments), arguments
        return self._recognised[key][0]

    def number(self, node):
        """Returns the number that all elements are, or None."""
        value = self.value(node) if hasattr(node, "op") else node
        if isinstance(value, (bool, int, float)):
            return value
        if value is None or isinstance(value, (tuple, list)) or value.numel() == 0:
            return None
        first = value.flatten()[0]
        return first.item() if bool((value == first).all()) else None


def first_row(torch, indices):
    """Returns the first of indices that count upwards in the innermost dimension, or None."""
    if indices.dtype not in (torch.int64, torch.int32) or indices.dim() == 0:
        return None
    first = indices.flatten()[0].item()
    row = torch.arange(first, first + indices.shape[-1])
    return first if first >= 0 and bool((indices == row).all()) else None


def mask_kind(torch, mask, rows, columns):
    """Returns "full" or "causal" for a mask of attention, or None for any other."""
    if mask.dtype == torch.bool:
        seen = mask
    elif mask.is_floating_point():
        seen = mask == 0
        if not bool((seen | (mask <= HIDDEN)).all()):
            return None
    else:
        return None
    if bool(seen.all()):
        return "full"
    if seen.dim() < 2 or tuple(seen.shape[-2:]) != (rows, columns):
        return None
    causal = torch.ones(rows, columns, dtype=torch.bool).tril(columns - rows)
    return "causal" if bool((seen == causal).all()) else None


def _table(torch, value, dimension):
    """Returns a constant that broadcasts as [positions, width], or None if other dimensions
    matter."""
    dimension %= value.dim()
    for other in range(value.dim() - 1):
        if other == dimension:
            continue
        first = value.narrow(other, 0, 1)
        if not bool((value == first).all()):
            return None
        value = first
    return value.movedim(dimension, -2).flatten(0, -2).to(torch.float64)


def rotation_base(torch, cosines, sines, positions, dimension=-2):
    """Returns the base of the rotations whose cosines and sines these constants are, and whether
    they are backwards; None if they are anything else.

    Position p turns the numbers i and i + width/2 by p · base^(−2i/width).
    """
    if min(cosines.dim(), sines.dim()) < -dimension:
        return None
    tables = [_table(torch, each, dimension) for each in (cosines, sines)]
    if any(each is None for each in tables) or tables[0].shape != tables[1].shape:
        return None
    cosine, sine = tables
    width = cosine.shape[1]
    if cosine.shape[0] != positions or width % 2:
        return None
    # The second position turns the last pair least, by the angle that says what the base is.
    # With one pair or one position every base gives the same angles.
    base, is_inverse = 10000.0, False
    if positions > 1:
        is_inverse = bool(sine[1, 0] < 0)
        last = math.atan2(abs(sine[1, width // 2 - 1].item()), cosine[1, width // 2 - 1].item())
        if width > 2:
            if last <= 0:
                return None
            base = last ** (-width / (width - 2))
    if not 1 <= base < math.inf:
        return None
    for digits in range(1, 18):
        rounded = float(f"{base:.{digits}g}")
        if rounded >= 1 and _is_rotation(torch, cosine, sine, rounded, is_inverse):
            return rounded, is_inverse
    return None


def _is_rotation(torch, cosine, sine, base, is_inverse):
    positions, width = cosine.shape
    frequencies = base ** (-2 * torch.arange(width // 2, dtype=torch.float64) / width)
    angles = torch.outer(torch.arange(positions, dtype=torch.float64), frequencies)
    angles = torch.cat([angles, angles], dim=-1)
    allowed = _ROUNDINGS * torch.finfo(torch.float32).eps * (1 + angles)
    wanted = -angles.sin() if is_inverse else angles.sin()
    return bool(((cosine - angles.cos()).abs() <= allowed).all()
                and ((sine - wanted).abs() <= allowed).all())
