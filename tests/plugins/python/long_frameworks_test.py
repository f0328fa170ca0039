"""Frameworks over PyTorch: the smallest jobs of each, in frameworks/, on two ranks, without hocket
and under `hocket torch` with a daemon. Both end with the same parameters, to the bit, and rank 0
says that the model is tuned, or why not.
"""

import contextlib
import importlib.util
import os
import re
import signal
import subprocess
import sys
import tempfile
import unittest
from typing import NamedTuple

from torch_daemon import PROGRAM, daemon

PROGRAMS = os.path.join(os.path.dirname(os.path.abspath(__file__)), "frameworks")
TOOLS = os.path.dirname(sys.executable)
LONGEST_S, LONGEST_END_S = 600, 60
# A job that had no time to try a setting is repeated with more steps.
STEPS = (80, 240, 720)

PYTHON = (sys.executable,)
TORCHRUN = (os.path.join(TOOLS, "torchrun"), "--standalone", "--nproc-per-node", "2")
ACCELERATE = (os.path.join(TOOLS, "accelerate"), "launch", "--multi_gpu", "--num_processes", "2",
              "--num_machines", "1", "--mixed_precision", "no", "--dynamo_backend", "no",
              "--main_process_port", "0")

TUNED = ": tuned while it trains, beginning with "
BUCKETS = TUNED + "bucket_cap_bytes 16 MiB"
CROSSED = (TUNED + "bucket_cap_bytes 1 MiB, crossing on, partition_bytes 512 KiB, "
           "credit_bytes 1 MiB")
FSDP1 = TUNED + "forward_prefetch off, backward_prefetch none"
FSDP2 = TUNED + "forward_prefetch 0, backward_prefetch 0, reshard_after_forward on"
CLIPPED = ("not crossing the barrier between iterations: gradients are changed in place before "
           "optimizer.step(), as by gradient clipping (")
COMPILED = ": tuned no longer: it is compiled together with DistributedDataParallel"
# Other lines of a job. Those of steps also show what is tried where the log has INFO, as torchtitan's.
BESIDES = re.compile(r"hocket: \S+: (settled on |nothing was tried|step \d+: )")
TRIED = re.compile(r"tried [1-9]")


NEEDS_TRITON = unittest.skipUnless(importlib.util.find_spec("triton"), "torchtitan imports Triton, "
                                   "which `scripts/setup frameworks` installs")


class Job(NamedTuple):
    launcher: tuple
    program: str
    kind: str
    says: tuple  # parts of lines, each in one line of rank 0's, in this order
    options: tuple = ()  # of `hocket torch`
    is_tuned: bool = True


def run(command, environment):
    """Returns the exit status and the output of a command; its last part, where it hangs."""
    with tempfile.TemporaryFile("w+") as output:
        # Not a pipe, which the ranks of a launcher that is killed would keep open.
        process = subprocess.Popen(command, env=environment, stdout=output,
                                   stderr=subprocess.STDOUT, start_new_session=True)
        status = None
        try:
            status = process.wait(LONGEST_S)
        except subprocess.TimeoutExpired:
            with contextlib.suppress(subprocess.TimeoutExpired):
                os.killpg(process.pid, signal.SIGTERM)  # torchrun then ends its ranks
                process.wait(LONGEST_END_S)
        finally:
            if process.poll() is None:
                os.killpg(process.pid, signal.SIGKILL)
                process.wait()
        output.seek(0)
        return status, output.read()


