"""Imported by Python as it starts, where `hocket torch` has put this folder into PYTHONPATH.

With HOCKET_TORCH set, models are tuned as soon as PyTorch is imported and they train
(hocket_autorun.py). A process that does not import PyTorch pays for two entries in
sys.meta_path. Whatever fails here, the program starts as without hocket.
"""

import importlib
import importlib.machinery
import importlib.util
import os
import sys

_FOLDER = os.path.dirname(os.path.abspath(__file__))
_PACKAGE = os.path.dirname(os.path.dirname(_FOLDER))
_NO = {"", "off", "0", "no", "false"}


class _OwnPackage:
    """Finds the package hocket that this file is of, and nothing else that is installed beside it:
    the process may have other packages of the same names."""

    def find_spec(self, name, path=None, target=None):
        if name != "hocket":
            return None
        return importlib.util.spec_from_file_location(
            name, os.path.join(_PACKAGE, "__init__.py"), submodule_search_locations=[_PACKAGE])


class _AfterImport:
    """Finds modules as Python would without it, and calls on them once they are imported."""

    def __init__(self, calls):
        self._calls = calls

    def find_spec(self, name, path=None, target=None):
        call = self._calls.pop(name, None)
        if call is None:
            return None
        spec = importlib.util.find_spec(name)
        if spec is not None and spec.loader is not None:
            spec.loader = _Loader(spec.loader, call)
        return spec


class _Loader:
    def __init__(self, loader, call):
        self._loader, self._call = loader, call

    def __getattr__(self, name):
        return getattr(self._loader, name)

    def create_module(self, spec):
        return self._loader.create_module(spec)

    def exec_module(self, module):
        # The module has the loader that it would have without this one.
        module.__loader__ = module.__spec__.loader = self._loader
        self._loader.exec_module(module)
        try:
            self._call(module)
        except Exception as error:
            # Unlike print(), logging lets the program go on where nobody reads standard error.
            import logging
            logging.getLogger("hocket").warning("hocket: models are not tuned: %s: %s",
                                                type(error).__name__, error)


def _watch(what, name="hocket_autorun"):
    """Returns what calls a function of a module in this folder with the imported module."""
    def call(module):
        if _FOLDER not in sys.path:
            sys.path.append(_FOLDER)
        getattr(importlib.import_module(name), what)(module)
    return call


def _run_shadowed():
    """Runs the sitecustomize that would have been imported if this folder were not in the path."""
    entries = [entry for entry in sys.path if os.path.abspath(entry) != _FOLDER]
    spec = importlib.machinery.PathFinder.find_spec("sitecustomize", entries)
    if spec is not None and spec.loader is not None:
        own = sys.modules.pop("sitecustomize", None)
        module = sys.modules["sitecustomize"] = importlib.util.module_from_spec(spec)
        try:
            spec.loader.exec_module(module)
        except BaseException:
            sys.modules["sitecustomize"] = own
            raise


def _tell_doctor():
    """Tells `hocket doctor`, which alone sets the variable, that this file was imported."""
    try:
        importlib.import_module("hocket.load_report").report("start")
    except Exception:
        pass  # the doctor then knows nothing of this process


if os.environ.get("HOCKET_TORCH", "").lower() not in _NO:
    sys.meta_path.insert(0, _OwnPackage())
    sys.meta_path.insert(0, _AfterImport({
        "torch.nn.parallel.distributed": _watch("watch_ddp"),
        # The module that defines fully_shard, since programs import it from several others.
        "torch.distributed.fsdp._fully_shard._fully_shard": _watch("watch_fsdp"),
        "torch.distributed.fsdp.fully_sharded_data_parallel": _watch("watch_fsdp1"),
        "torch.optim.optimizer": _watch("watch_optimizers"),
        "torch._dynamo.config": _watch("configure", "hocket_knobs"),
        "torch._inductor.config": _watch("configure", "hocket_knobs")}))
    if os.environ.get("HOCKET_DOCTOR_FILE"):
        sys.meta_path.insert(0, _AfterImport({
            "torch.distributed.distributed_c10d": _watch("watch_groups")}))
        _tell_doctor()
_run_shadowed()
