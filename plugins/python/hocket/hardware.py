"""The hardware of this host as a part of a job's key: settings found on another kind are not taken.

The values are those of `hocket topology`, so that `hocket fetch` on such a host finds the key.
"""

import os
import re

_CPUSET = "/sys/fs/cgroup/cpuset.cpus.effective"
_NODES = "/sys/devices/system/node"
_UNKNOWN_CPU = "unknown CPU"


def _text(path):
    try:
        with open(path, encoding="utf-8", errors="replace") as file:
            return file.read()
    except OSError:
        return ""


def _processors(text):
    """Returns the fields of each processor in /proc/cpuinfo, by its number."""
    found = {}
    for part in text.split("\n\n"):
        fields = dict(re.findall(r"^([^\t:\n]+?)[ \t]*:[ \t]*(.*?)[ \t]*$", part, re.MULTILINE))
        if fields.get("processor", "").isdigit():
            found[int(fields["processor"])] = fields
    return found


def _listed(text):
    """Returns the numbers of a list such as "0-3,8"."""
    numbers = set()
    for first, last in re.findall(r"(\d+)(?:-(\d+))?", text):
        numbers.update(range(int(first), int(last or first) + 1))
    return numbers


def _nodes(allowed, read, names):
    """Returns how many NUMA nodes have one of the processors; at least 1."""
    lists = [read(f"{_NODES}/{name}/cpulist") for name in names if re.fullmatch(r"node\d+", name)]
    return max(1, sum(bool(_listed(text) & allowed) for text in lists))


def topology(world_size, link, accelerator="", ranks_per_host=0, read=_text, nodes=None):
    """Returns the topology of a job (docs/formats/report.md), as hocket.Client takes it.

    Counts what this process's control group may use. `accelerator`: "" where CPUs compute.
    """
    processors = _processors(read("/proc/cpuinfo"))
    allowed = _listed(read(_CPUSET)) & set(processors) or set(processors)
    used = [processors[number] for number in sorted(allowed)]
    cores = {(each.get("physical id"), each["core id"]) for each in used if "core id" in each}
    if nodes is None:
        nodes = os.listdir(_NODES) if os.path.isdir(_NODES) else []
    memory = os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")
    return {
        "cpu_model": used[0].get("model name", _UNKNOWN_CPU) if used else _UNKNOWN_CPU,
        "sockets": len({each.get("physical id") for each in used}) or 1,
        "numa_nodes": _nodes(allowed, read, nodes),
        "cores": len(cores) or len(used) or os.cpu_count() or 0,
        "hardware_threads": len(used) or os.cpu_count() or 0,
        "memory_gib": int(memory / (1 << 30) + 0.5),
        "link": link, "world_size": world_size, "accelerator": accelerator,
        "ranks_per_host": ranks_per_host, "library_versions": {}}
