"""A process that loads what a job would load, says so, and ends: `hocket doctor` starts it as
`python3 -m hocket.doctor`, in the environment of a job.
"""

import ctypes
import importlib
import os

from hocket import nccl
from hocket.load_report import report


def _import_torch():
    try:
        importlib.import_module("torch")
    except ModuleNotFoundError as error:
        return {} if error.name == "torch" else {"torch_problem": str(error)}
    except Exception as error:
        return {"torch_problem": f"{type(error).__name__}: {error}"}
    return {}


def _plugin():
    """Opens the plugin by its name, as NCCL would."""
    value = nccl.environment("NCCL_TUNER_PLUGIN")
    if not value:
        return {}
    problem = ""
    for name in (value, f"libnccl-tuner-{value}.so"):
        try:
            plugin = ctypes.CDLL(name)
        except OSError as error:
            problem = str(error)
            continue
        return {"plugin": nccl.mapped(os.path.basename(name)) or name,
                "tuners": nccl.offered_interfaces(plugin, "tuner"),
                "profilers": nccl.offered_interfaces(plugin, "profiler")}
    return {"plugin_problem": problem}


def _gpus():
    """Returns how many GPUs the driver gives this process; 0 without a driver."""
    count = ctypes.c_int()
    try:
        driver = ctypes.CDLL("libcuda.so.1")
        if driver.cuInit(0) != 0 or driver.cuDeviceGetCount(ctypes.byref(count)) != 0:
            return 0
    except (OSError, AttributeError):
        return 0
    return count.value


def _communicator(file):
    """Lets NCCL make a communicator of this process alone, for which it loads its plugins."""
    library = ctypes.CDLL(file)
    communicator = ctypes.c_void_p()
    library.ncclGetErrorString.restype = ctypes.c_char_p
    result = library.ncclCommInitAll(ctypes.byref(communicator), 1, None)
    if result != 0:
        said = library.ncclGetErrorString(result) or b""
        return {"nccl_problem": said.decode(errors="replace")}
    library.ncclCommDestroy(communicator)
    return {"uses_nccl": True}


def main():
    more = _import_torch()
    file = nccl.open_library()
    gpus = _gpus()
    # NCCL is to find the plugin by itself, and not because this process has it.
    if file and gpus:
        more |= _communicator(file)
    report("probe", **more, gpus=gpus, **_plugin())


if __name__ == "__main__":
    main()
