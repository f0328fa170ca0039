"""What the tests of the page look at, made of the programs themselves: a store with studies and
profiles, a daemon on it, and a job that the daemon tunes while it trains.

A world has a temporary folder of its own, and ends the processes that it started by their ids.
Tests that only read may share one.
"""

import json
import os
import pathlib
import shutil
import signal
import stat
import subprocess
import tempfile
import time
import urllib.error
import urllib.parse
import urllib.request

BUILD = pathlib.Path(__file__).resolve().parents[2] / "build" / "release"
PROGRAM = os.environ.get("HOCKET_PROGRAM", str(BUILD / "bin" / "hocket"))
GPT2 = os.environ.get("HOCKET_GPT2", str(BUILD / "bin" / "gpt2"))

# Seconds within which what a test waits for surely happens, on a machine that does much else.
PATIENCE_S = 60

# The studies' program: its time depends on three parameters by a formula, so every run of a study
# tries the same settings. One corner of the space fails.
JOB = """#!/bin/sh
if [ "$MODE" = eager ] && [ "$WINDOW" -gt 48 ]; then
  echo "out of memory" >&2
  exit 1
fi
awk -v b="$BUCKET" -v w="$WINDOW" -v m="$MODE" 'BEGIN {
  step = 20 + (log(b) - log(12)) ^ 2 * 3 + (w - 30) ^ 2 / 90 + (m == "eager" ? 0 : 4)
  printf "step_ms=%.4f\\nloss=%.3f\\n", step, 3 + (60 - w) / 100
}'
"""
PARAMETERS = ("BUCKET", "WINDOW", "MODE")
SPACE = ["--param", "BUCKET=int:1..64:log", "--param", "WINDOW=int:1..64",
         "--param", "MODE=choice:lazy,eager", "--default", "BUCKET=60", "--default", "WINDOW=8",
         "--default", "MODE=lazy"]
STEP = "step[ms]=regex:step_ms=([0-9.]+)"
LOSS = "loss=regex:loss=([0-9.]+)"

MODEL = ["--layers", "2", "--heads", "2", "--d-model", "64", "--sequence", "16", "--batch", "2"]
WORKLOAD = "gpt2-2x64-s16-b2"
ORDERED = {"format": "hocket-schedule", "version": 1, "partition_bytes": 65536,
           "credit_bytes": 262144, "order": "negotiated", "comm_channels": 2}

LEAST_CHANGE = 0.002  # of a prediction, to be seen in four digits

ROLES = ("admin", "report", "read")


class ApiError(Exception):
    def __init__(self, status, body):
        super().__init__(f"{status}: {body}")
        self.status = status


