"""Rules of what is done number by number, and of sums."""

import math

from hocket.graph import matching, rotations
from hocket.graph.translation import Plan, Refusal, operator_of, rule

_INTEGERS = "arithmetic with integers that depend on inputs; graphs have none"

_GELU = ("mul", ("mul", "x", 0.5),
         ("add", ("tanh", ("mul", ("add", "x", ("mul", ("pow", "x", 3), 0.044715)),
                           math.sqrt(2 / math.pi))), 1))


def _numbers(place):
    numbers = place.type.numbers
    if numbers == "int32":
        raise Refusal(_INTEGERS)
    return numbers


def _unary(kind):
    def planned(place, x, **_):
        numbers = _numbers(place)
        if not place.is_floating(x):
            raise Refusal(_INTEGERS)
        return Plan([x], lambda out, x: out(kind, out.convert(x, numbers)))
    return planned


for _name, _kind in {
        "exp": "exponential", "log": "logarithm", "sqrt": "square_root",
        "rsqrt": "reciprocal_square_root", "tanh": "tanh", "sigmoid": "sigmoid", "relu": "relu",
        "silu": "silu"}.items():
    rule(_name)(_unary(_kind))


@rule("gelu")
def _gelu(place, x, approximate="none"):
    if approximate != "tanh":
        raise Refusal('graphs have gelu by tanh, not by erf; use GELU(approximate="tanh"), or '
                      '"gelu_new" or "gelu_pytorch_tanh" in a configuration of transformers')
    return _unary("gelu")(place, x)


@rule("neg")
def _neg(place, x):
    _numbers(place)
    return Plan([x], lambda out, x: out.scale(x, -1))


def _operand(place, x):
    """Returns the nodes of an operand, and a function that makes its value of them."""
    numbers = _numbers(place)
    number = place.number(x)
    if number is not None and (not hasattr(x, "op") or len(place.shape_of(x)) == 0):
        return [], lambda out: out.constant(float(number), numbers)
    if not place.is_floating(x):
        raise Refusal(_INTEGERS)
    return [x], lambda out, x: out.convert(x, numbers)


def _binary(place, kind, a, b, factor=1):
    """Plans a and b, times the factor."""
    (first, make_a), (second, make) = _operand(place, a), _operand(place, b)

    def make_b(out, *values):
        return out.scale(make(out, *values), factor)
    return Plan(first + second, lambda out, *values: out(
        kind, make_a(out, *values[:len(first)]), make_b(out, *values[len(first):])))


def _scaled(place, x, factor):
    if not math.isfinite(factor):
        raise Refusal(f"a factor that is {factor}")
    numbers = _numbers(place)
    if not place.is_floating(x):
        raise Refusal(_INTEGERS)
    return Plan([x], lambda out, x: out.scale(out.convert(x, numbers), factor))


def _scalar(place, x):
    """Returns the number that an operand is, where it changes no shape."""
    number = place.number(x)
    if number is None or (hasattr(x, "op") and place.shape_of(x) != ()):
        return None
    return number


@rule("mul.Tensor", "mul.Scalar")
def _mul(place, a, b):
    found = {}
    if matching.matches(place, place.node, _GELU, found):
        return _unary("gelu")(place, found["x"])
    norm = _rms_norm(place, a, b)
    if norm is not None:
        return norm
    for x, y in ((a, b), (b, a)):
        if _scalar(place, y) is not None:
            return _scaled(place, x, float(_scalar(place, y)))
    for gate, up in ((a, b), (b, a)):
        if (hasattr(gate, "op") and operator_of(gate) == "silu" and len(gate.users) == 1
                and place.shape_of(gate) == place.shape_of(up) == place.shape
                and gate.meta["val"].dtype == up.meta["val"].dtype):
            return Plan([gate.args[0], up], lambda out, gate, up: out("swiglu", gate, up))
    return _binary(place, "multiply", a, b)


def _normed(place, node):
    """Returns x and epsilon where a node is x divided by its root mean square; else None."""
    node = matching.source(node)
    if not hasattr(node, "op") or operator_of(node) != "mul.Tensor":
        return None
    for x, root in (node.args, node.args[::-1]):
        x, root = matching.source(x), matching.source(root)
        if not hasattr(root, "op") or operator_of(root) != "rsqrt":
            continue
        added = matching.source(root.args[0])
        if not operator_of(added).startswith("add") or added.kwargs.get("alpha", 1) != 1:
            continue
        for mean, epsilon in (added.args, added.args[::-1]):
            number = place.number(epsilon)
            if number is None or not 0 <= number <= 1 or not _is_mean_square(place, mean, x):
                continue
            return x, float(number)
    return None


def _is_mean_square(place, mean, x):
    mean = matching.source(mean)
    if not hasattr(mean, "op") or operator_of(mean) != "mean.dim" or len(mean.args) < 3:
        return False
    squares, dimensions, keep = mean.args[:3]
    is_square = any(matching.matches(place, squares, pattern, {"x": x})
                    for pattern in (("pow", "x", 2), ("mul", "x", "x"), ("square", "x")))
    return (is_square and bool(keep) and len(dimensions) == 1
            and matching.last_dimension(x, dimensions[0]))


