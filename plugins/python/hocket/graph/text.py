"""Graphs in their text form, docs/formats/graph.md, and the types of what operations return."""

import math
import re
from typing import NamedTuple

MOST_DIMENSIONS, MOST_NAME_BYTES = 8, 200
BYTES = {"float32": 4, "bfloat16": 2, "float16": 2, "int32": 4}


class GraphError(Exception):
    """A module that has no graph. The message names each operator and its place."""


class Type(NamedTuple):
    """A type of numbers, and a shape."""

    numbers: str
    shape: tuple

    def __str__(self):
        return f"{self.numbers}[{', '.join(map(str, self.shape))}]"

    @property
    def bytes(self):
        return BYTES[self.numbers] * math.prod(self.shape)


class Value(NamedTuple):
    """A result of an operation."""

    number: int
    type: Type

    @property
    def shape(self):
        return self.type.shape


class Graph:
    """A graph, as its text and the types of its inputs, parameters and outputs by their names."""

    def __init__(self, lines, inputs, parameters, outputs):
        self._text = "".join(f"{line}\n" for line in lines)
        self.inputs, self.parameters, self.outputs = inputs, parameters, outputs

    def __str__(self):
        return self._text

    def __repr__(self):
        return (f"<Graph of {len(self.inputs)} inputs, {len(self.parameters)} parameters and "
                f"{self._text.count(' = ') - len(self.outputs)} operations>")

    def write(self, path):
        """Writes the text to a file, for `hocket graph show`."""
        with open(path, "w", encoding="utf-8") as file:
            file.write(self._text)


def name_of(text):
    """Returns the text with what a graph's names may have."""
    return re.sub(r"[^A-Za-z0-9_./-]", "_", text)


def _checked(what, name):
    if not name or len(name) > MOST_NAME_BYTES:
        raise GraphError(f'the name of {what} "{name}" has {len(name)} letters; names of graphs '
                         f"have 1 to {MOST_NAME_BYTES}")
    return name


def _broadcast(shapes):
    rank = max(map(len, shapes))
    padded = [(1,) * (rank - len(shape)) + tuple(shape) for shape in shapes]
    return tuple(max(sizes) for sizes in zip(*padded))


def _without(shape, dimensions, keep):
    gone = {each % len(shape) for each in dimensions}
    sizes = [(1 if i in gone else size, i in gone) for i, size in enumerate(shape)]
    return tuple(size for size, is_gone in sizes if keep or not is_gone)


def _replaced(shape, dimension, size):
    dimension %= len(shape)
    return (*shape[:dimension], size, *shape[dimension + 1:])


def _matmul(a, b, transpose_a=False, transpose_b=False):
    rows, columns = a[-1 if transpose_a else -2], b[-2 if transpose_b else -1]
    return (*_broadcast([a[:-2], b[:-2]]), rows, columns)


def _padded(x, dimension, before, after):
    return _replaced(x, dimension, x[dimension] + before + after)


# Shapes of the first result, by kind, of the operands' shapes; others have that of the first.
_SHAPES = {
    "reshape": lambda x, shape: shape,
    "broadcast": lambda x, shape: shape,
    "transpose": lambda x, order: tuple(x[i] for i in order),
    "slice": lambda x, dimension, begin, end: _replaced(x, dimension, end - begin),
    "pad": _padded,
    "concatenate": lambda *x, dimension: _replaced(x[0], dimension,
                                                   sum(each[dimension] for each in x)),
    "sum": lambda x, dimensions, keep=False: _without(x, dimensions, keep),
    "maximum": lambda x, dimensions, keep=False: _without(x, dimensions, keep),
    "matmul": _matmul,
    "attention": lambda q, k, v, **_: (*q[:-1], v[-1]),
    "embedding": lambda table, indices: (*indices, table[-1]),
    "cross_entropy": lambda logits, targets: targets,
} | {kind: lambda *shapes: _broadcast(shapes)
     for kind in ("add", "subtract", "multiply", "divide", "select", "swiglu")}

# Numbers of results of these kinds; others have one.
_RESULTS = {"layer_norm": 3, "rms_norm": 2, "attention": 2, "cross_entropy": 2}


def _attribute(value):
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, (list, tuple)):
        return f"[{', '.join(map(str, value))}]"
    return str(value)


class Writer:
    """Writes operations. Each is in the region that `region` has then."""

    def __init__(self):
        self.region = ""
        self._lines, self._count = [], 0
        self._inputs, self._parameters, self._outputs = {}, {}, {}

    def _add(self, kind, types, name=None, operands=(), attributes=None):
        if len(types[0].shape) > MOST_DIMENSIONS:
            raise GraphError(f"a value of {len(types[0].shape)} dimensions, in {self.region}; "
                             f"values of graphs have at most {MOST_DIMENSIONS}")
        results = [Value(self._count + i, each) for i, each in enumerate(types)]
        self._count += len(types)
        line = ", ".join(f"%{each.number}" for each in results) + f" = {kind}"
        line += f' "{name}"' if name is not None else ""
        line += "".join(("," if i else "") + f" %{each.number}" for i, each in enumerate(operands))
        if attributes:
            line += " {" + ", ".join(f"{key}={_attribute(value)}"
                                     for key, value in attributes.items()) + "}"
        # The other results' types follow from the first one's.
        line += f" : {results[0].type}" if len(results) == 1 else ""
        self._lines.append(line + (f" @{_checked('region', self.region)}" if self.region else ""))
        return results

    def _leaf(self, kind, name, type, known):
        if _checked(kind, name) in known:
            raise GraphError(f'two {kind}s have the name "{name}"')
        known[name] = type
        return self._add(kind, [type], name=name)[0]

    def input(self, name, type):
        return self._leaf("input", name, type, self._inputs)

    def parameter(self, name, type):
        return self._leaf("parameter", name, type, self._parameters)

    def output(self, name, value):
        if _checked("output", name) in self._outputs:
            raise GraphError(f'two outputs have the name "{name}"')
        self._outputs[name] = value.type
        self._lines.append(f'output "{name}" = %{value.number}')

    def constant(self, number, numbers, shape=()):
        return self._add("constant", [Type(numbers, tuple(shape))],
                         attributes={"value": number})[0]

    def __call__(self, kind, *operands, **attributes):
        """Adds an operation and returns its first result."""
        shapes = [each.shape for each in operands]
        shape = _SHAPES[kind](*shapes, **attributes) if kind in _SHAPES else shapes[0]
        numbers = attributes["type"] if kind == "convert" else operands[0].type.numbers
        if kind == "cross_entropy":
            numbers = "float32"
        types = [Type(numbers, tuple(shape))] * _RESULTS.get(kind, 1)
        return self._add(kind, types, operands=operands, attributes=attributes)[0]

    # Operations that change nothing are left out.

    def reshape(self, x, shape):
        return x if x.shape == tuple(shape) else self("reshape", x, shape=tuple(shape))

    def transpose(self, x, order):
        return x if list(order) == sorted(order) else self("transpose", x, order=tuple(order))

    def slice(self, x, dimension, begin, end):
        if (begin, end) == (0, x.shape[dimension]):
            return x
        return self("slice", x, dimension=dimension, begin=begin, end=end)

    def convert(self, x, numbers):
        return x if x.type.numbers == numbers else self("convert", x, type=numbers)

    def scale(self, x, factor):
        return x if factor == 1 else self("scale", x, factor=float(factor))

    def graph(self):
        return Graph(self._lines, self._inputs, self._parameters, self._outputs)
