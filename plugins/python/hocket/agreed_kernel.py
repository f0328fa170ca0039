"""agreed_kernel(): one configuration of a Triton kernel on all ranks.

Triton's Autotuner finds the configuration of new arguments in its run(): it looks them up in its
cache, prunes its list, takes the time of each that is left (_bench) and keeps the fastest. Here the
ranks agree once the list is pruned, and what _bench then says makes run() keep the agreed one. So
everything else remains Triton's: hooks, restored values, its cache, what it prints.
"""

import logging
import math
import threading

from hocket.agree import FIRST, LONGEST_S, agree
from hocket.library import Error

_log = logging.getLogger("hocket")


class _Cache(dict):
    """The Autotuner's; notes which key it has looked up in vain."""

    def __init__(self, found):
        super().__init__(found)
        self.missing = None

    def __contains__(self, key):
        is_there = super().__contains__(key)
        if not is_there:
            self.missing = key
        return is_there


def agreed_kernel(kernel=None, *, by=FIRST, group=None, longest_s=LONGEST_S, versions=None):
    """Makes the ranks agree on the configurations of a kernel under @triton.autotune. A decorator
    above it, with or without options, which are those of hocket.agree(). Returns the kernel.

    The arguments named by the `key` of triton.autotune identify a choice. Where ranks prune to
    different lists there is no agreement: a warning says so, and each takes its first. Raises
    TypeError for what is no such kernel.
    """
    def wrap(given):
        _Agreed(given, dict(by=by, group=group, longest_s=longest_s, versions=versions))
        return given
    return wrap if kernel is None else wrap(kernel)


class _Agreed:
    """An Autotuner's functions in place of its own."""

    def __init__(self, tuner, options):
        if not all(hasattr(tuner, name) for name in ("cache", "prune_configs", "_bench", "run")):
            raise TypeError(f"agreed_kernel(): {type(tuner).__name__} is no kernel of "
                            "triton.autotune; write @hocket.agreed_kernel above @triton.autotune")
        self._tuner, self._options = tuner, options
        self._name = getattr(getattr(tuner, "base_fn", None), "__qualname__", type(tuner).__name__)
        self._prune, self._bench, self._run = tuner.prune_configs, tuner._bench, tuner.run
        self._running = threading.local()
        tuner.cache = _Cache(tuner.cache)
        # Each host has a disk cache of its own, from which Triton would take another winner.
        tuner.cache_results = False
        tuner.run, tuner.prune_configs, tuner._bench = self.run, self.prune, self.bench

    def run(self, *arguments, **named):
        self._running.arguments, self._running.winner = arguments, None
        try:
            return self._run(*arguments, **named)
        finally:
            self._running.arguments = self._running.winner = None

    def prune(self, named):
        configs = self._prune(named)
        arguments = getattr(self._running, "arguments", None)
        if arguments is not None:  # not in warmup()
            self._running.winner = self._agree(list(configs), arguments, named)
        return configs

    def _agree(self, configs, arguments, named):
        def measure(config):
            times = self._bench(*arguments, config=config, **named)
            return times if isinstance(times, (int, float)) else times[0]
        key = ("triton", self._name, self._tuner.cache.missing)
        try:
            return agree(key, configs, measure, describe=str, **self._options)
        except (Error, ValueError) as error:
            _log.warning("hocket: %s: each rank takes its first configuration: %s", self._name,
                         error)
            return configs[0]

    def bench(self, *arguments, config, **named):
        winner = getattr(self._running, "winner", None)
        if winner is None:
            return self._bench(*arguments, config=config, **named)
        return [0.0 if config is winner or config == winner else math.inf] * 3
