"""Rules of where numbers are: shapes, parts, orders."""

from hocket.graph import matching, products
from hocket.graph.translation import Plan, Refusal, operator_of, rule


@rule("alias", "clone", "contiguous", "lift_fresh_copy")
def _copy(place, x, **_):
    return Plan([x], lambda out, x: x)


@rule("detach")
def _detach(place, x):
    if x not in place.translation.program.trained:
        return _copy(place, x)
    raise Refusal("it stops gradients, and no operation of graphs does; return what is needed "
                  "without a gradient from another module")


@rule("view", "_unsafe_view", "reshape", "unsqueeze", "squeeze", "squeeze.dim", "squeeze.dims",
      "flatten.using_ints", "unflatten.int", "view_as")
def _view(place, x, *_, **__):
    product = products.product_of_rows(place, x)
    if product is not None:
        return product
    shape = place.shape
    return Plan([x], lambda out, x: out.reshape(x, shape))


@rule("transpose.int", "swapaxes")
def _transpose(place, x, first, second):
    order = list(range(len(place.shape)))
    order[first], order[second] = order[second], order[first]
    return Plan([x], lambda out, x: out.transpose(x, order))


@rule("t", "numpy_T", "mT")
def _t(place, x):
    return _transpose(place, x, -2, -1) if len(place.shape) > 1 else _copy(place, x)


@rule("permute")
def _permute(place, x, order):
    order = [each % len(order) for each in order]
    return Plan([x], lambda out, x: out.transpose(x, order))


@rule("expand")
def _expand(place, x, *_, **__):
    shape = place.shape

    def write(out, x):
        return x if x.shape == shape else out("broadcast", x, shape=shape)
    return Plan([x], write)


@rule("repeat_interleave.self_int")
def _repeat_interleave(place, x, repeats, dim=None, **_):
    if dim is None:
        raise Refusal("repeats of a flattened tensor; name the dimension")
    shape, before = place.shape, place.shape_of(x)
    dim %= len(before)

    def write(out, x):
        split = out.reshape(x, (*before[:dim + 1], 1, *before[dim + 1:]))
        repeated = out("broadcast", split,
                       shape=(*before[:dim + 1], repeats, *before[dim + 1:]))
        return out.reshape(repeated, shape)
    return Plan([x], write if repeats > 1 else lambda out, x: x)


def _part(place, x, dimension, begin, end):
    return Plan([x], lambda out, x: out.slice(x, dimension, begin, end))


@rule("slice.Tensor")
def _slice(place, x, dim=0, start=None, end=None, step=1):
    if step != 1:
        raise Refusal(f"a slice with a step of {step}; graphs have only steps of 1")
    dim %= len(place.shape)
    size = place.shape_of(x)[dim]
    start = start or 0
    start = max(0, start + size) if start < 0 else start
    return _part(place, x, dim, start, start + place.shape[dim])


@rule("select.int")
def _select(place, x, dim, index):
    shape, before = place.shape, place.shape_of(x)
    dim %= len(before)
    index %= before[dim]
    return Plan([x], lambda out, x: out.reshape(out.slice(x, dim, index, index + 1), shape))


@rule(matching.GETITEM)
def _getitem(place, parts, index):
    name = operator_of(parts)
    if name == "native_dropout" and index == 0:
        return Plan([parts], lambda out, x: x)
    if name == "unbind.int":
        x, dim = (*parts.args, 0)[:2]
        return _select(place, x, dim, index)
    if name == "broadcast_tensors":
        return _expand(place, parts.args[0][index])
    if name not in ("split.Tensor", "split_with_sizes"):
        # Its own rule, or that it has none, says what it is.
        return Plan([parts], lambda out, parts: parts[index])
    x, size, dim = (*parts.args, 0)[:3]
    dim %= len(place.shape)
    begin = size * index if isinstance(size, int) else sum(size[:index])
    return _part(place, x, dim, begin, begin + place.shape[dim])


@rule("cat")
def _cat(place, parts, dim=0):
    dim %= len(place.shape)
    numbers = place.type.numbers
    # Modules may leave nothing of a dimension over.
    parts = [each for each in parts if 0 not in place.shape_of(each)]
    return Plan(parts, lambda out, *parts: parts[0] if len(parts) == 1 else out(
        "concatenate", *(out.convert(each, numbers) for each in parts), dimension=dim))


@rule("stack")
def _stack(place, parts, dim=0):
    dim %= len(place.shape)
    numbers = place.type.numbers

    def write(out, *parts):
        shape = (*parts[0].shape[:dim], 1, *parts[0].shape[dim:])
        whole = [out.reshape(out.convert(each, numbers), shape) for each in parts]
        return whole[0] if len(whole) == 1 else out("concatenate", *whole, dimension=dim)
    return Plan(list(parts), write)


@rule("pad", "constant_pad_nd")
def _pad(place, x, pad, mode="constant", value=None):
    if operator_of(place.node) == "constant_pad_nd":
        mode, value = "constant", mode if mode != "constant" else 0
    if mode != "constant" or value not in (None, 0) or min(pad) < 0:
        raise Refusal("graphs pad with zeros only")
    pairs = [(len(place.shape) - 1 - i // 2, pad[i], pad[i + 1]) for i in range(0, len(pad), 2)]

    def write(out, x):
        for dimension, before, after in pairs:
            if before or after:
                x = out("pad", x, dimension=dimension, before=before, after=after)
        return x
    return Plan([x], write)
