"""Where crossing would be wrong or gain nothing it ends, with the reason, on all ranks; and a program
computes what it computes under plain DDP, to the bit, before and after."""

import inspect
import itertools
import os
import re
import unittest

import torch
import torch.distributed as dist
from torch_program import (
    LAYERS, Program, ProgramTest, accumulated_average, average, backward_after_step, checkpoint,
    clipping, config, evaluation, gradients_read, kept_values, one_gradient_clipped,
    parameters_read, plain, second_backward, train, two_steps, whole_model_saved)
from torch_ranks import run_ranks

from hocket.torch.crossing import Crossing


def clipping_later(program, step):
    (clipping if step > 6 else plain)(program, step)


def scaled(program, _):
    if not hasattr(program, "scaler"):
        program.scaler = torch.amp.GradScaler("cpu", init_scale=4.0)
    program.optimizer.zero_grad()
    program.scaler.scale(program.loss()).backward()
    program.scaler.step(program.optimizer)
    program.scaler.update()
    program.pending.append(0)


def stored_gradients_changed(program, step):
    """Through references that were taken in the first iterations: nothing reports their use."""
    program.optimizer.zero_grad(set_to_none=False)
    program.loss().backward()
    if step < 3:
        program.stored = [p.grad for p in program.ddp.parameters()]
    torch._foreach_mul_(program.stored, 0.5)
    program.step()


def train_with_join(rank, divides_by_all, inputs):
    """Rank 0 has so many inputs within the Join, rank 1 two more."""
    results = []
    for crossed in (False, True):
        program = Program(rank, crossed, broadcast_buffers=False)
        for step in range(6):
            plain(program, step)
        with program.ddp.join(divide_by_initial_world_size=divides_by_all):
            for step in range(inputs + 2 * rank):
                plain(program, step)
        results.append(program.end())
    return results


def train_until_killed(rank, order, within_backward):
    """Rank 1 ends when all its gradients are handed over, or when some are."""
    program = Program(rank, True, settings=config(order))
    for step in range(8):
        plain(program, step)
    program.optimizer.zero_grad()
    loss = program.loss()
    if rank == 1:
        if within_backward:
            program.model.layers[LAYERS // 2].weight.register_hook(lambda _: os._exit(3))
        loss.backward()
        os._exit(3)
    try:
        for step in range(3):
            plain(program, step)
    except RuntimeError as error:
        return str(error)
    return "no error"


def why_off(rank, change):
    program = Program(rank, False)
    optimizer = program.optimizer
    if change == "hook" and hasattr(dist, "algorithms"):
        from torch.distributed.algorithms.ddp_comm_hooks import default_hooks
        program.ddp.register_comm_hook(None, default_hooks.fp16_compress_hook)
    if change == "optimizer":
        optimizer = torch.optim.LBFGS(program.ddp.parameters())
    if change == "one rank" and rank == 1:
        program.ddp.module.norm.weight.__class__ = type("Own", (torch.nn.Parameter,), {})
    crossing = Crossing(program.ddp, optimizer, config())
    plain(program, 0)
    return crossing.off_reason


class CrossingEndsTest(ProgramTest):
    def test_ends_where_it_would_gain_nothing(self):
        for action, reason in ((clipping, "before optimizer.step"),
                               (one_gradient_clipped, "before optimizer.step"),
                               (second_backward, None), (two_steps, "in parts"),
                               (parameters_read, "between the iterations"),
                               (gradients_read, "between the iterations"), (evaluation, "between"),
                               (average, "between the iterations"),
                               (accumulated_average, "between the iterations"), (checkpoint, None),
                               (whole_model_saved, "between the iterations"),
                               (backward_after_step, None)):
            with self.subTest(action.__name__):
                results = run_ranks(train, action)
                self.assert_equal_to_ddp(results, is_crossed=False)
                if reason:
                    for _, (_, _, last, found) in results:
                        self.assertIn(reason, found)
                        self.assertLessEqual(set(last), {0})

    def test_the_reason_names_the_line_of_the_program(self):
        for action, innermost in (
                (clipping, clipping), (average, average),
                (whole_model_saved, whole_model_saved), (parameters_read, Program.see),
                (two_steps, Program.step)):
            with self.subTest(action.__name__):
                lines, first = inspect.getsourcelines(innermost)
                for _, (*_, reason) in run_ranks(train, action):
                    line = re.search(r"torch_program\.py:(\d+)\)$", reason)
                    self.assertIn(int(line[1]) if line else reason,
                                  range(first, first + len(lines)))

    def test_clips_later(self):
        for view in (False, True):
            results = run_ranks(train, clipping_later, {"gradient_as_bucket_view": view})
            self.assert_equal_to_ddp(results, is_crossed=False)
            for _, (_, most, _, reason) in results:
                self.assertGreater(most, 1)
                self.assertIn("before optimizer.step", reason)

    @unittest.skipUnless(hasattr(torch, "amp") and hasattr(torch.amp, "GradScaler"),
                         "this PyTorch has no GradScaler for the CPU")
    def test_grad_scaler(self):
        results = run_ranks(train, scaled)
        self.assert_equal_to_ddp(results, is_crossed=False)
        for _, (*_, reason) in results:
            self.assertIn("before optimizer.step", reason)

    def test_stored_gradients_that_change_are_seen_before_it_crosses(self):
        for view in (False, True):
            results = run_ranks(train, stored_gradients_changed, {"gradient_as_bucket_view": view})
            self.assert_equal_to_ddp(results, is_crossed=False)
            for _, (*_, reason) in results:
                self.assertIn("in place", reason)

    @unittest.skipUnless(hasattr(torch._C, "_storage_Use_Count"),
                         "this PyTorch does not tell who shares a tensor's memory")
    def test_kept_references_to_values_are_seen_before_it_crosses(self):
        results = run_ranks(train, kept_values)
        self.assert_equal_to_ddp(results, is_crossed=False)
        for _, (_, most, _, reason) in results:
            self.assertEqual(most, 0)
            self.assertIn("references", reason)

    def test_join(self):
        for divides_by_all in (True, False):
            for inputs in (0, 1, 3):
                with self.subTest(divides_by_all=divides_by_all, inputs=inputs):
                    results = run_ranks(train_with_join, divides_by_all, inputs)
                    self.assert_equal_to_ddp(results, is_crossed=False)

    def test_a_rank_that_is_killed_is_an_error(self):
        for order, within_backward in itertools.product(("fifo", "negotiated"), (False, True)):
            with self.subTest(order, within_backward=within_backward):
                error, _ = run_ranks(train_until_killed, order, within_backward,
                                     expect_exits={1: 3})
                self.assertRegex(error, "(?i)connection|peer|socket|read|timed out")

    def test_says_why_it_is_off(self):
        for change, reason in (("hook", "hook of its own"), ("optimizer", "LBFGS"),
                               ("one rank", "class of their own")):
            with self.subTest(change):
                for found in run_ranks(why_off, change):
                    self.assertIn(reason, found)


if __name__ == "__main__":
    unittest.main()
