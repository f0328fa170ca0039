"""DistributedDataParallel's buckets, changed between two iterations.

DistributedDataParallel (DDP) sums gradients in buckets, which its Reducer assigns. A new Reducer
has other buckets; the module, its parameters and its optimizer stay as they are. The Reducer's
interface is private and changes with PyTorch's versions: this file knows what each of its arguments
stands for, and leaves a version with others alone.
"""

import re
import sys

import torch
import torch.distributed as dist
from torch.nn.parallel import DistributedDataParallel

from hocket.client import Knob
from hocket.torch import compiler, memory
from hocket.torch.offline import sweep
from hocket.torch.subject import LeftAlone, Subject
from hocket.torch.voice import shown_bytes

KNOB = "bucket_cap_bytes"
LOW_BYTES, HIGH_BYTES = 256 << 10, 256 << 20

# Arguments of Reducer that pass an attribute of DDP on.
_PASSED_ON = {
    "process_group": "process_group",
    "find_unused_parameters": "find_unused_parameters",
    "gradient_as_bucket_view": "gradient_as_bucket_view",
    "skip_all_reduce_unused_params": "skip_all_reduce_unused_params",
    "use_python_reducer": "_use_python_reducer",
    "batched_grad_copy": "batched_grad_copy",
}
_OWN = {"params", "bucket_indices", "per_bucket_size_limits", "expect_sparse_gradients",
        "bucket_bytes_cap", "param_to_name_mapping", "first_bucket_bytes_cap"}
_EMPTY = {"bucket_bytes_cap_list"}  # for each bucket a cap of its own; none has one
COMPILED = ("it is compiled together with DistributedDataParallel; compile the module before it is "
            "wrapped, as in DistributedDataParallel(torch.compile(module)), to have it tuned, or search "
            f"its cap run by run: {sweep('torch:ddp', 'torch:compile')}")
_STATELESS_HOOKS = "torch.distributed.algorithms.ddp_comm_hooks.default_hooks"


def _reducer_arguments():
    """Returns the names of the arguments that the installed Reducer takes."""
    signature = (dist.Reducer.__init__.__doc__ or "").split("->")[0]
    return set(re.findall(r"(\w+): ", signature)) - {"self"}


def strange_arguments():
    """Returns the arguments of the installed Reducer that this file does not know, and those of its
    own that the Reducer lacks; empty where it knows the Reducer."""
    names = _reducer_arguments()
    return (names - set(_PASSED_ON) - _OWN - _EMPTY) | (_OWN - names)


def _check_interface(ddp):
    names, strange = _reducer_arguments(), strange_arguments()
    attributes = {_PASSED_ON[name] for name in names & set(_PASSED_ON)} | {
        "reducer", "logger", "static_graph", "device_ids", "output_device", "broadcast_buffers",
        "bucket_bytes_cap", "_build_params_for_reducer", "_build_debug_param_to_name_mapping"}
    absent = {name for name in attributes if not hasattr(ddp, name)}
    if strange or absent:
        raise LeftAlone(f"hocket does not know the Reducer of PyTorch {torch.__version__} "
                        f"({', '.join(sorted(strange | absent))})")


def _check_use(ddp, sparse):
    """Raises LeftAlone for what a new Reducer would not do as the old one."""
    reasons = {
        "parameters on several devices": ddp.is_multi_device_module,
        "sparse gradients": any(sparse),
        "DDP's own mixed precision": getattr(ddp, "mixed_precision", None) is not None,
        "a cap for each bucket (bucket_cap_mb_list)": bool(
            getattr(ddp, "bucket_bytes_cap_list", None)),
        "delayed all-reduces": bool(getattr(ddp, "_delay_all_reduce_params", None)),
        "DDP's reducer in Python": getattr(ddp, "_use_python_reducer", False),
        "an optimizer within the backward pass": any(
            hasattr(p, "_in_backward_optimizers") for p in ddp.module.parameters()),
    }
    for reason, found in reasons.items():
        if found:
            raise LeftAlone(f"buckets: {reason}")


def _first_cap_bytes(ddp):
    """Returns DDP's cap for the first bucket, which it keeps small so that it starts early."""
    if hasattr(ddp, "_bucket_config"):
        return ddp._bucket_config.first_bucket_bytes_cap
    if getattr(ddp, "bucket_bytes_cap_default", True):
        return dist._DEFAULT_FIRST_BUCKET_BYTES
    return ddp.bucket_bytes_cap


