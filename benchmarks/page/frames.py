#!/usr/bin/env python3
"""Measures the page in headless Chromium without a GPU: its first view, and on one core the
timeline of a trace of a million events, opened and moved.

    build/page/bin/python benchmarks/page/frames.py [--events N] [--ranks N] [--runs N]
                                                    [--seconds S]

It needs `scripts/setup page`, and build/release/bin/hocket. Each run has a browser of its own. For
the timeline all its processes are on one core, and the daemon is on another one where there is one.
Tables give the median over the runs, and half the distance between the quartiles.
"""

import argparse
import os
import pathlib
import statistics
import sys
import time

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path[:0] = [str(ROOT / "tests" / "page"), str(ROOT / "benchmarks" / "page")]

from playwright.sync_api import sync_playwright  # noqa: E402

from page_browser import ARGUMENTS  # noqa: E402
from page_world import World, chromium  # noqa: E402
from trace_maker import write_ranks  # noqa: E402

TIMEOUT_MS = 120_000

# Notes when, after the navigation began, the jobs and the timeline were there. A timeline is there
# when the frame that drew all tiles of what is visible has been drawn.
WATCH = """
  window.hocketSeen = {};
  const look = () => {
    const seen = window.hocketSeen, timeline = document.querySelector("hk-timeline");
    if (!seen.jobs && document.querySelector("main .state-title, main .job"))
      seen.jobs = performance.now();
    if (!seen.timeline && timeline?.source) {
      const { isComplete, boxes } = timeline.stats();
      if (isComplete && boxes > 0) seen.timeline = performance.now();
    }
    if (!seen.timeline) requestAnimationFrame(look);
  };
  requestAnimationFrame(look);
"""

# Turns the wheel over the timeline at each frame for some seconds: zooms in, moves right, zooms
# out, moves left, and so on; returns the times between frames and what the element says of itself.
MOVE = """async ([seconds]) => {
  const timeline = document.querySelector("hk-timeline"), { canvas } = timeline;
  const box = canvas.getBoundingClientRect();
  const turn = (deltaY, keys) => canvas.dispatchEvent(new WheelEvent("wheel", {
    deltaY, ...keys, clientX: box.left + box.width * 0.4, clientY: box.top + 60, bubbles: true,
    cancelable: true }));
  const phases = [
    () => turn(-40, { ctrlKey: true }), () => turn(60, { shiftKey: true }),
    () => turn(40, { ctrlKey: true }), () => turn(-60, { shiftKey: true })];
  const before = timeline.stats().frames, intervals = [], spans = new Set(), draws = [];
  const start = await new Promise(requestAnimationFrame);
  let last = start, seen = before;
  for (;;) {
    const now = await new Promise(requestAnimationFrame);
    intervals.push(now - last);
    last = now;
    const elapsed = (now - start) / 1000;
    if (elapsed >= seconds) break;
    phases[Math.floor(elapsed / 1.25) % phases.length]();
    spans.add(timeline.view.span);
    const { frames } = timeline.stats();
    if (frames > seen) draws.push(timeline.frameTimes[(frames - 1) % timeline.frameTimes.length]);
    seen = frames;
  }
  return { intervals, draws, frames: seen - before, spans: spans.size, stats: timeline.stats() };
}"""


def percentile(values, share):
    ordered = sorted(values)
    return ordered[min(len(ordered) - 1, int(share * len(ordered)))]


def spread(values):
    if len(values) < 2:
        return 0.0
    low, _, high = statistics.quantiles(values, n=4, method="inclusive")
    return (high - low) / 2


def table(title, rows):
    """rows: name, unit, values of all runs."""
    print(f"\n{title}")
    width = max(len(name) for name, _, _ in rows)
    for name, unit, values in rows:
        digits = 0 if unit == "" else 1
        print(f"  {name:{width}}  {statistics.median(values):>10,.{digits}f} ± "
              f"{spread(values):.{digits}f} {unit}".rstrip())


