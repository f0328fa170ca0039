"""Crosses the barrier between two iterations of DistributedDataParallel (DDP).

DDP waits for all gradients at the end of the backward pass. Here its buckets go to a
hocket.Schedule, which sums them in the order in which the next forward pass uses them. The program
goes on at once: step() and zero_grad() are noted, and each bucket is waited for, stepped and
cleared just before the program uses one of its parameters or gradients (ByteScheduler, SOSP 2019,
calls this a dependency proxy). PyTorch itself reports each use (parameter_use.py), so values are
those of DDP to the bit whatever the program does between. What it uses between the iterations is
waited for by itself (early_uses.py); where that is all, so that there is nothing to gain, crossing
ends by itself, on all ranks at the same iteration.
"""

import logging
import sys

import torch
import torch.distributed as dist
from torch.nn.modules import module as modules
from torch.nn.parallel import DistributedDataParallel

from hocket.library import Error
from hocket.torch import compiler, process_hooks
from hocket.torch.bucket_layout import BucketLayout
from hocket.torch.communicator import Communicator, Groups, channels
from hocket.torch.crossing_limits import (
    CHANGED, COMPILED, EARLY_GRADIENT, EARLY_PARAMETER, JOIN, KEPT, OPTIMIZER, REASONS, SCHEDULE,
    has_kept_values, why_not)
from hocket.torch.deferred_optimizer import DeferredOptimizer
from hocket.torch.early_uses import EarlyUses
from hocket.torch.kept_works import kept
from hocket.torch.parameter_use import GRADIENT, SET_GRADIENT, ParameterUse
from hocket.torch.peers import Peers, ranks_of, start_all_reduce
from hocket.torch.program_line import program_line

LONGEST_MEETING_S = 60.0

_log = logging.getLogger("hocket")