class Buckets(Subject):
    """The knob bucket_cap_bytes of a DistributedDataParallel module.

    Its default is DDP's own cap. The cap of the first bucket stays DDP's unless it is above the
    knob's value. Raises LeftAlone where the buckets cannot be changed. A compiled module within DDP
    is split at the buckets of its first forward pass, and keeps these splits with other buckets.
    """

    hook_options = {}

    def __init__(self, ddp, ranks_on_host=1, is_compiled_outside=False):
        _check_interface(ddp)
        self._ddp, self._ranks_on_host = ddp, ranks_on_host
        # The parameters of the first Reducer: the ranks' indices must go on to mean the same ones.
        self._parameters, self._sparse = ddp._build_params_for_reducer()
        _check_use(ddp, self._sparse)
        self._own_cap, self._own_first_cap = ddp.bucket_bytes_cap, _first_cap_bytes(ddp)
        self._ready_order = None
        # (state, hook) that hocket itself has registered; () when it is not needed any more.
        self.own_hook = None
        self._hook()
        self._bytes = sum(p.numel() * p.element_size() for p in self._parameters)
        low = min(LOW_BYTES, self._own_cap)
        high = max(low, min(HIGH_BYTES, 1 << (self._bytes - 1).bit_length()))
        # A cap above the model's size is one bucket, as the model's size is.
        self._usual = self._now = min(max(self._own_cap, low), high)
        if self._own_cap > high:
            self.note = f"the model fits; DDP's own cap is {shown_bytes(self._own_cap)}"
        if low == high:
            raise LeftAlone(f"buckets: {self._bytes} bytes of gradients are one bucket")
        is_running = not (is_compiled_outside or compiler.is_compiled(ddp))
        self.why_fixed = None if is_running else COMPILED
        self.knobs = (Knob(KNOB, low=low, high=high, usual=self._usual, log=True, unit="B",
                           running=is_running),)

    @property
    def module(self):
        return self._ddp

    def ended(self):
        """Returns why the buckets cannot be changed any more; None if they can."""
        # A rank without inputs stands in for itself in all-reduces, but not in ballots.
        return "Join" if self._ddp._join_config.enable else None

    def accept(self, values):
        """Returns why this rank cannot run with the values now; None if it can."""
        if values[KNOB] == self._now:
            return None
        try:
            self._hook()
        except LeftAlone as reason:
            return str(reason)
        if self.why_fixed is not None:
            return None  # before the first step
        if compiler.is_compiled(self._ddp):
            return "buckets: " + COMPILED
        if any(not p.requires_grad for p in self._parameters):
            return "buckets: a parameter has been frozen"
        # Gradients that are views keep the old buckets beside the new ones for an iteration.
        needed = self._bytes if self._ddp.gradient_as_bucket_view else 0
        return memory.objection(needed, self._ddp.device, self._ranks_on_host)

    def apply(self, values):
        """Changes the buckets. Called between two iterations, before a forward pass."""
        cap = values[KNOB]
        if cap == self._now:
            return
        self._read_ready_order()
        before = self._now
        try:
            self._replace_reducer(cap)
        except Exception:
            self._replace_reducer(before)
            raise

    def undo(self):
        """Gives the model its own buckets back."""
        self.apply({KNOB: self._usual})

    def bucket_bytes(self):
        """Returns the sizes of the buckets, as DDP tells them; empty before the first iteration."""
        data = self._ddp._get_ddp_logging_data()
        sizes = data.get("rebuilt_bucket_sizes") or data.get("bucket_sizes") or ""
        return [int(size) for size in re.findall(r"\d+", sizes)]

    def _hook(self):
        """Returns the name of the communication hook in use and how to register it with a Reducer.

        Without a hook the name is empty. Raises LeftAlone where it may not be registered again.
        """
        name = self._ddp._get_ddp_logging_data().get("comm_hook", "")
        if not name or self.own_hook == ():
            return "", None
        if self.own_hook is not None:
            return name, lambda reducer: dist._register_comm_hook(reducer, *self.own_hook)
        builtin = dist.BuiltinCommHookType.__members__.get(name.rpartition(".")[2])
        if name.startswith("BuiltinCommHookType") and builtin is not None:
            return name, lambda reducer: dist._register_builtin_comm_hook(reducer, builtin)
        # Earlier versions do not keep the hook itself.
        for hook, state in getattr(self._ddp, "_comm_hooks", [])[-1:]:
            # Other states may hold something for each bucket, as PowerSGD's does.
            if hook.__module__ == _STATELESS_HOOKS and (
                    state is None or isinstance(state, dist.ProcessGroup)):
                return name, lambda reducer: dist._register_comm_hook(reducer, state, hook)
        raise LeftAlone(f"buckets: the communication hook {name}")

    def _read_ready_order(self):
        """Reads in which order gradients became ready, as DDP recorded it for its rebuilding."""
        told = self._ddp._get_ddp_logging_data().get("rebuilt_per_bucket_param_indices", "")
        order = [int(index) for index in re.findall(r"\d+", told)]
        if sorted(order) == list(range(len(self._parameters))):
            self._ready_order = order

    def _assignment(self, cap, first_cap):
        """Returns buckets of indices, and their limits, as DDP itself would have them from the
        second iteration on; before the order is known, as it has them in the first one."""
        limits = [first_cap, cap] if first_cap < cap else [cap]
        if self._ready_order is not None:
            return dist._compute_bucket_assignment_by_size(
                [self._parameters[index] for index in self._ready_order], limits, self._sparse,
                self._ready_order)
        if self._ddp.static_graph or not self._ddp.find_unused_parameters:
            limits = [sys.maxsize]
        indices, sizes = dist._compute_bucket_assignment_by_size(self._parameters, limits,
                                                                 self._sparse)
        return indices[::-1], sizes[::-1]

    def _replace_reducer(self, cap):
        ddp, (hook_name, register_hook) = self._ddp, self._hook()
        is_own = cap == self._usual
        cap_bytes = self._own_cap if is_own else cap
        first_cap = self._own_first_cap if is_own else min(self._own_first_cap, cap)
        indices, limits = self._assignment(cap_bytes, first_cap)
        names = _reducer_arguments()
        arguments = {name: getattr(ddp, _PASSED_ON[name]) for name in names & set(_PASSED_ON)}
        arguments |= {name: [] for name in names & _EMPTY}
        arguments |= {
            "params": self._parameters, "bucket_indices": indices, "per_bucket_size_limits": limits,
            "expect_sparse_gradients": self._sparse, "bucket_bytes_cap": cap_bytes,
            "first_bucket_bytes_cap": first_cap,
            "param_to_name_mapping": ddp._build_debug_param_to_name_mapping(self._parameters)}
        # The old buckets are freed first, and with them the hooks on the parameters.
        if hasattr(ddp.reducer, "_remove_autograd_hooks"):
            ddp.reducer._remove_autograd_hooks()
        ddp.reducer = ddp.logger = None
        ddp.reducer = dist.Reducer(**arguments)
        self._now = cap
        # torch.compile splits the model by this: it fails with less than a first bucket.
        ddp.bucket_bytes_cap = (cap_bytes if is_own
                                else max(cap_bytes, dist._DEFAULT_FIRST_BUCKET_BYTES))
        self._make_logger()
        ddp._has_rebuilt_buckets = False
        if register_hook is not None:
            ddp.logger._set_comm_hook_name(hook_name)
            register_hook(ddp.reducer)
        if ddp.static_graph:
            self._set_static_graph()

    def _make_logger(self):
        ddp = self._ddp
        ddp.logger = dist.Logger(ddp.reducer)
        ddp.reducer.set_logger(ddp.logger)
        has_sync_bn = any(isinstance(part, torch.nn.SyncBatchNorm) for part in ddp.modules())
        output = -1 if ddp.output_device is None else ddp.output_device
        ddp.logger.set_construction_data_and_log(
            type(ddp.module).__name__, ddp.device_ids or [], output, ddp.broadcast_buffers,
            has_sync_bn, ddp.static_graph)

    def _set_static_graph(self):
        """Lets the new Reducer learn the graph in its first iteration, as the old one did."""
        ddp = self._ddp
        ddp.reducer._set_static_graph()
        ddp.logger._set_static_graph()
        # DDP remembers in one of these, depending on its version, that the first iteration is over.
        if hasattr(ddp, "num_iterations"):
            ddp.num_iterations = 0
        if hasattr(ddp, "_static_graph_delay_allreduce_enqueued"):
            ddp._static_graph_delay_allreduce_enqueued = False


def is_ddp(module):
    return isinstance(module, DistributedDataParallel)