class Browser:
    """Chromium; with `core`, all its processes on that one."""

    def __init__(self, playwright, world, core=None):
        program = chromium()
        if core is not None:
            launcher = world.folder / "chromium-on-one-core"
            launcher.write_text(f'#!/bin/sh\nexec taskset -c {core} {program} "$@"\n')
            launcher.chmod(0o700)
            program = str(launcher)
        self.browser = playwright.chromium.launch(executable_path=program, args=ARGUMENTS)
        self.script = f'sessionStorage.setItem("hocket.token", "{world.tokens["admin"]}");{WATCH}'
        self.address = world.address
        self.bytes = 0

    def open(self, fragment, what):
        """Opens an address as one who was never there; returns the page, and the milliseconds from
        the navigation until `what` was there."""
        context = self.browser.new_context(viewport={"width": 1280, "height": 900})
        context.set_default_timeout(TIMEOUT_MS)
        context.add_init_script(self.script)
        page = context.new_page()
        session = context.new_cdp_session(page)
        session.send("Network.enable")
        session.on("Network.loadingFinished", self._loaded)
        page.goto(f"{self.address}/{fragment}")
        return page, page.wait_for_function(f"() => window.hocketSeen.{what}").json_value()

    def _loaded(self, event):
        self.bytes += event["encodedDataLength"]

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.browser.close()


def first_view(playwright, world, runs):
    sizes, painted, fresh, shown = [], [], [], []
    for _ in range(runs):
        with Browser(playwright, world) as browser:
            page, milliseconds = browser.open("#/jobs", "jobs")
            fresh.append(milliseconds)
            page.wait_for_load_state("load")
            sizes.append(browser.bytes)
            page.close()
            page, milliseconds = browser.open("#/jobs", "jobs")
            shown.append(milliseconds)
            painted.append(page.evaluate(
                '() => performance.getEntriesByName("first-contentful-paint")[0].startTime'))
    table("first view on all cores: the shell and the jobs, nothing cached", [
        ("bytes over the wire, with headers", "", sizes),
        ("first paint", "ms", painted), ("jobs shown, interactive", "ms", shown),
        ("the same in a browser that has just begun", "ms", fresh)])


def opened(playwright, world, core, runs, name):
    cold, warm = [], []
    for _ in range(runs):
        # A new daemon has no index of the trace yet.
        world.end_daemon()
        serve(world, core)
        with Browser(playwright, world, core) as browser:
            browser.open("#/jobs", "jobs")[0].close()
            for values in (cold, warm):
                page, milliseconds = browser.open(f"#/timeline/{name}", "timeline")
                values.append(milliseconds)
                page.close()
    table("the timeline on one core, from the navigation until all is drawn, nothing cached", [
        ("opened for the first time since the daemon began", "ms", cold),
        ("opened again", "ms", warm)])


def moved(playwright, world, core, runs, seconds, name):
    rows = {}
    for _ in range(runs):
        with Browser(playwright, world, core) as browser:
            page, _ = browser.open(f"#/timeline/{name}", "timeline")
            result = page.evaluate(MOVE, [seconds])
        if result["spans"] < 10:
            raise RuntimeError("the timeline did not zoom; the benchmark measured nothing")
        for what, values in (("between frames", result["intervals"]), ("drawing", result["draws"])):
            for share in (50, 95, 99):
                rows.setdefault((f"{what}, p{share}", "ms"), []).append(
                    percentile(values, share / 100))
            rows.setdefault((f"{what}, longest", "ms"), []).append(max(values))
        rows.setdefault(("frames a second", ""), []).append(len(result["intervals"]) / seconds)
        rows.setdefault(("of these drawn anew", ""), []).append(result["frames"] / seconds)
    table(f"the timeline on one core, zoomed and moved for {seconds:g} s", [
        (label, unit, values) for (label, unit), values in rows.items()])


def serve(world, core):
    """Starts the daemon, on other cores than the browser's where there are any."""
    cores = os.sched_getaffinity(0)
    others = cores - {core} or cores
    os.sched_setaffinity(0, others)
    try:
        world.serve()
    finally:
        os.sched_setaffinity(0, cores)


def main():
    parser = argparse.ArgumentParser(description=__doc__.partition("\n\n")[0])
    parser.add_argument("--events", type=int, default=1_000_000)
    parser.add_argument("--ranks", type=int, default=8)
    parser.add_argument("--runs", type=int, default=5)
    parser.add_argument("--seconds", type=float, default=10)
    options = parser.parse_args()
    if chromium() is None:
        sys.exit("frames: there is no chromium; `scripts/setup page` installs it")
    core = max(os.sched_getaffinity(0))
    with World() as world, sync_playwright() as playwright:
        paths, count = write_ranks(world.folder, options.ranks, options.events)
        began = time.monotonic()
        world.hocket("profiles", "import", *map(str, paths), "--name", "million")
        serve(world, core)
        print(f"{count:,} events of {options.ranks} ranks, imported in "
              f"{time.monotonic() - began:.1f} s; medians of {options.runs} runs")
        first_view(playwright, world, options.runs)
        opened(playwright, world, core, options.runs, "million-1")
        moved(playwright, world, core, options.runs, options.seconds, "million-1")


if __name__ == "__main__":
    main()
