"""NCCL as this process has loaded it, and hocket's plugin for it: which files, which versions of the
plugins' interfaces, and whether NCCL has taken the plugin. Opens nothing unless it says so.
"""

import ctypes
import glob
import mmap
import os
import re
import sys

PLUGIN = "libnccl-tuner-hocket.so"
NAME = "libnccl.so.2"
_TABLES = {"tuner": "ncclTunerPlugin_v", "profiler": "ncclProfiler_v"}
_MOST_INTERFACES = 64
# NVIDIA's packages for Python have it there, below site-packages.
_PACKAGED = os.path.join("nvidia", "nccl", "lib", NAME)


def mapped(name):
    """Returns the file with this name, or with a longer version in it, that the process has mapped;
    "" without one."""
    try:
        with open("/proc/self/maps", encoding="utf-8", errors="replace") as maps:
            files = [line.split(maxsplit=5)[5].rstrip("\n") for line in maps
                     if line.count("/") and len(line.split(maxsplit=5)) == 6]
    except OSError:
        return ""
    return next((file for file in files if os.path.basename(file).startswith(name)), "")


def _opened(file):
    """Returns the library if the process has it open, else None."""
    try:
        return ctypes.CDLL(file, mode=os.RTLD_LAZY | os.RTLD_NOLOAD)
    except OSError:
        return None


def open_library():
    """Opens the NCCL that a job of this Python would use: the one that is open, or that the loader
    finds, or that an environment of Python has. Returns its file; "" without one."""
    if not mapped(NAME):
        for file in [NAME, *(os.path.join(path, _PACKAGED) for path in sys.path)]:
            if file != NAME and not os.path.exists(file):
                continue
            try:
                ctypes.CDLL(file)
                break
            except OSError:
                continue
    return mapped(NAME)


def version_of(file):
    """Returns the version of an open NCCL, such as "2.28.9"; "" where it does not say one."""
    library, number = _opened(file), ctypes.c_int()
    try:
        if library is None or library.ncclGetVersion(ctypes.byref(number)) != 0:
            return ""
    except AttributeError:
        return ""
    value = number.value
    return f"{value // 10000}.{value // 100 % 100}.{value % 100}" if value >= 10000 else ""


def asked_interfaces(file, kind):
    """Returns the versions of an interface, "tuner" or "profiler", that this NCCL looks for in a
    plugin, newest first: the names are in its file."""
    pattern = re.compile(rb"(?<=\0)" + _TABLES[kind].encode() + rb"(\d{1,2})(?=\0)")
    try:
        with open(file, "rb") as opened, mmap.mmap(opened.fileno(), 0, prot=mmap.PROT_READ) as text:
            found = {int(number) for number in pattern.findall(text)}
    except (OSError, ValueError):
        return []
    return sorted(found, reverse=True)


def offered_interfaces(plugin, kind):
    """Returns the versions of an interface that an open library has, newest first."""
    return [number for number in range(_MOST_INTERFACES, 0, -1)
            if hasattr(plugin, f"{_TABLES[kind]}{number}")]


def is_configured(environment):
    """Returns whether NCCL is to load hocket's plugin, as its variables say."""
    value = environment("NCCL_TUNER_PLUGIN") or ""
    return value == "hocket" or os.path.basename(value) == PLUGIN


def environment(name):
    """Returns a variable as the process has it now: NCCL adds those of its files when it starts, of
    which os.environ knows nothing."""
    getenv = ctypes.CDLL(None).getenv
    getenv.restype, getenv.argtypes = ctypes.c_char_p, [ctypes.c_char_p]
    value = getenv(name.encode())
    return None if value is None else value.decode(errors="replace")


def taken_times():
    """Returns for how many communicators NCCL has taken the plugin; None where it is not loaded."""
    file = mapped(PLUGIN)
    library = _opened(file) if file else None
    try:
        return None if library is None else library.hocket_nccl_tuners()
    except AttributeError:
        return None  # an older plugin, which does not count
