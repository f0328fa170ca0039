"""A module as the program that torch.export makes of it, without its weights."""

import copy
import inspect
import warnings

from hocket.graph.text import GraphError, name_of

# Its programs keep layers as operators, and the tests use it; older versions are not tested.
OLDEST = (2, 13)


def import_torch():
    """Returns torch. Raises an error where there is none that exports programs."""
    try:
        import torch
    except ImportError as error:
        raise GraphError("hocket.graph needs PyTorch: pip install torch") from error
    found = tuple(int(part) for part in torch.__version__.split("+")[0].split(".")[:2])
    if found < OLDEST:
        raise GraphError(f"hocket.graph needs torch.export of PyTorch {OLDEST[0]}.{OLDEST[1]} or "
                         f"newer, and this is PyTorch {torch.__version__}; "
                         "pip install --upgrade torch")
    return torch


def without_values(torch, mode, module):
    """Returns a copy of the module whose tensors have types and no values.

    On the processor rather than on the meta device, since modules may mix devices: weights have
    no values for a plan, and tables that the module computes have.
    """
    memo = {}
    with mode:
        for tensor in [*module.parameters(), *module.buffers()]:
            empty = torch.empty(tensor.shape, dtype=tensor.dtype)
            if isinstance(tensor, torch.nn.Parameter):
                empty = torch.nn.Parameter(empty, requires_grad=tensor.requires_grad)
            memo[id(tensor)] = empty
    return copy.deepcopy(module, memo)


def _argument_names(module, in_spec):
    """Returns the names of the arguments' leaves, in the program's order."""
    from torch.utils import _pytree
    numbers = _pytree.tree_unflatten(list(range(in_spec.num_leaves)), in_spec)
    signature = inspect.signature(module.forward)
    positional = [each for each in signature.parameters.values()
                  if each.kind in (each.POSITIONAL_ONLY, each.POSITIONAL_OR_KEYWORD)]
    names = {}
    for path, number in _pytree.tree_flatten_with_path(numbers)[0]:
        _, first, *rest = [_key_text(key) for key in path]
        if path[0].idx == 0:
            index = int(first)
            first = (positional[index].name if index < len(positional)
                     else f"args.{index - len(positional)}")
        names[number] = name_of(".".join([first, *rest]))
    return [names[i] for i in range(len(names))]


def _key_text(key):
    for attribute in ("key", "name", "idx"):
        if hasattr(key, attribute):
            return str(getattr(key, attribute))
    return str(key)


def _output_names(out_spec, is_scalar):
    """Returns the names of the outputs: keys, or "output" and numbers, or "loss" for a scalar."""
    from torch.utils import _pytree
    numbers = _pytree.tree_unflatten(list(range(out_spec.num_leaves)), out_spec)
    names = []
    for path, _ in _pytree.tree_flatten_with_path(numbers)[0]:
        is_named = bool(path) and not hasattr(path[0], "idx")
        parts = ([] if is_named else ["output"]) + [_key_text(key) for key in path]
        names.append(name_of(".".join(parts)))
    return ["loss"] if names == ["output"] and is_scalar else names


def _decompositions(torch):
    """Returns those of operators that are several others; what layers do stays one operator."""
    all_of_them = torch.export.default_decompositions()
    return {each: all_of_them[each]
            for each in (torch.ops.aten.einsum.default, torch.ops.aten.outer.default)}


def parameters_of(exported):
    """Returns the names of the placeholders of parameters that are trained."""
    kind = type(exported.graph_signature.input_specs[0].kind).PARAMETER
    specs = {each.arg.name for each in exported.graph_signature.input_specs if each.kind == kind}
    return {node.name for node in exported.graph.nodes
            if node.name in specs and node.meta["val"].requires_grad}


def depending_on(nodes, names):
    """Returns the nodes that have these names, and those whose values depend on theirs."""
    found = set()
    for node in nodes:
        if node.name in names or any(each in found for each in node.all_input_nodes):
            found.add(node)
    return found


