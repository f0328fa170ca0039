"""Choices that earlier jobs of this user have made, one file each: docs/formats/choice.md."""

import hashlib
import json
import os
import stat
import sys

FORMAT, VERSION = "hocket-choice", 1
_MOST_BYTES = 1 << 16
_PACKAGES = ("torch", "triton")


def folder():
    """Returns the folder of the files, or None where no variable says where it is."""
    cache = os.environ.get("XDG_CACHE_HOME")
    if not cache:
        home = os.environ.get("HOME")
        cache = home and os.path.join(home, ".cache")
    return os.path.join(cache, "hocket", "choices") if cache else None


def environment(ranks, versions=None):
    """Returns what a choice depends on besides its key: the ranks, the device and versions."""
    # Imported here, since programs that choose nothing should not wait for it.
    import importlib.metadata
    import platform
    found = {"ranks": ranks, "ranks of a host": os.environ.get("LOCAL_WORLD_SIZE", ""),
             "device": platform.machine()}
    for name in _PACKAGES:
        try:
            found[name] = importlib.metadata.version(name)
        except importlib.metadata.PackageNotFoundError:
            pass
    torch = sys.modules.get("torch")
    if torch is not None:
        found["cuda"] = str(torch.version.cuda or getattr(torch.version, "hip", None) or "")
        if torch.cuda.is_available():
            found["device"] = torch.cuda.get_device_name()
    return found | {str(name): str(version) for name, version in (versions or {}).items()}


class Choice:
    """The stored choice among these candidates, given by their descriptions."""

    def __init__(self, key, descriptions, found):
        self._key, self._descriptions, self._environment = key, descriptions, found
        whole = json.dumps([key, found, descriptions], sort_keys=True)
        self._name = hashlib.sha256(whole.encode()).hexdigest()[:32] + ".json"

    def read(self):
        """Returns the number of the chosen candidate. None where there is no file, or one that
        others could have written, that is damaged, or that is of another choice."""
        place = folder()
        if place is None:
            return None
        try:
            _refuse_others(os.lstat(place), stat.S_ISDIR)
            with open(os.path.join(place, self._name), "rb", opener=_open) as file:
                _refuse_others(os.fstat(file.fileno()), stat.S_ISREG)
                text = file.read(_MOST_BYTES + 1)
            return self._checked(json.loads(text)) if len(text) <= _MOST_BYTES else None
        except (OSError, ValueError, RecursionError):
            return None

    def _checked(self, found):
        if not isinstance(found, dict):
            return None
        expected = self._document(found.get("candidate"))
        is_known = found.get("candidate") in self._descriptions
        return self._descriptions.index(found["candidate"]) if is_known and found == expected \
            else None

    def _document(self, candidate):
        return {"format": FORMAT, "version": VERSION, "key": self._key,
                "environment": self._environment, "candidate": candidate}

    def write(self, index):
        """Stores it for later jobs. Raises OSError."""
        import tempfile
        place = folder()
        if place is None:
            return
        os.makedirs(place, mode=0o700, exist_ok=True)
        _refuse_others(os.lstat(place), stat.S_ISDIR)
        handle, unfinished = tempfile.mkstemp(prefix=self._name + ".", dir=place)
        try:
            with os.fdopen(handle, "w") as file:
                json.dump(self._document(self._descriptions[index]), file)
            os.replace(unfinished, os.path.join(place, self._name))
        except BaseException:
            os.unlink(unfinished)
            raise


def _open(path, flags):
    return os.open(path, flags | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC)


def _refuse_others(status, is_kind):
    """Raises OSError where another user has made it, or could change it."""
    if not is_kind(status.st_mode) or status.st_uid not in (0, os.geteuid()) \
            or status.st_mode & 0o022:
        raise OSError("not of this user alone")
