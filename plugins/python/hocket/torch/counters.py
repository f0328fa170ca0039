"""What a rank counts in its iterations, for `hocket stragglers`: of DistributedDataParallel on
processors, by the times that DDP takes itself."""

from torch.nn.parallel import DistributedDataParallel


class Counters:
    """Of any other model, of one on a GPU and of a PyTorch that counts otherwise it has none.

    DDP takes these times in one iteration of a hundred unless it is told to take them in each; on a
    GPU it would wait for the device.
    """

    def __init__(self, module):
        on_gpu = any(parameter.is_cuda for parameter in module.parameters())
        is_ddp = isinstance(module, DistributedDataParallel)
        self._ddp = module if is_ddp and not on_gpu else None
        self._last_end = None
        self._sample()

    def _sample(self):
        try:
            if self._ddp is not None:
                self._ddp._set_ddp_runtime_logging_sample_rate(1)
        except Exception:
            self._ddp = None

    def last(self):
        """Returns the seconds that the last iteration waited for its buckets' all-reduces with no
        computation left beside them, and those that it computed; None where they are not known."""
        if self._ddp is None:
            return None
        self._sample()  # new buckets have a new logger
        try:
            data = self._ddp._get_ddp_logging_data()
            end = data["backward_comm_time_end"]
            waited = data["backward_comm_time"] - data["backward_compute_comm_overlap_time"]
            computed = data["forward_compute_time"] + data["backward_compute_time"]
        except Exception:
            return None
        # Gradients that are only added up are not all-reduced, and the times stay as they were.
        if end == self._last_end or waited < 0 or computed <= 0:
            return None
        self._last_end = end
        return waited / 1e9, computed / 1e9
