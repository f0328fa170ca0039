"""DistributedDataParallel's buckets, as its communication hook shows them."""

import weakref

import torch

LEARNED_AFTER = 2  # the second iteration of a reducer may have other buckets than the first


class Bucket:
    """One bucket, and what is still to do with its gradients."""

    def __init__(self, shown):
        self.number = shown.index()
        self.buffer = shown.buffer()
        self.parameters = shown.parameters()
        self.gradients = shown.gradients()  # views of the buffer
        self.pending = False  # from the hook until the sums were waited for
        self.armed = None     # what step() was called for: hyper-parameters, parameters by group
        self.cleared = {}     # how a zero_grad shall clear a gradient once it was used
        self.version = None   # of the gradients, when the backward pass had ended

    def gradient_version(self):
        """Rises when the program changes a gradient in place."""
        with torch._C.DisableTorchFunction():
            return sum(p.grad._version for p in self.parameters if p.grad is not None)

    def is_shown_by(self, shown):
        buffer = shown.buffer()
        return (buffer.data_ptr() == self.buffer.data_ptr()
                and buffer.numel() == self.buffer.numel())


class BucketLayout:
    """Learns the buckets of a reducer in its first iterations."""

    def __init__(self, ddp):
        self._ddp = ddp
        self._reducer = None  # weak: a reducer that is gone must not hold on to the parameters
        self._iterations = 0
        self.buckets = []

    def is_known(self):
        self._follow_reducer()
        return self._iterations >= LEARNED_AFTER

    def _follow_reducer(self):
        if self._reducer is None or self._reducer() is not self._ddp.reducer:
            self._reducer = weakref.ref(self._ddp.reducer)
            self._iterations, self.buckets = 0, []

    def learn(self, shown):
        """Takes the next bucket of an iteration; returns whether the layout is complete."""
        if shown.index() == 0:
            self._follow_reducer()
            self.buckets = []
        self.buckets.append(Bucket(shown))
        if not shown.is_last():
            return False
        self._iterations += 1
        return self._iterations >= LEARNED_AFTER

    def priorities(self, order):
        """Returns the place of each bucket by the first use of a parameter of it. `order`: the
        parameters' places; of those used first at the same time, what is ready last comes first."""
        first_uses = [min((order.get(p, len(order)) for p in bucket.parameters), default=0)
                      for bucket in self.buckets]
        places = sorted(range(len(first_uses)), key=lambda i: (first_uses[i], -i))
        return [places.index(i) for i in range(len(places))]

    def by_module(self, bucket_of):
        """Returns the buckets of each module's own parameters. `bucket_of`: those of parameters."""
        found = {}
        for part in self._ddp.modules():
            own = {bucket_of[p].number: bucket_of[p]
                   for p in part.parameters(recurse=False) if p in bucket_of}
            if own:
                found[part] = list(own.values())
        return found

    def forget(self):
        self._reducer, self.buckets = None, []
