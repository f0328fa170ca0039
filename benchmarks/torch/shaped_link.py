"""A link that the kernel shapes, between two network namespaces, and ranks of PyTorch on both ends."""

import contextlib
import os
import pathlib
import subprocess

ROOT = pathlib.Path(__file__).resolve().parents[2]
BUILD = ROOT / "build/release"
PROGRAM = os.environ.get("HOCKET_PROGRAM", str(BUILD / "bin/hocket"))


def find_hocket():
    """Lets this process's children find the package and its library."""
    os.environ["PYTHONPATH"] = f"{ROOT / 'plugins/python'}:{os.environ.get('PYTHONPATH', '')}"
    os.environ.setdefault("HOCKET_PYTHON", str(ROOT / "plugins/python"))
    os.environ.setdefault("HOCKET_CLIENT_LIBRARY", str(BUILD / "lib/libhocket_client.so.1"))


def run(*words, **options):
    return subprocess.run(words, check=True, **options)


class Link:
    """Two namespaces joined by a veth pair."""

    def __init__(self, rate):
        name = f"hocket{os.getpid()}"
        self.namespaces = [f"{name}a", f"{name}b"]
        self.devices = [f"hk{os.getpid()}a", f"hk{os.getpid()}b"]
        self._rate = rate

    def __enter__(self):
        for namespace in self.namespaces:
            run("ip", "netns", "add", namespace)
        (a, b), (va, vb) = self.namespaces, self.devices
        run("ip", "link", "add", va, "netns", a, "type", "veth", "peer", "name", vb, "netns", b)
        for i, (namespace, device) in enumerate(zip(self.namespaces, self.devices)):
            run("ip", "-n", namespace, "addr", "add", f"192.0.2.{i + 1}/30", "dev", device)
            run("ip", "-n", namespace, "link", "set", "lo", "up")
            run("ip", "-n", namespace, "link", "set", device, "up")
            run("tc", "-n", namespace, "qdisc", "add", "dev", device, "root", "tbf", "rate",
                self._rate, "burst", "256kb", "latency", "50ms")
        return self

    def __exit__(self, *_):
        for namespace in self.namespaces:
            subprocess.run(["ip", "netns", "del", namespace], check=False)

    @contextlib.contextmanager
    def daemon(self, folder):
        """Runs a daemon beside rank 0, with a store in the folder; yields its environment."""
        store = os.path.join(folder, "store.db")
        environment = {"HOCKET_STORE": store, "XDG_CACHE_HOME": folder, "XDG_STATE_HOME": folder}
        served = subprocess.Popen(
            ["ip", "netns", "exec", self.namespaces[0], PROGRAM, "serve", "--listen",
             "127.0.0.1:0", "--store", store, "--no-tokens", "--log-level", "error"],
            stdout=subprocess.PIPE, text=True, env=os.environ | environment)
        try:
            yield environment | {"HOCKET_DAEMON": served.stdout.readline().strip()}
        finally:
            served.terminate()
            served.wait()

    def run_ranks(self, port, words, timeout_s, **more):
        """Runs two ranks, each a host's only one; returns what rank 0 printed."""
        ranks = []
        for rank in (1, 0):
            environment = dict(
                os.environ, RANK=str(rank), WORLD_SIZE="2", LOCAL_RANK="0", LOCAL_WORLD_SIZE="1",
                MASTER_ADDR="192.0.2.1", MASTER_PORT=str(port),
                GLOO_SOCKET_IFNAME=self.devices[rank], OMP_NUM_THREADS="1", **more)
            ranks.append(subprocess.Popen(
                ["ip", "netns", "exec", self.namespaces[rank], *words], env=environment,
                stdout=subprocess.PIPE if rank == 0 else subprocess.DEVNULL, text=True))
        try:
            output, _ = ranks[1].communicate(timeout=timeout_s)
            if ranks[1].returncode or ranks[0].wait(timeout=30):
                raise RuntimeError(f"{' '.join(words)} failed")
            return output
        finally:
            for process in ranks:
                process.kill()
