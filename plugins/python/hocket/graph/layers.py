"""Rules of norms, tables of rows, softmax and losses."""

import math

from hocket.graph import matching
from hocket.graph.constants import first_row
from hocket.graph.translation import Plan, Refusal, operator_of, rule


def _check_norm(normalized_shape):
    if len(normalized_shape) != 1:
        raise Refusal("a norm over several dimensions; graphs have norms over the innermost")


@rule("layer_norm")
def _layer_norm(place, x, normalized_shape, weight=None, bias=None, eps=1e-5, _=None):
    _check_norm(normalized_shape)
    numbers = place.type.numbers
    given = [each for each in (weight, bias) if each is not None]

    def write(out, x, *values):
        values = list(values)
        gain = (values.pop(0) if weight is not None
                else out.constant(1.0, numbers, normalized_shape))
        shift = values.pop(0) if bias is not None else out.constant(0.0, numbers, normalized_shape)
        return out("layer_norm", x, gain, shift, epsilon=float(eps))
    return Plan([x, *given], write)


@rule("rms_norm")
def _rms_norm(place, x, normalized_shape, weight=None, eps=None):
    _check_norm(normalized_shape)
    numbers = place.type.numbers
    epsilon = place.torch.finfo(x.meta["val"].dtype).eps if eps is None else eps

    def write(out, x, *gains):
        gain = gains[0] if gains else out.constant(1.0, numbers, normalized_shape)
        return out("rms_norm", x, out.convert(gain, numbers), epsilon=float(epsilon))
    return Plan([x] + ([weight] if weight is not None else []), write)


@rule("embedding")
def _embedding(place, table, indices, padding_idx=-1, scale_grad_by_freq=False, sparse=False):
    if padding_idx >= 0:
        raise Refusal(f"padding_idx is {padding_idx}, whose row gets no gradient; in a graph each "
                      "row gets one. Set it to None")
    if scale_grad_by_freq:
        raise Refusal("it scales gradients by frequency, which graphs do not")
    shape = place.shape
    known = place.known(indices) if indices in place.constants else None
    first = None if known is None else first_row(place.torch, known)
    if first is None:
        return Plan([table, indices], lambda out, table, indices: out("embedding", table, indices))

    # Indices that count upwards are those of positions.
    def write(out, table):
        rows = out.slice(table, 0, first, first + shape[-2])
        flat = out.reshape(rows, (1,) * (len(shape) - 2) + rows.shape)
        return flat if flat.shape == shape else out("broadcast", flat, shape=shape)
    return Plan([table], write)


def _innermost(place, rank, dim):
    """Returns the order of dimensions that swaps one with the innermost."""
    order = list(range(rank))
    order[dim], order[-1] = order[-1], order[dim]
    return order


@rule("softmax.int", "_softmax")
def _softmax(place, x, dim, *_, **__):
    numbers, order = place.type.numbers, _innermost(place, len(place.shape), dim)
    return Plan([x], lambda out, x: out.transpose(
        out("softmax", out.transpose(out.convert(x, numbers), order)), order))


@rule("log_softmax.int", "_log_softmax")
def _log_softmax(place, x, dim, *_, **__):
    numbers, dim = place.type.numbers, dim % len(place.shape)

    def write(out, x):
        x = out.convert(x, numbers)
        less = out("subtract", x, out("maximum", x, dimensions=[dim], keep=True))
        total = out("sum", out("exponential", less), dimensions=[dim], keep=True)
        return out("subtract", less, out("logarithm", total))
    return Plan([x], write)


def _shifted(place, target, ignored):
    """Returns the labels [sequences, tokens] where targets are each one's next label, and the
    last ones are ignored."""
    node = target
    while matching.is_copy(node) or operator_of(node) in ("view", "reshape", "_unsafe_view"):
        node = node.args[0]
    if operator_of(node) != "slice.Tensor" or operator_of(node.args[0]) not in (
            "pad", "constant_pad_nd"):
        return None
    padded = node.args[0]
    labels, pad = padded.args[:2]
    # A slice may name no end, and constant_pad_nd no mode.
    dim, start = (*node.args[1:], 0, 0)[:2]
    value = padded.args[-1] if len(padded.args) > 2 else padded.kwargs.get("value")
    shape = place.shape_of(labels)
    is_shifted = (list(pad) == [0, 1] and value == ignored and start == 1 and len(shape) == 2
                  and dim in (1, -1) and place.shape_of(node) == shape and shape[1] > 1)
    return labels if is_shifted else None


@rule("cross_entropy_loss")
def _cross_entropy(place, logits, target, weight=None, reduction=1, ignore_index=-100,
                   label_smoothing=0.0):
    if weight is not None or label_smoothing:
        raise Refusal("weights of classes and smoothed labels; graphs have neither")
    if place.is_floating(target):
        raise Refusal("targets that are shares of classes; graphs have indices of classes")
    shape = place.shape_of(logits)
    classes = shape[0 if len(shape) == 1 else 1]
    if 0 <= ignore_index < classes:
        raise Refusal(f"ignore_index is {ignore_index}, a class; graphs ignore no targets")
    labels = _shifted(place, target, ignore_index) if len(shape) == 2 else None
    if labels is not None and reduction == 0:
        raise Refusal("losses one by one of which some are ignored; graphs ignore no targets")
    numbers, rank = place.type.numbers, len(shape)
    if labels is not None:
        batch, tokens = place.shape_of(labels)
        if operator_of(logits) == "view" and place.shape_of(logits.args[0]) == (
                batch, tokens, classes):
            logits = logits.args[0]

    def write(out, logits, targets):
        if labels is not None:
            logits = out.slice(out.reshape(logits, (batch, tokens, classes)), 1, 0, tokens - 1)
            targets = out.slice(targets, 1, 1, tokens)
        elif rank == 1:
            logits, targets = out.reshape(logits, (1, classes)), out.reshape(targets, (1,))
        else:
            logits = out.transpose(logits, [0, *range(2, rank), 1])
        losses = out("cross_entropy", logits, targets)
        if reduction == 0:
            return out.convert(out.reshape(losses, place.shape), numbers)
        total = out("sum", losses, dimensions=list(range(len(losses.shape))))
        factor = 1 / math.prod(losses.shape) if reduction == 1 else 1
        return out.convert(out.scale(total, factor), numbers)
    return Plan([logits, labels if labels is not None else target], write)


@rule("nll_loss_nd", "nll_loss")
def _nll_loss(place, x, target, weight=None, reduction=1, ignore_index=-100):
    made = matching.source(x)
    if operator_of(made) not in ("log_softmax.int", "_log_softmax") or made.args[1] % len(
            place.shape_of(made)) != min(1, len(place.shape_of(made)) - 1):
        raise Refusal("of what is not a logarithm of softmax over the classes; use cross_entropy")
    return _cross_entropy(place, made.args[0], target, weight, reduction, ignore_index)


@rule("mse_loss")
def _mse_loss(place, x, target, reduction=1):
    if place.shape_of(x) != place.shape_of(target):
        raise Refusal("shapes that differ; reshape one of them")
    shape = place.shape_of(x)

    def write(out, x, target):
        apart = out("subtract", x, target)
        squares = out("multiply", apart, apart)
        if reduction == 0 or not shape:
            return squares
        total = out("sum", squares, dimensions=list(range(len(shape))))
        return out.scale(total, 1 / math.prod(shape) if reduction == 1 else 1)
    return Plan([x, target], write)