class FrameworksTest(unittest.TestCase):
    def finish(self, job, environment, steps, before=()):
        """Returns the digest of the parameters, equal on both ranks, and what hocket says."""
        variables = os.environ | environment | {
            "FRAMEWORKS_STEPS": str(steps), "HF_HUB_OFFLINE": "1", "OMP_NUM_THREADS": "1",
            "GLOO_SOCKET_IFNAME": "lo"}
        status, output = run([*before, *job.launcher, os.path.join(PROGRAMS, job.program), job.kind],
                             variables)
        self.assertEqual(status, 0, f"ended with {status} (None: hung)\n{output[-20000:]}")
        self.assertNotIn("Traceback", output)
        digests = re.findall(r"^digest ([01]) (\w+)$", output, re.MULTILINE)
        self.assertEqual(sorted(rank for rank, _ in digests), ["0", "1"], output[-20000:])
        self.assertEqual(digests[0][1], digests[1][1])
        return digests[0][1], re.findall(r"hocket: .*", output)

    def check(self, job):
        for steps in STEPS:
            plain, silence = self.finish(job, {"HOCKET_TORCH": "off"}, steps)
            self.assertEqual(silence, [])
            with daemon() as served:
                digest, lines = self.finish(job, served.environment, steps, (
                    PROGRAM, "torch", "--explore", "50%", *job.options, "--"))
            said = "\n".join(lines)
            self.assertEqual(digest, plain, said)
            own = [line for line in lines if not BESIDES.match(line)]
            self.assertEqual(len(own), len(job.says), said)
            for line, part in zip(own, job.says):
                self.assertIn(part, line)
            if not job.is_tuned or TRIED.search(lines[-1]):
                return
        self.fail(f"no setting was tried in {steps} steps\n{said}")

    def test_accelerate_with_ddp(self):
        self.check(Job(ACCELERATE, "accelerate_loop.py", "ddp", (BUCKETS,)))

    def test_accelerate_with_ddp_that_crosses_iterations(self):
        self.check(Job(ACCELERATE, "accelerate_loop.py", "ddp", (CROSSED,), ("--schedule",)))

    def test_accelerate_which_compiles_ddp(self):
        self.check(Job(ACCELERATE, "accelerate_loop.py", "compiled", (COMPILED,), is_tuned=False))

    def test_accelerate_with_the_first_fsdp(self):
        self.check(Job(ACCELERATE, "accelerate_loop.py", "fsdp1", (FSDP1,)))

    def test_accelerate_with_fully_shard(self):
        self.check(Job(ACCELERATE, "accelerate_loop.py", "fsdp2", (FSDP2,)))

    def test_transformers_with_ddp(self):
        self.check(Job(TORCHRUN, "hf_trainer.py", "ddp", (BUCKETS,)))

    def test_transformers_with_ddp_that_would_cross_iterations(self):
        self.check(Job(TORCHRUN, "hf_trainer.py", "ddp", (CROSSED, CLIPPED, BUCKETS),
                       ("--schedule",)))

    def test_transformers_with_the_first_fsdp(self):
        self.check(Job(TORCHRUN, "hf_trainer.py", "fsdp1", (FSDP1,)))

    def test_transformers_with_fully_shard(self):
        self.check(Job(TORCHRUN, "hf_trainer.py", "fsdp2", (FSDP2,)))

    # Lightning's strategy `fsdp`, for the first FSDP, refuses processors.

    def test_lightning_with_ddp(self):
        self.check(Job(PYTHON, "lightning_trainer.py", "ddp", (BUCKETS,)))

    def test_lightning_with_ddp_that_would_cross_iterations(self):
        self.check(Job(PYTHON, "lightning_trainer.py", "ddp", (CROSSED, CLIPPED, BUCKETS),
                       ("--schedule",)))

    def test_lightning_with_fully_shard(self):
        self.check(Job(PYTHON, "lightning_trainer.py", "fsdp2", (FSDP2,)))

    # torchtitan replicates by fully_shard as well, and has no DistributedDataParallel.

    @NEEDS_TRITON
    def test_torchtitan_with_fully_shard(self):
        self.check(Job(TORCHRUN, "torchtitan_llama.py", "fsdp2", (FSDP2,)))

    @NEEDS_TRITON
    def test_torchtitan_with_replicas(self):
        self.check(Job(TORCHRUN, "torchtitan_llama.py", "replicas", (FSDP2,)))


if __name__ == "__main__":
    unittest.main()
