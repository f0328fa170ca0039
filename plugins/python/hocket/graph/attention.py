"""Rules of attention, as one operator or as a product, a softmax and a product."""

import math

from hocket.graph import matching
from hocket.graph.constants import HIDDEN, mask_kind
from hocket.graph.translation import Plan, Refusal, operator_of, rule

_SAME_SCALE = 1e-12


@rule("scaled_dot_product_attention")
def _sdpa(place, query, key, value, attn_mask=None, dropout_p=0.0, is_causal=False, scale=None,
          enable_gqa=False):
    if dropout_p:
        raise Refusal("it drops attention by chance, and attention of graphs does not; set the "
                      "dropout of attention to 0, or call eval() on the module")
    rows, columns = place.shape_of(query)[-2], place.shape_of(key)[-2]
    if is_causal and attn_mask is not None:
        raise Refusal("both is_causal and a mask; leave out one of them")
    if is_causal and rows != columns:
        raise Refusal(f"is_causal with {rows} rows and {columns} columns, which sees the first "
                      "columns; causal attention of graphs sees the last ones")
    if attn_mask is not None:
        needs = [query, key, value]
        if attn_mask not in place.constants:
            raise Refusal("a mask that depends on inputs; graphs have full and causal attention. "
                          "Leave out attention_mask where no token is padding", needs)
        is_causal = _is_causal(place, place.known(attn_mask, needs), rows, columns, needs)
    return _planned(place, query, key, value, is_causal, scale)


def _is_causal(place, mask, rows, columns, needs=None):
    kind = place.constants.recognised(mask_kind, mask, rows, columns)
    if kind is None:
        raise Refusal("a mask that is neither full nor causal; graphs have no other attention",
                      needs)
    return kind == "causal"


def _planned(place, query, key, value, is_causal, scale):
    shapes = [place.shape_of(each) for each in (query, key, value)]
    rank, shape = len(shapes[0]), place.shape
    if rank not in (3, 4) or any(len(each) != rank for each in shapes):
        raise Refusal("queries, keys and values of other shapes than [batch, heads, rows, width]")
    if len({each[0] for each in shapes}) > 1:
        raise Refusal("batches of different sizes; repeat keys and values")
    (keys, key_repeats), (values, value_repeats) = (
        (matching.without_repeats(place, each) for each in (key, value)) if rank == 4
        else ((key, 1), (value, 1)))
    if key_repeats == value_repeats and key_repeats > 1:
        key, value = keys, values
    width = shapes[0][-1]
    attributes = {"causal": True} if is_causal else {}
    usual = 1 / math.sqrt(width)
    if scale is not None and abs(scale - usual) > _SAME_SCALE * usual:
        if scale <= 0:
            raise Refusal(f"a scale of {scale}; scales of graphs are above 0")
        attributes["scale"] = float(scale)
    groups = [place.shape_of(each)[1] for each in (key, value)]
    if rank == 4 and (groups[0] != groups[1] or shapes[0][1] % groups[0]):
        raise Refusal("keys and values of other groups, or heads that are no multiple of them; "
                      "repeat keys and values alike")

    def write(out, *operands):
        if rank == 3:
            operands = [out.reshape(each, (each.shape[0], 1, *each.shape[1:])) for each in operands]
        return out.reshape(out("attention", *operands, **attributes), shape)
    return Plan([query, key, value], write)


def plan_of_product(place, a, b):
    """Returns the plan of softmax(scale · queries · keysᵀ + mask) · values; None for any other
    product."""
    weights = _without_dropout(a)
    if not hasattr(weights, "op") or operator_of(weights) not in ("softmax.int", "_softmax"):
        return None
    rank = len(place.shape_of(weights))
    if rank not in (3, 4) or not matching.last_dimension(weights, weights.args[1]):
        return None
    scores, mask = _masked(place, matching.source(weights.args[0]))
    scale, product = _scaled(place, matching.source(scores))
    if operator_of(product) not in ("matmul", "bmm"):
        return None
    query, transposed = product.args
    key, is_swapped = matching.swapped(matching.source(transposed))
    if not is_swapped or any(place.shape_of(each)[:-2] != place.shape_of(weights)[:-2]
                          for each in (query, key, b)):
        return None
    rows, columns = place.shape_of(weights)[-2:]
    is_causal = mask is not None and _is_causal(place, mask, rows, columns, [query, key, b])
    return _planned(place, query, key, b, is_causal, scale)


def _without_dropout(node):
    node = matching.source(node)
    while operator_of(node) == "dropout" and not (node.args[2] and node.args[1]):
        node = matching.source(node.args[0])
    return node


def _masked(place, node):
    """Returns the scores before a mask, and the mask's tensor or None."""
    name = operator_of(node)
    if name in ("masked_fill.Scalar", "masked_fill.Tensor", "where.self"):
        mask, hidden = node.args[0 if name == "where.self" else 1], node.args[2]
        number = place.number(hidden)
        if mask in place.constants and number is not None and number <= HIDDEN:
            if name == "where.self":
                return node.args[1], place.known(mask)
            return node.args[0], ~place.known(mask)
    elif name == "add.Tensor" and node.kwargs.get("alpha", 1) == 1:
        for scores, mask in (node.args, node.args[::-1]):
            if mask in place.constants and place.shape_of(mask) != ():
                return scores, place.known(mask)
    return node, None


def _scaled(place, node):
    """Returns the factor of scores and the scores before it."""
    name = operator_of(node).split(".")[0]
    if name in ("mul", "div"):
        for scores, factor in ((node.args, node.args[::-1]) if name == "mul" else (node.args,)):
            number = place.number(factor)
            if number is not None and hasattr(scores, "op"):
                return number if name == "mul" else 1 / number, matching.source(scores)
    return 1.0, node
