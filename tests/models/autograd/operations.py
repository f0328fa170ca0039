"""The operations of docs/formats/graph.md as functions of PyTorch, where it has them, in float64.

Each takes operands, and attributes by name. A function of several results returns a tuple; it
leaves out results behind the first that have no derivative.
"""

import itertools

import torch
from torch.nn import functional

WORD = 0xFFFFFFFF


def philox(counter, key):
    """The four words of Philox-4x32-10."""
    for _ in range(10):
        even, odd = 0xD2511F53 * counter[0], 0xCD9E8D57 * counter[2]
        counter = ((odd >> 32) ^ counter[1] ^ key[0], odd & WORD,
                   (even >> 32) ^ counter[3] ^ key[1], even & WORD)
        key = ((key[0] + 0x9E3779B9) & WORD, (key[1] + 0xBB67AE85) & WORD)
    return counter


def dropout(x, key, rate, stream):
    key = [word & WORD for word in key.tolist()]
    blocks = (philox((block & WORD, block >> 32, stream, 0), key)
              for block in range((x.numel() + 3) // 4))
    words = torch.tensor(list(itertools.chain.from_iterable(blocks))[:x.numel()])
    return torch.where((words < int(rate * 2**32)).reshape(x.shape), 0.0, x / (1 - rate))


def pad(x, dimension, before, after):
    behind = x.dim() - 1 - dimension % x.dim()
    return functional.pad(x, [0, 0] * behind + [before, after])


def matmul(a, b, transpose_a=False, transpose_b=False):
    return torch.matmul(a.mT if transpose_a else a, b.mT if transpose_b else b)


def attention(queries, keys, values, causal=False, scale=0):
    rows, columns = queries.shape[-2], keys.shape[-2]
    # PyTorch's is_causal gives row i the columns up to i, whatever their number.
    is_square = rows == columns
    seen = torch.ones(rows, columns, dtype=torch.bool).tril(columns - rows)
    return functional.scaled_dot_product_attention(
        queries, keys, values, is_causal=causal and is_square,
        attn_mask=seen if causal and not is_square else None, scale=scale or None,
        enable_gqa=queries.shape[1] != keys.shape[1])


def rotary(x, base=10000, inverse=False):
    positions, width = x.shape[-2:]
    angles = torch.outer(torch.arange(positions, dtype=x.dtype),
                         base ** (-2 * torch.arange(width // 2, dtype=x.dtype) / width))
    turns = torch.polar(torch.ones_like(angles), -angles if inverse else angles)
    turned = torch.complex(*x.chunk(2, dim=-1)) * turns
    return torch.cat([turned.real, turned.imag], dim=-1)


def cross_entropy(logits, targets):
    losses = functional.cross_entropy(logits.flatten(0, -2), targets.flatten(), reduction="none")
    return losses.reshape(targets.shape)


def top_k(x, count):
    # torch.topk does not say which of equal numbers it takes.
    values, indices = torch.sort(x, dim=-1, descending=True, stable=True)
    return values[..., :count], indices[..., :count]


def taken_slots(experts, places, capacity):
    """The numbers of the choices that have a slot, and of their slots."""
    choices = (places.flatten() >= 0).nonzero().flatten()
    return choices, (experts * capacity + places).flatten()[choices]


def dispatch(x, experts, expert_count, capacity):
    taken, places = [0] * expert_count, []
    for expert in experts.flatten().tolist():
        places.append(taken[expert] if taken[expert] < capacity else -1)
        taken[expert] += 1
    places = torch.tensor(places).reshape(experts.shape)
    choices, slots = taken_slots(experts, places, capacity)
    rows = x[choices // experts.shape[1]]
    empty = x.new_zeros(expert_count * capacity, x.shape[1])
    return empty.index_add(0, slots, rows).reshape(expert_count, capacity, -1), places


def combine(slots, experts, places, weights):
    choices, taken = taken_slots(experts, places, slots.shape[1])
    rows = slots.flatten(0, 1)[taken] * weights.flatten()[choices, None]
    return rows.new_zeros(experts.shape[0], slots.shape[2]).index_add(
        0, choices // experts.shape[1], rows)


OPERATIONS = {
    "add": torch.add,
    "subtract": torch.sub,
    "multiply": torch.mul,
    "divide": torch.div,
    "scale": lambda x, factor: x * factor,
    "exponential": torch.exp,
    "logarithm": torch.log,
    "square_root": torch.sqrt,
    "reciprocal_square_root": torch.rsqrt,
    "tanh": torch.tanh,
    "sigmoid": torch.sigmoid,
    "relu": torch.relu,
    "gelu": lambda x: functional.gelu(x, approximate="tanh"),
    "silu": functional.silu,
    "swiglu": lambda gate, up: functional.silu(gate) * up,
    "select": lambda condition, a, b: torch.where(condition != 0, a, b),
    "convert": lambda x, type: x,  # the interpreter does not round here
    "dropout": dropout,
    "sum": lambda x, dimensions, keep=False: torch.sum(x, dimensions, keepdim=keep),
    "maximum": lambda x, dimensions, keep=False: torch.amax(x, dimensions, keepdim=keep),
    "reshape": lambda x, shape: x.reshape(shape),
    "transpose": lambda x, order: x.permute(order),
    "slice": lambda x, dimension, begin, end: x.narrow(dimension, begin, end - begin),
    "pad": pad,
    "concatenate": lambda *x, dimension: torch.cat(x, dimension),
    "broadcast": lambda x, shape: x.expand(shape),
    "matmul": matmul,
    "layer_norm": lambda x, gain, bias, epsilon=1e-5: functional.layer_norm(
        x, x.shape[-1:], gain, bias, epsilon),
    "rms_norm": lambda x, gain, epsilon=1e-5: functional.rms_norm(x, x.shape[-1:], gain, epsilon),
    "softmax": lambda x: torch.softmax(x, -1),
    "attention": attention,
    "rotary": rotary,
    "embedding": lambda table, indices: functional.embedding(indices, table),
    "cross_entropy": cross_entropy,
    "top_k": top_k,
    "dispatch": dispatch,
    "combine": combine,
}
