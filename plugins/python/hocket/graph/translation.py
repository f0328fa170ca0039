"""Programs of torch.export as graphs: a rule for each operator, from the outputs backwards.

First each operator that an output needs is planned, from the last one to the first: its rule says
which nodes it needs, and how to write it. A rule may recognise several operators as one operation,
and what only they need is never planned. Then the plans are carried out in the program's order.
"""

import math

from hocket.graph.constants import Constants
from hocket.graph.program import import_torch, region_of
from hocket.graph.text import GraphError, Type, Writer

_SHOWN_PLACES = 3


class Refusal(Exception):
    """A reason why an operator has no counterpart; says what to do.

    `needs` are the nodes that it would have needed; by default its operands. They are planned
    too, so that all problems are found at once.
    """

    def __init__(self, reason, needs=None):
        super().__init__(reason)
        self.needs = needs


class Plan:
    """Nodes that an operation needs, and the function that writes it, given their values."""

    def __init__(self, operands, write):
        self.operands, self.write = operands, write


RULES = {}


def rule(*names):
    """Registers the function as the rule of operators of ATen. It is called with the Place, then
    with the operator's own arguments, and returns a Plan or raises a Refusal."""
    def register(function):
        for name in names:
            RULES[name] = function
        return function
    return register


def operator_of(node):
    """Returns the name of a node's operator, as "mul.Tensor"."""
    if node.op != "call_function":
        return node.op
    return str(node.target).removeprefix("aten.").removesuffix(".default")


class Place:
    """A node that is planned, and what its rule may ask."""

    def __init__(self, translation, node):
        self.translation, self.node, self.torch = translation, node, translation.torch
        self.constants = translation.constants

    @property
    def type(self):
        return type_of(self.torch, self.node)

    @property
    def shape(self):
        return tuple(self.node.meta["val"].shape)

    def shape_of(self, node):
        return tuple(node.meta["val"].shape)

    def known(self, node, needs=None):
        """Returns the tensor that a node always is, or None. Refuses a buffer without values."""
        value = self.constants.value(node)
        if value is None and node in self.constants.without_values:
            raise Refusal(
                f"it needs the values of the buffer {self.constants.without_values[node]}, which "
                "is on the meta device; make the module within `with "
                "hocket.graph.without_weights():`, which gives buffers values and weights none",
                needs)
        return value

    def number(self, operand):
        """Returns the number that all elements of an operand always are, or None."""
        return self.constants.number(operand)

    def is_floating(self, node):
        return node.meta["val"].is_floating_point()


def type_of(torch, node):
    """Returns the type that a node's value has in a graph."""
    value = node.meta["val"]
    names = {torch.float32: "float32", torch.bfloat16: "bfloat16", torch.float16: "float16",
             torch.int64: "int32", torch.int32: "int32"}
    if value.dtype not in names:
        advice = "; call float() on the module" if value.dtype == torch.float64 else ""
        raise Refusal(f"numbers of the type {str(value.dtype).removeprefix('torch.')}, which "
                      f"graphs have not{advice}")
    if not all(isinstance(size, int) for size in value.shape):
        raise Refusal("the shape of its result depends on data; graphs have fixed shapes")
    if 0 in value.shape:
        raise Refusal("its result has no numbers; sizes of graphs are at least 1")
    return Type(names[value.dtype], tuple(value.shape))


