"""Rules of products of matrices."""

from hocket.graph import attention, matching
from hocket.graph.translation import Plan, Refusal, operator_of, rule


def _product(out, numbers, a, b, transpose_a=False, transpose_b=False):
    flags = {"transpose_a": transpose_a, "transpose_b": transpose_b}
    return out("matmul", out.convert(a, numbers), out.convert(b, numbers),
               **{name: True for name, is_set in flags.items() if is_set})


@rule("linear")
def _linear(place, x, weight, bias=None):
    numbers, shape = place.type.numbers, place.shape

    def write(out, x, weight, *biases):
        rows = out.reshape(x, (1, *x.shape)) if len(x.shape) == 1 else x
        y = _product(out, numbers, rows, weight, transpose_b=True)
        for each in biases:
            y = out("add", y, each)
        return out.reshape(y, shape)
    return Plan([x, weight] + ([bias] if bias is not None else []), write)


@rule("mm", "bmm", "matmul")
def _matmul(place, a, b):
    planned = attention.plan_of_product(place, a, b)
    if planned is not None:
        return planned
    numbers, shape = place.type.numbers, place.shape
    if not place.is_floating(a):
        raise Refusal("a product of integers; graphs have none")
    (a, transpose_a), (b, transpose_b) = matching.swapped(a), matching.swapped(b)

    def write(out, a, b):
        a = out.reshape(a, (1, *a.shape)) if len(a.shape) == 1 else a
        b = out.reshape(b, (*b.shape, 1)) if len(b.shape) == 1 else b
        return out.reshape(_product(out, numbers, a, b, transpose_a, transpose_b), shape)
    return Plan([a, b], write)


def _addmm_parts(node):
    """Returns the bias or None and the matrices where a node is a product; else None."""
    if operator_of(node) == "mm":
        return (None, *node.args)
    if operator_of(node) == "addmm" and set(node.kwargs.values()) <= {1} and len(node.args) == 3:
        return node.args
    return None


@rule("addmm")
def _addmm(place, bias, a, b, beta=1, alpha=1):
    if beta != 1 or alpha != 1:
        raise Refusal("alpha and beta that are not 1; multiply before")
    numbers = place.type.numbers
    (a, transpose_a), (b, transpose_b) = matching.swapped(a), matching.swapped(b)
    return Plan([bias, a, b], lambda out, bias, a, b: out(
        "add", _product(out, numbers, a, b, transpose_a, transpose_b), bias))


def product_of_rows(place, node):
    """Returns the plan of a view of a product of x's rows, as a product of x itself.

    Modules flatten x to a matrix, and give the product x's shape again.
    """
    parts = _addmm_parts(node)
    if parts is None or len(node.users) != 1:
        return None
    bias, rows, weight = parts
    if operator_of(rows) not in ("view", "reshape", "_unsafe_view"):
        return None
    x = rows.args[0]
    if (len(place.shape) < 2 or place.shape[:-1] != place.shape_of(x)[:-1]
            or place.shape_of(x)[-1] != place.shape_of(rows)[-1]
            or place.shape[-1] != place.shape_of(node)[-1]
            or (bias is not None and place.shape_of(bias) != place.shape[-1:])):
        return None
    numbers = place.type.numbers
    weight, is_transposed = matching.swapped(weight)

    def write(out, x, weight, *biases):
        y = _product(out, numbers, x, weight, transpose_b=is_transposed)
        for each in biases:
            y = out("add", y, each)
        return y
    return Plan([x, weight] + ([bias] if bias is not None else []), write)
