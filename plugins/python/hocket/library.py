"""The C library, opened when it is first used, and its errors."""

import ctypes
import functools
import os

NAME = "libhocket_client.so.1"
# A wheel has the library within the package.
_BESIDE = os.path.join(os.path.dirname(os.path.abspath(__file__)), "lib", NAME)


class Error(Exception):
    """What hocket_error() says of a call that failed."""


@functools.cache
def library():
    """Returns the library; raises Error, with what to do, where there is none."""
    beside = _BESIDE if os.path.exists(_BESIDE) else NAME
    file = os.environ.get("HOCKET_CLIENT_LIBRARY") or beside
    try:
        opened = ctypes.CDLL(file)
    except OSError as error:
        raise Error(f"hocket's library cannot be opened ({error}); `pip install hocket` brings it, "
                    "or name the file in HOCKET_CLIENT_LIBRARY") from None
    opened.hocket_error.restype = ctypes.c_char_p
    return opened


def function(name, result, *arguments):
    """Returns a function of the library with its types."""
    found = getattr(library(), name)
    found.restype, found.argtypes = result, arguments
    return found


def version():
    """Returns the version of the library; "" where it is older than 0.1.0's, which say theirs."""
    try:
        return function("hocket_client_library_version", ctypes.c_char_p)().decode(errors="replace")
    except AttributeError:
        return ""


def raise_error():
    raise Error(library().hocket_error().decode(errors="replace"))
