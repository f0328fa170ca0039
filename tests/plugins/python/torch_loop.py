"""A training loop for tests that ends when something has happened."""

from torch_net import all_agree, make, one_step
from torch_ranks import log_lines

import hocket.torch as tuning

MOST_STEPS = 12000


def train_until(done, explore=0.0, make=make, step_of=one_step, at_step=lambda step: None,
                **options):
    """Trains until `done(job, lines, step)` on all ranks; returns losses, values after each step,
    lines of the log, and the last status."""
    lines = log_lines()
    model, optimizer = make()
    job = tuning.tune(model, optimizer, explore=explore, name="net", **options)
    losses, values = [], []
    for step in range(MOST_STEPS):
        at_step(step)
        losses.append(step_of(model, optimizer, step))
        values.append(job.values)
        if all_agree(done(job, lines, step)):
            break
    else:
        raise AssertionError(f"what the test waits for did not happen in {MOST_STEPS} steps")
    status = job.status()
    job.close()
    return losses, values, lines, status


def has_tried(rank, candidates):
    """Returns what is done once rank 0 has tried more than so many candidates."""
    return lambda job, lines, step: rank > 0 or sum("trying" in line
                                                    for line in lines) > candidates