def _check_gradients(exported):
    """Refuses torch.no_grad() where a gradient would pass; decompositions forget it."""
    trained = depending_on(exported.graph.nodes, parameters_of(exported))
    for node in exported.graph.nodes:
        if "wrap_with_set_grad_enabled" in str(node.target) and not node.args[0] and any(
                each in trained for each in node.all_input_nodes):
            inside = getattr(exported.graph_module, node.args[1].target).graph.nodes
            places = dict.fromkeys(region_of(each) for each in inside if each.op == "call_function")
            shown = ", ".join(f'"{place}"' if place else "the module itself" for place in places)
            raise GraphError(f"torch.no_grad() in {shown}: it stops gradients, and no operation of "
                             "graphs does; leave it out")


class Program:
    """An exported module: nodes, what placeholders stand for, and values of buffers.

    `parameters` are names by the placeholders' names, one name for tied ones; `buffers` are
    tensors, on the meta device where they have no values, with their names; `inputs` are names;
    `outputs` are pairs of names and nodes; `trained` are nodes that depend on parameters.
    """

    def __init__(self, module, args, kwargs):
        torch = import_torch()
        from torch._subclasses.fake_tensor import FakeTensorMode
        from torch.utils import _pytree
        mode = FakeTensorMode(allow_non_fake_inputs=True)
        args = (args,) if isinstance(args, torch.Tensor) else tuple(args)
        kwargs = dict(kwargs or {})

        def emptied(leaf):
            if not isinstance(leaf, torch.Tensor):
                return leaf
            with mode:
                return torch.empty(leaf.shape, dtype=leaf.dtype)

        try:
            with warnings.catch_warnings(), torch.enable_grad():
                # PyTorch's own, about its own calls.
                warnings.simplefilter("ignore")
                exported = torch.export.export(without_values(torch, mode, module),
                                               *_pytree.tree_map(emptied, (args, kwargs)),
                                               strict=False)
                _check_gradients(exported)
                exported = exported.run_decompositions(_decompositions(torch))
        except GraphError:
            raise
        except Exception as error:
            advice = (". Have forward return tensors only; for transformers' models, pass "
                      "use_cache=False" if "not a known type" in str(error) else "")
            raise GraphError(
                f"torch.export has no program of this module: {error}{advice}") from error
        self.nodes = list(exported.graph.nodes)
        self.trained = depending_on(self.nodes, parameters_of(exported))
        self._read_inputs(torch, exported, module)
        self._read_outputs(exported)

    def _read_inputs(self, torch, exported, module):
        kinds = torch.export.graph_signature.InputKind
        parameters = dict(module.named_parameters(remove_duplicate=False))
        buffers = {**exported.constants, **dict(module.named_buffers(remove_duplicate=False))}
        # Tied parameters have the name of the first.
        first = {}
        for name, parameter in parameters.items():
            first.setdefault(id(parameter), name)
        names = iter(_argument_names(module, exported.call_spec.in_spec))
        self.parameters, self.buffers, self.inputs = {}, {}, {}
        for spec in exported.graph_signature.input_specs:
            if spec.kind == kinds.PARAMETER:
                self.parameters[spec.arg.name] = name_of(first[id(parameters[spec.target])])
            elif spec.kind in (kinds.BUFFER, kinds.CONSTANT_TENSOR):
                self.buffers[spec.arg.name] = spec.target, buffers[spec.target].detach()
            elif spec.kind == kinds.USER_INPUT:
                self.inputs[spec.arg.name] = next(names)

    def _read_outputs(self, exported):
        specs = exported.graph_signature.output_specs
        changed = sorted(each.target for each in specs if each.kind.name != "USER_OUTPUT")
        if changed:
            raise GraphError(f"forward changes {', '.join(changed)}; a graph has no state. Keep "
                             "what forward changes out of the module, or call eval() first")
        values = self.nodes[-1].args[0]
        is_scalar = len(values) == 1 and hasattr(values[0], "meta") and (
            tuple(values[0].meta["val"].shape) == () and values[0].meta["val"].is_floating_point())
        names = _output_names(exported.call_spec.out_spec, is_scalar)
        self.outputs = [(name, value) for name, value in zip(names, values)
                        if hasattr(value, "meta")]
        if not self.outputs:
            raise GraphError("forward returns no tensor")


def region_of(node):
    """Returns the path of the module that a node is of."""
    stack = list((node.meta.get("nn_module_stack") or {}).values())
    return name_of(stack[-1][0]) if stack else ""
