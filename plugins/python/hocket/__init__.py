"""hocket for programs in Python: the C library libhocket_client.so, without a compiled part.

The library is the file that HOCKET_CLIENT_LIBRARY names, else the one that the loader finds.
"""

from hocket.agree import agree, agreed
from hocket.agreed_kernel import agreed_kernel
from hocket.client import Client, Knob
from hocket.library import Error
from hocket.schedule import Part, Schedule

__all__ = ["Client", "Error", "Knob", "Part", "Schedule", "agree", "agreed",
           "agreed_kernel"]
