"""Graphs of PyTorch's modules, for planning: docs/formats/graph.md says what a graph is.

    import torch, hocket.graph

    with hocket.graph.without_weights():
        model = Model()
    tokens = torch.zeros(4, 1024, dtype=torch.int64)
    graph = hocket.graph.from_module(model, (tokens,), loss="cross_entropy")
    graph.write("model.graph")

and then `hocket graph show model.graph --after optimiser --memory`. A graph has the same
mathematics as the module; where an operator has no counterpart, `from_module` raises a GraphError.
"""

import contextlib

from hocket.graph.text import Graph, GraphError

__all__ = ["Graph", "GraphError", "from_module", "without_weights"]


def from_module(module, args=(), kwargs=None, *, loss=None, dropout=False):
    """Returns the graph of `module(*args, **kwargs)`.

    Of the tensors among the arguments only types and shapes count, and the parameters need no
    values: they may be on the meta device. Buffers count with the values that they have.

    Inputs have the names of forward's arguments, parameters their own, and regions are the paths
    of modules. Outputs have the keys under which forward returns them, or "output", or "loss"
    where it returns one number. What no output needs is left out. 64-bit integers are int32 in the
    graph, and parameters that require no gradient are inputs.

    loss="cross_entropy" adds the input "targets" and the output "loss", the mean cross entropy of
    the output "logits", or of the only one. With dropout=True, modules that train drop numbers by
    the input "key"; else they are refused.
    """
    # Imported here, since they need PyTorch.
    from hocket.graph.program import Program
    from hocket.graph.translation import translate
    return translate(Program(module, args, kwargs), loss=loss, dropout=dropout)


@contextlib.contextmanager
def without_weights():
    """Modules that are made within have parameters on the meta device, which take no memory, and
    buffers with their values, which graphs need."""
    from hocket.graph.program import import_torch
    torch = import_torch()
    from torch.nn.modules import module as modules
    from torch.overrides import TorchFunctionMode
    weights = {torch.empty, torch.rand, torch.randn}

    class WeightsOnMeta(TorchFunctionMode):
        def __torch_function__(self, function, types, args=(), kwargs=None):
            kwargs = dict(kwargs or {})
            if function in weights and kwargs.get("device") is None:
                kwargs["device"] = "meta"
            return function(*args, **kwargs)

    moved = {}  # the parameters, so that none is freed and their ids stay theirs, and the new ones

    def on_meta(_, _name, parameter):
        if parameter is None or parameter.is_meta:
            return parameter
        if id(parameter) not in moved:
            moved[id(parameter)] = parameter, torch.nn.Parameter(
                parameter.to("meta"), requires_grad=parameter.requires_grad)
        return moved[id(parameter)][1]

    hook = modules.register_module_parameter_registration_hook(on_meta)
    try:
        with WeightsOnMeta():
            yield
    finally:
        hook.remove()