class Crossing:
    """All ranks of the DDP make one at the same place, after DDP and the optimizer and before the
    training; enable, disable, apply, record and close are called by all ranks between the same two
    steps. `peers` are these ranks; without them they meet first, and LeftAlone is raised where one
    does not come.

    `config` is the schedule's: order, partition_bytes, credit_bytes and comm_channels have an
    effect. `off_reason` says why crossing is off for good; None while it is not. An error of
    communication is the RuntimeError of the all-reduce, from the next call that needs its values.
    `comm_hook` is the (state, hook) that is registered with DDP: a new reducer needs it too.
    """

    def __init__(self, ddp, optimizer, config=None, peers=None):
        self.off_reason = None
        self._is_first = True
        self._ddp, self._config = ddp, config
        self._enabled, self._crossing, self._handles = True, False, []
        self._communicator, self._pending = None, {}
        self._in_forward, self._early, self._ask = False, EarlyUses(), 0
        self._recording = None  # parameters whose first use is looked for
        # The first use of a gradient after a backward pass: is it looked for, and its line.
        self._looking, self._used_at = False, None
        self._order = {}
        self._in_step = False
        self._handed_over = False  # a step, since the last forward pass began
        self._is_compiled = False  # something of this process, since the start
        self._ballot, self._vote = torch.zeros(2, dtype=torch.int32), None
        # The same on all ranks, before the first collective.
        if not isinstance(ddp, DistributedDataParallel):
            self._turn_off("the model is not a DistributedDataParallel")
            return
        peers = peers or Peers(ranks_of(ddp.process_group), LONGEST_MEETING_S)
        self._is_first = peers.rank == 0
        reason = peers.agree(why_not(ddp, optimizer))
        if reason is not None:
            self._turn_off(reason)
            return
        self._groups = Groups(peers)
        self._groups.provide(channels(config))
        self._scale = 1.0 / peers.world_size
        self._layout = BucketLayout(ddp)
        self._use = ParameterUse(self._used)
        self._deferred = DeferredOptimizer(optimizer, self._pending.values, self._flush_for,
                                          self._before_step)
        self._bucket_of, self._buckets_of_module = {}, {}
        self._install()

    def _install(self):
        """Hooks are global ones, so that models are copied and pickled as ever."""
        self.comm_hook = (None, self._hook)
        self._ddp.register_comm_hook(*self.comm_hook)
        self._handles = [modules.register_module_forward_pre_hook(self._before_forward),
                         modules.register_module_forward_hook(self._after_forward)]
        # A second backward pass adds to gradients: to their sums.
        self._handles += [p.register_hook(lambda _, p=p: self._before_accumulation(p))
                          for p in self._ddp.parameters() if p.requires_grad]
        process_hooks.add(self)

    @property
    def is_crossing(self):
        """Whether the gradients of the last backward pass cross."""
        return self._crossing

    # The backward pass.

    def _hook(self, _, bucket):  # DDP wants this name
        shown = bucket
        if shown.index() == 0:
            self._begin_backward()
        if not self._crossing:
            return self._all_reduce(shown)
        bucket = self._layout.buckets[shown.index()]
        if not bucket.is_shown_by(shown):
            self._abandon_step(bucket.number)
            return self._all_reduce(shown)
        bucket.buffer.data.mul_(self._scale)
        bucket.pending = True
        self._pending[bucket.number] = bucket
        self._communicator.notify_ready(bucket.number)
        if shown.is_last():
            self._communicator.end_step()
            self._in_step, self._handed_over = False, True
            self._queue_note()
        self._use.watch(bucket.parameters)
        future = torch.futures.Future()
        future.set_result(bucket.buffer)
        return future

    def _begin_backward(self):
        process_hooks.watch_compiler()
        self.flush()
        go = self._agree()
        self._crossing = (go and self._enabled and self.off_reason is None
                          and self._layout.is_known() and not self._ddp._join_config.enable)
        if self._crossing:
            self._in_step = True
            self._communicator.begin_step()

    def _abandon_step(self, number):
        """The buckets changed within the iteration: sums old buffers for the announced ones."""
        for bucket in self._layout.buckets[number:]:
            self._communicator.notify_ready(bucket.number)
        self._communicator.end_step()
        for bucket in self._layout.buckets[number:]:
            self._communicator.wait(bucket.number)
        self._in_step = self._crossing = False
        self._layout.forget()

    def _agree(self):
        """Reads the ballot of the last iteration and casts one. Returns whether all ranks were
        ready to cross; turns off if one has asked for it."""
        if self.off_reason is not None or not self._enabled:
            return False
        asked = unready = 0
        if self._vote is not None:
            self._vote.wait()
            asked, unready = self._ballot.tolist()
        if asked:
            where = self._early.where
            self._turn_off(REASONS[asked] + (f" ({where})" if where else ""))
            return False
        if self._ddp._join_config.enable:
            self._ask = JOIN
        elif self._is_compiled or compiler.is_used():
            self._ask = COMPILED
        go = self._vote is not None and not unready
        self._ballot[0] = self._ask
        self._ballot[1] = 0 if self._communicator and self._layout.is_known() else 1
        self._vote = start_all_reduce(self._groups.control, self._ballot, dist.ReduceOp.MAX)
        return go

    def _all_reduce(self, shown):
        """What DDP does without a hook."""
        # Under Join a rank without inputs has no backward pass, and crossing ends anyhow.
        if self.off_reason is None and self._enabled and not self._ddp._join_config.enable:
            self._learn(shown)
        buffer = shown.buffer().mul_(self._scale_of_join() if self._ddp._join_config.enable
                                     else self._scale)
        work = kept(dist.all_reduce(buffer, group=self._ddp.process_group, async_op=True))
        return work.get_future().then(lambda future: future.value()[0])

    def _learn(self, shown):
        if self._communicator is None or not self._layout.is_known():
            if self._layout.learn(shown):
                self._open()
        if shown.is_last() and self._layout.is_known():
            self._queue_note()

    def _scale_of_join(self):
        """Of the ranks that have inputs. For others, DDP calls the hook with zeros."""
        if self._ddp._divide_by_initial_world_size:
            return self._scale
        frame = sys._getframe()
        while frame and frame.f_code.co_name != "_match_all_reduce_for_bwd_pass":
            frame = frame.f_back
        active = torch.tensor([0.0 if frame else 1.0])
        dist.all_reduce(active, group=self._ddp.process_group)
        return 1.0 / active.item()

    def _open(self):
        """Makes a schedule for the buckets that were learned."""
        self._close_communicator()
        buckets = self._layout.buckets
        try:
            self._communicator = Communicator(
                self._groups, self._config, [bucket.buffer for bucket in buckets],
                self._layout.priorities(self._order))
        except Error as error:
            _log.warning("hocket: %s", error)
            self._ask = SCHEDULE
        self._bucket_of = {p: bucket for bucket in buckets for p in bucket.parameters}
        self._buckets_of_module = self._layout.by_module(self._bucket_of)
        if has_kept_values(self._bucket_of):
            self._ask = KEPT

    def _queue_note(self):
        """Notes the versions of the gradients when DDP, which queues its own end of the backward
        pass after this, has ended it."""
        queue = torch.autograd.Variable._execution_engine.queue_callback
        queue(lambda: queue(self._note_versions))

    def _note_versions(self):
        for bucket in self._layout.buckets:
            bucket.version = bucket.gradient_version()
        # Code that is compiled does not wait for parameters.
        if self._is_compiled:
            self.flush()
        elif not self._crossing and self.off_reason is None:
            self._looking = True
            self._use.watch(self._bucket_of)

    def _end_looking(self):
        if self._looking:
            self._looking = False
            self._use.release(self._bucket_of)

    def before_compiling(self):
        """Finishes everything before PyTorch compiles something. What is compiled then has none of
        the hooks below, and until all ranks have ended the crossing nothing is left pending."""
        self._is_compiled = True
        self._end_looking()
        self._end_recording()
        self.flush()

    def _before_step(self):
        """Sees what was changed through references to gradients that the program has kept: too
        late, so the first iterations are not crossed."""
        self._end_looking()
        used_at, self._used_at = self._used_at, None
        for bucket in self._layout.buckets:
            version, bucket.version = bucket.version, None
            if version is None or self._crossing and not bucket.pending:
                continue  # nothing noted, or finished and free to be changed
            if version != bucket.gradient_version():
                if bucket.pending:
                    _log.error("hocket: gradients were changed in place while they were summed; "
                               "the change is lost in this iteration")
                self._ask, self._early.where = CHANGED, used_at

    # The uses of what is pending.

    def _before_forward(self, module, _):
        if compiler.is_tracing():
            return
        if module is self._ddp:
            self._begin_forward()
        elif self._recording is not None:
            own = list(module.parameters(recurse=False))
            self._record_use([p for p in own if p in self._recording])
        elif self._pending:
            for bucket in self._buckets_of_module.get(module, ()):
                if bucket.pending:
                    self._note_use(bucket)
                    self._finish(bucket)

    def _begin_forward(self):
        self._in_forward = True
        self._end_looking()
        handed_over, self._handed_over = self._handed_over, False
        if handed_over:
            self._ask = self._early.iteration_ended(bool(self._pending)) or self._ask
        if torch.is_grad_enabled() and self._enabled and not self._order and not self._pending:
            self._recording = {p: None for p in self._ddp.parameters() if p.requires_grad}
            self._use.watch(self._recording)

    def _record_use(self, parameters):
        for parameter in parameters:
            self._order.setdefault(parameter, len(self._order))
        self._use.release(parameters)

    def _after_forward(self, module, _, __):
        if compiler.is_tracing() or module is not self._ddp:
            return
        self._end_recording()
        # The next backward pass writes into the buckets.
        self.flush()
        self._in_forward = False

    def _end_recording(self):
        if self._recording is not None:
            self._use.release(self._recording)
            self._recording = None

    def _before_accumulation(self, parameter):
        if self._pending and self._bucket_of[parameter].pending:
            self._finish(self._bucket_of[parameter])

    def _used(self, parameter, function):
        if self._recording is not None:
            self._record_use([parameter])
            return None
        if self._looking:
            if function == GRADIENT and not self._clearing():
                self._used_at = self._used_at or program_line()
            return None
        bucket = self._bucket_of.get(parameter)
        if bucket is None or not bucket.pending:
            return None
        if bucket.armed is not None:
            clearing = self._clearing()
            if function == GRADIENT and clearing:
                bucket.cleared[parameter] = clearing
                return lambda *_: None
            if function == SET_GRADIENT:
                return lambda p, value: self._set_gradient(bucket, p, value)
        self._note_use(bucket)
        self._finish(bucket)
        return None

    def _clearing(self):
        """Returns what a zero_grad that is running does to a gradient, or None."""
        return self._deferred.clearing or process_hooks.clearing()

    def _note_use(self, bucket):
        if not self._in_forward:
            self._early.note(EARLY_PARAMETER if bucket.armed is not None else EARLY_GRADIENT)

    def _set_gradient(self, bucket, parameter, value):
        if value is None:
            bucket.cleared[parameter] = "none"
        else:
            self._finish(bucket)
            parameter.grad = value

    def _flush_for(self, reason):
        """Finishes everything for a call of the optimizer; `reason`: why it cannot wait."""
        if reason is not None and self._pending:
            self._early.note(OPTIMIZER, reason)
        self.flush()

    def _finish(self, bucket):
        """Waits for a bucket's sums, and does with them what was noted."""
        self._communicator.wait(bucket.number)
        bucket.pending = False
        del self._pending[bucket.number]
        armed, cleared = bucket.armed, bucket.cleared
        bucket.armed, bucket.cleared = None, {}
        self._use.release(bucket.parameters)
        with torch.no_grad():
            for parameter, gradient in zip(bucket.parameters, bucket.gradients):
                if parameter.grad is None or parameter.grad.data_ptr() == gradient.data_ptr():
                    continue
                if cleared.get(parameter) == "none":
                    parameter.grad = gradient
                else:
                    parameter.grad.copy_(gradient)
            if armed is not None:
                self._deferred.step_parts(*armed)
            for parameter, how in cleared.items():
                if how == "none":
                    parameter.grad = None
                elif parameter.grad is not None:
                    parameter.grad.requires_grad_(False).zero_()

    def flush(self):
        """Waits for all sums and does what was noted: gradients and parameters are DDP's."""
        for bucket in list(self._pending.values()):
            if bucket.pending:
                self._finish(bucket)

    # Switching.

    def enable(self):
        self._enabled = self.off_reason is None

    def disable(self):
        """DDP's own all-reduce again, until enable()."""
        self.flush()
        if self._vote is not None:
            self._vote.wait()
        self._enabled, self._vote = False, None

    def apply(self, config):
        """Takes another configuration; raises hocket.Error, on all ranks, and changes nothing if
        it is not one."""
        if self.off_reason is not None:
            return
        self.flush()
        self._groups.provide(channels(config))
        if self._communicator:
            self._communicator.reconfigure(config)
        self._config = config

    def record(self, steps):
        """Records steps for save_profile()."""
        if self._communicator:
            self._communicator.record(steps)

    def save_profile(self, client):
        """Saves what was recorded as a profile of the client's job. For rank 0."""
        if self._communicator:
            self._communicator.save_profile(client)

    def _turn_off(self, reason):
        self.off_reason = reason
        level = logging.WARNING if self._is_first else logging.INFO
        _log.log(level, "hocket: not crossing the barrier between iterations: %s", reason)
        self._end()

    def _end(self, clean=True):
        """With nothing pending, or never again used: the hook alone stays."""
        self._enabled = self._crossing = False
        process_hooks.discard(self)
        for handle in self._handles:
            handle.remove()
        self._handles = []
        self._end_looking()
        self._end_recording()
        self._close_communicator(clean)

    def _close_communicator(self, clean=True):
        if self._communicator:
            communicator, self._communicator = self._communicator, None
            communicator.close(clean)

    def close(self):
        """Ends crossing; the hook stays and does what DDP does."""
        self.flush()
        self._end()

    def close_at_exit(self):
        """Ends without waiting for ranks that may be gone."""
        # An exception may have ended the program anywhere.
        clean = not self._in_step
        try:
            if clean:
                self.flush()
        except RuntimeError:
            clean = False
        self._end(clean)