class World:
    """Starts as an empty store; studies, profiles, daemon and job are added when asked for."""

    def __init__(self):
        self._temporary = tempfile.TemporaryDirectory(prefix="hocket-page-")
        self.folder = pathlib.Path(self._temporary.name)
        self.store = str(self.folder / "store.db")
        own = {name: value for name, value in os.environ.items() if not name.startswith("HOCKET_")}
        self.environment = own | {
            "HOCKET_STORE": self.store, "HOME": str(self.folder), "OMP_NUM_THREADS": "1",
            "OPENBLAS_NUM_THREADS": "1", "GLOO_SOCKET_IFNAME": "lo",
            "XDG_STATE_HOME": str(self.folder / "state"),
            "XDG_CACHE_HOME": str(self.folder / "cache")}
        self.tokens = {role: f"{role}-0123456789-0123456789" for role in ROLES}
        self.port = 0
        self._daemon = self._job = self._web = None
        self._write_tokens()

    def _write_tokens(self):
        names = {"admin": "ada", "report": "trainers", "read": "reader"}
        lines = [f"{role} {names[role]} {token}" for role, token in self.tokens.items()]
        self.token_file = self._private("tokens", "\n".join(lines) + "\n")
        self.environment["HOCKET_TOKEN_FILE"] = self._private("token", self.tokens["admin"])

    def _private(self, name, text):
        path = self.folder / name
        path.touch(mode=stat.S_IRUSR | stat.S_IWUSR)
        path.write_text(text)
        return str(path)

    def hocket(self, *arguments, statuses=(0,), **environment):
        """Runs the program to its end; returns what it prints."""
        done = subprocess.run([PROGRAM, *arguments], stdout=subprocess.PIPE, cwd=self.folder,
                              stderr=subprocess.PIPE, text=True, timeout=PATIENCE_S,
                              env=self.environment | environment)
        if done.returncode not in statuses:
            raise RuntimeError(f"hocket {' '.join(arguments)}: status {done.returncode}\n"
                               f"{done.stdout}{done.stderr}")
        return done.stdout

    # Contents of the store

    def add_studies(self):
        """A study of one objective, `shaped`, which is promoted, and one of two, `two-sided`."""
        job = self.folder / "work.sh"
        job.write_text(JOB)
        job.chmod(0o700)
        # 3: nothing is promoted.
        self.hocket("tune", "--study", "shaped", *SPACE, "--objective", STEP, "--trials", "20",
                    "--all-trials", "--", str(job), statuses=(0, 3))
        self.hocket("tune", "--study", "two-sided", *SPACE, "--objective", STEP, "--objective",
                    LOSS, "--trials", "14", "--all-trials", "--", str(job), statuses=(3,))

    def add_profiles(self):
        """Two profiles of two ranks, under the default and under another configuration; returns
        their names. From the first other configurations and numbers of ranks are predicted."""
        others = [("--set", "partition_bytes=65536"),
                  ("--ranks", "8", "--link", "network=25gbit,10us")]
        return [self._add_profile({}, others),
                self._add_profile({"HOCKET_CONFIG": json.dumps(ORDERED)}, [])]

    def _add_profile(self, config, predicted):
        """Records a profile. The link is so slow that even on a busy host it takes most of the
        time, and others are predicted; if not, it records another."""
        for _ in range(8):
            # It asks the daemon for nothing, which would give it its configuration.
            self.hocket("run", "--ranks", "2", "--", GPT2, *MODEL, "--link", "20mbit", "--steps",
                        "16", "--profile-at", "4", "--profile-iterations", "8", **config,
                        HOCKET_DAEMON="")
            listed = json.loads(self.hocket("profiles", "list", "--json"))["profiles"]
            name = max(listed, key=lambda profile: profile["id"])["profile"]
            measured = self._predicted_ns(name)
            others = [self._predicted_ns(name, *change) for change in predicted]
            # If the fit has no cost of a part itself, its size changes no prediction.
            if all(other and abs(other / measured - 1) > LEAST_CHANGE for other in others):
                return name
            self.hocket("profiles", "rm", name)
        raise RuntimeError("no profile was recorded from which others are predicted")

    def _predicted_ns(self, name, *change):
        """Returns the iteration that a profile predicts; None if that is withheld."""
        # 2: it is withheld, or no link follows from it, with nothing on standard output.
        answer = self.hocket("simulate", "--profile", name, "--json", *change, statuses=(0, 2))
        return json.loads(answer)["iteration_ns"] if answer else None

    # The daemon

    @property
    def address(self):
        return f"http://127.0.0.1:{self.port}"

    def serve(self):
        """Starts the daemon; a second time on the port that it had."""
        self._daemon, _ = self._start("serve", "--listen", f"127.0.0.1:{self.port}", "--store",
                                      self.store, "--token-file", self.token_file)
        self.environment["HOCKET_DAEMON"] = self.address

    def serve_and_open(self):
        """Starts the daemon with a token of its own; returns the page's address with it."""
        self._daemon, _ = self._start("serve", "--listen", "127.0.0.1:0", "--store", self.store,
                                      "--open")
        return self._daemon.stdout.readline().strip()

    def web(self):
        """Serves the store without a daemon; returns the page's address."""
        self._web, address = self._start("web", "--store", self.store)
        return address

    def _start(self, verb, *arguments):
        """Starts a server; returns its process and the address that it prints."""
        with open(self.folder / f"{verb}.log", "a", encoding="utf-8") as log:
            process = subprocess.Popen(
                [PROGRAM, verb, *arguments], stdout=subprocess.PIPE, stderr=log, text=True,
                cwd=self.folder, env=self.environment)
        address = process.stdout.readline().strip()
        if not address:
            raise RuntimeError(f"hocket {verb} does not start:\n{self.log(verb)}")
        self.port = urllib.parse.urlsplit(address).port
        return process, address

    def end_daemon(self):
        for process in (self._daemon, self._web):
            if process is not None:
                _end(process)
                process.stdout.close()
        self._daemon = self._web = None

    def log(self, name):
        path = self.folder / f"{name}.log"
        return path.read_text(encoding="utf-8", errors="replace") if path.exists() else ""

    def send(self, method, path, body=None, role="admin"):
        """Asks the daemon; returns its answer's JSON."""
        request = urllib.request.Request(
            self.address + path, method=method,
            data=None if body is None else json.dumps(body).encode(),
            headers={"Authorization": f"Bearer {self.tokens[role]}"} | (
                {} if body is None else {"Content-Type": "application/json"}))
        try:
            with urllib.request.urlopen(request, timeout=PATIENCE_S) as answer:
                return json.load(answer)
        except urllib.error.HTTPError as error:
            raise ApiError(error.code, error.read().decode(errors="replace")) from None

    def get(self, path, role="read"):
        return self.send("GET", path, role=role)

    # The job

    def start_job(self, explore="5%", device=()):
        """Two ranks that train until the world ends. Returns once the daemon has measured some
        of its iterations. `device`: options of the job that choose another device than the host."""
        with open(self.folder / "job.log", "w", encoding="utf-8") as log:
            self._job = subprocess.Popen(
                [PROGRAM, "run", "--ranks", "2", "--", GPT2, *MODEL, "--link", "100mbit",
                 "--steps", "10000000", "--watch", "--explore", explore, *device], stdout=log,
                stderr=log, cwd=self.folder, env=self.environment)
        return self.wait_for(lambda: next((job for job in self.jobs() if job["step"] > 3), None),
                             "the job to report")

    def jobs(self):
        return self.get("/v1/jobs")["jobs"]

    def job(self):
        """The live job, as the daemon lists it."""
        return next(job for job in self.jobs() if job["name"] == WORKLOAD)

    def wait_for(self, condition, what):
        """Asks until `condition()` is true, and returns its value."""
        until = time.monotonic() + PATIENCE_S
        while True:
            value = condition()
            if value:
                return value
            ended = self._job is not None and self._job.poll() is not None
            if time.monotonic() > until or ended:
                raise AssertionError(f"waited in vain for {what}" + (
                    f": the job has ended\n{self.log('job')[-2000:]}" if ended else ""))
            time.sleep(0.05)  # between two questions

    def end_job(self):
        if self._job is not None:
            _end(self._job)
            self._job = None

    def close(self):
        self.end_job()
        self.end_daemon()
        self._temporary.cleanup()

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.close()


def _end(process):
    process.send_signal(signal.SIGTERM)
    try:
        process.wait(timeout=20)
    except subprocess.TimeoutExpired:
        process.kill()
        process.wait()


def segment(text):
    """A name as one segment of a path."""
    return urllib.parse.quote(text, safe="")


def chromium():
    """The browser's path; None where there is none."""
    return shutil.which("chromium")
