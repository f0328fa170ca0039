"""Knobs that hold before a model is wrapped or compiled: applied, refused, and searched by
`hocket tune --knobs`."""

import json
import os
import re
import subprocess
import sys
import tempfile
import unittest
from unittest import mock

import torch
from torch_autorun_test import AUTORUN, PACKAGES
from torch_daemon import PROGRAM

from hocket.torch import buckets, offline

IS_OLD = torch.__version__.startswith("1.")
CAP, OPTIMIZE = "HOCKET_TORCH_BUCKET_CAP_MB", "HOCKET_TORCH_OPTIMIZE_DDP"
REORDER, COLLECTIVES = "HOCKET_TORCH_REORDER_OVERLAP", "HOCKET_TORCH_BUCKET_COLLECTIVES_MB"

# Two ranks, of which the first prints with what it trains. Any cap but the program's own is better.
TRAINING = """
import os, sys
import torch, torch.distributed as dist
from torch.nn.parallel import DistributedDataParallel
child = os.fork()
rank = int(child == 0)
dist.init_process_group("gloo", init_method="file://" + sys.argv[1] + os.environ.get("HOCKET_TRIAL", ""),
                        rank=rank, world_size=2)
model = DistributedDataParallel(torch.nn.Linear(64, 64), bucket_cap_mb=5)
compiled = torch.compile(model, backend="aot_eager") if sys.argv[2] == "compiled" else model
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
for step in range(3):
    compiled(torch.ones(2, 64)).sum().backward()
    optimizer.step()
    optimizer.zero_grad()
if rank == 0:
    split = torch._dynamo.config.optimize_ddp if sys.argv[2] == "compiled" else None
    cap = model.bucket_bytes_cap >> 20
    print("cap", cap, "split", split)
    print("score=%d" % (1000 if cap == 5 else cap), flush=True)
sys.stdout.flush()
status = 0 if rank else os.waitpid(child, 0)[1]
os._exit(1 if status else 0)
"""

STEP = """
import torch
import sys
if sys.argv[1:] == ["own"]:
    import torch._inductor.config as config
    config.reorder_for_compute_comm_overlap = False
model = torch.nn.Linear(2, 2)
if sys.argv[1:] == ["configs"]:
    import torch._dynamo.config as dynamo, torch._inductor.config as inductor
    print(dynamo.optimize_ddp, inductor.reorder_for_compute_comm_overlap,
          inductor.bucket_all_gathers_fx, inductor.bucket_reduce_scatters_fx,
          inductor.bucket_all_gathers_fx_bucket_size_determinator(3))
    sys.exit()
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
model(torch.ones(1, 2)).sum().backward()
optimizer.step()
print("trained")
"""


def program(text, *arguments, **knobs):
    """Returns the exit status and what a program under these variables prints."""
    environment = os.environ | {"PYTHONPATH": f"{AUTORUN}:{PACKAGES}", "HOCKET_TORCH": "1"} | knobs
    done = subprocess.run([sys.executable, "-c", text, *arguments], env=environment, text=True,
                          stdout=subprocess.PIPE, stderr=subprocess.STDOUT, timeout=100)
    return done.returncode, done.stdout


# Two optimizers, the first of which does not step any more later.
STEPS = """
import sys, torch
model = torch.nn.Linear(2, 2)
first, second = (torch.optim.SGD(model.parameters(), lr=0.1) for _ in range(2))
for step in range(3):
    first.step()
    second.step()
for step in range(int(sys.argv[1])):
    second.step()
"""