class Translation:
    """A program, on its way to a graph. With `dropout`, numbers are dropped by the input "key"."""

    def __init__(self, program, dropout):
        self.torch = import_torch()
        self.program, self.constants = program, Constants(self.torch, program)
        self.has_dropout, self._drops = dropout, []
        self._plans, self._problems, self._values = {}, {}, {}
        self._key = None

    def stream_of(self, node):
        """Returns the number of a dropout among those of the module."""
        if not self._drops:
            self._drops = [each for each in self.program.nodes if operator_of(each) in (
                "dropout", "native_dropout")]
        return self._drops.index(node)

    def graph(self, loss):
        """Returns the graph. Raises a GraphError that lists all that has no counterpart."""
        self._plan([node for _, node in self.program.outputs])
        if self._problems:
            raise GraphError(self._complaint())
        out = Writer()
        for node in self.program.nodes:
            # Inputs and parameters are written where they are first used.
            if node in self._plans and node.op != "placeholder":
                self._write(out, node)
        results = [(name, self._write(out, node)) for name, node in self.program.outputs]
        out.region = ""
        if loss is not None:
            results = [("loss", _add_loss(out, results)), *results]
        for name, value in results:
            out.output(name, value)
        return out.graph()

    def key_of(self, out):
        """Returns the input of the key that says what is dropped."""
        if self._key is None:
            self._key = out.input("key", Type("int32", (2,)))
        return self._key

    def _write(self, out, node):
        if node not in self._values:
            plan = self._plans[node]
            operands = [self._values[each] if each in self._values else self._write(out, each)
                        for each in plan.operands]
            out.region = region_of(node)
            self._values[node] = plan.write(out, *operands)
            self._check(node, self._values[node])
        return self._values[node]

    def _plan(self, outputs):
        needed = set(outputs)
        for node in reversed(self.program.nodes):
            if node not in needed:
                continue
            try:
                plan = self._plan_of(node)
            except Refusal as refusal:
                problem = self._title(node), str(refusal)
                self._problems.setdefault(problem, []).insert(0, region_of(node))
                needs = node.all_input_nodes if refusal.needs is None else refusal.needs
                needed.update(each for each in needs if each not in self.constants)
                continue
            self._plans[node] = plan
            needed.update(plan.operands)

    def _title(self, node):
        if node.op != "placeholder":
            return operator_of(node)
        program = self.program
        if node.name in program.inputs:
            return f'the input "{program.inputs[node.name]}"'
        if node.name in program.parameters:
            return f'the parameter "{program.parameters[node.name]}"'
        return f'the buffer "{program.buffers[node.name][0]}"'

    def _plan_of(self, node):
        place = Place(self, node)
        if node.op == "placeholder" and node.name in self.program.parameters:
            # A parameter is what a step trains.
            kind = "parameter" if node.meta["val"].requires_grad else "input"
            return self._leaf(place, kind, self.program.parameters[node.name])
        if node.op == "placeholder" and node.name in self.program.inputs:
            return self._leaf(place, "input", self.program.inputs[node.name])
        if node in self.constants:
            return _constant(place)
        name = operator_of(node)
        if name not in RULES:
            raise Refusal("no operation of graphs has the same mathematics; write the module "
                          "with others, docs/formats/graph.md lists them")
        if isinstance(node.meta.get("val"), self.torch.Tensor):
            type_of(self.torch, node)
        return RULES[name](place, *node.args, **node.kwargs)

    def _leaf(self, place, kind, name):
        type = place.type
        is_input = place.node.name in self.program.inputs
        region = "" if is_input else name.rpartition(".")[0]

        def write(out):
            out.region = region
            return getattr(out, kind)(name, type)
        return Plan([], write)

    def _check(self, node, value):
        """Checks that a rule has made what PyTorch makes."""
        if not isinstance(node.meta["val"], self.torch.Tensor):
            return
        expected = type_of(self.torch, node)
        if value.type != expected:
            raise GraphError(f'{operator_of(node)} in "{region_of(node)}" became {value.type} '
                             f"instead of {expected}; this is a fault of hocket.graph")

    def _complaint(self):
        # Problems were found from the last operator to the first.
        lines = []
        for (name, reason), places in reversed(self._problems.items()):
            if name.startswith("the "):
                lines.append(f"  {name}: {reason}")
                continue
            places = [f'"{place}"' if place else "the module itself"
                      for place in dict.fromkeys(places)]
            more = len(places) - _SHOWN_PLACES
            shown = ", ".join(places[:_SHOWN_PLACES]) + (f" and {more} more" if more > 0 else "")
            lines.append(f"  {name} in {shown}: {reason}")
        return "this module has no graph:\n" + "\n".join(lines)


def _constant(place):
    type = place.type
    value = place.known(place.node)
    number = place.number(place.node)
    if number is None or isinstance(value, (tuple, list)):
        raise Refusal("a constant of different numbers; constants of graphs are one number "
                      "everywhere. Make it a parameter or an input")
    return Plan([], lambda out: out.constant(number, type.numbers, type.shape))


def _add_loss(out, results):
    """Adds the mean of the cross entropy of the logits and the input "targets"."""
    found = dict(results)
    if "loss" in found:
        raise GraphError('the module returns a "loss" itself; leave out the option loss')
    logits = found.get("logits") or (results[0][1] if len(results) == 1 else None)
    if logits is None:
        raise GraphError(f"loss is of the output \"logits\", and there are {', '.join(found)}; "
                         'return {"logits": …}, or return the loss from the module')
    if len(logits.shape) < 2 or logits.type.numbers == "int32":
        raise GraphError(f"loss is of logits [… classes], and the output is {logits.type}")
    rows = logits.shape[:-1]
    targets = out.input("targets", Type("int32", rows))
    out.region = "loss"
    losses = out("cross_entropy", logits, targets)
    total = out("sum", losses, dimensions=list(range(len(rows))))
    return out.scale(total, 1 / math.prod(rows))


def translate(program, loss=None, dropout=False):
    """Returns the graph of a program."""
    # The rules register themselves.
    from hocket.graph import elementwise, layers, layout  # noqa: F401
    if loss not in (None, "cross_entropy"):
        raise GraphError(f'loss is "cross_entropy" or None, not {loss!r}')
    return Translation(program, dropout).graph(loss)
