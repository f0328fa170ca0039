"""Tells `hocket doctor` what a process has loaded.

The doctor names a file in HOCKET_DOCTOR_FILE, to which each process of a job appends lines of JSON
(cli/checks/load_report.h). Without the variable nothing is done. Whatever fails here, the job goes
on.
"""

import fcntl
import importlib
import json
import os
import socket
import stat
import sys
import time

from hocket import nccl
from hocket.library import NAME, Error, library, version

_VARIABLE = "HOCKET_DOCTOR_FILE"
_MOST_FILE_BYTES, _MOST_TEXT = 1 << 20, 400
_LOCAL_SIZES = ("LOCAL_WORLD_SIZE", "OMPI_COMM_WORLD_LOCAL_SIZE", "MPI_LOCALNRANKS")


def _lock(file):
    """Takes the file for this process, so that lines of several hosts do not overwrite each other on
    a file system that has no appending of its own, such as NFS. Gives up after a second, or where
    there are no locks: on one host, appending alone keeps lines whole."""
    for _ in range(100):
        try:
            fcntl.lockf(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
            return
        except (BlockingIOError, PermissionError):
            time.sleep(0.01)
        except OSError:
            return


def _append(record):
    """Appends a line to the file, which must be there, be regular and the user's own."""
    for name, value in record.items():
        if isinstance(value, str):
            record[name] = value[:_MOST_TEXT]
    line = json.dumps(record, separators=(",", ":")).encode() + b"\n"
    try:
        # Not a pipe, for which the job would wait, nor a link of somebody else's.
        file = os.open(os.environ[_VARIABLE], os.O_WRONLY | os.O_APPEND | os.O_NOFOLLOW
                       | os.O_NONBLOCK | os.O_CLOEXEC)
    except OSError:
        return
    try:
        status = os.fstat(file)
        if (stat.S_ISREG(status.st_mode) and status.st_uid == os.geteuid()
                and status.st_size < _MOST_FILE_BYTES):
            # One call, so that lines of several processes do not mix.
            _lock(file)
            os.write(file, line)
    except OSError:
        pass
    finally:
        os.close(file)


def _client():
    try:
        library()
    except Error as error:
        return {"client_problem": str(error)}
    return {"client_library": nccl.mapped(NAME.removesuffix(".1")), "client_version": version()}


def _is_hooked():
    """Returns whether Python has imported hocket's sitecustomize as it started."""
    return any(type(finder).__name__ == "_AfterImport" for finder in sys.meta_path)


def _torch(imported):
    """Returns the version of PyTorch, and whether hocket knows its Reducer."""
    found = {"torch": str(imported.__version__)}
    if imported.version.cuda:
        found["torch_cuda"] = str(imported.version.cuda)
    try:
        strange = importlib.import_module("hocket.torch.buckets").strange_arguments()
        if strange:
            found["reducer_problem"] = "it does not know " + ", ".join(sorted(strange))
    except Exception as error:
        found["reducer_problem"] = f"{type(error).__name__}: {error}"
    return found


def _nccl(file):
    """Returns what the open NCCL is, and what it looks for in a plugin."""
    if not file:
        return {}
    return {"nccl_library": file, "nccl": nccl.version_of(file),
            "tuners_asked": nccl.asked_interfaces(file, "tuner"),
            "profilers_asked": nccl.asked_interfaces(file, "profiler")}


def _group():
    """Returns this process's place in its job, if it has one."""
    dist = sys.modules.get("torch.distributed")
    if dist is None or not dist.is_available() or not dist.is_initialized():
        return {}
    found = {"rank": dist.get_rank(), "ranks": dist.get_world_size(),
             "backend": str(dist.get_backend())}
    for name in _LOCAL_SIZES:
        if os.environ.get(name, "").isdigit():
            return found | {"ranks_on_host": int(os.environ[name])}
    return found


def report(event, **more):
    """Says what this process has loaded by now. `event`: "start" of Python, "group" when it has
    joined the others, "step" after an optimizer's first, or "probe"."""
    if not os.environ.get(_VARIABLE):
        return
    try:
        record = {"format": "hocket-load", "version": 1, "from": "python", "event": event,
                  "host": socket.gethostname(), "pid": os.getpid(), "python": sys.executable or "",
                  "hooked": _is_hooked()}
        if event != "start":
            record |= _client() | _nccl(nccl.mapped(nccl.NAME)) | _group()
            imported = sys.modules.get("torch")
            if imported is not None:
                record |= _torch(imported)
                if "torch_cuda" in record and "nccl" not in record:
                    # It is a part of PyTorch's own library.
                    record["nccl"] = ".".join(str(part) for part in imported.cuda.nccl.version())
        taken = nccl.taken_times()
        if taken is not None:
            record["taken"] = taken
        _append(record | more)
    except Exception as error:
        _append({"format": "hocket-load", "version": 1, "from": "python", "event": event,
                 "host": socket.gethostname(), "pid": os.getpid(),
                 "problem": f"{type(error).__name__}: {error}"})