class KnobsTest(unittest.TestCase):
    def refused(self, why, *arguments, text=STEP, **knobs):
        status, printed = program(text, *arguments, HOCKET_TRIAL="1", **knobs)
        self.assertEqual(status, 1, printed)
        self.assertIn(why, printed)
        self.assertNotIn("trained", printed)
        self.assertNotIn("Traceback", printed)

    def test_a_trial_with_a_value_that_is_out_of_range_ends(self):
        self.refused(f"{CAP}='0' is not applied: expected a whole number of MiB from 1 to 1024",
                     **{CAP: "0"})
        self.refused(f"{OPTIMIZE}='maybe' is not applied: expected on or off",
                     **{OPTIMIZE: "maybe"})

    def test_a_trial_in_which_a_knob_has_no_effect_ends(self):
        self.refused("no model is wrapped by DistributedDataParallel", **{CAP: "4"})
        self.refused("nothing is compiled by torch.compile", **{OPTIMIZE: "off"})

    def test_any_other_job_trains_as_it_would(self):
        status, printed = program(STEP, **{CAP: "4"})
        self.assertEqual(status, 0, printed)
        self.assertIn("no model is wrapped", printed)
        self.assertIn("trained", printed)

    @unittest.skipIf(IS_OLD, "torch.compile is newer")
    def test_configurations_have_the_values(self):
        status, printed = program(STEP, "configs", **{OPTIMIZE: "off", REORDER: "on",
                                                      COLLECTIVES: "32"})
        self.assertEqual((status, printed), (0, "False True all all 32\n"))
        self.refused("the program sets torch._inductor.config.reorder_for_compute_comm_overlap",
                     "own", **{REORDER: "on"})

    def test_what_this_version_does_not_have_is_refused(self):
        self.refused("this PyTorch has no torch._inductor.config.reorder_for_compute_comm_overlap",
                     text="import sys, types\n"
                          f"sys.path.insert(0, {AUTORUN!r})\n"
                          "import hocket_knobs\n"
                          "hocket_knobs.configure(types.ModuleType('torch._inductor.config'))\n"
                          "print('trained')", **{REORDER: "on"})

    def test_a_trial_prints_its_iterations(self):
        def printed(more, **variables):
            status, text = program(STEPS, str(more), **variables)
            self.assertEqual(status, 0, text)
            return re.findall(r"(?m)^hocket: iteration_ms=[0-9.]+$", text)
        trial = {"HOCKET_TRIAL": "1", "HOCKET_TORCH_QUIET": "1"}
        self.assertEqual(len(printed(0, **trial)), 2)
        # Two steps show that the second optimizer has taken the first one's place.
        self.assertEqual(len(printed(5, **trial)), 2 + 4)
        self.assertEqual(len(printed(3, RANK="1", **trial)), 0)
        self.assertEqual(len(printed(3)), 0)

    def test_the_command_that_searches_offline(self):
        ranks = {"LOCAL_WORLD_SIZE": "2", "WORLD_SIZE": "2", "TORCHELASTIC_RUN_ID": "none"}
        known = ("hocket tune --knobs torch:ddp -- hocket torch -- torchrun --nproc-per-node 2 "
                 "train.py --name 'a b'")
        unknown = "hocket tune --knobs torch:ddp -- hocket torch -- COMMAND…"
        self.assertIn("hocket tune --knobs torch:ddp --knobs torch:compile -- hocket torch -- ",
                      buckets.COMPILED)
        for variables, words, expected in (
                (ranks, ["train.py", "--name", "a b"], known), (ranks, ["-c"], unknown),
                (ranks | {"WORLD_SIZE": "4"}, ["train.py"], unknown), ({}, ["train.py"], unknown),
                (ranks | {"ACCELERATE_MIXED_PRECISION": "no"}, ["train.py"], unknown),
                ({"LOCAL_WORLD_SIZE": "2", "WORLD_SIZE": "2"}, ["train.py"], unknown),
                (ranks, ["train.py", "\x1b[2J"], unknown),
                (ranks, ["train.py", "x" * 400], unknown)):
            with mock.patch.dict(os.environ, variables), mock.patch.object(sys, "argv", words):
                self.assertEqual(offline.sweep("torch:ddp"), expected)

    def study(self, way, *knobs):
        """Returns of each trial of a search its values and what its first rank printed, and what a
        later job prints with the best setting."""
        with tempfile.TemporaryDirectory() as folder:
            script = os.path.join(folder, "train.py")
            with open(script, "w") as file:
                file.write(TRAINING)
            store = os.path.join(folder, "store.db")
            environment = os.environ | {"HOCKET_STORE": store, "HOCKET_DAEMON": "",
                                        "HOCKET_PYTHON": PACKAGES}
            command = [PROGRAM, "tune", "--study", "sweep", "--trials", "3", "--all-trials",
                       "--full-trials", "--confirm", "2", "--objective", "regex:score=([0-9]+)",
                       "--method", "random", *knobs, "--"]
            job = [PROGRAM, "torch", "--", sys.executable, script, os.path.join(folder, "meeting"),
                   way]
            done = subprocess.run(command + job, env=environment, text=True, stdout=subprocess.PIPE,
                                  stderr=subprocess.STDOUT, timeout=200)
            self.assertEqual(done.returncode, 0, done.stdout)
            self.assertIn("run with it: hocket with -- ", done.stdout)
            trials = json.loads(subprocess.check_output([PROGRAM, "trials", "sweep", "--json"],
                                                        env=environment))
            found = []
            for trial in trials["trials"]:
                log = subprocess.check_output([PROGRAM, "trials", "sweep", "--log",
                                               str(trial["number"])], env=environment, text=True)
                found.append((trial["params"], log))
            return found, subprocess.check_output([PROGRAM, "with", "--", *job], env=environment,
                                                  stderr=subprocess.STDOUT, text=True)

    def test_each_trial_of_a_search_runs_with_the_values_that_it_names(self):
        way, sets = ("plain", ["--knobs", "torch:ddp"]) if IS_OLD else (
            "compiled", ["--knobs", "torch:ddp", "--param", f"{OPTIMIZE}=unset,off"])
        caps = set()
        trials, later = self.study(way, *sets)
        for values, log in trials:
            cap, split = re.search(r"^cap (\d+) split (\w+)$", log, re.M).groups()
            given = values[CAP]
            self.assertEqual(cap, "5" if given == "unset" else given, log)
            self.assertEqual(split, "None" if IS_OLD else str(values[OPTIMIZE] != "off"), log)
            caps.add(given)
            if given != "unset":
                self.assertIn(f"{CAP}={given}", log)
        best = min(int(cap) for cap in caps if cap != "unset")
        self.assertRegex(later, rf"(?m)^cap {best} split ")
        self.assertIn(f"{CAP}={best}: in force; nothing is tuned while the job trains",
                      re.sub(f", {OPTIMIZE}=off", "", later))


if __name__ == "__main__":
    unittest.main()
