"""The hardware of this host as a part of a job's key: settings found on another kind are not taken.

The values are those of `hocket topology`, so that `hocket fetch` on such a host finds the key.
"""

import ctypes
import json

from hocket import library

_UNKNOWN = {"cpu_model": "", "sockets": 0, "numa_nodes": 0, "cores": 0, "hardware_threads": 0,
            "memory_gib": 0}


def _host():
    """Returns what the library says of this host: what its control group may use."""
    try:
        said = library.function("hocket_client_host", ctypes.c_char_p)()
    except AttributeError:
        return _UNKNOWN  # an older library does not say it
    return json.loads(said) if said else _UNKNOWN


def topology(world_size, link, accelerator="", ranks_per_host=0):
    """Returns the topology of a job (docs/formats/report.md), as hocket.Client takes it.

    `accelerator`: "" where CPUs compute.
    """
    return {**_host(), "link": link, "world_size": world_size, "accelerator": accelerator,
            "ranks_per_host": ranks_per_host, "library_versions": {}}
