"""What FSDP2 (fully_shard) fetches ahead and keeps, changed between two iterations.

All through its public setters; only what is in force at first is read from its state, where a
version that keeps it otherwise is left alone.
"""

import sys

import torch

from hocket.client import Knob
from hocket.torch import memory
from hocket.torch.subject import LeftAlone, Subject

MOST_MODULES = 3
FORWARD, BACKWARD, RESHARD = "forward_prefetch", "backward_prefetch", "reshard_after_forward"


def _fsdp_module():
    # Since 2.6. Where the program has not imported it, it has no such module.
    return getattr(sys.modules.get("torch.distributed.fsdp"), "FSDPModule", None)


def is_fsdp(module):
    kind = _fsdp_module()
    return kind is not None and isinstance(module, kind)


def _groups(module):
    """Returns the parameter groups of an FSDP module, which versions keep under two names."""
    state = module._get_fsdp_state()
    groups = getattr(state, "_fsdp_param_groups", None)
    if groups is None:
        groups = [state._fsdp_param_group] if state._fsdp_param_group is not None else []
    return groups


def reduced_type(root):
    """Returns the type in which the policy of mixed precision reduces gradients; None where that is
    the parameters' own, or not one for all."""
    policies = [getattr(group, "mp_policy", None) for module in root.modules() if is_fsdp(module)
                for group in _groups(module)]
    types = {getattr(policy, "reduce_dtype", None) or getattr(policy, "param_dtype", None)
             for policy in policies}
    return types.pop() if len(types) == 1 else None


def _reshards(module):
    """Returns whether the module's parameters are freed after forward: "on", "off" or None."""
    words = set()
    for group in _groups(module):
        after = group.post_forward_mesh_info
        words.add("off" if after is None else "on" if after is group.mesh_info else None)
    return words.pop() if len(words) == 1 else None


def _below(root):
    """Returns the sharded modules below the root, in the order of registration, which is mostly that
    of the forward pass. Of several that are sharded together it returns the first."""
    states, found = {id(root._get_fsdp_state())}, []
    for module in root.modules():
        if is_fsdp(module) and id(module._get_fsdp_state()) not in states:
            states.add(id(module._get_fsdp_state()))
            found.append(module)
    return found


def _has_own_prefetch(modules):
    states = [module._get_fsdp_state() for module in modules]
    return (any(state._states_to_forward_prefetch for state in states),
            any(state._states_to_backward_prefetch for state in states))


class Prefetch(Subject):
    """The knobs forward_prefetch, backward_prefetch and reshard_after_forward of FSDP2 modules.

    Prefetching 0 modules is FSDP's own default. A prefetch list that the program has set itself is
    no knob. Where it keeps some modules and frees others, as frameworks keep the last one, the knob
    is that of those which it frees. Raises LeftAlone where there is nothing to change.
    """

    hook_options = {"prepend": True}  # before FSDP's own hook prefetches

    def __init__(self, root, ranks_on_host=1, available=memory.available_bytes):
        self._root, self._ranks_on_host, self._available = root, ranks_on_host, available
        try:
            self._modules = _below(root)
            if len(self._modules) < 2:
                raise LeftAlone("FSDP: fewer than two modules below the root are sharded")
            own_forward, own_backward = _has_own_prefetch(self._modules)
            words = {module: _reshards(module) for module in self._modules if _groups(module)}
            self._bytes = [self._unsharded_bytes(module) for module in self._modules]
        except AttributeError as error:
            raise LeftAlone(f"hocket does not know FSDP of PyTorch {torch.__version__} "
                            f"({error})") from None
        most = min(MOST_MODULES, len(self._modules) - 1)
        knobs = [Knob(name, low=0, high=most, usual=0, running=True)
                 for name, own in ((FORWARD, own_forward), (BACKWARD, own_backward)) if not own]
        usual = "on" if "on" in words.values() else "off"
        self._resharded = [module for module, word in words.items() if word == usual]
        if self._resharded and None not in words.values():
            knobs.append(Knob(RESHARD, choices=("off", "on"), usual=usual, running=True))
        self.knobs = tuple(knobs)
        self._now = {knob.name: knob.usual for knob in knobs}
        if not knobs:
            raise LeftAlone("FSDP: the program sets prefetching and resharding itself")

    @property
    def module(self):
        return self._root

    @staticmethod
    def _unsharded_bytes(module):
        return sum(parameter.sharded_param.numel() * parameter.sharded_param.element_size()
                   for group in _groups(module) for parameter in group.fsdp_params)

    def ended(self):
        return None

    def accept(self, values):
        """Returns why this rank cannot run with the values: the memory that they take besides."""
        needed = self._needed_bytes(values) - self._needed_bytes(self._now)
        if needed <= 0:
            return None
        device = next(self._root.parameters()).device
        return memory.objection(needed, device, self._ranks_on_host, self._available)

    def _needed_bytes(self, values):
        """Returns at most what is unsharded at a time: all, or a window of modules."""
        if values.get(RESHARD, self._now.get(RESHARD)) == "off":
            return sum(self._bytes)
        ahead = max(values.get(FORWARD, 0), values.get(BACKWARD, 0), 1)
        return max(sum(self._bytes[first:first + ahead + 1]) for first in range(len(self._bytes)))

    def apply(self, values):
        changed = {name: values[name] for name in self._now if values[name] != self._now[name]}
        modules = self._modules
        if FORWARD in changed:
            ahead = changed[FORWARD]
            for i, module in enumerate(modules):
                module.set_modules_to_forward_prefetch(modules[i + 1:i + 1 + ahead])
        if BACKWARD in changed:
            ahead = changed[BACKWARD]
            for i, module in enumerate(modules):
                module.set_modules_to_backward_prefetch(modules[max(i - ahead, 0):i][::-1])
        if RESHARD in changed:
            for module in self._resharded:
                module.set_reshard_after_forward(changed[RESHARD] == "on", recurse=False)
        self._now.update(changed)

    def undo(self):
        self.apply({knob.name: knob.usual for knob in self.knobs})
