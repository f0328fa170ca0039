"""Graphs in their text form, with all types, carried out by PyTorch in float64."""

import json
import re

import torch
from operations import OPERATIONS

LINE = re.compile(r'(?P<results>%.*?) = (?P<kind>\w+)(?: "(?P<name>.*?)")?'
                  r'(?P<operands>(?:,? %\w+)*)(?: {(?P<attributes>.*)})?'
                  r' : (?P<numbers>\w+)(?P<shape>\[.*?\])')
OUTPUT = re.compile(r'output "(?P<name>.*)" = (?P<value>%\w+)')
ATTRIBUTE = re.compile(r"(\w+)=(\[.*?\]|[^,]+)")


def attributes_of(text):
    return {name: value if name == "type" else json.loads(value)
            for name, value in ATTRIBUTE.findall(text or "")}


class Carried:
    """A graph's text form, carried out: outputs, leaves, and kinds that a gradient goes through."""

    def __init__(self, text, numbers):
        self.leaves, self.outputs, self.kinds, self.values = {}, {}, set(), {}
        for line in text.splitlines():
            output = OUTPUT.fullmatch(line)
            if output:
                self.outputs[output["name"]] = self.values[output["value"]]
            else:
                self.carry_out(LINE.match(line), numbers)

    def carry_out(self, line, numbers):
        names, kind = re.findall(r"%\w+", line["results"]), line["kind"]
        attributes, shape = attributes_of(line["attributes"]), json.loads(line["shape"])
        if kind in ("input", "parameter"):
            results = torch.as_tensor(numbers[line["name"]], dtype=torch.float64).reshape(shape)
            if line["numbers"] == "int32":
                results = results.long()
            else:
                self.leaves[line["name"]] = results.requires_grad_()
        elif kind == "constant":
            numbers_of = torch.int64 if line["numbers"] == "int32" else torch.float64
            results = torch.full(shape, attributes["value"], dtype=numbers_of)
        else:
            operands = [self.values[each] for each in re.findall(r"%\w+", line["operands"])]
            results = OPERATIONS[kind](*operands, **attributes)
        results = results if isinstance(results, tuple) else (results,)
        assert list(results[0].shape) == shape, line[0]
        self.values.update(zip(names, results))
        if results[0].requires_grad:
            self.kinds.add(kind)

    def gradients(self):
        found = torch.autograd.grad(self.outputs["loss"].sum(), list(self.leaves.values()),
                                    materialize_grads=True, allow_unused=True)
        return {f"gradient/{name}": each for name, each in zip(self.leaves, found)}
