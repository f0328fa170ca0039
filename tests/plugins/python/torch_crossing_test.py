"""The barrier between iterations crossed: a program computes what it computes under plain DDP, to
the bit, whatever it does between backward passes and steps."""

import os
import random
import unittest
import warnings

import torch
from torch_program import (
    ACTIONS, OPTIMIZERS, Program, ProgramTest, autocast, closure, config, kept_gradients,
    late_zero_grad, model_zero_grad, no_sync, no_zero_grad, one_gradient_read, one_parameter_read,
    own_zero_grad, parameters_read_at_times, plain, rate, reconfigured, switched, train)
from torch_ranks import run_ranks


def trained_randomly(rank, seed):
    results = []
    options = random.Random(seed)
    named = {"kind": options.choice(["", "tied", "functional"]),
             "optimizer": options.choice(["sgd", "adamw"]),
             "gradient_as_bucket_view": options.choice([False, True]),
             "settings": config(options.choice(["fifo", "static", "negotiated"]),
                                options.choice([32768, 1 << 20]), options.choice([1, 2]))}
    for crossed in (False, True):
        chosen = random.Random(seed)
        actions = chosen.sample(ACTIONS, 5)
        program = Program(rank, crossed, **named)
        for step in range(30):
            action = plain if chosen.random() < 0.6 else chosen.choice(actions)
            action(program, step)
        results.append(program.end())
    return results


def train_unused(rank):
    """The ranks leave out different parameters, and at times the same."""
    def action(program, step):
        program.iteration(leave_out=(step + rank) % 3 == 0 or step % 5 == 0)
    return train(rank, action, {"find_unused_parameters": True})


def local_backward(program, step):
    """Adds gradients of this rank alone to those that were summed, from some iteration on."""
    if step < 6:
        return plain(program, step)
    program.optimizer.zero_grad()
    loss, local = program.loss(), program.loss(program.model)
    loss.backward()
    local.backward()
    program.step()
    return None


def scheduled_rate(program, step):
    if step == 0:
        program.schedulers = [torch.optim.lr_scheduler.StepLR(program.optimizer, 3, 0.5)]
    program.iteration()
    with warnings.catch_warnings():
        warnings.simplefilter("error")  # that the optimizer had not stepped yet
        program.schedulers[0].step()
    program.see(program.optimizer.param_groups[1]["lr"])


def train_in_a_subgroup(rank):
    """Ranks 1 and 2 train, and rank 0 does nothing of the kind."""
    group = torch.distributed.new_group([1, 2])
    return train(rank, plain, {"process_group": group}) if rank > 0 else None


class CrossingTest(ProgramTest):
    def test_equals_ddp(self):
        cases = {action.__name__: (action, {}) for action in (
            plain, kept_gradients, late_zero_grad, model_zero_grad, own_zero_grad, no_zero_grad,
            no_sync, rate, scheduled_rate, autocast, switched, reconfigured, one_parameter_read,
            one_gradient_read, parameters_read_at_times, closure)}
        cases["static graph"] = plain, {"static_graph": True}
        cases |= {f"{name}, view {view}": (
            plain, {"optimizer": name, "gradient_as_bucket_view": view})
                  for name in ("sgd", "adamw") for view in (False, True)}
        cases |= {name: (plain, {"optimizer": name}) for name in list(OPTIMIZERS)[2:]}
        cases |= {kind: (plain, {"kind": kind}) for kind in ("tied", "functional")}
        cases |= {f"{order}, {channels} channels": (
            plain, {"steps": 16, "settings": config(order, channels=channels)})
            for order in ("fifo", "static", "negotiated") for channels in (1, 3)}
        for name, (action, named) in cases.items():
            with self.subTest(name):
                self.assert_equal_to_ddp(run_ranks(train, action, named))

    def test_unused_parameters(self):
        self.assert_equal_to_ddp(run_ranks(train_unused))

    def test_ddp_of_some_of_the_ranks(self):
        self.assert_equal_to_ddp(run_ranks(train_in_a_subgroup, count=3)[1:])

    def test_local_backward(self):
        for view in (False, True):
            self.assert_equal_to_ddp(
                run_ranks(train, local_backward, {"gradient_as_bucket_view": view}), False)

    def test_random_programs(self):
        first = int(os.environ.get("HOCKET_TEST_SEED", 1))
        for seed in range(first, first + int(os.environ.get("HOCKET_TEST_SEEDS", 6))):
            with self.subTest(seed=seed):
                self.assert_equal_to_ddp(run_ranks(trained_randomly, seed), is_crossed=False)


if __name__ == "__main__":
    unittest.main()
