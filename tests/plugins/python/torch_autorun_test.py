"""Programs that do not call hocket, started as `hocket torch` starts them."""

import os
import shutil
import subprocess
import sys
import tempfile
import unittest

import torch
from torch_daemon import daemon

HERE = os.path.dirname(os.path.abspath(__file__))
PACKAGES = next(path for path in sys.path
                if os.path.exists(os.path.join(path, "hocket", "torch", "__init__.py")))
AUTORUN = os.path.join(PACKAGES, "hocket", "torch", "autorun")

PROGRAM = """
import logging, os, sys
logging.basicConfig(level=logging.INFO, stream=sys.stdout, format="%(name)s %(message)s")
import torch, torch.distributed as dist
dist.init_process_group("gloo", init_method="file://" + sys.argv[1], rank=int(sys.argv[2]),
                        world_size=2)
sys.path.append(os.environ["TESTS"])
from torch_net import make, one_step
if sys.argv[3] == "fsdp1":
    from torch_net import make_fsdp1 as make
elif sys.argv[3] != "ddp":
    from torch_net import make_sharded
    make = lambda: make_sharded(module=sys.argv[3])
pairs = [make(), make(1)] if sys.argv[3] == "ddp" else [make()]
scheduler = torch.optim.lr_scheduler.StepLR(pairs[0][1], 3)
for step in range(8):
    for model, optimizer in reversed(pairs):
        print("loss", one_step(model, optimizer, step).hex())
    scheduler.step()
print("tuned", sum(type(hook).__name__ == "Watch" for model, _ in pairs
                   for part in model.modules() for hook in part._forward_pre_hooks.values()))
dist.destroy_process_group()
"""


# Ranks that do not all do the same: "subgroup", of which the last only takes part in a barrier;
# "zero", where a shard is empty; "byhand", where the last rank updates its model without an
# optimizer.
UNEVEN = """
import logging, os, sys
logging.basicConfig(level=logging.INFO, stream=sys.stdout, format="%(name)s %(message)s")
import torch, torch.distributed as dist
from torch.distributed.optim import ZeroRedundancyOptimizer
from torch.nn.parallel import DistributedDataParallel
kind, rank, count = sys.argv[3], int(sys.argv[2]), 3 if sys.argv[3] == "subgroup" else 2
dist.init_process_group("gloo", init_method="file://" + sys.argv[1], rank=rank, world_size=count)
torch.manual_seed(0)
group = dist.new_group([1, 2]) if kind == "subgroup" else None
if kind != "subgroup" or rank > 0:
    model = DistributedDataParallel(torch.nn.Linear(512, 512, bias=False), process_group=group)
    optimizer = None
    if kind == "zero":
        optimizer = ZeroRedundancyOptimizer(model.parameters(), torch.optim.AdamW, lr=0.01)
    elif kind == "subgroup" or rank == 0:
        optimizer = torch.optim.SGD(model.parameters(), 0.01)
    generator = torch.Generator().manual_seed(rank)
    for step in range(8):
        loss = model(torch.randn(4, 512, generator=generator)).square().mean()
        loss.backward()
        print("loss", loss.item().hex())
        if optimizer:
            optimizer.step()
        else:
            with torch.no_grad():
                for parameter in model.parameters():
                    parameter -= 0.01 * parameter.grad
        model.zero_grad()
    print("tuned", sum(type(hook).__name__ == "Watch" for part in model.modules()
                       for hook in part._forward_pre_hooks.values()))
dist.barrier()
print("done")
dist.destroy_process_group()
"""


def python(*arguments, environment=None, path=(AUTORUN, PACKAGES)):
    variables = os.environ | {"PYTHONPATH": ":".join(path), "HOCKET_TORCH": "1", "TESTS": HERE}
    done = subprocess.run([sys.executable, *arguments], env=variables | (environment or {}),
                          stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, timeout=100)
    if done.returncode != 0:
        raise RuntimeError(done.stdout + done.stderr)
    return done.stdout


# Starts the ranks of a program with one import of PyTorch, which takes seconds; what a rank prints
# goes into a file of its own. A rank that does not end by itself says there where it is, and ends
# before the test's patience does.
RANKS = """
import faulthandler, os, sys, torch, torch.distributed
if not torch.__version__.startswith("1."):
    import torch._dynamo
folder, count, kind, program = sys.argv[1:]
children = []
for rank in range(int(count)):
    child = os.fork()
    if child == 0:
        printed = os.open(os.path.join(folder, str(rank)), os.O_CREAT | os.O_WRONLY)
        os.dup2(printed, 1)
        os.dup2(printed, 2)
        faulthandler.dump_traceback_later(80, exit=True)
        sys.argv = ["-c", os.path.join(folder, "meeting"), str(rank), kind]
        exec(program, {"__name__": "__main__"})
        sys.exit()
    children.append(child)
for child in children:
    os.waitpid(child, 0)
"""


