"""The key of a model: its traits, its GPUs and its host."""

import json
import unittest

import torch
import torch.distributed as dist
from torch.distributed.algorithms.ddp_comm_hooks import default_hooks
from torch.distributed.optim import ZeroRedundancyOptimizer
from torch.nn.parallel import DistributedDataParallel
from torch_daemon import daemon, hocket
from torch_net import Net, make_sharded, one_step, optimizer_of
from torch_ranks import run_ranks

import hocket.torch as tuning
from hocket.torch import accelerators
from hocket.torch.traits import traits_of

PLAIN = {"optimizer": "AdamW", "gradients": "float32"}


def wrapped(**options):
    ddp = DistributedDataParallel(Net(), **options)
    return ddp, optimizer_of(ddp)


def traits_of_ddp(_):
    """Returns the traits of models that differ from the plain one in a thing each."""
    plain, optimizer = wrapped()
    found = {"plain": traits_of(plain, plain, optimizer)}
    found["sgd"] = traits_of(plain, plain, torch.optim.SGD(plain.parameters(), lr=1))
    zero = ZeroRedundancyOptimizer(plain.parameters(), torch.optim.Adam, lr=1e-3)
    found["zero"] = traits_of(plain, plain, zero)
    unused, optimizer = wrapped(find_unused_parameters=True)
    found["unused"] = traits_of(unused, unused, optimizer)
    hooked, optimizer = wrapped()
    hooked.register_comm_hook(None, default_hooks.fp16_compress_hook)
    found["hooked"] = traits_of(hooked, hooked, optimizer)
    half = DistributedDataParallel(Net().half())
    found["half"] = traits_of(half, half, optimizer_of(half))
    return found


def traits_of_compiled(_):
    plain, optimizer = wrapped()
    outside = torch.compile(plain)
    inside = DistributedDataParallel(torch.compile(Net()))
    return (traits_of(outside, plain, optimizer),
            traits_of(inside, inside, optimizer_of(inside)))


def traits_of_sharded(_):
    from torch.distributed.fsdp import MixedPrecisionPolicy, fully_shard
    plain, optimizer = make_sharded()
    mixed = Net()
    policy = MixedPrecisionPolicy(param_dtype=torch.bfloat16, reduce_dtype=torch.float16)
    for layer in mixed.layers:
        fully_shard(layer, mp_policy=policy)
    fully_shard(mixed, mp_policy=policy)
    return traits_of(plain, plain, optimizer), traits_of(mixed, mixed, optimizer_of(mixed))


def trained(rank, optimizer):
    """Returns the daemon's entry of a job while it trains."""
    ddp = DistributedDataParallel(Net())
    made = getattr(torch.optim, optimizer)(ddp.parameters(), lr=1e-3)
    job = tuning.tune(ddp, made, name="net")
    one_step(ddp, made, 0)
    entries = []
    while rank == 0 and not entries:  # it registers beside the training
        entries = json.loads(hocket("jobs", "--json"))["jobs"]
    dist.barrier()
    job.close()
    return entries


class TraitsTest(unittest.TestCase):
    def test_what_changes_the_best_setting_of_ddp(self):
        for found in run_ranks(traits_of_ddp):
            self.assertEqual(found["plain"], PLAIN)
            self.assertEqual(found["sgd"], PLAIN | {"optimizer": "SGD"})
            self.assertEqual(found["zero"],
                             PLAIN | {"optimizer": "ZeroRedundancyOptimizer(Adam)"})
            self.assertEqual(found["unused"], PLAIN | {"find_unused_parameters": "yes"})
            self.assertEqual(found["hooked"], PLAIN | {"gradients": "float16"})
            self.assertEqual(found["half"], PLAIN | {"gradients": "float16"})

    @unittest.skipUnless(hasattr(torch, "compile"), "PyTorch before 2.0 has no torch.compile")
    def test_a_compiled_model(self):
        for found in run_ranks(traits_of_compiled):
            self.assertEqual(found, (PLAIN | {"compiled": "yes"},) * 2)

    @unittest.skipUnless(tuple(map(int, torch.__version__.split(".")[:2])) >= (2, 6),
                         "PyTorch before 2.6 has no FSDP2")
    def test_a_sharded_model(self):
        for plain, mixed in run_ranks(traits_of_sharded):
            self.assertEqual(plain, PLAIN)
            self.assertEqual(mixed, PLAIN | {"gradients": "float16"})

    def test_gpus_that_compute_count_once(self):
        text = accelerators.accelerator_text
        self.assertEqual(text([None, None]), "")
        self.assertEqual(text([("a", "1", "H200"), ("a", "1", "H200")]), "H200")
        self.assertEqual(text([("a", "1", "H200"), ("a", "2", "H200"), ("b", "3", "A100")]),
                         "2 x H200")
        self.assertEqual(text([("a", "2", "H200"), ("a", "1", "A100")]), "A100, H200")
        self.assertEqual(text([None, ("a", "1", "H200")]), "")

    def test_a_model_on_cpus_has_no_gpu(self):
        self.assertIsNone(accelerators.accelerator_of(Net()))

    def test_jobs_of_two_kinds_have_keys_of_their_own_that_name_the_host(self):
        with daemon() as served:
            jobs = [run_ranks(trained, optimizer, environment=served.environment)[0][0]
                    for optimizer in ("AdamW", "SGD")]
        self.assertEqual([job["traits"] for job in jobs],
                         ["gradients float32, optimizer AdamW", "gradients float32, optimizer SGD"])
        self.assertNotEqual(jobs[0]["key"], jobs[1]["key"])
        for job in jobs:
            self.assertNotIn("unknown hardware", job["topology"])
            self.assertIn("cores", job["topology"])


if __name__ == "__main__":
    unittest.main()