def _rms_norm(place, a, b):
    """Returns the plan of x / rms(x), times a gain for each place of the innermost dimension."""
    numbers = place.type.numbers
    for gain, inner in ((a, b), (b, a)):
        if not hasattr(gain, "op") or not hasattr(inner, "op"):
            continue
        normed = _normed(place, inner)
        if normed and place.shape_of(gain) == place.shape[-1:] == place.shape_of(normed[0])[-1:]:
            x, epsilon = normed
            return Plan([x, gain], lambda out, x, gain: out(
                "rms_norm", out.convert(x, numbers), out.convert(gain, numbers), epsilon=epsilon))
    normed = _normed(place, place.node)
    if normed is None:
        return None
    x, epsilon = normed
    return Plan([x], lambda out, x: out(
        "rms_norm", out.convert(x, numbers), out.constant(1.0, numbers, x.shape[-1:]),
        epsilon=epsilon))


@rule("div.Tensor", "div.Scalar")
def _div(place, a, b):
    number = _scalar(place, b)
    if number:
        return _scaled(place, a, 1 / number)
    return _binary(place, "divide", a, b)


@rule("reciprocal")
def _reciprocal(place, x):
    return _binary(place, "divide", 1.0, x)


def _is_whole(place, x):
    return hasattr(x, "op") and place.shape_of(x) == place.shape


@rule("add.Tensor", "add.Scalar")
def _add(place, a, b, alpha=1):
    rotated = rotations.plan_of(place)
    if rotated is not None:
        return rotated
    for x, y in ((a, b), (b, a)):
        if _scalar(place, y) == 0 and _is_whole(place, x):
            numbers = _numbers(place)
            return Plan([x], lambda out, x: out.convert(x, numbers))
    return _binary(place, "add", a, b, alpha)


@rule("sub.Tensor", "sub.Scalar")
def _sub(place, a, b, alpha=1):
    return _binary(place, "subtract", a, b, alpha)


@rule("rsub.Tensor", "rsub.Scalar")
def _rsub(place, a, b, alpha=1):
    if alpha != 1:
        raise Refusal("a factor of what is subtracted from; multiply before")
    return _binary(place, "subtract", b, a)


@rule("pow.Tensor_Scalar")
def _pow(place, x, exponent):
    _numbers(place)
    if exponent in (1, 2, 3, 4):
        def write(out, x):
            y = x
            for _ in range(int(exponent) - 1):
                y = out("multiply", y, x)
            return y
        return Plan([x], write)
    roots = {0.5: "square_root", -0.5: "reciprocal_square_root"}
    if exponent in roots:
        return Plan([x], lambda out, x: out(roots[exponent], x))
    if exponent == -1:
        return _binary(place, "divide", 1.0, x)
    raise Refusal(f"the exponent {exponent}; graphs have 1 to 4, 0.5, −0.5 and −1")


@rule("square")
def _square(place, x):
    _numbers(place)
    return Plan([x], lambda out, x: out("multiply", x, x))


@rule("_to_copy", "to.dtype", "type_as")
def _to_copy(place, x, *_, **__):
    numbers = place.type.numbers
    if numbers == "int32" or not place.is_floating(x):
        if numbers == "int32" and not place.is_floating(x):
            return Plan([x], lambda out, x: x)
        raise Refusal("conversion between integers and other numbers that depend on inputs")
    return Plan([x], lambda out, x: out.convert(x, numbers))


def _dimensions(place, x, dimensions):
    rank = len(place.shape_of(x))
    if dimensions is None or dimensions == []:
        return list(range(rank))
    dimensions = [dimensions] if isinstance(dimensions, int) else list(dimensions)
    return sorted(each % rank for each in dimensions)


def _reduction(place, x, dimensions, keep, kind, is_mean):
    numbers = _numbers(place)
    if not place.is_floating(x):
        raise Refusal(_INTEGERS)
    over = _dimensions(place, x, dimensions)
    count = math.prod(place.shape_of(x)[each] for each in over) if is_mean else 1

    def write(out, x):
        x = out.convert(x, numbers)
        if not x.shape:
            return x
        keeps = {"keep": True} if keep else {}
        return out.scale(out(kind, x, dimensions=over, **keeps), 1 / count)
    return Plan([x], write)


@rule("mean", "mean.dim")
def _mean(place, x, dim=None, keepdim=False, dtype=None):
    return _reduction(place, x, dim, keepdim, "sum", True)


@rule("sum", "sum.dim_IntList")
def _sum(place, x, dim=None, keepdim=False, dtype=None):
    return _reduction(place, x, dim, keepdim, "sum", False)


@rule("amax")
def _amax(place, x, dim=None, keepdim=False):
    return _reduction(place, x, dim, keepdim, "maximum", False)


@rule("dropout", "native_dropout")
def _dropout(place, x, p, train):
    if not train or p == 0:
        return Plan([x], lambda out, x: x)
    translation, stream = place.translation, place.translation.stream_of(place.node)
    if not translation.has_dropout:
        raise Refusal("it drops numbers by chance; call eval() on the module, set p to 0, or have "
                      'them dropped by the input "key" with from_module(…, dropout=True)')
    if not 0 < p < 1:
        raise Refusal(f"it drops a share of {p}; graphs drop less than all")
    return Plan([x], lambda out, x: out("dropout", x, translation.key_of(out), rate=float(p),
                                        stream=stream))