def train(kind, environment, program=PROGRAM, count=2):
    """Returns what the ranks print."""
    variables = os.environ | {"PYTHONPATH": f"{AUTORUN}:{PACKAGES}", "HOCKET_TORCH": "1",
                              "TESTS": HERE} | environment
    with tempfile.TemporaryDirectory() as folder:
        subprocess.run([sys.executable, "-c", RANKS, folder, str(count), kind, program],
                       env=variables, timeout=100, check=True)
        printed = []
        for rank in range(count):
            with open(os.path.join(folder, str(rank)), encoding="utf-8") as file:
                printed.append(file.read())
        return printed


def losses(printed):
    return [line for line in printed.splitlines() if line.startswith("loss")]


class AutorunTest(unittest.TestCase):
    def compare(self, kind, models):
        with daemon() as served:
            tuned = train(kind, served.environment)
            plain = train(kind, served.environment | {"HOCKET_TORCH": "off"})
        for printed, expected in zip(tuned, plain):
            self.assertIn(f"tuned {models}\n", printed)
            self.assertNotIn("left alone", printed)  # nor is a part of them tried
            self.assertIn("tuned 0\n", expected)
            self.assertEqual(losses(printed), losses(expected))
            self.assertEqual(len(losses(printed)), 8 * models)

    def test_a_program_whose_errors_nobody_reads_imports_what_cannot_be_tuned(self):
        with tempfile.TemporaryDirectory() as folder:
            # A PyTorch without what hocket watches.
            os.makedirs(os.path.join(folder, "torch", "optim"))
            for module in ("__init__", "optim/__init__", "optim/optimizer"):
                with open(os.path.join(folder, "torch", module + ".py"), "w"):
                    pass
            reader, writer = os.pipe()
            os.close(reader)
            variables = os.environ | {"PYTHONPATH": f"{AUTORUN}:{folder}", "HOCKET_TORCH": "1"}
            program = [sys.executable, "-c", "import torch.optim.optimizer; print('trained')"]
            done = subprocess.run(program, env=variables, stdout=subprocess.PIPE, stderr=writer,
                                  text=True, timeout=100)
            os.close(writer)
        self.assertEqual((done.returncode, done.stdout), (0, "trained\n"))

    def test_models_are_tuned_from_their_first_step_on(self):
        self.compare("ddp", 2)

    @unittest.skipIf(torch.__version__.startswith("1."), "torch.compile is newer")
    def test_a_model_that_is_compiled_after_it_is_wrapped_is_not_said_to_be_tuned(self):
        program = PROGRAM.replace("scheduler =", """pairs = [
    (torch.compile(model, backend="eager"), optimizer) for model, optimizer in pairs[:1]]
scheduler =""")
        with daemon() as served:
            compiled = train("ddp", served.environment, program)
        for printed in compiled:
            self.assertEqual(len(losses(printed)), 8)
            said = [line for line in printed.splitlines() if ": tuned " in line]
            self.assertEqual(len(said), 1, said)
            self.assertIn("tuned no longer: it is compiled together with", said[0])

    @unittest.skipIf(torch.__version__.startswith("1."), "FSDP2 is newer")
    def test_sharded_models_too(self):
        self.compare("torch.distributed._composable.fsdp", 1)

    @unittest.skipIf(torch.__version__.startswith("1."), "FSDP2 is newer")
    def test_sharding_is_seen_wherever_it_is_imported_from(self):
        printed = python("-c", "import importlib\nfor name in ('_composable.fsdp', 'fsdp._fully_shard',"
                         " 'fsdp._fully_shard._fully_shard', 'fsdp'):\n"
                         "  its = importlib.import_module('torch.distributed.' + name).fully_shard\n"
                         "  print(its.__code__.co_filename.endswith('hocket_autorun.py'))")
        self.assertEqual(printed, "True\n" * 4)

    @unittest.skipIf(torch.__version__.startswith("1."), "gloo has no reduce-scatter there")
    def test_models_of_the_first_fsdp_too(self):
        self.compare("fsdp1", 1)

    def compare_uneven(self, kind, count, tuned_ranks, environment=None):
        with daemon() as served:
            variables = served.environment | (environment or {})
            tuned = train(kind, variables, UNEVEN, count)
            plain = train(kind, variables | {"HOCKET_TORCH": "off"}, UNEVEN, count)
        for rank, (printed, expected) in enumerate(zip(tuned, plain)):
            self.assertIn("\ndone\n", "\n" + printed)
            self.assertEqual(losses(printed), losses(expected))
            if losses(printed):
                self.assertIn(f"tuned {int(rank in tuned_ranks)}\n", printed)
        return tuned

    def test_a_group_of_some_ranks_is_tuned_within_it(self):
        self.compare_uneven("subgroup", 3, [1, 2])

    def test_a_rank_whose_shard_is_empty_takes_part(self):
        self.compare_uneven("zero", 2, [0, 1])

    def test_a_rank_that_never_comes_is_waited_for_once(self):
        printed = self.compare_uneven("byhand", 2, [], {"HOCKET_TORCH_MEETING_S": "0.2"})
        said = [line for line in "".join(printed).splitlines() if "hocket" in line]
        self.assertEqual(len(said), 1, said)
        self.assertIn("left alone: not all of its 2 ranks began within 0.2 s; missing: 1", said[0])

    def test_what_is_tuned_is_said_where_nobody_asked_for_a_log(self):
        # As many steps as the daemon needs for its answer, and more.
        plain = UNEVEN.replace("logging.basicConfig(", "(lambda **_: None)(").replace(
            "range(8)", "range(400)")

        def said(environment):
            printed = "".join(train("zero", environment, plain))
            return [line for line in printed.splitlines() if line.startswith("hocket: ")]
        with daemon() as served:
            tuned, quiet = (said(served.environment | more)
                            for more in ({}, {"HOCKET_TORCH_QUIET": "1"}))
        # Rank 0 alone says them, beside settings that are kept.
        self.assertEqual(sum(": kept " not in line or "settled" in line for line in tuned), 2, tuned)
        self.assertEqual(tuned[0], "hocket: Linear-262.1k: tuned while it trains, beginning with "
                                   "bucket_cap_bytes 1 MiB (the model fits; DDP's own cap is "
                                   "25 MiB)")
        self.assertRegex(tuned[-1], "^hocket: Linear-262.1k: (settled on |nothing was tried)")
        self.assertEqual(quiet, [])
        untuned = said({"HOCKET_DAEMON": ""})
        self.assertEqual(untuned, ["hocket: Linear-262.1k: not tuned: no daemon is named in "
                                   "HOCKET_DAEMON (`hocket serve` starts one); it trains with "
                                   "bucket_cap_bytes 1 MiB (the model fits; DDP's own cap is "
                                   "25 MiB)"])

    def test_the_package_of_this_folder_is_found_and_nothing_beside_it(self):
        program = "import hocket; print(hocket.__file__); import beside"
        with tempfile.TemporaryDirectory() as folder:
            copy = os.path.join(folder, "hocket")
            shutil.copytree(os.path.join(PACKAGES, "hocket"), copy)
            with open(os.path.join(folder, "beside.py"), "w"):
                pass
            variables = os.environ | {"PYTHONPATH": os.path.join(copy, "torch", "autorun"),
                                      "HOCKET_TORCH": "1"}
            done = subprocess.run([sys.executable, "-c", program], env=variables, cwd="/",
                                  capture_output=True, text=True, timeout=100)
            self.assertEqual(done.stdout, os.path.join(copy, "__init__.py") + "\n")
        self.assertIn("No module named 'beside'", done.stderr)

    def test_a_process_without_pytorch_imports_nothing_more(self):
        printed = python("-c", "import sys; print([name for name in sys.modules"
                               " if 'hocket' in name or name == 'torch'])")
        self.assertEqual(printed, "[]\n")

    def test_a_shadowed_sitecustomize_runs(self):
        with tempfile.TemporaryDirectory() as folder:
            with open(os.path.join(folder, "sitecustomize.py"), "w", encoding="utf-8") as file:
                file.write("print('the shadowed one', __name__)\n")
            for environment in ({}, {"HOCKET_TORCH": "off"}):
                printed = python("-c", "import sitecustomize; print(sitecustomize.__file__)",
                                 environment=environment, path=(AUTORUN, PACKAGES, folder))
                self.assertEqual(printed, "the shadowed one sitecustomize\n"
                                          f"{folder}/sitecustomize.py\n")

    def test_pytorch_is_imported_as_without_hocket(self):
        program = ("import inspect, torch.nn.parallel.distributed as d, torch.optim.optimizer as o;"
                   "print(type(d.__loader__).__name__, type(o.__spec__.loader).__name__,"
                   "      'bucket_cap_mb' in inspect.signature(d.DistributedDataParallel).parameters,"
                   "      'defaults' in inspect.signature(o.Optimizer).parameters)")
        self.assertEqual(python("-c", program), "SourceFileLoader SourceFileLoader True True\n")


if __name__ == "__main__":
    unittest.main()
