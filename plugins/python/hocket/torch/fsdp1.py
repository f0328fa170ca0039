"""What FSDP1 (FullyShardedDataParallel) gathers ahead, changed between two iterations.

FSDP1 has no setters: it reads attributes whenever it may gather ahead, so a change holds from the
next time on. A version that keeps them otherwise is left alone.
"""

import sys

import torch

from hocket.client import Knob
from hocket.torch import memory
from hocket.torch.subject import LeftAlone, Subject

FORWARD, BACKWARD = "forward_prefetch", "backward_prefetch"


def _kind():
    # A program that has not imported it has no such module.
    return getattr(sys.modules.get("torch.distributed.fsdp"), "FullyShardedDataParallel", None)


def is_fsdp1(module):
    kind = _kind()
    return kind is not None and isinstance(module, kind)


def whole_parameters(root):
    """Returns of each parameter its name, its number of elements, the bytes of one, and whether it
    is trained: whole ones, which are equal on all ranks."""
    found = []
    for path, module in root.named_modules():
        if not is_fsdp1(module) or module._handle is None:
            continue
        flat = module._handle.flat_param
        prefix = path.replace("_fsdp_wrapped_module.", "").replace("_fsdp_wrapped_module", "")
        found += [(f"{prefix}.{name}".strip("."), count, flat.element_size(), flat.requires_grad)
                  for name, count in zip(flat._fqns, flat._numels, strict=True)]
    return found


class Fsdp1(Subject):
    """The knobs forward_prefetch, "off" or "on", and backward_prefetch: the next module is gathered
    before ("pre") or after ("post") the gradients of the present one, or not ahead ("none").

    Raises LeftAlone where there is nothing to gather ahead.
    """

    hook_options = {}

    def __init__(self, root, ranks_on_host=1, available=memory.available_bytes):
        self._root, self._ranks_on_host, self._available = root, ranks_on_host, available
        try:
            # The root's forward_prefetch counts even where it has no parameters of its own.
            self._modules = [module for module in root.modules() if is_fsdp1(module)]
            self._bytes = [sum(module._handle.flat_param._numels)
                           * module._handle.flat_param.element_size()
                           for module in self._modules if module._handle is not None]
            self._words = self._words_of()
            usual = {self._now_of(module) for module in self._modules}
        except AttributeError as error:
            raise LeftAlone(f"hocket does not know FSDP1 of PyTorch {torch.__version__} "
                            f"({error})") from None
        if len(self._modules) < 3:
            raise LeftAlone("FSDP1: fewer than two modules below the root are wrapped")
        if root.sharding_strategy.name != "FULL_SHARD":
            raise LeftAlone(f"FSDP1: {root.sharding_strategy.name} has no knobs; FULL_SHARD "
                            "has some")
        if len(usual) > 1:
            raise LeftAlone("FSDP1: its modules gather ahead in different ways")
        forward, backward = usual.pop()
        self.knobs = (Knob(FORWARD, choices=("off", "on"), usual=forward, running=True),
                      Knob(BACKWARD, choices=("none", "post", "pre"), usual=backward, running=True))
        self._now = {FORWARD: forward, BACKWARD: backward}

    @staticmethod
    def _words_of():
        """Returns the words of the values of backward_prefetch."""
        values = sys.modules["torch.distributed.fsdp"].BackwardPrefetch
        return {None: "none", values.BACKWARD_POST: "post", values.BACKWARD_PRE: "pre"}

    def _now_of(self, module):
        return "on" if module.forward_prefetch else "off", self._words[module.backward_prefetch]

    @property
    def module(self):
        return self._root

    def ended(self):
        return None

    def accept(self, values):
        """Returns why this rank cannot run with the values: the module more that is gathered."""
        def is_ahead(of):
            return (of.get(FORWARD) == "on", of.get(BACKWARD) in ("pre", "post"))
        if all(now >= wanted for now, wanted in zip(is_ahead(self._now), is_ahead(values))):
            return None
        device = next(self._root.parameters()).device
        return memory.objection(max(self._bytes), device, self._ranks_on_host, self._available)

    def apply(self, values):
        backward = {word: value for value, word in self._words.items()}[values[BACKWARD]]
        for module in self._modules:
            module.forward_prefetch = values[FORWARD] == "on"
            module.backward_prefetch = backward
        self._now = {name: values[name] for name in self._now}

    def undo(self):
        self.apply({knob.name: knob.usual for knob in self.knobs})
