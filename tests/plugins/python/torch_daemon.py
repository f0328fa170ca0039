"""A daemon for tests: `hocket serve` with a store in a temporary folder."""

import contextlib
import os
import signal
import subprocess
import tempfile

PROGRAM = os.environ.get("HOCKET_PROGRAM", "hocket")


class Daemon:
    def __init__(self, folder):
        self.store = os.path.join(folder, "store.db")
        self.environment = {"HOCKET_STORE": self.store, "XDG_CACHE_HOME": folder,
                            "XDG_STATE_HOME": folder}
        self._process = subprocess.Popen(
            [PROGRAM, "serve", "--listen", "127.0.0.1:0", "--store", self.store, "--no-tokens",
             "--log-level", "error"], stdout=subprocess.PIPE, text=True,
            env=os.environ | self.environment)
        self.environment["HOCKET_DAEMON"] = self.address = self._process.stdout.readline().strip()

    def kill(self):
        self._process.send_signal(signal.SIGKILL)
        self._process.wait()

    @property
    def pid(self):
        return self._process.pid

    def stop(self):
        self._process.terminate()
        self._process.wait()
        self._process.stdout.close()


@contextlib.contextmanager
def daemon():
    with tempfile.TemporaryDirectory() as folder:
        served = Daemon(folder)
        try:
            yield served
        finally:
            served.stop()


def hocket(*arguments):
    """Runs the program in this process's environment; returns what it prints."""
    done = subprocess.run([PROGRAM, *arguments], stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                          text=True)
    if done.returncode != 0:
        raise RuntimeError(f"{' '.join(arguments)}: {done.stdout}")
    return done.stdout
