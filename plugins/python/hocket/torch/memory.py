"""Memory that a setting may still take on a device."""

import re

import torch


def available_bytes(device, ranks_on_host):
    """Returns a rank's share of what is free on its device; None where that is not known."""
    if device.type == "cuda":
        free, _ = torch.cuda.mem_get_info(device)
        # Reserved by PyTorch for itself, and not in use.
        return free + torch.cuda.memory_reserved(device) - torch.cuda.memory_allocated(device)
    if device.type != "cpu":
        return None
    try:
        with open("/proc/meminfo", encoding="ascii") as file:
            found = re.search(r"MemAvailable:\s+(\d+) kB", file.read())
    except OSError:
        return None
    return int(found[1]) * 1024 // ranks_on_host if found else None


def objection(needed_bytes, device, ranks_on_host, available=available_bytes):
    """Returns why there is no memory for it; None if there is, or if that is not known."""
    free = available(device, ranks_on_host)
    if free is None or needed_bytes <= free:
        return None
    return f"needs {needed_bytes >> 20} MiB of memory, and {free >> 20} MiB are free"
