"""Recognises rotary embeddings, by their structure and by the numbers in their tables."""

from hocket.graph import matching
from hocket.graph.constants import rotation_base
from hocket.graph.translation import Plan, Refusal, operator_of


def plan_of(place):
    """Returns the plan of a node that is x · cos + turned(x) · sin, with turned(x) = (−x₂, x₁) of
    the halves of x; None where it is anything else."""
    products = [matching.source(each) for each in place.node.args[:2]]
    if len(products) != 2 or place.node.kwargs.get("alpha", 1) != 1 or not all(
            hasattr(each, "op") and operator_of(each) == "mul.Tensor" for each in products):
        return None
    for straight, turned in (products, products[::-1]):
        found = _factors(place, straight, turned)
        if found is not None:
            return _planned(place, *found)
    return None


def _factors(place, straight, turned):
    """Returns x and the tables of cosines and of sines."""
    for other, sines in (turned.args, turned.args[::-1]):
        x = _turned(other)
        if x is None or sines not in place.constants:
            continue
        for same, cosines in (straight.args, straight.args[::-1]):
            if matching.source(same) is x and cosines in place.constants:
                return x, cosines, sines
    return None


def _turned(node):
    """Returns x where a node is (−x₂, x₁) of its halves."""
    node = matching.source(node)
    if not hasattr(node, "op") or operator_of(node) != "cat":
        return None
    parts, dimension = (*node.args, 0)[:2]
    if len(parts) != 2 or not matching.last_dimension(node, dimension):
        return None
    negated, first = matching.source(parts[0]), matching.source(parts[1])
    if operator_of(negated) != "neg":
        return None
    (x, second), (same, begin) = matching.half(negated.args[0]), matching.half(first)
    return x if x is not None and x is same and (second, begin) == (1, 0) else None


def _planned(place, x, cosines, sines):
    numbers, shape = place.type.numbers, place.shape
    if place.shape_of(x) != shape:
        return None
    tables = place.known(cosines, [x]), place.known(sines, [x])
    # Positions are in the second dimension from within, or, before heads are moved, the third.
    for dimension in (-2, -3):
        if len(shape) < -dimension or any(each.dim() < -dimension for each in tables):
            continue
        found = place.constants.recognised(rotation_base, *tables, shape[dimension], dimension)
        if found is not None:
            return Plan([x], lambda out, x: _write(out, out.convert(x, numbers), dimension, found))
    raise Refusal("a rotary embedding whose tables are not the cosines and sines of position · "
                  "base^(−2i/width); graphs have no scaled, interleaved or rounded frequencies",
                  [x])


def _write(out, x, dimension, found):
    base, is_inverse = found
    order = list(range(len(x.shape)))
    order[-2], order[dimension] = order[dimension], order[-2]
    attributes = {"base": base} | ({"inverse": True} if is_inverse else {})
    turned = out("rotary", out.transpose(x, order), **attributes)
    return out.transpose(turned, order)
