"""Recognising several operators as one operation."""

from hocket.graph.translation import operator_of

GETITEM = "<built-in function getitem>"
_COPIES = {"alias", "clone", "contiguous", "lift_fresh_copy"}
_ROUNDING = 1e-6


def is_copy(node):
    return operator_of(node) in _COPIES


def source(node):
    """Returns what a node is a copy of, or is in another floating-point type."""
    while hasattr(node, "op") and (is_copy(node) or _is_conversion(node)):
        node = node.args[0]
    return node


def _is_conversion(node):
    if operator_of(node) not in ("_to_copy", "to.dtype", "type_as"):
        return False
    return all(each.meta["val"].is_floating_point() for each in (node, node.args[0]))


def last_dimension(node, dimension):
    return dimension in (-1, node.meta["val"].dim() - 1)


def matches(place, node, pattern, found):
    """Returns whether a node has the pattern, and sets `found` to the nodes by their letters.

    A pattern is a letter, which stands for the same node everywhere; a number; or a tuple of an
    operator without its overload, and patterns of its arguments. Both orders of `add` and `mul`
    are tried.
    """
    node = source(node)
    if isinstance(pattern, (int, float)):
        number = place.number(node) if not isinstance(node, (list, tuple)) else None
        return number is not None and abs(number - pattern) <= _ROUNDING * abs(pattern)
    if isinstance(pattern, str):
        if not hasattr(node, "op"):
            return False
        return found.setdefault(pattern, node) is node
    if not hasattr(node, "op") or operator_of(node).split(".")[0] != pattern[0]:
        return False
    args = list(node.args)[:len(pattern) - 1]
    # A factor of addition is in no pattern.
    if len(args) != len(pattern) - 1 or node.kwargs.get("alpha", 1) != 1:
        return False
    orders = [args, args[::-1]] if pattern[0] in ("add", "mul") else [args]
    for order in orders:
        trial = dict(found)
        if all(matches(place, each, part, trial) for each, part in zip(order, pattern[1:])):
            found.update(trial)
            return True
    return False


def half(node):
    """Returns the node whose innermost dimension this is a half of, and 0 or 1; else None, 0."""
    node = source(node)
    name = operator_of(node)
    if name == GETITEM:
        split = node.args[0]
        if operator_of(split) != "split.Tensor":
            return None, 0
        whole, size, dimension = (*split.args, 0)[:3]
        begin = node.args[1] * size
    elif name == "slice.Tensor":
        whole, dimension, begin, end, step = (*node.args, *(None, 0, 0, None, 1)[len(node.args):])
        if step != 1 or node.kwargs:
            return None, 0
        begin = begin or 0
    else:
        return None, 0
    width = whole.meta["val"].shape[-1]
    begin += width if begin < 0 else 0
    if (not last_dimension(whole, dimension) or node.meta["val"].shape[-1] * 2 != width
            or begin not in (0, width // 2)):
        return None, 0
    return source(whole), int(begin > 0)


def swapped(node):
    """Returns what a matrix is the transpose of, and whether it is one."""
    if not hasattr(node, "op"):
        return node, False
    rank, name = node.meta["val"].dim(), operator_of(node)
    if name in ("t", "mT") and rank >= 2:
        return node.args[0], True
    if name in ("transpose.int", "swapaxes"):
        if {node.args[1] % rank, node.args[2] % rank} == {rank - 1, rank - 2}:
            return node.args[0], True
    if name == "permute":
        order = [each % rank for each in node.args[1]]
        if order == [*range(rank - 2), rank - 1, rank - 2]:
            return node.args[0], True
    return node, False


def without_repeats(place, node):
    """Returns the node of which this one repeats dimension 1, each entry as often in a row, and
    how often."""
    node = source(node)
    name = operator_of(node)
    if name == "repeat_interleave.self_int":
        x, repeats, dim = (*node.args, *node.kwargs.values(), None)[:3]
        return (x, repeats) if dim in (1, -3) else (node, 1)
    shape = place.shape_of(node)
    if name not in ("view", "_unsafe_view", "reshape") or len(shape) != 4:
        return node, 1
    wide = source(node.args[0])
    if operator_of(wide) != "expand" or len(place.shape_of(wide)) != 5:
        return node, 1
    narrow = source(wide.args[0])
    x = narrow.args[0] if operator_of(narrow) in ("unsqueeze", "view", "reshape") else None
    batch, groups, repeats, rows, width = place.shape_of(wide)
    if (x is None or place.shape_of(narrow) != (batch, groups, 1, rows, width)
            or place.shape_of(x) != (batch, groups, rows, width)
            or shape != (batch, groups * repeats, rows, width)):
        return node, 1
    return x, repeats
