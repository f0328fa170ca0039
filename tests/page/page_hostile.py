"""Names and texts that nobody should give, as far as the daemon and the store take them: markup,
characters that turn the direction of text, and 10,000 letters without a blank."""

import json

from page_world import segment

MARKUP = '<script>window.hocketRan = 1; alert(1)</script><img src=x onerror="window.hocketRan = 1">'
TURNED = "\u202egnp.live\u2066 \u05d0\u05d1\u05d2 \u200f"
ENDLESS = "W" * 10_000
CONTROL = "bell\u0007 escape\u001b[31m newline\nnext"
HOSTILE = f"{MARKUP} {TURNED} {CONTROL} "
STUDY = "w" * 100  # a study's name has letters, digits and a few signs, so many at most


def add_study(world, name=STUDY):
    """A study over HTTP with some trials told, failed ones among them."""
    definition = {
        "format": "hocket-study", "version": 1, "trials": 12, "seed": 1, "skip": 0,
        "confirm_pairs": 2, "working_directory": MARKUP, "time_limit_ns": 10**9,
        "objective": "regex:<b>=([0-9]+)",
        "space": {"format": "hocket-space", "version": 1, "parameters": [
            {"name": "x", "type": "float", "low": 0, "high": 4, "log": False, "default": 1},
            {"name": "y", "type": "choice", "choices": [TURNED, MARKUP, ENDLESS],
             "default": TURNED}]}}
    world.send("POST", "/v1/studies", {
        "study": name, "definition": definition, "command": [MARKUP, TURNED, ENDLESS]})
    for number in range(8):
        asked = world.send("POST", f"/v1/studies/{segment(name)}/ask",
                           {"worker": HOSTILE[:200].replace("\n", " ")})
        failed = number % 4 == 3
        world.send("POST", f"/v1/studies/{segment(name)}/tell", {
            "trial": asked["trial"], "status": "failed" if failed else "complete",
            "message": HOSTILE + ENDLESS, "stdout": HOSTILE, "stderr": ENDLESS,
            **({} if failed else {"value": (asked["params"]["x"] - 2) ** 2 + 1.0})})


def add_job(world, identity="hostile-1"):
    """A job over HTTP, with a report; returns its key."""
    config = {"format": "hocket-schedule", "version": 1, "partition_bytes": 1048576}
    entered = world.send("POST", "/v1/jobs", {
        "id": identity, "name": HOSTILE + "W" * 3000, "host": HOSTILE + "W" * 3000,
        "topology": {"cpu_model": MARKUP, "sockets": 1, "numa_nodes": 1, "cores": 2,
                     "hardware_threads": 2, "memory_gib": 1, "link": TURNED + ENDLESS,
                     "world_size": 2, "library_versions": {MARKUP: TURNED}},
        "workload": {"name": HOSTILE + ENDLESS, "tensors": [{"name": MARKUP, "bytes": 1024}]},
        "config": config, "explore": 0.03, "knobs": ["partition_bytes", "credit_bytes"]})
    report_job(world, identity, 1)
    key = entered["key"]
    world.send("PUT", f"/v1/configs/{key}", {"config": config | {"credit_bytes": 8388608},
                                             "note": HOSTILE + "W" * 200})
    return key


def report_job(world, identity, step):
    world.send("POST", "/v1/reports", {
        "job": identity, "version": 0, "step": step, "iteration_ns": [20_000_000, 21_000_000],
        "note": HOSTILE + ENDLESS[:3000]})


def add_profile(world):
    """A profile whose records have hostile names, imported from a trace; returns its name."""
    events, now = [], 1000.0
    names = [MARKUP, TURNED, ENDLESS, "forward"]
    for step in range(4):
        for name in names:
            for tid, category in ((1, "compute"), (2, "communication")):
                arguments = {"lane": 0, "step": step, "bytes": 4096}
                if tid == 2:
                    arguments |= {"sequence": len(events), "collective": "all_reduce"}
                events.append({"ph": "X", "pid": 0, "tid": tid, "ts": now + 5 * tid, "dur": 12,
                               "cat": category, "name": name, "args": arguments})
            now += 20
        events.append({"ph": "i", "s": "p", "pid": 0, "tid": 0, "ts": now - 80, "cat": "step",
                       "name": f"step {step}", "args": {"step": step}})
    path = world.folder / "hostile.json"
    path.write_text(json.dumps({"traceEvents": events}))
    imported = world.hocket("profiles", "import", str(path), "--name", MARKUP, "--json")
    return json.loads(imported)["profile"]
